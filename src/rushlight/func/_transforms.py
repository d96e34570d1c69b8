"""The transforms: functions of functions. grad, vjp and jacrev use the tape, jvp
and jacfwd duals, vmap batches."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import _core
from ..autograd import _levels as levels
from ..autograd._levels import Level
from ..autograd._saved import disable_saved_tensors_hooks
from ..autograd.forward_ad import _set_fwd_grad_enabled
from ..ops.table.statement import namespace
from ..random import get_rng_state, set_rng_state
from ._pytree import TreeSpec, broadcast_to_and_flatten, tree_flatten, tree_map, tree_unflatten

__all__ = [
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "vjp",
    "vmap",
]

_Tensor = _core.Tensor
_T = namespace("torch")


def _is_tensor(x: Any) -> bool:
    return isinstance(x, _Tensor)


def _name(f: Any) -> str:
    return getattr(f, "__name__", None) or repr(f)


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
    """What reverse-mode transforms run their function in; gives the mode outside."""
    with disable_saved_tensors_hooks(_NO_HOOKS), _recording() as mode, Level("grad"):
        yield mode


def _given(tree: Any) -> Any:
    """Arguments that are not differentiated as the function gets them: what it writes to them is
    written, which it may not do to tensors that it was not given."""
    return tree_map(lambda x: levels.given(x) if _is_tensor(x) else x, tree)


# ---- reverse-mode


class _Variables:
    """The tensors of trees made variables of their own for one transform."""

    def __init__(self, trees: Any) -> None:
        leaves, self.spec = tree_flatten(trees)
        self.given = leaves
        self.connected = any(_is_tensor(x) and levels.needs_grad(x) for x in leaves)
        self.leaves: list[Any] = []
        for x in leaves:
            if not _is_tensor(x):
                raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
            if not x.dtype.is_differentiable:
                raise RuntimeError("only Tensors of floating point dtype can require gradients")
            self.leaves.append(levels.variable(x))

    @property
    def tree(self) -> Any:
        return tree_unflatten(self.leaves, self.spec)

    def reach_further(self, outputs: Any) -> bool:
        """Whether the outputs' history goes on beyond these variables."""
        if self.connected:
            return True
        roots = tuple(p for o in outputs if _is_tensor(o) for p in levels.plain_parts(o))
        ends = tuple(p for x in self.leaves for p in levels.plain_parts(x))
        return _core.reaches_others(roots, ends)

    def gradients(self, outputs: Any, given: Any, retain: bool, create: bool) -> list[Any]:
        pairs = [(o, g) for o, g in zip(outputs, given, strict=True) if levels.needs_grad(o)]
        wanted = tuple(self.leaves)
        if pairs and wanted:
            outs, gs = zip(*pairs, strict=True)
            found = iter(levels.run_backward(outs, gs, retain, create, wanted))
        else:
            found = iter((None,) * len(wanted))
        result = []
        for x in self.leaves:
            g = next(found)
            result.append(_T["zeros_like"](x) if g is None else g)
        return result


def _cut(tree: Any, variables: _Variables, mode: bool) -> Any:
    """Results as they leave a transform: without the history that only leads to its variables."""

    def cut(x: Any) -> Any:
        if not _is_tensor(x) or not levels.needs_grad(x):
            return x
        return x if mode and variables.reach_further((x,)) else levels.detach(x)

    return tree_map(cut, tree)


def _argnums(argnums: Any, args: tuple[Any, ...]) -> Any:
    if isinstance(argnums, int) and not isinstance(argnums, bool):
        return _argnum(argnums, args)
    if isinstance(argnums, tuple):
        if not argnums:
            raise RuntimeError("argnums must be non-empty. An empty tuple names no argument.")
        found = tuple(_argnum(a, args) for a in argnums)
        if len(set(found)) != len(found):
            raise RuntimeError(f"argnums elements must be unique, got {argnums}")
        return found
    raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")


def _argnum(argnum: Any, args: tuple[Any, ...]) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -len(args) <= argnum < len(args):
        raise RuntimeError(f"Got argnum={argnum}, but only {len(args)} positional inputs")
    return argnum % len(args)


