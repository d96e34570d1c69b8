// Optimizer steps: one call updates every parameter in place.
//
// All lists are checked before the first element is touched, so that a step happens whole or not at all.
#include "bindings/bindings.h"

#include <cmath>

namespace rushlight {
namespace {

constexpr Py_ssize_t kGrain = 1 << 15;

// A list (or tuple) of tensors as one of the lists of a step; None entries are allowed where `optional`.
class TensorInfos {
 public:
  // False with an exception set if it is no sequence of `expected` entries (any number where negative).
  bool read(PyObject* object, const char* name, Py_ssize_t expected) {
    if (!PyList_Check(object) && !PyTuple_Check(object)) {
      PyErr_Format(PyExc_TypeError, "%s must be a list of tensors", name);
      return false;
    }
    list_ = object;
    if (expected >= 0 && size() != expected) {
      PyErr_Format(PyExc_ValueError, "%s has %zd entries, the parameters %zd", name, size(), expected);
      return false;
    }
    return true;
  }
  Py_ssize_t size() const { return PySequence_Fast_GET_SIZE(list_); }
  PyObject* at(Py_ssize_t i) const { return PySequence_Fast_GET_ITEM(list_, i); }
  PyObject* object() const { return list_; }
  Tensor* tensor(Py_ssize_t i) const { return as_tensor(at(i)); }

