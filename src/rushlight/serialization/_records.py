"""Reads the records of a zip archive, whatever stands in it.

The size of a record is known before memory is asked for: no two records share bytes of the file, an
uncompressed record is as long as the bytes, and compressed records have a limit.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

from rushlight.serialization._settings import settings
from rushlight.serialization._text import printed, shown
from rushlight.storage import UntypedStorage, buffer_of

ZIP_MAGIC = b"PK\x03\x04"
_CHUNK = 1 << 22
# The limit for all compressed records together: the size of the file times _RATIO, plus _FREE.
_RATIO = 16
_FREE = 16 << 20

# Signature, flags, method, checksum, sizes, lengths of name, extra fields and comment, position.
_ENTRY = struct.Struct("<4s4xHH4xLLLHHH8xL")
_HEADER = struct.Struct("<4s22xHH")  # signature, lengths of name and extra fields
_END = 22  # the directory's end without its comment of at most 65535 bytes
_END_64 = 76  # two more records before the end in files of more than 4 GB
_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 1
_ABSENT = 0xFFFFFFFF  # the number is in the extra field of large files


class _Record(NamedTuple):
    flags: int
    method: int
    checksum: int
    packed: int
    size: int
    position: int


class Records:
    """The records of an archive that begins where the file stands and ends where the file does."""

    def __init__(self, file: IO[bytes], limited: bool, path: str | None = None) -> None:
        self._file = file
        self._path = path  # of the file, where its records are to be mapped
        start = file.tell()
        file.seek(0, 2)
        size = file.tell() - start
        self._records: dict[bytes, _Record] = {}
        occupied = unpacked = 0
        for name, record in self._directory(start):
            if name in self._records:
                raise _no_archive(f"two records are named {shown(name)}")
            occupied += _HEADER.size + len(name) + record.packed
            unpacked += record.size if record.method != _STORED else 0
            self._records[name] = record
        if occupied > size:
            raise _no_archive("records share bytes or lie outside of it")
        if limited and unpacked > _RATIO * size + _FREE:
            raise RuntimeError(
                f"load(): the records of this file of {size} bytes unpack to {unpacked} bytes, "
                f"more than {_RATIO} times as many. A file that you trust loads with "
                "weights_only=False; save() it again, or pack it without compression."
            )
        self.folder = next(iter(self._records), b"").partition(b"/")[0]

    def _directory(self, start: int) -> Iterator[tuple[bytes, _Record]]:
        """Names and records as the list at the archive's end has them."""
        file = self._file
        end = file.tell()
        tail_start = max(start, end - _END_64 - _END - 0xFFFF)
        file.seek(tail_start)
        tail = file.read(end - tail_start)
        at = tail.rfind(b"PK\x05\x06", 0, len(tail) - _END + 4)
        if at < 0:
            raise _no_archive("it has no end record")
        size, offset = struct.unpack_from("<LL", tail, at + 12)
        if tail[max(at - 20, 0) : at].startswith(b"PK\x06\x07"):
            at -= _END_64
            if at < 0 or not tail.startswith(b"PK\x06\x06", at):
                raise _no_archive("it has no end record of a large file")
            size, offset = struct.unpack_from("<QQ", tail, at + 40)
        self._end = tail_start + at - size  # of the records, where the directory begins
        base = self._end - offset  # records are counted from here
        if base < 0 or self._end < start:
            raise _no_archive(f"{size} bytes at {offset} are not in it")
        file.seek(self._end)
        data = file.read(size)
        at = 0
        while at < len(data):
            try:
                name, record, at = _entry(data, at)
            except struct.error:
                raise _no_archive("it is cut off") from None
            yield name, record._replace(position=record.position + base)

    def __contains__(self, name: str) -> bool:
        return self._full(name) in self._records

    def names(self) -> list[bytes]:
        return list(self._records)

    def _full(self, name: str) -> bytes:
        return self.folder + b"/" + name.encode("utf-8", "surrogatepass")

    def read(self, name: str) -> UntypedStorage:
        """A record's bytes, in memory of its own that may be written."""
        record = self._records.get(self._full(name))
        if record is None:
            raise RuntimeError(
                f"PytorchStreamReader failed locating file {printed(name)}: file not found"
            )
        try:
            return self._content(self._full(name), record)
        except (_Damaged, zlib.error) as error:
            raise RuntimeError(
                f"PytorchStreamReader failed reading file {printed(name)}: "
                f"file read failed ({error})"
            ) from None

    def text(self, name: str) -> bytes:
        """A record's bytes, to read."""
        return bytes(buffer_of(self.read(name)))

    def data(self, name: str) -> UntypedStorage:
        """The bytes of a storage: those of the file themselves where it is mapped, zeros where no
        values are wanted."""
        record = self._records.get(self._full(name))
        if record is None or not (self._path or settings.without_data):
            return self.read(name)
        if settings.without_data:
            return new_storage(record.size)
        try:
            place = self._begin(self._full(name), record)
        except _Damaged:
            return self.read(name)  # which says what is wrong
        return mapped_storage(self._path, place, record.size)

    def _content(self, name: bytes, record: _Record) -> UntypedStorage:
        self._begin(name, record)
        storage = new_storage(record.size)
        data, filled = buffer_of(storage), 0
        for chunk in self._chunks(record):
            data[filled : filled + len(chunk)] = chunk
            filled += len(chunk)
        if filled != record.size:
            raise _Damaged(f"{record.size - filled} bytes are missing")
        # PyTorch can be told to write no checksums (set_crc32_options), and then writes 0.
        if record.checksum and zlib.crc32(data) != record.checksum:
            raise _Damaged("its content does not have its checksum")
        return storage

    def _begin(self, name: bytes, record: _Record) -> int:
        """Where the content of a record begins; the file stands there afterwards."""
        if record.flags & _ENCRYPTED:
            raise _Damaged("it is encrypted")
        if record.method not in (_STORED, _DEFLATED):
            raise _Damaged(f"it is compressed by method {record.method}")
        if record.method == _STORED and record.packed != record.size:
            raise _Damaged(f"{record.packed} bytes cannot be {record.size}")
        file = self._file
        file.seek(min(record.position, self._end))
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size or not header.startswith(ZIP_MAGIC):
            raise _Damaged(f"no record begins at byte {record.position}")
        _, name_length, extra_length = _HEADER.unpack(header)
        if file.read(name_length) != name:
            raise _Damaged(f"the record at byte {record.position} has another name")
        file.seek(extra_length, 1)
        if file.tell() + record.packed > self._end:
            raise _Damaged(f"its {record.packed} bytes reach beyond the end")
        return file.tell()

    def _chunks(self, record: _Record) -> Iterator[bytes]:
        """The record's bytes piece by piece, at most as many as it says."""
        left, room = record.packed, record.size
        unpack: Any = zlib.decompressobj(-15) if record.method == _DEFLATED else None
        while room > 0:
            source = b"" if unpack is None else unpack.unconsumed_tail
            if not source:
                source = self._file.read(min(left, _CHUNK))
                left -= len(source)
            piece = source if unpack is None else unpack.decompress(source, min(room, _CHUNK))
            if not source and not piece:
                return
            room -= len(piece)
            yield piece


