// Products of stacks of matrices: out = alpha * sum over parts of a @ b + beta * bias. All operands have strides, in bytes.
//
// A work item computes TILE x TILE elements: rows that lie next to each other, columns that are as far apart as there are work
// items in a row of tiles, so that neighbours read neighbours. Where there are few tiles and long sums, each sum is cut into
// pieces, which `sum_pieces` adds up.
#define TILE 4
#ifndef STORED
#define STORED (int)type  // of a and b; named when the text is compiled where T is a floating-point type
#endif

typedef struct {
  i64 stacks, rows, columns, depth, parts, pieces;
  i64 a[2], b[2], bias[2], out[2];       // from row to row, and from column to column
  Layout a_places[2], b_places[2], bias_places, out_places;  // of the stacks, and of what is summed
  i64 image, out_image;  // with IMAGES: columns of an image, and from image to image of the result
} Product;

// Of a column of the result, in bytes.
FUNCTION i64 column_place(const Product *p, i64 column) {
#ifdef IMAGES
  const i64 image = quotient(column, p->image);
  return image * p->out_image + (column - image * p->image) * p->out[1];
#else
  return column * p->out[1];
#endif
}

// Of a stack whose bias and results begin at these places.
FUNCTION void finish(const Product *p, GLOBAL const u8 *bias, int bias_type, GLOBAL u8 *out, int out_type, i64 row, i64 column, T sum,
                     T alpha, T beta) {
  T value = alpha * sum;
  if (beta != 0) value += beta * load(bias, row * p->bias[0] + column * p->bias[1], bias_type);
  store(out, row * p->out[0] + column_place(p, column), out_type, value);
}

// From what the kernels below wrote for each piece.
KERNEL sum_pieces(BUFFER(pieces), BUFFER(bias), BUFFER(out), Product p, T alpha, T beta, i64 bias_type, i64 out_type) {
  const i64 each = p.stacks * p.rows * p.columns;
  if (ITEM >= each) return;
  T sum = 0;
  for (i64 i = 0; i < p.pieces; ++i) sum += OF(const T, pieces)[i * each + ITEM];
  const i64 column = ITEM % p.columns, row = ITEM / p.columns % p.rows, stack = ITEM / p.columns / p.rows;
  const i64 bias_begin = bias_at + place_of(&p.bias_places, stack), out_begin = out_at + place_of(&p.out_places, stack);
  finish(&p, bias + bias_begin, (int)bias_type, out + out_begin, (int)out_type, row, column, sum, alpha, beta);
}

#if defined(ROWS)
#include "tiles.cl"
#if defined(__CUDACC__) && !defined(GATHERED)

TILES product_tiles(BUFFER(a), BUFFER(b), BUFFER(bias), BUFFER(out), Product p, T alpha, T beta) {
  const Share s(p, p.parts * ((p.depth + SLICE - 1) / SLICE));
  const Slices slices(p, s.from);
  using A = Matrix<ROWS, A_TURNED>;
  using B = Matrix<COLUMNS, B_TURNED>;
  LOCAL uint4 of_a[STAGES * A::SPACE], of_b[STAGES * B::SPACE];
  A left(a + a_at + place_of(&p.a_places[0], s.stack) + s.row * p.a[0], p.a_places[1], p.a[0], p.a[1], p.rows - s.row, slices);
  B right(b + b_at + place_of(&p.b_places[0], s.stack) + s.column * p.b[1], p.b_places[1], p.b[1], p.b[0], p.columns - s.column, slices);
  Sums sums;
  multiply(left, right, of_a, of_b, slices, s, sums);
  finish_all(p, sums, bias, bias_at, out, out_at, alpha, beta);
}
#endif

#elif defined(TILED)

// The same by groups, for GPUs: a group computes BLOCK x BLOCK elements. It brings SLICE terms of its rows of `a` and columns of `b`
// into local memory at a time, and each item adds up 8 x 8 products of them, of rows and columns that are 8 apart.
#define BLOCK 64
#define SLICE 16
#define EACH 8  // GROUP is EACH * EACH

