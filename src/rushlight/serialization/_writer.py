"""Writes the file around the pickle: uncompressed records of a zip archive."""

from __future__ import annotations

import pickle
import struct
import sys
import zlib
from collections.abc import Mapping
from typing import Any

from rushlight._tensor.rebuilding import stream_head
from rushlight.serialization._pickler import Pickler
from rushlight.serialization._settings import settings

_ALIGNMENT = 64  # of storages within the file, so that they can be mapped into memory as they are


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


# Signature, version, flags, method, time, date, checksum, sizes, lengths of name and extra fields.
_HEADER = struct.Struct("<4s5H3L2H")
# The same of the directory, with two versions; then comment, disk, attributes and position.
_ENTRY = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_FAR_END = struct.Struct("<4sQ2H2L4Q4sLQL")
_MOST = 0xFFFFFFFF  # a larger number stands in an extra field
_MOST_RECORDS = 0xFFFF
_DATE = 33  # of 1980: equal content, equal bytes


def write_records(file: Any, folder: str, records: Mapping[str, Any]) -> None:
    """Writes a checkpoint of these records, named 'folder/name', from where the file stands. The
    file need only be written: it is neither asked where it stands, nor moved."""
    position = 0
    entries = []
    for name, data in records.items():
        called = f"{folder}/{name}".encode()
        flags = 0 if called.isascii() else 1 << 11  # the name is UTF-8
        size, checksum = len(data), zlib.crc32(data)
        extra = _large(size, size) if size > _MOST else b""
        # The data follow the header, the name, and the field that holds the padding.
        padding = -(position + _HEADER.size + len(called) + len(extra) + 4) % _ALIGNMENT
        filler = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
        shown = min(size, _MOST)
        version = 45 if extra else 20
        about = (flags, 0, 0, _DATE)
        lengths = (len(called), len(extra) + len(filler))
        head = _HEADER.pack(b"PK\3\4", version, *about, checksum, shown, shown, *lengths)
        before = head + called + extra + filler
        file.write(before)
        file.write(data)
        numbers = (size, size) if extra else ()
        extra = _large(*numbers, *((position,) if position > _MOST else ()))
        version = 45 if extra else 20
        # In the directory, where readers look, a checksum may be left out.
        checksum = checksum if settings.checksums else 0
        lengths = (len(called), len(extra))
        about = (version, version, *about, checksum, shown, shown, *lengths)
        entries += [_ENTRY.pack(b"PK\1\2", *about, 0, 0, 0, 0, min(position, _MOST)), called, extra]
        position += len(before) + size
    directory = b"".join(entries)
    count, size = len(records), len(directory)
    if count > _MOST_RECORDS or position > _MOST or size > _MOST:
        directory += _FAR_END.pack(
            *(b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, position),
            *(b"PK\6\7", 0, position + size, 1),
        )
    counts = (min(count, _MOST_RECORDS),) * 2
    file.write(
        directory + _END.pack(b"PK\5\6", 0, 0, *counts, min(size, _MOST), min(position, _MOST), 0)
    )


def _large(*numbers: int) -> bytes:
    """The extra field of numbers that are too large for their places; empty without any."""
    if not numbers:
        return b""
    return struct.pack(f"<2H{len(numbers)}Q", 1, 8 * len(numbers), *numbers)
