// Gradients for the engine: the checks along an edge, the first gradient of backward(), and the sum
// with a leaf's .grad.
#include <algorithm>
#include <mutex>
#include <new>
#include <string>

#if !defined(_WIN32)
#include <pthread.h>
#endif

#include "core/engine.h"
#include "core/accelerator.h"
#include "core/capture.h"
#include "core/layout.h"
#include "core/lazy.h"
#include "core/override.h"

namespace rushlight {

namespace {

DType code_of(PyObject* dtype, DType otherwise) {
  Ref code(PyObject_GetAttrString(dtype, "code"));
  if (!code) {
    PyErr_Clear();
    return otherwise;
  }
  return static_cast<DType>(PyLong_AsLong(code.get()));
}

std::string short_type_name(Node* n) {
  std::string name = Py_TYPE(n)->tp_name;
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

}  // namespace

PyObject* fit_to_edge(Node* n, int i, const Edge& e, PyObject* g, bool create_graph) {
  if (!is_tensor(g)) {
    PyErr_Format(PyExc_RuntimeError, "expected Variable or None (got %s)", Py_TYPE(g)->tp_name);
    Py_DECREF(g);
    return nullptr;
  }
  DType dtype;
  DeviceType device;
  int ndim;
  const Py_ssize_t* dims;
  if (e.node->kind == Node::Accumulate) {
    Tensor* v = e.node->variable;
    if (!v || !requires_grad(v)) return g;  // it wants no gradient any more, and may have another shape now
    dtype = v->dtype;
    if (const Ref own_dtype = v->grad_dtype.own()) {
      if (own_dtype.get() == Py_None) dtype = as_tensor(g)->dtype;
      else dtype = code_of(own_dtype.get(), dtype);
    }
    ndim = v->ndim();
    dims = v->sizes();
    device = v->device();
  } else {
    if (e.nr >= static_cast<uint32_t>(e.node->n_outputs)) return g;
    const OutputMeta& m = e.node->metas[e.nr];
    ndim = m.ndim;
    dims = m.dims();
    dtype = m.dtype;
    device = m.device;
  }
  if (device != as_tensor(g)->device()) {
    // As in torch, a number moves, and so does what a copy from one device to another gives back.
    const bool leaf = e.node->kind == Node::Accumulate, between = is_accelerator(device) || is_accelerator(as_tensor(g)->device());
    if (between && (as_tensor(g)->ndim() == 0 || (n && short_type_name(n) == "CopyBackwards"))) {
      const Ref here(g);
      g = PyObject_CallMethod(here.get(), "to", "s", device_name(device));
      if (!g) return nullptr;
    } else if (between || leaf) {
      PyErr_Format(PyExc_RuntimeError, "%sinvalid gradient at index %d - expected device %s but got %s",
                   n ? ("Function " + short_type_name(n) + " returned an ").c_str() : "", i, device_name(device),
                   device_name(as_tensor(g)->device()));
      Py_DECREF(g);
      return nullptr;
    }
  }
  Tensor* a = as_tensor(g);
  const int shift = a->ndim() - ndim;
  bool fits = shift >= 0;
  for (int d = 0; fits && d < ndim; ++d) fits = dims[d] == a->size(d + shift) || dims[d] == 1;
  if (!fits) {
    const std::string got = sizes_text(a->sizes(), a->ndim()), want = sizes_text(dims, ndim);
    const std::string whose = n ? "Function " + short_type_name(n) + " returned an " : "";
    PyErr_Format(PyExc_RuntimeError, "%sinvalid gradient at index %d - got %s but expected shape compatible with %s", whose.c_str(),
                 i, got.c_str(), want.c_str());
    Py_DECREF(g);
    return nullptr;
  }
  return fit_gradient(g, dtype, ndim, dims, create_graph);
}

namespace {
PyObject* implicit_one(DType dtype, int ndim, const Py_ssize_t* dims, DeviceType device);
}

PyObject* implicit_gradient(PyObject* root, const Edge& e) {
  int ndim;
  const Py_ssize_t* dims;
  DType dtype;
  DeviceType device = DeviceType::Cpu;
  if (is_tensor(root) || e.node->kind == Node::Accumulate) {
    const Tensor* t = is_tensor(root) ? as_tensor(root) : e.node->variable;
    ndim = t->ndim();
    dims = t->sizes();
    dtype = t->dtype;
    device = t->device();
  } else {
    const OutputMeta& m = e.node->metas[e.nr];
    ndim = m.ndim;
    dims = m.dims();
    dtype = m.dtype;
    device = m.device;
  }
  if (std::any_of(dims, dims + ndim, [](Py_ssize_t d) { return d != 1; })) {
    PyErr_SetString(PyExc_RuntimeError, "grad can be implicitly created only for scalar outputs");
    return nullptr;
  }
  if (!is_floating(dtype)) {
    Ref name(PyObject_Str(dtype_object(dtype)));
    PyErr_Format(PyExc_RuntimeError, "grad can be implicitly created only for real scalar outputs but got %U", name.get());
    return nullptr;
  }
  if (is_accelerator(device)) {
    const Ref there(implicit_one(dtype, ndim, dims, DeviceType::Cpu));
    return there ? as_object(copy_to(as_tensor(there.get()), device)) : nullptr;
  }
  return implicit_one(dtype, ndim, dims, device);
}

namespace {

// A one of each element.
PyObject* implicit_one(DType dtype, int ndim, const Py_ssize_t* dims, DeviceType device) {
  Tensor* one = new_tensor(dtype, ndim, dims, device);
  if (!one || device == DeviceType::Meta) return as_object(one);
  void* p = one->data();
  switch (dtype) {
    case DType::F32: *static_cast<float*>(p) = 1; break;
    case DType::F64: *static_cast<double*>(p) = 1; break;
    case DType::F16: *static_cast<uint16_t*>(p) = 0x3c00; break;
    case DType::BF16: *static_cast<uint16_t*>(p) = 0x3f80; break;
    case DType::F8E4M3FN: *static_cast<uint8_t*>(p) = 0x38; break;
    case DType::F8E4M3FNUZ: *static_cast<uint8_t*>(p) = 0x40; break;
    case DType::F8E5M2: *static_cast<uint8_t*>(p) = 0x3c; break;
    case DType::F8E5M2FNUZ: *static_cast<uint8_t*>(p) = 0x40; break;
    default: *static_cast<uint8_t*>(p) = 0x7f; break;  // float8_e8m0fnu
  }
  if (recording()) record_constant(one);
  return as_object(one);
}

}  // namespace

// ---------------------------------------------------------------- leaves

// Note [Gradients of one leaf]: any number of threads may add to a leaf, and its .grad may be read, set or removed at any time.
// Only one adds in place at a time (AddingInPlace). What takes the place of .grad is made first and put there if .grad is still
// what it was made from; else the turn starts anew.

namespace {

// A thread's turn to add to a gradient in place. The GIL alone keeps turns apart where the addition
// never drops the GIL: a small addition with a kernel. Recursive: NumPy may collect garbage.
std::recursive_mutex adding;

class AddingInPlace {
 public:
  explicit AddingInPlace(const Tensor* gradient) : locked_(drops_gil(gradient)) {
    if (!locked_ || adding.try_lock()) return;
    PyThreadState* state = PyEval_SaveThread();
    adding.lock();
    PyEval_RestoreThread(state);
  }
  ~AddingInPlace() {
    if (locked_) adding.unlock();
  }
  AddingInPlace(const AddingInPlace&) = delete;
  AddingInPlace& operator=(const AddingInPlace&) = delete;

