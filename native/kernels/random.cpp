// The Mersenne Twister and its samplers.
#include "kernels/random.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/dense.h"

namespace rushlight {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int kN = 624, kM = 397;
constexpr ptrdiff_t kDraws = 512;  // at a time

// --- element types: every sampler computes in float, double or int64 and stores through these ---

uint16_t to_half(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x47800000u)  // 65536 and more, infinity, NaN
    return static_cast<uint16_t>(sign | (magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u));
  if (magnitude < 0x38800000u) {  // below the smallest normal half: let float addition round
    float shifted;
    std::memcpy(&shifted, &magnitude, 4);
    shifted += 0.5f;
    uint32_t low;
    std::memcpy(&low, &shifted, 4);
    return static_cast<uint16_t>(sign | (low - 0x3f000000u));
  }
  const uint32_t odd = magnitude >> 13 & 1;
  return static_cast<uint16_t>(sign | ((magnitude + 0xc8000fffu + odd) >> 13));
}

uint16_t to_bfloat16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

struct Half {
  uint16_t bits;
  Half() = default;
  template <class T>
  explicit Half(T x) : bits(to_half(static_cast<float>(x))) {}
};
struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  template <class T>
  explicit BFloat16(T x) : bits(to_bfloat16(static_cast<float>(x))) {}
};

template <class F>
bool with_float_type(DType dtype, F f) {
  switch (dtype) {
    case DType::F16: f.template operator()<Half>(); return true;
    case DType::BF16: f.template operator()<BFloat16>(); return true;
    case DType::F32: f.template operator()<float>(); return true;
    case DType::F64: f.template operator()<double>(); return true;
    default: return false;
  }
}

template <class F>
bool with_type(DType dtype, F f) {
  switch (dtype) {
    case DType::Bool: f.template operator()<bool>(); return true;
    case DType::U8: f.template operator()<uint8_t>(); return true;
    case DType::I8: f.template operator()<int8_t>(); return true;
    case DType::I16: f.template operator()<int16_t>(); return true;
    case DType::I32: f.template operator()<int32_t>(); return true;
    case DType::I64: f.template operator()<int64_t>(); return true;
    case DType::U16: f.template operator()<uint16_t>(); return true;
    case DType::U32: f.template operator()<uint32_t>(); return true;
    case DType::U64: f.template operator()<uint64_t>(); return true;
    default: return with_float_type(dtype, f);
  }
}

// Fills out with `draw()` for every element.
template <class T, class Draw>
void fill(void* out, ptrdiff_t n, Draw draw) {
  T* p = static_cast<T*>(out);
  for (ptrdiff_t i = 0; i < n; i++) p[i] = static_cast<T>(draw());
}

}  // namespace

void Generator::set_seed(uint64_t seed) {
  seed_ = seed;
  state_[0] = static_cast<uint32_t>(seed);
  for (uint32_t i = 1; i < kN; i++) state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  left_ = 1;
  next_ = 0;
  has_waiting_ = false;
  waiting_normal_ = 0;
}

void Generator::refill() {
  const auto twist = [](uint32_t u, uint32_t v) {
    const uint32_t y = (u & 0x80000000u) | (v & 0x7fffffffu);
    return y >> 1 ^ (v & 1 ? 0x9908b0dfu : 0u);
  };
  for (int i = 0; i < kN - kM; i++) state_[i] = state_[i + kM] ^ twist(state_[i], state_[i + 1]);
  for (int i = kN - kM; i < kN - 1; i++) state_[i] = state_[i + kM - kN] ^ twist(state_[i], state_[i + 1]);
  state_[kN - 1] = state_[kM - 1] ^ twist(state_[kN - 1], state_[0]);
  left_ = kN;
  next_ = 0;
}

