"""Matrices of derivatives: a vmap of vjp or jvp over unit vectors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .._base.pytree import tree_flatten, tree_unflatten
from .._core import Tensor
from ..ops.layout.joining import stack
from ..ops.making.creation import eye
from ._arguments import checked_argnums, chosen, is_tensor
from ._forward import jvp_along
from ._reverse import vjp_at
from ._vmap import vmap

__all__ = ["hessian", "jacfwd", "jacrev"]


def _basis(leaves: list[Tensor]) -> list[Tensor]:
    """Rows of unit vectors through all leaves, split into the leaves' shapes."""
    total = sum(x.numel() for x in leaves)
    parts, start = [], 0
    for x in leaves:
        rows = eye(total, dtype=x.dtype, device=x.device).narrow(1, start, x.numel())
        parts.append(rows.reshape(total, *x.shape))
        start += x.numel()
    return parts


def _chunked_vmap(
    f: Any, basis: list[Tensor], chunk_size: int | None, randomness: str = "error"
) -> Sequence[Tensor]:
    total = basis[0].shape[0]
    if total == 0:
        chunk_size = None
    if chunk_size == 1:  # a plain loop, for what no vmap can do
        rows = [f(*(b[i] for b in basis)) for i in range(total)]
        return [stack(column) for column in zip(*rows, strict=True)]
    return vmap(f, randomness=randomness, chunk_size=chunk_size)(*basis)


def _check_real(tensors: list[Tensor], what: str, name: str) -> None:
    for i, x in enumerate(tensors):
        if is_tensor(x) and x.dtype.is_complex:
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened "
                f"input idx: {i}. Differentiate with respect to the real and the imaginary part "
                "(view_as_real) instead."
            )


def _check_chunk(chunk_size: Any) -> None:
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")


def jacrev(
    func: Callable[..., Any],
    argnums: Any = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Any:
    """A function that gives the Jacobian of `func` by reverse-mode: one vmap of its vjp.

    >>> torch.func.jacrev(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    _check_chunk(chunk_size)

    @functools.wraps(func)
    def wrapper(*args: object, **kwargs: object) -> Any:
        where = checked_argnums(argnums, args)
        differentiated = chosen(args, where)
        shapes, in_spec = tree_flatten(differentiated)
        found = vjp_at(func, args, where, kwargs, has_aux)
        output, product = found[0], found[1]
        outs, out_spec = tree_flatten(output)
        _check_real(shapes, "inputs", "jacrev")
        _check_real(outs, "outputs", "jacrev")

        def rows(*cotangents: Any) -> Any:
            return tree_flatten(product(tree_unflatten(list(cotangents), out_spec)))[0]

        columns = _chunked_vmap(rows, _basis(outs), chunk_size)
        sizes = [o.numel() for o in outs]
        split = [c.split(sizes, 0) for c in columns]
        trees = []
        for k, o in enumerate(outs):
            per_input = [split[j][k].reshape((*o.shape, *x.shape)) for j, x in enumerate(shapes)]
            trees.append(tree_unflatten(per_input, in_spec))
        result = tree_unflatten(trees, out_spec)
        return (result, found[2]) if has_aux else result

    return wrapper


def jacfwd(
    func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Any:
    """A function that gives the Jacobian of `func` by forward-mode: one vmap of its jvp.

    >>> torch.func.jacfwd(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    @functools.wraps(func)
    def wrapper(*args: object, **kwargs: object) -> Any:
        where = checked_argnums(argnums, args)
        differentiated = chosen(args, where)
        leaves, in_spec = tree_flatten(differentiated)
        for x in leaves:
            if not is_tensor(x):
                raise RuntimeError(f"jacfwd: Expected all inputs to be Tensors, got {type(x)}")
            if not x.dtype.is_differentiable:
                raise ValueError(
                    f"Expected primal to be floating point or complex, but got: {x.dtype}"
                )
        _check_real(leaves, "inputs", "jacfwd")
        kept: dict[str, Any] = {}

        def push(*tangents: object) -> Any:
            along = tree_unflatten(list(tangents), in_spec)
            found = jvp_along(func, args, along, where, kwargs, False, has_aux)
            if has_aux:
                kept["aux"] = found[2]
            outs, kept["spec"] = tree_flatten(found[1])
            _check_real(outs, "outputs", "jacfwd")
            return tuple(outs)

        columns = _chunked_vmap(push, _basis(leaves), None, randomness)
        sizes = [x.numel() for x in leaves]
        trees = []
        for c in columns:
            per_input = [
                part.movedim(0, -1).reshape((*c.shape[1:], *x.shape))
                for part, x in zip(c.split(sizes, 0), leaves, strict=True)
            ]
            trees.append(tree_unflatten(per_input, in_spec))
        result = tree_unflatten(trees, kept["spec"])
        return (result, kept["aux"]) if has_aux else result

    return wrapper


def hessian(func: Callable[..., Any], argnums: Any = 0) -> Any:
    """A function that gives the matrix of second derivatives: jacfwd of jacrev.

    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.ones(2))
    tensor([[6., 0.],
            [0., 6.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
