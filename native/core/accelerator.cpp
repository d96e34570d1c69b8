#include "core/accelerator.h"
#include "core/accelerator_repeats.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/guard.h"
#include "core/layout.h"
#include "core/lazy.h"
#include "core/numpy.h"
#include "core/tensor.h"

namespace rushlight {

const char* device_name(DeviceType device) {
  static const char* const names[] = {"cpu",      "meta",     "opencl:0", "opencl:1", "opencl:2", "opencl:3",
                                      "opencl:4", "opencl:5", "opencl:6", "opencl:7", "cuda:0",   "cuda:1",
                                      "cuda:2",   "cuda:3",   "cuda:4",   "cuda:5",   "cuda:6",   "cuda:7"};
  static_assert(sizeof(names) / sizeof(*names) == static_cast<size_t>(DeviceType::Accelerator) + kMostAccelerators);
  static_assert(kMostAccelerators == devices::kKinds * devices::kOfAKind);
  const int shift = is_accelerator(device) && accelerator_number(device) < devices::kOfAKind && devices::shown_as_cuda()
                        ? devices::kOfAKind
                        : 0;
  return names[static_cast<int>(device) + shift];
}

namespace {

// The bit that makes the address of a Block a number that is no address.
constexpr uintptr_t kNoAddress = uintptr_t{1} << (8 * sizeof(uintptr_t) - 2);

}  // namespace

// ---------------------------------------------------------------- memory

devices::Block* block_of(const Storage* s) {
  return s->data ? reinterpret_cast<devices::Block*>(reinterpret_cast<uintptr_t>(s->data) & ~kNoAddress) : nullptr;
}

namespace {

char* number_of(devices::Block* block) { return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(block) | kNoAddress); }

devices::Block* new_block(DeviceType device, size_t nbytes) {
  try {
    return new devices::Block(devices::take(accelerator_number(device), nbytes));
  } catch (...) {  // callers expect an exception of Python's
    raise_caught();
  }
  return nullptr;
}

}  // namespace

bool has_type(DeviceType device, DType dtype) {
  if (dtype != DType::F64 && dtype != DType::C128) return true;
  const devices::Facts& facts = *devices::facts_of(accelerator_number(device));
  if (facts.has_double) return true;
  const bool real = dtype == DType::F64;
  PyErr_Format(PyExc_TypeError, "Cannot convert a tensor to torch.%s on %s: %s has no float64. Please use %s instead.",
               real ? "float64" : "complex128", device_name(device), facts.name.c_str(), real ? "float32" : "complex64");
  return false;
}

bool take_block(Storage* s, size_t nbytes) {
  devices::Block* block = new_block(s->device, nbytes);
  if (!block) return false;
  s->data = number_of(block);
  return true;
}

void give_block(Storage* s) {
  devices::Block* block = block_of(s);
  if (!block) return;
  devices::give(*block);
  delete block;
  s->data = nullptr;
}

bool resize_block(Storage* s, size_t nbytes) try {
  devices::Block* before = block_of(s);
  if (before && nbytes <= before->capacity) {
    before->bytes = nbytes;
    return true;
  }
  devices::Block* block = new_block(s->device, nbytes);
  if (!block) return false;
  if (before) devices::copy(*before, 0, *block, 0, std::min(before->bytes, nbytes));
  give_block(s);
  s->data = number_of(block);
  return true;
} catch (...) {  // callers expect an exception of Python's
  raise_caught();
  return false;
}

// ---------------------------------------------------------------- what goes by way of the host

namespace {

std::mutex counting;
std::map<std::string, uint64_t> fallbacks;  // calls by name
std::atomic<bool> refusing;

}  // namespace

int count_fallback(const char* name, DeviceType device) {
  if (refusing.load(std::memory_order_relaxed)) {
    PyErr_Format(PyExc_NotImplementedError,
                 "%s has no kernel on %s for these arguments, and calls by way of the host are refused "
                 "(rushlight.devices.refuse_fallbacks).",
                 name, device_name(device));
    return -1;
  }
  const std::lock_guard<std::mutex> guard(counting);
  ++fallbacks[name];
  return 0;
}

