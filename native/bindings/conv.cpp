// Convolutions of one to three dimensions and their two gradients.
//
// All three read patches: what a place of the result sees of the image. No matrix of patches is made. Images are laid out
// once, padded, in planes in which every position of the kernel sees adjacent elements (isa/planes.cpp); an offset for each
// element of the patch then says where it is. With them
//
//   the result              is a product of the weights with patches (isa/conv_product.cpp); of groups with few channels a
//                           sum in registers (isa/conv_direct.cpp)
//   the input's gradient    is such a product too, of patches of the gradient. With a stride s each of the s residues of the
//                           input's positions sees kernel positions of its own, a product each, and nothing is added up twice
//   the weight's gradient   is a product over places (isa/conv_weight.cpp), or dot products
//
// Images and groups are the tasks of the thread pool; where there are few, channels and blocks of places are. Halves are
// computed in float32 and rounded once.
#include "bindings/conv.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "bindings/winograd.h"

namespace rushlight {
namespace {

// ---- arguments

bool fails(const char* text) {
  PyErr_SetString(PyExc_RuntimeError, text);
  return false;
}

// args: stride, padding, dilation, groups. Shapes: x (batch, channels, sizes...), w (out, channels / groups, sizes...).
bool read_geometry(int dims, const Py_ssize_t* x, const Py_ssize_t* w, PyObject* const* args, Geometry& g) {
  constexpr Py_ssize_t kLimit = Py_ssize_t{1} << 31;
  const int skip = 3 - dims;
  if (!ints_argument(args[0], "stride", dims, g.stride + skip) || !ints_argument(args[1], "padding", dims, g.pad + skip) ||
      !ints_argument(args[2], "dilation", dims, g.dilation + skip) || !ints_argument(args[3], "groups", 1, &g.groups))
    return false;
  g.dims = dims;
  for (int i = 0; i < skip; i++) g.in[i] = g.out[i] = g.kernel[i] = g.stride[i] = g.dilation[i] = 1, g.pad[i] = 0;
  if (g.groups <= 0) return fails("non-positive groups is not supported");
  for (int i = skip; i < 3; i++) {
    g.in[i] = x[2 + i - skip];
    g.kernel[i] = w[2 + i - skip];
    if (g.stride[i] <= 0) return fails("non-positive stride is not supported");
    if (g.pad[i] < 0) return fails("negative padding is not supported");
    if (g.dilation[i] <= 0) return fails("dilation should be greater than zero");
    if (g.kernel[i] <= 0) return fails("the kernel has no elements");
    if (g.in[i] >= kLimit || g.pad[i] >= kLimit || g.dilation[i] >= kLimit || g.stride[i] >= kLimit || g.kernel[i] >= kLimit)
      return fails("convolution sizes are too large");
  }
  g.batch = x[0];
  g.in_channels = x[1];
  g.out_channels = w[0];
  const std::string weight = sizes_text(w, dims + 2), input = sizes_text(x, dims + 2);
  if (g.out_channels < g.groups || g.out_channels % g.groups) {
    PyErr_Format(PyExc_RuntimeError,
                 "Given groups=%zd, expected weight to be divisible by %zd at dimension 0, but got weight of size %s instead",
                 g.groups, g.groups, weight.c_str());
    return false;
  }
  if (g.in_channels % g.groups || g.in_channels / g.groups != w[1]) {
    PyErr_Format(PyExc_RuntimeError,
                 "Given groups=%zd, weight of size %s, expected input%s to have %zd channels, but got %zd channels instead",
                 g.groups, weight.c_str(), input.c_str(), times(w[1], g.groups), g.in_channels);
    return false;
  }
  for (int i = skip; i < 3; i++) {
    const Py_ssize_t span = g.dilation[i] * (g.kernel[i] - 1) + 1;
    if (g.in[i] + 2 * g.pad[i] < span) {
      std::string padded, spans;
      for (int j = skip; j < 3; j++) {
        padded += (j > skip ? " x " : "") + std::to_string(g.in[j] + 2 * g.pad[j]);
        spans += (j > skip ? " x " : "") + std::to_string(g.dilation[j] * (g.kernel[j] - 1) + 1);
      }
      PyErr_Format(PyExc_RuntimeError,
                   "Calculated padded input size per channel: (%s). Kernel size: (%s). Kernel size can't be greater than actual "
                   "input size",
                   padded.c_str(), spans.c_str());
      return false;
    }
    g.out[i] = (g.in[i] + 2 * g.pad[i] - span) / g.stride[i] + 1;
  }
  g.window = {g.in[1],     g.in[2],     g.out[1], g.out[2], g.kernel[1],   g.kernel[2],
              g.stride[1], g.stride[2], g.pad[1], g.pad[2], g.dilation[1], g.dilation[2]};
  return true;
}

bool computed(DType type) { return type == DType::F32 || type == DType::F64 || type == DType::F16 || type == DType::BF16; }
DType compute_type(DType type) { return type == DType::F64 ? type : DType::F32; }

// The tensor itself, or a copy in the type that is computed in.
Ref widened(Tensor* tensor, DType type) {
  return tensor->dtype == type ? Ref::borrow(as_object(tensor)) : contiguous_as(tensor, type);
}

// The result in its own type.
PyObject* rounded(Ref result, DType type) {
  return !result || as_tensor(result)->dtype == type ? result.release() : contiguous_as(as_tensor(result), type).release();
}

// ---- scratch memory

// Aligned to lines of the cache, with kSlackBytes behind; p is null where there is no memory.
struct Buffer {
  explicit Buffer(double bytes) {
    if (bytes > 1e15) return;
    block_ = std::malloc(static_cast<size_t>(bytes) + 64 + kSlackBytes);
    p = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(block_) + 63) / 64 * 64);
    if (!block_) p = nullptr;
  }
  ~Buffer() { std::free(block_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  char* p = nullptr;

 private:
  void* block_ = nullptr;
};

// ---- where patches are

using Axes = std::array<Axis, 3>;

// How one group of an image's channels is laid out: so many planes a channel.
struct Planes {
  std::vector<Axes> axes;
  ptrdiff_t channels = 0, image_pitch = 0, pitch = 0;  // of the image, and of one plane
  bool laid = true;                                    // otherwise the image itself is read
  double elements() const { return laid ? static_cast<double>(channels) * static_cast<double>(axes.size()) * pitch : 0; }
  ptrdiff_t channel_pitch() const { return static_cast<ptrdiff_t>(axes.size()) * pitch; }

  // False where they would fit into no memory.
  bool set_pitch(ptrdiff_t item) {
    const Axes& a = axes[0];
    const double size = static_cast<double>(a[0].plane) * static_cast<double>(a[1].plane) * static_cast<double>(a[2].plane);
    if (size * static_cast<double>(axes.size()) * static_cast<double>(channels) > 1e14) return false;
    pitch = (a[0].plane * a[1].plane * a[2].plane + 15) / 16 * 16 + 16;  // and room for a register behind it
    if (pitch * item % 4096 == 0) pitch += 16;  // planes that lie on the same lines of the cache throw each other out
    return true;
  }
  void lay(DType type, const char* image, ptrdiff_t from, ptrdiff_t to, char* planes) const {
    const ptrdiff_t item = item_size(type);
    for (size_t i = 0; i < axes.size(); i++)
      dense_kernels().lay_planes(type, image + from * image_pitch * item, image_pitch, axes[i].data(), to - from,
                                 planes + (from * channel_pitch() + static_cast<ptrdiff_t>(i) * pitch) * item, channel_pitch());
  }
};

// One product: some places of the result, what they read, and with which weights.
struct Phase {
  std::vector<ptrdiff_t> offsets, columns;  // in the planes, and in a row of weights; -1 first where there is a bias
  Grid places{};
  Axes put{};             // where the results belong; flat where they lie together there
  ptrdiff_t filters = 0;   // where its packed weights begin
  ptrdiff_t depth() const { return static_cast<ptrdiff_t>(offsets.size()); }

  void reserve(size_t n, bool bias) {
    offsets.reserve(n + 1);
    columns.reserve(n + 1);
    if (bias) add(-1, -1);
  }
  void flat() { put = {Axis{1, 0, 1, 1}, Axis{1, 0, 1, 1}, Axis{places.count(), 0, 1, places.count()}}; }
  void add(ptrdiff_t offset, ptrdiff_t column) {
    offsets.push_back(offset);
    columns.push_back(column);
  }
};

// The image of a forward convolution: for each dimension the residues of kernel positions by the stride have their planes.
bool image_planes(const Geometry& g, ptrdiff_t item, Planes& planes, Phase& phase, bool bias) {
  planes.channels = g.in_group();
  planes.image_pitch = g.in_plane();
  phase.reserve(static_cast<size_t>(g.patch()), bias);
  if (g.pointwise()) {
    planes.laid = false;
    for (Py_ssize_t c = 0; c < g.in_group(); c++) phase.add(c * g.in_plane(), c);
    phase.places = {1, 1, g.in_plane(), 0, 0};
    phase.flat();
    return true;
  }
  std::vector<Py_ssize_t> residues[3], slots[3];  // those that occur; and for each kernel position, which it has
  ptrdiff_t size[3];
  for (int i = 0; i < 3; i++) {
    size[i] = g.dilation[i] * (g.kernel[i] - 1) / g.stride[i] + g.out[i];
    for (Py_ssize_t k = 0; k < g.kernel[i]; k++) {
      const Py_ssize_t r = k * g.dilation[i] % g.stride[i];
      const auto found = std::find(residues[i].begin(), residues[i].end(), r);
      slots[i].push_back(found - residues[i].begin());
      if (found == residues[i].end()) residues[i].push_back(r);
    }
  }
  const auto axis = [&](int i, Py_ssize_t r) { return Axis{g.in[i], r - g.pad[i], g.stride[i], size[i]}; };
  for (Py_ssize_t a : residues[0])
    for (Py_ssize_t b : residues[1])
      for (Py_ssize_t c : residues[2]) planes.axes.push_back({axis(0, a), axis(1, b), axis(2, c)});
  if (!planes.set_pitch(item)) return false;
  const auto slot = [&](int i, Py_ssize_t k) { return slots[i][static_cast<size_t>(k)]; };
  const auto step = [&](int i, Py_ssize_t k) { return k * g.dilation[i] / g.stride[i]; };
  const auto count = [&](int i) { return static_cast<Py_ssize_t>(residues[i].size()); };
  Py_ssize_t column = 0;
  for (Py_ssize_t c = 0; c < g.in_group(); c++)
    for (Py_ssize_t a = 0; a < g.kernel[0]; a++)
      for (Py_ssize_t b = 0; b < g.kernel[1]; b++)
        for (Py_ssize_t e = 0; e < g.kernel[2]; e++) {
          const Py_ssize_t plane = (slot(0, a) * count(1) + slot(1, b)) * count(2) + slot(2, e);
          phase.add(c * planes.channel_pitch() + plane * planes.pitch + (step(0, a) * size[1] + step(1, b)) * size[2] + step(2, e),
                    column++);
        }
  phase.places = {g.out[0], g.out[1], g.out[2], size[1] * size[2], size[2]};
  phase.flat();
  return true;
}

// The gradient, as the input's gradient reads it. Position i of the input gets from place o what kernel position k gives with
// i + pad = o * stride + k * dilation. Positions that are a stride apart see the same kernel positions: with
// i + pad = stride * q + r those where k * dilation = stride * less + r, at the places o = q - less.
struct Residue {
  Py_ssize_t first, q, count;  // the first such position, its q, how many there are
  struct Tap {
    Py_ssize_t k, less;
  };
  std::vector<Tap> taps;
};

// Also how many places before the first one are read, and how many there are with those.
std::vector<Residue> residues_of(const Geometry& g, int i, ptrdiff_t& before, ptrdiff_t& size) {
  std::vector<Residue> all;
  const Py_ssize_t stride = g.stride[i];
  ptrdiff_t end = before = 0;
  for (Py_ssize_t first = 0; first < std::min(stride, g.in[i]); first++) {
    const Py_ssize_t q = (first + g.pad[i]) / stride, r = (first + g.pad[i]) % stride;
    Residue residue{first, q, (g.in[i] - 1 - first) / stride + 1, {}};
    for (Py_ssize_t k = 0; k < g.kernel[i]; k++) {
      const Py_ssize_t beyond = k * g.dilation[i] - r;
      if (beyond % stride) continue;
      const Py_ssize_t less = beyond / stride;
      residue.taps.push_back({k, less});
      before = std::max(before, less - q);
      end = std::max(end, q + residue.count - less);
    }
    all.push_back(std::move(residue));
  }
  size = before + end;
  return all;
}

bool gradient_planes(const Geometry& g, ptrdiff_t item, Planes& planes, std::vector<Phase>& phases, bool bias) {
  planes.channels = g.out_group();
  planes.image_pitch = g.places();
  const Py_ssize_t patch = g.patch();
  if (g.pointwise()) {
    planes.laid = false;
    Phase& phase = phases.emplace_back();
    phase.reserve(static_cast<size_t>(g.out_group()), bias);
    for (Py_ssize_t o = 0; o < g.out_group(); o++) phase.add(o * g.places(), o * patch);
    phase.places = {1, 1, g.places(), 0, 0};
    phase.flat();
    return true;
  }
  std::vector<Residue> all[3];
  ptrdiff_t before[3], size[3];
  Axes axes{};
  for (size_t i = 0; i < 3; i++) {
    all[i] = residues_of(g, static_cast<int>(i), before[i], size[i]);
    axes[i] = {g.out[i], -before[i], 1, size[i]};
  }
  planes.axes = {axes};
  if (!planes.set_pitch(item)) return false;
  for (const Residue& a : all[0])
    for (const Residue& b : all[1])
      for (const Residue& c : all[2]) {
        Phase& phase = phases.emplace_back();
        phase.reserve(static_cast<size_t>(g.out_group()) * a.taps.size() * b.taps.size() * c.taps.size(), bias);
        const ptrdiff_t at = ((a.q + before[0]) * size[1] + b.q + before[1]) * size[2] + c.q + before[2];
        for (Py_ssize_t o = 0; o < g.out_group(); o++)
          for (const auto& i : a.taps)
            for (const auto& j : b.taps)
              for (const auto& k : c.taps)
                phase.add(o * planes.pitch + at - (i.less * size[1] + j.less) * size[2] - k.less,
                          o * patch + (i.k * g.kernel[1] + j.k) * g.kernel[2] + k.k);
        phase.places = {a.count, b.count, c.count, size[1] * size[2], size[2]};
        phase.flat();
        const Residue* residues[3] = {&a, &b, &c};
        if (g.stride[0] > 1 || g.stride[1] > 1 || g.stride[2] > 1)
          for (size_t i = 0; i < 3; i++) phase.put[i] = {g.in[i], residues[i]->first, g.stride[i], residues[i]->count};
      }
  return true;
}

// ---- products with patches

// Results of a group that are summed in registers: few ones, since packing would cost more than it saves, and some more where
// patches are long, since what is computed between rows and copied then costs less than packing.
constexpr Py_ssize_t kFewRows = 4, kDirectRows = 32, kDirectDepth = 64;
constexpr double kParallelWork = 1 << 18;  // multiplications worth a thread
constexpr ptrdiff_t kBlock = 256;          // places that one task computes where images are few
constexpr double kLaidBytes = 1 << 15;     // of planes that are laid out at a time, where a group has fewer

// As many tasks of so much work as are worth a thread.
ptrdiff_t grain_of(double work) { return static_cast<ptrdiff_t>(kParallelWork / (work + 1)) + 1; }

// A convolution of images with weights, forward or the gradient to the input: `rows` results a group. A unit is one group
// of one image.
struct Correlation {
  DType type;
  Py_ssize_t batch, groups, rows, plane;  // elements of one plane of the result
  const char *images, *weights, *bias;    // bias: null where there is none
  char* out;
  ptrdiff_t weights_row, weights_group;
  double work;
  bool scattered;         // whether results of a phase do not lie together
  Py_ssize_t beside = 1;  // phases whose results take turns in a row
  Planes planes;
  std::vector<Phase> phases;
  const Buffer* filters = nullptr;  // packed, once `run` has begun

  ptrdiff_t item() const { return item_size(type); }
  bool run();

 private:
  bool direct() const { return planes.laid && (rows <= kFewRows || (rows <= kDirectRows && phases[0].depth() >= kDirectDepth)); }
  double laid_size() const { return planes.elements() * static_cast<double>(item()); }
  ptrdiff_t most_places() const {
    ptrdiff_t most = 0;
    for (const Phase& phase : phases) most = std::max(most, phase.places.count());
    return most;
  }
  // In bytes, of one unit.
  double results_size() const {
    return static_cast<double>(rows * beside) * static_cast<double>(most_places()) * static_cast<double>(item());
  }
  double scratch_size() const {
    ptrdiff_t most = dense_kernels().conv_product_scratch;
    for (const Phase& phase : phases) most = std::max(most, dense_kernels().conv_direct_scratch(type, phase.places));
    return static_cast<double>(most);
  }
  const char* filters_of(const Phase& phase, Py_ssize_t group) const {
    return filters->p + (phase.filters + group * rows * phase.depth()) * item();
  }
  const char* source(Py_ssize_t unit) const { return images + unit * planes.channels * planes.image_pitch * item(); }
  char* target(Py_ssize_t unit) const { return out + unit * rows * plane * item(); }
  ptrdiff_t unit_pitch() const { return planes.channels * (planes.laid ? planes.channel_pitch() : planes.image_pitch); }
  Patch patch_of(const Phase& phase, const char* from) const {
    return {from, phase.offsets.data(), phase.depth(), phase.places, planes.laid};
  }
  // Results of the phases beside each other, `to_row` elements a row and `pitch` a phase, into the planes where they belong.
  void put(const Phase* phase, const char* results, ptrdiff_t to_row, ptrdiff_t pitch, ptrdiff_t rows_put, char* image) const {
    dense_kernels().put_planes(type, results, to_row, phase->put.data(), beside, pitch, rows_put, image, plane);
  }
  bool run_units();
  bool run_images(Py_ssize_t together);
  bool run_unit(Py_ssize_t unit, char* laid, char* results);
};

// Places of one image that are fewer than this are computed with those of others: panels then are full.
constexpr ptrdiff_t kSmallImage = 256, kImagesTogether = 512;

bool Correlation::run() {
  double size = 0;
  for (Phase& phase : phases) {
    phase.filters = static_cast<ptrdiff_t>(size);
    size += static_cast<double>(groups) * static_cast<double>(rows) * static_cast<double>(phase.depth());
  }
  Buffer packed(size * static_cast<double>(item()));
  if (!packed.p) return false;
  filters = &packed;
  parallel(groups, grain_of(size / static_cast<double>(groups)), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (const Phase& phase : phases)
      for (Py_ssize_t group = begin; group < end; group++)
        dense_kernels().pack_filters(type, weights + group * weights_group * item(), weights_row, phase.columns.data(), rows,
                                     phase.depth(), bias ? bias + group * rows * item() : nullptr, !direct(),
                                     packed.p + (phase.filters + group * rows * phase.depth()) * item());
  });
  const Py_ssize_t units = batch * groups, threads = work < kParallelWork ? 1 : get_num_threads();
  if (threads == 1 || units >= 2 * threads) {
    const Py_ssize_t together = std::min(kImagesTogether / std::max<ptrdiff_t>(1, most_places()), units / (2 * threads));
    return !direct() && batch > 1 && together > 1 && beside <= 2 && most_places() < kSmallImage
               ? run_images(std::min(together, batch))
               : run_units();
  }
  Buffer laid(laid_size()), results(scattered ? results_size() : 0);
  if (!laid.p || !results.p) return false;
  for (Py_ssize_t unit = 0; unit < units; unit++)
    if (!run_unit(unit, laid.p, results.p)) return false;
  return true;
}

// Groups of images are the tasks; some groups of one image at a time where they are small.
bool Correlation::run_units() {
  const Py_ssize_t units = batch * groups;
  const Py_ssize_t together = static_cast<Py_ssize_t>(std::clamp(kLaidBytes / (laid_size() + 1), 1.0, 64.0));
  std::atomic<bool> failed{false};
  parallel(units, grain_of(work / static_cast<double>(units)), [&](ptrdiff_t begin, ptrdiff_t end) {
    const double most = static_cast<double>(std::min(together, end - begin));
    Buffer laid(laid_size() * most), results(scattered ? results_size() * most : 0), scratch(scratch_size());
    if (!laid.p || !results.p || !scratch.p) return failed.store(true, std::memory_order_relaxed);
    const ptrdiff_t to_row = scattered ? most_places() : plane;
    Py_ssize_t n;
    for (Py_ssize_t unit = begin; unit < end; unit += n) {
      n = std::min({together, end - unit, groups - unit % groups});
      if (planes.laid) planes.lay(type, source(unit), 0, n * planes.channels, laid.p);
      const char* from = planes.laid ? laid.p : source(unit);
      for (size_t i = 0; i < phases.size(); i++) {
        const Py_ssize_t turn = static_cast<Py_ssize_t>(i) % beside;
        char* to = scattered ? results.p + turn * n * rows * to_row * item() : target(unit);
        const Phase& phase = phases[i];
        if (direct())
          dense_kernels().conv_direct(type, patch_of(phase, from), n, unit_pitch(), filters_of(phase, unit % groups), rows,
                                      scratch.p, to, to_row);
        else
          for (Py_ssize_t u = 0; u < n; u++)
            dense_kernels().conv_product(type, patch_of(phase, from + u * unit_pitch() * item()), 0,
                                         filters_of(phase, (unit + u) % groups), rows, 0, phase.places.count(), scratch.p,
                                         to + u * rows * to_row * item(), to_row);
        if (scattered && turn == beside - 1)
          put(&phases[i - static_cast<size_t>(turn)], results.p, to_row, n * rows * to_row, n * rows, target(unit));
      }
    }
  });
  return !failed.load();
}

// One group of some images is a task.
bool Correlation::run_images(Py_ssize_t together) {
  const Py_ssize_t blocks = (batch + together - 1) / together;
  std::atomic<bool> failed{false};
  parallel(blocks * groups, grain_of(work / static_cast<double>(blocks * groups)), [&](ptrdiff_t begin, ptrdiff_t end) {
    const double most = static_cast<double>(together);
    Buffer laid(laid_size() * most), results(results_size() * most), scratch(scratch_size());
    if (!laid.p || !results.p || !scratch.p) return failed.store(true, std::memory_order_relaxed);
    for (Py_ssize_t task = begin; task < end; task++) {
      const Py_ssize_t group = task % groups, first = task / groups * together, n = std::min(together, batch - first);
      for (Py_ssize_t u = 0; planes.laid && u < n; u++)
        planes.lay(type, source((first + u) * groups + group), 0, planes.channels, laid.p + u * unit_pitch() * item());
      const char* from = planes.laid ? laid.p : source(first * groups + group);
      const ptrdiff_t to_row = n * most_places();
      for (size_t i = 0; i < phases.size(); i++) {
        const Py_ssize_t turn = static_cast<Py_ssize_t>(i) % beside;
        const Phase& phase = phases[i];
        const ptrdiff_t places = phase.places.count();
        dense_kernels().conv_product(type, patch_of(phase, from), planes.laid ? unit_pitch() : groups * unit_pitch(),
                                     filters_of(phase, group), rows, 0, n * places, scratch.p,
                                     results.p + turn * rows * to_row * item(), to_row);
        if (turn < beside - 1) continue;
        // Images begin elsewhere in the results of each phase.
        const Phase& before = phases[i - static_cast<size_t>(turn)];
        const ptrdiff_t less = before.places.count() - places;
        for (Py_ssize_t u = 0; u < n; u++)
          put(&before, results.p + u * before.places.count() * item(), to_row, rows * to_row - u * less, rows,
              target((first + u) * groups + group));
      }
    }
  });
  return !failed.load();
}

// Channels of one unit are tasks while they are laid out, then blocks of places are.
bool Correlation::run_unit(Py_ssize_t unit, char* laid, char* results) {
  const double unit_work = work / static_cast<double>(batch * groups);
  std::atomic<bool> failed{false};
  if (planes.laid)
    parallel(planes.channels, grain_of(static_cast<double>(planes.channel_pitch())),
             [&](ptrdiff_t begin, ptrdiff_t end) { planes.lay(type, source(unit), begin, end, laid); });
  const ptrdiff_t to_row = scattered ? most_places() : plane;
  for (size_t i = 0; i < phases.size(); i++) {
    const Phase& phase = phases[i];
    const Py_ssize_t turn = static_cast<Py_ssize_t>(i) % beside;
    const Grid all = phase.places;
    char* to = scattered ? results + turn * rows * to_row * item() : target(unit);
    const char* from = planes.laid ? laid : source(unit);
    // Sums in registers run along whole rows: slices, or rows of one slice, are then the blocks.
    const bool slices = all.d > 1;
    const ptrdiff_t block = !direct() ? kBlock : slices ? all.h * all.w : all.w;
    const ptrdiff_t blocks = (all.count() + block - 1) / block;
    const double block_work = unit_work / static_cast<double>(phases.size()) / static_cast<double>(blocks + 1);
    parallel(blocks, grain_of(block_work), [&](ptrdiff_t begin, ptrdiff_t end) {
      Buffer scratch(scratch_size());
      if (!scratch.p) return failed.store(true, std::memory_order_relaxed);
      Patch patch = patch_of(phase, from);
      if (!direct())
        return dense_kernels().conv_product(type, patch, 0, filters_of(phase, unit % groups), rows, begin * block,
                                            std::min(end * block, all.count()), scratch.p, to, to_row);
      (slices ? patch.places.d : patch.places.h) = end - begin;
      patch.planes = from + begin * (slices ? all.d_step : all.h_step) * item();
      dense_kernels().conv_direct(type, patch, 1, 0, filters_of(phase, unit % groups), rows, scratch.p, to + begin * block * item(),
                                  to_row);
    });
    if (scattered && turn == beside - 1)
      parallel(rows, grain_of(static_cast<double>(beside * to_row)), [&](ptrdiff_t begin, ptrdiff_t end) {
        put(&phases[i - static_cast<size_t>(turn)], results + begin * to_row * item(), to_row, rows * to_row, end - begin,
            target(unit) + begin * plane * item());
      });
  }
  return !failed.load();
}

// ---- the gradient of the weight

// At most this many elements of a patch, or results, are dot products; more are a product.
constexpr Py_ssize_t kDotDepth = 32, kDotRows = 4;

struct WeightGradient {
  DType type;
  const Geometry& g;
  const char *grad, *images;
  char* out;
  Planes planes;
  Phase phase;

