// Transforms of as many lines as a register has lanes: see kernels/fft.h.
//
// Decimation in frequency, in place: a step of factor r makes of a length r lengths, and leaves the results in an order that the
// stores undo. The inverse is the same with its results in the opposite order.
#include "kernels/fft.h"

#include "kernels/isa/matrix/tile.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

constexpr ptrdiff_t kNear = 40 << 10;  // rows of so many bytes are done step by step; more of them part by part

template <class T>
RUSHLIGHT_INLINE Vec<T> minus(Vec<T> a) {
#ifdef RUSHLIGHT_VECTOR_EXTENSION
  return {-a.v};
#else
  return Vec<T>::all(T(-0.0)) - a;
#endif
}

template <class T>
struct Number {
  Vec<T> re, im;
};
template <class T>
RUSHLIGHT_INLINE Number<T> operator+(Number<T> a, Number<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
RUSHLIGHT_INLINE Number<T> operator-(Number<T> a, Number<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
RUSHLIGHT_INLINE Number<T> operator*(Number<T> a, Number<T> b) {
  return {fma(a.re, b.re, minus(a.im * b.im)), fma(a.re, b.im, a.im * b.re)};
}
template <class T>
RUSHLIGHT_INLINE Number<T> all(const T* pair) {
  return {Vec<T>::all(pair[0]), Vec<T>::all(pair[1])};
}
// Times -i.
template <class T>
RUSHLIGHT_INLINE Number<T> turned_down(Number<T> a) {
  return {a.im, minus(a.re)};
}
template <class T>
RUSHLIGHT_INLINE Number<T> conjugate(Number<T> a) {
  return {a.re, minus(a.im)};
}

template <class T>
constexpr ptrdiff_t kRow = 2 * Vec<T>::N;
template <class T>
RUSHLIGHT_INLINE Number<T> row(const T* x, ptrdiff_t k) {
  return {Vec<T>::load(x + k * kRow<T>), Vec<T>::load(x + k * kRow<T> + Vec<T>::N)};
}
template <class T>
RUSHLIGHT_INLINE void set_row(T* x, ptrdiff_t k, Number<T> value) {
  value.re.store(x + k * kRow<T>);
  value.im.store(x + k * kRow<T> + Vec<T>::N);
}

// ---- transforms of few elements

template <class T>
RUSHLIGHT_INLINE void transform(Number<T> (&a)[2]) {
  const Number<T> sum = a[0] + a[1];
  a[1] = a[0] - a[1];
  a[0] = sum;
}
template <class T>
RUSHLIGHT_INLINE void transform(Number<T> (&a)[4]) {
  const Number<T> even = a[0] + a[2], even_rest = a[0] - a[2], odd = a[1] + a[3], odd_rest = turned_down(a[1] - a[3]);
  a[0] = even + odd;
  a[1] = even_rest + odd_rest;
  a[2] = even - odd;
  a[3] = even_rest - odd_rest;
}
template <class T>
RUSHLIGHT_INLINE void transform(Number<T> (&a)[8]) {
  Number<T> even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
  transform(even);
  transform(odd);
  const Vec<T> root = Vec<T>::all(T(0.707106781186547524400844362104849));
  odd[1] = {(odd[1].re + odd[1].im) * root, (odd[1].im - odd[1].re) * root};
  odd[2] = turned_down(odd[2]);
  odd[3] = {(odd[3].im - odd[3].re) * root, minus((odd[3].re + odd[3].im) * root)};
  for (int k = 0; k < 4; k++) {
    a[k] = even[k] + odd[k];
    a[k + 4] = even[k] - odd[k];
  }
}
// Of an odd number of elements, R or any: by sums and differences of x[j] and x[r - j]. `waves`: cos and sin of 2 pi j k / r.
template <int R, class T>
RUSHLIGHT_INLINE void transform_odd(Number<T>* a, int any, const T* waves) {
  const int r = R ? R : any, half = r / 2;
  Number<T> sums[(R ? R : kFftLargest) / 2], rests[(R ? R : kFftLargest) / 2];
  const Number<T> first = a[0];
  for (int j = 1; j <= half; j++) {
    sums[j - 1] = a[j] + a[r - j];
    rests[j - 1] = a[j] - a[r - j];
    a[0] = a[0] + sums[j - 1];
  }
  for (int k = 1; k <= half; k++) {
    Number<T> cosines = first, sines = {Vec<T>::all(0), Vec<T>::all(0)};
    for (int j = 0; j < half; j++, waves += 2) {
      const Vec<T> c = Vec<T>::all(waves[0]), s = Vec<T>::all(waves[1]);
      cosines = {fma(sums[j].re, c, cosines.re), fma(sums[j].im, c, cosines.im)};
      sines = {fma(rests[j].re, s, sines.re), fma(rests[j].im, s, sines.im)};
    }
    const Number<T> down = turned_down(sines);
    a[k] = cosines + down;
    a[r - k] = cosines - down;
  }
}

// ---- steps

// One step of `blocks` lengths that follow each other; R 0 is an odd factor of any size.
template <int R, class T>
RUSHLIGHT_INLINE void step(T* x, ptrdiff_t blocks, ptrdiff_t length, int any, const T* roots) {
  constexpr int kMost = R ? R : kFftLargest;
  const int r = R ? R : any;
  const ptrdiff_t apart = length / r;
  const T* waves = roots;
  if (r % 2) roots += (r / 2) * (r / 2) * 2;
  for (ptrdiff_t b = 0; b < blocks; b++, x += length * kRow<T>) {
    const T* w = roots;
    for (ptrdiff_t j = 0; j < apart; j++) {
      Number<T> a[kMost];
      for (int k = 0; k < r; k++) a[k] = row(x, j + k * apart);
      if constexpr (R == 0 || R % 2) transform_odd<R>(a, r, waves);
      else transform(a);
      if (j)
        for (int k = 1; k < r; k++, w += 2) a[k] = a[k] * all(w);
      for (int k = 0; k < r; k++) set_row(x, j + k * apart, a[k]);
    }
  }
}

template <class T>
void steps(T* x, ptrdiff_t blocks, ptrdiff_t length, const int* factors, const T* roots) {
  while (length > 1) {
    const int r = *factors++;
    switch (r) {
      case 2: step<2>(x, blocks, length, r, roots); break;
      case 3: step<3>(x, blocks, length, r, roots); break;
      case 4: step<4>(x, blocks, length, r, roots); break;
      case 5: step<5>(x, blocks, length, r, roots); break;
      case 8: step<8>(x, blocks, length, r, roots); break;
      default: step<0>(x, blocks, length, r, roots);
    }
    roots += (length / r - 1) * (r - 1) * 2 + (r % 2 ? (r / 2) * (r / 2) * 2 : 0);
    const bool far = length * kRow<T> * static_cast<ptrdiff_t>(sizeof(T)) > kNear;
    length /= r;
    if (far && length > 1) {
      for (ptrdiff_t b = 0; b < blocks * r; b++) steps(x + b * length * kRow<T>, 1, length, factors, roots);
      return;
    }
    blocks *= r;
  }
}

// ---- between the transform of pairs of real numbers, of n elements, and that of the numbers, of 2n: both ways

template <bool kAfter, class T>
RUSHLIGHT_INLINE void halves(T* x, ptrdiff_t n, const uint32_t* order, const T* roots) {
  const auto at = [order](ptrdiff_t k) { return kAfter ? static_cast<ptrdiff_t>(order[k]) : k; };
  const Number<T> first = row(x, 0), last = kAfter ? Number<T>{first.im, first.im} : row(x, n);
  const Vec<T> zero = Vec<T>::all(0), sum = first.re + last.re, rest = first.re - last.re;
  set_row(x, 0, Number<T>{sum, kAfter ? zero : rest});
  if (kAfter) set_row(x, at(n), Number<T>{rest, zero});
  const Vec<T> factor = Vec<T>::all(kAfter ? T(0.5) : T(1));
  for (ptrdiff_t k = 1; k <= n / 2; k++) {
    const Number<T> a = row(x, at(k)), b = conjugate(row(x, at(n - k))), root = all(roots + 2 * k);
    const Number<T> s = a + b, d = (a - b) * (kAfter ? root : conjugate(root));
    const Number<T> sums = {s.re * factor, s.im * factor}, rests = {d.re * factor, d.im * factor};
    set_row(x, at(n - k), conjugate(sums - rests));
    set_row(x, at(k), sums + rests);
  }
}

// The first numbers of n, as those of a transform of real numbers: the mean of each and the conjugate of its opposite.
template <class T>
RUSHLIGHT_INLINE void fold(T* x, ptrdiff_t n) {
  const Vec<T> half = Vec<T>::all(T(0.5));
  for (ptrdiff_t k = 1; k <= n / 2; k++) {
    const Number<T> sum = row(x, k) + conjugate(row(x, n - k));
    set_row(x, k, Number<T>{sum.re * half, sum.im * half});
  }
}
template <class T>
RUSHLIGHT_INLINE void times_edges(T* x, ptrdiff_t n, const uint32_t* order, T factor) {
  if (factor == 1) return;
  for (ptrdiff_t k = 0; 2 * k <= n; k += n % 2 ? n : n / 2) {
    const ptrdiff_t at = order ? static_cast<ptrdiff_t>(order[k]) : k;
    const Number<T> value = row(x, at);
    set_row(x, at, Number<T>{value.re * Vec<T>::all(factor), value.im * Vec<T>::all(factor)});
  }
}

// ---- between memory and rows

template <class T>
struct Lines {
  char* at[Vec<T>::N];  // the first element of each; those that are not there are the first line again
  ptrdiff_t count, step, imaginary;
  bool beside;  // whether the lines are adjacent
};

template <class T>
Lines<T> lines_of(const FftJob& job, const FftPlaces& places, ptrdiff_t first, ptrdiff_t count) {
  constexpr int N = Vec<T>::N;
  Lines<T> lines;
  lines.count = count, lines.step = places.step, lines.imaginary = places.imaginary;
  ptrdiff_t index[kMaxFftDims], rest = first;
  char* at = places.data;
  for (int d = job.ndim - 1; d >= 0; d--) {
    index[d] = rest % job.shape[d];
    rest /= job.shape[d];
    at += index[d] * places.lines[d];
  }
  const ptrdiff_t item = static_cast<ptrdiff_t>(sizeof(T)) * (places.imaginary == static_cast<ptrdiff_t>(sizeof(T)) ? 2 : 1);
  lines.beside = count > 1;
  for (ptrdiff_t i = 0; i < N; i++) {
    if (i >= count) {
      lines.at[i] = lines.at[0];
      continue;
    }
    lines.at[i] = at;
    lines.beside = lines.beside && at == lines.at[0] + i * item;
    for (int d = job.ndim - 1; d >= 0; d--) {
      at += places.lines[d];
      if (++index[d] < job.shape[d]) break;
      at -= index[d] * places.lines[d];
      index[d] = 0;
    }
  }
  return lines;
}

#ifdef RUSHLIGHT_SHUFFLES
template <class T, int... I>
RUSHLIGHT_INLINE Number<T> parted(Vec<T> a, Vec<T> b, std::integer_sequence<int, I...>) {
  return {{__builtin_shufflevector(a.v, b.v, (2 * I)...)}, {__builtin_shufflevector(a.v, b.v, (2 * I + 1)...)}};
}
#endif

template <class T>
RUSHLIGHT_INLINE T* element(const Lines<T>& lines, ptrdiff_t lane, ptrdiff_t k) {
  return reinterpret_cast<T*>(lines.at[lane] + k * lines.step);
}
template <class T>
RUSHLIGHT_INLINE T* imaginary_of(const Lines<T>& lines, T* real) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(real) + lines.imaginary);
}

