// Products on NVIDIA GPUs, in CUDA C++. A group of ITEMS computes ROWS x COLUMNS elements: slices
// of both operands are on their way into shared memory while an earlier one is multiplied, by
// tensor cores where MULTIPLY names an instruction of theirs, else in T.
//
// An operand is lines, the rows of a and the columns of b, of terms. It comes by chunks of 16
// bytes: PER terms of a line, or, where it is TURNED, PER lines at a term. A slice is SLICE terms
// of each line. Beyond the ends all is zero.
#ifdef __CUDACC__
#include "gpu.cl"
#if STORED == TYPE_BFLOAT16
#define MULTIPLY mma_bf16
#elif STORED == TYPE_FLOAT16
#define MULTIPLY mma_half
#elif defined(TF32)
#define MULTIPLY mma_tf32
#endif
#if SIZE(STORED) == 2
typedef u16 Element;
#else
typedef T Element;
#endif

// A multiprocessor has two groups of a kernel at a time, so that one multiplies while the other
// waits; TF32 needs more registers.
#ifdef TF32
#define TILES KERNEL_OF(256)
#else
#define TILES extern "C" __global__ void __launch_bounds__(256, 2)
#endif
constexpr int ITEMS = 256, BYTES = SIZE(STORED), PER = 16 / BYTES;
#ifdef MULTIPLY
constexpr int STAGES = 3, AHEAD = 2, SLICE = 64 / BYTES;
#else
constexpr int STAGES = 2, AHEAD = 1, SLICE = ITEMS * PER / ROWS;  // chunks of operands
#endif
union Chunk {
  uint4 whole;
  Element each[PER];
};

// How a slice lies in shared memory; places are counted in chunks.
template <int LINES_, bool TURNED_>
struct Tile {
  static constexpr int LINES = LINES_, LENGTH = TURNED_ ? LINES / PER : SLICE / PER, CHUNKS = LINES * SLICE / PER / ITEMS;
  static constexpr bool TURNED = TURNED_;
#ifdef MULTIPLY
  // Rows lie as in memory, and chunks within them so that the eight that a matrix of ldmatrix has
  // are in different banks.
  static constexpr int SPACE = LINES * SLICE / PER;
  static int slot(u32 row, u32 chunk) { return row * LENGTH + (chunk ^ (LENGTH >= 8 ? row & 7 : row / (8 / LENGTH) % LENGTH)); }
  static void put(uint4 *stage, int row, int chunk, const Chunk &value) { stage[slot(row, chunk)] = value.whole; }

  // Terms of 32 bytes of 16 lines, as a fragment of a; of b, halves 0 and 2 are a fragment of the
  // first 8, 1 and 3 of the others.
  static void fragment(u32 found[4], const uint4 *stage, int line, int step) {
    const int lane = MEMBER % 32, row = lane % 8, left = lane / 8 % 2 * 8, right = lane / 16;
    if constexpr (!TURNED) {
      load_matrix_4(found, &stage[slot(line + left + row, step * 2 + right)]);
    } else if constexpr (BYTES == 2) {
      load_matrix_4t(found, &stage[slot(step * 16 + right * 8 + row, (line + left) / 8)]);
    } else {
      for (int i = 0; i < 4; ++i) {
        const int of = line + i % 2 * 8 + lane / 4;
        found[i] = ((const u32 *)&stage[slot(step * 8 + i / 2 * 4 + lane % 4, of / PER)])[of % PER];
      }
    }
    if constexpr (BYTES == 4)
      for (int i = 0; i < 4; ++i) found[i] = to_tf32(AS_FLOAT(found[i]));
  }
#else
  // All lines of a term lie side by side, whichever way they came; a chunk more keeps stores out of
  // each other's banks.
  static constexpr int WIDTH = LINES / PER + 1, SPACE = SLICE * WIDTH;
  static void put(uint4 *stage, int row, int chunk, const Chunk &value) {
    if constexpr (TURNED)
      stage[row * WIDTH + chunk] = value.whole;
    else
      for (int i = 0; i < PER; ++i) ((Element *)stage)[(chunk * PER + i) * WIDTH * PER + row] = value.each[i];
  }
#endif
};

// The slices of a sum, in their order: the last of a part may have fewer terms.
struct Slices {
  const int depth;
  int part, first;

  Slices(const Product &p, int number) : depth((int)p.depth) {
    const int each = (depth + SLICE - 1) / SLICE;
    part = number / each, first = number % each * SLICE;
  }

  int count() const { return depth - first < SLICE ? depth - first : SLICE; }
  bool part_ends() const { return depth - first <= SLICE; }
  void next() {
    part += part_ends();
    first = part_ends() ? 0 : first + SLICE;
  }
};

