// Arithmetic of adjacent complex numbers.
#include <cmath>

#include "kernels/kernels.h"

namespace rushlight {
namespace {

enum OpNumber : int {
#define OP(name, ...) name,
#include "kernels/isa/elementwise/ops.def"
};

template <class R>
struct Complex {
  R re, im;
};

// A quotient by the larger part of the divisor, so that no square overflows.
template <class R>
Complex<R> over(Complex<R> a, Complex<R> b) {
  const bool real = std::fabs(b.re) >= std::fabs(b.im);
  if (real && b.re == 0 && b.im == 0) return {a.re / std::fabs(b.re), a.im / std::fabs(b.re)};
  const R ratio = real ? b.im / b.re : b.re / b.im, scale = 1 / (real ? b.re + b.im * ratio : b.im + b.re * ratio);
  if (real) return {(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
  return {(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
}

template <class R, int op>
void block(const void* a_, const void* b_, const void*, void* out_, ptrdiff_t n) {
  using C = Complex<R>;
  const C *a = static_cast<const C*>(a_), *b = static_cast<const C*>(b_ ? b_ : a_);
  C* out = static_cast<C*>(out_);
  for (ptrdiff_t i = 0; i < n; i++) {
    const C x = a[i], y = b[i];
    if constexpr (op == op_add) out[i] = {x.re + y.re, x.im + y.im};
    else if constexpr (op == op_sub) out[i] = {x.re - y.re, x.im - y.im};
    else if constexpr (op == op_neg) out[i] = {-x.re, -x.im};
    else if constexpr (op == op_div) out[i] = over(x, y);
    else out[i] = {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
  }
}

template <class R>
BlockFn block_of(int op) {
  switch (op) {
    case op_add: return block<R, op_add>;
    case op_sub: return block<R, op_sub>;
    case op_neg: return block<R, op_neg>;
    case op_div: return block<R, op_div>;
    case op_mul:
    case op_square: return block<R, op_mul>;
    default: return nullptr;
  }
}

}  // namespace

BlockFn complex_block(int op, DType type) {
  return type == DType::C64 ? block_of<float>(op) : type == DType::C128 ? block_of<double>(op) : nullptr;
}

}  // namespace rushlight
