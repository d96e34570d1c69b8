// Reductions over rows and columns, arg-reductions, variance and running sums.
#include <type_traits>

#include "kernels/isa/dense_impl.h"
#include "kernels/isa/reduction/reduce_core.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

// --- integers and truth values: plain loops, the compiler vectorises them ---

// A bool's byte may be anything where it comes from outside; all but 0 are true.
struct Truth {
  uint8_t byte;
  explicit operator uint64_t() const { return byte != 0; }
};

// Sums and products, which wrap, in 64 bits.
template <bool Product>
RUSHLIGHT_INLINE uint64_t accumulate(uint64_t a, uint64_t b) {
  return Product ? a * b : a + b;
}

template <bool Product, class T>
void integer_rows(const char* in, ptrdiff_t rows, ptrdiff_t row_stride, ptrdiff_t n, void* out) {
  uint64_t* result = static_cast<uint64_t*>(out);
  for (ptrdiff_t r = 0; r < rows; r++, in += row_stride) {
    const T* p = reinterpret_cast<const T*>(in);
    uint64_t acc = Product ? 1 : 0;
    for (ptrdiff_t i = 0; i < n; i++) acc = accumulate<Product>(acc, static_cast<uint64_t>(p[i]));
    result[r] = acc;
  }
}

template <bool Product, class T>
void integer_columns(const char* in, ptrdiff_t n, ptrdiff_t row_stride, ptrdiff_t inner, void* out) {
  uint64_t* result = static_cast<uint64_t*>(out);
  for (ptrdiff_t j = 0; j < inner; j++) result[j] = Product ? 1 : 0;
  for (ptrdiff_t r = 0; r < n; r++, in += row_stride) {
    const T* p = reinterpret_cast<const T*>(in);
    RUSHLIGHT_INDEPENDENT
    for (ptrdiff_t j = 0; j < inner; j++) result[j] = accumulate<Product>(result[j], static_cast<uint64_t>(p[j]));
  }
}

template <bool Product>
Reducer integer_reducer(DType dtype) {
  switch (dtype) {
    case DType::Bool: return {DType::I64, integer_rows<Product, Truth>, integer_columns<Product, Truth>};
    case DType::U8: return {DType::I64, integer_rows<Product, uint8_t>, integer_columns<Product, uint8_t>};
    case DType::I8: return {DType::I64, integer_rows<Product, int8_t>, integer_columns<Product, int8_t>};
    case DType::I16: return {DType::I64, integer_rows<Product, int16_t>, integer_columns<Product, int16_t>};
    case DType::I32: return {DType::I64, integer_rows<Product, int32_t>, integer_columns<Product, int32_t>};
    case DType::I64: return {DType::I64, integer_rows<Product, int64_t>, integer_columns<Product, int64_t>};
    default: return {};
  }
}

// One loop for extremes of integers, any and all: the least (x & mask) ^ flip, as signed integers.
// Flipping all bits reverses the order: the largest of 3 and 5 is ~(the least of ~3 and ~5).
// Flipping the sign bit puts unsigned integers in order: uint8 3 and 200 become -125 and 72. Any is
// true if the largest unsigned is not 0, all if the least is not.
template <class T>
struct Order {
  T mask, flip;
};
template <Reduce R, class Element, class T>
constexpr Order<T> order_of() {
  constexpr T sign = static_cast<T>(T(1) << (8 * sizeof(T) - 1));
  constexpr bool truth = R == Reduce::Any || R == Reduce::All, real = Element(0.5) != Element(0);
  const T of_sign = truth || Element(-1) > Element(0) ? sign : T(0);
  const T of_end = R == Reduce::Max || R == Reduce::Any ? T(-1) : T(0);
  return {static_cast<T>(truth && real ? ~sign : T(-1)), static_cast<T>(of_sign ^ of_end)};  // -0.0 is false
}

template <class T>
constexpr T kGreatest = static_cast<T>(~(T(1) << (8 * sizeof(T) - 1)));

template <class T>
RUSHLIGHT_SHARED T least(Order<T> order, const T* p, ptrdiff_t n) {
  T best = kGreatest<T>;
  for (ptrdiff_t i = 0; i < n; i++) {
    const T x = static_cast<T>((p[i] & order.mask) ^ order.flip);
    best = x < best ? x : best;
  }
  return static_cast<T>(best ^ order.flip);
}

