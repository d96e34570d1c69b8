// Tensors from sizes and numbers, on the CPU: calls that name a size, numbers of Python's own types and an element type. Everything
// else, and every error, is the Python of ops/making.
#include "bindings/making/factories.h"

#include <cmath>
#include <complex>
#include <cstring>

#include "core/alerts.h"
#include "kernels/copy.h"

namespace rushlight {
namespace {

bool is_real(DType t) { return t == DType::F32 || t == DType::F64; }

// Sets every element that the layout shows to one of another type.
void set_all(const TensorInfo& t, const Layout& l, DType type, const void* value) {
  const Py_ssize_t none[kMaxDims] = {};
  Unlocked unlocked(t.size() * item_size(t.dtype) > kReleaseGilBytes, t);
  copy_strided(t.dtype, t.data, l.strides, type, static_cast<const char*>(value), none, l.ndim, l.shape);
}

Ref filled(DType dtype, const Layout& l, DType type, const void* value) {
  Ref made = new_ref(dtype, l.ndim, l.shape, DeviceType::Cpu);
  set_all(info_of(made), Layout(as_tensor(made)), type, value);
  return made;
}

// A number as an element; false where it is none of Python's, or may not fit.
struct Number {
  DType type = DType::Count;
  union {
    double real;
    int64_t integer;
    uint8_t truth;
  };
  bool read(PyObject* value, DType& dtype) {
    int64_t whole;
    if (PyBool_Check(value)) {
      type = DType::Bool;
      if (dtype == DType::Count) dtype = type;
      truth = value == Py_True;
    } else if (Making::whole(value, whole) && (dtype == DType::Count || !is_differentiable(dtype))) {
      type = DType::I64;
      if (dtype == DType::Count) dtype = type;
      integer = whole;
      return dtype == DType::Bool || holds(dtype, integer);
    } else if (dtype == DType::Count || is_differentiable(dtype)) {
      type = DType::F64;
      if (dtype == DType::Count) dtype = registry.default_dtype;
      return Making::real(value, real) ? holds(dtype, real) : PyFloat_CheckExact(value);
    } else {
      double number;
      if (!PyFloat_CheckExact(value) || !Making::real(value, number) || !holds(dtype, number)) return false;
      type = dtype == DType::Bool ? DType::Bool : DType::I64;
      if (dtype == DType::Bool) truth = number != 0;
      else integer = static_cast<int64_t>(number);
    }
    return true;
  }
};

Ref constant(const Layout& l, DType dtype, int value) {
  if (value == 0) return zeros_ref(dtype, l.ndim, l.shape, DeviceType::Cpu);
  const int64_t number = value;
  return filled(dtype, l, DType::I64, &number);
}

template <int kValue>
Ref constant(Making& call) {
  Layout l;
  if (!call.read_sizes(0, false, l)) return {};
  return constant(l, call.dtype == DType::Count ? registry.default_dtype : call.dtype, kValue);
}

template <int kValue>
Ref new_constant(Making& call) {
  Layout l;
  return call.model() && call.read_sizes(1, false, l) ? constant(l, call.dtype, kValue) : Ref();
}

Ref like(const Tensor* model, DType dtype, DType type, const void* value) {
  Ref made = owned(new_like(model, dtype));
  set_all(info_of(made), Layout(as_tensor(made)), type, value);
  return made;
}

template <int kValue>
Ref constant_like(Making& call) {
  const Tensor* model = call.n == 1 ? call.model() : nullptr;
  const int64_t value = kValue;
  return model ? like(model, call.dtype, DType::I64, &value) : Ref();
}

// Without values. The deterministic mode may fill them, which is Python's.
bool leaves_unset() { return !alerts_nondeterministic.load(std::memory_order_relaxed); }

Ref empty(Making& call) {
  Layout l;
  if (!leaves_unset() || !call.read_sizes(0, false, l)) return {};
  return new_ref(call.dtype == DType::Count ? registry.default_dtype : call.dtype, l.ndim, l.shape, DeviceType::Cpu);
}

Ref new_empty(Making& call) {
  Layout l;
  if (!leaves_unset() || !call.model() || !call.read_sizes(1, false, l)) return {};
  return new_ref(call.dtype, l.ndim, l.shape, DeviceType::Cpu);
}

Ref empty_like(Making& call) {
  const Tensor* model = call.n == 1 && leaves_unset() ? call.model() : nullptr;
  return model ? owned(new_like(model, call.dtype)) : Ref();
}

Ref full(Making& call) {
  Layout l;
  Number number;
  if (call.n != 2 || !Making{call.args, 1}.read_sizes(0, true, l) || !number.read(call.args[1], call.dtype)) return {};
  return filled(call.dtype, l, number.type, &number.real);
}

// Numbers of Python's own, alone or in nested lists. To read them runs no code of a program.
class Numbers {
 public:
  Layout sizes;

