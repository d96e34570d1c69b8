// Reductions of tensors with any strides: a work item reduces a part of the elements of one result. Parts are reduced in turn.
//
// The elements of a part are GROUP_SIZE apart where a result has several parts, so that neighbouring work items read neighbours.
// Floating-point sums are taken in blocks, and the sums of blocks are added with what rounding lost.
#define GROUP_SIZE 64
#define SUM_BLOCK 128

// How elements are combined, what is taken of an element, and what becomes of the result: the numbers of _reductions.py.
enum { COMBINE_SUM, COMBINE_PROD, COMBINE_MAX, COMBINE_MIN };
enum { TAKE_VALUE, TAKE_NONZERO, TAKE_ABS, TAKE_SQUARE, TAKE_POWER, TAKE_SQUARE_AWAY, TAKE_EXP_AWAY, TAKE_NO_NAN, TAKE_SAME,
       TAKE_SAME_OR_NAN };
enum { FINISH_NONE, FINISH_DIVIDE, FINISH_ROOT, FINISH_POWER, FINISH_LOG, FINISH_DIVIDE_ROOT };

#ifdef REAL
#define ADD(a, b) ((a) + (b))
#define MULTIPLY(a, b) ((a) * (b))
#define LEAST (-INFINITE)
#define MOST INFINITE
// The number that is subtracted before exponentials: 0 for infinity, which would make NaN.
FUNCTION T finite_or_0(T x) { return fabs(x) < (T)INFINITE ? x : (T)0; }
FUNCTION T taken(T x, i64 take, T number, T shift) {
  switch (take) {
    case TAKE_NONZERO: return (T)(x != 0 ? 1 : 0);
    case TAKE_ABS: return fabs(x);
    case TAKE_SQUARE: return x * x;
    case TAKE_POWER: return pow(fabs(x), number);
    case TAKE_SQUARE_AWAY: return (x - shift) * (x - shift);
    case TAKE_EXP_AWAY: return exp(x - finite_or_0(shift));
    case TAKE_SAME: return (T)(x == shift ? 1 : 0);
    case TAKE_SAME_OR_NAN: return (T)(x == shift || (x != x && shift != shift) ? 1 : 0);
    case TAKE_NO_NAN: return x == x ? x : (T)0;
    default: return x;
  }
}
FUNCTION T finished(T x, i64 finish, T number, T shift) {
  switch (finish) {
    case FINISH_DIVIDE: return x / number;
    case FINISH_ROOT: return sqrt(x);
    case FINISH_POWER: return pow(x, 1 / number);
    case FINISH_LOG: return log(x) + finite_or_0(shift);
    case FINISH_DIVIDE_ROOT: return sqrt(x / number);
    default: return x;
  }
}
#else
#define ADD(a, b) ((T)((u64)(a) + (u64)(b)))
#define MULTIPLY(a, b) ((T)((u64)(a) * (u64)(b)))
#define LEAST ((T)((u64)1 << 63))
#define MOST (~LEAST)
FUNCTION T taken(T x, i64 take, T number, T shift) { return take == TAKE_NONZERO ? x != 0 : x; }
FUNCTION T finished(T x, i64 finish, T number, T shift) { return x; }
#endif

FUNCTION T identity_of(i64 combine) {
  return combine == COMBINE_SUM ? (T)0 : combine == COMBINE_PROD ? (T)1 : combine == COMBINE_MAX ? (T)LEAST : (T)MOST;
}

// The combination of what is there with a part; `lost`: what rounding lost of sums.
FUNCTION void take_in(T *total, T *lost, T part, i64 combine) {
  if (combine == COMBINE_SUM) {
    const T more = ADD(part, -*lost), next = ADD(*total, more);
    *lost = ADD(ADD(next, -*total), -more);
    if (*lost != *lost) *lost = 0;  // of infinite sums
    *total = next;
  } else if (combine == COMBINE_PROD) {
    *total = MULTIPLY(*total, part);
  } else if (*total == *total && (part != part || (combine == COMBINE_MAX ? part > *total : part < *total))) {
    *total = part;
  }
}

FUNCTION int better(T value, T best, i64 smallest) {
  if (best != best) return 0;
  return value != value || (smallest ? value < best : value > best);
}

// Keeps the better of two elements, of two as good the first; place -1: none so far.
FUNCTION void keep_better(T *best, i64 *place, T value, i64 other, i64 smallest) {
  if (other < 0) return;
  const int same = value == *best || (value != value && *best != *best);
  if (*place < 0 || better(value, *best, smallest) || (same && other < *place)) *place = other, *best = value;
}

