"""The browser of these tests sees what a page does wrong, and nothing where it does nothing."""

import browser as of_tests
import pytest
from browser import Pages

WRONG = {
    "console.error('lamp out')": "console: lamp out",
    "throw new TypeError('no wick')": "raised: no wick",
    "alert('injected')": "dialog: injected",
    "setTimeout(() => { throw new Error('late') })": "raised: late",
    "new Image().src = 'http://example.org/a.png'": "asked for http://example.org/a.png",
    "fetch('https://example.org/data').catch(() => 0)": "asked for https://example.org/data",
}


def written(folder, script):
    path = folder / "lamp & wick.html"
    path.write_text(
        f"<!doctype html><meta charset='utf-8'><title>lamp</title><p>Flame</p>"
        f"<img src='data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA='>"
        f"<script>{script}</script>",
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize("script", WRONG)
def test_what_a_page_does_wrong_fails_at_the_end(browser, tmp_path, script):
    pages = Pages(browser)
    pages.open(written(tmp_path, script))
    with pytest.raises(AssertionError, match="a page did what it must not") as failed:
        pages.close()
    assert WRONG[script] in str(failed.value).splitlines()


def test_a_page_that_does_nothing_wrong_passes(page, tmp_path):
    opened = page(written(tmp_path, "console.log('fine')"), width=375, height=600, dark=True)
    assert opened.inner_text("p") == "Flame"
    assert opened.evaluate("innerWidth") == 375
    assert opened.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")


@pytest.mark.parametrize(
    ("setting", "outcome"), [("", pytest.skip.Exception), ("required", pytest.fail.Exception)]
)
def test_without_chromium_tests_are_skipped_or_fail(monkeypatch, setting, outcome):
    monkeypatch.setattr(of_tests, "PROGRAMS", ("no-such-browser",))
    monkeypatch.setenv("RUSHLIGHT_BROWSER", setting)
    with pytest.raises(outcome, match="no-such-browser"), of_tests.launched():
        pass
