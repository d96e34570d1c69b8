// Every path from the result to a leaf, multiplied along and added up.

const LISTED = 64;

/** The section of a leaf's panel that lists its paths. */
function pathsSection(page, leaf) {
  const { graph, state } = page;
  const known = graph.paths[leaf.id];
  if (!known) return null;
  const shown = known.shown ?? [];
  const count = String(known.count ?? shown.length);
  const pretty = /^\d+$/.test(count) ? count.replace(/\B(?=(\d{3})+$)/g, ",") : count;
  const listed = state.allPaths ? shown : shown.slice(0, LISTED);
  const more = String(listed.length) === count ? "" : `${listed.length.toLocaleString("en")} of ${pretty} shown`;
  const all = graph.paths[leaf.id];
  const total = summary(all.sum);
  const gradient = summary(all.grad);
  const scalar = total?.only !== undefined;
  const head = h("p", { class: "lead" }, fraction(graph.title, leaf.called),
    count === "1" ? " along the only path" : ` is the sum over ${pretty} paths`);
  const rows = listed.map((path, at) => pathRow(page, path, at));
  return section("Paths",
    head,
    more && h("p", { class: "dim", "data-testid": "paths-shown" }, `${more}; all edges that any path takes are drawn strong. `,
      listed.length < shown.length && link(`List ${shown.length.toLocaleString("en")}`, () => {
        state.allPaths = true;
        page.showPanel();
      }, { "data-testid": "paths-all" })),
    h("ol", { class: "paths", "data-testid": "paths", "data-count": count,
      onpointerleave: () => page.hoverPath(null) }, rows),
    total && h("p", { class: "total" },
      count === "1" ? "Product " : "Sum ",
      scalar
        ? numberElement(total.only, total.dtype, { "data-testid": "paths-sum" })
        : summaryElement(total, "paths-sum"),
      gradient && [" = ", h("i", null, `${leaf.label || "leaf"}.grad`), " from this backward",
        scalar && h("span", { class: "unseen", "data-testid": "paths-grad", "data-value": dataValue(gradient.only) }, exact(gradient.only, gradient.dtype))]));
}

/** One path: its factors as fractions, as formulas and as numbers, and its product. */
function pathRow(page, path, at) {
  const { graph, state } = page;
  const edges = (path.edges ?? []).map((id) => graph.edges[id]);
  const product = summary(path.product);
  const chosen = state.path === at;
  const times = (items) => items.flatMap((item, i) => (i ? [h("span", { class: "dim" }, " · "), item] : [item]));
  const most = 24;
  const part = edges.length > most ? [...edges.slice(0, most / 2), null, ...edges.slice(-most / 2)] : edges;
  const each = (draw) => times(part.map((edge) => (edge ? draw(edge) : h("span", { class: "dim" }, `… ${edges.length - most} more …`))));
  const scalars = edges.length && edges.every((edge) => edge.local?.only !== undefined && !edge.local.shape.length);
  return h("li", {
    class: chosen ? "chosen" : null,
    "data-path": at,
    onpointerenter: () => page.hoverPath(at),
  },
  h("button", { type: "button", class: "path", "aria-pressed": String(chosen), onclick: () => page.choosePath(chosen ? null : at),
    onfocus: () => page.hoverPath(at) },
  h("span", { class: "factors" }, edges.length ? each((edge) => fraction(...edgeName(graph, edge))) : "the result itself"),
  edges.some((edge) => edge.named) && h("span", { class: "formulas" }, "= ",
    each((edge) => h("span", { class: edge.factor ? null : "dim" }, bracketed(edge.named || "?")))),
  scalars && h("span", { class: "numbers" }, "= ",
    each(factorElement)),
  !scalars && edges.some((edge) => edge.local) && h("span", { class: "numbers dim" }, "shapes ",
    times(part.filter(Boolean).map((edge) => (edge.local ? `${shapeText(edge.local.shape)}, norm ${about(edge.local.norm)}` : shapeText(graph.nodes[edge.to].shape))))),
  product && h("span", { class: "value" }, "= ", product.only !== undefined
    ? numberElement(product.only, product.dtype, { "data-testid": "path-product" })
    : h("span", { "data-testid": "path-product", "data-norm": String(product.norm) }, `${shapeText(product.shape)}, norm ${about(product.norm)}`))));
}

const bracketed = (text) => (/[ +−]/.test(text.slice(1)) && !/^\(.*\)$/.test(text) ? `(${text})` : text);
