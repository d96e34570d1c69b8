"""Checkpointing: trade time for memory by computing a region again during backward.

`checkpoint(fn, *args, use_reentrant=False)` runs `fn` under saved-tensor hooks that keep a
`_Holder` instead of each tensor. The first holder that backward unpacks runs `fn` again (its
`_Frame` says how) under hooks that fill the holders, and stops as soon as all are filled. The
region's own inputs are kept by a node that saves them, so that an outer checkpoint computes those
again too: nested regions work to any depth. `use_reentrant=True` is the older way: a custom
Function runs a nested backward.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from .. import _core, autograd
from .._base import FOLDER, switches
from .._base.device import device
from .._base.dtypes import dtype, float32
from .._base.errors import warn
from .._base.missing import missing_name as _missing_name
from .._base.size import Size
from .._base.sources import cell
from .._core import Tensor
from .._devices import cpu
from .._devices.generator import set_states, states
from .._levels.running import carried
from ..autograd._saved import saved_tensors_hooks
from ._selective import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "GraphExecGroup",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]


class CheckpointError(RuntimeError):
    """The computation done again was not the one that was done before.

    >>> issubclass(torch.utils.checkpoint.CheckpointError, RuntimeError)
    True
    """


class DefaultDeviceType:
    """The device type whose random state a checkpoint keeps besides the CPU's: none but that.

    >>> torch.utils.checkpoint.DefaultDeviceType.set_device_type("cpu")
    >>> torch.utils.checkpoint.DefaultDeviceType.get_device_type()
    'cpu'
    """

    _type = "cpu"

    @classmethod
    def get_device_type(cls) -> str:
        """The device type that `set_device_type` has set; at first "cpu"."""
        return cls._type

    @classmethod
    def set_device_type(cls, device: str = "cpu") -> None:
        """Accepted: all tensors are on the CPU."""
        cls._type = device


class _Settings:
    early_stop: bool | None = None
    debug: bool | None = None


_TIP = """

Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
enable checkpoint-debug mode globally.
The region must do the same each time it runs: no counters, no `if` on changing state, and random
numbers only from this library's generator (preserve_rng_state=True).
"""


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Whether checkpoints made in the block stop computing again once nothing more is needed.

    >>> calls = []
    >>> def f(x):
    ...     y = x.exp()
    ...     calls.append("ran to its end")
    ...     return y
    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.utils.checkpoint.set_checkpoint_early_stop(False):
    ...     y = torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False)
    >>> y.backward()
    >>> calls
    ['ran to its end', 'ran to its end']
    """
    before, _Settings.early_stop = _Settings.early_stop, enable
    try:
        yield
    finally:
        _Settings.early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Overrides the `debug` argument of the checkpoints made in the block; None does not.

    >>> with torch.utils.checkpoint.set_checkpoint_debug_enabled(False):
    ...     x = torch.ones(1, requires_grad=True)
    ...     torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=False, debug=True)
    tensor([2.7183], grad_fn=<ExpBackward0>)
    """
    before, _Settings.debug = _Settings.debug, enabled
    try:
        yield
    finally:
        _Settings.debug = before


def noop_context_fn() -> tuple[Any, Any]:
    """The default `context_fn`: nothing around forward, nothing around the second run.

    >>> forward, again = torch.utils.checkpoint.noop_context_fn()
    >>> with forward, again:
    ...     print("as if nothing were around it")
    as if nothing were around it
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


def _autocast(how: dict[str, object]) -> contextlib.AbstractContextManager[object]:
    """Autocast as it was; nothing where the program has never asked for it."""
    amp = sys.modules.get("rushlight.amp")
    return contextlib.nullcontext() if amp is None else amp.autocast("cpu", **how)


class _Surroundings:
    """The state that the second run shares with the first: the generators, and autocast."""

    def __init__(self, preserve_rng_state: bool) -> None:
        self.state = states() if preserve_rng_state else None
        amp = sys.modules.get("rushlight.amp")
        self.autocast: dict[str, Any] = {"enabled": False}
        if amp is not None:
            self.autocast = {
                "enabled": amp.autocast_mode.is_autocast_enabled("cpu"),
                "dtype": amp.autocast_mode.get_autocast_dtype("cpu"),
                "cache_enabled": amp.autocast_mode.is_autocast_cache_enabled(),
            }

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """The surroundings for a block, and afterwards as they were."""
        before = states()
        if self.state is not None:
            set_states(self.state)
        try:
            with _autocast(self.autocast):
                yield
        finally:
            if self.state is not None:
                set_states(before)


# ---- without reentrance


class _Holder:
    """Stands for a saved tensor; `values` has the tensor for each backward that
    computed it again."""

    __slots__ = ("__weakref__", "values")
    recomputed = True  # read by `explain`

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}