void Generator::draw(uint32_t* out, ptrdiff_t n) {
  while (n > 0) {
    if (left_ == 1) {
      refill();
      left_ = kN + 1;  // next32 counts a draw before it refills
    }
    const ptrdiff_t many = std::min<ptrdiff_t>(n, left_ - 1);
    const uint32_t* from = state_ + next_;
    for (ptrdiff_t i = 0; i < many; i++) {
      uint32_t y = from[i];
      y ^= y >> 11;
      y ^= (y << 7) & 0x9d2c5680u;
      y ^= (y << 15) & 0xefc60000u;
      out[i] = y ^ (y >> 18);
    }
    left_ -= static_cast<int32_t>(many);
    next_ += static_cast<uint32_t>(many);
    out += many;
    n -= many;
  }
}

double Generator::normal_double() {
  if (has_waiting_) {
    has_waiting_ = false;
    return waiting_normal_;
  }
  const double u1 = uniform_double(), u2 = uniform_double();
  const double radius = std::sqrt(-2.0 * std::log1p(-u2)), theta = 2.0 * kPi * u1;
  waiting_normal_ = radius * std::sin(theta);
  has_waiting_ = true;
  return radius * std::cos(theta);
}

// Layout, little endian: seed u64, left i32, seeded i32, next u64, 624 words as u64, normal x f64, normal y f64, rho
// f64, whether y is waiting i32, 4 bytes of padding, a float normal (never kept here) f32 and whether it waits i32.
void Generator::get_state(unsigned char* bytes) const {
  std::memset(bytes, 0, kStateBytes);
  const int32_t seeded = 1, waiting = has_waiting_;
  const uint64_t next = next_;
  std::memcpy(bytes, &seed_, 8);
  std::memcpy(bytes + 8, &left_, 4);
  std::memcpy(bytes + 12, &seeded, 4);
  std::memcpy(bytes + 16, &next, 8);
  for (int i = 0; i < kN; i++) {
    const uint64_t word = state_[i];
    std::memcpy(bytes + 24 + 8 * i, &word, 8);
  }
  if (has_waiting_) std::memcpy(bytes + 5024, &waiting_normal_, 8);
  std::memcpy(bytes + 5040, &waiting, 4);
}

bool Generator::set_state(const unsigned char* bytes) {
  int32_t left, seeded, waiting;
  uint64_t next;
  std::memcpy(&left, bytes + 8, 4);
  std::memcpy(&seeded, bytes + 12, 4);
  std::memcpy(&next, bytes + 16, 8);
  std::memcpy(&waiting, bytes + 5040, 4);
  if (seeded != 1 || left < 1 || left > kN || next > static_cast<uint64_t>(kN - left + 1)) return false;
  std::memcpy(&seed_, bytes, 8);
  left_ = left;
  next_ = static_cast<uint32_t>(next);
  for (int i = 0; i < kN; i++) {
    uint64_t word;
    std::memcpy(&word, bytes + 24 + 8 * i, 8);
    state_[i] = static_cast<uint32_t>(word);
  }
  std::memcpy(&waiting_normal_, bytes + 5024, 8);
  has_waiting_ = waiting != 0;
  return true;
}

namespace {

void fill_uniform_float(Generator& g, float* out, ptrdiff_t n, float low, float width) {
  uint32_t draws[kDraws];
  for (ptrdiff_t done = 0; done < n; done += kDraws) {
    const ptrdiff_t count = std::min(kDraws, n - done);
    g.draw(draws, count);
    dense_kernels().uniforms(draws, out + done, count, low, width);
  }
}

// Of [0, 1): what the draws themselves are.
void fill_unit(Generator& g, double* out, ptrdiff_t n) {
  uint32_t draws[kDraws];
  for (ptrdiff_t begin = 0; begin < n; begin += kDraws / 2) {
    const ptrdiff_t count = std::min(kDraws / 2, n - begin);
    g.draw(draws, 2 * count);
    for (ptrdiff_t i = 0; i < count; i++) {
      const uint64_t draw = static_cast<uint64_t>(draws[2 * i]) << 32 | draws[2 * i + 1];
      out[begin + i] = static_cast<double>(static_cast<int64_t>(draw & ((uint64_t{1} << 53) - 1))) * 0x1p-53;
    }
  }
}

}  // namespace

