// Convolution of groups of few channels (depthwise ones, and results of few channels), and the gradient of its weight.
//
// Sums stay in registers over the whole patch: a block of up to 4 results by 4 registers of adjacent places; nothing is
// packed. Where rows are short, blocks run over the planes' rows as if they were one: what they compute between the rows
// is left out afterwards. The gradient of the weight is a dot product for each result and element of the patch, 12 at a
// time. Floor: the bytes of the image and of the result; one load of a register for each of its multiplications.
#include "kernels/isa/patches.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

#if defined(__AVX512F__) || (defined(__ARM_NEON) && defined(__aarch64__))
constexpr int kBlockVecs = 4;  // of 32 registers
#else
constexpr int kBlockVecs = 2;  // of 16
#endif
constexpr int kLongBlock = 4;  // registers in a block of one result

// R registers of adjacent places of M results; `planes` is where the first place is.
template <int M, int R, class T>
RUSHLIGHT_INLINE void direct_block(const T* planes, const ptrdiff_t* offsets, ptrdiff_t depth, const T* filters, const T* bias,
                                   T* out, ptrdiff_t out_row) {
  using V = Vec<T>;
  V sums[M][R];
#pragma GCC unroll 4
  for (int m = 0; m < M; m++)
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) sums[m][r] = V::all(bias ? bias[m] : T(0));
  for (ptrdiff_t k = 0; k < depth; k++) {
    const T* from = planes + offsets[k];
    V x[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) x[r] = V::load(from + r * V::N);
#pragma GCC unroll 4
    for (int m = 0; m < M; m++) {
      const V factor = V::all(filters[m * depth + k]);
#pragma GCC unroll 4
      for (int r = 0; r < R; r++) sums[m][r] = fma(factor, x[r], sums[m][r]);
    }
  }
#pragma GCC unroll 4
  for (int m = 0; m < M; m++)
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) sums[m][r].store(out + m * out_row + r * V::N);
}

// n adjacent places. With `over` the last register may be written over the end; otherwise it begins where it ends with the
// row, which must be at least one register long: some places are computed twice.
template <int M, class T>
void direct_row(const T* planes, const Patch& patch, const T* filters, const T* bias, ptrdiff_t n, bool over, T* out,
                ptrdiff_t out_row) {
  constexpr int R = M == 1 ? kLongBlock : kBlockVecs;
  constexpr ptrdiff_t N = Vec<T>::N;
  ptrdiff_t i = 0;
  for (; i + R * N <= n; i += R * N) direct_block<M, R>(planes + i, patch.offsets, patch.depth, filters, bias, out + i, out_row);
  for (; i < n; i += N) {
    const ptrdiff_t at = over ? i : smaller(i, n - N);
    direct_block<M, 1>(planes + at, patch.offsets, patch.depth, filters, bias, out + at, out_row);
  }
}

// Rows are taken as one where they are shorter than this many registers.
constexpr ptrdiff_t kShort = 8;

// The elements of a slice of planes from the first place to the last.
ptrdiff_t slice_length(const Grid& p) { return (p.h - 1) * p.h_step + p.w; }

template <int M, class T>
void direct_rows(const Patch& patch, const T* filters, const T* bias, T* scratch, T* out, ptrdiff_t out_row) {
  const Grid& p = patch.places;
  const T* planes = static_cast<const T*>(patch.planes);
  const bool together = p.w < kShort * Vec<T>::N;
  const ptrdiff_t length = slice_length(p), pitch = length + Vec<T>::N;
  for (ptrdiff_t d = 0; d < p.d; d++, planes += p.d_step) {
    if (together) direct_row<M>(planes, patch, filters, bias, length, true, scratch, pitch);
    for (ptrdiff_t h = 0; h < p.h; h++, out += p.w) {
      if (!together) direct_row<M>(planes + h * p.h_step, patch, filters, bias, p.w, false, out, out_row);
      else
        for (int m = 0; m < M; m++)
          std::memcpy(out + m * out_row, scratch + m * pitch + h * p.h_step, static_cast<size_t>(p.w) * sizeof(T));
    }
  }
}

template <class T>
void conv_direct_of(const Patch& patch, const T* filters, const T* bias, ptrdiff_t rows, T* scratch, T* out, ptrdiff_t out_row) {
  while (rows > 0) {
    const ptrdiff_t m = rows >= 4 ? 4 : rows >= 2 ? 2 : 1;
    if (m == 4) direct_rows<4>(patch, filters, bias, scratch, out, out_row);
    else if (m == 2) direct_rows<2>(patch, filters, bias, scratch, out, out_row);
    else direct_rows<1>(patch, filters, bias, scratch, out, out_row);
    rows -= m;
    filters += m * patch.depth;
    if (bias) bias += m;
    out += m * out_row;
  }
}

template <class T>
struct WordOf;
template <>
struct WordOf<float> {
  using Word = uint32_t;
};
template <>
struct WordOf<double> {
  using Word = uint64_t;
};

