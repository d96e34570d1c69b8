// Random streams: the 32-bit Mersenne Twister, and samplers that draw in the order of PyTorch's CPU
// generator, so that equal seeds give equal numbers.
//
// Facts the samplers rest on. A double uniform is the low 53 bits of a 64-bit draw (two 32-bit draws, the first the
// high half), a float uniform the low 24 bits of one draw; float16 and bfloat16 are float uniforms rounded. Bernoulli
// with a scalar probability, the exponential, geometric, Cauchy and log-normal samplers work in double for every
// element type.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace rushlight {

class Generator {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;
  static constexpr size_t kStateBytes = 5056;

  explicit Generator(uint64_t seed = kDefaultSeed) { set_seed(seed); }
  void set_seed(uint64_t seed);
  uint64_t seed() const { return seed_; }

  uint32_t next32() {
    if (--left_ == 0) refill();
    uint32_t y = state_[next_++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }
  // The next n draws, many at a time.
  void draw(uint32_t* out, ptrdiff_t n);
  uint64_t next64() {
    const uint64_t high = next32();
    return high << 32 | next32();
  }
  float uniform_float() { return static_cast<float>(next32() & 0xffffffu) * 0x1p-24f; }
  double uniform_double() { return static_cast<double>(next64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53; }
  // A standard normal; they are made in pairs, the second waits for the next call.
  double normal_double();

  // The state as torch.get_rng_state lays it out; set_state returns false where the bytes are no state.
  void get_state(unsigned char* bytes) const;
  bool set_state(const unsigned char* bytes);

 private:
  void refill();

  uint64_t seed_;
  uint32_t state_[624];
  uint32_t next_;
  int32_t left_;
  double waiting_normal_ = 0;
  bool has_waiting_ = false;
};

// --- samplers: n elements of a contiguous array in order. They return false for an element type that has no such
// sampler, before anything is drawn. ---

bool fill_uniform(Generator& g, DType dtype, void* out, ptrdiff_t n, double from, double to);
// From sixteen on in groups of sixteen if `blocks`, otherwise one by one: two different streams.
bool fill_normal(Generator& g, DType dtype, void* out, ptrdiff_t n, double mean, double std, bool blocks);
// base + a draw modulo range; range 0 means 2^64, the draw itself.
bool fill_integers(Generator& g, DType dtype, void* out, ptrdiff_t n, uint64_t range, int64_t base);
// The whole range of integers that the element type represents exactly, from 0.
bool fill_natural(Generator& g, DType dtype, void* out, ptrdiff_t n);
bool fill_bernoulli(Generator& g, DType dtype, void* out, ptrdiff_t n, double p);
// One probability an element, of type `p_dtype` (F32 or F64).
bool fill_bernoulli_each(Generator& g, DType dtype, void* out, ptrdiff_t n, DType p_dtype, const void* p);
bool fill_exponential(Generator& g, DType dtype, void* out, ptrdiff_t n, double rate);
bool fill_geometric(Generator& g, DType dtype, void* out, ptrdiff_t n, double p);
bool fill_cauchy(Generator& g, DType dtype, void* out, ptrdiff_t n, double median, double sigma);
bool fill_log_normal(Generator& g, DType dtype, void* out, ptrdiff_t n, double mean, double std);
void fill_permutation(Generator& g, int64_t* out, ptrdiff_t n);
// `samples` draws with replacement for each of `rows` distributions over n categories (weights of F32 or F64, not
// negative, of positive finite sum). `scratch` holds n elements of the type.
void multinomial_with_replacement(Generator& g, DType dtype, const void* weights, ptrdiff_t rows, ptrdiff_t n, ptrdiff_t samples,
                                  void* scratch, int64_t* out);
// The first `samples` categories in falling order of weight / exponential; scratch holds rows * n elements of the type.
// `order` holds n.
void multinomial_without_replacement(Generator& g, DType dtype, const void* weights, ptrdiff_t rows, ptrdiff_t n, ptrdiff_t samples,
                                     void* scratch, int64_t* order, int64_t* out);

// --- samplers with a parameter for each element, in double. A parameter outside of the family's range, or infinite,
// gives NaN (or the limit) and ends: none of them loops on it. ---

// Gamma numbers of scale 1; `single`: as for parameters in single precision, where PyTorch rounds one step to it.
void fill_gamma_each(Generator& g, const double* alpha, double* out, ptrdiff_t n);
void fill_gamma_each_single(Generator& g, const double* alpha, double* out, ptrdiff_t n);
void fill_poisson_each(Generator& g, const double* rate, double* out, ptrdiff_t n);
void fill_binomial_each(Generator& g, const double* count, const double* p, double* out, ptrdiff_t n);

// The derivative of a beta(a, b) number x with respect to a at a fixed value of the distribution function, over 1 - x; `psi` is
// digamma(a) - digamma(a + b).
void beta_gradient(const double* a, const double* b, const double* x, const double* psi, double* out, ptrdiff_t n);

}  // namespace rushlight
