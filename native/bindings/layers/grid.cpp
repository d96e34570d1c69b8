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

// The reads of a place along one dimension: `at` is -1 outside. `slope` is the weight's derivative by the number in the grid.
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

// The reads of some points, dimension by dimension.
template <class T>
struct Block {
  static constexpr Py_ssize_t kMost = 64;
  int count[3] = {1, 1, 1};
  int32_t at[3][4][kMost];
  T weight[3][4][kMost], slope[3][4][kMost];

  Block(const Sampling& s, const T* points, Py_ssize_t n) {
    for (int d = s.n; d < 3; d++) {
      std::fill_n(at[d][0], n, 0);
      std::fill_n(weight[d][0], n, T(1));
      std::fill_n(slope[d][0], n, T(0));
    }
    for (int d = 0; d < s.n; d++) {
      const ImageAxis<T> axis{s.sizes[d], s.corners, s.mode, s.beyond};
      const T* numbers = points + (s.n - 1 - d);
      if (s.mode == Sampled::Bilinear && s.beyond != Beyond::Reflection) bilinear(axis, d, numbers, s.n, n);
      else each(axis, d, numbers, s.n, n);
    }
  }
  void each(const ImageAxis<T>& axis, int d, const T* numbers, Py_ssize_t step, Py_ssize_t n) {
    for (Py_ssize_t p = 0; p < n; p++) {
      Reads<T> r;
      axis.read(numbers[p * step], r);
      count[d] = r.count;
      for (int t = 0; t < r.count; t++) {
        at[d][t][p] = static_cast<int32_t>(r.at[t]);
        weight[d][t][p] = r.weight[t];
        slope[d][t][p] = r.slope[t];
      }
    }
  }
  // As ImageAxis has it, without a branch.
  void bilinear(const ImageAxis<T>& axis, int d, const T* numbers, Py_ssize_t step, Py_ssize_t n) {
    const auto size = static_cast<int32_t>(axis.size);
    const T last = static_cast<T>(size - 1), factor = axis.corners ? last : last + 1, shift = axis.corners ? T(0) : T(1);
    const T rate = factor / 2, lowest = axis.beyond == Beyond::Border ? T(0) : T(-HUGE_VAL),
            highest = lowest < 0 ? T(HUGE_VAL) : last;
    int32_t *low_at = at[d][0], *high_at = at[d][1];
    T *low_weight = weight[d][0], *high_weight = weight[d][1], *low_slope = slope[d][0], *high_slope = slope[d][1];
    const bool border = lowest == 0;
    count[d] = 2;
    for (Py_ssize_t p = 0; p < n; p++) {
      T x = ((numbers[p * step] + 1) * factor - shift) / 2;
      const T own_rate = (x > lowest) & (x < highest) ? rate : T(0);
      const T above = x > lowest ? x : lowest, clamped = above < highest ? above : highest;
      x = border ? clamped : x;
      const T some = x > -2 ? x : T(-2), near = some < last + 2 ? some : last + 2;
      const auto cut = static_cast<int32_t>(near);
      const int32_t low = cut - static_cast<int32_t>(near < static_cast<T>(cut)), high = low + 1;
      const T part = x - (x == near ? static_cast<T>(low) : x);  // far outside: 0, or no number
      low_at[p] = (low >= 0) & (low < size) ? low : -1;
      high_at[p] = (high >= 0) & (high < size) ? high : -1;
      low_weight[p] = 1 - part;
      high_weight[p] = part;
      low_slope[p] = -own_rate;
      high_slope[p] = own_rate;
    }
  }
};