// The same of `width` columns.
template <class T>
RUSHLIGHT_SHARED void least_columns(Order<T> order, const char* in, ptrdiff_t n, ptrdiff_t row_stride, ptrdiff_t width, T* best) {
  const auto at = [&](const char* row, ptrdiff_t j) {
    return static_cast<T>((reinterpret_cast<const T*>(row)[j] & order.mask) ^ order.flip);
  };
  const auto lesser = [](T a, T b) { return a < b ? a : b; };
  for (ptrdiff_t j = 0; j < width; j++) best[j] = kGreatest<T>;
  ptrdiff_t r = 0;
  for (; r + 4 <= n; r += 4, in += 4 * row_stride) {
    const char *b = in + row_stride, *c = b + row_stride, *d = c + row_stride;
    RUSHLIGHT_INDEPENDENT
    for (ptrdiff_t j = 0; j < width; j++)
      best[j] = lesser(best[j], lesser(lesser(at(in, j), at(b, j)), lesser(at(c, j), at(d, j))));
  }
  for (; r < n; r++, in += row_stride) {
    RUSHLIGHT_INDEPENDENT
    for (ptrdiff_t j = 0; j < width; j++) best[j] = lesser(best[j], at(in, j));
  }
  for (ptrdiff_t j = 0; j < width; j++) best[j] = static_cast<T>(best[j] ^ order.flip);
}

constexpr ptrdiff_t kColumnTile = 256;

template <Reduce R, class Element, class T>
void extreme_rows(const char* in, ptrdiff_t rows, ptrdiff_t row_stride, ptrdiff_t n, void* out) {
  for (ptrdiff_t r = 0; r < rows; r++, in += row_stride) {
    const T x = least(order_of<R, Element, T>(), reinterpret_cast<const T*>(in), n);
    if constexpr (R == Reduce::Any || R == Reduce::All) static_cast<uint8_t*>(out)[r] = x != 0;
    else static_cast<T*>(out)[r] = x;
  }
}

template <Reduce R, class Element, class T>
void extreme_columns(const char* in, ptrdiff_t n, ptrdiff_t row_stride, ptrdiff_t inner, void* out) {
  if constexpr (R == Reduce::Any || R == Reduce::All) {
    T best[kColumnTile];
    for (ptrdiff_t j = 0; j < inner; j += kColumnTile) {
      const ptrdiff_t width = smaller(kColumnTile, inner - j);
      least_columns(order_of<R, Element, T>(), in + j * static_cast<ptrdiff_t>(sizeof(T)), n, row_stride, width, best);
      for (ptrdiff_t i = 0; i < width; i++) static_cast<uint8_t*>(out)[j + i] = best[i] != 0;
    }
  } else {
    least_columns(order_of<R, Element, T>(), in, n, row_stride, inner, static_cast<T*>(out));
  }
}

template <Reduce R, class Element, class T>
Reducer extreme_reducer(DType result) {
  return {result, extreme_rows<R, Element, T>, extreme_columns<R, Element, T>};
}

// Any and All of all types, Max and Min of integers; of bools these are Any and All.
template <Reduce R>
Reducer extreme_reducer(DType dtype) {
  constexpr bool truth = R == Reduce::Any || R == Reduce::All;
  constexpr Reduce kOfBools = R == Reduce::Max ? Reduce::Any : R == Reduce::Min ? Reduce::All : R;
  const DType result = truth ? DType::Bool : dtype;
  switch (dtype) {
    case DType::Bool: return extreme_reducer<kOfBools, uint8_t, int8_t>(result);
    case DType::U8: return extreme_reducer<R, uint8_t, int8_t>(result);
    case DType::I8: return extreme_reducer<R, int8_t, int8_t>(result);
    case DType::I16: return extreme_reducer<R, int16_t, int16_t>(result);
    case DType::I32: return extreme_reducer<R, int32_t, int32_t>(result);
    case DType::I64: return extreme_reducer<R, int64_t, int64_t>(result);
    case DType::F32:
      if constexpr (truth) return extreme_reducer<R, float, int32_t>(result);
      break;
    case DType::F64:
      if constexpr (truth) return extreme_reducer<R, double, int64_t>(result);
      break;
    default: break;
  }
  return {};
}

