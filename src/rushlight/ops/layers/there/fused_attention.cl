// Attention without a matrix of scores in memory, for NVIDIA's GPUs: a group keeps tiles of rows in
// shared memory, makes the scores of a tile of queries and a tile of keys in registers, and goes on
// to the next tile. DEPTH is the size of a head, X the type of elements; M is the mask's where
// there is one.
//
// A head has the matrix at place_of(&heads, head), with rows `row` bytes apart; heads of a group
// share keys and values. Logarithms of sums of exponentials are as in attention.cl.
#if defined(__CUDACC__) && defined(DEPTH)
#include "gpu.cl"
#include "vectors.cl"

typedef struct {
  i64 row;
  Layout heads;
} Rows;

typedef struct {
  i64 heads, group, queries, keys, causal, mask_column;
  Layout mask_rows;
} Problem;

#define LOG2E 1.44269504f
FUNCTION const u8 *head_of(const u8 *p, i64 at, const Rows &rows, i64 head) { return p + at + place_of(&rows.heads, head); }

// A scaled score with the mask; -INFINITE where the query does not see the key.
FUNCTION float shown(float score, const Problem &p, const u8 *mask, i64 head, i64 query, i64 key) {
  if (query >= p.queries || key >= p.keys || (p.causal && key > query)) return -INFINITE;
#ifdef M
  const float value = load(mask + place_of(&p.mask_rows, head * p.queries + query), key * p.mask_column, M);
  return M == TYPE_BOOL ? (value != 0 ? score : -INFINITE) : score + value;
#else
  return score;
#endif
}

// Whether queries from one on see all keys before another one.
FUNCTION int all_shown(const Problem &p, i64 query, i64 key) {
#ifdef M
  return 0;
#else
  return key <= p.keys && (!p.causal || key <= query + 1);
#endif
}

#ifdef DOTS
// Of each row of the result the product with its gradient: eight elements a work item.
KERNEL_OF(WIDE_GROUP) attention_dots(BUFFER(g), BUFFER(out), BUFFER(dots), GIVEN Problem p, GIVEN Rows of_g, GIVEN Rows of_out) {
  const i64 line = quotient(ITEM, DEPTH / 8), head = quotient(line, p.queries), query = line - head * p.queries;
  const i64 n = head < p.heads ? 8 : 0, column = ITEM % (DEPTH / 8) * 8 * SIZE(X);
  const Few<X, 8> one = fetch<X, 8>(head_of(g, g_at, of_g, n ? head : 0) + query * of_g.row + column, n);
  const Few<X, 8> other = fetch<X, 8>(head_of(out, out_at, of_out, n ? head : 0) + query * of_out.row + column, n);
  float sum = 0;
#pragma unroll
  for (int j = 0; j < 8; ++j) sum += one.value(j) * other.value(j);
  sum = fold<Sum>(sum, DEPTH / 8);
  if (n && ITEM % (DEPTH / 8) == 0) OF(float, dots)[line] = sum;
}

#else
// A score becomes its weight, and the gradient of the weight that of the score.
FUNCTION void slope_of(float *score, float *slope, const Problem &p, const u8 *mask, i64 head, i64 query, i64 key, float logarithm,
                       float product, float scale) {
  const float scaled = shown(*score * scale, p, mask, head, query, key);
  *score = logarithm == INFINITE ? 0 : exp2f((scaled - logarithm) * LOG2E);
  *slope = *score * (*slope - product);
}

// Gradients. Without BY_KEY a group has rows of queries, and goes through the keys: row_1 are
// queries, row_2 gradients of results, column_1 keys, column_2 values; first becomes the gradient
// of queries. With BY_KEY a group has rows of keys, and goes through the queries of all heads that
// share the keys: row_1 are keys, row_2 values, column_1 queries, column_2 gradients of results;
// first and second become the gradients of keys and of values.
#define GRADIENT_PARAMETERS                                                                                                      \
  BUFFER(row_1), BUFFER(row_2), BUFFER(column_1), BUFFER(column_2), BUFFER(mask), BUFFER(sums), BUFFER(dots), BUFFER(first),     \
      BUFFER(second), GIVEN Problem p, GIVEN Rows of_row_1, GIVEN Rows of_row_2, GIVEN Rows of_column_1, GIVEN Rows of_column_2, \
      GIVEN Rows of_first, GIVEN Rows of_second, float scale

