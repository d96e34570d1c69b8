// Recurrent layers: a call for all steps of a layer in a direction, and the way back.
//
// Forward: the input's part of all gates is one product; then each step adds the state's part (by the packed weight) and runs the
// gates. Backward: the steps in the other order give the gradients of the sums in the gates, and hand the state's gradient on;
// from those the gradients of both weights, the input and the biases are one product, or sum, over all steps each.
//
// Sequences do not meet: threads take some of them each through all steps, and need not wait for each other. Packed sequences
// (of different lengths, longest first) lie step by step, each step with the rows of those that are still going.
#include <cstring>
#include <vector>

#include "bindings/kernel.h"
#include "kernels/gemm.h"

namespace rushlight {
namespace {

constexpr Py_ssize_t kParallelWork = 1 << 20;  // multiplications from which sequences are shared out among threads
constexpr Py_ssize_t kReleaseWork = 1 << 17;   // and from which other Python threads may run
constexpr Py_ssize_t kRowsTogether = 8;        // fewer in a thread's share would leave the adders idle
// With fewer steps packing the weight costs more than it saves. Few rows read an unpacked weight as
// fast: packing needs more steps, and a weight that fits into a cache.
constexpr Py_ssize_t kStepsPacked = 3, kFewRowsStepsPacked = 8;
constexpr Py_ssize_t kFewRows = 2, kCacheBytes = 1 << 20;
constexpr Py_ssize_t kMostRows = 0x7fffffff;  // what a BLAS counts with

// The layer of a call: types, sizes, and the order of the steps.
struct Layer {
  Cell cell;
  DType stored, type;  // of the arguments; in which it is computed
  DeviceType device;
  bool reverse, packed;
  Py_ssize_t steps, batch, rows, inputs, units;
  Py_ssize_t gates, slots;  // columns of the weights; what a row of the gates has (dense.h)
  std::vector<Py_ssize_t> begins;  // where the rows of each step begin, and where the last step's end
  ptrdiff_t item() const { return item_size(type); }
  Py_ssize_t size(Py_ssize_t t) const { return begins[t + 1] - begins[t]; }
  // The step that runs as number i, and how many of its rows, at most `end`, go on from the step before.
  Py_ssize_t step(Py_ssize_t i) const { return reverse ? steps - 1 - i : i; }
  Py_ssize_t going_on(Py_ssize_t i, Py_ssize_t end) const { return i == 0 ? 0 : end < size(step(i - 1)) ? end : size(step(i - 1)); }
  // Where in a row of the gates those begin that the state leads to.
  Py_ssize_t state_slot() const { return cell == Cell::Gru ? units : 0; }
  Py_ssize_t saved_units() const { return cell == Cell::Lstm || cell == Cell::Gru ? 5 * units : units; }
  Py_ssize_t work() const { return rows * gates * (units + inputs); }
};

bool read_sizes(PyObject* object, Layer& l) {
  l.begins.assign(1, 0);
  if (!l.packed) {
    for (Py_ssize_t t = 1; t <= l.steps; t++) l.begins.push_back(t * l.batch);
    return true;
  }
  Ref items = held_items(object, "sizes must be a sequence of ints or None");
  if (!items) return false;
  l.steps = PyTuple_GET_SIZE(items.get());
  Py_ssize_t before = l.batch;
  for (Py_ssize_t t = 0; t < l.steps; t++) {
    const Py_ssize_t size = PyNumber_AsSsize_t(PyTuple_GET_ITEM(items.get(), t), PyExc_OverflowError);
    if (size == -1 && PyErr_Occurred()) return false;
    if (size < 1 || size > before || (t == 0 && size != l.batch)) return false;
    before = size;
    l.begins.push_back(l.begins.back() + size);
  }
  return l.steps > 0 && l.begins.back() == l.rows;
}

bool is_matrix(const TensorInfo& a, DType type, Py_ssize_t rows, Py_ssize_t columns) {
  return a.dtype == type && a.ndim == 2 && a.shape[0] == rows && a.shape[1] == columns;
}

struct Arguments {
  const TensorInfo &x, &h, &c, &w_ih, &w_hh;
};

// Arguments and how to go over them. False, with or without an exception, where there is no kernel.
bool read_layer(Cell cell, const Arguments& a, bool reverse, PyObject* sizes, Layer& l) {
  const bool has_c = a.c.tensor;
  if (has_c != (cell == Cell::Lstm)) return false;
  l.reverse = reverse;
  l.cell = cell;
  l.stored = a.x.dtype;
  l.type = computed_in(l.stored);
  l.packed = sizes != Py_None;
  if ((l.type != DType::F32 && l.type != DType::F64) || a.x.ndim != (l.packed ? 2 : 3) || a.h.ndim != 2 || a.w_ih.ndim != 2)
    return false;
  l.steps = a.x.shape[0];
  l.batch = a.h.shape[0];
  l.inputs = a.x.shape[a.x.ndim - 1];
  l.units = a.h.shape[1];
  l.rows = l.packed ? a.x.shape[0] : a.x.shape[0] * a.x.shape[1];
  l.gates = (cell == Cell::Lstm ? 4 : cell == Cell::Gru ? 3 : 1) * l.units;
  l.slots = kCellSlots[static_cast<int>(cell)] * l.units;
  if (l.steps < 1 || l.units < 1 || l.rows > kMostRows || l.slots > kMostRows || l.inputs > kMostRows) return false;
  if (!l.packed && a.x.shape[1] != l.batch) return false;
  if (!is_matrix(a.h, l.stored, l.batch, l.units) || (has_c && !is_matrix(a.c, l.stored, l.batch, l.units))) return false;
  if (!is_matrix(a.w_ih, l.stored, l.gates, l.inputs) || !is_matrix(a.w_hh, l.stored, l.gates, l.units)) return false;
  l.device = device_of(a.x, a.h, a.c, a.w_ih, a.w_hh);
  return read_sizes(sizes, l);
}

// None, or a vector of as many elements as the weights have rows; false with or without an exception.
bool read_bias(const TensorInfo& a, const Layer& l, Ref& owner) {
  if (!a.tensor) return true;
  if (a.dtype != l.stored || a.ndim != 1 || a.shape[0] != l.gates) return false;
  owner = contiguous_as(a.tensor, l.type);
  return true;
}

// The biases of the slots.
template <class T>
void slot_bias(const Layer& l, const T* ih, const T* hh, T* out) {
  const auto of = [](const T* bias, Py_ssize_t i) { return bias ? bias[i] : T(0); };
  T* both = out + l.state_slot();
  for (Py_ssize_t i = 0; i < l.gates; i++) both[i] = of(ih, i) + of(hh, i);
  for (Py_ssize_t i = 0; l.cell == Cell::Gru && i < l.units; i++) {
    out[i] = of(ih, 2 * l.units + i);
    out[3 * l.units + i] = of(hh, 2 * l.units + i);
  }
}

Ref vector_of(DType type, Py_ssize_t n, DeviceType device) { return new_ref(type, 1, &n, device); }
Ref matrix_of(DType type, Py_ssize_t rows, Py_ssize_t columns, DeviceType device) {
  const Py_ssize_t shape[2] = {rows, columns};
  return new_ref(type, 2, shape, device);
}

// Sequences a thread takes at least. Packed ones are of different lengths, so that smaller shares are fairer.
Py_ssize_t share_of(const Layer& l) {
  const Py_ssize_t threads = get_num_threads(), even = (l.batch + threads - 1) / threads;
  if (l.rows * l.gates * l.units < kParallelWork) return l.batch;
  const Py_ssize_t share = l.packed ? kRowsTogether : even;
  return share > kRowsTogether ? share : kRowsTogether;
}

// c += a @ w (depth x columns) for some rows: by panels of w where there are any.
struct StateProduct {
  const Layer& l;
  MatrixView w;
  Py_ssize_t depth, columns;
  Ref panels;

