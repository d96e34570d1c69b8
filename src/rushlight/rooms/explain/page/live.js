// The page of a training run: curves, layers, and the graphs of some steps. The server, where there
// is one, is asked for the state again and again; at the program's end all is here.

const data = JSON.parse(byId("data").textContent);
const HUES = 5;
const words = (x) => (x === "" || x === null || x === undefined ? "" : brief(x, "float64", 4));
const en = (n) => n.toLocaleString("en");
const when = (seconds) => new Date(seconds * 1000).toLocaleString();

const bold = (x) => h("b", { class: "number" }, words(x));

/** The path through values of columns. A column without one is passed over: not each pass has a
    value, as with two losses in turn. What is not finite is marked elsewhere. */
function course(values, x, y) {
  const points = values.flatMap((value, i) =>
    value === null ? [] : [`${x(i).toFixed(1)} ${y(value).toFixed(1)}`],
  );
  return points.length ? `M${points.join("L")}${points.length === 1 ? "h1" : ""}` : "";
}

/** The clock at a column of a curve, and the column at a clock. */
const clockAt = (curve, i) => 1 + (i * curve.last) / curve.end.length;
const columnAt = (curve, clock) =>
  Math.min(Math.floor(((clock - 1) * curve.end.length) / curve.last), curve.end.length - 1);

/** Round numbers between two, on a logarithmic axis the powers of ten. */
function ticks(low, high, log) {
  if (log) {
    const all = [];
    const [first, last] = [Math.ceil(Math.log10(low)), Math.floor(Math.log10(high))];
    const each = Math.ceil((last - first + 1) / 5);
    for (let power = first; power <= last; power += each) all.push(10 ** power);
    if (all.length) return all;
  }
  const rough = (high - low) / 4;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((n) => n * unit >= rough) * unit;
  const all = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) all.push(+at.toPrecision(9));
  return all;
}

