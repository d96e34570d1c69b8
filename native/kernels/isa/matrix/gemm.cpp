// Products of matrices: c = a @ b + bias, in tiles of registers (tile.h). The floor is 2 m n k operations over the peak.
//
// Few rows of a (thin_gemm): one panel of b after another. A panel whose rows are adjacent elements
// is read in place; any other panel (b transposed, or the last narrow panel) is packed into a
// buffer on the stack, in slices of k that fit into the first cache.
//
// Many rows (multiply_block): all panels of a block of b are packed first, as many as stay in the second cache, and every
// strip of a goes over all of them, mostly as it lies. gemm.cpp of the folder above cuts products into blocks and shares
// the strips among threads.
//
// A single row (or column, by transposing) is bound by reading the matrix: vector_gemm.
#include "kernels/isa/matrix/tile.h"

namespace rushlight::RUSHLIGHT_ISA {

// gemm_half.cpp
GemmBlocks half_gemm_blocks(ptrdiff_t n, ptrdiff_t k);
void pack_half_block(DType dtype, const MatrixView& b, ptrdiff_t depth, Band columns, void* panels);
void multiply_half_block(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t depth, const MatrixView& a, const void* panels,
                         const void* bias, bool accumulate, void* c, ptrdiff_t ldc);
bool half_vector_gemm(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const MatrixView& a, const MatrixView& b,
                      const void* bias, bool accumulate, void* c, ptrdiff_t ldc);

namespace {

constexpr ptrdiff_t kTerms = 128;  // of a tile's sums: what more there is, is added as another sum, which rounds less
constexpr ptrdiff_t kThinDepth = kTerms;  // of a panel on the stack
constexpr ptrdiff_t kBlockBytes = kVecBytes == 64 ? 512 << 10 : 256 << 10;  // of b: about half of the second cache
constexpr ptrdiff_t kSliceBytes = 1024;  // of a row of a: a strip and a panel as deep fit into the first cache

// Whether strips of a are packed before they go over panels of n columns. Reading them as they lie costs nothing (measured
// on up to 12 panels) but where their rows fall into the same places of the first cache, or where a strip takes a small part
// of each of the cache lines that it lies in.
template <class T>
RUSHLIGHT_INLINE bool packs_strips(ptrdiff_t n, ptrdiff_t a_row, ptrdiff_t a_column) {
  constexpr ptrdiff_t kItem = sizeof(T), kPanel = kTileWidth<T>, kPage = 4096, kLine = 64;
  if (n > 12 * kPanel) return true;
  if (a_column != 1) return kTileRows * kItem < kLine * 3 / 4;
  return n > 4 * kPanel && a_row * kItem % kPage == 0;
}

template <class T>
bool vector_gemm_of(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const T* a, ptrdiff_t a_row, ptrdiff_t a_column, const T* b,
                    ptrdiff_t b_row, ptrdiff_t b_column, const T* bias, bool accumulate, T* c, ptrdiff_t ldc) {
  if ((m <= 2 || n <= 2) && b_row == 1 && a_column == 1 && k >= Vec<T>::N) {  // rows against rows, four at a time of the more
    const bool tall = m > n;
    const ptrdiff_t few = tall ? n : m, many = tall ? m : n, step = tall ? a_row : b_column;
    for (ptrdiff_t f = 0; f < few; f++)
      for (ptrdiff_t l = 0; l < many;) {
        const T *lines = (tall ? a : b) + l * step, *other = tall ? b + f * b_column : a + f * a_row;
        T sums[4];
        const ptrdiff_t count = many - l < 4 ? 1 : 4;
        if (count == 4) four_dots(lines, step, other, k, sums);
        else sums[0] = dot(lines, other, k);
        for (ptrdiff_t i = 0; i < count; i++) {
          const ptrdiff_t column = tall ? f : l + i;
          T& to = c[(tall ? l + i : f) * ldc + column];
          to = (accumulate ? to : bias ? bias[column] : T(0)) + sums[i];
        }
        l += count;
      }
    return true;
  }
  const bool row = m == 1 && b_column == 1, column = n == 1 && a_row == 1 && ldc == 1;
  if (!row && !column) return false;
  const ptrdiff_t size = row ? n : m;
  if (!accumulate)
    for (ptrdiff_t j = 0; j < size; j++) c[j] = bias ? bias[row ? j : 0] : T(0);
  if (row) combine_rows(n, k, a, a_column, b, b_row, c);
  else combine_rows(m, k, b, b_row, a, a_column, c);
  return true;
}

bool vector_gemm(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const MatrixView& a, const MatrixView& b, const void* bias,
                 bool accumulate, void* c, ptrdiff_t ldc) {
  if (is_half(dtype)) return half_vector_gemm(dtype, m, n, k, a, b, bias, accumulate, c, ldc);
  bool done = false;
  float_or_double(dtype, [&]<class T>() {
    done = vector_gemm_of<T>(m, n, k, static_cast<const T*>(a.data), a.row, a.column, static_cast<const T*>(b.data), b.row,
                             b.column, static_cast<const T*>(bias), accumulate, static_cast<T*>(c), ldc);
  });
  return done;
}

template <class T, int... I>
RUSHLIGHT_INLINE Vec<T> parts_changed(Vec<T> a, std::integer_sequence<int, I...>) {
#ifdef RUSHLIGHT_SHUFFLES
  return {__builtin_shufflevector(a.v, a.v, (I ^ 1)...)};
#else
  T lanes[Vec<T>::N], other[Vec<T>::N];
  a.store(lanes);
  ((other[I] = lanes[I ^ 1]), ...);
  return Vec<T>::load(other);
#endif
}
template <class T>
void pair_sums_of(const T* a, const T* b, ptrdiff_t n, T* sums) {
  using V = Vec<T>;
  static_assert(V::N % 2 == 0);
  V same[2] = {V::all(0), V::all(0)}, other[2] = {V::all(0), V::all(0)};
  ptrdiff_t i = 0;
  for (; i + 2 * V::N <= 2 * n; i += 2 * V::N)
    for (int k = 0; k < 2; k++) {
      const V x = V::load(a + i + k * V::N), y = V::load(b + i + k * V::N);
      same[k] = fma(x, y, same[k]);
      other[k] = fma(x, parts_changed(y, std::make_integer_sequence<int, V::N>()), other[k]);
    }
  T lanes[2][V::N];
  (same[0] + same[1]).store(lanes[0]), (other[0] + other[1]).store(lanes[1]);
  for (int k = 0; k < 4; k++) sums[k] = 0;
  for (int j = 0; j < V::N; j++) sums[j % 2] += lanes[0][j], sums[2 + j % 2] += lanes[1][j];
  for (; i < 2 * n; i++) sums[i % 2] += a[i] * b[i], sums[2 + i % 2] += a[i] * b[i ^ 1];
}
void pair_sums(DType dtype, const void* a, const void* b, ptrdiff_t n, void* sums) {
  float_or_double(part_of(dtype),
                  [&]<class T>() { pair_sums_of(static_cast<const T*>(a), static_cast<const T*>(b), n, static_cast<T*>(sums)); });
}

template <class T>
void thin_gemm_of(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const T* a, ptrdiff_t a_row, ptrdiff_t a_column, const T* b,
                  ptrdiff_t b_row, ptrdiff_t b_column, const T* bias, bool accumulate, T* c, ptrdiff_t ldc) {
  constexpr ptrdiff_t N = Vec<T>::N, kWidth = kTileWidth<T>;
  alignas(64) T buffer[kThinDepth * kWidth];
  const Strips strips(m);
  for (ptrdiff_t j = 0; j < n; j += kWidth) {
    const ptrdiff_t width = smaller(kWidth, n - j);
    const int vecs = width > N ? kTileVecs : 1;
    const ptrdiff_t padded = vecs * N;
    ptrdiff_t p = 0;
    do {  // once even when k is 0: c is then the bias, or 0
      const ptrdiff_t depth = smaller(kThinDepth, k - p);
      TileTask<T> task{depth,
                       a + p * a_column,
                       a_row,
                       a_column,
                       b + p * b_row + j * b_column,
                       b_row,
                       bias ? bias + j : nullptr,
                       accumulate || p > 0,
                       c + j,
                       ldc,
                       width};
      if (b_column != 1 || width != padded) {
        pack_panel(task.b, b_row, b_column, depth, width, padded, buffer);
        task.b = buffer;
        task.ldb = padded;
      }
      for (ptrdiff_t s = 0; s < strips.count; s++) {
        const int rows = strips.rows(s);
        tile_of<T>(rows, vecs, false)(task);
        task.a += rows * a_row;
        task.c += rows * ldc;
      }
      p += depth;
    } while (p < k);
  }
}

void thin_gemm(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const MatrixView& a, const MatrixView& b, const void* bias,
               bool accumulate, void* c, ptrdiff_t ldc) {
  float_or_double(dtype, [&]<class T>() {
    thin_gemm_of<T>(m, n, k, static_cast<const T*>(a.data), a.row, a.column, static_cast<const T*>(b.data), b.row, b.column,
                    static_cast<const T*>(bias), accumulate, static_cast<T*>(c), ldc);
  });
}

// Slices of k as equal as can be, and as many panels of b as fit into the second cache.
GemmBlocks gemm_blocks(DType dtype, ptrdiff_t n, ptrdiff_t k) {
  if (is_half(dtype)) return half_gemm_blocks(n, k);
  GemmBlocks blocks{};
  float_or_double(dtype, [&]<class T>() {
    constexpr ptrdiff_t kWidth = kTileWidth<T>, kItem = sizeof(T);
    const ptrdiff_t slices = (k * kItem + kSliceBytes - 1) / kSliceBytes;
    blocks.depth = (k + slices - 1) / slices;
    const ptrdiff_t most = kBlockBytes / (blocks.depth * kItem) / kWidth, panels = (n + kWidth - 1) / kWidth;
    const ptrdiff_t parts = (panels + most - 1) / most;
    blocks.columns = (panels + parts - 1) / parts * kWidth;
    blocks.width = kWidth;
    blocks.rows = kTileRows;
    static_assert(kSliceBytes * kWidth <= kPanelBytes);
  });
  return blocks;
}

void pack_block(DType dtype, const MatrixView& b, ptrdiff_t depth, Band columns, void* panels) {
  if (is_half(dtype)) return pack_half_block(dtype, b, depth, columns, panels);
  float_or_double(dtype, [&]<class T>() {
    constexpr ptrdiff_t kWidth = kTileWidth<T>;
    const T* from = static_cast<const T*>(b.data);
    for (ptrdiff_t j = columns.from; j < columns.to; j += kWidth)
      pack_panel(from + j * b.column, b.row, b.column, depth, smaller(kWidth, columns.to - j), kWidth,
                 static_cast<T*>(panels) + j * depth);
  });
}

template <class T>
void multiply_block_of(ptrdiff_t m, ptrdiff_t n, ptrdiff_t depth, const T* a, ptrdiff_t a_row, ptrdiff_t a_column, const T* panels,
                       const T* bias, bool accumulate, T* c, ptrdiff_t ldc) {
  constexpr ptrdiff_t kWidth = kTileWidth<T>;
  alignas(64) T strip[kTileRows * kSliceBytes / sizeof(T)];
  const Strips strips(m);
  const bool packs = packs_strips<T>(n, a_row, a_column);
  const ptrdiff_t sums = (depth + kTerms - 1) / kTerms, terms = (depth + sums - 1) / sums;
  for (ptrdiff_t s = 0; s < strips.count; s++) {
    const int rows = strips.rows(s);
    TileTask<T> task{depth, a, a_row, a_column, panels, kWidth, bias, accumulate, c, ldc, kWidth};
    if (packs) {
      pack_strip(rows, depth, a, a_row, a_column, strip);
      task.a = strip;
    }
    for (ptrdiff_t j = 0; j < n; j += kWidth) {
      task.width = smaller(kWidth, n - j);
      const TileFunction<T> tile = tile_of<T>(rows, task.width > Vec<T>::N ? kTileVecs : 1, packs);
      TileTask<T> part = task;
      for (ptrdiff_t k = 0; k < depth; k += terms) {
        part.depth = smaller(terms, depth - k);
        tile(part);
        part.a += terms * (packs ? rows : a_column);
        part.b += terms * kWidth;
        part.accumulate = true;
      }
      task.b += depth * kWidth;
      task.c += kWidth;
      if (bias) task.bias += kWidth;
    }
    a += rows * a_row;
    c += rows * ldc;
  }
}

void multiply_block(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t depth, const MatrixView& a, const void* panels,
                    const void* bias, bool accumulate, void* c, ptrdiff_t ldc) {
  if (is_half(dtype)) return multiply_half_block(dtype, m, n, depth, a, panels, bias, accumulate, c, ldc);
  float_or_double(dtype, [&]<class T>() {
    multiply_block_of<T>(m, n, depth, static_cast<const T*>(a.data), a.row, a.column, static_cast<const T*>(panels),
                         static_cast<const T*>(bias), accumulate, static_cast<T*>(c), ldc);
  });
}

}  // namespace

void fill_gemm(DenseKernels& table) {
#if defined(__FMA__)
  table.own_gemm = true;
#endif
  table.vector_gemm = vector_gemm;
  table.thin_gemm = thin_gemm;
  table.pair_sums = pair_sums;
  table.gemm_blocks = gemm_blocks;
  table.pack_block = pack_block;
  table.multiply_block = multiply_block;
}

}  // namespace rushlight::RUSHLIGHT_ISA
