// Scaled dot-product attention of one head, and its gradient.
//
// Forward: the keys, transposed, and the values are packed once as panels for the tile of tile.h. Strips of query rows then
// meet the keys kKeyBytes of a score row at a time: scores (strip x keys) stay in L1, become exponentials against the highest
// so far, and are multiplied by the values. Where there are more keys than that, kStrips strips go through one block of keys
// after another, and what was summed shrinks when a higher score comes (the "online" softmax). A causal strip ends with
// its last row's key. Per row the logarithm of the sum of the exponentials is kept, so that the gradient finds each weight by
// one exponential. Queries few enough (kFewRows) read keys and values where they lie: packing would cost more than it saves.
//
// Gradient: kBlockRows rows at a time against blocks of keys. Weights and their gradients (rows x keys) are made strip by
// strip and give grad_query; read by columns they give grad_value and grad_key, in strips of keys.
//
// The floor is that of the products: 2 forward and 5 backward of queries x keys x depth multiplications, half of that where
// causal, and an exponential for each score in both. Halves are converted as they are packed and computed in float.
#include <cmath>

#include "kernels/isa/elementwise/pointwise.h"
#include "kernels/isa/matrix/tile.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

constexpr int kFewRows = 4;
constexpr int kStrips = 8;
constexpr int kBlockRows = 5 * kTileRows;
template <class T>
constexpr ptrdiff_t kKeys = 2048 / static_cast<ptrdiff_t>(sizeof(T)) / kTileWidth<T> * kTileWidth<T>;  // whole panels
template <class T>
constexpr ptrdiff_t kBackwardKeys = 1024 / static_cast<ptrdiff_t>(sizeof(T)) / kTileWidth<T> * kTileWidth<T>;
template <class T>
constexpr ptrdiff_t kStripRoom = (kTileRows + Vec<T>::N - 1) / Vec<T>::N * Vec<T>::N;  // a strip's rows in whole registers

template <class T>
constexpr T kLow = -T(__builtin_inff());
template <class T>
constexpr DType kTypeOf = sizeof(T) == 4 ? DType::F32 : DType::F64;

RUSHLIGHT_INLINE float logarithm(float x) { return ::logf(x); }
RUSHLIGHT_INLINE double logarithm(double x) { return ::log(x); }
RUSHLIGHT_INLINE ptrdiff_t larger(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }
RUSHLIGHT_INLINE ptrdiff_t round_up(ptrdiff_t n, ptrdiff_t to) { return (n + to - 1) / to * to; }

// The larger of each lane, b where one is NaN: its exponential, and so the sum of the row, is NaN all the same.
template <class T>
RUSHLIGHT_INLINE Vec<T> higher(Vec<T> a, Vec<T> b) {
#ifdef RUSHLIGHT_VECTOR_EXTENSION
  return {a.v > b.v ? a.v : b.v};
#else
  for (int i = 0; i < Vec<T>::N; i++) b.v[i] = a.v[i] > b.v[i] ? a.v[i] : b.v[i];
  return b;
#endif
}

template <class T>
struct Places {
  T at[Vec<T>::N];
  constexpr Places() : at{} {
    for (int i = 0; i < Vec<T>::N; i++) at[i] = static_cast<T>(i);
  }
};
// The first n lanes of a (fewer than there are), `fill` behind them.
template <class T>
RUSHLIGHT_INLINE Vec<T> first_lanes(Vec<T> a, ptrdiff_t n, T fill) {
  static constexpr Places<T> kPlaces;
#ifdef RUSHLIGHT_VECTOR_EXTENSION
  return {Vec<T>::load(kPlaces.at).v < Vec<T>::all(static_cast<T>(n)).v ? a.v : Vec<T>::all(fill).v};
#else
  for (int i = 0; i < Vec<T>::N; i++) a.v[i] = i < n ? a.v[i] : fill;
  return a;
#endif
}

// Lane i of the result: the lanes of rows[i] combined.
template <class T, class F>
RUSHLIGHT_INLINE Vec<T> across(Vec<T> (&rows)[Vec<T>::N], F combine) {
  constexpr int N = Vec<T>::N;
#ifdef RUSHLIGHT_SHUFFLES
  using Lanes = std::make_integer_sequence<int, N>;
#pragma GCC unroll 8
  for (int half = N / 2; half > 0; half /= 2)
#pragma GCC unroll 16
    for (int i = 0; i < half; i++)
      rows[i] = combine(interleave<T, 0>(rows[i], rows[i + half], Lanes{}), interleave<T, N / 2>(rows[i], rows[i + half], Lanes{}));
  return rows[0];
#else
  T found[N];
  for (int i = 0; i < N; i++)
    found[i] = horizontal(rows[i], [&](T x, T y) { return combine(Vec<T>::all(x), Vec<T>::all(y)).v[0]; });
  return Vec<T>::load(found);
#endif
}

