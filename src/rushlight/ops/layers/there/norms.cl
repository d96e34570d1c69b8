// Normalisation of layers, channels and groups, and its gradient.
//
// A row is the elements that share statistics: its element e lies at (e / inner) * step + row * inner + e % inner. A row is cut into
// parts, each a work item's; their sums are merged in order. The element at i is one of row (i / row_inner) % row_count, and has the
// weight (i / weight_inner) % weight_count. Statistics, weights and sums are of type T.

#ifdef REAL
// Which row, or which weight, the element at a place has.
FUNCTION i64 index_at(i64 place, i64 inner, i64 count) { return rest_of(quotient(place, inner), count); }

// Mean and one over the deviation of each row, whose parts are so many times `unit` elements; the
// running statistics move towards those measured.
KERNEL statistics(BUFFER(means), BUFFER(squares), BUFFER(mean), BUFFER(rstd), BUFFER(running_mean), BUFFER(running_var), i64 rows,
                  i64 parts, i64 count, i64 unit, T eps, T momentum, i64 mean_type, i64 var_type) {
  if (ITEM >= rows) return;
  const i64 units = count / unit;
  T middle = 0, sum = 0;
  i64 merged = 0;
  for (i64 part = 0; part < parts; ++part) {
    const i64 more = ((part + 1) * units / parts - part * units / parts) * unit;
    if (!more) continue;
    const T apart = OF(const T, means)[ITEM * parts + part] - middle;
    merged += more;
    middle += apart * (T)more / (T)merged;
    sum += OF(const T, squares)[ITEM * parts + part] + apart * apart * (T)(merged - more) * (T)more / (T)merged;
  }
  OF(T, mean)[ITEM] = middle;
  OF(T, rstd)[ITEM] = 1 / sqrt(sum / (T)(count ? count : 1) + eps);
  if (running_mean && count) {
    const i64 at = running_mean_at + ITEM * SIZE(mean_type);
    const T old = load(running_mean, at, (int)mean_type);
    store(running_mean, at, (int)mean_type, old + (middle - old) * momentum);
  }
  if (running_var && count) {
    const i64 at = running_var_at + ITEM * SIZE(var_type);
    const T old = load(running_var, at, (int)var_type);
    store(running_var, at, (int)var_type, old + (sum / (T)(count > 1 ? count - 1 : 1) - old) * momentum);
  }
}

// One over the deviations of variances that are given.
KERNEL deviations(BUFFER(variance), BUFFER(rstd), i64 rows, T eps) {
  if (ITEM < rows) OF(T, rstd)[ITEM] = 1 / sqrt(OF(const T, variance)[ITEM] + eps);
}

#ifdef WARPS
#include "vectors.cl"

#ifdef HELD
// Of a piece of a row the weights, or a number where there are none. W is the type of weights.
// Those of layers lie like a row; others are those of `inner` neighbours each, and begin again
// after so many rows.
FUNCTION void weights_of(const Pieces &pieces, int k, const u8 *weights, i64 row, i64 inner, i64 groups, T none, T *to) {
  if (!weights || !inner) {
    const Few<W, EACH> few = weights ? fetch_of_row<W, EACH>(weights, pieces.at(k), pieces.length) : Few<W, EACH>();
    EACH_OF_PIECE(j) to[j] = weights ? few.value(j) : none;
    return;
  }
  const i64 before = rest_of(row, groups) * pieces.length;
  EACH_OF_PIECE(j) to[j] = pieces.has(k, j) ? load(weights, quotient(before + pieces.at(k) + j, inner) * SIZE(W), W) : none;
}

// The mean of a row, and one over the deviation.
FUNCTION void measure(const Pieces &pieces, Held &values, i64 length, int per, T eps, T *middle, T *scale) {
  T sum = 0, squares = 0;
  EACH_PIECE(k) {
    const T *piece = values.of(k);
    T some = 0;
    EACH_OF_PIECE(j) some += piece[j];
    sum += some;
  }
  *middle = fold<Sum>(sum, per) / (T)length;
  EACH_PIECE(k) {
    const T *piece = values.of(k);
    T some = 0;
    EACH_OF_PIECE(j) some += pieces.has(k, j) ? (piece[j] - *middle) * (piece[j] - *middle) : (T)0;
    squares += some;
  }
  *scale = 1 / sqrt(fold<Sum>(squares, per) / (T)length + eps);
}

