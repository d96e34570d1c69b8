// Moving elements by index: picking blocks out of an array, landing values in it, gather and scatter.
//
// These are bound by memory, so they are compiled once, not per instruction set. Offsets and strides are in bytes; the
// caller has checked every index.
#pragma once
#include "kernels/kernels.h"

namespace rushlight {

// How a value changes the element at its place.
enum class Land : uint8_t { Set, Add, Mul, Max, Min, Count };

// The places of an array that an index names. The array's dimensions are split: dimensions before
// the index (outer), indexed dimensions (`n` offsets), the rest (inner). Values: outer x n x inner.
struct Places {
  static constexpr int kMaxDims = 64;
  const ptrdiff_t* offsets = nullptr;
  ptrdiff_t n = 0;
  ptrdiff_t pitch = 0;  // from the values of one place to those of the next, where these are not all of inner; else 0
  int n_outer = 0, n_inner = 0;
  ptrdiff_t outer_shape[kMaxDims], outer_strides[kMaxDims], inner_shape[kMaxDims], inner_strides[kMaxDims];
};

// Whether every one of n indices lies in [0, size).
bool all_in_range(const int64_t* index, ptrdiff_t n, ptrdiff_t size);

// out = the elements at the places.
void take_places(DType dtype, const char* x, const Places& places, char* out);
// Values land on the places one after the other; `one` value lands on all of them. False where the type has no such
// landing.
bool land_places(DType dtype, Land land, char* x, const Places& places, const char* values, bool one);

// The `many` elements of the source, one after the other, at the places of n adjacent elements where the mask holds.
void scatter_masked(DType dtype, char* x, const uint8_t* mask, ptrdiff_t n, const char* source, ptrdiff_t many);

// gather and scatter: element c of the index names the element of x at c, but for `dim`, where it is index[c].
struct Picks {
  int ndim = 0, dim = 0;
  const ptrdiff_t* shape = nullptr;          // of the index
  const int64_t* index = nullptr;            // contiguous
  ptrdiff_t size = 0;                        // x's along `dim`; an index outside of it is passed over
  const ptrdiff_t* x_strides = nullptr;
  const ptrdiff_t* value_strides = nullptr;  // of the values (gather: of the result)
};

// False where an index is out of range: its element of out is not set then.
bool gather(DType dtype, const char* x, const Picks& picks, char* out);
// False where an index is out of range, or the type has no such landing.
bool scatter(DType dtype, Land land, char* x, const Picks& picks, const char* values);

}  // namespace rushlight
