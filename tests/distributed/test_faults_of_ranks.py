"""Ranks that raise, die or hang, interrupted jobs: all ends, and the cause is told.

The ranks that must not be waited for sleep for an hour: a job that waited for them would hang.
"""

import json
import os
import re
import signal
import threading

import pytest
from _jobs import alive, children, run, start, wait_until
from rushlight.distributed import _board
from rushlight.distributed import run as torchrun
from rushlight.distributed.elastic.multiprocessing import errors

from _alone import PATIENCE


def test_a_rank_that_raises_shows_its_traceback_first_and_ends_the_job(tmp_path):
    program = """
        import os, time
        if os.environ["RANK"] == "1":
            raise ValueError("boom")
        time.sleep(3600)
    """
    done = run(tmp_path, program, "run", "--nproc", "2")
    lines = done.err.splitlines()
    assert lines[:3] == [
        "Traceback (most recent call last):",
        f'  File "{tmp_path}/train.py", line 4, in <module>',
        '    raise ValueError("boom")',
    ]
    assert lines[3] == "ValueError: boom"
    assert "train.py failed: rank 1 ended with exit code 1" in lines
    assert done.err.count("rank 1") == 1  # mpirun says nothing beside
    assert done.code == 1


def test_a_rank_that_raises_while_others_wait_in_mpi_does_not_wait_for_them(tmp_path):
    program = """
        import os
        from mpi4py import MPI
        if os.environ["RANK"] == "1":
            raise ValueError("boom")
        MPI.COMM_WORLD.Barrier()
    """
    done = run(tmp_path, program, "run", "--nproc", "2")
    assert done.err.startswith("Traceback (most recent call last):\n")
    assert done.code == 1


def test_sys_exit_of_a_rank_is_the_commands_exit_code_after_its_atexit(tmp_path):
    program = """
        import atexit, os, sys, time
        atexit.register(print, "cleaned up")
        if os.environ["RANK"] == "1":
            sys.exit(7)
        time.sleep(3600)
    """
    done = run(tmp_path, program, "torchrun", "--nproc-per-node", "2")
    assert (done.code, done.out) == (7, "cleaned up\n")


@pytest.mark.parametrize(
    ("dies", "first", "reason", "code"),
    [
        ("os.kill(os.getpid(), 9)", "---", "was ended by signal 9 (SIGKILL)", 137),
        ("ctypes.string_at(0)", "Fatal Python error: Seg", "by signal 11 (SIGSEGV)", 139),
        ("os._exit(5)", "---", "ended with exit code 5", 5),
    ],
)
def test_a_rank_that_dies_is_told_with_its_signal(tmp_path, dies, first, reason, code):
    program = f"""
        import ctypes, os, time
        if os.environ["RANK"] == "1":
            print(os.getpid(), flush=True)
            {dies}
        time.sleep(3600)
    """
    done = run(tmp_path, program, "run", "--nproc", "2")
    assert done.err.startswith(first)
    assert re.search(rf"failed: rank 1 .*{re.escape(reason)}", done.err)
    assert f"(pid: {done.out.strip()})" in done.err
    assert "prterun" not in done.err
    assert done.code == code


def test_a_rank_that_does_not_come_is_shown_where_it_is(tmp_path):
    program = """
        import os, time
        from rushlight.distributed import _board
        board = _board.opened()
        board.entered(1, "broadcast")
        board.left()
        def busy():
            while True:
                pass
        if os.environ["RANK"] == "1":
            busy()
        board.entered(2, "all_reduce")
        time.sleep(0.3)
        while (late := board.behind(2)) != [1]:
            time.sleep(0.01)
        board.timed_out(late)
        raise RuntimeError("waited for nothing")
    """
    done = run(tmp_path, program, "run", "--nproc", "2")
    first = r"rank 1 has not come to all_reduce \(collective 2\); rank 0 waited \d+\.\d s\."
    assert re.match(first, done.err)
    place, trace, outer, _, inner, *_ = done.err.splitlines()
    assert place.endswith("is here:")
    assert trace == "Traceback (most recent call last):"
    assert outer == f'  File "{tmp_path}/train.py", line 11, in <module>'
    assert inner.startswith(f'  File "{tmp_path}/train.py", line ')
    assert inner.endswith(", in busy")
    assert done.err.index("in busy") < done.err.index("waited for nothing")
    assert "train.py failed: rank 1 has not come to all_reduce" in done.err
    assert done.code == 1


def test_restarts_are_counted_and_told_and_the_last_one_decides(tmp_path):
    program = """
        import os
        count = os.environ["TORCHELASTIC_RESTART_COUNT"]
        print(count, os.environ["TORCHELASTIC_MAX_RESTARTS"], flush=True)
        if count == "0" and os.environ["RANK"] == "1":
            raise ValueError("boom")
    """
    done = run(tmp_path, program, "torchrun", "--nproc-per-node=2", "--max-restarts=3")
    assert done.out.splitlines()[-2:] == ["1 3", "1 3"]
    assert "restart 1 of 3" in done.err
    assert done.code == 0


