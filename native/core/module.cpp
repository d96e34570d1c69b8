// The module rushlight._core: its types, and what the Python side registers with it at import.
#include "core/capture.h"
#include "core/blocks.h"
#include "core/alerts.h"
#include "core/accelerator.h"
#include "core/accelerator_repeats.h"
#include "core/layout.h"
#include "core/override.h"
#include "core/record.h"
#include "core/state.h"
#include "core/tensor.h"
#include "core/untyped_storage.h"
#include "kernels/between.h"

#include <cstring>
#include <string_view>
#include <utility>

namespace rushlight {

PyObject* set_operator(PyObject*, PyObject* args);
PyObject* shown(PyObject*, PyObject* args);
PyObject* find_members(PyObject*, PyObject* args);
PyObject* make_kernels_module();

namespace {

// register(size=type, device=type, dtypes=[...], symbol=type, parameter=type, callbacks={...}): what the core calls back into.
PyObject* register_objects(PyObject*, PyObject*, PyObject* kwargs) {
  PyObject *key, *value;
  Py_ssize_t at = 0;
  while (kwargs && PyDict_Next(kwargs, &at, &key, &value)) {
    const char* name = PyUnicode_AsUTF8(key);
    if (!name) return nullptr;
    if (!strcmp(name, "size")) {
      Py_INCREF(value);
      Py_XSETREF(registry.size_type, value);
    } else if (!strcmp(name, "device")) {
      Py_INCREF(value);
      Py_XSETREF(registry.device_type, value);
    } else if (!strcmp(name, "symbol")) {
      Py_INCREF(value);
      Py_XSETREF(registry.symbol_type, value);
    } else if (!strcmp(name, "parameter")) {
      if (register_parameter(value) < 0) return nullptr;
    } else if (!strcmp(name, "dtypes") && PyList_Check(value)) {
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value) && i < static_cast<Py_ssize_t>(DType::Count); ++i) {
        PyObject* dtype = PyList_GET_ITEM(value, i);
        Py_INCREF(dtype);
        Py_XSETREF(registry.dtypes[i], dtype);
      }
    } else if (!strcmp(name, "folder") && PyUnicode_Check(value)) {
      if (set_library_folder(value) < 0) return nullptr;
    } else if (!strcmp(name, "callbacks") && PyDict_Check(value)) {
      if (register_callbacks(value) < 0) return nullptr;
    } else {
      return PyErr_Format(PyExc_TypeError, "register() does not know '%s'", name);
    }
  }
  Py_RETURN_NONE;
}

PyObject* set_default_dtype(PyObject*, PyObject* code) {
  const long n = PyLong_AsLong(code);
  if (n == -1 && PyErr_Occurred()) return nullptr;
  registry.default_dtype = static_cast<DType>(n);
  Py_RETURN_NONE;
}

PyObject* is_grad_enabled(PyObject*, PyObject*) { return PyBool_FromLong(tls.grad_enabled); }
PyObject* set_grad_enabled(PyObject*, PyObject* on) {
  const int value = PyObject_IsTrue(on);
  if (value < 0) return nullptr;
  PyObject* before = PyBool_FromLong(tls.grad_enabled);
  tls.grad_enabled = value;
  return before;
}
PyObject* is_inference(PyObject*, PyObject*) { return PyBool_FromLong(tls.inference); }
PyObject* set_inference(PyObject*, PyObject* on) {
  const int value = PyObject_IsTrue(on);
  if (value < 0) return nullptr;
  PyObject* before = PyBool_FromLong(tls.inference);
  tls.inference = value;
  if (value) modes_used.store(true, std::memory_order_relaxed);
  return before;
}

PyObject* watch_writes(PyObject*, PyObject* on) {
  watching_writes = PyObject_IsTrue(on) == 1;
  Py_RETURN_NONE;
}

// set_version(tensor, n): forgets in-place writes (torch.autograd._unsafe_preserve_version_counter).
PyObject* set_version(PyObject*, PyObject* args) {
  PyObject* o;
  unsigned value;
  if (!PyArg_ParseTuple(args, "OI", &o, &value)) return nullptr;
  Tensor* t = tensor_argument(o);
  VersionCounter* v = t ? shared_version(t) : nullptr;
  if (!v) return nullptr;
  v->value = value;
  Py_RETURN_NONE;
}

// observe(bits, on): whether the callbacks of observe.h are told of these (enum Observed).
PyObject* observe(PyObject*, PyObject* args) {
  unsigned bits;
  int on;
  if (!PyArg_ParseTuple(args, "Ip", &bits, &on)) return nullptr;
  if (on) observing |= bits;
  else observing &= ~bits;
  Py_RETURN_NONE;
}

