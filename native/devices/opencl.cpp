// Devices that OpenCL gives. The library is opened at run time.
#include "devices/device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "kernels/library.h"

namespace rushlight::devices {

namespace {

using Handle = void*;
using Code = int32_t;

// The functions of OpenCL that are used, with their places in the table that every driver's objects begin with. The numbers are
// fixed by the extension cl_khr_icd.
#define RUSHLIGHT_OPENCL(X)                                                                                                   \
  X(1, GetPlatformInfo, Code, Handle, uint32_t, size_t, void*, size_t*)                                                       \
  X(2, GetDeviceIDs, Code, Handle, uint64_t, uint32_t, Handle*, uint32_t*)                                                    \
  X(3, GetDeviceInfo, Code, Handle, uint32_t, size_t, void*, size_t*)                                                         \
  X(4, CreateContext, Handle, const intptr_t*, uint32_t, const Handle*, void*, void*, Code*)                                  \
  X(9, CreateCommandQueue, Handle, Handle, Handle, uint64_t, Code*)                                                           \
  X(14, CreateBuffer, Handle, Handle, uint64_t, size_t, void*, Code*)                                                         \
  X(18, ReleaseMemObject, Code, Handle)                                                                                       \
  X(26, CreateProgramWithSource, Handle, Handle, uint32_t, const char**, const size_t*, Code*)                                \
  X(27, CreateProgramWithBinary, Handle, Handle, uint32_t, const Handle*, const size_t*, const unsigned char**, Code*, Code*) \
  X(29, ReleaseProgram, Code, Handle)                                                                                         \
  X(30, BuildProgram, Code, Handle, uint32_t, const Handle*, const char*, void*, void*)                                       \
  X(32, GetProgramInfo, Code, Handle, uint32_t, size_t, void*, size_t*)                                                       \
  X(33, GetProgramBuildInfo, Code, Handle, Handle, uint32_t, size_t, void*, size_t*)                                          \
  X(34, CreateKernel, Handle, Handle, const char*, Code*)                                                                     \
  X(38, SetKernelArg, Code, Handle, uint32_t, size_t, const void*)                                                            \
  X(46, Flush, Code, Handle)                                                                                                  \
  X(47, Finish, Code, Handle)                                                                                                 \
  X(48, EnqueueReadBuffer, Code, Handle, Handle, uint32_t, size_t, size_t, void*, uint32_t, const Handle*, Handle*)           \
  X(49, EnqueueWriteBuffer, Code, Handle, Handle, uint32_t, size_t, size_t, const void*, uint32_t, const Handle*, Handle*)    \
  X(50, EnqueueCopyBuffer, Code, Handle, Handle, Handle, size_t, size_t, size_t, uint32_t, const Handle*, Handle*)            \
  X(59, EnqueueNDRangeKernel, Code, Handle, Handle, uint32_t, const size_t*, const size_t*, const size_t*, uint32_t,          \
    const Handle*, Handle*)

struct Functions {
#define X(place, name, result, ...) result (*name)(__VA_ARGS__);
  RUSHLIGHT_OPENCL(X)
#undef X
};

constexpr uint64_t kAnyDevice = 0xffffffff, kReadWrite = 1;
constexpr uint32_t kType = 0x1000, kLargestGroup = 0x1004, kLargestBlock = 0x1010, kMemory = 0x101f, kName = 0x102b,
                   kVendor = 0x102c, kDriver = 0x102d, kVersion = 0x102f, kDoubles = 0x1032, kBinarySizes = 0x1165,
                   kBinaries = 0x1166, kBuildLog = 0x1183;
constexpr uint64_t kCpu = 2;
constexpr Code kNoMemory = -4, kNoResources = -5, kNoHostMemory = -6, kBadSize = -61;

constexpr bool is_lack_of_memory(Code code) { return code == kNoMemory || code == kNoResources || code == kNoHostMemory; }

void check(Code code, const char* what) {
  if (code == 0) return;
  const std::string said = std::string(what) + " failed with error " + std::to_string(code);
  if (is_lack_of_memory(code)) throw OutOfMemory(title(0) + " out of memory. " + said);
  throw Failure(title(0) + " error: " + said);
}

// The functions: what a loader exports, or what a driver's own object points at.
Functions functions_of(void* library, Handle platform) {
  Functions found;
  void* const* table = *static_cast<void* const* const*>(platform);
#define X(place, name, result, ...)                                       \
  if (void* exported = symbol_of(library, "cl" #name)) {                  \
    found.name = reinterpret_cast<result (*)(__VA_ARGS__)>(exported);     \
  } else {                                                                \
    found.name = reinterpret_cast<result (*)(__VA_ARGS__)>(table[place]); \
  }
  RUSHLIGHT_OPENCL(X)
#undef X
  return found;
}

template <class T>
T fact(const Functions& call, Handle device, uint32_t which) {
  T value{};
  call.GetDeviceInfo(device, which, sizeof value, &value, nullptr);
  return value;
}

std::string text_fact(const Functions& call, Handle device, uint32_t which) {
  char text[512] = "";
  call.GetDeviceInfo(device, which, sizeof text - 1, text, nullptr);
  return text;
}

std::vector<Handle> platforms_of(void* library) {
  using List = Code (*)(uint32_t, Handle*, uint32_t*);
  List list = reinterpret_cast<List>(symbol_of(library, "clGetPlatformIDs"));
  if (!list) {
    using Find = void* (*)(const char*);
    const Find find = reinterpret_cast<Find>(symbol_of(library, "clGetExtensionFunctionAddress"));
    if (find) list = reinterpret_cast<List>(find("clIcdGetPlatformIDsKHR"));
  }
  uint32_t n = 0;
  if (!list || list(0, nullptr, &n) != 0 || n == 0) return {};
  std::vector<Handle> found(n);
  return list(n, found.data(), nullptr) == 0 ? found : std::vector<Handle>();
}

// For trying what a device without float64 does.
bool doubles_are_off() {
  const char* chosen = std::getenv("RUSHLIGHT_OPENCL_DOUBLE");
  return chosen && !std::strcmp(chosen, "0");
}

class OpenCL final : public Device {
 public:
  OpenCL(const Functions& functions, Handle device) : call(functions), id(device) {
    Code code = 0;
    context = call.CreateContext(nullptr, 1, &id, nullptr, nullptr, &code);
    check(code, "clCreateContext");
    queue = call.CreateCommandQueue(context, id, 0, &code);
    check(code, "clCreateCommandQueue");
    facts.name = text_fact(call, id, kName);
    facts.vendor = text_fact(call, id, kVendor);
    facts.version = text_fact(call, id, kVersion);
    facts.driver = text_fact(call, id, kDriver);
    facts.memory = fact<uint64_t>(call, id, kMemory);
    facts.largest_block = fact<uint64_t>(call, id, kLargestBlock);
    facts.largest_group = fact<size_t>(call, id, kLargestGroup);
    facts.has_double = fact<uint64_t>(call, id, kDoubles) != 0 && !doubles_are_off();
    facts.is_cpu = fact<uint64_t>(call, id, kType) == kCpu;
  }

  void* allocate(size_t bytes) override {
    Code code = 0;
    const Handle memory = call.CreateBuffer(context, kReadWrite, bytes, nullptr, &code);
    if (is_lack_of_memory(code) || code == kBadSize) return nullptr;
    check(code, "clCreateBuffer");
    return memory;
  }

  void release(void* memory) override { call.ReleaseMemObject(memory); }

  char* host_memory(size_t bytes) override { return new char[bytes]; }

  void read(void* from, size_t at, void* to, size_t bytes) override {
    check(call.EnqueueReadBuffer(queue, from, 1, at, bytes, to, 0, nullptr, nullptr), "clEnqueueReadBuffer");
  }

  void write(void* to, size_t at, const void* from, size_t bytes) override {
    check(call.EnqueueWriteBuffer(queue, to, 0, at, bytes, from, 0, nullptr, nullptr), "clEnqueueWriteBuffer");
  }

  void copy(void* from, size_t from_at, void* to, size_t to_at, size_t bytes) override {
    check(call.EnqueueCopyBuffer(queue, from, to, from_at, to_at, bytes, 0, nullptr, nullptr), "clEnqueueCopyBuffer");
  }

  void finish() override { check(call.Finish(queue), "clFinish"); }

  void* load(const std::string& binary, const std::string& options) override {
    const unsigned char* bytes = reinterpret_cast<const unsigned char*>(binary.data());
    const size_t length = binary.size();
    Code code = 0, status = 0;
    const Handle made = call.CreateProgramWithBinary(context, 1, &id, &length, &bytes, &status, &code);
    if (code == 0 && status == 0 && call.BuildProgram(made, 1, &id, options.c_str(), nullptr, nullptr) == 0) return made;
    if (code == 0) call.ReleaseProgram(made);
    return nullptr;
  }

  void* compile(const std::string& text, const std::string& options, const std::string& name, std::string* binary) override {
    const char* source = text.c_str();
    Code code = 0;
    const Handle made = call.CreateProgramWithSource(context, 1, &source, nullptr, &code);
    check(code, "clCreateProgramWithSource");
    code = call.BuildProgram(made, 1, &id, options.c_str(), nullptr, nullptr);
    if (code == 0) {
      *binary = binary_of(made);
      return made;
    }
    size_t length = 0;
    call.GetProgramBuildInfo(made, id, kBuildLog, 0, nullptr, &length);
    std::string log(length, ' ');
    call.GetProgramBuildInfo(made, id, kBuildLog, length, log.data(), nullptr);
    call.ReleaseProgram(made);
    throw Failure("OpenCL: " + name + " does not compile (" + std::to_string(code) + "):\n" + log);
  }

  void* find(void* program, const std::string& name) override {
    Code code = 0;
    const Handle made = call.CreateKernel(program, name.c_str(), &code);
    check(code, "clCreateKernel");
    return made;
  }

  bool launch(void* kernel, size_t groups, size_t group, const std::vector<Argument>& arguments) override {
    for (size_t i = 0; i < arguments.size(); ++i) {
      check(call.SetKernelArg(kernel, static_cast<uint32_t>(i), arguments[i].size, arguments[i].value), "clSetKernelArg");
    }
    const size_t all = groups * group;
    const Code code = call.EnqueueNDRangeKernel(queue, kernel, 1, nullptr, &all, &group, 0, nullptr, nullptr);
    if (is_lack_of_memory(code)) return false;
    check(code, "clEnqueueNDRangeKernel");
    call.Flush(queue);
    return true;
  }

 private:
  std::string binary_of(Handle program) const {
    size_t length = 0;
    if (call.GetProgramInfo(program, kBinarySizes, sizeof length, &length, nullptr) != 0 || !length) return "";
    std::string found(length, '\0');
    char* bytes = found.data();
    return call.GetProgramInfo(program, kBinaries, sizeof bytes, &bytes, nullptr) == 0 ? found : "";
  }

  const Functions call;
  const Handle id;
  Handle context, queue;
};

}  // namespace

std::vector<std::unique_ptr<Device>> open_opencl(const std::string& path) {
  void* const library = open_library(path.c_str());
  if (!library) throw Failure(not_opened());
  std::vector<std::unique_ptr<Device>> found;
  for (Handle platform : platforms_of(library)) {
    const Functions call = functions_of(library, platform);
    uint32_t n = 0;
    if (call.GetDeviceIDs(platform, kAnyDevice, 0, nullptr, &n) != 0 || n == 0) continue;
    std::vector<Handle> ids(n);
    check(call.GetDeviceIDs(platform, kAnyDevice, n, ids.data(), nullptr), "clGetDeviceIDs");
    for (Handle id : ids) found.push_back(std::make_unique<OpenCL>(call, id));
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a->facts.is_cpu < b->facts.is_cpu; });
  return found;
}

}  // namespace rushlight::devices
