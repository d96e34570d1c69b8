"""Sorting and what needs it: ranks, quantiles, searching, distinct values.

NaN counts as larger than any number. The values of a sort carry a gradient, which goes to where
each came from.
"""

from __future__ import annotations

from typing import Any

from ... import _core
from ..._base import dtypes
from ..._base.outside import np, np_types
from ..._core import Op, Tensor
from ..._devices import of
from ...return_types import named
from ..elementwise.arithmetic import lerp
from ..elementwise.selection import where
from ..layout.shape import reshape, unsqueeze
from ..table.arrays import (
    Array,
    anywhere,
    as_type,
    check_tensor,
    common_type,
    dim_in,
    held_number,
    listed,
    refuse,
    scalar_name,
    warn_once,
)
from ..table.kinds import composite, constant, general
from .extremes import selecting, take_entries

_kernels = _core.kernels
_wrap = _core.wrap


def _sorting(name: str, node: str) -> Op:
    return selecting(
        f"{name}(input: Tensor, dim: int, descending: bool, stable: bool)",
        _kernels.sort,
        keepdim=True,
        node=node,
        outputs=named("sort", "values", "indices"),
        method=False,
        samples=lambda make: [(make(3, 4), -1, False, False), (make(3, 4), 0, True, True)],
        keeps="strides: input",
        kernel_name="sorting_kernel_method_name",
        doc="The entries of a dimension in order, and where each was.",
    )


_sort_op = _sorting("_sort", "SortBackward0")
_stable_sort = _sorting("_stable_sort", "SortBackward1")


@composite(
    samples=lambda make: [(make(3, 4),), (make(3, 4), 0, True), (make(),)],
    overloads=(
        "(input, *, stable: bool | None, dim, descending, out: Sequence[Tensor] | None = None)",
        "(input, dim, descending, *, out: Sequence[Tensor] | None = None)",
    ),
)
def sort(
    input: Tensor,
    dim: int = -1,
    descending: bool = False,
    stable: Any = None,
    *,
    out: Tensor | None = None,
) -> Any:
    """The entries of a dimension in order, and where each was."""
    check_tensor("sort", input)
    op = _sort_op if stable is None else _stable_sort
    if out is not None:
        return op(input, dim, descending, stable, out=out)
    return op(input, dim, descending, stable)


