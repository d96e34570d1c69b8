// Python's operators: `a + b` finds the callable that the table registered for the operator, and calls it. An Op is called
// directly, without Python in between.
#include <cstring>
#include <iterator>

#include "core/callbacks.h"
#include "core/layout.h"
#include "core/override.h"

namespace rushlight {

namespace {

enum Operator : int {
  kAdd,
  kRAdd,
  kSub,
  kRSub,
  kMul,
  kRMul,
  kDiv,
  kRDiv,
  kFloorDiv,
  kRFloorDiv,
  kMod,
  kRMod,
  kPow,
  kRPow,
  kMatMul,
  kRMatMul,
  kAnd,
  kRAnd,
  kOr,
  kROr,
  kXor,
  kRXor,
  kLShift,
  kRLShift,
  kRShift,
  kRRShift,
  kNeg,
  kPos,
  kAbs,
  kInvert,
  kLt,
  kLe,
  kEq,
  kNe,
  kGt,
  kGe,
  kIAdd,
  kISub,
  kIMul,
  kIDiv,
  kIFloorDiv,
  kIMod,
  kIPow,
  kIAnd,
  kIOr,
  kIXor,
  kILShift,
  kIRShift,
  kOperators
};
constexpr const char* kOperatorNames[] = {"add",       "radd",      "sub",  "rsub", "mul",  "rmul",   "truediv", "rtruediv",
                                          "floordiv",  "rfloordiv", "mod",  "rmod", "pow",  "rpow",   "matmul",  "rmatmul",
                                          "and",       "rand",      "or",   "ror",  "xor",  "rxor",   "lshift",  "rlshift",
                                          "rshift",    "rrshift",   "neg",  "pos",  "abs",  "invert", "lt",      "le",
                                          "eq",        "ne",        "gt",   "ge",   "iadd", "isub",   "imul",    "itruediv",
                                          "ifloordiv", "imod",      "ipow", "iand", "ior",  "ixor",   "ilshift", "irshift"};
// The member of Tensor that `__torch_function__` is told of: not always the operator's own.
constexpr const char* kMembers[] = {"add",
                                    "add",
                                    "sub",
                                    "__rsub__",
                                    "mul",
                                    "mul",
                                    "div",
                                    "__rtruediv__",
                                    "__floordiv__",
                                    "__rfloordiv__",
                                    "remainder",
                                    "__rmod__",
                                    "__pow__",
                                    "__rpow__",
                                    "matmul",
                                    "__rmatmul__",
                                    "__and__",
                                    "bitwise_and",
                                    "__or__",
                                    "bitwise_or",
                                    "__xor__",
                                    "bitwise_xor",
                                    "__lshift__",
                                    "__rlshift__",
                                    "__rshift__",
                                    "__rrshift__",
                                    "neg",
                                    "positive",
                                    "abs",
                                    "__invert__",
                                    "lt",
                                    "le",
                                    "__eq__",
                                    "ne",
                                    "gt",
                                    "ge",
                                    "add_",
                                    "sub_",
                                    "mul_",
                                    "div_",
                                    "floor_divide_",
                                    "remainder_",
                                    "__ipow__",
                                    "__iand__",
                                    "__ior__",
                                    "__ixor__",
                                    "__ilshift__",
                                    "__irshift__"};
static_assert(std::size(kMembers) == kOperators && std::size(kOperatorNames) == kOperators);
PyObject* operators[kOperators] = {};

PyObject* apply(PyObject* f, PyObject* a, PyObject* b) {
  if (Py_TYPE(f) == OpType) return call_op(reinterpret_cast<Op*>(f), a, b);
  const Ref held = Ref::borrow(f);  // which may read the op's room, and put the op in its own place
  PyObject* args[] = {a, b};
  return PyObject_Vectorcall(f, args, b ? 2 : 1, nullptr);
}

bool is_operand(PyObject* o) { return is_tensor(o) || is_python_scalar(o); }

// Whether a class or a mode takes the operator over; `a` is the tensor that it is a member of.
bool taken_over(Operator which, PyObject* a, PyObject* b, PyObject** result) {
  return slot_overridden(kMembers[which], a, b, true, result);
}

// A result, or NotImplemented in the place of a TypeError.
PyObject* or_not_implemented(PyObject* result) {
  if (result || !PyErr_ExceptionMatches(PyExc_TypeError)) return result;
  PyErr_Clear();
  Py_RETURN_NOTIMPLEMENTED;
}

template <Operator kForward, Operator kReflected>
PyObject* binary(PyObject* a, PyObject* b) {
  const bool everyday = is_plain_operand(a) && is_plain_operand(b);
  PyObject *f, *result;
  if (is_tensor(a)) {
    if (!everyday && taken_over(kForward, a, b, &result)) return result;
    f = operators[kForward];
    // A matrix product has no meaning for a number: Python says so.
    if (!f || !(kForward == kMatMul ? is_tensor(b) : everyday || is_operand(b))) Py_RETURN_NOTIMPLEMENTED;
    return apply(f, a, b);
  }
  if (!everyday && taken_over(kReflected, b, a, &result)) return result;
  f = operators[kReflected];
  if (!f) Py_RETURN_NOTIMPLEMENTED;
  if (everyday || is_operand(a)) return apply(f, b, a);
  // NumPy leaves `array / tensor` to the tensor, and only that is more than an error in torch: its formula has an array in a product.
  if (kReflected != kRDiv || !is_array(a)) Py_RETURN_NOTIMPLEMENTED;
  return or_not_implemented(apply(f, b, a));
}

template <Operator kWhich>
PyObject* in_place(PyObject* a, PyObject* b) {
  const bool everyday = is_plain(a) && is_plain_operand(b);
  PyObject* result;
  if (!everyday && taken_over(kWhich, a, b, &result)) return result;
  PyObject* f = operators[kWhich];
  if (!f || !(everyday || is_operand(b))) Py_RETURN_NOTIMPLEMENTED;
  return apply(f, a, b);
}

template <Operator kWhich>
PyObject* unary(PyObject* a) {
  PyObject* result;
  if (!is_plain(a) && taken_over(kWhich, a, nullptr, &result)) return result;
  if (!operators[kWhich]) {
    PyErr_Format(PyExc_TypeError, "bad operand type for unary %s: 'Tensor'", kOperatorNames[kWhich]);
    return nullptr;
  }
  return apply(operators[kWhich], a, nullptr);
}

PyObject* ternary_pow(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary<kPow, kRPow>(a, b);
}
PyObject* in_place_pow(PyObject* a, PyObject* b, PyObject*) { return in_place<kIPow>(a, b); }

// Element by element, in either order: NumPy leaves `array == tensor` to the tensor. An array that no tensor can show is unequal.
PyObject* compare_with_array(Operator which, PyObject* a, PyObject* array) {
  PyObject* as_tensor = callbacks.as_tensor.get();
  const Ref b(as_tensor ? or_not_implemented(PyObject_CallOneArg(as_tensor, array)) : nullptr);
  return b && is_tensor(b.get()) ? apply(operators[which], a, b.get()) : Py_XNewRef(b.get());
}

PyObject* compare(PyObject* a, PyObject* b, int how) {
  static constexpr Operator which[] = {kLt, kLe, kEq, kNe, kGt, kGe};
  const bool everyday = is_plain(a) && is_plain_operand(b);
  PyObject* result;
  if (!everyday && taken_over(which[how], a, b, &result)) return result;
  PyObject* f = operators[which[how]];
  if (!f) Py_RETURN_NOTIMPLEMENTED;
  if (everyday || is_operand(b)) return apply(f, a, b);
  const bool equality = how == Py_EQ || how == Py_NE;
  if (!equality || !is_array(b)) Py_RETURN_NOTIMPLEMENTED;
  return compare_with_array(which[how], a, b);
}

}  // namespace

// set_operator(name, callable): what `a + b` and its kind call.
PyObject* set_operator(PyObject*, PyObject* args) {
  const char* name;
  PyObject* f;
  if (!PyArg_ParseTuple(args, "sO", &name, &f)) return nullptr;
  for (int i = 0; i < kOperators; ++i) {
    if (!strcmp(name, kOperatorNames[i])) {
      Py_INCREF(f);
      Py_XSETREF(operators[i], f);
      Py_RETURN_NONE;
    }
  }
  PyErr_Format(PyExc_ValueError, "no operator '%s'", name);
  return nullptr;
}

void add_operator_slots(std::vector<PyType_Slot>* slots) {
  const PyType_Slot own[] = {
      {Py_tp_richcompare, slot_of<compare>()},
      {Py_nb_add, slot_of<binary<kAdd, kRAdd>>()},
      {Py_nb_subtract, slot_of<binary<kSub, kRSub>>()},
      {Py_nb_multiply, slot_of<binary<kMul, kRMul>>()},
      {Py_nb_true_divide, slot_of<binary<kDiv, kRDiv>>()},
      {Py_nb_floor_divide, slot_of<binary<kFloorDiv, kRFloorDiv>>()},
      {Py_nb_remainder, slot_of<binary<kMod, kRMod>>()},
      {Py_nb_power, slot_of<ternary_pow>()},
      {Py_nb_matrix_multiply, slot_of<binary<kMatMul, kRMatMul>>()},
      {Py_nb_and, slot_of<binary<kAnd, kRAnd>>()},
      {Py_nb_or, slot_of<binary<kOr, kROr>>()},
      {Py_nb_xor, slot_of<binary<kXor, kRXor>>()},
      {Py_nb_lshift, slot_of<binary<kLShift, kRLShift>>()},
      {Py_nb_rshift, slot_of<binary<kRShift, kRRShift>>()},
      {Py_nb_negative, slot_of<unary<kNeg>>()},
      {Py_nb_positive, slot_of<unary<kPos>>()},
      {Py_nb_absolute, slot_of<unary<kAbs>>()},
      {Py_nb_invert, slot_of<unary<kInvert>>()},
      {Py_nb_inplace_add, slot_of<in_place<kIAdd>>()},
      {Py_nb_inplace_subtract, slot_of<in_place<kISub>>()},
      {Py_nb_inplace_multiply, slot_of<in_place<kIMul>>()},
      {Py_nb_inplace_true_divide, slot_of<in_place<kIDiv>>()},
      {Py_nb_inplace_floor_divide, slot_of<in_place<kIFloorDiv>>()},
      {Py_nb_inplace_remainder, slot_of<in_place<kIMod>>()},
      {Py_nb_inplace_power, slot_of<in_place_pow>()},
      {Py_nb_inplace_and, slot_of<in_place<kIAnd>>()},
      {Py_nb_inplace_or, slot_of<in_place<kIOr>>()},
      {Py_nb_inplace_xor, slot_of<in_place<kIXor>>()},
      {Py_nb_inplace_lshift, slot_of<in_place<kILShift>>()},
      {Py_nb_inplace_rshift, slot_of<in_place<kIRShift>>()},
  };
  slots->insert(slots->end(), std::begin(own), std::end(own));
}

}  // namespace rushlight
