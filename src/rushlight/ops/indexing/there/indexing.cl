// Elements at the places of an index. `dims` are the dimensions that an index counts through row by row, `size` elements in all; one
// below 0 counts from the end. One that is outside is told to the host; it reads zeros and writes nothing. NONE is meant to be outside.

#define NONE (-((i64)1 << 62))

FUNCTION i64 inside(i64 index, i64 size) {
  if (index < 0) index += size;
  return index < 0 || index >= size ? -1 : index;
}

KERNEL take(BUFFER(x), BUFFER(index), BUFFER(out), GIVEN Layout x_rest, GIVEN Layout index_places, GIVEN Layout out_places,
            GIVEN Layout dims, i64 size, i64 item, i64 items, TELLS) {
  if (ITEM >= items) return;
  const i64 given = *(GLOBAL const i64 *)(index + index_at + place_of(&index_places, ITEM)), at = inside(given, size);
  GLOBAL u8 *to = out + out_at + place_of(&out_places, ITEM);
  if (at < 0) {
    if (given != NONE) TELL(given, size)
    move_bits(to, 0, item);
  } else {
    move(to, x + x_at + place_of(&x_rest, ITEM) + place_of(&dims, at), item);
  }
}

enum { SET, ADD, MULTIPLY, LARGEST, SMALLEST };

#ifdef REAL
#define SUM(a, b) ((a) + (b))
#define PRODUCT(a, b) ((a) * (b))
#else
#define SUM(a, b) ((T)((u64)(a) + (u64)(b)))
#define PRODUCT(a, b) ((T)((u64)(a) * (u64)(b)))
#endif

FUNCTION void land_one(GLOBAL u8 *x, i64 to, GLOBAL const u8 *values, i64 from, int type, i64 item, i64 mode) {
  if (mode == SET) {
    move(x + to, values + from, item);
    return;
  }
  const T a = load(x, to, type), b = load(values, from, type);
  T r = a;
  if (mode == ADD) r = SUM(a, b);
  else if (mode == MULTIPLY) r = PRODUCT(a, b);
  else if (mode == LARGEST) r = a != a || a >= b ? a : b;
  else r = a != a || a <= b ? a : b;
  store(x, to, type, r);
}

// A work item has one place of the dimensions that are not indexed, and goes along the index in order.
KERNEL land(BUFFER(x), BUFFER(index), BUFFER(values), GIVEN Layout x_rest, GIVEN Layout index_rest, GIVEN Layout values_rest,
            GIVEN Layout values_along, GIVEN Layout dims, i64 step, i64 length, i64 size, i64 left_out, i64 type, i64 item, i64 mode,
            i64 items, TELLS) {
  if (ITEM >= items) return;
  const i64 to = x_at + place_of(&x_rest, ITEM), from = values_at + place_of(&values_rest, ITEM);
  GLOBAL const u8 *next = index + index_at + place_of(&index_rest, ITEM);
  for (i64 k = 0; k < length; ++k, next += step) {
    const i64 given = *(GLOBAL const i64 *)next, at = inside(given, size);
    if (at < 0 && given != NONE) TELL(given, size)
    if (at < 0 || at == left_out) continue;
    land_one(x, to + place_of(&dims, at), values, from + place_of(&values_along, k), (int)type, item, mode);
  }
}

// Where few work items would go along a long index: for each of `groups` of `length` indices and each place, the list of what lands
// there. `first` has a head for each, -1 where nothing landed, `next` the index after each one.
KERNEL chain(BUFFER(index), BUFFER(first), BUFFER(next), i64 size, i64 left_out, i64 length, i64 inner, i64 items, TELLS) {
  if (ITEM >= items) return;
  const i64 given = OF(const i64, index)[ITEM], at = inside(given, size);
  if (at < 0 && given != NONE) TELL(given, size)
  if (at < 0 || at == left_out) return;
  // The index is contiguous, the dimension that it goes along is `inner` apart.
  const i64 group = ITEM / (length * inner) * inner + ITEM % inner;
  OF(int, next)[ITEM] = EXCHANGE(OF(int, first) + group * size + at, (int)ITEM);
}

// Puts each list in the order of the index, by merging runs of twice the length.
KERNEL order(BUFFER(first), BUFFER(next), i64 items) {
  if (ITEM >= items) return;
  GLOBAL int *after = OF(int, next);
  int head = OF(int, first)[ITEM];
  for (i64 run = 1;; run *= 2) {
    int rest = head, last = -1, merges = 0;
    head = -1;
    while (rest >= 0) {
      ++merges;
      int a = rest, b = rest;
      i64 of_a = 0, of_b = run;
      while (of_a < run && b >= 0) ++of_a, b = after[b];
      while (of_a > 0 || (of_b > 0 && b >= 0)) {
        const int takes_a = of_a > 0 && (of_b == 0 || b < 0 || a < b);
        const int taken = takes_a ? a : b;
        if (takes_a) --of_a, a = after[a];
        else --of_b, b = after[b];
        if (last < 0) head = taken;
        else after[last] = taken;
        last = taken;
      }
      rest = b;
    }
    if (last >= 0) after[last] = -1;
    if (merges <= 1) break;
  }
  OF(int, first)[ITEM] = head;
}

