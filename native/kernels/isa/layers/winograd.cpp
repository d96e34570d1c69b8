// Convolutions of 3x3 kernels, stride 1, by Winograd's minimal filtering F(2x2, 3x3): 16 multiplications where the plain sum has 36.
//
// The output is cut into tiles of 2x2, each of which depends on a patch of 4x4. (F(4x4, 3x3), where it is asked for, has tiles of 4x4,
// patches of 6x6 and 36 points: half the multiplications again, and some 20 times the error.) In plain words, with the matrices of
// winograd.py:
//
//   u = G w G'     16 matrices (outputs x channels), one for each point of a transformed tile: once a call
//   v = B' d B     of every patch d: 16 matrices (tiles x channels)
//   m = v u'       16 products, over the channels
//   y = A' m A     of every tile, and the bias
//
// The input's gradient is the same convolution of the output's gradient, with the kernels turned by 180 degrees and the padding
// 2 - p. The weight's gradient sums over the tiles: G' (v' z) G with z = A g A', where g are the tiles of the output's gradient.
//
// Blocking. A row of tiles, or a piece of a long one, is a unit; a group is as many units as have their v in half of the second
// cache. A group is transformed N channels at once, a register of the instruction set: the rows of those channels are turned to
// channels last (in the first cache, with the padding), and each tile's 16 registers written to v. Then, for one panel of outputs
// after the other, come the 16 products, whose m stays in the cache too, and the transform of m, which turns the rows back. u is
// read once a group, from the third cache where it is large: 16 panels of each group of outputs lie in the order of their use.
// Planes of points are a register more than a power of two apart, so that the 16 of one tile do not compete for the same places of
// the first cache.
//
// The weight's gradient makes v and z of a group of tiles, then adds to the 16 products (channels x outputs) in the order of the
// groups; the threads share the points and strips, never the tiles: the sums are the same however many there are.
//
// Floor: 2 * 16 / 4 * outputs * channels * places operations over the peak, 4 / 9 of those of the plain sum. The transforms are some
// 24 additions for each 16 numbers written, about an eighth of the time at 128 channels, a third at 32.
#include "kernels/isa/matrix/tile.h"
#include "kernels/isa/layers/winograd_transforms.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

// M: outputs of a tile, each way. K = M + 2: the patch that they depend on.
template <int M>
inline constexpr int kPoints = (M + 2) * (M + 2);

// Kernels of other outputs are far apart, and no stream for the hardware to follow.
#ifdef RUSHLIGHT_VECTOR_EXTENSION
#define RUSHLIGHT_PREFETCH(at) __builtin_prefetch(at)
#else
#define RUSHLIGHT_PREFETCH(at)
#endif
constexpr ptrdiff_t kAhead = 8;  // kernels

template <class T>
inline constexpr ptrdiff_t kSpare = 64 / static_cast<ptrdiff_t>(sizeof(T));  // between the planes of points

// --- turning planes to channels last and back, a square of registers at a time ---

template <class T>
RUSHLIGHT_INLINE void turn(Vec<T> (&rows)[Vec<T>::N]) {
#ifdef RUSHLIGHT_SHUFFLES
  transpose_square(rows);
#else
  constexpr int N = Vec<T>::N;
  T from[N * N], to[N * N];
  for (int i = 0; i < N; i++) rows[i].store(from + i * N);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) to[j * N + i] = from[i * N + j];
  for (int i = 0; i < N; i++) rows[i] = Vec<T>::load(to + i * N);
#endif
}

