"""torch.masked against PyTorch: reductions with masks, and what a MaskedTensor prints and refuses."""

from __future__ import annotations

import importlib
import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import rushlight
from rushlight import masked

pytorch = pytest.importorskip("torch")
importlib.import_module("torch.masked")

REDUCED = ["sum", "prod", "amax", "amin", "mean", "norm", "var", "std", "logsumexp"]
ALONG = ["softmax", "log_softmax", "softmin", "cumsum", "cumprod", "argmax", "argmin", "median"]
# ruff: noqa: E501  many expressions a line

MASKS = [None, "same", "row", "number", "none"]
_rng = np.random.default_rng(0)
DATA = {
    "float64": _rng.standard_normal((3, 4)),
    "float32": _rng.standard_normal((3, 4)).astype("f"),
    "int64": _rng.integers(-5, 5, (3, 4)),
    "uint8": _rng.integers(0, 5, (3, 4)).astype("u1"),
    "bool": _rng.integers(0, 2, (3, 4)).astype(bool),
    "complex128": _rng.standard_normal((3, 4)) + 1j * _rng.standard_normal((3, 4)),
}


def mask_of(kind: str, m: Any) -> Any:
    if kind == "same":
        return m.tensor((np.arange(12).reshape(3, 4) % 3 != 1).tolist())
    if kind == "row":
        return m.tensor([True, False, True, True])
    if kind == "number":
        return m.tensor([[2], [0], [1]])
    return m.tensor([[True], [False], [True]])  # a row of which nothing counts


CASES = [
    *(
        (name, (*first, dim), {"keepdim": keepdim})
        for name in REDUCED
        for first in ([(2.0,), (1,), (float("-inf"),)] if name == "norm" else [()])
        for dim, keepdim in itertools.product([None, 0, (0, 1), -1], [False, True])
    ),
    *((name, (dim,), {}) for name in ALONG for dim in (0, 1, -1)),
    *((name, (None,), {}) for name in ("argmax", "argmin")),
    *((name, (1,), {"dtype": t}) for name in ("sum", "prod", "cumsum") for t in ("float64",)),
    *((name, (0, False), {}) for name in ("var", "std")),
    *((name, (1,), {"correction": 2}) for name in ("var", "std")),
    ("var", (1, True), {"correction": 2}),
    ("mean", (1,), {"dtype": "int64"}),
    ("normalize", (2.0, 1), {}),
    ("normalize", (1.0, 0), {"eps": 10.0}),
    ("sum", ((0, 0),), {}),
    ("sum", (2,), {}),
    ("sum", ((),), {}),
]


def outcome(m: Any, name: str, args: tuple[Any, ...], kwargs: Any, dtype: str, mask: Any) -> Any:
    """The result and the gradient of its squares, or the exception."""
    x = m.from_numpy(DATA[dtype].copy())
    if x.is_floating_point():
        x.requires_grad_()
    if "dtype" in kwargs:
        kwargs = kwargs | {"dtype": getattr(m, kwargs["dtype"])}
    try:
        given = None if mask is None else mask_of(mask, m)
        out = getattr(m.masked, name)(x, *args, mask=given, **kwargs)
        grad = None
        if out.requires_grad:
            finite = out.masked_fill(~out.isfinite(), 0)
            (finite * finite).sum().backward()
            grad = x.grad.numpy()
        return out.detach(), grad
    except Exception as error:
        return error


@pytest.mark.parametrize("dtype", DATA)
@pytest.mark.parametrize("name", [*REDUCED, *ALONG, "normalize"])
def test_reductions(name: str, dtype: str) -> None:
    for case, mask in itertools.product([c for c in CASES if c[0] == name], MASKS):
        want = outcome(pytorch, *case, dtype, mask)
        found = outcome(rushlight, *case, dtype, mask)
        if isinstance(want, Exception):
            assert type(found) is type(want), (case, mask, want, found)
            text = str(want).replace("softmax_kernel", "softmax_lastdim_kernel")  # one kernel here
            assert str(found).split(".")[0] == text.split(".")[0], (case, mask)
            continue
        assert not isinstance(found, Exception), (case, mask, found)
        assert str(found[0].dtype) == str(want[0].dtype), (case, mask)
        single = "float32" in (dtype, str(want[0].dtype).removeprefix("torch."))
        close = {"rtol": 1e-5, "atol": 1e-6} if single else {"atol": 1e-9}
        a, b = found[0].numpy(), want[0].numpy()
        if name in ("var", "std") and a.dtype.kind == "c":  # x / 0 has any imaginary part
            assert np.nan_to_num(abs(a.imag), posinf=0).max() < 1e-9
            a, b = a.real, b.real
        np.testing.assert_allclose(a, b, err_msg=str((case, mask)), **close)
        assert (found[1] is None) == (want[1] is None)
        if want[1] is not None:
            np.testing.assert_allclose(found[1], want[1], err_msg=str((case, mask)), **close)


def test_logaddexp() -> None:
    for m in (rushlight, pytorch):
        x, y = m.tensor([-1.0, 2.0, 3.0]), m.tensor([1.0, 2.0, -3.0])
        out = m.masked.logaddexp(
            x,
            y,
            input_mask=m.tensor([True, False, False]),
            other_mask=m.tensor([True, True, False]),
        )
        np.testing.assert_allclose(out, np.array([np.logaddexp(-1, 1), 2, -np.inf]), rtol=1e-6)


