// A call with out=: what such a call refuses, the forward without a history, and its result written into the given tensors.
#include <algorithm>

#include "core/op.h"

namespace rushlight {

namespace {

// A result that is one of the arguments cannot get another size. -1 with an exception.
int check_resized_argument(Op* op, PyObject* const* slots, PyObject* out) {
  PyObject* operands[kMaxParams];
  int n = 0;
  bool given = false;
  for (uint8_t i : op->tensor_params) {
    if (slots[i] && is_tensor(slots[i])) operands[n++] = slots[i];
    given |= slots[i] == out;
  }
  int ndim;
  Py_ssize_t dims[kMaxDims];
  if (!given || broadcast_shape(operands, n, &ndim, dims) < 0) return given ? -1 : 0;
  return check_out_shape(as_tensor(out), ndim, dims);
}

// Whether the result is to be computed in the type of `out`, which it would not have by itself.
bool takes_type_of_out(Op* op, PyObject* const* slots, PyObject* out) {
  if (op->result.typed_out < 0 || !is_tensor(out) || (slots[op->result.typed_out] && slots[op->result.typed_out] != Py_None))
    return false;
  const DType type = as_tensor(out)->dtype;
  if (!is_differentiable(type)) return !op->result.float_out;
  return !is_tensor(slots[0]) || as_tensor(slots[0])->dtype != type;
}

}  // namespace

PyObject* call_with_out(Op* op, PyObject* const* slots, PyObject* out) {
  note_path(Path::Out);
  uint32_t flags;
  bool wants_grad, symbolic;
  if (op->kind == Op::Pointwise && !is_tensor(out)) {
    PyErr_Format(PyExc_TypeError, "%s(): argument 'out' must be Tensor, not %s", public_name(op).c_str(), Py_TYPE(out)->tp_name);
    return nullptr;
  }
  if (look_at_arguments(op, slots, &flags, &wants_grad, &symbolic) < 0) return nullptr;
  if (is_tensor(out)) flags |= as_tensor(out)->flags | wrapped_bits(as_tensor(out));
  if (flags & kElsewhere && is_tensor(out)) {
    const DeviceType device = as_tensor(out)->device();
    DeviceType other = device;
    for_each_tensor(op, slots, [device, &other](Tensor* t, int) {
      if (t->ndim() && t->device() != device) other = t->device();
      return other == device;
    });
    if (other != device && other != DeviceType::Meta && device != DeviceType::Meta) {
      PyErr_Format(
          PyExc_RuntimeError,
          "Expected all tensors to be on the same device, but found at least two devices, %s and %s! The argument 'out' of "
          "%s() must be where its result is.",
          device_name(other), device_name(device), public_name(op).c_str());
      return nullptr;
    }
    if (other != device) {
      PyErr_Format(PyExc_RuntimeError,
                   "Attempting to copy from device %s to device %s, but cross-device copies are not allowed! The argument 'out' of "
                   "%s() must be where its result is.",
                   device_name(other), device_name(device), public_name(op).c_str());
      return nullptr;
    }
  }
  if (flags & kTangent) {
    PyErr_Format(PyExc_NotImplementedError,
                 "Trying to use forward AD with %s_out that does not support it because it is an out= function",
                 public_name(op).c_str());
    return nullptr;
  }
  if (flags & kTransformed) {
    PyErr_Format(PyExc_RuntimeError,
                 "Batching rule not implemented for aten::%s.out; the fallback path doesn't work on out= or view ops.",
                 public_name(op).c_str());
    return nullptr;
  }
  const bool recorded = op->backward.differentiable || op->kind == Op::Composite;
  if (recorded && grad_enabled() && (wants_grad || (is_tensor(out) && requires_grad(as_tensor(out))))) {
    PyErr_Format(PyExc_RuntimeError,
                 "%s(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
                 "requires grad.",
                 public_name(op).c_str());
    return nullptr;
  }
  const bool looks_first = op->kind == Op::Pointwise;
  if (looks_first && check_in_place(as_tensor(out), false) < 0) return nullptr;
  if (looks_first && refuse_overlap(op, slots, as_tensor(out), -1) < 0) return nullptr;
  if (looks_first && check_resized_argument(op, slots, out) < 0) return nullptr;
  PyObject* typed[kMaxParams];
  if (takes_type_of_out(op, slots, out)) {
    std::copy_n(slots, op->n_params, typed);
    typed[op->result.typed_out] = dtype_object(as_tensor(out)->dtype);
    slots = typed;
  }
  Ref result;
  {
    GradMode off(false);
    result = Ref(call_op(op, slots));
  }
  if (result && !looks_first && is_tensor(out) && (op->in_place.overlap & kArgumentsNever) &&
      refuse_overlap(op, slots, as_tensor(out), -1) < 0) {
    return nullptr;
  }
  PyObject* f = result ? callbacks.write_out.get() : nullptr;
  if (!f) return nullptr;
  const Op* chosen = choose_variant(op, slots);
  if (!chosen) return nullptr;
  PyObject* args[] = {out, result.get(), chosen->name};
  return PyObject_Vectorcall(f, args, 3, nullptr);
}

}  // namespace rushlight
