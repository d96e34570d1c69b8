"""float8 types and complex32: they are stored, converted and moved, and few functions take more.

The numbers of 8 bits are made here from the formats' definitions, bit for bit.
"""

from __future__ import annotations

import copy
import io
import math
import pickle
from typing import Any

import numpy as np
import pytest

import rushlight as torch

# Type: bits of the fraction, bias of the exponent; whether 0x80 is NaN, and whether there is inf.
FORMATS = {
    "float8_e4m3fn": (3, 7, False, False),
    "float8_e4m3fnuz": (3, 8, True, False),
    "float8_e5m2": (2, 15, False, True),
    "float8_e5m2fnuz": (2, 16, True, False),
}
FLOAT8 = [*FORMATS, "float8_e8m0fnu"]
STORED = [*FLOAT8, "complex32"]


def value_of(name: str, bits: int) -> float:
    if name == "float8_e8m0fnu":
        return math.nan if bits == 255 else 2.0 ** (bits - 127)
    fraction, bias, unsigned_zero, infinite = FORMATS[name]
    sign, magnitude = (-1.0 if bits & 128 else 1.0), bits & 127
    exponent, rest = magnitude >> fraction, magnitude & ((1 << fraction) - 1)
    if unsigned_zero and bits == 128:
        return math.nan
    if infinite and exponent == 31:
        return math.nan if rest else sign * math.inf
    if not unsigned_zero and not infinite and magnitude == 127:
        return math.nan
    scale = 2.0 ** (max(exponent, 1) - bias - fraction)
    return sign * ((1 << fraction) * (exponent > 0) + rest) * scale


def all_of(name: str) -> tuple[torch.Tensor, np.ndarray]:
    """Every number of a type, and what it is."""
    bits = torch.arange(256, dtype=torch.int64).to(torch.uint8)
    return bits.view(getattr(torch, name)), np.array([value_of(name, b) for b in range(256)])


@pytest.mark.parametrize("name", FLOAT8)
@pytest.mark.parametrize("to", [torch.float32, torch.float64])
def test_every_number_is_what_its_bits_say(name: str, to: Any) -> None:
    x, values = all_of(name)
    np.testing.assert_array_equal(x.to(to).numpy(), values)
    assert [v for v in x.tolist() if v == v] == [v for v in values.tolist() if v == v]
    finite = values[np.isfinite(values)]
    info = torch.finfo(x.dtype)
    assert (info.max, info.min) == (finite.max(), finite.min())
    number = ~x.isnan()
    again, bits = x.float().to(x.dtype).view(torch.uint8), x.view(torch.uint8)
    np.testing.assert_array_equal(again[number].numpy(), bits[number].numpy())


@pytest.mark.parametrize("name", FORMATS)
def test_conversions_round_to_the_nearest_even(name: str) -> None:
    x, values = all_of(name)
    finite = np.unique(values[np.isfinite(values)])
    middle = (finite[1:] + finite[:-1]) / 2
    given = np.concatenate([middle, np.nextafter(middle, -9e9), np.nextafter(middle, 9e9)])
    given = given.astype(np.float32).astype(np.float64)
    found = torch.tensor(given).to(x.dtype)
    near = np.abs(given[:, None] - finite)
    best = near.min(1)
    got = found.double().numpy()
    np.testing.assert_array_equal(np.abs(got - given), best)
    even = (found.view(torch.uint8).numpy() & 1) == 0
    tie = (near == best[:, None]).sum(1) == 2
    assert even[tie].all() and tie.sum() >= len(middle) // 2


@pytest.mark.parametrize(
    ("name", "beyond"),
    [("e4m3fn", 448.0), ("e4m3fnuz", math.nan), ("e5m2", math.inf), ("e5m2fnuz", math.nan)],
)
def test_what_is_too_large(name: str, beyond: float) -> None:
    kind = getattr(torch, f"float8_{name}")
    for much in (1e6, 1e300, math.inf):
        np.testing.assert_equal(float(torch.tensor(much).to(kind)), beyond)
        np.testing.assert_equal(-float(torch.tensor(-much).to(kind)), beyond)
        np.testing.assert_equal(float(torch.full((), much, dtype=kind)), beyond)
    assert math.isnan(torch.tensor(math.nan).to(kind))


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("source", ["float64", "float16", "bfloat16", "int32", "bool", "complex64"])
def test_conversions_from_other_types_go_through_float(name: str, source: str) -> None:
    kind = getattr(torch, name)
    x = torch.tensor([0.0, 1.0, 2.5, 4.0, 16.0]).to(getattr(torch, source))
    through = x.to(torch.complex64) if kind.is_complex else x.to(torch.float32)
    assert torch.equal(x.to(kind).view(torch.uint8), through.to(kind).view(torch.uint8))


