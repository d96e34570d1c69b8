// Normalisation of layers, channels and groups, and its gradient.
//
// A row is the elements that share statistics: its element e lies at (e / inner) * step + row * inner + e % inner. A row is cut into
// parts, each a work item's; their sums are merged in order. The element at i is one of row (i / row_inner) % row_count, and has the
// weight (i / weight_inner) % weight_count. Statistics, weights and sums are of type T.

#ifdef REAL
// Which row, or which weight, the element at a place has.
FUNCTION i64 index_at(i64 place, i64 inner, i64 count) { return rest_of(quotient(place, inner), count); }

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

// Mean and one over the deviation of each row; the running statistics move towards those measured.
KERNEL statistics(BUFFER(means), BUFFER(squares), BUFFER(mean), BUFFER(rstd), BUFFER(running_mean), BUFFER(running_var), i64 rows,
                  i64 parts, i64 count, T eps, T momentum, i64 mean_type, i64 var_type) {
  if (ITEM >= rows) return;
  T middle = 0, sum = 0;
  i64 merged = 0;
  for (i64 part = 0; part < parts; ++part) {
    const i64 more = (part + 1) * count / parts - part * count / parts;
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
