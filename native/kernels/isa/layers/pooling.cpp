// Pooling of volumes (images are volumes of depth 1): maxima with their places, means, and the gradients of both.
//
// Maxima: the windows of a row of the output, up to kColumns of them, are worked on together. Each row of the input under them is
// laid into a buffer with -inf at its ends (not where nothing has to be added), and folded into the best so far and its place, an
// output a lane, one kernel column after the other: that is the order in which the first maximum is looked for.
//
// Means: the rows under the windows of an output row are added to one row first, which is summed window by window then. The gradient
// goes the same way back: a row of shares, which is added to the rows.
//
// Integers are I64: there is no NaN, the lowest number stands for -inf, sums wrap, and quotients are rounded toward zero.
//
// Floor: bytes over bandwidth; a maximum also writes an index of 8 bytes.
#include <limits>

#include "kernels/isa/dense_impl.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

constexpr ptrdiff_t kColumns = 256;  // outputs of a row at a time
constexpr ptrdiff_t kStage = 2048;  // elements of a row of the input under them

RUSHLIGHT_INLINE ptrdiff_t larger(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }

// What every element is as large as.
template <class T>
constexpr T kLowest = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();

// Calls f.template operator()<T>(), T for I64 as given.
template <class Integer, class F>
RUSHLIGHT_INLINE void of_numbers(DType dtype, F f) {
  if (dtype == DType::I64) f.template operator()<Integer>();
  else float_or_double(dtype, f);
}

struct Range {
  ptrdiff_t from, to;
};
// The places of the input under window `o`, in [from, to) by steps of the dilation.
RUSHLIGHT_INLINE Range under(const PoolAxis& a, ptrdiff_t o) {
  ptrdiff_t from = o * a.stride - a.pad;
  const ptrdiff_t to = smaller(from + (a.kernel - 1) * a.dilation + 1, a.in);
  if (from < 0) from += (-from + a.dilation - 1) / a.dilation * a.dilation;
  return {from, to};
}

template <class T>
RUSHLIGHT_INLINE bool better(T x, T best) {
  return x > best || x != x;
}

// kMany windows beside one another, from window `o` of a row on; kCut: some reach beyond the row.
template <int kMany, bool kCut, class T>
RUSHLIGHT_INLINE void max_windows(const T* x, const PoolWindow& w, Range d, Range h, ptrdiff_t o, T* out, int64_t* indices) {
  const T none = kLowest<T>;
  T best[kMany];
  ptrdiff_t where[kMany], first[kMany];
  for (int m = 0; m < kMany; m++) {
    best[m] = none;
    first[m] = (o + m) * w.w.stride - w.w.pad;
    where[m] = (d.from * w.h.in + h.from) * w.w.in + under(w.w, o + m).from;
  }
  for (ptrdiff_t id = d.from; id < d.to; id += w.d.dilation)
    for (ptrdiff_t ih = h.from; ih < h.to; ih += w.h.dilation) {
      const T* const row = x + (id * w.h.in + ih) * w.w.in;
      for (ptrdiff_t k = 0; k < w.w.kernel; k++)
        for (int m = 0; m < kMany; m++) {
          const ptrdiff_t i = first[m] + k * w.w.dilation;
          const T value = !kCut || (i >= 0 && i < w.w.in) ? row[i] : none;
          const bool wins = better(value, best[m]);
          best[m] = wins ? value : best[m];
          where[m] = wins ? row - x + i : where[m];
        }
    }
  for (int m = 0; m < kMany; m++) out[m] = best[m];
  for (int m = 0; indices && m < kMany; m++) indices[m] = where[m];
}

// The windows [from, to) of all rows. Four at a time do not wait for one another.
template <class T>
RUSHLIGHT_SHARED void max_pool_plain(const T* x, ptrdiff_t volumes, const PoolWindow& w, ptrdiff_t from, ptrdiff_t to, T* out,
                                     int64_t* indices) {
  const ptrdiff_t length = (w.w.kernel - 1) * w.w.dilation + 1;
  for (ptrdiff_t v = 0; v < volumes; v++, x += w.volume())
    for (ptrdiff_t od = 0; od < w.d.out; od++)
      for (ptrdiff_t oh = 0; oh < w.h.out; oh++, out += w.w.out, indices += indices ? w.w.out : 0) {
        const Range d = under(w.d, od), h = under(w.h, oh);
        for (ptrdiff_t o = from; o < to;) {
          const ptrdiff_t start = o * w.w.stride - w.w.pad;
          int64_t* const places = indices ? indices + o : nullptr;
          if (to - o < 2) max_windows<1, true>(x, w, d, h, o, out + o, places), o++;
          else if (to - o < 4) max_windows<2, true>(x, w, d, h, o, out + o, places), o += 2;
          else if (start < 0 || start + 3 * w.w.stride + length > w.w.in)
            max_windows<4, true>(x, w, d, h, o, out + o, places), o += 4;
          else max_windows<4, false>(x, w, d, h, o, out + o, places), o += 4;
        }
      }
}

