// From an op on one element (ops.h) to its BlockFn: the loops over contiguous elements.
//
// Compiled once per instruction set: everything here is local to the file that includes it.
#pragma once
#include <string.h>

#include <type_traits>

#include "kernels/isa/elementwise/ops.h"
#include "kernels/isa/elementwise/pointwise.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

template <class Op>
concept Applies = requires(T x) { Op::apply(x, x, x); };
template <class Op>
concept Guarded = requires(T x) { Op::apply_far(x, x); };

template <class Op>
inline void loop(const T* a, [[maybe_unused]] const T* b, [[maybe_unused]] const T* c, T* out, ptrdiff_t n) {
  RUSHLIGHT_INDEPENDENT
  for (ptrdiff_t i = 0; i < n; ++i) out[i] = Op::apply(a[i], Op::arity >= 2 ? b[i] : T(), Op::arity >= 3 ? c[i] : T());
}

// A cache line of elements: a whole number of vectors in every instruction set.
constexpr ptrdiff_t kLine = 64 / static_cast<ptrdiff_t>(sizeof(T));

// For ops worth it: the last elements are done as a full line in a buffer, not one by one.
template <class Op>
inline void padded_loop(const T* a, const T* b, const T* c, T* out, ptrdiff_t n) {
  const ptrdiff_t whole = n & -kLine;
  loop<Op>(a, b, c, out, whole);
  const size_t rest = static_cast<size_t>(n - whole);
  if (rest == 0) return;
  alignas(64) T lines[Op::arity][kLine] = {};
  memcpy(lines[0], a + whole, rest * sizeof(T));
  if constexpr (Op::arity >= 2) memcpy(lines[1], b + whole, rest * sizeof(T));
  if constexpr (Op::arity >= 3) memcpy(lines[2], c + whole, rest * sizeof(T));
  loop<Op>(lines[0], lines[Op::arity >= 2 ? 1 : 0], lines[Op::arity >= 3 ? 2 : 0], lines[0], kLine);
  memcpy(out + whole, lines[0], rest * sizeof(T));
}

template <class Op>
inline bool all_fit(const T* a, [[maybe_unused]] const T* b, ptrdiff_t n) {
  int misfits = 0;
  for (ptrdiff_t i = 0; i < n; ++i) misfits |= Op::fits(a[i], Op::arity >= 2 ? b[i] : T()) ? 0 : 1;
  return misfits == 0;
}

// One of UNARY_PARTS as two more ops: of elements that are all in the part, and of those that do not fit.
template <class Op>
concept Parted = requires(T x) { Op::apply_near(x); };
template <class Op>
struct NearOf {
  static constexpr int arity = 1;
  static T apply(T a, T, T) { return Op::apply_near(a); }
};
template <class Op>
inline bool all_in_part(const T* a, ptrdiff_t n) {
  int others = 0;
  for (ptrdiff_t i = 0; i < n; ++i) others |= Op::in_part(a[i]) ? 0 : 1;
  return others == 0;
}

// flatten: the whole of apply is inlined, however long; a call left in a loop would keep it from vectorising.
template <class Op>
[[gnu::flatten]] void run_block(const void* a_, const void* b_, const void* c_, void* out_, ptrdiff_t n) {
  const T* a = static_cast<const T*>(a_);
  const T* b = static_cast<const T*>(b_);
  const T* c = static_cast<const T*>(c_);
  T* out = static_cast<T*>(out_);
  if constexpr (Guarded<Op>) {
    constexpr ptrdiff_t kStretch = Parted<Op> ? 128 : 512;
    for (ptrdiff_t i = 0; i < n; i += kStretch) {
      const ptrdiff_t count = n - i < kStretch ? n - i : kStretch;
      if constexpr (Parted<Op>) {
        if (all_in_part<Op>(a + i, count)) {
          padded_loop<NearOf<Op>>(a + i, nullptr, nullptr, out + i, count);
          continue;
        }
      }
      const T* right = Op::arity >= 2 ? b + i : nullptr;
      if (all_fit<Op>(a + i, right, count)) {
        padded_loop<Op>(a + i, right, nullptr, out + i, count);
      } else {
        for (ptrdiff_t j = 0; j < count; ++j) {
          const T x = a[i + j], y = Op::arity >= 2 ? right[j] : T();
          out[i + j] = Op::fits(x, y) ? Op::apply(x, y, 0) : Op::apply_far(x, y);
        }
      }
    }
  } else if constexpr (Op::cost == kVector) {
    padded_loop<Op>(a, b, c, out, n);
  } else {
    loop<Op>(a, b, c, out, n);
  }
}