// ---------------------------------------------------------------- to and from the host

namespace {

// The bytes from the first to the last that a tensor shows, relative to its first element.
struct Reach {
  Py_ssize_t low, bytes;
  explicit Reach(const Tensor* t) : low(0), bytes(0) {
    if (!t->numel()) return;
    Py_ssize_t high = 0;
    for (int i = 0; i < t->ndim(); ++i) {
      const Py_ssize_t far = (t->size(i) - 1) * t->stride(i);
      (far < 0 ? low : high) += far;
    }
    bytes = high - low + t->item();
  }
};

// A tensor on the CPU with the same strides: its storage has the bytes of the reach alone.
Tensor* room_like(const Tensor* t) { return new_strided(t->dtype, t->ndim(), t->sizes(), t->strides(), DeviceType::Cpu); }

void download(const Tensor* from, Tensor* to) {
  const Reach reach(from);
  const devices::Block block = *block_of(from->storage());
  const size_t at = static_cast<size_t>(from->offset() + reach.low), bytes = static_cast<size_t>(reach.bytes);
  char* target = to->storage()->data;
  Pinned pins[2];
  pins[0].take(from->storage());
  pins[1].take(to->storage());
  const ReleaseGil release(true);
  devices::read(block, at, target, bytes);
}

void upload(const Tensor* from, const Tensor* to) {
  const Reach reach(to);
  const devices::Block block = *block_of(to->storage());
  const size_t at = static_cast<size_t>(to->offset() + reach.low), bytes = static_cast<size_t>(reach.bytes);
  const char* source = from->storage()->data;
  Pinned pins[2];
  pins[0].take(from->storage());
  pins[1].take(to->storage());
  const ReleaseGil release(true);
  devices::write(block, at, source, bytes);
}

Tensor* host_copy(const Tensor* t) try {
  Owned<Tensor> made(room_like(t));
  if (!made || !t->numel()) return made.release();
  download(t, made.get());
  return check_reports(t->device()) < 0 ? nullptr : made.release();
} catch (...) {  // callers expect an exception of Python's
  raise_caught();
  return nullptr;
}

}  // namespace

Tensor* copy_to(const Tensor* t, DeviceType device) {
  Py_ssize_t strides[kMaxDims];
  like_strides(t, t->item(), strides);
  Owned<Tensor> made(new_strided(t->dtype, t->ndim(), t->sizes(), strides, device));
  return made && copy_into(made.get(), t) == 0 ? made.release() : nullptr;
}

