// Elements by their place in a whole tensor; under a mask; and places as rows of a unit matrix.
#include "bindings/kernel.h"

#include <cstring>

namespace rushlight {
namespace {

// Calls f with an unsigned integer of an element's size. False where there is none.
template <class F>
bool by_item(ptrdiff_t item, const F& f) {
  switch (item) {
    case 1: f(uint8_t{}); return true;
    case 2: f(uint16_t{}); return true;
    case 4: f(uint32_t{}); return true;
    case 8: f(uint64_t{}); return true;
    default: return false;
  }
}

// An index out of range is refused by the reference.
Ref take(const TensorInfo& a, const TensorInfo& index) {
  if (is_accelerated(a, index) || index.dtype != DType::I64 || is_meta(a, index)) return {};
  const Ref from = contiguous(a.tensor), places = contiguous(index.tensor);
  Ref result = new_ref(a.dtype, index.ndim, index.shape, DeviceType::Cpu);
  const Py_ssize_t n = as_tensor(from)->numel(), count = as_tensor(result)->numel();
  bool fits = as_tensor(places)->numel() == count;
  const bool known = by_item(item_size(a.dtype), [&]<class T>(T) {
    const T* in = data_of<T>(from);
    const int64_t* at = data_of<int64_t>(places);
    T* out = data_of<T>(result);
    Unlocked unlocked(count * item_size(a.dtype) > kReleaseGilBytes, from, places, result);
    for (Py_ssize_t i = 0; i < count && fits; ++i) {
      const int64_t k = at[i] < 0 ? at[i] + n : at[i];
      fits = static_cast<uint64_t>(k) < static_cast<uint64_t>(n);
      if (fits) out[i] = in[k];
    }
  });
  return known && fits ? std::move(result) : Ref();
}

// Of one shape; where the source is too short the reference says so.
Ref masked_scatter(const TensorInfo& a, const TensorInfo& mask, const TensorInfo& source) {
  if (is_accelerated(a, mask, source) || is_meta(a, mask, source) || mask.dtype != DType::Bool) return {};
  if (source.dtype != a.dtype || mask.ndim != a.ndim || !same_sizes(a.ndim, a.shape, mask.shape)) return {};
  const Ref holds = contiguous(mask.tensor), from = contiguous(source.tensor);
  Ref result = owned(contiguous_copy(a.tensor));
  const Py_ssize_t n = as_tensor(result)->numel(), most = as_tensor(from)->numel();
  bool fits = as_tensor(holds)->numel() == n;
  const bool known = by_item(item_size(a.dtype), [&]<class T>(T) {
    const T* in = data_of<T>(from);
    const uint8_t* truth = data_of<uint8_t>(holds);
    T* out = data_of<T>(result);
    Unlocked unlocked(n * item_size(a.dtype) > kReleaseGilBytes, from, holds, result);
    for (Py_ssize_t i = 0, k = 0; i < n && fits; ++i) {
      if (!truth[i]) continue;
      fits = k < most;
      if (fits) out[i] = in[k++];
    }
  });
  return known && fits ? std::move(result) : Ref();
}

// Integers that are none of the classes are refused by the reference.
Ref one_hot(const TensorInfo& a, Py_ssize_t classes) {
  if (is_accelerated(a) || is_meta(a) || a.dtype != DType::I64 || !a.size()) return {};
  const Ref places = contiguous(a.tensor);
  const int64_t* at = data_of<int64_t>(places);
  const Py_ssize_t n = as_tensor(places)->numel();
  int64_t least = 0, most = 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    least = std::min(least, at[i]);
    most = std::max(most, at[i]);
  }
  if (classes == -1 && most < PY_SSIZE_T_MAX) classes = most + 1;
  if (least < 0 || most >= classes) return {};
  check_room(a.ndim);
  Layout l(a.tensor);
  l.add(classes, 0);
  Ref result = zeros_ref(DType::I64, l.ndim, l.shape, DeviceType::Cpu);
  if (as_tensor(places)->numel() * classes != as_tensor(result)->numel()) return {};
  int64_t* out = data_of<int64_t>(result);
  for (Py_ssize_t i = 0; i < n; ++i) {
    const int64_t k = at[i];
    if (static_cast<uint64_t>(k) < static_cast<uint64_t>(classes)) out[i * classes + k] = 1;
  }
  return result;
}

const KernelRows rows{
    layout_kernel<take, "take(a, index)">(),
    layout_kernel<masked_scatter, "masked_scatter(a, mask, source)">(),
    layout_kernel<one_hot, "one_hot(a, classes)">(),
};

}  // namespace

}  // namespace rushlight
