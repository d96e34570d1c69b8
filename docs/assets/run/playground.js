/**
 * The playground: a program in an editor, and what it prints, draws and tells beside it.
 *
 * The program comes from the address (`#code=`, see link.js; `#example=NAME`), or else is the one that
 * was here last, or the first example. It runs when Run is pressed and never by itself.
 */

import { Curves } from "./curve.js";
import { Editor } from "./editor.js";
import { packed, unpacked } from "./link.js";
import { Output } from "./output.js";
import { Session } from "./session.js";

const NAME = "program.py";
const KEPT = "rushlight-program";
/** Where an error of Python says which line of the program it is of. */
const LINE = /File "program\.py", line (\d+)/g;
/** A picture that is wider than its place shrinks to this much of its size; what is wider still scrolls. */
const SMALLEST = 0.6;

const root = document.querySelector(".play");
const part = Object.fromEntries([...root.querySelectorAll("[data-play]")].map(e => [e.dataset.play, e]));
const session = new Session({ onProgress });
const outputs = [part.printed, part.graph, part.pictures, part.live].map(place => new Output(place));
const [printed, pages] = outputs;
let origin = "";       // the program as the example or the link had it
let running = false;
let curves, drawn, at; // of this run: its curves; whether it has shown a graph or a page itself; the line of its error

const say = text => { part.status.textContent = text; };
const megabytes = count => `${(count / 1e6).toFixed(1)} MB`;

function onProgress({ loaded, total }) {
  part.progress.hidden = loaded >= total;
  part.progress.max = total || 1;
  part.progress.value = loaded;
  say(loaded < total ? `Loading Python, ${megabytes(loaded)} of ${megabytes(total)}` : "Starting Python");
}

// ---- the program

const editor = new Editor(part.editor, {
  label: "Program, Python",
  run,
  changed: text => {
    part.reset.disabled = text === origin;
    try { localStorage.setItem(KEPT, text); } catch { /* a browser that keeps nothing */ }
  },
});

function open(text, example = "") {
  origin = text;
  part.examples.value = example;
  editor.text = text;
  editor.wrong();
  part.reset.disabled = true;
}

async function openExample(name) {
  if (![...part.examples.options].some(option => option.value === name)) throw new Error(`No example ${name}`);
  const answer = await fetch(new URL(`examples/${name}.py`, import.meta.url));
  if (!answer.ok) throw new Error(`The example ${name} cannot be loaded`);
  open(await answer.text(), name);
}

/** The program of the address; false where the address has none. */
async function openAddress() {
  const { code, example } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  try {
    if (code) open(await unpacked(code));
    else if (example) await openExample(example);
    else return false;
    say("Ready. Run starts the program.");
    return true;
  } catch {
    say("The address carries no program that can be read.");
    return false;
  }
}

async function start() {
  let kept = null;
  try { kept = localStorage.getItem(KEPT); } catch { /* as above */ }
  say("Ready. Run starts the program.");
  if (!await openAddress()) {
    await openExample(part.examples.options[1].value);
    if (kept) editor.text = kept;
  }
  for (const name of ["run", "link"]) part[name].disabled = false;
}

// ---- a run

