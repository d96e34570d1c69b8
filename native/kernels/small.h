// The table of the kernels of small matrices (isa/matrix/small.cpp).
//
// They are over `count` matrices of F32 or F64, of at most kSmallMatrix rows and columns, column by column, one behind the other, as
// lapack.h has them. `done`: for each matrix, whether it was computed.
#pragma once
#include "kernels/dense.h"

namespace rushlight {

constexpr ptrdiff_t kSmallMatrix = 32;

// From matrix to matrix, row to row and column to column, in elements.
struct SmallSteps {
  ptrdiff_t matrix, row, column;
};
// One triangle of a matrix, with a diagonal of 1 where `unit`; then the other triangle of the matrix, whose diagonal is 1 where the
// first has none (Lu), or the same triangle turned round (Cholesky).
enum class Again : uint8_t { No, Lu, Cholesky };
struct SmallTriangle {
  bool upper, unit;
  Again again;
};

struct SmallKernels {
  ptrdiff_t bytes;  // of a register
  void (*lu)(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, void* a, int* pivots, int* info);
  // b (n x k, k at most kSmallMatrix) = the solution of a @ x = b.
  void (*solve)(DType dtype, ptrdiff_t count, ptrdiff_t n, ptrdiff_t k, const void* a, void* b, int* info);
  void (*cholesky)(DType dtype, ptrdiff_t count, ptrdiff_t n, void* a, bool upper, int* info);
  // The same of a triangle of a, or of one after the other, and any k.
  void (*triangle)(DType dtype, ptrdiff_t count, ptrdiff_t n, ptrdiff_t k, const void* a, const SmallSteps& a_steps,
                   SmallTriangle triangle, void* b, const SmallSteps& b_steps);
  void (*qr)(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, void* a, void* tau, bool* done);
  void (*reflections)(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, void* a, const void* tau);
  void (*eigh)(DType dtype, ptrdiff_t count, ptrdiff_t n, void* a, bool upper, bool vectors, void* values, bool* done);
  // u and vh both null, or with min(m, n) columns (rows).
  void (*svd)(DType dtype, ptrdiff_t count, ptrdiff_t m, ptrdiff_t n, void* a, void* u, void* s, void* vh, bool* done);
};

}  // namespace rushlight