class _Stop(Exception):
    """Everything that was saved has been computed again."""


class _SaveInputs(autograd.Function):
    """Keeps a region's tensor arguments as a node does, so that hooks of outer regions see them."""

    _for_transforms = True

    @staticmethod
    def forward(ctx: Any, dummy: Tensor, *tensors: object) -> Tensor:
        ctx.save_for_backward(*tensors)
        return dummy.detach().clone()

    @staticmethod
    def backward(ctx: object, *grads: object) -> object:
        raise AssertionError("the node that keeps the inputs is never part of a graph")


def _metadata(x: Tensor) -> dict[str, Size | device | dtype]:
    return {"shape": x.shape, "dtype": x.dtype, "device": x.device}


_CHECKS: dict[str, Callable[[Any], object]] = {"default": _metadata, "none": lambda x: None}
_outside = itertools.count(1)


class GraphExecGroup:
    """Backwards in one such block share what they compute again.

    >>> runs = []
    >>> def f(x):
    ...     runs.append(1)
    ...     return x.sin(), x.exp()
    >>> x = torch.ones(1, requires_grad=True)
    >>> a, b = torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False)
    >>> with torch.utils.checkpoint.GraphExecGroup():
    ...     a.backward()
    ...     b.backward()
    >>> len(runs)  # forward, and once for both
    2
    """

    _local = threading.local()
    carried.append(_local)

    def __enter__(self) -> GraphExecGroup:
        current = self._get_current_group()
        if current is not None:
            raise RuntimeError(
                f"GraphExecGroup contexts cannot be nested. Already inside group {current}"
            )
        self._local.group = self
        return self

    def __exit__(self, *exc: object) -> None:
        self._local.group = None

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return getattr(cls._local, "group", None)


class _Frame:
    """One checkpointed call: its holders in order, and how to run it again."""

    def __init__(
        self, again: Callable[..., object], early_stop: bool, check: str, debug: bool
    ) -> None:
        self.again, self.early_stop, self.debug = again, early_stop, debug
        self.describe = _CHECKS[check]
        self.inputs: Any = None  # the output of _SaveInputs
        self.constants: list[Any] = []  # arguments; None in the place of tensors
        self.places: list[int] = []
        self.holders: list[weakref.ref[_Holder]] = []
        self.saved: list[Any] = []  # what describe says of each
        self.done: dict[Any, int] = {}  # backward -> how many tensors it saved again
        self.recomputed: dict[Any, list[Any]] = {}  # what describe says of those
        self.log: list[list[str]] = [[], []]
        self.kept: tuple[Any, Any, list[_Holder]] = (None, None, [])
        self.first_run_ended = False
        self.asked_early = False  # during the first run, which went on to save more

    def arguments(self) -> list[object]:
        given = list(self.constants)
        for place, value in zip(self.places, self.inputs.grad_fn.saved_tensors, strict=True):
            given[place] = value
        return given

    # hooks of the first run

    def pack(self, x: Tensor) -> _Holder:
        holder = _Holder()
        self.holders.append(weakref.ref(holder))
        self.saved.append(self.describe(x))
        if self.debug:
            self.log[0].append(_line(x))
        return holder

    def unpack(self, holder: _Holder) -> Tensor:
        group = GraphExecGroup._get_current_group()
        key: Any = group if group is not None else _core.current_task()
        if key == -1:
            key = f"outside {next(_outside)}"
        node = _core.current_node()
        asker = _core.current_task(), id(node)
        if self.kept[:2] != (key, asker):
            for other in self.kept[2]:
                other.values[self.kept[0]] = None
            self.kept = (key, asker, [])
        if key not in self.done:
            self.run_again(key)
        value = holder.values.get(key)
        if value is None:
            overlap = (
                "Performing two backward calls that overlap (i.e. require the same saved "
                "activation in order to compute gradients) is not allowed while under the "
                "torch.utils.checkpoint.GraphExecGroup context. "
            )
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already "
                f"unpacked once. {overlap if group is not None else ''}If you are calling "
                "ctx.saved_tensors in backward, make sure to do so only once. Otherwise please "
                "open an issue with details on your use case."
            )
        if isinstance(key, str):
            del self.done[key], self.recomputed[key]
            for reference in self.holders:
                held = reference()
                if held is not None:
                    held.values.pop(key, None)
        # A built-in node may ask for a value once for each of its gradients: it is let go when the
        # next node asks. A custom Function has one chance, as in PyTorch.
        elif isinstance(node, _core.FunctionNode):
            holder.values[key] = None
        else:
            self.kept[2].append(holder)
        return value

    # the second run

    def run_again(self, key: GraphExecGroup | int) -> None:
        self.done[key], self.recomputed[key] = 0, []
        arguments = self.arguments()
        before = _core.set_grad_enabled(True)
        try:
            with saved_tensors_hooks(lambda x: self.fill(key, x), lambda x: x):
                self.again(*arguments)
        except _Stop:
            pass
        finally:
            _core.set_grad_enabled(before)
        self.compare(key)

    def fill(self, key: GraphExecGroup | int, x: Tensor) -> Tensor:
        index = self.done[key]
        self.done[key] = index + 1
        x = x.detach() if x.requires_grad else x
        if index >= len(self.holders):
            if self.first_run_ended:
                self.fail(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than "
                    "during the original forward pass."
                )
            self.asked_early = True
            return x
        self.recomputed[key].append(self.describe(x))
        if self.debug:
            self.log[1].append(_line(x))
        holder = self.holders[index]()
        if holder is not None:
            holder.values[key] = x
        if self.early_stop and index + 1 == len(self.holders):
            raise _Stop
        return x

    def compare(self, key: GraphExecGroup | int) -> None:
        if self.asked_early:
            return
        if self.done[key] != len(self.holders):
            self.fail(
                "torch.utils.checkpoint: A different number of tensors was saved during the "
                "original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.holders)}\n"
                f"Number of tensors saved during recomputation: {self.done[key]}."
            )
        wrong = ""
        for i, (a, b) in enumerate(zip(self.saved, self.recomputed[key], strict=True)):
            if a != b and self.holders[i]() is not None:
                wrong += f"tensor at position {i}:\nsaved metadata: {a}\nrecomputed metadata: {b}\n"
        if wrong:
            self.fail(
                "torch.utils.checkpoint: Recomputed values for the following tensors have "
                f"different metadata than during the forward pass.\n{wrong}."
            )

    def fail(self, text: str) -> None:
        if not self.debug:
            raise CheckpointError(text + _TIP)
        lists = [
            "\n".join(f"  {i}: {line}" for i, line in enumerate(lines)) or "  (none)"
            for lines in self.log
        ]
        raise CheckpointError(
            " An error happened while unpacking tensors; dumping logs of latest computation\n"
            "because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.\n"
            f"\nTensors saved in the original forward:\n{lists[0]}\n"
            f"\nTensors saved in the recomputation:\n{lists[1]}\n\n{text}"
        )


