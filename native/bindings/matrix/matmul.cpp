// Products of matrices over tensors: matmul with its broadcasting, what is added to products, linear, and their gradients.
#include "bindings/kernel.h"
#include "kernels/blas.h"
#include "kernels/copy.h"
#include "kernels/gemm.h"

#include <cfloat>
#include <cmath>
#include <cstring>
#include <utility>

namespace rushlight {
namespace {

constexpr Py_ssize_t kParallelWork = 1 << 20;  // multiplications from which a product may take more than one thread
constexpr Py_ssize_t kReleaseWork = 1 << 17;   // and from which it lets other Python threads run
constexpr Py_ssize_t kFormElements = 1 << 17;  // of factors that replays keep in another form

// The type in which gemm reads factors of `type`, Count where it multiplies none: small integers are products of I32, cut off.
DType factor_type(DType type) {
  if (type == DType::U8 || type == DType::I8 || type == DType::I16) return DType::I32;
  return has_products(type) ? type : DType::Count;
}
DType sum_type(DType type) { return computed_in(factor_type(type)); }
bool multiplies(const TensorInfo& a) { return factor_type(a.dtype) != DType::Count; }

// A stack of matrices: the last two dimensions of a tensor as gemm takes them, the leading ones by their strides.
struct Stack {
  Ref owner;  // keeps the data alive
  const char* data = nullptr;
  Py_ssize_t rows = 1, columns = 1;
  ptrdiff_t row = 1, column = 1;  // in elements
  int leading = 0;
  const Py_ssize_t* shape = nullptr;
  const Py_ssize_t* strides = nullptr;  // in bytes
  bool adjacent = false;  // all rows of all matrices follow each other

  MatrixView view(ptrdiff_t offset = 0) const { return {data + offset, row, column}; }
  Stack turned() && {
    std::swap(rows, columns), std::swap(row, column);
    adjacent = false;
    return std::move(*this);
  }
  // All rows of all matrices as one, where they follow each other.
  Stack flat() && {
    for (int i = 0; i < leading; i++) rows *= shape[i];
    row = columns;
    leading = 0;
    return std::move(*this);
  }
};

bool divisible(const TensorInfo& a, ptrdiff_t item) {
  for (int i = 0; i < a.ndim; i++)
    if (a.shape[i] > 1 && a.strides[i] % item) return false;
  return true;
}

// Sees a as a stack of matrices of factor_type, copying where neither rows nor columns are adjacent. A 1-D array is a row
// (vector_is_row) or a column.
Stack make_stack(const TensorInfo& given, bool vector_is_row = true) {
  Stack out;
  TensorInfo a = given;
  const DType type = factor_type(a.dtype);
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
        out.adjacent = a.ndim > 1 && a.contiguous();
        if (!out.owner) out.owner = Ref::borrow(as_object(a.tensor));
        return out;
      }
    }
    out.owner = contiguous_as(a.tensor, type);
    a = info_of(out.owner);
  }
}

// Two stacks that fit together, with the shape that their leading dimensions broadcast to.
struct Pairs {
  Stack x, y;
  DType type;  // factor_type of both
  int leading;
  Py_ssize_t stacks = 1;
  Py_ssize_t shape[kMaxDims + 2], x_steps[kMaxDims], y_steps[kMaxDims];

  Pairs(Stack&& left, Stack&& right, DType factors) : x(std::move(left)), y(std::move(right)), type(factors) {
    leading = std::max(x.leading, y.leading);
  }
  // False where they do not fit.
  bool fit() {
    if (x.columns != y.rows) return false;
    for (int i = 0; i < leading; i++) {
      const int ix = i - (leading - x.leading), iy = i - (leading - y.leading);
      const Py_ssize_t sx = ix < 0 ? 1 : x.shape[ix], sy = iy < 0 ? 1 : y.shape[iy];
      if (sx != sy && sx != 1 && sy != 1) return false;
      shape[i] = sx == 1 ? sy : sx;
      x_steps[i] = sx == 1 ? 0 : x.strides[ix];
      y_steps[i] = sy == 1 ? 0 : y.strides[iy];
      stacks *= shape[i];
    }
    shape[leading] = x.rows;
    shape[leading + 1] = y.columns;
    return true;
  }
  Py_ssize_t work() const { return x.rows * y.columns * x.columns; }

