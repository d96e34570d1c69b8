// Batch and group normalisation, and their gradients.
//
// An image's channels are planes (row-major), or columns (channels last, or no dimensions behind them). Work is cut into parts whose
// number depends on the sizes alone, and the parts' statistics are merged in order, so that threads change nothing.
// Planes: a task is a channel that fits into L2, which comes from memory once; else an image's part
// of a channel. Statistics are in double, rounded once in scale and shift.
#include "bindings/kernel.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

namespace rushlight {
namespace {

constexpr Py_ssize_t kChannelBytes = 1 << 19;  // of a channel that stays in L2 from one pass to the next
constexpr Py_ssize_t kPartRows = 512, kParts = 32;  // channels last: rows of a part at least, parts at most

Py_ssize_t grain(Py_ssize_t elements) { return kThreadElements / (elements + 1) + 1; }

// (n, channels, inner), contiguous; or, where `columns`, (rows, channels).
struct Channels {
  Py_ssize_t n = 1, channels = 1, inner = 1;
  bool columns = false;
  Py_ssize_t rows() const { return n * inner; }  // elements of a channel
  Py_ssize_t size() const { return rows() * channels; }
  ptrdiff_t plane(Py_ssize_t image, Py_ssize_t channel) const { return (image * channels + channel) * inner; }
  // Whether a channel is one task.
  bool whole(ptrdiff_t item) const { return rows() * item <= kChannelBytes && channels >= 4; }
  // The part-th of the rows of columns.
  Py_ssize_t parts() const {
    return std::clamp<Py_ssize_t>(rows() * channels / kThreadElements, 1, std::clamp<Py_ssize_t>(rows() / kPartRows, 1, kParts));
  }
  Py_ssize_t first_row(Py_ssize_t part) const { return part * rows() / parts(); }
};
Channels channels_of(const TensorInfo& x) {
  Channels c;
  c.n = x.shape[0];
  c.channels = x.shape[1];
  for (int i = 2; i < x.ndim; i++) c.inner *= x.shape[i];
  c.columns = c.inner == 1 || (is_channels_last(x.tensor) && !x.tensor->is_contiguous());
  return c;
}
// The tensor itself, or its values, where the elements lie as those of x do.
Ref laid_as(const TensorInfo& g, const Channels& c, const TensorInfo& x) {
  if (!c.columns || c.inner == 1) return contiguous(g.tensor);
  if (is_channels_last(g.tensor) && g.tensor->is_aligned()) return Ref::borrow(as_object(g.tensor));
  Py_ssize_t strides[kMaxDims];
  channels_last_strides(x.ndim, x.shape, item_size(g.dtype), strides);
  Ref copy = owned(new_strided(g.dtype, x.ndim, x.shape, strides, g.tensor->device()));
  copy_values(copy, g.tensor);
  return copy;
}
Ref new_laid_as(const TensorInfo& x, const Channels& c) {
  if (!c.columns || c.inner == 1) return new_ref(x.dtype, x.ndim, x.shape, DeviceType::Cpu);
  Py_ssize_t strides[kMaxDims];
  channels_last_strides(x.ndim, x.shape, item_size(x.dtype), strides);
  return owned(new_strided(x.dtype, x.ndim, x.shape, strides, DeviceType::Cpu));
}

// n values as double, or none: of None. False with or without an exception (then: no kernel).
struct Values {
  std::unique_ptr<double[]> data;
  bool read(const TensorInfo& a, Py_ssize_t n) {
    if (!a.tensor) return true;
    if (!a.is_float_or_half() || a.size() != n || is_meta(a)) return false;
    Ref held = contiguous_as(a.tensor, computed_in(a.dtype));
    data.reset(new double[static_cast<size_t>(n)]);
    if (a.dtype == DType::F64) std::copy_n(data_of<double>(held), n, data.get());
    else std::copy_n(data_of<float>(held), n, data.get());
    return true;
  }
  explicit operator bool() const { return data != nullptr; }
  double at(Py_ssize_t i, double otherwise) const { return data ? data[i] : otherwise; }
};

// A vector of the compute type, made of doubles.
Ref vector_of(DType type, const double* values, Py_ssize_t n) {
  Ref made = new_ref(type, 1, &n, DeviceType::Cpu);
  if (type == DType::F64) std::copy_n(values, n, data_of<double>(made));
  else std::transform(values, values + n, data_of<float>(made), [](double v) { return static_cast<float>(v); });
  return made;
}

// The same values as the kernels of columns take them: kMost vectors of the compute type.
struct Factors {
  Factors(DType type, Py_ssize_t n, int count) : type(type), n(n), memory(static_cast<size_t>(n * count * item_size(type))) {}
  void set(int which, Py_ssize_t i, double value) {
    if (type == DType::F64) reinterpret_cast<double*>(memory.data())[which * n + i] = value;
    else reinterpret_cast<float*>(memory.data())[which * n + i] = static_cast<float>(value);
  }
  const void* of(int which) const { return memory.data() + which * n * item_size(type); }
  DType type;
  Py_ssize_t n;
  std::vector<char> memory;
};

// --- statistics of channels

using Statistics = std::vector<Moments>;

// Of columns, whose parts are merged in order.
void column_statistics(DType type, const char* x, const Channels& c, Statistics& all) {
  const Py_ssize_t parts = c.parts();
  std::vector<double> of(static_cast<size_t>(parts * 2 * c.channels));
  const ptrdiff_t row_bytes = c.channels * item_size(type);
  parallel(parts, grain(c.size() / parts), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t part = begin; part < end; part++) {
      double* means = of.data() + part * 2 * c.channels;
      dense_kernels().column_moments(type, x + c.first_row(part) * row_bytes, c.first_row(part + 1) - c.first_row(part), c.channels,
                                     means, means + c.channels);
    }
  });
  for (Py_ssize_t part = 0; part < parts; part++)
    for (Py_ssize_t i = 0; i < c.channels; i++) {
      const double* means = of.data() + part * 2 * c.channels;
      dense_kernels().merge_moments(
          {static_cast<double>(c.first_row(part + 1) - c.first_row(part)), means[i], means[c.channels + i]}, &all[i]);
    }
}

