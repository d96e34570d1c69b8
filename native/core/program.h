// What a recorded run is: steps over memory (capture.cpp makes it, replay.cpp runs it).
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "core/capture.h"

namespace rushlight {

// A storage that a run made, was given, or found.
struct Memory {
  enum Origin : uint8_t {
    Made,      // by the run
    Input,     // of an argument: another in each replay
    Gradient,  // a leaf's `.grad` as the run began: another in each replay
    There      // of a tensor that guards hold
  };
  Origin origin = Made;
  bool written = false;  // while recording: by a recorded step
  bool alive = true;     // while recording
  bool fresh = false;    // the program gives it away: new in each replay
  bool saved = false;    // written in the forward run, read in the backward run: new in each replay
  bool in_strips = false;  // only a group of steps that run in strips uses it
  bool changed = false;  // written by a step
  int first_write = -1;  // that step
  bool has_graph = false;  // Input: the tensor was made by a node
  int number = -1;       // of the argument, or of the leaf
  size_t nbytes = 0;
  Tensor* as = nullptr;  // strong. Input, Gradient: a tensor of the layout that it had
  int first = -1, last = -1;  // the steps that use it
  int last_read = -1;         // the same, without the end of the run
  Storage* storage = nullptr;  // strong. There: itself; else what stands for it in the program
  std::vector<char> contents;  // of a constant: copied in before the first step
  // Of the finished program, where each replay may have other memory: a number of such memories,
  // and the addresses that show this memory, so many bytes behind `bound`.
  int slot = -1;
  std::vector<std::pair<size_t, Py_ssize_t>> places;
  char* bound = nullptr;
};

// A place in a memory, as a tensor shows it.
struct Operand {
  int memory;
  DType dtype;
  uint32_t flags;  // of kLazy
  Py_ssize_t offset;
  int ndim;
  std::vector<Py_ssize_t> dims;  // sizes, then strides
  PyObject* tensor = nullptr;  // strong; of the finished program
};

// An argument of a step: an operand, an object, or a list of both.
struct Value {
  int operand = -1;
  PyObject* object = nullptr;  // strong
  bool is_list = false, is_tuple = false;
  std::vector<Value> items;
};

// A pointwise program with all but addresses worked out.
struct BoundMachine {
  std::vector<Strided> operands;
  std::vector<std::vector<Py_ssize_t>> strides;
  std::vector<double> numbers;
  // Where all is small, of one type and of one shape, or a row for all rows: its instructions, as
  // calls over whole registers. Numbers are repeated.
  std::vector<BlockFn> calls;
  std::vector<const char*> registers;  // borrowed of the body; nullptr: an input that is a tensor
  struct Rows {
    BlockFn block;
    Py_ssize_t count, elements;  // of a row
    Py_ssize_t steps[4];  // bytes from one row of a, b, c, out to the next
  };
  Py_ssize_t row = 0;  // elements of inputs that are a row for all; or 0
  std::vector<bool> is_row;  // of the inputs
  std::vector<std::unique_ptr<Rows>> rows;
};

struct Step;

// Note [Strips]: steps that compute many elements one by one, as many each, run as a group: all of
// them on one strip, then on the next. What they make for each other lies in memory of a strip's
// size, which stays in the cache. To bring those of large arrays together, steps between them that
// need nothing of the group go before it, and the others after it. Each element is computed as in
// eager, so the bits are the same. A group writes only memory that the run made, which nothing else
// shows.
struct Strips {
  struct Lane {  // an argument of a step, a number, or what a step's instructions make for each other
    int operand = -1;
    DType dtype = DType::F32;
    Py_ssize_t advance = 0;  // bytes from one element to the next
    Py_ssize_t own = -1;  // the place in the strips' own memory, or -1
    std::vector<char> numbers;  // a strip of equal ones
    bool is_one() const { return operand >= 0 && !advance; }  // an element for all: `own` is a strip of it
  };
  struct Call {
    BlockFn block;  // of four lanes; nullptr: the step runs
    const Step* step;  // borrowed
    uint32_t lanes[4];
    std::vector<uint32_t> given;  // the lanes of the step's arguments
  };
  Py_ssize_t numel, size;  // elements; those of a strip
  int count;  // of steps
  std::vector<Lane> lanes;
  std::vector<Call> calls;
  Py_ssize_t own_bytes = 0;  // of memories
  std::vector<Py_ssize_t> own;  // by memory
  std::vector<bool> ends;  // by memory: nothing uses it after the group
};

// A kernel's work over addresses, see `tell`.
//
// Note [Sums]: where the only use of a product is to be added to what the run made before, as
// gradients are that come from several places, the product is computed where the sum was, and adds
// to that memory, which is the sum's from then on. What it adds is a finished sum, as a tile adds a
// bias, so the bits are the same.
//
// Note [Forms]: what several products read in another form, as their kernels would make it for each of them, is brought into this
// form before the first of them, if nothing writes it until the last.
struct ToldCall {
  struct Place {
    int memory;  // -1: no address
    Py_ssize_t offset;
  };
  Told run, adds;  // adds: adds to what is there, with the bits of a sum afterwards; or nullptr
  DType dtype;  // of what it fills
  std::vector<char> fixed;
  std::vector<Place> places;
  struct {
    Told make;
    std::vector<char> fixed, with;  // with: `fixed` of the call, where the second address is that of the form
    size_t size;
  } form = {};  // of the second address, as make(fixed, {it, form}) makes it; or none
  bool moved = false;  // a later step does it
};

struct Step {
  enum Kind : uint8_t { Kernel, Machine, Block, Copy, Fill, Check, Number } kind;
  const char* name;
  Site site;  // strong
  KernelFunction function = nullptr;  // Kernel
  PyObject* self = nullptr;  // borrowed: the module of kernels
  PyObject* kwnames = nullptr;  // strong: the names of the last arguments
  Py_ssize_t count = 0;  // of the arguments without names
  std::vector<Value> args;  // Machine, Block, Copy, Fill: the operand that is written comes last
  bool has_effects = false;  // Kernel: it writes into its arguments, or draws
  std::vector<int> makes;  // Kernel: the memories of the storages that it makes, in order
  std::vector<Py_ssize_t> results;  // Kernel: how many elements its results have
  PyObject* answer = nullptr;  // Kernel: strong; what it has to answer again, or nullptr. Number: what the run computed
  bool ahead = false, compares = false;  // Number: it needs no tensor, and runs before all steps; `answer` has to be the same again
  std::vector<ToldCall> told;  // Kernel: all that it does, or none
  const Program* program = nullptr;  // Machine
  DType compute = DType::F32;
  BlockFn block = nullptr;  // Block
  std::vector<char> numbers;  // Block: the second operand, where that is a number; Check: the bytes of the value
  char byte = 0;  // Fill
  Py_ssize_t size = 0;  // Block, Fill: elements, bytes
  bool restarts = false;  // nothing that was there before is written before it: a call may begin anew, eagerly
  // Of the finished program.
  std::vector<PyObject*> given;  // the arguments, as `function` takes them; strong
  std::vector<Storage*> storages;  // borrowed: those of `makes`
  std::vector<PyObject**> places;  // Number: what steps are given of it
  std::unique_ptr<BoundMachine> bound;
  std::unique_ptr<Strips> strips;  // of the first step of a group
};

// The work of a replay: small work is a call over addresses, all else is a step (or those of
// strips). The addresses of all calls are in one array, and are written again where memory is
// another than it was: all of it is pinned in a replay.
struct Call {
  enum Kind : uint8_t { AStep, Strips, Block, Told } kind;
  size_t step;  // AStep, Strips
  size_t at = 0;  // of the first address
  Py_ssize_t n = 0;  // Block: elements
  BlockFn block = nullptr;  // of a, b, c, out
  rushlight::Told told = nullptr;
  const void* fixed = nullptr;
};

// What a replay gives back.
struct Output {
  enum Kind : uint8_t { New, Argument, Kept, View } kind;
  int operand = -1;  // New, View: what it shows
  int number = -1;  // Argument; View: of the argument that it shows, or -1
  PyObject* object = nullptr;  // strong. New: the output of the captured run, for its history; Kept: itself; View: what it shows
  bool is_view = false;  // View: as autograd has it
};

// A `.grad` after the run.
struct Result {
  int leaf;
  int operand;  // -1: None
  int output = -1;  // which is given back, too, or -1
};

// An argument that is read anew in each replay: dict[key], or an item of the tuple there.
struct Load {
  PyObject *dict, *key;  // strong
  Py_ssize_t item;  // or -1
  int step, arg;
};
// A value that has to be the same: dict[key].
struct Fixed {
  PyObject *dict, *key, *value;  // strong
};

struct Captured {
  PyObject_HEAD struct Body* body;
};

// The facts that the node of a run in two parts has (captured_node.cpp; Note [Two parts], capture.h).
struct TwoParts {
  struct Leaf {  // a gradient goes there
    int input;  // the number of an argument
    PyObject* tensor;  // strong; or nullptr, of an argument
    bool given;  // whether the second part gives it
  };
  PyObject* graph = nullptr;  // strong: what computes gradients where the second part cannot be replayed
  std::vector<Leaf> leaves;
  std::vector<bool> shown, ends;  // of the outputs: which have a graph, and whose gradients the second part takes
  std::vector<int> incoming;  // the memories of these gradients; -1 where one is not read
  std::vector<PyObject*> kept;  // strong: what the run reads and does not write
  bool starts = false;  // whether the run writes or draws
  // The second part reads these: numbers of arguments and outputs, tensors that guards hold
  // (strong).
  std::vector<int> reads_inputs, reads_outputs;
  std::vector<PyObject*> reads;
};

struct Body {
  std::vector<Memory> memories;
  std::vector<Operand> operands;
  std::vector<Step> steps;
  std::vector<Output> outputs;
  std::vector<PyObject*> leaves;  // strong: what guards hold that has, had or gets a `.grad`
  std::vector<Result> gradients;
  size_t n_own_gradients = 0;  // of those, new tensors that are not given back
  std::vector<std::pair<PyObject*, uint32_t>> versions;  // strong; by how much each is written
  std::vector<std::pair<int, uint32_t>> input_versions;  // the same of arguments, by number
  size_t n_inputs = 0;
  // Of a run in two parts (Note [Two parts], capture.h): where the second begins, or -1; how many
  // gradients it is given; how many outputs the first has.
  int split = -1;
  size_t n_incoming = 0, n_first = 0;
  std::vector<int> saved;  // memories
  TwoParts two;
  bool draws = false;
  // Put back where a value is another than it was: the last step that compares, or -1; what
  // is written before it (memories); what is drawn from (generators, or capsules of their states;
  // strong).
  int last_check = -1;
  std::vector<int> put_back;
  std::vector<PyObject*> generators;
  std::vector<Load> loads;
  std::vector<Fixed> fixed;
  std::vector<Step*> ahead;
  std::map<std::pair<DType, uint64_t>, std::vector<char>> repeated;  // numbers, by their bits
  std::vector<std::vector<char>> registers;  // of small machines, which run one after the other
  std::vector<Call> calls;
  size_t split_call = 0;  // the first of the second part
  std::vector<char*> addresses;
  std::vector<int> others;  // the memories that may be others in each replay
  PyObject* arena = nullptr;  // a tensor: the memory of all that does not leave the program
  size_t planned = 0, made = 0;  // bytes of the arena; of all memories that the run made
  bool busy = false;
  size_t replays = 0;  // that came to their end
};

struct Planned {
  Storage* const* next;
  Storage* const* end;
};

// Calls f(i, elements) for the tensors that a kernel answered.
template <class F>
void each_result(PyObject* result, const F& f) {
  if (is_tensor(result)) f(size_t{0}, as_tensor(result)->numel());
  else if (PyTuple_Check(result)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result); ++i) {
      PyObject* o = PyTuple_GET_ITEM(result, i);
      f(static_cast<size_t>(i), is_tensor(o) ? as_tensor(o)->numel() : -1);
    }
  }
}