  bool run();

 private:
  bool dots() const { return planes.laid && (g.patch() <= kDotDepth || g.out_group() <= kDotRows); }
  ptrdiff_t item() const { return item_size(type); }
  bool sum_products(Py_ssize_t from, Py_ssize_t to, Py_ssize_t group, Py_ssize_t c_from, Py_ssize_t c_to, char* sums) const;
  bool sum_dots(Py_ssize_t from, Py_ssize_t to, Py_ssize_t group, Py_ssize_t n, char* sums) const;
  template <class T>
  void add_parts(char* sums, Py_ssize_t parts) const;
};

// Adds to sums[k][o] what the images [from, to) give, for the channels [c_from, c_to).
bool WeightGradient::sum_products(Py_ssize_t from, Py_ssize_t to, Py_ssize_t group, Py_ssize_t c_from, Py_ssize_t c_to,
                                  char* sums) const {
  const DenseKernels& kernels = dense_kernels();
  const Py_ssize_t outputs = g.out_group(), places = g.places(), channels = c_to - c_from;
  // Small images are taken together, so that sums are not loaded and stored for few places.
  const Py_ssize_t together = planes.laid ? std::clamp<Py_ssize_t>(512 / places, 1, to - from) : to - from;
  const ptrdiff_t image_pitch = g.in_channels * g.in_plane();
  const ptrdiff_t pitch = planes.laid ? channels * planes.channel_pitch() : image_pitch;
  Buffer laid(planes.laid ? static_cast<double>(pitch) * static_cast<double>(together) * static_cast<double>(item()) : 0);
  Buffer scratch(static_cast<double>(kernels.conv_weight_scratch(outputs)));
  if (!laid.p || !scratch.p) return false;
  for (Py_ssize_t image = from; image < to; image += together) {
    const Py_ssize_t n = std::min(together, to - image);
    const char* source = images + (image * g.in_channels + group * g.in_group() + c_from) * g.in_plane() * item();
    if (planes.laid)
      for (Py_ssize_t i = 0; i < n; i++)
        planes.lay(type, source + i * image_pitch * item(), 0, channels, laid.p + i * pitch * item());
    // The offsets of the first channels are those of all the others, seen from their first plane.
    const Patch patch{planes.laid ? laid.p : source, phase.offsets.data(), channels * g.taps(), phase.places, planes.laid};
    kernels.conv_weight(type, patch, n, pitch, grad + (image * g.out_channels + group * outputs) * places * item(), places,
                        g.out_channels * places, outputs, scratch.p, sums + c_from * g.taps() * outputs * item());
  }
  return true;
}

// Adds to sums[group][o][k][lane], for n groups. The gradient is laid out with rows as far apart as those of the planes.
bool WeightGradient::sum_dots(Py_ssize_t from, Py_ssize_t to, Py_ssize_t group, Py_ssize_t n, char* sums) const {
  const DenseKernels& kernels = dense_kernels();
  const Py_ssize_t outputs = g.out_group(), width = phase.places.h_step;
  const ptrdiff_t more = (kernels.lane_bytes / item() + width - 1) / width;  // rows of zeros for the last register
  const Axes axes{Axis{g.out[0], 0, 1, g.out[0]}, Axis{g.out[1], 0, 1, g.out[1] + more}, Axis{g.out[2], 0, 1, width}};
  const ptrdiff_t slice = axes[1].plane * width, pitch = slice * g.out[0];
  const ptrdiff_t group_pitch = planes.channels * planes.channel_pitch();
  const double row = static_cast<double>(slice) * static_cast<double>(item());
  Buffer laid(static_cast<double>(n) * planes.elements() * static_cast<double>(item())), inside(row);
  Buffer laid_grad(static_cast<double>(n * outputs * g.out[0]) * row);
  if (!laid.p || !laid_grad.p || !inside.p) return false;
  std::memset(inside.p, 0, static_cast<size_t>(slice * item()));
  for (Py_ssize_t h = 0; h < g.out[1]; h++)
    std::memset(inside.p + h * width * item(), 0xff, static_cast<size_t>(g.out[2] * item()));
  for (Py_ssize_t image = from; image < to; image++) {
    planes.lay(type, images + (image * g.in_channels + group * g.in_group()) * g.in_plane() * item(), 0, n * planes.channels,
               laid.p);
    kernels.lay_planes(type, grad + (image * g.out_channels + group * outputs) * g.places() * item(), g.places(), axes.data(),
                       n * outputs, laid_grad.p, pitch);
    const Patch patch{laid.p, phase.offsets.data(), g.patch(), phase.places, true};
    kernels.conv_dots(type, patch, n, group_pitch, laid_grad.p, pitch, slice, outputs, inside.p, sums);
  }
  return true;
}

// out = the sums of the parts, added in their order.
template <class T>
void WeightGradient::add_parts(char* sums, Py_ssize_t parts) const {
  const Py_ssize_t patch = g.patch(), outputs = g.out_group(), lanes = dots() ? dense_kernels().lane_bytes / item() : 1;
  const Py_ssize_t size = patch * outputs;
  parallel(g.groups, grain_of(static_cast<double>(size * parts * lanes)), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (Py_ssize_t group = begin; group < end; group++) {
      T* to = reinterpret_cast<T*>(out) + group * size;
      T* first = reinterpret_cast<T*>(sums) + group * size * lanes;
      for (Py_ssize_t part = 1; part < parts; part++) {
        const T* from = first + part * g.groups * size * lanes;
        for (Py_ssize_t i = 0; i < size * lanes; i++) first[i] += from[i];
      }
      if (dots()) dense_kernels().add_lanes(type, first, size, to);
      else dense_kernels().transpose(type, first, patch, outputs, to);
    }
  });
}

