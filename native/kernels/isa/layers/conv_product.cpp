// Convolution as a product of filters with patches, in which no matrix of patches is made.
//
// Places are the columns of the product, in panels of kTileWidth, filters its rows, in strips of up to kTileRows. A panel
// of patches is packed from the planes of the image, for at most kDepth elements of the patch at a time: it stays in the
// first cache while all strips of filters are multiplied with it. Some panels share a slice of the filters, which then
// comes from the second cache. The bias is one more element of each patch, a one: the first product is what sums start
// from. Floor: 2 * rows * depth * places operations over the peak of the tile; packing takes about two registers of
// memory for each kTileWidth elements of the patch, against `rows` multiplications.
#include "kernels/isa/layers/patches.h"
#include "kernels/isa/matrix/tile.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

constexpr ptrdiff_t kDepth = 256;
constexpr ptrdiff_t kPanels = 8;  // that share a slice of the filters

// Slices of the depth, as equal as can be; at least one.
struct Slices {
  ptrdiff_t count, depth;
  RUSHLIGHT_INLINE explicit Slices(ptrdiff_t k, bool sliced = true)
      : count(k > 0 && sliced ? (k + kDepth - 1) / kDepth : 1), depth(k) {}
  RUSHLIGHT_INLINE ptrdiff_t begin(ptrdiff_t s) const { return s * (depth / count) + smaller(s, depth % count); }
};

// Packs elements [k, end) of n rows of weights, as many as lie beside each other and fill registers; the first that is left.
template <class T>
ptrdiff_t pack_squares(const T* w, ptrdiff_t row, const ptrdiff_t* columns, int n, ptrdiff_t k, ptrdiff_t end, T* packed) {
#ifdef RUSHLIGHT_SHUFFLES
  constexpr int N = Vec<T>::N;
  if (n > N || columns[end - 1] - columns[k] != end - 1 - k) return k;
  for (; k + N <= end; k += N, packed += N * n) {
    Vec<T> rows[N];
    for (int i = 0; i < N; i++) rows[i] = Vec<T>::load(w + (i < n ? i : 0) * row + columns[k]);
    transpose_square(rows);
    for (int i = 0; i < N; i++) {
      if ((end - k - i) * n >= N) rows[i].store(packed + i * n);  // over the end, into what is written next
      else
        for (int j = 0; j < n; j++) packed[i * n + j] = rows[i].v[j];
    }
  }
#endif
  return k;
}

template <class T>
void pack_filters_of(const T* w, ptrdiff_t row, const ptrdiff_t* columns, ptrdiff_t rows, ptrdiff_t depth, const T* bias,
                     bool sliced, T* packed) {
  const Strips strips(rows);
  const Slices slices(depth, sliced);
  for (ptrdiff_t s = 0; s < slices.count; s++)
    for (ptrdiff_t t = 0; t < strips.count; t++) {
      const int n = strips.rows(t);
      const T* from = w + strips.begin(t) * row;
      const ptrdiff_t end = slices.begin(s + 1);
      ptrdiff_t k = slices.begin(s);
      if (k < end && columns[k] < 0) {
        for (int i = 0; i < n; i++) packed[i] = bias[strips.begin(t) + i];
        k++, packed += n;
      }
      if (k < end) {
        const ptrdiff_t first = k;
        k = pack_squares(from, row, columns, n, k, end, packed);
        packed += (k - first) * n;
      }
      for (; k < end; k++, packed += n)
        for (int i = 0; i < n; i++) packed[i] = from[i * row + columns[k]];
    }
}

// Rows of a panel from P registers each, at places that are the same in all rows.
template <int P, class T>
void pack_rows(const T* planes, const ptrdiff_t* offsets, ptrdiff_t depth, const Segment* pieces, T* panel) {
  const T* from[P];
  T* to[P];
  for (int i = 0; i < P; i++) {
    from[i] = planes + pieces[i].from;
    to[i] = panel + pieces[i].to;
  }
  for (ptrdiff_t k = 0; k < depth; k++)
#pragma GCC unroll 4
    for (int i = 0; i < P; i++) Vec<T>::load(from[i] + offsets[k]).store(to[i] + k * kTileWidth<T>);
}

