"""The stores of torch.distributed: keys and values that processes share while they find each other.

HashStore keeps them in one process, FileStore in a file, TCPStore in a server that the master runs.
All three run the operations of `_store_server.Table`; they differ in who holds the table.
"""

from __future__ import annotations

import errno
import itertools
import math
import os
import socket
import struct
import threading
import time
import weakref
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from ._errors import DistNetworkError, DistStoreError
from ._store_server import CHANGES, DONE, HELLO, HOUR, LATE, LIMIT, Operation, Server, Table
from ._store_server import packed as _packed
from ._store_server import unpacked as _unpacked

__all__ = ["FileStore", "HashStore", "PrefixStore", "QueueEmptyError", "Store", "TCPStore"]

_FIVE_MINUTES = timedelta(minutes=5)
_FOREVER = 1e9  # seconds
_INT64 = 1 << 63


class QueueEmptyError(DistStoreError):
    """A queue has nothing, and nobody wanted to wait."""


# ---- arguments


def _wrong(call: str, value: object, wanted: str) -> TypeError:
    return TypeError(
        f"{call}(): incompatible function arguments. Expected {wanted}, but got "
        f"{type(value).__name__} {ascii(value)[:100]}."
    )


def _bytes(call: str, value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            pass
    raise _wrong(call, value, "str or bytes")


def _byte_list(call: str, values: object) -> list[bytes]:
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise _wrong(call, values, "a sequence of str")
    return [_bytes(call, value) for value in values]


def _int64(call: str, value: object) -> int:
    number = value.__index__() if hasattr(value, "__index__") else None
    if number is None or not -_INT64 <= number < _INT64:
        raise _wrong(call, value, "int of 64 bits")
    return int(number)


def _timedelta(call: str, value: object) -> timedelta:
    if isinstance(value, float) and abs(value) < _FOREVER:
        return timedelta(seconds=value)
    if isinstance(value, timedelta):
        return value
    raise _wrong(call, value, "datetime.timedelta")


# ---- what all stores have


class Store:
    """Keys and values that processes share; a class of one's own overrides its methods.

    >>> store = torch.distributed.HashStore()
    >>> store.set("key", "value")
    >>> store.get("key")
    b'value'
    """

    def __init__(self) -> None:
        self._timeout = _FIVE_MINUTES

    def _refuse(self, name: str) -> NotImplementedError:
        return NotImplementedError(
            f"Not implemented: {type(self).__name__}.{name}. A class derived from Store defines it."
        )

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait."""
        return self._timeout

    def set_timeout(self, timeout: timedelta, /) -> None:
        """Choose how long `get` and `wait` wait."""
        self._timeout = _timedelta("set_timeout", timeout)

    def set(self, key: str, value: str | bytes, /) -> None:
        """Give a key a value, in place of the one it has."""
        raise self._refuse("set")

    def get(self, key: str, /) -> bytes:
        """The value of a key, waited for; DistStoreError when `timeout` has passed."""
        raise self._refuse("get")

    def add(self, key: str, amount: int, /) -> int:
        """Add to the number of a key, which begins at 0, and give the sum."""
        raise self._refuse("add")

    def append(self, key: str, value: str | bytes, /) -> None:
        """Put bytes at the end of a key's value, which begins empty."""
        raise self._refuse("append")

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes, /) -> bytes:
        """Set a key that has the expected value (none is ""), and give the value it has then."""
        raise self._refuse("compare_set")

    def check(self, keys: Sequence[str], /) -> bool:
        """Whether all keys have values, without waiting."""
        raise self._refuse("check")

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None, /) -> None:
        """Wait until all keys have values; DistStoreError when the time has passed."""
        raise self._refuse("wait")

    def delete_key(self, key: str, /) -> bool:
        """Delete a key; whether there was one."""
        raise self._refuse("delete_key")

    def num_keys(self) -> int:
        """How many keys there are, those of the store's own bookkeeping among them."""
        raise self._refuse("num_keys")

    def list_keys(self) -> list[str]:
        """The keys that were set."""
        raise self._refuse("list_keys")

    def queue_push(self, key: str, value: str | bytes, /) -> None:
        """Put a value at the end of a queue."""
        raise self._refuse("queue_push")

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue; of an empty one waited for, or QueueEmptyError."""
        raise self._refuse("queue_pop")

    def queue_len(self, key: str, /) -> int:
        """How many values a queue has."""
        raise self._refuse("queue_len")

    def clone(self) -> Store:
        """Another object for the same store, which another thread can use meanwhile."""
        raise self._refuse("clone")

    def has_extended_api(self) -> bool:
        """Whether `append`, `multi_get` and `multi_set` are one step each."""
        return False

    def multi_get(self, keys: Sequence[str], /) -> list[bytes]:
        """The values of keys, waited for."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes], /) -> None:
        """Set several keys."""
        self._same_number(keys, values)
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    @staticmethod
    def _same_number(keys: Sequence[object], values: Sequence[object]) -> None:
        if len(keys) != len(values):
            raise DistStoreError(
                "multiSet keys and values vectors must be of same size, but there are "
                f"{len(keys)} keys and {len(values)} values."
            )

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        """Wait until `world_size` processes have called it with this key."""
        if self.add(f"{key}/num_members", 1) == world_size:
            self.set(f"{key}/last_member", "1")
        self.wait([f"{key}/last_member"], self.timeout if timeout is None else timeout)

    def __reduce__(self) -> Any:
        raise TypeError(f"cannot pickle '{type(self).__module__}.{type(self).__name__}' object")