// check_in_place(tensor, recording): raises where an in-place write is not allowed.
PyObject* check_in_place_function(PyObject*, PyObject* args) {
  PyObject* o;
  int recording;
  if (!PyArg_ParseTuple(args, "Op", &o, &recording)) return nullptr;
  Tensor* t = tensor_argument(o);
  if (!t || check_in_place(t, recording) < 0) return nullptr;
  Py_RETURN_NONE;
}

// check_place(tensor, recording): of these checks, those that do not look at the memory.
PyObject* check_place_function(PyObject*, PyObject* args) {
  PyObject* o;
  int recording;
  if (!PyArg_ParseTuple(args, "Op", &o, &recording)) return nullptr;
  Tensor* t = tensor_argument(o);
  if (!t || check_place(t, recording) < 0) return nullptr;
  Py_RETURN_NONE;
}

// check_dirty(tensor): raises where a custom Function may not have written it.
PyObject* check_dirty_function(PyObject*, PyObject* o) {
  Tensor* t = tensor_argument(o);
  if (!t || check_dirty(t) < 0) return nullptr;
  Py_RETURN_NONE;
}

// rebase(tensor, node, nr, edge): makes `node` the maker of a tensor that was written in place, roots of views included.
PyObject* rebase(PyObject*, PyObject* args) {
  PyObject *o, *node;
  unsigned nr;
  int edge;
  if (!PyArg_ParseTuple(args, "OOIi", &o, &node, &nr, &edge)) return nullptr;
  if (!is_tensor(o) || !is_node(node)) {
    PyErr_SetString(PyExc_TypeError, "rebase(tensor, node, nr, edge)");
    return nullptr;
  }
  if (rebase_history(as_tensor(o), reinterpret_cast<Node*>(node), nr, edge) < 0) return nullptr;
  Py_RETURN_NONE;
}

// cut_of(tensor): (reason, text of the line) where its history was cut; None where it never had one.
PyObject* cut_of_function(PyObject*, PyObject* o) {
  if (!is_tensor(o) || !(as_tensor(o)->flags & kCut)) Py_RETURN_NONE;
  const std::string text = site_text(as_tensor(o)->cut);
  return Py_BuildValue("(Is)", static_cast<unsigned>(cut_of(as_tensor(o))), text.c_str());
}

// set_history(tensor, node, nr): makes `node` the maker of a tensor whose memory is as it was; a view's root keeps its history.
PyObject* set_history_function(PyObject*, PyObject* args) {
  PyObject *o, *node;
  unsigned nr;
  if (!PyArg_ParseTuple(args, "OOI", &o, &node, &nr)) return nullptr;
  if (!is_tensor(o) || !is_node(node)) {
    PyErr_SetString(PyExc_TypeError, "set_history(tensor, node, nr)");
    return nullptr;
  }
  as_tensor(o)->history_version = version_of(as_tensor(o));
  if (set_history(as_tensor(o), reinterpret_cast<Node*>(Py_NewRef(node)), nr) < 0) return nullptr;
  Py_RETURN_NONE;
}

// gradient_edge(tensor): (node, output number), the AccumulateGrad of a leaf made when needed; None where there is none.
PyObject* gradient_edge_function(PyObject*, PyObject* o) {
  Tensor* t = tensor_argument(o);
  Edge e{nullptr, 0};
  if (!t || gradient_edge(t, &e) < 0) return nullptr;
  if (!e.node) Py_RETURN_NONE;
  Ref node(as_object(e.node));
  return Py_BuildValue("(OI)", node.get(), e.nr);
}

// result_type(operands): torch's promotion of tensors and numbers.
PyObject* result_type(PyObject*, PyObject* operands) {
  const Ref given(PySequence_Fast(operands, "result_type(sequence)"));
  if (!given) return nullptr;
  const ItemsOf items(given.get());
  for (Py_ssize_t i = 0; i < items.size(); ++i) {
    PyObject* o = items[i];
    if (!is_tensor(o) && !is_python_scalar(o)) {
      return PyErr_Format(PyExc_TypeError, "expected Tensors or numbers, got %s", Py_TYPE(o)->tp_name);
    }
  }
  const DType t = result_type_of(items.all(), static_cast<int>(items.size()));
  return Py_XNewRef(dtype_object(t));
}

