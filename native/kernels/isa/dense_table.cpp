// The DenseKernels table of one instruction set.
#include "kernels/isa/dense_impl.h"

#define RUSHLIGHT_TEXT(x) #x
#define RUSHLIGHT_NAME(x) RUSHLIGHT_TEXT(x)

namespace rushlight::RUSHLIGHT_ISA {

static DenseKernels make_table() {
  DenseKernels table{};
  table.isa = RUSHLIGHT_NAME(RUSHLIGHT_ISA);
  fill_reductions(table);
  fill_softmax(table);
  fill_norm(table);
  fill_batch_norm(table);
  fill_distances(table);
  fill_gemm(table);
  fill_gemm_integer(table);
  fill_attention(table);
  fill_planes(table);
  fill_conv_product(table);
  fill_conv_weight(table);
  fill_conv_direct(table);
  fill_recurrent(table);
  fill_pooling(table);
  fill_sampling(table);
  fill_winograd(table);
  fill_optimizers(table);
  fill_normals(table);
  fill_small(table);
  fill_fft(table);
  return table;
}

const DenseKernels& dense_table();
const DenseKernels& dense_table() {
  static const DenseKernels table = make_table();
  return table;
}

}  // namespace rushlight::RUSHLIGHT_ISA
