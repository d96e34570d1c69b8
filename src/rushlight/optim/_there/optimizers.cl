// Steps of optimizers, and norms and scales of gradients. Every intermediate is rounded in the
// order of the separate tensor operations, but those of halves are floats. A kernel takes one
// parameter, or on NVIDIA's GPUs all those of a table.
#ifdef REAL
#pragma OPENCL FP_CONTRACT OFF

#ifdef WIDE
typedef double Wider;
#else
typedef T Wider;
#endif

#define HAS_MOMENTUM 1
#define IS_FIRST 2
#define NESTEROV 4

typedef struct {
  T rate, momentum, mix, decay, sign;
  i64 how;
} Sgd;

// rate, correction: of the step's number.
typedef struct {
  T rate, correction, eps, weight, beta2, rest, shrink, decay, sign;
  i64 keeps_highest;
} Adam;

// The parameter after a step. buffer: the running sum of gradients.
FUNCTION T sgd_of(const Sgd *o, T p, T grad, T *buffer) {
  T g = o->sign * grad;
  if (o->decay != 0) g = g + o->decay * p;
  if ((o->how & HAS_MOMENTUM) != 0) {
    *buffer = (o->how & IS_FIRST) != 0 ? g : *buffer * o->momentum + o->mix * g;
    g = (o->how & NESTEROV) != 0 ? g + o->momentum * *buffer : *buffer;
  }
  return p + o->rate * g;
}

FUNCTION T adam_of(const Adam *o, T rate, T correction, T before, T grad, T *mean, T *square, T *highest) {
  const T p = before * o->shrink;
  T g = o->sign * grad;
  if (o->decay != 0) g = g + o->decay * p;
  // the interpolation starts from the nearer end
  const T m = o->weight < (T)0.5 && o->weight > (T)-0.5 ? *mean + o->weight * (g - *mean) : g - (g - *mean) * (1 - o->weight);
  const T v = *square * o->beta2 + o->rest * g * g;
  *mean = m, *square = v;
  if (o->keeps_highest) *highest = *highest > v || *highest != *highest ? *highest : v;
  return p + rate * m / (sqrt(o->keeps_highest ? *highest : v) / correction + o->eps);
}

KERNEL sgd(BUFFER(param), BUFFER(grad), BUFFER(buffer), i64 type, i64 count, GIVEN Sgd o) {
  if (ITEM >= count) return;
  const i64 at = ITEM * SIZE(type);
  const bool reads = (o.how & HAS_MOMENTUM) != 0 && (o.how & IS_FIRST) == 0;
  T b = reads ? load(buffer, buffer_at + at, (int)type) : 0;
  const T p = sgd_of(&o, load(param, param_at + at, (int)type), load(grad, grad_at + at, (int)type), &b);
  if ((o.how & HAS_MOMENTUM) != 0) store(buffer, buffer_at + at, (int)type, b);
  store(param, param_at + at, (int)type, p);
}

// highest: no memory where the largest second moment is not kept.
KERNEL adam(BUFFER(param), BUFFER(grad), BUFFER(mean), BUFFER(square), BUFFER(highest), i64 type, i64 count, GIVEN Adam o) {
  if (ITEM >= count) return;
  const i64 at = ITEM * SIZE(type);
  T m = load(mean, mean_at + at, (int)type), v = load(square, square_at + at, (int)type);
  T top = o.keeps_highest ? load(highest, highest_at + at, (int)type) : 0;
  const T before = load(param, param_at + at, (int)type), g = load(grad, grad_at + at, (int)type);
  const T p = adam_of(&o, o.rate, o.correction, before, g, &m, &v, &top);
  store(mean, mean_at + at, (int)type, m);
  store(square, square_at + at, (int)type, v);
  if (o.keeps_highest) store(highest, highest_at + at, (int)type, top);
  store(param, param_at + at, (int)type, p);
}

// The squares of every `parts`-th element from ITEM on, summed into sums[place + ITEM].
KERNEL squares(BUFFER(x), BUFFER(sums), i64 type, i64 count, i64 parts, i64 place) {
  if (ITEM >= parts) return;
  Wider sum = 0;
  for (i64 i = ITEM; i < count; i += parts) {
    const Wider value = (Wider)load(x, x_at + i * SIZE(type), (int)type);
    sum += value * value;
  }
  OF(Wider, sums)[place + ITEM] = sum;
}

KERNEL root_of_sum(BUFFER(sums), BUFFER(out), i64 type, i64 parts) {
  if (ITEM > 0) return;
  Wider sum = 0;
  for (i64 i = 0; i < parts; ++i) sum += OF(Wider, sums)[i];
  store(out, out_at, (int)type, (T)sqrt(sum));
}

// A factor is a number, or where there is memory the element there.
FUNCTION T factor_of(GLOBAL const u8 *of, i64 of_at, i64 of_type, T factor) { return of ? load(of, of_at, (int)of_type) : factor; }

KERNEL scale(BUFFER(x), i64 type, i64 count, BUFFER(of), i64 of_type, T factor) {
  if (ITEM >= count) return;
  const i64 at = x_at + ITEM * SIZE(type);
  store(x, at, (int)type, load(x, at, (int)type) * factor_of(of, of_at, of_type, factor));
}

