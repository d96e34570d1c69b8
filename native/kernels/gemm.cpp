// Cutting products of matrices: by size to the kernels (isa/matrix/gemm.cpp) or the BLAS library, and among threads.
#include "kernels/gemm.h"

#include <algorithm>
#include <atomic>

#include "kernels/blas.h"
#include "memory/allocator.h"

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
void parallel(ptrdiff_t n, bool split, const F& f) {
  if (!split || n <= 1) return f(ptrdiff_t{0}, n);
  parallel_for(
      n, 1, [](void* context, ptrdiff_t begin, ptrdiff_t end) { (*static_cast<const F*>(context))(begin, end); },
      const_cast<F*>(&f));
}

// Runs f over parts of the product, cut at multiples of `unit` rows or columns.
template <class F>
void in_parts(const Product& p, bool by_rows, ptrdiff_t unit, bool split, const F& f) {
  const ptrdiff_t whole = by_rows ? p.m : p.n;
  parallel((whole + unit - 1) / unit, split, [&](ptrdiff_t begin, ptrdiff_t end) {
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
  char* const taken = static_cast<char*>(memory::take(bytes));
  char* const panels = taken ? taken : panel;
  if (!taken) blocks.columns = blocks.width;
  for (ptrdiff_t column = 0; column < p.n; column += blocks.columns) {
    const ptrdiff_t columns = std::min(blocks.columns, p.n - column);
    for (ptrdiff_t first = 0; first < p.k; first += blocks.depth) {
      const ptrdiff_t depth = std::min(blocks.depth, p.k - first);
      Product block = p.part(0, p.m, column, columns);
      block.a.data = static_cast<const char*>(block.a.data) + first * p.a.column * item;
      block.b.data = static_cast<const char*>(block.b.data) + first * p.b.row * item;
      parallel((columns + blocks.width - 1) / blocks.width, split, [&](ptrdiff_t begin, ptrdiff_t end) {
        kernel.pack_block(p.dtype, block.b, depth, {begin * blocks.width, std::min(end * blocks.width, columns)}, panels);
      });
      in_parts(block, true, blocks.rows, split, [&](const Product& q) {
        kernel.multiply_block(q.dtype, q.m, q.n, depth, q.a, panels, q.bias, q.accumulate || first > 0, q.c, q.ldc);
      });
    }
  }
  if (taken) memory::give(taken, bytes);
}

template <class T>
void scale_all(T* c, ptrdiff_t n, double factor) {
  const T f = static_cast<T>(factor);
  for (ptrdiff_t i = 0; i < n; i++) c[i] = f == T(0) ? T(0) : c[i] * f;
}

void scale_all(DType dtype, void* c, ptrdiff_t n, double factor) {
  dtype == DType::F32 ? scale_all(static_cast<float*>(c), n, factor) : scale_all(static_cast<double*>(c), n, factor);
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

void gemm(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha, const MatrixView& a, const MatrixView& b,
          const void* bias, double beta, void* c, bool parallel, ptrdiff_t ldc) {
  if (m == 0 || n == 0) return;
  const bool simple = alpha == 1.0 && (beta == 0.0 || beta == 1.0), half = is_half(dtype);
  const DType type = computed_in(dtype);  // of c
  const ptrdiff_t mn = m * n;
  const bool split = parallel && k > 0 && mn >= kParallelProduct / k && get_num_threads() > 1;
  const Product p{dtype, m, n, k, a, b, bias, beta != 0.0, static_cast<char*>(c), ldc};
  const bool small = k == 0 || mn <= kBlasProduct / k || ((m == 1 || n == 1) && a.column == 1 && b.row == 1);
  if (!half && !dense_kernels().own_gemm && !(small && simple) && blas_available()) return by_library(p, alpha, beta, split);
  // c = alpha a b + beta c as c' = (beta / alpha) c; c' += a b; c = alpha c'. Exact for alpha 1, the common case.
  if (alpha == 0.0) return scale_all(type, c, mn, beta);
  if (beta != 0.0 && beta != alpha) scale_all(type, c, mn, beta / alpha);
  if (k == 0) {
    Product q = p;
    q.dtype = type;
    thin(q, false);
  } else if (half || (m > kThinRows && n > 2)) {
    blocked(p, split);
  } else if (!vector(p, split)) {
    thin(p, split);
  }
  if (alpha != 1.0) scale_all(type, c, mn, alpha);
}

}  // namespace rushlight
