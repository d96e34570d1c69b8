// Patches for convolution (im2col and its transpose), one image of `channels` planes at a time.
#include "kernels/isa/dense_impl.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

// Copies planes into the middle of padded ones; the border is set to 0.
template <class T>
void pad_of(const T* plane, ptrdiff_t channels, const Window& w, T* padded) {
  const ptrdiff_t width = w.in_w + 2 * w.pad_w;
  for (ptrdiff_t c = 0; c < channels; c++) {
    std::memset(padded, 0, static_cast<size_t>(w.pad_h * width) * sizeof(T));
    padded += w.pad_h * width;
    for (ptrdiff_t h = 0; h < w.in_h; h++, plane += w.in_w, padded += width) {
      for (ptrdiff_t i = 0; i < w.pad_w; i++) padded[i] = padded[w.pad_w + w.in_w + i] = 0;
      std::memcpy(padded + w.pad_w, plane, static_cast<size_t>(w.in_w) * sizeof(T));
    }
    std::memset(padded, 0, static_cast<size_t>(w.pad_h * width) * sizeof(T));
    padded += w.pad_h * width;
  }
}

template <class T>
void unpad_of(const T* padded, ptrdiff_t channels, const Window& w, T* plane) {
  const ptrdiff_t width = w.in_w + 2 * w.pad_w, height = w.in_h + 2 * w.pad_h;
  for (ptrdiff_t c = 0; c < channels; c++, padded += height * width)
    for (ptrdiff_t h = 0; h < w.in_h; h++, plane += w.in_w)
      std::memcpy(plane, padded + (w.pad_h + h) * width + w.pad_w, static_cast<size_t>(w.in_w) * sizeof(T));
}

// Calls f(row of the padded plane, row of the columns) for every channel, kernel position and output row of the band.
template <class T, class F>
RUSHLIGHT_INLINE void for_patch_rows(T* padded, ptrdiff_t channels, const Window& w, Band band, F f) {
  const ptrdiff_t width = w.in_w + 2 * w.pad_w, height = w.in_h + 2 * w.pad_h;
  ptrdiff_t column = 0;
  for (ptrdiff_t c = 0; c < channels; c++, padded += height * width)
    for (ptrdiff_t kh = 0; kh < w.kernel_h; kh++)
      for (ptrdiff_t kw = 0; kw < w.kernel_w; kw++) {
        T* row = padded + kh * w.dilation_h * width + kw * w.dilation_w;
        for (ptrdiff_t oh = band.from; oh < band.to; oh++, column += w.out_w) f(row + oh * w.stride_h * width, column);
      }
}

// Whole registers are copied: what runs over the end of a row is overwritten by the next one, or falls into the slack
// behind the buffer.
template <class T>
void im2col_of(const T* padded, ptrdiff_t channels, const Window& w, Band band, T* columns) {
  using V = Vec<T>;
  if (w.stride_w == 1)
    for_patch_rows(padded, channels, w, band, [&](const T* row, ptrdiff_t at) {
      for (ptrdiff_t ow = 0; ow < w.out_w; ow += V::N) V::load(row + ow).store(columns + at + ow);
    });
  else
    for_patch_rows(padded, channels, w, band, [&](const T* row, ptrdiff_t at) {
      for (ptrdiff_t ow = 0; ow < w.out_w; ow++) columns[at + ow] = row[ow * w.stride_w];
    });
}

template <class T>
void col2im_of(const T* columns, ptrdiff_t channels, const Window& w, Band band, T* padded) {
  if (w.stride_w == 1)
    for_patch_rows(padded, channels, w, band, [&](T* row, ptrdiff_t at) {
      for (ptrdiff_t ow = 0; ow < w.out_w; ow++) row[ow] += columns[at + ow];
    });
  else
    for_patch_rows(padded, channels, w, band, [&](T* row, ptrdiff_t at) {
      for (ptrdiff_t ow = 0; ow < w.out_w; ow++) row[ow * w.stride_w] += columns[at + ow];
    });
}