  // False where there is anything else, or where lists of one level have several lengths.
  bool look(PyObject* data) {
    for (Ref first = Ref::borrow(data); is_row(first.get());) {
      if (sizes.ndim == kMaxDims) return false;
      const ItemsOf items(first.get());
      sizes.add(items.size(), 0);
      if (!items.size()) break;
      first = Ref::borrow(items[0]);
    }
    return each(data, 0, [this](PyObject* o) {
      kinds_ |= PyFloat_CheckExact(o)     ? kFloat
                : PyLong_CheckExact(o)    ? kInt
                : PyBool_Check(o)         ? kBool
                : PyComplex_CheckExact(o) ? kComplex
                                          : kOther;
      return kinds_ < kOther;
    });
  }
  // The type that holds each of them.
  DType type() const {
    return kinds_ & kComplex ? DType::C128
           : kinds_ & kFloat ? DType::F64
           : kinds_ & kInt   ? DType::I64
           : kinds_          ? DType::Bool
                             : DType::F32;
  }
  // False where an int is too large.
  template <class T>
  bool fill(PyObject* data, T* out) const {
    return each(data, 0, [&](PyObject* o) { return read(o, *out++); });
  }

 private:
  enum Kind { kBool = 1, kInt = 2, kFloat = 4, kComplex = 8, kOther = 16 };
  int kinds_ = 0;