// Of planes that are not one task a channel.
void plane_statistics(DType type, const char* x, const Channels& c, Statistics& all) {
  Statistics each(static_cast<size_t>(c.n * c.channels));
  parallel(c.n * c.channels, grain(c.inner), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t i = begin; i < end; i++)
      dense_kernels().plane_moments(type, x + i * c.inner * item_size(type), {1, c.inner, c.inner}, &each[i]);
  });
  for (Py_ssize_t i = 0; i < c.n * c.channels; i++) dense_kernels().merge_moments(each[i], &all[i % c.channels]);
}

// Calls f(first plane, rows, channel) for the planes of channels: all of one at a time, or each alone.
template <class F>
void each_plane(const Channels& c, ptrdiff_t item, const F& f) {
  if (c.whole(item))
    parallel(c.channels, grain(c.rows()), [&](ptrdiff_t begin, ptrdiff_t end) {
      for (ptrdiff_t i = begin; i < end; i++) f(i * c.inner * item, PlaneRows{c.n, c.channels * c.inner, c.inner}, i);
    });
  else
    parallel(c.n * c.channels, grain(c.inner), [&](ptrdiff_t begin, ptrdiff_t end) {
      for (ptrdiff_t i = begin; i < end; i++) f(i * c.inner * item, PlaneRows{1, c.inner, c.inner}, i % c.channels);
    });
}

// Calls f(offset of its first element in bytes, rows) for blocks of the rows of columns.
template <class F>
void each_row_block(const Channels& c, ptrdiff_t item, const F& f) {
  parallel(c.rows(), grain(c.channels), [&](ptrdiff_t begin, ptrdiff_t end) { f(begin * c.channels * item, end - begin); });
}

