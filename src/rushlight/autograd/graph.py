"""The graph as a program sees it: nodes, edges, and hooks on tensors and nodes.

Note [Hooks]: the core keeps one pointer per node (and per leaf) and tests it once. It points to a
`NodeHooks`, whose methods the engine calls in this order for one node:
tensor hooks (`tensors_before`) -> prehooks (`node_before`) -> the rule -> posthooks (`node_after`);
for a leaf: `leaf_before` -> accumulate -> `leaf_after`.
"""

from __future__ import annotations

import abc
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from .. import _core
from .._base.device import device
from .._base.dtypes import dtype
from .._base.handles import Hooks, RemovableHandle, add_hook, listed, run_hook, tables_lock
from .._base.size import Size
from .._core import Tensor
from .._levels.running import transforms
from ..ops import quietly
from ..ops.table.names import publish
from ._saved import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "region_activation_memory_budget",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "set_override_stale_capture_stream",
    "set_warn_on_accumulate_grad_stream_mismatch",
]


class Node(abc.ABC):
    """A node of the backward graph: what `grad_fn` is, one class an op.

    As in PyTorch a virtual base: all nodes are instances, none has it among its bases.

    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> node = (x * x).sum().grad_fn
    >>> isinstance(node, torch.autograd.graph.Node), node.name()
    (True, 'SumBackward0')
    >>> [inner.name() for inner, _ in node.next_functions]
    ['MulBackward0']
    """

    @abc.abstractmethod
    def name(self) -> str:
        """The node's name."""

    @property
    @abc.abstractmethod
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """((node, output number), ...): where the gradients go."""

    @abc.abstractmethod
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the program's own use."""

    @abc.abstractmethod
    def _sequence_nr(self) -> int:
        """The node's place in the order of creation."""

    @property
    @abc.abstractmethod
    def _input_metadata(self) -> tuple[_InputMetadata, ...]:
        """Shape, dtype and device of each gradient that the node receives."""

    @abc.abstractmethod
    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after the node has run."""

    @abc.abstractmethod
    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_outputs)` before the node runs."""


Node.register(_core.Node)


class GradientEdge(NamedTuple):
    """Where a gradient flows: output `output_nr` of `node`.

    >>> y = torch.ones(2, requires_grad=True) * 3
    >>> edge = torch.autograd.graph.GradientEdge(y.grad_fn, 0)
    >>> torch.autograd.grad(y.sum(), edge)
    (tensor([1., 1.]),)
    """

    node: Any
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge a tensor's gradient flows along; of a leaf: its AccumulateGrad.

    >>> x = torch.ones(2, requires_grad=True)
    >>> middle = x * 3
    >>> edge = torch.autograd.graph.get_gradient_edge(middle)
    >>> y = middle.exp().sum()
    >>> del middle
    >>> torch.autograd.grad(y, edge)
    (tensor([20.0855, 20.0855]),)
    """
    edge = _core.gradient_edge(tensor)
    if edge is None:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does "
            "not require gradients"
        )
    # Of a custom Function the node is what the program may have attributes on: it is kept.
    node, nr = edge
    return GradientEdge(node, nr, node if isinstance(node, _core.FunctionNode) else None)


def _get_grad_fn_or_grad_acc(t: Any) -> Any:
    """The node that a tensor's gradient, or an edge's, goes to."""
    edge = t if isinstance(t, GradientEdge) else _core.gradient_edge(t)
    if edge is None:
        raise AssertionError(
            "Expected gradient function to be set. This tensor does not require grad."
        )
    return edge[0]


def increment_version(tensor: Any) -> None:
    """Count an in-place write that the library cannot see, of one tensor or several.

    >>> x = torch.zeros(2)
    >>> x.numpy()[0] = 5.0
    >>> torch.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    tensors = (tensor,) if isinstance(tensor, Tensor) else tensor
    if not isinstance(tensors, Iterable):
        raise RuntimeError(
            "increment_version expect a Iterable[Tensor] as input, got " + type(tensor).__name__
        )
    tensors = tuple(tensors)
    for t in tensors:
        if not isinstance(t, Tensor):
            raise RuntimeError(
                "increment_version expects each element of the iterable to be a tensor, got "
                + type(t).__name__
            )
    for t in tensors:
        t._bump_version()


def _name(hook: object) -> str:
    return getattr(hook, "__name__", type(hook).__name__)


