// Images sampled at the places of a grid, and the gradients of both. Modes: 0 bilinear, 1 nearest, 2 bicubic; paddings: 0 zeros,
// 1 border, 2 reflection.
#include "bindings/kernel.h"

#include <algorithm>

namespace rushlight {
namespace {

constexpr Py_ssize_t kGrain = 1 << 13;
constexpr Py_ssize_t kFewChannels = 8;

Steps steps_of(const Sampling& s, Py_ssize_t places) { return {s.channels * places, s.few ? 1 : s.channels, s.few ? places : 1}; }

bool read_sampling(const TensorInfo& x, const TensorInfo& grid, Py_ssize_t mode, Py_ssize_t beyond, bool corners, Sampling& s) {
  if (!x.is_float() || grid.dtype != x.dtype || (x.ndim != 4 && x.ndim != 5) || grid.ndim != x.ndim) return false;
  if (mode < 0 || mode > 2 || beyond < 0 || beyond > 2 || x.shape[0] != grid.shape[0]) return false;
  s = {x.ndim - 2,
       x.shape[0],
       x.shape[1],
       1,
       1,
       {1, 1, 1},
       corners,
       x.shape[1] < kFewChannels,
       static_cast<Sampled>(mode),
       static_cast<Beyond>(beyond),
       {},
       {}};
  if (grid.shape[grid.ndim - 1] != s.n) return false;
  for (int d = 0; d < s.n; d++) {
    s.sizes[d] = x.shape[2 + d];
    s.pixels *= s.sizes[d];
    s.places *= grid.shape[1 + d];
    if (s.pixels > Py_ssize_t{1} << 30) return false;
  }
  // The images of a block of places are within the reach of 32 bits.
  const double images = static_cast<double>(std::min(s.batch, 64 / std::max<Py_ssize_t>(s.places, 1) + 2));
  if (images * static_cast<double>(s.pixels) * static_cast<double>(s.channels) > 0x1p31 - 1) return false;
  s.in = steps_of(s, s.pixels), s.out = steps_of(s, s.places);
  return s.pixels > 0;
}

// (batch, rows, columns) as (batch, columns, rows).
void turn(DType dtype, Py_ssize_t batch, Py_ssize_t rows, Py_ssize_t columns, const char* from, char* to) {
  const Py_ssize_t bytes = rows * columns * item_size(dtype);
  parallel(batch, kGrain / (rows * columns + 1) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t i = begin; i < end; i++) dense_kernels().transpose(dtype, from + i * bytes, rows, columns, to + i * bytes);
  });
}

Ref grid_sample(const TensorInfo& x, const TensorInfo& grid, Py_ssize_t mode, Py_ssize_t beyond, bool corners) {
  Sampling s;
  if (!read_sampling(x, grid, mode, beyond, corners, s)) return {};
  Py_ssize_t shape[5] = {s.batch, s.channels};
  std::copy_n(grid.shape + 1, s.n, shape + 2);
  const DType dtype = x.dtype;
  Ref out = new_ref(dtype, s.n + 2, shape, device_of(x, grid));
  if (!has_memory(out) || !as_tensor(out)->numel()) return out;
  Ref xc = contiguous(x.tensor), gc = contiguous(grid.tensor);
  const double images = s.few ? 0 : static_cast<double>(s.batch * s.channels * item_size(dtype));
  const Workspace turned(images * static_cast<double>(s.pixels)), sampled(images * static_cast<double>(s.places));
  if (!turned.p || !sampled.p) return no_memory();
  const char *from = data_of(xc), *places = data_of(gc);
  char* const to = data_of(out);
  Unlocked unlocked(as_tensor(out)->nbytes() > kReleaseGilBytes, xc, gc, out);
  if (!s.few) turn(dtype, s.batch, s.channels, s.pixels, from, turned.p);
  parallel(s.batch * s.places, kGrain / (s.channels * 4 + 8) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
    dense_kernels().grid_sample(dtype, s, places, s.few ? from : turned.p, begin, end, s.few ? to : sampled.p);
  });
  if (!s.few) turn(dtype, s.batch, s.places, s.channels, sampled.p, to);
  return out;
}

Gradients grid_sample_backward(const TensorInfo& g, const TensorInfo& x, const TensorInfo& grid, Py_ssize_t mode, Py_ssize_t beyond,
                               bool corners, const Needs<2>& needs) {
  Sampling s;
  if (!read_sampling(x, grid, mode, beyond, corners, s) || g.dtype != x.dtype || g.ndim != x.ndim) return {};
  if (g.shape[0] != s.batch || g.shape[1] != s.channels || !same_sizes(s.n, g.shape + 2, grid.shape + 1)) return {};
  const DeviceType device = device_of(g, x, grid);
  const DType dtype = x.dtype;
  Ref to_x, to_grid;
  if (needs[0]) to_x = new_ref(dtype, x.ndim, x.shape, device);
  if (needs[1]) to_grid = new_ref(dtype, grid.ndim, grid.shape, device);
  if (device == DeviceType::Meta) return gradients_of({&to_x, &to_grid});
  Ref oc = contiguous(g.tensor), xc = contiguous(x.tensor), gc = contiguous(grid.tensor);
  const double images = s.few ? 0 : static_cast<double>(s.batch * s.channels * item_size(dtype));
  const double pixels = images * static_cast<double>(s.pixels);
  const Workspace turned(needs[1] ? pixels : 0), sums(needs[0] ? pixels : 0), grads(images * static_cast<double>(s.places));
  if (!turned.p || !sums.p || !grads.p) return no_memory();
  const char *from = data_of(xc), *places = data_of(gc), *given = data_of(oc);
  char* const x_grad = to_x ? data_of(to_x) : nullptr;
  char* const grid_grad = to_grid ? data_of(to_grid) : nullptr;
  {
    Unlocked unlocked(as_tensor(oc)->nbytes() > kReleaseGilBytes, xc, gc, oc, to_x, to_grid);
    char* const summed = !x_grad || s.few ? x_grad : sums.p;
    if (!s.few) turn(dtype, s.batch, s.channels, s.places, given, grads.p);
    if (!s.few && grid_grad) turn(dtype, s.batch, s.channels, s.pixels, from, turned.p);
    if (x_grad) std::fill_n(summed, as_tensor(to_x)->nbytes(), 0);
    parallel(s.batch, kGrain / (s.places * (s.channels + 1) + 1) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
      dense_kernels().grid_sample_backward(dtype, s, s.few ? given : grads.p, places, s.few ? from : turned.p, begin * s.places,
                                           end * s.places, summed, grid_grad);
    });
    if (!s.few && x_grad) turn(dtype, s.batch, s.pixels, s.channels, sums.p, x_grad);
  }
  return gradients_of({&to_x, &to_grid});
}

const KernelRows rows{
    long_kernel<grid_sample, "grid_sample(x, grid, mode, padding, align_corners)">(),
    long_kernel<grid_sample_backward, "grid_sample_backward(g, x, grid, mode, padding, align_corners, needs)">(),
};

}  // namespace

}  // namespace rushlight