// running += (value - running) * momentum
void move(const TensorInfo& a, const Statistics& all, double momentum, bool variance) {
  if (!a.tensor) return;
  const Py_ssize_t n = static_cast<Py_ssize_t>(all.size());
  Values old;
  if (!old.read(a, n)) return;
  for (Py_ssize_t i = 0; i < n; i++) {
    const Moments& m = all[i];
    const double value = variance ? m.squares / std::max(m.count - 1, 1.0) : m.mean;
    old.data[i] += (value - old.data[i]) * momentum;
  }
  const Ref moved = vector_of(computed_in(a.dtype), old.data.get(), n);
  if (copy_into(a.tensor, as_tensor(moved)) < 0) raised();
}

// Whether these running statistics can be moved here: nobody else's memory is needed for it.
bool is_movable(const TensorInfo& a, Py_ssize_t n) {
  return !a.tensor || (a.is_float_or_half() && a.ndim == 1 && a.shape[0] == n && a.tensor->is_writeable() &&
                       a.tensor->is_aligned() && !is_meta(a));
}

// (y, mean, rstd); moves the running statistics.
Triple batch_norm(const TensorInfo& x, const TensorOrNone& weights, const TensorOrNone& biases, const TensorOrNone& running_mean,
                  const TensorOrNone& running_var, bool training, std::optional<double> momentum, double eps) {
  if (!x.is_float_or_half() || x.ndim < 2 || is_meta(x)) return {};
  const bool moves = training && momentum;
  const Channels c = channels_of(x);
  if (moves && (!is_movable(running_mean, c.channels) || !is_movable(running_var, c.channels))) return {};
  Values weight, bias, means, variances;
  if (!weight.read(weights, c.channels) || !bias.read(biases, c.channels)) return {};
  if (!training && (!means.read(running_mean, c.channels) || !variances.read(running_var, c.channels) || !means || !variances))
    return {};
  const DType dtype = x.dtype, type = computed_in(dtype);
  const ptrdiff_t item = item_size(dtype);
  Ref in = laid_as(x, c, x), out = new_laid_as(x, c);
  const char* from = data_of(in);
  char* to = data_of(out);
  Statistics all(static_cast<size_t>(c.channels));
  std::vector<double> mean(all.size()), rstd(all.size());
  {
    Unlocked unlocked(c.size() * item > kReleaseGilBytes, in, out);
    if (training && c.columns) column_statistics(dtype, from, c, all);
    else if (training && !c.whole(item)) plane_statistics(dtype, from, c, all);
    const auto finish = [&](Py_ssize_t i) {
      mean[i] = training ? all[i].mean : means.data[i];
      const double variance = training ? all[i].squares / std::max(all[i].count, 1.0) : variances.data[i];
      rstd[i] = 1 / std::sqrt(variance + eps);
    };
    const auto scale = [&](Py_ssize_t i) { return rstd[i] * weight.at(i, 1); };
    const auto shift = [&](Py_ssize_t i) { return bias.at(i, 0) - mean[i] * scale(i); };
    const bool together = !c.columns && c.whole(item);
    for (Py_ssize_t i = 0; !together && i < c.channels; i++) finish(i);
    if (c.columns) {
      Factors factors(type, c.channels, 2);
      for (Py_ssize_t i = 0; i < c.channels; i++) {
        factors.set(0, i, scale(i));
        factors.set(1, i, shift(i));
      }
      each_row_block(c, item, [&](ptrdiff_t at, Py_ssize_t rows) {
        dense_kernels().column_affine(dtype, from + at, rows, c.channels, factors.of(0), factors.of(1), to + at);
      });
    } else {
      each_plane(c, item, [&](ptrdiff_t at, const PlaneRows& rows, Py_ssize_t i) {
        if (together && training) dense_kernels().plane_moments(dtype, from + at, rows, &all[i]);
        if (together) finish(i);
        dense_kernels().plane_affine(dtype, from + at, rows, scale(i), shift(i), to + at);
      });
    }
  }
  if (moves && c.rows() > 0) move(running_mean, all, *momentum, false), move(running_var, all, *momentum, true);
  return tuple_of(out, vector_of(type, mean.data(), c.channels), vector_of(type, rstd.data(), c.channels));
}

// Whether x can be normalised here, and g is its gradient.
bool fits(const TensorInfo& g, const TensorInfo& x) {
  return x.is_float_or_half() && g.dtype == x.dtype && x.ndim >= 2 && !is_meta(x, g) && same_shape(g.tensor, x.tensor);
}