#if X != TYPE_FLOAT32
// ---- halves: by tensor cores
// A warp has 16 rows of the scores; lane l holds of eight columns the two from 2 (l % 4) on, of row
// l / 4 and of the row eight below (the fragments of mma.m16n8k16).

// STEP: halves from row to row of a tile, so that eight rows lie in different banks.
enum { STEP = DEPTH + 8, KEYS = 64, LANE_ROWS = 2 };
#define LANE (MEMBER % 32)

FUNCTION void multiply(float d[4], const u32 a[4], const u32 *b) {
  if (X == TYPE_BFLOAT16) mma_bf16(d, a, b);
  else mma_half(d, a, b);
}
FUNCTION u32 pair_of(float low, float high) {
  return X == TYPE_BFLOAT16 ? to_bfloat(low) | (u32)to_bfloat(high) << 16 : to_half(low) | (u32)to_half(high) << 16;
}

// Begins to copy rows of a matrix into a tile; rows from `end` on become 0.
FUNCTION void bring(u16 *tile, const u8 *from, i64 row, i64 first, i64 end, int rows, int items) {
  for (int i = MEMBER; i < rows * (DEPTH / 8); i += items) {
    const int r = i / (DEPTH / 8), c = i % (DEPTH / 8) * 8;
    u16 *to = tile + r * STEP + c;
    if (first + r < end) copy_16(to, from + (first + r) * row + c * 2);
    else *(Few<X, 8> *)to = Few<X, 8>();
  }
}

// The 16 rows from `row` on and 16 columns of a tile as a left factor; as a right factor with rows
// for columns, and as they are.
FUNCTION void left_of(u32 a[4], const u16 *tile, int row, int column) {
  load_matrix_4(a, tile + (row + LANE % 16) * STEP + column + LANE / 16 * 8);
}
FUNCTION void right_of_turned(u32 b[4], const u16 *tile, int row, int column) {
  load_matrix_4(b, tile + (row + LANE / 16 * 8 + LANE % 8) * STEP + column + LANE / 8 % 2 * 8);
}
FUNCTION void right_of(u32 b[4], const u16 *tile, int row, int column) {
  load_matrix_4t(b, tile + (row + LANE % 16) * STEP + column + LANE / 16 * 8);
}

// sums += p tile, p being scores of `8 * N` columns.
template <int N> FUNCTION void add_product(float sums[DEPTH / 8][4], const float p[N][4], const u16 *tile) {
#pragma unroll
  for (int k = 0; k < N / 2; ++k) {
    const float *one = p[2 * k], *two = p[2 * k + 1];
    const u32 a[4] = {pair_of(one[0], one[1]), pair_of(one[2], one[3]), pair_of(two[0], two[1]), pair_of(two[2], two[3])};
#pragma unroll
    for (int n = 0; n < DEPTH / 16; ++n) {
      u32 b[4];
      right_of(b, tile, k * 16, n * 16);
      multiply(sums[2 * n], a, b);
      multiply(sums[2 * n + 1], a, b + 2);
    }
  }
}

// Writes the sums of 16 rows, those before `end`.
FUNCTION void put_sums(u8 *to, i64 row, i64 first, i64 end, const float sums[DEPTH / 8][4], const float factor[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const i64 r = first + LANE / 4 + 8 * half;
    if (r >= end) continue;
#pragma unroll
    for (int n = 0; n < DEPTH / 8; ++n) {
      const u32 two = pair_of(sums[n][2 * half] * factor[half], sums[n][2 * half + 1] * factor[half]);
      *(u32 *)(to + r * row + (n * 8 + LANE % 4 * 2) * 2) = two;
    }
  }
}