#if defined(RUSHLIGHT_VECTOR_EXTENSION) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define RUSHLIGHT_POOLS_BY_REGISTER 1

template <class T>
struct Places;  // a register of places, one for each element of a Vec<T>
template <>
struct Places<float> {
  using Index = int32_t;
  typedef int32_t Raw __attribute__((vector_size(kVecBytes)));
};
template <>
struct Places<int64_t> {
  using Index = int64_t;
  typedef int64_t Raw __attribute__((vector_size(kVecBytes)));
};
template <>
struct Places<double> {
  using Index = int64_t;
  typedef int64_t Raw __attribute__((vector_size(kVecBytes)));
};

// A register of elements `stride` apart; kStride 0: any, of which the first `count` are wanted.
template <int kStride, class T>
RUSHLIGHT_INLINE Vec<T> strided(const T* p, ptrdiff_t stride, ptrdiff_t count = Vec<T>::N) {
  constexpr int N = Vec<T>::N;
  if constexpr (kStride == 1) {
    return Vec<T>::load(p);
  } else if constexpr (kStride == 2) {
    return every_second(p);
  } else {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) {
      const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
      const __m512i places = _mm512_mullo_epi32(lanes, _mm512_set1_epi32(static_cast<int32_t>(stride)));
      const auto wanted = static_cast<__mmask16>(count < N ? (1u << count) - 1 : 0xffffu);
      return {reinterpret_cast<typename Vec<T>::Raw>(_mm512_mask_i32gather_ps(_mm512_setzero_ps(), wanted, places, p, 4))};
    }
#endif
    T elements[N] = {};
    for (ptrdiff_t i = 0; i < smaller(count, N); i++) elements[i] = p[i * stride];
    return Vec<T>::load(elements);
  }
}

// Rows of the input under a row of windows: how many, and how far it is from one to the next.
struct Beneath {
  ptrdiff_t planes, plane, rows, row;
  ptrdiff_t last() const { return (planes - 1) * plane + (rows - 1) * row; }
};

// Folds rows into the best of `count` windows. `at`: the place of first[0]. No `where`: places are not wanted.
template <int kStride, class T>
RUSHLIGHT_INLINE void fold_rows(const T* first, ptrdiff_t at, const Beneath& u, ptrdiff_t count, const PoolAxis& a, T* best,
                                typename Places<T>::Index* where) {
  using V = Vec<T>;
  using Raw = typename Places<T>::Raw;
  using Index = typename Places<T>::Index;
  Raw steps;
  for (int i = 0; i < V::N; i++) steps[i] = static_cast<Index>(i * a.stride + at);
  for (ptrdiff_t r = 0; r * V::N < count; r++) {
    const ptrdiff_t begin = r * V::N * a.stride;
    V b = V::load(best + r * V::N);
    Raw places = steps;
    if (where) std::memcpy(&places, where + r * V::N, kVecBytes);
    for (ptrdiff_t p = 0; p < u.planes; p++)
      for (ptrdiff_t q = 0; q < u.rows; q++)
        for (ptrdiff_t k = 0; k < a.kernel; k++) {
          const ptrdiff_t from = begin + p * u.plane + q * u.row + k * a.dilation;
          const V x = strided<kStride>(first + from, a.stride, count - r * V::N);
          const auto wins = (x.v > b.v) | (x.v != x.v);
          b.v = wins ? x.v : b.v;
          if (where) places = wins ? steps + static_cast<Index>(from) : places;
        }
    b.store(best + r * V::N);
    if (where) std::memcpy(where + r * V::N, &places, kVecBytes);
  }
}

