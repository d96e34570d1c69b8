// Convolution as a product of filters with patches, in which no matrix of patches is made.
//
// Places are the columns of the product, in panels of kTileWidth, filters its rows, in strips of up to kTileRows. A panel
// of patches is packed from the planes of the image, for at most kDepth elements of the patch at a time: it stays in the
// first cache while all strips of filters are multiplied with it. Some panels share a slice of the filters, which then
// comes from the second cache. The bias is one more element of each patch, a one: the first product is what sums start
// from. Floor: 2 * rows * depth * places operations over the peak of the tile; packing takes about two registers of
// memory for each kTileWidth elements of the patch, against `rows` multiplications.
#include "kernels/isa/patches.h"
#include "kernels/isa/tile.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

constexpr ptrdiff_t kDepth = 256;
constexpr ptrdiff_t kPanels = 8;  // that share a slice of the filters

// Slices of the depth, as equal as can be; at least one.
struct Slices {
  ptrdiff_t count, depth;
  RUSHLIGHT_INLINE explicit Slices(ptrdiff_t k) : count(k > 0 ? (k + kDepth - 1) / kDepth : 1), depth(k) {}
  RUSHLIGHT_INLINE ptrdiff_t begin(ptrdiff_t s) const { return s * (depth / count) + smaller(s, depth % count); }
};

template <class T>
void pack_filters_of(const T* w, ptrdiff_t row, const ptrdiff_t* columns, ptrdiff_t rows, ptrdiff_t depth, const T* bias,
                     T* packed) {
  const Strips strips(rows);
  const Slices slices(depth);
  for (ptrdiff_t s = 0; s < slices.count; s++)
    for (ptrdiff_t t = 0; t < strips.count; t++) {
      const int n = strips.rows(t);
      const T* from = w + strips.begin(t) * row;
      for (ptrdiff_t k = slices.begin(s); k < slices.begin(s + 1); k++, packed += n) {
        if (columns[k] < 0)
          for (int i = 0; i < n; i++) packed[i] = bias[strips.begin(t) + i];
        else
          for (int i = 0; i < n; i++) packed[i] = from[i * row + columns[k]];
      }
    }
}

template <class T>
void conv_product_of(const Patch& patch, const T* packed, ptrdiff_t rows, ptrdiff_t from, ptrdiff_t to, T* panel, T* out,
                     ptrdiff_t out_row) {
  constexpr ptrdiff_t kWidth = kTileWidth<T>;
  const Strips strips(rows);
  const Slices slices(patch.depth);
  const T* planes = static_cast<const T*>(patch.planes);
  for (ptrdiff_t first = from; first < to; first += kPanels * kWidth)
    for (ptrdiff_t s = 0; s < slices.count; s++) {
      const ptrdiff_t begin = slices.begin(s), depth = slices.begin(s + 1) - begin;
      const ptrdiff_t last = smaller(to, first + kPanels * kWidth);
      for (ptrdiff_t p = first; p < last; p += kWidth) {
        const ptrdiff_t width = smaller(kWidth, last - p);
        Segment segments[kWidth];
        const int n = cut(patch.places, p, width, 0, 0, segments);
        for (ptrdiff_t k = 0; k < depth; k++) {
          const ptrdiff_t offset = patch.offsets[begin + k];
          if (offset < 0) fill_ones(panel + k * kWidth, kWidth);
          else copy_segments(planes + offset, segments, n, patch.spare, panel + k * kWidth);
        }
        const T* strip = packed + begin * rows;
        const int vecs = width > Vec<T>::N ? kTileVecs : 1;
        for (ptrdiff_t t = 0; t < strips.count; t++) {
          const int m = strips.rows(t);
          tile_of<T>(m, vecs, true)(
              {depth, strip, 1, m, panel, kWidth, nullptr, s > 0, out + strips.begin(t) * out_row + p, out_row, width});
          strip += m * depth;
        }
      }
    }
}

void pack_filters(DType dtype, const void* w, ptrdiff_t row, const ptrdiff_t* columns, ptrdiff_t rows, ptrdiff_t depth,
                  const void* bias, void* packed) {
  float_or_double(dtype, [&]<class T>() {
    pack_filters_of(static_cast<const T*>(w), row, columns, rows, depth, static_cast<const T*>(bias), static_cast<T*>(packed));
  });
}
void conv_product(DType dtype, const Patch& patch, const void* packed, ptrdiff_t rows, ptrdiff_t from, ptrdiff_t to, void* scratch,
                  void* out, ptrdiff_t out_row) {
  float_or_double(dtype, [&]<class T>() {
    conv_product_of(patch, static_cast<const T*>(packed), rows, from, to, static_cast<T*>(scratch), static_cast<T*>(out), out_row);
  });
}

}  // namespace

void fill_conv_product(DenseKernels& table) {
  table.pack_filters = pack_filters;
  table.conv_product = conv_product;
  // Registers are as wide for each type; one more row for what is written behind the last one.
  table.conv_product_scratch = (kDepth + 1) * kTileVecs * kVecBytes;
}

}  // namespace rushlight::RUSHLIGHT_ISA
