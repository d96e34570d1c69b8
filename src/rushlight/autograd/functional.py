"""Products with the Jacobian and the Hessian of a function of tensors,
and those matrices themselves.

`create_graph`: the results can be differentiated again. `strict`: a part that does not depend on
its input is an error instead of zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from .._levels.batch import BatchLevel
from .._levels.dual import DualLevel
from .._levels.structure import parts_at, rows
from ..ops.layout.joining import stack as _stack
from ..ops.making import creation as _making
from ._engine import grad as _grad
from .grad_mode import enable_grad, set_grad_enabled

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_Tensors = tuple[Any, ...]


def _as_tuple(given: Any, what: str, name: str) -> tuple[bool, _Tensors]:
    """(was it a tuple, as a tuple); torch's error for anything that is no tensor."""
    was_tuple = isinstance(given, tuple)
    values = given if was_tuple else (given,)
    for i, value in enumerate(values):
        if not isinstance(value, Tensor):
            where = f"value at index {i}" if was_tuple else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the "
                f"{where} has type {type(value)}."
            )
    return was_tuple, tuple(values)


_OUTPUTS = "outputs of the user-provided function"
_FUNCTION_GIVES = "user-provided function returns"
_INPUT_IS = "input to the user-provided function is"


def _like_given(values: Any, was_tuple: bool | tuple[bool, ...]) -> Any:
    """`values` as the caller's structure has it: nested for (outer, inner) flags."""
    if isinstance(was_tuple, tuple):
        outer, inner = was_tuple
        rows = tuple(_like_given(v, inner) for v in values)
        return rows if outer else rows[0]
    return tuple(values) if was_tuple else values[0]


def _prepare(inputs: _Tensors, create_graph: bool, need_graph: bool) -> _Tensors:
    """Inputs that start a graph of their own: views where the caller's graph must go on."""
    return tuple(
        t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_(need_graph)
        for t in inputs
    )


def _inputs(given: object, name: str, create_graph: bool) -> tuple[bool, _Tensors]:
    """(were they a tuple, the inputs as leaves of a graph of their own)."""
    was_tuple, inputs = _as_tuple(given, "inputs", name)
    return was_tuple, _prepare(inputs, create_graph, True)


def _outputs(
    func: Callable[..., Any], inputs: _Tensors, name: str, strict: bool
) -> tuple[bool, _Tensors]:
    """(were they a tuple, the outputs of `func`), of which each has a graph in strict mode."""
    was_tuple, outputs = _as_tuple(func(*inputs), _OUTPUTS, name)
    _require_graph(outputs, strict)
    return was_tuple, outputs


def _result(
    values: tuple[Tensor | tuple[Tensor, ...], ...],
    was_tuple: bool | tuple[bool, ...],
    create_graph: bool,
) -> Any:
    """`values` for the caller: detached unless the graph goes on, in the structure given."""
    return _like_given(_finished(values, create_graph), was_tuple)


def _finished(values: Tensor | tuple[Tensor | tuple[Tensor, ...], ...], create_graph: bool) -> Any:
    if isinstance(values, tuple):
        return tuple(_finished(v, create_graph) for v in values)
    return values if create_graph or values is None else values.detach()


def _vector(
    v: Tensor | tuple[Tensor, ...] | None,
    other: _Tensors,
    was_tuple: bool,
    name: str,
    create_graph: bool,
    giver: str,
) -> _Tensors | None:
    """The vector v, which fits `other`; None where it was left out, as it may be for one number."""
    if v is not None:
        v = _prepare(_as_tuple(v, "v", name)[1], create_graph, False)
        _check_v(v, other, was_tuple)
    elif len(other) != 1 or other[0].numel() != 1:
        raise RuntimeError(
            f"The vector v can only be None if the {giver} a single Tensor with a single element."
        )
    return v


def _check_v(v: _Tensors, other: _Tensors, was_tuple: bool) -> None:
    """That v fits `other`, which the program gave as a tuple or alone."""
    if not was_tuple and len(v) != 1:
        raise RuntimeError(
            f"The given v should contain a single Tensor. It is a tuple of {len(v)} for one."
        )
    if len(v) != len(other):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(other)} but got {len(v)}."
        )
    for i, (a, b) in enumerate(zip(v, other, strict=True)):
        if a.shape != b.shape:
            entry = f"Entry {i} in " if was_tuple else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {b.shape} but got {a.shape}.")


def _require_graph(outputs: _Tensors, strict: bool) -> None:
    if strict:
        for i, out in enumerate(outputs):
            if not out.requires_grad:
                raise RuntimeError(
                    f"Output {i} of the user-provided function does not require gradients. The "
                    "outputs must be computed in a differentiable manner from the input when "
                    "running in strict mode."
                )