 private:
  static bool drops_gil(const Tensor* t) {
#ifdef Py_GIL_DISABLED
    return true;
#else
    return t->numel() > kReleaseSize || is_complex(t->dtype) || !t->is_aligned();
#endif
  }
  bool locked_;
};

#if !defined(_WIN32)
// A child that was forked while another thread had its turn would wait for that for ever.
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] { new (&adding) std::recursive_mutex; });
#endif

bool same_strides(const Tensor* a, const Tensor* b) {
  if (a->numel() && a->is_contiguous() && b->is_contiguous()) return true;
  for (int i = 0; i < a->ndim(); ++i) {
    if (a->size(i) != 1 && a->stride(i) != b->stride(i)) return false;
  }
  return true;
}

int add_in_place(Tensor* have, PyObject* g) {
  note_way(kAdded);
  Op* add = callbacks.add.op();
  if (!add) return -1;
  if (!have->is_contiguous() && check_in_place(have, false) < 0) return -1;
  PyObject* slots[kMaxParams] = {as_object(have), g};
  for (int i = 2; i < add->n_params; ++i) slots[i] = add->params[i].fallback;
  if ((have->flags | as_tensor(g)->flags) & kLazy) {
    PlainSlots plain;
    PyObject** values = plain.of(add, slots);
    const Owned<Tensor> sum(values ? pointwise_forward(add, values, nullptr) : nullptr);
    return sum && put_values(have, sum.get()) == 0 ? bump_version(have) : -1;
  }
  const Ref done(as_object(pointwise_forward(add, slots, have)));
  return done ? bump_version(have) : -1;
}

// The first gradient of a leaf, with the leaf's strides, or row-major where the strides leave gaps:
// `g` itself if nobody else has `g` and the strides fit, else a copy. Takes over `g`.
PyObject* fresh_gradient(Tensor* v, PyObject* g, int ours, bool create_graph) {
  if (create_graph || (as_tensor(g)->flags & kWrapped)) {
    note_way(kCopied);
    // Always a copy: a later backward without a graph adds to it in place, and others may read what `g` shares.
    Ref owned(g);
    const OverridesOf quiet(Overrides::None);
    PyObject* copy = callbacks.copy_gradient.get();
    return copy ? PyObject_CallOneArg(copy, g) : nullptr;
  }
  if (as_tensor(g)->flags & kLazy) {
    g = plain_tensor(g);
    ours = 1;
    if (!g) return nullptr;
  }
  Tensor* t = as_tensor(g);
  const bool alone = Py_REFCNT(g) == ours && owns_memory(t) && Py_TYPE(g) == TensorType && !t->base && !t->grad_fn;
  const bool dense = is_dense(v);
  if (alone && (dense ? same_strides(t, v) : t->is_contiguous())) {
    note_way(kStored);
    return g;
  }
  Ref owned(g);
  note_way(kCopied);
  Owned<Tensor> copy(dense ? new_like(v, t->dtype) : new_tensor(t->dtype, v->ndim(), v->sizes(), v->device()));
  return copy && copy_into(copy.get(), t) == 0 ? as_object(copy.release()) : nullptr;
}

}  // namespace

int add_to_leaf(Tensor* v, PyObject* g, int ours, bool create_graph) {
  Ref more(g);
  for (;;) {
    const Owned<Tensor> have = v->grad.own();
    // A wrapped gradient has no memory to add from; a sparse gradient is wrapped too.
    if (have && !create_graph && !((have->flags | as_tensor(more.get())->flags) & kWrapped)) {
      AddingInPlace turn(have.get());
      if (v->grad.peek() != have.get()) continue;
      return add_in_place(have.get(), more.get());
    }
    if (have) note_way(kAdded);
    Ref next(have ? add_gradients(Py_NewRef(as_object(have.get())), Py_NewRef(more.get()), create_graph)
                  : fresh_gradient(v, more.release(), ours, create_graph));
    if (!next) return -1;
    if (v->grad.peek() == have.get()) {
      note_gradient();
      v->grad.set(as_tensor(next.release()));
      return 0;
    }
    if (!have) more = std::move(next);
  }
}

}  // namespace rushlight
