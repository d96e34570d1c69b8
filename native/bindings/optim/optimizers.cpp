// Optimizer steps: one call updates every parameter in place.
//
// All lists are checked before the first element is touched, so that a step happens whole or not at all.
#include "bindings/kernel.h"

#include <cmath>
#include <utility>

namespace rushlight {
namespace {

// A list or tuple of tensors: one of those of a step, whose objects are looked at before the first is written.
struct List {
  static constexpr Text kType = "Sequence[Tensor | None]";
  bool read(const Argument& a) {
    object = a.object;
    return is_list(object) || fail(PyExc_TypeError, "%s must be a list of tensors", a.name);
  }
  // Whether there are as many; false with an exception set.
  bool fits(const char* name, const List& parameters) const {
    return size() == parameters.size() ||
           fail(PyExc_ValueError, "%s has %zd entries, the parameters %zd", name, size(), parameters.size());
  }
  Py_ssize_t size() const { return PySequence_Fast_GET_SIZE(object); }
  PyObject* at(Py_ssize_t i) const { return PySequence_Fast_GET_ITEM(object, i); }
  Tensor* tensor(Py_ssize_t i) const { return as_tensor(at(i)); }
  PyObject* object = nullptr;
};

// Tensors that stand for others in a transform, or show conjugates or negatives of their memory, are left to the rule in Python.
bool plain_info(PyObject* object, TensorInfo& out) { return read_tensor(object, out) && !(out.tensor->flags & (kWrapped | kLazy)); }

// Whether a kernel may run over the elements in memory order: contiguous, aligned, of the type, shape and device of `like`.
bool usable(PyObject* object, DType type, const TensorInfo& like, bool written) {
  TensorInfo a;
  return plain_info(object, a) && a.dtype == type && a.contiguous() && same_shape(a.tensor, like.tensor) &&
         is_meta(a) == is_meta(like) && (!written || a.tensor->is_writeable());
}

bool parameter(PyObject* object, TensorInfo& out) {
  return plain_info(object, out) && out.is_float() && out.contiguous() && out.tensor->is_writeable();
}

// A None among the buffers is replaced, in the list, by a new buffer.
Nothing sgd_step(List params, List grads, Any buffers_or_none, double lr, double momentum, double dampening, double weight_decay,
                 bool nesterov, bool maximize) {
  const SgdOptions o{lr, momentum, dampening, weight_decay, nesterov, maximize};
  const bool has_momentum = o.momentum != 0;
  const Py_ssize_t n = params.size();
  List buffers;
  if (!grads.fits("grads", params)) return {};
  if (has_momentum && (!buffers.read({buffers_or_none, "", "buffers", nullptr}) || !buffers.fits("buffers", params))) return {};
  for (Py_ssize_t i = 0; i < n; i++) {
    TensorInfo p;
    if (!parameter(params.at(i), p) || !usable(grads.at(i), p.dtype, p, false)) return {};
    if (!has_momentum) continue;
    if (buffers.at(i) == Py_None ? !PyList_Check(buffers.object) : !usable(buffers.at(i), p.dtype, p, true)) return {};
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    const TensorInfo p = info_of(params.tensor(i));
    bool first = false;
    void* buffer = nullptr;
    if (has_momentum) {
      if (buffers.at(i) == Py_None) {
        Ref made = new_ref(p.dtype, p.ndim, p.shape, device_of(p));
        buffer = data_of(made);
        first = true;
        PyList_SetItem(buffers.object, i, made.release());
      } else {
        buffer = buffers.tensor(i)->data();
      }
    }
    if (is_meta(p)) continue;
    const Py_ssize_t size = p.size();
    const ptrdiff_t item = item_size(p.dtype);
    char* grad = grads.tensor(i)->data();
    if (size <= kThreadElements) {
      dense_kernels().sgd(p.dtype, p.data, grad, buffer, first, size, o);
      continue;
    }
    parallel(size, kThreadElements, [&](ptrdiff_t begin, ptrdiff_t end) {
      dense_kernels().sgd(p.dtype, p.data + begin * item, grad + begin * item,
                          buffer ? static_cast<char*>(buffer) + begin * item : nullptr, first, end - begin, o);
    });
  }
  return none();
}

// steps: 0-d float tensors, incremented.
Nothing adam_step(List params, List grads, List means, List squares, Any max_or_none, List steps, double lr, double beta1,
                  double beta2, double eps, double weight_decay, bool amsgrad, bool maximize, bool decoupled) {
  AdamOptions o{lr, beta1, beta2, eps, weight_decay, amsgrad, maximize, decoupled};
  const Py_ssize_t n = params.size();
  List highest;
  if (!grads.fits("grads", params) || !means.fits("exp_avgs", params) || !squares.fits("exp_avg_sqs", params) ||
      !steps.fits("steps", params))
    return {};
  constexpr const char* kHighest = "max_exp_avg_sqs";
  if (o.amsgrad && (!highest.read({max_or_none, "", kHighest, nullptr}) || !highest.fits(kHighest, params))) return {};
  for (Py_ssize_t i = 0; i < n; i++) {
    TensorInfo p, step;
    if (!parameter(params.at(i), p) || !usable(grads.at(i), p.dtype, p, false) || !usable(means.at(i), p.dtype, p, true) ||
        !usable(squares.at(i), p.dtype, p, true) || (o.amsgrad && !usable(highest.at(i), p.dtype, p, true)))
      return {};
    if (!read_tensor(steps.at(i), step) || !step.is_float() || step.size() != 1 || !step.contiguous() ||
        !step.tensor->is_writeable())
      return {};
  }
  double last = NAN;
  for (Py_ssize_t i = 0; i < n; i++) {
    const TensorInfo p = info_of(params.tensor(i));
    const TensorInfo step = info_of(steps.tensor(i));
    if (is_meta(p, step)) continue;
    const double t = by_type(step.dtype, [](auto* steps_done) -> double { return *steps_done += 1; }, step.data);
    if (std::exchange(last, t) != t) {  // mostly that of all
      o.correction1 = 1 - std::pow(beta1, t);
      o.correction2 = std::pow(1 - std::pow(beta2, t), 0.5);
    }
    const Py_ssize_t size = p.size();
    const ptrdiff_t item = item_size(p.dtype);
    char* grad = grads.tensor(i)->data();
    char* mean = means.tensor(i)->data();
    char* square = squares.tensor(i)->data();
    char* top = o.amsgrad ? highest.tensor(i)->data() : nullptr;
    const auto run = [&](ptrdiff_t begin, ptrdiff_t end) {
      const ptrdiff_t at = begin * item;
      dense_kernels().adam(p.dtype, p.data + at, grad + at, mean + at, square + at, top ? top + at : nullptr, end - begin, o);
    };
    if (size <= kThreadElements / 4) run(0, size);
    else parallel(size, kThreadElements / 4, run);
  }
  return none();
}

// The norm of all elements of all tensors: the root of the summed squares of the norm of each.
Ref total_norm2(List list) {
  TensorInfo first;
  DeviceType device = DeviceType::Cpu;
  for (Py_ssize_t i = 0; i < list.size(); i++) {
    TensorInfo a;
    if (!read_tensor(list.at(i), a) || !a.is_float() || !a.contiguous()) return {};
    if (is_meta(a)) device = DeviceType::Meta;
    if (i == 0) first = a;
    if (a.dtype != first.dtype) return {};
  }
  if (list.size() == 0) return {};
  Ref result = new_ref(first.dtype, 0, nullptr, device);
  if (!has_memory(result)) return result;
  const auto kernel = dense_kernels().reducer(Reduce::SumSquares, first.dtype).rows;
  double total = 0;
  for (Py_ssize_t i = 0; i < list.size(); i++) {
    const TensorInfo a = info_of(list.tensor(i));
    if (first.dtype == DType::F32) {
      float squares;
      kernel(a.data, 1, 0, a.size(), &squares);
      const float norm = std::sqrt(squares);
      total += static_cast<double>(norm) * norm;
    } else {
      double squares;
      kernel(a.data, 1, 0, a.size(), &squares);
      total += squares;
    }
  }
  each_value(result, [total]<class T>(T) { return static_cast<T>(std::sqrt(total)); });
  return result;
}

// Multiplies every tensor in place. The factor: a number, or a tensor of one float.
Nothing scale_(List list, Any of) {
  double factor;
  TensorInfo one;
  if (read_tensor(of, one)) {
    if (!one.is_float() || one.size() != 1 || is_meta(one)) return {};
    factor = by_type(one.dtype, [](const auto* v) -> double { return *v; }, one.data);
  } else {
    factor = PyFloat_AsDouble(of);
    if (factor == -1 && PyErr_Occurred()) raised();
  }
  for (Py_ssize_t i = 0; i < list.size(); i++) {
    TensorInfo a;
    if (!parameter(list.at(i), a)) return {};
  }
  for (Py_ssize_t i = 0; i < list.size(); i++) {
    const TensorInfo a = info_of(list.tensor(i));
    if (is_meta(a)) continue;
    dense_kernels().scale(a.dtype, a.data, factor, a.size());
  }
  return none();
}

const KernelRows rows{
    kernel<
        sgd_step,
        "sgd_step(params, grads, buffers, lr, momentum, dampening, weight_decay, nesterov, maximize): writes params and buffers; "
        "a None among the buffers is replaced by a new one">(),
    kernel<adam_step,
           "adam_step(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps, lr, beta1, beta2, eps, weight_decay, amsgrad, "
           "maximize, decoupled): writes all but the gradients; decoupled is AdamW">(),
    kernel<total_norm2, "total_norm2(tensors): the Euclidean norm of all elements, 0-d">(),
    kernel<scale_, "scale_(tensors, factor): writes them">(),
};

}  // namespace

}  // namespace rushlight
