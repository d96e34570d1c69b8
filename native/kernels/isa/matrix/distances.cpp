// Distances of points, their gradients, and sums of differences that are squared near 0 and absolute beyond.
#include "kernels/isa/dense_impl.h"
#include "kernels/isa/math_float.h"
#include "kernels/isa/matrix/tile.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

template <class T>
RUSHLIGHT_INLINE Vec<T> absolute(Vec<T> d) {
  return maximum(d, Vec<T>::all(0) - d);
}
template <class T>
RUSHLIGHT_INLINE T absolute(T d) {
  return d < 0 ? -d : d;
}

struct Sum {
  template <class V>
  static RUSHLIGHT_INLINE V both(V a, V b) {
    return a + b;
  }
};
struct SumOfSizes : Sum {
  template <class V>
  static RUSHLIGHT_INLINE V with(V d, V sum) {
    return sum + absolute(d);
  }
};
struct SumOfSquares : Sum {
  template <class T>
  static RUSHLIGHT_INLINE Vec<T> with(Vec<T> d, Vec<T> sum) {
    return fma(d, d, sum);
  }
};
struct Largest {
  template <class T>
  static RUSHLIGHT_INLINE Vec<T> with(Vec<T> d, Vec<T> most) {
    return maximum(absolute(d), most);
  }
  template <class V>
  static RUSHLIGHT_INLINE V both(V a, V b) {
    return maximum(a, b);
  }
};

// The differences of a row and of each of R others, put together in registers.
template <class Sum, int R, class T>
RUSHLIGHT_INLINE void over_differences(const T* a, const T* b, ptrdiff_t n, T* out) {
  using V = Vec<T>;
  V sums[R];
  for (int r = 0; r < R; r++) sums[r] = V::all(0);
  ptrdiff_t i = 0;
  for (; i + V::N <= n; i += V::N) {
    const V x = V::load(a + i);
    for (int r = 0; r < R; r++) sums[r] = Sum::with(x - V::load(b + r * n + i), sums[r]);
  }
  for (int r = 0; i < n && r < R; r++) sums[r] = Sum::with(load_some(a + i, n - i) - load_some(b + r * n + i, n - i), sums[r]);
  for (int r = 0; r < R; r++) out[r] = horizontal(sums[r], [](auto x, auto y) { return Sum::both(x, y); });
}
template <class Sum, class T>
void distances_of(const T* a, const T* b, ptrdiff_t rows, ptrdiff_t n, T* out) {
  ptrdiff_t r = 0;
  for (; r + 4 <= rows; r += 4) over_differences<Sum, 4>(a, b + r * n, n, out + r);
  for (; r < rows; r++) over_differences<Sum, 1>(a, b + r * n, n, out + r);
}

constexpr ptrdiff_t kBlock = 64;

template <class T>
T sum_of_powers(const T* a, const T* b, ptrdiff_t n, T p) {
  T sum = 0, each[kBlock];
  for (ptrdiff_t begin = 0; begin < n; begin += kBlock) {
    const ptrdiff_t count = smaller(kBlock, n - begin);
    for (ptrdiff_t i = 0; i < count; i++) each[i] = math::pow(absolute(a[begin + i] - b[begin + i]), p);
    for (ptrdiff_t i = 0; i < count; i++) sum += each[i];
  }
  return sum;
}

template <class T>
void distances_of(Norm norm, double p, const T* a, const T* b, ptrdiff_t rows, ptrdiff_t n, T* out) {
  switch (norm) {
    case Norm::Count:
      for (ptrdiff_t r = 0; r < rows; r++) {
        ptrdiff_t count = 0;
        for (ptrdiff_t i = 0; i < n; i++) count += a[i] - b[r * n + i] != 0;
        out[r] = static_cast<T>(count);
      }
      return;
    case Norm::Sum: return distances_of<SumOfSizes>(a, b, rows, n, out);
    case Norm::Root:
      distances_of<SumOfSquares>(a, b, rows, n, out);
      for (ptrdiff_t r = 0; r < rows; r++) out[r] = square_root(out[r]);
      return;
    case Norm::Most: return distances_of<Largest>(a, b, rows, n, out);
    default:
      for (ptrdiff_t r = 0; r < rows; r++)
        out[r] = math::pow(sum_of_powers(a, b + r * n, n, static_cast<T>(p)), static_cast<T>(1 / p));
  }
}

void distances(DType dtype, Norm norm, double p, const void* a, const void* b, ptrdiff_t rows, ptrdiff_t n, void* out) {
  float_or_double(dtype, [&]<class T>() {
    distances_of(norm, p, static_cast<const T*>(a), static_cast<const T*>(b), rows, n, static_cast<T*>(out));
  });
}

