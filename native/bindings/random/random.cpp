// The generator as a Python object, and its samplers over tensors.
//
// A sampler fills the given tensor in the order in which its elements lie in memory, as torch does, and returns it. The
// GIL is held throughout: it is what keeps two threads from drawing from one generator at the same time.
#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>

#include "bindings/making/factories.h"

#include "kernels/random.h"

namespace rushlight {
namespace {

constexpr const char* kCapsule = "rushlight._core.kernels.generator";

void destroy(PyObject* capsule) { delete static_cast<Generator*>(PyCapsule_GetPointer(capsule, kCapsule)); }

struct Source {
  static constexpr Text kType = "object";
  bool read(const Argument& a) {
    if (!PyCapsule_IsValid(a.object, kCapsule)) return fail(PyExc_TypeError, "expected a generator made by random_new()");
    generator = static_cast<Generator*>(PyCapsule_GetPointer(a.object, kCapsule));
    return true;
  }
  Generator* operator->() const { return generator; }
  Generator& operator*() const { return *generator; }
  Generator* generator;
};

// A Python int of either sign as 64 bits.
struct Bits {
  static constexpr Text kType = "int";
  bool read(const Argument& a) {
    Ref index(PyNumber_Index(a.object));
    if (!index) return false;
    int overflow;
    bits = static_cast<uint64_t>(PyLong_AsLongLongAndOverflow(index.get(), &overflow));
    if (overflow) bits = PyLong_AsUnsignedLongLong(index.get());
    return !PyErr_Occurred();
  }
  uint64_t bits;
};

Result<"object"> random_new(std::optional<Bits> seed) {
  Generator* g = new (std::nothrow) Generator(seed ? seed->bits : Generator::kDefaultSeed);
  if (!g) return no_memory();
  PyObject* capsule = PyCapsule_New(g, kCapsule, destroy);
  if (!capsule) delete g;
  return Ref(capsule);
}

Nothing random_seed(Source g, Bits seed) {
  g->set_seed(seed.bits);
  return none();
}

Int random_initial_seed(Source g) { return Ref(PyLong_FromUnsignedLongLong(g->seed())); }

Result<"bytes"> random_get_state(Source g) {
  Ref bytes(PyBytes_FromStringAndSize(nullptr, Generator::kStateBytes));
  if (bytes) g->get_state(reinterpret_cast<unsigned char*>(PyBytes_AS_STRING(bytes.get())));
  return bytes;
}

// The state: bytes, or a tensor of them.
Nothing random_set_state(Source g, Any state) {
  Py_ssize_t length;
  bool sized, valid;
  const auto set = [&](const void* bytes) {
    sized = length == static_cast<Py_ssize_t>(Generator::kStateBytes);
    valid = sized && g->set_state(static_cast<const unsigned char*>(bytes));
  };
  if (TensorInfo a; read_tensor(state, a) && !is_meta(a)) {
    Ref bytes = contiguous(a.tensor);
    length = as_tensor(bytes)->nbytes();
    set(data_of(bytes));
  } else {
    Py_buffer view;
    if (PyObject_GetBuffer(state, &view, PyBUF_SIMPLE) < 0) return {};
    length = view.len;
    set(view.buf);
    PyBuffer_Release(&view);
  }
  if (valid) return none();
  if (sized) return fail(PyExc_RuntimeError, "Invalid mt19937 state");
  return fail(PyExc_RuntimeError, "Expected a CPUGeneratorImplState of size %zd but found the input RNG state size to be %zd",
              static_cast<Py_ssize_t>(Generator::kStateBytes), length);
}

Int random_bits(Source g) { return Ref(PyLong_FromUnsignedLongLong(g->next64())); }

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
  return owned(new_view(seen, l));
}

// Runs draw(dtype, data, n) over the elements of the tensor and returns it; draw is false where there is no sampler.
template <class Draw>
Ref filled(const char* name, const TensorInfo& a, Draw draw) {
  if (!a.tensor->is_writeable()) return fail(PyExc_ValueError, "%s(): the tensor is read-only", name);
  const auto itself = [&a] { return Ref::borrow(as_object(a.tensor)); };
  if (is_meta(a)) return itself();
  if (a.contiguous()) return draw(a.dtype, a.data, a.size()) ? itself() : Ref();
  Ref ordered = in_memory_order(a, a.tensor);
  Ref whole = new_ref(a.dtype, a.ndim, as_tensor(ordered)->sizes(), DeviceType::Cpu);
  if (!draw(a.dtype, data_of(whole), as_tensor(whole)->numel())) return {};
  copy_values(ordered, as_tensor(whole));
  return itself();
}

template <auto fill>
Ref two_numbers(Source g, const TensorInfo& out, double first, double second) {
  return filled("the sampler", out, [&](DType t, void* p, Py_ssize_t n) { return fill(*g, t, p, n, first, second); });
}

template <auto fill>
Ref one_number(Source g, const TensorInfo& out, double number) {
  return filled("the sampler", out, [&](DType t, void* p, Py_ssize_t n) { return fill(*g, t, p, n, number); });
}

Failed fail_with(const char* format, double number) {
  return fail(PyExc_RuntimeError, format, owned(PyFloat_FromDouble(number)).get());
}

// Tensors that are not contiguous are drawn element by element, as small ones are.
Ref normal_(Source g, const TensorInfo& out, double mean, double std) {
  if (!(std >= 0)) return fail_with("normal expects std >= 0.0, but found std %R", std);
  const bool blocks = out.tensor->is_contiguous();
  return filled("normal_", out, [&](DType t, void* p, Py_ssize_t n) { return fill_normal(*g, t, p, n, mean, std, blocks); });
}

// Integers in [low, high).
Ref randint_(Source g, const TensorInfo& out, Bits low, Bits high) {
  const int64_t first = static_cast<int64_t>(low.bits), end = static_cast<int64_t>(high.bits);
  if (first >= end)
    return fail(PyExc_RuntimeError, "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                static_cast<long long>(first), static_cast<long long>(end));
  return filled("randint_", out,
                [&](DType t, void* p, Py_ssize_t n) { return fill_integers(*g, t, p, n, high.bits - low.bits, first); });
}

// Integers over the whole range of the element type, or from low to the largest int64.
Ref random_(Source g, const TensorInfo& out, std::optional<Bits> low) {
  return filled("random_", out, [&](DType t, void* p, Py_ssize_t n) {
    if (!low) return fill_natural(*g, t, p, n);
    const uint64_t end = uint64_t{1} << 63;  // 2^64 values if low is -2^63: range 0
    return fill_integers(*g, t, p, n, end - low->bits, static_cast<int64_t>(low->bits));
  });
}

// p: a number, or a tensor of float32 or float64 of the shape of out.
Ref bernoulli_(Source g, const TensorInfo& out, Given<"float | Tensor"> chance) {
  if (!is_tensor(chance)) {
    double p;
    if (!double_argument(chance, p)) return {};
    if (!(p >= 0 && p <= 1)) return fail_with("bernoulli_ expects p to be in [0, 1], but got p=%R", p);
    return filled("bernoulli_", out, [&](DType t, void* o, Py_ssize_t n) { return fill_bernoulli(*g, t, o, n, p); });
  }
  const TensorInfo p = info_of(as_tensor(chance));
  if (!p.is_float()) return {};
  if (!same_shape(out.tensor, p.tensor)) return {};
  if (is_meta(out, p)) return Ref::borrow(as_object(out.tensor));
  Ref ordered = out.contiguous() ? Ref::borrow(chance) : in_memory_order(out, p.tensor);
  Ref each = contiguous(as_tensor(ordered));
  const auto inside = [&](auto zero) {
    using T = decltype(zero);
    const T* v = data_of<T>(each);
    for (Py_ssize_t i = 0; i < p.size(); i++)
      if (!(v[i] >= 0 && v[i] <= 1)) return false;
    return true;
  };
  if (!(p.dtype == DType::F32 ? inside(0.0f) : inside(0.0)))
    return fail(PyExc_RuntimeError,
                "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error "
                "message be improved?  If so, please report an enhancement request to PyTorch.)");
  return filled("bernoulli_", out,
                [&](DType t, void* o, Py_ssize_t n) { return fill_bernoulli_each(*g, t, o, n, p.dtype, data_of(each)); });
}

Ref randperm(Source g, Py_ssize_t n) {
  if (n < 0) return fail(PyExc_RuntimeError, "n must be non-negative, got%zd", n);
  Ref out = new_ref(DType::I64, 1, &n, DeviceType::Cpu);
  fill_permutation(*g, data_of<int64_t>(out), n);
  return out;
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

// Indices into weights of one or two dimensions.
Ref multinomial(Source g, const TensorInfo& w, Py_ssize_t samples, bool replacement) {
  if (!w.is_float()) return {};
  const auto refused = [](const char* text) { return fail(PyExc_RuntimeError, "%s", text); };
  if (w.ndim != 1 && w.ndim != 2) return refused("prob_dist must be 1 or 2 dim");
  const Py_ssize_t n = w.shape[w.ndim - 1], rows = w.ndim == 2 ? w.shape[0] : 1;
  if (n > Py_ssize_t{1} << 24) return refused("number of categories cannot exceed 2^24");
  if (samples <= 0) return refused("cannot sample n_sample <= 0 samples");
  if (!replacement && samples > n) return refused("cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  Py_ssize_t shape[2] = {rows, samples};
  Ref in = contiguous(w.tensor), out = new_ref(DType::I64, w.ndim, w.ndim == 2 ? shape : shape + 1, device_of(w));
  if (!has_memory(out) || rows == 0) return out;
  const void* weights = data_of(in);
  const char* problem = w.dtype == DType::F32 ? weights_problem(static_cast<const float*>(weights), rows, n)
                                              : weights_problem(static_cast<const double*>(weights), rows, n);
  if (problem) return refused(problem);
  const Py_ssize_t scratch_size = rows * n;
  Ref scratch = new_ref(w.dtype, 1, &scratch_size, DeviceType::Cpu), order = new_ref(DType::I64, 1, &n, DeviceType::Cpu);
  int64_t* to = data_of<int64_t>(out);
  // One sample needs no replacement, and is drawn the cheaper way.
  if (!replacement || samples == 1)
    multinomial_without_replacement(*g, w.dtype, weights, rows, n, samples, data_of(scratch), data_of<int64_t>(order), to);
  else multinomial_with_replacement(*g, w.dtype, weights, rows, n, samples, data_of(scratch), to);
  return out;
}

// A new tensor that `make` fills from the memory of float64 arguments of one shape.
template <class Make, class... T>
Ref each_place(Make make, const TensorInfo& first, const T&... others) {
  constexpr size_t kArguments = 1 + sizeof...(T);
  const TensorInfo* given[] = {&first, &others...};
  Ref held[kArguments];
  const double* memory[kArguments];
  for (size_t i = 0; i < kArguments; i++) {
    if (given[i]->dtype != DType::F64 || !same_shape(first.tensor, given[i]->tensor)) return {};
    held[i] = contiguous(given[i]->tensor);
    memory[i] = data_of<double>(held[i]);
  }
  Ref out = new_ref(DType::F64, first.ndim, first.shape, DeviceType::Cpu);
  make(memory, data_of<double>(out), first.size());
  return out;
}

// One number for each place of float64 parameters.
template <auto fill>
Ref numbers_of_one(Source g, const TensorInfo& a) {
  return each_place([&g](const double* const* p, double* out, Py_ssize_t n) { fill(*g, p[0], out, n); }, a);
}
Ref binomial_numbers(Source g, const TensorInfo& count, const TensorInfo& p) {
  const auto fill = [&g](const double* const* p, double* out, Py_ssize_t n) { fill_binomial_each(*g, p[0], p[1], out, n); };
  return each_place(fill, count, p);
}
// Gamma numbers over their sum in the last dimension, between the least number of the type and the last below 1.
Ref dirichlet_numbers(Source g, const TensorInfo& alpha) {
  if (!alpha.is_float()) return {};
  const Ref doubles = contiguous_as(alpha.tensor, DType::F64), made = numbers_of_one<fill_gamma_each>(g, info_of(doubles));
  const bool single = alpha.dtype == DType::F32;
  const double least = single ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
  const double most = 1 - (single ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon()) / 2;
  const Py_ssize_t n = alpha.ndim ? alpha.shape[alpha.ndim - 1] : 1;
  double* x = made ? data_of<double>(made) : nullptr;
  for (Py_ssize_t left = x ? alpha.size() : 0; left > 0; left -= n, x += n) {
    double s[8] = {};
    for (Py_ssize_t i = 0; i < n; i++) s[i % 8] += x[i] = std::max(x[i], std::numeric_limits<double>::min());
    const double sum = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
    for (Py_ssize_t i = 0; i < n; i++) {
      const double share = x[i] / sum;
      x[i] = share < least ? least : share > most ? most : share;
    }
  }
  return made ? converted(made, alpha.dtype) : Ref();
}
Ref beta_gradients(const TensorInfo& a, const TensorInfo& b, const TensorInfo& x, const TensorInfo& digammas) {
  const auto make = [](const double* const* p, double* out, Py_ssize_t n) { beta_gradient(p[0], p[1], p[2], p[3], out, n); };
  return each_place(make, a, b, x, digammas);
}

// ---- calls as programs write them: new tensors, and fills of tensors without history
PyObject* const kState = PyUnicode_InternFromString("_state");
PyObject* usual = nullptr;  // the generator that draws where a call names none; lives as long as the process

Nothing random_default(Any generator) {
  usual = Py_NewRef(generator);
  return none();
}

// What a call draws from; nullptr where that is not the core's.
Generator* source(Making& call) {
  PyObject* from = call.generator ? call.generator : usual;
  if (!from || tls.transform || Py_TYPE(from) != Py_TYPE(usual)) return nullptr;
  call.state = Ref(PyObject_GetAttr(from, kState));
  if (!call.state) throw Raised();
  return PyCapsule_IsValid(call.state.get(), kCapsule) ? static_cast<Generator*>(PyCapsule_GetPointer(call.state.get(), kCapsule))
                                                       : nullptr;
}

template <class Draw>
Ref drawn(Making& call, Py_ssize_t first, bool listed, const Draw& draw) {
  Layout l;
  Generator* g = source(call);
  if (!g || !call.read_sizes(first, listed, l)) return {};
  Ref made = new_ref(call.dtype, l.ndim, l.shape, DeviceType::Cpu);
  draw(*g, data_of(made), as_tensor(made)->numel());
  return made;
}

template <bool kNormal>
Ref real_numbers(Making& call) {
  if (call.dtype == DType::Count) call.dtype = registry.default_dtype;
  if (call.dtype != DType::F32 && call.dtype != DType::F64) return {};
  return drawn(call, 0, false, [&call](Generator& g, void* p, Py_ssize_t n) {
    if (kNormal) fill_normal(g, call.dtype, p, n, 0, 1, true);
    else fill_uniform(g, call.dtype, p, n, 0, 1);
  });
}

Ref integers(Making& call) {
  int64_t low = 0, high;
  if (call.dtype == DType::Count) call.dtype = DType::I64;
  if (call.dtype != DType::I64 || call.n < 2 || call.n > 3) return {};
  if (!Making::whole(call.args[call.n - 2], high) || (call.n == 3 && !Making::whole(call.args[0], low)) || low >= high) return {};
  return drawn(call, call.n - 1, true, [low, high](Generator& g, void* p, Py_ssize_t n) {
    fill_integers(g, DType::I64, p, n, static_cast<uint64_t>(high) - static_cast<uint64_t>(low), low);
  });
}

Ref permutation(Making& call) {
  if (call.dtype == DType::Count) call.dtype = DType::I64;
  if (call.n != 1 || call.dtype != DType::I64 || !PyLong_CheckExact(*call.args)) return {};
  return drawn(call, 0, false, [](Generator& g, void* p, Py_ssize_t n) { fill_permutation(g, static_cast<int64_t*>(p), n); });
}

// The tensor of a call if it is a plain one of float32 or float64 whose history is not written.
const Tensor* plain(Making& call) {
  const Tensor* t = call.model();
  if (!t || t->flags & kNotPlain || (t->dtype != DType::F32 && t->dtype != DType::F64) || !t->is_contiguous() || !t->is_aligned())
    return nullptr;
  return grad_enabled() && requires_grad(t) ? nullptr : t;
}

Ref bernoulli_of(Making& call) {
  const Tensor* p = call.n == 1 ? plain(call) : nullptr;
  Generator* g = p && call.dtype == p->dtype ? source(call) : nullptr;
  if (!g) return {};
  Ref made = new_ref(p->dtype, p->ndim(), p->sizes(), DeviceType::Cpu);
  const auto draw = [&]<class T>(const T* v) {
    for (Py_ssize_t i = 0; i < p->numel(); i++)
      if (!(v[i] >= 0 && v[i] <= 1)) return false;
    return fill_bernoulli_each(*g, p->dtype, data_of(made), p->numel(), p->dtype, v);
  };
  return by_type(p->dtype, draw, p->data()) ? std::move(made) : Ref();
}

// 1 with a probability, else 0, in the shape of a tensor and in its type or another. In the records
// this is what torch's dropout calls.
Ref bernoulli_like(Making& call) {
  Record run;
  if (observing & kRecords) run.begin("bernoulli_", call.args, call.n);
  double p;
  const Tensor* t = call.n == 2 ? call.model() : nullptr;
  Generator* g = t ? source(call) : nullptr;
  if (!g || !t->is_contiguous() || !Making::real(call.args[1], p) || !(p >= 0 && p <= 1)) return {};
  Ref made = new_ref(call.dtype, t->ndim(), t->sizes(), DeviceType::Cpu);
  return fill_bernoulli(*g, call.dtype, data_of(made), t->numel(), p) ? std::move(made) : Ref();
}

// A fill by up to two numbers, which are the halves of those given here where a call names none; `fits` says whether they are in order.
template <auto fill, bool (*fits)(double, double), int kNumbers, int kFirst, int kSecond>
Ref fill_in_place(Making& call) {
  double numbers[] = {kFirst / 2.0, kSecond / 2.0};
  if (call.n < 1 || call.n > 1 + kNumbers) return {};
  for (Py_ssize_t i = 1; i < call.n; i++)
    if (!Making::real(call.args[i], numbers[i - 1])) return {};
  Tensor* self = const_cast<Tensor*>(plain(call));
  Generator* g = self ? source(call) : nullptr;
  if (!g || call.dtype != self->dtype || !fits(numbers[0], numbers[1]) || !self->is_writeable()) return {};
  if (check_in_place(self, false) < 0) raised();
  if constexpr (std::is_invocable_v<decltype(fill), Generator&, DType, void*, ptrdiff_t, double, double>)
    fill(*g, self->dtype, self->data(), self->numel(), numbers[0], numbers[1]);
  else fill(*g, self->dtype, self->data(), self->numel(), numbers[0]);
  if (bump_version(self) < 0) raised();
  return Ref::borrow(as_object(self));
}

bool normals(Generator& g, DType t, void* p, ptrdiff_t n, double mean, double std) {
  return fill_normal(g, t, p, n, mean, std, true);
}
bool range(double low, double high) {
  return low <= high && std::fabs(low) <= FLT_MAX && std::fabs(high) <= FLT_MAX && high - low <= FLT_MAX;
}
bool deviates(double, double std) { return std >= 0; }
bool spreads(double, double width) { return width > 0; }
bool above_zero(double rate, double) { return rate > 0; }
bool chance(double p, double) { return p >= 0 && p <= 1; }
bool chance_inside(double p, double) { return p > 0 && p < 1; }

const KernelRows rows{
    factory<real_numbers<false>, true>("rand(*args: Any, **how: Any) -> Tensor"),
    factory<real_numbers<true>, true>("randn(*args: Any, **how: Any) -> Tensor"),
    factory<integers, true>("randint(*args: Any, **how: Any) -> Tensor"),
    factory<permutation, true>("permutation(*args: Any, **how: Any) -> Tensor"),
    factory<bernoulli_of, true>("bernoulli(*args: Any, **how: Any) -> Tensor", Border::Computes),
    factory<bernoulli_like, true>("bernoulli_like(*args: Any, **how: Any) -> Tensor"),
    factory<fill_in_place<fill_uniform, range, 2, 0, 2>, true>("fill_uniform(*args: Any, **how: Any) -> Tensor"),
    factory<fill_in_place<normals, deviates, 2, 0, 2>, true>("fill_normal(*args: Any, **how: Any) -> Tensor"),
    factory<fill_in_place<fill_cauchy, spreads, 2, 0, 2>, true>("fill_cauchy(*args: Any, **how: Any) -> Tensor"),
    factory<fill_in_place<fill_log_normal, spreads, 2, 2, 4>, true>("fill_log_normal(*args: Any, **how: Any) -> Tensor"),
    factory<fill_in_place<fill_exponential, above_zero, 1, 2, 0>, true>("fill_exponential(*args: Any, **how: Any) -> Tensor"),
    factory<fill_in_place<fill_geometric, chance_inside, 1, 0, 0>, true>("fill_geometric(*args: Any, **how: Any) -> Tensor"),
    factory<fill_in_place<fill_bernoulli, chance, 1, 1, 0>, true>("fill_bernoulli(*args: Any, **how: Any) -> Tensor"),
    kernel<random_default, "random_default(generator): what calls without a generator draw from">(),
    kernel<random_new, "random_new(seed=None): a generator">(),
    kernel<random_seed, "random_seed(generator, seed)">(),
    kernel<random_initial_seed, "random_initial_seed(generator)">(),
    kernel<random_get_state, "random_get_state(generator): 5056 bytes, as torch lays them out">(),
    kernel<random_set_state, "random_set_state(generator, state)">(),
    kernel<random_bits, "random_bits64(generator): the next 64 bits">(),
    kernel<two_numbers<fill_uniform>, "uniform_(generator, out, low, high)">(Border::Fills),
    kernel<normal_, "normal_(generator, out, mean, std)">(Border::Fills),
    kernel<two_numbers<fill_cauchy>, "cauchy_(generator, out, median, sigma)">(Border::Fills),
    kernel<two_numbers<fill_log_normal>, "log_normal_(generator, out, mean, std)">(Border::Fills),
    kernel<one_number<fill_exponential>, "exponential_(generator, out, rate)">(Border::Fills),
    kernel<one_number<fill_geometric>, "geometric_(generator, out, p)">(Border::Fills),
    kernel<randint_, "randint_(generator, out, low, high)">(Border::Fills),
    kernel<random_, "random_(generator, out, low=None)">(Border::Fills),
    long_kernel<bernoulli_, "bernoulli_(generator, out, p)">(Border::Fills),
    long_kernel<numbers_of_one<fill_gamma_each>, "gamma_numbers(generator, alpha): float64">(),
    long_kernel<numbers_of_one<fill_gamma_each_single>, "gamma_numbers_single(generator, alpha): of float32 parameters">(),
    long_kernel<numbers_of_one<fill_poisson_each>, "poisson_numbers(generator, rate): float64">(),
    long_kernel<binomial_numbers, "binomial_numbers(generator, count, p): float64">(),
    long_kernel<dirichlet_numbers, "dirichlet_numbers(generator, alpha)">(),
    long_kernel<beta_gradients, "beta_gradient(a, b, x, digammas): float64; digamma(a) - digamma(a + b)">(),
    kernel<randperm, "randperm(generator, n): int64">(),
    long_kernel<multinomial, "multinomial(generator, weights, samples, replacement): int64">(),
};

}  // namespace

}  // namespace rushlight
