// The panel's tab that steps through backward, one node at a time in the engine's order.

const PAUSE = 900; // milliseconds between two steps of play

const nodeClass = (node) => (node.kind === "leaf" ? "AccumulateGrad" : node.name);

/** The steps tab. */
function stepsPane(page) {
  const { graph, state } = page;
  if (!graph.steps.length) {
    return [
      h("header", h("p.kind", "Steps"), h("h2", "No steps to show")),
      graph.notes.length
        ? graph.notes.map((note) => h("p.note", note))
        : h("p", "The page was written without running backward."),
    ];
  }
  const count = graph.steps.length;
  const at = state.step;
  const go = (testid, text, title, to) =>
    button(`@${testid}`, text, () => page.goToStep(to), {
      "aria-label": title,
      title,
      disabled: to === null,
    });
  const controls = h(
    "div.controls",
    { role: "group", "aria-label": "Steps of backward" },
    go("step-first", "|◀", "First step (Home)", at <= 0 && at !== -1 ? null : 0),
    go("step-back", "◀", "Step back (p)", at < 0 ? null : at - 1),
    button("@step-play", page.playing ? "❚❚ Pause" : "▶ Play", () => page.play(), {
      id: "play",
      "aria-pressed": String(Boolean(page.playing)),
      "aria-label": page.playing ? "Pause" : "Play",
    }),
    go("step-next", "▶", "Next step (n)", at >= count - 1 ? null : at + 1),
    go("step-last", "▶|", "Last step (End)", at >= count - 1 ? null : count - 1),
  );
  const slider = h("input@step-slider", {
    type: "range",
    min: 0,
    max: count,
    value: at + 1,
    "aria-label": "Step",
    oninput: (event) => page.goToStep(Number(event.target.value) - 1),
  });
  const follow = h(
    "label.check",
    h("input@step-open", {
      type: "checkbox",
      checked: state.autoOpen,
      onchange: (event) => page.setAutoOpen(event.target.checked),
    }),
    " Open the boxes on the way",
  );
  const parts = [controls, slider, follow];
  if (at < 0) {
    return [
      ...parts,
      h("header", h("p.kind@step-count", `${counted(count, "step")}`), h("h2", "Before backward")),
      h(
        "p",
        "Nothing has run. The gradient of the result with respect to itself is given to the first node; then each node runs once all its gradients have come, the youngest first.",
      ),
    ];
  }
  const step = graph.steps[at];
  const node = graph.nodes[step.node];
  const given = node.into.filter((edge) => edge.grad).length;
  const result = fraction(graph.title, nodeNameIn(graph, node.id));
  parts.push(
    h(
      "header",
      h("p.kind@step-count", `Step ${at + 1} of ${count}`),
      h("h2@step-node", { "data-goto": node.id }, nodeLink(page, node.id, nodeClass(node))),
      aside(
        node.kind === "leaf"
          ? `leaf ${node.label}`
          : node.label
            ? ["made ", h("i", node.label)]
            : `made ${node.called}`,
        node.place ? ` at ${placeText(node.place)}` : "",
      ),
    ),
  );
  parts.push(
    section(
      "1  The gradient that came",
      incomingFacts(step, result, "result", "step-incoming"),
      given > 1 && aside(`the sum of what ${counted(given, "node")} sent`),
    ),
  );
  if (step.into) parts.push(intoSection(graph, node, step));
  else {
    parts.push(section("2  Times each local gradient, sent on", sentTable(page, node)));
    if (!node.out.some((edge) => edge.grad)) parts.push(h("p", "It sends nothing on."));
  }
  return parts;
}

/** The step in one sentence, for the live region. */
function stepSentence(graph, at) {
  if (at < 0) return "Before backward: nothing has run.";
  const step = graph.steps[at];
  const node = graph.nodes[step.node];
  const came = inBrief(step.incoming[0]) || "no gradient";
  const start = `Step ${at + 1} of ${graph.steps.length}: ${nodeClass(node)}${node.label ? ` of ${node.label}` : ""}, incoming ${came}`;
  if (step.into)
    return `${start}, ${node.label || "leaf"}.grad becomes ${inBrief(step.into.after)}.`;
  const sent = node.out
    .filter((edge) => edge.grad && edge.sent)
    .map((edge) => `${inBrief(edge.sent)} to ${graph.nodes[edge.to].called}`);
  return `${start}, sends ${sent.join(", ") || "nothing"}.`;
}
