// The module rushlight._core.kernels, and what its bindings share: reading arguments, contiguous copies, aliases.
#include "bindings/kernel.h"

#include <cmath>
#include <cstdarg>
#include <forward_list>

#include "core/op.h"

namespace rushlight {

namespace {

// Elements that a copy moves without the GIL, whatever type it gives them.
constexpr Py_ssize_t kLargeSize = kReleaseGilBytes / 16;
constexpr Py_ssize_t kMostArguments = 16;

bool is_large(PyObject* o) { return !PyLong_Check(o) && is_tensor(o) && as_tensor(o)->numel() > kLargeSize; }

// A kernel's own copy of an argument: an alias of a tensor, a list of aliases. A new reference.
PyObject* alias_of(PyObject* o, std::forward_list<Pinned>& pins) {
  if (is_tensor(o)) {
    Tensor* alias = new_alias(as_tensor(o));
    if (alias) pins.emplace_front().take(alias->storage());
    return as_object(alias);
  }
  if (!is_list(o)) return Py_NewRef(o);
  Ref items(PySequence_Tuple(o));
  Ref made(items ? PyList_New(PyTuple_GET_SIZE(items.get())) : nullptr);
  if (!made) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); i++) {
    PyObject* item = alias_of(PyTuple_GET_ITEM(items.get(), i), pins);
    if (!item) return nullptr;
    PyList_SET_ITEM(made.get(), i, item);
  }
  return PyTuple_Check(o) ? PyList_AsTuple(made.get()) : made.release();
}

}  // namespace

bool has_large(PyObject* const* args, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; i++) {
    if (is_large(args[i])) return true;
    if (!is_list(args[i])) continue;
    const ItemsOf items(args[i]);
    for (Py_ssize_t k = 0; k < items.size(); k++) {
      if (is_large(items[k])) return true;
    }
  }
  return false;
}

PyObject* through_aliases(FastFunction f, PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (n > kMostArguments) return f(self, args, n);  // which says that these are too many
  std::forward_list<Pinned> pins;
  Ref held[kMostArguments];
  PyObject* given[kMostArguments];
  for (Py_ssize_t i = 0; i < n; i++) {
    held[i] = Ref(alias_of(args[i], pins));
    if (!(given[i] = held[i].get())) return nullptr;
  }
  Ref result(f(self, given, n));
  for (Py_ssize_t i = 0; result && i < n; i++) {
    if (result.get() == given[i]) return Py_NewRef(args[i]);  // the kernel returned its argument
  }
  return result.release();
}

Ref contiguous_as(Tensor* tensor, DType dtype) {
  if (tensor->dtype == dtype) return contiguous(tensor);
  Ref copy = new_ref(dtype, tensor->ndim(), tensor->sizes(), tensor->device());
  copy_values(copy, tensor);
  return copy;
}

Ref rounded_items(const Ref& tuple, DType dtype) {
  if (!tuple) return {};
  const Py_ssize_t n = PyTuple_GET_SIZE(tuple.get());
  Ref result = owned(PyTuple_New(n));
  for (Py_ssize_t i = 0; i < n; i++) {
    Ref item = Ref::borrow(PyTuple_GET_ITEM(tuple.get(), i));
    PyTuple_SET_ITEM(result.get(), i, (item.get() == Py_None ? std::move(item) : rounded(std::move(item), dtype)).release());
  }
  return result;
}

void raised() { throw Raised(); }

void look_again(TensorInfo& a, int dim, Py_ssize_t size) {
  const int ndim = a.ndim;
  a = info_of(a.tensor);
  if (a.ndim == ndim && (ndim == 0 || a.shape[dim] == size)) return;
  fail(PyExc_RuntimeError, "a tensor was given another shape during a call that works with it");
  raised();
}

Ref zeros_ref(DType dtype, int ndim, const Py_ssize_t* shape, DeviceType device) {
  if (device == DeviceType::Meta) return new_ref(dtype, ndim, shape, device);
  return owned(new_zeros(dtype, ndim, shape));
}

Ref held_items(PyObject* object, const char* otherwise) {
  if (PyTuple_Check(object)) return Ref::borrow(object);
  if (PyList_Check(object)) return Ref(PyList_AsTuple(object));
  Ref items(PySequence_Fast(object, otherwise));
  return Ref(items ? PySequence_Tuple(items.get()) : nullptr);
}