STAY = """
    import os, signal, sys, time
    if sys.argv[1:]:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with open("pid" + os.environ["RANK"] + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(file.name, "pid" + os.environ["RANK"])
    time.sleep(3600)
"""


def started(folder, *options, arguments=()):
    """A job whose processes run: the command, and the numbers of all that it has started."""
    command = start(folder, STAY, *options, arguments=arguments)
    pids = [folder / "pid0", folder / "pid1"]
    assert wait_until(lambda: all(path.exists() for path in pids))
    return command, [*children(command.pid), *(int(path.read_text()) for path in pids)]


@pytest.mark.parametrize(
    ("number", "group"),
    [(signal.SIGINT, True), (signal.SIGINT, False), (signal.SIGTERM, False), (9, False)],
)
def test_an_interrupted_job_leaves_no_process(tmp_path, number, group):
    command, pids = started(tmp_path, "run", "--nproc", "2")
    assert all(map(alive, pids))
    (os.killpg if group else os.kill)(command.pid, number)
    command.communicate(timeout=PATIENCE)
    assert command.returncode == -number  # a shell's 130 and 143
    assert wait_until(lambda: not any(map(alive, pids)))


def test_processes_that_ignore_sigterm_are_killed(tmp_path):
    options = ["torchrun", "--nproc-per-node=2", "--shutdown-timeout=1"]
    assert torchrun.job(torchrun.parse_args([*options[1:], "train.py"])).shutdown == 1
    command, pids = started(tmp_path, *options, arguments=["ignore"])
    command.terminate()
    command.communicate(timeout=PATIENCE)
    assert not any(map(alive, pids))


def test_when_mpirun_is_killed_its_processes_end(tmp_path):
    command, pids = started(tmp_path, "run", "--nproc", "2")
    os.kill(pids[0], signal.SIGKILL)
    _, err = command.communicate(timeout=PATIENCE)
    assert "mpirun" in err
    assert command.returncode == 137
    assert not any(map(alive, pids))


def test_what_record_writes_is_told_and_handed_on(tmp_path):
    program = """
        import os, time
        from torch.distributed.elastic.multiprocessing.errors import record
        @record
        def main():
            if os.environ["RANK"] == "1":
                raise ValueError("boom")
            time.sleep(3600)
        main()
    """
    place = tmp_path / "error.json"
    options = ["torchrun", "--nproc-per-node", "2", "--log-dir", "logs"]
    done = run(tmp_path, program, *options, TORCHELASTIC_ERROR_FILE=str(place))
    (file,) = tmp_path.glob("logs/*/attempt_0/1/error.json")
    assert re.search(r"error_file: .*logs/.*/attempt_0/1/error\.json", done.err)
    assert "message   : ValueError: boom" in done.err
    message = json.loads(place.read_text())["message"]
    assert message["message"] == "ValueError: boom"
    assert message["extraInfo"]["py_callstack"].splitlines()[-1] == "ValueError: boom"
    failure = errors.ProcessFailure(1, 5, 1, str(file))
    assert failure.message == message["extraInfo"]["py_callstack"]


def test_the_board_says_who_has_not_come(tmp_path):
    path = str(tmp_path / "board")
    _board.create(path, ranks=3)
    four, five, six = (_board.Board(path, rank) for rank in (0, 1, 2))
    for board in (four, five, six):
        board.entered(7, "all_reduce")
        board.left()
    four.entered(8, "x" * 100)
    five.entered(1, "barrier", group=2)
    assert four.behind(8) == [1, 2]
    assert four.behind(8, ranks=[0, 2]) == [2]
    assert four.behind(1, group=2) == [0, 2]
    entry = six.entry(0)
    assert (entry.state, entry.sequence, entry.name) == (_board.INSIDE, 8, "x" * 64)
    assert six.entry(2).state == _board.OUTSIDE
    with pytest.raises(ValueError, match="ranks 0 to 2, not 3"):
        six.entry(3)


def test_a_rank_that_has_given_up_goes_on_when_that_was_told(tmp_path):
    path = str(tmp_path / "board")
    _board.create(path, ranks=2)
    board = _board.Board(path, 0)
    board.tell()
    waits = threading.Thread(target=board.timed_out, args=([1], 2 * PATIENCE), daemon=True)
    waits.start()
    waits.join(PATIENCE)
    assert not waits.is_alive()
    assert [entry.late for entry in board.entries()] == [False, True]
    assert board.entry(0).state == _board.TIMED_OUT
