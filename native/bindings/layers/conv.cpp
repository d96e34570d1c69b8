// Convolutions of one to three dimensions and their two gradients.
//
// All three read patches: what a place of the result sees of the image. No matrix of patches is made. Images are laid out
// once, padded, in planes in which every position of the kernel sees adjacent elements (isa/layers/planes.cpp); an offset for each
// element of the patch then says where it is. With them
//
//   the result              is a product of the weights with patches (isa/layers/conv_product.cpp); of groups with few channels a
//                           sum in registers (isa/layers/conv_direct.cpp)
//   the input's gradient    is such a product too, of patches of the gradient. With a stride s each of the s residues of the
//                           input's positions sees kernel positions of its own, a product each, and nothing is added up twice
//   the weight's gradient   is a product over places (isa/layers/conv_weight.cpp), or dot products
//
// With a kernel of one place, images of which the channels are adjacent are a matrix of channels, a row for each place, and all
// three are products of matrices.
//
// Images and groups are the tasks of the thread pool; where there are few, channels and blocks of places are. Halves are
// computed in float32 and rounded once. Integers, of int64 modulo 2^64, have a matrix of patches made.
#include "bindings/layers/conv.h"

#include "bindings/layers/conv_products.h"
#include "bindings/layers/winograd.h"
#include "kernels/gemm.h"

