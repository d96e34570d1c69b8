// Devices that CUDA's driver gives: libcuda for memory, copies and launches, NVRTC for texts. Both
// are opened at run time, and no toolkit is needed to build. A call here is the manual's call of
// the same name (CUDA Driver API; NVRTC), with its result checked.
#include <cstring>
#include <mutex>
#include <sstream>

#include "devices/cuda_functions.h"
#include "devices/device.h"
#include "kernels/library.h"

namespace rushlight::devices {

namespace {

RUSHLIGHT_DEFINE_FUNCTIONS(Driver, RUSHLIGHT_CUDA)
RUSHLIGHT_DEFINE_FUNCTIONS(Nvrtc, RUSHLIGHT_NVRTC)

void check(const Driver& call, Code code, const char* what) {
  if (code == 0) return;
  const char *name = nullptr, *text = nullptr;
  call.cuGetErrorName(code, &name);
  call.cuGetErrorString(code, &text);
  const std::string why = std::string(what) + " failed with " + (name ? name : "error") + " (" + std::to_string(code) + ").";
  if (code == kOutOfMemory) throw OutOfMemory("CUDA out of memory. " + why);
  const std::string said = std::string("CUDA error: ") + (text ? text : "unknown error") + "\n" + why;
  if (code == kIllegalAddress || code == kTimeout || code == kAssert || (code >= kStackError && code <= kLaunchFailed)) {
    throw Broken(said + " The device met the error in work that was queued before; it does no more work in this process.");
  }
  throw Failure(said);
}

#define CHECK(name, ...) check(call, call.name(__VA_ARGS__), #name)

Address address(void* memory, size_t at = 0) { return reinterpret_cast<Address>(memory) + at; }

class Cuda final : public Device {
 public:
  Cuda(const Driver& functions, int number, const std::string& nvrtc) : call(functions), compiler_path(nvrtc) {
    CHECK(cuDeviceGet, &id, number);
    char name[256] = "";
    CHECK(cuDeviceGetName, name, sizeof name - 1, id);
    int version = 0;
    CHECK(cuDriverGetVersion, &version);
    size_t memory = 0;
    CHECK(cuDeviceTotalMem_v2, &memory, id);
    facts.name = name;
    facts.vendor = "NVIDIA Corporation";
    facts.version = "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
    facts.driver = std::to_string(version);
    facts.memory = facts.largest_block = memory;
    facts.largest_group = static_cast<size_t>(attribute(kMaxThreadsPerBlock));
    facts.has_double = true;
    facts.is_cpu = false;
    facts.warp = attribute(kWarpSize);
    facts.capability[0] = attribute(kCapabilityMajor);
    facts.capability[1] = attribute(kCapabilityMinor);
    facts.processors = attribute(kMultiprocessorCount);
    facts.most_arguments = 4096;
  }

  void* allocate(size_t bytes) override {
    enter();
    Address found = 0;
    const Code code = call.cuMemAlloc_v2(&found, bytes);
    if (code == kOutOfMemory) return nullptr;
    check(call, code, "cuMemAlloc");
    return reinterpret_cast<void*>(found);
  }

  void release(void* memory) override {
    enter();
    CHECK(cuMemFree_v2, address(memory));
  }

  char* host_memory(size_t bytes) override {
    enter();
    void* found = nullptr;
    CHECK(cuMemAllocHost_v2, &found, bytes);
    return static_cast<char*>(found);
  }

  void read(void* from, size_t at, void* to, size_t bytes) override {
    enter();
    CHECK(cuMemcpyDtoHAsync_v2, to, address(from, at), bytes, stream);
    CHECK(cuStreamSynchronize, stream);
  }

  void write(void* to, size_t at, const void* from, size_t bytes) override {
    enter();
    CHECK(cuMemcpyHtoDAsync_v2, address(to, at), from, bytes, stream);
  }

  void copy(void* from, size_t from_at, void* to, size_t to_at, size_t bytes) override {
    enter();
    CHECK(cuMemcpyDtoDAsync_v2, address(to, to_at), address(from, from_at), bytes, stream);
  }

  void finish() override {
    enter();
    CHECK(cuStreamSynchronize, stream);
  }

  void* load(const std::string& binary, const std::string&) override {
    enter();
    Handle module = nullptr;
    return call.cuModuleLoadData(&module, binary.data()) == 0 ? module : nullptr;
  }

  void* compile(const std::string& text, const std::string& options, const std::string& name, std::string* binary) override {
    *binary = compiled(text, options, name);
    enter();
    Handle module = nullptr;
    CHECK(cuModuleLoadData, &module, binary->data());
    return module;
  }

  void* find(void* program, const std::string& name) override {
    enter();
    Handle function = nullptr;
    CHECK(cuModuleGetFunction, &function, program, name.c_str());
    return function;
  }

  bool launch(void* kernel, size_t groups, size_t group, const std::vector<Argument>& arguments) override {
    if (groups > 0x7fffffff)
      throw Failure("CUDA error: a kernel of " + std::to_string(groups) + " blocks; the most are 2147483647");
    enter();
    static void* const none = nullptr;
    std::vector<void*> given;
    given.reserve(arguments.size());
    for (const Argument& argument : arguments) given.push_back(const_cast<void*>(argument.value ? argument.value : &none));
    const Code code = call.cuLaunchKernel(kernel, static_cast<unsigned>(groups), 1, 1, static_cast<unsigned>(group), 1, 1, 0,
                                          stream, given.data(), nullptr);
    if (code == kOutOfMemory) return false;
    check(call, code, "cuLaunchKernel");
    return true;
  }