@pytest.mark.parametrize("name", STORED)
def test_made_moved_and_written(name: str) -> None:
    kind = getattr(torch, name)
    x = torch.tensor([[1.0, 2.0, 4.0], [8.0, 16.0, 0.5]])
    y = x.to(kind)
    plain = torch.complex64 if kind.is_complex else torch.float32

    def same(made: torch.Tensor, want: torch.Tensor) -> None:
        assert made.dtype is kind and made.shape == want.shape
        np.testing.assert_array_equal(made.to(plain).numpy(), want.to(plain).numpy())

    same(torch.tensor(x.tolist(), dtype=kind), x)
    same(torch.ones(2, 3, dtype=kind), torch.ones(2, 3))
    same(torch.full((2,), 4.0, dtype=kind), torch.full((2,), 4.0))
    same(torch.full_like(y, 2), torch.full_like(x, 2))
    same(y[:, 1], x[:, 1])
    same(y[[1, 0]], x[[1, 0]])
    same(y[x > 1], x[x > 1])
    same(y.t().contiguous(), x.t())
    same(y.reshape(3, 2), x.reshape(3, 2))
    same(torch.cat([y, y]), torch.cat([x, x]))
    same(torch.stack([y, y], 1), torch.stack([x, x], 1))
    same(y.index_select(1, torch.tensor([2, 0])), x[:, [2, 0]])
    same(torch.where(x > 1, y, y.flip(0)), torch.where(x > 1, x, x.flip(0)))
    same(y.repeat(2, 2), x.repeat(2, 2))
    same(y.roll(1, 0), x.roll(1, 0))
    same(torch.zeros(2, 3, dtype=kind).fill_(3).copy_(x), x)
    same(torch.zeros(4, 2, 3, dtype=kind).copy_(y)[3], x)
    same(copy.deepcopy(y), x)
    same(pickle.loads(pickle.dumps(y)), x)
    file = io.BytesIO()
    torch.save({"y": y}, file)
    file.seek(0)
    same(torch.load(file)["y"], x)
    z = y.clone()
    z[0] = 16
    z[1, 1:] = x[0, :2]
    same(z, torch.tensor([[16.0, 16.0, 16.0], [8.0, 1.0, 2.0]]))
    assert torch.zeros(2, 3).to(plain).copy_(y)[1, 0] == 8
    assert y.element_size() == kind.itemsize and y[0, 2].item() == 4
    assert torch.equal(torch.from_dlpack(y).to(plain), y.to(plain))
    assert torch.empty(5, dtype=kind, device="meta").nbytes == 5 * kind.itemsize
    assert bool((y == y).all()) and not bool((y != y).any())


@pytest.mark.parametrize("name", FORMATS)
def test_gradients_pass_through_conversions(name: str) -> None:
    x = torch.tensor([1.0, 2.3], requires_grad=True)
    y = x.to(getattr(torch, name))
    (y.float() ** 2).sum().backward()
    assert x.grad.tolist() == [2.0, float((2 * y[1].float()).to(y.dtype))]


def test_complex32() -> None:
    z = torch.tensor([1 + 2j, -3.5 - 0.25j]).to(torch.complex32)
    assert z.real.dtype is torch.float16 and z.real.tolist() == [1, -3.5]
    assert z.imag.tolist() == [2, -0.25] and z.conj().resolve_conj().imag.tolist() == [-2, 0.25]
    assert torch.view_as_real(z).tolist() == [[1, 2], [-3.5, -0.25]]
    assert torch.equal(torch.view_as_complex(torch.view_as_real(z)), z)
    assert torch.ones(2).chalf().dtype is torch.chalf
    assert (z * z).dtype is torch.complex32 and (z * z)[0].item() == -3 + 4j
    assert (z + 1j)[0].item() == 1 + 3j and (-z)[1].item() == 3.5 + 0.25j
    assert z.abs().dtype is torch.float16 and (z * torch.ones(2)).dtype is torch.complex64
    assert repr(z) == "tensor([ 1.0000+2.0000j, -3.5000-0.2500j], dtype=torch.complex32)"
    z.real = torch.tensor([5.0, 6.0])
    assert z.tolist() == [5 + 2j, 6 - 0.25j]
    with pytest.raises(RuntimeError, match="value cannot be converted to type c10::complex"):
        torch.full((2,), 1e6, dtype=torch.complex32)


