// The page: its state, what each control does, and the keys.

const FEW = 12; // so many items are shown at first, where boxes have them
const MOST_AT_FIRST = 24; // more are not, where they are in boxes
const TOO_FEW = 3; // unless so few would be left

class Page {
  constructor(graph) {
    this.graph = graph;
    this.state = {
      view: "overlaid",
      direction: "TB",
      colour: "kind",
      open: new Set(),
      steps: new Map(), // loop -> the step that was opened last
      selected: null,
      step: -1,
      stepping: false,
      autoOpen: true,
      leaf: null,
      path: null,
      pathEdges: null,
      allPaths: false,
      hits: new Set(),
      tab: "node",
      theme: "auto",
    };
    this.playing = 0;
    this.opened = []; // boxes that a step has opened, to be folded behind it
    this.matches = [];
    this.match = -1;
    this.state.open = firstOpen(graph);
    byId("legend").open = innerWidth > 1000;
    this.scene = new Scene(graph, this.state, byId("canvas"));
    byId("title").textContent = graph.title;
    byId("subtitle").textContent = [graph.program, counted(graph.boxes[0].count, "node")]
      .filter(Boolean)
      .join(" · ");
    this.wire();
    this.refresh({ fit: true, least: READABLE });
    this.showPanel();
  }

  // ---- what is shown

  refresh(how = {}) {
    this.showControls();
    this.scene.rebuild(how);
  }

  showControls() {
    const { state } = this;
    for (const button of document.querySelectorAll("[data-view]")) {
      button.setAttribute("aria-pressed", String(button.dataset.view === state.view));
    }
    byId("direction").textContent = state.direction === "TB" ? "↓ Down" : "→ Right";
    byId("colour").value = state.colour;
    byId("theme").textContent = { auto: "◐", light: "○", dark: "●" }[state.theme];
    byId("theme").title = `Light or dark: ${state.theme} (d)`;
    byId("theme").setAttribute("aria-label", `Light or dark: ${state.theme}`);
    byId("legend-body").replaceChildren(legend(this));
    byId("fold-all").disabled = byId("open-all").disabled = this.graph.boxes.length < 2;
  }

  /** Draw the open tab of the panel. */
  showPanel() {
    const { state } = this;
    for (const tab of document.querySelectorAll("[data-tab]")) {
      const on = tab.dataset.tab === state.tab;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      byId(`pane-${tab.dataset.tab}`).hidden = !on;
    }
    const pane = byId(`pane-${state.tab}`);
    const held = pane.contains(document.activeElement) ? document.activeElement : null;
    const testid = held?.dataset?.testid;
    const path = held?.closest?.("[data-path]")?.dataset.path;
    const chosen = state.selected;
    const content =
      state.tab === "steps"
        ? stepsPane(this)
        : state.tab === "memory"
          ? memoryPane(this)
          : state.tab === "health"
            ? healthPane(this)
            : !chosen
              ? overview(this)
              : chosen.kind === "node"
                ? nodeDetails(this, chosen.id)
                : chosen.kind === "edge"
                  ? edgeDetails(this, chosen.id)
                  : boxDetails(this, chosen.id);
    pane.replaceChildren();
    fill(pane, null, [content]);
    if (held) {
      const again = testid
        ? pane.querySelector(`[data-testid="${testid}"]`)
        : path
          ? pane.querySelector(`[data-path="${path}"] button`)
          : null;
      (again && !again.disabled ? again : pane).focus({ preventScroll: true });
    }
  }

  openTab(tab) {
    this.state.tab = tab;
    this.showPanel();
    byId(`pane-${tab}`).scrollTop = 0;
  }

  say(text) {
    byId("live").textContent = text;
  }

  /** A sentence over the drawing, for a while. */
  tell(text) {
    const message = byId("message");
    message.textContent = text;
    message.hidden = false;
    clearTimeout(this.silence);
    this.silence = setTimeout(() => {
      message.hidden = true;
    }, 8000);
  }

  // ---- selecting

