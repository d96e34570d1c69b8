// The drawing: what each item looks like in each view, and the SVG that shows it.

const SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
const SERIF = 'ui-serif, Georgia, Cambria, "Noto Serif", "DejaVu Serif", serif';
const FONTS = {
  title: `600 13px ${SANS}`,
  plain: `400 12px ${SANS}`,
  number: `500 13px ${SANS}`,
  formula: `400 13px ${SERIF}`,
  symbol: `500 20px ${SANS}`,
  header: `600 13px ${SANS}`,
};
const LINE = 18;
const CURVE = 44; // what the curve of a loop adds to the height of its box
const MOST_MARKS = 3;
const DISC = 34; // the greatest radius of a disc of memory

const run = (text, font, kind = "", value) => ({ text, font, kind, value });
const lineWidth = (runs) => runs.reduce((sum, r) => sum + widthOf(r.text, FONTS[r.font]), 0);

/** A long name from its end, at a dot where there is one: the last parts tell names apart. */
function shortName(text, most = 24) {
  const letters = [...text];
  if (letters.length <= most) return text;
  const end = letters.slice(1 - most).join("");
  const dot = end.indexOf(".");
  return `…${dot >= 0 && dot < most / 2 ? end.slice(dot + 1) : end}`;
}

/** A part of a figure: a shape with lines of text in it. */
function part(kind, shape, lines, least = 0) {
  const width = Math.max(least, ...lines.map(lineWidth)) + (shape === "pill" ? 30 : 22);
  return { kind, shape, lines, width: Math.ceil(width), height: lines.length * LINE + 12 };
}

/** The numbers of a value: `d = 2.75`, `h 4×16`. */
function valueRuns(node) {
  const name = shortName(node.label || node.expression || "");
  const value = node.value;
  if (value?.only !== undefined && !value.shape.length) {
    const text = brief(value.only, value.dtype);
    const runs = name
      ? [run(name, "formula", node.label ? "name" : "dim"), run(" = ", "plain", "dim")]
      : [];
    return [...runs, run(text, "number", "", dataValue(value.only))];
  }
  const shape = node.kind === "constant" && !node.shape.length ? "" : shapeText(node.shape);
  const runs = name ? [run(name, "formula", node.label ? "name" : "dim")] : [];
  if (!name && node.kind === "constant" && node.title)
    runs.push(run(cut(node.title, 16), "number"));
  if (shape || !runs.length) runs.push(run(`${runs.length ? "  " : ""}${shape}`, "plain", "dim"));
  return runs;
}

/** A norm, in red where it is not finite. */
const normRun = (norm, text = about(norm)) =>
  run(text, "number", Number.isFinite(norm) ? "grad" : "bad");

/** The gradient of a node's result: `∂L/∂d = −1`, `∂L/∂h  norm 0.12`. */
function gradientRuns(graph, node) {
  const sum = node.gradient;
  const name = node.label ? `∂${cut(graph.title, 8)}/∂${shortName(node.label, 14)}` : "grad";
  if (!sum) return null;
  if (sum.only !== undefined && !sum.shape.length) {
    return [
      run(name, "formula", "grad"),
      run(" = ", "plain", "dim"),
      run(brief(sum.only, sum.dtype), "number", "grad", dataValue(sum.only)),
    ];
  }
  return [
    run(name, "formula", "grad"),
    run("  norm ", "plain", "dim"),
    normRun(sum.norm),
  ];
}

/** Marks, one a line; of many the first ones and their number. */
function markLines(marks) {
  const lines = marks.slice(0, MOST_MARKS).map((mark) => [run(cut(mark, 44), "plain", "mark")]);
  const more = marks.length - lines.length;
  return more ? [...lines, [run(`${more} more marks`, "plain", "mark")]] : lines;
}

/** The parts of a node in the forward direction: its operation, and the value it makes. */
function forwardParts(graph, node, gradients) {
  const gradient = gradients && node.kind !== "constant" ? gradientRuns(graph, node) : null;
  const lines = [valueRuns(node), ...(gradient ? [gradient] : [])];
  if (node.kind === "leaf") lines.push(...markLines(node.marks));
  const uses = node.into.length;
  if (uses > FEW_LINES) lines.push([run(`used ${uses} times`, "plain", "dim")]);
  if (node.kind === "leaf" || node.kind === "constant") return [part(node.kind, "rect", lines)];
  const symbol = node.kind === "op" && !node.marks.length && SYMBOLS[node.title];
  const call = symbol
    ? { kind: "op", shape: "circle", lines: [[run(symbol, "symbol")]], width: 38, height: 38 }
    : part(node.kind, "pill", [[run(cut(node.title, 28), "title")], ...markLines(node.marks)]);
  return [call, part("value", "rect", lines)];
}

