// Optimizer steps, one pass over a parameter: every intermediate is rounded to the element type in the order in which
// the separate tensor operations would round it.
#include <cmath>

#include "kernels/isa/dense_impl.h"

namespace rushlight::RUSHLIGHT_ISA {
namespace {

template <class T, bool Momentum, bool Nesterov>
void sgd_of(T* param, const T* grad, T* buffer, bool first, ptrdiff_t n, const SgdOptions& o) {
  const T lr = static_cast<T>(-o.lr), momentum = static_cast<T>(o.momentum), mix = static_cast<T>(1 - o.dampening);
  const T decay = static_cast<T>(o.weight_decay), sign = o.maximize ? T(-1) : T(1);
  const bool decays = o.weight_decay != 0;
  if (first && Momentum)
    for (ptrdiff_t i = 0; i < n; i++) {
      const T g = decays ? sign * grad[i] + decay * param[i] : sign * grad[i];
      buffer[i] = g;
      param[i] += lr * (Nesterov ? g + momentum * g : g);
    }
  else
    for (ptrdiff_t i = 0; i < n; i++) {
      T g = decays ? sign * grad[i] + decay * param[i] : sign * grad[i];
      if (Momentum) {
        const T b = buffer[i] * momentum + mix * g;
        buffer[i] = b;
        g = Nesterov ? g + momentum * b : b;
      }
      param[i] += lr * g;
    }
}

void sgd(DType dtype, void* param, const void* grad, void* buffer, bool first, ptrdiff_t n, const SgdOptions& o) {
  float_or_double(dtype, [&]<class T>() {
    T* p = static_cast<T*>(param);
    const T* g = static_cast<const T*>(grad);
    T* b = static_cast<T*>(buffer);
    if (!b) sgd_of<T, false, false>(p, g, b, first, n, o);
    else if (o.nesterov) sgd_of<T, true, true>(p, g, b, first, n, o);
    else sgd_of<T, true, false>(p, g, b, first, n, o);
  });
}

template <class T, bool Amsgrad>
void adam_of(T* __restrict param, const T* __restrict grad, T* __restrict mean, T* __restrict square, T* __restrict highest,
             ptrdiff_t n, const AdamOptions& o) {
  const T step_size = static_cast<T>(-(o.lr / o.correction1));
  const T correction = static_cast<T>(o.correction2), eps = static_cast<T>(o.eps);
  const T weight = static_cast<T>(1 - o.beta1), beta2 = static_cast<T>(o.beta2), rest = static_cast<T>(1 - o.beta2);
  const bool near = weight < T(0.5) && weight > T(-0.5);  // which end the interpolation starts from
  const T sign = o.maximize ? T(-1) : T(1);
  const T shrink = o.decoupled && o.weight_decay != 0 ? static_cast<T>(1 - o.lr * o.weight_decay) : T(1);
  const T decay = !o.decoupled ? static_cast<T>(o.weight_decay) : T(0);
  const bool decays = decay != T(0);
  for (ptrdiff_t i = 0; i < n; i++) {
    const T p = param[i] * shrink;
    const T g = decays ? sign * grad[i] + decay * p : sign * grad[i];
    const T m = near ? mean[i] + weight * (g - mean[i]) : g - (g - mean[i]) * (T(1) - weight);
    const T v = square[i] * beta2 + rest * g * g;
    mean[i] = m;
    square[i] = v;
    T top = v;
    if (Amsgrad) {
      top = maximum(highest[i], v);
      highest[i] = top;
    }
    param[i] = p + step_size * m / (square_root(top) / correction + eps);
  }
}

void adam(DType dtype, void* param, const void* grad, void* exp_avg, void* exp_avg_sq, void* max_exp_avg_sq, ptrdiff_t n,
          const AdamOptions& o) {
  float_or_double(dtype, [&]<class T>() {
    T* p = static_cast<T*>(param);
    const T* g = static_cast<const T*>(grad);
    T* m = static_cast<T*>(exp_avg);
    T* v = static_cast<T*>(exp_avg_sq);
    o.amsgrad ? adam_of<T, true>(p, g, m, v, static_cast<T*>(max_exp_avg_sq), n, o) : adam_of<T, false>(p, g, m, v, nullptr, n, o);
  });
}

}  // namespace

void fill_optimizers(DenseKernels& table) {
  table.sgd = sgd;
  table.adam = adam;
}

}  // namespace rushlight::RUSHLIGHT_ISA