  /** Select {kind, id}, or null; `show` brings it into sight and opens the boxes around it. */
  select(what, { show = false, focus = false } = {}) {
    const { state, graph } = this;
    state.selected = what;
    const leaf = what?.kind === "node" && graph.nodes[what.id].kind === "leaf" ? what.id : null;
    state.leaf = leaf;
    state.path = null;
    state.allPaths = false;
    state.pathEdges = leaf !== null && graph.paths[leaf] ? edgesToward(graph, leaf) : null;
    if (what?.kind === "node" && show) this.reveal(what.id);
    else this.scene.paint();
    if (what?.kind === "node") {
      const item = this.scene.itemOf(what.id);
      if (show) this.scene.show(item);
      this.scene.rove(item, focus);
    }
    this.openTab("node");
    if (what?.kind === "node") this.say(describe(graph, graph.nodes[what.id]));
  }

  /** Open the boxes around a node. False where that would show too much. */
  reveal(id) {
    const closed = chain(this.graph, this.graph.nodes[id].box).filter(
      (box) => !this.state.open.has(box),
    );
    if (!closed.length) {
      this.scene.paint();
      return true;
    }
    if (!this.mayOpen(closed)) {
      this.scene.paint();
      return false;
    }
    this.refresh();
    return true;
  }

  /** Open boxes unless that shows more than can be drawn. */
  mayOpen(boxes) {
    const { graph, state } = this;
    const wider = new Set([...state.open, ...boxes]);
    const count = countVisible(graph, wider);
    if (count > MOST_SHOWN) {
      const all = boxes.length === graph.boxes.length;
      this.tell(
        `${all ? "Opening all boxes" : "Opening this box"} would show ${count.toLocaleString("en")} nodes; ` +
          `this page draws up to ${MOST_SHOWN.toLocaleString("en")}. ${all ? "Open the boxes you need, or search." : "Fold others first."}`,
      );
      return false;
    }
    state.open = wider;
    return true;
  }

  /** Open a folded box, fold an open one. */
  toggle(id) {
    const { state } = this;
    if (id === 0) return;
    if (state.open.has(id)) state.open.delete(id);
    else if (!this.mayOpen([id])) return;
    this.opened = [];
    this.refresh({ keep: `b${id}` });
    this.showPanel();
    const item = this.scene.find(`b${id}`);
    this.scene.rove(item, true);
    const { at, offset } = item;
    this.scene.view.include({
      x: at.x - at.width / 2 + offset.x,
      y: at.y - at.height / 2 + offset.y,
      width: at.width,
      height: at.height,
    });
    this.say(`${this.graph.boxes[id].title} ${state.open.has(id) ? "opened" : "folded"}`);
  }

  openAll() {
    if (this.mayOpen(this.graph.boxes.map((box) => box.id))) this.refresh({ fit: true });
  }

  foldAll() {
    this.state.open = new Set([0]);
    this.opened = [];
    this.refresh({ fit: true });
  }

  setView(view) {
    this.state.view = view;
    this.refresh({ fit: true });
  }

  setColour(colour) {
    this.state.colour = colour;
    this.refresh({ keep: this.scene.focused?.key });
    this.showPanel();
  }

  turn() {
    this.state.direction = this.state.direction === "TB" ? "LR" : "TB";
    this.refresh({ fit: true });
  }

  changeTheme() {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    this.state.theme = this.state.theme !== "auto" ? "auto" : dark ? "light" : "dark";
    document.documentElement.dataset.theme = this.state.theme;
    this.showControls();
  }

  // ---- paths

  choosePath(at) {
    this.state.path = at;
    this.markPath(at);
    const shown = this.graph.paths[this.state.leaf]?.shown ?? [];
    for (const button of document.querySelectorAll("[data-path] button")) {
      const mine = Number(button.parentElement.dataset.path);
      if (mine !== at && button.getAttribute("aria-pressed") === "false") continue;
      button.setAttribute("aria-pressed", String(mine === at));
      button.replaceChildren();
      fill(button, null, pathLines(this.graph, shown[mine], mine === at));
    }
  }