/** The parts of a backward node: its class, and the gradient that comes to it. */
function backwardParts(graph, node) {
  const lines = [[run(cut(node.name, 32), "title")]];
  const after = graph.stepOf.get(node.id)?.into?.after;
  if (node.kind === "leaf") {
    const name = `${shortName(node.label || "leaf", 20)}.grad`;
    if (after?.only !== undefined && !after.shape.length) {
      lines.push([
        run(name, "formula", "name"),
        run(" = ", "plain", "dim"),
        run(brief(after.only, after.dtype), "number", "grad", dataValue(after.only)),
      ]);
    } else
      lines.push([run(name, "formula", "name"), run(`  ${shapeText(node.shape)}`, "plain", "dim")]);
    return [part("accumulate", "rect", lines)];
  }
  const gradient = gradientRuns(graph, node);
  if (gradient) lines.push(gradient);
  else if (node.label) lines.push([run(shortName(node.label), "formula", "name")]);
  return [part("backward", "rect", lines)];
}

/** The parts of a folded box. */
function boxParts(graph, id) {
  const box = graph.boxes[id];
  const facts = [counted(box.count, "node")];
  if (box.bytes) facts.push(`${bytes(box.bytes)} saved`);
  const lines = [
    [run("⊞  ", "plain", "dim"), run(shortTitle(box, 34), "title")],
    [run(facts.join(" · "), "plain", "dim")],
  ];
  box.leaves ??= leavesOf(graph, id);
  if (box.leaves.length) {
    const few = box.leaves.length <= 2;
    const text = few
      ? box.leaves
          .map((n) => `${n.label.split(".").pop() || "leaf"} ${shapeText(n.shape)}`)
          .join(", ")
      : counted(box.leaves.length, "leaf", "leaves");
    lines.push([run(cut(text, 40), "plain", "dim")]);
  }
  box.marks ??= marksOf(graph, id);
  lines.push(...markLines(box.marks));
  const known = box.curve.filter((norm) => norm !== null);
  if (!known.length) return [part("box", "rect", lines, 90)];
  // Backward comes to the last step first.
  const bad = box.curve.findLastIndex((norm) => norm !== null && !Number.isFinite(norm));
  const ends =
    bad >= 0
      ? normRun(box.curve[bad], `${about(box.curve[bad])}, first at step ${bad}`)
      : normRun(known[0], `${about(known[0])} … ${about(known[known.length - 1])}`);
  const of = box.carried && ` of ${cut(box.carried, 16)}`;
  lines.push([run(`norm of the gradient${of}  `, "plain", "dim"), ends]);
  const found = part("box", "rect", lines, 200);
  found.curve = box.curve;
  found.height += CURVE;
  return [found];
}

/** The curve of a norm over the steps of a loop, by powers of ten where norms differ much. */
function curveElement(norms, x, y, width, height) {
  const known = norms.filter((norm) => Number.isFinite(norm));
  const least = Math.min(...known.filter((norm) => norm > 0));
  const steep = Math.max(...known) > 30 * least;
  const scale = (norm) => (steep ? Math.log10(Math.max(norm, least)) : norm);
  const low = steep ? scale(least) : 0;
  const range = scale(Math.max(...known)) - low || 1;
  const wide = width / norms.length;
  const at = (norm, step) => {
    const rise = ((scale(norm) - low) / range) * height;
    return `${(x + (step + 0.5) * wide).toFixed(1)} ${(y + height - rise).toFixed(1)}`;
  };
  const way = [];
  norms.forEach((norm, step) => {
    if (Number.isFinite(norm))
      way.push(`${Number.isFinite(norms[step - 1]) ? "L" : "M"}${at(norm, step)}`);
  });
  return s(
    "g.curve@curve",
    s("path.axis", { d: `M${x} ${y + height}h${width}` }),
    s("path.norms", { d: `${way.join("")}${way.length === 1 ? "h1" : ""}` }),
    norms.map((norm, step) =>
      s(
        "rect",
        { "data-step": step, x: x + step * wide, y: y - 4, width: wide, height: height + 8 },
        s("title", `step ${step}: ${norm === null ? "not known" : about(norm)}`),
      ),
    ),
  );
}

