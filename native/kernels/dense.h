// The table of the kernels that are not pointwise: reductions, softmax, small products, pooling, optimizer steps.
//
// Like Kernels (kernels.h): isa/*.cpp is compiled once per instruction set, dense_kernels() is the table of the set
// that kernels() chose. All of them work on one thread; the bindings split the work. Strides of rows are in bytes and
// may be anything (0, negative); elements within a row are adjacent.
#pragma once
#include "kernels/kernels.h"

namespace rushlight {

struct FftJob;  // fft.h

// Any and All give Bool, Sum and Prod of integers I64, the others the element type of the input.
enum class Reduce : uint8_t { Sum, Prod, Max, Min, SumSquares, NanSum, Any, All, Count };

struct Reducer {
  DType result = DType::Count;
  // out[i] = the reduction of the n elements of row i.
  void (*rows)(const char* in, ptrdiff_t rows, ptrdiff_t row_stride, ptrdiff_t n, void* out) = nullptr;
  // out[j] = the reduction of column j over n rows; `inner` columns.
  void (*columns)(const char* in, ptrdiff_t n, ptrdiff_t row_stride, ptrdiff_t inner, void* out) = nullptr;
};

struct SmallKernels;  // small.h

// A matrix operand in elements: element (i, j) is data[i * row + j * column].
struct MatrixView {
  const void* data;
  ptrdiff_t row, column;
};

// Blocks of b in a product a @ b: `depth` rows by `columns` columns, whole panels of `width`. Rows of a go `rows` at a time.
struct GemmBlocks {
  ptrdiff_t depth, columns, width, rows;
};
constexpr ptrdiff_t kPanelBytes = 32 << 10;  // the most that a panel takes, packed: depth * width elements

// The numbers of an optimizer step, in double as the Python side gives them.
struct SgdOptions {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize;
};
struct AdamOptions {
  double lr, beta1, beta2, eps, weight_decay;
  bool amsgrad, maximize, decoupled;
  // Of the step: means are divided by the first, roots of squares by the second.
  double correction1 = 1, correction2 = 1;
};

// The geometry of one image plane under a window.
struct Window {
  ptrdiff_t in_h, in_w, out_h, out_w, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
};

// A pooled dimension: `out` windows, of which window i starts at i * stride - pad.
struct PoolAxis {
  ptrdiff_t in, out, kernel, stride, pad, dilation;
};
// The dimensions of a volume under a window; an image is a volume of depth 1.
struct PoolWindow {
  PoolAxis d, h, w;
  ptrdiff_t volume() const { return d.in * h.in * w.in; }
  ptrdiff_t positions() const { return d.out * h.out * w.out; }
};

// Windows [from, to) along a dimension, inside it, and how many elements each counts. Those in [even_from, even_to) start at
// i * stride - pad and have `kernel` elements.
struct Cuts {
  ptrdiff_t in, out;
  const ptrdiff_t *from, *to;
  const double* counts;
  ptrdiff_t kernel, stride, pad, even_from, even_to;
};
struct CutVolume {
  Cuts d, h, w;
  ptrdiff_t divisor;  // instead of what the windows count, if not 0
  ptrdiff_t volume() const { return d.in * h.in * w.in; }
  ptrdiff_t positions() const { return d.out * h.out * w.out; }
};

// `rows` rows of n adjacent elements, `stride` elements apart.
struct PlaneRows {
  ptrdiff_t rows, stride, n;
};
// How many elements, their mean, the sum of the squares of what is off it.
struct Moments {
  double count, mean, squares;
};

// Rows [from, to) of an output.
struct Band {
  ptrdiff_t from, to;
};

// One dimension of an image and of a plane that shows it: element i of the plane is element first + i * step of the image,
// 0 where that is outside.
// Images sampled at places. `few` channels: one is sampled after the other; else the channels of a pixel, and of a place, are adjacent.
enum class Sampled { Bilinear, Nearest, Bicubic };
enum class Beyond { Zeros, Border, Reflection };
struct Steps {
  ptrdiff_t image, place, channel;
};
struct Sampling {
  int n;  // dimensions of an image
  ptrdiff_t batch, channels, pixels, places, sizes[3];
  bool corners, few;
  Sampled mode;
  Beyond beyond;
  Steps in, out;  // of the images, and of the result
};

struct Axis {
  ptrdiff_t image, first, step, plane;
};

// The places of a result, of three dimensions: place (d, h, w) reads its planes at d * d_step + h * h_step + w, plus the offset
// of what it reads.
struct Grid {
  ptrdiff_t d, h, w, d_step, h_step;
  ptrdiff_t count() const { return d * h * w; }
};

// The patches of an image's group: element k at a place is planes[offsets[k] + place], or 1 (for
// the bias) where offsets[k] < 0. `spare`: a register may be read behind any row of a plane.
struct Patch {
  const void* planes;
  const ptrdiff_t* offsets;
  ptrdiff_t depth;
  Grid places;
  bool spare;
};

// Results from this size on are written past the caches: measured, a gain from 16 MB on, a loss at 8 MB, which is then read back.
constexpr ptrdiff_t kLargeResult = 16 << 20;
constexpr ptrdiff_t kSlackBytes = 256;  // what kernels may read behind planes: a block of registers of the widest set
// The kinds of recurrent layers. Each unit has slots, which lie one behind the other (slot 0 of all units, then slot 1, ...):
// Lstm: input, forget, cell and output gate. Gru: new gate, reset gate, update gate, and the state's part of the new gate; the
// last three are what the rows of the recurrent weight lead to. Tanh, Relu: the unit itself.
enum class Cell : uint8_t { Lstm, Gru, Tanh, Relu };
constexpr ptrdiff_t kCellSlots[] = {4, 4, 1, 1};

// One step of some rows. `gates` has slots * units elements a row: the sums without bias, which become the values of the gates.
// `before`: of an Lstm the cells of the step before, of a Gru the state. c: of an Lstm alone. h: unused where the gates are it.
struct CellStep {
  ptrdiff_t rows, units;
  const void* bias;  // slots * units
  void* gates;
  const void* before;
  void *c, *h;
};
// The way back. `grad`: the gradient of the step's result, or null; dh and dc go from the step
// behind to the step before, without the part through the weight; d receives the sums' gradients.
struct CellStepBack {
  ptrdiff_t rows, units;
  const void *gates, *before, *c, *grad;
  void *dh, *dc, *d;
};

// A matrix of any element type: element (i, j) lies at data + i * row + j * column.
struct ByteMatrix {
  char* data;
  ptrdiff_t row, column;
};

// One head of attention: `queries` rows against `keys` rows of `depth` elements, values of `width`. `dtype` is that of query, key, value
// and their gradients; F64 is computed in double, the others in float.
struct AttentionHead {
  ptrdiff_t queries, keys, depth, width;
  double scale;
  bool causal;  // query i sees no key after i
  DType dtype, mask_dtype, noise_dtype;
  ByteMatrix query, key, value;
  ByteMatrix mask;  // queries x keys, null without: added to the scores, or says what may be seen where it is boolean
  ByteMatrix noise;  // queries x keys, null without: the weights are multiplied by it
};

// Inputs and outputs of the gradient of an attention head.
struct AttentionGradient {
  ByteMatrix out, out_grad;  // the result and its gradient, queries x width
  const void* lse;  // of the computing type, as the forward gave it
  ByteMatrix query;  // null where it is not wanted
  void *key, *value;  // of the computing type and added to; null where they are not wanted
  ptrdiff_t key_row, value_row;  // in elements
};

// A 3x3 convolution of stride 1 as winograd.cpp computes it. The sizes down to pad_w are given; winograd_plan adds the others, and
// `group` may be changed after it.
struct WinogradPlan {
  ptrdiff_t batch, channels, outputs;
  ptrdiff_t tile;  // 2 or 4 outputs of a tile, each way
  ptrdiff_t out_h, out_w, pad_h, pad_w;  // a negative padding leaves out the border of the image
  ptrdiff_t tile_rows, tile_columns;  // of an image
  ptrdiff_t pieces;  // into which a row of tiles is cut; each is a unit
  ptrdiff_t units, group;  // of all images; and how many are computed at once
  ptrdiff_t together;  // panels of outputs whose products are made before they are transformed
  ptrdiff_t lanes, panel;  // elements of a register; outputs of a panel
  ptrdiff_t kernel_bytes;  // of the transformed kernels
  // Of the weight's gradient: winograd_sum_plan.
  ptrdiff_t tile_bytes, sum_bytes;  // of the transformed tiles of a group; of the sums
  ptrdiff_t blocks, products;  // tasks of winograd_sum_tiles and of winograd_sum_products, each for one group
};
// Images in elements; one of channel and column is 1.
struct WinogradImages {
  const void* data;
  ptrdiff_t channels, height, width;
  ptrdiff_t image, channel, row, column;  // strides
};
// Kernels of 9 adjacent elements; turned by 180 degrees for the gradient of the input.
struct WinogradKernels {
  const void* data;
  ptrdiff_t output, channel;  // strides, in elements
  bool turned;
};

// How a distance is made of differences: how many are not 0, the sum of their sizes, the root of their squares, the largest size, or
// the root of powers.
enum class Norm : uint8_t { Count, Sum, Root, Most, Power };

struct DenseKernels {
  const char* isa;

