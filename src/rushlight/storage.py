"""Storages: the memory that a tensor and its views share (torch.storage).

`UntypedStorage` is memory as bytes (native/core/untyped_storage.cpp); what is not about memory is
attached here. `TypedStorage` is PyTorch's older form, with elements of a dtype, and `FloatStorage`
and its kin are the still older names of that.
"""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Iterator, Sequence
from operator import index as as_int
from typing import Any

from . import _core
from ._base import dtypes
from ._base.device import DeviceLike, accelerated, cpu, cuda, device, resolve
from ._base.device import device as Device
from ._base.dtypes import dtype
from ._base.errors import warn
from ._base.late import late
from ._core import Tensor
from ._devices import open_accelerator, over
from .ops.making.casts import CASTS
from .ops.making.from_data import tensor as _tensor

__all__ = ["TypedStorage", "UntypedStorage"]

UntypedStorage = _core.UntypedStorage
_META = Device("meta")


def bytes_of(storage: Any) -> Tensor:
    """The bytes of a storage as a tensor on its memory, or on a copy of an accelerator's."""
    if storage._accelerator is not None:
        storage = storage.cpu()
    return _core.place(storage, dtypes.uint8, (storage.nbytes(),), None, 0)


def elements_of(storage: Any, dtype: Any) -> Tensor:
    """The whole elements of a storage as a tensor on its memory."""
    return _core.place(storage, dtype, (storage.nbytes() // dtype.itemsize,), None, 0)


def buffer_of(storage: Any) -> memoryview:
    """The bytes of a storage in main memory, until the storage is resized."""
    import ctypes  # most programs write and read no memory

    block = (ctypes.c_ubyte * storage.nbytes()).from_address(storage.data_ptr())
    block.storage = storage  # which lives as long as the view
    return memoryview(block).cast("B")


def content_of(storage: Any) -> bytes:
    """A copy of the bytes of a storage, wherever they are."""
    return bytes(buffer_of(storage if storage._accelerator is None else storage.cpu()))


def swapped(data: Any, dtype: dtype) -> bytes:
    """The bytes with those of every number turned around."""
    from array import array

    width = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    numbers = array({1: "B", 2: "H", 4: "I", 8: "Q"}[width], bytes(data))
    numbers.byteswap()
    return numbers.tobytes()


def from_bytes(data: Any, where: device = cpu) -> Any:
    """A new storage with those bytes."""
    storage = UntypedStorage(len(data))
    buffer_of(storage)[:] = data
    return storage if where is cpu else storage.to(device=where)


def _load_from_bytes(b: bytes) -> Any:
    """The storage that a plain pickle holds as a file in it."""
    from io import BytesIO

    return late.load(BytesIO(b), weights_only=False)


# ---- UntypedStorage


class _StorageBaseMeta(type):
    """Makes StorageBase the name of all that UntypedStorage is."""

    def __new__(cls, name: str, bases: tuple[type, ...], names: dict[str, Any]) -> Any:
        if not bases:
            return super().__new__(cls, name, bases, names)
        return type(name, tuple([UntypedStorage if b is _StorageBase else b for b in bases]), names)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, UntypedStorage)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, UntypedStorage)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Cannot directly construct StorageBase; subclass it and then construct that"
        )


class _StorageBase(metaclass=_StorageBaseMeta):
    """The base class of PyTorch's storages; here another name for UntypedStorage."""

    __module__ = "torch._C"


_StorageBase.__name__ = _StorageBase.__qualname__ = "StorageBase"


def _new_shared(cls: Any, size: int, *, device: DeviceLike = "cpu") -> Any:
    """A new storage in memory that other processes see."""
    return cls(size, device=device).share_memory_()


def _device(self: Any) -> device:
    if self._is_meta:
        return _META
    return cpu if self._accelerator is None else accelerated(self._accelerator)


