"""Each view in memory of its own: `permute_copy` for `permute`, and so on; and views that PyTorch
does not count as such: the pieces of `unsafe_split`.

One statement, `_copy_of`, says all that copies share. A copy has the kernel, gradient and samples
of its view. Its node is another, its layout in memory is row-major, and it has an `out=`.
"""

from __future__ import annotations

from typing import Any

from ... import _core
from ..._base.dtypes import dtype as _DType
from ..._core import Op, Tensor
from ..elementwise.arithmetic import no_derivative
from ..making.factory import room_for
from ..table.kinds import composite, general, linear
from ..table.outputs import written
from ..table.signature import Ints, Sizes, dtype
from ..table.statement import OPS, node_name
from .joining import chunk_size
from .shape import expand, view
from .slices import narrowed
from .strided import as_strided, layout_of


def _owned(result: Any) -> Any:
    """The views of a result, one or several, in memory of their own."""
    return tuple([r.clone() for r in result]) if isinstance(result, tuple) else result.clone()


def _copy_of(view: str, name: str = "", signature: str = "", node: str = "", **more: object) -> Op:
    """The op that copies the elements of a view.

    view: its row of the table. name, signature, node: where those of the copy do not follow from
    the view's (a view that takes `*size` has a copy that takes `size`).
    """
    row = OPS[view]
    seen: Op = row.function
    name = name or f"{view.strip('_')}_copy"
    rest = row.signature.partition("(")[2]
    words: dict[str, Any] = {
        "native": seen.forward if row.reference else None,
        "node": node or node_name(view) + "_copy",
        "keeps": "rows",
        "stored": "all",
        "method": False,
        "batch": lambda *args, **named: _owned(seen(*args, **named)),
        "samples": row.samples,
        "traits": " ".join(row.traits),
        "formula": row.formula,
        "doc": f"{row.doc.removesuffix('.')}, in memory of its own.",
    }
    words.update(more)
    return linear(
        name + (signature or f"({rest}"),
        row.reference or seen.forward,
        transpose={"input": row.rules[0].function},
        **words,
    )


_HIDDEN: dict[str, Any] = {"where": "", "samples": None}

for _view in """diagonal select _slice _split split_with_sizes t transpose unbind unfold
unsqueeze view_as_real""".split():
    _copy_of(_view)

_copy_of("alias", native=_core.kernels.contiguous_copy)
_copy_of(
    "permute",
    signature="(input: Tensor, dims: Sizes)",
    samples=lambda make: [(make(2, 3, 4), (2, 0, 1)), (make(2, 3), (-1, 0))],
    stored="all",
)
_copy_of(
    "expand",
    signature="(input: Tensor, size: Sizes, *, implicit: bool = False)",
    samples=lambda make: [(make(3, 1), (3, 4)), (make(3), (2, 3)), (make(1), (2, -1))],
    batch=lambda input, size, implicit: expand(input, size).clone(),
)
_as_complex = _copy_of("view_as_complex", "_view_as_complex_copy", **_HIDDEN)
_as_strided = _copy_of(
    "strided_view", "_as_strided_copy", node="AsStridedBackward0_copy", **_HIDDEN
)
_reshaped = _copy_of(
    "_unsafe_view",
    "_view_copy",
    "(input: Tensor, size: Sizes)",
    "ViewBackward0_copy",
    **_HIDDEN,
)
_squeezed = [
    _copy_of(view, f"{view}_copy", node=f"SqueezeBackward{n}_copy", **_HIDDEN)
    for n, view in enumerate(("_squeeze", "_squeeze_dim", "_squeeze_dims"))
]

detach_copy = general(
    "detach_copy(input: Tensor)",
    lambda a: a.copy(),
    native=_core.kernels.contiguous_copy,
    vjp={"input": lambda g: no_derivative("detach_copy")(g)},
    node="NotImplemented",
    keeps="rows",
    method=False,
    samples=lambda make: [(make(2, 3),)],
    traits="underived",
    batch="trailing",
    doc="The same elements, in memory of their own; `backward` refuses to go through.",
)


