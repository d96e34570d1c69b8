// Scans along rows of `length` elements that are `inner` apart, and sorted orders of rows without gaps.
//
// A long row is scanned in parts of `span` elements: their totals first, then scans of these, then each part after its total.
enum { SCAN_SUM, SCAN_PROD, SCAN_LOG_SUM, SCAN_MAX, SCAN_MIN };
enum { WHOLE, TOTALS, PARTS };

KERNEL scan(BUFFER(x), BUFFER(out), BUFFER(carry), i64 type, i64 out_type, i64 rows, i64 length, i64 inner, i64 span, i64 parts,
            i64 how, i64 stage) {
  if (ITEM >= rows * parts) return;
  const i64 row = ITEM / parts, part = ITEM - row * parts, begin = row / inner * length * inner + row % inner;
  const i64 end = (part + 1) * span < length ? (part + 1) * span : length;
  const int before = stage == PARTS && part > 0;
  const T carried = before ? OF(const T, carry)[ITEM - 1] : (T)(how == SCAN_PROD ? 1 : 0);
  T so_far = (T)(how == SCAN_PROD ? 1 : 0);
#ifdef REAL
  T most = -INFINITE;  // logarithms of sums: most + log(so_far)
  if (how == SCAN_LOG_SUM && before && carried != -(T)INFINITE) most = carried, so_far = 1;
#endif
  T result = so_far;
  for (i64 i = part * span; i < end; ++i) {
    const i64 at = begin + i * inner;
    const T value = load(x, x_at + at * SIZE(type), (int)type);
    if (how == SCAN_SUM) {
      so_far += value;
      result = carried + so_far;
    } else if (how == SCAN_PROD) {
      so_far *= value;
      result = carried * so_far;
    }
#ifdef REAL
    else {
      if (value > most) {
        so_far = so_far * exp(most - value) + 1;
        most = value;
      } else if (value == most) {
        so_far += most == -(T)INFINITE ? 0 : 1;
      } else {
        so_far += exp(value - most);
      }
      result = so_far == 0 ? -(T)INFINITE : most + log(so_far);
    }
#endif
    if (stage != TOTALS) store(out, out_at + at * SIZE(out_type), (int)out_type, result);
  }
  if (stage == TOTALS) OF(T, out)[ITEM] = result;
}

// The largest or smallest so far, and its last place; a NaN wins.
KERNEL scan_extreme(BUFFER(x), BUFFER(out), BUFFER(index), i64 type, i64 rows, i64 length, i64 inner, i64 how) {
  if (ITEM >= rows) return;
  const i64 begin = ITEM / inner * length * inner + ITEM % inner;
  T best = 0;
  i64 place = -1;
  for (i64 i = 0; i < length; ++i) {
    const i64 at = begin + i * inner;
    const T value = load(x, x_at + at * SIZE(type), (int)type);
    if (place < 0 || value != value || (how == SCAN_MAX ? value >= best : value <= best)) best = value, place = i;
    store(out, out_at + at * SIZE(type), (int)type, best);
    OF(i64, index)[at] = place;
  }
}

// Whether a is before b in the order; NaN is the largest.
FUNCTION int precedes(T a, T b, i64 descending) {
  return descending ? a > b || (a != a && b == b) : a < b || (a == a && b != b);
}

// The places of each `run` elements of a row in order.
KERNEL sort_runs(BUFFER(x), BUFFER(order), i64 type, i64 rows, i64 length, i64 run, i64 descending) {
  const i64 runs = (length + run - 1) / run;
  if (ITEM >= rows * runs) return;
  const i64 row = ITEM / runs, first = (ITEM - row * runs) * run, end = first + run < length ? first + run : length;
  const i64 from = x_at + row * length * SIZE(type);
  GLOBAL i64 *places = OF(i64, order) + row * length;
  for (i64 i = first; i < end; ++i) {
    const T value = load(x, from + i * SIZE(type), (int)type);
    i64 k = i;
    for (; k > first && precedes(value, load(x, from + places[k - 1] * SIZE(type), (int)type), descending); --k)
      places[k] = places[k - 1];
    places[k] = i;
  }
}