// Calls f(operand, whether it is written) for all operands of a step.
template <class F>
void each_operand(const Value& v, bool written, const F& f) {
  if (v.operand >= 0) f(v.operand, written);
  for (const Value& item : v.items) each_operand(item, written, f);
}
template <class F>
void each_operand(const Step& step, const F& f) {
  const bool writes = step.kind != Step::Kernel && step.kind != Step::Check && step.kind != Step::Number;
  for (size_t k = 0; k < step.args.size(); ++k) each_operand(step.args[k], writes && k + 1 == step.args.size(), f);
}

// Calls f(memory, whether it is written) for all that a step uses.
template <class F>
void each_memory(const Body& body, const Step& step, const F& f) {
  each_operand(step, [&](int operand, bool written) { f(body.operands[static_cast<size_t>(operand)].memory, written); });
  for (const int m : step.makes) f(m, true);
  for (const ToldCall& call : step.told) {
    for (const ToldCall::Place& p : call.places) {
      if (p.memory >= 0) f(p.memory, &p == &call.places.back());
    }
  }
}

extern PyTypeObject* CapturedType;
int finish(Body* body);  // replay.cpp: gives a recorded body its memory, tensors and bound steps
void clear_body(Body* body);
// replay.cpp: the first part, as (outputs, what the second needs), and the second of arguments,
// incoming gradients, and what the first saved; NotImplemented where that cannot be a replay.
PyObject* replay_first(PyObject* self, PyObject* const* args, Py_ssize_t n);
PyObject* replay_second(PyObject* self, PyObject* const* args, Py_ssize_t n);
// captured_node.cpp
PyObject* call_with_node(PyObject* program, PyObject* inputs, PyObject* args, PyObject* kwargs);  // outputs, or NotImplemented
PyObject* captured_places(PyObject* self, PyObject* inputs);
PyObject* captured_node(PyObject* self, PyObject* args);
PyObject* captured_take(PyObject* self, PyObject* args);
// numbers.cpp, Note [Numbers]
bool is_inside(const Value& v, PyObject* number);  // in a list or a tuple
// Of a recorded body: whether each number is given to steps, and nowhere else. Why not, or nullptr.
const char* settle_numbers(Body* body, PyTypeObject* numbers);
void bind_numbers(Body* body);
int run_number(Step& step);  // as run_step
// products.cpp, before strips are found
void join_sums(Body* body);
void share_forms(Body* body);
// strips.cpp
void find_strips(Body* body);  // before memory is planned
void bind_strips(Body* body, size_t first);  // when there are tensors
void run_strips(const Strips& strips, char* const* at);  // at: an address of each lane
}  // namespace rushlight