// A matrix of any strides, in bytes, which the parts of a sum have at places `next_part` apart. An
// item brings chunk MEMBER % LENGTH of every STEP-th row of a slice.
template <int LINES, bool TURNED>
struct Matrix : Tile<LINES, TURNED> {
  using Here = Tile<LINES, TURNED>;
  static constexpr int STEP = ITEMS / Here::LENGTH;
  const u8 *now;
  const i64 term, next_chunk, next_element, next_part;  // next_part: from the end of a part
  const int lines;          // of the tile
  const bool side_by_side;  // elements of a chunk, and chunks at multiples of 16 where `now` is one
  int rows, along;          // rows, and elements of a chunk, that the slice has
  Chunk held[Here::CHUNKS];

  Matrix(const u8 *matrix, const Layout &parts, i64 line, i64 term, i64 lines, const Slices &from)
      : term(term), next_chunk(STEP * (TURNED ? term : line)), next_element(TURNED ? line : term),
        next_part((parts.ndim ? parts.strides[0] : 0) - from.depth * term), lines((int)(lines < LINES ? lines : LINES)),
        side_by_side(next_element == BYTES && (TURNED ? term : line) % 16 == 0) {
    now = matrix + row() * (TURNED ? term : line) + chunk() * PER * next_element + (from.part * from.depth + from.first) * term + from.part * next_part;
  }

  static int row() { return MEMBER / Here::LENGTH; }
  static int chunk() { return MEMBER % Here::LENGTH; }

  // Whether chunk i of the item lies side by side in memory.
  bool whole(int i) const { return side_by_side && ((u64)now & 15) == 0 && row() + i * STEP < rows && along >= PER; }

  // Start to bring the next slice. Copies of whole chunks go on by themselves; others are waited
  // for, in registers.
  void bring(uint4 *stage, const Slices &slice) {
    const int count = slice.count();
    rows = TURNED ? count : lines, along = (TURNED ? lines : count) - chunk() * PER;
#pragma unroll
    for (int i = 0; i < Here::CHUNKS; ++i) {
      const u8 *const from = now + i * next_chunk;
#ifdef MULTIPLY
      if (whole(i))
        copy_16(&stage[Here::slot(row() + i * STEP, chunk())], from);
      else
        Here::put(stage, row() + i * STEP, chunk(), read(i, from));
#else
      if (whole(i))
        held[i].whole = __ldg((const uint4 *)from);
      else
        held[i] = read(i, from);
#endif
    }
    now += count * term + (slice.part_ends() ? next_part : 0);
  }

  Chunk read(int i, const u8 *from) const {
    const int inside = row() + i * STEP < rows ? along : 0;
    Chunk found;
#pragma unroll
    for (int e = 0; e < PER; ++e) found.each[e] = e < inside ? __ldg((const Element *)(from + e * next_element)) : (Element)0;
    return found;
  }

  // Put what came by registers into its place.
  void put(uint4 *stage) const {
#ifndef MULTIPLY
#pragma unroll
    for (int i = 0; i < Here::CHUNKS; ++i) Here::put(stage, row() + i * STEP, chunk(), held[i]);
#endif
  }
};

// The sums of an item, DOWN x ALONG of the group's: the instruction's way round, or groups of
// neighbours 16 groups apart.
struct Sums {
  static constexpr int DOWN = ROWS / 16, ALONG = COLUMNS / 16;
#ifdef MULTIPLY
  float each[DOWN / 2][ALONG / 2][4] = {};
  T &at(int i, int j) { return each[i / 2][j / 2][i % 2 * 2 + j % 2]; }
  static int first_row() { return MEMBER / 128 * (ROWS / 2); }
  static int first_column() { return MEMBER / 32 % 4 * (COLUMNS / 4); }
  static int row(int i) { return first_row() + i * 8 + MEMBER % 32 / 4; }
  static int column(int j) { return first_column() + j / 2 * 8 + MEMBER % 4 * 2 + j % 2; }

  template <class A, class B>
  void add(const uint4 *a, const uint4 *b) {
#pragma unroll
    for (int step = 0; step < 2; ++step) {
      u32 x[DOWN / 2][4], y[ALONG / 4][4];
      for (int i = 0; i < DOWN / 2; ++i) A::fragment(x[i], a, first_row() + i * 16, step);
      for (int j = 0; j < ALONG / 4; ++j) B::fragment(y[j], b, first_column() + j * 16, step);
      for (int i = 0; i < DOWN / 2; ++i)
        for (int j = 0; j < ALONG / 2; ++j) {
          const u32 right[2] = {y[j / 2][j % 2], y[j / 2][j % 2 + 2]};
          MULTIPLY(each[i][j], x[i], right);
        }
    }
  }
#else
  T each[DOWN][ALONG] = {};
  T &at(int i, int j) { return each[i][j]; }
  static int down() { return MEMBER / 64 * 4 + MEMBER % 32 / 8; }
  static int along() { return MEMBER / 32 % 2 * 8 + MEMBER % 8; }
  static int row(int i) { return (i / PER * 16 + down()) * PER + i % PER; }
  static int column(int j) { return (j / PER * 16 + along()) * PER + j % PER; }

