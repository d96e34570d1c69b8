// The table of the kernels that are not pointwise: reductions, softmax, small products, pooling, optimizer steps.
//
// Like Kernels (kernels.h): isa/*.cpp is compiled once per instruction set, dense_kernels() is the table of the set
// that kernels() chose. All of them work on one thread; the bindings split the work. Strides of rows are in bytes and
// may be anything (0, negative); elements within a row are adjacent.
#pragma once
#include "kernels/kernels.h"

namespace rushlight {

// Any and All give Bool, Sum and Prod of integers I64, the others the element type of the input.
enum class Reduce : uint8_t { Sum, Prod, Max, Min, SumSquares, Any, All, Count };

struct Reducer {
  DType result = DType::Count;
  // out[i] = the reduction of the n elements of row i.
  void (*rows)(const char* in, ptrdiff_t rows, ptrdiff_t row_stride, ptrdiff_t n, void* out) = nullptr;
  // out[j] = the reduction of column j over n rows; `inner` columns.
  void (*columns)(const char* in, ptrdiff_t n, ptrdiff_t row_stride, ptrdiff_t inner, void* out) = nullptr;
};

// A matrix operand in elements: element (i, j) is data[i * row + j * column].
struct MatrixView {
  const void* data;
  ptrdiff_t row, column;
};

// The numbers of an optimizer step, in double as the Python side gives them.
struct SgdOptions {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize;
};
struct AdamOptions {
  double lr, beta1, beta2, eps, weight_decay;
  bool amsgrad, maximize, decoupled;
};

// The geometry of one image plane under a window.
struct Window {
  ptrdiff_t in_h, in_w, out_h, out_w, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
};

// Rows [from, to) of an output.
struct Band {
  ptrdiff_t from, to;
};

// One dimension of an image and of a plane that shows it: element i of the plane is element first + i * step of the image,
// 0 where that is outside.
struct Axis {
  ptrdiff_t image, first, step, plane;
};

// The places of a result, of three dimensions: place (d, h, w) reads its planes at d * d_step + h * h_step + w, plus the offset
// of what it reads.
struct Grid {
  ptrdiff_t d, h, w, d_step, h_step;
  ptrdiff_t count() const { return d * h * w; }
};

// What every place of an image's group reads: element k of its patch is planes[offsets[k] + where the place is]; where
// offsets[k] < 0 it is 1, which the bias is multiplied by. `spare`: a register may be read behind any row of a plane.
struct Patch {
  const void* planes;
  const ptrdiff_t* offsets;
  ptrdiff_t depth;
  Grid places;
  bool spare;
};

constexpr ptrdiff_t kSlackBytes = 256;  // what kernels may read behind planes: a block of registers of the widest set

struct DenseKernels {
  const char* isa;

  // --- reductions.cpp --- (F32 and F64 unless said; a null function pointer where the element type has no kernel)
  Reducer (*reducer)(Reduce op, DType dtype);
  // out[i] = the first index of the largest (smallest) element of row i, of the first NaN if there is one. Real types.
  void (*(*arg_rows)(bool largest, DType dtype))(const char* in, ptrdiff_t rows, ptrdiff_t row_stride, ptrdiff_t n, int64_t* out);
  // out[i] = sum of (x - mean)^2 over row i, by divisor; mean[i] may be null.
  void (*variance_rows)(DType dtype, const char* in, ptrdiff_t rows, ptrdiff_t row_stride, ptrdiff_t n, double divisor, void* out,
                        void* mean);
  // Running sums (products) along the middle of a contiguous (outer, n, inner); accumulated in double, integers in
  // int64. Element types: F32, F64, and I64 for integers.
  void (*cumulate)(bool product, DType dtype, const void* in, ptrdiff_t outer, ptrdiff_t n, ptrdiff_t inner, void* out);

  // --- softmax.cpp --- over the middle of a contiguous (outer, n, inner)
  void (*softmax)(bool log, DType dtype, const void* in, ptrdiff_t outer, ptrdiff_t n, ptrdiff_t inner, void* out);
  void (*softmax_backward)(bool log, DType dtype, const void* grad, const void* y, ptrdiff_t outer, ptrdiff_t n, ptrdiff_t inner,
                           void* out);
  // out = e^x over n elements.
  void (*exp)(DType dtype, const void* x, ptrdiff_t n, void* out);
  // out[i] = log of the sum of e^x over row i.
  void (*logsumexp_rows)(DType dtype, const char* in, ptrdiff_t rows, ptrdiff_t row_stride, ptrdiff_t n, void* out);

  // --- norm.cpp --- over rows of n adjacent elements
  // y = (x - mean) * rstd * weight + bias; weight and bias of n elements or null.
  void (*layer_norm)(DType dtype, const void* x, ptrdiff_t rows, ptrdiff_t n, const void* weight, const void* bias, double eps,
                     void* y, void* mean, void* rstd);
  // grad_x may be null; grad_weight and grad_bias (n elements, added to) may be null.
  void (*layer_norm_backward)(DType dtype, const void* grad, const void* x, const void* mean, const void* rstd, const void* weight,
                              ptrdiff_t rows, ptrdiff_t n, void* grad_x, void* grad_weight, void* grad_bias);
  // Sum of (x - y)^2 over n elements; and out = (x - y) * factor.
  double (*squared_difference)(DType dtype, const void* x, const void* y, ptrdiff_t n);
  void (*scaled_difference)(DType dtype, const void* x, const void* y, double factor, ptrdiff_t n, void* out);
  // x *= factor.
  void (*scale)(DType dtype, void* x, double factor, ptrdiff_t n);
  // Sets every of `rows` rows of n elements to the bias.
  void (*fill_rows)(DType dtype, const void* bias, ptrdiff_t rows, ptrdiff_t n, void* out);