// Some operands are one element: those of the bits of `singles`, of which a is 0.
template <class Op, int singles>
[[gnu::flatten]] void run_beside(const void* a_, const void* b_, const void* c_, void* out_, ptrdiff_t n) {
  const T *a = static_cast<const T*>(a_), *b = static_cast<const T*>(b_), *c = static_cast<const T*>(c_);
  T* out = static_cast<T*>(out_);
  const T x = singles & 1 ? *a : T(), y = singles & 2 ? *b : T(), z = singles & 4 ? *c : T();
  RUSHLIGHT_INDEPENDENT
  for (ptrdiff_t i = 0; i < n; ++i)
    out[i] = Op::apply(singles & 1 ? x : a[i], singles & 2 ? y : b[i], Op::arity == 2 || singles & 4 ? z : c[i]);
}
template <class Op>
constexpr BlockFn kBeside[8] = {nullptr, nullptr, run_beside<Op, 2>, nullptr, run_beside<Op, 4>, nullptr, run_beside<Op, 6>};
template <class Op>
  requires(Op::arity == 2)
constexpr BlockFn kBeside<Op>[8] = {nullptr, run_beside<Op, 1>, run_beside<Op, 2>};

// Of floats, through the block function of doubles.
template <int number, int arity>
void through_double(const void* a_, const void* b_, [[maybe_unused]] const void* c_, void* out_, ptrdiff_t n) {
  constexpr ptrdiff_t kStretch = 256;
  alignas(64) double given[2][kStretch];
  for (ptrdiff_t i = 0; i < n; i += kStretch) {
    const ptrdiff_t count = n - i < kStretch ? n - i : kStretch;
    const T* a = static_cast<const T*>(a_) + i;
    for (ptrdiff_t j = 0; j < count; ++j) given[0][j] = static_cast<double>(a[j]);
    if constexpr (arity == 2) {
      const T* b = static_cast<const T*>(b_) + i;
      for (ptrdiff_t j = 0; j < count; ++j) given[1][j] = static_cast<double>(b[j]);
    }
    double_ops()[number].fn(given[0], given[1], nullptr, given[0], count);
    T* out = static_cast<T*>(out_) + i;
    for (ptrdiff_t j = 0; j < count; ++j) out[j] = static_cast<T>(given[0][j]);
  }
}

template <int number>
void series_block(const void* a, const void* b, const void*, void* out, ptrdiff_t n) {
  run_series(number, static_cast<const double*>(a), static_cast<const double*>(b), static_cast<double*>(out), n);
}

// The number of an op.
enum Number {
#define OP(name, ...) NUMBER_##name,
#include "kernels/isa/elementwise/ops.def"
};

