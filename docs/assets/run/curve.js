/**
 * Curves of numbers that arrive while a program runs, and the same numbers as a table.
 *
 *     const curves = new Curves(element);
 *     curves.add([{ step: 0, loss: 0.7 }, { step: 1, loss: 0.5 }]);
 */

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 480, HEIGHT = 190, LEFT = 46, RIGHT = 8, TOP = 8, BOTTOM = 22;
/** Rows that are kept: of more, every second one goes. */
const MOST = 1000;
const IN_TABLE = 20;
/** Numbers over more than so many times the smallest one stand on a logarithmic scale. */
const WIDE = 20;

const make = (name, attributes = {}, text = "") => {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
};
const short = value => {
  const rounded = Number(value.toPrecision(3));
  return 0 < Math.abs(rounded) && Math.abs(rounded) < 1e-3 ? rounded.toExponential() : `${rounded}`;
};

/** Places along one side, from numbers. */
function scale(values, from, to, logarithmic) {
  const on = logarithmic ? Math.log10 : value => value;
  const low = on(Math.min(...values)), high = on(Math.max(...values));
  const at = value => from + (to - from) * (high > low ? (on(value) - low) / (high - low) : 0.5);
  const back = logarithmic ? value => 10 ** value : value => value;
  const decades = Array.from({ length: 40 }, (_, i) => i - 20).filter(i => logarithmic && low <= i && i <= high);
  const each = Math.ceil(decades.length / 4);
  const even = high > low ? [low, (low + high) / 2, high] : [low];
  return { at, ticks: (decades.length > 1 ? decades.filter((_, i) => i % each === 0) : even).map(back) };
}

export class Curves {
  #rows = [];
  #waiting = false;
  #picture = make("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "play-curves" });
  #legend = document.createElement("p");
  #table = document.createElement("table");

  constructor(parent) {
    const numbers = document.createElement("details");
    numbers.innerHTML = "<summary>The numbers as a table</summary>";
    numbers.append(this.#table);
    numbers.addEventListener("toggle", () => this.#tabulate());
    this.#legend.className = "play-legend";
    parent.replaceChildren(this.#picture, this.#legend, numbers);
  }

  add(rows) {
    this.#rows.push(...rows);
    while (this.#rows.length > MOST) this.#rows = this.#rows.filter((_, i, all) => i % 2 === 0 || i === all.length - 1);
    if (this.#waiting) return;
    this.#waiting = true;
    requestAnimationFrame(() => { this.#waiting = false; this.draw(); });
  }

  /** The name of the axis along, the other names, and where a row stands along. */
  #names() {
    const names = [...new Set(this.#rows.flatMap(Object.keys))];
    return { names: names.filter(name => name !== "step"), along: (row, i) => row.step ?? i };
  }

  draw() {
    const { names, along } = this.#names();
    const places = this.#rows.map(along);
    const values = this.#rows.flatMap(row => names.map(name => row[name])).filter(Number.isFinite);
    if (!values.length) return;
    const low = Math.min(...values);
    const x = scale(places, LEFT, WIDTH - RIGHT, false);
    const y = scale(values, HEIGHT - BOTTOM, TOP, low > 0 && Math.max(...values) > WIDE * low);
    const parts = y.ticks.flatMap(tick => [
      make("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y.at(tick), y2: y.at(tick), class: "grid" }),
      make("text", { x: LEFT - 6, y: y.at(tick) + 4, "text-anchor": "end" }, short(tick)),
    ]);
    const [first] = x.ticks, last = x.ticks.at(-1);
    parts.push(make("text", { x: LEFT, y: HEIGHT - 4 }, short(first)));
    parts.push(make("text", { x: WIDTH - RIGHT, y: HEIGHT - 4, "text-anchor": "end" }, `step ${short(last)}`));
    names.forEach((name, i) => {
      const known = this.#rows.map((row, at) => [places[at], row[name]]).filter(([, value]) => Number.isFinite(value));
      const points = known.map(([at, value]) => `${x.at(at).toFixed(1)},${y.at(value).toFixed(1)}`).join(" ");
      parts.push(make("polyline", { points, class: `curve curve-${i % 4}` }));
    });
    const said = names.map(name => `${name} ${short(this.#rows.findLast(row => name in row)[name])}`);
    this.#picture.setAttribute("aria-label", `${said.join(", ")} at step ${short(last)}`);
    this.#picture.replaceChildren(...parts);
    this.#legend.replaceChildren(...said.map((text, i) => {
      const entry = document.createElement("span");
      entry.className = `curve-${i % 4}`;
      entry.textContent = text;
      return entry;
    }));
    this.#tabulate();
  }

  #tabulate() {
    if (!this.#table.parentElement.open) return;
    const { names, along } = this.#names();
    const each = Math.max(1, (this.#rows.length - 1) / (IN_TABLE - 1));
    const some = [...new Set(this.#rows.map((_, i) => Math.round(i * each)))].filter(i => i < this.#rows.length);
    const cells = (row, tag, texts) => texts.forEach(text => {
      row.append(Object.assign(document.createElement(tag), { textContent: text }));
    });
    this.#table.replaceChildren();
    cells(this.#table.createTHead().insertRow(), "th", ["step", ...names]);
    const body = this.#table.createTBody();
    for (const i of some) {
      const row = this.#rows[i];
      cells(body.insertRow(), "td", [along(row, i), ...names.map(name => row[name])].map(v => v === undefined ? "" : short(v)));
    }
  }
}
