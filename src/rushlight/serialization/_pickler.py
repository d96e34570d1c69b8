"""Writes objects as PyTorch's pickles: its names, and storages by persistent ids."""

from __future__ import annotations

import pickle
import re
from collections import OrderedDict
from types import FunctionType
from typing import IO, Any, ClassVar

from rushlight import _core
from rushlight._base import dtypes
from rushlight._base.device import device as Device
from rushlight._base.device import layout
from rushlight._base.pickled import public_place
from rushlight._base.size import Size
from rushlight.ops.table.statement import path_of
from rushlight.serialization import _tensors
from rushlight.serialization._tensors import Parts
from rushlight.storage import TypedStorage, UntypedStorage


class Global:
    """A name in some module, to be written without importing it. Called only when unpickled."""

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __call__(self) -> None:
        raise TypeError(f"{self.module}.{self.name} is a name to be written, not a function")


_TENSOR = Global("torch._utils", "_rebuild_tensor_v2")
_TENSOR_WITH_DTYPE = Global("torch._utils", "_rebuild_tensor_v3")
_ON_META = Global("torch._utils", "_rebuild_meta_tensor_no_storage")
_PARAMETER = Global("torch._utils", "_rebuild_parameter")
_PARAMETER_WITH_STATE = Global("torch._utils", "_rebuild_parameter_with_state")
_SPARSE = Global("torch._utils", "_rebuild_sparse_tensor")
_FROM_TYPE = Global("torch._tensor", "_rebuild_from_type_v2")
_LAYOUT = Global("torch.serialization", "_get_layout")
_UNTYPED = Global("torch.storage", "UntypedStorage")
# Parts of the library that PyTorch does not have: their files need rushlight anyway.
_OURS_ALONE = re.compile(r"(explain|devices|opencl)(\.|$)")
_DTYPES = {dtype: Global("torch", dtype.name) for dtype in dtypes.ALL}
# PyTorch has typed storages for all dtypes but the wide unsigned ones and those of fewest bits.
STORAGES = {
    dtype: Global("torch", f"{dtype.scalar_name}Storage")
    for dtype in dtypes.ALL
    if dtype not in dtypes.WITHOUT_STORAGE_CLASS
}


class StorageId:
    """Stands in the pickle where a storage belongs; `Pickler.persistent_id` names it."""

    def __init__(self, identity: tuple[Any, ...]) -> None:
        self.identity = identity