// The statistics and the normalized elements of rows.
KERNEL_OF(WIDE_GROUP) norm_rows(BUFFER(x), BUFFER(weight), BUFFER(bias), BUFFER(mean), BUFFER(rstd), BUFFER(y), i64 rows,
                                i64 length, i64 per, i64 inner, i64 groups, T eps) {
  const i64 row = quotient(ITEM, per), place = row * length * SIZE(X);
  const Pieces pieces(x + x_at + place, row < rows ? length : 0, (int)per);
  Held values(pieces, x + x_at + place, 0);
  T middle, scale;
  measure(pieces, values, length, (int)per, eps, &middle, &scale);
  EACH_PIECE(k) {
    T *piece = values.of(k), own[EACH], more[EACH];
    weights_of(pieces, k, weight ? weight + weight_at : 0, row, inner, groups, 1, own);
    weights_of(pieces, k, bias ? bias + bias_at : 0, row, inner, groups, 0, more);
    EACH_OF_PIECE(j) piece[j] = (piece[j] - middle) * scale * own[j] + more[j];
    put_piece(pieces, y + y_at + place, k, piece);
  }
  if (row >= rows || (MEMBER & ((int)per - 1))) return;
  store(mean, mean_at + row * SIZE(X), X, middle);
  store(rstd, rstd_at + row * SIZE(X), X, scale);
}

// The gradient of x. `again`: the statistics are measured, since those kept were rounded, and
// written.
KERNEL_OF(WIDE_GROUP) norm_rows_gradient(BUFFER(g), BUFFER(x), BUFFER(weight), BUFFER(mean), BUFFER(rstd), BUFFER(out), i64 rows,
                                         i64 length, i64 per, i64 inner, i64 groups, i64 again, T eps) {
  const i64 row = quotient(ITEM, per), place = row * length * SIZE(X);
  const Pieces pieces(x + x_at + place, row < rows ? length : 0, (int)per);
  Held values(pieces, x + x_at + place, 0), gradients(pieces, g + g_at + place, 0);
  T middle = 0, scale = 0, sum = 0, product = 0;
  if (again) {
    measure(pieces, values, length, (int)per, eps, &middle, &scale);
    if (row < rows && !(MEMBER & ((int)per - 1))) OF(T, mean)[row] = middle, OF(T, rstd)[row] = scale;
  } else if (row < rows) {
    middle = OF(const T, mean)[row], scale = OF(const T, rstd)[row];
  }
  EACH_PIECE(k) {
    T *gradient = gradients.of(k), *piece = values.of(k), own[EACH], some = 0, some_product = 0;
    weights_of(pieces, k, weight ? weight + weight_at : 0, row, inner, groups, 1, own);
    EACH_OF_PIECE(j) {
      gradient[j] *= own[j];
      piece[j] = (piece[j] - middle) * scale;
      some += gradient[j];
      some_product += gradient[j] * piece[j];
    }
    sum += some;
    product += some_product;
  }
  sum = fold<Sum>(sum, (int)per) / (T)length;
  product = fold<Sum>(product, (int)per) / (T)length;
  EACH_PIECE(k) {
    T *gradient = gradients.of(k), *piece = values.of(k), own[EACH];
    if (!HELD) weights_of(pieces, k, weight ? weight + weight_at : 0, row, inner, groups, 1, own);
    EACH_OF_PIECE(j) {
      const T hat = HELD ? piece[j] : (piece[j] - middle) * scale, slope = HELD ? gradient[j] : gradient[j] * own[j];
      gradient[j] = (slope - (sum + hat * product)) * scale;
    }
    put_piece(pieces, out + out_at + place, k, gradient);
  }
}
#else
enum { EACH = PER_16(X), ROUNDS = 4 };
#ifndef AT_ONCE
#define AT_ONCE EACH
#endif

