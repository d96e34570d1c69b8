// The Op type, and how an op is made. Ops are stated in Python (src/rushlight/ops/table/statement.py), one statement each; `make_op`
// only copies such a statement into the struct.
#include "core/layout.h"
#include "core/op.h"
#include "core/remembered.h"

#include <structmember.h>

#include <cstring>
#include <memory>
#include <new>

namespace rushlight {

PyTypeObject* OpType = nullptr;

namespace {

void op_dealloc(PyObject* self) {
  Op* op = reinterpret_cast<Op*>(self);
  PyObject_GC_UnTrack(self);
  PyTypeObject* type = Py_TYPE(self);
  for (Param& p : op->params) {
    Py_XDECREF(p.name);
    Py_XDECREF(p.fallback);
  }
  for (Rule& r : op->backward.rules) {
    Py_XDECREF(r.function);
    delete r.program;
  }
  for (Variant& v : op->variants) {
    Py_XDECREF(v.op);
    Py_XDECREF(v.value);
  }
  for (Refusal& r : op->promotion.argument_refusals) Py_XDECREF(r.why);
  delete op->loop.program;
  delete op->loop.halves;
  PyObject* owned[] = {op->name,
                       op->forward,
                       op->reference,
                       op->by_ops,
                       op->dict,
                       op->promotion.refusals,
                       op->promotion.one_type_text,
                       op->promotion.zero_dim_text,
                       op->promotion.type_check,
                       op->result.put_off,
                       op->result.type,
                       as_object(op->in_place.base),
                       op->in_place.write,
                       op->in_place.expanded,
                       op->backward.fused,
                       as_object(op->backward.node_type),
                       op->backward.unfold};
  for (PyObject* o : owned) Py_XDECREF(o);
  for (PyObject* o : op->there.functions) Py_XDECREF(o);
  forget_takes(&op->takes);
  op->params.~vector();
  op->tensor_params.~vector();
  op->takes.~Takes();
  op->variants.~vector();
  op->promotion.~Promotion();
  op->backward.~Backward();
  type->tp_free(self);
  Py_DECREF(type);
}

int op_traverse(PyObject* self, visitproc visit, void* arg) {
  Op* op = reinterpret_cast<Op*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(op->forward);
  Py_VISIT(op->reference);
  Py_VISIT(op->by_ops);
  Py_VISIT(op->dict);
  for (PyObject* f : op->there.functions) Py_VISIT(f);
  Py_VISIT(op->result.put_off);
  Py_VISIT(op->in_place.base);
  Py_VISIT(op->in_place.write);
  Py_VISIT(op->backward.fused);
  Py_VISIT(op->backward.unfold);
  for (Rule& r : op->backward.rules) Py_VISIT(r.function);
  for (Variant& v : op->variants) Py_VISIT(v.op);
  return 0;
}

PyObject* op_repr(PyObject* self) {
  return PyUnicode_FromFormat("<built-in method %U of type object>", reinterpret_cast<Op*>(self)->name);
}

PyObject* op_descr_get(PyObject* self, PyObject* instance, PyObject*) {
  if (!instance || !is_tensor(instance)) return Py_NewRef(self);  // see public_descr_get
  return PyMethod_New(self, instance);
}

PyObject* op_get_name(PyObject* self, void*) { return Py_NewRef(reinterpret_cast<Op*>(self)->name); }
PyObject* op_get_kind(PyObject* self, void*) { return PyLong_FromLong(reinterpret_cast<Op*>(self)->kind); }
PyObject* op_get_forward(PyObject* self, void*) {
  PyObject* f = reinterpret_cast<Op*>(self)->forward;
  return Py_NewRef(f ? f : Py_None);
}
PyObject* op_get_base(PyObject* self, void*) {
  Op* base = reinterpret_cast<Op*>(self)->in_place.base;
  return Py_NewRef(base ? as_object(base) : Py_None);
}
PyObject* op_get_params(PyObject* self, void*) {
  Op* op = reinterpret_cast<Op*>(self);
  Ref tuple(PyTuple_New(op->n_params));
  if (!tuple) return nullptr;
  for (int i = 0; i < op->n_params; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(op->params[i].name));
  return tuple.release();
}
PyObject* op_get_differentiable(PyObject* self, void*) {
  return PyBool_FromLong(reinterpret_cast<Op*>(self)->backward.differentiable);
}

PyObject* op_get_has_var_args(PyObject* self, void*) { return PyBool_FromLong(reinterpret_cast<Op*>(self)->has_var_args); }

PyObject* op_get_view(PyObject* self, void*) {
  const Op* op = reinterpret_cast<Op*>(self);
  return PyBool_FromLong(op->result.view || op->result.multi_view);
}

PyGetSetDef kOpGetSet[] = {
    {"__name__", guarded<op_get_name>, nullptr, "The op's name.", nullptr},
    {"__qualname__", guarded<op_get_name>, nullptr, "The op's name.", nullptr},
    {"kind", guarded<op_get_kind>, nullptr, "The kind of its derivative.", nullptr},
    {"forward", guarded<op_get_forward>, nullptr, "What computes the values, on ndarrays.", nullptr},
    {"base", guarded<op_get_base>, nullptr, "Of an in-place form: the op it is the form of.", nullptr},
    {"params", guarded<op_get_params>, nullptr, "The parameters' names.", nullptr},
    {"differentiable", guarded<op_get_differentiable>, nullptr, "Whether calls are recorded.", nullptr},
    {"has_var_args", guarded<op_get_has_var_args>, nullptr, "Whether its last parameter takes any number of arguments.", nullptr},
    {"view", guarded<op_get_view>, nullptr, "Whether its results show the memory of its first argument.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef kOpMembers[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(Op, dict), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Op, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

int read_sources(PyObject* list, std::vector<Source>* sources) {
  const Py_ssize_t n = PyList_Check(list) || PyTuple_Check(list) ? PySequence_Fast_GET_SIZE(list) : -1;
  if (n < 0) {
    PyErr_SetString(PyExc_TypeError, "sources must be a list");
    return -1;
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    int kind, index;
    if (!PyArg_ParseTuple(PySequence_Fast_GET_ITEM(list, i), "ii", &kind, &index)) return -1;
    sources->push_back(Source{static_cast<Source::Kind>(kind), static_cast<uint8_t>(index), -1});
  }
  return 0;
}

// Finds (or adds) the place in Node::saved that a source is kept in.
void place(Op* op, Source* s, uint32_t wanted_by) {
  if (s->kind == Source::Grad || s->kind == Source::Grads || s->kind == Source::Needs) return;
  for (size_t i = 0; i < op->backward.saves.size(); ++i) {
    Source& have = op->backward.saves[i].source;
    if (have.kind == s->kind && have.index == s->index) {
      op->backward.saves[i].wanted_by |= wanted_by;
      s->slot = static_cast<int8_t>(i);
      return;
    }
  }
  s->slot = static_cast<int8_t>(op->backward.saves.size());
  op->backward.saves.push_back({*s, wanted_by});
}

bool is_kept(Op* op, const Source& s) {
  for (const Op::Backward::Save& save : op->backward.saves) {
    if (save.source.kind == s.kind && save.source.index == s.index) return true;
  }
  return false;
}

Program* read_program(PyObject* spec) {
  int n_inputs, result;
  PyObject *constants, *code;
  if (!PyArg_ParseTuple(spec, "iO!O!i", &n_inputs, &PyList_Type, &constants, &PyList_Type, &code, &result)) return nullptr;
  auto program = std::make_unique<Program>();
  int overflow;
  program->n_inputs = n_inputs;
  program->result = result;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(constants); ++i) {
    PyObject* c = PyList_GET_ITEM(constants, i);
    const double value = PyFloat_AsDouble(c);
    if (value == -1 && PyErr_Occurred()) return nullptr;
    program->constants.push_back(value);
    program->int_constants.push_back(PyLong_Check(c) ? PyLong_AsLongLongAndOverflow(c, &overflow) : static_cast<int64_t>(0));
  }
  int top = n_inputs + static_cast<int>(program->constants.size());
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(code); ++i) {
    const char* name;
    int dst, a, b, c;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(code, i), "siiii", &name, &dst, &a, &b, &c)) return nullptr;
    const int op = opcode(name);
    if (op < 0 || dst < 0 || dst > 31 || a < 0 || a > 31 || b < 0 || b > 31 || c < 0 || c > 31) {
      PyErr_Format(PyExc_ValueError, "no pointwise kernel '%s', or more than 32 registers", name);
      return nullptr;
    }
    program->code.push_back(Instr{static_cast<uint16_t>(op), static_cast<uint8_t>(dst), static_cast<uint8_t>(a),
                                  static_cast<uint8_t>(b), static_cast<uint8_t>(c)});
    if (dst + 1 > top) top = dst + 1;
  }
  if (top > 32) {
    PyErr_SetString(PyExc_ValueError, "a pointwise program has at most 32 registers");
    return nullptr;
  }
  program->n_registers = top;
  return program.release();
}