async function run() {
  if (running || part.run.disabled) return;
  running = true;
  clear();
  const began = performance.now();
  say(session.state === "none" ? "Loading Python" : "Running");
  await session.fresh();
  part.progress.hidden = true;
  say("Running");
  const result = await session.run(editor.text, { name: NAME, on: show });
  if (result.ok && !drawn) {
    say("Drawing the graph");
    await session.run('__import__("rushlight").explain.show()', { name: "graph", on: event => event.type === "svg" && show(event) });
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  if (result.ok) say(`Ran to its end in ${seconds} s.`);
  else if (result.stopped) say(`Stopped after ${seconds} s.`);
  else say(at ? `An error in line ${at}.` : "Ended with an error.");
  if (result.error && !part.printed.querySelector(".error")) show({ type: "error", text: result.error.message });
  running = false;
  curves?.draw();
  buttons();
}

function buttons() {
  // The button that goes away must not take the keyboard's place with it.
  const from = document.activeElement;
  part.stop.disabled = !running;
  part.run.disabled = running;
  if (from === part.run && running) part.stop.focus();
  if (from === part.stop && !running) part.run.focus();
  root.toggleAttribute("data-running", running);
}

function clear() {
  for (const output of outputs) {
    output.clear();
    output.place.hidden = true;
  }
  part.empty.hidden = false;
  curves = undefined;
  drawn = false;
  at = 0;
  editor.wrong();
  buttons();
}

function uncover(element) {
  element.hidden = false;
  if (element !== part.printed) part.empty.hidden = true;
  return element;
}

// ---- what a run shows

const shows = {
  text: print,
  value: print,
  error: event => {
    print(event);
    at = Number([...event.text.matchAll(LINE)].at(-1)?.[1] ?? 0);
    editor.wrong(at, event.text.trim().split("\n").at(-1));
  },
  live: ({ rows }) => (curves ??= new Curves(uncover(part.live))).add(rows),
  svg: ({ text }) => picture(text),
  page: event => {
    drawn = true;
    uncover(part.graph);
    pages.add(event);
  },
};
const show = event => shows[event.type]?.(event);

function print(event) {
  const { scrollHeight, scrollTop, clientHeight } = uncover(part.printed);
  printed.add(event);
  if (scrollHeight - scrollTop - clientHeight < 40) part.printed.scrollTop = part.printed.scrollHeight;
}

/** A picture, as an image: an image's styles are its own. One of the same id gives its place. */
async function picture(text) {
  const plain = text.replace(/<style[^]*?<\/style>/g, ""); // which the page's policy has not to allow
  const svg = new DOMParser().parseFromString(plain, "image/svg+xml").documentElement;
  const id = svg.id, graph = svg.classList.contains("rl");
  const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  const image = Object.assign(new Image(), { src: url, alt: svg.querySelector("title")?.textContent ?? "A picture" });
  if (graph) drawn = true;
  const section = uncover(graph ? part.graph : part.pictures);
  const title = graph ? image.alt : id || "picture";
  const figure = [...section.children].find(f => id && f.dataset.id === id) ?? section.appendChild(framed(id, title));
  const turn = figure.dataset.turn = Number(figure.dataset.turn ?? 0) + 1;
  await image.decode().catch(() => {});
  if (Number(figure.dataset.turn) !== turn || !figure.isConnected) return URL.revokeObjectURL(url); // a later one was faster
  const before = figure.querySelector("img");
  if (before) URL.revokeObjectURL(before.src);
  const frame = figure.firstElementChild;
  frame.replaceChildren(image);
  image.classList.toggle("fits", image.naturalWidth * SMALLEST < frame.clientWidth);
  frame.scrollLeft = (frame.scrollWidth - frame.clientWidth) / 2;
  Object.assign(figure.querySelector("a"), { href: url, download: `${id || "graph"}.svg` });
}

/** A place for a picture, which scrolls where the picture is larger. */
function framed(id, title) {
  const figure = document.createElement("figure");
  figure.dataset.id = id;
  figure.innerHTML = '<div class="play-frame" tabindex="0" role="group"></div><figcaption><span></span> <a>Save as SVG</a></figcaption>';
  figure.firstElementChild.setAttribute("aria-label", title);
  figure.querySelector("span").textContent = title;
  return figure;
}

// ---- buttons

/** Put a text on the clipboard; false where the browser refuses that. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { /* a frame may not; the older way is open to frames */ }
  const field = root.appendChild(Object.assign(document.createElement("textarea"), { value: text }));
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  part.link.focus();
  return done;
}

part.run.addEventListener("click", run);
part.stop.addEventListener("click", () => { say("Stopping"); session.stop(); });
part.reset.addEventListener("click", () => open(origin, part.examples.value));
part.examples.addEventListener("change", () => openExample(part.examples.value).catch(error => say(`${error.message}.`)));
part.save.addEventListener("click", () => {
  const url = URL.createObjectURL(new Blob([editor.text], { type: "text/x-python" }));
  part.save.href = url;
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
});
part.link.addEventListener("click", async () => {
  history.replaceState(null, "", `#code=${await packed(editor.text)}`);
  const done = await copied(location.href);
  if (self === top) say(done ? "The link is copied, and stands in the address bar." : "The link stands in the address bar.");
  else say(done ? "The link is copied." : "The link cannot be copied in this frame: open the playground in a tab of its own.");
});
root.addEventListener("keydown", event => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.defaultPrevented) run();
});
window.addEventListener("hashchange", openAddress);

start().catch(error => say(`${error.message}.`));