namespace rushlight {
namespace {

using conv::Correlation;
using conv::kParallelWork;
using conv::Phase;
using conv::Planes;
using conv::WeightGradient;

// ---- arguments

// Of a call: how a kernel goes over images. Each has a number for every dimension, or one for all.
struct Steps {
  PyObject *stride, *padding, *dilation;
  Py_ssize_t groups;
};

// Shapes: x (batch, channels, sizes...), w (out, channels / groups, sizes...).
bool read_geometry(int dims, const Py_ssize_t* x, const Py_ssize_t* w, const Steps& steps, Geometry& g) {
  const int skip = 3 - dims;
  if (!ints_argument(steps.stride, "stride", dims, g.stride + skip) ||
      !ints_argument(steps.padding, "padding", dims, g.pad + skip) ||
      !ints_argument(steps.dilation, "dilation", dims, g.dilation + skip))
    return false;
  g.groups = steps.groups;
  g.dims = dims;
  for (int i = 0; i < skip; i++) g.in[i] = g.out[i] = g.kernel[i] = g.stride[i] = g.dilation[i] = 1, g.pad[i] = 0;
  if (g.groups <= 0) return fail(PyExc_RuntimeError, "non-positive groups is not supported");
  for (int i = skip; i < 3; i++) {
    g.in[i] = x[2 + i - skip];
    g.kernel[i] = w[2 + i - skip];
    if (g.stride[i] <= 0) return fail(PyExc_RuntimeError, "non-positive stride is not supported");
    if (g.pad[i] < 0) return fail(PyExc_RuntimeError, "negative padding is not supported");
    if (g.dilation[i] <= 0) return fail(PyExc_RuntimeError, "dilation should be greater than zero");
    if (g.kernel[i] <= 0) return fail(PyExc_RuntimeError, "the kernel has no elements");
    // A stride past the end is as any other.
    if (g.stride[i] > kMostAlong && g.pad[i] <= kMostAlong) g.stride[i] = std::max<Py_ssize_t>(g.in[i] + 2 * g.pad[i], 1);
    if (g.in[i] > kMostAlong || g.pad[i] > kMostAlong || g.dilation[i] > kMostAlong || g.stride[i] > kMostAlong ||
        g.kernel[i] > kMostAlong)
      return fail(PyExc_RuntimeError, "convolution sizes are too large");
  }
  g.batch = x[0];
  g.in_channels = x[1];
  g.out_channels = w[0];
  const std::string weight = sizes_text(w, dims + 2), input = sizes_text(x, dims + 2);
  if (g.out_channels < g.groups || g.out_channels % g.groups)
    return fail(PyExc_RuntimeError,
                "Given groups=%zd, expected weight to be divisible by %zd at dimension 0, but got weight of size %s instead",
                g.groups, g.groups, weight.c_str());
  if (g.in_channels % g.groups || g.in_channels / g.groups != w[1])
    return fail(PyExc_RuntimeError,
                "Given groups=%zd, weight of size %s, expected input%s to have %zd channels, but got %zd channels instead",
                g.groups, weight.c_str(), input.c_str(), times(w[1], g.groups), g.in_channels);
  for (int i = skip; i < 3; i++) {
    const Py_ssize_t span = g.dilation[i] * (g.kernel[i] - 1) + 1;
    if (g.in[i] + 2 * g.pad[i] < span) {
      std::string padded, spans;
      for (int j = skip; j < 3; j++) {
        padded += (j > skip ? " x " : "") + std::to_string(g.in[j] + 2 * g.pad[j]);
        spans += (j > skip ? " x " : "") + std::to_string(g.dilation[j] * (g.kernel[j] - 1) + 1);
      }
      return fail(PyExc_RuntimeError,
                  "Calculated padded input size per channel: (%s). Kernel size: (%s). Kernel size can't be greater than actual "
                  "input size",
                  padded.c_str(), spans.c_str());
    }
    g.out[i] = (g.in[i] + 2 * g.pad[i] - span) / g.stride[i] + 1;
  }
  g.window = {g.in[1],     g.in[2],     g.out[1], g.out[2], g.kernel[1],   g.kernel[2],
              g.stride[1], g.stride[2], g.pad[1], g.pad[2], g.dilation[1], g.dilation[2]};
  return true;
}

// The tensor itself, or a copy in the type that is computed in.
Ref widened(Tensor* tensor, DType type) {
  return tensor->dtype == type ? Ref::borrow(as_object(tensor)) : contiguous_as(tensor, type);
}

// ---- the three kernels

Ref no_memory_or(bool worked, Ref result, DType type) { return worked ? rounded(std::move(result), type) : no_memory(); }

bool is_integer(DType type) { return category_of(type) == Category::Integer; }
DType convolved_in(DType type) { return is_integer(type) ? DType::I64 : computed_in(type); }

// Whether two tensors of one to three dimensions, batch and channels have a type that is computed here.
bool fits(const TensorInfo& a, const TensorInfo& b, bool integers = true) {
  return (a.is_float_or_half() || is_pair(a.dtype) || (integers && is_integer(a.dtype))) && b.dtype == a.dtype && a.ndim >= 3 &&
         a.ndim <= 5 && b.ndim == a.ndim;
}

bool fits(const TensorInfo& bias, DType type) { return !bias.tensor || (bias.dtype == type && bias.ndim == 1); }

bool check_bias(const TensorInfo& bias, const Py_ssize_t* w, const Geometry& g, Py_ssize_t channels) {
  if (!bias.tensor || bias.shape[0] == channels) return true;
  return fail(PyExc_RuntimeError,
              "Given weight of size %s, expected bias to be 1-dimensional with %zd elements, but got bias of size [%zd] instead",
              sizes_text(w, g.dims + 2).c_str(), channels, bias.shape[0]);
}

// f(place of the image, place of the patches, number, step in the image) for the runs of places that an element of the patches of a
// channel sees inside the image.
template <class F>
void each_run(const Geometry& g, const F& f) {
  struct Part {
    Py_ssize_t first, low, high;
  };
  const auto part = [&g](int d, Py_ssize_t k) {
    const Py_ssize_t first = k * g.dilation[d] - g.pad[d], beyond = g.in[d] - first, stride = g.stride[d];
    const Py_ssize_t low = first < 0 ? std::min((stride - 1 - first) / stride, g.out[d]) : 0;
    return Part{first, low, beyond > 0 ? std::min((stride - 1 + beyond) / stride, g.out[d]) : 0};
  };
  Py_ssize_t to = 0;
  for (Py_ssize_t i = 0; i < g.kernel[0]; i++)
    for (Py_ssize_t j = 0; j < g.kernel[1]; j++)
      for (Py_ssize_t k = 0; k < g.kernel[2]; k++, to += g.places()) {
        const Part d = part(0, i), h = part(1, j), w = part(2, k);
        for (Py_ssize_t z = d.low; z < d.high; z++)
          for (Py_ssize_t y = h.low; y < h.high && w.low < w.high; y++)
            f(((d.first + z * g.stride[0]) * g.in[1] + h.first + y * g.stride[1]) * g.in[2] + w.first + w.low * g.stride[2],
              to + (z * g.out[1] + y) * g.out[2] + w.low, w.high - w.low, g.stride[2]);
      }
}

// `correlate` of integers. False where there is no memory.
bool correlate_integers(const Geometry& g, bool back, const uint64_t* from, const uint64_t* weights, const uint64_t* bias,
                        uint64_t* to) {
  const Py_ssize_t places = g.places(), plane = g.in_plane(), depth = g.patch(), rows = g.out_group(), channels = g.in_group();
  const Py_ssize_t read = back ? rows * places : channels * plane, made = back ? channels : rows, size = back ? plane : places;
  const Workspace room(static_cast<double>(depth) * static_cast<double>(places) * 8);
  if (!room.p) return false;
  uint64_t* const patches = reinterpret_cast<uint64_t*>(room.p);
  std::fill_n(patches, depth * places, 0);  // borders stay so
  const auto each_channel = [&](const auto& f) {
    for (Py_ssize_t c = 0; c < channels; c++) {
      each_run(g, [&, at = c * plane, column = c * g.taps() * places](Py_ssize_t i, Py_ssize_t p, Py_ssize_t n, Py_ssize_t step) {
        if (step == 1)
          for (Py_ssize_t k = 0; k < n; k++) f(at + i + k, column + p + k);
        else
          for (Py_ssize_t k = 0; k < n; k++) f(at + i + k * step, column + p + k);
      });
    }
  };
  for (Py_ssize_t unit = 0; unit < g.batch * g.groups; unit++, from += read, to += made * size) {
    const Py_ssize_t group = unit % g.groups;
    const uint64_t* const w = weights + group * rows * depth;
    for (Py_ssize_t i = 0; i < made; i++) std::fill_n(to + i * size, size, bias ? bias[group * made + i] : 0);
    if (back) {
      gemm(DType::I64, depth, places, rows, 1.0, {w, 1, depth}, {from, places, 1}, nullptr, 0.0, patches, true);
      each_channel([&](Py_ssize_t at, Py_ssize_t column) { to[at] += patches[column]; });
    } else {
      each_channel([&](Py_ssize_t at, Py_ssize_t column) { patches[column] = from[at]; });
      gemm(DType::I64, rows, places, depth, 1.0, {w, depth, 1}, {patches, places, 1}, nullptr, 1.0, to, true);
    }
  }
  return true;
}

// The convolution of images with weights, plus a bias that may be none; or `back`, of gradients, to the input that they are of. A
// result of `shape` in the type `own`.
Ref correlate(const Geometry& g, bool back, const Ref& images, const Ref& weights, const Ref& bias, const Py_ssize_t* shape,
              DType own) {
  const Ref in = contiguous(as_tensor(images)), w = contiguous(as_tensor(weights));
  const DType type = convolved_in(own);
  Ref result = new_ref(type, g.dims + 2, shape, DeviceType::Cpu);
  if (as_tensor(result)->numel() == 0) return rounded(static_cast<Ref&&>(result), own);
  Correlation c{.type = type,
                .batch = g.batch,
                .groups = g.groups,
                .rows = back ? g.in_group() : g.out_group(),
                .plane = back ? g.in_plane() : g.places(),
                .images = data_of(in),
                .weights = data_of(w),
                .bias = bias ? data_of(bias) : nullptr,
                .out = data_of(result),
                .weights_row = back ? g.taps() : g.patch(),
                .weights_group = g.out_group() * g.patch(),
                .work = g.work(),
                .scattered = back && (g.stride[0] > 1 || g.stride[1] > 1 || g.stride[2] > 1),
                .beside = back ? std::min(g.stride[2], g.in[2]) : 1,
                .planes = {},
                .phases = {}};
  bool worked;
  {
    Unlocked unlocked(g.work() > kParallelWork, in, w, bias, result);
    const bool biased = static_cast<bool>(bias);
    if (type == DType::I64) {
      worked = correlate_integers(g, back, data_of<uint64_t>(in), data_of<uint64_t>(w), bias ? data_of<uint64_t>(bias) : nullptr,
                                  data_of<uint64_t>(result));
    } else {
      worked = (back ? gradient_planes(g, c.item(), c.planes, c.phases, biased)
                     : image_planes(g, c.item(), c.planes, c.phases.emplace_back(), biased)) &&
               c.run();
    }
  }
  return no_memory_or(worked, static_cast<Ref&&>(result), own);
}

// Whether a place's channels are adjacent elements, and places follow each other: a matrix of channels.
bool has_adjacent_channels(const TensorInfo& x) {
  if (x.shape[1] == 1 || x.contiguous() || !x.tensor->is_aligned()) return false;
  Py_ssize_t step = item_size(x.dtype);
  const auto next = [&](int d) { return std::exchange(step, step * x.shape[d]) == x.strides[d] || x.shape[d] == 1; };
  if (!next(1)) return false;
  for (int d = x.ndim - 1; d > 1; d--)
    if (!next(d)) return false;
  return next(0);
}
bool by_channels(const Geometry& g, const TensorInfo& images) {
  return g.pointwise() && g.groups == 1 && !is_integer(images.dtype) && images.tensor->device() == DeviceType::Cpu &&
         images.size() > 0 && has_adjacent_channels(images);
}

// images (places x channels) @ weights, in images of so many channels and the same layout. weights: channels x `channels`.
Ref mix_channels(const TensorInfo& images, const MatrixView& weights, const Ref& kept, const Ref& bias, Py_ssize_t channels) {
  const Py_ssize_t from = images.shape[1], places = images.size() / from;
  const DType wide = computed_in(images.dtype);
  Layout by_place, l(images.tensor);
  by_place.add(images.shape[0], 0);
  for (int d = 2; d < images.ndim; d++) by_place.add(images.shape[d], 0);
  by_place.add(channels, 0);
  Ref made = new_ref(wide, images.ndim, by_place.shape, DeviceType::Cpu);
  if (as_tensor(made)->numel()) {
    Unlocked unlocked(images.size() * channels > kParallelWork, images, kept, bias, made);
    gemm(images.dtype, places, channels, from, 1.0, {images.data, from, 1}, weights, bias ? data_of(bias) : nullptr, 0.0,
         data_of(made), true);
  }
  made = rounded(static_cast<Ref&&>(made), images.dtype);
  const TensorInfo rows = info_of(made);
  l.offset = 0;
  l.shape[1] = channels;
  l.strides[1] = rows.strides[images.ndim - 1];
  l.strides[0] = rows.strides[0];
  for (int d = 2; d < images.ndim; d++) l.strides[d] = rows.strides[d - 1];
  return make_view(rows, l);
}

// ---- complex numbers: real ones of twice the channels, the parts of a channel side by side

// (a, b, ...) as real numbers (a, 2 b, ...).
Ref parts_of(const TensorInfo& x) {
  const ptrdiff_t part = item_size(part_of(x.dtype));
  Layout l;
  for (int d = 0; d < x.ndim; d++) {
    l.add(x.shape[d], x.strides[d]);
    if (d == 1) l.add(2, part);
  }
  const Ref view = owned(new_view(x.tensor, part_of(x.dtype), l.ndim, l.shape, l.strides, 0));
  const Ref made = owned(contiguous_copy(as_tensor(view)));
  Layout joined(as_tensor(made));
  joined.remove(1);
  joined.shape[1] = times(2, x.shape[1]);
  return make_view(info_of(made), joined);
}
Ref bias_parts(const TensorInfo& bias) {
  const Ref own = contiguous(bias.tensor);
  const Py_ssize_t size = 2 * bias.shape[0], step = item_size(part_of(bias.dtype));
  return owned(new_view(as_tensor(own), part_of(bias.dtype), 1, &size, &step, 0));
}
// The way back.
Ref whole_of(const Ref& parts, DType type) {
  if (!parts) return {};
  const TensorInfo x = info_of(parts);
  Layout l(x.tensor);
  l.shape[1] /= 2;
  l.strides[1] *= 2;
  l.add(2, x.strides[1]);
  const Ref view = make_view(x, l), made = owned(contiguous_copy(as_tensor(view)));
  Layout whole(as_tensor(made));
  whole.remove(whole.ndim - 1);
  return owned(new_view(as_tensor(made), type, whole.ndim, whole.shape, whole.strides, 0));
}
// Each number x + iy of weights as the square (x, -y; y, x); of its conjugate where `back`.
Ref squares_of(const TensorInfo& w, bool back) {
  const Ref own = contiguous(w.tensor);
  Py_ssize_t shape[5], taps = 1;
  for (int d = 0; d < w.ndim; d++) shape[d] = d < 2 ? times(2, w.shape[d]) : w.shape[d], taps *= d < 2 ? 1 : w.shape[d];
  Ref made = new_ref(part_of(w.dtype), w.ndim, shape, DeviceType::Cpu);
  const auto run = [&]<class T>(const T* from, T* to) {
    const Py_ssize_t row = shape[1] * taps;
    for (Py_ssize_t o = 0; o < w.shape[0]; o++, to += 2 * row)
      for (Py_ssize_t c = 0; c < w.shape[1]; c++)
        for (Py_ssize_t t = 0; t < taps; t++, from += 2) {
          T* square = to + 2 * c * taps + t;
          square[0] = square[row + taps] = from[0];
          square[taps] = back ? from[1] : -from[1];
          square[row] = -square[taps];
        }
  };
  by_type(part_of(w.dtype), run, static_cast<const char*>(data_of(own)), data_of(made));
  return made;
}
// The way back, of products of the parts.
Ref sums_of_squares(const Ref& squares, DType type) {
  if (!squares) return {};
  const TensorInfo x = info_of(squares);
  Py_ssize_t shape[5], taps = 1;
  for (int d = 0; d < x.ndim; d++) shape[d] = d < 2 ? x.shape[d] / 2 : x.shape[d], taps *= d < 2 ? 1 : x.shape[d];
  Ref made = new_ref(type, x.ndim, shape, DeviceType::Cpu);
  const auto run = [&]<class T>(const T* from, T* to) {
    const Py_ssize_t row = x.shape[1] * taps;
    for (Py_ssize_t o = 0; o < shape[0]; o++, from += 2 * row)
      for (Py_ssize_t c = 0; c < shape[1]; c++)
        for (Py_ssize_t t = 0; t < taps; t++, to += 2) {
          const T* square = from + 2 * c * taps + t;
          to[0] = square[0] - square[row + taps];
          to[1] = square[taps] + square[row];
        }
  };
  by_type(part_of(type), run, static_cast<const char*>(data_of(squares)), data_of(made));
  return made;
}

Ref convolution(const TensorInfo& x, const TensorInfo& w, const TensorOrNone& bias, IntOrInts stride, IntOrInts padding,
                IntOrInts dilation, Py_ssize_t groups) {
  Geometry g;
  if (!fits(x, w) || !fits(bias, x.dtype) || !read_geometry(x.ndim - 2, x.shape, w.shape, {stride, padding, dilation, groups}, g) ||
      !check_bias(bias, w.shape, g, g.out_channels))
    return {};
  Py_ssize_t shape[5] = {g.batch, g.out_channels};
  for (int i = 0; i < g.dims; i++) shape[2 + i] = g.out[3 - g.dims + i];
  const DeviceType device = device_of(x, w, bias);
  const DType own = x.dtype, type = convolved_in(own);
  if (device == DeviceType::Meta) return new_ref(own, g.dims + 2, shape, device);
  if (is_pair(own)) {
    const Ref images = parts_of(x), weights = squares_of(w, false), row = bias.tensor ? bias_parts(bias) : Ref();
    TensorOrNone added;
    if (row) added.set(row);
    return whole_of(convolution(info_of(images), info_of(weights), added, stride, padding, dilation, groups), own);
  }
  if (by_channels(g, x)) {
    const Ref weights = contiguous(w.tensor), row = bias.tensor ? contiguous_as(bias.tensor, type) : Ref();
    return mix_channels(x, {data_of(weights), 1, g.in_channels}, weights, row, g.out_channels);
  }
  Ref xc = widened(x.tensor, type), wc = widened(w.tensor, type);
  Ref bc = bias.tensor ? contiguous_as(bias.tensor, type) : Ref();
  if (g.dims == 2 && type != DType::I64 && winograd_pays(g)) {
    const TensorInfo b = bc ? info_of(bc) : TensorInfo{};
    return rounded(winograd_forward(info_of(xc), info_of(wc), b, g), own);
  }
  return correlate(g, false, xc, wc, bc, shape, own);
}

// Whether the gradient's shape is that of the result.
bool check_gradient(const TensorInfo& grad, const Geometry& g) {
  bool same = grad.shape[0] == g.batch && grad.shape[1] == g.out_channels;
  Py_ssize_t shape[5] = {g.batch, g.out_channels};
  for (int i = 0; i < g.dims; i++) {
    shape[2 + i] = g.out[3 - g.dims + i];
    same = same && grad.shape[2 + i] == shape[2 + i];
  }
  if (same) return true;
  return fail(PyExc_RuntimeError, "expected a gradient of size %s, got %s", sizes_text(shape, g.dims + 2).c_str(),
              shape_text(grad).c_str());
}

// So many sizes; false with an exception set.
bool has_sizes(const Shape& shape, int ndim) {
  return shape.n == ndim || fail(PyExc_ValueError, "expected a shape of %d sizes, got %d", ndim, shape.n);
}

// The gradient of the input, plus the bias.
Ref convolution_input(const TensorInfo& grad, const TensorInfo& w, const TensorOrNone& bias, const Shape& x_shape, IntOrInts stride,
                      IntOrInts padding, IntOrInts dilation, Py_ssize_t groups) {
  Geometry g;
  const Py_ssize_t* shape = x_shape.at;
  if (!fits(grad, w) || !fits(bias, grad.dtype) || !has_sizes(x_shape, grad.ndim) ||
      !read_geometry(grad.ndim - 2, shape, w.shape, {stride, padding, dilation, groups}, g) || !check_gradient(grad, g) ||
      !check_bias(bias, w.shape, g, g.in_channels))
    return {};
  const DeviceType device = device_of(grad, w, bias);
  const DType own = grad.dtype, type = convolved_in(own);
  if (device == DeviceType::Meta) return new_ref(own, g.dims + 2, shape, device);
  if (is_pair(own)) {
    const Ref images = parts_of(grad), weights = squares_of(w, true), row = bias.tensor ? bias_parts(bias) : Ref();
    TensorOrNone added;
    if (row) added.set(row);
    Shape wide = x_shape;
    wide.at[1] *= 2;
    return whole_of(convolution_input(info_of(images), info_of(weights), added, wide, stride, padding, dilation, groups), own);
  }
  if (by_channels(g, grad)) {
    const Ref weights = contiguous(w.tensor), row = bias.tensor ? contiguous_as(bias.tensor, type) : Ref();
    return mix_channels(grad, {data_of(weights), g.in_channels, 1}, weights, row, g.in_channels);
  }
  Ref gc = widened(grad.tensor, type), wc = widened(w.tensor, type);
  Ref bc = bias.tensor ? contiguous_as(bias.tensor, type) : Ref();
  if (g.dims == 2 && !bc && type != DType::I64 && winograd_pays(g))
    return rounded(winograd_grad_input(info_of(gc), info_of(wc), g), own);
  return correlate(g, true, gc, wc, bc, shape, own);
}

// The gradient of the weight.
Ref convolution_weight(const TensorInfo& grad, const TensorInfo& x, const Shape& w_shape, IntOrInts stride, IntOrInts padding,
                       IntOrInts dilation, Py_ssize_t groups) {
  Geometry g;
  const Py_ssize_t* shape = w_shape.at;
  if (!fits(grad, x, false) || !has_sizes(w_shape, grad.ndim) ||
      !read_geometry(grad.ndim - 2, x.shape, shape, {stride, padding, dilation, groups}, g) || !check_gradient(grad, g))
    return {};
  const DeviceType device = device_of(grad, x);
  const DType own = grad.dtype, type = computed_in(own);
  if (device == DeviceType::Meta) return new_ref(own, g.dims + 2, shape, device);
  if (is_pair(own)) {
    const Ref slopes = parts_of(grad), images = parts_of(x);
    Shape wide = w_shape;
    wide.at[0] *= 2, wide.at[1] *= 2;
    return sums_of_squares(convolution_weight(info_of(slopes), info_of(images), wide, stride, padding, dilation, groups), own);
  }
  if (by_channels(g, grad) && by_channels(g, x)) {
    Ref result = new_ref(type, g.dims + 2, shape, device);
    {
      Unlocked unlocked(g.work() > kParallelWork, grad, x, result);
      gemm(own, g.out_channels, g.in_channels, g.batch * g.places(), 1.0, {grad.data, 1, g.out_channels},
           {x.data, g.in_channels, 1}, nullptr, 0.0, data_of(result), true);
    }
    return rounded(static_cast<Ref&&>(result), own);
  }
  Ref gc = widened(grad.tensor, type), xc = widened(x.tensor, type);
  if (g.dims == 2 && g.batch > 0 && g.in_channels > 0 && winograd_pays(g))
    return rounded(winograd_grad_weight(info_of(gc), info_of(xc), g), own);
  gc = contiguous(as_tensor(gc));
  xc = contiguous(as_tensor(xc));
  Ref result = zeros_ref(type, g.dims + 2, shape, device);
  if (as_tensor(result)->numel() == 0 || as_tensor(gc)->numel() == 0) return rounded(static_cast<Ref&&>(result), own);
  WeightGradient c{type, g, data_of(gc), data_of(xc), data_of(result), {}, {}};
  bool worked;
  {
    Unlocked unlocked(g.work() > kParallelWork, gc, xc, result);
    worked = image_planes(g, item_size(type), c.planes, c.phase, false) && c.run();
  }
  return no_memory_or(worked, static_cast<Ref&&>(result), own);
}

const KernelRows rows{
    long_kernel<convolution, "convolution(x, w, bias, stride, padding, dilation, groups)">(),
    long_kernel<convolution_input, "convolution_input(g, w, bias, x_shape, stride, padding, dilation, groups)">(),
    long_kernel<convolution_weight, "convolution_weight(g, x, w_shape, stride, padding, dilation, groups)">(),
};

}  // namespace

}  // namespace rushlight