bool dims_argument(PyObject* object, int ndim, uint64_t& mask) {
  const uint64_t all = ndim >= 64 ? ~uint64_t{0} : (uint64_t{1} << ndim) - 1;
  if (object == Py_None) {
    mask = all;
    return true;
  }
  mask = 0;
  if (PyIndex_Check(object)) {
    const int dim = dim_argument(object, ndim);
    if (dim < 0) return false;
    mask = (uint64_t{1} << dim) & all;
    return true;
  }
  Ref items = held_items(object, "dim must be an int, a sequence of ints or None");
  if (!items) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); i++) {
    const int dim = dim_argument(PyTuple_GET_ITEM(items.get(), i), ndim);
    if (dim < 0) return false;
    const uint64_t bit = uint64_t{1} << dim;
    if (mask & bit) return fail(PyExc_RuntimeError, "dim %d appears multiple times in the list of dims", dim);
    mask |= bit;
  }
  mask &= all;
  return true;
}

bool index_argument(PyObject* o, Py_ssize_t& out) {
  out = size_argument(o);
  return out != -1 || !PyErr_Occurred();
}

bool ints_argument(PyObject* object, const char* name, int n, Py_ssize_t* out) {
  Ref items = PyIndex_Check(object) ? Ref(PyTuple_Pack(1, object)) : held_items(object, "expected an int or a sequence of ints");
  if (!items) return false;
  const Py_ssize_t length = PyTuple_GET_SIZE(items.get());
  if (length != n && length != 1) return fail(PyExc_RuntimeError, "%s must have %d elements, got %zd", name, n, length);
  for (int i = 0; i < n; i++) {
    if (!index_argument(PyTuple_GET_ITEM(items.get(), length == 1 ? 0 : i), out[i])) return false;
  }
  return true;
}

bool shape_argument(PyObject* object, Py_ssize_t* shape, int& ndim) {
  if (PyIndex_Check(object)) {
    ndim = 1;
    if (!index_argument(object, shape[0])) return false;
  } else {
    Ref items = held_items(object, "size must be a sequence of ints");
    if (!items) return false;
    const Py_ssize_t length = PyTuple_GET_SIZE(items.get());
    if (!check_ndim(length)) return false;
    ndim = static_cast<int>(length);
    for (int i = 0; i < ndim; i++) {
      if (!index_argument(PyTuple_GET_ITEM(items.get(), i), shape[i])) return false;
    }
  }
  for (int i = 0; i < ndim; i++) {
    if (shape[i] < 0) return fail(PyExc_RuntimeError, "Trying to create tensor with negative dimension %zd", shape[i]);
  }
  return true;
}

bool needs_argument(PyObject* object, int n, int* needs) {
  if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != n) return fail(PyExc_TypeError, "needs must be a tuple of %d ints", n);
  for (int i = 0; i < n; i++) {
    const long needed = PyLong_AsLong(PyTuple_GET_ITEM(object, i));
    if (needed == -1 && PyErr_Occurred()) return false;
    needs[i] = static_cast<int>(needed);
  }
  return true;
}

Gradients gradients_of(std::initializer_list<Ref*> gradients) {
  Ref tuple = owned(PyTuple_New(static_cast<Py_ssize_t>(gradients.size())));
  Py_ssize_t i = 0;
  for (Ref* g : gradients) PyTuple_SET_ITEM(tuple.get(), i++, *g ? g->release() : Py_NewRef(Py_None));
  return tuple;
}

bool sizes_argument(const char* function, const char* argument, PyObject* o, Py_ssize_t* out, int& n, bool refuses) {
  const bool one = PyIndex_Check(o);
  Ref items = one ? Ref(PyTuple_Pack(1, o)) : is_list(o) ? held_items(o, "") : Ref(PyTuple_New(0));
  if (!items || !check_ndim(PyTuple_GET_SIZE(items.get()))) return false;
  n = static_cast<int>(PyTuple_GET_SIZE(items.get()));
  PyObject* wrong = one || is_list(o) ? nullptr : o;
  for (int i = 0; i < n && !wrong; ++i) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), i);
    if (!PyIndex_Check(item)) wrong = item;
    else if (!index_argument(item, out[i])) {
      if (PyErr_ExceptionMatches(PyExc_ValueError)) raise_unpack(function, argument, i, nullptr);
      return false;
    }
  }
  if (!wrong) return true;
  return refuses && fail(PyExc_TypeError, "%s(): argument '%s' (position 1) must be tuple of ints, but found element of type %s",
                         function, argument, Py_TYPE(wrong)->tp_name);
}

