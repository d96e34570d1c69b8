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

// The Bernoulli number B(2k) over (2k)!, k = 1 to 9.
FUNCTION W bernoulli_part(int k) {
  const W parts[] = {8.3333333333333333e-2,  -1.3888888888888889e-3,  3.3068783068783069e-5,
                     -8.2671957671957672e-7, 2.0876756987868099e-8,   -5.2841901386874932e-10,
                     1.3382536530684679e-11, -3.3896802963225829e-13, 8.5860620562778446e-15};
  return parts[k - 1];
}

// zeta(s, q) + sign * zeta(s, other), both above 0, by Euler and Maclaurin: ten terms, the integral and its corrections. Term by term,
// for the first terms may cancel.
CLEAR_OF_CALLERS FUNCTION W hurwitz(W s, W q, W sign, W other) {
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
    const W correction = bernoulli_part(k) * factor * sum_or_first(power[0], sign, power[1]);
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
  if (n >= 1048576) return a != a ? a : sign * (W)INFINITE;  // the factorial outgrows whatever zeta is
  return sign * factorial_of(n) * zeta_of(n + 1, a);
}

// ---- the incomplete gamma functions

// x**a exp(-x) / gamma(a + 1); from 3 on by Stirling's series: no large terms cancel.
FUNCTION W power_over_gamma(W a, W x) {
  if (a < 3) return exp(a * log(x) - x - lgamma_between(a, a - 1));
  const W apart = (x - a) / a;
  const W log_ratio = apart < (W)-0.5 ? log(x / a) : log1p(apart);
  return exp(a * (log_ratio - apart) - stirling_rest(a)) / sqrt((W)6.283185307179586 * a);
}

// Where x is near a large a: Temme's expansion in 1 / a (NIST 8.12), whose coefficients are power series of eta, x / a = 1 where it is 0.
CLEAR_OF_CALLERS FUNCTION W incomplete_gamma_near(W a, W x, bool upper) {
  const W apart = (x - a) / a, gap = apart - log1p(apart), v = 1 / a;
  const W eta = copysign(sqrt(gap > 0 ? 2 * gap : 0), apart);
  const W c9 = POLY5(eta, -0.0005967612901927463, -7.204895416020011e-05, 0.0006782308837667328, -0.0006401475260262758,
                     0.00027750107634328704);
  const W c8 = madd(v, c9,
                    POLY6(eta, -0.0006526239185953094, 0.0008394987206720873, -0.000438297098541721, -6.969091458420552e-07,
                          0.00016644846642067547, -0.00012783517679769218));
  const W c7 = madd(v, c8,
                    POLY8(eta, 0.00034436760689237765, 5.171790908260592e-05, -0.00033493161081142234, 0.0002812695154763237,
                          -0.00010976582244684731, -1.2741009095484485e-07, 2.7744451511563645e-05, -1.8263488805711332e-05));
  const W c6 = madd(
      v, c7,
      POLY9(eta, 0.0005313079364639922, -0.0005921664373536939, 0.0002708782096718045, 7.902353232660328e-07,
            -8.153969367561969e-05, 5.61168275310625e-05, -1.8329116582843375e-05, -3.0796134506033047e-09, 3.465155368803609e-06));
  const W c5 = madd(v, c6,
                    POLY10(eta, -0.00033679855336635813, -6.972813758365857e-05, 0.0002772753244959392, -0.00019932570516188847,
                           6.797780477937208e-05, 1.419062920643967e-07, -1.3594048189768693e-05, 8.018470256334202e-06,
                           -2.291481176508095e-06, -3.252473551298454e-10));
  const W c4 = madd(v, c5,
                    POLY12(eta, -0.0008618882909167117, 0.0007840392217200666, -0.0002990724803031902, -1.4638452578843418e-06,
                           6.641498215465122e-05, -3.968365047179435e-05, 1.1375726970678419e-05, 2.507497226237533e-10,
                           -1.6954149536558305e-06, 8.907507532205309e-07, -2.292934834000805e-07, 2.956794137544049e-11));
  const W c3 = madd(v, c4,
                    POLY13(eta, 0.0006494341563786008, 0.00022947209362139917, -0.0004691894943952557, 0.00026772063206283885,
                           -7.561801671883977e-05, -2.396505113867297e-07, 1.1082654115347302e-05, -5.6749528269915965e-06,
                           1.4230900732435883e-06, -2.7861080291528143e-11, -1.6958404091930278e-07, 8.099464905388083e-08,
                           -1.9111168485973655e-08));
  const W c2 = madd(v, c3,
                    POLY15(eta, 0.004133597883597883, -0.0026813271604938273, 0.0007716049382716049, 2.0093878600823047e-06,
                           -0.0001073665322636516, 5.2923448829120125e-05, -1.2760635188618728e-05, 3.423578734096138e-08,
                           1.3721957309062934e-06, -6.298992138380055e-07, 1.4280614206064242e-07, -2.0477098421990866e-10,
                           -1.409252991086752e-08, 6.228974084922022e-09, -1.3670488396617114e-09));
  const W c1 = madd(v, c2,
                    POLY16(eta, -0.001851851851851852, -0.003472222222222222, 0.0026455026455026454, -0.0009902263374485596,
                           0.00020576131687242798, -4.018775720164609e-07, -1.8098550334489977e-05, 7.64916091608111e-06,
                           -1.6120900894563446e-06, 4.647127802807434e-09, 1.378633446915721e-07, -5.752545603517705e-08,
                           1.1951628599778148e-08, -1.7543241719747647e-11, -1.0091543710600413e-09, 4.162792991842583e-10));
  const W c0 = madd(
      v, c1,
      POLY17(eta, -0.3333333333333333, 0.08333333333333333, -0.014814814814814815, 0.0011574074074074073, 0.0003527336860670194,
             -0.0001787551440329218, 3.919263178522438e-05, -2.185448510679992e-06, -1.85406221071516e-06, 8.296711340953087e-07,
             -1.7665952736826078e-07, 6.707853543401498e-09, 1.0261809784240309e-08, -4.382036018453353e-09, 9.14769958223679e-10,
             -2.5514193994946248e-11, -5.830772132550426e-11));
  const W rest = exp(-a * gap) / sqrt((W)6.283185307179586 * a) * c0;
  const W side = upper ? eta : -eta;
  return (W)0.5 * erfc_of(side * sqrt((W)0.5 * a)) + (upper ? rest : -rest);
}