  /** Show one path alone while the pointer is on it. */
  hoverPath(at) {
    this.markPath(at ?? this.state.path);
  }

  markPath(at) {
    const { state, graph } = this;
    if (state.leaf === null) return;
    const paths = graph.paths[state.leaf]?.shown ?? [];
    state.pathEdges =
      at === null ? edgesToward(graph, state.leaf) : new Set(paths[at]?.edges ?? []);
    this.scene.paint();
  }

  // ---- steps

  goToStep(at) {
    const { state, graph } = this;
    if (!graph.steps.length) return;
    const first = !state.stepping;
    state.step = Math.max(-1, Math.min(at, graph.steps.length - 1));
    state.stepping = true;
    state.selected = null;
    state.leaf = null;
    state.pathEdges = null;
    let changed = false;
    if (state.view === "forward") {
      state.view = "backward";
      changed = true;
    }
    if (state.step >= 0) {
      const around = chain(graph, graph.nodes[graph.steps[state.step].node].box);
      for (const box of this.opened.filter((id) => !around.includes(id))) {
        state.open.delete(box);
        changed = true;
      }
      this.opened = this.opened.filter((id) => around.includes(id));
      const closed = around.filter((box) => !state.open.has(box));
      if (state.autoOpen && closed.length && this.mayOpen(closed)) {
        this.opened.push(...closed);
        changed = true;
      }
    }
    if (changed) this.refresh({ fit: first && !this.opened.length });
    else this.scene.paint();
    if (first) this.showControls();
    const running = state.step >= 0 ? this.scene.itemOf(graph.steps[state.step].node) : null;
    this.scene.show(running, changed && this.opened.length > 0);
    if (running) this.scene.rove(running);
    if (state.tab === "steps") this.showPanel();
    else this.openTab("steps");
    this.say(stepSentence(graph, state.step));
  }

  setAutoOpen(on) {
    this.state.autoOpen = on;
    this.goToStep(this.state.step);
  }

  /** Go on by itself until the last step, or stop. */
  play() {
    if (this.playing) {
      clearInterval(this.playing);
      this.playing = 0;
    } else {
      const last = this.graph.steps.length - 1;
      if (this.state.step >= last) this.state.step = -1;
      this.playing = setInterval(() => {
        if (this.state.step >= last) this.play();
        else this.goToStep(this.state.step + 1);
      }, PAUSE);
      this.goToStep(this.state.step + 1);
    }
    this.showPanel();
  }

  stopStepping() {
    if (this.playing) this.play();
    this.state.stepping = false;
    this.state.step = -1;
    this.scene.paint();
    this.showControls();
    this.showPanel();
  }

  // ---- search

  find(text) {
    const { graph, state } = this;
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.matches = words.length
      ? graph.nodes.filter(
          (node) => !node.option && words.every((word) => searchText(node).includes(word)),
        )
      : [];
    const rank = new Map(this.matches.map((node) => [node, closeness(node, words)]));
    this.matches.sort((a, b) => rank.get(a) - rank.get(b) || a.id - b.id);
    this.match = -1;
    state.hits = new Set(this.matches.map((node) => node.id));
    byId("found").textContent = words.length ? this.matches.length.toLocaleString("en") : "";
    const list = byId("hits");
    list.replaceChildren(
      ...this.matches
        .slice(0, 12)
        .map((node, at) =>
          h(
            "li",
            h(
              "button",
              { type: "button", "data-hit": node.id, onclick: () => this.goToMatch(at) },
              h("b", shortName(node.label || node.title)),
              " ",
              h(
                "span.dim",
                [
                  node.kind === "leaf" ? "leaf" : node.name,
                  shortName(node.scope[node.scope.length - 1] ?? ""),
                  placeText(node.place),
                ]
                  .filter(Boolean)
                  .join(" · "),
              ),
            ),
          ),
        ),
    );
    if (words.length && !this.matches.length) list.append(h("li.dim", "Nothing found"));
    list.hidden = !words.length;
    this.scene.paint();
  }

