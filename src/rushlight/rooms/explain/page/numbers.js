// Numbers as a person reads them: the shortest decimal that gives the same number in its type.
// The exact value goes along in the attribute data-value.

// Bits of the significand and the least exponent of the types that are narrower than a double.
const NARROW = {
  float32: [24, -126],
  float16: [11, -14],
  bfloat16: [8, -126],
  complex64: [24, -126],
};

/** A number of the data: NaN and the infinities are words there. */
function number(x) {
  if (typeof x !== "string") return x;
  return { nan: NaN, inf: Infinity, "-inf": -Infinity }[x] ?? x;
}

/** The nearest number of a type. */
function rounded(x, dtype) {
  if (dtype === "float32") return Math.fround(x);
  const [bits, least] = NARROW[dtype];
  const exponent = Math.max(Math.floor(Math.log2(Math.abs(x))), least);
  const unit = 2 ** (exponent - bits + 1);
  const whole = Math.floor(x / unit);
  const rest = x / unit - whole;
  return (rest > 0.5 || (rest === 0.5 && whole % 2 !== 0) ? whole + 1 : whole) * unit;
}

/** The shortest decimal that is this number in its type. */
function shortest(x, dtype) {
  if (!Number.isFinite(x) || x === 0 || !(dtype in NARROW) || rounded(x, dtype) !== x) {
    return String(x);
  }
  for (let digits = 1; digits < 17; digits++) {
    const text = x.toPrecision(digits);
    if (rounded(Number(text), dtype) === x) return String(Number(text));
  }
  return String(x);
}

/** A decimal with a true minus sign, as it is set in print. */
function printed(text) {
  if (text === "NaN") return "NaN";
  return text.replace("Infinity", "∞").replace(/-/g, "−").replace("e+", "e");
}

/** A number in full. */
function exact(x, dtype = "float32") {
  x = number(x);
  if (typeof x === "boolean") return x ? "True" : "False";
  if (typeof x !== "number") return printed(String(x));
  return printed(Object.is(x, -0) ? "-0" : shortest(x, dtype));
}

/** A number where there is little room: at most `digits` digits. */
function brief(x, dtype = "float32", digits = 5) {
  x = number(x);
  if (typeof x !== "number" || !Number.isFinite(x)) return exact(x, dtype);
  const full = exact(x, dtype);
  const short = printed(String(Number(x.toPrecision(digits))));
  return full.length <= short.length + 2 ? full : short;
}

/** A norm, to four digits. */
const about = (x) => brief(x, "float64", 4);

/** `12 B`, `3.4 KB`, `5.6 MB`. */
function bytes(n) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let at = 0;
  while (n >= 1000 && at < units.length - 1) {
    n /= 1000;
    at += 1;
  }
  return `${at && n < 100 ? n.toFixed(1) : Math.round(n)} ${units[at]}`;
}

/** `4×16`, `[16]`; "scalar" of no dimensions. */
const shapeText = (shape) =>
  shape.length > 1 ? shape.join("×") : shape.length ? `[${shape[0]}]` : "scalar";

/** A summary as the page wants it: all of its fields. A number alone stands for a scalar. */
function summary(row) {
  if (row === null || row === undefined) return null;
  if (typeof row !== "object") row = { values: row };
  const shape = row.shape ?? [];
  const size = shape.reduce((a, b) => a * b, 1);
  const only = size === 1 ? number([row.values].flat(Infinity)[0]) : undefined;
  const single = typeof only === "number";
  return {
    shape,
    size,
    dtype: row.dtype ?? "float32",
    values: row.values,
    only: size === 1 && row.values !== undefined ? only : undefined,
    norm: number(row.norm ?? (single ? Math.abs(only) : 0)),
    min: number(row.min ?? (single ? only : undefined)),
    max: number(row.max ?? (single ? only : undefined)),
    zeros: row.zeros ?? (single && only === 0 ? 1 : 0),
    nan: row.nan ?? (single && Number.isNaN(only) ? 1 : 0),
    inf: row.inf ?? (single && Math.abs(only) === Infinity ? 1 : 0),
  };
}

/** A summary in a few words: the number of a scalar, else shape and norm. */
function inBrief(sum) {
  if (!sum) return "";
  if (sum.only !== undefined) return brief(sum.only, sum.dtype);
  return `${shapeText(sum.shape)}, norm ${about(sum.norm)}`;
}

/** An element with a number, and its exact value in data-value. */
function numberElement(x, dtype, attributes) {
  return h("span.number", { "data-value": dataValue(x), ...attributes }, exact(x, dtype));
}

/** What stands in data-value. */
const dataValue = (x) => (Object.is(number(x), -0) ? "-0" : String(number(x)));

/** An element with all that a summary says: its numbers where they are few, else shape and norm. */
function summaryElement(sum, testid) {
  if (!sum) return h("span.none", { "data-testid": testid }, "not known");
  if (sum.only !== undefined) {
    const place = sum.shape.length ? [" ", h("span.dim", shapeText(sum.shape))] : [];
    return h("span", numberElement(sum.only, sum.dtype, { "data-testid": testid }), place);
  }
  const facts = [h("span.dim", `${shapeText(sum.shape)} `)];
  facts.push("norm ", h("span.number", { "data-value": String(sum.norm) }, about(sum.norm)));
  if (sum.nan) facts.push(h("strong.bad", ` ${counted(sum.nan, "NaN", "NaN")}`));
  if (sum.inf) facts.push(h("strong.bad", ` ${counted(sum.inf, "infinite", "infinite")}`));
  const whole = h("span", { "data-testid": testid, "data-norm": String(sum.norm) }, facts);
  if (sum.values === undefined || !sum.size) return whole;
  return h("div.in-full", whole, valuesElement(sum));
}

/** The numbers of a small tensor, as a table of its rows. */
function valuesElement(sum) {
  const rows = [];
  const walk = (values, depth) => {
    if (depth === sum.shape.length - 1 || !Array.isArray(values)) rows.push([values].flat());
    else values.forEach((inner) => walk(inner, depth + 1));
  };
  walk(sum.values, 0);
  const cells = (row) => row.map((x) => numberCell(dataValue(x), exact(x, sum.dtype)));
  return tableOf(
    { class: "values" },
    null,
    rows.map((row) => rowOf(null, ...cells(row))),
  );
}
