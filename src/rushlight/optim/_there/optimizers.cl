// Steps of optimizers over one parameter, and norms and scales of gradients. Every intermediate is rounded in the order of the
// separate tensor operations, but those of halves are floats.
#ifdef REAL
#pragma OPENCL FP_CONTRACT OFF

#ifdef WIDE
typedef double Sum;
#else
typedef T Sum;
#endif

#define HAS_MOMENTUM 1
#define IS_FIRST 2
#define NESTEROV 4

KERNEL sgd(BUFFER(param), BUFFER(grad), BUFFER(buffer), i64 type, i64 count, i64 how, T rate, T momentum, T mix, T decay, T sign) {
  if (ITEM >= count) return;
  const i64 at = ITEM * SIZE(type);
  const T p = load(param, param_at + at, (int)type);
  T g = sign * load(grad, grad_at + at, (int)type);
  if (decay != 0) g = g + decay * p;
  if ((how & HAS_MOMENTUM) != 0) {
    const T b = (how & IS_FIRST) != 0 ? g : load(buffer, buffer_at + at, (int)type) * momentum + mix * g;
    store(buffer, buffer_at + at, (int)type, b);
    g = (how & NESTEROV) != 0 ? g + momentum * b : b;
  }
  store(param, param_at + at, (int)type, p + rate * g);
}

// highest: no memory where the largest second moment is not kept.
KERNEL adam(BUFFER(param), BUFFER(grad), BUFFER(mean), BUFFER(square), BUFFER(highest), i64 type, i64 count, i64 keeps_highest,
            T rate, T correction, T eps, T weight, T beta2, T rest, T shrink, T decay, T sign) {
  if (ITEM >= count) return;
  const i64 at = ITEM * SIZE(type);
  const T p = load(param, param_at + at, (int)type) * shrink;
  T g = sign * load(grad, grad_at + at, (int)type);
  if (decay != 0) g = g + decay * p;
  const T before = load(mean, mean_at + at, (int)type);
  // the interpolation starts from the nearer end
  const T m = weight < (T)0.5 && weight > (T)-0.5 ? before + weight * (g - before) : g - (g - before) * (1 - weight);
  const T v = load(square, square_at + at, (int)type) * beta2 + rest * g * g;
  T top = v;
  if (keeps_highest) {
    const T old = load(highest, highest_at + at, (int)type);
    top = old > v || old != old ? old : v;
    store(highest, highest_at + at, (int)type, top);
  }
  store(mean, mean_at + at, (int)type, m);
  store(square, square_at + at, (int)type, v);
  store(param, param_at + at, (int)type, p + rate * m / (sqrt(top) / correction + eps));
}

// The squares of every `parts`-th element from ITEM on, summed into sums[place + ITEM].
KERNEL squares(BUFFER(x), BUFFER(sums), i64 type, i64 count, i64 parts, i64 place) {
  if (ITEM >= parts) return;
  Sum sum = 0;
  for (i64 i = ITEM; i < count; i += parts) {
    const Sum value = (Sum)load(x, x_at + i * SIZE(type), (int)type);
    sum += value * value;
  }
  OF(Sum, sums)[place + ITEM] = sum;
}

KERNEL root_of_sum(BUFFER(sums), BUFFER(out), i64 type, i64 parts) {
  if (ITEM > 0) return;
  Sum sum = 0;
  for (i64 i = 0; i < parts; ++i) sum += OF(Sum, sums)[i];
  store(out, out_at, (int)type, (T)sqrt(sum));
}

KERNEL scale(BUFFER(x), i64 type, i64 count, T factor) {
  if (ITEM >= count) return;
  const i64 at = x_at + ITEM * SIZE(type);
  store(x, at, (int)type, load(x, at, (int)type) * factor);
}
#endif