def _line(x: Any) -> str:
    """A tensor and the line of the program that made it be saved."""
    frames = [f for f in traceback.extract_stack() if not f.filename.startswith(FOLDER)]
    where = "?"
    if frames:
        file, line = frames[-1].filename, frames[-1].lineno
        where = f"{cell(file) or file}:{line}: {frames[-1].line}"
    return f"{x.dtype} {tuple(x.shape)} saved at {where}"


def _checkpoint_without_reentrance(
    function: Callable[..., Any],
    preserve: bool,
    context_fn: Callable[[], tuple[Any, Any]],
    check: str,
    debug: bool,
    early_stop: bool,
    args: tuple[Tensor, ...],
    kwargs: dict[str, object],
) -> Tensor | tuple[Tensor, ...]:
    if _Settings.debug is not None:
        debug = _Settings.debug
    if debug and context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    if check not in _CHECKS:
        raise ValueError(f"determinism_check should be one of {list(_CHECKS)}, but got {check}")
    forward_context, again_context = context_fn()
    if not _core.is_grad_enabled():
        return function(*args, **kwargs)
    surroundings = _Surroundings(preserve)

    def again(keywords: dict[str, object], *positional: object) -> None:
        with surroundings.again(), again_context:
            function(*positional, **keywords)

    if _Settings.early_stop is not None:
        early_stop = _Settings.early_stop
    frame = _Frame(again, early_stop, check, debug)
    given = (kwargs, *args)
    frame.places = [i for i, a in enumerate(given) if isinstance(a, Tensor)]
    frame.constants = [None if isinstance(a, Tensor) else a for a in given]
    dummy = cpu.made((0,), float32).requires_grad_()
    frame.inputs = _SaveInputs.apply(dummy, *[given[i] for i in frame.places])
    with saved_tensors_hooks(frame.pack, frame.unpack), forward_context:
        result = function(*args, **kwargs)
    frame.first_run_ended = True
    return result


# ---- with reentrance


def check_backward_validity(inputs: Any) -> None:
    """Warn when no input wants a gradient.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     torch.utils.checkpoint.check_backward_validity([torch.ones(1)])
    >>> len(said)
    1
    """
    if not any(t.requires_grad for t in inputs if isinstance(t, Tensor)):
        warn("None of the inputs have requires_grad=True. Gradients will be None")