  goToMatch(at) {
    if (!this.matches.length) return;
    this.match = (at + this.matches.length) % this.matches.length;
    byId("found").textContent = `${this.match + 1} / ${this.matches.length.toLocaleString("en")}`;
    this.select({ kind: "node", id: this.matches[this.match].id }, { show: true });
    this.scene.show(this.scene.itemOf(this.matches[this.match].id), true);
    if (document.activeElement !== byId("query")) byId("hits").hidden = true;
  }

  // ---- moving by keys

  /** The next item from a focused one: along an edge in the direction of the flow, else beside it. */
  neighbour(item, key) {
    const down = this.state.direction === "TB";
    const along = down ? { ArrowDown: 1, ArrowUp: -1 }[key] : { ArrowRight: 1, ArrowLeft: -1 }[key];
    const main = (other) => (down ? other.at.y : other.at.x);
    const cross = (other) => (down ? other.at.x : other.at.y);
    const mine = this.scene.items.filter((other) => other.pane === item.pane && other !== item);
    let candidates;
    if (along) {
      const keys = new Set();
      for (const line of this.scene.lines) {
        if (line.pane !== item.pane) continue;
        if (line.line.from === item.key) keys.add(line.line.to);
        if (line.line.to === item.key) keys.add(line.line.from);
      }
      candidates = mine.filter(
        (other) => keys.has(other.key) && (main(other) - main(item)) * along > 0,
      );
      return (
        nearest(
          candidates,
          (other) =>
            Math.abs(cross(other) - cross(item)) + 0.2 * Math.abs(main(other) - main(item)),
        ) ??
        nearest(
          mine.filter((other) => (main(other) - main(item)) * along > 4),
          (other) => Math.hypot(other.corner.x - item.corner.x, other.corner.y - item.corner.y),
        )
      );
    }
    const side = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[key];
    candidates = mine.filter((other) => (cross(other) - cross(item)) * side > 4);
    return nearest(
      candidates,
      (other) => Math.abs(cross(other) - cross(item)) + 3 * Math.abs(main(other) - main(item)),
    );
  }

  /** The item of an element of the drawing. */
  itemAt(element) {
    const key = element?.closest?.("[data-key]")?.dataset.key;
    return key ? this.scene.index.get(key) : null;
  }

  activate(item, step) {
    if (item.node) this.select({ kind: "node", id: item.node.id });
    else if (step !== undefined) this.openStep(item.box, Number(step));
    else {
      if (this.graph.boxes[item.box].kind === "loop") this.select({ kind: "box", id: item.box });
      this.toggle(item.box);
    }
  }

  /** Open a loop at one of its steps, with the other steps folded. */
  openStep(loop, step) {
    const { state, graph } = this;
    const path = boxesToStep(graph, loop, step);
    const within = new Set([loop]);
    for (const box of graph.boxes) if (within.has(box.parent)) within.add(box.id);
    const others = [...state.open].filter((id) => !within.has(id));
    const before = state.open;
    state.open = new Set(others);
    if (!this.mayOpen([loop, ...path])) {
      state.open = before;
      return;
    }
    state.selected = { kind: "box", id: loop };
    state.steps.set(loop, step);
    this.refresh();
    this.openTab("node");
    const item = this.scene.find(`b${path[path.length - 1] ?? loop}`);
    this.scene.show(item, true);
    this.scene.rove(item);
    this.say(`${graph.boxes[loop].title}, step ${step} opened`);
  }

  keyInGraph(event) {
    const item = this.itemAt(event.target);
    if (event.key.startsWith("Arrow")) {
      const by = {
        ArrowLeft: [60, 0],
        ArrowRight: [-60, 0],
        ArrowUp: [0, 60],
        ArrowDown: [0, -60],
      }[event.key];
      if (!item || event.shiftKey) this.scene.view.pan(...by);
      else {
        const next = this.neighbour(item, event.key);
        if (next) {
          this.scene.rove(next, true);
          this.scene.show(next);
        }
      }
      return true;
    }
    if (event.key === "Enter" || event.key === " ") {
      if (item) this.activate(item);
      else this.scene.rove(this.scene.focused, true);
      return true;
    }
    return false;
  }

