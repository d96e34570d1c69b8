// Winograd's transforms in one dimension, of registers: of tiles of 2 outputs, then of 4. winograd.py has them as matrices.
#pragma once
#include "kernels/isa/dense_impl.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

template <class T>
RUSHLIGHT_INLINE void patch_transform(const Vec<T> (&d)[4], Vec<T> (&v)[4]) {
  v[0] = d[0] - d[2];
  v[1] = d[1] + d[2];
  v[2] = d[2] - d[1];
  v[3] = d[1] - d[3];
}
template <class T>
RUSHLIGHT_INLINE void product_transform(const Vec<T> (&m)[4], Vec<T> (&y)[2]) {
  y[0] = m[0] + m[1] + m[2];
  y[1] = m[1] - m[2] - m[3];
}
template <class T>
RUSHLIGHT_INLINE void gradient_transform(const Vec<T> (&g)[2], Vec<T> (&z)[4]) {
  z[0] = g[0];
  z[1] = g[0] + g[1];
  z[2] = g[0] - g[1];
  z[3] = Vec<T>::all(0) - g[1];
}
template <class T>
RUSHLIGHT_INLINE void kernel_transform(const Vec<T> (&w)[3], Vec<T> (&u)[4]) {
  const Vec<T> half = Vec<T>::all(T(0.5)), ends = w[0] + w[2];
  u[0] = w[0];
  u[1] = half * (ends + w[1]);
  u[2] = half * (ends - w[1]);
  u[3] = w[2];
}
template <class T>
RUSHLIGHT_INLINE void kernel_transposed(const Vec<T> (&s)[4], Vec<T> (&w)[3]) {
  const Vec<T> half = Vec<T>::all(T(0.5));
  w[0] = s[0] + half * (s[1] + s[2]);
  w[1] = half * (s[1] - s[2]);
  w[2] = half * (s[1] + s[2]) + s[3];
}

template <class T>
RUSHLIGHT_INLINE void patch_transform(const Vec<T> (&d)[6], Vec<T> (&v)[6]) {
  using V = Vec<T>;
  const V two = V::all(2), four = V::all(4), five = V::all(5);
  const V even = d[4] - four * d[2], odd = d[3] - four * d[1], even_2 = d[4] - d[2], odd_2 = two * (d[3] - d[1]);
  v[0] = four * d[0] - five * d[2] + d[4];
  v[1] = even + odd;
  v[2] = even - odd;
  v[3] = even_2 + odd_2;
  v[4] = even_2 - odd_2;
  v[5] = four * d[1] - five * d[3] + d[5];
}
template <class T>
RUSHLIGHT_INLINE void product_transform(const Vec<T> (&m)[6], Vec<T> (&y)[4]) {
  using V = Vec<T>;
  const V sum = m[1] + m[2], difference = m[1] - m[2], sum_2 = m[3] + m[4], difference_2 = m[3] - m[4];
  y[0] = m[0] + sum + sum_2;
  y[1] = difference + V::all(2) * difference_2;
  y[2] = sum + V::all(4) * sum_2;
  y[3] = difference + V::all(8) * difference_2 + m[5];
}
template <class T>
RUSHLIGHT_INLINE void gradient_transform(const Vec<T> (&g)[4], Vec<T> (&z)[6]) {
  using V = Vec<T>;
  const V even = g[0] + g[2], odd = g[1] + g[3];
  const V even_2 = g[0] + V::all(4) * g[2], odd_2 = V::all(2) * g[1] + V::all(8) * g[3];
  z[0] = g[0];
  z[1] = even + odd;
  z[2] = even - odd;
  z[3] = even_2 + odd_2;
  z[4] = even_2 - odd_2;
  z[5] = g[3];
}
template <class T>
RUSHLIGHT_INLINE void kernel_transform(const Vec<T> (&w)[3], Vec<T> (&u)[6]) {
  using V = Vec<T>;
  const V sixth = V::all(T(-1) / 6), ends = w[0] + w[2];
  const V ends_2 = V::all(T(1) / 24) * w[0] + V::all(T(1) / 6) * w[2], middle_2 = V::all(T(1) / 12) * w[1];
  u[0] = V::all(T(0.25)) * w[0];
  u[1] = sixth * (ends + w[1]);
  u[2] = sixth * (ends - w[1]);
  u[3] = ends_2 + middle_2;
  u[4] = ends_2 - middle_2;
  u[5] = w[2];
}
template <class T>
RUSHLIGHT_INLINE void kernel_transposed(const Vec<T> (&s)[6], Vec<T> (&w)[3]) {
  using V = Vec<T>;
  const V sixth = V::all(T(1) / 6), sum = sixth * (s[1] + s[2]), sum_2 = s[3] + s[4];
  w[0] = V::all(T(0.25)) * s[0] - sum + V::all(T(1) / 24) * sum_2;
  w[1] = sixth * (s[2] - s[1]) + V::all(T(1) / 12) * (s[3] - s[4]);
  w[2] = sixth * sum_2 - sum + s[5];
}

}  // namespace
}  // namespace rushlight::RUSHLIGHT_ISA