// The lower function over power_over_gamma: the sum of x^n / ((a + 1) ... (a + n)), as a quotient.
FUNCTION W lower_sum(W a, W x) {
  W top = 1, bottom = 1, power = 1;
  for (int round = 0; round < 1000; ++round) {
    for (int n = 0; n < 4; ++n) {
      a += 1;
      power *= x;
      top = madd(top, a, power);
      bottom *= a;
    }
    if (power <= top * (W)1e-17) break;
    top /= bottom;
    power /= bottom;
    bottom = 1;
  }
  return top / bottom;
}
// The upper one over a times that: a continued fraction, by its quotients' recurrence.
FUNCTION W upper_fraction(W a, W x) {
  W before_top = 0, before_bottom = 1, top = 1, bottom = x + 1 - a, value = 0, b = bottom, n = 0;
  for (int round = 0; round < 1000; ++round) {
    for (int k = 0; k < 4; ++k) {
      n += 1;
      b += 2;
      const W step = n * (a - n);
      const W next_top = madd(b, top, step * before_top), next_bottom = madd(b, bottom, step * before_bottom);
      before_top = top;
      before_bottom = bottom;
      top = next_top;
      bottom = next_bottom;
    }
    const W scale = 1 / bottom, found = top * scale;
    if (fabs(found - value) <= (W)2e-16 * fabs(found)) return found;
    value = found;
    before_top *= scale;
    before_bottom *= scale;
    top = found;
    bottom = 1;
  }
  return value;
}

CLEAR_OF_CALLERS FUNCTION W incomplete_gamma(W a, W x, bool upper) {
  const bool endless = a == (W)INFINITE || x == (W)INFINITE;
  if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (a == x && endless)) return (W)NOT_A_NUMBER;
  if (a == 0 || x == 0 || endless) return (x > a) != upper ? 1 : 0;
  if (a >= 20 && fabs(x - a) < (W)0.3 * a) return incomplete_gamma_near(a, x, upper);
  if (upper && x <= 2 && a < 1) {  // 1 minus the lower one loses digits if a is small
    W term = -x, total = -x / (a + 1);
    for (int n = 2; n < 32; ++n) {
      term *= -x / n;
      total += term / (a + n);
    }
    const W power = a * log(x) - lgamma_between(a, a - 1);
    return -expm1(power) - a * exp(power) * total;
  }
  const bool by_sum = x <= 2 || x <= a || (!upper && x <= a + 4);
  const W scale = power_over_gamma(a, x);
  W found = scale == 0 ? 0 : scale * (by_sum ? lower_sum(a, x) : a * upper_fraction(a, x));
  if (found > 1) found = 1;
  return by_sum != upper ? found : 1 - found;
}

// ---- gamma numbers

// The derivative of a gamma number x by its parameter a at a fixed value F of the distribution function: -(dF/da) / density. Of
// y = log x, dF/da is the integral of density times score over the side of y where the density falls, by the double exponential rule
// for half lines of so many steps: y moves by u = exp(pi / 2 sinh t).
CLEAR_OF_CALLERS FUNCTION W gamma_slope(W a, W x, int steps) {
  const bool left = x < a;
  const W y = log(x), psi = digamma_near(a), step = (W)7.2 / steps;
  W total = 0;
  for (int i = 0; i <= steps; ++i) {
    const W t = step * i - (W)3.6, up = exp((W)1.5707963267948966 * sinh(t)), u = left ? -up : up;
    const W density = exp(a * u - x * expm1(u));
    if (density > 0) total += density * (y + u - psi) * step * (W)1.5707963267948966 * cosh(t) * up;
    else if (up > 1) break;
  }
  return x * (left ? -total : total);
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
  const W between = (W)0.5;
  switch (family) {
    case CHEBYSHEV_T: return cos(n * angle);
    case CHEBYSHEV_U: return sin((n + 1) * angle) / sin(angle);
    case CHEBYSHEV_V: return cos((n + between) * angle) / cos(angle / 2);
    default: return sin((n + between) * angle) / sin(angle / 2);
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
