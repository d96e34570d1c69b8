// The tiles of tile.h: one function for each number of rows.
#include "kernels/isa/tile.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

template <class T, int MR, int NV, bool Packed>
void tile(const TileTask<T>& t) {
  using V = Vec<T>;
  V acc[MR][NV];
  const bool whole = t.width == NV * V::N;
  T edge[NV * V::N];
  T* c = t.c;
  if (t.accumulate && whole) {
#pragma GCC unroll 16
    for (int i = 0; i < MR; i++)
#pragma GCC unroll 4
      for (int j = 0; j < NV; j++) acc[i][j] = V::load(c + i * t.ldc + j * V::N);
  } else if (t.accumulate) {
#pragma GCC unroll 16
    for (int i = 0; i < MR; i++) {
      for (ptrdiff_t j = 0; j < NV * V::N; j++) edge[j] = j < t.width ? c[i * t.ldc + j] : T(0);
#pragma GCC unroll 4
      for (int j = 0; j < NV; j++) acc[i][j] = V::load(edge + j * V::N);
    }
  } else {
    V start[NV];
    for (ptrdiff_t j = 0; t.bias && j < NV * V::N; j++) edge[j] = j < t.width ? t.bias[j] : T(0);
#pragma GCC unroll 4
    for (int j = 0; j < NV; j++) start[j] = t.bias ? V::load(edge + j * V::N) : V::all(0);
#pragma GCC unroll 16
    for (int i = 0; i < MR; i++)
#pragma GCC unroll 4
      for (int j = 0; j < NV; j++) acc[i][j] = start[j];
  }
  const T* a = t.a;
  const T* b = t.b;
  const ptrdiff_t a_row = Packed ? 1 : t.a_row, a_column = Packed ? MR : t.a_column, ldb = t.ldb;
  for (ptrdiff_t k = t.depth; k > 0; k--, b += ldb, a += a_column) {
    V bk[NV];
#pragma GCC unroll 4
    for (int j = 0; j < NV; j++) bk[j] = V::load(b + j * V::N);
#pragma GCC unroll 16
    for (int i = 0; i < MR; i++) {
      const V x = V::all(a[i * a_row]);
#pragma GCC unroll 4
      for (int j = 0; j < NV; j++) acc[i][j] = fma(x, bk[j], acc[i][j]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < MR; i++) {
    if (whole) {
#pragma GCC unroll 4
      for (int j = 0; j < NV; j++) acc[i][j].store(c + i * t.ldc + j * V::N);
    } else {
#pragma GCC unroll 4
      for (int j = 0; j < NV; j++) acc[i][j].store(edge + j * V::N);
      for (ptrdiff_t j = 0; j < t.width; j++) c[i * t.ldc + j] = edge[j];
    }
  }
}

template <class T, int NV, bool Packed, int... I>
RUSHLIGHT_INLINE TileFunction<T> tile_among(int rows, std::integer_sequence<int, I...>) {
  static constexpr TileFunction<T> kAll[] = {tile<T, I + 1, NV, Packed>...};
  return kAll[rows - 1];
}

}  // namespace

template <class T>
TileFunction<T> tile_of(int rows, int vecs, bool packed) {
  constexpr std::make_integer_sequence<int, kTileRows> kRows{};
  if (vecs == 1) return packed ? tile_among<T, 1, true>(rows, kRows) : tile_among<T, 1, false>(rows, kRows);
  return packed ? tile_among<T, kTileVecs, true>(rows, kRows) : tile_among<T, kTileVecs, false>(rows, kRows);
}

template TileFunction<float> tile_of<float>(int, int, bool);
template TileFunction<double> tile_of<double>(int, int, bool);

}  // namespace rushlight::RUSHLIGHT_ISA
