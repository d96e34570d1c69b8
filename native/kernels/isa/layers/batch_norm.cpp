// The passes of batch, group and instance norm: statistics, y = x * scale + shift, and the two of the gradient.
//
// The elements of a channel lie in rows (`PlaneRows`: one row an image), or, channels last, in a column of a matrix. Halves are
// read and written through a buffer in L1, and computed in float.
//
// Statistics go over memory once: a block of some 2000 elements is read twice from L1, for the mean
// and for the deviations; blocks are merged by Chan's formula in double, in order. So the error is
// that of two passes over everything. Rows shorter than kLongRow are gathered into blocks first.
//
// Floor: bytes over bandwidth, where a channel does not fit into L2: forward 2 reads and 1 write, gradient 4 reads and 1 write. A
// channel that fits (the binding sees to it) is read from memory once in each.
#include "kernels/isa/dense_impl.h"
#include "kernels/isa/elementwise/pointwise.h"
#include "kernels/isa/reduction/reduce_core.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

constexpr ptrdiff_t kBlock = kReduceBlock;  // of elements of a row
constexpr ptrdiff_t kLongRow = 256;
constexpr ptrdiff_t kRowBlock = 64;  // rows of a block of columns
constexpr int kStrip = 4;  // ... and registers

template <class T>
constexpr DType kTypeOf = sizeof(T) == 4 ? DType::F32 : DType::F64;

// Reads and writes values of a stored type as T.
template <class T>
struct Stored {
  explicit Stored(DType type) : item(item_size(type)) {
    if (type == kTypeOf<T>) return;
    load = load_function(type, kTypeOf<T>);
    store = store_function(kTypeOf<T>, type);
  }
  const char* at(const void* p, ptrdiff_t i) const { return static_cast<const char*>(p) + i * item; }
  char* at(void* p, ptrdiff_t i) const { return static_cast<char*>(p) + i * item; }
  // n adjacent elements: where they are, or in the buffer.
  const T* read(const void* p, ptrdiff_t i, ptrdiff_t n, T* buffer) const {
    if (!load) return reinterpret_cast<const T*>(at(p, i));
    load(at(p, i), item, buffer, n);
    return buffer;
  }
  void copy(const void* p, ptrdiff_t i, ptrdiff_t n, T* to) const {
    if (load) load(at(p, i), item, to, n);
    else std::memcpy(to, at(p, i), static_cast<size_t>(n) * sizeof(T));
  }
  // Calls f(where to write n elements), which go to p + i.
  template <class F>
  RUSHLIGHT_INLINE void write(void* p, ptrdiff_t i, ptrdiff_t n, T* buffer, const F& f) const {
    if (!store) return f(reinterpret_cast<T*>(at(p, i)));
    f(buffer);
    store(buffer, at(p, i), item, n);
  }
  LoadFn load = nullptr;
  StoreFn store = nullptr;
  ptrdiff_t item;
};

template <class F>
RUSHLIGHT_INLINE void with_compute_type(DType dtype, F f) {
  if (dtype == DType::F64) f.template operator()<double>();
  else f.template operator()<float>();
}

// Chan's formula: the moments of all that `all` and `part` are those of.
void merge_moments(const Moments& part, Moments* all) {
  const double count = all->count + part.count;
  if (count == 0) return;
  const double off = part.mean - all->mean, share = part.count / count;
  all->mean += off * share;
  all->squares += part.squares + off * off * all->count * share;
  all->count = count;
}

// --- statistics of rows

