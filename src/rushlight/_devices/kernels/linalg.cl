// Factorisations of stacks of matrices, and solutions by them, with the pivots and signs of LAPACK.
//
// A matrix operand is a BUFFER and a Stack. One group factors one matrix, in place; a step of its elimination is divided among the
// group's items, with barriers between the steps. Solutions and reflections are divided by columns: one item each, without barriers.
#ifdef REAL

typedef struct {
  Layout places;  // of the matrices
  i64 row, column;  // how far apart neighbours lie, in elements
} Stack;

#define MATRIX(type, p, of, number) ((GLOBAL type *)(p + p##_at + place_of(&of.places, number)))
#define AT(of, i, j) ((i) * of.row + (j) * of.column)

// ---- what items of a group find together; all of them call these

// The number of the largest magnitude among elements begin to end, `step` apart: the first of them. No number is the largest.
FUNCTION i64 largest(GLOBAL const T *p, i64 step, i64 begin, i64 end, LOCAL T *sizes, LOCAL i64 *numbers) {
  T most = -1;
  i64 at = begin;
  for (i64 i = begin + GROUP_ITEM; i < end; i += GROUP) {
    const T size = fabs(p[i * step]);
    if (size > most || (size != size && most == most)) {
      most = size;
      at = i;
    }
  }
  BARRIER;  // what was found before has been read
  sizes[GROUP_ITEM] = most;
  numbers[GROUP_ITEM] = at;
  BARRIER;
  if (GROUP_ITEM == 0) {
    for (i64 i = 1; i < GROUP && i < end - begin; ++i) {
      const T size = sizes[i];
      const int same = size == most || (size != size && most != most);
      if (same ? numbers[i] < at : size > most || size != size) {
        most = size;
        at = numbers[i];
      }
    }
    numbers[0] = at;
  }
  BARRIER;
  return numbers[0];
}

FUNCTION T total(T part, LOCAL T *parts) {
  BARRIER;
  parts[GROUP_ITEM] = part;
  BARRIER;
  if (GROUP_ITEM == 0) {
    for (i64 i = 1; i < GROUP; ++i) part += parts[i];
    parts[0] = part;
  }
  BARRIER;
  return parts[0];
}

FUNCTION void exchange(GLOBAL T *a, GLOBAL T *b) {
  const T kept = *a;
  *a = *b;
  *b = kept;
}

// ---- parts of matrices

// What an element becomes: 0, 1, that of `a`, or the one of `a` on the other side of its diagonal.
#define PART_ZERO 0
#define PART_ONE 1
#define PART_SAME 2
#define PART_MIRRORED 3

// above, on, below: what becomes of the elements above the diagonal, on it, and below.
KERNEL parts(BUFFER(a), BUFFER(out), Stack a_of, Stack out_of, i64 rows, i64 columns, i64 count, i64 above, i64 on, i64 below) {
  if (ITEM >= count) return;
  const i64 at = ITEM / columns, j = ITEM - at * columns, number = at / rows, i = at - number * rows;
  const i64 what = i < j ? above : i == j ? on : below;
  T value = (T)(what == PART_ONE ? 1 : 0);
  if (what >= PART_SAME) value = MATRIX(const T, a, a_of, number)[what == PART_SAME ? AT(a_of, i, j) : AT(a_of, j, i)];
  MATRIX(T, out, out_of, number)[AT(out_of, i, j)] = value;
}

// The matrices of 0 and 1 that move rows as exchanges do: column by column. `out` has matrices of rows one after another.
KERNEL permutation(BUFFER(pivots), BUFFER(out), i64 steps, i64 rows, i64 count) {
  if (ITEM >= count) return;
  const i64 number = ITEM / rows, column = ITEM - number * rows;
  GLOBAL const int *p = OF(const int, pivots) + number * steps;
  i64 row = column;
  for (i64 k = steps - 1; k >= 0; --k) row = row == k ? p[k] - 1 : row == p[k] - 1 ? k : row;
  for (i64 i = 0; i < rows; ++i) OF(u8, out)[(number * rows + i) * rows + column] = (u8)(i == row);
}

