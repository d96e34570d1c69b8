"""Stores: each call beside PyTorch's, other processes, other threads, and a hostile network."""

import contextlib
import copy
import gc
import os
import pickle
import socket
import struct
import threading
import time
from datetime import timedelta

import pytest
from _jobs import wait_until

from _alone import run_alone
from _subject import NAME, torch

dist = torch.distributed
SOON = timedelta(milliseconds=60)

# One program, run from top to bottom on one store: what is called, with what.
CALLS = [
    ("set", "a", "1"),
    ("set", "bytes", b"\xff1"),
    ("get", "a"),
    ("get", "bytes"),
    ("set", "ü", "é"),
    ("get", "ü"),
    ("set", "empty", ""),
    ("get", "empty"),
    ("set", "", "no name"),
    ("get", ""),
    ("set", "\udc80", "x"),
    ("set", "a", 3),
    ("set", 3, "a"),
    ("get", "missing"),
    ("add", "n", 5),
    ("add", "n", -7),
    ("get", "n"),
    ("set", "12x", "12x"),
    ("add", "12x", 1),
    ("add", "big", 2**62),
    ("add", "big", 2**62),
    ("add", "n", 2**63),
    ("add", "n", 1.5),
    ("check", ["a"]),
    ("check", ["a", "missing"]),
    ("check", []),
    ("check", "a"),
    ("append", "text", "1"),
    ("append", "text", "2"),
    ("get", "text"),
    ("compare_set", "c", "x", "first"),
    ("check", ["c"]),
    ("compare_set", "c", "", "first"),
    ("compare_set", "c", "first", "second"),
    ("compare_set", "c", "other", "third"),
    ("compare_set", "c", "", "third"),
    ("get", "c"),
    ("wait", ["a"]),
    ("wait", []),
    ("wait", ["a"], 1.0),
    ("wait", ["missing", "a", "gone"]),
    ("wait", ["missing"], timedelta(milliseconds=20)),
    ("wait", "a"),
    ("delete_key", "a"),
    ("multi_set", ["m1", "m2"], ["v1", "v2"]),
    ("multi_get", ["m1", "m2"]),
    ("multi_get", ["m1", "missing"]),
    ("has_extended_api",),
    ("set_timeout", 3),
]
# What FileStore of PyTorch does not have, or has wrong: its keys lose their first letter.
MORE_CALLS = [
    ("delete_key", "a"),
    ("num_keys",),
    ("queue_len", "q"),
    ("queue_push", "q", "1"),
    ("queue_push", "q", "2"),
    ("queue_len", "q"),
    ("check", ["q"]),
    ("num_keys",),
    ("delete_key", "q"),
    ("queue_pop", "q"),
    ("queue_pop", "q", False),
    ("queue_pop", "q", False),
    ("queue_pop", "q"),
    ("check", ["q"]),
    ("barrier", "b", 1),
    ("barrier", "b", 1),
]


def make(dist, kind, tmp_path):
    """A store of either library that is alone."""
    soon = timedelta(seconds=5)
    if kind == "file":
        return dist.FileStore(str(tmp_path / dist.__name__), 1)
    if kind == "hash":
        return dist.HashStore()
    if kind == "tcp":
        return dist.TCPStore("localhost", 0, 1, True, soon)
    assert kind == "prefix"
    return dist.PrefixStore("before", dist.TCPStore("localhost", 0, None, True, soon))


def said(store, calls):
    """What each call gave: its value, or its error's type and the first sentence of it."""
    for name, *arguments in calls:
        try:
            yield name, arguments, getattr(store, name)(*arguments)
        except Exception as error:
            first = str(error).split(". ")[0].split(", but ")[0]
            # pybind's own sentence goes on with a list of signatures
            yield name, arguments, type(error).__name__, first


@pytest.mark.parametrize("kind", ["hash", "file", "tcp", "prefix"])
def test_every_call_is_as_pytorch_s(kind, tmp_path):
    oracle = pytest.importorskip("torch").distributed
    stores = [make(each, kind, tmp_path) for each in (oracle, dist)]
    calls = CALLS if kind == "file" else CALLS + MORE_CALLS
    for store in stores:
        store.set_timeout(SOON)
        assert store.timeout == SOON
    theirs, ours = (list(said(store, calls)) for store in stores)
    assert ours == theirs