  static bool is_row(PyObject* o) { return PyList_CheckExact(o) || PyTuple_CheckExact(o); }
  static bool read(PyObject* o, bool& value) {
    value = o == Py_True;
    return true;
  }
  static bool read(PyObject* o, int64_t& value) {
    int overflow;
    value = PyLong_AsLongLongAndOverflow(o, &overflow);
    return !overflow;
  }
  static bool read(PyObject* o, double& value) {
    value = PyFloat_CheckExact(o) ? PyFloat_AS_DOUBLE(o) : PyLong_AsDouble(o);
    if (value != -1 || !PyErr_Occurred()) return true;
    PyErr_Clear();
    return false;
  }
  static bool read(PyObject* o, float& value) {
    double wide;
    if (!read(o, wide)) return false;
    value = static_cast<float>(wide);
    return true;
  }
  static bool read(PyObject* o, std::complex<double>& value) {
    double real;
    if (!PyComplex_CheckExact(o)) return read(o, real) && (value = real, true);
    const Py_complex z = PyComplex_AsCComplex(o);
    value = {z.real, z.imag};
    return true;
  }
  template <class F>
  bool each(PyObject* o, int dim, const F& f) const {
    if (dim == sizes.ndim) return f(o);
    if (!is_row(o)) return false;
    const ItemsOf items(o);
    if (items.size() != sizes.shape[dim]) return false;
    for (Py_ssize_t i = 0; i < sizes.shape[dim]; ++i) {
      if (!each(items[i], dim + 1, f)) return false;
    }
    return true;
  }
};

// Whether a type holds all elements, which are numbers of T.
template <class T>
bool holds_all(DType type, const Tensor* t) {
  const T* x = reinterpret_cast<const T*>(t->data());
  return std::all_of(x, x + t->numel(), [type](T number) { return holds(type, number); });
}

Ref tensor(Making& call) {
  Numbers numbers;
  if (call.n != 1 || !numbers.look(call.args[0])) return {};
  PyObject* data = call.args[0];
  const DType type = numbers.type();
  DType dtype = call.dtype;
  if (dtype == DType::Count) {
    const bool real = type == DType::F32 || type == DType::F64;
    if (type == DType::C128 && registry.default_dtype == DType::F16) return {};  // complex32 is Python's
    dtype = real ? registry.default_dtype : type == DType::C128 ? promote(registry.default_dtype, DType::C64) : type;
  }
  if (type == DType::C128 && !is_complex(dtype)) return {};
  const bool direct = type == DType::F64 && dtype == DType::F32;
  Ref made = new_ref(direct ? dtype : type, numbers.sizes.ndim, numbers.sizes.shape, DeviceType::Cpu);
  const bool read = direct                ? numbers.fill(data, data_of<float>(made))
                    : type == DType::F64  ? numbers.fill(data, data_of<double>(made))
                    : type == DType::I64  ? numbers.fill(data, data_of<int64_t>(made))
                    : type == DType::C128 ? numbers.fill(data, data_of<std::complex<double>>(made))
                                          : numbers.fill(data, data_of<bool>(made));
  if (!read) return {};
  if (as_tensor(made)->dtype != dtype) {
    const bool checked = category_of(dtype) == Category::Integer;
    if (checked && type == DType::I64 && !holds_all<int64_t>(dtype, as_tensor(made))) return {};
    if (checked && type == DType::F64 && !holds_all<double>(dtype, as_tensor(made))) return {};
    made = owned(cast(as_tensor(made), dtype));
  }
  if (!call.wants_grad) cut_here(as_tensor(made), Cut::FromData);
  return made;
}

Ref scalar_tensor(Making& call) {
  Number number;
  if (call.dtype == DType::Count) call.dtype = registry.default_dtype;
  if (call.n != 1 || !number.read(call.args[0], call.dtype)) return {};
  return filled(call.dtype, Layout(), number.type, &number.real);
}

Ref new_full(Making& call) {
  Layout l;
  Number number;
  if (call.n != 3 || !call.model() || !Making{call.args, 2}.read_sizes(1, true, l) || !number.read(call.args[2], call.dtype))
    return {};
  return filled(call.dtype, l, number.type, &number.real);
}

Ref full_like(Making& call) {
  const Tensor* model = call.n == 2 ? call.model() : nullptr;
  Number number;
  return model && number.read(call.args[1], call.dtype) ? like(model, call.dtype, number.type, &number.real) : Ref();
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
  set_all(info_of(made), diagonal, DType::Bool, &one);
  return made;
}

// out[i] = value(base, i - base) for elements [begin, end): an int converts quickly.
template <class T, class F>
void each_index(T* out, Py_ssize_t begin, Py_ssize_t end, const F& value) {
  constexpr Py_ssize_t kBlock = 1 << 16;
  parallel((end - begin + kBlock - 1) / kBlock, 1, [&](ptrdiff_t first, ptrdiff_t last) {
    for (ptrdiff_t b = first; b < last; ++b) {
      const Py_ssize_t base = begin + b * kBlock;
      const int count = static_cast<int>(std::min(end - base, kBlock));
      for (int i = 0; i < count; ++i) out[base + i] = static_cast<T>(value(base, i));
    }
  });
}

// Calls f(elements, how many) of a new vector.
template <class T, class F>
Ref new_vector(DType dtype, Py_ssize_t n, const F& f) {
  Ref made = new_ref(dtype, 1, &n, DeviceType::Cpu);
  T* out = data_of<T>(made);
  Unlocked unlocked(n * item_size(dtype) > kReleaseGilBytes, made);
  f(out);
  return made;
}

Ref arange(Making& call) {
  if (call.n < 1 || call.n > 3) return {};
  PyObject* start = call.n > 1 ? call.args[0] : nullptr;
  PyObject* end = call.n > 1 ? call.args[1] : call.args[0];
  PyObject* step = call.n > 2 ? call.args[2] : nullptr;
  const bool integers = PyLong_CheckExact(end) && (!start || PyLong_CheckExact(start)) && (!step || PyLong_CheckExact(step));
  if (integers && (call.dtype == DType::Count || call.dtype == DType::I64)) {
    int64_t first = 0, last, by = 1, span;
    if ((start && !Making::whole(start, first)) || !Making::whole(end, last) || (step && !Making::whole(step, by))) return {};
    if (by == 0 || by == INT64_MIN || __builtin_sub_overflow(last, first, &span) || (span != 0 && (span < 0) != (by < 0)))
      return {};
    const int64_t steps = span / by + (span % by != 0);
    const Py_ssize_t count = static_cast<Py_ssize_t>(steps);
    if (count != steps) return {};
    return new_vector<int64_t>(DType::I64, count, [=](int64_t* out) {
      parallel(count, 1 << 16, [=](ptrdiff_t begin, ptrdiff_t end) {
        for (int64_t i = begin, x = first + begin * by; i < end; ++i, x += by) out[i] = x;
      });
    });
  }
  const DType dtype = call.dtype == DType::Count ? registry.default_dtype : call.dtype;
  double first = 0, last, by = 1;
  if (!is_real(dtype) || (start && !Making::real(start, first)) || !Making::real(end, last) || (step && !Making::real(step, by)))
    return {};
  const double span = (last - first) / by;
  if (!(by != 0) || !(span >= 0) || !(span < std::min(1e15, PY_SSIZE_T_MAX / 8.0))) return {};
  const Py_ssize_t count = static_cast<Py_ssize_t>(std::ceil(span));
  const auto value = [=](Py_ssize_t base, int i) { return first + (static_cast<double>(base) + i) * by; };
  if (dtype == DType::F32) return new_vector<float>(dtype, count, [&](float* out) { each_index(out, 0, count, value); });
  return new_vector<double>(dtype, count, [&](double* out) { each_index(out, 0, count, value); });
}

// From both ends towards the middle, so that both are exact. A step's product is not rounded before it is added: torch's compilers
// fuse the two.
template <class T, class Wide>
Ref spaced(DType dtype, double start, double end, Py_ssize_t n) {
  const T left = static_cast<T>(start), right = static_cast<T>(end);
  const Wide step = (right - left) / static_cast<T>(n > 1 ? n - 1 : 1);
  const Py_ssize_t middle = n == 1 ? 1 : n / 2;
  return new_vector<T>(dtype, n, [&](T* out) {
    each_index(out, 0, middle, [=](Py_ssize_t base, int i) { return left + step * (static_cast<Wide>(base) + i); });
    each_index(out, middle, n, [=](Py_ssize_t base, int i) { return right - step * (static_cast<Wide>(n - 1 - base) - i); });
  });
}

Ref linspace(Making& call) {
  const DType dtype = call.dtype == DType::Count ? registry.default_dtype : call.dtype;
  double start, end;
  Py_ssize_t n;
  if (call.n != 3 || !is_real(dtype) || !Making::real(call.args[0], start) || !Making::real(call.args[1], end)) return {};
  if (!Making::whole(call.args[2], n) || n < 0 || !holds(dtype, start) || !holds(dtype, end)) return {};
  return dtype == DType::F32 ? spaced<float, double>(dtype, start, end, n) : spaced<double, long double>(dtype, start, end, n);
}

Ref logspace(Making& call) {
  double base = 10;
  if (call.n == 4) {
    if (!Making::real(call.args[--call.n], base)) return {};
  }
  const DType dtype = call.dtype == DType::Count ? registry.default_dtype : call.dtype;
  if (!holds(dtype, base)) return {};
  Ref made = linspace(call);
  if (!made) return made;
  static const int pow = opcode("pow");
  const Py_ssize_t n = as_tensor(made)->numel();
  constexpr Py_ssize_t kPiece = 1024;
  alignas(64) double bases[kPiece];
  by_type(dtype, [&](auto* b) { std::fill_n(b, kPiece, base); }, reinterpret_cast<char*>(bases));
  for (Py_ssize_t i = 0; i < n; i += kPiece) {
    char* x = data_of(made) + i * item_size(dtype);
    kernels().block(pow, dtype)(bases, x, nullptr, x, std::min(n - i, kPiece));
  }
  return made;
}

// The places of a matrix's triangle, row by row.
template <bool kUpper>
Ref triangle_indices(Making& call) {
  Py_ssize_t n, m, offset = 0;
  if (call.n < 2 || call.n > 3 || (call.dtype != DType::Count && call.dtype != DType::I64)) return {};
  if (!Making::whole(call.args[0], n) || !Making::whole(call.args[1], m) || n < 0 || m < 0) return {};
  if ((call.n == 3 && !Making::whole(call.args[2], offset)) || n > (1 << 20) || m > (1 << 20)) return {};
  offset = std::clamp(offset, -n, m);
  const auto middle = [=](Py_ssize_t row) { return std::clamp<Py_ssize_t>(row + offset + (kUpper ? 0 : 1), 0, m); };
  Py_ssize_t shape[] = {2, 0};
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (__builtin_add_overflow(shape[1], kUpper ? m - middle(i) : middle(i), &shape[1])) {
      shape[1] = PY_SSIZE_T_MAX;  // which is refused below
      break;
    }
  }
  Ref made = new_ref(DType::I64, 2, shape, DeviceType::Cpu);
  int64_t *rows = data_of<int64_t>(made), *columns = rows + shape[1];
  for (Py_ssize_t i = 0; i < n; ++i) {
    for (Py_ssize_t j = kUpper ? middle(i) : 0, end = kUpper ? m : middle(i); j < end; ++j) {
      *rows++ = i;
      *columns++ = j;
    }
  }
  return made;
}

// Whether there is a loop that sets elements of the tensor.
bool can_set(const TensorInfo& a) {
  return !is_accelerated(a) && !is_meta(a) && !stored_only(a.dtype) && a.tensor->is_aligned() && a.tensor->is_writeable();
}

// Writes a: an element of memory that is shown more than once is set once.
void set_shown(const TensorInfo& a, DType type, const void* value) {
  Layout l(a.tensor);
  for (int i = 0; i < l.ndim; ++i)
    if (!l.strides[i]) l.shape[i] = std::min<Py_ssize_t>(l.shape[i], 1);
  set_all(a, l, type, value);
}

// Writes a. The value is a number or a tensor without dimensions.
Nothing fill(const TensorInfo& a, Any value) {
  if (!can_set(a)) return {};
  if (!is_tensor(value.object)) {
    Number number;
    DType dtype = a.dtype;
    return number.read(value, dtype) ? set_shown(a, number.type, &number.real), none() : Nothing();
  }
  TensorInfo given;
  if (!read_tensor(value, given) || given.ndim || device_of(given) != DeviceType::Cpu || stored_only(given.dtype)) return {};
  if (is_complex(given.dtype) && !is_complex(a.dtype)) return {};
  const Ref one = contiguous_as(given.tensor, a.dtype);
  char element[16];  // of its own: the value may be one of a's elements
  std::memcpy(element, data_of(one), static_cast<size_t>(item_size(a.dtype)));
  set_shown(a, a.dtype, element);
  return none();
}

Ref filled_like(const TensorInfo& a, Any value) {
  if (!can_set(a)) return {};
  Ref made = owned(new_like(a.tensor, a.dtype));
  return fill(info_of(made), value) ? std::move(made) : Ref();
}

Nothing zero(const TensorInfo& a) {
  const uint8_t value = 0;
  if (!can_set(a)) return {};
  set_shown(a, DType::Bool, &value);
  return none();
}

Ref zeroed(const TensorInfo& a) {
  if (!can_set(a)) return {};
  Ref made = owned(new_like(a.tensor, a.dtype));
  zero(info_of(made));
  return made;
}

// What copy_ puts into a: the values of another tensor, in a's shape and type.
Ref fitted(const TensorInfo& a, Any src, Any) {
  TensorInfo from;
  if (is_accelerated(a) || is_meta(a) || !read_tensor(src, from) || device_of(from) != DeviceType::Cpu) return {};
  if (is_complex(from.dtype) && !is_complex(a.dtype)) return {};
  Ref values = from.dtype == a.dtype ? owned(new_alias(from.tensor)) : owned(cast(from.tensor, a.dtype));
  if (!values || same_shape(a.tensor, from.tensor)) return values;
  const int shift = a.ndim - from.ndim;
  Layout l;
  for (int i = 0; i < a.ndim; ++i) {
    const Py_ssize_t size = i < shift ? 1 : from.shape[i - shift];
    if (size != 1 && size != a.shape[i]) return {};
    l.add(a.shape[i], size == 1 ? 0 : as_tensor(values)->stride(i - shift));
  }
  return shift < 0 ? Ref() : owned(new_view(as_tensor(values), l));
}

// Real numbers; the op is defined for complex ones.
Ref isreal(const TensorInfo& a) {
  const uint8_t truth = 1;
  if (!can_set(a) || is_complex(a.dtype)) return {};
  return like(a.tensor, DType::Bool, DType::Bool, &truth);
}

// Tensor.to(device, dtype), either of which may be left out: the tensor itself, or a converted one.
PyObject* to(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  try {
    Making call{args, n};
    bool here = n > 1 && Making::names_cpu(args[1]);
    if (observed_closely() || n > 2 + here || (n > 1 + here && !call.read_dtype(args[1 + here]))) return no_kernel();
    for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
      PyObject *name = PyTuple_GET_ITEM(kwnames, k), *value = args[n + k];
      const auto is = [name](const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; };
      const bool fits = is("device")  ? !here && (here = Making::names_cpu(value))
                        : is("dtype") ? call.dtype == DType::Count && call.read_dtype(value)
                                      : is("non_blocking") && PyBool_Check(value);
      if (!fits) return no_kernel();
    }
    const Tensor* t = call.model();
    if (!t) return no_kernel();
    if (call.dtype == t->dtype) return Py_NewRef(args[0]);
    Op* cast = callbacks.to_copy.op();
    return cast ? call_op(cast, args[0], registry.dtypes[static_cast<int>(call.dtype)]) : nullptr;
  } catch (const Raised&) {
    return nullptr;
  }
}

