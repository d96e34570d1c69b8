"""backward() and grad(): what they accept, and the errors before the core's engine starts."""

from __future__ import annotations

import collections.abc
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from .. import _core
from .._base.errors import warn
from .._levels.backward import run_backward
from .._levels.batch import BatchLevel
from .._levels.running import refuse_backward
from .._levels.running import state as _state
from .._levels.structure import rows
from ..ops import overridable
from ..ops.making.copies import clone
from ..ops.making.creation import empty_like, zeros_like
from ..ops.making.from_data import as_tensor
from ..ops.table.names import publish
from ..ops.table.signature import Tensor

if TYPE_CHECKING:
    from .graph import GradientEdge

__all__ = ["backward", "grad"]

_Tensors: TypeAlias = "Tensor | GradientEdge | Sequence[Tensor | GradientEdge]"
_K = TypeVar("_K")
_run = _core.run_backward

_CREATE_GRAPH_WARNING = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter "
    "and its gradient which can cause a memory leak. We recommend using autograd.grad when "
    "creating the graph to avoid this. If you have to use this function, make sure to reset the "
    ".grad fields of your parameters to None after use to break the cycle and avoid the leak."
)


# Of each reason why a tensor has no history: the cause, and the advice.
REASONS: dict[int, tuple[str, str]] = {
    _core.Cut.DETACHED: (
        "detach() (or .data) cut its history",
        "Use the tensor itself where its gradient is wanted.",
    ),
    _core.Cut.NO_GRAD: (
        "Its history ends where something was computed with gradients switched off",
        "Move that line out of torch.no_grad(), or switch gradients back on.",
    ),
    _core.Cut.INFERENCE: (
        "Its history ends where something was computed in inference mode",
        "Move that line out of torch.inference_mode().",
    ),
    _core.Cut.NO_DERIVATIVE: (
        "Its history ends at a result that has no derivative (an integer, a bool, an index)",
        "Compute the loss in floating point all the way: comparisons, argmax, round trips through "
        "integers and the like pass no gradient on.",
    ),
    _core.Cut.FROM_DATA: (
        "It was built from data, which has no history",
        "Compute it from the tensors themselves (torch.stack or torch.cat of tensors instead of "
        "torch.tensor of their values), or give it requires_grad=True if it is an input.",
    ),
}


def _why_no_history(tensor: Tensor) -> str:
    """Where and why a tensor lost its history, as the lines that follow an error's first one."""
    found = _core.cut_of(tensor)
    if found is None:
        return (
            "\n  Nothing that it was computed from requires grad. Give the inputs to differentiate "
            "by requires_grad=True, or compute it from a module's parameters."
        )
    what, instead = REASONS[found[0]]
    return f"\n  {what}, here:\n{found[1]}  {instead}" if found[1] else f"\n  {what}. {instead}"


def _no_grad_root(index: int, root: Tensor) -> None:
    raise RuntimeError(
        f"element {index} of tensors does not require grad and does not have a grad_fn"
        + _why_no_history(root)
    )


def _no_grad_input(index: int, tensor: Tensor) -> None:
    raise RuntimeError(
        "One of the differentiated Tensors does not require grad"
        + f"\n  It is number {index} of the inputs."
        + _why_no_history(tensor)
    )


def _copy_gradient(grad: Tensor) -> Tensor:
    """The first gradient of a leaf when a graph of the backward is kept: a copy with a history. A
    sparse one always, since its indices may be a program's own."""
    w = grad._wrapped
    if w is not None and not w.strided:
        return clone(grad)
    return empty_like(grad.detach()).copy_(grad)


def _as_gradient(output: Tensor, gradient: object) -> Tensor | None:
    """A root's gradient as a tensor that fits it; numbers, lists and arrays are accepted."""
    if gradient is None:
        return None
    if not isinstance(gradient, Tensor):
        if isinstance(gradient, (str, bytes)) or not isinstance(output, Tensor):
            raise TypeError(
                f"gradients can be either Tensors or None, but got {type(gradient).__name__}"
            )
        given = type(gradient).__name__
        try:
            gradient = as_tensor(gradient, dtype=output.dtype, device=output.device)
        except (TypeError, ValueError, RuntimeError) as error:
            raise TypeError(
                f"gradients can be either Tensors or None, but got {given}. It cannot be made a "
                f"tensor: {error}"
            ) from None
        if gradient.dim() == 0 and output.dim():
            if output.numel() != 1:
                raise TypeError(
                    f"gradients can be either Tensors or None, but got {given}. A number fits an "
                    f"output of one element; this one has shape {output.shape}."
                )
            gradient = gradient.expand(output.shape)
    return gradient


