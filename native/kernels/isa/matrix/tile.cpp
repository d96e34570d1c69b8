// The tiles of tile.h, one function for each number of rows, and the packing of their operands.
#include "kernels/isa/matrix/tile.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

template <class T, int MR, int NV, bool Packed>
void tile(const TileTask<T>& t) {
  using V = Vec<T>;
  V acc[MR][NV];
#pragma GCC unroll 16
  for (int i = 0; i < MR; i++)
#pragma GCC unroll 4
    for (int j = 0; j < NV; j++) acc[i][j] = V::all(0);
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
  const bool whole = t.width == NV * V::N;
#pragma GCC unroll 16
  for (int i = 0; i < MR; i++) {
    T* c = t.c + i * t.ldc;
    const T* start = t.accumulate ? c : t.bias;
#pragma GCC unroll 4
    for (int j = 0; j < NV; j++) {
      const ptrdiff_t at = j * V::N;
      if (whole) (start ? acc[i][j] + V::load(start + at) : acc[i][j]).store(c + at);
      else if (at < t.width) store_some(start ? acc[i][j] + load_some(start + at, t.width - at) : acc[i][j], c + at, t.width - at);
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

// A square of registers at a time where the elements of a column are adjacent.
template <class T>
void pack_panel(const T* b, ptrdiff_t row, ptrdiff_t column, ptrdiff_t depth, ptrdiff_t width, ptrdiff_t padded, T* panel) {
  using V = Vec<T>;
  constexpr int N = V::N;
  ptrdiff_t k = 0;
  if (column == 1) {
    for (; k < depth; k++, b += row, panel += padded) {
      ptrdiff_t j = 0;
      for (; j + N <= width; j += N) V::load(b + j).store(panel + j);
      for (; j < padded; j += N) (j < width ? load_some(b + j, width - j) : V::all(0)).store(panel + j);
    }
    return;
  }
#ifdef RUSHLIGHT_SHUFFLES
  if (row == 1) {
    for (; k + N <= depth; k += N)
      for (ptrdiff_t j = 0; j < padded; j += N) {
        V rows[N];
        for (int i = 0; i < N; i++) rows[i] = j + i < width ? V::load(b + (j + i) * column + k) : V::all(0);
        transpose_square(rows);
        for (int i = 0; i < N; i++) rows[i].store(panel + (k + i) * padded + j);
      }
  }
#endif
  for (; k < depth; k++)
    for (ptrdiff_t j = 0; j < padded; j++) panel[k * padded + j] = j < width ? b[k * row + j * column] : T(0);
}

namespace {

template <class T, int R>
void pack_adjacent(ptrdiff_t depth, const T* a, ptrdiff_t a_column, T* strip) {
  for (ptrdiff_t k = 0; k < depth; k++) std::memcpy(strip + k * R, a + k * a_column, R * sizeof(T));
}

template <class T, int... I>
RUSHLIGHT_INLINE auto adjacent_among(int rows, std::integer_sequence<int, I...>) {
  static constexpr decltype(&pack_adjacent<T, 1>) kAll[] = {pack_adjacent<T, I + 1>...};
  return kAll[rows - 1];
}

}  // namespace

// Rows of adjacent elements go through squares of registers. A register that is stored is wider than the rows are many, and
// the next one overwrites what was too much; so the rows from N on come first, and the end is stored element by element.
template <class T>
void pack_strip(int rows, ptrdiff_t depth, const T* a, ptrdiff_t a_row, ptrdiff_t a_column, T* strip) {
  if (a_row == 1) return adjacent_among<T>(rows, std::make_integer_sequence<int, kTileRows>{})(depth, a, a_column, strip);
  ptrdiff_t k = 0;
#ifdef RUSHLIGHT_SHUFFLES
  using V = Vec<T>;
  constexpr int N = V::N;
  if (a_column == 1) {
    const ptrdiff_t end = rows * depth;
    for (; k + N <= depth; k += N)
      for (int first = (rows - 1) / N * N; first >= 0; first -= N) {
        V square[N];
        for (int i = 0; i < N; i++) square[i] = first + i < rows ? V::load(a + (first + i) * a_row + k) : V::all(0);
        transpose_square(square);
        const int left = rows - first < N ? rows - first : N;
        for (int i = 0; i < N; i++) {
          T* to = strip + (k + i) * rows + first;
          if (to + N <= strip + end) square[i].store(to);
          else std::memcpy(to, &square[i].v, left * sizeof(T));
        }
      }
  }
#endif
  for (; k < depth; k++)
    for (int i = 0; i < rows; i++) strip[k * rows + i] = a[i * a_row + k * a_column];
}

template void pack_panel<float>(const float*, ptrdiff_t, ptrdiff_t, ptrdiff_t, ptrdiff_t, ptrdiff_t, float*);
template void pack_panel<double>(const double*, ptrdiff_t, ptrdiff_t, ptrdiff_t, ptrdiff_t, ptrdiff_t, double*);
template void pack_panel<uint32_t>(const uint32_t*, ptrdiff_t, ptrdiff_t, ptrdiff_t, ptrdiff_t, ptrdiff_t, uint32_t*);
template void pack_panel<uint64_t>(const uint64_t*, ptrdiff_t, ptrdiff_t, ptrdiff_t, ptrdiff_t, ptrdiff_t, uint64_t*);
template void pack_strip<float>(int, ptrdiff_t, const float*, ptrdiff_t, ptrdiff_t, float*);
template void pack_strip<double>(int, ptrdiff_t, const double*, ptrdiff_t, ptrdiff_t, double*);
template TileFunction<float> tile_of<float>(int, int, bool);
template TileFunction<double> tile_of<double>(int, int, bool);

}  // namespace rushlight::RUSHLIGHT_ISA
