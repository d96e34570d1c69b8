// What other libraries of CUDA's ask of the driver (libraries.cpp asks driver.cpp).
#pragma once
#include <cstddef>
#include <functional>

#include "declared.h"

namespace standin {

// Memory that queued work reads or writes.
struct Range {
  const void* memory;
  size_t bytes;
};
void tell(const char* function, const char* why);
bool has_context();
CUresult queue(const char* function, CUstream stream, const Range* ranges, int n, std::function<void()> run);

}  // namespace standin