// The keys of a dict of refusals, one bit each.
uint32_t types_of(PyObject* refusals) {
  PyObject *key, *value;
  uint32_t types = 0;
  for (Py_ssize_t at = 0; PyDict_Next(refusals, &at, &key, &value);) types |= 1u << PyLong_AsLong(key);
  return types;
}

// ---- the words of a statement
//
// Each fills a part of the op and reads a value that is not None; -1 with an exception.

template <auto Group, auto Field>
int flag(Op* op, PyObject* value) {
  const int is = PyObject_IsTrue(value);
  op->*Group.*Field = is > 0;
  return is < 0 ? -1 : 0;
}

template <auto Group, auto Field>
int object(Op* op, PyObject* value) {
  op->*Group.*Field = Py_NewRef(value);
  return 0;
}

template <auto Group, auto Field>
int number(Op* op, PyObject* value) {
  const long n = PyLong_AsLong(value);
  op->*Group.*Field = static_cast<std::remove_reference_t<decltype(op->*Group.*Field)>>(n);
  return n == -1 && PyErr_Occurred() ? -1 : 0;
}

int read_reference(Op* op, PyObject* value) {
  op->reference = Py_NewRef(value);
  return 0;
}

int read_by_ops(Op* op, PyObject* value) {
  op->by_ops = Py_NewRef(value);
  op->native = op->forward && is_kernel(op->forward);
  return 0;
}

