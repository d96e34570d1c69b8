// Products of float16 and bfloat16: the blocks of gemm.cpp with float32 sums, which the caller rounds once.
//
// Elements become float32 while they are packed. Where the processor multiplies bfloat16 itself (vdpbf16ps: two products and
// their sum in one instruction, twice the operations of float32), elements stay as they are and a step of k takes two: the
// panel holds pairs (b[k][j], b[k+1][j]), and a strip is read in pairs of its row.
#include "kernels/isa/elementwise/pointwise.h"
#include "kernels/isa/matrix/tile.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

constexpr ptrdiff_t kWidth = kTileWidth<float>;
constexpr ptrdiff_t kDepth = 256;

#if defined(__AVX512F__) && defined(__GNUC__)
#define RUSHLIGHT_PAIRS 1

template <int MR>
__attribute__((target("avx512bf16"))) void tile_of_pairs(ptrdiff_t pairs, const float* a, ptrdiff_t a_row, ptrdiff_t a_column,
                                                         const float* panel, const TileTask<float>& t) {
  using V = Vec<float>;
  V acc[MR][2];
#pragma GCC unroll 16
  for (int i = 0; i < MR; i++) acc[i][0] = acc[i][1] = V::all(0);
  for (ptrdiff_t k = 0; k < pairs; k++, panel += kWidth, a += a_column) {
    const __m512bh b0 = (__m512bh)V::load(panel).v, b1 = (__m512bh)V::load(panel + V::N).v;
#pragma GCC unroll 16
    for (int i = 0; i < MR; i++) {
      const __m512bh x = (__m512bh)_mm512_set1_ps(a[i * a_row]);
      acc[i][0].v = (V::Raw)_mm512_dpbf16_ps((__m512)acc[i][0].v, b0, x);
      acc[i][1].v = (V::Raw)_mm512_dpbf16_ps((__m512)acc[i][1].v, b1, x);
    }
  }
  float row[kWidth];
#pragma GCC unroll 16
  for (int i = 0; i < MR; i++) {
    float* c = t.c + i * t.ldc;
    const float* start = t.accumulate ? c : t.bias;
    if (t.width == kWidth) {
      (start ? acc[i][0] + V::load(start) : acc[i][0]).store(c);
      (start ? acc[i][1] + V::load(start + V::N) : acc[i][1]).store(c + V::N);
      continue;
    }
    acc[i][0].store(row);
    acc[i][1].store(row + V::N);
    for (ptrdiff_t j = 0; j < t.width; j++) c[j] = start ? row[j] + start[j] : row[j];
  }
}

template <int... I>
auto pairs_among(int rows, std::integer_sequence<int, I...>) {
  static constexpr decltype(&tile_of_pairs<1>) kAll[] = {tile_of_pairs<I + 1>...};
  return kAll[rows - 1];
}

bool multiplies_pairs(DType dtype) {
  static const bool can = __builtin_cpu_supports("avx512bf16");
  return can && dtype == DType::BF16;
}

// to[k / 2][j] = the pair (from(k, j), from(k + 1, j)), zero where k is past the end; `count` columns, rows of `padded` pairs.
void interleave_rows(const uint16_t* from, ptrdiff_t row, ptrdiff_t column, ptrdiff_t depth, ptrdiff_t count, ptrdiff_t padded,
                     uint32_t* to) {
  for (ptrdiff_t k = 0; k < depth; k += 2, from += 2 * row, to += padded) {
    const uint16_t* next = from + (k + 1 < depth ? row : 0);
    const uint32_t keep = k + 1 < depth ? 0xffff0000u : 0;
    if (column == 1)
      for (ptrdiff_t j = 0; j < count; j++) to[j] = from[j] | (static_cast<uint32_t>(next[j]) << 16 & keep);
    else
      for (ptrdiff_t j = 0; j < count; j++) to[j] = from[j * column] | (static_cast<uint32_t>(next[j * column]) << 16 & keep);
    for (ptrdiff_t j = count; j < padded; j++) to[j] = 0;
  }
}

// to[j][k] = from(k, j) for runs of adjacent k, an even number of them: the last is zero where the depth is odd.
void copy_runs(const uint16_t* from, ptrdiff_t column, ptrdiff_t depth, ptrdiff_t count, uint16_t* to) {
  const ptrdiff_t even = (depth + 1) / 2 * 2;
  for (ptrdiff_t j = 0; j < count; j++, to += even) {
    std::memcpy(to, from + j * column, static_cast<size_t>(depth) * sizeof(uint16_t));
    if (even > depth) to[depth] = 0;
  }
}

