#include "kernels/copy.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "kernels/small_floats.h"

namespace rushlight {

namespace {

constexpr int kMaxDims = 64;

struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};
struct Truth {
  uint8_t bits;
};
struct HalfComplex {
  Half real, imag;
};

float bits_to_float(uint32_t bits) {
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}
uint32_t float_bits(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return bits;
}

float widen(Half h) {
  const uint32_t sign = static_cast<uint32_t>(h.bits & 0x8000) << 16, exponent = h.bits >> 10 & 31, fraction = h.bits & 0x3ff;
  if (exponent == 31) return bits_to_float(sign | 0x7f800000 | fraction << 13);
  if (exponent) return bits_to_float(sign | (exponent + 112) << 23 | fraction << 13);
  return bits_to_float(sign | float_bits(static_cast<float>(fraction) * 5.9604644775390625e-8f));  // 2^-24
}
float widen(BFloat b) { return bits_to_float(static_cast<uint32_t>(b.bits) << 16); }

// Both round to the nearest, to even in between.
template <class Wide, int kFraction, class Bits>
uint16_t to_half_bits(Wide value) {
  Bits u;
  std::memcpy(&u, &value, sizeof u);
  constexpr int kWidth = sizeof(Bits) * 8;
  constexpr int kBias = kWidth == 32 ? 127 : 1023;
  const uint16_t sign = static_cast<uint16_t>(u >> (kWidth - 16) & 0x8000);
  const Bits magnitude = u & ((Bits{1} << (kWidth - 1)) - 1);
  const Bits infinity = static_cast<Bits>(2 * kBias + 1) << kFraction;
  if (magnitude > infinity) return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> (kFraction - 10) & 0x3ff));
  const int exponent = static_cast<int>(magnitude >> kFraction) - kBias;
  if (exponent > 15) return static_cast<uint16_t>(sign | 0x7c00);
  if (exponent < -25) return sign;
  const Bits fraction = (magnitude & ((Bits{1} << kFraction) - 1)) | Bits{1} << kFraction;
  const int drop = exponent >= -14 ? kFraction - 10 : kFraction - 10 + (-14 - exponent);
  Bits kept = fraction >> drop;
  const Bits rest = fraction & ((Bits{1} << drop) - 1), middle = Bits{1} << (drop - 1);
  kept += rest > middle || (rest == middle && (kept & 1));
  const uint32_t base = exponent >= -14 ? static_cast<uint32_t>(exponent + 14) << 10 : 0;  // the leading 1 adds one to the exponent
  return static_cast<uint16_t>(sign | (base + static_cast<uint32_t>(kept)));
}
uint16_t to_bfloat_bits(float f) {
  const uint32_t u = float_bits(f);
  if ((u & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(u >> 16 | 0x40);
  return static_cast<uint16_t>((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

template <class T>
struct IsComplex : std::false_type {};
template <class T>
struct IsComplex<std::complex<T>> : std::true_type {};

// A number as C++ computes with it.
template <class T>
auto plain(T x) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>) return widen(x);
  else if constexpr (kSmall<T>) return static_cast<float>(x);
  else if constexpr (std::is_same_v<T, HalfComplex>) return std::complex<float>(widen(x.real), widen(x.imag));
  else if constexpr (std::is_same_v<T, Truth>) return static_cast<uint8_t>(x.bits != 0);
  else return x;
}

template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else {
    const auto v = plain(x);
    using V = std::remove_const_t<decltype(v)>;
    if constexpr (std::is_same_v<To, Truth>) {
      return Truth{static_cast<uint8_t>(v != V(0))};
    } else if constexpr (IsComplex<V>::value) {
      if constexpr (std::is_same_v<To, HalfComplex>) {
        return HalfComplex{convert<Half>(v.real()), convert<Half>(v.imag())};
      } else if constexpr (IsComplex<To>::value) {
        using P = typename To::value_type;
        return To(static_cast<P>(v.real()), static_cast<P>(v.imag()));
      } else {
        return convert<To>(v.real());
      }
    } else if constexpr (IsComplex<To>::value) {
      return To(static_cast<typename To::value_type>(v), 0);
    } else if constexpr (std::is_same_v<To, HalfComplex>) {
      return HalfComplex{convert<Half>(v), Half{0}};
    } else if constexpr (kSmall<To>) {
      return To::of(static_cast<float>(v));
    } else if constexpr (std::is_same_v<To, Half>) {
      if constexpr (std::is_same_v<V, double>) return Half{to_half_bits<double, 52, uint64_t>(v)};
      else return Half{to_half_bits<float, 23, uint32_t>(static_cast<float>(v))};
    } else if constexpr (std::is_same_v<To, BFloat>) {
      return BFloat{to_bfloat_bits(static_cast<float>(v))};
    } else if constexpr (std::is_floating_point_v<V> && std::is_integral_v<To> && sizeof(To) < 4) {
      return static_cast<To>(static_cast<int32_t>(v));  // wraps, on every machine
    } else {
      return static_cast<To>(v);
    }
  }
}

using Row = void (*)(char* to, ptrdiff_t to_stride, const char* from, ptrdiff_t from_stride, ptrdiff_t n);

template <class T>
T load(const char* p) {
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
template <class T>
void store(char* p, T x) {
  std::memcpy(p, &x, sizeof x);
}

template <class P>
void store(char* p, std::complex<P> x) {
  store(p, x.real());
  store(p + sizeof(P), x.imag());
}

template <class To, class From>
void row(char* to, ptrdiff_t to_stride, const char* from, ptrdiff_t from_stride, ptrdiff_t n) {
  if (to_stride == sizeof(To) && from_stride == sizeof(From)) {
    for (ptrdiff_t i = 0; i < n; ++i)
      store(to + i * static_cast<ptrdiff_t>(sizeof(To)), convert<To>(load<From>(from + i * static_cast<ptrdiff_t>(sizeof(From)))));
    return;
  }
  if constexpr (std::is_same_v<To, From> && std::is_integral_v<To>) {
    constexpr ptrdiff_t kItem = sizeof(To);
    if (to_stride == kItem && (from_stride == -kItem || from_stride == 2 * kItem))
      return kernels().pick(kItem, from_stride / kItem, from, to, n);
  }
  for (ptrdiff_t i = 0; i < n; ++i) store(to + i * to_stride, convert<To>(load<From>(from + i * from_stride)));
}

template <class F>
auto with_type(DType t, F f) {
  switch (t) {
    case DType::Bool: return f(Truth{});
    case DType::U8: return f(uint8_t{});
    case DType::I8: return f(int8_t{});
    case DType::I16: return f(int16_t{});
    case DType::I32: return f(int32_t{});
    case DType::I64: return f(int64_t{});
    case DType::F16: return f(Half{});
    case DType::BF16: return f(BFloat{});
    case DType::F32: return f(float{});
    case DType::F64: return f(double{});
    case DType::C64: return f(std::complex<float>{});
    case DType::C128: return f(std::complex<double>{});
    case DType::U16: return f(uint16_t{});
    case DType::U32: return f(uint32_t{});
    case DType::F8E4M3FN: return f(E4M3FN{});
    case DType::F8E4M3FNUZ: return f(E4M3FNUZ{});
    case DType::F8E5M2: return f(E5M2{});
    case DType::F8E5M2FNUZ: return f(E5M2FNUZ{});
    case DType::F8E8M0FNU: return f(Scale{});
    case DType::C32: return f(HalfComplex{});
    default: return f(uint64_t{});
  }
}

struct Bytes16 {
  uint64_t halves[2];
};

Row row_of(DType to, DType from) {
  if (to == from) {
    switch (item_size(to)) {
      case 1: return row<uint8_t, uint8_t>;
      case 2: return row<uint16_t, uint16_t>;
      case 4: return row<uint32_t, uint32_t>;
      case 8: return row<uint64_t, uint64_t>;
      default: return row<Bytes16, Bytes16>;
    }
  }
  return with_type(to, [from](auto t) { return with_type(from, [](auto f) -> Row { return row<decltype(t), decltype(f)>; }); });
}

bool aligned(const char* p, DType type) { return reinterpret_cast<uintptr_t>(p) % static_cast<uintptr_t>(item_size(type)) == 0; }

constexpr ptrdiff_t kWord = 16, kLine = 64;  // bytes of a register, of a line of the cache

// Repeats the first of n adjacent elements.
void spread(char* to, ptrdiff_t item, ptrdiff_t n) {
  constexpr ptrdiff_t kFirst = 512, kPiece = 4096;  // bytes; what is copied from stays in the first-level cache
  const ptrdiff_t total = n * item;
  ptrdiff_t done = item;
  const auto repeat = [&](ptrdiff_t most) {
    const ptrdiff_t piece = std::min({done, most, total - done});
    std::memcpy(to + done, to, static_cast<size_t>(piece));
    done += piece;
  };
  while (done < kLine && done < total) repeat(kLine);
  if (done == kLine) {
    char line[kLine];
    std::memcpy(line, to, kLine);
    for (; done < kFirst && done + kLine <= total; done += kLine) std::memcpy(to + done, line, kLine);
  }
  while (done < total) repeat(kPiece);
}

constexpr ptrdiff_t kNarrow = 8;  // elements

// memcpy, without a call where it is short.
void copy_bytes(char* to, const char* from, ptrdiff_t n) {
  if (n < kWord || n > kLine) {
    std::memcpy(to, from, static_cast<size_t>(n));
    return;
  }
  for (ptrdiff_t i = 0; i < n - kWord; i += kWord) std::memcpy(to + i, from + i, kWord);
  std::memcpy(to + n - kWord, from + n - kWord, kWord);
}

// `rows` pieces of kWord to kLine bytes, each by registers that may overlap.
void copy_pieces(char* to, ptrdiff_t to_row, const char* from, ptrdiff_t from_row, ptrdiff_t n, ptrdiff_t rows) {
  const ptrdiff_t end = n - kWord;
  if (n <= 2 * kWord) {
    for (; rows > 0; rows--, to += to_row, from += from_row) {
      std::memcpy(to, from, kWord);
      std::memcpy(to + end, from + end, kWord);
    }
  } else {
    for (; rows > 0; rows--, to += to_row, from += from_row) {
      std::memcpy(to, from, kWord);
      std::memcpy(to + kWord, from + kWord, kWord);
      std::memcpy(to + end - kWord, from + end - kWord, kWord);
      std::memcpy(to + end, from + end, kWord);
    }
  }
}

// --- transposition: squares whose sides are lines of the cache, so that each line is read once and written once ---

using Square = void (*)(char* to, ptrdiff_t to_stride, const char* from, ptrdiff_t from_stride);

#if defined(__GNUC__)
template <bool kHigh, class V, int... I>
V interleave(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int kLanes = sizeof...(I), kFirst = kHigh ? kLanes / 2 : 0;
  return __builtin_shufflevector(a, b, kFirst + I / 2 + I % 2 * kLanes...);
}

// Rows in registers become columns by as many perfect shuffles as it takes bits to count them.
// Unrolled where this file is compiled for its size, too: else the registers lie in memory.
template <class T>
void transpose_square(char* to, ptrdiff_t to_stride, const char* from, ptrdiff_t from_stride) {
  typedef T Register __attribute__((vector_size(16)));
  constexpr int kSide = kLine / sizeof(T), kLanes = 16 / sizeof(T);
  alignas(kLine) T square[kSide][kSide];
  for (int j = 0; j < kSide; j += kLanes) {
    for (int i = 0; i < kSide; i += kLanes) {
      Register rows[kLanes], next[kLanes];
#pragma GCC unroll 16
      for (int k = 0; k < kLanes; ++k)
        std::memcpy(&rows[k], from + (j + k) * from_stride + i * static_cast<ptrdiff_t>(sizeof(T)), sizeof(Register));
#pragma GCC unroll 16
      for (int step = 1; step < kLanes; step *= 2) {
#pragma GCC unroll 16
        for (int k = 0; k < kLanes / 2; ++k) {
          next[2 * k] = interleave<false>(rows[k], rows[k + kLanes / 2], std::make_integer_sequence<int, kLanes>());
          next[2 * k + 1] = interleave<true>(rows[k], rows[k + kLanes / 2], std::make_integer_sequence<int, kLanes>());
        }
        std::memcpy(rows, next, sizeof rows);
      }
#pragma GCC unroll 16
      for (int k = 0; k < kLanes; ++k) std::memcpy(&square[i + k][j], &rows[k], sizeof(Register));
    }
  }
  for (int i = 0; i < kSide; ++i) std::memcpy(to + i * to_stride, square[i], kLine);
}

Square square_of(ptrdiff_t item) {
  switch (item) {
    case 1: return transpose_square<uint8_t>;
    case 2: return transpose_square<uint16_t>;
    case 4: return transpose_square<uint32_t>;
    case 8: return transpose_square<uint64_t>;
    default: return nullptr;
  }
}
#else
Square square_of(ptrdiff_t) { return nullptr; }
#endif

struct Plan {
  int ndim = 0;
  ptrdiff_t shape[kMaxDims], to[kMaxDims], from[kMaxDims];  // outermost first
};

ptrdiff_t magnitude(ptrdiff_t n) { return n < 0 ? -n : n; }

// The dimensions in the order of the target's strides, neighbours that walk both as one merged. False where there is nothing to copy.
bool make_plan(Plan* p, const ptrdiff_t* to, const ptrdiff_t* from, int ndim, const ptrdiff_t* shape) {
  for (int i = 0; i < ndim; ++i) {
    if (shape[i] == 0) return false;
    if (shape[i] == 1) continue;
    int at = p->ndim++;
    for (; at > 0 && magnitude(p->to[at - 1]) < magnitude(to[i]); --at) {
      p->shape[at] = p->shape[at - 1];
      p->to[at] = p->to[at - 1];
      p->from[at] = p->from[at - 1];
    }
    p->shape[at] = shape[i];
    p->to[at] = to[i];
    p->from[at] = from[i];
  }
  int kept = 0;
  for (int i = 1; i < p->ndim; ++i) {
    if (p->to[kept] == p->to[i] * p->shape[i] && p->from[kept] == p->from[i] * p->shape[i]) {
      p->shape[kept] *= p->shape[i];
      p->to[kept] = p->to[i];
      p->from[kept] = p->from[i];
    } else {
      ++kept;
      p->shape[kept] = p->shape[i];
      p->to[kept] = p->to[i];
      p->from[kept] = p->from[i];
    }
  }
  if (p->ndim) p->ndim = kept + 1;
  return true;
}

// Where another dimension than the last holds adjacent elements of the source, it comes before the last: the two make planes.
void pair_dims(Plan* p, ptrdiff_t item) {
  for (int i = 0; i < p->ndim - 2; ++i) {
    if (magnitude(p->from[i]) != item) continue;
    for (ptrdiff_t* row : {p->shape, p->to, p->from}) std::rotate(row + i, row + i + 1, row + p->ndim - 1);
    return;
  }
}

// A type for `n` adjacent elements as one; Count where there is none.
DType as_one(ptrdiff_t item, ptrdiff_t n) {
  switch (item * n) {
    case 2: return DType::U16;
    case 4: return DType::U32;
    case 8: return DType::U64;
    case 16: return DType::C128;
    default: return DType::Count;
  }
}

// The innermost dimensions where all of them have few elements: the places of each element on both sides.
struct Block {
  static constexpr int kMost = 128;
  int first = kMaxDims, count = 0;  // the first of the dimensions
  ptrdiff_t to[kMost], from[kMost];

  void read(const Plan& p) {
    const int last = p.ndim - 1;
    if (last < 2 || p.shape[last] > kNarrow || p.shape[last] * p.shape[last - 1] > kMost / 2) return;
    count = 1, first = p.ndim;
    to[0] = from[0] = 0;
    while (first > 1 && count * p.shape[first - 1] <= kMost) {
      const ptrdiff_t n = p.shape[--first];
      for (ptrdiff_t i = n * count - 1; i >= 0; --i) {
        to[i] = to[i / n] + i % n * p.to[first];
        from[i] = from[i / n] + i % n * p.from[first];
      }
      count *= static_cast<int>(n);
    }
  }
  template <class T>
  void rows(char* t, ptrdiff_t to_row, const char* f, ptrdiff_t from_row, ptrdiff_t n) const {
    for (; n > 0; --n, t += to_row, f += from_row) {
      for (int i = 0; i < count; ++i) store(t + to[i], load<T>(f + from[i]));
    }
  }
  void rows(ptrdiff_t item, char* t, ptrdiff_t to_row, const char* f, ptrdiff_t from_row, ptrdiff_t n) const {
    switch (item) {
      case 1: return rows<uint8_t>(t, to_row, f, from_row, n);
      case 2: return rows<uint16_t>(t, to_row, f, from_row, n);
      case 4: return rows<uint32_t>(t, to_row, f, from_row, n);
      case 8: return rows<uint64_t>(t, to_row, f, from_row, n);
      default: return rows<Bytes16>(t, to_row, f, from_row, n);
    }
  }
};

struct Copy {
  Plan plan;
  Block block;
  Row row;
  ptrdiff_t item;  // of both where the types are the same, else 0
  Square square = nullptr;
  DType to_type, from_type;
  char* to;
  const char* from;

  void line(char* t, ptrdiff_t to_stride, const char* f, ptrdiff_t from_stride, ptrdiff_t n) const {
    const bool adjacent = to_stride == item_size(to_type) && from_stride == item_size(from_type);
    if (item && adjacent) {
      copy_bytes(t, f, n * item);
    } else if (from_stride == 0 && to_stride == item_size(to_type)) {
      row(t, 0, f, 0, 1);
      spread(t, to_stride, n);
    } else if (!adjacent || !aligned(t, to_type) || !aligned(f, from_type) ||
               !kernels().convert_adjacent(from_type, f, to_type, t, n)) {
      row(t, to_stride, f, from_stride, n);
    }
  }

  // Two dimensions that each side walks in another order: in blocks, so that the lines of the cache are used up.
  void plane(char* t, const char* f, ptrdiff_t rows, ptrdiff_t to_row, ptrdiff_t from_row, ptrdiff_t n, ptrdiff_t to_step,
             ptrdiff_t from_step) const {
    constexpr ptrdiff_t kBlock = 32;
    const bool squares = square && to_step == item && from_row == item;
    const ptrdiff_t side = squares ? kLine / item : kBlock;
    for (ptrdiff_t j = 0; j < n; j += side) {
      const ptrdiff_t width = n - j < side ? n - j : side;
      ptrdiff_t i = 0;
      for (; squares && width == side && i + side <= rows; i += side)
        square(t + i * to_row + j * to_step, to_row, f + i * from_row + j * from_step, from_step);
      for (; i < rows; ++i) row(t + i * to_row + j * to_step, to_step, f + i * from_row + j * from_step, from_step, width);
    }
  }

  // Two dimensions of which the inner one has few elements: a line for each of them, along the outer one.
  void narrow_plane(char* t, const char* f, ptrdiff_t rows, ptrdiff_t to_row, ptrdiff_t from_row, ptrdiff_t n, ptrdiff_t to_step,
                    ptrdiff_t from_step) const {
    constexpr ptrdiff_t kBlock = 512;
    for (ptrdiff_t i = 0; i < rows; i += kBlock) {
      const ptrdiff_t height = rows - i < kBlock ? rows - i : kBlock;
      for (ptrdiff_t j = 0; j < n; ++j)
        row(t + i * to_row + j * to_step, to_row, f + i * from_row + j * from_step, from_row, height);
    }
  }

  void walk(int dim, char* t, const char* f, ptrdiff_t begin, ptrdiff_t end) const {
    const int left = plan.ndim - dim;
    if (dim + 1 == block.first)
      return block.rows(item, t + begin * plan.to[dim], plan.to[dim], f + begin * plan.from[dim], plan.from[dim], end - begin);
    if (left == 1) {
      line(t + begin * plan.to[dim], plan.to[dim], f + begin * plan.from[dim], plan.from[dim], end - begin);
      return;
    }
    if (left == 2) {
      const ptrdiff_t to_row = plan.to[dim], from_row = plan.from[dim], to_step = plan.to[dim + 1], from_step = plan.from[dim + 1];
      const ptrdiff_t rows = end - begin, n = plan.shape[dim + 1];
      t += begin * to_row;
      f += begin * from_row;
      if (n <= kNarrow && n < rows && (n * item < kWord || from_step != item)) {
        narrow_plane(t, f, rows, to_row, from_row, n, to_step, from_step);
      } else if (from_row != 0 && magnitude(from_row) < magnitude(from_step)) {
        plane(t, f, rows, to_row, from_row, n, to_step, from_step);
      } else if (item && to_step == item && from_step == item && n * item >= kWord && n * item <= kLine) {
        copy_pieces(t, to_row, f, from_row, n * item, rows);
      } else {
        for (ptrdiff_t i = 0; i < rows; ++i) line(t + i * to_row, to_step, f + i * from_row, from_step, n);
      }
      return;
    }
    for (ptrdiff_t i = begin; i < end; ++i) walk(dim + 1, t + i * plan.to[dim], f + i * plan.from[dim], 0, plan.shape[dim + 1]);
  }
};

constexpr ptrdiff_t kGrain = 1 << 16;  // elements

}  // namespace

void copy_strided(DType to_type, char* to, const ptrdiff_t* to_strides, DType from_type, const char* from,
                  const ptrdiff_t* from_strides, int ndim, const ptrdiff_t* shape) {
  Copy copy;
  if (!make_plan(&copy.plan, to_strides, from_strides, ndim, shape)) return;
  Plan& plan = copy.plan;
  if (to_type == from_type && plan.ndim > 1) {
    const int last = plan.ndim - 1;
    const ptrdiff_t item = item_size(to_type);
    const DType one = plan.to[last] == item && plan.from[last] == item ? as_one(item, plan.shape[last]) : DType::Count;
    if (one != DType::Count) to_type = from_type = one, --plan.ndim;
  }
  pair_dims(&plan, item_size(from_type));
  copy.row = row_of(to_type, from_type);
  if ((copy.item = to_type == from_type ? item_size(to_type) : 0)) copy.square = square_of(copy.item), copy.block.read(plan);
  copy.to_type = to_type;
  copy.from_type = from_type;
  copy.to = to;
  copy.from = from;
  if (copy.plan.ndim == 0) {
    copy.row(to, 0, from, 0, 1);
    return;
  }
  ptrdiff_t inner = 1;
  for (int i = 1; i < copy.plan.ndim; ++i) inner *= copy.plan.shape[i];
  const ptrdiff_t outer = copy.plan.shape[0];
  if (outer * inner <= 2 * kGrain) {
    copy.walk(0, to, from, 0, outer);
    return;
  }
  parallel(outer, kGrain / inner + 1, [&](ptrdiff_t begin, ptrdiff_t end) { copy.walk(0, copy.to, copy.from, begin, end); });
}

void conjugate_elements(DType type, char* data, ptrdiff_t n) {
  const float negative[] = {0.0f, -0.0f};
  const uint64_t high_sign = load<uint64_t>(reinterpret_cast<const char*>(negative));
  if (type == DType::C64) {
    for (ptrdiff_t i = 0; i < n; ++i) store(data + i * 8, load<uint64_t>(data + i * 8) ^ high_sign);
  } else if (type == DType::C32) {
    for (ptrdiff_t i = 0; i < n; ++i) store(data + i * 4 + 2, static_cast<uint16_t>(load<uint16_t>(data + i * 4 + 2) ^ 0x8000));
  } else if (type == DType::C128) {
    for (ptrdiff_t i = 0; i < n; ++i) store(data + i * 16 + 8, -load<double>(data + i * 16 + 8));
  }
}

void negate_elements(DType type, char* data, ptrdiff_t n) {
  with_type(type, [=](auto t) {
    using T = decltype(t);
    for (ptrdiff_t i = 0; i < n; ++i) {
      char* p = data + i * static_cast<ptrdiff_t>(sizeof(T));
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>) {
        store(p, T{static_cast<uint16_t>(load<T>(p).bits ^ 0x8000)});
      } else if constexpr (std::is_same_v<T, HalfComplex>) {
        store(p, load<uint32_t>(p) ^ 0x80008000u);
      } else if constexpr (kSmall<T>) {
        store(p, T::of(-static_cast<float>(load<T>(p))));
      } else if constexpr (std::is_integral_v<T>) {
        store(p, static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(load<T>(p))));
      } else if constexpr (!std::is_same_v<T, Truth>) {
        store(p, -load<T>(p));
      }
    }
  });
}

void round_to(DType type, float* x, ptrdiff_t n) {
  constexpr ptrdiff_t kBlock = 512;
  uint16_t halves[kBlock];
  for (ptrdiff_t i = 0; is_half(type) && i < n; i += kBlock) {
    const ptrdiff_t many = std::min(kBlock, n - i);
    kernels().convert_adjacent(DType::F32, x + i, type, halves, many);
    kernels().convert_adjacent(type, halves, DType::F32, x + i, many);
  }
}

}  // namespace rushlight