template <class T>
void load(const Lines<T>& lines, ptrdiff_t n, T* x) {
  constexpr int N = Vec<T>::N;
  constexpr ptrdiff_t kItem = sizeof(T);
  const bool pairs = lines.imaginary == kItem;
  ptrdiff_t k = 0;
#ifdef RUSHLIGHT_SHUFFLES
  if (lines.beside) {
    alignas(64) T buffer[2 * N] = {};
    const size_t bytes = static_cast<size_t>(lines.count) * sizeof(T);
    for (; k < n; k++) {
      const T* at = element(lines, 0, k);
      if (pairs) {
        if (lines.count < N) at = static_cast<T*>(memcpy(buffer, at, 2 * bytes));
        set_row(x, k, parted(Vec<T>::load(at), Vec<T>::load(at + N), std::make_integer_sequence<int, N>{}));
      } else {
        memcpy(buffer, at, bytes);
        if (lines.imaginary) memcpy(buffer + N, imaginary_of(lines, const_cast<T*>(at)), bytes);
        set_row(x, k, row(buffer, 0));
      }
    }
  } else if (pairs && lines.step == 2 * kItem) {
    for (; k < n; k += N / 2) {
      Vec<T> square[N];
      const ptrdiff_t left = 2 * (n - k);  // the last square may have fewer columns
      for (int i = 0; i < N; i++) square[i] = load_some(element(lines, i, k), left);
      transpose_square(square);
      for (int i = 0; i < N && i < left; i++) square[i].store(x + k * kRow<T> + i * N);
    }
  }
#endif
  for (; k < n; k++)
    for (int i = 0; i < N; i++) {
      T* at = element(lines, i, k);
      x[k * kRow<T> + i] = *at;
      x[k * kRow<T> + N + i] = lines.imaginary ? *imaginary_of(lines, at) : 0;
    }
}

