// Elements several at a time, and combinations of the values of a warp and of a group. For NVIDIA's
// GPUs alone.
//
// Memory is fast where each work item takes 16 bytes at a time from an address that is a multiple
// of 16. A tensor may begin elsewhere: `fetch` and `put` then go element by element, and rows are
// cut where the addresses are even (`skew_of`).
#ifdef __CUDACC__
#define WIDE_GROUP 256
#define WHOLE_WARP 0xffffffffu

// How an element type lies in memory.
template <int TYPE> struct Stored;
#define STORED(type, item) \
  template <> struct Stored<type> { typedef item Item; };
STORED(TYPE_BOOL, u8) STORED(TYPE_UINT8, u8) STORED(TYPE_INT8, i8) STORED(TYPE_INT16, short) STORED(TYPE_INT32, int)
STORED(TYPE_INT64, i64) STORED(TYPE_FLOAT16, u16) STORED(TYPE_BFLOAT16, u16) STORED(TYPE_FLOAT32, float)
#ifdef WIDE
STORED(TYPE_FLOAT64, double)
#endif

// How many elements of a type have 16 bytes.
#define PER_16(type) (16 / SIZE(type))

// N neighbours in registers.
template <int TYPE, int N> struct alignas(SIZE(TYPE) * N < 16 ? SIZE(TYPE) * N : 16) Few {
  typedef typename Stored<TYPE>::Item Item;
  Item items[N];
  __device__ T value(int j) const { return load((const u8 *)&items[j], 0, TYPE); }
};

// The first n of N elements from a place on; those after them are 0.
template <int TYPE, int N> FUNCTION Few<TYPE, N> fetch(const u8 *from, i64 n) {
  typedef Few<TYPE, N> Found;
  if (n >= N && (u64)from % alignof(Found) == 0) return *(const Found *)from;
  Found found;
#pragma unroll
  for (int j = 0; j < N; ++j) found.items[j] = j < n ? ((const typename Found::Item *)from)[j] : (typename Found::Item)0;
  return found;
}

// Writes those of N elements that are from place `first` on and before `end`.
template <int TYPE, int N> FUNCTION void put(u8 *to, const T *values, i64 first, i64 end) {
  typedef Few<TYPE, N> Made;
  Made made;
#pragma unroll
  for (int j = 0; j < N; ++j) store((u8 *)&made.items[j], 0, TYPE, values[j]);
  if (first <= 0 && end >= N && (u64)to % alignof(Made) == 0) {
    *(Made *)to = made;
    return;
  }
#pragma unroll
  for (int j = 0; j < N; ++j) {
    if (j >= first && j < end) ((typename Made::Item *)to)[j] = made.items[j];
  }
}

// The same where neighbours are `step` bytes apart: then there are n of them, or none.
template <int TYPE, int N> FUNCTION Few<TYPE, N> fetch_along(const u8 *from, i64 step, i64 n) {
  typedef Few<TYPE, N> Found;
  if (N == 1 || step == SIZE(TYPE)) return fetch<TYPE, N>(from, n);
  Found found;
#pragma unroll
  for (int j = 0; j < N; ++j) found.items[j] = n > 0 ? *(const typename Found::Item *)(from + j * step) : (typename Found::Item)0;
  return found;
}
template <int TYPE, int N> FUNCTION void put_along(u8 *to, const T *values, i64 step, i64 n) {
  if (N == 1 || step == SIZE(TYPE)) return put<TYPE, N>(to, values, 0, n);
#pragma unroll
  for (int j = 0; j < N; ++j) {
    if (n > 0) store(to + j * step, 0, TYPE, values[j]);
  }
}

// How far a row's first element is beyond an address that is a multiple of N elements.
template <int TYPE, int N> FUNCTION int skew_of(const u8 *row) { return (int)((u64)row / SIZE(TYPE) % N); }

