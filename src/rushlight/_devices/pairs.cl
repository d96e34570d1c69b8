// A complex number, and what every kernel of such numbers needs.
typedef struct {
  T re, im;
} Z;

FUNCTION Z z_of(T re, T im) {
  Z r;
  r.re = re;
  r.im = im;
  return r;
}

FUNCTION Z add(Z a, Z b) { return z_of(a.re + b.re, a.im + b.im); }
FUNCTION Z sub(Z a, Z b) { return z_of(a.re - b.re, a.im - b.im); }
FUNCTION Z mul(Z a, Z b) { return z_of(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re); }
