// The part of cuda.h and nvrtc.h that the stand-in needs. Where STANDIN_REAL_HEADERS is defined the real headers take its place, and
// the compiler compares signatures and numbers:
//   c++ -std=c++17 -fsyntax-only -Wmissing-declarations -D__CUDA_API_VERSION_INTERNAL -DSTANDIN_REAL_HEADERS -I... driver.cpp nvrtc.cpp
#pragma once
#include <cstddef>

// clang-format off
#define STANDIN_ERRORS(X)                                                                                               \
  X(SUCCESS, 0) X(ERROR_INVALID_VALUE, 1) X(ERROR_OUT_OF_MEMORY, 2) X(ERROR_NOT_INITIALIZED, 3) X(ERROR_NO_DEVICE, 100) \
  X(ERROR_INVALID_DEVICE, 101) X(ERROR_INVALID_IMAGE, 200) X(ERROR_INVALID_CONTEXT, 201) X(ERROR_INVALID_HANDLE, 400)   \
  X(ERROR_NOT_FOUND, 500) X(ERROR_NOT_READY, 600) X(ERROR_ILLEGAL_ADDRESS, 700) X(ERROR_LAUNCH_OUT_OF_RESOURCES, 701)   \
  X(ERROR_MISALIGNED_ADDRESS, 716) X(ERROR_LAUNCH_FAILED, 719) X(ERROR_STREAM_CAPTURE_UNSUPPORTED, 900)                 \
  X(ERROR_STREAM_CAPTURE_INVALIDATED, 901) X(ERROR_STREAM_CAPTURE_MERGE, 902) X(ERROR_STREAM_CAPTURE_UNMATCHED, 903)    \
  X(ERROR_STREAM_CAPTURE_UNJOINED, 904) X(ERROR_STREAM_CAPTURE_ISOLATION, 905) X(ERROR_CAPTURED_EVENT, 907)             \
  X(ERROR_STREAM_CAPTURE_WRONG_THREAD, 908)

// An attribute of the device, and what the stand-in says.
#define STANDIN_ATTRIBUTES(X)                                                                                          \
  X(MAX_THREADS_PER_BLOCK, 1, 1024) X(MAX_BLOCK_DIM_X, 2, 1024) X(MAX_BLOCK_DIM_Y, 3, 1024) X(MAX_BLOCK_DIM_Z, 4, 64)  \
  X(MAX_GRID_DIM_X, 5, 0x7fffffff) X(MAX_GRID_DIM_Y, 6, 65535) X(MAX_GRID_DIM_Z, 7, 65535)                             \
  X(MAX_SHARED_MEMORY_PER_BLOCK, 8, kStaticShared) X(TOTAL_CONSTANT_MEMORY, 9, 65536) X(WARP_SIZE, 10, 32)             \
  X(MAX_REGISTERS_PER_BLOCK, 12, 65536) X(CLOCK_RATE, 13, 1000000) X(MULTIPROCESSOR_COUNT, 16, 4) X(INTEGRATED, 18, 0) \
  X(COMPUTE_MODE, 20, 0) X(CONCURRENT_KERNELS, 31, 1) X(PCI_BUS_ID, 33, 1) X(PCI_DEVICE_ID, 34, 0)                     \
  X(PCI_DOMAIN_ID, 50, 0) X(MEMORY_CLOCK_RATE, 36, 1000000) X(GLOBAL_MEMORY_BUS_WIDTH, 37, 128)                        \
  X(L2_CACHE_SIZE, 38, 1 << 20) X(MAX_THREADS_PER_MULTIPROCESSOR, 39, 2048) X(UNIFIED_ADDRESSING, 41, 1)               \
  X(COMPUTE_CAPABILITY_MAJOR, 75, 9) X(COMPUTE_CAPABILITY_MINOR, 76, 0)                                                \
  X(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81, 228 << 10) X(MAX_REGISTERS_PER_MULTIPROCESSOR, 82, 65536)                \
  X(MULTI_GPU_BOARD, 84, 0) X(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97, kMostShared)
// clang-format on

#ifdef STANDIN_REAL_HEADERS
#include <cuda.h>
#include <nvrtc.h>
#define X(name, number) static_assert(CUDA_##name == number);
STANDIN_ERRORS(X)
#undef X
#define X(name, number, value) static_assert(CU_DEVICE_ATTRIBUTE_##name == number);
STANDIN_ATTRIBUTES(X)
#undef X
#else

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;
struct CUuuid {
  char bytes[16];
};

#define X(name, number) CUDA_##name = number,
enum CUresult { STANDIN_ERRORS(X) };
#undef X
enum CUdevice_attribute : int {};
enum CUfunction_attribute {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9
};

enum CUstreamCaptureMode { CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED };
enum CUstreamCaptureStatus { CU_STREAM_CAPTURE_STATUS_NONE, CU_STREAM_CAPTURE_STATUS_ACTIVE, CU_STREAM_CAPTURE_STATUS_INVALIDATED };
enum { CU_STREAM_DEFAULT = 0, CU_STREAM_NON_BLOCKING = 1 };
enum { CU_EVENT_DEFAULT = 0, CU_EVENT_BLOCKING_SYNC = 1, CU_EVENT_DISABLE_TIMING = 2 };

enum nvrtcResult {
  NVRTC_SUCCESS,
  NVRTC_ERROR_OUT_OF_MEMORY,
  NVRTC_ERROR_PROGRAM_CREATION_FAILURE,
  NVRTC_ERROR_INVALID_INPUT,
  NVRTC_ERROR_INVALID_PROGRAM,
  NVRTC_ERROR_INVALID_OPTION,
  NVRTC_ERROR_COMPILATION
};
using nvrtcProgram = struct _nvrtcProgram*;
#endif

namespace standin {
// The code with which this call of a function is to fail, or 0 (standin_fail).
int planned(const char* function);
}  // namespace standin
