// Images sampled at places, and the gradients of both. A block of places at a time: what it reads is worked out once for all channels.
//
// Floor: bytes over bandwidth; with few channels the elements that are read one by one, an instruction each.
#include "kernels/isa/dense_impl.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

constexpr ptrdiff_t kPlaces = 64;  // of a block
constexpr int kCorners = 16;

RUSHLIGHT_INLINE float floor_of(float x) { return __builtin_floorf(x); }
RUSHLIGHT_INLINE double floor_of(double x) { return __builtin_floor(x); }
RUSHLIGHT_INLINE float nearest_of(float x) { return __builtin_nearbyintf(x); }
RUSHLIGHT_INLINE double nearest_of(double x) { return __builtin_nearbyint(x); }
RUSHLIGHT_INLINE float size_of(float x) { return __builtin_fabsf(x); }
RUSHLIGHT_INLINE double size_of(double x) { return __builtin_fabs(x); }

// All bits of an element of a place inside the image, none outside.
template <class T>
RUSHLIGHT_INLINE T masked(T x, BitsOf<T> inside) {
  return __builtin_bit_cast(T, __builtin_bit_cast(BitsOf<T>, x) & inside);
}

// A register of elements of those places that are inside, and zeros.
template <class T>
RUSHLIGHT_INLINE Vec<T> picked(const T* from, const int32_t* at, const BitsOf<T>* inside) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    const __m512i bits = _mm512_loadu_si512(inside), places = _mm512_loadu_si512(at);
    return {reinterpret_cast<typename Vec<T>::Raw>(
        _mm512_mask_i32gather_ps(_mm512_setzero_ps(), _mm512_test_epi32_mask(bits, bits), places, from, 4))};
  } else {
    const __m512i bits = _mm512_loadu_si512(inside);
    const __m256i places = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    return {reinterpret_cast<typename Vec<T>::Raw>(
        _mm512_mask_i32gather_pd(_mm512_setzero_pd(), _mm512_test_epi64_mask(bits, bits), places, from, 8))};
  }
#else
  T elements[Vec<T>::N];
  for (int i = 0; i < Vec<T>::N; i++) elements[i] = masked(from[at[i]], inside[i]);
  return Vec<T>::load(elements);
#endif
}

// One dimension of the images.
template <class T>
struct Along {
  T size;
  const Sampling& s;

  // Reflected at the borders; the slope changes its sign with each.
  RUSHLIGHT_INLINE T mirrored(T x, T& slope) const {
    const T low = s.corners ? T(0) : T(-1), high = s.corners ? 2 * (size - 1) : 2 * size - 1;
    const T half = low / 2, span = (high - low) / 2;
    const T away = size_of(x - half), turns = floor_of(away / span), rest = away - turns * span;
    const bool even = floor_of(turns / 2) * 2 == turns;
    slope = (x < half) == even ? -slope : slope;
    slope = high <= low ? T(0) : slope;
    x = even ? rest + half : span - rest + half;
    return high <= low ? T(0) : x;
  }
  RUSHLIGHT_INLINE T clamped(T x, T& slope) const {
    slope = (x > 0) & (x < size - 1) ? slope : T(0);
    x = x > 0 ? x : T(0);
    return x < size - 1 ? x : size - 1;
  }
  RUSHLIGHT_INLINE int32_t place(T x) const {
    const T inside = (x >= 0) & (x < size) ? x : T(-1);
    return static_cast<int32_t>(inside);
  }
};

// Reads of the places along one dimension: `at` is -1 outside. `slope` is the weight's derivative by the number of the place.
template <class T>
struct Reads {
  int count;
  int32_t at[4][kPlaces];
  T weight[4][kPlaces], slope[4][kPlaces];

