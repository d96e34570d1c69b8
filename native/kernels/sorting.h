// What the order of elements decides: sorting, selecting, the most frequent, distinct elements, places in sorted rows.
//
// Every element type is read as integers, its keys, which have the order of the elements: NaN is the largest, -0 is 0. Steps are in
// bytes. A function is false, or -1, where there is no memory.
#pragma once
#include <algorithm>

#include "kernels/kernels.h"

namespace rushlight {

// Element i of line j is at data + i * step + j * next.
struct Lines {
  const char* data;
  ptrdiff_t n, step, count, next;
};

// First: the first k in order. Kth: number k from 0. Medians: the lower one; where a Median meets NaN, the first of them. Mode: the most
// frequent, the smallest of several; the last of the equal ones.
enum class Choice : uint8_t { First, Kth, Median, NanMedian, Mode };

// Whether elements of a type have keys.
bool has_keys(DType dtype);
// The longest line that has numbers for its places; lines of 8 bytes an element have no limit.
constexpr ptrdiff_t kLongestLine = std::min<int64_t>(0xffffffff, PTRDIFF_MAX);

// places: of each line what was chosen, `k` for First and one else. Equal elements keep their order, also where it descends.
bool choose(DType dtype, Choice choice, ptrdiff_t k, bool descending, const Lines& lines, int64_t* places);
// Moves what stands at `m` places of each line, and the places, where `indices` is not null. Steps of the results as those of the lines.
struct Moved {
  char *values, *indices;
  ptrdiff_t value_step, value_next, index_step, index_next;
};
void move_chosen(DType dtype, const Lines& lines, const int64_t* places, ptrdiff_t m, const Moved& to);

// Of n rows of `width` adjacent elements the distinct ones, in order or as they come: `firsts` has the row of each, `counts` how many
// there are, `inverse` (of n) the number of each row; both may be null. A row with a NaN is like no other. Returns their number.
ptrdiff_t distinct(DType dtype, const char* data, ptrdiff_t n, ptrdiff_t width, bool in_order, int64_t* firsts, int64_t* counts,
                   int64_t* inverse);

// The places where values belong in a sorted row of n: before equal ones, or after them. `sorter`, or null: the row's order.
bool search(DType dtype, const char* row, const int64_t* sorter, ptrdiff_t n, const char* values, ptrdiff_t count, bool after,
            bool narrow, char* out);
// Whether each value is (or is not) among the n elements of a row; a NaN is in none.
bool among(DType dtype, const char* row, ptrdiff_t n, const char* values, ptrdiff_t count, bool invert, char* out);

}  // namespace rushlight
