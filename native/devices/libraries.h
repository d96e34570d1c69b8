// Large products by cuBLAS and convolutions by cuDNN, on devices of CUDA's driver where these libraries can be opened.
//
// Both are opened once for each device, and throw Failure with the reason where they cannot be. A call is queued on the device's
// stream. A call that a library refuses as it stands, such as one of a type that it does not know, says why; "" is done.
#pragma once
#include <vector>

#include "devices/device.h"
#include "kernels/kernels.h"

namespace rushlight::devices {

// A stack of matrices whose rows lie as they are or, turned, whose columns do.
struct Matrices {
  char* first;
  bool turned;
  int64_t line, stack;  // elements from one line to the next, and from one matrix to the next
};

// out = alpha * a @ b + beta * out
struct Product {
  DType dtype;
  int64_t rows, columns, depth, stacks;
  Matrices a, b, out;
  double alpha, beta;
  bool tf32, reduced;  // float32 as TF32; parts of a sum of halves may be added up as halves
};

enum class Wanted : uint8_t { Output, Input, Weight };

// Of images x, kernels w and results y, of which one is wanted; all are contiguous, of at least two dimensions of space.
struct Convolution {
  Wanted wanted;
  DType dtype;
  char *x, *w, *y;
  std::vector<int> x_sizes, w_sizes, y_sizes, padding, stride, dilation;
  int groups;
  bool tf32, deterministic;
};

void open_cublas(int device, const std::string& path);
void open_cudnn(int device, const std::string& path);
std::string multiply(int device, const Product& product);
std::string convolve(int device, const Convolution& convolution);

}  // namespace rushlight::devices
