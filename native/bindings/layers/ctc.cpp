// CTC loss: the likelihood of label sequences, summed over all their alignments with the input (ops/layers/ctc.py has the definition).
//
// The states of a sample are its labels with a blank before, between and behind them. Logarithms are float64. alpha[t][s] is that of all
// ways to state s, beta[t][s] of all ways on from it; both count the state's own step.
#include "bindings/kernel.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

namespace rushlight {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

struct Batch {
  DType dtype;
  Py_ssize_t time, count, classes, longest, blank;
  Ref log_probs, targets, steps, lengths;  // contiguous; nobody else has the last three
  const char* scores;
  const int64_t *labels, *n_steps, *n_labels;
  Py_ssize_t states(Py_ssize_t i) const { return 2 * n_labels[i] + 1; }
};

bool are_lengths(const TensorInfo& a, Py_ssize_t count) { return a.dtype == DType::I64 && a.ndim == 1 && a.shape[0] == count; }

// Whether all labels and lengths are in order.
bool in_order(const Batch& b) {
  for (Py_ssize_t i = 0; i < b.count; i++) {
    if (b.n_steps[i] < 0 || b.n_steps[i] > b.time || b.n_labels[i] < 0 || b.n_labels[i] > b.longest) return false;
    const int64_t* row = b.labels + i * b.longest;
    if (!std::all_of(row, row + b.n_labels[i], [&](int64_t c) { return c >= 0 && c < b.classes; })) return false;
  }
  return true;
}

bool read(const TensorInfo& log_probs, const TensorInfo& targets, const TensorInfo& steps, const TensorInfo& lengths,
          Py_ssize_t blank, Batch& b) {
  if (!log_probs.is_float() || log_probs.ndim != 3 || targets.dtype != DType::I64 || targets.ndim != 2) return false;
  b.dtype = log_probs.dtype, b.blank = blank;
  b.time = log_probs.shape[0], b.count = log_probs.shape[1], b.classes = log_probs.shape[2], b.longest = targets.shape[1];
  if (is_meta(log_probs, targets, steps, lengths) || blank < 0 || blank >= b.classes) return false;
  if (targets.shape[0] != b.count || !are_lengths(steps, b.count) || !are_lengths(lengths, b.count)) return false;
  b.log_probs = contiguous(log_probs.tensor);
  b.targets = owned(contiguous_copy(targets.tensor));
  b.steps = owned(contiguous_copy(steps.tensor)), b.lengths = owned(contiguous_copy(lengths.tensor));
  b.scores = data_of(b.log_probs);
  b.labels = data_of<int64_t>(b.targets), b.n_steps = data_of<int64_t>(b.steps), b.n_labels = data_of<int64_t>(b.lengths);
  return in_order(b);
}

// One sample.
template <class T>
struct Chain {
  Py_ssize_t time, states, pitch;  // pitch: from one step of the input to the next, in elements
  const T* scores;
  Workspace<> room;  // of all that follows; there may be none
  double *alpha, *skips;  // skips: 0 where a state can be reached past a blank
  double *ways, *most;  // three ways into each state
  double *after, *now, *shares, *sums;
  Py_ssize_t* classes;  // of the states

  Chain(const Batch& b, Py_ssize_t i)
      : time(b.n_steps[i]),
        states(b.states(i)),
        pitch(b.count * b.classes),
        scores(reinterpret_cast<const T*>(b.scores) + i * b.classes),
        room(8.0 * (static_cast<double>(states) * static_cast<double>(time + 9) + static_cast<double>(b.classes))) {
    double* at = reinterpret_cast<double*>(room.p);
    if (!at) return;
    const auto take = [&at](Py_ssize_t n) { return std::exchange(at, at + n); };
    alpha = take(time * states), skips = take(states), ways = take(3 * states), most = take(states);
    after = take(states), now = take(states), shares = take(states), sums = take(b.classes);
    classes = reinterpret_cast<Py_ssize_t*>(take(states));
    const int64_t* labels = b.labels + i * b.longest;
    std::fill_n(classes, states, b.blank);
    std::fill_n(skips, states, kNever);
    for (Py_ssize_t s = 1; s < states; s += 2) {
      classes[s] = labels[s / 2];
      if (s > 1 && labels[s / 2] != labels[s / 2 - 1]) skips[s] = 0;
    }
  }
  double emitted(Py_ssize_t t, Py_ssize_t s) const { return static_cast<double>(scores[t * pitch + classes[s]]); }

