// Pointwise programs as data: one kernel for each type that is computed in interprets all of them.
//
// A work item does BLOCK neighbouring elements, one instruction over all of them at a time. The instructions are those of ops.def,
// and the struct Call is that of accelerator_call.h. Strides are in bytes. A program's own kernel (programs.py) is made with OWN_KERNEL.
#ifndef __CUDACC__
#pragma OPENCL FP_CONTRACT OFF  // so that a program gives the same bits interpreted and compiled
#endif

#ifdef REAL
#include "elementary.cl"
#include "special.h"
#include "series.h"
#endif
#include "arithmetic.h"
#ifdef WARPS
#include "vectors.cl"
#endif

#define OP(name, arity, cost, types, result) types(FUNCTION T name(T a, T b, T c) { return (T)(result); })
#include "ops.def"

#define POINTWISE_PARAMETERS                                                                                           \
  GIVEN Call call, GLOBAL const int *code, GLOBAL const T *constants, GLOBAL u8 *out, GLOBAL const u8 *in0,                  \
      GLOBAL const u8 *in1, GLOBAL const u8 *in2, GLOBAL const u8 *in3, GLOBAL const u8 *in4, GLOBAL const u8 *in5,    \
      GLOBAL const u8 *in6, GLOBAL const u8 *in7
#define SCALAR_OF(call, k) (*(const T *)&call.scalars[k])

#ifndef OWN_KERNEL
enum Instruction {
#define OP(name, ...) NUMBER_##name,
#include "ops.def"
};

KERNEL pointwise(POINTWISE_PARAMETERS) {
  const i64 first = ITEM * BLOCK;
  if (first >= call.count) return;
  const int filled = call.count - first < BLOCK ? (int)(call.count - first) : BLOCK;
  T r[REGISTERS][BLOCK];
  i64 targets[BLOCK];
  for (int i = 0; i < filled; ++i) {
    i64 left = first + i, places[INPUTS];
    i64 target = call.out_place;
    for (int k = 0; k < INPUTS; ++k) places[k] = call.places[k];
    for (int d = call.ndim - 1; d >= 0; --d) {
      const i64 next = quotient(left, call.sizes[d]), at = left - next * call.sizes[d];
      left = next;
      target += at * call.out_strides[d];
      for (int k = 0; k < call.n_inputs; ++k) places[k] += at * call.strides[k][d];
    }
    targets[i] = target;
#define READ(k)                                                                                    \
  if (k < call.n_inputs)                                                                           \
    r[k][i] = call.types[k] == SCALAR ? SCALAR_OF(call, k) : load(in##k, places[k], call.types[k]);
    READ(0) READ(1) READ(2) READ(3) READ(4) READ(5) READ(6) READ(7)
  }
  for (int k = 0; k < call.n_constants; ++k) {
    for (int i = 0; i < BLOCK; ++i) r[call.n_inputs + k][i] = constants[k];
  }
  for (int k = 0; k < call.n_instructions; ++k) {
    const T *A = r[code[5 * k + 2]], *B = r[code[5 * k + 3]], *C = r[code[5 * k + 4]];
    T *D = r[code[5 * k + 1]];
    switch (code[5 * k]) {
#define OP(name, arity, cost, types, result)                                  \
  types(case NUMBER_##name:                                                   \
          for (int i = 0; i < BLOCK; ++i) D[i] = name(A[i], B[i], C[i]); break;)
#include "ops.def"
    }
  }
  for (int i = 0; i < filled; ++i) store(out, targets[i], call.out_type, r[call.result][i]);
}
#endif