// Tasks are groups, parts of the images and, in a product, some channels. Images are summed in a fixed number of parts,
// whatever the threads, so that the rounding is always the same; channels do not meet in a sum.
bool WeightGradient::run() {
  const Py_ssize_t size = g.patch() * g.out_group(), lanes = dots() ? dense_kernels().lane_bytes / item() : 1;
  const double part_size = static_cast<double>(g.groups) * static_cast<double>(size) * static_cast<double>(lanes * item());
  // A part has as many places as make adding it up cheap, and all parts some memory at most.
  constexpr double kLeastPlaces = 512, kSums = 1 << 22;
  const double all_places = static_cast<double>(g.batch) * static_cast<double>(g.places());
  const double most_parts = std::min({16.0, all_places / kLeastPlaces, kSums / part_size});
  const bool many = g.work() >= kParallelWork;
  const Py_ssize_t parts = many && g.groups < 16 ? std::clamp<Py_ssize_t>(static_cast<Py_ssize_t>(most_parts), 1, g.batch) : 1;
  const Py_ssize_t tasks_wanted = many && get_num_threads() > 1 ? 4 * get_num_threads() : 1;
  const Py_ssize_t cuts = dots() ? 1 : std::clamp<Py_ssize_t>(tasks_wanted / (g.groups * parts), 1, g.in_group());
  Buffer sums(part_size * static_cast<double>(parts));
  if (!sums.p) return false;
  std::memset(sums.p, 0, static_cast<size_t>(part_size) * static_cast<size_t>(parts));
  std::atomic<bool> failed{false};
  const Py_ssize_t tasks = g.groups * parts * cuts;
  const double laid_size = planes.elements() * static_cast<double>(item());
  const Py_ssize_t together = static_cast<Py_ssize_t>(std::clamp(kLaidBytes / (laid_size + 1), 1.0, 64.0));
  parallel(tasks, grain_of(g.work() / static_cast<double>(tasks)), [&](ptrdiff_t begin, ptrdiff_t end) {
    Py_ssize_t n;
    for (Py_ssize_t task = begin; task < end; task += n) {
      const Py_ssize_t cut = task % cuts, group = task / cuts % g.groups, part = task / cuts / g.groups;
      const Py_ssize_t from = part * g.batch / parts, to = (part + 1) * g.batch / parts;
      n = dots() ? std::min({together, end - task, g.groups - group}) : 1;
      char* own = sums.p + (part * g.groups + group) * size * lanes * item();
      const bool worked = dots() ? sum_dots(from, to, group, n, own)
                                 : sum_products(from, to, group, cut * g.in_group() / cuts, (cut + 1) * g.in_group() / cuts, own);
      if (!worked) failed.store(true, std::memory_order_relaxed);
    }
  });
  if (type == DType::F32) add_parts<float>(sums.p, parts);
  else add_parts<double>(sums.p, parts);
  return !failed.load();
}

