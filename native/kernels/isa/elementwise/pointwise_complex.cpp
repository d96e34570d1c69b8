// The pointwise ops for complex numbers: those lines of ops.def whose functions stand here. The C
// library's functions are PyTorch's.
#include <type_traits>

#include "kernels/isa/elementwise/pointwise.h"
#include "kernels/scans.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

float size_of(float x) { return __builtin_fabsf(x); }
double size_of(double x) { return __builtin_fabs(x); }

template <class R>
Complex<R> add(Complex<R> a, Complex<R> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class R>
Complex<R> sub(Complex<R> a, Complex<R> b) {
  return {a.re - b.re, a.im - b.im};
}
// The difference as a sum: a compiler that finds a difference beside a sum makes fused operations of them, and z times its
// conjugate would not be real.
template <class R>
Complex<R> mul(Complex<R> a, Complex<R> b) {
  constexpr BitsOf<R> sign = BitsOf<R>{1} << (8 * sizeof(R) - 1);
  const R minus = __builtin_bit_cast(R, __builtin_bit_cast(BitsOf<R>, a.im) ^ sign);
  return {a.re * b.re + minus * b.im, a.re * b.im + a.im * b.re};
}
template <class R>
Complex<R> negative(Complex<R> a) {
  return {-a.re, -a.im};
}
// After Smith, "Algorithm 116: Complex division" (1962), without branches.
template <class R>
Complex<R> over(Complex<R> a, Complex<R> b) {
  const bool wide = size_of(b.re) >= size_of(b.im), zero = (b.re == 0) & (b.im == 0);
  const R most = wide ? b.re : b.im, least = wide ? b.im : b.re, ratio = least / most;
  const R scale = R(1) / (most + least * ratio), by = R(1) / size_of(b.re);  // of 0: infinity
  const R x = wide ? a.re : a.im, y = wide ? a.im : a.re;  // over b.re: a; over b.im: a with its parts changed
  const R re = (x + y * ratio) * scale, im = (y - x * ratio) * scale;
  return {zero ? a.re * by : re, zero ? a.im * by : (wide ? im : -im)};
}
template <class R>
Complex<R> one_over(Complex<R> a) {
  return over({R(1), R(0)}, a);
}
// Of floats by their squares as doubles, which do not overflow.
template <class R>
Complex<R> sign_of(Complex<R> a) {
  if constexpr (sizeof(R) == 4) {
    const double re = a.re, im = a.im, size = __builtin_sqrt(re * re + im * im), by = size == 0 ? 1 : size;
    return {static_cast<R>(re / by), static_cast<R>(im / by)};
  } else {
    const R re = size_of(a.re), im = size_of(a.im), most = re > im ? re : im, least = re > im ? im : re;
    const R ratio = least / (most == 0 ? 1 : most), size = most * __builtin_sqrt(1 + ratio * ratio), by = size == 0 ? 1 : size;
    return {a.re / by, a.im / by};
  }
}
template <class R>
Complex<R> between(Complex<R> a, Complex<R> b, Complex<R> weight) {
  const bool near = weight.re * weight.re + weight.im * weight.im < R(0.25);
  const Complex<R> part{near ? weight.re : weight.re - 1, weight.im}, way = mul(part, sub(b, a));
  return {(near ? a.re : b.re) + way.re, (near ? a.im : b.im) + way.im};
}
template <class R>
Complex<R> nan_replaced(Complex<R> a, Complex<R> by, Complex<R> other) {
  return {a.re != a.re ? by.re : other.re, a.im != a.im ? by.re : other.im};
}
template <class R>
Complex<R> ends_replaced(Complex<R> a, Complex<R> above, Complex<R> below) {
  const auto part = [&](R x) {
    const R r = x == R(__builtin_inf()) ? above.re : x;
    return x == -R(__builtin_inf()) ? below.re : r;
  };
  return {part(a.re), part(a.im)};
}
template <class R>
bool is_true(Complex<R> a) {
  return (a.re != 0) | (a.im != 0);
}
template <class R>
bool is_same(Complex<R> a, Complex<R> b) {
  return (a.re == b.re) & (a.im == b.im);
}
template <class R>
bool is_nan(Complex<R> a) {
  return (a.re != a.re) | (a.im != a.im);
}
template <class R>
bool is_infinite(Complex<R> a) {
  constexpr R most = sizeof(R) == 4 ? R(3.40282346638528859812e+38) : R(1.7976931348623157e+308);
  return (size_of(a.re) > most) | (size_of(a.im) > most);
}
template <class R>
bool is_finite(Complex<R> a) {
  return !is_nan(a) & !is_infinite(a);
}

constexpr double kLog2 = 0.6931471805599453, kLog10 = 2.302585092994046;

// A number of the C library's, whose parts are in the same places.
template <class To, class From>
To as(From a) {
  return __builtin_bit_cast(To, a);
}
#define FUNCTION(name)                                                                                                           \
  inline Complex<float> own_##name(Complex<float> a) { return as<Complex<float>>(__builtin_c##name##f(as<_Complex float>(a))); } \
  inline Complex<double> own_##name(Complex<double> a) { return as<Complex<double>>(__builtin_c##name(as<_Complex double>(a))); }
FUNCTION(sqrt)
FUNCTION(exp)
FUNCTION(log)
FUNCTION(sin)
FUNCTION(cos)
FUNCTION(tan)
FUNCTION(asin)
FUNCTION(acos)
FUNCTION(atan)
FUNCTION(sinh)
FUNCTION(cosh)
FUNCTION(tanh)
FUNCTION(asinh)
FUNCTION(acosh)
FUNCTION(atanh)

// The others by these, of floats as doubles.
inline Complex<double> own_exp2(Complex<double> a) {
  return a.im == 0 ? Complex<double>{__builtin_exp2(a.re), a.im} : own_exp(Complex<double>{a.re * kLog2, a.im * kLog2});
}
inline Complex<double> own_expm1(Complex<double> a) {
  const double less = __builtin_expm1(a.re), sine = __builtin_sin(a.im), half = __builtin_sin(a.im * 0.5);
  const double size = a.re > -0.5 ? less + 1 : __builtin_exp(a.re);
  return {less * __builtin_cos(a.im) - 2 * half * half, a.im == 0 ? a.im : size * sine};
}
inline Complex<double> own_log1p(Complex<double> a) { return as<Complex<double>>(rushlight::log1p(as<std::complex<double>>(a))); }
inline Complex<double> log_over(Complex<double> a, double base) {
  const Complex<double> r = own_log(a);
  return {r.re / base, r.im / base};
}
inline Complex<double> own_log2(Complex<double> a) { return log_over(a, kLog2); }
inline Complex<double> own_log10(Complex<double> a) { return log_over(a, kLog10); }
inline Complex<double> sigmoid(Complex<double> a) {
  const Complex<double> e = own_exp(negative(a));
  return one_over(Complex<double>{1 + e.re, e.im});
}
inline Complex<double> power(Complex<double> a, Complex<double> b) {
  if ((b.re == 0) & (b.im == 0)) return {1, 0};
  const double none = __builtin_nan("");
  if (!is_true(a)) return b.re > 0 ? Complex<double>{0, 0} : Complex<double>{b.re < 0 ? __builtin_inf() : none, none};
  if (b.im != 0 || b.re != __builtin_floor(b.re) || size_of(b.re) >= 100) return own_exp(mul(b, own_log(a)));
  Complex<double> product{1, 0};
  for (int left = static_cast<int>(size_of(b.re)); left; left >>= 1, a = mul(a, a)) {
    if (left & 1) product = mul(product, a);
  }
  return b.re < 0 ? one_over(product) : product;
}
inline Complex<double> wide(Complex<float> a) { return {a.re, a.im}; }
inline Complex<float> narrow(Complex<double> a) { return {static_cast<float>(a.re), static_cast<float>(a.im)}; }
inline Complex<float> own_exp2(Complex<float> a) { return narrow(own_exp2(wide(a))); }
inline Complex<float> own_expm1(Complex<float> a) { return narrow(own_expm1(wide(a))); }
inline Complex<float> own_log1p(Complex<float> a) { return narrow(own_log1p(wide(a))); }
inline Complex<float> own_log2(Complex<float> a) { return narrow(own_log2(wide(a))); }
inline Complex<float> own_log10(Complex<float> a) { return narrow(own_log10(wide(a))); }
inline Complex<float> sigmoid(Complex<float> a) { return narrow(sigmoid(wide(a))); }
inline Complex<float> power(Complex<float> a, Complex<float> b) { return narrow(power(wide(a), wide(b))); }

template <class R>
Complex<R> log_add_exp(Complex<R> a, Complex<R> b) {
  return as<Complex<R>>(rushlight::log_add_exp(as<std::complex<R>>(a), as<std::complex<R>>(b)));
}

constexpr int Cheap = 2, Vector = 64, Library = 64, Wide = 64, Series = 64;
#define OWN(name) own_##name
#define TRUTH(condition) ((condition) ? T{1, 0} : T{0, 0})
#define Any(...) __VA_ARGS__
#define Field(...) __VA_ARGS__
#define Number(...)
#define Real(...)
#define Integer(...)
#define OP(name, count, spent, types, result)                                                                             \
  struct name {                                                                                                           \
    static constexpr int arity = count, cost = spent;                                                                     \
    types(                                                                                                                \
        template <class T>                                                                                                \
        static T apply(T a, [[maybe_unused]] T b, [[maybe_unused]] T c) requires requires { result; } { return result; }) \
  };
#include "kernels/isa/elementwise/ops.def"

template <class T, class Op>
void run_block(const void* a_, [[maybe_unused]] const void* b_, [[maybe_unused]] const void* c_, void* out_, ptrdiff_t n) {
  const T* a = static_cast<const T*>(a_);
  [[maybe_unused]] const T *b = static_cast<const T*>(b_), *c = static_cast<const T*>(c_);
  T* out = static_cast<T*>(out_);
  RUSHLIGHT_INDEPENDENT
  for (ptrdiff_t i = 0; i < n; ++i) out[i] = Op::apply(a[i], Op::arity >= 2 ? b[i] : T(), Op::arity >= 3 ? c[i] : T());
}

// Some operands are one element: those of the bits of `singles`, of which a is 0.
template <class T, class Op, int singles>
void run_beside(const void* a_, const void* b_, [[maybe_unused]] const void* c_, void* out_, ptrdiff_t n) {
  const T *a = static_cast<const T*>(a_), *b = static_cast<const T*>(b_);
  [[maybe_unused]] const T* c = static_cast<const T*>(c_);
  const T x = singles & 1 ? *a : T(), y = singles & 2 ? *b : T(), z = singles & 4 ? *c : T();
  T* out = static_cast<T*>(out_);
  RUSHLIGHT_INDEPENDENT
  for (ptrdiff_t i = 0; i < n; ++i)
    out[i] = Op::apply(singles & 1 ? x : a[i], singles & 2 ? y : b[i], Op::arity == 2 || singles & 4 ? z : c[i]);
}
// Of sums, products and arithmetic of three; a choice would become a branch.
template <class T, class Op>
constexpr BlockFn kBeside[8] = {};
template <class T, class Op>
  requires(Op::arity == 3 && !std::is_same_v<Op, op_where>)
constexpr BlockFn kBeside<T, Op>[8] = {
    nullptr, nullptr, run_beside<T, Op, 2>, nullptr, run_beside<T, Op, 4>, nullptr, run_beside<T, Op, 6>};
template <class T, class Op>
  requires(std::is_same_v<Op, op_add> || std::is_same_v<Op, op_sub> || std::is_same_v<Op, op_mul>)
constexpr BlockFn kBeside<T, Op>[8] = {nullptr, run_beside<T, Op, 1>, run_beside<T, Op, 2>};

template <class T, class Op>
constexpr BlockOp block_op() {
  if constexpr (requires(T x) { Op::apply(x, x, x); }) return {run_block<T, Op>, Op::cost, Op::arity, kBeside<T, Op>};
  else return {};
}
template <class T>
constexpr BlockOp kOps[] = {
#define OP(name, ...) block_op<T, name>(),
#include "kernels/isa/elementwise/ops.def"
};

}  // namespace

const BlockOp* complex_float_ops() { return kOps<Complex<float>>; }
const BlockOp* complex_double_ops() { return kOps<Complex<double>>; }

}  // namespace rushlight::RUSHLIGHT_ISA
