// Pointwise ops: type promotion, broadcasting and the road to the block machine (kernels/). Complex numbers, and ops that have no
// kernel for a type, take the op's portable NumPy definition instead, on operands already cast to the common type.
//
// Note [Promotion], torch's rule: tensors with dimensions decide; 0-dim tensors only lift the result to a higher category
// (bool < int < float < complex); Python numbers likewise, with the default float and int64 as their types.
#include "core/tensor.h"

#include <cmath>
#include <cstring>
#include <string>

namespace rushlight {

namespace {

enum Category { kBool, kInt, kFloat, kComplex };

Category category_of(DType t) {
  if (t == DType::Bool) return kBool;
  if (is_complex(t)) return kComplex;
  return is_floating(t) ? kFloat : kInt;
}

DType to_complex(DType t) { return t == DType::F64 || t == DType::C128 ? DType::C128 : DType::C64; }

constexpr DType kNone = DType::Count;

DType combine(DType high, DType low) {
  if (high == kNone) return low;
  if (low == kNone) return high;
  const Category h = category_of(high), l = category_of(low);
  if (h == kComplex) return high;
  if (h == kFloat) return l == kComplex ? to_complex(high) : high;
  if (h == kBool || l == kFloat || l == kComplex) return promote(high, low);
  return high;
}

bool has_type(uint16_t types, DType type) { return types >> static_cast<int>(type) & 1; }

DType scalar_dtype(PyObject* o) {
  if (PyBool_Check(o) || PyArray_IsScalar(o, Bool)) return DType::Bool;
  if (PyFloat_Check(o) || PyArray_IsScalar(o, Floating)) return registry.default_dtype;
  if (PyComplex_Check(o) || PyArray_IsScalar(o, ComplexFloating)) return to_complex(registry.default_dtype);
  return DType::I64;
}

}  // namespace

bool is_python_scalar(PyObject* o) {
  return PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o) || PyArray_IsScalar(o, Number) || PyArray_IsScalar(o, Bool);
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  const Category ca = category_of(a), cb = category_of(b);
  if (ca == kComplex || cb == kComplex) {
    const bool wide = a == DType::C128 || b == DType::C128 || a == DType::F64 || b == DType::F64;
    return wide ? DType::C128 : DType::C64;
  }
  if (ca == kFloat || cb == kFloat) {
    if (ca != kFloat) return b;
    if (cb != kFloat) return a;
    if (a == DType::F64 || b == DType::F64) return DType::F64;
    return DType::F32;  // float32 with a half, or the two halves together
  }
  if (ca == kBool) return b;
  if (cb == kBool) return a;
  // Signed integers by width; an unsigned one needs a wider signed partner.
  const auto is_unsigned = [](DType t) { return t == DType::U8 || t >= DType::U16; };
  const ptrdiff_t sa = item_size(a), sb = item_size(b);
  if (is_unsigned(a) == is_unsigned(b)) return sa >= sb ? a : b;
  const DType s = is_unsigned(a) ? b : a;
  const ptrdiff_t su = is_unsigned(a) ? sa : sb, ss = item_size(s);
  if (ss > su) return s;
  return su == 1 ? DType::I16 : su == 2 ? DType::I32 : DType::I64;
}

bool can_cast(DType from, DType to) { return category_of(from) <= category_of(to); }

DType common_type_of(Op* op, PyObject* const* operands, int n) {
  return op->own_type && is_tensor(operands[0]) ? as_tensor(operands[0])->dtype : result_type_of(operands, n);
}

DType result_type_of(PyObject* const* operands, int n) {
  DType dims = kNone, zero = kNone, wrapped = kNone;
  for (int i = 0; i < n; ++i) {
    PyObject* o = operands[i];
    if (is_tensor(o)) {
      Tensor* t = as_tensor(o);
      DType& group = PyArray_NDIM(t->array) > 0 ? dims : zero;
      group = group == kNone ? t->dtype : promote(group, t->dtype);
    } else {
      const DType d = scalar_dtype(o);
      wrapped = wrapped == kNone ? d : promote(wrapped, d);
    }
  }
  return combine(dims, combine(zero, wrapped));
}

PyObject* scalar_object(PyObject* o) {
  if (PyArray_CheckScalar(o)) return PyObject_CallMethod(o, "item", nullptr);
  return Py_NewRef(o);
}

