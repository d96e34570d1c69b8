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
  const more =
    String(listed.length) === count
      ? ""
      : `${listed.length.toLocaleString("en")} of ${pretty} shown`;
  const total = summary(known.sum);
  const gradient = summary(known.grad);
  const scalar = total?.only !== undefined;
  return section(
    "Paths",
    h(
      "p.lead",
      fraction(graph.title, leaf.called),
      count === "1" ? " along the only path" : ` is the sum over ${pretty} paths`,
    ),
    more &&
      h(
        "p.dim@paths-shown",
        `${more}; all edges that any path takes are drawn strong. `,
        listed.length < shown.length &&
          link(
            `List ${shown.length.toLocaleString("en")}`,
            () => {
              state.allPaths = true;
              page.showPanel();
            },
            { "data-testid": "paths-all" },
          ),
      ),
    h(
      "ol.paths@paths",
      { "data-count": count, onpointerleave: () => page.hoverPath(null) },
      listed.map((path, at) => pathRow(page, path, at)),
    ),
    total &&
      h(
        "p.total",
        count === "1" ? "Product " : "Sum ",
        scalar
          ? numberElement(total.only, total.dtype, { "data-testid": "paths-sum" })
          : summaryElement(total, "paths-sum"),
        gradient && [
          " = ",
          h("i", `${leaf.label || "leaf"}.grad`),
          " from this backward",
          scalar &&
            h(
              "span.unseen@paths-grad",
              { "data-value": dataValue(gradient.only) },
              exact(gradient.only, gradient.dtype),
            ),
        ],
      ),
  );
}

const WHOLE = 8; // factors of a path that are written out; of a longer one the ends, until it is chosen
const ENDS = 3;

/** One path, as a button that chooses it. */
function pathRow(page, path, at) {
  const chosen = page.state.path === at;
  const choose = () => page.choosePath(page.state.path === at ? null : at);
  return h(
    "li",
    { "data-path": at, onpointerenter: () => page.hoverPath(at) },
    button(".path", pathLines(page.graph, path, chosen), choose, {
      "aria-pressed": String(chosen),
      onfocus: () => page.hoverPath(at),
      onblur: () => page.hoverPath(null),
    }),
  );
}

/** A path's factors as fractions, as formulas and as numbers, and its product. */
function pathLines(graph, path, whole) {
  const edges = (path.edges ?? []).map((id) => graph.edges[id]);
  const product = summary(path.product);
  const scalars = edges.length && edges.every((edge) => isScalar(edge.local));
  const factors = edges.every((edge) => edge.factor || !edge.named);
  const line = (kind, start, draw, sign) =>
    h("span", { class: kind }, start, joinedBy(edges, draw, sign, whole));
  return [
    edges.length
      ? line("factors", "", (edge) => fraction(...edgeName(graph, edge)), " · ")
      : h("span.factors", "the result itself"),
    edges.some((edge) => edge.named) &&
      line(
        "formulas",
        factors ? "= " : "sends ",
        (edge) => bracketed(edge.named || "?", factors),
        factors ? " · " : " → ",
      ),
    scalars && line("numbers", "= ", factorElement, " · "),
    product &&
      h(
        "span.value",
        "= ",
        product.only !== undefined
          ? numberElement(product.only, product.dtype, { "data-testid": "path-product" })
          : h("span@path-product", { "data-norm": String(product.norm) }, inBrief(product)),
      ),
  ];
}

/** What is drawn of each edge with a sign between; of many the ends, unless the whole is wanted. */
function joinedBy(edges, draw, sign, whole) {
  const signed = (some, first) =>
    some.map((edge, i) => [i || !first ? h("span.dim", sign) : "", draw(edge)]);
  if (whole || edges.length <= WHOLE) return signed(edges, true);
  return [
    signed(edges.slice(0, ENDS), true),
    h("span.dim", `${sign}… ${edges.length - 2 * ENDS} more …`),
    signed(edges.slice(-ENDS), false),
  ];
}

/** A formula as a factor of a product: a sum stands in brackets. */
const bracketed = (text, factor) =>
  factor && /[ +−]/.test(text.slice(1)) && !/^\([^()]*\)$/.test(text) ? `(${text})` : text;