// N elements of a row of n from element `at` on, which may begin before the row and end after it:
// what is no element is 0.
template <int TYPE, int N> FUNCTION Few<TYPE, N> fetch_of_row(const u8 *row, i64 at, i64 n) {
  typedef Few<TYPE, N> Found;
  const u8 *from = row + at * SIZE(TYPE);
  if (at >= 0 && at + N <= n && (u64)from % alignof(Found) == 0) return *(const Found *)from;
  Found found;
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const int within = at + j >= 0 && at + j < n;
    found.items[j] = within ? ((const typename Found::Item *)from)[j] : (typename Found::Item)0;
  }
  return found;
}

// Two of one; a NaN wins.
struct Sum {
  static __device__ T of(T a, T b) { return a + b; }
};
struct Most {
  static __device__ T of(T a, T b) { return a > b || a != a ? a : b; }
};

// The combination of the values of `per` neighbouring work items, the same for each of these: `per`
// is a power of two up to a warp, or WIDE_GROUP. All work items of the group come here.
template <class How> FUNCTION T fold(T value, int per) {
  LOCAL T some[WIDE_GROUP / 32];
  for (int step = (per < 32 ? per : 32) / 2; step; step /= 2) value = How::of(value, __shfl_xor_sync(WHOLE_WARP, value, step));
  if (per <= 32) return value;
  BARRIER;  // the values of an earlier fold were read
  if (MEMBER % 32 == 0) some[MEMBER / 32] = value;
  BARRIER;
  value = some[0];
  for (int k = 1; k < WIDE_GROUP / 32; ++k) value = How::of(value, some[k]);
  return value;
}

#ifdef HELD
// Rows of elements of type X that `per` work items do together, which go through the rows several
// times. Each has pieces of EACH neighbours, cut where addresses are even, so the first may begin
// before the row. HELD pieces are kept in registers; with 0 the rows are too long for that, and are
// read each time.
enum { EACH = PER_16(X) };

struct Pieces {
  i64 length, first, apart;
  __device__ Pieces(const u8 *row, i64 length, int per) : length(length), apart(per * EACH) {
    first = (MEMBER & (per - 1)) * EACH - skew_of<X, EACH>(row);
  }
  __device__ int count() const { return HELD ? HELD : (int)((length - first + apart - 1) / apart); }
  __device__ i64 at(int k) const { return first + k * apart; }
  __device__ bool has(int k, int j) const { return at(k) + j >= 0 && at(k) + j < length; }
};
#define EACH_PIECE(k) _Pragma("unroll") for (int k = 0; k < (HELD ? HELD : pieces.count()); ++k)
#define EACH_OF_PIECE(j) _Pragma("unroll") for (int j = 0; j < EACH; ++j)

struct Held {
  const Pieces &pieces;
  const u8 *row;
  T values[HELD ? HELD : 1][EACH], fill;  // fill: where the row has no element

  __device__ Held(const Pieces &pieces, const u8 *row, T fill) : pieces(pieces), row(row), fill(fill) {
    if (!HELD) return;
    Few<X, EACH> few[HELD ? HELD : 1];
    EACH_PIECE(k) few[k] = fetch_of_row<X, EACH>(row, pieces.at(k), pieces.length);
    EACH_PIECE(k) take(k, few[k], values[k]);
  }
  __device__ void take(int k, const Few<X, EACH> &few, T *to) const {
    EACH_OF_PIECE(j) to[j] = pieces.has(k, j) ? few.value(j) : fill;
  }
  __device__ T *of(int k) {
    if (HELD) return values[k];
    take(k, fetch_of_row<X, EACH>(row, pieces.at(k), pieces.length), values[0]);
    return values[0];
  }
};

FUNCTION void put_piece(const Pieces &pieces, u8 *row, int k, const T *values) {
  const i64 at = pieces.at(k);
  put<X, EACH>(row + at * SIZE(X), values, -at, pieces.length - at);
}
#endif
#endif
