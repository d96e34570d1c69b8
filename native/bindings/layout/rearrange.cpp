// Copies that rearrange elements: turned, rolled, repeated, triangles. Tensors on accelerators have kernels of their own.
#include "bindings/kernel.h"

#include <cstring>

#include "kernels/copy.h"

namespace rushlight {
namespace {

// Copies what `from` shows of `a` to what `to` shows of `result`; both have the shape of `to`.
void move(const Ref& result, const Layout& to, const TensorInfo& a, const Layout& from) {
  char* target = data_of(result) + to.offset;
  const char* source = a.data + from.offset;
  Py_ssize_t bytes = item_size(a.dtype);
  for (int i = 0; i < to.ndim; ++i) bytes = times(bytes, to.shape[i]);
  Unlocked unlocked(bytes > kReleaseGilBytes, result, a);
  copy_strided(a.dtype, target, to.strides, a.dtype, source, from.strides, to.ndim, to.shape);
}

Ref contiguous_copy_of(const TensorInfo& a) { return is_accelerated(a) ? Ref() : owned(contiguous_copy(a.tensor)); }

Ref flip(const TensorInfo& a, const Dims& dims) {
  if (is_accelerated(a)) return {};
  Ref result = owned(new_like(a.tensor, a.dtype));
  if (!has_memory(result) || a.size() == 0) return result;
  Layout from(a.tensor);
  for (int i = 0; i < a.ndim; ++i) {
    if (!(dims.mask >> i & 1)) continue;
    from.offset += (a.shape[i] - 1) * a.strides[i];
    from.strides[i] = -a.strides[i];
  }
  move(result, Layout(as_tensor(result)), a, from);
  return result;
}

// Copies dimensions `dim` and up; those before are narrowed to one of the two pieces that each falls into.
void roll_from(int dim, const Py_ssize_t* shifts, const Ref& result, Layout& to, const TensorInfo& a, Layout& from) {
  while (dim < to.ndim && shifts[dim] == 0) ++dim;
  if (dim == to.ndim) return move(result, to, a, from);
  const Py_ssize_t size = to.shape[dim], shift = shifts[dim];
  const Layout whole_to = to, whole_from = from;
  for (const bool last : {false, true}) {
    to = whole_to;
    from = whole_from;
    to.shape[dim] = last ? shift : size - shift;
    to.offset += last ? 0 : shift * to.strides[dim];
    from.offset += last ? (size - shift) * from.strides[dim] : 0;
    roll_from(dim + 1, shifts, result, to, a, from);
  }
}

// Sizes, or none for None.
struct SizesOrNone : Sizes {
  static constexpr Text kType = "int | Sequence[int] | None";
  bool read(const Argument& a) {
    n = 0;
    return a.object == Py_None || Sizes::read(a);
  }
};

Ref roll(const TensorInfo& a, const Sizes& shifts, const SizesOrNone& dims) {
  const bool flat = dims.n == 0 && shifts.n == 1;
  if (is_accelerated(a) || (!flat && (shifts.n == 0 || dims.n != shifts.n))) return {};
  Py_ssize_t by[kMaxDims] = {};
  const auto add = [&](int dim, Py_ssize_t size, Py_ssize_t shift) {
    if (size) by[dim] = (by[dim] + (shift % size + size) % size) % size;
  };
  for (int i = 0; i < shifts.n && !flat; ++i) {
    const int dim = normal_dim(dims.at[i], a.ndim);
    if (dim < 0) return {};
    add(dim, a.ndim ? a.shape[dim] : 1, shifts.at[i]);
  }
  Ref result = new_ref(a.dtype, a.ndim, a.shape, device_of(a));
  if (!has_memory(result) || a.size() == 0) return result;
  const Ref held = flat ? contiguous(a.tensor) : Ref::borrow(as_object(a.tensor));
  const TensorInfo in = info_of(held);
  if (in.size() != as_tensor(result)->numel()) return {};
  Layout to(as_tensor(result)), from(in.tensor);
  if (flat) {
    add(0, in.size(), shifts.at[0]);
    to.ndim = from.ndim = 0;
    to.add(in.size(), item_size(in.dtype));
    from.add(in.size(), item_size(in.dtype));
  }
  roll_from(0, by, result, to, in, from);
  return result;
}

// A dimension that is repeated is seen as two, its copies and what is copied.
Ref repeat(const TensorInfo& a, const Sizes& repeats) {
  const int lead = repeats.n - a.ndim;
  if (is_accelerated(a) || lead < 0 || 2 * repeats.n > kMaxDims) return {};
  Py_ssize_t shape[kMaxDims];
  for (int i = 0; i < repeats.n; ++i) {
    if (repeats.at[i] < 0 || __builtin_mul_overflow(repeats.at[i], i < lead ? 1 : a.shape[i - lead], &shape[i])) return {};
  }
  Ref result = new_ref(a.dtype, repeats.n, shape, device_of(a));
  if (!has_memory(result) || as_tensor(result)->numel() == 0) return result;
  Layout to, from;
  for (int i = 0; i < repeats.n; ++i) {
    const Py_ssize_t size = i < lead ? 1 : a.shape[i - lead], step = as_tensor(result)->stride(i);
    to.add(repeats.at[i], times(step, size));
    from.add(repeats.at[i], 0);
    to.add(size, step);
    from.add(size, i < lead ? 0 : a.strides[i - lead]);
  }
  move(result, to, a, from);
  return result;
}

// The elements of each matrix below (kUpper: above) a diagonal and on it; zeros elsewhere.
template <bool kUpper>
Ref triangle(const TensorInfo& a, Py_ssize_t diagonal) {
  if (is_accelerated(a) || a.ndim < 2) return {};
  const bool in_rows = a.contiguous();
  Ref result = in_rows || is_meta(a) ? new_ref(a.dtype, a.ndim, a.shape, device_of(a)) : owned(contiguous_copy(a.tensor));
  if (!has_memory(result)) return result;
  const TensorInfo made = info_of(result);
  if (made.size() == 0) return result;
  const Py_ssize_t n = made.shape[made.ndim - 2], m = made.shape[made.ndim - 1], item = item_size(made.dtype);
  const Py_ssize_t offset = std::clamp(diagonal, -n, m) + (kUpper ? 0 : 1);
  const char* in = in_rows ? a.data : nullptr;
  Unlocked unlocked(made.size() * item > kReleaseGilBytes, a, result);
  parallel_by(made.size() / m, m, [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t r = begin; r < end; ++r) {
      char* row = made.data + r * m * item;
      const Py_ssize_t middle = std::clamp<Py_ssize_t>(r % n + offset, 0, m);  // where the triangle begins or ends
      const Py_ssize_t first = kUpper ? middle : 0, count = kUpper ? m - middle : middle;
      if (in) std::memcpy(row + first * item, in + (r * m + first) * item, static_cast<size_t>(count * item));
      std::memset(row + (kUpper ? 0 : middle * item), 0, static_cast<size_t>((m - count) * item));
    }
  });
  return result;
}

// The last dimension on a diagonal of two new ones.
Ref diag_embed(const TensorInfo& a, Py_ssize_t offset, Py_ssize_t dim1, Py_ssize_t dim2) {
  if (is_accelerated(a) || a.ndim == 0 || a.ndim >= kMaxDims) return {};
  const int ndim = a.ndim + 1, first = normal_dim(dim1, ndim), second = first < 0 ? -1 : normal_dim(dim2, ndim);
  Py_ssize_t size;
  if (second < 0 || first == second || offset == PY_SSIZE_T_MIN ||
      __builtin_add_overflow(a.shape[a.ndim - 1], std::abs(offset), &size))
    return {};
  Layout whole;
  for (int i = 0, d = 0; i < ndim; ++i) whole.add(i == first || i == second ? size : a.shape[d++], 0);
  Ref result = zeros_ref(a.dtype, ndim, whole.shape, device_of(a));
  if (!has_memory(result) || a.size() == 0) return result;
  const Py_ssize_t* strides = as_tensor(result)->strides();
  Layout to, from(a.tensor);
  for (int i = 0; i < ndim; ++i) {
    if (i != first && i != second) to.add(whole.shape[i], strides[i]);
  }
  to.add(a.shape[a.ndim - 1], strides[first] + strides[second]);
  to.offset = offset >= 0 ? offset * strides[second] : -offset * strides[first];
  move(result, to, a, from);
  return result;
}

// Channels, dimension 1, dealt out from groups.
Ref channel_shuffle(const TensorInfo& a, Py_ssize_t groups) {
  if (is_accelerated(a) || a.ndim < 3 || a.ndim >= kMaxDims || groups <= 0 || a.shape[1] % groups) return {};
  Ref result = new_ref(a.dtype, a.ndim, a.shape, device_of(a));
  if (!has_memory(result)) return result;
  const Tensor* made = as_tensor(result);
  const Py_ssize_t each = a.shape[1] / groups;
  Layout to, from;
  for (int i = 0; i < a.ndim; ++i) {
    if (i == 1) {
      to.add(each, made->stride(1) * groups);
      from.add(each, a.strides[1]);
    }
    to.add(i == 1 ? groups : a.shape[i], made->stride(i));
    from.add(to.shape[to.ndim - 1], i == 1 ? a.strides[1] * each : a.strides[i]);
  }
  move(result, to, a, from);
  return result;
}

// Channels as the pixels of r by r blocks; or these pixels as channels.
template <bool kBack>
Ref pixel_shuffle(const TensorInfo& a, Py_ssize_t r) {
  const int at = a.ndim - 3;
  if (is_accelerated(a) || at < 0 || at + 5 > kMaxDims || r <= 0 || r > kMostAlong) return {};
  Py_ssize_t shape[kMaxDims];
  std::copy_n(a.shape, a.ndim, shape);
  for (int i = at; i < a.ndim; ++i) {
    const Py_ssize_t by = i == at ? r * r : r;
    if (kBack == (i == at)) {
      if (__builtin_mul_overflow(shape[i], by, &shape[i])) return {};
    } else {
      if (shape[i] % by) return {};
      shape[i] /= by;
    }
  }
  Ref result = new_ref(a.dtype, a.ndim, shape, device_of(a));
  if (!has_memory(result)) return result;
  const Py_ssize_t *made = as_tensor(result)->strides(), *fine = kBack ? a.strides : made, *deep = kBack ? made : a.strides;
  Layout pixels, channels;
  const auto add = [&](Py_ssize_t size, Py_ssize_t to_pixels, Py_ssize_t to_channels) {
    pixels.add(size, to_pixels);
    channels.add(size, to_channels);
  };
  for (int i = 0; i < at; ++i) add(shape[i], fine[i], deep[i]);
  add(kBack ? a.shape[at] : shape[at], fine[at], deep[at] * r * r);
  for (int i : {1, 2}) {
    add(kBack ? shape[at + i] : a.shape[at + i], fine[at + i] * r, deep[at + i]);
    add(r, fine[at + i], i == 1 ? deep[at] * r : deep[at]);
  }
  move(result, kBack ? channels : pixels, a, kBack ? pixels : channels);
  return result;
}

const KernelRows rows{
    layout_kernel<contiguous_copy_of, "contiguous_copy(a)">(),
    layout_kernel<flip, "flip(a, dims)">(),
    layout_kernel<roll, "roll(a, shifts, dims)">(),
    layout_kernel<repeat, "repeat(a, repeats)">(),
    layout_kernel<diag_embed, "diag_embed(a, offset, dim1, dim2)">(),
    layout_kernel<channel_shuffle, "channel_shuffle(a, groups)">(),
    layout_kernel<pixel_shuffle<false>, "pixel_shuffle(a, upscale_factor)">(),
    layout_kernel<pixel_shuffle<true>, "pixel_unshuffle(a, downscale_factor)">(),
    layout_kernel<triangle<false>, "tril(a, diagonal)">(),
    layout_kernel<triangle<true>, "triu(a, diagonal)">(),
};

}  // namespace

}  // namespace rushlight
