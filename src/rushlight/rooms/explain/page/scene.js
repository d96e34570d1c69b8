// The drawing as it stands: built anew where boxes open or the view changes (`rebuild`), and given
// its colours where only the state changes (`paint`).

const OPEN_WHEN_FEWER = 60; // a graph of so many nodes shows all of them at first
const MOST_SHOWN = 1500;
const SIDE_GAP = 90;
const SMALL = 0.4; // the least scale at which a graph is shown where boxes open or the view changes
const READABLE = 0.92; // the same at first sight: texts of 12 px are 11

const WORST = ["nan", "exploding", "zero", "tiny", "normal", "none"];

class Scene {
  constructor(graph, state, canvas) {
    this.graph = graph;
    this.state = state;
    this.canvas = canvas;
    this.layers = s("g", { id: "camera" });
    canvas.append(arrowHeads(), this.layers);
    this.view = makeCamera(canvas, this.layers);
    followPointers(canvas, this.view);
    this.items = []; // {element, key, pane, at, node, box}
    this.lines = []; // {element, line}
    this.focused = null;
    this.boxHealth = null;
  }

  /** The panes of the view: how each draws, and what of it. */
  panes() {
    const { view } = this.state;
    if (view === "side") return ["forward", "backward"];
    return [view];
  }

  /** What a node or a folded box looks like in a pane. */
  figure(key, pane) {
    const { graph, state } = this;
    const id = Number(key.slice(1));
    const down = state.direction === "TB";
    let parts;
    if (key[0] === "b") parts = boxParts(graph, id);
    else if (pane === "backward") parts = backwardParts(graph, graph.nodes[id]);
    else parts = forwardParts(graph, graph.nodes[id], pane === "overlaid");
    return arrange(parts, down, this.discOf(key));
  }

  /** The radius of an item's disc in the memory view; its area is the memory. */
  discOf(key) {
    if (this.state.colour !== "memory" || !this.greatest) return 0;
    const kept = this.bytesOf(key);
    return kept ? Math.max(2, DISC * Math.sqrt(kept / this.greatest)) : 0;
  }

  bytesOf(key) {
    const id = Number(key.slice(1));
    return key[0] === "b" ? this.graph.boxes[id].bytes : this.graph.nodes[id].bytes;
  }

  /** Lay out and draw. `keep` is a key whose place on the screen stays. */
  rebuild({ keep = null, fit = false, least = SMALL } = {}) {
    const { graph, state } = this;
    const before = keep && this.find(keep);
    const anchor = before && this.view.onScreen(before.corner);
    const focus = document.activeElement?.closest?.("[data-key]")?.dataset.key;
    const panes = this.panes();
    const backward = state.view === "backward";
    const scene = visible(graph, state.open, backward);
    const keys = [...scene.members.values()].flat();
    const folded = (key) => key[0] === "n" || !scene.members.has(Number(key.slice(1)));
    this.greatest = Math.max(0, ...keys.filter(folded).map((key) => this.bytesOf(key)));
    const figures = new Map(panes.map((pane) => [pane, new Map()]));
    const sizes = new Map();
    for (const key of keys.filter(folded)) {
      const each = panes.map((pane) => {
        const figure = this.figure(key, pane);
        figures.get(pane).set(key, figure);
        return figure;
      });
      sizes.set(key, {
        width: Math.max(...each.map((f) => f.width)),
        height: Math.max(...each.map((f) => f.height)),
      });
    }
    const labelled = state.view !== "forward";
    const layout = layOut(graph, scene, {
      direction: state.direction,
      figure: (key) => sizes.get(key),
      label: (line) => {
        const runs = labelled || !line.single ? edgeRuns(line) : null;
        line.text = runs && { runs, width: lineWidth(runs) + 12, height: 20 };
        return line.text;
      },
      flow: (line) => (backward ? [line.from, line.to] : [line.to, line.from]),
      titleWidth: (box) => widthOf(this.frameTitle(box), FONTS.header) + 24,
    });
    this.layout = layout;
    this.scene = scene;
    this.layers.replaceChildren();
    this.items = [];
    this.lines = [];
    this.index = new Map();
    const down = state.direction === "TB";
    panes.forEach((pane, at) => {
      const offset = {
        x: at && down ? layout.width + SIDE_GAP : 0,
        y: at && !down ? layout.height + SIDE_GAP : 0,
      };
      this.drawPane(pane, layout, figures.get(pane), offset, panes.length > 1);
    });
    const twice = panes.length > 1;
    this.bounds = {
      x: 0,
      y: twice ? -44 : 0,
      width: layout.width * (twice && down ? 2 : 1) + (twice && down ? SIDE_GAP : 0),
      height:
        layout.height * (twice && !down ? 2 : 1) +
        (twice && !down ? SIDE_GAP : 0) +
        (twice ? 44 : 0),
    };
    this.paint();
    const after = keep && this.find(keep);
    if (fit || !after) {
      if (fit) this.fit(false, least);
    } else if (anchor) {
      const now = this.view.onScreen(after.corner);
      this.view.pan(anchor.x - now.x, anchor.y - now.y);
    }
    this.rove(focus ? this.find(focus) : null, Boolean(focus));
  }

