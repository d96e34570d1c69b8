#include "core/storage.h"

#include <cstring>
#include <new>
#include <utility>

#include "core/accelerator.h"
#include "core/capture.h"
#include "memory/allocator.h"

namespace rushlight {

// A replaced block, until the last pin goes.
struct Retired {
  Retired* next;
  char* data;
  size_t capacity;
  PyObject* owner;  // of foreign memory, else nullptr
};

void raise_out_of_memory(size_t nbytes) {
  PyErr_Format(
      PyExc_RuntimeError,
      "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate %zu "
      "bytes. Error code 12 (Cannot allocate memory)",
      nbytes);
}

namespace {

constexpr size_t kHeader = sizeof(Storage);
constexpr size_t kInlineBytes = 1024 - kHeader;  // header and block fill one of the allocator's fine classes at most

// A storage with one reference, whose header has so many bytes behind it; nullptr with torch's exception where `wanted` is too much.
Storage* new_header(size_t inline_bytes, size_t wanted) {
  void* memory = memory::take(kHeader + inline_bytes);
  if (!memory) {
    raise_out_of_memory(wanted);
    return nullptr;
  }
  Storage* s = new (memory) Storage{};
  s->references.store(1, std::memory_order_relaxed);
  s->nbytes = wanted;
  s->inline_bytes = static_cast<uint16_t>(inline_bytes);
  return s;
}

}  // namespace

namespace {

Storage* new_memory(size_t nbytes, DeviceType device) {
  const bool on_cpu = device == DeviceType::Cpu, small = on_cpu && nbytes <= kInlineBytes;
  Storage* s = new_header(small ? nbytes : 0, nbytes);
  if (!s) return nullptr;
  s->device = device;
  if (small) {
    s->data = reinterpret_cast<char*>(s + 1);
    return s;
  }
  s->capacity = nbytes;
  if (is_accelerator(device) && !take_block(s, nbytes)) {
    memory::give(s, kHeader);
    return nullptr;
  }
  if (on_cpu && !(s->data = static_cast<char*>(memory::take(nbytes)))) {
    memory::give(s, kHeader);
    raise_out_of_memory(nbytes);
    return nullptr;
  }
  return s;
}

[[gnu::noinline]] Storage* captured_storage(size_t nbytes, DeviceType device) {
  if (tls.capture == Capturing::Replays) {
    if (Storage* planned = replayed_storage(nbytes)) return planned;
    return new_memory(nbytes, device);
  }
  Storage* s = new_memory(nbytes, device);
  if (s) record_storage(s);
  return s;
}

}  // namespace

Storage* new_storage(size_t nbytes, DeviceType device) {
  return __builtin_expect(tls.capture != Capturing::Off, 0) ? captured_storage(nbytes, device) : new_memory(nbytes, device);
}

Storage* foreign_storage(char* data, size_t nbytes, bool writeable, PyObject* owner) {
  Storage* s = new_header(0, nbytes);
  if (!s) {
    Py_XDECREF(owner);
    return nullptr;
  }
  s->data = data;
  s->capacity = nbytes;
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
  if (__builtin_expect(tls.capture != Capturing::Off, 0)) forget_storage(s);
  free_retired(s);
  PyObject* owner = s->owner;
  if (is_accelerator(s->device)) give_block(s);
  if (s->data && !s->is_inline() && !(s->flags & Storage::kForeign)) memory::give(s->data, s->capacity);
  memory::give(s, kHeader + s->inline_bytes);
  Py_XDECREF(owner);  // last: it may run code
}

void unpin_last(Storage* s) { free_retired(s); }

namespace {

// Another block with the bytes of the old block, which is freed with the last pin. Takes over
// `owner`, which may be nullptr. -1 with torch's exception, and nothing is changed.
int replace_block(Storage* s, char* data, size_t capacity, uint8_t flags, PyObject* owner) {
  const bool inline_block = s->is_inline();
  if (!inline_block && s->pins.load(std::memory_order_relaxed) != 0) {
    void* note = memory::take(sizeof(Retired));
    if (!note) {
      raise_out_of_memory(sizeof(Retired));
      return -1;
    }
    s->retired = new (note) Retired{s->retired, s->data, s->capacity, std::exchange(s->owner, nullptr)};
  }
  if (s->nbytes) std::memcpy(data, s->data, s->nbytes < capacity ? s->nbytes : capacity);
  const bool retired = s->retired && s->retired->data == s->data;
  if (!inline_block && s->data && !s->owner && !retired) memory::give(s->data, s->capacity);
  PyObject* before = std::exchange(s->owner, owner);
  s->data = data;
  s->capacity = capacity;
  s->flags = flags;
  note_metadata();
  Py_XDECREF(before);  // last: it may run code
  return 0;
}

}  // namespace

int move_storage(Storage* s, char* data, size_t capacity, PyObject* owner) {
  if (tls.capture != Capturing::Off) forget_storage(s);
  if (replace_block(s, data, capacity, Storage::kForeign | Storage::kFixed, owner) == 0) return 0;
  Py_DECREF(owner);
  return -1;
}

int resize_storage(Storage* s, size_t nbytes) {
  if (nbytes == s->nbytes) return 0;
  if (tls.capture != Capturing::Off) forget_storage(s);
  if (is_accelerator(s->device) && !resize_block(s, nbytes)) return -1;
  if (s->device != DeviceType::Cpu) {
    s->nbytes = nbytes;
    note_metadata();
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
  const uint8_t flags = s->flags & static_cast<uint8_t>(~(Storage::kForeign | Storage::kPrivate));
  if (replace_block(s, data, nbytes, flags, nullptr) < 0) {
    memory::give(data, nbytes);
    return -1;
  }
  s->nbytes = nbytes;
  return 0;
}

}  // namespace rushlight