#ifdef FORWARD
// A group has 64 queries of a head, each of four warps 16.
KERNEL_OF(128) attend(BUFFER(q), BUFFER(k), BUFFER(v), BUFFER(mask), BUFFER(out), BUFFER(sums), GIVEN Problem p, GIVEN Rows of_q,
                      GIVEN Rows of_k, GIVEN Rows of_v, GIVEN Rows of_out, float scale) {
  __shared__ __align__(16) u16 tiles[2][KEYS * STEP];
  const i64 blocks = (p.queries + 63) / 64, head = GROUP_NUMBER / blocks;
  // The longest of causal ones first.
  const i64 begin = (blocks - 1 - GROUP_NUMBER % blocks) * 64, row = begin + MEMBER / 32 * 16;
  const u8 *keys = head_of(k, k_at, of_k, head), *values = head_of(v, v_at, of_v, head);
  const i64 last = p.causal && begin + 64 < p.keys ? begin + 64 : p.keys;
  bring(tiles[0], head_of(q, q_at, of_q, head), of_q.row, begin, p.queries, 64, 128);
  copy_commit();
  copy_wait(0);
  BARRIER;
  u32 queries[DEPTH / 16][4];
#pragma unroll
  for (int n = 0; n < DEPTH / 16; ++n) left_of(queries[n], tiles[0], MEMBER / 32 * 16, n * 16);
  BARRIER;
  bring(tiles[0], keys, of_k.row, 0, p.keys, KEYS, 128);
  copy_commit();
  bring(tiles[1], values, of_v.row, 0, p.keys, KEYS, 128);
  copy_commit();
  float made[DEPTH / 8][4] = {}, most[2] = {-INFINITE, -INFINITE}, total[2] = {};
  for (i64 first = 0; first < last; first += KEYS) {
    float s[KEYS / 8][4] = {};
    copy_wait(1);
    BARRIER;
#pragma unroll
    for (int n = 0; n < DEPTH / 16; ++n) {
#pragma unroll
      for (int m = 0; m < KEYS / 16; ++m) {
        u32 b[4];
        right_of_turned(b, tiles[0], m * 16, n * 16);
        multiply(s[2 * m], queries[n], b);
        multiply(s[2 * m + 1], queries[n], b + 2);
      }
    }
    BARRIER;
    if (first + KEYS < last) bring(tiles[0], keys, of_k.row, first + KEYS, p.keys, KEYS, 128);
    copy_commit();
    float before[2] = {most[0], most[1]}, part[2] = {};
    const int whole = all_shown(p, row, first + KEYS);
#pragma unroll
    for (int m = 0; m < KEYS / 8; ++m) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const i64 key = first + m * 8 + LANE % 4 * 2 + j % 2;
        s[m][j] *= scale;
        if (!whole) s[m][j] = shown(s[m][j], p, mask + mask_at, head, row + LANE / 4 + j / 2 * 8, key);
        most[j / 2] = Most::of(most[j / 2], s[m][j]);
      }
    }
    float shift[2], less[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      most[half] = Most::of(most[half], __shfl_xor_sync(WHOLE_WARP, most[half], 1));
      most[half] = Most::of(most[half], __shfl_xor_sync(WHOLE_WARP, most[half], 2));
      shift[half] = most[half] == -INFINITE ? 0 : most[half] * LOG2E;
      less[half] = exp2f(before[half] * LOG2E - shift[half]);
    }
#pragma unroll
    for (int m = 0; m < KEYS / 8; ++m) {
#pragma unroll
      for (int j = 0; j < 4; ++j) part[j / 2] += s[m][j] = exp2f(fmaf(s[m][j], LOG2E, -shift[j / 2]));
    }
