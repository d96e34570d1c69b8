// The panel's first tab: a node, an edge or a box in detail, or the graph as a whole.

const section = (title, ...children) => h("section", h("h3", title), children);

/** Rows of a name and what it is; rows without a value are left out. */
function facts(rows) {
  const known = rows.filter(([, value]) => Boolean(value));
  return h(
    "dl.facts",
    known.map(([name, value]) => [h("dt", name), h("dd", value)]),
  );
}

/** `∂L/∂w1` set as a fraction. */
function fraction(over, under) {
  const [above, below] = [over, under].map((name) =>
    /[ ·/]/.test(name) ? `∂(${name})` : `∂${name}`,
  );
  return h(
    "span.frac",
    { role: "math", "aria-label": `${above}/${below}` },
    h("span.over", above),
    h("span.unseen", "/"),
    h("span.under", below),
  );
}

function nodeLink(page, id, text) {
  const node = page.graph.nodes[id];
  return link(text ?? node.called, () => page.select({ kind: "node", id }, { show: true }), {
    "data-goto": id,
  });
}

const edgeName = (graph, edge) => [nodeNameIn(graph, edge.from), graph.nodes[edge.to].called];

/** The result is called as the graph is, where it has no name of its own. */
function nodeNameIn(graph, id) {
  const node = graph.nodes[id];
  return !node.label && graph.roots.length === 1 && graph.roots[0] === node
    ? graph.title
    : node.called;
}

const NODES = {
  leaf: "Leaf",
  constant: "Constant",
  function: "Custom function",
  write: "Write through a view",
};

/** What the panel shows of a node. */
function nodeDetails(page, id) {
  const { graph } = page;
  const node = graph.nodes[id];
  const step = graph.stepOf.get(id);
  const call = node.kind !== "leaf" && node.kind !== "constant";
  const heading = call ? node.title : node.label || node.title || node.kind;
  const parts = [
    h(
      "header",
      h("p.kind", NODES[node.kind] ?? "Operation"),
      h("h2@node-title", heading),
      call && aside(node.name, node.label && [" gives ", h("i", node.label)]),
    ),
  ];
  if (node.kind === "leaf") parts.push(pathsSection(page, node));
  parts.push(
    facts([
      ["Result", call && node.label],
      ["Shape", `${shapeText(node.shape)}${node.dtype ? `, ${node.dtype}` : ""}`],
      ["Module", node.scope.join(" › ")],
      ["Marked", node.marks.join("; ")],
      ["Call", call && node.seq !== undefined && node.seq !== null ? `number ${node.seq}` : ""],
      [
        "Step",
        step ? link(`${step.at + 1} of ${graph.steps.length}`, () => page.goToStep(step.at)) : "",
      ],
      ["Value", node.value ? summaryElement(node.value, "node-value") : ""],
      [
        "Range",
        node.value && node.value.only === undefined && node.value.min !== undefined
          ? `${about(node.value.min)} … ${about(node.value.max)}`
          : "",
      ],
    ]),
  );
  if (node.place) {
    const [, , name, code] = node.place;
    parts.push(
      section(
        "Source",
        h("p.place@node-place", placeText(node.place), name && ` in ${name}`),
        code && h("pre@node-code", h("code", code)),
      ),
    );
  }
  if (step && !step.into) {
    parts.push(
      section(
        "Gradients",
        incomingFacts(step, "Incoming", "Incoming, result", "node-incoming"),
        sentTable(page, node),
      ),
    );
  } else if (step?.into) parts.push(intoSection(graph, node, step));
  else if (node.out.some((edge) => edge.grad))
    parts.push(section("Local gradients", sentTable(page, node)));
  if (node.rules.length) {
    parts.push(
      section(
        "Derivative rule",
        node.rules.map((rule) =>
          h(
            "div.rule@rule",
            h(
              "p",
              h("b", rule.argument || "all arguments"),
              rule.file && h("span.place", ` ${rule.file}:${rule.line ?? 0}`),
            ),
            h("pre", h("code", rule.text)),
          ),
        ),
      ),
    );
  }
  if (node.saved.length) parts.push(savedSection(node));
  if (node.out.length && call) parts.push(section("Arguments", neighbours(page, node.out, "to")));
  if (node.into.length) parts.push(section("Used by", neighbours(page, node.into, "from")));
  return parts;
}

