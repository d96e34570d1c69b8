// Tensors with a part of other sizes and strides written, and the gradients of such views: see Note [Layouts] in
// ops/layout/strided.py, the definition of these.
#include "bindings/kernel.h"

#include <algorithm>

#include "kernels/indexing.h"

namespace rushlight {

namespace {

constexpr Py_ssize_t kFar = PY_SSIZE_T_MAX / 1024;

// Elements of some sizes and strides, in bytes; `reach`: how many elements they span from the first one on; `twice`: whether some
// element may be seen twice. False where a number is negative, or too large for any memory.
struct Seen : Layout {
  Py_ssize_t reach = 1;
  bool twice = false;

  bool read(const Py_ssize_t* sizes, const Py_ssize_t* steps, int n, Py_ssize_t item) {
    std::pair<Py_ssize_t, Py_ssize_t> order[kMaxDims];
    int many = 0;
    bool empty = false;
    for (int i = 0; i < n; i++) {
      Py_ssize_t more = 0;
      if (sizes[i] < 0 || steps[i] < 0) return false;
      if (sizes[i] > 1) {
        if (__builtin_mul_overflow(sizes[i] - 1, steps[i], &more) || more > kFar || (reach += more) > kFar) return false;
        order[many++] = {steps[i], sizes[i]};
      }
      empty |= sizes[i] == 0;
      add(sizes[i], times(steps[i], item));
    }
    if (empty) reach = 0;
    std::sort(order, order + many);
    Py_ssize_t span = 0;
    for (int i = 0; i < many; span += (order[i].second - 1) * order[i].first, i++) twice |= order[i].first <= span;
    return true;
  }
};

using MaybeLayout = std::optional<Sizes>;

// A buffer that holds a tensor, and a part of it. Where `plain`, the buffer is a contiguous tensor of the shape; where `dense`, one
// with the strides of the layout.
struct Parted {
  Seen whole, part;
  Py_ssize_t total = 0;
  bool plain = false, dense = false;

