#include "devices/device.h"

#ifndef _WIN32
#include <pthread.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace rushlight::devices {

namespace {

constexpr size_t kStaged = size_t{16} << 20;  // bytes of the host's memory that devices copy from

// The host's writes, one behind the other in a ring: a device reads them later.
struct Staging {
  char* memory = nullptr;
  uint64_t written = 0, done = 0;  // bytes so far; the device has read all before `done`

  // Room for some bytes, or nullptr where the device has not read enough.
  char* room(size_t bytes) {
    const size_t at = written % kStaged, skipped = at + bytes > kStaged ? kStaged - at : 0;
    if (written + skipped + bytes > done + kStaged) return nullptr;
    written += skipped + bytes;
    return memory + (written - bytes) % kStaged;
  }
};

using Free = std::map<size_t, std::vector<void*>>;  // blocks that nobody uses, by capacity

struct Slot {
  std::unique_ptr<Device> device;
  Free free;
  Counts counts{};
  Staging staging;
  int capturing = 0;  // the number of the graph
};

// Launches of a capture. Dropped: handle is nullptr and the pool is empty.
struct Graph {
  int device;
  void* handle = nullptr;
  Free pool;
};

struct Kernel {
  int device;
  void* handle;
};

struct Program {
  void* handle = nullptr;
  std::string binary;  // of what was compiled, until the first kernel is found in it
};

struct State {
  std::mutex lock, building, opening;  // `building` and `opening` are taken first
  Slot slots[kKinds * kOfAKind];
  bool opened[kKinds] = {};
  std::vector<Kernel> kernels;
  std::map<std::string, Program> programs;  // guarded by `building`
  std::map<std::string, int> kernel_numbers;
  std::map<int, Graph> graphs;
  int last_graph = 0;
};

// Never destroyed: tensors may outlive the order in which static objects go.
State& state() {
  static State* const made = new State;
  return *made;
}

// In a child of a process that had opened a library: a driver does not work there.
std::atomic<bool> forked;

std::atomic<bool> as_cuda;

Slot& slot_of(int device) {
  if (forked.load(std::memory_order_relaxed)) {
    throw Failure("Cannot re-initialize " + title(device) + " in forked subprocess. To use " + title(device) +
                  " with multiprocessing, you must use the 'spawn' start method");
  }
  if (!facts_of(device)) throw Failure("there is no accelerator of the number " + std::to_string(device));
  return state().slots[static_cast<size_t>(device)];
}

// Rounds a block's size up by at most an eighth, so that a freed block fits the next like size.
size_t rounded(size_t bytes) {
  size_t step = 512;
  while (step * 16 <= bytes) step *= 2;
  return (bytes + step - 1) / step * step;
}

void not_while_capturing(const Slot& s) {
  if (!s.capturing) return;
  throw Failure(
      "CUDA error: operation not permitted when stream is capturing\nThe program waits for the device, or copies to or from the "
      "host, inside torch.cuda.graph(): nothing is computed there, so no value can be read. A call that is made for the first time "
      "may "
      "have to copy as well: make it once before.");
}

void release_kept(Slot& s) {
  not_while_capturing(s);
  s.device->finish();
  for (auto& [capacity, list] : s.free) {
    for (; !list.empty(); s.counts.kept -= capacity) {
      void* const memory = list.back();
      list.pop_back();  // first: nobody gets memory that the driver failed to take back
      s.device->release(memory);
    }
  }
  s.free.clear();
}

thread_local uint64_t queued_here = 0;

std::string mib(uint64_t n) { return std::to_string((n + (1 << 19)) >> 20) + " MiB"; }

}  // namespace

uint64_t queued() { return queued_here; }

bool shown_as_cuda() { return as_cuda.load(std::memory_order_relaxed); }
bool show_as_cuda(bool on) { return as_cuda.exchange(on); }
std::string title(int device) { return device >= kOfAKind || shown_as_cuda() ? "CUDA" : "OpenCL"; }

void open(Kind kind, const std::string& libraries) {
  State& s = state();
  const int first = static_cast<int>(kind) * kOfAKind;
  const std::lock_guard<std::mutex> opening(s.opening);
  bool& opened = s.opened[static_cast<int>(kind)];
  if (opened) return;
  std::vector<std::unique_ptr<Device>> found = kind == Kind::Cuda ? open_cuda(libraries) : open_opencl(libraries);
  if (found.empty()) throw Failure(libraries + " has no device");
  found.resize(std::min<size_t>(found.size(), kOfAKind));
  const std::lock_guard<std::mutex> guard(s.lock);
  for (size_t i = 0; i < found.size(); ++i) s.slots[static_cast<size_t>(first) + i].device = std::move(found[i]);
  opened = true;
#ifndef _WIN32
  pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
#endif
}

const Facts* facts_of(int device) {
  if (device < 0 || device >= kKinds * kOfAKind) return nullptr;
  const Slot& s = state().slots[static_cast<size_t>(device)];
  return s.device ? &s.device->facts : nullptr;
}

