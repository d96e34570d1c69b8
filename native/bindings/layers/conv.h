// The sizes of a convolution, for the files that compute one.
#pragma once
#include "bindings/kernel.h"

namespace rushlight {

// Of one to three dimensions: where there are fewer, the first ones have size 1.
struct Geometry {
  int dims;  // 1 to 3
  Py_ssize_t batch, in_channels, out_channels, groups;
  Py_ssize_t in[3], out[3], kernel[3], stride[3], pad[3], dilation[3];
  Window window;  // the last two dimensions
  Py_ssize_t in_plane() const { return in[0] * in[1] * in[2]; }
  Py_ssize_t places() const { return out[0] * out[1] * out[2]; }
  Py_ssize_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  Py_ssize_t in_group() const { return in_channels / groups; }
  Py_ssize_t out_group() const { return out_channels / groups; }
  Py_ssize_t patch() const { return in_group() * taps(); }
  // Every result is a product with one place of the input: nothing is laid out.
  bool pointwise() const {
    for (int i = 0; i < 3; i++)
      if (kernel[i] != 1 || stride[i] != 1 || pad[i] != 0) return false;
    return true;
  }
  // As a double: sizes that fit into no memory are refused later.
  double work() const {
    return static_cast<double>(batch) * static_cast<double>(out_channels) * static_cast<double>(patch()) *
           static_cast<double>(places());
  }
};

}  // namespace rushlight