  // --- reductions.cpp --- (F32 and F64 unless said; a null function pointer where the element type has no kernel)
  Reducer (*reducer)(Reduce op, DType dtype);
  // out[i] = the first index of the largest (smallest) element of row i, of the first NaN if there is one. Real types.
  void (*(*arg_rows)(bool largest, DType dtype))(const char* in, ptrdiff_t rows, ptrdiff_t row_stride, ptrdiff_t n, int64_t* out);
  // out[i] = sum of (x - mean)^2 over row i, by divisor; mean[i] may be null.
  void (*variance_rows)(DType dtype, const char* in, ptrdiff_t rows, ptrdiff_t row_stride, ptrdiff_t n, double divisor, void* out,
                        void* mean);
  // Running sums (products) along the middle of a contiguous (outer, n, inner), of the first `columns` of inner; accumulated in double, integers in
  // int64. Element types: F32, F64, and I64 for integers. `reverse`: from the end on.
  void (*cumulate)(bool product, DType dtype, const void* in, ptrdiff_t outer, ptrdiff_t n, ptrdiff_t inner, ptrdiff_t columns,
                   bool reverse, void* out);

  // Adds `many` rows of n adjacent elements of F32 or F64 to sums, each times its scale unless scales is null.
  void (*add_rows)(DType dtype, const void* const* rows, const void* scales, ptrdiff_t many, ptrdiff_t n, void* sums);

