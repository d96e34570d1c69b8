"""Extremes and medians, and the machinery of ops that choose elements along a dimension.

Torch's conventions at ties: a full reduction (and amax, amin along dimensions) shares the gradient
evenly among equal elements; `max(dim)` and its like give all of it to the element whose index they
return. A NaN wins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, TypeAlias

from ... import _core
from ..._base.errors import not_implemented_for
from ..._base.outside import np, np_types, ufuncs
from ..._base.size import Size
from ..._core import Op, Tensor
from ...return_types import named
from ..elementwise.selection import maximum, minimum, where
from ..table.arrays import (
    Array,
    anywhere,
    axes_of,
    by_axis,
    check_tensor,
    rounded,
    scalar_name,
    widened,
)
from ..table.kinds import composite, constant, general, linear
from .reductions import reduced_samples, spread_dims, sum_given

_kernels = _core.kernels
_Dims: TypeAlias = int | tuple[int, ...] | None


def _having(input: Tensor, value: Tensor, dim: _Dims, keepdim: bool, nan: bool) -> Tensor:
    """Which elements have the reduced value."""
    has = input == spread_dims(value, input.shape, dim, keepdim)
    return has | input.isnan() if nan and anywhere(value != value) else has


_has: Op = constant(
    "_has(input: Tensor, value: Tensor, dim: Ints, keepdim: bool, nan: bool)",
    is_=_having,
    method=False,
    out=False,
    by_value="value",
    doc="Which elements have the reduced value: they share its gradient.",
)


def _shared(g: Tensor, input: Tensor, out: Tensor, dim: _Dims, keepdim: bool, nan: bool) -> Any:
    has = _has(input, out, dim, keepdim, nan)
    # A gradient that is not finite reaches only what was chosen; with amax and amin, all.
    if nan:
        return where(has, g / has.sum(), 0)
    count = has.sum(() if dim is None else dim, True)
    return spread_dims(g, input.shape, dim, keepdim) * has / count


_FORMULA = {"input": "1 / n if input == out else 0"}


def _no_complex(a: Array, kernel: str) -> None:
    if a.dtype.kind == "c" and a.size:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_name(a)}'")


def _extreme(name: str, largest: bool) -> Op:
    kernel = _kernels.amax if largest else _kernels.amin
    reduce: Any = ufuncs.maximum.reduce if largest else ufuncs.minimum.reduce

    def forward(a: Array, dim: int | tuple[int, ...], keepdim: bool) -> Array:
        _no_complex(a, "max_values_cpu" if largest else "min_values_cpu")
        axes = axes_of(dim, a.ndim)
        _no_empty(name, a.shape, axes, dim)
        return rounded(reduce(widened(a), axes, keepdims=bool(keepdim)), a)

    return general(
        f"{name}(input: Tensor, dim: Ints | None = (), keepdim: bool = False)",
        forward,
        batch="reduced",
        native=kernel,
        vjp={
            "input": lambda g, input, out, dim, keepdim: _shared(g, input, out, dim, keepdim, False)
        },
        out="Expected the dtype for input and out to match, but got {want.scalar_name} for input's "
        "dtype and {got.scalar_name} for out's dtype.",
        samples=reduced_samples,
        formula=_FORMULA,
        kernel_name="max_values_cpu" if largest else "min_values_cpu",
        doc=f"The {'largest' if largest else 'smallest'} element, of all or along dimensions; "
        "ties share the gradient.",
    )


def _no_empty(name: str, shape: Sequence[int], axes: tuple[int, ...], dim: _Dims) -> None:
    """torch's errors where there is nothing to choose from."""
    if 0 not in shape:
        return
    if len(axes) == len(shape) and (dim is None or dim == ()):
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
            "Specify the reduction dim with the 'dim' argument."
        )
    for d in axes:
        if shape[d] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


amax = _extreme("amax", True)
amin = _extreme("amin", False)


_least: Any = ufuncs.minimum.reduce
_most: Any = ufuncs.maximum.reduce


