// Functions and numbers of CUDA's libraries as this library declares them, since no header of CUDA's is needed to build. A pointer to
// one of their structs is a Handle here and an enum is a Code. `make cuda-check` compares every row with NVIDIA's headers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace rushlight::devices {

using Handle = void*;  // CUcontext, CUstream, CUevent, CUmodule, CUfunction, CUgraph, CUgraphExec, nvrtcProgram, cublasHandle_t ...
using Address = uint64_t;  // CUdeviceptr
using Code = int;  // CUresult, nvrtcResult, cublasStatus_t, cudnnStatus_t; arguments that are enums are int

// How cuDNN would compute a convolution: cudnnConvolutionFwdAlgoPerf_t and its two twins.
struct Algorithm {
  int algorithm;
  Code status;
  float time;
  size_t memory;
  int determinism, math, reserved[3];
};

// The names that the libraries export: where a call has a second version, cuda.h gives the call that name.
#define RUSHLIGHT_CUDA(X)                                                                                                       \
  X(cuInit, Code(unsigned))                                                                                                     \
  X(cuDriverGetVersion, Code(int*))                                                                                             \
  X(cuGetErrorName, Code(Code, const char**))                                                                                   \
  X(cuGetErrorString, Code(Code, const char**))                                                                                 \
  X(cuDeviceGetCount, Code(int*))                                                                                               \
  X(cuDeviceGet, Code(int*, int))                                                                                               \
  X(cuDeviceGetName, Code(char*, int, int))                                                                                     \
  X(cuDeviceGetAttribute, Code(int*, int, int))                                                                                 \
  X(cuDeviceTotalMem_v2, Code(size_t*, int))                                                                                    \
  X(cuDevicePrimaryCtxRetain, Code(Handle*, int))                                                                               \
  X(cuCtxSetCurrent, Code(Handle))                                                                                              \
  X(cuMemGetInfo_v2, Code(size_t*, size_t*))                                                                                    \
  X(cuMemAlloc_v2, Code(Address*, size_t))                                                                                      \
  X(cuMemFree_v2, Code(Address))                                                                                                \
  X(cuMemAllocHost_v2, Code(void**, size_t))                                                                                    \
  X(cuMemcpyHtoDAsync_v2, Code(Address, const void*, size_t, Handle))                                                           \
  X(cuMemcpyDtoHAsync_v2, Code(void*, Address, size_t, Handle))                                                                 \
  X(cuMemcpyDtoDAsync_v2, Code(Address, Address, size_t, Handle))                                                               \
  X(cuStreamCreate, Code(Handle*, unsigned))                                                                                    \
  X(cuStreamSynchronize, Code(Handle))                                                                                          \
  X(cuEventCreate, Code(Handle*, unsigned))                                                                                     \
  X(cuEventDestroy_v2, Code(Handle))                                                                                            \
  X(cuEventRecord, Code(Handle, Handle))                                                                                        \
  X(cuEventQuery, Code(Handle))                                                                                                 \
  X(cuEventSynchronize, Code(Handle))                                                                                           \
  X(cuEventElapsedTime, Code(float*, Handle, Handle))                                                                           \
  X(cuModuleLoadData, Code(Handle*, const void*))                                                                               \
  X(cuModuleGetFunction, Code(Handle*, Handle, const char*))                                                                    \
  X(cuLaunchKernel, Code(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**, void**)) \
  X(cuStreamBeginCapture_v2, Code(Handle, int))                                                                                 \
  X(cuStreamEndCapture, Code(Handle, Handle*))                                                                                  \
  X(cuGraphInstantiateWithFlags, Code(Handle*, Handle, unsigned long long))                                                     \
  X(cuGraphLaunch, Code(Handle, Handle))                                                                                        \
  X(cuGraphDestroy, Code(Handle))                                                                                               \
  X(cuGraphExecDestroy, Code(Handle))

