// Tensors from sizes and numbers, on the CPU: calls that name a size, numbers of Python's own types and an element type. Everything
// else, and every error, is the Python of ops/making.
#include "bindings/kernel.h"

#include <cfloat>
#include <cmath>
#include <cstring>

#include "core/observe.h"
#include "core/op.h"
#include "kernels/copy.h"

namespace rushlight {
namespace {

bool only_cpu = true;  // no thread ever chose another default device

// The arguments of a call of a function that makes tensors.
struct Making {
  PyObject* const* args;
  Py_ssize_t n;
  DType dtype = DType::Count;

  // False where a keyword says more than the element type.
  bool read(PyObject* kwnames) {
    if (!only_cpu || observed()) return false;
    for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
      PyObject *name = PyTuple_GET_ITEM(kwnames, k), *value = args[n + k];
      const auto is = [name](const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; };
      if (is("dtype") && value != Py_None) {
        if (!read_dtype(value)) return false;
      } else if (!(is("dtype") || (is("device") && value == Py_None) || (is("requires_grad") && value == Py_False))) {
        return false;
      }
    }
    return true;
  }
  bool read_dtype(PyObject* value) {
    for (int i = 0; i < static_cast<int>(DType::F8E4M3FN); ++i) {
      if (value == registry.dtypes[i]) dtype = static_cast<DType>(i);
    }
    return dtype != DType::Count;
  }
  // Sizes from argument `first`: one by one, or in a list.
  bool read_sizes(Py_ssize_t first, bool listed, Layout& l) const {
    if (n <= first) return false;
    PyObject* const* items = args + first;
    Py_ssize_t count = n - first;
    if (PyTuple_Check(*items) || PyList_CheckExact(*items)) {
      if (count > 1 && !listed) return false;
      count = PySequence_Fast_GET_SIZE(*items);
      items = PySequence_Fast_ITEMS(*items);
    } else if (listed) {
      return false;
    }
    if (count > kMaxDims) return false;
    for (Py_ssize_t i = 0; i < count; ++i) {
      Py_ssize_t size;
      if (!whole(items[i], size) || size < 0) return false;
      l.add(size, 0);
    }
    return true;
  }
  static bool whole(PyObject* o, Py_ssize_t& value) {
    if (!PyLong_CheckExact(o)) return false;
    int overflow;
    value = PyLong_AsLongLongAndOverflow(o, &overflow);
    return !overflow;
  }
  // A float, or an int that is one.
  static bool real(PyObject* o, double& value) {
    Py_ssize_t integer;
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

bool is_real(DType t) { return t == DType::F32 || t == DType::F64; }
bool fits(double x, DType t) { return t == DType::F64 || std::fabs(x) <= FLT_MAX; }

// Sets every element that the layout shows to one of another type.
void set_all(const Ref& made, const Layout& l, DType type, const void* value) {
  const Py_ssize_t none[kMaxDims] = {};
  const TensorInfo t = info_of(made);
  Unlocked unlocked(t.size() * item_size(t.dtype) > kReleaseGilBytes, t);
  copy_strided(t.dtype, t.data, l.strides, type, static_cast<const char*>(value), none, l.ndim, l.shape);
}

Ref filled(DType dtype, const Layout& l, DType type, const void* value) {
  Ref made = new_ref(dtype, l.ndim, l.shape, DeviceType::Cpu);
  set_all(made, Layout(as_tensor(made)), type, value);
  return made;
}

template <int kValue>
Ref constant(Making& call) {
  Layout l;
  if (!call.read_sizes(0, false, l)) return {};
  const DType dtype = call.dtype == DType::Count ? registry.default_dtype : call.dtype;
  if (kValue == 0) return zeros_ref(dtype, l.ndim, l.shape, DeviceType::Cpu);
  const int64_t value = kValue;
  return filled(dtype, l, DType::I64, &value);
}

Ref full(Making& call) {
  Layout l;
  if (call.n != 2 || !Making{call.args, 1}.read_sizes(0, true, l)) return {};
  PyObject* value = call.args[1];
  double number;
  Py_ssize_t integer;
  if (PyBool_Check(value) && call.dtype == DType::Count) {
    const uint8_t truth = value == Py_True;
    return filled(DType::Bool, l, DType::Bool, &truth);
  }
  if (Making::whole(value, integer) && (call.dtype == DType::Count || call.dtype == DType::I64))
    return filled(DType::I64, l, DType::I64, &integer);
  const DType dtype = call.dtype == DType::Count ? registry.default_dtype : call.dtype;
  if (!Making::real(value, number) || !is_real(dtype) || !fits(number, dtype)) return {};
  return filled(dtype, l, DType::F64, &number);
}

Ref eye(Making& call) {
  Py_ssize_t n, m;
  if (call.n < 1 || call.n > 2 || !Making::whole(call.args[0], n) || !Making::whole(call.args[call.n - 1], m) || n < 0 || m < 0)
    return {};
  const Py_ssize_t shape[] = {n, m};
  Ref made = zeros_ref(call.dtype == DType::Count ? registry.default_dtype : call.dtype, 2, shape, DeviceType::Cpu);
  Layout diagonal;
  diagonal.add(std::min(n, m), as_tensor(made)->stride(0) + as_tensor(made)->stride(1));
  const uint8_t one = 1;
  set_all(made, diagonal, DType::Bool, &one);
  return made;
}

// out[i] = value(i) for all elements; the index as an int that converts quickly, from a base on.
template <class T, class F>
void each_index(const Ref& made, const F& value) {
  T* out = data_of<T>(made);
  const Py_ssize_t n = as_tensor(made)->numel();
  constexpr Py_ssize_t kBlock = 1 << 16;
  Unlocked unlocked(n * static_cast<Py_ssize_t>(sizeof(T)) > kReleaseGilBytes, made);
  parallel((n + kBlock - 1) / kBlock, 1, [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t b = begin; b < end; ++b) {
      const Py_ssize_t first = b * kBlock;
      const int count = static_cast<int>(std::min(n - first, kBlock));
      for (int i = 0; i < count; ++i) out[first + i] = static_cast<T>(value(first, i));
    }
  });
}

Ref arange(Making& call) {
  if (call.n < 1 || call.n > 3) return {};
  PyObject* start = call.n > 1 ? call.args[0] : nullptr;
  PyObject* end = call.n > 1 ? call.args[1] : call.args[0];
  PyObject* step = call.n > 2 ? call.args[2] : nullptr;
  const bool integers = PyLong_CheckExact(end) && (!start || PyLong_CheckExact(start)) && (!step || PyLong_CheckExact(step));
  if (integers && (call.dtype == DType::Count || call.dtype == DType::I64)) {
    Py_ssize_t first = 0, last, by = 1, span;
    if ((start && !Making::whole(start, first)) || !Making::whole(end, last) || (step && !Making::whole(step, by))) return {};
    if (by == 0 || by == PY_SSIZE_T_MIN || __builtin_sub_overflow(last, first, &span) || (span != 0 && (span < 0) != (by < 0)))
      return {};
    const Py_ssize_t count = span / by + (span % by != 0);
    Ref made = new_ref(DType::I64, 1, &count, DeviceType::Cpu);
    each_index<int64_t>(made, [=](Py_ssize_t base, int i) { return (first + base * by) + by * i; });
    return made;
  }
  const DType dtype = call.dtype == DType::Count ? registry.default_dtype : call.dtype;
  double first = 0, last, by = 1;
  if (!is_real(dtype) || (start && !Making::real(start, first)) || !Making::real(end, last) || (step && !Making::real(step, by)))
    return {};
  const double span = (last - first) / by;
  if (!(by != 0) || !(span >= 0) || !(span < 1e15)) return {};
  const Py_ssize_t count = static_cast<Py_ssize_t>(std::ceil(span));
  Ref made = new_ref(dtype, 1, &count, DeviceType::Cpu);
  const auto value = [=](Py_ssize_t base, int i) { return first + (static_cast<double>(base) + i) * by; };
  dtype == DType::F32 ? each_index<float>(made, value) : each_index<double>(made, value);
  return made;
}

// From both ends towards the middle, so that both are exact. A step's product is not rounded before it is added: torch's compilers
// fuse the two.
template <class T, class Wide>
Ref spaced(DType dtype, double start, double end, Py_ssize_t n) {
  const T left = static_cast<T>(start), right = static_cast<T>(end);
  const Wide step = (right - left) / static_cast<T>(n > 1 ? n - 1 : 1);
  Ref made = new_ref(dtype, 1, &n, DeviceType::Cpu);
  each_index<T>(made, [=](Py_ssize_t base, int i) {
    const bool low = base + i < n / 2 || n == 1;
    const Wide at = static_cast<Wide>(base) + i, back = static_cast<Wide>(n - 1 - base) - i;
    return low ? left + step * at : right - step * back;
  });
  return made;
}

Ref linspace(Making& call) {
  const DType dtype = call.dtype == DType::Count ? registry.default_dtype : call.dtype;
  double start, end;
  Py_ssize_t n;
  if (call.n != 3 || !is_real(dtype) || !Making::real(call.args[0], start) || !Making::real(call.args[1], end)) return {};
  if (!Making::whole(call.args[2], n) || n < 0 || !fits(start, dtype) || !fits(end, dtype)) return {};
  return dtype == DType::F32 ? spaced<float, double>(dtype, start, end, n) : spaced<double, long double>(dtype, start, end, n);
}

template <Ref (*make)(Making&)>
PyObject* made_by(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  try {
    Making call{args, n};
    Ref made = call.read(kwnames) ? make(call) : Ref();
    return made ? made.release() : no_kernel();
  } catch (const Raised&) {
    return nullptr;
  }
}

template <Ref (*make)(Making&)>
PyMethodDef factory(const char* name, const char* row) {
  return {name, method_of<made_by<make>>(), METH_FASTCALL | METH_KEYWORDS, row};
}

Nothing other_devices() {
  only_cpu = false;
  return none();
}

const KernelRows rows{
    factory<constant<0>>("zeros", "zeros(*args: Any, **how: Any) -> Tensor"),
    factory<constant<1>>("ones", "ones(*args: Any, **how: Any) -> Tensor"),
    factory<full>("full", "full(*args: Any, **how: Any) -> Tensor"),
    factory<eye>("eye", "eye(*args: Any, **how: Any) -> Tensor"),
    factory<arange>("arange", "arange(*args: Any, **how: Any) -> Tensor"),
    factory<linspace>("linspace", "linspace(*args: Any, **how: Any) -> Tensor"),
    layout_kernel<other_devices, "other_devices(): the default device may be another than the CPU from now on">(),
};

}  // namespace

}  // namespace rushlight
