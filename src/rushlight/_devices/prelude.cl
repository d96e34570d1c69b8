// One text for OpenCL C (1.2 and later) and CUDA C: what the two call differently, and how elements are read and written.
//
// A kernel is KERNEL name(parameters), or KERNEL_OF(n) name(parameters) where groups have n work
// items and not GROUP. A tensor is two parameters, BUFFER(p): its memory, and where its first
// element lies in bytes. A struct is GIVEN, so that CUDA C makes no copy of the struct for each
// work item. A row of work items is as long as the host says; ITEM is the number of one. Kernels
// look themselves whether theirs is beyond the end, since rows are filled up to whole groups. Items
// of a group, MEMBER 0 to GROUP - 1 of group GROUP_NUMBER, share what is LOCAL, and wait for each
// other at a BARRIER that all of them reach.
//
// T is the type that a kernel computes in, named when the text is compiled: float, double or i64. WIDE says that double exists,
// TYPE_<name of the dtype> is the number of an element type.
#ifdef __CUDACC__
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;
typedef signed char i8;
#define KERNEL extern "C" __global__ void
#define KERNEL_OF(n) extern "C" __global__ void __launch_bounds__(n)
#ifdef HERE
#define GIVEN const
#else
#define GIVEN const __grid_constant__
#endif
#define GLOBAL
#define FUNCTION static __device__ inline
#define ITEM ((i64)blockIdx.x * blockDim.x + threadIdx.x)
#define GROUP_NUMBER ((i64)blockIdx.x)
#define MEMBER ((int)threadIdx.x)
#define LOCAL __shared__
#define BARRIER __syncthreads()
#define AS_FLOAT(bits) __uint_as_float(bits)
#define AS_BITS(value) __float_as_uint(value)
#define INFINITE __int_as_float(0x7f800000)
#define NOT_A_NUMBER __int_as_float(0x7fc00000)
#define EXCHANGE(p, value) atomicExch(p, value)
#else
#ifdef WIDE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
typedef long i64;
typedef ulong u64;
typedef uint u32;
typedef ushort u16;
typedef uchar u8;
typedef char i8;
#define KERNEL __kernel void
#define KERNEL_OF(n) __kernel __attribute__((reqd_work_group_size(n, 1, 1))) void
#define GIVEN const
#define GLOBAL __global
#define FUNCTION static
#define ITEM ((i64)get_global_id(0))
#define GROUP_NUMBER ((i64)get_group_id(0))
#define MEMBER ((int)get_local_id(0))
#define LOCAL __local
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define AS_FLOAT(bits) as_float(bits)
#define AS_BITS(value) as_uint(value)
#define INFINITE INFINITY
#define NOT_A_NUMBER NAN
#define EXCHANGE(p, value) atomic_xchg((volatile __global int *)(p), value)
#endif

#define BUFFER(p) GLOBAL u8 *p, i64 p##_at
#define OF(type, p) ((GLOBAL type *)(p + p##_at))

// a / b and a % b of numbers >= 0, which mostly fit into 32 bits: dividing those is several times faster.
FUNCTION i64 quotient(i64 a, i64 b) { return ((a | b) >> 32) == 0 ? (i64)((u32)a / (u32)b) : a / b; }
FUNCTION i64 rest_of(i64 a, i64 b) { return ((a | b) >> 32) == 0 ? (i64)((u32)a % (u32)b) : a % b; }

#include "accelerator_call.h"

// Bytes of an element.
#define SIZE(type)                                                                                       \
  ((type) == TYPE_INT64 || (type) == TYPE_FLOAT64 ? 8 : (type) == TYPE_INT32 || (type) == TYPE_FLOAT32 ? 4 : \
   (type) == TYPE_INT16 || (type) == TYPE_FLOAT16 || (type) == TYPE_BFLOAT16 ? 2 : 1)

