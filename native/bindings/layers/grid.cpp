// Images sampled at the places of a grid, and the gradients of both.
//
// The images are turned so that the channels of a pixel are adjacent: what a place reads is worked out once, and each pixel that it
// reads is a run of memory. Modes: 0 bilinear, 1 nearest, 2 bicubic; paddings: 0 zeros, 1 border, 2 reflection.
#include "bindings/kernel.h"

#include <algorithm>
#include <cmath>

namespace rushlight {
namespace {

constexpr Py_ssize_t kGrain = 1 << 13;
enum class Sampled { Bilinear, Nearest, Bicubic };
enum class Beyond { Zeros, Border, Reflection };

// The largest whole number below x, and the nearest one, of two the even one. (The library's functions are calls where the instruction
// set has none.)
template <class T>
T floor_of(T x) {
  if (!(std::abs(x) < T(1e15))) return x;  // whole, or no number
  const T whole = static_cast<T>(static_cast<int64_t>(x));
  return whole - static_cast<T>(whole > x);
}
template <class T>
T nearest_of(T x) {
  const T low = floor_of(x), part = x - low;
  const bool up = (part > T(0.5)) | ((part == T(0.5)) & (floor_of(low / 2) * 2 != low));
  return low + static_cast<T>(up);
}

// What a place reads along one dimension: `at` is -1 outside. `slope` is the weight's derivative by the number in the grid.
template <class T>
struct Reads {
  int count = 1;
  Py_ssize_t at[4] = {};
  T weight[4] = {1}, slope[4] = {};
};

template <class T>
struct ImageAxis {
  Py_ssize_t size;
  bool corners;
  Sampled mode;
  Beyond beyond;

  // Reflected at the borders; the slope changes its sign with each.
  T mirrored(T x, T& slope) const {
    const T low = corners ? T(0) : T(-1), high = static_cast<T>(corners ? 2 * (size - 1) : 2 * size - 1);
    if (high <= low) return slope = 0, T(0);
    const T half = low / 2, span = (high - low) / 2;
    if (x < half) slope = -slope;
    const T away = std::abs(x - half), turns = floor_of(away / span), rest = away - turns * span;
    if (floor_of(turns / 2) * 2 == turns) return rest + half;
    slope = -slope;
    return span - rest + half;
  }
  T clamped(T x, T& slope) const {
    const T last = static_cast<T>(size - 1);
    if (x > 0 && x < last) return x;
    slope = 0;
    return x > 0 ? last : T(0);
  }
  Py_ssize_t place(T x) const { return x >= 0 && x < static_cast<T>(size) ? static_cast<Py_ssize_t>(x) : -1; }
  Py_ssize_t bounded(T x) const {
    T unused = 1;
    if (beyond == Beyond::Reflection) x = nearest_of(mirrored(x, unused));
    return place(beyond == Beyond::Zeros || x != x ? x : clamped(x, unused));
  }

