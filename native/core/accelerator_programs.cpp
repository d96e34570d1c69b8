// Pointwise programs on an accelerator: kernels of their own, before which OpenCL interprets them
// until compiling pays.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/accelerator.h"
#include "core/guard.h"
#include "core/tensor.h"

namespace rushlight {

namespace {

using namespace shared;

// Guards what is kept below. Not held while Python runs.
std::mutex keeping;

constexpr unsigned kind_of(DType compute) { return compute == DType::F32 ? 0 : compute == DType::F64 ? 1 : 2; }

// The kernel that interprets programs in a compute type, compiled at its first use; -2 where the
// device has not the type; -1 with an exception.
int interpreter(int device, DType compute) {
  static int made[kMostAccelerators][3];  // the kernel, and one more
  int& found = made[device][kind_of(compute)];
  {
    const std::lock_guard<std::mutex> guard(keeping);
    if (found) return found - 1;
  }
  PyObject* f = callbacks.interpreter.get();
  const Ref answer(f ? PyObject_CallFunction(f, "ii", device, static_cast<int>(compute)) : nullptr);
  const int kernel = answer ? static_cast<int>(PyLong_AsLong(answer.get())) : -1;
  const std::lock_guard<std::mutex> guard(keeping);
  found = kernel + 1;
  return kernel;
}

// A program's own kernel: how many elements a work item does, and the work items of a group.
struct Own {
  int kernel, each, group;
};

// Work items that go in step: of CUDA's devices.
int warp_of(int device) { return devices::facts_of(device)->warp; }

// A program as the device reads it: five numbers an instruction, where it was interpreted, and its
// constants. Kept for ever, as programs are.
struct Code {
  devices::Block instructions, constants;
  std::string bytes;         // of the instructions
  uint64_t interpreted = 0;  // elements times steps so far
  std::map<std::string, Own> kernels;  // by the operands' types and form
};

// After so many elements times steps interpreting has cost about what compiling costs. NVRTC
// compiles a program in 0.1 s and the interpreter in 40 s, so on CUDA's devices each program has a
// kernel of its own from the first call on.
constexpr uint64_t kUsual = uint64_t{1} << 26, kNotSaid = ~uint64_t{0};

uint64_t said_by_variable() {
  const char* said = std::getenv("RUSHLIGHT_COMPILE_AFTER");
  return said && *said ? std::strtoull(said, nullptr, 10) : kNotSaid;
}

std::atomic<uint64_t> said_steps{said_by_variable()};

uint64_t worth_compiling(int device) {
  const uint64_t said = said_steps.load(std::memory_order_relaxed);
  return said != kNotSaid ? said : warp_of(device) ? 0 : kUsual;
}

void hold(int device, devices::Block* block, const std::string& values) {
  *block = devices::take(device, values.size());
  try {
    devices::write(*block, 0, values.data(), values.size());
  } catch (...) {  // as while a graph is captured
    devices::give(*block);
    *block = {};
    throw;
  }
}

// By what it is made of: programs that are alike share it. With `keeping` held.
Code& new_code(const Program& program, DType compute, int device) {
  static std::map<std::string, Code> kept;
  std::string key(1, static_cast<char>(device));
  key += static_cast<char>(kind_of(compute));
  std::vector<int32_t> code;
  for (const Instr& i : program.code) code.insert(code.end(), {i.op, i.dst, i.a, i.b, i.c});
  std::string constants;
  const auto append = [&constants](auto value) { constants.append(reinterpret_cast<const char*>(&value), sizeof value); };
  for (size_t i = 0; i < program.constants.size(); ++i) {
    if (compute == DType::F32) append(static_cast<float>(program.constants[i]));
    else if (compute == DType::F64) append(program.constants[i]);
    else append(program.int_constants[i]);
  }
  std::string bytes(reinterpret_cast<const char*>(code.data()), code.size() * sizeof(int32_t));
  key += bytes + "|" + constants;
  if (const auto found = kept.find(key); found != kept.end()) return found->second;
  Code made{};
  hold(device, &made.constants, constants);
  made.bytes = std::move(bytes);
  return kept[key] = std::move(made);
}

// By the program's number. With `keeping` held.
Code& code_of(const Program& program, DType compute, int device) {
  static std::unordered_map<uint64_t, Code*> known;
  static uint64_t last = 0;
  if (!program.number) program.number = ++last;
  Code*& found = known[(program.number * kMostAccelerators + static_cast<uint64_t>(device)) * 3 + kind_of(compute)];
  if (!found) found = &new_code(program, compute, device);
  return *found;
}

int64_t bits_of(double value, DType compute) {
  int64_t bits = 0;
  if (compute == DType::F32) {
    const float f = static_cast<float>(value);
    std::memcpy(&bits, &f, sizeof f);
  } else {
    std::memcpy(&bits, &value, sizeof value);
  }
  return bits;
}

// Whether the program can be run there; then `call` and the memory that it reads. -1 with an exception.
int prepare(const Program& program, int with, DType compute, PyObject* const* operands, int n, const Tensor* out, Call* call,
            const devices::Block** blocks) {
  if (with < 0 || n > INPUTS || program.n_registers > REGISTERS || out->dtype > DType::F64) return 0;
  *call = Call{};
  call->n_inputs = n;
  call->n_constants = static_cast<int32_t>(program.constants.size());
  call->n_instructions = static_cast<int32_t>(program.code.size());
  call->result = program.result;
  call->out_type = static_cast<int32_t>(out->dtype);
  call->count = out->numel();
  call->out_place = out->offset();
  // Numbers first: what a `__float__` does may change the tensors.
  for (int i = 0; i < n; ++i) {
    const Tensor* t = is_tensor(operands[i]) ? as_tensor(operands[i]) : nullptr;
    if (t && !(t->device() == DeviceType::Cpu && t->ndim() == 0 && t->dtype <= DType::F64)) continue;
    const Ref number(t ? method_item(operands[i], nullptr) : Py_NewRef(operands[i]));
    if (!number) return -1;
    if (compute == DType::I64) {
      const Ref index(PyNumber_Index(number.get()));
      call->scalars[i] = index ? PyLong_AsLongLong(index.get()) : -1;
    } else {
      call->scalars[i] = bits_of(PyFloat_AsDouble(number.get()), compute);
    }
    if (PyErr_Occurred()) return -1;
    call->types[i] = SCALAR;
  }
  Py_ssize_t strides[INPUTS + 1][kMaxDims];
  for (int d = 0; d < out->ndim(); ++d) strides[n][d] = out->stride(d);
  for (int i = 0; i < n; ++i) {
    blocks[i] = nullptr;
    std::fill_n(strides[i], out->ndim(), 0);
    if (call->types[i] == SCALAR) continue;
    const Tensor* t = as_tensor(operands[i]);
    if (t->device() != out->device() || t->dtype > DType::F64) return 0;
    const int shift = out->ndim() - t->ndim();
    for (int d = 0; d < t->ndim(); ++d) {
      if (t->size(d) != 1 && t->size(d) != out->size(d + shift)) return 0;  // changed meanwhile
      strides[i][d + shift] = t->size(d) == 1 ? 0 : t->stride(d);
    }
    call->types[i] = static_cast<int32_t>(t->dtype);
    call->places[i] = t->offset();
    blocks[i] = block_of(t->storage());
  }
  // Neighbouring dimensions that all operands go through in one step are joined.
  int ndim = 0;
  for (int d = 0; d < out->ndim(); ++d) {
    if (out->size(d) == 1) continue;
    bool joined = ndim > 0;
    for (int i = 0; joined && i <= n; ++i) {
      const int64_t before = i == n ? call->out_strides[ndim - 1] : call->strides[i][ndim - 1];
      joined = before == strides[i][d] * out->size(d);
    }
    if (!joined && ndim == DIMS) return 0;
    if (!joined) call->sizes[ndim++] = 1;
    call->sizes[ndim - 1] *= out->size(d);
    for (int i = 0; i < n; ++i) call->strides[i][ndim - 1] = strides[i][d];
    call->out_strides[ndim - 1] = strides[n][d];
  }
  call->ndim = ndim;
  return 1;
}

// Facts that the kernels of programs.py count on where work items do neighbours: places fit into 32
// bits, and rows of the last dimension are filled by groups of neighbours.
constexpr int kNarrow = 64, kEven = 128, kNeighbours = 8;

int more_of_form(const Call& call) {
  const auto reach = [&call](const int64_t* strides) {
    int64_t sum = call.count + kNeighbours * int64_t{1024};
    for (int d = 0; d < call.ndim; ++d) sum += call.sizes[d] * std::abs(strides[d]);
    return sum;
  };
  int64_t most = reach(call.out_strides);
  for (int i = 0; i < call.n_inputs; ++i) most = std::max(most, reach(call.strides[i]));
  return (most < INT32_MAX ? kNarrow : 0) | (call.sizes[call.ndim - 1] % kNeighbours == 0 ? kEven : 0);
}

// How a kernel of its own goes through the operands: 0 where all lie densely and alike, else the
// number of dimensions, with what more is known for a device with warps.
int form_of(const Call& call, int device) {
  const auto item = [](int type) { return static_cast<int64_t>(item_size(static_cast<DType>(type))); };
  const int more = warp_of(device) && call.ndim ? more_of_form(call) : 0;
  if (call.ndim > 1) return call.ndim | more;
  bool dense = call.ndim == 0 || call.out_strides[0] == item(call.out_type);
  for (int i = 0; dense && i < call.n_inputs; ++i) {
    dense = call.types[i] == SCALAR || call.ndim == 0 || call.strides[i][0] == item(call.types[i]);
  }
  return dense ? 0 : 1 | more;
}

// The kernel of its own for a call; number -1 with an exception. `signature`: the types and the
// form.
Own compiled(const std::string& instructions, const Call& call, DType compute, int device, const std::string& signature) {
  PyObject* f = callbacks.specialised.get();
  const Ref answer(f ? PyObject_CallFunction(f, "iiy#y#iiii", device, static_cast<int>(compute), instructions.data(),
                                             static_cast<Py_ssize_t>(instructions.size()), signature.data(),
                                             static_cast<Py_ssize_t>(signature.size()), call.n_inputs, call.n_constants,
                                             call.result, form_of(call, device))
                     : nullptr);
  Own made{-1, 1, GROUP};
  return answer && PyArg_ParseTuple(answer.get(), "iii", &made.kernel, &made.each, &made.group) ? made : Own{-1, 1, GROUP};
}

}  // namespace

int run_program_there(const Program& program, DType compute, PyObject* const* operands, int n, Tensor* out) try {
  if (!out->numel()) return 0;
  const int device = accelerator_number(out->device());
  const uint64_t least = worth_compiling(device);
  const int with = least ? interpreter(device, compute) : 0;
  if (with == -1) return -1;
  Call call;
  const devices::Block* blocks[INPUTS] = {};
  const Code* code = nullptr;
  Own own{-1, BLOCK, GROUP};
  // Twice where Python compiled something meanwhile.
  for (bool again = true; again;) {
    again = false;
    const int fits = prepare(program, with, compute, operands, n, out, &call, blocks);
    if (fits < 0) return -1;
    if (!fits) return run_program_by_host(program, compute, operands, n, out);
    std::string signature(call.types, call.types + n);
    signature += {static_cast<char>(call.out_type), static_cast<char>(form_of(call, device))};
    std::string instructions;
    {
      const std::lock_guard<std::mutex> guard(keeping);
      Code& found = code_of(program, compute, device);
      code = &found;
      const auto kernel = found.kernels.find(signature);
      if (kernel != found.kernels.end()) {
        own = kernel->second;
      } else {
        found.interpreted += static_cast<uint64_t>(call.count) * static_cast<uint64_t>(call.n_instructions + n + 1);
        again = found.interpreted >= least;
        if (again) instructions = found.bytes;
        else if (!found.instructions.memory) hold(device, &found.instructions, found.bytes);
      }
    }
    if (!again) break;
    const Own made = compiled(instructions, call, compute, device, signature);
    if (made.kernel < 0) return -1;
    const std::lock_guard<std::mutex> guard(keeping);
    code_of(program, compute, device).kernels.emplace(signature, made);
  }
  note_path(Path::Kernel);
  std::vector<devices::Argument> arguments;
  arguments.reserve(4 + INPUTS);
  arguments.push_back({sizeof call, &call});
  arguments.push_back({sizeof(void*), code->instructions.memory ? &code->instructions.memory : nullptr});
  arguments.push_back({sizeof(void*), code->constants.memory ? &code->constants.memory : nullptr});
  arguments.push_back({sizeof(void*), &block_of(out->storage())->memory});
  for (const devices::Block* block : blocks) arguments.push_back({sizeof(void*), block ? &block->memory : nullptr});
  const int64_t items = (call.count + own.each - 1) / own.each;
  devices::launch(own.kernel < 0 ? with : own.kernel, static_cast<size_t>(items), static_cast<size_t>(own.group), arguments);
  return 0;
} catch (...) {  // callers expect an exception of Python's
  raise_caught();
  return -1;
}

namespace {

PyObject* texts(PyObject*, PyObject*) {
  return Py_BuildValue(
#include "shared_texts.inc"
  );
}

PyObject* list_instructions(PyObject*, PyObject*) {
  Ref found(PyList_New(0));
  for (const Instruction& i : instructions()) {
    const Ref row(Py_BuildValue("sN", i.name, PyBool_FromLong(i.complex)));
    if (!found || !row || PyList_Append(found.get(), row.get()) < 0) return nullptr;
  }
  return found.release();
}

PyObject* compile_after(PyObject*, PyObject* steps) {
  const unsigned long long given = PyLong_AsUnsignedLongLong(steps);
  return PyErr_Occurred() ? nullptr : PyLong_FromUnsignedLongLong(said_steps.exchange(given));
}

}  // namespace

PyMethodDef kAcceleratorProgramFunctions[] = {
    {"accelerator_texts", method_of<texts>(), METH_NOARGS, "The texts that the core and accelerators are compiled from, by name."},
    {"instructions", method_of<list_instructions>(), METH_NOARGS,
     "The pointwise instructions by number: their names, and whether accelerators compute them of complex numbers, too."},
    {"accelerator_compile_after", method_of<compile_after>(), METH_O,
     "After how many elements times steps a program gets a kernel of its own; what it was."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rushlight
