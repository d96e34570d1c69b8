"""What `explain.watch` says at the end, and shows where there is no terminal."""

import io
import re
import sys
import types

import pytest
import watched
from rushlight.explain import watch
from watched import HOSTILE, TRAIN, is_picture, run_here, table, train

from rushlight import _cli


@pytest.fixture
def said(capsys, tmp_path, monkeypatch):
    """Runs a program's text as `rushlight run --watch` does, in a folder of its own; gives what was
    written to standard error."""
    monkeypatch.chdir(tmp_path)

    def run(text):
        with watch(png="prog.watch.png", title="prog.py"):
            run_here(text)
        return capsys.readouterr().err

    return run


def test_without_a_view(capsys, tmp_path):
    with watch(show=False, png=tmp_path / "a.png", title="mine") as seen:
        train()
    assert capsys.readouterr() == ("", "")
    assert is_picture(tmp_path / "a.png")
    assert str(seen).startswith("mine, step 3 · ")
    assert table(str(seen))["SGD"] == ["2", "2.5", "5", "10", "1", "0.25"]
    with watch(show=False, png=tmp_path / "none" / "a.png"):
        train()
    said = f"rushlight watch: {tmp_path}/none/a.png was not written: No such file or directory\n"
    assert capsys.readouterr() == ("", said)


def test_a_program_that_does_not_train(said, tmp_path):
    assert said("x = 1") == (
        "rushlight watch: the program called no backward and no optimizer's step: nothing to show\n"
    )
    assert not (tmp_path / "prog.watch.png").exists()


def test_a_backward_from_what_is_no_number(said):
    text = "x = torch.ones(2, requires_grad=True)\n(x * x).backward(torch.ones(2))"
    assert "prog.py:2: 1 times backward began at what is no single number" in said(text)


def test_no_matplotlib(said, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert said(TRAIN).endswith(
        "rushlight watch: prog.watch.png was not written: matplotlib is missing "
        "(pip install rushlight[watch])\n"
    )


def test_no_rich_and_no_terminal(said, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    assert "the curves are in" in said(TRAIN)


def test_a_picture_that_cannot_be_written(said, tmp_path):
    (tmp_path / "prog.watch.png").mkdir()
    assert said(TRAIN).endswith("prog.watch.png was not written: Is a directory\n")


def test_the_figures_of_the_program_are_its_own(said, tmp_path):
    """Neither its current figure nor its style is touched, nor does its style show."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with matplotlib.rc_context({"lines.linewidth": 7}):
        figure = plt.figure()
        try:
            assert "the curves are in" in said(TRAIN)
            assert plt.gcf() is figure and plt.get_fignums() == [1]
            assert plt.rcParams["lines.linewidth"] == 7
        finally:
            plt.close(figure)


def test_hostile_names(said, tmp_path):
    text = said(HOSTILE)
    assert "\x1b" not in text
    rows = table(text)
    assert {r"\x1b[31m<b>[bold red]", r"$\frac{x", "_hidden", r"a\nb\r", "SGD[6]", "%s{}"} <= {
        *rows
    }
    assert is_picture(tmp_path / "prog.watch.png")
    assert text.count("not written") == 0


def test_closed_streams(capsys, monkeypatch):
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    with watch():
        run_here(TRAIN)
    assert capsys.readouterr().out == "step 0\nstep 1\nstep 2\n"


def test_a_notebook(monkeypatch):
    """IPython's display is used as it is documented: one, which is updated."""
    shown = []

    class Handle:
        def update(self, data, raw):
            shown.append(("update", data, raw))

    def display(data, raw, display_id):
        shown.append(("display", data, raw))
        return Handle()

    def format_code_name(file):
        return ("Cell", "In[3]") if file == watched.__file__ else None

    compiler = types.SimpleNamespace(format_code_name=format_code_name)
    shell = types.SimpleNamespace(kernel=object(), compile=compiler)
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    ipython.version_info = (9, 0, 0)  # matplotlib asks
    ipython.display = types.ModuleType("IPython.display")
    ipython.display.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    with watch():
        train(2)
    assert [what for what, *_ in shown] == ["display", *["update"] * (len(shown) - 1)]
    assert len(shown) >= 2
    for _, data, raw in shown:
        assert raw is True
        assert data["image/png"].startswith(b"\x89PNG")
    rows = table("\n" + shown[-1][1]["text/plain"])
    assert rows["SGD"][1] == "5"
    assert any(re.fullmatch(r"In\[3\]:\d+", name) for name in rows)


@pytest.mark.parametrize(
    "option, said",
    [
        ("--watch=mine.pdf", "argument --watch: mine.pdf: the name of a .png file is expected"),
        ("--watch=", "argument --watch: : the name of a .png file is expected"),
        ("--watch=none/mine.png", "argument --watch: none/mine.png: there is no such folder"),
        ("--watched", "unknown option --watched; did you mean --watch?"),
    ],
)
def test_options_that_are_wrong(capsys, option, said):
    with pytest.raises(SystemExit) as end:
        _cli.main(["run", option, "prog.py"])
    assert end.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"rushlight run: {said}\n")
