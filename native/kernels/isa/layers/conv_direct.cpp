// Convolution with few filters a group (depthwise ones, results of few channels), and the gradient of its weight.
//
// Sums stay in registers over the whole patch: a block of up to kTileRows results by 2 registers of adjacent places (4 of one
// or two results), and nothing is packed: packing pays where each element is used by many filters. Where rows are short,
// blocks run over some of the planes' rows as if they were one; what they compute between the rows is left out afterwards.
// The gradient of the weight is a dot product for each result and element of the patch, 12 at a time. Floor: the bytes of
// the image and of the result, or the operations over the peak.
#include <utility>

#include "kernels/isa/layers/patches.h"
#include "kernels/isa/matrix/tile.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

// R registers of adjacent places of M results; `planes` is where the first place is.
template <int M, int R, class T>
RUSHLIGHT_INLINE void direct_block(const T* planes, const ptrdiff_t* offsets, ptrdiff_t depth, const T* packed, T* out,
                                   ptrdiff_t out_row) {
  using V = Vec<T>;
  V sums[M][R];
  const bool bias = depth > 0 && offsets[0] < 0;
#pragma GCC unroll 16
  for (int m = 0; m < M; m++)
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) sums[m][r] = V::all(bias ? packed[m] : T(0));
  for (ptrdiff_t k = bias; k < depth; k++) {
    const T* from = planes + offsets[k];
    const T* filter = packed + k * M;
    V x[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) x[r] = V::load(from + r * V::N);
#pragma GCC unroll 16
    for (int m = 0; m < M; m++) {
      const V factor = V::all(filter[m]);
#pragma GCC unroll 4
      for (int r = 0; r < R; r++) sums[m][r] = fma(factor, x[r], sums[m][r]);
    }
  }
#pragma GCC unroll 16
  for (int m = 0; m < M; m++)
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) sums[m][r].store(out + m * out_row + r * V::N);
}

// Rows are taken together where they are shorter than kShort registers: as many as kTogether elements hold, at least one.
constexpr ptrdiff_t kShort = 8, kTogether = 2048;

// n adjacent places. With `over` the last block may be written over the end; otherwise the last
// block ends with the row (of at least kShort registers), and some places are computed twice.
template <int M, class T>
RUSHLIGHT_INLINE void direct_row(const T* planes, const Patch& patch, const T* packed, ptrdiff_t n, bool over, T* out,
                                 ptrdiff_t out_row) {
  constexpr int R = M <= 2 ? 4 : 2;
  constexpr ptrdiff_t N = Vec<T>::N;
  for (ptrdiff_t i = 0; i < n; i += R * N) {
    if (i + N >= n) {
      const ptrdiff_t at = over ? i : n - N;
      direct_block<M, 1>(planes + at, patch.offsets, patch.depth, packed, out + at, out_row);
    } else {
      const ptrdiff_t at = over ? i : smaller(i, n - R * N);
      direct_block<M, R>(planes + at, patch.offsets, patch.depth, packed, out + at, out_row);
    }
  }
}

template <class T>
struct DirectTask {
  Patch patch;
  const T* planes;
  const T* packed;
  T *scratch, *out;
  ptrdiff_t out_row;
};

ptrdiff_t rows_together(const Grid& p) {
  const ptrdiff_t rows = p.h_step > 0 ? kTogether / p.h_step : 1;
  return rows < 1 ? 1 : smaller(rows, p.h);
}
// The elements from the first place of some rows to the last one.
ptrdiff_t length_of(const Grid& p, ptrdiff_t rows) { return (rows - 1) * p.h_step + p.w; }

