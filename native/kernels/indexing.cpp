// The loops of indexing.h. Elements are moved by size; only landings that compute (add, max, ...) know their type.
#include "kernels/indexing.h"

#include <cmath>
#include <cstring>

namespace rushlight {

namespace {

// ---------------------------------------------------------------- elements

struct Sixteen {
  uint64_t low, high;
};

float widen(uint32_t bits) {
  float f;
  memcpy(&f, &bits, 4);
  return f;
}
uint32_t bits_of(float f) {
  uint32_t bits;
  memcpy(&bits, &f, 4);
  return bits;
}

// bfloat16: the upper half of a float; rounds to nearest even.
struct Brain {
  uint16_t bits;
  operator float() const { return widen(static_cast<uint32_t>(bits) << 16); }
  Brain() = default;
  explicit Brain(float f) {
    const uint32_t b = bits_of(f);
    bits = f != f ? 0x7fc0 : static_cast<uint16_t>((b + 0x7fff + ((b >> 16) & 1)) >> 16);
  }
};

// IEEE half; rounds to nearest even.
struct Half {
  uint16_t bits;
  operator float() const {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
    const uint32_t rest = bits & 0x7fff;
    if (rest >= 0x7c00) return widen(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    if (rest >= 0x400) return widen(sign | ((rest << 13) + (112u << 23)));
    const float small = static_cast<float>(rest) * 0x1p-24f;
    return sign ? -small : small;
  }
  Half() = default;
  explicit Half(float f) {
    const uint32_t b = bits_of(f);
    const uint16_t sign = static_cast<uint16_t>(b >> 16 & 0x8000);
    const uint32_t magnitude = b & 0x7fffffff;
    if (magnitude > 0x7f800000) {
      bits = static_cast<uint16_t>(sign | 0x7e00);
    } else if (magnitude >= 0x477ff000) {
      bits = static_cast<uint16_t>(sign | 0x7c00);
    } else if (magnitude >= 0x38800000) {
      bits = static_cast<uint16_t>(sign | (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13);
    } else {
      // Adding 0.5 leaves exactly the bits of a subnormal half, rounded.
      bits = static_cast<uint16_t>(sign | (bits_of(widen(magnitude) + 0.5f) - 0x3f000000));
    }
  }
};

struct Truth {
  uint8_t value;
};

template <class R>
struct Complex {
  R re, im;
};

template <class T>
struct Landing {
  static T add(T a, T b) { return static_cast<T>(a + b); }
  static T mul(T a, T b) { return static_cast<T>(a * b); }
  // A NaN wins, as torch has it.
  static T max(T a, T b) { return a != a || a > b ? a : b; }
  static T min(T a, T b) { return a != a || a < b ? a : b; }
};
// Integers wrap around: their sums and products are those of the unsigned type U.
template <class T, class U>
struct WrappingLanding {
  static T add(T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); }
  static T mul(T a, T b) { return static_cast<T>(static_cast<U>(a) * static_cast<U>(b)); }
  static T max(T a, T b) { return a > b ? a : b; }
  static T min(T a, T b) { return a < b ? a : b; }
};
template <>
struct Landing<int32_t> : WrappingLanding<int32_t, uint32_t> {};
template <>
struct Landing<int64_t> : WrappingLanding<int64_t, uint64_t> {};
template <>
struct Landing<uint16_t> : WrappingLanding<uint16_t, uint32_t> {};
template <>
struct Landing<Truth> {
  static Truth add(Truth a, Truth b) { return {static_cast<uint8_t>(a.value | b.value)}; }
  static Truth mul(Truth a, Truth b) { return {static_cast<uint8_t>(a.value & b.value)}; }
  static Truth max(Truth a, Truth b) { return add(a, b); }
  static Truth min(Truth a, Truth b) { return mul(a, b); }
};
template <class R>
struct Landing<Complex<R>> {
  using C = Complex<R>;
  static C add(C a, C b) { return {a.re + b.re, a.im + b.im}; }
  static C mul(C a, C b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
};
// Half and Brain compute in float.
template <class T>
struct NarrowLanding {
  static T add(T a, T b) { return T(static_cast<float>(a) + static_cast<float>(b)); }
  static T mul(T a, T b) { return T(static_cast<float>(a) * static_cast<float>(b)); }
  static T max(T a, T b) {
    const float x = a, y = b;
    return x != x || x > y ? a : b;
  }
  static T min(T a, T b) {
    const float x = a, y = b;
    return x != x || x < y ? a : b;
  }
};
template <>
struct Landing<Half> : NarrowLanding<Half> {};
template <>
struct Landing<Brain> : NarrowLanding<Brain> {};

template <class T, Land kLand>
struct Combine {
  static void at(char* x, const char* value) {
    T* to = reinterpret_cast<T*>(x);
    const T v = *reinterpret_cast<const T*>(value);
    if constexpr (kLand == Land::Set) *to = v;
    else if constexpr (kLand == Land::Add) *to = Landing<T>::add(*to, v);
    else if constexpr (kLand == Land::Mul) *to = Landing<T>::mul(*to, v);
    else if constexpr (kLand == Land::Max) *to = Landing<T>::max(*to, v);
    else *to = Landing<T>::min(*to, v);
  }
};

// Calls f.template operator()<T>() with the type that moves elements of this size.
template <class F>
void by_size(DType dtype, const F& f) {
  switch (item_size(dtype)) {
    case 1: return f.template operator()<uint8_t>();
    case 2: return f.template operator()<uint16_t>();
    case 4: return f.template operator()<uint32_t>();
    case 8: return f.template operator()<uint64_t>();
    default: return f.template operator()<Sixteen>();
  }
}

// Calls f.template operator()<T, kLand>(); false where the type has no such landing.
template <Land kLand, class F>
bool by_type(DType dtype, const F& f) {
  constexpr bool kOrdered = kLand == Land::Max || kLand == Land::Min;
  switch (dtype) {
    case DType::Bool: f.template operator()<Truth, kLand>(); return true;
    case DType::U8: f.template operator()<uint8_t, kLand>(); return true;
    case DType::I8: f.template operator()<int8_t, kLand>(); return true;
    case DType::I16: f.template operator()<int16_t, kLand>(); return true;
    case DType::I32: f.template operator()<int32_t, kLand>(); return true;
    case DType::I64: f.template operator()<int64_t, kLand>(); return true;
    case DType::U16: f.template operator()<uint16_t, kLand>(); return true;
    case DType::U32: f.template operator()<uint32_t, kLand>(); return true;
    case DType::U64: f.template operator()<uint64_t, kLand>(); return true;
    case DType::F16: f.template operator()<Half, kLand>(); return true;
    case DType::BF16: f.template operator()<Brain, kLand>(); return true;
    case DType::F32: f.template operator()<float, kLand>(); return true;
    case DType::F64: f.template operator()<double, kLand>(); return true;
    case DType::C64:
      if constexpr (!kOrdered) f.template operator()<Complex<float>, kLand>();
      return !kOrdered;
    case DType::C128:
      if constexpr (!kOrdered) f.template operator()<Complex<double>, kLand>();
      return !kOrdered;
    default: return false;
  }
}

template <class F>
bool by_landing(DType dtype, Land land, const F& f) {
  switch (land) {
    case Land::Set: by_size(dtype, [&]<class T>() { f.template operator()<T, Land::Set>(); }); return true;
    case Land::Add: return by_type<Land::Add>(dtype, f);
    case Land::Mul: return by_type<Land::Mul>(dtype, f);
    case Land::Max: return by_type<Land::Max>(dtype, f);
    case Land::Min: return by_type<Land::Min>(dtype, f);
    default: return false;
  }
}

// ---------------------------------------------------------------- blocks

// Counts through a shape, keeping an offset.
struct Counter {
  int ndim;
  const ptrdiff_t* shape;
  const ptrdiff_t* strides;
  ptrdiff_t at[Places::kMaxDims] = {};
  ptrdiff_t offset = 0;
  bool next() {
    for (int d = ndim - 1; d >= 0; --d) {
      offset += strides[d];
      if (++at[d] < shape[d]) return true;
      offset -= shape[d] * strides[d];
      at[d] = 0;
    }
    return false;
  }
};

// Calls run(offset in x, stride in x, length, position of the first value) for every innermost run, in the values'
// order.
template <class F>
void each_run(const Places& p, const F& run) {
  ptrdiff_t total = p.n;
  for (int d = 0; d < p.n_outer; ++d) total *= p.outer_shape[d];
  for (int d = 0; d < p.n_inner; ++d) total *= p.inner_shape[d];
  if (total == 0) return;
  const int above = p.n_inner ? p.n_inner - 1 : 0;
  const ptrdiff_t length = p.n_inner ? p.inner_shape[above] : 1;
  const ptrdiff_t stride = p.n_inner ? p.inner_strides[above] : 0;
  ptrdiff_t value = 0;
  Counter outer{p.n_outer, p.outer_shape, p.outer_strides};
  do {
    if (above == 0) {
      for (ptrdiff_t i = 0; i < p.n; ++i, value += length) run(outer.offset + p.offsets[i], stride, length, value);
      continue;
    }
    for (ptrdiff_t i = 0; i < p.n; ++i) {
      Counter inner{above, p.inner_shape, p.inner_strides};
      do {
        run(outer.offset + p.offsets[i] + inner.offset, stride, length, value);
        value += length;
      } while (inner.next());
    }
  } while (outer.next());
}

}  // namespace

void take_places(DType dtype, const char* x, const Places& places, char* out) {
  by_size(dtype, [&]<class T>() {
    constexpr ptrdiff_t item = sizeof(T);
    if (!places.n_outer && !places.n_inner) {
      T* to = reinterpret_cast<T*>(out);
      for (ptrdiff_t i = 0; i < places.n; ++i) to[i] = *reinterpret_cast<const T*>(x + places.offsets[i]);
      return;
    }
    each_run(places, [&](ptrdiff_t offset, ptrdiff_t stride, ptrdiff_t length, ptrdiff_t value) {
      const char* from = x + offset;
      T* to = reinterpret_cast<T*>(out) + value;
      if (stride == item && length > 8) {
        memcpy(to, from, static_cast<size_t>(length * item));
      } else {
        for (ptrdiff_t i = 0; i < length; ++i) to[i] = *reinterpret_cast<const T*>(from + i * stride);
      }
    });
  });
}

bool land_places(DType dtype, Land land, char* x, const Places& places, const char* values, bool one) {
  return by_landing(dtype, land, [&]<class T, Land kLand>() {
    constexpr ptrdiff_t item = sizeof(T);
    if (!places.n_outer && !places.n_inner) {
      const ptrdiff_t step = one ? 0 : item;
      for (ptrdiff_t i = 0; i < places.n; ++i) Combine<T, kLand>::at(x + places.offsets[i], values + i * step);
      return;
    }
    each_run(places, [&](ptrdiff_t offset, ptrdiff_t stride, ptrdiff_t length, ptrdiff_t value) {
      char* to = x + offset;
      if (one) {
        for (ptrdiff_t i = 0; i < length; ++i) Combine<T, kLand>::at(to + i * stride, values);
        return;
      }
      const char* from = values + value * item;
      if (stride == item) {
        for (ptrdiff_t i = 0; i < length; ++i) Combine<T, kLand>::at(to + i * item, from + i * item);
      } else {
        for (ptrdiff_t i = 0; i < length; ++i) Combine<T, kLand>::at(to + i * stride, from + i * item);
      }
    });
  });
}

// ---------------------------------------------------------------- gather and scatter

namespace {

// Calls f(offset in x, offset in the values) for every element of the index.
template <ptrdiff_t kItem, class F>
void each_pick(const Picks& p, const F& f) {
  ptrdiff_t total = 1;
  for (int d = 0; d < p.ndim; ++d) total *= p.shape[d];
  if (total == 0) return;
  const int last = p.ndim - 1;
  const ptrdiff_t along = p.x_strides[p.dim];
  ptrdiff_t steps[Places::kMaxDims];  // x's strides with the indexed dimension standing still
  for (int d = 0; d < p.ndim; ++d) steps[d] = d == p.dim ? 0 : p.x_strides[d];
  Counter in_x{last, p.shape, steps};
  Counter in_values{last, p.shape, p.value_strides};
  const ptrdiff_t length = p.shape[last], x_step = steps[last], value_step = p.value_strides[last];
  const volatile int64_t* index = p.index;  // each is read once
  const uint64_t size = static_cast<uint64_t>(p.size);
  bool more = true;
  while (more) {
    if (x_step == 0 && along == kItem && value_step == kItem) {
      for (ptrdiff_t i = 0; i < length; ++i) {
        const int64_t k = index[i];
        if (static_cast<uint64_t>(k) < size) f(in_x.offset + static_cast<ptrdiff_t>(k) * kItem, in_values.offset + i * kItem);
      }
    } else {
      for (ptrdiff_t i = 0; i < length; ++i) {
        const int64_t k = index[i];
        if (static_cast<uint64_t>(k) >= size) continue;
        f(in_x.offset + i * x_step + static_cast<ptrdiff_t>(k) * along, in_values.offset + i * value_step);
      }
    }
    index += length;
    more = in_x.next();
    in_values.next();
  }
}

}  // namespace

void gather(DType dtype, const char* x, const Picks& picks, char* out) {
  by_size(dtype, [&]<class T>() {
    each_pick<sizeof(T)>(
        picks, [&](ptrdiff_t at, ptrdiff_t to) { *reinterpret_cast<T*>(out + to) = *reinterpret_cast<const T*>(x + at); });
  });
}

bool scatter(DType dtype, Land land, char* x, const Picks& picks, const char* values) {
  return by_landing(dtype, land, [&]<class T, Land kLand>() {
    each_pick<sizeof(T)>(picks, [&](ptrdiff_t at, ptrdiff_t from) { Combine<T, kLand>::at(x + at, values + from); });
  });
}

}  // namespace rushlight
