"""How kernels are started: what the functions of this folder share.

The arguments of a kernel: for a tensor BUFFER(p), its memory and place in bytes; for an int an i64;
for `number(x)` a T; for a `layout` a Layout. Tensors that a kernel reads as OF(type, p) are
contiguous: see `rows`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from .. import _core
from .._base import dtypes
from .._core import Tensor
from .accelerators import kernel, numbered
from .texts import numbers_of

__all__ = [
    "GROUP",
    "WIDE_GROUP",
    "Dims",
    "Ints",
    "Tensors",
    "Written",
    "code",
    "computed",
    "empty",
    "layout",
    "made",
    "number",
    "power_of_2",
    "processors",
    "rows",
    "start",
    "start_rows",
    "takes",
    "told",
]

Dims: TypeAlias = int | Sequence[int] | None
Ints: TypeAlias = Sequence[int]
Tensors: TypeAlias = tuple[Tensor, ...]
Written: TypeAlias = Any
"""The result of a function that writes an argument: None, or NotImplemented."""
GROUP: int = numbers_of("accelerator_call.h").GROUP
WIDE_GROUP: int = numbers_of("vectors.cl").WIDE_GROUP
"""Work items of a group of the kernels that count on warps."""


def start(
    file: str,
    name: str,
    items: int,
    like: Tensor,
    *arguments: Any,
    more: str = "",
    computes: str | None = None,
    group: int = GROUP,
) -> None:
    """Start a kernel of a file on `items` work items, on the device of `like` and in its type.

    T is the type that elements of `like` are computed in: float for the halves, i64 for integers.
    more: other options of the compiler, such as "-DWIDTH=4". computes: the name of another dtype
    for T. group: how many work items share what is LOCAL.
    """
    device = like._accelerator
    number = kernel(device, file, name, computes or _COMPUTED[like.dtype], more)
    _core.accelerator_launch(number, items, group, arguments)


def processors(like: Tensor) -> int:
    """How many multiprocessors the device of a tensor has, where its work items go in warps; else
    0: kernels that count on warps are not for that device."""
    device = like._accelerator
    facts = None if device is None else numbered(device).facts
    return facts.processors if facts is not None and facts.warp else 0


def power_of_2(least: float, most: int) -> int:
    """The first power of two that is not below a number, but not above another."""
    found = 1
    while found < least and found < most:
        found *= 2
    return found


_MOST_HELD = 8


def start_rows(
    file: str, name: str, x: Tensor, rows: int, length: int, *arguments: Any, more: str = ""
) -> None:
    """Start a kernel of warps on rows of neighbours like those of x, which are held in registers
    where they fit. Ellipsis among the arguments stands for rows, length, and the work items of one.
    """
    each = 16 // x.element_size()
    pieces = -(-(length + each - 1) // each)
    per = power_of_2(pieces, 32) if pieces <= 32 * _MOST_HELD else WIDE_GROUP
    held = power_of_2(-(-pieces // per), _MOST_HELD)
    if held * per < pieces:
        held = 0
    at = arguments.index(Ellipsis)
    given = *arguments[:at], rows, length, per, *arguments[at + 1 :]
    options = f"-DWARPS -DX={code(x)} -DHELD={held} {more}"
    start(file, name, rows * per, x, *given, more=options, group=WIDE_GROUP)


def computed(dtype: dtypes.dtype) -> dtypes.dtype:
    """The dtype that elements of a dtype are computed in."""
    if dtype.is_floating_point:
        return dtypes.float64 if dtype is dtypes.float64 else dtypes.float32
    return dtypes.int64


_COMPUTED = {dtype: computed(dtype).name for dtype in dtypes.ALL}


def takes(*tensors: object) -> bool:
    """Whether all are tensors on one accelerator, of element types that kernels read."""
    return _core.accelerator_takes(*tensors)


def code(tensor: Tensor) -> int:
    """The number of its element type, for `load` and `store`."""
    return int(tensor.dtype.code)


def number(value: float, like: Tensor) -> bytes:
    """A number in the type that elements of `like` are computed in."""
    return _core.accelerator_number(value, like)


def told(like: Tensor, what: str) -> tuple[Tensor, int]:
    """A kernel's TELLS: memory for a number ("index") that it cannot use, and the call's number."""
    device: Any = like._accelerator
    return _core.accelerator_report(device, what)


def empty(shape: Ints, like: Tensor, dtype: dtypes.dtype | None = None) -> Tensor:
    """A contiguous tensor that nobody wrote, on the device of `like`."""
    return _core.accelerator_empty(shape, like, (like.dtype if dtype is None else dtype).code)


def made(name: str, *args: object) -> Any:
    """New tensors on the device for the results of a kernel of the CPU, and its errors.

    The kernel is called with tensors on meta of the same layouts, so it looks at its arguments and
    computes nothing. NotImplemented, or None among the results, is passed on.
    """
    return _core.accelerator_made(getattr(_core.kernels, name), *args)


def rows(tensor: Tensor, dtype: dtypes.dtype | None = None) -> Tensor:
    """The tensor itself, or a copy: contiguous, and of a dtype where one is given."""
    if tensor.is_contiguous() and (dtype is None or tensor.dtype is dtype):
        return tensor
    made = empty(tensor.shape, tensor, dtype)
    _core.copy_values(made, tensor)
    return made


def layout(tensor: Tensor, sizes: Ints | None = None, strides: Ints | None = None) -> bytes | None:
    """Where its elements lie, or where those of other sizes and strides (in elements) do.

    Neighbouring dimensions that are gone through in one step are joined; None where more than six
    are left.
    """
    return _core.accelerator_layout(tensor, sizes, strides)
