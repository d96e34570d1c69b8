// The loops of scans.h. Chains of additions and products are computed in double, several rows side by side.
#include "kernels/scans.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

namespace rushlight {

namespace {

template <class T, bool kLargest>
bool beats(T x, T best) {
  return kLargest ? !(x < best) : !(x > best);
}

template <class T, bool kLargest>
void extremes_of_row(const T* x, ptrdiff_t n, T* values, int64_t* places) {
  constexpr ptrdiff_t kStep = 16;
  T best = x[0];
  int64_t place = 0;
  for (ptrdiff_t i = 0; i < n; i += kStep) {
    const ptrdiff_t end = std::min(i + kStep, n);
    int any = 0;
    for (ptrdiff_t k = i; k < end; k++) any |= beats<T, kLargest>(x[k], best);
    if (!any) {  // seldom is there a new one
      std::fill(values + i, values + end, best);
      std::fill(places + i, places + end, place);
      continue;
    }
    for (ptrdiff_t k = i; k < end; k++) {
      if (beats<T, kLargest>(x[k], best) && !(best != best && x[k] == x[k])) best = x[k], place = k;
      values[k] = best;
      places[k] = place;
    }
  }
}

template <class T, bool kLargest>
void extremes_of_columns(const T* x, ptrdiff_t n, ptrdiff_t inner, ptrdiff_t width, T* values, int64_t* places) {
  std::copy_n(x, width, values);
  std::fill_n(places, width, 0);
  for (ptrdiff_t i = 1; i < n; i++) {
    x += inner;
    const T* best = values;
    const int64_t* place = places;
    values += inner;
    places += inner;
    for (ptrdiff_t j = 0; j < width; j++) {
      const bool next = beats<T, kLargest>(x[j], best[j]) && !(best[j] != best[j] && x[j] == x[j]);
      values[j] = next ? x[j] : best[j];
      places[j] = next ? i : place[j];
    }
  }
}

template <class T, bool kLargest>
void extremes_of(const char* in, ptrdiff_t outer, ptrdiff_t n, ptrdiff_t inner, ptrdiff_t width, char* values, int64_t* places) {
  const T* x = reinterpret_cast<const T*>(in);
  T* to = reinterpret_cast<T*>(values);
  for (ptrdiff_t o = 0; o < outer; o++, x += n * inner, to += n * inner, places += n * inner) {
    if (inner == 1) extremes_of_row<T, kLargest>(x, n, to, places);
    else extremes_of_columns<T, kLargest>(x, n, inner, width, to, places);
  }
}

// Calls f(first row, how many) for eight rows at a time, then for the others one by one; how many is a type.
constexpr ptrdiff_t kRows = 8;
template <class F>
void each_rows(ptrdiff_t rows, const F& f) {
  ptrdiff_t r = 0;
  for (; r + kRows <= rows; r += kRows) f(r, std::integral_constant<ptrdiff_t, kRows>());
  for (; r < rows; r++) f(r, std::integral_constant<ptrdiff_t, 1>());
}

// A function of blocks in double.
struct Computed {
  explicit Computed(const char* name) : block(kernels().block(opcode(name), DType::F64)) {}
  void operator()(double* x, ptrdiff_t n) const { block(x, nullptr, nullptr, x, n); }
  BlockFn block;
};

double log_add_exp(double a, double b) {
  const double high = a < b ? b : a;
  if (a != a || b != b) return a + b;
  return std::isinf(high) ? high : high + std::log1p(std::exp((a < b ? a : b) - high));
}

constexpr ptrdiff_t kBlock = 256;

}  // namespace

// Near 0 the size by |1 + a|^2 - 1.
template <class T>
std::complex<T> log1p(std::complex<T> a) {
  const T x = a.real(), y = a.imag();
  const bool near = std::fabs(x) < T(0.5) && std::fabs(y) < T(0.5);
  return {near ? std::log1p(x * (2 + x) + y * y) / 2 : std::log(std::hypot(x + 1, y)), std::atan2(y, x + 1)};
}

// The one with the larger real part keeps its angle, and the other turns it.
template <class T>
std::complex<T> log_add_exp(std::complex<T> a, std::complex<T> b) {
  const bool below = a.real() < b.real();
  const std::complex<T> low = below ? a : b, high = below ? b : a;
  const auto is_nan = [](std::complex<T> z) { return std::isnan(z.real()) || std::isnan(z.imag()); };
  if (is_nan(a) || is_nan(b)) return {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::quiet_NaN()};
  if (std::isinf(high.real()) && low.real() == high.real()) return high.real() < 0 ? low : std::log(std::exp(low) + std::exp(high));
  return high + log1p(std::exp(low - high));
}

bool extremes_so_far(bool largest, DType dtype, const char* in, ptrdiff_t outer, ptrdiff_t n, ptrdiff_t inner, ptrdiff_t width,
                     char* values, int64_t* places) {
  const auto run = [&]<class T>(T) {
    (largest ? extremes_of<T, true> : extremes_of<T, false>)(in, outer, n, inner, width, values, places);
    return true;
  };
  switch (dtype) {
    case DType::I32: return run(int32_t());
    case DType::I64: return run(int64_t());
    case DType::U64: return run(uint64_t());
    case DType::F32: return run(float());
    case DType::F64: return run(double());
    default: return false;
  }
}

template <class T>
void complex_products(const T* x, ptrdiff_t outer, ptrdiff_t n, ptrdiff_t inner, ptrdiff_t width, T* out) {
  each_rows(outer * width, [&](ptrdiff_t first, auto count) {
    double real[kRows] = {}, imag[kRows] = {};
    ptrdiff_t at[kRows];
    for (ptrdiff_t r = 0; r < count; r++) at[r] = 2 * ((first + r) / width * n * inner + (first + r) % width);
    for (ptrdiff_t i = 0; i < n; i++) {
      for (ptrdiff_t r = 0; r < count; r++) {
        const double a = static_cast<double>(x[at[r]]), b = static_cast<double>(x[at[r] + 1]), before = real[r];
        real[r] = i ? before * a - imag[r] * b : a;
        imag[r] = i ? before * b + imag[r] * a : b;
        out[at[r]] = static_cast<T>(real[r]);
        out[at[r] + 1] = static_cast<T>(imag[r]);
        at[r] += 2 * inner;
      }
    }
  });
}

template <class T>
void cumprod_backward(const T* g, const T* x, ptrdiff_t rows, ptrdiff_t n, T* grad) {
  each_rows(rows, [&](ptrdiff_t first, auto count) {
    const T *gs = g + first * n, *xs = x + first * n;
    T* to = grad + first * n;
    double sums[kRows] = {}, before[kRows];
    // The sums from the end on, then each times the product before it. An infinite factor leaves 0 as it is.
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    int any = 0;
    for (ptrdiff_t i = 0; i < count * n; i++) any |= std::abs(static_cast<double>(xs[i])) == kInfinite;
    const auto add_up = [&](auto infinite) {
      for (ptrdiff_t i = n - 1; i >= 0; i--) {
        for (ptrdiff_t r = 0; r < count; r++) {
          const double next = i + 1 < n ? static_cast<double>(xs[r * n + i + 1]) : 0;
          const bool still = infinite && std::isinf(next) && sums[r] == 0;
          sums[r] = static_cast<double>(gs[r * n + i]) + (still ? 0 : next * sums[r]);
          to[r * n + i] = static_cast<T>(sums[r]);
        }
      }
    };
    if (any) add_up(std::true_type());
    else add_up(std::false_type());
    std::fill_n(before, kRows, 1.0);
    for (ptrdiff_t i = 0; i < n; i++) {
      for (ptrdiff_t r = 0; r < count; r++) {
        const T sum = to[r * n + i];
        const T product = static_cast<T>(before[r] * static_cast<double>(sum));
        to[r * n + i] = (sum == 0) & (std::abs(before[r]) == kInfinite) ? T(0) : product;
        before[r] *= static_cast<double>(xs[r * n + i]);
      }
    }
  });
}

// In blocks, relative to the largest number of each, so that exponentials and logarithms are those of whole registers. Where a block
// spans too much for this, or has something infinite, it is added up one by one.
template <class T>
void logcumsumexp(const T* x, ptrdiff_t rows, ptrdiff_t n, T* out) {
  constexpr double kSpan = 32;
  const Computed exp("exp"), log("log");
  for (ptrdiff_t r = 0; r < rows; r++, x += n, out += n) {
    double sum = -std::numeric_limits<double>::infinity();  // the logarithm so far
    for (ptrdiff_t i = 0; i < n; i += kBlock) {
      const ptrdiff_t m = std::min(kBlock, n - i);
      double e[kBlock], most = sum;
      int nan = sum != sum;
      for (ptrdiff_t k = 0; k < m; k++) {
        e[k] = static_cast<double>(x[i + k]);
        most = e[k] > most ? e[k] : most;
        nan |= e[k] != e[k];
      }
      const double least = std::max(sum, e[0]);  // of the results
      if (nan || !(most - least <= kSpan) || std::isinf(most)) {
        for (ptrdiff_t k = 0; k < m; k++) out[i + k] = static_cast<T>(sum = log_add_exp(sum, e[k]));
        continue;
      }
      for (ptrdiff_t k = 0; k < m; k++) e[k] -= most;
      exp(e, m);
      double total = std::exp(sum - most);
      for (ptrdiff_t k = 0; k < m; k++) e[k] = total += e[k];
      log(e, m);
      for (ptrdiff_t k = 0; k < m; k++) out[i + k] = static_cast<T>(most + e[k]);
      sum = most + e[m - 1];
    }
  }
}

template <class T>
void complex_logcumsumexp(const T* x, ptrdiff_t rows, ptrdiff_t n, T* out) {
  for (ptrdiff_t r = 0; r < rows; r++, x += 2 * n, out += 2 * n) {
    std::complex<double> sum = -std::numeric_limits<double>::infinity();
    for (ptrdiff_t i = 0; i < n; i++) {
      sum = log_add_exp(sum, std::complex<double>(x[2 * i], x[2 * i + 1]));
      out[2 * i] = static_cast<T>(sum.real());
      out[2 * i + 1] = static_cast<T>(sum.imag());
    }
  }
}

// grad[i] = exp(x[i] - out[i]) s[i], where s[i] = g[i] + exp(out[i] - out[i + 1]) s[i + 1]: no exponent is above 0.
template <class T>
void logcumsumexp_backward(const T* g, const T* x, const T* out, ptrdiff_t rows, ptrdiff_t n, T* grad) {
  const Computed exp("exp");
  for (ptrdiff_t r = 0; r < rows; r++, g += n, x += n, out += n, grad += n) {
    double sum = 0;
    for (ptrdiff_t end = n; end > 0; end -= kBlock) {
      const ptrdiff_t start = std::max<ptrdiff_t>(end - kBlock, 0), m = end - start;
      double fall[kBlock], own[kBlock];
      for (ptrdiff_t k = 0; k < m; k++) {
        const double now = static_cast<double>(out[start + k]);
        fall[k] = now - static_cast<double>(out[std::min(start + k + 1, n - 1)]);
        own[k] = static_cast<double>(x[start + k]) - now;
      }
      exp(fall, m);
      exp(own, m);
      for (ptrdiff_t k = m - 1; k >= 0; k--) {
        const double now = static_cast<double>(out[start + k]);
        if (std::isinf(now)) {  // nothing depends on these, but an infinity on itself
          sum = 0;
          grad[start + k] = now > 0 && std::isinf(x[start + k]) ? std::numeric_limits<T>::quiet_NaN() : T(0);
          continue;
        }
        sum = static_cast<double>(g[start + k]) + (sum == 0 ? 0 : fall[k] * sum);
        grad[start + k] = static_cast<T>(own[k] * sum);
      }
    }
  }
}

template std::complex<double> log1p(std::complex<double>);
template std::complex<float> log_add_exp(std::complex<float>, std::complex<float>);
template std::complex<double> log_add_exp(std::complex<double>, std::complex<double>);
template void complex_products(const float*, ptrdiff_t, ptrdiff_t, ptrdiff_t, ptrdiff_t, float*);
template void complex_products(const double*, ptrdiff_t, ptrdiff_t, ptrdiff_t, ptrdiff_t, double*);
template void cumprod_backward(const float*, const float*, ptrdiff_t, ptrdiff_t, float*);
template void cumprod_backward(const double*, const double*, ptrdiff_t, ptrdiff_t, double*);
template void logcumsumexp(const float*, ptrdiff_t, ptrdiff_t, float*);
template void logcumsumexp(const double*, ptrdiff_t, ptrdiff_t, double*);
template void complex_logcumsumexp(const float*, ptrdiff_t, ptrdiff_t, float*);
template void complex_logcumsumexp(const double*, ptrdiff_t, ptrdiff_t, double*);
template void logcumsumexp_backward(const float*, const float*, const float*, ptrdiff_t, ptrdiff_t, float*);
template void logcumsumexp_backward(const double*, const double*, const double*, ptrdiff_t, ptrdiff_t, double*);

}  // namespace rushlight
