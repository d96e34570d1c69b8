"""The content of a store, a request to a store as bytes, and the server of TCPStore.

A request is an operation and some fields of bytes. As bytes it is: its length, the operation's
number, and for each field its length and the field. FileStore writes the same bytes to its file.
Nothing is unpickled, and each length is checked before memory is taken for it.

Whoever reaches the port may say anything: no connection ends the server, keeps it from the others
for longer than one request takes, or has it take more memory than the constants below say.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import math
import os
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
LIMIT = 1 << 28  # bytes of a request, an answer or a value: 256 MiB
HOUR = 3600.0  # seconds of one wait for the network: the kernel counts milliseconds in 32 bits
_FIELDS = 1 << 20  # of a request or an answer
_UNDER_WAY = 1 << 30  # bytes that the server keeps of requests and answers on their way
_LARGE = 1 << 20  # bytes of a request from which on these are counted
_SLICE = 0.005  # seconds for which requests of one connection are run in a row
_GREETING = 30.0  # seconds in which a connection has to begin with HELLO
_EACH = 200  # bytes that a key, or a value of a queue, takes besides its own
DONE, LATE, FAILED = 0, 1, 2  # the states of an answer

_LENGTH = struct.Struct("<I")
_NUMBER = re.compile(rb"\s*([+-]?\d+)")
_INT64 = 1 << 63


class Operation(enum.IntEnum):
    """The operations of a store; from WAIT on a request may have to wait."""

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
    if len(fields) > _FIELDS:
        raise ValueError(f"A store takes {_FIELDS} keys at a time, but this has {len(fields)}.")
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
        if len(fields) > _FIELDS:
            break
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
    found = _NUMBER.match(text[:4000])  # more digits than Python makes a number of
    if found is None:
        raise ValueError("stoll")
    if not -_INT64 <= int(found[1]) < _INT64:
        raise ValueError("stoll: out of range")
    return int(found[1])


def _memory() -> float:
    """Half of this machine's main memory, in bytes."""
    with contextlib.suppress(AttributeError, ValueError, OSError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2
    return 4e9


class Table:
    """The values and the queues of one store. most: the bytes that they may take."""

    def __init__(self, most: float = math.inf) -> None:
        self.values: dict[bytes, bytes] = {}
        self.queues: dict[bytes, deque[bytes]] = {}
        self.most, self.size = most, 0

    def _check_room(self, fields: Sequence[bytes]) -> None:
        if self.size + sum(map(len, fields)) + _EACH * len(fields) > self.most:
            raise ValueError(f"The store is full: it has {self.size} bytes, and may have no more.")

    def _put(self, key: bytes, value: bytes) -> None:
        if len(value) > LIMIT:
            raise ValueError(f"A value of a store has at most {LIMIT} bytes, not {len(value)}.")
        before = self.values.get(key)
        self.values[key] = value
        self.size += len(value) + (_EACH + len(key) if before is None else -len(before))

    def ready(self, operation: int, keys: Sequence[bytes]) -> bool:
        """Whether an operation that may wait can run."""
        if operation == Operation.POP:
            return keys[0] in self.queues
        return all(key in self.values for key in keys)

    def run(self, operation: int, fields: Sequence[bytes]) -> list[bytes]:
        """Do an operation that is ready, and give the results.

        Raises ValueError for an unknown operation, or for fields that do not fit it.
        """
        values = self.values
        if operation <= Operation.COMPARE_SET or operation == Operation.PUSH:
            self._check_room(fields)
        match operation, fields:
            case Operation.SET, [*pairs] if len(pairs) % 2 == 0:
                for key, value in zip(pairs[::2], pairs[1::2], strict=True):
                    self._put(key, value)
                return []
            case Operation.ADD, [key, number]:
                total = _number(values.get(key, b"0")) + _number(number)
                total = (total + _INT64) % (2 * _INT64) - _INT64
                self._put(key, b"%d" % total)
                return [values[key]]
            case Operation.APPEND, [key, value]:
                self._put(key, values.get(key, b"") + value)
                return []
            case Operation.COMPARE_SET, [key, expected, desired]:
                if key not in values and expected:
                    return [expected]
                if values.get(key, b"") == expected or key not in values:
                    self._put(key, desired)
                return [values[key]]
            case Operation.CHECK, [*keys]:
                return [b"%d" % all(key in values or key in self.queues for key in keys)]
            case Operation.DELETE, [key]:
                gone = values.pop(key, None)
                self.size -= 0 if gone is None else _EACH + len(key) + len(gone)
                return [b"%d" % (gone is not None)]
            case Operation.COUNT, []:
                return [b"%d" % len(values)]
            case Operation.KEYS, []:
                return list(values)
            case Operation.PUSH, [key, value]:
                self.queues.setdefault(key, deque()).append(value)
                self.size += _EACH + len(key) + len(value)
                return []
            case Operation.LENGTH, [key]:
                return [b"%d" % len(self.queues.get(key, ()))]
            case Operation.TAKE | Operation.POP, [key]:
                if key not in self.queues:
                    return []
                value = self.queues[key].popleft()
                self.size -= _EACH + len(key) + len(value)
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
        self.since = time.monotonic()  # when the first of what is received came
        self.to_send = bytearray()
        self.waits: tuple[int, list[bytes]] | None = None  # operation, keys
        self.until: float | None = self.since + _GREETING  # the end of what is waited for


class _Loop:
    """The server's thread: takes connections, runs what they ask, answers."""

    def __init__(self, listening: socket.socket) -> None:
        self.listening = listening
        self.table = Table(_memory())
        self.clients: set[_Client] = set()
        self.busy: set[_Client] = set()  # who may have sent more than was run so far
        self.selector = selectors.DefaultSelector()
        self.wake, self.woken = socket.socketpair()
        for end in (self.listening, self.woken):
            end.setblocking(False)
            self.selector.register(end, selectors.EVENT_READ)
        self.thread = threading.Thread(target=self._run, name="rushlight-store", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        while self._turn():
            pass
        self._close()

    def _turn(self) -> bool:
        """Wait for something to do, and do it; False at the end."""
        untils = [client.until for client in self.clients if client.until is not None]
        patience = max(0.0, min(untils) - time.monotonic()) if untils else HOUR
        for key, events in self.selector.select(0.0 if self.busy else min(patience, HOUR)):
            if key.fileobj is self.woken:
                return False
            if key.fileobj is self.listening:
                self._take_connection()
            else:
                self._serve(key.data, events)
        for client in list(self.busy):
            self._serve(client, 0)
        self._look_at_waiting()
        return True

    def _take_connection(self) -> None:
        try:
            connection, _ = self.listening.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                time.sleep(0.05)  # until some file is closed
            return
        connection.setblocking(False)
        with contextlib.suppress(OSError):  # on macOS where the other has gone
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client = _Client(connection)
        self.clients.add(client)
        self.selector.register(connection, selectors.EVENT_READ, client)

    def _serve(self, client: _Client, events: int) -> None:
        """Read and answer; who sends what is no request loses the connection."""
        if client not in self.clients:
            return
        try:
            if events & selectors.EVENT_READ:
                self._receive(client)
            self._send(client)
            if not client.to_send:
                self._requests(client)
        except BlockingIOError:
            return
        except (OSError, ValueError, MemoryError):
            self._drop(client)

    def _receive(self, client: _Client) -> None:
        data = client.connection.recv(1 << 16)
        if not data:
            raise ConnectionResetError
        if not client.received:
            client.since = time.monotonic()
        client.received += data
        if len(client.received) > _LARGE:
            large = [each for each in self.clients if len(each.received) > _LARGE]
            if sum(len(each.received) + len(each.to_send) for each in self.clients) > _UNDER_WAY:
                oldest = min(large, key=lambda each: each.since)
                if oldest is client:
                    raise MemoryError
                self._drop(oldest)

    def _requests(self, client: _Client) -> None:
        """Run what has come, for a moment, and until an answer cannot be sent at once."""
        received = client.received
        if not client.greeted:
            if not HELLO.startswith(received[: len(HELLO)]):
                raise ValueError("no client of a store")
            if len(received) < len(HELLO):
                return
            del received[: len(HELLO)]
            client.greeted, client.until = True, None
        end = time.monotonic() + _SLICE
        self.busy.discard(client)
        for message in frames(received):
            operation, fields = unpacked(message)
            if client.waits is not None:
                raise ValueError("a request before the answer")
            if operation < Operation.WAIT:
                self._answer(client, operation, fields)
                self._send(client)
            else:
                *keys, seconds = fields
                (patience,) = struct.unpack("<d", seconds) if len(seconds) == 8 else (0.0,)
                if not keys and operation == Operation.POP:
                    raise ValueError("no queue")
                client.waits = operation, keys
                client.until = time.monotonic() + max(0.0, min(patience, 1e9))
            if client.to_send:
                return
            if time.monotonic() > end:
                self.busy.add(client)
                return

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
                if client.until is None:
                    continue
                late = time.monotonic() >= client.until
                if client.waits is None:  # for its greeting
                    if late:
                        self._drop(client)
                    continue
                try:
                    operation, keys = client.waits
                    if self.table.ready(operation, keys):
                        self._answer(client, operation, keys)
                    elif late:
                        client.to_send += packed(LATE, [])
                    else:
                        continue
                except MemoryError:
                    self._drop(client)
                    continue
                client.waits = client.until = None
                changed = True
                self._serve(client, 0)

    def _send(self, client: _Client) -> None:
        """Send what fits; while something is left, nothing more is read or run of that client."""
        while client.to_send:
            try:
                del client.to_send[: client.connection.send(client.to_send)]
            except BlockingIOError:
                break
        wanted = selectors.EVENT_WRITE if client.to_send else selectors.EVENT_READ
        if self.selector.get_key(client.connection).events != wanted:
            self.selector.modify(client.connection, wanted, client)

    def _drop(self, client: _Client) -> None:
        if client in self.clients:
            self.clients.remove(client)
            self.busy.discard(client)
            self.selector.unregister(client.connection)
            client.connection.close()

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
