// Cutting products of matrices: by size to the kernels (isa/matrix/gemm.cpp) or the BLAS library, and among threads. Those of
// complex numbers are made of real ones.
#include "kernels/gemm.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "kernels/blas.h"
#include "kernels/workspace.h"

namespace rushlight {
namespace {

constexpr ptrdiff_t kThinRows = 100;           // up to here a block of b is not read often enough to be packed as a whole
constexpr ptrdiff_t kBlasProduct = 64 * 64 * 64;  // multiplications from which the library is faster, where it is
constexpr ptrdiff_t kParallelProduct = 1 << 21;   // and from which another thread is worth waking

struct Product {
  DType dtype;
  ptrdiff_t m, n, k;
  MatrixView a, b;
  const void* bias;
  bool accumulate;
  char* c;
  ptrdiff_t ldc;

  ptrdiff_t item() const { return item_size(dtype); }
  ptrdiff_t result_item() const { return item_size(computed_in(dtype)); }
  // The product of some rows of a and some columns of b.
  Product part(ptrdiff_t row, ptrdiff_t rows, ptrdiff_t column, ptrdiff_t columns) const {
    Product p = *this;
    p.m = rows;
    p.n = columns;
    p.a.data = static_cast<const char*>(a.data) + row * a.row * item();
    p.b.data = static_cast<const char*>(b.data) + column * b.column * item();
    if (bias) p.bias = static_cast<const char*>(bias) + column * result_item();
    p.c = c + (row * ldc + column) * result_item();
    return p;
  }
};

template <class F>
void split_or_whole(ptrdiff_t n, bool split, const F& f) {
  if (!split || n <= 1) return f(ptrdiff_t{0}, n);
  parallel(n, 1, f);
}

// Runs f over parts of the product, cut at multiples of `unit` rows or columns.
template <class F>
void in_parts(const Product& p, bool by_rows, ptrdiff_t unit, bool split, const F& f) {
  const ptrdiff_t whole = by_rows ? p.m : p.n;
  split_or_whole((whole + unit - 1) / unit, split, [&](ptrdiff_t begin, ptrdiff_t end) {
    const ptrdiff_t from = begin * unit, count = std::min(end * unit, whole) - from;
    f(by_rows ? p.part(from, count, 0, p.n) : p.part(0, p.m, from, count));
  });
}

// A row or a column times a matrix. False where there is no kernel for it, or tiles are as good.
bool vector(const Product& p, bool split) {
  constexpr ptrdiff_t kLeast = 64, kUnit = 256;
  const bool dots = p.a.column == 1 && p.b.row == 1;
  if ((p.m > 2 && p.n > 2) || (!dots && std::max(p.m, p.n) < kLeast)) return false;
  const auto run = [](const Product& q) {
    return dense_kernels().vector_gemm(q.dtype, q.m, q.n, q.k, q.a, q.b, q.bias, q.accumulate, q.c, q.ldc);
  };
  if (!split) return run(p);
  std::atomic<bool> done{true};  // or not: the same for all parts
  in_parts(p, p.m > p.n, kUnit, true, [&](const Product& q) {
    if (!run(q)) done = false;
  });
  return done;
}

void thin(const Product& p, bool split) {
  const auto run = [](const Product& q) {
    dense_kernels().thin_gemm(q.dtype, q.m, q.n, q.k, q.a, q.b, q.bias, q.accumulate, q.c, q.ldc);
  };
  if (split) in_parts(p, p.m > p.n, dense_kernels().gemm_blocks(p.dtype, p.n, p.k).width, true, run);
  else run(p);
}

// Block by block of b: its panels are packed by all threads, then strips of a are multiplied with them. Where there is no
// memory for a block, a panel is one.
void blocked(const Product& p, bool split) {
  const DenseKernels& kernel = dense_kernels();
  GemmBlocks blocks = kernel.gemm_blocks(p.dtype, p.n, p.k);
  const ptrdiff_t item = p.item(), bytes = blocks.depth * blocks.columns * p.result_item();
  alignas(64) char panel[kPanelBytes];
  const Workspace taken(bytes);
  char* const panels = taken.p ? taken.p : panel;
  if (!taken.p) blocks.columns = blocks.width;
  for (ptrdiff_t column = 0; column < p.n; column += blocks.columns) {
    const ptrdiff_t columns = std::min(blocks.columns, p.n - column);
    for (ptrdiff_t first = 0; first < p.k; first += blocks.depth) {
      const ptrdiff_t depth = std::min(blocks.depth, p.k - first);
      Product block = p.part(0, p.m, column, columns);
      block.a.data = static_cast<const char*>(block.a.data) + first * p.a.column * item;
      block.b.data = static_cast<const char*>(block.b.data) + first * p.b.row * item;
      split_or_whole((columns + blocks.width - 1) / blocks.width, split, [&](ptrdiff_t begin, ptrdiff_t end) {
        kernel.pack_block(p.dtype, block.b, depth, {begin * blocks.width, std::min(end * blocks.width, columns)}, panels);
      });
      in_parts(block, true, blocks.rows, split, [&](const Product& q) {
        kernel.multiply_block(q.dtype, q.m, q.n, depth, q.a, panels, q.bias, q.accumulate || first > 0, q.c, q.ldc);
      });
    }
  }
}

template <class T>
void scale_all(T* c, ptrdiff_t n, double factor) {
  const T f = static_cast<T>(factor);
  for (ptrdiff_t i = 0; i < n; i++) c[i] = f == T(0) ? T(0) : c[i] * f;
}

void scale_all(DType dtype, void* c, ptrdiff_t n, double factor) {
  if (is_pair(dtype)) n *= 2;
  dtype == DType::F32 || dtype == DType::C64 ? scale_all(static_cast<float*>(c), n, factor)
                                             : scale_all(static_cast<double*>(c), n, factor);
}

// --- complex numbers: real products of twice the size ---
//
// A row of complex numbers is a row of twice as many real ones, and so is a row of the product. The factor between is b with each
// number x + iy as the square (x, y; -y, x). Where a is one row, b stays as it lies instead: the row's real and its imaginary parts
// are two rows, and their products with b are put together at the end.

// to[2p][2j..] = (x, y), to[2p+1][2j..] = (-y, x) for the number x + iy = b(p, j); rows of `to` are `pitch` elements apart.
template <class T>
void spread(const T* b, ptrdiff_t row, ptrdiff_t column, ptrdiff_t depth, ptrdiff_t columns, T* to, ptrdiff_t pitch) {
  const ptrdiff_t tile = column == 1 ? 1 : 16;  // so that the cache lines of a transposed b are read once
  for (ptrdiff_t from = 0; from < depth; from += tile)
    for (ptrdiff_t j = 0; j < columns; j++)
      for (ptrdiff_t p = from; p < std::min(from + tile, depth); p++) {
        const T *number = b + 2 * (p * row + j * column), x = number[0], y = number[1];
        T* square = to + 2 * p * pitch + 2 * j;
        square[0] = x;
        square[1] = y;
        square[pitch] = -y;
        square[pitch + 1] = x;
      }
}

template <class T>
void copy_numbers(const T* from, ptrdiff_t row, ptrdiff_t column, ptrdiff_t rows, ptrdiff_t columns, T* to) {
  for (ptrdiff_t j = 0; j < columns; j++)
    for (ptrdiff_t i = 0; i < rows; i++) std::copy_n(from + 2 * (i * row + j * column), 2, to + 2 * (i * columns + j));
}

// Memory for some numbers; from the stack where there is no other.
template <class T>
class Scratch {
 public:
  static constexpr ptrdiff_t kLeast = 1024;
  explicit Scratch(ptrdiff_t count) : bytes_(count * sizeof(T)), taken_(count > kLeast ? memory::take(bytes_) : nullptr) {}
  ~Scratch() {
    if (taken_) memory::give(taken_, bytes_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() { return taken_ ? static_cast<T*>(taken_) : least_; }
  bool holds(ptrdiff_t count) const { return taken_ || count <= kLeast; }

 private:
  size_t bytes_;
  void* taken_;
  alignas(64) T least_[kLeast];
};

template <class T>
void complex_row(const Product& p, DType real, bool split) {
  constexpr ptrdiff_t kColumns = 8192;
  Scratch<T> sums(4 * std::min(p.n, kColumns));
  const ptrdiff_t most = sums.holds(4 * std::min(p.n, kColumns)) ? kColumns : Scratch<T>::kLeast / 4;
  for (ptrdiff_t j = 0; j < p.n; j += most) {
    const ptrdiff_t n = std::min(most, p.n - j);
    const T *b = static_cast<const T*>(p.b.data) + 2 * j, *re = sums.data(), *im = re + 2 * n;
    gemm(real, 2, 2 * n, p.k, 1.0, {p.a.data, 1, 2 * p.a.column}, {b, 2 * p.b.row, 1}, nullptr, 0.0, sums.data(), split);
    T* c = reinterpret_cast<T*>(p.c) + 2 * j;
    for (ptrdiff_t i = 0; i < 2 * n; i += 2) {
      const T x = re[i] - im[i + 1], y = re[i + 1] + im[i];
      c[i] = p.accumulate ? c[i] + x : x;
      c[i + 1] = p.accumulate ? c[i + 1] + y : y;
    }
  }
}

// Rows of adjacent numbers times a column: rows of real numbers times two columns, which lead to the real and the imaginary parts.
template <class T>
void complex_column(const Product& p, DType real, bool split) {
  constexpr ptrdiff_t kDepth = 2048;
  Scratch<T> columns(4 * std::min(p.k, kDepth));
  const ptrdiff_t most = columns.holds(4 * std::min(p.k, kDepth)) ? kDepth : Scratch<T>::kLeast / 4;
  for (ptrdiff_t k = 0; k < p.k; k += most) {
    const ptrdiff_t deep = std::min(most, p.k - k);
    const T *a = static_cast<const T*>(p.a.data) + 2 * k, *b = static_cast<const T*>(p.b.data) + 2 * k * p.b.row;
    T *re = columns.data(), *im = re + 2 * deep;
    for (ptrdiff_t i = 0; i < deep; i++, b += 2 * p.b.row)
      re[2 * i] = im[2 * i + 1] = b[0], re[2 * i + 1] = -b[1], im[2 * i] = b[1];
    gemm(real, p.m, 2, 2 * deep, 1.0, {a, 2 * p.a.row, 1}, {re, 1, 2 * deep}, nullptr, p.accumulate || k ? 1.0 : 0.0, p.c, split,
         2 * p.ldc);
  }
}

template <class T>
void complex_gemm(const Product& p, DType real, bool split) {
  if (p.k == 0 && !p.accumulate)
    for (ptrdiff_t i = 0; i < p.m; i++) std::memset(p.c + i * p.ldc * p.item(), 0, p.n * p.item());
  if (p.n == 1 && p.a.column == 1) return complex_column<T>(p, real, split);
  if (p.m == 1 && p.b.column == 1) return complex_row<T>(p, real, split);
  Product turned = p;
  turned.m = p.n, turned.n = p.m, turned.ldc = 1;
  turned.a = {p.b.data, p.b.column, p.b.row}, turned.b = {p.a.data, p.a.column, p.a.row};
  if (p.m == 1 && p.b.row == 1) return complex_column<T>(turned, real, split);
  if (p.n == 1 && p.a.row == 1 && p.ldc == 1) return complex_row<T>(turned, real, split);
  const bool copied = p.a.column != 1 && p.k > 1;
  ptrdiff_t rows = copied ? std::min(p.m, ptrdiff_t{256}) : p.m, depth = std::min(p.k, ptrdiff_t{256});
  ptrdiff_t columns = std::min(p.n, ptrdiff_t{512});
  const auto pitch_of = [](ptrdiff_t n) { return 2 * n + 64 / sizeof(T); };  // rows do not all start at the same place of a page
  const ptrdiff_t size = 2 * depth * pitch_of(columns);
  Scratch<T> squares(size), strip(copied ? 2 * rows * depth : 0);
  if (!squares.holds(size) || !strip.holds(copied ? 2 * rows * depth : 0))
    rows = copied ? 16 : p.m, depth = std::min(depth, ptrdiff_t{16}), columns = std::min(columns, ptrdiff_t{8});
  const ptrdiff_t pitch = pitch_of(columns);
  for (ptrdiff_t k = 0; k < p.k; k += depth)
    for (ptrdiff_t j = 0; j < p.n; j += columns) {
      const ptrdiff_t deep = std::min(depth, p.k - k), wide = std::min(columns, p.n - j);
      const T* b = static_cast<const T*>(p.b.data) + 2 * (k * p.b.row + j * p.b.column);
      spread(b, p.b.row, p.b.column, deep, wide, squares.data(), pitch);
      for (ptrdiff_t i = 0; i < p.m; i += rows) {
        const ptrdiff_t high = std::min(rows, p.m - i);
        MatrixView a{static_cast<const T*>(p.a.data) + 2 * (i * p.a.row + k * p.a.column), 2 * p.a.row, 1};
        if (copied) {
          copy_numbers(static_cast<const T*>(a.data), p.a.row, p.a.column, high, deep, strip.data());
          a = {strip.data(), 2 * deep, 1};
        }
        T* c = reinterpret_cast<T*>(p.c) + 2 * (i * p.ldc + j);
        const bool add = p.accumulate || k > 0;
        gemm(real, high, 2 * wide, 2 * deep, 1.0, a, {squares.data(), pitch, 1}, nullptr, add ? 1.0 : 0.0, c, split, 2 * p.ldc);
      }
    }
}

void integer_gemm(const Product& p, bool split) {
  constexpr ptrdiff_t kRows = 96;  // of a: as deep as a panel they fit into the second cache
  in_parts(p, true, kRows, split, [kRows](const Product& part) {
    for (ptrdiff_t row = 0; row < part.m; row += kRows) {
      const Product q = part.part(row, std::min(kRows, part.m - row), 0, part.n);
      dense_kernels().integer_gemm(q.dtype, q.m, q.n, q.k, q.a, q.b, q.accumulate, q.c, q.ldc);
    }
  });
}

void by_library(const Product& p, double alpha, double beta, bool split) {
  constexpr ptrdiff_t kUnit = 48;
  if (p.bias) {
    dense_kernels().fill_rows(p.dtype, p.bias, p.m, p.n, p.c);
    beta = 1.0;
  }
  in_parts(p, p.m >= p.n, kUnit, split && (p.m >= 2 * kUnit || p.n >= 2 * kUnit),
           [&](const Product& q) { call_blas(q.dtype, q.m, q.n, q.k, alpha, q.a, q.b, beta, q.c, q.ldc); });
}

}  // namespace

bool has_products(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F64 || is_half(dtype) || is_pair(dtype) || dtype == DType::I32 ||
         dtype == DType::I64;
}

bool is_made_of_tiles(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k) {
  return (dtype == DType::F32 || dtype == DType::F64) && m > 2 && n > 2 && k > 0 &&
         (dense_kernels().own_gemm || m * n <= kBlasProduct / k);
}
// Tiles do, where they are as deep as the product.
bool adds_finished_sums(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k) {
  constexpr ptrdiff_t kTerms = 128, kWide = 16;
  return is_made_of_tiles(dtype, m, n, k) && n >= kWide && k <= kTerms;
}

void gemm(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha, const MatrixView& a, const MatrixView& b,
          const void* bias, double beta, void* c, bool parallel, ptrdiff_t ldc) {
  if (m == 0 || n == 0) return;
  const bool simple = alpha == 1.0 && (beta == 0.0 || beta == 1.0), half = is_half(dtype);
  const DType type = computed_in(dtype);  // of c
  const ptrdiff_t mn = m * n;
  const bool split = parallel && k > 0 && mn >= kParallelProduct / k && get_num_threads() > 1;
  Product p{dtype, m, n, k, a, b, bias, beta != 0.0, static_cast<char*>(c), ldc};
  // A library's product of a row or a column may add all terms in a row, whose roundings grow with the length.
  const bool small = k == 0 || mn <= kBlasProduct / k || m == 1 || n == 1;
  const bool real = type == DType::F32 || type == DType::F64;
  if (real && !half && !dense_kernels().own_gemm && !(small && simple) && is_gemm_operand(m, k, a.row, a.column) &&
      is_gemm_operand(k, n, b.row, b.column) && blas_available())
    return by_library(p, alpha, beta, split);
  // c = alpha a b + beta c as c' = (beta / alpha) c; c' += a b; c = alpha c'. Exact for alpha 1, the common case.
  if (alpha == 0.0) return scale_all(type, c, mn, beta);
  if (beta != 0.0 && beta != alpha) scale_all(type, c, mn, beta / alpha);
  if (!real) {
    if (bias)
      for (ptrdiff_t i = 0; i < m; i++) std::memcpy(p.c + i * ldc * p.item(), bias, n * p.item());
    p.accumulate = p.accumulate || bias;
    if (dtype == DType::C64) complex_gemm<float>(p, DType::F32, split);
    else if (dtype == DType::C128) complex_gemm<double>(p, DType::F64, split);
    else integer_gemm(p, split);
  } else if (k == 0) {
    p.dtype = type;
    thin(p, false);
  } else if ((half ? m != 1 && n != 1 : m > kThinRows && n > 2) || !vector(p, split)) {
    half || (m > kThinRows && n > 2) ? blocked(p, split) : thin(p, split);
  }
  if (alpha != 1.0) scale_all(type, c, mn, alpha);
}

}  // namespace rushlight