int copy_across(Tensor* to, const Tensor* from) try {
  const bool to_there = is_accelerator(to->device()), from_there = is_accelerator(from->device());
  const bool is_number = !from_there && from->ndim() == 0 && from->device() == DeviceType::Cpu;
  if (to_there && (is_number || to->device() == from->device())) {
    static const Program* const same = [] {
      Program* program = new Program;
      program->n_inputs = program->n_registers = 1;
      return program;
    }();
    const auto plain = [](DType t) { return t <= DType::F64; };
    if (from_there && to->dtype == from->dtype && to->is_contiguous() && from->is_contiguous() && same_shape(to, from)) {
      devices::copy(*block_of(from->storage()), static_cast<size_t>(from->offset()), *block_of(to->storage()),
                    static_cast<size_t>(to->offset()), static_cast<size_t>(to->nbytes()));
      return 0;
    }
    if (plain(to->dtype) && plain(from->dtype)) {
      const bool integers = !is_floating(to->dtype) && !is_floating(from->dtype);
      const bool wide = to->dtype == DType::F64 || from->dtype == DType::F64;
      PyObject* operand = as_object(const_cast<Tensor*>(from));
      return run_program_there(*same, integers ? DType::I64 : wide ? DType::F64 : DType::F32, &operand, 1, to);
    }
    if (to->dtype == from->dtype && to->item() <= 8) {  // the same bits, whatever they mean
      const DType bits = to->item() == 8 ? DType::I64 : to->item() == 4 ? DType::I32 : to->item() == 2 ? DType::I16 : DType::U8;
      const Owned<Tensor> target(new_view(to, bits, to->ndim(), to->sizes(), to->strides(), 0));
      const Owned<Tensor> source(new_view(from, bits, from->ndim(), from->sizes(), from->strides(), 0));
      PyObject* operand = as_object(source.get());
      return target && source ? run_program_there(*same, DType::I64, &operand, 1, target.get()) : -1;
    }
    const Owned<Tensor> target(new_alias(to)), source(new_alias(from));
    PyObject* copy = target && source ? callbacks.copy_there.get() : nullptr;
    const Ref done(copy ? PyObject_CallFunctionObjArgs(copy, target.get(), source.get(), nullptr) : nullptr);
    if (!done) return -1;
    if (done.get() != Py_NotImplemented) return 0;
    if (from_there && count_fallback("copy", to->device()) < 0) return -1;
  }
  if (!to_there) {
    const Owned<Tensor> here(host_copy(from));
    return here ? copy_into(to, here.get()) : -1;
  }
  Owned<Tensor> source(from_there ? host_copy(from) : as_tensor(Py_NewRef(as_object(const_cast<Tensor*>(from)))));
  const Owned<Tensor> image(source ? is_dense(to) ? room_like(to) : host_copy(to) : nullptr);
  if (!image || copy_into(image.get(), source.get()) < 0) return -1;
  upload(image.get(), to);
  return 0;
} catch (...) {  // callers expect an exception of Python's
  raise_caught();
  return -1;
}

// ---------------------------------------------------------------- calls

namespace {

// The arguments of a call as they are on the host, and what the call did to them.
class HostCall {
 public:
  // nullptr with an exception.
  PyObject* argument(PyObject* o) {
    if (is_tensor(o)) {
      Tensor* t = as_tensor(o);
      if (!(t->flags & kAccelerator)) return Py_NewRef(o);
      for (const Copy& copy : copies_) {
        if (copy.there.get() == o) return Py_NewRef(copy.here.get());
      }
      device_ = t->device();
      Ref here(as_object(host_copy(t)));
      if (!here) return nullptr;
      as_tensor(here.get())->flags |= t->flags & kLazy;
      const Storage* s = as_tensor(here.get())->storage();
      std::unique_ptr<char[]> before(new char[s->nbytes]);
      if (s->nbytes) std::memcpy(before.get(), s->data, s->nbytes);
      PyObject* given = here.get();
      copies_.push_back(Copy{Ref::borrow(o), std::move(here), std::move(before)});
      return Py_NewRef(given);
    }
    if (!PyList_CheckExact(o) && !PyTuple_CheckExact(o)) return Py_NewRef(o);
    const Ref items(PySequence_Tuple(o));
    const Py_ssize_t n = items ? PyTuple_GET_SIZE(items.get()) : 0;
    Ref made(items ? PyList_New(n) : nullptr);
    for (Py_ssize_t i = 0; made && i < n; ++i) {
      PyObject* item = argument(PyTuple_GET_ITEM(items.get(), i));
      if (!item) return nullptr;
      PyList_SET_ITEM(made.get(), i, item);
    }
    if (made && PyTuple_CheckExact(o)) return PyList_AsTuple(made.get());
    if (made) lists_.push_back(List{Ref::borrow(o), Ref::borrow(made.get()), Ref(PyList_AsTuple(made.get()))});
    return made.release();
  }

  DeviceType device() const { return device_; }

