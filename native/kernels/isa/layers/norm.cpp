// Layer normalisation, mean squared error and a few loops of one operand.
#include "kernels/isa/dense_impl.h"
#include "kernels/isa/reduction/reduce_core.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

struct CentredSquareOp {
  double mean;
  template <class T>
  static RUSHLIGHT_INLINE T identity() {
    return T(0);
  }
  template <class T>
  RUSHLIGHT_INLINE T first(T x) const {
    const T d = x - static_cast<T>(mean);
    return d * d;
  }
  template <class T>
  RUSHLIGHT_INLINE Vec<T> first(Vec<T> x) const {
    const Vec<T> d = x - Vec<T>::all(static_cast<T>(mean));
    return d * d;
  }
  template <class V>
  static RUSHLIGHT_INLINE V combine(V a, V b) {
    return a + b;
  }
};

// (x - mean) * rstd * weight + bias of a row whose length is a whole number of registers, past the caches.
template <class T>
RUSHLIGHT_INLINE void stream_row(const T* x, ptrdiff_t n, T mean, T rstd, const T* weight, const T* bias, T* y) {
  using V = Vec<T>;
  const V m = V::all(mean), s = V::all(rstd);
  for (ptrdiff_t i = 0; i < n; i += V::N) {
    V h = (V::load(x + i) - m) * s;
    if (weight) h = h * V::load(weight + i);
    if (bias) h = h + V::load(bias + i);
    h.stream(y + i);
  }
}

// Rows of few elements are turned, so that a loop goes over rows: kTurned of them at a time.
constexpr ptrdiff_t kShort = 16, kTurned = 64;

template <class T>
RUSHLIGHT_INLINE void turn_in(const T* x, ptrdiff_t rows, ptrdiff_t n, T (&to)[kShort][kTurned]) {
  for (ptrdiff_t r = 0; r < rows; r++)
    for (ptrdiff_t k = 0; k < n; k++) to[k][r] = x[r * n + k];
}
template <class T>
RUSHLIGHT_INLINE void turn_out(const T (&from)[kShort][kTurned], ptrdiff_t rows, ptrdiff_t n, T* y) {
  for (ptrdiff_t r = 0; r < rows; r++)
    for (ptrdiff_t k = 0; k < n; k++) y[r * n + k] = from[k][r];
}

template <class T>
void short_layer_norm(const T* x, ptrdiff_t rows, ptrdiff_t n, const T* weight, const T* bias, double eps, T* y, T* means,
                      T* rstds) {
  const T count = static_cast<T>(n);
  alignas(64) T t[kShort][kTurned];
  for (ptrdiff_t done = 0; done < rows; done += kTurned, x += kTurned * n, y += kTurned * n) {
    const ptrdiff_t many = smaller(rows - done, kTurned);
    T mean[kTurned], rstd[kTurned];
    turn_in(x, many, n, t);
    for (ptrdiff_t r = 0; r < many; r++) mean[r] = rstd[r] = 0;
    for (ptrdiff_t k = 0; k < n; k++)
      for (ptrdiff_t r = 0; r < many; r++) mean[r] += t[k][r];
    for (ptrdiff_t r = 0; r < many; r++) mean[r] /= count;
    for (ptrdiff_t k = 0; k < n; k++)
      for (ptrdiff_t r = 0; r < many; r++) {
        t[k][r] -= mean[r];
        rstd[r] += t[k][r] * t[k][r];
      }
    for (ptrdiff_t r = 0; r < many; r++)
      rstd[r] = static_cast<T>(1.0 / __builtin_sqrt(static_cast<double>(rstd[r]) / static_cast<double>(n) + eps));
    for (ptrdiff_t k = 0; k < n; k++) {
      const T w = weight ? weight[k] : T(1), b = bias ? bias[k] : T(0);
      for (ptrdiff_t r = 0; r < many; r++) t[k][r] = t[k][r] * rstd[r] * w + b;
    }
    turn_out(t, many, n, y);
    std::memcpy(means + done, mean, static_cast<size_t>(many) * sizeof(T));
    std::memcpy(rstds + done, rstd, static_cast<size_t>(many) * sizeof(T));
  }
}

