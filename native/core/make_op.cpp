// The Op type, and how an op is made. Ops are stated in Python (src/rushlight/ops/_op.py), one statement each; `make_op`
// only copies such a statement into the struct.
#include "core/op.h"

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
  for (Rule& r : op->rules) {
    Py_XDECREF(r.function);
    delete r.program;
  }
  for (Variant& v : op->variants) {
    Py_XDECREF(v.op);
    Py_XDECREF(v.value);
  }
  for (Refusal& r : op->argument_refusals) Py_XDECREF(r.why);
  delete op->program;
  Py_XDECREF(op->name);
  Py_XDECREF(op->forward);
  Py_XDECREF(op->portable);
  Py_XDECREF(op->writer);
  Py_XDECREF(op->compiler);
  Py_XDECREF(op->backward);
  Py_XDECREF(op->unfold);
  Py_XDECREF(op->put_off);
  Py_XDECREF(op->refusals);
  Py_XDECREF(op->zero_dim_text);
  Py_XDECREF(op->one_type_text);
  Py_XDECREF(op->dict);
  Py_XDECREF(op->node_type);
  Py_XDECREF(op->result_type);
  Py_XDECREF(op->base);
  op->params.~vector();
  op->tensor_params.~vector();
  forget_takes(&op->takes);
  op->takes.~Takes();
  op->variants.~vector();
  op->argument_refusals.~vector();
  op->rules.~vector();
  op->rule_of.~vector();
  op->edge_params.~vector();
  op->backward_sources.~vector();
  op->saves.~vector();
  op->node_types.~vector();
  type->tp_free(self);
  Py_DECREF(type);
}

int op_traverse(PyObject* self, visitproc visit, void* arg) {
  Op* op = reinterpret_cast<Op*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(op->forward);
  Py_VISIT(op->portable);
  Py_VISIT(op->writer);
  Py_VISIT(op->compiler);
  Py_VISIT(op->backward);
  Py_VISIT(op->unfold);
  Py_VISIT(op->put_off);
  Py_VISIT(op->dict);
  Py_VISIT(op->base);
  for (Rule& r : op->rules) Py_VISIT(r.function);
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
  Op* base = reinterpret_cast<Op*>(self)->base;
  return Py_NewRef(base ? as_object(base) : Py_None);
}
PyObject* op_get_params(PyObject* self, void*) {
  Op* op = reinterpret_cast<Op*>(self);
  Ref tuple(PyTuple_New(op->n_params));
  if (!tuple) return nullptr;
  for (int i = 0; i < op->n_params; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(op->params[i].name));
  return tuple.release();
}
PyObject* op_get_differentiable(PyObject* self, void*) { return PyBool_FromLong(reinterpret_cast<Op*>(self)->differentiable); }

PyObject* op_get_has_var_args(PyObject* self, void*) { return PyBool_FromLong(reinterpret_cast<Op*>(self)->has_var_args); }

PyObject* op_get_view(PyObject* self, void*) {
  const Op* op = reinterpret_cast<Op*>(self);
  return PyBool_FromLong(op->view || op->multi_view);
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

PyObject* field(PyObject* spec, const char* name) { return PyDict_GetItemString(spec, name); }

bool flag_of(PyObject* spec, const char* name) {
  PyObject* o = field(spec, name);
  return o && PyObject_IsTrue(o) == 1;
}

long number_of(PyObject* spec, const char* name, long otherwise) {
  PyObject* o = field(spec, name);
  return o && o != Py_None ? PyLong_AsLong(o) : otherwise;
}

PyObject* callable_of(PyObject* spec, const char* name) {
  PyObject* o = field(spec, name);
  return o && o != Py_None ? Py_NewRef(o) : nullptr;
}

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
  for (size_t i = 0; i < op->saves.size(); ++i) {
    Source& have = op->saves[i].source;
    if (have.kind == s->kind && have.index == s->index) {
      op->saves[i].wanted_by |= wanted_by;
      s->slot = static_cast<int8_t>(i);
      return;
    }
  }
  s->slot = static_cast<int8_t>(op->saves.size());
  op->saves.push_back({*s, wanted_by});
}