PyArrayObject* cast_array(PyArrayObject* array, DType to) {
  if (dtype_of(array) == to) return as_array(Py_NewRef(as_object(array)));
  PyArray_Descr* descr = descr_of(to);
  if (!descr) return nullptr;
  if (is_complex(dtype_of(array)) && !is_complex(to)) {
    // torch drops the imaginary part without a word; NumPy would warn.
    Ref real(PyObject_GetAttrString(as_object(array), "real"));
    return real ? cast_array(as_array(real.get()), to) : nullptr;
  }
  Py_INCREF(descr);
  return as_array(PyArray_CastToType(array, descr, 0));
}

int broadcast_shape(PyObject* const* operands, int n, int* ndim_out, npy_intp* dims) {
  int ndim = 0;
  for (int i = 0; i < n; ++i) {
    if (is_tensor(operands[i])) ndim = std::max(ndim, PyArray_NDIM(as_tensor(operands[i])->array));
  }
  for (int d = 0; d < ndim; ++d) dims[d] = 1;
  for (int i = 0; i < n; ++i) {
    if (!is_tensor(operands[i])) continue;
    PyArrayObject* a = as_tensor(operands[i])->array;
    const int shift = ndim - PyArray_NDIM(a);
    for (int d = PyArray_NDIM(a) - 1; d >= 0; --d) {
      const npy_intp size = PyArray_DIM(a, d);
      npy_intp& have = dims[d + shift];
      if (size == have || size == 1) continue;
      if (have == 1) {
        have = size;
        continue;
      }
      PyErr_Format(PyExc_RuntimeError,
                   "The size of tensor a (%zd) must match the size of tensor b (%zd) at non-singleton dimension %d", have, size,
                   d + shift);
      return -1;
    }
  }
  *ndim_out = ndim;
  return 0;
}

int check_out_shape(PyArrayObject* out, int ndim, const npy_intp* dims) {
  if (ndim == PyArray_NDIM(out) && PyArray_CompareLists(dims, PyArray_DIMS(out), ndim)) return 0;
  PyErr_Format(PyExc_RuntimeError, "output with shape %s doesn't match the broadcast shape %s",
               sizes_text(PyArray_DIMS(out), PyArray_NDIM(out)).c_str(), sizes_text(dims, ndim).c_str());
  return -1;
}

namespace {

// A Python number as the element that a kernel reads with stride 0.
struct Constant {
  union {
    double f64;
    float f32;
    int64_t i64;
  };
};

// -1 with an exception; 0 where the number does not fit the compute type (complex).
int read_constant(PyObject* o, DType compute, Constant* c) {
  if (compute == DType::I64) {
    Ref index(PyNumber_Index(o));
    if (!index) return -1;
    int overflow;
    c->i64 = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
    if (overflow) {
      // Beyond what torch calls a number: Python's own words, as there.
      if (PyLong_AsUnsignedLongLong(index.get()) == static_cast<unsigned long long>(-1) && PyErr_Occurred()) return -1;
      PyErr_SetString(PyExc_RuntimeError, "Overflow when unpacking long long: the number does not fit in 64 bits");
      return -1;
    }
    return 1;
  }
  const double v = PyFloat_CheckExact(o) ? PyFloat_AS_DOUBLE(o) : PyFloat_AsDouble(o);
  if (v == -1 && PyErr_Occurred()) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError) && PyLong_Check(o)) {
      PyErr_Clear();
      PyErr_SetString(PyExc_RuntimeError, "Overflow when unpacking long long: the number does not fit in 64 bits");
    }
    return -1;
  }
  if (compute == DType::F32) c->f32 = static_cast<float>(v);
  else c->f64 = v;
  return 1;
}

// Whether reading a number may run Python code.
bool is_own_number(PyObject* o) {
  const PyTypeObject* type = Py_TYPE(o);
  return type != TensorType && type != &PyFloat_Type && type != &PyLong_Type && !is_tensor(o);
}

bool same_layout(PyArrayObject* a, PyArrayObject* b) {
  if (PyArray_NDIM(a) != PyArray_NDIM(b)) return false;
  return PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), PyArray_NDIM(a));
}

bool has_kernels(const Program& program, DType compute) {
  for (const Instr& i : program.code) {
    if (!kernels().block(i.op, compute)) return false;
  }
  return true;
}

