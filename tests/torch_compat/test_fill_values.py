"""Python numbers that become elements: values, and the refusal of those that a dtype cannot hold.

Every function that writes a number is tried with numbers around each dtype's limits, and must give
PyTorch's elements or raise PyTorch's exception with its first sentence.
"""

import math

import compat
import pytest

FORMS = {
    "masked_fill": lambda t, x, v: x.masked_fill(t.tensor([True, False]), v),
    "masked_fill_": lambda t, x, v: x.masked_fill_(t.tensor([True, False]), v),
    "masked_fill nothing": lambda t, x, v: x.masked_fill(t.tensor([False, False]), v),
    "masked_fill tensor": lambda t, x, v: x.masked_fill(t.tensor([True, False]), t.tensor(v)),
    "masked_fill_ tensor": lambda t, x, v: x.masked_fill_(t.tensor([True, False]), t.tensor(v)),
    "fill_": lambda t, x, v: x.fill_(v),
    "fill_ tensor": lambda t, x, v: x.fill_(t.tensor(v)),
    "fill_diagonal_": lambda t, x, v: x.repeat(2, 1).fill_diagonal_(v),
    "full": lambda t, x, v: t.full((2,), v, dtype=x.dtype),
    "full_like": lambda t, x, v: t.full_like(x, v),
    "new_full": lambda t, x, v: x.new_full((2,), v),
    "index_fill": lambda t, x, v: x.index_fill(0, t.tensor([0]), v),
    "scatter": lambda t, x, v: x.scatter(0, t.tensor([0]), v),
    "one element": lambda t, x, v: x.__setitem__(0, v),
    "slice": lambda t, x, v: x.__setitem__(slice(None), v),
    "mask": lambda t, x, v: x.__setitem__(t.tensor([True, False]), v),
    "index": lambda t, x, v: x.__setitem__(t.tensor([0]), v),
    "pad": lambda t, x, v: t.constant_pad_nd(x, (1, 1), v),
    "where": lambda t, x, v: t.where(t.tensor([True, False]), x, v),
    "clamp_max": lambda t, x, v: x.clamp(max=v),
    "clamp_min": lambda t, x, v: x.clamp(min=v),
    "threshold": lambda t, x, v: t.threshold(x, 2, v),
    "tensor": lambda t, x, v: t.tensor(v, dtype=x.dtype),
    "list": lambda t, x, v: t.tensor([v, v], dtype=x.dtype),
}
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64")
FLOATS = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
NUMBERS = [0, 1.5, -1.5, -0.5, -1, 127, 128, -128, -129, 255, 256, -255, -256, 2**15, 2**31, 2**62]
NUMBERS += [-(2**63), 1e19, 1e5, 65504.0, 65520.0, 3.4e38, 3.5e38, -1e40, math.inf, -math.inf]
NUMBERS += [math.nan, True]
BEYOND = [2**64, -(2**63) - 1]
COMPLEX = [1 + 0j, 1 + 2j, complex(math.inf, 0), complex(1e40, 1)]


def outcome(t, form, dtype, value):
    """What a form did: the elements afterwards, or the exception."""
    x = t.ones(2, dtype=getattr(t, dtype))
    try:
        result = FORMS[form](t, x, value)
    except Exception as error:
        assert x.tolist() == [1, 1], "changed before it was refused"
        return error
    return x if result is None else result


@pytest.mark.parametrize("dtype", DTYPES + FLOATS)
@pytest.mark.parametrize("form", FORMS)
def test_like_torch(form, dtype):
    values = list(NUMBERS)
    if form[:5] != "clamp" and form != "threshold" and (form != "where" or dtype != "float16"):
        values += COMPLEX  # clamp says otherwise of complex bounds; there is no complex32
    if dtype in DTYPES and (form, dtype) != ("threshold", "bool"):
        values += BEYOND  # a float has room for them, and takes them here
    problems = []
    for value in values:
        if form.endswith("tensor") and (value in BEYOND or (form[0] == "f" and value != value)):
            continue
        want = outcome(compat.oracle, form, dtype, value)
        have = outcome(compat.subject, form, dtype, value)
        case = compat.Case(form, dtype, frozenset())
        if isinstance(want, Exception) or isinstance(have, Exception):
            want_run = compat.Run({}, error=want if isinstance(want, Exception) else None)
            have_run = compat.Run({}, error=have if isinstance(have, Exception) else None)
            found = compat.same_error(want_run, have_run)
        else:
            found = compat.same_values(want, have, "result", case.flags)
        problems += [f"{value!r}: {text}" for text in found]
    assert not problems, "\n".join(problems)
