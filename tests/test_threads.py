"""How many threads there are: what the environment says, what programs set, and what they are
told. Runs on PyTorch too (RUSHLIGHT_TEST_WITH=torch)."""

import os
import subprocess
import sys

import numpy as np
import pytest

from _subject import NAME, torch

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
ALONE = ("MKL_NUM_THREADS", "OMP_NUM_THREADS", "MKL_DYNAMIC", "OMP_DYNAMIC")


def run(program: str, **environment: str) -> str:
    """What a fresh process prints, with nothing said of threads but this."""
    kept = {k: v for k, v in os.environ.items() if k not in ALONE}
    done = subprocess.run(
        [sys.executable, "-c", f"import {NAME} as torch\n{program}"],
        env=kept | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def threads(**environment: str) -> int:
    return int(run("print(torch.get_num_threads())", **environment))


# Where processors share cores, there are fewer threads than processors.
MOST = threads()


def test_a_thread_for_every_core_that_the_process_may_use():
    assert 1 <= MOST <= (CORES or MOST)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system binds no processes")
def test_a_process_of_one_processor_has_one_thread():
    bound = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])"
    kept = {k: v for k, v in os.environ.items() if k not in ALONE}
    program = f"{bound}\nimport {NAME} as torch\nprint(torch.get_num_threads())"
    done = subprocess.run([sys.executable, "-c", program], env=kept, capture_output=True, text=True)
    assert done.stdout.strip() == "1", done.stderr


ASKED = {
    "1": 1,
    "+1": 1,
    " 1 ": 1,
    "1,4": 1,
    "1000": MOST,
    "99999999999": MOST,
    # what is no list of positive numbers says nothing
    "": MOST,
    "0": MOST,
    "-1": MOST,
    "one": MOST,
    "1x": MOST,
    "1.5": MOST,
    "1,": MOST,
    "1,0": MOST,
}


@pytest.mark.parametrize("text", ASKED)
def test_omp_num_threads_asks_for_fewer(text: str):
    assert threads(OMP_NUM_THREADS=text) == ASKED[text]


@pytest.mark.parametrize(
    "text, expected",
    [("1", 1), ("1000", MOST), ("", MOST), ("0", MOST), ("-1", 1), ("one", 1), ("2x", 1)],
)
def test_mkl_num_threads_asks_for_fewer_or_for_one_where_it_is_no_number(text, expected):
    assert threads(MKL_NUM_THREADS=text) == expected


def test_mkl_num_threads_goes_before_omp_num_threads():
    assert threads(MKL_NUM_THREADS="1", OMP_NUM_THREADS="2") == 1
    assert threads(MKL_NUM_THREADS="1000", OMP_NUM_THREADS="1") == MOST
    assert threads(MKL_NUM_THREADS="0", OMP_NUM_THREADS="1") == 1


@pytest.fixture
def as_before():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("n", [1, 3, 1000, np.int64(2), np.uint8(5)], ids=repr)
def test_what_is_set_is_told(n, as_before):
    assert torch.set_num_threads(n) is None
    assert torch.get_num_threads() == n


def test_more_threads_than_there_can_be_still_compute(as_before):
    torch.set_num_threads(2**31 - 1)
    x = torch.ones(1 << 20)
    assert (x + x).sum().item() == 2 << 20


WRONG = [
    (0, RuntimeError, "expects a positive integer"),
    (-1, RuntimeError, "expects a positive integer"),
    (True, RuntimeError, "expects an int, but got bool"),
    (1.0, RuntimeError, "expects an int, but got float"),
    ("2", RuntimeError, "expects an int, but got str"),
    (None, RuntimeError, "expects an int, but got NoneType"),
    (np.float64(2), RuntimeError, "expects an int, but got numpy.float64"),
    (torch.tensor(2), RuntimeError, "expects an int, but got Tensor"),
    (2**31, ValueError, "Overflow when unpacking long"),
    (2**70, ValueError, "Overflow when unpacking long long"),
]


@pytest.mark.parametrize("function", ["set_num_threads", "set_num_interop_threads"])
@pytest.mark.parametrize("n, error, text", WRONG, ids=lambda x: str(x))
def test_what_is_no_number_of_threads_is_refused(function, n, error, text, as_before):
    before = torch.get_num_threads(), torch.get_num_interop_threads()
    with pytest.raises(error) as raised:
        getattr(torch, function)(n)
    said = str(raised.value).partition("\n")[0]
    assert said == (f"{function} {text}" if error is RuntimeError else text)
    assert (torch.get_num_threads(), torch.get_num_interop_threads()) == before


ONCE = "Error: cannot set number of interop threads after parallel work has started or "
TRY = """
try:
    torch.set_num_interop_threads(5)
    print(torch.get_num_interop_threads())
except RuntimeError as error:
    print(str(error).partition("\\n")[0])
"""


def test_interop_threads_are_set_once():
    assert run("print(torch.get_num_interop_threads())") == str(os.cpu_count())
    assert run(TRY) == "5"
    first = "torch.get_num_interop_threads(); torch.set_num_interop_threads(3)"
    assert run(first + TRY) == ONCE + "set_num_interop_threads called"
    assert (
        run("x = torch.ones(900, 900, requires_grad=True)\n(x @ x).sum().backward()" + TRY) == "5"
    )


def test_interop_threads_are_set_before_a_fork():
    fork = "torch.jit.wait(torch.jit.fork(torch.neg, torch.ones(2)))"
    assert run(fork + TRY) == ONCE + "set_num_interop_threads called"