// ---- LU

KERNEL lu(BUFFER(a), BUFFER(pivots), Stack of, i64 rows, i64 columns) {
  SHARED T sizes[GROUP];
  SHARED i64 numbers[GROUP];
  const i64 steps = rows < columns ? rows : columns;
  GLOBAL T *m = MATRIX(T, a, of, GROUP_NUMBER);
  for (i64 k = 0; k < steps; ++k) {
    const i64 found = largest(m + AT(of, 0, k), of.row, k, rows, sizes, numbers);
    if (GROUP_ITEM == 0) OF(int, pivots)[GROUP_NUMBER * steps + k] = (int)(found + 1);
    if (found != k)
      for (i64 j = GROUP_ITEM; j < columns; j += GROUP) exchange(m + AT(of, k, j), m + AT(of, found, j));
    BARRIER;
    const T pivot = m[AT(of, k, k)];
    for (i64 i = k + 1 + GROUP_ITEM; i < rows; i += GROUP) {
      T factor = m[AT(of, i, k)];
      if (pivot != 0) factor /= pivot;
      m[AT(of, i, k)] = factor;
      for (i64 j = k + 1; j < columns; ++j) m[AT(of, i, j)] -= factor * m[AT(of, k, j)];
    }
    BARRIER;
  }
}

// The number, from 1, of the first 0 on the diagonal of each matrix; 0 where there is none.
KERNEL zero_pivot(BUFFER(a), BUFFER(out), Stack of, i64 steps, i64 count) {
  if (ITEM >= count) return;
  GLOBAL const T *m = MATRIX(const T, a, of, ITEM);
  i64 k = 0;
  while (k < steps && m[AT(of, k, k)] != 0) ++k;
  OF(int, out)[ITEM] = (int)(k < steps ? k + 1 : 0);
}

// From LU: the determinants; with `logarithm` their signs, and the logarithms of their sizes.
KERNEL determinant(BUFFER(a), BUFFER(pivots), BUFFER(out), BUFFER(logarithms), Stack of, i64 n, i64 count, i64 logarithm) {
  if (ITEM >= count) return;
  GLOBAL const T *m = MATRIX(const T, a, of, ITEM);
  T value = 1, sum = 0;
  int zero = 0;
  for (i64 k = 0; k < n; ++k) {
    const T one = m[AT(of, k, k)];
    zero |= one == 0;
    if (OF(const int, pivots)[ITEM * n + k] != k + 1) value = -value;
    if (logarithm) {
      if (one < 0) value = -value;
      sum += log(fabs(one));
    } else {
      value *= one;
    }
  }
  if (zero) value = 0;
  if (logarithm) {
    if (zero) sum = -INFINITE;
    if (sum != sum) value = 0;
    OF(T, logarithms)[ITEM] = sum;
  }
  OF(T, out)[ITEM] = value;
}

// ---- Cholesky

// The lower factor of the lower triangle; what is above is 0 already. info: the order of the first minor that is not
// positive-definite, or 0. Up to its column the factor is there, then the matrix itself.
KERNEL cholesky(BUFFER(a), BUFFER(info), Stack of, i64 n) {
  GLOBAL T *m = MATRIX(T, a, of, GROUP_NUMBER);
  i64 failed = 0;
  int going = 1;
  T before = 0;
  for (i64 k = 0; k < n; ++k) {
    // Where a step failed nothing more is done, but all items still come to the barriers.
    if (going) {
      for (i64 i = k + GROUP_ITEM; i < n; i += GROUP) {
        T sum = m[AT(of, i, k)];
        for (i64 j = 0; j < k; ++j) sum -= m[AT(of, i, j)] * m[AT(of, k, j)];
        // Rows below are written only where the pivot is good; their sums wait above the diagonal.
        m[i == k ? AT(of, k, k) : AT(of, k, i)] = sum;
      }
    }
    BARRIER;
    const T pivot = m[AT(of, k, k)];
    BARRIER;
    if (going) {
      if (!failed && (!(pivot > 0) || before == (T)INFINITE)) failed = k + 1;
      going = pivot > 0;
      before = pivot;
      const T root = sqrt(pivot);
      for (i64 i = k + GROUP_ITEM; i < n; i += GROUP) {
        if (i == k) {
          if (going) m[AT(of, k, k)] = root;
        } else {
          if (going) m[AT(of, i, k)] = m[AT(of, k, i)] / root;
          m[AT(of, k, i)] = 0;
        }
      }
    }
    BARRIER;
  }
  if (GROUP_ITEM == 0) OF(int, info)[GROUP_NUMBER] = (int)failed;
}