KERNEL product_tiled(BUFFER(a), BUFFER(b), BUFFER(bias), BUFFER(out), Product p, T alpha, T beta, i64 type, i64 bias_type, i64 out_type) {
  LOCAL T of_a[SLICE][BLOCK + 1], of_b[SLICE][BLOCK + 1];  // one more: neighbours of both directions lie in different banks
  const i64 across = (p.columns + BLOCK - 1) / BLOCK, down = (p.rows + BLOCK - 1) / BLOCK, group = GROUP_NUMBER;
  const i64 column = group % across * BLOCK, row = group / across % down * BLOCK;
  const i64 stack = group / across / down % p.stacks, piece = group / across / down / p.stacks;
  const i64 a_begin = a_at + place_of(&p.a_places[0], stack), b_begin = b_at + place_of(&p.b_places[0], stack);
  const int me = MEMBER, x = me % EACH, y = me / EACH;
  // Neighbours read neighbours in memory: along a row, or from row to row.
  const int a_by_rows = p.a[1] <= p.a[0], b_by_rows = p.b[1] <= p.b[0];
  T sums[EACH][EACH];
  for (int i = 0; i < EACH; ++i)
    for (int j = 0; j < EACH; ++j) sums[i][j] = 0;
  const i64 total = p.parts * p.depth, end = total * (piece + 1) / p.pieces;
  for (i64 k = total * piece / p.pieces; k < end;) {
    const i64 part = k / p.depth, first = k - part * p.depth;
    i64 count = p.depth - first < end - k ? p.depth - first : end - k;
    if (count > SLICE) count = SLICE;
    const i64 a_now = a_begin + place_of(&p.a_places[1], part) + first * p.a[1];
    const i64 b_now = b_begin + place_of(&p.b_places[1], part) + first * p.b[0];
    for (int i = me; i < SLICE * BLOCK; i += GROUP) {
      const int a_row = a_by_rows ? i / SLICE : i % BLOCK, a_term = a_by_rows ? i % SLICE : i / BLOCK;
      const int b_column = b_by_rows ? i % BLOCK : i / SLICE, b_term = b_by_rows ? i / BLOCK : i % SLICE;
      of_a[a_term][a_row] = a_term < count && row + a_row < p.rows
        ? load(a, a_now + a_term * p.a[1] + (row + a_row) * p.a[0], STORED) : (T)0;
      of_b[b_term][b_column] = b_term < count && column + b_column < p.columns
        ? load(b, b_now + b_term * p.b[0] + (column + b_column) * p.b[1], STORED) : (T)0;
    }
    BARRIER;
    for (int c = 0; c < SLICE; ++c) {
      T left[EACH], right[EACH];
      for (int i = 0; i < EACH; ++i) left[i] = of_a[c][y + i * EACH];
      for (int j = 0; j < EACH; ++j) right[j] = of_b[c][x + j * EACH];
      for (int i = 0; i < EACH; ++i)
        for (int j = 0; j < EACH; ++j) sums[i][j] += left[i] * right[j];
    }
    BARRIER;
    k += count;
  }
  const i64 bias_begin = bias_at + place_of(&p.bias_places, stack), out_begin = out_at + place_of(&p.out_places, stack);
  for (int i = 0; i < EACH; ++i) {
    for (int j = 0; j < EACH; ++j) {
      const i64 r = row + y + i * EACH, c = column + x + j * EACH;
      if (r >= p.rows || c >= p.columns) continue;
      if (p.pieces > 1)
        OF(T, out)[((piece * p.stacks + stack) * p.rows + r) * p.columns + c] = sums[i][j];
      else
        finish(&p, bias + bias_begin, (int)bias_type, out + out_begin, (int)out_type, r, c, sums[i][j], alpha, beta);
    }
  }
}

#elif defined(PACKED) && !defined(__CUDACC__)

// The same for processors, which OpenCL only has, from copies of `a` and `b` in T in the order in which they are read: of HIGH rows of
// `a`, and of BROAD columns of `b`, the first term of each, then the second. Lines beyond the end are 0.
#define HIGH 8
#define FOR_ROWS(of) of(0) of(1) of(2) of(3) of(4) of(5) of(6) of(7)  // sums with names of their own stay in registers
#define LINE_float float8
#define LINE_double double4
#define LINE_i64 long4
#define LINE NAME_FOR(LINE_, T)  // BROAD numbers

KERNEL pack(BUFFER(x), BUFFER(to), Layout stack_layout, Layout part_layout, i64 type, i64 stacks, i64 lines, i64 depth, i64 parts,
            i64 line_stride, i64 term_stride, i64 width) {
  const i64 panels = (lines + width - 1) / width, terms = parts * depth;
  if (ITEM >= stacks * panels * terms) return;
  const i64 term = ITEM % terms, panel = ITEM / terms % panels, stack = ITEM / terms / panels, part = term / depth;
  const i64 at = x_at + place_of(&stack_layout, stack) + place_of(&part_layout, part) + (term - part * depth) * term_stride;
  for (i64 i = 0; i < width; ++i) {
    const i64 line = panel * width + i;
    OF(T, to)[ITEM * width + i] = line < lines ? load(x, at + line * line_stride, STORED) : (T)0;
  }
}