template <class T>
void store(const Lines<T>& lines, ptrdiff_t n, const T* x, const uint32_t* order, T factor) {
  constexpr int N = Vec<T>::N;
  constexpr ptrdiff_t kItem = sizeof(T);
  const bool pairs = lines.imaginary == kItem;
  const Vec<T> scale = Vec<T>::all(factor);
  ptrdiff_t k = 0;
#ifdef RUSHLIGHT_SHUFFLES
  using Lanes = std::make_integer_sequence<int, N>;
  if (lines.beside) {
    const size_t bytes = static_cast<size_t>(lines.count) * sizeof(T);
    for (; k < n; k++) {
      T* at = element(lines, 0, k);
      Number<T> value = row(x, order[k]);
      value = {value.re * scale, value.im * scale};
      if (pairs) {
        const Vec<T> low = interleave<T, 0>(value.re, value.im, Lanes{}), high = interleave<T, N / 2>(value.re, value.im, Lanes{});
        if (lines.count == N) {
          low.store(at);
          high.store(at + N);
        } else {
          alignas(64) T buffer[2 * N];
          low.store(buffer);
          high.store(buffer + N);
          memcpy(at, buffer, 2 * bytes);
        }
      } else {
        memcpy(at, &value.re, bytes);
        if (lines.imaginary) memcpy(imaginary_of(lines, at), &value.im, bytes);
      }
    }
  } else if (pairs && lines.step == 2 * kItem) {
    for (; k < n; k += N / 2) {
      Vec<T> square[N];
      for (int i = 0; i < N / 2; i++) {
        const Number<T> value = row(x, order[k + i < n ? k + i : k]);
        square[2 * i] = value.re * scale;
        square[2 * i + 1] = value.im * scale;
      }
      transpose_square(square);
      const ptrdiff_t left = 2 * (n - k);
      if (lines.count == N && left >= N) {
        for (int i = 0; i < N; i++) square[i].store(element(lines, i, k));
      } else {
        for (int i = 0; i < N && i < lines.count; i++) store_some(square[i], element(lines, i, k), left);
      }
    }
  }
#endif
  for (; k < n; k++)
    for (ptrdiff_t i = 0; i < lines.count; i++) {
      T* at = element(lines, i, k);
      const T* value = x + order[k] * kRow<T> + i;
      *at = value[0] * factor;
      if (lines.imaginary) *imaginary_of(lines, at) = value[N] * factor;
    }
}

