// Fourier transforms of tensors, one dimension after another: the first from the argument, the others in the result.
#include "kernels/fft.h"

#include "bindings/kernel.h"

namespace rushlight {
namespace {

constexpr DType real_of(DType t) { return t == DType::C64 ? DType::F32 : t == DType::C128 ? DType::F64 : t; }

Failed refuse_type(const TensorInfo& a) { return fail(PyExc_RuntimeError, "Unsupported dtype %s", scalar_name(a.dtype)); }

FftPlaces places_of(const TensorInfo& a, int dim) {
  const ptrdiff_t imaginary = is_complex(a.dtype) ? item_size(a.dtype) / 2 : 0;
  return {a.data, a.strides[dim], imaginary, {}};
}

// Makes the dimensions non-negative; false with an exception.
bool has_lines(const TensorInfo& a) {
  return a.ndim || fail(PyExc_RuntimeError, "a transform is of a tensor with dimensions, not of one number");
}

bool read_dims(const TensorInfo& a, Sizes& dims) {
  if (!has_lines(a)) return false;
  for (int i = 0; i < dims.n; i++) {
    dims.at[i] = normal_dim(dims.at[i], a.ndim);
    if (dims.at[i] < 0) return false;
  }
  return true;
}

// Runs a transform along a dimension, whose `n` real or complex numbers become those of `out`. The other dimensions are lines:
// merged where both have them one behind the other. False where there is no memory.
bool run(Fft& call, const TensorInfo& a, const TensorInfo& out, int dim) {
  call.from = places_of(a, dim);
  call.to = places_of(out, dim);
  call.ndim = 0;
  for (int i = 0; i < a.ndim; i++) {
    if (i == dim || a.shape[i] == 1) continue;
    const int last = call.ndim - 1;
    if (last >= 0 && call.from.lines[last] == a.shape[i] * a.strides[i] && call.to.lines[last] == a.shape[i] * out.strides[i]) {
      call.shape[last] *= a.shape[i];
    } else {
      call.shape[call.ndim++] = a.shape[i];
    }
    call.from.lines[call.ndim - 1] = a.strides[i];
    call.to.lines[call.ndim - 1] = out.strides[i];
  }
  return fft(call);
}

// A new tensor of a's shape but for `size` of dimension `dim`, and the transforms along the dimensions: the last by `kind`.
Ref transformed(const TensorInfo& given, DType result, FftKind kind, const Sizes& dims, double scale, double edges, bool forward,
                Py_ssize_t n, Py_ssize_t size, bool whole) {
  Ref aligned = given.tensor->is_aligned() || is_meta(given) ? Ref() : contiguous(given.tensor);
  const TensorInfo a = aligned ? info_of(aligned) : given;
  Py_ssize_t shape[kMaxDims];
  std::copy_n(a.shape, a.ndim, shape);
  const int last = static_cast<int>(dims.at[dims.n - 1]);
  shape[last] = size;
  Ref made = new_ref(result, a.ndim, shape, device_of(a));
  if (!has_memory(made) || as_tensor(made)->numel() == 0) return made;
  const TensorInfo out = info_of(made);
  // Layouts of one's own: another thread may change the argument's.
  Py_ssize_t sizes[kMaxDims], strides[kMaxDims];
  std::copy_n(a.shape, a.ndim, sizes);
  std::copy_n(a.strides, a.ndim, strides);
  TensorInfo in = a;
  in.shape = sizes;
  in.strides = strides;
  bool done = true;
  {
    const Unlocked unlocked(as_tensor(made)->nbytes() > kReleaseGilBytes, a, made);
    Fft call{};
    call.dtype = real_of(a.dtype);
    call.kind = kind;
    call.n = n;
    call.forward = forward;
    call.whole = whole;
    call.scale = scale;
    call.edges = edges;
    done = run(call, in, out, last);
    call.kind = FftKind::Complex;
    call.scale = call.edges = 1;
    for (int i = dims.n - 1; done && i-- > 0;) {
      call.n = out.shape[dims.at[i]];
      done = run(call, out, out, static_cast<int>(dims.at[i]));
    }
  }
  if (!done) return no_memory();
  return made;
}

Failed no_numbers(Py_ssize_t n) { return fail(PyExc_RuntimeError, "Invalid number of data points (%zd) specified", n); }

Ref fft_c2c(const TensorInfo& a, Sizes dims, double scale, bool forward) {
  if (!is_complex(a.dtype)) return refuse_type(a);
  if (!dims.n || !read_dims(a, dims)) return {};
  const Py_ssize_t n = a.shape[dims.at[dims.n - 1]];
  if (n < 1) return no_numbers(n);
  return transformed(a, a.dtype, FftKind::Complex, dims, scale, 1, forward, n, n, true);
}

// Of real numbers: of the last dimension the first half of the result, its ends times `edges`, or all of it.
Ref fft_r2c(const TensorInfo& a, Sizes dims, double scale, bool onesided, double edges) {
  if (!a.is_float()) return refuse_type(a);
  if (!dims.n || !read_dims(a, dims)) return {};
  const Py_ssize_t n = a.shape[dims.at[dims.n - 1]];
  if (n < 1) return no_numbers(n);
  const DType result = a.dtype == DType::F32 ? DType::C64 : DType::C128;
  return transformed(a, result, FftKind::FromReal, dims, scale, edges, true, n, onesided ? n / 2 + 1 : n, !onesided);
}

// n real numbers from the first half of their transform, its ends times `edges`; or from all of what may be no such transform the
// real part.
Ref fft_c2r(const TensorInfo& a, Dim dim, double scale, Py_ssize_t n, double edges) {
  if (!is_complex(a.dtype)) return refuse_type(a);
  if (!has_lines(a)) return {};
  if (n < 1) return no_numbers(n);
  const bool half = a.shape[dim] == n / 2 + 1;
  if (!half && a.shape[dim] != n)
    return fail(PyExc_RuntimeError, "%zd numbers have a half of %zd, not of %zd", n, n / 2 + 1, a.shape[dim]);
  Sizes dims;
  dims.n = 1;
  dims.at[0] = dim;
  return transformed(a, real_of(a.dtype), FftKind::ToReal, dims, scale, edges, false, n, n, !half);
}

const KernelRows kRows = {
    long_kernel<fft_c2c, "fft_c2c(a, dim, scale, forward)">(),
    long_kernel<fft_r2c, "fft_r2c(a, dim, scale, onesided, edges)">(),
    long_kernel<fft_c2r, "fft_c2r(a, dim, scale, n, edges)">(),
};

}  // namespace
}  // namespace rushlight
