// The objects of the native core and what they may ask of each other.
//
// Read first: `Tensor` (a storage, a layout, and its place in the graph), `Op` (one entry of the op table, and the public function
// itself), `Node` (one recorded call of an Op), then engine.cpp (walks nodes backwards) in one sitting.
//
// Note [The plain path]: a call of plain tensors (no hooks, no transforms, no tangents) must pay one predictable branch for
// all of those together. Tensors carry the bits of `kNotPlain` in `flags`; an Op ORs the flags of its arguments once and
// leaves for the slow path when any such bit is set. Nodes and leaves carry `hooks`, a single pointer tested once.
//
// Note [Ownership]: everything here is a Python object with a strong count, reached by the garbage collector through
// tp_traverse. Two pointers are weak: Tensor::accumulator (the AccumulateGrad clears it when it dies) and the raw Node
// pointers inside a running backward (the roots keep the graph alive: edges never change after a node is made).
#pragma once
#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/callbacks.h"
#include "core/guard.h"
#include "core/observe.h"
#include "core/python.h"
#include "core/site.h"
#include "core/storage.h"

namespace rushlight {

struct Node;
struct Op;

// Counts the in-place writes to one storage; shared by all tensors that alias it. Knows where the last two were made: the write
// that led to version n is at n % 2.
struct VersionCounter {
  static constexpr uint32_t kKept = 2;
  std::atomic<int32_t> references;
  std::atomic<uint32_t> value;
  Site writes[kKept];
};

enum TensorFlag : uint32_t {
  kRequiresGrad = 1,    // a leaf that wants its gradient (results of ops have a grad_fn instead)
  kRetainsGrad = 2,     // a non-leaf whose .grad is filled too
  kInference = 4,       // made in inference mode
  kNoGradView = 8,      // a view made under no_grad
  kMultiView = 16,      // a view from an op that returns several views
  kFunctionView = 32,   // a view made by a custom Function
  kInferenceView = 64,  // a view of a normal tensor made in inference mode
  kSpecialView = kNoGradView | kMultiView | kFunctionView | kInferenceView,
  kConjBit = 128,       // shows the conjugate of what its memory holds; see lazy.h
  kTangent = 256,       // carries a forward-mode tangent
  kTransformed = 512,   // wrapped by a function transform
  kCut = 1024,          // has no history: detached at Tensor::cut, or computed from such a tensor
  kNegBit = 2048,       // shows the negative of it
  kCutReason = 7 << 12, // the detach reason: a Cut
  kLazy = kConjBit | kNegBit,
  kWrapped = kTangent | kTransformed,
  kMeta = 1 << 16,      // its storage is on the device meta; set with the layout
  kAccelerator = 1 << 17,  // on an accelerator; set with the layout
  kElsewhere = kMeta | kAccelerator,
  kNotPlain = kWrapped | kLazy | kElsewhere,
  kConjLast = 1 << 15,  // of a view: the op that made it changed kConjBit
  kNegLast = 1 << 19,   // or kNegBit
  kLazyLast = 8,        // a shift, no flag: kConjBit << kLazyLast is kConjLast
};

// The detach reason of a tensor: why its history ended. It is kept for the error that says so.
enum class Cut : uint32_t { None, Detached, NoGrad, Inference, NoDerivative, FromData };

// Memory and layout are set and changed in layout.cpp alone; every other file asks the accessors.
struct Tensor {
  static constexpr int kInlineDims = 5;
  PyObject_HEAD PyObject* dict;
  Storage* storage_;      // strong
  Py_ssize_t offset_;     // of the first element in the storage, in bytes
  Py_ssize_t numel_;
  Py_ssize_t* dims_;      // sizes, then strides in bytes: `dims_inline_`, or a block of their own
  Py_ssize_t dims_inline_[2 * kInlineDims];
  PyObject* array_;       // the ndarray over this memory that NumPy was last given, or nullptr; numpy.cpp
  uint8_t ndim_;
  bool contiguous_;       // as torch has it: elements in row-major order, without gaps
  bool aligned_;          // each element at a multiple of its size; not so in somebody else's memory alone
  DType dtype;
  uint32_t flags;
  uint32_t output_nr;
  uint32_t history_version;  // of a view: the counter's value when grad_fn was right
  Field<Node> grad_fn;
  Field<Tensor> grad;
  VersionCounter* version;   // nullptr: never written in place and not shared
  Node* accumulator;         // weak; of a leaf
  Tensor* base;              // of a differentiable view: the root whose storage it shows
  Field<> hooks;             // of a leaf: its hooks object; of a non-leaf they live on grad_fn
  Field<> grad_dtype;        // nullptr, or what Tensor.grad_dtype was set to
  Field<> wrapped;           // the tangent, transform level, ... of a tensor with a kWrapped bit
  Site cut;                  // of a tensor with kCut
  uint32_t made_in;          // the youngest transform's number when the tensor was made; 0 for none
  PyObject* weakrefs;

