// Convolutions of one to three dimensions and their two gradients: products of a matrix with patches of images, which are read
// where they lie. Strides are in bytes; of fewer dimensions than three, the first have size 1.
//
// A column of the product is (u, v0, v1, v2), a term of its sums (q, r0, r1, r2). What both see of the image is, in each
// dimension, the place (v * by_v + r * by_r + shift) / over, where that is a whole number within the image; else it is zero.
//
//                          row      u        v                   q        r
//   the result             out      -        place               in       tap of the kernel
//   the input's gradient   in       -        place of the input  out      tap
//   the weight's gradient  out      in       tap                 image    place
#define TILE 4
#ifndef STORED
#define STORED (int)type  // of both operands
#endif

typedef struct {
  i64 stacks, groups, rows, columns, pieces;  // stacks: of images and groups
  i64 v[4], r[4];  // how many of each
  i64 by_v[3], by_r[3], shift[3], over[3], sizes[3];
  i64 a_steps[6];  // of groups, of rows, and of r
  i64 x_steps[7];  // of images, of groups, of v and r in the first dimension, and of places
} Geometry;

// The place in a dimension of the image, -1 where there is none.
FUNCTION i64 seen(const Geometry *g, int d, i64 v, i64 r) {
  i64 at = v * g->by_v[d] + r * g->by_r[d] + g->shift[d];
  if (at < 0) return -1;
  if (g->over[d] > 1) {
    const i64 whole = at / g->over[d];
    if (whole * g->over[d] != at) return -1;
    at = whole;
  }
  return at < g->sizes[d] ? at : -1;
}

#ifdef ROWS
#define GATHERED  // here are the kernels
#include "products.cl"
#ifdef __CUDACC__

// The same as tiles (tiles.cl), the columns' elements gathered one by one. With IMAGES a product of all images at once, of which a tap
// is a part; without, the weight's gradient, of which an image is a part, and each group and tap have a stack.
#ifdef IMAGES

// An item brings neighbouring terms, channels, of one column.
template <int LINES>
struct Places : Tile<LINES, false> {
  using Here = Tile<LINES, false>;
  static constexpr int RUN = Here::CHUNKS * PER;
  const Geometry &g;
  const u8 *x, *now;  // of the image, and of the place that the tap sees
  int at[3];
  bool inside;
  Chunk held[Here::CHUNKS];

  Places(const Geometry &g, const u8 *group, i64 column, i64 columns, const Slices &from) : g(g) {
    i64 rest = column < columns ? column : 0;
    for (int d = 2; d >= 0; rest /= g.v[d + 1], --d) at[d] = (int)(rest % g.v[d + 1] * g.by_v[d] + g.shift[d]);
    if (column >= columns) at[0] = -(1 << 30);  // beyond the end nothing is seen
    x = group + rest * g.x_steps[2] + MEMBER / LINES * RUN * g.x_steps[3];
    look(from.part);
    now += from.first * g.x_steps[3];
  }

  void look(int tap) {
    const int r[3] = {tap / (int)(g.r[2] * g.r[3]), tap / (int)g.r[3] % (int)g.r[2], tap % (int)g.r[3]};
    inside = true, now = x;
    for (int d = 0; d < 3; ++d) {
      int place = at[d] + r[d] * (int)g.by_r[d];
      const int over = (int)g.over[d];
      if (over > 1) {
        inside &= place % over == 0;
        place /= over;
      }
      inside &= place >= 0 && place < g.sizes[d];
      now += place * g.x_steps[4 + d];
    }
  }

  void bring(uint4 *, const Slices &slice) {
    const int there = inside ? slice.count() - MEMBER / LINES * RUN : 0;
#pragma unroll
    for (int e = 0; e < RUN; ++e)
      held[e / PER].each[e % PER] = e < there ? __ldg((const Element *)(now + e * g.x_steps[3])) : (Element)0;
    now += SLICE * g.x_steps[3];
    if (slice.part_ends()) look(slice.part + 1);
  }

  void put(uint4 *stage) const {
    for (int i = 0; i < Here::CHUNKS; ++i) Here::put(stage, MEMBER % LINES, MEMBER / LINES * Here::CHUNKS + i, held[i]);
  }
};

