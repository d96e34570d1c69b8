// Loading elements of any type as a compute type (float, double, int64_t, complex ones) and storing them back.
#include "kernels/isa/elementwise/pointwise.h"
#include "kernels/isa/vec.h"
#include "kernels/small_floats.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

inline uint32_t bits(float x) { return __builtin_bit_cast(uint32_t, x); }
inline float from_bits(uint32_t u) { return __builtin_bit_cast(float, u); }

struct Bool {
  uint8_t value;
};
struct Half {
  uint16_t value;
};
struct BFloat {
  uint16_t value;
};

inline float to_float(Half h) {
  const uint32_t magnitude = h.value & 0x7fffu;
  const float scaled = from_bits(magnitude << 13) * 5.192296858534828e+33f;  // 2^112: the difference of the biases
  const uint32_t special = 0x7f800000u | (magnitude << 13);                  // inf and NaN
  return from_bits((magnitude >= 0x7c00u ? special : bits(scaled)) | (static_cast<uint32_t>(h.value & 0x8000u) << 16));
}
inline float to_float(BFloat h) { return from_bits(static_cast<uint32_t>(h.value) << 16); }

inline Half to_half(float x) {
  const uint32_t sign = bits(x) >> 16 & 0x8000u;
  const uint32_t magnitude = bits(x) & 0x7fffffffu;
  const uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - (112u << 23)) >> 13;  // to nearest even
  const uint32_t tiny = bits(from_bits(magnitude) + 0.5f) - bits(0.5f);  // the addition rounds to multiples of 2^-24
  uint32_t r = magnitude < 0x38800000u ? tiny : normal;                  // 2^-14
  r = magnitude >= 0x477ff000u ? 0x7c00u : r;                            // 65520: rounds to inf
  r = magnitude > 0x7f800000u ? 0x7e00u : r;
  return {static_cast<uint16_t>(sign | r)};
}
inline BFloat to_bfloat(float x) {
  const uint32_t u = bits(x);
  const uint32_t rounded = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;  // to nearest even
  const uint32_t nan = (u >> 16 & 0x8000u) | 0x7fc0u;
  return {static_cast<uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? nan : rounded)};
}

// A double as the float whose later rounding to fewer bits gives what rounding the double at once would: rounded to
// odd.
inline float to_odd(double x) {
  const float f = static_cast<float>(x);
  const double magnitude = x < 0 ? -x : x, rounded = f < 0 ? -static_cast<double>(f) : static_cast<double>(f);
  const uint32_t toward_zero = bits(f) - (rounded > magnitude ? 1u : 0u);
  return from_bits(rounded > magnitude || rounded < magnitude ? toward_zero | 1u : bits(f));
}

template <class T>
inline float narrow(T x) {
  if constexpr (sizeof(T) == 8 && static_cast<T>(0.5) != T(0)) {
    return to_odd(x);
  } else {
    return static_cast<float>(x);
  }
}

template <class To, class From>
struct Convert {
  static To apply(From x) {
    constexpr bool from_real = static_cast<From>(0.5) != From(0);
    if constexpr (from_real && sizeof(To) < 8 && static_cast<To>(0.5) == To(0)) {
      return static_cast<To>(static_cast<int64_t>(x));  // wraps as from an integer
    } else {
      return static_cast<To>(x);
    }
  }
};
template <class To>
struct Convert<To, Bool> {
  static To apply(Bool x) {
    if constexpr (std::is_arithmetic_v<To>) return static_cast<To>(x.value != 0);  // without a branch
    else return x.value != 0 ? To(1) : To(0);
  }
};
template <class To>
struct Convert<To, Half> {
  static To apply(Half x) { return Convert<To, float>::apply(to_float(x)); }
};
template <class To>
struct Convert<To, BFloat> {
  static To apply(BFloat x) { return Convert<To, float>::apply(to_float(x)); }
};
template <class From>
struct Convert<Bool, From> {
  static Bool apply(From x) { return {static_cast<uint8_t>(x != From(0) ? 1 : 0)}; }
};
template <class From>
struct Convert<Half, From> {
  static Half apply(From x) { return to_half(narrow(x)); }
};
template <class From>
struct Convert<BFloat, From> {
  static BFloat apply(From x) { return to_bfloat(narrow(x)); }
};

template <class To, class From>
  requires kSmall<From>
