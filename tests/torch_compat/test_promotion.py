"""Type promotion: every pair of dtypes, as tensors, 0-dim tensors and Python numbers."""

import itertools

import pytest
from compat import cases, check
from inputs import ALL

# One line a pair: the tensor ranks differ in who decides the result's dtype.
PAIRS = "\n".join(
    f"m_{a} {operator} {b}_{c}    # nograd"
    for operator, b in (("+", "m"), ("*", "s"), ("/", "m"))
    for a, c in itertools.product(ALL, ALL)
)

SCALARS = "\n".join(
    f"{kind}_{a} {operator} {number}    # nograd"
    for kind in "ms"
    for a in ALL
    for operator in ("+", "*")
    for number in ("True", "2", "2.5", "1j")
    if not (number == "1j" and a == "float16")
)

OTHERS = "\n".join(
    f"t.{name}(m_{a}, m_{b})    # nograd{' loose' if name == 'pow' else ''}"
    for name in ("where", "pow", "maximum", "eq", "atan2", "floor_divide", "remainder", "cat")
    for a, b in itertools.product(("uint8", "int64", "float16", "float32", "complex64", "bool"),
                                  repeat=2)
).replace("t.where(", "t.where(msk, ").replace("t.cat(m_", "t.cat([m_").splitlines()  # fmt: skip
OTHERS = "\n".join(
    line.replace(")    #", "])    #") if line.startswith("t.cat") else line for line in OTHERS
)

CASES = cases(
    PAIRS
    + "\n"
    + SCALARS
    + "\n"
    + OTHERS
    + """
# results by category of function
t.result_type(x, s_float64)       # all
t.result_type(x, 2)               # all
t.result_type(x, 2.5)             # all
t.result_type(s, 2.5)             # all
t.result_type(x, m_int64)         # all
t.promote_types(t.int64, t.float16)
t.promote_types(t.uint8, t.int8)
t.promote_types(t.float16, t.bfloat16)
t.promote_types(t.complex64, t.float64)
t.promote_types(t.bool, t.uint8)
t.can_cast(t.float32, t.int64)
t.can_cast(t.int64, t.float16)
s_int64 + s_float32
s_float64 + m_float32
s_float64 * s_float32
s_int64 * m_uint8
s_float32 * m_int64
s_float64 * m_int64
s_complex128 * m_float32
s_complex64 * m_float64
s_bool + m_uint8
s_float16 + m_bfloat16
s_bfloat16 + s_float16
m_int64 / 2
m_int64 / m_int64
m_bool / m_bool
m_int64 // 2
m_int64 // 2.0
m_int64 ** 2
m_int64 ** 0.5
m_int64 ** -1                     # raises
m_uint8 ** 2
m_uint8 - 3
m_uint8 * 300                     # nograd
m_int8 * 300
m_int8 + 200
m_uint8 + (-1)
m_float16 * 1e6
m_float32 * 1e300
m_int64 + 0.5
m_bool + 1
m_bool + 1.5
m_bool * m_bool
m_bool & 1
m_int64 & m_bool
m_int32 | m_uint8
m_float32 & 1                     # raises
t.exp(m_int64)
t.exp(m_bool)
t.sqrt(s_int64.abs())
t.sum(m_bool)
t.sum(m_uint8)
t.sum(m_float16)
t.prod(m_int8)
t.cumsum(m_int32, 0)
t.mean(m_float16)
t.clamp(m_int64, 0.5, 2)
t.clamp(m_int64, 0, 2)
t.clamp(m_float32, 0, 2)
t.where(msk, m_int64, 1.5)
t.where(msk, m_float32, 1)
t.where(msk, s_float64, m_float32)
t.add(m_int64, 1, alpha=1.5)      # raises
t.add(m_int64, m_int64, alpha=1.5)     # raises
t.add(m_bool, m_bool, alpha=2)
m_float32.add(m_float64)
m_float64.add(m_float32)
m_int64.add(1.5)
m_int64.mul(2.5)
m_int64.div(2)
m_int64.eq(1.0)
m_uint8 < 300
m_int64 == 1.5
m_float16 == m_float32
s_float32 > m_float64
t.stack([m_int64, m_float16])
t.mm(m_float32, m_float64.t())    # raises
m_float32 @ m_int64.t()           # raises
t.dot(m_float32[0], m_float64[0]) # raises
t.full_like(m_int64, 2.7)
t.lerp(m_float32, m_float64, 0.5) # raises
t.addcmul(m_float32, m_float64, m_float64)
t.minimum(m_float32, s_float64)
"""
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_like_torch(case):
    check(case)
