// Layer normalisation over the last dimensions, and its gradient.
#include "bindings/bindings.h"

#include <cstring>

namespace rushlight {
namespace {

constexpr npy_intp kGrain = 1 << 15;

// Rows of the last `normalized` dimensions.
struct Rows {
  npy_intp rows = 1, n = 1;
};
bool split(const Array& x, npy_intp normalized, Rows& out) {
  if (normalized < 1 || normalized > x.ndim) {
    PyErr_Format(PyExc_RuntimeError, "layer_norm(): cannot normalise over the last %zd of %d dimensions", normalized,
                 x.ndim);
    return false;
  }
  for (int i = 0; i < x.ndim; i++) (i < x.ndim - normalized ? out.rows : out.n) *= x.shape[i];
  return true;
}

// None, or a contiguous array of n elements of the type; false with or without an exception (then: no kernel).
bool affine(PyObject* object, const char* name, DType type, npy_intp n, Ref& owner, const void*& data) {
  data = nullptr;
  if (object == Py_None) return true;
  Array a;
  if (!as_array(object, a) || a.dtype != type) return false;
  if (a.size() != n) {
    PyErr_Format(PyExc_RuntimeError, "layer_norm(): %s has %zd elements, the normalised dimensions %zd", name, a.size(),
                 n);
    return false;
  }
  owner = contiguous(a.array);
  if (!owner) return false;
  data = PyArray_DATA(array_of(owner));
  return true;
}

PyObject* refused() { return PyErr_Occurred() ? nullptr : not_implemented(); }

// (x, normalized, weight or None, bias or None, eps) -> (y, mean, rstd); the two of shape (leading..., 1 ...)
PyObject* layer_norm(PyObject*, PyObject* const* args, Py_ssize_t count) {
  Array x;
  npy_intp normalized;
  double eps;
  Rows r;
  if (!check_count("layer_norm", count, 5, 5)) return nullptr;
  if (!as_array(args[0], x) || !x.is_float()) return not_implemented();
  if (!ints_argument(args[1], "normalized", 1, &normalized) || !double_argument(args[4], eps) ||
      !split(x, normalized, r))
    return nullptr;
  Ref weight_owner, bias_owner;
  const void *weight, *bias;
  if (!affine(args[2], "weight", x.dtype, r.n, weight_owner, weight) ||
      !affine(args[3], "bias", x.dtype, r.n, bias_owner, bias))
    return refused();
  npy_intp shape[NPY_MAXDIMS];
  for (int i = 0; i < x.ndim; i++) shape[i] = i < x.ndim - normalized ? x.shape[i] : 1;
  Ref in = contiguous(x.array), y = in ? new_ref(x.dtype, x.ndim, x.shape) : Ref();
  Ref mean = y ? new_ref(x.dtype, x.ndim, shape) : Ref(), rstd = mean ? new_ref(x.dtype, x.ndim, shape) : Ref();
  if (!rstd) return nullptr;
  const ptrdiff_t item = item_size(x.dtype);
  const char* xp = PyArray_BYTES(array_of(in));
  char* yp = PyArray_BYTES(array_of(y));
  char* mp = PyArray_BYTES(array_of(mean));
  char* sp = PyArray_BYTES(array_of(rstd));
  {
    ReleaseGil release(r.rows * r.n * item > kReleaseGilBytes);
    parallel(r.rows, kGrain / (r.n + 1) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
      dense_kernels().layer_norm(x.dtype, xp + begin * r.n * item, end - begin, r.n, weight, bias, eps,
                                 yp + begin * r.n * item, mp + begin * item, sp + begin * item);
    });
  }
  return PyTuple_Pack(3, y.get(), mean.get(), rstd.get());
}

// (g, x, normalized, mean, rstd, weight or None, need_x, need_weight, need_bias) -> the three gradients, None where not
// needed
PyObject* layer_norm_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
  Array g, x;
  npy_intp normalized;
  Rows r;
  bool need[3];
  if (!check_count("layer_norm_backward", count, 9, 9)) return nullptr;
  if (!as_array(args[0], g) || !as_array(args[1], x) || !x.is_float() || g.dtype != x.dtype) return not_implemented();
  if (!ints_argument(args[2], "normalized", 1, &normalized) || !split(x, normalized, r)) return nullptr;
  for (int i = 0; i < 3; i++)
    if (!bool_argument(args[6 + i], need[i])) return nullptr;
  if (!PyArray_SAMESHAPE(g.array, x.array)) {
    PyErr_SetString(PyExc_ValueError, "layer_norm_backward(): the gradient and the input differ in shape");
    return nullptr;
  }
  Ref mean_owner, rstd_owner, weight_owner;
  const void *mean, *rstd, *weight;
  if (args[3] == Py_None || args[4] == Py_None || !affine(args[3], "mean", x.dtype, r.rows, mean_owner, mean) ||
      !affine(args[4], "rstd", x.dtype, r.rows, rstd_owner, rstd) ||
      !affine(args[5], "weight", x.dtype, r.n, weight_owner, weight))
    return refused();
  Ref gc = contiguous(g.array), xc = gc ? contiguous(x.array) : Ref();
  if (!xc) return nullptr;
  Ref gx, gw, gb;
  const npy_intp* tail = x.shape + x.ndim - normalized;
  if (need[0] && !(gx = new_ref(x.dtype, x.ndim, x.shape))) return nullptr;
  if (need[1] && !(gw = new_zeros(x.dtype, static_cast<int>(normalized), tail))) return nullptr;
  if (need[2] && !(gb = new_zeros(x.dtype, static_cast<int>(normalized), tail))) return nullptr;
  const ptrdiff_t item = item_size(x.dtype);
  const char* gp = PyArray_BYTES(array_of(gc));
  const char* xp = PyArray_BYTES(array_of(xc));
  {
    ReleaseGil release(r.rows * r.n * item > kReleaseGilBytes);
    if (gx) {
      char* out = PyArray_BYTES(array_of(gx));
      parallel(r.rows, kGrain / (r.n + 1) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
        const ptrdiff_t at = begin * r.n * item;
        dense_kernels().layer_norm_backward(x.dtype, gp + at, xp + at, static_cast<const char*>(mean) + begin * item,
                                            static_cast<const char*>(rstd) + begin * item, weight, end - begin, r.n,
                                            out + at, nullptr, nullptr);
      });
    }
    if (gw || gb)
      dense_kernels().layer_norm_backward(x.dtype, gp, xp, mean, rstd, weight, r.rows, r.n, nullptr,
                                          gw ? PyArray_DATA(array_of(gw)) : nullptr,
                                          gb ? PyArray_DATA(array_of(gb)) : nullptr);
  }
  Ref tuple(PyTuple_New(3));
  if (!tuple) return nullptr;
  PyTuple_SET_ITEM(tuple.get(), 0, gx ? gx.release() : none());
  PyTuple_SET_ITEM(tuple.get(), 1, gw ? gw.release() : none());
  PyTuple_SET_ITEM(tuple.get(), 2, gb ? gb.release() : none());
  return tuple.release();
}

}  // namespace

PyMethodDef kNormMethods[] = {
    fast_method("layer_norm", layer_norm,
                "layer_norm(x, n_normalized, weight_or_None, bias_or_None, eps) -> (y, mean, rstd)"),
    fast_method("layer_norm_backward", layer_norm_backward,
                "layer_norm_backward(g, x, n_normalized, mean, rstd, weight_or_None, need_x, need_weight, need_bias)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace rushlight
