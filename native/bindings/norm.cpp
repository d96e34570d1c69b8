// Layer normalisation over the last dimensions, and its gradient.
#include "bindings/bindings.h"

#include <algorithm>
#include <vector>

namespace rushlight {
namespace {

constexpr Py_ssize_t kGrain = 1 << 15;

// Rows of the last `normalized` dimensions.
struct Rows {
  Py_ssize_t rows = 1, n = 1;
};
bool split(const TensorInfo& x, Py_ssize_t normalized, Rows& out) {
  if (normalized < 1 || normalized > x.ndim) {
    PyErr_Format(PyExc_RuntimeError, "layer_norm(): cannot normalise over the last %zd of %d dimensions", normalized, x.ndim);
    return false;
  }
  for (int i = 0; i < x.ndim; i++) (i < x.ndim - normalized ? out.rows : out.n) *= x.shape[i];
  return true;
}

// None, or a contiguous tensor of n elements of the type; false with or without an exception (then: no kernel).
bool affine(PyObject* object, const char* name, DType type, Py_ssize_t n, Ref& owner, const void*& data, DeviceType& device) {
  data = nullptr;
  if (object == Py_None) return true;
  TensorInfo a;
  if (!read_tensor(object, a) || a.dtype != type) return false;
  if (a.size() != n) {
    PyErr_Format(PyExc_RuntimeError, "layer_norm(): %s has %zd elements, the normalised dimensions %zd", name, a.size(), n);
    return false;
  }
  owner = contiguous(a.tensor);
  if (!owner) return false;
  data = data_of(owner);
  if (is_meta(a)) device = DeviceType::Meta;
  return true;
}

bool is_cpu_half(PyObject* o) { return is_tensor(o) && is_half(as_tensor(o)->dtype) && as_tensor(o)->device() == DeviceType::Cpu; }
// A half as float; another object as it is.
Ref widened(PyObject* o) { return is_cpu_half(o) ? contiguous_as(as_tensor(o), DType::F32) : Ref::borrow(o); }

// Parts of the rows that threads take, as many for any number of threads: what is summed over rows is always rounded the same.
Py_ssize_t parts_of(const Rows& r) {
  return std::clamp<Py_ssize_t>(r.rows * r.n / kGrain, 1, std::clamp<Py_ssize_t>(r.rows, 1, 16));
}

void add(DType type, const char* from, Py_ssize_t n, char* to) {
  const auto sum = [n]<class T>(const T* a, T* b) {
    for (Py_ssize_t i = 0; i < n; i++) b[i] += a[i];
  };
  if (type == DType::F32) sum(reinterpret_cast<const float*>(from), reinterpret_cast<float*>(to));
  else sum(reinterpret_cast<const double*>(from), reinterpret_cast<double*>(to));
}

PyObject* refused() { return PyErr_Occurred() ? nullptr : not_implemented(); }

// (x, normalized, weight or None, bias or None, eps) -> (y, mean, rstd); the two of shape (leading..., 1 ...)
PyObject* layer_norm(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  TensorInfo x;
  Py_ssize_t normalized;
  double eps;
  Rows r;
  if (!check_count("layer_norm", count, 5, 5)) return nullptr;
  if (is_cpu_half(args[0])) {
    const Ref wide = widened(args[0]), weight = widened(args[2]), bias = widened(args[3]);
    if (!wide || !weight || !bias) return nullptr;
    PyObject* const again[] = {wide.get(), args[1], weight.get(), bias.get(), args[4]};
    const Ref results(layer_norm(self, again, 5));
    if (!results || !PyTuple_Check(results.get())) return Py_XNewRef(results.get());
    Ref rounded[3];
    for (int i = 0; i < 3; i++)
      if (!(rounded[i] = contiguous_as(as_tensor(PyTuple_GET_ITEM(results.get(), i)), as_tensor(args[0])->dtype))) return nullptr;
    return PyTuple_Pack(3, rounded[0].get(), rounded[1].get(), rounded[2].get());
  }
  if (!read_tensor(args[0], x) || !x.is_float()) return not_implemented();
  if (!ints_argument(args[1], "normalized", 1, &normalized) || !double_argument(args[4], eps) || !split(x, normalized, r))
    return nullptr;
  Ref weight_owner, bias_owner;
  const void *weight, *bias;
  DeviceType device = device_of(x);
  if (!affine(args[2], "weight", x.dtype, r.n, weight_owner, weight, device) ||
      !affine(args[3], "bias", x.dtype, r.n, bias_owner, bias, device))
    return refused();
  Py_ssize_t shape[kMaxDims];
  for (int i = 0; i < x.ndim; i++) shape[i] = i < x.ndim - normalized ? x.shape[i] : 1;
  Ref in = contiguous(x.tensor), y = in ? new_ref(x.dtype, x.ndim, x.shape, device) : Ref();
  Ref mean = y ? new_ref(x.dtype, x.ndim, shape, device) : Ref(), rstd = mean ? new_ref(x.dtype, x.ndim, shape, device) : Ref();
  if (!rstd) return nullptr;
  const ptrdiff_t item = item_size(x.dtype);
  const char* xp = data_of(in);
  char* yp = data_of(y);
  char* mp = data_of(mean);
  char* sp = data_of(rstd);
  if (device != DeviceType::Meta) {
    Unlocked unlocked(r.rows * r.n * item > kReleaseGilBytes, {as_tensor(in), as_tensor(weight_owner), as_tensor(bias_owner),
                                                               as_tensor(y), as_tensor(mean), as_tensor(rstd)});
    const bool large = r.rows * r.n * item >= kLargeResult;
    parallel(r.rows, kGrain / (r.n + 1) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
      dense_kernels().layer_norm(x.dtype, xp + begin * r.n * item, end - begin, r.n, weight, bias, eps, large,
                                 yp + begin * r.n * item, mp + begin * item, sp + begin * item);
    });
  }
  return PyTuple_Pack(3, y.get(), mean.get(), rstd.get());
}

// (g, x, normalized, mean, rstd, weight or None, needs, eps) -> the gradients of x, weight and bias, None where not needed. Of
// halves those of x are rounded once: mean and rstd, which are rounded, are computed again.
PyObject* layer_norm_backward(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  TensorInfo g, x;
  Py_ssize_t normalized;
  Rows r;
  int need[3];
  if (!check_count("layer_norm_backward", count, 7, 8)) return nullptr;
  if (count == 8 && is_cpu_half(args[1])) {
    const Ref wide_g = widened(args[0]), wide = widened(args[1]), w = widened(args[5]);
    if (!wide_g || !wide || !w) return nullptr;
    PyObject* const forward[] = {wide.get(), args[2], Py_None, Py_None, args[7]};
    const Ref results(layer_norm(self, forward, 5));
    if (!results || !PyTuple_Check(results.get())) return Py_XNewRef(results.get());
    PyObject* const mean = PyTuple_GET_ITEM(results.get(), 1);
    PyObject* const rstd = PyTuple_GET_ITEM(results.get(), 2);
    PyObject* const again[] = {wide_g.get(), wide.get(), args[2], mean, rstd, w.get(), args[6], args[7]};
    const Ref gradients(layer_norm_backward(self, again, 8));
    if (!gradients || !PyTuple_Check(gradients.get())) return Py_XNewRef(gradients.get());
    PyObject* const to_x = PyTuple_GET_ITEM(gradients.get(), 0);
    const Ref rounded = is_tensor(to_x) ? contiguous_as(as_tensor(to_x), as_tensor(args[1])->dtype) : Ref::borrow(to_x);
    return rounded ? PyTuple_Pack(3, rounded.get(), PyTuple_GET_ITEM(gradients.get(), 1), PyTuple_GET_ITEM(gradients.get(), 2))
                   : nullptr;
  }
  if (!read_tensor(args[0], g) || !read_tensor(args[1], x) || !x.is_float() || g.dtype != x.dtype) return not_implemented();
  if (!ints_argument(args[2], "normalized", 1, &normalized) || !split(x, normalized, r)) return nullptr;
  if (!needs_argument(args[6], 3, need)) return nullptr;
  if (!same_shape(g.tensor, x.tensor)) {
    PyErr_SetString(PyExc_ValueError, "layer_norm_backward(): the gradient and the input differ in shape");
    return nullptr;
  }
  Ref mean_owner, rstd_owner, weight_owner;
  const void *mean, *rstd, *weight;
  DeviceType device = device_of(g, x);
  if (args[3] == Py_None || args[4] == Py_None || !affine(args[3], "mean", x.dtype, r.rows, mean_owner, mean, device) ||
      !affine(args[4], "rstd", x.dtype, r.rows, rstd_owner, rstd, device) ||
      !affine(args[5], "weight", x.dtype, r.n, weight_owner, weight, device))
    return refused();
  Ref gc = contiguous(g.tensor), xc = gc ? contiguous(x.tensor) : Ref();
  if (!xc) return nullptr;
  Ref gx, gw, gb;
  const Py_ssize_t* tail = x.shape + x.ndim - normalized;
  if (need[0] && !(gx = new_ref(x.dtype, x.ndim, x.shape, device))) return nullptr;
  if (need[1] && !(gw = zeros_ref(x.dtype, static_cast<int>(normalized), tail, device))) return nullptr;
  if (need[2] && !(gb = zeros_ref(x.dtype, static_cast<int>(normalized), tail, device))) return nullptr;
  const ptrdiff_t item = item_size(x.dtype);
  const char* gp = data_of(gc);
  const char* xp = data_of(xc);
  char* out = gx ? data_of(gx) : nullptr;
  char* weights = gw ? data_of(gw) : nullptr;
  char* biases = gb ? data_of(gb) : nullptr;
  if (device != DeviceType::Meta) {
    Unlocked unlocked(r.rows * r.n * item > kReleaseGilBytes,
                      {as_tensor(gc), as_tensor(xc), as_tensor(mean_owner), as_tensor(rstd_owner), as_tensor(weight_owner),
                       as_tensor(gx), as_tensor(gw), as_tensor(gb)});
    const Py_ssize_t parts = parts_of(r);
    const ptrdiff_t row = r.n * item;
    // The parts' sums for weight and bias, but for the first's, which are the results.
    std::vector<char> sums(static_cast<size_t>((weights || biases ? parts - 1 : 0) * 2 * row));
    parallel(parts, kGrain * parts / (r.rows * r.n + 1) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
      for (ptrdiff_t part = begin; part < end; part++) {
        const ptrdiff_t first = part * r.rows / parts, rows = (part + 1) * r.rows / parts - first;
        char* own = part ? sums.data() + (part - 1) * 2 * row : nullptr;
        dense_kernels().layer_norm_backward(
            x.dtype, gp + first * row, xp + first * row, static_cast<const char*>(mean) + first * item,
            static_cast<const char*>(rstd) + first * item, weight, rows, r.n, out ? out + first * row : nullptr,
            !weights || part == 0 ? weights : own, !biases || part == 0 ? biases : own + row);
      }
    });
    for (Py_ssize_t part = 1; part < parts && !sums.empty(); part++) {
      const char* own = sums.data() + (part - 1) * 2 * row;
      if (weights) add(x.dtype, own, r.n, weights);
      if (biases) add(x.dtype, own + row, r.n, biases);
    }
  }
  return gradients_of({&gx, &gw, &gb});
}

}  // namespace

PyMethodDef kNormMethods[] = {
    long_kernel<layer_norm>("layer_norm", "layer_norm(x, n_normalized, weight_or_None, bias_or_None, eps) -> (y, mean, rstd)"),
    long_kernel<layer_norm_backward>("layer_norm_backward",
                                     "layer_norm_backward(g, x, n_normalized, mean, rstd, weight_or_None, needs, eps)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace rushlight