// panel[k][j] = element k of the patch of place `first` + j.
template <class T>
void pack_patches(const Patch& patch, ptrdiff_t planes_pitch, ptrdiff_t first, ptrdiff_t width, ptrdiff_t begin, ptrdiff_t depth,
                  T* panel) {
  constexpr ptrdiff_t kWidth = kTileWidth<T>, N = Vec<T>::N;
  const T* planes = static_cast<const T*>(patch.planes);
  const ptrdiff_t* offsets = patch.offsets + begin;
  if (depth > 0 && offsets[0] < 0) {
    for (ptrdiff_t j = 0; j < kWidth; j++) panel[j] = 1;
    offsets++, depth--, panel += kWidth;
  }
  Segment segments[kWidth], pieces[2 * kWidth];
  const int n = cut_images(patch.places, planes_pitch, first, width, segments);
  bool exact = !patch.spare;  // then whole registers alone are copied so
  for (int s = 0; exact && s < n; s++) exact = segments[s].count % N == 0;
  if (!patch.spare && !exact) {
    for (ptrdiff_t k = 0; k < depth; k++) copy_segments(planes + offsets[k], segments, n, false, panel + k * kWidth);
    return;
  }
  int p = 0;
  for (int s = 0; s < n; s++)
    for (ptrdiff_t i = 0; i < segments[s].count; i += N) pieces[p++] = {segments[s].from + i, segments[s].to + i, N};
  switch (p) {
    case 1: return pack_rows<1>(planes, offsets, depth, pieces, panel);
    case 2: return pack_rows<2>(planes, offsets, depth, pieces, panel);
    case 3: return pack_rows<3>(planes, offsets, depth, pieces, panel);
    case 4: return pack_rows<4>(planes, offsets, depth, pieces, panel);
    default:
      for (ptrdiff_t k = 0; k < depth; k++)
        for (int i = 0; i < p; i++) Vec<T>::load(planes + offsets[k] + pieces[i].from).store(panel + k * kWidth + pieces[i].to);
  }
}

template <class T>
void conv_product_of(const Patch& patch, ptrdiff_t planes_pitch, const T* packed, ptrdiff_t rows, ptrdiff_t from, ptrdiff_t to,
                     T* panel, T* out, ptrdiff_t out_row) {
  constexpr ptrdiff_t kWidth = kTileWidth<T>;
  const Strips strips(rows);
  const Slices slices(patch.depth);
  for (ptrdiff_t first = from; first < to; first += kPanels * kWidth)
    for (ptrdiff_t s = 0; s < slices.count; s++) {
      const ptrdiff_t begin = slices.begin(s), depth = slices.begin(s + 1) - begin;
      const ptrdiff_t last = smaller(to, first + kPanels * kWidth);
      for (ptrdiff_t p = first; p < last; p += kWidth) {
        const ptrdiff_t width = smaller(kWidth, last - p);
        pack_patches(patch, planes_pitch, p, width, begin, depth, panel);
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
                  const void* bias, bool sliced, void* packed) {
  float_or_double(dtype, [&]<class T>() {
    pack_filters_of(static_cast<const T*>(w), row, columns, rows, depth, static_cast<const T*>(bias), sliced,
                    static_cast<T*>(packed));
  });
}
void conv_product(DType dtype, const Patch& patch, ptrdiff_t planes_pitch, const void* packed, ptrdiff_t rows, ptrdiff_t from,
                  ptrdiff_t to, void* scratch, void* out, ptrdiff_t out_row) {
  float_or_double(dtype, [&]<class T>() {
    conv_product_of(patch, planes_pitch, static_cast<const T*>(packed), rows, from, to, static_cast<T*>(scratch),
                    static_cast<T*>(out), out_row);
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