#pragma unroll
    for (int n = 0; n < DEPTH / 8; ++n) {
#pragma unroll
      for (int j = 0; j < 4; ++j) made[n][j] *= less[j / 2];
    }
    total[0] = total[0] * less[0] + part[0];
    total[1] = total[1] * less[1] + part[1];
    copy_wait(1);
    BARRIER;
    add_product<KEYS / 8>(made, s, tiles[1]);
    BARRIER;
    if (first + KEYS < last) bring(tiles[1], values, of_v.row, first + KEYS, p.keys, KEYS, 128);
    copy_commit();
  }
  float factor[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    total[half] += __shfl_xor_sync(WHOLE_WARP, total[half], 1);
    total[half] += __shfl_xor_sync(WHOLE_WARP, total[half], 2);
    factor[half] = total[half] == 0 ? 0 : 1 / total[half];
    const i64 r = row + LANE / 4 + 8 * half;
    const float logarithm = total[half] == 0 ? INFINITE : most[half] + log(total[half]);
    if (LANE % 4 == 0 && r < p.queries) OF(float, sums)[head * p.queries + r] = logarithm;
  }
  put_sums((u8 *)head_of(out, out_at, of_out, head), of_out.row, row, p.queries, made, factor);
}
#else
#define COLUMNS 32
#if DEPTH > 64
#define HIGH 32
#define ITEMS 64
#else
#define HIGH 64
#define ITEMS 128
#endif

KERNEL_OF(ITEMS) attention_gradient(GRADIENT_PARAMETERS) {
  __shared__ __align__(16) u16 rows[2][HIGH * STEP], columns[2][COLUMNS * STEP];
  __shared__ float logarithms[COLUMNS], products[COLUMNS];
#ifdef BY_KEY
  const i64 n_rows = p.keys, n_columns = p.queries, members = p.group;
#else
  const i64 n_rows = p.queries, n_columns = p.keys, members = 1;
#endif
  const i64 blocks = (n_rows + HIGH - 1) / HIGH, head = GROUP_NUMBER / blocks;
  const i64 begin = GROUP_NUMBER % blocks * HIGH, row = begin + MEMBER / 32 * 16;
  bring(rows[0], head_of(row_1, row_1_at, of_row_1, head), of_row_1.row, begin, n_rows, HIGH, ITEMS);
  bring(rows[1], head_of(row_2, row_2_at, of_row_2, head), of_row_2.row, begin, n_rows, HIGH, ITEMS);
  float to_first[DEPTH / 8][4] = {}, to_second[DEPTH / 8][4] = {};
#ifdef BY_KEY
  const i64 from = p.causal ? begin / COLUMNS * COLUMNS : 0, last = n_columns;
#else
  const i64 from = 0, last = p.causal && begin + HIGH < n_columns ? begin + HIGH : n_columns;
#endif
  for (i64 member = 0; member < members; ++member) {
    const i64 other = head * members + member;  // of queries
    const u8 *one = head_of(column_1, column_1_at, of_column_1, other), *two = head_of(column_2, column_2_at, of_column_2, other);
    for (i64 at = from; at < last; at += COLUMNS) {
      BARRIER;
      bring(columns[0], one, of_column_1.row, at, n_columns, COLUMNS, ITEMS);
      bring(columns[1], two, of_column_2.row, at, n_columns, COLUMNS, ITEMS);
#ifdef BY_KEY
      if (MEMBER < COLUMNS) {
        const int there = at + MEMBER < n_columns;
        logarithms[MEMBER] = there ? OF(const float, sums)[other * p.queries + at + MEMBER] : INFINITE;
        products[MEMBER] = there ? OF(const float, dots)[other * p.queries + at + MEMBER] : 0;
      }
#endif
      copy_commit();
      copy_wait(0);
      BARRIER;
      float s[COLUMNS / 8][4] = {}, slopes[COLUMNS / 8][4] = {};
#pragma unroll
      for (int n = 0; n < DEPTH / 16; ++n) {
        u32 a[4], c[4];
        left_of(a, rows[0], MEMBER / 32 * 16, n * 16);
        left_of(c, rows[1], MEMBER / 32 * 16, n * 16);
#pragma unroll
        for (int m = 0; m < COLUMNS / 16; ++m) {
          u32 b[4];
          right_of_turned(b, columns[0], m * 16, n * 16);
          multiply(s[2 * m], a, b);
          multiply(s[2 * m + 1], a, b + 2);
          right_of_turned(b, columns[1], m * 16, n * 16);
          multiply(slopes[2 * m], c, b);
          multiply(slopes[2 * m + 1], c, b + 2);
        }
      }
#pragma unroll
      for (int m = 0; m < COLUMNS / 8; ++m) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int line = LANE / 4 + j / 2 * 8, column = m * 8 + LANE % 4 * 2 + j % 2;
#ifdef BY_KEY
          const i64 query = at + column, key = row + line;
          const float logarithm = logarithms[column], product = products[column];
#else
          const i64 query = row + line, key = at + column, of = other * p.queries + query;
          const float logarithm = query < n_rows ? OF(const float, sums)[of] : INFINITE;
          const float product = query < n_rows ? OF(const float, dots)[of] : 0;
#endif
          slope_of(&s[m][j], &slopes[m][j], p, mask + mask_at, other, query, key, logarithm, product, scale);
        }
      }
      add_product<COLUMNS / 8>(to_first, slopes, columns[0]);
#ifdef BY_KEY
      add_product<COLUMNS / 8>(to_second, s, columns[1]);
#endif
    }
  }
  const float scales[2] = {scale, scale}, ones[2] = {1, 1};
  if (first) put_sums((u8 *)head_of(first, first_at, of_first, head), of_first.row, row, n_rows, to_first, scales);