  /** Show the whole graph; unless in a glide, of a great one its beginning at the least scale. */
  fit(glide = true, least = SMALL) {
    const { bounds, view, canvas } = this;
    const legend = byId("legend");
    const covered =
      legend.open && canvas.clientWidth > 700
        ? { width: legend.offsetWidth + 14, height: legend.offsetHeight + 14 }
        : null;
    const scale = view.fitting(bounds).scale;
    if (!glide && scale < least) view.begin(bounds, least, covered, this.beginning());
    else view.fit(bounds, glide, covered);
  }

  /** Where the item stands with which the drawing begins. */
  beginning() {
    const [along, size] = this.state.direction === "TB" ? ["y", "height"] : ["x", "width"];
    const items = this.items.filter((item) => !item.frame);
    const { at, offset } = nearest(items, (item) => item.at[along] - item.at[size] / 2);
    return { x: at.x + offset.x, y: at.y + offset.y };
  }

  frameTitle(box) {
    const own = this.graph.boxes[box];
    return `⊟  ${shortTitle(own, 40)}  · ${counted(own.count, "node")}`;
  }

  drawPane(pane, layout, figures, offset, titled) {
    const { graph, state } = this;
    const group = s("g", {
      class: `pane-${pane}`,
      "data-pane": pane,
      transform: `translate(${offset.x} ${offset.y})`,
    });
    if (titled) {
      group.append(
        s(
          "text.pane-title",
          { x: layout.width / 2, y: -26, "text-anchor": "middle" },
          pane === "forward" ? "Forward: values" : "Backward: gradients",
        ),
      );
    }
    const frames = s("g.frames");
    const lines = s("g.edges");
    const items = s("g.items");
    group.append(frames, lines, items);
    for (const frame of layout.frames) {
      if (pane === "backward" && graph.boxes[frame.box].kind === "constants") continue;
      this.drawFrame(frames, items, frame, pane, offset);
    }
    for (const [key, at] of layout.items) {
      const node = key[0] === "n" ? graph.nodes[Number(key.slice(1))] : null;
      const kind = (node ?? graph.boxes[Number(key.slice(1))]).kind;
      if (pane === "backward" && ["constant", "constants"].includes(kind)) continue;
      const element = itemElement(graph, key, figures.get(key), at, pane);
      items.append(element);
      this.note({
        element,
        key,
        pane,
        at,
        offset,
        node,
        box: node ? null : Number(key.slice(1)),
        corner: { x: at.x + offset.x, y: at.y + offset.y },
      });
    }
    const shared = state.view !== "backward";
    for (const line of layout.lines) {
      if (pane === "backward" && !line.edges.some((edge) => edge.grad)) continue;
      const [tail, head] = shared ? [line.to, line.from] : [line.from, line.to];
      const end = (key, last) => {
        const { parts } = figures.get(key);
        return { at: layout.items.get(key), part: last ? parts[parts.length - 1] : parts[0] };
      };
      const element = lineElement(line, [end(tail, true), end(head, false)], pane, {
        flowBack: shared,
        labelled: pane !== "forward" || !line.single,
        down: state.direction === "TB",
      });
      lines.append(element);
      this.lines.push({ element, line, pane });
    }
    this.layers.append(group);
  }

