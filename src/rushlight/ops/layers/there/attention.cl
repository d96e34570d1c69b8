// Rows of attention between its products: scores become weights, and gradients of weights those of scores. A work item does a
// row. Scores are T, one row after the other; what is added to or multiplied with them has strides in bytes.
#ifdef REAL
typedef struct {
  i64 rows, queries, keys, causal, columns[2];  // and how far apart columns of the mask and of the noise are
  Layout places[2];                             // of their rows
} Attention;

// A score with the mask; -INFINITE where the query does not see the key.
FUNCTION T masked(T score, GLOBAL const u8 *mask, i64 at, int type) {
  if (type < 0) return score;
  const T value = load(mask, at, type);
  return type == TYPE_BOOL ? (value != 0 ? score : -INFINITE) : score + value;
}

// scores become weights times noise; sums: of each row the logarithm of the sum of exponentials, INFINITE where it sees none of them.
KERNEL attention_weights(BUFFER(scores), BUFFER(mask), BUFFER(noise), BUFFER(sums), GIVEN Attention p, i64 mask_type, i64 noise_type) {
  if (ITEM >= p.rows) return;
  GLOBAL T *row = OF(T, scores) + ITEM * p.keys;
  const i64 m = mask_at + place_of(&p.places[0], ITEM), n = noise_at + place_of(&p.places[1], ITEM), query = ITEM % p.queries;
  const i64 end = p.causal && query + 1 < p.keys ? query + 1 : p.keys;
  T most = -INFINITE;
  for (i64 j = 0; j < end; ++j) {
    row[j] = masked(row[j], mask, m + j * p.columns[0], (int)mask_type);
    most = row[j] > most || row[j] != row[j] ? row[j] : most;
  }
  if (most == -INFINITE) most = 0;
  T sum = 0;
  for (i64 j = 0; j < end; ++j) sum += row[j] = exp(row[j] - most);
  OF(T, sums)[ITEM] = p.keys == 0 ? (T)0 : sum == 0 ? INFINITE : most + log(sum);
  for (i64 j = 0; j < p.keys; ++j) {
    if (j >= end || sum == 0) row[j] = 0;
    else row[j] = row[j] / sum * (noise_type < 0 ? (T)1 : load(noise, n + j * p.columns[1], (int)noise_type));
  }
}

// scores become weights times noise once more, and slopes, the gradients of those, become the gradients of the masked scores.
KERNEL attention_slopes(BUFFER(scores), BUFFER(slopes), BUFFER(mask), BUFFER(noise), BUFFER(sums), GIVEN Attention p, i64 mask_type,
                        i64 noise_type) {
  if (ITEM >= p.rows) return;
  GLOBAL T *row = OF(T, scores) + ITEM * p.keys, *slope = OF(T, slopes) + ITEM * p.keys;
  const i64 m = mask_at + place_of(&p.places[0], ITEM), n = noise_at + place_of(&p.places[1], ITEM), query = ITEM % p.queries;
  const i64 end = p.causal && query + 1 < p.keys ? query + 1 : p.keys;
  const T logarithm = OF(T, sums)[ITEM];
  T sum = 0;
  for (i64 j = 0; j < end; ++j) {
    row[j] = logarithm == INFINITE ? (T)0 : exp(masked(row[j], mask, m + j * p.columns[0], (int)mask_type) - logarithm);
    if (noise_type >= 0) slope[j] *= load(noise, n + j * p.columns[1], (int)noise_type);
    sum += row[j] * slope[j];
  }
  for (i64 j = 0; j < p.keys; ++j) {
    slope[j] = j < end ? row[j] * (slope[j] - sum) : 0;
    if (j >= end) row[j] = 0;
    else if (noise_type >= 0) row[j] *= load(noise, n + j * p.columns[1], (int)noise_type);
  }
}
#endif
