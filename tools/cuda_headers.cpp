// Compares every row of native/devices/cuda_functions.h with NVIDIA's headers, while this file is compiled (tools/cuda_headers.py).
#include <type_traits>

// Of half floats cuBLAS's header needs the names alone.
#define __CUDA_FP16_H__
#define __CUDA_BF16_H__
struct __half;
struct __nv_bfloat16;
using __nv_half = __half;

#include <cstdint>

#include <cuComplex.h>
#include <cuda.h>
#include <cudnn.h>
#include <nvrtc.h>

// For C++ cuBLAS's header overloads its functions, and none of several has an address.
#pragma push_macro("__cplusplus")
#undef __cplusplus
#define CUBLASAPI
extern "C" {
#include <cublas_api.h>
}
#pragma pop_macro("__cplusplus")

#include "devices/cuda_functions.h"

namespace {

// A type as cuda_functions.h writes it: an enum is an int, a pointer to a struct is a void*, and numbers of 64 bits have one name.
template <class T>
struct Plain {
  using Type = std::conditional_t<std::is_enum_v<T>, int, T>;
};
template <>
struct Plain<long long> {
  using Type = int64_t;
};
template <>
struct Plain<unsigned long long> {
  using Type = uint64_t;
};
template <class T>
struct Plain<T*> {
  using Of = std::remove_const_t<T>;
  using Bare = std::conditional_t<std::is_class_v<Of>, void, typename Plain<Of>::Type>;
  using Type = std::conditional_t<std::is_const_v<T>, const Bare, Bare>*;
};
template <class R, class... Parameters>
struct Plain<R(Parameters...)> {
  using Type = typename Plain<R>::Type(typename Plain<std::remove_const_t<Parameters>>::Type...);
};
template <class T>
using plain = typename Plain<T>::Type;

using namespace rushlight::devices;

#define SAME(name, ...)                                                     \
  static_assert(std::is_same_v<plain<decltype(::name)>, plain<__VA_ARGS__>>, \
                #name " has other parameters in NVIDIA's header");
RUSHLIGHT_CUDA(SAME)
RUSHLIGHT_NVRTC(SAME)
RUSHLIGHT_CUBLAS(SAME)
RUSHLIGHT_CUDNN(SAME)

#define EQUAL(name, theirs, number) static_assert(int(theirs) == number, #theirs " is another number in NVIDIA's header");
RUSHLIGHT_CUDA_NUMBERS(EQUAL)
RUSHLIGHT_CUBLAS_NUMBERS(EQUAL)
RUSHLIGHT_CUDNN_NUMBERS(EQUAL)

template <class Theirs>
constexpr bool same_layout() {
  return sizeof(Theirs) == sizeof(Algorithm) && offsetof(Theirs, algo) == offsetof(Algorithm, algorithm) &&
         offsetof(Theirs, status) == offsetof(Algorithm, status) && offsetof(Theirs, memory) == offsetof(Algorithm, memory) &&
         offsetof(Theirs, determinism) == offsetof(Algorithm, determinism) &&
         offsetof(Theirs, mathType) == offsetof(Algorithm, math);
}
static_assert(same_layout<cudnnConvolutionFwdAlgoPerf_t>() && same_layout<cudnnConvolutionBwdDataAlgoPerf_t>() &&
                  same_layout<cudnnConvolutionBwdFilterAlgoPerf_t>(),
              "cuDNN's convolution algorithms have another layout in NVIDIA's header");

}  // namespace