# Expressions of x, a masked tensor of (2, 3); k, its mask; d, its data; i, one of integers.
EXPRESSIONS = """x | i | i > 0 | x[0] | x[:, 1] | x[0, 0] | x[0, 1] | x[k] | x.exp() | -x | abs(x)
x + 1 | 2 * x | x / 2 | 1 / x | x * d | d + x | x + x | x == x | x > 1 | x < d | x ** 2 | x % 2
x.add_(1) | x.exp_() | x.mul(x) | torch.maximum(x, x) | torch.atan2(x, d) | x.clamp(0, 1)
x.sum() | x.sum(1) | x.sum(dim=0, keepdim=True) | torch.mean(x, 1) | x.mean() | x.amax(0) | x.amin()
x.argmax(1) | x.prod() | x.std() | x.var() | (x > 0).all() | (x > 0).all(1) | x.sum((0, 1))
x.softmax(1) | torch.softmax(x, 0) | F.softmax(x, 1) | x.t() | x.view(6) | x.reshape(3, 2) | x.flatten()
x.transpose(0, 1) | x.unsqueeze(0) | x.expand(2, 2, 3) | torch.cat([x, x]) | torch.stack([x, x], 1)
x.split(1) | x.chunk(3, 1) | x.narrow(1, 1, 2) | x.clone() | x.detach() | x.double() | x.to(torch.int32)
x.bool() | x.isnan() | torch.ones_like(x) | torch.where(k, x, x + 1) | torch.where(k, x, m(d, ~k))
x.get_data() | x.get_mask() | x.to_tensor(7) | x.shape | x.dtype | len(x) | x[0, 0].item() | float(x[0, 2])
x.dim() | x.numel() | x.stride() | x.is_sparse_coo() | x.is_sparse | x.layout | x.requires_grad | x.grad
x.data | type(x + 1).__name__ | isinstance(x, torch.Tensor) | M.sum(x) | M.mean(x, 1) | M.softmax(x, 1)
M.is_masked_tensor(x) | M.is_masked_tensor(d) | m(d[0, 0], k[0, 0]) | m(d[0, 1], k[0, 1]) | x.contiguous()
x + m(d, ~k) | x[0, 1].item() | x.tolist() | x.numpy() | m([1], k) | m(d, [True]) | m(d, d) | m(d, k[0])
m(d, k[:1]) | m(d + 0j, k) | m(x, k) | m(d.bfloat16(), k) | x.max() | x.cumsum(0) | x.relu() | x @ x.t()
x.sort() | x.zeros_like if 0 else x.logsumexp(1) | x.squeeze() | 1 - x | 2 ** x | x.sum(0, foo=1)
m(torch.arange(24.0).view(2, 3, 4), torch.arange(24).view(2, 3, 4) % 2 == 0) | str(x) | f'{x}'"""
EXPRESSIONS_ONE_BY_ONE = [e.strip() for e in EXPRESSIONS.replace("\n", " | ").split(" | ")]


def evaluated(m: Any, expression: str) -> Any:
    d = m.tensor([[1.5, -2.0, 3.0], [4.0, 5.0, -6.0]])
    k = m.tensor([[True, False, True], [False, False, False]])
    masked_tensor = m.masked.masked_tensor
    names = {"d": d, "k": k, "m": masked_tensor, "M": m.masked, "torch": m, "F": m.nn.functional}
    names |= {"x": masked_tensor(d, k), "i": masked_tensor(d.long(), k)}
    try:
        return eval(expression, names)
    except Exception as error:
        return error


@pytest.mark.parametrize("expression", EXPRESSIONS_ONE_BY_ONE)
def test_masked_tensors(expression: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want, found = evaluated(pytorch, expression), evaluated(rushlight, expression)
    if isinstance(want, Exception):
        assert type(found) is type(want), found
        if not expression[0].isdigit() and "@" not in expression:  # Python words those
            assert str(found).split(":")[0].split(". ")[0] == str(want).split(":")[0].split(". ")[0]
        return
    assert str(found) == str(want)
    assert str(getattr(found, "dtype", "")) == str(getattr(want, "dtype", ""))


GRADIENTS = """x.sum() | (x * 2).sum() | x.exp().sum() | x.mean() | x.amax() | x.prod() | x.std()
x.to_tensor(0).sum() | (x * x).sum(1).sum() | M.sum(x) | (x / x).sum() | x.t().sum(0).sum()
torch.where(x.get_mask(), x, x * 2).sum() | (x.softmax(1) * x).sum() | torch.cat([x, x]).exp().sum()"""


@pytest.mark.parametrize("of", [e.strip() for e in GRADIENTS.replace("\n", " | ").split(" | ")])
def test_gradients(of: str) -> None:
    texts = []
    for m in (rushlight, pytorch):
        d = m.tensor([[1.5, -2.0, 3.0], [4.0, 5.0, -6.0]])
        k = m.tensor([[True, False, True], [False, True, False]])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = m.masked.masked_tensor(d, k, requires_grad=True)
            try:
                eval(of, {"x": x, "M": m.masked, "torch": m}).backward()
            except ValueError:
                continue
            texts.append(str(x.grad).replace("-0.0000", " 0.0000"))
    assert texts[0] == texts[-1]
    assert texts[0].startswith("MaskedTensor(")


def test_signatures_and_names() -> None:
    import inspect

    assert set(pytorch.masked.__all__) <= set(masked.__all__)
    for name in [*REDUCED, *ALONG, "normalize", "logaddexp", "masked_tensor", "as_masked_tensor"]:
        mine = inspect.signature(getattr(masked, name)).parameters.values()
        theirs = inspect.signature(getattr(pytorch.masked, name)).parameters.values()
        assert [(p.name, p.kind, p.default) for p in mine] == [
            (p.name, p.kind, p.default) for p in theirs
        ], name