int read_refusals(Op* op, PyObject* value) {
  op->promotion.refusals = Py_NewRef(value);
  op->promotion.refused = types_of(value);
  return 0;
}

int read_argument_refusals(Op* op, PyObject* value) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); ++i) {
    int param;
    PyObject* why;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(value, i), "iO!", &param, &PyDict_Type, &why)) return -1;
    op->promotion.argument_refusals.push_back(
        Refusal{param < 0 ? kAnyParam : static_cast<uint8_t>(param), types_of(why), Py_NewRef(why)});
  }
  return 0;
}

int read_one_type(Op* op, PyObject* value) {
  if (PyUnicode_Check(value)) op->promotion.one_type_text = Py_NewRef(value);
  return flag<&Op::promotion, &Op::Promotion::one_type>(op, value);
}

int read_zero_dim(Op* op, PyObject* value) {
  int param;
  PyObject* text;
  if (!PyArg_ParseTuple(value, "iU", &param, &text)) return -1;
  op->promotion.zero_dim_param = static_cast<int8_t>(param);
  op->promotion.zero_dim_text = Py_NewRef(text);
  return 0;
}

int read_keeps(Op* op, PyObject* value) {
  int rule, params;
  if (!PyArg_ParseTuple(value, "ii", &rule, &params)) return -1;
  op->result.keeps = {static_cast<Keeps::Rule>(rule), static_cast<uint16_t>(params)};
  return 0;
}

int read_rules(Op* op, PyObject* rules) {
  for (Py_ssize_t r = 0; r < PyList_GET_SIZE(rules); ++r) {
    PyObject *function, *sources, *indices;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(rules, r), "OOO!", &function, &sources, &PyList_Type, &indices)) return -1;
    op->backward.rules.emplace_back();
    Rule& rule = op->backward.rules.back();
    rule.function = Py_NewRef(function);
    if (read_sources(sources, &rule.sources) < 0) return -1;
    uint32_t wanted_by = 0;
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(indices); ++k) {
      const long p = PyLong_AsLong(PyList_GET_ITEM(indices, k));
      if (p < 0 || p >= op->n_params) {
        PyErr_SetString(PyExc_ValueError, "a rule names a parameter that does not exist");
        return -1;
      }
      rule.params.push_back(static_cast<uint8_t>(p));
      op->backward.rule_of[p] = static_cast<int8_t>(r);
      wanted_by |= 1u << p;
    }
    for (Source& s : rule.sources) place(op, &s, wanted_by);
  }
  for (int p = 0; p < op->n_params; ++p) {
    if (op->backward.rule_of[p] >= 0) op->backward.edges.push_back(static_cast<uint8_t>(p));
  }
  op->backward.differentiable = !op->backward.rules.empty();
  return 0;
}

