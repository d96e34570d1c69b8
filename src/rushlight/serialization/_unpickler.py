"""PyTorch's names in pickles: what each of them is here, and what makes a tensor of its parts.

`Unpickler` reads what the program trusts; `_safe` is for the other files, and has what they may use
besides.
"""

from __future__ import annotations

import math
import pickle
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple, NoReturn

from rushlight._base import dtypes
from rushlight._base.device import LAYOUTS, cuda, layout, resolve
from rushlight._base.pickled import public_place
from rushlight._base.size import Size
from rushlight._devices import open_accelerator
from rushlight.serialization import _tensors
from rushlight.serialization._pickler import STORAGES
from rushlight.serialization._tensors import Parts
from rushlight.serialization._text import shown
from rushlight.storage import TypedStorage, UntypedStorage

from .._core import Tensor

FAILED = "Weights only load failed."
_MAX_DIMS = 64  # NumPy's
_MAX_SIZE = 2**63 - 1


class Storage(NamedTuple):
    """A storage read from a file. `map_location` functions are shown it, and hand it back."""

    data: UntypedStorage
    dtype: dtypes.dtype | None  # None: bytes, which the tensor's own dtype gives meaning
    location: str
    filled: bool = True  # in files of before PyTorch 1.6 the values come last
    there: Any = None  # the storage on an accelerator, where the location is one

    @property
    def device(self) -> Any:
        return resolve("cpu") if self.there is None else self.there.device

    def nbytes(self) -> int:
        return self.data.nbytes()

    def cpu(self) -> Storage:
        return self if self.there is None else self._replace(location="cpu", there=None)

    def cuda(self, device: Any = None) -> Storage:
        return self.moved(str(cuda(device)))

    def to(self, *, device: Any, non_blocking: bool = False) -> Storage:
        found = resolve(device)
        return self.cpu() if found == resolve("cpu") else self.moved(str(found))

    def moved(self, location: str) -> Storage:
        """The storage on an accelerator."""
        made = UntypedStorage(self.nbytes(), device=open_accelerator(resolve(location)))
        moved = self._replace(location=str(made.device), there=made)
        if self.filled:
            moved.send()
        return moved

    def send(self) -> None:
        """The values go to the accelerator."""
        if self.there is not None:
            self.there.copy_(self.data)


class BareStorages:
    """The storages of a file as programs see them: one object for each."""

    def __init__(self) -> None:
        self._made: dict[int, TypedStorage] = {}

    def __call__(self, record: Storage) -> TypedStorage:
        made = self._made.get(id(record))
        if made is None:
            dtype = record.dtype or dtypes.uint8
            if record.location == "meta":
                untyped = UntypedStorage(record.nbytes(), device="meta")
            elif record.there is not None:
                untyped = record.there
            else:
                untyped = record.data
            made = TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)
            made._record = record  # type: ignore[attr-defined]
            self._made[id(record)] = made
        return made


class Identity(NamedTuple):
    """A storage as a file describes it: type, key, place and length."""

    dtype: dtypes.dtype | None
    key: str
    location: str
    length: int