void pack_pairs(const uint16_t* b, ptrdiff_t row, ptrdiff_t column, ptrdiff_t depth, ptrdiff_t width, float* panel) {
  if (row != 1) return interleave_rows(b, row, column, depth, width, kWidth, reinterpret_cast<uint32_t*>(panel));
  const ptrdiff_t pairs = (depth + 1) / 2;
  alignas(64) float runs[kWidth * kDepth / 2];
  copy_runs(b, column, depth, width, reinterpret_cast<uint16_t*>(runs));
  pack_panel<float>(runs, 1, pairs, pairs, width, kWidth, panel);
}

void multiply_pairs(ptrdiff_t m, ptrdiff_t n, ptrdiff_t depth, const uint16_t* a, ptrdiff_t a_row, ptrdiff_t a_column,
                    const float* panels, TileTask<float> task) {
  const ptrdiff_t pairs = (depth + 1) / 2;
  alignas(64) float strip[kTileRows * kDepth / 2];
  const Strips strips(m);
  for (ptrdiff_t s = 0; s < strips.count; s++) {
    const int rows = strips.rows(s);
    const bool runs = a_column == 1;  // otherwise a pair of columns after the other
    if (runs) copy_runs(a, a_row, depth, rows, reinterpret_cast<uint16_t*>(strip));
    else interleave_rows(a, a_column, a_row, depth, rows, rows, reinterpret_cast<uint32_t*>(strip));
    TileTask<float> t = task;
    const auto tile = pairs_among(rows, std::make_integer_sequence<int, kTileRows>{});
    for (ptrdiff_t j = 0; j < n; j += kWidth, t.c += kWidth) {
      t.width = smaller(kWidth, n - j);
      tile(pairs, strip, runs ? pairs : 1, runs ? 1 : rows, panels + j * pairs, t);
      if (t.bias) t.bias += kWidth;
    }
    a += rows * a_row;
    task.c += rows * task.ldc;
  }
}
#endif

// `lines` runs of n elements as float32, one after the other; within a run and from run to run by these strides (in elements).
void widen(DType dtype, const uint16_t* from, ptrdiff_t lines, ptrdiff_t line, ptrdiff_t n, ptrdiff_t step, float* to) {
  const LoadFn load = load_function(dtype, DType::F32);
  constexpr ptrdiff_t kItem = sizeof(uint16_t);
  for (ptrdiff_t i = 0; i < lines; i++, to += n) load(reinterpret_cast<const char*>(from + i * line), step * kItem, to, n);
}

void pack_widened(DType dtype, const uint16_t* b, ptrdiff_t row, ptrdiff_t column, ptrdiff_t depth, ptrdiff_t width, float* panel) {
  alignas(64) float wide[kWidth * kDepth];
  if (column == 1) {
    widen(dtype, b, depth, row, width, 1, wide);
    pack_panel<float>(wide, width, 1, depth, width, kWidth, panel);
  } else {
    widen(dtype, b, width, column, depth, row, wide);
    pack_panel<float>(wide, 1, depth, depth, width, kWidth, panel);
  }
}

void multiply_widened(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t depth, const uint16_t* a, ptrdiff_t a_row,
                      ptrdiff_t a_column, const float* panels, TileTask<float> task) {
  alignas(64) float strip[kTileRows * kDepth];
  const Strips strips(m);
  for (ptrdiff_t s = 0; s < strips.count; s++) {
    const int rows = strips.rows(s);
    const bool packed = a_row == 1;
    if (packed) widen(dtype, a, depth, a_column, rows, 1, strip);
    else widen(dtype, a, rows, a_row, depth, a_column, strip);
    TileTask<float> t = task;
    t.depth = depth;
    t.a = strip;
    t.a_row = depth;
    t.a_column = 1;
    t.b = panels;
    t.ldb = kWidth;
    for (ptrdiff_t j = 0; j < n; j += kWidth, t.c += kWidth, t.b += depth * kWidth) {
      t.width = smaller(kWidth, n - j);
      tile_of<float>(rows, kTileVecs, packed)(t);
      if (t.bias) t.bias += kWidth;
    }
    a += rows * a_row;
    task.c += rows * task.ldc;
  }
}

