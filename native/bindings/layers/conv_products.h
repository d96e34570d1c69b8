// Common parts of conv.cpp's three kernels: images laid out in planes, products with patches.
#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include "bindings/layers/conv.h"

namespace rushlight::conv {

constexpr double kParallelWork = 1 << 18;  // multiplications worth a thread

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

// The image of a forward convolution: for each dimension the residues of kernel positions by the stride have their planes. False
// where they would fit into no memory.
bool image_planes(const Geometry& g, ptrdiff_t item, Planes& planes, Phase& phase, bool bias);
// The gradient, as the input's gradient reads it: a phase for each residue of the input's positions by the stride.
bool gradient_planes(const Geometry& g, ptrdiff_t item, Planes& planes, std::vector<Phase>& phases, bool bias);

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
  const Workspace<>* filters = nullptr;  // packed, once `run` has begun

  ptrdiff_t item() const { return item_size(type); }
  bool run();

 private:
  bool direct() const;
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

// The gradient of the weight.
struct WeightGradient {
  DType type;
  const Geometry& g;
  const char *grad, *images;
  char* out;
  Planes planes;
  Phase phase;

  bool run();

 private:
  bool dots() const;
  ptrdiff_t item() const { return item_size(type); }
  bool sum_products(Py_ssize_t from, Py_ssize_t to, Py_ssize_t group, Py_ssize_t c_from, Py_ssize_t c_to, char* sums) const;
  bool sum_dots(Py_ssize_t from, Py_ssize_t to, Py_ssize_t group, Py_ssize_t n, char* sums) const;
  template <class T>
  void add_parts(char* sums, Py_ssize_t parts) const;
};

}  // namespace rushlight::conv
