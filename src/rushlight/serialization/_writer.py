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
from rushlight.storage import buffer_of

_ALIGNMENT = 64  # of storages within the file, so that they can be mapped into memory as they are


def write_stream(file: Any, pickled: object, pickler: Pickler, protocol: int) -> None:
    """Writes a file of the format before PyTorch 1.6, from where the file stands."""
    storages = pickler.storages
    for each in stream_head():
        pickle.dump(each, file, protocol)
    file.write(pickled)
    pickle.dump([str(key) for key in range(len(storages))], file, protocol)
    for data, itemsize in zip(storages, pickler.itemsizes, strict=True):
        file.write((data.nbytes() // itemsize).to_bytes(8, sys.byteorder))
        file.write(buffer_of(data))


# Signature, version, flags, method, time, date, checksum, sizes, lengths of name and extra fields.
_HEADER = struct.Struct("<4s5H3L2H")
# The same of the directory, with two versions; then comment, disk, attributes and position.
_ENTRY = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_FAR_END = struct.Struct("<4sQ2H2L4Q4sLQL")
_FAR = 0xFFFFFFFF  # the first number that stands in an extra field instead
_MOST_RECORDS = 0xFFFF
_DATE = 33  # of 1980: equal content, equal bytes


def write_records(file: Any, folder: str, records: Mapping[str, Any]) -> None:
    """Writes a checkpoint of these records, named 'folder/name', from where the file stands. The
    file need only be written: it is neither asked where it stands, nor moved."""
    position = 0
    entries = []
    for name, data in records.items():
        called = f"{folder}/{name}".encode()
        size, checksum = len(data), zlib.crc32(data)
        sizes = (size, size) if size >= _FAR else ()
        extra = _large(sizes)
        # The data follow the header, the name, and the field that holds the padding.
        padding = -(position + _HEADER.size + len(called) + len(extra) + 4) % _ALIGNMENT
        extra += b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
        flags = 0 if called.isascii() else 1 << 11  # the name is UTF-8
        about = (_version(sizes), flags, 0, 0, _DATE)
        shown = (_short(size), _short(size), len(called))
        head = _HEADER.pack(b"PK\3\4", *about, checksum, *shown, len(extra)) + called + extra
        file.write(head)
        file.write(data)

        far = (*sizes, position) if position >= _FAR else sizes
        extra = _large(far)
        about = (_version(far), *about[1:])
        if not settings.checksums:  # left out where readers look
            checksum = 0
        fields = (about[0], *about, checksum, *shown, len(extra), 0, 0, 0, 0, _short(position))
        entries.append(_ENTRY.pack(b"PK\1\2", *fields) + called + extra)
        position += len(head) + size
    directory = b"".join(entries)
    count, size = len(records), len(directory)
    end = b""
    if count > _MOST_RECORDS or position >= _FAR or size >= _FAR:
        first = (b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, position)
        end = _FAR_END.pack(*first, b"PK\6\7", 0, position + size, 1)
    counts = (min(count, _MOST_RECORDS),) * 2
    end += _END.pack(b"PK\5\6", 0, 0, *counts, _short(size), _short(position), 0)
    file.write(directory + end)


def _short(number: int) -> int:
    """What stands where four bytes are for a number."""
    return number if number < _FAR else 0xFFFFFFFF


def _large(numbers: tuple[int, ...]) -> bytes:
    """The extra field of numbers that are too large for four bytes; empty without any."""
    count = len(numbers)
    return struct.pack(f"<2H{count}Q", 1, 8 * count, *numbers) if count else b""


def _version(numbers: tuple[int, ...]) -> int:
    """The version of the format that a reader must know."""
    return 45 if numbers else 20
