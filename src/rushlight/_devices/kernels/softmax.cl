// Rows of `length` elements that are `inner` apart; `type` is that of all tensors.
#ifdef REAL

FUNCTION i64 begin_of(i64 row, i64 length, i64 inner) { return row / inner * length * inner + row % inner; }

KERNEL softmax(BUFFER(x), BUFFER(y), i64 type, i64 rows, i64 length, i64 inner, i64 log_wanted) {
  if (ITEM >= rows) return;
  const i64 begin = begin_of(ITEM, length, inner), item = SIZE(type);
  T most = -INFINITE;
  for (i64 i = 0; i < length; ++i) {
    const T value = load(x, x_at + (begin + i * inner) * item, (int)type);
    most = value > most || value != value ? value : most;
  }
  if (most == -INFINITE) most = 0;
  T sum = 0;
  for (i64 i = 0; i < length; ++i) sum += exp(load(x, x_at + (begin + i * inner) * item, (int)type) - most);
  const T logarithm = log(sum);
  for (i64 i = 0; i < length; ++i) {
    const i64 at = (begin + i * inner) * item;
    const T value = load(x, x_at + at, (int)type) - most;
    store(y, y_at + at, (int)type, log_wanted ? value - logarithm : exp(value) / sum);
  }
}

KERNEL softmax_backward(BUFFER(g), BUFFER(y), BUFFER(out), i64 type, i64 rows, i64 length, i64 inner, i64 log_wanted) {
  if (ITEM >= rows) return;
  const i64 begin = begin_of(ITEM, length, inner), item = SIZE(type);
  T sum = 0;
  for (i64 i = 0; i < length; ++i) {
    const i64 at = (begin + i * inner) * item;
    const T gradient = load(g, g_at + at, (int)type);
    sum += log_wanted ? gradient : gradient * load(y, y_at + at, (int)type);
  }
  for (i64 i = 0; i < length; ++i) {
    const i64 at = (begin + i * inner) * item;
    const T gradient = load(g, g_at + at, (int)type), value = load(y, y_at + at, (int)type);
    store(out, out_at + at, (int)type, log_wanted ? gradient - exp(value) * sum : value * (gradient - sum));
  }
}
#endif
