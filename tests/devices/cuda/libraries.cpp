// Stand-ins for cuBLAS and cuDNN: plain loops that wait in the stream's queue behind the kernels before. By their manuals they check
// handles, sizes, leading dimensions and types, and that the memory is there that a call will read and write.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <set>
#include <type_traits>
#include <vector>

#include "cuda_functions.h"
#include "queue.h"

using namespace rushlight::devices;

namespace {

// ---- numbers in memory

enum Kind { kF16, kBF16, kF32, kF64, kUnknown };
size_t size_of(Kind kind) { return kind == kF64 ? 8 : kind == kF32 ? 4 : 2; }

double load(const char* p, Kind kind, int64_t i) {
  if (kind == kF64) return reinterpret_cast<const double*>(p)[i];
  if (kind == kF32) return reinterpret_cast<const float*>(p)[i];
  if (kind == kF16) return static_cast<double>(reinterpret_cast<const _Float16*>(p)[i]);
  const uint32_t bits = uint32_t{reinterpret_cast<const uint16_t*>(p)[i]} << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

// The nearest float with fewer bits of fraction, of two the even one.
float shortened(float value, int bits) {
  uint32_t word;
  std::memcpy(&word, &value, 4);
  if ((word >> 23 & 0xff) == 0xff) return value;
  const uint32_t cut = 23 - static_cast<uint32_t>(bits);
  word = (word + (1u << (cut - 1)) - 1 + (word >> cut & 1)) >> cut << cut;
  std::memcpy(&value, &word, 4);
  return value;
}

void store(char* p, Kind kind, int64_t i, double value) {
  const float narrow = static_cast<float>(value);
  if (kind == kF64) reinterpret_cast<double*>(p)[i] = value;
  if (kind == kF32) reinterpret_cast<float*>(p)[i] = narrow;
  if (kind == kF16) reinterpret_cast<_Float16*>(p)[i] = static_cast<_Float16>(narrow);
  if (kind != kBF16) return;
  const float rounded = shortened(narrow, 7);
  uint32_t word;
  std::memcpy(&word, &rounded, 4);
  reinterpret_cast<uint16_t*>(p)[i] = static_cast<uint16_t>(word >> 16);
}

double factor(const void* p, Kind kind) { return kind == kF64 ? *static_cast<const double*>(p) : *static_cast<const float*>(p); }

using standin::Range;

}  // namespace

// ---------------------------------------------------------------- cuBLAS

namespace {

struct BlasHandle {
  CUstream stream = nullptr;
  Range workspace{};
  int math = 0;
};
std::set<Handle> blas_handles;

constexpr Code kNotInitialized = 1, kBlasFailed = 13, kBadHandle = kNotInitialized;

Code blas_wrong(const char* why) {
  standin::tell("cublas", why);
  return kInvalidValue;
}

// How far the elements of a stack of matrices reach from the first.
size_t reach(int rows, int columns, int leading, long long step, int count, Kind kind) {
  if (!rows || !columns || !count) return 0;
  return (static_cast<size_t>(step) * (count - 1) + static_cast<size_t>(leading) * (columns - 1) + rows) * size_of(kind);
}

}  // namespace

extern "C" {

int standin_math, standin_algorithm;  // of the last product, and of the last convolution; for tests

Code cublasCreate_v2(Handle* handle) {
  if (const int planned = standin::planned("cublasCreate")) return planned;
  if (!standin::has_context()) return kNotInitialized;
  blas_handles.insert(*handle = new BlasHandle);
  return 0;
}

const char* cublasGetStatusName(Code code) {
  return code == kNotInitialized ? "CUBLAS_STATUS_NOT_INITIALIZED"
         : code == kInvalidValue ? "CUBLAS_STATUS_INVALID_VALUE"
         : code == kNotSupported ? "CUBLAS_STATUS_NOT_SUPPORTED"
         : code == kBlasFailed   ? "CUBLAS_STATUS_EXECUTION_FAILED"
                                 : "unknown";
}

Code cublasSetStream_v2(Handle handle, Handle stream) {
  if (!blas_handles.count(handle)) return kBadHandle;
  *static_cast<BlasHandle*>(handle) = {static_cast<CUstream>(stream), {}, static_cast<BlasHandle*>(handle)->math};
  return 0;
}

Code cublasSetWorkspace_v2(Handle handle, void* memory, size_t bytes) {
  if (!blas_handles.count(handle)) return kBadHandle;
  if (reinterpret_cast<uintptr_t>(memory) % 256) return blas_wrong("a workspace that is not aligned to 256 bytes");
  static_cast<BlasHandle*>(handle)->workspace = {memory, bytes};
  return 0;
}

Code cublasSetMathMode(Handle handle, int mode) {
  if (!blas_handles.count(handle)) return kBadHandle;
  if (mode & ~(kNoReducedSums | kTf32Math)) return blas_wrong("a math mode that is none");
  static_cast<BlasHandle*>(handle)->math = mode;
  return 0;
}

Code cublasGemmStridedBatchedEx(Handle handle, int transa, int transb, int m, int n, int k, const void* alpha, const void* A,
                                int Atype, int lda, long long strideA, const void* B, int Btype, int ldb, long long strideB,
                                const void* beta, void* C, int Ctype, int ldc, long long strideC, int count, int compute,
                                int algorithm) {
  if (!blas_handles.count(handle)) return kBadHandle;
  if (const int planned = standin::planned("cublasGemmStridedBatchedEx")) return planned;
  const BlasHandle blas = *static_cast<BlasHandle*>(handle);
  if (m < 0 || n < 0 || k < 0 || count < 0 || algorithm != kUsualAlgorithm) return blas_wrong("a size below 0, or an algorithm");
  if ((transa != kAsItIs && transa != kTransposed) || (transb != kAsItIs && transb != kTransposed))
    return blas_wrong("an operation");
  const bool turn_a = transa == kTransposed, turn_b = transb == kTransposed;
  if (lda < std::max(1, turn_a ? k : m)) return blas_wrong("lda is too small");
  if (ldb < std::max(1, turn_b ? n : k)) return blas_wrong("ldb is too small");
  if (ldc < std::max(1, m)) return blas_wrong("ldc is too small");
  const Kind kind = Atype == kReal16    ? kF16
                    : Atype == kRealB16 ? kBF16
                    : Atype == kReal32  ? kF32
                    : Atype == kReal64  ? kF64
                                        : kUnknown;
  if (kind == kUnknown || Btype != Atype || Ctype != Atype) return kNotSupported;
  if (compute != (kind == kF64 ? kCompute64 : kCompute32)) return kNotSupported;
  const bool apart = strideC >= static_cast<long long>(ldc) * (n - 1) + m,
             side_by_side = strideC >= m && strideC * (count - 1) + m <= ldc;
  if (count > 1 && !apart && !side_by_side) return blas_wrong("the matrices of the result overlap");
  const double by = factor(alpha, kind), old = factor(beta, kind);
  const Range ranges[] = {{A, reach(turn_a ? k : m, turn_a ? m : k, lda, strideA, count, kind)},
                          {B, reach(turn_b ? n : k, turn_b ? k : n, ldb, strideB, count, kind)},
                          {C, reach(m, n, ldc, strideC, count, kind)},
                          blas.workspace};
  const bool tf32 = kind == kF32 && (blas.math & 3) == kTf32Math;
  const auto run = [=] {
    if (blas.workspace.bytes)
      std::memset(const_cast<void*>(blas.workspace.memory), 0xff, std::min<size_t>(blas.workspace.bytes, 4096));
    const auto of = [=](const void* p, int64_t i) {
      const double value = load(static_cast<const char*>(p), kind, i);
      return tf32 ? shortened(static_cast<float>(value), 10) : value;
    };
    for (int s = 0; s < count; ++s)
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < m; ++i) {
          double sum = 0;
          for (int l = 0; l < k; ++l) {
            const int64_t a = turn_a ? int64_t{i} * lda + l : int64_t{l} * lda + i,
                          b = turn_b ? int64_t{l} * ldb + j : int64_t{j} * ldb + l;
            sum += of(A, s * strideA + a) * of(B, s * strideB + b);
          }
          const int64_t at = s * strideC + int64_t{j} * ldc + i;
          sum *= by;
          if (old != 0) sum += old * load(static_cast<const char*>(C), kind, at);
          store(static_cast<char*>(C), kind, at, sum);
        }
  };
  standin_math = blas.math;
  return standin::queue("cublasGemmStridedBatchedEx", blas.stream, ranges, 4, run) ? kBlasFailed : 0;
}

}  // extern "C"