// The gradients of x, weight and bias, None where not needed.
Gradients batch_norm_backward(const TensorInfo& g, const TensorInfo& x, const TensorOrNone& weights, const TensorInfo& means,
                              const TensorInfo& rstds, bool training, const Needs<3>& need) {
  if (!fits(g, x)) return {};
  const Channels c = channels_of(x);
  Values weight, mean, rstd;
  if (!weight.read(weights, c.channels) || !mean.read(means, c.channels) || !rstd.read(rstds, c.channels)) return {};
  const DType dtype = x.dtype, type = computed_in(dtype);
  const ptrdiff_t item = item_size(dtype);
  Ref gx, xc = laid_as(x, c, x), gc = laid_as(g, c, x);
  if (need[0]) gx = new_laid_as(x, c);
  const char* gp = data_of(gc);
  const char* xp = data_of(xc);
  char* out = gx ? data_of(gx) : nullptr;
  const bool sums_needed = training || need[1] || need[2];
  std::vector<double> sums(static_cast<size_t>(2 * c.channels));  // of g and of g * (x - mean)
  {
    Unlocked unlocked(c.size() * item > kReleaseGilBytes, gc, xc, gx);
    const double many = static_cast<double>(std::max<Py_ssize_t>(c.rows(), 1));
    const auto scale = [&](Py_ssize_t i) { return rstd.data[i] * weight.at(i, 1); };
    const auto slope = [&](Py_ssize_t i) { return training ? scale(i) * sums[2 * i + 1] * rstd.data[i] * rstd.data[i] / many : 0; };
    const auto shift = [&](Py_ssize_t i) { return training ? scale(i) * sums[2 * i] / many : 0; };
    if (c.columns) {
      if (sums_needed) {
        Factors factors(type, c.channels, 1);
        for (Py_ssize_t i = 0; i < c.channels; i++) factors.set(0, i, mean.data[i]);
        const Py_ssize_t parts = c.parts();
        std::vector<double> each(static_cast<size_t>(parts * 2 * c.channels));
        parallel(parts, grain(c.size() / parts), [&](ptrdiff_t begin, ptrdiff_t end) {
          for (ptrdiff_t part = begin; part < end; part++) {
            const ptrdiff_t at = c.first_row(part) * c.channels * item;
            dense_kernels().column_products(dtype, gp + at, xp + at, c.first_row(part + 1) - c.first_row(part), c.channels,
                                            factors.of(0), each.data() + part * 2 * c.channels);
          }
        });
        for (size_t i = 0; i < each.size(); i++) sums[i % sums.size()] += each[i];
      }
      if (out) {
        Factors factors(type, c.channels, 4);
        for (Py_ssize_t i = 0; i < c.channels; i++) {
          factors.set(0, i, mean.data[i]);
          factors.set(1, i, scale(i));
          factors.set(2, i, slope(i));
          factors.set(3, i, shift(i));
        }
        each_row_block(c, item, [&](ptrdiff_t at, Py_ssize_t rows) {
          dense_kernels().column_gradient(dtype, gp + at, xp + at, rows, c.channels,
                                          {factors.of(0), factors.of(1), factors.of(2), factors.of(3)}, out + at);
        });
      }
    } else {
      const bool together = c.whole(item);
      if (sums_needed && !together) {
        std::vector<double> each(static_cast<size_t>(2 * c.n * c.channels));
        parallel(c.n * c.channels, grain(c.inner), [&](ptrdiff_t begin, ptrdiff_t end) {
          for (ptrdiff_t i = begin; i < end; i++)
            dense_kernels().plane_products(dtype, gp + i * c.inner * item, xp + i * c.inner * item, {1, c.inner, c.inner},
                                           mean.data[i % c.channels], &each[2 * i]);
        });
        for (size_t i = 0; i < each.size(); i++) sums[i % sums.size()] += each[i];
      }
      if (together || out)
        each_plane(c, item, [&](ptrdiff_t at, const PlaneRows& rows, Py_ssize_t i) {
          if (together && sums_needed) dense_kernels().plane_products(dtype, gp + at, xp + at, rows, mean.data[i], &sums[2 * i]);
          if (out)
            dense_kernels().plane_gradient(dtype, gp + at, xp + at, rows, mean.data[i], scale(i), slope(i), shift(i), out + at);
        });
    }
  }
  Ref gw, gb;
  std::vector<double> values(static_cast<size_t>(c.channels));
  if (need[1]) {
    for (Py_ssize_t i = 0; i < c.channels; i++) values[i] = sums[2 * i + 1] * rstd.data[i];
    gw = vector_of(type, values.data(), c.channels);
  }
  if (need[2]) {
    for (Py_ssize_t i = 0; i < c.channels; i++) values[i] = sums[2 * i];
    gb = vector_of(type, values.data(), c.channels);
  }
  return gradients_of({&gx, &gw, &gb});
}