def _aminmax(a: Array, dim: int | None, keepdim: bool) -> tuple[Array, Array]:
    _no_complex(a, "aminmax_cpu")
    axes = axes_of(dim, a.ndim)
    if 0 in a.shape:
        if dim is None:
            raise RuntimeError(
                "aminmax(): cannot compute aminmax over an empty dimension as the operation has "
                "no identity."
            )
        _no_empty("aminmax", a.shape, axes, dim)
    wide = widened(a)
    keep = bool(keepdim)
    return (
        rounded(_least(wide, axes, keepdims=keep), a),
        rounded(_most(wide, axes, keepdims=keep), a),
    )


aminmax: Op = general(
    "aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False)",
    _aminmax,
    native=_kernels.aminmax,
    vjp={
        "input": lambda g, g1, input, out, out1, dim, keepdim: sum_given(
            None if g is None else _shared(g, input, out, dim, keepdim, False),
            None if g1 is None else _shared(g1, input, out1, dim, keepdim, False),
        )
    },
    outputs=named("aminmax", "min", "max"),
    samples=lambda make: [(make(2, 3),), (make(2, 3), {"dim": 1})],
    keeps="rows",
    formula=_FORMULA,
    doc="The smallest and the largest element.",
    batch="picked",
)

# The values at chosen places along a dimension, and the way back: a linear pair.


def elements_at(a: Array, index: Array, dim: int) -> Array:
    """The elements at the places `index` along a dimension (index has a's other sizes)."""
    found = _kernels.gather(a, dim, index, False)
    return np.take_along_axis(a, index, dim) if found is NotImplemented else found


take_entries: Op = linear(
    "_take_along(input: Tensor, index: Tensor, dim: int, keepdim: bool, add: bool)",
    _kernels.take_along,
    transpose={
        "input": lambda g, index, input_shape, dim, keepdim, add: _put_along(
            g, index, input_shape, dim, keepdim, add
        )
    },
    method=False,
    out=False,
    doc="The elements at the places `index` along a dimension.",
    written="{input}[{index}]",
)
_put_along: Op = linear(
    "_put_along(input: Tensor, index: Tensor, shape: Any, dim: int, keepdim: bool, add: bool)",
    _kernels.put_along,
    transpose={
        "input": lambda g, index, dim, keepdim, add: take_entries(g, index, dim, keepdim, add)
    },
    method=False,
    out=False,
    doc="Zeros of a shape, with the input at the places `index`; `add` where places may repeat.",
    written="{input} at {index}, 0 elsewhere",
)


def selecting(
    signature: str,
    forward: Any,
    *,
    node: str | None = None,
    keepdim: bool | None = None,
    add: bool = False,
    outputs: type | None = None,
    **more: Any,
) -> Op:
    """An op that gives (values, indices) of elements chosen along `dim`, where the gradient goes.

    keepdim: whether the results keep the dimension, where that is no argument of the op.
    """
    if keepdim is None:

        def rule(g: Tensor, out1: Any, input_shape: Size, dim: int, keepdim: bool) -> Tensor:
            return _put_along(g, out1, input_shape, dim, keepdim, add)

        chosen: Any = rule
    else:

        def fixed(g: Tensor, out1: Any, input_shape: Size, dim: int) -> Tensor:
            return _put_along(g, out1, input_shape, dim, keepdim, add)

        chosen = fixed

    def tangent(t: Tensor, out1: Any, dim: int) -> Tensor:
        return t.gather(dim, out1) if t.ndim else t

    def tangent_lost(t: Tensor, out1: Tensor, dim: int, keepdim: bool) -> Tensor:
        if keepdim or not t.ndim:
            return tangent(t, out1, dim)
        return t.gather(dim, out1.unsqueeze(dim)).squeeze(dim)

    name = signature.partition("(")[0].strip("_").removesuffix("_dim")
    return general(
        signature,
        forward,
        vjp={"input": chosen},
        jvp={"input": tangent_lost if keepdim is None else tangent},
        node=node,
        outputs=outputs or partial(tuple.__new__, named(name, "values", "indices")),
        first_only=True,
        **more,
    )


