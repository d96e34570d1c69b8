"""Anomaly mode: where the first bad value came from.

While it is on, each node keeps the place where its call was written
(`node.metadata["traceback_"]`), every gradient that a rule gives is looked at for NaN, and an error
inside backward is preceded by a warning that shows the place. Beyond what PyTorch checks,
`check_inf=True` looks for infinities too, and the results of the calls themselves are looked at: an
error in backward also names the first operation of forward that made a bad value, with line and
arguments. With `check_forward=True` that operation raises at once.
"""

from __future__ import annotations

import math
import traceback
from typing import Any

from .. import _core
from .._base import FOLDER
from .._base.dtypes import dtype, float32
from .._base.errors import warn
from .._base.sources import cell
from .._core import Op, Tensor
from .._devices.cpu import number
from .grad_mode import check_bool

__all__ = [
    "detect_anomaly",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "set_anomaly_enabled",
    "set_detect_anomaly",
]

_ANOMALY = _core.Observed.ANOMALY


class _State:
    """One for the process, as in PyTorch."""

    enabled = False
    check_nan = True
    check_inf = False
    check_forward: bool | None = None
    first_bad: str | None = None  # the first bad result of a forward call, in words

    def values(self) -> tuple[bool, bool, bool, bool | None]:
        return self.enabled, self.check_nan, self.check_inf, self.check_forward

    def set(
        self, enabled: bool, check_nan: bool, check_inf: bool, check_forward: bool | None
    ) -> None:
        check_bool("set_anomaly_enabled", "enabled", enabled)
        check_bool("set_anomaly_enabled", "check_nan", check_nan, 2)
        if enabled and not self.enabled:
            self.first_bad = None
        self.enabled, self.check_nan = enabled, check_nan
        self.check_inf, self.check_forward = bool(check_inf), check_forward
        _core.observe(_ANOMALY, enabled)


