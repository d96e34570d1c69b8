"""Registering hooks: the methods of `Module` that do it, and the functions for hooks common to all
modules.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..._base.handles import RemovableHandle
from ..._base.handles import add_hook as add
from ._calling import GLOBAL

_ONE_KIND = (
    "Cannot use both regular backward hooks and full backward hooks on a "
    "single Module. Please use only one of them."
)
_ONE_GLOBAL_KIND = (
    "Cannot use both regular backward hooks and full backward hooks as a "
    "global Module hook. Please use only one of them."
)


class LazyHooks:
    """A mapping of hooks that comes into being when it is first asked for.

    Most modules never have a hook, so they carry none of these dicts. `on_call` marks the kinds
    that `Module.__call__` must run: once such a mapping exists, its module leaves the plain path.
    """

    __slots__ = ("name", "on_call")

    def __init__(self, *, on_call: bool = False) -> None:
        self.on_call = on_call

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, module: object, owner: type) -> Any:
        if module is None:
            return self
        hooks = module.__dict__.get(self.name)
        if hooks is None:
            hooks = module.__dict__.setdefault(self.name, OrderedDict())
            self.__set__(module, hooks)
        return hooks

    def __set__(self, module: object, hooks: object) -> None:
        module.__dict__[self.name] = hooks
        if self.on_call:
            module.__dict__["_plain"] = False

    def __delete__(self, module: object) -> None:
        module.__dict__.pop(self.name, None)


class HookMethods:
    """The part of `Module` by which hooks are put on one module."""

    _plain: bool = True  # no hook was ever registered: a call is `forward`
    _is_full_backward_hook: bool | None = None

    _forward_pre_hooks = LazyHooks(on_call=True)
    _forward_hooks = LazyHooks(on_call=True)
    _backward_pre_hooks = LazyHooks(on_call=True)
    _backward_hooks = LazyHooks(on_call=True)
    _forward_pre_hooks_with_kwargs = LazyHooks()
    _forward_hooks_with_kwargs = LazyHooks()
    _forward_hooks_always_called = LazyHooks()
    _state_dict_hooks = LazyHooks()
    _state_dict_pre_hooks = LazyHooks()
    _load_state_dict_pre_hooks = LazyHooks()
    _load_state_dict_post_hooks = LazyHooks()

    def register_forward_pre_hook(
        self, hook: Callable[..., object], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """`hook(module, args)` before `forward`; what it returns replaces the arguments.

        With `with_kwargs` it is called as `hook(module, args, kwargs)` and returns both or None.

        >>> layer = nn.Identity()
        >>> handle = layer.register_forward_pre_hook(lambda module, args: (args[0] * 10,))
        >>> layer(torch.tensor([1.0]))
        tensor([10.])
        """
        flags = self._forward_pre_hooks_with_kwargs, with_kwargs
        return add(self._forward_pre_hooks, hook, flags, prepend=prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., object],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """`hook(module, args, output)` after `forward`; what it returns replaces the output.

        With `with_kwargs`: `hook(module, args, kwargs, output)`. With `always_call` the hook runs
        even when the call fails.

        >>> shapes = []
        >>> layer = nn.Linear(3, 2)
        >>> handle = layer.register_forward_hook(lambda module, args, y: shapes.append(y.shape))
        >>> y = layer(torch.zeros(5, 3))
        >>> handle.remove()
        >>> shapes
        [torch.Size([5, 2])]
        """
        kwargs = self._forward_hooks_with_kwargs, with_kwargs
        always = self._forward_hooks_always_called, always_call
        return add(self._forward_hooks, hook, kwargs, always, prepend=prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., object], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(module, grad_output)` before gradients pass the module; may replace them."""
        return add(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., object], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(module, grad_input, grad_output)` when both are known; may replace `grad_input`.

        >>> layer = nn.Linear(3, 2)
        >>> handle = layer.register_full_backward_hook(lambda module, inner, outer: print(outer))
        >>> layer(torch.zeros(3)).sum().backward()
        (tensor([1., 1.]),)
        """
        if self._is_full_backward_hook is False:
            raise RuntimeError(_ONE_KIND)
        self._is_full_backward_hook = True
        return add(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """The old kind, on the last node of the output alone: use `register_full_backward_hook`."""
        if self._is_full_backward_hook is True:
            raise RuntimeError(_ONE_KIND)
        self._is_full_backward_hook = False
        return add(self._backward_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """`hook(module, prefix, keep_vars)` before `state_dict` reads the module."""
        return add(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """`hook(module, state_dict, prefix, local_metadata)` after; changes it in place."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return add(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """As `register_state_dict_post_hook`, but the hook may return another dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was "
                "previously registered via register_state_dict_post_hook"
            )
        return add(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """`hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors)`
        before the module's own entries are loaded.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., object], with_module: bool = False
    ) -> RemovableHandle:
        wrapped = _WrappedHook(hook, self if with_module else None)
        return add(self._load_state_dict_pre_hooks, wrapped)

    def register_load_state_dict_post_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """`hook(module, incompatible_keys)` after loading; may change the lists in place."""
        return add(self._load_state_dict_post_hooks, hook)


class NoHooks(OrderedDict[int, Any]):
    """Stands in a module's state for hooks that it does not have: pickled as an empty OrderedDict,
    and cheap to copy."""

    def __reduce__(self) -> Any:
        return OrderedDict, (), None, None, iter(self.items())

    def __copy__(self) -> OrderedDict[int, Any]:
        return OrderedDict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> OrderedDict[int, Any]:
        return OrderedDict(self)


NAMES = [name for name, hooks in vars(HookMethods).items() if isinstance(hooks, LazyHooks)]
ON_CALL = [name for name, hooks in vars(HookMethods).items() if getattr(hooks, "on_call", False)]


class _WrappedHook:
    """A hook before loading; does not keep a module alive that is the first argument."""

    __module__ = "rushlight.nn.modules.module"
    module: Any

    def __init__(self, hook: Callable[..., object], module: object = None) -> None:
        self.hook = hook
        self.with_module = module is not None
        if self.with_module:
            self.module = weakref.ref(module)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, object]:
        state = {"hook": self.hook, "with_module": self.with_module}
        return {**state, "module": self.module()} if self.with_module else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook, self.with_module = state["hook"], state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


# --- hooks common to all modules ---


def _leave_plain_path() -> None:
    HookMethods._plain = False


def register_module_forward_pre_hook(hook: Callable[..., object]) -> RemovableHandle:
    """`hook(module, args)` before the forward of every module."""
    _leave_plain_path()
    return add(GLOBAL.forward_pre, hook)


def register_module_forward_hook(
    hook: Callable[..., object], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """`hook(module, args, output)` after the forward of every module."""
    _leave_plain_path()
    kwargs, always = (GLOBAL.forward_with_kwargs, with_kwargs), (GLOBAL.forward_always, always_call)
    return add(GLOBAL.forward, hook, kwargs, always)


def register_module_full_backward_pre_hook(hook: Callable[..., object]) -> RemovableHandle:
    """`hook(module, grad_output)` before gradients pass any module."""
    _leave_plain_path()
    return add(GLOBAL.backward_pre, hook)


def register_module_full_backward_hook(hook: Callable[..., object]) -> RemovableHandle:
    """`hook(module, grad_input, grad_output)` for every module."""
    if GLOBAL.full_backward is False:
        raise RuntimeError(_ONE_GLOBAL_KIND)
    GLOBAL.full_backward = True
    _leave_plain_path()
    return add(GLOBAL.backward, hook)


def register_module_backward_hook(hook: Callable[..., object]) -> RemovableHandle:
    """The old kind of backward hook, for every module."""
    if GLOBAL.full_backward is True:
        raise RuntimeError(_ONE_GLOBAL_KIND)
    GLOBAL.full_backward = False
    _leave_plain_path()
    return add(GLOBAL.backward, hook)


def register_module_buffer_registration_hook(hook: Callable[..., object]) -> RemovableHandle:
    """`hook(module, name, buffer)` whenever a buffer is registered; may return another."""
    return add(GLOBAL.on_buffer, hook)


def register_module_module_registration_hook(hook: Callable[..., object]) -> RemovableHandle:
    """`hook(module, name, child)` whenever a child is registered; may return another."""
    return add(GLOBAL.on_module, hook)


def register_module_parameter_registration_hook(hook: Callable[..., object]) -> RemovableHandle:
    """`hook(module, name, parameter)` whenever a parameter is registered; may return another."""
    return add(GLOBAL.on_parameter, hook)
