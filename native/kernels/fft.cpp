// Fourier transforms: the tables of lengths, and how a transform is cut into jobs. See fft.h.
#include "kernels/fft.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/workspace.h"

namespace rushlight {

ptrdiff_t FftJob::rows() const {
  if (convolution.n) return 2 * steps.n + std::max(stored - convolution.n, ptrdiff_t{0}) + 1;
  return std::max({steps.n + 1, loaded, stored});
}

namespace {

constexpr ptrdiff_t kLongest = 4096;  // longer ones are cut in two
constexpr ptrdiff_t kCutLines = 256;  // and from here on where there are few of them
constexpr ptrdiff_t kTogether = 1 << 20;  // bytes of lines that are cut in two at a time
constexpr ptrdiff_t kParallelWork = 20000;  // elements from which another thread is worth waking

// ---- roots of unity

// exp(-2 pi i k / n) by a product of two numbers of tables.
class Roots {
  using Real = long double;
  struct Pair {
    Real re, im;
  };

 public:
  explicit Roots(ptrdiff_t n) : n_(n) {
    while (width_ * width_ < n) width_ *= 2;
    for (ptrdiff_t k = 0; k < width_; k++) low_.push_back(root(k % n));
    for (ptrdiff_t k = 0; k < n; k += width_) high_.push_back(root(k));
  }
  template <class T>
  void put(T* to, ptrdiff_t k) const {
    const Pair a = high_[static_cast<size_t>(k / width_)], b = low_[static_cast<size_t>(k % width_)];
    to[0] = static_cast<T>(a.re * b.re - a.im * b.im);
    to[1] = static_cast<T>(a.re * b.im + a.im * b.re);
  }
  // k is the product of two factors smaller than n.
  template <class T>
  void put(T* to, ptrdiff_t a, ptrdiff_t b) const {
    put(to, static_cast<ptrdiff_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b) % static_cast<uint64_t>(n_)));
  }

 private:
  // By an angle of at most an eighth of a turn: exact at the quarters, and the same numbers in all eighths.
  Pair root(ptrdiff_t k) const {
    const ptrdiff_t eighth = 8 * k / n_, quarter = (eighth + 1) / 2;
    const Real angle = static_cast<Real>(4 * k - quarter * n_) / static_cast<Real>(2 * n_) * 3.14159265358979323846264338327950288L;
    const Real c = std::cos(angle), s = std::sin(angle);
    switch (quarter % 4) {
      case 0: return {c, -s};
      case 1: return {-s, -c};
      case 2: return {-c, s};
      default: return {s, c};
    }
  }
  ptrdiff_t n_, width_ = 1;
  std::vector<Pair> low_, high_;
};

// ---- tables, of which the last used are kept

// Steps: factors, roots and orders of a length without large prime factors. Halves: the numbers between such a length and twice it.
// Cut: two lengths, and the roots between them. Chirps: of a convolution.
enum class Table : uint8_t { Steps, Halves, Cut, Chirps };

struct Tables {
  Table kind;
  DType dtype;
  ptrdiff_t n;
  std::vector<int> factors;
  std::vector<uint32_t> order, turned;
  std::vector<char> numbers, more;  // roots; of Cut those of lanes and of groups; of Chirps the chirp and its spectrum
  ptrdiff_t first = 0, second = 0;  // Cut: the lengths. Chirps: that of the convolution
  size_t bytes() const { return numbers.size() + more.size() + 8 * order.size() + 4 * factors.size(); }
};
using Held = std::shared_ptr<const Tables>;

// The factors, the largest first but for 8 and 4; empty for 1, and where a prime factor is too large.
std::vector<int> factors_of(ptrdiff_t n) {
  std::vector<int> found;
  for (const int factor : {8, 4, 2, 3, 5})
    for (; n % factor == 0 && (factor != 8 || n != 16); n /= factor) found.push_back(factor);
  for (int factor = 7; n > 1 && factor <= kFftLargest; factor += 2)
    for (; n % factor == 0; n /= factor) found.push_back(factor);
  if (n > 1) found.clear();
  return found;
}
bool has_steps(ptrdiff_t n) { return n == 1 || !factors_of(n).empty(); }