DType compute_type(DType t) {
  switch (t) {
    case DType::F32:
    case DType::F16:
    case DType::BF16: return DType::F32;
    case DType::F64: return DType::F64;
    case DType::C64:
    case DType::C128:
    case DType::U64: return kNone;
    default: return DType::I64;
  }
}

// A new array for a result of the operands' broadcast shape. Like torch's, it keeps the memory order of the first operand that
// already has that shape.
PyArrayObject* result_array(PyObject* const* operands, int n, int ndim, const npy_intp* dims, DType dtype) {
  for (int i = 0; i < n; ++i) {
    if (!is_tensor(operands[i])) continue;
    PyArrayObject* a = as_tensor(operands[i])->array;
    if (PyArray_NDIM(a) != ndim || !PyArray_CompareLists(PyArray_DIMS(a), dims, ndim)) continue;
    if (PyArray_IS_C_CONTIGUOUS(a)) break;
    bool broadcast = false;
    for (int d = 0; d < ndim; ++d) broadcast |= PyArray_STRIDE(a, d) == 0 && PyArray_DIM(a, d) > 1;
    if (broadcast) continue;
    PyArray_Descr* descr = descr_of(dtype);
    if (!descr) return nullptr;
    Py_INCREF(descr);
    PyArrayObject* array = as_array(PyArray_NewLikeArray(a, NPY_KEEPORDER, descr, 0));
    if (!array) reword_memory_error();
    return array;
  }
  return new_array(dtype, ndim, dims);
}

// Runs the program into `out`, which the caller holds. Numbers that have a `__float__` or `__index__` of their own are read first:
// after that a tensor may have another array. From then on nothing but the machine runs, and what it reads is held.
int run_machine(const Program& program, DType compute, PyObject* const* operands, int n, PyArrayObject* out) {
  const int ndim = PyArray_NDIM(out);
  Strided inputs[kMaxParams];
  Constant constants[kMaxParams];
  npy_intp strides[kMaxParams][NPY_MAXDIMS];
  npy_intp zero[NPY_MAXDIMS];
  bool zeroed = false;
  for (int i = 0; i < n; ++i) {
    if (is_own_number(operands[i]) && read_constant(operands[i], compute, &constants[i]) < 0) return -1;
  }
  const bool released = PyArray_SIZE(out) > kReleaseSize;
  Held<kMaxParams> held;
  for (int i = 0; i < n; ++i) {
    PyObject* o = operands[i];
    if (!is_tensor(o)) {
      if (!zeroed) {
        for (int d = 0; d < ndim; ++d) zero[d] = 0;
        zeroed = true;
      }
      if (!is_own_number(o) && read_constant(o, compute, &constants[i]) < 0) return -1;
      inputs[i] = Strided{reinterpret_cast<char*>(&constants[i]), compute, reinterpret_cast<ptrdiff_t*>(zero)};
      continue;
    }
    PyArrayObject* a = as_tensor(o)->array;
    const int shift = ndim - PyArray_NDIM(a);
    const ptrdiff_t* s = PyArray_STRIDES(a);
    if (shift != 0 || !same_layout(a, out)) {
      bool fits = shift >= 0;
      for (int d = 0; d < shift; ++d) strides[i][d] = 0;
      for (int d = 0; fits && d < PyArray_NDIM(a); ++d) {
        strides[i][d + shift] = PyArray_DIM(a, d) == 1 ? 0 : PyArray_STRIDE(a, d);
        fits = PyArray_DIM(a, d) == 1 || PyArray_DIM(a, d) == PyArray_DIM(out, d + shift);
      }
      // So it is where `out` was given and is smaller, or where code that ran in between has changed the operand.
      if (!fits) return check_out_shape(out, PyArray_NDIM(a), PyArray_DIMS(a));
      s = strides[i];
    }
    inputs[i] = Strided{PyArray_BYTES(a), as_tensor(o)->dtype, s};
    if (released) held.borrow(as_object(a));
  }
  const Strided result{PyArray_BYTES(out), dtype_of(out), PyArray_STRIDES(out)};
  ReleaseGil release(released);
  kernels().run_program(program, compute, inputs, result, ndim, PyArray_DIMS(out));
  return 0;
}