  // Copies back the tensors that the call wrote. -1 with an exception.
  int write_back() {
    for (const Copy& copy : copies_) {
      const Storage* s = as_tensor(copy.here.get())->storage();
      if (s->nbytes && std::memcmp(copy.before.get(), s->data, s->nbytes) != 0) {
        upload(as_tensor(copy.here.get()), as_tensor(copy.there.get()));
      }
    }
    // A kernel may put new tensors into a list, too.
    for (const List& list : lists_) {
      const Py_ssize_t n = list.before ? PyTuple_GET_SIZE(list.before.get()) : 0;
      if (PyList_GET_SIZE(list.here.get()) != n || PyList_GET_SIZE(list.there.get()) != n) continue;
      for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject* item = PyList_GET_ITEM(list.here.get(), i);
        if (item == PyTuple_GET_ITEM(list.before.get(), i)) continue;
        PyObject* there = result(Py_NewRef(item));
        if (!there || PyList_SetItem(list.there.get(), i, there) < 0) return -1;
      }
    }
    return 0;
  }

  // The result there. Takes over `o`.
  PyObject* result(PyObject* o) {
    const Ref owned(o);
    if (is_array(o) || is_numpy_scalar(o)) {
      const Owned<Tensor> t(result_tensor(Py_NewRef(o)));
      return t ? result(Py_NewRef(as_object(t.get()))) : nullptr;
    }
    if (is_tensor(o)) {
      Tensor* t = as_tensor(o);
      if (t->device() != DeviceType::Cpu) return Py_NewRef(o);
      for (const Copy& copy : copies_) {
        if (copy.here.get() == o) return Py_NewRef(copy.there.get());
        const Tensor* here = as_tensor(copy.here.get());
        if (t->storage() != here->storage()) continue;
        return as_object(
            new_view(as_tensor(copy.there.get()), t->dtype, t->ndim(), t->sizes(), t->strides(), t->offset() - here->offset()));
      }
      return as_object(copy_to(t, device_));
    }
    if (!PyTuple_Check(o) && !PyList_Check(o)) return Py_NewRef(o);
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    Ref made(PyTuple_New(n));
    for (Py_ssize_t i = 0; made && i < n; ++i) {
      PyObject* item = result(Py_NewRef(PySequence_Fast_GET_ITEM(o, i)));
      if (!item) return nullptr;
      PyTuple_SET_ITEM(made.get(), i, item);
    }
    return made.release();
  }

 private:
  struct Copy {
    Ref there, here;
    std::unique_ptr<char[]> before;
  };
  struct List {
    Ref there, here, before;
  };
  std::vector<Copy> copies_;
  std::vector<List> lists_;
  DeviceType device_ = DeviceType::Cpu;
};

thread_local std::pair<const char*, bool> asked_last{"", false};  // the name, and whether it wrote

}  // namespace

std::string asked_of_device() { return std::string(asked_last.first) + (asked_last.second ? "_" : ""); }

There*& there_of(PyCFunction method) {
  static std::unordered_map<void*, There*> known;
  return known[reinterpret_cast<void*>(method)];
}

namespace {

// Whether all tensors are on one accelerator and of the element types that a function takes.
bool takes(const std::vector<uint32_t>& types, PyObject* const* args, Py_ssize_t n, const Tensor*& first, Py_ssize_t place = -1) {
  for (Py_ssize_t i = 0; i < n; ++i) {
    const Py_ssize_t at = place < 0 ? i : place;
    if (is_tensor(args[i])) {
      const Tensor* t = as_tensor(args[i]);
      const uint32_t taken = types[std::min(static_cast<size_t>(at), types.size() - 1)];
      if (!taken) continue;
      if (!first) first = t;
      if (!(t->flags & kAccelerator) || t->device() != first->device() || !(taken >> static_cast<int>(t->dtype) & 1)) return false;
      if (taken & There::kSame && t->dtype != first->dtype) return false;
    } else if (PyList_CheckExact(args[i]) || PyTuple_CheckExact(args[i])) {
      if (!takes(types, PySequence_Fast_ITEMS(args[i]), PySequence_Fast_GET_SIZE(args[i]), first, at)) return false;
    }
  }
  return true;
}

}  // namespace