// ---- triangular systems

#define SOLVE_NONE 0
#define SOLVE_UPPER 2  // the upper triangle, not the lower
#define SOLVE_UNIT 4  // the diagonal is 1
#define SOLVE_TURNED 8  // the matrix is transposed before

FUNCTION void substitute(GLOBAL const T *m, i64 row, i64 column, i64 n, GLOBAL T *x, i64 step, i64 how) {
  if (how & SOLVE_TURNED) {
    const i64 kept = row;
    row = column;
    column = kept;
  }
  const int upper = (how & SOLVE_UPPER) != 0;
  for (i64 k = 0; k < n; ++k) {
    const i64 i = upper ? n - 1 - k : k, begin = upper ? i + 1 : 0, end = upper ? n : i;
    T sum = x[i * step];
    for (i64 j = begin; j < end; ++j) sum -= m[i * row + j * column] * x[j * step];
    x[i * step] = how & SOLVE_UNIT ? sum : sum / m[i * row + i * column];
  }
}

// One column of x, in place: the exchanges of rows where there are `steps` of them, then one or two triangles.
KERNEL solve(BUFFER(a), BUFFER(pivots), BUFFER(x), Stack a_of, Stack pivots_of, Stack x_of, i64 n, i64 columns, i64 count, i64 steps,
             i64 first, i64 second) {
  if (ITEM >= count) return;
  const i64 number = ITEM / columns, column = ITEM - number * columns;
  GLOBAL const T *m = MATRIX(const T, a, a_of, number);
  GLOBAL T *one = MATRIX(T, x, x_of, number) + column * x_of.column;
  if (steps) {
    GLOBAL const int *p = MATRIX(const int, pivots, pivots_of, number);
    for (i64 k = 0; k < steps; ++k) exchange(one + k * x_of.row, one + (p[k * pivots_of.row] - 1) * x_of.row);
  }
  substitute(m, a_of.row, a_of.column, n, one, x_of.row, first);
  if (second != SOLVE_NONE) substitute(m, a_of.row, a_of.column, n, one, x_of.row, second);
}

// ---- QR

// Householder's reflections, below the diagonal, and R on it and above.
KERNEL reflections(BUFFER(a), BUFFER(taus), Stack of, i64 rows, i64 columns) {
  SHARED T shared[GROUP];
  SHARED i64 numbers[GROUP];
  const i64 steps = rows < columns ? rows : columns;
  GLOBAL T *m = MATRIX(T, a, of, GROUP_NUMBER);
  for (i64 k = 0; k < steps; ++k) {
    GLOBAL T *v = m + AT(of, 0, k);
    const i64 found = largest(v, of.row, k + 1, rows, shared, numbers);
    const T size = k + 1 < rows ? fabs(v[found * of.row]) : (T)0;
    const int turns = size != 0;
    T part = 0;
    for (i64 i = k + 1 + GROUP_ITEM; i < rows; i += GROUP) {
      const T one = turns ? v[i * of.row] / size : (T)0;
      part += one * one;
    }
    const T alpha = v[k * of.row], length = hypot(alpha, size * sqrt(total(part, shared)));
    const T beta = turns ? -copysign(length, alpha) : alpha;
    const T tau = turns ? (beta - alpha) / beta : (T)0;
    BARRIER;
    if (GROUP_ITEM == 0) {
      v[k * of.row] = beta;
      OF(T, taus)[GROUP_NUMBER * steps + k] = tau;
    }
    if (turns)
      for (i64 i = k + 1 + GROUP_ITEM; i < rows; i += GROUP) v[i * of.row] /= alpha - beta;
    BARRIER;
    for (i64 j = k + 1 + GROUP_ITEM; j < columns && turns; j += GROUP) {
      GLOBAL T *x = m + AT(of, 0, j);
      T sum = x[k * of.row];
      for (i64 i = k + 1; i < rows; ++i) sum += v[i * of.row] * x[i * of.row];
      sum *= tau;
      x[k * of.row] -= sum;
      for (i64 i = k + 1; i < rows; ++i) x[i * of.row] -= sum * v[i * of.row];
    }
    BARRIER;
  }
}

