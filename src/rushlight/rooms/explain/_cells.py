"""Tensors and modules as a notebook's cell shows them: `_repr_html_`.

A picture of values is a small PNG: red above zero, blue below, the paler the nearer to zero, which
is the notebook's own background, dark or light. Of a large tensor a pixel has the value of
largest magnitude in its block.
"""

from __future__ import annotations

import base64
import html
import math
import struct
import zlib
from typing import TypeGuard

from .. import _core
from .._base.outside import np
from .._core import Tensor
from ..nn import Module
from ..nn.parameter import is_lazy
from ..ops.table.arrays import Array
from ._drawing import themed
from ._graph import Place
from ._names import quiet, shown_name
from ._text import Shown, bytes_text, counted, tensor_text

__all__ = ["Framed", "cell_html"]

_SIDE = 256
"""Pixels of a picture, of either side, before it is enlarged."""
_MOST = 4_000_000
"""Elements that are looked at; of more, whole rows are left out."""
_OPEN = 40
"""A tree of so many modules opens whole."""
_STYLE = """<style>
.rl-cell { font: 13px/1.5 system-ui, sans-serif; max-width: 100%; overflow: auto }
.rl-cell :is(pre, code):not(#a) { margin: 0; padding: 0; background: none; color: inherit;
  font: 12px/1.4 ui-monospace, Menlo, Consolas, monospace; white-space: pre }
.rl-cell pre:not(#a) { max-height: 200px; overflow: auto }
.rl-cell .soft { opacity: 0.7 }
.rl-cell figure { display: inline-block; margin: 6px 16px 2px 0; vertical-align: top }
.rl-cell img { display: block; image-rendering: pixelated; border: 1px solid rgb(128 128 128 / 0.5);
  max-width: none }
.rl-cell details { padding-left: 18px } .rl-cell summary { margin-left: -14px; cursor: pointer }
.rl-cell div.leaf { padding-left: 18px; margin-left: -14px }
</style>"""
""":not(#a) is true of every element, and stronger than the rules of the notebook itself."""


class Framed(Shown):
    """A page in a cell of a notebook; nothing is fetched for the page.

    >>> w = torch.tensor(3.0, requires_grad=True)
    >>> torch.explain.page(w * w)  # doctest: +ELLIPSIS
    <a page of ... kB for a notebook's cell>
    """

    def __init__(self, text: str, height: int) -> None:
        self.text, self.height = text, height

    def __str__(self) -> str:
        return f"<a page of {bytes_text(len(self.text))} for a notebook's cell>"

    def _repr_html_(self) -> str:
        theme = themed(".rl-page", "color-scheme: light", "color-scheme: dark")
        style = f"width: 100%; height: {self.height}px; border: 1px solid rgb(128 128 128 / 0.4)"
        return (
            f'{theme}<iframe class="rl-page" sandbox="allow-scripts" title="rushlight" '
            f'style="{style}" srcdoc="{html.escape(self.text)}"></iframe>'
        )


def cell_html(value: object) -> str | None:
    """A tensor or a module as HTML; None where its text says all that can be said."""
    with quiet(), np.errstate(all="ignore"):
        if isinstance(value, Module):
            try:
                return _Tree(value).html
            except Exception:  # of the program: no super().__init__(), an extra_repr that fails
                return None
        return _tensor(value) if _has_values(value) else None


# ---- tensors


def _tensor(t: Tensor) -> str:
    """The text as at the prompt, a line of facts, and pictures of the values and the gradient."""
    values = _array(t)
    facts = [tensor_text(t.shape, t.dtype)]
    if t._accelerator is not None:
        facts.append(str(t.device))
    facts += _facts(values, "magnitudes: " if t.dtype.is_complex else "") + _history(t)
    if values.size < t.numel():
        facts.append(f"of {values.size:,} of {t.numel():,} elements")
    figures = [_figure(values, "magnitudes" if t.dtype.is_complex else "values")]
    gradient = t.grad if t.is_leaf or t.retains_grad else None
    if _has_values(gradient):
        figures.append(_figure(_array(gradient), f"gradient, norm {_norm(gradient)}"))
    return (
        f'{_STYLE}<div class="rl-cell"><pre>{html.escape(_text(t))}</pre>'
        f'<span class="soft">{html.escape(" · ".join(facts))}</span>'
        f"<div>{''.join(figures)}</div></div>"
    )