Device& driver_of(int device) {
  ++queued_here;  // what the caller does with a driver is not seen here
  return *slot_of(device).device;
}

uint64_t free_memory(int device) {
  const Slot& s = slot_of(device);
  const uint64_t known = s.device->free_memory(), total = s.device->facts.memory, kept = counts(device).kept;
  return known ? known : total > kept ? total - kept : 0;
}

Block take(int device, size_t bytes) {
  Slot& s = slot_of(device);
  if (bytes == 0) return Block{nullptr, 0, 0, device};
  const std::lock_guard<std::mutex> guard(state().lock);
  const Facts& facts = s.device->facts;
  const size_t capacity = rounded(bytes);
  void* memory = nullptr;
  Free& free = s.capturing ? state().graphs[s.capturing].pool : s.free;
  if (auto list = free.find(capacity); list != free.end() && !list->second.empty()) {
    memory = list->second.back();
    list->second.pop_back();
  } else {
    for (int attempt = 0; attempt < (s.capturing ? 1 : 2) && !memory; ++attempt) {
      if (attempt) {
        release_kept(s);
        s.counts.retries += 1;
      }
      if (capacity <= facts.largest_block && s.counts.kept + capacity <= facts.memory) memory = s.device->allocate(capacity);
    }
    if (!memory) {
      s.counts.lacks += 1;
      throw OutOfMemory(title(device) + " out of memory. Tried to allocate " + mib(bytes) + ". Device " +
                        std::to_string(device % kOfAKind) + " (" + facts.name + ") has a total capacity of " + mib(facts.memory) +
                        ", blocks of at most " + mib(facts.largest_block) + ", and " + mib(s.counts.in_use) +
                        " in use by tensors.");
    }
    s.counts.kept += capacity;
    s.counts.most_kept = std::max(s.counts.most_kept, s.counts.kept);
  }
  s.counts.in_use += capacity;
  s.counts.allocations += 1;
  s.counts.most_in_use = std::max(s.counts.most_in_use, s.counts.in_use);
  return Block{memory, bytes, capacity, device, s.capturing};
}

void give(const Block& block) {
  if (!block.memory || forked.load(std::memory_order_relaxed)) return;
  const std::lock_guard<std::mutex> guard(state().lock);
  Slot& s = state().slots[static_cast<size_t>(block.device)];
  const auto graph = state().graphs.find(block.pool);
  (graph == state().graphs.end() ? s.free : graph->second.pool)[block.capacity].push_back(block.memory);
  s.counts.in_use -= block.capacity;
}

void give_back_kept(int device) {
  Slot& s = slot_of(device);
  const std::lock_guard<std::mutex> guard(state().lock);
  release_kept(s);
}

Counts counts(int device) {
  Slot& s = slot_of(device);
  const std::lock_guard<std::mutex> guard(state().lock);
  return s.counts;
}

void reset_most(int device) {
  Slot& s = slot_of(device);
  const std::lock_guard<std::mutex> guard(state().lock);
  s.counts.most_in_use = s.counts.in_use;
  s.counts.most_kept = s.counts.kept;
}

namespace {

// Runs a call that waits for the whole queue: the device has read then what was staged before.
template <class Wait>
void waiting(Slot& s, const Wait& wait) {
  uint64_t before;
  {
    const std::lock_guard<std::mutex> guard(state().lock);
    not_while_capturing(s);
    before = s.staging.written;
  }
  wait();
  const std::lock_guard<std::mutex> guard(state().lock);
  s.staging.done = std::max(s.staging.done, before);
}

}  // namespace

void read(const Block& from, size_t at, void* to, size_t bytes) {
  ++queued_here;
  if (!bytes) return;
  Slot& s = slot_of(from.device);
  waiting(s, [&] { s.device->read(from.memory, at, to, bytes); });
}

void write(const Block& to, size_t at, const void* from, size_t bytes) {
  ++queued_here;
  Slot& s = slot_of(to.device);
  const char* source = static_cast<const char*>(from);
  while (bytes) {
    const size_t part = std::min(bytes, kStaged / 4);
    {
      const std::lock_guard<std::mutex> guard(state().lock);
      not_while_capturing(s);
      if (!s.staging.memory) s.staging.memory = s.device->host_memory(kStaged);
      if (char* room = s.staging.room(part)) {
        std::memcpy(room, source, part);
        s.device->write(to.memory, at, room, part);
        source += part, at += part, bytes -= part;
        continue;
      }
    }
    finish(to.device);
  }
}

void copy(const Block& from, size_t from_at, const Block& to, size_t to_at, size_t bytes) {
  ++queued_here;
  if (bytes) slot_of(from.device).device->copy(from.memory, from_at, to.memory, to_at, bytes);
}

void finish(int device) {
  Slot& s = slot_of(device);
  waiting(s, [&] { s.device->finish(); });
}