int read_edges(Op* op, PyObject* order) {
  op->backward.edges.clear();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(order); ++i) {
    op->backward.edges.push_back(static_cast<uint8_t>(PyLong_AsLong(PyList_GET_ITEM(order, i))));
  }
  return 0;
}

int read_backward(Op* op, PyObject* fused) {
  PyObject *function, *sources;
  if (!PyArg_ParseTuple(fused, "OO", &function, &sources)) return -1;
  if (read_sources(sources, &op->backward.fused_sources) < 0) return -1;
  uint32_t all = 0;
  for (uint8_t p : op->backward.edges) all |= 1u << p;
  // A value that a rule saves as well is saved under that rule's condition alone; where it does not hold, the kernel gets None.
  for (Source& s : op->backward.fused_sources) place(op, &s, is_kept(op, s) ? 0 : all);
  op->backward.fused = Py_NewRef(function);
  return 0;
}

int read_node(Op* op, PyObject* node) {
  op->backward.node_type = node_type(PyUnicode_AsUTF8(node));
  Py_XINCREF(op->backward.node_type);
  return op->backward.node_type ? 0 : -1;
}

int read_nodes(Op* op, PyObject* nodes) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(nodes); ++i) {
    int a, b;
    const char* name;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(nodes, i), "iis", &a, &b, &name)) return -1;
    PyTypeObject* type = node_type(name);
    if (!type) return -1;
    op->backward.node_types.push_back({static_cast<int8_t>(a), static_cast<int8_t>(b), type});
  }
  return 0;
}

int read_kernel(Op* op, PyObject* kernel) {
  Op::Loop& loop = op->loop;
  loop.opcode = opcode(PyUnicode_AsUTF8(kernel));
  if (loop.opcode < 0) return 0;
  const int arity = instructions()[loop.opcode].arity;
  if (arity != loop.arity) {
    PyErr_Format(PyExc_ValueError, "%s: kernel '%U' reads %d arguments, the op passes %d", op_name(op), kernel, arity, loop.arity);
    return -1;
  }
  loop.program = new Program();
  loop.program->n_inputs = arity;
  loop.program->n_registers = arity + 1;
  loop.program->result = arity;
  loop.program->code.push_back(Instr{static_cast<uint16_t>(loop.opcode), static_cast<uint8_t>(arity), 0,
                                     static_cast<uint8_t>(arity > 1 ? 1 : 0), static_cast<uint8_t>(arity > 2 ? 2 : 0)});
  loop.block_f32 = kernels().block(loop.opcode, DType::F32);
  loop.block_f64 = kernels().block(loop.opcode, DType::F64);
  loop.block_c64 = kernels().block(loop.opcode, DType::C64);
  loop.block_c128 = kernels().block(loop.opcode, DType::C128);
  return 0;
}

struct Word {
  const char* name;
  int (*read)(Op*, PyObject*);
  PyObject* key;  // the name, interned
};