/** Curves over the clock. Arrow keys or the mouse move a cursor; Enter or a click opens a graph. */
class Chart {
  constructor(holder, name, label) {
    this.at = null; // the clock under the cursor
    this.svg = s("svg", {
      class: "chart",
      tabindex: 0,
      role: "group",
      "aria-label": `${label}. Arrow keys move along; Enter opens the nearest graph.`,
      "data-testid": name,
      onkeydown: (event) => this.key(event),
      onmousemove: (event) => this.move(this.clock(event)),
      onmouseleave: () => this.move(null),
      onclick: (event) => openNearest(this.clock(event)),
    });
    this.readout = h("div", { class: "readout", role: "status", "data-testid": `${name}-readout` });
    this.legend = h("ul", { class: "legend", "data-testid": `${name}-legend` });
    this.rows = [];
    holder.append(this.svg, this.readout, this.legend);
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  show(rows, before, log) {
    this.rows = rows.map((row, i) => ({ ...row, hue: `hue-${i % HUES}` }));
    this.before = before;
    this.log = log;
    this.legend.replaceChildren(
      ...this.rows.map((row) =>
        h(
          "li",
          {},
          h("i", { class: row.hue }),
          `${row.name} `,
          bold(row.now),
          row.rate ? ` · lr ${words(row.rate)}` : null,
          row.notes.map(([text, now]) => h("span", { class: now ? "bad" : "dim" }, ` · ${text}`)),
        ),
      ),
      ...before.map((row) =>
        h("li", {}, h("i", { class: "then" }), `before: ${row.name} `, bold(row.now)),
      ),
    );
    this.draw();
  }

  draw() {
    const width = this.svg.clientWidth;
    const height = this.svg.clientHeight;
    const all = [...this.rows, ...(this.before ?? [])];
    const values = all
      .flatMap(({ curve }) => [...curve.low, ...curve.high])
      .filter((v) => v !== null);
    this.svg.replaceChildren();
    if (!width) return;
    if (!values.length) {
      this.svg.append(s("text", { x: 16, y: 28 }, "Nothing yet."));
      return;
    }
    const last = Math.max(...all.map(({ curve }) => curve.last), 2);
    let [low, high] = [Math.min(...values), Math.max(...values)];
    const log = this.log && low > 0;
    if (high - low <= Math.abs(high) * 1e-9) {
      [low, high] = log ? [low / 2, high * 2] : [low - 0.5, high + 0.5];
    }
    const scale = log ? Math.log : (v) => v;
    const [left, right, top, bottom] = [64, width - 14, 14, height - 26];
    this.x = (clock) => left + ((clock - 1) / (last - 1)) * (right - left);
    this.clock = (event) => {
      const part = (event.clientX - this.svg.getBoundingClientRect().left - left) / (right - left);
      return Math.round(1 + Math.min(Math.max(part, 0), 1) * (last - 1));
    };
    this.last = last;
    const tall = (bottom - top) / (scale(high) - scale(low));
    const y = (v) => bottom - (scale(v) - scale(low)) * tall;
    for (const tick of ticks(low, high, log)) {
      this.svg.append(
        s("line", { class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick) }),
        s("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, words(tick)),
      );
    }
    for (const tick of ticks(1, last, false).filter(Number.isInteger)) {
      const x = this.x(tick);
      this.svg.append(s("text", { x, y: height - 8, "text-anchor": "middle" }, en(tick)));
    }
    (this.before ?? []).forEach(({ curve }) => this.line(curve, "course before", y));
    for (const { curve, hue } of this.rows) {
      const x = (i) => this.x(clockAt(curve, i));
      const there = curve.high.map((_, i) => i).filter((i) => curve.high[i] !== null);
      const edge = (side) => (i) => `${x(i).toFixed(1)} ${y(curve[side][i]).toFixed(1)}`;
      const around = [...there.map(edge("high")), ...there.toReversed().map(edge("low"))];
      const d = around.length ? `M${around.join("L")}Z` : "";
      this.svg.append(s("path", { class: `band ${hue}`, d }));
      this.line(curve, `course ${hue}`, y);
      for (const i of curve.bad) {
        const place = { x: x(i) - 2, y: top - 6, width: 4, height: 6 };
        this.svg.append(s("rect", { class: "not-finite", ...place }));
      }
    }
    for (const { step } of state.run.graphs) {
      const x = this.x(step);
      this.svg.append(s("path", { class: "kept", d: `M${x - 5} ${bottom + 7}h10l-5 -8z` }));
    }
    this.cursor = s("line", { class: "cursor", y1: top, y2: bottom, hidden: true });
    this.svg.append(this.cursor);
    this.move(this.at);
  }

  line(curve, kind, y) {
    this.svg.append(
      s("path", { class: kind, d: course(curve.end, (i) => this.x(clockAt(curve, i)), y) }),
    );
  }

  /** Put the cursor at a clock, and say the values there. */
  move(clock) {
    this.at = clock;
    if (!this.cursor) return;
    this.cursor.toggleAttribute("hidden", clock === null);
    if (clock === null) {
      this.readout.textContent = "";
      return;
    }
    for (const end of ["x1", "x2"]) this.cursor.setAttribute(end, this.x(clock));
    const said = (row) => {
      if (clock > row.curve.last) return null;
      const value = row.curve.end[columnAt(row.curve, clock)];
      return value === null ? null : `${row.name} ${words(value)}`;
    };
    const before = (this.before ?? []).map(said).filter(Boolean).map((text) => `before: ${text}`);
    const all = [...this.rows.map(said).filter(Boolean), ...before];
    this.readout.textContent = `pass ${en(clock)} · ${all.join(" · ")}`;
  }

  key(event) {
    const far = Math.max(Math.round((this.last ?? 2) / (event.shiftKey ? 10 : 100)), 1);
    const at = this.at ?? 1;
    const to = { ArrowLeft: at - far, ArrowRight: at + far, Home: 1, End: this.last }[event.key];
    if (to !== undefined) this.move(Math.min(Math.max(to, 1), this.last ?? 1));
    else if (event.key === "Enter") openNearest(at);
    else return;
    event.preventDefault();
  }
}

// --- graphs

const graphs = data.graphs ?? [];

/** Open the graph that was kept nearest to a pass. */
function openNearest(clock) {
  const kept = nearest(state.run.graphs, ({ step }) => Math.abs(step - clock));
  if (kept) openGraph(state.run.graphs.indexOf(kept), clock);
}

async function openGraph(number, wanted = state.run.graphs[number].step) {
  const { step, line } = state.run.graphs[number];
  try {
    graphs[number] ??= await (await fetch(`graph?number=${number}`)).text();
  } catch {
    say("The program is gone, and this graph was not fetched before.");
    return;
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

function showGraphs({ graphs: kept, more }) {
  const key = JSON.stringify([kept, more && state.live]);
  if (byId("graphs").dataset.key === key) return;
  byId("graphs").dataset.key = key;
  const asked = h("button", { type: "button", "data-testid": "more", onclick: () => {
    asked.disabled = true;
    fetch("more", { method: "POST" }).catch(() => {});
  } }, "Draw the next pass");
  byId("graphs").replaceChildren(
    ...kept.map(({ step }, number) =>
      h("button", { type: "button", onclick: () => openGraph(number) }, `pass ${en(step)}`),
    ),
    ...(more && state.live ? [asked] : []),
    ...(kept.length ? [] : [h("span", { class: "dim" }, "none yet")]),
  );
}

// --- layers

const SPARK = [110, 26];

/** A small curve, with that of the run before. */
function spark(now, before, log) {
  const values = [...now.end, ...(before?.end ?? [])].filter((v) => v !== null);
  if (!values.length) return null;
  const scale = log && Math.min(...values) > 0 ? Math.log : (v) => v;
  const [low, high] = [scale(Math.min(...values)), scale(Math.max(...values))];
  const last = Math.max(now.last, before?.last ?? 1, 2);
  const part = (v) => (high > low ? (scale(v) - low) / (high - low) : 0.5);
  const y = (v) => SPARK[1] - 3 - part(v) * (SPARK[1] - 6);
  const path = (curve, kind) =>
    curve &&
    s("path", {
      class: `course ${kind}`,
      d: course(curve.end, (i) => 1 + ((clockAt(curve, i) - 1) / (last - 1)) * (SPARK[0] - 2), y),
    });
  return s(
    "svg",
    { width: SPARK[0], height: SPARK[1], "aria-hidden": "true" },
    path(before, "before"),
    path(now, "hue-0"),
  );
}

/** A histogram as bars; the outline of the first one over it. */
function histogram(now, first) {
  if (!now) return h("span", { class: "dim" }, "none");
  const [low, high] = [Math.min(now[0], first[0]), Math.max(now[1], first[1])];
  const x = (v) => ((v - low) / (high - low)) * SPARK[0];
  const edges = ([from, to, counts]) => counts.map((n, i) => {
    const each = (to - from) / counts.length;
    return [x(from + i * each), x(from + (i + 1) * each), n / Math.max(...counts)];
  });
  const bars = edges(now).map(([from, to, part]) =>
    s("rect", {
      class: "bar hue-0",
      x: from,
      width: Math.max(to - from, 0.5),
      y: SPARK[1] * (1 - part),
      height: SPARK[1] * part,
    }),
  );
  const outline = edges(first).map(([from, to, part], i) =>
    `${i ? "L" : "M"}${from.toFixed(1)} ${(SPARK[1] * (1 - part)).toFixed(1)}H${to.toFixed(1)}`,
  );
  const range = ([from, to]) => `from ${words(from)} to ${words(to)}`;
  const label = `${range(now)}; at first ${range(first)}`;
  return s(
    "svg",
    { width: SPARK[0], height: SPARK[1], role: "img", "aria-label": label },
    s("title", {}, label),
    bars,
    s("path", { class: "first", d: outline.join("") }),
  );
}

const COLUMNS = "layer,numbers,gradient norm,weight norm,gradients,weights,dead units".split(",");

function showLayers(layers, before) {
  const cell = (i, ...children) => h("td", { "data-label": COLUMNS[i] }, children);
  const rows = layers.map((layer) => {
    const then = before?.layers.find(({ name }) => name === layer.name);
    const few = layer.which.join(", ") + (layer.dead > layer.which.length ? ", …" : "");
    const dead = `${layer.dead} of ${layer.units}${layer.dead ? `: ${few}` : ""}`;
    const value = ({ now, bad }) => h("span", { class: bad ? "bad number" : "number" }, words(now));
    return h(
      "tr",
      { "data-testid": "layer" },
      h("th", { scope: "row" }, layer.name, " ", h("span", { class: "dim" }, layer.kind)),
      cell(1, en(layer.elements)),
      cell(2, spark(layer.grads, then?.grads, true), value(layer.grads)),
      cell(3, spark(layer.weights, then?.weights, false), value(layer.weights)),
      cell(4, histogram(layer.gradsShape, layer.gradsFirstShape)),
      cell(5, histogram(layer.weightsShape, layer.weightsFirstShape)),
      cell(6, layer.units ? h("span", { class: layer.dead ? "bad" : "dim" }, dead) : ""),
    );
  });
  byId("layers").replaceChildren(
    rows.length
      ? h("table", { class: "layers", "data-testid": "layers" },
          h("thead", {}, h("tr", {}, COLUMNS.map((name) => h("th", { scope: "col" }, name)))),
          h("tbody", {}, rows))
      : h("span", { class: "dim" }, "none yet: no optimizer has stepped"),
  );
}

// --- the whole

const state = { run: data.run, before: data.before, live: data.live, theme: "auto" };
const losses = new Chart(byId("losses"), "losses", "Loss over the backward passes");
const groups = new Chart(byId("groups"), "groups", "Gradient norms over the backward passes");

function say(text) {
  byId("message").textContent = text;
  byId("message").hidden = !text;
}

function show() {
  const { run } = state;
  const before = byId("compare").checked ? state.before : null;
  byId("title").textContent = run.title || "training";
  byId("progress").textContent = run.progress;
  const [kind, said] = run.error
    ? ["bad", `ended: ${run.error}`]
    : run.ended
      ? ["ended", "ended"]
      : state.live
        ? ["live", "live"]
        : ["bad", "no answer: the program is gone"];
  byId("status").textContent = said;
  byId("status").dataset.state = kind;
  byId("comparing").hidden = !state.before;
  const other = state.before && `with ${state.before.title}, ${when(state.before.began)}`;
  byId("other").textContent = other ?? "";
  showGraphs(run);
  losses.show(run.losses, before?.losses ?? [], run.lossesLog);
  groups.show(run.groups, before?.groups ?? [], run.groupsLog);
  showLayers(run.layers, before);
}

/** Ask for the next state until the end. */
async function follow() {
  const tab = crypto.getRandomValues(new Uint32Array(2)).join("");
  while (state.live && !state.run.ended) {
    try {
      const after = encodeURIComponent(JSON.stringify(state.run.version));
      const answer = await fetch(`data?tab=${tab}&after=${after}`);
      const given = await answer.json();
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
  try {
    const page = new DOMParser().parseFromString(await file.text(), "text/html");
    state.before = JSON.parse(page.getElementById("data").textContent).run;
    byId("compare").checked = Boolean(state.before.losses && state.before.layers);
    say(byId("compare").checked ? "" : `${file.name} is no page of a training run.`);
    if (!byId("compare").checked) state.before = null;
  } catch {
    say(`${file.name} is no page of a training run.`);
  }
  show();
});

function showTheme() {
  byId("theme").textContent = { auto: "◐", light: "○", dark: "●" }[state.theme];
  byId("theme").setAttribute("aria-label", `Light or dark: ${state.theme}`);
}
byId("theme").addEventListener("click", () => {
  const next = { auto: "dark", dark: "light", light: "auto" };
  // The first click changes what is seen, also where the system is dark.
  if (matchMedia("(prefers-color-scheme: dark)").matches) {
    Object.assign(next, { auto: "light", light: "dark", dark: "auto" });
  }
  state.theme = next[state.theme];
  document.documentElement.dataset.theme = state.theme;
  showTheme();
});

showTheme();
show();
document.body.dataset.ready = "";
follow();
