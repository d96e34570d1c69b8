// 3x3 convolutions of stride 1 by Winograd's transforms: when they pay, the buffers, and what the threads share.
#include "bindings/layers/winograd.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace rushlight {
namespace {

std::atomic<int> the_tile{2};         // the outputs of a tile, each way; 0: this way is not taken
std::atomic<bool> everywhere{false};  // also where it does not pay

// The tensor's own memory where it is made of whole planes or has its channels last, else a contiguous copy.
struct Images {
  explicit Images(const TensorInfo& a) {
    const ptrdiff_t item = item_size(a.dtype);
    const bool read_as_it_is = a.tensor->is_aligned() && (a.strides[3] == item || a.strides[1] == item);
    held = read_as_it_is ? Ref::borrow(as_object(a.tensor)) : contiguous(a.tensor);
    const TensorInfo b = info_of(held);
    view = {b.data,
            b.shape[1],
            b.shape[2],
            b.shape[3],
            b.strides[0] / item,
            b.strides[1] / item,
            b.strides[2] / item,
            b.strides[3] / item};
  }
  Ref held;
  WinogradImages view{};
};

// The convolution of images with kernels: nullptr with an exception.
Ref convolve(DType dtype, WinogradPlan plan, const Images& images, WinogradKernels kernels, const Ref& w, const Ref& bias) {
  const Py_ssize_t shape[4] = {plan.batch, plan.outputs, plan.out_h, plan.out_w};
  Ref result = new_ref(dtype, 4, shape, DeviceType::Cpu);
  if (as_tensor(result)->numel() == 0) return result;
  const DenseKernels& dense = dense_kernels();
  dense.winograd_plan(dtype, plan);
  // Few large groups are made as many as there are threads, or a multiple.
  const ptrdiff_t threads = get_num_threads();
  ptrdiff_t groups = (plan.units + plan.group - 1) / plan.group;
  if (groups < 8 * threads) groups = std::min(plan.units, (groups + threads - 1) / threads * threads);
  plan.group = (plan.units + groups - 1) / groups;
  groups = (plan.units + plan.group - 1) / plan.group;
  kernels.data = data_of(w);
  const char* bias_data = bias ? data_of(bias) : nullptr;
  char* out = data_of(result);
  std::atomic<bool> failed{false};
  {
    Unlocked unlocked(true, images.held, w, bias, result);
    Workspace transformed(plan.kernel_bytes);
    if (!transformed.p) failed = true;
    else {
      const ptrdiff_t panels = (plan.outputs + plan.panel - 1) / plan.panel;
      constexpr ptrdiff_t kSlice = 32;  // channels of a task
      const ptrdiff_t slices = (plan.channels + kSlice - 1) / kSlice;
      parallel(panels * slices, 4, [&](ptrdiff_t begin, ptrdiff_t end) {
        for (ptrdiff_t i = begin; i < end; i++)
          dense.winograd_kernels(dtype, plan, kernels, i / slices, i % slices * kSlice,
                                 std::min(plan.channels, (i % slices + 1) * kSlice), transformed.p);
      });
      parallel(groups, 1, [&](ptrdiff_t begin, ptrdiff_t end) {
        Workspace buffer(dense.winograd_buffer(dtype, plan));
        if (!buffer.p) failed.store(true, std::memory_order_relaxed);
        for (ptrdiff_t i = begin; buffer.p && i < end; i++)
          dense.winograd_convolve(dtype, plan, images.view, transformed.p, bias_data, i * plan.group,
                                  std::min(plan.units, (i + 1) * plan.group), buffer.p, out);
      });
    }
  }
  return failed ? no_memory() : std::move(result);
}

WinogradPlan plan_of(const Geometry& g) {
  WinogradPlan plan{};
  plan.batch = g.batch;
  plan.channels = g.in_channels;
  plan.outputs = g.out_channels;
  plan.tile = the_tile == 4 ? 4 : 2;  // 0, if another thread has just set it, was asked before
  plan.out_h = g.window.out_h;
  plan.out_w = g.window.out_w;
  plan.pad_h = g.window.pad_h;
  plan.pad_w = g.window.pad_w;
  return plan;
}

Nothing set_winograd(Py_ssize_t tile, bool always) {
  if (tile != 0 && tile != 2 && tile != 4) return fail(PyExc_ValueError, "tiles of 2x2 or 4x4 outputs, or 0 for none");
  the_tile = static_cast<int>(tile);
  everywhere = always;
  return none();
}

Int winograd() { return Ref(PyLong_FromLong(the_tile)); }

const KernelRows rows{
    kernel<set_winograd, "set_winograd(tile, everywhere=False): 2, 4, or 0 for none; everywhere: also where it is slower">(),
    kernel<winograd, "winograd(): the tile that was set">(),
};

}  // namespace

