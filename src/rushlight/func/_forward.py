"""A transform by forward mode: jvp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._base.pytree import tree_flatten, tree_map, tree_unflatten
from .._core import Tensor
from .._levels.dual import DualLevel
from .._levels.places import fitted
from .._levels.structure import given, parts_at, with_tangent
from ..autograd.forward_ad import _set_fwd_grad_enabled
from ..ops.making.creation import zeros_like
from ._arguments import chosen, give, is_tensor, replaced, tensors_of, with_aux

__all__ = ["jvp", "jvp_along"]


def _check_tangents(primals: tuple[Tensor, ...], tangents: tuple[Tensor, ...], what: str) -> None:
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{what}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    values, spec = tree_flatten(primals)
    along, tangent_spec = tree_flatten(tangents)
    if spec != tangent_spec:
        raise RuntimeError(
            f"{what}: Expected primals and tangents to have the same python structure. For "
            "example, if primals is a tuple of 3 tensors, tangents also must be. Got primals with "
            f"structure {spec} and tangents with structure {tangent_spec}"
        )
    for label, leaves in (("primals", values), ("tangents", along)):
        if not leaves:
            raise RuntimeError(f"{what}: Expected {label} to contain at least one Tensor.")
        for x in leaves:
            if not is_tensor(x):
                raise RuntimeError(
                    f"{what}: Expected {label} to only contain Tensors, got {type(x)}"
                )
    for p, t in zip(values, along, strict=True):
        for name, x in (("primal", p), ("tangent", t)):
            if not x.dtype.is_differentiable:
                raise ValueError(
                    f"Expected {name} to be floating point or complex, but got: {x.dtype}"
                )
        if p.shape != t.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the "
                f"original Tensor, this is not supported. Tensor is of size {list(p.shape)} while "
                f"the given forward gradient is of size {list(t.shape)}."
            )


def jvp(
    func: Callable[..., object],
    primals: Any,
    tangents: Any,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> Any:
    """(func(*primals), the Jacobian-vector product along the tangents), in one forward pass.

    >>> torch.func.jvp(torch.sin, (torch.zeros(2),), (torch.ones(2),))
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    _check_tangents(primals, tangents, "jvp(f, primals, tangents)")
    return jvp_along(func, primals, tangents, tuple(range(len(primals))), {}, strict, has_aux)


def jvp_along(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    tangents: object,
    where: object,
    kwargs: object,
    strict: bool,
    has_aux: bool,
) -> Any:
    """`jvp` along tangents of some of the arguments."""
    values, spec = tree_flatten(chosen(args, where))
    along = tree_flatten(tangents)[0]
    with DualLevel() as level, _set_fwd_grad_enabled(True):
        duals = [
            with_tangent(given(p), given(fitted(t, p)), level)
            for p, t in zip(values, along, strict=True)
        ]
        output = func(*replaced(args, where, tree_unflatten(duals, spec)), **give(kwargs))
        aux = None
        if has_aux:
            output, aux = with_aux(output, "jvp(f, primals, tangents)")
            aux = tree_map(lambda x: parts_at(x, level)[0], aux)
        outs, out_spec = tensors_of(output, "jvp(f, primals, tangents)")
        pairs = [parts_at(o, level) for o in outs]
    for i, (_, t) in enumerate(pairs):
        if t is None and strict:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the "
                f"inputs. This is not allowed with strict=True. (output {i})"
            )
    result = tree_unflatten([v for v, _ in pairs], out_spec)
    along = tree_unflatten([zeros_like(v) if t is None else t for v, t in pairs], out_spec)
    return (result, along, aux) if has_aux else (result, along)
