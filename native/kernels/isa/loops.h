// From an op on one element (ops.h) to its BlockFn: the loops over contiguous elements.
//
// Compiled once per instruction set: everything here is local to the file that includes it.
#pragma once
#include <string.h>

#include "kernels/isa/elementwise/ops.h"
#include "kernels/isa/elementwise/pointwise.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

template <class Op>
concept Applies = requires(T x) { Op::apply(x, x, x); };
template <class Op>
concept Guarded = requires(T x) { Op::apply_far(x, x); };

template <class Op>
inline void loop(const T* a, [[maybe_unused]] const T* b, [[maybe_unused]] const T* c, T* out, ptrdiff_t n) {
  RUSHLIGHT_INDEPENDENT
  for (ptrdiff_t i = 0; i < n; ++i) out[i] = Op::apply(a[i], Op::arity >= 2 ? b[i] : T(), Op::arity >= 3 ? c[i] : T());
}

// A cache line of elements: a whole number of vectors in every instruction set.
constexpr ptrdiff_t kLine = 64 / static_cast<ptrdiff_t>(sizeof(T));

// For ops worth it: the last elements are done as a full line in a buffer, not one by one.
template <class Op>
inline void padded_loop(const T* a, const T* b, const T* c, T* out, ptrdiff_t n) {
  const ptrdiff_t whole = n & -kLine;
  loop<Op>(a, b, c, out, whole);
  const size_t rest = static_cast<size_t>(n - whole);
  if (rest == 0) return;
  alignas(64) T lines[Op::arity][kLine] = {};
  memcpy(lines[0], a + whole, rest * sizeof(T));
  if constexpr (Op::arity >= 2) memcpy(lines[1], b + whole, rest * sizeof(T));
  if constexpr (Op::arity >= 3) memcpy(lines[2], c + whole, rest * sizeof(T));
  loop<Op>(lines[0], lines[Op::arity >= 2 ? 1 : 0], lines[Op::arity >= 3 ? 2 : 0], lines[0], kLine);
  memcpy(out + whole, lines[0], rest * sizeof(T));
}

template <class Op>
inline bool all_fit(const T* a, [[maybe_unused]] const T* b, ptrdiff_t n) {
  int misfits = 0;
  for (ptrdiff_t i = 0; i < n; ++i) misfits |= Op::fits(a[i], Op::arity >= 2 ? b[i] : T()) ? 0 : 1;
  return misfits == 0;
}

// flatten: the whole of apply is inlined, however long; a call left in a loop would keep it from vectorising.
template <class Op>
[[gnu::flatten]] void run_block(const void* a_, const void* b_, const void* c_, void* out_, ptrdiff_t n) {
  const T* a = static_cast<const T*>(a_);
  const T* b = static_cast<const T*>(b_);
  const T* c = static_cast<const T*>(c_);
  T* out = static_cast<T*>(out_);
  if constexpr (Guarded<Op>) {
    constexpr ptrdiff_t kStretch = 512;
    for (ptrdiff_t i = 0; i < n; i += kStretch) {
      const ptrdiff_t count = n - i < kStretch ? n - i : kStretch;
      const T* right = Op::arity >= 2 ? b + i : nullptr;
      if (all_fit<Op>(a + i, right, count)) {
        padded_loop<Op>(a + i, right, nullptr, out + i, count);
      } else {
        for (ptrdiff_t j = 0; j < count; ++j) {
          const T x = a[i + j], y = Op::arity >= 2 ? right[j] : T();
          out[i + j] = Op::fits(x, y) ? Op::apply(x, y, 0) : Op::apply_far(x, y);
        }
      }
    }
  } else if constexpr (Op::cost == kVector) {
    padded_loop<Op>(a, b, c, out, n);
  } else {
    loop<Op>(a, b, c, out, n);
  }
}

template <class Op>
constexpr BlockOp block_op() {
  if constexpr (Applies<Op>) {
    return {run_block<Op>, Op::cost};
  } else {
    return {};
  }
}

// The block functions of all ops, by op number.
constexpr BlockOp kOps[] = {
#define OP(name, ...) block_op<math::name>(),
#include "kernels/isa/elementwise/ops.def"
};

}  // namespace
}  // namespace rushlight::RUSHLIGHT_ISA
