// A storage: one block of memory that tensors show, and who keeps it alive. Counted by hand, because views and temporaries come and
// go by the million; a Python object stands for it only where somebody asks (storage.cpp).
//
// Note [Pins]: `resize_` and `set_` may give a storage another block while a kernel runs without the GIL, or while an ndarray shows
// it. Whoever needs the block beyond that holds a pin; memory that was replaced meanwhile is freed with the last one.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/python.h"

namespace rushlight {

// The first accelerator, and with the numbers above it the others (devices/device.h).
enum class DeviceType : uint8_t { Cpu, Meta, Accelerator };
constexpr int kMostAccelerators = 16;
#ifdef __EMSCRIPTEN__  // no browser lends one: what is for them alone is left out by the compiler
inline bool is_accelerator(DeviceType) { return false; }
#else
inline bool is_accelerator(DeviceType device) { return device >= DeviceType::Accelerator; }
#endif
inline int accelerator_number(DeviceType device) { return static_cast<int>(device) - static_cast<int>(DeviceType::Accelerator); }
inline DeviceType accelerator_at(int number) { return static_cast<DeviceType>(static_cast<int>(DeviceType::Accelerator) + number); }
const char* device_name(DeviceType device);

struct alignas(64) Storage {
  enum Flag : uint8_t {
    kForeign = 1,  // somebody else's memory: perhaps not aligned, and it cannot grow
    kReadOnly = 2,  // ... that may not be written
    kFixed = 4,  // a program has its address (numpy()): it cannot grow
    kPrivate = 8,  // foreign, but nobody else's: what NumPy made here. It can grow
    kConstant = 16,  // of the library, which never writes it again
    kPinned = 32,  // said to be copied to devices without waiting
  };
  std::atomic<Py_ssize_t> references;
  char* data;  // nullptr: nothing in it, or a device without memory. Of an accelerator: no address, see accelerator.h
  size_t nbytes;
  size_t capacity;  // of a block of its own: what the allocator was asked for
  PyObject* owner;  // strong: keeps foreign memory (an ndarray, a capsule, ...)
  PyObject* object;  // weak: the UntypedStorage that stands for it (untyped_storage.cpp)
  std::atomic<int32_t> pins;
  DeviceType device;
  uint8_t flags;
  uint16_t inline_bytes;  // of a small storage: its first block follows this header
  struct Retired* retired;  // replaced blocks, freed with the last pin

  bool is_resizable() const { return !(flags & kFixed) && (!(flags & kForeign) || flags & kPrivate); }
  bool is_inline() const { return data == reinterpret_cast<const char*>(this + 1); }
};
static_assert(sizeof(Storage) == 64, "the block of a small storage begins at its next 64 bytes");

// Uninitialised memory with one reference; nullptr with torch's exception where there is none.
Storage* new_storage(size_t nbytes, DeviceType device = DeviceType::Cpu);
// Memory of `owner`, whose reference is taken over, also on failure.
Storage* foreign_storage(char* data, size_t nbytes, bool writeable, PyObject* owner);
// Another size, with the bytes that both have kept; a smaller one keeps its block, and gives the pages back. -1 with torch's exception.
int resize_storage(Storage* s, size_t nbytes);
// The bytes go to memory of `owner`, whose reference is taken over, also on failure; the storage cannot grow then. -1 with torch's
// exception.
int move_storage(Storage* s, char* data, size_t capacity, PyObject* owner);
void free_storage(Storage* s);
void unpin_last(Storage* s);
void raise_out_of_memory(size_t nbytes);

inline Storage* hold(Storage* s) {
  count<Py_ssize_t>(s->references, 1);
  return s;
}
inline void drop(Storage* s) {
  if (s && count<Py_ssize_t>(s->references, -1) == 1) free_storage(s);
}

// A pin with scope; needs the GIL at both ends.
class Pinned {
 public:
  Pinned() = default;
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() { release(); }
  void take(Storage* s) {
    release();
    s_ = hold(s);
    count(s->pins, 1);
  }
  Storage* storage() const { return s_; }

 private:
  void release() {
    if (!s_) return;
    if (count(s_->pins, -1) == 1 && s_->retired) unpin_last(s_);
    drop(s_);
    s_ = nullptr;
  }
  Storage* s_ = nullptr;
};

}  // namespace rushlight
