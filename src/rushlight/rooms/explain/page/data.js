// The graph: its data with all defaults filled in, what leads where, boxes, names and health.

// The defaults of a row.
const RULE = { argument: "", formula: "", text: "", file: "", factor: false };
const NODE = {
  ...{ kind: "op", title: "", name: "", label: "", expression: "", dtype: "" },
  ...{ box: 0, seq: 0, bytes: 0, shape: [], saved: [], scope: [], marks: [] },
};

/**
 * The data of the page, and what is worked out from it once. What is empty or 0 was left out where
 * it was written (_page_data.py), and what many nodes share stands in tables.
 */
function readGraph(data) {
  const rules = (data.rules ?? []).map((row) => ({ ...RULE, ...row }));
  const graph = {
    title: data.title ?? "result",
    program: data.program ?? "",
    step: data.step ?? null,
    version: data.version ?? "",
    places: data.places ?? [],
    notes: data.notes ?? [],
    memory: { saved: 0, unique: 0, parameters: 0, ...data.memory },
  };
  graph.nodes = (data.nodes ?? []).map((row, id) => ({
    ...NODE,
    ...row,
    id,
    place: row.place ? graph.places[row.place - 1] : null,
    value: summary(row.value),
    rules: (row.rules ?? []).map((at) => rules[at]).filter((rule) => rule.text),
    out: [],
    into: [],
  }));
  graph.edges = (data.edges ?? []).map((row, id) => {
    const to = row.to ?? 0;
    const grad = graph.nodes[to].kind !== "constant";
    const rule = (grad ? rules[row.rule ?? 0] : null) ?? RULE;
    return {
      id,
      from: row.from ?? 0,
      to,
      argument: grad ? rule.argument : (row.constant ?? ""),
      nr: row.nr ?? 0,
      formula: rule.formula,
      named: row.named || rule.formula,
      factor: rule.factor,
      local: summary(row.local),
      sent: summary(row.sent),
      grad,
    };
  });
  for (const edge of graph.edges) {
    graph.nodes[edge.from].out.push(edge);
    graph.nodes[edge.to].into.push(edge);
  }
  graph.boxes = (data.boxes?.length ? data.boxes : [{}]).map((row, id) => boxOf(graph, row, id));
  for (const box of graph.boxes)
    if (box.parent !== null) graph.boxes[box.parent].boxes.push(box.id);
  setOptionsApart(graph);
  for (const node of graph.nodes) if (!node.option) graph.boxes[node.box].nodes.push(node.id);
  countNodes(graph);
  gatherLeaves(graph, "leaf", "leaf", "leaves");
  gatherLeaves(graph, "constant", "constant", "constants");
  graph.steps = (data.steps ?? []).map((row, at) => ({
    at,
    node: row.node ?? 0,
    incoming: (row.incoming ?? []).map(summary),
    into: row.into && {
      before: summary(row.into.before),
      added: summary(row.into.added),
      after: summary(row.into.after),
    },
  }));
  graph.stepOf = new Map(graph.steps.map((step) => [step.node, step]));
  graph.paths = data.paths ?? {};
  graph.roots = graph.nodes.filter(
    (node) => node.kind !== "constant" && !node.into.some((edge) => edge.grad),
  );
  nameNodes(graph);
  judgeHealth(graph);
  return graph;
}

/** A box with all defaults filled in, still without what is in it. */
const boxOf = (graph, row, id) => ({
  id,
  parent: id === 0 ? null : (row.parent ?? 0),
  title: row.title ?? "",
  tail: row.tail ?? "",
  kind: row.kind ?? "graph",
  detail: row.detail ?? "",
  bytes: row.bytes ?? 0,
  place: row.place ? graph.places[row.place - 1] : null,
  steps: row.steps ?? null,
  carried: row.carried ?? "",
  curve: (row.curve ?? []).map((norm) => (norm === null ? null : number(norm))),
  boxes: [],
  nodes: [],
});

/** A box's title with its name cut, and the tail whole. */
const shortTitle = ({ title, tail }, most) =>
  cut(title.slice(0, title.length - tail.length), Math.max(most - tail.length, 8)) + tail;

const MANY = 12; // leaves that one box shows by themselves

// Arguments that a number stands for as an operand. Other numbers say how, as `dim=1` does.
const OPERANDS = new Set(["input", "self", "other", "exponent", "x", "y"]);

/** Numbers such as `dim=1` are told with the call and not drawn. */
function setOptionsApart(graph) {
  for (const node of graph.nodes) {
    node.option =
      node.kind === "constant" &&
      node.name !== "Tensor" &&
      node.into.length === 1 &&
      !OPERANDS.has(node.into[0].argument);
  }
}

/** How many nodes each box holds at any depth, of those that are drawn. */
function countNodes(graph) {
  for (const box of graph.boxes) box.count = 0;
  for (const node of graph.nodes) {
    if (node.option) continue;
    for (const id of chain(graph, node.box)) graph.boxes[id].count += 1;
  }
}

/** Put the leaves (or constants) of a box that has many into a box of their own. */
function gatherLeaves(graph, kind, one, many) {
  for (const box of [...graph.boxes]) {
    const mine = box.nodes.filter((id) => graph.nodes[id].kind === kind);
    if (mine.length <= MANY) continue;
    const id = graph.boxes.length;
    const title = counted(mine.length, one, many);
    const detail = [box.detail, title].filter(Boolean).join(" › ");
    const own = boxOf(graph, { parent: box.id, title, kind: many, detail }, id);
    graph.boxes.push({ ...own, count: mine.length, nodes: mine });
    for (const node of mine) graph.nodes[node].box = id;
    box.boxes.push(id);
    box.nodes = box.nodes.filter((node) => graph.nodes[node].kind !== kind);
  }
}

