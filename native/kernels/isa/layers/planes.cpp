// Images laid out for convolutions: padded, and with a stride s in planes of every s-th element, so that what a kernel
// position sees along a row of results is adjacent. And back: results of every s-th place into their image.
//
// One pass over the memory. Floor: the bytes read and written; strides of 2 are taken apart in registers.
#include <utility>

#include "kernels/isa/layers/patches.h"
#include "kernels/isa/matrix/tile.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

#if defined(RUSHLIGHT_VECTOR_EXTENSION) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define RUSHLIGHT_TAKES_EVENS 1
template <class T, int... I>
RUSHLIGHT_INLINE Vec<T> evens(Vec<T> a, Vec<T> b, std::integer_sequence<int, I...>) {
  return {__builtin_shufflevector(a.v, b.v, (2 * I)...)};
}
#endif
#endif

// The positions i in [from, to) of a plane that are inside the image.
struct Inside {
  ptrdiff_t from, to;
  RUSHLIGHT_INLINE explicit Inside(const Axis& a) {
    from = a.first < 0 ? (-a.first + a.step - 1) / a.step : 0;
    to = a.first >= a.image ? 0 : (a.image - a.first + a.step - 1) / a.step;
    to = smaller(to, a.plane);
    if (to < 0) to = 0;
    from = smaller(from, to);
  }
};

// Whole registers are written, over the end too: what follows in a plane is written later, and behind a plane there is room.
template <class T>
RUSHLIGHT_INLINE void clear(T* to, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i += Vec<T>::N) Vec<T>::all(0).store(to + i);
}

// `end`: of the memory that may be read.
template <class T>
RUSHLIGHT_INLINE void take_row(const T* image, const T* end, const Axis& a, Inside in, T* row) {
  using V = Vec<T>;
  clear(row, in.from);
  const T* from = image + a.first + in.from * a.step;
  T* to = row + in.from;
  const ptrdiff_t n = in.to - in.from;
  ptrdiff_t i = 0;
  if (a.step == 1) {
    const ptrdiff_t readable = end - from;
    for (; i < n && i + V::N <= readable; i += V::N) V::load(from + i).store(to + i);
  }
#ifdef RUSHLIGHT_TAKES_EVENS
  if (a.step == 2) {
    const ptrdiff_t readable = end - from;
    for (; i < n && 2 * (i + V::N) <= readable; i += V::N)
      evens(V::load(from + 2 * i), V::load(from + 2 * i + V::N), std::make_integer_sequence<int, V::N>{}).store(to + i);
  }
#endif
  for (; i < n; i++) to[i] = from[i * a.step];
  clear(row + in.to, a.plane - in.to);
}

// Rows [j, to) of at most one register of adjacent elements: each is one load, with 0 where the mask has it. Returns the first
// row for which the register would lie over the end of the image.
template <class T>
RUSHLIGHT_INLINE ptrdiff_t take_short_rows(const T* image, const T* end, const Axis& h, const Axis& w, ptrdiff_t j, ptrdiff_t to,
                                           const T* mask, T* plane) {
  const T* from = image + (h.first + j * h.step) * w.image + w.first;
  for (; j < to && end - from >= Vec<T>::N; j++, from += h.step * w.image)
    masked(Vec<T>::load(from), mask).store(plane + j * w.plane);
  return j;
}