#if defined(__CUDACC__) && !defined(HERE)
// By instructions of their own, to the nearest and of two as near the even one, as below.
FUNCTION float from_half(u16 bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
FUNCTION u16 to_half(float value) {
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
#else
FUNCTION float from_half(u16 bits) {
  const u32 sign = (u32)(bits & 0x8000) << 16, rest = bits & 0x7fff;
  if (rest >= 0x7c00) return AS_FLOAT(sign | 0x7f800000 | rest << 13);  // infinite, or no number
  if (rest >= 0x0400) return AS_FLOAT(sign | ((rest << 13) + (112u << 23)));
  const float small = (float)rest * 5.9604644775390625e-8f;
  return sign ? -small : small;
}

// To the nearest; of two as near, the even one.
FUNCTION u16 to_half(float value) {
  const u32 bits = AS_BITS(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  if (rest > 0x7f800000) return (u16)(sign | 0x7e00);
  if (rest >= 0x477ff000) return (u16)(sign | 0x7c00);
  if (rest >= 0x38800000) return (u16)(sign | ((rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13));
  const float shifted = AS_FLOAT(rest) + 0.5f;  // the last place of a number near 0.5 is that of the smallest halves
  return (u16)(sign | (AS_BITS(shifted) - 0x3f000000));
}
#endif

FUNCTION float from_bfloat(u16 bits) { return AS_FLOAT((u32)bits << 16); }

FUNCTION u16 to_bfloat(float value) {
#if defined(__CUDACC__) && !defined(HERE) && __CUDA_ARCH__ >= 800
  u16 nearest;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(nearest) : "f"(value));
  return nearest;
#else
  const u32 bits = AS_BITS(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return (u16)(bits >> 16 | 0x40);
  return (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#endif
}

// Of a number that a kernel cannot use: the host raises the first that was told when it next waits (accelerator_reports.cpp). A kernel
// has TELLS among its parameters for that.
#define TELLS BUFFER(told), i64 call
#define TELL(number, end)                                                                              \
  if (EXCHANGE((GLOBAL int *)(told + told_at), 1) == 0) {                                              \
    OF(i64, told)[1] = call, OF(i64, told)[2] = (number), OF(i64, told)[3] = (end);                    \
  }

// Columns that products of packed copies compute together: as many as processors add up at a time.
#define NAME_FOR_(head, type) head##type
#define NAME_FOR(head, type) NAME_FOR_(head, type)
#define BROAD_float 8
#define BROAD_double 4
#define BROAD_i64 4
#define BROAD NAME_FOR(BROAD_, T)

#ifdef T
// The element of a type at a place in bytes.
FUNCTION T load(GLOBAL const u8 *p, i64 at, int type) {
  GLOBAL const u8 *q = p + at;
  switch (type) {
    case TYPE_FLOAT32: return (T) * (GLOBAL const float *)q;
#ifdef WIDE
    case TYPE_FLOAT64: return (T) * (GLOBAL const double *)q;
#endif
    case TYPE_INT64: return (T) * (GLOBAL const i64 *)q;
    case TYPE_INT32: return (T) * (GLOBAL const int *)q;
    case TYPE_INT16: return (T) * (GLOBAL const short *)q;
    case TYPE_INT8: return (T) * (GLOBAL const i8 *)q;
    case TYPE_UINT8: return (T)*q;
    case TYPE_BOOL: return (T)(*q != 0);
    case TYPE_FLOAT16: return (T)from_half(*(GLOBAL const u16 *)q);
    default: return (T)from_bfloat(*(GLOBAL const u16 *)q);
  }
}

// A number beyond an integer's range becomes what the host's conversion through 64 bits makes of it.
FUNCTION void store(GLOBAL u8 *p, i64 at, int type, T value) {
  GLOBAL u8 *q = p + at;
  switch (type) {
    case TYPE_FLOAT32: *(GLOBAL float *)q = (float)value; return;
#ifdef WIDE
    case TYPE_FLOAT64: *(GLOBAL double *)q = (double)value; return;
#endif
    case TYPE_INT64: *(GLOBAL i64 *)q = (i64)value; return;
    case TYPE_INT32: *(GLOBAL int *)q = (int)(i64)value; return;
    case TYPE_INT16: *(GLOBAL short *)q = (short)(i64)value; return;
    case TYPE_INT8: *(GLOBAL i8 *)q = (i8)(i64)value; return;
    case TYPE_UINT8: *q = (u8)(i64)value; return;
    case TYPE_BOOL: *q = value != 0; return;
    case TYPE_FLOAT16: *(GLOBAL u16 *)q = to_half((float)value); return;
    default: *(GLOBAL u16 *)q = to_bfloat((float)value);
  }
}
#endif

// The place in bytes of element `index`, counted row by row.
FUNCTION i64 place_of(const Layout *l, i64 index) {
  i64 place = 0;
  for (i64 d = l->ndim - 1; d > 0; --d) {
    const i64 next = quotient(index, l->sizes[d]);
    place += (index - next * l->sizes[d]) * l->strides[d];
    index = next;
  }
  return l->ndim ? place + index * l->strides[0] : 0;
}

// Elements of 1, 2, 4, 8 or 16 bytes, whatever they mean.
FUNCTION void move(GLOBAL u8 *to, GLOBAL const u8 *from, i64 size) {
#ifdef __CUDACC__
  struct alignas(16) Whole { u64 low, high; };
  if (size == 16 && ((u64)to | (u64)from) % 16 == 0) {
    *(Whole *)to = *(const Whole *)from;
    return;
  }
#endif
  switch (size) {
    case 1: *to = *from; return;
    case 2: *(GLOBAL u16 *)to = *(GLOBAL const u16 *)from; return;
    case 4: *(GLOBAL u32 *)to = *(GLOBAL const u32 *)from; return;
    case 16: ((GLOBAL u64 *)to)[1] = ((GLOBAL const u64 *)from)[1];  // and the first half
    default: *(GLOBAL u64 *)to = *(GLOBAL const u64 *)from;
  }
}

FUNCTION void move_bits(GLOBAL u8 *to, u64 bits, i64 size) {
  switch (size) {
    case 1: *to = (u8)bits; return;
    case 2: *(GLOBAL u16 *)to = (u16)bits; return;
    case 4: *(GLOBAL u32 *)to = (u32)bits; return;
    case 16: ((GLOBAL u64 *)to)[1] = 0;  // and the first half
    default: *(GLOBAL u64 *)to = bits;
  }
}
