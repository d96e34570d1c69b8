// The generator as a Python object, and its samplers over tensors.
//
// A sampler fills the given tensor in the order in which its elements lie in memory, as torch does, and returns it. The
// GIL is held throughout: it is what keeps two threads from drawing from one generator at the same time.
#include "bindings/bindings.h"

#include <cmath>
#include <cstdlib>
#include <new>

#include "kernels/random.h"

namespace rushlight {
namespace {

constexpr const char* kCapsule = "rushlight._core.kernels.generator";

void destroy(PyObject* capsule) { delete static_cast<Generator*>(PyCapsule_GetPointer(capsule, kCapsule)); }

Generator* generator_of(PyObject* object) {
  if (PyCapsule_IsValid(object, kCapsule)) return static_cast<Generator*>(PyCapsule_GetPointer(object, kCapsule));
  PyErr_SetString(PyExc_TypeError, "expected a generator made by random_new()");
  return nullptr;
}

// A Python int of either sign as 64 bits; false with an exception set.
bool bits_argument(PyObject* object, uint64_t& out) {
  Ref index(PyNumber_Index(object));
  if (!index) return false;
  int overflow;
  const long long value = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  if (value == -1 && PyErr_Occurred()) return false;
  if (overflow == 0) {
    out = static_cast<uint64_t>(value);
    return true;
  }
  out = PyLong_AsUnsignedLongLong(index.get());
  return !PyErr_Occurred();
}

PyObject* random_new(PyObject*, PyObject* const* args, Py_ssize_t count) {
  uint64_t seed = Generator::kDefaultSeed;
  if (!check_count("random_new", count, 0, 1) || (count && !bits_argument(args[0], seed))) return nullptr;
  Generator* g = new (std::nothrow) Generator(seed);
  if (!g) return PyErr_NoMemory();
  PyObject* capsule = PyCapsule_New(g, kCapsule, destroy);
  if (!capsule) delete g;
  return capsule;
}

PyObject* random_seed(PyObject*, PyObject* const* args, Py_ssize_t count) {
  uint64_t seed;
  if (!check_count("random_seed", count, 2, 2)) return nullptr;
  Generator* g = generator_of(args[0]);
  if (!g || !bits_argument(args[1], seed)) return nullptr;
  g->set_seed(seed);
  return none();
}

PyObject* random_initial_seed(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!check_count("random_initial_seed", count, 1, 1)) return nullptr;
  Generator* g = generator_of(args[0]);
  return g ? PyLong_FromUnsignedLongLong(g->seed()) : nullptr;
}

PyObject* random_get_state(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!check_count("random_get_state", count, 1, 1)) return nullptr;
  Generator* g = generator_of(args[0]);
  PyObject* bytes = g ? PyBytes_FromStringAndSize(nullptr, Generator::kStateBytes) : nullptr;
  if (bytes) g->get_state(reinterpret_cast<unsigned char*>(PyBytes_AS_STRING(bytes)));
  return bytes;
}

// (generator, state): bytes, or a tensor of them
PyObject* random_set_state(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!check_count("random_set_state", count, 2, 2)) return nullptr;
  Generator* g = generator_of(args[0]);
  if (!g) return nullptr;
  Py_ssize_t length;
  bool sized, valid;
  const auto set = [&](const void* bytes) {
    sized = length == static_cast<Py_ssize_t>(Generator::kStateBytes);
    valid = sized && g->set_state(static_cast<const unsigned char*>(bytes));
  };
  if (TensorInfo a; read_tensor(args[1], a) && !is_meta(a)) {
    Ref bytes = contiguous(a.tensor);
    if (!bytes) return nullptr;
    length = as_tensor(bytes)->nbytes();
    set(data_of(bytes));
  } else {
    Py_buffer view;
    if (PyObject_GetBuffer(args[1], &view, PyBUF_SIMPLE) < 0) return nullptr;
    length = view.len;
    set(view.buf);
    PyBuffer_Release(&view);
  }
  if (valid) return none();
  if (!sized)
    PyErr_Format(PyExc_RuntimeError, "Expected a CPUGeneratorImplState of size %zd but found the input RNG state size to be %zd",
                 static_cast<Py_ssize_t>(Generator::kStateBytes), length);
  else PyErr_SetString(PyExc_RuntimeError, "Invalid mt19937 state");
  return nullptr;
}