#ifdef BY_KEY
  if (second) put_sums((u8 *)head_of(second, second_at, of_second, head), of_second.row, row, n_rows, to_second, ones);
#endif
}
#endif

#else
// ---- float32
// 128 work items have a tile of 16 * RUN rows and 8 * SPAN columns; item i rows i / 8 + 16 a and
// columns i % 8 + 8 b, so that the items of a row are neighbours in a warp.

#ifdef FORWARD
enum { RUN = DEPTH > 64 ? 2 : 4, SPAN = 4 };
#else
enum { RUN = DEPTH > 64 ? 1 : 2, SPAN = 2 * RUN };
#endif
enum { STEP = DEPTH + 4, COLUMNS = 8 * SPAN, P_STEP = COLUMNS + 4, HIGH = 16 * RUN };
#define LINE (MEMBER / 8)
#define SIDE (MEMBER % 8)

// Copies rows of a matrix into a tile; rows from `end` on become 0.
FUNCTION void bring(float *tile, const u8 *from, i64 row, i64 first, i64 end, int rows) {
  for (int i = MEMBER; i < rows * (DEPTH / 4); i += 128) {
    const int r = i / (DEPTH / 4), c = i % (DEPTH / 4) * 4;
    *(Few<X, 4> *)(tile + r * STEP + c) = fetch<X, 4>(from + (first + r) * row + c * 4, first + r < end ? 4 : 0);
  }
}

// s = the products of rows of one tile and rows of another, each an item's.
FUNCTION void multiply_rows(float s[RUN][SPAN], const float *one, const float *other) {
#pragma unroll
  for (int a = 0; a < RUN; ++a) {
#pragma unroll
    for (int b = 0; b < SPAN; ++b) s[a][b] = 0;
  }
#pragma unroll 4
  for (int k = 0; k < DEPTH; k += 4) {
    Few<X, 4> left[RUN], right[SPAN];
#pragma unroll
    for (int a = 0; a < RUN; ++a) left[a] = *(const Few<X, 4> *)(one + (LINE + 16 * a) * STEP + k);
#pragma unroll
    for (int b = 0; b < SPAN; ++b) right[b] = *(const Few<X, 4> *)(other + (SIDE + 8 * b) * STEP + k);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int a = 0; a < RUN; ++a) {
#pragma unroll
        for (int b = 0; b < SPAN; ++b) s[a][b] = fmaf(left[a].items[j], right[b].items[j], s[a][b]);
      }
    }
  }
}

