"""Settings for files, and rarely used names of torch.serialization."""

from __future__ import annotations

import enum
import mmap
import sys
import tempfile
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from rushlight._base import dtypes
from rushlight._base.device import is_accelerator, resolve
from rushlight._base.errors import OutOfMemoryError
from rushlight.storage import TypedStorage, UntypedStorage

from .._base.errors import warn
from .._base.late import late

__all__ = [
    "LoadEndianness",
    "SourceChangeWarning",
    "StorageType",
    "check_module_version_greater_or_equal",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "location_tag",
    "mkdtemp",
    "normalize_storage_type",
    "register_package",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
    "storage_to_tensor_type",
    "validate_cuda_device",
    "validate_hpu_device",
]


class SourceChangeWarning(Warning):
    """Given by PyTorch where a class has changed since a file was saved; no file here tells.

    >>> issubclass(torch.serialization.SourceChangeWarning, Warning)
    True
    """


class LoadEndianness(enum.Enum):
    """The byte order of files that do not say theirs.

    >>> [order.name for order in torch.serialization.LoadEndianness]
    ['NATIVE', 'LITTLE', 'BIG']
    """

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class _Settings:
    """The settings of this process."""

    endianness: LoadEndianness | None = None
    checksums = True
    mapping = int(getattr(mmap, "MAP_PRIVATE", 2))
    without_data = False


