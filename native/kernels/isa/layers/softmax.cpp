// softmax, log_softmax, their gradients and logsumexp.
//
// Rows of adjacent elements are taken block by block: a block's exponentials are written against
// the maximum so far, and another pass multiplies every block by the factor to the final maximum.
// That reads the input once and the output once, rather than the input twice.
#include <cmath>

#include "kernels/isa/dense_impl.h"
#include "kernels/isa/reduction/reduce_core.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

RUSHLIGHT_INLINE float scalar_exp(float x) { return ::expf(x); }
RUSHLIGHT_INLINE double scalar_exp(double x) { return ::exp(x); }
RUSHLIGHT_INLINE float scalar_log(float x) { return ::logf(x); }
RUSHLIGHT_INLINE double scalar_log(double x) { return ::log(x); }

// A whole register of which the first n elements are p[0..n), the others `fill`.
template <class T>
RUSHLIGHT_INLINE Vec<T> load_some(const T* p, ptrdiff_t n, T fill) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    return {reinterpret_cast<typename Vec<T>::Raw>(
        _mm512_mask_loadu_ps(_mm512_set1_ps(fill), static_cast<__mmask16>((1u << n) - 1), p))};
#endif
  T lanes[Vec<T>::N];
  for (int i = 0; i < Vec<T>::N; i++) lanes[i] = i < n ? p[i] : fill;
  return Vec<T>::load(lanes);
}
template <class T>
RUSHLIGHT_INLINE void store_some(Vec<T> v, T* p, ptrdiff_t n) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    return _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), reinterpret_cast<__m512>(v.v));
#endif
  T lanes[Vec<T>::N];
  v.store(lanes);
  for (ptrdiff_t i = 0; i < n; i++) p[i] = lanes[i];
}

// Sum of e^(x - shift); written to out if it is not null.
template <class T>
T exp_sum(const T* x, ptrdiff_t n, T shift, T* out) {
  using V = Vec<T>;
  const V s = V::all(shift);
  V a = V::all(0), b = V::all(0);
  ptrdiff_t i = 0;
  for (; i + 2 * V::N <= n; i += 2 * V::N) {
    const V e = exp(V::load(x + i) - s), f = exp(V::load(x + i + V::N) - s);
    a = a + e;
    b = b + f;
    if (out) {
      e.store(out + i);
      f.store(out + i + V::N);
    }
  }
  for (; i + V::N <= n; i += V::N) {
    const V e = exp(V::load(x + i) - s);
    a = a + e;
    if (out) e.store(out + i);
  }
  if (i < n) {
    const V e = exp(load_some(x + i, n - i, -T(__builtin_inff())) - s);  // 0 behind the end
    b = b + e;
    if (out) store_some(e, out + i, n - i);
  }
  return horizontal_sum(a + b);
}

constexpr ptrdiff_t kBlock = 2048;
constexpr ptrdiff_t kBlocksKept = 4096;  // rows longer than kBlock * kBlocksKept take larger blocks

// The maximum of a row and the sum of e^(x - maximum); if out is not null it receives e^(x - maxima[block]).
template <class T>
T running_sum(const T* x, ptrdiff_t n, ptrdiff_t block, T* out, T* maxima, T& maximum_out) {
  T highest = -T(__builtin_inff()), sum = 0;
  for (ptrdiff_t start = 0, k = 0; start < n; start += block, k++) {
    const ptrdiff_t width = smaller(block, n - start);
    const T top = maximum(reduce_adjacent(MaxOp{}, x + start, width), highest);
    // A maximum of -inf would make -inf - -inf: shift by 0 instead, the sum stays 0.
    const T shift = top == -T(__builtin_inff()) ? T(0) : top;
    const T part = exp_sum(x + start, width, shift, out ? out + start : nullptr);
    if (!(top == highest)) sum *= highest == -T(__builtin_inff()) ? T(0) : scalar_exp(highest - top);
    sum += part;
    highest = top;
    if (maxima) maxima[k] = top;
  }
  maximum_out = highest;
  return sum;
}

template <class T>
RUSHLIGHT_INLINE void scale_row(T* y, ptrdiff_t n, T factor) {
  for (ptrdiff_t i = 0; i < n; i++) y[i] *= factor;
}