  // The products into c, one matrix after the other, or added to what is there; `summed`: all into the same matrix.
  void multiply(const Ref& c, bool add = false, bool summed = false, const void* bias = nullptr,
                const Tensor* kept = nullptr) const {
    const Py_ssize_t m = x.rows, n = y.columns, k = x.columns, each = work();
    char* out = data_of(c);
    const ptrdiff_t bytes = summed ? 0 : m * n * item_size(computed_in(type));
    const auto one = [&](Py_ssize_t rows, ptrdiff_t x_at, ptrdiff_t y_at, char* to, bool adds, bool split) {
      gemm(type, rows, n, k, 1.0, x.view(x_at), y.view(y_at), bias, adds ? 1.0 : 0.0, to, split);
    };
    Unlocked unlocked(stacks * each > kReleaseWork, x.owner, y.owner, c, kept);
    if (stacks == 1) return one(m, 0, 0, out, add, each > kParallelWork);
    // A contiguous stack times one matrix is one tall product.
    if (!summed && x.adjacent && y.leading == 0 && leading == x.leading)
      return gemm(type, stacks * m, n, k, 1.0, {x.data, k, 1}, y.view(), bias, add ? 1.0 : 0.0, out, stacks * each > kParallelWork);
    const bool inside = summed || (each > kParallelWork && stacks < 2 * get_num_threads());
    const auto run = [&](ptrdiff_t begin, ptrdiff_t end) {
      for (ptrdiff_t s = begin; s < end; s++) {
        ptrdiff_t x_at = 0, y_at = 0;
        for (Py_ssize_t d = leading - 1, rest = s; d >= 0; d--) {
          const Py_ssize_t i = d ? rest % shape[d] : rest;
          x_at += i * x_steps[d];
          y_at += i * y_steps[d];
          if (d) rest /= shape[d];
        }
        one(m, x_at, y_at, out + s * bytes, add || (summed && s > 0), inside && each > kParallelWork);
      }
    };
    if (inside) run(0, stacks);
    else parallel(stacks, kParallelWork / 4 / (each + 1) + 1, run);
  }
};

// The only work of a kernel that makes `c`, which it tells where that is one product.
struct Product {
  DType type;
  Py_ssize_t m, n, k;
  ptrdiff_t x_row, x_column, y_row, y_column;
};
template <bool kAdds>
bool run_product(const void* fixed, char* const* at) {
  const Product& p = *static_cast<const Product*>(fixed);
  const Py_ssize_t work = p.m * p.n * p.k;
  const ReleaseGil release(work > kReleaseWork);
  gemm(p.type, p.m, p.n, p.k, 1.0, {at[0], p.x_row, p.x_column}, {at[1], p.y_row, p.y_column}, at[2], kAdds, at[3],
       work > kParallelWork);
  return true;
}
// The second factor by rows, which is how it is multiplied.
struct ByRows {
  DType type;
  ptrdiff_t k, n, row, column;
};
bool run_by_rows(const void* fixed, char* const* at) {
  const ByRows& y = *static_cast<const ByRows*>(fixed);
  const ptrdiff_t item = item_size(y.type), to[] = {y.n * item, item}, from[] = {y.row * item, y.column * item},
                  shape[] = {y.k, y.n};
  copy_strided(y.type, at[1], to, y.type, at[0], from, 2, shape);
  return true;
}
[[gnu::cold]] void tell_product(const Pairs& pairs, const Ref& c, const Tensor* bias) {
  const Stack &x = pairs.x, &y = pairs.y;
  const bool tall = pairs.stacks > 1 && x.adjacent && y.leading == 0 && pairs.leading == x.leading;
  if (pairs.stacks != 1 && !tall) return;
  const Product p{pairs.type, pairs.stacks * x.rows, y.columns, x.columns, tall ? x.columns : x.row, tall ? 1 : x.column, y.row,
                  y.column};
  Form<Product, ByRows> form;
  if (p.y_column != 1 && p.k * p.n <= kFormElements && is_made_of_tiles(p.type, p.m, p.n, p.k)) {
    form = {run_by_rows, {p.type, p.k, p.n, p.y_row, p.y_column}, p, static_cast<size_t>(p.k * p.n * item_size(p.type))};
    form.with.y_row = p.n, form.with.y_column = 1;
  }
  tell(run_product<false>, p,
       {{as_tensor(x.owner), x.data},
        {as_tensor(y.owner), y.data},
        {bias, bias ? bias->data() : nullptr},
        {as_tensor(c), data_of(c)}},
       bias || !adds_finished_sums(p.type, p.m, p.n, p.k) ? nullptr : run_product<true>, form);
}
void multiply_alone(const Pairs& pairs, const Ref& c, const Tensor* bias = nullptr) {
  if (telling()) tell_product(pairs, c, bias);
  pairs.multiply(c, false, false, bias ? bias->data() : nullptr, bias);
}