  void prepare() {
    const bool few = l.batch <= kFewRows, large = l.gates * l.units * l.item() >= kCacheBytes;
    if (l.device == DeviceType::Meta || (few && large) || l.steps < (few ? kFewRowsStepsPacked : kStepsPacked)) return;
    panels = vector_of(l.type, dense_kernels().packed_size(l.type, depth, columns), l.device);
  }
  void pack() const {
    if (panels) dense_kernels().pack_panels(l.type, depth, columns, w, data_of(panels));
  }
  void add(Py_ssize_t rows, const char* a, Py_ssize_t a_row, char* c, Py_ssize_t ldc) const {
    if (rows <= 0) return;
    if (panels) dense_kernels().add_product(l.type, rows, columns, depth, a, a_row, data_of(panels), c, ldc);
    else gemm(l.type, rows, columns, depth, 1.0, {a, a_row, 1}, w, nullptr, 1.0, c, false, ldc);
  }
};

// --- forward ---

struct Forward {
  const Layer& l;
  const StateProduct& product;
  const char *h0, *c0, *bias;
  char *gates, *c;  // c: an Lstm's
  char* h;  // the states of all steps: what is saved of them, or the output
  char *out, *last_h, *last_c;

  // The sequences [from, to) through all steps.
  void run(Py_ssize_t from, Py_ssize_t to) const {
    for (Py_ssize_t i = 0; i < l.steps; i++) {
      const Py_ssize_t t = l.step(i), end = to < l.size(t) ? to : l.size(t);
      if (end <= from) continue;
      const Py_ssize_t middle = l.going_on(i, end) > from ? l.going_on(i, end) : from;
      if (from < middle) rows(t, from, middle, h, c, l.begins[l.step(i - (i > 0))] + from);
      if (middle < end) rows(t, middle, end, h0, c0, middle);
      finish(t, from, end);
    }
  }

