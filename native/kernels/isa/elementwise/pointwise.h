// Pointwise files of one instruction set: block functions by compute type, and conversions.
#pragma once
#include "kernels/isa/independent.h"
#include "kernels/kernels.h"

namespace rushlight::RUSHLIGHT_ISA {

struct BlockOp {
  BlockFn fn = nullptr;  // null: the op is not defined for this compute type
  int cost = 0;          // of an element, in units of an addition
  int arity = 0;
  const BlockFn* beside = nullptr;  // by which operands are one element (bit 0: a); null, and null in it: none
};
const BlockOp* float_ops();   // pointwise_float.cpp; indexed by op number
const BlockOp* double_ops();  // pointwise_double.cpp
const BlockOp* int_ops();     // pointwise_int.cpp
const BlockOp* complex_float_ops();  // pointwise_complex.cpp
const BlockOp* complex_double_ops();

template <class R>
struct Complex {
  R re, im;
};

// n elements `stride` bytes apart to contiguous ones of the compute type, and back.
using LoadFn = void (*)(const char* in, ptrdiff_t stride, void* out, ptrdiff_t n);
using StoreFn = void (*)(const void* in, char* out, ptrdiff_t stride, ptrdiff_t n);
// Real types have no load from complex ones, and store none; complex types store complex ones and Bool.
LoadFn load_function(DType from, DType compute);  // convert.cpp
StoreFn store_function(DType compute, DType to);
bool convert_adjacent(DType from, const void* in, DType to, void* out, ptrdiff_t n);
void pick(ptrdiff_t item, ptrdiff_t step, const char* in, char* out, ptrdiff_t n);

}  // namespace rushlight::RUSHLIGHT_ISA