/** The gradients that came to a node, by its results. */
const incomingFacts = (step, only, several, testid) =>
  facts(
    step.incoming.map((sum, at) => [
      step.incoming.length > 1 ? `${several} ${at}` : only,
      summaryElement(sum, testid),
    ]),
  );

function neighbours(page, edges, end) {
  const what = (edge) => {
    const node = page.graph.nodes[edge[end]];
    return node.option ? node.title : nodeLink(page, node.id);
  };
  return h(
    "ul.links",
    edges
      .slice(0, 40)
      .map((edge) => h("li", h("span.dim", edge.argument ? `${edge.argument}: ` : ""), what(edge))),
    edges.length > 40 && h("li.dim", `and ${edges.length - 40} more`),
  );
}

function savedSection(node) {
  const rows = node.saved.map((row) =>
    rowOf(
      null,
      [
        row.what ?? "",
        row.label && h("span.dim", ` ${row.label}`),
        row.state && h("strong.bad", ` ${row.state}`),
      ],
      h("td.shape", shapeText(row.shape ?? [])),
      row.dtype ?? "",
      h(
        "td.number",
        {
          "data-value": row.bytes ?? 0,
          title: row.first ? "" : "kept by a younger node too",
        },
        bytes(row.bytes ?? 0),
        !row.first && h("span.dim", " shared"),
      ),
    ),
  );
  return section(
    "Saved for backward",
    tableOf({ "data-testid": "saved" }, ["What", "Shape", "Type", "Bytes"], rows),
    aside(`${bytes(node.bytes)} that no younger node keeps`),
  );
}

/** How a leaf's .grad came about. */
function intoSection(graph, node, step) {
  const { before, added, after } = step.into;
  return section(
    `${node.label || "leaf"}.grad`,
    h(
      "div.sum-up@into",
      facts([
        ["Before", before ? summaryElement(before, "grad-before") : h("span.none", "None")],
        ["Added", summaryElement(added, "grad-added")],
        ["After", summaryElement(after, "grad-after")],
      ]),
    ),
  );
}

/** For each argument: the local gradient, and what was sent on. */
function sentTable(page, node) {
  const { graph } = page;
  const step = graph.stepOf.get(node.id);
  return node.out
    .filter((edge) => edge.grad)
    .map((edge) => {
      const [over, under] = edgeName(graph, edge);
      const incoming = step?.incoming.length === 1 ? step.incoming[0] : null;
      const scalars = [incoming, edge.local, edge.sent].every(isScalar);
      return h(
        "div.sent",
        { "data-sent": edge.id },
        h(
          "p.to",
          "to ",
          nodeLink(page, edge.to),
          edge.argument && h("span.dim", ` (${edge.argument})`),
        ),
        h(
          "p.formula",
          edge.factor || !edge.named ? [fraction(over, under), " = "] : h("span.dim", "sends "),
          h("span@formula", edge.named || "not written as a formula"),
          localPart(edge),
        ),
        edge.local &&
          !isScalar(edge.local) &&
          h("p.product", h("span.dim", "local "), summaryElement(edge.local, "local")),
        edge.sent &&
          (scalars
            ? h(
                "p.product",
                numberElement(incoming.only, incoming.dtype),
                " × ",
                factorElement(edge),
                " = ",
                h(
                  "strong",
                  numberElement(edge.sent.only, edge.sent.dtype, { "data-testid": "sent" }),
                ),
              )
            : h("p.product", h("span.dim", "sent "), summaryElement(edge.sent, "sent"))),
      );
    });
}

const isScalar = (sum) => sum?.only !== undefined && !sum.shape.length;

/** ` = 3` after a formula that is not that number itself. */
function localPart(edge) {
  if (!isScalar(edge.local)) return null;
  const { only, dtype } = edge.local;
  const same = edge.named === exact(only, dtype);
  return [
    same ? "" : " = ",
    numberElement(only, dtype, { "data-testid": "local", class: same ? "unseen" : "number" }),
  ];
}

/** A local gradient as a factor: a negative one stands in brackets. */
const factorElement = ({ id, local }) =>
  numberElement(local.only, local.dtype, {
    "data-factor": id,
    class: number(local.only) < 0 ? "number negative" : "number",
  });

