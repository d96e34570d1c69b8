"""A job that is killed and started again computes the same numbers as one that never stopped."""

from pathlib import Path

from _jobs import run

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = (ROOT / "benchmarks" / "restarting.py").read_text(encoding="utf-8")
STEPS = 30


def trained(folder, *kills):
    """The losses of all steps, to the bit, and what the command said."""
    folder.mkdir()
    options = ["torchrun", "--nproc-per-node", "2", "--max-restarts", "3"]
    done = run(folder, PROGRAM, *options, arguments=[str(folder), str(STEPS), *kills])
    assert done.code == 0, done.err
    losses = (folder / "losses").read_text().split("\n")
    assert sorted(path.name for path in folder.iterdir()) == ["checkpoint.pt", "losses", "train.py"]
    return losses, done.err


def test_the_losses_after_two_kills_are_those_of_the_run_that_was_never_stopped(tmp_path):
    straight, _ = trained(tmp_path / "straight")
    # Between two checkpoints in the second epoch, and of the other rank, right after one.
    killed, said = trained(tmp_path / "killed", "0:1:7", "1:0:16")
    assert len(set(straight)) == STEPS
    assert killed == straight
    assert "restart 1 of 3" in said
    assert "restart 2 of 3" in said
    assert said.count("was ended by signal 9 (SIGKILL)") == 2
