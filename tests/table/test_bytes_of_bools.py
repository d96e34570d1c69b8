"""Every op reads a bool as true where its byte is not 0, whatever else the byte is.

Such bytes come from outside: `view(torch.bool)`, `frombuffer`, `from_numpy`, DLPack, files. The
call on them must give what it gives on bools of the bytes 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from cases import LAYOUTS, REFUSALS, SAMPLED, Call, calls, plain, tensors_in

import rushlight as torch

BYTES = np.array([2, 0, 255, 1, 128, 0, 3, 0], np.uint8)
TRUE = BYTES[BYTES != 0]


def bools(truth: np.ndarray, true: np.ndarray) -> torch.Tensor:
    """Bools that are true where `truth` is, there with these bytes in turn."""
    bytes_ = np.where(truth, np.resize(true, truth.shape), 0).astype(np.uint8)
    return torch.from_numpy(np.asarray(bytes_)).view(torch.bool)


def placed(t: torch.Tensor, true: np.ndarray, *, every: bool) -> torch.Tensor:
    """Bools in the place of a tensor; of numbers, if every tensor shall be some."""
    a = t._array
    if a.dtype == bool:
        return bools(a, true)
    return bools(np.resize(BYTES, a.shape), true) if every else t


def odd_calls(name: str, dtype: str = "") -> Iterator[tuple[Call, Call]]:
    """Calls of odd bools, and the same of even ones: where a sample has some, and everywhere."""
    for call in calls(name, dtype):
        for every in (False, True):
            odd, even = (
                call.having([placed(t, true, every=every) for t in call.tensors])
                for true in (TRUE, np.ones(1, np.uint8))
            )
            if any(t.dtype is torch.bool for t in odd.tensors):
                yield odd, even


def read(t: torch.Tensor) -> np.ndarray:
    """The numbers of a tensor, of bools whether their bytes are not 0."""
    array = np.asarray(t.cpu()._array)
    return array.view(np.uint8) != 0 if array.dtype == bool else array


def check(odd: Call, even: Call) -> None:
    try:
        expected = [read(t) for t in tensors_in(plain(even.run()))]
    except (*REFUSALS, IndexError):
        return
    found = [read(t) for t in tensors_in(plain(odd.run()))]
    assert len(found) == len(expected), f"{odd!r}"
    for f, e in zip(found, expected, strict=True):
        assert f.dtype == e.dtype, f"{odd!r}"
        np.testing.assert_array_equal(f, e, err_msg=f"{odd!r}")


@pytest.mark.parametrize("name", SAMPLED)
def test_op(name: str) -> None:
    for odd, even in odd_calls(name):
        check(odd, even)


# What is no op of the table: subscripts, and what leaves the library.
FORMS: dict[str, Callable[[torch.Tensor], Any]] = {
    "subscript": lambda b: torch.arange(b.numel()).view(b.shape)[b],
    "first": lambda b: torch.arange(3 * len(b)).view(-1, 3)[b[:, 0]],
    "mixed": lambda b: torch.arange(3 * len(b)).view(-1, 3)[b[:, 0], 1],
    "behind": lambda b: torch.arange(3 * len(b)).view(3, -1)[:, b[:, 0]],
    "two": lambda b: torch.arange(len(b) * b.shape[1]).view(b.shape)[b[:, 0], :][:, b[0]],
    "write": lambda b: torch.arange(b.numel()).view(b.shape).masked_fill_(b, 9),
    "put": lambda b: torch.zeros(b.shape).index_put_((b,), torch.tensor(1.0)),
    "gradient": lambda b: torch.autograd.grad(
        (x := torch.ones(b.shape, requires_grad=True))[b].sum(), x
    )[0],
    "full": lambda b: torch.full((2,), b[0, 0]),
    "tolist": lambda b: torch.tensor(b.tolist()),
    "items": lambda b: torch.tensor([int(i) + i.item() + bool(i) for i in b.flatten()]),
    "product": lambda b: torch.ones(b.shape, dtype=torch.bool).scatter_reduce(
        0, torch.arange(b.numel()).view(b.shape) % 1, b, "prod"
    ),
    **{
        str(dtype): lambda b, dtype=dtype: b.to(dtype).double()
        for dtype in (torch.uint8, torch.int16, torch.int64, torch.half, torch.bfloat16)
    },
    **{
        f"{name} {dim}": lambda b, name=name, dim=dim: getattr(b, name)(dim)
        for name in "sum prod any all amax amin max min cumsum cumprod sort argsort".split()
        for dim in (0, 1)
    },
    **{
        f"{name}": lambda b, name=name: getattr(b, name)()
        for name in "sum prod any all max min nonzero count_nonzero unique float".split()
    },
}


@pytest.mark.parametrize("layout", ["dense", *LAYOUTS])
@pytest.mark.parametrize("form", FORMS)
def test_form(form: str, layout: str) -> None:
    """Tensors of up to some registers, dense and not."""
    rng = np.random.default_rng(5)
    lay = LAYOUTS.get(layout, lambda t: t)
    for shape in [(1, 1), (7, 5), (3, 131), (140, 3)]:
        truth = rng.random(shape) < 0.6
        found, expected = ([lay(bools(truth, true))] for true in (TRUE, np.ones(1, np.uint8)))
        for one in (found, expected):
            one[:] = tensors_in(plain(FORMS[form](one[0])))
        for f, e in zip(found, expected, strict=True):
            assert f.dtype is e.dtype
            np.testing.assert_array_equal(read(f), read(e), err_msg=f"{form} of {shape}")