// --- floating point ---

template <class Op, class T>
void float_rows(const char* in, ptrdiff_t rows, ptrdiff_t row_stride, ptrdiff_t n, void* out) {
  T* result = static_cast<T*>(out);
  for (ptrdiff_t r = 0; r < rows; r++, in += row_stride) result[r] = reduce_adjacent(Op{}, reinterpret_cast<const T*>(in), n);
}

constexpr ptrdiff_t kRowBlock = 64;

template <class V, class T>
RUSHLIGHT_INLINE V get(const T* p) {
  if constexpr (sizeof(V) == sizeof(T)) return *p;
  else return V::load(p);
}
template <class T>
RUSHLIGHT_INLINE void put(T* p, T x) {
  *p = x;
}
template <class T>
RUSHLIGHT_INLINE void put(T* p, Vec<T> x) {
  x.store(p);
}

// Calls f<V>(j) for columns j of `width`: V a register where that many are left, else one element.
template <class T, class F>
RUSHLIGHT_INLINE void for_columns(ptrdiff_t width, F f) {
  ptrdiff_t j = 0;
  for (; j + Vec<T>::N <= width; j += Vec<T>::N) f.template operator()<Vec<T>>(j);
  RUSHLIGHT_INDEPENDENT
  for (; j < width; j++) f.template operator()<T>(j);
}

// Reduces n rows of a tile of at most kColumnTile columns: blocks of rows in order, blocks pairwise.
template <class Op, class T>
RUSHLIGHT_SHARED void float_tile(const char* in, ptrdiff_t n, ptrdiff_t row_stride, ptrdiff_t width, T* out) {
  const Op op;
  if (n > kRowBlock) {
    T right[kColumnTile];
    const ptrdiff_t left_n = (n / 2 + kRowBlock - 1) / kRowBlock * kRowBlock;
    float_tile<Op, T>(in, left_n, row_stride, width, out);
    float_tile<Op, T>(in + left_n * row_stride, n - left_n, row_stride, width, right);
    for_columns<T>(width, [&]<class V>(ptrdiff_t j) { put(out + j, Op::combine(get<V>(out + j), get<V>(right + j))); });
    return;
  }
  const T* p = reinterpret_cast<const T*>(in);
  for_columns<T>(width, [&]<class V>(ptrdiff_t j) { put(out + j, op.first(get<V>(p + j))); });
  ptrdiff_t r = 1;
  for (; r + 4 <= n; r += 4) {
    const T* a = reinterpret_cast<const T*>(in + r * row_stride);
    const T* b = reinterpret_cast<const T*>(in + (r + 1) * row_stride);
    const T* c = reinterpret_cast<const T*>(in + (r + 2) * row_stride);
    const T* d = reinterpret_cast<const T*>(in + (r + 3) * row_stride);
    for_columns<T>(width, [&]<class V>(ptrdiff_t j) {
      const V ab = Op::combine(op.first(get<V>(a + j)), op.first(get<V>(b + j)));
      const V cd = Op::combine(op.first(get<V>(c + j)), op.first(get<V>(d + j)));
      put(out + j, Op::combine(get<V>(out + j), Op::combine(ab, cd)));
    });
  }
  for (; r < n; r++) {
    const T* a = reinterpret_cast<const T*>(in + r * row_stride);
    for_columns<T>(width, [&]<class V>(ptrdiff_t j) { put(out + j, Op::combine(get<V>(out + j), op.first(get<V>(a + j)))); });
  }
}

template <class Op, class T>
void float_columns(const char* in, ptrdiff_t n, ptrdiff_t row_stride, ptrdiff_t inner, void* out) {
  T* result = static_cast<T*>(out);
  if (n == 0) {
    for (ptrdiff_t j = 0; j < inner; j++) result[j] = Op::template identity<T>();
    return;
  }
  for (ptrdiff_t j = 0; j < inner; j += kColumnTile)
    float_tile<Op, T>(in + j * static_cast<ptrdiff_t>(sizeof(T)), n, row_stride, smaller(kColumnTile, inner - j), result + j);
}

