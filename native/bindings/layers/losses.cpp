// Losses in one pass: negative log likelihood of class indices, mean squared error, Huber's loss,
// margins between classes.
//
// reduction: a Reduction. A target equal to ignore_index counts for nothing; the mean divides by the total weight of the others.
#include "bindings/kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

namespace rushlight {
namespace {

// Scores of classes as (batch, classes, inner): of one sample, of a batch, or of places in samples.
struct Picks {
  DType own, type;  // of the scores, and what is computed in
  Py_ssize_t batch = 1, classes = 1, inner = 1;
  int64_t ignore = -100;
  Reduction reduction = Reduction::Mean;

  // The first target that is no class; or nullptr.
  const int64_t* outside(const int64_t* target) const {
    for (const int64_t* t = target; t != target + batch * inner; t++)
      if (*t != ignore && (*t < 0 || *t >= classes)) return t;
    return nullptr;
  }

  // Calls f(number, place of the score, weight) of each target that counts.
  template <class T, class F>
  void each(const int64_t* target, const T* weight, const F& f) const {
    for (Py_ssize_t b = 0, i = 0; b < batch; b++) {
      for (Py_ssize_t k = 0; k < inner; k++, i++) {
        const int64_t t = target[i];
        if (t != ignore) f(i, (b * classes + t) * inner + k, weight ? static_cast<double>(weight[t]) : 1.0);
      }
    }
  }

  // The picked numbers' negatives, times their weights. The mean divides by the total weight.
  template <class T>
  void loss(const char* scores, const int64_t* target, const T* weight, T* out) const {
    double sum = 0, weights = 0;
    each<T>(target, weight, [&](Py_ssize_t i, Py_ssize_t place, double w) {
      T x;
      if (own != type) kernels().convert_adjacent(own, scores + place * 2, type, &x, 1);
      else x = elements<T>(scores)[place];
      const double picked = -static_cast<double>(x) * w;
      if (reduction == Reduction::None) out[i] = static_cast<T>(picked);
      sum += picked;
      weights += w;
    });
    if (reduction != Reduction::None) *out = static_cast<T>(reduction == Reduction::Mean ? sum / weights : sum);
  }

  template <class T>
  void gradient(const T* g, const int64_t* target, const T* weight, T* out) const {
    double divisor = reduction == Reduction::Mean ? 0 : 1;
    if (divisor == 0) each<T>(target, weight, [&](Py_ssize_t, Py_ssize_t, double w) { divisor += w; });
    each<T>(target, weight, [&](Py_ssize_t i, Py_ssize_t place, double w) {
      out[place] = static_cast<T>(-static_cast<double>(reduction == Reduction::None ? g[i] : *g) / divisor * w);
    });
  }
};

struct Classes : Picks {
  Ref target_owner, weight_owner;
  DeviceType device = DeviceType::Cpu;
  const int64_t* target = nullptr;
  const void* weight = nullptr;