def _into(out: Tensor | None, op: Op, *args: object) -> Tensor:
    return op(*args) if out is None else op(*args, out=out)


@composite(method=False)
def view_as_complex_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A real tensor whose last dimension has size 2 as a complex one, in memory of its own."""
    result = _into(out, _as_complex, input)
    if result.requires_grad:
        raise RuntimeError(
            "view_as_complex_copy does not support automatic differentiation for outputs with "
            "complex dtype. Use view_as_complex, which does."
        )
    return result


@composite(method=False, samples=lambda make: [(make(3, 4), (2, 2), (4, 1))], traits="strides")
def as_strided_copy(
    input: Tensor,
    size: Sizes,
    stride: Sizes,
    storage_offset: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The elements that `as_strided` shows, in memory of their own."""
    offset = 0 if storage_offset is None else storage_offset - input._offset
    place = tuple(size), tuple(stride), offset, layout_of(input)
    return _into(out, _as_strided, input, *place)


@composite(
    method=False,
    samples=lambda make: [(make(2, 6), (3, 4)), (make(2, 6), (-1,)), (make(0, 3), (3, 0))],
    overloads=("(input, dtype: dtype, *, out)", "(input, size: Sizes, *, out)"),
)
def view_copy(
    input: Tensor, size: Any = None, *, dtype: dtype | None = None, out: Tensor | None = None
) -> Tensor:
    """The result of `view`, another shape or the bytes as another dtype, in memory of its own."""
    seen_as = size if isinstance(size, _DType) else dtype
    if seen_as is None:
        return _into(out, _reshaped, input, size)
    result = view(input, seen_as).clone()
    return result if out is None else written(out, result, "view_copy")


@composite(
    method=False,
    samples=lambda make: [(make(1, 3, 1),), (make(1, 3, 1), 0), (make(1, 3, 1), (0, 2))],
    overloads=("(input, *, out)", "(input, dim: int, *, out)", "(input, dim: Sizes, *, out)"),
)
def squeeze_copy(input: Tensor, dim: Ints | None = None, *, out: Tensor | None = None) -> Tensor:
    """Without dimensions of size 1, all of them or those named, in memory of its own."""
    if dim is None:
        return _into(out, _squeezed[0], input)
    return _into(out, _squeezed[1 + isinstance(dim, (tuple, list))], input, dim)


_narrowed: Op = _copy_of("_slice", "_narrow_copy", node="NarrowCopyBackward0", **_HIDDEN)


@composite(samples=lambda make: [(make(5, 3), 0, 1, 2), (make(5, 3), -1, -2, 1)])
def narrow_copy(
    input: Tensor, dim: int, start: int, length: int, *, out: Tensor | None = None
) -> Tensor:
    """`length` entries of a dimension from `start` on, in memory of their own."""
    first, end = narrowed(input, dim, start, length)
    return _into(out, _narrowed, input, dim, first, end, 1)


@composite(traits="strides")
def slice_inverse(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """The whole that a slice is of: the memory of `input` with the sizes and strides of `src`."""
    return as_strided(input, src.shape, src.stride(), src.storage_offset())


# ---- pieces that share memory, and that nobody counts as views


def _unsafe(view: str, name: str) -> Op:
    """The pieces of a view, each with the history of a result of its own."""
    return _copy_of(
        view,
        name,
        node=node_name(name),
        keeps="",
        may_alias=True,
        method=not name.startswith("_"),
        out=False,
        doc=f"{OPS[view].doc.removesuffix('.')}, that may be written in place each by itself.",
    )


unsafe_split: Any = _unsafe("_split", "unsafe_split")
unsafe_split_with_sizes: Any = _unsafe("split_with_sizes", "unsafe_split_with_sizes")


@composite(samples=lambda make: [(make(5, 3), 2), (make(5, 3), 2, 1)])
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of one size, that may be written in place each by itself."""
    size = chunk_size(input, chunks, dim)
    if size == 0:
        room_for(chunks)
        return unsafe_split_with_sizes(input, [0] * chunks, dim)
    return unsafe_split(input, size, dim)