bool has_kernels_there(PyObject* kernel) {
  const There* there = there_of(PyCFunction_GET_FUNCTION(kernel));
  return there && (there->functions[There::Own] || there->functions[There::Complex]);
}

PyObject* by_device(const There& there, PyObject* const* args, Py_ssize_t n, bool writes) try {
  static std::atomic<bool> loaded;
  if (!loaded.load(std::memory_order_acquire)) {
    PyObject* load = callbacks.load_kernels_there.get();
    if (!load || !Ref(PyObject_CallNoArgs(load))) return nullptr;
    loaded.store(true, std::memory_order_release);
  }
  // An int of a class of the program's may do anything in `__float__`, also to the tensors; so it
  // is an int from here on.
  const auto odd = [](PyObject* o) { return PyLong_Check(o) && !PyLong_CheckExact(o) && !PyBool_Check(o); };
  std::vector<PyObject*> plain;
  std::vector<Ref> held;
  if (std::any_of(args, args + n, odd)) {
    plain.assign(args, args + n);
    for (PyObject*& o : plain) {
      if (!odd(o)) continue;
      held.emplace_back(PyLong_Type.tp_as_number->nb_int(o));
      if (!(o = held.back().get())) return nullptr;
    }
    args = plain.data();
  }
  asked_last = {there.name, writes};
  repeats::Key key = repeats::key_of(there, args, n, writes);
  if (PyObject * result; repeats::again(key, &result)) return result;
  for (int which = writes ? There::Write : There::Own; which <= (writes ? There::Write : There::Complex); ++which) {
    const Tensor* first = nullptr;
    if (!there.functions[which] || (there.takes[which] && !takes(*there.takes[which], args, n, first))) continue;
    repeats::Watch watch(key);
    Ref result(PyObject_Vectorcall(there.functions[which], args, static_cast<size_t>(n), nullptr));
    if (!result) return nullptr;
    if (result.get() != Py_NotImplemented) return watch.keep(there, args, n, writes, result.get()) ? result.release() : nullptr;
  }
  return Py_NewRef(Py_NotImplemented);
} catch (...) {  // callers expect an exception of Python's
  raise_caught();
  return nullptr;
}

std::atomic<bool> accelerators_opened;

bool find_accelerated(PyObject* const* args, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* o = args[i];
    if (is_tensor(o)) {
      if (as_tensor(o)->flags & kAccelerator) return true;
    } else if (PyList_CheckExact(o) || PyTuple_CheckExact(o)) {
      const ItemsOf items(o);
      if (find_accelerated(items.all(), items.size())) return true;
    }
  }
  return false;
}

// By a kernel of the device; else `call` gets the arguments as they are on the host.
template <class Call>
PyObject* there_or_here(const There& there, PyObject* const* args, Py_ssize_t n, const Call& call) {
  PyObject* found = by_device(there, args, n);
  if (found != Py_NotImplemented) return found;
  Py_DECREF(found);
  HostCall host;
  std::vector<Ref> held;
  std::vector<PyObject*> given;
  for (Py_ssize_t i = 0; i < n; ++i) {
    held.emplace_back(host.argument(args[i]));
    if (!held.back()) return nullptr;
    given.push_back(held.back().get());
  }
  if (count_fallback(there.name, host.device()) < 0) return nullptr;
  Ref result(call(given.data()));
  if (!result || host.write_back() < 0) return nullptr;
  return host.result(result.release());
}

