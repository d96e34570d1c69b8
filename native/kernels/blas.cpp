// Opening the BLAS library, and calling it.
#include "kernels/blas.h"

#include <atomic>
#include <cstring>
#include <mutex>

#include "kernels/library.h"

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
void* g_library = nullptr;

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
      const auto threads = reinterpret_cast<void (*)(int)>(symbol_of(library, "scipy_openblas_set_num_threads"));
      const auto sgemm = reinterpret_cast<Sgemm>(symbol_of(library, "scipy_cblas_sgemm"));
      const auto dgemm = reinterpret_cast<Dgemm>(symbol_of(library, "scipy_cblas_dgemm"));
      if (threads && sgemm && dgemm) {
        threads(1);
        g_dgemm = dgemm;
        g_library = library;
        g_sgemm = sgemm;
      }
    }
  }
  g_tried.store(true, std::memory_order_release);
  return g_sgemm != nullptr;
}

void* blas_symbol(const char* name) { return symbol_of(g_library, name); }

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

}  // namespace

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

bool is_gemm_operand(ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t row, ptrdiff_t column) {
  constexpr ptrdiff_t kLimit = 0x7fffffff;
  if (rows > kLimit || columns > kLimit || row > kLimit || column > kLimit) return false;
  return plain(rows, columns, row, column) || plain(columns, rows, column, row);
}

}  // namespace rushlight