template <class T>
void lay_planes_of(const T* image, ptrdiff_t image_pitch, const Axis* axes, ptrdiff_t channels, T* planes, ptrdiff_t plane_pitch) {
  const Axis &d = axes[0], &h = axes[1], &w = axes[2];
  const Inside in_d(d), in_h(h), in_w(w);
  const ptrdiff_t slice = h.plane * w.plane;
  const bool narrow = w.step == 1 && w.plane <= Vec<T>::N;
  BitsOf<T> words[Vec<T>::N];
  for (ptrdiff_t i = 0; i < Vec<T>::N; i++) words[i] = i >= in_w.from && i < in_w.to ? ~BitsOf<T>{0} : 0;
  T mask[Vec<T>::N];
  std::memcpy(mask, words, sizeof mask);
  const T* begin = image;
  const T* end = image + (channels - 1) * image_pitch + d.image * h.image * w.image;
  for (ptrdiff_t c = 0; c < channels; c++, image += image_pitch, planes += plane_pitch) {
    T* to = planes;
    for (ptrdiff_t i = 0; i < d.plane; i++, to += slice) {
      if (i < in_d.from || i >= in_d.to) {
        clear(to, slice);
        continue;
      }
      const T* from = image + (d.first + i * d.step) * h.image * w.image;
      clear(to, in_h.from * w.plane);
      ptrdiff_t j = in_h.from;
      if (narrow) {
        for (; j < in_h.to && from + (h.first + j * h.step) * w.image + w.first < begin; j++)
          take_row(from + (h.first + j * h.step) * w.image, end, w, in_w, to + j * w.plane);
        j = take_short_rows(from, end, h, w, j, in_h.to, mask, to);
      }
      for (; j < in_h.to; j++) take_row(from + (h.first + j * h.step) * w.image, end, w, in_w, to + j * w.plane);
      clear(to + in_h.to * w.plane, (h.plane - in_h.to) * w.plane);
    }
  }
}

// The elements of row `index` of `beside` planes in turns; later planes may have one element less in a row.
template <class T>
RUSHLIGHT_INLINE void put_row(const T* planes, ptrdiff_t index, ptrdiff_t beside, ptrdiff_t pitch, const Axis& a, T* to) {
  ptrdiff_t done = 0;
#ifdef RUSHLIGHT_SHUFFLES
  using V = Vec<T>;
  if (beside == 2 && a.step == 2) {
    using Lanes = std::make_integer_sequence<int, V::N>;
    const T *first = planes + index * a.plane, *second = planes + pitch + index * (a.image / 2);
    for (; 2 * (done + V::N) <= a.image; done += V::N) {
      const V even = V::load(first + done), odd = V::load(second + done);
      interleave<T, 0>(even, odd, Lanes{}).store(to + 2 * done);
      interleave<T, V::N / 2>(even, odd, Lanes{}).store(to + 2 * done + V::N);
    }
  }
#endif
  if (beside == 1 && a.step == 1) {
    std::memcpy(to, planes + index * a.plane, static_cast<size_t>(a.plane) * sizeof(T));
    return;
  }
  for (ptrdiff_t r = 0; r < beside; r++) {
    const ptrdiff_t n = beside == 1 ? a.plane : (a.image - 1 - r) / a.step + 1;
    const T* from = planes + r * pitch + index * n;
    for (ptrdiff_t i = done; i < n; i++) to[r + i * a.step] = from[i];
  }
}

template <class T>
void put_planes_of(const T* planes, ptrdiff_t plane_pitch, const Axis* axes, ptrdiff_t beside, ptrdiff_t beside_pitch,
                   ptrdiff_t channels, T* image, ptrdiff_t image_pitch) {
  const Axis &d = axes[0], &h = axes[1], &w = axes[2];
  for (ptrdiff_t c = 0; c < channels; c++, image += image_pitch, planes += plane_pitch)
    for (ptrdiff_t i = 0; i < d.plane; i++)
      for (ptrdiff_t j = 0; j < h.plane; j++)
        put_row(planes, i * h.plane + j, beside, beside_pitch, w,
                image + ((d.first + i * d.step) * h.image + h.first + j * h.step) * w.image + w.first);
}

void lay_planes(DType dtype, const void* image, ptrdiff_t image_pitch, const Axis* axes, ptrdiff_t channels, void* planes,
                ptrdiff_t plane_pitch) {
  float_or_double(dtype, [&]<class T>() {
    lay_planes_of(static_cast<const T*>(image), image_pitch, axes, channels, static_cast<T*>(planes), plane_pitch);
  });
}
void put_planes(DType dtype, const void* planes, ptrdiff_t plane_pitch, const Axis* axes, ptrdiff_t beside, ptrdiff_t beside_pitch,
                ptrdiff_t channels, void* image, ptrdiff_t image_pitch) {
  float_or_double(dtype, [&]<class T>() {
    put_planes_of(static_cast<const T*>(planes), plane_pitch, axes, beside, beside_pitch, channels, static_cast<T*>(image),
                  image_pitch);
  });
}

}  // namespace

void fill_planes(DenseKernels& table) {
  table.lay_planes = lay_planes;
  table.put_planes = put_planes;
}

}  // namespace rushlight::RUSHLIGHT_ISA
