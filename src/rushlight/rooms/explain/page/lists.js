// The panel's tabs about the whole graph: saved memory and gradient health.

/** A button that colours the graph by a tab's subject; nothing where the graph is so coloured. */
const colourButton = (page, colour) =>
  page.state.colour !== colour &&
  h(
    "p",
    button(`@colour-${colour}`, "Show in the graph", () => page.setColour(colour)),
  );

const swatch = (name) => h("span", { class: `swatch ${name}` });

/** The memory tab: totals, a map of areas, and the nodes that keep most. */
function memoryPane(page) {
  const { graph } = page;
  const keep = graph.nodes
    .filter((node) => node.bytes)
    .sort((a, b) => b.bytes - a.bytes || a.id - b.id);
  const { unique, saved, parameters } = graph.memory;
  const parts = [
    h(
      "header",
      h("p.kind", "Saved for backward"),
      h("h2@memory-total", { "data-value": unique }, bytes(unique)),
      aside(
        `${bytes(saved)} counted once per node that keeps it`,
        parameters ? `; ${bytes(parameters)} of parameters are kept anyway.` : ".",
      ),
    ),
    colourButton(page, "memory"),
  ];
  if (!keep.length) return [...parts, h("p", "No node keeps memory of its own.")];
  const names = new Set(
    graph.nodes.filter((node) => node.kind === "leaf").map((node) => node.label),
  );
  names.delete("");
  const greatest = keep[0].bytes;
  const most = 100;
  const rows = keep.slice(0, most).map((node) => {
    const name = node.label ? `${node.title} → ${shortName(node.label, 16)}` : node.expression;
    const own = node.saved.filter((row) => row.first && !names.has(row.label));
    return rowOf(
      { "data-row": node.id },
      [nodeLink(page, node.id, name || node.title), h("div.place", placeText(node.place))],
      own.map((row) => {
        const shape = h("span.dim", shapeText(row.shape ?? []));
        return h("div", row.what || "tensor", " ", shape);
      }),
      numberCell(
        node.bytes,
        bytes(node.bytes),
        h("meter", { min: 0, max: greatest, value: node.bytes, "aria-hidden": "true" }),
      ),
    );
  });
  return [
    ...parts,
    tableOf({ class: "ranked", "data-testid": "memory-table" }, ["Node", "Keeps", "Bytes"], rows),
    keep.length > most && aside(`${most} of ${keep.length.toLocaleString("en")} nodes shown`),
  ];
}

/** The health tab: how many nodes of each kind, and those that are not well. */
function healthPane(page) {
  const { graph } = page;
  const count = new Map(WORST.map((name) => [name, 0]));
  const subjects = graph.nodes.filter((node) => node.kind !== "constant");
  for (const node of subjects) count.set(node.health, count.get(node.health) + 1);
  const ill = subjects
    .filter((node) => !["normal", "none"].includes(node.health))
    .sort((a, b) => WORST.indexOf(a.health) - WORST.indexOf(b.health) || a.id - b.id);
  const most = 200;
  return [
    h(
      "header",
      h("p.kind", "Gradient health"),
      h(
        "h2@health-title",
        !graph.steps.length
          ? "No gradients known"
          : ill.length
            ? `${counted(ill.length, "node")} to look at`
            : "All gradients are well",
      ),
      aside(
        "By the root mean square of a gradient's elements. Median over the nodes: ",
        about(graph.median),
        ".",
      ),
    ),
    colourButton(page, "health"),
    tableOf(
      { class: "counts" },
      null,
      WORST.map((name) =>
        rowOf(
          { "data-health": name },
          swatch(`health-${name}`),
          [HEALTH[name].name, h("div.dim", HEALTH[name].text)],
          numberCell(count.get(name), count.get(name).toLocaleString("en")),
        ),
      ),
    ),
    ill.length
      ? section(
          "To look at",
          h(
            "ul.links@ill",
            ill.slice(0, most).map((node) => {
              const name = node.kind === "leaf" ? "" : node.title;
              const size = node.rms !== null && !node.bad ? `, ${about(node.rms)}` : "";
              return h(
                "li",
                swatch(`health-${node.health}`),
                nodeLink(page, node.id, `${name} ${node.label}`.trim() || "leaf"),
                h("span.dim", ` ${HEALTH[node.health].name}${size}`),
              );
            }),
          ),
          ill.length > most && aside(`and ${ill.length - most} more`),
        )
      : null,
  ];
}

/** The legend of what is drawn. */
function legend(page) {
  const { state } = page;
  const row = (mark, text) => h("li", mark, h("span", text));
  if (state.colour === "health") {
    return h(
      "ul",
      WORST.map((name) =>
        row(swatch(`health-${name}`), `${HEALTH[name].name}: ${HEALTH[name].text}`),
      ),
      h("li.dim", "root mean square of the gradient's elements"),
    );
  }
  if (state.colour === "memory") {
    return h(
      "ul",
      row(h("span.dot"), "area of a disc: bytes saved for backward"),
      [
        ["memory-5", "over 60 % of the greatest shown"],
        ["memory-4", "30–60 %"],
        ["memory-3", "10–30 %"],
        ["memory-2", "1–10 %"],
        ["memory-1", "under 1 %"],
        ["memory-0", "nothing"],
      ].map(([name, text]) => row(swatch(name), text)),
    );
  }
  const forward = state.view !== "backward";
  const backward = state.view !== "forward";
  return h(
    "ul",
    forward && row(swatch("op"), "operation"),
    forward && row(swatch("value"), "value it makes"),
    forward && row(swatch("leaf"), "leaf: gets a gradient"),
    forward && row(swatch("constant"), "constant: no gradient"),
    backward && state.view !== "overlaid" && row(swatch("backward"), "backward node"),
    backward && state.view !== "overlaid" && row(swatch("accumulate"), "adds to a leaf's .grad"),
    page.graph.boxes.length > 1 && row(swatch("box"), "folded box: click to open"),
    page.graph.boxes.some((box) => box.curve.length) &&
      row(h("span.line.gradient"), "curve of a loop: click a step"),
    forward && row(h("span.line.forward"), "value"),
    backward && row(h("span.line.gradient"), "gradient; on it the local gradient"),
    state.stepping && [
      row(swatch("running"), "runs now"),
      row(swatch("ready"), "ready: all its gradients have come"),
      row(swatch("done"), "has run"),
      row(swatch("waiting"), "waits"),
    ],
  );
}