// --- group norm: the statistics of each group of channels of each image

constexpr Py_ssize_t kShortBlock = 256;
constexpr Py_ssize_t kFew = 16;  // elements of a group: such groups are normalised as rows are

// y = y * scale + shift of channels.
template <class T>
void scale_channels(T* y, const Channels& c, const Values& scale, const Values& shift) {
  for (Py_ssize_t plane = 0; plane < c.n * c.channels; plane++, y += c.inner) {
    const T by = static_cast<T>(scale.at(plane % c.channels, 1)), more = static_cast<T>(shift.at(plane % c.channels, 0));
    for (Py_ssize_t i = 0; i < c.inner; i++) y[i] = y[i] * by + more;
  }
}

// (y, means, rstds), the two of (n, groups)

Triple group_norm(const TensorInfo& x, Py_ssize_t groups, const TensorOrNone& weights, const TensorOrNone& biases, double eps) {
  if (!x.is_float_or_half() || x.ndim < 2 || is_meta(x)) return {};
  const Channels c = channels_of(x);
  Values weight, bias;
  if (groups <= 0 || c.channels % groups || c.size() == 0 || !weight.read(weights, c.channels) || !bias.read(biases, c.channels))
    return {};
  const Py_ssize_t few = c.channels / groups, statistics[2] = {c.n, groups};
  // Halves are widened block by block, all at once where blocks are short.
  const DType own = x.dtype, dtype = few * c.inner < kShortBlock ? computed_in(own) : own;
  const ptrdiff_t item = item_size(dtype);
  Ref in = contiguous_as(x.tensor, dtype), out = new_ref(dtype, as_tensor(in)->ndim(), as_tensor(in)->sizes(), DeviceType::Cpu);
  const bool plain = !weights.tensor && !biases.tensor, short_rows = few * c.inner <= kFew;
  const DType kept = short_rows ? dtype : DType::F64;
  Ref mean = new_ref(kept, 2, statistics, DeviceType::Cpu);
  Ref rstd = new_ref(kept, 2, statistics, DeviceType::Cpu);
  const char* from = data_of(in);
  char *to = data_of(out), *mp = data_of(mean), *sp = data_of(rstd);
  if (short_rows) {
    Unlocked unlocked(c.size() * item > kReleaseGilBytes, in, out, mean, rstd);
    const ptrdiff_t row = few * c.inner * item;
    parallel(c.n * groups, grain(few * c.inner), [&](ptrdiff_t begin, ptrdiff_t end) {
      dense_kernels().layer_norm(dtype, from + begin * row, end - begin, few * c.inner, nullptr, nullptr, eps, false,
                                 to + begin * row, mp + begin * item, sp + begin * item);
    });
    if (!plain) by_type(dtype, [&](auto* y) { scale_channels(y, c, weight, bias); }, to);
  } else {
    Unlocked unlocked(c.size() * item > kReleaseGilBytes, in, out, mean, rstd);
    double *means = reinterpret_cast<double*>(mp), *rstds = reinterpret_cast<double*>(sp);
    parallel(c.n * groups, grain(few * c.inner), [&](ptrdiff_t begin, ptrdiff_t end) {
      for (ptrdiff_t i = begin; i < end; i++) {
        const ptrdiff_t n = few * c.inner, at = i * n * item, first = i % groups * few;
        Moments m{};
        dense_kernels().plane_moments(dtype, from + at, {1, n, n}, &m);
        means[i] = m.mean;
        rstds[i] = 1 / std::sqrt(m.squares / m.count + eps);
        if (plain) {
          dense_kernels().plane_affine(dtype, from + at, {1, n, n}, rstds[i], -m.mean * rstds[i], to + at);
          continue;
        }
        for (Py_ssize_t k = 0; k < few; k++) {
          const double scale = rstds[i] * weight.at(first + k, 1);
          dense_kernels().plane_affine(dtype, from + at + k * c.inner * item, {1, c.inner, c.inner}, scale,
                                       bias.at(first + k, 0) - m.mean * scale, to + at + k * c.inner * item);
        }
      }
    });
  }
  return tuple_of(rounded(std::move(out), own), rounded(std::move(mean), own), rounded(std::move(rstd), own));
}