bool is_kept(Op* op, const Source& s) {
  for (const Op::Save& save : op->saves) {
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
    const int op = kernels().opcode(name);
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
uint16_t types_of(PyObject* refusals) {
  PyObject *key, *value;
  uint16_t types = 0;
  for (Py_ssize_t at = 0; PyDict_Next(refusals, &at, &key, &value);)
    types = static_cast<uint16_t>(types | 1u << PyLong_AsLong(key));
  return types;
}

int fill_op(Op* op, PyObject* spec) {
  op->name = PyUnicode_InternFromString(PyUnicode_AsUTF8(field(spec, "name")));
  op->kind = static_cast<Op::Kind>(number_of(spec, "kind", 0));
  op->forward = callable_of(spec, "forward");
  op->portable = callable_of(spec, "portable");
  op->writer = callable_of(spec, "write");
  op->compiler = callable_of(spec, "compiler");
  op->unfold = callable_of(spec, "unfold");
  op->put_off = callable_of(spec, "put_off");
  op->result_type = callable_of(spec, "result_type");
  op->view = flag_of(spec, "view");
  op->toggles = static_cast<uint32_t>(number_of(spec, "toggles", 0)) & kLazy;
  op->lends = flag_of(spec, "lends");
  op->multi_view = flag_of(spec, "multi_view");
  op->first_only = flag_of(spec, "first_only");
  op->takes_out = flag_of(spec, "takes_out");
  op->typed_out = static_cast<int8_t>(number_of(spec, "typed_out", -1));
  op->float_out = flag_of(spec, "float_out");
  op->overlap = static_cast<uint8_t>(number_of(spec, "overlap", 0));
  op->keeps.rule = static_cast<Keeps::Rule>(number_of(spec, "keeps", 0));
  op->keeps.params = static_cast<uint16_t>(number_of(spec, "keeps_of", 0));
  op->result = static_cast<ResultType>(number_of(spec, "result", 0));
  op->n_positional = static_cast<int>(number_of(spec, "n_positional", 0));
  op->program_arity = static_cast<uint8_t>(number_of(spec, "arity", 0));
  op->portable_for = static_cast<uint16_t>(number_of(spec, "portable_for", 0));
  PyObject* refusals = field(spec, "refusals");
  if (refusals && refusals != Py_None) {
    op->refusals = Py_NewRef(refusals);
    op->refused = types_of(refusals);
  }
  op->one_type = flag_of(spec, "one_type");
  if (PyObject* text = field(spec, "one_type"); text && PyUnicode_Check(text)) op->one_type_text = Py_NewRef(text);
  op->numbers_fit = flag_of(spec, "numbers_fit");
  op->halves_round = flag_of(spec, "halves_round");
  op->numbers_round = flag_of(spec, "numbers_round");
  op->integer_power = flag_of(spec, "integer_power");
  op->own_type = flag_of(spec, "own_type");
  if (PyObject* zero_dim = field(spec, "zero_dim"); zero_dim && zero_dim != Py_None) {
    int param;
    PyObject* text;
    if (!PyArg_ParseTuple(zero_dim, "iU", &param, &text)) return -1;
    op->zero_dim_param = static_cast<int8_t>(param);
    op->zero_dim_text = Py_NewRef(text);
  }
  PyObject* of_arguments = field(spec, "argument_refusals");
  for (Py_ssize_t i = 0; of_arguments && of_arguments != Py_None && i < PyList_GET_SIZE(of_arguments); ++i) {
    int param;
    PyObject* why;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(of_arguments, i), "iO!", &param, &PyDict_Type, &why)) return -1;
    op->argument_refusals.push_back(Refusal{param < 0 ? kAnyParam : static_cast<uint8_t>(param), types_of(why), Py_NewRef(why)});
  }
  PyObject* params = field(spec, "params");
  op->n_params = static_cast<int>(PyList_GET_SIZE(params));
  if (op->n_params > kMaxParams) {
    PyErr_Format(PyExc_ValueError, "%s: more than %d parameters", op_name(op), kMaxParams);
    return -1;
  }
  op->list_param = -1;
  for (int i = 0; i < op->n_params; ++i) {
    PyObject *name, *fallback = nullptr;
    int kind;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(params, i), "Ui|O", &name, &kind, &fallback)) return -1;
    Py_INCREF(name);
    PyUnicode_InternInPlace(&name);
    Py_XINCREF(fallback);
    op->params.push_back(Param{name, fallback, static_cast<Param::Kind>(kind)});
    if (kind <= Param::TensorList) op->tensor_params.push_back(static_cast<uint8_t>(i));
    if (kind == Param::TensorList) op->list_param = i;
    if (kind == Param::VarArgs) op->has_var_args = true;
  }
  op->rule_of.assign(op->n_params, -1);
  PyObject* rules = field(spec, "rules");
  for (Py_ssize_t r = 0; rules && r < PyList_GET_SIZE(rules); ++r) {
    PyObject *function, *sources, *indices;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(rules, r), "OOO!", &function, &sources, &PyList_Type, &indices)) return -1;
    op->rules.emplace_back();
    Rule& rule = op->rules.back();
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
      op->rule_of[p] = static_cast<int8_t>(r);
      wanted_by |= 1u << p;
    }
    for (Source& s : rule.sources) place(op, &s, wanted_by);
  }
  if (PyObject* order = field(spec, "edges"); order && order != Py_None) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(order); ++i) {
      op->edge_params.push_back(static_cast<uint8_t>(PyLong_AsLong(PyList_GET_ITEM(order, i))));
    }
  } else {
    for (int p = 0; p < op->n_params; ++p) {
      if (op->rule_of[p] >= 0) op->edge_params.push_back(static_cast<uint8_t>(p));
    }
  }
  op->differentiable = !op->rules.empty();
  PyObject* fused = field(spec, "backward");
  if (fused && fused != Py_None) {
    PyObject *function, *sources;
    if (!PyArg_ParseTuple(fused, "OO", &function, &sources)) return -1;
    if (read_sources(sources, &op->backward_sources) < 0) return -1;
    uint32_t all = 0;
    for (uint8_t p : op->edge_params) all |= 1u << p;
    // What a rule already keeps is kept when that rule needs it; the kernel gets None otherwise.
    for (Source& s : op->backward_sources) place(op, &s, is_kept(op, s) ? 0 : all);
    op->backward = Py_NewRef(function);
  }
  PyObject* node = field(spec, "node");
  if (node && node != Py_None) {
    op->node_type = node_type(PyUnicode_AsUTF8(node));
    if (!op->node_type) return -1;
    Py_INCREF(op->node_type);
  }
  if (PyObject* nodes = field(spec, "nodes"); nodes && nodes != Py_None) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(nodes); ++i) {
      int a, b;
      const char* name;
      if (!PyArg_ParseTuple(PyList_GET_ITEM(nodes, i), "iis", &a, &b, &name)) return -1;
      PyTypeObject* type = node_type(name);
      if (!type) return -1;
      op->node_types.push_back({static_cast<int8_t>(a), static_cast<int8_t>(b), type});
    }
  }
  op->opcode = -1;
  PyObject* kernel = field(spec, "kernel");
  if (kernel && kernel != Py_None) {
    op->opcode = kernels().opcode(PyUnicode_AsUTF8(kernel));
    if (op->opcode >= 0) {
      const int arity = kernels().opcode_arity(op->opcode);
      if (arity != op->program_arity) {
        PyErr_Format(PyExc_ValueError, "%s: kernel '%U' reads %d arguments, the op passes %d", op_name(op), kernel, arity,
                     op->program_arity);
        return -1;
      }
      op->program = new Program();
      op->program->n_inputs = arity;
      op->program->n_registers = arity + 1;
      op->program->result = arity;
      op->program->code.push_back(Instr{static_cast<uint16_t>(op->opcode), static_cast<uint8_t>(arity), 0,
                                        static_cast<uint8_t>(arity > 1 ? 1 : 0), static_cast<uint8_t>(arity > 2 ? 2 : 0)});
      op->block_f32 = kernels().block(op->opcode, DType::F32);
      op->block_f64 = kernels().block(op->opcode, DType::F64);
    }
  }
  return 0;
}

