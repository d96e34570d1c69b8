// Making elements. All text of the program goes in as text nodes and attributes, never as markup.

const SVG = "http://www.w3.org/2000/svg";

/** The element with that id. */
const byId = (id) => document.getElementById(id);

/** Give an element attributes, listeners (`onclick`) and children; null and false are left out. */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

/**
 * A function that makes elements: `h("p.dim@note", { title }, ...children)` has that class, that test
 * id, these attributes. The attributes may be left out.
 */
const maker =
  (create) =>
  (what, ...rest) => {
    const [names, testid] = what.split("@");
    const [tag, ...classes] = names.split(".");
    const given = rest[0]?.constructor === Object ? rest.shift() : {};
    const own = { class: classes.join(" ") || null, "data-testid": testid };
    return fill(create(tag), { ...own, ...given }, rest);
  };

/** A new HTML element. */
const h = maker((tag) => document.createElement(tag));

/** A new SVG element. */
const s = maker((tag) => document.createElementNS(SVG, tag));

/** A button that does something. */
const button = (what, text, go, attributes) =>
  h(`button${what}`, { type: "button", onclick: go, ...attributes }, text);

/** A button that looks like a link and goes somewhere in the graph. A name may break at its dots. */
const link = (text, go, attributes) =>
  button(
    ".link",
    text.split(/(?<=\.)/).map((piece, at) => (at ? [h("wbr"), piece] : piece)),
    go,
    attributes,
  );

/** A table that scrolls: the names of its columns, and its rows. */
const tableOf = (attributes, names, rows) => {
  const columns = names?.map((name) => h("th", { scope: "col" }, name));
  const head = columns && h("thead", h("tr", columns));
  return h("div.scroll", h("table", attributes, head, h("tbody", rows)));
};

/** A row of a table, of cells or of what is in them. */
const rowOf = (attributes, ...cells) => {
  const cell = (what) => (what?.tagName === "TD" ? what : h("td", what));
  return h("tr", attributes, cells.map(cell));
};

/** A cell with a number, and the number itself for who reads the page. */
const numberCell = (value, ...children) => h("td.number", { "data-value": value }, children);

/** A sentence that is said quietly. */
const aside = (...children) => h("p.dim", children);

const _canvas = document.createElement("canvas").getContext("2d");
const _widths = new Map();

/** The width of a text in pixels. */
function widthOf(text, font) {
  const key = `${font}\n${text}`;
  let width = _widths.get(key);
  if (width === undefined) {
    _canvas.font = font;
    width = _canvas.measureText(text).width;
    _widths.set(key, width);
  }
  return width;
}

/** A text cut to at most `most` characters. */
const cut = (text, most) => {
  const letters = [...text];
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join("")}…`;
};

/** `1 node`, `2 nodes`, `1,234 nodes`. */
const counted = (n, one, many = `${one}s`) =>
  `${Number(n).toLocaleString("en")} ${n === 1 ? one : many}`;

/** The item with the least distance; null of none. */
function nearest(items, distance) {
  let best = null;
  let least = Infinity;
  for (const item of items) {
    const d = distance(item);
    if (d < least) [best, least] = [item, d];
  }
  return best;
}

/** Dark where the page is light, and light where dark. */
function otherTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}
