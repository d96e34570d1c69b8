// 3x3 convolutions of stride 1 by Winograd's transforms (kernels/isa/layers/winograd.cpp), for the kernels of conv.cpp.
#pragma once
#include "bindings/layers/conv.h"

namespace rushlight {

// Whether a convolution of float32 or float64 that is not on meta is to be computed so.
bool winograd_pays(const Geometry& g);

// As the kernels of conv.cpp, of arguments that those have checked. The bias may be without tensor; the gradient of the weight is of
// at least one image and channel.
Ref winograd_forward(const TensorInfo& x, const TensorInfo& w, const TensorInfo& bias, const Geometry& g);
Ref winograd_grad_input(const TensorInfo& grad, const TensorInfo& w, const Geometry& g);
Ref winograd_grad_weight(const TensorInfo& grad, const TensorInfo& x, const Geometry& g);

}  // namespace rushlight