@composite(
    overloads=(
        "(input, *, stable: bool, dim, descending, out)",
        "(input, dim, descending)",
    ),
    out="exact",
)
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Where each entry of the sorted dimension was."""
    return _sort_op(input.detach(), dim, descending, stable)[1]


@composite(samples=lambda make: [(make(3, 4),)], out="exact")
def msort(input: Tensor) -> Tensor:
    """Sorted along the first dimension."""
    return _sort_op(input, 0, False, False)[0]


topk: Any = selecting(
    "topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True)",
    _kernels.topk,
    keepdim=True,
    samples=lambda make: [(make(3, 5), 2), (make(3, 5), 1, 0, False), (make(), 1)],
    doc="The k largest (or smallest) entries of a dimension in order, and where each was.",
)


kthvalue: Any = selecting(
    "kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False)",
    _kernels.kthvalue,
    out="output values must be of same type as input | output indices must be of scalar type Long",
    samples=lambda make: [(make(3, 5), 2), (make(3, 5), 1, 0, True)],
    doc="The k-th smallest entry of a dimension, and where it was.",
    batch="picked",
)


mode: Any = selecting(
    "mode(input: Tensor, dim: int = -1, keepdim: bool = False)",
    _kernels.mode,
    out="expected scalar type '{want.scalar_name}' but got '{got.scalar_name}' for values output | "
    "expected scalar type '{want.scalar_name}' but got '{got.scalar_name}' for indices output",
    samples=lambda make: [(make(3, 5),), (make(3, 5), 0, True)],
    doc="The most frequent entry of a dimension, and where it was last.",
    batch="picked",
)

# ---- quantiles

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(
    name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, how: str, skip_nan: bool
) -> Any:
    if input.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if input.dtype.name not in ("float32", "float64"):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if isinstance(q, Tensor):
        if q.ndim > 1:
            raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
        if q.dtype is not input.dtype:
            raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
        if anywhere(~((q >= 0) & (q <= 1))):
            raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    elif isinstance(q, (int, float)):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
        q = of(input).made((), input._form.dtype, float(q))
    else:
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({type(q).__name__}), "
            "but "
            "expected a float or a tensor for q"
        )
    if how not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {how}"
        )
    # The dimension goes last; where it is kept, a dimension of size 1 takes its place.
    ndim = input.ndim
    if dim is None:
        moved = reshape(input, [1] * (ndim if keepdim else 0) + [-1])
    elif keepdim or not ndim:
        moved = unsqueeze(input, -1).transpose(dim_in(dim, ndim), -1) if ndim else reshape(input, 1)
    else:
        moved = input.movedim(dim_in(dim, ndim), -1)
    values = _sort_op(moved, -1, False, False)[0]
    size = values.shape[-1]
    nan = values.isnan()
    queries = reshape(q, -1)
    if skip_nan:
        valid = (size - nan.sum(-1, keepdim=True)).to(input.dtype)
        ranks = queries * (valid - 1).clamp(min=0)
    else:
        # Any NaN makes the result NaN: read the last entry, where it was sorted to.
        last = of(input).made((), input._form.dtype, size - 1)
        ranks = where(nan.any(-1, keepdim=True), last, queries * (size - 1))
    if how == "lower":
        ranks = ranks.floor()
    elif how == "higher":
        ranks = ranks.ceil()
    elif how == "nearest":
        ranks = ranks.round()
    place = ranks.detach()
    everywhere = (*values.shape[:-1], place.shape[-1])
    low = place.long().expand(everywhere)
    result = take_entries(values, low, values.ndim - 1, True, True)
    if how in ("linear", "midpoint"):
        weight = 0.5 if how == "midpoint" else ranks - place.floor()
        high = place.ceil().long().expand(everywhere)
        above = take_entries(values, high, values.ndim - 1, True, True)
        result = lerp(result, above, weight)
    # One quantile a last entry: with several, they become the first dimension.
    if q.ndim:
        result.unsqueeze_(0).transpose_(0, -1)
    return result.squeeze_(-1)


@composite(
    samples=lambda make: [(make(3, 5), 0.4), (make(3, 5), 0.5, 1, True)],
    overloads=(
        "(input, q: Tensor, dim, keepdim, *, interpolation, out)",
        "(input, q: float, dim, keepdim, *, interpolation, out)",
    ),
    out="quantile() out tensor must be same dtype as the input tensor",
    autocast="float32 here",
)
def quantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The q-th quantiles, of all elements or along a dimension."""
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@composite(
    samples=lambda make: [(make(3, 5), 0.4)],
    overloads=(
        "(input, q: Tensor, dim, keepdim, *, interpolation, out)",
        "(input, q: float, dim, keepdim, *, interpolation, out)",
    ),
    out="quantile() out tensor must be same dtype as the input tensor",
    autocast="float32 here",
)
def nanquantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """`quantile` with NaN left out."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


# ---- searching


def _search(
    bounds: Array, values: Array, right: bool, side: Any, int32: bool, sorter: Any
) -> Array:
    if side is not None:
        if side not in ("left", "right"):
            raise RuntimeError(
                f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}"
            )
        if side == "left" and right:
            raise RuntimeError(
                "torch.searchsorted(): side and right can't be set to opposites, got side of left "
                "while right was True"
            )
        right = side == "right"
    kind = common_type(bounds, values)
    refuse("searchsorted_out_cpu", np.empty(0, kind), "bc")
    if values.ndim == 0 and bounds.ndim != 1:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor "
            f"dimension is 1, but we got boundaries tensor dim({bounds.ndim}) and input value's "
            "dim(0) numel(1)"
        )
    if bounds.ndim == 0:
        raise RuntimeError("torch.searchsorted(): boundaries tensor should have positive dimension")
    if sorter is not None and sorter.dtype != np.int64:
        raise RuntimeError(
            "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype "
            f"{scalar_name(sorter)}"
        )
    if bounds.ndim > 1 and (values.ndim != bounds.ndim or values.shape[:-1] != bounds.shape[:-1]):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
            "dimensions "
            "of boundaries tensor and input value tensor must match, but we got boundaries tensor "
            f"{listed(bounds.shape)} and input value tensor {listed(values.shape)}"
        )
    if sorter is not None and sorter.shape != bounds.shape:
        raise RuntimeError(
            "torch.searchsorted(): boundary and sorter must have the same size, but got "
            "boundary "
            f"tensor {listed(bounds.shape)}and got sorter tensor {listed(sorter.shape)}"
        )
    _warn_of_copies(input=values, boundary=bounds, sorter=sorter)
    if sorter is not None:
        if sorter.size and not 0 <= sorter.min() <= sorter.max() < bounds.shape[-1]:
            raise RuntimeError("torch.searchsorted(): sorter index out of range")
        bounds = np.take_along_axis(bounds, sorter, -1)
    bounds, values = (np.asarray(as_type(a, kind, copy=False), order="C") for a in (bounds, values))
    return _kernels.searchsorted(bounds, values, right, None, int32)


def _warn_of_copies(**arrays: Array | None) -> None:
    for name, a in arrays.items():
        if a is not None and not a.flags.c_contiguous:
            what = "input value" if name == "input" else name
            warn_once(
                f"torch.searchsorted(): {what} tensor is non-contiguous, this will lower the "
                "performance due to extra data copy when converting non-contiguous tensor to "
                f"contiguous, please use contiguous {what} tensor if possible. This message will "
                "only appear once per program."
            )


_searchsorted: Op = constant(
    "_searchsorted(sorted_sequence: Tensor, input: Tensor, right: bool, side: str, "
    "out_int32: bool, sorter: Tensor | None = None)",
    _search,
    native=_kernels.searchsorted,
    method=False,
    kernel_name="searchsorted_out_cpu",
    doc="Where values would be inserted to keep a sequence sorted.",
)


def _as_tensor(value: object, like: Tensor) -> Any:
    if isinstance(value, Tensor):
        return value
    if not isinstance(value, (int, float, complex, np_types.generic)):
        raise TypeError(f"expected a Tensor or a number, got {type(value).__name__}")
    own = isinstance(value, int) or like.is_floating_point()
    kind = like._form.dtype if own else dtypes.float32
    return of(like).made((), kind, held_number(value, kind))


@composite(
    method=False,
    overloads=(
        "(sorted_sequence: Tensor, input, *, out_int32, right, side: str | None = None, "
        "sorter: Tensor | None = None, out)",
        "(sorted_sequence: Tensor, self: Number, *, out_int32, right, side: str | None = None, "
        "sorter: Tensor | None = None, out)",
    ),
)
def searchsorted(
    sorted_sequence: Any,
    input: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: Any = None,
    sorter: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Where values would be inserted to keep each row of a sorted sequence sorted."""
    more = {} if out is None else {"out": out}
    if out is not None and out.dtype is not (dtypes.int32 if out_int32 else dtypes.int64):
        raise RuntimeError(
            "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or "
            f"Long(int64) depending on whether out_int32 flag is True, but we got output tensor's "
            f"dtype {out.dtype.scalar_name} and out_int32 flag is {out_int32}"
        )
    values = _as_tensor(input, sorted_sequence)
    return _searchsorted(sorted_sequence, values, right, side, out_int32, sorter, **more)


