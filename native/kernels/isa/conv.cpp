// Pooling, one image of `channels` planes at a time.
#include "kernels/isa/dense_impl.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

struct Range {
  ptrdiff_t from, to;
};

// The rows (or columns) of the input under window position `out`, in [from, to) by steps of the dilation.
RUSHLIGHT_INLINE Range under(ptrdiff_t out, ptrdiff_t stride, ptrdiff_t pad, ptrdiff_t kernel, ptrdiff_t dilation, ptrdiff_t size) {
  ptrdiff_t from = out * stride - pad;
  ptrdiff_t to = from + (kernel - 1) * dilation + 1;
  if (to > size) to = size;
  if (from < 0) from += (-from + dilation - 1) / dilation * dilation;
  return {from, to};
}

template <class T>
void max_pool_of(const T* plane, ptrdiff_t channels, const Window& w, T* out, int64_t* indices) {
  for (ptrdiff_t c = 0; c < channels; c++, plane += w.in_h * w.in_w)
    for (ptrdiff_t oh = 0; oh < w.out_h; oh++) {
      const Range rows = under(oh, w.stride_h, w.pad_h, w.kernel_h, w.dilation_h, w.in_h);
      for (ptrdiff_t ow = 0; ow < w.out_w; ow++) {
        const Range columns = under(ow, w.stride_w, w.pad_w, w.kernel_w, w.dilation_w, w.in_w);
        T best = -T(__builtin_inff());
        ptrdiff_t where = rows.from * w.in_w + columns.from;
        for (ptrdiff_t ih = rows.from; ih < rows.to; ih += w.dilation_h)
          for (ptrdiff_t iw = columns.from; iw < columns.to; iw += w.dilation_w) {
            const T x = plane[ih * w.in_w + iw];
            if (x > best || x != x) {
              best = x;
              where = ih * w.in_w + iw;
            }
          }
        *out++ = best;
        *indices++ = where;
      }
    }
}

// The window clipped to the padded plane, as average pooling counts it, and to the plane itself.
struct Averaged {
  Range rows, columns;
  double divisor;
};
RUSHLIGHT_INLINE Averaged averaged(ptrdiff_t oh, ptrdiff_t ow, const Window& w, bool count_include_pad, double divisor) {
  ptrdiff_t h0 = oh * w.stride_h - w.pad_h, w0 = ow * w.stride_w - w.pad_w;
  ptrdiff_t h1 = smaller(h0 + w.kernel_h, w.in_h + w.pad_h), w1 = smaller(w0 + w.kernel_w, w.in_w + w.pad_w);
  const ptrdiff_t padded = (h1 - h0) * (w1 - w0);
  if (h0 < 0) h0 = 0;
  if (w0 < 0) w0 = 0;
  h1 = smaller(h1, w.in_h);
  w1 = smaller(w1, w.in_w);
  const double count = static_cast<double>(count_include_pad ? padded : (h1 - h0) * (w1 - w0));
  return {{h0, h1}, {w0, w1}, divisor != 0 ? divisor : count};
}

template <class T>
void avg_pool_of(const T* plane, ptrdiff_t channels, const Window& w, bool count_include_pad, double divisor, T* out) {
  for (ptrdiff_t c = 0; c < channels; c++, plane += w.in_h * w.in_w)
    for (ptrdiff_t oh = 0; oh < w.out_h; oh++)
      for (ptrdiff_t ow = 0; ow < w.out_w; ow++) {
        const Averaged at = averaged(oh, ow, w, count_include_pad, divisor);
        T sum = 0;
        for (ptrdiff_t ih = at.rows.from; ih < at.rows.to; ih++)
          for (ptrdiff_t iw = at.columns.from; iw < at.columns.to; iw++) sum += plane[ih * w.in_w + iw];
        const bool empty = at.rows.from >= at.rows.to || at.columns.from >= at.columns.to;
        *out++ = empty ? T(0) : sum / static_cast<T>(at.divisor);
      }
}

template <class T>
void avg_pool_backward_of(const T* grad, ptrdiff_t channels, const Window& w, bool count_include_pad, double divisor, T* plane) {
  for (ptrdiff_t c = 0; c < channels; c++, plane += w.in_h * w.in_w)
    for (ptrdiff_t oh = 0; oh < w.out_h; oh++)
      for (ptrdiff_t ow = 0; ow < w.out_w; ow++) {
        const Averaged at = averaged(oh, ow, w, count_include_pad, divisor);
        const T part = *grad++ / static_cast<T>(at.divisor);
        for (ptrdiff_t ih = at.rows.from; ih < at.rows.to; ih++)
          for (ptrdiff_t iw = at.columns.from; iw < at.columns.to; iw++) plane[ih * w.in_w + iw] += part;
      }
}

void max_pool(DType dtype, const void* planes, ptrdiff_t channels, const Window& w, void* out, int64_t* indices) {
  float_or_double(dtype,
                  [&]<class T>() { max_pool_of(static_cast<const T*>(planes), channels, w, static_cast<T*>(out), indices); });
}
void avg_pool(DType dtype, const void* planes, ptrdiff_t channels, const Window& w, bool count_include_pad, double divisor,
              void* out) {
  float_or_double(dtype, [&]<class T>() {
    avg_pool_of(static_cast<const T*>(planes), channels, w, count_include_pad, divisor, static_cast<T*>(out));
  });
}
void avg_pool_backward(DType dtype, const void* grad, ptrdiff_t channels, const Window& w, bool count_include_pad, double divisor,
                       void* planes) {
  float_or_double(dtype, [&]<class T>() {
    avg_pool_backward_of(static_cast<const T*>(grad), channels, w, count_include_pad, divisor, static_cast<T*>(planes));
  });
}

}  // namespace

void fill_conv(DenseKernels& table) {
  table.max_pool = max_pool;
  table.avg_pool = avg_pool;
  table.avg_pool_backward = avg_pool_backward;
}

}  // namespace rushlight::RUSHLIGHT_ISA