/** What the panel shows of an edge. */
function edgeDetails(page, id) {
  const { graph } = page;
  const edge = graph.edges[id];
  const [over, under] = edgeName(graph, edge);
  return [
    h(
      "header",
      h("p.kind", "Edge"),
      h("h2", edge.grad ? fraction(over, under) : `${under} in ${over}`),
    ),
    facts([
      ["From", nodeLink(page, edge.from)],
      ["To", nodeLink(page, edge.to)],
      ["Argument", edge.argument],
      ["Formula", edge.formula],
      ["With names", edge.named !== edge.formula ? edge.named : ""],
      ["Local gradient", edge.local ? summaryElement(edge.local, "edge-local") : ""],
      ["Sent", edge.sent ? summaryElement(edge.sent, "edge-sent") : ""],
    ]),
  ];
}

const KINDS = { run: "Run of calls", loop: "Loop", step: "Step of a loop" };

/** Which step of a loop is opened. */
function stepChooser(page, box) {
  const last = Math.max(0, ...box.boxes.map((id) => page.graph.boxes[id].steps?.[1] ?? 0));
  if (!last) return null;
  const field = h("input@loop-step", {
    type: "number",
    min: 0,
    max: last,
    value: page.state.steps.get(box.id) ?? 0,
    "aria-label": "Step of the loop",
    onchange: () => page.openStep(box.id, Math.min(last, Math.max(0, Math.round(+field.value)))),
  });
  return h("p", h("label", "Open step ", field, ` of 0–${last}`));
}

/** What the panel shows of a box. */
function boxDetails(page, id) {
  const { graph } = page;
  const box = graph.boxes[id];
  const leaves = leavesOf(graph, id);
  return [
    h("header", h("p.kind", KINDS[box.kind] ?? "Module"), h("h2", box.title)),
    h(
      "p",
      button("@toggle-box", page.state.open.has(id) ? "Fold" : "Open", () => page.toggle(id)),
    ),
    facts([
      ["Where", box.detail],
      ["Line", placeText(box.place)],
      ["Marked", marksOf(graph, id).join("; ")],
      ["Nodes", Number(box.count).toLocaleString("en")],
      ["Saved", bytes(box.bytes)],
    ]),
    box.kind === "loop" && stepChooser(page, box),
    leaves.length > 0 && section(counted(leaves.length, "leaf", "leaves"), leafTable(page, leaves)),
  ];
}

function leafTable(page, leaves) {
  const rows = leaves.slice(0, 200).map((leaf) => {
    const sum = leaf.gradient;
    const only = sum?.only;
    return rowOf(
      null,
      nodeLink(page, leaf.id, leaf.called),
      h("td.shape", shapeText(leaf.shape)),
      numberCell(
        only !== undefined ? dataValue(only) : null,
        only !== undefined ? exact(only, sum.dtype) : sum && `norm ${about(sum.norm)}`,
      ),
    );
  });
  return [
    tableOf(null, ["Leaf", "Shape", "Gradient"], rows),
    leaves.length > 200 && aside(`and ${leaves.length - 200} more: search finds them`),
  ];
}

/** The graph as a whole. */
function overview(page) {
  const { graph } = page;
  const calls = graph.nodes.filter(
    (node) => node.kind !== "leaf" && node.kind !== "constant",
  ).length;
  const leaves = graph.nodes.filter((node) => node.kind === "leaf");
  return [
    h(
      "header",
      h("p.kind", "Graph"),
      h("h2", graph.title),
      graph.program && aside(graph.program, graph.step ? `, backward ${graph.step}` : ""),
    ),
    graph.notes.map((note) => h("p.note@note", note)),
    facts([
      ["Calls", calls.toLocaleString("en")],
      ["Leaves", leaves.length.toLocaleString("en")],
      ["Edges", graph.edges.filter((edge) => edge.grad).length.toLocaleString("en")],
      ["Saved", `${bytes(graph.memory.unique)} for backward`],
    ]),
    aside(
      "Click a node for its source, its rule and its gradients; ",
      "a leaf for every path that leads to it.",
    ),
    leaves.length > 0 && section("Leaves", leafTable(page, leaves)),
  ];
}