class _Plain:
    """A tensor's parts, to be written as a plain tensor: the data of a parameter."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts


# The pure-Python pickler, as the compiled pickler refuses to write a name that has no import.
_PythonPickler: Any = pickle._Pickler


class Pickler(_PythonPickler):  # type: ignore[misc]
    def __init__(
        self, file: IO[bytes], protocol: int, torch_names: bool = True, stream: bool = False
    ) -> None:
        """torch_names: whether classes go by PyTorch's. stream: for the format before PyTorch 1.6,
        in which a storage may be a view of another: here never."""
        super().__init__(file, protocol)
        if protocol < 4:  # without frames
            self.write = file.write
        self._torch_names = torch_names
        self._views: tuple[None, ...] = (None,) if stream else ()
        self.storages: list[UntypedStorage] = []
        self.itemsizes: list[int] = []  # of the storages' elements
        self._copied: dict[int, tuple[object, UntypedStorage]] = {}
        self._keys: dict[object, tuple[str, dtypes.dtype]] = {}

    def save(self, obj: object, save_persistent_id: bool = True) -> None:
        if self.proto not in (2, 3):
            super().save(obj, save_persistent_id)
        elif (known := self.memo.get(id(obj))) is not None:
            self.write(self.get(known[0]))
        elif (write := _DIRECT.get(type(obj))) is not None:
            write(self, obj)
        else:
            super().save(obj, save_persistent_id)

    def _save_tensor(self, tensor: Any) -> None:
        if tensor.__dict__:
            return super().save(tensor)
        self._save_plain(_Plain(_tensors.tensor_parts(tensor, self._copied)))
        self.memoize(tensor)

    def _save_plain(self, plain: _Plain) -> None:
        """The call that `_plain` describes, with no note of what no other object shares."""
        parts = plain.parts
        if parts.on_meta or parts.neg or parts.conj or parts.dtype not in STORAGES:
            return self.save_reduce(*self._plain(parts))
        write, save = self.write, self.save
        save(_TENSOR)
        write(pickle.MARK + pickle.MARK)
        save("storage")
        save(STORAGES[parts.dtype])
        key = self._key(parts).encode()
        write(pickle.BINUNICODE + len(key).to_bytes(4, "little") + key)
        save(parts.location)
        save(parts.storage.nbytes() // parts.dtype.itemsize)
        for view in self._views:
            save(view)
        write(pickle.TUPLE + pickle.BINPERSID)
        save(parts.offset)
        self._save_numbers(parts.shape)
        self._save_numbers(parts.strides)
        write(pickle.NEWTRUE if parts.requires_grad else pickle.NEWFALSE)
        save(OrderedDict)
        write(pickle.EMPTY_TUPLE + pickle.REDUCE + pickle.TUPLE + pickle.REDUCE)

    def _save_numbers(self, numbers: tuple[int, ...]) -> None:
        self.write(pickle.MARK)
        for number in numbers:
            self.save_long(number)
        self.write(pickle.TUPLE)

    def persistent_id(self, obj: object) -> tuple[Global | str, ...] | None:
        if type(obj) is StorageId:
            return (*obj.identity, *self._views)
        if isinstance(obj, (TypedStorage, UntypedStorage)):
            return (*self._bare(obj), *self._views)
        return None

    def _bare(self, obj: Any) -> tuple[Any, ...]:
        """A storage by itself."""
        typed = isinstance(obj, TypedStorage) and obj.dtype in STORAGES
        untyped = obj._untyped_storage if isinstance(obj, TypedStorage) else obj
        dtype = obj.dtype if typed else dtypes.uint8
        data = _tensors.storage_here(untyped, self._copied)
        parts = Parts(data, dtype, 0, (), (), False)
        where = "cpu" if untyped._accelerator is None else str(untyped.device)
        kind = STORAGES[dtype] if typed else _UNTYPED
        return ("storage", kind, self._key(parts), where, data.nbytes() // dtype.itemsize)

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is _Plain:
            return self._plain(obj.parts)
        if isinstance(obj, type) and type(obj) is not type:
            return obj.__qualname__
        if isinstance(obj, Size):
            return Global("torch", "Size"), (tuple(obj),)
        if isinstance(obj, Device):
            return Global("torch", "device"), obj.__reduce__()[1]
        if isinstance(obj, layout):
            return _LAYOUT, (repr(obj),)
        if _tensors.has_values(obj):
            return self._tensor(obj)
        return NotImplemented

    def save_global(self, obj: Any, name: str | None = None) -> None:
        # PyTorch has the same object under the same name, except for the name of the package.
        if obj is _tensors.tensor_type():
            return self._write_global("torch", "Tensor", obj)
        if obj is _tensors.parameter_type():
            return self._write_global("torch.nn.parameter", "Parameter", obj)
        module = getattr(obj, "__module__", None) or ""
        package, _, inner = module.partition(".")
        name = name or getattr(obj, "__qualname__", None) or obj.__name__
        ours = package == "rushlight" and self._torch_names and not _OURS_ALONE.match(inner)
        if (ours or package == "torch") and "<" not in name:
            place = public_place(module, name) if ours else module
            return self._write_name(place, name, obj)
        super().save_global(obj, name)

    def _write_name(self, module: str, name: str, obj: object) -> None:
        if "." not in name:
            self._write_global(module, name, obj)
        elif self.proto >= 4:
            self.save(module)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
            self.memoize(obj)
        else:
            path, _, last = name.rpartition(".")
            self.save_reduce(getattr, (Global(module, path), last), obj=obj)

    def _save_function(self, function: object) -> None:
        """A function of the table: by the name that programs know."""
        path = path_of(function)
        if not path:
            raise pickle.PicklingError(f"Can't pickle {function!r}: programs have no name for it")
        place, _, name = f"torch.{path}".rpartition(".")
        if place == "torch.Tensor":
            place, name = "torch", f"Tensor.{name}"
        self._write_name(place, name, function)

    def _save_name(self, obj: Global) -> None:
        self._write_global(obj.module, obj.name, obj)

    def _save_dtype(self, obj: dtypes.dtype) -> None:
        self.save(_DTYPES[obj])

    def _write_global(self, module: str, name: str, obj: object) -> None:
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    dispatch: ClassVar[dict[type, Any]] = {
        **_PythonPickler.dispatch,
        FunctionType: save_global,
        Global: _save_name,
        dtypes.dtype: _save_dtype,
        _core.Op: _save_function,
        _core.Public: _save_function,
    }

    def _plain(self, parts: Parts) -> tuple[object, tuple[object, ...]]:
        if parts.on_meta:
            return _ON_META, (parts.dtype, parts.shape, parts.strides, parts.requires_grad)
        typed = parts.dtype in STORAGES
        kind = STORAGES[parts.dtype] if typed else _UNTYPED
        count = parts.storage.nbytes() // (parts.dtype.itemsize if typed else 1)
        storage = StorageId(("storage", kind, self._key(parts), parts.location, count))
        viewed = (storage, parts.offset, parts.shape, parts.strides)
        hooks: OrderedDict[int, object] = OrderedDict()
        described = (*viewed, parts.requires_grad, hooks)
        bits = {name: True for name in ("neg", "conj") if getattr(parts, name)}
        metadata = (bits,) if bits else ()
        if typed:
            return _TENSOR, (*described, *metadata)
        return _TENSOR_WITH_DTYPE, (*described, parts.dtype, *metadata)

    def _tensor(self, tensor: Any) -> tuple[object, tuple[object, ...]]:
        attached = getattr(tensor, "_attached", None)
        if attached is not None and not attached.strided:  # sparse, of indices and values
            return _SPARSE, tensor.__reduce_ex__(2)[1]
        parts = _tensors.tensor_parts(tensor, self._copied)
        state = getattr(tensor, "__dict__", None) or None
        if parts.is_parameter and type(tensor) is _tensors.parameter_type():
            arguments = (_Plain(parts._replace(requires_grad=False)), parts.requires_grad)
            if state is None:
                return _PARAMETER, (*arguments, OrderedDict())
            return _PARAMETER_WITH_STATE, (*arguments, OrderedDict(), state)
        rebuild, described = self._plain(parts)
        if state is None and type(tensor) is _tensors.tensor_type():
            return rebuild, described
        return _FROM_TYPE, (rebuild, type(tensor), described, state or {})

    def _key(self, parts: Parts) -> str:
        """The record that holds this storage: the same for the same memory."""
        data = parts.storage
        memory = (data.data_ptr(), data.nbytes()) if data.nbytes() else id(data)
        key, dtype = self._keys.setdefault(memory, (str(len(self.storages)), parts.dtype))
        if dtype is not parts.dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different "
                f"types. One of them is {dtype}, another {parts.dtype}: save a .clone() of one."
            )
        if int(key) == len(self.storages):  # its address is not used again while the list keeps it
            self.storages.append(data)
            self.itemsizes.append(dtype.itemsize if dtype in STORAGES else 1)
        return key


# What writes values of a type where nothing is asked before: they are no storages.
_DIRECT: dict[type, Any] = {
    _Plain: Pickler._save_plain,
    Global: Pickler._save_name,
    _core.Tensor: Pickler._save_tensor,
    **{
        plain: _PythonPickler.dispatch[plain]
        for plain in (str, int, float, bool, type(None), tuple, list, dict)
    },
}
