// Rows of `length` elements that are `inner` apart; `type` is that of all tensors.
#ifdef REAL

#if defined(GROUPS)

// For GPUs of which no more is known: a group does a long row of neighbours, so that its members
// read neighbours.
#define FOLD(wanted)                                                          \
  BARRIER;                                                                    \
  for (int step = GROUP / 2; step; step /= 2) {                               \
    if (MEMBER < step) {                                                      \
      const T one = some[MEMBER], other = some[MEMBER + step];                \
      some[MEMBER] = wanted;                                                  \
    }                                                                         \
    BARRIER;                                                                  \
  }

KERNEL softmax_groups(BUFFER(x), BUFFER(y), i64 type, i64 length, i64 log_wanted) {
  LOCAL T some[GROUP];
  const i64 begin = GROUP_NUMBER * length, rounds = (length + GROUP - 1) / GROUP;
  GLOBAL const u8 *from = x + x_at + begin * SIZE(type);
  GLOBAL u8 *to = y + y_at + begin * SIZE(type);
  some[MEMBER] = -INFINITE;
  for (i64 k = 0; k < rounds; ++k) {
    const i64 i = k * GROUP + MEMBER;
    const T value = i < length ? load(from, i * SIZE(type), (int)type) : -INFINITE, before = some[MEMBER];
    some[MEMBER] = value > before || value != value ? value : before;
  }
  FOLD(other > one || other != other ? other : one)
  const T most = some[0] == -INFINITE ? 0 : some[0];
  BARRIER;
  some[MEMBER] = 0;
  for (i64 k = 0; k < rounds; ++k) {
    const i64 i = k * GROUP + MEMBER;
    const T value = i < length ? load(from, i * SIZE(type), (int)type) - most : -INFINITE;
    some[MEMBER] += exp(value);
  }
  FOLD(one + other)
  const T sum = some[0], logarithm = log(sum);
  for (i64 k = 0; k < rounds; ++k) {
    const i64 i = k * GROUP + MEMBER;
    if (i < length) {
      const T value = load(from, i * SIZE(type), (int)type) - most;
      store(to, i * SIZE(type), (int)type, log_wanted ? value - logarithm : exp(value) / sum);
    }
  }
}

KERNEL softmax_backward_groups(BUFFER(g), BUFFER(y), BUFFER(out), i64 type, i64 length, i64 log_wanted) {
  LOCAL T some[GROUP];
  const i64 begin = GROUP_NUMBER * length, rounds = (length + GROUP - 1) / GROUP;
  GLOBAL const u8 *of_g = g + g_at + begin * SIZE(type), *of_y = y + y_at + begin * SIZE(type);
  GLOBAL u8 *to = out + out_at + begin * SIZE(type);
  some[MEMBER] = 0;
  for (i64 k = 0; k < rounds; ++k) {
    const i64 i = k * GROUP + MEMBER;
    if (i < length) {
      const T gradient = load(of_g, i * SIZE(type), (int)type);
      some[MEMBER] += log_wanted ? gradient : gradient * load(of_y, i * SIZE(type), (int)type);
    }
  }
  FOLD(one + other)
  const T sum = some[0];
  for (i64 k = 0; k < rounds; ++k) {
    const i64 i = k * GROUP + MEMBER;
    if (i < length) {
      const T gradient = load(of_g, i * SIZE(type), (int)type), value = load(of_y, i * SIZE(type), (int)type);
      store(to, i * SIZE(type), (int)type, log_wanted ? gradient - exp(value) * sum : value * (gradient - sum));
    }
  }
}

#elif defined(WARPS)
#include "vectors.cl"

KERNEL_OF(WIDE_GROUP) softmax_warps(BUFFER(x), BUFFER(y), i64 rows, i64 length, i64 per, i64 log_wanted) {
  const i64 row = quotient(ITEM, per), place = row * length * SIZE(X);
  const Pieces pieces(x + x_at + place, row < rows ? length : 0, (int)per);
  Held values(pieces, x + x_at + place, -INFINITE);
  T most = -INFINITE, sum = 0;
  EACH_PIECE(k) {
    const T *piece = values.of(k);
    EACH_OF_PIECE(j) most = Most::of(most, piece[j]);
  }
  most = fold<Most>(most, (int)per);
  if (most == -(T)INFINITE) most = 0;
  EACH_PIECE(k) {
    T *piece = values.of(k), some = 0;
    EACH_OF_PIECE(j) {
      const T power = exp(piece[j] - most);
      some += power;
      if (!log_wanted) piece[j] = power;
    }
    sum += some;
  }
  sum = fold<Sum>(sum, (int)per);
  const T factor = 1 / sum, logarithm = log(sum);
  EACH_PIECE(k) {
    T *piece = values.of(k);
    EACH_OF_PIECE(j) piece[j] = log_wanted ? piece[j] - most - logarithm : (HELD ? piece[j] : exp(piece[j] - most)) * factor;
    put_piece(pieces, y + y_at + place, k, piece);
  }
}

