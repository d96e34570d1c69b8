// A call of an Op: looks at its arguments, runs the forward, wraps the result and, when a gradient is wanted, records a
// Node. How arguments are read is in arguments.cpp, how ops are made in make_op.cpp, how a Node computes gradients
// in rules.cpp.
//
// A call costs: one pass over the arguments, one test for anything unusual, the forward, one allocation for the Tensor
// and one for the Node. That path stays in this file, where the compiler can inline along it.
#include "core/op.h"

#include <algorithm>
#include <span>

#include "core/accelerator.h"
#include "core/layout.h"
#include "core/lazy.h"
#include "core/override.h"

namespace rushlight {

namespace {

// Names what is wrong with an argument, as torch does, then what would be right.
void raise_argument(Op* op, int i, PyObject* got) {
  const char* name = PyUnicode_AsUTF8(op->params[i].name);
  if (op->params[i].kind == Param::TensorList) {
    PyErr_Format(PyExc_TypeError, "%s(): argument '%s' (position %d) must be tuple of Tensors, not %s", public_name(op).c_str(),
                 name, i + 1, Py_TYPE(got)->tp_name);
    return;
  }
  PyErr_Format(PyExc_TypeError, "%s(): argument '%s' (position %d) must be Tensor, not %s", public_name(op).c_str(), name, i + 1,
               Py_TYPE(got)->tp_name);
}

PyObject* slots_tuple(Op* op, PyObject* const* slots) {
  PyObject* tuple = PyTuple_New(op->n_params);
  if (!tuple) return nullptr;
  for (int i = 0; i < op->n_params; ++i) PyTuple_SET_ITEM(tuple, i, Py_NewRef(slots[i] ? slots[i] : Py_None));
  return tuple;
}

PyObject* call_with_slots(const Callback& callback, Op* op, PyObject* const* slots) {
  PyObject* f = callback.get();
  Ref tuple(f ? slots_tuple(op, slots) : nullptr);
  if (!tuple) return nullptr;
  PyObject* args[] = {as_object(op), tuple.get()};
  const OverridesOf quiet(Overrides::None);
  return PyObject_Vectorcall(f, args, 2, nullptr);
}

PyObject* call_wrapped(Op* op, PyObject* const* slots) {
  Ref tuple(slots_tuple(op, slots));
  if (!tuple) return nullptr;
  const OverridesOf quiet(Overrides::None);
  return ask_levels(asked::call, as_object(op), tuple.get());
}

// The facts about all tensors of a call, found by the argument check.
struct Seen {
  uint32_t flags = 0;
  bool wants_grad = false;
  bool symbolic = false;
  DType stored = DType::Count;  // a type that is stored only, where an argument has one
  bool stale = false;  // a view whose storage was written since its history was made
};

void look_at(Tensor* t, Seen* seen) {
  seen->flags |= t->flags;
  seen->wants_grad |= requires_grad(t);
  if (stored_only(t->dtype)) seen->stored = t->dtype;
  if (t->base) {
    seen->stale |= t->history_version != version_of(t);
    seen->flags |= t->base->flags & kWrapped;
  }
}

// Errors about an argument's history come here, before the call computes anything.
int refresh_arguments(Op* op, PyObject* const* slots) {
  const auto refresh = [](Tensor* t, int) {
    Node* node;
    return !t->base || refresh_grad_fn(t, &node) >= 0;
  };
  return for_each_tensor(op, slots, refresh) ? 0 : -1;
}

int look_at_all(Op* op, PyObject* const* slots, Seen* seen) {
  for (uint8_t i : op->tensor_params) {
    PyObject* o = slots[i];
    if (Py_TYPE(o) == TensorType || is_tensor(o)) {
      if (i == op->list_param) {
        raise_argument(op, i, o);
        return -1;
      }
      look_at(as_tensor(o), seen);
      continue;
    }
    switch (op->params[i].kind) {
      case Param::Operand:
        if (is_python_scalar(o)) continue;
        break;
      case Param::OptionalTensor:
        if (o == Py_None) continue;
        break;
      case Param::TensorList: {
        if (!PyTuple_Check(o) && !PyList_Check(o)) break;
        const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
        for (Py_ssize_t k = 0; k < n; ++k) {
          PyObject* item = PySequence_Fast_GET_ITEM(o, k);
          if (!is_tensor(item)) {
            PyErr_Format(PyExc_TypeError, "expected Tensor as element %zd in argument %d, but got %s", k, i,
                         Py_TYPE(item)->tp_name);
            return -1;
          }
          look_at(as_tensor(item), seen);
        }
        continue;
      }
      default: break;
    }
    if (is_symbol(o)) {
      seen->symbolic = true;
      continue;
    }
    for (uint8_t k : op->tensor_params) {
      if (slots[k] && is_symbol(slots[k])) {
        seen->symbolic = true;
        return 0;
      }
    }
    raise_argument(op, i, o);
    return -1;
  }
  if (op->promotion.dtype_param >= 0) {
    PyObject* wanted = slots[op->promotion.dtype_param];
    for (int i = static_cast<int>(DType::F8E4M3FN); i < static_cast<int>(DType::Count); ++i) {
      if (wanted == registry.dtypes[i]) seen->stored = static_cast<DType>(i);
    }
  }
  if (seen->stored == DType::Count || op->kind == Op::Pointwise || op->result.view) return 0;
  if (op->list_param >= 0 && is_float8(seen->stored)) {
    PyObject* list = slots[op->list_param];
    if (check_float8(PySequence_Fast_ITEMS(list), static_cast<int>(PySequence_Fast_GET_SIZE(list)), seen->stored) < 0) return -1;
  }
  return check_stored(op, seen->stored);
}

}  // namespace

int check_stored(Op* op, DType type) {
  if (op->promotion.stored & (is_float8(type) ? 1 : 2)) return 0;
  const Ref key(PyLong_FromLong(static_cast<long>(type)));
  PyObject* why = key && op->promotion.refusals ? PyDict_GetItemWithError(op->promotion.refusals, key.get()) : nullptr;
  if (why) {
    PyErr_SetObject(PyTuple_GET_ITEM(why, 0), PyTuple_GET_ITEM(why, 1));
  } else if (!PyErr_Occurred()) {
    PyErr_Format(PyExc_NotImplementedError, "\"%U\" not implemented for '%s'", op->promotion.kernel_name, scalar_name(type));
  }
  return -1;
}

void note_cut(Op* op, PyObject* const* slots, Tensor* result, bool wants_grad) {
  if (wants_grad) {
    cut_here(result, grad_enabled() ? Cut::NoDerivative : tls.inference ? Cut::Inference : Cut::NoGrad);
    return;
  }
  for_each_tensor(op, slots, [result](Tensor* t, int) {
    inherit_cut(result, t);
    return true;
  });
}

int look_at_arguments(Op* op, PyObject* const* slots, uint32_t* flags, bool* wants_grad, bool* symbolic) {
  Seen seen;
  if (look_at_all(op, slots, &seen) < 0) return -1;
  *flags = seen.flags;
  *wants_grad = seen.wants_grad;
  *symbolic = seen.symbolic;
  return 0;
}

PyObject* run_on_stand_ins(Op* op, PyObject* function, PyObject* const* args, Py_ssize_t n) {
  note_path(Path::StandIns);
  PyObject* f = callbacks.on_stand_ins.get();
  Ref tuple(f ? PyTuple_New(n) : nullptr);
  if (!tuple) return nullptr;
  for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(args[i]));
  PyObject* given[] = {as_object(op), function, tuple.get()};
  return PyObject_Vectorcall(f, given, 3, nullptr);
}

