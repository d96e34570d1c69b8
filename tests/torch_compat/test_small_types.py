"""float8 types and complex32 against PyTorch: conversions bit for bit, text, errors, limits."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
import pytest
from both import first_sentence

import rushlight

pytorch = pytest.importorskip("torch")

FLOAT8 = "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu".split()
STORED = [*FLOAT8, "complex32"]
# Expressions of y, a tensor of the type; x, of float32; d, the type.
CASES = """y | y[0] | y.t() | y.view(torch.uint8) | y[[1, 0]] | y[x > 1] | torch.cat([y, y]) | y.double()
torch.stack([y, y]) | torch.zeros(2, 3).copy_(y) | y.clone() | y.element_size() | y.tolist() | y.type()
torch.ones(2, dtype=d) | torch.full((2,), 3.3, dtype=d) | torch.tensor([1.1, 2.2], dtype=d) | y.bool()
torch.tensor(1.5, dtype=d) | torch.ones_like(y) | torch.full_like(y, 2) | y.new_ones(2) | y.clone().fill_(2)
y * y | y == y | y != y | y + y | y - y | y / y | -y | y.exp() | y.sum() | y.mean() | y.max() | y < y
y.isnan() | torch.where(x > 1, y, y) | y + x | y * x | y + 1 | y.numpy() | y.cumsum(0) | y.sort() | y.sum(0)
y.float() | y.half() | y.bfloat16() | y.chalf() | x.chalf() | y.to(torch.float8_e5m2) | y.to(torch.complex64)
y.is_floating_point() | y.is_signed() | d.to_real() | torch.result_type(y, 1.0) | torch.finfo(d) | d.itemsize
torch.promote_types(d, torch.float32) | torch.promote_types(d, d) | torch.can_cast(d, torch.float32)
torch.promote_types(d, torch.float16) | torch.promote_types(d, torch.int64) | torch.cat([y, x]) | y.flip(0)
y.repeat(2, 1) | y.roll(1, 0) | y.index_select(1, torch.tensor([0])) | y.masked_select(x > 1) | y.tanh()
torch.arange(3, dtype=d) | y.reshape(3, 2) | y.nbytes | y.unbind()[0] | y.real | torch.view_as_real(y)
y.conj() | y.permute(1, 0).contiguous() | torch.from_dlpack(y) | y[0, 1].item() | x.to(torch.int64).to(d)
(x > 1).to(d) | x.double().to(d) | x.half().to(d) | x.bfloat16().to(d) | torch.complex(x, x).to(d)
torch.full((1,), 1e9, dtype=d) | torch.tensor([1e9], dtype=d) | torch.full((1,), float('nan'), dtype=d)"""
PRODUCTS = """y @ y.t() | y.mm(y.t()) | torch.addmm(y, y, torch.ones(3, 3, dtype=d), beta=0.5, alpha=2) | y @ y[0] | y[0] @ y[0]
torch.nn.functional.linear(y, y) | torch.nn.functional.linear(y, y, y[0, :2]) | y[None] @ y.t() | y[0] @ y.t()
F.conv2d(y[None, None], y[None, None]) | F.conv_transpose2d(y[None, None], y[None, None]) | F.mse_loss(y, y)
torch.cdist(y, y) | torch.isin(y, y) | torch.searchsorted(y[0], y[0]) | y.nan_to_num() | y.var(1) | y.max(1) | y.t_copy()
torch.bmm(y[None], y.t()[None]) | y @ x.t() | y @ y.t().to(torch.float8_e5m2) | y.mm(y) | torch.baddbmm(y[None], y[:, :2][None], y[None])
torch._scaled_mm(x.to(torch.float8_e5m2), x.t().to(torch.float8_e4m3fn), x[0, 0], x[0, 1], out_dtype=d)"""
ONE_BY_ONE, OF_FLOAT8 = (
    [e.strip() for e in text.replace("\n", " | ").split(" | ")] for text in (CASES, PRODUCTS)
)


# ruff: noqa: E501  many expressions a line


def outcome(m: Any, name: str, expression: str) -> Any:
    d = getattr(m, name)
    x = m.tensor([[1.0, 2.5, 3.0], [4.0, 0.5, 2.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(
                expression, {"d": d, "x": x, "y": x.to(d), "torch": m, "F": m.nn.functional}
            )
        except Exception as error:
            return error


@pytest.mark.parametrize(
    ("name", "expression"),
    [
        *((name, expression) for name in STORED for expression in ONE_BY_ONE),
        *((name, expression) for name in FLOAT8 for expression in OF_FLOAT8),
    ],
)
def test_expressions(name: str, expression: str) -> None:
    want, found = outcome(pytorch, name, expression), outcome(rushlight, name, expression)
    if isinstance(want, Exception):
        if (name, expression) == ("complex32", "y.sort()"):  # "Sort does not support complex"
            assert isinstance(found, NotImplementedError)
            return
        assert type(found) is type(want), f"PyTorch raises {want!r}, this is {found!r}"
        assert first_sentence(found).partition(": 1")[0] == first_sentence(want)
        return
    assert not isinstance(found, Exception), found
    assert str(found) == str(want)


@pytest.mark.parametrize("name", FLOAT8)
@pytest.mark.parametrize("source", ["float32", "float64", "float16", "bfloat16"])
def test_conversions_bit_for_bit(name: str, source: str) -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 100_000, dtype=np.uint64).astype(np.uint32)
    high = np.arange(2**16, dtype=np.uint32) << 16  # every exponent, and ties
    given = np.concatenate([bits, high, high | 1]).view(np.float32)
    found, want = (
        m.from_numpy(given.copy()).to(getattr(m, source)).to(getattr(m, name)).view(m.uint8).numpy()
        for m in (rushlight, pytorch)
    )
    if source != "float32":  # whose NaN may have any sign
        found, want = found[~np.isnan(given)], want[~np.isnan(given)]
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("name", ["uint16", "uint32", "uint64"])
@pytest.mark.parametrize("function", ["sum", "prod", "cumsum", "cumprod", "clone", "float"])
def test_wide_unsigned_integers(name: str, function: str) -> None:
    found, want = (
        getattr(m.tensor([3, 50, 7], dtype=getattr(m, name)), function)(*[0] * ("cum" in function))
        for m in (rushlight, pytorch)
    )
    assert str(found) == str(want)


@pytest.mark.parametrize("name", STORED)
def test_files_load_in_either_library(name: str) -> None:
    for writer, reader in ((rushlight, pytorch), (pytorch, rushlight)):
        file = io.BytesIO()
        x = writer.tensor([1.0, 2.0, 4.0]).to(getattr(writer, name))
        writer.save({"x": x, "part": x[1:]}, file)
        file.seek(0)
        found = reader.load(file)
        assert str(found["x"]) == str(x) and str(found["part"]) == str(x[1:])


@pytest.mark.parametrize(
    "kind", [d for d in dir(pytorch) if isinstance(getattr(pytorch, d), pytorch.dtype)]
)
def test_every_dtype_of_pytorch_is_here(kind: str) -> None:
    mine, theirs = getattr(rushlight, kind), getattr(pytorch, kind)
    assert str(mine) == str(theirs)
    for fact in ("itemsize", "is_floating_point", "is_complex", "is_signed"):
        facts = []
        for d in (mine, theirs):
            try:
                facts.append(getattr(d, fact))
            except RuntimeError as error:
                facts.append(str(error))
        assert facts[0] == facts[1] or "Bits types are undefined" in facts, fact