// Orthogonal polynomials of degrees that are not high: one step for many elements after the other.
constexpr int kFirstPolynomial = NUMBER_op_chebyshev_polynomial_t, kFirstShifted = NUMBER_op_shifted_chebyshev_polynomial_t;
constexpr bool is_polynomial(int number) {
  return number >= kFirstPolynomial && number <= NUMBER_op_shifted_chebyshev_polynomial_w;
}
template <int number>
void polynomial_block(const void* a_, const void* b_, const void*, void* out_, ptrdiff_t n) {
  constexpr bool shifted = number >= kFirstShifted;
  constexpr int family = number - (shifted ? kFirstShifted : kFirstPolynomial);
  constexpr double most = family <= math::CHEBYSHEV_W ? 12 : 256;
  constexpr ptrdiff_t kStretch = 64;
  const double *a = static_cast<const double*>(a_), *b = static_cast<const double*>(b_);
  double* out = static_cast<double*>(out_);
  for (ptrdiff_t i = 0; i < n; i += kStretch, a += kStretch, b += kStretch, out += kStretch) {
    const ptrdiff_t count = n - i < kStretch ? n - i : kStretch;
    alignas(64) double x[kStretch], degree[kStretch], p[kStretch], q[kStretch], found[kStretch];
    for (ptrdiff_t j = count; j < kStretch; ++j) x[j] = degree[j] = 0;
    int64_t others = 0;
    for (ptrdiff_t j = 0; j < count; ++j) x[j] = shifted ? a[j] + a[j] - 1 : a[j];
    for (ptrdiff_t j = 0; j < count; ++j) {
      const double given = b[j];
      const bool fits = (given >= 0) & (given < most + 1);
      degree[j] = math::trunc(fits ? given : 0.0);
      others |= fits ? 0 : 1;
    }
    for (ptrdiff_t j = 0; j < kStretch; ++j) {
      p[j] = 1;
      q[j] = math::first_degree(family, x[j]);
      found[j] = degree[j] > 0 ? q[j] : 1.0;
    }
    int64_t bits[kStretch], highest = 0;  // degrees are not negative: ordered as their bits are
    memcpy(bits, degree, sizeof bits);
    for (ptrdiff_t j = 0; j < kStretch; ++j) highest = bits[j] > highest ? bits[j] : highest;
    double most_steps;
    memcpy(&most_steps, &highest, sizeof most_steps);
    const auto step = [&](const double* last, double* before, double k) {  // before becomes next
      RUSHLIGHT_INDEPENDENT
      for (ptrdiff_t j = 0; j < kStretch; ++j) {
        before[j] = math::next_degree(family, x[j], last[j], before[j], k);
        found[j] = k < degree[j] ? before[j] : found[j];
      }
    };
    for (double k = 1; k < most_steps; k += 2) {
      step(q, p, k);
      step(p, q, k + 1);
    }
    for (ptrdiff_t j = 0; others != 0 && j < count; ++j) {
      if (!(b[j] >= 0 && b[j] < most + 1)) run_series(number, a + j, b + j, found + j, 1);
    }
    for (ptrdiff_t j = 0; j < count; ++j) out[j] = found[j];
  }
}

// Euclid's algorithm on many pairs at once, in a floating-point type that holds the integers: their quotients are cut right.
template <class F, bool multiple>
inline void divide_in_turns(const T* a, const T* b, T* out, ptrdiff_t n) {
  constexpr ptrdiff_t kPairs = 64;
  alignas(64) F first[kPairs] = {}, x[kPairs] = {}, y[kPairs] = {};
  for (ptrdiff_t j = 0; j < n; ++j) {
    x[j] = first[j] = static_cast<F>(a[j] < 0 ? -a[j] : a[j]);
    y[j] = static_cast<F>(b[j] < 0 ? -b[j] : b[j]);
  }
  using Truth = std::conditional_t<sizeof(F) == 4, int32_t, int64_t>;
  for (Truth more = 1; more != 0;) {
    more = 0;
    for (ptrdiff_t j = 0; j < kPairs; ++j) {
      const F rest = x[j] - math::trunc(x[j] / (y[j] > 0 ? y[j] : F(1))) * y[j], next = y[j] > 0 ? rest : F(0);
      x[j] = y[j] > 0 ? y[j] : x[j];
      y[j] = next;
      more |= next > 0 ? 1 : 0;
    }
  }
  for (ptrdiff_t j = 0; j < n; ++j) {
    const T divisor = static_cast<T>(x[j]), times = b[j] < 0 ? -b[j] : b[j];
    out[j] = !multiple ? divisor : static_cast<T>(first[j] / (x[j] > 0 ? x[j] : F(1))) * times;
  }
}
template <class Op, bool multiple>
[[gnu::flatten]] void divisor_block(const void* a_, const void* b_, const void*, void* out_, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i += 64) {
    const T *a = static_cast<const T*>(a_) + i, *b = static_cast<const T*>(b_) + i;
    T* out = static_cast<T*>(out_) + i;
    const ptrdiff_t count = n - i < 64 ? n - i : 64;
    uint64_t most = 0;
    for (ptrdiff_t j = 0; j < count; ++j) {
      const uint64_t x = static_cast<uint64_t>(a[j]), y = static_cast<uint64_t>(b[j]);
      most |= (a[j] < 0 ? -x : x) | (b[j] < 0 ? -y : y);
    }
    if (most < uint64_t{1} << 22) divide_in_turns<float, multiple>(a, b, out, count);
    else if (most < uint64_t{1} << 51) divide_in_turns<double, multiple>(a, b, out, count);
    else
      for (ptrdiff_t j = 0; j < count; ++j) out[j] = Op::apply(a[j], b[j], 0);
  }
}

