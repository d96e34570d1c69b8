// Steps of recurrent layers: the product of state and recurrent weight, and the gates.
//
// The weight is packed once a pass into panels of kTileWidth columns (tile.h). A step goes through the panels one by one, so
// that the weight is read once a step, and cuts the depth such that a slice of a panel and the slices of the rows stay in the
// first cache. With up to kFewRows rows one panel gives the adders too little to do: several are taken side by side. Each
// element is summed over the depth in one order, whatever the rows and panels beside it: results do not depend on how the
// rows are shared out among threads.
//
// The gates are plain loops over the units of a row, one for each function, as compilers vectorise them; what they pass on
// to each other stays in the first cache. Floor of a pass: the operations of the products over the peak of the adders, where
// the packed weight fits the second cache; else its bytes once a step.
#include "kernels/isa/math_float.h"
#include "kernels/isa/matrix/tile.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

template <class T>
constexpr ptrdiff_t kSlice = 512 / sizeof(T);  // of a row
constexpr int kFewRows = 3;

ptrdiff_t panels_of(ptrdiff_t columns, ptrdiff_t width) { return (columns + width - 1) / width; }

ptrdiff_t packed_size(DType dtype, ptrdiff_t depth, ptrdiff_t columns) {
  ptrdiff_t size = 0;
  float_or_double(dtype, [&]<class T>() { size = panels_of(columns, kTileWidth<T>) * kTileWidth<T> * depth; });
  return size;
}

void pack_panels(DType dtype, ptrdiff_t depth, ptrdiff_t columns, const MatrixView& b, void* packed) {
  float_or_double(dtype, [&]<class T>() {
    constexpr ptrdiff_t kWidth = kTileWidth<T>;
    const T* from = static_cast<const T*>(b.data);
    T* to = static_cast<T*>(packed);
    for (ptrdiff_t j = 0; j < columns; j += kWidth, to += kWidth * depth)
      pack_panel(from + j * b.column, b.row, b.column, depth, smaller(kWidth, columns - j), kWidth, to);
  });
}

