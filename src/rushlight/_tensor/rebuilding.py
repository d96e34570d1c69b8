"""The functions with which plain pickles rebuild tensors and storages, and the parts of tensors in
pickles that name torch (`_pickled.root`).

The functions are `torch._utils`', where files look for them.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from functools import cache
from typing import Any

from .. import _core
from .._base import dtypes
from .._base.device import cpu
from .._base.pickled import OURS, root
from .._core import Tensor
from ..ops.making.from_data import from_numpy
from ..ops.table.statement import LAZY
from ..storage import TypedStorage, UntypedStorage, _load_from_bytes, content_of, from_bytes, typed

STREAM_MAGIC = 0x1950A86A20F9469CFC6C
STREAM_VERSION = 1001


def with_bits(t: Any, conj: bool, neg: bool) -> Any:
    """A new tensor, with the bits of a conjugate or a negative that was put off."""
    t._set_flag(LAZY["conj"], conj and t.dtype.is_complex)
    t._set_flag(LAZY["neg"], neg)
    return t


# ---- what pickles call


def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any) -> Tensor:
    """The tensor that views a typed storage so."""
    return _view(storage, storage.dtype, storage_offset, size, stride)


def _view(storage: Any, dtype: Any, offset: int, size: Any, stride: Any) -> Tensor:
    untyped = getattr(storage, "_untyped_storage", storage)
    return _core.place(untyped, dtype, tuple(size), tuple(stride), offset)


def _rebuild_tensor_v2(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:
    """The same, whether it wants a gradient, and the operations that are put off."""
    dtype = storage.dtype
    return _rebuild_tensor_v3(
        storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata
    )


def _rebuild_tensor_v3(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Tensor:
    """The same of a storage that is bytes."""
    made = _view(storage, dtype, storage_offset, size, stride)
    if metadata:
        with_bits(made, metadata.get("conj", False), metadata.get("neg", False))
    return made.requires_grad_(requires_grad)


def _rebuild_meta_tensor_no_storage(
    dtype: Any, size: Any, stride: Any, requires_grad: bool
) -> Tensor:
    """A tensor on meta."""
    return _core.empty_meta(tuple(size), dtype.code, tuple(stride), requires_grad)


def _rebuild_device_tensor_from_numpy(
    data: Any, dtype: Any, device: Any, requires_grad: bool
) -> Tensor:
    """The tensor on a device with the values of an array."""
    return from_numpy(data).to(dtype=dtype, device=device).requires_grad_(requires_grad)


def _rebuild_from_type_v2(func: Any, new_type: Any, args: Any, state: Any) -> Any:
    """The result of a function as an instance of a class, with attributes from a state."""
    made = func(*args)
    if type(made) is not new_type:
        made = made.as_subclass(new_type)
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
        return made
    return set_attributes(made, state)


def set_attributes(obj: Any, state: Any) -> Any:
    """Gives an object the attributes of a state: a dict, or that and one of slots."""
    for attributes in state if isinstance(state, tuple) else (state,):
        for name, value in (attributes or {}).items():
            setattr(obj, name, value)
    return obj


# ---- what pickles are told


def tensor_parts(self: Any) -> Any:
    """The function and arguments for a tensor in a pickle that PyTorch can read."""
    state = self.__getstate__()
    described: tuple[Any, ...]
    function: Any
    if self.is_meta:
        function = _rebuild_meta_tensor_no_storage
        described = (self.dtype, tuple(self.shape), self.stride(), self.requires_grad)
    else:
        if min(self.stride(), default=0) < 0:  # of an array, and there is no such tensor in PyTorch
            self = self.clone()
        storage: Any = self.untyped_storage()
        place = (self.storage_offset(), tuple(self.shape), self.stride(), self.requires_grad)
        hooks: OrderedDict[int, Any] = OrderedDict()
        bits = {name: True for name in ("conj", "neg") if getattr(self, f"is_{name}")()}
        metadata = (bits,) if bits else ()
        if self.dtype in dtypes.WITHOUT_STORAGE_CLASS:
            function, described = _rebuild_tensor_v3, (storage, *place, hooks, self.dtype)
        else:
            storage = TypedStorage(wrap_storage=storage, dtype=self.dtype, _internal=True)
            function, described = _rebuild_tensor_v2, (storage, *place, hooks)
        described = (*described, *metadata)
    if type(self) is Tensor and not state:
        return function, described
    return _rebuild_from_type_v2, (function, type(self), described, state or {})


def storage_stream(storage: Any) -> bytes:
    """A storage as a file of the format before PyTorch 1.6, which holds nothing else."""
    typed = isinstance(storage, TypedStorage)
    dtype = storage.dtype if typed else None
    if dtype in dtypes.WITHOUT_STORAGE_CLASS:
        raise KeyError(f"dtype {dtype} is not recognized")
    untyped = storage._untyped_storage if typed else storage
    data = content_of(untyped)
    count = len(data) if dtype is None else len(data) // dtype.itemsize
    kind = (
        "torch.storage\nUntypedStorage" if dtype is None else f"torch\n{dtype.scalar_name}Storage"
    )
    where = str(cpu if untyped._accelerator is None else untyped.device)
    begin, end = _around_count(kind, where)
    return b"".join((begin, _inside(count), end, count.to_bytes(8, sys.byteorder), data))


@cache
def _around_count(kind: str, where: str) -> tuple[bytes, bytes]:
    """The bytes of such a file before the number of elements, and between number and elements."""
    import pickle

    head = b"".join(pickle.dumps(each, 2) for each in stream_head())
    begin = (
        *(head, pickle.PROTO + b"\2", pickle.MARK, _inside("storage")),
        *(pickle.GLOBAL, kind.encode(), b"\n", _inside("0"), _inside(where)),
    )
    end = (_inside(None), pickle.TUPLE, pickle.BINPERSID, pickle.STOP, pickle.dumps(["0"], 2))
    return b"".join(begin), b"".join(end)


def stream_head() -> tuple[Any, ...]:
    """The first objects of a file of the format before PyTorch 1.6."""
    sizes = {"short": 2, "int": 4, "long": 4}
    facts = {
        "protocol_version": STREAM_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": sizes,
    }
    return STREAM_MAGIC, STREAM_VERSION, facts


def _inside(value: object) -> bytes:
    """A value as it stands within a pickle: without the head and the stop."""
    import pickle

    return pickle.dumps(value, 2)[2:-1]


def _reduce_untyped(self: Any) -> Any:
    if self._is_meta:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if root() != OURS:
        return _load_from_bytes, (storage_stream(self),)
    content = (content_of(self),)
    return from_bytes, content if self._accelerator is None else (*content, self.device)


def _reduce_typed(self: TypedStorage) -> Any:
    if root() != OURS:
        return _load_from_bytes, (storage_stream(self),)
    return typed, (self._untyped_storage, self.dtype)


setattr(UntypedStorage, "__reduce__", _reduce_untyped)  # noqa: B010  its stub has none
setattr(TypedStorage, "__reduce__", _reduce_typed)  # noqa: B010

for _function in (
    _rebuild_tensor,
    _rebuild_tensor_v2,
    _rebuild_tensor_v3,
    _rebuild_meta_tensor_no_storage,
    _rebuild_device_tensor_from_numpy,
):
    _function.__module__ = "rushlight._utils"
_rebuild_from_type_v2.__module__ = "rushlight._tensor"
