// Reductions over rows and columns, arg-reductions, variance and running sums.
#include <type_traits>

#include "kernels/isa/dense_impl.h"
#include "kernels/isa/reduce_core.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

// --- integers and truth values: plain loops, the compiler vectorises them ---

// Integer forms of the operations of reduce_core.h. A is the type of the result.
template <Reduce R, class T, class A>
struct IntegerOp {
  static RUSHLIGHT_INLINE A first(T x) {
    if constexpr (R == Reduce::Any || R == Reduce::All) return x != T(0);
    else return static_cast<A>(x);
  }
  static RUSHLIGHT_INLINE A combine(A a, A b) {
    if constexpr (R == Reduce::Sum) return static_cast<A>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else if constexpr (R == Reduce::Prod) return static_cast<A>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else if constexpr (R == Reduce::Max) return a > b ? a : b;
    else if constexpr (R == Reduce::Min) return a < b ? a : b;
    else if constexpr (R == Reduce::Any) return a | b;
    else return a & b;
  }
  static constexpr A kEmpty = (R == Reduce::Prod || R == Reduce::All) ? 1 : 0;
};

template <Reduce R, class T, class A>
void integer_rows(const char* in, ptrdiff_t rows, ptrdiff_t row_stride, ptrdiff_t n, void* out) {
  using Op = IntegerOp<R, T, A>;
  A* result = static_cast<A*>(out);
  for (ptrdiff_t r = 0; r < rows; r++, in += row_stride) {
    const T* p = reinterpret_cast<const T*>(in);
    A acc = n ? Op::first(p[0]) : Op::kEmpty;
    for (ptrdiff_t i = 1; i < n; i++) acc = Op::combine(acc, Op::first(p[i]));
    result[r] = acc;
  }
}

template <Reduce R, class T, class A>
void integer_columns(const char* in, ptrdiff_t n, ptrdiff_t row_stride, ptrdiff_t inner, void* out) {
  using Op = IntegerOp<R, T, A>;
  A* result = static_cast<A*>(out);
  for (ptrdiff_t j = 0; j < inner; j++) result[j] = n ? Op::first(reinterpret_cast<const T*>(in)[j]) : Op::kEmpty;
  for (ptrdiff_t r = 1; r < n; r++) {
    const T* p = reinterpret_cast<const T*>(in + r * row_stride);
    for (ptrdiff_t j = 0; j < inner; j++) result[j] = Op::combine(result[j], Op::first(p[j]));
  }
}

// --- floating point ---

template <class Op, class T>
void float_rows(const char* in, ptrdiff_t rows, ptrdiff_t row_stride, ptrdiff_t n, void* out) {
  T* result = static_cast<T*>(out);
  for (ptrdiff_t r = 0; r < rows; r++, in += row_stride) result[r] = reduce_adjacent(Op{}, reinterpret_cast<const T*>(in), n);
}

constexpr ptrdiff_t kColumnTile = 256;
constexpr ptrdiff_t kRowBlock = 64;

