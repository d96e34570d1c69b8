"""The fixtures of the tests that look at pages: see browser.py."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from browser import Pages, launched


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium for the module's tests (one second to start)."""
    with launched() as open_browser:
        yield open_browser


@pytest.fixture(scope="module")
def pages(browser: Any) -> Pages:
    """The tabs of the module's tests."""
    return Pages(browser)


@pytest.fixture
def page(pages: Pages) -> Iterator[Callable[..., Any]]:
    """`page(path, width=1280, height=800, dark=False)` opens a local file: a Playwright page.

    At the end the test fails if a page wrote an error to its console, raised, opened a dialog, or
    asked for anything that is not on this machine.
    """
    yield pages.open
    pages.close()
