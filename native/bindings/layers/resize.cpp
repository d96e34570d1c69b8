// Resizing of images and borders made of their elements: along a dimension, each output is a weighted sum of a few inputs.
//
// `taps` has (axis, (places, weights)) for each dimension that changes: out[j] = sum over k of weights[k][j] * x[places[k][j]], where
// places are int64 and weights float64. Without weights an output is one element, and all dimensions are gone through at once; with
// weights they are taken one after the other, those that make the array smaller first. Halves are computed in float32.
#include "bindings/kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace rushlight {
namespace {

constexpr Py_ssize_t kLongRun = 32;  // elements that are worth a call of memcpy
constexpr Py_ssize_t kFewPlaces = 1 << 12;  // outputs of a volume whose places are written down

struct Tap {
  int axis = 0;
  Py_ssize_t count = 0, out = 0, in = 0;  // taps of an output, outputs, inputs
  const int64_t* places = nullptr;
  const double* weights = nullptr;
  // The longest part of the outputs whose places follow each other.
  Py_ssize_t run = 0, run_end = 0;

  void find_run() {
    for (Py_ssize_t j = 0, end; j < out; j = end) {
      for (end = j + 1; end < out && places[end] == places[end - 1] + 1;) end++;
      if (end - j > run_end - run) run = j, run_end = end;
    }
  }
};

using Taps = std::vector<Tap>;

// Reads the taps of an array of these sizes (of the input), which stay in `object`.
bool read_taps(PyObject* object, const Py_ssize_t* shape, int ndim, Taps& taps) {
  if (!PyTuple_Check(object)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++) {
    PyObject *pair, *places, *weights;
    TensorInfo at, by;
    Tap tap;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(object, i), "iO!", &tap.axis, &PyTuple_Type, &pair) ||
        !PyArg_ParseTuple(pair, "OO", &places, &weights))
      return false;
    if (tap.axis < 0 || tap.axis >= ndim || !read_tensor(places, at) || at.dtype != DType::I64 || at.ndim != 2 || !at.contiguous())
      return false;
    tap.count = at.shape[0], tap.out = at.shape[1], tap.in = shape[tap.axis];
    if (!tap.count) return false;
    tap.places = reinterpret_cast<const int64_t*>(at.data);
    if (weights != Py_None) {
      if (!read_tensor(weights, by) || by.dtype != DType::F64 || !by.contiguous() || !same_shape(at.tensor, by.tensor))
        return false;
      tap.weights = reinterpret_cast<const double*>(by.data);
    } else if (tap.count != 1) {
      return false;
    }
    for (Py_ssize_t j = 0; j < at.size(); j++)
      if (tap.places[j] < 0 || tap.places[j] >= tap.in) return fail(PyExc_IndexError, "a place is outside of the input");
    for (const Tap& other : taps)
      if (other.axis == tap.axis) return false;
    tap.find_run();
    taps.push_back(tap);
  }
  return true;
}

bool weighted(const Taps& taps) {
  return std::any_of(taps.begin(), taps.end(), [](const Tap& t) { return t.weights != nullptr; });
}

Py_ssize_t product(const Py_ssize_t* from, const Py_ssize_t* to) {
  Py_ssize_t n = 1;
  for (; from < to; ++from) n *= *from;
  return n;
}

// ---- without weights

// The dimensions before the last one with taps, as rows: where each row of outputs lies in the input. `outer` dimensions have none.
struct Rows {
  Py_ssize_t outer = 1, each = 1, inputs = 1;  // outer rows; rows, and elements of the input, of each
  std::vector<Py_ssize_t> offsets;  // in elements
  Tap last;
  std::vector<int64_t> together;  // places of `last` that are not the tap's
  Py_ssize_t inner = 1;  // elements behind the last dimension with taps

