// Orthogonal polynomials, by their recurrences in the degree and in the type of the argument; Chebyshev's between -1 and 1 by the
// cosine of an angle times the degree.
#ifdef REAL
#define MOST 100000  // steps

// The numbers of families are _polynomials.py's; Chebyshev's four kinds come first.
enum { CHEBYSHEV_T, CHEBYSHEV_U, CHEBYSHEV_V, CHEBYSHEV_W, HERMITE_H, HERMITE_HE, LAGUERRE, LEGENDRE };

FUNCTION T first_degree(i64 family, T x) {
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
FUNCTION T next_degree(i64 family, T x, T q, T p, T k) {
  switch (family) {
    case HERMITE_H: return (x + x) * q - (k + k) * p;
    case HERMITE_HE: return x * q - k * p;
    case LAGUERRE: return ((k + k + 1 - x) * q - k * p) / (k + 1);
    case LEGENDRE: return ((k + k + 1) * x * q - k * p) / (k + 1);
    default: return (x + x) * q - p;
  }
}

FUNCTION T by_angle(i64 family, T n, T angle) {
  const T between = (T)0.5;
  switch (family) {
    case CHEBYSHEV_T: return cos(n * angle);
    case CHEBYSHEV_U: return sin((n + 1) * angle) / sin(angle);
    case CHEBYSHEV_V: return cos((n + between) * angle) / cos(angle / 2);
    default: return sin((n + between) * angle) / sin(angle / 2);
  }
}

// Where x is 1 or -1.
FUNCTION T at_end(i64 family, T x, i64 n) {
  const T sign = x > 0 || n % 2 == 0 ? 1 : -1;
  switch (family) {
    case CHEBYSHEV_U: return sign * (T)(n + 1);
    case CHEBYSHEV_V: return x > 0 ? 1 : sign * (T)(n + n + 1);
    case CHEBYSHEV_W: return x > 0 ? (T)(n + n + 1) : sign;
    default: return sign;
  }
}

FUNCTION T polynomial_of(i64 family, T x, T degree) {
  const i64 n = fabs(degree) < (T)4611686018427387904.0 ? (i64)degree : -1;
  if (n < 0) return 0;
  if (fabs(x) == 1 && (family <= CHEBYSHEV_W || family == LEGENDRE)) return at_end(family, x, n);
  if (fabs(x) < 1 && family <= CHEBYSHEV_W && n > 8) return by_angle(family, (T)n, acos(x));
  T p = 1, q = first_degree(family, x);
  if (n == 0) return p;
  for (i64 k = 1; k < n; ++k) {
    if (q != q) break;
    if (k > MOST) return fabs(q) < INFINITE ? (T)NOT_A_NUMBER : q;
    const T next = next_degree(family, x, q, p, (T)k);
    p = q;
    q = next;
  }
  return q;
}

// shifted: of 2 x - 1.
KERNEL polynomial(BUFFER(x), BUFFER(degree), BUFFER(out), Layout x_places, Layout degree_places, i64 type, i64 items, i64 family,
                  i64 shifted) {
  if (ITEM >= items) return;
  const T a = load(x, x_at + place_of(&x_places, ITEM), (int)type);
  const T n = load(degree, degree_at + place_of(&degree_places, ITEM), (int)type);
  store(out, out_at + ITEM * SIZE(type), (int)type, polynomial_of(family, shifted ? a + a - 1 : a, n));
}
#endif
