"""Graphs of `torch.cuda`: what a device of CUDA's is asked for is captured, and done again by one
call for each replay.

While a graph is captured nothing is computed, so no value can be read and none can come from the
host: such calls raise, and leave the capture as it was. Each graph has memory of its own, which
goes to others when the graph and the tensors in that memory are gone. Random numbers go on from one
replay to the next, as they would without a graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

from .. import _core
from .. import _root as rl
from .._base.pytree import tree_flatten, tree_leaves, tree_unflatten
from .._core import Tensor
from .._devices.generator import Draws, capture
from ..amp.autocast_mode import is_autocast_cache_enabled, is_autocast_enabled
from ..autograd.function import Function, once_differentiable
from ..nn import Module
from ._present_device import of_kind

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "make_graphed_callables"]

_cuda = of_kind("cuda")
_numbers = count(1)
_MODES = "global", "thread_local", "relaxed"


def graph_pool_handle() -> tuple[int, int]:
    """A name for memory that graphs may share; each graph here has memory of its own."""
    return 0, next(_numbers)


class CUDAGraph:
    """The calls of a device between `capture_begin` and `capture_end`; `replay` does them again on
    the same memory."""

    def __init__(self, keep_graph: bool = False) -> None:
        self._draws: Draws | None = None
        self._graph: Any = None
        self._pool: tuple[int, int] | None = None

    def capture_begin(
        self,
        pool: tuple[int, int] | None = None,
        capture_error_mode: str = "global",
        check_input_liveness: bool = False,
    ) -> None:
        """From now on the current device computes nothing, and the graph gets what it is given."""
        if self._draws is not None:
            raise RuntimeError(
                "This CUDAGraph instance already owns a captured graph. To capture a new graph, "
                "create a new instance."
            )
        if capture_error_mode not in _MODES:
            raise RuntimeError(
                "Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got "
                f"{capture_error_mode}"
            )
        number = _cuda.number_of()
        draws = Draws(number)
        _core.accelerator_begin_capture(number)
        capture(draws)
        self._draws, self._pool = draws, pool or graph_pool_handle()

    def capture_end(self) -> None:
        """The graph is whole; the device computes again."""
        if self._draws is None or self._graph is not None:
            raise RuntimeError("capture_end() was called before capture_begin().")
        capture(None)
        try:
            self._graph = _core.accelerator_end_capture()
        except BaseException:
            self._draws = None
            raise

    def replay(self) -> None:
        """Give the device all that was captured."""
        if self._graph is None or self._draws is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        self._draws.move_on()
        _core.accelerator_replay(self._graph)

    def reset(self) -> None:
        """Drop what was captured, also in the middle of a capture."""
        if self._draws is not None and self._graph is None:
            self.capture_end()
        self._draws = self._graph = self._pool = None

    def pool(self) -> tuple[int, int]:
        """A name for the graph's memory."""
        if self._pool is None:
            raise RuntimeError("Called CUDAGraph::pool() without a preceding successful capture.")
        return self._pool

    def __del__(self) -> None:
        with suppress(RuntimeError):
            self.reset()


class graph:
    """A block that is captured into a `CUDAGraph`. An exception ends the capture, and the graph
    then has nothing."""

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: tuple[int, int] | None = None,
        stream: Any = None,
        capture_error_mode: str = "global",
        enable_annotations: bool = False,
        check_input_liveness: bool = False,
    ) -> None:
        self.cuda_graph, self.pool = cuda_graph, pool
        self.capture_stream = _cuda.stream_type() if stream is None else stream
        self.capture_error_mode = capture_error_mode
        self.stream_ctx = _cuda.stream_context(self.capture_stream)

    def __enter__(self) -> None:
        _cuda.synchronize()
        _cuda.empty_cache()
        self.stream_ctx.__enter__()
        try:
            self.cuda_graph.capture_begin(self.pool, self.capture_error_mode)
        except BaseException as error:
            self.stream_ctx.__exit__(type(error), error, error.__traceback__)
            raise

    def __exit__(self, kind: Any, *exc: object) -> None:
        try:
            if kind is None:
                self.cuda_graph.capture_end()
            else:
                with suppress(RuntimeError):  # the block's own exception is the one to tell
                    self.cuda_graph.reset()
        finally:
            self.stream_ctx.__exit__(kind, *exc)


# ---- functions and modules as graphs