def _chosen(args: tuple[Any, ...], argnums: Any) -> Any:
    return args[argnums] if isinstance(argnums, int) else tuple(args[i] for i in argnums)


def _replaced(args: tuple[Any, ...], argnums: Any, values: Any) -> list[Any]:
    """The arguments with those of some numbers replaced, and the others given on."""
    chosen = (
        {argnums: values} if isinstance(argnums, int) else dict(zip(argnums, values, strict=True))
    )
    return [chosen[i] if i in chosen else _given(a) for i, a in enumerate(args)]


def _with_aux(result: Any, where: str) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(
            f"{where}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    for x in tree_flatten(result[1])[0]:
        if not _is_tensor(x):
            raise RuntimeError(
                f"Expected tensors, got unsupported type {type(x)}. With has_aux=True the second "
                "result of the function may be any structure of tensors; keep other values outside."
            )
    return result


def grad_and_value(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Any:
    """A function that gives (gradient, value) of `func`, which returns one scalar tensor.

    argnums: which arguments (an int or a tuple of ints; each may be a nested container of tensors).
    has_aux: func returns (scalar, anything); the result is then (gradient, (value, anything)).

    >>> torch.func.grad_and_value(lambda x: x.sin())(torch.tensor(0.0))
    (tensor(1.), tensor(0.))
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        where = _argnums(argnums, args)
        with _differentiating() as mode:
            variables = _Variables(_chosen(args, where))
            output = func(*_replaced(args, where, variables.tree), **_given(kwargs))
            aux = None
            if has_aux:
                output, aux = _with_aux(output, "grad_and_value(f)(*args)")
            if not _is_tensor(output):
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
                return gradients, (_cut(output, variables, mode), _cut(aux, variables, mode))
            return gradients, output if further else levels.detach(output)

    return wrapper


def grad(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Any:
    """A function that gives the gradient of `func`, which returns one scalar tensor;
    see `grad_and_value`.

    >>> torch.func.grad(torch.func.grad(lambda x: x ** 3))(torch.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradients, value = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return wrapper


def _tensors_of(output: Any, what: str) -> tuple[list[Any], TreeSpec]:
    leaves, spec = tree_flatten(output)
    if all(x is None for x in leaves):
        raise RuntimeError(
            f"{what}: Expected f to be a function that has non-empty output (got output = {leaves})"
        )
    for x in leaves:
        if not _is_tensor(x):
            raise RuntimeError(
                f"{what}: expected f(*primals) to return only tensors, got "
                f"unsupported type {type(x)}"
            )
    return leaves, spec


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(func(*primals), f): f(cotangents) gives the vector-Jacobian product, one for each primal.

    >>> y, f = torch.func.vjp(torch.sin, torch.zeros(2))
    >>> f(torch.ones(2))
    (tensor([1., 1.]),)
    """
    return _vjp(func, primals, tuple(range(len(primals))), {}, has_aux)


def _vjp(
    func: Callable[..., Any], args: tuple[Any, ...], where: Any, kwargs: Any, has_aux: bool
) -> Any:
    """`vjp` with respect to some of the arguments."""
    with _differentiating() as mode:
        variables = _Variables(_chosen(args, where))
        output = func(*_replaced(args, where, variables.tree), **_given(kwargs))
        aux = None
        if has_aux:
            output, aux = _with_aux(output, "vjp(f, *primals)")
            aux = _cut(aux, variables, mode)
        outs, out_spec = _tensors_of(output, "vjp(f, *primals)")
        for o in outs:
            if not o.dtype.is_differentiable:
                raise RuntimeError(
                    "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                    f"Tensor with dtype {o.dtype}"
                )
        further = variables.reach_further(outs)
        result = _cut(output, variables, mode)

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
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
            if not _is_tensor(g):
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
            further or any(_is_tensor(g) and levels.needs_grad(g) for g in given)
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


# ---- forward-mode


def _check_tangents(primals: Any, tangents: Any, what: str) -> None:
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple):
            raise RuntimeError(
                f"{what}: Expected {name} to be a tuple. E.g. it should be valid "
                "to call f(*primals)."
            )
    values, spec = tree_flatten(primals)
    given, tangent_spec = tree_flatten(tangents)
    if spec != tangent_spec:
        raise RuntimeError(
            f"{what}: Expected primals and tangents to have the same python structure. For "
            "example, if primals is a tuple of 3 tensors, tangents also must be. Got primals with "
            f"structure {spec} and tangents with structure {tangent_spec}"
        )
    for label, leaves in (("primals", values), ("tangents", given)):
        if not leaves:
            raise RuntimeError(f"{what}: Expected {label} to contain at least one Tensor.")
        for x in leaves:
            if not _is_tensor(x):
                raise RuntimeError(
                    f"{what}: Expected {label} to only contain Tensors, got {type(x)}"
                )
    for p, t in zip(values, given, strict=True):
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
    func: Callable[..., Any],
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
    return _jvp(func, primals, tangents, tuple(range(len(primals))), {}, strict, has_aux)


def _jvp(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    tangents: Any,
    where: Any,
    kwargs: Any,
    strict: bool,
    has_aux: bool,
) -> Any:
    """`jvp` along tangents of some of the arguments."""
    values, spec = tree_flatten(_chosen(args, where))
    along = tree_flatten(tangents)[0]
    with Level("dual") as level, _set_fwd_grad_enabled(True):
        duals = [
            levels.with_tangent(levels.given(p), levels.given(levels.fitted(t, p)), level)
            for p, t in zip(values, along, strict=True)
        ]
        output = func(*_replaced(args, where, tree_unflatten(duals, spec)), **_given(kwargs))
        aux = None
        if has_aux:
            output, aux = _with_aux(output, "jvp(f, primals, tangents)")
            aux = tree_map(lambda x: levels.parts_at(x, level)[0], aux)
        outs, out_spec = _tensors_of(output, "jvp(f, primals, tangents)")
        pairs = [levels.parts_at(o, level) for o in outs]
    for i, (_, t) in enumerate(pairs):
        if t is None and strict:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the "
                f"inputs. This is not allowed with strict=True. (output {i})"
            )
    result = tree_unflatten([v for v, _ in pairs], out_spec)
    along = tree_unflatten([_T["zeros_like"](v) if t is None else t for v, t in pairs], out_spec)
    return (result, along, aux) if has_aux else (result, along)


def linearize(func: Callable[..., Any], *primals: Any) -> Any:
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
        result = _cut(output, variables, mode)
        kept = [i for i, o in enumerate(outs) if _is_tensor(o) and levels.needs_grad(o)]
        us = [levels.zero_leaf(outs[i]) for i in kept]
        products = variables.gradients([outs[i] for i in kept], us, True, True)
    further = mode and variables.reach_further(outs)

    def jvp_fn(*tangents: Any) -> Any:
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
        pairs = [(v, t) for v, t in zip(products, given, strict=True) if levels.needs_grad(v)]
        found: list[Any] = [None] * len(us)
        if pairs and us:
            create = _core.is_grad_enabled() and (
                further or any(levels.needs_grad(t) for t in given)
            )
            roots, along = zip(*pairs, strict=True)
            found = list(levels.run_backward(roots, along, True, create, tuple(us)))
        filled: list[Any] = [_T["zeros_like"](o) if _is_tensor(o) else o for o in outs]
        for i, g in zip(kept, found, strict=True):
            if g is not None:
                filled[i] = g
        return tree_unflatten(filled, out_spec)

    return result, jvp_fn


# ---- vmap


def _checked_randomness(randomness: str) -> None:
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. "
            f"Got {randomness}"
        )


def _flat_in_dims(
    in_dims: Any, args: tuple[Any, ...], func: Any
) -> tuple[list[Any], list[Any], Any]:
    name = _name(func)
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
        if not _is_tensor(x):
            raise ValueError(
                f"{head}{d} for an input but the input is of type {type(x)}. We cannot vmap over "
                "non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -x.ndim <= d < x.ndim:
            raise ValueError(
                f"{head}{d} for some input, but that input is a Tensor of dimensionality {x.ndim} "
                f"so expected in_dim to satisfy -{x.ndim} <= in_dim < {x.ndim}."
            )
        dims[i] = d % x.ndim
    return leaves, dims, spec


def _batch_size(leaves: list[Any], dims: list[Any]) -> int:
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


def _out_dims_of(out_dims: Any, spec: TreeSpec, func: Any) -> list[Any]:
    name = _name(func)
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


def _element(x: Any, dim: int, level: Level) -> Any:
    """What stands for the elements of dimension 0, which the program has as `dim`."""
    made = levels.batch(level, x)
    made._wrapped.shown_at = dim
    return made


def _mapped(
    func: Any,
    leaves: Any,
    dims: Any,
    spec: Any,
    size: int,
    out_dims: Any,
    randomness: str,
    kwargs: Any,
) -> Any:
    with Level("batch", size, randomness) as level:
        inside = [
            x if d is None else _element(x, d, level) for x, d in zip(leaves, dims, strict=True)
        ]
        outputs = func(*tree_unflatten(inside, spec), **kwargs)
        outs, out_spec = tree_flatten(outputs)
        where = _out_dims_of(out_dims, out_spec, func)
        results = []
        for o, d in zip(outs, where, strict=True):
            if not _is_tensor(o):
                if d is None:
                    results.append(o)
                    continue
                raise ValueError(
                    f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type "
                    f"{type(o)}. Did you mean to set out_dims= to None for output?"
                )
            results.append(_unbatched(o, d, level, func, out_dims))
    return tree_unflatten(results, out_spec)


def _unbatched(o: Any, d: Any, level: Level, func: Any, out_dims: Any) -> Any:
    value = levels.batched_at(o, level)
    if d is None:
        if value is not None:
            w = o._wrapped
            one = levels.one_of(o) if w.level is level else None
            if one is not None:
                return one
            raise ValueError(
                f"vmap({_name(func)}, ...): `{_name(func)}` can not return a BatchedTensor when "
                "out_dim is None"
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


def _concatenated(results: list[Any], out_dims: Any) -> Any:
    flat = [tree_flatten(r) for r in results]
    spec = flat[0][1]
    dims = broadcast_to_and_flatten(out_dims, spec) or [0] * spec.num_leaves
    columns = zip(*(leaves for leaves, _ in flat), strict=True)
    joined = [
        c[0] if d is None else _T["cat"](list(c), d) for c, d in zip(columns, dims, strict=True)
    ]
    return tree_unflatten(joined, spec)


# ---- Jacobians


def _basis(leaves: list[Any]) -> list[Any]:
    """Rows of unit vectors through all leaves, split into the leaves' shapes."""
    total = sum(x.numel() for x in leaves)
    parts, start = [], 0
    for x in leaves:
        n = x.numel()
        block = _T["zeros"](total, n, dtype=x.dtype)
        if n:
            block._array[range(start, start + n), range(n)] = 1
        parts.append(block.view(total, *x.shape))
        start += n
    return parts


def _chunked_vmap(
    f: Any, basis: list[Any], chunk_size: int | None, randomness: str = "error"
) -> Any:
    total = basis[0].shape[0]
    if total == 0:
        chunk_size = None
    if chunk_size == 1:  # a plain loop, for what no vmap can do
        rows = [f(*(b[i] for b in basis)) for i in range(total)]
        return [_T["stack"](column) for column in zip(*rows, strict=True)]
    return vmap(f, randomness=randomness, chunk_size=chunk_size)(*basis)


def _check_real(tensors: list[Any], what: str, name: str) -> None:
    for i, x in enumerate(tensors):
        if _is_tensor(x) and x.dtype.is_complex:
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
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        where = _argnums(argnums, args)
        chosen = _chosen(args, where)
        shapes, in_spec = tree_flatten(chosen)
        found = _vjp(func, args, where, kwargs, has_aux)
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
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        where = _argnums(argnums, args)
        chosen = _chosen(args, where)
        leaves, in_spec = tree_flatten(chosen)
        for x in leaves:
            if not _is_tensor(x):
                raise RuntimeError(f"jacfwd: Expected all inputs to be Tensors, got {type(x)}")
            if not x.dtype.is_differentiable:
                raise ValueError(
                    f"Expected primal to be floating point or complex, but got: {x.dtype}"
                )
        _check_real(leaves, "inputs", "jacfwd")
        kept: dict[str, Any] = {}

        def push(*tangents: Any) -> Any:
            along = tree_unflatten(list(tangents), in_spec)
            found = _jvp(func, args, along, where, kwargs, False, has_aux)
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