// The windows of columns [first, first + count) of all rows; `span`: of the input under them, rounded up to whole registers.
// `overwrites`: what lies behind them in the output is computed later.
template <class T>
RUSHLIGHT_SHARED void max_pool_columns(const T* x, ptrdiff_t volumes, const PoolWindow& w, ptrdiff_t first, ptrdiff_t count,
                                       ptrdiff_t span, bool overwrites, T* out, int64_t* indices) {
  using Index = typename Places<T>::Index;
  using V = Vec<T>;
  constexpr int N = V::N;
  alignas(64) T stage[kStage + N], best[kColumns];
  alignas(64) Index where[kColumns], starts[kColumns];
  const ptrdiff_t registers = (count + N - 1) / N, left = first * w.w.stride - w.w.pad;
  const ptrdiff_t low = larger(0, -left), high = larger(low, smaller(span, w.w.in - left));  // of the stage: inside the row
  // Whole registers may read what lies behind the windows, in the input.
  const bool inside = low == 0 && left + (count - 1) * w.w.stride + (w.w.kernel - 1) * w.w.dilation < w.w.in;
  const T *const end = x + volumes * w.volume(), *const out_end = out + volumes * w.positions();
  for (ptrdiff_t i = 0; i < span; i++) stage[i] = kLowest<T>;
  for (ptrdiff_t i = 0; i < count; i++) starts[i] = static_cast<Index>(under(w.w, first + i).from);
  for (ptrdiff_t i = count; i < registers * N; i++) starts[i] = 0;
  for (ptrdiff_t v = 0; v < volumes; v++, x += w.volume(), out += w.positions(), indices += indices ? w.positions() : 0)
    for (ptrdiff_t od = 0; od < w.d.out; od++)
      for (ptrdiff_t oh = 0; oh < w.h.out; oh++) {
        const Range d = under(w.d, od), h = under(w.h, oh);
        const Index origin = static_cast<Index>((d.from * w.h.in + h.from) * w.w.in);
        for (ptrdiff_t i = 0; i < registers * N; i++) best[i] = kLowest<T>;
        for (ptrdiff_t i = 0; indices && i < registers * N; i++) where[i] = origin + starts[i];
        const auto fold = [&](const T* row, ptrdiff_t at, const Beneath& rows) {
          Index* const places = indices ? where : nullptr;
          if (w.w.stride == 1) fold_rows<1>(row, at, rows, count, w.w, best, places);
          else if (w.w.stride == 2) fold_rows<2>(row, at, rows, count, w.w, best, places);
          else fold_rows<0>(row, at, rows, count, w.w, best, places);
        };
        const Beneath all = {(d.to - d.from + w.d.dilation - 1) / w.d.dilation, w.d.dilation * w.h.in * w.w.in,
                             (h.to - h.from + w.h.dilation - 1) / w.h.dilation, w.h.dilation * w.w.in};
        const ptrdiff_t begin = origin + left;
        const bool some = all.planes > 0 && all.rows > 0;
        if (inside && some && end - (x + begin + all.last()) >= span) fold(x + begin, begin, all);
        else
          for (ptrdiff_t p = 0; p < all.planes; p++)
            for (ptrdiff_t q = 0; q < all.rows; q++) {
              const ptrdiff_t at = begin + p * all.plane + q * all.row;
              const T* const from = x + at + low;
              if (end - from >= high - low + N) {
                for (ptrdiff_t i = 0; i < high - low; i += N) V::load(from + i).store(stage + low + i);
                for (ptrdiff_t i = high; i < span; i += N) V::all(kLowest<T>).store(stage + i);
              } else {
                std::memcpy(stage + low, from, static_cast<size_t>(high - low) * sizeof(T));
              }
              fold(stage, at, {1, 0, 1, 0});
            }
        const ptrdiff_t to = (od * w.h.out + oh) * w.w.out + first;
        const ptrdiff_t written = overwrites && out_end - (out + to) >= registers * N ? registers * N : count;
        for (ptrdiff_t i = 0; written > count && i < written; i += N) V::load(best + i).store(out + to + i);
        if (written == count) std::memcpy(out + to, best, static_cast<size_t>(count) * sizeof(T));
        for (ptrdiff_t i = 0; indices && i < written; i++) indices[to + i] = where[i];
      }
}
#endif
#endif