// Of a part of the rows of a matrix, for each column: the sums of g, and of g times the normalized
// x, whose statistics are of rows, or of columns.
KERNEL_OF(WIDE_GROUP) column_products(BUFFER(g), BUFFER(x), BUFFER(mean), BUFFER(rstd), BUFFER(plain), BUFFER(along), i64 rows,
                                      i64 columns, i64 parts, i64 across, i64 by_column) {
  LOCAL T all[2][WIDE_GROUP * EACH];
  const int high = WIDE_GROUP / (int)across, line = MEMBER / (int)across;
  const i64 part = rest_of(GROUP_NUMBER, parts), column = (GROUP_NUMBER / parts * across + MEMBER % across) * EACH;
  const i64 left = columns - column, first = rows * part / parts, end = rows * (part + 1) / parts;
  T sum[EACH], product[EACH], middle[EACH], scale[EACH];
#pragma unroll
  for (int j = 0; j < EACH; ++j) {
    sum[j] = product[j] = 0;
    middle[j] = by_column && j < left ? OF(const T, mean)[column + j] : (T)0;
    scale[j] = by_column && j < left ? OF(const T, rstd)[column + j] : (T)0;
  }
  for (i64 row = first + line; row < end; row += ROUNDS * high) {
    Few<X, EACH> gradients[ROUNDS], values[ROUNDS];
#pragma unroll
    for (int k = 0; k < ROUNDS; ++k) {
      const i64 at = ((row + k * high) * columns + column) * SIZE(X), n = row + k * high < end ? left : 0;
      gradients[k] = fetch<X, EACH>(g + g_at + at, n);
      values[k] = fetch<X, EACH>(x + x_at + at, n);
    }
#pragma unroll
    for (int k = 0; k < ROUNDS; ++k) {
      if (row + k * high >= end) break;
      const T of_row = by_column ? (T)0 : OF(const T, mean)[row + k * high];
      const T by = by_column ? (T)0 : OF(const T, rstd)[row + k * high];
#pragma unroll
      for (int j = 0; j < EACH; ++j) {
        const T gradient = gradients[k].value(j);
        sum[j] += gradient;
        product[j] += gradient * ((values[k].value(j) - (by_column ? middle[j] : of_row)) * (by_column ? scale[j] : by));
      }
    }
  }
#pragma unroll
  for (int j = 0; j < EACH; ++j) all[0][MEMBER * EACH + j] = sum[j], all[1][MEMBER * EACH + j] = product[j];
  for (int step = high / 2; step; step /= 2) {
    BARRIER;
    if (line >= step) continue;
    for (int j = 0; j < 2 * EACH; ++j) {
      T *one = &all[j / EACH][MEMBER * EACH + j % EACH];
      *one += one[step * across * EACH];
    }
  }
  for (int j = 0; line == 0 && j < EACH && j < left; ++j) {
    OF(T, plain)[part * columns + column + j] = all[0][MEMBER * EACH + j];
    OF(T, along)[part * columns + column + j] = all[1][MEMBER * EACH + j];
  }
}

// The part of a row that a group goes through: AT_ONCE neighbours at a time, of which `inner` is a
// multiple.
typedef struct {
  i64 first, last, row, inner, step;
} Span;

FUNCTION Span span_of(i64 rows, i64 parts, i64 count, i64 inner, i64 step) {
  Span s;
  const i64 part = rest_of(GROUP_NUMBER, parts), pieces = count / AT_ONCE;
  s.row = quotient(GROUP_NUMBER, parts);
  s.first = (part * pieces / parts + MEMBER) * AT_ONCE;
  s.last = (part + 1) * pieces / parts * AT_ONCE;
  s.inner = inner;
  s.step = step;
  return s;
}
FUNCTION i64 place_in(const Span &s, i64 element) {
  const i64 outer = quotient(element, s.inner);
  return outer * s.step + s.row * s.inner + element - outer * s.inner;
}

