// Maxima and means of windows, and their gradients. Volumes have three dimensions; those that are missing have size 1.

typedef struct {
  i64 sizes[3], out[3];
  i64 kernels[3];  // 0: as many windows as wanted, which together cover the dimension
  i64 strides[3], pads[3], dilations[3];
} Window;

// The places [begin, end) of a dimension under a window, which has none outside.
FUNCTION i64 begin_under(const Window *w, int d, i64 at) {
  if (!w->kernels[d]) {
    return quotient(w->sizes[d], w->out[d]) * at + quotient(rest_of(w->sizes[d], w->out[d]) * at, w->out[d]);
  }
  const i64 begin = at * w->strides[d] - w->pads[d], step = w->dilations[d];
  return begin >= 0 ? begin : begin + quotient(-begin + step - 1, step) * step;
}
FUNCTION i64 end_under(const Window *w, int d, i64 at) {
  if (!w->kernels[d]) {
    const i64 rest = rest_of(w->sizes[d], w->out[d]) * (at + 1);
    return quotient(w->sizes[d], w->out[d]) * (at + 1) + quotient(rest + w->out[d] - 1, w->out[d]);
  }
  const i64 end = at * w->strides[d] - w->pads[d] + (w->kernels[d] - 1) * w->dilations[d] + 1;
  return end < w->sizes[d] ? end : w->sizes[d];
}
// How many places of a dimension a mean counts.
FUNCTION i64 counted(const Window *w, int d, i64 at, i64 include_pad) {
  const i64 begin = begin_under(w, d, at), end = end_under(w, d, at);
  if (!w->kernels[d] || !include_pad) return end > begin ? end - begin : 0;
  const i64 from = at * w->strides[d] - w->pads[d], to = from + w->kernels[d], most = w->sizes[d] + w->pads[d];
  return (to < most ? to : most) - from;
}
// The windows [first_over, last_over] of a dimension that may lie over a place.
FUNCTION i64 first_over(const Window *w, int d, i64 place) {
  if (!w->kernels[d]) return quotient(place * w->out[d], w->sizes[d]);
  const i64 least = place + w->pads[d] - w->kernels[d] + 1;
  return least <= 0 ? 0 : quotient(least + w->strides[d] - 1, w->strides[d]);
}
FUNCTION i64 last_over(const Window *w, int d, i64 place) {
  if (!w->kernels[d]) return quotient((place + 1) * w->out[d] + w->sizes[d] - 1, w->sizes[d]) - 1;
  const i64 last = quotient(place + w->pads[d], w->strides[d]);
  return last < w->out[d] ? last : w->out[d] - 1;
}
// The first largest element of each window, where a NaN wins, and its place in the volume.
KERNEL max_pool(BUFFER(x), BUFFER(out), BUFFER(indices), Window w, i64 type, i64 items) {
  if (ITEM >= items) return;
  const i64 row = quotient(ITEM, w.out[2]), plane = quotient(row, w.out[1]), block = quotient(plane, w.out[0]);
  const i64 c = rest_of(ITEM, w.out[2]), h = rest_of(row, w.out[1]), d = rest_of(plane, w.out[0]);
  const i64 volume = block * w.sizes[0] * w.sizes[1] * w.sizes[2], item = SIZE(type);
  const i64 from_d = begin_under(&w, 0, d), from_h = begin_under(&w, 1, h), from_c = begin_under(&w, 2, c);
  const i64 to_d = end_under(&w, 0, d), to_h = end_under(&w, 1, h), to_c = end_under(&w, 2, c);
  T best = -INFINITE;
  i64 where = (from_d * w.sizes[1] + from_h) * w.sizes[2] + from_c;
  for (i64 i = from_d; i < to_d; i += w.dilations[0])
    for (i64 j = from_h; j < to_h; j += w.dilations[1])
      for (i64 k = from_c; k < to_c; k += w.dilations[2]) {
        const i64 place = (i * w.sizes[1] + j) * w.sizes[2] + k;
        const T value = load(x, x_at + (volume + place) * item, (int)type);
        if (value > best || value != value) {
          best = value;
          where = place;
        }
      }
  store(out, out_at + ITEM * item, (int)type, best);
  OF(i64, indices)[ITEM] = where;
}

// A work item sums what goes to the places of a volume, in order: volumes do not share places. `out` is of type T.
KERNEL add_at_places(BUFFER(g), BUFFER(indices), BUFFER(out), i64 type, i64 volumes, i64 positions, i64 volume) {
  if (ITEM >= volumes) return;
  GLOBAL T *to = OF(T, out) + ITEM * volume;
  for (i64 i = 0; i < volume; ++i) to[i] = 0;
  for (i64 i = ITEM * positions; i < (ITEM + 1) * positions; ++i) {
    const i64 at = OF(const i64, indices)[i];
    if (at < 0 || at >= volume) continue;
    to[at] += load(g, g_at + i * SIZE(type), (int)type);
  }
}