  Rows(Taps taps, const Py_ssize_t* in, const Py_ssize_t* out, int ndim) {
    std::sort(taps.begin(), taps.end(), [](const Tap& a, const Tap& b) { return a.axis < b.axis; });
    last = taps.back();
    inner = product(in + last.axis + 1, in + ndim);
    const int first = taps.front().axis;
    outer = product(in, in + first);
    inputs = product(in + first, in + ndim);
    offsets.assign(1, 0);
    size_t next = 0;
    for (int d = first; d < last.axis; d++) {
      const Tap* tap = taps[next].axis == d ? &taps[next++] : nullptr;
      const Py_ssize_t step = product(in + d + 1, in + ndim);
      std::vector<Py_ssize_t> more;
      more.reserve(offsets.size() * static_cast<size_t>(out[d]));
      for (Py_ssize_t offset : offsets)
        for (Py_ssize_t j = 0; j < out[d]; j++) more.push_back(offset + (tap ? tap->places[j] : j) * step);
      offsets.swap(more);
    }
    each = static_cast<Py_ssize_t>(offsets.size());
    if (inner > 1 || last.run_end - last.run >= kLongRun || each * last.out > kFewPlaces || outer == 1) return;
    // Many small volumes: the rows of one as a single row.
    for (Py_ssize_t offset : offsets)
      for (Py_ssize_t j = 0; j < last.out; j++) together.push_back(offset + last.places[j]);
    last.places = together.data();
    last.out *= each;
    last.run = last.run_end = 0;
    offsets.assign(1, 0);
    each = 1;
  }
  Rows(const Rows&) = delete;
  Py_ssize_t outputs() const { return last.out * inner; }  // of a row
};

template <class T>
void pick_row(const Tap& tap, Py_ssize_t inner, const T* x, T* out) {
  const int64_t* const places = tap.places;
  const auto some = [&](Py_ssize_t from, Py_ssize_t to) {
    if (inner == 1)
      for (Py_ssize_t j = from; j < to; j++) out[j] = x[places[j]];
    else
      for (Py_ssize_t j = from; j < to; j++)
        for (Py_ssize_t i = 0; i < inner; i++) out[j * inner + i] = x[places[j] * inner + i];
  };
  if (inner == 1 && tap.run_end - tap.run < kLongRun) return some(0, tap.out);
  some(0, tap.run);
  std::memcpy(out + tap.run * inner, x + tap.places[tap.run] * inner,
              static_cast<size_t>((tap.run_end - tap.run) * inner) * sizeof(T));
  some(tap.run_end, tap.out);
}

template <class T>
void add_row(const Tap& tap, Py_ssize_t inner, const T* g, T* sums) {
  const auto some = [&](Py_ssize_t from, Py_ssize_t to) {
    for (Py_ssize_t j = from; j < to; j++)
      for (Py_ssize_t i = 0; i < inner; i++) sums[tap.places[j] * inner + i] += g[j * inner + i];
  };
  if (inner == 1 && tap.run_end - tap.run < kLongRun) {
    const int64_t* places = tap.places;
    for (Py_ssize_t j = 0, n = tap.out; j < n; j++) sums[places[j]] += g[j];
    return;
  }
  some(0, tap.run);
  T* const to = sums + tap.places[tap.run] * inner;
  const T* const from = g + tap.run * inner;
  for (Py_ssize_t i = 0; i < (tap.run_end - tap.run) * inner; i++) to[i] += from[i];
  some(tap.run_end, tap.out);
}

// f(outer row, row of it) for all of them, outer rows on threads.
template <class F>
void each_row(const Rows& rows, const F& f) {
  parallel_by(rows.outer, rows.each * rows.outputs(), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t o = begin; o < end; o++)
      for (Py_ssize_t r = 0; r < rows.each; r++) f(o, r);
  });
}

template <class T>
void pick(const Rows& rows, const char* x, char* out) {
  each_row(rows, [&](Py_ssize_t o, Py_ssize_t r) {
    pick_row(rows.last, rows.inner, reinterpret_cast<const T*>(x) + o * rows.inputs + rows.offsets[r],
             reinterpret_cast<T*>(out) + (o * rows.each + r) * rows.outputs());
  });
}

struct Sixteen {
  uint64_t low, high;
};
void pick(Py_ssize_t item, const Rows& rows, const char* x, char* out) {
  switch (item) {
    case 1: return pick<uint8_t>(rows, x, out);
    case 2: return pick<uint16_t>(rows, x, out);
    case 4: return pick<uint32_t>(rows, x, out);
    case 8: return pick<uint64_t>(rows, x, out);
    default: return pick<Sixteen>(rows, x, out);
  }
}

// ---- with weights

