// Losses of pairs of elements and of classes, their sums, and gradients.

#ifdef REAL
#define CHUNK 64  // elements that are summed before their sum is added: errors grow with the number of chunks

enum { SQUARED, SMOOTH, HUBER, PROBABILITY, LOGIT, MARGIN };

FUNCTION T not_below(T a, T low) { return a < low ? low : a; }  // a NaN stays one
FUNCTION T log_of_sum(T a) { return log1p(exp(-fabs(a))) + not_below(a, 0); }  // log(1 + exp(a))

// A loss for each x and y; `limit`: beta or delta.
KERNEL pair_loss(BUFFER(x), BUFFER(y), BUFFER(weight), BUFFER(positive), BUFFER(out), i64 type, i64 out_type, i64 items, i64 kind,
                 T limit) {
  if (ITEM >= items) return;
  const i64 at = ITEM * SIZE(type);
  const T a = load(x, x_at + at, (int)type), b = load(y, y_at + at, (int)type), d = fabs(a - b);
  T loss;
  switch (kind) {
    case SQUARED: loss = (a - b) * (a - b); break;
    case SMOOTH: loss = d < limit ? (T)0.5 * d * d / limit : d - (T)0.5 * limit; break;
    case HUBER: loss = d <= limit ? (T)0.5 * d * d : limit * (d - (T)0.5 * limit); break;
    case PROBABILITY: loss = (b - 1) * not_below(log1p(-a), -100) - b * not_below(log(a), -100); break;
    case LOGIT: {
      const T factor = positive ? (load(positive, positive_at + at, (int)type) - 1) * b + 1 : 1;
      loss = (1 - b) * a + factor * log_of_sum(-a);
      break;
    }
    default: loss = log_of_sum(-b * a);
  }
  if (weight) loss *= load(weight, weight_at + at, (int)type);
  store(out, out_at + ITEM * SIZE(out_type), (int)out_type, loss);
}

// The gradient of the mean or sum of squares, or of each: factor * g * (x - y). g_step: 0 where there is one g.
KERNEL squares_gradient(BUFFER(g), BUFFER(x), BUFFER(y), BUFFER(out), i64 type, i64 items, i64 g_step, T factor) {
  if (ITEM >= items) return;
  const i64 item = SIZE(type), at = ITEM * item;
  const T d = load(x, x_at + at, (int)type) - load(y, y_at + at, (int)type);
  store(out, out_at + at, (int)type, d * (load(g, g_at + ITEM * g_step * item, (int)type) * factor));
}

// Of scores (batch, classes, inner): the negatives of those that the targets pick, times their weight; and the weights, of
// type T. Targets that are ignored or no class have weight 0; without scores the weights alone are wanted.
KERNEL class_loss(BUFFER(scores), BUFFER(target), BUFFER(weight), BUFFER(losses), BUFFER(weights), i64 type, i64 out_type, i64 items,
                  i64 classes, i64 inner, i64 ignored, TELLS) {
  if (ITEM >= items) return;
  const i64 t = OF(const i64, target)[ITEM];
  T own = 0, loss = 0;
  if (t != ignored && t >= 0 && t < classes) {
    own = weight ? load(weight, weight_at + t * SIZE(type), (int)type) : 1;
    if (scores) {
      const i64 at = (ITEM / inner * classes + t) * inner + ITEM % inner;
      loss = -load(scores, scores_at + at * SIZE(type), (int)type) * own;
    }
  } else if (t != ignored) {
    TELL(t, classes)
    loss = NOT_A_NUMBER;
  }
  if (losses) store(losses, losses_at + ITEM * SIZE(out_type), (int)out_type, loss);
  if (weights) OF(T, weights)[ITEM] = own;
}

