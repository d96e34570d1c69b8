// Products of matrices over tensors: matmul with its broadcasting, addmm, linear and its gradients.
#include "bindings/kernel.h"
#include "kernels/blas.h"
#include "kernels/gemm.h"

#include <utility>

namespace rushlight {
namespace {

constexpr Py_ssize_t kParallelWork = 1 << 20;  // multiplications from which a product may take more than one thread
constexpr Py_ssize_t kReleaseWork = 1 << 17;   // and from which it lets other Python threads run

// A stack of matrices: the last two dimensions of a tensor as gemm takes them, the leading ones by their strides.
struct Stack {
  Ref owner;  // keeps the data alive
  const char* data = nullptr;
  Py_ssize_t rows = 1, columns = 1;
  ptrdiff_t row = 1, column = 1;  // in elements
  int leading = 0;
  const Py_ssize_t* shape = nullptr;
  const Py_ssize_t* strides = nullptr;  // in bytes
};

bool divisible(const TensorInfo& a, ptrdiff_t item) {
  for (int i = 0; i < a.ndim; i++)
    if (a.shape[i] > 1 && a.strides[i] % item) return false;
  return true;
}

// Sees a as a stack of matrices of dtype `type`, copying where gemm could not walk it. A 1-D array is a row
// (vector_is_row) or a column.
Stack make_stack(const TensorInfo& given, DType type, bool vector_is_row) {
  Stack out;
  TensorInfo a = given;
  const ptrdiff_t item = item_size(type);
  for (;;) {
    if (a.dtype == type && a.tensor->is_aligned() && divisible(a, item)) {
      const int last = a.ndim - 1;
      if (a.ndim == 1) {
        const ptrdiff_t step = a.strides[0] / item;
        out.rows = vector_is_row ? 1 : a.shape[0];
        out.columns = vector_is_row ? a.shape[0] : 1;
        out.row = vector_is_row ? a.shape[0] : step;
        out.column = vector_is_row ? step : 1;
      } else {
        out.rows = a.shape[last - 1];
        out.columns = a.shape[last];
        out.row = a.strides[last - 1] / item;
        out.column = a.strides[last] / item;
        out.leading = a.ndim - 2;
      }
      if (is_gemm_operand(out.rows, out.columns, out.row, out.column) || a.contiguous()) {
        out.data = a.data;
        out.shape = a.shape;
        out.strides = a.strides;
        if (!out.owner) out.owner = Ref::borrow(as_object(a.tensor));
        return out;
      }
    }
    out.owner = contiguous_as(a.tensor, type);
    a = info_of(out.owner);
  }
}

// Arguments that do not fit together get NotImplemented, here and below: the definition in ops/matrix/products.py says what is
// wrong, in words that depend on the case.
Ref matmul(const TensorInfo& a, const TensorInfo& b) {
  const DType type = a.dtype;
  if (!a.is_float_or_half()) return {};
  if (a.dtype != b.dtype || a.ndim == 0 || b.ndim == 0) return {};
  if (a.shape[a.ndim - 1] != b.shape[b.ndim == 1 ? 0 : b.ndim - 2]) return {};
  const Stack x = make_stack(a, type, true), y = make_stack(b, type, false);
  const Py_ssize_t m = x.rows, k = x.columns, n = y.columns;
  const ptrdiff_t item = item_size(computed_in(type));

  // The broadcast leading shape.
  Py_ssize_t shape[kMaxDims + 2];
  const int leading = x.leading > y.leading ? x.leading : y.leading;
  Py_ssize_t stacks = 1;
  Py_ssize_t x_steps[kMaxDims], y_steps[kMaxDims];
  for (int i = 0; i < leading; i++) {
    const int ix = i - (leading - x.leading), iy = i - (leading - y.leading);
    const Py_ssize_t sx = ix < 0 ? 1 : x.shape[ix], sy = iy < 0 ? 1 : y.shape[iy];
    if (sx != sy && sx != 1 && sy != 1) return {};
    shape[i] = sx == 1 ? sy : sx;
    x_steps[i] = sx == 1 ? 0 : x.strides[ix];
    y_steps[i] = sy == 1 ? 0 : y.strides[iy];
    stacks *= shape[i];
  }
  int ndim = leading;
  if (a.ndim > 1) shape[ndim++] = m;
  if (b.ndim > 1) shape[ndim++] = n;
  Ref result = new_ref(computed_in(type), ndim, shape, device_of(a, b));
  if (!has_memory(result)) return rounded(std::move(result), type);
  char* c = data_of(result);
  const Py_ssize_t work = m * n * k;

  if (stacks == 1) {
    Unlocked unlocked(work > kReleaseWork, x.owner, y.owner, result);
    gemm(type, m, n, k, 1.0, {x.data, x.row, x.column}, {y.data, y.row, y.column}, nullptr, 0.0, c, work > kParallelWork);
  } else if (leading == x.leading && y.leading == 0 && y.row != 0 && a.contiguous() && as_tensor(x.owner) == a.tensor) {
    // A contiguous stack times one matrix is one tall product.
    Unlocked unlocked(stacks * work > kReleaseWork, x.owner, y.owner, result);
    gemm(type, stacks * m, n, k, 1.0, {x.data, k, 1}, {y.data, y.row, y.column}, nullptr, 0.0, c, stacks * work > kParallelWork);
  } else if (m * n > 0) {
    Unlocked unlocked(stacks * work > kReleaseWork, x.owner, y.owner, result);
    const bool parallel_inside = work > kParallelWork && stacks < 2 * get_num_threads();
    const auto run = [&](ptrdiff_t begin, ptrdiff_t end) {
      for (ptrdiff_t s = begin; s < end; s++) {
        const char* xs = x.data;
        const char* ys = y.data;
        for (Py_ssize_t d = leading - 1, rest = s; d >= 0; d--) {
          xs += rest % shape[d] * x_steps[d];
          ys += rest % shape[d] * y_steps[d];
          rest /= shape[d];
        }
        gemm(type, m, n, k, 1.0, {xs, x.row, x.column}, {ys, y.row, y.column}, nullptr, 0.0, c + s * m * n * item, parallel_inside);
      }
    };
    if (parallel_inside) run(0, stacks);
    else parallel(stacks, kParallelWork / 4 / (work + 1) + 1, run);
  }
  return rounded(std::move(result), type);
}

// Of two matrices.
Ref mm(const TensorInfo& a, const TensorInfo& b) { return a.ndim == 2 && b.ndim == 2 ? matmul(a, b) : Ref(); }

// The product of two matrices of a type that gemm knows, one of them transposed.
struct Factor {
  const TensorInfo& matrix;
  bool transposed;
  Stack stack() const {
    Stack s = make_stack(matrix, matrix.dtype, true);
    if (transposed) std::swap(s.rows, s.columns), std::swap(s.row, s.column);
    return s;
  }
};
Ref product_of(Factor left, Factor right, DeviceType device) {
  const DType type = left.matrix.dtype;
  const Stack x = left.stack(), y = right.stack();
  const Py_ssize_t shape[2] = {x.rows, y.columns}, work = x.rows * y.columns * x.columns;
  Ref sums = new_ref(computed_in(type), 2, shape, device);
  if (device != DeviceType::Meta) {
    char* c = data_of(sums);
    Unlocked unlocked(work > kReleaseWork, x.owner, y.owner, sums);
    gemm(type, x.rows, y.columns, x.columns, 1.0, {x.data, x.row, x.column}, {y.data, y.row, y.column}, nullptr, 0.0, c,
         work > kParallelWork);
  }
  return rounded(std::move(sums), type);
}

// The gradients of a @ b; a or b may be None where no gradient needs it.
Gradients matmul_backward(const TensorInfo& g, const TensorOrNone& a, const TensorOrNone& b, const Needs<2>& needs) {
  if (!g.is_float_or_half() || g.ndim != 2) return {};
  if (needs[0] && (!b.tensor || b.ndim != 2 || b.dtype != g.dtype || b.shape[1] != g.shape[1])) return {};
  if (needs[1] && (!a.tensor || a.ndim != 2 || a.dtype != g.dtype || a.shape[0] != g.shape[0])) return {};
  const DeviceType device = device_of(g, a, b);
  Ref ga, gb;
  if (needs[0]) ga = product_of({g, false}, {b, true}, device);
  if (needs[1]) gb = product_of({a, true}, {g, false}, device);
  return gradients_of({&ga, &gb});
}

// beta * bias + alpha * (a @ b); the bias broadcasts to the product.
Ref addmm(TensorOrNone& bias, const TensorInfo& a, const TensorInfo& b, double alpha, double beta) {
  const bool has_bias = bias.tensor;
  const DType type = a.dtype, wide = computed_in(type);
  if (!a.is_float_or_half() || b.dtype != type || (has_bias && bias.dtype != type)) return {};
  if (a.ndim != 2 || b.ndim != 2 || a.shape[1] != b.shape[0]) return {};
  const Stack x = make_stack(a, type, true), y = make_stack(b, type, true);
  const Ref bias_owner = has_bias && bias.dtype != wide ? contiguous_as(bias.tensor, wide) : Ref();
  if (bias_owner) bias.set(bias_owner);
  const Py_ssize_t shape[2] = {x.rows, y.columns};
  Ref result = new_ref(wide, 2, shape, device_of(a, b, bias));
  if (!has_memory(result)) return rounded(std::move(result), type);
  Pinned pins[2];
  const void* row = nullptr;
  if (has_bias && beta != 0.0) {
    const bool is_row = bias.contiguous() && bias.size() == shape[1] && bias.ndim >= 1 && bias.ndim <= 2 &&
                        bias.shape[bias.ndim - 1] == shape[1];
    if (is_row && alpha == 1.0 && beta == 1.0) {
      row = bias.data;
    } else {
      if (as_tensor(result)->nbytes() > kReleaseGilBytes) {  // which is written without the GIL
        pins[0].take(as_tensor(x.owner)->storage());
        pins[1].take(as_tensor(y.owner)->storage());
      }
      copy_values(result, bias.tensor);
    }
  } else {
    beta = 0.0;
  }
  const Py_ssize_t work = shape[0] * shape[1] * x.columns;
  char* c = data_of(result);
  {
    Unlocked unlocked(work > kReleaseWork, x.owner, y.owner, row ? bias.tensor : nullptr, result);
    gemm(type, shape[0], shape[1], x.columns, alpha, {x.data, x.row, x.column}, {y.data, y.row, y.column}, row, row ? 0.0 : beta, c,
         work > kParallelWork);
  }
  return rounded(std::move(result), type);
}

// x @ w.T + bias over any leading dimensions of x.
Ref linear(const TensorInfo& x, const TensorInfo& w, const TensorOrNone& bias) {
  const bool has_bias = bias.tensor;
  if (!x.is_float_or_half() || x.ndim == 0 || w.ndim != 2 || (has_bias && bias.ndim != 1)) return {};
  const DType type = x.dtype, wide = computed_in(type);
  if (w.dtype != x.dtype || (has_bias && bias.dtype != x.dtype)) return {};
  const Py_ssize_t k = x.shape[x.ndim - 1], n = w.shape[0];
  Py_ssize_t m = 1;
  for (int i = 0; i + 1 < x.ndim; i++) m *= x.shape[i];
  if (k != w.shape[1] || (has_bias && bias.shape[0] != n)) return {};
  const Stack ws = make_stack(w, type, true);
  Stack xs;
  if (x.ndim == 2) {
    xs = make_stack(x, type, true);
  } else {
    xs.owner = contiguous(x.tensor);
    xs.data = data_of(xs.owner);
    xs.row = k;
  }
  const Ref bias_owner = has_bias ? contiguous_as(bias.tensor, wide) : Ref();
  Py_ssize_t shape[kMaxDims];
  for (int i = 0; i + 1 < x.ndim; i++) shape[i] = x.shape[i];
  shape[x.ndim - 1] = n;
  Ref result = new_ref(wide, x.ndim, shape, device_of(x, w, bias));
  if (!has_memory(result)) return rounded(std::move(result), type);
  const Py_ssize_t work = m * n * k;
  const void* row = has_bias ? data_of(bias_owner) : nullptr;
  char* c = data_of(result);
  {
    Unlocked unlocked(work > kReleaseWork, xs.owner, ws.owner, bias_owner, result);
    gemm(type, m, n, k, 1.0, {xs.data, xs.row, xs.column}, {ws.data, ws.column, ws.row}, row, 0.0, c, work > kParallelWork);
  }
  return rounded(std::move(result), type);
}

// The gradients of x @ w.T, or with a bias, (g summed over all but its last dimension, g @ w, g.T @ x); x or w may be None where no
// gradient needs it. As many needs as gradients.
Gradients linear_backward(const TensorInfo& g, const TensorOrNone& x, const TensorOrNone& w, Given<"tuple[int, ...]"> wanted) {
  int needs[3] = {0, 0, 0};
  if (!g.is_float_or_half() || g.ndim == 0) return {};
  const bool has_bias = PyTuple_Check(wanted) && PyTuple_GET_SIZE(wanted.object) == 3;
  if (!needs_argument(wanted, has_bias ? 3 : 2, needs + !has_bias)) return {};
  const auto [need_b, need_x, need_w] = needs;
  if (need_b > 2) return {};  // a bias of several dimensions is as long as the rows are many
  const DType type = g.dtype, wide = computed_in(type);
  const Py_ssize_t n = g.shape[g.ndim - 1];
  if (need_x && (!w.tensor || w.dtype != type || w.ndim != 2 || w.shape[0] != n)) return {};
  if (need_w && (!x.tensor || x.dtype != type || x.ndim != g.ndim)) return {};
  Py_ssize_t m = 1, shape[kMaxDims];
  for (int i = 0; i + 1 < g.ndim; i++) {
    if (need_w && g.shape[i] != x.shape[i]) return {};
    m *= shape[i] = g.shape[i];
  }
  const Py_ssize_t k = need_x ? w.shape[1] : need_w ? x.shape[x.ndim - 1] : 0;
  if (need_x && need_w && x.shape[x.ndim - 1] != k) return {};
  shape[g.ndim - 1] = k;
  const DeviceType device = device_of(g, x, w);
  const Py_ssize_t sizes[2] = {n, k};
  Ref gx, gw, gb;
  if (need_x) gx = new_ref(wide, g.ndim, shape, device);
  if (need_w) gw = new_ref(wide, 2, sizes, device);
  if (need_b) gb = new_ref(wide, 1, &n, device);
  if (device != DeviceType::Meta) {
    Stack ws;
    Ref gc = contiguous(g.tensor), xc = need_w ? contiguous(x.tensor) : Ref();
    if (need_x) ws = make_stack(w, type, true);
    Ref summands = need_b ? contiguous_as(as_tensor(gc), wide) : Ref();
    const char* gp = data_of(gc);
    const char* sp = summands ? data_of(summands) : nullptr;
    const char* xp = xc ? data_of(xc) : nullptr;
    char* to_x = gx ? data_of(gx) : nullptr;
    char* to_w = gw ? data_of(gw) : nullptr;
    char* to_b = gb ? data_of(gb) : nullptr;
    const Py_ssize_t work = m * n * k;
    const bool many = work > kParallelWork;
    Unlocked unlocked((need_x || need_w) && work > kReleaseWork, gc, xc, ws.owner, summands, gx, gw, gb);
    if (to_x) gemm(type, m, k, n, 1.0, {gp, n, 1}, {ws.data, ws.row, ws.column}, nullptr, 0.0, to_x, many);
    if (to_w) gemm(type, n, k, m, 1.0, {gp, 1, n}, {xp, k, 1}, nullptr, 0.0, to_w, many);
    if (to_b) sum_rows(wide, sp, m, n, to_b);
  }
  for (Ref* gradient : {&gb, &gx, &gw}) *gradient = rounded(std::move(*gradient), type);
  return has_bias ? gradients_of({&gb, &gx, &gw}) : gradients_of({&gx, &gw});
}

// The sum of a matrix's diagonal.
Ref trace(const TensorInfo& a) {
  if (!a.is_float() || a.ndim != 2 || !a.tensor->is_aligned()) return {};
  Ref out = new_ref(a.dtype, 0, nullptr, device_of(a));
  if (!has_memory(out)) return out;
  const Py_ssize_t n = std::min(a.shape[0], a.shape[1]), step = a.strides[0] + a.strides[1];
  by_type(
      a.dtype,
      [&]<class T>(T* to) {
        double sums[4] = {};
        for (Py_ssize_t i = 0; i < n; i++) sums[i & 3] += static_cast<double>(*reinterpret_cast<const T*>(a.data + i * step));
        *to = static_cast<T>(sums[0] + sums[1] + (sums[2] + sums[3]));
      },
      data_of(out));
  return out;
}

Nothing set_blas(Given<"str | bytes | PathLike[str]"> path) {
  PyObject* encoded = nullptr;
  if (!PyUnicode_FSConverter(path, &encoded)) return {};
  set_blas_library(PyBytes_AS_STRING(Ref(encoded).get()));
  return none();
}

Bool has_blas() { return Ref(PyBool_FromLong(blas_available())); }

const KernelRows rows{
    long_kernel<matmul, "matmul(a, b): as torch.matmul, broadcasting the leading dimensions">(),
    long_kernel<addmm, "addmm(bias, a, b, alpha=1, beta=1)">(),
    long_kernel<linear, "linear(x, w, bias=None): x @ w.T + bias">(),
    long_kernel<linear_backward, "linear_backward(g, x, w, needs): ([grad_bias,] grad_x, grad_w)">(),
    long_kernel<mm, "mm(a, b): of two matrices">(),
    long_kernel<matmul_backward, "matmul_backward(g, a, b, needs): (grad_a, grad_b)">(),
    kernel<trace, "trace(a)">(),
    kernel<set_blas, "set_blas_library(path): opened at the first product that needs it">(),
    kernel<has_blas, "blas_available(): opens the library if that was not tried">(),
};

}  // namespace

}  // namespace rushlight
