"""The file around the pickle: records of a zip archive, or the stream of before PyTorch 1.6."""

from __future__ import annotations

import io
import pickle
import pickletools
import sys
from collections.abc import Callable, Mapping
from typing import IO, Any

from rushlight._base import dtypes
from rushlight._tensor.rebuilding import STREAM_MAGIC, STREAM_VERSION
from rushlight.serialization._records import ZIP_MAGIC, Records, new_storage
from rushlight.serialization._safe import PYTHON_2_MODULES, SafeUnpickler, is_allowed
from rushlight.serialization._settings import (
    order_unsaid,
    placed_by_package,
    placed_on_accelerator,
    validate_cuda_device,
)
from rushlight.serialization._text import described, printed, shown
from rushlight.serialization._unpickler import (
    Identity,
    Storage,
    Unpickler,
    decoded,
    values_come_last,
)
from rushlight.storage import UntypedStorage, buffer_of, from_bytes, swapped

from .._base.device import device, is_accelerator

_NEWEST = 10  # the highest version that PyTorch 2.13 reads


def load_zip(
    file: IO[bytes],
    map_location: device | dict[str, str] | str | None,
    weights_only: bool,
    options: dict[str, Any],
    path: str | None = None,
) -> Any:
    records = Records(file, limited=weights_only, path=path)
    _check_kind(records, weights_only)
    order = order_unsaid()
    if "byteorder" in records:
        order = records.text("byteorder")
        if order not in (b"little", b"big"):
            raise RuntimeError(f"Unknown endianness type: {printed(str(order, 'latin1'))}")
    foreign = order != sys.byteorder.encode()
    storages: dict[str, Storage] = {}

    def storage_of(identity: Identity) -> Storage:
        dtype, key, location, length = identity
        if key not in storages:
            data = records.data(f"data/{key}")
            size = length * (1 if dtype is None else dtype.itemsize)
            if data.nbytes() < size:
                raise RuntimeError(
                    f"PytorchStreamReader failed reading file data/{printed(key)}: "
                    f"it has {data.nbytes()} bytes, but its tensors need {shown(size)}"
                )
            if foreign:
                data = _swapped(data, dtype, size)
            storages[key] = _placed(Storage(data, dtype, location), map_location)
        return storages[key]

    pickled = records.text("data.pkl")
    stream = io.BytesIO(pickled)
    if weights_only:
        return SafeUnpickler(stream, storage_of, len(pickled), "data.pkl", **options).load()
    return Unpickler(stream, storage_of, options).load()


def _check_kind(records: Records, weights_only: bool) -> None:
    """Refuses archives that are no checkpoints, and checkpoints that are too new."""
    if "constants.pkl" in records:
        if weights_only:
            text = "Cannot use ``weights_only=True`` with TorchScript archives passed to "
            text += "``torch.load``."
        else:
            text = "load(): TorchScript archives hold programs, which are not supported."
        raise RuntimeError(f"{text} Save the module's state_dict() in PyTorch and load that.")
    if "version" not in records:
        raise RuntimeError(
            'Expected hasRecord("version") to be true, but got false. '
            f"This is a zip file, but no checkpoint: it holds {shown(records.names()[:5])}."
        )
    version = records.text("version").strip()
    if len(version) > 5 or not version.isdigit() or not 1 <= int(version) <= _NEWEST:
        raise RuntimeError(
            f"Attempted to read a PyTorch file with version {printed(str(version, 'latin1'))}, "
            f"but the maximum supported version for reading is {_NEWEST}."
        )


def _swapped(data: UntypedStorage, dtype: dtypes.dtype | None, size: int) -> UntypedStorage:
    """The first bytes of a storage written on a machine of the other byte order."""
    if dtype is None:
        raise RuntimeError(
            "load(): the file holds a storage without an element type, written on a machine of "
            "the other byte order, which is not supported"
        )
    made: UntypedStorage = from_bytes(swapped(buffer_of(data)[:size], dtype))
    return made


def unsafe_globals(file: IO[bytes]) -> list[str]:
    """The names in a checkpoint that `weights_only` refuses, in the order of the alphabet."""
    start = file.tell()
    if file.read(len(ZIP_MAGIC)) != ZIP_MAGIC:
        raise ValueError("Expected input to be a checkpoint returned by torch.save")
    file.seek(start)
    named = set()
    for code, text, _ in pickletools.genops(Records(file, limited=True).text("data.pkl")):
        if code.name == "GLOBAL":
            module, _, name = str(text).partition(" ")
            named.add(f"{PYTHON_2_MODULES.get(module, module)}.{name}")
        elif code.name == "STACK_GLOBAL":
            raise ValueError("the pickle is of a protocol that save() does not write")
    return sorted(name for name in named if not is_allowed(name))