template <class T>
T* resized(std::vector<char>& bytes, ptrdiff_t count) {
  bytes.resize(static_cast<size_t>(count) * sizeof(T));
  return reinterpret_cast<T*>(bytes.data());
}

// The order of all results from that of the first n: of those that are made after them, in rows from `free` on; and of their opposites.
void end_orders(Tables& t, ptrdiff_t free) {
  t.order.resize(static_cast<size_t>(t.n));
  for (ptrdiff_t k = 0; k < t.n + 2; k++) t.order.push_back(static_cast<uint32_t>(free + k));
  t.turned = t.order;
  std::reverse(t.turned.begin() + 1, t.turned.begin() + t.n);
}

template <class T>
void make_steps(Tables& t) {
  t.factors = factors_of(t.n);
  ptrdiff_t count = 0, length = t.n;
  for (const int r : t.factors) {
    count += (length / r - 1) * (r - 1) + (r % 2 ? (r / 2) * (r / 2) : 0);
    length /= r;
  }
  const Roots roots(t.n);
  T* to = resized<T>(t.numbers, 2 * count);
  t.order.assign(static_cast<size_t>(t.n), 0);
  length = t.n;
  ptrdiff_t digit = 1;  // of the results: the product of the factors before
  for (const int r : t.factors) {
    const ptrdiff_t apart = length / r, turn = t.n / length;
    for (int k = 1; r % 2 && k <= r / 2; k++)
      for (int j = 1; j <= r / 2; j++, to += 2) {
        roots.put(to, t.n / r * (j * k % r));
        to[1] = -to[1];
      }
    for (ptrdiff_t j = 1; j < apart; j++)
      for (int k = 1; k < r; k++, to += 2) roots.put(to, turn * j * k);
    for (ptrdiff_t k = 0; k < t.n; k++) t.order[static_cast<size_t>(k)] += static_cast<uint32_t>(k / digit % r * apart);
    digit *= r;
    length = apart;
  }
  end_orders(t, t.n);
}

template <class T>
void make_halves(Tables& t) {
  const Roots roots(2 * t.n);
  T* to = resized<T>(t.numbers, 2 * (t.n / 2 + 1));
  for (ptrdiff_t k = 0; k <= t.n / 2; k++, to += 2) {
    roots.put(to, k);
    std::swap(to[0], to[1]);
    to[1] = -to[1];
  }
}

// The divisor next to the square root.
ptrdiff_t cut_of(ptrdiff_t n) {
  ptrdiff_t divisor = static_cast<ptrdiff_t>(std::sqrt(static_cast<double>(n)));
  while (n % divisor) divisor--;
  return divisor;
}

template <class T>
void make_cut(Tables& t) {
  const ptrdiff_t lanes = dense_kernels().lane_bytes / static_cast<ptrdiff_t>(sizeof(T));
  t.first = cut_of(t.n);
  t.second = t.n / t.first;
  const ptrdiff_t groups = (t.second + lanes - 1) / lanes;
  const Roots roots(t.n);
  T* of_lanes = resized<T>(t.numbers, 2 * t.first * lanes);
  T* of_groups = resized<T>(t.more, 2 * groups * t.first);
  for (ptrdiff_t k = 0; k < t.first; k++, of_lanes += 2 * lanes)
    for (ptrdiff_t i = 0; i < lanes; i++) {
      T pair[2];
      roots.put(pair, k, i);
      of_lanes[i] = pair[0];
      of_lanes[lanes + i] = pair[1];
    }
  for (ptrdiff_t g = 0; g < groups; g++)
    for (ptrdiff_t k = 0; k < t.first; k++, of_groups += 2) roots.put(of_groups, k, g * lanes);
}

template <class T>
void multiply(T* x, const T* by) {
  const T re = x[0] * by[0] - x[1] * by[1];
  x[1] = x[0] * by[1] + x[1] * by[0];
  x[0] = re;
}

// Lines of `length` adjacent complex numbers.
Fft adjacent(DType dtype, char* data, ptrdiff_t length, ptrdiff_t lines, bool forward) {
  const ptrdiff_t item = item_size(dtype);
  Fft call{};
  call.dtype = dtype;
  call.kind = FftKind::Complex;
  call.n = length;
  call.forward = forward;
  call.scale = call.edges = 1;
  call.from.data = data;
  call.from.step = 2 * item;
  call.from.imaginary = item;
  call.from.lines[0] = 2 * item * length;
  call.to = call.from;
  call.ndim = 1;
  call.shape[0] = lines;
  return call;
}