  RUSHLIGHT_SHARED void read(const Sampling& s, int d, const T* numbers, ptrdiff_t n) {
    T x[kPlaces], rate[kPlaces];
    const T size = static_cast<T>(s.sizes[d]), factor = s.corners ? size - 1 : size, shift = s.corners ? T(0) : T(1);
    const Along<T> along{size, s};
    for (ptrdiff_t p = 0; p < n; p++) {
      x[p] = ((numbers[p * s.n] + 1) * factor - shift) / 2;
      rate[p] = factor / 2;
    }
    if (s.mode != Sampled::Bicubic && s.beyond == Beyond::Reflection)
      for (ptrdiff_t p = 0; p < n; p++) x[p] = along.mirrored(x[p], rate[p]);
    if (s.mode != Sampled::Bicubic && s.beyond != Beyond::Zeros)
      for (ptrdiff_t p = 0; p < n; p++) x[p] = along.clamped(x[p], rate[p]);
    if (s.mode == Sampled::Nearest) {
      count = 1;
      for (ptrdiff_t p = 0; p < n; p++) at[0][p] = along.place(nearest_of(x[p])), weight[0][p] = 1, slope[0][p] = 0;
    } else if (s.mode == Sampled::Bilinear) {
      count = 2;
      for (ptrdiff_t p = 0; p < n; p++) {
        const T low = floor_of(x[p]), part = x[p] - low;
        at[0][p] = along.place(low), at[1][p] = along.place(low + 1);
        weight[0][p] = 1 - part, weight[1][p] = part;
        slope[0][p] = -rate[p], slope[1][p] = rate[p];
      }
    } else {
      count = 4;
      for (int t = 0; t < 4; t++) cubic(s, along, x, factor / 2, t, n);
    }
  }

 private:
  // The pixel t - 1 from the one below, weighted by a cubic polynomial in the distance.
  RUSHLIGHT_INLINE void cubic(const Sampling& s, const Along<T>& along, const T* x, T rate, int t, ptrdiff_t n) {
    constexpr T a = T(-0.75);
    const bool near = t == 1 || t == 2;
    for (ptrdiff_t p = 0; p < n; p++) {
      const T low = floor_of(x[p]), part = x[p] - low, d = t < 2 ? part + (1 - t) : t - 1 - part;
      T unused = 0, read = low + static_cast<T>(t - 1);
      if (s.beyond == Beyond::Reflection) read = nearest_of(along.mirrored(read, unused));
      if (s.beyond != Beyond::Zeros) read = read != read ? read : along.clamped(read, unused);
      at[t][p] = along.place(read);
      weight[t][p] = near ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
      const T by_d = near ? (3 * (a + 2) * d - 2 * (a + 3)) * d : (3 * a * d - 10 * a) * d + 8 * a;
      slope[t][p] = t < 2 ? by_d * rate : -by_d * rate;
    }
  }
};

// The pixels of a block, a corner of all its places after the other: where the first channel is (outside that of any pixel) from that
// of the block's first image, its weight, and the weight's derivatives by the numbers of the place. Whole registers have values.
template <class T>
struct Corners {
  int many;
  ptrdiff_t n, origin, to[kPlaces];  // to: the first channel of the place itself
  int32_t at[kCorners][kPlaces];
  BitsOf<T> inside[kCorners][kPlaces];
  T weight[kCorners][kPlaces], by[3][kCorners][kPlaces];
  Reads<T> along[3];

  RUSHLIGHT_SHARED void read(const Sampling& s, const T* places, ptrdiff_t first, ptrdiff_t last, bool slopes) {
    n = smaller(kPlaces, last - first);
    ptrdiff_t left = s.places - first % s.places, start = first / s.places * s.out.image + first % s.places * s.out.place;
    int32_t base[kPlaces], from = 0;
    origin = first / s.places * s.in.image;
    for (ptrdiff_t p = 0; p < n; p++, start += s.out.place) {
      base[p] = from;
      to[p] = start;
      if (--left) continue;
      left = s.places;
      from += static_cast<int32_t>(s.in.image);
      start += s.out.image - s.places * s.out.place;
    }
    for (int d = 0; d < s.n; d++) along[d].read(s, d, places + first * s.n + s.n - 1 - d, n);
    many = 0;
    for (int i = 0; i < along[0].count; i++)
      for (int j = 0; j < along[1].count; j++) {
        if (s.n == 2) corner(s, base, i, j, -1, slopes);
        for (int k = 0; s.n == 3 && k < along[2].count; k++) corner(s, base, i, j, k, slopes);
      }
  }