bool fill_uniform(Generator& g, DType dtype, void* out, ptrdiff_t n, double from, double to) {
  if (from == 0 && to == 1 && dtype == DType::F64) return fill_unit(g, static_cast<double*>(out), n), true;
  if (dtype == DType::F64) {
    const double width = to - from;
    fill<double>(out, n, [&] { return std::fma(g.uniform_double(), width, from); });
    return true;
  }
  const float low = static_cast<float>(from), width = static_cast<float>(to) - low;
  if (dtype == DType::F32) {
    fill_uniform_float(g, static_cast<float*>(out), n, low, width);
    return true;
  }
  const auto small = [&]<class T>(T) {
    const T first(low), end(static_cast<float>(to));  // a value that rounds up to the end becomes the first
    fill<T>(out, n, [&] {
      const T x(std::fma(g.uniform_float(), width, low));
      return x.bits == end.bits ? first : x;
    });
    return true;
  };
  return dtype == DType::F16 ? small(Half()) : dtype == DType::BF16 ? small(BFloat16()) : false;
}

namespace {

constexpr ptrdiff_t kVectorNormal = 16;

// Turns uniforms into normals, sixteen at a time: elements j and j + 8 make a pair.
void make_normal(double* data, ptrdiff_t sixteens, double mean, double std) {
  for (double* end = data + sixteens * kVectorNormal; data < end; data += kVectorNormal)
    for (int j = 0; j < 8; j++) {
      const double radius = std::sqrt(-2.0 * std::log(1.0 - data[j])), theta = 2.0 * kPi * data[j + 8];
      data[j] = std::fma(radius * std::cos(theta), std, mean);
      data[j + 8] = std::fma(radius * std::sin(theta), std, mean);
    }
}
void make_normal(float* data, ptrdiff_t sixteens, float mean, float std) { dense_kernels().normals(data, sixteens, mean, std); }

template <class T>
void fill_normal_blocks(Generator& g, T* out, ptrdiff_t n, T mean, T std) {
  const auto uniforms = [&](T* to, ptrdiff_t count) {
    if constexpr (sizeof(T) == 4) fill_uniform_float(g, to, count, 0, 1);
    else fill<T>(to, count, [&] { return g.uniform_double(); });
  };
  uniforms(out, n);
  make_normal(out, n / kVectorNormal, mean, std);
  if (n % kVectorNormal) {
    T* last = out + n - kVectorNormal;
    uniforms(last, kVectorNormal);
    make_normal(last, 1, mean, std);
  }
}

template <class T>
void fill_normal_small_type(Generator& g, T* out, ptrdiff_t n, float mean, float std) {
  const auto block = [&](T* to) {
    float data[kVectorNormal];
    for (float& x : data) x = g.uniform_float();
    make_normal(data, 1, mean, std);
    for (int j = 0; j < kVectorNormal; j++) to[j] = T(data[j]);
  };
  for (ptrdiff_t i = 0; i + kVectorNormal <= n; i += kVectorNormal) block(out + i);
  if (n % kVectorNormal) block(out + n - kVectorNormal);
}

}  // namespace

bool fill_normal(Generator& g, DType dtype, void* out, ptrdiff_t n, double mean, double std, bool blocks) {
  if (n < kVectorNormal || !blocks)
    return with_float_type(dtype, [&]<class T>() { fill<T>(out, n, [&] { return std::fma(g.normal_double(), std, mean); }); });
  const float m = static_cast<float>(mean), s = static_cast<float>(std);
  switch (dtype) {
    case DType::F16: fill_normal_small_type(g, static_cast<Half*>(out), n, m, s); return true;
    case DType::BF16: fill_normal_small_type(g, static_cast<BFloat16*>(out), n, m, s); return true;
    case DType::F32: fill_normal_blocks(g, static_cast<float*>(out), n, m, s); return true;
    case DType::F64: fill_normal_blocks(g, static_cast<double*>(out), n, mean, std); return true;
    default: return false;
  }
}