// f(point, pixel or -1, its weight, the weight's derivatives by the numbers of the point) for all pixels that the points read;
// `begin`(point) before those of a point, `end`(point) behind them.
template <class T, class B, class F, class E>
void each_pixel(const Sampling& s, const T* points, Py_ssize_t from, Py_ssize_t to, const B& begin, const F& f, const E& end) {
  const auto depth = static_cast<Py_ssize_t>(s.sizes[2]), width = static_cast<Py_ssize_t>(s.sizes[1]);
  for (Py_ssize_t first = from; first < to; first += Block<T>::kMost) {
    const Py_ssize_t n = std::min(Block<T>::kMost, to - first);
    const Block<T> block(s, points + first * s.n, n);
    for (Py_ssize_t p = 0; p < n; p++) {
      begin(first + p);
      for (int i = 0; i < block.count[0]; i++)
        for (int j = 0; j < block.count[1]; j++)
          for (int k = 0; k < block.count[2]; k++) {
            const T a = block.weight[0][i][p], b = block.weight[1][j][p], c = block.weight[2][k][p];
            const int32_t y = block.at[0][i][p], x = block.at[1][j][p], z = block.at[2][k][p];
            const Py_ssize_t at = (y | x | z) >= 0 ? (y * width + x) * depth + z : -1;
            const T by[3] = {block.slope[0][i][p] * b * c, a * block.slope[1][j][p] * c, a * b * block.slope[2][k][p]};
            f(first + p, at, a * b * c, by);
          }
      end(first + p);
    }
  }
}

bool read_sampling(const TensorInfo& x, const TensorInfo& grid, Py_ssize_t mode, Py_ssize_t beyond, bool corners, Sampling& s) {
  if (!x.is_float() || grid.dtype != x.dtype || (x.ndim != 4 && x.ndim != 5) || grid.ndim != x.ndim) return false;
  if (mode < 0 || mode > 2 || beyond < 0 || beyond > 2 || x.shape[0] != grid.shape[0]) return false;
  s = {x.ndim - 2, x.shape[0], x.shape[1], 1, 1, {1, 1, 1}, corners, static_cast<Sampled>(mode), static_cast<Beyond>(beyond)};
  if (grid.shape[grid.ndim - 1] != s.n) return false;
  for (int d = 0; d < s.n; d++) {
    s.sizes[d] = x.shape[2 + d];
    if (s.sizes[d] > Py_ssize_t{1} << 30) return false;
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
      const Py_ssize_t n = s.channels;
      each_pixel(
          s, points, begin, end, [&](Py_ssize_t p) { std::fill_n(made + p * n, n, T(0)); },
          [&](Py_ssize_t p, Py_ssize_t at, T weight, const T*) {
            T* const sums = made + p * n;
            if (at >= 0) {
              const T* pixel = images_of + (p / s.points * s.pixels + at) * n;
              for (Py_ssize_t c = 0; c < n; c++) sums[c] += pixel[c] * weight;
            } else if (weight - weight != 0) {  // no number times 0
              for (Py_ssize_t c = 0; c < n; c++) sums[c] += weight * 0;
            }
          },
          [](Py_ssize_t) {});
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
        T slopes[3] = {};
        each_pixel(
            s, points, begin * s.points, end * s.points, [&](Py_ssize_t) { std::fill_n(slopes, 3, T(0)); },
            [&](Py_ssize_t p, Py_ssize_t at, T weight, const T* by) {
              if (at < 0) return;
              const Py_ssize_t pixel = (p / s.points * s.pixels + at) * n;
              const T* const of_point = grad + p * n;
              T* const sum = summed + pixel;
              if (x_grad)
                for (Py_ssize_t c = 0; c < n; c++) sum[c] += of_point[c] * weight;
              if (!grid_grad) return;
              const T* const read = images_of + pixel;
              T dots[4] = {};
              Py_ssize_t c = 0;
              for (; c + 4 <= n; c += 4)
                for (int lane = 0; lane < 4; lane++) dots[lane] += of_point[c + lane] * read[c + lane];
              for (; c < n; c++) dots[0] += of_point[c] * read[c];
              const T dot = (dots[0] + dots[1]) + (dots[2] + dots[3]);
              for (int d = 0; d < s.n; d++) slopes[d] += dot * by[d];
            },
            [&](Py_ssize_t p) {
              for (int d = 0; grid_grad && d < s.n; d++) by_grid[p * s.n + s.n - 1 - d] = slopes[d];
            });
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