// The first `n` elements of a register.
template <class T>
RUSHLIGHT_INLINE Vec<T> load_some(const T* from, ptrdiff_t n) {
  T lanes[Vec<T>::N] = {};
  for (ptrdiff_t i = 0; i < n; i++) lanes[i] = from[i];
  return Vec<T>::load(lanes);
}
// `n` pixels that are adjacent in each of `live` planes, to rows of `width` pixels with `gap` elements between them. The last
// square ends where the pixels do: some are turned twice.
template <class T>
RUSHLIGHT_SHARED void turn_in(const T* from, ptrdiff_t channel, int live, ptrdiff_t n, ptrdiff_t width, ptrdiff_t gap, T* to) {
  using V = Vec<T>;
  constexpr int N = V::N;
  for (ptrdiff_t done = 0; done < n; done += N) {
    const ptrdiff_t at = done + N > n && n >= N ? n - N : done;
    V rows[N];
    if (live == N && at + N <= n) {
#pragma GCC unroll 16
      for (int l = 0; l < N; l++) rows[l] = V::load(from + l * channel + at);
    } else {
      for (int l = 0; l < N; l++) rows[l] = l < live ? load_some(from + l * channel + at, smaller(N, n - at)) : V::all(0);
    }
    turn(rows);
    ptrdiff_t column = at % width;
    T* place = to + at / width * (width * N + gap) + column * N;
    const ptrdiff_t count = smaller(N, n - at);
    if (count == N && column + N <= width) {
#pragma GCC unroll 16
      for (int i = 0; i < N; i++) rows[i].store(place + i * N);
      continue;
    }
    T turned[N * N];
#pragma GCC unroll 16
    for (int i = 0; i < N; i++) rows[i].store(turned + i * N);
    for (ptrdiff_t i = 0; i < count; i++, place += N) {
      V::load(turned + i * N).store(place);
      if (++column == width) {
        column = 0;
        place += gap;
      }
    }
  }
}

// The way back, of adjacent pixels.
template <class T>
RUSHLIGHT_SHARED void turn_out(const T* from, ptrdiff_t n, T* to, ptrdiff_t channel, int live) {
  using V = Vec<T>;
  constexpr int N = V::N;
  for (ptrdiff_t done = 0; done < n; done += N) {
    const ptrdiff_t at = done + N > n && n >= N ? n - N : done;
    const ptrdiff_t count = smaller(N, n - at);
    V rows[N];
    if (count == N) {
#pragma GCC unroll 16
      for (int i = 0; i < N; i++) rows[i] = V::load(from + (at + i) * N);
    } else {
      for (int i = 0; i < N; i++) rows[i] = i < count ? V::load(from + (at + i) * N) : V::all(0);
    }
    turn(rows);
    if (live == N && count == N) {
#pragma GCC unroll 16
      for (int l = 0; l < N; l++) rows[l].store(to + l * channel + at);
    } else {
      T turned[N * N];
      for (int l = 0; l < N; l++) rows[l].store(turned + l * N);
      for (int l = 0; l < live; l++)
        for (ptrdiff_t i = 0; i < count; i++) to[l * channel + at + i] = turned[l * N + i];
    }
  }
}

// N channels from `c` of a rectangle of an image, channels last; what lies outside the image is 0.
template <class T>
void gather(const WinogradImages& images, ptrdiff_t image, ptrdiff_t c, ptrdiff_t row, ptrdiff_t column, ptrdiff_t rows,
            ptrdiff_t columns, T* to) {
  using V = Vec<T>;
  constexpr int N = V::N;
  const int live = static_cast<int>(smaller(N, images.channels - c));
  const ptrdiff_t top = smaller(rows, row < 0 ? -row : 0), bottom = smaller(rows, images.height - row);
  const ptrdiff_t left = smaller(columns, column < 0 ? -column : 0), right = smaller(columns, images.width - column);
  const V zero = V::all(0);
  for (ptrdiff_t r = 0; r < rows; r++) {
    T* out = to + r * columns * N;
    const bool inside = r >= top && r < bottom && left < right;
    for (ptrdiff_t q = 0; q < (inside ? left : columns); q++) zero.store(out + q * N);
    for (ptrdiff_t q = right; inside && q < columns; q++) zero.store(out + q * N);
  }
  if (top >= bottom || left >= right) return;
  const T* from = static_cast<const T*>(images.data) + image * images.image + c * images.channel + (row + top) * images.row +
                  (column + left) * images.column;
  T* out = to + (top * columns + left) * N;
  const ptrdiff_t width = right - left;
  if (images.column == 1 && images.row == width) {
    turn_in(from, images.channel, live, (bottom - top) * width, width, (columns - width) * N, out);
    return;
  }
  for (ptrdiff_t r = top; r < bottom; r++, from += images.row, out += columns * N)
    if (images.column == 1) {
      turn_in(from, images.channel, live, width, width, 0, out);
    } else {  // channels last already
      for (ptrdiff_t q = 0; q < width; q++)
        (live == N ? V::load(from + q * images.column) : load_some(from + q * images.column, live)).store(out + q * N);
    }
}

// --- the transforms of a row of tiles, N channels of them ---