// The normalized elements, of which AT_ONCE neighbours have a row and a weight in common.
KERNEL_OF(WIDE_GROUP) normalized_few(BUFFER(x), BUFFER(mean), BUFFER(rstd), BUFFER(weight), BUFFER(bias), BUFFER(y), i64 items,
                                     i64 row_inner, i64 row_count, i64 weight_inner, i64 weight_count) {
  Few<X, AT_ONCE> few[ROUNDS];
  const i64 begin = (GROUP_NUMBER * ROUNDS * WIDE_GROUP + MEMBER) * AT_ONCE;
#pragma unroll
  for (int k = 0; k < ROUNDS; ++k) {
    const i64 at = begin + k * WIDE_GROUP * AT_ONCE;
    few[k] = fetch<X, AT_ONCE>(x + x_at + at * SIZE(X), items - at);
  }
#pragma unroll
  for (int k = 0; k < ROUNDS; ++k) {
    const i64 at = begin + k * WIDE_GROUP * AT_ONCE;
    if (at >= items) return;
    const i64 row = index_at(at, row_inner, row_count), of = index_at(at, weight_inner, weight_count);
    const T middle = OF(const T, mean)[row], own = weight ? OF(const T, weight)[of] : (T)1;
    const T scale = OF(const T, rstd)[row], more = bias ? OF(const T, bias)[of] : (T)0;
    T made[AT_ONCE];
#pragma unroll
    for (int j = 0; j < AT_ONCE; ++j) made[j] = (few[k].value(j) - middle) * scale * own + more;
    put<X, AT_ONCE>(y + y_at + at * SIZE(X), made, 0, items - at);
  }
}

// The gradient of x, as norm_gradient's.
KERNEL_OF(WIDE_GROUP) gradient_few(BUFFER(g), BUFFER(x), BUFFER(mean), BUFFER(rstd), BUFFER(weight), BUFFER(plain), BUFFER(along),
                                   BUFFER(out), i64 items, i64 count, i64 outside, i64 row_inner, i64 row_count, i64 weight_inner,
                                   i64 weight_count) {
  Few<X, AT_ONCE> gradients[ROUNDS], values[ROUNDS];
  const i64 begin = (GROUP_NUMBER * ROUNDS * WIDE_GROUP + MEMBER) * AT_ONCE;
#pragma unroll
  for (int k = 0; k < ROUNDS; ++k) {
    const i64 at = begin + k * WIDE_GROUP * AT_ONCE;
    gradients[k] = fetch<X, AT_ONCE>(g + g_at + at * SIZE(X), items - at);
    values[k] = fetch<X, AT_ONCE>(x + x_at + at * SIZE(X), count ? items - at : 0);
  }
#pragma unroll
  for (int k = 0; k < ROUNDS; ++k) {
    const i64 at = begin + k * WIDE_GROUP * AT_ONCE;
    if (at >= items) return;
    const i64 row = index_at(at, row_inner, row_count);
    const T scale = OF(const T, rstd)[row], own = weight ? OF(const T, weight)[index_at(at, weight_inner, weight_count)] : (T)1;
    const T middle = OF(const T, mean)[row], part = outside ? own : (T)1;
    const T one = count ? OF(const T, plain)[row] / (T)count : (T)0, by = count ? OF(const T, along)[row] / (T)count : (T)0;
    T made[AT_ONCE];
#pragma unroll
    for (int j = 0; j < AT_ONCE; ++j) {
      const T hat = (values[k].value(j) - middle) * scale;
      made[j] = (gradients[k].value(j) * own - (count ? part * (one + hat * by) : (T)0)) * scale;
    }
    put<X, AT_ONCE>(out + out_at + at * SIZE(X), made, 0, items - at);
  }
}