// One dimension of a contiguous array (outer, in, inner); from n1 of its elements to n2: `back` is the transpose, which adds to zeros.
struct Pass {
  const Tap* tap;
  Py_ssize_t outer, inner;
  bool back;
  Py_ssize_t wanted() const { return back ? tap->in : tap->out; }
  Py_ssize_t given() const { return back ? tap->out : tap->in; }
};

template <class T, int kCount>
void sum_row(const Tap& tap, const T* weights, const T* x, T* out) {
  const int64_t* places = tap.places;
  const Py_ssize_t n = tap.out, count = kCount ? kCount : tap.count;
  for (Py_ssize_t j = 0; j < n; j++) {
    T sum = x[places[j]] * weights[j];
    for (Py_ssize_t k = 1; k < count; k++) sum += x[places[k * n + j]] * weights[k * n + j];
    out[j] = sum;
  }
}

// The outputs that read each input, one after the other.
template <class T>
struct Readers {
  std::vector<Py_ssize_t> begins, outputs;
  std::vector<T> weights;

  Readers(const Tap& tap, const T* given) : begins(static_cast<size_t>(tap.in + 1)) {
    const Py_ssize_t n = tap.count * tap.out;
    outputs.resize(static_cast<size_t>(n));
    weights.resize(static_cast<size_t>(n));
    for (Py_ssize_t j = 0; j < n; j++) begins[tap.places[j] + 1]++;
    for (Py_ssize_t i = 0; i < tap.in; i++) begins[i + 1] += begins[i];
    std::vector<Py_ssize_t> next(begins.begin(), begins.end() - 1);
    for (Py_ssize_t j = 0; j < n; j++) {
      const Py_ssize_t at = next[tap.places[j]]++;
      outputs[at] = j % tap.out;
      weights[at] = given[j];
    }
  }
  void sum_row(const T* g, T* out) const {
    for (size_t i = 0; i + 1 < begins.size(); i++) {
      T sum = 0;
      for (Py_ssize_t e = begins[i]; e < begins[i + 1]; e++) sum += g[outputs[e]] * weights[e];
      out[i] = sum;
    }
  }
};

template <class T>
void run_pass(const Pass& pass, const T* weights, const T* x, T* out) {
  const Tap& tap = *pass.tap;
  const Py_ssize_t inner = pass.inner, n = tap.out, given = pass.given() * inner, wanted = pass.wanted() * inner;
  const auto each = [&](const auto& row) {
    parallel_by(pass.outer, std::max(given, wanted) * tap.count, [&](ptrdiff_t begin, ptrdiff_t end) {
      for (ptrdiff_t o = begin; o < end; o++) row(x + o * given, out + o * wanted);
    });
  };
  if (inner == 1 && pass.back) {
    const Readers<T> readers(tap, weights);
    return each([&](const T* from, T* to) { readers.sum_row(from, to); });
  }
  if (inner == 1 && tap.count == 2) return each([&](const T* from, T* to) { sum_row<T, 2>(tap, weights, from, to); });
  if (inner == 1 && tap.count == 4) return each([&](const T* from, T* to) { sum_row<T, 4>(tap, weights, from, to); });
  if (inner == 1) return each([&](const T* from, T* to) { sum_row<T, 0>(tap, weights, from, to); });
  each([&](const T* from, T* to) {
    for (Py_ssize_t j = 0; j < n; j++) {
      Py_ssize_t k = 0;
      if (!pass.back) {  // the first two taps make the output
        const T* a = from + tap.places[j] * inner;
        const T* b = from + tap.places[(tap.count > 1 ? n : 0) + j] * inner;
        const T by = weights[j], and_by = tap.count > 1 ? weights[n + j] : T(0);
        T* made = to + j * inner;
        if (tap.count > 1)
          for (Py_ssize_t i = 0; i < inner; i++) made[i] = a[i] * by + b[i] * and_by;
        else
          for (Py_ssize_t i = 0; i < inner; i++) made[i] = a[i] * by;
        k = std::min<Py_ssize_t>(tap.count, 2);
      }
      for (; k < tap.count; k++) {
        const T by = weights[k * n + j];
        const T* a = from + (pass.back ? j : tap.places[k * n + j]) * inner;
        T* b = to + (pass.back ? tap.places[k * n + j] : j) * inner;
        for (Py_ssize_t i = 0; i < inner; i++) b[i] += a[i] * by;
      }
    }
  });
}

