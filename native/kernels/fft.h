// Fourier transforms of lines of numbers that lie anywhere in memory.
//
// fft() cuts a transform into jobs of dense_kernels().fft (isa/spectral/fft.cpp), which does as many lines at a time as a register
// has lanes, in a scratch memory of rows: row k has the real and then the imaginary parts of element k of these lines. A length is
// done in steps, one for each of its factors. A long one is cut in two, n = a * b: lines of a elements, b apart, then lines of b.
// One with a large prime factor is a convolution with chirps (Bluestein), of a length that has no such factor.
#pragma once
#include "kernels/kernels.h"

namespace rushlight {

constexpr int kFftLargest = 89;  // the largest prime factor of a step
constexpr int kMaxFftDims = 64;

// How a length is done. All numbers are of the type computed in; complex ones are pairs.
struct FftSteps {
  ptrdiff_t n;
  int count;
  const int* factors;  // 2, 3, 4, 5, 8 or an odd number
  // For every step of length l and factor r: of odd r first cos and sin of 2 pi j k / r, for j and k in [1, r / 2]; then for j in
  // [1, l / r) and k in [1, r) the root exp(-2 pi i j k / l).
  const void* roots;
  const uint32_t* order;  // of 2n + 2: the row of result k (of k itself from n on)
  const uint32_t* turned;  // and of result -k
};

// Where the numbers of lines are: strides in bytes, the dimensions outermost first.
struct FftPlaces {
  char* data;
  ptrdiff_t step;  // from an element of a line to the next
  ptrdiff_t imaginary;  // from a real part to the imaginary one; 0 of real numbers
  ptrdiff_t lines[kMaxFftDims];
};

// A length n that has no steps of its own: rows times the chirp, filled up to steps.n, transformed, times the spectrum, transformed
// again, times the chirp.
struct FftConvolution {
  ptrdiff_t n;
  const void *chirp, *spectrum;  // of n and of steps.n numbers
  const uint32_t *order, *turned;  // as those of steps, after the second transform
};

// What is between a line's complex transform and its ends. Halves: of twice the length, of real numbers, whose pairs are taken as
// complex ones. Mirror: real numbers that are taken one by one.
enum class FftEnds : uint8_t { Whole, HalvesAfter, HalvesBefore, MirrorBefore };

struct FftJob {
  DType dtype;  // F32, F64
  FftSteps steps;
  FftConvolution convolution;  // n 0: none
  FftEnds ends;
  bool forward, folded;  // folded: number k is loaded with the conjugate of number -k, by halves
  double scale, edges;  // edges: a factor of the first number of a half and, of an even length, its last one
  ptrdiff_t loaded, stored;  // elements of a line that are read, and written
  const void* halves;  // HalvesAfter, HalvesBefore: -i exp(-2 pi i k / 2n) for k in [0, n / 2]
  // Of the first half of a long transform: result k of line j times exp(-2 pi i j k / length), as two factors: for every k a row for
  // the lanes, for every group of lines and k a number.
  const void *lane_roots, *group_roots;
  FftPlaces from, to;
  int ndim;
  ptrdiff_t shape[kMaxFftDims];
  ptrdiff_t run;  // groups of lines end where runs of so many do
  ptrdiff_t length() const { return convolution.n ? convolution.n : steps.n; }
  ptrdiff_t rows() const;  // of scratch memory
};

enum class FftKind : uint8_t { Complex, FromReal, ToReal };

// Lines of n elements; of a transform of real numbers the first n / 2 + 1, or all where `whole` (ToReal: of which the real part is
// wanted). The first of such a half and, of an even n, its last are multiplied by `edges`. Results may be in the place of the
// arguments if both lie alike. False where there is no memory.
struct Fft {
  DType dtype;
  FftKind kind;
  ptrdiff_t n;
  bool forward, whole;
  double scale, edges;
  FftPlaces from, to;
  int ndim;
  ptrdiff_t shape[kMaxFftDims];
};
bool fft(const Fft& call);

}  // namespace rushlight