// Arguments that do not fit together get NotImplemented, here and below: the definition in ops/matrix/products.py says what is
// wrong, in words that depend on the case.
Ref dot_of_pairs(const TensorInfo& a, const TensorInfo& b, bool conjugated);
// Whether no elements of a vector, or of matrices, are adjacent.
bool is_loose(const TensorInfo& a) {
  const Py_ssize_t item = item_size(a.dtype);
  return !a.contiguous() && a.size() > 64 && a.strides[a.ndim - 1] != item && (a.ndim == 1 || a.strides[a.ndim - 2] != item);
}

Ref matmul(const TensorInfo& a, const TensorInfo& b) {
  // Each element of a product with a vector is read once, and best by registers.
  if (!is_accelerated(a, b) && a.ndim && b.ndim && (a.ndim == 1 || b.ndim == 1) && (is_loose(a) || is_loose(b))) {
    const Ref x = is_loose(a) ? contiguous(a.tensor) : Ref::borrow(as_object(a.tensor));
    const Ref y = is_loose(b) ? contiguous(b.tensor) : Ref::borrow(as_object(b.tensor));
    return matmul(info_of(x), info_of(y));
  }
  if (!multiplies(a) || a.dtype != b.dtype || a.ndim == 0 || b.ndim == 0) return {};
  if (is_pair(a.dtype) && a.ndim == 1 && b.ndim == 1) return dot_of_pairs(a, b, false);
  Pairs pairs(make_stack(a), make_stack(b, false), factor_type(a.dtype));
  if (!pairs.fit()) return {};
  int ndim = pairs.leading;
  if (a.ndim > 1) ndim++;
  if (b.ndim > 1) pairs.shape[ndim++] = pairs.y.columns;
  Ref result = new_ref(sum_type(a.dtype), ndim, pairs.shape, device_of(a, b));
  if (has_memory(result) && as_tensor(result)->numel()) multiply_alone(pairs, result);
  return rounded(std::move(result), a.dtype);
}