#define RUSHLIGHT_NVRTC(X)                                                                                    \
  X(nvrtcCreateProgram, Code(Handle*, const char*, const char*, int, const char* const*, const char* const*)) \
  X(nvrtcDestroyProgram, Code(Handle*))                                                                       \
  X(nvrtcCompileProgram, Code(Handle, int, const char* const*))                                               \
  X(nvrtcGetCUBINSize, Code(Handle, size_t*))                                                                 \
  X(nvrtcGetCUBIN, Code(Handle, char*))                                                                       \
  X(nvrtcGetProgramLogSize, Code(Handle, size_t*))                                                            \
  X(nvrtcGetProgramLog, Code(Handle, char*))

#define RUSHLIGHT_CUBLAS(X)                                                                                                       \
  X(cublasCreate_v2, Code(Handle*))                                                                                               \
  X(cublasGetStatusName, const char*(Code))                                                                                       \
  X(cublasSetStream_v2, Code(Handle, Handle))                                                                                     \
  X(cublasSetWorkspace_v2, Code(Handle, void*, size_t))                                                                           \
  X(cublasSetMathMode, Code(Handle, int))                                                                                         \
  X(cublasGemmStridedBatchedEx, Code(Handle, int, int, int, int, int, const void*, const void*, int, int, long long, const void*, \
                                     int, int, long long, const void*, void*, int, int, long long, int, int, int))

using FindAlgorithms = Code(Handle, Handle, Handle, Handle, Handle, int, int*, Algorithm*);
using Convolve = Code(Handle, const void*, Handle, const void*, Handle, const void*, Handle, int, void*, size_t, const void*,
                      Handle, void*);

#define RUSHLIGHT_CUDNN(X)                                                                            \
  X(cudnnGetVersion, size_t())                                                                        \
  X(cudnnGetErrorString, const char*(Code))                                                           \
  X(cudnnCreate, Code(Handle*))                                                                       \
  X(cudnnSetStream, Code(Handle, Handle))                                                             \
  X(cudnnCreateTensorDescriptor, Code(Handle*))                                                       \
  X(cudnnCreateFilterDescriptor, Code(Handle*))                                                       \
  X(cudnnCreateConvolutionDescriptor, Code(Handle*))                                                  \
  X(cudnnSetTensorNdDescriptor, Code(Handle, int, int, const int*, const int*))                       \
  X(cudnnSetFilterNdDescriptor, Code(Handle, int, int, int, const int*))                              \
  X(cudnnSetConvolutionNdDescriptor, Code(Handle, int, const int*, const int*, const int*, int, int)) \
  X(cudnnSetConvolutionGroupCount, Code(Handle, int))                                                 \
  X(cudnnSetConvolutionMathType, Code(Handle, int))                                                   \
  X(cudnnGetConvolutionForwardAlgorithm_v7, FindAlgorithms)                                           \
  X(cudnnGetConvolutionBackwardDataAlgorithm_v7, FindAlgorithms)                                      \
  X(cudnnGetConvolutionBackwardFilterAlgorithm_v7, FindAlgorithms)                                    \
  X(cudnnConvolutionForward, Convolve)                                                                \
  X(cudnnConvolutionBackwardData, Convolve)                                                           \
  X(cudnnConvolutionBackwardFilter, Convolve)

// Our name, theirs, and the number.
#define RUSHLIGHT_CUDA_NUMBERS(X)                                       \
  X(kMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1)  \
  X(kWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 10)                       \
  X(kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16) \
  X(kCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75) \
  X(kCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76) \
  X(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY, 2)                          \
  X(kNotReady, CUDA_ERROR_NOT_READY, 600)                               \
  X(kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS, 700)                   \
  X(kTimeout, CUDA_ERROR_LAUNCH_TIMEOUT, 702)                           \
  X(kAssert, CUDA_ERROR_ASSERT, 710)                                    \
  X(kStackError, CUDA_ERROR_HARDWARE_STACK_ERROR, 714)                  \
  X(kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED, 719)                       \
  X(kDisableTiming, CU_EVENT_DISABLE_TIMING, 2)                         \
  X(kNonBlocking, CU_STREAM_NON_BLOCKING, 1)                            \
  X(kRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED, 2)