// --- operands ---

// Rows of adjacent elements, `row` of them apart.
template <class T>
struct Rows {
  T* data;
  ptrdiff_t row;
  RUSHLIGHT_INLINE T* at(ptrdiff_t i) const { return data + i * row; }
};

bool lies_ready(const ByteMatrix& m, DType dtype, DType compute) {
  return dtype == compute && m.column == item_size(compute) && m.row % m.column == 0;
}

// Rows [from, from + n) of a matrix: where they lie, else converted to `room`.
template <class T>
Rows<const T> rows_of(const ByteMatrix& m, DType dtype, ptrdiff_t from, ptrdiff_t n, ptrdiff_t columns, T* room) {
  const char* first = m.data + from * m.row;
  if (lies_ready(m, dtype, kTypeOf<T>)) return {reinterpret_cast<const T*>(first), m.row / static_cast<ptrdiff_t>(sizeof(T))};
  const LoadFn load = load_function(dtype, kTypeOf<T>);
  for (ptrdiff_t i = 0; i < n; i++) load(first + i * m.row, m.column, room + i * columns, columns);
  return {room, columns};
}

// Where a result of n rows is made: in place, or in `room`, from where `deliver` converts it.
template <class T>
Rows<T> result_rows(const ByteMatrix& m, DType dtype, ptrdiff_t from, ptrdiff_t columns, T* room) {
  if (!lies_ready(m, dtype, kTypeOf<T>)) return {room, columns};
  return {reinterpret_cast<T*>(m.data + from * m.row), m.row / static_cast<ptrdiff_t>(sizeof(T))};
}
template <class T>
void deliver(Rows<T> made, const ByteMatrix& m, DType dtype, ptrdiff_t from, ptrdiff_t n, ptrdiff_t columns) {
  if (lies_ready(m, dtype, kTypeOf<T>)) return;
  const StoreFn store = store_function(kTypeOf<T>, dtype);
  for (ptrdiff_t i = 0; i < n; i++) store(made.at(i), m.data + (from + i) * m.row, m.column, columns);
}

// Lane i of the result: row i of x times row i of y; of `rows` rows, at most as many as there are lanes.
template <class T>
RUSHLIGHT_INLINE Vec<T> dots(Rows<const T> x, Rows<const T> y, int rows, ptrdiff_t columns) {
  using V = Vec<T>;
  constexpr int N = V::N;
  const ptrdiff_t whole = columns / N * N;
  V lanes[N];
  T rest[N];
  for (int i = 0; i < N; i++) {
    V sum = V::all(0);
    rest[i] = 0;
    if (i < rows) {
      const T *a = x.at(i), *b = y.at(i);
      for (ptrdiff_t k = 0; k < whole; k += N) sum = fma(V::load(a + k), V::load(b + k), sum);
      for (ptrdiff_t k = whole; k < columns; k++) rest[i] += a[k] * b[k];
    }
    lanes[i] = sum;
  }
  return across(lanes, [](V a, V b) { return a + b; }) + V::load(rest);
}

// --- panels: `columns` columns of `depth` rows, kTileWidth at a time; the last panel one register wide where that is enough ---

template <class T>
struct Panel {
  const T* data;
  ptrdiff_t ldb;
};
template <class T>
struct Panels {
  const T* data;
  ptrdiff_t depth, columns;
  // The panel that begins with column j, from row k on.
  RUSHLIGHT_INLINE Panel<T> at(ptrdiff_t j, ptrdiff_t k = 0) const {
    const ptrdiff_t ldb = columns - j > Vec<T>::N ? kTileWidth<T> : Vec<T>::N;
    return {data + j * depth + k * ldb, ldb};
  }
};