// The first tensor says where the others are expected. As in torch, these may be on the CPU: the indices of a subscript, those into a
// tensor on meta, what has no dimensions in a pointwise op, and the value that is filled in.
int check_devices(Op* op, PyObject* const* slots, const Tensor* written) {
  const Tensor* first = written;
  const auto fits = [op, &first](Tensor* t, int i) {
    const bool subscript = op->places.subscript >> i & 1;
    const bool index = subscript || (op->places.indices >> i & 1 && first && first->device() == DeviceType::Meta);
    const bool number = t->ndim() == 0 && (op->kind == Op::Pointwise || op->places.by_value >> i & 1);
    if (t->device() == DeviceType::Cpu && (index || number)) return true;
    if (!first) first = t;
    if (t->device() == first->device()) return true;
    if (subscript && is_accelerator(t->device())) {
      PyErr_Format(
          PyExc_RuntimeError,
          "indices should be either on cpu or on the same device as the indexed tensor (%s). These are on %s; move them with "
          ".to('%s').",
          device_name(first->device()), device_name(t->device()), device_name(first->device()));
      return false;
    }
    if (!((t->flags | first->flags) & kMeta)) {
      PyErr_Format(
          PyExc_RuntimeError,
          "Expected all tensors to be on the same device, but found at least two devices, %s and %s! %s() got one on each; "
          "move one with .to('%s').",
          device_name(first->device()), device_name(t->device()), op_name(op) + (*op_name(op) == '_'),
          device_name(first->device()));
      return false;
    }
    PyErr_Format(PyExc_RuntimeError,
                 "Tensor on device %s is not on the expected device %s! All tensors of %s() must be on one device; move this one "
                 "with .to('%s').",
                 device_name(t->device()), device_name(first->device()), op_name(op) + (*op_name(op) == '_'),
                 device_name(first->device()));
    return false;
  };
  return for_each_tensor(op, slots, fits) ? 0 : -1;
}

// Whether accelerators have code for a kernel, once it is loaded.
bool is_there(PyObject* kernel) {
  const There* there = there_of(PyCFunction_GET_FUNCTION(kernel));
  return there && (there->functions[There::Own] || there->functions[There::Complex]);
}