TILES convolve_tiles(BUFFER(a), BUFFER(x), BUFFER(bias), BUFFER(out), Product p, T alpha, T beta, Geometry g) {
  const Share s(p, p.parts * ((p.depth + SLICE - 1) / SLICE));
  const Slices slices(p, s.from);
  using A = Matrix<ROWS, A_TURNED>;
  using B = Places<COLUMNS>;
  LOCAL uint4 of_a[STAGES * A::SPACE], of_b[STAGES * B::SPACE];
  A left(a + a_at + place_of(&p.a_places[0], s.stack) + s.row * p.a[0], p.a_places[1], p.a[0], p.a[1], p.rows - s.row, slices);
  B right(g, x + x_at + s.stack * g.x_steps[1], s.column + MEMBER % COLUMNS, p.columns, slices);
  Sums sums;
  multiply(left, right, of_a, of_b, slices, s, sums);
  finish_all(p, sums, bias, bias_at, out, out_at, alpha, beta);
}
#else

// An item brings what one tap sees from neighbouring places, of several channels: terms of several columns. Parts are images.
template <int LINES>
struct Seen : Tile<LINES, false> {
  using Here = Tile<LINES, false>;
  static constexpr int STEP = ITEMS / Here::LENGTH;
  const Geometry &g;
  const u8 *x;  // of the image and the item's first channel
  int at[3], lines;
  Chunk held[Here::CHUNKS];

  Seen(const Geometry &g, const u8 *group, i64 tap, i64 column, i64 columns, const Slices &from) : g(g) {
    for (int d = 2; d >= 0; tap /= g.v[d + 1], --d) at[d] = (int)(tap % g.v[d + 1] * g.by_v[d] + g.shift[d]);
    const i64 channel = column + MEMBER / Here::LENGTH;
    x = group + from.part * g.x_steps[3] + channel * g.x_steps[2];
    lines = (int)(columns - channel < LINES ? columns - channel : LINES);
  }

  void bring(uint4 *, const Slices &slice) {
    const int begin = MEMBER % Here::LENGTH * PER;
    int rest = slice.first + begin, r[3];
    r[2] = rest % (int)g.r[3], rest /= (int)g.r[3];
    r[1] = rest % (int)g.r[2], r[0] = rest / (int)g.r[2];
#pragma unroll
    for (int e = 0; e < PER; ++e) {
      bool inside = begin + e < slice.count();
      const u8 *from = x;
      for (int d = 0; d < 3; ++d) {
        const int place = at[d] + r[d] * (int)g.by_r[d];
        inside &= place >= 0 && place < g.sizes[d];
        from += place * g.x_steps[4 + d];
      }
#pragma unroll
      for (int i = 0; i < Here::CHUNKS; ++i)
        held[i].each[e] = inside && i * STEP < lines ? __ldg((const Element *)(from + i * STEP * g.x_steps[2])) : (Element)0;
      if (++r[2] == g.r[3]) r[2] = 0, ++r[1];
      if (r[1] == g.r[2]) r[1] = 0, ++r[0];
    }
    if (slice.part_ends()) x += g.x_steps[3];
  }

  void put(uint4 *stage) const {
    for (int i = 0; i < Here::CHUNKS; ++i) Here::put(stage, MEMBER / Here::LENGTH + i * STEP, MEMBER % Here::LENGTH, held[i]);
  }
};

TILES weight_tiles(BUFFER(a), BUFFER(x), BUFFER(bias), BUFFER(out), Product p, T alpha, T beta, Geometry g) {
  const Share s(p, p.parts * ((p.depth + SLICE - 1) / SLICE));
  const Slices slices(p, s.from);
  const i64 taps = p.stacks / g.groups;
  using A = Matrix<ROWS, A_TURNED>;
  using B = Seen<COLUMNS>;
  LOCAL uint4 of_a[STAGES * A::SPACE], of_b[STAGES * B::SPACE];
  A left(a + a_at + place_of(&p.a_places[0], s.stack) + s.row * p.a[0], p.a_places[1], p.a[0], p.a[1], p.rows - s.row, slices);
  B right(g, x + x_at + s.stack / taps * g.x_steps[1], s.stack % taps, s.column, p.columns, slices);
  Sums sums;
  multiply(left, right, of_a, of_b, slices, s, sums);
  finish_all(p, sums, bias, bias_at, out, out_at, alpha, beta);
}
#endif
#endif
#else  // without ROWS