PyObject* random_bits(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!check_count("random_bits64", count, 1, 1)) return nullptr;
  Generator* g = generator_of(args[0]);
  return g ? PyLong_FromUnsignedLongLong(g->next64()) : nullptr;
}

// The tensor `seen`, of the shape of a, with the dimensions ordered by falling stride of a: a new view.
Ref in_memory_order(const TensorInfo& a, const Tensor* seen) {
  int order[kMaxDims];
  for (int i = 0; i < a.ndim; i++) {
    int at = i;
    for (; at > 0 && std::abs(a.strides[order[at - 1]]) < std::abs(a.strides[i]); at--) order[at] = order[at - 1];
    order[at] = i;
  }
  Layout l;
  for (int i = 0; i < a.ndim; i++) l.add(seen->size(order[i]), seen->stride(order[i]));
  return Ref(as_object(new_view(seen, l)));
}

// Runs draw(dtype, data, n) over the elements of the tensor and returns it; draw is false where there is no sampler.
template <class Draw>
PyObject* filled(const char* name, PyObject* object, Draw draw) {
  TensorInfo a;
  if (!read_tensor(object, a)) return not_implemented();
  if (!a.tensor->is_writeable()) {
    PyErr_Format(PyExc_ValueError, "%s(): the tensor is read-only", name);
    return nullptr;
  }
  if (is_meta(a)) return Py_NewRef(object);
  if (a.contiguous()) return draw(a.dtype, a.data, a.size()) ? Py_NewRef(object) : not_implemented();
  Ref ordered = in_memory_order(a, a.tensor);
  Ref whole = ordered ? new_ref(a.dtype, a.ndim, as_tensor(ordered)->sizes(), DeviceType::Cpu) : Ref();
  if (!whole) return nullptr;
  if (!draw(a.dtype, data_of(whole), as_tensor(whole)->numel())) return not_implemented();
  return copy_into(as_tensor(ordered), as_tensor(whole)) < 0 ? nullptr : Py_NewRef(object);
}

// Samplers of two numbers: (generator, out, a, b).
template <auto fill>
PyObject* two_numbers(PyObject*, PyObject* const* args, Py_ssize_t count) {
  double a, b;
  if (!check_count("the sampler", count, 4, 4)) return nullptr;
  Generator* g = generator_of(args[0]);
  if (!g || !double_argument(args[2], a) || !double_argument(args[3], b)) return nullptr;
  return filled("the sampler", args[1], [&](DType t, void* p, Py_ssize_t n) { return fill(*g, t, p, n, a, b); });
}

// And of one: (generator, out, a).
template <auto fill>
PyObject* one_number(PyObject*, PyObject* const* args, Py_ssize_t count) {
  double a;
  if (!check_count("the sampler", count, 3, 3)) return nullptr;
  Generator* g = generator_of(args[0]);
  if (!g || !double_argument(args[2], a)) return nullptr;
  return filled("the sampler", args[1], [&](DType t, void* p, Py_ssize_t n) { return fill(*g, t, p, n, a); });
}

// (generator, out, mean, std). Tensors that are not contiguous are drawn element by element, as small ones are.
PyObject* normal_(PyObject*, PyObject* const* args, Py_ssize_t count) {
  double mean, std;
  if (!check_count("normal_", count, 4, 4)) return nullptr;
  Generator* g = generator_of(args[0]);
  if (!g || !double_argument(args[2], mean) || !double_argument(args[3], std)) return nullptr;
  if (!(std >= 0)) {
    Ref value(PyFloat_FromDouble(std));
    if (value) PyErr_Format(PyExc_RuntimeError, "normal expects std >= 0.0, but found std %R", value.get());
    return nullptr;
  }
  TensorInfo a;
  const bool blocks = read_tensor(args[1], a) && a.tensor->is_contiguous();
  return filled("normal_", args[1], [&](DType t, void* p, Py_ssize_t n) { return fill_normal(*g, t, p, n, mean, std, blocks); });
}

