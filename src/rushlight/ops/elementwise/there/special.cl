// Special functions, computed in double whatever the type of the elements, by the means of ops/elementwise.
#if defined(REAL) && defined(WIDE)
#define PI 3.14159265358979324
#define EULER 0.5772156649015329

// The numbers of functions are _special.py's.
#define POLYGAMMA 0
#define ZETA 1
#define BESSEL_I 2  // scaled by exp(-|x|) where `scaled`
#define BESSEL_J 3
#define BESSEL_Y 4
#define BESSEL_K 5
#define MODIFIED_I 6
#define AIRY 7
#define SPHERICAL 8
#define ERFCX 9
#define LOG_NDTR 10
#define NDTRI 11
#define LOWER_GAMMA 12
#define UPPER_GAMMA 13
#define ERFCX_SLOPE 14

FUNCTION int is_infinite(T x) { return fabs(x) == INFINITE; }
FUNCTION T with_sign_of(T value, T x) { return x > 0 ? value : (x < 0 ? -value : 0 * value); }

// ---- the gamma function and its relatives

// The first where the sum is no number.
FUNCTION T sum_or_first(T first, T sign, T second) {
  const T sum = first + sign * second;
  return sum == sum ? sum : first;
}

// zeta(s, q) + sign * zeta(s, other), both above 0, by Euler and Maclaurin; term by term, for the first terms may cancel.
FUNCTION T hurwitz(T s, T q, T sign, T other) {
  // B(2k) / (2k)!
  const T bernoulli[] = {8.3333333333333333e-2,   -1.3888888888888889e-3,  3.3068783068783069e-5,
                         -8.2671957671957672e-7,  2.0876756987868099e-8,   -5.2841901386874932e-10,
                         1.3382536530684679e-11,  -3.3896802963225829e-13, 8.5860620562778446e-15};
  T total = 0;
  for (int k = 0; k < 10; ++k) total += sum_or_first(pow(q + k, -s), sign, sign != 0 ? pow(other + k, -s) : 0);
  T y[2] = {q + 10, other + 10}, power[2], rest[2];
  for (int i = 0; i < 2; ++i) {
    power[i] = pow(y[i], -s);
    rest[i] = pow(y[i], 1 - s) / (s - 1) + 0.5 * power[i];
    power[i] /= y[i];
  }
  total += sum_or_first(rest[0], sign, rest[1]);
  T factor = s;
  for (int k = 1; k < 10; ++k) {
    const T correction = bernoulli[k - 1] * factor * sum_or_first(power[0], sign, power[1]);
    // An infinite correction is left out: its power is nothing beside the first terms.
    if (fabs(correction) < INFINITE) total += correction;
    factor *= (s + 2 * k - 1) * (s + 2 * k);
    for (int i = 0; i < 2; ++i) power[i] /= y[i] * y[i];
  }
  return total;
}

FUNCTION T zeta_of(T x, T q) {
  if (x == 1) return INFINITE;
  if (!(x > 1) || q != q) return NOT_A_NUMBER;
  if (q == INFINITE) return 0;
  if (q <= 0 && floor(q) == q) return INFINITE;
  if (q > 0) return hurwitz(x, q, 0, 1);
  if (floor(x) != x) return NOT_A_NUMBER;
  // Below 0 the terms (q + k) ** -x are, but for their sign, those of q's other end: from its fraction up to -q.
  const T fraction = -q - ceil(-q) + 1, sign = fmod(x, (T)2) == 0 ? 1 : -1;
  return hurwitz(x, 1 - fraction, sign, fraction) - sign * hurwitz(x, 1 - q, 0, 1);
}

FUNCTION T trigamma_of(T a) {
  if (a == INFINITE) return 0;
  if (!(a < 0.5)) return hurwitz(2, a, 0, 1);
  const T reflected = PI / sin(PI * a);
  return reflected * reflected - hurwitz(2, 1 - a, 0, 1);
}