// x where the mask has all bits set, 0 where it has none: what is not a number there counts for nothing.
template <class T>
RUSHLIGHT_INLINE Vec<T> masked(Vec<T> x, const T* mask) {
#ifdef RUSHLIGHT_VECTOR_EXTENSION
  using Word = typename WordOf<T>::Word;
  typedef Word Words __attribute__((vector_size(kVecBytes)));
  return {(typename Vec<T>::Raw)((Words)x.v & (Words)Vec<T>::load(mask).v)};
#else
  using Word = typename WordOf<T>::Word;
  Word a[Vec<T>::N], b[Vec<T>::N];
  std::memcpy(a, &x, sizeof a);
  std::memcpy(b, mask, sizeof b);
  for (int i = 0; i < Vec<T>::N; i++) a[i] &= b[i];
  std::memcpy(&x, a, sizeof a);
  return x;
#endif
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
#pragma GCC unroll 8
    for (int k = 0; k < K; k++) x[k] = masked(V::load(from[k] + i), inside + i);
#pragma GCC unroll 4
    for (int o = 0; o < O; o++) {
      const V g = V::load(grad + o * grad_row + i);
#pragma GCC unroll 8
      for (int k = 0; k < K; k++) acc[o][k] = fma(g, x[k], acc[o][k]);
    }
  }
  for (int o = 0; o < O; o++)
    for (int k = 0; k < K; k++) acc[o][k].store(sums + o * sums_row + k * V::N);
}

template <int O, int K, class T>
void dots_of(const Patch& patch, ptrdiff_t slice, const T* grad, ptrdiff_t grad_row, const T* inside, T* sums) {
  constexpr ptrdiff_t N = Vec<T>::N;
  const T* planes = static_cast<const T*>(patch.planes) + slice;
  const ptrdiff_t length = slice_length(patch.places), row = patch.depth * N;
  ptrdiff_t k = 0;
  for (; k + K <= patch.depth; k += K)
    dots_block<O, K>(planes, patch.offsets + k, grad, grad_row, inside, length, sums + k * N, row);
  for (; k < patch.depth; k++) dots_block<O, 1>(planes, patch.offsets + k, grad, grad_row, inside, length, sums + k * N, row);
}

template <class T>
void conv_dots_of(const Patch& patch, const T* grad, ptrdiff_t grad_row, ptrdiff_t grad_slice, ptrdiff_t outputs, const T* inside,
                  T* sums) {
  const ptrdiff_t step = patch.depth * Vec<T>::N;
  for (ptrdiff_t d = 0; d < patch.places.d; d++) {
    const ptrdiff_t slice = d * patch.places.d_step;
    const T* own = grad + d * grad_slice;
    ptrdiff_t o = 0;
    for (; o + 4 <= outputs; o += 4) dots_of<4, 3>(patch, slice, own + o * grad_row, grad_row, inside, sums + o * step);
    for (; o < outputs; o++) dots_of<1, 8>(patch, slice, own + o * grad_row, grad_row, inside, sums + o * step);
  }
}

void conv_direct(DType dtype, const Patch& patch, const void* filters, const void* bias, ptrdiff_t rows, void* scratch, void* out,
                 ptrdiff_t out_row) {
  float_or_double(dtype, [&]<class T>() {
    conv_direct_of(patch, static_cast<const T*>(filters), static_cast<const T*>(bias), rows, static_cast<T*>(scratch),
                   static_cast<T*>(out), out_row);
  });
}
void conv_dots(DType dtype, const Patch& patch, const void* grad, ptrdiff_t grad_row, ptrdiff_t grad_slice, ptrdiff_t outputs,
               const void* inside, void* sums) {
  float_or_double(dtype, [&]<class T>() {
    conv_dots_of(patch, static_cast<const T*>(grad), grad_row, grad_slice, outputs, static_cast<const T*>(inside),
                 static_cast<T*>(sums));
  });
}
void add_lanes(DType dtype, const void* sums, ptrdiff_t n, void* out) {
  float_or_double(dtype, [&]<class T>() {
    for (ptrdiff_t i = 0; i < n; i++)
      static_cast<T*>(out)[i] += horizontal_sum(Vec<T>::load(static_cast<const T*>(sums) + i * Vec<T>::N));
  });
}
ptrdiff_t conv_direct_scratch(const Grid& places, ptrdiff_t rows) {
  const ptrdiff_t m = smaller(rows, 4);
  return m * (slice_length(places) + Vec<float>::N);
}

}  // namespace

void fill_conv_direct(DenseKernels& table) {
  table.conv_direct = conv_direct;
  table.conv_direct_scratch = conv_direct_scratch;
  table.conv_dots = conv_dots;
  table.add_lanes = add_lanes;
  table.lane_bytes = kVecBytes;
}

}  // namespace rushlight::RUSHLIGHT_ISA
