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
  i64 a_row, a_column, b_row, b_column, bias_row, bias_column, out_row, out_column;
  Layout a_stack, b_stack, bias_stack, out_stack, a_part, b_part;
} Product;

FUNCTION void finish(const Product *p, GLOBAL const u8 *bias, int bias_type, GLOBAL u8 *out, int out_type, i64 stack, i64 row, i64 column,
                     T sum, T alpha, T beta) {
  T value = alpha * sum;
  if (beta != 0) {
    const i64 at = place_of(&p->bias_stack, stack) + row * p->bias_row + column * p->bias_column;
    value += beta * load(bias, at, bias_type);
  }
  store(out, place_of(&p->out_stack, stack) + row * p->out_row + column * p->out_column, out_type, value);
}

KERNEL product(BUFFER(a), BUFFER(b), BUFFER(bias), BUFFER(out), Product p, T alpha, T beta, i64 type, i64 bias_type, i64 out_type) {
  const i64 across = (p.columns + TILE - 1) / TILE, down = (p.rows + TILE - 1) / TILE;
  const i64 column = ITEM % across, row = ITEM / across % down * TILE;
  const i64 stack = ITEM / across / down % p.stacks, piece = ITEM / across / down / p.stacks;
  if (piece >= p.pieces) return;
  i64 a_rows[TILE], b_columns[TILE];  // those beyond the end read the last
  for (int i = 0; i < TILE; ++i) {
    a_rows[i] = (row + i < p.rows ? row + i : p.rows - 1) * p.a_row;
    b_columns[i] = (column + i * across < p.columns ? column + i * across : p.columns - 1) * p.b_column;
  }
  const i64 a_begin = a_at + place_of(&p.a_stack, stack), b_begin = b_at + place_of(&p.b_stack, stack);
  T sums[TILE][TILE];
  for (int i = 0; i < TILE; ++i)
    for (int j = 0; j < TILE; ++j) sums[i][j] = 0;
  const i64 total = p.parts * p.depth, end = total * (piece + 1) / p.pieces;
  for (i64 k = total * piece / p.pieces; k < end;) {
    const i64 part = k / p.depth, first = k - part * p.depth;
    const i64 count = p.depth - first < end - k ? p.depth - first : end - k;
    i64 a_now = a_begin + place_of(&p.a_part, part) + first * p.a_column;
    i64 b_now = b_begin + place_of(&p.b_part, part) + first * p.b_row;
    for (i64 c = 0; c < count; ++c, a_now += p.a_column, b_now += p.b_row) {
      T x[TILE], y[TILE];
      for (int i = 0; i < TILE; ++i) x[i] = load(a, a_now + a_rows[i], STORED);
      for (int j = 0; j < TILE; ++j) y[j] = load(b, b_now + b_columns[j], STORED);
      for (int i = 0; i < TILE; ++i)
        for (int j = 0; j < TILE; ++j) sums[i][j] += x[i] * y[j];
    }
    k += count;
  }
  for (int i = 0; i < TILE && row + i < p.rows; ++i) {
    for (int j = 0; j < TILE && column + j * across < p.columns; ++j) {
      if (p.pieces > 1)
        OF(T, out)[((piece * p.stacks + stack) * p.rows + row + i) * p.columns + column + j * across] = sums[i][j];
      else
        finish(&p, bias + bias_at, (int)bias_type, out + out_at, (int)out_type, stack, row + i, column + j * across, sums[i][j], alpha, beta);
    }
  }
}

// From what `product` wrote for each piece.
KERNEL sum_pieces(BUFFER(pieces), BUFFER(bias), BUFFER(out), Product p, T alpha, T beta, i64 bias_type, i64 out_type) {
  const i64 each = p.stacks * p.rows * p.columns;
  if (ITEM >= each) return;
  T sum = 0;
  for (i64 i = 0; i < p.pieces; ++i) sum += OF(const T, pieces)[i * each + ITEM];
  const i64 column = ITEM % p.columns, row = ITEM / p.columns % p.rows, stack = ITEM / p.columns / p.rows;
  finish(&p, bias + bias_at, (int)bias_type, out + out_at, (int)out_type, stack, row, column, sum, alpha, beta);
}