// One column of x becomes the product of `steps` reflections times it, the last of them first, or with `turned` the first.
KERNEL reflect(BUFFER(a), BUFFER(taus), BUFFER(x), Stack a_of, Stack x_of, i64 rows, i64 columns, i64 count, i64 steps, i64 turned) {
  if (ITEM >= count) return;
  const i64 number = ITEM / columns, column = ITEM - number * columns;
  GLOBAL const T *m = MATRIX(const T, a, a_of, number);
  GLOBAL T *one = MATRIX(T, x, x_of, number) + column * x_of.column;
  for (i64 n = 0; n < steps; ++n) {
    const i64 k = turned ? n : steps - 1 - n;
    T sum = one[k * x_of.row];
    for (i64 i = k + 1; i < rows; ++i) sum += m[AT(a_of, i, k)] * one[i * x_of.row];
    sum *= OF(const T, taus)[number * steps + k];
    one[k * x_of.row] -= sum;
    for (i64 i = k + 1; i < rows; ++i) one[i * x_of.row] -= sum * m[AT(a_of, i, k)];
  }
}

// ---- LDL, by Bunch and Kaufman: a pivot below 0, twice, is that of a block of two

#define LDL_ALPHA ((T)0.6403882032022076)  // (1 + sqrt(17)) / 8 keeps the growth of elements smallest

// The lower triangle; what is above is 0 already. info: the number, from 1, of the first zero pivot, or 0.
KERNEL ldl(BUFFER(a), BUFFER(pivots), BUFFER(info), Stack of, i64 n) {
  SHARED T sizes[GROUP];
  SHARED i64 numbers[GROUP];
  GLOBAL T *m = MATRIX(T, a, of, GROUP_NUMBER);
  GLOBAL int *pivot = OF(int, pivots) + GROUP_NUMBER * n;
  i64 failed = 0;
  for (i64 k = 0; k < n;) {
    // The pivot: the element on the diagonal, one further down, or a block of two.
    const i64 below = largest(m + AT(of, 0, k), of.row, k + 1, n, sizes, numbers), i = k + 1 < n ? below : k;
    const i64 left = largest(m + AT(of, i, 0), of.column, k, i, sizes, numbers);
    const i64 right = largest(m + AT(of, 0, i), of.row, i + 1, n, sizes, numbers);
    const T here = fabs(m[AT(of, k, k)]), there = fabs(m[AT(of, i, i)]), column = i > k ? fabs(m[AT(of, i, k)]) : (T)0;
    T row = i > k ? fabs(m[AT(of, i, left)]) : (T)0;
    if (i + 1 < n && fabs(m[AT(of, right, i)]) > row) row = fabs(m[AT(of, right, i)]);
    const int zero = !(here > 0 || column > 0) || here != here;
    i64 found = i, steps = 1;
    if (zero || here >= LDL_ALPHA * column || here >= LDL_ALPHA * column * (column / row)) {
      found = k;
    } else if (!(there >= LDL_ALPHA * row)) {
      steps = 2;
    }
    const i64 last = k + steps - 1;
    if (zero && !failed) failed = k + 1;
    BARRIER;
    if (GROUP_ITEM == 0) {
      if (found != last) exchange(m + AT(of, last, last), m + AT(of, found, found));
      for (i64 s = k; s <= last; ++s) pivot[s] = (int)(steps == 1 ? found + 1 : -(found + 1));
    }
    if (found != last) {
      for (i64 r = last + 1 + GROUP_ITEM; r < n; r += GROUP) {
        if (r < found) exchange(m + AT(of, r, last), m + AT(of, found, r));
        if (r > found) exchange(m + AT(of, r, last), m + AT(of, r, found));
      }
      for (i64 c = k + GROUP_ITEM; c < last; c += GROUP) exchange(m + AT(of, last, c), m + AT(of, found, c));
    }
    BARRIER;
    // The rest loses F D^-1 F^T, F being the columns of the pivot, which then become F D^-1.
    const T first = m[AT(of, k, k)], mixed = m[AT(of, last, k)], second = m[AT(of, last, last)];
    const T scale = 1 / (first / mixed * (second / mixed) - 1) / mixed;
    for (int writing = 0; writing < 2; ++writing) {
      for (i64 r = last + 1 + GROUP_ITEM; r < n && !zero; r += GROUP) {
        const T x = m[AT(of, r, k)], y = m[AT(of, r, last)];
        const T p = steps == 1 ? x / first : scale * (second / mixed * x - y), q = scale * (first / mixed * y - x);
        if (writing) {
          m[AT(of, r, k)] = p;
          if (steps == 2) m[AT(of, r, last)] = q;
        } else {
          for (i64 c = last + 1; c <= r; ++c) {
            T sum = p * m[AT(of, c, k)];
            if (steps == 2) sum += q * m[AT(of, c, last)];
            m[AT(of, r, c)] -= sum;
          }
        }
      }
      BARRIER;
    }
    k += steps;
  }
  if (GROUP_ITEM == 0) OF(int, info)[GROUP_NUMBER] = (int)failed;
}