// Each two runs of `width` made one: an element's place is its own in its run and how many of the other run are before it.
KERNEL merge_runs(BUFFER(x), BUFFER(order), BUFFER(merged), i64 type, i64 rows, i64 length, i64 width, i64 descending) {
  if (ITEM >= rows * length) return;
  const i64 row = ITEM / length, i = ITEM - row * length, pair = i / (2 * width) * (2 * width);
  const i64 from = x_at + row * length * SIZE(type);
  GLOBAL const i64 *places = OF(const i64, order) + row * length;
  const i64 middle = pair + width < length ? pair + width : length, end = pair + 2 * width < length ? pair + 2 * width : length;
  const int left = i < middle;
  const i64 place = places[i], other = left ? middle : pair;
  const T value = load(x, from + place * SIZE(type), (int)type);
  i64 low = other, high = left ? end : middle;
  while (low < high) {
    const i64 at = low + (high - low) / 2;
    const T found = load(x, from + places[at] * SIZE(type), (int)type);
    if (left ? precedes(found, value, descending) : !precedes(value, found, descending)) low = at + 1;
    else high = at;
  }
  OF(i64, merged)[row * length + pair + (i - (left ? pair : middle)) + (low - other)] = place;
}

// The first `count` of an order from place `skipped` on, and their elements.
KERNEL take_order(BUFFER(x), BUFFER(order), BUFFER(values), BUFFER(index), i64 type, i64 rows, i64 length, i64 skipped, i64 count) {
  if (ITEM >= rows * count) return;
  const i64 row = ITEM / count, place = OF(const i64, order)[row * length + skipped + ITEM - row * count];
  OF(i64, index)[ITEM] = place;
  store(values, values_at + ITEM * SIZE(type), (int)type, load(x, x_at + (row * length + place) * SIZE(type), (int)type));
}

// The last place of the most frequent element of a row, of several the smallest: `order` is ascending.
// median: the place of the lower median, and of the first NaN where there is one; 2: without NaN.
KERNEL choose_of_order(BUFFER(x), BUFFER(order), BUFFER(values), BUFFER(index), i64 type, i64 rows, i64 length, i64 median) {
  if (ITEM >= rows) return;
  const i64 from = x_at + ITEM * length * SIZE(type);
  GLOBAL const i64 *places = OF(const i64, order) + ITEM * length;
  i64 chosen = 0;
  if (median) {
    i64 numbers = 0;
    while (numbers < length) {
      const T value = load(x, from + places[numbers] * SIZE(type), (int)type);
      if (value != value) break;
      ++numbers;
    }
    if (median == 2) chosen = numbers > 0 ? (numbers - 1) / 2 : 0;
    else chosen = numbers < length ? numbers : (length - 1) / 2;
  } else {
    i64 most = 0, start = 0;
    T before = 0;
    for (i64 i = 0; i < length; ++i) {
      const T value = load(x, from + places[i] * SIZE(type), (int)type);
      if (i == 0 || value != before) start = i;
      before = value;
      if (i - start + 1 > most) most = i - start + 1, chosen = i;
    }
  }
  const i64 place = places[chosen];
  OF(i64, index)[ITEM] = place;
  store(values, values_at + ITEM * SIZE(type), (int)type, load(x, from + place * SIZE(type), (int)type));
}

// How many elements of a sorted row are before a value; `right`: or equal to it.
FUNCTION i64 rank_of(GLOBAL const u8 *x, i64 from, i64 type, i64 length, T value, i64 right) {
  i64 low = 0, high = length;
  while (low < high) {
    const i64 at = low + (high - low) / 2;
    const T found = load(x, from + at * SIZE(type), (int)type);
    if (right ? !precedes(value, found, 0) : precedes(found, value, 0)) low = at + 1;
    else high = at;
  }
  return low;
}

// Where each of `wanted` values would be put into the sorted row of its number, or the only row.
KERNEL search_sorted(BUFFER(x), BUFFER(values), BUFFER(out), i64 type, i64 out_type, i64 items, i64 length, i64 each, i64 right) {
  if (ITEM >= items) return;
  const T value = load(values, values_at + ITEM * SIZE(type), (int)type);
  const i64 rank = rank_of(x, x_at + ITEM / each * length * SIZE(type), type, length, value, right);
  GLOBAL u8 *to = out + out_at + ITEM * SIZE(out_type);
  if (out_type == TYPE_INT32) *(GLOBAL int *)to = (int)rank;
  else *(GLOBAL i64 *)to = rank;
}