class _TableStore(Store):
    """A store whose operations run on a table, here or elsewhere."""

    _prefix = b""  # of users' keys; the store's own have none

    def _ask(self, operation: Operation, fields: Sequence[bytes]) -> list[bytes]:
        """Run an operation that need not wait."""
        raise NotImplementedError

    def _ask_late(
        self, operation: Operation, fields: Sequence[bytes], seconds: float
    ) -> list[bytes] | None:
        """Run an operation when its keys are there; None when the time has passed."""
        raise NotImplementedError

    def _late(self, operation: Operation, keys: Sequence[bytes], timeout: timedelta) -> Exception:
        """The error after a time that has passed."""
        return DistStoreError("Wait timeout")

    def _keys(self, call: str, keys: object) -> list[bytes]:
        return [self._prefix + key for key in _byte_list(call, keys)]

    def _key(self, call: str, key: object) -> bytes:
        return self._prefix + _bytes(call, key)

    def _waited(
        self, operation: Operation, keys: list[bytes], timeout: timedelta | None = None
    ) -> list[bytes]:
        timeout = self._timeout if timeout is None else timeout
        found = self._ask_late(operation, keys, max(0.0, min(timeout.total_seconds(), _FOREVER)))
        if found is None:
            raise self._late(operation, keys, timeout)
        return found

    def set(self, key: str, value: str | bytes, /) -> None:
        self._ask(Operation.SET, [self._key("set", key), _bytes("set", value)])

    def get(self, key: str, /) -> bytes:
        return self._waited(Operation.GET, [self._key("get", key)])[0]

    def add(self, key: str, amount: int, /) -> int:
        number = b"%d" % _int64("add", amount)
        return int(self._ask(Operation.ADD, [self._key("add", key), number])[0])

    def append(self, key: str, value: str | bytes, /) -> None:
        self._ask(Operation.APPEND, [self._key("append", key), _bytes("append", value)])

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes, /) -> bytes:
        values = [_bytes("compare_set", value) for value in (expected, desired)]
        return self._ask(Operation.COMPARE_SET, [self._key("compare_set", key), *values])[0]

    def check(self, keys: Sequence[str], /) -> bool:
        return self._ask(Operation.CHECK, self._keys("check", keys)) == [b"1"]

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None, /) -> None:
        until = None if timeout is None else _timedelta("wait", timeout)
        self._waited(Operation.WAIT, self._keys("wait", keys), until)

    def delete_key(self, key: str, /) -> bool:
        return self._ask(Operation.DELETE, [self._key("delete_key", key)]) == [b"1"]

    def num_keys(self) -> int:
        return int(self._ask(Operation.COUNT, [])[0])

    def list_keys(self) -> list[str]:
        begin = self._prefix
        keys = (key for key in self._ask(Operation.KEYS, []) if key.startswith(begin))
        return [key.removeprefix(begin).decode(errors="backslashreplace") for key in keys]

    def queue_push(self, key: str, value: str | bytes, /) -> None:
        self._ask(Operation.PUSH, [self._key("queue_push", key), _bytes("queue_push", value)])

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        name = self._key("queue_pop", key)
        if block:
            return self._waited(Operation.POP, [name])[0]
        found = self._ask(Operation.TAKE, [name])
        if not found:
            raise QueueEmptyError("queue is empty")
        return found[0]

    def queue_len(self, key: str, /) -> int:
        return int(self._ask(Operation.LENGTH, [self._key("queue_len", key)])[0])

    def has_extended_api(self) -> bool:
        return True

    def multi_get(self, keys: Sequence[str], /) -> list[bytes]:
        return self._waited(Operation.GET, self._keys("multi_get", keys))

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes], /) -> None:
        names, contents = self._keys("multi_set", keys), _byte_list("multi_set", values)
        self._same_number(names, contents)
        pairs = zip(names, contents, strict=True)
        self._ask(Operation.SET, list(itertools.chain.from_iterable(pairs)))


