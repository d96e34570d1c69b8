// The gradient of a convolution's weight as a product over places, in which no matrix of patches is made.
//
// Places are the depth of the product, elements of the patch its rows, outputs its columns. For at most kDepth places at a
// time, of several images where they are small, the gradient is transposed into panels, which stay in the second cache;
// then each strip of kTileRows rows of patches is copied from the planes into the first cache and multiplied with all
// panels. Floor: 2 * depth * outputs * places operations over the peak of the tile.
#include "kernels/isa/layers/patches.h"
#include "kernels/isa/matrix/tile.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

constexpr ptrdiff_t kDepth = 256;
constexpr ptrdiff_t kRow = kDepth + 64 / 4;  // one register apart, so that rows share no lines of the cache

template <class T>
void conv_weight_of(const Patch& patch, ptrdiff_t images, ptrdiff_t planes_pitch, const T* grad, ptrdiff_t grad_row,
                    ptrdiff_t grad_pitch, ptrdiff_t outputs, T* scratch, T* sums) {
  constexpr ptrdiff_t kWidth = kTileWidth<T>;
  T* strip = scratch;
  T* panels = scratch + (kTileRows + 1) * kRow;
  const T* planes = static_cast<const T*>(patch.planes);
  const ptrdiff_t places = patch.places.count(), all = images * places;
  const ptrdiff_t chunks = (all + kDepth - 1) / kDepth;
  const Strips strips(patch.depth);
  for (ptrdiff_t c = 0; c < chunks; c++) {
    const ptrdiff_t begin = c * (all / chunks) + smaller(c, all % chunks);
    const ptrdiff_t depth = all / chunks + (c < all % chunks);
    Segment segments[kDepth];
    const int n = cut_images(patch.places, planes_pitch, begin, depth, segments);
    for (ptrdiff_t at = 0; at < depth;) {  // image by image
      const ptrdiff_t image = (begin + at) / places, place = (begin + at) % places;
      const ptrdiff_t some = smaller(places - place, depth - at);
      for (ptrdiff_t o = 0; o < outputs; o += kWidth)
        pack_panel(grad + image * grad_pitch + o * grad_row + place, 1, grad_row, some, smaller(kWidth, outputs - o), kWidth,
                   panels + o * depth + at * kWidth);
      at += some;
    }
    for (ptrdiff_t t = 0; t < strips.count; t++) {
      const ptrdiff_t k = strips.begin(t);
      const int m = strips.rows(t);
      for (int i = 0; i < m; i++) copy_segments(planes + patch.offsets[k + i], segments, n, patch.spare, strip + i * kRow);
      for (ptrdiff_t o = 0; o < outputs; o += kWidth) {
        const ptrdiff_t width = smaller(kWidth, outputs - o);
        tile_of<T>(m, width > Vec<T>::N ? kTileVecs : 1, false)(
            {depth, strip, kRow, 1, panels + o * depth, kWidth, nullptr, true, sums + k * outputs + o, outputs, width});
      }
    }
  }
}

void conv_weight(DType dtype, const Patch& patch, ptrdiff_t images, ptrdiff_t planes_pitch, const void* grad, ptrdiff_t grad_row,
                 ptrdiff_t grad_pitch, ptrdiff_t outputs, void* scratch, void* sums) {
  float_or_double(dtype, [&]<class T>() {
    conv_weight_of(patch, images, planes_pitch, static_cast<const T*>(grad), grad_row, grad_pitch, outputs,
                   static_cast<T*>(scratch), static_cast<T*>(sums));
  });
}
ptrdiff_t conv_weight_scratch(ptrdiff_t outputs) {
  const ptrdiff_t columns = (outputs + kTileWidth<float> - 1) / kTileWidth<float> * kTileWidth<float>;
  return ((kTileRows + 1) * kRow + columns * kDepth) * static_cast<ptrdiff_t>(sizeof(double));
}

}  // namespace

void fill_conv_weight(DenseKernels& table) {
  table.conv_weight = conv_weight;
  table.conv_weight_scratch = conv_weight_scratch;
}

}  // namespace rushlight::RUSHLIGHT_ISA
