// What is not zero: its places, elements where a mask holds, and the way back.
//
// Results are filled up to the last element that holds, so that none is written behind the end where every element is moved, held or
// not: a branch for each could not be foreseen.
#include "bindings/kernel.h"

namespace rushlight {
namespace {

// A tensor as contiguous truth values.
Ref truths(const TensorInfo& a) {
  const bool bytes = a.dtype == DType::Bool || a.dtype == DType::U8 || a.dtype == DType::I8;
  return bytes ? contiguous(a.tensor) : contiguous_as(a.tensor, DType::Bool);
}

// How many of n bytes are not 0, and how many bytes there are up to the last of these.
struct Held {
  Held(const char* bytes, Py_ssize_t n) : end(n) {
    for (Py_ssize_t i = 0; i < n;) {
      uint8_t few = 0;  // sums that fit a byte are added side by side
      for (const Py_ssize_t stop = std::min<Py_ssize_t>(i + 255, n); i < stop; i++) few += bytes[i] != 0;
      count += few;
    }
    while (end > 0 && !bytes[end - 1]) end--;
  }
  Py_ssize_t count = 0, end;
};

// Writes the indices of what is not zero, those of dimension d to columns[d].
bool write_places(const Ref& truth, const Held& found, int ndim, const Py_ssize_t* sizes, int64_t* const* columns) {
  Py_ssize_t shape[kMaxDims], at[kMaxDims] = {}, done = 0;
  std::copy_n(sizes, ndim, shape);
  const Py_ssize_t last = shape[ndim - 1];
  const Workspace room(8.0 * static_cast<double>(last));
  if (!room.p) return false;
  int64_t* row = reinterpret_cast<int64_t*>(room.p);
  const char* bytes = data_of(truth);
  Unlocked unlocked(found.end > kReleaseGilBytes / 4, truth);
  for (Py_ssize_t i = 0; i < found.end && done < found.count; i += last) {
    Py_ssize_t many = 0;
    for (Py_ssize_t j = 0; j < last; j++) {
      row[many] = j;
      many += bytes[i + j] != 0;
    }
    many = std::min(many, found.count - done);
    for (int d = 0; d + 1 < ndim; d++) std::fill_n(columns[d] + done, many, at[d]);
    std::copy_n(row, many, columns[ndim - 1] + done);
    done += many;
    for (int d = ndim - 2; d >= 0; d--) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
  return true;
}

// One row for each, in the memory of columns, as torch has it.
Ref nonzero(const TensorInfo& a) {
  if (is_meta(a)) return {};
  const Ref truth = truths(a);
  const Held found(data_of(truth), as_tensor(truth)->numel());
  const Py_ssize_t shape[] = {found.count, a.ndim}, strides[] = {8, 8 * found.count};
  Ref out = owned(new_strided(DType::I64, 2, shape, strides));
  int64_t* columns[kMaxDims];
  for (int d = 0; d < a.ndim; d++) columns[d] = data_of<int64_t>(out) + d * found.count;
  if (a.ndim && found.count && !write_places(truth, found, a.ndim, a.shape, columns)) return no_memory();
  return out;
}

// The first `size` rows of these, and rows of a number where there are fewer.
Ref nonzero_static(const TensorInfo& a, Py_ssize_t size, Py_ssize_t fill) {
  if (is_meta(a) || size < 0) return {};
  const Py_ssize_t shape[] = {size, a.ndim};
  Ref out = new_ref(DType::I64, 2, shape, DeviceType::Cpu);
  const Ref found = a.ndim ? nonzero(a) : Ref();
  const Py_ssize_t many = found ? std::min(as_tensor(found)->size(0), size) : 0;
  const auto first = [many](const Ref& rows) {
    Layout l(as_tensor(rows));
    l.shape[0] = many;
    return make_view(info_of(rows), l);
  };
  int64_t* rows = data_of<int64_t>(out);
  std::fill(rows + many * a.ndim, rows + size * a.ndim, int64_t{fill});
  if (many) copy_values(first(out), as_tensor(first(found)));
  return out;
}

// One tensor for each dimension; a number counts as a row.
Tensors nonzero_columns(const TensorInfo& a) {
  if (is_meta(a)) return {};
  const Ref truth = truths(a);
  const Held found(data_of(truth), as_tensor(truth)->numel());
  const Py_ssize_t one = 1;
  const int ndim = std::max(a.ndim, 1);
  Ref out = owned(PyTuple_New(ndim));
  int64_t* columns[kMaxDims];
  for (int d = 0; d < ndim; d++) {
    Ref column = new_ref(DType::I64, 1, &found.count, DeviceType::Cpu);
    columns[d] = data_of<int64_t>(column);
    PyTuple_SET_ITEM(out.get(), d, column.release());
  }
  if (found.count && !write_places(truth, found, ndim, a.ndim ? a.shape : &one, columns)) return no_memory();
  return out;
}

// ---------------------------------------------------------------- masks

struct Sixteen {
  uint64_t low, high;
};
// Calls f with a value of an unsigned type of the element's size.
template <class F>
auto by_size(DType dtype, const F& f) {
  switch (item_size(dtype)) {
    case 1: return f(uint8_t());
    case 2: return f(uint16_t());
    case 4: return f(uint32_t());
    case 8: return f(uint64_t());
    default: return f(Sixteen());
  }
}

// A tensor as contiguous elements of a shape that it is broadcast to.
Ref spread_to(const Ref& tensor, const Shape& shape) {
  const Tensor* t = as_tensor(tensor);
  if (t->ndim() == shape.n && same_sizes(shape.n, t->sizes(), shape.at)) return contiguous(as_tensor(tensor));
  Ref out = new_ref(t->dtype, shape.n, shape.at, DeviceType::Cpu);
  copy_values(out, t);
  return out;
}

// The shape that both are broadcast to. False where there is none.
bool common_shape(const Py_ssize_t* a, int a_ndim, const Py_ssize_t* b, int b_ndim, Shape& out) {
  out.n = std::max(a_ndim, b_ndim);
  for (int i = 1; i <= out.n; i++) {
    const Py_ssize_t p = i <= a_ndim ? a[a_ndim - i] : 1, q = i <= b_ndim ? b[b_ndim - i] : 1;
    if (p != q && p != 1 && q != 1) return false;
    out.at[out.n - i] = p == 1 ? q : p;
  }
  return true;
}

// NotImplemented to anything that is not in order, as the next.
Ref masked_select(const TensorInfo& x, const TensorInfo& mask) {
  Shape shape;
  if (mask.dtype != DType::Bool || is_meta(x, mask) || !common_shape(x.shape, x.ndim, mask.shape, mask.ndim, shape)) return {};
  const Ref values = spread_to(Ref::borrow(as_object(x.tensor)), shape),
            held = spread_to(Ref::borrow(as_object(mask.tensor)), shape);
  const char* bytes = data_of(held);
  const Held found(bytes, as_tensor(held)->numel());
  Ref out = new_ref(x.dtype, 1, &found.count, DeviceType::Cpu);
  const char* data = data_of(values);
  char* result = data_of(out);
  Unlocked unlocked(found.end > kReleaseGilBytes / 4, values, held, out);
  by_size(x.dtype, [&]<class T>(T) {
    const T* from = reinterpret_cast<const T*>(data);
    T* to = reinterpret_cast<T*>(result);
    Py_ssize_t k = 0;
    for (Py_ssize_t i = 0; i < found.end && k < found.count; i++) {
      to[k] = from[i];
      k += bytes[i] != 0;
    }
  });
  return out;
}

Ref masked_select_backward(const TensorInfo& g, const TensorInfo& mask, const Shape& given) {
  Shape shape;
  if (mask.dtype != DType::Bool || is_meta(g, mask) || !common_shape(given.at, given.n, mask.shape, mask.ndim, shape)) return {};
  const Ref values = contiguous(g.tensor), held = spread_to(Ref::borrow(as_object(mask.tensor)), shape);
  const char* bytes = data_of(held);
  const Py_ssize_t n = as_tensor(held)->numel();
  const Held found(bytes, n);
  if (g.ndim != 1 || g.size() != found.count) return {};
  Ref out = new_ref(g.dtype, shape.n, shape.at, DeviceType::Cpu);
  const char* data = data_of(values);
  char* result = data_of(out);
  Unlocked unlocked(n > kReleaseGilBytes / 4, values, held, out);
  by_size(g.dtype, [&]<class T>(T) {
    const T* from = reinterpret_cast<const T*>(data);
    T* to = reinterpret_cast<T*>(result);
    Py_ssize_t k = 0, i = 0;
    for (; i < found.end && k < found.count; i++) {
      const bool holds = bytes[i] != 0;
      to[i] = holds ? from[k] : T();
      k += holds;
    }
    std::fill(to + i, to + n, T());
  });
  return out;
}

const KernelRows rows{
    long_kernel<nonzero, "nonzero(a): the indices of what is not zero, one a row">(Border::Refuses),
    long_kernel<nonzero_static, "nonzero_static(a, size, fill_value): of so many rows">(),
    long_kernel<nonzero_columns, "nonzero_columns(a): the same, one tensor a dimension">(Border::Refuses),
    long_kernel<masked_select, "masked_select(x, mask)">(Border::Refuses),
    long_kernel<masked_select_backward, "masked_select_backward(g, mask, shape): zeros with g where the mask holds">(
        Border::Refuses),
};

}  // namespace
}  // namespace rushlight