  bool read(const Py_ssize_t* shape, int ndim, DType dtype, const Sizes& size, const Sizes& stride, Py_ssize_t offset,
            const MaybeLayout& layout) {
    const Py_ssize_t item = item_size(dtype);
    Py_ssize_t rows[kMaxDims], count;
    if (size.n != stride.n || (layout && layout->n != ndim) || offset > kFar || offset < -kFar) return false;
    if (!contiguous_strides(ndim, shape, 1, rows, &count)) return PyErr_Clear(), false;
    if (!whole.read(shape, layout ? layout->at : rows, ndim, item) || !part.read(size.at, stride.at, size.n, item)) return false;
    const Py_ssize_t low = std::min<Py_ssize_t>(offset, 0);
    whole.offset = -low * item, part.offset = (offset - low) * item;
    total = std::max({whole.reach - low, part.reach + offset - low, Py_ssize_t{1}});
    if (total > kFar / item) return false;
    plain = !layout && total == count;
    dense = total == count && !whole.twice;
    return true;
  }
  Ref zeros(DType dtype) const {
    return plain ? zeros_ref(dtype, whole.ndim, whole.shape, DeviceType::Cpu) : zeros_ref(dtype, 1, &total, DeviceType::Cpu);
  }
  Ref filled(const TensorInfo& x, DType dtype) const {
    if (plain) return owned(contiguous_copy(x.tensor));
    return around(x, zeros(dtype));
  }
  Ref around(const TensorInfo& x, Ref buffer) const {
    copy_values(make_view(info_of(buffer), whole), x.tensor);
    return buffer;
  }
  Ref shown(Ref buffer) const {
    if (plain) return buffer;
    Ref view = make_view(info_of(buffer), whole);
    return dense ? std::move(view) : owned(contiguous_copy(as_tensor(view)));
  }
};

// Contiguous values, or `one`, at elements of a buffer of their type, one after the other.
void land(const Ref& buffer, const Seen& seen, Land how, const Ref& values, bool one = false) {
  Places places;
  places.offsets = &seen.offset, places.n = 1, places.n_inner = seen.ndim;
  std::copy_n(seen.shape, seen.ndim, places.inner_shape);
  std::copy_n(seen.strides, seen.ndim, places.inner_strides);
  const DType dtype = as_tensor(buffer)->dtype;
  char* to = data_of(buffer);
  const char* from = data_of(values);
  Unlocked unlocked(as_tensor(buffer)->nbytes() > kReleaseGilBytes, buffer, values);
  land_places(dtype, how, to, places, from, one);
}

void write(const Ref& buffer, const Seen& seen, const Tensor* values) {
  if (!seen.twice) return copy_values(make_view(info_of(buffer), seen), values);
  Ref full = new_ref(as_tensor(buffer)->dtype, seen.ndim, seen.shape, DeviceType::Cpu);
  copy_values(full, values);
  land(buffer, seen, Land::Set, full);
}

// Divides x by how often the layout shows each of its elements; false where there is no kernel.
bool share(const Ref& x, const Parted& p) {
  const DType dtype = as_tensor(x)->dtype;
  if (dtype != DType::F32 && dtype != DType::F64) return false;
  const Ref counts = p.zeros(dtype), one = zeros_ref(dtype, 0, nullptr, DeviceType::Cpu);
  each_value(one, [](auto v) { return v + 1; });
  land(counts, p.whole, Land::Add, one, true);
  const Ref shown = p.shown(Ref::borrow(counts.get()));
  const Py_ssize_t n = as_tensor(x)->numel();
  by_type(
      dtype,
      [n](auto* to, auto* by) {
        for (Py_ssize_t i = 0; i < n; i++) to[i] /= by[i];
      },
      data_of(x), data_of(shown));
  return true;
}

bool has_shape(const TensorInfo& a, const Layout& l) { return a.ndim == l.ndim && same_sizes(a.ndim, a.shape, l.shape); }

Ref strided_backward(const TensorInfo& g, const Shape& shape, const Sizes& size, const Sizes& stride, Py_ssize_t offset,
                     const MaybeLayout& layout) {
  Parted p;
  const DType wide = computed_in(g.dtype);
  if (is_meta(g) || !p.read(shape.at, shape.n, wide, size, stride, offset, layout) || !has_shape(g, p.part)) return {};
  Ref buffer = p.zeros(wide);
  if (p.part.twice) land(buffer, p.part, Land::Add, contiguous_as(g.tensor, wide));
  else write(buffer, p.part, g.tensor);
  Ref out = p.shown(std::move(buffer));
  if (layout && p.whole.twice && !share(out, p)) return {};
  return rounded(std::move(out), g.dtype);
}

Ref strided_gather(const TensorInfo& g, const Sizes& size, const Sizes& stride, Py_ssize_t offset, const MaybeLayout& layout) {
  Parted p;
  const DType wide = layout ? computed_in(g.dtype) : g.dtype;
  if (is_meta(g) || !p.read(g.shape, g.ndim, wide, size, stride, offset, layout)) return {};
  Ref buffer;
  if (layout && p.whole.twice) {
    Ref from = owned(contiguous_copy(as_tensor(contiguous_as(g.tensor, wide))));
    if (!share(from, p)) return {};
    buffer = p.zeros(wide);
    land(buffer, p.whole, Land::Add, from);
  } else {
    buffer = p.plain ? contiguous(g.tensor) : p.filled(g, wide);
  }
  return rounded(owned(contiguous_copy(as_tensor(make_view(info_of(buffer), p.part)))), g.dtype);
}

Ref strided_scatter(const TensorInfo& x, const TensorInfo& src, const Sizes& size, const Sizes& stride, Py_ssize_t offset,
                    const MaybeLayout& layout) {
  Parted p;
  if (is_meta(x, src) || src.dtype != x.dtype || !p.read(x.shape, x.ndim, x.dtype, size, stride, offset, layout)) return {};
  if ((!layout && !p.plain) || (src.ndim && !has_shape(src, p.part))) return {};
  // A block without gaps, seen by its own layout, is copied as it lies.
  bool as_it_lies = layout && p.total == x.size() && !p.whole.twice;
  for (int i = 0; i < x.ndim; i++) as_it_lies = as_it_lies && (x.shape[i] == 1 || x.strides[i] == p.whole.strides[i]);
  Ref buffer = as_it_lies ? owned(dense_copy(x.tensor))
               : p.plain  ? p.filled(x, x.dtype)
                          : p.around(x, new_ref(x.dtype, 1, &p.total, DeviceType::Cpu));  // nobody sees what lies between
  write(buffer, p.part, src.tensor);
  return as_it_lies ? std::move(buffer) : p.shown(std::move(buffer));
}

Ref strided_zeroed(const TensorInfo& x, const Sizes& size, const Sizes& stride, Py_ssize_t offset, const MaybeLayout& layout) {
  const Ref zero = zeros_ref(x.dtype, 0, nullptr, device_of(x));
  return strided_scatter(x, info_of(zero), size, stride, offset, layout);
}

Pair strided_scatter_backward(const TensorInfo& g, const Sizes& size, const Sizes& stride, Py_ssize_t offset,
                              const MaybeLayout& layout) {
  const Ref to_input = strided_zeroed(g, size, stride, offset, layout);
  const Ref to_src = to_input ? strided_gather(g, size, stride, offset, layout) : Ref();
  return to_src ? tuple_of(to_input, to_src) : Ref();
}

const KernelRows rows{
    long_kernel<strided_backward,
                "strided_backward(g, shape, size, stride, offset, layout=None): zeros with g at a strided part">(),
    long_kernel<strided_gather, "strided_gather(g, size, stride, offset, layout=None): a strided part">(),
    long_kernel<strided_scatter, "strided_scatter(x, src, size, stride, offset, layout=None): x with src at a strided part">(),
    long_kernel<strided_zeroed, "strided_zeroed(x, size, stride, offset, layout=None): x with zeros at a strided part">(),
    long_kernel<strided_scatter_backward, "strided_scatter_backward(g, size, stride, offset, layout=None)">(),
};

}  // namespace

}  // namespace rushlight