  drawFrame(frames, items, frame, pane, offset) {
    const { graph } = this;
    const { box, x, y, width, height } = frame;
    const depth = chain(graph, box).length - 1;
    frames.append(s("rect", { class: `frame depth-${depth % 2}`, x, y, width, height, rx: 12 }));
    const header = s("g", {
      class: `item frame-header depth-${depth % 2}`,
      "data-box": box,
      "data-key": `${pane}:b${box}`,
      role: "button",
      tabindex: -1,
      "aria-expanded": "true",
      "aria-label": describeBox(graph, box),
    });
    const title = this.frameTitle(box);
    header.append(s("title", describeBox(graph, box)));
    header.append(
      s("rect.frame-title", {
        x: x + 6,
        y: y + 4,
        width: Math.min(width - 12, widthOf(title, FONTS.header) + 22),
        height: 24,
        rx: 8,
      }),
    );
    header.append(
      s("text.header", { x: x + 16, y: y + 16, "dominant-baseline": "central" }, title),
    );
    items.append(header);
    const at = { x: x + width / 2, y: y + height / 2, width, height };
    this.note({
      element: header,
      key: `b${box}`,
      pane,
      at,
      offset,
      node: null,
      box,
      frame: true,
      corner: { x: x + 20 + offset.x, y: y + 16 + offset.y },
    });
  }

  note(item) {
    this.items.push(item);
    this.index.set(`${item.pane}:${item.key}`, item);
  }

  /** The drawn item of a key `n3`, or of a pane's key `forward:n3`. */
  find(key) {
    if (!this.index) return null;
    if (key.includes(":")) return this.index.get(key) ?? this.find(key.split(":")[1]);
    for (const pane of [...this.panes()].reverse()) {
      const found = this.index.get(`${pane}:${key}`);
      if (found) return found;
    }
    return null;
  }

  /** The item that stands for a node: itself, or the folded box around it. */
  itemOf(id) {
    return this.find(this.scene.keyOf(this.graph.nodes[id]));
  }

  /** Bring an item into sight. */
  show(item, always = false) {
    if (item && (always || !this.view.sees(item.corner, item.frame ? null : item.at)))
      this.view.centre(
        item.frame ? item.corner : { x: item.at.x + item.offset.x, y: item.at.y + item.offset.y },
      );
  }

  /** Make one item the one that Tab reaches. */
  rove(item, focus = false) {
    const to = (item ?? this.focused?.element.isConnected) ? (item ?? this.focused) : this.items[0];
    for (const other of this.items) other.element.setAttribute("tabindex", other === to ? 0 : -1);
    this.focused = to ?? null;
    if (focus && to) to.element.focus({ preventScroll: true });
  }

  /** The classes of everything, by the state. */
  paint() {
    const { graph, state } = this;
    const at = state.stepping ? state.step : null;
    const running = at !== null && at >= 0 ? graph.steps[at]?.node : null;
    const path = state.pathEdges;
    const chosen = state.selected;
    this.canvas.classList.toggle("stepping", at !== null);
    this.canvas.classList.toggle("pathing", Boolean(path));
    this.canvas.classList.toggle("overlaid", state.view === "overlaid");
    this.canvas.dataset.colour = state.colour;
    const touched = new Set();
    if (path) {
      for (const id of path) touched.add(graph.edges[id].from).add(graph.edges[id].to);
      if (state.leaf !== null) touched.add(state.leaf);
    }
    const ready = at === null ? null : this.readiness(at);
    const boxStates = at === null && !path ? null : this.boxStates(at, running, touched);
    for (const { element, node, box, frame } of this.items) {
      const marks = [];
      if (node) {
        if (chosen?.kind === "node" && chosen.id === node.id) marks.push("selected");
        if (ready && node.kind !== "constant") {
          marks.push(node.id === running ? "running" : ready[node.id]);
        }
        if (path) marks.push(touched.has(node.id) ? "on-path" : "off-path");
        if (state.colour === "health" && node.kind !== "constant")
          marks.push(`health-${node.health}`);
        if (state.colour === "memory") marks.push(this.memoryClass(node.bytes));
        if (state.hits.has(node.id)) marks.push("hit");
      } else {
        if (chosen?.kind === "box" && chosen.id === box) marks.push("selected");
        const mine = boxStates?.[box];
        if (mine && at !== null) {
          marks.push(
            mine.running
              ? "running"
              : mine.done === mine.all && mine.all
                ? "done"
                : mine.done
                  ? "part-done"
                  : "waiting",
          );
          const bar = element.querySelector(".progress");
          if (bar) bar.setAttribute("stroke-dasharray", `${mine.all ? mine.done / mine.all : 0} 1`);
        }
        if (path && !frame) marks.push(mine?.touched ? "on-path" : "off-path");
        if (state.colour === "health" && !frame) marks.push(`health-${this.healthOfBox(box)}`);
        if (state.colour === "memory" && !frame)
          marks.push(this.memoryClass(graph.boxes[box].bytes));
      }
      mark(element, marks);
      if (node || !frame)
        element.setAttribute(
          "data-state",
          ready && node ? (node.id === running ? "running" : ready[node.id]) : "",
        );
      element.setAttribute("aria-current", marks.includes("running") ? "step" : "false");
    }
    for (const { element, line } of this.lines) {
      const marks = [];
      const any = (test) => line.edges.some(test);
      if (at !== null) {
        if (any((edge) => edge.from === running && edge.grad)) marks.push("running");
        else if (
          any(
            (edge) =>
              edge.grad && graph.stepOf.has(edge.from) && graph.stepOf.get(edge.from).at < at,
          )
        )
          marks.push("done");
        else marks.push("waiting");
      }
      if (path) marks.push(any((edge) => path.has(edge.id)) ? "on-path" : "off-path");
      if (chosen?.kind === "edge" && any((edge) => edge.id === chosen.id)) marks.push("selected");
      if (
        chosen?.kind === "node" &&
        any((edge) => edge.from === chosen.id || edge.to === chosen.id)
      )
        marks.push("near");
      mark(element, marks);
    }
  }