Held tables(Table kind, DType dtype, ptrdiff_t n);

// The length of a convolution: the shortest of 2^a b.
ptrdiff_t convolution_of(ptrdiff_t n) {
  ptrdiff_t length = 1;
  while (length < 2 * n - 1) length *= 2;
  for (const ptrdiff_t factor : {9, 15, 5, 3})
    for (ptrdiff_t power = factor; power < length; power *= 2)
      if (power >= 2 * n - 1) length = power;
  return length;
}

// j k = (j^2 + k^2 - (k - j)^2) / 2: a transform is a convolution with exp(pi i k^2 / n), between two products with its conjugate.
template <class T>
bool make_chirps(Tables& t) {
  const ptrdiff_t length = convolution_of(t.n);
  t.first = length;
  const Roots roots(2 * t.n);
  T* chirp = resized<T>(t.numbers, 2 * t.n);
  std::vector<double> wave(static_cast<size_t>(2 * length));  // in double: its spectrum is rounded once
  for (ptrdiff_t k = 0; k < t.n; k++) {
    const auto square = static_cast<ptrdiff_t>(static_cast<uint64_t>(k) * static_cast<uint64_t>(k) %
                                               static_cast<uint64_t>(2 * t.n));
    roots.put(chirp + 2 * k, square);
    double* at[] = {&wave[static_cast<size_t>(2 * k)], &wave[static_cast<size_t>(2 * ((length - k) % length))]};
    for (double* pair : at) {
      roots.put(pair, square);
      pair[1] = -pair[1];
    }
  }
  Fft call = adjacent(DType::F64, reinterpret_cast<char*>(wave.data()), length, 1, true);
  call.scale = 1 / static_cast<double>(length);
  if (!fft(call)) return false;
  std::copy(wave.begin(), wave.end(), resized<T>(t.more, 2 * length));
  if (length <= kLongest) {
    t.order = tables(Table::Steps, t.dtype, length)->turned;
    end_orders(t, length);
  }
  return true;
}

template <class F>
auto float_or_double(DType dtype, const F& f) {
  return dtype == DType::F32 ? f.template operator()<float>() : f.template operator()<double>();
}

// nullptr where there is no memory.
Held tables(Table kind, DType dtype, ptrdiff_t n) {
  constexpr size_t kKept = 64, kKeptBytes = 32 << 20;
  static std::mutex& mutex = *new std::mutex;  // never destroyed: threads may still transform when the process ends
  static std::vector<Held>& kept = *new std::vector<Held>;  // the last used at the end
  {
    const std::lock_guard<std::mutex> lock(mutex);
    for (size_t i = kept.size(); i-- > 0;)
      if (kept[i]->n == n && kept[i]->kind == kind && kept[i]->dtype == dtype) {
        std::rotate(kept.begin() + static_cast<ptrdiff_t>(i), kept.begin() + static_cast<ptrdiff_t>(i) + 1, kept.end());
        return kept.back();
      }
  }
  auto made = std::make_shared<Tables>();
  made->kind = kind, made->dtype = dtype, made->n = n;
  const bool done = float_or_double(dtype, [&]<class T>() {
    switch (kind) {
      case Table::Steps: make_steps<T>(*made); return true;
      case Table::Halves: make_halves<T>(*made); return true;
      case Table::Cut: make_cut<T>(*made); return true;
      default: return make_chirps<T>(*made);
    }
  });
  if (!done) throw std::bad_alloc();
  const std::lock_guard<std::mutex> lock(mutex);
  kept.push_back(made);
  size_t bytes = 0, first = kept.size();  // as many of the last as there is room for, at least this one
  do bytes += kept[--first]->bytes();
  while (first > 0 && kept.size() - first < kKept && bytes + kept[first - 1]->bytes() <= kKeptBytes);
  kept.erase(kept.begin(), kept.begin() + static_cast<ptrdiff_t>(first));
  return made;
}