namespace {

// Draws modulo a range of less than 2^28: by the quotient in double, which of a multiple of the range may be one too small.
template <class T>
void fill_small_integers(Generator& g, T* out, ptrdiff_t n, uint32_t range, uint64_t base) {
  uint32_t draws[kDraws];
  const double inverse = 1.0 / range;
  for (ptrdiff_t begin = 0; begin < n; begin += kDraws) {
    const ptrdiff_t count = std::min(kDraws, n - begin);
    g.draw(draws, count);
    for (ptrdiff_t i = 0; i < count && range > 1; i++) {
      const uint32_t rest = draws[i] - static_cast<uint32_t>(static_cast<int32_t>(draws[i] * inverse)) * range;
      draws[i] = rest >= range ? rest - range : rest;
    }
    for (ptrdiff_t i = 0; i < count; i++) out[begin + i] = static_cast<T>(static_cast<int64_t>(base + (range > 1 ? draws[i] : 0)));
  }
}

}  // namespace

bool fill_integers(Generator& g, DType dtype, void* out, ptrdiff_t n, uint64_t range, int64_t base) {
  // From 2^28 on a 32-bit draw would show the bias of the modulo: 64 bits are drawn.
  return with_type(dtype, [&]<class T>() {
    const uint64_t from = static_cast<uint64_t>(base);
    if (range == 0) fill<T>(out, n, [&] { return static_cast<int64_t>(g.next64()); });
    else if (range >= uint64_t{1} << 28) fill<T>(out, n, [&] { return static_cast<int64_t>(g.next64() % range + from); });
    else fill_small_integers(g, static_cast<T*>(out), n, static_cast<uint32_t>(range), from);
  });
}

bool fill_natural(Generator& g, DType dtype, void* out, ptrdiff_t n) {
  switch (dtype) {
    case DType::Bool: fill<bool>(out, n, [&] { return g.next32() & 1; }); return true;
    case DType::U8: fill<uint8_t>(out, n, [&] { return g.next32() % 256u; }); return true;
    case DType::I8: fill<int8_t>(out, n, [&] { return g.next32() % 128u; }); return true;
    case DType::I16: fill<int16_t>(out, n, [&] { return g.next32() % 32768u; }); return true;
    case DType::I32: fill<int32_t>(out, n, [&] { return g.next32() % 2147483648u; }); return true;
    case DType::I64: fill<int64_t>(out, n, [&] { return g.next64() % (uint64_t{1} << 63); }); return true;
    case DType::F16: fill<Half>(out, n, [&] { return g.next32() % 2049u; }); return true;
    case DType::BF16: fill<BFloat16>(out, n, [&] { return g.next32() % 257u; }); return true;
    case DType::F32: fill<float>(out, n, [&] { return g.next32() % 16777217u; }); return true;
    case DType::F64: fill<double>(out, n, [&] { return g.next64() % ((uint64_t{1} << 53) + 1); }); return true;
    default: return false;
  }
}

// uniform_double() < p, where the 53 bits of the draw are less than p * 2^53 rounded up: of two halves, so that the loop vectorises.
bool fill_bernoulli(Generator& g, DType dtype, void* out, ptrdiff_t n, double p) {
  constexpr ptrdiff_t kMany = 1024;
  const uint64_t limit = p > 0 ? static_cast<uint64_t>(std::ceil(std::min(p, 1.0) * 0x1p53)) : 0;
  const int32_t high_limit = static_cast<int32_t>(limit >> 32);
  const uint32_t low_limit = static_cast<uint32_t>(limit);
  return with_type(dtype, [&]<class T>() {
    T* to = static_cast<T*>(out);
    const T zero = static_cast<T>(0), one = static_cast<T>(1);
    uint32_t words[2 * kMany];
    for (ptrdiff_t done = 0; done < n; done += kMany) {
      const ptrdiff_t many = std::min(kMany, n - done);
      g.draw(words, 2 * many);
      for (ptrdiff_t i = 0; i < many; i++) {
        const int32_t high = static_cast<int32_t>(words[2 * i] & 0x1fffffu);
        const bool below = (high < high_limit) | ((high == high_limit) & (words[2 * i + 1] < low_limit));
        to[done + i] = below ? one : zero;
      }
    }
  });
}

