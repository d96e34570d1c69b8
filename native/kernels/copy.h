// Copies between layouts and element types. Compiled once: memory sets its pace.
#pragma once
#include "kernels/kernels.h"

namespace rushlight {

// to[...] = from[...] over `shape`; strides in bytes, 0 in `from` where it is broadcast. The two must not overlap, unless they are the
// same. Conversions are C's; a complex number loses its imaginary part, whatever is not zero is true. Uses threads where it is large.
void copy_strided(DType to_type, char* to, const ptrdiff_t* to_strides, DType from_type, const char* from,
                  const ptrdiff_t* from_strides, int ndim, const ptrdiff_t* shape);

// The conjugate (not of real numbers) or the negative of each element, into one block of contiguous elements.
void conjugate_elements(DType type, char* data, ptrdiff_t n);
void negate_elements(DType type, char* data, ptrdiff_t n);

// Rounds n numbers to halves, where the type is one of those: the steps of what PyTorch computes in halves.
void round_to(DType type, float* x, ptrdiff_t n);
inline void round_to(DType, double*, ptrdiff_t) {}

}  // namespace rushlight