  /** Keys that work everywhere but in text fields. */
  keyAnywhere(event) {
    const actions = {
      "/": () => byId("query").focus(),
      "?": () => this.help(),
      "+": () => this.scene.view.zoom(1.25),
      "=": () => this.scene.view.zoom(1.25),
      "-": () => this.scene.view.zoom(0.8),
      0: () => this.scene.fit(),
      f: () => this.scene.fit(),
      1: () => this.setView("forward"),
      2: () => this.setView("backward"),
      3: () => this.setView("side"),
      4: () => this.setView("overlaid"),
      r: () => this.turn(),
      o: () => this.openAll(),
      c: () => this.foldAll(),
      m: () => this.setColour(this.state.colour === "memory" ? "kind" : "memory"),
      h: () => this.setColour(this.state.colour === "health" ? "kind" : "health"),
      d: () => this.changeTheme(),
      g: () => this.scene.rove(this.scene.focused, true),
      n: () => this.goToStep(this.state.step + 1),
      p: () => this.goToStep(this.state.step - 1),
      s: () => this.openTab("steps"),
      Escape: () => {
        if (this.state.stepping) this.stopStepping();
        else this.select(null);
      },
    };
    const action = actions[event.key];
    if (!action) return false;
    action();
    return true;
  }

  keyInSteps(event) {
    const { step } = this.state;
    const to = {
      ArrowRight: step + 1,
      ArrowLeft: step - 1,
      Home: 0,
      End: this.graph.steps.length - 1,
    }[event.key];
    if (to === undefined) return false;
    this.goToStep(to);
    return true;
  }

  help() {
    const keys = [
      ["/", "search; Enter goes to the next hit, Shift+Enter back"],
      ["1 2 3 4", "forward, backward, side by side, overlaid"],
      ["+ −", "zoom in and out"],
      ["0 or f", "show the whole graph"],
      ["Arrows", "on the graph: move the picture; on a node: go along its edges"],
      ["Shift+Arrows", "move the picture"],
      ["g", "go to the graph; Tab goes on to the panel"],
      ["Enter", "show a node's details and a leaf's paths; open or fold a box"],
      ["o, c", "open all boxes, fold (close) all"],
      ["r", "turn the drawing: top to bottom, left to right"],
      ["n, p", "step through backward: next, previous"],
      ["← → Home End", "the same, in the panel's steps"],
      ["s", "the steps"],
      ["m, h", "colour by saved memory, by gradient health"],
      ["d", "light or dark"],
      ["Esc", "leave the steps, then the selection"],
    ];
    const dialog = byId("help");
    dialog.replaceChildren(
      h("h2", { id: "help-title" }, "Keys"),
      h(
        "dl.facts",
        keys.map(([key, text]) => [h("dt", h("kbd", key)), h("dd", text)]),
      ),
      aside("Drag to move, wheel or two fingers to zoom. Click a box to open it."),
      aside(
        `Written by rushlight ${this.graph.version}. Laid out by dagre (MIT licence, in this file).`,
      ),
      button("@help-close", "Close", () => dialog.close()),
    );
    if (!dialog.open) dialog.showModal();
  }

  // ---- wiring

