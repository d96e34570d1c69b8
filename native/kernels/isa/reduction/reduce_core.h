// Reduction of adjacent floating-point elements: several registers of partial results, halves combined pairwise beyond
// kReduceBlock elements, so that the rounding error of a sum grows with log n.
//
// An operation has first(x), what an element contributes; combine(a, b); and identity<T>(). Both take scalars and
// registers.
#pragma once
#include "kernels/isa/vec.h"

namespace rushlight::RUSHLIGHT_ISA {

constexpr ptrdiff_t kReduceBlock = 2048;

struct SumOp {
  template <class T>
  static RUSHLIGHT_INLINE T identity() {
    return T(0);
  }
  template <class V>
  RUSHLIGHT_INLINE V first(V x) const {
    return x;
  }
  template <class V>
  static RUSHLIGHT_INLINE V combine(V a, V b) {
    return a + b;
  }
};
struct ProdOp {
  template <class T>
  static RUSHLIGHT_INLINE T identity() {
    return T(1);
  }
  template <class V>
  RUSHLIGHT_INLINE V first(V x) const {
    return x;
  }
  template <class V>
  static RUSHLIGHT_INLINE V combine(V a, V b) {
    return a * b;
  }
};
struct MaxOp {
  template <class T>
  static RUSHLIGHT_INLINE T identity() {
    return -T(__builtin_inff());
  }
  template <class V>
  RUSHLIGHT_INLINE V first(V x) const {
    return x;
  }
  template <class V>
  static RUSHLIGHT_INLINE V combine(V a, V b) {
    return maximum(a, b);
  }
};
struct MinOp {
  template <class T>
  static RUSHLIGHT_INLINE T identity() {
    return T(__builtin_inff());
  }
  template <class V>
  RUSHLIGHT_INLINE V first(V x) const {
    return x;
  }
  template <class V>
  static RUSHLIGHT_INLINE V combine(V a, V b) {
    return minimum(a, b);
  }
};
struct SumSquaresOp {
  template <class T>
  static RUSHLIGHT_INLINE T identity() {
    return T(0);
  }
  template <class V>
  RUSHLIGHT_INLINE V first(V x) const {
    return x * x;
  }
  template <class V>
  static RUSHLIGHT_INLINE V combine(V a, V b) {
    return a + b;
  }
};

struct NanSumOp : SumOp {  // NaN counts for nothing
  template <class T>
  RUSHLIGHT_INLINE T first(T x) const {
    return number_or(x, T(0));
  }
  template <class T>
  RUSHLIGHT_INLINE Vec<T> first(Vec<T> x) const {
    return number_or(x, Vec<T>::all(T(0)));
  }
};

template <class Op, class T>
RUSHLIGHT_SHARED T reduce_adjacent(const Op op, const T* p, ptrdiff_t n) {
  using V = Vec<T>;
  if (n > kReduceBlock) {
    const ptrdiff_t left = (n / 2 + kReduceBlock - 1) / kReduceBlock * kReduceBlock;
    return Op::combine(reduce_adjacent(op, p, left), reduce_adjacent(op, p + left, n - left));
  }
  if (n < V::N) {
    if (n == 0) return Op::template identity<T>();
    T acc = op.first(p[0]);
    for (ptrdiff_t i = 1; i < n; i++) acc = Op::combine(acc, op.first(p[i]));
    return acc;
  }
  ptrdiff_t i = V::N;
  V a = op.first(V::load(p));
  if (n >= 4 * V::N) {
    V b = op.first(V::load(p + V::N)), c = op.first(V::load(p + 2 * V::N)), d = op.first(V::load(p + 3 * V::N));
    for (i = 4 * V::N; i + 4 * V::N <= n; i += 4 * V::N) {
      a = Op::combine(a, op.first(V::load(p + i)));
      b = Op::combine(b, op.first(V::load(p + i + V::N)));
      c = Op::combine(c, op.first(V::load(p + i + 2 * V::N)));
      d = Op::combine(d, op.first(V::load(p + i + 3 * V::N)));
    }
    a = Op::combine(Op::combine(a, b), Op::combine(c, d));
  }
  for (; i + V::N <= n; i += V::N) a = Op::combine(a, op.first(V::load(p + i)));
  T acc = horizontal(a, [](auto x, auto y) { return Op::combine(x, y); });
  for (; i < n; i++) acc = Op::combine(acc, op.first(p[i]));
  return acc;
}

}  // namespace rushlight::RUSHLIGHT_ISA