// ---- all of a job

// What a convolution has instead of steps; returns the rows with the results.
template <class T>
T* convolved(const FftJob& job, T* x) {
  const FftConvolution& c = job.convolution;
  const T *chirp = static_cast<const T*>(c.chirp), *spectrum = static_cast<const T*>(c.spectrum);
  const T* roots = static_cast<const T*>(job.steps.roots);
  const ptrdiff_t n = job.steps.n;
  const Vec<T> zero = Vec<T>::all(0);
  for (ptrdiff_t k = 0; k < c.n; k++) set_row(x, k, row(x, k) * all(chirp + 2 * k));
  for (ptrdiff_t k = c.n; k < n; k++) set_row(x, k, Number<T>{zero, zero});
  steps(x, 1, n, job.steps.factors, roots);
  T* other = x + n * kRow<T>;
  for (ptrdiff_t k = 0; k < n; k++) set_row(other, k, row(x, job.steps.order[k]) * all(spectrum + 2 * k));
  steps(other, 1, n, job.steps.factors, roots);
  for (ptrdiff_t k = 0; k < c.n; k++) set_row(other, c.order[k], row(other, c.order[k]) * all(chirp + 2 * k));
  return other;
}

template <class T>
void group(const FftJob& job, ptrdiff_t first, ptrdiff_t count, T* x) {
  const ptrdiff_t n = job.length();
  const bool convolves = job.convolution.n;
  const uint32_t* order = job.forward ? job.steps.order : job.steps.turned;
  if (convolves) order = job.forward ? job.convolution.order : job.convolution.turned;
  const T* roots = static_cast<const T*>(job.halves);
  load(lines_of<T>(job, job.from, first, count), job.loaded, x);
  const bool before = job.ends == FftEnds::HalvesBefore || job.ends == FftEnds::MirrorBefore;
  const ptrdiff_t numbers = job.ends == FftEnds::HalvesBefore || job.ends == FftEnds::HalvesAfter ? 2 * n : n;
  if (before && job.folded) fold(x, numbers);
  if (before) times_edges(x, numbers, nullptr, static_cast<T>(job.edges));
  if (job.ends == FftEnds::HalvesBefore) halves<false>(x, n, order, roots);
  if (job.ends == FftEnds::MirrorBefore) {
    set_row(x, 0, Number<T>{row(x, 0).re, Vec<T>::all(0)});
    for (ptrdiff_t k = 1; k <= n / 2; k++) set_row(x, n - k, conjugate(row(x, k)));
  }
  if (convolves) x = convolved(job, x);
  else steps(x, 1, n, job.steps.factors, static_cast<const T*>(job.steps.roots));
  if (job.ends == FftEnds::HalvesAfter) {
    halves<true>(x, n, order, roots);
    for (ptrdiff_t k = n + 1; k < job.stored; k++) set_row(x, order[k], conjugate(row(x, order[2 * n - k])));
  }
  if (!before) times_edges(x, numbers, order, static_cast<T>(job.edges));
  if (job.lane_roots) {
    const T* lanes = static_cast<const T*>(job.lane_roots);
    const T* of_group = static_cast<const T*>(job.group_roots) + first % job.run / Vec<T>::N * n * 2;
    for (ptrdiff_t k = 0; k < n; k++) {
      const Number<T> root = row(lanes, k) * all(of_group + 2 * k);
      set_row(x, order[k], row(x, order[k]) * (job.forward ? root : conjugate(root)));
    }
  }
  store(lines_of<T>(job, job.to, first, count), job.stored, x, order, static_cast<T>(job.scale));
}

void fft(const FftJob& job, ptrdiff_t begin, ptrdiff_t end, void* scratch) {
  float_or_double(job.dtype, [&]<class T>() {
    constexpr ptrdiff_t N = Vec<T>::N;
    const ptrdiff_t of_run = (job.run + N - 1) / N;
    for (ptrdiff_t g = begin; g < end; g++) {
      const ptrdiff_t inside = g % of_run * N;
      group(job, g / of_run * job.run + inside, smaller(N, job.run - inside), static_cast<T*>(scratch));
    }
  });
}

}  // namespace

void fill_fft(DenseKernels& table) { table.fft = fft; }

}  // namespace rushlight::RUSHLIGHT_ISA
