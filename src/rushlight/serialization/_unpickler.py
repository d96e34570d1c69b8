"""Reads PyTorch's pickles: what a file may name, and what is made of it.

Under `weights_only` a file can name only what `_PIECES` and `_SAFE` list (and what the program has
added), and can call but not alter it; so it can make data, and nothing that runs code.
"""

from __future__ import annotations

import pickle
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple, NoReturn

from rushlight import dtypes
from rushlight.device import LAYOUTS, layout
from rushlight.device import device as Device
from rushlight.serialization import _tensors
from rushlight.serialization._pickler import STORAGES
from rushlight.serialization._tensors import Bytes, Parts
from rushlight.size import Size

FAILED = "Weights only load failed."
_BLOCKED_MODULES = frozenset(("sys", "os", "posix", "nt"))
_PYTHON_2_MODULES = {"__builtin__": "builtins", "copy_reg": "copyreg"}


class Storage(NamedTuple):
    """A storage read from a file. `map_location` functions are shown it, and hand it back."""

    data: Bytes
    dtype: dtypes.dtype | None  # None: bytes, which the tensor's own dtype gives meaning
    location: str

    def cpu(self) -> Storage:
        return self

    def cuda(self, device: object = None) -> Storage:
        raise AssertionError("Torch not compiled with CUDA enabled")


class StorageType:
    """`torch.FloatStorage` and its kin: only their element type matters."""

    __slots__ = ("dtype",)
    dtype: dtypes.dtype | None

    def __init__(self, dtype: dtypes.dtype | None) -> None:
        object.__setattr__(self, "dtype", dtype)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("storage types are constant")


class _Call:
    """A function that a file may call but not alter: a pickle can also set attributes."""

    __slots__ = ("_function",)
    _function: Callable[..., Any]

    def __init__(self, function: Callable[..., Any]) -> None:
        object.__setattr__(self, "_function", function)

    def __call__(self, *args: Any) -> Any:
        return self._function(*args)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("functions named by a file are constant")


def _rebuild_tensor(
    storage: Any,
    offset: Any,
    shape: Any,
    strides: Any,
    requires_grad: bool = False,
    hooks: object = None,
    dtype: dtypes.dtype | None = None,
    metadata: object = None,
) -> Any:
    """The tensor that views a storage so, once it is sure to stay inside of it."""
    if not isinstance(storage, Storage):
        raise pickle.UnpicklingError(f"a tensor's storage cannot be a {type(storage).__name__}")
    kind = storage.dtype or dtype
    counts = (offset, *shape, *strides)
    if kind is None or len(shape) != len(strides) or not all(type(n) is int for n in counts):
        raise pickle.UnpicklingError(f"a tensor cannot have shape {shape} and strides {strides}")
    last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    size = 0 if 0 in shape else (last + 1) * kind.itemsize
    if min(counts) < 0 or size > storage.data.size:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset}, "
            f"and itemsize {kind.itemsize} requiring a storage size of {size} are out of bounds "
            f"for storage of size {storage.data.size}"
        )
    bits = metadata if isinstance(metadata, dict) else {}
    lazy = {name: bool(bits.get(name)) for name in ("conj", "neg")}
    parts = Parts(storage.data, kind, offset, tuple(shape), tuple(strides), bool(requires_grad))
    return _tensors.make_tensor(parts._replace(**lazy))


def _rebuild_tensor_v2(
    storage: Any,
    offset: Any,
    shape: Any,
    strides: Any,
    requires_grad: bool,
    hooks: object,
    metadata: object = None,
) -> Any:
    return _rebuild_tensor(storage, offset, shape, strides, requires_grad, metadata=metadata)


def _rebuild_parameter(data: Any, requires_grad: bool, hooks: object) -> Any:
    parts = _tensors.tensor_parts(data)
    return _tensors.make_tensor(
        parts._replace(requires_grad=bool(requires_grad), is_parameter=True)
    )


def _rebuild_parameter_with_state(
    data: Any, requires_grad: bool, hooks: object, state: object
) -> Any:
    return _with_state(_rebuild_parameter(data, requires_grad, hooks), state)


def _rebuild_from_type(function: Any, kind: Any, arguments: Any, state: object) -> Any:
    tensor = function(*arguments)
    if isinstance(kind, type) and type(tensor) is not kind:  # under weights_only: one added as safe
        tensor = tensor.as_subclass(kind)
    return _with_state(tensor, state)


def _with_state(tensor: Any, state: Any) -> Any:
    """Gives back the attributes that a program had set on a tensor."""
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    for each in (attributes, slots):
        if each:
            tensor.__dict__.update(each)
    return tensor


