"""A headless Chromium for the tests of what `rushlight.explain` writes.

`Pages` opens local files in it and notes what a page must not do: write an error to the console,
raise, open a dialog, or ask for anything that is not a file. The fixture `page` of conftest.py is
`Pages.open`; a test that uses it fails at its end where there is such a complaint.

Chromium is the system's own (Debian: `apt-get install chromium`), driven by Playwright. Where one
of them is missing the tests are skipped, or fail with RUSHLIGHT_BROWSER=required, as in CI.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
# What a page asks for without leaving the machine.
LOCAL = ("file:", "data:", "blob:", "about:")


def chromium() -> str | None:
    """The path of the system's Chromium."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


def missing() -> str:
    """What the tests need and is not here, or an empty string."""
    if find_spec("playwright") is None:
        return "the package playwright is not installed (pip install playwright)"
    if chromium() is None:
        return f"none of {', '.join(PROGRAMS)} is on PATH (Debian: apt-get install chromium)"
    return ""


@contextmanager
def launched() -> Iterator[Any]:
    """Playwright's `Browser`; skips, or fails where RUSHLIGHT_BROWSER=required, without Chromium.

    While it is open the thread counts as one with a running asyncio loop, so `asyncio.run` fails
    there: keep it open for one module's tests, not for all of a process.
    """
    if reason := missing():
        give_up = pytest.fail if os.environ.get("RUSHLIGHT_BROWSER") == "required" else pytest.skip
        give_up(f"no browser to open pages in: {reason}")
    from playwright.sync_api import sync_playwright

    with _without_preloads():
        playwright = sync_playwright().start()
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
    try:
        yield browser
    finally:
        browser.close()
        playwright.stop()


@contextmanager
def _without_preloads() -> Iterator[None]:
    """The sanitizers' runtimes are for the tests' own process, not for Playwright and Chromium."""
    preloaded = os.environ.pop("LD_PRELOAD", None)
    try:
        yield
    finally:
        if preloaded is not None:
            os.environ["LD_PRELOAD"] = preloaded


class Pages:
    """Opens files and notes what their pages do wrong, in `complaints`."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser
        self.complaints: list[str] = []
        self._open: list[Any] = []

    def open(self, path: Path, width: int = 1280, height: int = 800, dark: bool = False) -> Any:
        """A file in a tab of its own, of that size in pixels, once it has loaded."""
        context = self.browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            offline=True,
        )
        tab = context.new_page()
        tab.set_default_timeout(900_000)  # however busy the machine is
        tab.on("console", self._console)
        tab.on("pageerror", lambda error: self.complaints.append(f"raised: {error}"))
        tab.on("request", self._request)
        tab.on("dialog", self._dialog)
        self._open.append(tab)
        tab.goto(Path(path).resolve().as_uri())
        return tab

    def close(self) -> None:
        """Close all tabs; AssertionError with all complaints, where there are any."""
        for tab in self._open:
            if not tab.is_closed():
                tab.evaluate("new Promise(done => setTimeout(done))")  # what it still had to say
            tab.context.close()
        self._open.clear()
        assert not self.complaints, "\n".join(["a page did what it must not:", *self.complaints])

    def _console(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(f"console: {message.text}")

    def _request(self, request: Any) -> None:
        if not request.url.startswith(LOCAL):
            self.complaints.append(f"asked for {request.url}")

    def _dialog(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()