Nothing default_is_cpu(bool truth) {
  on_cpu = truth;
  return none();
}

const KernelRows rows{
    factory<constant<0>>("zeros(*args: Any, **how: Any) -> Tensor"),
    factory<constant<1>>("ones(*args: Any, **how: Any) -> Tensor"),
    factory<tensor>("tensor(*args: Any, **how: Any) -> Tensor"),
    factory<tensor, false, true>("numbers(*args: Any, **how: Any) -> Tensor"),
    factory<full>("full(*args: Any, **how: Any) -> Tensor"),
    factory<scalar_tensor>("scalar_tensor(*args: Any, **how: Any) -> Tensor"),
    factory<empty>("empty(*args: Any, **how: Any) -> Tensor", Border::Asks),
    factory<empty_like>("empty_like(*args: Any, **how: Any) -> Tensor", Border::Asks),
    factory<new_empty>("new_empty(*args: Any, **how: Any) -> Tensor", Border::Asks),
    factory<constant_like<0>>("zeros_like(*args: Any, **how: Any) -> Tensor"),
    factory<constant_like<1>>("ones_like(*args: Any, **how: Any) -> Tensor"),
    factory<full_like>("full_like(*args: Any, **how: Any) -> Tensor"),
    factory<new_constant<0>>("new_zeros(*args: Any, **how: Any) -> Tensor"),
    factory<new_constant<1>>("new_ones(*args: Any, **how: Any) -> Tensor"),
    factory<new_full>("new_full(*args: Any, **how: Any) -> Tensor"),
    factory<eye>("eye(*args: Any, **how: Any) -> Tensor"),
    factory<arange>("arange(*args: Any, **how: Any) -> Tensor"),
    factory<linspace>("linspace(*args: Any, **how: Any) -> Tensor"),
    factory<linspace, false, true>("evenly(*args: Any, **how: Any) -> Tensor"),
    factory<logspace>("logspace(*args: Any, **how: Any) -> Tensor"),
    factory<triangle_indices<false>>("tril_indices(*args: Any, **how: Any) -> Tensor"),
    factory<triangle_indices<true>>("triu_indices(*args: Any, **how: Any) -> Tensor"),
    {"to", method_of<to>(), METH_FASTCALL | METH_KEYWORDS, "to(*args: Any, **how: Any) -> Tensor"},
    layout_kernel<fill, "fill(a, value): writes a">(Border::Fills),
    layout_kernel<filled_like, "filled_like(a, value)">(),
    layout_kernel<zero, "zero(a): writes a">(Border::Fills),
    layout_kernel<zeroed, "zeroed(a)">(),
    layout_kernel<fitted, "fitted(a, src, non_blocking)">(),
    layout_kernel<isreal, "isreal(a)">(),
    layout_kernel<default_is_cpu, "default_is_cpu(truth): whether this thread makes tensors on the CPU">(),
};

}  // namespace

}  // namespace rushlight