def _bytes_from_text(text: str, encoding: str) -> bytes:
    """How protocol 2 writes bytes: as text of as many characters."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes are never written in encoding {encoding!r}")
    return text.encode("latin1")


def _layout(name: str) -> layout:
    found = LAYOUTS.get(name)
    if found is None:
        raise pickle.UnpicklingError(f"unknown layout {name!r}")
    return found


def _not_called(*args: Any) -> NoReturn:
    raise pickle.UnpicklingError("a class of tensors may be named, but not called")


# PyTorch's own names for the pieces of a tensor: read alike with and without `weights_only`.
_PIECES: dict[str, object] = {
    **{f"torch.{dtype.name}": dtype for dtype in dtypes.ALL},
    **{f"torch.{named.name}": StorageType(dtype) for dtype, named in STORAGES.items()},
    "torch.storage.UntypedStorage": StorageType(None),
    "torch.serialization._get_layout": _Call(_layout),
    "torch._utils._rebuild_tensor": _Call(_rebuild_tensor),
    "torch._utils._rebuild_tensor_v2": _Call(_rebuild_tensor_v2),
    "torch._utils._rebuild_tensor_v3": _Call(_rebuild_tensor),
    "torch._utils._rebuild_parameter": _Call(_rebuild_parameter),
    "torch._utils._rebuild_parameter_with_state": _Call(_rebuild_parameter_with_state),
    "torch._utils._rebuild_from_type_v2": _Call(_rebuild_from_type),
    "torch._tensor._rebuild_from_type_v2": _Call(_rebuild_from_type),
}
# What else a file may name under `weights_only`.
_SAFE: dict[str, object] = {
    "builtins.bytearray": _Call(bytearray),
    "builtins.complex": _Call(complex),
    "builtins.set": _Call(set),
    "_codecs.encode": _Call(_bytes_from_text),
    "collections.Counter": _Call(Counter),
    "collections.OrderedDict": _Call(OrderedDict),
    "torch.Size": _Call(Size),
    "torch.device": _Call(Device),
    "torch.Tensor": _Call(_not_called),
    "torch.nn.parameter.Parameter": _Call(_not_called),
}
_allowed: list[Any] = []  # what the program has added: objects, or pairs of object and name


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Lets `load(..., weights_only=True)` use these classes and functions too.

    Each is the object itself, or a pair of it and the 'module.name' it goes by in files.

    >>> from fractions import Fraction
    >>> torch.serialization.add_safe_globals([Fraction])
    >>> Fraction in torch.serialization.get_safe_globals()
    True
    >>> torch.serialization.clear_safe_globals()
    """
    _allowed.extend(safe_globals)


def get_safe_globals() -> list[Any]:
    """What `add_safe_globals` has added.

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
def safe_globals(safe_globals: Iterable[Any]) -> Iterator[None]:
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


def _find_allowed(full_name: str) -> object:
    for each in _allowed:
        named, name = each if isinstance(each, tuple) else (each, None)
        if full_name == (name or f"{named.__module__}.{named.__qualname__}"):
            return named
    return None


class Unpickler(pickle.Unpickler):
    """Reads a pickle in which PyTorch's names are what they are here, and all others themselves."""

    def __init__(
        self, file: IO[bytes], storage_of: Callable[[Any], Storage], options: dict[str, Any]
    ) -> None:
        super().__init__(file, **{"encoding": "utf-8", **options})
        self._storage_of = storage_of

    def persistent_load(self, identity: Any) -> Storage:
        return self._storage_of(identity)

    def find_class(self, module: str, name: str) -> Any:
        if (found := _PIECES.get(f"{module}.{name}")) is not None:
            return found
        if module == "torch" or module.startswith("torch."):
            return self._find_public(module, name)
        return super().find_class(module, name)

    def _find_public(self, module: str, name: str) -> Any:
        """A class of PyTorch's: here it has the same module, or is public in the one above."""
        here = "rushlight" + module.removeprefix("torch")
        while here:
            try:
                return super().find_class(here, name)
            except (ImportError, AttributeError):
                here = here.rpartition(".")[0]
        raise AttributeError(f"the file needs {module}.{name}, which is not there yet")


# The pure-Python unpickler: a few bytes can make the compiled one allocate gigabytes.
_PythonUnpickler: Any = pickle._Unpickler


class SafeUnpickler(_PythonUnpickler):  # type: ignore[misc]
    """Reads a pickle that names nothing but data: what `weights_only` stands for."""

    def __init__(
        self, file: IO[bytes], storage_of: Callable[[Any], Storage], options: dict[str, Any]
    ) -> None:
        super().__init__(file, **{"encoding": "utf-8", **options})
        self._storage_of = storage_of

    def load(self) -> Any:
        try:
            return super().load()
        except (KeyError, IndexError, EOFError, struct.error, UnicodeError) as error:
            raise pickle.UnpicklingError(f"no valid pickle ({error!r})") from error

    def persistent_load(self, identity: Any) -> Storage:
        return self._storage_of(identity)

    def find_class(self, module: str, name: str) -> Any:
        module = _PYTHON_2_MODULES.get(module, module)
        full_name = f"{module}.{name}"
        if module in _BLOCKED_MODULES:
            raise pickle.UnpicklingError(
                f"{FAILED} Trying to load unsupported GLOBAL {full_name} whose module {module} "
                "is blocked. Files made by save() of weights never name it: distrust this one."
            )
        for found in (_PIECES.get(full_name), _SAFE.get(full_name), _find_allowed(full_name)):
            if found is not None:
                return found
        raise pickle.UnpicklingError(
            f"{FAILED} WeightsUnpickler error: Unsupported global: GLOBAL {full_name} was not an "
            f"allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{full_name}])` or the "
            f"`torch.serialization.safe_globals([{full_name}])` context manager to allowlist this "
            "global if you trust this class/function. Or load with weights_only=False, which lets "
            "the file run any code: only for files that you trust."
        )