// The op's NumPy definition on operands of the common type.
PyArrayObject* run_portable(Op* op, PyObject* const* slots, int n, DType common, DType result, PyArrayObject* out) {
  PyObject* definition = op->portable ? op->portable : op->forward;
  if (!definition) {
    PyErr_Format(PyExc_NotImplementedError, "\"%U\" not implemented for '%s'", op->name, scalar_name(common));
    return nullptr;
  }
  Ref args[kMaxParams];
  PyObject* raw[kMaxParams];
  for (int i = 0; i < op->n_params; ++i) {
    if (i < n && is_tensor(slots[i])) {
      args[i] = Ref(as_object(cast_array(as_tensor(slots[i])->array, common)));
    } else if (i < n && op->params[i].kind != Param::Number) {
      PyArray_Descr* descr = descr_of(common);
      if (!descr) return nullptr;
      Py_INCREF(descr);
      args[i] = Ref(PyArray_FromAny(slots[i], nullptr, 0, 0, 0, nullptr));
      if (!args[i]) {
        Py_DECREF(descr);
        return nullptr;
      }
      args[i] = Ref(PyArray_CastToType(as_array(args[i].get()), descr, 0));
    } else {
      args[i] = Ref::borrow(slots[i]);
    }
    if (!args[i]) return nullptr;
    raw[i] = args[i].get();
  }
  PyObject* value = PyObject_Vectorcall(definition, raw, op->n_params, nullptr);
  if (!value) {
    reword_memory_error();
    return nullptr;
  }
  if (value == Py_NotImplemented) {
    Py_DECREF(value);
    PyErr_Format(PyExc_NotImplementedError, "\"%U\" not implemented for '%s'", op->name, scalar_name(common));
    return nullptr;
  }
  Ref array(PyArray_FROM_O(value));
  Py_DECREF(value);
  if (!array) return nullptr;
  const DType given = dtype_of(as_array(array.get()));
  if (given != DType::Count && has_type(op->portable_for, common)) {  // abs of complex numbers is real
    if (!out) {
      result = given;
    } else if (!can_cast(given, result)) {
      PyErr_Format(PyExc_RuntimeError, "result type %s can't be cast to the desired output type %s", scalar_name(given),
                   scalar_name(result));
      return nullptr;
    }
  }
  PyArrayObject* cast = cast_array(as_array(array.get()), result);
  if (!cast) return nullptr;
  if (!out) {
    if (!PyArray_BASE(cast) && cast != as_array(array.get())) return cast;
    if (!PyArray_BASE(cast)) return cast;
    Ref owned(as_object(cast));
    return as_array(PyArray_NewCopy(cast, NPY_KEEPORDER));
  }
  Ref owned(as_object(cast));
  if (PyArray_CopyInto(out, cast) < 0) return nullptr;
  return as_array(Py_NewRef(as_object(out)));
}

void raise_refusal(PyObject* refusals, DType type) {
  Ref key(PyLong_FromLong(static_cast<long>(type)));
  PyObject* why = key ? PyDict_GetItemWithError(refusals, key.get()) : nullptr;
  if (why) PyErr_SetObject(PyTuple_GET_ITEM(why, 0), PyTuple_GET_ITEM(why, 1));
}

// -1 with an exception where an argument has a type that the op does not take.
int check_arguments(Op* op, PyObject* const* slots, int n, DType common) {
  if (has_type(op->refused, common)) {
    raise_refusal(op->refusals, common);
    return -1;
  }
  if (op->one_type && is_tensor(slots[0])) {
    const DType first = as_tensor(slots[0])->dtype;
    for (int i = 1; i < n; ++i) {
      if (!is_tensor(slots[i]) || as_tensor(slots[i])->dtype == first) continue;
      if (op->one_type_text) {
        PyErr_SetObject(PyExc_RuntimeError, op->one_type_text);
        return -1;
      }
      PyErr_Format(PyExc_RuntimeError, "expected dtype %s for `%U` but got dtype %s", c_name(first), op->params[i].name,
                   c_name(as_tensor(slots[i])->dtype));
      return -1;
    }
  }
  if (op->zero_dim_param >= 0) {
    PyObject* o = slots[op->zero_dim_param];
    if (is_tensor(o) && PyArray_NDIM(as_tensor(o)->array) > 0) {
      PyErr_Format(PyExc_RuntimeError, PyUnicode_AsUTF8(op->zero_dim_text), PyArray_NDIM(as_tensor(o)->array));
      return -1;
    }
  }
  for (const Refusal& r : op->argument_refusals) {
    for (int i = 0; i < n; ++i) {
      if ((r.param != i && r.param != kAnyParam) || op->params[i].kind > Param::Operand) continue;
      const DType type = is_tensor(slots[i]) ? as_tensor(slots[i])->dtype : scalar_dtype(slots[i]);
      if (!has_type(r.types, type)) continue;
      raise_refusal(r.why, type);
      return -1;
    }
  }
  return 0;
}