// One column of x, in place.
KERNEL ldl_solve(BUFFER(a), BUFFER(pivots), BUFFER(x), Stack a_of, Stack pivots_of, Stack x_of, i64 n, i64 columns, i64 count) {
  if (ITEM >= count) return;
  const i64 number = ITEM / columns, column = ITEM - number * columns;
  GLOBAL const T *m = MATRIX(const T, a, a_of, number);
  GLOBAL const int *p = MATRIX(const int, pivots, pivots_of, number);
  GLOBAL T *one = MATRIX(T, x, x_of, number) + column * x_of.column;
#define X(i) one[(i) * x_of.row]
#define PIVOT(i) p[(i) * pivots_of.row]
  i64 k = 0;
  while (k < n) {
    const i64 pivot = PIVOT(k), last = pivot > 0 || k + 1 == n ? k : k + 1;
    exchange(&X(last), &X((pivot < 0 ? -pivot : pivot) - 1));
    for (i64 i = last + 1; i < n; ++i) {
      T sum = m[AT(a_of, i, k)] * X(k);
      if (last > k) sum += m[AT(a_of, i, last)] * X(last);
      X(i) -= sum;
    }
    if (last > k) {
      const T mixed = m[AT(a_of, last, k)], first = m[AT(a_of, k, k)] / mixed, second = m[AT(a_of, last, last)] / mixed;
      const T scale = 1 / (first * second - 1) / mixed, x = X(k), y = X(last);
      X(k) = scale * (second * x - y);
      X(last) = scale * (first * y - x);
    } else {
      X(k) /= m[AT(a_of, k, k)];
    }
    k = last + 1;
  }
  while (k > 0) {
    const i64 last = k - 1, begin = k > 1 && PIVOT(last) < 0 && PIVOT(last - 1) < 0 ? last - 1 : last;
    for (i64 i = begin; i <= last; ++i) {
      T sum = 0;
      for (i64 j = last + 1; j < n; ++j) sum += m[AT(a_of, j, i)] * X(j);
      X(i) -= sum;
    }
    const i64 pivot = PIVOT(begin);
    exchange(&X(last), &X((pivot < 0 ? -pivot : pivot) - 1));
    k = begin;
  }
}
#endif
