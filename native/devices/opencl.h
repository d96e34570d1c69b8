// A device that OpenCL gives: memory, copies, programs and kernels. The library is opened at run time. Nothing here knows Python.
//
// All functions throw Failure. Work is queued in order, so memory that is given back may be taken again at once: what was queued
// before is done before. Calls are safe from several threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace rushlight::opencl {

struct Failure : std::runtime_error {
  explicit Failure(const std::string& text) : std::runtime_error(text) {}
};
// Too little memory on the device, after all that was kept for later was given back.
struct OutOfMemory : Failure {
  using Failure::Failure;
};

// Whether messages call the devices CUDA's, as programs do that are run with them in CUDA's place.
bool shown_as_cuda();
bool show_as_cuda(bool on);  // what it was

struct Facts {
  std::string name, vendor, version, driver;
  uint64_t memory;
  size_t largest_block, largest_group;
  bool has_double, is_cpu;
};

// Opens a library: a loader (libOpenCL) or a driver (such as PoCL's). Once more does nothing.
void open(const std::string& path);
// The devices of all platforms, GPUs first; empty where there is none.
const std::vector<Facts>& devices();

// Memory on a device, and how many bytes were asked for.
struct Block {
  void* memory;  // nullptr: of no bytes
  size_t bytes, capacity;
  int device;
};
Block take(int device, size_t bytes);
void give(const Block& block);
void give_back_kept(int device);  // what is kept for later goes to the system

struct Counts {
  uint64_t in_use, most_in_use, kept, most_kept, allocations;
};
Counts counts(int device);
void reset_most(int device);

// Copies of bytes. One to the host is done when it returns, and all that was queued before; `from` of one from the host may be changed
// then: small ones are copied aside and wait for nothing.
void read(const Block& from, size_t at, void* to, size_t bytes);
void write(const Block& to, size_t at, const void* from, size_t bytes);
void copy(const Block& from, size_t from_at, const Block& to, size_t to_at, size_t bytes);
void finish(int device);

// A kernel of a text, compiled at the first call; later calls find it. A number for `launch`.
// `binary`: the driver's binary from an earlier process, or empty; afterwards a new binary, if any.
int kernel(int device, const std::string& text, const std::string& options, const std::string& name, std::string* binary);

struct Argument {
  size_t size;
  const void* value;  // of memory: Block::memory's address
};
// Queues `items` work items, in groups of `group`.
void launch(int kernel, size_t items, size_t group, const std::vector<Argument>& arguments);

}  // namespace rushlight::opencl