// ---- the three kernels

PyObject* no_memory_or(bool worked, Ref result, DType type) {
  return worked ? rounded(static_cast<Ref&&>(result), type) : PyErr_NoMemory();
}

// Whether two tensors of one to three dimensions, batch and channels have a type that is computed here.
bool fits(const TensorInfo& a, const TensorInfo& b) {
  return computed(a.dtype) && b.dtype == a.dtype && a.ndim >= 3 && a.ndim <= 5 && b.ndim == a.ndim;
}

bool fits(const TensorInfo& bias, DType type) { return !bias.tensor || (bias.dtype == type && bias.ndim == 1); }

bool check_bias(const TensorInfo& bias, const Py_ssize_t* w, const Geometry& g, Py_ssize_t channels) {
  if (!bias.tensor || bias.shape[0] == channels) return true;
  PyErr_Format(PyExc_RuntimeError,
               "Given weight of size %s, expected bias to be 1-dimensional with %zd elements, but got bias of size [%zd] instead",
               sizes_text(w, g.dims + 2).c_str(), channels, bias.shape[0]);
  return false;
}

// (x, w, bias or None, stride, padding, dilation, groups)
PyObject* convolution(PyObject*, PyObject* const* args, Py_ssize_t count) {
  TensorInfo x, w, bias;
  Geometry g;
  if (!check_count("convolution", count, 7, 7)) return nullptr;
  if (!read_tensor(args[0], x) || !read_tensor(args[1], w) || (args[2] != Py_None && !read_tensor(args[2], bias)) || !fits(x, w) ||
      !fits(bias, x.dtype))
    return not_implemented();
  if (!read_geometry(x.ndim - 2, x.shape, w.shape, args + 3, g) || !check_bias(bias, w.shape, g, g.out_channels)) return nullptr;
  Py_ssize_t shape[5] = {g.batch, g.out_channels};
  for (int i = 0; i < g.dims; i++) shape[2 + i] = g.out[3 - g.dims + i];
  const DeviceType device = device_of(x, w, bias);
  const DType own = x.dtype, type = compute_type(own);
  if (device == DeviceType::Meta) return new_ref(own, g.dims + 2, shape, device).release();
  Ref xc = widened(x.tensor, type), wc = xc ? widened(w.tensor, type) : Ref();
  Ref bc = wc && bias.tensor ? contiguous_as(bias.tensor, type) : Ref();
  if (!wc || (bias.tensor && !bc)) return nullptr;
  if (g.dims == 2 && winograd_pays(g)) {
    const TensorInfo b = bc ? info_of(as_tensor(bc)) : TensorInfo{};
    return rounded(Ref(winograd_forward(info_of(as_tensor(xc)), info_of(as_tensor(wc)), b, g)), own);
  }
  xc = contiguous(as_tensor(xc));
  wc = xc ? contiguous(as_tensor(wc)) : Ref();
  if (!wc) return nullptr;
  Ref result = new_ref(type, g.dims + 2, shape, device);
  if (!result || as_tensor(result)->numel() == 0) return rounded(static_cast<Ref&&>(result), own);
  Correlation c{.type = type,
                .batch = g.batch,
                .groups = g.groups,
                .rows = g.out_group(),
                .plane = g.places(),
                .images = data_of(xc),
                .weights = data_of(wc),
                .bias = bc ? data_of(bc) : nullptr,
                .out = data_of(result),
                .weights_row = g.patch(),
                .weights_group = g.out_group() * g.patch(),
                .work = g.work(),
                .scattered = false,
                .planes = {},
                .phases = {}};
  bool worked;
  {
    Unlocked unlocked(g.work() > kParallelWork, {as_tensor(xc), as_tensor(wc), as_tensor(bc), as_tensor(result)});
    worked = image_planes(g, c.item(), c.planes, c.phases.emplace_back(), bias.tensor != nullptr) && c.run();
  }
  return no_memory_or(worked, static_cast<Ref&&>(result), own);
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
  PyErr_Format(PyExc_RuntimeError, "expected a gradient of size %s, got %s", sizes_text(shape, g.dims + 2).c_str(),
               shape_text(grad).c_str());
  return false;
}