// ---------------------------------------------------------------- cuDNN

namespace {

constexpr Code kDnnNotInitialized = 1001, kBadParameter = 2000;

enum Described { kTensor = 1, kFilter, kConvolution };
struct Descriptor {
  Described what = kTensor;
  int type = -1, groups = 1, math = 0;
  std::vector<int> sizes, strides, padding, step, dilation;
};
std::set<Handle> dnn_handles;
std::set<Handle> descriptors;
CUstream dnn_stream;

Code dnn_wrong(const char* why) {
  standin::tell("cudnn", why);
  return kBadParameter;
}

Descriptor* described(Handle handle, Described what) {
  auto* const found = descriptors.count(handle) ? static_cast<Descriptor*>(handle) : nullptr;
  return found && found->what == what ? found : nullptr;
}

Code new_descriptor(Handle* made, Described what) {
  auto* const descriptor = new Descriptor{};
  descriptor->what = what;
  descriptors.insert(*made = descriptor);
  return 0;
}

Kind kind_of(int type) {
  return type == kHalf ? kF16 : type == kBfloat16 ? kBF16 : type == kFloat ? kF32 : type == kDouble ? kF64 : kUnknown;
}

std::vector<int> listed(const int* p, int n) { return std::vector<int>(p, p + n); }

int64_t product(const std::vector<int>& sizes) {
  int64_t n = 1;
  for (const int size : sizes) n *= size;
  return n;
}

// A convolution, when all four descriptors fit together.
struct Whole {
  Descriptor x, w, y, c;
  Kind kind;
};

// 0, or the code of what does not fit.
Code whole(Handle handle, Handle x, Handle w, Handle y, Handle c, Whole* found) {
  if (!dnn_handles.count(handle)) return dnn_wrong("no handle");
  const Descriptor *dx = described(x, kTensor), *dw = described(w, kFilter), *dy = described(y, kTensor),
                   *dc = described(c, kConvolution);
  if (!dx || !dw || !dy || !dc) return dnn_wrong("a descriptor is none, or one of another kind");
  *found = {*dx, *dw, *dy, *dc, kind_of(dx->type)};
  if (dx->type != dw->type || dx->type != dy->type || found->kind == kUnknown) return dnn_wrong("types differ");
  if (dc->type != (found->kind == kF64 ? kDouble : kFloat)) return 3000;
  if (dc->math == kFmaMath && size_of(found->kind) == 2) return 3000;
  const size_t n = dx->sizes.size();
  if (dw->sizes.size() != n || dy->sizes.size() != n || dc->padding.size() != n - 2) return dnn_wrong("dimensions differ");
  if (dx->sizes[0] != dy->sizes[0] || dy->sizes[1] != dw->sizes[0] || dx->sizes[1] != dw->sizes[1] * dc->groups ||
      dw->sizes[0] % dc->groups)
    return dnn_wrong("images or channels differ");
  for (size_t d = 2; d < n; ++d) {
    const int spread = dc->dilation[d - 2] * (dw->sizes[d] - 1) + 1;
    if (dy->sizes[d] != (dx->sizes[d] + 2 * dc->padding[d - 2] - spread) / dc->step[d - 2] + 1)
      return dnn_wrong("the results' size");
  }
  return 0;
}

// Proposals: one that fails, a fast one that is not deterministic and needs memory, and one that is and needs none.
constexpr size_t kSpace = 5000;
Code propose(Handle handle, Handle x, Handle w, Handle y, Handle c, int asked, int* n, Algorithm* found) {
  Whole all;
  if (const Code code = whole(handle, x, w, y, c, &all)) return code;
  const Algorithm proposals[] = {
      {7, 3000, -1, 0, 1, all.c.math, {}}, {1, 0, 1, kSpace, 0, all.c.math, {}}, {0, 0, 2, 0, 1, all.c.math, {}}};
  *n = std::min(asked, 3);
  std::copy_n(proposals, *n, found);
  return 0;
}

using Three = std::array<int, 3>;
Three three(const std::vector<int>& sizes, size_t from, int fill) {
  Three found{fill, fill, fill};
  std::copy(sizes.begin() + from, sizes.end(), found.end() - (sizes.size() - from));
  return found;
}

// For each pair of a result and a weight that meet an element of the images: their places.
void each_meeting(const Whole& all, const std::function<void(int64_t, int64_t, int64_t)>& meet) {
  const Three in = three(all.x.sizes, 2, 1), taps = three(all.w.sizes, 2, 1), out = three(all.y.sizes, 2, 1);
  const Three pad = three(all.c.padding, 0, 0), step = three(all.c.step, 0, 1), far = three(all.c.dilation, 0, 1);
  const int images = all.x.sizes[0], channels = all.x.sizes[1], results = all.y.sizes[1], of_group = all.w.sizes[1];
  const auto place = [](int64_t first, const Three& sizes, const Three& at) {
    return ((first * sizes[0] + at[0]) * sizes[1] + at[1]) * sizes[2] + at[2];
  };
  for (int64_t i = 0; i < int64_t{images} * results * out[0] * out[1] * out[2]; ++i) {
    const Three o{static_cast<int>(i / out[2] / out[1] % out[0]), static_cast<int>(i / out[2] % out[1]),
                  static_cast<int>(i % out[2])};
    const int64_t plane = i / out[2] / out[1] / out[0], image = plane / results, result = plane % results;
    const int64_t group = result / (results / all.c.groups);
    for (int64_t j = 0; j < int64_t{of_group} * taps[0] * taps[1] * taps[2]; ++j) {
      const Three t{static_cast<int>(j / taps[2] / taps[1] % taps[0]), static_cast<int>(j / taps[2] % taps[1]),
                    static_cast<int>(j % taps[2])};
      const int64_t channel = j / taps[2] / taps[1] / taps[0];
      Three at;
      bool inside = true;
      for (size_t d = 0; d < 3; ++d) {
        at[d] = o[d] * step[d] - pad[d] + t[d] * far[d];
        inside = inside && at[d] >= 0 && at[d] < in[d];
      }
      if (inside)
        meet(place(image * channels + group * of_group + channel, in, at), result * of_group * taps[0] * taps[1] * taps[2] + j, i);
    }
  }
}

Code convolve(const char* name, int wanted, Handle handle, const void* alpha, const void* beta, Handle x, const void* px, Handle w,
              const void* pw, Handle y, const void* py, Handle c, int algorithm, void* space, size_t bytes) {
  if (const int planned = standin::planned(name)) return planned;
  Whole all;
  if (const Code code = whole(handle, x, w, y, c, &all)) return code;
  if (algorithm != 0 && algorithm != 1) return dnn_wrong("an algorithm that was not proposed");
  if (algorithm == 1 && bytes < kSpace) return dnn_wrong("too little workspace");
  const double by = factor(alpha, all.kind), old = factor(beta, all.kind);
  const size_t item = size_of(all.kind);
  const Range ranges[] = {
      {px, product(all.x.sizes) * item}, {pw, product(all.w.sizes) * item}, {py, product(all.y.sizes) * item}, {space, bytes}};
  const int64_t n = product(wanted == 0 ? all.y.sizes : wanted == 1 ? all.x.sizes : all.w.sizes);
  auto* const to = static_cast<char*>(const_cast<void*>(ranges[wanted == 0 ? 2 : wanted == 1 ? 0 : 1].memory));
  const bool tf32 = all.kind == kF32 && all.c.math == kDefaultMath;
  standin_algorithm = algorithm;
  const auto run = [=] {
    if (bytes) std::memset(space, 0xff, bytes);
    const auto of = [=](const void* p, int64_t i) {
      const double value = load(static_cast<const char*>(p), all.kind, i);
      return tf32 ? shortened(static_cast<float>(value), 10) : value;
    };
    std::vector<double> sums(static_cast<size_t>(n));
    each_meeting(all, [&](int64_t in, int64_t weight, int64_t out) {
      if (wanted == 0) sums[out] += of(px, in) * of(pw, weight);
      if (wanted == 1) sums[in] += of(py, out) * of(pw, weight);
      if (wanted == 2) sums[weight] += of(py, out) * of(px, in);
    });
    for (int64_t i = 0; i < n; ++i) store(to, all.kind, i, by * sums[i] + (old != 0 ? old * load(to, all.kind, i) : 0));
  };
  return standin::queue(name, dnn_stream, ranges, bytes ? 4 : 3, run) ? 5000 : 0;
}

}  // namespace

