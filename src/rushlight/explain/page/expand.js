// The data of the page as the rest of the script reads it. What is empty or 0 was left out where it was written
// (_page_data.py), and texts that many nodes share stand in tables.
"use strict";

function expandData(data) {
  const summary = (s) => {
    if (s == null) return null;
    const full = { shape: [], dtype: "float32", size: 1, zeros: 0, nan: 0, inf: 0, values: null, ...s };
    if (full.size === 1 && full.values !== null) {
      let x = full.values;
      while (Array.isArray(x)) x = x[0];
      const bad = typeof x === "string";
      full.nan = x === "nan" ? 1 : 0;
      full.inf = x === "inf" || x === "-inf" ? 1 : 0;
      full.norm = bad ? null : Math.abs(x);
      full.min = full.max = bad ? null : x;
    }
    return full;
  };
  const rules = data.rules.map((r) => ({ formula: "", factor: false, text: "", file: "", line: null, ...r }));
  data.nodes = data.nodes.map((n, id) => ({
    label: "", shape: [], dtype: "", seq: n.kind === "op" ? 0 : null, place: null, box: 0, bytes: 0, scope: [],
    requires_grad: n.kind !== "constant", ...n, id,
    value: summary(n.value),
    saved: (n.saved || []).map((s) => ({ what: "", label: "", shape: [], dtype: "", bytes: 0, state: "", first: false, ...s })),
    rules: (n.rules || []).map((at) => rules[at]).filter((r) => r.text),
  }));
  data.edges = data.edges.map((e, id) => {
    const rule = e.rule === undefined ? rules[0] : e.rule < 0 ? null : rules[e.rule];
    const constant = e.constant !== undefined;
    return {
      id, from: e.from || 0, to: e.to || 0, nr: e.nr || 0, grad: !constant,
      argument: constant ? e.constant : rule ? rule.argument : "",
      formula: constant || !rule ? "" : rule.formula,
      factor: !constant && rule !== null && rule.factor,
      named: e.named || "",
      local: e.local === undefined ? null : typeof e.local === "object" ? summary(e.local) : e.local,
      sent: summary(e.sent),
    };
  });
  for (const step of data.steps) {
    step.incoming = step.incoming.map(summary);
    if (step.into === undefined) step.into = null;
    else for (const when of ["before", "added", "after"]) step.into[when] = summary(step.into[when]);
  }
  for (const leaf of Object.values(data.paths)) {
    for (const path of leaf.shown) path.product = summary(path.product);
    leaf.sum = summary(leaf.sum);
    leaf.grad = summary(leaf.grad);
  }
  return data;
}