// The logarithm of gamma(1 + a); near 1 by its series, for libraries lose digits there.
FUNCTION T log_gamma_above(T a) {
  if (!(a < 0.01)) return lgamma(a + 1);
  return -a * (EULER - a * (1.6449340668482264 / 2 - a * (1.2020569031595943 / 3 - a * (1.0823232337111382 / 4 -
         a * (1.0369277551433699 / 5 - a * (1.0173430619844491 / 6 - a * (1.0083492773819228 / 7 -
         a * (1.0040773561979443 / 8))))))));
}

// x**a exp(-x) / gamma(a + 1); from 20 on by Stirling's series: no large terms cancel.
FUNCTION T power_over_gamma(T a, T x) {
  if (a < 20) return exp(a * log(x) - x - log_gamma_above(a));
  const T apart = (x - a) / a, square = a * a;
  const T log_ratio = apart < -0.5 ? log(x / a) : log1p(apart);
  const T stirling = (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - 1.0 / 1680 / square) / square) / square) / a;
  return exp(a * (log_ratio - apart) - stirling) / sqrt(2 * PI * a);
}

// The incomplete gamma functions; enough steps for x near a = 1e9.
#define STEPS 200000
FUNCTION T incomplete_gamma(T a, T x, int upper) {
  if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (is_infinite(a) && is_infinite(x))) return NOT_A_NUMBER;
  if (a == 0 || x == 0 || is_infinite(a) || is_infinite(x)) return (x > a) == !upper ? 1 : 0;
  if (upper && x <= 1 && a < 1) {  // 1 minus the lower one loses digits if a is small
    T term = -x, total = -x / (a + 1);
    for (int n = 2; n < 30; ++n) {
      term *= -x / n;
      total += term / (a + n);
    }
    const T power = a * log(x) - log_gamma_above(a);
    return -expm1(power) - a * exp(power) * total;
  }
  const T scale = power_over_gamma(a, x);
  T found;
  const int by_series = x <= 1 || x <= a;
  if (by_series) {
    T term = 1, total = 1;
    for (int n = 1; n < STEPS && term > total * 1e-17; ++n) {
      term *= x / (a + n);
      total += term;
    }
    found = scale * total;
  } else {  // a continued fraction, by Lentz's method
    T b = x + 1 - a, c = 1e300, d = 1 / b, value = d, factor = 0;
    for (int n = 1; n < STEPS && fabs(factor - 1) > 1e-15; ++n) {
      const T step = n * (a - n);
      b += 2;
      d = 1 / (step * d + b);
      c = b + step / c;
      factor = c * d;
      value *= factor;
    }
    found = scale * a * value;
  }
  if (found > 1) found = 1;
  return by_series == !upper ? found : 1 - found;
}

// ---- Bessel functions

// J (sign -1) or I (1) of x from 0 to 1, by their power series: relative to their size, which the integrals are not.
FUNCTION T from_zero(T x, int order, int sign) {
  T term = 1;
  for (int k = 1; k <= order; ++k) term *= x / (2 * k);
  T total = term;
  for (int k = 1; k < 10; ++k) {
    term *= sign * x * x / (4 * k * (k + order));
    total += term;
  }
  return total;
}

// The modified function of the first kind times exp(-|x|): the trapezoidal rule, far out the asymptotic series.
FUNCTION T scaled_i(T a, int order) {
  if (a != a) return a;
  const T x = fabs(a);
  T value = 0;
  if (x > 60) {
    T term = 1, series = 1;
    for (int k = 1; k < 14; ++k) {
      term *= ((2 * k - 1) * (2 * k - 1) - 4 * order * order) / (8 * k * x);
      series += term;
    }
    value = series / (sqrt(2 * PI) * sqrt(x));
  } else if (order && x < 1) {
    value = from_zero(x, order, 1) * exp(-x);
  } else {
    for (int k = 0; k < 96; ++k) {
      const T node = (k + 0.5) * (PI / 96), cosine = cos(node), part = exp(x * (cosine - 1)) / 96;
      value += order ? part * (order == 1 ? cosine : cos(order * node)) : part;
    }
  }
  return order % 2 ? with_sign_of(value, a) : value;
}