// Measured on one thread with AVX-512, against patches and products (bindings/layers/conv.cpp). With fewer than 8 channels or outputs the
// registers of the transforms are half empty, and the first and last layers of networks are slower than direct sums; below 16 tiles
// the transform of the kernels costs more than it saves. In between the plain way is as fast for the smallest images: 16 channels pay
// from 8x8 on, 8 from 16 images of 8x8.
bool winograd_pays(const Geometry& g) {
  const Window& w = g.window;
  if (w.kernel_h != 3 || w.kernel_w != 3 || w.stride_h != 1 || w.stride_w != 1 || w.dilation_h != 1 || w.dilation_w != 1 ||
      g.groups != 1 || the_tile.load(std::memory_order_relaxed) == 0)
    return false;
  const Py_ssize_t fewest = std::min(g.in_channels, g.out_channels);
  const double tiles = static_cast<double>(g.batch) * static_cast<double>((w.out_h + 1) / 2) *
                       static_cast<double>((w.out_w + 1) / 2);
  if (everywhere.load(std::memory_order_relaxed)) return fewest > 0 && tiles > 0 && w.in_h > 0 && w.in_w > 0;
  const double products = tiles * static_cast<double>(g.in_channels) * static_cast<double>(g.out_channels);
  return fewest >= 8 && tiles >= 16 && products >= (fewest < 16 ? 1 << 13 : 1 << 12);
}

Ref winograd_forward(const TensorInfo& x, const TensorInfo& w, const TensorInfo& bias, const Geometry& g) {
  const Images images(x);
  Ref kernels = contiguous(w.tensor);
  Ref start = bias.tensor ? contiguous(bias.tensor) : Ref();
  return convolve(x.dtype, plan_of(g), images, {nullptr, 9 * g.in_channels, 9, false}, kernels, start);
}

Ref winograd_grad_input(const TensorInfo& grad, const TensorInfo& w, const Geometry& g) {
  const Images images(grad);
  Ref kernels = contiguous(w.tensor);
  WinogradPlan plan = plan_of(g);
  std::swap(plan.channels, plan.outputs);
  plan.out_h = g.window.in_h;
  plan.out_w = g.window.in_w;
  plan.pad_h = 2 - g.window.pad_h;
  plan.pad_w = 2 - g.window.pad_w;
  return convolve(grad.dtype, plan, images, {nullptr, 9, 9 * g.in_channels, true}, kernels, Ref());
}

Ref winograd_grad_weight(const TensorInfo& grad, const TensorInfo& x, const Geometry& g) {
  const Images gradients(grad);
  const Images images(x);
  const Py_ssize_t shape[4] = {g.out_channels, g.in_channels, 3, 3};
  Ref result = new_ref(x.dtype, 4, shape, DeviceType::Cpu);
  const DType dtype = x.dtype;
  const DenseKernels& dense = dense_kernels();
  WinogradPlan plan = plan_of(g);
  dense.winograd_sum_plan(dtype, plan);
  char* out = data_of(result);
  std::atomic<bool> failed{false};
  {
    Unlocked unlocked(true, gradients.held, images.held, result);
    const Workspace tiles(plan.tile_bytes), sums(plan.sum_bytes);
    // Calls f(task, buffer) for n tasks.
    const auto run = [&](ptrdiff_t n, const auto& f) {
      parallel(n, 1, [&](ptrdiff_t begin, ptrdiff_t end) {
        const Workspace buffer(dense.winograd_sum_buffer(dtype, plan));
        if (!buffer.p) failed.store(true, std::memory_order_relaxed);
        for (ptrdiff_t i = begin; buffer.p && i < end; i++) f(i, buffer.p);
      });
    };
    if (!tiles.p || !sums.p) failed = true;
    for (ptrdiff_t begin = 0; begin < plan.units && !failed; begin += plan.group) {
      const ptrdiff_t end = std::min(plan.units, begin + plan.group);
      run(plan.blocks, [&](ptrdiff_t block, void* buffer) {
        dense.winograd_sum_tiles(dtype, plan, images.view, gradients.view, begin, end, block, buffer, tiles.p);
      });
      run(plan.products, [&](ptrdiff_t product, void* buffer) {
        dense.winograd_sum_products(dtype, plan, begin, end, tiles.p, product, buffer, sums.p);
      });
    }
    if (!failed)
      parallel(plan.channels, 8,
               [&](ptrdiff_t begin, ptrdiff_t end) { dense.winograd_sum_result(dtype, plan, sums.p, begin, end, out); });
  }
  return failed ? no_memory() : std::move(result);
}

}  // namespace rushlight