// Of two matrices; of stacks as long as each other; of a matrix and a vector; of two vectors.
Ref mm(const TensorInfo& a, const TensorInfo& b) { return a.ndim == 2 && b.ndim == 2 ? matmul(a, b) : Ref(); }
Ref bmm(const TensorInfo& a, const TensorInfo& b) {
  return a.ndim == 3 && b.ndim == 3 && a.shape[0] == b.shape[0] ? matmul(a, b) : Ref();
}
Ref mv(const TensorInfo& a, const TensorInfo& b) { return a.ndim == 2 && b.ndim == 1 ? matmul(a, b) : Ref(); }
// Of complex numbers, the first conjugated or not; sums of short sums.
Ref dot_of_pairs(const TensorInfo& a, const TensorInfo& b, bool conjugated) {
  constexpr Py_ssize_t kPiece = 4096;
  if (a.dtype != b.dtype || a.shape[0] != b.shape[0]) return {};
  Ref result = new_ref(a.dtype, 0, nullptr, device_of(a, b));
  if (!has_memory(result)) return result;
  const Ref left = contiguous(a.tensor), right = contiguous(b.tensor);
  const Py_ssize_t n = as_tensor(left)->numel(), pieces = (n + kPiece - 1) / kPiece;
  const char *x = data_of(left), *y = data_of(right);
  const auto run = [&]<class T>(T* out) {
    const Workspace sums(static_cast<double>(pieces) * 4 * sizeof(T));
    if (!sums.p) return false;
    T* const each = reinterpret_cast<T*>(sums.p);
    parallel(pieces, kParallelWork / kPiece, [&](ptrdiff_t begin, ptrdiff_t end) {
      for (ptrdiff_t i = begin; i < end; i++) {
        const ptrdiff_t at = i * kPiece * item_size(a.dtype);
        dense_kernels().pair_sums(a.dtype, x + at, y + at, std::min(kPiece, n - i * kPiece), each + 4 * i);
      }
    });
    double total[4] = {};
    for (Py_ssize_t i = 0; i < 4 * pieces; i++) total[i % 4] += each[i];
    out[0] = static_cast<T>(conjugated ? total[0] + total[1] : total[0] - total[1]);
    out[1] = static_cast<T>(conjugated ? total[2] - total[3] : total[2] + total[3]);
    return true;
  };
  const Unlocked unlocked(n > kReleaseWork, left, right, result);
  return by_type(part_of(a.dtype), run, data_of(result)) ? std::move(result) : Ref();
}
Ref dot(const TensorInfo& a, const TensorInfo& b) { return a.ndim == 1 && b.ndim == 1 ? matmul(a, b) : Ref(); }
Ref vdot(const TensorInfo& a, const TensorInfo& b) {
  return a.ndim == 1 && b.ndim == 1 && is_pair(a.dtype) ? dot_of_pairs(a, b, true) : dot(a, b);
}

// Whether the columns of a matrix follow each other, as torch looks: the gradient then has this layout too.
bool lies_by_columns(const TensorOrNone& a) {
  return a.tensor && a.ndim == 2 && a.strides[0] == item_size(a.dtype) && a.strides[1] == a.shape[0] * a.strides[0];
}

// x @ y; with `by_columns` (of matrices) in this layout; in another shape where one is given.
Ref product_of(Stack&& x, Stack&& y, DType type, DeviceType device, bool by_columns = false, int ndim = 0,
               const Py_ssize_t* shape = nullptr) {
  const bool swap = by_columns && !x.leading && !y.leading;
  Pairs pairs = swap ? Pairs(std::move(y).turned(), std::move(x).turned(), factor_type(type))
                     : Pairs(std::move(x), std::move(y), factor_type(type));
  if (!pairs.fit()) return {};
  const bool own = swap || !shape;
  Ref sums = new_ref(sum_type(type), own ? pairs.leading + 2 : ndim, own ? pairs.shape : shape, device);
  if (has_memory(sums) && as_tensor(sums)->numel()) multiply_alone(pairs, sums);
  sums = rounded(std::move(sums), type);
  if (!swap) return sums;
  const TensorInfo made = info_of(sums);
  Layout l;
  l.add(made.shape[1], made.strides[1]);
  l.add(made.shape[0], made.strides[0]);
  return make_view(made, l);
}

