// Where everything stands. Each open box is laid out by dagre on its own, from the inside out; an
// edge that leaves a box goes through a port on the box's border. So boxes never overlap, and
// opening one costs what is in it.

const PAD = 18;
const FOOT = 20;
const HEADER = 32;
const ROUTED = 300; // lines that are led around what is in their way; of more, only some
const SPOKES = 6; // so many lines to one leaf, or to one box of leaves, are drawn
const FEW_LINES = 2; // of more, these; the others are seen where one of their ends is selected
const FEW_TO_ORDER = 60; // a box of so few is laid out in several orders, until no lines cross
const ORDERS = 600; // how many orders, over the number of nodes and lines

/** What is visible: items by key (`n3`, `b2`) and the edges between them. */
function visible(graph, open, backward) {
  const outer = new Map(); // box -> the folded box that is seen for it, null where it is open
  const seenFor = (id) => {
    let found = outer.get(id);
    if (found === undefined) {
      const parent = graph.boxes[id].parent;
      found = parent === null ? null : seenFor(parent);
      if (found === null && id !== 0 && !open.has(id)) found = id;
      outer.set(id, found);
    }
    return found;
  };
  const keyOf = (node) => {
    const box = seenFor(node.box);
    return box === null ? `n${node.id}` : `b${box}`;
  };
  const shown = (node) => !(backward && node.kind === "constant");
  const members = new Map(); // open box -> keys
  const walk = (id) => {
    const keys = [];
    members.set(id, keys);
    for (const inner of graph.boxes[id].boxes) {
      const { kind, count } = graph.boxes[inner];
      if (!count || (backward && kind === "constants")) continue;
      keys.push(`b${inner}`);
      if (open.has(inner)) walk(inner);
    }
    for (const n of graph.boxes[id].nodes) if (shown(graph.nodes[n])) keys.push(`n${n}`);
  };
  walk(0);
  const lines = new Map();
  for (const edge of graph.edges) {
    if ((backward && !edge.grad) || graph.nodes[edge.to].option) continue;
    const from = keyOf(graph.nodes[edge.from]);
    const to = keyOf(graph.nodes[edge.to]);
    if (from === to) continue;
    const single = from[0] === "n" && to[0] === "n";
    const key = single ? `e${edge.id}` : `${from}>${to}`;
    const line = lines.get(key);
    if (line) line.edges.push(edge);
    else lines.set(key, { key, from, to, single, edges: [edge] });
  }
  return { members, lines: [...lines.values()], keyOf, seenFor };
}

/** How many nodes and boxes would be visible. */
function countVisible(graph, open, id = 0) {
  const box = graph.boxes[id];
  let count = box.nodes.length;
  for (const inner of box.boxes)
    count += 1 + (open.has(inner) ? countVisible(graph, open, inner) : 0);
  return count;
}

/**
 * Lay out what is visible. `figure(key)` gives an item's size, `label(line)` a line's label;
 * `flow(line)` gives its [tail, head], in the direction in which the drawing runs.
 * Gives {width, height, items: key -> {x, y, width, height}, frames, lines with points and label}.
 */