def _text(t: Tensor) -> str:
    """As at the prompt; of many dimensions even the edges are too much to be read."""
    edges = math.prod(min(n, 6) for n in t.shape)
    return "…" if t.dim() > 6 and edges > 10_000 else repr(t)


def _has_values(t: object) -> TypeGuard[Tensor]:
    """Whether elements can be read: none of a sparse tensor, one of vmap, one on meta."""
    return isinstance(t, Tensor) and t._wrapped is None and not t._on_meta


def _real(t: Tensor) -> Tensor:
    return (t.abs() if t.dtype.is_complex else t).double()


def _norm(t: Tensor) -> str:
    return f"{float(_real(t.detach()).norm()):.4g}"


def _array(t: Tensor) -> Array:
    """The values as real numbers: of complex ones the magnitudes, of many some rows."""
    t = t.detach()
    while (step := -(-t.numel() // _MOST)) > 1:
        widest = max(range(t.dim()), key=lambda d: t.shape[d])
        t = t[(slice(None),) * widest + (slice(None, None, step),)]
    return _real(t.cpu()).numpy()


def _facts(values: Array, of: str) -> list[str]:
    finite = values[np.isfinite(values)]
    found = []
    if finite.size > 1:
        numbers = finite.min(), finite.mean(), finite.max(), finite.std(ddof=1)
        names = (f"{of}min", "mean", "max", "std")
        found += [f"{name} {x:.4g}" for name, x in zip(names, numbers, strict=True)]
    for name, count in (("NaN", np.isnan(values).sum()), ("inf", np.isinf(values).sum())):
        if count:
            found.append(f"{count:,} {name}")
    return found


def _history(t: Tensor) -> list[str]:
    """How a tensor was computed, or the mark of a leaf with requires_grad."""
    node = t.grad_fn
    if node is None:
        return ["leaf with requires_grad"] if t.requires_grad else []
    made = _core.node_facts(node)[2]
    return [type(node).__name__ + ("" if made is None else f", {Place(*made)}")]


def _figure(values: Array, caption: str) -> str:
    """The picture of at least two values."""
    if values.size < 2:
        return ""
    pixels = _coloured(_smaller(_matrix(values)))
    h, w = pixels.shape[:2]
    scale = max(1, min(16, 192 // max(h, w)))
    size = f"width: {w * scale}px; height: {max(h * scale, 12)}px"  # Jupyter obeys only a style
    data = base64.b64encode(_png(pixels)).decode()
    image = f'<img alt="{caption}" style="{size}" src="data:image/png;base64,{data}">'
    return f'<figure>{image}<figcaption class="soft">{caption}</figcaption></figure>'


def _matrix(values: Array) -> Array:
    """Of more dimensions than two the matrices of the last two, side by side; zeros between them,
    which are drawn as nothing."""
    if values.ndim <= 2:
        return np.atleast_2d(values)
    h, w = values.shape[-2:]
    tiles = np.pad(values.reshape(-1, h, w), ((0, 0), (0, 1), (0, 1)))
    across = max(1, min(len(tiles), round(math.sqrt(len(tiles) * h / w))))
    tiles = np.pad(tiles, ((0, -len(tiles) % across), (0, 0), (0, 0)))
    rows = tiles.reshape(-1, across, h + 1, w + 1).swapaxes(1, 2)
    return rows.reshape(-1, across * (w + 1))[:-1, :-1]


def _smaller(values: Array) -> Array:
    """At most `_SIDE` rows and columns, each of the largest magnitude; NaN goes before."""
    for axis, n in enumerate(values.shape):
        if n > _SIDE:
            begins = np.arange(_SIDE) * n // _SIDE
            high = np.maximum.reduceat(values, begins, axis)
            low = np.minimum.reduceat(values, begins, axis)
            values = np.where(high < -low, low, high)
    return values


def _coloured(values: Array) -> Array:
    """Red, green, blue and opacity of each value."""
    finite = np.isfinite(values)
    sizes = np.abs(np.where(finite, values, 0))
    pixels = np.zeros((*values.shape, 4), np.uint8)
    pixels[values > 0] = (214, 69, 38, 0)
    pixels[values < 0] = (33, 113, 181, 0)
    pixels[..., 3] = sizes / (sizes.max() or 1.0) * 255
    pixels[~finite] = (226, 0, 190, 255)
    return pixels


def _png(pixels: Array) -> bytes:
    """The pixels as the bytes of a PNG file."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    h, w = pixels.shape[:2]
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 6, 0, 0, 0))  # 8 bits of RGBA
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


# ---- modules


class _Tree:
    """The tree of a module: classes, shapes of parameters and buffers, and counts. A tensor or a
    module that is there twice is written once, and named from then on."""

    def __init__(self, module: Module) -> None:
        self._whole = sum(1 for _ in module.modules()) <= _OPEN
        self._paths: dict[int, str] = {}  # by id, of what has been written
        self.html = f'{_STYLE}<div class="rl-cell">{self._module("", "", module)}</div>'

    def _module(self, key: str, path: str, module: Module) -> str:
        if again := self._again(key, path, module):
            return again
        held = [(name, t, False) for name, t in module._parameters.items()]
        held += [(name, t, True) for name, t in module._buffers.items()]
        rows = [self._tensor(name, path, t, buffer) for name, t, buffer in held if t is not None]
        rows += [
            self._module(name, f"{path}{name}.", child)
            for name, child in module._modules.items()
            if child is not None
        ]
        extra = shown_name(" ".join(module.extra_repr().split()), 120)
        head = (f"{key}: " if key else "") + f"{type(module).__name__}({extra})"
        line = _line(head, _counts(module, not key))
        if not rows:
            return f'<div class="leaf">{line}</div>'
        mark = " open" if self._whole or not key else ""
        return f"<details{mark}><summary>{line}</summary>{''.join(rows)}</details>"

    def _tensor(self, key: str, path: str, t: Tensor, buffer: bool) -> str:
        if again := self._again(key, path + key, t):
            return again
        lazy = is_lazy(t)
        facts = ["shape not known before the first call" if lazy else tensor_text(t.shape, t.dtype)]
        if buffer:
            facts.append("buffer")
        else:
            facts += [] if lazy else [f"{t.numel():,}"]
            facts += [] if t.requires_grad else ["frozen"]
            if t.grad is not None:  # one that is sparse, say, has no norm here
                known = _has_values(t.grad)
                facts.append(f"gradient's norm {_norm(t.grad)}" if known else "has a gradient")
        return f'<div class="leaf">{_line(key, facts)}</div>'

    def _again(self, key: str, path: str, held: object) -> str:
        """A line about what has been written under another path; "" for the first time."""
        before = self._paths.setdefault(id(held), path)
        if before == path:
            return ""
        same = f"the same as {before.removesuffix('.') or 'the whole'}"
        return f'<div class="leaf">{_line(key, [same])}</div>'


def _line(code: str, facts: list[str]) -> str:
    soft = html.escape(" · ".join(facts))
    return f'<code>{html.escape(code)}</code> <span class="soft">{soft}</span>'


def _counts(module: Module, outermost: bool) -> list[str]:
    """How many parameters there are, each once; of the outermost module more."""
    found = list(module.parameters())
    if not found:
        return []
    made = [p for p in found if not is_lazy(p)]
    words = [counted(sum(p.numel() for p in made), "parameter")]
    if len(made) < len(found):
        words.append(f"{counted(len(found) - len(made), 'tensor')} not made yet")
    if outermost:
        words.append(bytes_text(sum(p.numel() * p.dtype.itemsize for p in made)))
        words.append("training" if module.training else "evaluation")
    frozen = sum(p.numel() for p in made if not p.requires_grad)
    return [*words, f"{frozen:,} frozen"] if frozen else words