// The gradients of a @ b, of two matrices, two stacks of one shape, or a contiguous stack and a matrix; a or b may be None where no
// gradient needs it.
Gradients matmul_backward(const TensorInfo& g, const TensorOrNone& a, const TensorOrNone& b, const Needs<2>& needs) {
  if (!g.is_float_or_half() || g.ndim < 2) return {};
  const int dims_a = needs[0] ? needs[0] - 1 : a.tensor ? a.ndim : 0, dims_b = needs[1] ? needs[1] - 1 : b.tensor ? b.ndim : 0;
  if (dims_a != g.ndim || (dims_b != g.ndim && dims_b != 2)) return {};
  const auto fits = [&g](const TensorOrNone& t, int ndim) {
    return t.tensor && t.dtype == g.dtype && t.ndim == ndim && (ndim == 2 || std::equal(t.shape, t.shape + ndim - 2, g.shape));
  };
  if ((needs[0] && !fits(b, dims_b)) || (needs[1] && !fits(a, dims_a))) return {};
  const bool tall = dims_b < dims_a;
  if (tall && (!g.contiguous() || (needs[1] && !a.contiguous()))) return {};
  const DeviceType device = device_of(g, a, b);
  Ref ga, gb;
  if (needs[0]) ga = product_of(make_stack(g), make_stack(b).turned(), g.dtype, device, lies_by_columns(a));
  if (needs[1]) {
    Stack x = make_stack(a), y = make_stack(g);
    if (tall) x = std::move(x).flat(), y = std::move(y).flat();
    gb = product_of(std::move(x).turned(), std::move(y), g.dtype, device, lies_by_columns(b));
  }
  if ((needs[0] && !ga) || (needs[1] && !gb)) return {};
  return gradients_of({&ga, &gb});
}

// A number that a product is multiplied by: an int or a float; 1 where it is left out.
struct Factor {
  static constexpr Text kType = "float";
  bool read(const Argument& a) {
    whole = a.object == Py_None || PyLong_CheckExact(a.object);
    if (!whole && !PyFloat_Check(a.object)) return false;
    value = a.object == Py_None ? 1.0 : whole ? PyLong_AsDouble(a.object) : PyFloat_AS_DOUBLE(a.object);
    if (PyErr_Occurred()) PyErr_Clear(), value = DBL_MAX;
    return true;
  }
  // Whether `type` holds it: of integers 0 and 1 alone, which say what is to be done.
  bool fits(DType type) const {
    if (type == DType::I32 || type == DType::I64) return whole && (value == 0 || value == 1);
    const double most = type == DType::F64 || type == DType::C128 ? DBL_MAX : type == DType::F16 ? 65504.0 : FLT_MAX;
    return std::abs(value) <= most / 2 || std::abs(value) > DBL_MAX || std::isnan(value);
  }
  double value;
  bool whole;
};

// to[i] = to[i] * by + from[i], or without from; of real or complex numbers, which are two real ones.
void scale_and_add(const Ref& to, double by, const Ref& from) {
  const DType type = as_tensor(to)->dtype;
  const Py_ssize_t n = as_tensor(to)->nbytes() / (type == DType::F32 || type == DType::C64 ? 4 : 8);
  const auto run = [n, by]<class T>(T* x, T* y) {
    const T f = static_cast<T>(by);
    for (Py_ssize_t i = 0; i < n; i++) x[i] = y ? x[i] * f + y[i] : x[i] * f;
  };
  char* more = from ? data_of(from) : nullptr;
  by_type(type == DType::F32 || type == DType::C64 ? DType::F32 : DType::F64, run, data_of(to), more);
}

// beta * added + alpha * (the products of a and b, or their sum); what is added broadcasts to the result of `ndim` dimensions. With
// beta 0 it is not looked at.
Ref add_to_product(const TensorInfo& added, Pairs& pairs, Py_ssize_t ndim, const Factor& beta, const Factor& alpha, bool summed,
                   DType type, DeviceType device) {
  const Py_ssize_t* shape = pairs.shape + (summed ? pairs.leading : 0);
  if (added.dtype != type || added.ndim > ndim || !beta.fits(pairs.type) || !alpha.fits(pairs.type)) return {};
  for (int i = 1; i <= added.ndim; i++)
    if (added.shape[added.ndim - i] != shape[ndim - i] && added.shape[added.ndim - i] != 1) return {};
  const DType wide = sum_type(type);
  Ref result = new_ref(wide, static_cast<int>(ndim), shape, device), more;
  if (!has_memory(result) || !as_tensor(result)->numel()) return rounded(std::move(result), type);
  const bool adds = beta.value != 0, multiplied = alpha.value != 0, after = adds && multiplied && alpha.value != 1;
  Pinned pins[2];
  if (adds && as_tensor(result)->nbytes() > kReleaseGilBytes) {  // which is written without the GIL
    pins[0].take(as_tensor(pairs.x.owner)->storage());
    pins[1].take(as_tensor(pairs.y.owner)->storage());
  }
  if (after) more = new_ref(wide, static_cast<int>(ndim), shape, device);
  if (adds) copy_values(after ? more : result, added.tensor);
  if (adds && beta.value != 1) scale_and_add(after ? more : result, beta.value, {});
  if (multiplied) pairs.multiply(result, adds && !after, summed);
  else if (!adds) std::memset(data_of(result), 0, as_tensor(result)->nbytes());
  if (multiplied && alpha.value != 1) scale_and_add(result, alpha.value, more);
  return rounded(std::move(result), type);
}

