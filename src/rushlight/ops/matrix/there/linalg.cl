// Factorisations of stacks of matrices, and solutions by them, with the pivots and signs of LAPACK.
//
// A matrix operand is a BUFFER and a Stack. A factorisation is in place, and the host starts the kernels of its steps one after
// another: the kernel that finds a pivot has one work item for each matrix, the kernel that eliminates has a work item for each row,
// column or piece of a column. So no item has to wait for another. Solutions and reflections have one item for each column.
#ifdef REAL

typedef struct {
  Layout places;  // of the matrices
  i64 row, column;  // how far apart neighbours lie, in elements
} Stack;

#define MATRIX(type, p, of, number) ((GLOBAL type *)(p + p##_at + place_of(&of.places, number)))
#define AT(of, i, j) ((i) * of.row + (j) * of.column)

// Whether a magnitude is above another. No number is above all others.
FUNCTION int above(T a, T b) { return a > b || (a != a && b == b); }

// The number of the largest magnitude among elements begin to end, `step` apart: the first of them.
FUNCTION i64 largest(GLOBAL const T *p, i64 step, i64 begin, i64 end) {
  T most = -1;
  i64 at = begin;
  for (i64 i = begin; i < end; ++i) {
    const T size = fabs(p[i * step]);
    if (above(size, most)) {
      most = size;
      at = i;
    }
  }
  return at;
}

FUNCTION void exchange(GLOBAL T *a, GLOBAL T *b) {
  const T kept = *a;
  *a = *b;
  *b = kept;
}

// ---- parts of matrices

// The new value of an element: 0, 1, the element of `a`, or its mirror image across the diagonal.
enum { PART_ZERO, PART_ONE, PART_SAME, PART_MIRRORED };

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

// Step k: find the pivot, and bring column k into its final form.
KERNEL lu_pivot(BUFFER(a), BUFFER(pivots), Stack of, i64 rows, i64 steps, i64 count, i64 k) {
  if (ITEM >= count) return;
  GLOBAL T *column = MATRIX(T, a, of, ITEM) + k * of.column;
  const i64 found = largest(column, of.row, k, rows);
  OF(int, pivots)[ITEM * steps + k] = (int)(found + 1);
  exchange(column + k * of.row, column + found * of.row);
  const T pivot = column[k * of.row];
  for (i64 i = k + 1; i < rows && pivot != 0; ++i) column[i * of.row] /= pivot;
}

// Exchange the rows in all other columns.
KERNEL lu_exchange(BUFFER(a), BUFFER(pivots), Stack of, i64 columns, i64 steps, i64 count, i64 k) {
  if (ITEM >= count) return;
  const i64 number = ITEM / columns, j = ITEM - number * columns, found = OF(const int, pivots)[number * steps + k] - 1;
  GLOBAL T *column = MATRIX(T, a, of, number) + j * of.column;
  if (j != k && found != k) exchange(column + k * of.row, column + found * of.row);
}