// The moments of at most kBlock elements: a mean in T, then the sums of deviations and of squared
// deviations, which also correct the mean.
template <class T>
RUSHLIGHT_INLINE Moments moments_of(const T* x, ptrdiff_t n) {
  using V = Vec<T>;
  const T mean = reduce_adjacent(SumOp{}, x, n) / static_cast<T>(n);
  const V m = V::all(mean);
  V off[2] = {V::all(0), V::all(0)}, squares[2] = {V::all(0), V::all(0)};
  ptrdiff_t i = 0;
  for (; i + 2 * V::N <= n; i += 2 * V::N)
    for (int k = 0; k < 2; k++) {
      const V d = V::load(x + i + k * V::N) - m;
      off[k] = off[k] + d;
      squares[k] = fma(d, d, squares[k]);
    }
  T first = horizontal_sum(off[0] + off[1]), second = horizontal_sum(squares[0] + squares[1]);
  for (; i < n; i++) {
    const T d = x[i] - mean;
    first += d;
    second += d * d;
  }
  const double count = static_cast<double>(n), shift = static_cast<double>(first) / count;
  return {count, static_cast<double>(mean) + shift, static_cast<double>(second) - static_cast<double>(first) * shift};
}

// Calls f(K blocks, elements in each) over the rows of K operands.
template <int K, class T, class F>
RUSHLIGHT_INLINE void each_block(const Stored<T>& stored, const void* const (&in)[K], const PlaneRows& r, const F& f) {
  alignas(64) T buffers[K][kBlock];
  const T* blocks[K];
  if (r.n >= kLongRow || r.rows == 1) {
    for (ptrdiff_t row = 0; row < r.rows; row++)
      for (ptrdiff_t i = 0; i < r.n; i += kBlock) {
        const ptrdiff_t n = smaller(kBlock, r.n - i);
        for (int k = 0; k < K; k++) blocks[k] = stored.read(in[k], row * r.stride + i, n, buffers[k]);
        f(blocks, n);
      }
    return;
  }
  const ptrdiff_t many = r.n ? kBlock / r.n : 0;
  for (ptrdiff_t row = 0; many && row < r.rows; row += many) {
    const ptrdiff_t rows = smaller(many, r.rows - row);
    for (int k = 0; k < K; k++) {
      for (ptrdiff_t i = 0; i < rows; i++) stored.copy(in[k], (row + i) * r.stride, r.n, buffers[k] + i * r.n);
      blocks[k] = buffers[k];
    }
    f(blocks, rows * r.n);
  }
}

template <class T>
void plane_moments_of(DType dtype, const void* x, const PlaneRows& r, Moments& all) {
  const void* const in[1] = {x};
  each_block(Stored<T>(dtype), in, r, [&](const T* const(&b)[1], ptrdiff_t n) { merge_moments(moments_of(b[0], n), &all); });
}

void plane_moments(DType dtype, const void* x, const PlaneRows& rows, Moments* moments) {
  with_compute_type(dtype, [&]<class T>() { plane_moments_of<T>(dtype, x, rows, *moments); });
}

// --- y = x * scale + shift

template <class T>
void plane_affine_of(DType dtype, const void* x, const PlaneRows& r, T scale, T shift, void* y) {
  const Stored<T> stored(dtype);
  alignas(64) T from[kBlock], to[kBlock];
  for (ptrdiff_t row = 0; row < r.rows; row++)
    for (ptrdiff_t i = 0; i < r.n; i += kBlock) {
      const ptrdiff_t at = row * r.stride + i, n = smaller(kBlock, r.n - i);
      const T* a = stored.read(x, at, n, from);
      stored.write(y, at, n, to, [&](T* out) {
        RUSHLIGHT_INDEPENDENT
        for (ptrdiff_t k = 0; k < n; k++) out[k] = a[k] * scale + shift;
      });
    }
}
void plane_affine(DType dtype, const void* x, const PlaneRows& rows, double scale, double shift, void* y) {
  with_compute_type(dtype, [&]<class T>() { plane_affine_of<T>(dtype, x, rows, static_cast<T>(scale), static_cast<T>(shift), y); });
}

// --- sums of g and of g * (x - mean)

