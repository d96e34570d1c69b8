"""The text of a tensor, equal to PyTorch's character for character.

`tensor_text` works in three steps: keep the elements that will be shown, turn all of
them into padded strings at once (`_float_texts` and its neighbours decide one format for the whole
tensor), and join the strings into nested, wrapped brackets (`_brackets`). `_with_suffixes` places
the words after the brackets, such as `dtype=` or `grad_fn=`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import compress
from operator import index
from types import SimpleNamespace
from typing import Any

from .. import _core
from .._core import Tensor
from . import dtypes

__all__ = ["get_printoptions", "printoptions", "set_printoptions"]


_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}
_options = SimpleNamespace(**_PROFILES["default"], sci_mode=None)


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: float | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Changes how tensors are printed; what is left out stays as it is, but for `sci_mode`.

    precision: digits after the point (4).
    threshold: the number of elements above which only the edges are shown (1000).
    edgeitems: how many are shown at each edge of each dimension (3).
    linewidth: characters a line (80).
    profile: 'default', 'short' or 'full': a value for each of the above, which they override.
    sci_mode: scientific notation always (True), never (False), or where it reads better (None).

    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1 / 3])
    tensor([0.33])
    >>> torch.set_printoptions(profile="default")
    """
    changed = dict(_PROFILES.get(profile, {})) if profile is not None else {}
    if precision is not None:
        changed["precision"] = index(precision)
    if threshold is not None:
        changed["threshold"] = threshold
    if edgeitems is not None:
        changed["edgeitems"] = index(edgeitems)
    if linewidth is not None:
        changed["linewidth"] = linewidth
    for name, value in changed.items():
        if not value >= 0:
            raise ValueError(f"set_printoptions(): {name} must not be negative, but got {value}")
    vars(_options).update(changed, sci_mode=sci_mode)