function layOut(graph, scene, { direction, figure, label, flow, titleWidth }) {
  const down = direction === "TB";
  const boxOf = new Map(); // key -> the open box that it stands in
  for (const [box, keys] of scene.members) for (const key of keys) boxOf.set(key, box);
  const parts = new Map([...scene.members.keys()].map((box) => [box, []]));
  const above = new Map();
  const chainTo = (box) => {
    let found = above.get(box);
    if (!found) above.set(box, (found = chain(graph, box)));
    return found;
  };
  loosen(graph, scene);
  for (const line of scene.lines) {
    if (line.loose) {
      line.route = [];
      continue;
    }
    const [tail, head] = flow(line);
    const up = chainTo(boxOf.get(tail));
    const into = chainTo(boxOf.get(head));
    let shared = 0;
    while (shared + 1 < Math.min(up.length, into.length) && up[shared + 1] === into[shared + 1]) {
      shared += 1;
    }
    line.route = [];
    const add = (box, part) => {
      parts.get(box).push(part);
      line.route.push({ box, part });
    };
    let at = tail;
    for (let i = up.length - 1; i > shared; i--) {
      add(up[i], { line, tail: at, head: null });
      at = `b${up[i]}`;
    }
    const outside = at;
    let end = into.length - 1 > shared ? `b${into[shared + 1]}` : head;
    add(up[shared], { line, tail: outside, head: end, main: true });
    for (let i = shared + 1; i < into.length; i++) {
      end = i + 1 < into.length ? `b${into[i + 1]}` : head;
      add(into[i], { line, tail: null, head: end });
    }
  }
  const inner = new Map();
  for (const box of [...scene.members.keys()].reverse()) {
    inner.set(box, layOutBox(box, scene.members.get(box), parts.get(box)));
  }

  function layOutBox(box, keys, mine) {
    const ranks = ranksOf(keys, mine);
    const last = Math.max(0, ...ranks.values());
    const small = keys.length + mine.length < FEW_TO_ORDER;
    let drawing = arranged(keys, mine, ranks, last, 0);
    let least = small ? crossings(drawing) : 0;
    for (let order = 1; least && order < ORDERS / (keys.length + mine.length); order++) {
      const other = arranged(keys, mine, ranks, last, order);
      const count = crossings(other);
      if (count < least) [drawing, least] = [other, count];
    }
    const bounds = drawing.graph();
    const own = {
      width: Number.isFinite(bounds.width) ? bounds.width : 0,
      height: Number.isFinite(bounds.height) ? bounds.height : 0,
    };
    // The ranks that only ports stand on are cut away.
    const [middle, size, whole] = down ? ["y", "height", "height"] : ["x", "width", "width"];
    let low = Infinity;
    let high = -Infinity;
    for (const key of keys) {
      const node = drawing.node(key);
      low = Math.min(low, node[middle] - node[size] / 2);
      high = Math.max(high, node[middle] + node[size] / 2);
    }
    if (keys.length) own[whole] = high - low;
    else [low, high] = [0, own[whole]];
    const wide = Math.max(own.width, box === 0 ? 0 : titleWidth(box)) + 2 * PAD;
    return {
      drawing,
      width: wide,
      height: own.height + HEADER + FOOT,
      left: (wide - own.width) / 2 - (down ? 0 : low),
      top: HEADER - (down ? low : 0),
      within: (p) => p[middle] >= low - 1 && p[middle] <= high + 1,
    };
  }

  /** One layout by dagre; which of several it finds depends on the order of nodes and lines. */
  function arranged(keys, mine, ranks, last, order) {
    const drawing = new dagre.graphlib.Graph({ multigraph: true });
    drawing.setGraph({
      rankdir: direction,
      nodesep: 30,
      edgesep: 18,
      ranksep: down ? 44 : 56,
      ranker: keys.length + mine.length > 400 ? "tight-tree" : "network-simplex",
    });
    drawing.setDefaultEdgeLabel(() => ({}));
    for (const key of shuffled(keys, order)) {
      const id = Number(key.slice(1));
      const { width, height } =
        key[0] === "b" && scene.members.has(id) ? inner.get(id) : figure(key);
      drawing.setNode(key, { width, height });
    }
    mine.forEach((part, at) => {
      part.name = `p${at}`;
    });
    for (const part of shuffled(mine, order)) {
      const text = part.main ? label(part.line) : null;
      // A label stands beside its line: on the side of the gradient.
      const size = text
        ? { width: text.width, height: text.height, labelpos: down ? "r" : "l", labeloffset: 9 }
        : {};
      if (part.tail === null || part.head === null) {
        drawing.setNode(part.name, { width: 2, height: 2 });
      }
      if (part.tail === null) size.minlen = ranks.get(part.head) + 1;
      if (part.head === null) size.minlen = last - ranks.get(part.tail) + 1;
      drawing.setEdge(part.tail ?? part.name, part.head ?? part.name, size, part.name);
    }
    dagre.layout(drawing);
    return drawing;
  }

  const items = new Map();
  const frames = [];
  const place = (box, x, y) => {
    const { drawing, left, top, width, height, within } = inner.get(box);
    const dx = x + left;
    const dy = y + top;
    if (box !== 0) frames.push({ box, x, y, width, height });
    for (const key of scene.members.get(box)) {
      const node = drawing.node(key);
      const id = Number(key.slice(1));
      const at = { x: dx + node.x, y: dy + node.y, width: node.width, height: node.height };
      if (key[0] === "b" && scene.members.has(id)) {
        place(id, at.x - at.width / 2, at.y - at.height / 2);
      } else items.set(key, at);
    }
    for (const part of parts.get(box)) {
      const edge = drawing.edge(part.tail ?? part.name, part.head ?? part.name, part.name);
      const points = edge.points.slice(1, -1).filter((p) => part.main || within(p));
      part.points = points.map((p) => ({ x: p.x + dx, y: p.y + dy }));
      if (part.main) {
        part.line.label = edge.width ? { x: edge.x + dx, y: edge.y + dy } : null;
      }
      const port = part.tail === null || part.head === null ? drawing.node(part.name) : null;
      const border = (end) =>
        down
          ? { x: port.x + dx, y: end ? y + height : y }
          : { x: end ? x + width : x, y: port.y + dy };
      if (part.tail === null) part.points.unshift(border(false));
      if (part.head === null) part.points.push(border(true));
    }
  };
  const whole = inner.get(0);
  place(0, -PAD, -HEADER);
  for (const line of scene.lines) {
    line.points = line.route.flatMap(({ part }) => part.points);
    delete line.route;
  }
  return {
    items,
    frames,
    lines: scene.lines,
    width: whole.width - 2 * PAD,
    height: whole.height - HEADER - FOOT,
  };
}