@quietly
def _check_replacement(hook: object, old: Tensor | None, new: object) -> None:
    if not isinstance(new, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(new).__name__}'")
    if old is None:
        raise RuntimeError(
            "can't replace a None gradient with a non-None value. No gradient came here, and hook "
            f"'{_name(hook)}' returned one of shape {tuple(new.shape)}."
        )
    if new.dtype is not old.dtype:
        raise RuntimeError(
            f"hook '{_name(hook)}' has changed the type of value "
            f"(was {old.type()} got {new.type()})"
        )
    if new.shape != old.shape:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the size of value")


class NodeHooks:
    """All hooks of one node, or of one leaf tensor."""

    __slots__ = ("after_accumulate", "on_tensor", "post", "pre", "retained")

    def __init__(self) -> None:
        self.on_tensor: dict[int, Hooks] = {}
        self.pre: Hooks = OrderedDict()
        self.post: Hooks = OrderedDict()
        self.after_accumulate: Hooks | None = None
        self.retained: dict[int, Any] = {}  # output number -> weak reference to the tensor

    @property
    def functions(self) -> list[object]:
        """The functions that the program registered, of all kinds."""
        kinds = [*self.on_tensor.values(), self.pre, self.post, self.after_accumulate]
        tables: list[Hooks] = [table for table in kinds if table]
        return [hook for table in tables for hook in list(table.values())]

    def _tensor_hooks(self, nr: int, grad: Tensor | None) -> Any:
        for number, hook in listed(self.on_tensor.get(nr, {})):
            new = run_hook("of a tensor", number, hook, grad)
            if new is not None:
                _check_replacement(hook, grad, new)
                grad = new
        return grad

    def tensors_before(self, node: Any, grads: list[Any]) -> list[Any]:
        for nr in list(self.on_tensor):
            if nr < len(grads):
                grads[nr] = self._tensor_hooks(nr, grads[nr])
        for nr, reference in list(self.retained.items()):
            tensor = reference()
            if tensor is not None and nr < len(grads) and grads[nr] is not None:
                _accumulate_retained(tensor, grads[nr])
        return grads

    def node_before(self, node: Any, grads: list[Any]) -> list[Any]:
        for number, hook in listed(self.pre):
            new = run_hook("before the node", number, hook, tuple(grads))
            if new is not None:
                _check_count(hook, new, len(grads))
                for old, value in zip(grads, new, strict=True):
                    if value is not None:
                        _check_replacement(hook, old, value)
                grads = list(new)
        return grads

    def node_after(self, node: Any, grad_inputs: Any, grad_outputs: Any) -> tuple[Any, ...]:
        for number, hook in listed(self.post):
            new = run_hook("after the node", number, hook, grad_inputs, grad_outputs)
            if new is not None:
                _check_count(hook, new, len(grad_inputs))
                for old, value in zip(grad_inputs, new, strict=True):
                    if value is not None:
                        _check_replacement(hook, old, value)
                grad_inputs = new
        return grad_inputs

    def leaf_before(self, tensor: Tensor, grad: Tensor) -> Tensor:
        return self._tensor_hooks(0, grad)

    def leaf_after(self, tensor: Tensor) -> None:
        for number, hook in listed(self.after_accumulate or {}):
            result = run_hook("after the sum", number, hook, tensor)
            if result is None or result is tensor:
                continue
            if not isinstance(result, Tensor):
                raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def _check_count(hook: object, got: Tensor | Sequence[Tensor], expected: int) -> None:
    if not isinstance(got, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(got).__name__}'")
    if len(got) != expected:
        raise RuntimeError(
            f"hook '{_name(hook)}' has returned an incorrect number of values "
            f"(got {len(got)}, but expected {expected})"
        )


def _accumulate_retained(tensor: Tensor, grad: Tensor) -> None:
    have = tensor._grad if tensor._flags() & _RETAINS_GRAD else None
    w = None if have is None else have._wrapped
    if have is None or (w is not None and not w.level.active):  # what a batched backward left
        tensor._grad = grad if _core.is_grad_enabled() else grad.detach().clone()
    else:
        tensor._grad = have + grad


def _hooks_of(owner: Any) -> NodeHooks:
    with tables_lock:
        if owner._hooks is None:
            owner._hooks = NodeHooks()
    return owner._hooks