 private:
  PyObject* list_ = nullptr;
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

// (params, grads, buffers or None, lr, momentum, dampening, weight_decay, nesterov, maximize) -> None
// A None among the buffers is replaced, in the list, by a new buffer.
PyObject* sgd_step(PyObject*, PyObject* const* args, Py_ssize_t count) {
  TensorInfos params, grads, buffers;
  SgdOptions o;
  if (!check_count("sgd_step", count, 9, 9) || !params.read(args[0], "params", -1) ||
      !grads.read(args[1], "grads", params.size()) || !double_argument(args[3], o.lr) || !double_argument(args[4], o.momentum) ||
      !double_argument(args[5], o.dampening) || !double_argument(args[6], o.weight_decay) || !bool_argument(args[7], o.nesterov) ||
      !bool_argument(args[8], o.maximize))
    return nullptr;
  const bool has_momentum = o.momentum != 0;
  const Py_ssize_t n = params.size();
  if (has_momentum && !buffers.read(args[2], "buffers", n)) return nullptr;
  for (Py_ssize_t i = 0; i < n; i++) {
    TensorInfo p;
    if (!parameter(params.at(i), p) || !usable(grads.at(i), p.dtype, p, false)) return not_implemented();
    if (!has_momentum) continue;
    if (buffers.at(i) == Py_None ? !PyList_Check(buffers.object()) : !usable(buffers.at(i), p.dtype, p, true))
      return not_implemented();
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    const TensorInfo p = info_of(params.tensor(i));
    bool first = false;
    void* buffer = nullptr;
    if (has_momentum) {
      if (buffers.at(i) == Py_None) {
        Ref made = new_ref(p.dtype, p.ndim, p.shape, device_of(p));
        if (!made) return nullptr;
        buffer = data_of(made);
        first = true;
        PyList_SetItem(buffers.object(), i, made.release());
      } else {
        buffer = buffers.tensor(i)->data();
      }
    }
    if (is_meta(p)) continue;
    const Py_ssize_t size = p.size();
    const ptrdiff_t item = item_size(p.dtype);
    char* grad = grads.tensor(i)->data();
    if (size <= kGrain) {
      dense_kernels().sgd(p.dtype, p.data, grad, buffer, first, size, o);
      continue;
    }
    parallel(size, kGrain, [&](ptrdiff_t begin, ptrdiff_t end) {
      dense_kernels().sgd(p.dtype, p.data + begin * item, grad + begin * item,
                          buffer ? static_cast<char*>(buffer) + begin * item : nullptr, first, end - begin, o);
    });
  }
  return none();
}

// (params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs or None, steps, lr, beta1, beta2, eps, weight_decay, amsgrad,
//  maximize, decoupled) -> None. steps: 0-d float tensors, incremented.
PyObject* adam_step(PyObject*, PyObject* const* args, Py_ssize_t count) {
  TensorInfos params, grads, means, squares, highest, steps;
  AdamOptions o;
  if (!check_count("adam_step", count, 14, 14) || !params.read(args[0], "params", -1)) return nullptr;
  const Py_ssize_t n = params.size();
  if (!grads.read(args[1], "grads", n) || !means.read(args[2], "exp_avgs", n) || !squares.read(args[3], "exp_avg_sqs", n) ||
      !steps.read(args[5], "steps", n) || !double_argument(args[6], o.lr) || !double_argument(args[7], o.beta1) ||
      !double_argument(args[8], o.beta2) || !double_argument(args[9], o.eps) || !double_argument(args[10], o.weight_decay) ||
      !bool_argument(args[11], o.amsgrad) || !bool_argument(args[12], o.maximize) || !bool_argument(args[13], o.decoupled))
    return nullptr;
  if (o.amsgrad && !highest.read(args[4], "max_exp_avg_sqs", n)) return nullptr;
  for (Py_ssize_t i = 0; i < n; i++) {
    TensorInfo p, step;
    if (!parameter(params.at(i), p) || !usable(grads.at(i), p.dtype, p, false) || !usable(means.at(i), p.dtype, p, true) ||
        !usable(squares.at(i), p.dtype, p, true) || (o.amsgrad && !usable(highest.at(i), p.dtype, p, true)))
      return not_implemented();
    if (!read_tensor(steps.at(i), step) || !step.is_float() || step.size() != 1 || !step.contiguous() ||
        !step.tensor->is_writeable())
      return not_implemented();
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    const TensorInfo p = info_of(params.tensor(i));
    const TensorInfo step = info_of(steps.tensor(i));
    if (is_meta(p, step)) continue;
    double t;
    if (step.dtype == DType::F32) t = *reinterpret_cast<float*>(step.data) += 1;
    else t = *reinterpret_cast<double*>(step.data) += 1;
    const Py_ssize_t size = p.size();
    const ptrdiff_t item = item_size(p.dtype);
    char* grad = grads.tensor(i)->data();
    char* mean = means.tensor(i)->data();
    char* square = squares.tensor(i)->data();
    char* top = o.amsgrad ? highest.tensor(i)->data() : nullptr;
    const auto run = [&](ptrdiff_t begin, ptrdiff_t end) {
      const ptrdiff_t at = begin * item;
      dense_kernels().adam(p.dtype, p.data + at, grad + at, mean + at, square + at, top ? top + at : nullptr, end - begin, t, o);
    };
    if (size <= kGrain / 4) run(0, size);
    else parallel(size, kGrain / 4, run);
  }
  return none();
}

// The norm of all elements of all tensors: the root of the summed squares of the norm of each.
PyObject* total_norm2(PyObject*, PyObject* const* args, Py_ssize_t count) {
  TensorInfos list;
  if (!check_count("total_norm2", count, 1, 1) || !list.read(args[0], "tensors", -1)) return nullptr;
  TensorInfo first;
  for (Py_ssize_t i = 0; i < list.size(); i++) {
    TensorInfo a;
    if (!read_tensor(list.at(i), a) || !a.is_float() || !a.contiguous()) return not_implemented();
    if (i == 0) first = a;
    if (a.dtype != first.dtype) return not_implemented();
  }
  if (list.size() == 0) return not_implemented();
  DeviceType device = DeviceType::Cpu;
  for (Py_ssize_t i = 0; i < list.size(); i++)
    if (is_meta(info_of(list.tensor(i)))) device = DeviceType::Meta;
  Ref result = new_ref(first.dtype, 0, nullptr, device);
  if (!result || device == DeviceType::Meta) return result.release();
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
  if (first.dtype == DType::F32) *data_of<float>(result) = static_cast<float>(std::sqrt(total));
  else *data_of<double>(result) = std::sqrt(total);
  return result.release();
}

// (tensors, factor): multiplies every tensor in place.
PyObject* scale_(PyObject*, PyObject* const* args, Py_ssize_t count) {
  TensorInfos list;
  double factor;
  if (!check_count("scale_", count, 2, 2) || !list.read(args[0], "tensors", -1) || !double_argument(args[1], factor))
    return nullptr;
  for (Py_ssize_t i = 0; i < list.size(); i++) {
    TensorInfo a;
    if (!parameter(list.at(i), a)) return not_implemented();
  }
  for (Py_ssize_t i = 0; i < list.size(); i++) {
    const TensorInfo a = info_of(list.tensor(i));
    if (is_meta(a)) continue;
    dense_kernels().scale(a.dtype, a.data, factor, a.size());
  }
  return none();
}

}  // namespace

PyMethodDef kOptimizerMethods[] = {
    kernel<sgd_step>("sgd_step",
                     "sgd_step(params, grads, buffers_or_None, lr, momentum, dampening, weight_decay, nesterov, "
                     "maximize): in place; a None among the buffers is replaced by a new one"),
    kernel<adam_step>("adam_step",
                      "adam_step(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs_or_None, steps, lr, beta1, beta2, "
                      "eps, weight_decay, amsgrad, maximize, decoupled): in place; decoupled is AdamW"),
    kernel<total_norm2>("total_norm2", "total_norm2(tensors): the Euclidean norm of all elements, 0-d"),
    kernel<scale_>("scale_", "scale_(tensors, factor): in place"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace rushlight