#define RUSHLIGHT_CUBLAS_NUMBERS(X)                                       \
  X(kInvalidValue, CUBLAS_STATUS_INVALID_VALUE, 7)                        \
  X(kArchMismatch, CUBLAS_STATUS_ARCH_MISMATCH, 8)                        \
  X(kNotSupported, CUBLAS_STATUS_NOT_SUPPORTED, 15)                       \
  X(kAsItIs, CUBLAS_OP_N, 0)                                              \
  X(kTransposed, CUBLAS_OP_T, 1)                                          \
  X(kReal32, CUDA_R_32F, 0)                                               \
  X(kReal64, CUDA_R_64F, 1)                                               \
  X(kReal16, CUDA_R_16F, 2)                                               \
  X(kRealB16, CUDA_R_16BF, 14)                                            \
  X(kCompute32, CUBLAS_COMPUTE_32F, 68)                                   \
  X(kCompute64, CUBLAS_COMPUTE_64F, 70)                                   \
  X(kUsualMath, CUBLAS_DEFAULT_MATH, 0)                                   \
  X(kTf32Math, CUBLAS_TF32_TENSOR_OP_MATH, 3)                             \
  X(kNoReducedSums, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION, 16) \
  X(kUsualAlgorithm, CUBLAS_GEMM_DEFAULT, -1)

#define RUSHLIGHT_CUDNN_NUMBERS(X)                         \
  X(kCannot, CUDNN_STATUS_NOT_SUPPORTED, 3000)             \
  X(kExecutionFailed, CUDNN_STATUS_EXECUTION_FAILED, 5000) \
  X(kFloat, CUDNN_DATA_FLOAT, 0)                           \
  X(kDouble, CUDNN_DATA_DOUBLE, 1)                         \
  X(kHalf, CUDNN_DATA_HALF, 2)                             \
  X(kBfloat16, CUDNN_DATA_BFLOAT16, 9)                     \
  X(kRows, CUDNN_TENSOR_NCHW, 0)                           \
  X(kCrossCorrelation, CUDNN_CROSS_CORRELATION, 1)         \
  X(kDefaultMath, CUDNN_DEFAULT_MATH, 0)                   \
  X(kTensorMath, CUDNN_TENSOR_OP_MATH, 1)                  \
  X(kFmaMath, CUDNN_FMA_MATH, 3)                           \
  X(kDeterministic, CUDNN_DETERMINISTIC, 1)

#define RUSHLIGHT_NUMBER(name, theirs, number) name = number,
enum { RUSHLIGHT_CUDA_NUMBERS(RUSHLIGHT_NUMBER) };
enum { RUSHLIGHT_CUBLAS_NUMBERS(RUSHLIGHT_NUMBER) };
enum { RUSHLIGHT_CUDNN_NUMBERS(RUSHLIGHT_NUMBER) };

// A struct of a library's functions, and `functions_of`, which finds them; Failure where one is missing.
#define RUSHLIGHT_DECLARE(name, ...) std::add_pointer_t<__VA_ARGS__> name;
#define RUSHLIGHT_FIND(name, ...)                                                        \
  if (!(found.name = reinterpret_cast<decltype(found.name)>(symbol_of(library, #name)))) \
    throw Failure(path + " has no " #name ": the library is too old, or none of CUDA");
#define RUSHLIGHT_DEFINE_FUNCTIONS(Functions, NAMES)                         \
  struct Functions {                                                         \
    NAMES(RUSHLIGHT_DECLARE)                                                 \
  };                                                                         \
  inline Functions functions_of(const std::string& path, const Functions*) { \
    void* const library = open_library(path.c_str());                        \
    if (!library) throw Failure(not_opened());                               \
    Functions found;                                                         \
    NAMES(RUSHLIGHT_FIND)                                                    \
    return found;                                                            \
  }

}  // namespace rushlight::devices