int kernel(int device, const std::string& text, const std::string& options, const std::string& name, std::string* binary) {
  Device& d = *slot_of(device).device;
  State& s = state();
  const std::string program_key = std::to_string(device) + "\n" + options + "\n" + text, key = name + "\n" + program_key;
  const std::lock_guard<std::mutex> building(s.building);  // launches go on meanwhile
  {
    const std::lock_guard<std::mutex> guard(s.lock);
    if (const auto found = s.kernel_numbers.find(key); found != s.kernel_numbers.end()) return found->second;
  }
  Program& program = s.programs[program_key];
  if (!program.handle && !binary->empty()) program.handle = d.load(*binary, options);
  binary->clear();
  if (!program.handle) program.handle = d.compile(text, options, name, &program.binary);
  void* const made = d.find(program.handle, name);
  binary->swap(program.binary);
  const std::lock_guard<std::mutex> guard(s.lock);
  s.kernels.push_back(Kernel{device, made});
  return s.kernel_numbers[key] = static_cast<int>(s.kernels.size()) - 1;
}

void launch(int kernel, size_t items, size_t group, const std::vector<Argument>& arguments) {
  if (!items) return;
  ++queued_here;
  State& s = state();
  // Without the lock, which a thread of the process before may have had.
  if (forked.load(std::memory_order_relaxed)) slot_of(s.kernels.at(static_cast<size_t>(kernel)).device);
  const std::lock_guard<std::mutex> guard(s.lock);  // drivers may set a kernel's arguments one by one
  const Kernel k = s.kernels.at(static_cast<size_t>(kernel));
  Slot& slot = slot_of(k.device);
  size_t bytes = 0;
  for (const Argument& argument : arguments) bytes += argument.size;
  if (bytes > slot.device->facts.most_arguments) throw Failure("a kernel has " + std::to_string(bytes) + " bytes of arguments");
  const size_t groups = (items + group - 1) / group;
  if (slot.device->launch(k.handle, groups, group, arguments)) return;
  release_kept(slot);  // some drivers take a buffer's memory when a kernel first needs the buffer
  if (!slot.device->launch(k.handle, groups, group, arguments)) {
    throw OutOfMemory(title(k.device) + " out of memory. A kernel could not be started.");
  }
}

void begin_capture(int device) {
  Slot& s = slot_of(device);
  State& all = state();
  const std::lock_guard<std::mutex> guard(all.lock);
  not_while_capturing(s);
  s.device->begin_capture();
  s.capturing = ++all.last_graph;
  all.graphs[s.capturing].device = device;
}

int end_capture(int device) {
  Slot& s = slot_of(device);
  State& all = state();
  int number = 0;
  try {
    const std::lock_guard<std::mutex> guard(all.lock);
    if (!s.capturing) throw Failure("CUDA error: no graph is being captured");
    number = std::exchange(s.capturing, 0);
    all.graphs[number].handle = s.device->end_capture();
  } catch (...) {
    drop_graph(number);
    throw;
  }
  return number;
}

namespace {

Graph& graph_at(int number) {
  const auto found = state().graphs.find(number);
  if (found == state().graphs.end() || !found->second.handle)
    throw Failure("CUDA error: this graph was not captured, or is dropped");
  return found->second;
}

}  // namespace

void replay(int graph) {
  const std::lock_guard<std::mutex> guard(state().lock);
  const Graph& g = graph_at(graph);
  slot_of(g.device).device->replay(g.handle);
}

void drop_graph(int graph) {
  if (forked.load(std::memory_order_relaxed)) return;
  State& all = state();
  const std::lock_guard<std::mutex> guard(all.lock);
  const auto found = all.graphs.find(graph);
  if (found == all.graphs.end()) return;
  Slot& s = slot_of(found->second.device);
  for (auto& [capacity, list] : found->second.pool) {
    std::vector<void*>& free = s.free[capacity];
    free.insert(free.end(), list.begin(), list.end());
  }
  void* const handle = found->second.handle;
  all.graphs.erase(found);
  if (handle) s.device->drop_graph(handle);
}

namespace {

[[noreturn]] void only_cuda() {
  throw Failure("events, graphs and attributes are of CUDA's devices; OpenCL's have one queue and no marks in it");
}

}  // namespace

int Device::attribute(int) const { only_cuda(); }
void* Device::new_event(bool) { only_cuda(); }
void Device::drop_event(void*) { only_cuda(); }
void Device::record(void*) { only_cuda(); }
bool Device::is_done(void*) { only_cuda(); }
void Device::wait_for(void*) { only_cuda(); }
float Device::milliseconds(void*, void*) { only_cuda(); }
bool Device::is_idle() { only_cuda(); }
void Device::begin_capture() { only_cuda(); }
void* Device::end_capture() { only_cuda(); }
void Device::replay(void*) { only_cuda(); }
void Device::drop_graph(void*) { only_cuda(); }

}  // namespace rushlight::devices
