"""Datasets, samplers, collation and the loader, with and without worker processes."""

import copy
import gc
import multiprocessing
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import time
import warnings
from collections import OrderedDict, namedtuple
from pathlib import Path

import numpy as np
import pytest

from _alone import PATIENCE
from _subject import NAME, submodule, torch

data = submodule("utils.data")


def rows(n=10):
    return data.TensorDataset(torch.arange(2.0 * n).reshape(n, 2), torch.arange(n))


def labels(loader):
    return [y.tolist() for _, y in loader]


class Squares(data.Dataset):
    """Samples that no fast path knows."""

    def __len__(self):
        return 7

    def __getitem__(self, index):
        if index == 6 and getattr(self, "broken", False):
            raise ValueError("sample 6 is broken")
        return {"n": index, "square": np.float32(index**2), "name": f"no {index}"}


class Numbers(data.IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        info = data.get_worker_info()
        if info is None:
            return iter(range(self.n))
        return iter(range(info.id, self.n, info.num_workers))


def test_batches_in_order():
    loader = data.DataLoader(rows(), batch_size=4)
    assert len(loader) == 3 and labels(loader) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    x, y = next(iter(loader))
    assert isinstance(next(iter(loader)), list)
    assert x.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]] and y.dtype == torch.int64
    dropping = data.DataLoader(rows(), batch_size=4, drop_last=True)
    assert len(dropping) == 2 and labels(dropping) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    single = list(data.DataLoader(rows(), batch_size=None))
    assert len(single) == 10 and single[3][1].item() == 3 and single[3][0].shape == (2,)


def test_batches_do_not_share_memory_with_the_dataset():
    dataset = rows(4)
    x, _ = next(iter(data.DataLoader(dataset, batch_size=4)))
    x.zero_()
    assert dataset.tensors[0].any()


def test_shuffling_is_a_permutation_that_the_seed_decides():
    def order(seed, generator=None):
        torch.manual_seed(seed)
        loader = data.DataLoader(rows(), batch_size=5, shuffle=True, generator=generator)
        return [[n for batch in labels(loader) for n in batch] for _ in range(2)]

    first, second = order(0)
    assert sorted(first) == list(range(10)) and first != second
    assert order(0) == [first, second] and order(1) != [first, second]
    mine = lambda: torch.Generator().manual_seed(3)
    assert order(0, mine()) == order(1, mine())


def test_the_fast_path_for_rows_gives_what_samples_give():
    dataset = data.Subset(rows(), [7, 1, 4])
    fast = list(data.DataLoader(dataset, batch_size=2))
    slow = list(
        data.DataLoader(dataset, batch_size=2, collate_fn=lambda b: data.default_collate(b))
    )
    for a, b in zip(fast, slow, strict=True):
        assert all(torch.equal(u, v) and u.dtype == v.dtype for u, v in zip(a, b, strict=True))


def test_collation_keeps_the_structure():
    batch = next(iter(data.DataLoader(Squares(), batch_size=3)))
    assert batch["n"].tolist() == [0, 1, 2] and batch["n"].dtype == torch.int64
    assert batch["square"].tolist() == [0, 1, 4] and batch["square"].dtype == torch.float32
    assert batch["name"] == ["no 0", "no 1", "no 2"]
    Point = namedtuple("Point", "x y")
    points = data.default_collate([Point(1, 2.0), Point(3, 4.0)])
    assert isinstance(points, Point) and points.y.dtype == torch.float64
    ordered = data.default_collate([OrderedDict(a=True), OrderedDict(a=False)])
    assert type(ordered) is OrderedDict and ordered["a"].tolist() == [True, False]
    nested = data.default_collate([([1, 2], np.ones(2)), ([3, 4], np.zeros(2))])
    assert [t.tolist() for t in nested[0]] == [[1, 3], [2, 4]]
    assert nested[1].dtype == torch.float64 and nested[1].shape == (2, 2)
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal size"):
        data.default_collate([[1], [1, 2]])
    with pytest.raises(
        TypeError, match="default_collate: batch must contain tensors, numpy arrays"
    ):
        data.default_collate([None])
    assert next(iter(data.DataLoader(Squares(), batch_size=3, collate_fn=len))) == 3


def test_default_convert():
    converted = data.default_convert({"a": np.ones(2), "b": (np.float32(3), "text")})
    assert converted["a"].tolist() == [1, 1] and converted["b"][0].item() == 3.0
    assert converted["b"][1] == "text"