// gamma_slope (series.h) of up to 64 numbers at once, step by step.
constexpr ptrdiff_t kNumbers = 64;
constexpr int kSteps = sizeof(T) == 4 ? 104 : 144;
constexpr double kSumLimit = sizeof(T) == 4 ? 15 : 8;  // beyond, the sum loses more digits than the integral

struct HalfLine {
  double u[kSteps + 1], weight[kSteps + 1], up[kSteps + 1], down[kSteps + 1];
  HalfLine() {
    for (int i = 0; i <= kSteps; ++i) {
      const double step = 7.2 / kSteps, t = step * i - 3.6;
      u[i] = ::exp(math::kPi / 2 * ::sinh(t));
      weight[i] = step * math::kPi / 2 * ::cosh(t) * u[i];
      up[i] = ::expm1(u[i]);
      down[i] = ::expm1(-u[i]);
    }
  }
};
[[gnu::flatten]] inline void slopes_by_integral(const double* a, const double* x, const double* psi, double* out, ptrdiff_t n) {
  static const HalfLine rule;
  double y[kNumbers], total[kNumbers] = {};
  for (ptrdiff_t j = 0; j < n; ++j) y[j] = math::log(x[j]) - psi[j];
  for (int i = 0; i <= kSteps; ++i) {
    const double u = rule.u[i], weight = rule.weight[i], up = rule.up[i], down = rule.down[i];
    int64_t some = 0;
    RUSHLIGHT_INDEPENDENT
    for (ptrdiff_t j = 0; j < n; ++j) {
      const double to = x[j] < a[j] ? -u : u, e = x[j] < a[j] ? down : up;
      const double density = math::exp(a[j] * to - x[j] * e), part = density * (y[j] + to) * weight;
      total[j] += density > 0 ? part : 0.0;
      some |= density > 0 ? 1 : 0;
    }
    if (some == 0 && u > 1) break;
  }
  for (ptrdiff_t j = 0; j < n; ++j) out[j] = x[j] * (x[j] < a[j] ? -total[j] : total[j]);
}

// The derivative of the lower function's series: its terms t, each times log(x) - digamma(a + k).
[[gnu::flatten]] inline void slopes_by_sum(const double* a, const double* x, const double* psi, double* out) {
  double t[kNumbers], c[kNumbers], d[kNumbers], sum[kNumbers];
  for (ptrdiff_t j = 0; j < kNumbers; ++j) {
    d[j] = a[j];
    t[j] = 1 / d[j];
    c[j] = (math::log(x[j]) - psi[j]) - t[j];
    sum[j] = t[j] * c[j];
  }
  int64_t moving = 1;
  for (int round = 0; round < 100 && moving != 0; ++round) {
    moving = 0;
    for (ptrdiff_t j = 0; j < kNumbers; ++j) {
      for (int k = 0; k < 2; ++k) {
        d[j] += 1;
        const double next = 1 / d[j];
        t[j] *= x[j] * next;
        c[j] -= next;
        sum[j] += t[j] * c[j];
      }
      moving |= math::fabs(t[j] * c[j]) > 1e-17 * math::fabs(sum[j]) ? 1 : 0;
    }
  }
  for (ptrdiff_t j = 0; j < kNumbers; ++j) out[j] = -x[j] * sum[j];
}