 private:
  RUSHLIGHT_SHARED void corner(const Sampling& s, const int32_t* base, int i, int j, int k, bool slopes) {
    const int32_t *ys = along[0].at[i], *xs = along[1].at[j];
    const T *a = along[0].weight[i], *b = along[1].weight[j], *da = along[0].slope[i], *db = along[1].slope[j];
    const auto width = static_cast<int32_t>(s.sizes[1]), depth = static_cast<int32_t>(s.sizes[2]);
    const auto step = static_cast<int32_t>(s.in.place);
    int32_t* const where = at[many];
    BitsOf<T>* const in = inside[many];
    T *const whole = weight[many], *const by0 = by[0][many], *const by1 = by[1][many], *const by2 = by[2][many];
    many++;
    for (ptrdiff_t p = n; p % 16; p++) where[p] = 0, in[p] = 0, whole[p] = 0;
    if (k < 0) {
      RUSHLIGHT_INDEPENDENT
      for (ptrdiff_t p = 0; p < n; p++) {
        const int32_t out = (ys[p] | xs[p]) >> 31;
        where[p] = base[p] + ((ys[p] * width + xs[p]) & ~out) * step;
        in[p] = static_cast<BitsOf<T>>(static_cast<ptrdiff_t>(~out));
        whole[p] = a[p] * b[p];
      }
      RUSHLIGHT_INDEPENDENT
      for (ptrdiff_t p = 0; p < (slopes ? n : 0); p++) by0[p] = da[p] * b[p], by1[p] = a[p] * db[p];
      return;
    }
    const int32_t* zs = along[2].at[k];
    const T *c = along[2].weight[k], *dc = along[2].slope[k];
    RUSHLIGHT_INDEPENDENT
    for (ptrdiff_t p = 0; p < n; p++) {
      const int32_t out = (ys[p] | xs[p] | zs[p]) >> 31;
      where[p] = base[p] + (((ys[p] * width + xs[p]) * depth + zs[p]) & ~out) * step;
      in[p] = static_cast<BitsOf<T>>(static_cast<ptrdiff_t>(~out));
      whole[p] = a[p] * b[p] * c[p];
    }
    RUSHLIGHT_INDEPENDENT
    for (ptrdiff_t p = 0; p < (slopes ? n : 0); p++) {
      by0[p] = da[p] * b[p] * c[p];
      by1[p] = a[p] * db[p] * c[p];
      by2[p] = a[p] * b[p] * dc[p];
    }
  }
};

template <class T>
void grid_sample_of(const Sampling& s, const T* places, const T* images, ptrdiff_t first, ptrdiff_t last, T* out) {
  Corners<T> c;
  for (; first < last; first += kPlaces) {
    c.read(s, places, first, last, false);
    for (ptrdiff_t ch = 0; s.few && ch < s.channels; ch++) {
      T sums[kPlaces];
      const T* const channel = images + c.origin + ch * s.in.channel;
      for (ptrdiff_t p = 0; p < c.n; p += Vec<T>::N) {
        Vec<T> sum = Vec<T>::all(0);
        for (int i = 0; i < c.many; i++) sum = sum + picked(channel, c.at[i] + p, c.inside[i] + p) * Vec<T>::load(c.weight[i] + p);
        sum.store(sums + p);
      }
      for (ptrdiff_t p = 0; p < c.n; p++) out[c.to[p] + ch * s.out.channel] = sums[p];
    }
    for (ptrdiff_t p = 0; !s.few && p < c.n; p++) {
      T* const sums = out + c.to[p];
      for (ptrdiff_t ch = 0; ch < s.channels; ch++) sums[ch] = 0;
      for (int i = 0; i < c.many; i++) {
        const T weight = c.weight[i][p];
        if (c.inside[i][p]) {
          const T* pixel = images + c.origin + c.at[i][p];
          for (ptrdiff_t ch = 0; ch < s.channels; ch++) sums[ch] += pixel[ch] * weight;
        } else if (weight - weight != 0) {  // no number times 0
          for (ptrdiff_t ch = 0; ch < s.channels; ch++) sums[ch] += weight * 0;
        }
      }
    }
  }
}