// The first or second kind, from 25 on, by the asymptotic series.
FUNCTION T far_bessel(T x, int order, int second) {
  T p = 1, q = 0, term = 1;
  for (int k = 1; k < 13; ++k) {
    term *= (4 * order * order - (2 * k - 1) * (2 * k - 1)) / (8 * k * x);
    const T part = k % 4 < 2 ? term : -term;
    if (k % 2) q += part;
    else p += part;
  }
  const T phase = x - order * PI / 2 - PI / 4, sine = sin(phase), cosine = cos(phase);
  return sqrt(2 / PI) / sqrt(x) * (second ? p * sine + q * cosine : p * cosine - q * sine);
}

FUNCTION T bessel_j(T a, int order) {
  const T x = fabs(a);
  if (a != a || x == INFINITE) return NOT_A_NUMBER;
  T value = 0;
  if (x > 25) {
    value = far_bessel(x, order, 0);
  } else if (order && x < 1) {
    value = from_zero(x, order, -1);
  } else {
    for (int k = 0; k < 64; ++k) {
      const T node = (k + 0.5) * (PI / 64);
      value += cos(order * node - x * sin(node)) / 64;
    }
  }
  return order ? with_sign_of(value, a) : value;
}

// How often J of an order is in Neumann's series, besides its first terms.
FUNCTION T neumann_share(int order, int n) {
  if (n % 2 != order || n == 0) return 0;
  const int k = (n + order) / 2;
  const T sign = k % 2 ? -1 : 1;
  if (order == 0) return -2 * sign / k;
  return sign / k + (k > 1 ? sign / (k - 1) : 0);
}

FUNCTION T bessel_y(T x, int order) {
  if (x == 0) return -INFINITE;
  if (!(x > 0) || x == INFINITE) return NOT_A_NUMBER;
  if (x > 25) return far_bessel(x, order, 1);
  T total = 0, first = 0, second = 0;  // of J, and J0 and J1
  if (x <= 2) {                        // power series
    const T quarter = -(x * x) / 4;
    T lead = 1;
    for (int n = 0; n < 24; ++n) {
      T term = lead, sum = lead;
      for (int k = 1; k < 13; ++k) {
        term *= quarter / (k * (k + n));
        sum += term;
      }
      if (n == 0) first = sum;
      if (n == 1) second = sum;
      total += neumann_share(order, n) * sum;
      lead *= x / 2 / (n + 1);
    }
  } else {  // downwards from where they are nothing, scaled so that J0 + 2 J2 + 2 J4 + ... is 1
    T above = 0, here = 1e-290, scale = 2e-290;
    for (int n = 90; n > 0; --n) {
      const T below = 2 * n / x * here - above;
      above = here;
      here = below;
      total += neumann_share(order, n - 1) * here;
      if (n % 2) scale += n == 1 ? here : 2 * here;
    }
    total /= scale;
    first = here / scale;
    second = above / scale;
  }
  const T logarithm = log(x / 2) + EULER;
  total += order ? logarithm * second - first / x : logarithm * first;
  return total * (2 / PI);
}

// The modified function of the second kind, times exp(x) where `scaled`; the order may be no whole number from 1e-3 on.
FUNCTION T bessel_k(T x, T order, int scaled) {
  if (x == 0) return INFINITE;
  if (x == INFINITE) return 0;
  if (!(x > 0)) return NOT_A_NUMBER;
  if (x < 1e-3) {
    const T logarithm = -log(x / 2) - EULER, square = x * x / 4;
    const T near = order == 0 ? logarithm * (1 + square) + square
                              : 1 / x - x / 2 * (logarithm * (1 + square / 2) + 0.5 + square * 0.625);
    return scaled ? near * exp(x) : near;
  }
  const T width = 2 / sqrt(x), step = 0.25 * (width < 1 ? width : 1);
  T total = 0;
  for (int k = 0; k < 60; ++k) {
    const T t = step * k, half_sine = sinh(t / 2), part = exp(-2 * x * half_sine * half_sine) * cosh(order * t);
    total += k ? part : part / 2;
  }
  return step * total * (scaled ? 1 : exp(-x));
}