// Of matrices, or of stacks (`kDims` 3) whose products are added up where kSummed.
template <int kDims, bool kSummed>
Ref add_products(const TensorInfo& added, const TensorInfo& a, const TensorInfo& b, Factor& beta, Factor& alpha) {
  if (!multiplies(a) || a.dtype != b.dtype || a.ndim != kDims || b.ndim != kDims) return {};
  if (kDims == 3 && (a.shape[0] != b.shape[0] || (kSummed && a.shape[0] == 0))) return {};
  Pairs pairs(make_stack(a), make_stack(b), factor_type(a.dtype));
  if (!pairs.fit()) return {};
  return add_to_product(added, pairs, kSummed ? 2 : kDims, beta, alpha, kSummed, a.dtype, device_of(added, a, b));
}

// beta * added + alpha * (matrix @ vector), or + alpha * the products of two vectors' elements.
Ref addmv(const TensorInfo& added, const TensorInfo& a, const TensorInfo& v, Factor& beta, Factor& alpha) {
  if (!multiplies(a) || a.dtype != v.dtype || a.ndim != 2 || v.ndim != 1) return {};
  Pairs pairs(make_stack(a), make_stack(v, false), factor_type(a.dtype));
  return pairs.fit() ? add_to_product(added, pairs, 1, beta, alpha, false, a.dtype, device_of(added, a, v)) : Ref();
}
Ref addr(const TensorInfo& added, const TensorInfo& u, const TensorInfo& v, Factor& beta, Factor& alpha) {
  if (!multiplies(u) || u.dtype != v.dtype || u.ndim != 1 || v.ndim != 1) return {};
  Pairs pairs(make_stack(u, false), make_stack(v), factor_type(u.dtype));
  return pairs.fit() ? add_to_product(added, pairs, 2, beta, alpha, false, u.dtype, device_of(added, u, v)) : Ref();
}

// A tensor's rows as one matrix.
Stack rows_of(const TensorInfo& x) {
  if (x.ndim <= 2) return make_stack(x);
  const Ref rows = contiguous(x.tensor);
  return make_stack(info_of(rows)).flat();
}