  template <class A, class B>
  void add(const uint4 *a, const uint4 *b) {
#pragma unroll
    for (int k = 0; k < SLICE; ++k) {
      Chunk x[DOWN / PER], y[ALONG / PER];
      for (int i = 0; i < DOWN / PER; ++i) x[i].whole = a[k * A::WIDTH + i * 16 + down()];
      for (int j = 0; j < ALONG / PER; ++j) y[j].whole = b[k * B::WIDTH + j * 16 + along()];
      for (int i = 0; i < DOWN; ++i)
        for (int j = 0; j < ALONG; ++j) each[i][j] = fma(x[i / PER].each[i % PER], y[j / PER].each[j % PER], each[i][j]);
    }
  }
#endif
};

// The number of the group, read anew: what follows from it is computed again after the loop, and
// takes no registers there.
FUNCTION u32 group_anew() {
#ifdef HERE
  return (u32)GROUP_NUMBER;
#else
  u32 number;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(number));
  return number;
#endif
}

// Which elements a group computes, and from which slices.
struct Share {
  i64 row, column;
  int stack, piece, from, to;

  Share(const Product &p, i64 slices) {
    const i64 across = (p.columns + COLUMNS - 1) / COLUMNS, down = (p.rows + ROWS - 1) / ROWS, group = group_anew();
    column = group % across * COLUMNS, row = group / across % down * ROWS;
    stack = (int)(group / across / down % p.stacks), piece = (int)(group / across / down / p.stacks);
    from = (int)(slices * piece / p.pieces), to = (int)(slices * (piece + 1) / p.pieces);
  }
};

// Slice n is multiplied while slice n + AHEAD is brought, into the place of slice n - 1; of_a and
// of_b: shared memory for STAGES slices.
template <class A, class B>
FUNCTION void multiply(A &a, B &b, uint4 *of_a, uint4 *of_b, Slices slices, const Share &share, Sums &sums) {
  int brought = share.from, next = 0;  // slices, and the place of the next
  bool more;
  const auto bring = [&] {
    more = brought++ < share.to;
    if (more) {
      a.bring(of_a + next * A::SPACE, slices);
      b.bring(of_b + next * B::SPACE, slices);
      slices.next();
    }
#ifdef MULTIPLY
    copy_commit();
#endif
  };
  const auto put = [&] {
    if (more) a.put(of_a + next * A::SPACE), b.put(of_b + next * B::SPACE);
    next = next == AHEAD ? 0 : next + 1;
  };
  for (int i = 0; i < AHEAD; ++i) bring(), put();
#pragma unroll 1
  for (int n = share.from; n < share.to; ++n) {
#ifdef MULTIPLY
    copy_wait(AHEAD - 1);
#endif
    BARRIER;
    bring();
    const int oldest = next == AHEAD ? 0 : next + 1;
    sums.template add<A, B>(of_a + oldest * A::SPACE, of_b + oldest * B::SPACE);
    put();
  }
}

// For sums that the result has: at(row, column, sum), places counted within the group's share.
template <class At>
FUNCTION void for_sums(const Product &p, const Share &s, Sums &sums, At at) {
  const int rows = (int)(p.rows - s.row < ROWS ? p.rows - s.row : ROWS);
  const int columns = (int)(p.columns - s.column < COLUMNS ? p.columns - s.column : COLUMNS);
#pragma unroll
  for (int j = 0; j < Sums::ALONG; ++j)
#pragma unroll
    for (int i = 0; i < Sums::DOWN; ++i)
      if (Sums::row(i) < rows && Sums::column(j) < columns) at(Sums::row(i), Sums::column(j), sums.at(i, j));
}

// The group's elements of the result, or of a piece.
FUNCTION void finish_all(const Product &p, Sums &sums, BUFFER(bias), BUFFER(out), T alpha, T beta) {
  const Share s(p, 0);
  if (p.pieces > 1) {
    T *const to = OF(T, out) + (((i64)s.piece * p.stacks + s.stack) * p.rows + s.row) * p.columns + s.column;
    for_sums(p, s, sums, [&](int row, int column, T &sum) { to[row * p.columns + column] = sum; });
    return;
  }
  if (beta != 0) {  // all loads before the first store, so that they overlap
    const u8 *const added = bias + bias_at + place_of(&p.bias_places, s.stack) + s.row * p.bias[0] + s.column * p.bias[1];
    for_sums(p, s, sums, [&](int row, int column, T &sum) {
      sum = alpha * sum + beta * load(added, row * p.bias[0] + column * p.bias[1], STORED);
    });
  } else if (alpha != 1) {
    for_sums(p, s, sums, [&](int, int, T &sum) { sum *= alpha; });
  }
  u8 *const to = out + out_at + place_of(&p.out_places, s.stack) + s.row * p.out[0];
  for_sums(p, s, sums, [&](int row, int column, T &sum) {
    store(to, row * p.out[0] + column_place(&p, s.column + column), STORED, sum);
  });
}
#endif