// panels[k][j] = m[k][j]
template <class T>
Panels<T> pack_rows(Rows<const T> m, ptrdiff_t depth, ptrdiff_t columns, T* to) {
  constexpr ptrdiff_t N = Vec<T>::N;
  const Panels<T> panels{to, depth, columns};
  for (ptrdiff_t j = 0; j < columns; j += kTileWidth<T>) {
    const ptrdiff_t width = smaller(kTileWidth<T>, columns - j), padded = panels.at(j).ldb, whole = width / N * N;
    for (ptrdiff_t k = 0; k < depth; k++, to += padded) {
      const T* from = m.at(k) + j;
      ptrdiff_t i = 0;
      for (; i < whole; i += N) Vec<T>::load(from + i).store(to + i);
      for (; i < width; i++) to[i] = from[i];
      for (; i < padded; i++) to[i] = 0;
    }
  }
  return panels;
}

// panels[k][j] = m[j][k]
template <class T>
Panels<T> pack_columns(Rows<const T> m, ptrdiff_t depth, ptrdiff_t columns, T* to) {
  const Panels<T> panels{to, depth, columns};
  for (ptrdiff_t j = 0; j < columns; j += kTileWidth<T>) {
    const ptrdiff_t width = smaller(kTileWidth<T>, columns - j), padded = panels.at(j).ldb;
    pack_panel(m.at(j), ptrdiff_t{1}, m.row, depth, width, padded, to + j * depth);
  }
  return panels;
}

// Elements that panels may take.
template <class T>
RUSHLIGHT_INLINE ptrdiff_t panels_size(ptrdiff_t depth, ptrdiff_t columns) {
  return depth * round_up(columns, kTileWidth<T>);
}

// c (rows x n) = a @ panels[k, k + depth), in tiles; whole registers of c are written where `padded`.
template <class T>
void strip_product(int rows, const T* a, ptrdiff_t a_row, ptrdiff_t a_column, const Panels<T>& b, ptrdiff_t first, ptrdiff_t n,
                   ptrdiff_t k, ptrdiff_t depth, bool accumulate, bool padded, T* c, ptrdiff_t ldc) {
  constexpr ptrdiff_t N = Vec<T>::N;
  const TileFunction<T> wide = tile_of<T>(rows, kTileVecs, false);
  for (ptrdiff_t j = 0; j < n; j += kTileWidth<T>) {
    const Panel<T> panel = b.at(first + j, k);
    const ptrdiff_t left = n - j;
    const bool narrow = left <= N;
    const ptrdiff_t most = narrow ? N : kTileWidth<T>;
    const TileTask<T> task{
        depth, a, a_row, a_column, panel.data, panel.ldb, nullptr, accumulate, c + j, ldc, padded ? most : smaller(left, most)};
    (narrow ? tile_of<T>(rows, 1, false) : wide)(task);
  }
}

// --- scratch memory: cut into pieces of whole cache lines ---

class Scratch {
 public:
  explicit Scratch(void* base) : at_(reinterpret_cast<uintptr_t>(base)) {}
  template <class T>
  T* take(ptrdiff_t n) {
    at_ = (at_ + 63) / 64 * 64;
    T* piece = reinterpret_cast<T*>(at_);
    at_ += static_cast<size_t>(n) * sizeof(T);
    return piece;
  }
  ptrdiff_t end() const { return static_cast<ptrdiff_t>(at_) + 64 + kSlackBytes; }

 private:
  uintptr_t at_;
};

// --- scores ---

// Adds the mask to a row of scores that are then scaled already; a boolean one says what may be seen.
template <class T>
void add_mask(const AttentionHead& h, ptrdiff_t i, ptrdiff_t j, ptrdiff_t n, T scale, T* room, T* s) {
  load_function(h.mask_dtype, kTypeOf<T>)(h.mask.data + i * h.mask.row + j * h.mask.column, h.mask.column, room, n);
  if (h.mask_dtype == DType::Bool) {
    RUSHLIGHT_INDEPENDENT
    for (ptrdiff_t k = 0; k < n; k++) s[k] = s[k] * scale + (room[k] != T(0) ? T(0) : kLow<T>);
  } else {
    RUSHLIGHT_INDEPENDENT
    for (ptrdiff_t k = 0; k < n; k++) s[k] = s[k] * scale + room[k];
  }
}

// Scores are multiplied by the scale while they are read, or before, where a mask is added or the order would turn.
template <class T>
bool scales_before(const AttentionHead& h) {
  return h.mask.data || !(h.scale > 0) || !(static_cast<T>(h.scale) * 0 == 0);
}