// Reduces n rows of a tile of at most kColumnTile columns: blocks of rows in order, blocks pairwise.
template <class Op, class T>
void float_tile(const char* in, ptrdiff_t n, ptrdiff_t row_stride, ptrdiff_t width, T* out) {
  const Op op;
  if (n > kRowBlock) {
    T right[kColumnTile];
    const ptrdiff_t left_n = (n / 2 + kRowBlock - 1) / kRowBlock * kRowBlock;
    float_tile<Op, T>(in, left_n, row_stride, width, out);
    float_tile<Op, T>(in + left_n * row_stride, n - left_n, row_stride, width, right);
    for (ptrdiff_t j = 0; j < width; j++) out[j] = Op::combine(out[j], right[j]);
    return;
  }
  const T* p = reinterpret_cast<const T*>(in);
  for (ptrdiff_t j = 0; j < width; j++) out[j] = op.first(p[j]);
  ptrdiff_t r = 1;
  for (; r + 4 <= n; r += 4) {
    const T* a = reinterpret_cast<const T*>(in + r * row_stride);
    const T* b = reinterpret_cast<const T*>(in + (r + 1) * row_stride);
    const T* c = reinterpret_cast<const T*>(in + (r + 2) * row_stride);
    const T* d = reinterpret_cast<const T*>(in + (r + 3) * row_stride);
    const auto four = [&op]<class V>(V o, V w, V x, V y, V z) {
      return Op::combine(o, Op::combine(Op::combine(op.first(w), op.first(x)), Op::combine(op.first(y), op.first(z))));
    };
    using V = Vec<T>;
    ptrdiff_t j = 0;
    for (; j + V::N <= width; j += V::N)
      four(V::load(out + j), V::load(a + j), V::load(b + j), V::load(c + j), V::load(d + j)).store(out + j);
    for (; j < width; j++) out[j] = four(out[j], a[j], b[j], c[j], d[j]);
  }
  for (; r < n; r++) {
    const T* a = reinterpret_cast<const T*>(in + r * row_stride);
    for (ptrdiff_t j = 0; j < width; j++) out[j] = Op::combine(out[j], op.first(a[j]));
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

template <Reduce R, class T, class A>
Reducer integer_reducer(DType result) {
  return {result, integer_rows<R, T, A>, integer_columns<R, T, A>};
}

// The integer reducer whose result has the type of the input (Max, Min) or a fixed one (A).
template <Reduce R, class A>
Reducer to_fixed(DType dtype, DType result) {
  switch (dtype) {
    case DType::Bool:
    case DType::U8: return integer_reducer<R, uint8_t, A>(result);
    case DType::I8: return integer_reducer<R, int8_t, A>(result);
    case DType::I16: return integer_reducer<R, int16_t, A>(result);
    case DType::I32: return integer_reducer<R, int32_t, A>(result);
    case DType::I64: return integer_reducer<R, int64_t, A>(result);
    case DType::F32:
      if constexpr (R == Reduce::Any || R == Reduce::All) return integer_reducer<R, float, A>(result);
      break;
    case DType::F64:
      if constexpr (R == Reduce::Any || R == Reduce::All) return integer_reducer<R, double, A>(result);
      break;
    default: break;
  }
  return {};
}

template <Reduce R>
Reducer to_same(DType dtype) {
  switch (dtype) {
    case DType::Bool:
    case DType::U8: return integer_reducer<R, uint8_t, uint8_t>(dtype);
    case DType::I8: return integer_reducer<R, int8_t, int8_t>(dtype);
    case DType::I16: return integer_reducer<R, int16_t, int16_t>(dtype);
    case DType::I32: return integer_reducer<R, int32_t, int32_t>(dtype);
    case DType::I64: return integer_reducer<R, int64_t, int64_t>(dtype);
    default: return {};
  }
}

Reducer reducer(Reduce op, DType dtype) {
  const bool is_float = dtype == DType::F32 || dtype == DType::F64;
  switch (op) {
    case Reduce::Sum: return is_float ? float_reducer<SumOp>(dtype) : to_fixed<Reduce::Sum, int64_t>(dtype, DType::I64);
    case Reduce::Prod: return is_float ? float_reducer<ProdOp>(dtype) : to_fixed<Reduce::Prod, int64_t>(dtype, DType::I64);
    case Reduce::Max: return is_float ? float_reducer<MaxOp>(dtype) : to_same<Reduce::Max>(dtype);
    case Reduce::Min: return is_float ? float_reducer<MinOp>(dtype) : to_same<Reduce::Min>(dtype);
    case Reduce::SumSquares: return float_reducer<SumSquaresOp>(dtype);
    case Reduce::Any: return to_fixed<Reduce::Any, uint8_t>(dtype, DType::Bool);
    case Reduce::All: return to_fixed<Reduce::All, uint8_t>(dtype, DType::Bool);
    default: return {};
  }
}

// --- arg-reductions: find the extreme value, then where it stands first ---

template <bool Largest, class T>
void arg_rows_of(const char* in, ptrdiff_t rows, ptrdiff_t row_stride, ptrdiff_t n, int64_t* out) {
  for (ptrdiff_t r = 0; r < rows; r++, in += row_stride) {
    const T* p = reinterpret_cast<const T*>(in);
    T best;
    if constexpr (T(0.5) != T(0)) {  // floating point
      using Op = std::conditional_t<Largest, MaxOp, MinOp>;
      best = reduce_adjacent(Op{}, p, n);
    } else {
      best = p[0];
      for (ptrdiff_t i = 1; i < n; i++) best = (Largest ? p[i] > best : p[i] < best) ? p[i] : best;
    }
    ptrdiff_t i = 0;
    if (best != best)
      while (p[i] == p[i]) i++;
    else
      while (p[i] != best) i++;
    out[r] = i;
  }
}

using ArgRows = void (*)(const char*, ptrdiff_t, ptrdiff_t, ptrdiff_t, int64_t*);

template <bool Largest>
ArgRows arg_rows_for(DType dtype) {
  switch (dtype) {
    case DType::Bool:
    case DType::U8: return arg_rows_of<Largest, uint8_t>;
    case DType::I8: return arg_rows_of<Largest, int8_t>;
    case DType::I16: return arg_rows_of<Largest, int16_t>;
    case DType::I32: return arg_rows_of<Largest, int32_t>;
    case DType::I64: return arg_rows_of<Largest, int64_t>;
    case DType::F32: return arg_rows_of<Largest, float>;
    case DType::F64: return arg_rows_of<Largest, double>;
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

template <bool Product, class T, class A>
void cumulate_of(const T* in, ptrdiff_t outer, ptrdiff_t n, ptrdiff_t inner, T* out) {
  constexpr ptrdiff_t kTile = 64;
  if (inner == 1) {
    for (ptrdiff_t o = 0; o < outer; o++, in += n, out += n) {
      A acc = Product ? 1 : 0;
      for (ptrdiff_t i = 0; i < n; i++) {
        acc = Product ? acc * static_cast<A>(in[i]) : acc + static_cast<A>(in[i]);
        out[i] = static_cast<T>(acc);
      }
    }
    return;
  }
  for (ptrdiff_t o = 0; o < outer; o++, in += n * inner, out += n * inner)
    for (ptrdiff_t start = 0; start < inner; start += kTile) {
      const ptrdiff_t width = smaller(kTile, inner - start);
      A acc[kTile];
      for (ptrdiff_t j = 0; j < width; j++) acc[j] = Product ? 1 : 0;
      for (ptrdiff_t i = 0; i < n; i++) {
        const T* x = in + i * inner + start;
        T* y = out + i * inner + start;
        for (ptrdiff_t j = 0; j < width; j++) {
          acc[j] = Product ? acc[j] * static_cast<A>(x[j]) : acc[j] + static_cast<A>(x[j]);
          y[j] = static_cast<T>(acc[j]);
        }
      }
    }
}

void cumulate(bool product, DType dtype, const void* in, ptrdiff_t outer, ptrdiff_t n, ptrdiff_t inner, void* out) {
  const auto run = [&]<class T, class A>() {
    const T* x = static_cast<const T*>(in);
    T* y = static_cast<T*>(out);
    product ? cumulate_of<true, T, A>(x, outer, n, inner, y) : cumulate_of<false, T, A>(x, outer, n, inner, y);
  };
  if (dtype == DType::F32) run.template operator()<float, double>();
  else if (dtype == DType::F64) run.template operator()<double, double>();
  else run.template operator()<uint64_t, uint64_t>();  // unsigned: overflow wraps
}

}  // namespace

void fill_reductions(DenseKernels& table) {
  table.reducer = reducer;
  table.arg_rows = arg_rows;
  table.variance_rows = variance_rows;
  table.cumulate = cumulate;
}

}  // namespace rushlight::RUSHLIGHT_ISA