def detach_variable(inputs: object) -> tuple[Any, ...]:
    """Copies of tensors without history that want a gradient where the originals do.

    >>> x = torch.ones(1, requires_grad=True) * 2
    >>> (copy,) = torch.utils.checkpoint.detach_variable((x,))
    >>> copy.is_leaf, copy.requires_grad
    (True, True)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: "
            + type(inputs).__name__
        )
    made = []
    for value in inputs:
        if isinstance(value, Tensor):
            wanted = value.requires_grad
            value = value.detach()
            value.requires_grad = wanted
        made.append(value)
    return tuple(made)


class CheckpointFunction(autograd.Function):
    """The node of a reentrant checkpoint: its backward runs the region again,
    and a backward of it.

    >>> x = torch.ones(1, requires_grad=True)
    >>> y = torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=True)
    >>> y.grad_fn.name()
    'CheckpointFunctionBackward'
    """

    recomputed = True  # read by `explain`

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: object) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = _Surroundings(preserve_rng_state)
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.constants = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: object) -> Any:
        if _core.restricted():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, you can "
                "either set use_reentrant=False, or call .backward() without passing "
                "the `inputs` argument."
            )
        given = list(ctx.constants)
        for place, value in zip(ctx.places, ctx.saved_tensors, strict=True):
            given[place] = value
        inputs = detach_variable(tuple(given))
        before = _core.set_grad_enabled(True)
        try:
            with ctx.surroundings.again():
                outputs = ctx.run_function(*inputs)
        finally:
            _core.set_grad_enabled(before)
        if isinstance(outputs, Tensor):
            outputs = (outputs,)
        pairs = [
            (o, g)
            for o, g in zip(outputs, grads, strict=False)
            if isinstance(o, Tensor) and o.requires_grad
        ]
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        autograd.backward([o for o, _ in pairs], [g for _, g in pairs])
        return (
            None,
            None,
            *(x._grad if isinstance(x, Tensor) and x.is_leaf else None for x in inputs),
        )


def checkpoint(
    function: Callable[..., object],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[object, object]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Run `function(*args, **kwargs)` without keeping what it saves for backward:
    it is run again then.

    use_reentrant=False is recommended: it takes keyword arguments, works with `autograd.grad`,
    nested and for higher derivatives. preserve_rng_state (default True): the second run draws the
    same random numbers. context_fn gives two context managers, for the first and the second run.
    determinism_check: compare shapes and types of what is computed again ("default") or not
    ("none").

    >>> x = torch.tensor(0.0, requires_grad=True)
    >>> y = torch.utils.checkpoint.checkpoint(lambda t: t.exp().sin(), x, use_reentrant=False)
    >>> y.backward()
    >>> x.grad
    tensor(0.5403)
    """
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
            "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an "
            "exception. use_reentrant=False is recommended, but if you need to preserve the "
            "current default behavior, you can pass use_reentrant=True. "
            "Refer to docs for more details on the differences between the two variants."
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if switches.watching and preserve and not use_reentrant and context_fn is noop_context_fn:
        # A replay keeps what it needs, and computes nothing twice: the same values.
        before = _core.capture_region(-1)
        try:
            return function(*args, **kwargs)
        finally:
            _core.capture_region(before)
    if not use_reentrant:
        return _checkpoint_without_reentrance(
            function, preserve, context_fn, determinism_check, debug, early_stop, args, kwargs
        )
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug:
        raise ValueError(
            "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
        )
    return CheckpointFunction.apply(function, preserve, *args)


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Tensor,
    use_reentrant: bool | None = None,
    **kwargs: object,
) -> Tensor:
    """Run functions (or the modules of a Sequential) one after the other in checkpointed segments.

    The last segment is run as usual: its values are needed first.

    >>> layers = [torch.sin, torch.exp, torch.tanh, torch.square]
    >>> x = torch.tensor([0.5], requires_grad=True)
    >>> y = torch.utils.checkpoint.checkpoint_sequential(layers, 2, x, use_reentrant=False)
    >>> y.backward()
    >>> x.grad
    tensor([0.3834])
    """
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be "
            "passed explicitly. In version 2.9 we will raise an exception if use_reentrant is not "
            "passed. use_reentrant=False is recommended, but if you need to preserve the current "
            "default behavior, you can pass use_reentrant=True. "
            "Refer to docs for more details on the differences between the two variants."
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def segment(start: int, stop: int) -> Callable[[Any], Any]:
        def run(value: Tensor) -> Tensor:
            for step in steps[start:stop]:
                value = step(value)
            return value

        return run

    size = len(steps) // segments
    last = 0
    for start in range(0, size * (segments - 1), size):
        last = start + size
        input = checkpoint(
            segment(start, last), input, use_reentrant=use_reentrant, preserve_rng_state=preserve
        )
    return segment(last, len(steps))(input)


__getattr__ = _missing_name(__name__)