// `streams`: the result goes past the caches; a row is then a whole number of registers.
template <class T>
void softmax_row(const T* x, ptrdiff_t n, bool streams, T* y) {
  using V = Vec<T>;
  if (n <= kBlock) {
    alignas(64) T row[kBlock];
    T* e = streams ? row : y;
    const T top = reduce_adjacent(MaxOp{}, x, n);
    const T sum = exp_sum(x, n, top, e);
    // All -inf, or a NaN or +inf among them: every element is NaN.
    const T factor = top - top == T(0) ? T(1) / sum : T(__builtin_nanf(""));
    if (!streams) return scale_row(y, n, factor);
    for (ptrdiff_t i = 0; i < n; i += V::N) (V::load(row + i) * V::all(factor)).stream(y + i);
    return;
  }
  T maxima[kBlocksKept];
  ptrdiff_t block = kBlock;
  while ((n + block - 1) / block > kBlocksKept) block *= 2;
  T top;
  const T sum = running_sum(x, n, block, y, maxima, top);
  const bool defined = top - top == T(0);
  for (ptrdiff_t start = 0, k = 0; start < n; start += block, k++) {
    const T shortfall = maxima[k] == top ? T(1) : scalar_exp(maxima[k] - top);
    scale_row(y + start, smaller(block, n - start), defined ? shortfall / sum : T(__builtin_nanf("")));
  }
}

template <class T>
void log_softmax_row(const T* x, ptrdiff_t n, T* y) {
  T top;
  const T sum = running_sum<T>(x, n, kBlock, nullptr, nullptr, top);
  const T log_sum = top - top == T(0) ? scalar_log(sum) : T(__builtin_nanf(""));
  for (ptrdiff_t i = 0; i < n; i++) y[i] = x[i] - top - log_sum;
}

// Columns: the same over a tile of columns at a time.
constexpr ptrdiff_t kTile = 64;

template <class T>
RUSHLIGHT_SHARED void exp_each(const T* x, ptrdiff_t n, T* y) {
  using V = Vec<T>;
  ptrdiff_t i = 0;
  for (; i + V::N <= n; i += V::N) exp(V::load(x + i)).store(y + i);
  if (i < n) store_some(exp(load_some(x + i, n - i, T(0))), y + i, n - i);
}

template <class T>
RUSHLIGHT_SHARED void maximum_each(const T* x, ptrdiff_t n, T* top) {
  using V = Vec<T>;
  ptrdiff_t j = 0;
  for (; j + V::N <= n; j += V::N) maximum(V::load(x + j), V::load(top + j)).store(top + j);
  for (; j < n; j++) top[j] = maximum(x[j], top[j]);
}

template <bool Log, class T>
void softmax_columns(const T* x, ptrdiff_t n, ptrdiff_t inner, ptrdiff_t width, T* y) {
  T top[kTile], sum[kTile], row[kTile];
  for (ptrdiff_t j = 0; j < width; j++) top[j] = x[j], sum[j] = 0;
  for (ptrdiff_t i = 1; i < n; i++) maximum_each(x + i * inner, width, top);
  for (ptrdiff_t i = 0; i < n; i++) {
    for (ptrdiff_t j = 0; j < width; j++) row[j] = x[i * inner + j] - top[j];
    exp_each(row, width, row);
    for (ptrdiff_t j = 0; j < width; j++) sum[j] += row[j];
    if (!Log)
      for (ptrdiff_t j = 0; j < width; j++) y[i * inner + j] = row[j];
  }
  if (Log)
    for (ptrdiff_t j = 0; j < width; j++) sum[j] = scalar_log(sum[j]);
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < width; j++) y[i * inner + j] = Log ? x[i * inner + j] - top[j] - sum[j] : y[i * inner + j] / sum[j];
}

template <bool Log, class T>
void softmax_of(const T* x, ptrdiff_t outer, ptrdiff_t n, ptrdiff_t inner, bool large, T* y) {
  if (n == 0) return;
  const bool streams = large && n % Vec<T>::N == 0 && reinterpret_cast<uintptr_t>(y) % kVecBytes == 0;
  for (ptrdiff_t o = 0; o < outer; o++, x += n * inner, y += n * inner) {
    if (inner == 1) Log ? log_softmax_row(x, n, y) : softmax_row(x, n, streams, y);
    else
      for (ptrdiff_t j = 0; j < inner; j += kTile) softmax_columns<Log>(x + j, n, inner, smaller(kTile, inner - j), y + j);
  }
}

void softmax(bool log, DType dtype, const void* in, ptrdiff_t outer, ptrdiff_t n, ptrdiff_t inner, bool large, void* out) {
  float_or_double(dtype, [&]<class T>() {
    const T* x = static_cast<const T*>(in);
    T* y = static_cast<T*>(out);
    log ? softmax_of<true>(x, outer, n, inner, large, y) : softmax_of<false>(x, outer, n, inner, large, y);
    if (large) streamed();
  });
}

