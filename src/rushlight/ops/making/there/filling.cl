// Numbers in even steps.
#pragma OPENCL FP_CONTRACT OFF

// first + i step
KERNEL steps(BUFFER(out), i64 type, i64 count, T first, T step) {
  if (ITEM >= count) return;
#ifdef REAL
  const T value = first + (T)ITEM * step;
#else
  const T value = (T)((u64)first + (u64)ITEM * (u64)step);
#endif
  store(out, out_at + ITEM * SIZE(type), (int)type, value);
}

#ifdef REAL
// From both ends to the middle; the product is not rounded before it is added.
KERNEL evenly(BUFFER(out), i64 type, i64 count, T first, T last, T step) {
  if (ITEM >= count) return;
  const i64 left = count - 1 - ITEM;
  const T value = ITEM < count / 2 || count == 1 ? fma(step, (T)ITEM, first) : fma(-step, (T)left, last);
  store(out, out_at + ITEM * SIZE(type), (int)type, value);
}
#endif