def _place_of_hooks(tensor: Tensor) -> tuple[Any, int]:
    """Who keeps a tensor's hooks: a leaf itself, or a result's node; and under which number."""
    node = tensor.grad_fn  # first: a view's history is brought up to date
    return (tensor, 0) if node is None else (node, tensor.output_nr)


def _get_tensor_hooks(tensor: Tensor) -> Any:
    """The hooks that `register_hook` was given, by number; None where there never was one."""
    owner, nr = _place_of_hooks(tensor)
    return None if owner._hooks is None else owner._hooks.on_tensor.get(nr)


def _set_tensor_hooks(tensor: Any, hooks: Any) -> None:
    _check_dict("_backward_hooks", hooks)
    owner, nr = _place_of_hooks(tensor)
    if hooks is not None:
        _hooks_of(owner).on_tensor[nr] = hooks
    elif owner._hooks is not None:
        owner._hooks.on_tensor.pop(nr, None)


def _get_accumulation_hooks(tensor: Any) -> object:
    """The hooks that `register_post_accumulate_grad_hook` was given, by number, or None."""
    return None if tensor._hooks is None else tensor._hooks.after_accumulate


def _set_accumulation_hooks(tensor: object, hooks: Any) -> None:
    _check_dict("_post_accumulate_grad_hooks", hooks)
    _hooks_of(tensor).after_accumulate = hooks


def _check_dict(name: str, value: object) -> None:
    if value is not None and not isinstance(value, dict):
        raise TypeError(f"{name} must be a dict of hooks or None, not {type(value).__name__}")


def _keep(name: str) -> Callable[[Any], None]:
    """A deleter that refuses, with torch's words (one word is misspelt in torch)."""

    def refuse(tensor: object) -> None:
        raise RuntimeError(f"Deletion of {name} not allowed!")

    return refuse


def register_tensor_hook(self: Tensor, hook: Callable[[Any], Any]) -> RemovableHandle:
    """Call `hook(grad)` when the gradient of `self` is known; it may return a replacement."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    owner, nr = _place_of_hooks(self)
    return add_hook(_hooks_of(owner).on_tensor.setdefault(nr, OrderedDict()), hook)


def register_post_accumulate_grad_hook(
    self: Tensor, hook: Callable[[Any], None]
) -> RemovableHandle:
    """Call `hook(self)` after a gradient was added to the `.grad` of a leaf."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if not self.is_leaf:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    hooks = _hooks_of(self)
    with tables_lock:
        if hooks.after_accumulate is None:
            hooks.after_accumulate = OrderedDict()
    return add_hook(hooks.after_accumulate, hook)


def retain_grad(self: Tensor) -> None:
    """Fill `.grad` of a non-leaf too; no effect on leaves."""
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if transforms():
        raise RuntimeError(
            "You are attempting to call Tensor.retain_grad() inside of a function being "
            "transformed by a functorch transform. This is unsupported, please attempt to use the "
            "functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call retain_grad() "
            "outside of a function being transformed instead."
        )
    if self.is_leaf or self.retains_grad:
        return
    self._set_flag(_RETAINS_GRAD, True)
    _hooks_of(self.grad_fn).retained[self.output_nr] = weakref.ref(self)


_RETAINS_GRAD = _core.Flag.RETAINS_GRAD


def _move_retained(tensor: Tensor, old_node: Any, old_nr: int) -> None:
    """Keep retaining the gradient of a tensor that was written in place: of its new value only."""
    if old_node is not None and old_node._hooks is not None:
        old_node._hooks.retained.pop(old_nr, None)
    _hooks_of(tensor.grad_fn).retained[tensor.output_nr] = weakref.ref(tensor)


def _register_hook(node: object, hook: Callable[..., object]) -> RemovableHandle:
    """Call `hook(grad_inputs, grad_outputs)` after the node has run."""
    return add_hook(_hooks_of(node).post, hook)


def _register_prehook(node: object, hook: Callable[..., object]) -> RemovableHandle:
    """Call `hook(grad_outputs)` before the node runs."""
    return add_hook(_hooks_of(node).pre, hook)


class _InputMetadata:
    """Shape, dtype and device of a gradient that a node receives."""

    __slots__ = ("device", "dtype", "shape")
    is_nested_tensor = is_cpp_nested_tensor = False

    def __init__(self, shape: Size, dtype: dtype, where: str) -> None:
        self.shape, self.dtype, self.device = shape, dtype, device(where)

    def __repr__(self) -> str:
        return f"_InputMetadata(shape={self.shape}, dtype={self.dtype}, device={self.device})"