  // out[s] = log(e^a + e^b + e^c) + the state's own step, for the three ways that `three` gives.
  template <class F>
  void step(Py_ssize_t t, double* out, const F& three) {
    for (Py_ssize_t s = 0; s < states; s++) {
      double a, b, c;
      three(s, a, b, c);
      const double top = std::max(a, std::max(b, c)), base = top == kNever ? 0 : top;
      most[s] = base;
      ways[s] = a - base, ways[states + s] = b - base, ways[2 * states + s] = c - base;
    }
    dense_kernels().exp(DType::F64, ways, 3 * states, ways);
    for (Py_ssize_t s = 0; s < states; s++)
      out[s] = most[s] + std::log(ways[s] + ways[states + s] + ways[2 * states + s]) + emitted(t, s);
  }
  void forwards() {
    for (Py_ssize_t s = 0; time && s < states; s++) alpha[s] = s < 2 ? emitted(0, s) : kNever;
    for (Py_ssize_t t = 1; t < time; t++) {
      const double* before = alpha + (t - 1) * states;
      step(t, alpha + t * states, [&](Py_ssize_t s, double& a, double& b, double& c) {
        a = before[s], b = s > 0 ? before[s - 1] : kNever, c = s > 1 ? before[s - 2] + skips[s] : kNever;
      });
    }
  }
  // f(t, beta of that step) from the last step on.
  template <class F>
  void backwards(const F& f) {
    for (Py_ssize_t t = time; t-- > 0;) {
      if (t + 1 == time) {
        for (Py_ssize_t s = 0; s < states; s++) now[s] = s + 2 >= states ? emitted(t, s) : kNever;
      } else {
        step(t, now, [&](Py_ssize_t s, double& a, double& b, double& c) {
          a = after[s], b = s + 1 < states ? after[s + 1] : kNever, c = s + 2 < states ? after[s + 2] + skips[s + 2] : kNever;
        });
      }
      f(t, now);
      std::swap(after, now);
    }
  }
  // Minus the logarithm of ending in the last label or the blank behind it.
  double loss() const {
    if (!time) return states > 1 ? -kNever : 0;
    const double* last = alpha + (time - 1) * states;
    const double a = last[states - 1], b = states > 1 ? last[states - 2] : kNever, top = std::max(a, b);
    if (top == kNever) return -kNever;
    return -(top + std::log(std::exp(a - top) + std::exp(b - top)));
  }
};

// Calls f(i, chain) for all samples; false where there was no memory for one.
template <class T, class F>
bool each_sample(const Batch& b, const F& f) {
  std::atomic<bool> failed{false};
  parallel(b.count, 4096 / (b.time * (2 * b.longest + 1) + 1) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t i = begin; i < end; i++) {
      Chain<T> chain(b, i);
      if (!chain.room.p) return failed.store(true, std::memory_order_relaxed);
      f(i, chain);
    }
  });
  return !failed.load();
}

Ref ctc_losses(const TensorInfo& log_probs, const TensorInfo& targets, const TensorInfo& steps, const TensorInfo& lengths,
               Py_ssize_t blank, bool zero_infinity) {
  Batch b;
  if (!read(log_probs, targets, steps, lengths, blank, b)) return {};
  Ref out = new_ref(b.dtype, 1, &b.count, DeviceType::Cpu);
  char* to = data_of(out);
  const auto run = [&]<class T>(T* losses) {
    Unlocked unlocked(b.time * b.count * (b.classes + b.longest) * 8 > kReleaseGilBytes, b.log_probs, b.targets, b.steps, b.lengths,
                      out);
    return each_sample<T>(b, [&](Py_ssize_t i, Chain<T>& chain) {
      chain.forwards();
      const double loss = chain.loss();
      losses[i] = static_cast<T>(zero_infinity && std::isinf(loss) ? 0 : loss);
    });
  };
  return by_type(b.dtype, run, to) ? std::move(out) : Ref(no_memory());
}