template <class T>
void plane_products_of(DType dtype, const void* g, const void* x, const PlaneRows& r, T mean, double* sums) {
  using V = Vec<T>;
  const void* const in[2] = {g, x};
  double total = 0, along = 0;
  each_block(Stored<T>(dtype), in, r, [&](const T* const(&b)[2], ptrdiff_t n) {
    const V m = V::all(mean);
    V s[2] = {V::all(0), V::all(0)}, p[2] = {V::all(0), V::all(0)};
    ptrdiff_t i = 0;
    for (; i + 2 * V::N <= n; i += 2 * V::N)
      for (int k = 0; k < 2; k++) {
        const V gv = V::load(b[0] + i + k * V::N);
        s[k] = s[k] + gv;
        p[k] = fma(gv, V::load(b[1] + i + k * V::N) - m, p[k]);
      }
    T sum = horizontal_sum(s[0] + s[1]), product = horizontal_sum(p[0] + p[1]);
    for (; i < n; i++) {
      sum += b[0][i];
      product += b[0][i] * (b[1][i] - mean);
    }
    total += sum;
    along += product;
  });
  sums[0] = total;
  sums[1] = along;
}
void plane_products(DType dtype, const void* g, const void* x, const PlaneRows& rows, double mean, double* sums) {
  with_compute_type(dtype, [&]<class T>() { plane_products_of<T>(dtype, g, x, rows, static_cast<T>(mean), sums); });
}

// --- out = g * scale - (x - mean) * slope - shift

template <class T>
void plane_gradient_of(DType dtype, const void* g, const void* x, const PlaneRows& r, T mean, T scale, T slope, T shift,
                       void* out) {
  const Stored<T> stored(dtype);
  alignas(64) T first[kBlock], second[kBlock], third[kBlock];
  for (ptrdiff_t row = 0; row < r.rows; row++)
    for (ptrdiff_t i = 0; i < r.n; i += kBlock) {
      const ptrdiff_t at = row * r.stride + i, n = smaller(kBlock, r.n - i);
      const T* a = stored.read(g, at, n, first);
      const T* b = stored.read(x, at, n, second);
      stored.write(out, at, n, third, [&](T* to) {
        RUSHLIGHT_INDEPENDENT
        for (ptrdiff_t k = 0; k < n; k++) to[k] = a[k] * scale - (b[k] - mean) * slope - shift;
      });
    }
}
void plane_gradient(DType dtype, const void* g, const void* x, const PlaneRows& rows, double mean, double scale, double slope,
                    double shift, void* out) {
  with_compute_type(dtype, [&]<class T>() {
    plane_gradient_of<T>(dtype, g, x, rows, static_cast<T>(mean), static_cast<T>(scale), static_cast<T>(slope),
                         static_cast<T>(shift), out);
  });
}

// --- channels last: rows of `channels` adjacent elements, the statistics of each column

// Calls f(K blocks, elements from one row of a block to the next, rows before it, rows, first channel, channels) for strips of kStrip registers:
// whole strips where they are, others in buffers with zeros behind them.
template <int K, class T, class F>
RUSHLIGHT_INLINE void each_strip(const Stored<T>& stored, const void* const (&in)[K], ptrdiff_t rows, ptrdiff_t channels,
                                 const F& f) {
  constexpr ptrdiff_t kWidth = kStrip * Vec<T>::N;
  alignas(64) T buffers[K][kRowBlock * kWidth];
  const T* blocks[K];
  for (ptrdiff_t row = 0; row < rows; row += kRowBlock) {
    const ptrdiff_t many = smaller(kRowBlock, rows - row);
    for (ptrdiff_t c = 0; c < channels; c += kWidth) {
      const ptrdiff_t width = smaller(kWidth, channels - c);
      const bool direct = !stored.load && width == kWidth;
      for (int k = 0; k < K; k++) {
        blocks[k] = direct ? reinterpret_cast<const T*>(stored.at(in[k], row * channels + c)) : buffers[k];
        for (ptrdiff_t i = 0; !direct && i < many; i++) {
          T* to = buffers[k] + i * kWidth;
          stored.copy(in[k], (row + i) * channels + c, width, to);
          for (ptrdiff_t j = width; j < kWidth; j++) to[j] = 0;
        }
      }
      f(blocks, direct ? channels : kWidth, row, many, c, width);
    }
  }
}