def _input_metadata(node: Any) -> tuple[_InputMetadata, ...]:
    return tuple(_InputMetadata(*each) for each in node._output_metas)


def _call_node(node: Any, grads: tuple[Any, ...]) -> tuple[Tensor | None, ...]:
    """Runs `node(grad)`: the node's rule, once; a leaf's node adds to the leaf's `.grad`."""
    expected = max(len(node._output_metas), 1)
    if len(grads) != expected:
        raise TypeError(f"expected {expected} arguments, got {len(grads)} instead")
    for i, g in enumerate(grads):
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"argument {i} is not a Variable")
    if isinstance(node, _core.AccumulateGrad):
        if grads[0] is None:
            return ()
        _core.run_backward((GradientEdge(node, 0),), grads, False, _core.is_grad_enabled(), None)
        return ()
    if all(g is None for g in grads):
        result: tuple[Any, ...] = (None,) * len(node.next_functions)
    elif isinstance(node, _core.FunctionNode):
        result = node._run_backward(grads)
    else:
        result = _core.node_gradients(node, grads, _core.is_grad_enabled())
    return result[0] if len(result) == 1 else result


publish("Node", "register_hook", _register_hook)
publish("Node", "register_prehook", _register_prehook)
publish("Node", "_input_metadata", property(_input_metadata))
publish("Node", "requires_grad", True)  # of every recorded call
_MEMBERS = {
    "register_post_accumulate_grad_hook": register_post_accumulate_grad_hook,
    "retain_grad": retain_grad,
    "register_hook": register_tensor_hook,
    "_backward_hooks": property(_get_tensor_hooks, _set_tensor_hooks, _keep("_backwards_hooks")),
    "_post_accumulate_grad_hooks": property(
        _get_accumulation_hooks, _set_accumulation_hooks, _keep("_post_accumulate_grad_hooks")
    ),
}
for _name_of, _member in _MEMBERS.items():
    publish("Tensor", _name_of, _member, plain=True)


class _MultiHandle:
    """Removes several hooks at once."""

    def __init__(self, handles: list[RemovableHandle]) -> None:
        self.handles: tuple[RemovableHandle, ...] = tuple(handles)

    def remove(self) -> None:
        """Take all the hooks away."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> _MultiHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Any, fn: Callable[[Any], None], *, mode: str = "all"
) -> _MultiHandle:
    """Call `fn` with the gradients of several tensors: in mode 'all' after a backward computed all
    (None for tensors without), in mode 'any' with the first gradient.

    >>> a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    >>> handle = torch.autograd.graph.register_multi_grad_hook((a, b), print)
    >>> (2 * a + 3 * b).backward()
    [tensor([2.]), tensor([3.])]
    >>> handle.remove()
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = list(tensors)
    lock = threading.Lock()
    if mode == "any":
        done: dict[int, bool] = {}

        def first(grad: object) -> None:
            task = _core.current_task()
            with lock:
                if done.get(task):
                    return
                done.clear()
                done[task] = True
            fn(grad)

        return _MultiHandle([t.register_hook(first) for t in tensors if t.requires_grad])

    nodes = [_get_grad_fn_or_grad_acc(t) for t in tensors]
    seen: dict[int, list[object]] = {}
    expected: dict[int, int] = {}

    def collector(index: int) -> Callable[[Any], None]:
        def collect(grad: object) -> None:
            task = _core.current_task()
            with lock:
                if task not in seen:
                    seen[task] = [None] * len(tensors)
                    expected[task] = sum(map(_core.will_run, nodes))
                seen[task][index] = grad
                expected[task] -= 1
                ready = expected[task] == 0
                if ready:
                    grads = seen.pop(task)
                    expected.pop(task)
            if ready:
                fn(grads)

        return collect

    return _MultiHandle([t.register_hook(collector(i)) for i, t in enumerate(tensors)])


@contextmanager
def region_activation_memory_budget(budget: float) -> Iterator[None]:
    """Accepted: a hint for a compiler that chooses what to compute again; there is none here.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.region_activation_memory_budget(0.5):
    ...     (x * x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """
    yield


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Accepted: there are no streams here.

    >>> torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False) is None
    True
    """


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Accepted: there are no streams here.

    >>> torch.autograd.graph.set_override_stale_capture_stream(False) is None
    True
    """