def choose(a: Array, index: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """(values, indices), `index` having size 1 in `dim`."""
    if a.ndim == 0:
        return a.copy(), np.zeros((), np.int64)
    index = np.ascontiguousarray(index)
    values = elements_at(a, index, dim)
    if keepdim:
        return values, index
    return values.squeeze(dim), index.squeeze(dim)


def checked_dim(name: str, a: Array, dim: int) -> int:
    (d,) = axes_of(dim, a.ndim) if a.ndim else (0,)
    if not a.ndim:
        axes_of(dim, 0)
    elif a.shape[d] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
    return d


def _arg_extreme(a: Array, dim: int, largest: bool) -> Array:
    """The first place of the extreme along a dimension (a NaN counts as one), with size 1 there."""
    wide = widened(a)
    if 0 in a.shape:
        return np.zeros((*a.shape[:dim], 1, *a.shape[dim + 1 :]), np.int64)
    found = (_kernels.argmax if largest else _kernels.argmin)(wide, dim, True)
    if found is NotImplemented:
        found = (np.argmax if largest else np.argmin)(wide, dim, keepdims=True)
    return found


class _NotGiven:
    """The default of an argument for which None is not the same as leaving it out."""

    def __repr__(self) -> str:
        return "None"  # as signatures show it


_NOT_GIVEN: Any = _NotGiven()


def _three_forms(name: str, largest: bool) -> Any:
    elementwise = maximum if largest else minimum
    kernel = _kernels.amax if largest else _kernels.amin

    def whole(input: Tensor) -> Tensor:
        if input.dtype.is_complex and input.numel():
            not_implemented_for(f"{name}_all", input.dtype.scalar_name)
        _no_empty(name, input.shape, tuple(range(input.ndim)), None)
        return (amax if largest else amin)(input)

    of_all = general(
        f"_{name}_all(input: Tensor)",
        is_=whole,
        native=kernel,
        vjp={"input": lambda g, input, out: _shared(g, input, out, None, False, True)},
        node=f"{name.capitalize()}Backward1",
        formula=_FORMULA,
        method=False,
        kernel_name=f"{name}_all",
        out="cast",
        samples=lambda make: [(make(2, 3),), (make(),)],
        doc=f"The {name}imum of all elements; ties share the gradient.",
    )

    def along(a: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
        if a.dtype.kind == "c":
            raise RuntimeError(f"{name}(): does not support complex input")
        d = checked_dim(name, a, dim)
        return choose(a, _arg_extreme(a, d, largest) if a.ndim else a, d, keepdim)

    of_dim = selecting(
        f"_{name}_dim(input: Tensor, dim: int, keepdim: bool = False)",
        along,
        native=getattr(_kernels, f"{name}_dim"),
        batch="picked",
        node=f"{name.capitalize()}Backward0",
        kernel_name=f"{name}_cpu",
        method=False,
        samples=lambda make: [(make(2, 3), 0), (make(2, 3), -1, True), (make(), 0)],
        doc=f"The {name}ima along a dimension and their indices.",
    )

    @composite(
        name=name,
        doc=f"The {name}imum of all elements, the {name}ima along a dimension with their indices, "
        "or of two tensors element by element.",
        samples=lambda make: [(make(2, 3),), (make(2, 3), 1), (make(2, 3), make(3))],
        overloads=(
            "(input, *, out)",
            "(input, other: Tensor, *, out)",
            "(input, dim: int, keepdim: bool = False, *, out: Sequence[Tensor] | None = None) "
            f"-> return_types.{name}",
        ),
    )
    def function(
        input: Tensor,
        dim: int = _NOT_GIVEN,
        keepdim: bool = _NOT_GIVEN,
        *,
        other: Tensor = _NOT_GIVEN,
        out: Tensor | None = None,
        **axis: Any,
    ) -> Any:
        if axis:
            dim, keepdim = by_axis(name, axis, dim, keepdim)
        check_tensor(name, input)
        more = {} if out is None else {"out": out}
        if other is _NOT_GIVEN and isinstance(dim, Tensor):
            other, dim = dim, _NOT_GIVEN
        if other is not _NOT_GIVEN:
            if dim is not _NOT_GIVEN or keepdim is not _NOT_GIVEN:
                raise TypeError(f"{name}() of two tensors takes neither dim nor keepdim")
            return elementwise(input, other, **more)
        if dim is _NOT_GIVEN and keepdim is _NOT_GIVEN:
            return of_all(input, **more)
        keep = False if keepdim is _NOT_GIVEN else keepdim
        if not hasattr(dim, "__index__") or not isinstance(keep, (bool, np_types.bool_)):
            raise TypeError(f"{name}() takes one dim, an int, and whether to keep it, a bool")
        return of_dim(input, dim, keep, **more)

    return function


max = _three_forms("max", True)
min = _three_forms("min", False)


def _arg_function(name: str, largest: bool) -> Op:
    def forward(a: Array, dim: int | None, keepdim: bool) -> Array:
        if a.dtype.kind in "bc":
            kind = "bool" if a.dtype.kind == "b" else "complex"
            raise RuntimeError(f"{name}(): does not support {kind} input")
        found: Array = (np.argmax if largest else np.argmin)(a, dim, keepdims=bool(keepdim))
        return found

    return constant(
        f"{name}(input: Tensor, dim: int | None = None, keepdim: bool = False)",
        forward,
        native=_kernels.argmax if largest else _kernels.argmin,
        samples=lambda make: [(make(2, 3),), (make(2, 3), 1), (make(2, 3), 0, True)],
        batch="picked",
        doc=f"The index of the {'largest' if largest else 'smallest'} element; the first of "
        "several.",
    )


argmax = _arg_function("argmax", True)
argmin = _arg_function("argmin", False)

# ---- medians


def _medians(name: str) -> Any:
    def of_nothing(input: Tensor) -> Any:
        """NaN, or what torch makes of it as an integer."""
        bits = 8 * input.dtype.itemsize
        whole = -(2 ** (bits - 1)) if input.dtype.is_signed and bits >= 32 else 0
        return input.new_full((), math.nan if input.dtype.is_floating_point else whole)

    of_all = general(
        f"_{name}_all(input: Tensor)",
        is_=of_nothing,
        native=getattr(_kernels, f"{name}_of_all"),
        batch=lambda input: of_dim(input.reshape(-1), 0)[0],
        vjp={"input": lambda g, input, out: _shared(g, input, out, None, False, True)},
        node=f"{name.capitalize()}Backward0",
        method=False,
        samples=lambda make: [(make(2, 3),), (make(5),)],
        formula=_FORMULA,
        doc="The lower median of all elements.",
    )

    of_dim = selecting(
        f"_{name}_dim(input: Tensor, dim: int, keepdim: bool = False)",
        getattr(_kernels, name),
        batch="picked",
        node=f"{name.capitalize()}Backward1",
        method=False,
        samples=lambda make: [(make(3, 4), 0), (make(3, 4), 1, True)],
        doc="The lower medians along a dimension and their indices.",
    )

    @composite(
        name=name,
        doc="The lower median of all elements, or along a dimension with its index"
        + (", NaN left out." if name == "nanmedian" else "."),
        samples=lambda make: [(make(2, 3),), (make(3, 4), 1)],
        overloads=(
            "(input)",
            "(input, dim: int, keepdim, *, out: Sequence[Tensor] | None = None) "
            f"-> return_types.{name}",
        ),
    )
    def function(
        input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None
    ) -> Any:
        check_tensor(name, input)
        more = {} if out is None else {"out": out}
        return of_all(input, **more) if dim is None else of_dim(input, dim, keepdim, **more)

    return function


median = _medians("median")
nanmedian = _medians("nanmedian")