  int ndim() const { return ndim_; }
  const Py_ssize_t* sizes() const { return dims_; }
  const Py_ssize_t* strides() const { return dims_ + ndim_; }  // in bytes
  Py_ssize_t size(int dim) const { return dims_[dim]; }
  Py_ssize_t stride(int dim) const { return dims_[ndim_ + dim]; }
  Py_ssize_t numel() const { return numel_; }
  Py_ssize_t item() const { return item_size(dtype); }
  Py_ssize_t nbytes() const { return numel_ * item_size(dtype); }  // of the elements it shows
  // A number on a device without memory, which is compared and never followed.
  char* data() const {
    return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(storage_->data) + static_cast<uintptr_t>(offset_));
  }
  Storage* storage() const { return storage_; }
  Py_ssize_t offset() const { return offset_; }
  DeviceType device() const { return storage_->device; }
  bool is_contiguous() const { return contiguous_; }
  bool is_aligned() const { return aligned_; }
  bool is_writeable() const { return !(storage_->flags & Storage::kReadOnly); }
};
static_assert(sizeof(Tensor) <= 320, "a tensor is allocated from Python's small objects");

extern PyTypeObject* TensorType;
// How often what tensors are, that were there before, was changed: all that guards compare (state.cpp) but values, class and dict.
// Apart from the rest: `.grad`, of which a read counts, too, as a program may change what it has. Counted with the last change,
// before an old value is dropped, which may run code. New tensors are not counted.
struct Changes {
  std::atomic<uint64_t> metadata{1}, gradients{1};
};
extern Changes changes;
inline void note_metadata() { count<uint64_t>(changes.metadata, 1); }
inline void note_gradient() { count<uint64_t>(changes.gradients, 1); }
inline bool is_tensor(PyObject* o) { return Py_TYPE(o) == TensorType || PyType_IsSubtype(Py_TYPE(o), TensorType); }
inline Tensor* as_tensor(PyObject* o) { return reinterpret_cast<Tensor*>(o); }
inline PyObject* as_object(void* o) { return reinterpret_cast<PyObject*>(o); }
// A view wants a gradient when the root does, even a view made under no_grad (without a grad_fn).
inline bool requires_grad(const Tensor* t) {
  return t->grad_fn || (t->flags & kRequiresGrad) || (t->base && (t->base->grad_fn || (t->base->flags & kRequiresGrad)));
}

// The kWrapped bits of a tensor and of its root: a view that was made before its root was wrapped is wrapped with it.
inline uint32_t wrapped_bits(const Tensor* t) { return (t->flags | (t->base ? t->base->flags : 0)) & kWrapped; }

inline Cut cut_of(const Tensor* t) { return static_cast<Cut>((t->flags & kCutReason) >> 12); }
void cut_here(Tensor* t, Cut why);               // notes the program's line
void forget_cut(Tensor* t);                      // of a result whose call decides anew
void inherit_cut(Tensor* t, const Tensor* from);  // where `from` has one, and `t` no better

// Makes `t`, a plain tensor that nobody else has and that shows memory of `source`, a view of `source`: version and base are shared. Takes over `t`, which
// may be nullptr.
Tensor* become_view(Tensor* t, Tensor* source);
uint32_t version_of(const Tensor* t);
VersionCounter* shared_version(Tensor* t);  // makes the counter if there is none; nullptr with an exception when out of memory
void hold(VersionCounter* v);
void drop(VersionCounter* v);
int bump_version(Tensor* t);  // -1 with an exception
PyObject* shape_tuple(int ndim, const Py_ssize_t* dims);  // a torch.Size; the numbers are copied before anything else runs
PyObject* shape_of(const Tensor* t);  // the same of a tensor
PyObject* dtype_object(DType dtype);  // borrowed
DType dtype_from(PyObject* o);  // Count with an exception where that is no element type
const char* scalar_name(DType dtype);  // "Float", "Long", ... as torch's messages have it
const char* c_name(DType dtype);  // "float", "long int", ...
// In the order of promotion.
enum class Category : uint8_t { Bool, Integer, Floating, Complex };
Category category_of(DType t);
bool is_floating(DType t);
bool is_complex(DType t);
// Of the types of integers: whether it has no sign.
inline bool is_unsigned(DType t) { return t == DType::U8 || t >= DType::U16; }
inline bool is_differentiable(DType t) { return is_floating(t) || is_complex(t); }

