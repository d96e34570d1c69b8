// Special functions whose steps are as many as the arguments ask for, for every device, in the type W of special.h, which stands
// before this. C++ compiles them once (kernels/series.cpp): wide registers do not help here.
//
// The text needs what special.h needs, and CLEAR_OF_CALLERS, which keeps a long function one piece of code.

// ---- zeta and what is made of it

// y^-s; whole powers that a few products give are no call of the library's.
FUNCTION W power_under(W y, W s) {
  if (s > 8 || s != floor(s)) return pow(y, -s);
  W power = 1, square = y;
  for (int left = (int)s; left != 0; left >>= 1) {
    if ((left & 1) != 0) power *= square;
    square *= square;
  }
  return 1 / power;
}

// The first where the sum is no number.
FUNCTION W sum_or_first(W first, W sign, W second) {
  const W sum = first + sign * second;
  return sum == sum ? sum : first;
}

// zeta(s, q) + sign * zeta(s, other), both above 0, by Euler and Maclaurin: ten terms, the integral and its corrections. Term by term,
// for the first terms may cancel.
CLEAR_OF_CALLERS FUNCTION W hurwitz(W s, W q, W sign, W other) {
  const W bernoulli[] = {8.3333333333333333e-2,  -1.3888888888888889e-3,  3.3068783068783069e-5,
                         -8.2671957671957672e-7, 2.0876756987868099e-8,   -5.2841901386874932e-10,
                         1.3382536530684679e-11, -3.3896802963225829e-13, 8.5860620562778446e-15};  // B(2k) / (2k)!
  W total = 0;
  for (int k = 0; k < 10; ++k) {
    total += sum_or_first(power_under(q + k, s), sign, sign != 0 ? power_under(other + k, s) : 0);
  }
  W y[2] = {q + 10, other + 10}, power[2], rest[2];
  for (int i = 0; i < 2; ++i) {
    power[i] = i == 0 || sign != 0 ? power_under(y[i], s) : 0;
    rest[i] = power[i] * y[i] / (s - 1) + (W)0.5 * power[i];
    power[i] /= y[i];
  }
  total += sum_or_first(rest[0], sign, rest[1]);
  W factor = s;
  for (int k = 1; k < 10; ++k) {
    const W correction = bernoulli[k - 1] * factor * sum_or_first(power[0], sign, power[1]);
    // An infinite correction is left out: its power is nothing beside the first terms.
    if (fabs(correction) < (W)INFINITE) total += correction;
    factor *= (s + 2 * k - 1) * (s + 2 * k);
    for (int i = 0; i < 2; ++i) power[i] /= y[i] * y[i];
  }
  return total;
}

FUNCTION W zeta_of(W x, W q) {
  if (x == 1) return (W)INFINITE;
  if (!(x > 1) || q != q) return (W)NOT_A_NUMBER;
  if (q == (W)INFINITE) return 0;
  if (q <= 0 && floor(q) == q) return (W)INFINITE;
  if (q > 0) return hurwitz(x, q, 0, 1);
  if (floor(x) != x) return (W)NOT_A_NUMBER;
  // Below 0 the terms (q + k) ** -x are, but for their sign, those of q's other end: from its fraction up to -q.
  const W fraction = -q - ceil(-q) + 1, sign = fmod(x, (W)2) == 0 ? 1 : -1;
  return hurwitz(x, 1 - fraction, sign, fraction) - sign * hurwitz(x, 1 - q, 0, 1);
}

// n! of a whole number: infinite from 171 on.
FUNCTION W factorial_of(W n) {
  W product = 1;
  for (int k = 2; k <= n && k <= 171; ++k) product *= k;
  return product;
}
FUNCTION W polygamma_of(W a, W n) {
  if (n == 0) return digamma_all(a);
  if (n == 1) return trigamma_all(a);
  const W sign = fmod(n, (W)2) == 0 ? -1 : 1;
  return sign * factorial_of(n) * zeta_of(n + 1, a);
}

// ---- the incomplete gamma functions

// The logarithm of gamma(1 + a).
FUNCTION W lgamma_above(W a) { return a < 1 ? lgamma_between(a, a - 1) : lgamma_near(a + 1); }

// x**a exp(-x) / gamma(a + 1); from 20 on by Stirling's series: no large terms cancel.
FUNCTION W power_over_gamma(W a, W x) {
  if (a < 20) return exp(a * log(x) - x - lgamma_above(a));
  const W apart = (x - a) / a, square = a * a;
  const W log_ratio = apart < (W)-0.5 ? log(x / a) : log1p(apart);
  const W stirling = ((W)(1.0 / 12) - ((W)(1.0 / 360) - ((W)(1.0 / 1260) - (W)(1.0 / 1680) / square) / square) / square) / a;
  return exp(a * (log_ratio - apart) - stirling) / sqrt((W)6.283185307179586 * a);
}

