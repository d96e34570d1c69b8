"""Cells in IPython itself: the magics of `%load_ext rushlight`, and places named by their cells.

All cells run in one process, since IPython's shell is one for a process. The tests read what each
of them printed, displayed and raised.
"""

import html
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

pytestmark = pytest.mark.skipif(find_spec("IPython") is None, reason="IPython is not installed")

RUNNER = """
import contextlib, io, json, sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
shell = InteractiveShell.instance(colors="nocolor")
shell.display_formatter.active_types = shell.display_formatter.format_types  # as a notebook has
found = {}
for name, cell in json.load(sys.stdin).items():
    with capture_output() as said:
        result = shell.run_cell(cell, store_history=True)
    shown = [output.data for output in said.outputs]
    if result.result is not None:
        shown.append(shell.display_formatter.format(result.result)[0])
    error = result.error_before_exec or result.error_in_exec
    found[name] = {
        "number": len(found) + 1,
        "out": said.stdout,
        "err": said.stderr,
        "data": shown,
        "error": "" if error is None else f"{type(error).__name__}: {error}",
    }
sys.__stdout__.write(json.dumps(found))
"""

CELLS = {
    "load": "%load_ext rushlight\nimport rushlight as torch\nfrom rushlight import explain, nn",
    "net": "net = nn.Sequential(nn.Linear(2, 3), nn.Tanh())\nw = torch.ones(3, requires_grad=True)",
    "forward": "x = 1\ny = (w * 2).exp()\nloss = y.sum()",
    "tree": "print(explain.tree(loss))",
    "saved": "print(explain.saved(loss))",
    "why": "print(explain.why_no_grad(\n    w.detach()))",
    "first": "loss.backward()",
    "second": "loss.backward()",
    "write": "h = w.exp()\nz = h.sum()\nwith torch.no_grad():\n    h.zero_()\nz.backward()",
    "nan": "with torch.autograd.set_detect_anomaly(True):\n    (w * 0 - 1).sqrt().sum().backward()",
    "tensor": "y",
    "graph": "explain.graph(loss, height=123)",
    "module": "net",
    "backward in a cell": "%%explain\nl = net(torch.ones(1, 2)).sum()\nl.backward()\nkept = l * 2",
    "third": "%%explain 3\nfor n in range(4):\n    (w * n).sum().backward()",
    "no third": "%%explain 3\n(w * 2).sum().backward()",
    "ends in a loss": "%%explain\n(w * w).sum()",
    "ends in none": "%%explain\n7",
    "raises": "%%explain\n\n\nw.nothing",
    "bad": "%%explain three\n1",
    "profile": "%%profile\nthe = (w * w).sum()\nthe.backward()",
    "stopped": "%%explain\n(w * 2).sum().backward()\nraise KeyboardInterrupt",
    "zero": "%%explain 0\nw.sum().backward()",
    "no profile": "%%profile\n1\nw.nothing",
    "profile of what": "%%profile abc\n1",
    "no Python": "%%explain\nw.sum()\ndef f(:",
    "waits": "%%profile\nimport asyncio\nawait asyncio.sleep(0)",
    "define": "def twice(v):\n    return v.exp() * 2",
    "call": "print(explain.tree(twice(w * 3)))",
    "fails": "nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(5, 1))(torch.ones(4, 2))",
    "rounds": "total = 0\nfor n in range(7):\n    total = total + (w * n).exp().sum()\n"
    "print(explain.saved(total))",
    "after": "kept.item(), the.item()",
}