// Whether a number surely fits an element type; false where only a closer look can tell.
bool surely_fits(PyObject* o, DType type) {
  const double v = PyFloat_CheckExact(o) ? PyFloat_AS_DOUBLE(o) : PyLong_Check(o) ? PyLong_AsDouble(o) : NAN;
  if (v == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    return false;
  }
  if (type == DType::F64) return PyFloat_Check(o) || std::fabs(v) < 1e15;
  if (is_floating(type)) return !std::isfinite(v) ? PyFloat_Check(o) : std::fabs(v) < (type == DType::F16 ? 65504.0 : 3e38);
  if (PyFloat_Check(o)) return v >= 0 && v <= 127;
  switch (type) {
    case DType::I64: return std::fabs(v) < 1e15;
    case DType::I32: return std::fabs(v) < 2e9;
    case DType::I16: return std::fabs(v) < 32767;
    case DType::U8: return v >= 0 && v <= 255;
    default: return v >= 0 && v <= 127;
  }
}

// Keeps what was made for a call alive with the rest that `owned`, a list, keeps. -1 with an exception, where nothing was made too.
int keep(const Ref& made, Ref* owned) {
  if (!*owned) *owned = Ref(PyList_New(0));
  return made && *owned ? PyList_Append(owned->get(), made.get()) : -1;
}

// Puts numbers, and single elements of another floating-point type, into `fitted` as elements of the half type `common`; `owned`
// keeps what is new there. `slots` may be `fitted` itself, with numbers that `owned` keeps. -1 with an exception.
int round_numbers(Op* op, PyObject* const* slots, int n, DType common, PyObject** fitted, Ref* owned) {
  for (int i = 0; i < op->n_params; ++i) fitted[i] = slots[i];
  for (int i = 0; i < n; ++i) {
    PyObject* o = slots[i];
    Ref wide;
    if (is_tensor(o)) {
      const Tensor* t = as_tensor(o);
      if (PyArray_NDIM(t->array) || t->dtype == common || !is_floating(t->dtype)) continue;
      wide = Ref(as_object(cast_array(t->array, DType::F32)));
    } else if (PyFloat_Check(o) || PyLong_Check(o)) {
      const double v = PyFloat_AsDouble(o);
      if (v == -1 && PyErr_Occurred()) {  // too large: said where it is read
        PyErr_Clear();
        continue;
      }
      wide = Ref(as_object(new_array(DType::F32, 0, nullptr)));
      if (wide) *static_cast<float*>(PyArray_DATA(as_array(wide.get()))) = static_cast<float>(v);
    } else {
      continue;
    }
    PyArrayObject* array = wide ? cast_array(as_array(wide.get()), common) : nullptr;
    Ref element(as_object(array ? wrap_array(array) : nullptr));
    if (keep(element, owned) < 0) return -1;
    fitted[i] = element.get();
  }
  return 0;
}

// Puts what must fit the common type into `fitted` (`owned`, empty at first, keeps what is new there): numbers, and single elements of
// another type where the op has its first argument's. -1 with torch's exception where one does not fit.
int fit_numbers(Op* op, PyObject* const* slots, int n, DType common, PyObject** fitted, Ref* owned) {
  for (int i = 0; i < n; ++i) {
    PyObject* o = slots[i];
    if (is_tensor(o)) {
      if (!op->own_type || op->params[i].kind != Param::Operand || as_tensor(o)->dtype == common) continue;
      o = as_object(as_tensor(o)->array);
    } else if (!op->numbers_fit ? !PyComplex_Check(o)
                                : surely_fits(o, common) || (op->halves_round && (common == DType::F16 || common == DType::BF16))) {
      continue;
    }
    PyObject* f = callback("fitted_number");
    if (!f) return -1;
    PyArray_Descr* descr = descr_of(common);
    Ref number(descr ? PyObject_CallFunctionObjArgs(f, o, as_object(descr), nullptr) : nullptr);
    if (!*owned) std::copy_n(slots, op->n_params, fitted);
    if (keep(number, owned) < 0) return -1;
    fitted[i] = number.get();
  }
  return 0;
}