// Brings rows [i, i + rows) against keys [j, j + n) into shape: scaled, masked, -inf where no key is or may be seen, up to whole
// registers. Returns the factor that is left.
template <class T>
T shape_scores(const AttentionHead& h, ptrdiff_t i, int rows, ptrdiff_t j, ptrdiff_t n, T* room, T* s, ptrdiff_t ld) {
  constexpr ptrdiff_t N = Vec<T>::N;
  const T scale = static_cast<T>(h.scale);
  const bool before = scales_before<T>(h);
  const ptrdiff_t end = round_up(n, N);
  for (int r = 0; r < rows; r++, s += ld) {
    if (h.mask.data) add_mask(h, i + r, j, n, scale, room, s);
    else if (before)
      for (ptrdiff_t k = 0; k < n; k++) s[k] *= scale;
    const ptrdiff_t seen = h.causal ? smaller(n, larger(0, i + r + 1 - j)) : n;
    ptrdiff_t k = seen / N * N;
    if (k < seen) {
      first_lanes(Vec<T>::load(s + k), seen - k, kLow<T>).store(s + k);
      k += N;
    }
    for (; k < end; k += N) Vec<T>::all(kLow<T>).store(s + k);
  }
  return before ? T(1) : scale;
}

// The running state of a strip's rows: over the keys so far.
template <class T>
struct State {
  T top[kStripRoom<T>];     // the highest scaled score
  T sum[kStripRoom<T>];     // of the exponentials against it
  T shrink[kStripRoom<T>];  // what sums of before are multiplied by
};

// Scores (end columns, whole registers) become exponentials against the highest so far, times the noise.
template <class T>
void exponentials(const AttentionHead& h, ptrdiff_t i, int rows, ptrdiff_t j, ptrdiff_t n, T factor, bool first, T* room, T* s,
                  ptrdiff_t ld, State<T>& state) {
  using V = Vec<T>;
  constexpr int N = V::N;
  const ptrdiff_t end = round_up(n, N);
  for (int g = 0; g < rows; g += N) {
    const int some = static_cast<int>(smaller(N, rows - g));
    V lanes[N];
    T shift[N];
    for (int r = 0; r < N; r++) {
      V top = V::all(kLow<T>);
      if (r < some)
        for (ptrdiff_t k = 0; k < end; k += N) top = higher(V::load(s + (g + r) * ld + k), top);
      lanes[r] = top;
    }
    V top = across(lanes, [](V a, V b) { return higher(a, b); }) * V::all(factor);
    const V low = V::all(kLow<T>), old = first ? low : V::load(state.top + g);
    top = higher(top, old);
    top.store(state.top + g);
    T tops[N];
    top.store(tops);
    for (int r = 0; r < N; r++) shift[r] = tops[r] == kLow<T> ? T(0) : tops[r];
    if (!first) exp(old - V::load(shift)).store(state.shrink + g);
    for (int r = 0; r < N; r++) {
      V sum = V::all(0);
      if (r < some) {
        T* row = s + (g + r) * ld;
        const V f = V::all(factor), c = V::all(-shift[r]);
        if (h.noise.data) {
          load_function(h.noise_dtype, kTypeOf<T>)(h.noise.data + (i + g + r) * h.noise.row + j * h.noise.column, h.noise.column,
                                                   room, n);
          for (ptrdiff_t k = n; k < end; k++) room[k] = 0;
          for (ptrdiff_t k = 0; k < end; k += N) {
            const V e = exp(fma(V::load(row + k), f, c));
            sum = sum + e;
            (e * V::load(room + k)).store(row + k);
          }
        } else {
          for (ptrdiff_t k = 0; k < end; k += N) {
            const V e = exp(fma(V::load(row + k), f, c));
            sum = sum + e;
            e.store(row + k);
          }
        }
      }
      lanes[r] = sum;
    }
    V sum = across(lanes, [](V a, V b) { return a + b; });
    if (!first) sum = fma(V::load(state.sum + g), V::load(state.shrink + g), sum);
    sum.store(state.sum + g);
  }
}

template <class T>
RUSHLIGHT_INLINE void scale_row(T* row, ptrdiff_t n, T factor) {
  for (ptrdiff_t j = 0; j < n; j++) row[j] *= factor;
}