// R registers of adjacent output elements of M outputs, at column `ow` of row `oh`: sums over all kernel positions.
template <int M, int R, class T>
RUSHLIGHT_INLINE void convolve_block(const T* padded, ptrdiff_t channels, const Window& w, ptrdiff_t oh, ptrdiff_t ow,
                                     const T* kernels, ptrdiff_t patch, T* out) {
  using V = Vec<T>;
  const ptrdiff_t width = w.in_w + 2 * w.pad_w, height = w.in_h + 2 * w.pad_h;
  V sums[M][R];
  for (int m = 0; m < M; m++)
    for (int r = 0; r < R; r++) sums[m][r] = V::all(T(0));
  const T* weight = kernels;
  const T* plane = padded + oh * w.stride_h * width + ow;
  for (ptrdiff_t c = 0; c < channels; c++, plane += height * width)
    for (ptrdiff_t kh = 0; kh < w.kernel_h; kh++) {
      const T* from = plane + kh * w.dilation_h * width;
      for (ptrdiff_t kw = 0; kw < w.kernel_w; kw++, from += w.dilation_w, weight++) {
        V x[R];
        for (int r = 0; r < R; r++) x[r] = V::load(from + r * V::N);
        for (int m = 0; m < M; m++) {
          const V factor = V::all(weight[m * patch]);
          for (int r = 0; r < R; r++) sums[m][r] = fma(factor, x[r], sums[m][r]);
        }
      }
    }
  for (int m = 0; m < M; m++)
    for (int r = 0; r < R; r++) sums[m][r].store(out + m * w.out_h * w.out_w + oh * w.out_w + ow + r * V::N);
}

constexpr int kDirectRegisters = 4;

// The last block of a row begins where it ends with the row: some elements are computed twice.
template <int M, class T>
void convolve_rows_of(const T* padded, ptrdiff_t channels, const Window& w, Band band, const T* kernels, T* out) {
  constexpr ptrdiff_t kStep = kDirectRegisters * Vec<T>::N;
  const ptrdiff_t patch = channels * w.kernel_h * w.kernel_w;
  for (ptrdiff_t oh = band.from; oh < band.to; oh++)
    for (ptrdiff_t ow = 0; ow < w.out_w; ow += kStep)
      convolve_block<M, kDirectRegisters>(padded, channels, w, oh, smaller(ow, w.out_w - kStep), kernels, patch, out);
}

template <class T>
void convolve_rows_of(const T* padded, ptrdiff_t channels, const Window& w, Band band, const T* kernels, ptrdiff_t outputs,
                      T* out) {
  const ptrdiff_t patch = channels * w.kernel_h * w.kernel_w, plane = w.out_h * w.out_w;
  for (; outputs >= 3; outputs -= 3, kernels += 3 * patch, out += 3 * plane)
    convolve_rows_of<3>(padded, channels, w, band, kernels, out);
  if (outputs == 2) convolve_rows_of<2>(padded, channels, w, band, kernels, out);
  if (outputs == 1) convolve_rows_of<1>(padded, channels, w, band, kernels, out);
}

void pad(DType dtype, const void* planes, ptrdiff_t channels, const Window& w, void* padded) {
  float_or_double(dtype, [&]<class T>() { pad_of(static_cast<const T*>(planes), channels, w, static_cast<T*>(padded)); });
}
void unpad(DType dtype, const void* padded, ptrdiff_t channels, const Window& w, void* planes) {
  float_or_double(dtype, [&]<class T>() { unpad_of(static_cast<const T*>(padded), channels, w, static_cast<T*>(planes)); });
}
void im2col(DType dtype, const void* padded, ptrdiff_t channels, const Window& w, Band band, void* columns) {
  float_or_double(dtype, [&]<class T>() { im2col_of(static_cast<const T*>(padded), channels, w, band, static_cast<T*>(columns)); });
}
void col2im(DType dtype, const void* columns, ptrdiff_t channels, const Window& w, Band band, void* padded) {
  float_or_double(dtype, [&]<class T>() { col2im_of(static_cast<const T*>(columns), channels, w, band, static_cast<T*>(padded)); });
}
void convolve_rows(DType dtype, const void* padded, ptrdiff_t channels, const Window& w, Band band, const void* kernels,
                   ptrdiff_t outputs, void* out) {
  float_or_double(dtype, [&]<class T>() {
    convolve_rows_of(static_cast<const T*>(padded), channels, w, band, static_cast<const T*>(kernels), outputs,
                     static_cast<T*>(out));
  });
}
ptrdiff_t direct_width(DType dtype) {
  ptrdiff_t width = 0;
  float_or_double(dtype, [&]<class T>() { width = kDirectRegisters * Vec<T>::N; });
  return width;
}
}  // namespace

void fill_conv(DenseKernels& table) {
  table.pad = pad;
  table.unpad = unpad;
  table.im2col = im2col;
  table.col2im = col2im;
  table.convolve_rows = convolve_rows;
  table.direct_width = direct_width;
}

}  // namespace rushlight::RUSHLIGHT_ISA