PyObject* on_accelerator(Op* op, PyObject* function, PyObject* const* args, Py_ssize_t n, bool first_shared) {
  return there_or_here(op->there, args, n, [&](PyObject* const* given) -> PyObject* {
    std::vector<Ref> arrays;
    std::vector<PyObject*> values(given, given + n);
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (is_tensor(given[i])) {
        Tensor* t = as_tensor(given[i]);
        arrays.emplace_back(first_shared && !i ? array_of(t) : array_to_read(t));
      } else if ((PyList_CheckExact(given[i]) || PyTuple_CheckExact(given[i])) && PySequence_Fast_GET_SIZE(given[i]) &&
                 is_tensor(PySequence_Fast_GET_ITEM(given[i], 0))) {
        const Py_ssize_t items = PySequence_Fast_GET_SIZE(given[i]);
        Ref list(PyList_New(items));
        for (Py_ssize_t k = 0; list && k < items; ++k) {
          PyObject* array = array_to_read(as_tensor(PySequence_Fast_GET_ITEM(given[i], k)));
          if (!array) return nullptr;
          PyList_SET_ITEM(list.get(), k, array);
        }
        arrays.push_back(std::move(list));
      } else {
        continue;
      }
      if (!(values[static_cast<size_t>(i)] = arrays.back().get())) return nullptr;
    }
    return PyObject_Vectorcall(function, values.data(), static_cast<size_t>(n), nullptr);
  });
}

PyObject* kernel_on_accelerator(const There& there, HostFunction function, PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return there_or_here(there, args, n, [&](PyObject* const* given) { return function(self, given, n); });
}

int run_program_by_host(const Program& program, DType compute, PyObject* const* operands, int n, Tensor* out) {
  if (count_fallback("pointwise program", out->device()) < 0) return -1;
  HostCall host;
  std::vector<Ref> held;
  PyObject* given[kMaxParams];
  for (int i = 0; i < n; ++i) {
    held.emplace_back(host.argument(operands[i]));
    if (!(given[i] = held.back().get())) return -1;
  }
  Py_ssize_t strides[kMaxDims];
  like_strides(out, out->item(), strides);
  const Owned<Tensor> here(new_strided(out->dtype, out->ndim(), out->sizes(), strides, DeviceType::Cpu));
  const Owned<Tensor> done(here ? run_program_into(program, compute, given, n, here.get()) : nullptr);
  return done ? copy_into(out, done.get()) : -1;
}

// ---------------------------------------------------------------- for Python

