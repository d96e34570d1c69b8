"""`out=`: which element types an op writes, and the writing.

torch's pointwise functions, and a few others, convert their result to the type of `out`; every
other one wants the type that it computes.
"""

from __future__ import annotations

import warnings
from typing import Any

from .. import _core

__all__ = ["write_out"]

_CONVERTING = frozenset(
    "cat stack sum _sum_dims mean _mean_dims prod _prod_dim nansum _var _std logsumexp cumsum "
    "cumprod _max_all _min_all addr cholesky_solve pinv mvlgamma _eig".split()
)
"""Ops, apart from the pointwise ones, whose result is converted."""

_EXPECTED = "Expected out tensor to have dtype {want.c_name}, but got {got.c_name} instead"
_NO_BOOL = "{name} only supports bool tensor for result, got: {got.scalar_name}"
_SAME = "{name}(): self and result must have the same scalar type"
_REAL = "result dtype {got.scalar_name} does not match input dtype {want.scalar_name}"
_FOUND = "expected scalar_type {want.scalar_name} but found {got.scalar_name}"
_COMPLEX = (
    "Expected object of scalar type {want.scalar_name} but got scalar type {got.scalar_name} for "
    "argument 'out'"
)
_EXTREME = (
    "Expected the dtype for input and out to match, but got {want.scalar_name} for input's dtype "
    "and {got.scalar_name} for out's dtype."
)
_REFUSALS = {
    "any": _NO_BOOL,
    "all": _NO_BOOL,
    "index_select": _SAME,
    "masked_select": _SAME,
    "dot": _REAL,
    "vdot": _REAL,
    "cummax": _FOUND,
    "cummin": _FOUND,
    "logcumsumexp": _FOUND,
    "complex": _COMPLEX,
    "polar": _COMPLEX,
    "amax": _EXTREME,
    "amin": _EXTREME,
    "where": "Expected out type to be {want.scalar_name} but got {got.scalar_name}",
    "kthvalue": "output values must be of same type as input",
    "mv": "addmv input tensors must have the same dtype, but got {got.scalar_name}, "
    "{want.scalar_name}, and {want.scalar_name}",
    "take": "take(): self and out expected to have the same dtype, but got self.dtype = "
    "{want.scalar_name} and out.dtype = {got.scalar_name}",
    "nonzero": "nonzero: Expected out tensor to have scalar type {want.scalar_name} but got scalar "
    "type{got.scalar_name}",
}
"""What is said of another type where it is not `_EXPECTED`."""


def _check_type(name: str, result: Any, out: Any) -> None:
    if not isinstance(out, _core.Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if not _core.can_cast(result.dtype.code, out.dtype.code):
        raise RuntimeError(
            f"result type {result.dtype.scalar_name} can't be cast to the desired output type "
            f"{out.dtype.scalar_name}"
        )


def _check_same_type(name: str, result: Any, out: Any) -> None:
    if not isinstance(out, _core.Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if out.dtype is not result.dtype and not (name in ("any", "all") and out.dtype.name == "uint8"):
        text = _REFUSALS.get(name, _EXPECTED)
        raise RuntimeError(text.format(name=name, want=result.dtype, got=out.dtype))


def write_out(out: Any, result: Any, name: str, pointwise: bool) -> Any:
    """Write an op's results to the `out=` tensors; resizes them, refuses types that do not fit."""
    converts = (pointwise and name != "where") or name in _CONVERTING
    check = _check_type if converts else _check_same_type
    if not isinstance(result, tuple):
        check(name, result, out)
        return _write(out, result)
    outs = tuple(out)
    for o, r in zip(outs, result, strict=True):
        check(name, r, o)
    for o, r in zip(outs, result, strict=True):
        _write(o, r)
    return type(result)(outs)


def _write(out: Any, result: Any) -> Any:
    _core.check_in_place(out, False)
    array = result._array
    if out._array.shape != array.shape:
        if out._array.size:
            warnings.warn(
                "An output with one or more elements was resized since it had shape "
                f"{list(out.shape)}, which does not match the required output shape "
                f"{list(array.shape)}. This behavior is deprecated, and in a future PyTorch "
                "release outputs will not be resized unless they have zero elements. You can "
                "explicitly reuse an out tensor t by resizing it, inplace, to zero "
                "elements with t.resize_(0).",
                UserWarning,
                stacklevel=4,
            )
        out.resize_(array.shape)
    _core.write_values(out, array)
    out._bump_version()
    return out


_core.register(callbacks={"write_out": write_out})
