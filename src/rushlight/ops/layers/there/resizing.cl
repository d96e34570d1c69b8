// Weighted sums along one dimension: out[i] is the sum over k, from starts[i] to starts[i + 1], of weights[k] * x[sources[k]].

// Weights are of type T; without any they are 1. `have` and `wanted`: the sizes of the dimension; `inner`: of those behind it.
KERNEL resample(BUFFER(x), BUFFER(out), BUFFER(starts), BUFFER(sources), BUFFER(weights), i64 type, i64 out_type, i64 items, i64 have,
                i64 wanted, i64 inner) {
  if (ITEM >= items) return;
  const i64 row = quotient(ITEM, inner), at = rest_of(row, wanted), last = OF(const i64, starts)[at + 1];
  const i64 first_of_x = quotient(row, wanted) * have * inner + rest_of(ITEM, inner);
  T sum = 0;
  for (i64 k = OF(const i64, starts)[at]; k < last; ++k) {
    const i64 place = first_of_x + OF(const i64, sources)[k] * inner;
    const T value = load(x, x_at + place * SIZE(type), (int)type);
    sum += weights ? value * OF(const T, weights)[k] : value;
  }
  store(out, out_at + ITEM * SIZE(out_type), (int)out_type, sum);
}
