// Large products by cuBLAS and convolutions by cuDNN, on devices of CUDA's driver.
//
// Both are opened once for each device, or throw Failure with the reason. Calls are queued on the
// device's stream. They return why the library refuses them as they stand, such as a type
// that cuDNN does not have, or "" when all is done.
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

// Of images x, kernels w and results y one is wanted. All are contiguous, of two or three
// dimensions of space.
struct Convolution {
  Wanted wanted;
  DType dtype;
  char *x, *w, *y;
  std::vector<int> x_sizes{}, w_sizes{}, y_sizes{}, padding{}, stride{}, dilation{};
  int groups = 1;
  bool tf32 = false, deterministic = false;
};

void open_cublas(int device, const std::string& path);
void open_cudnn(int device, const std::string& path);
std::string multiply(int device, const Product& product);
std::string convolve(int device, const Convolution& convolution);

}  // namespace rushlight::devices
