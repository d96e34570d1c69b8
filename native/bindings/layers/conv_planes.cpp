// Where the patches of a convolution are: how images and gradients are laid out, and which of their elements a place reads.
#include "bindings/layers/conv_products.h"

namespace rushlight::conv {

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

}  // namespace rushlight::conv
