"""Transforms by reverse mode: grad and vjp; and linearize, which takes the transpose twice."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import _core
from .._base.pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten
from .._core import Tensor
from .._levels.backward import run_backward
from .._levels.level import GradLevel
from .._levels.structure import detach, needs_grad, plain_parts
from .._levels.variables import variable, zero_leaf
from ..autograd._saved import disable_saved_tensors_hooks
from ..ops.making.creation import zeros_like
from ._arguments import checked_argnums, chosen, give, is_tensor, replaced, tensors_of, with_aux

__all__ = ["grad", "grad_and_value", "linearize", "vjp", "vjp_at"]


@contextmanager
def _recording() -> Iterator[bool]:
    """Record, whatever the mode outside is, which is given."""
    before = _core.set_grad_enabled(True)
    try:
        yield before
    finally:
        _core.set_grad_enabled(before)


_NO_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an "
    "issue with your use case."
)


@contextmanager
def _differentiating() -> Iterator[bool]:
    """The context in which a reverse-mode transform runs the function; gives the mode outside."""
    with disable_saved_tensors_hooks(_NO_HOOKS), _recording() as mode, GradLevel():
        yield mode


class _Variables:
    """The tensors of trees made variables of their own for one transform."""

    def __init__(self, trees: Any) -> None:
        leaves, self.spec = tree_flatten(trees)
        self.given = leaves
        self.connected = any(is_tensor(x) and needs_grad(x) for x in leaves)
        self.leaves: list[Any] = []
        for x in leaves:
            if not is_tensor(x):
                raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
            if not x.dtype.is_differentiable:
                raise RuntimeError("only Tensors of floating point dtype can require gradients")
            self.leaves.append(variable(x))

    @property
    def tree(self) -> Any:
        return tree_unflatten(self.leaves, self.spec)

    def reach_further(self, outputs: Sequence[Tensor]) -> bool:
        """Whether the outputs' history goes on beyond these variables."""
        if self.connected:
            return True
        roots = tuple(p for o in outputs if is_tensor(o) for p in plain_parts(o))
        ends = tuple(p for x in self.leaves for p in plain_parts(x))
        return _core.reaches_others(roots, ends)

    def gradients(
        self, outputs: Sequence[Tensor], given: Sequence[Tensor | None], retain: bool, create: bool
    ) -> list[Tensor]:
        pairs = [(o, g) for o, g in zip(outputs, given, strict=True) if needs_grad(o)]
        wanted = tuple(self.leaves)
        if pairs and wanted:
            outs, gs = zip(*pairs, strict=True)
            found = iter(run_backward(outs, gs, retain, create, wanted))
        else:
            found = iter((None,) * len(wanted))
        result = []
        for x in self.leaves:
            g = next(found)
            result.append(zeros_like(x) if g is None else g)
        return result


def _detached(tree: object, variables: _Variables, mode: bool) -> object:
    """Results as they leave a transform: without the history that only leads to its variables."""

    def detached(x: Any) -> Any:
        if not is_tensor(x) or not needs_grad(x):
            return x
        return x if mode and variables.reach_further((x,)) else detach(x)

    return tree_map(detached, tree)


def grad_and_value(func: Callable[..., Any], argnums: object = 0, has_aux: bool = False) -> Any:
    """A function that gives (gradient, value) of `func`, whose result is a scalar tensor.

    argnums: which arguments (an int or a tuple of ints; each may be a nested container of tensors).
    has_aux: func returns (scalar, anything); the result is then (gradient, (value, anything)).

    >>> torch.func.grad_and_value(lambda x: x.sin())(torch.tensor(0.0))
    (tensor(1.), tensor(0.))
    """

    @functools.wraps(func)
    def wrapper(*args: object, **kwargs: object) -> Any:
        where = checked_argnums(argnums, args)
        with _differentiating() as mode:
            variables = _Variables(chosen(args, where))
            output = func(*replaced(args, where, variables.tree), **give(kwargs))
            aux = None
            if has_aux:
                output, aux = with_aux(output, "grad_and_value(f)(*args)")
            if not is_tensor(output):
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got "
                    f"{type(output)}"
                )
            if output.ndim:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got "
                    f"tensor with {output.ndim} dims. Maybe you wanted to use the vjp or jacrev "
                    "APIs instead?"
                )
            further = mode and variables.reach_further((output,))
            found = variables.gradients((output,), (None,), further, further)
            gradients = tree_unflatten(found, variables.spec)
            if has_aux:
                return gradients, (
                    _detached(output, variables, mode),
                    _detached(aux, variables, mode),
                )
            return gradients, output if further else detach(output)

    return wrapper