  // --- gemm.cpp ---
  // c (m x n, rows of ldc elements) = a (m x k) @ b (k x n) + bias (n elements or null); accumulate adds to c instead.
  // Any strides. For products too small for a BLAS call to pay.
  void (*small_gemm)(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const MatrixView& a, const MatrixView& b, const void* bias,
                     bool accumulate, void* c, ptrdiff_t ldc);

  // --- planes.cpp --- images into planes whose rows have every stride-th element, and back
  // Pitches are elements from one channel to the next. Up to one register is written behind each plane.
  void (*lay_planes)(DType dtype, const void* image, ptrdiff_t image_pitch, const Axis* axes, ptrdiff_t channels, void* planes,
                     ptrdiff_t plane_pitch);
  // image[first + i * step] = plane[i] in each dimension: all of them inside the image. In the last dimension there are `beside`
  // planes, beside_pitch apart, for first + 0, 1, ...: their elements take turns.
  void (*put_planes)(DType dtype, const void* planes, ptrdiff_t plane_pitch, const Axis* axes, ptrdiff_t beside,
                     ptrdiff_t beside_pitch, ptrdiff_t channels, void* image, ptrdiff_t image_pitch);

  // --- conv_product.cpp --- products with patches, by tiles
  // Weights as conv_product (sliced) and conv_direct take them: w[row * i + columns[k]], bias[i] where columns[k] < 0; rows * depth
  // elements.
  void (*pack_filters)(DType dtype, const void* w, ptrdiff_t row, const ptrdiff_t* columns, ptrdiff_t rows, ptrdiff_t depth,
                       const void* bias, bool sliced, void* packed);
  // out[i][p] = sum over k of filter[i][k] * patch[k][p] for the places p in [from, to), those of one image after those of another,
  // whose planes are planes_pitch apart; rows of out are out_row apart.
  void (*conv_product)(DType dtype, const Patch& patch, ptrdiff_t planes_pitch, const void* packed, ptrdiff_t rows, ptrdiff_t from,
                       ptrdiff_t to, void* scratch, void* out, ptrdiff_t out_row);
  ptrdiff_t conv_product_scratch;  // in bytes

  // --- conv_weight.cpp --- the gradient of the weight as a product over places
  // sums[k][o] += sum over images and places of patch[k][p] * grad[o][p]; images are planes_pitch and grad_pitch apart.
  void (*conv_weight)(DType dtype, const Patch& patch, ptrdiff_t images, ptrdiff_t planes_pitch, const void* grad,
                      ptrdiff_t grad_row, ptrdiff_t grad_pitch, ptrdiff_t outputs, void* scratch, void* sums);
  ptrdiff_t (*conv_weight_scratch)(ptrdiff_t outputs);  // in bytes

  // --- conv_direct.cpp --- groups of few channels: sums in registers, nothing is packed
  // As conv_product, of all places and of several groups, whose planes are `planes_pitch` apart; their results follow each other.
  void (*conv_direct)(DType dtype, const Patch& patch, ptrdiff_t groups, ptrdiff_t planes_pitch, const void* packed, ptrdiff_t rows,
                      void* scratch, void* out, ptrdiff_t out_row);
  ptrdiff_t (*conv_direct_scratch)(DType dtype, const Grid& places);  // in bytes
  // sums[group][o][k][lane] += sum over places, in lanes, of patch[k][p] * grad[o][p]. `grad` has its rows as far apart as the
  // planes have, slices grad_slice and outputs grad_row elements, and 0 between them; `inside` has all bits set at the places of a
  // slice, and no others.
  void (*conv_dots)(DType dtype, const Patch& patch, ptrdiff_t groups, ptrdiff_t planes_pitch, const void* grad, ptrdiff_t grad_row,
                    ptrdiff_t grad_slice, ptrdiff_t outputs, const void* inside, void* sums);
  // out[j][i] = in[i][j].
  void (*transpose)(DType dtype, const void* in, ptrdiff_t rows, ptrdiff_t columns, void* out);
  // out[i] += the sum of the lanes of sums[i], which have lane_bytes together.
  void (*add_lanes)(DType dtype, const void* sums, ptrdiff_t n, void* out);
  ptrdiff_t lane_bytes;

  // --- conv.cpp --- some planes at a time
  void (*max_pool)(DType dtype, const void* planes, ptrdiff_t channels, const Window& window, void* out, int64_t* indices);
  void (*avg_pool)(DType dtype, const void* planes, ptrdiff_t channels, const Window& window, bool count_include_pad,
                   double divisor, void* out);
  void (*avg_pool_backward)(DType dtype, const void* grad, ptrdiff_t channels, const Window& window, bool count_include_pad,
                            double divisor, void* planes);

  // --- optimizers.cpp --- in place over n elements
  // `buffer` null without momentum; first: the buffer is set to the gradient rather than mixed with it.
  void (*sgd)(DType dtype, void* param, const void* grad, void* buffer, bool first, ptrdiff_t n, const SgdOptions& o);
  void (*adam)(DType dtype, void* param, const void* grad, void* exp_avg, void* exp_avg_sq, void* max_exp_avg_sq, ptrdiff_t n,
               double step, const AdamOptions& o);

  // --- normals.cpp ---
  // Uniforms of [0, 1) made normal in place, in groups of sixteen: elements j and j + 8 of a group are a pair.
  void (*normals)(float* data, ptrdiff_t sixteens, float mean, float std);
};

const DenseKernels& dense_kernels();

}  // namespace rushlight