// `large`: the result does not fit into the caches.
template <class T>
void layer_norm_of(const T* x, ptrdiff_t rows, ptrdiff_t n, const T* weight, const T* bias, double eps, bool large, T* y, T* means,
                   T* rstds) {
  if (n <= kShort && n > 0) return short_layer_norm(x, rows, n, weight, bias, eps, y, means, rstds);
  const bool streams = large && n % Vec<T>::N == 0 && reinterpret_cast<uintptr_t>(y) % kVecBytes == 0;
  for (ptrdiff_t r = 0; r < rows; r++, x += n, y += n) {
    const T mean = static_cast<T>(static_cast<double>(reduce_adjacent(SumOp{}, x, n)) / static_cast<double>(n));
    const double squares = reduce_adjacent(CentredSquareOp{mean}, x, n);
    const T rstd = static_cast<T>(1.0 / __builtin_sqrt(squares / static_cast<double>(n) + eps));
    means[r] = mean;
    rstds[r] = rstd;
    if (streams) stream_row(x, n, mean, rstd, weight, bias, y);
    else if (weight && bias)
      for (ptrdiff_t i = 0; i < n; i++) y[i] = (x[i] - mean) * rstd * weight[i] + bias[i];
    else if (weight)
      for (ptrdiff_t i = 0; i < n; i++) y[i] = (x[i] - mean) * rstd * weight[i];
    else if (bias)
      for (ptrdiff_t i = 0; i < n; i++) y[i] = (x[i] - mean) * rstd + bias[i];
    else
      for (ptrdiff_t i = 0; i < n; i++) y[i] = (x[i] - mean) * rstd;
  }
  if (streams) streamed();
}

void layer_norm(DType dtype, const void* x, ptrdiff_t rows, ptrdiff_t n, const void* weight, const void* bias, double eps,
                bool large, void* y, void* mean, void* rstd) {
  float_or_double(dtype, [&]<class T>() {
    layer_norm_of<T>(static_cast<const T*>(x), rows, n, static_cast<const T*>(weight), static_cast<const T*>(bias), eps, large,
                     static_cast<T*>(y), static_cast<T*>(mean), static_cast<T*>(rstd));
  });
}

// With h = (x - mean) * rstd and u = g * weight: grad_x = rstd * (u - mean(u) - h * mean(u * h)).
template <class T>
void short_layer_norm_backward(const T* g, const T* x, const T* means, const T* rstds, const T* weight, ptrdiff_t rows, ptrdiff_t n,
                               T* grad_x) {
  const T count = static_cast<T>(n);
  alignas(64) T u[kShort][kTurned], h[kShort][kTurned];
  for (; rows > 0; rows -= kTurned, g += kTurned * n, x += kTurned * n, grad_x += kTurned * n, means += kTurned, rstds += kTurned) {
    const ptrdiff_t many = smaller(rows, kTurned);
    T a[kTurned] = {}, b[kTurned] = {};
    turn_in(g, many, n, u);
    turn_in(x, many, n, h);
    for (ptrdiff_t k = 0; k < n; k++) {
      const T w = weight ? weight[k] : T(1);
      for (ptrdiff_t r = 0; r < many; r++) {
        h[k][r] = (h[k][r] - means[r]) * rstds[r];
        u[k][r] *= w;
        a[r] += u[k][r];
        b[r] += u[k][r] * h[k][r];
      }
    }
    for (ptrdiff_t r = 0; r < many; r++) a[r] /= count, b[r] /= count;
    for (ptrdiff_t k = 0; k < n; k++)
      for (ptrdiff_t r = 0; r < many; r++) u[k][r] = rstds[r] * (u[k][r] - a[r] - h[k][r] * b[r]);
    turn_out(u, many, n, grad_x);
  }
}