template <class T>
void column_moments_of(DType dtype, const void* x, ptrdiff_t rows, ptrdiff_t channels, double* mean, double* square) {
  using V = Vec<T>;
  const void* const in[1] = {x};
  each_strip(Stored<T>(dtype), in, rows, channels,
             [&](const T* const(&b)[1], ptrdiff_t stride, ptrdiff_t done, ptrdiff_t many, ptrdiff_t c, ptrdiff_t width) {
               V sums[kStrip], rest[kStrip], squares[kStrip];
               for (int v = 0; v < kStrip; v++) sums[v] = rest[v] = squares[v] = V::all(0);
               for (ptrdiff_t i = 0; i < many; i++)
                 for (int v = 0; v < kStrip; v++) sums[v] = sums[v] + V::load(b[0] + i * stride + v * V::N);
               const V part = V::all(T(1) / static_cast<T>(many));
               for (int v = 0; v < kStrip; v++) sums[v] = sums[v] * part;
               for (ptrdiff_t i = 0; i < many; i++)
                 for (int v = 0; v < kStrip; v++) {
                   const V d = V::load(b[0] + i * stride + v * V::N) - sums[v];
                   rest[v] = rest[v] + d;
                   squares[v] = fma(d, d, squares[v]);
                 }
               T means[kStrip * V::N], first[kStrip * V::N], second[kStrip * V::N];
               for (int v = 0; v < kStrip; v++) {
                 sums[v].store(means + v * V::N);
                 rest[v].store(first + v * V::N);
                 squares[v].store(second + v * V::N);
               }
               // Chan's formula, as in merge_moments, with the same number of rows in each column.
               const double before = static_cast<double>(done),
                            share = static_cast<double>(many) / (before + static_cast<double>(many));
               for (ptrdiff_t j = 0; j < width; j++) {
                 const double off = static_cast<double>(first[j]), fix = off / static_cast<double>(many);
                 const double d = static_cast<double>(means[j]) + fix - mean[c + j];
                 mean[c + j] += d * share;
                 square[c + j] += static_cast<double>(second[j]) - off * fix + d * d * before * share;
               }
             });
}
void column_moments(DType dtype, const void* x, ptrdiff_t rows, ptrdiff_t channels, double* means, double* squares) {
  with_compute_type(dtype, [&]<class T>() { column_moments_of<T>(dtype, x, rows, channels, means, squares); });
}

template <class T>
void column_products_of(DType dtype, const void* g, const void* x, ptrdiff_t rows, ptrdiff_t channels, const T* means,
                        double* sums) {
  using V = Vec<T>;
  const void* const in[2] = {g, x};
  each_strip(Stored<T>(dtype), in, rows, channels,
             [&](const T* const(&b)[2], ptrdiff_t stride, ptrdiff_t, ptrdiff_t many, ptrdiff_t c, ptrdiff_t width) {
               V mean[kStrip], total[kStrip], along[kStrip];
               T padded[kStrip * V::N] = {};
               std::memcpy(padded, means + c, static_cast<size_t>(width) * sizeof(T));
               for (int v = 0; v < kStrip; v++) {
                 mean[v] = V::load(padded + v * V::N);
                 total[v] = along[v] = V::all(0);
               }
               for (ptrdiff_t i = 0; i < many; i++)
                 for (int v = 0; v < kStrip; v++) {
                   const V gv = V::load(b[0] + i * stride + v * V::N);
                   total[v] = total[v] + gv;
                   along[v] = fma(gv, V::load(b[1] + i * stride + v * V::N) - mean[v], along[v]);
                 }
               T t[kStrip * V::N], a[kStrip * V::N];
               for (int v = 0; v < kStrip; v++) {
                 total[v].store(t + v * V::N);
                 along[v].store(a + v * V::N);
               }
               for (ptrdiff_t j = 0; j < width; j++) {
                 sums[2 * (c + j)] += static_cast<double>(t[j]);
                 sums[2 * (c + j) + 1] += static_cast<double>(a[j]);
               }
             });
}
void column_products(DType dtype, const void* g, const void* x, ptrdiff_t rows, ptrdiff_t channels, const void* means,
                     double* sums) {
  with_compute_type(dtype,
                    [&]<class T>() { column_products_of<T>(dtype, g, x, rows, channels, static_cast<const T*>(means), sums); });
}

