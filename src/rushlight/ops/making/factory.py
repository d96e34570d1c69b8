"""The steps of a function that makes a tensor: the size asked for, the memory, the element type,
and the tensor, which may have to go into `out`."""

from __future__ import annotations

import operator
from typing import Any

from ... import _core
from ..._base import dtypes
from ..._base.device import resolve
from ..._base.dtypes import dtype
from ..._devices import cpu, of, on
from ..table.arrays import Array, check_64_bits, none_left
from ..table.signature import read

__all__ = [
    "allocate",
    "check_keywords",
    "destination",
    "finished",
    "is_int",
    "room_for",
    "shape_of",
    "torch_dtype",
    "type_of",
    "write",
]


def is_int(value: Any) -> bool:
    """Whether a value can stand for a whole number: ints, NumPy's, tensors of one whole number."""
    try:
        operator.index(value)
    except (TypeError, ValueError, RuntimeError):
        return False
    return True


def shape_of(function: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape that `f(2, 3)`, `f((2, 3))` and `f(torch.Size([2, 3]))` mean, checked."""
    listed = len(size) == 1 and isinstance(size[0], (tuple, list))
    if listed:
        size = tuple(size[0])
    try:
        shape = tuple([operator.index(n) for n in size])
    except TypeError:
        at = next(i for i, n in enumerate(size) if not is_int(n))
        bad = type(size[at]).__name__
        if not at and not listed:
            if len(size) > 1:
                raise TypeError(
                    f"{function}() takes 1 positional argument but {len(size)} were given"
                ) from None
            raise TypeError(
                f"{function}(): argument 'size' (position 1) must be tuple of ints, not {bad}"
            ) from None
        raise TypeError(
            f"{function}(): argument 'size' failed to unpack the object at pos {at + 1} with error "
            f'"type must be tuple of ints,but got {bad}"'
        ) from None
    for n in shape:
        if n < 0:
            if function == "zeros":
                raise RuntimeError(
                    f"zeros: Dimension size must be non-negative. Got {list(shape)}."
                )
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {n}: {list(shape)}"
            )
    check_64_bits(function, "size", shape)
    return shape


def allocate(shape: tuple[int, ...], numpy_dtype: Any, fill: complex | None = None) -> Array:
    """A new array; running out of memory is torch's RuntimeError."""
    return cpu.made(shape, dtypes.from_numpy_dtype(numpy_dtype), fill)._array


def room_for(count: int) -> None:
    """torch's RuntimeError where there is no memory for so many tensors; without setting out to
    make them."""
    if count >> 20:
        try:
            cpu.made((count, 256), dtypes.uint8)
        except RuntimeError:
            raise RuntimeError(
                f"std::bad_alloc. There is no room for {count} tensors in memory."
            ) from None


_KEYWORDS = frozenset(p.name for p in read("(*, ...)").params)


def check_keywords(how: dict[str, Any], function: str) -> None:
    """TypeError for a keyword of a call that no factory knows."""
    for name in how:
        if name not in _KEYWORDS:
            none_left(function, {name: how[name]})


def destination(how: dict[str, Any], function: str, out: Any = None, like: Any = None) -> Any:
    """The device of a factory's result: of `out`, the one asked for, of `like`, the default. `how`:
    the keywords of the call, which are checked."""
    if how and not _KEYWORDS.issuperset(how):
        check_keywords(how, function)
    device = how.get("device")
    if out is not None:
        _check_place(out, how.get("layout"), device)
        return of(out)
    return of(like) if device is None and like is not None else on(device, function)


def _check_place(out: Any, layout: Any, device: Any) -> None:
    """torch's errors for a layout or a device asked for that is not that of `out`."""
    if layout is not None and layout is not out.layout:
        asked, have = (
            str(it).partition(".")[2].title().replace("_", "").removesuffix("Coo")
            for it in (layout, out.layout)
        )
        raise RuntimeError(f"layout {asked} does not match layout of out parameter ({have})")
    if device is not None and (asked := resolve(device).type) != out.device.type:
        raise RuntimeError(
            f"device type {asked} does not match device type of out parameter ({out.device.type})"
        )


def finished(
    made: Any,
    how: dict[str, Any],
    out: Any = None,
    function: str = "tensor",
    keeps_size: bool = False,
) -> Any:
    """A creation function's new tensor, or `out` with its values. `how`: the keywords of the call.

    torch resizes `out` without a word, but ranges leave one of as many elements as it is.
    """
    if out is None:
        return leaf(made, how)
    if out.requires_grad and _core.is_grad_enabled():
        raise RuntimeError(
            f"{function}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad."
        )
    _core.check_in_place(out, False)
    if out._form.shape != made.shape:
        if keeps_size and out._form.size == made.numel():
            _core.take_place(made, _core.storage_of(made), out._form.shape, None, 0)
        else:
            out.resize_(made.shape)
    write(out, made)
    out._bump_version()
    return leaf(out, how)


def write(out: Any, values: Any) -> None:
    """Put values where a tensor, which may be a lazy conjugate or negative, shows them."""
    if out.is_conj() or out.is_neg():
        _core.write_values(out, values._host_array)
    else:
        _core.copy_values(out, values)


def leaf(made: Any, how: dict[str, Any]) -> Any:
    """A new tensor, of which a gradient is wanted where the keywords of a call say so."""
    if how.get("requires_grad", False):
        if not made.dtype.is_floating_point and not made.dtype.is_complex:
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        made.requires_grad = True  # transformed functions may not call requires_grad_()
    return made


_PYTHON_TYPES = {float: dtypes.float64, int: dtypes.int64, bool: dtypes.bool}
_PYTHON_TYPES[complex] = dtypes.complex128


def torch_dtype(dtype: dtype, function: str = "tensor") -> dtype:
    """The dtype that an argument means: torch's, or a Python type of numbers."""
    if isinstance(dtype, dtypes.dtype):
        return dtype
    if isinstance(dtype, type) and dtype in _PYTHON_TYPES:
        return _PYTHON_TYPES[dtype]
    raise TypeError(
        f"{function}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}"
    )


def type_of(dtype: dtype | None, function: str = "tensor", out: Any = None) -> dtype:
    """The dtype that an optional argument means; of `out`, which it must agree with."""
    if out is not None:
        if dtype is not None and torch_dtype(dtype, function) is not out.dtype:
            raise RuntimeError(
                f"dtype {torch_dtype(dtype).scalar_name} does not match dtype of out parameter "
                f"({out.dtype.scalar_name})"
            )
        return out._form.dtype
    if dtype is None:
        return dtypes.get_default_dtype()
    return torch_dtype(dtype, function)