class HashStore(_TableStore):
    """A store in this process, for its threads.

    >>> store = torch.distributed.HashStore()
    >>> store.add("count", 3), store.add("count", 4)
    (3, 7)
    """

    def __init__(self) -> None:
        super().__init__()
        self._table = Table()
        self._after_fork()
        _stores.add(self)

    def _after_fork(self) -> None:
        self._changed = threading.Condition()

    def _ask(self, operation: Operation, fields: Sequence[bytes]) -> list[bytes]:
        with self._changed:
            self._changed.notify_all()
            return self._table.run(operation, fields)

    def _ask_late(
        self, operation: Operation, fields: Sequence[bytes], seconds: float
    ) -> list[bytes] | None:
        with self._changed:
            if self._changed.wait_for(lambda: self._table.ready(operation, fields), seconds):
                return self._table.run(operation, fields)
            return None

    def clone(self) -> HashStore:
        """This store: threads can share it."""
        return self


class _FileUse:
    """That one process uses a FileStore's file; the last of `world_size` deletes it."""

    def __init__(self, store: _File, world_size: int) -> None:
        store.run(Operation.ADD, [b"refcount/", b"1"])
        self._end = weakref.finalize(self, _FileUse._over, store, world_size)

    @staticmethod
    def _over(store: _File, world_size: int) -> None:
        try:
            if not os.path.exists(store.path):
                return
            (ended,) = store.run(Operation.ADD, [b"cleanup/", b"1"]) or [b"0"]
            (using,) = store.run(Operation.ADD, [b"refcount/", b"-1"]) or [b"0"]
            if 0 < world_size <= int(ended) and int(using) == 0:
                os.unlink(store.path)
        except (OSError, DistStoreError, ValueError):
            return  # gone already, or no store's file any more

    def after_fork(self) -> None:
        self._end.detach()