def _text(self: Any) -> str:
    end = f"[torch.storage.{type(self).__name__}(device={self.device}) of size {len(self)}]"
    if self._is_meta:
        return f"...\n{end}"
    return " " + "\n ".join(map(str, self.tolist())) + "\n" + end


def _clone(self: Any) -> Any:
    """A copy of the storage."""
    return type(self)(self.nbytes(), device=self.device).copy_(self)


def _deepcopy(self: Any, memo: dict[Any, Any]) -> Any:
    copied = memo.setdefault("torch", {})
    if self._cdata not in copied:
        copied[self._cdata] = self.clone()
    return copied[self._cdata]


def _to(self: Any, *, device: DeviceLike, non_blocking: bool = False) -> Any:
    """The storage on a device: itself where it is there."""
    wanted = open_accelerator(resolve(device))
    if wanted == self.device:
        return self
    return UntypedStorage(self.nbytes(), device=wanted).copy_(self)


def _cuda(self: Any, device: DeviceLike | None = None, non_blocking: bool = False) -> Any:
    """The storage on the device that stands for CUDA's; refused where none does."""
    return self.to(device=cuda(device), non_blocking=non_blocking)


def _type(self: Tensor, dtype: str | type | None = None, non_blocking: bool = False) -> Any:
    """The name of the class."""
    if dtype is None:
        return f"torch.storage.{type(self).__name__}"
    raise TypeError(
        f"type(): an UntypedStorage has no elements to convert to {dtype!r}; take .float() or "
        "another such method of it"
    )


def _converter(dtype: dtype) -> Any:
    def convert(self: Any) -> Any:
        made = bytes_of(self).to(dtype)
        made = made.clone() if dtype is dtypes.uint8 else made
        return TypedStorage(wrap_storage=made.untyped_storage(), dtype=dtype, _internal=True)

    convert.__doc__ = f"A TypedStorage with the bytes as numbers of {dtype.name}."
    return convert


def _only_here(self: Any, name: str) -> None:
    if self._is_meta or self._accelerator is not None:
        raise RuntimeError(f"{name}: only available on CPU")


def _share_fd_cpu_(self: object) -> Any:
    """Refused: `share_memory_` moves memory, and what shares it is no program's affair here."""
    _only_here(self, "_share_fd_")
    raise NotImplementedError("_share_fd_cpu_: the parts of shared memory cannot be had here")


def _share_filename_cpu_(self: object) -> Any:
    """Refused: see `_share_fd_cpu_`."""
    _only_here(self, "_share_filename_")
    raise NotImplementedError("_share_filename_cpu_: the parts of shared memory cannot be had here")