template <class T>
void max_pool_of(const T* x, ptrdiff_t volumes, const PoolWindow& w, T* out, int64_t* indices) {
#ifdef RUSHLIGHT_POOLS_BY_REGISTER
  constexpr ptrdiff_t N = Vec<T>::N, kFewest = 3;  // outputs of a row: below that, lanes stay empty
  // The elements of a row under one window, and under n windows.
  const ptrdiff_t reach = (w.w.kernel - 1) * w.w.dilation + 1;
  const auto span_of = [&](ptrdiff_t n) { return ((n + N - 1) / N * N - 1) * w.w.stride + reach; };
  // Windows [low, high) are inside the rows.
  const ptrdiff_t low = smaller((w.w.pad + w.w.stride - 1) / w.w.stride, w.w.out), room = w.w.in + w.w.pad - reach;
  const ptrdiff_t high = room < 0 ? low : larger(low, smaller(room / w.w.stride + 1, w.w.out)), cut = w.w.out - (high - low);
  const ptrdiff_t fewest = w.w.stride > 2 ? N : cut > 2 ? N / 2 : kFewest;
  if (w.w.out - (cut > 2 ? 0 : cut) >= fewest && w.volume() < INT32_MAX && reach < kStage && w.w.stride < kStage &&
      span_of(N) <= kStage) {
    const ptrdiff_t columns = larger(N, smaller(kColumns, (kStage - reach) / w.w.stride / N * N));
    const ptrdiff_t from = cut > 2 ? 0 : low, to = cut > 2 ? w.w.out : high;
    for (ptrdiff_t first = from; first < to; first += columns) {
      const ptrdiff_t count = smaller(columns, to - first);
      max_pool_columns(x, volumes, w, first, count, span_of(count), count == to - from, out, indices);
    }
    if (from > 0) max_pool_plain(x, volumes, w, 0, from, out, indices);
    if (to < w.w.out) max_pool_plain(x, volumes, w, to, w.w.out, out, indices);
    return;
  }
#endif
  max_pool_plain(x, volumes, w, 0, w.w.out, out, indices);
}

void max_pool(DType dtype, const void* x, ptrdiff_t volumes, const PoolWindow& w, void* out, int64_t* indices) {
  of_numbers<int64_t>(dtype, [&]<class T>() { max_pool_of(static_cast<const T*>(x), volumes, w, static_cast<T*>(out), indices); });
}

template <class T>
void max_cuts_of(const T* x, ptrdiff_t volumes, const CutVolume& c, T* out, int64_t* indices) {
  for (ptrdiff_t v = 0; v < volumes; v++, x += c.volume())
    for (ptrdiff_t od = 0; od < c.d.out; od++)
      for (ptrdiff_t oh = 0; oh < c.h.out; oh++)
        for (ptrdiff_t ow = 0; ow < c.w.out; ow++) {
          T best = kLowest<T>;
          ptrdiff_t where = (c.d.from[od] * c.h.in + c.h.from[oh]) * c.w.in + c.w.from[ow];
          for (ptrdiff_t id = c.d.from[od]; id < c.d.to[od]; id++)
            for (ptrdiff_t ih = c.h.from[oh]; ih < c.h.to[oh]; ih++) {
              const ptrdiff_t row = (id * c.h.in + ih) * c.w.in;
              for (ptrdiff_t iw = c.w.from[ow]; iw < c.w.to[ow]; iw++)
                if (!(x[row + iw] <= best)) [[unlikely]] {  // one comparison for all but a few, or where the best is NaN
                  where = better(x[row + iw], best) ? row + iw : where;
                  best = x[where];
                }
            }
          *out++ = best;
          if (indices) *indices++ = where;
        }
}
void max_cuts(DType dtype, const void* x, ptrdiff_t volumes, const CutVolume& cuts, void* out, int64_t* indices) {
  float_or_double(dtype, [&]<class T>() { max_cuts_of(static_cast<const T*>(x), volumes, cuts, static_cast<T*>(out), indices); });
}

template <class T>
bool max_pool_backward_of(const T* grad, const int64_t* indices, ptrdiff_t volumes, ptrdiff_t positions, ptrdiff_t volume, T* out) {
  for (ptrdiff_t v = 0; v < volumes; v++, grad += positions, indices += positions, out += volume) {
    std::memset(out, 0, static_cast<size_t>(volume) * sizeof(T));
    for (ptrdiff_t i = 0; i < positions; i++) {
      const int64_t at = indices[i];
      if (static_cast<uint64_t>(at) >= static_cast<uint64_t>(volume)) return false;
      out[at] += grad[i];
    }
  }
  return true;
}
bool max_pool_backward(DType dtype, const void* grad, const int64_t* indices, ptrdiff_t volumes, ptrdiff_t positions,
                       ptrdiff_t volume, void* out) {
  bool inside = true;
  float_or_double(dtype, [&]<class T>() {
    inside = max_pool_backward_of(static_cast<const T*>(grad), indices, volumes, positions, volume, static_cast<T*>(out));
  });
  return inside;
}

// --- means