// A copy of the first argument that the op's kernel has written; NotImplemented where it has not.
PyObject* write_copy(Op* op, PyObject* const* slots) {
  const Tensor* from = as_tensor(slots[0]);
  const bool alike = op->result.keeps.rule == Keeps::Strides;
  Ref copy(as_object(alike ? new_like(from, from->dtype) : new_tensor(from->dtype, from->ndim(), from->sizes(), from->device())));
  if (!copy || copy_into(as_tensor(copy.get()), from) < 0) return nullptr;
  PyObject* args[kMaxParams];
  std::copy_n(slots, op->n_params, args);
  args[0] = copy.get();
  Ref done(PyObject_Vectorcall(op->in_place.write, args, static_cast<size_t>(op->n_params), nullptr));
  return done.get() == Py_None ? copy.release() : done.release();
}

namespace {

// Whether a tensor of the call is on meta, or on an accelerator: `flag` says which.
bool is_on(Op* op, PyObject* const* slots, uint32_t flag) {
  return !for_each_tensor(op, slots, [flag](Tensor* t, int) { return !(t->flags & flag); });
}

// A new tensor of a definition has no history. A view that shows all of a tensor, which nobody else
// has, owns the memory.
void stand_alone(Tensor* t) {
  forget_cut(t);
  const Tensor* base = t->base;
  if (!base || Py_REFCNT(base) != 1 || base->numel() != t->numel() || t->storage()->nbytes != static_cast<size_t>(t->nbytes()))
    return;
  Py_CLEAR(t->base);
  t->flags &= ~kSpecialView;
  note_metadata();
  drop(std::exchange(t->version, nullptr));
  t->history_version = 0;
}

// The definition in other ops, unrecorded and unreported. On an accelerator kernels go first.
[[gnu::noinline]] PyObject* run_by_ops(Op* op, PyObject* const* slots, bool accelerated) {
  if (accelerated) {
    for (There* there : {op->native ? there_of(PyCFunction_GET_FUNCTION(op->forward)) : nullptr, &op->there}) {
      PyObject* found = there ? by_device(*there, slots, op->n_params) : nullptr;
      if (there && found != Py_NotImplemented) return found;
      Py_XDECREF(found);
    }
  }
  PyObject* arguments[kMaxParams + 1];
  std::copy_n(slots, op->n_params, arguments + 1);
  Ref result;
  {
    const GradMode off(false);
    const OverridesOf quiet(Overrides::None);
    const Unreported own_work;
    result = Ref(PyObject_Vectorcall(op->by_ops, arguments + 1, op->n_params | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  }
  note_path(Path::Composite);
  if (!result) return nullptr;
  const bool several = PyTuple_CheckExact(result.get());
  PyObject* made[] = {result.get()};
  for (PyObject* o :
       std::span(several ? PySequence_Fast_ITEMS(result.get()) : made, several ? PyTuple_GET_SIZE(result.get()) : 1)) {
    if (is_tensor(o) && Py_REFCNT(o) == 1) stand_alone(as_tensor(o));
  }
  return result.release();
}

// The arguments have no arrays because NumPy is not installed: what the definition refuses by types
// and sizes is said all the same.
[[gnu::noinline, gnu::cold]] PyObject* refused(PyObject* function, PyObject* const* slots, int n) {
  if (!PyErr_ExceptionMatches(PyExc_ModuleNotFoundError)) return nullptr;
  PyErr_Clear();
  const Ref refusing(PyImport_ImportModule("rushlight._base.refusing")), arguments(PyTuple_New(n));
  for (int i = 0; arguments && i < n; ++i) PyTuple_SET_ITEM(arguments.get(), i, Py_NewRef(slots[i]));
  return refusing && arguments ? PyObject_CallMethod(refusing.get(), "refuse", "OO", function, arguments.get()) : nullptr;
}

}  // namespace

PyObject* run_definition(Op* op, PyObject* function, PyObject* const* slots) {
  PyObject* arguments[kMaxParams + 1];
  PyObject** args = arguments + 1;
  if (is_kernel(function)) {
    const bool writes = function == op->in_place.write;
    if (accelerators_opened.load(std::memory_order_relaxed) && (writes || function == op->forward) &&
        is_on(op, slots, kAccelerator)) {
      PyObject* found = by_device(op->there, slots, op->n_params, writes);
      // Where the device has no kernel that writes, what the plain form gives is copied (see write_general).
      if (found != Py_NotImplemented || (writes && !is_there(function))) return found;
      Py_DECREF(found);
    }
    note_path(Path::Kernel);
    for (int i = 0; i < op->n_params; ++i) args[i] = slots[i];
    return PyObject_Vectorcall(function, args, op->n_params | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  }
  if (!for_each_tensor(op, slots, [](Tensor* t, int) { return !(t->flags & kMeta); })) {
    return run_on_stand_ins(op, function, slots, op->n_params);
  }
  // Whether the first argument's own memory is shown or written.
  const bool shared = op->result.view || op->result.multi_view || function == op->in_place.write;
  const bool accelerated = accelerators_opened.load(std::memory_order_relaxed) &&
                           !for_each_tensor(op, slots, [](Tensor* t, int) { return !(t->flags & kAccelerator); });
  if (accelerated && function == op->in_place.write) return by_device(op->there, slots, op->n_params, true);
  if (function == op->forward && op->in_place.write && is_kernel(op->in_place.write)) {
    PyObject* found = accelerated ? by_device(op->there, slots, op->n_params) : Py_NewRef(Py_NotImplemented);
    if (found == Py_NotImplemented && (!accelerated || is_there(op->in_place.write))) {
      Py_DECREF(found);
      found = write_copy(op, slots);
    }
    if (found != Py_NotImplemented) {
      note_path(Path::Kernel);
      return found;
    }
    Py_DECREF(found);
  }
  if (accelerated) return on_accelerator(op, function, slots, op->n_params, shared);
  note_path(Path::Numpy);
  Held<kMaxParams> held;
  for (int i = 0; i < op->n_params; ++i) {
    PyObject* o = slots[i];
    if (is_tensor(o)) {
      PyObject* array = shared && !i ? array_of(as_tensor(o)) : array_to_read(as_tensor(o));
      if (!array) return refused(function, slots, op->n_params);
      args[i] = held.take(array);
    } else if (op->params[i].kind == Param::TensorList) {
      const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
      Ref list(PyList_New(n));
      if (!list) return nullptr;
      for (Py_ssize_t k = 0; k < n; ++k) {
        PyObject* array = array_to_read(as_tensor(PySequence_Fast_GET_ITEM(o, k)));
        if (!array) return refused(function, slots, op->n_params);
        PyList_SET_ITEM(list.get(), k, array);
      }
      args[i] = held.take(list.release());
    } else {
      args[i] = o;
    }
  }
  PyObject* result = PyObject_Vectorcall(function, args, op->n_params | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  if (!result) reword_memory_error();
  return result;
}

namespace {

bool has_dtype(Op* op, PyObject* const* slots) {
  PyObject* o = slots[op->promotion.dtype_param];
  return o && o != Py_None;
}

// A forward beside a definition in other ops serves the CPU, and meta where it is a kernel.
[[gnu::noinline]] PyObject* run_with_ops(Op* op, PyObject* const* slots) {
  const bool accelerated = accelerators_opened.load(std::memory_order_relaxed) && is_on(op, slots, kAccelerator);
  if (op->forward != op->by_ops && !accelerated && (op->native || !is_on(op, slots, kMeta))) {
    PyObject* result = run_definition(op, op->forward, slots);
    if (result != Py_NotImplemented) return result;
    Py_DECREF(result);
  }
  return run_by_ops(op, slots, accelerated);
}

inline PyObject* run_definitions(Op* op, PyObject* const* slots) {
  if (op->by_ops && (!op->native || accelerators_opened.load(std::memory_order_relaxed))) [[unlikely]]
    return run_with_ops(op, slots);
  PyObject* result = run_definition(op, op->forward, slots);
  if (result == Py_NotImplemented && op->reference) {
    Py_DECREF(result);
    if (op->by_ops) return run_by_ops(op, slots, false);
    result = run_definition(op, op->reference, slots);
    if (tls.noted.path == Path::Numpy) note_path(Path::Fallback);
  }
  return result;
}

}  // namespace

PyObject* run_with_reference(Op* op, PyObject* const* slots) {
  if (op->by_ops && !is_on(op, slots, kAccelerator)) {
    PyObject* found = run_by_ops(op, slots, false);
    if (found != Py_NotImplemented) return found;
    Py_DECREF(found);
  }
  return run_definition(op, op->reference ? op->reference : op->forward, slots);
}

namespace {

// On the first argument as `dtype` says. The definition is told of integers alone, whose sums have another type by themselves.
[[gnu::noinline, gnu::cold]] PyObject* run_converted(Op* op, PyObject* const* slots) {
  const int param = op->promotion.dtype_param;
  const DType type = dtype_from(slots[param]);
  if (type == DType::Count) return nullptr;
  if (op->promotion.type_check) {
    PyObject* asked[] = {slots[0], slots[param]};
    const Ref said(PyObject_Vectorcall(op->promotion.type_check, asked, 2, nullptr));
    if (!said) return nullptr;
  }
  const Owned<Tensor> converted(cast(as_tensor(slots[0]), type));
  if (!converted) return nullptr;
  PyObject* typed[kMaxParams];
  std::copy_n(slots, op->n_params, typed);
  typed[0] = as_object(converted.get());
  if (is_differentiable(type) || type == DType::I64) typed[param] = Py_None;
  return run_definitions(op, typed);
}

// The call on what a call that converts gives.
[[gnu::noinline, gnu::cold]] PyObject* call_converted(Op* op, PyObject* const* slots) {
  const int param = op->promotion.dtype_param;
  PyObject* typed[kMaxParams];
  std::copy_n(slots, op->n_params, typed);
  typed[param] = Py_None;
  Ref converted;
  if (is_tensor(slots[0]) && dtype_object(as_tensor(slots[0])->dtype) != slots[param]) {
    Op* to_copy = callbacks.to_copy.op();
    converted = Ref(to_copy ? call_op(to_copy, slots[0], slots[param]) : nullptr);
    if (!converted) return nullptr;
    typed[0] = converted.get();
  }
  return call_op(op, typed);
}

}  // namespace

// The result of anything but a pointwise op: a tensor or an ndarray, or a tuple of them.
PyObject* run_forward(Op* op, PyObject* const* slots) {
  if (op->promotion.typed == Typed::Inside && has_dtype(op, slots)) [[unlikely]]
    return run_converted(op, slots);
  return run_definitions(op, slots);
}

namespace {

// Whether the arguments that decide about the format suggest channels last.
bool wants_channels_last(Op* op, PyObject* const* slots, int ndim) {
  for (uint8_t i : op->tensor_params) {
    if (!(op->result.keeps.params >> i & 1) || !is_tensor(slots[i])) continue;
    if ((ndim < 0 || as_tensor(slots[i])->ndim() == ndim) && suggests_channels_last(as_tensor(slots[i]))) return true;
  }
  return false;
}

// A result of the op, which nobody else has, laid out as the op's `keeps` says. Takes over `t`.
Tensor* keep(Op* op, PyObject* const* slots, Tensor* t) {
  const int ndim = t->ndim();
  Py_ssize_t strides[kMaxDims], numel;
  contiguous_strides(ndim, t->sizes(), t->item(), strides, &numel);
  if (op->result.keeps.rule == Keeps::Format || op->result.keeps.rule == Keeps::FormatAndBack) {
    if (wants_channels_last(op, slots, ndim)) channels_last_strides(ndim, t->sizes(), t->item(), strides);
    return relaid(t, strides);
  }
  for (uint8_t i : op->tensor_params) {
    if (!(op->result.keeps.params >> i & 1) || !is_tensor(slots[i]) || as_tensor(slots[i])->ndim() != ndim) continue;
    if (op->result.keeps.rule == Keeps::Columns && ndim > 1) {
      strides[ndim - 2] = t->item();
      strides[ndim - 1] = t->item() * std::max<Py_ssize_t>(t->size(ndim - 2), 1);
    } else if (op->result.keeps.rule == Keeps::Strides && same_shape(as_tensor(slots[i]), t)) {
      like_strides(as_tensor(slots[i]), t->item(), strides);
      break;
    }
  }
  return relaid(t, strides);
}

// Takes over `o`. `slots`: what the forward was given.
Tensor* wrap_result(Op* op, PyObject* const* slots, PyObject* o) {
  const bool from_numpy = !is_tensor(o);
  Tensor* t = result_tensor(o);
  if (!t) return nullptr;
  if (op->result.view) {
    PyObject* source = slots[op->tensor_params[0]];
    if (as_object(t) == source) {
      t = new_alias(as_tensor(source));
      Py_DECREF(source);
      if (!t) return nullptr;
    }
    t = become_view(t, as_tensor(source));
    if (t && op->result.multi_view && grad_enabled() && !(t->flags & kInferenceView))
      t->flags = (t->flags & ~kSpecialView) | kMultiView;
    if (t && op->result.toggles) {
      const uint32_t turned = is_complex(t->dtype) ? op->result.toggles : op->result.toggles & ~kConjBit;
      t->flags = (t->flags ^ turned) | turned << kLazyLast;
    }
    return t;
  }
  if (from_numpy) restride(t);
  // The result of an op that makes no view has memory of its own, unless the op may lend an argument's.
  const bool argument = Py_REFCNT(t) != 1;
  if (!argument && (op->result.may_alias || owns_memory(t))) {
    return op->result.keeps.rule ? keep(op, slots, t) : t;
  }
  Tensor* own = op->result.may_alias ? new_alias(t) : dense_copy(t);
  Py_DECREF(t);
  return own && op->result.keeps.rule ? keep(op, slots, own) : own;
}

// One of several results, a new reference: taken out of the sequence if nobody else has the
// sequence, for then the result has the only reference.
PyObject* take_result(PyObject* results, Py_ssize_t i) {
  PyObject*& place = PySequence_Fast_ITEMS(results)[i];
  return Py_REFCNT(results) == 1 ? std::exchange(place, Py_NewRef(Py_None)) : Py_NewRef(place);
}

PyObject* wrap_tuple(Op* op, PyObject* const* slots, PyObject* const* values, PyObject* results, const Seen& seen, bool recording) {
  Ref owned(results);
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(results);
  Ref tuple(PyTuple_New(n));
  if (!tuple) return nullptr;
  bool any = false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(results, i);
    if (item == Py_None) {
      PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(Py_None));
      continue;
    }
    Tensor* t = wrap_result(op, values, take_result(results, i));
    if (!t) return nullptr;
    any |= is_differentiable(t->dtype);
    PyTuple_SET_ITEM(tuple.get(), i, as_object(t));
  }
  if (recording && any && n > 0) {
    if (record(op, slots, reinterpret_cast<Tensor**>(&PyTuple_GET_ITEM(tuple.get(), 0)), n) < 0) return nullptr;
  }
  if (seen.wants_grad || (seen.flags & kCut)) {
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* item = PyTuple_GET_ITEM(tuple.get(), i);
      if (item != Py_None && !as_tensor(item)->grad_fn) note_cut(op, slots, as_tensor(item), seen.wants_grad);
    }
  }
  if (op->result.type) return PyObject_CallOneArg(op->result.type, tuple.get());
  return tuple.release();
}

PyObject* call_composite(Op* op, PyObject* const* slots) {
  Seen seen;
  if (op->list_param >= 0 && look_at_all(op, slots, &seen) < 0) return nullptr;
  note_path(Path::Composite);
  PyObject* arguments[kMaxParams + 1];
  for (int i = 0; i < op->n_params; ++i) arguments[i + 1] = slots[i];
  PyObject* made = PyObject_Vectorcall(op->forward, arguments + 1, op->n_params | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  if (made != Py_NotImplemented) return made;
  Py_DECREF(made);
  raise_argument(op, 0, slots[0]);
  return nullptr;
}

}  // namespace

Op* choose_variant(Op* op, PyObject* const* slots) {
  for (size_t i = 0; i < op->variants.size();) {
    const Variant& v = op->variants[i];
    PyObject* o = slots[v.param];
    bool taken;
    switch (v.when) {
      case Variant::Scalar: taken = !is_tensor(o) && !is_symbol(o); break;
      case Variant::Given: taken = o != op->params[v.param].fallback; break;
      case Variant::Below: {
        const int below = PyFloat_Check(o) || PyLong_Check(o) ? PyObject_RichCompareBool(o, v.value, Py_LT) : 0;
        if (below < 0) return nullptr;
        taken = below;
        break;
      }
      default: {
        const int equal = Py_TYPE(o) == Py_TYPE(v.value) ? PyObject_RichCompareBool(o, v.value, Py_EQ) : 0;
        if (equal < 0) return nullptr;
        taken = equal;
      }
    }
    if (taken) {
      op = v.op;
      if (op->in_place.is_form) return op;  // whose own variants are asked when it writes
      i = 0;
    } else {
      ++i;
    }
  }
  return op;
}

namespace {

// As torch: what is computed from inference tensors alone is not recorded. A number among the operands stands for an ordinary
// tensor, and a copy is the way out of the mode.
bool only_inference(Op* op, PyObject* const* slots) {
  for (uint8_t i : op->tensor_params) {
    for (PyObject* o : items_at(op, slots, i)) {
      if (is_tensor(o) ? !(as_tensor(o)->flags & kInference) : o != Py_None) return false;
    }
  }
  return !op->backward.leaves_inference;
}

// The forward on `values` (`slots`, with values in place of lazy tensors), and the record of the call.
#if defined(__GNUC__)
[[gnu::always_inline]]
#endif
inline PyObject* run_and_record(Op* op, PyObject* const* slots, PyObject* const* values, const Seen& seen, PyObject* known) {
  const bool recording = seen.wants_grad && grad_enabled() && op->backward.differentiable &&
                         !(seen.flags & kInference && only_inference(op, slots));
  if (recording && seen.stale && refresh_arguments(op, slots) < 0) return nullptr;
  Tensor* out;
  if (op->kind == Op::Pointwise && !known) {
    out = pointwise_forward(op, values, nullptr);
  } else {
    PyObject* result = known ? Py_NewRef(known) : run_forward(op, values);
    if (!result) return nullptr;
    if (known) note_path(Path::Kept);
    if (PyTuple_Check(result) || PyList_Check(result)) return wrap_tuple(op, slots, values, result, seen, recording);
    out = wrap_result(op, values, result);
  }
  if (!out) return nullptr;
  if (recording && is_differentiable(out->dtype)) {
    if (record(op, slots, &out, 1) < 0) {
      Py_DECREF(out);
      return nullptr;
    }
  } else if (seen.wants_grad || (seen.flags & kCut)) {
    note_cut(op, slots, out, seen.wants_grad);
  }
  return as_object(out);
}

// A call with lazy arguments: a view takes their bits over; any other op runs on values. The call is recorded with the arguments as given.
PyObject* call_lazy(Op* op, PyObject* const* slots, const Seen& seen, PyObject* known) {
  PlainSlots plain;
  if (!op->result.view) {
    PyObject* const* values = plain.of(op, slots);
    return values ? run_and_record(op, slots, values, seen, known) : nullptr;
  }
  if (op->result.put_off) {
    Ref allowed(PyObject_Vectorcall(op->result.put_off, slots, op->n_params, nullptr));
    if (!allowed) return nullptr;
  }
  return run_and_record(op, slots, slots, seen, known);
}

// `known`: nullptr, or the ndarrays that the forward would give (see report_start).
PyObject* call_unobserved(Op* op, PyObject* const* slots, PyObject* known = nullptr) {
  if (!op->variants.empty()) {
    if (!(op = choose_variant(op, slots))) return nullptr;
    if (op->in_place.is_form) {  // `inplace=True`
      note_path(Path::InPlace);
      PyObject* bound[kMaxParams];
      for (int i = 0; i < op->n_params; ++i) bound[i] = slots[i];
      return run_in_place(op, bound);
    }
  }
  if (op->result.real_itself && is_tensor(slots[0]) && !is_complex(as_tensor(slots[0])->dtype)) return Py_NewRef(slots[0]);
  Seen seen;
  if (look_at_all(op, slots, &seen) < 0) return nullptr;
  if (seen.symbolic) return call_with_slots(callbacks.trace_call, op, slots);
  if (seen.flags & kNotPlain) {
    if (seen.flags & kWrapped) {
      note_path(Path::Level);
      PyObject* r = call_wrapped(op, slots);
      if (r != Py_NotImplemented) return r;
      Py_DECREF(r);
    }
    if (seen.flags & kElsewhere && check_devices(op, slots) < 0) return nullptr;
    if (seen.flags & kLazy) return call_lazy(op, slots, seen, known);
  }
  return run_and_record(op, slots, slots, seen, known);
}

}  // namespace

PyObject* call_op(Op* op, PyObject* const* slots) {
  if (op->promotion.typed == Typed::Node && has_dtype(op, slots)) [[unlikely]]
    return call_converted(op, slots);
  const bool composite = op->kind == Op::Composite;
  if (!observed()) return composite ? call_composite(op, slots) : call_unobserved(op, slots);
  if (composite || !observed_closely()) {
    Record run;
    if (observing & kRecords) run.begin(op, slots);
    return composite ? call_composite(op, slots) : call_unobserved(op, slots);
  }
  ObservedCall call(op, slots);
  return call.begin() ? call.end(call_unobserved(op, slots, call.known())) : nullptr;
}

PyObject* call_op(Op* op, PyObject* a, PyObject* b) {
  PyObject* slots[kMaxParams];
  slots[0] = a;
  int given = 1;
  if (b) slots[given++] = b;
  for (int i = given; i < op->n_params; ++i) slots[i] = op->params[i].fallback;
  if (op->n_params < given || (op->n_params > given && !slots[given])) {
    PyErr_Format(PyExc_TypeError, "%s() cannot be an operator", op_name(op));
    return nullptr;
  }
  return op->in_place.is_form ? run_in_place(op, slots) : call_op(op, slots);
}

// ---------------------------------------------------------------- as programs call it

PyObject* bind_and_call(Op* op, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  PyObject* slots[kMaxParams];
  PyObject* out = nullptr;
  Bound owned;
  if (bind(op, args, n, kwnames, slots, &out, &owned) < 0) return nullptr;
  if (op->in_place.is_form) return run_in_place(op, slots);
  if (out && observed()) {
    ObservedWork work;
    return work.begin(op, slots, out) ? work.end(call_with_out(op, slots, out)) : nullptr;
  }
  if (out) return call_with_out(op, slots, out);
  return call_op(op, slots);
}

namespace {

PyObject* op_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  Op* op = reinterpret_cast<Op*>(self);
  const Py_ssize_t n = PyVectorcall_NARGS(nargsf);
  const bool lists = takes_lists(op);
  PyObject* result;
  if (may_override(args, n, kwnames, lists) && overridden(self, Asks::All, args, n, kwnames, lists, &result)) return result;
  result = bind_and_call(op, args, n, kwnames);
  return result ? result : explain(self, op->in_place.is_form, args, n, kwnames);
}

}  // namespace

const vectorcallfunc kOpVectorcall = guarded<op_vectorcall>;

PyObject* call_bound(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 2 || Py_TYPE(args[0]) != OpType || !PySequence_Check(args[1])) {
    PyErr_SetString(PyExc_TypeError, "call_op(op, slots)");
    return nullptr;
  }
  Op* op = reinterpret_cast<Op*>(args[0]);
  Ref list(PySequence_Fast(args[1], "slots must be a sequence"));
  if (!list) return nullptr;
  if (PySequence_Fast_GET_SIZE(list.get()) != op->n_params) {
    PyErr_SetString(PyExc_TypeError, "call_op() takes one argument for each parameter");
    return nullptr;
  }
  PyObject* slots[kMaxParams];
  for (int i = 0; i < op->n_params; ++i) slots[i] = PySequence_Fast_GET_ITEM(list.get(), i);
  return op->in_place.is_form ? run_in_place(op, slots) : call_op(op, slots);
}