// Point p of tile t goes to to[p * plane + t * step].
template <int M, class T>
void transform_patches(const T* patches, ptrdiff_t columns, ptrdiff_t tiles, T* to, ptrdiff_t step, ptrdiff_t plane) {
  using V = Vec<T>;
  constexpr int N = V::N, K = M + 2;
  V v[K][K];  // by column, then row
  const auto column = [&](const T* at, V(&made)[K]) {
    V d[K];
#pragma GCC unroll 8
    for (int i = 0; i < K; i++) d[i] = V::load(at + i * columns * N);
    patch_transform(d, made);
  };
#pragma GCC unroll 8
  for (int i = M; i < K; i++) column(patches + (i - M) * N, v[i]);
  for (ptrdiff_t t = 0; t < tiles; t++, to += step) {
#pragma GCC unroll 8
    for (int i = 0; i < K - M; i++)
#pragma GCC unroll 8
      for (int r = 0; r < K; r++) v[i][r] = v[M + i][r];  // the columns that two tiles share
#pragma GCC unroll 8
    for (int i = K - M; i < K; i++) column(patches + (t * M + i) * N, v[i]);
#pragma GCC unroll 8
    for (int r = 0; r < K; r++) {
      V line[K], made[K];
#pragma GCC unroll 8
      for (int i = 0; i < K; i++) line[i] = v[i][r];
      patch_transform(line, made);
#pragma GCC unroll 8
      for (int i = 0; i < K; i++) made[i].store(to + (r * K + i) * plane);
    }
  }
}