// (generator, out, low, high): integers in [low, high)
PyObject* randint_(PyObject*, PyObject* const* args, Py_ssize_t count) {
  uint64_t low, high;
  if (!check_count("randint_", count, 4, 4)) return nullptr;
  Generator* g = generator_of(args[0]);
  if (!g || !bits_argument(args[2], low) || !bits_argument(args[3], high)) return nullptr;
  if (static_cast<int64_t>(low) >= static_cast<int64_t>(high)) {
    PyErr_Format(PyExc_RuntimeError, "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                 static_cast<long long>(low), static_cast<long long>(high));
    return nullptr;
  }
  return filled("randint_", args[1],
                [&](DType t, void* p, Py_ssize_t n) { return fill_integers(*g, t, p, n, high - low, static_cast<int64_t>(low)); });
}

// (generator, out): integers over the whole range of the element type; (generator, out, low): from low to the largest
// int64
PyObject* random_(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!check_count("random_", count, 2, 3)) return nullptr;
  Generator* g = generator_of(args[0]);
  if (!g) return nullptr;
  if (count == 2) return filled("random_", args[1], [&](DType t, void* p, Py_ssize_t n) { return fill_natural(*g, t, p, n); });
  uint64_t low;
  if (!bits_argument(args[2], low)) return nullptr;
  const uint64_t end = uint64_t{1} << 63;  // 2^64 values if low is -2^63: range 0
  return filled("random_", args[1],
                [&](DType t, void* p, Py_ssize_t n) { return fill_integers(*g, t, p, n, end - low, static_cast<int64_t>(low)); });
}

// (generator, out, p): p a number, or a tensor of float32 or float64 of the shape of out
PyObject* bernoulli_(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!check_count("bernoulli_", count, 3, 3)) return nullptr;
  Generator* g = generator_of(args[0]);
  if (!g) return nullptr;
  if (!is_tensor(args[2])) {
    double p;
    if (!double_argument(args[2], p)) return nullptr;
    if (!(p >= 0 && p <= 1)) {
      Ref value(PyFloat_FromDouble(p));
      if (value) PyErr_Format(PyExc_RuntimeError, "bernoulli_ expects p to be in [0, 1], but got p=%R", value.get());
      return nullptr;
    }
    return filled("bernoulli_", args[1], [&](DType t, void* o, Py_ssize_t n) { return fill_bernoulli(*g, t, o, n, p); });
  }
  TensorInfo out, p;
  if (!read_tensor(args[1], out) || !read_tensor(args[2], p) || !p.is_float()) return not_implemented();
  if (!same_shape(out.tensor, p.tensor)) return not_implemented();
  if (is_meta(out, p)) return Py_NewRef(args[1]);
  Ref ordered = out.contiguous() ? Ref::borrow(args[2]) : in_memory_order(out, p.tensor);
  Ref each = ordered ? contiguous(as_tensor(ordered)) : Ref();
  if (!each) return nullptr;
  const auto inside = [&](auto zero) {
    using T = decltype(zero);
    const T* v = data_of<T>(each);
    for (Py_ssize_t i = 0; i < p.size(); i++)
      if (!(v[i] >= 0 && v[i] <= 1)) return false;
    return true;
  };
  if (!(p.dtype == DType::F32 ? inside(0.0f) : inside(0.0))) {
    PyErr_SetString(PyExc_RuntimeError,
                    "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error "
                    "message be improved?  If so, please report an enhancement request to PyTorch.)");
    return nullptr;
  }
  return filled("bernoulli_", args[1],
                [&](DType t, void* o, Py_ssize_t n) { return fill_bernoulli_each(*g, t, o, n, p.dtype, data_of(each)); });
}