// f(difference) added to a's gradient, and taken from b's.
template <class T, class F>
RUSHLIGHT_INLINE void spread(const T* a, const T* b, ptrdiff_t n, T* to_a, T* to_b, const F& f) {
  if (to_a && to_b) {
    RUSHLIGHT_INDEPENDENT
    for (ptrdiff_t i = 0; i < n; i++) {
      const T v = f(a[i] - b[i]);
      to_a[i] += v;
      to_b[i] -= v;
    }
    return;
  }
  if (to_a) RUSHLIGHT_INDEPENDENT
  for (ptrdiff_t i = 0; i < n; i++) to_a[i] += f(a[i] - b[i]);
  if (to_b) RUSHLIGHT_INDEPENDENT
  for (ptrdiff_t i = 0; i < n; i++) to_b[i] -= f(a[i] - b[i]);
}

template <class T>
RUSHLIGHT_INLINE T signed_as(T d, T value) {
  return d > 0 ? value : d < 0 ? -value : d * 0;
}

template <class T>
void distance_gradient_of(Norm norm, double p, const T* a, const T* b, ptrdiff_t n, T g, T distance, T* to_a, T* to_b) {
  if (norm == Norm::Sum) return spread(a, b, n, to_a, to_b, [g](T d) { return signed_as(d, g); });
  if (norm == Norm::Most) {  // shared by all elements of that size
    ptrdiff_t count = 0;
    for (ptrdiff_t i = 0; i < n; i++) count += absolute(a[i] - b[i]) == distance;
    const T share = g / static_cast<T>(count);
    return spread(a, b, n, to_a, to_b, [=](T d) { return absolute(d) == distance ? signed_as(d, share) : T(0); });
  }
  if (distance == 0 || norm == Norm::Count) return;
  if (norm == Norm::Root) {
    const T factor = g / distance;
    return spread(a, b, n, to_a, to_b, [factor](T d) { return d * factor; });
  }
  const T exponent = static_cast<T>(p - 1);
  spread(a, b, n, to_a, to_b, [=](T d) { return d == 0 ? T(0) : signed_as(d, g * math::pow(absolute(d) / distance, exponent)); });
}

void distance_gradient(DType dtype, Norm norm, double p, const void* a, const void* b, ptrdiff_t rows, ptrdiff_t n, const void* g,
                       const void* distance, void* to_a, void* to_b) {
  float_or_double(dtype, [&]<class T>() {
    for (ptrdiff_t r = 0; r < rows; r++)
      distance_gradient_of(norm, p, static_cast<const T*>(a), static_cast<const T*>(b) + r * n, n, static_cast<const T*>(g)[r],
                           static_cast<const T*>(distance)[r], static_cast<T*>(to_a),
                           to_b ? static_cast<T*>(to_b) + r * n : nullptr);
  });
}

// With s = |x - y| and m = the smaller of s and the limit: m * (s - m / 2) is s^2 / 2 below the limit, linear beyond.
template <class T>
T huber_sum_of(const T* x, const T* y, ptrdiff_t n, T limit) {
  using V = Vec<T>;
  constexpr ptrdiff_t kPart = 1024;
  if (n > kPart) {
    const ptrdiff_t left = (n / 2 + kPart - 1) / kPart * kPart;
    return huber_sum_of(x, y, left, limit) + huber_sum_of(x + left, y + left, n - left, limit);
  }
  V sum = V::all(0);
  const V most = V::all(limit), half = V::all(T(0.5));
  ptrdiff_t i = 0;
  for (; i + V::N <= n; i += V::N) {
    const V s = absolute(V::load(x + i) - V::load(y + i)), m = minimum(s, most);
    sum = fma(m, s - m * half, sum);
  }
  T total = horizontal_sum(sum);
  for (; i < n; i++) {
    const T s = absolute(x[i] - y[i]), m = s > limit ? limit : s;
    total += m * (s - m / 2);
  }
  return total;
}

double huber_sum(DType dtype, const void* x, const void* y, ptrdiff_t n, double limit) {
  if (dtype == DType::F32)
    return huber_sum_of(static_cast<const float*>(x), static_cast<const float*>(y), n, static_cast<float>(limit));
  return huber_sum_of(static_cast<const double*>(x), static_cast<const double*>(y), n, limit);
}

void huber_slope(DType dtype, const void* x, const void* y, double limit, double factor, ptrdiff_t n, void* out) {
  float_or_double(dtype, [&]<class T>() {
    const T *a = static_cast<const T*>(x), *b = static_cast<const T*>(y);
    T* o = static_cast<T*>(out);
    const T most = static_cast<T>(limit), f = static_cast<T>(factor);
    RUSHLIGHT_INDEPENDENT
    for (ptrdiff_t i = 0; i < n; i++) {
      const T d = a[i] - b[i], low = d < -most ? -most : d;
      o[i] = (low > most ? most : low) * f;
    }
  });
}

}  // namespace

void fill_distances(DenseKernels& table) {
  table.distances = distances;
  table.distance_gradient = distance_gradient;
  table.huber_sum = huber_sum;
  table.huber_slope = huber_slope;
}

}  // namespace rushlight::RUSHLIGHT_ISA