KERNEL convolve(BUFFER(a), BUFFER(x), BUFFER(bias), BUFFER(out), Geometry g, i64 has_bias, i64 type, i64 out_type) {
  const i64 across = (g.columns + TILE - 1) / TILE, down = (g.rows + TILE - 1) / TILE;
  const i64 column = ITEM % across, row = ITEM / across % down * TILE;
  const i64 stack = ITEM / across / down % g.stacks, piece = ITEM / across / down / g.stacks;
  if (piece >= g.pieces) return;
  const i64 group = stack % g.groups, image = stack / g.groups;
  i64 a_rows[TILE], v0[TILE], v1[TILE], v2[TILE], x_columns[TILE];
  for (int i = 0; i < TILE; ++i) a_rows[i] = (row + i < g.rows ? row + i : g.rows - 1) * g.a_steps[1];
  for (int j = 0; j < TILE; ++j) {
    i64 rest = column + j * across < g.columns ? column + j * across : g.columns - 1;
    v2[j] = rest % g.v[3], rest /= g.v[3];
    v1[j] = rest % g.v[2], rest /= g.v[2];
    v0[j] = rest % g.v[1];
    x_columns[j] = rest / g.v[1] * g.x_steps[2];
  }
  T sums[TILE][TILE];
  for (int i = 0; i < TILE; ++i)
    for (int j = 0; j < TILE; ++j) sums[i][j] = 0;
  const i64 lines = g.r[0] * g.r[1] * g.r[2], end = lines * (piece + 1) / g.pieces;
  const i64 a_begin = a_at + group * g.a_steps[0], x_begin = x_at + image * g.x_steps[0] + group * g.x_steps[1];
  for (i64 line = lines * piece / g.pieces; line < end; ++line) {
    const i64 r1 = line % g.r[2], r0 = line / g.r[2] % g.r[1], q = line / g.r[2] / g.r[1];
    i64 a_now = a_begin + q * g.a_steps[2] + r0 * g.a_steps[3] + r1 * g.a_steps[4];
    i64 x_lines[TILE];  // -1 where the image has no such line
    for (int j = 0; j < TILE; ++j) {
      const i64 p0 = seen(&g, 0, v0[j], r0), p1 = seen(&g, 1, v1[j], r1);
      x_lines[j] = p0 < 0 || p1 < 0 ? -1 : x_begin + x_columns[j] + q * g.x_steps[3] + p0 * g.x_steps[4] + p1 * g.x_steps[5];
    }
    for (i64 r2 = 0; r2 < g.r[3]; ++r2, a_now += g.a_steps[5]) {
      T w[TILE], y[TILE];
      for (int i = 0; i < TILE; ++i) w[i] = load(a, a_now + a_rows[i], STORED);
      for (int j = 0; j < TILE; ++j) {
        const i64 p2 = x_lines[j] < 0 ? -1 : seen(&g, 2, v2[j], r2);
        y[j] = p2 < 0 ? (T)0 : load(x, x_lines[j] + p2 * g.x_steps[6], STORED);
      }
      for (int i = 0; i < TILE; ++i)
        for (int j = 0; j < TILE; ++j) sums[i][j] += w[i] * y[j];
    }
  }
  for (int i = 0; i < TILE && row + i < g.rows; ++i) {
    const T added = has_bias ? load(bias, bias_at + (group * g.rows + row + i) * SIZE(type), STORED) : (T)0;
    for (int j = 0; j < TILE && column + j * across < g.columns; ++j) {
      const i64 at = ((piece * g.stacks + stack) * g.rows + row + i) * g.columns + column + j * across;
      store(out, out_at + at * SIZE(out_type), (int)out_type, sums[i][j] + added);
    }
  }
}

// The columns of the product in the order in which `product_packed` (products.cl) reads them: of BROAD columns, which are a panel, the
// first term of each, then the second. Panels of all stacks are counted, and `panels` of them copied, from number `first` on. A work item
// copies the terms of one q.