inline void gamma_slope_block(const void* a_, const void* b_, const void*, void* out_, ptrdiff_t n) {
  double a[kNumbers], x[kNumbers], psi[kNumbers], slopes[kNumbers];
  const auto digamma_of = [](double* of, double* to, ptrdiff_t count) {
    double_ops()[NUMBER_op_digamma].fn(of, nullptr, nullptr, to, count);
  };
  for (ptrdiff_t i = 0; i < n; i += kNumbers) {
    const T *given_a = static_cast<const T*>(a_) + i, *given_x = static_cast<const T*>(b_) + i;
    const ptrdiff_t count = n - i < kNumbers ? n - i : kNumbers;
    ptrdiff_t places[kNumbers], others = 0;
    for (ptrdiff_t j = 0; j < kNumbers; ++j) {
      a[j] = j < count ? static_cast<double>(given_a[j]) : 1;
      x[j] = j < count ? static_cast<double>(given_x[j]) : 1;
      if (x[j] <= kSumLimit) continue;
      places[others++] = j;
      a[j] = x[j] = 1;
    }
    digamma_of(a, psi, kNumbers);
    slopes_by_sum(a, x, psi, slopes);
    if (others != 0) {
      double found[kNumbers];
      for (ptrdiff_t j = 0; j < others; ++j) {
        a[j] = static_cast<double>(given_a[places[j]]);
        x[j] = static_cast<double>(given_x[places[j]]);
      }
      digamma_of(a, psi, others);
      slopes_by_integral(a, x, psi, found, others);
      for (ptrdiff_t j = 0; j < others; ++j) slopes[places[j]] = found[j];
    }
    T* out = static_cast<T*>(out_) + i;
    for (ptrdiff_t j = 0; j < count; ++j) out[j] = static_cast<T>(slopes[j]);
  }
}

// hurwitz (series.h) of s > 1 and one q > 0, step by step for kNumbers at once.
[[gnu::flatten]] inline void zetas(const double* s, const double* q, double* out) {
  double power[kNumbers], factor[kNumbers], total[kNumbers] = {};
  for (int k = 0; k < 10; ++k) {
    for (ptrdiff_t j = 0; j < kNumbers; ++j) total[j] += math::pow(q[j] + k, -s[j]);
  }
  for (ptrdiff_t j = 0; j < kNumbers; ++j) {
    const double y = q[j] + 10, last = math::pow(y, -s[j]);
    total[j] += last * y / (s[j] - 1) + 0.5 * last;
    power[j] = last / y;
    factor[j] = s[j];
  }
  for (int k = 1; k < 10; ++k) {
    const double part = math::bernoulli_part(k);
    for (ptrdiff_t j = 0; j < kNumbers; ++j) {
      const double correction = part * factor[j] * power[j], y = q[j] + 10;
      total[j] += math::fabs(correction) < math::kInf ? correction : 0.0;
      factor[j] *= (s[j] + 2 * k - 1) * (s[j] + 2 * k);
      power[j] /= y * y;
    }
  }
  for (ptrdiff_t j = 0; j < kNumbers; ++j) out[j] = total[j];
}
inline void zeta_block(const void* a_, const void* b_, const void*, void* out_, ptrdiff_t n) {
  const double *a = static_cast<const double*>(a_), *b = static_cast<const double*>(b_);
  double* out = static_cast<double*>(out_);
  for (ptrdiff_t i = 0; i < n; i += kNumbers, a += kNumbers, b += kNumbers, out += kNumbers) {
    const ptrdiff_t count = n - i < kNumbers ? n - i : kNumbers;
    double s[kNumbers], q[kNumbers], found[kNumbers];
    ptrdiff_t others = 0;
    for (ptrdiff_t j = 0; j < kNumbers; ++j) {
      const bool plain = j < count && a[j] > 1 && b[j] > 0 && b[j] < math::kHuge;
      s[j] = plain ? a[j] : 2.0;
      q[j] = plain ? b[j] : 1.0;
      others += plain ? 0 : 1;
    }
    if (others < kNumbers) zetas(s, q, found);
    for (ptrdiff_t j = 0; j < count; ++j) {
      if (!(a[j] > 1 && b[j] > 0 && b[j] < math::kHuge)) run_series(NUMBER_op_zeta, a + j, b + j, found + j, 1);
    }
    for (ptrdiff_t j = 0; j < count; ++j) out[j] = found[j];
  }
}

// incomplete_gamma (series.h), step by step for kNumbers at once: each keeps its sum from the step that
// ends it. `places` are those in a block; numbers beyond `count` are 1.
struct GammaPart {
  double a[kNumbers], x[kNumbers], found[kNumbers];
  ptrdiff_t places[kNumbers], count = 0;
  void add(double given_a, double given_x, ptrdiff_t place) {
    a[count] = given_a;
    x[count] = given_x;
    places[count++] = place;
  }
  void fill() {
    for (ptrdiff_t j = count; j < kNumbers; ++j) a[j] = x[j] = 1;
  }
};

