"""`torch._check` and its kin: conditions that raise an error of a kind with a message made late."""

from __future__ import annotations

from collections.abc import Callable

from ._root import Tensor
from ._root import bool as _bool

Message = Callable[[], str] | None
_UNSAID = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please "
    "report an enhancement request to PyTorch.)"
)


def _fail(error: type[Exception], message: Message) -> None:
    if message is None:
        raise error(_UNSAID)
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error(str(message()))


def _check_with(error_type: type[Exception], cond: bool, message: Message) -> None:
    """Raise an error of that type unless a condition holds; `message` gives its text."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        _fail(error_type, message)


def _checking(error: type[Exception], name: str) -> Callable[..., None]:
    """The check that raises this kind of error."""

    def check(cond: bool, message: Message = None) -> None:
        _check_with(error, cond, message)

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"Raise {error.__name__} unless a condition holds; `message` gives its text."
    return check


_check = _checking(RuntimeError, "_check")
_check_index = _checking(IndexError, "_check_index")
_check_value = _checking(ValueError, "_check_value")
_check_type = _checking(TypeError, "_check_type")
_check_not_implemented = _checking(NotImplementedError, "_check_not_implemented")


def _check_is_size(i: int, message: Message = None, *, max: int | None = None) -> None:
    """Raise RuntimeError unless a number is at least 0, and at most `max`."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(
    error_type: type[Exception], cond: Tensor, message: Message = None
) -> None:
    """Raise an error of that type unless every element of a tensor of booleans is True."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype != _bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all().item()), message)


def _check_tensor_all(cond: Tensor, message: Message = None) -> None:
    """Raise RuntimeError unless every element of a tensor of booleans is True."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert_async(input: Tensor, assert_msg: str = "") -> None:
    """Raise RuntimeError where a tensor of one element is zero."""
    if not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")