class _Damaged(Exception):
    """The fault of a record."""


def _no_archive(reason: str) -> RuntimeError:
    return RuntimeError(
        "PytorchStreamReader failed reading zip archive: failed finding central directory. "
        f"The file is cut short or damaged ({reason}); write or fetch it again."
    )


def _entry(data: bytes, at: int) -> tuple[bytes, _Record, int]:
    """A record of the directory, and where the next one begins."""
    fields = _ENTRY.unpack_from(data, at)
    signature, flags, method, checksum, packed, size, names, extras, comment, position = fields
    if signature != b"PK\x01\x02":
        raise struct.error
    at += _ENTRY.size
    name = data[at : at + names]
    at += names
    if _ABSENT in (packed, size, position):
        size, packed, position = _large(data[at : at + extras], size, packed, position)
    at += extras + comment
    if at > len(data):
        raise struct.error
    return name, _Record(flags, method, checksum, packed, size, position), at


def _large(extra: bytes, *numbers: int) -> Iterator[int]:
    """The numbers; absent numbers come from the extra field of large files."""
    at = 0
    while at < len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            break
        at += 4 + length
    at += 4
    for number in numbers:
        if number == _ABSENT:
            (number,) = struct.unpack_from("<Q", extra, at)
            at += 8
        yield number


def new_storage(size: int) -> UntypedStorage:
    """A storage of so many bytes."""
    try:
        return UntypedStorage(size)
    except (RuntimeError, OverflowError):
        raise RuntimeError(
            "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate "
            f"memory: you tried to allocate {size} bytes (a storage of the file)."
        ) from None


def mapped_storage(path: str | None, place: int, size: int) -> UntypedStorage:
    """The bytes of a file as a storage."""
    if not path or not size:
        return new_storage(size)
    shared = settings.mapping == mmap.MAP_SHARED
    access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
    before = place % mmap.ALLOCATIONGRANULARITY
    with open(path, "r+b" if shared else "rb") as file:
        held = mmap.mmap(file.fileno(), before + size, access=access, offset=place - before)
    storage = UntypedStorage(0)
    storage._move(memoryview(held)[before:], size)
    return storage
