"""The same function on both libraries: values, shapes and dtypes alike, or the same exception."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import rushlight


def leaves(result: Any) -> list[Any]:
    if isinstance(result, dict):
        result = tuple(result.values())
    if isinstance(result, (tuple, list)):
        return [leaf for r in result for leaf in leaves(r)]
    return [result]


def run(m: Any, function: Any, arrays: Sequence[Any]) -> Any:
    """The tensors that `function(m, *tensors)` gives, or the exception that it raises."""
    try:
        return leaves(function(m, *[m.from_numpy(a.copy()) for a in arrays]))
    except Exception as error:
        return error


def first_sentence(error: Exception) -> str:
    return str(error).split("\n")[0].split(". ")[0]


def check_same(
    pytorch: Any,
    function: Any,
    arrays: Sequence[Any],
    sentence: Callable[[Exception], str] = first_sentence,
) -> None:
    """What it raises must have PyTorch's type and `sentence`."""
    want, found = run(pytorch, function, arrays), run(rushlight, function, arrays)
    if isinstance(want, Exception):
        assert type(found) is type(want), f"PyTorch raises {want!r}, this is {found!r}"
        assert sentence(found) == sentence(want)
        return
    if isinstance(found, Exception):
        raise found
    assert len(found) == len(want)
    for a, b in zip(found, want, strict=True):
        if not isinstance(b, pytorch.Tensor):
            assert a == b
            continue
        assert tuple(a.shape) == tuple(b.shape) and str(a.dtype) == str(b.dtype)
        assert np.allclose(a.detach().numpy(), b.detach().numpy(), atol=1e-9, equal_nan=True)
