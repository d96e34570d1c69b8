"""What a store holds, how a request for it is written as bytes, and the server of TCPStore.

A request is an operation and some fields of bytes. As bytes it is: its length, the operation's
number, and for each field its length and the field. FileStore writes the same bytes to its file.
Nothing is unpickled, and each length is checked before memory is taken for it.
"""

from __future__ import annotations

import enum
import errno
import re
import selectors
import socket
import struct
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator, Sequence

HELLO = b"rushlight-store-1\n"  # what a client says first
LIMIT = 1 << 28  # bytes of a request or an answer: 256 MiB
DONE, LATE, FAILED = 0, 1, 2  # the states of an answer

_LENGTH = struct.Struct("<I")
_NUMBER = re.compile(rb"\s*([+-]?\d+)")
_INT64 = 1 << 63


class Operation(enum.IntEnum):
    """What can be asked of a store; those from WAIT on may have to wait."""

    SET = 1  # key, value, key, value ...
    ADD = 2  # key, number
    APPEND = 3  # key, value
    COMPARE_SET = 4  # key, expected, desired
    CHECK = 5  # keys
    DELETE = 6  # key
    COUNT = 7
    KEYS = 8
    PUSH = 9  # queue, value
    LENGTH = 10  # queue
    TAKE = 11  # queue: its first value, or nothing where it is empty
    WAIT = 12  # keys
    GET = 13  # keys
    POP = 14  # queue


CHANGES = frozenset(
    [
        *(Operation.SET, Operation.ADD, Operation.APPEND, Operation.COMPARE_SET),
        *(Operation.DELETE, Operation.PUSH, Operation.TAKE, Operation.POP),
    ]
)


def packed(code: int, fields: Sequence[bytes]) -> bytes:
    """A request or an answer as bytes; ValueError where it is longer than `LIMIT`."""
    parts = [bytes([code])]
    for field in fields:
        parts += _LENGTH.pack(len(field)), field
    size = sum(map(len, parts))
    if size > LIMIT:
        raise ValueError(f"A store takes at most {LIMIT} bytes at a time, but this has {size}.")
    return b"".join([_LENGTH.pack(size), *parts])


def unpacked(data: bytes) -> tuple[int, list[bytes]]:
    """The code and fields of what `packed` wrote, without the first length.

    Raises ValueError for bytes that it cannot have written.
    """
    fields, at = [], 1
    while at + 4 <= len(data):
        end = at + 4 + _LENGTH.unpack_from(data, at)[0]
        fields.append(data[at + 4 : end])
        at = end
    if not data or at != len(data):
        raise ValueError("not a store's message")
    return data[0], fields


def frames(buffer: bytearray) -> Iterator[bytes]:
    """The messages that the buffer begins with, taken from it; ValueError for a wrong length."""
    while len(buffer) >= 4:
        (size,) = _LENGTH.unpack_from(buffer)
        if not 1 <= size <= LIMIT:
            raise ValueError(f"a message of {size} bytes")
        if len(buffer) < 4 + size:
            return
        message = bytes(buffer[4 : 4 + size])
        del buffer[: 4 + size]
        yield message


def _number(text: bytes) -> int:
    """The number that a value begins with, as C++ reads it."""
    found = _NUMBER.match(text)
    if found is None:
        raise ValueError("stoll")
    if not -_INT64 <= int(found[1]) < _INT64:
        raise ValueError("stoll: out of range")
    return int(found[1])


class Table:
    """The values and the queues of one store."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.queues: dict[bytes, deque[bytes]] = {}

    def ready(self, operation: int, keys: Sequence[bytes]) -> bool:
        """Whether an operation that may wait can run."""
        if operation == Operation.POP:
            return keys[0] in self.queues
        return all(key in self.values for key in keys)

    def run(self, operation: int, fields: Sequence[bytes]) -> list[bytes]:
        """Do one operation that is ready, and give its results.

        Raises ValueError for an operation or fields that there are not.
        """
        values = self.values
        match operation, fields:
            case Operation.SET, [*pairs] if len(pairs) % 2 == 0:
                values.update(zip(pairs[::2], pairs[1::2], strict=True))
                return []
            case Operation.ADD, [key, number]:
                total = _number(values.get(key, b"0")) + _number(number)
                total = (total + _INT64) % (2 * _INT64) - _INT64
                values[key] = b"%d" % total
                return [values[key]]
            case Operation.APPEND, [key, value]:
                values[key] = values.get(key, b"") + value
                return []
            case Operation.COMPARE_SET, [key, expected, desired]:
                if key not in values and expected:
                    return [expected]
                if values.get(key, b"") == expected or key not in values:
                    values[key] = desired
                return [values[key]]
            case Operation.CHECK, [*keys]:
                return [b"%d" % all(key in values or key in self.queues for key in keys)]
            case Operation.DELETE, [key]:
                return [b"%d" % (values.pop(key, None) is not None)]
            case Operation.COUNT, []:
                return [b"%d" % len(values)]
            case Operation.KEYS, []:
                return list(values)
            case Operation.PUSH, [key, value]:
                self.queues.setdefault(key, deque()).append(value)
                return []
            case Operation.LENGTH, [key]:
                return [b"%d" % len(self.queues.get(key, ()))]
            case Operation.TAKE | Operation.POP, [key]:
                if key not in self.queues:
                    return []
                value = self.queues[key].popleft()
                if not self.queues[key]:
                    del self.queues[key]
                return [value]
            case Operation.WAIT, [*keys]:
                return []
            case Operation.GET, [*keys]:
                return [values[key] for key in keys]
        raise ValueError(f"operation {operation} with {len(fields)} fields")


class _Client:
    """One connection, as the server sees it."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.greeted = False
        self.received = bytearray()
        self.to_send = bytearray()
        self.waits: tuple[int, list[bytes], float] | None = None  # operation, keys, until when


