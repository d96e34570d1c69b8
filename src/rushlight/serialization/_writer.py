"""Writes the file around the pickle: uncompressed records of a zip archive."""

from __future__ import annotations

import pickle
import sys
import zipfile
from collections.abc import Mapping
from typing import Any

from rushlight._tensor.rebuilding import stream_head
from rushlight.serialization._pickler import Pickler
from rushlight.serialization._settings import settings

_ALIGNMENT = 64  # of storages within the file, so that they can be mapped into memory as they are


class _Sink:
    """A file that can only be written: zipfile then neither seeks nor asks where it stands, and a
    checkpoint may follow other content of the file."""

    def __init__(self, file: Any) -> None:
        self.write = file.write

    def flush(self) -> None:
        pass


def write_stream(file: Any, pickled: object, pickler: Pickler, protocol: int) -> None:
    """Writes a file of the format before PyTorch 1.6, from where the file stands."""
    storages = pickler.storages
    for each in stream_head():
        pickle.dump(each, file, protocol)
    file.write(pickled)
    pickle.dump([str(key) for key in range(len(storages))], file, protocol)
    for data, itemsize in zip(storages, pickler.itemsizes, strict=True):
        file.write((data.size // itemsize).to_bytes(8, sys.byteorder))
        file.write(data.data)


def write_records(file: object, folder: str, records: Mapping[str, Any]) -> None:
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
            if not settings.checksums:
                info.CRC = 0  # in the directory, where readers look