  // Scores have the type of `like`.
  bool read(const TensorInfo& like, int ndim, const Py_ssize_t* shape, const TensorInfo& given, const TensorInfo& weights,
            Py_ssize_t ignored, Py_ssize_t how) {
    own = like.dtype;
    type = computed_in(own);
    if (how < 0 || how > static_cast<Py_ssize_t>(Reduction::Sum))
      return fail(PyExc_ValueError, "%zd is not a valid value for reduction", how);
    if (!like.is_float_or_half() || !ndim || (given.dtype != DType::I64 && given.dtype != DType::U8)) return false;
    if (given.ndim != (ndim == 1 ? 0 : ndim - 1) || (ndim > 1 && given.shape[0] != shape[0])) return false;
    for (int d = 2; d < ndim; d++) {
      if (given.shape[d - 1] != shape[d]) return false;
      inner *= shape[d];
    }
    if (ndim > 1) batch = shape[0];
    classes = shape[ndim > 1];
    ignore = ignored;
    reduction = static_cast<Reduction>(how);
    if (weights.tensor) {
      if (weights.dtype != own || weights.ndim != 1 || weights.shape[0] != classes) return false;
      weight_owner = contiguous_as(weights.tensor, type);
      weight = data_of(weight_owner);
    }
    device = device_of(like, given, weights);
    target_owner = contiguous_as(given.tensor, DType::I64);
    // A copy where the kernel runs without the GIL: what was checked must not change before it is used.
    if (released() && target_owner.get() == as_object(given.tensor)) target_owner = owned(contiguous_copy(given.tensor));
    target = data_of<int64_t>(target_owner);
    return device == DeviceType::Meta || !outside(target);  // the definition in NumPy has the error
  }
  bool released() const { return 1.0 * batch * classes * inner * item_size(type) > kReleaseGilBytes; }
};

// `at`: the scores or the gradient, the target, the weight or nothing, the result.
template <bool Gradient>
bool run_picks(const void* fixed, char* const* at) {
  const Picks& p = *static_cast<const Picks*>(fixed);
  const int64_t* target = elements<int64_t>(at[1]);
  if (p.outside(target)) return false;
  const Py_ssize_t places = p.batch * p.inner, size = Gradient ? places * p.classes : p.reduction == Reduction::None ? places : 1;
  std::memset(at[3], 0, static_cast<size_t>(size * item_size(p.type)));
  by_type(
      p.type,
      [&]<class T>(T* out) {
        const T* weight = elements<T>(at[2]);
        if constexpr (Gradient) p.gradient<T>(elements<T>(at[0]), target, weight, out);
        else p.loss<T>(at[0], target, weight, out);
      },
      at[3]);
  return true;
}

template <bool Gradient>
void tell_picks(const Classes& c, const Ref& in, const Ref& out) {
  if (c.own != c.type || c.released()) return;
  tell(run_picks<Gradient>, static_cast<const Picks&>(c),
       {{as_tensor(in), data_of(in)},
        {as_tensor(c.target_owner), c.target},
        {c.weight ? as_tensor(c.weight_owner) : nullptr, c.weight},
        {as_tensor(out), data_of(out)}});
}

Ref nll_loss(const TensorInfo& scores, const TensorInfo& target, const TensorOrNone& weight, Py_ssize_t ignore_index,
             Py_ssize_t reduction) {
  Classes c;
  if (!c.read(scores, scores.ndim, scores.shape, target, weight, ignore_index, reduction)) return {};
  const Ref in = contiguous(scores.tensor);
  Ref loss = zeros_ref(c.type, c.reduction == Reduction::None ? target.ndim : 0, target.shape, c.device);
  if (!has_memory(loss)) return rounded(std::move(loss), c.own);
  tell_picks<false>(c, in, loss);
  const auto add_up = [&]<class T>(T* out) {
    Unlocked unlocked(c.released(), in, c.target_owner, c.weight_owner, loss);
    c.loss<T>(data_of(in), c.target, static_cast<const T*>(c.weight), out);
  };
  by_type(c.type, add_up, data_of(loss));
  return rounded(std::move(loss), c.own);
}

Ref nll_loss_backward(const TensorInfo& g, const TensorInfo& target, const TensorOrNone& weight, Py_ssize_t ignore_index,
                      Py_ssize_t reduction, const Shape& shape) {
  Classes c;
  if (!c.read(g, shape.n, shape.at, target, weight, ignore_index, reduction)) return {};
  if (c.reduction == Reduction::None ? !same_shape(g.tensor, target.tensor) : g.size() != 1)
    return fail(PyExc_ValueError, "nll_loss_backward(): the gradient does not have the shape of the loss");
  const Ref given = contiguous_as(g.tensor, c.type);
  Ref out = zeros_ref(c.type, shape.n, shape.at, c.device);
  if (!has_memory(out)) return rounded(std::move(out), c.own);
  tell_picks<true>(c, given, out);
  const auto spread = [&]<class T>(const T* gs, T* to) {
    Unlocked unlocked(c.released(), given, c.target_owner, c.weight_owner, out);
    c.gradient<T>(gs, c.target, static_cast<const T*>(c.weight), to);
  };
  by_type(c.type, spread, static_cast<const char*>(data_of(given)), data_of(out));
  return rounded(std::move(out), c.own);
}

bool fits(const TensorInfo& x, const TensorInfo& y) {
  return x.is_float_or_half() && x.dtype == y.dtype && same_shape(x.tensor, y.tensor);
}

// The elements of two tensors, one after the other in the same order: that of memory where both have the same.
struct Both {
  Both(const TensorInfo& x, const TensorInfo& y, DType type) : like(x.tensor), type(type) {
    alike = lie_alike(x.tensor, y.tensor);
    const auto laid = [&](const TensorInfo& a) {
      return alike ? converted(Ref::borrow(as_object(a.tensor)), type) : contiguous_as(a.tensor, type);
    };
    this->x = laid(x), this->y = laid(y);
  }
  // A new tensor whose elements lie as those do.
  Ref made(DeviceType device) const {
    return alike && device != DeviceType::Meta ? owned(new_like(like, type)) : new_ref(type, like->ndim(), like->sizes(), device);
  }
  Tensor* like;
  DType type;
  bool alike;
  Ref x, y;
};

// f(a, b, n), a sum over two rows, of pieces of one length, added up in their order: the sum does not depend on the threads.
template <class F>
double added_up(const F& f, const char* a, const char* b, Py_ssize_t n, ptrdiff_t item) {
  constexpr Py_ssize_t kPiece = 1 << 15;
  if (n <= kPiece) return f(a, b, n);
  std::vector<double> sums(static_cast<size_t>((n + kPiece - 1) / kPiece));
  parallel(static_cast<ptrdiff_t>(sums.size()), 1, [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t i = begin; i < end; i++)
      sums[static_cast<size_t>(i)] = f(a + i * kPiece * item, b + i * kPiece * item, std::min(kPiece, n - i * kPiece));
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

// There are kernels for the mean alone.
using Mean = OneOf<"mean">;

// The mean of (x - y)^2.
Ref mse_loss(const TensorInfo& x, const TensorInfo& y, Mean) {
  if (!fits(x, y)) return {};
  const DType type = computed_in(x.dtype);
  const Both both(x, y, type);
  const Ref &xc = both.x, &yc = both.y;
  Ref loss = new_ref(type, 0, nullptr, device_of(x, y));
  const Py_ssize_t n = x.size();
  const char* a = data_of(xc);
  const char* b = data_of(yc);
  double sum = 0;
  if (has_memory(loss)) {
    Unlocked unlocked(n * item_size(type) > kReleaseGilBytes, xc, yc);
    const auto squares = [&](const char* p, const char* q, Py_ssize_t some) {
      return dense_kernels().squared_difference(type, p, q, some);
    };
    sum = added_up(squares, a, b, n, item_size(type));
  }
  each_value(loss, [&]<class T>(T) { return static_cast<T>(sum) / static_cast<T>(n); });
  return rounded(std::move(loss), x.dtype);
}

// The element of a tensor that has one.
double number_of(const TensorInfo& a) {
  const DType type = computed_in(a.dtype);
  const Ref held = contiguous_as(a.tensor, type);
  return by_type(type, [](const auto* p) { return static_cast<double>(*p); }, static_cast<const char*>(data_of(held)));
}

// 2 g / n * (x - y), for g of one element.
Ref difference_scaled(const TensorInfo& g, const TensorInfo& x, const TensorInfo& y, DeviceType device) {
  const DType type = computed_in(x.dtype);
  const Both both(x, y, type);
  const Ref &xc = both.x, &yc = both.y;
  Ref out = both.made(device);
  const Py_ssize_t n = x.size();
  if (device != DeviceType::Meta && n > 0) {
    const double scale = number_of(g);
    const ptrdiff_t item = item_size(type);
    const char* a = data_of(xc);
    const char* b = data_of(yc);
    char* to = data_of(out);
    Unlocked unlocked(n * item > kReleaseGilBytes, xc, yc, out);
    parallel(n, kThreadElements, [&](ptrdiff_t begin, ptrdiff_t end) {
      const ptrdiff_t at = begin * item;
      dense_kernels().scaled_difference(type, a + at, b + at, 2 * scale / static_cast<double>(n), end - begin, to + at);
    });
  }
  return rounded(std::move(out), x.dtype);
}

Gradients mse_loss_backward(const TensorInfo& g, const TensorInfo& x, const TensorInfo& y, Mean, const Needs<2>& needs) {
  if (!fits(x, y) || g.dtype != x.dtype || g.size() != 1) return {};
  const DeviceType device = device_of(g, x, y);
  Ref gx, gy;
  if (needs[0]) gx = difference_scaled(g, x, y, device);
  if (needs[1]) gy = difference_scaled(g, y, x, device);
  return gradients_of({&gx, &gy});
}

// ---- squares near 0, absolute differences beyond

// Of the reductions to one number.
struct ToOne : OneOf<"mean", "sum"> {
  bool mean() const { return at == 0; }
};

bool is_limit(double limit) { return limit > 0 && limit < HUGE_VAL; }

// The sum or mean of d^2 / 2 where |d| = |x - y| is below the limit, else limit * (|d| - limit / 2), times `scale`.
Ref huber(const TensorInfo& x, const TensorInfo& y, const ToOne& how, double limit, double scale) {
  if (!fits(x, y) || !is_limit(limit)) return {};
  const DType type = computed_in(x.dtype);
  const Both both(x, y, type);
  const Ref &xc = both.x, &yc = both.y;
  Ref loss = new_ref(type, 0, nullptr, device_of(x, y));
  const Py_ssize_t n = x.size();
  const char *a = data_of(xc), *b = data_of(yc);
  double sum = 0;
  if (has_memory(loss)) {
    Unlocked unlocked(n * item_size(type) > kReleaseGilBytes, xc, yc);
    const auto losses = [&](const char* p, const char* q, Py_ssize_t some) {
      return dense_kernels().huber_sum(type, p, q, some, limit);
    };
    sum = added_up(losses, a, b, n, item_size(type)) * scale;
  }
  each_value(loss, [&]<class T>(T) { return how.mean() ? static_cast<T>(sum) / static_cast<T>(n) : static_cast<T>(sum); });
  return rounded(std::move(loss), x.dtype);
}

Gradients huber_backward_of(const TensorInfo& g, const TensorInfo& x, const TensorInfo& y, const ToOne& how, double limit,
                            double scale, const Needs<2>& needs) {
  if (!fits(x, y) || g.dtype != x.dtype || g.size() != 1 || !is_limit(limit)) return {};
  const DeviceType device = device_of(g, x, y);
  const Py_ssize_t n = x.size();
  const DType type = computed_in(x.dtype);
  const ptrdiff_t item = item_size(type);
  const Both both(x, y, type);
  const Ref &xc = both.x, &yc = both.y;
  Ref made[2];
  for (int i = 0; i < 2; i++)
    if (needs[i]) made[i] = both.made(device);
  if (device != DeviceType::Meta && n) {
    const double factor = number_of(g) * scale / (how.mean() ? static_cast<double>(n) : 1);
    const char *a = data_of(xc), *b = data_of(yc);
    for (int i = 0; i < 2; i++) {
      if (!made[i]) continue;
      char* to = data_of(made[i]);
      Unlocked unlocked(n * item > kReleaseGilBytes, xc, yc, made[i]);
      parallel(n, kThreadElements, [&](ptrdiff_t begin, ptrdiff_t end) {
        const ptrdiff_t at = begin * item;
        dense_kernels().huber_slope(type, a + at, b + at, limit, i ? -factor : factor, end - begin, to + at);
      });
    }
  }
  for (Ref& each : made)
    if (each) each = rounded(std::move(each), x.dtype);
  return gradients_of({&made[0], &made[1]});
}

Ref huber_loss(const TensorInfo& x, const TensorInfo& y, const ToOne& how, double delta) { return huber(x, y, how, delta, 1); }
Gradients huber_loss_backward(const TensorInfo& g, const TensorInfo& x, const TensorInfo& y, const ToOne& how, double delta,
                              const Needs<2>& needs) {
  return huber_backward_of(g, x, y, how, delta, 1, needs);
}
Ref smooth_l1_loss(const TensorInfo& x, const TensorInfo& y, const ToOne& how, double beta) {
  return huber(x, y, how, beta, 1 / beta);
}
Gradients smooth_l1_loss_backward(const TensorInfo& g, const TensorInfo& x, const TensorInfo& y, const ToOne& how, double beta,
                                  const Needs<2>& needs) {
  return huber_backward_of(g, x, y, how, beta, 1 / beta, needs);
}

struct Reduced : OneOf<"none", "mean", "sum"> {
  bool none() const { return at == 0; }
  bool mean() const { return at == 1; }
};

// ---- margins between the classes of samples: (samples, classes), or one sample

struct Samples {
  Py_ssize_t count = 1, classes = 1;
  bool read(const TensorInfo& x) {
    if (!x.is_float() || x.ndim > 2) return false;
    if (x.ndim) classes = x.shape[x.ndim - 1];
    if (x.ndim == 2) count = x.shape[0];
    return classes > 0;
  }
};

// A loss of each sample as `how` says; `alone` where there is no dimension of samples.
Ref reduced(DType dtype, const Reduced& how, const double* losses, Py_ssize_t n, bool alone) {
  const bool none = how.none(), mean = how.mean();
  Ref out = new_ref(dtype, none && !alone ? 1 : 0, &n, DeviceType::Cpu);
  double sum = 0;
  for (Py_ssize_t i = 0; i < n; i++) sum += losses[i];
  by_type(
      dtype,
      [&](auto* to) {
        using T = std::remove_reference_t<decltype(*to)>;
        if (none) std::transform(losses, losses + n, to, [](double loss) { return static_cast<T>(loss); });
        else *to = static_cast<T>(mean ? sum / static_cast<double>(n) : sum);
      },
      data_of(out));
  return out;
}

// The factor of a loss on the way back.
template <class T>
double share_of(const T* g, const Reduced& how, Py_ssize_t i, Py_ssize_t n) {
  const bool none = how.none(), mean = how.mean();
  return static_cast<double>(none ? g[i] : *g) / (mean ? static_cast<double>(n) : 1);
}

struct MultiMargin {
  Samples s;
  Ref x, target, weight;
  const int64_t* labels = nullptr;

  bool read(const TensorInfo& in, const TensorInfo& classes, const TensorInfo& weights, Py_ssize_t p) {
    if (!s.read(in) || classes.dtype != DType::I64 || classes.ndim > 1 || classes.size() != s.count || (p != 1 && p != 2))
      return false;
    if (is_meta(in, classes, weights)) return false;
    if (weights.tensor && (weights.dtype != in.dtype || weights.ndim != 1 || weights.shape[0] != s.classes)) return false;
    x = contiguous(in.tensor), target = owned(contiguous_copy(classes.tensor));  // nobody changes what is checked
    if (weights.tensor) weight = contiguous(weights.tensor);
    labels = data_of<int64_t>(target);
    return std::all_of(labels, labels + s.count, [this](int64_t t) { return t >= 0 && t < s.classes; });
  }
};

Ref multi_margin_loss(const TensorInfo& in, const TensorInfo& target, const TensorOrNone& weight, Py_ssize_t p, double margin,
                      const Reduced& how) {
  MultiMargin m;
  if (!m.read(in, target, weight, p)) return {};
  std::vector<double> losses(static_cast<size_t>(m.s.count));
  const auto run = [&]<class T>(const T* x, const T* w) {
    for (Py_ssize_t i = 0; i < m.s.count; i++, x += m.s.classes) {
      const int64_t t = m.labels[i];
      const T start = static_cast<T>(margin) - x[t];
      double sum = 0;
      for (Py_ssize_t c = 0; c < m.s.classes; c++) {
        const T excess = start + x[c];
        if (c != t && excess > 0) sum += static_cast<double>(p == 1 ? excess : excess * excess);
      }
      losses[static_cast<size_t>(i)] = sum * static_cast<double>(w ? w[t] : 1) / static_cast<double>(m.s.classes);
    }
  };
  by_type(in.dtype, run, static_cast<const char*>(data_of(m.x)), static_cast<const char*>(m.weight ? data_of(m.weight) : nullptr));
  return reduced(in.dtype, how, losses.data(), m.s.count, target.ndim == 0);
}

Ref multi_margin_loss_backward(const TensorInfo& g, const TensorInfo& in, const TensorInfo& target, const TensorOrNone& weight,
                               Py_ssize_t p, double margin, const Reduced& how) {
  MultiMargin m;
  if (g.dtype != in.dtype || !m.read(in, target, weight, p) || g.size() != (how.none() ? m.s.count : 1)) return {};
  Ref gc = contiguous(g.tensor), out = new_ref(in.dtype, in.ndim, in.shape, DeviceType::Cpu);
  const auto run = [&]<class T>(const T* x, const T* w, const T* shares, T* to) {
    for (Py_ssize_t i = 0; i < m.s.count; i++, x += m.s.classes, to += m.s.classes) {
      const int64_t t = m.labels[i];
      const T start = static_cast<T>(margin) - x[t];
      const double by = share_of(shares, how, i, m.s.count) * static_cast<double>(w ? w[t] : 1) / static_cast<double>(m.s.classes);
      double sum = 0;
      for (Py_ssize_t c = 0; c < m.s.classes; c++) {
        const T excess = start + x[c];
        const double slope = c == t || !(excess > 0) ? 0 : p == 1 ? by : 2 * by * static_cast<double>(excess);
        sum += slope;
        to[c] = static_cast<T>(slope);
      }
      to[t] = static_cast<T>(-sum);
    }
  };
  by_type(in.dtype, run, static_cast<const char*>(data_of(m.x)), static_cast<const char*>(m.weight ? data_of(m.weight) : nullptr),
          static_cast<const char*>(data_of(gc)), data_of(out));
  return out;
}

// The labels of a sample end at the first -1.
struct Multilabel {
  Samples s;
  Ref x, target;
  const int64_t* labels = nullptr;
  std::vector<uint8_t> is_label;  // of one sample

  bool read(const TensorInfo& in, const TensorInfo& classes) {
    if (!s.read(in) || classes.dtype != DType::I64 || classes.size() != in.size() || is_meta(in, classes)) return false;
    x = contiguous(in.tensor), target = owned(contiguous_copy(classes.tensor));
    labels = data_of<int64_t>(target);
    is_label.resize(static_cast<size_t>(s.classes));
    return std::all_of(labels, labels + classes.size(), [this](int64_t t) { return t >= -1 && t < s.classes; });
  }
  // How many labels sample i has; which classes are labels.
  Py_ssize_t mark(Py_ssize_t i) {
    const int64_t* row = labels + i * s.classes;
    std::fill(is_label.begin(), is_label.end(), uint8_t{0});
    Py_ssize_t n = 0;
    while (n < s.classes && row[n] >= 0) is_label[static_cast<size_t>(row[n++])] = 1;
    return n;
  }
};

Ref multilabel_margin_loss(const TensorInfo& in, const TensorInfo& target, const Reduced& how) {
  Multilabel m;
  if (!m.read(in, target)) return {};
  std::vector<double> losses(static_cast<size_t>(m.s.count));
  const auto run = [&]<class T>(const T* x) {
    std::vector<T> others;
    for (Py_ssize_t i = 0; i < m.s.count; i++, x += m.s.classes) {
      const Py_ssize_t n = m.mark(i);
      others.clear();
      for (Py_ssize_t c = 0; c < m.s.classes; c++)
        if (!m.is_label[static_cast<size_t>(c)]) others.push_back(x[c]);
      double sum = 0;
      for (Py_ssize_t k = 0; k < n; k++) {
        const T start = 1 - x[m.labels[i * m.s.classes + k]];
        T lanes[8] = {};
        const size_t count = others.size(), whole = count / 8 * 8;
        for (size_t j = 0; j < whole; j += 8)
          for (size_t l = 0; l < 8; l++) {
            const T excess = start + others[j + l];
            lanes[l] += excess > 0 ? excess : T(0);
          }
        for (size_t j = whole; j < count; j++) {
          const T excess = start + others[j];
          lanes[0] += excess > 0 ? excess : T(0);
        }
        for (T lane : lanes) sum += static_cast<double>(lane);
      }
      losses[static_cast<size_t>(i)] = sum / static_cast<double>(m.s.classes);
    }
  };
  const char* from = data_of(m.x);
  {
    Unlocked unlocked(in.size() * m.s.classes > kReleaseGilBytes, m.x, m.target);
    by_type(in.dtype, run, from);
  }
  return reduced(in.dtype, how, losses.data(), m.s.count, target.ndim < 2);
}

Ref multilabel_margin_loss_backward(const TensorInfo& g, const TensorInfo& in, const TensorInfo& target, const Reduced& how) {
  Multilabel m;
  if (g.dtype != in.dtype || !m.read(in, target) || g.size() != (how.none() ? m.s.count : 1)) return {};
  Ref gc = contiguous(g.tensor), out = new_ref(in.dtype, in.ndim, in.shape, DeviceType::Cpu);
  const char *from = data_of(m.x), *given = data_of(gc);
  char* made = data_of(out);
  const auto run = [&]<class T>(const T* x, const T* shares, T* to) {
    std::vector<int> counts(static_cast<size_t>(m.s.classes));
    std::vector<Py_ssize_t> owed(counts.size());
    for (Py_ssize_t i = 0; i < m.s.count; i++, x += m.s.classes, to += m.s.classes) {
      const Py_ssize_t n = m.mark(i), classes = m.s.classes;
      std::fill(counts.begin(), counts.end(), 0);
      std::fill(owed.begin(), owed.end(), 0);
      for (Py_ssize_t k = 0; k < n; k++) {
        const int64_t t = m.labels[i * classes + k];
        const T start = 1 - x[t];
        int hits = 0;
        for (Py_ssize_t c = 0; c < classes; c++) {
          const int hit = static_cast<int>(start + x[c] > 0) & static_cast<int>(!m.is_label[static_cast<size_t>(c)]);
          counts[static_cast<size_t>(c)] += hit;
          hits += hit;
        }
        owed[static_cast<size_t>(t)] += hits;
      }
      const double by = share_of(shares, how, i, m.s.count) / static_cast<double>(classes);
      for (Py_ssize_t c = 0; c < classes; c++)
        to[c] = static_cast<T>(by * static_cast<double>(counts[static_cast<size_t>(c)] - owed[static_cast<size_t>(c)]));
    }
  };
  Unlocked unlocked(in.size() * m.s.classes > kReleaseGilBytes, m.x, m.target, gc, out);
  by_type(in.dtype, run, from, given, made);
  return out;
}

const KernelRows rows{
    long_kernel<huber_loss, "huber_loss(x, y, reduction, delta)">(),
    long_kernel<huber_loss_backward, "huber_loss_backward(g, x, y, reduction, delta, needs)">(),
    long_kernel<smooth_l1_loss, "smooth_l1_loss(x, y, reduction, beta)">(),
    long_kernel<smooth_l1_loss_backward, "smooth_l1_loss_backward(g, x, y, reduction, beta, needs)">(),
    long_kernel<multi_margin_loss, "multi_margin_loss(x, target, weight, p, margin, reduction)">(),
    long_kernel<multi_margin_loss_backward, "multi_margin_loss_backward(g, x, target, weight, p, margin, reduction)">(),
    long_kernel<multilabel_margin_loss, "multilabel_margin_loss(x, target, reduction)">(),
    long_kernel<multilabel_margin_loss_backward, "multilabel_margin_loss_backward(g, x, target, reduction)">(),
    long_kernel<nll_loss, "nll_loss(log_probabilities, target, weight, ignore_index, reduction)">(),
    long_kernel<nll_loss_backward, "nll_loss_backward(g, target, weight, ignore_index, reduction, shape)">(),
    long_kernel<mse_loss, "mse_loss(x, y, reduction)">(),
    long_kernel<mse_loss_backward, "mse_loss_backward(g, x, y, reduction, needs)">(),
};

}  // namespace

}  // namespace rushlight