FftSteps steps_of(const Tables& t) {
  return {t.n, static_cast<int>(t.factors.size()), t.factors.data(), t.numbers.data(), t.order.data(), t.turned.data()};
}

// ---- memory and threads

struct Memory : Workspace<> {
  explicit Memory(ptrdiff_t bytes) : Workspace(bytes) {
    if (!p) throw std::bad_alloc();
  }
};

ptrdiff_t lanes_of(DType dtype) { return dense_kernels().lane_bytes / item_size(dtype); }

template <class Call>
ptrdiff_t lines_in(const Call& call) {
  return std::accumulate(call.shape, call.shape + call.ndim, ptrdiff_t{1}, std::multiplies<>());
}

void run_job(const FftJob& job) {
  const ptrdiff_t lanes = lanes_of(job.dtype), groups = lines_in(job) / job.run * ((job.run + lanes - 1) / lanes);
  const ptrdiff_t bytes = job.rows() * 2 * dense_kernels().lane_bytes;
  const ptrdiff_t parts = std::min<ptrdiff_t>(groups, get_num_threads()), work = job.steps.n * lanes;
  std::atomic<bool> failed = false;
  const auto run = [&](ptrdiff_t begin, ptrdiff_t end) {
    const Workspace scratch(bytes);
    if (scratch.p) dense_kernels().fft(job, begin, end, scratch.p);
    else failed = true;
  };
  if (parts == 1 || groups * work < 2 * kParallelWork) run(0, groups);
  else parallel(groups, std::max<ptrdiff_t>(kParallelWork / work, 1), run);
  if (failed) throw std::bad_alloc();
}

// The first elements of a line.
std::pair<char*, char*> line_at(const Fft& call, ptrdiff_t line) {
  char *from = call.from.data, *to = call.to.data;
  for (int d = call.ndim - 1; d >= 0; d--) {
    from += line % call.shape[d] * call.from.lines[d];
    to += line % call.shape[d] * call.to.lines[d];
    line /= call.shape[d];
  }
  return {from, to};
}

// Runs f(line, from, to) for all lines of a call, over threads; f gets the first elements.
template <class F>
void each_line(const Fft& call, ptrdiff_t begin, ptrdiff_t end, const F& f) {
  parallel(end - begin, std::max<ptrdiff_t>(kParallelWork / call.n, 1), [&](ptrdiff_t low, ptrdiff_t high) {
    for (ptrdiff_t line = begin + low; line < begin + high; line++) {
      const auto [from, to] = line_at(call, line);
      f(line, from, to);
    }
  });
}

// ---- the ways of a transform

FftJob job_of(const Fft& call, const Tables& steps) {
  FftJob job{};
  job.dtype = call.dtype;
  job.steps = steps_of(steps);
  job.forward = call.forward;
  job.scale = call.scale;
  job.edges = call.edges;
  job.loaded = job.stored = steps.n;
  job.from = call.from;
  job.to = call.to;
  job.ndim = call.ndim;
  std::copy_n(call.shape, call.ndim, job.shape);
  job.run = std::max<ptrdiff_t>(lines_in(call), 1);
  const ptrdiff_t lanes = lanes_of(call.dtype), inner = call.ndim ? call.shape[call.ndim - 1] : 1;
  if (inner > 0 && (inner % lanes == 0 || inner >= 8 * lanes)) job.run = inner;
  return job;
}

// Pairs of real numbers taken as complex ones.
void take_pairs(FftPlaces& places) {
  places.imaginary = places.step;
  places.step *= 2;
}

// Some lines at a time as rows of lanes.
void in_lanes(const Fft& call) {
  const bool halves = call.kind != FftKind::Complex && call.n % 2 == 0;
  const ptrdiff_t length = halves ? call.n / 2 : call.n;
  const Held chirps = has_steps(length) ? nullptr : tables(Table::Chirps, call.dtype, length);
  const Held steps = tables(Table::Steps, call.dtype, chirps ? chirps->first : length);
  const Held between = halves ? tables(Table::Halves, call.dtype, length) : nullptr;
  FftJob job = job_of(call, *steps);
  if (chirps) {
    job.convolution = {length, chirps->numbers.data(), chirps->more.data(), chirps->order.data(), chirps->turned.data()};
    job.loaded = job.stored = length;
  }
  if (halves) job.halves = between->numbers.data();
  const ptrdiff_t half = call.n / 2 + 1;
  if (call.kind == FftKind::FromReal) {
    job.stored = call.whole ? call.n : half;
    if (halves) {
      job.ends = FftEnds::HalvesAfter;
      take_pairs(job.from);
    }
  } else if (call.kind == FftKind::ToReal) {
    job.loaded = call.whole ? call.n : half;
    job.folded = call.whole;
    job.ends = halves ? FftEnds::HalvesBefore : FftEnds::MirrorBefore;
    if (halves) take_pairs(job.to);
  }
  run_job(job);
}