class _Loop:
    """The server's thread: takes connections, runs what they ask, answers."""

    def __init__(self, listening: socket.socket) -> None:
        self.listening = listening
        self.table = Table()
        self.clients: set[_Client] = set()
        self.selector = selectors.DefaultSelector()
        self.wake, self.woken = socket.socketpair()
        for end in (self.listening, self.woken):
            end.setblocking(False)
            self.selector.register(end, selectors.EVENT_READ)
        self.thread = threading.Thread(target=self._run, name="rushlight-store", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        while True:
            untils = [client.waits[2] for client in self.clients if client.waits]
            patience = max(0.0, min(untils) - time.monotonic()) if untils else None
            for key, events in self.selector.select(patience):
                if key.fileobj is self.woken:
                    self._close()
                    return
                if key.fileobj is self.listening:
                    self._take_connection()
                else:
                    self._serve(key.data, events)
            self._look_at_waiting()

    def _take_connection(self) -> None:
        try:
            connection, _ = self.listening.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                time.sleep(0.05)  # until some file is closed
            return
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client = _Client(connection)
        self.clients.add(client)
        self.selector.register(connection, selectors.EVENT_READ, client)

    def _serve(self, client: _Client, events: int) -> None:
        """Read and answer; who sends what is no request loses the connection."""
        try:
            if events & selectors.EVENT_READ:
                data = client.connection.recv(1 << 16)
                if not data:
                    raise ConnectionResetError
                client.received += data
                self._requests(client)
            self._send(client)
        except BlockingIOError:
            return
        except (OSError, ValueError):
            self._drop(client)

    def _requests(self, client: _Client) -> None:
        received = client.received
        if not client.greeted:
            if not HELLO.startswith(received[: len(HELLO)]):
                raise ValueError("no client of a store")
            if len(received) < len(HELLO):
                return
            del received[: len(HELLO)]
            client.greeted = True
        for message in frames(received):
            operation, fields = unpacked(message)
            if client.waits is not None:
                raise ValueError("a request before the answer")
            if operation < Operation.WAIT:
                self._answer(client, operation, fields)
            else:
                *keys, seconds = fields
                (patience,) = struct.unpack("<d", seconds) if len(seconds) == 8 else (0.0,)
                if not keys and operation == Operation.POP:
                    raise ValueError("no queue")
                client.waits = operation, keys, time.monotonic() + max(0.0, min(patience, 1e9))

    def _answer(self, client: _Client, operation: int, fields: list[bytes]) -> None:
        try:
            client.to_send += packed(DONE, self.table.run(operation, fields))
        except ValueError as error:
            client.to_send += packed(FAILED, [str(error).encode()])

    def _look_at_waiting(self) -> None:
        """Answer those whose keys are there, and those whose time is over."""
        changed = True
        while changed:  # one that takes from a queue may leave nothing to the next
            changed = False
            for client in list(self.clients):
                if client.waits is None:
                    continue
                operation, keys, until = client.waits
                if self.table.ready(operation, keys):
                    self._answer(client, operation, keys)
                elif time.monotonic() >= until:
                    client.to_send += packed(LATE, [])
                else:
                    continue
                client.waits = None
                changed = True
                self._serve(client, 0)

    def _send(self, client: _Client) -> None:
        """Send what fits; while something is left, nothing more is read of that client."""
        while client.to_send:
            try:
                del client.to_send[: client.connection.send(client.to_send)]
            except BlockingIOError:
                break
        wanted = selectors.EVENT_WRITE if client.to_send else selectors.EVENT_READ
        if self.selector.get_key(client.connection).events != wanted:
            self.selector.modify(client.connection, wanted, client)

    def _drop(self, client: _Client) -> None:
        self.selector.unregister(client.connection)
        client.connection.close()
        self.clients.discard(client)

    def _close(self) -> None:
        for end in (self.listening, self.woken, *(each.connection for each in self.clients)):
            end.close()
        self.selector.close()

    def stop(self) -> None:
        """End the thread, and close all connections."""
        self.wake.close()
        if threading.current_thread() is not self.thread:
            self.thread.join()

    def forget(self) -> None:
        """In a child process: close the parent's connections, which stay open there."""
        self.wake.close()
        self._close()


class Server:
    """A store that answers on a port, in a thread that ends with this object."""

    def __init__(self, listening: socket.socket) -> None:
        self.port: int = listening.getsockname()[1]
        self._loop = _Loop(listening)
        self._end = weakref.finalize(self, self._loop.stop)

    def after_fork(self) -> None:
        """In a child process: the parent serves on."""
        if self._end.detach():
            self._loop.forget()
