// Rows of patches: what some adjacent places of a result read at one kernel position.
#pragma once
#include "kernels/isa/dense_impl.h"

namespace rushlight::RUSHLIGHT_ISA {

// Adjacent places of one row: `count` elements of a plane at `from`, to element `to` of the row that is made.
struct Segment {
  ptrdiff_t from, to, count;
};

// Cuts the places [begin, begin + count) into segments, the first of them at element `to`; the number of segments.
inline int cut(const Grid& places, ptrdiff_t begin, ptrdiff_t count, ptrdiff_t from, ptrdiff_t to, Segment* segments) {
  int n = 0;
  ptrdiff_t row = begin / places.w, w = begin % places.w;
  while (count > 0) {
    const ptrdiff_t some = smaller(places.w - w, count);
    segments[n++] = {from + row / places.h * places.d_step + row % places.h * places.h_step + w, to, some};
    row++;
    w = 0;
    to += some;
    count -= some;
  }
  return n;
}

// The same for places of several images, image after image.
inline int cut_images(const Grid& places, ptrdiff_t planes_pitch, ptrdiff_t begin, ptrdiff_t count, Segment* segments) {
  const ptrdiff_t all = places.count();
  int n = 0;
  for (ptrdiff_t at = 0; at < count;) {
    const ptrdiff_t image = (begin + at) / all, place = (begin + at) % all, some = smaller(all - place, count - at);
    n += cut(places, place, some, image * planes_pitch, at, segments + n);
    at += some;
  }
  return n;
}

// Copies segments. With `spare` by whole registers: what runs over the end of one is overwritten by the next, and falls behind
// the row after the last.
template <class T>
RUSHLIGHT_INLINE void copy_segments(const T* plane, const Segment* segments, int n, bool spare, T* row) {
  using V = Vec<T>;
  for (int s = 0; s < n; s++) {
    const T* from = plane + segments[s].from;
    T* to = row + segments[s].to;
    const ptrdiff_t count = segments[s].count;
    ptrdiff_t i = 0;
    if (spare) {
      for (; i < count; i += V::N) V::load(from + i).store(to + i);
    } else {
      for (; i + V::N <= count; i += V::N) V::load(from + i).store(to + i);
      for (; i < count; i++) to[i] = from[i];
    }
  }
}

// x where the mask has all bits set, 0 where it has none: what is not a number there counts for nothing.
template <class T>
RUSHLIGHT_INLINE Vec<T> masked(Vec<T> x, const T* mask) {
#ifdef RUSHLIGHT_VECTOR_EXTENSION
  typedef BitsOf<T> Words __attribute__((vector_size(kVecBytes)));
  return {(typename Vec<T>::Raw)((Words)x.v & (Words)Vec<T>::load(mask).v)};
#else
  BitsOf<T> a[Vec<T>::N], b[Vec<T>::N];
  std::memcpy(a, &x, sizeof a);
  std::memcpy(b, mask, sizeof b);
  for (int i = 0; i < Vec<T>::N; i++) a[i] &= b[i];
  std::memcpy(&x, a, sizeof a);
  return x;
#endif
}

}  // namespace rushlight::RUSHLIGHT_ISA