// x @ w.T + bias over any leading dimensions of x.
Ref linear(const TensorInfo& x, const TensorInfo& w, const TensorOrNone& bias) {
  const bool has_bias = bias.tensor;
  if (!multiplies(x) || x.ndim == 0 || w.ndim != 2 || (has_bias && bias.ndim != 1)) return {};
  const DType type = x.dtype, wide = sum_type(type);
  if (w.dtype != type || (has_bias && bias.dtype != type)) return {};
  Py_ssize_t shape[kMaxDims];
  std::copy_n(x.shape, x.ndim - 1, shape);
  shape[x.ndim - 1] = w.shape[0];
  if (x.shape[x.ndim - 1] != w.shape[1] || (has_bias && bias.shape[0] != w.shape[0])) return {};
  Pairs pairs(rows_of(x), make_stack(w).turned(), factor_type(type));
  const Ref row = has_bias ? contiguous_as(bias.tensor, wide) : Ref();
  if (!pairs.fit()) return {};
  Ref result = new_ref(wide, x.ndim, shape, device_of(x, w, bias));
  if (has_memory(result) && as_tensor(result)->numel()) multiply_alone(pairs, result, row ? as_tensor(row) : nullptr);
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
  if (need_w && (!x.tensor || x.dtype != type || x.ndim != g.ndim || !std::equal(g.shape, g.shape + g.ndim - 1, x.shape)))
    return {};
  const DeviceType device = device_of(g, x, w);
  const Ref given = contiguous(g.tensor);
  const TensorInfo gradient = info_of(given);
  Ref gx, gw, gb;
  if (need_x) {
    Py_ssize_t shape[kMaxDims];
    std::copy_n(g.shape, g.ndim - 1, shape);
    shape[g.ndim - 1] = w.shape[1];
    gx = product_of(rows_of(gradient), make_stack(w), type, device, lies_by_columns(x), g.ndim, shape);
  }
  if (need_w) gw = product_of(rows_of(gradient).turned(), rows_of(x), type, device, lies_by_columns(w));
  if (need_b) {
    gb = new_ref(wide, 1, &n, device);
    if (has_memory(gb)) {
      sum_rows(contiguous_as(gradient.tensor, wide), n ? gradient.size() / n : 0, n, gb);
      gb = rounded(std::move(gb), type);
    }
  }
  return has_bias ? gradients_of({&gb, &gx, &gw}) : gradients_of({&gx, &gw});
}

// Every number of a row times another row: to[i][j] = x[i] * y[j].
template <class T>
void row_times_row(const char* numbers, Py_ssize_t p, const char* from, Py_ssize_t q, bool complex, char* to) {
  const T *x = elements<T>(numbers), *y = elements<T>(from);
  T* out = elements<T>(to);
  if (!complex) {
    for (Py_ssize_t i = 0; i < p; i++, out += q)
      for (Py_ssize_t j = 0; j < q; j++) out[j] = static_cast<T>(x[i] * y[j]);
    return;
  }
  for (Py_ssize_t i = 0; i < p; i++, x += 2, out += 2 * q)
    for (Py_ssize_t j = 0; j < 2 * q; j += 2) {
      out[j] = static_cast<T>(x[0] * y[j] - x[1] * y[j + 1]);
      out[j + 1] = static_cast<T>(x[0] * y[j + 1] + x[1] * y[j]);
    }
}

// With the dimensions from the last to the first.
Ref mirrored(const TensorInfo& a) {
  Layout l;
  for (int d = a.ndim - 1; d >= 0; d--) l.add(a.shape[d], a.strides[d]);
  return owned(new_view(a.tensor, l));
}

// Every element of a times all of b, of one type. Row by row of the result: the products of a row of a and one of b. Of matrices
// that lie by columns it lies so, too.
Ref kron(const TensorInfo& a, const TensorInfo& b) {
  if (a.dtype != b.dtype || !has_products(a.dtype) || is_half(a.dtype) || a.ndim == 0 || a.ndim != b.ndim) return {};
  const int ndim = a.ndim, last = ndim - 1;
  if (!a.tensor->is_contiguous() && !b.tensor->is_contiguous() && !is_accelerated(a, b)) {
    const Ref x = mirrored(a), y = mirrored(b);
    if (as_tensor(x)->is_contiguous() && as_tensor(y)->is_contiguous()) {
      const Ref made = kron(info_of(x), info_of(y));
      return made ? mirrored(info_of(made)) : Ref();
    }
  }
  Py_ssize_t shape[kMaxDims];
  for (int d = 0; d < ndim; d++)
    if (__builtin_mul_overflow(a.shape[d], b.shape[d], &shape[d])) return {};
  const Ref x = contiguous(a.tensor), y = contiguous(b.tensor);
  Ref result = new_ref(a.dtype, ndim, shape, device_of(a, b));
  const Py_ssize_t size = as_tensor(result)->numel();
  if (!has_memory(result) || size == 0) return result;
  const TensorInfo left = info_of(x), right = info_of(y);
  const ptrdiff_t item = item_size(a.dtype);
  const Py_ssize_t p = left.shape[last], q = right.shape[last];
  const bool complex = is_pair(a.dtype);
  const auto row_of = a.dtype == DType::F32 || a.dtype == DType::C64    ? row_times_row<float>
                      : a.dtype == DType::F64 || a.dtype == DType::C128 ? row_times_row<double>
                      : a.dtype == DType::I32                           ? row_times_row<uint32_t>
                                                                        : row_times_row<uint64_t>;
  char* out = data_of(result);
  Unlocked unlocked(size * item > kReleaseGilBytes, x, y, result);
  parallel(size / (p * q), kReleaseWork / (p * q) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t r = begin; r < end; r++) {
      ptrdiff_t from = 0, other = 0;
      for (Py_ssize_t d = last - 1, rest = r, step = 1, other_step = 1; d >= 0; d--) {
        const Py_ssize_t at = rest % shape[d];
        rest /= shape[d];
        from += at / right.shape[d] * step;
        other += at % right.shape[d] * other_step;
        step *= left.shape[d];
        other_step *= right.shape[d];
      }
      row_of(left.data + from * p * item, p, right.data + other * q * item, q, complex, out + r * p * q * item);
    }
  });
  return result;
}