DRAWS = ("y.uniform_()", "torch.rand(2, dtype=y.dtype)")


@pytest.mark.parametrize("call", DRAWS)
def test_numbers_are_drawn_of_complex32_alone(call: str) -> None:
    z = torch.ones(2, 2).to(torch.complex32)
    assert eval(call, {"y": z, "torch": torch}).dtype is torch.complex32
    for name in FLOAT8:
        y = torch.ones(2, 2).to(getattr(torch, name))
        with pytest.raises((NotImplementedError, RuntimeError), match="not implemented for"):
            eval(call, {"y": y, "torch": torch})
        assert y.tolist() == torch.ones(2, 2).to(y.dtype).tolist()


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize(
    "call",
    [
        *("y / y", "y.exp()", "y.sum()", "y.mean()", "y.softmax(0)", "y[0] @ y[0]", "y.cumsum(0)"),
        *("y.sort()", "y.tanh_()", "y.prod()"),
        *("torch.arange(3, dtype=y.dtype)", "y.random_(3)", "torch.ones(2).sum(dtype=y.dtype)"),
        *("torch.ones(2).softmax(0, dtype=y.dtype)", "torch.bmm(y[None], y[None])"),
        *("y.gather(0, torch.zeros(1, 1).long())", "y < y", "y.max()", "y.exponential_()"),
    ],
)
def test_other_functions_refuse_them_and_change_nothing(name: str, call: str) -> None:
    y = torch.ones(2, 2).to(getattr(torch, name))
    with pytest.raises((NotImplementedError, RuntimeError), match=r"not implemented for|omplex"):
        eval(call, {"y": y, "torch": torch})
    assert y.tolist() == torch.ones(2, 2).to(y.dtype).tolist()


def test_floats_of_8_bits_meet_no_other_type() -> None:
    y = torch.ones(2, dtype=torch.float8_e5m2)
    for call in (lambda: y * torch.ones(2), lambda: torch.cat([y, torch.ones(2)])):
        with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
            call()
    with pytest.raises(TypeError, match="Got unsupported ScalarType Float8_e5m2"):
        y.numpy()


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_products_of_float8_are_rounded_once(dtype):
    made = torch.Generator().manual_seed(1)
    a, b, c = (torch.randn(n, generator=made).to(dtype) for n in ((5, 7), (7, 3), (3,)))
    wide = a.float() @ b.float()
    for found in (a @ b, a.mm(b), torch.nn.functional.linear(a, b.t())):
        assert found.dtype is dtype and (found.float() == wide.to(dtype).float()).all()
    added = torch.nn.functional.linear(a, b.t(), c), torch.addmm(c, a, b)
    for found in added:
        assert (found.float() == (wide + c.float()).to(dtype).float()).all()
    for refused in (lambda: a @ b[:, 0], lambda: a[0] @ a[0], lambda: a[None].bmm(b[None])):
        with pytest.raises(NotImplementedError, match="not implemented for 'Float8_"):
            refused()


def test_a_scaled_product_of_float8_takes_the_largest_number_for_what_is_larger():
    a = torch.full((2, 4), 200.0).to(torch.float8_e4m3fn)
    half = torch.tensor(0.5)
    assert torch._scaled_mm(a, a.t(), half, half).float().tolist() == [[448.0] * 2] * 2
    wide = torch._scaled_mm(a, a.t(), half, half, torch.ones(2), out_dtype=torch.float32)
    number = float(a[0, 0].float())
    assert wide.tolist() == [[number * number + 1] * 2] * 2
    by_row = torch._scaled_mm(
        a, a.t(), torch.ones(2, 1), torch.tensor([[1.0, 2.0]]), out_dtype=torch.float32
    )
    assert by_row.tolist() == [[4 * number**2, 8 * number**2]] * 2
    for wrong in (a.float(), a[0]):
        with pytest.raises((ValueError, RuntimeError)):
            torch._scaled_mm(wrong, a.t(), half, half)