bool fill_bernoulli_each(Generator& g, DType dtype, void* out, ptrdiff_t n, DType p_dtype, const void* p) {
  if (p_dtype == DType::F32) {
    const float* each = static_cast<const float*>(p);
    return with_type(dtype, [&]<class T>() { fill<T>(out, n, [&] { return g.uniform_float() < *each++ ? 1 : 0; }); });
  }
  const double* each = static_cast<const double*>(p);
  return with_type(dtype, [&]<class T>() { fill<T>(out, n, [&] { return g.uniform_double() < *each++ ? 1 : 0; }); });
}

bool fill_exponential(Generator& g, DType dtype, void* out, ptrdiff_t n, double rate) {
  return with_float_type(dtype, [&]<class T>() { fill<T>(out, n, [&] { return -1.0 / rate * std::log1p(-g.uniform_double()); }); });
}

bool fill_geometric(Generator& g, DType dtype, void* out, ptrdiff_t n, double p) {
  return with_type(dtype,
                   [&]<class T>() { fill<T>(out, n, [&] { return std::ceil(std::log(g.uniform_double()) / std::log1p(-p)); }); });
}

bool fill_cauchy(Generator& g, DType dtype, void* out, ptrdiff_t n, double median, double sigma) {
  return with_float_type(
      dtype, [&]<class T>() { fill<T>(out, n, [&] { return median + sigma * std::tan(kPi * (g.uniform_double() - 0.5)); }); });
}

bool fill_log_normal(Generator& g, DType dtype, void* out, ptrdiff_t n, double mean, double std) {
  return with_float_type(dtype, [&]<class T>() { fill<T>(out, n, [&] { return std::exp(g.normal_double() * std + mean); }); });
}

void fill_permutation(Generator& g, int64_t* out, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i++) out[i] = i;
  uint32_t draws[kDraws];
  for (ptrdiff_t begin = 0; begin + 1 < n; begin += kDraws) {
    const ptrdiff_t end = std::min(begin + kDraws, n - 1);
    g.draw(draws, end - begin);
    const ptrdiff_t count = end - begin, left = n - begin;
    if (left >> 31 == 0) {  // the remainders of draws by the numbers that are left: quotients in double are exact
      for (int i = 0; i < static_cast<int>(count); i++) {
        const int of = static_cast<int>(left) - i;
        draws[i] -= static_cast<uint32_t>(static_cast<int>(static_cast<double>(draws[i]) / of)) * static_cast<uint32_t>(of);
      }
    } else {
      for (ptrdiff_t i = 0; i < count; i++) draws[i] = static_cast<uint32_t>(draws[i] % static_cast<uint64_t>(left - i));
    }
    for (ptrdiff_t i = 0; i < count; i++) std::swap(out[begin + i], out[begin + i + draws[i]]);
  }
}

namespace {

template <class T>
void replaced(Generator& g, const T* weights, ptrdiff_t rows, ptrdiff_t n, ptrdiff_t samples, T* cumulative, int64_t* out) {
  for (ptrdiff_t r = 0; r < rows; r++, weights += n, out += samples) {
    T sum = 0;
    for (ptrdiff_t j = 0; j < n; j++) cumulative[j] = sum += weights[j];
    for (ptrdiff_t j = 0; j < n; j++) cumulative[j] /= sum;
    cumulative[n - 1] = 1;
    for (ptrdiff_t s = 0; s < samples; s++) {
      const double u = g.uniform_double();
      ptrdiff_t low = 0, high = n;
      while (low < high) {
        const ptrdiff_t middle = low + (high - low) / 2;
        if (static_cast<double>(cumulative[middle]) < u) low = middle + 1;
        else high = middle;
      }
      out[s] = low;
    }
  }
}

template <class T>
void unreplaced(Generator& g, DType dtype, const T* weights, ptrdiff_t rows, ptrdiff_t n, ptrdiff_t samples, T* q, int64_t* order,
                int64_t* out) {
  fill_exponential(g, dtype, q, rows * n, 1.0);
  for (ptrdiff_t r = 0; r < rows; r++, weights += n, q += n, out += samples) {
    for (ptrdiff_t j = 0; j < n; j++) {
      q[j] = weights[j] / q[j];
      order[j] = j;
    }
    std::partial_sort(order, order + samples, order + n,
                      [q](int64_t a, int64_t b) { return q[a] > q[b] || (q[a] == q[b] && a < b); });
    std::copy(order, order + samples, out);
  }
}

}  // namespace