KERNEL_OF(WIDE_GROUP) softmax_backward_warps(BUFFER(g), BUFFER(y), BUFFER(out), i64 rows, i64 length, i64 per, i64 log_wanted) {
  const i64 row = quotient(ITEM, per), place = row * length * SIZE(X);
  const Pieces pieces(y + y_at + place, row < rows ? length : 0, (int)per);
  Held gradients(pieces, g + g_at + place, 0), values(pieces, y + y_at + place, 0);
  T sum = 0;
  EACH_PIECE(k) {
    const T *gradient = gradients.of(k), *value = values.of(k);
    T some = 0;
    EACH_OF_PIECE(j) some += log_wanted ? gradient[j] : gradient[j] * value[j];
    sum += some;
  }
  sum = fold<Sum>(sum, (int)per);
  EACH_PIECE(k) {
    T *gradient = gradients.of(k);
    const T *value = values.of(k);
    EACH_OF_PIECE(j) gradient[j] = log_wanted ? gradient[j] - exp(value[j]) * sum : value[j] * (gradient[j] - sum);
    put_piece(pieces, out + out_at + place, k, gradient);
  }
}

#elif defined(LINES)

// For processors, which only OpenCL has: rows of neighbours of type T, of which some are computed at a time.
#define LINE NAME_FOR(LINE_, T)
#define LINE_float float8
#define LINE_double double4
#define AT(p, i) NAME_FOR(vload, BROAD)(0, (p) + (i))
#define PUT(p, i, line) NAME_FOR(vstore, BROAD)(line, 0, (p) + (i))

FUNCTION T sum_of(LINE line) {
  T values[BROAD], sum = 0;
  PUT(values, 0, line);
  for (int j = 0; j < BROAD; ++j) sum += values[j];
  return sum;
}

KERNEL softmax_lines(BUFFER(x), BUFFER(y), i64 rows, i64 length, i64 log_wanted) {
  if (ITEM >= rows) return;
  GLOBAL const T *from = OF(const T, x) + ITEM * length;
  GLOBAL T *to = OF(T, y) + ITEM * length;
  const i64 lines = length / BROAD * BROAD;
  LINE mosts = -INFINITE;  // something that is no number makes the sum none
  for (i64 i = 0; i < lines; i += BROAD) mosts = fmax(mosts, AT(from, i));
  T values[BROAD], most = -INFINITE;
  PUT(values, 0, mosts);
  for (int j = 0; j < BROAD; ++j) most = fmax(most, values[j]);
  for (i64 i = lines; i < length; ++i) most = fmax(most, from[i]);
  if (most == -INFINITE) most = 0;
  LINE sums = 0;
  for (i64 i = 0; i < lines; i += BROAD) {
    const LINE line = AT(from, i) - most, power = exp(line);
    PUT(to, i, log_wanted ? line : power);
    sums += power;
  }
  T sum = sum_of(sums);
  for (i64 i = lines; i < length; ++i) {
    const T value = from[i] - most, power = exp(value);
    to[i] = log_wanted ? value : power;
    sum += power;
  }
  const T logarithm = log(sum);
  for (i64 i = 0; i < lines; i += BROAD) PUT(to, i, log_wanted ? AT(to, i) - logarithm : AT(to, i) / sum);
  for (i64 i = lines; i < length; ++i) to[i] = log_wanted ? to[i] - logarithm : to[i] / sum;
}

KERNEL softmax_backward_lines(BUFFER(g), BUFFER(y), BUFFER(out), i64 rows, i64 length, i64 log_wanted) {
  if (ITEM >= rows) return;
  GLOBAL const T *of_g = OF(const T, g) + ITEM * length, *of_y = OF(const T, y) + ITEM * length;
  GLOBAL T *to = OF(T, out) + ITEM * length;
  const i64 lines = length / BROAD * BROAD;
  LINE sums = 0;
  for (i64 i = 0; i < lines; i += BROAD) sums += log_wanted ? AT(of_g, i) : AT(of_g, i) * AT(of_y, i);
  T sum = sum_of(sums);
  for (i64 i = lines; i < length; ++i) sum += log_wanted ? of_g[i] : of_g[i] * of_y[i];
  for (i64 i = 0; i < lines; i += BROAD) {
    const LINE gradient = AT(of_g, i), value = AT(of_y, i);
    PUT(to, i, log_wanted ? gradient - exp(value) * sum : value * (gradient - sum));
  }
  for (i64 i = lines; i < length; ++i) to[i] = log_wanted ? of_g[i] - exp(of_y[i]) * sum : of_y[i] * (of_g[i] - sum);
}

#else

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
#endif