// Complex lines cut in two: result a + first * b is the b-th of the transform of the a-th results of lines of every second-th element.
void in_two(const Fft& call) {
  const Held cut = tables(Table::Cut, call.dtype, call.n);
  const Held steps[] = {tables(Table::Steps, call.dtype, cut->first), tables(Table::Steps, call.dtype, cut->second)};
  const ptrdiff_t pair = 2 * item_size(call.dtype), lines = lines_in(call);
  const ptrdiff_t together = std::clamp<ptrdiff_t>(kTogether / (pair * call.n), 1, lines);
  const Memory between(together * call.n * pair);
  // The lines along the innermost dimension, as many at a time as fit; other dimensions one by one.
  const ptrdiff_t inner = call.ndim ? call.shape[call.ndim - 1] : 1;
  for (ptrdiff_t line = 0; line < lines;) {
    const ptrdiff_t count = std::min(together, inner - line % inner);
    const auto [from, to] = line_at(call, line);
    const ptrdiff_t from_line = call.ndim ? call.from.lines[call.ndim - 1] : 0,
                    to_line = call.ndim ? call.to.lines[call.ndim - 1] : 0;
    Fft part = adjacent(call.dtype, between.p, call.n, count, call.forward);
    part.ndim = 2;
    part.from = {from, call.from.step * cut->second, call.from.imaginary, {from_line, call.from.step}};
    part.to = {between.p, pair * cut->second, pair / 2, {pair * call.n, pair}};
    part.shape[1] = cut->second;
    FftJob job = job_of(part, *steps[0]);
    job.lane_roots = cut->numbers.data();
    job.group_roots = cut->more.data();
    job.run = cut->second;
    run_job(job);
    part.from = {between.p, pair, pair / 2, {pair * call.n, pair * cut->second}};
    part.to = {to, call.to.step * cut->first, call.to.imaginary, {to_line, call.to.step}};
    part.shape[1] = cut->first;
    part.scale = call.scale;
    run_job(job_of(part, *steps[1]));
    line += count;
  }
}

template <class T>
struct Pointers {
  T* at;
  ptrdiff_t step, imaginary;  // in elements
  Pointers(char* data, const FftPlaces& places)
      : at(reinterpret_cast<T*>(data)),
        step(places.step / static_cast<ptrdiff_t>(sizeof(T))),
        imaginary(places.imaginary / static_cast<ptrdiff_t>(sizeof(T))) {}
  T& re(ptrdiff_t k) const { return at[k * step]; }
  T& im(ptrdiff_t k) const { return at[k * step + imaginary]; }
};