// ---- per-thread state ----
// Who may take calls over (see override.h): modes and classes, modes alone, nobody.
enum class Overrides : uint8_t { All, Modes, None };

// What capture does on a thread: nothing; it records; it records, but not what runs now, which is part of a step; it replays.
enum class Capturing : uint8_t { Off, Records, Within, Replays };

struct ThreadState {
  Capturing capture = Capturing::Off;
  struct Recorder* recorder = nullptr;
  struct Planned* planned = nullptr;  // the storages of the step that is replayed
  bool grad_enabled = true;
  bool inference = false;
  PyObject* current_node = nullptr;  // borrowed: what the engine is running
  PyObject* saved_hooks = nullptr;  // strong: (pack, unpack, those outside or None) in force, or nullptr; see saved.cpp
  PyObject* packing = nullptr;  // borrowed: the hooks whose pack runs, for which nothing is packed
  int64_t task = -1;  // the running backward, or -1
  Site backward = {nullptr, 0};  // where it was called; borrowed
  bool reporting = false;  // inside a report, whose calls are not reported
  Noted noted;  // of the call or node that runs
  int64_t reported = 0;  // how many nanoseconds reports have taken
  Overrides overrides = Overrides::All;
  bool skip_override = false;  // the next gate lets its call pass
  std::vector<PyObject*>* modes = nullptr;  // TorchFunctionModes entered on this thread, owned; the last is asked first
  uint32_t transform = 0;  // the number of the youngest transform that runs, or 0
  uint32_t derivative = 0;  // the same of differentiating transforms; older tensors are not written
  int nested = 0, nested_here = 0;  // how many backwards run in each other, and how many of those on this thread
};
#ifdef __GLIBC__
__attribute__((tls_model("initial-exec")))
#endif
extern constinit thread_local ThreadState tls;

inline void note_path(Path path) { tls.noted.path = path; }
inline void note_way(Way way) { tls.noted.ways |= way; }

// Set when any thread first enters inference mode or saved-tensor hooks, and never cleared. Every new tensor and every saved value
// asks here first, as asking the thread costs more.
extern std::atomic<bool> modes_used;
inline PyObject* saved_hooks() {
  return modes_used.load(std::memory_order_relaxed) && tls.saved_hooks != tls.packing ? tls.saved_hooks : nullptr;
}
// Whether calls are recorded: with gradients enabled, and outside of inference mode.
inline bool grad_enabled() { return tls.grad_enabled && !tls.inference; }

class GradMode {
 public:
  explicit GradMode(bool on) : before_(tls.grad_enabled) { tls.grad_enabled = on; }
  ~GradMode() { tls.grad_enabled = before_; }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool before_;
};

// The modes as they were when this was made, which code that a backward calls (a hook, a Function) may change and leave changed:
// the engine puts them back after each node, as torch does.
class Modes {
 public:
  Modes() : grad_(tls.grad_enabled), inference_(tls.inference), hooks_(Py_XNewRef(tls.saved_hooks)) {}
  ~Modes() {
    restore();
    Py_XDECREF(hooks_);
  }
  Modes(const Modes&) = delete;
  Modes& operator=(const Modes&) = delete;
  void restore() {
    tls.grad_enabled = grad_;
    tls.inference = inference_;
    if (tls.saved_hooks != hooks_) Py_XDECREF(std::exchange(tls.saved_hooks, Py_XNewRef(hooks_)));
  }

 private:
  bool grad_, inference_;
  PyObject* hooks_;
};

// ---- graph ----
struct Edge {
  Node* node;  // strong, or nullptr where no gradient goes
  uint32_t nr;
};

// A value kept for the backward rule. Moves copy field by field.
struct Saved {
  enum Kind : uint32_t { Nothing, Object, Input, Output, Packed, Inner };
  Field<> value;  // Object: itself; Input: the Tensor; Output: a tensor of its memory (no node, no cycle); Packed: hooks' result;
      // Inner: the node that a CopySlices runs
  uint32_t expected;  // version at the time of saving
  uint32_t output_nr : 26;
  uint32_t kind : 3;  // a Kind
  uint32_t had_node : 1;  // Input: was no leaf when saved, so must be none now
};
// How many edges, saved values or outputs a node can have.
constexpr Py_ssize_t kMaxCount = (1 << 26) - 1;

