"""The errors of definitions over arrays, where NumPy is not installed.

A definition looks at types, sizes and values first, and raises torch's errors. `refuse` calls the
definition with stand-ins that answer such questions from the tensors. One that goes on to compute
finds no NumPy, and that is the error then.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

from .. import _core
from . import dtypes
from .outside import lacking, stand_ins


class Unanswered(Exception):
    """A question that a stand-in does not answer."""


class ShownType:
    """An element type as NumPy's: with a kind, and equal by its name."""

    def __init__(self, name: Any) -> None:
        self.name = str(getattr(name, "name", name)).removeprefix("torch.").rstrip("_")
        self.torch = getattr(dtypes, self.name, None)
        if self.torch is None:
            raise Unanswered
        self.itemsize = self.torch.itemsize
        first = "V" if self.name.startswith(("bfloat", "float8")) else self.name[0]
        self.kind = "V" if self.name == "complex32" else first

    def __eq__(self, other: object) -> bool:
        return self.name == getattr(other, "name", None)

    def __hash__(self) -> int:
        return hash(self.name)


class Shown:
    """A tensor as an array that can be asked, and not computed with."""

    def __init__(self, tensor: _core.Tensor) -> None:
        self._tensor = tensor.detach()
        self.shape = tuple(tensor.shape)
        self.ndim, self.size = tensor.dim(), tensor.numel()
        self.dtype = ShownType(tensor.dtype)
        self.itemsize = self.dtype.itemsize
        self.strides = tuple(step * self.itemsize for step in tensor.stride())

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (_answer(operator.getitem, self, i) for i in range(len(self)))

    @property
    def flat(self) -> list[Any]:
        return self._tensor.reshape(-1).tolist()

    def astype(self, dtype: ShownType, **_: Any) -> Any:
        return _answer(self._tensor.to, ShownType(dtype).torch)

    def copy(self) -> Shown:
        return self

    def __getattr__(self, name: str) -> Any:
        if name not in ("min", "max", "any", "all", "reshape", "item", "tolist", "sum"):
            raise Unanswered
        return lambda *given: _answer(getattr(self._tensor, name), *given)


def _own(value: Any) -> Any:
    return value._tensor if isinstance(value, Shown) else value


def _answer(function: Callable[..., Any], *given: Any) -> Any:
    """A tensor's answer: a stand-in again, or a number of Python's."""
    try:
        answer = function(*map(_own, given))
    except Exception as error:
        raise Unanswered from error
    if not isinstance(answer, _core.Tensor):
        return answer
    return Shown(answer) if answer.dim() else answer.item()


def _where(chosen: Shown, a: Any, b: Any) -> Any:
    if isinstance(a, Shown):
        return _answer(a._tensor.where, chosen, b)
    if isinstance(b, Shown):
        return _answer(b._tensor.where, ~_own(chosen), a)
    raise Unanswered


def _asked(name: str) -> Callable[..., Any]:
    function = getattr(operator, name)
    return lambda *given: _answer(function, *given)


for _name in "lt le gt ge eq ne and_ or_ invert neg getitem add".split():
    setattr(Shown, f"__{_name.rstrip('_')}__", _asked(_name))


def _method(name: str, a: Any) -> Any:
    return _answer(getattr(_own(a), name))


_TYPES = "bool_ uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128"
_NUMPYS = {
    **{name: ShownType(name) for name in _TYPES.split()},
    "dtype": ShownType,
    "ndarray": Shown,
    "any": lambda a: _answer(_own(a).any),
    "all": lambda a: _answer(_own(a).all),
    "asarray": lambda a: a,
    **{name: partial(_method, name) for name in "isfinite isinf isnan tril triu".split()},
    "argwhere": lambda a: _answer(_own(a).nonzero),
    "count_nonzero": lambda a: _answer(_own(a).count_nonzero),
    "where": _where,
    "errstate": lambda **_: nullcontext(),
}


def _shown(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(map(_shown, value)) if type(value) in (tuple, list) else value
    return Shown(value) if isinstance(value, _core.Tensor) else value


def refuse(function: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    """Raises what the definition raises of such arguments, or that NumPy is missing.

    NotImplemented where a kernel says so: the definition is asked next.
    """
    before = stand_ins.set(_NUMPYS)
    try:
        if function(*_shown(given)) is NotImplemented:
            return NotImplemented
    except ModuleNotFoundError:
        pass
    except (IndexError, NotImplementedError, RuntimeError, ValueError):
        raise
    except Exception:  # a question without an answer, here
        pass
    finally:
        stand_ins.reset(before)
    raise lacking("numpy")
