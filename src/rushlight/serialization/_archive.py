"""The file around the pickle: records of a zip archive, or the stream of before PyTorch 1.6."""

from __future__ import annotations

import io
import pickle
import sys
import zipfile
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from rushlight import dtypes
from rushlight.serialization._tensors import Bytes
from rushlight.serialization._unpickler import SafeUnpickler, Storage, StorageType, Unpickler

ZIP_MAGIC = b"PK\x03\x04"
_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_NEWEST = 10  # the highest version that PyTorch 2.13 reads
_ALIGNMENT = 64  # of storages within the file, so that they can be mapped into memory as they are
_CHUNK = 1 << 22


class _Sink:
    """A file that can only be written: zipfile then neither seeks nor asks where it stands, and a
    checkpoint may follow other content of the file."""

    def __init__(self, file: Any) -> None:
        self.write = file.write

    def flush(self) -> None:
        pass


def write_records(file: Any, folder: str, records: Mapping[str, Any]) -> None:
    """Writes a checkpoint of these records, named 'folder/name', from where the file stands."""
    sink: Any = _Sink(file)
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as archive:
        for name, data in records.items():
            info = zipfile.ZipInfo(f"{folder}/{name}")  # dated 1980: equal content, equal bytes
            info.file_size = len(data)
            # The data follow 30 bytes of header, the name, and the field that holds the padding.
            assert archive.fp is not None
            position = archive.fp.tell() + 30 + len(info.filename.encode()) + 4
            padding = -position % _ALIGNMENT
            info.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
            archive.writestr(info, data)


def load_zip(
    file: IO[bytes], map_location: Any, weights_only: bool, options: dict[str, Any]
) -> Any:
    try:
        archive = zipfile.ZipFile(file)
    except zipfile.BadZipFile as error:
        raise RuntimeError(
            "PytorchStreamReader failed reading zip archive: failed finding central directory. "
            f"The file is cut short or damaged ({error}); write or fetch it again."
        ) from error
    with archive:
        names = archive.namelist()
        folder = names[0].split("/", 1)[0] if names else ""
        if f"{folder}/version" not in names:
            raise RuntimeError(
                'Expected hasRecord("version") to be true, but got false. '
                f"This is a zip file, but no checkpoint: it holds {names[:5]}."
            )
        version = _read_record(archive, f"{folder}/version").tobytes().strip()
        if not version.isdigit() or not 1 <= int(version) <= _NEWEST:
            raise RuntimeError(
                f"Attempted to read a PyTorch file with version {version.decode(errors='replace')},"
                f" but the maximum supported version for reading is {_NEWEST}."
            )
        foreign = False
        if f"{folder}/byteorder" in names:
            foreign = _read_record(archive, f"{folder}/byteorder").tobytes() != (
                sys.byteorder.encode()
            )
        storages: dict[str, Storage] = {}

        def storage_of(identity: Any) -> Storage:
            dtype, key, location, count = _checked_identity(identity)
            if key not in storages:
                data = _read_record(archive, f"{folder}/data/{key}")
                size = count * (1 if dtype is None else dtype.itemsize)
                if data.size < size:
                    raise RuntimeError(
                        f"PytorchStreamReader failed reading file data/{key}: "
                        f"it has {data.size} bytes, but its tensors need {size}"
                    )
                if foreign:
                    data = _swapped(data[:size], dtype)
                storages[key] = _placed(Storage(data, dtype, location), map_location)
            return storages[key]

        pickled = _read_record(archive, f"{folder}/data.pkl")
        unpickler = SafeUnpickler if weights_only else Unpickler
        return unpickler(io.BytesIO(pickled.data), storage_of, options).load()


def _read_record(archive: zipfile.ZipFile, name: str) -> Bytes:
    """A record's bytes, in memory of its own that may be written."""
    short = name.split("/", 1)[-1]
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise RuntimeError(
            f"PytorchStreamReader failed locating file {short}: file not found"
        ) from None
    filled = 0
    try:
        data: Bytes = np.empty(info.file_size, np.uint8)
        with archive.open(info) as record:
            while chunk := record.read(_CHUNK):
                data[filled : filled + len(chunk)] = np.frombuffer(chunk, np.uint8)
                filled += len(chunk)
        if filled != data.size:
            raise EOFError(f"{data.size - filled} bytes are missing")
    except (zipfile.BadZipFile, EOFError, ValueError) as error:
        raise RuntimeError(
            f"PytorchStreamReader failed reading file {short}: file read failed ({error})"
        ) from error
    return data


