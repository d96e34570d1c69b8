// What the two files of the stand-in share, and CUDA's own declarations: of the real headers where STANDIN_REAL_HEADERS says so.
#pragma once
#ifdef STANDIN_REAL_HEADERS
#include <cuda.h>
#include <nvrtc.h>
#else
#include "declared.h"
#endif

namespace standin {
// The code with which this call of a function is to fail, or 0 (standin_fail).
int planned(const char* function);
}  // namespace standin