/** Put parts in a row along the flow, around (0, 0); `disc` is a circle beside them. */
function arrange(parts, down, disc) {
  const gap = parts.length > 1 ? 12 : 0;
  const along = parts.reduce(
    (sum, p) => sum + (down ? p.height : p.width),
    gap * (parts.length - 1),
  );
  const across = Math.max(...parts.map((p) => (down ? p.width : p.height)));
  let at = -along / 2;
  for (const p of parts) {
    const size = down ? p.height : p.width;
    p.x = down ? 0 : at + size / 2;
    p.y = down ? at + size / 2 : 0;
    at += size + gap;
  }
  let width = down ? across : along;
  const height = Math.max(down ? along : across, disc ? 2 * disc : 0);
  if (disc) {
    const shift = disc + 4;
    for (const p of parts) p.x -= shift;
    parts.disc = { x: width / 2 + 8 + disc - shift, y: 0, r: disc };
    width += 2 * shift;
  }
  return { parts, width, height };
}

/** The label of an edge: its local gradient as a formula, with the number where there is one. */
function edgeRuns(line) {
  if (!line.single)
    return line.edges.length > 1 ? [run(`${line.edges.length} edges`, "plain", "dim")] : null;
  const edge = line.edges[0];
  if (!edge.grad) return null;
  const formula = edge.named ? cut(edge.named, 26) : "";
  const scalar = edge.local?.only !== undefined && !edge.local.shape.length;
  const value = scalar ? brief(edge.local.only, edge.local.dtype) : "";
  if (!formula && !value) return null;
  const known = scalar ? dataValue(edge.local.only) : undefined;
  if (!formula || formula === value) return [run(value || formula, "number", "grad", known)];
  if (!value) return [run(formula, "formula", "grad")];
  return [
    run(formula, "formula", "grad"),
    run(" = ", "plain", "dim"),
    run(value, "number", "grad", known),
  ];
}

/** Where the way from `from` to a part's middle (moved by `shift`) meets its border. */
function clip(at, p, from, shift) {
  const x = at.x + p.x + shift.x;
  const y = at.y + p.y + shift.y;
  const dx = from.x - x;
  const dy = from.y - y;
  if (p.shape === "circle") {
    const r = p.width / 2;
    const length = Math.hypot(dx, dy) || 1;
    const along = (dx * shift.x + dy * shift.y) / length;
    const reach =
      -along + Math.sqrt(Math.max(0, along ** 2 + r ** 2 - shift.x ** 2 - shift.y ** 2));
    return { x: x + (dx / length) * reach, y: y + (dy / length) * reach };
  }
  const right = p.width / 2 - Math.sign(dx) * shift.x;
  const down = p.height / 2 - Math.sign(dy) * shift.y;
  const scale = Math.min(
    dx ? right / Math.abs(dx) : Infinity,
    dy ? down / Math.abs(dy) : Infinity,
    1,
  );
  return { x: x + dx * scale, y: y + dy * scale };
}

/** The inner points of a way moved sideways, and the shifts of its ends; `ends` are where it aims. */
function beside(points, ends, distance) {
  const whole = [ends[0], ...points, ends[1]];
  const across = (a, b) => {
    const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    return { x: (-(b.y - a.y) / length) * distance, y: ((b.x - a.x) / length) * distance };
  };
  const moved = points.map((p, i) => {
    const by = across(whole[i], whole[i + 2]);
    return { x: p.x + by.x, y: p.y + by.y };
  });
  const last = whole.length - 1;
  return {
    points: moved,
    start: across(whole[0], whole[1]),
    end: across(whole[last - 1], whole[last]),
  };
}

/** A smooth way through points: a uniform cubic B-spline that begins and ends at the ends. */
function curve(points) {
  const f = (x) => Math.round(x * 10) / 10;
  const at = (p) => `${f(p.x)} ${f(p.y)}`;
  if (points.length < 3) return `M${points.map(at).join("L")}`;
  const mix = (a, b, t) => ({ x: a.x + (b.x - a.x) * t, y: a.y + (b.y - a.y) * t });
  let path = `M${at(points[0])}`;
  const all = [points[0], ...points, points[points.length - 1]];
  for (let i = 1; i + 2 < all.length; i++) {
    const [a, b, c] = [all[i], all[i + 1], all[i + 2]];
    const end = mix(mix(a, b, 2 / 3), mix(b, c, 1 / 3), 0.5);
    if (i === 1) path += `L${at(mix(mix(a, a, 0), mix(a, b, 1 / 3), 0.5))}`;
    path += `C${at(mix(a, b, 1 / 3))} ${at(mix(a, b, 2 / 3))} ${at(end)}`;
  }
  return `${path}L${at(points[points.length - 1])}`;
}