KERNEL pack_columns(BUFFER(x), BUFFER(to), Geometry g, i64 first, i64 panels, i64 type) {
  const i64 q = ITEM % g.r[0], panel = first + ITEM / g.r[0], across = (g.columns + BROAD - 1) / BROAD;
  if (panel >= first + panels) return;
  const i64 stack = panel / across, column = panel % across * BROAD;
  const i64 begin = x_at + stack / g.groups * g.x_steps[0] + stack % g.groups * g.x_steps[1] + q * g.x_steps[3];
  i64 v0[BROAD], v1[BROAD], v2[BROAD], of_u[BROAD];
  i64 rest = column;
  v2[0] = rest % g.v[3], rest /= g.v[3];
  v1[0] = rest % g.v[2], rest /= g.v[2];
  v0[0] = rest % g.v[1], rest /= g.v[1];
  of_u[0] = begin + rest * g.x_steps[2];
  for (int j = 1; j < BROAD; ++j) {
    v0[j] = v0[j - 1], v1[j] = v1[j - 1], v2[j] = v2[j - 1] + 1, of_u[j] = of_u[j - 1];
    if (v2[j] == g.v[3]) v2[j] = 0, ++v1[j];
    if (v1[j] == g.v[2]) v1[j] = 0, ++v0[j];
    if (v0[j] == g.v[1]) v0[j] = 0, of_u[j] += g.x_steps[2];
  }
  const i64 lines = g.r[1] * g.r[2], size = g.sizes[2], over = g.over[2], step = g.x_steps[6];
  const i64 count = g.columns - column < BROAD ? g.columns - column : BROAD;
  const int beside = count == BROAD && v2[BROAD - 1] == v2[0] + BROAD - 1 && over == 1;  // all on one line
  GLOBAL T *now = OF(T, to) + ITEM * lines * g.r[3] * BROAD;
  for (i64 line = 0; line < lines; ++line) {
    i64 at[BROAD], p2[BROAD];  // where the line begins, -1 where there is none; the place on it, times `over`
    for (int j = 0; j < BROAD; ++j) {
      const i64 p0 = seen(&g, 0, v0[j], line / g.r[2]), p1 = seen(&g, 1, v1[j], line % g.r[2]);
      at[j] = j >= count || p0 < 0 || p1 < 0 ? -1 : of_u[j] + p0 * g.x_steps[4] + p1 * g.x_steps[5];
      p2[j] = v2[j] * g.by_v[2] + g.shift[2];
    }
    for (i64 r2 = 0; r2 < g.r[3]; ++r2, now += BROAD) {
      if (beside && at[0] >= 0 && p2[0] >= 0 && p2[BROAD - 1] < size) {
        const i64 place = at[0] + p2[0] * step;
        if (g.by_v[2] * step == SIZE(STORED)) {
          for (int j = 0; j < BROAD; ++j) now[j] = load(x, place + j * SIZE(STORED), STORED);
        } else {
          for (int j = 0; j < BROAD; ++j) now[j] = load(x, place + j * g.by_v[2] * step, STORED);
        }
      } else {
        for (int j = 0; j < BROAD; ++j) {
          const i64 whole = over == 1 ? p2[j] : p2[j] / over;
          const int inside = at[j] >= 0 && p2[j] >= 0 && whole < size && whole * over == p2[j];
          now[j] = inside ? load(x, at[j] + whole * step, STORED) : (T)0;
        }
      }
      for (int j = 0; j < BROAD; ++j) p2[j] += g.by_r[2];
    }
  }
}

// ---- patches as columns

typedef struct {
  i64 size[2], counts[2];  // of the image, and how many places a patch has
  i64 taps[2], stride[2], padding[2], dilation[2];
} Patches;

// From images (planes, height, width) to columns (planes, kernel_height * kernel_width, rows * columns).
KERNEL to_columns(BUFFER(x), BUFFER(out), Patches g, i64 items, i64 type) {
  if (ITEM >= items) return;
  i64 rest = ITEM;
  const i64 column = rest % g.counts[1];
  rest /= g.counts[1];
  const i64 row = rest % g.counts[0];
  rest /= g.counts[0];
  const i64 j = rest % g.taps[1];
  rest /= g.taps[1];
  const i64 i = rest % g.taps[0], plane = rest / g.taps[0];
  const i64 h = row * g.stride[0] - g.padding[0] + i * g.dilation[0], w = column * g.stride[1] - g.padding[1] + j * g.dilation[1];
  const int inside = h >= 0 && h < g.size[0] && w >= 0 && w < g.size[1];
  const T value = inside ? load(x, x_at + ((plane * g.size[0] + h) * g.size[1] + w) * SIZE(type), (int)type) : (T)0;
  store(out, out_at + ITEM * SIZE(type), (int)type, value);
}

// And back: each element of an image is the sum of what columns have of it.
KERNEL from_columns(BUFFER(x), BUFFER(out), Patches g, i64 items, i64 type) {
  if (ITEM >= items) return;
  const i64 w = ITEM % g.size[1], h = ITEM / g.size[1] % g.size[0], plane = ITEM / g.size[1] / g.size[0];
  T sum = 0;
  for (i64 i = 0; i < g.taps[0]; ++i) {
    const i64 down = h + g.padding[0] - i * g.dilation[0];
    if (down < 0 || down % g.stride[0] || down / g.stride[0] >= g.counts[0]) continue;
    for (i64 j = 0; j < g.taps[1]; ++j) {
      const i64 across = w + g.padding[1] - j * g.dilation[1];
      if (across < 0 || across % g.stride[1] || across / g.stride[1] >= g.counts[1]) continue;
      const i64 tap = (plane * g.taps[0] + i) * g.taps[1] + j;
      sum += load(x, x_at + ((tap * g.counts[0] + down / g.stride[0]) * g.counts[1] + across / g.stride[1]) * SIZE(type), (int)type);
    }
  }
  store(out, out_at + ITEM * SIZE(type), (int)type, sum);
}
#endif