// The output's rows become means, and lse the logarithms of their sums; +inf for a row that saw nothing, whose weights are 0.
template <class T>
void finish_rows(int rows, ptrdiff_t width, const State<T>& state, Rows<T> out, T* lse) {
  for (int r = 0; r < rows; r++) {
    const T sum = state.sum[r];
    const bool nothing = sum == T(0);
    lse[r] = nothing ? -kLow<T> : state.top[r] + logarithm(sum);
    scale_row(out.at(r), width, nothing ? T(0) : T(1) / sum);
  }
}

// --- forward ---

template <class T>
struct ForwardRoom {
  T *keys, *values, *scores, *row, *rows, *value_rows, *queries, *out;
  State<T>* states;
  ptrdiff_t ld, bytes;

  ForwardRoom(const AttentionHead& h, void* base) {
    Scratch scratch(base);
    const bool few = h.queries <= kFewRows;
    const ptrdiff_t block = round_up(smaller(h.keys, kKeys<T>), kTileWidth<T>), wider = larger(h.depth, h.width);
    ld = block + Vec<T>::N;
    states = scratch.take<State<T>>(kStrips);
    scores = scratch.take<T>(kTileRows * ld);
    row = scratch.take<T>(ld);
    keys = scratch.take<T>(few ? 0 : panels_size<T>(h.depth, h.keys));
    // Few rows meet a narrow panel of the values at a time.
    values = scratch.take<T>(few ? block * Vec<T>::N : panels_size<T>(h.keys, h.width));
    const bool converts = !lies_ready(h.key, h.dtype, kTypeOf<T>) || !lies_ready(h.value, h.dtype, kTypeOf<T>);
    rows = scratch.take<T>(converts ? (few ? block : h.keys) * wider : 0);
    value_rows = few ? scratch.take<T>(converts ? block * h.width : 0) : rows;
    queries = scratch.take<T>(lies_ready(h.query, h.dtype, kTypeOf<T>) ? 0 : kStrips * kTileRows * h.depth);
    out = scratch.take<T>(h.dtype == kTypeOf<T> ? 0 : kStrips * kTileRows * h.width);
    bytes = scratch.end() - reinterpret_cast<intptr_t>(base);
  }
};

// scores[r][j] = query r . key j, for few rows and N keys at a time.
template <class T>
void few_scores(int rows, ptrdiff_t depth, Rows<const T> q, Rows<const T> keys, ptrdiff_t n, T* s, ptrdiff_t ld) {
  constexpr ptrdiff_t N = Vec<T>::N;
  for (ptrdiff_t j = 0; j < n; j += N)
    for (int r = 0; r < rows; r++)
      dots<T>({q.at(r), 0}, {keys.at(j), keys.row}, static_cast<int>(smaller(N, n - j)), depth).store(s + r * ld + j);
}

// out (rows x width) = weights @ values, read where they lie; the last columns, if they fill no register, from a copy.
template <class T>
void few_values(int rows, const T* s, ptrdiff_t ld, Rows<const T> values, ptrdiff_t n, ptrdiff_t width, bool accumulate, T* copy,
                Rows<T> out) {
  constexpr ptrdiff_t N = Vec<T>::N;
  for (ptrdiff_t j = 0; j < width;) {
    const int vecs = width - j >= kTileWidth<T> ? kTileVecs : 1;
    const ptrdiff_t columns = smaller(width - j, vecs * N);
    TileTask<T> task{n, s, ld, 1, values.data + j, values.row, nullptr, accumulate, out.data + j, out.row, columns};
    if (columns < N) {
      task.b = pack_rows<T>({values.data + j, values.row}, n, columns, copy).data;
      task.ldb = N;
    }
    tile_of<T>(rows, vecs, false)(task);
    j += columns;
  }
}

template <class T>
void attention_few(const AttentionHead& h, Band band, void* base, const ByteMatrix& out, T* lse) {
  const ForwardRoom<T> room(h, base);
  const int rows = static_cast<int>(band.to - band.from);
  const Rows<const T> q = rows_of(h.query, h.dtype, band.from, rows, h.depth, room.queries);
  const Rows<T> o = result_rows(out, h.dtype, band.from, h.width, room.out);
  const ptrdiff_t keys = h.causal ? smaller(h.keys, band.to) : h.keys;
  for (ptrdiff_t j = 0; j < keys; j += kKeys<T>) {
    const ptrdiff_t n = smaller(kKeys<T>, keys - j);
    const Rows<const T> k = rows_of(h.key, h.dtype, j, n, h.depth, room.rows);
    const Rows<const T> v = rows_of(h.value, h.dtype, j, n, h.width, room.value_rows);
    few_scores(rows, h.depth, q, k, n, room.scores, room.ld);
    const T factor = shape_scores(h, band.from, rows, j, n, room.row, room.scores, room.ld);
    exponentials(h, band.from, rows, j, n, factor, j == 0, room.row, room.scores, room.ld, room.states[0]);
    if (j > 0)
      for (int r = 0; r < rows; r++) scale_row(o.at(r), h.width, room.states[0].shrink[r]);
    few_values(rows, room.scores, room.ld, v, n, h.width, j > 0, room.values, o);
  }
  finish_rows(rows, h.width, room.states[0], o, lse + band.from);
  deliver(o, out, h.dtype, band.from, rows, h.width);
}