// Whether each of the values is in a sorted row, or, inverted, is not.
KERNEL is_in(BUFFER(x), BUFFER(values), BUFFER(out), i64 type, i64 items, i64 length, i64 invert) {
  if (ITEM >= items) return;
  const T value = load(values, values_at + ITEM * SIZE(type), (int)type);
  const i64 rank = rank_of(x, x_at, type, length, value, 0);
  const int found = rank < length && load(x, x_at + rank * SIZE(type), (int)type) == value;
  out[out_at + ITEM] = (u8)(found != (invert != 0));
}

// How many elements of a sorted row are each of 0, 1, 2, ...
KERNEL count_values(BUFFER(x), BUFFER(out), i64 type, i64 bins, i64 length) {
  if (ITEM >= bins) return;
  OF(i64, out)[ITEM] = rank_of(x, x_at, type, length, (T)ITEM, 1) - rank_of(x, x_at, type, length, (T)ITEM, 0);
}

KERNEL in_place(BUFFER(order), i64 length) {
  if (ITEM < length) OF(i64, order)[ITEM] = ITEM;
}

// The first of `width` elements that differ in two rows, or `width`. In an order NaN are alike.
FUNCTION i64 differ_at(GLOBAL const u8 *x, i64 from, i64 type, i64 width, i64 a, i64 b, int in_order) {
  for (i64 k = 0; k < width; ++k) {
    const T one = load(x, from + (a * width + k) * SIZE(type), (int)type);
    const T other = load(x, from + (b * width + k) * SIZE(type), (int)type);
    if (one != other && !(in_order && one != one && other != other)) return k;
  }
  return width;
}

// As merge_runs, of whole rows of `width` elements: the first that differ say which is before the other.
KERNEL merge_rows(BUFFER(x), BUFFER(order), BUFFER(merged), i64 type, i64 length, i64 width, i64 run) {
  if (ITEM >= length) return;
  const i64 pair = ITEM / (2 * run) * (2 * run);
  GLOBAL const i64 *places = OF(const i64, order);
  const i64 middle = pair + run < length ? pair + run : length, end = pair + 2 * run < length ? pair + 2 * run : length;
  const int left = ITEM < middle;
  const i64 place = places[ITEM], other = left ? middle : pair;
  i64 low = other, high = left ? end : middle;
  while (low < high) {
    const i64 at = low + (high - low) / 2, k = differ_at(x, x_at, type, width, places[at], place, 1);
    int before = !left;  // of equal rows those of the left run are first
    if (k < width) {
      const T found = load(x, x_at + (places[at] * width + k) * SIZE(type), (int)type);
      const T value = load(x, x_at + (place * width + k) * SIZE(type), (int)type);
      before = left ? precedes(found, value, 0) : !precedes(value, found, 0);
    }
    if (before) low = at + 1;
    else high = at;
  }
  OF(i64, merged)[pair + (ITEM - (left ? pair : middle)) + (low - other)] = place;
}

// 1 where a row of an order differs from the one before, else 0.
KERNEL mark_new(BUFFER(x), BUFFER(order), BUFFER(marks), i64 type, i64 length, i64 width) {
  if (ITEM >= length) return;
  GLOBAL const i64 *places = OF(const i64, order);
  OF(i64, marks)[ITEM] = ITEM == 0 || differ_at(x, x_at, type, width, places[ITEM], places[ITEM - 1], 0) < width;
}

// numbers: how many distinct rows an order has up to each place. Where each begins, its first place, and the number of each row.
KERNEL collect_new(BUFFER(order), BUFFER(numbers), BUFFER(starts), BUFFER(firsts), BUFFER(inverse), i64 length) {
  if (ITEM >= length) return;
  const i64 place = OF(const i64, order)[ITEM], number = OF(const i64, numbers)[ITEM] - 1;
  OF(i64, inverse)[place] = number;
  if (ITEM > 0 && OF(const i64, numbers)[ITEM - 1] - 1 == number) return;
  OF(i64, starts)[number] = ITEM;
  OF(i64, firsts)[number] = place;
}

KERNEL lengths_of(BUFFER(starts), BUFFER(out), i64 count, i64 end) {
  if (ITEM >= count) return;
  OF(i64, out)[ITEM] = (ITEM + 1 < count ? OF(const i64, starts)[ITEM + 1] : end) - OF(const i64, starts)[ITEM];
}
