// The patches of images as columns, columns added up at their places, and maxima of windows at random distances.
#include "bindings/kernel.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "kernels/copy.h"

namespace rushlight {
namespace {

// One dimension of an image: where place p of kernel element k is read.
struct Along {
  Py_ssize_t size, kernel, dilation, padding, stride, places;
  Py_ssize_t first(Py_ssize_t k) const { return k * dilation - padding; }
  // The places [low, high) that lie inside.
  void inside(Py_ssize_t k, Py_ssize_t& low, Py_ssize_t& high) const {
    const Py_ssize_t at = first(k), beyond = size - at;
    low = std::min(places, at < 0 ? (-at + stride - 1) / stride : 0);
    high = std::max(low, std::min(places, beyond > 0 ? (beyond + stride - 1) / stride : 0));
  }
};

bool read_along(const Py_ssize_t (&size)[2], const Sizes& kernel, const Sizes& dilation, const Sizes& padding, const Sizes& stride,
                Along (&axes)[2]) {
  if (kernel.n != 2 || dilation.n != 2 || padding.n != 2 || stride.n != 2) return false;
  for (int d = 0; d < 2; d++) {
    Along& a = axes[d];
    a = {size[d], kernel.at[d], dilation.at[d], padding.at[d], stride.at[d], 0};
    if (std::min({a.size, a.kernel, a.dilation, a.stride, a.padding + 1}) < 1) return false;
    if (std::max({a.size, a.kernel, a.dilation, a.stride, a.padding}) > kMostAlong) return false;
    const Py_ssize_t room = a.size + 2 * a.padding - a.dilation * (a.kernel - 1) - 1;
    if (room < 0) return false;
    a.places = room / a.stride + 1;
  }
  return true;
}

// f(offset in the image, offset in the columns, their number, step in the image) for the runs of one image's plane; those outside are
// left out, but for `outside`(offset in the columns, number).
template <class F, class G>
void each_run(const Along (&axes)[2], const F& f, const G& outside) {
  const Along &h = axes[0], &w = axes[1];
  Py_ssize_t at = 0;
  for (Py_ssize_t i = 0; i < h.kernel; i++)
    for (Py_ssize_t j = 0; j < w.kernel; j++) {
      Py_ssize_t top, bottom, left, right;
      h.inside(i, top, bottom);
      w.inside(j, left, right);
      for (Py_ssize_t y = 0; y < h.places; y++, at += w.places) {
        if (y < top || y >= bottom) {
          outside(at, w.places);
          continue;
        }
        outside(at, left);
        f((h.first(i) + y * h.stride) * w.size + w.first(j) + left * w.stride, at + left, right - left, w.stride);
        outside(at + right, w.places - right);
      }
    }
}

Ref im2col(const TensorInfo& x, const Sizes& kernel, const Sizes& dilation, const Sizes& padding, const Sizes& stride) {
  Along axes[2];
  if (!x.is_float_or_half() || x.ndim != 4 || !read_along({x.shape[2], x.shape[3]}, kernel, dilation, padding, stride, axes))
    return {};
  const Py_ssize_t elements = axes[0].kernel * axes[1].kernel, places = axes[0].places * axes[1].places;
  const Py_ssize_t planes = x.shape[0] * x.shape[1], plane = x.shape[2] * x.shape[3];
  if (static_cast<double>(elements) * static_cast<double>(places) * static_cast<double>(planes + 1) > 1e15) return {};
  const Py_ssize_t shape[3] = {x.shape[0], x.shape[1] * elements, places};
  Ref out = new_ref(x.dtype, 3, shape, device_of(x));
  if (!has_memory(out) || !as_tensor(out)->numel()) return out;
  Ref in = contiguous(x.tensor);
  const char* from = data_of(in);
  char* to = data_of(out);
  Unlocked unlocked(as_tensor(out)->nbytes() > kReleaseGilBytes, in, out);
  const auto run = [&]<class T>(const T* image, T* columns) {
    parallel_by(planes, elements * places, [&](ptrdiff_t begin, ptrdiff_t end) {
      for (ptrdiff_t p = begin; p < end; p++) {
        const T* a = image + p * plane;
        T* b = columns + p * elements * places;
        each_run(
            axes,
            [&](Py_ssize_t at, Py_ssize_t column, Py_ssize_t n, Py_ssize_t step) {
              if (step == 1 && n > 16) std::memcpy(b + column, a + at, static_cast<size_t>(n) * sizeof(T));
              else
                for (Py_ssize_t i = 0; i < n; i++) b[column + i] = a[at + i * step];
            },
            [&](Py_ssize_t column, Py_ssize_t n) {
              for (Py_ssize_t i = 0; i < n; i++) b[column + i] = T(0);
            });
      }
    });
  };
  const ptrdiff_t item = item_size(x.dtype);
  if (item == 2) run(reinterpret_cast<const uint16_t*>(from), reinterpret_cast<uint16_t*>(to));
  else by_type(x.dtype, run, from, to);
  return out;
}

Ref col2im(const TensorInfo& x, const Sizes& size, const Sizes& kernel, const Sizes& dilation, const Sizes& padding,
           const Sizes& stride) {
  Along axes[2];
  if (!x.is_float_or_half() || x.ndim != 3 || size.n != 2) return {};
  if (!read_along({size.at[0], size.at[1]}, kernel, dilation, padding, stride, axes)) return {};
  const Py_ssize_t elements = axes[0].kernel * axes[1].kernel, places = axes[0].places * axes[1].places;
  if (x.shape[1] % elements || x.shape[2] != places) return {};
  const Py_ssize_t channels = x.shape[1] / elements, planes = x.shape[0] * channels, plane = size.at[0] * size.at[1];
  const Py_ssize_t shape[4] = {x.shape[0], channels, size.at[0], size.at[1]};
  if (is_meta(x)) return new_ref(x.dtype, 4, shape, DeviceType::Meta);
  const DType wanted = x.dtype, type = computed_in(wanted);
  Ref in = contiguous_as(x.tensor, type), out = zeros_ref(type, 4, shape, DeviceType::Cpu);
  if (!as_tensor(out)->numel()) return rounded(std::move(out), wanted);
  const char* from = data_of(in);
  char* to = data_of(out);
  {
    Unlocked unlocked(as_tensor(in)->nbytes() > kReleaseGilBytes, in, out);
    const auto run = [&]<class T>(const T* columns, T* image) {
      parallel_by(planes, elements * places, [&](ptrdiff_t begin, ptrdiff_t end) {
        for (ptrdiff_t p = begin; p < end; p++) {
          const T* a = columns + p * elements * places;
          T* b = image + p * plane;
          const auto add = [&](Py_ssize_t at, Py_ssize_t column, Py_ssize_t n, Py_ssize_t step) {
            if (step == 1)
              for (Py_ssize_t i = 0; i < n; i++) b[at + i] += a[column + i];
            else
              for (Py_ssize_t i = 0; i < n; i++) b[at + i * step] += a[column + i];
          };
          each_run(axes, add, [](Py_ssize_t, Py_ssize_t) {});
        }
      });
    };
    by_type(type, run, from, to);
  }
  return rounded(std::move(out), wanted);
}

// ---- maxima at random distances (ops/layers/fractional_pooling.py has the definition)

// Where the windows of one dimension begin in each plane, whose random numbers are `pitch` apart; false where one is outside. The
// halves that `own` may be are rounded at each step.
template <class T>
bool window_starts(const T* us, Py_ssize_t pitch, Py_ssize_t planes, Py_ssize_t size, Py_ssize_t count, Py_ssize_t kernel,
                   DType own, std::vector<Py_ssize_t>& starts) {
  T a = count > 1 ? static_cast<T>(static_cast<double>(size - kernel) / static_cast<double>(count - 1)) : T(0);
  std::vector<T> steps(static_cast<size_t>(count)), at(static_cast<size_t>(planes * count));
  for (Py_ssize_t i = 0; i < count; i++) steps[i] = static_cast<T>(i);
  round_to(own, &a, 1), round_to(own, steps.data(), count);
  bool good = true;
  for (Py_ssize_t p = 0; p < planes; p++, us += pitch) {
    good = good && *us >= 0 && *us <= 1;
    for (Py_ssize_t i = 0; i < count; i++) at[p * count + i] = steps[i] + *us;
  }
  if (!good) return false;
  round_to(own, at.data(), planes * count);
  for (T& x : at) x *= a;
  round_to(own, at.data(), planes * count);
  starts.resize(at.size());
  for (Py_ssize_t first = 0; first < planes * count; first += count) {
    for (Py_ssize_t i = first; i < first + count - 1; i++) {
      starts[i] = static_cast<Py_ssize_t>(at[i]) - static_cast<Py_ssize_t>(at[first]);
      good = good && starts[i] >= 0 && starts[i] <= size - kernel;
    }
    starts[first + count - 1] = size - kernel;
  }
  return good;
}

Pair fractional_max_pool(const TensorInfo& x, const TensorInfo& samples, const Shape& kernel, const Shape& count) {
  const int n = kernel.n;
  if (!x.is_float_or_half() || samples.dtype != x.dtype || (n != 2 && n != 3) || count.n != n || x.ndim < n || is_meta(x, samples))
    return {};
  Py_ssize_t shape[kMaxDims], size[3] = {1, 1, 1}, windows[3] = {1, 1, 1}, sides[3] = {1, 1, 1}, planes = 1;
  std::copy_n(x.shape, x.ndim, shape);
  for (int d = 0; d < x.ndim - n; d++) planes *= shape[d];
  for (int d = 0; d < n; d++) {
    const int at = 3 - n + d;
    size[at] = x.shape[x.ndim - n + d], windows[at] = count.at[d], sides[at] = kernel.at[d];
    if (windows[at] < 1 || sides[at] < 1 || sides[at] > size[at]) return {};
    shape[x.ndim - n + d] = windows[at];
  }
  if (samples.size() < planes * n) return {};
  const DType own = x.dtype, type = computed_in(own);
  Ref in = contiguous_as(x.tensor, type), random = contiguous_as(samples.tensor, type);
  Ref out = new_ref(type, x.ndim, shape, DeviceType::Cpu), indices = new_ref(DType::I64, x.ndim, shape, DeviceType::Cpu);
  const char *from = data_of(in), *drawn = data_of(random);
  char* to = data_of(out);
  int64_t* places = data_of<int64_t>(indices);
  bool good = true;
  {
    Unlocked unlocked(as_tensor(in)->nbytes() > kReleaseGilBytes, in, random, out, indices);
    const auto run = [&]<class T>(const T* volume, const T* us, T* best_of) {
      std::vector<Py_ssize_t> starts[3];
      starts[0].assign(static_cast<size_t>(planes), 0);
      for (int d = 3 - n; d < 3; d++)
        good = good && window_starts(us + (n == 2 ? 2 - d : d), n, planes, size[d], windows[d], sides[d], own, starts[d]);
      for (Py_ssize_t p = 0; p < planes && good; p++, volume += size[0] * size[1] * size[2]) {
        const auto of = [&](int d) { return std::span(starts[d]).subspan(p * windows[d], windows[d]); };
        for (Py_ssize_t z : of(0))
          for (Py_ssize_t y : of(1))
            for (Py_ssize_t w : of(2)) {
              Py_ssize_t where = (z * size[1] + y) * size[2] + w;
              T best = volume[where];
              for (Py_ssize_t i = z; i < z + sides[0]; i++)
                for (Py_ssize_t j = y; j < y + sides[1]; j++)
                  for (Py_ssize_t k = w; k < w + sides[2]; k++) {
                    const Py_ssize_t at = (i * size[1] + j) * size[2] + k;
                    const bool wins = (volume[at] > best) | ((volume[at] != volume[at]) & (best == best));
                    best = wins ? volume[at] : best;
                    where = wins ? at : where;
                  }
              *best_of++ = best;
              *places++ = where;
            }
      }
    };
    by_type(type, run, from, drawn, to);
  }
  return good ? tuple_of(rounded(std::move(out), own), indices) : Ref();
}

const KernelRows rows{
    long_kernel<im2col, "im2col(x, kernel, dilation, padding, stride): the patches of images, a column each">(),
    long_kernel<col2im, "col2im(columns, size, kernel, dilation, padding, stride): the sum of patches at their places">(),
    long_kernel<fractional_max_pool, "fractional_max_pool(x, samples, kernel, output_size): (out, indices into the flat volume)">(
        Border::Refuses),
};

}  // namespace

}  // namespace rushlight