def _is_edge(value: object) -> bool:
    return isinstance(value, tuple) and hasattr(value, "output_nr")


def _shape_and_dtype(root: Tensor) -> tuple[Any, Any]:
    """Of a root, which is a tensor or the edge that a tensor's gradient flows along."""
    if isinstance(root, Tensor):
        return root.shape, root.dtype
    if not _is_edge(root):
        raise TypeError(f"expected a Tensor or a GradientEdge, got {type(root).__name__}")
    node, nr = root[:2]
    shape, dtype, _ = node._output_metas[nr]
    return shape, dtype


def _check_gradient(index: int, output: Tensor, gradient: Tensor | None) -> None:
    if gradient is None:
        return
    shape, dtype = _shape_and_dtype(output)
    if gradient.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {gradient.shape} and "
            f"output[{index}] has a shape of {shape}."
        )
    if dtype.is_complex != gradient.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. "
            f"Mismatch in dtype: grad_output[{index}] has a dtype of {gradient.dtype} and "
            f"output[{index}] has a dtype of {dtype}."
        )


def _nested_shape(value: Sequence[float] | float) -> tuple[int, ...]:
    """The shape of lists of numbers in one another."""
    if isinstance(value, (list, tuple)):
        return (len(value), *(_nested_shape(value[0]) if value else ()))
    return ()


def _gradients(outputs: tuple[Any, ...], given: Any, single: bool) -> tuple[Tensor | None, ...]:
    """The gradients of the roots. `single`: one root that stood in no list, whose gradient may be a
    list of numbers then."""
    if given is None:
        return (None,) * len(outputs)
    alone = isinstance(given, Tensor) or not isinstance(given, collections.abc.Sequence)
    if not alone and single and isinstance(outputs[0], Tensor) and outputs[0].dim():
        alone = _nested_shape(given) == tuple(outputs[0].shape) and not any(
            g is None or hasattr(g, "shape") for g in given
        )
    if alone:
        given = (given,)
    if len(given) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(given)} gradients")
    made = tuple(_as_gradient(o, g) for o, g in zip(outputs, given, strict=True))
    for i, (o, g) in enumerate(zip(outputs, made, strict=True)):
        _check_gradient(i, o, g)
    return made


def _tuple(value: Any) -> tuple[Tensor | None, ...]:
    return (value,) if isinstance(value, Tensor) or _is_edge(value) else tuple(value)


def _inputs(function: str, value: object) -> tuple[Any, ...]:
    """The `inputs` argument as a tuple: tensors and edges."""
    if isinstance(value, Tensor):
        return (value,)
    if isinstance(value, collections.abc.Mapping):
        if type(value) is not dict:
            raise TypeError(
                f"`inputs` argument to `{function}()` must be a dict, not {type(value).__name__}. "
                "Other Mapping types are not supported."
            )
        value = value.values()
    given = _tuple(value)
    if not given:
        raise RuntimeError(f"`inputs` argument to `{function}()` cannot be empty.")
    for i in given:
        if not isinstance(i, Tensor) and not _is_edge(i):
            raise RuntimeError(
                "all inputs have to be Tensors or GradientEdges, but got " + type(i).__name__
            )
    return given


def tensor_backward(
    self: Tensor,
    gradient: object = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: object = None,
) -> None:
    """Add the gradients of this tensor to the `.grad` of the leaves it was computed from.

    gradient: of this tensor's shape; may be left out for a scalar. retain_graph: keep the saved
    values for another backward (default: create_graph). inputs: accumulate into these tensors only.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> (x * x).backward()
    >>> x.grad
    tensor(6.)
    """
    if inputs is not None or create_graph:
        backward(
            (self,),
            None if gradient is None else (gradient,),
            retain_graph,
            create_graph,
            inputs=inputs,
        )
        return
    if _state.stack:
        refuse_backward()
    if gradient is not None:
        gradient = _as_gradient(self, gradient)
        _check_gradient(0, self, gradient)
    _run((self,), (gradient,), bool(retain_graph), False, None)