  // --- softmax.cpp --- over the middle of a contiguous (outer, n, inner)
  // `large`: the result is larger than the caches (kLargeResult) and may be written past them.
  void (*softmax)(bool log, DType dtype, const void* in, ptrdiff_t outer, ptrdiff_t n, ptrdiff_t inner, bool large, void* out);
  void (*softmax_backward)(bool log, DType dtype, const void* grad, const void* y, ptrdiff_t outer, ptrdiff_t n, ptrdiff_t inner,
                           void* out);
  // out = e^x over n elements.
  void (*exp)(DType dtype, const void* x, ptrdiff_t n, void* out);
  // out[i] = log of the sum of e^x over row i.
  void (*logsumexp_rows)(DType dtype, const char* in, ptrdiff_t rows, ptrdiff_t row_stride, ptrdiff_t n, void* out);

  // --- norm.cpp --- over rows of n adjacent elements
  // y = (x - mean) * rstd * weight + bias; weight and bias of n elements or null.
  void (*layer_norm)(DType dtype, const void* x, ptrdiff_t rows, ptrdiff_t n, const void* weight, const void* bias, double eps,
                     bool large, void* y, void* mean, void* rstd);
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

  // --- distances.cpp ---
  // out[r] = the distance of a from row r of b, of n elements each.
  void (*distances)(DType dtype, Norm norm, double p, const void* a, const void* b, ptrdiff_t rows, ptrdiff_t n, void* out);
  // The gradients of a and b for those of the distances, added to what is there; either may be null.
  void (*distance_gradient)(DType dtype, Norm norm, double p, const void* a, const void* b, ptrdiff_t rows, ptrdiff_t n,
                            const void* g, const void* distance, void* to_a, void* to_b);
  // The sum over n elements of d^2 / 2 where |d| = |x - y| is below the limit, else of limit * (|d| - limit / 2); and out = d, cut off
  // at the limit on both sides, times a factor.
  double (*huber_sum)(DType dtype, const void* x, const void* y, ptrdiff_t n, double limit);
  void (*huber_slope)(DType dtype, const void* x, const void* y, double limit, double factor, ptrdiff_t n, void* out);