  void read(T number, Reads<T>& r) const {
    const T sizes = static_cast<T>(size);
    T slope = corners ? (sizes - 1) / 2 : sizes / 2;
    T x = corners ? (number + 1) * slope : ((number + 1) * sizes - 1) / 2;
    if (mode != Sampled::Bicubic) {
      if (beyond == Beyond::Reflection) x = mirrored(x, slope);
      if (beyond != Beyond::Zeros) x = clamped(x, slope);
    }
    if (mode == Sampled::Nearest) {
      r.count = 1, r.at[0] = place(nearest_of(x)), r.weight[0] = 1, r.slope[0] = 0;
      return;
    }
    const T low = floor_of(x), part = x - low;
    if (mode == Sampled::Bilinear) {
      r.count = 2;
      r.at[0] = place(low), r.at[1] = place(low + 1);
      r.weight[0] = 1 - part, r.weight[1] = part;
      r.slope[0] = -slope, r.slope[1] = slope;
      return;
    }
    constexpr T a = T(-0.75);
    r.count = 4;
    for (int t = 0; t < 4; t++) {
      const T d = t == 0 ? part + 1 : t == 1 ? part : t == 2 ? 1 - part : 2 - part;
      const bool near = t == 1 || t == 2;
      r.at[t] = bounded(low + static_cast<T>(t - 1));
      r.weight[t] = near ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
      const T by_d = near ? (3 * (a + 2) * d - 2 * (a + 3)) * d : (3 * a * d - 10 * a) * d + 8 * a;
      r.slope[t] = t < 2 ? by_d * slope : -by_d * slope;
    }
  }
};

struct Sampling {
  int n;  // dimensions of an image
  Py_ssize_t batch, channels, pixels, points;
  Py_ssize_t sizes[3];  // of an image
  bool corners;
  Sampled mode;
  Beyond beyond;
};

// f(pixel or -1, its weight, the weight's derivatives by the numbers of the point) for all pixels that a point reads.
template <class T, class F>
void each_pixel(const Sampling& s, const T* point, const F& f) {
  Reads<T> reads[3];
  for (int d = 0; d < s.n; d++) ImageAxis<T>{s.sizes[d], s.corners, s.mode, s.beyond}.read(point[s.n - 1 - d], reads[d]);
  const Py_ssize_t depth = s.n == 3 ? s.sizes[2] : 1;
  for (int i = 0; i < reads[0].count; i++)
    for (int j = 0; j < reads[1].count; j++)
      for (int k = 0; k < reads[2].count; k++) {
        const T a = reads[0].weight[i], b = reads[1].weight[j], c = reads[2].weight[k];
        const bool inside = (reads[0].at[i] | reads[1].at[j] | reads[2].at[k]) >= 0;
        const Py_ssize_t at = inside ? (reads[0].at[i] * s.sizes[1] + reads[1].at[j]) * depth + reads[2].at[k] : -1;
        const T by[3] = {reads[0].slope[i] * b * c, a * reads[1].slope[j] * c, a * b * reads[2].slope[k]};
        f(at, a * b * c, by);
      }
}

bool read_sampling(const TensorInfo& x, const TensorInfo& grid, Py_ssize_t mode, Py_ssize_t beyond, bool corners, Sampling& s) {
  if (!x.is_float() || grid.dtype != x.dtype || (x.ndim != 4 && x.ndim != 5) || grid.ndim != x.ndim) return false;
  if (mode < 0 || mode > 2 || beyond < 0 || beyond > 2 || x.shape[0] != grid.shape[0]) return false;
  s = {x.ndim - 2, x.shape[0], x.shape[1], 1, 1, {1, 1, 1}, corners, static_cast<Sampled>(mode), static_cast<Beyond>(beyond)};
  if (grid.shape[grid.ndim - 1] != s.n) return false;
  for (int d = 0; d < s.n; d++) {
    s.sizes[d] = x.shape[2 + d];
    s.pixels *= s.sizes[d];
    s.points *= grid.shape[1 + d];
  }
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
  const auto item = static_cast<double>(item_size(dtype)), images = static_cast<double>(s.batch * s.channels);
  const Workspace turned(images * static_cast<double>(s.pixels) * item), sampled(images * static_cast<double>(s.points) * item);
  if (!turned.p || !sampled.p) return no_memory();
  const char *from = data_of(xc), *places = data_of(gc);
  char* to = data_of(out);
  Unlocked unlocked(as_tensor(out)->nbytes() > kReleaseGilBytes, xc, gc, out);
  turn(dtype, s.batch, s.channels, s.pixels, from, turned.p);
  const auto run = [&]<class T>(const T* points, const T* images_of, T* made) {
    parallel(s.batch * s.points, kGrain / (s.channels * 4 + 8) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
      for (ptrdiff_t p = begin; p < end; p++) {
        const T* image = images_of + p / s.points * s.pixels * s.channels;
        T* const sums = made + p * s.channels;
        const Py_ssize_t n = s.channels;
        std::fill_n(sums, n, T(0));
        each_pixel(s, points + p * s.n, [&](Py_ssize_t at, T weight, const T*) {
          if (at >= 0) {
            const T* pixel = image + at * n;
            for (Py_ssize_t c = 0; c < n; c++) sums[c] += pixel[c] * weight;
          } else if (weight - weight != 0) {  // no number times 0
            for (Py_ssize_t c = 0; c < n; c++) sums[c] += weight * 0;
          }
        });
      }
    });
  };
  by_type(dtype, run, places, static_cast<const char*>(turned.p), sampled.p);
  turn(dtype, s.batch, s.points, s.channels, sampled.p, to);
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
  const Py_ssize_t n = s.channels;
  const double item = static_cast<double>(item_size(dtype)), images = static_cast<double>(s.batch * n);
  const double pixels = images * static_cast<double>(s.pixels) * item;
  const Workspace turned(needs[1] ? pixels : 0), sums(needs[0] ? pixels : 0), grads(images * static_cast<double>(s.points) * item);
  if (!turned.p || !sums.p || !grads.p) return no_memory();
  const char *from = data_of(xc), *places = data_of(gc), *given = data_of(oc);
  char* const x_grad = to_x ? data_of(to_x) : nullptr;
  char* const grid_grad = to_grid ? data_of(to_grid) : nullptr;
  {
    Unlocked unlocked(as_tensor(oc)->nbytes() > kReleaseGilBytes, xc, gc, oc, to_x, to_grid);
    turn(dtype, s.batch, n, s.points, given, grads.p);
    if (grid_grad) turn(dtype, s.batch, n, s.pixels, from, turned.p);
    if (x_grad) std::fill_n(sums.p, static_cast<size_t>(pixels), 0);
    const auto run = [&]<class T>(const T* points, const T* images_of, const T* grad, T* summed, T* by_grid) {
      parallel(s.batch, kGrain / (s.points * (n + 1) + 1) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
        for (ptrdiff_t p = begin * s.points; p < end * s.points; p++) {
          const ptrdiff_t image = p / s.points * s.pixels * n;
          const T* const of_point = grad + p * n;
          T slopes[3] = {};
          each_pixel(s, points + p * s.n, [&](Py_ssize_t at, T weight, const T* by) {
            if (at < 0) return;
            T* const sum = summed + image + at * n;
            if (x_grad)
              for (Py_ssize_t c = 0; c < n; c++) sum[c] += of_point[c] * weight;
            if (!grid_grad) return;
            const T* const pixel = images_of + image + at * n;
            T dots[4] = {};
            Py_ssize_t c = 0;
            for (; c + 4 <= n; c += 4)
              for (int lane = 0; lane < 4; lane++) dots[lane] += of_point[c + lane] * pixel[c + lane];
            for (; c < n; c++) dots[0] += of_point[c] * pixel[c];
            const T dot = (dots[0] + dots[1]) + (dots[2] + dots[3]);
            for (int d = 0; d < s.n; d++) slopes[d] += dot * by[d];
          });
          if (grid_grad)
            for (int d = 0; d < s.n; d++) by_grid[p * s.n + s.n - 1 - d] = slopes[d];
        }
      });
    };
    by_type(dtype, run, places, static_cast<const char*>(turned.p), static_cast<const char*>(grads.p), sums.p, grid_grad);
    if (x_grad) turn(dtype, s.batch, s.pixels, n, sums.p, x_grad);
  }
  return gradients_of({&to_x, &to_grid});
}

const KernelRows rows{
    long_kernel<grid_sample, "grid_sample(x, grid, mode, padding, align_corners)">(),
    long_kernel<grid_sample_backward, "grid_sample_backward(g, x, grid, mode, padding, align_corners, needs)">(),
};

}  // namespace

}  // namespace rushlight