// A matrix of `lines` by `depth`, times a column: to[i * step] = start + sum over k of m[i][k] * v[k]. Blocks of the matrix become
// float32, and are read along their longer side.
void multiply_vector(DType dtype, ptrdiff_t lines, ptrdiff_t depth, const uint16_t* m, ptrdiff_t line, ptrdiff_t column,
                     const uint16_t* v, ptrdiff_t v_step, const float* bias, ptrdiff_t bias_step, bool accumulate, float* to,
                     ptrdiff_t step) {
  constexpr ptrdiff_t kLong = 512, kShort = 16;
  alignas(64) float wide[kLong * kShort], vector[kLong];
  const bool rows = column == 1;
  const ptrdiff_t most_lines = rows ? kShort : kLong, most_depth = rows ? kLong : kShort;
  for (ptrdiff_t k = 0; k < depth; k += most_depth) {
    const ptrdiff_t some = smaller(most_depth, depth - k);
    widen(dtype, v + k * v_step, 1, 0, some, v_step, vector);
    for (ptrdiff_t i = 0; i < lines; i += most_lines) {
      const ptrdiff_t count = smaller(most_lines, lines - i);
      const uint16_t* from = m + i * line + k * column;
      float* out = to + i * step;
      if (k == 0 && !accumulate)
        for (ptrdiff_t l = 0; l < count; l++) out[l * step] = bias ? bias[(i + l) * bias_step] : 0.0f;
      if (rows) {
        widen(dtype, from, count, line, some, 1, wide);
        for (ptrdiff_t l = 0; l < count; l++) out[l * step] += dot(wide + l * some, vector, some);
      } else {
        widen(dtype, from, some, column, count, 1, wide);
        combine_rows(count, some, vector, 1, wide, count, out);
      }
    }
  }
}

}  // namespace

// Of a row or a column with a matrix that has adjacent elements one way.
bool half_vector_gemm(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const MatrixView& a, const MatrixView& b,
                      const void* bias, bool accumulate, void* c, ptrdiff_t ldc) {
  if (m != 1 && n != 1) return false;
  const bool row = m == 1;  // c is one
  const MatrixView matrix = row ? MatrixView{b.data, b.column, b.row} : a, vector = row ? MatrixView{a.data, a.column, 0} : b;
  const ptrdiff_t step = row ? 1 : ldc;
  if (matrix.column != 1 && (matrix.row != 1 || step != 1 || (bias && !row))) return false;
  multiply_vector(dtype, row ? n : m, k, static_cast<const uint16_t*>(matrix.data), matrix.row, matrix.column,
                  static_cast<const uint16_t*>(vector.data), vector.row, static_cast<const float*>(bias), row, accumulate,
                  static_cast<float*>(c), step);
  return true;
}

GemmBlocks half_gemm_blocks(ptrdiff_t n, ptrdiff_t k) {
  constexpr ptrdiff_t kPanels = 16;  // 512 KB of float32
  const ptrdiff_t slices = (k + kDepth - 1) / kDepth, panels = (n + kWidth - 1) / kWidth;
  const ptrdiff_t parts = (panels + kPanels - 1) / kPanels;
  const ptrdiff_t depth = ((k + slices - 1) / slices + 1) / 2 * 2;
  return {depth, (panels + parts - 1) / parts * kWidth, kWidth, kTileRows};
}

void pack_half_block(DType dtype, const MatrixView& b, ptrdiff_t depth, Band columns, void* panels) {
  const uint16_t* from = static_cast<const uint16_t*>(b.data);
  for (ptrdiff_t j = columns.from; j < columns.to; j += kWidth) {
    const ptrdiff_t width = smaller(kWidth, columns.to - j);
    float* to = static_cast<float*>(panels);
#ifdef RUSHLIGHT_PAIRS
    if (multiplies_pairs(dtype)) {
      pack_pairs(from + j * b.column, b.row, b.column, depth, width, to + j * ((depth + 1) / 2));
      continue;
    }
#endif
    pack_widened(dtype, from + j * b.column, b.row, b.column, depth, width, to + j * depth);
  }
}

void multiply_half_block(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t depth, const MatrixView& a, const void* panels,
                         const void* bias, bool accumulate, void* c, ptrdiff_t ldc) {
  const uint16_t* from = static_cast<const uint16_t*>(a.data);
  const float* packed = static_cast<const float*>(panels);
  TileTask<float> task{};
  task.bias = static_cast<const float*>(bias);
  task.accumulate = accumulate;
  task.c = static_cast<float*>(c);
  task.ldc = ldc;
#ifdef RUSHLIGHT_PAIRS
  if (multiplies_pairs(dtype)) return multiply_pairs(m, n, depth, from, a.row, a.column, packed, task);
#endif
  multiply_widened(dtype, m, n, depth, from, a.row, a.column, packed, task);
}

}  // namespace rushlight::RUSHLIGHT_ISA