// Windows [first, last) of the last dimension, at most kColumns of them, and the elements [from, to) of a row under them: at most
// kStage, or one window of more.
struct Block {
  ptrdiff_t first, last, from, to;
  ptrdiff_t count() const { return last - first; }
  bool is_long() const { return to - from > kStage; }
};
template <class F>
RUSHLIGHT_INLINE void each_block(const Cuts& w, const F& f) {
  Block b{0, 0, 0, 0};
  while (b.first < w.out) {
    b.from = w.from[b.first];
    b.to = w.to[b.first];
    b.last = b.first + 1;
    while (b.last < w.out && b.count() < kColumns && w.to[b.last] - b.from <= kStage) b.to = larger(b.to, w.to[b.last++]);
    if (b.to < b.from) b.to = b.from;
    f(b);
    b.first = b.last;
  }
}

// Calls f(row of the input) for those under the windows (od, oh).
template <class T, class F>
RUSHLIGHT_INLINE void each_row(T* x, const CutVolume& c, ptrdiff_t od, ptrdiff_t oh, const F& f) {
  for (ptrdiff_t id = c.d.from[od]; id < c.d.to[od]; id++)
    for (ptrdiff_t ih = c.h.from[oh]; ih < c.h.to[oh]; ih++) f(x + (id * c.h.in + ih) * c.w.in);
}

template <class T>
RUSHLIGHT_INLINE void set_divisors(const CutVolume& c, ptrdiff_t od, ptrdiff_t oh, const Block& b, T* divisors) {
  using Count = std::conditional_t<std::is_integral_v<T>, T, double>;
  const Count count = static_cast<Count>(c.d.counts[od]) * static_cast<Count>(c.h.counts[oh]);
  for (ptrdiff_t i = 0; i < b.count(); i++) {
    const Count counted = c.divisor != 0 ? static_cast<Count>(c.divisor) : count * static_cast<Count>(c.w.counts[b.first + i]);
    divisors[i] = counted != 0 ? static_cast<T>(counted) : T(1);
  }
}

template <class T>
RUSHLIGHT_INLINE T mean_of(T sum, T divisor) {
  return sum / divisor;
}
RUSHLIGHT_INLINE uint64_t mean_of(uint64_t sum, uint64_t divisor) {
  if (divisor == ~uint64_t{0}) return 0 - sum;  // by -1, which has no quotient of the lowest number
  return static_cast<uint64_t>(static_cast<int64_t>(sum) / static_cast<int64_t>(divisor));
}

// sums[i] = the sum of window i of the block over a row, of which `row` has what is under the block.
template <class T>
RUSHLIGHT_INLINE void sum_windows(const T* row, const Cuts& w, const Block& b, T* sums) {
  ptrdiff_t o = b.first;
  const auto plain = [&](ptrdiff_t last) {
    for (; o < last; o++) {
      T sum = 0;
      for (ptrdiff_t i = w.from[o]; i < w.to[o]; i++) sum += row[i - b.from];
      sums[o - b.first] = sum;
    }
  };
  const auto several = [&]() {  // several sums, none of which waits for another
    for (; o + 4 <= smaller(b.last, w.even_to); o += 4) {
      const T* const from = row + w.from[o] - b.from;
      T sums4[4] = {};
      for (ptrdiff_t k = 0; k < w.kernel; k++)
        for (int i = 0; i < 4; i++) sums4[i] += from[i * w.stride + k];
      for (int i = 0; i < 4; i++) sums[o - b.first + i] = sums4[i];
    }
  };
  plain(smaller(b.last, w.even_from));
#ifdef RUSHLIGHT_POOLS_BY_REGISTER
  using V = Vec<T>;
  const auto by_register = [&]<int kStride>() {
    for (; o + V::N <= smaller(b.last, w.even_to); o += V::N) {
      const T* from = row + w.from[o] - b.from;
      V sum = V::all(0);  // which is no -0, whatever is added
      for (ptrdiff_t k = 0; k < w.kernel; k++) sum = sum + strided<kStride>(from + k, w.stride);
      sum.store(sums + o - b.first);
    }
  };
  if (w.stride == 1) by_register.template operator()<1>();
  else if (w.stride == 2) by_register.template operator()<2>();
#endif
  several();
  plain(b.last);
}