// sums += p tile: an item has of each of its rows four neighbours of every 32.
FUNCTION void add_product(float sums[RUN][DEPTH / 8], const float *p, const float *tile) {
#pragma unroll 4
  for (int k = 0; k < COLUMNS; ++k) {
    float left[RUN];
#pragma unroll
    for (int a = 0; a < RUN; ++a) left[a] = p[(LINE + 16 * a) * P_STEP + k];
#pragma unroll
    for (int n = 0; n < DEPTH / 32; ++n) {
      const Few<X, 4> right = *(const Few<X, 4> *)(tile + k * STEP + n * 32 + SIDE * 4);
#pragma unroll
      for (int a = 0; a < RUN; ++a) {
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[a][n * 4 + j] = fmaf(left[a], right.items[j], sums[a][n * 4 + j]);
      }
    }
  }
}

FUNCTION void put_sums(u8 *to, i64 row, i64 first, i64 end, const float sums[RUN][DEPTH / 8], const float factor[RUN]) {
#pragma unroll
  for (int a = 0; a < RUN; ++a) {
    const i64 r = first + LINE + 16 * a;
    if (r >= end) continue;
#pragma unroll
    for (int n = 0; n < DEPTH / 32; ++n) {
      float few[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) few[j] = sums[a][n * 4 + j] * factor[a];
      put<X, 4>(to + r * row + (n * 32 + SIDE * 4) * 4, few, 0, 4);
    }
  }
}

#ifdef FORWARD
KERNEL_OF(128) attend(BUFFER(q), BUFFER(k), BUFFER(v), BUFFER(mask), BUFFER(out), BUFFER(sums), GIVEN Problem p, GIVEN Rows of_q,
                      GIVEN Rows of_k, GIVEN Rows of_v, GIVEN Rows of_out, float scale) {
  __shared__ __align__(16) float queries[HIGH * STEP], tile[COLUMNS * STEP], weights[HIGH * P_STEP];
  const i64 blocks = (p.queries + HIGH - 1) / HIGH, head = GROUP_NUMBER / blocks;
  // The longest of causal ones first.
  const i64 begin = (blocks - 1 - GROUP_NUMBER % blocks) * HIGH;
  const u8 *keys = head_of(k, k_at, of_k, head), *values = head_of(v, v_at, of_v, head);
  const i64 last = p.causal && begin + HIGH < p.keys ? begin + HIGH : p.keys;
  bring(queries, head_of(q, q_at, of_q, head), of_q.row, begin, p.queries, HIGH);
  float made[RUN][DEPTH / 8] = {}, most[RUN], total[RUN], factor[RUN];
#pragma unroll
  for (int a = 0; a < RUN; ++a) most[a] = -INFINITE, total[a] = 0;
  for (i64 first = 0; first < last; first += COLUMNS) {
    float s[RUN][SPAN];
    BARRIER;
    bring(tile, keys, of_k.row, first, p.keys, COLUMNS);
    BARRIER;
    multiply_rows(s, queries, tile);
#pragma unroll
    for (int a = 0; a < RUN; ++a) {
      float best = most[a], part = 0;
#pragma unroll
      for (int b = 0; b < SPAN; ++b) {
        s[a][b] = shown(s[a][b] * scale, p, mask + mask_at, head, begin + LINE + 16 * a, first + SIDE + 8 * b);
        best = Most::of(best, s[a][b]);
      }
#pragma unroll
      for (int step = 4; step; step /= 2) best = Most::of(best, __shfl_xor_sync(WHOLE_WARP, best, step));
      const float shift = best == -INFINITE ? 0 : best, less = exp(most[a] - shift);
#pragma unroll
      for (int b = 0; b < SPAN; ++b) {
        const float weight = exp(s[a][b] - shift);
        part += weight;
        weights[(LINE + 16 * a) * P_STEP + SIDE + 8 * b] = weight;
      }
      most[a] = best;
      total[a] = total[a] * less + part;
#pragma unroll
      for (int n = 0; n < DEPTH / 8; ++n) made[a][n] *= less;
    }
    BARRIER;
    bring(tile, values, of_v.row, first, p.keys, COLUMNS);
    BARRIER;
    add_product(made, weights, tile);
  }
#pragma unroll
  for (int a = 0; a < RUN; ++a) {
#pragma unroll
    for (int step = 4; step; step /= 2) total[a] += __shfl_xor_sync(WHOLE_WARP, total[a], step);
    factor[a] = total[a] == 0 ? 0 : 1 / total[a];
    const i64 r = begin + LINE + 16 * a;
    const float logarithm = total[a] == 0 ? INFINITE : most[a] + log(total[a]);
    if (SIDE == 0 && r < p.queries) OF(float, sums)[head * p.queries + r] = logarithm;
  }
  put_sums((u8 *)head_of(out, out_at, of_out, head), of_out.row, begin, p.queries, made, factor);
}