def load_legacy(
    file: IO[bytes], map_location: object, weights_only: bool, options: dict[str, Any]
) -> Any:
    """The format before PyTorch 1.6: pickles of a magic number, a version, the machine's facts, the
    object and the storages' keys, and then the storages."""
    _check_no_tar(file, weights_only)
    start = file.tell()
    file.seek(0, 2)
    size = file.tell() - start
    file.seek(start)
    storages: dict[str, Storage] = {}
    promised = 0

    def storage_of(identity: Identity) -> Storage:
        nonlocal promised
        dtype, key, location, length = identity
        if key not in storages:
            promised += (needed := length * (1 if dtype is None else dtype.itemsize))
            if promised > size:
                raise RuntimeError(
                    f"unexpected EOF, expected {shown(promised - size)} more bytes. "
                    "The file might be corrupted."
                )
            data = new_storage(needed)
            storages[key] = _placed(Storage(data, dtype, location, False), map_location)
        return storages[key]

    def next_pickle() -> Any:
        if weights_only:
            return SafeUnpickler(file, storage_of, size, "the file", **options).load()
        return Unpickler(file, storage_of, options).load()

    _check_legacy(next_pickle)
    with values_come_last() as check:
        result = next_pickle()
        keys = next_pickle()
        _fill_all(file, keys, storages)
        check()
    return result


def _fill_all(file: IO[bytes], keys: object, storages: dict[str, Storage]) -> None:
    """Reads the values of all storages, in the order of their keys."""
    if type(keys) is not list or not all(type(key) in (str, bytes) for key in keys):
        raise RuntimeError(f"load(): {shown(keys)} is no list of storages")
    keys = [decoded(key) for key in keys]
    if sorted(keys) != sorted(storages):
        raise RuntimeError(
            f"load(): the file has values for the storages {shown(keys)}, "
            f"and its tensors need {shown(list(storages))}. The file might be corrupted."
        )
    for key in keys:
        _fill(file, storages[key])


def _check_no_tar(file: IO[bytes], weights_only: bool) -> None:
    """Refuses the format before this one."""
    start = file.tell()
    head = file.read(262)
    file.seek(start)
    if head.endswith(b"ustar"):
        text = "Cannot use ``weights_only=True`` with files saved in the legacy .tar format."
        if not weights_only:
            text = "load(): the legacy .tar format is not supported."
        raise RuntimeError(f"{text} Load the file in PyTorch and save it again.")


def _check_legacy(next_pickle: Callable[[], object]) -> None:
    try:
        magic = next_pickle()
    except (pickle.UnpicklingError, RuntimeError):
        raise
    except Exception as error:  # whatever other bytes than a pickle's make of the unpickler
        raise pickle.UnpicklingError(
            f"this is not a file that save() writes: {described(error)}"
        ) from error
    if type(magic) is not int or magic != STREAM_MAGIC:
        raise RuntimeError(
            "Invalid magic number; corrupt file? It holds a pickle, no checkpoint. pickle.load "
            "reads that; where its names are torch's, call rushlight.install_as_torch() first, or "
            "run `rushlight as-torch on` in the environment."
        )
    protocol = next_pickle()
    if type(protocol) is not int or protocol != STREAM_VERSION:
        raise RuntimeError(f"Invalid protocol version: {shown(protocol)}")
    next_pickle()


def _fill(file: IO[bytes], storage: Storage) -> None:
    """Reads a storage: its length in elements, and its values."""
    itemsize = 1 if storage.dtype is None else storage.dtype.itemsize
    size = storage.nbytes()
    count = int.from_bytes(file.read(8), "little")
    data = file.read(size) if count * itemsize == size else b""
    if len(data) != size:
        raise RuntimeError(
            f"unexpected EOF, expected {size - len(data)} more bytes. The file might be corrupted."
        )
    buffer_of(storage.data)[:] = data
    storage.send()


def _placed(storage: Storage, map_location: Any) -> Storage:
    """The storage on the device that `map_location` makes of its location: the CPU or meta, or an
    error."""
    location = storage.location
    if map_location is None and location == "cpu":  # most files; asking for Mapping takes long
        return storage
    if callable(map_location):
        result = map_location(storage, location)
        if isinstance(result, Storage):
            return result
    elif isinstance(map_location, Mapping):
        location = map_location.get(location, location)
    elif map_location is not None:
        location = map_location
    kind = str(location).split(":", 1)[0]
    if kind in ("cpu", "meta"):
        return storage._replace(location=kind, there=None)
    if is_accelerator(kind):
        return placed_on_accelerator(storage, str(location))
    found = placed_by_package(storage, str(location))
    if isinstance(found, Storage):
        return found._replace(location="cpu")
    if kind == "cuda":
        validate_cuda_device(kind)
    raise RuntimeError(
        "don't know how to restore data location of torch.storage.UntypedStorage "
        f"(tagged with {printed(str(location))}). Load with map_location='cpu'."
    )
