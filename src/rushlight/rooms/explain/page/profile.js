// The page of a profile: a flame graph that opens at a bar, and tables.

const data = JSON.parse(byId("data").textContent);
const ROW = 24;

/** The path of bars from the program to the one that fills the width. */
let trail = [data.flame];

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
        "aria-label": bar.about,
        onclick: () => open(path),
        onfocus: () => (byId("told").textContent = bar.about),
        onmouseenter: () => (byId("told").textContent = bar.about),
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
  byId("told").textContent = top.about;
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
byId("subtitle").textContent = data.summary;
const [parts, ...tables] = data.tables;
byId("parts").replaceChildren(
  ...parts.slice(1).map(([name, time, share]) =>
    h("li", {}, h("i", { class: name }), `${name} ${time}, ${share} %`),
  ),
);
for (const [titles, ...rows] of tables) {
  const title = `By ${titles[0]}`;
  const table = h(
    "table",
    { "data-testid": `by-${titles[0]}` },
    h("thead", {}, h("tr", {}, titles.map((cell) => h("th", {}, cell)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, cell))))),
  );
  const around = { class: "scroll", tabindex: 0, role: "region", "aria-label": title };
  byId("tables").append(h("div", {}, h("h2", {}, title), h("div", around, table)));
}
draw(false);
