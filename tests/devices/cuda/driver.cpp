// libcuda's functions, on the processor. What was queued runs as late as CUDA allows: at a synchronise, a query, a blocking copy (at
// once where RUSHLIGHT_STANDIN_AT_ONCE is set), so that what the host changes or gives back too early is seen. A call that CUDA
// forbids is told on stderr, counted, and answered with CUDA's error; an error of a kernel stays with its context, as CUDA's do.
// Stream 0 is a stream like others here: none waits for another without an event.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "declared.h"
#include "queue.h"

namespace {

struct Size {
  unsigned x, y, z;
};

struct Kernel {  // here.h's
  const char* name;
  int most_threads, n_parameters;
  const size_t* sizes;
  size_t shared;
  void (*run)(void**);
  const char* (*launch)(const char*, void (*)(void**), Size, Size, size_t, void**);
};

struct Operation {
  std::string name;
  std::vector<const void*> uses;  // modules, and where blocks and pinned memory begin
  std::function<void()> run;
};

constexpr size_t kPage = 4096, kRegion = size_t{1} << 38, kMostQueued = 1000, kStaticShared = 48 << 10, kMostShared = 227 << 10;
constexpr unsigned char kPoison = 0xa5;

size_t up(size_t n, size_t to) { return (n + to - 1) / to * to; }

}  // namespace

struct CUctx_st {
  int references = 0;
  CUresult broken = CUDA_SUCCESS;
};
struct CUmod_st {
  CUcontext context;
  void* library;
  std::map<std::string, CUfunction> functions;
};
struct CUfunc_st {
  CUmodule module;
  const Kernel* kernel;
  int most_dynamic;
};
struct CUgraph_st {
  CUcontext context;
  std::vector<Operation> operations;
  CUstream origin;
  std::set<CUstream> streams;
  CUstreamCaptureMode mode;
  std::thread::id thread;
  bool invalid = false;
};
struct CUgraphExec_st {
  CUcontext context;
  std::vector<Operation> operations;
};
struct CUstream_st {
  CUcontext context;
  std::deque<Operation> queue;
  uint64_t given = 0, done = 0;
  CUgraph captured = nullptr;
  bool joined = true;  // what it captured is waited for by another stream
};
struct CUevent_st {
  CUcontext context;
  bool timed;
  CUstream stream = nullptr;  // where it was recorded last, and after how many operations
  uint64_t place = 0;
  CUgraph captured = nullptr;
  double seconds = 0;
};

