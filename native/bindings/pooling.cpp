// Maximum and average pooling over the last two dimensions, and their gradients.
#include "bindings/bindings.h"

namespace rushlight {
namespace {

constexpr Py_ssize_t kGrain = 1 << 14;

// The number of window positions along a dimension.
Py_ssize_t pooled_size(Py_ssize_t in, Py_ssize_t kernel, Py_ssize_t stride, Py_ssize_t pad, Py_ssize_t dilation, bool ceil_mode) {
  Py_ssize_t span = in + 2 * pad - dilation * (kernel - 1) - 1 + (ceil_mode ? stride - 1 : 0);
  Py_ssize_t out = (span >= 0 ? span / stride : -((-span + stride - 1) / stride)) + 1;
  // The last window must start inside the input or its left padding.
  if (ceil_mode && (out - 1) * stride >= in + pad) out--;
  return out;
}

bool fail(const char* text) {
  PyErr_SetString(PyExc_RuntimeError, text);
  return false;
}

// Fills window from (kernel, stride, padding, dilation); an empty stride is the kernel's size.
bool read_window(const TensorInfo& x, PyObject* kernel_arg, PyObject* stride_arg, PyObject* padding_arg, PyObject* dilation_arg,
                 bool ceil_mode, Window& window) {
  Py_ssize_t kernel[2], stride[2], padding[2], dilation[2] = {1, 1};
  if (!ints_argument(kernel_arg, "kernel_size", 2, kernel)) return false;
  const bool no_stride = stride_arg == Py_None || (PySequence_Check(stride_arg) && PySequence_Size(stride_arg) == 0);
  if (no_stride) stride[0] = kernel[0], stride[1] = kernel[1];
  else if (!ints_argument(stride_arg, "stride", 2, stride)) return false;
  if (!ints_argument(padding_arg, "padding", 2, padding) || (dilation_arg && !ints_argument(dilation_arg, "dilation", 2, dilation)))
    return false;
  const Py_ssize_t* in = x.shape + x.ndim - 2;
  Py_ssize_t out[2];
  for (int i = 0; i < 2; i++) {
    constexpr Py_ssize_t kLimit = Py_ssize_t{1} << 31;
    if (kernel[i] <= 0) return fail("kernel size should be greater than zero");
    if (stride[i] <= 0) return fail("stride should not be zero");
    if (dilation[i] <= 0) return fail("dilation should be greater than zero");
    if (kernel[i] >= kLimit || stride[i] >= kLimit || dilation[i] >= kLimit || in[i] >= kLimit || padding[i] >= kLimit)
      return fail("pooling sizes are too large");
    if (padding[i] < 0) {
      PyErr_Format(PyExc_RuntimeError, "pad must be non-negative, but got pad: %zd", padding[i]);
      return false;
    }
    if (padding[i] > ((kernel[i] - 1) * dilation[i] + 1) / 2) {
      PyErr_Format(PyExc_RuntimeError,
                   "pad should be at most half of effective kernel size, but got pad=%zd, "
                   "kernel_size=%zd and dilation=%zd",
                   padding[i], kernel[i], dilation[i]);
      return false;
    }
    out[i] = pooled_size(in[i], kernel[i], stride[i], padding[i], dilation[i], ceil_mode);
  }
  if (in[0] == 0 || in[1] == 0) {
    fail("Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input");
    return false;
  }
  if (out[0] < 1 || out[1] < 1) {
    const Py_ssize_t channels = x.shape[x.ndim - 3];
    PyErr_Format(PyExc_RuntimeError,
                 "Given input size: (%zdx%zdx%zd). Calculated output size: (%zdx%zdx%zd). Output size is "
                 "too small",
                 channels, in[0], in[1], channels, out[0], out[1]);
    return false;
  }
  window = {in[0],     in[1],     out[0],     out[1],     kernel[0],   kernel[1],
            stride[0], stride[1], padding[0], padding[1], dilation[0], dilation[1]};
  return true;
}

Py_ssize_t plane_count(const TensorInfo& x) {
  Py_ssize_t n = 1;
  for (int i = 0; i + 2 < x.ndim; i++) n *= x.shape[i];
  return n;
}

// How many planes are worth a thread: counted as a double, because windows may be far larger than planes.
Py_ssize_t grain(const Window& w) {
  const double work = static_cast<double>(w.out_h) * w.out_w * w.kernel_h * w.kernel_w;
  return static_cast<Py_ssize_t>(kGrain / work) + 1;
}

void output_shape(const TensorInfo& x, const Window& w, Py_ssize_t* shape) {
  for (int i = 0; i + 2 < x.ndim; i++) shape[i] = x.shape[i];
  shape[x.ndim - 2] = w.out_h;
  shape[x.ndim - 1] = w.out_w;
}

// (x, kernel, stride, padding, dilation, ceil_mode) -> (out, indices)
PyObject* max_pool2d(PyObject*, PyObject* const* args, Py_ssize_t count) {
  TensorInfo x;
  bool ceil_mode;
  Window w;
  if (!check_count("max_pool2d", count, 6, 6)) return nullptr;
  if (!read_tensor(args[0], x) || !x.is_float() || (x.ndim != 3 && x.ndim != 4)) return not_implemented();
  if (!bool_argument(args[5], ceil_mode) || !read_window(x, args[1], args[2], args[3], args[4], ceil_mode, w)) return nullptr;
  Py_ssize_t shape[4];
  output_shape(x, w, shape);
  const DeviceType device = device_of(x);
  Ref in = contiguous(x.tensor), out = in ? new_ref(x.dtype, x.ndim, shape, device) : Ref();
  Ref indices = out ? new_ref(DType::I64, x.ndim, shape, device) : Ref();
  if (!indices) return nullptr;
  const ptrdiff_t item = item_size(x.dtype);
  const char* from = data_of(in);
  char* to = data_of(out);
  int64_t* places = data_of<int64_t>(indices);
  const Py_ssize_t positions = w.out_h * w.out_w, planes = plane_count(x);
  if (device != DeviceType::Meta) {
    Unlocked unlocked(x.size() * item > kReleaseGilBytes, {as_tensor(in), as_tensor(out), as_tensor(indices)});
    parallel(planes, grain(w), [&](ptrdiff_t begin, ptrdiff_t end) {
      dense_kernels().max_pool(x.dtype, from + begin * w.in_h * w.in_w * item, end - begin, w, to + begin * positions * item,
                               places + begin * positions);
    });
  }
  return PyTuple_Pack(2, out.get(), indices.get());
}

template <class T>
bool scatter_planes(const T* grad, const int64_t* indices, Py_ssize_t planes, Py_ssize_t positions, Py_ssize_t plane, T* out) {
  for (Py_ssize_t p = 0; p < planes; p++, grad += positions, indices += positions, out += plane)
    for (Py_ssize_t i = 0; i < positions; i++) {
      if (indices[i] < 0 || indices[i] >= plane) return false;
      out[indices[i]] += grad[i];
    }
  return true;
}

// (g, indices, x_shape) -> the gradient of the input
PyObject* max_pool2d_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
  TensorInfo g, indices;
  Py_ssize_t shape[kMaxDims];
  int ndim;
  if (!check_count("max_pool2d_backward", count, 3, 3)) return nullptr;
  if (!read_tensor(args[0], g) || !read_tensor(args[1], indices) || !g.is_float() || indices.dtype != DType::I64)
    return not_implemented();
  if (!shape_argument(args[2], shape, ndim)) return nullptr;
  bool fits = ndim == g.ndim && ndim >= 2 && same_shape(g.tensor, indices.tensor);
  for (int i = 0; fits && i + 2 < ndim; i++) fits = shape[i] == g.shape[i];
  if (!fits) {
    PyErr_SetString(PyExc_ValueError, "max_pool2d_backward(): the shapes of gradient, indices and input do not fit");
    return nullptr;
  }
  Ref gc = contiguous(g.tensor), ic = gc ? contiguous(indices.tensor) : Ref();
  const DeviceType device = device_of(g, indices);
  Ref result = ic ? zeros_ref(g.dtype, ndim, shape, device) : Ref();
  if (!result || device == DeviceType::Meta) return result.release();
  const Py_ssize_t planes = plane_count(g), positions = g.shape[ndim - 2] * g.shape[ndim - 1];
  const Py_ssize_t plane = shape[ndim - 2] * shape[ndim - 1];
  const int64_t* at = data_of<int64_t>(ic);
  const void* grad = data_of(gc);
  void* out = data_of(result);
  const bool inside = g.dtype == DType::F32
                          ? scatter_planes(static_cast<const float*>(grad), at, planes, positions, plane, static_cast<float*>(out))
                          : scatter_planes(static_cast<const double*>(grad), at, planes, positions, plane,
                                           static_cast<double*>(out));
  if (!inside) {
    PyErr_SetString(PyExc_IndexError, "max_pool2d_backward(): an index is outside its plane");
    return nullptr;
  }
  return result.release();
}

// The arguments that average pooling and its gradient share, from args[0] = kernel on: kernel, stride, padding,
// ceil_mode, count_include_pad, divisor_override or None.
struct Average {
  Window window;
  bool include_pad;
  double divisor = 0;
};
bool read_average(const TensorInfo& x, PyObject* const* args, Average& a) {
  bool ceil_mode;
  if (!bool_argument(args[3], ceil_mode) || !bool_argument(args[4], a.include_pad) ||
      !read_window(x, args[0], args[1], args[2], nullptr, ceil_mode, a.window))
    return false;
  if (args[5] == Py_None) return true;
  Py_ssize_t divisor;
  if (!ints_argument(args[5], "divisor_override", 1, &divisor)) return false;
  if (divisor == 0) return fail("divisor must be not zero");
  a.divisor = static_cast<double>(divisor);
  return true;
}

// (x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override or None)
PyObject* avg_pool2d(PyObject*, PyObject* const* args, Py_ssize_t count) {
  TensorInfo x;
  Average a;
  if (!check_count("avg_pool2d", count, 7, 7)) return nullptr;
  if (!read_tensor(args[0], x) || !x.is_float() || (x.ndim != 3 && x.ndim != 4)) return not_implemented();
  if (!read_average(x, args + 1, a)) return nullptr;
  Py_ssize_t shape[4];
  output_shape(x, a.window, shape);
  const DeviceType device = device_of(x);
  Ref in = contiguous(x.tensor), out = in ? new_ref(x.dtype, x.ndim, shape, device) : Ref();
  if (!out || device == DeviceType::Meta) return out.release();
  const Window& w = a.window;
  const ptrdiff_t item = item_size(x.dtype);
  const char* from = data_of(in);
  char* to = data_of(out);
  const Py_ssize_t positions = w.out_h * w.out_w, planes = plane_count(x);
  Unlocked unlocked(x.size() * item > kReleaseGilBytes, {as_tensor(in), as_tensor(out)});
  parallel(planes, grain(w), [&](ptrdiff_t begin, ptrdiff_t end) {
    dense_kernels().avg_pool(x.dtype, from + begin * w.in_h * w.in_w * item, end - begin, w, a.include_pad, a.divisor,
                             to + begin * positions * item);
  });
  return out.release();
}

// (g, x_shape, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override or None)
PyObject* avg_pool2d_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
  TensorInfo g;
  Average a;
  Py_ssize_t shape[kMaxDims];
  int ndim;
  if (!check_count("avg_pool2d_backward", count, 8, 8)) return nullptr;
  if (!read_tensor(args[0], g) || !g.is_float() || (g.ndim != 3 && g.ndim != 4)) return not_implemented();
  if (!shape_argument(args[1], shape, ndim)) return nullptr;
  TensorInfo x = g;
  x.shape = shape;
  bool fits = ndim == g.ndim;
  for (int i = 0; fits && i + 2 < ndim; i++) fits = shape[i] == g.shape[i];
  if (fits && !read_average(x, args + 2, a)) return nullptr;
  if (!fits || g.shape[ndim - 2] != a.window.out_h || g.shape[ndim - 1] != a.window.out_w) {
    PyErr_SetString(PyExc_ValueError, "avg_pool2d_backward(): the shapes of gradient and input do not fit");
    return nullptr;
  }
  Ref gc = contiguous(g.tensor), out = gc ? zeros_ref(g.dtype, ndim, shape, device_of(g)) : Ref();
  if (!out || is_meta(g)) return out.release();
  const Window& w = a.window;
  const ptrdiff_t item = item_size(g.dtype);
  const char* from = data_of(gc);
  char* to = data_of(out);
  const Py_ssize_t positions = w.out_h * w.out_w, planes = plane_count(g);
  Unlocked unlocked(as_tensor(out)->nbytes() > kReleaseGilBytes, {as_tensor(gc), as_tensor(out)});
  parallel(planes, grain(w), [&](ptrdiff_t begin, ptrdiff_t end) {
    dense_kernels().avg_pool_backward(g.dtype, from + begin * positions * item, end - begin, w, a.include_pad, a.divisor,
                                      to + begin * w.in_h * w.in_w * item);
  });
  return out.release();
}

}  // namespace

PyMethodDef kPoolMethods[] = {
    long_kernel<max_pool2d>("max_pool2d",
                            "max_pool2d(x, kernel, stride, padding, dilation, ceil_mode) -> (out, indices into the flat plane)"),
    long_kernel<max_pool2d_backward>("max_pool2d_backward", "max_pool2d_backward(g, indices, x_shape)"),
    long_kernel<avg_pool2d>("avg_pool2d", "avg_pool2d(x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_or_None)"),
    long_kernel<avg_pool2d_backward>("avg_pool2d_backward",
                                     "avg_pool2d_backward(g, x_shape, kernel, stride, padding, ceil_mode, count_include_pad, "
                                     "divisor_or_None)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace rushlight