/** A text of several runs, its middle at (x, y). */
function textElement(runs, x, y, extra) {
  const text = s("text", {
    x,
    y,
    "text-anchor": "middle",
    "dominant-baseline": "central",
    ...extra,
  });
  for (const r of runs) {
    text.append(s("tspan", { class: `${r.font} ${r.kind}`, "data-value": r.value }, r.text));
  }
  return text;
}

function shapeElement(p) {
  const box = { x: p.x - p.width / 2, y: p.y - p.height / 2, width: p.width, height: p.height };
  const kind = `shape ${p.kind}`;
  if (p.shape === "circle") return s("circle", { class: kind, cx: p.x, cy: p.y, r: p.width / 2 });
  return s("rect", {
    class: kind,
    ...box,
    rx: p.shape === "pill" ? p.height / 2 : p.kind === "box" ? 10 : 6,
  });
}

/** One item of the drawing: a node or a folded box. */
function itemElement(graph, key, figure, at, pane) {
  const id = Number(key.slice(1));
  const node = key[0] === "n" ? graph.nodes[id] : null;
  const name = node ? describe(graph, node) : describeBox(graph, id);
  const group = s("g", {
    class: `item ${node ? `node ${node.kind}` : "box"}`,
    "data-node": node ? id : null,
    "data-box": node ? null : id,
    "data-key": `${pane}:${key}`,
    transform: `translate(${Math.round(at.x * 10) / 10} ${Math.round(at.y * 10) / 10})`,
    role: "button",
    tabindex: -1,
    "aria-label": name,
    "aria-expanded": node ? null : "false",
  });
  group.append(s("title", name));
  const { parts } = figure;
  if (parts.disc)
    group.append(s("circle.disc", { cx: parts.disc.x, cy: parts.disc.y, r: parts.disc.r }));
  for (let i = 1; i < parts.length; i++) {
    const [a, b] = [parts[i - 1], parts[i]];
    group.append(
      s("path.stem", {
        d:
          a.x === b.x
            ? `M${a.x} ${a.y + a.height / 2}V${b.y - b.height / 2}`
            : `M${a.x + a.width / 2} ${a.y}H${b.x - b.width / 2}`,
      }),
    );
  }
  for (const p of parts) {
    if (p.kind === "box")
      group.append(
        s("rect.behind", {
          x: -p.width / 2 + p.x + 5,
          y: p.y - p.height / 2 + 5,
          width: p.width,
          height: p.height,
          rx: 10,
        }),
      );
    group.append(shapeElement(p));
    const middle = p.curve ? p.y - CURVE / 2 : p.y;
    if (p.curve) {
      const wide = p.width - 28;
      const top = p.y + p.height / 2 - CURVE;
      group.append(curveElement(p.curve, p.x - wide / 2, top, wide, CURVE - 14));
    }
    p.lines.forEach((runs, i) => {
      group.append(
        textElement(runs, p.x, middle + (i - (p.lines.length - 1) / 2) * LINE, {
          class: `in-${p.kind}`,
        }),
      );
    });
    if (p.kind === "box") {
      group.append(
        s("path.progress", {
          d: `M${p.x - p.width / 2 + 8} ${p.y + p.height / 2 - 4}h${p.width - 16}`,
          pathLength: 1,
          "stroke-dasharray": "0 1",
        }),
      );
    }
  }
  return group;
}

/** A node in words. */
function describe(graph, node) {
  const words = [];
  if (node.kind === "leaf") words.push(node.label ? `leaf ${node.label}` : node.called);
  else if (node.kind === "constant") words.push(`constant ${node.label || node.title}`);
  else words.push(`${node.title} (${node.name})`, ...(node.label ? [`gives ${node.label}`] : []));
  words.push(shapeText(node.shape));
  if (node.value?.only !== undefined)
    words.push(`value ${brief(node.value.only, node.value.dtype)}`);
  if (node.place) words.push(placeText(node.place));
  return [...words, ...node.marks].join(", ");
}