// ---------------------------------------------------------------- recording

Node* make_op_node(Op* op, PyObject* const* slots, Tensor** outputs, Py_ssize_t n_outputs, PyTypeObject* type) {
  Py_ssize_t n_edges = 0;
  for (uint8_t p : op->backward.edges) n_edges += items_at(op, slots, p).n;
  if (!type) type = op->backward.node_type;
  for (const Op::Backward::NodeName& n : op->backward.node_types) {
    if (as_tensor(slots[0])->ndim() == n.ndim_a && as_tensor(slots[1])->ndim() == n.ndim_b) type = n.type;
  }
  Node* node = new_node(type, Node::OfOp, n_edges, static_cast<int>(op->backward.saves.size()), n_outputs);
  if (!node) return nullptr;
  Py_INCREF(op);
  node->op = op;
  if (op->backward.unfold) node->seq = next_number(kUnfoldedNodes);
  node->channels_last = op->result.keeps.rule == Keeps::FormatAndBack && wants_channels_last(op, slots, -1);
  Ref owner(as_object(node));
  uint32_t wanting = 0;
  int e = 0;
  for (uint8_t p : op->backward.edges) {
    for (PyObject* o : items_at(op, slots, p)) {
      if (is_tensor(o) && gradient_edge(as_tensor(o), &node->edges[e]) < 0) return nullptr;
      if (node->edges[e++].node) wanting |= 1u << p;
    }
  }
  for (size_t i = 0; i < op->backward.saves.size(); ++i) {
    const Op::Backward::Save& save = op->backward.saves[i];
    // Where no gradient leads on (a view made under no_grad), results are kept all the same: as torch, backward looks at them.
    if (!(save.wanted_by & wanting) && (wanting || save.source.kind != Source::Out)) continue;
    Saved* slot = &node->saved[i];
    PyObject* o = slots[save.source.index];
    switch (save.source.kind) {
      case Source::Arg:
        if (o == Py_None) break;
        if (save_input(slot, o) < 0) return nullptr;
        break;
      case Source::ArgShape:
      case Source::ArgDtype: {
        const bool shape = save.source.kind == Source::ArgShape;
        PyObject* value = nullptr;
        if (is_tensor(o)) {
          value = shape ? shape_of(as_tensor(o)) : Py_XNewRef(dtype_object(as_tensor(o)->dtype));
        } else if (PyList_Check(o) || PyTuple_Check(o)) {
          const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
          value = PyTuple_New(n);
          for (Py_ssize_t k = 0; value && k < n; ++k) {
            Tensor* t = as_tensor(PySequence_Fast_GET_ITEM(o, k));
            PyObject* item = shape ? shape_of(t) : Py_XNewRef(dtype_object(t->dtype));
            if (!item) Py_CLEAR(value);
            else PyTuple_SET_ITEM(value, k, item);
          }
        } else {
          value = Py_NewRef(Py_None);
        }
        if (!value) return nullptr;
        slot->value.init(value);
        slot->kind = Saved::Object;
        break;
      }
      case Source::Out:
        if (save.source.index >= node->n_outputs) {
          PyErr_Format(PyExc_SystemError, "rushlight: a rule of %U reads result %d of %d", op->name,
                       static_cast<int>(save.source.index), static_cast<int>(node->n_outputs));
          return nullptr;
        }
        if (outputs && as_object(outputs[save.source.index]) == Py_None) {
          if (save_input(slot, Py_None) < 0) return nullptr;
        } else if (outputs && save_output(node, slot, outputs[save.source.index], save.source.index) < 0) {
          return nullptr;
        }
        break;
      default: break;
    }
  }
  if (observed_closely() && report_made(node) < 0) return nullptr;
  return reinterpret_cast<Node*>(owner.release());
}

int record(Op* op, PyObject* const* slots, Tensor** outputs, Py_ssize_t n_outputs) {
  Node* node = make_op_node(op, slots, outputs, n_outputs);
  if (!node) return -1;
  Ref owner(as_object(node));
  for (int i = 0; i < n_outputs; ++i) {
    Tensor* t = outputs[i];
    if (as_object(t) == Py_None) continue;
    if (set_output_meta(node, i, t) < 0) return -1;
    if (!is_differentiable(t->dtype) || (i && op->backward.first_only)) continue;
    t->grad_fn.set(Owned<Node>::borrow(node).release());
    t->output_nr = static_cast<uint32_t>(i);
  }
  return 0;
}

}  // namespace rushlight