// Means of the parts of rows, and sums of squares about those.
KERNEL_OF(WIDE_GROUP) span_moments(BUFFER(x), BUFFER(means), BUFFER(squares), i64 rows, i64 parts, i64 count, i64 inner,
                                   i64 step) {
  const Span s = span_of(rows, parts, count, inner, step);
  const i64 here = s.last - (s.first - MEMBER * AT_ONCE);
  T mean = 0, sum = 0;
  for (int pass = 0; pass < 2; ++pass) {
    sum = 0;
    for (i64 e = s.first; e < s.last; e += 4 * WIDE_GROUP * AT_ONCE) {
      Few<X, AT_ONCE> few[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const i64 at = e + k * WIDE_GROUP * AT_ONCE;
        few[k] = fetch<X, AT_ONCE>(x + x_at + place_in(s, at) * SIZE(X), at < s.last ? AT_ONCE : 0);
      }
      T some = 0;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        for (int j = 0; j < AT_ONCE && e + k * WIDE_GROUP * AT_ONCE < s.last; ++j) {
          const T value = few[k].value(j) - mean;
          some += pass ? value * value : value;
        }
      }
      sum += some;
    }
    sum = fold<Sum>(sum, WIDE_GROUP);
    if (!pass && here > 0) mean = sum / (T)here;
  }
  if (MEMBER) return;
  OF(T, means)[GROUP_NUMBER] = mean;
  OF(T, squares)[GROUP_NUMBER] = sum;
}

// Of the parts of rows: the sums of g and of g times the normalized x. The statistics are those of
// row (i / row_inner) % row_count.
KERNEL_OF(WIDE_GROUP) span_products(BUFFER(g), BUFFER(x), BUFFER(mean), BUFFER(rstd), BUFFER(plain), BUFFER(along), i64 rows,
                                    i64 parts, i64 count, i64 inner, i64 step, i64 row_inner, i64 row_count) {
  const Span s = span_of(rows, parts, count, inner, step);
  T sum = 0, product = 0;
  for (i64 e = s.first; e < s.last; e += WIDE_GROUP * AT_ONCE) {
    const i64 place = place_in(s, e), at = place * SIZE(X), of = index_at(place, row_inner, row_count);
    const Few<X, AT_ONCE> gradients = fetch<X, AT_ONCE>(g + g_at + at, AT_ONCE);
    const Few<X, AT_ONCE> values = fetch<X, AT_ONCE>(x + x_at + at, AT_ONCE);
    const T middle = OF(const T, mean)[of], scale = OF(const T, rstd)[of];
    T some = 0, some_product = 0;
#pragma unroll
    for (int j = 0; j < AT_ONCE; ++j) {
      const T gradient = gradients.value(j);
      some += gradient;
      some_product += gradient * ((values.value(j) - middle) * scale);
    }
    sum += some;
    product += some_product;
  }
  sum = fold<Sum>(sum, WIDE_GROUP);
  product = fold<Sum>(product, WIDE_GROUP);
  if (MEMBER) return;
  OF(T, plain)[GROUP_NUMBER] = sum;
  OF(T, along)[GROUP_NUMBER] = product;
}
#endif
#else

#define CHUNK 64  // elements that are summed before their sum is added: errors grow with the number of chunks

KERNEL moments(BUFFER(x), BUFFER(means), BUFFER(squares), i64 type, i64 rows, i64 parts, i64 count, i64 inner, i64 step) {
  if (ITEM >= rows * parts) return;
  const i64 row = ITEM / parts, part = ITEM % parts, item = SIZE(type);
  const i64 first = part * count / parts, last = (part + 1) * count / parts;
  T mean = 0, sum = 0;
  for (int pass = 0; pass < 2; ++pass) {
    i64 column = rest_of(first, inner), place = quotient(first, inner) * step + row * inner + column;
    sum = 0;
    for (i64 begin = first; begin < last; begin += CHUNK) {
      T some = 0;
      for (i64 e = begin; e < begin + CHUNK && e < last; ++e) {
        const T value = load(x, x_at + place * item, (int)type) - mean;
        some += pass ? value * value : value;
        ++place;
        if (++column == inner) {
          column = 0;
          place += step - inner;
        }
      }
      sum += some;
    }
    if (!pass && last > first) mean = sum / (T)(last - first);
  }
  OF(T, means)[ITEM] = mean;
  OF(T, squares)[ITEM] = sum;
}