_TWICE = (
    "This is not allowed in strict mode. You should ensure that your function is twice "
    "differentiable and that the jacobian depends on the inputs (this would be violated by a "
    "linear function for example)."
)


def _fill(
    grads: _Tensors, inputs: _Tensors, strict: bool, create_graph: bool, stage: str
) -> _Tensors:
    """Zeros where an input had no part; in strict mode an error,
    worded by the stage of the work."""
    filled = []
    for i, (g, x) in enumerate(zip(grads, inputs, strict=True)):
        if g is None:
            if strict:
                raise RuntimeError(
                    {
                        "back": "The output of the user-provided function is independent of input "
                        f"{i}. This is not allowed in strict mode.",
                        "back_trick": "The gradient with respect to the input is independent of "
                        f"entry {i} in the grad_outputs when using the double backward trick to "
                        "compute forward mode gradients. This is not allowed in strict mode.",
                        "double_back": "The jacobian of the user-provided function is independent "
                        f"of input {i}. This is not allowed in strict mode.",
                        "double_back_trick": "The hessian of the user-provided function is "
                        f"independent of entry {i} in the grad_jacobian. {_TWICE}",
                    }[stage]
                )
            g = _making.zeros_like(x)
        elif strict and create_graph and not g.requires_grad:
            if stage.startswith("double"):
                raise RuntimeError(
                    f"The hessian of the user-provided function is independent of input {i}. This "
                    "is not allowed in strict mode when create_graph=True."
                )
            raise RuntimeError(
                f"The jacobian of the user-provided function is independent of input {i}. This is "
                "not allowed in strict mode when create_graph=True."
            )
        filled.append(g)
    return tuple(filled)


