"""torch.futures: set once, waited for by other threads, called back in order."""

import threading

import pytest
from rushlight.futures import Future, collect_all, wait_all

from _alone import PATIENCE


def test_a_thread_waits():
    future, seen = Future(), []
    thread = threading.Thread(target=lambda: seen.append(future.wait()))
    thread.start()
    assert not future.done()
    future.set_result(5)
    thread.join(PATIENCE)
    assert seen == [5] and future.done() and future.value() == 5


def test_set_once():
    future = Future()
    future.set_result(1)
    with pytest.raises(RuntimeError, match=r"^Attempting to mark a completed Future as complete"):
        future.set_result(2)
    assert future.wait() == 1


def test_no_value_yet():
    with pytest.raises(RuntimeError):
        Future().value()


def test_exceptions():
    future = Future()
    future.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match=r"^no$"):
        future.wait()
    with pytest.raises(AssertionError, match="is of type <class 'int'>, not an Exception"):
        Future().set_exception(3)


def test_then_before_and_after():
    future = Future()
    before = future.then(lambda f: f.wait() + 1).then(lambda f: f.wait() * 10)
    future.set_result(1)
    assert before.wait() == 20 and future.then(lambda f: f.wait()).wait() == 1


def test_an_error_in_a_callback_is_the_next_ones():
    future = Future()
    after = future.then(lambda f: 1 / 0)
    future.set_result(1)
    with pytest.raises(
        RuntimeError, match="Got the following error when running the callback: Zer"
    ):
        after.wait()


def test_collect_all_and_wait_all():
    futures = [Future() for _ in range(3)]
    both = collect_all(futures)
    for i, future in enumerate(futures):
        assert not both.done()
        future.set_result(i)
    assert [f.value() for f in both.wait()] == wait_all(futures) == [0, 1, 2]
    assert collect_all([]).wait() == []
