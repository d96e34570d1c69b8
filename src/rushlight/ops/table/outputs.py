"""`out=`: which element types an op writes, and the writing.

torch's pointwise functions convert their result to the type of `out`; every other function wants an
`out` of its result's type. Where an op differs, its statement says so (`out=`, see README.md).
"""

from __future__ import annotations

from typing import Any

from ... import _core
from ..._base.errors import warn
from ..._core import Tensor
from ..._devices import of
from ...return_types import named_out
from .statement import OPS

__all__ = ["write_out", "written"]

_TEXTS = {
    "exact": "Expected out tensor to have dtype {want.c_name}, but got {got.c_name} instead",
    "found": "Found dtype {got.scalar_name} but expected {want.scalar_name}",
    "same": "{name}(): self and result must have the same scalar type",
    "truth": "{name} only supports bool tensor for result, got: {got.scalar_name}",
}
"""The errors for an `out` of another type than the result, by the word of the statement."""


def _check(name: str, rule: Any, result: Tensor, out: Tensor) -> None:
    if not isinstance(out, _core.Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    want, got = result.dtype, out.dtype
    word, error, text = rule if isinstance(rule, tuple) else (rule, RuntimeError, None)
    if got is want or (word == "truth" and got.name == "uint8"):
        return
    if word == "kind":
        if got.category == want.category:
            return
        word = "exact"
    if word == "dtype":
        word = "exact"
    elif word == "float dtype":
        word, text = ("exact", None) if got.is_differentiable else ("cast", text)
    if word != "cast" or not _core.can_cast(want.code, got.code):
        if word == "cast" and not text:
            _core.refuse_cast(want.scalar_name, got.scalar_name)
        said = str(text or _TEXTS.get(word, word))
        raise error(said.format(name=name, want=want, got=got))


def write_out(out: Any, result: Any, name: str) -> Any:
    """Write an op's results to the `out=` tensors; resizes them, refuses types that do not fit."""
    return _write_all(out, result, name, OPS[name].out)


def written(out: Any, result: Any, name: str, rule: Any = "exact") -> Any:
    """`out` with a composite's results: what a statement's `out=` word does for an op."""
    results = result if isinstance(result, tuple) else (result,)
    if isinstance(rule, tuple):  # an error of the function's own comes first
        _check(name, rule, result, out)
    outs = out if isinstance(out, (tuple, list)) else (out,)
    if _core.is_grad_enabled() and any(
        getattr(t, "requires_grad", False) for t in (*results, *outs)
    ):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad."
        )
    return _write_all(out, result, name, rule)


def _write_all(out: Any, result: Any, name: str, rule: Any) -> Any:
    if not isinstance(result, tuple):
        _check(name, rule, result, out)
        return _write(out, result)
    if not isinstance(out, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}"
        )
    outs = tuple(out)
    if len(outs) != len(result):
        raise TypeError(f"{name}() expected {len(result)} tensors in 'out', got {len(outs)}.")
    word = rule[0] if isinstance(rule, list) else rule
    words = word.split(" | ") if isinstance(word, str) and " | " in word else [word] * len(outs)
    for o, r, said in zip(outs, result, words, strict=True):
        _check(name, said, r, o)
    for o, r in zip(outs, result, strict=True):
        _write(o, r)
    return named_out(type(result))(outs)


def resize(out: Tensor, shape: tuple[int, ...]) -> bool:
    """Whether `out` had another shape than a result, which it then gets; with a warning where this
    takes elements from it."""
    if out._form.shape == shape:
        return False
    if out._form.size:
        warn(
            "An output with one or more elements was resized since it had shape "
            f"{list(out.shape)}, which does not match the required output shape {list(shape)}. "
            "This behavior is deprecated, and in a future PyTorch release outputs will not be "
            "resized unless they have zero elements. You can explicitly reuse an out tensor t by "
            "resizing it, inplace, to zero elements with t.resize_(0).",
        )
    out.resize_(shape)
    return True


def _write(out: Tensor, result: Tensor) -> Tensor:
    _core.check_in_place(out, False)
    if of(out) is not of(result):
        raise RuntimeError(
            f"Attempting to copy from device {result.device} to device {out.device}, but "
            "cross-device copies are not allowed!"
        )
    form = result._form
    if resize(out, form.shape) and out.stride() != (strides := result.stride()):
        ends = sum((n - 1) * s for n, s in zip(form.shape, strides, strict=True))
        if ends + 1 == form.size:  # the result has no gaps
            out.as_strided_(form.shape, strides)
    if out._accelerator is not None:
        _core.copy_values(out, result)
    elif of(out).has_memory:
        _core.write_values(out, result)
    out._bump_version()
    return out