template <int M, class T>
void transform_gradients(const T* gradients, ptrdiff_t columns, ptrdiff_t tiles, T* to, ptrdiff_t step, ptrdiff_t plane) {
  using V = Vec<T>;
  constexpr int N = V::N, K = M + 2;
  for (ptrdiff_t t = 0; t < tiles; t++, to += step) {
    V z[M][K];  // by column, then row
#pragma GCC unroll 8
    for (int i = 0; i < M; i++) {
      V g[M];
#pragma GCC unroll 8
      for (int r = 0; r < M; r++) g[r] = V::load(gradients + (r * columns + t * M + i) * N);
      gradient_transform(g, z[i]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < K; r++) {
      V line[M], made[K];
#pragma GCC unroll 8
      for (int i = 0; i < M; i++) line[i] = z[i][r];
      gradient_transform(line, made);
#pragma GCC unroll 8
      for (int i = 0; i < K; i++) made[i].store(to + (r * K + i) * plane);
    }
  }
}

// Tiles of m, at from[p * plane + t * step], to `rows` x `columns` pixels (fewer than the tiles have where the image ends).
template <int M, class T>
void transform_products(const T* from, ptrdiff_t step, ptrdiff_t plane, Vec<T> bias, ptrdiff_t rows, ptrdiff_t columns, T* to) {
  using V = Vec<T>;
  constexpr int N = V::N, K = M + 2;
  for (ptrdiff_t q = 0; q < columns; q += M, from += step) {
    V halves[K][M];  // by column, then row
#pragma GCC unroll 8
    for (int i = 0; i < K; i++) {
      V m[K];
#pragma GCC unroll 8
      for (int r = 0; r < K; r++) m[r] = V::load(from + (r * K + i) * plane);
      product_transform(m, halves[i]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < M; r++) {
      V line[K], y[M];
#pragma GCC unroll 8
      for (int i = 0; i < K; i++) line[i] = halves[i][r];
      product_transform(line, y);
      if (r < rows)
#pragma GCC unroll 8
        for (int i = 0; i < M; i++)
          if (q + i < columns) (y[i] + bias).store(to + (r * columns + q + i) * N);
    }
  }
}

// --- units ---

// Adjacent rows of tiles of one image, or a piece of one row.
struct Span {
  ptrdiff_t image, row, column;  // of the first tile
  ptrdiff_t rows, columns;  // how many tiles
  ptrdiff_t first;  // its first tile, among those of the group
  RUSHLIGHT_INLINE ptrdiff_t tiles() const { return rows * columns; }
};

template <class F>
RUSHLIGHT_INLINE void for_spans(const WinogradPlan& plan, ptrdiff_t begin, ptrdiff_t end, F f) {
  const ptrdiff_t per_image = plan.tile_rows * plan.pieces;
  Span span{};
  while (begin < end) {
    const ptrdiff_t in_image = begin % per_image, piece = in_image % plan.pieces;
    span.image = begin / per_image;
    span.row = in_image / plan.pieces;
    span.rows = plan.pieces == 1 ? smaller(end - begin, plan.tile_rows - span.row) : 1;
    span.column = piece * plan.tile_columns / plan.pieces;
    span.columns = (piece + 1) * plan.tile_columns / plan.pieces - span.column;
    f(span);
    span.first += span.tiles();
    begin += span.rows;
  }
}

ptrdiff_t tiles_of(const WinogradPlan& plan, ptrdiff_t begin, ptrdiff_t end) {
  ptrdiff_t tiles = 0;
  for_spans(plan, begin, end, [&](const Span& s) { tiles += s.tiles(); });
  return tiles;
}

RUSHLIGHT_INLINE ptrdiff_t rounded_up(ptrdiff_t n, ptrdiff_t to) { return (n + to - 1) / to * to; }

// The panels of `outputs` columns, of kTileVecs registers; the last panel may have 1 register.
template <class T>
struct Panels {
  static constexpr ptrdiff_t N = Vec<T>::N, W = kTileWidth<T>;
  RUSHLIGHT_INLINE explicit Panels(ptrdiff_t n) : outputs(n), count((n + W - 1) / W) {}
  RUSHLIGHT_INLINE int vecs(ptrdiff_t j) const { return outputs - j * W > N ? kTileVecs : 1; }
  RUSHLIGHT_INLINE ptrdiff_t width(ptrdiff_t j) const { return vecs(j) * N; }
  RUSHLIGHT_INLINE ptrdiff_t all() const { return (count - 1) * W + width(count - 1); }
  ptrdiff_t outputs, count;
};

// --- the sizes of buffers, in elements ---

template <class T>
RUSHLIGHT_INLINE ptrdiff_t kernel_plane(ptrdiff_t channels) {
  return channels * kTileWidth<T> + kSpare<T>;
}
template <class T>
RUSHLIGHT_INLINE ptrdiff_t patch_plane(ptrdiff_t tiles, ptrdiff_t channels) {
  return tiles * rounded_up(channels, Vec<T>::N) + kSpare<T>;
}
template <class T>
RUSHLIGHT_INLINE ptrdiff_t product_plane(ptrdiff_t tiles, ptrdiff_t panels) {
  return tiles * panels * kTileWidth<T> + kSpare<T>;
}

constexpr ptrdiff_t kGroupBytes = 320 << 10;  // of v: the second cache has 1 MB, and m and one panel of u are in it, too
// Beyond so many bytes of u a group is larger, one plane of v in the cache at a time, and all of m is made before it is transformed.
constexpr ptrdiff_t kLargeKernels = 6 << 20, kPlaneBytes = 128 << 10;
constexpr ptrdiff_t kFewestTiles = kTileRows;
constexpr ptrdiff_t kSumTiles = 96;  // of a group of the weight's gradient

template <int M, class T>
void plan_of(WinogradPlan& p) {
  p.lanes = Vec<T>::N;
  p.panel = kTileWidth<T>;
  p.tile_rows = (p.out_h + M - 1) / M;
  p.tile_columns = (p.out_w + M - 1) / M;
  const ptrdiff_t depth = rounded_up(p.channels, Vec<T>::N);
  constexpr ptrdiff_t kItem = static_cast<ptrdiff_t>(sizeof(T));
  p.kernel_bytes = Panels<T>(p.outputs).count * kPoints<M> * kernel_plane<T>(p.channels) * kItem;
  const bool large = p.kernel_bytes > kLargeKernels;
  ptrdiff_t most = large ? kPlaneBytes / (depth * kItem) : kGroupBytes / (kPoints<M> * depth * kItem);
  if (most < kFewestTiles) most = kFewestTiles;
  p.together = large ? Panels<T>(p.outputs).count : 1;
  p.pieces = (p.tile_columns + most - 1) / most;
  p.units = p.batch * p.tile_rows * p.pieces;
  const ptrdiff_t columns = (p.tile_columns + p.pieces - 1) / p.pieces;
  p.group = smaller(most / columns, p.units);
}

// The pixels of one span, channels last.
template <int M, class T>
ptrdiff_t patch_size(const WinogradPlan& p, ptrdiff_t units) {
  const ptrdiff_t columns = (p.tile_columns + p.pieces - 1) / p.pieces, rows = p.pieces == 1 ? smaller(units, p.tile_rows) : 1;
  return (rows * M + 2) * (columns * M + 2) * Vec<T>::N;
}

// --- the kernels ---

// u of a panel, for the channels [begin, end). Kernel (o, c) begins at w[o * output + c * channel].
template <int M, class T>
void kernels_of(const WinogradPlan& p, const WinogradKernels& k, ptrdiff_t panel, ptrdiff_t begin, ptrdiff_t end, T* u) {
  using V = Vec<T>;
  constexpr int N = V::N, K = M + 2;
  const Panels<T> panels(p.outputs);
  const ptrdiff_t plane = kernel_plane<T>(p.channels), width = panels.width(panel);
  const T* last = static_cast<const T*>(k.data) + p.outputs * p.channels * 9;
  u += panel * kPoints<M> * plane;
  for (int vec = 0; vec < panels.vecs(panel); vec++) {
    const ptrdiff_t o = panel * kTileWidth<T> + vec * N;
    const ptrdiff_t live = smaller(N, p.outputs - o);
    for (ptrdiff_t c = begin; c < end; c++) {
      const T* from = static_cast<const T*>(k.data) + o * k.output + c * k.channel;
      for (ptrdiff_t l = 0; l < live; l++) RUSHLIGHT_PREFETCH(from + l * k.output + 9 * kAhead);
      V w[9];
#pragma GCC unroll 8
      for (int first = 0; first < 9; first += N) {
        const int some = N < 9 - first ? N : 9 - first;
        V rows[N];
        if (live == N && from + (N - 1) * k.output + first + N <= last) {
#pragma GCC unroll 16
          for (int l = 0; l < N; l++) rows[l] = V::load(from + l * k.output + first);
        } else {
          for (int l = 0; l < N; l++) rows[l] = l < live ? load_some(from + l * k.output + first, some) : V::all(0);
        }
        turn(rows);
#pragma GCC unroll 16
        for (int i = 0; i < some; i++) w[first + i] = rows[i];
      }
      V half[3][K];  // by column, then row
#pragma GCC unroll 8
      for (int i = 0; i < 3; i++) {
        const V line[3] = {w[k.turned ? 8 - i : i], w[k.turned ? 5 - i : 3 + i], w[k.turned ? 2 - i : 6 + i]};
        kernel_transform(line, half[i]);
      }
      T* to = u + c * width + vec * N;
      for (int r = 0; r < K; r++) {
        const V line[3] = {half[0][r], half[1][r], half[2][r]};
        V made[K];
        kernel_transform(line, made);
        for (int i = 0; i < K; i++) made[i].store(to + (r * K + i) * plane);
      }
    }
  }
}

template <int M, class T>
ptrdiff_t buffer_size(const WinogradPlan& p) {
  const ptrdiff_t tiles = p.group * ((p.tile_columns + p.pieces - 1) / p.pieces);
  return kPoints<M> * (patch_plane<T>(tiles, p.channels) + product_plane<T>(tiles, p.together)) + patch_size<M, T>(p, p.group);
}

template <int M, class T>
void convolve_of(const WinogradPlan& p, const WinogradImages& images, const T* u, const T* bias, ptrdiff_t begin, ptrdiff_t end,
                 T* buffer, T* out) {
  using V = Vec<T>;
  constexpr int N = V::N;
  const ptrdiff_t tiles = tiles_of(p, begin, end), depth = rounded_up(p.channels, N);
  const ptrdiff_t v_plane = patch_plane<T>(tiles, p.channels), m_plane = product_plane<T>(tiles, p.together),
                  u_plane = kernel_plane<T>(p.channels);
  T* v = buffer;
  T* m = v + kPoints<M> * v_plane;
  T* pixels = m + kPoints<M> * m_plane;
  for_spans(p, begin, end, [&](const Span& s) {
    const ptrdiff_t columns = s.columns * M + 2;
    for (ptrdiff_t c = 0; c < p.channels; c += N) {
      gather(images, s.image, c, s.row * M - p.pad_h, s.column * M - p.pad_w, s.rows * M + 2, columns, pixels);
      for (ptrdiff_t r = 0; r < s.rows; r++)
        transform_patches<M>(pixels + r * M * columns * N, columns, s.columns, v + (s.first + r * s.columns) * depth + c, depth,
                             v_plane);
    }
  });
  const Panels<T> panels(p.outputs);
  const Strips strips(tiles);
  for (ptrdiff_t first = 0; first < panels.count; first += p.together) {
    const ptrdiff_t behind = smaller(panels.count, first + p.together);
    for (int point = 0; point < kPoints<M>; point++)
      for (ptrdiff_t j = first; j < behind; j++) {
        const ptrdiff_t width = panels.width(j);
        const T* kernels = u + (j * kPoints<M> + point) * u_plane;
        T* made = m + point * m_plane + (j - first) * tiles * kTileWidth<T>;
        for (ptrdiff_t s = 0; s < strips.count; s++)
          tile_of<T>(strips.rows(s), panels.vecs(j),
                     false)({p.channels, v + point * v_plane + strips.begin(s) * depth, depth, 1, kernels, width, nullptr, false,
                             made + strips.begin(s) * width, width, width});
      }
    for (ptrdiff_t j = first; j < behind; j++)
      for (int vec = 0; vec < panels.vecs(j); vec++) {
        const ptrdiff_t o = j * kTileWidth<T> + vec * N, plane = p.out_h * p.out_w, width = panels.width(j);
        const T* made = m + (j - first) * tiles * kTileWidth<T> + vec * N;
        const int live = static_cast<int>(smaller(N, p.outputs - o));
        const V start = bias ? load_some(bias + o, live) : V::all(0);
        for_spans(p, begin, end, [&](const Span& s) {
          const ptrdiff_t columns = smaller(s.columns * M, p.out_w - s.column * M), rows = smaller(s.rows * M, p.out_h - s.row * M);
          for (ptrdiff_t r = 0; r < s.rows; r++)
            transform_products<M>(made + (s.first + r * s.columns) * width, width, m_plane, start, rows - r * M, columns,
                                  pixels + r * M * columns * N);
          T* to = out + (s.image * p.outputs + o) * plane + s.row * M * p.out_w + s.column * M;
          if (columns == p.out_w) turn_out(pixels, rows * columns, to, plane, live);
          else
            for (ptrdiff_t r = 0; r < rows; r++) turn_out(pixels + r * columns * N, columns, to + r * p.out_w, plane, live);
        });
      }
  }
}

// --- the weight's gradient ---

// The planes of v and z of a group of tiles, of a strip, and of the sums, in elements.
template <class T>
struct SumSizes {
  explicit SumSizes(const WinogradPlan& p)
      : tiles(p.group * ((p.tile_columns + p.pieces - 1) / p.pieces)),
        v_plane(patch_plane<T>(tiles, p.channels)),
        z_plane(tiles * Panels<T>(p.outputs).all() + kSpare<T>),
        row(Panels<T>(p.outputs).all()),
        s_plane(p.channels * row + kSpare<T>) {}
  ptrdiff_t tiles, v_plane, z_plane, row, s_plane;
};

template <int M, class T>
void sum_plan_of(WinogradPlan& p) {
  plan_of<M, T>(p);
  // Long sums pay for the products' start and end, but a panel of z and a strip of v are to stay in the first cache.
  const ptrdiff_t columns = (p.tile_columns + p.pieces - 1) / p.pieces;
  p.group = smaller(kSumTiles / columns > 1 ? kSumTiles / columns : 1, p.units);
  const SumSizes<T> sizes(p);
  constexpr ptrdiff_t kItem = static_cast<ptrdiff_t>(sizeof(T));
  p.sum_bytes = kPoints<M> * sizes.s_plane * kItem;
  p.tile_bytes = kPoints<M> * (sizes.v_plane + sizes.z_plane) * kItem;
  p.blocks = (p.channels + p.lanes - 1) / p.lanes + (p.outputs + p.lanes - 1) / p.lanes;
  p.products = kPoints<M> * Strips(p.channels).count;
}

// v (first the registers of channels) or z of the units [begin, end), for one register of channels or outputs.
template <int M, class T>
void sum_tiles_of(const WinogradPlan& p, const WinogradImages& images, const WinogradImages& gradients, ptrdiff_t begin,
                  ptrdiff_t end, ptrdiff_t block, T* pixels, T* transformed) {
  constexpr ptrdiff_t N = Vec<T>::N;
  const SumSizes<T> sizes(p);
  const ptrdiff_t depth = rounded_up(p.channels, N), image_blocks = depth / N;
  if (block < image_blocks) {
    for_spans(p, begin, end, [&](const Span& s) {
      const ptrdiff_t columns = s.columns * M + 2;
      gather(images, s.image, block * N, s.row * M - p.pad_h, s.column * M - p.pad_w, s.rows * M + 2, columns, pixels);
      for (ptrdiff_t r = 0; r < s.rows; r++)
        transform_patches<M>(pixels + r * M * columns * N, columns, s.columns,
                             transformed + (s.first + r * s.columns) * depth + block * N, depth, sizes.v_plane);
    });
    return;
  }
  const Panels<T> panels(p.outputs);
  const ptrdiff_t o = (block - image_blocks) * N, panel = o / kTileWidth<T>, width = panels.width(panel);
  T* z = transformed + kPoints<M> * sizes.v_plane + panel * kTileWidth<T> * sizes.tiles + o % kTileWidth<T>;
  for_spans(p, begin, end, [&](const Span& s) {
    const ptrdiff_t columns = s.columns * M;
    gather(gradients, s.image, o, s.row * M, s.column * M, s.rows * M, columns, pixels);
    for (ptrdiff_t r = 0; r < s.rows; r++)
      transform_gradients<M>(pixels + r * M * columns * N, columns, s.columns, z + (s.first + r * s.columns) * width, width,
                             sizes.z_plane);
  });
}

// One strip of channels of one point, for `tiles` tiles, added to the sums (or in their place, for the first group).
template <int M, class T>
void sum_products_of(const WinogradPlan& p, ptrdiff_t begin, ptrdiff_t end, const T* transformed, ptrdiff_t product, T* buffer,
                     T* sums) {
  using V = Vec<T>;
  const SumSizes<T> sizes(p);
  const Strips strips(p.channels);
  const Panels<T> panels(p.outputs);
  const ptrdiff_t point = product / strips.count, strip = product % strips.count, depth = rounded_up(p.channels, V::N);
  const ptrdiff_t tiles = tiles_of(p, begin, end);
  const int rows = strips.rows(strip);
  // Writes past the end of a row fall into the next row, which is written later, or into the slack
  // of the buffer. Reads past the end of v fall into the spare elements of the plane.
  const T* from = transformed + point * sizes.v_plane + strips.begin(strip);
  for (ptrdiff_t t = 0; t < tiles; t++)
    for (int i = 0; i < rows; i += V::N) V::load(from + t * depth + i).store(buffer + t * rows + i);
  for (ptrdiff_t j = 0; j < panels.count; j++) {
    const T* z = transformed + kPoints<M> * sizes.v_plane + point * sizes.z_plane + j * kTileWidth<T> * sizes.tiles;
    T* sum = sums + point * sizes.s_plane + strips.begin(strip) * sizes.row + j * kTileWidth<T>;
    tile_of<T>(rows, panels.vecs(j),
               true)({tiles, buffer, 1, rows, z, panels.width(j), nullptr, begin > 0, sum, sizes.row, panels.width(j)});
  }
}

// The gradients of the kernels (o, c) for the channels [begin, end): contiguous (outputs, channels, 3, 3).
template <int M, class T>
void sum_result_of(const WinogradPlan& p, const T* sums, ptrdiff_t begin, ptrdiff_t end, T* out) {
  using V = Vec<T>;
  constexpr int N = V::N, K = M + 2;
  const SumSizes<T> sizes(p);
  for (ptrdiff_t o = 0; o < p.outputs; o += N) {
    const ptrdiff_t live = smaller(N, p.outputs - o);
    for (ptrdiff_t c = begin; c < end; c++) {
      const T* from = sums + c * sizes.row + o;
      V half[K][3];  // by row, then column
      for (int r = 0; r < K; r++) {
        V line[K];
        for (int i = 0; i < K; i++) line[i] = V::load(from + (r * K + i) * sizes.s_plane);
        kernel_transposed(line, half[r]);
      }
      T lanes[9 * N];
      for (int i = 0; i < 3; i++) {
        V line[K], made[3];
        for (int r = 0; r < K; r++) line[r] = half[r][i];
        kernel_transposed(line, made);
        for (int r = 0; r < 3; r++) made[r].store(lanes + (r * 3 + i) * N);
      }
      for (ptrdiff_t l = 0; l < live; l++)
        for (int i = 0; i < 9; i++) out[((o + l) * p.channels + c) * 9 + i] = lanes[i * N + l];
    }
  }
}

// Calls f.template operator()<M, T>().
template <class F>
RUSHLIGHT_INLINE void by_tile(DType dtype, const WinogradPlan& plan, F f) {
  float_or_double(dtype, [&]<class T>() {
    if (plan.tile == 2) f.template operator()<2, T>();
    else f.template operator()<4, T>();
  });
}

void winograd_plan(DType dtype, WinogradPlan& plan) {
  by_tile(dtype, plan, [&]<int M, class T>() { plan_of<M, T>(plan); });
}
void winograd_kernels(DType dtype, const WinogradPlan& plan, const WinogradKernels& kernels, ptrdiff_t panel, ptrdiff_t begin,
                      ptrdiff_t end, void* u) {
  by_tile(dtype, plan, [&]<int M, class T>() { kernels_of<M, T>(plan, kernels, panel, begin, end, static_cast<T*>(u)); });
}
ptrdiff_t winograd_buffer(DType dtype, const WinogradPlan& plan) {
  ptrdiff_t bytes = 0;
  by_tile(dtype, plan, [&]<int M, class T>() { bytes = buffer_size<M, T>(plan) * static_cast<ptrdiff_t>(sizeof(T)); });
  return bytes;
}
void winograd_convolve(DType dtype, const WinogradPlan& plan, const WinogradImages& images, const void* u, const void* bias,
                       ptrdiff_t begin, ptrdiff_t end, void* buffer, void* out) {
  by_tile(dtype, plan, [&]<int M, class T>() {
    convolve_of<M, T>(plan, images, static_cast<const T*>(u), static_cast<const T*>(bias), begin, end, static_cast<T*>(buffer),
                      static_cast<T*>(out));
  });
}

void winograd_sum_plan(DType dtype, WinogradPlan& plan) {
  by_tile(dtype, plan, [&]<int M, class T>() { sum_plan_of<M, T>(plan); });
}
ptrdiff_t winograd_sum_buffer(DType dtype, const WinogradPlan& plan) {
  ptrdiff_t bytes = 0;
  by_tile(dtype, plan, [&]<int M, class T>() {
    const ptrdiff_t strip = SumSizes<T>(plan).tiles * kTileRows, pixels = patch_size<M, T>(plan, plan.group);
    bytes = (strip > pixels ? strip : pixels) * static_cast<ptrdiff_t>(sizeof(T));
  });
  return bytes;
}
void winograd_sum_tiles(DType dtype, const WinogradPlan& plan, const WinogradImages& images, const WinogradImages& gradients,
                        ptrdiff_t begin, ptrdiff_t end, ptrdiff_t block, void* buffer, void* transformed) {
  by_tile(dtype, plan, [&]<int M, class T>() {
    sum_tiles_of<M, T>(plan, images, gradients, begin, end, block, static_cast<T*>(buffer), static_cast<T*>(transformed));
  });
}
void winograd_sum_products(DType dtype, const WinogradPlan& plan, ptrdiff_t begin, ptrdiff_t end, const void* transformed,
                           ptrdiff_t product, void* buffer, void* sums) {
  by_tile(dtype, plan, [&]<int M, class T>() {
    sum_products_of<M, T>(plan, begin, end, static_cast<const T*>(transformed), product, static_cast<T*>(buffer),
                          static_cast<T*>(sums));
  });
}
void winograd_sum_result(DType dtype, const WinogradPlan& plan, const void* sums, ptrdiff_t begin, ptrdiff_t end, void* out) {
  by_tile(dtype, plan,
          [&]<int M, class T>() { sum_result_of<M, T>(plan, static_cast<const T*>(sums), begin, end, static_cast<T*>(out)); });
}

}  // namespace

void fill_winograd(DenseKernels& table) {
  table.winograd_plan = winograd_plan;
  table.winograd_kernels = winograd_kernels;
  table.winograd_buffer = winograd_buffer;
  table.winograd_convolve = winograd_convolve;
  table.winograd_sum_plan = winograd_sum_plan;
  table.winograd_sum_buffer = winograd_sum_buffer;
  table.winograd_sum_tiles = winograd_sum_tiles;
  table.winograd_sum_products = winograd_sum_products;
  table.winograd_sum_result = winograd_sum_result;
}

}  // namespace rushlight::RUSHLIGHT_ISA
