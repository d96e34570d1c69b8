"""rendezvous: what URLs and the environment tell, what is missing, beside PyTorch's errors."""

import threading
from datetime import timedelta

import pytest

from _alone import PATIENCE
from _subject import torch

dist = torch.distributed
LATE = timedelta(seconds=PATIENCE)
NAMES = ["RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"]


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch):
    for name in [*NAMES, "TORCHELASTIC_USE_AGENT_STORE"]:
        monkeypatch.delenv(name, raising=False)


def free_port():
    return dist.TCPStore("localhost", 0, 1, True).port


def both_meet(first, second):
    """The ranks of two that rendezvous, after they have exchanged a value."""
    found, stores = {}, []  # the first one's store serves the other

    def meet(arguments):
        store, rank, size = next(dist.rendezvous(*arguments, timeout=LATE))
        stores.append(store)
        store.set_timeout(LATE)
        store.set(f"from{rank}", str(rank))
        found[rank] = store.get(f"from{1 - rank}"), size

    threads = [threading.Thread(target=meet, args=(each,)) for each in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_tcp():
    url = f"tcp://localhost:{free_port()}"
    found = both_meet((f"{url}?rank=0&world_size=2",), (url, 1, 2))
    assert found == {0: (b"1", 2), 1: (b"0", 2)}


def test_file(tmp_path):
    url = f"file://{tmp_path}/store"
    found = both_meet((f"{url}?rank=0&world_size=2",), (url, 1, 2))
    assert found == {0: (b"1", 2), 1: (b"0", 2)}


def test_env(monkeypatch):
    for name, value in zip(NAMES, ["7", "2", "localhost", str(free_port())], strict=True):
        monkeypatch.setenv(name, value)
    found = both_meet(("env://?rank=0",), ("env://", 1))
    assert found == {0: (b"1", 2), 1: (b"0", 2)}


def test_env_alone(monkeypatch):
    for name, value in zip(NAMES, ["0", "1", "localhost", str(free_port())], strict=True):
        monkeypatch.setenv(name, value)
    store, rank, size = next(dist.rendezvous("env://"))
    assert (rank, size) == (0, 1)
    assert store.timeout == timedelta(minutes=30)


WRONG = [
    (["tcp://localhost"], {}),
    (["tcp://localhost:29500"], {}),
    (["tcp://localhost:29500?rank=0"], {}),
    (["tcp://localhost:29500?rank=0&world_size=1", 0, 1], {}),
    (["file://?rank=0&world_size=1"], {}),
    (["file:///tmp/none"], {}),
    (["file:///tmp/none?rank=0"], {}),
    (["other://x"], {}),
    ([3], {}),
    (["env://", "0"], {}),
    (["env://", 0, 1.5], {}),
    (["env://"], {}),
    (["env://"], {"RANK": "0"}),
    (["env://"], {"RANK": "0", "WORLD_SIZE": "1"}),
    (["env://"], {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost"}),
    (["env://"], {"RANK": "", "WORLD_SIZE": "1"}),
    (["env://"], {"RANK": "first"}),
    (["env://"], dict(zip(NAMES, ["0", "1", "localhost", "70000"], strict=True))),
]


@pytest.mark.parametrize(("arguments", "environment"), WRONG)
def test_what_is_wrong_is_said_as_in_pytorch(arguments, environment, monkeypatch):
    oracle = pytest.importorskip("torch").distributed
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    errors = []
    for library in (oracle, dist):
        with pytest.raises(Exception) as error:
            next(library.rendezvous(*arguments))
        errors.append((error.type, str(error.value)))
    assert errors[1] == errors[0]


@pytest.mark.parametrize("name", NAMES)
def test_each_variable_that_is_missing_is_named(name, monkeypatch):
    for each in NAMES:
        if each != name:
            monkeypatch.setenv(each, "0")
    said = f"using env:// rendezvous: environment variable {name} expected, but not set"
    with pytest.raises(ValueError, match=said):
        next(dist.rendezvous("env://"))


def test_a_handler_of_one_s_own():
    def own(url, extra=None):
        yield url, extra, 1

    dist.register_rendezvous_handler("own", own)
    assert next(dist.rendezvous("own://here", 3, 4, extra="x")) == (
        "own://here?rank=3&world_size=4",
        "x",
        1,
    )
    with pytest.raises(RuntimeError, match="own:// already registered"):
        dist.register_rendezvous_handler("own", own)


def test_there_is_no_second_rendezvous(tmp_path):
    found = dist.rendezvous(f"file://{tmp_path}/store", 0, 1)
    next(found)
    with pytest.raises(RuntimeError, match="Unable to perform rerendezvous using file://"):
        next(found)