class _File:
    """The file of a FileStore: the operations that changed the table, one after the other."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._table, self._read = Table(), 0
        self._file = (0, 0)

    def after_fork(self) -> None:
        self._lock = threading.Lock()
        self._forget()

    def run(
        self, operation: Operation, fields: Sequence[bytes], waits: bool = False
    ) -> list[bytes] | None:
        """Run an operation on what the file says now; None where it would have to wait."""
        import fcntl  # which a browser has not

        with self._lock:
            try:
                file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            except OSError as error:
                raise DistStoreError(f"open({self.path!r}): {error.strerror}") from None
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                self._catch_up(file)
                if waits and not self._table.ready(operation, fields):
                    return None
                record = _packed(operation, fields)
                found = self._table.run(operation, fields)
                if operation in CHANGES:
                    self._read += os.pwrite(file, record, self._read)
                return found
            finally:
                os.close(file)

    def _catch_up(self, file: int) -> None:
        state = os.fstat(file)
        if (state.st_dev, state.st_ino) != self._file or state.st_size < self._read:
            self._forget()
            self._file = (state.st_dev, state.st_ino)
        if state.st_size == self._read:
            return
        data = os.pread(file, state.st_size - self._read, self._read)
        try:
            at = 0
            while at < len(data):
                (size,) = struct.unpack_from("<I", data, at)
                if at + 4 + size > len(data):
                    raise ValueError("cut off")
                self._table.run(*_unpacked(data[at + 4 : at + 4 + size]))
                at += 4 + size
        except (ValueError, struct.error) as error:
            raise DistStoreError(
                f"{self.path!r} is not a FileStore's file, or is damaged at byte "
                f"{self._read + at} ({error}). Give FileStore a path where there is no file yet."
            ) from None
        self._read += len(data)


class FileStore(_TableStore):
    """A store in a file that all processes can open; the last of `world_size` deletes it.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "store")
    >>> store = torch.distributed.FileStore(path, 1)
    >>> store.set("key", "value")
    >>> store.get("key")
    b'value'
    """

    _prefix = b"/"

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        if not isinstance(file_name, str):
            raise _wrong("__init__", file_name, "str")
        self._file = _File(file_name)
        self._use = _FileUse(self._file, _int64("__init__", world_size))
        _stores.add(self)

    def _after_fork(self) -> None:
        self._file.after_fork()
        self._use.after_fork()

    @property
    def path(self) -> str:
        """Where the file is."""
        return self._file.path

    def _ask(self, operation: Operation, fields: Sequence[bytes]) -> list[bytes]:
        found = self._file.run(operation, fields)
        assert found is not None  # only an operation that waits gives None
        return found

    def _ask_late(
        self, operation: Operation, fields: Sequence[bytes], seconds: float
    ) -> list[bytes] | None:
        until, pause = time.monotonic() + seconds, 0.001
        while (found := self._file.run(operation, fields, waits=True)) is None:
            left = until - time.monotonic()
            if left <= 0:
                return None
            time.sleep(min(left, pause))
            pause = min(2 * pause, 0.02)
        return found

    def _late(self, operation: Operation, keys: Sequence[bytes], timeout: timedelta) -> Exception:
        if operation == Operation.GET:
            missing = next((k for k in keys if self._ask(Operation.CHECK, [k]) != [b"1"]), b"")
            name = missing.removeprefix(self._prefix).decode(errors="backslashreplace")
            return RuntimeError(f"Timeout waiting for key: {name} after {_ms(timeout)} ms")
        return RuntimeError("Wait timeout")

    def has_extended_api(self) -> bool:
        return False

    def clone(self) -> FileStore:
        other = FileStore.__new__(FileStore)
        Store.__init__(other)
        other._timeout, other._file, other._use = self._timeout, self._file, self._use
        return other


def _ms(timeout: timedelta) -> int:
    return timeout // timedelta(milliseconds=1)


_servers: weakref.WeakValueDictionary[int, Server] = weakref.WeakValueDictionary()


class TCPStore(_TableStore):
    """A store on a server that the master runs; the others connect to it.

    With `world_size` the master waits until as many have connected. Port 0 takes a free one.

    >>> from datetime import timedelta
    >>> store = torch.distributed.TCPStore("localhost", 0, 1, True, timedelta(seconds=30))
    >>> store.set("key", "value")
    >>> store.get("key")
    b'value'
    """

    _prefix = b"/"

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = _FIVE_MINUTES,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        if not isinstance(host_name, str):
            raise _wrong("__init__", host_name, "str")
        if not 0 <= _int64("__init__", port) < 1 << 16:
            raise _wrong("__init__", port, "a port from 0 to 65535")
        if world_size == 0:
            raise ValueError("TCPStore world size cannot be 0")
        self._timeout = _timedelta("__init__", timeout)
        self._host, self._port, self._uv = host_name, int(port), bool(use_libuv)
        self._lock, self._forked = threading.Lock(), False
        self._server: Server | None = None
        if is_master:
            self._server = _server(self._port, multi_tenant, master_listen_fd)
            self._port = self._server.port
        self._connect()
        _stores.add(self)
        if wait_for_workers and world_size is not None and world_size > 0:
            self._count_workers(world_size)

    # -- the connection

    def _connect(self) -> None:
        seconds = max(0.0, min(self._timeout.total_seconds(), _FOREVER))
        until, pause = time.monotonic() + seconds, 0.01
        while True:
            try:
                left = min(max(0.001, until - time.monotonic()), HOUR)
                self._connection = socket.create_connection((self._host, self._port), left)
                break
            except (OSError, UnicodeError) as error:
                if time.monotonic() + pause >= until:
                    raise DistNetworkError(
                        f"The client socket has timed out after {_ms(self._timeout)}ms while "
                        f"trying to connect to ({self._host}, {self._port}). The last try said: "
                        f"{error}."
                    ) from None
                time.sleep(pause)
                pause = min(2 * pause, 0.5)
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection.settimeout(None)
        self._connection.sendall(HELLO)

    def _after_fork(self) -> None:
        """In a child process: a connection of its own; the server stays the parent's."""
        self._connection.close()
        self._forked, self._lock = True, threading.Lock()
        if self._server is not None:
            self._server.after_fork()
            self._server = None

    def _exchange(
        self, operation: Operation, fields: Sequence[bytes], patience: float
    ) -> list[bytes] | None:
        request = _packed(operation, fields)
        with self._lock:
            if self._forked:
                self._forked = False
                self._connect()
            try:
                until = time.monotonic() + patience
                self._connection.settimeout(min(patience, HOUR))
                self._connection.sendall(request)
                (size,) = struct.unpack("<I", self._receive(4, until))
                if size > LIMIT:
                    raise ValueError(f"a message of {size} bytes")
                code, found = _unpacked(self._receive(size, until))
            except (OSError, ValueError) as error:
                self._connection.close()
                raise DistNetworkError(
                    f"{getattr(error, 'strerror', None) or error}. The connection to the store at "
                    f"({self._host}, {self._port}) is lost: has the process of rank 0 ended?"
                ) from None
        if code == LATE:
            return None
        if code != DONE:
            raise ValueError(found[0].decode())
        return found

    def _receive(self, size: int, until: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError("timed out")
            self._connection.settimeout(min(left, HOUR))
            try:
                part = self._connection.recv(min(size - len(data), 1 << 20))
            except TimeoutError:
                continue
            if not part:
                raise ConnectionResetError(
                    "Failed to recv, got 0 bytes. Connection was likely closed. "
                    "Did the remote server shutdown or crash?"
                )
            data += part
        return bytes(data)

    def _ask(self, operation: Operation, fields: Sequence[bytes]) -> list[bytes]:
        found = self._exchange(operation, fields, max(60.0, self._timeout.total_seconds()))
        assert found is not None  # only an operation that waits is late
        return found

    def _ask_late(
        self, operation: Operation, fields: Sequence[bytes], seconds: float
    ) -> list[bytes] | None:
        return self._exchange(operation, [*fields, struct.pack("<d", seconds)], seconds + 60)

    # -- what it says of itself, and errors

    def _late(self, operation: Operation, keys: Sequence[bytes], timeout: timedelta) -> Exception:
        names = ", ".join(key.decode(errors="backslashreplace") for key in keys)
        return DistStoreError(f"wait timeout after {_ms(timeout)}ms, keys: {names}")

    def _count_workers(self, world_size: int) -> None:
        (joined,) = self._ask(Operation.ADD, [b"init/", b"1"])
        begin = time.monotonic()
        while self._server is not None and int(joined) < world_size:
            passed = time.monotonic() - begin
            if passed > self._timeout.total_seconds():
                raise DistStoreError(
                    f"Timed out after {math.ceil(passed)} seconds waiting for clients. "
                    f"{int(joined)}/{world_size} clients joined."
                )
            time.sleep(0.005)
            (joined,) = self._ask(Operation.ADD, [b"init/", b"0"])

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        try:
            super().barrier(key, world_size, timeout)
        except DistStoreError:
            passed = _ms(self._timeout if timeout is None else timeout)
            raise DistStoreError(f"barrier timeout after {passed}ms, key: {key}") from None

    @property
    def host(self) -> str:
        """The server's host, as it was given."""
        return self._host

    @property
    def port(self) -> int:
        """The server's port."""
        return self._port

    @property
    def libuvBackend(self) -> bool:
        """The argument `use_libuv`, which changes nothing: there is one server here."""
        return self._uv

    def clone(self) -> TCPStore:
        other = TCPStore(self._host, self._port, timeout=self._timeout, use_libuv=self._uv)
        other._server = self._server
        return other

    def __repr__(self) -> str:
        server = f"TCPServer(port={self._port})" if self._server else "<nullptr>"
        return f"TCPStore(client=TCPClient(({self._host}, {self._port})), server={server})"


def _server(port: int, shared: bool, file: int | None) -> Server:
    """A server on a port: a new one, or this process's own there, if that may be shared."""
    if shared and port in _servers:
        return _servers[port]
    server = Server(_listening(port) if file is None else _adopted(file, port))
    if shared:
        _servers[server.port] = server
    return server


def _adopted(file: int, port: int) -> socket.socket:
    listening = socket.socket(fileno=file)
    bound = listening.getsockname()[1]
    if port not in (0, bound):
        listening.detach()
        raise DistStoreError(
            f"listen fd {file} is bound to port {bound}, expected to be bound to port {port}"
        )
    return listening


def _listening(port: int) -> socket.socket:
    """A socket that listens on all addresses of this machine."""
    both = socket.has_dualstack_ipv6()
    try:
        if both:
            family = socket.AF_INET6
            return socket.create_server(("", port), family=family, dualstack_ipv6=True, backlog=512)
        return socket.create_server(("", port), backlog=512)
    except OSError as error:
        number = error.errno or 0
        raise DistNetworkError(
            "The server socket has failed to listen on any local network address. "
            f"port: {port}, useIpv6: {str(both).lower()}, code: -{number}, "
            f"name: {errno.errorcode.get(number, '')}, message: {os.strerror(number).lower()}"
        ) from None


class PrefixStore(Store):
    """Another store with a prefix before each key.

    >>> store = torch.distributed.HashStore()
    >>> torch.distributed.PrefixStore("mine", store).set("key", "value")
    >>> store.get("mine/key")
    b'value'
    """

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        if not isinstance(store, Store):
            raise _wrong("__init__", store, "Store")
        self._prefix, self._store = _bytes("__init__", prefix).decode(errors="replace"), store

    def _key(self, call: str, key: str) -> str:
        return self._before(_bytes(call, key))

    def _keys(self, call: str, keys: Sequence[str]) -> list[str]:
        return [self._before(key) for key in _byte_list(call, keys)]

    def _before(self, key: bytes) -> str:
        return f"{self._prefix}/{key.decode(errors='backslashreplace')}"

    @property
    def underlying_store(self) -> Store:
        """The store that has the values."""
        return self._store

    @property
    def _underlying_non_prefix_store(self) -> Store:
        store = self._store
        return store._underlying_non_prefix_store if isinstance(store, PrefixStore) else store

    @property
    def timeout(self) -> timedelta:
        return self._store.timeout

    def set_timeout(self, timeout: timedelta, /) -> None:
        self._store.set_timeout(timeout)

    def set(self, key: str, value: str | bytes, /) -> None:
        self._store.set(self._key("set", key), _bytes("set", value))

    def get(self, key: str, /) -> bytes:
        return self._store.get(self._key("get", key))

    def add(self, key: str, amount: int, /) -> int:
        return self._store.add(self._key("add", key), amount)

    def append(self, key: str, value: str | bytes, /) -> None:
        self._store.append(self._key("append", key), _bytes("append", value))

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes, /) -> bytes:
        values = [_bytes("compare_set", value) for value in (expected, desired)]
        return self._store.compare_set(self._key("compare_set", key), *values)

    def check(self, keys: Sequence[str], /) -> bool:
        return self._store.check(self._keys("check", keys))

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None, /) -> None:
        self._store.wait(self._keys("wait", keys), *(() if timeout is None else (timeout,)))

    def delete_key(self, key: str, /) -> bool:
        return self._store.delete_key(self._key("delete_key", key))

    def num_keys(self) -> int:
        return self._store.num_keys()

    def list_keys(self) -> list[str]:
        begin = f"{self._prefix}/"
        keys = self._store.list_keys()
        return [key.removeprefix(begin) for key in keys if key.startswith(begin)]

    def queue_push(self, key: str, value: str | bytes, /) -> None:
        self._store.queue_push(self._key("queue_push", key), _bytes("queue_push", value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        return self._store.queue_pop(self._key("queue_pop", key), block)

    def queue_len(self, key: str, /) -> int:
        return self._store.queue_len(self._key("queue_len", key))

    def has_extended_api(self) -> bool:
        return self._store.has_extended_api()

    def multi_get(self, keys: Sequence[str], /) -> list[bytes]:
        return self._store.multi_get(self._keys("multi_get", keys))

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes], /) -> None:
        self._store.multi_set(self._keys("multi_set", keys), _byte_list("multi_set", values))

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        self._store.barrier(self._key("barrier", key), world_size, timeout)

    def clone(self) -> PrefixStore:
        return PrefixStore(self._prefix, self._store.clone())


# ---- child processes

_stores: weakref.WeakSet[HashStore | FileStore | TCPStore] = weakref.WeakSet()


def _after_fork() -> None:
    for store in list(_stores):
        store._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