// Shape and dtype of a node's output: the incoming gradient is fitted to both.
struct OutputMeta {
  static constexpr int kInline = 4;
  DType dtype;
  int8_t ndim;
  DeviceType device;
  Py_ssize_t dims_inline[kInline];
  Py_ssize_t* dims_heap;
  const Py_ssize_t* dims() const { return ndim <= kInline ? dims_inline : dims_heap; }
};

// The state of a node in a running backward (see engine.cpp).
struct BackwardState {
  uint64_t task;  // whose state this is; 0: nobody's
  int64_t pending;  // gradients still to come
  PyObject* grad;  // gathered so far, for output 0
  PyObject** grads;  // for all outputs, when there are several
  bool needed;  // leads to a gradient that was asked for
  bool captured;  // is itself one
};

struct Node {
  // Rewrite: what a write through a view is to the view's root (torch's CopySlices); see inplace.cpp. Captured: captured_node.cpp.
  enum Kind : uint8_t { OfOp, Accumulate, Function, Rewrite, Captured };
  PyObject_HEAD Op* op;  // OfOp: strong
  uint64_t seq;  // order of creation; UINT64_MAX for AccumulateGrad
  Kind kind;
  bool released;  // saved values were freed by a backward
  bool channels_last;  // of an op with FormatAndBack: its arguments suggested that
  int n_edges, n_saved, n_outputs;
  Edge* edges;
  Saved* saved;
  OutputMeta* metas;
  Edge edges_inline[2];
  Saved saved_inline[3];
  OutputMeta meta_inline[1];
  Tensor* variable;  // Accumulate: the leaf, strong
  Field<> hooks;  // hooks object, or nullptr
  Site made;  // where the recorded call is
  Site freed;  // where the backward was called that freed the saved values
  Field<> metadata;  // dict made on first access
  PyObject* dict;  // Function: ctx attributes
  PyObject* weakrefs;  // Function nodes only
  BackwardState state;  // of the backward that claimed the graph
};

extern PyTypeObject* NodeType;
extern PyTypeObject* AccumulateGradType;
inline bool is_node(PyObject* o) { return PyType_IsSubtype(Py_TYPE(o), NodeType); }

// nullptr with an exception; refuses more than kMaxCount of each.
Node* new_node(PyTypeObject* type, Node::Kind kind, Py_ssize_t n_edges, Py_ssize_t n_saved, Py_ssize_t n_outputs);
int check_count_of_node(Py_ssize_t count);  // -1 with an exception
uint64_t next_number(uint64_t taken);  // the last of as many numbers of the order of creation
int set_output_meta(Node* node, int nr, const Tensor* t);
// The edge a gradient of `t` flows along (a new reference in `edge->node`, nullptr where t wants none). -1 with an exception.
int gradient_edge(Tensor* t, Edge* edge);
// The grad_fn of `t`, brought up to date when an in-place write through another alias changed its history. Borrowed.
int refresh_grad_fn(Tensor* t, Node** grad_fn);
inline int current_grad_fn(Tensor* t, Node** grad_fn) {
  if (t->base) return refresh_grad_fn(t, grad_fn);
  *grad_fn = t->grad_fn.peek();
  return 0;
}
int save_input(Saved* slot, PyObject* value);
int save_output(Node* node, Saved* slot, Tensor* out, int nr);
// Runs pack hooks over a value that was saved without any. -1 with an exception.
int pack_saved(Node* node, Saved* slot, PyObject* hooks);
// The saved value as a rule sees it: a new reference. `for_graph`: outputs come back with their node.
PyObject* unpack(Node* node, const Saved* slot, bool for_graph);
void release_saved(Node* node);
std::string short_name(const Node* node);  // as torch's in-place errors have it: without "Backward0"
void release_after_backward(Node* node, Site backward);  // and notes where that was called
void drop_module_from_name(PyTypeObject* type);
PyTypeObject* node_type(const char* name);  // the class of that name, made on first use; borrowed

// ---- ops ----
struct Param {
  enum Kind : uint8_t { TensorArg, Operand, OptionalTensor, TensorList, Plain, VarArgs, Number };
  PyObject* name;  // interned
  PyObject* fallback;  // default value, nullptr where required
  Kind kind;
};