// Of groups of few elements, in F32 or F64, with their statistics: the gradient of x, and the sums of g and of g * (x - mean).
Ref short_group_norm_backward(const Ref& g, const Ref& x, const Channels& c, Py_ssize_t groups, const Ref& mean, const Ref& rstd,
                              const Values& weight, bool wants_x, bool wants_sums, double* sums) {
  const DType type = as_tensor(x)->dtype;
  const Py_ssize_t few = c.channels / groups;
  const ptrdiff_t item = item_size(type), row = few * c.inner * item;
  Ref weighted, out;
  if (wants_x) out = new_ref(type, as_tensor(x)->ndim(), as_tensor(x)->sizes(), DeviceType::Cpu);
  if (wants_x && weight) weighted = owned(contiguous_copy(as_tensor(g)));
  const char *gp = data_of(g), *xp = data_of(x), *mp = data_of(mean), *rp = data_of(rstd);
  char *u = weighted ? data_of(weighted) : data_of(g), *to = out ? data_of(out) : nullptr;
  Unlocked unlocked(c.size() * item > kReleaseGilBytes, g, x, mean, rstd, weighted, out);
  if (weighted) by_type(type, [&](auto* v) { scale_channels(v, c, weight, Values()); }, u);
  if (wants_x)
    parallel(c.n * groups, grain(few * c.inner), [&](ptrdiff_t begin, ptrdiff_t end) {
      dense_kernels().layer_norm_backward(type, u + begin * row, xp + begin * row, mp + begin * item, rp + begin * item, nullptr,
                                          end - begin, few * c.inner, to + begin * row, nullptr, nullptr);
    });
  const auto add = [&](const auto* gs, const auto* xs, const auto* means) {
    for (Py_ssize_t plane = 0; plane < c.n * c.channels; plane++, gs += c.inner, xs += c.inner)
      for (Py_ssize_t i = 0; i < c.inner; i++) {
        sums[2 * plane] += gs[i];
        sums[2 * plane + 1] += gs[i] * (xs[i] - means[plane / few]);
      }
  };
  if (wants_sums) by_type(type, add, gp, xp, mp);
  return out;
}