class StorageType:
    """`torch.FloatStorage` and its kin: only their element type matters."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: dtypes.dtype | None) -> None:
        self.dtype = dtype


def storage_identity(identity: tuple[StorageType | int | str | None, ...]) -> Identity:
    """The storage that a persistent id names. Those of old files may come from Python 2."""
    if type(identity) is not tuple:
        raise pickle.UnpicklingError(
            f"persistent_load id must be tuple or int, but got {type(identity)}: {shown(identity)}"
        )
    if not identity or decoded(identity[0]) != "storage":
        raise pickle.UnpicklingError(
            f"Only persistent_load of storage is allowed, but got {shown(identity)}"
        )
    if len(identity) == 6 and identity[5] is not None:
        raise RuntimeError("load(): views of storages in files this old are not supported")
    if len(identity) not in (5, 6):
        raise pickle.UnpicklingError(f"a storage cannot be named {shown(identity)}")
    kind, key, location, length = identity[1:5]
    key, location = decoded(key), decoded(location)
    if not (isinstance(kind, StorageType) and isinstance(key, str) and isinstance(location, str)):
        raise pickle.UnpicklingError(f"a storage cannot be named {shown(identity)}")
    if type(length) is not int or length < 0:
        raise pickle.UnpicklingError(f"a storage cannot have {shown(length)} elements")
    return Identity(kind.dtype, key, location, length)


def decoded(text: object) -> Any:
    """Text as Python 2 may have written it, where bytes are not made text (encoding='bytes')."""
    return str(text, "latin1") if type(text) is bytes else text


def _tensor(
    storage: Storage,
    dtype: object,
    offset: Any,
    shape: Any,
    strides: Any,
    requires_grad: object,
    metadata: object,
) -> object:
    """The tensor that views a storage so, once it is sure to stay inside of it."""
    if not isinstance(dtype, dtypes.dtype):
        raise pickle.UnpicklingError(f"a tensor's dtype cannot be {shown(dtype)}")
    if not (
        type(requires_grad) is bool
        and all(type(each) in (tuple, list, Size) for each in (shape, strides))
        and all(type(n) is int for n in (offset, *shape, *strides))
    ):
        raise pickle.UnpicklingError(
            f"a tensor cannot have shape {shown(shape)}, strides {shown(strides)}, offset "
            f"{shown(offset)} and requires_grad {shown(requires_grad)}"
        )
    if len(shape) != len(strides):
        raise pickle.UnpicklingError(
            f"unequal size length ({len(shape)}) and stride length ({len(strides)})"
        )
    if len(shape) > _MAX_DIMS:
        raise RuntimeError(
            f"a tensor of the file has {len(shape)} dimensions: there can be {_MAX_DIMS}"
        )
    itemsize = dtype.itemsize
    last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    size = 0 if 0 in shape else (last + 1) * itemsize
    extents = (offset, math.prod(n or 1 for n in shape), *shape, *strides)
    if min(extents) < 0 or max(extents) > _MAX_SIZE // itemsize or size > storage.nbytes():
        raise RuntimeError(
            f"setStorage: sizes {shown(shape)}, strides {shown(strides)}, storage offset "
            f"{shown(offset)}, and itemsize {itemsize} requiring a storage size of {shown(size)} "
            f"are out of bounds for storage of size {storage.nbytes()}"
        )
    if storage.location == "meta":
        return _tensors.make_meta_tensor(dtype, tuple(shape), tuple(strides), requires_grad)
    data = storage.data if storage.there is None else storage.there
    parts = Parts(data, dtype, offset, tuple(shape), tuple(strides), requires_grad)
    conj, neg = _bits(metadata) if metadata else (False, False)
    return _tensors.make_tensor(parts._replace(conj=conj, neg=neg))


def _bits(metadata: object) -> tuple[bool, bool]:
    """Whether the conjugate or the negative of the values is meant."""
    if type(metadata) is not dict or not metadata.keys() <= {"conj", "neg"}:
        raise pickle.UnpicklingError(f"unknown facts about a tensor: {shown(metadata)}")
    return bool(metadata.get("conj")), bool(metadata.get("neg"))


def _rebuild_tensor(
    storage: object,
    offset: object,
    shape: object,
    strides: object,
    requires_grad: object = False,
    hooks: object = None,
    metadata: object = None,
) -> object:
    record = _storage(storage)
    dtype = record.dtype or dtypes.uint8
    return _tensor(record, dtype, offset, shape, strides, requires_grad, metadata)


def _rebuild_tensor_v3(
    storage: Storage,
    offset: object,
    shape: object,
    strides: object,
    requires_grad: object,
    hooks: object,
    dtype: object,
    metadata: object = None,
) -> object:
    return _tensor(_storage(storage), dtype, offset, shape, strides, requires_grad, metadata)


def _rebuild_on_meta(dtype: object, shape: Any, strides: Any, requires_grad: object) -> Any:
    if not (
        isinstance(dtype, dtypes.dtype)
        and type(requires_grad) is bool
        and all(type(each) in (tuple, list, Size) for each in (shape, strides))
        and all(type(n) is int and 0 <= n <= _MAX_SIZE for n in (*shape, *strides))
        and len(shape) == len(strides) <= _MAX_DIMS
    ):
        raise pickle.UnpicklingError(
            f"a tensor on meta cannot have dtype {shown(dtype)}, shape {shown(shape)}, strides "
            f"{shown(strides)} and requires_grad {shown(requires_grad)}"
        )
    return _tensors.make_meta_tensor(dtype, tuple(shape), tuple(strides), requires_grad)


def _storage(storage: object) -> Storage:
    record = getattr(storage, "_record", None) if isinstance(storage, TypedStorage) else None
    if not isinstance(record, Storage):
        raise pickle.UnpicklingError(f"a tensor's storage cannot be {shown(storage)}")
    return record


def rebuild_parameter(data: Any, requires_grad: object, hooks: object) -> Any:
    if not _tensors.is_tensor(data) or type(requires_grad) is not bool:
        raise pickle.UnpicklingError(
            f"a parameter cannot have data {shown(data)} and requires_grad {shown(requires_grad)}"
        )
    return _tensors.make_parameter(data, requires_grad)


def _rebuild_parameter_with_state(
    data: object, requires_grad: object, hooks: object, state: object
) -> Any:
    return _with_state(rebuild_parameter(data, requires_grad, hooks), state)


def _rebuild_from_type(function: Any, kind: object, arguments: Any, state: object) -> Any:
    return _with_state(of_type(function(*arguments), kind), state)


def of_type(tensor: Tensor, kind: object) -> Tensor:
    """The tensor as an instance of a subclass; other kinds stand for tensors themselves."""
    if isinstance(kind, type) and type(tensor) is not kind:
        return tensor.as_subclass(kind)
    return tensor


def _with_state(tensor: Tensor, state: object) -> Any:
    """Gives back the attributes that a program had set on a tensor."""
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    for each in (attributes, slots):
        if each:
            tensor.__dict__.update(each)
    return tensor


def get_layout(name: object) -> layout:
    found = LAYOUTS.get(name) if isinstance(name, str) else None
    if found is None:
        raise pickle.UnpicklingError(f"unknown layout {shown(name)}")
    return found


_sparse = threading.local()


@contextmanager
def values_come_last() -> Iterator[Callable[[], None]]:
    """Within, sparse tensors are not checked; what is given checks them, once there are values."""
    later: list[tuple[object, object]] = []
    _sparse.later = later

    def check() -> None:
        del _sparse.later
        for kind, data in later:
            _rebuild_sparse(kind, data)

    try:
        yield check
    finally:
        vars(_sparse).pop("later", None)


def _rebuild_sparse(kind: object, data: object) -> Any:
    """A sparse tensor of its layout, and its indices, values and size; all of them are checked."""
    if not isinstance(kind, layout) or not isinstance(data, tuple):
        raise pickle.UnpicklingError(f"a sparse tensor is made of {shown(kind)}")
    later = getattr(_sparse, "later", None)
    try:
        from ..sparse._making import _rebuild_sparse_tensor

        made = _rebuild_sparse_tensor(kind, data, later is None)
        if later is not None:
            later.append((kind, data))
        return made
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        raise pickle.UnpicklingError(f"a sparse tensor of the file is not valid: {error}") from None


def named_only(*args: object) -> NoReturn:
    raise pickle.UnpicklingError("a class of tensors may be named, but not called")


# PyTorch's own names for the pieces of a tensor: read alike with and without `weights_only`.
PIECES: dict[str, object] = {
    **{f"torch.{dtype.name}": dtype for dtype in dtypes.ALL},
    **{f"torch.{named.name}": StorageType(dtype) for dtype, named in STORAGES.items()},
    "torch.storage.UntypedStorage": StorageType(None),
    "torch.serialization._get_layout": get_layout,
    "torch._utils._rebuild_tensor": _rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": _rebuild_tensor,
    "torch._utils._rebuild_tensor_v3": _rebuild_tensor_v3,
    "torch._utils._rebuild_meta_tensor_no_storage": _rebuild_on_meta,
    "torch._utils._rebuild_sparse_tensor": _rebuild_sparse,
    "torch._utils._rebuild_parameter": rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": _rebuild_parameter_with_state,
    "torch._utils._rebuild_from_type_v2": _rebuild_from_type,
    "torch._tensor._rebuild_from_type_v2": _rebuild_from_type,
}
_allowed: list[Any] = []  # what the program has added: objects, or pairs of object and name


def add_safe_globals(safe_globals: Iterable[object]) -> None:
    """Lets `load(..., weights_only=True)` use these classes and functions too.

    Each is the object itself, or a pair of it and the 'module.name' it goes by in files.

    >>> from fractions import Fraction
    >>> torch.serialization.add_safe_globals([Fraction])
    >>> Fraction in torch.serialization.get_safe_globals()
    True
    >>> torch.serialization.clear_safe_globals()
    """
    added = list(safe_globals)
    for each in added:
        _named(each)
    _allowed.extend(added)


def get_safe_globals() -> list[type]:
    """The classes and functions that `add_safe_globals` has added.

    >>> from fractions import Fraction
    >>> with torch.serialization.safe_globals([Fraction]):
    ...     torch.serialization.get_safe_globals()
    [<class 'fractions.Fraction'>]
    """
    return list(_allowed)


def clear_safe_globals() -> None:
    """Forgets what `add_safe_globals` has added.

    >>> torch.serialization.clear_safe_globals()
    >>> torch.serialization.get_safe_globals()
    []
    """
    _allowed.clear()


@contextmanager
def safe_globals(safe_globals: Iterable[object]) -> Iterator[None]:
    """`add_safe_globals` for the length of a `with` block.

    >>> import io
    >>> from fractions import Fraction
    >>> file = io.BytesIO()
    >>> torch.save(Fraction(1, 3), file)
    >>> _ = file.seek(0)
    >>> with torch.serialization.safe_globals([Fraction]):
    ...     torch.load(file)
    Fraction(1, 3)
    """
    before = get_safe_globals()
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _allowed[:] = before


def allowed_globals() -> Iterator[tuple[str, Any]]:
    """Names and objects that the program has added; the library's own by PyTorch's names too."""
    for name, value in map(_named, _allowed):
        yield name, value
        if name.startswith("rushlight.") and hasattr(value, "__qualname__"):
            yield (
                f"{public_place(value.__module__, value.__qualname__)}.{value.__qualname__}",
                value,
            )


def _named(added: Any) -> tuple[str, object]:
    if not isinstance(added, tuple):
        return f"{added.__module__}.{added.__qualname__}", added
    if len(added) != 2:
        raise ValueError(
            "Expected tuple of length 2 (global, str of callable full path), but got tuple of "
            f"length: {len(added)}"
        )
    value, name = added
    if type(name) is not str:
        raise TypeError(
            f"Expected second item in tuple to be str of callable full path, but got: {type(name)}"
        )
    return name, value


class Unpickler(pickle.Unpickler):
    """Reads a pickle in which PyTorch's names are what they are here, and all others themselves."""

    def __init__(
        self, file: IO[bytes], storage_of: Callable[[Identity], Storage], options: dict[str, Any]
    ) -> None:
        super().__init__(file, **{"encoding": "utf-8", **options})
        self._storage_of = storage_of
        self._bare = BareStorages()

    def persistent_load(self, identity: tuple[StorageType | str, ...]) -> Any:
        if type(identity) is tuple and len(identity) == 4 and decoded(identity[0]) == "module":
            return identity[1]  # a class, and where it was written: its source may be another here
        return self._bare(self._storage_of(storage_identity(identity)))

    def find_class(self, module: str, name: str) -> Any:
        if (found := PIECES.get(f"{module}.{name}")) is not None:
            return found
        if module == "torch" or module.startswith("torch."):
            return self._find_public(module, name)
        return super().find_class(module, name)

    def _find_public(self, module: str, name: str) -> object:
        """A class of PyTorch's: here it has the same module, or is public in the one above."""
        here = "rushlight" + module.removeprefix("torch")
        while here:
            try:
                return super().find_class(here, name)
            except (ImportError, AttributeError):
                here = here.rpartition(".")[0]
        raise AttributeError(f"the file needs {module}.{name}, which is not there yet")
