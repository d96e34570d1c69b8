"""`torch.compile` and `torch.compiler`: calls are captured and replayed (`rushlight._capture`)."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, overload

from .. import _core
from .._base.missing import missing_name as _missing_name
from ..nn.modules.module import Module

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "disable",
    "explain",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "keep_portable_guards_unsafe",
    "keep_tensor_guards_unsafe",
    "nested_compile_region",
    "reset",
    "set_default_backend",
    "set_enable_guard_collectives",
    "set_stance",
    "skip_all_guards_unsafe",
    "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe",
    "substitute_in_graph",
    "wrap_numpy",
]

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])


def compile(
    model: object = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., object] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: object = None,
) -> Any:
    """A function whose calls are captured, and then replayed without Python: the same bits, or an
    eager call. Of a module an OptimizedModule. Also a decorator.

    The first calls are eager. What cannot be captured stays eager and says why, once; with
    `fullgraph` that is an error. `backend="eager"` or `disable` leave the function as it is; the
    other settings are PyTorch's, and change nothing.

    >>> @torch.compile
    ... def energy(x):
    ...     return (x.sin() ** 2).sum()
    >>> for _ in range(4):
    ...     e = energy(torch.ones(2))
    >>> energy.explain().splitlines()[0]
    'energy, captured run 1: 3 steps, 128 bytes of memory (eager: 20)'
    """
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if disable or backend == "eager":
        return _as_it_is if model is None else model
    made = functools.partial(_compiled, fullgraph=fullgraph)
    return made if model is None else made(model)


class OptimizedModule(Module):
    """The result of `torch.compile` for a module. Calls and attributes go to the module, its
    `_orig_mod`."""

    _orig_mod: Module

    def __init__(self, mod: Module, dynamo_ctx: object = None, fullgraph: bool = False) -> None:
        super().__init__()
        self._modules["_orig_mod"] = mod
        self.training = mod.training
        self._compiled = _function(mod, fullgraph)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module, or replay a call."""
        return self._compiled(*args, **kwargs)

    def explain(self) -> str:
        """Say what was captured, or why nothing was."""
        said: str = self._compiled.explain()
        return said

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._orig_mod, None, self._compiled.fullgraph)

    def __getattr__(self, name: str) -> Any:
        module = self.__dict__.get("_modules", {}).get("_orig_mod")
        if name == "_orig_mod" or module is None:
            return super().__getattr__(name)
        return getattr(module, name)

    def __setattr__(self, name: str, value: object) -> None:
        module = self.__dict__.get("_modules", {}).get("_orig_mod")
        if module is None or name in _OWN:
            super().__setattr__(name, value)
        else:
            setattr(module, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *dir(self._orig_mod)]

    def train(self, mode: bool = True) -> OptimizedModule:
        """Set both to training or evaluation."""
        super().train(mode)
        return self


_OWN = frozenset((*vars(Module()), "_orig_mod", "_forward", "forward", "__class__", "_compiled"))


def _function(function: Any, fullgraph: bool) -> Any:
    from .._capture.run import Compiled

    return function if isinstance(function, Compiled) else Compiled(function, fullgraph=fullgraph)


def _compiled(model: Any, fullgraph: bool) -> Any:
    if isinstance(model, Module):
        return OptimizedModule(model, None, fullgraph)
    return _function(model, fullgraph) if callable(model) else model


def _as_it_is(fn: _T) -> _T:
    return fn