// The probability of each class less its share of all alignments, times the sample's g.
template <class T>
void gradient(const Batch& b, Chain<T>& chain, double g, bool zero_infinity, T* out) {
  double *const shares = chain.shares, *const sums = chain.sums;
  chain.forwards();
  const double loss = chain.loss();
  if (std::isinf(loss)) {
    for (Py_ssize_t t = 0; t < b.time; t++)
      std::fill_n(out + t * chain.pitch, b.classes, t < chain.time && !zero_infinity ? std::numeric_limits<T>::quiet_NaN() : T(0));
    return;
  }
  for (Py_ssize_t t = chain.time; t < b.time; t++) std::fill_n(out + t * chain.pitch, b.classes, T(0));
  chain.backwards([&](Py_ssize_t t, const double* beta) {
    const T* scores = chain.scores + t * chain.pitch;
    for (Py_ssize_t c = 0; c < b.classes; c++) sums[c] = static_cast<double>(scores[c]);
    dense_kernels().exp(DType::F64, sums, b.classes, sums);
    for (Py_ssize_t s = 0; s < chain.states; s++) {
      const double step = chain.emitted(t, s);
      shares[s] = step == kNever ? kNever : chain.alpha[t * chain.states + s] + beta[s] - step + loss;
    }
    dense_kernels().exp(DType::F64, shares, chain.states, shares);
    for (Py_ssize_t s = 0; s < chain.states; s++) sums[chain.classes[s]] -= shares[s];
    for (Py_ssize_t c = 0; c < b.classes; c++) out[t * chain.pitch + c] = static_cast<T>(sums[c] * g);
  });
}

Ref ctc_backward(const TensorInfo& g, const TensorInfo& log_probs, const TensorInfo& targets, const TensorInfo& steps,
                 const TensorInfo& lengths, Py_ssize_t blank, bool zero_infinity) {
  Batch b;
  if (!read(log_probs, targets, steps, lengths, blank, b)) return {};
  if (g.dtype != b.dtype || g.ndim != 1 || g.shape[0] != b.count || is_meta(g)) return {};
  Ref gc = contiguous(g.tensor), out = new_ref(b.dtype, 3, log_probs.shape, DeviceType::Cpu);
  const char* given = data_of(gc);
  char* to = data_of(out);
  const bool large = as_tensor(out)->nbytes() + b.time * b.count * b.longest * 8 > kReleaseGilBytes;
  const auto run = [&]<class T>(const T* grads, T* made) {
    Unlocked unlocked(large, gc, b.log_probs, b.targets, b.steps, b.lengths, out);
    return each_sample<T>(b, [&](Py_ssize_t i, Chain<T>& chain) {
      gradient(b, chain, static_cast<double>(grads[i]), zero_infinity, made + i * b.classes);
    });
  };
  return by_type(b.dtype, run, given, to) ? std::move(out) : Ref(no_memory());
}

// Whether the labels and lengths fit log_probs of (time, batch, classes).
Bool ctc_in_order(const TensorInfo& log_probs, const TensorInfo& targets, const TensorInfo& steps, const TensorInfo& lengths,
                  Py_ssize_t blank) {
  Batch b;
  return Ref(PyBool_FromLong(read(log_probs, targets, steps, lengths, blank, b)));
}

const KernelRows rows{
    long_kernel<ctc_losses, "ctc_losses(log_probs, targets, steps, lengths, blank, zero_infinity): of each sample">(),
    long_kernel<ctc_backward, "ctc_backward(g, log_probs, targets, steps, lengths, blank, zero_infinity)">(),
    long_kernel<ctc_in_order, "ctc_in_order(log_probs, targets, steps, lengths, blank): whether there is a kernel for them">(),
};

}  // namespace

}  // namespace rushlight