namespace {

// open_accelerators(kind, libraries): see devices::open. The facts of the devices, by name.
PyObject* open_accelerators(PyObject*, PyObject* args) {
  int kind;
  const char* libraries;
  if (!PyArg_ParseTuple(args, "is", &kind, &libraries)) return nullptr;
  {
    const ReleaseGil release(true);
    devices::open(static_cast<devices::Kind>(kind), libraries);
  }
  accelerators_opened.store(true);
  Ref list(PyList_New(0));
  for (int i = kind * devices::kOfAKind; const devices::Facts* f = devices::facts_of(i); ++i) {
    if (!list || PyList_GET_SIZE(list.get()) == devices::kOfAKind) break;
    const Ref facts(Py_BuildValue(
        "{s:s,s:s,s:s,s:s,s:K,s:n,s:n,s:O,s:O,s:i,s:(ii),s:i}", "name", f->name.c_str(), "vendor", f->vendor.c_str(), "version",
        f->version.c_str(), "driver", f->driver.c_str(), "total_memory", static_cast<unsigned long long>(f->memory),
        "largest_block", static_cast<Py_ssize_t>(f->largest_block), "largest_group", static_cast<Py_ssize_t>(f->largest_group),
        "has_double", f->has_double ? Py_True : Py_False, "is_cpu", f->is_cpu ? Py_True : Py_False, "warp", f->warp, "capability",
        f->capability[0], f->capability[1], "processors", f->processors));
    if (!facts || PyList_Append(list.get(), facts.get()) < 0) return nullptr;
  }
  return list.release();
}

// count_cuda(library): how many devices a driver of CUDA has, without opening them.
PyObject* count_cuda(PyObject*, PyObject* library) {
  const char* path = PyUnicode_AsUTF8(library);
  return path ? PyLong_FromLong(devices::count_cuda(path)) : nullptr;
}

// accelerator_kernel(device, text, options, name, binary): its number, and the binary where a new one was made.
PyObject* make_kernel(PyObject*, PyObject* args) {
  int device;
  const char *text, *options, *name, *bytes;
  Py_ssize_t length;
  if (!PyArg_ParseTuple(args, "isssy#", &device, &text, &options, &name, &bytes, &length)) return nullptr;
  std::string binary(bytes, static_cast<size_t>(length));
  int number;
  {
    const ReleaseGil release(true);
    number = devices::kernel(device, text, options, name, &binary);
  }
  return Py_BuildValue("iy#", number, binary.data(), static_cast<Py_ssize_t>(binary.size()));
}

// copy_to(tensor, number): a dense copy on an accelerator, or for -1 on the host, without history.
PyObject* copy_to_function(PyObject*, PyObject* args) {
  PyObject* o;
  int number;
  if (!PyArg_ParseTuple(args, "O!i", TensorType, &o, &number)) return nullptr;
  if (number >= 0 && !devices::facts_of(number)) {
    PyErr_SetString(PyExc_ValueError, "copy_to(): no such device");
    return nullptr;
  }
  const Owned<Tensor> values(values_of(as_tensor(o)));
  if (!values) return nullptr;
  return as_object(copy_to(values.get(), number < 0 ? DeviceType::Cpu : accelerator_at(static_cast<int>(number))));
}

// copy_values(to, from): the values of one tensor into another's memory, without history; `from` may be spread to the shape.
PyObject* copy_values(PyObject*, PyObject* args) {
  PyObject *to, *from;
  if (!PyArg_ParseTuple(args, "O!O!", TensorType, &to, TensorType, &from)) return nullptr;
  const uint64_t before = devices::queued();
  if (copy_into(as_tensor(to), as_tensor(from)) < 0) return nullptr;
  repeats::note_call(copy_values, args, devices::queued() - before);
  Py_RETURN_NONE;
}

std::vector<uint32_t> bits_of(PyObject* types) {
  std::vector<uint32_t> bits;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types); ++i) {
    bits.push_back(static_cast<uint32_t>(PyLong_AsUnsignedLong(PyTuple_GET_ITEM(types, i))));
  }
  return bits;
}

// accelerator_fits(types, arguments): whether the arguments are of the types of a function.
PyObject* fits(PyObject*, PyObject* args) {
  PyObject *types, *given;
  if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &types, &PyTuple_Type, &given)) return nullptr;
  const std::vector<uint32_t> bits = bits_of(types);
  const Tensor* first = nullptr;
  const bool taken = !bits.empty() && takes(bits, PySequence_Fast_ITEMS(given), PyTuple_GET_SIZE(given), first);
  return PyErr_Occurred() ? nullptr : PyBool_FromLong(taken);
}

// accelerator_attach(target, function, complex, writes, types); target: an Op or a CPU's kernel.
PyObject* attach(PyObject*, PyObject* args) {
  PyObject *target, *function, *types;
  int complex, writes;
  if (!PyArg_ParseTuple(args, "OOppO!", &target, &function, &complex, &writes, &PyTuple_Type, &types)) return nullptr;
  There* there = PyObject_TypeCheck(target, OpType) ? &reinterpret_cast<Op*>(target)->there
                 : PyCFunction_CheckExact(target)   ? there_of(PyCFunction_GET_FUNCTION(target))
                                                    : nullptr;
  if (!there) return PyErr_Format(PyExc_TypeError, "%R is no op, and no kernel that accelerators compute", target);
  const int which = writes ? There::Write : complex ? There::Complex : There::Own;
  PyObject*& place = there->functions[which];
  if (place) return PyErr_Format(PyExc_TypeError, "%s has a kernel there already", there->name);
  std::vector<uint32_t> taken = bits_of(types);
  if (PyErr_Occurred()) return nullptr;
  if (!taken.empty()) there->takes[which] = new std::vector<uint32_t>(std::move(taken));
  place = Py_NewRef(function);
  Py_RETURN_NONE;
}

