// No C++ exception may leave the core for Python, which is C: every function that Python is given, in a table of methods, a slot or
// a vectorcall, is given as guarded<f>. It costs nothing until something is thrown. Without the GIL it takes the turn (locks.h).
#pragma once
#include <type_traits>

#include "core/python.h"

namespace rushlight {

// Makes Python's exception of the C++ one that is being handled: MemoryError of bad_alloc, RuntimeError of any other.
[[gnu::cold]] void raise_caught() noexcept;

template <typename R>
[[gnu::cold, gnu::noinline]] R failed() noexcept {
  raise_caught();
  if constexpr (std::is_pointer_v<R>) {
    return nullptr;
  } else if constexpr (std::is_void_v<R>) {
    PyErr_WriteUnraisable(nullptr);
  } else {
    return static_cast<R>(-1);
  }
}

// What a function does as Python calls it: it takes the turn (locks.h). The collector's visits do not: while they are made, no
// other thread runs.
struct Visit {
  Visit() {}  // NOLINT: as TakeTurn
};
template <auto f>
using Entry = std::conditional_t<std::is_convertible_v<decltype(f), traverseproc>, Visit, TakeTurn>;

template <auto f>
struct Guarded;
template <typename R, typename... Args, R (*f)(Args...)>
struct Guarded<f> {
  static R call(Args... args) noexcept {
    try {
      const Entry<f> here;
      return f(args...);
    } catch (...) {
      return failed<R>();
    }
  }
};
template <auto f>
inline constexpr auto guarded = &Guarded<f>::call;

// A guarded function, of the type that tables of methods and slots hold.
template <auto f>
PyCFunction method_of() {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(guarded<f>));
}
template <auto f>
void* slot_of() {
  return reinterpret_cast<void*>(guarded<f>);
}

}  // namespace rushlight