FUNCTION T modified_i(T x, int order) {
  if (is_infinite(x)) return NOT_A_NUMBER;
  if (fabs(x) > 714) return order ? copysign((T)INFINITE, x) : (T)INFINITE;
  return scaled_i(x, order) * exp(fabs(x));
}

// Points from -30 to 2 every half, with the function and its slope, are in the table, three numbers each.
FUNCTION T airy_of(T x, GLOBAL const T *table) {
  if (x != x || is_infinite(x)) return NOT_A_NUMBER;
  if (x > 103.892) return 0;
  if (x > 1.5) return sqrt(x / 3) / PI * bessel_k(x * sqrt(x) * (2.0 / 3), 1.0 / 3, 0);
  if (x >= -30) {  // Taylor series along the equation y'' = x y
    const int at = 3 * (int)rint((x - table[0]) / 0.5);
    const T x0 = table[at], h = x - x0;
    T before = 0, now = table[at + 1], after = table[at + 2], value = now + after * h, power = h;
    for (int n = 0; n < 34; ++n) {
      const T next = (x0 * now + before) / ((n + 1) * (n + 2));
      before = now;
      now = after;
      after = next;
      power *= h;
      value += after * power;
    }
    return value;
  }
  const T s = -x, zeta = s * sqrt(s) * (2.0 / 3), phase = zeta + PI / 4;
  T even = 1, odd = 0, term = 1;
  for (int k = 1; k < 12; ++k) {
    term *= ((6 * k - 5) * (6 * k - 3) * (6 * k - 1)) / (216.0 * k * (2 * k - 1) * zeta);
    const T part = k % 4 < 2 ? term : -term;
    if (k % 2) odd += part;
    else even += part;
  }
  return (sin(phase) * even - cos(phase) * odd) / (sqrt(PI) * sqrt(sqrt(s)));
}

// ---- the normal distribution

FUNCTION T laplace(T a) {  // what is added to a in Laplace's continued fraction, from its tail
  T fraction = 0;
  for (int k = 60; k > 0; --k) fraction = 0.5 * k / (a + fraction);
  return fraction;
}

FUNCTION T erfcx_of(T a) {
  if (a != a) return a;
  if (a < -26.7) return INFINITE;
  return a <= 5 ? exp(a * a) * erfc(a) : 1 / (a + laplace(a)) / sqrt(PI);
}

// By y' = 2 x y - 2 / sqrt(pi), far out by what is added to x.
FUNCTION T erfcx_derivative(T x, int order) {
  if (x == INFINITE) return 0;
  T before = erfcx_of(x), value = 2 * x * before - 2 / sqrt(PI);
  if (x > 5) {
    const T rest = laplace(x);
    value = -2 / sqrt(PI) * rest / (x + rest);
  }
  for (int k = 1; k < order; ++k) {
    const T next = 2 * x * value + 2 * k * before;
    before = value;
    value = next;
  }
  return value;
}

FUNCTION T log_ndtr_of(T a) {
  const T x = a * sqrt(0.5);
  return a < -1 ? log(erfcx_of(-x) / 2) - x * x : log1p(-erfc(x) / 2);
}

// Newton's method on the logarithm, from the tail's first approximation.
FUNCTION T ndtri_of(T p) {
  if (!(p >= 0 && p <= 1)) return NOT_A_NUMBER;
  if (p == 0 || p == 1) return p == 0 ? -INFINITE : INFINITE;
  if (p == 0.5) return 0;
  T tail = p < 1 - p ? p : 1 - p;
  tail = tail < 1e-320 ? 1e-320 : tail;
  const T goal = log(tail), spread = -4 * PI * goal, start = -2 * goal - log(spread > 1 ? spread : 1);
  T x = -sqrt(start > 0 ? start : 0);
  for (int i = 0; i < 12; ++i) x -= (log_ndtr_of(x) - goal) * erfcx_of(-x * sqrt(0.5)) / sqrt(2 / PI);
  return p > 0.5 ? -x : x;
}