template <int M, class T>
void direct_rows(const DirectTask<T>& t) {
  const Grid& p = t.patch.places;
  T* out = t.out;
  if (p.w >= kShort * Vec<T>::N) {
    for (ptrdiff_t d = 0; d < p.d; d++)
      for (ptrdiff_t h = 0; h < p.h; h++, out += p.w)
        direct_row<M>(t.planes + d * p.d_step + h * p.h_step, t.patch, t.packed, p.w, false, out, t.out_row);
    return;
  }
  const ptrdiff_t together = rows_together(p), pitch = length_of(p, together) + 4 * Vec<T>::N;
  for (ptrdiff_t d = 0; d < p.d; d++)
    for (ptrdiff_t h = 0; h < p.h; h += together) {
      const ptrdiff_t rows = smaller(together, p.h - h);
      direct_row<M>(t.planes + d * p.d_step + h * p.h_step, t.patch, t.packed, length_of(p, rows), true, t.scratch, pitch);
      for (int m = 0; m < M; m++) {
        const T* from = t.scratch + m * pitch;
        T* to = out + m * t.out_row;
        for (ptrdiff_t row = 0; row < rows; row++, from += p.h_step, to += p.w) {
          // Whole registers, over the end of a row into the next ones, which are written later.
          const ptrdiff_t left = (rows - row) * p.w;
          ptrdiff_t i = 0;
          for (; i < p.w && i + Vec<T>::N <= left; i += Vec<T>::N) Vec<T>::load(from + i).store(to + i);
          for (; i < p.w; i++) to[i] = from[i];
        }
      }
      out += rows * p.w;
    }
}

template <class T, int... I>
RUSHLIGHT_INLINE void (*direct_among(int rows, std::integer_sequence<int, I...>))(const DirectTask<T>&) {
  static constexpr void (*kAll[])(const DirectTask<T>&) = {direct_rows<I + 1, T>...};
  return kAll[rows - 1];
}

template <class T>
void conv_direct_of(const Patch& patch, ptrdiff_t groups, ptrdiff_t planes_pitch, const T* packed, ptrdiff_t rows, T* scratch,
                    T* out, ptrdiff_t out_row) {
  const Strips strips(rows);
  for (ptrdiff_t g = 0; g < groups; g++)
    for (ptrdiff_t s = 0; s < strips.count; s++) {
      const int m = strips.rows(s);
      direct_among<T>(m, std::make_integer_sequence<int, kTileRows>{})(
          {patch, static_cast<const T*>(patch.planes) + g * planes_pitch, packed, scratch, out, out_row});
      packed += m * patch.depth;
      out += m * out_row;
    }
}

// The dot products of O gradients with K elements of the patch, over `length` adjacent elements.
template <int O, int K, class T>
void dots_block(const T* planes, const ptrdiff_t* offsets, const T* grad, ptrdiff_t grad_row, const T* inside, ptrdiff_t length,
                T* sums, ptrdiff_t sums_row) {
  using V = Vec<T>;
  V acc[O][K];
  const T* from[K];
  for (int k = 0; k < K; k++) from[k] = planes + offsets[k];
  for (int o = 0; o < O; o++)
    for (int k = 0; k < K; k++) acc[o][k] = V::load(sums + o * sums_row + k * V::N);
  for (ptrdiff_t i = 0; i < length; i += V::N) {
    V x[K];
#pragma GCC unroll 16
    for (int k = 0; k < K; k++) x[k] = masked(V::load(from[k] + i), inside + i);
#pragma GCC unroll 4
    for (int o = 0; o < O; o++) {
      const V g = V::load(grad + o * grad_row + i);
#pragma GCC unroll 16
      for (int k = 0; k < K; k++) acc[o][k] = fma(g, x[k], acc[o][k]);
    }
  }
  for (int o = 0; o < O; o++)
    for (int k = 0; k < K; k++) acc[o][k].store(sums + o * sums_row + k * V::N);
}

// All elements of the patch: most of them K at a time, then 3, then one.
template <int O, int K, class T>
void dots_of(const Patch& patch, const T* planes, const T* grad, ptrdiff_t grad_row, const T* inside, T* sums) {
  constexpr ptrdiff_t N = Vec<T>::N;
  const ptrdiff_t length = length_of(patch.places, patch.places.h), row = patch.depth * N;
  ptrdiff_t k = 0;
  for (; k + K <= patch.depth; k += K)
    dots_block<O, K>(planes, patch.offsets + k, grad, grad_row, inside, length, sums + k * N, row);
  for (; k + 3 <= patch.depth; k += 3)
    dots_block<O, 3>(planes, patch.offsets + k, grad, grad_row, inside, length, sums + k * N, row);
  for (; k < patch.depth; k++) dots_block<O, 1>(planes, patch.offsets + k, grad, grad_row, inside, length, sums + k * N, row);
}