template <class T>
void attention_of(const AttentionHead& h, Band band, bool packed, void* base, const ByteMatrix& out, T* lse) {
  if (h.queries <= kFewRows) return attention_few(h, band, base, out, lse);
  const ForwardRoom<T> room(h, base);
  const Panels<T> keys = packed ? Panels<T>{room.keys, h.depth, h.keys}
                                : pack_columns(rows_of(h.key, h.dtype, 0, h.keys, h.depth, room.rows), h.depth, h.keys, room.keys);
  const Panels<T> values = packed
                               ? Panels<T>{room.values, h.keys, h.width}
                               : pack_rows(rows_of(h.value, h.dtype, 0, h.keys, h.width, room.rows), h.keys, h.width, room.values);
  for (ptrdiff_t from = band.from; from < band.to; from += kStrips * kTileRows) {
    const ptrdiff_t to = smaller(band.to, from + kStrips * kTileRows), end = h.causal ? smaller(h.keys, to) : h.keys;
    const Rows<const T> q = rows_of(h.query, h.dtype, from, to - from, h.depth, room.queries);
    const Rows<T> o = result_rows(out, h.dtype, from, h.width, room.out);
    const Strips strips(to - from);
    for (ptrdiff_t j = 0; j < end; j += kKeys<T>) {
      for (ptrdiff_t s = 0; s < strips.count; s++) {
        const ptrdiff_t begin = strips.begin(s), i = from + begin;
        const int rows = strips.rows(s);
        const ptrdiff_t n = smaller(kKeys<T>, (h.causal ? smaller(end, i + rows) : end) - j);
        if (n <= 0) continue;
        State<T>& state = room.states[s];
        strip_product(rows, q.at(begin), q.row, ptrdiff_t{1}, keys, j, n, 0, h.depth, false, true, room.scores, room.ld);
        const T factor = shape_scores(h, i, rows, j, n, room.row, room.scores, room.ld);
        exponentials(h, i, rows, j, n, factor, j == 0, room.row, room.scores, room.ld, state);
        if (j > 0)
          for (int r = 0; r < rows; r++) scale_row(o.at(begin + r), h.width, state.shrink[r]);
        strip_product(rows, room.scores, room.ld, ptrdiff_t{1}, values, 0, h.width, j, n, j > 0, false, o.at(begin), o.row);
      }
    }
    for (ptrdiff_t s = 0; s < strips.count; s++)
      finish_rows(strips.rows(s), h.width, room.states[s], {o.at(strips.begin(s)), o.row}, lse + from + strips.begin(s));
    deliver(o, out, h.dtype, from, to - from, h.width);
  }
}

void attention(const AttentionHead& head, Band band, bool packed, void* scratch, const ByteMatrix& out, void* lse) {
  float_or_double(computed_in(head.dtype),
                  [&]<class T>() { attention_of(head, band, packed, scratch, out, static_cast<T*>(lse)); });
}

// --- gradient ---

template <class T>
struct BackwardRoom {
  T *keys, *key_rows, *values, *weights, *slopes, *row, *rows, *queries, *grads, *outs, *query_panels, *grad_panels, *grad_query;
  T* delta;
  ptrdiff_t ld, bytes;