PyObject* finish(PyObject*, PyObject* device) {
  const int number = static_cast<int>(PyLong_AsLong(device));
  if (PyErr_Occurred()) return nullptr;
  {
    const ReleaseGil release(true);
    devices::finish(number);
  }
  const DeviceType place = accelerator_at(static_cast<int>(number));
  return check_reports(place) < 0 ? nullptr : Py_NewRef(Py_None);
}

PyObject* counts(PyObject*, PyObject* device) {
  const int number = static_cast<int>(PyLong_AsLong(device));
  if (PyErr_Occurred()) return nullptr;
  const devices::Counts c = devices::counts(number);
  return Py_BuildValue("KKKKKKK", c.in_use, c.most_in_use, c.kept, c.most_kept, c.allocations, c.retries, c.lacks);
}

template <auto f>
PyObject* of_device(PyObject*, PyObject* device) {
  const int number = static_cast<int>(PyLong_AsLong(device));
  if (PyErr_Occurred()) return nullptr;
  f(number);
  Py_RETURN_NONE;
}

template <auto f>
PyObject* switched(PyObject*, PyObject* on) {
  const int truth = PyObject_IsTrue(on);
  return truth < 0 ? nullptr : PyBool_FromLong(f(truth != 0));
}

PyObject* list_fallbacks(PyObject*, PyObject*) {
  const std::lock_guard<std::mutex> guard(counting);
  Ref found(PyDict_New());
  for (const auto& [name, count] : fallbacks) {
    const Ref number(PyLong_FromUnsignedLongLong(count));
    if (!found || !number || PyDict_SetItemString(found.get(), name.c_str(), number.get()) < 0) return nullptr;
  }
  return found.release();
}

PyObject* forget_fallbacks(PyObject*, PyObject*) {
  const std::lock_guard<std::mutex> guard(counting);
  fallbacks.clear();
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef kAcceleratorFunctions[] = {
    {"open_accelerators", method_of<open_accelerators>(), METH_VARARGS, "Opens a library of a kind: the facts of its devices."},
    {"count_cuda", method_of<count_cuda>(), METH_O, "How many devices a driver of CUDA has, without opening them."},
    {"accelerator_kernel", method_of<make_kernel>(), METH_VARARGS,
     "The number of a kernel of a text, compiled once, and its binary."},
    {"copy_to", method_of<copy_to_function>(), METH_VARARGS, "A dense copy on another device, without history."},
    {"copy_values", method_of<copy_values>(), METH_VARARGS, "Copies values into a tensor's memory, without history."},
    {"accelerator_attach", method_of<attach>(), METH_VARARGS, "What computes calls of an op, or of a kernel of the CPU, there."},
    {"accelerator_fits", method_of<fits>(), METH_VARARGS, "Whether arguments are of the types that a function takes."},
    {"accelerator_finish", method_of<finish>(), METH_O, "Waits until a device has done all."},
    {"accelerator_counts", method_of<counts>(), METH_O,
     "Bytes in use, the most so far, kept, the most kept; allocations, second tries, failures."},
    {"accelerator_give_back", method_of<of_device<devices::give_back_kept>>(), METH_O,
     "What a device keeps for later goes to the system."},
    {"accelerator_reset_most", method_of<of_device<devices::reset_most>>(), METH_O, "The most in use is counted anew."},
    {"accelerator_shown_as_cuda", method_of<switched<devices::show_as_cuda>>(), METH_O,
     "Whether messages call accelerators cuda; what it was."},
    {"accelerator_fallbacks", method_of<list_fallbacks>(), METH_NOARGS, "Calls that went by way of the host, by name."},
    {"accelerator_forget_fallbacks", method_of<forget_fallbacks>(), METH_NOARGS, "Counts them anew."},
    {"accelerator_refuse_fallbacks", method_of<switched<[](bool on) { return refusing.exchange(on); }>>(), METH_O,
     "Whether such calls are refused; what it was."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rushlight