void multinomial_with_replacement(Generator& g, DType dtype, const void* weights, ptrdiff_t rows, ptrdiff_t n, ptrdiff_t samples,
                                  void* scratch, int64_t* out) {
  if (dtype == DType::F32) replaced(g, static_cast<const float*>(weights), rows, n, samples, static_cast<float*>(scratch), out);
  else replaced(g, static_cast<const double*>(weights), rows, n, samples, static_cast<double*>(scratch), out);
}

void multinomial_without_replacement(Generator& g, DType dtype, const void* weights, ptrdiff_t rows, ptrdiff_t n, ptrdiff_t samples,
                                     void* scratch, int64_t* order, int64_t* out) {
  if (dtype == DType::F32)
    unreplaced(g, dtype, static_cast<const float*>(weights), rows, n, samples, static_cast<float*>(scratch), order, out);
  else unreplaced(g, dtype, static_cast<const double*>(weights), rows, n, samples, static_cast<double*>(scratch), order, out);
}

namespace {

const double kNaN = std::nan("");

// Marsaglia and Tsang (2000); below one, with the factor U^(1 / alpha). T: the type of alpha, in which the
// first steps are rounded as PyTorch rounds them.
template <class T>
double one_gamma(Generator& g, T alpha) {
  if (std::isnan(alpha) || std::isinf(alpha)) return alpha > 0 ? alpha : kNaN;
  double scale = 1;
  if (alpha < 1) {
    if (alpha == 0) return 0;
    scale = std::pow(1 - g.uniform_double(), static_cast<double>(1 / alpha));
    alpha += 1;
  }
  const double d = alpha - 1.0f / 3.0f;
  if (!(d > 0)) return kNaN;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = g.normal_double(), y = 1 + c * x;
    if (y <= 0) continue;
    const double v = y * y * y, u = 1 - g.uniform_double(), xx = x * x;
    if (u < 1 - 0.0331 * xx * xx || std::log(u) < 0.5 * xx + d * (1 - v + std::log(v))) return scale * d * v;
  }
}

// Products of uniform numbers for small rates, else Hormann's PTRS (1993).
double one_poisson(Generator& g, double rate) {
  if (std::isnan(rate) || std::isinf(rate) || rate <= 0) return rate == 0 || rate > 0 ? rate : kNaN;
  if (rate < 10) {
    const double end = std::exp(-rate);
    double product = 1;
    for (double count = 0;; count++) {
      product *= g.uniform_double();
      if (product <= end) return count;
    }
  }
  const double log_rate = std::log(rate), b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = g.uniform_double() - 0.5, v = g.uniform_double(), us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <= -rate + k * log_rate - std::lgamma(k + 1)) return k;
  }
}

