#include "devices/opencl.h"

#ifndef _WIN32
#include <pthread.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "kernels/library.h"

namespace rushlight::opencl {

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
constexpr size_t kMostStaged = size_t{16} << 20;  // bytes of staged writes before one waits
constexpr size_t kMostParameters = 1024;          // bytes of a kernel's arguments that every device takes
constexpr Code kNoMemory = -4, kNoResources = -5, kNoHostMemory = -6, kBadSize = -61;

struct Device {
  Facts facts;
  Functions call;
  Handle id, context, queue;
  std::map<size_t, std::vector<Handle>> free;  // by capacity
  Counts counts{};
  std::vector<std::unique_ptr<char[]>> staged;  // what the host wrote and the device may not have read yet
  size_t staged_bytes = 0;
};

struct Kernel {
  Device* device;
  Handle handle;
};

struct State {
  std::mutex lock, building;  // building is taken first
  void* library = nullptr;
  std::string path;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<Facts> facts;
  std::vector<Kernel> kernels;
  std::map<std::string, Handle> programs;
  std::map<std::string, int> kernel_numbers;
};

// Never destroyed: tensors may outlive the order in which static objects go.
State& state() {
  static State* const made = new State;
  return *made;
}

// In a child of a process that had opened the library: a driver does not work there.
std::atomic<bool> forked;

std::atomic<bool> as_cuda;

std::string title() { return as_cuda.load(std::memory_order_relaxed) ? "CUDA" : "OpenCL"; }

void check_process() {
  if (!forked.load(std::memory_order_relaxed)) return;
  throw Failure("Cannot re-initialize " + title() + " in forked subprocess. To use " + title() +
                " with multiprocessing, you must use the 'spawn' start method");
}

constexpr bool is_lack_of_memory(Code code) { return code == kNoMemory || code == kNoResources || code == kNoHostMemory; }

void check(Code code, const char* what) {
  if (code == 0) return;
  if (is_lack_of_memory(code))
    throw OutOfMemory(title() + " out of memory. " + what + " failed with error " + std::to_string(code));
  throw Failure(title() + " error: " + what + " failed with error " + std::to_string(code));
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

void add_devices(void* library, Handle platform, std::vector<std::unique_ptr<Device>>* devices) {
  const Functions call = functions_of(library, platform);
  uint32_t n = 0;
  if (call.GetDeviceIDs(platform, kAnyDevice, 0, nullptr, &n) != 0 || n == 0) return;
  std::vector<Handle> ids(n);
  check(call.GetDeviceIDs(platform, kAnyDevice, n, ids.data(), nullptr), "clGetDeviceIDs");
  for (Handle id : ids) {
    auto device = std::make_unique<Device>();
    device->call = call;
    device->id = id;
    Code code = 0;
    device->context = call.CreateContext(nullptr, 1, &id, nullptr, nullptr, &code);
    check(code, "clCreateContext");
    device->queue = call.CreateCommandQueue(device->context, id, 0, &code);
    check(code, "clCreateCommandQueue");
    device->facts = Facts{text_fact(call, id, kName),
                          text_fact(call, id, kVendor),
                          text_fact(call, id, kVersion),
                          text_fact(call, id, kDriver),
                          fact<uint64_t>(call, id, kMemory),
                          fact<uint64_t>(call, id, kLargestBlock),
                          fact<size_t>(call, id, kLargestGroup),
                          fact<uint64_t>(call, id, kDoubles) != 0 && !doubles_are_off(),
                          fact<uint64_t>(call, id, kType) == kCpu};
    devices->push_back(std::move(device));
  }
}

Device& device_at(int number) {
  check_process();
  return *state().devices.at(static_cast<size_t>(number));
}

// Rounds a block's size up by at most an eighth, so that a freed block fits the next like size.
size_t rounded(size_t bytes) {
  size_t step = 512;
  while (step * 16 <= bytes) step *= 2;
  return (bytes + step - 1) / step * step;
}

void release_kept(Device& d) {
  for (auto& [capacity, list] : d.free) {
    for (Handle memory : list) d.call.ReleaseMemObject(memory);
  }
  d.free.clear();
  d.counts.kept = d.counts.in_use;
}

}  // namespace

void open(const std::string& path) {
  State& s = state();
  const std::lock_guard<std::mutex> guard(s.lock);
  if (s.library) return;
  void* library = open_library(path.c_str());
  if (!library) throw Failure(not_opened());
  std::vector<std::unique_ptr<Device>> devices;
  for (Handle platform : platforms_of(library)) add_devices(library, platform, &devices);
  std::stable_sort(devices.begin(), devices.end(), [](const auto& a, const auto& b) { return a->facts.is_cpu < b->facts.is_cpu; });
  if (devices.empty()) throw Failure(path + " has no device");
  for (const auto& device : devices) s.facts.push_back(device->facts);
  s.devices = std::move(devices);
  s.library = library;
#ifndef _WIN32
  pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
#endif
}

bool shown_as_cuda() { return as_cuda.load(std::memory_order_relaxed); }
bool show_as_cuda(bool on) { return as_cuda.exchange(on); }

const std::vector<Facts>& devices() { return state().facts; }

Block take(int device, size_t bytes) {
  Device& d = device_at(device);
  if (bytes == 0) return Block{nullptr, 0, 0, device};
  const std::lock_guard<std::mutex> guard(state().lock);
  const size_t capacity = rounded(bytes);
  Handle memory = nullptr;
  if (auto list = d.free.find(capacity); list != d.free.end() && !list->second.empty()) {
    memory = list->second.back();
    list->second.pop_back();
  } else {
    Code code = kBadSize;
    for (int attempt = 0; attempt < 2 && !memory; ++attempt) {
      if (attempt) {
        release_kept(d);
        d.call.Finish(d.queue);
      }
      if (capacity <= d.facts.largest_block && d.counts.kept + capacity <= d.facts.memory) {
        memory = d.call.CreateBuffer(d.context, kReadWrite, capacity, nullptr, &code);
        if (code != 0) memory = nullptr;
        if (code != 0 && !is_lack_of_memory(code) && code != kBadSize) check(code, "clCreateBuffer");
      }
    }
    if (!memory) {
      const auto mib = [](uint64_t n) { return std::to_string((n + (1 << 19)) >> 20) + " MiB"; };
      throw OutOfMemory(title() + " out of memory. Tried to allocate " + mib(bytes) + ". Device " + std::to_string(device) + " (" +
                        d.facts.name + ") has a total capacity of " + mib(d.facts.memory) + ", blocks of at most " +
                        mib(d.facts.largest_block) + ", and " + mib(d.counts.in_use) + " in use by tensors.");
    }
    d.counts.kept += capacity;
    d.counts.most_kept = std::max(d.counts.most_kept, d.counts.kept);
  }
  d.counts.in_use += capacity;
  d.counts.allocations += 1;
  d.counts.most_in_use = std::max(d.counts.most_in_use, d.counts.in_use);
  return Block{memory, bytes, capacity, device};
}

void give(const Block& block) {
  if (!block.memory || forked.load(std::memory_order_relaxed)) return;
  const std::lock_guard<std::mutex> guard(state().lock);
  Device& d = *state().devices[static_cast<size_t>(block.device)];
  d.free[block.capacity].push_back(block.memory);
  d.counts.in_use -= block.capacity;
}

void give_back_kept(int device) {
  Device& d = device_at(device);
  const std::lock_guard<std::mutex> guard(state().lock);
  release_kept(d);
}

Counts counts(int device) {
  Device& d = device_at(device);
  const std::lock_guard<std::mutex> guard(state().lock);
  return d.counts;
}

void reset_most(int device) {
  Device& d = device_at(device);
  const std::lock_guard<std::mutex> guard(state().lock);
  d.counts.most_in_use = d.counts.in_use;
  d.counts.most_kept = d.counts.kept;
}

namespace {

// Runs a call that waits for the whole queue: staged bytes from before have been read afterwards.
template <class Wait>
void waiting(Device& d, const char* what, const Wait& wait) {
  std::vector<std::unique_ptr<char[]>> before;
  {
    const std::lock_guard<std::mutex> guard(state().lock);
    before.swap(d.staged);
    d.staged_bytes = 0;
  }
  const Code code = wait();
  if (code != 0) {  // nobody knows what was done
    for (auto& memory : before) static_cast<void>(memory.release());
  }
  check(code, what);
}

}  // namespace

void read(const Block& from, size_t at, void* to, size_t bytes) {
  if (!bytes) return;
  Device& d = device_at(from.device);
  waiting(d, "clEnqueueReadBuffer",
          [&] { return d.call.EnqueueReadBuffer(d.queue, from.memory, 1, at, bytes, to, 0, nullptr, nullptr); });
}

void write(const Block& to, size_t at, const void* from, size_t bytes) {
  if (!bytes) return;
  Device& d = device_at(to.device);
  if (bytes <= kMostStaged / 4) {
    std::unique_ptr<char[]> copy(new char[bytes]);
    std::memcpy(copy.get(), from, bytes);
    const std::lock_guard<std::mutex> guard(state().lock);
    if (d.staged_bytes + bytes <= kMostStaged) {
      d.staged.reserve(d.staged.size() + 1);
      check(d.call.EnqueueWriteBuffer(d.queue, to.memory, 0, at, bytes, copy.get(), 0, nullptr, nullptr), "clEnqueueWriteBuffer");
      d.staged.push_back(std::move(copy));
      d.staged_bytes += bytes;
      return;
    }
  }
  waiting(d, "clEnqueueWriteBuffer",
          [&] { return d.call.EnqueueWriteBuffer(d.queue, to.memory, 1, at, bytes, from, 0, nullptr, nullptr); });
}

void copy(const Block& from, size_t from_at, const Block& to, size_t to_at, size_t bytes) {
  if (!bytes) return;
  Device& d = device_at(from.device);
  check(d.call.EnqueueCopyBuffer(d.queue, from.memory, to.memory, from_at, to_at, bytes, 0, nullptr, nullptr),
        "clEnqueueCopyBuffer");
}

void finish(int device) {
  Device& d = device_at(device);
  waiting(d, "clFinish", [&] { return d.call.Finish(d.queue); });
}

namespace {

// A program from the driver's binary of an earlier build; nullptr where the driver refuses.
Handle from_binary(const Device& d, const std::string& binary, const std::string& options) {
  const unsigned char* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  const size_t length = binary.size();
  Code code = 0, status = 0;
  const Handle made = d.call.CreateProgramWithBinary(d.context, 1, &d.id, &length, &bytes, &status, &code);
  if (code == 0 && status == 0 && d.call.BuildProgram(made, 1, &d.id, options.c_str(), nullptr, nullptr) == 0) return made;
  if (code == 0) d.call.ReleaseProgram(made);
  return nullptr;
}

Handle from_text(const Device& d, const std::string& text, const std::string& options, const std::string& name) {
  const char* source = text.c_str();
  Code code = 0;
  const Handle made = d.call.CreateProgramWithSource(d.context, 1, &source, nullptr, &code);
  check(code, "clCreateProgramWithSource");
  code = d.call.BuildProgram(made, 1, &d.id, options.c_str(), nullptr, nullptr);
  if (code == 0) return made;
  size_t length = 0;
  d.call.GetProgramBuildInfo(made, d.id, kBuildLog, 0, nullptr, &length);
  std::string log(length, ' ');
  d.call.GetProgramBuildInfo(made, d.id, kBuildLog, length, log.data(), nullptr);
  d.call.ReleaseProgram(made);
  throw Failure("OpenCL: " + name + " does not compile (" + std::to_string(code) + "):\n" + log);
}

std::string binary_of(const Device& d, Handle program) {
  size_t length = 0;
  if (d.call.GetProgramInfo(program, kBinarySizes, sizeof length, &length, nullptr) != 0 || !length) return "";
  std::string found(length, '\0');
  char* bytes = found.data();
  return d.call.GetProgramInfo(program, kBinaries, sizeof bytes, &bytes, nullptr) == 0 ? found : "";
}

}  // namespace

int kernel(int device, const std::string& text, const std::string& options, const std::string& name, std::string* binary) {
  Device& d = device_at(device);
  State& s = state();
  const std::string program_key = std::to_string(device) + "\n" + options + "\n" + text, key = name + "\n" + program_key;
  const std::lock_guard<std::mutex> building(s.building);  // launches go on meanwhile
  Handle program = nullptr;
  {
    const std::lock_guard<std::mutex> guard(s.lock);
    if (const auto found = s.kernel_numbers.find(key); found != s.kernel_numbers.end()) return found->second;
    if (const auto found = s.programs.find(program_key); found != s.programs.end()) program = found->second;
  }
  const bool known = program != nullptr;
  if (!known && !binary->empty()) program = from_binary(d, *binary, options);
  const bool reused = program != nullptr;
  if (!program) program = from_text(d, text, options, name);
  *binary = reused ? "" : binary_of(d, program);
  Code code = 0;
  const Handle made = d.call.CreateKernel(program, name.c_str(), &code);
  check(code, "clCreateKernel");
  const std::lock_guard<std::mutex> guard(s.lock);
  s.programs[program_key] = program;
  s.kernels.push_back(Kernel{&d, made});
  return s.kernel_numbers[key] = static_cast<int>(s.kernels.size()) - 1;
}

void launch(int kernel, size_t items, size_t group, const std::vector<Argument>& arguments) {
  check_process();
  if (!items) return;
  State& s = state();
  const std::lock_guard<std::mutex> guard(s.lock);  // a kernel's arguments are set one by one
  const Kernel& k = s.kernels.at(static_cast<size_t>(kernel));
  size_t bytes = 0;
  for (const Argument& argument : arguments) bytes += argument.size;
  if (bytes > kMostParameters) throw Failure("a kernel has " + std::to_string(bytes) + " bytes of arguments");
  for (size_t i = 0; i < arguments.size(); ++i) {
    check(k.device->call.SetKernelArg(k.handle, static_cast<uint32_t>(i), arguments[i].size, arguments[i].value), "clSetKernelArg");
  }
  const size_t all = (items + group - 1) / group * group;
  const auto queue = [&] {
    return k.device->call.EnqueueNDRangeKernel(k.device->queue, k.handle, 1, nullptr, &all, &group, 0, nullptr, nullptr);
  };
  Code code = queue();
  if (is_lack_of_memory(code)) {  // some drivers take a buffer's memory when a kernel first needs it
    release_kept(*k.device);
    k.device->call.Finish(k.device->queue);
    code = queue();
  }
  check(code, "clEnqueueNDRangeKernel");
  k.device->call.Flush(k.device->queue);
}

}  // namespace rushlight::opencl
