// Pointwise ops: type promotion, broadcasting and the path to the block machine (kernels/). Complex numbers, and ops that have no
// kernel for a type, take the op's reference implementation in NumPy instead, on operands already cast to the common type.
//
// Note [Promotion], torch's rule: tensors with dimensions decide; 0-dim tensors only lift the result to a higher category
// (bool < int < float < complex); Python numbers likewise, with the default float and int64 as their types.
#include "core/accelerator.h"
#include "core/capture.h"
#include "core/layout.h"
#include "core/op.h"
#include "core/tensor.h"

#include <cmath>
#include <cstring>
#include <string>

namespace rushlight {

namespace {

using enum Category;

DType to_complex(DType t) {
  if (t == DType::F16 || t == DType::C32) return DType::C32;
  return t == DType::F64 || t == DType::C128 ? DType::C128 : DType::C64;
}

constexpr DType kNone = DType::Count;

DType combine(DType high, DType low) {
  if (high == kNone) return low;
  if (low == kNone) return high;
  const Category h = category_of(high), l = category_of(low);
  if (h == Complex) return high;
  if (h == Floating) return l == Complex ? to_complex(high) : high;
  if (h == Bool || l == Floating || l == Complex) return promote(high, low);
  return high;
}

bool has_type(uint32_t types, DType type) { return types >> static_cast<int>(type) & 1; }

DType scalar_dtype(PyObject* o) {
  if (PyBool_Check(o)) return DType::Bool;
  if (PyFloat_Check(o) || is_numpy_float(o) || is_numpy_bool(o)) return registry.default_dtype;  // as torch reads NumPy's booleans
  if (PyComplex_Check(o) || is_numpy_complex(o)) return to_complex(registry.default_dtype);
  return DType::I64;
}

}  // namespace

bool is_python_scalar(PyObject* o) {
  return PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o) || is_numpy_number(o) || is_numpy_bool(o);
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  const Category ca = category_of(a), cb = category_of(b);
  if (is_float8(a) || is_float8(b)) return is_float8(a) ? a : b;  // refused where they meet: see check_float8
  if (ca == Complex || cb == Complex) {
    const auto short_parts = [](DType t) { return t == DType::C32 || t == DType::F16 || category_of(t) < Floating; };
    if (short_parts(a) && short_parts(b)) return DType::C32;
    const bool wide = a == DType::C128 || b == DType::C128 || a == DType::F64 || b == DType::F64;
    return wide ? DType::C128 : DType::C64;
  }
  if (ca == Floating || cb == Floating) {
    if (ca != Floating) return b;
    if (cb != Floating) return a;
    if (a == DType::F64 || b == DType::F64) return DType::F64;
    return DType::F32;  // float32 with a half, or the two halves together
  }
  if (ca == Bool) return b;
  if (cb == Bool) return a;
  // Signed integers by width; an unsigned one needs a wider signed partner.
  const ptrdiff_t sa = item_size(a), sb = item_size(b);
  if (is_unsigned(a) == is_unsigned(b)) return sa >= sb ? a : b;
  const DType s = is_unsigned(a) ? b : a;
  const ptrdiff_t su = is_unsigned(a) ? sa : sb, ss = item_size(s);
  if (ss > su) return s;
  return su == 1 ? DType::I16 : su == 2 ? DType::I32 : DType::I64;
}

bool can_cast(DType from, DType to) { return category_of(from) <= category_of(to); }

int check_float8(PyObject* const* operands, int n, DType common) {
  const Tensor* first = nullptr;
  for (int i = 0; i < n; ++i) {
    const Tensor* t = is_tensor(operands[i]) ? as_tensor(operands[i]) : nullptr;
    if (!t || (!t->ndim() && t->dtype != common) || t->dtype == DType::Bool) continue;
    if (first && first->dtype != t->dtype) {
      PyErr_Format(PyExc_RuntimeError, "Promotion for Float8 Types is not supported, attempted to promote %s and %s",
                   scalar_name(first->dtype), scalar_name(t->dtype));
      return -1;
    }
    first = t;
  }
  return 0;
}

DType common_type_of(Op* op, PyObject* const* operands, int n) {
  return op->promotion.own_type && is_tensor(operands[0]) ? as_tensor(operands[0])->dtype : result_type_of(operands, n);
}