// log k! less Stirling's formula.
double stirling_rest(double k) {
  if (k < 10) return std::lgamma(k + 1) - ((k + 0.5) * std::log(k + 1) - (k + 1) + 0.5 * std::log(2 * kPi));
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// Sums of geometric numbers where few successes are expected, else Hormann's BTRS (1993).
double one_binomial(Generator& g, double count, double p) {
  if (std::isnan(count) || std::isnan(p)) return kNaN;
  if (count <= 0 || p <= 0) return 0;
  if (p >= 1 || std::isinf(count)) return count;
  if (p > 0.5) return count - one_binomial(g, count, 1 - p);
  if (count * p < 10) {
    const double log_miss = std::log1p(-p);
    double trials = 0;
    for (double successes = 0;; successes++) {
      trials += std::ceil(std::log(g.uniform_double()) / log_miss);
      if (!(trials <= count)) return successes;
    }
  }
  const double stddev = std::sqrt(count * p * (1 - p)), b = 1.15 + 2.53 * stddev, a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double c = count * p + 0.5, v_r = 0.92 - 4.2 / b, r = p / (1 - p), alpha = (2.83 + 5.1 / b) * stddev;
  const double m = std::floor((count + 1) * p);
  for (;;) {
    const double u = g.uniform_double() - 0.5;
    double v = g.uniform_double();
    const double us = 0.5 - std::abs(u), k = std::floor((2 * a / us + b) * u + c);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || k > count) continue;
    v = std::log(v * alpha / (a / (us * us) + b));
    const double bound = (m + 0.5) * std::log((m + 1) / (r * (count - m + 1))) +
                         (count + 1) * std::log((count - m + 1) / (count - k + 1)) +
                         (k + 0.5) * std::log(r * (count - k + 1) / (k + 1)) + stirling_rest(m) + stirling_rest(count - m) -
                         stirling_rest(k) - stirling_rest(count - k);
    if (v <= bound) return k;
  }
}

// Derivatives of beta numbers; those of gamma numbers are an instruction (isa/elementwise/series.h). At a fixed value F of the
// distribution function, dx/da = -(dF/da) / density. For y = log(x / (1 - x)), dF/da is the integral of density times score over one of the two sides of y, taken
// where the density falls, by the double exponential rule for half lines: u = exp(pi / 2 sinh t).
constexpr int kNodes = 145;

struct Rule {
  double u[kNodes], weight[kNodes];
  Rule() {
    const double step = 7.2 / (kNodes - 1);
    for (int i = 0; i < kNodes; i++) {
      const double t = -3.6 + step * i;
      u[i] = std::exp(kPi / 2 * std::sinh(t));
      weight[i] = step * kPi / 2 * std::cosh(t) * u[i];
    }
  }
};

// dy/da; `ratio(u)` is log density(y + u) / density(y), `score(u)` its derivative by a.
template <class Ratio, class Score>
double side(bool falls_left, Ratio ratio, Score score) {
  static const Rule rule;
  double total = 0;
  for (int i = 0; i < kNodes; i++) {
    const double u = falls_left ? -rule.u[i] : rule.u[i], density = std::exp(ratio(u));
    if (density > 0) total += density * score(u) * rule.weight[i];
    else if (density == 0 && rule.u[i] > 1) break;
  }
  return falls_left ? -total : total;
}

double log_share(double z) { return z > 0 ? -std::log1p(std::exp(-z)) : z - std::log1p(std::exp(z)); }

}  // namespace

void fill_gamma_each(Generator& g, const double* alpha, double* out, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i++) out[i] = one_gamma(g, alpha[i]);
}

void fill_gamma_each_single(Generator& g, const double* alpha, double* out, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i++) out[i] = one_gamma(g, static_cast<float>(alpha[i]));
}

void fill_poisson_each(Generator& g, const double* rate, double* out, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i++) out[i] = one_poisson(g, rate[i]);
}

void fill_binomial_each(Generator& g, const double* count, const double* p, double* out, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i++) out[i] = one_binomial(g, count[i], p[i]);
}

void beta_gradient(const double* a, const double* b, const double* x, const double* psi, double* out, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i++) {
    const double c1 = a[i], c0 = b[i], v = x[i], p = psi[i], y = std::log(v) - std::log1p(-v);
    const double here = log_share(y), rest = log_share(-y);
    out[i] = v * side(
                     v < c1 / (c1 + c0), [=](double u) { return c1 * (log_share(y + u) - here) + c0 * (log_share(-y - u) - rest); },
                     [=](double u) { return log_share(y + u) - p; });
  }
}

}  // namespace rushlight