// Whether the elements are relative to a number of their result's.
FUNCTION int has_shift(i64 take, i64 finish) {
  return take == TAKE_SQUARE_AWAY || take == TAKE_EXP_AWAY || take >= TAKE_SAME || finish == FINISH_LOG;
}

#ifndef WARPS
// Of the elements of a work item: the first, the end, and how far they are apart.
typedef struct {
  i64 result, first, end, step;
} Part;

FUNCTION Part part_of(i64 item, i64 length, i64 parts) {
  Part p;
  p.result = item / parts;
  p.first = 0;
  p.end = length;
  p.step = 1;
  if (parts > 1) {
    const i64 part = item - p.result * parts, group = part / GROUP_SIZE;
    const i64 span = (length + parts - 1) / parts * GROUP_SIZE;
    p.first = group * span + part % GROUP_SIZE;
    p.end = (group + 1) * span < length ? (group + 1) * span : length;
    p.step = GROUP_SIZE;
  }
  return p;
}

// How many elements from element i on lie in one row of the innermost dimension.
FUNCTION i64 run_of(i64 i, const Layout *l, const Part *p) {
  const i64 inner = l->ndim ? l->sizes[l->ndim - 1] : 1, row = inner - i % inner, rest = p->end - i;
  const i64 n = ((row < rest ? row : rest) + p->step - 1) / p->step;
  return n < SUM_BLOCK ? n : SUM_BLOCK;
}

// Elements as they are have a loop of their own, which is left without a choice for each.
#define ELEMENT load(x, at + k * apart, (int)type)
#define LOOP(read, combination)         \
  for (i64 k = 0; k < n; ++k) {         \
    const T value = read;               \
    block = combination;                \
  }
#define RUN(combination)                                               \
  if (take == TAKE_VALUE) {                                            \
    LOOP(ELEMENT, combination)                                         \
  } else {                                                             \
    LOOP(taken(ELEMENT, take, number, moved), combination)             \
  }                                                                    \
  break;

KERNEL reduce(BUFFER(x), BUFFER(shift), BUFFER(out), GIVEN Layout kept, GIVEN Layout reduced, i64 type, i64 out_type,
              i64 results, i64 length, i64 parts, i64 combine, i64 take, i64 finish, T number) {
  if (ITEM >= results * parts) return;
  const Part p = part_of(ITEM, length, parts);
  const i64 base = x_at + place_of(&kept, p.result), apart = reduced.ndim ? p.step * reduced.strides[reduced.ndim - 1] : 0;
  const T moved = has_shift(take, finish) ? OF(const T, shift)[p.result] : (T)0;
  T total = identity_of(combine), lost = 0;
  for (i64 i = p.first; i < p.end;) {
    const i64 n = run_of(i, &reduced, &p), at = base + place_of(&reduced, i);
    T block = identity_of(combine);
    switch (combine) {
      case COMBINE_SUM: RUN(ADD(block, value))
      case COMBINE_PROD: RUN(MULTIPLY(block, value))
      case COMBINE_MAX: RUN(value > block || value != value ? value : block)
      default: RUN(value < block || value != value ? value : block)
    }
    take_in(&total, &lost, block, combine);
    i += n * p.step;
  }
  store(out, out_at + ITEM * SIZE(out_type), (int)out_type, finished(total, finish, number, moved));
}

// The first place of the largest or smallest of each part; `again`: of the places that `found` has for the parts of a result.
KERNEL find(BUFFER(x), BUFFER(found), BUFFER(out), GIVEN Layout kept, GIVEN Layout reduced, i64 type, i64 results, i64 length,
            i64 parts, i64 again, i64 smallest) {
  const i64 items = again ? results : results * parts;
  if (ITEM >= items) return;
  Part p = part_of(ITEM, length, again ? 1 : parts);
  const i64 base = x_at + place_of(&kept, p.result);
  i64 place = -1;
  T best = 0;
  if (again) {
    for (i64 k = 0; k < parts; ++k) {
      const i64 other = OF(const i64, found)[p.result * parts + k];
      if (other >= 0) keep_better(&best, &place, load(x, base + place_of(&reduced, other), (int)type), other, smallest);
    }
  } else {
    const i64 apart = reduced.ndim ? p.step * reduced.strides[reduced.ndim - 1] : 0;
    for (i64 i = p.first; i < p.end;) {
      const i64 n = run_of(i, &reduced, &p), at = base + place_of(&reduced, i);
      for (i64 k = 0; k < n; ++k) {
        const T value = load(x, at + k * apart, (int)type);
        if (place < 0 || better(value, best, smallest)) place = i + k * p.step, best = value;
      }
      i += n * p.step;
    }
  }
  OF(i64, out)[ITEM] = place;
}

