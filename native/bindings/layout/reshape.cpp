// The same elements in another shape: whether there are strides for it, a view where there are, a copy where there are none.
#include "bindings/kernel.h"

#include <algorithm>
#include <string>

namespace rushlight {

namespace {

Py_ssize_t product(const Py_ssize_t* sizes, int n) {
  Py_ssize_t p = 1;
  for (int i = 0; i < n; ++i) {
    if (sizes[i] == 0) return 0;
  }
  for (int i = 0; i < n; ++i) {
    if (p > PY_SSIZE_T_MAX / sizes[i]) return -1;
    p *= sizes[i];
  }
  return p;
}

}  // namespace

bool infer_size(Py_ssize_t* sizes, int n, Py_ssize_t count) {
  int unknown = -1;
  Py_ssize_t known[kMaxDims];
  int n_known = 0;
  for (int i = 0; i < n; ++i) {
    if (sizes[i] == -1) {
      if (unknown >= 0) return fail(PyExc_RuntimeError, "only one dimension can be inferred");
      unknown = i;
    } else if (sizes[i] < 0) {
      return fail(PyExc_RuntimeError, "invalid shape dimension " + std::to_string(sizes[i]) + " at index " + std::to_string(i) +
                                          " of shape " + sizes_text(sizes, n));
    } else {
      known[n_known++] = sizes[i];
    }
  }
  const Py_ssize_t rest = product(known, n_known);
  if (unknown >= 0 && rest == 0 && count == 0)
    return fail(PyExc_RuntimeError, "cannot reshape tensor of 0 elements into shape " + sizes_text(sizes, n) +
                                        " because the unspecified dimension size -1 can be any value and is ambiguous");
  if (unknown >= 0 ? rest <= 0 || count % rest : rest != count)
    return fail(PyExc_RuntimeError, "shape '" + sizes_text(sizes, n) + "' is invalid for input of size " + std::to_string(count));
  if (unknown >= 0) sizes[unknown] = count / rest;
  return true;
}

bool view_strides(const TensorInfo& a, Layout& l) {
  const Py_ssize_t item = a.tensor->item();
  if (a.size() == 0 || a.ndim == 0) {
    if (a.ndim == l.ndim && std::equal(a.shape, a.shape + a.ndim, l.shape)) {
      std::copy(a.strides, a.strides + a.ndim, l.strides);
      return true;
    }
    Py_ssize_t step = item;
    for (int i = l.ndim - 1; i >= 0; --i) {
      l.strides[i] = step;
      step = times(step, std::max<Py_ssize_t>(l.shape[i], 1));
    }
    return true;
  }
  // From the right: a run of old dimensions that walk memory as one takes new dimensions until both hold as many elements.
  int to = l.ndim - 1;
  for (int from = a.ndim - 1; from >= 0;) {
    const Py_ssize_t step = a.strides[from];
    Py_ssize_t run = a.shape[from--];
    while (from >= 0 && (a.shape[from] == 1 || a.strides[from] == run * step)) run *= a.shape[from--];
    Py_ssize_t taken = 1;
    for (; to >= 0 && (taken < run || l.shape[to] == 1); --to) {
      l.strides[to] = taken * step;
      taken *= l.shape[to];
    }
    if (taken != run) return false;
  }
  return true;
}

namespace {

Ref view(const TensorInfo& a, IntOrInts size) {
  Layout l;
  if (!sizes_argument("view", "size", size, l.shape, l.ndim, false)) return {};
  if (!infer_size(l.shape, l.ndim, a.size())) return {};
  if (!view_strides(a, l)) {
    return fail(PyExc_RuntimeError,
                "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
                "contiguous subspaces). Use .reshape(...) instead. The tensor has shape " +
                    shape_text(a) + "; the shape wanted is " + sizes_text(l.shape, l.ndim) + ".");
  }
  return make_view(a, l);
}

// A view where there is one, else a copy.
Ref reshape(const TensorInfo& a, const Sizes& shape) {
  Layout l(shape.at, shape.n);
  if (!infer_size(l.shape, l.ndim, a.size())) return {};
  if (view_strides(a, l)) return make_view(a, l);
  Ref copy = new_ref(a.dtype, l.ndim, l.shape, device_of(a));
  const TensorInfo c = info_of(copy);
  Layout as_before;
  as_before.ndim = a.ndim;
  Py_ssize_t step = a.tensor->item();
  for (int i = a.ndim - 1; i >= 0; --i) {
    as_before.shape[i] = a.shape[i];
    as_before.strides[i] = step;
    step = times(step, a.shape[i]);
  }
  copy_values(make_view(c, as_before), a.tensor);
  return copy;
}

const KernelRows rows{
    layout_kernel<view, "view(a, size)">(),
    layout_kernel<reshape, "reshape(a, shape): a view where there is one, else a copy">(),
};

}  // namespace

}  // namespace rushlight