// All passes over an array of F32 or F64, which is contiguous. `shape` becomes that of the result.
Ref run_passes(const Taps& taps, Ref x, Py_ssize_t* shape, int ndim, bool back) {
  std::vector<const Tap*> order;
  for (const Tap& tap : taps) order.push_back(&tap);
  const auto growth = [back](const Tap* t) {
    const double ratio = static_cast<double>(t->out) / static_cast<double>(std::max<Py_ssize_t>(t->in, 1));
    return back ? -ratio : ratio;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const Tap* a, const Tap* b) { return growth(a) != growth(b) ? growth(a) < growth(b) : a->axis < b->axis; });
  const DType type = as_tensor(x)->dtype;
  for (const Tap* tap : order) {
    const Pass pass{tap, product(shape, shape + tap->axis), product(shape + tap->axis + 1, shape + ndim), back};
    shape[tap->axis] = pass.wanted();
    Ref out = back ? zeros_ref(type, ndim, shape, DeviceType::Cpu) : new_ref(type, ndim, shape, DeviceType::Cpu);
    if (!as_tensor(out)->numel() || !as_tensor(x)->numel()) {
      x = std::move(out);
      continue;
    }
    const char* from = data_of(x);
    char* to = data_of(out);
    {
      Unlocked unlocked(as_tensor(out)->nbytes() > kReleaseGilBytes, x, out);
      const auto run = [&]<class T>(const T* in, T* made) {
        std::vector<T> weights(static_cast<size_t>(tap->count * tap->out), T(1));
        if (tap->weights) std::copy_n(tap->weights, weights.size(), weights.begin());
        run_pass(pass, weights.data(), in, made);
      };
      by_type(type, run, from, to);
    }
    x = std::move(out);
  }
  return x;
}

Ref resample(const TensorInfo& x, Any taps_given) {
  Taps taps;
  if (!read_taps(taps_given, x.shape, x.ndim, taps) || taps.empty()) return PyErr_Clear(), Ref();
  Py_ssize_t shape[kMaxDims];
  std::copy_n(x.shape, x.ndim, shape);
  const bool sums = weighted(taps);
  if (sums && !x.is_float_or_half()) return {};
  const DType wanted = x.dtype;
  const int ndim = x.ndim;
  if (sums && !is_meta(x))
    return rounded(run_passes(taps, contiguous_as(x.tensor, computed_in(wanted)), shape, ndim, false), wanted);
  for (const Tap& tap : taps) shape[tap.axis] = tap.out;
  Ref out = new_ref(wanted, ndim, shape, device_of(x));
  if (!has_memory(out) || !as_tensor(out)->numel()) return out;
  const Rows rows(taps, x.shape, shape, ndim);
  Ref in = contiguous(x.tensor);
  const char* from = data_of(in);
  char* to = data_of(out);
  Unlocked unlocked(as_tensor(out)->nbytes() > kReleaseGilBytes, in, out);
  pick(item_size(wanted), rows, from, to);
  return out;
}