template <class T>
void mean_cuts_of(const T* x, ptrdiff_t volumes, const CutVolume& c, T* out) {
  alignas(64) T row[kStage], divisors[kColumns];
  for (ptrdiff_t v = 0; v < volumes; v++, x += c.volume())
    for (ptrdiff_t od = 0; od < c.d.out; od++)
      for (ptrdiff_t oh = 0; oh < c.h.out; oh++, out += c.w.out)
        each_block(c.w, [&](const Block& b) {
          T* to = out + b.first;
          if (b.is_long()) {
            *to = 0;
            each_row(x, c, od, oh, [&](const T* from) {
              T sum = 0;
              for (ptrdiff_t i = b.from; i < b.to; i++) sum += from[i];
              *to += sum;
            });
          } else {
            const ptrdiff_t n = b.to - b.from;
            const T* sums = nullptr;  // of the rows; a single one is read where it lies
            each_row(x, c, od, oh, [&](const T* from) {
              from += b.from;
              if (!sums) {
                sums = from;
                return;
              }
              for (ptrdiff_t i = 0; i < n; i++) row[i] = sums[i] + from[i];
              sums = row;
            });
            if (!sums) std::memset(row, 0, sizeof(row)), sums = row;
            sum_windows(sums, c.w, b, to);
          }
          set_divisors(c, od, oh, b, divisors);
          for (ptrdiff_t i = 0; i < b.count(); i++) to[i] = mean_of(to[i], divisors[i]);
        });
}
void mean_cuts(DType dtype, const void* x, ptrdiff_t volumes, const CutVolume& cuts, void* out) {
  of_numbers<uint64_t>(dtype, [&]<class T>() { mean_cuts_of(static_cast<const T*>(x), volumes, cuts, static_cast<T*>(out)); });
}

template <class T>
void mean_cuts_backward_of(const T* grad, ptrdiff_t volumes, const CutVolume& c, T* out) {
  alignas(64) T row[kStage], shares[kColumns];
  for (ptrdiff_t v = 0; v < volumes; v++, out += c.volume()) {
    std::memset(out, 0, static_cast<size_t>(c.volume()) * sizeof(T));
    for (ptrdiff_t od = 0; od < c.d.out; od++)
      for (ptrdiff_t oh = 0; oh < c.h.out; oh++, grad += c.w.out)
        each_block(c.w, [&](const Block& b) {
          set_divisors(c, od, oh, b, shares);
          for (ptrdiff_t i = 0; i < b.count(); i++) shares[i] = grad[b.first + i] / shares[i];
          if (b.is_long()) {
            each_row(out, c, od, oh, [&](T* to) {
              for (ptrdiff_t i = b.from; i < b.to; i++) to[i] += shares[0];
            });
            return;
          }
          const ptrdiff_t n = b.to - b.from;
          for (ptrdiff_t i = 0; i < n; i++) row[i] = 0;
          const ptrdiff_t even_from = smaller(larger(b.first, c.w.even_from), b.last),
                          even_to = larger(even_from, smaller(b.last, c.w.even_to));
          const auto plain = [&](ptrdiff_t first, ptrdiff_t last) {
            for (ptrdiff_t o = first; o < last; o++)
              for (ptrdiff_t i = c.w.from[o]; i < c.w.to[o]; i++) row[i - b.from] += shares[o - b.first];
          };
          plain(b.first, even_from);
          for (ptrdiff_t k = 0; even_from < even_to && k < c.w.kernel; k++) {
            T* to = row + c.w.from[even_from] - b.from + k;
            const T* from = shares + even_from - b.first;
            if (c.w.stride == 1)
              for (ptrdiff_t i = 0; i < even_to - even_from; i++) to[i] += from[i];
            else
              for (ptrdiff_t i = 0; i < even_to - even_from; i++) to[i * c.w.stride] += from[i];
          }
          plain(even_to, b.last);
          each_row(out, c, od, oh, [&](T* to) {
            for (ptrdiff_t i = 0; i < n; i++) to[b.from + i] += row[i];
          });
        });
  }
}
void mean_cuts_backward(DType dtype, const void* grad, ptrdiff_t volumes, const CutVolume& cuts, void* out) {
  float_or_double(dtype,
                  [&]<class T>() { mean_cuts_backward_of(static_cast<const T*>(grad), volumes, cuts, static_cast<T*>(out)); });
}

}  // namespace

void fill_pooling(DenseKernels& table) {
  table.max_pool = max_pool;
  table.max_cuts = max_cuts;
  table.max_pool_backward = max_pool_backward;
  table.mean_cuts = mean_cuts;
  table.mean_cuts_backward = mean_cuts_backward;
}

}  // namespace rushlight::RUSHLIGHT_ISA
