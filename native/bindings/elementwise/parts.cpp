// Numbers taken apart.
#include <cmath>

#include "bindings/kernel.h"

namespace rushlight {
namespace {

// (mantissa, exponent)
Pair frexp(const TensorInfo& a) {
  if (!a.is_float_or_half() || is_accelerated(a) || is_meta(a)) return {};
  const DType type = computed_in(a.dtype);
  const Ref in = contiguous_as(a.tensor, type);
  Ref mantissa = new_ref(type, a.ndim, a.shape, DeviceType::Cpu), exponent = new_ref(DType::I32, a.ndim, a.shape, DeviceType::Cpu);
  const Py_ssize_t n = a.size();
  {
    const char* data = data_of(in);
    char* part = data_of(mantissa);
    int32_t* power = data_of<int32_t>(exponent);
    Unlocked unlocked(n * item_size(type) > kReleaseGilBytes, in, mantissa, exponent);
    const auto run = [=]<class T>(const T* x, T* out) {
      parallel(n, 1 << 14, [=](ptrdiff_t begin, ptrdiff_t end) {
        for (ptrdiff_t i = begin; i < end; i++) {
          int e;
          out[i] = std::frexp(x[i], &e);
          power[i] = e;
        }
      });
    };
    by_type(type, run, data, part);
  }
  return tuple_of(rounded(std::move(mantissa), a.dtype), exponent);
}

const KernelRows rows{
    layout_kernel<frexp, "frexp(a): (mantissa, exponent)">(),
};

}  // namespace
}  // namespace rushlight