struct Convert<To, From> {
  static To apply(From x) { return Convert<To, float>::apply(static_cast<float>(x)); }
};
template <class To, class From>
  requires kSmall<To>
struct Convert<To, From> {
  static To apply(From x) { return To::of(static_cast<float>(x)); }
};

template <class T>
constexpr bool kComplex = std::is_same_v<T, Complex<float>> || std::is_same_v<T, Complex<double>>;
template <class To, class From>
inline To converted(From x) {
  if constexpr (kComplex<From> && kComplex<To>) {
    return {static_cast<decltype(To::re)>(x.re), static_cast<decltype(To::re)>(x.im)};
  } else if constexpr (kComplex<From>) {  // to Bool
    return {static_cast<uint8_t>((x.re != 0) | (x.im != 0))};
  } else if constexpr (kComplex<To>) {
    return {Convert<decltype(To::re), From>::apply(x), 0};
  } else {
    return Convert<To, From>::apply(x);
  }
}

// How many of the first n adjacent halves were made floats by registers, or floats halves: compilers do not find these
// instructions. The caller does the rest.
template <class From, class To>
inline ptrdiff_t by_registers([[maybe_unused]] const From* from, [[maybe_unused]] To* to, [[maybe_unused]] ptrdiff_t n) {
  ptrdiff_t i = 0;
#if defined(__AVX512F__)
  constexpr ptrdiff_t N = 16;
  if constexpr (std::is_same_v<From, Half> && std::is_same_v<To, float>)
    for (; i + N <= n; i += N)
      _mm512_storeu_ps(to + i,
                       _mm512_maskz_cvtph_ps((__mmask16)-1, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i))));
  if constexpr (std::is_same_v<From, BFloat> && std::is_same_v<To, float>)
    for (; i + N <= n; i += N) {
      const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
      _mm512_storeu_si512(to + i, _mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
    }
  if constexpr (std::is_same_v<From, float> && std::is_same_v<To, Half>)
    for (; i + N <= n; i += N)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm512_maskz_cvtps_ph((__mmask16)-1, _mm512_loadu_ps(from + i),
                                                                                    _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif defined(__F16C__)
  constexpr ptrdiff_t N = 8;
  if constexpr (std::is_same_v<From, Half> && std::is_same_v<To, float>)
    for (; i + N <= n; i += N)
      _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  if constexpr (std::is_same_v<From, float> && std::is_same_v<To, Half>)
    for (; i + N <= n; i += N)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                       _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#endif
  return i;
}

// Elements kStep elements apart.
template <class T, ptrdiff_t kStep>
void picked(const char* __restrict in, char* __restrict out, ptrdiff_t n) {
  constexpr ptrdiff_t kItem = sizeof(T);
  for (ptrdiff_t i = 0; i < n; ++i) __builtin_memcpy(out + i * kItem, in + i * kStep * kItem, sizeof(T));
}

template <class From, class To>
void load(const char* in, ptrdiff_t stride, void* out_, ptrdiff_t n) {
  To* out = static_cast<To*>(out_);
  if (stride == static_cast<ptrdiff_t>(sizeof(From))) {
    const From* from = reinterpret_cast<const From*>(in);
    const ptrdiff_t done = by_registers(from, out, n);
    RUSHLIGHT_INDEPENDENT
    for (ptrdiff_t i = done; i < n; ++i) out[i] = converted<To>(from[i]);
  } else if (stride == 0) {
    const To value = converted<To>(*reinterpret_cast<const From*>(in));
    for (ptrdiff_t i = 0; i < n; ++i) out[i] = value;
  } else if (std::is_same_v<From, To> && sizeof(From) <= 8 && stride == 2 * static_cast<ptrdiff_t>(sizeof(From))) {
    pick(sizeof(From), 2, in, static_cast<char*>(out_), n);
  } else if (std::is_same_v<From, Bool> && stride == 2) {
    const From* from = reinterpret_cast<const From*>(in);
    RUSHLIGHT_INDEPENDENT
    for (ptrdiff_t i = 0; i < n; ++i) out[i] = converted<To>(from[2 * i]);
  } else {
    for (ptrdiff_t i = 0; i < n; ++i) out[i] = converted<To>(*reinterpret_cast<const From*>(in + i * stride));
  }
}

template <class From, class To>
void store(const void* in, char* out, ptrdiff_t stride, ptrdiff_t n) {
  const From* from = static_cast<const From*>(in);
  if (stride == static_cast<ptrdiff_t>(sizeof(To))) {
    To* to = reinterpret_cast<To*>(out);
    const ptrdiff_t done = by_registers(from, to, n);
    RUSHLIGHT_INDEPENDENT
    for (ptrdiff_t i = done; i < n; ++i) to[i] = converted<To>(from[i]);
  } else {
    for (ptrdiff_t i = 0; i < n; ++i) *reinterpret_cast<To*>(out + i * stride) = converted<To>(from[i]);
  }
}

template <class... T>
struct Types {
  static constexpr int size = sizeof...(T);
};
// In the order of DType; a complex type that has no conversion stands as Bool and is refused below.
template <class C64, class C128>
using Elements = Types<Bool, uint8_t, int8_t, int16_t, int32_t, int64_t, Half, BFloat, float, double, C64, C128, uint16_t, uint32_t,
                       uint64_t, E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ, Scale, Bool>;
using RealElements = Elements<Bool, Bool>;
using AllElements = Elements<Complex<float>, Complex<double>>;
static_assert(RealElements::size == static_cast<int>(DType::Count));

struct Loads {
  LoadFn of[RealElements::size];
};
struct Stores {
  StoreFn of[RealElements::size];
};
template <class Compute, class... T>
constexpr Loads loads(Types<T...>) {
  return {{load<T, Compute>...}};
}
template <class Compute, class... T>
constexpr Stores stores(Types<T...>) {
  return {{store<Compute, T>...}};
}

constexpr Loads kLoads[] = {loads<float>(RealElements{}), loads<double>(RealElements{}), loads<int64_t>(RealElements{}),
                            loads<Complex<float>>(AllElements{}), loads<Complex<double>>(AllElements{})};
constexpr Stores kStores[] = {stores<float>(RealElements{}), stores<double>(RealElements{}), stores<int64_t>(RealElements{})};

int compute_index(DType compute) {
  switch (compute) {
    case DType::F32: return 0;
    case DType::F64: return 1;
    case DType::C64: return 3;
    case DType::C128: return 4;
    default: return 2;
  }
}
bool supported(DType t, DType compute) { return t < DType::C32 && (!is_pair(t) || is_pair(compute)); }

template <class From>
StoreFn store_complex(DType to) {
  switch (to) {
    case DType::Bool: return store<From, Bool>;
    case DType::C64: return store<From, Complex<float>>;
    case DType::C128: return store<From, Complex<double>>;
    default: return nullptr;
  }
}

}  // namespace

