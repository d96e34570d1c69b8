// The loops of indexing.h. Elements are moved by size; only landings that compute (add, max, ...) know their type.
#include "kernels/indexing.h"

#include <algorithm>
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

// Sums and products are asked for of unsigned integers only, which wrap; the short ones as unsigned int, not as int.
template <class T>
struct Landing {
  using Wide = decltype(T() * 1u);
  static T add(T a, T b) { return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b)); }
  static T mul(T a, T b) { return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b)); }
  // A NaN wins, as torch has it.
  static T max(T a, T b) { return a != a || a > b ? a : b; }
  static T min(T a, T b) { return a != a || a < b ? a : b; }
};
template <>
struct Landing<Truth> {
  static Truth add(Truth a, Truth b) { return {static_cast<uint8_t>(a.value || b.value)}; }
  static Truth mul(Truth a, Truth b) { return {static_cast<uint8_t>(a.value && b.value)}; }
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

// ---------------------------------------------------------------- loops over elements

// The walks below know the size of an element at most; what differs by type is two short loops. Values land one after the
// other: several may meet in one place.

// Values land at x + offsets[i].
using PointsFn = void (*)(char* x, const ptrdiff_t* offsets, const char* values, ptrdiff_t value_stride, ptrdiff_t n);
// Values land at x + i * step + index[i] * along, and so in every row; an index outside of [0, size) is passed over, which false
// tells. Each is read once.
struct Rows {
  ptrdiff_t step, along;
  uint64_t size;
  ptrdiff_t value_stride, n;
  ptrdiff_t rows, x_next, value_next;  // from one row to the next
  bool adjacent(ptrdiff_t item) const { return step == 0 && along == item && value_stride == item; }
};
using RowFn = bool (*)(char* x, const volatile int64_t* index, const char* values, const Rows& rows);
// Values land at x + i * stride.
using RunFn = void (*)(char* x, ptrdiff_t stride, const char* values, ptrdiff_t value_stride, ptrdiff_t n);

struct Landings {
  PointsFn points = nullptr;
  RowFn row = nullptr;
  RunFn run = nullptr;
};

template <class T, Land kLand>
void land(char* x, const char* value) {
  T* to = reinterpret_cast<T*>(x);
  const T v = *reinterpret_cast<const T*>(value);
  if constexpr (kLand == Land::Set) *to = v;
  else if constexpr (kLand == Land::Add) *to = Landing<T>::add(*to, v);
  else if constexpr (kLand == Land::Mul) *to = Landing<T>::mul(*to, v);
  else if constexpr (kLand == Land::Max) *to = Landing<T>::max(*to, v);
  else *to = Landing<T>::min(*to, v);
}

template <class T, Land kLand>
void land_points(char* x, const ptrdiff_t* offsets, const char* values, ptrdiff_t value_stride, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; ++i) land<T, kLand>(x + offsets[i], values + i * value_stride);
}

// Calls f(offset in x, offset in the values) for each element of the rows; with an item, they are adjacent. False where an index
// was passed over.
template <ptrdiff_t item = 0, class F>
inline bool each_of_rows(const volatile int64_t* index, const Rows& rows, const F& f) {
  const ptrdiff_t n = rows.n, step = item ? 0 : rows.step, along = item ? item : rows.along,
                  value_stride = item ? item : rows.value_stride;
  const uint64_t size = rows.size;
  bool inside = true;
  for (ptrdiff_t r = 0, x = 0, value = 0; r < rows.rows; ++r, x += rows.x_next, value += rows.value_next) {
#pragma GCC unroll 4
    for (ptrdiff_t i = 0; i < n; ++i) {
      const int64_t k = *index++;
      if (static_cast<uint64_t>(k) < size) [[likely]]
        f(x + i * step + static_cast<ptrdiff_t>(k) * along, value + i * value_stride);
      else inside = false;
    }
  }
  return inside;
}

template <class T, Land kLand>
bool land_rows(char* x, const volatile int64_t* index, const char* values, const Rows& rows) {
  const auto one = [&](ptrdiff_t at, ptrdiff_t from) { land<T, kLand>(x + at, values + from); };
  if ((kLand == Land::Set || kLand == Land::Add) && rows.adjacent(sizeof(T))) return each_of_rows<sizeof(T)>(index, rows, one);
  return each_of_rows(index, rows, one);
}