[[gnu::flatten]] inline void powers_over_gamma(const double* a, const double* x, double* out) {
  for (ptrdiff_t j = 0; j < kNumbers; ++j) {
    const bool low = a[j] < 3;
    const double apart = (x[j] - a[j]) / a[j], l = math::log(low ? x[j] : x[j] / a[j]);
    const double ratio = apart < -0.5 ? l : math::log1p(apart);
    const double near = a[j] * l - x[j] - math::lgamma_between(a[j], a[j] - 1);
    const double far = a[j] * (ratio - apart) - math::stirling_rest(a[j]);
    out[j] = math::exp(low ? near : far) / (low ? 1.0 : math::sqrt(2 * math::kPi * a[j]));
  }
}

[[gnu::flatten]] inline void lower_sums(GammaPart& part) {
  double top[kNumbers], bottom[kNumbers], power[kNumbers], a[kNumbers], done[kNumbers];
  for (ptrdiff_t j = 0; j < kNumbers; ++j) {
    top[j] = power[j] = 1;
    done[j] = 0;
    a[j] = part.a[j];
  }
  int64_t moving = 1;
  for (int round = 0; round < 1000 && moving != 0; ++round) {
    moving = 0;
    for (ptrdiff_t j = 0; j < kNumbers; ++j) {
      bottom[j] = 1;
      for (int k = 0; k < 4; ++k) {
        a[j] += 1;
        power[j] *= part.x[j];
        top[j] = math::madd(top[j], a[j], power[j]);
        bottom[j] *= a[j];
      }
      const bool ends = !(power[j] > top[j] * 1e-17);
      top[j] /= bottom[j];
      power[j] /= bottom[j];
      part.found[j] = done[j] > 0 ? part.found[j] : top[j];
      done[j] = ends ? 1.0 : done[j];
      moving |= done[j] > 0 ? 0 : 1;
    }
  }
}

[[gnu::flatten]] inline void upper_fractions(GammaPart& part) {
  double before_top[kNumbers], before_bottom[kNumbers], top[kNumbers], bottom[kNumbers], b[kNumbers], done[kNumbers];
  for (ptrdiff_t j = 0; j < kNumbers; ++j) {
    before_top[j] = part.found[j] = done[j] = 0;
    before_bottom[j] = top[j] = 1;
    b[j] = bottom[j] = part.x[j] + 1 - part.a[j];
  }
  int64_t moving = 1;
  for (int round = 0; round < 1000 && moving != 0; ++round) {
    moving = 0;
    for (ptrdiff_t j = 0; j < kNumbers; ++j) {
      for (int k = 1; k < 5; ++k) {
        const double n = 4 * round + k, step = n * (part.a[j] - n);
        b[j] += 2;
        const double next_top = math::madd(b[j], top[j], step * before_top[j]);
        const double next_bottom = math::madd(b[j], bottom[j], step * before_bottom[j]);
        before_top[j] = top[j];
        before_bottom[j] = bottom[j];
        top[j] = next_top;
        bottom[j] = next_bottom;
      }
      const double scale = 1 / bottom[j], found = top[j] * scale;
      const bool ends = !(math::fabs(found - part.found[j]) > 2e-16 * math::fabs(found));
      part.found[j] = done[j] > 0 ? part.found[j] : found;
      done[j] = ends ? 1.0 : done[j];
      moving |= done[j] > 0 ? 0 : 1;
      top[j] = found;
      before_top[j] *= scale;
      before_bottom[j] *= scale;
      bottom[j] = 1;
    }
  }
  for (ptrdiff_t j = 0; j < kNumbers; ++j) part.found[j] *= part.a[j];
}

// The upper function of small a and x, of which 1 minus the lower one would lose digits.
[[gnu::flatten]] inline void small_uppers(GammaPart& part) {
  double term[kNumbers], total[kNumbers];
  for (ptrdiff_t j = 0; j < kNumbers; ++j) {
    term[j] = -part.x[j];
    total[j] = -part.x[j] / (part.a[j] + 1);
  }
  for (int n = 2; n < 32; ++n) {
    for (ptrdiff_t j = 0; j < kNumbers; ++j) {
      term[j] *= -part.x[j] / n;
      total[j] += term[j] / (part.a[j] + n);
    }
  }
  for (ptrdiff_t j = 0; j < kNumbers; ++j) {
    const double power = part.a[j] * math::log(part.x[j]) - math::lgamma_between(part.a[j], part.a[j] - 1);
    part.found[j] = -math::expm1(power) - part.a[j] * math::exp(power) * total[j];
  }
}

