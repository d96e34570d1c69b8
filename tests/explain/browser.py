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
    """Opens files and notes what their pages do wrong, in `complaints`.

    A tab that was closed is kept, empty, for the next file: a new one takes as long as a test.
    """

    def __init__(self, browser: Any) -> None:
        self.complaints: list[str] = []
        self._context = browser.new_context(offline=True)
        self._open: list[Any] = []
        self._empty: list[Any] = []

    def open(self, path: Path, width: int = 1280, height: int = 800, dark: bool = False) -> Any:
        """A file in a tab of its own, of that size in pixels, once it has loaded."""
        tab = self._empty.pop() if self._empty else self._new()
        tab.set_viewport_size({"width": width, "height": height})
        colors = "dark" if dark else "light"
        tab.emulate_media(color_scheme=colors, reduced_motion="no-preference")
        self._open.append(tab)
        tab.goto(Path(path).resolve().as_uri())
        return tab

    def close(self) -> None:
        """Empty all tabs; AssertionError with all complaints, where there are any."""
        tabs, self._open = self._open, []
        for tab in tabs:
            if not tab.is_closed():
                tab.evaluate("new Promise(done => setTimeout(done))")  # what it still had to say
                tab.goto("about:blank")
                tab.mouse.move(0, 0)
                self._empty.append(tab)
        complaints, self.complaints = self.complaints, []
        assert not complaints, "\n".join(["a page did what it must not:", *complaints])

    def _new(self) -> Any:
        tab = self._context.new_page()
        tab.set_default_timeout(900_000)  # however busy the machine is
        tab.on("console", self._console)
        tab.on("pageerror", lambda error: self.complaints.append(f"raised: {error}"))
        tab.on("request", self._request)
        tab.on("dialog", self._dialog)
        return tab

    def _console(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(f"console: {message.text}")

    def _request(self, request: Any) -> None:
        if not request.url.startswith(LOCAL):
            self.complaints.append(f"asked for {request.url}")

    def _dialog(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()