// Lines of an even number of real numbers as complex ones of half the length, which lie in memory of their own; the numbers between
// them as halves() of isa/spectral/fft.cpp has them.
template <class T>
void in_pairs(const Fft& call) {
  const ptrdiff_t n = call.n / 2, lines = lines_in(call);
  const Held between = tables(Table::Halves, call.dtype, n);
  const T* roots = reinterpret_cast<const T*>(between->numbers.data());
  const Memory memory(lines * n * 2 * static_cast<ptrdiff_t>(sizeof(T)));
  T* const all = reinterpret_cast<T*>(memory.p);
  Fft pairs = adjacent(call.dtype, memory.p, n, lines, call.kind == FftKind::FromReal);
  pairs.ndim = call.ndim;
  std::copy_n(call.shape, call.ndim, pairs.shape);
  ptrdiff_t line_bytes = pairs.to.lines[0];
  for (int d = call.ndim - 1; d >= 0; line_bytes *= call.shape[d--]) pairs.from.lines[d] = pairs.to.lines[d] = line_bytes;
  if (call.kind == FftKind::FromReal) {
    pairs.from = call.from;
    take_pairs(pairs.from);
    in_two(pairs);
    const T edges = static_cast<T>(call.scale * call.edges), half = static_cast<T>(call.scale / 2);
    each_line(call, 0, lines, [&](ptrdiff_t line, char*, char* to) {
      const T* x = all + line * 2 * n;
      const Pointers<T> out(to, call.to);
      const auto put = [&](ptrdiff_t k, T re, T im) {
        out.re(k) = re;
        out.im(k) = im;
        if (call.whole && k && k != n) {
          out.re(call.n - k) = re;
          out.im(call.n - k) = -im;
        }
      };
      put(0, (x[0] + x[1]) * edges, 0);
      put(n, (x[0] - x[1]) * edges, 0);
      for (ptrdiff_t k = 1; k <= n / 2; k++) {
        const T *a = x + 2 * k, *b = x + 2 * (n - k);
        const T sum[] = {a[0] + b[0], a[1] - b[1]};
        T rest[] = {a[0] - b[0], a[1] + b[1]};
        multiply(rest, roots + 2 * k);
        put(n - k, (sum[0] - rest[0]) * half, (rest[1] - sum[1]) * half);
        put(k, (sum[0] + rest[0]) * half, (sum[1] + rest[1]) * half);
      }
    });
    return;
  }
  each_line(call, 0, lines, [&](ptrdiff_t line, char* from, char*) {
    const Pointers<T> in(from, call.from);
    T* x = all + line * 2 * n;
    const T edges = static_cast<T>(call.edges);
    x[0] = (in.re(0) + in.re(n)) * edges;
    x[1] = (in.re(0) - in.re(n)) * edges;
    const auto number = [&](ptrdiff_t k) {
      if (!call.whole) return std::pair<T, T>(in.re(k), in.im(k));
      return std::pair<T, T>((in.re(k) + in.re(call.n - k)) / 2, (in.im(k) - in.im(call.n - k)) / 2);
    };
    for (ptrdiff_t k = 1; k <= n / 2; k++) {
      const std::pair<T, T> one = number(k), other = number(n - k);
      const T sum[] = {one.first + other.first, one.second - other.second};
      T rest[] = {one.first - other.first, one.second + other.second};
      const T root[] = {roots[2 * k], -roots[2 * k + 1]};
      multiply(rest, root);
      T *a = x + 2 * k, *b = x + 2 * (n - k);
      b[0] = sum[0] - rest[0];
      b[1] = rest[1] - sum[1];
      a[0] = sum[0] + rest[0];
      a[1] = sum[1] + rest[1];
    }
  });
  pairs.to = call.to;
  take_pairs(pairs.to);
  pairs.scale = call.scale;
  in_two(pairs);
}