// softmax: y * (g - sum(g * y)); log_softmax: g - e^y * sum(g), which is g where the sum is 0, whatever y is: NaN in a padded row.
template <bool Log, class T>
void backward_row(const T* g, const T* y, ptrdiff_t n, T* out) {
  using V = Vec<T>;
  T total = 0;
  ptrdiff_t i = 0;
  if (Log) {
    total = reduce_adjacent(SumOp{}, g, n);
    if (total == 0) {
      for (; i < n; i++) out[i] = g[i];
      return;
    }
    const V t = V::all(total);
    for (; i + V::N <= n; i += V::N) (V::load(g + i) - exp(V::load(y + i)) * t).store(out + i);
    if (i < n) store_some(load_some(g + i, n - i, T(0)) - exp(load_some(y + i, n - i, T(0))) * t, out + i, n - i);
    return;
  }
  V a = V::all(0), b = V::all(0);
  for (; i + 2 * V::N <= n; i += 2 * V::N) {
    a = a + V::load(g + i) * V::load(y + i);
    b = b + V::load(g + i + V::N) * V::load(y + i + V::N);
  }
  total = horizontal_sum(a + b);
  for (; i < n; i++) total += g[i] * y[i];
  for (i = 0; i < n; i++) out[i] = y[i] * (g[i] - total);
}

template <bool Log, class T>
void backward_columns(const T* g, const T* y, ptrdiff_t n, ptrdiff_t inner, ptrdiff_t width, T* out) {
  T total[kTile], row[kTile];
  for (ptrdiff_t j = 0; j < width; j++) total[j] = 0;
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < width; j++) total[j] += Log ? g[i * inner + j] : g[i * inner + j] * y[i * inner + j];
  for (ptrdiff_t i = 0; i < n; i++) {
    if (Log) exp_each(y + i * inner, width, row);
    for (ptrdiff_t j = 0; j < width; j++)
      out[i * inner + j] = Log ? g[i * inner + j] - (total[j] == 0 ? 0 : row[j] * total[j])
                               : y[i * inner + j] * (g[i * inner + j] - total[j]);
  }
}

template <bool Log, class T>
void backward_of(const T* g, const T* y, ptrdiff_t outer, ptrdiff_t n, ptrdiff_t inner, T* out) {
  for (ptrdiff_t o = 0; o < outer; o++, g += n * inner, y += n * inner, out += n * inner) {
    if (inner == 1) backward_row<Log>(g, y, n, out);
    else
      for (ptrdiff_t j = 0; j < inner; j += kTile)
        backward_columns<Log>(g + j, y + j, n, inner, smaller(kTile, inner - j), out + j);
  }
}

void softmax_backward(bool log, DType dtype, const void* grad, const void* y, ptrdiff_t outer, ptrdiff_t n, ptrdiff_t inner,
                      void* out) {
  float_or_double(dtype, [&]<class T>() {
    const T* g = static_cast<const T*>(grad);
    const T* v = static_cast<const T*>(y);
    T* o = static_cast<T*>(out);
    log ? backward_of<true>(g, v, outer, n, inner, o) : backward_of<false>(g, v, outer, n, inner, o);
  });
}

void exp_all(DType dtype, const void* x, ptrdiff_t n, void* out) {
  float_or_double(dtype, [&]<class T>() { exp_each(static_cast<const T*>(x), n, static_cast<T*>(out)); });
}

void logsumexp_rows(DType dtype, const char* in, ptrdiff_t rows, ptrdiff_t row_stride, ptrdiff_t n, void* out) {
  float_or_double(dtype, [&]<class T>() {
    for (ptrdiff_t r = 0; r < rows; r++) {
      T top;
      const T sum = running_sum<T>(reinterpret_cast<const T*>(in + r * row_stride), n, kBlock, nullptr, nullptr, top);
      // An infinite or NaN maximum is the answer itself; so is -inf for an empty row.
      static_cast<T*>(out)[r] = top - top == T(0) ? top + scalar_log(sum) : top;
    }
  });
}

}  // namespace

void fill_softmax(DenseKernels& table) {
  table.softmax = softmax;
  table.softmax_backward = softmax_backward;
  table.exp = exp_all;
  table.logsumexp_rows = logsumexp_rows;
}

}  // namespace rushlight::RUSHLIGHT_ISA