// A work item does one place: what is in its list, in order.
KERNEL land_lists(BUFFER(x), BUFFER(first), BUFFER(next), BUFFER(values), GIVEN Layout x_rest, GIVEN Layout values_rest,
                  GIVEN Layout values_along, GIVEN Layout dims, i64 grouped, i64 length, i64 inner, i64 size, i64 type, i64 item, i64 mode, i64 items) {
  if (ITEM >= items) return;
  const i64 rest = ITEM / size, at = ITEM % size;
  const i64 to = x_at + place_of(&x_rest, rest) + place_of(&dims, at), from = values_at + place_of(&values_rest, rest);
  for (int k = OF(const int, first)[grouped ? ITEM : at]; k >= 0; k = OF(const int, next)[k]) {
    land_one(x, to, values, from + place_of(&values_along, k / inner % length), (int)type, item, mode);
  }
}

// Sums become means, of integers rounded down; a place where nothing landed has none.
KERNEL divide(BUFFER(x), BUFFER(counts), i64 type, i64 items) {
  if (ITEM >= items) return;
  const i64 count = OF(const i64, counts)[ITEM], to = x_at + ITEM * SIZE(type);
  if (count < 2) return;
  const T value = load(x, to, (int)type);
#ifdef REAL
  store(x, to, (int)type, value / (T)count);
#else
  store(x, to, (int)type, value / count - (value % count < 0));
#endif
}

// One more index of several that count through the dimensions row by row.
KERNEL count_on(BUFFER(index), BUFFER(out), GIVEN Layout places, i64 size, i64 begins, i64 items, TELLS) {
  if (ITEM >= items) return;
  const i64 given = *(GLOBAL const i64 *)(index + index_at + place_of(&places, ITEM)), at = inside(given, size);
  if (at < 0) TELL(given, size)
  GLOBAL i64 *to = OF(i64, out) + ITEM;
  const i64 before = begins ? 0 : *to;
  *to = at < 0 || before < 0 ? NONE : before * size + at;
}

// ---- what is not zero

#define CHUNK 256

// `item` bytes are an element; a floating one is zero whatever its sign.
FUNCTION int filled(GLOBAL const u8 *p, i64 type, i64 item) {
  switch (item) {
    case 1: return *p != 0;
    case 2: return (*(GLOBAL const u16 *)p & (type == TYPE_FLOAT16 || type == TYPE_BFLOAT16 ? 0x7fff : 0xffff)) != 0;
    case 4: return (*(GLOBAL const u32 *)p & (type == TYPE_FLOAT32 ? 0x7fffffffu : 0xffffffffu)) != 0;
    default: return type == TYPE_FLOAT64 ? *(GLOBAL const u64 *)p << 1 != 0 : *(GLOBAL const u64 *)p != 0;
  }
}

KERNEL count_filled(BUFFER(x), BUFFER(counts), i64 type, i64 item, i64 n) {
  const i64 begin = ITEM * CHUNK, end = begin + CHUNK < n ? begin + CHUNK : n;
  if (begin >= n) return;
  i64 count = 0;
  for (i64 i = begin; i < end; ++i) count += filled(x + x_at + i * item, type, item);
  OF(i64, counts)[ITEM] = count;
}

// counts: how many there are before each chunk, and after the last one in all.
KERNEL add_up(BUFFER(counts), i64 chunks) {
  if (ITEM > 0) return;
  i64 sum = 0;
  for (i64 i = 0; i < chunks; ++i) {
    const i64 count = OF(i64, counts)[i];
    OF(i64, counts)[i] = sum;
    sum += count;
  }
  OF(i64, counts)[chunks] = sum;
}

KERNEL list_filled(BUFFER(x), BUFFER(counts), BUFFER(out), i64 type, i64 item, i64 n) {
  const i64 begin = ITEM * CHUNK, end = begin + CHUNK < n ? begin + CHUNK : n;
  if (begin >= n) return;
  i64 at = OF(i64, counts)[ITEM];
  for (i64 i = begin; i < end; ++i) {
    if (filled(x + x_at + i * item, type, item)) OF(i64, out)[at++] = i;
  }
}

// A number that counts through sizes row by row as its numbers in one dimension.
KERNEL number_in(BUFFER(index), BUFFER(out), i64 inner, i64 size, i64 first, i64 items) {
  if (ITEM >= items) return;
  OF(i64, out)[first + ITEM] = OF(const i64, index)[ITEM] / inner % size;
}
