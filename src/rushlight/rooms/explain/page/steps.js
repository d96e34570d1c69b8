// The panel's tab that steps through backward, one node at a time in the engine's order.

const PAUSE = 900; // milliseconds between two steps of play

/** The steps tab. */
function stepsPane(page) {
  const { graph, state } = page;
  if (!graph.steps.length) {
    return [
      h("header", null, h("p", { class: "kind" }, "Steps"), h("h2", null, "No steps to show")),
      graph.notes.length
        ? graph.notes.map((note) => h("p", { class: "note" }, note))
        : h("p", null, "The page was written without running backward."),
    ];
  }
  const count = graph.steps.length;
  const at = state.step;
  const button = (text, label, to, testid) =>
    h(
      "button",
      {
        type: "button",
        "aria-label": label,
        title: label,
        "data-testid": testid,
        disabled: to === null,
        onclick: () => page.goToStep(to),
      },
      text,
    );
  const controls = h(
    "div",
    { class: "controls", role: "group", "aria-label": "Steps of backward" },
    button("|◀", "First step (Home)", at <= 0 && at !== -1 ? null : 0, "step-first"),
    button("◀", "Step back (p)", at < 0 ? null : at - 1, "step-back"),
    h(
      "button",
      {
        type: "button",
        id: "play",
        "data-testid": "step-play",
        "aria-pressed": String(Boolean(page.playing)),
        "aria-label": page.playing ? "Pause" : "Play",
        onclick: () => page.play(),
      },
      page.playing ? "❚❚ Pause" : "▶ Play",
    ),
    button("▶", "Next step (n)", at >= count - 1 ? null : at + 1, "step-next"),
    button("▶|", "Last step (End)", at >= count - 1 ? null : count - 1, "step-last"),
  );
  const slider = h("input", {
    type: "range",
    min: 0,
    max: count,
    value: at + 1,
    "aria-label": "Step",
    "data-testid": "step-slider",
    oninput: (event) => page.goToStep(Number(event.target.value) - 1),
  });
  const follow = h(
    "label",
    { class: "check" },
    h("input", {
      type: "checkbox",
      "data-testid": "step-open",
      checked: state.autoOpen,
      onchange: (event) => page.setAutoOpen(event.target.checked),
    }),
    " Open the boxes on the way",
  );
  const parts = [controls, slider, follow];
  if (at < 0) {
    return [
      ...parts,
      h(
        "header",
        null,
        h("p", { class: "kind", "data-testid": "step-count" }, `${counted(count, "step")}`),
        h("h2", null, "Before backward"),
      ),
      h(
        "p",
        null,
        "Nothing has run. The gradient of the result with respect to itself is given to the first node; then each node runs once all its gradients have come, the youngest first.",
      ),
    ];
  }
  const step = graph.steps[at];
  const node = graph.nodes[step.node];
  parts.push(
    h(
      "header",
      null,
      h("p", { class: "kind", "data-testid": "step-count" }, `Step ${at + 1} of ${count}`),
      h(
        "h2",
        { "data-testid": "step-node", "data-goto": node.id },
        nodeLink(page, node.id, node.kind === "leaf" ? "AccumulateGrad" : node.name),
      ),
      dim(
        node.kind === "leaf"
          ? `leaf ${node.label}`
          : node.label
            ? ["made ", h("i", null, node.label)]
            : `made ${node.called}`,
        node.place ? ` at ${placeText(node.place)}` : "",
      ),
    ),
  );
  parts.push(
    section(
      "1  The gradient that came",
      step.incoming.map((sum, i) =>
        facts([
          [
            step.incoming.length > 1
              ? `result ${i}`
              : fraction(graph.title, nodeNameIn(graph, node.id)),
            summaryElement(sum, "step-incoming"),
          ],
        ]),
      ),
      node.into.filter((edge) => edge.grad).length > 1
        ? dim(
            `the sum of what ${counted(node.into.filter((edge) => edge.grad).length, "node")} sent`,
          )
        : null,
    ),
  );
  if (step.into) parts.push(intoSection(graph, node, step));
  else {
    parts.push(section("2  Times each local gradient, sent on", sentTable(page, node)));
    if (!node.out.some((edge) => edge.grad)) parts.push(h("p", null, "It sends nothing on."));
  }
  return parts;
}

/** The step in one sentence, for the live region. */
function stepSentence(graph, at) {
  if (at < 0) return "Before backward: nothing has run.";
  const step = graph.steps[at];
  const node = graph.nodes[step.node];
  const came = inBrief(step.incoming[0]) || "no gradient";
  const start = `Step ${at + 1} of ${graph.steps.length}: ${node.kind === "leaf" ? "AccumulateGrad" : node.name}${node.label ? ` of ${node.label}` : ""}, incoming ${came}`;
  if (step.into)
    return `${start}, ${node.label || "leaf"}.grad becomes ${inBrief(step.into.after)}.`;
  const sent = node.out
    .filter((edge) => edge.grad && edge.sent)
    .map((edge) => `${inBrief(edge.sent)} to ${graph.nodes[edge.to].called}`);
  return `${start}, sends ${sent.join(", ") || "nothing"}.`;
}