#ifdef WARPS
#include "vectors.cl"

#define CHUNK 2048  // elements that a group does

// The elements that a group does: those of a part of the tensors at one place of a table.
struct Part {
  i64 row, at, count;  // the place's first word, the first element, how many there are from that on
  __device__ Part(const Table &table) {
    const i64 width = table.lists + 2;
    i64 low = 0;
    for (i64 high = table.places; high - low > 1;) {
      const i64 middle = (low + high) / 2;
      if (table.words[middle * width] <= GROUP_NUMBER) low = middle;
      else high = middle;
    }
    row = low * width;
    at = (GROUP_NUMBER - table.words[row]) * CHUNK;
    count = table.words[row + 1] - at < CHUNK ? table.words[row + 1] - at : CHUNK;
  }
  __device__ u8 *list(const Table &table, int k) const { return (u8 *)table.words[row + 2 + k]; }
};

// Calls `f` with the elements of a group's part, one of each list at a time. Bits of `read` and
// `written`: of which lists.
template <int LISTS, class F> FUNCTION void over(const Table &table, int read, int written, const F &f) {
  constexpr int N = PER_16(ELEMENT);
  const Part part(table);
  for (i64 i = MEMBER * N; i < part.count; i += WIDE_GROUP * N) {
    T values[LISTS][N] = {};
#pragma unroll
    for (int k = 0; k < LISTS; ++k) {
      if (!(read >> k & 1)) continue;
      const Few<ELEMENT, N> few = fetch<ELEMENT, N>(part.list(table, k) + (part.at + i) * SIZE(ELEMENT), part.count - i);
#pragma unroll
      for (int j = 0; j < N; ++j) values[k][j] = few.value(j);
    }
#pragma unroll
    for (int j = 0; j < N; ++j) {
      T one[LISTS];
#pragma unroll
      for (int k = 0; k < LISTS; ++k) one[k] = values[k][j];
      f(one);
#pragma unroll
      for (int k = 0; k < LISTS; ++k) values[k][j] = one[k];
    }
#pragma unroll
    for (int k = 0; k < LISTS; ++k) {
      if (written >> k & 1) put<ELEMENT, N>(part.list(table, k) + (part.at + i) * SIZE(ELEMENT), values[k], 0, part.count - i);
    }
  }
}

KERNEL_OF(WIDE_GROUP) sgd_all(GIVEN Table table, GIVEN Sgd o) {
  const bool kept = o.how & HAS_MOMENTUM, first = o.how & IS_FIRST;
  over<3>(table, kept && !first ? 7 : 3, kept ? 5 : 1, [&](T *of) { of[0] = sgd_of(&o, of[0], of[1], &of[2]); });
}

// The numbers of steps where a table's last list has them, of an element type. type: -1 where they
// are in `Adam` already.
typedef struct {
  double lr, beta1, beta2;
  i64 type;
} Counted;

KERNEL_OF(WIDE_GROUP) adam_all(GIVEN Table table, GIVEN Adam o, GIVEN Counted counted) {
  LOCAL T of_count[2];
  T rate = o.rate, correction = o.correction;
  if (counted.type >= 0) {
    if (MEMBER == 0) {
      const double count = load(Part(table).list(table, (int)table.lists - 1), 0, (int)counted.type);
      of_count[0] = (T) - (counted.lr / (1 - pow(counted.beta1, count)));
      of_count[1] = (T)sqrt(1 - pow(counted.beta2, count));
    }
    BARRIER;
    rate = of_count[0], correction = of_count[1];
  }
  const int highest = o.keeps_highest ? 16 : 0;
  over<5>(table, 15 | highest, 13 | highest,
          [&](T *of) { of[0] = adam_of(&o, rate, correction, of[0], of[1], &of[2], &of[3], &of[4]); });
}

// T is double. The squares of what a group does, summed into one of sums.
KERNEL_OF(WIDE_GROUP) squares_all(GIVEN Table table, BUFFER(sums)) {
  T sum = 0;
  over<1>(table, 1, 0, [&](T *of) { sum += *of * *of; });
  sum = fold<Sum>(sum, WIDE_GROUP);
  if (MEMBER == 0) OF(T, sums)[table.before + GROUP_NUMBER] = sum;
}

KERNEL_OF(WIDE_GROUP) root_of_all(BUFFER(sums), BUFFER(out), i64 type, i64 parts) {
  T sum = 0;
  for (i64 i = MEMBER; i < parts; i += WIDE_GROUP) sum += OF(T, sums)[i];
  sum = fold<Sum>(sum, WIDE_GROUP);
  if (MEMBER == 0) store(out, out_at, (int)type, sqrt(sum));
}

KERNEL_OF(WIDE_GROUP) scale_all(GIVEN Table table, BUFFER(of), i64 of_type, T factor) {
  const T by = factor_of(of, of_at, of_type, factor);
  over<1>(table, 1, 1, [&](T *x) { *x = *x * by; });
}

KERNEL_OF(WIDE_GROUP) add_all(GIVEN Table table, T value) {
  over<1>(table, 1, 1, [&](T *x) { *x = *x + value; });
}
#endif
#endif
