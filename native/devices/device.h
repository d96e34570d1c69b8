// Accelerators: memory, copies, programs and kernels, whichever driver gives them (opencl.cpp,
// cuda.cpp). Nothing here knows Python.
//
// All functions throw Failure. Work is queued in order, so memory that is given back may be taken
// again at once: what was queued before is done before. Calls are safe from several threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace rushlight::devices {

struct Failure : std::runtime_error {
  explicit Failure(const std::string& text) : std::runtime_error(text) {}
};
// Too little memory on the device, after all that was kept for later was given back.
struct OutOfMemory : Failure {
  using Failure::Failure;
};
// An error that the device itself met, such as an address that is none. CUDA's devices do nothing
// more in this process then.
struct Broken : Failure {
  using Failure::Failure;
};

// Devices have numbers: those of OpenCL from 0 on, those of CUDA's driver from kOfAKind on.
enum class Kind : uint8_t { OpenCL, Cuda };
constexpr int kKinds = 2, kOfAKind = 8;

struct Facts {
  std::string name, vendor, version, driver;
  uint64_t memory;
  size_t largest_block, largest_group;
  bool has_double, is_cpu;
  int warp = 0;  // work items that go in step, where texts may count on that
  int capability[2] = {0, 0}, processors = 1;  // of CUDA
  size_t most_arguments = 1024;  // bytes that a kernel's arguments may have
};

struct Argument {
  size_t size;
  const void* value;  // of memory: Block::memory's address; nullptr: no memory
};

// A device as its driver serves it. `memory`, `program` and `kernel` are the driver's own handles.
class Device {
 public:
  Facts facts;
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  virtual void* allocate(size_t bytes) = 0;  // nullptr: too little memory
  virtual void release(void* memory) = 0;
  virtual char* host_memory(size_t bytes) = 0;  // for `write`; kept for ever
  // Copies of bytes. `read` is done when it returns; what `write` reads stays as it is until the
  // queue was waited for.
  virtual void read(void* from, size_t at, void* to, size_t bytes) = 0;
  virtual void write(void* to, size_t at, const void* from, size_t bytes) = 0;
  virtual void copy(void* from, size_t from_at, void* to, size_t to_at, size_t bytes) = 0;
  virtual void finish() = 0;
  // A program of a text, or of what the driver made of the text in an earlier process; nullptr
  // where the driver refuses that.
  virtual void* compile(const std::string& text, const std::string& options, const std::string& name, std::string* binary) = 0;
  virtual void* load(const std::string& binary, const std::string& options) = 0;
  virtual void* find(void* program, const std::string& name) = 0;
  virtual bool launch(void* kernel, size_t groups, size_t group,
                      const std::vector<Argument>& arguments) = 0;  // false: too little memory

  // Bytes that no process has taken; 0 where the driver does not say.
  virtual uint64_t free_memory() { return 0; }
  // Of CUDA its stream, for calls of this thread to other libraries of NVIDIA's; else nullptr.
  virtual void* queue() { return nullptr; }
  virtual int attribute(int which) const;  // CU_DEVICE_ATTRIBUTE_...: CUDA's only

  // Marks in the queue, and what the queue was given between two points, to be run again. CUDA's
  // only.
  virtual void* new_event(bool timed);
  virtual void drop_event(void* event);
  virtual void record(void* event);
  virtual bool is_done(void* event);
  virtual void wait_for(void* event);  // the host does
  virtual float milliseconds(void* from, void* to);
  virtual bool is_idle();  // whether all that was queued is done
  virtual void begin_capture();
  virtual void* end_capture();  // a graph
  virtual void replay(void* graph);
  virtual void drop_graph(void* graph);
};

// How messages call a device's kind: OpenCL's are CUDA's in programs that are run with them in
// CUDA's place.
bool shown_as_cuda();
bool show_as_cuda(bool on);  // what it was
std::string title(int device);

// The devices of a library; of CUDA there are two libraries, apart by a line's end: the driver and
// NVRTC. Once more does nothing.
void open(Kind kind, const std::string& libraries);
// How many devices a driver of CUDA has, without opening them; 0 where there is none.
int count_cuda(const std::string& library);
const Facts* facts_of(int device);  // nullptr where there is no such device
Device& driver_of(int device);  // for events; Failure after a fork
uint64_t free_memory(int device);  // as far as the driver or this process knows

// Memory on a device, and how many bytes were asked for.
struct Block {
  void* memory;  // nullptr: of no bytes
  size_t bytes, capacity;
  int device;
  int pool = 0;  // of which graph, see `begin_capture`; 0: of none
};
Block take(int device, size_t bytes);
void give(const Block& block);
void give_back_kept(int device);  // what is kept for later goes to the system

struct Counts {
  uint64_t in_use, most_in_use, kept, most_kept, allocations, retries, lacks;
};
Counts counts(int device);
void reset_most(int device);

// Copies of bytes. One to the host is done when it returns, and all that was queued before. `from`
// of one from the host may be changed then: what the device has not read yet was copied aside.
void read(const Block& from, size_t at, void* to, size_t bytes);
void write(const Block& to, size_t at, const void* from, size_t bytes);
void copy(const Block& from, size_t from_at, const Block& to, size_t to_at, size_t bytes);
void finish(int device);

// A kernel of a text, compiled at the first call; later calls find it. A number for `launch`.
// `binary`: the driver's binary from an earlier process, or empty; afterwards a new binary, if any.
int kernel(int device, const std::string& text, const std::string& options, const std::string& name, std::string* binary);

// How often this thread gave or took something from a device: launches and copies; or asked for its
// driver.
uint64_t queued();

// Queues `items` work items, in groups of `group`.
void launch(int kernel, size_t items, size_t group, const std::vector<Argument>& arguments);

// Between the two calls the device computes nothing: the launches make a graph, which `replay` runs
// as often as is wanted. Tensors that were made meanwhile keep their places: their memory is
// of the graph's own pool, and goes to others when the graph is dropped. Whatever waits for the
// device throws meanwhile. One graph at a time.
void begin_capture(int device);
int end_capture(int device);  // a number
void replay(int graph);
void drop_graph(int graph);

// For the drivers' files.
std::vector<std::unique_ptr<Device>> open_opencl(const std::string& library);
std::vector<std::unique_ptr<Device>> open_cuda(const std::string& libraries);

}  // namespace rushlight::devices