  // --- gemm.cpp ---
  bool own_gemm;  // whether these products are faster than a BLAS library's: where there is a fused multiply-add
  // c (m x n, rows of ldc elements) = a (m x k) @ b (k x n) + bias (n elements or null); accumulate adds to c instead.
  // Any strides. vector_gemm: where a or b is a row or a column (or two) that it can take, halves too; otherwise false, and nothing
  // is done. thin_gemm: for few rows, about a hundred.
  bool (*vector_gemm)(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const MatrixView& a, const MatrixView& b,
                      const void* bias, bool accumulate, void* c, ptrdiff_t ldc);
  void (*thin_gemm)(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const MatrixView& a, const MatrixView& b, const void* bias,
                    bool accumulate, void* c, ptrdiff_t ldc);
  // Of two rows of n numbers of C64 or C128 the sums of real times real, imaginary by imaginary, real by imaginary and imaginary by
  // real parts, in the type of the parts.
  void (*pair_sums)(DType dtype, const void* a, const void* b, ptrdiff_t n, void* sums);
  // As thin_gemm, of I32 and I64: modulo what they hold.
  void (*integer_gemm)(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, const MatrixView& a, const MatrixView& b,
                       bool accumulate, void* c, ptrdiff_t ldc);
  // Into which blocks b (k x n) is cut; some columns of one packed, from a multiple of the width on, to their place among the
  // panels; and one slice of the product: c (m x n) = a (m x depth) @ a packed block, or added to c. Halves too: c and bias
  // are then float32.
  GemmBlocks (*gemm_blocks)(DType dtype, ptrdiff_t n, ptrdiff_t k);
  void (*pack_block)(DType dtype, const MatrixView& b, ptrdiff_t depth, Band columns, void* panels);
  void (*multiply_block)(DType dtype, ptrdiff_t m, ptrdiff_t n, ptrdiff_t depth, const MatrixView& a, const void* panels,
                         const void* bias, bool accumulate, void* c, ptrdiff_t ldc);

  // --- attention.cpp --- some rows of one head, with keys (at least one) and their gradients
  // `packed`: the scratch memory still holds the same keys and values from the call before.
  void (*attention)(const AttentionHead& head, Band rows, bool packed, void* scratch, const ByteMatrix& out, void* lse);
  void (*attention_backward)(const AttentionHead& head, const AttentionGradient& grad, Band rows, bool packed, void* scratch);
  ptrdiff_t (*attention_scratch)(const AttentionHead& head, bool backward);  // in bytes

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
  // out[i][p] = sum over k of filter[i][k] * patch[k][p] for the places p in [from, to), image
  // after image; planes of images are planes_pitch apart, rows of out are out_row apart.
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

  // --- pooling.cpp --- `volumes` volumes of channels, one after the other. max_pool and mean_cuts: I64, too
  // The largest element of each window, a NaN if there is one, and its place in the volume: the first, of NaN the last.
  void (*max_pool)(DType dtype, const void* x, ptrdiff_t volumes, const PoolWindow& window, void* out, int64_t* indices);
  // The same for windows of any size, none of them empty.
  void (*max_cuts)(DType dtype, const void* x, ptrdiff_t volumes, const CutVolume& cuts, void* out, int64_t* indices);
  // The sum of each window over the count of the window (0 where the count is 0), and the gradient.
  void (*mean_cuts)(DType dtype, const void* x, ptrdiff_t volumes, const CutVolume& cuts, void* out);
  void (*mean_cuts_backward)(DType dtype, const void* grad, ptrdiff_t volumes, const CutVolume& cuts, void* out);
  // out = zeros of `volumes` volumes with the gradients added at their places. False where an index is outside.
  bool (*max_pool_backward)(DType dtype, const void* grad, const int64_t* indices, ptrdiff_t volumes, ptrdiff_t positions,
                            ptrdiff_t volume, void* out);

  // --- sampling.cpp --- the places [first, last) of all images
  void (*grid_sample)(DType dtype, const Sampling& s, const void* places, const void* images, ptrdiff_t first, ptrdiff_t last,
                      void* out);
  // Adds to to_images; either may be nullptr.
  void (*grid_sample_backward)(DType dtype, const Sampling& s, const void* grad, const void* places, const void* images,
                               ptrdiff_t first, ptrdiff_t last, void* to_images, void* to_places);

  // --- batch_norm.cpp --- F32, F64, and halves, which are computed in float
  void (*merge_moments)(const Moments& part, Moments* all);
  void (*plane_moments)(DType dtype, const void* x, const PlaneRows& rows, Moments* moments);  // merged with what is there
  // y = x * scale + shift
  void (*plane_affine)(DType dtype, const void* x, const PlaneRows& rows, double scale, double shift, void* y);
  // sums[0], [1] = the sums of g and of g * (x - mean)
  void (*plane_products)(DType dtype, const void* g, const void* x, const PlaneRows& rows, double mean, double* sums);
  // out = g * scale - (x - mean) * slope - shift
  void (*plane_gradient)(DType dtype, const void* g, const void* x, const PlaneRows& rows, double mean, double scale, double slope,
                         double shift, void* out);
  // The same for the columns of a contiguous (rows, channels). means, squares and sums (two a channel) start as zeros; other
  // values of channels are of the type computed in.
  void (*column_moments)(DType dtype, const void* x, ptrdiff_t rows, ptrdiff_t channels, double* means, double* squares);
  void (*column_affine)(DType dtype, const void* x, ptrdiff_t rows, ptrdiff_t channels, const void* scale, const void* shift,
                        void* y);
  void (*column_products)(DType dtype, const void* g, const void* x, ptrdiff_t rows, ptrdiff_t channels, const void* means,
                          double* sums);
  // factors: mean, scale, slope, shift
  void (*column_gradient)(DType dtype, const void* g, const void* x, ptrdiff_t rows, ptrdiff_t channels,
                          const void* const (&factors)[4], void* out);

