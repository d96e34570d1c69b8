// What functions that make tensors share: calls that name a size, numbers of Python's own types and an element type. Every other call
// is left to Python.
#pragma once
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

#include "bindings/kernel.h"
#include "core/alerts.h"
#include "core/observe.h"
#include "core/op.h"
#include "core/tensor.h"

namespace rushlight {

inline PyObject* const kTypeOfDevice = PyUnicode_InternFromString("type");

// The arguments of a call of a function that makes tensors.
struct Making {
  PyObject* const* args;
  Py_ssize_t n;
  const bool draws = false;  // it takes a generator
  DType dtype = DType::Count;
  bool wants_grad = false;
  PyObject* generator = nullptr;  // the one that is named, if any
  Ref state = {};  // of it, while it is drawn from

  // False where a keyword says more than the element type, the CPU and a generator.
  bool read(PyObject* kwnames) {
    bool here = on_cpu;
    for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
      PyObject *name = PyTuple_GET_ITEM(kwnames, k), *value = args[n + k];
      const auto is = [name](const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; };
      if (is("dtype") && value != Py_None) {
        if (!read_dtype(value)) return false;
      } else if (is("device") && value != Py_None) {
        if (!(here = names_cpu(value))) return false;
      } else if (draws && is("generator")) {
        if (value != Py_None) generator = value;
      } else if (is("requires_grad")) {
        if (!PyBool_Check(value)) return false;
        wants_grad = value == Py_True;
      } else if (value != Py_None || !(is("dtype") || is("device") || is("memory_format"))) {
        return false;
      }
    }
    return here;
  }
  static bool names_cpu(PyObject* value) {
    if (PyUnicode_Check(value)) return PyUnicode_CompareWithASCIIString(value, "cpu") == 0;
    if (as_object(Py_TYPE(value)) != registry.device_type) return false;
    const Ref named(PyObject_GetAttr(value, kTypeOfDevice));
    if (!named) throw Raised();
    return PyUnicode_CompareWithASCIIString(named.get(), "cpu") == 0;
  }
  bool read_dtype(PyObject* value) {
    for (int i = 0; i < static_cast<int>(DType::F8E4M3FN); ++i) {
      if (value == registry.dtypes[i]) dtype = static_cast<DType>(i);
    }
    return dtype != DType::Count;
  }
  // A tensor for the first argument, whose type is the result's where the call names none.
  const Tensor* model() {
    if (n < 1 || tls.transform || !is_tensor(args[0]) || as_tensor(args[0])->flags & (kNotPlain & ~kLazy)) return nullptr;
    const Tensor* t = as_tensor(args[0]);
    if (dtype == DType::Count && !stored_only(t->dtype)) dtype = t->dtype;
    return dtype == DType::Count ? nullptr : t;
  }
  // Sizes from argument `first`: one by one, or in a list.
  bool read_sizes(Py_ssize_t first, bool listed, Layout& l) const {
    if (n <= first) return false;
    PyObject* const* items = args + first;
    Py_ssize_t count = n - first;
    const bool list = PyTuple_Check(*items) || PyList_CheckExact(*items);
    const ItemsOf inside(list ? *items : nullptr);
    if (list) {
      if (count > 1 && !listed) return false;
      count = inside.size();
      items = inside.all();
    } else if (listed) {
      return false;
    }
    if (count > kMaxDims) return false;
    Py_ssize_t stride = 1;  // which has to be a number also where there are no elements
    for (Py_ssize_t i = 0; i < count; ++i) {
      Py_ssize_t size;
      if (!whole(items[i], size) || size < 0 || __builtin_mul_overflow(stride, std::max<Py_ssize_t>(size, 1), &stride))
        return false;
      l.add(size, 0);
    }
    return true;
  }
  // False where it is no int, or one beyond 64 bits. Raises for a size that addresses of 32 bits do
  // not hold.
  template <class T>
  static bool whole(PyObject* o, T& value) {
    if (!PyLong_CheckExact(o)) return false;
    int overflow;
    const int64_t given = PyLong_AsLongLongAndOverflow(o, &overflow);
    value = static_cast<T>(given);
    if (!overflow && value != given) size_argument(o), throw Raised();
    return !overflow;
  }
  // A float, or an int that is one.
  static bool real(PyObject* o, double& value) {
    int64_t integer;
    if (PyFloat_CheckExact(o)) {
      value = PyFloat_AS_DOUBLE(o);
      return std::isfinite(value);
    }
    value = 0;
    if (!whole(o, integer) || std::llabs(integer) > (1ll << 53)) return false;
    value = static_cast<double>(integer);
    return true;
  }
};

// A call of a program's that is observed closely is left to Python, too; a call of the library's is not (`inside`).
template <Ref (*make)(Making&), bool draws, bool inside>
PyObject* made_by(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  try {
    Making call{args, n, draws};
    Ref made = (inside || !observed_closely()) && call.read(kwnames) ? make(call) : Ref();
    if (!made || (call.wants_grad && !(is_floating(as_tensor(made)->dtype) || is_complex(as_tensor(made)->dtype))))
      return no_kernel();
    if (call.wants_grad && set_requires_grad(made.get(), Py_True, nullptr) < 0) return nullptr;
    return made.release();
  } catch (const Raised&) {
    return nullptr;
  }
}

template <KernelFunction F>
inline KernelFacts facts_of_factory = {};
template <KernelFunction F>
PyObject* captured_factory(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  return recording() ? record_kernel(facts_of_factory<F>, F, self, args, n, kwnames) : F(self, args, n, kwnames);
}

template <Ref (*make)(Making&), bool draws = false, bool inside = false>
PyMethodDef factory(const char* row,
                    Border border = draws ? Border::Fills : Border::Looks) {  // "name(*args: Any, **how: Any) -> Tensor"
  static const std::string name(row, std::strchr(row, '('));
  constexpr KernelFunction f = made_by<make, draws, inside>;
  facts_of_factory<f> = {name.c_str(), border, draws};
  return {name.c_str(), method_of<captured_factory<f>>(), METH_FASTCALL | METH_KEYWORDS, row};
}

}  // namespace rushlight