template <class Op>
Reducer float_reducer(DType dtype) {
  if (dtype == DType::F32) return {DType::F32, float_rows<Op, float>, float_columns<Op, float>};
  if (dtype == DType::F64) return {DType::F64, float_rows<Op, double>, float_columns<Op, double>};
  return {};
}

// The sums of parts at even and at odd places, with halves of long rows apart as in reduce_adjacent.
template <class T>
RUSHLIGHT_SHARED void sum_parts(const T* p, ptrdiff_t n, T* out) {
  using V = Vec<T>;
  static_assert(V::N % 2 == 0);
  if (n > kReduceBlock) {
    const ptrdiff_t left = (n / 2 + kReduceBlock - 1) / kReduceBlock * kReduceBlock;
    T rest[2];
    sum_parts(p, left, out);
    sum_parts(p + left, n - left, rest);
    out[0] += rest[0], out[1] += rest[1];
    return;
  }
  V sums[4] = {V::all(0), V::all(0), V::all(0), V::all(0)};
  ptrdiff_t i = 0;
  for (; i + 4 * V::N <= n; i += 4 * V::N)
    for (int k = 0; k < 4; k++) sums[k] = sums[k] + V::load(p + i + k * V::N);
  for (; i + V::N <= n; i += V::N) sums[0] = sums[0] + V::load(p + i);
  T lanes[V::N];
  ((sums[0] + sums[1]) + (sums[2] + sums[3])).store(lanes);
  out[0] = out[1] = 0;
  for (int j = 0; j < V::N; j++) out[j % 2] += lanes[j];
  for (; i < n; i++) out[i % 2] += p[i];
}
template <class T>
void pair_rows(const char* in, ptrdiff_t rows, ptrdiff_t row_stride, ptrdiff_t n, void* out) {
  for (ptrdiff_t r = 0; r < rows; r++, in += row_stride)
    sum_parts(reinterpret_cast<const T*>(in), 2 * n, static_cast<T*>(out) + 2 * r);
}
template <class T>
void pair_columns(const char* in, ptrdiff_t n, ptrdiff_t row_stride, ptrdiff_t inner, void* out) {
  float_columns<SumOp, T>(in, n, row_stride, 2 * inner, out);
}

Reducer reducer(Reduce op, DType dtype) {
  if (op == Reduce::Sum && dtype == DType::C64) return {dtype, pair_rows<float>, pair_columns<float>};
  if (op == Reduce::Sum && dtype == DType::C128) return {dtype, pair_rows<double>, pair_columns<double>};
  const bool is_float = dtype == DType::F32 || dtype == DType::F64;
  switch (op) {
    case Reduce::Sum: return is_float ? float_reducer<SumOp>(dtype) : integer_reducer<false>(dtype);
    case Reduce::Prod: return is_float ? float_reducer<ProdOp>(dtype) : integer_reducer<true>(dtype);
    case Reduce::Max: return is_float ? float_reducer<MaxOp>(dtype) : extreme_reducer<Reduce::Max>(dtype);
    case Reduce::Min: return is_float ? float_reducer<MinOp>(dtype) : extreme_reducer<Reduce::Min>(dtype);
    case Reduce::NanSum: return is_float ? float_reducer<NanSumOp>(dtype) : integer_reducer<false>(dtype);
    case Reduce::SumSquares: return float_reducer<SumSquaresOp>(dtype);
    case Reduce::Any: return extreme_reducer<Reduce::Any>(dtype);
    case Reduce::All: return extreme_reducer<Reduce::All>(dtype);
    default: return {};
  }
}

// --- arg-reductions: find the extreme value, then where it stands first ---

template <bool Largest, class T>
void float_arg_rows(const char* in, ptrdiff_t rows, ptrdiff_t row_stride, ptrdiff_t n, int64_t* out) {
  using Op = std::conditional_t<Largest, MaxOp, MinOp>;
  for (ptrdiff_t r = 0; r < rows; r++, in += row_stride) {
    const T* p = reinterpret_cast<const T*>(in);
    const T best = reduce_adjacent(Op{}, p, n);
    ptrdiff_t i = 0;
    if (best != best)
      while (p[i] == p[i]) i++;
    else
      while (p[i] != best) i++;
    out[r] = i;
  }
}