#ifdef REAL
// Whether an element has the result's value.
KERNEL has(BUFFER(x), BUFFER(value), BUFFER(out), GIVEN Layout shown, GIVEN Layout values, i64 type, i64 truth, i64 items,
           i64 take) {
  if (ITEM >= items) return;
  const T wanted = *(GLOBAL const T *)(value + value_at + place_of(&values, ITEM));
  const T same = taken(load(x, x_at + place_of(&shown, ITEM), (int)type), take, 0, wanted);
  store(out, out_at + ITEM * SIZE(truth), (int)truth, same);
}
#endif
#else  // WARPS

// X, HOW and TAKEN: the type of the elements, how they are combined, and what is taken of them.
#include "vectors.cl"
// Neighbours, such read at once, and how often before a block is added.
enum { EACH = PER_16(X), ROUNDS = 4, TURNS = 8 };

struct Two {
  static __device__ T of(T a, T b) {
    if (HOW == COMBINE_SUM) return ADD(a, b);
    if (HOW == COMBINE_PROD) return MULTIPLY(a, b);
    return (HOW == COMBINE_MAX ? b > a : b < a) || b != b ? b : a;
  }
};

FUNCTION void clear(T *block) {
#pragma unroll
  for (int j = 0; j < EACH; ++j) block[j] = identity_of(HOW);
}

// Takes neighbours from `first` on and before `end` into a block.
FUNCTION void add_few(T *block, const Few<X, EACH> &few, int first, int end, T number, const T *moved, int step) {
#pragma unroll
  for (int j = 0; j < EACH; ++j) {
    if (j >= first && j < end) block[j] = Two::of(block[j], taken(few.value(j), TAKEN, number, moved[j * step]));
  }
}

// Rows of neighbours, cut into parts of `span`: `per` work items do one.
KERNEL_OF(WIDE_GROUP) reduce_rows(BUFFER(x), BUFFER(shift), BUFFER(out), GIVEN Layout kept, i64 out_type, i64 results, i64 length,
                                  i64 parts, i64 span, i64 per, i64 finish, T number) {
  const i64 task = quotient(ITEM, per), row = quotient(task, parts), first = (task - row * parts) * span;
  const int lane = MEMBER & ((int)per - 1);
  const i64 rest = length - first, count = row >= results ? 0 : rest < span ? rest : span, apart = per * EACH;
  const u8 *from = x + x_at + place_of(&kept, row) + first * SIZE(X);
  const T moved = row < results && has_shift(TAKEN, finish) ? OF(const T, shift)[row] : (T)0;
  T total = identity_of(HOW), lost = 0;
  for (i64 at = lane * EACH - skew_of<X, EACH>(from); at < count;) {
    T block[EACH];
    clear(block);
    for (int turn = 0; turn < TURNS && at < count; ++turn, at += ROUNDS * apart) {
      Few<X, EACH> few[ROUNDS];
#pragma unroll
      for (int k = 0; k < ROUNDS; ++k) few[k] = fetch_of_row<X, EACH>(from, at + k * apart, count);
#pragma unroll
      for (int k = 0; k < ROUNDS; ++k) {
        const i64 here = at + k * apart, left = count - here;
        add_few(block, few[k], here < 0 ? (int)-here : 0, left < EACH ? (int)left : EACH, number, &moved, 0);
      }
    }
    for (int j = 1; j < EACH; ++j) block[0] = Two::of(block[0], block[j]);
    take_in(&total, &lost, block[0], HOW);
  }
  total = fold<Two>(total, (int)per);
  if (row >= results || lane) return;
  store(out, out_at + task * SIZE(out_type), (int)out_type, finished(total, finish, number, moved));
}