template <class T>
void grid_sample_backward_of(const Sampling& s, const T* grad, const T* places, const T* images, ptrdiff_t first, ptrdiff_t last,
                             T* to_images, T* to_places) {
  Corners<T> c;
  T dots[kCorners][kPlaces];
  for (; first < last; first += kPlaces) {
    c.read(s, places, first, last, to_places != nullptr);
    std::memset(dots, 0, sizeof(dots));
    for (ptrdiff_t ch = 0; s.few && ch < s.channels; ch++) {
      T given[kPlaces] = {};
      for (ptrdiff_t p = 0; p < c.n; p++) given[p] = grad[c.to[p] + ch * s.out.channel];
      const T* const channel = images + c.origin + ch * s.in.channel;
      for (int i = 0; to_images && i < c.many; i++)
        for (ptrdiff_t p = 0; p < c.n; p++)
          to_images[c.origin + c.at[i][p] + ch * s.in.channel] += masked(given[p] * c.weight[i][p], c.inside[i][p]);
      for (int i = 0; to_places && i < c.many; i++)
        for (ptrdiff_t p = 0; p < c.n; p += Vec<T>::N) {
          const Vec<T> dot = Vec<T>::load(given + p) * picked(channel, c.at[i] + p, c.inside[i] + p);
          (Vec<T>::load(dots[i] + p) + dot).store(dots[i] + p);
        }
    }
    for (ptrdiff_t p = 0; !s.few && p < c.n; p++)
      for (int i = 0; i < c.many; i++) {
        const ptrdiff_t pixel = c.origin + c.at[i][p];
        if (!c.inside[i][p]) continue;
        const T* const given = grad + c.to[p];
        for (ptrdiff_t ch = 0; to_images && ch < s.channels; ch++) to_images[pixel + ch] += given[ch] * c.weight[i][p];
        if (!to_places) continue;
        T parts[4] = {};
        ptrdiff_t ch = 0;
        for (; ch + 4 <= s.channels; ch += 4)
          for (int lane = 0; lane < 4; lane++) parts[lane] += given[ch + lane] * images[pixel + ch + lane];
        for (; ch < s.channels; ch++) parts[0] += given[ch] * images[pixel + ch];
        dots[i][p] = (parts[0] + parts[1]) + (parts[2] + parts[3]);
      }
    for (int d = 0; to_places && d < s.n; d++) {
      T slopes[kPlaces] = {};
      for (int i = 0; i < c.many; i++)
        for (ptrdiff_t p = 0; p < c.n; p++) slopes[p] += masked(dots[i][p] * c.by[d][i][p], c.inside[i][p]);
      for (ptrdiff_t p = 0; p < c.n; p++) to_places[(first + p) * s.n + s.n - 1 - d] = slopes[p];
    }
  }
}

void grid_sample(DType dtype, const Sampling& s, const void* places, const void* images, ptrdiff_t first, ptrdiff_t last,
                 void* out) {
  float_or_double(dtype, [&]<class T>() {
    grid_sample_of(s, static_cast<const T*>(places), static_cast<const T*>(images), first, last, static_cast<T*>(out));
  });
}
void grid_sample_backward(DType dtype, const Sampling& s, const void* grad, const void* places, const void* images, ptrdiff_t first,
                          ptrdiff_t last, void* to_images, void* to_places) {
  float_or_double(dtype, [&]<class T>() {
    grid_sample_backward_of(s, static_cast<const T*>(grad), static_cast<const T*>(places), static_cast<const T*>(images), first,
                            last, static_cast<T*>(to_images), static_cast<T*>(to_places));
  });
}

}  // namespace

void fill_sampling(DenseKernels& table) {
  table.grid_sample = grid_sample;
  table.grid_sample_backward = grid_sample_backward;
}

}  // namespace rushlight::RUSHLIGHT_ISA