LoadFn load_function(DType from, DType compute) {
  return supported(from, compute) ? kLoads[compute_index(compute)].of[static_cast<int>(from)] : nullptr;
}
StoreFn store_function(DType compute, DType to) {
  if (compute == DType::C64) return store_complex<Complex<float>>(to);
  if (compute == DType::C128) return store_complex<Complex<double>>(to);
  return supported(to, compute) ? kStores[compute_index(compute)].of[static_cast<int>(to)] : nullptr;
}

bool convert_adjacent(DType from, const void* in, DType to, void* out, ptrdiff_t n) {
  const auto computed = [](DType t) { return t == DType::F32 || t == DType::F64 || t == DType::I64; };
  const bool truth = to == DType::Bool && (from == DType::C64 || from == DType::C128);
  if (!truth && (!supported(from, DType::F32) || !supported(to, DType::F32))) return false;
  if (computed(to)) load_function(from, to)(static_cast<const char*>(in), item_size(from), out, n);
  else if (truth || (computed(from) && (to == DType::Bool || (from == DType::F32 && is_half(to)))))
    store_function(from, to)(in, static_cast<char*>(out), item_size(to), n);
  else return false;
  return true;
}

void pick(ptrdiff_t item, ptrdiff_t step, const char* in, char* out, ptrdiff_t n) {
  const auto by_item = [=]<ptrdiff_t kStep>() {
    switch (item) {
      case 1: return picked<uint8_t, kStep>(in, out, n);
      case 2: return picked<uint16_t, kStep>(in, out, n);
      case 4: return picked<uint32_t, kStep>(in, out, n);
      default: return picked<uint64_t, kStep>(in, out, n);
    }
  };
  step == 2 ? by_item.template operator()<2>() : by_item.template operator()<-1>();
}

}  // namespace rushlight::RUSHLIGHT_ISA