def grad(func: Callable[..., object], argnums: object = 0, has_aux: bool = False) -> Any:
    """A function that gives the gradient of `func`, whose result is a scalar tensor; see
    `grad_and_value`.

    >>> torch.func.grad(torch.func.grad(lambda x: x ** 3))(torch.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: object, **kwargs: object) -> Any:
        gradients, value = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return wrapper


def vjp(func: Callable[..., object], *primals: object, has_aux: bool = False) -> Any:
    """(func(*primals), f): f(cotangents) gives the vector-Jacobian product, one for each primal.

    >>> y, f = torch.func.vjp(torch.sin, torch.zeros(2))
    >>> f(torch.ones(2))
    (tensor([1., 1.]),)
    """
    return vjp_at(func, primals, tuple(range(len(primals))), {}, has_aux)


def vjp_at(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    where: object,
    kwargs: object,
    has_aux: bool,
) -> Any:
    """`vjp` with respect to some of the arguments."""
    with _differentiating() as mode:
        variables = _Variables(chosen(args, where))
        output = func(*replaced(args, where, variables.tree), **give(kwargs))
        aux = None
        if has_aux:
            output, aux = with_aux(output, "vjp(f, *primals)")
            aux = _detached(aux, variables, mode)
        outs, out_spec = tensors_of(output, "vjp(f, *primals)")
        for o in outs:
            if not o.dtype.is_differentiable:
                raise RuntimeError(
                    "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                    f"Tensor with dtype {o.dtype}"
                )
        further = variables.reach_further(outs)
        result = _detached(output, variables, mode)

    def vjp_fn(
        cotangents: object, retain_graph: bool = True, create_graph: bool | None = None
    ) -> Any:
        given, spec = tree_flatten(cotangents)
        if spec != out_spec:
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {_shown(spec)}, primal output: "
                f"{_shown(out_spec)}"
            )
        for i, (o, g) in enumerate(zip(outs, given, strict=True)):
            if g is None:
                continue
            if not is_tensor(g):
                raise TypeError(
                    f"gradients can be either Tensors or None, but got {type(g).__name__}"
                )
            if g.dtype is not o.dtype and g.dtype.is_complex == o.dtype.is_complex:
                given[i] = g.to(o.dtype)
            if g.shape != o.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[0] has a shape of {g.shape} and output[0] has "
                    f"a shape of {o.shape}."
                )
        create = _core.is_grad_enabled() and (
            further or any(is_tensor(g) and needs_grad(g) for g in given)
        )
        if create_graph is not None:
            create = create_graph
        before = _core.set_grad_enabled(create)
        try:
            found = variables.gradients(outs, given, retain_graph, create)
        finally:
            _core.set_grad_enabled(before)
        return tree_unflatten(found, variables.spec)

    vjp_fn.__doc__ = "The vector-Jacobian product of cotangents."
    return (result, vjp_fn, aux) if has_aux else (result, vjp_fn)


class _Star:
    def __repr__(self) -> str:
        return "*"


def _shown(spec: TreeSpec) -> str:
    """The structure as containers of stars."""
    return repr(tree_unflatten([_Star()] * spec.num_leaves, spec))


def linearize(func: Callable[..., object], *primals: object) -> Any:
    """(func(*primals), f): f(*tangents) gives the Jacobian-vector product without
    calling func again.

    >>> y, f = torch.func.linearize(torch.sin, torch.zeros(2))
    >>> f(torch.ones(2))
    tensor([1., 1.])
    """
    with _recording() as mode:
        variables = _Variables(primals)
        output = func(*variables.tree)
        outs, out_spec = tree_flatten(output)
        result = _detached(output, variables, mode)
        kept = [i for i, o in enumerate(outs) if is_tensor(o) and needs_grad(o)]
        us = [zero_leaf(outs[i]) for i in kept]
        products = variables.gradients([outs[i] for i in kept], us, True, True)
    further = mode and variables.reach_further(outs)

    def jvp_fn(*tangents: object) -> Any:
        given, spec = tree_flatten(tangents)
        if spec != variables.spec:
            raise RuntimeError(
                f"Expected the tangents {spec} to have the same argspec as the primals "
                f"{variables.spec}. jvp_fn takes one tangent for each primal."
            )
        for i, (p, t) in enumerate(zip(variables.leaves, given, strict=True)):
            for what in ("shape", "dtype"):
                have, want = getattr(t, what), getattr(p, what)
                if have != want:
                    raise RuntimeError(
                        f"tangent:{i} with {what} {have} in flattened pytree doesn't match the "
                        f"{what} {want} of the corresponding primal."
                    )
        pairs = [(v, t) for v, t in zip(products, given, strict=True) if needs_grad(v)]
        found: list[Any] = [None] * len(us)
        if pairs and us:
            create = _core.is_grad_enabled() and (further or any(needs_grad(t) for t in given))
            roots, along = zip(*pairs, strict=True)
            found = list(run_backward(roots, along, True, create, tuple(us)))
        filled: list[object] = [zeros_like(o) if is_tensor(o) else o for o in outs]
        for i, g in zip(kept, found, strict=True):
            if g is not None:
                filled[i] = g
        return tree_unflatten(filled, out_spec)

    return result, jvp_fn
