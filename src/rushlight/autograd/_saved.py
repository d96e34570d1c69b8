"""Saved-tensor hooks: what nodes keep for backward goes through `pack` when saved
and `unpack` when used."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

from .. import _core
from .._base.outside import np
from .._core import Node, Tensor
from .._levels.running import carried

__all__ = [
    "SavedTensor",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class _State(threading.local):
    """Why entering hooks is refused on a thread. The hooks in force are the core's."""

    refusal: str | None = None


_state = _State()
carried.append(_state)


class saved_tensors_hooks:
    """Inside the block, tensors that nodes save go through `pack_hook`,
    and through `unpack_hook` when used.

    The innermost block wins. `unpack_hook` must give a tensor with the values that were packed.

    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), torch.from_numpy):
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor([4.])
    """

    pack_hook: Callable[..., Any]
    unpack_hook: Callable[..., object]

    def __init__(
        self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], object]
    ) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if _state.refusal is not None:
            raise RuntimeError(_state.refusal)
        _core.push_saved_hooks(self.pack_hook, self.unpack_hook)

    __enter__ = _core.beginning(__enter__, lambda self: None)
    __exit__: Callable[..., None] = _core.c_method(_core.pop_saved_hooks)


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in main memory, where everything is already: no effect on values.

    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> with torch.autograd.graph.save_on_cpu():
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor(4.)
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda t: t, lambda t: t)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside the block, entering `saved_tensors_hooks` is an error with the given message.

    >>> with torch.autograd.graph.disable_saved_tensors_hooks("no hooks in here"):
    ...     with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    ...         pass
    Traceback (most recent call last):
        ...
    RuntimeError: no hooks in here...
    """
    before = _state.refusal
    if _core.has_saved_hooks():
        raise RuntimeError(error_message)
    _state.refusal = error_message
    try:
        yield
    finally:
        _state.refusal = before


def hooks_are_enabled() -> bool:
    """Whether hooks on saved tensors may be entered on this thread."""
    return _state.refusal is None


class SavedTensor:
    """A value that a node keeps, before unpacking: `node._raw_saved_<name>`."""

    _node: Any
    _index: int

    __module__ = "torch._C._autograd"

    def __init__(self, *args: Any) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    @classmethod
    def _of(cls, node: Node, index: int) -> SavedTensor:
        self = object.__new__(cls)
        self._node, self._index = node, index
        return self

    def register_hooks(self, *hooks: Callable[[Any], Any]) -> None:
        """Given (pack_hook, unpack_hook): run the value through the first now, and through the
        second when it is used."""
        if len(hooks) != 2 or not all(map(callable, hooks)):
            raise TypeError(
                "register_hooks(): incompatible function arguments. The following argument types "
                "are supported:\n    1. (self: torch._C._autograd.SavedTensor, arg0: "
                "collections.abc.Callable, arg1: collections.abc.Callable) -> None\n\n"
                "Invoked with: " + ", ".join(map(repr, (self, *hooks)))
            )
        self._node._pack_one(self._index, hooks)

    def unpack(self) -> Tensor:
        """The value, as the rule would see it."""
        return self._node._unpack_one(self._index)

    @property
    def unpack_hook(self) -> Any:
        """The unpack hook, or None."""
        packed = self._node._packed(self._index)
        return None if packed is None else packed[1]

    @property
    def data(self) -> Any:
        """The object that the node keeps: the value, or the pack hook's result."""
        packed = self._node._packed(self._index)
        return self.unpack() if packed is None else packed[0]


# ---- allow_mutation_on_saved_tensors


class _Handle:
    """Stands for one version of a tensor that was saved, once or several times."""

    __slots__ = ("__weakref__", "context")

    def __init__(self, context: _Mutation) -> None:
        self.context = context


class _Mutation:
    """The saved tensors of a block of `allow_mutation_on_saved_tensors`: unchanged tensors, and
    copies of changed tensors, as long as somebody keeps the handles."""

    def __init__(self) -> None:
        self.original: MutableMapping[_Handle, Any] = weakref.WeakKeyDictionary()
        self.cloned: MutableMapping[_Handle, Any] = weakref.WeakKeyDictionary()
        self.tid_to_weakhandle: MutableMapping[Any, _Handle] = weakref.WeakValueDictionary()

    def clear(self) -> None:
        """Forget all that was saved: backward can no longer use it."""
        self.original.clear()
        self.cloned.clear()
        self.tid_to_weakhandle.clear()


_allowing: _Mutation | None = None


def _pack(tensor: Tensor) -> _Handle:
    context = _allowing
    assert context is not None
    array = tensor._seen
    shown = array.shape, array.strides, tensor.dtype, tensor.is_conj(), tensor.is_neg()
    layout = tensor.data_ptr(), *shown, tensor._version
    handle = context.tid_to_weakhandle.get(layout)
    if handle is None:
        handle = context.tid_to_weakhandle[layout] = _Handle(context)
        # An alias: the program may give its own tensor another shape or memory.
        context.original[handle] = tensor.detach()
    return handle


def _unpack(handle: _Handle) -> Tensor:
    context = handle.context
    found = context.cloned.get(handle)
    if found is None:
        found = context.original.get(handle)
    if found is None or _allowing is None:
        raise AssertionError(
            "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
            "in which the graph was originally recorded."
        )
    return found


def _before_write(tensor: Tensor) -> None:
    """Called before an in-place write: values that were saved from this memory are cloned."""
    context = _allowing
    if context is None:
        return
    written = tensor._seen
    for handle, saved in list(context.original.items()):
        if np.may_share_memory(saved._seen, written):
            context.cloned[handle] = saved.clone()
            del context.original[handle]


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_Mutation]:
    """Inside the block, tensors saved for backward may be changed in place: they are cloned first.

    The backward must run inside the block too; blocks do not nest.

    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x * 3
    ...     z = y * y
    ...     _ = y.zero_()
    ...     z.backward()
    >>> x.grad
    tensor(36.)
    """
    global _allowing
    if _allowing is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = _Mutation()
    with saved_tensors_hooks(_pack, _unpack):
        _allowing = context
        _core.watch_writes(True)
        try:
            yield context
        finally:
            _allowing = None
            _core.watch_writes(False)
            context.clear()
