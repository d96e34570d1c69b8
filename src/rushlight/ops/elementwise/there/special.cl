// Derivatives of beta numbers by their first parameter, at a fixed value of the distribution function; in double whatever the type of
// the elements.
#if defined(REAL) && defined(WIDE)
FUNCTION T log_share(T z) { return z > 0 ? -log1p(exp(-z)) : z - log1p(exp(z)); }

// The integral of density times score over the side where the density falls. Nodes and weights, two numbers each, are in the
// table. Over 1 - x; psi is digamma(a) - digamma(a + b).
KERNEL beta_gradient(BUFFER(a), BUFFER(b), BUFFER(x), BUFFER(psi), BUFFER(table), BUFFER(out), i64 nodes, i64 items) {
  if (ITEM >= items) return;
  const T c1 = OF(const T, a)[ITEM], c0 = OF(const T, b)[ITEM], v = OF(const T, x)[ITEM], p = OF(const T, psi)[ITEM];
  const T y = log(v) - log1p(-v), here = log_share(y), rest = log_share(-y);
  const int falls_left = v < c1 / (c1 + c0);
  T total = 0;
  for (int i = 0; i < nodes; ++i) {
    const T node = OF(const T, table)[2 * i], weight = OF(const T, table)[2 * i + 1], u = falls_left ? -node : node;
    const T share = log_share(y + u);
    const T density = exp(c1 * (share - here) + c0 * (log_share(-y - u) - rest));
    if (density > 0) total += density * (share - p) * weight;
    else if (density == 0 && node > 1) break;
  }
  OF(T, out)[ITEM] = v * (falls_left ? -total : total);
}
#endif