// In the order of reading: words after the words they need. See core.h, ops/table/words.py.
Word words[] = {
    {"reference", read_reference, nullptr},
    {"is_", read_by_ops, nullptr},
    {"by_ops", read_by_ops, nullptr},
    {"arity", number<&Op::loop, &Op::Loop::arity>, nullptr},
    {"kernel", read_kernel, nullptr},
    {"by_steps", flag<&Op::loop, &Op::Loop::by_steps>, nullptr},
    {"result", number<&Op::promotion, &Op::Promotion::result>, nullptr},
    {"refusals", read_refusals, nullptr},
    {"argument_refusals", read_argument_refusals, nullptr},
    {"reference_for", number<&Op::promotion, &Op::Promotion::reference_for>, nullptr},
    {"never", number<&Op::promotion, &Op::Promotion::never>, nullptr},
    {"always", number<&Op::promotion, &Op::Promotion::always>, nullptr},
    {"one_type", read_one_type, nullptr},
    {"numbers_fit", flag<&Op::promotion, &Op::Promotion::numbers_fit>, nullptr},
    {"halves_round", flag<&Op::promotion, &Op::Promotion::halves_round>, nullptr},
    {"numbers_round", flag<&Op::promotion, &Op::Promotion::numbers_round>, nullptr},
    {"integer_power", flag<&Op::promotion, &Op::Promotion::integer_power>, nullptr},
    {"divides", flag<&Op::promotion, &Op::Promotion::divides>, nullptr},
    {"own_type", flag<&Op::promotion, &Op::Promotion::own_type>, nullptr},
    {"zero_dim", read_zero_dim, nullptr},
    {"typed", number<&Op::promotion, &Op::Promotion::typed>, nullptr},
    {"type_check", object<&Op::promotion, &Op::Promotion::type_check>, nullptr},
    {"stored", number<&Op::promotion, &Op::Promotion::stored>, nullptr},
    {"kernel_name", object<&Op::promotion, &Op::Promotion::kernel_name>, nullptr},
    {"subscript", number<&Op::places, &Op::Places::subscript>, nullptr},
    {"indices", number<&Op::places, &Op::Places::indices>, nullptr},
    {"by_value", number<&Op::places, &Op::Places::by_value>, nullptr},
    {"view", flag<&Op::result, &Op::Result::view>, nullptr},
    {"multi_view", flag<&Op::result, &Op::Result::multi_view>, nullptr},
    {"keeps", read_keeps, nullptr},
    {"may_alias", flag<&Op::result, &Op::Result::may_alias>, nullptr},
    {"real_itself", flag<&Op::result, &Op::Result::real_itself>, nullptr},
    {"toggles", number<&Op::result, &Op::Result::toggles>, nullptr},
    {"put_off", object<&Op::result, &Op::Result::put_off>, nullptr},
    {"outputs", object<&Op::result, &Op::Result::type>, nullptr},
    {"takes_out", flag<&Op::result, &Op::Result::takes_out>, nullptr},
    {"typed_out", number<&Op::result, &Op::Result::typed_out>, nullptr},
    {"float_out", flag<&Op::result, &Op::Result::float_out>, nullptr},
    {"write", object<&Op::in_place, &Op::InPlace::write>, nullptr},
    {"expanded", object<&Op::in_place, &Op::InPlace::expanded>, nullptr},
    {"overlap", number<&Op::in_place, &Op::InPlace::overlap>, nullptr},
    {"rules", read_rules, nullptr},
    {"edges", read_edges, nullptr},
    {"backward", read_backward, nullptr},
    {"node", read_node, nullptr},
    {"nodes", read_nodes, nullptr},
    {"unfold", object<&Op::backward, &Op::Backward::unfold>, nullptr},
    {"leaves_inference", flag<&Op::backward, &Op::Backward::leaves_inference>, nullptr},
    {"first_only", flag<&Op::backward, &Op::Backward::first_only>, nullptr},
};

int read_words(Op* op, PyObject* given) {
  Py_ssize_t known = 0;
  for (const Word& word : words) {
    PyObject* value = PyDict_GetItemWithError(given, word.key);
    if (!value && PyErr_Occurred()) return -1;
    known += value != nullptr;
    if (value && value != Py_None && word.read(op, value) < 0) return -1;
  }
  if (known == PyDict_GET_SIZE(given)) return 0;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(given, &at, &key, &value);) {
    bool is_word = false;
    for (const Word& word : words) is_word |= PyUnicode_Check(key) && PyUnicode_Compare(key, word.key) == 0;
    if (!is_word) PyErr_Format(PyExc_TypeError, "op '%s': '%S' is no word of a statement", op_name(op), key);
  }
  return -1;
}

int read_params(Op* op, PyObject* params) {
  op->n_params = static_cast<int>(PyList_GET_SIZE(params));
  if (op->n_params > kMaxParams) {
    PyErr_Format(PyExc_ValueError, "%s: more than %d parameters", op_name(op), kMaxParams);
    return -1;
  }
  for (int i = 0; i < op->n_params; ++i) {
    PyObject *name, *fallback = nullptr;
    int kind;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(params, i), "Ui|O", &name, &kind, &fallback) || !(name = interned(name))) return -1;
    Py_XINCREF(fallback);
    op->params.push_back(Param{name, fallback, static_cast<Param::Kind>(kind)});
    if (!PyUnicode_CompareWithASCIIString(name, "dtype")) op->promotion.dtype_param = static_cast<int8_t>(i);
    if (kind <= Param::TensorList) op->tensor_params.push_back(static_cast<uint8_t>(i));
    if (kind == Param::TensorList) op->list_param = i;
    if (kind == Param::VarArgs) op->has_var_args = true;
  }
  op->backward.rule_of.assign(op->n_params, -1);
  return 0;
}

