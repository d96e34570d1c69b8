// The page of a training run: curves, layers, and the graphs of some steps. The server, where there
// is one, is asked for the state again and again; at the program's end all is here.

const data = JSON.parse(byId("data").textContent);
const state = { run: data.run, before: data.before, live: data.live, at: null };
const HUES = ["forward", "gradient", "leaf-line", "function-line", "accumulate-line"];
const words = (x) => brief(x, "float64", 4);
const en = (n) => n.toLocaleString("en");
const pale = (text) => h("span", { class: "dim" }, text);

/** The least and the largest of numbers; null of none. */
function range(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const v of values) if (v !== null) [low, high] = [Math.min(low, v), Math.max(high, v)];
  return low <= high ? [low, high] : null;
}

// ---- curves, large and small

/** Where values and clocks are in a picture of these curves; null where there is nothing yet. */
function axes(curves, log, [left, right, top, bottom]) {
  const found = range(curves.flatMap(({ low, high, end }) => [...(low ?? []), ...(high ?? end)]));
  if (!found) return null;
  let [low, high] = found;
  log &&= low > 0;
  if (high - low <= Math.abs(high) * 1e-9) {
    const room = log ? low / 2 : Math.abs(low) / 2 || 0.5;
    [low, high] = [low - room, high + room];
  }
  const scale = log ? Math.log : (v) => v;
  const tall = (bottom - top) / (scale(high) - scale(low));
  const last = Math.max(...curves.map((curve) => curve.last), 2);
  return {
    ...{ low, high, log, last, left, right, top, bottom },
    x: (clock) => left + ((clock - 1) / (last - 1)) * (right - left),
    y: (v) => bottom - (scale(v) - scale(low)) * tall,
  };
}

const clockAt = (curve, i) => 1 + (i * curve.last) / curve.end.length;

/** A curve as a line. A column without a value is passed over: not each pass has one, as with two
    losses in turn. Between its least and largest values, where these are known, there is a band. */
function line(curve, hue, { x, y }) {
  const along = (values) =>
    values.flatMap((v, i) =>
      v === null ? [] : [`${x(clockAt(curve, i)).toFixed(1)} ${y(v).toFixed(1)}`],
    );
  const points = along(curve.end);
  const band = [...along(curve.high ?? []), ...along(curve.low ?? []).reverse()];
  const one = points.length === 1 ? "h1" : "";
  const path = (name, along, end) =>
    along.length ? [tinted(s("path", { class: name, d: `M${along.join("L")}${end}` }), hue)] : [];
  return [...(hue === undefined ? [] : path("band", band, "Z")), ...path("course", points, one)];
}

/** An element in the colour of a curve; without a number, as the run before is drawn. */
function tinted(element, hue) {
  if (hue === undefined) element.classList.add("before");
  else element.style.setProperty("--hue", `var(--${HUES[hue % HUES.length]})`);
  return element;
}

/** Round numbers between two, on a logarithmic axis of some length the powers of ten. */
function ticks(low, high, log) {
  const powers = log ? Math.log10(high / low) : 0;
  const all = [];
  if (powers >= 2) {
    const each = Math.ceil(powers / 5);
    for (let p = Math.ceil(Math.log10(low)); 10 ** p <= high; p += each) all.push(10 ** p);
    return all;
  }
  const rough = (high - low) / 4;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((n) => n * unit >= rough) * unit;
  for (let n = Math.ceil(low / step); n * step <= high; n++) all.push(+(n * step).toPrecision(9));
  return all;
}