def test_samplers():
    torch.manual_seed(0)
    assert list(data.SequentialSampler(range(3))) == [0, 1, 2]
    drawn = list(data.RandomSampler(range(5), replacement=True, num_samples=70))
    assert len(drawn) == 70 and set(drawn) == set(range(5))
    many = list(data.RandomSampler(range(4), num_samples=10))
    assert sorted(many[:4]) == sorted(many[4:8]) == [0, 1, 2, 3] and len(many) == 10
    assert sorted(data.SubsetRandomSampler([5, 8, 2])) == [2, 5, 8]
    weighted = list(data.WeightedRandomSampler([0.0, 1.0, 3.0], 200))
    assert set(weighted) == {1, 2} and weighted.count(2) > weighted.count(1)
    assert sorted(data.WeightedRandomSampler([1.0, 1.0, 1.0], 3, replacement=False)) == [0, 1, 2]
    batches = data.BatchSampler(data.SequentialSampler(range(5)), 2, drop_last=False)
    assert list(batches) == [[0, 1], [2, 3], [4]] and len(batches) == 3
    assert labels(data.DataLoader(rows(), batch_sampler=[[3, 1], [2]])) == [[3, 1], [2]]
    assert labels(data.DataLoader(rows(), batch_size=2, sampler=[9, 0, 5])) == [[9, 0], [5]]


@pytest.mark.parametrize("dataset", [rows(4), data.Subset(rows(8), range(4))], ids=["rows", "part"])
def test_a_batch_of_indices_is_taken_one_by_one(dataset):
    """Whatever the batch sampler's batches are: a tuple is not one index of several dimensions."""
    for batch in ((0, 1), [0, 1], range(2), np.arange(2), torch.arange(2), iter([0, 1])):
        assert labels(data.DataLoader(dataset, batch_sampler=[batch])) == [[0, 1]]
    assert labels(data.DataLoader(dataset, batch_sampler=[(0, 1), (2, 1)])) == [[0, 1], [2, 1]]
    with pytest.raises(IndexError):  # an empty batch: nothing to tell its structure from
        list(data.DataLoader(dataset, batch_sampler=[[]]))


def test_indices_that_are_no_numbers_mean_what_they_mean_to_the_dataset():
    dataset = data.TensorDataset(torch.arange(12).reshape(4, 3))
    for index, row in (
        ((0, 2), 2),
        (slice(1, 3), [[3, 4, 5], [6, 7, 8]]),
        (torch.tensor(1), [3, 4, 5]),
    ):
        (batch,) = next(iter(data.DataLoader(dataset, batch_sampler=[[index]])))
        assert batch.tolist() == [row]


def test_iterable_datasets():
    loader = data.DataLoader(Numbers(5), batch_size=2)
    assert [b.tolist() for b in loader] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in data.DataLoader(Numbers(5), 2, drop_last=True)] == [[0, 1], [2, 3]]
    chained = data.ChainDataset([Numbers(2), Numbers(1)])
    assert list(chained) == [0, 1, 0]
    with pytest.raises(
        ValueError, match="expected unspecified shuffle option, but got shuffle=True"
    ):
        data.DataLoader(Numbers(5), shuffle=True)


def test_combining_datasets():
    both = rows(3) + rows(2)
    assert len(both) == 5 and both[3][1].item() == 0 and both[-1][1].item() == 1
    with pytest.raises(ValueError, match="absolute value of index should not exceed"):
        both[-6]
    stacked = data.StackDataset(range(3), ["x", "y", "z"])
    assert stacked[1] == (1, "y") and len(stacked) == 3
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        data.TensorDataset(torch.ones(2), torch.ones(3))


def test_random_split():
    split = lambda parts: data.random_split(range(10), parts, torch.Generator().manual_seed(0))
    a, b = split([7, 3])
    assert sorted([*a, *b]) == list(range(10)) and (len(a), len(b)) == (7, 3)
    assert [list(part) for part in split([7, 3])] == [list(a), list(b)]
    assert [len(part) for part in split([0.5, 0.26, 0.24])] == [6, 2, 2]
    with pytest.raises(ValueError, match="Sum of input lengths does not equal the length"):
        split([3, 3])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: data.DataLoader(rows(), 0), "batch_size should be a positive integer value, but"),
        (lambda: data.DataLoader([], shuffle=True), "num_samples should be a positive integer"),
        (lambda: data.DataLoader(rows(), num_workers=-1), "num_workers option should be non-neg"),
        (lambda: data.DataLoader(rows(), timeout=-1), "timeout option should be non-negative"),
        (lambda: data.DataLoader(rows(), prefetch_factor=2), "could only be specified in multipro"),
        (lambda: data.DataLoader(rows(), persistent_workers=True), "needs num_workers > 0"),
        (
            lambda: data.DataLoader(rows(), sampler=[1], shuffle=True),
            "mutually exclusive with shuf",
        ),
        (
            lambda: data.DataLoader(rows(), batch_sampler=[[1]], drop_last=True),
            "batch_sampler option",
        ),
        (lambda: data.DataLoader(rows(), None, drop_last=True), "disables auto-batching"),
        (lambda: setattr(data.DataLoader(rows()), "batch_size", 3), "should not be set after"),
    ],
)
def test_errors(make, text):
    with pytest.raises(ValueError) as caught:
        make()
    assert text in str(caught.value)