 private:
  // Rows [from, to) of step t, whose state before stands from row `before` of h_before and c_before on.
  void rows(Py_ssize_t t, Py_ssize_t from, Py_ssize_t to, const char* h_before, const char* c_before, Py_ssize_t before) const {
    const ptrdiff_t item = l.item(), row = l.units * item, at = l.begins[t] + from;
    char* g = gates + at * l.slots * item;
    for (Py_ssize_t r = 0; l.cell == Cell::Gru && r < to - from; r++) std::memset(g + (r * 4 + 3) * row, 0, row);
    const char* state = h_before + before * row;
    product.add(to - from, state, l.units, g + l.state_slot() * item, l.slots);
    const bool lstm = l.cell == Cell::Lstm;
    dense_kernels().cell_step(
        l.cell, l.type,
        {to - from, l.units, bias, g, lstm ? c_before + before * row : state, lstm ? c + at * row : nullptr, h + at * row});
  }
  // Step t is done: copies what is wanted of it.
  void finish(Py_ssize_t t, Py_ssize_t from, Py_ssize_t to) const {
    const ptrdiff_t row = l.units * l.item(), at = l.begins[t] * row;
    if (out != h) std::memcpy(out + at + from * row, h + at + from * row, (to - from) * row);
    Py_ssize_t first = l.reverse ? (t > 0 ? to : 0) : (t + 1 < l.steps ? l.size(t + 1) : 0);  // the first row that ends here
    if (first < from) first = from;
    if (first >= to) return;
    std::memcpy(last_h + first * row, h + at + first * row, (to - first) * row);
    if (l.cell == Cell::Lstm) std::memcpy(last_c + first * row, c + at + first * row, (to - first) * row);
  }
};

// (output, last h, last c or None, saved): saved are the gates of all steps as bytes, then an Lstm's cells or the states.
Gradients forward(Cell cell, const Arguments& a, const TensorInfo& bias_ih, const TensorInfo& bias_hh, bool reverse,
                  PyObject* sizes) {
  Layer l;
  Ref b_ih, b_hh;
  if (!read_layer(cell, a, reverse, sizes, l) || !read_bias(bias_ih, l, b_ih) || !read_bias(bias_hh, l, b_hh)) return {};
  const bool lstm = cell == Cell::Lstm, meta = l.device == DeviceType::Meta;
  const ptrdiff_t item = l.item();
  Py_ssize_t shape[3] = {l.steps, l.batch, l.units};
  if (l.packed) shape[0] = l.rows, shape[1] = l.units;
  Ref x = contiguous_as(a.x.tensor, l.type), h0 = contiguous_as(a.h.tensor, l.type);
  Ref w_ih = contiguous_as(a.w_ih.tensor, l.type), w_hh = contiguous_as(a.w_hh.tensor, l.type);
  Ref c0 = lstm ? contiguous_as(a.c.tensor, l.type) : Ref();
  Ref out = new_ref(l.type, l.packed ? 2 : 3, shape, l.device), bias = vector_of(l.type, l.slots, l.device);
  Ref saved = matrix_of(DType::U8, l.rows, l.saved_units() * item, l.device);
  Ref last_h = matrix_of(l.type, l.batch, l.units, l.device), last_c;
  if (lstm) last_c = matrix_of(l.type, l.batch, l.units, l.device);
  StateProduct product{l, {data_of(w_hh), 1, l.units}, l.units, l.gates, Ref()};
  product.prepare();
  if (!meta) {
    Unlocked unlocked(l.work() > kReleaseWork, x, h0, c0, w_ih, w_hh, b_ih, b_hh, out, saved, bias, last_h, last_c, product.panels);
    if (l.type == DType::F32)
      slot_bias(l, b_ih ? data_of<float>(b_ih) : nullptr, b_hh ? data_of<float>(b_hh) : nullptr, data_of<float>(bias));
    else slot_bias(l, b_ih ? data_of<double>(b_ih) : nullptr, b_hh ? data_of<double>(b_hh) : nullptr, data_of<double>(bias));
    product.pack();
    char* gates = data_of(saved);
    char* behind = gates + l.rows * l.slots * item;
    const char* w = data_of(w_ih);
    const auto input_part = [&](Py_ssize_t first, Py_ssize_t n, Py_ssize_t slot) {
      gemm(l.type, l.rows, n, l.inputs, 1.0, {data_of(x), l.inputs, 1}, {w + first * l.inputs * item, 1, l.inputs}, nullptr, 0.0,
           gates + slot * item, true, l.slots);
    };
    if (cell == Cell::Gru) {
      input_part(0, 2 * l.units, l.units);
      input_part(2 * l.units, l.units, 0);
    } else {
      input_part(0, l.gates, 0);
    }
    const Forward pass{l,
                       product,
                       data_of(h0),
                       lstm ? data_of(c0) : nullptr,
                       data_of(bias),
                       gates,
                       lstm ? behind : nullptr,
                       lstm                ? data_of(out)
                       : cell == Cell::Gru ? behind
                                           : gates,
                       data_of(out),
                       data_of(last_h),
                       lstm ? data_of(last_c) : nullptr};
    parallel(l.batch, share_of(l), [&](ptrdiff_t from, ptrdiff_t to) { pass.run(from, to); });
  }
  for (Ref* r : {&out, &last_h, &last_c}) *r = rounded(std::move(*r), l.stored);
  return gradients_of({&out, &last_h, &last_c, &saved});
}

// --- backward ---

struct Backward {
  const Layer& l;
  const StateProduct& product;
  const char *h0, *c0, *gates, *c, *h;
  const char* grad;  // of the output, or null
  bool need_state;  // whether the gradient of h0 is wanted
  char *dh, *dc, *d;