// The types that a function's parameters accept: a bit for each type that some signature of PyTorch
// has there, no bit for any type. ops/table/arguments.py gives the rows at the first call.
struct Takes {
  enum Kind : uint16_t {
    kTensor = 1,
    kNumber = 2,
    kFloat = 4,
    kInt = 8,
    kInts = 16,
    kBool = 32,
    kText = 64,
    kType = 128,
    kTensors = 256,
    kNone = 512,
    kGenerator = 1024,
    kLayout = 2048,
    kDevice = 4096,
    kMemoryFormat = 8192
  };
  struct Row {
    PyObject* name;  // strong
    int index;
    uint16_t kinds;
  };
  bool known = false;
  int positional = 0;  // of a Python function: how many arguments may stand without a name, *args apart
  int rest = -1;  // of a Python function: the row of its *args, where those are ints
  std::vector<Row> rows;  // of an op those with a kind only, of a Python function all
};

// Where an argument of a rule comes from.
struct Source {
  // Needs: of each edge 0 for no gradient, else the dimensions of the edge's tensor plus 1.
  enum Kind : uint8_t { Arg, ArgShape, ArgDtype, Out, Grad, Grads, Needs };
  Kind kind;
  uint8_t index;
  int8_t slot;  // in Node::saved, -1 where nothing is saved for it
};

struct Rule {
  PyObject* function = nullptr;  // Python: sources -> gradient(s)
  std::vector<Source> sources;
  std::vector<uint8_t> params;  // the arguments it gives gradients for
  // Pointwise partials once traced: d out / d param applied to g as one program over `program_sources`.
  bool identity = false;  // the gradient is g itself
  Program* program = nullptr;
  std::vector<Source> program_sources;
};

struct Variant {
  // differs from its default; is no tensor; equals `value` (and has its type); is a number below `value`
  enum When : uint8_t { Given, Scalar, Equals, Below };
  uint8_t param;
  When when;
  PyObject* value;  // strong; of Equals and Below
  Op* op;  // strong
};

// Types that an argument must not have.
struct Refusal {
  uint8_t param;  // kAnyParam: every operand
  uint32_t types;  // bit per DType
  PyObject* why;  // strong; dict: DType number -> (exception type, text)
};
constexpr uint8_t kAnyParam = 255;

// Which shared memory an in-place variant allows. With no bit set it does as torch's element-wise functions do: the written tensor
// must not show an element twice, and another argument may share its memory only if both are the same, element for element.
enum Overlap : uint8_t {
  kSelfMay = 1,  // the written tensor may show an element twice: each gets the same value
  kArgumentsMay = 2,  // an argument may share memory: it is read before the write
  kArgumentsNever = 4,  // no argument may share memory at all
  kCopiesSame = 8,  // written with itself, nothing happens
  kSaidLate = 16,  // all other errors come before the one about shared memory
};

// How a loss joins the losses of the elements.
enum class Reduction : uint8_t { None, Mean, Sum };

enum class ResultType : uint8_t { Promoted, Float, Bool };

// How results are laid out in memory: as the forward made them; row-major; each matrix column by column, of results that have as many
// dimensions as the argument; channels last if the strides of one of the arguments suggest that, else row-major; the same, and so do
// the gradients of those arguments; with the argument's strides, if the shape is the argument's.
struct Keeps {
  enum Rule : uint8_t { Made, Rows, Columns, Format, FormatAndBack, Strides };
  Rule rule;
  uint16_t params;  // bit per param
};

// Whether `dtype` is the type that an op converts its first argument to: inside, its node being about the argument
// as it was; or by a call that has a node of its own.
enum class Typed : uint8_t { No, Inside, Node };

// The kernels of an op, or of a kernel of the CPU, for accelerators.
struct There {
  enum Which { Own, Complex, Write };  // Complex: where Own has nothing for a call
  const char* name;  // of the op or kernel
  PyObject* functions[3];  // or nullptr
  const std::vector<uint32_t>* takes[3];  // type bits by argument, the last for all further; 0: any
  static constexpr uint32_t kSame = 1u << 31;  // the type of the first tensor
};

struct Op {
  enum Kind : uint8_t { Pointwise, Linear, Bilinear, General, Composite, Constant };
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* name;
  PyObject* forward;  // kernel over tensors, or callable over ndarrays, and plain values (Composite: over tensors)
  PyObject* reference;  // the definition on NumPy, when `forward` is a kernel that may answer NotImplemented
  PyObject* dict;
  Kind kind;

  // The arguments.
  bool has_var_args;
  int n_params, n_positional;
  std::vector<Param> params;
  std::vector<uint8_t> tensor_params;  // indices of params that can hold tensors
  int list_param;  // the TensorList param, or -1
  Takes takes;
  std::vector<Variant> variants;