@pytest.fixture(scope="module")
def cells():
    """What came of each cell, by name."""
    done = subprocess.run(
        [sys.executable, "-c", RUNNER],
        input=json.dumps(CELLS),
        capture_output=True,
        text=True,
        env=os.environ | {"IPYTHONDIR": os.devnull + "/none"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def page_of(cell):
    """The data of the page that a cell shows, from the frame's own text."""
    (shown,) = [d["text/html"] for d in cell["data"] if "<iframe" in d.get("text/html", "")]
    text = html.unescape(re.search(r'srcdoc="([^"]*)"', shown)[1])
    return json.loads(re.search(r"<script[^>]*application/json[^>]*>(.*?)</script>", text)[1])


def place(cells, name, line):
    return f"In[{cells[name]['number']}]:{line}"


def test_cells_raise_what_they_should(cells):
    wrong = {"second", "write", "nan", "raises", "bad", "no profile", "fails"}
    wrong |= {"stopped", "zero", "profile of what", "no Python", "waits"}
    assert {name for name, cell in cells.items() if cell["error"]} == wrong


def test_tables_and_trees_name_cells(cells):
    made = place(cells, "forward", 2)
    assert re.search(rf"#1 y = exp .* {re.escape(made)}\n", cells["tree"]["out"])
    assert made in cells["saved"]["out"]
    assert f"{place(cells, 'why', 2)}, in <module>\n" in cells["why"]["out"]


def test_errors_name_cells(cells):
    assert (
        f"    {place(cells, 'first', 1)}, in <module>\n      loss.backward()"
        in (cells["second"]["error"])
    )
    assert f"    {place(cells, 'forward', 2)}, in <module>\n" in cells["second"]["error"]
    assert (
        f"    {place(cells, 'write', 1)}, in <module>\n      h = w.exp()"
        in (cells["write"]["error"])
    )
    assert f"    {place(cells, 'write', 4)}, in <module>\n" in cells["write"]["error"]
    assert place(cells, "nan", 2) in cells["nan"]["error"]
    assert f"  {place(cells, 'nan', 2)}, in <module>\n" in cells["nan"]["err"]
    assert "interactiveshell.py" not in cells["nan"]["err"]
    for name in ("second", "write"):
        assert 'File "' not in cells[name]["error"]


def test_tensors_modules_and_graphs_are_shown(cells):
    (tensor,) = cells["tensor"]["data"]
    assert tensor["text/plain"].startswith("tensor([7.3891") and "<img" in tensor["text/html"]
    assert place(cells, "forward", 2) in tensor["text/html"]
    (module,) = cells["module"]["data"]
    assert "9 parameters" in module["text/html"] and "Sequential(" in module["text/plain"]
    (graph,) = cells["graph"]["data"]
    assert "max-height: 123px" in graph["text/html"] and "<svg" in graph["text/html"]


def test_explain_shows_the_graph_of_the_backward(cells):
    data = page_of(cells["backward in a cell"])
    assert data["title"] == "l"
    assert f"In[{cells['backward in a cell']['number']}]" in json.dumps(data)
    assert page_of(cells["third"])["step"] == 3
    assert not cells["no third"]["data"]
    assert "the cell called backward 1 time, and number 3" in cells["no third"]["out"]
    kept, product = eval(cells["after"]["data"][0]["text/plain"])  # the cells' names are there
    assert product == 3.0 and kept != 0


def test_explain_shows_the_graph_of_a_value(cells):
    titles = [node["title"] for node in page_of(cells["ends in a loss"])["nodes"]]
    assert sorted(titles) == ["mul", "sum", "w"]
    assert "can end in a loss" in cells["ends in none"]["out"]
    assert cells["ends in none"]["data"][0]["text/plain"] == "7"


def test_errors_inside_of_the_magic_have_their_line(cells):
    assert "AttributeError" in cells["raises"]["error"]
    assert f"Cell In[{cells['raises']['number']}], line 4" in cells["raises"]["out"]
    assert "_magics.py" not in cells["raises"]["out"]
    assert "takes the number of a backward, got 'three'" in cells["bad"]["error"]
    assert "takes the number of a backward, got '0'" in cells["zero"]["error"]
    assert "%%profile takes no argument, got 'abc'" in cells["profile of what"]["error"]


def test_a_cell_that_cannot_run_says_why(cells):
    assert f"Cell In[{cells['no Python']['number']}], line 3\n" in cells["no Python"]["out"]
    assert "A cell under a magic cannot wait" in cells["waits"]["error"]
    assert not cells["no Python"]["data"] and not cells["waits"]["data"]


def test_profile_shows_a_table_and_a_page(cells):
    cell = cells["profile"]
    table, page = cell["data"]
    assert re.match(rf"In\[{cell['number']}\]: .* in all", table["text/plain"])
    assert re.search(rf"\n{re.escape(place(cells, 'profile', 3))} .*\n", table["text/plain"])
    assert re.search(r"\nMulBackward0 ", table["text/plain"])
    data = page_of({"data": [page]})
    assert data["title"] == f"In[{cell['number']}]"
    titles = {table[0][0] for table in data["tables"]}
    assert titles == {"part of the step", "module", "line", "op"}


def test_a_cell_under_profile_raises_its_own_error(cells):
    assert f"Cell In[{cells['no profile']['number']}], line 3" in cells["no profile"]["out"]
    assert "_magics.py" not in cells["no profile"]["out"]


def test_a_cell_that_stops_shows_what_it_had(cells):
    assert page_of(cells["stopped"])["step"] == 1
    table, page = cells["no profile"]["data"]
    assert " in all" in table["text/plain"] and page_of({"data": [page]})["tables"]


def test_a_function_of_an_earlier_cell_is_named_by_its_cell(cells):
    assert re.search(rf" exp .* {re.escape(place(cells, 'define', 2))}\n", cells["call"]["out"])
    assert re.search(rf" mul.* {re.escape(place(cells, 'call', 1))}\n", cells["call"]["out"])


def test_a_module_that_fails_is_told_with_cells(cells):
    assert "in Sequential.2, Linear(5, 1): in_features=5 got 3" in cells["fails"]["error"]
    assert f"Cell In[{cells['fails']['number']}], line 1" in cells["fails"]["out"]


def test_rounds_are_told_with_cells(cells):
    expected = f"7 rounds of {place(cells, 'rounds', 3)} are held by `total`; use .item()"
    assert expected in cells["rounds"]["out"]
