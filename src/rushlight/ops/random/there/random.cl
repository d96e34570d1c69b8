// Random numbers by Philox 4x32 of ten rounds (Salmon, Moraes, Dror and Shaw, 2011): four words of 32 bits are a function of a key,
// the seed, and of a counter. A work item computes one counter's words and the elements that are made of them.
#pragma OPENCL FP_CONTRACT OFF

typedef struct {
  u32 w[4];
} Words;

FUNCTION u32 upper_half(u64 product) { return (u32)(product >> 32); }

FUNCTION Words philox(u64 low, u64 high, u64 seed) {
  u32 a = (u32)low, b = upper_half(low), c = (u32)high, d = upper_half(high);
  u32 key0 = (u32)seed, key1 = upper_half(seed);
  for (int round = 0; round < 10; ++round) {
    const u64 first = (u64)0xD2511F53u * a, second = (u64)0xCD9E8D57u * c;
    a = upper_half(second) ^ b ^ key0;
    b = (u32)second;
    c = upper_half(first) ^ d ^ key1;
    d = (u32)first;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  Words words;
  words.w[0] = a, words.w[1] = b, words.w[2] = c, words.w[3] = d;
  return words;
}

FUNCTION u64 joined(const Words *words, int k) { return (u64)words->w[2 * k + 1] << 32 | words->w[2 * k]; }

// `base`: no memory, or where a captured graph finds its seed and its first counter.
FUNCTION Words drawn_words(GLOBAL const i64 *base, i64 item, i64 first, i64 seed) {
  return base == 0 ? philox((u64)first + (u64)item, 0, (u64)seed) : philox((u64)base[1] + (u64)first + (u64)item, 0, (u64)base[0]);
}
#define DRAWN drawn_words(base == 0 ? 0 : OF(const i64, base), ITEM, first, seed)

// The words themselves, as int32: those of the counters that begin at (low, high).
KERNEL random_words(BUFFER(out), i64 counters, i64 seed, i64 low, i64 high) {
  if (ITEM >= counters) return;
  const Words words = philox((u64)low + (u64)ITEM, (u64)high, (u64)seed);
  for (int k = 0; k < 4; ++k) OF(u32, out)[4 * ITEM + k] = words.w[k];
}

// Integers from `low`, `range` of them; 0 is 2^64. Of 64 bits, so that none is likelier than another by more than range / 2^64.
KERNEL random_integers(BUFFER(out), BUFFER(base), i64 type, i64 count, i64 seed, i64 first, i64 low, i64 range) {
  if (2 * ITEM >= count) return;
  const Words words = DRAWN;
  for (int k = 0; k < 2 && 2 * ITEM + k < count; ++k) {
    const u64 drawn = joined(&words, k);
    const i64 value = (i64)((u64)low + (range == 0 ? drawn : drawn % (u64)range));
    store(out, out_at + (2 * ITEM + k) * SIZE(type), (int)type, (T)value);
  }
}

#ifdef REAL
enum { UNIFORM, NORMAL, LOG_NORMAL, EXPONENTIAL, CAUCHY, GEOMETRIC, BERNOULLI, BERNOULLI_EACH };

// A type of 64 bits takes two words for a number, the others one. `digits`: those of the element type.
#define PER_ITEM (sizeof(T) == 8 ? 2 : 4)

// In [0, 1), a multiple of 2^-digits.
FUNCTION T below_one(const Words *words, int k, int digits) {
  if (sizeof(T) == 8) return (T)(joined(words, k) >> (64 - digits)) / (T)((u64)1 << digits);
  return (T)(words->w[k] >> (32 - digits)) / (T)((u64)1 << digits);
}

// In (0, 1), neither end.
FUNCTION T inside_one(const Words *words, int k) {
  if (sizeof(T) == 8) return ((T)(joined(words, k) >> 12) + (T)0.5) / (T)((u64)1 << 52);
  return ((T)(words->w[k] >> 9) + (T)0.5) / (T)((u64)1 << 23);
}

// Elements 2 j and 2 j + 1 of an item are the two of a pair (Box and Muller, 1958).
FUNCTION T normal_of(const Words *words, int k) {
  const T far = sqrt(-2 * log(inside_one(words, k & ~1)));
  const T turn = (T)6.283185307179586476925 * inside_one(words, k | 1);
  return far * ((k & 1) != 0 ? sin(turn) : cos(turn));
}

FUNCTION T as_stored(T value, int type) {
  if (type == TYPE_FLOAT16) return (T)from_half(to_half((float)value));
  return type == TYPE_BFLOAT16 ? (T)from_bfloat(to_bfloat((float)value)) : value;
}

// a and b: the two parameters of the distribution; p: probabilities of BERNOULLI_EACH, of the type p_type.
KERNEL random_numbers(BUFFER(out), BUFFER(p), BUFFER(base), i64 type, i64 p_type, i64 digits, i64 kind, i64 count, i64 seed, i64 first,
                      T a, T b) {
  if (PER_ITEM * ITEM >= count) return;
  const Words words = DRAWN;
  for (int k = 0; k < PER_ITEM && PER_ITEM * ITEM + k < count; ++k) {
    const i64 at = PER_ITEM * ITEM + k;
    T value = 0;
    switch ((int)kind) {
      case UNIFORM:
        value = as_stored(a + (b - a) * below_one(&words, k, (int)digits), (int)type);
        if (value >= b) value = a;  // rounding reached the end
        break;
      case NORMAL: value = a + b * normal_of(&words, k); break;
      case LOG_NORMAL: value = exp(a + b * normal_of(&words, k)); break;
      case EXPONENTIAL: value = -log(inside_one(&words, k)) / a; break;
      case CAUCHY: value = a + b * tan((T)3.141592653589793238463 * (inside_one(&words, k) - (T)0.5)); break;
      case GEOMETRIC: value = ceil(log(inside_one(&words, k)) / b); break;  // b: log(1 - p)
      case BERNOULLI: value = below_one(&words, k, (int)digits) < a ? 1 : 0; break;
      default: value = below_one(&words, k, (int)digits) < load(p, p_at + at * SIZE(p_type), (int)p_type) ? 1 : 0;
    }
    store(out, out_at + at * SIZE(type), (int)type, value);
  }
}
#endif
