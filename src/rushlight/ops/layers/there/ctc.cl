// The CTC loss of label sequences. Labels with a blank before, between and behind them are the states of a chain; (time, batch,
// state) numbers of type T are logarithms of probabilities. The states of a step are computed side by side, one step after another.
#ifdef REAL
#define NEVER (-INFINITE)

FUNCTION T log_of_both(T a, T b) {
  const T high = a > b ? a : b;
  return high == NEVER ? a + b : high + log1p(exp((a > b ? b : a) - high));
}

// The sizes of a batch, and the number of the blank.
typedef struct {
  i64 batch, classes, longest, blank;
} Chain;

FUNCTION i64 states(const Chain *c) { return 2 * c->longest + 1; }

FUNCTION i64 label(const Chain *c, GLOBAL const i64 *targets, GLOBAL const i64 *lengths, i64 sample, i64 state) {
  const i64 k = state / 2;
  return state % 2 == 0 || k >= lengths[sample] ? c->blank : targets[sample * c->longest + k];
}

// Whether a state can be reached from two before, past a blank.
FUNCTION int skips(const Chain *c, GLOBAL const i64 *targets, GLOBAL const i64 *lengths, i64 sample, i64 state) {
  return state % 2 == 1 && state > 2 && state < states(c) &&
         label(c, targets, lengths, sample, state) != label(c, targets, lengths, sample, state - 2);
}

// One step of alpha, the probability of all ways that lead to a state, its own step included.
KERNEL forward(BUFFER(scores), BUFFER(targets), BUFFER(lengths), BUFFER(alpha), Chain c, i64 type, i64 t, i64 items) {
  if (ITEM >= items) return;
  const i64 n = states(&c), sample = ITEM / n, state = ITEM % n;
  GLOBAL const i64 *labels = OF(const i64, targets), *counts = OF(const i64, lengths);
  GLOBAL T *now = OF(T, alpha) + t * items + ITEM;
  GLOBAL const T *before = now - items;
  T ways = t == 0 && state < 2 ? 0 : NEVER;
  if (t > 0) {
    ways = log_of_both(before[0], state > 0 ? before[-1] : NEVER);
    if (skips(&c, labels, counts, sample, state)) ways = log_of_both(ways, before[-2]);
  }
  const i64 at = (t * c.batch + sample) * c.classes + label(&c, labels, counts, sample, state);
  *now = ways + load(scores, scores_at + at * SIZE(type), (int)type);
}

// One step of beta, the probability of all ways that go on from a state, its own step included. They end in the last label or the
// blank behind it.
KERNEL backward(BUFFER(scores), BUFFER(targets), BUFFER(lengths), BUFFER(steps), BUFFER(beta), Chain c, i64 type, i64 t, i64 times,
                i64 items) {
  if (ITEM >= items) return;
  const i64 n = states(&c), sample = ITEM / n, state = ITEM % n;
  GLOBAL const i64 *labels = OF(const i64, targets), *counts = OF(const i64, lengths);
  GLOBAL T *now = OF(T, beta) + t * items + ITEM;
  GLOBAL const T *after = now + items;
  const i64 end = 2 * counts[sample];
  T ways = NEVER;
  if (OF(const i64, steps)[sample] == t + 1 && (state == end || state == end - 1)) {
    ways = 0;
  } else if (t + 1 < times) {
    ways = log_of_both(after[0], state + 1 < n ? after[1] : NEVER);
    if (skips(&c, labels, counts, sample, state + 2)) ways = log_of_both(ways, after[2]);
  }
  const i64 at = (t * c.batch + sample) * c.classes + label(&c, labels, counts, sample, state);
  *now = ways + load(scores, scores_at + at * SIZE(type), (int)type);
}

// Minus the logarithm of the probability of a sample's labels; zeroed: infinite ones are 0.
KERNEL losses(BUFFER(alpha), BUFFER(steps), BUFFER(lengths), BUFFER(out), Chain c, i64 type, i64 zeroed) {
  if (ITEM >= c.batch) return;
  const i64 n = states(&c), step = OF(const i64, steps)[ITEM], end = 2 * OF(const i64, lengths)[ITEM];
  GLOBAL const T *last = OF(const T, alpha) + ((step - 1) * c.batch + ITEM) * n + end;
  T total = end > 0 ? NEVER : 0;
  if (step > 0) total = log_of_both(last[0], end > 0 ? last[-1] : NEVER);
  store(out, out_at + ITEM * SIZE(type), (int)type, zeroed && fabs(total) == INFINITE ? 0 : -total);
}

// Of one step of a sample: the probability of each class less its share of all ways, times g. loss: of type T, none is zeroed.
KERNEL gradient(BUFFER(g), BUFFER(scores), BUFFER(targets), BUFFER(lengths), BUFFER(steps), BUFFER(alpha), BUFFER(beta), BUFFER(loss),
                BUFFER(out), Chain c, i64 type, i64 g_type, i64 zeroed, i64 items) {
  if (ITEM >= items) return;
  const i64 n = states(&c), sample = ITEM % c.batch, item = SIZE(type), row = ITEM * c.classes * item;
  GLOBAL const i64 *labels = OF(const i64, targets), *counts = OF(const i64, lengths);
  const T lost = OF(const T, loss)[sample], given = load(g, g_at + sample * SIZE(g_type), (int)g_type);
  const int outside = ITEM / c.batch >= OF(const i64, steps)[sample], endless = fabs(lost) == INFINITE;
  for (i64 k = 0; k < c.classes; ++k) {
    const T chance = exp(load(scores, scores_at + row + k * item, (int)type));
    store(out, out_at + row + k * item, (int)type, outside ? 0 : endless ? (zeroed ? 0 : (T)NOT_A_NUMBER) : given * chance);
  }
  if (outside || endless) return;
  for (i64 state = 0; state < n; ++state) {
    const i64 at = row + label(&c, labels, counts, sample, state) * item;
    const T own = load(scores, scores_at + at, (int)type);
    if (own == NEVER && lost == lost) continue;
    const T ways = OF(const T, alpha)[ITEM * n + state] + OF(const T, beta)[ITEM * n + state];
    const T left = load(out, out_at + at, (int)type) - given * exp(ways - own + lost);
    store(out, out_at + at, (int)type, left);
  }
}
#endif
