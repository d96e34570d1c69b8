// Elements that go elsewhere as they are: `item` is the bytes of one.

KERNEL fill(BUFFER(out), i64 bits, i64 item, i64 items) {
  if (ITEM < items) move_bits(out + out_at + ITEM * item, (u64)bits, item);
}

KERNEL arrange(BUFFER(x), BUFFER(out), GIVEN Layout x_places, GIVEN Layout out_places, i64 item, i64 items) {
  if (ITEM < items) move(out + out_at + place_of(&out_places, ITEM), x + x_at + place_of(&x_places, ITEM), item);
}

KERNEL triangle(BUFFER(x), BUFFER(out), i64 rows, i64 columns, i64 diagonal, i64 upper, i64 item, i64 items) {
  if (ITEM >= items) return;
  const i64 beyond = ITEM % columns - ITEM / columns % rows - diagonal;
  GLOBAL u8 *to = out + out_at + ITEM * item;
  if (upper ? beyond >= 0 : beyond <= 0) {
    move(to, x + x_at + ITEM * item, item);
  } else {
    move_bits(to, 0, item);
  }
}

// The sum of the windows that show an element: windows of `size` every `step` along a dimension.
KERNEL add_windows(BUFFER(g), BUFFER(out), i64 type, i64 length, i64 inner, i64 windows, i64 size, i64 step, i64 items) {
  if (ITEM >= items) return;
  const i64 within = ITEM % inner, at = ITEM / inner % length, before = ITEM / inner / length;
  i64 low = at - size + 1;
  low = low > 0 ? (low + step - 1) / step : 0;
  T sum = 0;
  for (i64 w = low; w < windows && w * step <= at; ++w) {
    const i64 place = ((before * windows + w) * inner + within) * size + at - w * step;
    sum += load(g, g_at + place * SIZE(type), (int)type);
  }
  store(out, out_at + ITEM * SIZE(type), (int)type, sum);
}