@overridable
def backward(
    tensors: object,
    grad_tensors: object = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: object = None,
    inputs: object = None,
) -> None:
    """Add the gradients of several roots to the `.grad` of the leaves; see `Tensor.backward`.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.backward([x.sum(), (x * x).sum()])
    >>> x.grad
    tensor([3., 5.])
    """
    if _state.stack:
        refuse_backward()
    if grad_variables is not None:
        warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning,
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    if inputs is not None:
        inputs = _inputs("backward", inputs)
        for i in inputs:
            if isinstance(i, Tensor):
                i.retain_grad()  # of a result its gradient is kept, as a leaf's is anyway
    roots = _tuple(tensors)
    gradients = _gradients(roots, grad_tensors, isinstance(tensors, Tensor))
    retain = create_graph if retain_graph is None else bool(retain_graph)
    if create_graph:
        warn(_CREATE_GRAPH_WARNING)
    _run(roots, gradients, retain, bool(create_graph), inputs, inputs is not None)


@overload
def grad(
    outputs: _Tensors,
    inputs: _Tensors,
    grad_outputs: Tensor | Sequence[Tensor | None] | None = ...,
    retain_graph: bool | None = ...,
    create_graph: bool = ...,
    only_inputs: bool = ...,
    allow_unused: bool | None = ...,
    is_grads_batched: bool = ...,
    materialize_grads: bool = ...,
) -> tuple[Tensor, ...]: ...
@overload
def grad(
    outputs: _Tensors,
    inputs: Mapping[_K, Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = ...,
    retain_graph: bool | None = ...,
    create_graph: bool = ...,
    only_inputs: bool = ...,
    allow_unused: bool | None = ...,
    is_grads_batched: bool = ...,
    materialize_grads: bool = ...,
) -> dict[_K, Tensor]: ...
@overridable
def grad(
    outputs: object,
    inputs: object,
    grad_outputs: object = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of `outputs` with respect to `inputs`,
    as a tuple (a dict for a dict of inputs).

    Leaves' `.grad` stays as it is. allow_unused: give None for an input that was not used;
    materialize_grads: zeros instead. is_grads_batched: the first dimension of grad_outputs is a
    batch.

    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> torch.autograd.grad(x ** 3, x)
    (tensor(12.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    if not only_inputs:
        warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To "
            "accumulate gradient for other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
        )
    roots, wanted = _tuple(outputs), _inputs("grad", inputs)
    retain = create_graph if retain_graph is None else bool(retain_graph)
    if materialize_grads:
        allow_unused = True
    if is_grads_batched:
        found = _batched(roots, wanted, grad_outputs, retain, create_graph)
    else:
        gradients = _gradients(roots, grad_outputs, isinstance(outputs, Tensor))
        found = _run(roots, gradients, retain, bool(create_graph), wanted)
    if any(f is None for f in found):
        if materialize_grads:
            if any(
                f is None and not isinstance(i, Tensor) for f, i in zip(found, wanted, strict=True)
            ):
                raise RuntimeError(
                    "materialize_grads cannot be used when the given input is a GradientEdge"
                )
            found = tuple(
                zeros_like(i, requires_grad=create_graph) if f is None else f
                for f, i in zip(found, wanted, strict=True)
            )
        elif not allow_unused:
            index = next(i for i, f in enumerate(found) if f is None)
            raise RuntimeError(
                f"The differentiated Tensor at index {index} appears to not have been used in the "
                "graph. Set allow_unused=True if this is the desired behavior."
            )
    if isinstance(inputs, dict):
        return dict(zip(inputs, found, strict=True))
    return found


def _batched(
    roots: tuple[Any, ...],
    wanted: tuple[Tensor, ...],
    given: object,
    retain: bool,
    create_graph: bool,
) -> tuple[Tensor | None, ...]:
    """One backward for all rows of the batched gradients, as a vmap of the rules."""
    if given is None:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    batches = _tuple(given)
    for i, (root, g) in enumerate(zip(roots, batches, strict=True)):
        shape = _shape_and_dtype(root)[0]
        if g is not None and g.shape[1:] != shape:
            if not isinstance(root, Tensor):
                raise RuntimeError(
                    "Batched grads are not supported with GradientEdge. The edge's gradient has "
                    f"shape {shape}, each row of the given one {g.shape[1:]}."
                )
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
                "as the batch dimension. The sizes of the remaining dimensions are expected to "
                "match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{i}] has a shape of {g.shape[1:]} and output[{i}] has a shape of "
                f"{shape}. If you only want some tensors in `grad_output` to be considered "
                "batched, consider using vmap."
            )
    sizes = [g.shape[0] for g in batches if g is not None]
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    n = sizes[0]
    with BatchLevel(n, inside=True) as level:
        gradients = tuple(None if g is None else level.wrap(g) for g in batches)
        found = run_backward(roots, gradients, retain, bool(create_graph), wanted)
        return tuple(None if f is None else rows(f, level) for f in found)


publish("Tensor", "backward", tensor_backward, plain=True)