  // Of a pointwise op: what is run over the elements.
  struct Loop {
    Program* program;
    Program* halves;  // that of halves, each step of which is rounded
    bool by_steps;  // there is such a one, which may not have been made yet
    int opcode;  // single-instruction program, or -1
    BlockFn block_f32, block_f64, block_c64, block_c128;
    uint8_t arity;  // how many leading params the program reads
  } loop;

  // Which element types a pointwise op computes in.
  struct Promotion {
    ResultType result;
    bool numbers_fit;  // a number must fit the common type: ops/table/arrays.py looks where that is in doubt
    bool halves_round;  // then a half takes any number, and is infinite where it is too large
    bool numbers_round;  // with halves a number is rounded to their type first
    bool integer_power;  // the second argument is an exponent: none below 0 for integers
    bool divides;  // by the second argument, which has no 0 where both are integers
    bool own_type;  // the common type is that of the first argument (masked_fill), which mask and value follow
    bool one_type;  // all tensors must have the type of the first
    int8_t zero_dim_param;  // the tensor that must have no dimensions, or -1
    uint32_t refused;  // bit per DType: common types the op does not take; `refusals` says why
    uint32_t reference_for;  // bit per DType: common types that run the reference implementation, which decides the result type too
    uint32_t never, always;  // bit per DType: common types of which no element, or every one, is so
    PyObject* refusals;  // dict: DType number -> (exception type, text), or nullptr
    std::vector<Refusal> argument_refusals;
    PyObject* one_type_text;  // the error for a tensor of another type; nullptr: the usual
    PyObject* zero_dim_text;  // the error for a tensor with dimensions, with %d
    int8_t dtype_param;  // the parameter `dtype`, or -1
    Typed typed;  // whether `dtype` is the type that the first argument is converted to
    PyObject* type_check;  // callable that is shown the argument and that type, or nullptr
    uint8_t stored;  // which types that are stored only the op takes all the same: 1 float8, 2 complex32
    PyObject* kernel_name;  // torch's, where it refuses them
  } promotion;

  // Which arguments may be elsewhere than the first; bits per param.
  struct Places {
    uint16_t subscript;  // an index, which may be on the CPU
    uint16_t indices;  // those that may be there if the first argument is on meta
    uint16_t by_value;  // what may be there if it has no dimensions
  } places;

  // The result.
  struct Result {
    bool view;  // shows its first argument's storage
    bool multi_view;
    bool may_alias;  // may share memory with an argument that nobody else sees
    bool real_itself;  // of a tensor of no complex type the result is the tensor
    bool takes_out;  // has an out= form
    bool float_out;  // computed in the type of out for floating point only
    Keeps keeps;
    int8_t typed_out;  // the param `dtype`, where a result for out= is computed in the type of out; or -1
    uint32_t toggles;  // the bits of kLazy in which view and argument differ
    PyObject* put_off;  // of a view: callable that may refuse a call with a lazy tensor, or nullptr
    PyObject* type;  // namedtuple class of several outputs, or nullptr
  } result;

  // How it writes its first argument.
  struct InPlace {
    bool is_form;  // this op is the in-place variant of `base`
    uint8_t overlap;  // enum Overlap
    Op* base;  // strong
    PyObject* write;  // writes the first argument, an ndarray, for the in-place variant; or nullptr
    PyObject* expanded;  // what a program is warned of where the first argument shows an element twice, or nullptr
  } in_place;

  // The record of a call, and how gradients are computed.
  struct Backward {
    bool differentiable;
    bool leaves_inference;  // recorded of inference tensors, too
    bool first_only;  // of several outputs only the first is differentiable
    bool compiled;  // the rules were traced
    std::vector<Rule> rules;
    std::vector<int8_t> rule_of;  // param -> index in rules, -1 where none
    std::vector<uint8_t> edges;  // the params with a rule: an edge each, or an edge for each tensor of a list
    PyObject* fused;  // callable giving all gradients, or nullptr
    std::vector<Source> fused_sources;
    struct Save {
      Source source;
      uint32_t wanted_by;  // bit per param: saved when any of these params wants a gradient
    };
    std::vector<Save> saves;
    // The node's class where it depends on the dimensions of the first two arguments (matmul); types live for ever.
    struct NodeName {
      int8_t ndim_a, ndim_b;
      PyTypeObject* type;
    };
    std::vector<NodeName> node_types;
    PyTypeObject* node_type;
    PyObject* unfold;  // makes the several nodes that PyTorch has for a call, or nullptr; see unfold.cpp
  } backward;