template <class T>
void layer_norm_backward_of(const T* g, const T* x, const T* means, const T* rstds, const T* weight, ptrdiff_t rows, ptrdiff_t n,
                            T* grad_x, T* grad_weight, T* grad_bias) {
  using V = Vec<T>;
  if (n <= kShort && n > 0 && !grad_weight && !grad_bias)
    return short_layer_norm_backward(g, x, means, rstds, weight, rows, n, grad_x);
  for (ptrdiff_t r = 0; r < rows; r++, g += n, x += n) {
    const T mean = means[r], rstd = rstds[r];
    const V m = V::all(mean), s = V::all(rstd);
    V sum_u = V::all(0), sum_uh = V::all(0);
    ptrdiff_t i = 0;
    for (; i + V::N <= n; i += V::N) {
      const V given = V::load(g + i), h = (V::load(x + i) - m) * s, u = weight ? given * V::load(weight + i) : given;
      if (grad_weight) fma(given, h, V::load(grad_weight + i)).store(grad_weight + i);
      if (grad_bias) (V::load(grad_bias + i) + given).store(grad_bias + i);
      sum_u = sum_u + u;
      sum_uh = fma(u, h, sum_uh);
    }
    T a = horizontal_sum(sum_u), b = horizontal_sum(sum_uh);
    for (; i < n; i++) {
      const T h = (x[i] - mean) * rstd, u = weight ? g[i] * weight[i] : g[i];
      if (grad_weight) grad_weight[i] += g[i] * h;
      if (grad_bias) grad_bias[i] += g[i];
      a += u;
      b += u * h;
    }
    if (!grad_x) continue;
    a /= static_cast<T>(n);
    b /= static_cast<T>(n);
    if (weight)
      for (i = 0; i < n; i++) grad_x[i] = rstd * (g[i] * weight[i] - a - (x[i] - mean) * rstd * b);
    else
      for (i = 0; i < n; i++) grad_x[i] = rstd * (g[i] - a - (x[i] - mean) * rstd * b);
    grad_x += n;
  }
}

void layer_norm_backward(DType dtype, const void* grad, const void* x, const void* mean, const void* rstd, const void* weight,
                         ptrdiff_t rows, ptrdiff_t n, void* grad_x, void* grad_weight, void* grad_bias) {
  float_or_double(dtype, [&]<class T>() {
    layer_norm_backward_of<T>(static_cast<const T*>(grad), static_cast<const T*>(x), static_cast<const T*>(mean),
                              static_cast<const T*>(rstd), static_cast<const T*>(weight), rows, n, static_cast<T*>(grad_x),
                              static_cast<T*>(grad_weight), static_cast<T*>(grad_bias));
  });
}

// Pairwise, as reduce_adjacent, over two operands.
template <class T>
T squared_difference_of(const T* x, const T* y, ptrdiff_t n) {
  using V = Vec<T>;
  if (n > kReduceBlock) {
    const ptrdiff_t left = (n / 2 + kReduceBlock - 1) / kReduceBlock * kReduceBlock;
    return squared_difference_of(x, y, left) + squared_difference_of(x + left, y + left, n - left);
  }
  V a = V::all(0), b = V::all(0);
  ptrdiff_t i = 0;
  for (; i + 2 * V::N <= n; i += 2 * V::N) {
    const V d = V::load(x + i) - V::load(y + i), e = V::load(x + i + V::N) - V::load(y + i + V::N);
    a = fma(d, d, a);
    b = fma(e, e, b);
  }
  T sum = horizontal_sum(a + b);
  for (; i < n; i++) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return sum;
}

double squared_difference(DType dtype, const void* x, const void* y, ptrdiff_t n) {
  if (dtype == DType::F32) return squared_difference_of(static_cast<const float*>(x), static_cast<const float*>(y), n);
  return squared_difference_of(static_cast<const double*>(x), static_cast<const double*>(y), n);
}

void scaled_difference(DType dtype, const void* x, const void* y, double factor, ptrdiff_t n, void* out) {
  float_or_double(dtype, [&]<class T>() {
    const T* a = static_cast<const T*>(x);
    const T* b = static_cast<const T*>(y);
    T* o = static_cast<T*>(out);
    const T f = static_cast<T>(factor);
    for (ptrdiff_t i = 0; i < n; i++) o[i] = f * (a[i] - b[i]);
  });
}

void scale(DType dtype, void* x, double factor, ptrdiff_t n) {
  float_or_double(dtype, [&]<class T>() {
    T* p = static_cast<T*>(x);
    const T f = static_cast<T>(factor);
    for (ptrdiff_t i = 0; i < n; i++) p[i] *= f;
  });
}

void fill_rows(DType dtype, const void* bias, ptrdiff_t rows, ptrdiff_t n, void* out) {
  const size_t row_bytes = static_cast<size_t>(n * item_size(dtype));
  for (ptrdiff_t r = 0; r < rows; r++)
    std::memcpy(static_cast<char*>(out) + r * static_cast<ptrdiff_t>(row_bytes), bias, row_bytes);
}

}  // namespace

void fill_norm(DenseKernels& table) {
  table.layer_norm = layer_norm;
  table.layer_norm_backward = layer_norm_backward;
  table.squared_difference = squared_difference;
  table.scaled_difference = scaled_difference;
  table.scale = scale;
  table.fill_rows = fill_rows;
}

}  // namespace rushlight::RUSHLIGHT_ISA