// Take row k out of those below, in pieces of the columns to the right.
#define LU_PIECE 8
KERNEL lu_eliminate(BUFFER(a), Stack of, i64 rows, i64 columns, i64 pieces, i64 count, i64 k) {
  if (ITEM >= count) return;
  const i64 at = ITEM / pieces, begin = k + 1 + (ITEM - at * pieces) * LU_PIECE, number = at / columns;
  const i64 end = begin + LU_PIECE < rows ? begin + LU_PIECE : rows;
  GLOBAL T *m = MATRIX(T, a, of, number), *column = m + (k + 1 + at - number * columns) * of.column;
  const T row = column[k * of.row];
  for (i64 i = begin; i < end; ++i) column[i * of.row] -= m[AT(of, i, k)] * row;
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
// positive-definite, or 0; stopped: whether a pivot failed. Up to its column the factor is there, then the matrix itself.

// Step k: the sums of column k. That of a row below waits above the diagonal, for it is written only where the pivot is good.
KERNEL cholesky_sums(BUFFER(a), BUFFER(stopped), Stack of, i64 n, i64 count, i64 k) {
  if (ITEM >= count) return;
  const i64 left = n - k, number = ITEM / left, i = k + ITEM - number * left;
  if (OF(const int, stopped)[number]) return;
  GLOBAL T *m = MATRIX(T, a, of, number);
  T sum = m[AT(of, i, k)];
  for (i64 j = 0; j < k; ++j) sum -= m[AT(of, i, j)] * m[AT(of, k, j)];
  m[AT(of, k, i)] = sum;
}

// The rows below divided by the root of the pivot. The pivot itself becomes its root last of all, in `cholesky_roots`.
KERNEL cholesky_column(BUFFER(a), BUFFER(stopped), Stack of, i64 n, i64 count, i64 k) {
  if (ITEM >= count) return;
  const i64 left = n - k, number = ITEM / left, i = k + ITEM - number * left;
  GLOBAL T *m = MATRIX(T, a, of, number);
  const T pivot = m[AT(of, k, k)];
  const int good = pivot > 0;
  if (i == k) {
    if (!good) OF(int, stopped)[number] = 1;
    return;
  }
  if (good && !OF(const int, stopped)[number]) m[AT(of, i, k)] = m[AT(of, k, i)] / sqrt(pivot);
  m[AT(of, k, i)] = 0;
}

KERNEL cholesky_roots(BUFFER(a), BUFFER(info), Stack of, i64 n, i64 count) {
  if (ITEM >= count) return;
  GLOBAL T *m = MATRIX(T, a, of, ITEM);
  i64 failed = 0;
  T pivot = 0;
  for (i64 k = 0; k < n; ++k) {
    const int infinite = pivot == (T)INFINITE;
    pivot = m[AT(of, k, k)];
    if (!failed && (!(pivot > 0) || infinite)) failed = k + 1;
    if (!(pivot > 0)) break;
    m[AT(of, k, k)] = sqrt(pivot);
  }
  OF(int, info)[ITEM] = (int)failed;
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

// Householder's reflections, below the diagonal, and R on it and above. Step k: the reflection of column k.
KERNEL reflection(BUFFER(a), BUFFER(taus), Stack of, i64 rows, i64 steps, i64 count, i64 k) {
  if (ITEM >= count) return;
  GLOBAL T *v = MATRIX(T, a, of, ITEM) + k * of.column;
  const T size = k + 1 < rows ? fabs(v[largest(v, of.row, k + 1, rows) * of.row]) : (T)0, alpha = v[k * of.row];
  T beta = alpha, tau = 0;
  if (size != 0) {
    T sum = 0;
    for (i64 i = k + 1; i < rows; ++i) sum += v[i * of.row] / size * (v[i * of.row] / size);
    beta = -copysign(hypot(alpha, size * sqrt(sum)), alpha);
    tau = (beta - alpha) / beta;
    for (i64 i = k + 1; i < rows; ++i) v[i * of.row] /= alpha - beta;
  }
  v[k * of.row] = beta;
  OF(T, taus)[ITEM * steps + k] = tau;
}

FUNCTION void reflected(GLOBAL const T *v, i64 v_step, T tau, GLOBAL T *x, i64 step, i64 k, i64 rows) {
  T sum = x[k * step];
  for (i64 i = k + 1; i < rows; ++i) sum += v[i * v_step] * x[i * step];
  sum *= tau;
  x[k * step] -= sum;
  for (i64 i = k + 1; i < rows; ++i) x[i * step] -= sum * v[i * v_step];
}

// Applies the reflection of column k to the `columns` to its right.
KERNEL reflect_rest(BUFFER(a), BUFFER(taus), Stack of, i64 rows, i64 columns, i64 steps, i64 count, i64 k) {
  if (ITEM >= count) return;
  const i64 number = ITEM / columns, j = k + 1 + ITEM - number * columns;
  GLOBAL T *m = MATRIX(T, a, of, number);
  const T tau = OF(const T, taus)[number * steps + k];
  if (tau != 0) reflected(m + k * of.column, of.row, tau, m + j * of.column, of.row, k, rows);
}

// One column of x becomes the product of `steps` reflections times it, the last of them first, or with `turned` the first.
KERNEL reflect(BUFFER(a), BUFFER(taus), BUFFER(x), Stack a_of, Stack x_of, i64 rows, i64 columns, i64 count, i64 steps, i64 turned) {
  if (ITEM >= count) return;
  const i64 number = ITEM / columns, column = ITEM - number * columns;
  GLOBAL const T *m = MATRIX(const T, a, a_of, number);
  GLOBAL T *one = MATRIX(T, x, x_of, number) + column * x_of.column;
  for (i64 n = 0; n < steps; ++n) {
    const i64 k = turned ? n : steps - 1 - n;
    reflected(m + k * a_of.column, a_of.row, OF(const T, taus)[number * steps + k], one, x_of.row, k, rows);
  }
}

// ---- LDL, by Bunch and Kaufman: a pivot below 0, twice, is that of a block of two

#define LDL_ALPHA ((T)0.6403882032022076)  // (1 + sqrt(17)) / 8 keeps the growth of elements smallest

// Divides a row of two by a block of two (first, mixed; mixed, second), on its right.
FUNCTION void divided(T first, T mixed, T second, T *x, T *y) {
  const T a = first / mixed, b = second / mixed, scale = 1 / (a * b - 1) / mixed, kept = *x;
  *x = scale * (b * kept - *y);
  *y = scale * (a * *y - kept);
}

// The columns F of the pivot, below it, become F D^-1; steps: 1 or 2, how many they are.
FUNCTION void ldl_quotients(GLOBAL const T *m, const Stack *of, i64 k, i64 steps, i64 r, T *x, T *y) {
  *x = m[r * of->row + k * of->column];
  *y = 0;
  const T first = m[k * (of->row + of->column)];
  if (steps == 1) {
    *x /= first;
  } else {
    *y = m[r * of->row + (k + 1) * of->column];
    divided(first, m[(k + 1) * of->row + k * of->column], m[(k + 1) * (of->row + of->column)], x, y);
  }
}

// The lower triangle; what is above is 0 already. state: the row of each matrix's pivot, and how many rows it has, 0 for a zero
// pivot; info: the number, from 1, of the first zero pivot, or 0. A step begins with the end of the one before: its F D^-1.
KERNEL ldl_pivot(BUFFER(a), BUFFER(pivots), BUFFER(state), BUFFER(info), Stack of, i64 n, i64 count, i64 begins) {
  if (ITEM >= count) return;
  GLOBAL T *m = MATRIX(T, a, of, ITEM);
  GLOBAL int *pivot = OF(int, pivots) + ITEM * n, *now = OF(int, state) + ITEM * 2;
  i64 k = 0;
  if (begins) {
    OF(int, info)[ITEM] = 0;
  } else {
    if ((k = now[0]) >= n) return;
    for (i64 r = k + now[1]; r < n && now[1]; ++r) {
      T x, y;
      ldl_quotients(m, &of, k, now[1], r, &x, &y);
      m[AT(of, r, k)] = x;
      if (now[1] == 2) m[AT(of, r, k + 1)] = y;
    }
    k += now[1] ? now[1] : 1;
  }
  now[0] = (int)k;
  if (k >= n) return;
  // The pivot: the element on the diagonal, one further down, or a block of two.
  const i64 i = k + 1 < n ? largest(m + AT(of, 0, k), of.row, k + 1, n) : k;
  const T here = fabs(m[AT(of, k, k)]), there = fabs(m[AT(of, i, i)]), column = i > k ? fabs(m[AT(of, i, k)]) : (T)0;
  T row = 0;
  for (i64 c = k; c < n; ++c) {
    const T size = c == i ? (T)0 : fabs(m[c < i ? AT(of, i, c) : AT(of, c, i)]);
    if (above(size, row)) row = size;
  }
  const int zero = !(here > 0 || column > 0) || here != here;
  const int stays = zero || here >= LDL_ALPHA * column || here >= LDL_ALPHA * column * (column / row);
  const i64 steps = stays || there >= LDL_ALPHA * row ? 1 : 2, found = stays ? k : i, last = k + steps - 1;
  now[1] = (int)(zero ? 0 : steps);
  if (zero && !OF(int, info)[ITEM]) OF(int, info)[ITEM] = (int)(k + 1);
  for (i64 s = k; s <= last; ++s) pivot[s] = (int)(steps == 1 ? found + 1 : -(found + 1));
  if (found == last) return;
  exchange(m + AT(of, last, last), m + AT(of, found, found));
  for (i64 r = last + 1; r < n; ++r)
    if (r != found) exchange(m + AT(of, r, last), m + (r < found ? AT(of, found, r) : AT(of, r, found)));
  for (i64 c = k; c < last; ++c) exchange(m + AT(of, last, c), m + AT(of, found, c));
}

// The rest loses F D^-1 F^T: one row of it.
KERNEL ldl_rest(BUFFER(a), BUFFER(state), Stack of, i64 n, i64 count) {
  if (ITEM >= count) return;
  const i64 number = ITEM / n, r = ITEM - number * n, k = OF(const int, state)[number * 2], steps = OF(const int, state)[number * 2 + 1];
  if (!steps || r < k + steps) return;
  GLOBAL T *m = MATRIX(T, a, of, number);
  T x, y;
  ldl_quotients(m, &of, k, steps, r, &x, &y);
  for (i64 c = k + steps; c <= r; ++c) {
    T sum = x * m[AT(of, c, k)];
    if (steps == 2) sum += y * m[AT(of, c, k + 1)];
    m[AT(of, r, c)] -= sum;
  }
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
      T x = X(k), y = X(last);
      divided(m[AT(a_of, k, k)], m[AT(a_of, last, k)], m[AT(a_of, last, last)], &x, &y);
      X(k) = x;
      X(last) = y;
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

// ---- singular values, by Jacobi: pairs of columns are turned until all are orthogonal

// One round of pairs of columns, each in one pair at most; `turns` gets the same turns. moved: whether there were any.
KERNEL jacobi(BUFFER(a), BUFFER(turns), BUFFER(moved), Stack a_of, Stack turns_of, i64 rows, i64 columns, i64 pairs, i64 count, i64 round,
              T least) {
  if (ITEM >= count) return;
  const i64 number = ITEM / pairs, pair = ITEM - number * pairs, others = 2 * pairs - 1;
  const i64 i = pair ? (round + pair) % others : others, j = (round - pair + others) % others;
  if (i >= columns || j >= columns) return;
  GLOBAL T *m = MATRIX(T, a, a_of, number), *v = MATRIX(T, turns, turns_of, number);
  T xx = 0, yy = 0, xy = 0;
  for (i64 r = 0; r < rows; ++r) {
    const T x = m[AT(a_of, r, i)], y = m[AT(a_of, r, j)];
    xx += x * x;
    yy += y * y;
    xy += x * y;
  }
  if (!(fabs(xy) > least * sqrt(xx) * sqrt(yy))) return;
  OF(int, moved)[0] = 1;
  const T ratio = (yy - xx) / (2 * xy), slope = (ratio < 0 ? -1 : 1) / (fabs(ratio) + hypot((T)1, ratio));
  const T c = 1 / sqrt(1 + slope * slope), s = c * slope;
  for (i64 r = 0; r < rows; ++r) {
    const T x = m[AT(a_of, r, i)], y = m[AT(a_of, r, j)];
    m[AT(a_of, r, i)] = c * x - s * y;
    m[AT(a_of, r, j)] = s * x + c * y;
  }
  for (i64 r = 0; r < columns; ++r) {
    const T x = v[AT(turns_of, r, i)], y = v[AT(turns_of, r, j)];
    v[AT(turns_of, r, i)] = c * x - s * y;
    v[AT(turns_of, r, j)] = s * x + c * y;
  }
}
#endif
