"""Handles by which a registered hook is taken off again: of tensors, nodes, modules, optimizers."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from .errors import warn

Hooks = OrderedDict[int, Any]  # by the numbers of their handles
Numbered = list[tuple[int, Any]]
_State = tuple[Any, int, tuple[Any, ...]]

runs: Any = None  # `HookRuns`, while anybody follows the calls
# Held while hooks are added, removed or listed: without a GIL CPython's OrderedDict has no lock of
# its own. A finalizer that runs meanwhile may come here again.
tables_lock = threading.RLock()


def run_hook(kind: str, number: int, hook: Callable[..., object], *values: object) -> Any:
    """The result of a hook in a backward, which has that number."""
    return hook(*values) if runs is None else runs.run(kind, number, hook, *values)


def add_hook(
    hooks: Hooks, hook: object, *flags: tuple[Hooks, bool], prepend: bool = False
) -> RemovableHandle:
    """Put a hook in a mapping, and before that the flags that are on in theirs."""
    handle = RemovableHandle(hooks, extra_dict=[table for table, _ in flags])
    with tables_lock:
        for table, on in flags:
            if on:
                table[handle.id] = True
        hooks[handle.id] = hook
        if prepend:
            hooks.move_to_end(handle.id, last=False)
    return handle


def listed(*tables: dict[int, object]) -> Numbered:
    """The hooks of mappings, as they stand now."""
    with tables_lock:
        return [item for table in tables for item in table.items()]


class RemovableHandle:
    """Removes one hook from the mapping where the hook is registered; also a context manager.

    The mapping is held weakly: a handle never keeps a module or an optimizer alive. `extra_dict`
    names further mappings (or a list of them) that carry flags under the same id.

    >>> x = torch.ones(1, requires_grad=True)
    >>> with x.register_hook(lambda g: g * 10):
    ...     (2 * x).backward()
    >>> x.grad
    tensor([20.])
    """

    __slots__ = ("__weakref__", "extra_dict_ref", "hooks_dict_ref", "id")

    next_id: int = 0
    id: int
    hooks_dict_ref: weakref.ref[Any]
    extra_dict_ref: tuple[weakref.ref[Any], ...]

    __module__ = "rushlight.utils.hooks"

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        with tables_lock:
            self.id = RemovableHandle.next_id
            RemovableHandle.next_id += 1
        if runs is not None:
            runs.registered(self.id)
        extra = extra_dict if isinstance(extra_dict, list) else [extra_dict]
        self.extra_dict_ref = tuple(weakref.ref(table) for table in extra if table is not None)

    def remove(self) -> None:
        """Takes the hook off; a second call does nothing."""
        removed = []  # to be dropped without the lock: a hook's finalizer is the program's
        with tables_lock:
            for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
                if (mapping := ref()) is not None:
                    removed.append(mapping.pop(self.id, None))

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, kind: object, value: object, traceback: object) -> None:
        self.remove()

    def __getstate__(self) -> _State:
        return self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref)

    def __setstate__(self, state: _State) -> None:
        hooks_dict, self.id, extra = state
        self.hooks_dict_ref = weakref.ref(set() if hooks_dict is None else hooks_dict)
        self.extra_dict_ref = tuple(weakref.ref(set() if d is None else d) for d in extra)
        with tables_lock:
            RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn of each hook of a tensor that is about to be saved: hooks are not.

    >>> torch.utils.hooks.warn_if_has_hooks(torch.ones(1)) is None
    True
    """
    for _, hook in listed(tensor._backward_hooks or {}):
        if not hasattr(hook, "__torch_unserializable__"):
            warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, "
                "you can decorate the function with @torch.utils.hooks.unserializable_hook to "
                "suppress this warning"
            )