KERNEL normalized(BUFFER(x), BUFFER(mean), BUFFER(rstd), BUFFER(weight), BUFFER(bias), BUFFER(y), i64 type, i64 items, i64 row_inner,
                 i64 row_count, i64 weight_inner, i64 weight_count) {
  if (ITEM >= items) return;
  const i64 row = index_at(ITEM, row_inner, row_count), of = index_at(ITEM, weight_inner, weight_count), at = ITEM * SIZE(type);
  T value = (load(x, x_at + at, (int)type) - OF(const T, mean)[row]) * OF(const T, rstd)[row];
  if (weight) value *= OF(const T, weight)[of];
  if (bias) value += OF(const T, bias)[of];
  store(y, y_at + at, (int)type, value);
}

// Of parts of rows: the sums of g and of g times the normalized x; g is weighted where there are weights.
KERNEL products(BUFFER(g), BUFFER(x), BUFFER(mean), BUFFER(rstd), BUFFER(weight), BUFFER(plain), BUFFER(along), i64 type, i64 rows,
                i64 parts, i64 count, i64 inner, i64 step, i64 row_inner, i64 row_count, i64 weight_inner, i64 weight_count) {
  if (ITEM >= rows * parts) return;
  const i64 row = ITEM / parts, part = ITEM % parts, item = SIZE(type);
  const i64 first = part * count / parts, last = (part + 1) * count / parts;
  T sum = 0, product = 0;
  i64 column = rest_of(first, inner), place = quotient(first, inner) * step + row * inner + column;
  for (i64 begin = first; begin < last; begin += CHUNK) {
    T some = 0, some_product = 0;
    for (i64 e = begin; e < begin + CHUNK && e < last; ++e) {
      const i64 of = index_at(place, row_inner, row_count);
      T value = load(g, g_at + place * item, (int)type);
      if (weight) value *= OF(const T, weight)[index_at(place, weight_inner, weight_count)];
      some += value;
      some_product += value * ((load(x, x_at + place * item, (int)type) - OF(const T, mean)[of]) * OF(const T, rstd)[of]);
      ++place;
      if (++column == inner) {
        column = 0;
        place += step - inner;
      }
    }
    sum += some;
    product += some_product;
  }
  OF(T, plain)[ITEM] = sum;
  OF(T, along)[ITEM] = product;
}

KERNEL merged(BUFFER(plain), BUFFER(along), BUFFER(out_plain), BUFFER(out_along), i64 rows, i64 parts) {
  if (ITEM >= rows) return;
  T sum = 0, product = 0;
  for (i64 part = 0; part < parts; ++part) {
    sum += OF(const T, plain)[ITEM * parts + part];
    product += OF(const T, along)[ITEM * parts + part];
  }
  OF(T, out_plain)[ITEM] = sum;
  OF(T, out_along)[ITEM] = product;
}

// The gradient of x. count: of a row, 0 where the statistics were given; outside: the sums are of gradients without weights.
KERNEL norm_gradient(BUFFER(g), BUFFER(x), BUFFER(mean), BUFFER(rstd), BUFFER(weight), BUFFER(plain), BUFFER(along), BUFFER(out),
                     i64 type, i64 items, i64 count, i64 outside, i64 row_inner, i64 row_count, i64 weight_inner,
                     i64 weight_count) {
  if (ITEM >= items) return;
  const i64 row = index_at(ITEM, row_inner, row_count), at = ITEM * SIZE(type);
  const T scale = OF(const T, rstd)[row], own = weight ? OF(const T, weight)[index_at(ITEM, weight_inner, weight_count)] : 1;
  T value = load(g, g_at + at, (int)type) * own;
  if (count) {
    const T hat = (load(x, x_at + at, (int)type) - OF(const T, mean)[row]) * scale;
    const T mean_of_them = (OF(const T, plain)[row] + hat * OF(const T, along)[row]) / (T)count;
    value -= outside ? own * mean_of_them : mean_of_them;
  }
  store(out, out_at + at, (int)type, value * scale);
}
#endif
#endif
