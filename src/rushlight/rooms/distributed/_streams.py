"""The sources that a job's supervisor reads: mpirun's words, processes' calls, output with a copy.

The method `ready` of a source takes the bytes that are there, and says whether more may come.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import IO, Protocol


class Source(Protocol):
    """Something that a selector watches."""

    def fileno(self) -> int:
        """Its file descriptor."""

    def ready(self) -> bool:
        """Take what can be read; False at the end."""

    def close(self) -> None:
        """Give the descriptor back."""


class Kept:
    """A stream whose text is put aside."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.text = stream, bytearray()
        self.fileno, self.close = stream.fileno, stream.close

    def ready(self) -> bool:
        """Take what can be read; False at the end."""
        data = os.read(self.fileno(), 65536)
        self.text += data
        return bool(data)


class Copied:
    """A process's output that goes to a file and, each line with a mark in front, to a stream.

    `writing` is the descriptor for the process; the supervisor closes its own once it is handed on.
    """

    def __init__(self, path: str, shown: int | None, mark: str) -> None:
        self.reading, self.writing = os.pipe()
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        self.shown, self.mark, self.rest = shown, mark.encode(), b""

    def fileno(self) -> int:
        """The descriptor that is read."""
        return self.reading

    def ready(self) -> bool:
        """Take what can be read; False at the end."""
        data = os.read(self.reading, 65536)
        write_all(self.file, data)
        lines = (self.rest + data).splitlines(keepends=True)
        self.rest = b""
        if data and lines and not lines[-1].endswith(b"\n"):
            self.rest = lines.pop()
        if self.shown is not None and lines:
            write_all(self.shown, b"".join(self.mark + line for line in lines))
        return bool(data)

    def close(self) -> None:
        """Give the descriptors back."""
        os.close(self.reading)
        os.close(self.file)


class Calls:
    """The socket that processes call at. `taken` is given each connection."""

    def __init__(self, path: str, taken: Callable[[socket.socket], None]) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.bind(path)
        self.socket.listen(128)
        self.fileno, self.close, self.taken = self.socket.fileno, self.socket.close, taken

    def ready(self) -> bool:
        """Take a call; True, since more may come."""
        self.taken(self.socket.accept()[0])
        return True


class Call:
    """A connection to a process. `said` is given the words of each line."""

    def __init__(
        self, connection: socket.socket, said: Callable[[Call, list[bytes]], None]
    ) -> None:
        self.connection, self.said, self.rest = connection, said, b""
        self.fileno, self.close = connection.fileno, connection.close

    def ready(self) -> bool:
        """Take what can be read; False when the process has hung up."""
        try:
            data = self.connection.recv(65536)
        except ConnectionError:
            data = b""
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            self.said(self, line.split())
        return bool(data)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all, also where it is taken a part at a time; what nobody reads is dropped."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            continue
        except OSError:
            return