DType result_type_of(PyObject* const* operands, int n) {
  DType dims = kNone, zero = kNone, wrapped = kNone;
  for (int i = 0; i < n; ++i) {
    PyObject* o = operands[i];
    if (is_tensor(o)) {
      Tensor* t = as_tensor(o);
      DType& group = t->ndim() > 0 ? dims : zero;
      group = group == kNone ? t->dtype : promote(group, t->dtype);
    } else {
      const DType d = scalar_dtype(o);
      wrapped = wrapped == kNone ? d : promote(wrapped, d);
    }
  }
  return combine(dims, combine(zero, wrapped));
}

PyObject* scalar_object(PyObject* o) {
  if (is_numpy_bool(o)) return PyNumber_Float(o);
  if (is_numpy_scalar(o)) return PyObject_CallMethod(o, "item", nullptr);
  return Py_NewRef(o);
}

int broadcast_shape(PyObject* const* operands, int n, int* ndim_out, Py_ssize_t* dims) {
  int ndim = 0;
  for (int i = 0; i < n; ++i) {
    if (is_tensor(operands[i])) ndim = std::max(ndim, as_tensor(operands[i])->ndim());
  }
  for (int d = 0; d < ndim; ++d) dims[d] = 1;
  for (int i = 0; i < n; ++i) {
    if (!is_tensor(operands[i])) continue;
    Tensor* a = as_tensor(operands[i]);
    const int shift = ndim - a->ndim();
    for (int d = a->ndim() - 1; d >= 0; --d) {
      const Py_ssize_t size = a->size(d);
      Py_ssize_t& have = dims[d + shift];
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

namespace {

DeviceType device_of(PyObject* const* operands, int n) {
  DeviceType device = DeviceType::Cpu;
  for (int i = 0; i < n; ++i) {
    if (is_tensor(operands[i])) device = std::max(device, as_tensor(operands[i])->device());
  }
  return device;
}

}  // namespace

int check_out_shape(const Tensor* out, int ndim, const Py_ssize_t* dims) {
  return ndim == out->ndim() && same_sizes(ndim, dims, out->sizes()) ? 0 : refuse_shape(out, ndim, dims);
}

namespace {

// A Python number as the element that a kernel reads with stride 0.
struct Constant {
  union {
    double f64;
    float f32;
    int64_t i64;
    float c64[2];
    double c128[2];
  };
};

// -1 with an exception; 0 where the number does not fit the compute type (complex).
int read_constant(PyObject* o, DType compute, Constant* c) {
  if (compute == DType::I64) {
    if (PyFloat_Check(o)) {  // loses its fraction
      c->i64 = static_cast<int64_t>(PyFloat_AS_DOUBLE(o));
      return 1;
    }
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
  if (PyComplex_Check(o)) {
    if (!is_complex(compute)) return 0;
    const Py_complex z = PyComplex_AsCComplex(o);
    if (compute == DType::C64) c->c64[0] = static_cast<float>(z.real), c->c64[1] = static_cast<float>(z.imag);
    else c->c128[0] = z.real, c->c128[1] = z.imag;
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
  if (compute == DType::C128) c->c128[1] = 0;
  if (compute == DType::C64) c->c64[0] = static_cast<float>(v), c->c64[1] = 0;
  else if (compute == DType::F32) c->f32 = static_cast<float>(v);
  else c->f64 = v;
  return 1;
}

// Whether reading a number may run Python code.
bool is_own_number(PyObject* o) {
  const PyTypeObject* type = Py_TYPE(o);
  return type != TensorType && type != &PyFloat_Type && type != &PyLong_Type && !is_tensor(o);
}

bool has_kernels(const Program& program, DType compute) {
  for (const Instr& i : program.code) {
    if (!kernels().block(i.op, computed_in(compute))) return false;
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
    case DType::C128: return t;
    case DType::C32:
    case DType::U64: return kNone;
    case DType::F8E4M3FN:
    case DType::F8E4M3FNUZ:
    case DType::F8E5M2:
    case DType::F8E5M2FNUZ:
    case DType::F8E8M0FNU: return DType::F32;
    default: return DType::I64;
  }
}

// Where a result of the operands' broadcast shape lies: row-major, or at strides, which are in elements.
struct Place {
  int ndim;
  const Py_ssize_t* sizes;
  bool rows = true;
  Py_ssize_t strides[kMaxDims];

  Place(PyObject* const* operands, int n, int ndim, const Py_ssize_t* sizes, Keeps::Rule rule = Keeps::Made)
      : ndim(ndim), sizes(sizes) {
    if (rule == Keeps::Rows) return;
    if (rule == Keeps::Strides) {  // of an op with one operand
      rows = false;
      like_strides(as_tensor(operands[0]), 1, strides);
      return;
    }
    const Tensor* tensors[kMaxParams];
    int count = 0;
    for (int i = 0; i < n; ++i) {
      if (!is_tensor(operands[i])) continue;
      const Tensor* a = tensors[count++] = as_tensor(operands[i]);
      if (a->ndim() > ndim) {  // changed by code that ran in between, and refused by the machine
        rows = true;
        return;
      }
      rows &= a->is_contiguous() && a->ndim() == ndim && same_sizes(ndim, a->sizes(), sizes);
    }
    rows &= count == n;
    if (!rows) result_strides(ndim, sizes, tensors, count, count < n, 1, strides);
  }
  void in_bytes(Py_ssize_t item, Py_ssize_t* bytes) const {
    Py_ssize_t numel;
    if (rows) contiguous_strides(ndim, sizes, item, bytes, &numel);
    for (int i = 0; i < ndim && !rows; ++i) bytes[i] = times(strides[i], item);
  }
};

Tensor* new_result(const Place& place, DType dtype, DeviceType device) {
  if (place.rows) return new_tensor(dtype, place.ndim, place.sizes, device);
  Py_ssize_t strides[kMaxDims];
  place.in_bytes(item_size(dtype), strides);
  return new_strided(dtype, place.ndim, place.sizes, strides, device);
}

void note_traversal(Traversal t) { note_path(static_cast<Path>(static_cast<int>(Path::Block) + static_cast<int>(t))); }
static_assert(static_cast<int>(Path::Strided) - static_cast<int>(Path::Block) == static_cast<int>(Traversal::Strided));

// Runs the program into `out`, which the caller holds. Numbers that have a `__float__` or `__index__` of their own are read first:
// after that a tensor may have another array. From then on nothing but the machine runs, and what it reads is held.
int run_machine(const Program& program, DType compute, PyObject* const* operands, int n, Tensor* out) {
  if (out->device() == DeviceType::Meta) {
    note_path(Path::StandIns);
    return 0;
  }
  if (is_accelerator(out->device())) {
    ends_capture("computes on an accelerator");
    const auto run = is_half(compute) ? run_program_by_host : run_program_there;  // each step is rounded on the CPU alone
    return run(program, compute, operands, n, out);
  }
  if (recording()) record_machine(program, compute, operands, n, out);
  const int ndim = out->ndim();
  Strided inputs[kMaxParams];
  Constant constants[kMaxParams];
  Py_ssize_t strides[kMaxParams][kMaxDims];
  Py_ssize_t zero[kMaxDims];
  bool zeroed = false;
  for (int i = 0; i < n; ++i) {
    if (is_own_number(operands[i]) && read_constant(operands[i], compute, &constants[i]) < 0) return -1;
  }
  const bool released = out->numel() > kReleaseSize;
  Pinned pins[kMaxParams + 1];
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
    Tensor* a = as_tensor(o);
    if (a->flags & kAccelerator) {
      PyErr_Format(PyExc_RuntimeError, "Expected all tensors to be on the same device, but found at least two devices, %s and %s!",
                   device_name(out->device()), device_name(a->device()));
      return -1;
    }
    const int shift = ndim - a->ndim();
    const ptrdiff_t* s = a->strides();
    if (released || shift != 0 || !same_shape(a, out)) {
      bool fits = shift >= 0;
      for (int d = 0; d < shift; ++d) strides[i][d] = 0;
      for (int d = 0; fits && d < a->ndim(); ++d) {
        strides[i][d + shift] = a->size(d) == 1 ? 0 : a->stride(d);
        fits = a->size(d) == 1 || a->size(d) == out->size(d + shift);
      }
      // So it is where `out` was given and is smaller, or where code that ran in between has changed the operand.
      if (!fits) return check_out_shape(out, a->ndim(), a->sizes());
      s = strides[i];
    }
    inputs[i] = Strided{a->data(), as_tensor(o)->dtype, s};
    if (released) pins[i].take(a->storage());
  }
  if (!released) {
    note_traversal(
        kernels().run_program(program, compute, inputs, Strided{out->data(), out->dtype, out->strides()}, ndim, out->sizes()));
    return 0;
  }
  // Another thread may give `out` another layout meanwhile.
  const Layout place(out);
  const Strided result{out->data(), out->dtype, place.strides};
  pins[n].take(out->storage());
  ReleaseGil release(true);
  note_traversal(kernels().run_program(program, compute, inputs, result, ndim, place.shape));
  return 0;
}

void raise_not_implemented(Op* op, DType common) {
  PyErr_Format(PyExc_NotImplementedError, "\"%U\" not implemented for '%s'", op->name, scalar_name(common));
}

// Stands for a tensor on meta in a call of a definition, where only the type of the result is asked for.
Tensor* one_element(const Tensor* t) {
  Py_ssize_t sizes[kMaxDims];
  std::fill_n(sizes, t->ndim(), 1);
  return new_view(t, t->ndim(), sizes, t->strides(), 0);
}

// The op's definition in other ops or on arrays, on operands of the common type.
Tensor* run_reference(Op* op, PyObject* const* slots, int n, DType common, DType result, Tensor* out, const Place& place) {
  if (!op->reference && !op->forward) {
    raise_not_implemented(op, common);
    return nullptr;
  }
  Ref cast_to[kMaxParams];
  PyObject* operands[kMaxParams];
  for (int i = 0; i < op->n_params; ++i) {
    operands[i] = slots[i];
    if (i >= n || (!is_tensor(slots[i]) && op->params[i].kind == Param::Number)) continue;
    cast_to[i] = Ref(as_object(is_tensor(slots[i]) ? cast(as_tensor(slots[i]), common) : tensor_from_any(slots[i], common)));
    if (cast_to[i] && as_tensor(cast_to[i].get())->flags & kMeta)
      cast_to[i] = Ref(as_object(one_element(as_tensor(cast_to[i].get()))));
    if (!(operands[i] = cast_to[i].get())) return nullptr;
  }
  Ref value(run_with_reference(op, operands));
  if (!value) return nullptr;
  if (op->loop.program && tls.noted.path == Path::Numpy) note_path(Path::Fallback);
  if (value.get() == Py_NotImplemented) {
    raise_not_implemented(op, common);
    return nullptr;
  }
  const bool argument = is_tensor(value.get()) && Py_REFCNT(value.get()) != 1;
  Owned<Tensor> given(result_tensor(value.release()));
  if (!given) return nullptr;
  if (has_type(op->promotion.reference_for, common)) {  // abs of complex numbers is real
    if (!out) {
      result = given->dtype;
    } else if (!can_cast(given->dtype, result)) {
      refuse_cast(given->dtype, result);
      return nullptr;
    }
  }
  if (given->flags & kMeta) {
    if (out) return as_tensor(Py_NewRef(as_object(out)));
    return new_result(place, result, DeviceType::Meta);
  }
  if (out) return copy_into(out, given.get()) < 0 ? nullptr : as_tensor(Py_NewRef(as_object(out)));
  if (given->dtype == result && !argument && owns_memory(given.get())) {
    Py_ssize_t strides[kMaxDims];
    place.in_bytes(item_size(result), strides);
    return relaid(given.release(), strides);
  }
  Owned<Tensor> target(new_result(place, result, given->device()));
  return target && copy_into(target.get(), given.get()) == 0 ? target.release() : nullptr;
}

void raise_refusal(PyObject* refusals, DType type) {
  Ref key(PyLong_FromLong(static_cast<long>(type)));
  PyObject* why = key ? PyDict_GetItemWithError(refusals, key.get()) : nullptr;
  if (why) PyErr_SetObject(PyTuple_GET_ITEM(why, 0), PyTuple_GET_ITEM(why, 1));
}

// A call of complex32: computed in complex64. Its arguments need not have that type: float16 with a complex number makes it, too.
Tensor* in_complex64(Op* op, PyObject* const* slots, Tensor* out) {
  Held<kMaxParams> held;
  PyObject* wide[kMaxParams];
  const auto is_short = [&](int i) {
    return is_tensor(slots[i]) && (as_tensor(slots[i])->dtype == DType::C32 || as_tensor(slots[i])->dtype == DType::F16);
  };
  const auto is_number = [&](int i) { return is_tensor(slots[i]) && as_tensor(slots[i])->dtype != DType::Bool; };
  int number = -1;  // which to make complex64 where none is of a short type
  bool any_short = false;
  for (int i = op->n_params; i--;) {
    if (!slots[i]) continue;
    any_short |= is_short(i);
    if (is_number(i)) number = i;
  }
  if (!any_short && number < 0) {
    PyErr_Format(PyExc_NotImplementedError, "\"%U_cpu\" not implemented for 'ComplexHalf'", op->name);
    return nullptr;
  }
  for (int i = 0; i < op->n_params; ++i) {
    wide[i] = slots[i];
    if (!slots[i] || !(any_short ? is_short(i) : i == number)) continue;
    PyObject* cast_to = as_object(cast(as_tensor(slots[i]), DType::C64));
    if (!cast_to) return nullptr;
    wide[i] = held.take(cast_to);
  }
  Owned<Tensor> result(pointwise_forward(op, wide, nullptr));
  if (!result) return nullptr;
  if (out) return copy_into(out, result.get()) < 0 ? nullptr : as_tensor(Py_NewRef(as_object(out)));
  if (result->dtype == DType::Bool) return result.release();
  return cast(result.get(), is_complex(result->dtype) ? DType::C32 : DType::F16);
}

// -1 with an exception where an argument has a type that the op does not take.
int check_arguments(Op* op, PyObject* const* slots, int n, DType common) {
  if (is_float8(common) && check_float8(slots, n, common) < 0) return -1;
  if (stored_only(common)) return check_stored(op, common);
  if (has_type(op->promotion.refused, common)) {
    raise_refusal(op->promotion.refusals, common);
    return -1;
  }
  if (op->promotion.one_type && is_tensor(slots[0])) {
    const DType first = as_tensor(slots[0])->dtype;
    for (int i = 1; i < n; ++i) {
      if (!is_tensor(slots[i]) || as_tensor(slots[i])->dtype == first) continue;
      if (op->promotion.one_type_text) {
        PyErr_SetObject(PyExc_RuntimeError, op->promotion.one_type_text);
        return -1;
      }
      PyErr_Format(PyExc_RuntimeError, "expected dtype %s for `%U` but got dtype %s", c_name(first), op->params[i].name,
                   c_name(as_tensor(slots[i])->dtype));
      return -1;
    }
  }
  if (op->promotion.zero_dim_param >= 0) {
    PyObject* o = slots[op->promotion.zero_dim_param];
    if (is_tensor(o) && as_tensor(o)->ndim() > 0) {
      PyErr_Format(PyExc_RuntimeError, PyUnicode_AsUTF8(op->promotion.zero_dim_text), as_tensor(o)->ndim());
      return -1;
    }
  }
  for (const Refusal& r : op->promotion.argument_refusals) {
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
      if (t->ndim() || t->dtype == common || !is_floating(t->dtype)) continue;
      wide = Ref(as_object(cast(as_tensor(o), DType::F32)));
    } else if (PyFloat_Check(o) || PyLong_Check(o)) {
      const double v = PyFloat_AsDouble(o);
      if (v == -1 && PyErr_Occurred()) {  // too large: said where it is read
        PyErr_Clear();
        continue;
      }
      wide = Ref(as_object(new_tensor(DType::F32, 0, nullptr)));
      if (wide) *reinterpret_cast<float*>(as_tensor(wide.get())->data()) = static_cast<float>(v);
      if (wide && recording()) record_constant(as_tensor(wide.get()));
    } else {
      continue;
    }
    Ref element(as_object(wide ? cast(as_tensor(wide.get()), common) : nullptr));
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
    Ref element;
    if (is_tensor(o)) {
      if (!op->promotion.own_type || op->params[i].kind != Param::Operand || as_tensor(o)->dtype == common ||
          as_tensor(o)->flags & kMeta)
        continue;
      const Ref here(as_object(copy_to(as_tensor(o), DeviceType::Cpu)));
      element = Ref(here ? array_of(as_tensor(here.get())) : nullptr);
      if (!(o = element.get())) return -1;
    } else if (!op->promotion.numbers_fit
                   ? !PyComplex_Check(o)
                   : surely_fits(o, common) || (op->promotion.halves_round && (common == DType::F16 || common == DType::BF16))) {
      continue;
    }
    PyObject* f = callbacks.fitted_number.get();
    if (!f) return -1;
    PyObject* type = dtype_object(common);
    Ref number(type ? PyObject_CallFunctionObjArgs(f, o, type, nullptr) : nullptr);
    if (!*owned) std::copy_n(slots, op->n_params, fitted);
    if (keep(number, owned) < 0) return -1;
    fitted[i] = number.get();
  }
  return 0;
}

// Puts the operands, as aligned tensors of the half type `common`, into `fitted`, which may be `slots`; `owned` keeps what is new
// there. -1 with an exception.
int fit_halves(Op* op, PyObject* const* slots, int n, DType common, PyObject** fitted, Ref* owned) {
  for (int i = 0; i < op->n_params; ++i) {
    PyObject* o = fitted[i] = slots[i];
    Tensor* t = i < n && is_tensor(o) ? as_tensor(o) : nullptr;
    if (i >= n || (t && t->dtype == common && t->is_aligned())) continue;
    Ref made(as_object(!t ? tensor_from_any(o, common) : t->dtype == common ? contiguous_copy(t) : cast(t, common)));
    if (keep(made, owned) < 0) return -1;
    fitted[i] = made.get();
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
  PyObject* f = callbacks.fitted_number.get();
  PyObject* type = f ? dtype_object(common) : nullptr;
  return type && Ref(PyObject_CallFunctionObjArgs(f, exponent, type, nullptr)) ? 0 : -1;
}

template <class T>
bool has_zero(const Tensor* t) {
  const T* x = reinterpret_cast<const T*>(t->data());
  bool found = false;
  for (Py_ssize_t i = 0, n = t->numel(); i < n; ++i) found |= x[i] == 0;
  return found;
}
bool has_zero(const Tensor* t) {
  switch (t->item()) {
    case 1: return has_zero<uint8_t>(t);
    case 2: return has_zero<uint16_t>(t);
    case 4: return has_zero<uint32_t>(t);
    default: return has_zero<uint64_t>(t);
  }
}

// A divisor of integers. -1 with torch's exception where one is 0.
int check_divisor(PyObject* o) {
  bool found;
  if (is_tensor(o)) {
    ends_capture("divides integers by a tensor, which must have no zeros");
    Tensor* t = as_tensor(o);
    const Owned<Tensor> laid(t->is_contiguous() && t->is_aligned() ? as_tensor(Py_NewRef(o)) : contiguous_copy(t));
    if (!laid) return -1;
    found = has_zero(laid.get());
  } else {
    const int truth = PyObject_IsTrue(o);
    if (truth < 0) return -1;
    found = !truth;
  }
  if (found) PyErr_SetString(PyExc_RuntimeError, "ZeroDivisionError. An integer tensor was divided by zero.");
  return found ? -1 : 0;
}

// What an op gives where all elements of the common type are so, or none is.
Tensor* same_truth(const Place& place, bool truth, Tensor* out, DeviceType device) {
  Owned<Tensor> made(new_result(place, DType::Bool, device));
  if (!made) return nullptr;
  note_path(Path::Kernel);
  if (recording()) record_fill(made.get(), truth);
  if (device != DeviceType::Meta) std::memset(made->data(), truth, static_cast<size_t>(made->numel()));
  if (!out) return made.release();
  return copy_into(out, made.get()) < 0 ? nullptr : as_tensor(Py_NewRef(as_object(out)));
}

constexpr Py_ssize_t kSmall = 4096;

// Whether all strides equal a new tensor's, also of dimensions of size 1. False for empty tensors.
bool lies_by_rows(const Tensor* a) {
  if (a->numel() == 0) return false;
  Py_ssize_t step = a->item();
  for (int i = a->ndim() - 1; i >= 0; --i) {
    if (a->stride(i) != step) return false;
    step *= a->size(i);
  }
  return true;
}

BlockFn direct_block(const Op::Loop& loop, DType type) {
  switch (type) {
    case DType::F32: return loop.block_f32;
    case DType::F64: return loop.block_f64;
    case DType::C64: return loop.block_c64;
    case DType::C128: return loop.block_c128;
    default: return nullptr;
  }
}

// So many times a number, as elements of a type. False with an exception, or where it is none of the type.
bool fill_number(PyObject* o, DType type, Py_ssize_t n, char* to) {
  if (!(PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyComplex_CheckExact(o))) return false;
  Constant c;
  if (read_constant(o, type, &c) <= 0) return false;
  const size_t item = static_cast<size_t>(item_size(type));
  for (Py_ssize_t i = 0; i < n; ++i, to += item) std::memcpy(to, &c, item);
  return true;
}

// The everyday case: everything float32 (or float64, or complex), contiguous, one shape; numbers allowed.
Tensor* try_direct(Op* op, PyObject* const* slots, int n) {
  if (op->loop.opcode < 0 || n > 2 || op->promotion.result == ResultType::Bool || op->result.keeps.rule) return nullptr;
  PyObject* first = slots[0];
  if (!is_tensor(first)) return nullptr;
  Tensor* a = as_tensor(first);
  const BlockFn block = direct_block(op->loop, a->dtype);
  if (!block || has_type(op->promotion.refused, a->dtype) || !a->is_contiguous() || !a->is_aligned()) return nullptr;
  const Py_ssize_t size = a->numel();
  if (size > kSmall || a->device() != DeviceType::Cpu) return nullptr;
  const void* right = nullptr;
  alignas(64) char filled[64 * 2 * sizeof(double)];
  if (n == 2) {
    PyObject* second = slots[1];
    if (is_tensor(second)) {
      Tensor* b = as_tensor(second);
      if (b->dtype != a->dtype || !same_shape(a, b) || !b->is_contiguous() || !b->is_aligned() || b->device() != DeviceType::Cpu) {
        return nullptr;
      }
      right = b->data();
    } else {
      if (size > 64 || !lies_by_rows(a)) return nullptr;
      if (op->promotion.numbers_fit && !surely_fits(second, a->dtype)) return nullptr;
      if (!fill_number(second, a->dtype, size, filled)) {
        PyErr_Clear();
        return nullptr;
      }
      right = filled;
    }
  }
  Tensor* out = new_tensor(a->dtype, a->ndim(), a->sizes());
  if (!out) return nullptr;
  note_path(Path::Block);
  if (recording())
    record_block(block, a, right && right != filled ? as_tensor(slots[1]) : nullptr, right == filled ? filled : nullptr, out);
  block(a->data(), right, nullptr, out->data(), size);
  return out;
}

}  // namespace

Tensor* run_pointwise_program(const Program& program, PyObject* const* operands, int n, DType result, Tensor* out,
                              DeviceType device) {
  int ndim;
  Py_ssize_t dims[kMaxDims];
  if (broadcast_shape(operands, n, &ndim, dims) < 0) return nullptr;
  const DType compute = compute_type(result);
  if (out && (out->ndim() != ndim || !same_sizes(ndim, out->sizes(), dims))) out = nullptr;
  Owned<Tensor> target(out ? as_tensor(Py_NewRef(as_object(out)))
                           : new_result(Place(operands, n, ndim, dims), result, std::max(device, device_of(operands, n))));
  return target && run_machine(program, compute, operands, n, target.get()) == 0 ? target.release() : nullptr;
}

Tensor* run_program_into(const Program& program, DType compute, PyObject* const* operands, int n, Tensor* out) {
  return run_machine(program, compute, operands, n, out) == 0 ? as_tensor(Py_NewRef(as_object(out))) : nullptr;
}

Tensor* pointwise_forward(Op* op, PyObject* const* slots, Tensor* out) {
  const int n = op->loop.arity;
  if (!out) {
    Tensor* direct = try_direct(op, slots, n);
    if (direct || PyErr_Occurred()) return direct;
  }
  // Plain parameters among the first n are numbers the program reads; they take no part in promotion.
  PyObject* operands[kMaxParams];
  PyObject* as_numbers[kMaxParams];
  Held<kMaxParams> numbers;
  int n_operands = 0;
  bool has_complex = false, has_bool = false;
  for (int i = 0; i < n; ++i) {
    if (op->params[i].kind == Param::TensorArg || op->params[i].kind == Param::Operand) {
      operands[n_operands++] = slots[i];
      continue;
    }
    if (op->params[i].kind == Param::Number && is_tensor(slots[i])) {
      if (as_tensor(slots[i])->ndim() != 0) {
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
    has_bool |= PyBool_Check(slots[i]);
  }
  DType common = common_type_of(op, operands, n_operands);
  DType result = common;
  switch (op->promotion.result) {
    case ResultType::Promoted: break;
    case ResultType::Float:
      if (!is_differentiable(common)) common = result = registry.default_dtype;
      break;
    case ResultType::Bool: result = DType::Bool; break;
  }
  int ndim;
  Py_ssize_t dims[kMaxDims];
  if (op->promotion.own_type) std::swap(operands[0], operands[1]);  // torch names the mask's size first
  if (broadcast_shape(operands, n_operands, &ndim, dims) < 0) return nullptr;
  if (out && check_out_shape(out, ndim, dims) < 0) return nullptr;
  if (check_arguments(op, slots, n, common) < 0) return nullptr;
  if (common == DType::C32) return in_complex64(op, slots, out);
  const bool odd = (has_complex && !is_complex(common)) || (has_bool && common != DType::Bool);
  for (int i = 0; i < n && odd && op->tensor_params.size() == 2; ++i) {
    // alpha: what one of two operands is scaled by
    if (PyUnicode_CompareWithASCIIString(op->params[i].name, "alpha")) continue;
    if (PyBool_Check(slots[i]) && common != DType::Bool) {
      PyErr_SetString(PyExc_RuntimeError, "Boolean alpha only supported for Boolean results.");
      return nullptr;
    }
    if (!PyComplex_Check(slots[i])) continue;
    PyErr_Format(PyExc_RuntimeError, "For %s input tensors, argument alpha must not be a %s number.",
                 is_differentiable(common) ? "non-complex" : "integral", is_differentiable(common) ? "complex" : "floating point");
    return nullptr;
  }
  const bool by_steps = op->loop.by_steps && is_half(common);
  Program* const& program = by_steps ? op->loop.halves : op->loop.program;
  if (!program && !op->backward.compiled && compile_rules(op) < 0) return nullptr;
  const Place place(operands, n_operands, ndim, dims, out ? Keeps::Rows : op->result.keeps.rule);
  const DeviceType device = device_of(slots, n);
  const bool always = has_type(op->promotion.always, common), alike = always || has_type(op->promotion.never, common);
  if (alike && !is_accelerator(device)) return same_truth(place, always, out, device);
  DType compute = alike || has_type(op->promotion.reference_for, common) ? kNone : by_steps ? common : compute_type(common);
  if (op->promotion.divides && category_of(common) == Integer) {
    if (is_accelerator(device)) compute = kNone;  // which has kernels that look for zeros
    else if (device == DeviceType::Cpu && std::find(dims, dims + ndim, 0) == dims + ndim && check_divisor(slots[1]) < 0)
      return nullptr;
  }
  if (op->promotion.integer_power && check_integer_power(slots[1], common) < 0) return nullptr;
  PyObject* fitted[kMaxParams];
  Ref owned;
  if (op->promotion.numbers_fit || (has_complex && !is_complex(common))) {
    if (fit_numbers(op, slots, n, common, fitted, &owned) < 0) return nullptr;
    if (owned) slots = fitted;
    has_complex = has_complex && std::any_of(slots, slots + n, [](PyObject* o) { return PyComplex_Check(o); });
  }
  if (op->promotion.numbers_round && (common == DType::F16 || common == DType::BF16)) {
    if (round_numbers(op, slots, n, common, fitted, &owned) < 0) return nullptr;
    slots = fitted;
  }
  if (by_steps && is_accelerator(device)) compute = kNone;  // the same of kernels that round each step
  if (by_steps && compute != kNone) {
    if (fit_halves(op, slots, n, common, fitted, &owned) < 0) return nullptr;
    slots = fitted;
  }
  if (compute == DType::I64) {
    for (int i = 0; i < n; ++i) {
      if (op->params[i].kind != Param::Number || !PyFloat_Check(slots[i])) continue;
      const bool refused = !PyUnicode_CompareWithASCIIString(op->params[i].name, "alpha");  // by the definition
      if (refused || is_accelerator(device) || !(std::fabs(PyFloat_AS_DOUBLE(slots[i])) < 0x1p62)) compute = kNone;
    }
  }
  for (int i = 0; i < n && compute != kNone; ++i) {
    if (is_tensor(slots[i]) && (as_tensor(slots[i])->dtype == DType::U64 || as_tensor(slots[i])->dtype == DType::C32))
      compute = kNone;
    if (is_tensor(slots[i]) && !as_tensor(slots[i])->is_aligned()) compute = kNone;
  }
  if (compute != kNone && is_complex(compute)) {
    const bool kept = !out || is_complex(out->dtype) || out->dtype == DType::Bool;
    if (!kept || is_accelerator(device)) compute = kNone;
  } else if (has_complex) {
    compute = kNone;
  }
  if (compute == kNone || !program || !has_kernels(*program, compute)) {
    return run_reference(op, slots, n, common, out ? out->dtype : result, out, place);
  }
  Owned<Tensor> target(out ? as_tensor(Py_NewRef(as_object(out))) : new_result(place, result, device));
  return target && run_machine(*program, compute, slots, n, target.get()) == 0 ? target.release() : nullptr;
}

}  // namespace rushlight
