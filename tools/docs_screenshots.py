"""Take the screenshots of docs/screenshots/: pages of `explain.page`, in Chromium.

    python tools/docs_examples.py && python tools/docs_screenshots.py
    make examples && python tools/docs_screenshots.py --gallery      docs/gallery/, smaller

The pages are those that the documentation's code wrote into docs/pictures/. Needs what the tests of
pages need: Playwright and the system's Chromium (tests/explain/browser.py).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "explain"))
from browser import Pages, launched

ROOT = Path(__file__).resolve().parent.parent


class Shot(NamedTuple):
    """A page of docs/pictures/, its size in pixels, and what is clicked first."""

    page: str
    width: int
    height: int
    clicks: tuple[str, ...] = ()
    dark: bool = False


def drawn(label: str) -> str:
    """What is drawn with a label that begins so."""
    return f'#canvas [data-key][aria-label^="{label}"]'


NEXT = '[data-testid="step-next"]'
FIT = "#fit"
A = drawn("leaf a,")
SHOTS = {
    "five_neurons": Shot("five_neurons", 1280, 760, (A,)),
    "five_neurons_375": Shot("five_neurons", 375, 760, (A,)),
    "mlp_steps": Shot("mlp", 1280, 760, ("#tab-steps", NEXT, NEXT, NEXT)),
    "mlp_memory": Shot("mlp", 1280, 760, ("#tab-memory", '[data-testid="colour-memory"]')),
    "gpt": Shot("gpt", 1280, 1000, (FIT,)),
    "gpt_375": Shot("gpt", 375, 760, (FIT,), dark=True),
}


def take(pages: Pages, name: str, shot: Shot) -> None:
    """One screenshot, as a file."""
    path = ROOT / "docs" / "pictures" / f"{shot.page}.html"
    tab: Any = pages.open(path, shot.width, shot.height, shot.dark)
    tab.wait_for_selector('body[data-ready="true"]')
    tab.evaluate("document.getElementById('legend').open = false")
    for selector in shot.clicks:
        tab.locator(selector).first.dispatch_event("click")  # also what the legend covers
        tab.wait_for_timeout(200)
    tab.wait_for_timeout(600)  # what moves has come to rest
    tab.screenshot(path=str(ROOT / "docs" / "screenshots" / f"{name}.png"))


def gallery() -> None:
    """The pictures that the examples have written, small enough for a page."""
    from PIL import Image  # it comes with matplotlib, which drew them

    target = ROOT / "docs" / "gallery"
    target.mkdir(exist_ok=True)
    for path in sorted((ROOT / "examples" / "out").glob("*.png")):
        name = "digits" if path.stem == "learning_curve" else path.stem
        picture = Image.open(path).convert("RGB")
        picture.thumbnail((1200, 1200))
        picture.save(target / f"{name}.webp", quality=75, method=6)


def main() -> None:
    """Take all of them, or those that are named."""
    if sys.argv[1:] == ["--gallery"]:
        gallery()
        return
    (ROOT / "docs" / "screenshots").mkdir(exist_ok=True)
    with launched() as browser:
        pages = Pages(browser)
        for name in sys.argv[1:] or SHOTS:
            take(pages, name, SHOTS[name])
        pages.close()


if __name__ == "__main__":
    main()