def test_more_workers_than_processors():
    affinity = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count()))
    processors = len(affinity(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data.DataLoader(rows(), num_workers=processors)
    text = f"This DataLoader will create {processors + 1} worker processes in total. Our suggested"
    with pytest.warns(UserWarning, match=text):
        data.DataLoader(rows(), num_workers=processors + 1)


def test_workers_give_the_same_batches():
    torch.manual_seed(0)
    alone = labels(data.DataLoader(rows(), batch_size=3, shuffle=True))
    torch.manual_seed(0)
    assert labels(data.DataLoader(rows(), batch_size=3, shuffle=True, num_workers=2)) == alone


def test_workers_share_a_stream():
    loader = data.DataLoader(Numbers(7), batch_size=2, num_workers=2)
    assert sorted(n for batch in loader for n in batch.tolist()) == list(range(7))


def test_persistent_workers_and_a_pass_left_half_way():
    loader = data.DataLoader(Squares(), batch_size=2, num_workers=1, persistent_workers=True)
    passes = iter(loader)
    assert next(passes)["n"].tolist() == [0, 1]
    assert [b["n"].tolist() for b in loader] == [[0, 1], [2, 3], [4, 5], [6]]
    assert [b["n"].tolist() for b in loader] == [[0, 1], [2, 3], [4, 5], [6]]


def test_an_error_in_a_worker_is_raised_here():
    dataset = Squares()
    dataset.broken = True
    loader = data.DataLoader(dataset, batch_size=7, num_workers=1)
    with pytest.raises(ValueError) as caught:
        list(loader)
    assert "Caught ValueError in DataLoader worker process 0." in str(caught.value)
    assert "sample 6 is broken" in str(caught.value)


class Draws(data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        info = data.get_worker_info()
        return info.id, info.num_workers, random.random(), np.random.rand(), torch.rand(1).item()


def test_workers_draw_numbers_of_their_own():
    def passed(seed):
        torch.manual_seed(seed)
        return [[v.item() for v in b] for b in data.DataLoader(Draws(), num_workers=2)]

    first = passed(0)
    assert [b[:2] for b in first] == [[0, 2], [1, 2], [0, 2], [1, 2]]
    assert (
        len({b[4] for b in first}) == len({b[3] for b in first}) == len({b[2] for b in first}) == 4
    )
    assert passed(0) == first != passed(1)


class Unsendable(Squares):
    def __getitem__(self, index):
        return lambda: index


class Dies(Squares):
    def __getitem__(self, index):
        os._exit(3)


class Sleeps(Squares):
    def __getitem__(self, index):
        time.sleep(3600)


@pytest.mark.parametrize(
    ("dataset", "options", "text"),
    [
        (Unsendable(), {"collate_fn": list}, "in DataLoader worker process 0"),
        (Dies(), {}, r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"),
        (Sleeps(), {"timeout": 0.2}, "DataLoader timed out after 0.2 seconds"),
    ],
    ids=["unsendable", "dies", "sleeps"],
)
def test_a_worker_that_fails_otherwise(dataset, options, text):
    if NAME == "torch" and not isinstance(dataset, Sleeps):
        pytest.skip("PyTorch waits for ever, or prints to stderr")
    with pytest.raises(Exception, match=text):
        list(data.DataLoader(dataset, num_workers=1, **options))


class Killed(Squares):
    def __getitem__(self, index):
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(
    ("dataset", "cause"),
    [
        (Killed(), r"DataLoader worker \(pid \d+\) is killed by signal: Killed\. "),
        (Dies(), r"DataLoader worker \(pid \d+\) exited unexpectedly with exit code 3\."),
    ],
    ids=["killed", "dies"],
)
def test_the_cause_says_how_a_worker_ended(dataset, cause):
    if NAME == "torch":
        pytest.skip("PyTorch says so in a handler of SIGCHLD")
    with pytest.raises(RuntimeError) as error:
        list(data.DataLoader(dataset, num_workers=1))
    assert re.match(cause, str(error.value.__cause__))


PROGRAM = Path(__file__).parent / "left_loader.py"
SIGNALS = {"SIGTERM", "SIGKILL"}
METHODS = multiprocessing.get_all_start_methods()
WAYS = [
    *(("SIGKILL", method, do, True) for method in METHODS for do in ("nothing", "compute")),
    *(("_exit", method, "sleep", False) for method in METHODS),
    *(("SIGKILL", METHODS[0], do, False) for do in ("nothing", "sleep", "queue")),
    *((how, METHODS[0], "compute", False) for how in ("SIGTERM", "segfault", "raise", "end")),
]


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(("how", "method", "do", "persistent"), WAYS, ids=str)
def test_workers_end_when_their_parent_has_gone(how, method, do, persistent):
    if NAME == "torch":
        pytest.skip("PyTorch's workers look at their parent between two samples only")
    kept = "persistent" if persistent else "passing"
    program = subprocess.Popen(
        [sys.executable, str(PROGRAM), how, method, do, kept],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with program:
        assert program.stdout.readline() == b"ready\n"
        if how in SIGNALS:
            program.send_signal(getattr(signal, how))
        program.communicate(timeout=PATIENCE)  # the end of the output that all processes share


@pytest.mark.parametrize("begun", [False, True], ids=["made", "half-way"])
@pytest.mark.parametrize("persistent", [False, True], ids=["passing", "persistent"])
def test_workers_end_with_the_loader_and_its_iterator(persistent, begun):
    """By themselves: not only when the garbage collector comes."""
    before = set(multiprocessing.active_children())
    gc.disable()
    try:
        loader = data.DataLoader(Squares(), num_workers=2, persistent_workers=persistent)
        batches = iter(loader)
        if begun:
            next(batches)
        workers = set(multiprocessing.active_children()) - before
        assert len(workers) == 2
        del loader, batches
        for worker in workers:
            worker.join(PATIENCE)
            assert not worker.is_alive()
    finally:
        gc.enable()


class DiesOnce(Squares):
    """Ends its process at the first sample, if the file is not there yet."""

    def __init__(self, path):
        self.path = path

    def __getitem__(self, index):
        if not self.path.exists():
            self.path.touch()
            os._exit(3)
        return super().__getitem__(index)


@pytest.mark.skipif("fork" not in METHODS, reason="needs fork")
def test_a_forked_process_has_persistent_workers_of_its_own():
    if NAME == "torch":
        pytest.skip("PyTorch asserts that the workers are the process's children")
    loader = data.DataLoader(Squares(), num_workers=1, persistent_workers=True)
    numbers = lambda: [batch["n"].item() for batch in loader]
    assert numbers() == [0, 1, 2, 3, 4, 5, 6]
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)
    child = context.Process(target=lambda: writer.send(numbers()))
    child.start()
    assert reader.poll(PATIENCE) and reader.recv() == [0, 1, 2, 3, 4, 5, 6]
    child.join(PATIENCE)
    assert child.exitcode == 0 and numbers() == [0, 1, 2, 3, 4, 5, 6]


def test_a_loader_goes_on_after_its_persistent_workers_died(tmp_path):
    if NAME == "torch":
        pytest.skip("PyTorch's loader stays without workers")
    dataset = DiesOnce(tmp_path / "died")
    loader = data.DataLoader(dataset, batch_size=7, num_workers=1, persistent_workers=True)
    batches = iter(loader)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        next(batches)
    assert list(batches) == []  # not a wait for ever
    assert [b["n"].tolist() for b in loader] == [[0, 1, 2, 3, 4, 5, 6]]


@pytest.mark.skipif("fork" not in METHODS, reason="needs fork")
def test_a_worker_that_dies_is_noticed_though_its_pipe_stays_open(tmp_path):
    """A process that the worker started has inherited the pipe."""

    class Forks(Squares):
        def __getitem__(self, index):
            if os.fork() == 0:
                while not (tmp_path / "noticed").exists():
                    time.sleep(0.05)
            os._exit(3)

    if NAME == "torch":
        pytest.skip("PyTorch's workers have one pipe together")
    try:
        with pytest.raises(RuntimeError, match="exited unexpectedly"):
            list(data.DataLoader(Forks(), num_workers=1, multiprocessing_context="fork"))
    finally:
        (tmp_path / "noticed").touch()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize("workers", [0, 1])
def test_a_pass_is_not_copied(copied, workers):
    batches = iter(data.DataLoader([1, 2], num_workers=workers))
    with pytest.raises(NotImplementedError, match="cannot be pickled"):
        copied(batches)