  void run(Py_ssize_t from, Py_ssize_t to) const {
    const ptrdiff_t item = l.item(), row = l.units * item;
    for (Py_ssize_t i = l.steps - 1; i >= 0; i--) {
      const Py_ssize_t t = l.step(i), end = to < l.size(t) ? to : l.size(t);
      if (end <= from) continue;
      const Py_ssize_t middle = l.going_on(i, end) > from ? l.going_on(i, end) : from;
      if (from < middle) rows(t, from, middle, h, c, l.begins[l.step(i - (i > 0))] + from);
      if (middle < end) rows(t, middle, end, h0, c0, middle);
      product.add((need_state ? end : middle) - from, d + ((l.begins[t] + from) * l.slots + l.state_slot()) * item, l.slots,
                  dh + from * row, l.units);
    }
  }

 private:
  void rows(Py_ssize_t t, Py_ssize_t from, Py_ssize_t to, const char* h_before, const char* c_before, Py_ssize_t before) const {
    const ptrdiff_t row = l.units * l.item(), at = l.begins[t] + from;
    const bool lstm = l.cell == Cell::Lstm;
    dense_kernels().cell_step_back(
        l.cell, l.type,
        {to - from, l.units, gates + at * l.slots * l.item(), (lstm ? c_before : h_before) + before * row,
         lstm ? c + at * row : nullptr, grad ? grad + at * row : nullptr, dh + from * row, lstm ? dc + from * row : nullptr,
         d + at * l.slots * l.item()});
  }
};

// out (gates x columns) = the input's part (of a Gru) or the state's part of d, transposed, by a matrix of as many rows.
void weight_gradient(const Layer& l, bool of_input, const char* d, Py_ssize_t rows, const char* by, Py_ssize_t columns, bool add,
                     char* out) {
  const ptrdiff_t item = l.item();
  const auto part = [&](Py_ssize_t slot, Py_ssize_t n, Py_ssize_t first) {
    gemm(l.type, n, columns, rows, 1.0, {d + slot * item, 1, l.slots}, {by, columns, 1}, nullptr, add ? 1.0 : 0.0,
         out + first * columns * item, true);
  };
  if (!of_input || l.cell != Cell::Gru) return part(l.state_slot(), l.gates, 0);
  part(l.units, 2 * l.units, 0);
  part(0, l.units, 2 * l.units);
}

// The states before all rows.
void states_before(const Layer& l, const char* h, const char* h0, char* out) {
  const ptrdiff_t row = l.units * l.item();
  for (Py_ssize_t i = 0; i < l.steps; i++) {
    const Py_ssize_t t = l.step(i), size = l.size(t), middle = l.going_on(i, size);
    char* to = out + l.begins[t] * row;
    if (middle) std::memcpy(to, h + l.begins[l.step(i - 1)] * row, middle * row);
    std::memcpy(to + middle * row, h0 + middle * row, (size - middle) * row);
  }
}

// The gradient of the recurrent weight.
void state_weight_gradient(const Layer& l, const char* d, const char* h, const char* h0, char* before, char* out) {
  const ptrdiff_t item = l.item();
  if (before) {
    states_before(l, h, h0, before);
    weight_gradient(l, false, d, l.rows, before, l.units, false, out);
    return;
  }
  // All steps but the first go by the states as they lie, the first by h0.
  const Py_ssize_t others = l.rows - l.batch;
  const char* first = d + (l.reverse ? others * l.slots * item : 0);
  if (others)
    weight_gradient(l, false, d + (l.reverse ? 0 : l.batch * l.slots * item), others,
                    h + (l.reverse ? l.batch * l.units * item : 0), l.units, false, out);
  weight_gradient(l, false, first, l.batch, h0, l.units, others > 0, out);
}

// A new tensor of the state's shape: a given gradient, or zeros. False where there is no kernel for it.
bool start_from(const TensorInfo& g, const Layer& l, Ref& out) {
  if (!g.tensor) {
    const Py_ssize_t shape[2] = {l.batch, l.units};
    out = zeros_ref(l.type, 2, shape, l.device);
    return true;
  }
  if (!is_matrix(g, l.stored, l.batch, l.units)) return false;
  out = matrix_of(l.type, l.batch, l.units, l.device);
  if (l.device != DeviceType::Meta) copy_values(out, g.tensor);
  return true;
}

// The gradients of (input, h0, c0, w_ih, w_hh, b_ih, b_hh), from those of the output, the last h and the last c; states: an Lstm's
// output.
Gradients backward(Cell cell, const TensorInfo& g, const TensorInfo& g_h, const TensorInfo& g_c, const Arguments& a,
                   const TensorInfo& states, const TensorInfo& saved, bool reverse, PyObject* sizes, const Needs<7>& needs) {
  Layer l;
  if (!read_layer(cell, a, reverse, sizes, l)) return {};
  const bool lstm = cell == Cell::Lstm, has_g = g.tensor;
  const ptrdiff_t item = l.item();
  const auto is_output = [&](const TensorInfo& t) {
    if (t.dtype != l.stored || t.ndim != a.x.ndim) return false;
    for (int i = 0; i + 1 < t.ndim; i++)
      if (t.shape[i] != a.x.shape[i]) return false;
    return t.shape[t.ndim - 1] == l.units;
  };
  if (has_g && !is_output(g)) return {};
  if (lstm && (!states.tensor || !is_output(states))) return {};
  if (!is_matrix(saved, DType::U8, l.rows, l.saved_units() * item)) return {};
  if (reinterpret_cast<uintptr_t>(saved.data) % item) return {};
  Ref x = contiguous_as(a.x.tensor, l.type), h0 = contiguous_as(a.h.tensor, l.type);
  Ref w_ih = contiguous_as(a.w_ih.tensor, l.type), w_hh = contiguous_as(a.w_hh.tensor, l.type);
  Ref kept = contiguous(saved.tensor);
  Ref c0 = lstm ? contiguous_as(a.c.tensor, l.type) : Ref(), out = lstm ? contiguous_as(states.tensor, l.type) : Ref();
  Ref grad = has_g ? contiguous_as(g.tensor, l.type) : Ref();
  Ref gx, gh, gc, gw_ih, gw_hh, gb_ih, gb_hh, d, sums, before;
  if (!start_from(g_h, l, gh) || (lstm && !start_from(g_c, l, gc))) return {};
  const bool need_sums = needs[5] || needs[6];
  d = matrix_of(l.type, l.rows, l.slots, l.device);
  if (needs[0]) gx = new_ref(l.type, a.x.ndim, as_tensor(x)->sizes(), l.device);
  if (needs[3]) gw_ih = matrix_of(l.type, l.gates, l.inputs, l.device);
  if (needs[4]) gw_hh = matrix_of(l.type, l.gates, l.units, l.device);
  if (needs[5]) gb_ih = vector_of(l.type, l.gates, l.device);
  if (needs[6]) gb_hh = vector_of(l.type, l.gates, l.device);
  if (need_sums) sums = vector_of(l.type, l.slots, l.device);
  if (l.packed && needs[4]) before = matrix_of(l.type, l.rows, l.units, l.device);
  StateProduct product{l, {data_of(w_hh), l.units, 1}, l.gates, l.units, Ref()};
  product.prepare();
  if (l.device != DeviceType::Meta) {
    Unlocked unlocked(l.work() > kReleaseWork, x, h0, c0, w_ih, w_hh, kept, out, grad, gx, gh, gc, gw_ih, gw_hh, gb_ih, gb_hh, d,
                      sums, before, product.panels);
    product.pack();
    const char* gates = data_of(kept);
    const char* behind = gates + l.rows * l.slots * item;
    const char* h = lstm ? data_of(out) : cell == Cell::Gru ? behind : gates;
    char* dp = data_of(d);
    const Backward pass{l,
                        product,
                        data_of(h0),
                        lstm ? data_of(c0) : nullptr,
                        gates,
                        lstm ? behind : nullptr,
                        h,
                        grad ? data_of(grad) : nullptr,
                        needs[1] != 0,
                        data_of(gh),
                        lstm ? data_of(gc) : nullptr,
                        dp};
    parallel(l.batch, share_of(l), [&](ptrdiff_t from, ptrdiff_t to) { pass.run(from, to); });
    if (gx) {
      const auto part = [&](Py_ssize_t slot, Py_ssize_t n, Py_ssize_t first) {
        gemm(l.type, l.rows, l.inputs, n, 1.0, {dp + slot * item, l.slots, 1},
             {data_of(w_ih) + first * l.inputs * item, l.inputs, 1}, nullptr, first ? 1.0 : 0.0, data_of(gx), true);
      };
      if (cell == Cell::Gru) {
        part(l.units, 2 * l.units, 0);
        part(0, l.units, 2 * l.units);
      } else {
        part(0, l.gates, 0);
      }
    }
    if (gw_ih) weight_gradient(l, true, dp, l.rows, data_of(x), l.inputs, false, data_of(gw_ih));
    if (gw_hh) state_weight_gradient(l, dp, h, data_of(h0), before ? data_of(before) : nullptr, data_of(gw_hh));
    if (need_sums) {
      const auto columns = dense_kernels().reducer(Reduce::Sum, l.type).columns;
      char* to = data_of(sums);
      parallel(l.slots, kReleaseGilBytes / (l.rows * item + 1) + 16, [&](ptrdiff_t from, ptrdiff_t end) {
        columns(dp + from * item, l.rows, l.slots * item, end - from, to + from * item);
      });
      const ptrdiff_t part = l.units * item;
      if (cell != Cell::Gru) {
        if (gb_ih) std::memcpy(data_of(gb_ih), to, l.gates * item);
        if (gb_hh) std::memcpy(data_of(gb_hh), to, l.gates * item);
      } else {
        if (gb_ih) std::memcpy(data_of(gb_ih), to + part, 2 * part), std::memcpy(data_of(gb_ih) + 2 * part, to, part);
        if (gb_hh) std::memcpy(data_of(gb_hh), to + part, 3 * part);
      }
    }
  }
  if (!needs[1]) gh = Ref();
  if (!needs[2]) gc = Ref();
  for (Ref* r : {&gx, &gh, &gc, &gw_ih, &gw_hh, &gb_ih, &gb_hh}) *r = rounded(std::move(*r), l.stored);
  return gradients_of({&gx, &gh, &gc, &gw_ih, &gw_hh, &gb_ih, &gb_hh});
}

using SomeSizes = Given<"Sequence[int] | None">;

template <Cell kCell>
Gradients layer(const TensorInfo& input, const TensorInfo& h0, const TensorOrNone& c0, const TensorInfo& w_ih,
                const TensorInfo& w_hh, const TensorOrNone& b_ih, const TensorOrNone& b_hh, bool reverse, SomeSizes sizes) {
  return forward(kCell, {input, h0, c0, w_ih, w_hh}, b_ih, b_hh, reverse, sizes);
}
template <Cell kCell>
Gradients layer_backward(const TensorOrNone& g, const TensorOrNone& g_h, const TensorOrNone& g_c, const TensorInfo& input,
                         const TensorInfo& h0, const TensorOrNone& c0, const TensorInfo& w_ih, const TensorInfo& w_hh,
                         const TensorOrNone& states, const TensorInfo& saved, bool reverse, SomeSizes sizes,
                         const Needs<7>& needs) {
  return backward(kCell, g, g_h, g_c, {input, h0, c0, w_ih, w_hh}, states, saved, reverse, sizes, needs);
}

const KernelRows rows{
#define RUSHLIGHT_CELL(cell, name)                                                                                \
  long_kernel<layer<Cell::cell>,                                                                                  \
              name "_layer(input, h0, c0, w_ih, w_hh, b_ih, b_hh, reverse, sizes): (output, h_n, c_n, saved)">(), \
      long_kernel<layer_backward<Cell::cell>,                                                                     \
                  name "_layer_backward(g, g_h_n, g_c_n, input, h0, c0, w_ih, w_hh, states, saved, reverse, sizes, needs)">()
    RUSHLIGHT_CELL(Lstm, "lstm"),
    RUSHLIGHT_CELL(Gru, "gru"),
    RUSHLIGHT_CELL(Tanh, "rnn_tanh"),
    RUSHLIGHT_CELL(Relu, "rnn_relu"),
};

}  // namespace

}  // namespace rushlight