def _wanted(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple(t for t in tensors if t.requires_grad)


def _put(into: Sequence[Tensor | None], tensors: Sequence[Any]) -> None:
    """Copy values into a graph's memory, where they are not there already."""
    for held, given in zip(into, tensors, strict=True):
        if held is not None and held is not given:
            held.copy_(given)


class _Passes:
    """The forward and the backward pass of a callable as two graphs."""

    def __init__(self, function: Callable[..., Any], args: Sequence[Any], unused: bool) -> None:
        self.function, self.args, self.unused = function, args, unused
        self.given: tuple[Any, ...] = tuple(tree_leaves(tuple(args)))
        if not all(isinstance(each, Tensor) for each in self.given):
            raise AssertionError(
                "In the beta API, sample_args for each callable must contain only Tensors. Other "
                "types are not allowed."
            )
        self.parameters: tuple[Tensor, ...] = ()
        if isinstance(function, Module):
            _check_module(function)
            self.parameters = tuple(function.parameters())
        self.inputs = self.given + self.parameters
        self.forward, self.backward = CUDAGraph(), CUDAGraph()

    def _gradients(self, outputs: Sequence[Any], of_outputs: Any) -> Sequence[Any]:
        inputs, asked = _wanted(self.inputs), _wanted(outputs)
        if not asked or not inputs:
            return ()
        return rl.autograd.grad(asked, inputs, of_outputs, allow_unused=self.unused)

    def warm_up(self) -> None:
        """Once as it is, so that kernels are compiled and states made."""
        outputs = tree_leaves(self.function(*self.args))
        self._gradients(outputs, [rl.empty_like(o) for o in _wanted(outputs)])

    def capture_forward(self, pool: Any) -> None:
        """The first graph."""
        with graph(self.forward, pool=pool):
            found = self.function(*self.args)
        self.outputs, self.structure = tree_flatten(found)

    def capture_backward(self, pool: Any) -> None:
        """The second graph; gradients of the outputs are copied into its memory."""
        self.of_outputs = [rl.empty_like(o) if o.requires_grad else None for o in self.outputs]
        given = [each for each in self.of_outputs if each is not None]
        with graph(self.backward, pool=pool):
            found = iter(self._gradients(self.outputs, given))
        self.of_inputs = [next(found, None) if t.requires_grad else None for t in self.inputs]

    def graphed(self) -> Callable[..., Any]:
        """A function that replays the graphs, and takes part in autograd."""
        passes = self

        class Graphed(Function):
            @staticmethod
            def forward(ctx: Any, *inputs: Any) -> Any:
                n = len(passes.given)
                _put(passes.given, inputs[:n])
                passes.forward.replay()
                return tuple(output.detach() for output in passes.outputs)

            @staticmethod
            @once_differentiable
            def backward(ctx: Any, *grads: Any) -> Any:
                _put(passes.of_outputs, grads)
                passes.backward.replay()
                return tuple(None if g is None else g.detach() for g in passes.of_inputs)

        def replayed(*args: Any) -> Any:
            outputs = Graphed.apply(*tree_leaves(args), *passes.parameters)
            return tree_unflatten(outputs, passes.structure)

        return replayed


def _check_module(module: Any) -> None:
    if module._backward_hooks or module._forward_hooks or module._forward_pre_hooks:
        raise AssertionError(
            "Modules must not have hooks registered at the time they are passed. However, "
            "registering hooks on modules after passing them through make_graphed_callables is "
            "allowed."
        )
    if any(buffer.requires_grad for buffer in module.buffers()):
        raise AssertionError(
            "In any :class:`~torch.nn.Module` passed to :func:`~make_graphed_callables`, only "
            "parameters may be trainable. All buffers must have ``requires_grad=False``."
        )


def _in_place(module: Any, graphed: Callable[..., Any]) -> Any:
    """The module, whose forward replays the graph in the mode that it was captured in."""
    plain, training = module.forward, module.training

    def forward(*args: Any, **kwargs: Any) -> Any:
        return (graphed if module.training == training else plain)(*args, **kwargs)

    module.forward = forward
    return module


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: tuple[int, int] | None = None,
) -> Any:
    """Functions or modules whose forward and backward passes are graphs. They are called with
    tensors of the shapes of `sample_args`, and give their results in the same memory each time.

    Each callable is run some times first. Gradients of gradients are not to be had.
    """
    if is_autocast_enabled("cuda") and is_autocast_cache_enabled():
        raise RuntimeError(
            "make_graphed_callables does not support the autocast caching. Please set "
            "`cache_enabled=False`."
        )
    several = isinstance(callables, tuple)
    functions = callables if several else (callables,)
    samples = sample_args if several else (sample_args,)
    made = [_Passes(f, a, allow_unused_input) for f, a in zip(functions, samples, strict=True)]
    for passes in made:
        for _ in range(num_warmup_iters):
            passes.warm_up()
    for passes in made:
        passes.capture_forward(pool)
    for passes in reversed(made):
        passes.capture_backward(pool)
    replaced = [
        _in_place(f, p.graphed()) if isinstance(f, Module) else p.graphed()
        for f, p in zip(functions, made, strict=True)
    ]
    return tuple(replaced) if several else replaced[0]
