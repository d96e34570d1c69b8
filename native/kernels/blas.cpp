// Opening the BLAS library and cutting products between it and small_gemm.
#include "kernels/blas.h"

#include <atomic>
#include <cstring>
#include <mutex>

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace rushlight {
namespace {

// CBLAS as the library exports it: 32-bit integers, row-major 101, plain 111, transposed 112.
using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
using Dgemm = void (*)(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);

std::string g_path;
std::mutex g_opening;
std::atomic<bool> g_tried{false};
Sgemm g_sgemm = nullptr;
Dgemm g_dgemm = nullptr;

void* open_library(const char* path) {
#ifdef _WIN32
  return reinterpret_cast<void*>(LoadLibraryA(path));
#else
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
#endif
}

void* find(void* library, const char* name) {
#ifdef _WIN32
  return reinterpret_cast<void*>(GetProcAddress(reinterpret_cast<HMODULE>(library), name));
#else
  return dlsym(library, name);
#endif
}

// Products of at most this many multiplications go to small_gemm (measured: beyond, packing and blocking for the caches
// pay).
constexpr ptrdiff_t kSmallProduct = 64 * 64 * 64;
constexpr ptrdiff_t kParallelProduct = 1 << 21;

}  // namespace

void set_blas_library(const std::string& path) {
  std::lock_guard<std::mutex> lock(g_opening);
  if (g_sgemm) return;
  g_path = path;
  g_tried = false;
}

bool blas_available() {
  if (g_tried.load(std::memory_order_acquire)) return g_sgemm != nullptr;
  std::lock_guard<std::mutex> lock(g_opening);
  if (g_tried.load(std::memory_order_acquire)) return g_sgemm != nullptr;
  if (!g_path.empty()) {
    if (void* library = open_library(g_path.c_str())) {
      const auto threads = reinterpret_cast<void (*)(int)>(find(library, "scipy_openblas_set_num_threads"));
      const auto sgemm = reinterpret_cast<Sgemm>(find(library, "scipy_cblas_sgemm"));
      const auto dgemm = reinterpret_cast<Dgemm>(find(library, "scipy_cblas_dgemm"));
      if (threads && sgemm && dgemm) {
        threads(1);
        g_dgemm = dgemm;
        g_sgemm = sgemm;
      }
    }
  }
  g_tried.store(true, std::memory_order_release);
  return g_sgemm != nullptr;
}

namespace {

struct Operand {
  int transposed, leading;
};

// How the library is told the layout: a matrix whose rows are adjacent elements is plain, one whose columns are is
// transposed.
bool plain(ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t row, ptrdiff_t column) {
  return (column == 1 || columns <= 1) && (rows <= 1 || row >= (columns > 1 ? columns : 1));
}

Operand describe(ptrdiff_t rows, ptrdiff_t columns, const MatrixView& v) {
  if (plain(rows, columns, v.row, v.column)) return {111, static_cast<int>(rows > 1 ? v.row : (columns > 1 ? columns : 1))};
  return {112, static_cast<int>(columns > 1 ? v.column : (rows > 1 ? rows : 1))};
}

void call_blas(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha, const MatrixView& a, const MatrixView& b,
               double beta, void* c, ptrdiff_t ldc) {
  const Operand x = describe(m, k, a), y = describe(k, n, b);
  const int im = static_cast<int>(m), in = static_cast<int>(n), ik = static_cast<int>(k), ic = static_cast<int>(ldc);
  if (dtype == DType::F32)
    g_sgemm(101, x.transposed, y.transposed, im, in, ik, static_cast<float>(alpha), static_cast<const float*>(a.data), x.leading,
            static_cast<const float*>(b.data), y.leading, static_cast<float>(beta), static_cast<float*>(c), ic);
  else
    g_dgemm(101, x.transposed, y.transposed, im, in, ik, alpha, static_cast<const double*>(a.data), x.leading,
            static_cast<const double*>(b.data), y.leading, beta, static_cast<double*>(c), ic);
}

struct Panels {
  DType dtype;
  ptrdiff_t m, n, k;
  double alpha, beta;
  MatrixView a, b;
  char* c;
  ptrdiff_t ldc;
  bool by_rows;
};

const void* shifted(const MatrixView& v, DType dtype, ptrdiff_t rows, ptrdiff_t columns) {
  return static_cast<const char*>(v.data) + (rows * v.row + columns * v.column) * item_size(dtype);
}

constexpr ptrdiff_t kPanelUnit = 48;  // panels are cut at multiples of this many rows or columns of c

void run_panel(void* context, ptrdiff_t begin, ptrdiff_t end) {
  const Panels& p = *static_cast<Panels*>(context);
  const ptrdiff_t from = begin * kPanelUnit;
  const ptrdiff_t whole = p.by_rows ? p.m : p.n;
  const ptrdiff_t count = (end * kPanelUnit < whole ? end * kPanelUnit : whole) - from;
  if (p.by_rows)
    call_blas(p.dtype, count, p.n, p.k, p.alpha, {shifted(p.a, p.dtype, from, 0), p.a.row, p.a.column}, p.b, p.beta,
              p.c + from * p.ldc * item_size(p.dtype), p.ldc);
  else
    call_blas(p.dtype, p.m, count, p.k, p.alpha, p.a, {shifted(p.b, p.dtype, 0, from), p.b.row, p.b.column}, p.beta,
              p.c + from * item_size(p.dtype), p.ldc);
}

template <class T>
void scale_all(T* c, ptrdiff_t n, double factor) {
  const T f = static_cast<T>(factor);
  for (ptrdiff_t i = 0; i < n; i++) c[i] = f == T(0) ? T(0) : c[i] * f;
}

void scale_all(DType dtype, void* c, ptrdiff_t n, double factor) {
  dtype == DType::F32 ? scale_all(static_cast<float*>(c), n, factor) : scale_all(static_cast<double*>(c), n, factor);
}

}  // namespace

bool is_gemm_operand(ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t row, ptrdiff_t column) {
  constexpr ptrdiff_t kLimit = 0x7fffffff;
  if (rows > kLimit || columns > kLimit || row > kLimit || column > kLimit) return false;
  return plain(rows, columns, row, column) || plain(columns, rows, column, row);
}

void gemm(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha, const MatrixView& a, const MatrixView& b,
          const void* bias, double beta, void* c, bool parallel, ptrdiff_t ldc) {
  if (m == 0 || n == 0) return;
  const bool simple = alpha == 1.0 && (beta == 0.0 || beta == 1.0);
  const ptrdiff_t mn = m * n;
  // A matrix times a vector is bound by memory: rows against rows read each element once.
  const bool rows_by_vector = (m == 1 || n == 1) && a.column == 1 && b.row == 1;
  if (simple && (k == 0 || mn <= kSmallProduct / k || rows_by_vector)) {
    dense_kernels().small_gemm(dtype, m, n, k, a, b, bias, beta == 1.0, c, ldc);
    return;
  }
  if (!blas_available()) {
    // c = alpha a b + beta c as c' = (beta / alpha) c; c' += a b; c = alpha c'. Exact for alpha 1, the common case.
    if (alpha == 0.0) {
      scale_all(dtype, c, mn, beta);
      return;
    }
    if (beta != 0.0 && beta != alpha) scale_all(dtype, c, mn, beta / alpha);
    dense_kernels().small_gemm(dtype, m, n, k, a, b, bias, beta != 0.0, c, ldc);
    if (alpha != 1.0) scale_all(dtype, c, mn, alpha);
    return;
  }
  if (bias) {
    dense_kernels().fill_rows(dtype, bias, m, n, c);
    beta = 1.0;
  }
  if (!parallel || get_num_threads() <= 1 || mn < kParallelProduct / (k ? k : 1) || (m < 2 * kPanelUnit && n < 2 * kPanelUnit)) {
    call_blas(dtype, m, n, k, alpha, a, b, beta, c, ldc);
    return;
  }
  Panels panels{dtype, m, n, k, alpha, beta, a, b, static_cast<char*>(c), ldc, m >= n};
  const ptrdiff_t units = ((panels.by_rows ? m : n) + kPanelUnit - 1) / kPanelUnit;
  const ptrdiff_t share = (units + get_num_threads() - 1) / get_num_threads();
  parallel_for(units, share, run_panel, &panels);
}

}  // namespace rushlight