// The transpose: g of the sizes of the outputs, the result of those of the input.
Ref resample_backward(const TensorInfo& g, Any taps_given, const Shape& x_shape) {
  Taps taps;
  if (x_shape.n != g.ndim || !read_taps(taps_given, x_shape.at, g.ndim, taps) || taps.empty()) return PyErr_Clear(), Ref();
  for (int d = 0; d < g.ndim; d++) {
    Py_ssize_t size = x_shape.at[d];
    for (const Tap& tap : taps) size = tap.axis == d ? tap.out : size;
    if (g.shape[d] != size) return {};
  }
  const bool complex = g.dtype == DType::C64 || g.dtype == DType::C128, sums = weighted(taps);
  if (!g.is_float_or_half() && (sums || !complex)) return {};
  const DType wanted = g.dtype, type = computed_in(wanted);
  const int ndim = g.ndim;
  if (is_meta(g)) return new_ref(wanted, ndim, x_shape.at, DeviceType::Meta);
  Ref in = contiguous_as(g.tensor, type);
  if (sums) {
    Py_ssize_t shape[kMaxDims];
    std::copy_n(as_tensor(in)->sizes(), ndim, shape);
    return rounded(run_passes(taps, std::move(in), shape, ndim, true), wanted);
  }
  Ref out = zeros_ref(type, ndim, x_shape.at, DeviceType::Cpu);
  if (!as_tensor(in)->numel() || !as_tensor(out)->numel()) return rounded(std::move(out), wanted);
  Rows rows(taps, x_shape.at, as_tensor(in)->sizes(), ndim);
  if (complex) {  // two numbers an element
    rows.inner *= 2, rows.inputs *= 2;
    for (Py_ssize_t& offset : rows.offsets) offset *= 2;
  }
  const char* from = data_of(in);
  char* to = data_of(out);
  {
    Unlocked unlocked(as_tensor(out)->nbytes() > kReleaseGilBytes, in, out);
    const auto add = [&]<class T>(const T* given, T* made) {
      each_row(rows, [&](Py_ssize_t o, Py_ssize_t r) {
        add_row(rows.last, rows.inner, given + (o * rows.each + r) * rows.outputs(), made + o * rows.inputs + rows.offsets[r]);
      });
    };
    by_type(type == DType::C64 ? DType::F32 : type, add, from, to);
  }
  return rounded(std::move(out), wanted);
}

// ---- a border of one value

// `pad`: widths of the last dimension before and behind, of the one before it, ...; negative ones cut.
Ref constant_pad(const TensorInfo& x, const Sizes& pad, Any value) {
  const int ndim = x.ndim, count = pad.n / 2;
  double number;
  if (pad.n % 2 || count > ndim || stored_only(x.dtype) || PyComplex_Check(value.object)) return {};
  if (!double_argument(value, number)) return PyErr_Clear(), Ref();
  if (number != 0 && (!holds(x.dtype, number) || (category_of(x.dtype) == Category::Integer && std::abs(number) > 0x1p53)))
    return {};
  Py_ssize_t shape[kMaxDims], there[kMaxDims], kept[kMaxDims], from = 0, to = 0;
  std::copy_n(x.shape, ndim, shape);
  std::copy_n(x.shape, ndim, kept);
  std::fill_n(there, ndim, 0);
  for (int i = 0; i < count; i++) {
    const int d = ndim - 1 - i;
    const Py_ssize_t before = pad.at[2 * i], after = pad.at[2 * i + 1];
    constexpr Py_ssize_t kMost = PY_SSIZE_T_MAX / 8;
    if (std::min(before, after) < -kMost || std::max(before, after) > kMost) return {};
    shape[d] += before + after;
    kept[d] += std::min<Py_ssize_t>(before, 0) + std::min<Py_ssize_t>(after, 0);
    if (shape[d] < 0 || kept[d] < 0) return {};
    there[d] = std::max<Py_ssize_t>(before, 0);
    from += std::max<Py_ssize_t>(-before, 0) * x.strides[d];
  }
  Ref out = number == 0 ? zeros_ref(x.dtype, ndim, shape, device_of(x)) : new_ref(x.dtype, ndim, shape, device_of(x));
  if (!has_memory(out)) return out;
  if (number != 0) {
    Ref one = new_ref(DType::F64, 0, nullptr, DeviceType::Cpu);
    *data_of<double>(one) = number;
    copy_values(out, as_tensor(rounded(std::move(one), x.dtype)));
  }
  const TensorInfo made = info_of(out);
  for (int d = 0; d < ndim; d++) to += there[d] * made.strides[d];
  Layout part, source;
  part.ndim = source.ndim = ndim;
  std::copy_n(kept, ndim, part.shape);
  std::copy_n(kept, ndim, source.shape);
  std::copy_n(made.strides, ndim, part.strides);
  std::copy_n(x.strides, ndim, source.strides);
  part.offset = to, source.offset = from;
  copy_values(make_view(made, part), as_tensor(make_view(x, source)));
  return out;
}

const KernelRows rows{
    long_kernel<constant_pad, "constant_pad(x, pad, value): a border of one value; a negative width cuts">(),
    long_kernel<resample, "resample(x, taps): weighted sums of a few elements along dimensions">(),
    long_kernel<resample_backward, "resample_backward(g, taps, x_shape): the transpose">(),
};

}  // namespace

}  // namespace rushlight