def _swapped(data: Bytes, dtype: dtypes.dtype | None) -> Bytes:
    """A storage written on a machine of the other byte order."""
    if dtype is None:
        raise RuntimeError(
            "load(): the file holds a storage without an element type, written on a machine of "
            "the other byte order, which is not supported"
        )
    width = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    return np.ascontiguousarray(data.reshape(-1, width)[:, ::-1]).reshape(-1)


def load_legacy(
    file: IO[bytes], map_location: Any, weights_only: bool, options: dict[str, Any]
) -> Any:
    """The format before PyTorch 1.6: pickles of a magic number, a version, the machine's facts, the
    object and the storages' keys, and then the storages."""
    storages: dict[str, Storage] = {}

    def storage_of(identity: Any) -> Storage:
        dtype, key, location, count = _checked_identity(identity[:5])
        if len(identity) > 5 and identity[5] is not None:
            raise RuntimeError("load(): views of storages in files this old are not supported")
        if key not in storages:
            data = np.zeros(count * (1 if dtype is None else dtype.itemsize), np.uint8)
            storages[key] = _placed(Storage(data, dtype, location), map_location)
        return storages[key]

    unpickler = SafeUnpickler if weights_only else Unpickler

    def next_pickle() -> Any:
        return unpickler(file, storage_of, options).load()

    try:
        magic = next_pickle()
    except pickle.UnpicklingError:
        raise
    except Exception as error:  # whatever other bytes than a pickle's make of the unpickler
        raise pickle.UnpicklingError(f"this is not a file that save() writes: {error!r}") from error
    if magic != _LEGACY_MAGIC:
        raise RuntimeError("Invalid magic number; corrupt file? It holds a pickle, no checkpoint.")
    next_pickle(), next_pickle()
    result = next_pickle()
    for key in next_pickle():
        storage = storages[key]
        count = int.from_bytes(file.read(8), "little")
        itemsize = 1 if storage.dtype is None else storage.dtype.itemsize
        data = file.read(storage.data.size) if count * itemsize == storage.data.size else b""
        if len(data) != storage.data.size:
            raise RuntimeError(
                f"unexpected EOF, expected {storage.data.size - len(data)} more bytes. "
                "The file might be corrupted."
            )
        storage.data[:] = np.frombuffer(data, np.uint8)
    return result


def _checked_identity(identity: Any) -> tuple[dtypes.dtype | None, str, str, int]:
    """Dtype (None: bytes), key, location and length from a persistent id."""
    if not (isinstance(identity, tuple) and len(identity) == 5 and identity[0] == "storage"):
        raise pickle.UnpicklingError(f"unknown persistent id {identity!r}")
    kind, key, location, count = identity[1:]
    if not (isinstance(kind, StorageType) and isinstance(key, str) and isinstance(location, str)):
        raise pickle.UnpicklingError(f"unknown persistent id {identity!r}")
    if type(count) is not int or count < 0:
        raise pickle.UnpicklingError(f"a storage cannot have {count!r} elements")
    return kind.dtype, key, location, count


def _placed(storage: Storage, map_location: Any) -> Storage:
    """The storage on the device that `map_location` makes of its location: the CPU, or an error."""
    location = storage.location
    if callable(map_location):
        result = map_location(storage, location)
        if isinstance(result, Storage):
            return result
    elif isinstance(map_location, Mapping):
        location = map_location.get(location, location)
    elif map_location is not None:
        location = map_location
    kind = str(location).split(":", 1)[0]
    if kind == "cpu":
        return storage
    if kind == "cuda":
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
            "False. If you are running on a CPU-only machine, please use torch.load with "
            "map_location=torch.device('cpu') to map your storages to the CPU."
        )
    raise RuntimeError(
        "don't know how to restore data location of torch.storage.UntypedStorage "
        f"(tagged with {location}). Load with map_location='cpu'."
    )