// An exponent given as a whole number, for integers: not negative, and within their type. -1 with torch's exception.
int check_integer_power(PyObject* exponent, DType common) {
  if (common == DType::Bool || is_differentiable(common) || !PyLong_Check(exponent)) return 0;
  if (PyObject_RichCompareBool(exponent, Py_False, Py_LT) == 1) {
    PyErr_Format(PyExc_RuntimeError,
                 "Integers to negative integer powers are not allowed. The exponent is %S, the base a tensor of %s: make one of "
                 "them a float.",
                 exponent, scalar_name(common));
    return -1;
  }
  if (surely_fits(exponent, common)) return 0;
  PyObject* f = callback("fitted_number");
  PyArray_Descr* descr = f ? descr_of(common) : nullptr;
  return descr && Ref(PyObject_CallFunctionObjArgs(f, exponent, as_object(descr), nullptr)) ? 0 : -1;
}

constexpr npy_intp kSmall = 4096;

// The everyday case: everything float32 (or float64), contiguous, one shape; numbers allowed.
PyArrayObject* try_direct(Op* op, PyObject* const* slots, int n) {
  if (op->opcode < 0 || n > 2 || op->result == ResultType::Bool) return nullptr;
  PyObject* first = slots[0];
  if (!is_tensor(first)) return nullptr;
  Tensor* a = as_tensor(first);
  const BlockFn block = a->dtype == DType::F32 ? op->block_f32 : a->dtype == DType::F64 ? op->block_f64 : nullptr;
  if (!block || !PyArray_IS_C_CONTIGUOUS(a->array) || !PyArray_ISALIGNED(a->array)) return nullptr;
  const npy_intp size = PyArray_SIZE(a->array);
  if (size > kSmall) return nullptr;
  const void* right = nullptr;
  alignas(64) char filled[64 * sizeof(double)];
  if (n == 2) {
    PyObject* second = slots[1];
    if (is_tensor(second)) {
      Tensor* b = as_tensor(second);
      if (b->dtype != a->dtype || !same_layout(a->array, b->array) || !PyArray_IS_C_CONTIGUOUS(b->array) ||
          !PyArray_ISALIGNED(b->array)) {
        return nullptr;
      }
      right = PyArray_DATA(b->array);
    } else {
      if (size > 64 || !(PyFloat_CheckExact(second) || PyLong_CheckExact(second))) return nullptr;
      Constant c;
      if (op->numbers_fit && !surely_fits(second, a->dtype)) return nullptr;
      if (read_constant(second, a->dtype, &c) < 0) {
        PyErr_Clear();
        return nullptr;
      }
      if (a->dtype == DType::F32) {
        for (npy_intp i = 0; i < size; ++i) reinterpret_cast<float*>(filled)[i] = c.f32;
      } else {
        for (npy_intp i = 0; i < size; ++i) reinterpret_cast<double*>(filled)[i] = c.f64;
      }
      right = filled;
    }
  }
  PyArrayObject* out = new_array(a->dtype, PyArray_NDIM(a->array), PyArray_DIMS(a->array));
  if (!out) return nullptr;
  block(PyArray_DATA(a->array), right, nullptr, PyArray_DATA(out), size);
  return out;
}

}  // namespace

PyArrayObject* run_pointwise_program(const Program& program, PyObject* const* operands, int n, DType result, PyArrayObject* out) {
  int ndim;
  npy_intp dims[NPY_MAXDIMS];
  if (broadcast_shape(operands, n, &ndim, dims) < 0) return nullptr;
  const DType compute = compute_type(result);
  Ref target(out ? Py_NewRef(as_object(out)) : as_object(result_array(operands, n, ndim, dims, result)));
  if (!target) return nullptr;
  if (run_machine(program, compute, operands, n, as_array(target.get())) < 0) return nullptr;
  return as_array(target.release());
}