Op* allocate_op(PyObject* name, Op::Kind kind) {
  Op* op = PyObject_GC_New(Op, OpType);
  if (!op) return nullptr;
  memset(reinterpret_cast<char*>(op) + sizeof(PyObject), 0, sizeof(Op) - sizeof(PyObject));
  new (&op->params) std::vector<Param>();
  new (&op->tensor_params) std::vector<uint8_t>();
  new (&op->takes) Takes();
  new (&op->variants) std::vector<Variant>();
  new (&op->promotion) Op::Promotion();
  new (&op->backward) Op::Backward();
  op->vectorcall = kOpVectorcall;
  op->name = Py_NewRef(name);
  op->there.name = op_name(op);
  op->kind = kind;
  op->list_param = -1;
  op->promotion.zero_dim_param = -1;
  op->promotion.dtype_param = -1;
  op->result.typed_out = -1;
  op->loop.opcode = -1;
  PyObject_GC_Track(op);
  return op;
}

// make_op(name, kind, params, positional, forward, words): an Op as a statement has it.
PyObject* make_op(PyObject*, PyObject* args) {
  PyObject *name, *params, *forward, *given;
  int kind, positional;
  if (!PyArg_ParseTuple(args, "UiO!iOO!", &name, &kind, &PyList_Type, &params, &positional, &forward, &PyDict_Type, &given)) {
    return nullptr;
  }
  const Ref known(interned(name));
  Op* op = known ? allocate_op(known.get(), static_cast<Op::Kind>(kind)) : nullptr;
  Ref owner(as_object(op));
  if (!op || read_params(op, params) < 0) return nullptr;
  op->n_positional = positional;
  op->forward = forward == Py_None ? nullptr : Py_NewRef(forward);
  return read_words(op, given) < 0 ? nullptr : owner.release();
}

bool check_op(PyObject* o) {
  if (Py_TYPE(o) == OpType) return true;
  PyErr_SetString(PyExc_TypeError, "expected an Op");
  return false;
}

// make_in_place(op, name[, node]): the form that writes its first argument; its node's class where that is another.
PyObject* make_in_place(PyObject*, PyObject* args) {
  PyObject *o, *name;
  const char* node = nullptr;
  if (!PyArg_ParseTuple(args, "OU|s", &o, &name, &node) || !check_op(o)) return nullptr;
  PyTypeObject* type = node ? node_type(node) : nullptr;
  if (node && !type) return nullptr;
  Op* base = reinterpret_cast<Op*>(o);
  Op* op = allocate_op(name, base->kind);
  if (!op) return nullptr;
  op->backward.node_type = reinterpret_cast<PyTypeObject*>(Py_XNewRef(reinterpret_cast<PyObject*>(type)));
  op->in_place.is_form = true;
  op->in_place.base = reinterpret_cast<Op*>(Py_NewRef(o));
  op->n_params = base->n_params;
  op->n_positional = base->n_positional;
  op->has_var_args = base->has_var_args;
  op->backward.differentiable = base->backward.differentiable;
  op->tensor_params = base->tensor_params;
  op->places = base->places;
  for (const Param& p : base->params) {
    Py_INCREF(p.name);
    Py_XINCREF(p.fallback);
    op->params.push_back(p);
  }
  return as_object(op);
}

// add_variant(op, param index, when, other op[, value]): which op takes over for such an argument.
PyObject* add_variant(PyObject*, PyObject* args) {
  PyObject *o, *other, *value = nullptr;
  int param, when;
  if (!PyArg_ParseTuple(args, "OiiO|O", &o, &param, &when, &other, &value) || !check_op(o) || !check_op(other)) return nullptr;
  Op* op = reinterpret_cast<Op*>(o);
  if (param < 0 || param >= op->n_params || reinterpret_cast<Op*>(other)->n_params != op->n_params) {
    PyErr_SetString(PyExc_ValueError, "a variant has the parameters of its op");
    return nullptr;
  }
  Py_INCREF(other);
  Py_XINCREF(value);
  op->variants.push_back(
      Variant{static_cast<uint8_t>(param), static_cast<Variant::When>(when), value, reinterpret_cast<Op*>(other)});
  Py_RETURN_NONE;
}

