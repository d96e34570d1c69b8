// Run buttons below the blocks of a page. All blocks are one program: a block runs after those above.
import { Session } from "./session.js";
import { Output } from "./output.js";

const PROGRAM = "example.py", ANSWER = "answer.py"; // as tables and errors call the page's program, and an answer

const element = (name, properties, ...inside) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...inside);
  return made;
};
const button = (text, onclick) => element("button", { type: "button", textContent: text, onclick });
const megabytes = bytes => (bytes / 1e6).toFixed(1);

let session;
const begun = () => session ??= new Session({ onProgress: ({ loaded, total }) => running?.loading(loaded, total) });
let running; // the block whose button was pressed

const blocks = []; // what runs of the page's program
const program = []; // all of that: things with a text

class Block {
  ran; // the text that ran, and in which generation of the session
  generation;

  constructor(code, question) {
    this.code = code;
    this.question = question;
    this.original = code.querySelector("code").textContent;
    const before = [...document.querySelectorAll(".run")].filter(each => !question === !each.closest(".question"));
    this.name = `${question ? "Question" : "Program"} ${before.length + 1}`;
    this.start = button(question ? "Check" : "Run", () => this.press());
    this.edit = button("Edit", () => this.open());
    this.reset = button("Reset", () => this.restore());
    this.stop = button("Stop", () => session.stop());
    this.bar = element("progress", { max: 1, hidden: true });
    this.bar.setAttribute("aria-label", "Python is loading");
    this.status = element("span", {});
    this.status.setAttribute("role", "status");
    this.tools = element("div", { className: "run" },
      this.start, this.stop, this.edit, this.reset, this.bar, this.status);
    this.tools.setAttribute("role", "group");
    this.tools.setAttribute("aria-label", this.name);
    this.place = element("div", { className: "run-output", hidden: true });
    this.place.setAttribute("role", "region");
    this.place.setAttribute("aria-live", "polite");
    this.place.setAttribute("aria-label", `${this.name}: what it prints and shows`);
    this.output = new Output(this.place);
    this.start.title = "Ctrl+Enter in the editor";
    this.stop.hidden = this.reset.hidden = true;
    code.after(this.tools, this.place);
    const next = this.place.nextElementSibling;
    if (next?.matches(".language-text.highlight, p:has(> img:only-child)")) this.printed = next; // or drawn
    if (question) this.open(false);
  }

  get text() {
    return this.editor?.value ?? this.original;
  }

  get fresh() {
    return this.ran === this.text && this.generation === begun().generation;
  }

  // How many lines of the program stand before this block.
  get line() {
    return this.question ? 0 : program.slice(0, program.indexOf(this)).reduce((sum, { text }) => sum + lines(text), 0);
  }

  follows(block) {
    return Boolean(block.code.compareDocumentPosition(this.code) & Node.DOCUMENT_POSITION_FOLLOWING);
  }

  open(focus = true) {
    if (this.editor) return;
    this.editor = element("textarea", { value: this.original, spellcheck: false, rows: lines(this.original) });
    for (const [name, value] of Object.entries({ autocapitalize: "off", autocomplete: "off", autocorrect: "off", wrap: "off" }))
      this.editor.setAttribute(name, value);
    this.editor.setAttribute("aria-label", `${this.name}: its text. Tab indents, Escape leaves, Control and Enter runs`);
    this.editor.onkeydown = event => this.key(event);
    this.editor.oninput = () => {
      this.editor.rows = lines(this.text);
      this.reset.hidden = this.text === this.original;
    };
    this.code.querySelector("pre").hidden = true;
    this.code.append(this.editor);
    this.edit.hidden = true;
    if (focus) this.reset.hidden = false;
    if (focus) this.editor.focus();
  }

  restore() {
    this.editor.remove();
    this.editor = undefined;
    this.code.querySelector("pre").hidden = false;
    this.edit.hidden = false;
    this.reset.hidden = true;
    this.output.clear();
    this.show(false);
    this.say("");
    if (this.question) this.open(false);
    (this.question ? this.editor : this.edit).focus();
  }

