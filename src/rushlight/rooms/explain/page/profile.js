// The page of a profile: a flame graph that opens at a bar, and tables.

const data = JSON.parse(byId("data").textContent);
const ROW = 24;

const scaled = (n, units, step) => {
  let at = 0;
  while (Math.abs(n) >= 999.5 && at < units.length - 1) [n, at] = [n / step, at + 1];
  return `${at ? n.toPrecision(3) : Math.round(n)} ${units[at]}`;
};
const time = (ns) => scaled(ns / 1000, ["µs", "ms", "s"], 1000);
const size = (bytes) => scaled(bytes, ["B", "kB", "MB", "GB"], 1000);
const share = (ns) => `${((100 * ns) / Math.max(data.wall, 1)).toFixed(1)} %`;

/** The path of bars from the program to the one that fills the width. */
let trail = [data.flame];

const about = (bar) =>
  [
    `${bar.name}: ${time(bar.ns)}, ${share(bar.ns)}; ${time(bar.self)} of that its own`,
    counted(bar.calls, "call"),
    bar.bytes && `memory ${bar.bytes > 0 ? "+" : ""}${size(bar.bytes)}`,
    bar.part,
    bar.module,
    bar.place,
    bar.slow,
  ]
    .filter(Boolean)
    .join(" · ");

function draw(focused) {
  const bars = [];
  let deepest = 0;
  const place = (bar, path, left, width, depth) => {
    deepest = Math.max(deepest, depth);
    const button = h(
      "button",
      {
        type: "button",
        class: `${bar.part}${bar.slow ? " slow" : ""}`,
        "aria-label": about(bar),
        onclick: () => open(path),
        onfocus: () => (byId("told").textContent = about(bar)),
        onmouseenter: () => (byId("told").textContent = about(bar)),
      },
      bar.name,
    );
    Object.assign(button.style, { left: `${left}%`, width: `${width}%`, top: `${depth * ROW}px` });
    bars.push(button);
    let at = left;
    for (const child of bar.inside) {
      const wide = (width * child.ns) / Math.max(bar.ns, 1);
      if (wide >= 0.15) place(child, [...path, child], at, wide, depth + 1);
      at += wide;
    }
  };
  const top = trail[trail.length - 1];
  place(top, trail, 0, 100, 0);
  const flame = byId("flame");
  flame.replaceChildren(...bars);
  flame.style.height = `${(deepest + 1) * ROW}px`;
  byId("trail").replaceChildren(
    ...trail.slice(0, -1).map((bar, n) =>
      h("button", { type: "button", onclick: () => open(trail.slice(0, n + 1)) }, bar.name, " ›"),
    ),
  );
  byId("told").textContent = about(top);
  if (focused) bars[0].focus();
}

function open(path) {
  trail = path;
  draw(true);
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && trail.length > 1) open(trail.slice(0, -1));
});
byId("theme").addEventListener("click", otherTheme);

byId("title").textContent = data.title;
byId("subtitle").textContent = `${time(data.wall)} in all; at most ${size(data.peak)} of tensors`;
byId("parts").replaceChildren(
  ...data.tables[0].rows.map(([name, ns]) =>
    h("li", {}, h("i", { class: name }), `${name} ${time(ns)}, ${share(ns)}`),
  ),
);
for (const { title, rows } of data.tables.slice(1)) {
  byId("tables").append(
    h(
      "div",
      {},
      h("h2", {}, `By ${title}`),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": `By ${title}` },
        h(
          "table",
          { "data-testid": `by-${title}` },
          h("thead", {}, h("tr", {}, [title, "time", "%", "memory", "calls", ""].map((t) => h("th", {}, t)))),
          h(
            "tbody",
            {},
            rows.map(([name, ns, bytes, calls, slow]) =>
              h(
                "tr",
                {},
                [name, time(ns), share(ns), bytes ? size(bytes) : "", calls.toLocaleString("en")].map((t) => h("td", {}, t)),
                h("td", { class: "warn" }, slow),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}
draw(false);