  wire() {
    const click = (id, action) => byId(id).addEventListener("click", action);
    for (const button of document.querySelectorAll("[data-view]")) {
      button.addEventListener("click", () => this.setView(button.dataset.view));
    }
    click("direction", () => this.turn());
    click("open-all", () => this.openAll());
    click("fold-all", () => this.foldAll());
    click("theme", () => this.changeTheme());
    click("help-button", () => this.help());
    click("zoom-in", () => this.scene.view.zoom(1.25));
    click("zoom-out", () => this.scene.view.zoom(0.8));
    click("fit", () => this.scene.fit());
    click("menu", () => {
      const open = document.body.classList.toggle("menu-open");
      byId("menu").setAttribute("aria-expanded", String(open));
    });
    click("grip", () => {
      const sizes = ["", "tall", "low"];
      const now = document.body.dataset.sheet ?? "";
      document.body.dataset.sheet = sizes[(sizes.indexOf(now) + 1) % sizes.length];
    });
    byId("colour").addEventListener("change", (event) => this.setColour(event.target.value));
    const tabs = [...document.querySelectorAll("[data-tab]")];
    tabs.forEach((tab, at) => {
      tab.addEventListener("click", () => this.openTab(tab.dataset.tab));
      tab.addEventListener("keydown", (event) => {
        const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!by) return;
        const next = tabs[(at + by + tabs.length) % tabs.length];
        this.openTab(next.dataset.tab);
        next.focus();
        event.stopPropagation();
      });
    });
    const canvas = byId("canvas");
    canvas.addEventListener("click", (event) => {
      const item = this.itemAt(event.target);
      const edge = event.target.closest("[data-edge]");
      if (item) {
        this.scene.rove(item, true);
        this.activate(item, event.target.dataset.step);
      } else if (edge) this.select({ kind: "edge", id: Number(edge.dataset.edge) });
      else if (this.state.selected) this.select(null);
    });
    canvas.addEventListener("keydown", (event) => {
      if (plain(event) && this.keyInGraph(event)) {
        event.preventDefault();
        event.stopPropagation();
      }
    });
    canvas.addEventListener("focusin", (event) => {
      const item = this.itemAt(event.target);
      if (item) {
        this.scene.rove(item);
        if (item.element.matches(":focus-visible")) this.scene.show(item);
      }
    });
    byId("pane-steps").addEventListener("keydown", (event) => {
      const held = event.target.matches("input[type=range]") && event.key.startsWith("Arrow");
      if (plain(event) && !held && this.keyInSteps(event)) {
        event.preventDefault();
        event.stopPropagation();
      }
    });
    const query = byId("query");
    query.addEventListener("input", () => this.find(query.value));
    query.addEventListener("focus", () => {
      byId("hits").hidden = !query.value;
    });
    query.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.goToMatch(this.match + (event.shiftKey ? -1 : 1));
      else if (event.key === "Escape") {
        query.value = "";
        this.find("");
        query.blur();
      } else return;
      event.preventDefault();
    });
    document.addEventListener("pointerdown", (event) => {
      if (!event.target.closest("#search")) byId("hits").hidden = true;
    });
    document.addEventListener("keydown", (event) => {
      if (!plain(event) || byId("help").open) return;
      if (event.target.matches("input:not([type=range]):not([type=checkbox]), select, textarea"))
        return;
      if (this.keyAnywhere(event)) event.preventDefault();
    });
    let width = canvas.clientWidth;
    new ResizeObserver(() => {
      const wide = canvas.clientWidth;
      if (wide && Math.abs(wide - width) > 1) {
        width = wide;
        this.scene.fit(false);
      }
    }).observe(canvas);
  }
}

/** The boxes open at first: all but loops; of a large graph the outermost, until some are seen. */
function firstOpen(graph) {
  const open = new Set([0]);
  const folds = new Set();
  for (const { id, kind, parent } of graph.boxes)
    if (kind === "loop" || folds.has(parent)) folds.add(id);
  if (graph.boxes[0].count <= OPEN_WHEN_FEWER)
    return new Set(graph.boxes.map((box) => box.id).filter((id) => !folds.has(id)));
  let shown = graph.boxes[0];
  while (shown && countVisible(graph, open) < FEW) {
    const folded = graph.boxes.filter(
      (box) => !open.has(box.id) && open.has(box.parent) && !folds.has(box.id),
    );
    shown = folded.sort((a, b) => b.count - a.count)[0];
    const most = countVisible(graph, open) > TOO_FEW ? MOST_AT_FIRST : OPEN_WHEN_FEWER;
    if (!shown || countVisible(graph, new Set([...open, shown.id])) > most) break;
    open.add(shown.id);
  }
  return open;
}

const plain = (event) => !event.ctrlKey && !event.metaKey && !event.altKey;

new Page(readGraph(JSON.parse(byId("data").textContent)));
document.body.dataset.ready = "true";