// ----

// A function of a, or of a and b. `order`: of Bessel functions, and of polygamma; `factor`: what zeta is times there, rounded
// to the type of the result first.
KERNEL special(BUFFER(a), BUFFER(b), BUFFER(table), BUFFER(out), Layout a_places, Layout b_places, i64 type, i64 items, i64 which,
               i64 order, i64 scaled, T factor) {
  if (ITEM >= items) return;
  const T x = load(a, a_at + place_of(&a_places, ITEM), (int)type);
  const T y = b ? load(b, b_at + place_of(&b_places, ITEM), (int)type) : 0;
  const int n = (int)order;
  T value;
  switch (which) {
    case POLYGAMMA:
      value = n == 1 ? trigamma_of(x) : zeta_of((T)order + 1, x);
      value = n == 1 ? value : factor * (type == TYPE_FLOAT64 ? value : (T)(float)value);
      break;
    case ZETA: value = zeta_of(x, y); break;
    case BESSEL_I: value = scaled_i(x, n) * (scaled ? 1 : exp(fabs(x))); break;
    case BESSEL_J: value = bessel_j(x, n); break;
    case BESSEL_Y: value = bessel_y(x, n); break;
    case BESSEL_K: value = bessel_k(x, n, (int)scaled); break;
    case MODIFIED_I: value = modified_i(x, n); break;
    case AIRY: value = airy_of(x, OF(const T, table)); break;
    case SPHERICAL: value = is_infinite(x) ? 0 : (fabs(x) < 1e-8 ? 1 : sin(x) / x); break;
    case ERFCX: value = erfcx_of(x); break;
    case ERFCX_SLOPE: value = erfcx_derivative(x, n); break;
    case LOG_NDTR: value = log_ndtr_of(x); break;
    case NDTRI: value = ndtri_of(x); break;
    default: value = incomplete_gamma(x, y, which == UPPER_GAMMA);
  }
  store(out, out_at + ITEM * SIZE(type), (int)type, value);
}

// ---- derivatives of gamma and beta numbers by their parameters, at a fixed value of the distribution function

FUNCTION T log_share(T z) { return z > 0 ? -log1p(exp(-z)) : z - log1p(exp(z)); }

// The integral of density times score over the side where the density falls. Nodes and weights, two numbers each, are in the
// table. With b: of a beta(a, b) number over 1 - x, and psi is digamma(a) - digamma(a + b); without: psi is digamma(a).
KERNEL number_gradient(BUFFER(a), BUFFER(b), BUFFER(x), BUFFER(psi), BUFFER(table), BUFFER(out), i64 nodes, i64 items) {
  if (ITEM >= items) return;
  const T c1 = OF(const T, a)[ITEM], c0 = b ? OF(const T, b)[ITEM] : 0, v = OF(const T, x)[ITEM], p = OF(const T, psi)[ITEM];
  const T y = b ? log(v) - log1p(-v) : log(v), here = log_share(y), rest = log_share(-y);
  const int falls_left = b ? v < c1 / (c1 + c0) : v < c1;
  T total = 0;
  for (int i = 0; i < nodes; ++i) {
    const T node = OF(const T, table)[2 * i], weight = OF(const T, table)[2 * i + 1], u = falls_left ? -node : node;
    const T share = log_share(y + u);
    const T density = exp(b ? c1 * (share - here) + c0 * (log_share(-y - u) - rest) : c1 * u - v * expm1(u));
    if (density > 0) total += density * (b ? share - p : y + u - p) * weight;
    else if (density == 0 && node > 1) break;
  }
  OF(T, out)[ITEM] = v * (falls_left ? -total : total);
}
#endif