#else
KERNEL_OF(128) attention_gradient(GRADIENT_PARAMETERS) {
  __shared__ __align__(16) float rows[2][HIGH * STEP], columns[2][COLUMNS * STEP], weights[2][HIGH * P_STEP];
#ifdef BY_KEY
  const i64 n_rows = p.keys, n_columns = p.queries, members = p.group;
#else
  const i64 n_rows = p.queries, n_columns = p.keys, members = 1;
#endif
  const i64 blocks = (n_rows + HIGH - 1) / HIGH, head = GROUP_NUMBER / blocks, begin = GROUP_NUMBER % blocks * HIGH;
#ifdef BY_KEY
  const i64 from = p.causal ? begin / COLUMNS * COLUMNS : 0, last = n_columns;
#else
  const i64 from = 0, last = p.causal && begin + HIGH < n_columns ? begin + HIGH : n_columns;
#endif
  bring(rows[0], head_of(row_1, row_1_at, of_row_1, head), of_row_1.row, begin, n_rows, HIGH);
  bring(rows[1], head_of(row_2, row_2_at, of_row_2, head), of_row_2.row, begin, n_rows, HIGH);
  float to_first[RUN][DEPTH / 8] = {}, to_second[RUN][DEPTH / 8] = {}, scales[RUN], ones[RUN];
  for (i64 member = 0; member < members; ++member) {
    const i64 other = head * members + member;  // of queries
    const u8 *one = head_of(column_1, column_1_at, of_column_1, other), *two = head_of(column_2, column_2_at, of_column_2, other);
    for (i64 at = from; at < last; at += COLUMNS) {
      float s[RUN][SPAN], slopes[RUN][SPAN];
      BARRIER;
      bring(columns[0], one, of_column_1.row, at, n_columns, COLUMNS);
      bring(columns[1], two, of_column_2.row, at, n_columns, COLUMNS);
      BARRIER;
      multiply_rows(s, rows[0], columns[0]);
      multiply_rows(slopes, rows[1], columns[1]);
#pragma unroll
      for (int a = 0; a < RUN; ++a) {
#pragma unroll
        for (int b = 0; b < SPAN; ++b) {
          const int line = LINE + 16 * a, column = SIDE + 8 * b;
#ifdef BY_KEY
          const i64 query = at + column, key = begin + line;
#else
          const i64 query = begin + line, key = at + column;
#endif
          const i64 of = other * p.queries + query;
          const float logarithm = query < p.queries ? OF(const float, sums)[of] : INFINITE;
          const float product = query < p.queries ? OF(const float, dots)[of] : 0;
          slope_of(&s[a][b], &slopes[a][b], p, mask + mask_at, other, query, key, logarithm, product, scale);
          weights[0][line * P_STEP + column] = slopes[a][b];
          weights[1][line * P_STEP + column] = s[a][b];
        }
      }
      BARRIER;
      add_product(to_first, weights[0], columns[0]);
#ifdef BY_KEY
      add_product(to_second, weights[1], columns[1]);
#endif
    }
  }
#pragma unroll
  for (int a = 0; a < RUN; ++a) scales[a] = scale, ones[a] = 1;
  if (first) put_sums((u8 *)head_of(first, first_at, of_first, head), of_first.row, begin, n_rows, to_first, scales);
#ifdef BY_KEY
  if (second) put_sums((u8 *)head_of(second, second_at, of_second, head), of_second.row, begin, n_rows, to_second, ones);
#endif
}
#endif
#endif
#endif
#endif