template <class T>
void conv_dots_of(const Patch& patch, ptrdiff_t groups, ptrdiff_t planes_pitch, const T* grad, ptrdiff_t grad_row,
                  ptrdiff_t grad_slice, ptrdiff_t outputs, const T* inside, T* sums) {
  constexpr int kMany = kTileRows > 8 ? 6 : 3;  // with 4 outputs: 24 sums of 32 registers, or 12 of 16
  const ptrdiff_t step = patch.depth * Vec<T>::N;
  const T* planes = static_cast<const T*>(patch.planes);
  for (ptrdiff_t g = 0; g < groups; g++, planes += planes_pitch, grad += outputs * grad_row, sums += outputs * step)
    for (ptrdiff_t d = 0; d < patch.places.d; d++) {
      const T* from = planes + d * patch.places.d_step;
      const T* own = grad + d * grad_slice;
      ptrdiff_t o = 0;
      for (; o + 4 <= outputs; o += 4) dots_of<4, kMany>(patch, from, own + o * grad_row, grad_row, inside, sums + o * step);
      for (; o < outputs; o++) dots_of<1, 9>(patch, from, own + o * grad_row, grad_row, inside, sums + o * step);
    }
}

void conv_direct(DType dtype, const Patch& patch, ptrdiff_t groups, ptrdiff_t planes_pitch, const void* packed, ptrdiff_t rows,
                 void* scratch, void* out, ptrdiff_t out_row) {
  float_or_double(dtype, [&]<class T>() {
    conv_direct_of(patch, groups, planes_pitch, static_cast<const T*>(packed), rows, static_cast<T*>(scratch), static_cast<T*>(out),
                   out_row);
  });
}
void conv_dots(DType dtype, const Patch& patch, ptrdiff_t groups, ptrdiff_t planes_pitch, const void* grad, ptrdiff_t grad_row,
               ptrdiff_t grad_slice, ptrdiff_t outputs, const void* inside, void* sums) {
  float_or_double(dtype, [&]<class T>() {
    conv_dots_of(patch, groups, planes_pitch, static_cast<const T*>(grad), grad_row, grad_slice, outputs,
                 static_cast<const T*>(inside), static_cast<T*>(sums));
  });
}
void add_lanes(DType dtype, const void* sums, ptrdiff_t n, void* out) {
  float_or_double(dtype, [&]<class T>() {
    for (ptrdiff_t i = 0; i < n; i++)
      static_cast<T*>(out)[i] += horizontal_sum(Vec<T>::load(static_cast<const T*>(sums) + i * Vec<T>::N));
  });
}
// Whole squares of registers first.
template <class T>
void transpose_of(const T* in, ptrdiff_t rows, ptrdiff_t columns, T* out) {
  ptrdiff_t done_rows = 0, done_columns = 0;
#ifdef RUSHLIGHT_SHUFFLES
  constexpr int N = Vec<T>::N;
  done_rows = rows / N * N;
  done_columns = columns / N * N;
  for (ptrdiff_t i = 0; i < done_rows; i += N)
    for (ptrdiff_t j = 0; j < done_columns; j += N) {
      Vec<T> square[N];
      for (int r = 0; r < N; r++) square[r] = Vec<T>::load(in + (i + r) * columns + j);
      transpose_square(square);
      for (int r = 0; r < N; r++) square[r].store(out + (j + r) * rows + i);
    }
#endif
  for (ptrdiff_t i = 0; i < rows; i++)
    for (ptrdiff_t j = i < done_rows ? done_columns : 0; j < columns; j++) out[j * rows + i] = in[i * columns + j];
}

void transpose(DType dtype, const void* in, ptrdiff_t rows, ptrdiff_t columns, void* out) {
  float_or_double(dtype, [&]<class T>() { transpose_of(static_cast<const T*>(in), rows, columns, static_cast<T*>(out)); });
}
ptrdiff_t conv_direct_scratch(DType dtype, const Grid& places) {
  return kTileRows * (length_of(places, rows_together(places)) * item_size(dtype) + 4 * kVecBytes);
}

}  // namespace

void fill_conv_direct(DenseKernels& table) {
  table.conv_direct = conv_direct;
  table.conv_direct_scratch = conv_direct_scratch;
  table.conv_dots = conv_dots;
  table.add_lanes = add_lanes;
  table.transpose = transpose;
  table.lane_bytes = kVecBytes;
}

}  // namespace rushlight::RUSHLIGHT_ISA
