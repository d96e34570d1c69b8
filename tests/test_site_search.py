"""A search in the documentation's site finds what people look for, the function before the page
about it. The site is built and searched in Chromium; skipped without mkdocs (`make docs` has it).
"""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs")
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "explain"))
from browser import launched  # noqa: E402

FIELD = "[data-md-component=search-query]"
ITEM = ".md-search-result__item"
# What is typed, and where the first hit leads: a page, or a section of the first page.
FIRST = {
    "softmax": "api/nn-activation.html#torch.nn.Softmax",
    "conv2d": "api/nn-convolution.html#torch.nn.Conv2d",
    "LSTM": "api/nn-recurrent.html#torch.nn.LSTM",
    "nn.Linear": "api/nn-linear.html#torch.nn.Linear",
    "F.softmax": "api/functional-activation.html#torch.nn.functional.softmax",
    "cross entropy": "api/functional-losses.html#torch.nn.functional.cross_entropy",
    "Tensor.backward": "api/tensor.html#torch.Tensor.backward",
    "torch.cat": "api/torch-layout.html#torch.cat",
    "Adam": "api/optim.html#torch.optim.Adam",
    "backpropagation": "api/autograd.html",
    "automatic differentiation": "api/autograd.html",
    "reinforcement": "how-to/reinforcement-learning.html",
    "vanishing": "tutorial/10-depth.html",
    "exercise": "tutorial/course.html",
    "mixed precision": "how-to/mixed-precision.html",
    "notebook": "how-to/notebooks.html",
    "limits": "limits.html",
}


@pytest.fixture(scope="module")
def search(tmp_path_factory):
    """Type a query into the built site, and give the links of its first hit."""
    site = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(site)]
    subprocess.run(command, cwd=ROOT, check=True)
    with launched() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(10_000)
        page.goto((site / "index.html").as_uri())
        page.click(FIELD)

        def find(query: str) -> list[str]:
            page.fill(FIELD, "")
            page.press(FIELD, "End")
            page.wait_for_selector(ITEM, state="detached")  # of the query before
            page.fill(FIELD, query)
            page.press(FIELD, "End")
            page.wait_for_selector(ITEM)
            links = page.eval_on_selector_all(
                f"{ITEM}:first-child a", "links => links.map(link => link.href)"
            )
            parts = [link.partition(f"{site.name}/")[2].partition("#") for link in links]
            return [f"{path.partition('?')[0]}{mark}{anchor}" for path, mark, anchor in parts]

        yield find


@pytest.mark.parametrize("query", FIRST)
def test_first_hit(search, query: str):
    """The page, or behind it its first section."""
    assert FIRST[query] in search(query)[:2]