def _write_file(self: Any, f: Any, is_real_file: bool, save_size: bool, element_size: int) -> None:
    """Writes the bytes to a file, after the number of elements where asked."""
    if self._is_meta:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if save_size:
        f.write((self.nbytes() // element_size).to_bytes(8, "little"))
    f.write(content_of(self))


def _share_memory(self: Tensor) -> Tensor:
    """Move the bytes to memory that processes share: processes forked later, and processes that are
    sent a tensor. An accelerator's bytes stay there."""
    if self._accelerator is not None:
        return self
    _only_here(self, "_share_fd_")
    from ._base import shared as _shared  # most programs never share

    return _shared.share(self)


def _is_shared(self: Any) -> bool:
    """Whether processes share the memory; said of an accelerator's too, as PyTorch does."""
    return self._accelerator is not None or getattr(self._owner, "is_shared", False)


def _byteswap(self: Any, dtype: Any) -> None:
    """Turn the bytes of every number around, in place."""
    width = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    if self.nbytes() % width:
        raise RuntimeError(f"the length of data is not a multiple of {width}")
    self.copy_(from_bytes(swapped(content_of(self), dtype)))


_SWAPPED = {"native": False, "little": sys.byteorder != "little", "big": sys.byteorder != "big"}


def _from_buffer(
    cls: Any,
    buffer: Any,
    byte_order: Any = None,
    count: int = -1,
    offset: int = 0,
    dtype: dtypes.dtype | None = None,
) -> Any:
    """A storage with a copy of what an object with the buffer interface holds: `count` numbers of
    a dtype in a byte order, from byte `offset` on."""
    if dtype is None:
        raise RuntimeError("argument 'dtype' cannot be None")
    data = memoryview(buffer).cast("B")
    item = dtype.itemsize
    if item > 1 and byte_order not in _SWAPPED:
        raise ValueError(
            f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')"
        )
    if not 0 <= offset <= len(data):
        raise ValueError(
            f"offset must be non-negative and no greater than buffer length ({len(data)}), got "
            f"{offset}"
        )
    if count < 0:
        if (len(data) - offset) % item:
            raise ValueError(
                f"buffer size ({len(data)}) must be a multiple of element size ({item})"
            )
        count = (len(data) - offset) // item
    if offset + count * item > len(data):
        raise ValueError(
            f"buffer has only {len(data) - offset} elements after offset {offset}, but specified a "
            f"size of {count}"
        )
    made = from_bytes(data[offset : offset + count * item])
    if item > 1 and _SWAPPED[byte_order]:
        made.byteswap(dtype)
    return made


class _Mapped(mmap.mmap):
    """A file's memory, to which writes go; or a copy of what is written."""

    filename: str | None = None


def mapped(filename: str | os.PathLike[str], shared: bool, nbytes: int) -> Tensor:
    """A tensor of bytes over a file's memory: see `torch.from_file`."""
    path = os.fspath(filename)
    try:
        with open(path, "a+b" if shared else "rb") as file:
            have = os.fstat(file.fileno()).st_size
            if have < nbytes and shared:
                file.truncate(nbytes)
    except OSError as error:
        mode = "read-write" if shared else "read-only"
        raise RuntimeError(
            f"unable to open file <{path}> in {mode} mode: {error.strerror} ({error.errno})"
        ) from None
    if have < nbytes and not shared:
        raise RuntimeError(
            f"file <{path}> size <{have}> is smaller than the required mapping size <{nbytes}>"
        )
    if not nbytes:
        return over(bytearray(), dtypes.uint8, (0,))
    access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
    with open(path, "r+b" if shared else "rb") as file:
        memory = _Mapped(file.fileno(), nbytes, access=access)
    memory.filename = path if shared else None
    return over(memory, dtypes.uint8, (nbytes,))


def _from_file(
    cls: object, filename: str | os.PathLike[str], shared: bool = False, nbytes: int = 0
) -> Any:
    """The storage over a file's first bytes; shared: what is written to it is in the file."""
    return mapped(filename, shared, nbytes).untyped_storage()


def _filename(self: Any) -> str | None:
    owner = self._owner
    return owner.filename if isinstance(owner, _Mapped) else None


def never(doc: str) -> property:
    """An attribute for what no storage or tensor is here."""
    return property(lambda self: False, doc=f"{doc}: never here.")


def _pin_memory(self: Any, device: DeviceLike | None = None) -> Any:
    """A copy that says it is pinned, where an accelerator is used; else the storage."""
    return bytes_of(self).pin_memory().untyped_storage()


def _is_pinned(self: Any, device: DeviceLike | None = None) -> bool:
    """Whether the memory was pinned: `pin_memory` made it."""
    return _core.is_pinned(self)


def _itself(self: object) -> Any:
    """The storage itself."""
    return self


_COMPLEX = {"complex_double": dtypes.complex128, "complex_float": dtypes.complex64}

_METHODS: dict[str, Any] = {
    **{name: _converter(dtype) for name, dtype in (CASTS | _COMPLEX).items()},
    "device": property(_device, doc="Where the memory is."),
    "__repr__": _text,
    "__iter__": lambda self: iter(self.tolist()),
    "__copy__": _clone,
    "__deepcopy__": _deepcopy,
    "__sizeof__": lambda self: object.__sizeof__(self) + self.nbytes(),
    "clone": _clone,
    "cpu": lambda self: self.to(device="cpu"),
    "cuda": _cuda,
    "to": _to,
    "type": _type,
    "untyped": _itself,
    "pin_memory": _pin_memory,
    "byteswap": _byteswap,
    "_new_shared": classmethod(_new_shared),
    "share_memory_": _share_memory,
    "_share_fd_cpu_": _share_fd_cpu_,
    "_share_filename_cpu_": _share_filename_cpu_,
    "_write_file": _write_file,
    "get_device": lambda self: -1 if self._is_meta else self.device.index,
    "is_shared": _is_shared,
    "_fix_weakref": lambda self: None,  # a storage that a program has lost is not kept for it
    "is_pinned": _is_pinned,
    "is_cuda": property(
        lambda self: self.device.type == "cuda", doc="Whether it is the memory of a CUDA device."
    ),
    "is_hpu": never("Whether it is a Gaudi's memory"),
    "is_sparse": False,
    "is_sparse_csr": False,
    "filename": property(_filename, doc="The file that the memory shares; None for other memory."),
    "from_buffer": classmethod(_from_buffer),
    "from_file": classmethod(_from_file),
}
for _name, _value in _METHODS.items():
    setattr(UntypedStorage, _name, _value)
UntypedStorage.__doc__ = """The memory of tensors, as bytes: of a size, or with the bytes of a list.

Every view of a tensor has the tensor's storage.

>>> t = torch.zeros(2, 3)
>>> t.untyped_storage().nbytes()
24
>>> t[1].untyped_storage() is t.untyped_storage()
True
>>> torch.UntypedStorage([1, 2]).tolist()
[1, 2]
"""
UntypedStorage.get_device.__doc__ = "The number of the device; None of the CPU."
UntypedStorage.cpu.__doc__ = "The storage in main memory: itself where it is there."


# ---- TypedStorage

_warned = False


def warn_of_typed() -> None:
    """PyTorch's warning that these classes will go, once."""
    global _warned
    if not _warned:
        _warned = True
        warn(
            "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will "
            "be the only storage class. This should only matter to you if you are using storages "
            "directly.  To access UntypedStorage directly, use tensor.untyped_storage() instead of "
            "tensor.storage()",
        )


class TypedStorage:
    """The memory of tensors as elements of a dtype; deprecated, as in PyTorch.

    >>> s = torch.tensor([1.0, 2.0]).storage()
    >>> s.size(), s.nbytes(), s.tolist()
    (2, 8, [1.0, 2.0])
    """

    is_sparse = False
    __module__ = "torch.storage"

    def __init__(
        self,
        *args: Any,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
        wrap_storage: Any = None,
        _internal: bool = False,
    ) -> None:
        if not _internal:
            warn_of_typed()
        said = (
            "TypedStorage.__init__ received an invalid combination of arguments. Expected one of:\n"
            " * (*, torch.device device, torch.dtype dtype)\n"
            " * (int size, *, torch.device device, torch.dtype dtype)\n"
            " * (Sequence data, *, torch.device device, torch.dtype dtype)\n"
            " * (*, UntypedStorage wrap_storage, torch.dtype dtype)"
        )
        if dtype is not None and not isinstance(dtype, dtypes.dtype):
            raise TypeError(f"{said}\nArgument 'dtype' must be torch.dtype, not {type(dtype)}")
        if wrap_storage is not None:
            if args:
                raise RuntimeError(
                    f"{said}\nNo positional arguments should be given when using 'wrap_storage'"
                )
            if dtype is None:
                raise RuntimeError(f"{said}\nArgument 'dtype' must be specified")
            if device is not None:
                raise RuntimeError(
                    f"{said}\nArgument 'device' should not be specified when 'wrap_storage' is "
                    "given"
                )
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError(
                    f"{said}\nArgument 'wrap_storage' must be UntypedStorage, but got "
                    f"{type(wrap_storage)}"
                )
            self.dtype, self._untyped_storage = dtype, wrap_storage
            return
        self.dtype = dtypes.get_default_dtype() if dtype is None else dtype
        if len(args) > 1:
            raise RuntimeError(f"{said}\nToo many positional arguments")
        what = args[0] if args else 0
        if isinstance(what, Sequence):
            untyped = _tensor(what, dtype=self.dtype).clone().untyped_storage()
            there = None if device is None else resolve(device)
            if there == _META:
                untyped = UntypedStorage(untyped.nbytes(), device=there)
            self._untyped_storage = untyped if there is None else untyped.to(device=there)
            return
        try:
            size = as_int(what)
        except TypeError:
            raise TypeError(f"{said}\nArgument type not recognized: {type(what)}") from None
        self._untyped_storage = UntypedStorage(size * self.dtype.itemsize, device=device)

    def _elements(self) -> Tensor:
        if self._untyped_storage._is_meta:
            raise NotImplementedError("Not available for 'meta' device type")
        return elements_of(self._untyped_storage, self.dtype)

    def _like(self, untyped: object) -> TypedStorage:
        return TypedStorage(wrap_storage=untyped, dtype=self.dtype, _internal=True)

    def _size(self) -> int:
        return int(self._untyped_storage.nbytes() // self.dtype.itemsize)

    def untyped(self) -> Any:
        """The memory as bytes."""
        warn_of_typed()
        return self._untyped_storage

    def __len__(self) -> int:
        warn_of_typed()
        return self._size()

    def size(self) -> int:
        """How many elements it has."""
        warn_of_typed()
        return self._size()

    def nbytes(self) -> int:
        """How many bytes it has."""
        warn_of_typed()
        return int(self._untyped_storage.nbytes())

    def element_size(self) -> int:
        """Bytes an element."""
        warn_of_typed()
        return int(self.dtype.itemsize)

    def data_ptr(self) -> int:
        """The address of the first element; 0 of none."""
        warn_of_typed()
        return int(self._untyped_storage.data_ptr())

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        warn_of_typed()
        return list(self._elements().tolist())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, idx: Any) -> Any:
        warn_of_typed()
        if isinstance(idx, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        self._check_key(idx)
        elements, size = self._elements(), self._size()
        if not -size <= idx < size:
            raise IndexError(f"index {idx} out of range for storage of size {size}")
        return elements[idx].item()

    def __setitem__(self, idx: Any, value: Any) -> None:
        warn_of_typed()
        self._check_key(idx)
        if is_storage(value):
            raise RuntimeError(f"cannot set item with value type {type(value)}")
        elements, size = self._elements(), self._size()
        if not isinstance(idx, slice) and not -size <= idx < size:
            raise IndexError(f"index {idx} out of range for storage of size {size}")
        elements[idx] = value

    def _check_key(self, idx: int) -> None:
        if not isinstance(idx, (int, slice)):
            raise RuntimeError(f"can't index a {type(self)} with {type(idx)}")

    def fill_(self, value: Any) -> TypedStorage:
        """Set every element."""
        warn_of_typed()
        self._elements().fill_(value)
        return self

    def copy_(self, source: Any, non_blocking: bool = False) -> TypedStorage:
        """Take over the elements of another storage of the same size."""
        warn_of_typed()
        if isinstance(source, TypedStorage):
            if source._untyped_storage._is_meta and not self._untyped_storage._is_meta:
                raise NotImplementedError("Cannot copy out of meta tensor; no data!")
            self._elements().copy_(source._elements())
        else:
            self._untyped_storage.copy_(source, non_blocking)
        return self

    def resizable(self) -> bool:
        """Whether `resize_` is allowed."""
        warn_of_typed()
        return bool(self._untyped_storage.resizable())

    def resize_(self, size: int) -> None:
        """Another size, in elements; new ones are not set."""
        warn_of_typed()
        self._resize_(size)

    def _resize_(self, size: int) -> None:
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    def clone(self) -> TypedStorage:
        """A copy of the storage."""
        warn_of_typed()
        return self._like(self._untyped_storage.clone())

    __copy__ = clone

    def __deepcopy__(self, memo: dict[Any, Any]) -> TypedStorage:
        warn_of_typed()
        return self._like(_deepcopy(self._untyped_storage, memo))

    def cpu(self) -> TypedStorage:
        """The storage in main memory."""
        warn_of_typed()
        return self._like(self._untyped_storage.cpu())

    def cuda(self, device: DeviceLike | None = None, non_blocking: bool = False) -> Any:
        """The storage on the device that stands for CUDA's; refused where none does."""
        return self._like(_cuda(self._untyped_storage, device))

    def type(self, dtype: dtypes.dtype | None = None, non_blocking: bool = False) -> Any:
        """The name of the legacy class; a dtype converts."""
        warn_of_typed()
        if dtype is None:
            if self.dtype in dtypes.WITHOUT_STORAGE_CLASS:
                return "torch.storage.TypedStorage"
            return f"torch.{self.dtype.scalar_name}Storage"
        return _cast(self, dtype)

    def share_memory_(self) -> Any:
        """Move the elements to memory that processes share."""
        self._untyped_storage.share_memory_()
        return self

    def is_shared(self) -> bool:
        """Whether processes share the memory."""
        return bool(self._untyped_storage.is_shared())

    def is_pinned(self, device: DeviceLike | None = None) -> bool:
        """Whether the memory was pinned: `pin_memory` made it."""
        return _core.is_pinned(self._untyped_storage)

    def pickle_storage_type(self) -> str:
        """The name that the class has in files."""
        warn_of_typed()
        if self.dtype in dtypes.WITHOUT_STORAGE_CLASS:
            raise KeyError(f"dtype {self.dtype} is not recognized")
        return f"{self.dtype.scalar_name}Storage"

    @classmethod
    def from_buffer(
        cls,
        *args: object,
        dtype: dtypes.dtype | None = None,
        device: DeviceLike | None = None,
        **kwargs: object,
    ) -> Any:
        """A storage with a copy of what an object with the buffer interface holds."""
        warn_of_typed()
        dtype = dtypes.get_default_dtype() if dtype is None else dtype
        made = UntypedStorage.from_buffer(*args, dtype=dtype, **kwargs)
        return TypedStorage(wrap_storage=made, dtype=dtype, _internal=True)

    @classmethod
    def _new_shared(cls, size: int) -> Any:
        """A new storage in memory that other processes see."""
        kind = getattr(cls, "_dtype", None) or dtypes.get_default_dtype()
        made = UntypedStorage._new_shared(size * kind.itemsize)
        return TypedStorage(wrap_storage=made, dtype=kind, _internal=True)

    @property
    def device(self) -> Any:
        """Where the memory is."""
        warn_of_typed()
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        """Whether it is the memory of a CUDA device."""
        return bool(self._untyped_storage.is_cuda)

    @property
    def filename(self) -> str | None:
        """The file that the memory shares; None for other memory."""
        return self._untyped_storage.filename

    @property
    def _cdata(self) -> int:
        return int(self._untyped_storage._cdata)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + int(self._untyped_storage.nbytes())

    def __repr__(self) -> str:
        warn_of_typed()
        end = (
            f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) "
            f"of size {self._size()}]"
        )
        if self._untyped_storage._is_meta:
            return f"...\n{end}"
        return " " + "\n ".join(map(str, self.tolist())) + "\n" + end


def typed(untyped: Any, dtype: dtype) -> TypedStorage:
    return TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)


def _cast(storage: TypedStorage, dtype: dtype) -> TypedStorage:
    if storage._untyped_storage._is_meta:
        return TypedStorage(storage._size(), dtype=dtype, device=_META, _internal=True)
    made = storage._elements().to(dtype)
    made = made.clone() if dtype is storage.dtype else made
    return typed(made.untyped_storage(), dtype)


def _cast_method(dtype: dtype) -> Any:
    def convert(self: Any) -> Any:
        warn_of_typed()
        return _cast(self, dtype)

    convert.__doc__ = f"The storage with elements of {dtype.name}."
    return convert


for _name, _dtype in (CASTS | _COMPLEX).items():
    setattr(TypedStorage, _name, _cast_method(_dtype))


def _of_bytes(name: str) -> Any:
    def method(self: Any, *args: object) -> Any:
        return getattr(self._untyped_storage, name)(*args)

    method.__name__ = name
    return method


for _name in ("_share_fd_cpu_", "_share_filename_cpu_", "_write_file"):
    setattr(TypedStorage, _name, _of_bytes(_name))
TypedStorage._is_shared = _of_bytes("is_shared")  # type: ignore[attr-defined]


class LegacyType(type):
    """The older names: calling one makes a TypedStorage, and those of the dtype are instances."""

    _dtype: Any

    def __call__(cls, *args: Any, wrap_storage: Any = None, **kwargs: Any) -> Any:
        warn_of_typed()
        for name in ("device", "dtype"):
            if kwargs.get(name) is not None:
                raise RuntimeError(
                    f"{cls}.__new__ received an invalid combination of arguments. Expected one of:"
                    "\n * no arguments\n * (int size)\n * (Sequence data)\n"
                    f" * (*, UntypedStorage wrap_storage)\nKeyword argument '{name}' cannot be "
                    "specified"
                )
        return TypedStorage(*args, dtype=cls._dtype, wrap_storage=wrap_storage, _internal=True)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls._dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"

    @property
    def dtype(cls) -> None:
        """The dtype of the elements."""
        warn_of_typed()
        return cls._dtype

    def from_buffer(cls, *args: Any, **kwargs: Any) -> Any:
        """A storage with a copy of what an object with the buffer interface holds."""
        return TypedStorage.from_buffer(*args, dtype=cls._dtype, **kwargs)

    def from_file(cls, filename: str, shared: bool = False, size: int = 0) -> Any:
        """A storage over the memory of a file, of so many elements."""
        warn_of_typed()
        bytes_there = size * cls._dtype.itemsize
        return typed(UntypedStorage.from_file(filename, shared, bytes_there), cls._dtype)


def _dtype_to_storage_type_map() -> dict[Any, str]:
    """The legacy class of each dtype, by name."""
    kinds = (kind for kind in dtypes.ALL if kind not in dtypes.WITHOUT_STORAGE_CLASS)
    return {kind: f"{kind.scalar_name}Storage" for kind in kinds}


def _storage_type_to_dtype_map() -> dict[str, Any]:
    """The dtype of each legacy class, by name."""
    return {name: kind for kind, name in _dtype_to_storage_type_map().items()}


def legacy_types() -> dict[str, type]:
    """The legacy classes by name."""
    types: dict[str, Any] = {}
    for kind, name in _dtype_to_storage_type_map().items():
        doc = f"A TypedStorage of dtype {kind.name}.\n\n>>> torch.{name}(2).size()\n2"
        types[name] = LegacyType(name, (), {"_dtype": kind, "__module__": "torch", "__doc__": doc})
    types["Storage"] = types["FloatStorage"]
    return types


def is_storage(obj: Any) -> bool:
    """Whether an object is a storage.

    >>> torch.is_storage(torch.zeros(1).untyped_storage()), torch.is_storage(torch.zeros(1))
    (True, False)
    """
    return isinstance(obj, (UntypedStorage, TypedStorage))
