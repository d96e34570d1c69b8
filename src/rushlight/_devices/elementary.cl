// Functions of real numbers that arithmetic.h and its likes use and OpenCL C has not. C++ has its own (math_float.h, math_double.h).
#define exp_down exp
#define log1p_unit log1p

FUNCTION T sigmoid(T a) {
  const T e = exp(-fabs(a));
  return a >= 0 ? 1 / (1 + e) : e / (1 + e);
}
FUNCTION T normal_density(T a) { return (T)0.3989422804014327 * exp((T)-0.5 * (a * a)); }
FUNCTION T normal_below(T a) { return (T)0.5 * erfc(a * (T)-0.70710678118654752); }

// After Giles, "Approximating the erfinv function" (2010), and two steps of Newton's method.
FUNCTION T inverse_erf(T a) {
  if (fabs(a) >= 1) return fabs(a) == 1 ? copysign((T)INFINITE, a) : (T)NOT_A_NUMBER;
  const T w = -log((1 - a) * (1 + a));
  T x;
  if (w < 5) {
    const T v = w - (T)2.5;
    x = (T)1.50140941 + v * ((T)0.246640727 + v * ((T)-0.00417768164 + v * ((T)-0.00125372503 + v * ((T)0.000218580870 +
        v * ((T)-4.39150654e-06 + v * ((T)-3.5233877e-06 + v * ((T)3.43273939e-07 + v * (T)2.81022636e-08)))))));
  } else {
    const T v = sqrt(w) - 3;
    x = (T)2.83297682 + v * ((T)1.00167406 + v * ((T)0.00943887047 + v * ((T)-0.0076224613 + v * ((T)0.00573950773 +
        v * ((T)-0.00367342844 + v * ((T)0.00134934322 + v * ((T)0.000100950558 + v * (T)-0.000200214257)))))));
  }
  // Near 1 the logarithms of 1 - erf are compared, which keep their digits.
  const T away = 1 - fabs(a);
  if (w >= 5) {
    for (int i = 0; i < 4; ++i) {
      const T rest = erfc(x);
      x += log(rest / away) * rest / ((T)1.1283791670955126 * exp(-x * x));
    }
    return copysign(x, a);
  }
  x *= a;
  for (int i = 0; i < 2 && x == x; ++i) x -= (erf(x) - a) / ((T)1.1283791670955126 * exp(-x * x));
  return x;
}

// By the recurrence up to 10, then Stirling's series; for numbers below 0 by the reflection.
FUNCTION T digamma(T a) {
  if (a == 0) return copysign((T)INFINITE, -a);
  T r = 0;
  if (a < 0) {
    if (a == floor(a)) return (T)NOT_A_NUMBER;
    const T rest = a - trunc(a);
    r = (T)-3.14159265358979324 / tan((T)3.14159265358979324 * rest);
    a = 1 - a;
  }
  for (; a < 10; a += 1) r -= 1 / a;
  if (a == 10) return r + (T)2.25175258906672110764743456134;
  const T z = 1 / (a * a);
  const T series = z * ((T)8.33333333333333333e-2 - z * ((T)8.33333333333333333e-3 - z * ((T)3.96825396825396825e-3 -
      z * ((T)4.16666666666666667e-3 - z * ((T)7.57575757575757576e-3 - z * ((T)2.10927960927960928e-2 -
      z * (T)8.33333333333333333e-2))))));
  return r + log(a) - (T)0.5 / a - series;
}
