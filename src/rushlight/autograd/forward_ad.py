"""Forward-mode by hand: dual numbers inside `dual_level`."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from .. import _core
from .._core import Tensor
from .._levels.dual import ForwardLevel
from .._levels.places import fitted
from .._levels.running import state
from .._levels.structure import parts_at, with_tangent
from ..ops.making.copies import alias

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


class _Parts(NamedTuple):
    primal: Tensor
    tangent: Any  # a Tensor, or None


class UnpackedDualTensor(_Parts):
    """A tensor's value and its tangent (None where it has none).

    >>> with torch.autograd.forward_ad.dual_level():
    ...     pair = torch.autograd.forward_ad.unpack_dual(torch.tensor(1.0))
    >>> pair.primal, pair.tangent
    (tensor(1.), None)
    """

    __slots__ = ()


_entered: list[ForwardLevel] = []


def _current() -> ForwardLevel | None:
    return _entered[-1] if _entered else None


def enter_dual_level() -> int:
    """Begin a level; `dual_level` is the same as a context manager. There is one at a time.

    >>> fw = torch.autograd.forward_ad
    >>> level = fw.enter_dual_level()
    >>> x = fw.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    >>> fw.unpack_dual(x.square()).tangent
    tensor(6.)
    >>> fw.exit_dual_level()
    """
    _begin(ForwardLevel())
    return 0


def _begin(level: ForwardLevel) -> None:
    if _entered:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment. Derivatives of derivatives are "
            "taken with torch.func.jvp (or jacfwd) inside of one another."
        )
    _entered.append(level)
    level.__enter__()


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level begun last: tensors lose the tangents it gave them.

    >>> fw = torch.autograd.forward_ad
    >>> level = fw.enter_dual_level()
    >>> x = fw.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    >>> fw.exit_dual_level()
    >>> fw.unpack_dual(x)
    UnpackedDualTensor(primal=tensor(3.), tangent=None)
    """
    if not _entered and level is None:
        raise RuntimeError(
            "Dual level must be a positive number. There is no level to exit: begin one with "
            "enter_dual_level()."
        )
    if level is not None and level != len(_entered) - 1:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is "
            "not supported."
        )
    _entered[-1].__exit__()
    _entered.pop()


class dual_level:
    """A context in which tensors may carry tangents.

    >>> fw = torch.autograd.forward_ad
    >>> with fw.dual_level():
    ...     x = fw.make_dual(torch.tensor(2.0), torch.tensor(1.0))
    ...     fw.unpack_dual(x * x).tangent
    tensor(4.)
    """

    _level: ForwardLevel | None = None

    def __enter__(self) -> int:
        self._level = ForwardLevel()
        _begin(self._level)
        return 0

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()

    def _undo(self) -> None:
        if self._level in _entered:
            exit_dual_level()

    __enter__ = _core.beginning(__enter__, _undo)
    __exit__ = _core.ending(__exit__)

    def __call__(self, function: Any) -> Any:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: object) -> Any:
            with dual_level():
                return function(*args, **kwargs)

        return wrapped


def make_dual(tensor: Tensor, tangent: Any, *, level: int | None = None) -> Tensor:
    """A tensor with a tangent at the level begun last (or at `level`).

    >>> fw = torch.autograd.forward_ad
    >>> with fw.dual_level():
    ...     x = fw.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0]))
    ...     fw.unpack_dual(x.prod()).tangent
    tensor(2.)
    """
    found = _level(level)
    if found is None and level is not None and _entered:
        raise RuntimeError(
            f"Invalid level given to _make_dual. There is level 0 only; it is {level}."
        )
    if found is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(
            f"Expected primal to be floating point or complex, but got: {tensor.dtype}"
        )
    if not (tangent.is_floating_point() or tangent.is_complex()):
        raise ValueError(
            f"Expected tangent to be floating point or complex, but got: {tangent.dtype}"
        )
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(tensor.shape)} while the "
            f"given forward gradient is of size {list(tangent.shape)}."
        )
    value, old = parts_at(tensor, found)
    if old is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
            "same level 0 is not supported. Take its primal with unpack_dual first."
        )
    if parts_at(tangent, found)[1] is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not "
            "supported. For a second derivative use torch.func.jvp."
        )
    own = value.view_as(value)
    return with_tangent(own, fitted(tangent, own), found)


def _level(level: int | None) -> ForwardLevel | None:
    if level is None:
        return _current()
    return _entered[level] if 0 <= level < len(_entered) else None


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value and the tangent of a tensor at the level begun last (or at `level`).

    >>> fw = torch.autograd.forward_ad
    >>> with fw.dual_level():
    ...     x = fw.make_dual(torch.tensor(2.0), torch.tensor(1.0))
    ...     primal, tangent = fw.unpack_dual(1 / x)
    >>> primal, tangent
    (tensor(0.5000), tensor(-0.2500))
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(
            "_unpack_dual(): argument 'dual' (position 1) must be Tensor, not "
            f"{type(tensor).__name__}"
        )
    found = _level(level)
    if found is None:
        return UnpackedDualTensor(tensor, None)
    value, tangent = parts_at(tensor, found)
    if not state.forward:
        tangent = None
    return UnpackedDualTensor(alias(value), tangent)


def _is_fwd_grad_enabled() -> bool:
    """Whether ops compute tangents in this thread."""
    return state.forward and not _core.is_inference()


class _set_fwd_grad_enabled:
    """Let ops compute tangents, or not: from now on, or for a `with` block."""

    def __init__(self, mode: bool) -> None:
        self._before, state.forward = state.forward, bool(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        state.forward = self._before


def __getattr__(name: str) -> Any:
    if name == "_current_level":
        return len(_entered) - 1
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