def get_printoptions() -> dict[str, Any]:
    """The options in force, as keyword arguments of `set_printoptions`."""
    return dict(vars(_options))


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """`set_printoptions(**options)` for the length of a `with` block."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


def tensor_text(
    t: Tensor,
    *,
    suffixes: Iterable[str] = (),
    prefix: str = "tensor(",
    device: str | None = None,
    contents: str | None = None,
) -> str:
    """The text of a tensor.

    The size and dtype are added where they cannot be read from the elements; `suffixes`, such as
    'grad_fn=<MulBackward0>', follow them. `device` is named only when given. Lines are indented to
    the end of `prefix`. `contents` replaces the brackets.

    >>> tensor_text(torch.tensor([1.5, 2]), suffixes=["requires_grad=True"])
    'tensor([1.5000, 2.0000], requires_grad=True)'
    """
    notes = [] if device is None else [f"device='{device}'"]
    default, dtype, shape = dtypes.get_default_dtype(), t.dtype, tuple(t.shape)
    if not t.numel():
        if len(shape) != 1:
            notes.append(f"size={shape}")
        if dtype is not default:
            notes.append(f"dtype={dtype}")
    else:
        if not _options.edgeitems:
            notes.append(f"size={shape}")
        complex_default = dtypes.complex128 if default is dtypes.float64 else dtypes.complex64
        if dtype not in (default, complex_default, dtypes.int64, dtypes.bool):
            notes.append(f"dtype={dtype}")
    notes.extend(suffixes)
    if contents is None:
        contents = _contents(t, len(prefix))
    return _with_suffixes(prefix + contents, notes, len(prefix))


def _with_suffixes(text: str, suffixes: Sequence[str], indent: int) -> str:
    """`text`, the suffixes and the closing parenthesis; a suffix that would not fit on the last
    line starts a new one."""
    parts = [text]
    used = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if used + len(suffix) + 2 > _options.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            used = indent + len(suffix)
        else:
            parts.append(", " + suffix)
            used += len(suffix) + 2
    parts.append(")")
    return "".join(parts)


def _contents(t: Tensor, indent: int) -> str:
    if not t.numel():
        return "[]"
    edge, shape = _options.edgeitems, tuple(t.shape)
    if t.numel() <= _options.threshold:
        edge = -1
    elif not edge and shape:
        return "[...]"
    kept = [n if edge < 0 else min(n, 2 * edge) for n in shape]
    values = _core.summary(t, edge)
    if t.dtype.is_complex:
        real, real_width = _float_texts([value.real for value in values])
        imaginary, imaginary_width = _float_texts([value.imag for value in values])
        texts = list(map(_complex_text, real, imaginary))
        width = real_width + imaginary_width + 1
    elif t.dtype.is_floating_point:
        if t.dtype is dtypes.float8_e8m0fnu:  # its smallest number stands for 0, as 0 becomes it
            values = [0.0 if value == 2.0**-127 else value for value in values]
        texts, width = _float_texts(values)
    else:
        texts = list(map(str, values))
        width = max(map(len, texts))
        texts = [text.rjust(width) for text in texts]
    if not shape:
        return texts[0]
    elided = [short < full for short, full in zip(kept, shape, strict=True)]
    return _brackets(texts, width, kept, elided, indent)


def _float_texts(values: list[float]) -> tuple[list[str], int]:
    """Every element as text in one common format, padded, and the common width.

    Zeros, infinities and nans have no say in the format or the width, and may exceed it.
    """
    finite = list(map(math.isfinite, values))
    counted = [keep and value != 0 for keep, value in zip(finite, values, strict=True)]
    sizes = [abs(value) for value in compress(values, counted)]
    whole, scientific = True, False
    if sizes:
        whole = all(map(float.is_integer, sizes))
        low, high = min(sizes), max(sizes)
        scientific = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
        if _options.sci_mode is not None:
            scientific = _options.sci_mode

    if scientific:
        pattern = f"%.{_options.precision}e"
    elif whole:
        pattern = "%.0f."
    else:
        pattern = f"%.{_options.precision}f"
    # One formatting call for all elements: much faster than one for each.
    texts = ("\n".join([pattern] * len(values)) % tuple(values)).split("\n")
    if whole and not scientific and not all(finite):
        texts = [text if keep else text[:-1] for text, keep in zip(texts, finite, strict=True)]
    width = max(map(len, compress(texts, counted)), default=1)
    return [text.rjust(width) for text in texts], width


def _complex_text(real: str, imaginary: str) -> str:
    imaginary = imaginary.lstrip()
    sign = "" if imaginary[0] == "-" else "+"
    return f"{real}{sign}{imaginary}j"


def _brackets(
    texts: list[str], width: int, shape: list[int], elided: list[bool], indent: int
) -> str:
    """The element texts as nested brackets, with '...' in the middle of each elided dimension.

    `indent` is the column of the outermost bracket. Works from the last dimension outwards.
    """
    depth = len(shape)
    column = indent + depth  # of the first element of the innermost brackets
    a_line = max(1, math.floor((_options.linewidth - column + 1) / (width + 2)))
    between = ",\n" + " " * column
    blocks = []
    for row in _groups(texts, shape[-1], elided[-1], " ..."):
        lines = [", ".join(row[i : i + a_line]) for i in range(0, len(row), a_line)]
        blocks.append("[" + between.join(lines) + "]")
    for axis in reversed(range(depth - 1)):
        between = "," + "\n" * (depth - axis - 1) + " " * (indent + axis + 1)
        blocks = [
            "[" + between.join(group) + "]"
            for group in _groups(blocks, shape[axis], elided[axis], "...")
        ]
    return blocks[0]


def _groups(texts: list[str], length: int, elided: bool, dots: str) -> Iterator[list[str]]:
    for start in range(0, len(texts), length):
        group = texts[start : start + length]
        if elided:
            group.insert(length // 2, dots)
        yield group
