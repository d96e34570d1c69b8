"""A notebook in JupyterLab's own front end, in Chromium: `pip install jupyterlab`, else skipped.

The server runs on this machine with a token and folders of its own. One run of the notebook serves
all tests, in the light theme and then in the dark one.
"""

import json
import os
import re
import subprocess
import sys
import time
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.skipif(
    find_spec("jupyterlab") is None, reason="jupyterlab is not installed"
)
CELLS = [
    "%load_ext rushlight\nimport rushlight as torch\nfrom rushlight import explain, nn",
    "net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))\nnet",
    "x = torch.ones(16, 4)\nx",
    "blocks = nn.Sequential(*[nn.Tanh() for n in range(40)])\n"
    "explain.graph(blocks(net(x)).sum(), fold=False, height=300)",
    "%%explain\nloss = net(x).square().mean()\nloss.backward()",
    "%%profile\nloss = net(x).square().mean()\nloss.backward()",
    "explain.saved(net(x))",
]
PAPER = "getComputedStyle(document.querySelector('svg.rl .paper')).fill"
CODE = """(() => {
  const style = getComputedStyle(document.querySelector('.rl-cell code'));
  return [style.backgroundColor, style.padding];
})()"""
BACK = "getComputedStyle(document.body).backgroundColor"


def notebook():
    cells = [
        {
            "cell_type": "code",
            "id": str(n),
            "metadata": {},
            "source": cell,
            "outputs": [],
            "execution_count": None,
        }
        for n, cell in enumerate(CELLS)
    ]
    kernel = {"name": "python3", "display_name": "Python 3"}
    return json.dumps(
        {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of the notebook in a JupyterLab that runs."""
    folder = tmp_path_factory.mktemp("lab")
    (folder / "a.ipynb").write_text(notebook())
    own = {f"JUPYTER_{what}_DIR": str(folder / what) for what in ("CONFIG", "DATA", "RUNTIME")}
    running = subprocess.Popen(
        [
            *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
            *("--ip=127.0.0.1", "--port=0", f"--ServerApp.root_dir={folder}"),
            "--IdentityProvider.token=token",
        ],
        env=os.environ | own | {"IPYTHONDIR": str(folder / "ipython"), "HOME": str(folder)},
        stderr=(folder / "said").open("w"),
    )
    try:
        while not (
            found := re.search(r"(http://127.0.0.1:\d+/)lab\?", (folder / "said").read_text())
        ):
            assert running.poll() is None, (folder / "said").read_text()
            time.sleep(0.1)
        yield f"{found[1]}lab/tree/a.ipynb?token=token"
    finally:
        running.terminate()
        running.wait()


@pytest.fixture(scope="module")
def lab(server, browser):
    """The notebook in a tab after all its cells have run: what was seen in each theme."""
    context = browser.new_context(color_scheme="null", viewport={"width": 1280, "height": 3500})
    tab = context.new_page()
    tab.set_default_timeout(900_000)  # however busy the machine is
    errors = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(server)
    tab.wait_for_selector(".jp-NotebookPanel .jp-Cell")
    tab.wait_for_selector("text=/ipykernel.*Idle/")
    choose(tab, "Run", "Run All Cells")
    tab.wait_for_selector("text=freed by backward")
    tab.wait_for_function("document.querySelectorAll('iframe.rl-page').length == 2")
    for frame in tab.frames:
        frame.wait_for_load_state()
    pages = {frame.title(): frame for frame in tab.frames}
    page = pages["loss: its graph"]
    profile = pages["In[6]: where the time goes"]
    page.click("[data-testid=view-backward]")
    seen = SimpleNamespace(errors=errors, text=tab.inner_text(".jp-Notebook"))
    seen.pressed = page.get_attribute("[data-testid=view-backward]", "aria-pressed")
    seen.lines = profile.inner_text("body")
    seen.code = tab.evaluate(CODE)
    seen.frame = tab.evaluate(
        "(box => [box.clientHeight, box.scrollHeight])(document.querySelector('svg.rl').parentNode)"
    )
    seen.light = (tab.evaluate(PAPER), page.evaluate(BACK))
    choose(tab, "Settings", "Theme", "JupyterLab Dark")
    tab.wait_for_selector('body[data-jp-theme-light="false"]', state="attached")
    page.wait_for_function("matchMedia('(prefers-color-scheme: dark)').matches")
    seen.dark = (tab.evaluate(PAPER), page.evaluate(BACK))
    tab.set_viewport_size({"width": 480, "height": 3500})
    tab.wait_for_function("document.querySelector('.rl-cell').clientWidth < 400")
    seen.wide = tab.evaluate(
        "[...document.querySelectorAll('.rl-cell, svg.rl, iframe.rl-page')]"
        ".filter(e => e.getBoundingClientRect().right > innerWidth).length"
    )
    context.close()
    return seen


def choose(tab, menu, *items):
    tab.click(f".lm-MenuBar-itemLabel >> text={menu}")
    for item in items[:-1]:
        tab.hover(f'.lm-Menu-itemLabel >> text="{item}"')
    tab.click(f'.lm-Menu-itemLabel >> text="{items[-1]}"')


def test_cells_show_modules_tensors_and_places(lab):
    assert "49 parameters · 196 B · training" in lab.text
    assert "float32[16, 4] · min 1 · mean 1 · max 1" in lab.text
    assert "In[7]:1" in lab.text
    assert not lab.errors


def test_code_of_a_tree_has_no_look_of_the_notebook(lab):
    assert lab.code == ["rgba(0, 0, 0, 0)", "0px"]


def test_a_narrow_window_cuts_nothing(lab):
    assert lab.wide == 0


def test_a_profile_is_a_page_with_lines_of_the_cell(lab):
    assert "In[6]:2" in lab.lines and "In[6]:3" in lab.lines


def test_a_long_picture_scrolls(lab):
    seen, whole = lab.frame
    assert seen == 300 and whole > 1000


def test_a_page_in_a_cell_can_be_used(lab):
    assert lab.pressed == "true"


def test_pictures_and_pages_follow_the_theme(lab):
    assert lab.light == ("rgb(255, 255, 255)", "rgb(251, 251, 249)")
    assert lab.dark == ("rgb(17, 21, 28)", "rgb(20, 23, 27)")