Op* allocate_op() {
  Op* op = PyObject_GC_New(Op, OpType);
  if (!op) return nullptr;
  memset(reinterpret_cast<char*>(op) + sizeof(PyObject), 0, sizeof(Op) - sizeof(PyObject));
  new (&op->params) std::vector<Param>();
  new (&op->tensor_params) std::vector<uint8_t>();
  new (&op->takes) Takes();
  new (&op->variants) std::vector<Variant>();
  new (&op->argument_refusals) std::vector<Refusal>();
  new (&op->rules) std::vector<Rule>();
  new (&op->rule_of) std::vector<int8_t>();
  new (&op->edge_params) std::vector<uint8_t>();
  new (&op->backward_sources) std::vector<Source>();
  new (&op->saves) std::vector<Op::Save>();
  new (&op->node_types) std::vector<Op::NodeName>();
  op->vectorcall = kOpVectorcall;
  op->list_param = -1;
  op->zero_dim_param = -1;
  op->typed_out = -1;
  op->opcode = -1;
  PyObject_GC_Track(op);
  return op;
}

// make_op(spec): an Op from the fields of a table statement.
PyObject* make_op(PyObject*, PyObject* spec) {
  if (!PyDict_Check(spec)) {
    PyErr_SetString(PyExc_TypeError, "make_op(dict)");
    return nullptr;
  }
  Op* op = allocate_op();
  if (!op) return nullptr;
  if (fill_op(op, spec) < 0) {
    Py_DECREF(op);
    return nullptr;
  }
  return as_object(op);
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
  Op* op = allocate_op();
  if (!op) return nullptr;
  Py_INCREF(name);
  op->name = name;
  op->kind = base->kind;
  op->node_type = reinterpret_cast<PyTypeObject*>(Py_XNewRef(reinterpret_cast<PyObject*>(type)));
  op->in_place = true;
  op->base = reinterpret_cast<Op*>(Py_NewRef(o));
  op->n_params = base->n_params;
  op->n_positional = base->n_positional;
  op->has_var_args = base->has_var_args;
  op->differentiable = base->differentiable;
  op->tensor_params = base->tensor_params;
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

// set_program(op, program): the traced forward of a composed pointwise op; once, since another thread may be running it.
PyObject* set_program(PyObject*, PyObject* args) {
  PyObject *o, *spec;
  if (!PyArg_ParseTuple(args, "OO", &o, &spec) || !check_op(o)) return nullptr;
  Op* op = reinterpret_cast<Op*>(o);
  if (op->program) Py_RETURN_NONE;
  op->program = read_program(spec);
  if (!op->program) return nullptr;
  Py_RETURN_NONE;
}

// set_rule_program(op, rule, identity, program or None, sources): a partial once traced. The program is set last, and once: what
// another thread sees is whole.
PyObject* set_rule_program(PyObject*, PyObject* args) {
  PyObject *o, *spec, *sources;
  int r, identity;
  if (!PyArg_ParseTuple(args, "OipOO", &o, &r, &identity, &spec, &sources) || !check_op(o)) return nullptr;
  Op* op = reinterpret_cast<Op*>(o);
  if (r < 0 || r >= static_cast<int>(op->rules.size())) {
    PyErr_SetString(PyExc_IndexError, "no such rule");
    return nullptr;
  }
  Rule& rule = op->rules[r];
  if (rule.program) Py_RETURN_NONE;
  rule.identity = identity != 0;
  if (spec != Py_None) {
    std::vector<Source> list;
    if (read_sources(sources, &list) < 0) return nullptr;
    for (Source& s : list) {
      const size_t before = op->saves.size();
      place(op, &s, 0);
      if (op->saves.size() != before) {
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
  const int op = kernels().opcode(text);
  return PyLong_FromLong(op < 0 ? -1 : kernels().opcode_arity(op));
}

}  // namespace

PyMethodDef kOpFunctions[] = {
    {"make_op", method_of<make_op>(), METH_O, "An Op from the fields of a table statement."},
    {"make_in_place", method_of<make_in_place>(), METH_VARARGS, "The form of an op that writes its first argument."},
    {"number_kinds", method_of<number_kinds_function>(), METH_O, "What kinds of Python numbers nested lists hold, a bit each."},
    {"make_public", method_of<make_public>(), METH_VARARGS, "A function of the table as programs see it."},
    {"overridable", method_of<make_overridable>(), METH_VARARGS, "A function that `__torch_function__` may take over."},
    {"changed_public", method_of<changed_public>(), METH_VARARGS, "The same of another function."},
    {"add_variant", method_of<add_variant>(), METH_VARARGS, "Which op takes over for a kind of argument."},
    {"set_program", method_of<set_program>(), METH_VARARGS, "The traced forward of a composed pointwise op."},
    {"set_rule_program", method_of<set_rule_program>(), METH_VARARGS, "A traced partial."},
    {"kernel_arity", method_of<opcode_arity>(), METH_O, "How many arguments a pointwise kernel reads; -1 where there is none."},
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
  OpType = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  if (!OpType || PyModule_AddObjectRef(module, "Op", as_object(OpType)) < 0) return -1;
  return init_public(module);
}

}  // namespace rushlight
