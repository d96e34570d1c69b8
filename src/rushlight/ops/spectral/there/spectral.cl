// Fourier transforms along the middle dimension of (outer, length, inner), elements of which are contiguous pairs of T.
//
// A transform is a step for each factor of its length (after Stockham, so that results come in order), or of a length with large
// prime factors a convolution with chirps (after Bluestein). `forward`: the sign of the exponents, 1 for minus. Powers of the
// root of unity are a table of the host's.

#ifdef REAL
#define LARGEST 31  // the largest factor of a step

#include "pairs.cl"

// An element of real numbers where `real`.
FUNCTION Z get(GLOBAL const T *p, i64 at, i64 real) { return real ? z_of(p[at], 0) : z_of(p[2 * at], p[2 * at + 1]); }

FUNCTION void put(GLOBAL T *p, i64 at, i64 real, Z value) {
  if (real) {
    p[at] = value.re;
  } else {
    p[2 * at] = value.re;
    p[2 * at + 1] = value.im;
  }
}

// An entry of a table, or its conjugate.
FUNCTION Z entry(GLOBAL const T *table, i64 at, i64 forward) { return z_of(table[2 * at], forward ? table[2 * at + 1] : -table[2 * at + 1]); }

// From the transforms of every (length / done)th element make the transforms of every (length / done / factor)th. An item does one
// element of each of `factor` transforms, which become one. roots[k]: exp(-2 pi i k / length).
KERNEL butterfly(BUFFER(x), BUFFER(out), BUFFER(roots), i64 items, i64 length, i64 inner, i64 done, i64 factor, i64 forward, i64 x_real,
            i64 out_real, T scale) {
  if (ITEM >= items) return;
  GLOBAL const T *from = OF(const T, x), *w = OF(const T, roots);
  GLOBAL T *to = OF(T, out);
  const i64 left = length / done / factor;
  const i64 column = rest_of(ITEM, inner), row = quotient(ITEM, inner), k = rest_of(row, done), above = quotient(row, done);
  const i64 q = rest_of(above, left), begin = quotient(above, left) * length;
  const i64 first = (begin + q * done + k) * inner + column, apart = left * done * inner;
  const i64 target = (begin + q * done * factor + k) * inner + column, steps = done * inner, turn = k * left;
  if (factor == 2) {
    const Z a = get(from, first, x_real), b = mul(get(from, first + apart, x_real), entry(w, turn, forward));
    const Z sum = add(a, b), rest = sub(a, b);
    put(to, target, out_real, z_of(sum.re * scale, sum.im * scale));
    put(to, target + steps, out_real, z_of(rest.re * scale, rest.im * scale));
    return;
  }
  if (factor == 4) {
    const Z a = get(from, first, x_real), b = mul(get(from, first + apart, x_real), entry(w, turn, forward));
    const Z c = mul(get(from, first + 2 * apart, x_real), entry(w, 2 * turn, forward));
    const Z d = mul(get(from, first + 3 * apart, x_real), entry(w, 3 * turn, forward));
    const Z even = add(a, c), odd = add(b, d), even_rest = sub(a, c), rest = sub(b, d);
    const Z turned = forward ? z_of(rest.im, -rest.re) : z_of(-rest.im, rest.re);
    const Z found[4] = {add(even, odd), add(even_rest, turned), sub(even, odd), sub(even_rest, turned)};
    for (int t = 0; t < 4; ++t) put(to, target + t * steps, out_real, z_of(found[t].re * scale, found[t].im * scale));
    return;
  }
  Z values[LARGEST];
  for (i64 j = 0; j < factor; ++j) values[j] = mul(get(from, first + j * apart, x_real), entry(w, j * turn, forward));
  for (i64 t = 0; t < factor; ++t) {
    Z sum = values[0];
    i64 at = 0;
    for (i64 j = 1; j < factor; ++j) {
      at += t;
      if (at >= factor) at -= factor;
      sum = add(sum, mul(values[j], entry(w, at * (left * done), forward)));
    }
    put(to, target + t * steps, out_real, z_of(sum.re * scale, sum.im * scale));
  }
}

// Elements times those of a table and a scale, along a dimension that is cut or filled up with zeros. No table: 1.
KERNEL multiply(BUFFER(x), BUFFER(out), BUFFER(table), i64 items, i64 length, i64 out_length, i64 inner, i64 forward, i64 x_real,
                i64 out_real, T scale) {
  if (ITEM >= items) return;
  const i64 column = rest_of(ITEM, inner), row = quotient(ITEM, inner), k = rest_of(row, out_length), begin = quotient(row, out_length);
  Z value = z_of(0, 0);
  if (k < length) {
    value = get(OF(const T, x), (begin * length + k) * inner + column, x_real);
    if (table) value = mul(value, entry(OF(const T, table), k, forward));
  }
  put(OF(T, out), ITEM, out_real, z_of(value.re * scale, value.im * scale));
}

// All of a transform of real numbers from its first half: the rest are conjugates, and those that are their own are real, and taken
// times `edges`.
KERNEL mirror(BUFFER(x), BUFFER(out), i64 items, i64 length, i64 inner, T edges) {
  if (ITEM >= items) return;
  const i64 column = rest_of(ITEM, inner), row = quotient(ITEM, inner), k = rest_of(row, length), begin = quotient(row, length);
  const i64 known = length / 2 + 1, own = k < known ? k : length - k;
  Z value = get(OF(const T, x), (begin * known + own) * inner + column, 0);
  if (k == 0 || 2 * k == length) value = z_of(value.re * edges, 0);
  if (k >= known) value.im = -value.im;
  put(OF(T, out), ITEM, 0, value);
}
#endif
