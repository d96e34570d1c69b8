// Memory for the time of a scope.
#pragma once
#include <concepts>

#include "kernels/dense.h"
#include "memory/allocator.h"

namespace rushlight {

// Room for some elements, from what the allocator keeps: aligned to lines of the cache, with
// kSlackBytes behind it. p is null where there is no memory. `count` is a double since sizes that
// fit into no memory are asked for as well.
template <class T = char>
struct Workspace {
  explicit Workspace(double count) {
    const double bytes = count * sizeof(T);
    if (bytes > 1e15) return;
    bytes_ = static_cast<size_t>(bytes) + kSlackBytes;
    p = static_cast<T*>(memory::take(bytes_));
  }
  explicit Workspace(std::integral auto count) : Workspace(static_cast<double>(count)) {}
  ~Workspace() {
    if (p) memory::give(p, bytes_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  T* p = nullptr;

 private:
  size_t bytes_ = 0;
};

}  // namespace rushlight
