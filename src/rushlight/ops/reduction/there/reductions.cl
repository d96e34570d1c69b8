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

KERNEL reduce(BUFFER(x), BUFFER(shift), BUFFER(out), Layout kept, Layout reduced, i64 type, i64 out_type, i64 results, i64 length,
              i64 parts, i64 combine, i64 take, i64 finish, T number) {
  if (ITEM >= results * parts) return;
  const Part p = part_of(ITEM, length, parts);
  const i64 base = x_at + place_of(&kept, p.result), apart = reduced.ndim ? p.step * reduced.strides[reduced.ndim - 1] : 0;
  const int has_shift = take == TAKE_SQUARE_AWAY || take == TAKE_EXP_AWAY || take >= TAKE_SAME || finish == FINISH_LOG;
  const T moved = has_shift ? OF(const T, shift)[p.result] : (T)0;
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
    if (combine == COMBINE_SUM) {
      const T more = ADD(block, -lost), next = ADD(total, more);
      lost = ADD(ADD(next, -total), -more);
      if (lost != lost) lost = 0;  // of infinite sums
      total = next;
    } else if (combine == COMBINE_PROD) {
      total = MULTIPLY(total, block);
    } else if (total == total && (block != block || (combine == COMBINE_MAX ? block > total : block < total))) {
      total = block;
    }
    i += n * p.step;
  }
  store(out, out_at + ITEM * SIZE(out_type), (int)out_type, finished(total, finish, number, moved));
}

FUNCTION int better(T value, T best, i64 smallest) {
  if (best != best) return 0;
  return value != value || (smallest ? value < best : value > best);
}

// The first place of the largest or smallest of each part; `again`: of the places that `found` has for the parts of a result.
KERNEL find(BUFFER(x), BUFFER(found), BUFFER(out), Layout kept, Layout reduced, i64 type, i64 results, i64 length, i64 parts,
            i64 again, i64 smallest) {
  const i64 items = again ? results : results * parts;
  if (ITEM >= items) return;
  Part p = part_of(ITEM, length, again ? 1 : parts);
  const i64 base = x_at + place_of(&kept, p.result);
  i64 place = -1;
  T best = 0;
  if (again) {
    for (i64 k = 0; k < parts; ++k) {
      const i64 other = OF(const i64, found)[p.result * parts + k];
      if (other < 0) continue;
      const T value = load(x, base + place_of(&reduced, other), (int)type);
      const int same = place >= 0 && (value == best || (value != value && best != best));
      if (place < 0 || better(value, best, smallest) || (same && other < place)) place = other, best = value;
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
KERNEL has(BUFFER(x), BUFFER(value), BUFFER(out), Layout shown, Layout values, i64 type, i64 truth, i64 items, i64 take) {
  if (ITEM >= items) return;
  const T wanted = *(GLOBAL const T *)(value + value_at + place_of(&values, ITEM));
  const T same = taken(load(x, x_at + place_of(&shown, ITEM), (int)type), take, 0, wanted);
  store(out, out_at + ITEM * SIZE(truth), (int)truth, same);
}
#endif
