// Sparse matrices: their products with dense ones, and their places put in order.
//
// These are bound by memory, so they are compiled once, not per instruction set.
#pragma once
#include <vector>

#include "kernels/kernels.h"

namespace rushlight {

// Where the n values of a matrix stand: of each its row and its column; where `compressed`, rows[r] and rows[r + 1] are instead the
// numbers of the first value of row r and of the one behind its last.
struct Entries {
  const void *rows, *columns;
  ptrdiff_t n, n_rows, n_columns;
  bool compressed;
  bool wide;  // numbers are int64, else int32
};

// The functions below know F32 and F64. They answer false where a place is outside of the matrix.

// out += the matrix, or the transposed one, times `dense` of rows of k numbers. A part of it: where parted_by_rows, of those rows of
// the result; else of those columns.
inline bool parted_by_rows(const Entries& at, bool transposed) { return at.compressed && !transposed; }
bool add_product(DType dtype, const Entries& at, bool transposed, const char* values, const char* dense, ptrdiff_t k, char* out,
                 ptrdiff_t begin, ptrdiff_t end);
// out[i] = the product of that row of x and that row of y which the row and the column of value i name; rows have k numbers.
bool dot_products(DType dtype, const Entries& at, const char* x, const char* y, ptrdiff_t k, char* out);
// The product of two compressed matrices, of int64 numbers: its values row by row and in order of the columns.
struct SparseProduct {
  std::vector<int64_t> rows, columns;
  std::vector<char> values;
};
bool multiply(DType dtype, const Entries& a, const char* a_values, const Entries& b, const char* b_values, SparseProduct& out);
// keys[i] = row * n_columns + column.
bool keys_of(const Entries& at, int64_t* keys);

// out[key] += value, of values of `width` numbers.
void add_at_keys(DType dtype, const int64_t* keys, ptrdiff_t n, const char* values, ptrdiff_t width, char* out);
// Sorts keys that are not negative, each with its place; equal ones stay in their order. spare: room for as many.
struct Keyed {
  int64_t key, place;
};
void sort_keys(Keyed* keys, Keyed* spare, ptrdiff_t n);
// Adds the values of equal keys, in that order; answers how many are different.
ptrdiff_t add_equal(DType dtype, const Keyed* keys, ptrdiff_t n, const char* values, ptrdiff_t width, char* out);

}  // namespace rushlight