@composite(
    method=False,
    overloads=(
        "(input, boundaries: Tensor, *, out_int32, right, out)",
        "(self: Number, boundaries: Tensor, *, out_int32, right)",
    ),
)
def bucketize(
    input: Tensor,
    boundaries: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Which of the intervals between boundaries each value lies in."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    more = {} if out is None else {"out": out}
    return _searchsorted(boundaries, _as_tensor(input, boundaries), right, None, out_int32, **more)


# ---- distinct values


def _no_gradient(name: str) -> Any:
    def rule(g: Tensor) -> Any:
        raise NotImplementedError(
            f"the derivative for '{name}' is not implemented. Detach the tensor first, or gather "
            "the "
            "values yourself with the indices of return_inverse=True."
        )

    return rule


def _no_order(a: Array, *_: object) -> Any:
    raise NotImplementedError(f"\"unique\" not implemented for '{scalar_name(a)}'")


def _distinct_op(name: str, torch_name: str, node: str) -> Op:
    return general(
        f"{name}(input: Tensor, dim: int, consecutive: bool, inverse: bool, counts: bool)",
        _no_order,
        native=_kernels.distinct,
        vjp={"input": _no_gradient(torch_name)},
        node=node,
        first_only=True,
        method=False,
        out=False,
        kernel_name="unique",
        by_values=torch_name,
        doc="Distinct elements or slices; where each went, and how many there are of each.",
    )


_unique_all = _distinct_op("_unique_all", "_unique2", "Unique2Backward0")
_unique_dim = _distinct_op("_unique_dim", "unique_dim", "UniqueDimBackward0")
_unique_runs = _distinct_op("_unique_runs", "unique_consecutive", "UniqueConsecutiveBackward0")


def _wanted(found: Any, inverse: bool, counts: bool) -> Any:
    values, where, many = found
    if not inverse and not counts:
        return values
    return (values, *([where] if inverse else []), *([many] if counts else []))


@composite(
    signature="unique(input: Tensor, sorted: bool = True, return_inverse: bool = False, "
    "return_counts: bool = False, dim: int | None = None) -> Any",
)
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements (or slices along dim) in order."""
    op = _unique_all if dim is None else _unique_dim
    found = op(input, dim, False, return_inverse, return_counts)
    return _wanted(found, return_inverse, return_counts)


@composite(
    signature="unique_consecutive(input: Tensor, return_inverse: bool = False, "
    "return_counts: bool = False, dim: int | None = None) -> Any",
)
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements (or slices along dim) without repeats of the one before."""
    found = _unique_runs(input, dim, True, return_inverse, return_counts)
    return _wanted(found, return_inverse, return_counts)


@composite(
    method=False,
    overloads=(
        "(elements: Tensor, test_elements: Tensor, *, assume_unique, invert, out)",
        "(element: Number, test_elements: Tensor, *, assume_unique, invert, out)",
        "(elements: Tensor, test_element: Number, *, assume_unique, invert, out)",
    ),
    out="exact",
)
def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Whether each element is among the test elements."""
    if isinstance(elements, Tensor):
        test_elements = _as_tensor(test_elements, elements)
    else:
        elements = _as_tensor(elements, test_elements)
    for x in (elements, test_elements):
        if x.dtype.is_complex or x.dtype is dtypes.bool:
            raise RuntimeError(
                f"Unsupported input type encountered for isin(): {x.dtype.scalar_name}"
            )
    return _isin(elements, test_elements, invert)


_isin: Op = constant(
    "_isin(elements: Tensor, test_elements: Tensor, invert: bool)",
    _kernels.isin,
    method=False,
    out=False,
    kernel_name="isin_default_cpu",
    doc="Whether each element is among others.",
)