  // Other ways than `forward`.
  There there;
  bool native;  // `forward` is a kernel
  PyObject* by_ops;  // the definition in other ops, which serves every device; or nullptr
};

extern PyTypeObject* OpType;
constexpr int kMaxParams = 16;
// The overload that such arguments mean; the op itself where none takes over. nullptr with an exception.
Op* choose_variant(Op* op, PyObject* const* slots);

PyObject* call_op(Op* op, PyObject* const* slots);  // slots: one per param, borrowed
PyObject* call_op(Op* op, PyObject* a, PyObject* b = nullptr);
// Makes the node of a call. `slots` as bound; outputs already wrapped. -1 with an exception.
int record(Op* op, PyObject* const* slots, Tensor** outputs, Py_ssize_t n_outputs);
// `type`: the node's class where it is not the op's own.
Node* make_op_node(Op* op, PyObject* const* slots, Tensor** outputs, Py_ssize_t n_outputs, PyTypeObject* type = nullptr);
PyObject* run_in_place(Op* op, PyObject** slots);
int check_in_place(Tensor* self, bool recording);
int check_place(Tensor* self, bool recording);  // only the checks without a look at the memory
// Whether the history of a tensor that a custom Function has written may change.
int check_dirty(Tensor* self);
// Refuses arguments that share memory with `out`, as the op's `overlap` says. `written`: the parameter that is `out` itself in
// an in-place variant, or -1. -1 with an exception.
int refuse_overlap(Op* op, PyObject* const* slots, Tensor* out, int written);
// Makes output `nr` of `node` the history of `self`, which was written in place; `edge`: the edge of the node that leads to what
// `self` was, or -1.
int rebase_history(Tensor* self, Node* node, uint32_t nr, int edge);
// The same of a tensor alone; takes over `node`.
int set_history(Tensor* t, Node* node, uint32_t nr);
// Numbers that a call which can be unfolded takes, so that the nodes it is unfolded into are of its age.
constexpr int kUnfoldedNodes = 16;
int unfold(Node* node);  // -1 with an exception
bool backward_running();  // on any thread
int run_rewrite(Node* node, PyObject* const* grads, bool create_graph, PyObject** grads_in);
int run_captured(Node* node, PyObject* const* grads, bool create_graph, PyObject** grads_in);
int compile_rules(Op* op);
int look_at_arguments(Op* op, PyObject* const* slots, uint32_t* flags, bool* wants_grad, bool* symbolic);
// Notes on a result without history why it has none: because of this call (`wants_grad`), or because of an argument.
void note_cut(Op* op, PyObject* const* slots, Tensor* result, bool wants_grad);
PyObject* run_forward(Op* op, PyObject* const* slots);
// Runs a kernel or a reference implementation on the arguments of a call: a kernel gets tensors, NumPy code gets ndarrays. A new
// reference to the result.
PyObject* run_definition(Op* op, PyObject* function, PyObject* const* slots);
// A pointwise op's where no kernel takes the type: in other ops on the CPU, else on arrays.
PyObject* run_with_reference(Op* op, PyObject* const* slots);
// The result of a reference implementation where some arguments are on meta: Python finds its shape (_devices/meta.py).
PyObject* run_on_stand_ins(Op* op, PyObject* function, PyObject* const* args, Py_ssize_t n);
// -1 with torch's exception where the tensors of a call are on several devices; for calls with kMeta among their flags.
// `written`: what an in-place variant writes, which says where the others are expected.
int check_devices(Op* op, PyObject* const* slots, const Tensor* written = nullptr);
// The gradients of one call, by the fused rule, the traced programs or the Python rules. `grads_in` has one slot per edge.
// `left_out` has a bit for each of the first 64 edges whose gradient this backward does not want.
int run_rules(Node* node, PyObject* const* grads, bool create_graph, uint64_t left_out, PyObject** grads_in);
// The same of any node but a leaf's.
int run_node(Node* node, PyObject* const* grads, bool create_graph, uint64_t left_out, PyObject** grads_in);

// ---- pointwise ----
constexpr Py_ssize_t kReleaseSize = 1 << 15;  // results of more elements are computed without the GIL
// The result of a pointwise op, without history; into `out` when given. A new reference, nullptr with an exception.
Tensor* pointwise_forward(Op* op, PyObject* const* slots, Tensor* out);
// The same of a program alone; into `out` where that has the right shape.
// `device`: where the result is if no operand is a tensor.
Tensor* run_pointwise_program(const Program& program, PyObject* const* operands, int n, DType result, Tensor* out,
                              DeviceType device);
