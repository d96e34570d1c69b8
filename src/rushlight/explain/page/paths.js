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

const WHOLE = 8; // factors of a path that are written out; of a longer one the ends, until it is chosen
const ENDS = 3;

/** One path: its factors as fractions, as formulas and as numbers, and its product. */
function pathRow(page, path, at) {
  const { graph, state } = page;
  const edges = (path.edges ?? []).map((id) => graph.edges[id]);
  const product = summary(path.product);
  const scalars = edges.length && edges.every((edge) => isScalar(edge.local));
  const factors = edges.every((edge) => edge.factor || !edge.named);
  const row = (kind, start, draw, sign) => h("span", { class: kind }, start, joinedBy(edges.map(draw), sign));
  return h("li", { "data-path": at, onpointerenter: () => page.hoverPath(at) },
    h("button", { type: "button", class: "path", "aria-pressed": String(state.path === at),
      onclick: () => page.choosePath(state.path === at ? null : at),
      onfocus: () => page.hoverPath(at), onblur: () => page.hoverPath(null) },
    edges.length
      ? row("factors", "", (edge) => fraction(...edgeName(graph, edge)), " · ")
      : h("span", { class: "factors" }, "the result itself"),
    edges.some((edge) => edge.named) && row("formulas", factors ? "= " : "sends ",
      (edge) => bracketed(edge.named || "?", factors), factors ? " · " : " → "),
    scalars && row("numbers", "= ", factorElement, " · "),
    product && h("span", { class: "value" }, "= ", product.only !== undefined
      ? numberElement(product.only, product.dtype, { "data-testid": "path-product" })
      : h("span", { "data-testid": "path-product", "data-norm": String(product.norm) },
        `${shapeText(product.shape)}, norm ${about(product.norm)}`))));
}

/** Elements with a sign between them; the middle of many is hidden until the path is chosen. */
function joinedBy(elements, sign) {
  const signed = elements.map((element, i) => [i ? h("span", { class: "dim" }, sign) : "", element]);
  if (elements.length <= WHOLE) return signed;
  return [signed.slice(0, ENDS),
    h("span", { class: "more dim" }, `${sign}… ${elements.length - 2 * ENDS} more …`),
    h("span", { class: "middle" }, signed.slice(ENDS, -ENDS)), signed.slice(-ENDS)];
}

/** A formula as a factor of a product: a sum stands in brackets. */
const bracketed = (text, factor) =>
  factor && /[ +−]/.test(text.slice(1)) && !/^\([^()]*\)$/.test(text) ? `(${text})` : text;
