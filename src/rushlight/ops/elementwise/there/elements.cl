// Numbers taken apart and rounded, distances of points, and words combined by exclusive or.
#ifdef REAL
#define CHUNK 64  // elements that are summed before their sum is added: errors grow with the number of chunks

KERNEL taken_apart(BUFFER(x), BUFFER(mantissa), BUFFER(exponent), i64 type, i64 items) {
  if (ITEM >= items) return;
  const i64 at = ITEM * SIZE(type);
  const T value = load(x, x_at + at, (int)type);
  int power = 0;
  const int ends = value != value || fabs(value) == INFINITE;
  store(mantissa, mantissa_at + at, (int)type, ends ? value : frexp(value, &power));
  OF(int, exponent)[ITEM] = ends ? 0 : power;
}

// To decimal places; ten: 10 to their number. down: places before the point.
KERNEL to_decimals(BUFFER(x), BUFFER(out), i64 type, i64 items, i64 down, T ten) {
  if (ITEM >= items) return;
  const i64 at = ITEM * SIZE(type);
  const T value = load(x, x_at + at, (int)type);
  store(out, out_at + at, (int)type, down ? rint(value / ten) * ten : rint(value * ten) / ten);
}

enum { COUNT, SUM, ROOT, MOST, POWER };

// The norm of the differences of each point of x, (batches, rows, size), and each of y, (batches, columns, size).
KERNEL distances(BUFFER(x), BUFFER(y), BUFFER(out), i64 type, i64 items, i64 rows, i64 columns, i64 size, i64 norm, T p, T root) {
  if (ITEM >= items) return;
  const i64 row = ITEM / columns, batch = row / rows, column = ITEM % columns, item = SIZE(type);
  const i64 first = x_at + row * size * item, second = y_at + (batch * columns + column) * size * item;
  T total = 0;
  for (i64 begin = 0; begin < size; begin += CHUNK) {
    T sum = 0;
    for (i64 i = begin; i < begin + CHUNK && i < size; ++i) {
      const T d = fabs(load(x, first + i * item, (int)type) - load(y, second + i * item, (int)type));
      switch (norm) {
        case COUNT: sum += d != 0 ? 1 : 0; break;
        case SUM: sum += d; break;
        case ROOT: sum += d * d; break;
        case MOST: sum = d > sum || d != d ? d : sum; break;
        default: sum += pow(d, p);
      }
    }
    if (norm == MOST) total = sum > total || sum != sum ? sum : total;
    else total += sum;
  }
  store(out, out_at + ITEM * item, (int)type, norm == ROOT ? sqrt(total) : (norm == POWER ? pow(total, root) : total));
}
#endif

// The pointwise programs compute these of integers, and of halves step by step, each step rounded.
enum { DOWN, TOWARDS_ZERO, REMAINDER, REST, COMMON_DIVISOR, COMMON_MULTIPLE };

#ifdef REAL
FUNCTION T held(T value, i64 type) { return type == TYPE_FLOAT16 ? (T)from_half(to_half((float)value)) : (T)from_bfloat(to_bfloat((float)value)); }

FUNCTION T quotient_of(T a, T b, i64 type, i64 which) {
  const T plain = held(a / b, type);
  if (which == TOWARDS_ZERO) return trunc(plain);
  if (b == 0) return plain;
  const T left = fmod(a, b);
  T found = held(held(a - left, type) / b, type);
  if (left != 0 && (b < 0) != (left < 0)) found = held(found - 1, type);
  if (found == 0) return copysign((T)0, plain);
  const T down = floor(found);
  return found - down > (T)0.5 ? down + 1 : down;
}
#else
FUNCTION T common_divisor(T a, T b) {
  while (b != 0) {
    const T rest = b == -1 ? 0 : a % b;
    a = b, b = rest;
  }
  return a < 0 ? -a : a;
}

FUNCTION T quotient_of(T a, T b, i64 type, i64 which) {
  if (which == COMMON_DIVISOR) return common_divisor(a, b);
  if (b == 0) return 0;
  if (which > COMMON_DIVISOR) {
    const T multiple = a / common_divisor(a, b) * b;
    return multiple < 0 ? -multiple : multiple;
  }
  const i64 least = b == -1;  // the quotient of the least number is no number
  const T whole = least ? (T)(-(u64)a) : a / b, rest = least ? 0 : a % b;
  const T down = rest != 0 && (rest < 0) != (b < 0);
  return which == DOWN ? whole - down : which == TOWARDS_ZERO ? whole : which == REMAINDER ? rest + down * b : rest;
}
#endif

// zero: gets 1 where a divisor is 0.
KERNEL divided(BUFFER(a), BUFFER(b), BUFFER(out), BUFFER(zero), GIVEN Layout a_places, GIVEN Layout b_places, i64 type, i64 items,
               i64 which) {
  if (ITEM >= items) return;
  const T divisor = load(b, b_at + place_of(&b_places, ITEM), (int)type);
  const T given = load(a, a_at + place_of(&a_places, ITEM), (int)type);
  if (zero && divisor == 0) *OF(int, zero) = 1;
  store(out, out_at + ITEM * SIZE(type), (int)type, quotient_of(given, divisor, type, which));
}

// Of words of 64 bits: those of each result in `parts` parts.
KERNEL exclusive_or(BUFFER(x), BUFFER(out), GIVEN Layout kept, GIVEN Layout gone, i64 items, i64 length, i64 parts) {
  if (ITEM >= items) return;
  GLOBAL const u8 *from = x + x_at + place_of(&kept, ITEM / parts);
  u64 all = 0;
  for (i64 i = ITEM % parts; i < length; i += parts) all ^= *(GLOBAL const u64 *)(from + place_of(&gone, i));
  OF(u64, out)[ITEM] = all;
}