template <int number>
void incomplete_gamma_block(const void* a_, const void* b_, const void*, void* out_, ptrdiff_t n) {
  constexpr bool upper = number == NUMBER_op_igammac;
  const double *a = static_cast<const double*>(a_), *b = static_cast<const double*>(b_);
  double* out = static_cast<double*>(out_);
  for (ptrdiff_t i = 0; i < n; i += kNumbers, a += kNumbers, b += kNumbers, out += kNumbers) {
    const ptrdiff_t count = n - i < kNumbers ? n - i : kNumbers;
    GammaPart sums, fractions, small;
    double found[kNumbers];
    for (ptrdiff_t j = 0; j < count; ++j) {
      const double p = a[j], x = b[j];
      const bool plain = p > 0 && x > 0 && p < 1e300 && x < 1e300 && (p < 20 || math::fabs(x - p) >= 0.3 * p);
      if (!plain) run_series(number, a + j, b + j, found + j, 1);
      else if (upper && x <= 2 && p < 1) small.add(p, x, j);
      else (x <= 2 || x <= p || (!upper && x <= p + 4) ? sums : fractions).add(p, x, j);
    }
    for (GammaPart* part : {&sums, &fractions, &small}) {
      if (part->count == 0) continue;
      part->fill();
      if (part == &small) {
        small_uppers(small);
      } else {
        double scale[kNumbers];
        powers_over_gamma(part->a, part->x, scale);
        if (part == &sums) lower_sums(sums);
        else upper_fractions(fractions);
        for (ptrdiff_t j = 0; j < kNumbers; ++j) {
          const double of = scale[j] > 0 ? scale[j] * part->found[j] : 0.0, cut = of > 1 ? 1.0 : of;
          part->found[j] = (part == &sums) != upper ? cut : 1 - cut;
        }
      }
      for (ptrdiff_t j = 0; j < part->count; ++j) found[part->places[j]] = part->found[j];
    }
    for (ptrdiff_t j = 0; j < count; ++j) out[j] = found[j];
  }
}

template <class Op, int number>
constexpr BlockOp block_op() {
  if constexpr (!Applies<Op>) {
    return {};
  } else if constexpr (number == NUMBER_op_gamma_slope) {
    return {gamma_slope_block, 4 * Op::cost, Op::arity};
  } else if constexpr (sizeof(T) == 4 && (std::is_base_of_v<Wide, Op> || std::is_base_of_v<Series, Op>)) {
    return {through_double<number, Op::arity>, Op::cost, Op::arity};
  } else if constexpr (number == NUMBER_op_igamma || number == NUMBER_op_igammac) {
    return {incomplete_gamma_block<number>, Op::cost, Op::arity};
  } else if constexpr (number == NUMBER_op_zeta) {
    return {zeta_block, Op::cost, Op::arity};
  } else if constexpr (number == NUMBER_op_gcd || number == NUMBER_op_lcm) {
    return {divisor_block < Op, number == NUMBER_op_lcm >, Op::cost, Op::arity};
  } else if constexpr (is_polynomial(number)) {
    return {polynomial_block<number>, Op::cost, Op::arity};
  } else if constexpr (std::is_base_of_v<Series, Op>) {
    return {series_block<number>, Op::cost, Op::arity};
  } else {
    constexpr bool real = T(0.5) != T(0);
    if constexpr (real && Op::arity >= 2 && Op::cost == kCheap) return {run_block<Op>, Op::cost, Op::arity, kBeside<Op>};
    return {run_block<Op>, Op::cost, Op::arity};
  }
}

// The block functions of all ops, by op number.
constexpr BlockOp kOps[] = {
#define OP(name, ...) block_op<math::name, NUMBER_##name>(),
#include "kernels/isa/elementwise/ops.def"
};

}  // namespace
}  // namespace rushlight::RUSHLIGHT_ISA