// The gradients of the scores that targets pick; all others are 0.
KERNEL class_gradient(BUFFER(g), BUFFER(target), BUFFER(weight), BUFFER(total), BUFFER(out), i64 type, i64 items, i64 classes,
                      i64 inner, i64 ignored, i64 g_step) {
  if (ITEM >= items) return;
  const i64 t = OF(const i64, target)[ITEM], item = SIZE(type), sample = quotient(ITEM, inner);
  if (t == ignored || t < 0 || t >= classes) return;
  T value = -load(g, g_at + ITEM * g_step * item, (int)type);
  if (weight) value *= load(weight, weight_at + t * item, (int)type);
  if (total) value /= *OF(const T, total);
  store(out, out_at + ((sample * classes + t) * inner + ITEM - sample * inner) * item, (int)type, value);
}

// Of rows of classes: the mean of max(0, margin - x[target] + x) to a power, without the target's own.
KERNEL margin_loss(BUFFER(x), BUFFER(target), BUFFER(weight), BUFFER(out), i64 type, i64 out_type, i64 rows, i64 classes, i64 squared,
                   T margin, TELLS) {
  if (ITEM >= rows) return;
  const i64 t = OF(const i64, target)[ITEM], item = SIZE(type);
  T sum = NOT_A_NUMBER;
  if (t < 0 || t >= classes) {
    TELL(t, classes)
  } else {
    const T own = load(x, x_at + (ITEM * classes + t) * item, (int)type);
    sum = 0;
    for (i64 c = 0; c < classes; ++c) {
      const T excess = not_below(margin - own + load(x, x_at + (ITEM * classes + c) * item, (int)type), 0);
      if (c != t) sum += squared ? excess * excess : excess;
    }
    if (weight) sum *= load(weight, weight_at + t * item, (int)type);
  }
  store(out, out_at + ITEM * SIZE(out_type), (int)out_type, sum / (T)classes);
}

KERNEL add_up(BUFFER(values), BUFFER(sums), i64 items, i64 parts) {
  if (ITEM >= parts) return;
  const i64 last = (ITEM + 1) * items / parts;
  T sum = 0;
  for (i64 begin = ITEM * items / parts; begin < last; begin += CHUNK) {
    T some = 0;
    for (i64 i = begin; i < begin + CHUNK && i < last; ++i) some += OF(const T, values)[i];
    sum += some;
  }
  OF(T, sums)[ITEM] = sum;
}

// The sum of sums, over the sum of weights or a number where one is given.
KERNEL reduced(BUFFER(sums), BUFFER(weights), BUFFER(out), i64 type, i64 parts, i64 mean, i64 divisor) {
  if (ITEM) return;
  T sum = 0, total = 0;
  for (i64 i = 0; i < parts; ++i) {
    sum += OF(const T, sums)[i];
    if (weights) total += OF(const T, weights)[i];
  }
  store(out, out_at, (int)type, weights ? sum / total : (mean ? sum / (T)divisor : sum));
}

#ifdef WARPS
#include "vectors.cl"

#define AT_ONCE 4096  // values that a group adds up

// The sum of values that a group goes through, for each of its work items.
FUNCTION T sum_of(const T *values, i64 n) {
  T sum = 0;
  for (i64 i = MEMBER; i < n; i += WIDE_GROUP) sum += values[i];
  return fold<Sum>(sum, WIDE_GROUP);
}

KERNEL_OF(WIDE_GROUP) add_up_all(BUFFER(values), BUFFER(sums), i64 items) {
  const i64 first = GROUP_NUMBER * AT_ONCE;
  const T sum = sum_of(OF(const T, values) + first, items - first < AT_ONCE ? items - first : AT_ONCE);
  if (MEMBER == 0) OF(T, sums)[GROUP_NUMBER] = sum;
}

KERNEL_OF(WIDE_GROUP) reduced_all(BUFFER(sums), BUFFER(weights), BUFFER(out), i64 type, i64 parts, i64 mean, i64 divisor) {
  const T sum = sum_of(OF(const T, sums), parts);
  const T total = weights ? sum_of(OF(const T, weights), parts) : mean ? (T)divisor : 1;
  if (MEMBER == 0) store(out, out_at, (int)type, sum / total);
}
#endif
#endif
