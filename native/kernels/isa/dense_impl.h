// Common declarations of the dense table's files: entry points, gathered by dense_table.cpp, and
// dispatch over float types.
#pragma once
#include "kernels/dense.h"
#include "kernels/isa/independent.h"
#include "kernels/isa/vec.h"

namespace rushlight::RUSHLIGHT_ISA {

void fill_reductions(DenseKernels& table);
void fill_softmax(DenseKernels& table);
void fill_norm(DenseKernels& table);
void fill_batch_norm(DenseKernels& table);
void fill_distances(DenseKernels& table);
void fill_gemm(DenseKernels& table);
void fill_gemm_integer(DenseKernels& table);
void fill_attention(DenseKernels& table);
void fill_planes(DenseKernels& table);
void fill_conv_product(DenseKernels& table);
void fill_conv_weight(DenseKernels& table);
void fill_conv_direct(DenseKernels& table);
void fill_recurrent(DenseKernels& table);
void fill_pooling(DenseKernels& table);
void fill_sampling(DenseKernels& table);
void fill_winograd(DenseKernels& table);
void fill_optimizers(DenseKernels& table);
void fill_normals(DenseKernels& table);
void fill_small(DenseKernels& table);
void fill_fft(DenseKernels& table);

// Calls f.template operator()<float>() or <double>(): the bindings let no other type through.
template <class F>
RUSHLIGHT_INLINE void float_or_double(DType dtype, F f) {
  if (dtype == DType::F32) f.template operator()<float>();
  else f.template operator()<double>();
}

RUSHLIGHT_INLINE constexpr ptrdiff_t smaller(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }

RUSHLIGHT_INLINE float square_root(float x) { return __builtin_sqrtf(x); }
RUSHLIGHT_INLINE double square_root(double x) { return __builtin_sqrt(x); }

}  // namespace rushlight::RUSHLIGHT_ISA