template <bool Largest, class Element, class T>
void integer_arg_rows(const char* in, ptrdiff_t rows, ptrdiff_t row_stride, ptrdiff_t n, int64_t* out) {
  for (ptrdiff_t r = 0; r < rows; r++, in += row_stride) {
    const T* p = reinterpret_cast<const T*>(in);
    const T best = least(order_of<Largest ? Reduce::Max : Reduce::Min, Element, T>(), p, n);
    ptrdiff_t i = 0;
    while (p[i] != best) i++;
    out[r] = i;
  }
}

template <bool Largest>
void truth_arg_rows(const char* in, ptrdiff_t rows, ptrdiff_t row_stride, ptrdiff_t n, int64_t* out) {
  for (ptrdiff_t r = 0; r < rows; r++, in += row_stride) {
    ptrdiff_t i = 0;
    while (i < n && (in[i] != 0) != Largest) i++;
    out[r] = i < n ? i : 0;
  }
}

using ArgRows = void (*)(const char*, ptrdiff_t, ptrdiff_t, ptrdiff_t, int64_t*);

template <bool Largest>
ArgRows arg_rows_for(DType dtype) {
  switch (dtype) {
    case DType::Bool: return truth_arg_rows<Largest>;
    case DType::U8: return integer_arg_rows<Largest, uint8_t, int8_t>;
    case DType::I8: return integer_arg_rows<Largest, int8_t, int8_t>;
    case DType::I16: return integer_arg_rows<Largest, int16_t, int16_t>;
    case DType::I32: return integer_arg_rows<Largest, int32_t, int32_t>;
    case DType::I64: return integer_arg_rows<Largest, int64_t, int64_t>;
    case DType::F32: return float_arg_rows<Largest, float>;
    case DType::F64: return float_arg_rows<Largest, double>;
    default: return nullptr;
  }
}

ArgRows arg_rows(bool largest, DType dtype) { return largest ? arg_rows_for<true>(dtype) : arg_rows_for<false>(dtype); }

// --- variance: two passes, the second corrected for the rounding of the mean ---

struct DeviationOp {
  double mean;
  template <class T>
  static RUSHLIGHT_INLINE T identity() {
    return T(0);
  }
  RUSHLIGHT_INLINE float first(float x) const { return x - static_cast<float>(mean); }
  RUSHLIGHT_INLINE double first(double x) const { return x - mean; }
  template <class T>
  RUSHLIGHT_INLINE Vec<T> first(Vec<T> x) const {
    return x - Vec<T>::all(static_cast<T>(mean));
  }
  template <class V>
  static RUSHLIGHT_INLINE V combine(V a, V b) {
    return a + b;
  }
};
struct SquaredDeviationOp : DeviationOp {
  template <class V>
  RUSHLIGHT_INLINE V first(V x) const {
    const V d = DeviationOp::first(x);
    return d * d;
  }
};

template <class T>
void variance_of(const char* in, ptrdiff_t rows, ptrdiff_t row_stride, ptrdiff_t n, double divisor, T* out, T* mean) {
  for (ptrdiff_t r = 0; r < rows; r++, in += row_stride) {
    const T* p = reinterpret_cast<const T*>(in);
    const double m = static_cast<T>(static_cast<double>(reduce_adjacent(SumOp{}, p, n)) / static_cast<double>(n));
    const double squares = reduce_adjacent(SquaredDeviationOp{{m}}, p, n);
    const double rest = reduce_adjacent(DeviationOp{m}, p, n);
    out[r] = static_cast<T>((squares - (n ? rest * rest / static_cast<double>(n) : 0.0)) / divisor);
    if (mean) mean[r] = static_cast<T>(m + rest / static_cast<double>(n));
  }
}

void variance_rows(DType dtype, const char* in, ptrdiff_t rows, ptrdiff_t row_stride, ptrdiff_t n, double divisor, void* out,
                   void* mean) {
  float_or_double(
      dtype, [&]<class T>() { variance_of<T>(in, rows, row_stride, n, divisor, static_cast<T*>(out), static_cast<T*>(mean)); });
}

// --- running sums and products ---

template <bool Product, class A>
RUSHLIGHT_INLINE A accumulated(A a, A b) {
  return Product ? a * b : a + b;
}