// Lines as complex ones in memory of their own, so many as fit; times chirps, and convolved, where the length has no steps.
template <class T>
void in_copies(const Fft& call) {
  const Held chirps = has_steps(call.n) ? nullptr : tables(Table::Chirps, call.dtype, call.n);
  const ptrdiff_t length = chirps ? chirps->first : call.n, lines = lines_in(call),
                  bytes = length * 2 * static_cast<ptrdiff_t>(sizeof(T));
  const T* chirp = chirps ? reinterpret_cast<const T*>(chirps->numbers.data()) : nullptr;
  const T* spectrum = chirps ? reinterpret_cast<const T*>(chirps->more.data()) : nullptr;
  const ptrdiff_t n = call.n, half = n / 2 + 1, given = call.kind == FftKind::ToReal && !call.whole ? half : n;
  const ptrdiff_t kept = call.kind == FftKind::FromReal && !call.whole ? half : n;
  const ptrdiff_t least = lanes_of(call.dtype) * get_num_threads();
  const ptrdiff_t together = std::clamp<ptrdiff_t>(std::max(kTogether / bytes, least), 1, lines);
  const Memory memory(together * bytes);
  for (ptrdiff_t first = 0; first < lines; first += together) {
    const ptrdiff_t count = std::min(together, lines - first);
    const auto line_at = [&](ptrdiff_t line) { return reinterpret_cast<T*>(memory.p + (line - first) * bytes); };
    each_line(call, first, first + count, [&](ptrdiff_t line, char* from, char*) {
      const Pointers<T> in(from, call.from);
      T* x = line_at(line);
      for (ptrdiff_t k = 0; k < given; k++) {
        x[2 * k] = in.re(k);
        x[2 * k + 1] = in.imaginary ? in.im(k) : 0;
      }
      if (call.kind == FftKind::ToReal && !call.whole) {
        const T edges = static_cast<T>(call.edges);
        x[0] *= edges;
        x[1] = 0;
        if (n % 2 == 0) {
          x[n] *= edges;
          x[n + 1] = 0;
        }
        for (ptrdiff_t k = half; k < n; k++) {
          x[2 * k] = x[2 * (n - k)];
          x[2 * k + 1] = -x[2 * (n - k) + 1];
        }
      }
      if (!chirp) return;
      for (ptrdiff_t k = 0; k < n; k++) multiply(x + 2 * k, chirp + 2 * k);
      std::fill(x + 2 * n, x + 2 * length, T(0));
    });
    Fft whole = adjacent(call.dtype, memory.p, length, count, true);
    if (!chirp) {
      whole.forward = call.forward;
      in_two(whole);
    } else {
      if (!fft(whole)) throw std::bad_alloc();
      parallel(count, std::max<ptrdiff_t>(kParallelWork / length, 1), [&](ptrdiff_t begin, ptrdiff_t end) {
        for (ptrdiff_t line = begin; line < end; line++)
          for (ptrdiff_t k = 0; k < length; k++) multiply(line_at(first + line) + 2 * k, spectrum + 2 * k);
      });
      whole.forward = false;
      if (!fft(whole)) throw std::bad_alloc();
    }
    const T scale = static_cast<T>(call.scale);
    each_line(call, first, first + count, [&](ptrdiff_t line, char*, char* to) {
      const Pointers<T> out(to, call.to);
      T* x = line_at(line);
      for (ptrdiff_t k = 0; chirp && k < n; k++) multiply(x + 2 * k, chirp + 2 * k);
      for (ptrdiff_t k = 0; k < kept; k++) {
        const T* value = x + 2 * (chirp && !call.forward && k ? n - k : k);  // a convolution gives the transform, not its inverse
        out.re(k) = value[0] * scale;
        if (out.imaginary) out.im(k) = value[1] * scale;
      }
      if (call.kind == FftKind::FromReal && call.edges != 1) {
        out.re(0) *= static_cast<T>(call.edges);
        if (n % 2 == 0) out.re(n / 2) *= static_cast<T>(call.edges);
      }
    });
  }
}

// Whether lines are cut in two: those that are long, and those that are few for the lanes.
bool cuts(const Fft& call, ptrdiff_t length) {
  if (length < kCutLines) return false;
  const ptrdiff_t cut = cut_of(length), lanes = lanes_of(call.dtype);
  if (length > kLongest) return cut > 1;
  const auto waste = [lanes](ptrdiff_t lines) {
    return static_cast<double>((lines + lanes - 1) / lanes * lanes) / static_cast<double>(lines);
  };
  return cut > 4 && 1.4 * (waste(cut) + waste(length / cut)) / 2 < waste(lines_in(call));
}

void transform(const Fft& call) {
  const bool pairs = call.kind != FftKind::Complex && call.n % 2 == 0;
  const ptrdiff_t length = pairs ? call.n / 2 : call.n;
  if (!has_steps(length)) {
    if (convolution_of(length) <= kLongest && 2 * lines_in(call) >= lanes_of(call.dtype)) return in_lanes(call);
    return float_or_double(call.dtype, [&]<class T>() { in_copies<T>(call); });
  }
  if (!cuts(call, length)) return in_lanes(call);
  if (call.kind == FftKind::Complex) return in_two(call);
  float_or_double(call.dtype, [&]<class T>() { pairs ? in_pairs<T>(call) : in_copies<T>(call); });
}

}  // namespace

bool fft(const Fft& call) {
  if (lines_in(call) == 0) return true;
  try {
    transform(call);
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

}  // namespace rushlight