// The gradients of x, weight and bias. Of the three results only the first may have been used. The statistics of halves were rounded
// to halves, and are taken again.
Gradients group_norm_backward(const TensorInfo& g, OnlyNone, OnlyNone, const TensorInfo& x, Py_ssize_t groups,
                              const TensorInfo& means, const TensorInfo& rstds, const TensorOrNone& weights, double eps,
                              const Needs<3>& need) {
  if (!fits(g, x)) return {};
  const Channels c = channels_of(x);
  if (groups <= 0 || c.channels % groups || c.size() == 0) return {};
  Values weight, mean, rstd;
  if (!mean.read(means, c.n * groups) || !rstd.read(rstds, c.n * groups) || !weight.read(weights, c.channels)) return {};
  const bool short_rows = c.channels / groups * c.inner <= kFew;
  // Halves are widened block by block, all at once where blocks are short.
  const DType own = x.dtype, type = computed_in(own), dtype = c.inner < kShortBlock ? type : own;
  const ptrdiff_t item = item_size(dtype);
  const Py_ssize_t few = c.channels / groups;
  Ref gx, xc = contiguous_as(x.tensor, dtype), gc = contiguous_as(g.tensor, dtype);
  std::vector<double> sums(static_cast<size_t>(2 * c.n * c.channels));
  if (short_rows) {
    const Ref again = is_half(own) ? group_norm(info_of(xc), groups, {}, {}, eps)
                                   : tuple_of(xc, contiguous_as(means.tensor, type), contiguous_as(rstds.tensor, type));
    const Ref m = Ref::borrow(as_object(item_of(again, 1))), r = Ref::borrow(as_object(item_of(again, 2)));
    if (is_half(own)) mean.read(info_of(m), c.n * groups), rstd.read(info_of(r), c.n * groups);
    gx = short_group_norm_backward(gc, xc, c, groups, m, r, weight, need[0], need[1] || need[2], sums.data());
  } else {
    if (need[0]) gx = new_ref(dtype, as_tensor(gc)->ndim(), as_tensor(gc)->sizes(), DeviceType::Cpu);
    const char* gp = data_of(gc);
    const char* xp = data_of(xc);
    char* out = gx ? data_of(gx) : nullptr;
    Unlocked unlocked(c.size() * item > kReleaseGilBytes, gc, xc, gx);
    parallel(c.n * groups, grain(few * c.inner), [&](ptrdiff_t begin, ptrdiff_t end) {
      for (ptrdiff_t i = begin; i < end; i++) {
        const Py_ssize_t n = few * c.inner;
        const double many = static_cast<double>(n);
        if (is_half(own)) {
          Moments m{};
          dense_kernels().plane_moments(dtype, xp + i * n * item, {1, n, n}, &m);
          mean.data[i] = m.mean;
          rstd.data[i] = 1 / std::sqrt(m.squares / m.count + eps);
        }
        const double r = rstd.data[i];
        double total = 0, along = 0;
        for (Py_ssize_t k = 0; k < few; k++) {
          const ptrdiff_t plane = i * few + k, at = plane * c.inner * item;
          const double w = weight.at(i % groups * few + k, 1);
          dense_kernels().plane_products(dtype, gp + at, xp + at, {1, c.inner, c.inner}, mean.data[i], &sums[2 * plane]);
          total += w * sums[2 * plane];
          along += w * sums[2 * plane + 1];
        }
        for (Py_ssize_t k = 0; out && k < few; k++) {
          const ptrdiff_t at = (i * few + k) * c.inner * item;
          dense_kernels().plane_gradient(dtype, gp + at, xp + at, {1, c.inner, c.inner}, mean.data[i],
                                         r * weight.at(i % groups * few + k, 1), r * r * r * along / many, r * total / many,
                                         out + at);
        }
      }
    });
  }
  Ref gw, gb;
  std::vector<double> values(static_cast<size_t>(c.channels));
  for (int which = 1; which <= 2; which++) {
    if (!need[which]) continue;
    std::fill(values.begin(), values.end(), 0.0);
    for (Py_ssize_t plane = 0; plane < c.n * c.channels; plane++)
      values[plane % c.channels] += which == 1 ? sums[2 * plane + 1] * rstd.data[plane / few] : sums[2 * plane];
    (which == 1 ? gw : gb) = vector_of(type, values.data(), c.channels);
  }
  if (gx) gx = rounded(std::move(gx), own);
  return gradients_of({&gx, &gw, &gb});
}

const KernelRows rows{
    long_kernel<batch_norm,
                "batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps): (y, mean, rstd); writes the "
                "running ones">(),
    long_kernel<batch_norm_backward, "batch_norm_backward(g, x, weight, mean, rstd, training, needs)">(),
    long_kernel<group_norm, "group_norm(x, groups, weight, bias, eps): (y, means, rstds)">(),
    long_kernel<group_norm_backward, "group_norm_backward(g, g1, g2, x, groups, means, rstds, weight, eps, needs)">(),
};

}  // namespace

}  // namespace rushlight
