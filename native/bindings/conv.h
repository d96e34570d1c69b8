// The sizes of a two-dimensional convolution, for the files that compute one.
#pragma once
#include "bindings/bindings.h"

namespace rushlight {

struct Geometry {
  Window window;
  Py_ssize_t batch, in_channels, out_channels, groups;
  Py_ssize_t patch() const { return in_channels / groups * window.kernel_h * window.kernel_w; }
  Py_ssize_t places() const { return window.out_h * window.out_w; }
  Py_ssize_t in_plane() const { return window.in_h * window.in_w; }
  Py_ssize_t padded_plane() const { return (window.in_h + 2 * window.pad_h) * (window.in_w + 2 * window.pad_w); }
  // Every output element is a product with one input plane: no patches needed.
  bool pointwise() const {
    const Window& w = window;
    return w.kernel_h == 1 && w.kernel_w == 1 && w.stride_h == 1 && w.stride_w == 1 && w.pad_h == 0 && w.pad_w == 0;
  }
};

}  // namespace rushlight