/** Curves over the clock. A click opens a graph; the mouse, or the slider, says the values. */
class Chart {
  constructor({ title }) {
    const clock = (event) => {
      const { left, right, last } = this.axes ?? { left: 0, right: 1, last: 1 };
      const far = event.clientX - this.svg.getBoundingClientRect().left - left;
      return Math.round(1 + Math.min(Math.max(far / (right - left), 0), 1) * (last - 1));
    };
    this.svg = s("svg", {
      class: "chart",
      role: "img",
      "aria-label": title,
      onmousemove: (event) => look(clock(event)),
      onmouseleave: () => look(null),
      onclick: (event) => openNearest(clock(event), this.nameAt(clock(event), event)),
    });
    this.legend = h("ul", { class: "curves" });
    byId("charts").append(
      h("section", { "data-testid": title }, h("h2", {}, title), this.svg, this.legend),
    );
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  show(chart, before) {
    this.chart = chart;
    this.before = before?.rows ?? [];
    this.draw();
  }

  draw() {
    const { rows, log } = this.chart;
    const [width, height] = [this.svg.clientWidth, this.svg.clientHeight];
    const curves = [...rows, ...this.before].map(({ curve }) => curve);
    const at = (this.axes = axes(curves, log, [76, width - 30, 14, height - 26]));
    const text = (x, y, words, more) => s("text", { x, y, ...more }, words);
    if (!at) return this.svg.replaceChildren(text(16, 28, "Nothing yet."));
    const { left, right, top, bottom, x, y } = at;
    const bad = rows.flatMap(({ curve }) => curve.bad.map((i) => x(clockAt(curve, i))));
    this.cursor = s("path", { class: "cursor" });
    this.svg.replaceChildren(
      ...ticks(at.low, at.high, at.log).flatMap((v) => [
        s("path", { class: "grid", d: `M${left} ${y(v)}H${right}` }),
        text(left - 8, y(v) + 4, words(v), { "text-anchor": "end" }),
      ]),
      ...ticks(1, at.last, false)
        .filter(Number.isInteger)
        .map((clock) => text(x(clock), height - 8, en(clock), { "text-anchor": "middle" })),
      ...this.before.flatMap(({ curve }) => line(curve, undefined, at)),
      ...rows.flatMap(({ curve }, i) => line(curve, i, at)),
      ...bad.map((x) => s("path", { class: "not-finite", d: `M${x - 2} ${top - 6}h4v6h-4z` })),
      ...state.run.graphs.map(({ step }) =>
        s("path", { class: "kept", d: `M${x(step) - 5} ${bottom + 7}h10l-5 -8z` }),
      ),
      this.cursor,
    );
    this.tell();
  }

  /** The name of the curve that is nearest to the mouse at a clock. */
  nameAt(clock, event) {
    const far = event.clientY - this.svg.getBoundingClientRect().top;
    const away = ({ curve }) => {
      const there = [...curve.end.keys()].filter((i) => curve.end[i] !== null);
      const i = nearest(there, (i) => Math.abs(clockAt(curve, i) - clock));
      return i === null ? Infinity : Math.abs(this.axes.y(curve.end[i]) - far);
    };
    return nearest(this.chart.rows, away)?.name;
  }

  /** Say the values at the cursor; without one, the last. */
  tell() {
    const clock = state.at;
    const there = clock !== null && this.axes;
    const d = there && `M${there.x(clock)} ${there.top}V${there.bottom}`;
    if (this.cursor) this.cursor.setAttribute("d", d || "");
    const value = ({ curve }) => {
      if (clock === null) return curve.now;
      const i = Math.floor(((clock - 1) * curve.end.length) / curve.last);
      return curve.end[i] ?? "";
    };
    const item = (row, name, hue) => {
      const said = String(value(row));
      const notes = row.notes.filter(([text]) => !said.endsWith(text.toLowerCase())); // not NaN twice
      const kind = notes.length < row.notes.length ? "bad number" : "number";
      return h(
        "li",
        {},
        tinted(h("i"), hue),
        `${name} `,
        h("b", { class: kind }, words(value(row))),
        notes.map(([text, now]) => h("span", { class: now ? "bad" : "dim" }, ` · ${text}`)),
      );
    };
    this.legend.replaceChildren(
      ...this.chart.rows.map((row, i) => item(row, row.name, i)),
      ...this.before.map((row) => item({ ...row, notes: [] }, `before: ${row.name}`)),
    );
  }
}

// ---- graphs

const graphs = data.graphs ?? [];

/** Open the graph that is nearest to a clock; of the loss of this name, if one of it is kept. */
function openNearest(clock, name) {
  const own = state.run.graphs.filter(({ loss }) => loss === name);
  const kept = nearest(own.length ? own : state.run.graphs, ({ step }) => Math.abs(step - clock));
  if (kept) openGraph(state.run.graphs.indexOf(kept), clock);
}

/** The text that the server has there; fails where there is none. */
async function fetched(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.text();
}

async function openGraph(number, wanted = state.run.graphs[number].step) {
  const { step, line } = state.run.graphs[number];
  try {
    graphs[number] ??= await fetched(`graph?number=${number}`);
  } catch {
    return say("The program is gone, and this graph was not fetched before.");
  }
  const safe = graphs[number].replace(/[<>&]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`);
  const near = wanted === step ? "" : `, the nearest kept to ${en(wanted)}`;
  byId("opened-title").textContent = `Pass ${en(step)}${near}: backward in line ${line}`;
  byId("frame").srcdoc = data.graphPage.replace('id="data">{}<', () => `id="data">${safe}<`);
  byId("opened").showModal();
}

byId("frame").addEventListener("load", () => {
  const inner = byId("frame").contentDocument;
  inner.documentElement.dataset.theme = document.documentElement.dataset.theme ?? "";
  inner.addEventListener("keydown", (event) => event.key === "Escape" && byId("opened").close());
});
byId("close").addEventListener("click", () => byId("opened").close());
byId("more").addEventListener("click", () => {
  byId("more").disabled = true;
  fetch("more").catch(() => {});
});

/** A button for each graph. Those that are there stay: one of them may have the focus. */
function showGraphs({ graphs: kept, more }) {
  const holder = byId("graphs");
  for (let i = holder.childElementCount; i < kept.length; i++) {
    const open = () => openGraph(i);
    holder.append(h("button", { type: "button", onclick: open }, `pass ${en(kept[i].step)}`));
    byId("more").disabled = false;
  }
  byId("more").hidden = !more || !state.live;
}

/** Move the cursor to a clock, or away. */
function look(clock) {
  state.at = clock;
  byId("pass").textContent = en(clock ?? state.run.clock);
  byId("at").value = clock ?? state.run.clock;
  for (const chart of charts) chart.tell();
}

byId("at").addEventListener("input", () => look(Number(byId("at").value)));
byId("at").addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault(); // the key is not for the button that gets the focus
  openNearest(Number(byId("at").value));
});

// ---- layers

const [WIDE, TALL] = [110, 26];
const small = (attributes, ...children) =>
  s("svg", { width: WIDE, height: TALL, ...attributes }, children);

/** Norms as a small curve, with that of the run before, and the last of them. */
function norms({ curve }, before, log) {
  const other = before ? [before.curve] : [];
  const at = axes([curve, ...other], log, [1, WIDE - 1, 3, TALL - 3]);
  const lines = at && [...other.map((o) => line(o, undefined, at)), line(curve, 0, at)];
  const kind = curve.bad.length ? "bad number" : "number";
  return [small({ "aria-hidden": "true" }, lines), h("span", { class: kind }, words(curve.now))];
}

/** A histogram; the outline of the first one is over it. */
function histogram({ shape, first, curve }) {
  if (!shape) return curve.now === "" ? pale("none") : h("span", { class: "bad" }, "not finite");
  const [low, high] = range([...shape.slice(0, 2), ...first.slice(0, 2)]);
  const x = (v) => (((v - low) / (high - low)) * WIDE).toFixed(1);
  const outline = ([from, to, counts]) => {
    const each = (to - from) / counts.length;
    const y = (n) => (TALL * (1 - n / Math.max(...counts))).toFixed(1);
    const bars = counts.map((n, i) => `V${y(n)}H${x(from + (i + 1) * each)}`);
    return `M${x(from)} ${TALL}${bars.join("")}V${TALL}`;
  };
  const reach = ([from, to]) => `from ${words(from)} to ${words(to)}`;
  const label = `${reach(shape)}; at first ${reach(first)}`;
  return small(
    { role: "img", "aria-label": label },
    s("title", {}, label),
    tinted(s("path", { class: "bars", d: outline(shape) }), 0),
    s("path", { class: "first", d: outline(first) }),
  );
}

const COLUMNS = "layer,numbers,at pass,gradient norm,weight norm,gradients,weights,dead units".split(",");

function layerRow(layer, then) {
  const few = layer.which.join(", ") + (layer.dead > layer.which.length ? ", …" : "");
  const units = `${layer.dead} of ${layer.units}${layer.dead ? `: ${few}` : ""}`;
  const dead = layer.without || (layer.units ? units : "");
  return rowOf(
    {},
    h("span", { class: "number" }, h("b", {}, layer.name), " ", pale(layer.kind)),
    en(layer.elements),
    en(layer.looked),
    norms(layer.gradients, then?.gradients, true),
    norms(layer.weights, then?.weights, false),
    histogram(layer.gradients),
    histogram(layer.weights),
    h("span", { class: layer.dead && !layer.without ? "bad" : "dim" }, dead),
  );
}

// ---- the whole

function say(text) {
  byId("said").textContent = text;
  byId("said").hidden = !text;
}

/** How the program does, in words and their colour. */
function status({ ended, error }) {
  if (ended) return error ? [`ended: ${error}`, "bad"] : ["ended", "dim"];
  return state.live ? ["live", "dim"] : ["no answer: the program is gone", "bad"];
}

function show() {
  const { run } = state;
  const before = byId("compare").checked ? state.before : null;
  byId("title").textContent = run.title || "training";
  byId("progress").textContent = run.progress;
  [byId("status").textContent, byId("status").className] = status(run);
  byId("trouble").replaceChildren(...run.trouble.map((text) => h("li", {}, text)));
  byId("trouble").hidden = !run.trouble.length;
  byId("comparing").hidden = !state.before;
  byId("other").textContent =
    state.before && `${state.before.title}, ${new Date(state.before.began * 1000).toLocaleString()}`;
  byId("at").max = Math.max(run.clock, 1);
  showGraphs(run);
  charts.forEach((chart, i) => chart.show(run.charts[i], before?.charts[i]));
  const earlier = new Map(before?.layers.map((layer) => [layer.name, layer]));
  rows.replaceChildren(...run.layers.map((layer) => layerRow(layer, earlier.get(layer.name))));
  look(state.at);
}

/** Ask for the next state until the end. */
async function follow() {
  const tab = crypto.getRandomValues(new Uint32Array(2)).join("");
  while (state.live && !state.run.ended) {
    try {
      const after = encodeURIComponent(JSON.stringify(state.run.version));
      const given = JSON.parse(await fetched(`data?tab=${tab}&after=${after}`));
      state.run = given.run;
      (given.graphs ?? []).forEach((text, number) => (graphs[number] = text));
    } catch {
      state.live = false;
    }
    show();
  }
}

byId("compare").addEventListener("change", show);
byId("pick").addEventListener("click", () => byId("file").click());
byId("file").addEventListener("change", async () => {
  const [file] = byId("file").files;
  if (!file) return;
  const page = new DOMParser().parseFromString(await file.text(), "text/html");
  const found = page.getElementById("data")?.textContent ?? "";
  const run = found.includes('"charts"') ? JSON.parse(found).run : null;
  say(run ? "" : `${file.name} is no page of a training run.`);
  byId("compare").checked = true;
  state.before = run ?? state.before;
  show();
});
byId("theme").addEventListener("click", otherTheme);

byId("layers").append(tableOf({}, COLUMNS, []));
const rows = byId("layers").querySelector("tbody");
const charts = state.run.charts.map((chart) => new Chart(chart));
show();
document.body.dataset.ready = "";
follow();