// MR rows of c by NP whole panels.
template <class T, int MR, int NP>
void side_by_side(ptrdiff_t depth, const T* a, ptrdiff_t a_row, const T* panels, T* c, ptrdiff_t ldc) {
  using V = Vec<T>;
  constexpr int NV = NP * kTileVecs;
  const ptrdiff_t panel = depth * kTileWidth<T>;
  for (ptrdiff_t k = 0; k < depth;) {
    V sums[MR][NV];
#pragma GCC unroll 16
    for (int i = 0; i < MR; i++)
#pragma GCC unroll 16
      for (int j = 0; j < NV; j++) sums[i][j] = V::all(0);
    for (const ptrdiff_t end = smaller(k + kSlice<T>, depth); k < end; k++, panels += kTileWidth<T>) {
#pragma GCC unroll 16
      for (int j = 0; j < NV; j++) {
        const V b = V::load(panels + j / kTileVecs * panel + j % kTileVecs * V::N);
#pragma GCC unroll 16
        for (int i = 0; i < MR; i++) sums[i][j] = fma(V::all(a[i * a_row + k]), b, sums[i][j]);
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < MR; i++)
#pragma GCC unroll 16
      for (int j = 0; j < NV; j++) {
        T* to = c + i * ldc + j * V::N;
        (V::load(to) + sums[i][j]).store(to);
      }
  }
}

template <class T>
void add_product_of(ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t depth, const T* a, ptrdiff_t a_row, const T* packed, T* c,
                    ptrdiff_t ldc) {
  constexpr ptrdiff_t kWidth = kTileWidth<T>;
  ptrdiff_t j = 0;
  if (rows <= kFewRows) {
    const auto take = [&]<int MR, int NP>() {
      for (; j + NP * kWidth <= columns; j += NP * kWidth) side_by_side<T, MR, NP>(depth, a, a_row, packed + j * depth, c + j, ldc);
    };
    if (rows == 1) take.template operator()<1, 4>();
    else if (rows == 2) take.template operator()<2, 2>();
    else if (rows == 3) take.template operator()<3, 2>();
  }
  const Strips strips(rows);
  for (; j < columns; j += kWidth) {
    const ptrdiff_t width = smaller(kWidth, columns - j);
    const int vecs = width > Vec<T>::N ? kTileVecs : 1;
    for (ptrdiff_t k = 0; k < depth; k += kSlice<T>) {
      const T* panel = packed + j * depth + k * kWidth;
      for (ptrdiff_t s = 0; s < strips.count; s++) {
        const ptrdiff_t row = strips.begin(s);
        tile_of<T>(strips.rows(s), vecs, false)({smaller(kSlice<T>, depth - k), a + row * a_row + k, a_row, 1, panel, kWidth,
                                                 nullptr, true, c + row * ldc + j, ldc, width});
      }
    }
  }
}

void add_product(DType dtype, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t depth, const void* a, ptrdiff_t a_row,
                 const void* packed, void* c, ptrdiff_t ldc) {
  float_or_double(dtype, [&]<class T>() {
    add_product_of<T>(rows, columns, depth, static_cast<const T*>(a), a_row, static_cast<const T*>(packed), static_cast<T*>(c),
                      ldc);
  });
}

// --- the gates of one row of n units; the slots are in the order of `Cell` in dense.h ---

// x = 1 / (1 + e^-(x + bias))
template <class T>
RUSHLIGHT_INLINE Vec<T> logistic(Vec<T> x) {
  const Vec<T> one = Vec<T>::all(1);
  return one / (one + exp(Vec<T>::all(0) - x));
}
template <class T>
void sigmoid_row(T* x, const T* bias, ptrdiff_t n) {
  using V = Vec<T>;
  ptrdiff_t j = 0;
  for (; j + V::N <= n; j += V::N) logistic(V::load(x + j) + V::load(bias + j)).store(x + j);
  if (j == n) return;
  T edge[V::N] = {};
  for (ptrdiff_t i = 0; i < n - j; i++) edge[i] = x[j + i] + bias[j + i];
  logistic(V::load(edge)).store(edge);
  for (ptrdiff_t i = 0; i < n - j; i++) x[j + i] = edge[i];
}
template <class T>
void tanh_row(T* __restrict x, const T* __restrict bias, ptrdiff_t n) {
  for (ptrdiff_t j = 0; j < n; j++) x[j] = math::tanh(x[j] + bias[j]);
}

template <class T>
void lstm_row(ptrdiff_t n, const T* __restrict bias, T* __restrict gates, const T* __restrict c_before, T* __restrict c,
              T* __restrict h) {
  sigmoid_row(gates, bias, 2 * n);
  tanh_row(gates + 2 * n, bias + 2 * n, n);
  sigmoid_row(gates + 3 * n, bias + 3 * n, n);
  const T *i = gates, *f = gates + n, *g = gates + 2 * n, *o = gates + 3 * n;
  for (ptrdiff_t j = 0; j < n; j++) c[j] = f[j] * c_before[j] + i[j] * g[j];
  for (ptrdiff_t j = 0; j < n; j++) h[j] = o[j] * math::tanh(c[j]);
}

template <class T>
void gru_row(ptrdiff_t n, const T* __restrict bias, T* __restrict gates, const T* __restrict h_before, T* __restrict h) {
  T *fresh = gates, *reset = gates + n, *update = gates + 2 * n, *part = gates + 3 * n;
  sigmoid_row(reset, bias + n, 2 * n);
  for (ptrdiff_t j = 0; j < n; j++) part[j] += bias[3 * n + j];
  for (ptrdiff_t j = 0; j < n; j++) fresh[j] = math::tanh(fresh[j] + bias[j] + reset[j] * part[j]);
  for (ptrdiff_t j = 0; j < n; j++) h[j] = fresh[j] + update[j] * (h_before[j] - fresh[j]);
}

template <class T>
void relu_row(T* __restrict x, const T* __restrict bias, ptrdiff_t n) {
  for (ptrdiff_t j = 0; j < n; j++) {
    const T y = x[j] + bias[j];
    x[j] = y < 0 ? T(0) : y;  // NaN stays
  }
}

template <class T>
void step_of(Cell cell, const CellStep& s) {
  const ptrdiff_t n = s.units, slots = kCellSlots[static_cast<int>(cell)];
  const T* bias = static_cast<const T*>(s.bias);
  for (ptrdiff_t r = 0; r < s.rows; r++) {
    const ptrdiff_t at = r * n;
    T* gates = static_cast<T*>(s.gates) + slots * at;
    const T* before = static_cast<const T*>(s.before);
    T* h = static_cast<T*>(s.h);
    switch (cell) {
      case Cell::Lstm: lstm_row(n, bias, gates, before + at, static_cast<T*>(s.c) + at, h + at); break;
      case Cell::Gru: gru_row(n, bias, gates, before + at, h + at); break;
      case Cell::Tanh: tanh_row(gates, bias, n); break;
      default: relu_row(gates, bias, n);
    }
  }
}

void cell_step(Cell cell, DType dtype, const CellStep& s) {
  float_or_double(dtype, [&]<class T>() { step_of<T>(cell, s); });
}

// --- their gradients: `dh` is the gradient of h that comes from the step behind, and becomes what goes past the gates to
// the step before; `d` receives the gradients of the sums in the gates ---

template <class T>
void lstm_row_back(ptrdiff_t n, const T* __restrict gates, const T* __restrict c_before, const T* __restrict c, T* __restrict dh,
                   T* __restrict dc, T* __restrict d) {
  for (ptrdiff_t j = 0; j < n; j++) {
    const T i = gates[j], f = gates[n + j], g = gates[2 * n + j], o = gates[3 * n + j], t = math::tanh(c[j]);
    const T of_c = dc[j] + dh[j] * o * (1 - t * t);
    d[j] = of_c * g * i * (1 - i);
    d[n + j] = of_c * c_before[j] * f * (1 - f);
    d[2 * n + j] = of_c * i * (1 - g * g);
    d[3 * n + j] = dh[j] * t * o * (1 - o);
    dc[j] = of_c * f;
    dh[j] = 0;
  }
}

template <class T>
void gru_row_back(ptrdiff_t n, const T* __restrict gates, const T* __restrict h_before, T* __restrict dh, T* __restrict d) {
  for (ptrdiff_t j = 0; j < n; j++) {
    const T fresh = gates[j], r = gates[n + j], z = gates[2 * n + j], part = gates[3 * n + j];
    const T of_fresh = dh[j] * (1 - z) * (1 - fresh * fresh);
    d[j] = of_fresh;
    d[n + j] = of_fresh * part * r * (1 - r);
    d[2 * n + j] = dh[j] * (h_before[j] - fresh) * z * (1 - z);
    d[3 * n + j] = of_fresh * r;
    dh[j] *= z;
  }
}

template <class T>
void simple_row_back(bool relu, ptrdiff_t n, const T* __restrict h, T* __restrict dh, T* __restrict d) {
  if (relu) {
    for (ptrdiff_t j = 0; j < n; j++) d[j] = h[j] <= 0 ? T(0) : dh[j];
  } else {
    for (ptrdiff_t j = 0; j < n; j++) d[j] = dh[j] * (1 - h[j] * h[j]);
  }
  for (ptrdiff_t j = 0; j < n; j++) dh[j] = 0;
}

template <class T>
void step_back_of(Cell cell, const CellStepBack& s) {
  const ptrdiff_t n = s.units, slots = kCellSlots[static_cast<int>(cell)];
  for (ptrdiff_t r = 0; r < s.rows; r++) {
    const ptrdiff_t at = r * n;
    const T* gates = static_cast<const T*>(s.gates) + slots * at;
    const T* before = static_cast<const T*>(s.before);
    const T* grad = static_cast<const T*>(s.grad);
    T* dh = static_cast<T*>(s.dh) + at;
    T* d = static_cast<T*>(s.d) + slots * at;
    for (ptrdiff_t j = 0; grad && j < n; j++) dh[j] += grad[at + j];
    switch (cell) {
      case Cell::Lstm:
        lstm_row_back(n, gates, before + at, static_cast<const T*>(s.c) + at, dh, static_cast<T*>(s.dc) + at, d);
        break;
      case Cell::Gru: gru_row_back(n, gates, before + at, dh, d); break;
      default: simple_row_back(cell == Cell::Relu, n, gates, dh, d);
    }
  }
}

void cell_step_back(Cell cell, DType dtype, const CellStepBack& s) {
  float_or_double(dtype, [&]<class T>() { step_back_of<T>(cell, s); });
}

}  // namespace

void fill_recurrent(DenseKernels& table) {
  table.packed_size = packed_size;
  table.pack_panels = pack_panels;
  table.add_product = add_product;
  table.cell_step = cell_step;
  table.cell_step_back = cell_step_back;
}

}  // namespace rushlight::RUSHLIGHT_ISA