// set_program(op, program, halves): the traced forward of a composed pointwise op, or that of halves; once, since another thread may
// be running it.
PyObject* set_program(PyObject*, PyObject* args) {
  PyObject *o, *spec;
  int halves;
  if (!PyArg_ParseTuple(args, "OOp", &o, &spec, &halves) || !check_op(o)) return nullptr;
  Op* op = reinterpret_cast<Op*>(o);
  Program*& program = halves ? op->loop.halves : op->loop.program;
  if (!program && !(program = read_program(spec))) return nullptr;
  Py_RETURN_NONE;
}

// set_rule_program(op, rule, identity, program or None, sources): a partial once traced. The program is set last, and once: what
// another thread sees is whole.
PyObject* set_rule_program(PyObject*, PyObject* args) {
  PyObject *o, *spec, *sources;
  int r, identity;
  if (!PyArg_ParseTuple(args, "OipOO", &o, &r, &identity, &spec, &sources) || !check_op(o)) return nullptr;
  Op* op = reinterpret_cast<Op*>(o);
  if (r < 0 || r >= static_cast<int>(op->backward.rules.size())) {
    PyErr_SetString(PyExc_IndexError, "no such rule");
    return nullptr;
  }
  Rule& rule = op->backward.rules[r];
  if (rule.program) Py_RETURN_NONE;
  rule.identity = identity != 0;
  if (spec != Py_None) {
    std::vector<Source> list;
    if (read_sources(sources, &list) < 0) return nullptr;
    for (Source& s : list) {
      const size_t before = op->backward.saves.size();
      place(op, &s, 0);
      if (op->backward.saves.size() != before) {
        PyErr_SetString(PyExc_ValueError, "a traced partial reads a value that its rule does not name");
        return nullptr;
      }
    }
    Program* program = read_program(spec);
    if (!program) return nullptr;
    if (program->n_inputs != static_cast<int>(list.size())) {
      delete program;
      PyErr_SetString(PyExc_ValueError, "a program has one source an input");
      return nullptr;
    }
    rule.program_sources = list;
    rule.program = program;
  }
  Py_RETURN_NONE;
}

// kernel_arity(name)
PyObject* opcode_arity(PyObject*, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) return nullptr;
  const int op = opcode(text);
  return PyLong_FromLong(op < 0 ? -1 : instructions()[op].arity);
}

}  // namespace

PyMethodDef kOpFunctions[] = {
    {"make_op", method_of<make_op>(), METH_VARARGS, "An Op as a statement of the table has it."},
    {"make_in_place", method_of<make_in_place>(), METH_VARARGS, "The form of an op that writes its first argument."},
    {"make_public", method_of<make_public>(), METH_VARARGS, "A function of the table as programs see it."},
    {"overridable", method_of<make_overridable>(), METH_VARARGS, "A function that `__torch_function__` may take over."},
    {"add_variant", method_of<add_variant>(), METH_VARARGS, "Which op takes over for a kind of argument."},
    {"set_program", method_of<set_program>(), METH_VARARGS, "The traced forward of a composed pointwise op."},
    {"set_rule_program", method_of<set_rule_program>(), METH_VARARGS, "A traced partial."},
    {"kernel_arity", method_of<opcode_arity>(), METH_O, "How many arguments a pointwise kernel reads; -1 where there is none."},
    {"remember", method_of<remember>(), METH_FASTCALL, "Calls an op, as the last thing that a function does."},
    {"call_op", method_of<call_bound>(), METH_FASTCALL, "Calls an op with one argument for each of its parameters."},
    {nullptr, nullptr, 0, nullptr},
};

int init_op(PyObject* module) {
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("One entry of the op table, and the function itself.")},
      {Py_tp_dealloc, slot_of<op_dealloc>()},
      {Py_tp_traverse, slot_of<op_traverse>()},
      {Py_tp_repr, slot_of<op_repr>()},
      {Py_tp_call, slot_of<PyVectorcall_Call>()},
      {Py_tp_descr_get, slot_of<op_descr_get>()},
      {Py_tp_getset, kOpGetSet},
      {Py_tp_members, kOpMembers},
      {0, nullptr},
  };
  static PyType_Spec spec = {"rushlight._core.Op", sizeof(Op), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                                 Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             slots};
  for (Word& word : words) {
    if (!(word.key = PyUnicode_InternFromString(word.name))) return -1;
  }
  OpType = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  if (!OpType || PyModule_AddObjectRef(module, "Op", as_object(OpType)) < 0) return -1;
  return init_public(module);
}

}  // namespace rushlight