@pytest.mark.parametrize("kind", ["hash", "file", "tcp", "prefix"])
def test_the_keys_that_were_set_are_listed(kind, tmp_path):
    store = make(dist, kind, tmp_path)
    store.multi_set(["a", "b"], ["1", "2"])
    assert sorted(store.list_keys()) == ["a", "b"]
    store.delete_key("a")
    assert store.list_keys() == ["b"]


@pytest.mark.parametrize("kind", ["hash", "file", "tcp", "prefix"])
def test_no_store_can_be_pickled_or_copied(kind, tmp_path):
    store = make(dist, kind, tmp_path)
    for way in (pickle.dumps, copy.copy):
        with pytest.raises(TypeError, match="cannot pickle"):
            way(store)


@pytest.mark.parametrize("kind", ["hash", "file", "tcp", "prefix"])
def test_a_thread_with_a_clone_wakes_one_that_waits(kind, tmp_path):
    store = make(dist, kind, tmp_path)
    other = store.clone()
    threading.Timer(0.05, other.set, ("late", "value")).start()
    assert store.get("late") == b"value"


@pytest.mark.parametrize("kind", ["hash", "file", "tcp"])
def test_no_count_is_lost_between_threads(kind, tmp_path):
    store = make(dist, kind, tmp_path)
    clones = [store.clone() for _ in range(4)]
    threads = [
        threading.Thread(target=lambda c=clone: [c.add("n", 1) for _ in range(50)])
        for clone in clones
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.add("n", 0) == 200


@pytest.mark.parametrize("kind", ["hash", "file", "tcp", "prefix"])
def test_one_value_of_a_queue_goes_to_one_of_those_that_wait(kind, tmp_path):
    store = make(dist, kind, tmp_path)
    store.set_timeout(timedelta(seconds=3))
    got = []

    def pop(clone):
        try:
            got.append(clone.queue_pop("q"))
        except RuntimeError as error:
            got.append(type(error))

    threads = [threading.Thread(target=pop, args=(store.clone(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    store.clone().queue_push("q", "only")
    for thread in threads:
        thread.join()
    late = RuntimeError if kind == "file" else dist.DistStoreError
    assert sorted(got, key=str) == sorted([b"only", late], key=str)


def test_a_class_of_one_s_own_under_a_prefix():
    seen = []

    class Own(dist.Store):
        def set(self, key, value):
            seen.append(("set", key, value))

        def wait(self, *arguments):
            seen.append(("wait", *arguments))

    store = dist.PrefixStore("p", Own())
    store.set("k", "v")
    store.wait(["k"])
    store.wait(["k"], SOON)
    assert seen == [("set", "p/k", b"v"), ("wait", ["p/k"]), ("wait", ["p/k"], SOON)]
    with pytest.raises(RuntimeError):
        store.get("k")


def test_prefixes_of_prefixes():
    base = dist.HashStore()
    store = dist.PrefixStore("a", dist.PrefixStore("b", base))
    store.set("k", "v")
    assert base.get("b/a/k") == b"v"
    assert store._underlying_non_prefix_store is base
    assert store.underlying_store.get("a/k") == b"v"


# ---- FileStore


def test_the_last_of_a_file_s_users_deletes_it(tmp_path):
    path = str(tmp_path / "store")
    first, second = dist.FileStore(path, 2), dist.FileStore(path, 2)
    first.set("a", "b")
    assert second.get("a") == b"b"
    del first
    gc.collect()
    assert os.path.exists(path)
    del second
    gc.collect()
    assert not os.path.exists(path)


def test_a_file_of_an_unknown_number_of_users_stays(tmp_path):
    path = str(tmp_path / "store")
    store = dist.FileStore(path)
    assert store.path == path
    del store
    gc.collect()
    assert os.path.exists(path)


@pytest.mark.skipif(NAME == "torch", reason="PyTorch reads what is no store's file")
@pytest.mark.parametrize("content", [b"garbage" * 9, b"\x05\x00\x00\x00", b"\xff" * 40, b"\0" * 9])
def test_a_file_that_is_no_store_s_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "notes"
    path.write_bytes(content)
    with pytest.raises(dist.DistStoreError, match="not a FileStore's file"):
        dist.FileStore(str(path), 1)
    gc.collect()
    assert path.read_bytes() == content


@pytest.mark.skipif(NAME == "torch", reason="PyTorch tries for five minutes")
def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(dist.DistStoreError, match="No such file or directory"):
        dist.FileStore(str(tmp_path / "none" / "store"), 1)


# ---- TCPStore


def master(**settings):
    return dist.TCPStore("localhost", 0, 1, True, timedelta(seconds=5), **settings)


def test_what_a_store_says_of_itself():
    store = master()
    other = dist.TCPStore("localhost", store.port, is_master=False)
    assert (other.host, other.port) == ("localhost", store.port)
    assert f"TCPServer(port={store.port})" in repr(store)
    assert "server=<nullptr>" in repr(other)
    assert store.libuvBackend
    assert store.timeout == timedelta(seconds=5)
    assert other.timeout == timedelta(seconds=300)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("localhost", -1, 1, True), TypeError),
        (("localhost", 70000, 1, True), TypeError),
        ((None, 0, 1, True), TypeError),
        (("localhost",), TypeError),
        (("localhost", 0, 0, True), ValueError),
    ],
)
def test_wrong_arguments(arguments, error):
    with pytest.raises(error):
        dist.TCPStore(*arguments)


def test_nobody_listens():
    with socket.create_server(("localhost", 0)) as taken:
        port = taken.getsockname()[1]
    said = rf"The client socket has timed out after 100ms .*\(127.0.0.1, {port}\)"
    with pytest.raises(dist.DistNetworkError, match=said):
        dist.TCPStore("127.0.0.1", port, 2, False, timedelta(milliseconds=100))


def test_a_port_that_is_taken():
    store = master()
    with pytest.raises(dist.DistNetworkError, match=r"failed to listen.* name: EADDRINUSE"):
        dist.TCPStore("localhost", store.port, 1, True)


def test_several_masters_of_one_process_share_a_port():
    first = master(multi_tenant=True)
    second = dist.TCPStore("localhost", first.port, 1, True, multi_tenant=True)
    first.set("a", "b")
    assert second.get("a") == b"b"


def test_a_socket_that_listens_already():
    listening = socket.create_server(("localhost", 0))
    port = listening.getsockname()[1]
    store = dist.TCPStore("localhost", port, 1, True, master_listen_fd=listening.detach())
    assert store.port == port
    other = socket.create_server(("localhost", 0))
    with pytest.raises(dist.DistStoreError, match=r"expected to be bound to port 1$"):
        dist.TCPStore("localhost", 1, 1, True, master_listen_fd=other.fileno())
    other.close()


def test_the_master_waits_for_the_others():
    with pytest.raises(dist.DistStoreError, match=r"waiting for clients. 1/2 clients joined."):
        dist.TCPStore("localhost", 0, 2, True, timedelta(milliseconds=100))
    store = dist.TCPStore("localhost", 0, 2, True, wait_for_workers=False)
    assert store.num_keys() == 0


def test_a_barrier_of_three():
    store = master()
    ended = []

    def pass_it(clone):
        clone.barrier("b", 3)
        ended.append(1)

    threads = [threading.Thread(target=pass_it, args=(store.clone(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    assert ended == []
    store.barrier("b", 3)
    for thread in threads:
        thread.join()
    assert len(ended) == 2
    with pytest.raises(dist.DistStoreError, match="barrier timeout after 60ms, key: c"):
        store.barrier("c", 2, SOON)


def test_the_master_is_gone():
    store = master()
    other = dist.TCPStore("localhost", store.port)
    del store
    gc.collect()
    with pytest.raises(dist.DistNetworkError):
        other.get("a")
    with pytest.raises(dist.DistNetworkError):
        other.add("a", 1)


def test_no_thread_and_no_file_is_left():
    gc.collect()
    before = threading.active_count(), set(os.listdir("/proc/self/fd"))
    for _ in range(3):
        store = master()
        store.set("a", "b")
        del store
    gc.collect()
    assert (threading.active_count(), set(os.listdir("/proc/self/fd"))) == before


def test_large_values():
    store = master()
    large = os.urandom(5_000_000)
    store.set("large", large)
    assert store.get("large") == large


@pytest.mark.skipif(NAME == "torch", reason="PyTorch has another protocol")
@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0" * 100,
        b"rushlight-store-1\n" + b"\xff" * 100,
        b"rushlight-store-1\n" + b"\0\0\0\0",
        b"rushlight-store-1\n" + b"\5\0\0\0\1\xff\xff\xff\xff",  # a field longer than its message
        b"rushlight-store-1\n" + b"\1\0\0\0\x0c",  # a wait without its seconds
    ],
)
def test_garbage_from_the_network_ends_that_connection_only(garbage):
    store = master()
    store.set("a", "b")
    with socket.create_connection(("localhost", store.port), 5) as stranger:
        stranger.sendall(garbage)
        assert stranger.recv(1) == b""
    assert store.get("a") == b"b"


@pytest.mark.skipif(NAME == "torch", reason="PyTorch has another protocol")
def test_an_operation_that_there_is_not_gets_an_error():
    store = master()
    with socket.create_connection(("localhost", store.port), 5) as stranger:
        stranger.sendall(b"rushlight-store-1\n" + b"\1\0\0\0\x00")
        assert b"operation 0" in stranger.recv(100)


@pytest.mark.skipif(NAME == "torch", reason="PyTorch ends the connection")
def test_a_number_that_is_none_leaves_the_store_usable():
    store = master()
    store.set("a", "text")
    with pytest.raises(ValueError, match="stoll"):
        store.add("a", 1)
    assert store.get("a") == b"text"


# ---- strangers: nothing ends the server, keeps it from the others, or alters what they have set

if NAME != "torch":
    from rushlight.distributed import _store_server as server
    from rushlight.distributed._store_server import HELLO, Operation, packed

strangers = pytest.mark.skipif(NAME == "torch", reason="PyTorch has another protocol")
NUMBERS = [b"", b"0", b"-1", b"9" * 5000, b"1e9", str(2**63).encode(), str(-(2**63)).encode()]
SECONDS = [float("nan"), float("inf"), -float("inf"), 0.0, -1.0, 1e-300, 2147484.0, 1e12, 1e308]


def stranger(store, data=b""):
    """A connection that has greeted."""
    made = socket.create_connection(("localhost", store.port), 5)
    made.sendall((HELLO if data is not None else b"") + (data or b""))
    return made


def check_serves(store):
    """The store answers, to an old connection and to a new one, and has what was set."""
    loop = store._server._loop
    assert loop.thread.is_alive()
    begin = time.monotonic()
    assert store.get("mine") == b"kept"
    other = dist.TCPStore("localhost", store.port, None, False, timedelta(seconds=20))
    assert other.get("mine") == b"kept"
    assert time.monotonic() - begin < 15


@strangers
def test_every_operation_with_extreme_fields_leaves_the_server_and_its_values():
    store = master()
    store.set("mine", "kept")
    fields = [[], [b""], *([b"x", number] for number in NUMBERS), [b"\xff" * 70000], [b"x"] * 5]
    fields += [[b"x", struct.pack("<d", seconds)] for seconds in SECONDS]
    fields += [[struct.pack("<d", seconds)] for seconds in SECONDS]
    fields += [[b""] * 3, [b"x", b"", b"y"], [b"x"] * 4000, [b"x", b"y" * 9]]
    made = []
    for operation in [*range(18), 127, 255]:
        for each in fields:
            made.append(stranger(store, packed(operation, each)))
        while len(made) > 100:
            made.pop(0).close()
        check_serves(store)
    for each in made:
        each.close()
    check_serves(store)


@strangers
def test_what_is_cut_off_anywhere_does_nothing():
    store = master()
    store.set("mine", "kept")
    whole = HELLO + packed(Operation.SET, [b"/mine", b"lost"])
    for end in range(len(whole)):
        with stranger(store, None) as connection:
            connection.sendall(whole[:end])
    check_serves(store)


@strangers
def test_who_says_nothing_loses_the_connection(monkeypatch):
    monkeypatch.setattr(server, "_GREETING", 0.2)
    store = master()
    store.set("mine", "kept")
    with stranger(store, None) as silent, stranger(store, None) as slow:
        slow.sendall(HELLO[:5])
        assert silent.recv(1) == b"" and slow.recv(1) == b""
    check_serves(store)


@strangers
def test_who_does_not_read_holds_one_answer_and_nobody_up():
    store = master()
    store.set("mine", "kept")
    key = b"k" * (8 << 20)
    flood = packed(Operation.SET, [key, b""])
    flood += packed(Operation.COMPARE_SET, [b"missing", key, b""]) + b"".join(
        packed(Operation.COMPARE_SET, [b"missing", b"expected", b""]) for _ in range(200_000)
    )
    with stranger(store) as connection:
        sending = threading.Thread(target=lambda: failing(connection.sendall, flood), daemon=True)
        sending.start()
        for _ in range(20):
            check_serves(store)
            held = [len(c.to_send) + len(c.received) for c in store._server._loop.clients]
            assert sum(held) < 40 << 20
    sending.join(10)
    check_serves(store)


def failing(function, *args):
    """Call, whatever comes of the call."""
    with contextlib.suppress(OSError):
        function(*args)


@strangers
@pytest.mark.parametrize(
    ("operation", "fields", "said"),
    [
        ("GET", [b"/large"] * 300 + [struct.pack("<d", 1.0)], b"at most 1048576 bytes"),
        ("APPEND", [b"/large", bytes(1 << 19)], b"at most 1048576 bytes"),
        ("SET", [b"key", bytes(450_000)] * 2, b"The store is full"),
        ("PUSH", [b"key", bytes(900_000)], b"The store is full"),
    ],
)
def test_what_would_take_too_much_is_refused(monkeypatch, operation, fields, said):
    store = master()
    store.set("mine", "kept")
    store.set("large", bytes(3 << 18))
    monkeypatch.setattr(server, "LIMIT", 1 << 20)
    store._server._loop.table.most = (6 << 18) + 5000
    with stranger(store, packed(Operation[operation], fields)) as connection:
        assert said in connection.recv(300)
    assert store.get("large") == bytes(3 << 18)
    check_serves(store)


@strangers
def test_half_sent_requests_have_a_bound_together(monkeypatch):
    monkeypatch.setattr(server, "_UNDER_WAY", 6 << 20)
    store = master()
    store.set("mine", "kept")
    half = server._LENGTH.pack(100 << 20) + bytes(2 << 20)
    made = [stranger(store, half) for _ in range(8)]
    check_serves(store)
    clients = store._server._loop.clients
    assert wait_until(lambda: sum(len(c.received) for c in clients) <= 6 << 20)
    with contextlib.suppress(ConnectionResetError):  # as it is told where it was still sending
        assert made[0].recv(1) == b""  # the oldest goes
    check_serves(store)


@strangers
def test_no_memory_ends_one_connection_alone(monkeypatch):
    store = master()
    store.set("mine", "kept")
    run = server.Table.run

    def short(table, operation, fields):
        if b"huge" in fields:
            raise MemoryError
        return run(table, operation, fields)

    monkeypatch.setattr(server.Table, "run", short)
    wait = packed(Operation.WAIT, [b"huge", struct.pack("<d", 9.0)])
    with stranger(store, wait) as waits, stranger(store) as asks:
        asks.sendall(packed(Operation.CHECK, [b"huge"]))
        assert asks.recv(1) == b""
        with stranger(store, packed(Operation.SET, [b"huge", b""])) as sets:
            assert sets.recv(1) == b""
        store._server._loop.table.values[b"huge"] = b""
        check_serves(store)
        assert waits.recv(1) == b""
    check_serves(store)


@pytest.mark.parametrize("days", [25, 50, 400, 40_000])
def test_a_wait_of_many_days(days):
    store = master()
    other = dist.TCPStore(
        "127.0.0.1", store.port, None, False, timedelta(days=days), wait_for_workers=False
    )
    found = []
    thread = threading.Thread(target=lambda: found.append(other.get("late")), daemon=True)
    thread.start()
    time.sleep(0.1)
    store.set("late", "here")
    thread.join(10)
    assert found == [b"here"]


@strangers
def test_an_answer_that_drips_ends_with_the_patience():
    with socket.create_server(("localhost", 0)) as fake:

        def drip():
            connection, _ = fake.accept()
            with connection:
                while True:
                    try:
                        connection.sendall(b"\1")
                    except OSError:
                        return
                    time.sleep(0.05)

        threading.Thread(target=drip, daemon=True).start()
        store = dist.TCPStore("127.0.0.1", fake.getsockname()[1], None, False)
        begin = time.monotonic()
        with pytest.raises(dist.DistNetworkError, match="timed out"):
            store._exchange(Operation.COUNT, [], 0.5)
        assert time.monotonic() - begin < 5


FORKED = """
import os, time
from datetime import timedelta
store = torch.distributed.TCPStore("localhost", 0, 1, True, timedelta(seconds=10))
memory = torch.distributed.HashStore()
store.set("a", "parent")
child = os.fork()
if child == 0:
    assert store.get("a") == b"parent"
    memory.set("a", "mine")
    store.set("b", "child")
    assert store.add("n", 1) == 1
    os._exit(0)
assert store.get("b") == b"child"
assert os.waitpid(child, 0)[1] == 0
store.set("c", "still here")
assert store.get("c") == b"still here"
"""


@pytest.mark.skipif(NAME == "torch", reason="PyTorch's connection is no child's")
def test_a_forked_child_has_a_connection_of_its_own():
    run_alone(FORKED)


def test_a_program_ends_while_its_store_still_serves():
    assert run_alone("store = torch.distributed.TCPStore('localhost', 0, 1, True)") == ""