/** Leave out most lines of what is much used: led around, they take long and push all aside. */
function loosen(graph, scene) {
  const ends = new Map();
  for (const line of scene.lines) {
    if (!ends.has(line.to)) ends.set(line.to, []);
    ends.get(line.to).push(line);
  }
  const crowded = scene.lines.length > ROUTED;
  for (const [key, lines] of ends) {
    const id = Number(key.slice(1));
    const { kind } = key[0] === "n" ? graph.nodes[id] : graph.boxes[id];
    const leaf = ["leaf", "constant", "leaves", "constants"].includes(kind);
    const many = lines.length > SPOKES;
    if (leaf ? many || crowded : many && crowded)
      for (const line of lines.slice(0, -FEW_LINES)) line.loose = true; // the first uses stay
  }
}

/** A list in another order: the same one for the same number, and for 0 as it is. */
function shuffled(list, order) {
  const found = [...list];
  let state = order;
  for (let i = found.length - 1; order && i > 0; i--) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((state / 2 ** 32) * (i + 1));
    [found[i], found[j]] = [found[j], found[i]];
  }
  return found;
}

/** How often the lines of a drawing cross. */
function crossings(drawing) {
  const pieces = [];
  drawing.edges().forEach((edge, at) => {
    const { points } = drawing.edge(edge);
    const ends = [drawing.node(edge.v), ...points.slice(1, -1), drawing.node(edge.w)];
    for (let i = 1; i < ends.length; i++) pieces.push([ends[i - 1], ends[i], at]);
  });
  const side = (a, b, c) => Math.sign((b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x));
  let count = 0;
  pieces.forEach(([a, b, one], i) => {
    for (const [c, d, other] of pieces.slice(i + 1)) {
      if (one !== other && side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0)
        count += 1;
    }
  });
  return count;
}

/** How far each item is from the start, counted in edges. */
function ranksOf(keys, parts) {
  const to = new Map(keys.map((key) => [key, []]));
  const left = new Map(keys.map((key) => [key, 0]));
  for (const { tail, head } of parts) {
    if (tail === null || head === null) continue;
    to.get(tail).push(head);
    left.set(head, left.get(head) + 1);
  }
  const ranks = new Map(keys.map((key) => [key, 0]));
  const waiting = keys.filter((key) => !left.get(key));
  while (waiting.length) {
    const key = waiting.pop();
    for (const next of to.get(key)) {
      ranks.set(next, Math.max(ranks.get(next), ranks.get(key) + 1));
      left.set(next, left.get(next) - 1);
      if (!left.get(next)) waiting.push(next);
    }
  }
  return ranks;
}
