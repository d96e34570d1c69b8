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
from typing import TYPE_CHECKING

from .. import _core
from .._base.outside import np
from .._core import Tensor
from ..ops.table.arrays import Array
from ._drawing import themed
from ._graph import Place
from ._names import quiet, shown_name
from ._text import bytes_text, counted, tensor_text

if TYPE_CHECKING:
    from ..nn import Module

__all__ = ["Framed", "cell_html"]

_SIDE = 256
"""Pixels of a picture, of either side, before it is enlarged."""
_MOST = 4_000_000
"""Elements that are looked at; of more, whole rows are left out."""
_OPEN = 40
"""A tree of so many modules opens whole."""
_STYLE = """<style>
.rl-cell { font: 13px/1.5 system-ui, sans-serif; max-width: 100%; overflow: auto }
.rl-cell.rl-cell pre, .rl-cell.rl-cell code { margin: 0; background: none;
  font: 12px/1.4 ui-monospace, Menlo, Consolas, monospace; padding: 0; color: inherit }
.rl-cell.rl-cell pre { max-height: 200px; overflow: auto }
.rl-cell .soft { opacity: 0.7 }
.rl-cell figure { display: inline-block; margin: 6px 16px 2px 0; vertical-align: top }
.rl-cell img { display: block; image-rendering: pixelated; border: 1px solid rgb(128 128 128 / 0.5);
  max-width: none }
.rl-cell figcaption { font-size: 12px; opacity: 0.7 }
.rl-cell details { padding-left: 18px } .rl-cell summary { margin-left: -14px; cursor: pointer }
.rl-cell div.leaf, .rl-cell div.own { padding-left: 18px; margin-left: -14px }
</style>"""


class Framed:
    """A page in a cell of a notebook; nothing is fetched for the page.

    >>> w = torch.tensor(3.0, requires_grad=True)
    >>> torch.explain.page(w * w)  # doctest: +ELLIPSIS
    <a page of ... kB for a notebook's cell>
    """

    def __init__(self, text: str, height: int) -> None:
        self.text, self.height = text, height

    def __repr__(self) -> str:
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
    with quiet():
        if isinstance(value, Tensor):
            return _tensor(value)
        return _tree(value)  # type: ignore[arg-type]


# ---- tensors


def _tensor(t: Tensor) -> str | None:
    """The text as at the prompt, a line of facts, and pictures of the values and the gradient."""
    if t._wrapped is not None or t._on_meta:
        return None
    values = _array(t)
    facts = [tensor_text(t.shape, t.dtype)]
    if t._accelerator is not None:
        facts.append(str(t.device))
    facts += _facts(values, "magnitude's " if t.dtype.is_complex else "") + _history(t)
    figures = [_figure(values, "values")] if values.size > 1 else []
    gradient = t.grad if t.is_leaf else None
    if isinstance(gradient, Tensor) and gradient._wrapped is None:
        of = _array(gradient)
        norm = float(np.sqrt(np.sum(np.square(np.abs(of.astype(np.float64))))))
        figures.append(_figure(of, f"gradient, norm {norm:.4g}"))
    text = html.escape(repr(t))
    return (
        f'{_STYLE}<div class="rl-cell"><pre>{text}</pre>'
        f'<span class="soft">{html.escape(" · ".join(facts))}</span>'
        f"<div>{''.join(figures)}</div></div>"
    )


