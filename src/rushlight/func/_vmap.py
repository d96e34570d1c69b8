"""A function over all elements of a dimension at once: vmap."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._core import Tensor
from .._errors import taking_pytorchs
from .._levels.batch import BatchLevel
from .._levels.structure import batched_at, one_of
from .._pytree import TreeSpec, broadcast_to_and_flatten, tree_flatten, tree_unflatten
from ..ops.layout.joining import cat
from ..random import get_rng_state, set_rng_state
from ._arguments import is_tensor, name_of

__all__ = ["vmap"]


def _checked_randomness(randomness: str) -> None:
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. "
            f"Got {randomness}"
        )


def _flat_in_dims(
    in_dims: int | tuple[int | None, ...], args: tuple[Any, ...], func: Any
) -> tuple[list[Any], list[Any], Any]:
    name = name_of(func)
    if not isinstance(in_dims, int) and not isinstance(in_dims, tuple):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a "
            "(potentially nested) tuple matching the structure of inputs, got: "
            f"{type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
            "trying to vmap over a function with no inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args)
    dims = broadcast_to_and_flatten(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the "
            f"structure of `inputs`. in_dims has structure {tree_flatten(in_dims)[1]} but inputs "
            f"has structure {spec}."
        )
    head = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim="
    for i, (x, d) in enumerate(zip(leaves, dims, strict=True)):
        if d is None:
            continue
        if not isinstance(d, int):
            raise ValueError(
                f"{head}{d} for an input but in_dim must be either an integer dimension or None."
            )
        if not is_tensor(x):
            raise ValueError(
                f"{head}{d} for an input but the input is of type {type(x)}. We cannot vmap over "
                "non-Tensor arguments, please use None as the respective in_dim"
                f"{taking_pytorchs(x)}"
            )
        if not -x.ndim <= d < x.ndim:
            raise ValueError(
                f"{head}{d} for some input, but that input is a Tensor of dimensionality {x.ndim} "
                f"so expected in_dim to satisfy -{x.ndim} <= in_dim < {x.ndim}."
            )
        dims[i] = d % x.ndim
    return leaves, dims, spec


def _batch_size(leaves: list[Tensor], dims: list[int | None]) -> int:
    sizes = [x.shape[d] for x, d in zip(leaves, dims, strict=True) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(s != sizes[0] for s in sizes):
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return int(sizes[0])


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Any:
    """A function that maps `func` over a dimension of its tensors, all elements at once.

    in_dims: the dimension of each argument (an int, None: the same for all elements, or a nested
    tuple of them). out_dims: where the dimension goes in the results. randomness: 'error',
    'different' or 'same' random numbers for the elements. chunk_size: how many elements at once
    (default: all).

    >>> torch.func.vmap(torch.dot)(torch.ones(2, 3), torch.ones(2, 3))
    tensor([3., 3.])
    """
    _checked_randomness(randomness)
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, dims, spec = _flat_in_dims(in_dims, args, func)
        size = _batch_size(leaves, dims)
        moved = [
            x if d is None or d == 0 else x.movedim(d, 0) for x, d in zip(leaves, dims, strict=True)
        ]

        def run(part: list[Any], n: int) -> Any:
            return _mapped(func, part, dims, spec, n, out_dims, randomness, kwargs)

        if chunk_size is None or chunk_size >= size:
            return run(moved, size)
        results = []
        state = get_rng_state() if randomness == "same" else None
        for start in range(0, size, chunk_size):
            if state is not None:  # the same in all chunks
                set_rng_state(state)
            stop = min(start + chunk_size, size)
            part = [x if d is None else x[start:stop] for x, d in zip(moved, dims, strict=True)]
            results.append(run(part, stop - start))
        return _concatenated(results, out_dims)

    return wrapped


def _out_dims_of(out_dims: int, spec: TreeSpec, func: Any) -> list[int]:
    name = name_of(func)
    found = broadcast_to_and_flatten(out_dims, spec)
    if found is None and isinstance(out_dims, list):
        out_dims = tuple(out_dims)
        found = broadcast_to_and_flatten(out_dims, spec)
    if found is None and isinstance(out_dims, tuple) and len(out_dims) == 1 and spec.type is None:
        found = list(out_dims)
    if found is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with "
            f"the structure of `outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but "
            f"outputs has structure {spec}."
        )
    for d in found:
        if d is not None and not isinstance(d, int):
            raise ValueError(
                f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a "
                "python collection of ints representing where in the outputs the vmapped dimension "
                "should appear."
            )
    return found


def _element(x: Tensor, dim: int, level: BatchLevel) -> Tensor:
    """What stands for the elements of dimension 0, which the program has as `dim`."""
    made = level.wrap(x)
    made._wrapped.shown_at = dim
    return made


def _mapped(
    func: Any,
    leaves: list[Tensor],
    dims: list[int | None],
    spec: TreeSpec,
    size: int,
    out_dims: int,
    randomness: str,
    kwargs: Any,
) -> Any:
    with BatchLevel(size, randomness) as level:
        inside = [
            x if d is None else _element(x, d, level) for x, d in zip(leaves, dims, strict=True)
        ]
        outputs = func(*tree_unflatten(inside, spec), **kwargs)
        outs, out_spec = tree_flatten(outputs)
        where = _out_dims_of(out_dims, out_spec, func)
        results = []
        for o, d in zip(outs, where, strict=True):
            if not is_tensor(o):
                if d is None:
                    results.append(o)
                    continue
                raise ValueError(
                    f"vmap({name_of(func)}, ...): `{name_of(func)}` must only return Tensors, got "
                    f"type {type(o)}. Did you mean to set out_dims= to None for output?"
                )
            results.append(_unbatched(o, d, level, func, out_dims))
    return tree_unflatten(results, out_spec)


def _unbatched(o: Tensor, d: int, level: BatchLevel, func: Any, out_dims: int) -> Tensor:
    value = batched_at(o, level)
    if d is None:
        if value is not None:
            w = o._wrapped
            one = one_of(o) if w.level is level else None
            if one is not None:
                return one
            raise ValueError(
                f"vmap({name_of(func)}, ...): `{name_of(func)}` can not return a BatchedTensor "
                "when out_dim is None"
            )
        return o
    if value is None:
        value = o.expand(level.size, *o.shape)
    if not -value.ndim <= d < value.ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-value.ndim}, "
            f"{value.ndim - 1}], but got {d})"
        )
    return value if d == 0 else value.movedim(0, d)


def _concatenated(results: list[Tensor], out_dims: int) -> Tensor:
    flat = [tree_flatten(r) for r in results]
    spec = flat[0][1]
    dims = broadcast_to_and_flatten(out_dims, spec) or [0] * spec.num_leaves
    columns = zip(*(leaves for leaves, _ in flat), strict=True)
    joined = [c[0] if d is None else cat(list(c), d) for c, d in zip(columns, dims, strict=True)]
    return tree_unflatten(joined, spec)
