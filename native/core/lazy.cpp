#include "core/capture.h"
#include "core/lazy.h"

#include <algorithm>
#include <cstring>

#include "core/accelerator.h"
#include "core/layout.h"
#include "kernels/copy.h"

namespace rushlight {

namespace {

// A new tensor of the conjugates or negatives of another's elements, which lie in memory as they do.
Tensor* applied(Tensor* t, uint32_t bits) {
  if (bits & kNegBit && t->dtype == DType::Bool) {
    PyErr_SetString(PyExc_NotImplementedError, "\"neg_cpu\" not implemented for 'Bool'");
    return nullptr;
  }
  if (is_accelerator(t->device())) {
    const Owned<Tensor> plain(new_alias(t));
    PyObject *conj = bits & kConjBit ? Py_True : Py_False, *neg = bits & kNegBit ? Py_True : Py_False;
    PyObject* f = callbacks.put_off_there.get();
    Ref found(plain && f ? PyObject_CallFunctionObjArgs(f, plain.get(), conj, neg, nullptr) : nullptr);
    if (!found) return nullptr;
    if (found.get() != Py_NotImplemented) return as_tensor(found.release());
    if (count_fallback("resolve_conj_neg", t->device()) < 0) return nullptr;
    const Owned<Tensor> here(copy_to(t, DeviceType::Cpu)), done(here ? applied(here.get(), bits) : nullptr);
    return done ? copy_to(done.get(), t->device()) : nullptr;
  }
  const bool adjacent = t->is_contiguous() && t->device() == DeviceType::Cpu;
  Tensor* values = adjacent ? new_like(t, t->dtype) : dense_copy(t);
  if (!values || values->device() == DeviceType::Meta) return values;
  constexpr Py_ssize_t kPiece = 512;  // elements: they are still in the first-level cache
  for (Py_ssize_t i = 0, item = values->item(); i < values->numel(); i += kPiece) {
    const Py_ssize_t n = std::min(kPiece, values->numel() - i);
    char* piece = values->data() + i * item;
    if (adjacent) std::memcpy(piece, t->data() + i * item, static_cast<size_t>(n * item));
    if (bits & kConjBit) conjugate_elements(values->dtype, piece, n);
    if (bits & kNegBit) negate_elements(values->dtype, piece, n);
  }
  return values;
}

}  // namespace

namespace {

PyObject* settle(PyObject*, PyObject* const* args, Py_ssize_t, PyObject*) {
  Tensor* t = as_tensor(args[0]);
  return as_object(applied(t, t->flags & kLazy));
}

}  // namespace

Tensor* values_of(Tensor* t) {
  if (!(t->flags & kLazy)) return as_tensor(Py_NewRef(as_object(t)));
  PyObject* shown = as_object(t);
  return as_tensor(recording() ? record_kernel({"resolve_conj", Border::Looks}, settle, nullptr, &shown, 1)
                               : settle(nullptr, &shown, 1, nullptr));
}

int put_values(Tensor* t, Tensor* values) {
  const Owned<Tensor> place(new_alias(t)), fitting(place ? cast(values, t->dtype) : nullptr);
  if (!fitting) return -1;
  if (!(t->flags & kLazy)) return copy_into(place.get(), fitting.get());
  const Owned<Tensor> turned(new_alias(fitting.get()));
  if (!turned) return -1;
  turned->flags |= t->flags & kLazy;
  const Owned<Tensor> inner(values_of(turned.get()));
  return inner ? copy_into(place.get(), inner.get()) : -1;
}

PyObject* plain_tensor(PyObject* o) {
  if (!o || !is_tensor(o) || !(as_tensor(o)->flags & kLazy)) return o;
  const Ref lazy(o);
  return as_object(values_of(as_tensor(o)));
}

PyObject* changed_over(PyObject* t, uint32_t bits) {
  Ref seen(t);
  for (const auto& [bit, view] : {std::pair(kConjBit, &callbacks.conj_view), std::pair(kNegBit, &callbacks.neg_view)}) {
    if (!(bits & bit)) continue;
    Op* op = view->op();
    seen = Ref(op ? call_op(op, seen.get()) : nullptr);
    if (!seen) return nullptr;
  }
  return seen.release();
}

namespace {

// A tuple of the plain tensors of a list.
PyObject* plain_tensors(PyObject* list) {
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(list);
  Ref tuple(PyTuple_New(n));
  for (Py_ssize_t k = 0; tuple && k < n; ++k) {
    PyObject* item = plain_tensor(Py_NewRef(PySequence_Fast_GET_ITEM(list, k)));
    if (!item) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), k, item);
  }
  return tuple.release();
}

}  // namespace

PyObject** PlainSlots::of(Op* op, PyObject* const* slots) {
  for (int i = 0; i < op->n_params; ++i) slots_[i] = slots[i];
  for (uint8_t i : op->tensor_params) {
    if (!slots[i]) continue;
    PyObject* plain = i == op->list_param ? plain_tensors(slots[i]) : plain_tensor(Py_NewRef(slots[i]));
    if (!plain) return nullptr;
    slots_[i] = held_.take(plain);
  }
  return slots_;
}

}  // namespace rushlight