PyArrayObject* pointwise_forward(Op* op, PyObject* const* slots, PyArrayObject* out) {
  const int n = op->program_arity;
  if (!out) {
    PyArrayObject* direct = try_direct(op, slots, n);
    if (direct || PyErr_Occurred()) return direct;
  }
  // Plain parameters among the first n are numbers the program reads; they take no part in promotion.
  PyObject* operands[kMaxParams];
  PyObject* as_numbers[kMaxParams];
  Held<kMaxParams> numbers;
  int n_operands = 0;
  bool has_complex = false;
  for (int i = 0; i < n; ++i) {
    if (op->params[i].kind == Param::TensorArg || op->params[i].kind == Param::Operand) {
      operands[n_operands++] = slots[i];
      continue;
    }
    if (op->params[i].kind == Param::Number && is_tensor(slots[i])) {
      if (PyArray_NDIM(as_tensor(slots[i])->array) != 0) {
        PyErr_Format(PyExc_TypeError, "%U(): argument '%U' (position %d) must be Number, not Tensor", op->name, op->params[i].name,
                     i + 1);
        return nullptr;
      }
      PyObject* number = method_item(slots[i], nullptr);
      if (!number) return nullptr;
      numbers.take(number);
      if (slots != as_numbers) {
        for (int k = 0; k < op->n_params; ++k) as_numbers[k] = slots[k];
        slots = as_numbers;
      }
      as_numbers[i] = number;
    }
    has_complex |= PyComplex_Check(slots[i]);
  }
  DType common = common_type_of(op, operands, n_operands);
  DType result = common;
  switch (op->result) {
    case ResultType::Promoted: break;
    case ResultType::Float:
      if (!is_differentiable(common)) common = result = registry.default_dtype;
      break;
    case ResultType::Bool: result = DType::Bool; break;
    case ResultType::Default: break;
  }
  int ndim;
  npy_intp dims[NPY_MAXDIMS];
  if (op->own_type) std::swap(operands[0], operands[1]);  // torch names the mask's size first
  if (broadcast_shape(operands, n_operands, &ndim, dims) < 0) return nullptr;
  if (out && check_out_shape(out, ndim, dims) < 0) return nullptr;
  if (check_arguments(op, slots, n, common) < 0) return nullptr;
  for (int i = 0; i < n && has_complex && !is_complex(common) && op->tensor_params.size() == 2; ++i) {
    // alpha: what one of two operands is scaled by
    if (!PyComplex_Check(slots[i]) || PyUnicode_CompareWithASCIIString(op->params[i].name, "alpha")) continue;
    PyErr_Format(PyExc_RuntimeError, "For %s input tensors, argument alpha must not be a %s number.",
                 is_differentiable(common) ? "non-complex" : "integral", is_differentiable(common) ? "complex" : "floating point");
    return nullptr;
  }
  if (!op->program && !op->rules_compiled && op->compiler && compile_rules(op) < 0) return nullptr;
  DType compute = has_type(op->portable_for, common) ? kNone : compute_type(common);
  if (op->integer_power && check_integer_power(slots[1], common) < 0) return nullptr;
  PyObject* fitted[kMaxParams];
  Ref owned;
  if (op->numbers_fit || (has_complex && !is_complex(common))) {
    if (fit_numbers(op, slots, n, common, fitted, &owned) < 0) return nullptr;
    if (owned) slots = fitted;
    has_complex = has_complex && std::any_of(slots, slots + n, [](PyObject* o) { return PyComplex_Check(o); });
  }
  if (op->numbers_round && (common == DType::F16 || common == DType::BF16)) {
    if (round_numbers(op, slots, n, common, fitted, &owned) < 0) return nullptr;
    slots = fitted;
  }
  if (compute == DType::I64) {
    for (int i = 0; i < n; ++i) {
      if (op->params[i].kind == Param::Number && PyFloat_Check(slots[i])) compute = kNone;
    }
  }
  for (int i = 0; i < n && compute != kNone; ++i) {
    if (is_tensor(slots[i]) && (as_tensor(slots[i])->dtype == DType::U64)) compute = kNone;
    if (is_tensor(slots[i]) && !PyArray_ISALIGNED(as_tensor(slots[i])->array)) compute = kNone;
  }
  if (compute == kNone || has_complex || !op->program || !has_kernels(*op->program, compute)) {
    return run_portable(op, slots, n, common, out ? dtype_of(out) : result, out);
  }
  Ref target(out ? Py_NewRef(as_object(out)) : as_object(result_array(slots, n, ndim, dims, result)));
  if (!target) return nullptr;
  if (run_machine(*op->program, compute, slots, n, as_array(target.get())) < 0) return nullptr;
  return as_array(target.release());
}

}  // namespace rushlight