  BackwardRoom(const AttentionHead& h, void* base) {
    Scratch scratch(base);
    const ptrdiff_t wider = larger(h.depth, h.width), rows_at_once = smaller(kBlockRows, h.queries);
    const bool converts = h.dtype != kTypeOf<T>;
    ld = round_up(smaller(h.keys, kBackwardKeys<T>), kTileWidth<T>) + Vec<T>::N;
    delta = scratch.take<T>(kBlockRows + Vec<T>::N);
    weights = scratch.take<T>(rows_at_once * ld);
    slopes = scratch.take<T>(rows_at_once * ld);
    row = scratch.take<T>(ld);
    query_panels = scratch.take<T>(panels_size<T>(rows_at_once, h.depth));
    grad_panels = scratch.take<T>(panels_size<T>(rows_at_once, h.width));
    keys = scratch.take<T>(panels_size<T>(h.depth, h.keys));
    key_rows = scratch.take<T>(panels_size<T>(h.keys, h.depth));
    values = scratch.take<T>(panels_size<T>(h.width, h.keys));
    const bool ready = lies_ready(h.key, h.dtype, kTypeOf<T>) && lies_ready(h.value, h.dtype, kTypeOf<T>);
    rows = scratch.take<T>(ready ? 0 : h.keys * wider);
    queries = scratch.take<T>(rows_at_once * h.depth);
    grads = scratch.take<T>(rows_at_once * h.width);
    outs = scratch.take<T>(rows_at_once * h.width);
    grad_query = scratch.take<T>(converts ? rows_at_once * h.depth : 0);
    bytes = scratch.end() - reinterpret_cast<intptr_t>(base);
  }
};

// A strip of scores and of gradients of weights becomes weights, as they were multiplied with the values, and gradients of scores.
template <class T>
void slopes_of(const AttentionHead& h, ptrdiff_t i, int rows, ptrdiff_t j, ptrdiff_t n, T factor, const T* lse, const T* delta,
               ptrdiff_t fill, T* room, T* s, T* z, ptrdiff_t ld) {
  using V = Vec<T>;
  constexpr int N = V::N;
  const ptrdiff_t end = round_up(n, N);
  const V f = V::all(factor), scale = V::all(static_cast<T>(h.scale)), none = V::all(0);
  for (int r = 0; r < rows; r++, s += ld, z += ld) {
    const V low = V::all(-lse[r]), mean = V::all(delta[r]);
    if (h.noise.data) {
      load_function(h.noise_dtype, kTypeOf<T>)(h.noise.data + (i + r) * h.noise.row + j * h.noise.column, h.noise.column, room, n);
      for (ptrdiff_t k = n; k < end; k++) room[k] = 0;
      for (ptrdiff_t k = 0; k < end; k += N) {
        const V p = exp(fma(V::load(s + k), f, low)), noise = V::load(room + k);
        (p * noise).store(s + k);
        (p * (V::load(z + k) * noise - mean) * scale).store(z + k);
      }
    } else {
      for (ptrdiff_t k = 0; k < end; k += N) {
        const V p = exp(fma(V::load(s + k), f, low));
        p.store(s + k);
        (p * (V::load(z + k) - mean) * scale).store(z + k);
      }
    }
    // Values behind the last key that a row sees become 0, NaN too.
    const ptrdiff_t seen = h.causal ? smaller(n, larger(0, i + r + 1 - j)) : n;
    ptrdiff_t k = seen / N * N;
    if (k < seen) {
      first_lanes(V::load(s + k), seen - k, T(0)).store(s + k);
      first_lanes(V::load(z + k), seen - k, T(0)).store(z + k);
      k += N;
    }
    for (; k < fill; k += N) none.store(s + k), none.store(z + k);
  }
}