  uint64_t free_memory() override {
    enter();
    size_t found = 0, total = 0;
    CHECK(cuMemGetInfo_v2, &found, &total);
    return found;
  }

  void* queue() override {
    enter();
    return stream;
  }

  int attribute(int which) const override {
    int found = 0;
    CHECK(cuDeviceGetAttribute, &found, which, id);
    return found;
  }

  void* new_event(bool timed) override {
    enter();
    Handle event = nullptr;
    CHECK(cuEventCreate, &event, timed ? 0 : kDisableTiming);
    return event;
  }

  void drop_event(void* event) override {
    enter();
    CHECK(cuEventDestroy_v2, event);
  }

  void record(void* event) override {
    enter();
    CHECK(cuEventRecord, event, stream);
  }

  bool is_done(void* event) override {
    enter();
    return ready(call.cuEventQuery(event), "cuEventQuery");
  }

  bool is_idle() override {
    enter();
    return ready(call.cuStreamQuery(stream), "cuStreamQuery");
  }

  void wait_for(void* event) override {
    enter();
    CHECK(cuEventSynchronize, event);
  }

  float milliseconds(void* from, void* to) override {
    enter();
    float found = 0;
    CHECK(cuEventElapsedTime, &found, from, to);
    return found;
  }

  void begin_capture() override {
    enter();
    CHECK(cuStreamBeginCapture_v2, stream, kRelaxed);
  }

  void* end_capture() override {
    enter();
    Handle graph = nullptr, made = nullptr;
    CHECK(cuStreamEndCapture, stream, &graph);
    const Code code = call.cuGraphInstantiateWithFlags(&made, graph, 0);
    CHECK(cuGraphDestroy, graph);
    check(call, code, "cuGraphInstantiate");
    return made;
  }

  void replay(void* graph) override {
    enter();
    CHECK(cuGraphLaunch, graph, stream);
  }

  void drop_graph(void* graph) override {
    enter();
    CHECK(cuGraphExecDestroy, graph);
  }

 private:
  bool ready(Code code, const char* what) const {
    if (code != kNotReady) check(call, code, what);
    return code != kNotReady;
  }

  // Every thread says which context its calls are of. The first call makes the context, which takes
  // a part of a second.
  void enter() {
    std::call_once(entered, [this] {
      CHECK(cuDevicePrimaryCtxRetain, &context, id);
      CHECK(cuCtxSetCurrent, context);
      CHECK(cuStreamCreate, &stream, kNonBlocking);
    });
    CHECK(cuCtxSetCurrent, context);
  }

  std::string compiled(const std::string& text, const std::string& options, const std::string& name) {
    if (!compiler) {
      if (compiler_path.empty())
        throw Failure("CUDA: no NVRTC, the compiler of kernels, was found. `pip install nvidia-cuda-nvrtc` brings it.");
      compiler = std::make_unique<Nvrtc>(functions_of(compiler_path, static_cast<Nvrtc*>(nullptr)));
    }
    const auto checked = [&](Code code, const char* what) {
      if (code != 0) throw Failure("CUDA: " + name + ": " + what + " failed with error " + std::to_string(code));
    };
    Handle program = nullptr;
    checked(compiler->nvrtcCreateProgram(&program, text.c_str(), (name + ".cu").c_str(), 0, nullptr, nullptr),
            "nvrtcCreateProgram");
    std::istringstream words(options);
    std::vector<std::string> kept;
    for (std::string word; words >> word;) kept.push_back(word);
    std::vector<const char*> given;
    for (const std::string& word : kept) given.push_back(word.c_str());
    const Code code = compiler->nvrtcCompileProgram(program, static_cast<int>(given.size()), given.data());
    std::string made;
    size_t length = 0;
    if (code == 0) {
      checked(compiler->nvrtcGetCUBINSize(program, &length), "nvrtcGetCUBINSize");
      made.resize(length);
      checked(compiler->nvrtcGetCUBIN(program, made.data()), "nvrtcGetCUBIN");
    } else {
      checked(compiler->nvrtcGetProgramLogSize(program, &length), "nvrtcGetProgramLogSize");
      made.resize(length);
      checked(compiler->nvrtcGetProgramLog(program, made.data()), "nvrtcGetProgramLog");
    }
    checked(compiler->nvrtcDestroyProgram(&program), "nvrtcDestroyProgram");
    if (code != 0) throw Failure("CUDA: " + name + " does not compile (" + std::to_string(code) + "):\n" + made.c_str());
    return made;
  }

  const Driver call;
  const std::string compiler_path;
  std::unique_ptr<Nvrtc> compiler;  // guarded as compiling is: one text at a time
  std::once_flag entered;
  int id = 0;
  Handle context = nullptr, stream = nullptr;
};

int count_of(const Driver& call) {
  int n = 0;
  CHECK(cuInit, 0);
  CHECK(cuDeviceGetCount, &n);
  return n;
}

}  // namespace

int count_cuda(const std::string& library) {
  try {
    return count_of(functions_of(library, static_cast<Driver*>(nullptr)));
  } catch (const Failure&) {  // no driver, or no card
    return 0;
  }
}

std::vector<std::unique_ptr<Device>> open_cuda(const std::string& libraries) {
  const size_t end = libraries.find('\n');
  const Driver call = functions_of(libraries.substr(0, end), static_cast<Driver*>(nullptr));
  const int n = count_of(call);
  std::vector<std::unique_ptr<Device>> found;
  for (int i = 0; i < n; ++i) {
    found.push_back(std::make_unique<Cuda>(call, i, end == std::string::npos ? "" : libraries.substr(end + 1)));
  }
  return found;
}

}  // namespace rushlight::devices