// Columns: elements `down` bytes apart, of which neighbours are read together; a group does
// `across` * EACH columns of a part of the rows. Results of parts come part by part.
KERNEL_OF(WIDE_GROUP) reduce_columns(BUFFER(x), BUFFER(shift), BUFFER(out), GIVEN Layout kept, i64 out_type, i64 columns,
                                     i64 results, i64 length, i64 down, i64 parts, i64 span, i64 across, i64 finish, T number) {
  LOCAL T all[WIDE_GROUP * EACH];
  const i64 tiles = (columns + across * EACH - 1) / (across * EACH), high = WIDE_GROUP / across;
  const i64 stack = quotient(GROUP_NUMBER, tiles), outer = quotient(stack, parts), part = stack - outer * parts;
  const i64 line = MEMBER / (int)across, column = ((GROUP_NUMBER - stack * tiles) * across + MEMBER % (int)across) * EACH;
  const i64 left = columns - column, result = outer * columns + column;
  const i64 end = (part + 1) * span < length ? (part + 1) * span : length;
  const u8 *from = x + x_at + place_of(&kept, outer * columns) + column * SIZE(X);
  T total[EACH], lost[EACH], moved[EACH];
  clear(total);
#pragma unroll
  for (int j = 0; j < EACH; ++j) {
    lost[j] = 0;
    moved[j] = has_shift(TAKEN, finish) && j < left ? OF(const T, shift)[result + j] : (T)0;
  }
  for (i64 i = part * span + line; i < end;) {
    T block[EACH];
    clear(block);
    for (int turn = 0; turn < TURNS && i < end; ++turn, i += ROUNDS * high) {
      Few<X, EACH> few[ROUNDS];
#pragma unroll
      for (int k = 0; k < ROUNDS; ++k) few[k] = fetch<X, EACH>(from + (i + k * high) * down, i + k * high < end ? left : 0);
#pragma unroll
      for (int k = 0; k < ROUNDS; ++k) {
        if (i + k * high < end) add_few(block, few[k], 0, EACH, number, moved, 1);
      }
    }
#pragma unroll
    for (int j = 0; j < EACH; ++j) take_in(&total[j], &lost[j], block[j], HOW);
  }
#pragma unroll
  for (int j = 0; j < EACH; ++j) all[MEMBER * EACH + j] = total[j];
  for (int step = (int)high / 2; step; step /= 2) {
    BARRIER;
    if (line >= step) continue;
    for (int j = 0; j < EACH; ++j) {
      T *one = &all[MEMBER * EACH + j];
      *one = Two::of(*one, one[step * across * EACH]);
    }
  }
  if (line) return;
  for (int j = 0; j < EACH && j < left; ++j) {
    const T value = finished(all[MEMBER * EACH + j], finish, number, moved[j]);
    store(out, out_at + (part * results + result + j) * SIZE(out_type), (int)out_type, value);
  }
}

// The first place of the largest or smallest of each part of a row; `again`: of the places that
// `found` has for a row's parts.
KERNEL_OF(WIDE_GROUP) find_rows(BUFFER(x), BUFFER(found), BUFFER(out), GIVEN Layout kept, i64 results, i64 length, i64 parts,
                                i64 span, i64 per, i64 again, i64 smallest) {
  LOCAL T bests[WIDE_GROUP / 32];
  LOCAL i64 places[WIDE_GROUP / 32];
  const i64 task = quotient(ITEM, per), row = again ? task : quotient(task, parts);
  const i64 first = again ? 0 : (task - row * parts) * span;
  const int lane = MEMBER & ((int)per - 1);
  const i64 rest = length - first, count = row >= results ? 0 : rest < span ? rest : span, apart = per * EACH;
  const u8 *from = x + x_at + place_of(&kept, row) + first * SIZE(X);
  i64 place = -1;
  T best = 0;
  if (again) {
    for (i64 k = lane; k < parts && row < results; k += per) {
      const i64 other = OF(const i64, found)[row * parts + k];
      keep_better(&best, &place, load(from, other * SIZE(X), X), other, smallest);
    }
  } else {
    for (i64 at = lane * EACH - skew_of<X, EACH>(from); at < count; at += ROUNDS * apart) {
      Few<X, EACH> few[ROUNDS];
#pragma unroll
      for (int k = 0; k < ROUNDS; ++k) few[k] = fetch_of_row<X, EACH>(from, at + k * apart, count);
#pragma unroll
      for (int k = 0; k < ROUNDS; ++k) {
#pragma unroll
        for (int j = 0; j < EACH; ++j) {
          const i64 here = at + k * apart + j;
          const T value = few[k].value(j);
          if (here >= 0 && here < count && (place < 0 || better(value, best, smallest))) place = first + here, best = value;
        }
      }
    }
  }
  for (int step = (per < 32 ? (int)per : 32) / 2; step; step /= 2) {
    const T other = __shfl_xor_sync(WHOLE_WARP, best, step);
    keep_better(&best, &place, other, __shfl_xor_sync(WHOLE_WARP, place, step), smallest);
  }
  if (per > 32) {
    if (MEMBER % 32 == 0) bests[MEMBER / 32] = best, places[MEMBER / 32] = place;
    BARRIER;
    for (int k = 0; k < WIDE_GROUP / 32; ++k) keep_better(&best, &place, bests[k], places[k], smallest);
  }
  if (row < results && lane == 0) OF(i64, out)[task] = place;
}
#endif