_state = _State()


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on.

    >>> with torch.autograd.detect_anomaly():
    ...     torch.is_anomaly_enabled()
    True
    >>> torch.is_anomaly_enabled()
    False
    """
    return _state.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode looks for NaN in gradients.

    >>> with torch.autograd.set_detect_anomaly(True, check_nan=False):
    ...     torch.is_anomaly_check_nan_enabled()
    False
    """
    return _state.check_nan


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Turn anomaly mode on or off.

    >>> torch.set_anomaly_enabled(True)
    >>> torch.is_anomaly_enabled()
    True
    >>> torch.set_anomaly_enabled(False)
    """
    _state.set(mode, check_nan, False, None)


class set_detect_anomaly:
    """Turn anomaly mode on or off: as a function at once, as a context manager until its end.

    check_nan: raise where a gradient becomes NaN. check_inf: where it becomes infinite, too.
    check_forward: raise where the result of an operation has such values (None: only remember it,
    for the error that a later backward raises; False: do not look).

    >>> with torch.autograd.set_detect_anomaly(True):
    ...     x = torch.tensor([0.0], requires_grad=True)
    ...     (x.sqrt() * 0).backward()
    Traceback (most recent call last):
        ...
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output...
    """

    def __init__(
        self,
        mode: bool,
        check_nan: bool = True,
        *,
        check_inf: bool = False,
        check_forward: bool | None = None,
    ) -> None:
        self.prev: tuple[bool, bool, bool, bool | None] = _state.values()
        _state.set(mode, check_nan, check_inf, check_forward)

    def __enter__(self) -> None:
        pass

    @_core.ending
    def __exit__(self, *exc: object) -> None:
        _state.set(*self.prev)


class detect_anomaly:
    """Inside the block, a backward that makes NaN raises,
    and says which call of forward is behind it.

    >>> with torch.autograd.detect_anomaly(check_forward=True):
    ...     y = torch.log(torch.tensor([-1.0], requires_grad=True))
    Traceback (most recent call last):
        ...
    RuntimeError: Function 'log' returned nan values in its 0th output. ...
    """

    check_forward: bool | None
    check_inf: bool
    check_nan: bool

    def __init__(
        self, check_nan: bool = True, *, check_inf: bool = False, check_forward: bool | None = None
    ) -> None:
        self.prev: tuple[bool, bool, bool, bool | None] = _state.values()
        self.check_nan, self.check_inf, self.check_forward = check_nan, check_inf, check_forward
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
        )

    def __enter__(self) -> None:
        self.prev = _state.values()
        _state.set(True, self.check_nan, self.check_inf, self.check_forward)

    def __exit__(self, *exc: object) -> None:
        _state.set(*self.prev)

    __enter__ = _core.beginning(__enter__, __exit__)
    __exit__ = _core.ending(__exit__)


# ---- what the core reports


def _place() -> list[str]:
    """The calling program's stack, without the library's own frames at its end."""
    frames = traceback.extract_stack()
    while frames and frames[-1].filename.startswith(FOLDER):
        frames.pop()
    cells = [cell(frame.filename) for frame in frames]
    told = traceback.format_list(frames)
    for n, (name, frame) in enumerate(zip(cells, frames, strict=True)):
        if name:
            python = f'File "{frame.filename}", line {frame.lineno}'
            told[n] = told[n].replace(python, f"{name}:{frame.lineno}", 1)
    return told[next((n for n, name in enumerate(cells) if name), 0) :]  # below IPython's own


def note_place(node: Any) -> None:
    """Notes in a new node the place of the call, and the node whose backward runs."""
    if not _state.enabled:
        return
    node.metadata["traceback_"] = _place()
    parent = _core.current_node()
    if parent is not None:
        node.metadata["parent_"] = parent


def _bad(tensor: Tensor | None) -> tuple[str, Tensor] | None:
    """The kind and the places of bad values: ("nan", mask)."""
    if not isinstance(tensor, Tensor) or not tensor.dtype.is_differentiable:
        return None
    while tensor._wrapped is not None:  # of a batch all elements, of a dual the value
        tensor = tensor._wrapped.value
    if all(map(math.isfinite, _extremes(tensor))):
        return None
    for wanted, name in ((_state.check_nan, "nan"), (_state.check_inf, "inf")):
        if wanted:
            mask = getattr(tensor, f"is{name}")()
            if mask.any().item():
                return name, mask
    return None


def _extremes(tensor: Tensor) -> tuple[float, ...]:
    """The least and the greatest element, nan if one is nan; by kernels, which no check hears of.
    Nothing of a tensor without elements, or without memory."""
    if tensor._on_meta or not tensor.numel():
        return ()
    t = tensor if tensor._accelerator is None else _core.copy_to(tensor, -1)
    t = _core.kernels.view_as_real(t) if t.dtype.is_complex else t
    found = _core.kernels.aminmax(t)
    if found is NotImplemented:  # of a type that is stored only
        found = _core.kernels.aminmax(_core.cast(t, float32.code))
    return tuple(number.item() for number in found)


def _shortest(value: float, dtype: dtype) -> str:
    """The fewest digits that tell a number from all others of a type."""
    for digits in range(1, 17):
        near = float(f"{value:.{digits}g}")
        if isinstance(value, float) and _core.cast(number(near), dtype.code).item() == value:
            return str(near)
    return str(value)


def _where(mask: Tensor) -> str:
    text = f"{int(mask.sum())} of {mask.numel()} elements"
    return f"{text}, first at index {tuple(mask.nonzero()[0].tolist())}" if mask.ndim else text


def _node_ran(node: Any, gradients: tuple[Any, ...], start: int, stop: int) -> None:
    if not _state.enabled or not (_state.check_nan or _state.check_inf):
        return
    choice = node.metadata.get("where_")
    if choice is None and node.name() == "WhereBackward0":
        choice = node.metadata.get("traceback_", ())[-1:]
    for i, g in enumerate(gradients):
        bad = _bad(g)
        if bad is None:
            behind = node.next_functions[i][0] if choice and i < len(node.next_functions) else None
            if behind is not None and isinstance(g, Tensor) and not g.all():
                behind.metadata["where_"] = choice
            continue
        node_failed(node)
        kind, mask = bad
        raise RuntimeError(
            f"Function '{node.name()}' returned {kind} values in its {i}th output. "
            f"({_where(mask)}; gradient of shape {tuple(g.shape)}.)"
            + (f" The first bad value of forward: {_state.first_bad}" if _state.first_bad else "")
            + (_NOT_CHOSEN + "".join(choice) if choice and kind == "nan" else "")
        )


_NOT_CHOSEN = (
    " The gradient came through a `where`. Of what it does not choose the gradient is 0, and 0 "
    "times an infinite slope is nan: give that branch an argument that is harmless there, as in "
    "where(c, f(where(c, x, 1)), other). The `where` was called at:\n"
)


def _say(text: str) -> None:
    """Warn. The error that is on its way says more: where warnings are errors, this is printed."""
    try:
        warn(text)
    except UserWarning:
        traceback.print_exc()


def node_failed(node: Any) -> None:
    """Warn with the place where the node's call was made,
    and those of the backwards it came from."""
    name, metadata = node.name(), node.metadata
    lines = metadata.get("traceback_")
    if lines is None:
        text = (
            f"Error detected in {name}. No forward pass information available. Enable detect "
            "anomaly during forward pass for more information."
        )
    else:
        text = (
            f"Error detected in {name}. Traceback of forward call that caused the error:\n"
            + "".join(lines)
        )
    _say(text)
    parent = metadata.get("parent_")
    while parent is not None:
        name, metadata = parent.name(), parent.metadata
        lines = metadata.get("traceback_")
        if lines is None:
            text = (
                f"\n\nPrevious calculation was induced by {name}. No forward pass information "
                "available. Enable detect anomaly during forward pass for more information."
            )
        else:
            text = (
                f"\n\nPrevious calculation was induced by {name}. Traceback of forward call that "
                "induced the previous calculation:\n" + "".join(lines)
            )
        _say(text)
        parent = metadata.get("parent_")


def _flat(value: object) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _op_ran(op: Op, arguments: tuple[object, ...], result: Tensor, start: int, stop: int) -> None:
    if not _state.enabled or _state.check_forward is False:
        return
    if (_state.first_bad and not _state.check_forward) or _core.current_node() is not None:
        return
    name = op.__name__
    if name.startswith(("empty", "new_empty")):
        return
    for i, out in enumerate(_flat(result)):
        bad = _bad(out)
        if bad is None:
            continue
        kind, mask = bad
        told = []
        for parameter, given in zip(op.params, arguments, strict=True):
            for value in _flat(given):
                if isinstance(value, Tensor) and not name.endswith("_"):
                    ends = () if value.dtype.kind in "bc" else _extremes(value)
                    low, high = [_shortest(end, value.dtype) for end in ends] or ("?", "?")
                    also = "" if _bad(value) is None else f", itself with {_bad(value)[0]}"  # type: ignore[index]
                    told.append(
                        f"{parameter}: shape {tuple(value.shape)}, from {low} to {high}{also}"
                    )
        text = f"{_where(mask)}. Arguments: {'; '.join(told) or 'none'}. Called at:\n" + "".join(
            _place()[-1:]
        )
        if _state.check_forward:
            raise RuntimeError(
                f"Function '{name}' returned {kind} values in its {i}th output. In forward: {text}"
            )
        _state.first_bad = f"{kind} from '{name}', {text}"
        return