KERNEL mean_pool(BUFFER(x), BUFFER(out), Window w, i64 type, i64 items, i64 include_pad, i64 divisor) {
  if (ITEM >= items) return;
  const i64 row = quotient(ITEM, w.out[2]), plane = quotient(row, w.out[1]), block = quotient(plane, w.out[0]);
  const i64 c = rest_of(ITEM, w.out[2]), h = rest_of(row, w.out[1]), d = rest_of(plane, w.out[0]);
  const i64 volume = block * w.sizes[0] * w.sizes[1] * w.sizes[2], item = SIZE(type);
  const i64 to_d = end_under(&w, 0, d), to_h = end_under(&w, 1, h), to_c = end_under(&w, 2, c);
  T sum = 0;
  for (i64 i = begin_under(&w, 0, d); i < to_d; ++i)
    for (i64 j = begin_under(&w, 1, h); j < to_h; ++j) {
      T some = 0;
      for (i64 k = begin_under(&w, 2, c); k < to_c; ++k)
        some += load(x, x_at + (volume + (i * w.sizes[1] + j) * w.sizes[2] + k) * item, (int)type);
      sum += some;
    }
  const i64 many = counted(&w, 0, d, include_pad) * counted(&w, 1, h, include_pad) * counted(&w, 2, c, include_pad);
  store(out, out_at + ITEM * item, (int)type, sum / (T)(divisor ? divisor : many));
}

KERNEL mean_pool_backward(BUFFER(g), BUFFER(out), Window w, i64 type, i64 items, i64 include_pad, i64 divisor) {
  if (ITEM >= items) return;
  const i64 row = quotient(ITEM, w.sizes[2]), plane = quotient(row, w.sizes[1]), block = quotient(plane, w.sizes[0]);
  const i64 c = rest_of(ITEM, w.sizes[2]), h = rest_of(row, w.sizes[1]), d = rest_of(plane, w.sizes[0]);
  const i64 windows = block * w.out[0] * w.out[1] * w.out[2], item = SIZE(type);
  const i64 last_d = last_over(&w, 0, d), last_h = last_over(&w, 1, h), last_c = last_over(&w, 2, c);
  T sum = 0;
  for (i64 i = first_over(&w, 0, d); i <= last_d; ++i) {
    const i64 deep = divisor ? divisor : counted(&w, 0, i, include_pad);
    for (i64 j = first_over(&w, 1, h); j <= last_h; ++j) {
      const i64 many = divisor ? divisor : deep * counted(&w, 1, j, include_pad);
      for (i64 k = first_over(&w, 2, c); k <= last_c; ++k) {
        const i64 all = divisor ? divisor : many * counted(&w, 2, k, include_pad);
        sum += load(g, g_at + (windows + (i * w.out[1] + j) * w.out[2] + k) * item, (int)type) / (T)all;
      }
    }
  }
  store(out, out_at + ITEM * item, (int)type, sum);
}

#ifdef REAL
// Windows begin at distances that the random numbers (planes, n) of a plane say; those of dimension d are the order[d]-th, -1: the
// dimension is missing. steps: how far apart they are on the mean.
FUNCTION i64 drawn(GLOBAL const T *u, i64 which, i64 at, i64 count, i64 room, T step) {
  if (which < 0) return 0;
  const i64 begin = at == count - 1 ? room : (i64)(((T)at + u[which]) * step) - (i64)(u[which] * step);
  return begin < 0 ? 0 : (begin > room ? room : begin);
}

KERNEL fractional_max_pool(BUFFER(x), BUFFER(samples), BUFFER(out), BUFFER(indices), Window w, i64 type, i64 items, i64 n, i64 order_d,
                           i64 order_h, i64 order_c, T step_d, T step_h, T step_c) {
  if (ITEM >= items) return;
  const i64 row = quotient(ITEM, w.out[2]), plane = quotient(row, w.out[1]), block = quotient(plane, w.out[0]);
  GLOBAL const T *u = OF(const T, samples) + block * n;
  const i64 d = drawn(u, order_d, rest_of(plane, w.out[0]), w.out[0], w.sizes[0] - w.kernels[0], step_d);
  const i64 h = drawn(u, order_h, rest_of(row, w.out[1]), w.out[1], w.sizes[1] - w.kernels[1], step_h);
  const i64 c = drawn(u, order_c, rest_of(ITEM, w.out[2]), w.out[2], w.sizes[2] - w.kernels[2], step_c);
  const i64 volume = block * w.sizes[0] * w.sizes[1] * w.sizes[2], item = SIZE(type);
  i64 where = (d * w.sizes[1] + h) * w.sizes[2] + c;
  T best = load(x, x_at + (volume + where) * item, (int)type);
  for (i64 i = d; i < d + w.kernels[0]; ++i)
    for (i64 j = h; j < h + w.kernels[1]; ++j)
      for (i64 k = c; k < c + w.kernels[2]; ++k) {
        const i64 place = (i * w.sizes[1] + j) * w.sizes[2] + k;
        const T value = load(x, x_at + (volume + place) * item, (int)type);
        if (best == best && (value > best || value != value)) {  // the first NaN wins
          best = value;
          where = place;
        }
      }
  store(out, out_at + ITEM * item, (int)type, best);
  OF(i64, indices)[ITEM] = where;
}
#endif