extern "C" {

size_t cudnnGetVersion() { return 92800; }

const char* cudnnGetErrorString(Code code) {
  return code == kDnnNotInitialized ? "CUDNN_STATUS_NOT_INITIALIZED"
         : code == kBadParameter    ? "CUDNN_STATUS_BAD_PARAM"
         : code == 3000             ? "CUDNN_STATUS_NOT_SUPPORTED"
         : code == 5000             ? "CUDNN_STATUS_EXECUTION_FAILED"
                                    : "unknown";
}

Code cudnnCreate(Handle* handle) {
  if (const int planned = standin::planned("cudnnCreate")) return planned;
  if (!standin::has_context()) return kDnnNotInitialized;
  dnn_handles.insert(*handle = new int);
  return 0;
}
Code cudnnSetStream(Handle handle, Handle stream) {
  if (!dnn_handles.count(handle)) return dnn_wrong("no handle");
  dnn_stream = static_cast<CUstream>(stream);
  return 0;
}
Code cudnnCreateTensorDescriptor(Handle* made) { return new_descriptor(made, kTensor); }
Code cudnnCreateFilterDescriptor(Handle* made) { return new_descriptor(made, kFilter); }
Code cudnnCreateConvolutionDescriptor(Handle* made) { return new_descriptor(made, kConvolution); }

Code cudnnSetTensorNdDescriptor(Handle handle, int type, int n, const int* sizes, const int* strides) {
  Descriptor* const d = described(handle, kTensor);
  if (!d || n < 4 || n > 5 || *std::min_element(sizes, sizes + n) < 1) return dnn_wrong("a tensor's descriptor");
  d->type = type, d->sizes = listed(sizes, n), d->strides = listed(strides, n);
  for (int i = 0, dense = 1; i < n; dense *= sizes[n - 1 - i], ++i)
    if (strides[n - 1 - i] != dense) return dnn_wrong("a tensor that is not contiguous");
  return 0;
}
Code cudnnSetFilterNdDescriptor(Handle handle, int type, int format, int n, const int* sizes) {
  Descriptor* const d = described(handle, kFilter);
  if (!d || format != kRows || n < 4 || n > 5 || *std::min_element(sizes, sizes + n) < 1) return dnn_wrong("a filter's descriptor");
  d->type = type, d->sizes = listed(sizes, n);
  return 0;
}
Code cudnnSetConvolutionNdDescriptor(Handle handle, int n, const int* padding, const int* step, const int* dilation, int mode,
                                     int type) {
  Descriptor* const d = described(handle, kConvolution);
  if (!d || n < 2 || n > 3 || mode != kCrossCorrelation) return dnn_wrong("a convolution's descriptor");
  if (*std::min_element(padding, padding + n) < 0 || *std::min_element(step, step + n) < 1 ||
      *std::min_element(dilation, dilation + n) < 1)
    return dnn_wrong("a padding below 0, or a stride or dilation below 1");
  d->padding = listed(padding, n), d->step = listed(step, n), d->dilation = listed(dilation, n), d->type = type;
  return 0;
}
Code cudnnSetConvolutionGroupCount(Handle handle, int groups) {
  Descriptor* const d = described(handle, kConvolution);
  if (!d || groups < 1) return dnn_wrong("a number of groups");
  d->groups = groups;
  return 0;
}
Code cudnnSetConvolutionMathType(Handle handle, int math) {
  Descriptor* const d = described(handle, kConvolution);
  if (!d || math < 0 || math > kFmaMath) return dnn_wrong("a math type");
  d->math = math;
  return 0;
}

Code cudnnGetConvolutionForwardAlgorithm_v7(Handle h, Handle x, Handle w, Handle c, Handle y, int asked, int* n, Algorithm* found) {
  return propose(h, x, w, y, c, asked, n, found);
}
Code cudnnGetConvolutionBackwardDataAlgorithm_v7(Handle h, Handle w, Handle y, Handle c, Handle x, int asked, int* n,
                                                 Algorithm* found) {
  return propose(h, x, w, y, c, asked, n, found);
}
Code cudnnGetConvolutionBackwardFilterAlgorithm_v7(Handle h, Handle x, Handle y, Handle c, Handle w, int asked, int* n,
                                                   Algorithm* found) {
  return propose(h, x, w, y, c, asked, n, found);
}
Code cudnnConvolutionForward(Handle h, const void* alpha, Handle x, const void* px, Handle w, const void* pw, Handle c,
                             int algorithm, void* space, size_t bytes, const void* beta, Handle y, void* py) {
  return convolve("cudnnConvolutionForward", 0, h, alpha, beta, x, px, w, pw, y, py, c, algorithm, space, bytes);
}
Code cudnnConvolutionBackwardData(Handle h, const void* alpha, Handle w, const void* pw, Handle y, const void* py, Handle c,
                                  int algorithm, void* space, size_t bytes, const void* beta, Handle x, void* px) {
  return convolve("cudnnConvolutionBackwardData", 1, h, alpha, beta, x, px, w, pw, y, py, c, algorithm, space, bytes);
}
Code cudnnConvolutionBackwardFilter(Handle h, const void* alpha, Handle x, const void* px, Handle y, const void* py, Handle c,
                                    int algorithm, void* space, size_t bytes, const void* beta, Handle w, void* pw) {
  return convolve("cudnnConvolutionBackwardFilter", 2, h, alpha, beta, x, px, w, pw, y, py, c, algorithm, space, bytes);
}

}  // extern "C"

// Of the types that `make cuda-check` compares with NVIDIA's headers.
#define SAME(name, ...) static_assert(std::is_same_v<decltype(name), __VA_ARGS__>);
RUSHLIGHT_CUBLAS(SAME)
RUSHLIGHT_CUDNN(SAME)