bool holds(DType dtype, int64_t number) {
  if (category_of(dtype) != Category::Integer) return dtype == DType::Bool || holds(dtype, static_cast<double>(number));
  const int bits = static_cast<int>(8 * item_size(dtype)) - !is_unsigned(dtype);
  return bits >= 63 ? number >= 0 || bits == 63 : number >> bits == 0 || (!is_unsigned(dtype) && number >> bits == -1);
}
bool holds(DType dtype, double number) {
  if (category_of(dtype) == Category::Integer) {  // an unsigned one of 64 bits takes half of its numbers here
    const double end = std::ldexp(1, std::min(63, static_cast<int>(8 * item_size(dtype)) - !is_unsigned(dtype)));
    return (is_unsigned(dtype) ? 0 : -end) <= number && (end == 0x1p63 ? number < end : number <= end - 1);
  }
  const DType part = part_of(dtype);
  const double most = part == DType::F16    ? 65504
                      : part == DType::BF16 ? 0x1.FEp127
                      : part == DType::F32  ? 0x1.FFFFFEp127
                                            : HUGE_VAL;
  return dtype == DType::Bool || !std::isfinite(number) || std::abs(number) <= most;
}

bool double_argument(PyObject* object, double& out) {
  out = PyFloat_AsDouble(object);
  return out != -1.0 || !PyErr_Occurred();
}

bool bool_argument(PyObject* object, bool& out) {
  const int truth = PyObject_IsTrue(object);
  out = truth > 0;
  return truth >= 0;
}

Failed fail(PyObject* type, const char* format, ...) {
  va_list values;
  va_start(values, format);
  PyErr_FormatV(type, format, values);
  va_end(values);
  return {};
}
Failed fail(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  return {};
}

void check_room(int ndim) {
  if (ndim >= kMaxDims) fail(PyExc_RuntimeError, "a tensor has at most 64 dimensions"), raised();
}

Failed wrong_count(const char* kernel, Py_ssize_t given, Py_ssize_t low, Py_ssize_t high) {
  if (low == high) return fail(PyExc_TypeError, "%s() takes %zd positional arguments, got %zd", kernel, low, given);
  return fail(PyExc_TypeError, "%s() takes %zd to %zd positional arguments, got %zd", kernel, low, high, given);
}

PyObject* no_kernel() { return PyErr_Occurred() ? nullptr : Py_NewRef(Py_NotImplemented); }

const char* describe(const char* name, std::initializer_list<Described> parameters, const char* result, const char* note) {
  std::string& row = *new std::string(name);  // as long as the module
  row += "(";
  for (const Described& p : parameters) {
    row += std::string(p.name) + ": " + p.type + (p.or_none ? " | None" : "");
    if (p.otherwise) row += std::string(" = ") + p.otherwise;
    row += ", ";
  }
  row += parameters.size() ? "/) -> " : ") -> ";
  return (row += std::string(result) + (*note ? "\n" : "") + note).c_str();
}

PyObject* make_kernels_module() {
  static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                   "rushlight._core.kernels",
                                   "Compiled kernels over tensors. A function returns NotImplemented where it has no "
                                   "kernel for its arguments.",
                                   -1,
                                   nullptr,
                                   nullptr,
                                   nullptr,
                                   nullptr,
                                   nullptr};
  Ref module(PyModule_Create(&definition));
  if (!module) return nullptr;
  for (KernelRows* file = KernelRows::all; file; file = file->next) {
    for (const PyMethodDef* row = file->rows.data(); row->ml_name; row++) {
      if (PyObject_HasAttrString(module.get(), row->ml_name))
        return PyErr_Format(PyExc_ImportError, "there are two kernels %s", row->ml_name);
    }
    if (PyModule_AddFunctions(module.get(), file->rows.data()) < 0) return nullptr;
  }
  if (PyModule_AddStringConstant(module.get(), "isa", dense_kernels().isa) < 0) return nullptr;
  return module.release();
}

}  // namespace rushlight