PyObject* randperm(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!check_count("randperm", count, 2, 2)) return nullptr;
  Generator* g = generator_of(args[0]);
  if (!g) return nullptr;
  const Py_ssize_t n = PyNumber_AsSsize_t(args[1], PyExc_OverflowError);
  if (n == -1 && PyErr_Occurred()) return nullptr;
  if (n < 0) {
    PyErr_Format(PyExc_RuntimeError, "n must be non-negative, got%zd", n);
    return nullptr;
  }
  Ref out = new_ref(DType::I64, 1, &n, DeviceType::Cpu);
  if (!out) return nullptr;
  fill_permutation(*g, data_of<int64_t>(out), n);
  return out.release();
}

template <class T>
const char* weights_problem(const T* w, Py_ssize_t rows, Py_ssize_t n) {
  for (Py_ssize_t r = 0; r < rows; r++, w += n) {
    T sum = 0;
    for (Py_ssize_t j = 0; j < n; j++) {
      if (!(w[j] >= 0) || std::isinf(w[j])) return "probability tensor contains either `inf`, `nan` or element < 0";
      sum += w[j];
    }
    if (!(sum > 0)) return "invalid multinomial distribution (sum of probabilities <= 0)";
  }
  return nullptr;
}

// (generator, weights 1-D or 2-D, samples, replacement) -> indices
PyObject* multinomial(PyObject*, PyObject* const* args, Py_ssize_t count) {
  TensorInfo w;
  bool replacement;
  if (!check_count("multinomial", count, 4, 4)) return nullptr;
  Generator* g = generator_of(args[0]);
  if (!g) return nullptr;
  if (!read_tensor(args[1], w) || !w.is_float()) return not_implemented();
  const Py_ssize_t samples = PyNumber_AsSsize_t(args[2], PyExc_OverflowError);
  if ((samples == -1 && PyErr_Occurred()) || !bool_argument(args[3], replacement)) return nullptr;
  const auto fail = [](const char* text) {
    PyErr_SetString(PyExc_RuntimeError, text);
    return nullptr;
  };
  if (w.ndim != 1 && w.ndim != 2) return fail("prob_dist must be 1 or 2 dim");
  const Py_ssize_t n = w.shape[w.ndim - 1], rows = w.ndim == 2 ? w.shape[0] : 1;
  if (n > Py_ssize_t{1} << 24) return fail("number of categories cannot exceed 2^24");
  if (samples <= 0) return fail("cannot sample n_sample <= 0 samples");
  if (!replacement && samples > n) return fail("cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  Py_ssize_t shape[2] = {rows, samples};
  const DeviceType device = device_of(w);
  Ref in = contiguous(w.tensor), out = in ? new_ref(DType::I64, w.ndim, w.ndim == 2 ? shape : shape + 1, device) : Ref();
  if (!out) return nullptr;
  if (device == DeviceType::Meta || rows == 0) return out.release();
  const void* weights = data_of(in);
  const char* problem = w.dtype == DType::F32 ? weights_problem(static_cast<const float*>(weights), rows, n)
                                              : weights_problem(static_cast<const double*>(weights), rows, n);
  if (problem) return fail(problem);
  const Py_ssize_t scratch_size = rows * n;
  Ref scratch = new_ref(w.dtype, 1, &scratch_size, device), order = scratch ? new_ref(DType::I64, 1, &n, device) : Ref();
  if (!order) return nullptr;
  int64_t* to = data_of<int64_t>(out);
  // One sample needs no replacement, and is drawn the cheaper way.
  if (!replacement || samples == 1)
    multinomial_without_replacement(*g, w.dtype, weights, rows, n, samples, data_of(scratch), data_of<int64_t>(order), to);
  else multinomial_with_replacement(*g, w.dtype, weights, rows, n, samples, data_of(scratch), to);
  return out.release();
}

// A new tensor that `make` fills from the memory of float64 arguments of one shape.
template <int kArguments, class Make>
PyObject* each_place(PyObject* const* args, Make make) {
  Ref held[kArguments];
  const double* memory[kArguments];
  TensorInfo first;
  for (int i = 0; i < kArguments; i++) {
    TensorInfo info;
    if (!read_tensor(args[i], info) || info.dtype != DType::F64) return not_implemented();
    if (i == 0) first = info;
    else if (!same_shape(first.tensor, info.tensor)) return not_implemented();
    held[i] = contiguous(info.tensor);
    if (!held[i]) return nullptr;
    memory[i] = data_of<double>(held[i]);
  }
  Ref out = new_ref(DType::F64, first.ndim, first.shape, DeviceType::Cpu);
  if (!out) return nullptr;
  make(memory, data_of<double>(out), first.size());
  return out.release();
}

// (generator, float64 arguments of one shape, contiguous) -> float64: one number for each place
template <auto Fill, int kArguments>
PyObject* numbers_each(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!check_count("numbers_each", count, kArguments + 1, kArguments + 1)) return nullptr;
  Generator* g = generator_of(args[0]);
  if (!g) return nullptr;
  return each_place<kArguments>(args + 1, [&](const double* const* p, double* out, Py_ssize_t n) {
    if constexpr (kArguments == 1) Fill(*g, p[0], out, n);
    else Fill(*g, p[0], p[1], out, n);
  });
}