// The copies of the columns are `panels` panels, counted through all stacks, from number `first` on: see pack_columns in convolution.cl.
// a_stacks, b_stacks: how many were copied; further stacks take the same again.
KERNEL product_packed(BUFFER(a), BUFFER(b), BUFFER(bias), BUFFER(out), Product p, T alpha, T beta, i64 a_stacks, i64 b_stacks, i64 first,
                      i64 panels, i64 bias_type, i64 out_type) {
  const i64 across = (p.columns + BROAD - 1) / BROAD, down = (p.rows + HIGH - 1) / HIGH;
  const i64 high = ITEM % down, panel = first + ITEM / down % panels, piece = ITEM / down / panels;
  if (piece >= p.pieces) return;
  const i64 broad = panel % across, stack = panel / across, terms = p.parts * p.depth;
  const i64 begin = terms * piece / p.pieces, end = terms * (piece + 1) / p.pieces;
  GLOBAL const T *x = OF(const T, a) + (((stack % a_stacks) * down + high) * terms + begin) * HIGH;
  GLOBAL const T *y = OF(const T, b) + (((stack % b_stacks) * across + broad - first) * terms + begin) * BROAD;
#define BEGIN(i) LINE sum##i = 0;
#define ADD(i) sum##i += x[i] * line;
#define KEEP(i) found[i] = sum##i;
  FOR_ROWS(BEGIN)
  for (i64 k = begin; k < end; ++k, x += HIGH, y += BROAD) {
    const LINE line = *(GLOBAL const LINE *)y;
    FOR_ROWS(ADD)
  }
  LINE found[HIGH];
  FOR_ROWS(KEEP)
  const i64 bias_begin = bias_at + place_of(&p.bias_places, stack), out_begin = out_at + place_of(&p.out_places, stack);
  for (int i = 0; i < HIGH; ++i) {
    for (int j = 0; j < BROAD; ++j) {
      const i64 row = high * HIGH + i, column = broad * BROAD + j;
      if (row >= p.rows || column >= p.columns) continue;
      if (p.pieces > 1)
        OF(T, out)[((piece * p.stacks + stack) * p.rows + row) * p.columns + column] = ((const T *)&found[i])[j];
      else
        finish(&p, bias + bias_begin, (int)bias_type, out + out_begin, (int)out_type, row, column, ((const T *)&found[i])[j], alpha, beta);
    }
  }
}

#else

KERNEL product(BUFFER(a), BUFFER(b), BUFFER(bias), BUFFER(out), Product p, T alpha, T beta, i64 type, i64 bias_type, i64 out_type) {
  const i64 across = (p.columns + TILE - 1) / TILE, down = (p.rows + TILE - 1) / TILE;
  const i64 column = ITEM % across, row = ITEM / across % down * TILE;
  const i64 stack = ITEM / across / down % p.stacks, piece = ITEM / across / down / p.stacks;
  if (piece >= p.pieces) return;
  i64 a_rows[TILE], b_columns[TILE];  // those beyond the end read the last
  for (int i = 0; i < TILE; ++i) {
    a_rows[i] = (row + i < p.rows ? row + i : p.rows - 1) * p.a[0];
    b_columns[i] = (column + i * across < p.columns ? column + i * across : p.columns - 1) * p.b[1];
  }
  const i64 a_begin = a_at + place_of(&p.a_places[0], stack), b_begin = b_at + place_of(&p.b_places[0], stack);
  T sums[TILE][TILE];
  for (int i = 0; i < TILE; ++i)
    for (int j = 0; j < TILE; ++j) sums[i][j] = 0;
  const i64 total = p.parts * p.depth, end = total * (piece + 1) / p.pieces;
  for (i64 k = total * piece / p.pieces; k < end;) {
    const i64 part = k / p.depth, first = k - part * p.depth;
    const i64 count = p.depth - first < end - k ? p.depth - first : end - k;
    i64 a_now = a_begin + place_of(&p.a_places[1], part) + first * p.a[1];
    i64 b_now = b_begin + place_of(&p.b_places[1], part) + first * p.b[0];
    for (i64 c = 0; c < count; ++c, a_now += p.a[1], b_now += p.b[0]) {
      T x[TILE], y[TILE];
      for (int i = 0; i < TILE; ++i) x[i] = load(a, a_now + a_rows[i], STORED);
      for (int j = 0; j < TILE; ++j) y[j] = load(b, b_now + b_columns[j], STORED);
      for (int i = 0; i < TILE; ++i)
        for (int j = 0; j < TILE; ++j) sums[i][j] += x[i] * y[j];
    }
    k += count;
  }
  const i64 bias_begin = bias_at + place_of(&p.bias_places, stack), out_begin = out_at + place_of(&p.out_places, stack);
  for (int i = 0; i < TILE && row + i < p.rows; ++i) {
    for (int j = 0; j < TILE && column + j * across < p.columns; ++j) {
      if (p.pieces > 1)
        OF(T, out)[((piece * p.stacks + stack) * p.rows + row + i) * p.columns + column + j * across] = sums[i][j];
      else
        finish(&p, bias + bias_begin, (int)bias_type, out + out_begin, (int)out_type, row + i, column + j * across, sums[i][j], alpha,
               beta);
    }
  }
}
#endif