// So many sizes; false with an exception set.
bool shape_of(PyObject* object, int ndim, Py_ssize_t* shape) {
  int given;
  if (!shape_argument(object, shape, given)) return false;
  if (given == ndim) return true;
  PyErr_Format(PyExc_ValueError, "expected a shape of %d sizes, got %d", ndim, given);
  return false;
}

// (g, w, bias or None, x_shape, stride, padding, dilation, groups) -> the gradient of the input, plus the bias
PyObject* convolution_input(PyObject*, PyObject* const* args, Py_ssize_t count) {
  TensorInfo grad, w, bias;
  Geometry g;
  Py_ssize_t shape[kMaxDims];
  if (!check_count("convolution_input", count, 8, 8)) return nullptr;
  if (!read_tensor(args[0], grad) || !read_tensor(args[1], w) || (args[2] != Py_None && !read_tensor(args[2], bias)) ||
      !fits(grad, w) || !fits(bias, grad.dtype))
    return not_implemented();
  if (!shape_of(args[3], grad.ndim, shape) || !read_geometry(grad.ndim - 2, shape, w.shape, args + 4, g) ||
      !check_gradient(grad, g) || !check_bias(bias, w.shape, g, g.in_channels))
    return nullptr;
  const DeviceType device = device_of(grad, w, bias);
  const DType own = grad.dtype, type = compute_type(own);
  if (device == DeviceType::Meta) return new_ref(own, g.dims + 2, shape, device).release();
  Ref gc = widened(grad.tensor, type), wc = gc ? widened(w.tensor, type) : Ref();
  Ref bc = wc && bias.tensor ? contiguous_as(bias.tensor, type) : Ref();
  if (!wc || (bias.tensor && !bc)) return nullptr;
  if (g.dims == 2 && !bc && winograd_pays(g))
    return rounded(Ref(winograd_grad_input(info_of(as_tensor(gc)), info_of(as_tensor(wc)), g)), own);
  gc = contiguous(as_tensor(gc));
  wc = gc ? contiguous(as_tensor(wc)) : Ref();
  if (!wc) return nullptr;
  Ref result = new_ref(type, g.dims + 2, shape, device);
  if (!result || as_tensor(result)->numel() == 0) return rounded(static_cast<Ref&&>(result), own);
  Correlation c{.type = type,
                .batch = g.batch,
                .groups = g.groups,
                .rows = g.in_group(),
                .plane = g.in_plane(),
                .images = data_of(gc),
                .weights = data_of(wc),
                .bias = bc ? data_of(bc) : nullptr,
                .out = data_of(result),
                .weights_row = g.taps(),
                .weights_group = g.out_group() * g.patch(),
                .work = g.work(),
                .scattered = g.stride[0] > 1 || g.stride[1] > 1 || g.stride[2] > 1,
                .beside = std::min(g.stride[2], g.in[2]),
                .planes = {},
                .phases = {}};
  bool worked;
  {
    Unlocked unlocked(g.work() > kParallelWork, {as_tensor(gc), as_tensor(wc), as_tensor(bc), as_tensor(result)});
    worked = gradient_planes(g, c.item(), c.planes, c.phases, bias.tensor != nullptr) && c.run();
  }
  return no_memory_or(worked, static_cast<Ref&&>(result), own);
}

