// The pointwise ops of cost Series: one element after another, in double.
#include <cmath>

#include "kernels/kernels.h"

namespace rushlight {
namespace {
namespace series {

using i64 = int64_t;
using u64 = uint64_t;
using W = double;
using T = double;
using std::acos, std::ceil, std::copysign, std::cos, std::cosh, std::exp, std::expm1, std::fabs, std::floor, std::fmod, std::log,
    std::log1p, std::pow, std::sin, std::sinh, std::sqrt, std::trunc;
constexpr double INFINITE = __builtin_huge_val(), NOT_A_NUMBER = __builtin_nan("");
double rint(double x) { return std::nearbyint(x); }
double madd(double a, double b, double c) { return a * b + c; }

#define FUNCTION inline
#define CLEAR_OF_CALLERS
#define RUSHLIGHT_NO_FMA 1
#include "kernels/isa/elementwise/special.h"
#include "kernels/isa/elementwise/series.h"

enum Number {
#define OP(name, ...) NUMBER_##name,
#include "kernels/isa/elementwise/ops.def"
};

template <class F>
void each(const double* a, const double* b, double* out, ptrdiff_t n, F f) {
  for (ptrdiff_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
}

}  // namespace series
}  // namespace

void run_series(int op, const double* a_, const double* b_, double* out, ptrdiff_t n) {
  using namespace series;
  switch (op) {
#define ROW_Cheap(...)
#define ROW_Vector(...)
#define ROW_Library(...)
#define ROW_Wide(...)
#define ROW_Series(name, result) \
  case NUMBER_##name: return each(a_, b_, out, n, [](double a, double b) { return result; });
#define OP(name, arity, cost, types, ...) ROW_##cost(name, (__VA_ARGS__))
#include "kernels/isa/elementwise/ops.def"
  }
}

}  // namespace rushlight