const SYMBOLS = {
  __proto__: null,
  add: "+",
  sub: "−",
  rsub: "−",
  mul: "×",
  div: "÷",
  matmul: "@",
  mm: "@",
  bmm: "@",
};

/** Give each node a name in formulas: its label, else what it computes, else its call's. */
function nameNodes(graph) {
  for (const node of graph.nodes) {
    const constant = node.kind === "constant" ? node.title : "";
    // A result without a name is called by the line that made it, a leaf by its first use.
    const name = node.title || node.kind;
    const user = graph.nodes[node.into[node.into.length - 1]?.from];
    const place = placeText(node.place) || (user?.place && `used at ${placeText(user.place)}`);
    const call = [name, place].filter(Boolean).join(", ");
    node.called = node.label || constant || node.expression || call;
  }
}

/** The boxes around a box, the outermost (the graph) first, itself last. */
function chain(graph, id) {
  const found = [];
  for (let at = id; at !== null; at = graph.boxes[at].parent) found.push(at);
  return found.reverse();
}

/** The boxes that lead from a loop to one of its steps, the step last. */
function boxesToStep(graph, loop, step) {
  const found = [];
  const next = (id) =>
    graph.boxes[id].boxes.find((inner) => {
      const [first, last] = graph.boxes[inner].steps ?? [1, 0];
      return first <= step && step <= last;
    });
  for (let at = next(loop); at !== undefined; at = next(at)) found.push(at);
  return found;
}

/** Nodes below a box. */
function nodesIn(graph, id) {
  const found = [];
  const waiting = [id];
  while (waiting.length) {
    const box = graph.boxes[waiting.pop()];
    for (const n of box.nodes) found.push(graph.nodes[n]);
    waiting.push(...box.boxes);
  }
  return found;
}

const leavesOf = (graph, id) => nodesIn(graph, id).filter((node) => node.kind === "leaf");

/** What is marked below a box, each mark once. */
const marksOf = (graph, id) => [...new Set(nodesIn(graph, id).flatMap((node) => node.marks))];

/** `train.py:12` */
const placeText = (place) => (place ? `${place[0]}:${place[1]}` : "");

/** What search looks through, in lower case. */
function searchText(node) {
  node.search ??= [
    node.label,
    node.title,
    node.name,
    node.scope.join(" "),
    node.scope.join("."),
    placeText(node.place),
    node.place?.[2],
    node.place?.[3],
  ]
    .join("\n")
    .toLowerCase();
  return node.search;
}

/** How well a node fits: by its own name first, then its operation's, then by what is around it. */
function closeness(node, words) {
  const within = (text) => words.every((word) => text.toLowerCase().includes(word));
  const own = node.label || node.title;
  if (words.length === 1 && own.toLowerCase() === words[0]) return 0;
  if (node.label && within(node.label)) return 1;
  if (within(`${node.title} ${node.name}`)) return 2;
  return within(node.scope.join(" ")) ? 3 : 4;
}

/** All edges that some path from a result to the node takes. */
function edgesToward(graph, id) {
  const found = new Set();
  const seen = new Set([id]);
  const waiting = [id];
  while (waiting.length) {
    for (const edge of graph.nodes[waiting.pop()].into) {
      if (!edge.grad) continue;
      found.add(edge.id);
      if (!seen.has(edge.from)) {
        seen.add(edge.from);
        waiting.push(edge.from);
      }
    }
  }
  return found;
}

// Gradient health, by the root mean square of a gradient's elements.

const HEALTH = {
  nan: { name: "NaN or infinite", text: "has elements that are NaN or infinite" },
  exploding: { name: "exploding", text: "over 10⁴ × the median, or over 10⁴" },
  normal: { name: "normal", text: "between the two" },
  tiny: { name: "vanishing", text: "under 10⁻⁴ × the median, or under 10⁻¹²" },
  zero: { name: "zero", text: "all elements are 0" },
  none: { name: "not known", text: "no gradient, or no numbers" },
};
const FAR = 1e4;
const TINY = 1e-12;

/** Give each node its gradient's summary and its health. */
function judgeHealth(graph) {
  const sizes = [];
  for (const node of graph.nodes) {
    const incoming = (graph.stepOf.get(node.id)?.incoming ?? []).filter(Boolean);
    node.gradient = incoming[0] ?? null;
    node.rms = null;
    if (!incoming.length) continue;
    node.bad = incoming.some((sum) => sum.nan || sum.inf || Number.isNaN(sum.norm));
    node.rms = Math.max(...incoming.map((sum) => sum.norm / Math.sqrt(Math.max(sum.size, 1))));
    node.zero = incoming.every((sum) => sum.zeros === sum.size);
    if (!node.bad && !node.zero && node.rms > 0) sizes.push(node.rms);
  }
  sizes.sort((a, b) => a - b);
  const half = sizes.length >> 1;
  graph.median = !sizes.length
    ? 0
    : sizes.length % 2
      ? sizes[half]
      : (sizes[half - 1] + sizes[half]) / 2;
  for (const node of graph.nodes) node.health = healthOf(node, graph.median);
}

function healthOf(node, median) {
  if (node.rms === null) return "none";
  if (node.bad) return "nan";
  if (node.zero) return "zero";
  if (node.rms > FAR * median || node.rms > FAR) return "exploding";
  if (node.rms < median / FAR || node.rms < TINY) return "tiny";
  return "normal";
}