// (g, x, w_shape, stride, padding, dilation, groups) -> the gradient of the weight
PyObject* convolution_weight(PyObject*, PyObject* const* args, Py_ssize_t count) {
  TensorInfo grad, x;
  Geometry g;
  Py_ssize_t shape[kMaxDims];
  if (!check_count("convolution_weight", count, 7, 7)) return nullptr;
  if (!read_tensor(args[0], grad) || !read_tensor(args[1], x) || !fits(grad, x)) return not_implemented();
  if (!shape_of(args[2], grad.ndim, shape) || !read_geometry(grad.ndim - 2, x.shape, shape, args + 3, g) ||
      !check_gradient(grad, g))
    return nullptr;
  const DeviceType device = device_of(grad, x);
  const DType own = grad.dtype, type = compute_type(own);
  if (device == DeviceType::Meta) return new_ref(own, g.dims + 2, shape, device).release();
  Ref gc = widened(grad.tensor, type), xc = gc ? widened(x.tensor, type) : Ref();
  if (!xc) return nullptr;
  if (g.dims == 2 && g.batch > 0 && g.in_channels > 0 && winograd_pays(g))
    return rounded(Ref(winograd_grad_weight(info_of(as_tensor(gc)), info_of(as_tensor(xc)), g)), own);
  gc = contiguous(as_tensor(gc));
  xc = gc ? contiguous(as_tensor(xc)) : Ref();
  Ref result = xc ? zeros_ref(type, g.dims + 2, shape, device) : Ref();
  if (!result || as_tensor(result)->numel() == 0 || as_tensor(gc)->numel() == 0) return rounded(static_cast<Ref&&>(result), own);
  WeightGradient c{type, g, data_of(gc), data_of(xc), data_of(result), {}, {}};
  bool worked;
  {
    Unlocked unlocked(g.work() > kParallelWork, {as_tensor(gc), as_tensor(xc), as_tensor(result)});
    worked = image_planes(g, item_size(type), c.planes, c.phase, false) && c.run();
  }
  return no_memory_or(worked, static_cast<Ref&&>(result), own);
}

}  // namespace

PyMethodDef kConvMethods[] = {
    long_kernel<convolution>("convolution", "convolution(x, w, bias_or_None, stride, padding, dilation, groups)"),
    long_kernel<convolution_input>("convolution_input",
                                   "convolution_input(g, w, bias_or_None, x_shape, stride, padding, dilation, groups)"),
    long_kernel<convolution_weight>("convolution_weight", "convolution_weight(g, x, w_shape, stride, padding, dilation, groups)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace rushlight