// The same into `out`, which has the shape, in a given compute type. A new reference to it.
Tensor* run_program_into(const Program& program, DType compute, PyObject* const* operands, int n, Tensor* out);
DType promote(DType a, DType b);
DType result_type_of(PyObject* const* operands, int n);
DType common_type_of(Op* op, PyObject* const* operands, int n);  // of an op's operands
int broadcast_shape(PyObject* const* operands, int n, int* ndim, Py_ssize_t* dims);
int check_out_shape(const Tensor* out, int ndim, const Py_ssize_t* dims);  // -1 with torch's exception where it has another
bool can_cast(DType from, DType to);
// Torch's exceptions for a result that has not the shape, or not the kind of number, that the written tensor has; -1.
int refuse_shape(const Tensor* out, int ndim, const Py_ssize_t* dims);
int refuse_cast(DType result, DType out);
bool is_python_scalar(PyObject* o);
PyObject* scalar_object(PyObject* o);  // NumPy scalars as Python's; new reference

// ---- gradients ----
// a + b for accumulation: in place into `a` when nobody else sees it. Takes over both references; new reference.
PyObject* add_gradients(PyObject* a, PyObject* b, bool create_graph);
// Broadcast-reduced and cast to the given shape and dtype. Takes over `g`; new reference.
PyObject* fit_gradient(PyObject* g, DType dtype, int ndim, const Py_ssize_t* dims, bool create_graph);

// Runs what a backward does: here, or where many run in each other, on a thread of its own that has this one's state. -1 with an
// exception; a RecursionError where they are too many.
int run_nested(const std::function<int()>& work);

// Objects that the Python side registers at import (see module.cpp).
struct Registry {
  PyObject* size_type = nullptr;
  PyObject* device_type = nullptr;
  PyObject* dtypes[static_cast<int>(DType::Count)] = {};
  DType default_dtype = DType::F32;
  PyObject* symbol_type = nullptr;  // what partials are traced with
};
extern Registry registry;
extern std::atomic<bool> watching_writes;  // set while allow_mutation_on_saved_tensors is in force

void add_operator_slots(std::vector<PyType_Slot>* slots);
// ---- wrapped.cpp ----
// Questions to the levels: methods of the callback `wrapped` (src/rushlight/_levels/dispatch.py).
#define RUSHLIGHT_ASKED(X) \
  X(settle)                \
  X(call)                  \
  X(in_place)              \
  X(backward)              \
  X(item)                  \
  X(truth)                 \
  X(array)                 \
  X(memory)                \
  X(data)                  \
  X(set_data)              \
  X(detach)                \
  X(version)               \
  X(grad_fn)               \
  X(set_requires_grad)     \
  X(refuse_captured)       \
  X(refuse_requires_grad)
namespace asked {
#define X(name) extern PyObject* const name;
RUSHLIGHT_ASKED(X)
#undef X
}  // namespace asked
template <typename... Args>
PyObject* ask_levels(PyObject* what, Args... args) {
  PyObject* all[] = {callbacks.wrapped.get(), args...};
  return all[0] ? PyObject_VectorcallMethod(what, all, 1 + sizeof...(args), nullptr) : nullptr;
}
// Lets a view share the root's attachment. Whether the view is wrapped then; -1 with an exception.
int settle(Tensor* t);
inline int is_wrapped(Tensor* t) { return t->flags & kWrapped ? 1 : wrapped_bits(t) ? settle(t) : 0; }
// -1 with torch's exception for a tensor that a transformed function has not been given. `written`:
// the in-place op, or PyTorch's name; `value`: the last argument, or nullptr.
int refuse_captured(Tensor* t, PyObject* written, PyObject* value);
inline int check_captured(Tensor* t, PyObject* written, PyObject* value) {
  return tls.derivative && static_cast<int32_t>(t->made_in - tls.derivative) < 0 ? refuse_captured(t, written, value) : 0;
}
extern PyMethodDef kWrappedFunctions[];

int init_lengths(PyObject* module);
int init_tensor(PyObject* module);
int init_node(PyObject* module);
int init_op(PyObject* module);
int init_enums(PyObject* module);
extern PyMethodDef kEngineMethods[];
extern PyMethodDef kOpFunctions[];
extern PyMethodDef kSubscriptMethods[];
extern PyMethodDef kSavedMethods[];
extern PyMethodDef kFactFunctions[];
extern PyMethodDef kTensorFunctions[];
PyObject* tensor_subscript(PyObject* self, PyObject* key);  // subscript.cpp
int tensor_assign(PyObject* self, PyObject* key, PyObject* value);

}  // namespace rushlight