  key(event) {
    const { key, shiftKey, ctrlKey, metaKey } = event;
    const type = text => document.execCommand("insertText", false, text); // which undo knows
    if (key === "Enter" && (ctrlKey || metaKey || shiftKey)) this.press();
    else if (key === "Escape") this.start.focus();
    else if (key === "Tab" && !shiftKey) type("    ");
    else if (key === "Enter") {
      const line = this.text.slice(0, this.editor.selectionStart).split("\n").at(-1);
      type(`\n${line.match(/^ */)[0]}${/:\s*$/.test(line) ? "    " : ""}`);
    } else return;
    event.preventDefault();
  }

  say(text, kind = "") {
    this.status.textContent = text;
    this.status.className = kind;
  }

  show(there) {
    this.place.hidden = !there;
    if (this.printed) this.printed.hidden = there;
  }

  loading(loaded, total) {
    if (this.bar.hidden) this.say(`Loading Python, ${megabytes(total)} MB: once`);
    this.bar.hidden = false;
    this.bar.value = total ? Math.min(loaded / total, 1) : 0;
  }

  // Run this block after all above that have not run as they stand now.
  async press() {
    if (running) return;
    running = this;
    this.start.ariaDisabled = "true"; // and keeps the focus
    this.stop.hidden = false;
    try {
      this.say("Loading Python");
      await begun().load().catch(() => {}); // the run tells
      this.bar.hidden = true;
      const above = this.above();
      for (const block of above) {
        this.say(`Running ${block.name.toLowerCase()} first`);
        const result = await block.run();
        if (result.stopped || result.lost) return this.say(ended(result), "wrong");
      }
      this.say("Running");
      const first = above.length ? `Ran ${counted(above.length)} above first. ` : "";
      const result = await this.run();
      this.say(...this.question ? judged(result) : [first + ended(result), result.ok ? "" : "wrong"]);
    } finally {
      running = undefined;
      if (document.activeElement === this.stop) this.start.focus();
      this.bar.hidden = this.stop.hidden = true;
      this.start.ariaDisabled = null;
    }
  }

  // From the first block above on that has not run as it stands now.
  above() {
    const all = this.question ? blocks.filter(block => this.follows(block)) : blocks.slice(0, blocks.indexOf(this));
    const first = all.findIndex(block => !block.fresh);
    return first < 0 ? [] : all.slice(first);
  }

  async run() {
    this.output.clear();
    const on = event => {
      this.show(true);
      this.output.add(event);
    };
    const { text } = this;
    const result = await begun().run(text, { name: this.question ? ANSWER : PROGRAM, line: this.line, check: this.question, on });
    if (!this.place.childElementCount) this.show(false);
    if (this.question) return result;
    // What comes after has not run on these variables.
    for (const block of blocks.slice(blocks.indexOf(this))) block.ran = undefined;
    if (!result.lost) [this.ran, this.generation] = [text, begun().generation];
    return result;
  }
}

const lines = text => text.replace(/\n$/, "").split("\n").length;
const counted = n => n === 1 ? "the program" : `the ${n} programs`;

// How a run ended, in words.
function ended({ ok, stopped, lost, error }) {
  if (stopped) return lost ? "Stopped; variables are gone, and the next Run starts from the top." : "Stopped.";
  if (lost) return `Python has ended: ${error?.message ?? "of no known reason"}. The next Run starts a new one.`;
  return ok ? "" : "Ended in an error.";
}

// What the page says of an answer.
function judged(result) {
  const { ok, error } = result;
  if (ok) return ["Right.", "right"];
  if (!error?.check) return [ended(result), "wrong"];
  return [error.kind === "AssertionError" ? `Not yet: ${error.message}` : `Not yet: ${error.kind}: ${error.message}`, "wrong"];
}

for (const code of document.querySelectorAll(".md-content .language-python.highlight")) {
  const question = code.closest(".question");
  if (code.dataset.elsewhere) {
    program.push({ text: code.querySelector("code").textContent });
    code.after(element("p", { className: "run-elsewhere", textContent: `Not in the browser: ${code.dataset.elsewhere}` }));
  } else if (!question) {
    blocks.push(new Block(code));
    program.push(blocks.at(-1));
  } else if (!code.closest("details")) {
    new Block(code, question.querySelector("template.check").content.textContent);
  }
}