// Of plain matrices that can be multiplied one after the other, the rows of each and the columns of the last.
Result<"tuple[int, ...]"> chain_sizes(Given<"list[Tensor]"> tensors) {
  if (!PyList_Check(tensors) || PyList_GET_SIZE(tensors.object) < 2) return {};
  const Py_ssize_t n = PyList_GET_SIZE(tensors.object);
  Ref sizes = owned(PyTuple_New(n + 1));
  TensorInfo before, matrix;
  for (Py_ssize_t i = 0; i < n; i++, before = matrix) {
    if (!read_tensor(PyList_GET_ITEM(tensors.object, i), matrix) || matrix.ndim != 2 || matrix.tensor->flags & kWrapped) return {};
    if (i &&
        (matrix.dtype != before.dtype || matrix.tensor->device() != before.tensor->device() || matrix.shape[0] != before.shape[1]))
      return {};
    PyTuple_SET_ITEM(sizes.get(), i, owned(PyLong_FromSsize_t(matrix.shape[0])).release());
  }
  PyTuple_SET_ITEM(sizes.get(), n, owned(PyLong_FromSsize_t(matrix.shape[1])).release());
  return sizes;
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
    long_kernel<add_products<2, false>, "addmm(input, a, b, beta=1, alpha=1): beta * input + alpha * (a @ b)">(),
    long_kernel<add_products<3, false>, "baddbmm(input, a, b, beta=1, alpha=1): of stacks">(),
    long_kernel<add_products<3, true>, "addbmm(input, a, b, beta=1, alpha=1): of the sum of a stack's products">(),
    long_kernel<addmv, "addmv(input, a, v, beta=1, alpha=1)">(),
    long_kernel<addr, "addr(input, u, v, beta=1, alpha=1)">(),
    long_kernel<linear, "linear(x, w, bias=None): x @ w.T + bias">(),
    long_kernel<linear_backward, "linear_backward(g, x, w, needs): ([grad_bias,] grad_x, grad_w)">(),
    long_kernel<mm, "mm(a, b): of two matrices">(),
    long_kernel<bmm, "bmm(a, b): of two stacks of matrices">(),
    long_kernel<mv, "mv(a, b): of a matrix and a vector">(),
    long_kernel<dot, "dot(a, b): of two vectors">(),
    long_kernel<vdot, "vdot(a, b): of two vectors, the first conjugated">(),
    long_kernel<matmul_backward, "matmul_backward(g, a, b, needs): (grad_a, grad_b)">(),
    long_kernel<kron, "kron(a, b): of as many dimensions">(),
    layout_kernel<chain_sizes, "chain_sizes(tensors)">(),
    kernel<set_blas, "set_blas_library(path): opened at the first product that needs it">(),
    kernel<has_blas, "blas_available(): opens the library if that was not tried">(),
};

}  // namespace

}  // namespace rushlight