def _gradients(
    outputs: _Tensors,
    inputs: _Tensors,
    grad_outputs: Any = None,
    create_graph: bool = False,
    retain_graph: bool | None = None,
) -> _Tensors:
    """autograd.grad for outputs some of which may have no graph;
    None where there is no gradient."""
    given = (None,) * len(outputs) if grad_outputs is None else grad_outputs
    pairs = [
        (o, g) for o, g in zip(outputs, given, strict=True) if o is not None and o.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    return _grad(
        tuple(o for o, _ in pairs),
        inputs,
        tuple(g for _, g in pairs),
        allow_unused=True,
        create_graph=create_graph,
        retain_graph=retain_graph,
    )


def vjp(
    func: Callable[..., object],
    inputs: object,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """(func(inputs), v^T J): v has the shapes of the outputs; it may be left out for one number.

    >>> torch.autograd.functional.vjp(torch.square, torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        inputs_tuple, inputs = _inputs(inputs, "vjp", create_graph)
        outputs_tuple, outputs = _outputs(func, inputs, "vjp", strict)
        v = _vector(v, outputs, outputs_tuple, "vjp", create_graph, _FUNCTION_GIVES)
    with set_grad_enabled(create_graph or _core.is_grad_enabled()):
        grads = _gradients(outputs, inputs, v, create_graph)
        result = _fill(grads, inputs, strict, create_graph, "back")
    return (
        _result(outputs, outputs_tuple, create_graph),
        _result(result, inputs_tuple, create_graph),
    )


def jvp(
    func: Callable[..., object],
    inputs: object,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """(func(inputs), J v): v has the shapes of the inputs. Computed by differentiating a vjp.

    >>> torch.autograd.functional.jvp(torch.square, torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        inputs_tuple, inputs = _inputs(inputs, "jvp", create_graph)
        v = _vector(v, inputs, inputs_tuple, "jvp", create_graph, _INPUT_IS)
        outputs_tuple, outputs = _outputs(func, inputs, "jvp", strict)
        # The gradient is linear in what it starts from; its own derivative to that is J.
        seeds = tuple(_making.zeros_like(o).requires_grad_(True) for o in outputs)
        grads = _gradients(outputs, inputs, seeds, create_graph=True)
        grads = _fill(grads, inputs, strict, create_graph, "back")
        found = _gradients(grads, seeds, v if v is not None else (None,) * len(grads), create_graph)
        result = _fill(found, outputs, strict, create_graph, "back_trick")
    return (
        _result(outputs, outputs_tuple, create_graph),
        _result(result, outputs_tuple, create_graph),
    )


def _check_strategy(strategy: str) -> None:
    assert strategy in ("forward-mode", "reverse-mode"), (
        'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function '
        'has more outputs than inputs, "forward-mode" tends to be more performant. Otherwise, '
        'prefer to use "reverse-mode".'
    )


def jacobian(
    func: Callable[..., object],
    inputs: object,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of `func` at `inputs`: of shape (output shape, input shape),
    for each pair of them.

    vectorize: all rows in one batched backward. strategy:
    "forward-mode" computes columns instead of rows.

    >>> torch.autograd.functional.jacobian(torch.square, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _check_strategy(strategy)
    if strategy == "forward-mode":
        for given, option, error in (
            (create_graph, "create_graph", NotImplementedError),
            (strict, "strict", RuntimeError),
        ):
            if given:
                raise error(
                    f"torch.autograd.functional.jacobian: `{option}=True` and "
                    '`strategy="forward-mode"` are not supported together (yet). Please either set '
                    f'`{option}=False` or `strategy="reverse-mode"`.'
                )
        if not vectorize:
            raise NotImplementedError(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian is"
                "only implemented for `vectorize=True`."
            )
        return _columns(func, inputs)
    if vectorize and strict:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
            "supported together. Please either set `strict=False` or `vectorize=False`."
        )
    with enable_grad():
        inputs_tuple, inputs = _inputs(inputs, "jacobian", create_graph)
        outputs_tuple, outputs = _outputs(func, inputs, "jacobian", strict)
        rows = tuple(
            _rows(i, out, inputs, create_graph, strict, vectorize) for i, out in enumerate(outputs)
        )
        return _result(rows, (outputs_tuple, inputs_tuple), create_graph)


def _rows(
    index: int, out: Tensor, inputs: _Tensors, create_graph: bool, strict: bool, vectorize: bool
) -> _Tensors:
    """The Jacobian of one output with respect to each input."""
    if vectorize and out.numel():
        n = out.numel()
        basis = _making.eye(n, dtype=out.dtype, device=out.device).reshape(n, *out.shape)
        if not out.requires_grad:
            found: Any = (None,) * len(inputs)
        else:
            options = {"create_graph": create_graph, "retain_graph": True, "allow_unused": True}
            found = _grad((out,), inputs, (basis,), is_grads_batched=True, **options)
        return tuple(_block(g, out, x) for g, x in zip(found, inputs, strict=True))
    rows: list[list[Any]] = [[] for _ in inputs]
    flat = out.reshape(-1)
    for j in range(out.numel()):
        found = _gradients((flat[j],), inputs, None, create_graph, retain_graph=True)
        for i, (row, g, x) in enumerate(zip(rows, found, inputs, strict=True)):
            if g is not None:
                if strict and create_graph and not g.requires_grad:
                    raise RuntimeError(
                        "The jacobian of the user-provided function is independent of input "
                        f"{index}. This is not allowed in strict mode when create_graph=True. "
                        f"(PyTorch counts outputs here: it is output {index} by input {i}.)"
                    )
                row.append(g)
            else:
                if strict:
                    raise RuntimeError(
                        f"Output {index} of the user-provided function is independent of input "
                        f"{i}. This is not allowed in strict mode."
                    )
                row.append(_making.zeros_like(x))
    stacked = (_stack(row) if row else None for row in rows)
    return tuple(_block(every, out, x) for every, x in zip(stacked, inputs, strict=True))


def _block(found: Tensor | None, out: Tensor, x: Tensor) -> Tensor:
    """The Jacobian of an output by an input, of its rows; zeros without any."""
    if found is None:
        return _making.zeros((*out.shape, *x.shape), dtype=x.dtype, device=x.device)
    return found.reshape(out.shape + x.shape)


def _columns(
    func: Callable[..., object], inputs: object
) -> Tensor | tuple[tuple[Tensor, ...], ...]:
    """The Jacobian by forward mode, all columns at once: a batch of tangents, one for each element
    of the inputs."""
    inputs_tuple, inputs = _as_tuple(inputs, "inputs", "jacobian")
    sizes = [x.numel() for x in inputs]
    n = sum(sizes)
    # Each column has its inputs for itself: `func` may ask for gradients with respect to them.
    inputs = _prepare(tuple(x.expand(n, *x.shape) for x in inputs), False, False)
    with BatchLevel(n, inside=True) as columns, DualLevel(inside=True) as level:
        duals = [
            level.wrap(columns.wrap(x, True), columns.wrap(tangent))
            for x, tangent in zip(inputs, _directions(inputs, sizes), strict=True)
        ]
        outputs_tuple, outputs = _as_tuple(func(*duals), _OUTPUTS, "jacobian")
        pairs = [parts_at(o, level) for o in outputs]
        found = [None if t is None else rows(t, columns) for _, t in pairs]
    jacobians = []
    for (out, _), every in zip(pairs, found, strict=True):
        if every is None:
            every = _making.zeros((n, *out.shape), dtype=out.dtype, device=out.device)
        parts = every.detach().split(sizes, 0)
        jacobians.append(
            tuple(
                part.movedim(0, -1).reshape(out.shape + x.shape[1:])
                for part, x in zip(parts, inputs, strict=True)
            )
        )
    return _like_given(jacobians, (outputs_tuple, inputs_tuple))


def _directions(inputs: _Tensors, sizes: list[int]) -> list[Tensor]:
    """Of each input (a row for each unit vector) its part of all unit vectors."""
    found, start = [], 0
    for x, n in zip(inputs, sizes, strict=True):
        rows = _making.zeros(sum(sizes), n, dtype=x.dtype, device=x.device)
        rows.narrow(0, start, n).diagonal().fill_(1)
        found.append(rows.reshape(x.shape))
        start += n
    return found


def _number(func: Callable[..., object], inputs: _Tensors, name: str) -> Tensor:
    """The result of `func`; torch's errors where the result is not one number."""
    was_tuple, outputs = _as_tuple(func(*inputs), _OUTPUTS, name)
    if was_tuple:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {name} should contain a single element"
        )
    return outputs[0]


def _scalar(func: Callable[..., object], name: str) -> Callable[..., object]:
    """`func`, with torch's errors where it does not give one number."""

    def checked(*inputs: object) -> Any:
        return _number(func, inputs, name).reshape(())

    return checked


def _require_second(gradients: _Tensors) -> None:
    """In strict mode: that the gradients depend on the inputs."""
    for i, g in enumerate(gradients):
        if not g.requires_grad:
            raise RuntimeError(
                "While computing the hessian, found that the jacobian of the user-provided "
                f"function with respect to input {i} is independent of the input. {_TWICE}"
            )


def hessian(
    func: Callable[..., object],
    inputs: object,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function with one number as result, for each pair of inputs.

    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    _check_strategy(outer_jacobian_strategy)
    inputs_tuple, inputs = _as_tuple(inputs, "inputs", "hessian")
    single = _scalar(func, "hessian")

    def gradient(*given: Any) -> tuple[Tensor, ...]:
        if outer_jacobian_strategy == "forward-mode":
            given = tuple(t.requires_grad_() for t in given)
        jac = jacobian(single, given, create_graph=True)
        if strict:
            _require_second(jac)
        return jac

    def checked(*given: object) -> Any:
        with enable_grad():
            out = single(*given)
        _require_graph((out,), strict)
        if strict:
            found = _gradients((out,), given, None, create_graph=True)
            _require_second(_fill(found, given, False, False, "back"))
        return gradient(*given)

    result = jacobian(
        checked if strict else gradient,
        inputs,
        create_graph=create_graph,
        strict=strict,
        vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )
    return _like_given(result, (inputs_tuple, inputs_tuple))


def _hessian_product(
    func: Callable[..., object],
    inputs: Tensor | tuple[Tensor, ...],
    v: Any,
    create_graph: bool,
    strict: bool,
    name: str,
    stage: str,
) -> tuple[Tensor, ...]:
    """(func(inputs), v^T H), with the words of `stage` for an input that has no part in H."""
    with enable_grad():
        inputs_tuple, inputs = _inputs(inputs, name, create_graph)
        v = _vector(v, inputs, inputs_tuple, name, create_graph, _INPUT_IS)
        if v is None:
            v = (_making.ones_like(inputs[0]),)
        output = _number(func, inputs, name)
        _require_graph((output,), strict)
        jac = _gradients((output,), inputs, None, create_graph=True)
        jac = _fill(jac, inputs, strict, False, "back")
        if strict:
            _require_second(jac)
        found = _gradients(jac, inputs, v, create_graph)
        result = _fill(found, inputs, strict, create_graph, stage)
    return _finished(output, create_graph), _result(result, inputs_tuple, create_graph)


def vhp(
    func: Callable[..., object],
    inputs: Any,
    v: object = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensor, ...]:
    """(func(inputs), v^T H) of a function with one number as result.

    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.vhp(lambda x: (x**3).sum(), x, torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _hessian_product(func, inputs, v, create_graph, strict, "vhp", "double_back")


def hvp(
    func: Callable[..., object],
    inputs: Any,
    v: object = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensor, ...]:
    """(func(inputs), H v) of a function with one number as result; as H is symmetric,
    computed as v^T H.

    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), x, torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _hessian_product(func, inputs, v, create_graph, strict, "hvp", "double_back_trick")
