"""CUDA graphs: see _graphs.py."""

import pytest
from _inside import ALONE, names, ran, results

pytestmark = ALONE


@pytest.fixture(scope="module")
def found():
    return results("_graphs.py")


@pytest.mark.parametrize("name", names("_graphs.py"))
def test_graphs(found, name):
    assert not found[name], found[name]


ENDS = """
import rushlight as torch

kept = torch.ones(3, device="cuda")
graph, mark = torch.cuda.CUDAGraph(), torch.cuda.Event()
mark.record()
kept + 1
with torch.cuda.graph(graph):
    made = kept + 1
graph.replay()
print(made.tolist(), flush=True)
"""
IN_THE_MIDDLE = """
torch.cuda.CUDAGraph().capture_begin()  # nobody ends the capture
other = torch.cuda.CUDAGraph()
other.capture_begin()
made = kept + 1
"""


@pytest.mark.parametrize("more", ["", IN_THE_MIDDLE], ids=["done", "in the middle"])
def test_the_interpreter_ends(more, tmp_path):
    script = tmp_path / "ends.py"
    script.write_text(ENDS + more)
    assert ran(script) == "[2.0, 2.0, 2.0]\n"


FORKS = """
import os

child = os.fork()
if not child:
    for call in graph.replay, mark.record:
        try:
            call()
        except RuntimeError as error:
            assert str(error).startswith("Cannot re-initialize CUDA in forked subprocess")
        else:
            raise AssertionError(call)
    del graph, mark
    raise SystemExit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
kept.fill_(4)
graph.replay()
assert made.tolist() == [5, 5, 5]
"""


def test_a_forked_process_has_neither_graphs_nor_events(tmp_path):
    script = tmp_path / "forks.py"
    script.write_text(ENDS + FORKS)
    assert ran(script) == "[2.0, 2.0, 2.0]\n"