template <class T>
void column_affine_of(DType dtype, const void* x, ptrdiff_t rows, ptrdiff_t channels, const T* scale, const T* shift, void* y) {
  const Stored<T> stored(dtype);
  alignas(64) T from[kBlock], to[kBlock];
  for (ptrdiff_t row = 0; row < rows; row++)
    for (ptrdiff_t c = 0; c < channels; c += kBlock) {
      const ptrdiff_t at = row * channels + c, n = smaller(kBlock, channels - c);
      const T* a = stored.read(x, at, n, from);
      stored.write(y, at, n, to, [&](T* out) {
        RUSHLIGHT_INDEPENDENT
        for (ptrdiff_t k = 0; k < n; k++) out[k] = a[k] * scale[c + k] + shift[c + k];
      });
    }
}
void column_affine(DType dtype, const void* x, ptrdiff_t rows, ptrdiff_t channels, const void* scale, const void* shift, void* y) {
  with_compute_type(dtype, [&]<class T>() {
    column_affine_of<T>(dtype, x, rows, channels, static_cast<const T*>(scale), static_cast<const T*>(shift), y);
  });
}

template <class T>
void column_gradient_of(DType dtype, const void* g, const void* x, ptrdiff_t rows, ptrdiff_t channels, const T* mean,
                        const T* scale, const T* slope, const T* shift, void* out) {
  const Stored<T> stored(dtype);
  alignas(64) T first[kBlock], second[kBlock], third[kBlock];
  for (ptrdiff_t row = 0; row < rows; row++)
    for (ptrdiff_t c = 0; c < channels; c += kBlock) {
      const ptrdiff_t at = row * channels + c, n = smaller(kBlock, channels - c);
      const T* a = stored.read(g, at, n, first);
      const T* b = stored.read(x, at, n, second);
      stored.write(out, at, n, third, [&](T* to) {
        RUSHLIGHT_INDEPENDENT
        for (ptrdiff_t k = 0; k < n; k++) to[k] = a[k] * scale[c + k] - (b[k] - mean[c + k]) * slope[c + k] - shift[c + k];
      });
    }
}
void column_gradient(DType dtype, const void* g, const void* x, ptrdiff_t rows, ptrdiff_t channels, const void* const (&factors)[4],
                     void* out) {
  with_compute_type(dtype, [&]<class T>() {
    column_gradient_of<T>(dtype, g, x, rows, channels, static_cast<const T*>(factors[0]), static_cast<const T*>(factors[1]),
                          static_cast<const T*>(factors[2]), static_cast<const T*>(factors[3]), out);
  });
}

}  // namespace

void fill_batch_norm(DenseKernels& table) {
  table.merge_moments = merge_moments;
  table.plane_moments = plane_moments;
  table.plane_affine = plane_affine;
  table.plane_products = plane_products;
  table.plane_gradient = plane_gradient;
  table.column_moments = column_moments;
  table.column_products = column_products;
  table.column_affine = column_affine;
  table.column_gradient = column_gradient;
}

}  // namespace rushlight::RUSHLIGHT_ISA