// Rows of one or two columns go side by side: each sum waits for the one before. They begin with acc;
// `step` is 1, or -1 from the end on.
constexpr ptrdiff_t kRows = 8;
template <bool Product, int kInner = 1, class T, class A>
void cumulate_rows(const T* in, ptrdiff_t next, ptrdiff_t n, ptrdiff_t step, T* out, A* acc) {
  for (ptrdiff_t i = 0; i < n; i++) {
    for (ptrdiff_t r = 0; r < kRows; r++) {
      const ptrdiff_t at = r / kInner * next + i * step * kInner + r % kInner;
      acc[r] = accumulated<Product>(acc[r], static_cast<A>(in[at]));
      out[at] = static_cast<T>(acc[r]);
    }
  }
}

template <bool Product, class T, class A>
void cumulate_of(const T* in, ptrdiff_t outer, ptrdiff_t n, ptrdiff_t inner, ptrdiff_t columns, bool reverse, T* out) {
  constexpr ptrdiff_t kTile = 64;
  constexpr A kFirst = Product ? 1 : 0;
  const ptrdiff_t step = reverse ? -1 : 1, first = reverse ? (n - 1) * inner : 0;
  ptrdiff_t o = 0;
  if (inner == 1) {
    A acc[kRows];
    for (; o + kRows <= outer; o += kRows) {
      for (A& a : acc) a = kFirst;
      cumulate_rows<Product>(in + o * n + first, n, n, step, out + o * n + first, acc);
    }
    for (; o < outer; o++) {
      const T* x = in + o * n + first;
      T* y = out + o * n + first;
      ptrdiff_t i = 0;
      A sum = kFirst;
      if constexpr (!Product && !std::is_same_v<T, double>) {  // parts of one row; the sums of floats, in double, cannot overflow
        const ptrdiff_t part = n >= 64 * kRows ? n / kRows : 0;
        for (ptrdiff_t r = 0; part && r < kRows; r++) {
          acc[r] = sum;
          A sums[kRows] = {};
          const T* p = reverse ? x - (r + 1) * part + 1 : x + r * part;
          for (ptrdiff_t k = 0; k + kRows <= part; k += kRows)
            for (ptrdiff_t l = 0; l < kRows; l++) sums[l] += static_cast<A>(p[k + l]);
          for (ptrdiff_t k = part / kRows * kRows; k < part; k++) sum += static_cast<A>(p[k]);
          for (const A s : sums) sum += s;
        }
        if (part) cumulate_rows<Product>(x, part * step, part, step, y, acc);
        i = part * kRows;
        if (part) sum = acc[kRows - 1];
      }
      for (; i < n; i++) {
        sum = accumulated<Product>(sum, static_cast<A>(x[i * step]));
        y[i * step] = static_cast<T>(sum);
      }
    }
    return;
  }
  for (; inner == 2 && columns == 2 && o + kRows / 2 <= outer; o += kRows / 2, in += n * kRows, out += n * kRows) {
    A acc[kRows];
    for (A& a : acc) a = kFirst;
    cumulate_rows<Product, 2>(in + first, n * 2, n, step, out + first, acc);
  }
  for (; o < outer; o++, in += n * inner, out += n * inner)
    for (ptrdiff_t start = 0; start < columns; start += kTile) {
      const ptrdiff_t width = smaller(kTile, columns - start);
      A acc[kTile];
      for (ptrdiff_t j = 0; j < width; j++) acc[j] = kFirst;
      for (ptrdiff_t i = 0; i < n; i++) {
        const T* x = in + first + i * step * inner + start;
        T* y = out + first + i * step * inner + start;
        for (ptrdiff_t j = 0; j < width; j++) {
          acc[j] = accumulated<Product>(acc[j], static_cast<A>(x[j]));
          y[j] = static_cast<T>(acc[j]);
        }
      }
    }
}

void cumulate(bool product, DType dtype, const void* in, ptrdiff_t outer, ptrdiff_t n, ptrdiff_t inner, ptrdiff_t columns,
              bool reverse, void* out) {
  const auto run = [&]<class T, class A>() {
    const T* x = static_cast<const T*>(in);
    T* y = static_cast<T*>(out);
    product ? cumulate_of<true, T, A>(x, outer, n, inner, columns, reverse, y)
            : cumulate_of<false, T, A>(x, outer, n, inner, columns, reverse, y);
  };
  if (dtype == DType::F32) run.template operator()<float, double>();
  else if (dtype == DType::F64) run.template operator()<double, double>();
  else run.template operator()<uint64_t, uint64_t>();  // unsigned: overflow wraps
}

}  // namespace

