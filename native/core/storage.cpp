#include "core/storage.h"

#include <cstring>
#include <new>
#include <utility>

#include "memory/allocator.h"

namespace rushlight {

// A replaced block, until the last pin goes.
struct Retired {
  Retired* next;
  char* data;
  size_t capacity;
  PyObject* owner;  // of foreign memory, else nullptr
};

namespace {

constexpr size_t kHeader = sizeof(Storage);
constexpr size_t kInlineBytes = 1024 - kHeader;  // header and block fill one of the allocator's fine classes at most

Storage* header() {
  void* memory = memory::take(kHeader);
  return memory ? new (memory) Storage{} : nullptr;
}

}  // namespace

void raise_out_of_memory(size_t nbytes) {
  PyErr_Format(
      PyExc_RuntimeError,
      "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate %zu "
      "bytes. Error code 12 (Cannot allocate memory)",
      nbytes);
}

Storage* new_storage(size_t nbytes, DeviceType device) {
  Storage* s;
  if (nbytes <= kInlineBytes && device == DeviceType::Cpu) {
    void* memory = memory::take(kHeader + nbytes);
    if (!memory) {
      raise_out_of_memory(nbytes);
      return nullptr;
    }
    s = static_cast<Storage*>(memory);
    s->references.store(1, std::memory_order_relaxed);
    s->data = static_cast<char*>(memory) + kHeader;
    s->nbytes = nbytes;
    s->capacity = 0;
    s->owner = s->object = nullptr;
    s->pins.store(0, std::memory_order_relaxed);
    s->device = DeviceType::Cpu;
    s->flags = 0;
    s->inline_bytes = static_cast<uint16_t>(nbytes);
    s->retired = nullptr;
    return s;
  }
  s = header();
  char* data = nullptr;
  if (s && device == DeviceType::Cpu) data = static_cast<char*>(memory::take(nbytes));
  if (!s || (!data && device == DeviceType::Cpu)) {
    if (s) memory::give(s, kHeader);
    raise_out_of_memory(nbytes);
    return nullptr;
  }
  s->references.store(1, std::memory_order_relaxed);
  s->data = data;
  s->nbytes = s->capacity = nbytes;
  s->device = device;
  return s;
}

Storage* foreign_storage(char* data, size_t nbytes, bool writeable, PyObject* owner) {
  Storage* s = header();
  if (!s) {
    Py_XDECREF(owner);
    raise_out_of_memory(kHeader);
    return nullptr;
  }
  s->references.store(1, std::memory_order_relaxed);
  s->data = data;
  s->nbytes = s->capacity = nbytes;
  s->owner = owner;
  s->flags = static_cast<uint8_t>(Storage::kForeign | (writeable ? 0 : Storage::kReadOnly));
  return s;
}

namespace {

void free_retired(Storage* s) {
  for (Retired* r = std::exchange(s->retired, nullptr); r;) {
    Retired* next = r->next;
    PyObject* owner = r->owner;
    if (!owner) memory::give(r->data, r->capacity);
    memory::give(r, sizeof(Retired));
    Py_XDECREF(owner);
    r = next;
  }
}

}  // namespace

void free_storage(Storage* s) {
  free_retired(s);
  PyObject* owner = s->owner;
  if (s->data && !s->is_inline() && !(s->flags & Storage::kForeign)) memory::give(s->data, s->capacity);
  memory::give(s, kHeader + s->inline_bytes);
  Py_XDECREF(owner);  // last: it may run code
}

void unpin_last(Storage* s) { free_retired(s); }

int resize_storage(Storage* s, size_t nbytes) {
  if (nbytes == s->nbytes) return 0;
  if (s->device != DeviceType::Cpu) {
    s->nbytes = nbytes;
    return 0;
  }
  if (!s->is_resizable()) {
    PyErr_SetString(PyExc_RuntimeError, "Trying to resize storage that is not resizable");
    return -1;
  }
  // A smaller storage keeps its block: tensors that show more of it than is left are not told.
  if (nbytes <= (s->is_inline() ? s->inline_bytes : s->capacity)) {
    if (nbytes < s->nbytes && !s->is_inline() && !s->owner) memory::discard(s->data + nbytes, s->nbytes - nbytes);
    s->nbytes = nbytes;
    return 0;
  }
  char* data = static_cast<char*>(memory::take(nbytes));
  if (!data) {
    raise_out_of_memory(nbytes);
    return -1;
  }
  if (s->nbytes) std::memcpy(data, s->data, s->nbytes);
  const bool pinned = s->pins.load(std::memory_order_relaxed) != 0;
  const bool inline_block = s->is_inline();
  if (pinned && !inline_block) {
    void* note = memory::take(sizeof(Retired));
    if (!note) {
      memory::give(data, nbytes);
      raise_out_of_memory(sizeof(Retired));
      return -1;
    }
    s->retired = new (note) Retired{s->retired, s->data, s->capacity, std::exchange(s->owner, nullptr)};
  } else if (!inline_block && s->data && !s->owner) {
    memory::give(s->data, s->capacity);
  }
  PyObject* owner = std::exchange(s->owner, nullptr);
  s->data = data;
  s->nbytes = s->capacity = nbytes;
  s->flags &= static_cast<uint8_t>(~(Storage::kForeign | Storage::kPrivate));
  Py_XDECREF(owner);  // last: it may run code
  return 0;
}

}  // namespace rushlight