  // --- recurrent.cpp ---
  // A matrix b (depth x columns, any strides) as panels, of packed_size elements; and c += a @ b, with adjacent elements in
  // the rows of a and c.
  ptrdiff_t (*packed_size)(DType dtype, ptrdiff_t depth, ptrdiff_t columns);
  void (*pack_panels)(DType dtype, ptrdiff_t depth, ptrdiff_t columns, const MatrixView& b, void* packed);
  void (*add_product)(DType dtype, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t depth, const void* a, ptrdiff_t a_row,
                      const void* packed, void* c, ptrdiff_t ldc);
  void (*cell_step)(Cell cell, DType dtype, const CellStep& step);
  void (*cell_step_back)(Cell cell, DType dtype, const CellStepBack& step);

  // --- winograd.cpp --- the parts of 3x3 convolutions of stride 1
  void (*winograd_plan)(DType dtype, WinogradPlan& plan);
  // The transformed kernels of a panel of outputs, for the channels [begin, end).
  void (*winograd_kernels)(DType dtype, const WinogradPlan& plan, const WinogradKernels& kernels, ptrdiff_t panel, ptrdiff_t begin,
                           ptrdiff_t end, void* transformed);
  // The units [begin, end) of the convolution, at most a group, into contiguous planes; the bias may be null. `buffer` has
  // winograd_buffer bytes.
  ptrdiff_t (*winograd_buffer)(DType dtype, const WinogradPlan& plan);
  void (*winograd_convolve)(DType dtype, const WinogradPlan& plan, const WinogradImages& images, const void* transformed,
                            const void* bias, ptrdiff_t begin, ptrdiff_t end, void* buffer, void* out);
  // The weight's gradient: for each group of units, in their order, first all blocks of its tiles are transformed, then all products
  // added to the sums. `buffer`: winograd_sum_buffer bytes for each thread. The result is made for the channels [begin, end).
  void (*winograd_sum_plan)(DType dtype, WinogradPlan& plan);
  ptrdiff_t (*winograd_sum_buffer)(DType dtype, const WinogradPlan& plan);
  void (*winograd_sum_tiles)(DType dtype, const WinogradPlan& plan, const WinogradImages& images, const WinogradImages& gradients,
                             ptrdiff_t begin, ptrdiff_t end, ptrdiff_t block, void* buffer, void* transformed);
  void (*winograd_sum_products)(DType dtype, const WinogradPlan& plan, ptrdiff_t begin, ptrdiff_t end, const void* transformed,
                                ptrdiff_t product, void* buffer, void* sums);
  void (*winograd_sum_result)(DType dtype, const WinogradPlan& plan, const void* sums, ptrdiff_t begin, ptrdiff_t end, void* out);

  // --- optimizers.cpp --- in place over n elements
  // `buffer` null without momentum; first: the buffer is set to the gradient rather than mixed with it.
  void (*sgd)(DType dtype, void* param, const void* grad, void* buffer, bool first, ptrdiff_t n, const SgdOptions& o);
  void (*adam)(DType dtype, void* param, const void* grad, void* exp_avg, void* exp_avg_sq, void* max_exp_avg_sq, ptrdiff_t n,
               const AdamOptions& o);

  // --- small.cpp --- null where the compiler has no vectors
  const SmallKernels* small;

  // --- fft.cpp --- the groups [begin, end) of a job's lines, each of as many as a register has lanes
  void (*fft)(const FftJob& job, ptrdiff_t begin, ptrdiff_t end, void* scratch);

  // --- normals.cpp ---
  // Uniforms of [0, 1) made normal in place, in groups of sixteen: elements j and j + 8 of a group are a pair.
  void (*normals)(float* data, ptrdiff_t sixteens, float mean, float std);
  // out = low + u * width, rounded once, of the uniforms u that the low 24 bits of draws are.
  void (*uniforms)(const uint32_t* draws, float* out, ptrdiff_t n, float low, float width);
};

const DenseKernels& dense_kernels();

}  // namespace rushlight