template <auto Gradient, int kArguments>
PyObject* gradient_each(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!check_count("gradient_each", count, kArguments, kArguments)) return nullptr;
  return each_place<kArguments>(args, [](const double* const* p, double* out, Py_ssize_t n) {
    if constexpr (kArguments == 3) Gradient(p[0], p[1], p[2], out, n);
    else Gradient(p[0], p[1], p[2], p[3], out, n);
  });
}

}  // namespace

PyMethodDef kRandomMethods[] = {
    kernel<random_new>("random_new", "random_new(seed=default): a generator"),
    kernel<random_seed>("random_seed", "random_seed(generator, seed)"),
    kernel<random_initial_seed>("random_initial_seed", "random_initial_seed(generator)"),
    kernel<random_get_state>("random_get_state", "random_get_state(generator): 5056 bytes, as torch lays them out"),
    kernel<random_set_state>("random_set_state", "random_set_state(generator, bytes)"),
    kernel<random_bits>("random_bits64", "random_bits64(generator): the next 64 bits as an int"),
    kernel<two_numbers<fill_uniform>>("uniform_", "uniform_(generator, out, low, high)"),
    kernel<normal_>("normal_", "normal_(generator, out, mean, std)"),
    kernel<two_numbers<fill_cauchy>>("cauchy_", "cauchy_(generator, out, median, sigma)"),
    kernel<two_numbers<fill_log_normal>>("log_normal_", "log_normal_(generator, out, mean, std)"),
    kernel<one_number<fill_exponential>>("exponential_", "exponential_(generator, out, rate)"),
    kernel<one_number<fill_geometric>>("geometric_", "geometric_(generator, out, p)"),
    kernel<randint_>("randint_", "randint_(generator, out, low, high)"),
    kernel<random_>("random_", "random_(generator, out, low=None)"),
    long_kernel<bernoulli_>("bernoulli_", "bernoulli_(generator, out, p): p a number or a tensor"),
    long_kernel<numbers_each<fill_gamma_each, 1>>("gamma_numbers", "gamma_numbers(generator, alpha): float64"),
    long_kernel<numbers_each<fill_gamma_each_single, 1>>("gamma_numbers_single", "gamma_numbers(), of float32 parameters"),
    long_kernel<numbers_each<fill_poisson_each, 1>>("poisson_numbers", "poisson_numbers(generator, rate): float64"),
    long_kernel<numbers_each<fill_binomial_each, 2>>("binomial_numbers", "binomial_numbers(generator, count, p): float64"),
    long_kernel<gradient_each<gamma_gradient, 3>>("gamma_gradient", "gamma_gradient(alpha, x, digamma(alpha)): float64"),
    long_kernel<gradient_each<beta_gradient, 4>>("beta_gradient", "beta_gradient(a, b, x, digamma(a) - digamma(a + b)): float64"),
    kernel<randperm>("randperm", "randperm(generator, n): int64"),
    long_kernel<multinomial>("multinomial", "multinomial(generator, weights, samples, replacement): int64"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace rushlight