template <class T, Land kLand>
void land_run(char* x, ptrdiff_t stride, const char* values, ptrdiff_t value_stride, ptrdiff_t n) {
  constexpr ptrdiff_t item = sizeof(T);
  if ((kLand == Land::Set || kLand == Land::Add) && stride == item && value_stride == item) {  // the frequent one
    for (ptrdiff_t i = 0; i < n; ++i) land<T, kLand>(x + i * item, values + i * item);
  } else if (kLand == Land::Set && stride == item && value_stride == 0 && n) {
    std::fill_n(reinterpret_cast<T*>(x), n, *reinterpret_cast<const T*>(values));
  } else {
    for (ptrdiff_t i = 0; i < n; ++i) land<T, kLand>(x + i * stride, values + i * value_stride);
  }
}

template <class T, Land kLand>
constexpr Landings kLandings = {land_points<T, kLand>, land_rows<T, kLand>, land_run<T, kLand>};

Landings setting(DType dtype) {
  switch (item_size(dtype)) {
    case 1: return kLandings<uint8_t, Land::Set>;
    case 2: return kLandings<uint16_t, Land::Set>;
    case 4: return kLandings<uint32_t, Land::Set>;
    case 8: return kLandings<uint64_t, Land::Set>;
    default: return kLandings<Sixteen, Land::Set>;
  }
}

// Sums and products of integers have the same bits with a sign and without.
template <Land kLand>
Landings computing(DType dtype) {
  switch (dtype) {
    case DType::Bool: return kLandings<Truth, kLand>;
    case DType::U8:
    case DType::I8: return kLandings<uint8_t, kLand>;
    case DType::U16:
    case DType::I16: return kLandings<uint16_t, kLand>;
    case DType::U32:
    case DType::I32: return kLandings<uint32_t, kLand>;
    case DType::U64:
    case DType::I64: return kLandings<uint64_t, kLand>;
    case DType::F16: return kLandings<Half, kLand>;
    case DType::BF16: return kLandings<Brain, kLand>;
    case DType::F32: return kLandings<float, kLand>;
    case DType::F64: return kLandings<double, kLand>;
    case DType::C64: return kLandings<Complex<float>, kLand>;
    case DType::C128: return kLandings<Complex<double>, kLand>;
    default: return {};
  }
}

template <Land kLand>
Landings ordering(DType dtype) {
  switch (dtype) {
    case DType::Bool: return kLandings < Truth, kLand == Land::Max ? Land::Add : Land::Mul > ;
    case DType::U8: return kLandings<uint8_t, kLand>;
    case DType::I8: return kLandings<int8_t, kLand>;
    case DType::I16: return kLandings<int16_t, kLand>;
    case DType::I32: return kLandings<int32_t, kLand>;
    case DType::I64: return kLandings<int64_t, kLand>;
    case DType::U16: return kLandings<uint16_t, kLand>;
    case DType::U32: return kLandings<uint32_t, kLand>;
    case DType::U64: return kLandings<uint64_t, kLand>;
    case DType::F16: return kLandings<Half, kLand>;
    case DType::BF16: return kLandings<Brain, kLand>;
    case DType::F32: return kLandings<float, kLand>;
    case DType::F64: return kLandings<double, kLand>;
    default: return {};
  }
}

// Without functions where the type has no such landing.
Landings landings(DType dtype, Land land) {
  switch (land) {
    case Land::Set: return setting(dtype);
    case Land::Add: return computing<Land::Add>(dtype);
    case Land::Mul: return computing<Land::Mul>(dtype);
    case Land::Max: return ordering<Land::Max>(dtype);
    case Land::Min: return ordering<Land::Min>(dtype);
    default: return {};
  }
}

// Picking moves elements the other way: from those places to `to`.
struct Picking {
  void (*points)(char* to, const char* x, const ptrdiff_t* offsets, ptrdiff_t n);
  bool (*row)(char* to, const char* x, const volatile int64_t* index, const Rows& rows);
};

