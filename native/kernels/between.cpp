#include "kernels/between.h"

#include <algorithm>

namespace rushlight {

namespace {

constexpr ptrdiff_t kBlock = 512;  // elements; two blocks of floats stay in the first cache

template <Between kOp, typename T>
T combined(T a, T b) {
  switch (kOp) {
    case Between::Sum: return a + b;
    case Between::Mean: return a * T(0.5) + b * T(0.5);
    case Between::Product: return a * b;
    // A NaN stays, whichever side it is on.
    case Between::Min: return a != a || a < b ? a : b;
    case Between::Max: return a != a || a > b ? a : b;
  }
}

template <DType kType, Between kOp>
void between(void* theirs, void* ours, int* n, void*) {
  const auto convert = kernels().convert_adjacent;
  float a[kBlock], b[kBlock];
  for (ptrdiff_t done = 0; done < *n; done += kBlock) {
    const ptrdiff_t count = std::min(kBlock, *n - done);
    uint16_t* mine = static_cast<uint16_t*>(ours) + done;
    convert(kType, static_cast<const uint16_t*>(theirs) + done, DType::F32, a, count);
    convert(kType, mine, DType::F32, b, count);
    for (ptrdiff_t i = 0; i < count; ++i) b[i] = combined<kOp>(a[i], b[i]);
    convert(DType::F32, b, kType, mine, count);
  }
}

template <typename T>
void mean_of_two(void* theirs, void* ours, int* n, void*) {
  const T* a = static_cast<const T*>(theirs);
  T* b = static_cast<T*>(ours);
  for (ptrdiff_t i = 0; i < *n; ++i) b[i] = combined<Between::Mean>(a[i], b[i]);
}

template <DType kType>
BetweenFunction of_type(Between op) {
  switch (op) {
    case Between::Sum: return between<kType, Between::Sum>;
    case Between::Product: return between<kType, Between::Product>;
    case Between::Min: return between<kType, Between::Min>;
    case Between::Max: return between<kType, Between::Max>;
    case Between::Mean: return between<kType, Between::Mean>;
  }
  return nullptr;
}

}  // namespace

BetweenFunction between_function(DType type, Between op) {
  switch (type) {
    case DType::BF16: return of_type<DType::BF16>(op);
    case DType::F16: return of_type<DType::F16>(op);
    case DType::F32: return op == Between::Mean ? mean_of_two<float> : nullptr;
    case DType::F64: return op == Between::Mean ? mean_of_two<double> : nullptr;
    default: return nullptr;
  }
}

}  // namespace rushlight