settings = _Settings()


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order that files which do not say theirs are read in; None: this machine's.

    >>> torch.serialization.get_default_load_endianness() is None
    True
    """
    return settings.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Sets the byte order that files which do not say theirs are read in.

    >>> torch.serialization.set_default_load_endianness(None)
    >>> torch.serialization.get_default_load_endianness() is None
    True
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    settings.endianness = endianness


def order_unsaid() -> bytes:
    """The byte order of a file that does not say it."""
    order = settings.endianness or LoadEndianness.NATIVE
    said = sys.byteorder if order is LoadEndianness.NATIVE else order.name.lower()
    return said.encode()


def get_crc32_options() -> bool:
    """Whether `save` writes checksums of records.

    >>> torch.serialization.get_crc32_options()
    True
    """
    return settings.checksums


def set_crc32_options(compute_crc32: bool) -> None:
    """Whether `save` writes checksums of records, by which `load` knows damaged ones.

    >>> torch.serialization.set_crc32_options(True)
    >>> torch.serialization.get_crc32_options()
    True
    """
    settings.checksums = bool(compute_crc32)


def get_default_mmap_options() -> int | None:
    """How `load(mmap=True)` maps a file: mmap.MAP_PRIVATE or mmap.MAP_SHARED.

    >>> import mmap
    >>> torch.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    True
    """
    return settings.mapping


class set_default_mmap_options:
    """Sets how `load(mmap=True)` maps a file, from now on or for the length of a `with` block.

    With mmap.MAP_PRIVATE, the default, writing to a tensor changes that tensor; with
    mmap.MAP_SHARED also the file, whose checksums are then those of before: only mapped it loads.

    >>> import mmap
    >>> with torch.serialization.set_default_mmap_options(mmap.MAP_SHARED):
    ...     torch.serialization.get_default_mmap_options() == mmap.MAP_SHARED
    True
    """

    def __init__(self, flags: int) -> None:
        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE "
                f"or mmap.MAP_SHARED, but got {flags}"
            )
        self._before, settings.mapping = settings.mapping, flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        settings.mapping = self._before


class skip_data:
    """For the length of a `with` block `save` writes zeros for all values, and `load` reads none.

    Files and tensors have their full size.

    >>> import io
    >>> file = io.BytesIO()
    >>> with torch.serialization.skip_data():
    ...     torch.save(torch.ones(2), file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    tensor([0., 0.])
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._before, settings.without_data = settings.without_data, True

    def __exit__(self, *exc: object) -> None:
        settings.without_data = self._before


class StorageType:
    """The dtype of the storages that a legacy name stands for.

    >>> print(torch.serialization.StorageType("FloatStorage"))
    StorageType(dtype=torch.float32)
    """

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def dtype(self) -> dtypes.dtype:
        """The dtype; KeyError where there is no such name."""
        found = {f"{each.scalar_name}Storage": each for each in dtypes.ALL}.get(self._name)
        if found is None:
            raise KeyError(f'pickle storage type "{self._name}" is not recognized')
        return found

    def __str__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


# ---- where storages go


class _Package(NamedTuple):
    priority: int
    tag: Callable[[object], str | None]
    place: Callable[[object, str], object]


_packages: list[_Package] = []


def register_package(
    priority: int,
    tagger: Callable[[Any], str | None],
    deserializer: Callable[[Any, str], Any],
) -> None:
    """Adds a device: functions that name a storage's place, and put a storage there.

    tagger: gives the name of a storage's place, or None for another device's storage. deserializer:
    gives the storage at a place, or None for another device's place. The lowest priority is asked
    first.

    >>> register = torch.serialization.register_package
    >>> register(99, lambda storage: None, lambda storage, place: None) is None
    True
    """
    _packages.append(_Package(priority, tagger, deserializer))
    _packages.sort(key=lambda package: package.priority)


def location_tag(storage: Any) -> str:
    """The name of a storage's place: "cpu" or "meta", or what a package says.

    >>> torch.serialization.location_tag(torch.zeros(2).untyped_storage())
    'cpu'
    """
    kind = str(storage.device.type)
    if kind in ("cpu", "meta"):
        return kind
    if is_accelerator(kind):
        return str(storage.device)
    for package in _packages:
        found = package.tag(storage)
        if found:
            return found
    raise RuntimeError(f"don't know how to determine data location of {type(storage)}")


def validate_cuda_device(location: str) -> int:
    """The number of a CUDA device; RuntimeError where none is there to restore a storage to.

    >>> try:
    ...     torch.serialization.validate_cuda_device("cuda:0")
    ... except RuntimeError:
    ...     "none"
    'none'
    """
    if is_accelerator("cuda"):
        return resolve(location).index or 0
    raise RuntimeError(
        "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
        "False. If you are running on a CPU-only machine, please use torch.load with "
        "map_location=torch.device('cpu') to map your storages to the CPU."
    )


def validate_hpu_device(location: str) -> int:
    """Raises RuntimeError: there is no HPU to restore a storage to.

    >>> try:
    ...     torch.serialization.validate_hpu_device("hpu:0")
    ... except RuntimeError:
    ...     "none"
    'none'
    """
    raise RuntimeError(
        "The HPU device module is not registered. If you are running on a CPU-only machine, please "
        "use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
    )


def placed_by_package(storage: object, location: str) -> Any:
    """The storage where some package puts it, or None."""
    for package in _packages:
        found = package.place(storage, location)
        if found is not None:
            return found
    return None


def placed_on_accelerator(storage: Any, location: str) -> Any:
    """The storage there; torch's error where there is no such device."""
    try:
        if isinstance(storage, UntypedStorage):
            return storage.to(device=location)
        return storage.moved(location)
    except OutOfMemoryError:
        raise
    except RuntimeError as error:
        raise RuntimeError(
            f"Attempting to deserialize object on {location}: {error} Where there is none, please "
            "use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
        ) from None


def default_restore_location(storage: Any, location: str) -> Any:
    """The storage at a place of that name: "cpu" or "meta", or one that a package knows.

    Raises RuntimeError for other places. As map_location of `load` it stands in a function:
    `lambda storage, location: default_restore_location(storage, "cpu")`.

    >>> storage = torch.zeros(2).untyped_storage()
    >>> torch.serialization.default_restore_location(storage, "cpu") is storage
    True
    """
    kind = str(location).split(":", 1)[0]
    if kind == "cpu":
        return storage
    if kind == "meta":
        if isinstance(storage, UntypedStorage):
            return UntypedStorage(storage.nbytes(), device="meta")
        return storage._replace(location="meta")
    if is_accelerator(kind):
        return placed_on_accelerator(storage, str(location))
    found = placed_by_package(storage, str(location))
    if found is not None:
        return found
    if kind == "cuda":
        validate_cuda_device(location)
    raise RuntimeError(
        f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with "
        f"{location})"
    )


# ---- types


def normalize_storage_type(storage_type: type) -> Any:
    """The class of torch with the name of a class of storages.

    >>> torch.serialization.normalize_storage_type(torch.FloatStorage) is torch.FloatStorage
    True
    """
    return getattr(late.package(), storage_type.__name__)


def storage_to_tensor_type(storage: TypedStorage) -> Any:
    """The legacy class of tensors with a typed storage's dtype.

    >>> try:
    ...     torch.serialization.storage_to_tensor_type(torch.zeros(2).untyped_storage())
    ... except AttributeError:
    ...     "untyped"
    'untyped'
    """
    if not isinstance(storage, TypedStorage):
        raise AttributeError("module 'torch.storage' has no attribute 'UntypedTensor'")
    return getattr(late.package(), f"{storage.dtype.scalar_name}Tensor")


def check_module_version_greater_or_equal(
    module: types.ModuleType, req_version_tuple: tuple[Any, ...], error_if_malformed: bool = True
) -> bool:
    """Whether a module's `__version__` is at least that of a tuple.

    Raises RuntimeError where the version is no numbers; with error_if_malformed=False it warns and
    answers True.

    >>> import types
    >>> module = types.SimpleNamespace(__version__="2.1.0", __name__="module")
    >>> torch.serialization.check_module_version_greater_or_equal(module, (2, 0, 9))
    True
    """
    words = module.__version__.split(".")
    try:
        parts = tuple(
            type(want)(word) for want, word in zip(req_version_tuple, words, strict=False)
        )
    except ValueError:
        text = (
            f"'{module.__name__}' module version string is malformed '{module.__version__}' and "
            f"cannot be compared with tuple {req_version_tuple!s}"
        )
        if error_if_malformed:
            raise RuntimeError(text) from None

        warn(f"{text}, but continuing assuming that requirement is met")
        return True
    return parts >= req_version_tuple


@contextmanager
def mkdtemp() -> Iterator[str]:
    """The name of a new folder, removed after the `with` block.

    >>> import os
    >>> with torch.serialization.mkdtemp() as folder:
    ...     os.path.isdir(folder)
    True
    """
    with tempfile.TemporaryDirectory() as folder:
        yield folder
