#include "core/lazy.h"

namespace rushlight {

namespace {

// A new array of the conjugates or negatives of another's elements, which lie in memory as they do; the array itself without bits.
PyArrayObject* applied(PyArrayObject* a, uint32_t bits) {
  Ref value = Ref::borrow(as_object(a));
  if (!bits) return as_array(value.release());
  if (bits & kConjBit && PyArray_ISCOMPLEX(a)) value = Ref(PyArray_Conjugate(a, nullptr));
  if (bits & kNegBit && PyArray_ISBOOL(a)) {
    PyErr_SetString(PyExc_NotImplementedError, "\"neg_cpu\" not implemented for 'Bool'");
    return nullptr;
  }
  if (value && bits & kNegBit) value = Ref(PyNumber_Negative(value.get()));
  return value ? as_array(PyArray_FROM_O(value.get())) : nullptr;
}

}  // namespace

PyArrayObject* values_of(Tensor* t) { return applied(t->array, t->flags & kLazy); }

int put_values(Tensor* t, PyArrayObject* values) {
  const Ref held = Ref::borrow(as_object(t->array));
  const Ref fitting(as_object(cast_array(values, t->dtype)));
  const Ref inner(fitting ? as_object(applied(as_array(fitting.get()), t->flags & kLazy)) : nullptr);
  return inner ? PyArray_CopyInto(as_array(held.get()), as_array(inner.get())) : -1;
}

PyObject* plain_tensor(PyObject* o) {
  if (!o || !is_tensor(o) || !(as_tensor(o)->flags & kLazy)) return o;
  const Ref lazy(o);
  return as_object(wrap_array(values_of(as_tensor(o))));
}

PyObject* changed_over(PyObject* t, uint32_t bits) {
  Ref seen(t);
  for (const auto& [bit, name] : {std::pair(kConjBit, "conj_view"), std::pair(kNegBit, "neg_view")}) {
    if (!(bits & bit)) continue;
    Op* op = op_callback(name);
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