namespace {

struct Block {
  size_t size, slack;  // slack: bytes behind, up to the page's end
  CUcontext context;
};

// Objects are never freed, so a handle of the past is told from those that are there.
struct State {
  std::recursive_mutex lock;
  bool ready = false;
  std::vector<CUctx_st> contexts;
  std::set<CUstream> streams;
  std::set<CUevent> events;
  std::set<CUmodule> modules;
  std::set<CUfunction> functions;
  std::set<CUgraph> graphs, captures;
  std::set<CUgraphExec> executables;
  std::map<uintptr_t, Block> blocks;
  std::map<uintptr_t, size_t> pinned;
  std::map<CUcontext, CUstream> defaults;  // the streams that are called 0
  uintptr_t region = 0, next = 0;
  size_t memory = size_t{8} << 30, used = 0;
  std::map<std::string, std::pair<int, int>> plans;  // of failures: the code, and after how many calls
  long launches = 0, violations = 0;
  std::string said;
};

State& state() {
  static State* const made = new State;
  return *made;
}

std::atomic<bool> forked;
thread_local CUcontext current;

void tell(const char* name, const char* format, va_list arguments) {
  ++state().violations;
  char text[700];
  std::vsnprintf(text, sizeof text, format, arguments);
  state().said = std::string(name) + ": " + text;
  std::fprintf(stderr, "stand-in for CUDA: %s\n", state().said.c_str());
}

__attribute__((format(printf, 2, 3))) void tell(const char* name, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  tell(name, format, arguments);
  va_end(arguments);
}

// ---- memory: a block ends where a page without access begins, so that a kernel beyond its end is stopped

std::map<uintptr_t, Block>::iterator block_at(uintptr_t p) {
  auto& blocks = state().blocks;
  auto found = blocks.upper_bound(p);
  if (found == blocks.begin()) return blocks.end();
  return p <= (--found)->first + found->second.size ? found : blocks.end();
}

bool is_device_address(uintptr_t p) { return state().region && p >= state().region && p < state().region + kRegion; }

// Where the pinned memory begins in which all these bytes lie; 0: they are pageable.
uintptr_t pinned_at(const void* p, size_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(p);
  auto found = state().pinned.upper_bound(at);
  if (found == state().pinned.begin()) return 0;
  return at + bytes <= (--found)->first + found->second ? found->first : 0;
}

uintptr_t new_block(size_t bytes, CUcontext context) {
  State& s = state();
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (!s.region) {
    void* const region = mmap(nullptr, kRegion, PROT_NONE, flags, -1, 0);
    if (region == MAP_FAILED) return 0;
    s.region = s.next = reinterpret_cast<uintptr_t>(region);
  }
  const size_t pages = up(bytes, kPage), aligned = up(bytes, 256);
  if (pages + kPage > kRegion) return 0;
  for (;;) {  // addresses come again only after all were used
    if (s.next + pages + kPage > s.region + kRegion) s.next = s.region;
    const auto after = s.blocks.lower_bound(s.next);
    if (after == s.blocks.end() || after->first >= s.next + pages + kPage) break;
    s.next = up(after->first + after->second.size, kPage) + kPage;
  }
  char* const first = reinterpret_cast<char*>(s.next);
  if (mmap(first, pages, PROT_READ | PROT_WRITE, flags | MAP_FIXED, -1, 0) == MAP_FAILED) return 0;
  s.next += pages + kPage;
  char* const p = first + pages - aligned;
  std::memset(first, kPoison, p - first);
  std::memset(p, 0xff, std::min(bytes, size_t{1} << 20));  // no numbers
  std::memset(p + bytes, kPoison, aligned - bytes);
  s.blocks[reinterpret_cast<uintptr_t>(p)] = Block{bytes, aligned - bytes, context};
  s.used += bytes;
  return reinterpret_cast<uintptr_t>(p);
}

void check_around(const char* name, uintptr_t p, const Block& block, bool before) {
  const auto differs = [](unsigned char c) { return c != kPoison; };
  auto* const start = reinterpret_cast<unsigned char*>(p);
  if (std::any_of(start + block.size, start + block.size + block.slack, differs)) {
    tell(name, "bytes behind the block at %p of %zu bytes were written", static_cast<void*>(start), block.size);
    std::memset(start + block.size, kPoison, block.slack);
  }
  if (before && std::any_of(start - p % kPage, start, differs)) {
    tell(name, "bytes before the block at %p of %zu bytes were written", static_cast<void*>(start), block.size);
  }
}

void drop_block(std::map<uintptr_t, Block>::iterator found) {
  const uintptr_t first = found->first / kPage * kPage;
  mmap(reinterpret_cast<void*>(first), up(found->first + found->second.size, kPage) - first, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  state().used -= found->second.size;
  state().blocks.erase(found);
}

// ---- calls

int devices() {
  const char* chosen = std::getenv("RUSHLIGHT_STANDIN_DEVICES");
  return chosen ? std::atoi(chosen) : 1;
}

// kUnsafe: forbidden while a stream captures, unless that is relaxed.
enum Needs { kNothing = 0, kReady = 1, kContext = 3, kUnsafe = 7 };

struct Call {
  const char* name;
  CUresult code = CUDA_SUCCESS;
  std::unique_lock<std::recursive_mutex> guard;

  Call(const char* called, Needs needs = kContext) : name(called) {
    if (forked.load()) {
      wrong(CUDA_ERROR_NOT_INITIALIZED, "after a fork");
      return;
    }
    State& s = state();
    guard = std::unique_lock<std::recursive_mutex>(s.lock);
    if (const int planned = standin::planned(name)) {
      code = static_cast<CUresult>(planned);
      const bool stays = code >= CUDA_ERROR_ILLEGAL_ADDRESS && code <= CUDA_ERROR_LAUNCH_FAILED;
      if (stays && current) current->broken = code;
    } else if ((needs & kReady) && !s.ready) {
      wrong(CUDA_ERROR_NOT_INITIALIZED, "before cuInit");
    } else if ((needs & kContext) == kContext) {
      if (!current || !current->references) wrong(CUDA_ERROR_INVALID_CONTEXT, "no context is current");
      else code = current->broken;
    }
    if (code != CUDA_SUCCESS || needs != kUnsafe) return;
    for (CUgraph graph : s.captures) {
      const bool here = graph->thread == std::this_thread::get_id();
      if (graph->mode == CU_STREAM_CAPTURE_MODE_RELAXED || (graph->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && !here)) continue;
      graph->invalid = true;
      wrong(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "while a stream captures");
    }
  }

  __attribute__((format(printf, 3, 4))) CUresult wrong(CUresult error, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    tell(name, format, arguments);
    va_end(arguments);
    return code = error;
  }

  explicit operator bool() const { return code == CUDA_SUCCESS; }

  // Whether a handle is one that is there, of the current context; told otherwise.
  template <class T>
  bool has(const std::set<T>& all, T handle, const char* kind) {
    if (!all.count(handle)) wrong(CUDA_ERROR_INVALID_HANDLE, "%p is no %s that is there", static_cast<void*>(handle), kind);
    else if (handle->context != current) wrong(CUDA_ERROR_INVALID_HANDLE, "the %s is of another context", kind);
    return code == CUDA_SUCCESS;
  }

  bool has(CUstream* stream) {
    if (*stream) return has(state().streams, *stream, "stream");
    CUstream& made = state().defaults[current];
    if (!made) state().streams.insert(made = new CUstream_st{current, {}});
    *stream = made;
    return true;
  }
  bool has(CUevent event) { return has(state().events, event, "event"); }
  bool has(CUfunction function) {
    if (!state().functions.count(function)) wrong(CUDA_ERROR_INVALID_HANDLE, "%p is no function that is there", (void*)function);
    return code == CUDA_SUCCESS;
  }
  bool has_device(int number) {
    if (number < 0 || number >= devices()) wrong(CUDA_ERROR_INVALID_DEVICE, "there is no device %d", number);
    return code == CUDA_SUCCESS;
  }

  // Whether bytes lie in one block of the current context. `found`: where the block begins.
  bool has(CUdeviceptr p, size_t bytes, const void** found = nullptr) {
    const auto block = block_at(p);
    if (block == state().blocks.end() || p + bytes > block->first + block->second.size || p + bytes < p) {
      wrong(CUDA_ERROR_INVALID_VALUE, "%zu bytes at %#llx are not in one block", bytes, p);
    } else if (block->second.context != current) {
      wrong(CUDA_ERROR_INVALID_VALUE, "the memory is of another context");
    } else if (found) {
      *found = reinterpret_cast<const void*>(block->first);
    }
    return code == CUDA_SUCCESS;
  }
};

// ---- what was queued

void run_to(CUstream stream, uint64_t place) {
  while (stream->done < place && !stream->queue.empty()) {
    const Operation next = std::move(stream->queue.front());
    stream->queue.pop_front();
    ++stream->done;
    if (stream->context->broken == CUDA_SUCCESS) next.run();
  }
}

void run_all() {
  for (CUstream stream : state().streams) run_to(stream, stream->given);
}

CUresult synchronised(CUstream stream) {
  run_to(stream, stream->given);
  for (const auto& [p, block] : state().blocks) {
    if (block.slack) check_around("synchronising", p, block, false);
  }
  return stream->context->broken;
}

CUresult give(CUstream stream, Operation operation) {
  if (stream->captured) {
    stream->captured->operations.push_back(std::move(operation));
    stream->joined = stream == stream->captured->origin;
    ++stream->given, ++stream->done;
    return CUDA_SUCCESS;
  }
  stream->queue.push_back(std::move(operation));
  ++stream->given;
  static const char* const at_once = std::getenv("RUSHLIGHT_STANDIN_AT_ONCE");
  const bool waits = !at_once || !*at_once;
  if (!waits || stream->queue.size() > kMostQueued) run_to(stream, stream->given - (waits ? kMostQueued : 0));
  return CUDA_SUCCESS;
}

// Tells if work that waits uses what is about to go; as CUDA does, the work is done first.
void finish_uses(const char* name, const void* used) {
  const auto uses = [&](const Operation& o) { return std::count(o.uses.begin(), o.uses.end(), used) > 0; };
  for (CUstream stream : state().streams) {
    const auto found = std::find_if(stream->queue.begin(), stream->queue.end(), uses);
    if (found != stream->queue.end()) tell(name, "%p is in use by %s, which was queued and is not done", used, found->name.c_str());
  }
  run_all();
}

// At the time when the work is done: are the blocks still there?
bool still_there(const Operation& operation, CUcontext context) {
  for (const void* used : operation.uses) {
    const auto p = reinterpret_cast<uintptr_t>(used);
    const bool gone = is_device_address(p)
                          ? !state().blocks.count(p)
                          : !state().pinned.count(p) && !state().modules.count(static_cast<CUmodule>(const_cast<void*>(used)));
    if (!gone) continue;
    tell(operation.name.c_str(), "%p was given back before the work was done", used);
    context->broken = CUDA_ERROR_ILLEGAL_ADDRESS;
  }
  return context->broken == CUDA_SUCCESS;
}

CUresult give_checked(CUstream stream, const std::string& name, std::vector<const void*> uses, std::function<void()> run) {
  const Operation plain{name, uses, nullptr};
  const CUcontext context = stream->context;
  return give(stream, Operation{name, std::move(uses), [=] {
                                  if (still_there(plain, context)) run();
                                }});
}

template <class T>
T* pointer(CUdeviceptr p) {
  return reinterpret_cast<T*>(static_cast<uintptr_t>(p));
}

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

CUresult capture_forbids(Call* call, CUstream stream) {
  if (!stream->captured) return CUDA_SUCCESS;
  stream->captured->invalid = true;
  return call->wrong(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "on a stream that captures");
}

#define X(name, number) {number, "CUDA_" #name},
const std::map<int, const char*> names = {STANDIN_ERRORS(X)};
#undef X

}  // namespace

int standin::planned(const char* function) {
  const std::lock_guard<std::recursive_mutex> guard(state().lock);
  const auto plan = state().plans.find(function);
  if (plan == state().plans.end() || plan->second.second-- > 0) return 0;
  const int code = plan->second.first;
  state().plans.erase(plan);
  return code;
}

#define CALL(name, ...)            \
  Call call(#name, ##__VA_ARGS__); \
  if (!call) return call.code;     \
  [[maybe_unused]] State& s = state()

extern "C" {

// ---- for tests

long standin_launches() { return state().launches; }
long standin_violations() { return state().violations; }
const char* standin_said() { return state().said.c_str(); }  // the last violation
// The call of a function (as the manual calls it: without _v2) after so many others fails with a code.
void standin_fail(const char* function, int code, int after) { state().plans[function] = {code, after}; }
void standin_memory(size_t limit) { state().memory = limit; }
long standin_live(const char* what) {
  State& s = state();
  const std::map<std::string, size_t> counts = {{"blocks", s.blocks.size()},
                                                {"pinned", s.pinned.size()},
                                                {"streams", s.streams.size() - s.defaults.size()},
                                                {"events", s.events.size()},
                                                {"modules", s.modules.size()},
                                                {"graphs", s.graphs.size()},
                                                {"executables", s.executables.size()},
                                                {"bytes", s.used}};
  const auto found = counts.find(what);
  return found == counts.end() ? -1 : static_cast<long>(found->second);
}
// A device that met an error works again; on a card only a new process does.
void standin_mend() {
  run_all();
  for (CUctx_st& context : state().contexts) context.broken = CUDA_SUCCESS;
}

// ---- the device and its context

CUresult cuInit(unsigned flags) {
  CALL(cuInit, kNothing);
  if (flags) return call.wrong(CUDA_ERROR_INVALID_VALUE, "flags are %u", flags);
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible && (!*visible || *visible == '-')) return CUDA_ERROR_NO_DEVICE;
  if (s.ready) return CUDA_SUCCESS;
  s.contexts.resize(static_cast<size_t>(devices()));
  s.ready = true;
  pthread_atfork(nullptr, nullptr, [] { forked = true; });
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** text) {
  const auto found = names.find(error);
  *text = found == names.end() ? nullptr : found->second;
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  static const std::map<int, const char*> texts = {{CUDA_SUCCESS, "no error"},
                                                   {CUDA_ERROR_INVALID_VALUE, "invalid argument"},
                                                   {CUDA_ERROR_OUT_OF_MEMORY, "out of memory"},
                                                   {CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"},
                                                   {CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"}};
  const auto found = texts.find(error);
  if (found == texts.end()) return cuGetErrorName(error, text);
  *text = found->second;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  CALL(cuDeviceGetCount, kReady);
  *count = devices();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int number) {
  CALL(cuDeviceGet, kReady);
  if (!call.has_device(number)) return call.code;
  *device = number;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  CALL(cuDeviceGetName, kReady);
  if (!call.has_device(device)) return call.code;
  std::snprintf(name, static_cast<size_t>(length), "Stand-in for CUDA (the processor)");
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  CALL(cuDeviceGetUuid, kReady);
  std::memset(uuid->bytes, device + 1, sizeof uuid->bytes);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice) {
  CALL(cuDeviceTotalMem, kReady);
  *bytes = s.memory;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  CALL(cuDeviceGetAttribute, kReady);
#define X(name, number, value) {number, value},
  static const std::map<int, int> values = {STANDIN_ATTRIBUTES(X)};
#undef X
  const auto found = values.find(which);
  if (!call.has_device(device)) return call.code;
  if (found == values.end()) return call.wrong(CUDA_ERROR_INVALID_VALUE, "attribute %d", which);
  *value = found->second;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  CALL(cuDevicePrimaryCtxRetain, kReady);
  if (!call.has_device(device)) return call.code;
  *context = &s.contexts[static_cast<size_t>(device)];
  ++(*context)->references;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  CALL(cuDevicePrimaryCtxRelease, kReady);
  if (!call.has_device(device)) return call.code;
  int& references = s.contexts[static_cast<size_t>(device)].references;
  if (!references) return call.wrong(CUDA_ERROR_INVALID_CONTEXT, "the context of device %d was not retained", device);
  --references;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  CALL(cuCtxSetCurrent, kReady);
  if (context && !context->references) return call.wrong(CUDA_ERROR_INVALID_CONTEXT, "the context was released");
  current = context;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  CALL(cuCtxGetCurrent, kReady);
  *context = current;
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() {
  CALL(cuCtxSynchronize, kUnsafe);
  for (CUgraph graph : s.captures) {
    if (graph->context == current) return capture_forbids(&call, graph->origin);
  }
  for (CUstream stream : s.streams) {
    if (stream->context == current) synchronised(stream);
  }
  return current->broken;
}

// ---- memory

CUresult cuMemGetInfo_v2(size_t* unused, size_t* total) {
  CALL(cuMemGetInfo);
  *total = s.memory, *unused = s.memory > s.used ? s.memory - s.used : 0;
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr* p, size_t bytes) {
  CALL(cuMemAlloc, kUnsafe);
  if (!bytes) return call.wrong(CUDA_ERROR_INVALID_VALUE, "no bytes");
  *p = s.used + bytes > s.memory || bytes > s.memory ? 0 : new_block(bytes, current);
  return *p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemFree_v2(CUdeviceptr p) {
  CALL(cuMemFree, kUnsafe);
  if (!p) return CUDA_SUCCESS;
  if (!s.blocks.count(p)) return call.wrong(CUDA_ERROR_INVALID_VALUE, "no block begins at %#llx", p);
  finish_uses(call.name, pointer<void>(p));
  const auto found = s.blocks.find(p);
  check_around(call.name, found->first, found->second, true);
  drop_block(found);
  return current->broken;
}

CUresult cuMemHostAlloc(void** p, size_t bytes, unsigned) {
  CALL(cuMemHostAlloc, kUnsafe);
  if (!bytes) return call.wrong(CUDA_ERROR_INVALID_VALUE, "no bytes");
  *p = mmap(nullptr, up(bytes, kPage), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (*p == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  s.pinned[reinterpret_cast<uintptr_t>(*p)] = bytes;
  return CUDA_SUCCESS;
}

CUresult cuMemAllocHost_v2(void** p, size_t bytes) {
  if (const int code = standin::planned("cuMemAllocHost")) return static_cast<CUresult>(code);
  return cuMemHostAlloc(p, bytes, 0);
}

CUresult cuMemFreeHost(void* p) {
  CALL(cuMemFreeHost, kUnsafe);
  const auto at = reinterpret_cast<uintptr_t>(p);
  if (!s.pinned.count(at)) return call.wrong(CUDA_ERROR_INVALID_VALUE, "no pinned memory begins at %p", p);
  finish_uses(call.name, p);
  munmap(p, up(s.pinned[at], kPage));
  s.pinned.erase(at);
  return current->broken;
}

// Pinned memory is read when the copy is done; of other memory CUDA takes a copy first.
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  CALL(cuMemcpyHtoDAsync);
  const void* block = nullptr;
  if (!call.has(&stream) || !call.has(to, bytes, &block)) return call.code;
  if (is_device_address(reinterpret_cast<uintptr_t>(from)))
    return call.wrong(CUDA_ERROR_INVALID_VALUE, "%p is not the host's", from);
  char* const target = pointer<char>(to);
  if (const uintptr_t pinned = pinned_at(from, bytes)) {
    return give_checked(stream, call.name, {block, reinterpret_cast<void*>(pinned)}, [=] { std::memcpy(target, from, bytes); });
  }
  if (stream->captured) return capture_forbids(&call, stream);
  const std::string kept(static_cast<const char*>(from), bytes);
  return give_checked(stream, call.name, {block}, [=] { std::memcpy(target, kept.data(), bytes); });
}

CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  CALL(cuMemcpyDtoHAsync);
  const void* block = nullptr;
  if (!call.has(&stream) || !call.has(from, bytes, &block)) return call.code;
  if (is_device_address(reinterpret_cast<uintptr_t>(to))) return call.wrong(CUDA_ERROR_INVALID_VALUE, "%p is not the host's", to);
  const char* const source = pointer<char>(from);
  const uintptr_t pinned = pinned_at(to, bytes);
  if (!pinned && stream->captured) return capture_forbids(&call, stream);
  std::vector<const void*> uses{block};
  if (pinned) uses.push_back(reinterpret_cast<void*>(pinned));
  const CUresult code = give_checked(stream, call.name, uses, [=] { std::memcpy(to, source, bytes); });
  return pinned ? code : synchronised(stream);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  CALL(cuMemcpyDtoDAsync);
  const void *target = nullptr, *source = nullptr;
  if (!call.has(&stream) || !call.has(to, bytes, &target) || !call.has(from, bytes, &source)) return call.code;
  if (from < to + bytes && to < from + bytes && bytes) return call.wrong(CUDA_ERROR_INVALID_VALUE, "the places overlap");
  return give_checked(stream, call.name, {target, source}, [=] { std::memcpy(pointer<char>(to), pointer<char>(from), bytes); });
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  CALL(cuMemsetD8Async);
  const void* block = nullptr;
  if (!call.has(&stream) || !call.has(to, bytes, &block)) return call.code;
  return give_checked(stream, call.name, {block}, [=] { std::memset(pointer<char>(to), value, bytes); });
}

// ---- streams and events

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  CALL(cuStreamCreate);
  if (flags > CU_STREAM_NON_BLOCKING) return call.wrong(CUDA_ERROR_INVALID_VALUE, "flags are %u", flags);
  s.streams.insert(*stream = new CUstream_st{current, {}});
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  CALL(cuStreamDestroy);
  if (!call.has(s.streams, stream, "stream")) return call.code;
  if (stream->captured) return capture_forbids(&call, stream);
  run_to(stream, stream->given);  // allowed with work that waits
  s.streams.erase(stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream) {
  CALL(cuStreamSynchronize);
  if (!call.has(&stream) || capture_forbids(&call, stream) != CUDA_SUCCESS) return call.code;
  return synchronised(stream);
}

// One that asks again and again is told once that it must wait.
CUresult cuStreamQuery(CUstream stream) {
  CALL(cuStreamQuery);
  if (!call.has(&stream) || capture_forbids(&call, stream) != CUDA_SUCCESS) return call.code;
  const bool waits = stream->done < stream->given;
  const CUresult code = synchronised(stream);
  return code == CUDA_SUCCESS && waits ? CUDA_ERROR_NOT_READY : code;
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  CALL(cuEventCreate);
  if (flags > 7) return call.wrong(CUDA_ERROR_INVALID_VALUE, "flags are %u", flags);
  s.events.insert(*event = new CUevent_st{current, !(flags & CU_EVENT_DISABLE_TIMING)});
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event) {
  CALL(cuEventDestroy);
  if (!call.has(event)) return call.code;
  s.events.erase(event);
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  CALL(cuEventRecord);
  if (!call.has(event) || !call.has(&stream)) return call.code;
  event->stream = stream, event->captured = stream->captured;
  if (!stream->captured) give(stream, Operation{call.name, {}, [event] { event->seconds = now(); }});
  event->place = stream->given;
  return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  CALL(cuStreamWaitEvent);
  if (!call.has(&stream)) return call.code;
  if (!s.events.count(event))
    return call.wrong(CUDA_ERROR_INVALID_HANDLE, "%p is no event that is there", static_cast<void*>(event));
  if (!event->stream) return CUDA_SUCCESS;  // never recorded
  if (CUgraph graph = event->captured) {
    if (!s.captures.count(graph)) return call.wrong(CUDA_ERROR_CAPTURED_EVENT, "the event was recorded in a capture that ended");
    if (stream->captured && stream->captured != graph) return call.wrong(CUDA_ERROR_STREAM_CAPTURE_MERGE, "of two captures");
    if (!stream->captured) stream->captured = graph, stream->joined = false;
    graph->streams.insert(stream);
    if (event->place == event->stream->given) event->stream->joined = true;
    return CUDA_SUCCESS;
  }
  if (stream->captured) {
    stream->captured->invalid = true;
    return call.wrong(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "a stream that captures waits for work outside");
  }
  return give(stream, Operation{call.name, {}, [other = event->stream, place = event->place] { run_to(other, place); }});
}

namespace {
CUresult queried(Call* call, CUevent event, bool* waited) {
  if (!call->has(event)) return call->code;
  if (event->captured) {
    event->captured->invalid = true;
    return call->wrong(CUDA_ERROR_CAPTURED_EVENT, "the event was last recorded in a capture");
  }
  *waited = event->stream && event->stream->done < event->place;
  if (*waited) run_to(event->stream, event->place);
  return event->context->broken;
}
}  // namespace

CUresult cuEventQuery(CUevent event) {
  CALL(cuEventQuery);
  bool waited = false;
  const CUresult code = queried(&call, event, &waited);
  return code == CUDA_SUCCESS && waited ? CUDA_ERROR_NOT_READY : code;
}

CUresult cuEventSynchronize(CUevent event) {
  CALL(cuEventSynchronize);
  bool waited = false;
  return queried(&call, event, &waited);
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to) {
  CALL(cuEventElapsedTime);
  for (CUevent event : {from, to}) {
    if (!call.has(event)) return call.code;
    if (!event->timed || !event->stream) return call.wrong(CUDA_ERROR_INVALID_HANDLE, "the event has no time");
    if (event->stream->done < event->place) return CUDA_ERROR_NOT_READY;
  }
  *milliseconds = static_cast<float>(1e3 * (to->seconds - from->seconds));
  return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent from, CUevent to) { return cuEventElapsedTime(milliseconds, from, to); }

// ---- modules and launches

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  CALL(cuModuleLoadData, kUnsafe);
  const auto* header = static_cast<const unsigned char*>(image);
  if (std::memcmp(header, "\177ELF", 4) != 0) return CUDA_ERROR_INVALID_IMAGE;
  uint64_t sections = 0;  // of an ELF file these come last: where, how long, how many
  uint16_t size = 0, count = 0;
  std::memcpy(&sections, header + 40, 8), std::memcpy(&size, header + 58, 2), std::memcpy(&count, header + 60, 2);
  const size_t length = sections + size_t{size} * count;
  char path[] = "/tmp/standin.XXXXXX";  // a name of its own: the loader gives what it has under a name that it knows
  const int file = mkstemp(path);
  const bool written = write(file, image, length) == static_cast<ssize_t>(length);
  void* const library = written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  close(file);
  unlink(path);
  if (!library) return call.wrong(CUDA_ERROR_INVALID_IMAGE, "%s", written ? dlerror() : "the disk is full");
  s.modules.insert(*module = new CUmod_st{current, library, {}});
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) {
  CALL(cuModuleUnload, kUnsafe);
  if (!call.has(s.modules, module, "module")) return call.code;
  finish_uses(call.name, module);
  for (const auto& [name, function] : module->functions) s.functions.erase(function);
  s.modules.erase(module);
  dlclose(module->library);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  CALL(cuModuleGetFunction);
  if (!call.has(s.modules, module, "module")) return call.code;
  const auto* kernel = static_cast<const Kernel*>(dlsym(module->library, (std::string("here_kernel_") + name).c_str()));
  if (!kernel) return call.wrong(CUDA_ERROR_NOT_FOUND, "the module has no kernel %s", name);
  CUfunction& made = module->functions[name];
  if (!made) s.functions.insert(made = new CUfunc_st{module, kernel, kStaticShared});
  *function = made;
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction function) {
  CALL(cuFuncGetAttribute);
  if (!call.has(function)) return call.code;
  switch (static_cast<int>(which)) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = function->kernel->most_threads; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = static_cast<int>(function->kernel->shared); break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = function->most_dynamic; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 32; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = 0; break;
    default: return call.wrong(CUDA_ERROR_INVALID_VALUE, "attribute %d", which);
  }
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute which, int value) {
  CALL(cuFuncSetAttribute);
  if (!call.has(function)) return call.code;
  if (which == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) return CUDA_SUCCESS;
  if (which != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 || value > int{kMostShared}) {
    return call.wrong(CUDA_ERROR_INVALID_VALUE, "attribute %d, value %d", which, value);
  }
  function->most_dynamic = value;
  return CUDA_SUCCESS;
}

namespace {

// The parameters' bytes, each in a place that its type may have, and the blocks to which they point.
bool take_parameters(Call* call, const Kernel& kernel, void** given, std::string* bytes, std::vector<const void*>* uses) {
  for (int i = 0; i < kernel.n_parameters; ++i) {
    const size_t size = kernel.sizes[i];
    if (!given || !given[i]) {
      call->wrong(CUDA_ERROR_INVALID_VALUE, "%s: parameter %d is missing", kernel.name, i);
      return false;
    }
    bytes->append(static_cast<const char*>(given[i]), size).append(up(size, 16) - size, '\0');
    for (size_t at = 0; at + 8 <= size; at += 8) {
      uintptr_t word = 0;
      std::memcpy(&word, static_cast<const char*>(given[i]) + at, 8);
      if (!is_device_address(word)) continue;
      const auto block = block_at(word);
      if (block == state().blocks.end()) {
        call->wrong(CUDA_ERROR_INVALID_VALUE, "%s: parameter %d is %#zx, where no block is", kernel.name, i, word);
        return false;
      }
      if (!call->has(word, 0)) return false;
      uses->push_back(reinterpret_cast<const void*>(block->first));
    }
  }
  return true;
}

void run_kernel(CUcontext context, const Kernel& kernel, Size grid, Size block, size_t shared, const std::string& bytes) {
  std::vector<void*> values;
  size_t at = 0;
  struct alignas(16) Sixteen {
    char bytes[16];
  };
  std::vector<Sixteen> places(bytes.size() / 16 + 1);
  std::memcpy(places.data(), bytes.data(), bytes.size());
  for (int i = 0; i < kernel.n_parameters; ++i) {
    values.push_back(places[at / 16].bytes);
    at += up(kernel.sizes[i], 16);
  }
  const char* const said = kernel.launch(kernel.name, kernel.run, grid, block, shared, values.data());
  if (!said) return;
  tell("a kernel", "%s", said);
  context->broken = std::strstr(said, "illegal address")      ? CUDA_ERROR_ILLEGAL_ADDRESS
                    : std::strstr(said, "misaligned address") ? CUDA_ERROR_MISALIGNED_ADDRESS
                                                              : CUDA_ERROR_LAUNCH_FAILED;
}

}  // namespace

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned shared, CUstream stream, void** parameters, void** extra) {
  CALL(cuLaunchKernel);
  if (!call.has(function)) return call.code;
  const CUmodule module = function->module;
  if (!call.has(s.modules, module, "module") || !call.has(&stream)) return call.code;
  const Kernel& kernel = *function->kernel;
  const Size grid{grid_x, grid_y, grid_z}, block{block_x, block_y, block_z};
  if (!grid.x || grid.x > 0x7fffffff || !grid.y || grid.y > 65535 || !grid.z || grid.z > 65535 || extra) {
    return call.wrong(CUDA_ERROR_INVALID_VALUE, "%s: a grid of (%u, %u, %u)", kernel.name, grid.x, grid.y, grid.z);
  }
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  if (!threads || block.x > 1024 || block.y > 1024 || block.z > 64 || threads > 1024) {
    return call.wrong(CUDA_ERROR_INVALID_VALUE, "%s: a block of (%u, %u, %u)", kernel.name, block.x, block.y, block.z);
  }
  if (threads > static_cast<uint64_t>(kernel.most_threads)) {
    return call.wrong(CUDA_ERROR_INVALID_VALUE, "%s: a block of %llu, beyond its launch bounds", kernel.name,
                      (unsigned long long)threads);
  }
  if (shared > static_cast<unsigned>(function->most_dynamic)) {
    return call.wrong(CUDA_ERROR_INVALID_VALUE, "%s: %u bytes of shared memory", kernel.name, shared);
  }
  std::string bytes;
  std::vector<const void*> uses{module};
  if (!take_parameters(&call, kernel, parameters, &bytes, &uses)) return call.code;
  ++s.launches;
  return give_checked(stream, kernel.name, uses,
                      [=, context = current, k = &kernel] { run_kernel(context, *k, grid, block, shared, bytes); });
}

// ---- graphs

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  CALL(cuStreamBeginCapture);
  if (!stream) return call.wrong(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "stream 0 cannot capture");
  if (!call.has(&stream)) return call.code;
  if (stream->captured) return call.wrong(CUDA_ERROR_INVALID_VALUE, "the stream captures already");
  auto* const graph = new CUgraph_st{current, {}, stream, {stream}, mode, std::this_thread::get_id()};
  s.captures.insert(stream->captured = graph);
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  CALL(cuStreamIsCapturing);
  if (!call.has(&stream)) return call.code;
  *status = !stream->captured           ? CU_STREAM_CAPTURE_STATUS_NONE
            : stream->captured->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                        : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* made) {
  CALL(cuStreamEndCapture);
  *made = nullptr;
  if (!call.has(&stream)) return call.code;
  const CUgraph graph = stream->captured;
  if (!graph) return call.wrong(CUDA_ERROR_INVALID_VALUE, "the stream does not capture");
  if (graph->origin != stream) return call.wrong(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "another stream began the capture");
  if (graph->mode != CU_STREAM_CAPTURE_MODE_RELAXED && graph->thread != std::this_thread::get_id()) {
    return call.wrong(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "another thread began the capture");
  }
  bool joined = true;
  for (CUstream other : graph->streams) {
    joined = joined && (other == stream || other->joined);
    other->captured = nullptr, other->joined = true;
  }
  s.captures.erase(graph);
  if (graph->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!joined) return call.wrong(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "a stream that joined was not waited for");
  s.graphs.insert(*made = graph);
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  CALL(cuGraphInstantiate);
  if (!call.has(s.graphs, graph, "graph")) return call.code;
  s.executables.insert(*executable = new CUgraphExec_st{current, graph->operations});
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  CALL(cuGraphLaunch);
  if (!call.has(s.executables, executable, "executable graph") || !call.has(&stream)) return call.code;
  for (const Operation& operation : executable->operations) give(stream, operation);
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
  CALL(cuGraphDestroy);
  if (!call.has(s.graphs, graph, "graph")) return call.code;
  s.graphs.erase(graph);
  graph->operations.clear();
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
  CALL(cuGraphExecDestroy);
  if (!call.has(s.executables, executable, "executable graph")) return call.code;
  s.executables.erase(executable);
  executable->operations.clear();
  return CUDA_SUCCESS;
}

}  // extern "C"

// ---- for libraries.cpp

void standin::tell(const char* function, const char* why) {
  const std::lock_guard<std::recursive_mutex> guard(state().lock);
  ::tell(function, "%s", why);
}

bool standin::has_context() { return current && current->references && current->broken == CUDA_SUCCESS; }

CUresult standin::queue(const char* function, CUstream stream, const Range* ranges, int n, std::function<void()> run) {
  Call call(function);
  if (!call || !call.has(&stream)) return call.code;
  std::vector<const void*> uses;
  for (int i = 0; i < n; ++i) {
    const void* block = nullptr;
    if (ranges[i].bytes && !call.has(reinterpret_cast<CUdeviceptr>(ranges[i].memory), ranges[i].bytes, &block)) return call.code;
    if (block) uses.push_back(block);
  }
  return give_checked(stream, function, uses, std::move(run));
}