namespace {

// The columns of kVecs registers from `at` on, of which the last may begin earlier, at `last`: its columns before are summed twice
// and left out.
template <int kVecs, class T>
RUSHLIGHT_INLINE void add_columns(const void* const* rows, const T* scales, ptrdiff_t many, ptrdiff_t at, ptrdiff_t last, T* sums) {
  using V = Vec<T>;
  V total[kVecs];
  const auto place = [&](int v) { return v == kVecs - 1 ? last : at + v * V::N; };
  for (int v = 0; v < kVecs; v++) total[v] = V::all(T(0));
  for (ptrdiff_t i = 0; i < many; i++) {
    const T* const row = static_cast<const T*>(rows[i]);
    const T* const ahead = static_cast<const T*>(rows[i + 8 < many ? i + 8 : i]);
    for (int v = 0; v < kVecs; v += 2) __builtin_prefetch(ahead + place(v));  // lines come in pairs
    const V scale = V::all(scales ? scales[i] : T(1));
    for (int v = 0; v < kVecs; v++) total[v] = total[v] + (scales ? V::load(row + place(v)) * scale : V::load(row + place(v)));
  }
  for (int v = 0; v + 1 < kVecs; v++) (V::load(sums + place(v)) + total[v]).store(sums + place(v));
  T lanes[V::N];
  total[kVecs - 1].store(lanes);
  for (ptrdiff_t j = at + (kVecs - 1) * V::N; j < last + V::N; j++) sums[j] += lanes[j - last];
}

// Few columns, kWidth of them at a time. Two sums are kept of each, which do not wait for each other.
template <int kWidth, class T>
RUSHLIGHT_INLINE void add_few(const void* const* rows, const T* scales, ptrdiff_t many, ptrdiff_t at, T* sums) {
  T even[kWidth] = {}, odd[kWidth] = {};
  const auto add = [&](ptrdiff_t i, T* to) {
    const T* const row = static_cast<const T*>(rows[i]) + at;
    for (int j = 0; j < kWidth; j++) to[j] += scales ? row[j] * scales[i] : row[j];
  };
  ptrdiff_t i = 0;
  for (; i + 1 < many; i += 2) add(i, even), add(i + 1, odd);
  if (i < many) add(i, even);
  for (int j = 0; j < kWidth; j++) sums[at + j] += even[j] + odd[j];
}

template <class T>
void add_rows_of(const void* const* rows, const T* scales, ptrdiff_t many, ptrdiff_t n, T* sums) {
  constexpr ptrdiff_t N = Vec<T>::N, kMost = 4;
  ptrdiff_t j = 0;
  while (n >= N && j < n) {
    const ptrdiff_t vecs = smaller((n - j + N - 1) / N, kMost), last = smaller(j + (vecs - 1) * N, n - N);
    if (vecs == 4) add_columns<4>(rows, scales, many, j, last, sums);
    else if (vecs == 3) add_columns<3>(rows, scales, many, j, last, sums);
    else if (vecs == 2) add_columns<2>(rows, scales, many, j, last, sums);
    else add_columns<1>(rows, scales, many, j, last, sums);
    j += vecs * N;
  }
  for (; j + 4 <= n; j += 4) add_few<4>(rows, scales, many, j, sums);
  for (; j < n; j++) add_few<1>(rows, scales, many, j, sums);
}

void add_rows(DType dtype, const void* const* rows, const void* scales, ptrdiff_t many, ptrdiff_t n, void* sums) {
  if (dtype == DType::F32) return add_rows_of(rows, static_cast<const float*>(scales), many, n, static_cast<float*>(sums));
  add_rows_of(rows, static_cast<const double*>(scales), many, n, static_cast<double*>(sums));
}

}  // namespace

void fill_reductions(DenseKernels& table) {
  table.add_rows = add_rows;
  table.reducer = reducer;
  table.arg_rows = arg_rows;
  table.variance_rows = variance_rows;
  table.cumulate = cumulate;
}

}  // namespace rushlight::RUSHLIGHT_ISA
