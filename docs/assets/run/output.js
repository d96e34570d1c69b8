// What a program prints and shows, below it.

const element = (name, properties, ...inside) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...inside);
  return made;
};

/** The events of a run (see session.js) as elements of the page. */
export class Output {
  #last;

  /** @param {HTMLElement} place What is emptied and filled. */
  constructor(place) {
    this.place = place;
  }

  clear() {
    for (const image of this.place.querySelectorAll("img")) URL.revokeObjectURL(image.src);
    this.place.replaceChildren();
    this.#last = undefined;
  }

  /** @param {import("./session.js").PageEvent} event */
  add = event => this[`_${event.type}`](event);

  _text({ text, to }) {
    this.#write(to, text);
  }

  _value({ text }) {
    this.#write("value", text);
    this.#last = undefined;
  }

  _error({ text }) {
    this.#write("error", text.trimEnd());
    this.#last = undefined;
  }

  _live({ rows }) {
    const said = Object.entries(rows.at(-1)).map(([name, value]) => `${name} ${+value.toPrecision(4)}`);
    const found = this.place.querySelector(".live") ?? this.#append(element("p", { className: "live" }));
    found.textContent = said.join(" · ");
  }

  _svg({ text }) {
    // As an image: its styles are its own, and a script in it would not run.
    const said = ["title", "desc"].map(name => plain(text.match(`<${name}>([^<]*)</${name}>`)?.[1])).filter(part => part);
    const src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    const image = element("img", { src, alt: said.join(": ") || "A picture that the program made" });
    // A picture with the name of one before is that one, drawn anew.
    image.name = text.match(/^\s*<svg[^>]* id="([^"]*)"/)?.[1] ?? "";
    const before = image.name && [...this.place.querySelectorAll("img")].find(({ name }) => name === image.name);
    if (!before) return this.#append(image);
    URL.revokeObjectURL(before.src);
    before.replaceWith(image);
  }

  _page({ text, height }) {
    const frame = element("iframe", { src: new URL("frame.html", import.meta.url), title: "The page that the program made" });
    frame.sandbox = "allow-scripts";
    frame.allow = "fullscreen";
    frame.style.height = `${height ?? 600}px`;
    frame.onload = () => {
      frame.onload = null;
      frame.contentWindow.postMessage(text, "*");
    };
    const large = element("button", { type: "button", textContent: "Full screen" });
    large.onclick = () => frame.requestFullscreen();
    this.#append(element("div", { className: "run-page" }, frame, large));
  }

  #append(made) {
    this.place.append(made);
    this.#last = undefined;
    return made;
  }

  #write(to, text) {
    if (this.#last?.className !== to) {
      const made = element("pre", { className: to, tabIndex: 0 });
      this.#append(made);
      this.#last = made;
    }
    if (text.includes("\r")) this.#last.textContent = returned(this.#last.textContent + text);
    else this.#last.append(text);
  }
}

/** The text of a piece of markup that has no elements. */
const plain = markup => {
  const inert = document.createElement("template");
  inert.innerHTML = markup ?? "";
  return inert.content.textContent;
};

/** A text as a terminal shows it: what follows "\r" is written over its line. */
const returned = text => text.replaceAll("\r\n", "\n").replace(/[^\n]*\r(?=[^\n])/g, "");
