// cuBLAS and cuDNN, opened at run time. A call here is the manual's call of the same name.
#include "devices/libraries.h"

#include <atomic>
#include <climits>
#include <map>
#include <memory>
#include <mutex>
#include <type_traits>

#include "devices/cuda_functions.h"
#include "kernels/library.h"

namespace rushlight::devices {

namespace {

RUSHLIGHT_DEFINE_FUNCTIONS(Blas, RUSHLIGHT_CUBLAS)
RUSHLIGHT_DEFINE_FUNCTIONS(Dnn, RUSHLIGHT_CUDNN)

// A library's state for a device; it may be of one thread at a time.
struct Cublas {
  std::mutex lock;
  Blas call;
  Handle handle = nullptr;
};
struct Cudnn {
  std::mutex lock;
  Dnn call;
  Handle handle = nullptr;
  Handle x = nullptr, w = nullptr, y = nullptr, convolution = nullptr;  // described by each call
  std::map<std::vector<int>, Algorithm> chosen;
};

// Never destroyed: what they hold is the process's.
template <class Library>
std::atomic<Library*>& of_device(int device) {
  static std::atomic<Library*> all[kKinds * kOfAKind];
  return all[device];
}
std::mutex opening;

template <class Library, class Start>
void open_once(int device, const Start& start) {
  const std::lock_guard<std::mutex> guard(opening);
  if (of_device<Library>(device).load()) return;
  auto made = std::make_unique<Library>();
  start(*made);
  of_device<Library>(device).store(made.release());
}

template <class Library>
Library& opened(int device, const char* name) {
  Library* const found = of_device<Library>(device).load();
  if (!found) throw Failure(std::string(name) + " was not opened for this device");
  return *found;
}

Handle queue_of(int device) {
  Handle const queue = driver_of(device).queue();
  if (!queue) throw Failure("NVIDIA's libraries are for devices of CUDA's driver");
  return queue;
}

std::string said(const char* text, const char* function) {
  return std::string(text ? text : "unknown error") + " when calling `" + function + "`";
}

void check(Code code, const char* text, const char* function) {
  if (code != 0) throw Failure("CUDA error: " + said(text, function));
}

#define CHECK_BLAS(name, ...) \
  if (const Code code = blas.call.name(__VA_ARGS__)) check(code, blas.call.cublasGetStatusName(code), #name)
#define CHECK_DNN(name, ...) \
  if (const Code code = dnn.call.name(__VA_ARGS__)) check(code, dnn.call.cudnnGetErrorString(code), #name)

// A factor in the type in which a library reads it: double for doubles, else float.
struct Factor {
  float narrow;
  double wide;
  explicit Factor(double value) : narrow(static_cast<float>(value)), wide(value) {}
  const void* of(DType dtype) const {
    return dtype == DType::F64 ? static_cast<const void*>(&wide) : static_cast<const void*>(&narrow);
  }
};

int of_four(DType dtype, int half, int bfloat16, int single, int wide) {
  return dtype == DType::F16 ? half : dtype == DType::BF16 ? bfloat16 : dtype == DType::F64 ? wide : single;
}

}  // namespace

// ---------------------------------------------------------------- products

void open_cublas(int device, const std::string& path) {
  open_once<Cublas>(device, [&](Cublas& blas) {
    Handle const queue = queue_of(device);
    blas.call = functions_of(path, static_cast<Blas*>(nullptr));
    CHECK_BLAS(cublasCreate_v2, &blas.handle);
    CHECK_BLAS(cublasSetStream_v2, blas.handle, queue);
    // Memory of our own, and so much, is the manual's advice for graphs; another stream takes it
    // away.
    const Block space = take(device, size_t{facts_of(device)->capability[0] >= 9 ? 32U : 8U} << 20);
    CHECK_BLAS(cublasSetWorkspace_v2, blas.handle, space.memory, space.bytes);
  });
}

std::string multiply(int device, const Product& p) {
  for (const int64_t size : {p.rows, p.columns, p.depth, p.stacks, p.a.line, p.b.line, p.out.line}) {
    if (size > INT_MAX) return "a size of more than 31 bits";
  }
  Cublas& blas = opened<Cublas>(device, "cuBLAS");
  const std::lock_guard<std::mutex> guard(blas.lock);
  queue_of(device);  // this thread's context
  CHECK_BLAS(cublasSetMathMode, blas.handle, (p.tf32 ? kTf32Math : kUsualMath) | (p.reduced ? 0 : kNoReducedSums));
  const int type = of_four(p.dtype, kReal16, kRealB16, kReal32, kReal64);
  const Factor alpha(p.alpha), beta(p.beta);
  const auto turned = [](const Matrices& m) { return m.turned ? kTransposed : kAsItIs; };
  const auto number = [](int64_t size) { return static_cast<int>(size); };
  // cuBLAS counts down columns, and so sees every matrix here transposed: out^T = b^T a^T.
  const Code code = blas.call.cublasGemmStridedBatchedEx(
      blas.handle, turned(p.b), turned(p.a), number(p.columns), number(p.rows), number(p.depth), alpha.of(p.dtype), p.b.first, type,
      number(p.b.line), p.b.stack, p.a.first, type, number(p.a.line), p.a.stack, beta.of(p.dtype), p.out.first, type,
      number(p.out.line), p.out.stack, number(p.stacks), p.dtype == DType::F64 ? kCompute64 : kCompute32, kUsualAlgorithm);
  if (!code) return "";
  const std::string why = said(blas.call.cublasGetStatusName(code), "cublasGemmStridedBatchedEx") + " for " +
                          std::to_string(p.stacks) + " products of " + std::to_string(p.rows) + " x " + std::to_string(p.depth) +
                          " and " + std::to_string(p.depth) + " x " + std::to_string(p.columns);
  if (code == kInvalidValue || code == kArchMismatch || code == kNotSupported) return why;
  throw Failure("CUDA error: " + why);
}

// ---------------------------------------------------------------- convolutions

void open_cudnn(int device, const std::string& path) {
  open_once<Cudnn>(device, [&](Cudnn& dnn) {
    Handle const queue = queue_of(device);
    dnn.call = functions_of(path, static_cast<Dnn*>(nullptr));
    if (const size_t version = dnn.call.cudnnGetVersion(); version < 90000)
      throw Failure("cuDNN has the version " + std::to_string(version) + "; 90000 is the least");
    CHECK_DNN(cudnnCreate, &dnn.handle);
    CHECK_DNN(cudnnSetStream, dnn.handle, queue);
    CHECK_DNN(cudnnCreateTensorDescriptor, &dnn.x);
    CHECK_DNN(cudnnCreateFilterDescriptor, &dnn.w);
    CHECK_DNN(cudnnCreateTensorDescriptor, &dnn.y);
    CHECK_DNN(cudnnCreateConvolutionDescriptor, &dnn.convolution);
  });
}

namespace {

std::string shape(const std::vector<int>& sizes) {
  std::string text;
  for (const int size : sizes) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

std::vector<int> contiguous(const std::vector<int>& sizes) {
  std::vector<int> strides(sizes.size(), 1);
  for (size_t d = sizes.size() - 1; d > 0; --d) strides[d - 1] = strides[d] * sizes[d];
  return strides;
}

// How one of the three is computed from the other two.
struct Way {
  FindAlgorithms* find;
  Convolve* run;
  const char* name;
  Handle first, second, result;  // descriptors
  char *from, *with, *to;
};

Way way_of(const Cudnn& dnn, const Convolution& c) {
  const Dnn& call = dnn.call;
  switch (c.wanted) {
    case Wanted::Output:
      return {call.cudnnGetConvolutionForwardAlgorithm_v7,
              call.cudnnConvolutionForward,
              "cudnnConvolutionForward",
              dnn.x,
              dnn.w,
              dnn.y,
              c.x,
              c.w,
              c.y};
    case Wanted::Input:
      return {call.cudnnGetConvolutionBackwardDataAlgorithm_v7,
              call.cudnnConvolutionBackwardData,
              "cudnnConvolutionBackwardData",
              dnn.w,
              dnn.y,
              dnn.x,
              c.w,
              c.y,
              c.x};
    default:
      return {call.cudnnGetConvolutionBackwardFilterAlgorithm_v7,
              call.cudnnConvolutionBackwardFilter,
              "cudnnConvolutionBackwardFilter",
              dnn.x,
              dnn.y,
              dnn.w,
              c.x,
              c.y,
              c.w};
  }
}

// Describes a convolution to cuDNN. The code of the first call that failed, or 0.
Code describe(const Cudnn& dnn, const Convolution& c, int math) {
  const Dnn& call = dnn.call;
  const int type = of_four(c.dtype, kHalf, kBfloat16, kFloat, kDouble), sums = c.dtype == DType::F64 ? kDouble : kFloat;
  const int ndim = static_cast<int>(c.x_sizes.size());
  const std::vector<int> x_strides = contiguous(c.x_sizes), y_strides = contiguous(c.y_sizes);
  Code code = call.cudnnSetTensorNdDescriptor(dnn.x, type, ndim, c.x_sizes.data(), x_strides.data());
  if (!code) code = call.cudnnSetFilterNdDescriptor(dnn.w, type, kRows, ndim, c.w_sizes.data());
  if (!code) code = call.cudnnSetTensorNdDescriptor(dnn.y, type, ndim, c.y_sizes.data(), y_strides.data());
  if (!code)
    code = call.cudnnSetConvolutionNdDescriptor(dnn.convolution, ndim - 2, c.padding.data(), c.stride.data(), c.dilation.data(),
                                                kCrossCorrelation, sums);
  if (!code) code = call.cudnnSetConvolutionGroupCount(dnn.convolution, c.groups);
  if (!code) code = call.cudnnSetConvolutionMathType(dnn.convolution, math);
  return code;
}

// The best of cuDNN's proposals that may be taken; `status` tells why there is none.
Algorithm chosen(const Cudnn& dnn, const Way& way, bool deterministic, size_t most) {
  Algorithm found[8];
  int n = 0;
  Algorithm none{};
  none.status = way.find(dnn.handle, way.first, way.second, dnn.convolution, way.result, 8, &n, found);
  if (none.status) return none;
  for (int i = 0; i < n; ++i) {
    if (found[i].status == 0 && found[i].memory <= most && (!deterministic || found[i].determinism == kDeterministic))
      return found[i];
  }
  none.status = kCannot;
  return none;
}

}  // namespace

std::string convolve(int device, const Convolution& c) {
  Cudnn& dnn = opened<Cudnn>(device, "cuDNN");
  const std::lock_guard<std::mutex> guard(dnn.lock);
  queue_of(device);  // this thread's context
  const bool single = c.dtype == DType::F32, wide = c.dtype == DType::F64;
  const int math = single ? c.tf32 ? kDefaultMath : kFmaMath : wide ? kDefaultMath : kTensorMath;
  const Way way = way_of(dnn, c);
  // A call that fails while it runs is an error; all else a reason to compute it otherwise.
  const auto refused = [&](Code code) {
    const std::string why = said(dnn.call.cudnnGetErrorString(code), way.name) + " for images of " + shape(c.x_sizes) +
                            ", kernels of " + shape(c.w_sizes) + " and results of " + shape(c.y_sizes);
    if (code >= kExecutionFailed) throw Failure("CUDA error: " + why);
    return why;
  };
  if (const Code code = describe(dnn, c, math)) return refused(code);
  std::vector<int> key{static_cast<int>(c.wanted), static_cast<int>(c.dtype), math, c.deterministic, c.groups};
  for (const auto* sizes : {&c.x_sizes, &c.w_sizes, &c.y_sizes, &c.padding, &c.stride, &c.dilation})
    key.insert(key.end(), sizes->begin(), sizes->end());
  auto known = dnn.chosen.find(key);
  if (known == dnn.chosen.end())
    known = dnn.chosen.emplace(key, chosen(dnn, way, c.deterministic, facts_of(device)->memory / 16)).first;
  Algorithm& algorithm = known->second;
  if (algorithm.status) return refused(algorithm.status);
  if (const Code code = dnn.call.cudnnSetConvolutionMathType(dnn.convolution, algorithm.math)) return refused(code);
  const Block space = take(device, algorithm.memory);
  const Factor one(1), zero(0);
  const Code code = way.run(dnn.handle, one.of(c.dtype), way.first, way.from, way.second, way.with, dnn.convolution,
                            algorithm.algorithm, space.memory, space.bytes, zero.of(c.dtype), way.result, way.to);
  give(space);  // what is queued later may have that memory
  if (!code) return "";
  algorithm.status = code;  // of the next call of this kind too
  return refused(code);
}

}  // namespace rushlight::devices