/** A box in words. */
function describeBox(graph, id) {
  const box = graph.boxes[id];
  const kind = { run: "run ", module: "module ", loop: "loop " }[box.kind] ?? "";
  const name = box.kind === "module" && box.detail ? box.detail : box.title;
  return [kind + name, counted(box.count, "node"), placeText(box.place)].filter(Boolean).join(", ");
}

/** Points on the way that `curve` draws. */
function along(points) {
  const last = points.length - 1;
  const whole = [points[0], points[0], ...points, points[last], points[last]];
  const found = [];
  for (let i = 0; i + 3 < whole.length; i++) {
    const [a, b, c, d] = whole.slice(i, i + 4);
    for (let t = 0; t < 1; t += 0.125) {
      const [p, q, r, u] = [
        (1 - t) ** 3,
        3 * t ** 3 - 6 * t ** 2 + 4,
        -3 * t ** 3 + 3 * t ** 2 + 3 * t + 1,
        t ** 3,
      ];
      found.push({
        x: (p * a.x + q * b.x + r * c.x + u * d.x) / 6,
        y: (p * a.y + q * b.y + r * c.y + u * d.y) / 6,
      });
    }
  }
  return found;
}

const CLEAR = 24; // how far a label goes out of the way of its own line

/** Where a label stands that its line does not touch, if that is near: to its right, or above it. */
function besideLine(at, width, points, down) {
  const half = width / 2;
  if (down) {
    const near = along(points)
      .filter((p) => Math.abs(p.y - at.y) < 12)
      .map((p) => p.x);
    const x = Math.max(at.x, Math.max(...near) + half + 1);
    return x - at.x <= CLEAR ? { x, y: at.y } : at;
  }
  const near = along(points)
    .filter((p) => Math.abs(p.x - at.x) < half)
    .map((p) => p.y);
  const y = Math.min(at.y, Math.min(...near) - 11);
  return at.y - y <= CLEAR ? { x: at.x, y } : at;
}

/** A line of the drawing, with its label. `mode`: "forward", "backward" or "overlaid". */
function lineElement(line, ends, mode, { flowBack, labelled, down }) {
  const [tail, head] = ends; // {at, part} where the drawing's flow begins and ends
  const single = line.single ? line.edges[0] : null;
  const grad = line.edges.some((edge) => edge.grad);
  const group = s("g", {
    class: `edge${grad ? "" : " constant"}${line.single ? "" : " merged"}${line.loose ? " loose" : ""}`,
    "data-edge": single ? single.id : null,
    "data-edges": single ? null : line.edges.map((edge) => edge.id).join(" "),
  });
  const middle = ({ at, part: p }) => ({ x: at.x + p.x, y: at.y + p.y });
  const aims = [middle(tail), middle(head)];
  let drawn = null;
  const way = (kind, reversed, distance) => {
    const { points, start, end } = beside(line.points, aims, distance);
    const first = points[0] ?? { x: aims[1].x + end.x, y: aims[1].y + end.y };
    const final = points[points.length - 1] ?? { x: aims[0].x + start.x, y: aims[0].y + start.y };
    const whole = [
      clip(tail.at, tail.part, first, start),
      ...points,
      clip(head.at, head.part, final, end),
    ];
    if (reversed) whole.reverse();
    drawn = whole;
    const d = curve(whole);
    if (single) group.append(s("path.reach", { d }));
    group.append(s("path", { class: `way ${kind}`, d }));
  };
  if (mode === "forward") way("forward", false, 0);
  else if (mode === "backward") way("gradient", flowBack, 0);
  else {
    way("forward", false, grad ? 4 : 0);
    if (grad) way("gradient", true, -4);
  }
  if (labelled && line.label) {
    const { width } = line.text;
    const { x, y } = besideLine(line.label, width, drawn, down);
    group.append(s("rect.label-back", { x: x - width / 2, y: y - 10, width, height: 20, rx: 5 }));
    group.append(textElement(line.text.runs, x, y, { class: "label" }));
  }
  if (single) group.append(s("title", edgeWords(single)));
  return group;
}

/** An edge in words. */
function edgeWords(edge) {
  const words = [edge.argument ? `argument ${edge.argument}` : "argument"];
  if (edge.named) words.push(edge.factor ? `local gradient ${edge.named}` : `sends ${edge.named}`);
  if (edge.local?.only !== undefined) words.push(`= ${brief(edge.local.only, edge.local.dtype)}`);
  return words.join(", ");
}
