// Functions of real numbers that arithmetic.h and its likes use and OpenCL C has not. C++ has its own (math_float.h, math_double.h).
#define exp_down exp
#define log1p_unit log1p

FUNCTION T sigmoid(T a) {
  const T e = exp(-fabs(a));
  return a >= 0 ? 1 / (1 + e) : e / (1 + e);
}
FUNCTION T normal_density(T a) { return (T)0.3989422804014327 * exp((T)-0.5 * (a * a)); }
FUNCTION T normal_below(T a) { return (T)0.5 * erfc(a * (T)-0.70710678118654752); }

// What special.h and series.h use.
#define madd fma
#define inverse_erf erf_inverse
#ifdef __CUDACC__
#define CLEAR_OF_CALLERS
#else
#define CLEAR_OF_CALLERS __attribute__((noinline))
#endif
#ifdef WIDE
typedef double W;
#else
typedef float W;
#endif