template <class T>
void pick_points(char* to, const char* x, const ptrdiff_t* offsets, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; ++i) reinterpret_cast<T*>(to)[i] = *reinterpret_cast<const T*>(x + offsets[i]);
}

template <class T>
bool pick_rows(char* to, const char* x, const volatile int64_t* index, const Rows& rows) {
  const auto one = [&](ptrdiff_t at, ptrdiff_t value) { *reinterpret_cast<T*>(to + value) = *reinterpret_cast<const T*>(x + at); };
  return rows.adjacent(sizeof(T)) ? each_of_rows<sizeof(T)>(index, rows, one) : each_of_rows(index, rows, one);
}

Picking picking(DType dtype) {
  switch (item_size(dtype)) {
    case 1: return {pick_points<uint8_t>, pick_rows<uint8_t>};
    case 2: return {pick_points<uint16_t>, pick_rows<uint16_t>};
    case 4: return {pick_points<uint32_t>, pick_rows<uint32_t>};
    case 8: return {pick_points<uint64_t>, pick_rows<uint64_t>};
    default: return {pick_points<Sixteen>, pick_rows<Sixteen>};
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

// Calls f(offset in x, position of the first value) for each place of the outer dimensions: there are no inner ones.
template <class F>
void each_outer(const Places& p, const F& f) {
  for (int d = 0; d < p.n_outer; ++d)
    if (p.outer_shape[d] == 0) return;
  Counter outer{p.n_outer, p.outer_shape, p.outer_strides};
  ptrdiff_t value = 0;
  do {
    f(outer.offset, value);
    value += p.n;
  } while (outer.next());
}

// Calls run(offset in x, stride in x, length, position of the first value) for every innermost run, in the values'
// order.
template <class F>
void each_run(const Places& p, const F& run) {
  ptrdiff_t places = p.n, each = 1;
  for (int d = 0; d < p.n_outer; ++d) places *= p.outer_shape[d];
  for (int d = 0; d < p.n_inner; ++d) each *= p.inner_shape[d];
  if (places == 0 || each == 0) return;
  const ptrdiff_t pitch = p.pitch ? p.pitch : each;
  const int above = p.n_inner ? p.n_inner - 1 : 0;
  const ptrdiff_t length = p.n_inner ? p.inner_shape[above] : 1;
  const ptrdiff_t stride = p.n_inner ? p.inner_strides[above] : 0;
  ptrdiff_t value = 0;
  Counter outer{p.n_outer, p.outer_shape, p.outer_strides};
  do {
    if (above == 0) {
      for (ptrdiff_t i = 0; i < p.n; ++i, value += pitch) run(outer.offset + p.offsets[i], stride, length, value);
      continue;
    }
    for (ptrdiff_t i = 0; i < p.n; ++i, value += pitch) {
      Counter inner{above, p.inner_shape, p.inner_strides};
      ptrdiff_t at = value;
      do {
        run(outer.offset + p.offsets[i] + inner.offset, stride, length, at);
        at += length;
      } while (inner.next());
    }
  } while (outer.next());
}

}  // namespace

bool all_in_range(const int64_t* index, ptrdiff_t n, ptrdiff_t size) {
  // The sign of v | (size - 1 - v) tells, and loops of these vectorise where comparisons of 64 bits do not.
  const uint64_t last = static_cast<uint64_t>(size) - 1;
  uint64_t signs = 0;
  for (ptrdiff_t i = 0; i < n; ++i) signs |= static_cast<uint64_t>(index[i]) | (last - static_cast<uint64_t>(index[i]));
  return n == 0 || (size > 0 && !(signs >> 63));
}

void take_places(DType dtype, const char* x, const Places& places, char* out) {
  const ptrdiff_t item = item_size(dtype);
  if (!places.n_inner) {
    const auto points = picking(dtype).points;
    each_outer(places, [&](ptrdiff_t at, ptrdiff_t value) { points(out + value * item, x + at, places.offsets, places.n); });
    return;
  }
  const RunFn set = setting(dtype).run;
  each_run(places, [&](ptrdiff_t offset, ptrdiff_t stride, ptrdiff_t length, ptrdiff_t value) {
    if (stride == item && length > 8) memcpy(out + value * item, x + offset, static_cast<size_t>(length * item));
    else set(out + value * item, item, x + offset, stride, length);
  });
}

bool land_places(DType dtype, Land land, char* x, const Places& places, const char* values, bool one) {
  const Landings at = landings(dtype, land);
  if (!at.run) return false;
  const ptrdiff_t step = one ? 0 : item_size(dtype);
  if (!places.n_inner) {
    each_outer(places, [&](ptrdiff_t from, ptrdiff_t value) {
      at.points(x + from, places.offsets, values + value * step, step, places.n);
    });
    return true;
  }
  each_run(places, [&](ptrdiff_t offset, ptrdiff_t stride, ptrdiff_t length, ptrdiff_t value) {
    at.run(x + offset, stride, values + value * step, step, length);
  });
  return true;
}

// ---------------------------------------------------------------- gather and scatter

namespace {

// Calls f(offset in x, index, offset in the values, rows) for the index's rows along its last dimension, all those of the last but
// one together.
template <class F>
void each_rows(const Picks& p, const F& f) {
  ptrdiff_t total = 1;
  for (int d = 0; d < p.ndim; ++d) total *= p.shape[d];
  if (total == 0) return;
  const int last = p.ndim - 1, outer = last > 0 ? last - 1 : 0;
  ptrdiff_t steps[Places::kMaxDims];  // x's strides with the indexed dimension standing still
  for (int d = 0; d < p.ndim; ++d) steps[d] = d == p.dim ? 0 : p.x_strides[d];
  Counter in_x{outer, p.shape, steps};
  Counter in_values{outer, p.shape, p.value_strides};
  Rows rows = {steps[last], p.x_strides[p.dim], static_cast<uint64_t>(p.size), p.value_strides[last], p.shape[last], 1, 0, 0};
  if (last > 0) rows.rows = p.shape[outer], rows.x_next = steps[outer], rows.value_next = p.value_strides[outer];
  const int64_t* index = p.index;
  bool more = true;
  while (more) {
    f(in_x.offset, index, in_values.offset, rows);
    index += rows.n * rows.rows;
    more = in_x.next();
    in_values.next();
  }
}

}  // namespace

bool gather(DType dtype, const char* x, const Picks& picks, char* out) {
  const auto pick = picking(dtype).row;
  bool inside = true;
  each_rows(picks, [&](ptrdiff_t at, const int64_t* index, ptrdiff_t value, const Rows& rows) {
    inside &= pick(out + value, x + at, index, rows);
  });
  return inside;
}

bool scatter(DType dtype, Land land, char* x, const Picks& picks, const char* values) {
  const RowFn land_rows = landings(dtype, land).row;
  if (!land_rows) return false;
  bool inside = true;
  each_rows(picks, [&](ptrdiff_t at, const int64_t* index, ptrdiff_t value, const Rows& rows) {
    inside &= land_rows(x + at, index, values + value, rows);
  });
  return inside;
}

namespace {

template <class T>
void put_masked(T* x, const uint8_t* mask, ptrdiff_t n, const T* source, ptrdiff_t many) {
  for (ptrdiff_t i = 0, k = 0; i < n && k < many; i++) {
    x[i] = mask[i] ? source[k] : x[i];
    k += mask[i] != 0;
  }
}

}  // namespace

void scatter_masked(DType dtype, char* x, const uint8_t* mask, ptrdiff_t n, const char* source, ptrdiff_t many) {
  const auto put = [&]<class T>(T* to) { put_masked(to, mask, n, reinterpret_cast<const T*>(source), many); };
  switch (item_size(dtype)) {
    case 1: return put(reinterpret_cast<uint8_t*>(x));
    case 2: return put(reinterpret_cast<uint16_t*>(x));
    case 4: return put(reinterpret_cast<uint32_t*>(x));
    case 8: return put(reinterpret_cast<uint64_t*>(x));
    default: return put(reinterpret_cast<Sixteen*>(x));
  }
}

}  // namespace rushlight