@overload
def disable(fn: _T, recursive: bool = True, *, reason: str | None = None) -> _T: ...
@overload
def disable(
    fn: None = None, recursive: bool = True, *, reason: str | None = None
) -> Callable[[_T], _T]: ...
def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself; also a decorator with options. Compiled functions that call it run
    eagerly: what it does is not captured.

    >>> @torch.compiler.disable(recursive=False)
    ... def plain(x):
    ...     return x
    >>> plain(2)
    2
    """
    from .._capture import calls

    if fn is None:
        return disable
    fn = getattr(fn, "_torchdynamo_orig_callable", fn)
    if not isinstance(fn, (type, Module)):
        calls.KEPT_OUT.add(calls.told_of(fn))
    return fn


def allow_in_graph(fn: _T) -> _T:
    """The function itself, in Python or in C, which is from now on taken for one whose result is a
    matter of its arguments: what it calls and reads is not looked at, when a call is captured.

    >>> import time
    >>> torch.compiler.allow_in_graph(time.gmtime) is time.gmtime
    True
    """
    from .._capture import calls

    for f in fn if isinstance(fn, (list, tuple)) else [fn]:
        calls.PURE.add(calls.told_of(f))
    return fn


def assume_constant_result(fn: _T) -> _T:
    """The same of a function whose result is always that of the captured call."""
    return allow_in_graph(fn)


def wrap_numpy(fn: _T) -> _T:
    """A function as it is."""
    return fn


def nested_compile_region(
    fn: object = None,
    *,
    options: object = None,
    max_reuse_entries: int = 8,
    reuse_hash_fn: object = None,
) -> Any:
    """A function as it is; also a decorator with options."""
    return _as_it_is if fn is None else fn


def substitute_in_graph(
    original_fn: Callable[..., object],
    *,
    can_constant_fold_through: bool = False,
    skip_signature_check: bool = False,
) -> Callable[[_F], _F]:
    """A decorator that gives the function as it is."""
    return _as_it_is


def is_compiling() -> bool:
    """Whether a call is being captured on this thread.

    >>> torch.compiler.is_compiling()
    False
    """
    return _core.capturing()


def is_dynamo_compiling() -> bool:
    """Whether a call is being captured on this thread.

    >>> torch.compiler.is_dynamo_compiling()
    False
    """
    return _core.capturing()


class ExplainOutput:
    """The answer of `torch._dynamo.explain`: `graph_count` captured runs, the reasons, a text."""

    def __init__(self, text: str, runs: int, ops: int, reasons: list[str]) -> None:
        self.graph_count, self.op_count = runs, ops
        self.graph_break_count, self.break_reasons = len(reasons), reasons
        self.graphs: list[object] = []
        self._text = text

    def __str__(self) -> str:
        return self._text


def explain(f: Callable[..., Any], *extra: Any, **kwargs: Any) -> Any:
    """Call a function three times, and say what was captured.

    >>> print(torch._dynamo.explain(lambda x: x + 1)(torch.ones(2)).graph_count)
    1
    """

    def asked(*args: Any, **kwargs: Any) -> ExplainOutput:
        compiled = _function(getattr(f, "_torchdynamo_orig_callable", f), False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(3):
                compiled(*args, **kwargs)
        steps = sum(len(v.program.describe()[0]) for v in compiled.variants)
        why = compiled.trouble or compiled.why
        reasons = [] if compiled.variants or not why else [why]
        return ExplainOutput(compiled.explain(), len(compiled.variants), steps, reasons)

    return asked(*extra, **kwargs) if extra or kwargs else asked


def reset() -> None:
    """Forget all captured calls."""
    from .._capture import run

    run.reset()


def is_exporting() -> bool:
    """False: nothing is exported.

    >>> torch.compiler.is_exporting()
    False
    """
    return False


_backend: str | Callable[..., object] = "inductor"


def get_default_backend() -> str | Callable[..., Any]:
    """The setting of `set_default_backend`; nothing uses it.

    >>> torch.compiler.get_default_backend()
    'inductor'
    """
    return _backend


def set_default_backend(backend: str | Callable[..., object] | None) -> None:
    """Keep the setting; nothing uses it."""
    global _backend
    _backend = "inductor" if backend is None else backend


class set_stance(contextlib.ContextDecorator):
    """Set what compiled functions do, also as a context: "default"; "force_eager", call the
    function; any other, replay what is captured and capture nothing new."""

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: str | Callable[..., Any] | None = None,
    ) -> None:
        from .._capture import run

        self.stance, self._set = stance, run.set_stance
        self._before = run.set_stance(stance)

    def __enter__(self) -> None:
        self._set(self.stance)

    def __exit__(self, *exc: object) -> None:
        self._set(self._before)


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Keep the setting and give the one before; nothing uses it."""
    global _collectives
    before, _collectives = _collectives, enabled
    return before


_collectives = False


def _keep_all(guard_entries: list[object], *args: object, **kwargs: object) -> list[bool]:
    """A filter of guards that keeps each: nothing asks for it."""
    return [True for _ in guard_entries]


def keep_tensor_guards_unsafe(
    guard_entries: list[Any], keep_parameters: bool = False
) -> list[bool]:
    """A filter of guards that keeps each: nothing asks for it."""
    return _keep_all(guard_entries)


keep_portable_guards_unsafe = skip_all_guards_unsafe = _keep_all
skip_guard_on_all_nn_modules_unsafe = skip_guard_on_globals_unsafe = _keep_all
skip_guard_on_inbuilt_nn_modules_unsafe = _keep_all


__getattr__ = _missing_name(__name__)