def _array(t: Tensor) -> Array:
    """The values as real numbers: of complex ones the magnitudes, of many some rows."""
    t = t.detach()
    step = -(-t.numel() // _MOST) if t.dim() else 1
    if step > 1:
        widest = max(range(t.dim()), key=lambda d: t.shape[d])
        t = t[(slice(None),) * widest + (slice(None, None, step),)]
    t = t.cpu()
    if t.dtype.is_complex:
        t = t.abs()
    return t.double().numpy()


def _facts(values: Array, of: str) -> list[str]:
    finite = values[np.isfinite(values)]
    found = []
    if finite.size > 1:
        numbers = finite.min(), finite.mean(), finite.max(), finite.std(ddof=1)
        names = (f"{of}{name}" for name in ("min", "mean", "max", "std"))
        found += [f"{name} {x:.4g}" for name, x in zip(names, numbers, strict=True)]
    for name, count in (("NaN", np.isnan(values).sum()), ("inf", np.isinf(values).sum())):
        if count:
            found.append(f"{count:,} {name}")
    return found


def _history(t: Tensor) -> list[str]:
    """How a tensor was computed, or the mark of a leaf with requires_grad."""
    node = t.grad_fn
    if node is None:
        return ["leaf with requires_grad" + ("" if t.grad is None else ", has .grad")] * (
            t.requires_grad
        )
    made = _core.node_facts(node)[2]
    return [type(node).__name__ + ("" if made is None else f", {Place(*made)}")]


def _figure(values: Array, caption: str) -> str:
    pixels = _tiles(np.atleast_2d(values))
    h, w = pixels.shape
    scale = max(1, min(16, 192 // max(h, w)))
    height = max(h * scale, 12)
    data = base64.b64encode(_png(_coloured(pixels))).decode()
    caption = html.escape(caption)
    caption = html.escape(caption)
    return (
        f'<figure><img alt="{caption}" width="{w * scale}" height="{height}" '
        f'src="data:image/png;base64,{data}"><figcaption>{caption}</figcaption></figure>'
    )


def _tiles(values: Array) -> Array:
    """A picture's values: those of a matrix, or the matrices of the last two dimensions as tiles
    with a line of nothing (inf marks it) between them."""
    if values.size == 0:
        return np.zeros((1, 1))
    if values.ndim == 2:
        return _smaller(values, _SIDE)
    tiles = values.reshape(-1, *values.shape[-2:])
    across = math.ceil(math.sqrt(len(tiles) * tiles.shape[1] / tiles.shape[2]))
    across = min(max(across, 1), len(tiles))
    side = max(_SIDE // across - 1, 1)
    across = min(across, _SIDE // 2)
    shown = [_smaller(tile, side) for tile in tiles[: across * (_SIDE // 2)]]
    h, w = shown[0].shape
    down = min(-(-len(shown) // across), max(_SIDE // (h + 1), 1))
    whole = np.full((down * (h + 1) - 1, across * (w + 1) - 1), _GAP)
    for n, tile in enumerate(shown[: across * down]):
        y, x = n // across * (h + 1), n % across * (w + 1)
        whole[y : y + h, x : x + w] = tile
    return whole


_GAP = 1e308  # no value of a float32; a float64 that large is drawn as nothing


def _smaller(values: Array, side: int) -> Array:
    """At most so many rows and columns, each of the largest magnitude; NaN goes before."""
    for axis in (0, 1):
        n = values.shape[axis]
        if n > side:
            begins = np.arange(side) * n // side
            high = np.maximum.reduceat(values, begins, axis)
            low = np.minimum.reduceat(values, begins, axis)
            values = np.where(high < -low, low, high)
    return values


def _coloured(values: Array) -> Array:
    """Red, green, blue and opacity of each value."""
    gap = values == _GAP
    finite = np.isfinite(values) & ~gap
    most = float(np.abs(values[finite]).max(initial=0.0)) or 1.0
    pixels = np.zeros((*values.shape, 4), np.uint8)
    pixels[values > 0] = (214, 69, 38, 0)
    pixels[values < 0] = (33, 113, 181, 0)
    pixels[..., 3] = np.where(finite, np.abs(np.where(finite, values, 0)) / most * 255, 0)
    pixels[~finite & ~gap] = (226, 0, 190, 255)
    return pixels


def _png(pixels: Array) -> bytes:
    """The pixels as the bytes of a PNG file."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    h, w = pixels.shape[:2]
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", w, h, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        chunk(*each) for each in ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    )


# ---- modules


def _tree(module: Module) -> str:
    """The tree of a module: classes, shapes of parameters and buffers, and counts."""
    whole = sum(1 for _ in module.modules()) <= _OPEN
    tree = _branch("", module, True, whole)
    return f'{_STYLE}<div class="rl-cell">{tree}</div>'


def _branch(name: str, module: Module, opened: bool, whole: bool) -> str:
    extra = " ".join(module.extra_repr().split())
    head = f"{name}: " if name else ""
    head += f"{type(module).__name__}({shown_name(extra, 120)})"
    line = f"<code>{html.escape(head)}</code> <span class='soft'>{_counts(module, not name)}</span>"
    rows = [
        _row(key, tensor, kind)
        for kind, held in (("", module._parameters), ("buffer", module._buffers))
        for key, tensor in held.items()
        if tensor is not None
    ]
    rows += [
        _branch(key, child, whole, whole)
        for key, child in module._modules.items()
        if child is not None
    ]
    if not rows:
        return f'<div class="leaf">{line}</div>'
    mark = " open" if opened else ""
    return f"<details{mark}><summary>{line}</summary>{''.join(rows)}</details>"


def _row(name: str, t: Tensor, kind: str) -> str:
    if _unmade(t):
        facts = ["shape not known before the first call"]
    else:
        facts = [tensor_text(t.shape, t.dtype), *([f"{t.numel():,}"] if not kind else [])]
    facts += [kind] if kind else [] if t.requires_grad else ["frozen"]
    if not kind and isinstance(t.grad, Tensor) and t.grad._wrapped is None:
        facts.append(f"gradient's norm {float(t.grad.detach().norm()):.4g}")
    said = f'<span class="soft">{html.escape(" · ".join(facts))}</span>'
    return f'<div class="own"><code>{html.escape(name)}</code> {said}</div>'


def _counts(module: Module, outermost: bool) -> str:
    """How many parameters there are, each once; of the outermost module more."""
    found = list(module.parameters())
    made = [p for p in found if not _unmade(p)]
    if not found:
        return ""
    count = sum(p.numel() for p in made)
    words = [f"{count:,} parameter{'s' if count != 1 else ''}"]
    if len(made) < len(found):
        words.append(f"{counted(len(found) - len(made), 'tensor')} not made yet")
    if outermost:
        words.append(bytes_text(sum(p.numel() * p.dtype.itemsize for p in made)))
        words.append("training" if module.training else "evaluation")
    frozen = sum(p.numel() for p in made if not p.requires_grad)
    if frozen:
        words.append(f"{frozen:,} frozen")
    return html.escape(" · ".join(words))


def _unmade(t: Tensor) -> bool:
    """Whether a lazy layer has not yet made a parameter."""
    from ..nn.parameter import UninitializedTensorMixin

    return isinstance(t, UninitializedTensorMixin)
