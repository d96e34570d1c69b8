"""A function over all elements of a dimension at once: vmap.

The module is `torch._functorch.vmap` too: the names of its parts and their arguments are PyTorch's,
since libraries put their own in the place of some of them.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from .._base.errors import taking_pytorchs
from .._base.pytree import TreeSpec, broadcast_to_and_flatten, tree_flatten, tree_unflatten
from .._core import Tensor
from .._levels.batch import BatchLevel
from .._levels.running import below, only, transforms
from .._levels.structure import batched_at, one_of
from ..ops.layout.joining import cat
from ..ops.table.arrays import dim_in
from ..random import get_rng_state, set_rng_state
from ._arguments import is_tensor, name_of

__all__ = ["vmap"]


def _checked_randomness(randomness: str) -> None:
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. "
            f"Got {randomness}"
        )


def _process_batched_inputs(
    in_dims: int | tuple[int | None, ...], args: tuple[object, ...], func: object
) -> tuple[int, list[object], list[Any], Any]:
    """How many elements there are, the dimension of each tensor, the tensors, their structure."""
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
    return _batch_size(leaves, dims), dims, leaves, spec


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
    func: Callable[..., object],
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
    def wrapped(*args: object, **kwargs: object) -> Any:
        size, dims, leaves, spec = _process_batched_inputs(in_dims, args, func)

        def run(part: list[Any], n: int) -> Any:
            with BatchLevel(n, randomness) as level:
                inside = _create_batched_inputs(dims, part, level.depth, spec)
                return _unwrap_batched(func(*inside, **kwargs), out_dims, level.depth, n, func)

        if chunk_size is None or chunk_size >= size:
            return run(leaves, size)
        results = []
        state = get_rng_state() if randomness == "same" else None
        for start in range(0, size, chunk_size):
            if state is not None:  # the same in all chunks
                set_rng_state(state)
            n = min(chunk_size, size - start)
            part = [
                x if d is None else x.narrow(d, start, n) for x, d in zip(leaves, dims, strict=True)
            ]
            results.append(run(part, n))
        return _concatenated(results, out_dims)

    return wrapped


def _out_dims_of(out_dims: int, spec: TreeSpec, func: object) -> list[int]:
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


def _add_batch_dim(x: Tensor, dim: int, level: int) -> Tensor:
    """A tensor for the elements of a dimension, in the running transform of this number."""
    within: BatchLevel = transforms()[level - 1]
    if dim:
        with only(below(within)):
            x = x.movedim(dim, 0)
    made = within.wrap(x)
    made._wrapped.shown_at = dim
    return made


def _create_batched_inputs(dims: list[Any], leaves: list[Any], level: int, spec: TreeSpec) -> Any:
    """The arguments of the mapped function."""
    inside = [
        x if d is None else _add_batch_dim(x, d, level) for x, d in zip(leaves, dims, strict=True)
    ]
    return tree_unflatten(inside, spec)


def _unwrap_batched(outputs: object, out_dims: Any, level: int, size: int, func: object) -> object:
    """Its results, with all elements in them."""
    outs, spec = tree_flatten(outputs)
    where = _out_dims_of(out_dims, spec, func)
    name = name_of(func)
    return tree_unflatten(
        [
            _maybe_remove_batch_dim(name, o, level, size, d)
            for o, d in zip(outs, where, strict=True)
        ],
        spec,
    )


def _maybe_remove_batch_dim(name: str, o: Any, level: int, size: int, d: int | None) -> Any:
    if not is_tensor(o):
        if d is None:
            return o
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(o)}. Did you "
            "mean to set out_dims= to None for output?"
        )
    within: BatchLevel = transforms()[level - 1]
    if d is not None:
        return _remove_batch_dim(o, level, size, d)
    if batched_at(o, within) is None:
        return o
    w = o._wrapped
    one = one_of(o) if w.level is within else None
    if one is not None:
        return one
    raise ValueError(
        f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
    )


def _remove_batch_dim(o: Tensor, level: int, size: int, d: int) -> Tensor:
    """All elements of a result, in a dimension."""
    value = batched_at(o, transforms()[level - 1])
    if value is None:
        value = o.expand(size, *o.shape)
    return value if dim_in(d, value.ndim) == 0 else value.movedim(0, d)


def _vmap_increment_nesting(size: int, randomness: str) -> int:
    """Begin to map by hand; the number that the transform has."""
    _checked_randomness(randomness)
    level: BatchLevel = BatchLevel(size, randomness).__enter__()
    return level.depth


def _vmap_decrement_nesting() -> int:
    """End what was begun last; the number that it had."""
    level = transforms()[-1]
    level.__exit__()
    depth: int = level.depth
    return depth


def _concatenated(results: list[Tensor], out_dims: int) -> Tensor:
    flat = [tree_flatten(r) for r in results]
    spec = flat[0][1]
    dims = broadcast_to_and_flatten(out_dims, spec) or [0] * spec.num_leaves
    columns = zip(*(leaves for leaves, _ in flat), strict=True)
    joined = [c[0] if d is None else cat(list(c), d) for c, d in zip(columns, dims, strict=True)]
    return tree_unflatten(joined, spec)


# ---- names of torch._functorch.vmap

_get_name, _broadcast_to_and_flatten = name_of, broadcast_to_and_flatten


@contextlib.contextmanager
def vmap_increment_nesting(batch_size: int, randomness: str) -> Iterator[int]:
    """A block in which tensors are mapped by hand; the number of its transform."""
    try:
        yield _vmap_increment_nesting(batch_size, randomness)
    finally:
        _vmap_decrement_nesting()


def wrap_batched(args: object, bdims: object, level: int) -> Any:
    """Arguments as a mapped function sees them."""
    leaves, spec = tree_flatten(args)
    dims = broadcast_to_and_flatten(bdims, spec)
    if dims is None:
        raise AssertionError("the dimensions are not of the structure of the arguments")
    return _create_batched_inputs(dims, leaves, level, spec)


def unwrap_batched(args: object, level: int) -> tuple[Any, Any]:
    """Results of a mapped function with all elements, and where these are: dimension 0, or None
    where all elements have the same."""
    leaves, spec = tree_flatten(args)
    within: BatchLevel = transforms()[level - 1]
    values = [batched_at(x, within) if is_tensor(x) else None for x in leaves]
    found = [x if v is None else v for x, v in zip(leaves, values, strict=True)]
    dims = [None if v is None else 0 for v in values]
    return tree_unflatten(found, spec), tree_unflatten(dims, spec)


def restore_vmap(func: Any, in_dims: object, batch_size: int, randomness: str) -> Any:
    """A function mapped so that its results come with where their elements are."""

    def inner(*args: object, **kwargs: object) -> tuple[Any, Any]:
        with vmap_increment_nesting(batch_size, randomness) as level:
            return unwrap_batched(func(*wrap_batched(args, in_dims, level), **kwargs), level)

    return inner