PyObject* promote_function(PyObject*, PyObject* args) {
  int a, b;
  if (!PyArg_ParseTuple(args, "ii", &a, &b)) return nullptr;
  const int n = static_cast<int>(DType::Count);
  if (a < 0 || b < 0 || a >= n || b >= n) {
    PyErr_SetString(PyExc_ValueError, "no such element type");
    return nullptr;
  }
  return Py_XNewRef(dtype_object(promote(static_cast<DType>(a), static_cast<DType>(b))));
}

PyObject* can_cast_function(PyObject*, PyObject* args) {
  int a, b;
  if (!PyArg_ParseTuple(args, "ii", &a, &b)) return nullptr;
  return PyBool_FromLong(can_cast(static_cast<DType>(a), static_cast<DType>(b)));
}

PyObject* between_address(PyObject*, PyObject* args) {
  const char *type, *op;
  if (!PyArg_ParseTuple(args, "ss", &type, &op)) return nullptr;
  constexpr std::pair<std::string_view, DType> kTypes[] = {
      {"float16", DType::F16}, {"bfloat16", DType::BF16}, {"float32", DType::F32}, {"float64", DType::F64}};
  constexpr std::pair<std::string_view, Between> kOps[] = {
      {"SUM", Between::Sum}, {"PRODUCT", Between::Product}, {"MIN", Between::Min}, {"MAX", Between::Max}, {"MEAN", Between::Mean}};
  for (const auto& [type_name, type_code] : kTypes) {
    for (const auto& [op_name, op_code] : kOps) {
      if (type_name != type || op_name != op) continue;
      const BetweenFunction found = between_function(type_code, op_code);
      if (found) return PyLong_FromVoidPtr(reinterpret_cast<void*>(found));
    }
  }
  return PyErr_Format(PyExc_ValueError, "no reduction %s of %s", op, type);
}

PyObject* isa(PyObject*, PyObject*) { return PyUnicode_FromString(kernels().isa); }

PyObject* set_threads(PyObject*, PyObject* n) {
  const long count = PyLong_AsLong(n);
  if (count == -1 && PyErr_Occurred()) return nullptr;
  if (count < 1) {
    PyErr_SetString(PyExc_RuntimeError, "set_num_threads expects a positive integer");
    return nullptr;
  }
  set_num_threads(static_cast<int>(count));
  Py_RETURN_NONE;
}
PyObject* set_alerts(PyObject*, PyObject* on) {
  const int truth = PyObject_IsTrue(on);
  if (truth < 0) return nullptr;
  alerts_nondeterministic.store(truth != 0, std::memory_order_relaxed);
  Py_RETURN_NONE;
}
PyObject* get_threads(PyObject*, PyObject*) { return PyLong_FromLong(get_num_threads()); }

// refuse_shape(shape of out, shape, advice=""), refuse_cast(type, type of out, advice=""): these raise.
PyObject* refuse_shape_function(PyObject*, PyObject* args) {
  PyObject *out, *shape;
  const char* advice = "";
  if (!PyArg_ParseTuple(args, "OO|s", &out, &shape, &advice)) return nullptr;
  const Ref lists[] = {Ref(PySequence_List(out)), Ref(PySequence_List(shape))};
  if (!lists[0] || !lists[1]) return nullptr;
  const Ref texts[] = {Ref(PyObject_Str(lists[0].get())), Ref(PyObject_Str(lists[1].get()))};
  if (texts[0] && texts[1]) raise_shape(PyUnicode_AsUTF8(texts[0].get()), PyUnicode_AsUTF8(texts[1].get()), advice);
  return nullptr;
}
PyObject* refuse_cast_function(PyObject*, PyObject* args) {
  const char *type, *out, *advice = "";
  if (PyArg_ParseTuple(args, "ss|s", &type, &out, &advice)) raise_cast(type, out, advice);
  return nullptr;
}