// By the series of the lower function, or the continued fraction of the upper one; enough steps for x near a = 1e9.
CLEAR_OF_CALLERS FUNCTION W incomplete_gamma(W a, W x, bool upper) {
  const int steps = 200000;
  const bool endless = a == (W)INFINITE || x == (W)INFINITE;
  if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (a == x && endless)) return (W)NOT_A_NUMBER;
  if (a == 0 || x == 0 || endless) return (x > a) != upper ? 1 : 0;
  if (upper && x <= 1 && a < 1) {  // 1 minus the lower one loses digits if a is small
    W term = -x, total = -x / (a + 1);
    for (int n = 2; n < 30; ++n) {
      term *= -x / n;
      total += term / (a + n);
    }
    const W power = a * log(x) - lgamma_above(a);
    return -expm1(power) - a * exp(power) * total;
  }
  const W scale = power_over_gamma(a, x);
  W found;
  const bool by_series = x <= 1 || x <= a;
  if (by_series) {
    W term = 1, total = 1;
    for (int n = 1; n < steps && term > total * (W)1e-17; ++n) {
      term *= x / (a + n);
      total += term;
    }
    found = scale * total;
  } else {  // Lentz's method
    W b = x + 1 - a, c = (W)1e30, d = 1 / b, value = d, factor = 0;
    for (int n = 1; n < steps && fabs(factor - 1) > (W)1e-15; ++n) {
      const W step = n * (a - n);
      b += 2;
      d = 1 / (step * d + b);
      c = b + step / c;
      factor = c * d;
      value *= factor;
    }
    found = scale * a * value;
  }
  if (found > 1) found = 1;
  return by_series != upper ? found : 1 - found;
}

// ---- derivatives of higher order

// The modified Bessel function of the first kind of a whole order times exp(-|x|): the integral of exp(x cos t) cos(order t) by the
// trapezoidal rule, which converges like a Fourier series; far out the asymptotic series, near 0 the power series.
CLEAR_OF_CALLERS FUNCTION W scaled_bessel_i(W a, int order) {
  if (a != a) return a;
  const W x = fabs(a);
  W value = 0;
  if (x > 60) {
    W term = 1;
    value = 1;
    for (int k = 1; k < 14; ++k) {
      term *= ((2 * k - 1) * (2 * k - 1) - 4 * order * order) / (8 * k * x);
      value += term;
    }
    value /= sqrt((W)6.283185307179586 * x);
  } else if (x < 1) {
    W term = 1;
    for (int k = 1; k <= order; ++k) term *= x / (2 * k);
    for (int k = 1; k < 10; ++k) {
      value += term;
      term *= x * x / (4 * k * (k + order));
    }
    value = (value + term) * exp(-x);
  } else {
    for (int k = 0; k < 96; ++k) {
      const W node = (k + (W)0.5) * (W)(3.141592653589793 / 96);
      value += exp(x * (cos(node) - 1)) * cos(order * node) / 96;
    }
  }
  return order % 2 != 0 && a < 0 ? -value : value;
}

// The derivative of erfcx of an order above 0, by y' = 2 x y - 2 / sqrt(pi).
FUNCTION W erfcx_derivative(W x, W order) {
  if (x == (W)INFINITE) return 0;
  W before = erfcx_of(x), value = erfcx_slope_of(x);
  for (int k = 1; k < order; ++k) {
    const W next = 2 * x * value + 2 * k * before;
    before = value;
    value = next;
  }
  return value;
}

// ---- orthogonal polynomials: by their recurrences in the degree, Chebyshev's between -1 and 1 by an angle times the degree

enum Family { CHEBYSHEV_T, CHEBYSHEV_U, CHEBYSHEV_V, CHEBYSHEV_W, HERMITE_H, HERMITE_HE, LAGUERRE, LEGENDRE };

FUNCTION W first_degree(int family, W x) {
  switch (family) {
    case CHEBYSHEV_U:
    case HERMITE_H: return x + x;
    case CHEBYSHEV_V: return x + x - 1;
    case CHEBYSHEV_W: return x + x + 1;
    case LAGUERRE: return 1 - x;
    default: return x;
  }
}

// That of degree k + 1, from that of degree k and the one before.
FUNCTION W next_degree(int family, W x, W q, W p, W k) {
  switch (family) {
    case HERMITE_H: return (x + x) * q - (k + k) * p;
    case HERMITE_HE: return x * q - k * p;
    case LAGUERRE: return ((k + k + 1 - x) * q - k * p) / (k + 1);
    case LEGENDRE: return ((k + k + 1) * x * q - k * p) / (k + 1);
    default: return (x + x) * q - p;
  }
}

FUNCTION W by_angle(int family, W n, W angle) {
  const W half = (W)0.5;
  switch (family) {
    case CHEBYSHEV_T: return cos(n * angle);
    case CHEBYSHEV_U: return sin((n + 1) * angle) / sin(angle);
    case CHEBYSHEV_V: return cos((n + half) * angle) / cos(angle / 2);
    default: return sin((n + half) * angle) / sin(angle / 2);
  }
}

// Where x is 1 or -1.
FUNCTION W at_end(int family, W x, W n) {
  const W sign = x > 0 || fmod(n, (W)2) == 0 ? 1 : -1;
  switch (family) {
    case CHEBYSHEV_U: return sign * (n + 1);
    case CHEBYSHEV_V: return x > 0 ? 1 : sign * (n + n + 1);
    case CHEBYSHEV_W: return x > 0 ? n + n + 1 : sign;
    default: return sign;
  }
}

// The degree is cut to a whole number; of one below 0 it is 0. What takes more than 100,000 steps is no number.
FUNCTION W polynomial_of(int family, W x, W degree) {
  const W n = fabs(degree) < (W)4611686018427387904.0 ? trunc(degree) : -1;
  if (n < 0) return 0;
  if (fabs(x) == 1 && (family <= CHEBYSHEV_W || family == LEGENDRE)) return at_end(family, x, n);
  if (fabs(x) < 1 && family <= CHEBYSHEV_W && n > 8) return by_angle(family, n, acos(x));
  W p = 1, q = first_degree(family, x);
  if (n == 0) return p;
  for (W k = 1; k < n && q == q; ++k) {
    if (k > 100000) return fabs(q) < (W)INFINITE ? (W)NOT_A_NUMBER : q;
    const W next = next_degree(family, x, q, p, k);
    p = q;
    q = next;
  }
  return q;
}