  /** By node: "done", "ready" (all its gradients have come) or "waiting". */
  readiness(at) {
    const { graph } = this;
    return graph.nodes.map((node) => {
      const mine = graph.stepOf.get(node.id);
      if (mine && mine.at < at) return "done";
      const come = node.into.every(
        (edge) => !edge.grad || (graph.stepOf.get(edge.from)?.at ?? Infinity) <= at,
      );
      return mine && come ? "ready" : "waiting";
    });
  }

  /** By folded box: how many of its nodes ran, whether one runs, whether a path touches it. */
  boxStates(at, running, touched) {
    const { graph } = this;
    const states = graph.boxes.map(() => ({ done: 0, all: 0, running: false, touched: false }));
    for (const node of graph.nodes) {
      const ran = graph.stepOf.get(node.id);
      const own = states[node.box];
      own.all += ran ? 1 : 0;
      own.done += ran && at !== null && ran.at < at ? 1 : 0;
      own.running ||= node.id === running;
      own.touched ||= touched.has(node.id);
    }
    for (const id of this.innermostFirst()) {
      const parent = graph.boxes[id].parent;
      if (parent === null) continue;
      const [to, from] = [states[parent], states[id]];
      to.all += from.all;
      to.done += from.done;
      to.running ||= from.running;
      to.touched ||= from.touched;
    }
    return states;
  }

  /** A box has a greater number than the boxes around. */
  innermostFirst() {
    return this.graph.boxes.map((box) => box.id).reverse();
  }

  /** The worst health of the nodes in a box. */
  healthOfBox(id) {
    if (!this.boxHealth) {
      const worst = this.graph.boxes.map(() => WORST.length - 1);
      for (const node of this.graph.nodes)
        worst[node.box] = Math.min(worst[node.box], WORST.indexOf(node.health));
      for (const box of this.innermostFirst()) {
        const parent = this.graph.boxes[box].parent;
        if (parent !== null) worst[parent] = Math.min(worst[parent], worst[box]);
      }
      this.boxHealth = worst.map((at) => WORST[at]);
    }
    return this.boxHealth[id];
  }

  memoryClass(kept) {
    const share = this.greatest ? kept / this.greatest : 0;
    return `memory-${share === 0 ? 0 : share <= 0.01 ? 1 : share <= 0.1 ? 2 : share <= 0.3 ? 3 : share <= 0.6 ? 4 : 5}`;
  }
}

const MARKS =
  /^(selected|running|done|ready|waiting|part-done|on-path|off-path|hit|near|health-.*|memory-.*)$/;

/** Give an element these state classes, and no other ones of them. */
function mark(element, marks) {
  const kept = [...element.classList].filter((name) => !MARKS.test(name));
  element.setAttribute("class", [...kept, ...marks].join(" "));
}

function arrowHeads() {
  const head = (name) =>
    s(
      "marker",
      {
        id: `head-${name}`,
        viewBox: "0 0 10 10",
        refX: 9,
        refY: 5,
        markerWidth: 8,
        markerHeight: 8,
        markerUnits: "userSpaceOnUse",
        orient: "auto",
      },
      s("path", { class: `head ${name}`, d: "M0 1L10 5L0 9Z" }),
    );
  return s("defs", ["forward", "gradient", "constant", "hot", "faint"].map(head));
}