PyMethodDef kMethods[] = {
    {"register", method_of<register_objects>(), METH_VARARGS | METH_KEYWORDS, "What the core calls back into."},
    {"check_registered", method_of<check_registered>(), METH_O,
     "Raises where a callback is neither registered nor among these, and names it."},
    {"set_operator", method_of<set_operator>(), METH_VARARGS, "What an operator of Tensor calls."},
    {"find_members", method_of<find_members>(), METH_VARARGS, "Lets a class of modules find its members in C."},
    {"set_default_dtype", method_of<set_default_dtype>(), METH_O, "The type of Python floats."},
    {"is_grad_enabled", method_of<is_grad_enabled>(), METH_NOARGS, "Whether this thread records."},
    {"set_grad_enabled", method_of<set_grad_enabled>(), METH_O, "Sets it; returns what it was."},
    {"is_inference", method_of<is_inference>(), METH_NOARGS, "Whether this thread is in inference mode."},
    {"set_inference", method_of<set_inference>(), METH_O, "Sets it; returns what it was."},
    {"watch_writes", method_of<watch_writes>(), METH_O, "Whether the callback before_write is told of in-place writes."},
    {"set_version", method_of<set_version>(), METH_VARARGS, "Sets how often a storage was written in place."},
    {"observe", method_of<observe>(), METH_VARARGS, "Turns reports on or off: to anomaly mode, the profiler, ..."},
    {"set_history", method_of<set_history_function>(), METH_VARARGS, "Makes a node the maker of a tensor."},
    {"check_place", method_of<check_place_function>(), METH_VARARGS,
     "Raises where a tensor may not be written, whatever its memory."},
    {"check_dirty", method_of<check_dirty_function>(), METH_O, "Raises where a custom Function may not have written a tensor."},
    {"check_in_place", method_of<check_in_place_function>(), METH_VARARGS, "Raises where an in-place write is not allowed."},
    {"shown", method_of<shown>(), METH_VARARGS,
     "What a view shows of its root, of another tensor that lies in memory as that does."},
    {"rebase", method_of<rebase>(), METH_VARARGS, "Makes a node the maker of a tensor written in place."},
    {"cut_of", method_of<cut_of_function>(), METH_O, "Why and where a tensor lost its history, or None."},
    {"gradient_edge", method_of<gradient_edge_function>(), METH_O, "(node, output number) of a tensor, or None."},
    {"result_type", method_of<result_type>(), METH_O, "The common type of tensors and numbers."},
    {"promote", method_of<promote_function>(), METH_VARARGS, "The common type of two element type codes."},
    {"can_cast", method_of<can_cast_function>(), METH_VARARGS,
     "Whether a type code converts to another without losing its category."},
    {"refuse_shape", method_of<refuse_shape_function>(), METH_VARARGS,
     "Raises: a result has not the shape of what it is written to."},
    {"refuse_cast", method_of<refuse_cast_function>(), METH_VARARGS,
     "Raises: a result's type does not go into the written tensor's."},
    {"between_address", method_of<between_address>(), METH_VARARGS,
     "The address of a reduction between processes, as MPI calls it, of a 16-bit float."},
    {"isa", method_of<isa>(), METH_NOARGS, "The instruction set the kernels run with."},
    {"set_num_threads", method_of<set_threads>(), METH_O, "How many threads long kernels may use."},
    {"set_alerts", method_of<set_alerts>(), METH_O, "Whether operators that PyTorch calls not deterministic say so."},
    {"get_num_threads", method_of<get_threads>(), METH_NOARGS, "How many threads long kernels may use."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT, "rushlight._core", "The native core of rushlight.", -1, kMethods, nullptr, nullptr, nullptr, nullptr};

PyObject* make_module() {
  if (make_turn() < 0) return nullptr;
  Ref module(PyModule_Create(&kModule));
  if (!module) return nullptr;
  PyObject* m = module.get();
#ifdef Py_GIL_DISABLED
  if (PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED) < 0) return nullptr;
#endif
  if (init_numpy(m) < 0) return nullptr;
  if (PyModule_AddFunctions(m, kOpFunctions) < 0 || PyModule_AddFunctions(m, kEngineMethods) < 0) return nullptr;
  for (PyMethodDef* methods :
       {kSubscriptMethods, kSavedMethods, kFactFunctions, kRecordFunctions, kTensorFunctions, kWrappedFunctions,
        kAcceleratorFunctions, kAcceleratorLaunchFunctions, kAcceleratorListFunctions, kAcceleratorProgramFunctions,
        kAcceleratorReportFunctions, kAcceleratorLibraryFunctions, kAcceleratorEventFunctions, repeats::kFunctions,
        kStorageFunctions, kDlpackFunctions, kBlockFunctions}) {
    if (PyModule_AddFunctions(m, methods) < 0) return nullptr;
  }
  if (init_lengths(m) < 0 || init_tensor(m) < 0 || init_untyped_storage(m) < 0 || init_override(m) < 0 || init_node(m) < 0 ||
      init_op(m) < 0 || init_enums(m) < 0 || init_capture(m) < 0 || init_blocks() < 0 || init_records() < 0 || init_state(m) < 0) {
    return nullptr;
  }
  Ref dense(make_kernels_module());
  if (dense) set_kernels_module(dense.get());
  if (!dense || PyModule_AddObjectRef(m, "kernels", dense.get()) < 0) return nullptr;
  return module.release();
}

}  // namespace
}  // namespace rushlight

PyMODINIT_FUNC PyInit__core() { return rushlight::make_module(); }