template <class T>
void attention_backward_of(const AttentionHead& h, const AttentionGradient& grad, Band band, bool packed, void* base) {
  const BackwardRoom<T> room(h, base);
  const Panels<T> keys{room.keys, h.depth, h.keys}, values{room.values, h.width, h.keys}, key_rows{room.key_rows, h.keys, h.depth};
  if (!packed) {
    const Rows<const T> k = rows_of(h.key, h.dtype, 0, h.keys, h.depth, room.rows);
    pack_columns(k, h.depth, h.keys, room.keys);
    pack_rows(k, h.keys, h.depth, room.key_rows);
    pack_columns(rows_of(h.value, h.dtype, 0, h.keys, h.width, room.rows), h.width, h.keys, room.values);
  }
  const T* lse = static_cast<const T*>(grad.lse);
  T* grad_key = static_cast<T*>(grad.key);
  T* grad_value = static_cast<T*>(grad.value);
  const bool wants_slopes = grad.query.data || grad_key;
  const ptrdiff_t blocks = (band.to - band.from + kBlockRows - 1) / kBlockRows;
  for (ptrdiff_t b = 0; b < blocks; b++) {
    const ptrdiff_t size = band.to - band.from, from = band.from + size * b / blocks, to = band.from + size * (b + 1) / blocks;
    const ptrdiff_t end = h.causal ? smaller(h.keys, to) : h.keys;
    const Rows<const T> q = rows_of(h.query, h.dtype, from, to - from, h.depth, room.queries);
    const Rows<const T> g = rows_of(grad.out_grad, h.dtype, from, to - from, h.width, room.grads);
    const Rows<const T> o = rows_of(grad.out, h.dtype, from, to - from, h.width, room.outs);
    for (ptrdiff_t i = 0; i < to - from; i += Vec<T>::N)
      dots<T>({g.at(i), g.row}, {o.at(i), o.row}, static_cast<int>(smaller(Vec<T>::N, to - from - i)), h.width)
          .store(room.delta + i);
    const Panels<T> q_panels = grad_key ? pack_rows(q, to - from, h.depth, room.query_panels) : Panels<T>{};
    const Panels<T> g_panels = grad_value ? pack_rows(g, to - from, h.width, room.grad_panels) : Panels<T>{};
    const Rows<T> dq = result_rows(grad.query, h.dtype, from, h.depth, room.grad_query);
    const Strips strips(to - from);
    for (ptrdiff_t j = 0; j < end; j += kBackwardKeys<T>) {
      const ptrdiff_t block = smaller(kBackwardKeys<T>, end - j);
      for (ptrdiff_t s = 0; s < strips.count; s++) {
        const ptrdiff_t begin = strips.begin(s), i = from + begin;
        const int rows = strips.rows(s);
        const ptrdiff_t n = larger(0, smaller(block, (h.causal ? i + rows : end) - j));
        T* p = room.weights + begin * room.ld;
        T* z = room.slopes + begin * room.ld;
        strip_product(rows, q.at(begin), q.row, ptrdiff_t{1}, keys, j, n, 0, h.depth, false, true, p, room.ld);
        const T factor = shape_scores(h, i, rows, j, n, room.row, p, room.ld);
        if (wants_slopes) strip_product(rows, g.at(begin), g.row, ptrdiff_t{1}, values, j, n, 0, h.width, false, true, z, room.ld);
        slopes_of(h, i, rows, j, n, factor, lse + i, room.delta + begin, round_up(block, Vec<T>::N), room.row, p, z, room.ld);
        if (grad.query.data)
          strip_product(rows, z, room.ld, ptrdiff_t{1}, key_rows, 0, h.depth, j, n, j > 0, false, dq.at(begin), dq.row);
      }
      const Strips key_strips(block);
      for (ptrdiff_t s = 0; s < key_strips.count; s++) {
        const ptrdiff_t begin = key_strips.begin(s), first = h.causal ? larger(0, j + begin - from) : 0;
        const int rows = key_strips.rows(s);
        if (first >= to - from) break;
        if (grad_value)
          strip_product(rows, room.weights + begin + first * room.ld, ptrdiff_t{1}, room.ld, g_panels, 0, h.width, first,
                        to - from - first, true, false, grad_value + (j + begin) * grad.value_row, grad.value_row);
        if (grad_key)
          strip_product(rows, room.slopes + begin + first * room.ld, ptrdiff_t{1}, room.ld, q_panels, 0, h.depth, first,
                        to - from - first, true, false, grad_key + (j + begin) * grad.key_row, grad.key_row);
      }
    }
    if (grad.query.data) deliver(dq, grad.query, h.dtype, from, to - from, h.depth);
  }
}

void attention_backward(const AttentionHead& head, const AttentionGradient& grad, Band band, bool packed, void* scratch) {
  float_or_double(computed_in(head.dtype), [&]<class T>() { attention_backward_of<T>(head, grad, band, packed, scratch); });
}

ptrdiff_t attention_scratch(const AttentionHead& head, bool backward) {
  ptrdiff_t bytes = 0;
  float_or_double(computed_in(head.dtype), [&]<class T>() {
    bytes = backward ? BackwardRoom<T>(head, nullptr).bytes : ForwardRoom<T>(head, nullptr).bytes;
  });
  return bytes;
}

}  // namespace

void fill_attention(DenseKernels& table) {
  table.attention = attention;
  table.attention_backward = attention_backward;
  table.attention_scratch = attention_scratch;
}

}  // namespace rushlight::RUSHLIGHT_ISA
