// Layer normalisation over the last dimensions, and its gradient.
#include "bindings/kernel.h"

#include <algorithm>
#include <vector>

namespace rushlight {
namespace {

// Rows of the last `normalized` dimensions.
struct Rows {
  Py_ssize_t rows = 1, n = 1;
};
bool split(const TensorInfo& x, Py_ssize_t normalized, Rows& out) {
  if (normalized < 1 || normalized > x.ndim)
    return fail(PyExc_RuntimeError, "layer_norm(): cannot normalise over the last %zd of %d dimensions", normalized, x.ndim);
  for (int i = 0; i < x.ndim; i++) (i < x.ndim - normalized ? out.rows : out.n) *= x.shape[i];
  return true;
}

// A contiguous tensor of n elements of the type, or none; false with or without an exception (then: no kernel).
struct Affine {
  bool read(const TensorInfo& a, const char* name, DType type, Py_ssize_t n, DeviceType& device) {
    if (!a.tensor) return true;
    if (a.dtype != type) return false;
    if (a.size() != n)
      return fail(PyExc_RuntimeError, "layer_norm(): %s has %zd elements, the normalised dimensions %zd", name, a.size(), n);
    owner = contiguous(a.tensor);
    data = data_of(owner);
    if (is_meta(a)) device = DeviceType::Meta;
    return true;
  }
  Ref owner;
  const char* data = nullptr;
};

bool is_cpu_half(const TensorInfo& a) { return a.tensor && is_half(a.dtype) && a.tensor->device() == DeviceType::Cpu; }
// A half becomes float, which `owner` has.
void widen(TensorInfo& a, Ref& owner) {
  if (!is_cpu_half(a)) return;
  owner = contiguous_as(a.tensor, DType::F32);
  a = info_of(owner);
}

// Parts of the rows that threads take, as many for any number of threads: what is summed over rows is always rounded the same.
Py_ssize_t parts_of(const Rows& r) {
  return std::clamp<Py_ssize_t>(r.rows * r.n / kThreadElements, 1, std::clamp<Py_ssize_t>(r.rows, 1, 16));
}

void add(DType type, const char* from, Py_ssize_t n, char* to) {
  const auto sum = [n]<class T>(const T* a, T* b) {
    for (Py_ssize_t i = 0; i < n; i++) b[i] += a[i];
  };
  by_type(type, sum, from, to);
}

// (y, mean, rstd); the two of shape (leading..., 1 ...)
Triple layer_norm(TensorInfo& x, Py_ssize_t normalized, TensorOrNone& weight, TensorOrNone& bias, double eps) {
  if (is_cpu_half(x)) {
    const DType dtype = x.dtype;
    Ref held[3];
    widen(x, held[0]), widen(weight, held[1]), widen(bias, held[2]);
    return rounded_items(layer_norm(x, normalized, weight, bias, eps), dtype);
  }
  Rows r;
  if (!x.is_float() || !split(x, normalized, r)) return {};
  DeviceType device = device_of(x);
  Affine w, b;
  if (!w.read(weight, "weight", x.dtype, r.n, device) || !b.read(bias, "bias", x.dtype, r.n, device)) return {};
  Py_ssize_t shape[kMaxDims];
  for (int i = 0; i < x.ndim; i++) shape[i] = i < x.ndim - normalized ? x.shape[i] : 1;
  Ref in = contiguous(x.tensor), y = new_ref(x.dtype, x.ndim, x.shape, device);
  Ref mean = new_ref(x.dtype, x.ndim, shape, device), rstd = new_ref(x.dtype, x.ndim, shape, device);
  const ptrdiff_t item = item_size(x.dtype);
  const char* xp = data_of(in);
  char* yp = data_of(y);
  char* mp = data_of(mean);
  char* sp = data_of(rstd);
  if (device != DeviceType::Meta) {
    Unlocked unlocked(r.rows * r.n * item > kReleaseGilBytes, in, w.owner, b.owner, y, mean, rstd);
    const bool large = r.rows * r.n * item >= kLargeResult;
    parallel_by(r.rows, r.n, [&](ptrdiff_t begin, ptrdiff_t end) {
      dense_kernels().layer_norm(x.dtype, xp + begin * r.n * item, end - begin, r.n, w.data, b.data, eps, large,
                                 yp + begin * r.n * item, mp + begin * item, sp + begin * item);
    });
  }
  return tuple_of(y, mean, rstd);
}

// The gradients of x, weight and bias, None where not needed. Of halves those of x are rounded once: mean and rstd, which are
// rounded, are computed again.
Gradients layer_norm_backward(TensorInfo& g, TensorInfo& x, Py_ssize_t normalized, const TensorInfo& means, const TensorInfo& rstds,
                              TensorOrNone& weight, const Needs<3>& need, std::optional<double> eps) {
  if (eps && is_cpu_half(x)) {
    const DType dtype = x.dtype;
    TensorOrNone none;
    Ref held[3];
    widen(g, held[0]), widen(x, held[1]), widen(weight, held[2]);
    const Ref again = layer_norm(x, normalized, none, none, *eps);
    if (!again) return {};
    const TensorInfo mean = info_of(item_of(again, 1)), rstd = info_of(item_of(again, 2));
    Ref gradients = layer_norm_backward(g, x, normalized, mean, rstd, weight, need, {});
    if (!gradients || !need[0]) return gradients;
    const Ref to_x = contiguous_as(item_of(gradients, 0), dtype);
    return owned(PyTuple_Pack(3, to_x.get(), item_of(gradients, 1), item_of(gradients, 2)));
  }
  Rows r;
  if (!x.is_float() || g.dtype != x.dtype || !split(x, normalized, r)) return {};
  if (!same_shape(g.tensor, x.tensor))
    return fail(PyExc_ValueError, "layer_norm_backward(): the gradient and the input differ in shape");
  DeviceType device = device_of(g, x);
  Affine mean, rstd, w;
  if (!mean.read(means, "mean", x.dtype, r.rows, device) || !rstd.read(rstds, "rstd", x.dtype, r.rows, device) ||
      !w.read(weight, "weight", x.dtype, r.n, device))
    return {};
  Ref gc = contiguous(g.tensor), xc = contiguous(x.tensor);
  Ref gx, gw, gb;
  const Py_ssize_t* tail = x.shape + x.ndim - normalized;
  if (need[0]) gx = new_ref(x.dtype, x.ndim, x.shape, device);
  if (need[1]) gw = zeros_ref(x.dtype, static_cast<int>(normalized), tail, device);
  if (need[2]) gb = zeros_ref(x.dtype, static_cast<int>(normalized), tail, device);
  const ptrdiff_t item = item_size(x.dtype);
  const char* gp = data_of(gc);
  const char* xp = data_of(xc);
  char* out = gx ? data_of(gx) : nullptr;
  char* weights = gw ? data_of(gw) : nullptr;
  char* biases = gb ? data_of(gb) : nullptr;
  if (device != DeviceType::Meta) {
    Unlocked unlocked(r.rows * r.n * item > kReleaseGilBytes, gc, xc, mean.owner, rstd.owner, w.owner, gx, gw, gb);
    const Py_ssize_t parts = parts_of(r);
    const ptrdiff_t row = r.n * item;
    // The parts' sums for weight and bias, but for the first's, which are the results.
    std::vector<char> sums(static_cast<size_t>((weights || biases ? parts - 1 : 0) * 2 * row));
    parallel(parts, kThreadElements * parts / (r.rows * r.n + 1) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
      for (ptrdiff_t part = begin; part < end; part++) {
        const ptrdiff_t first = part * r.rows / parts, rows = (part + 1) * r.rows / parts - first;
        char* own = part ? sums.data() + (part - 1) * 2 * row : nullptr;
        dense_kernels().layer_norm_backward(x.dtype, gp + first * row, xp + first * row, mean.data + first * item,
                                            rstd.data + first * item, w.data, rows, r.n, out ? out + first * row : nullptr,
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

const KernelRows rows{
    long_kernel<layer_norm, "layer_norm(x, normalized, weight, bias, eps): (y, mean, rstd)">(),
    long_kernel<layer_norm_backward, "layer_norm_backward(g, x, normalized, mean, rstd, weight, needs, eps=None)">(),
};

}  // namespace

}  // namespace rushlight
