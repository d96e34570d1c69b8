"""Shared by all tests: makes `tests/` importable (`_subject`) and keeps runs repeatable.

A run without PyTorch also notes, in pytest's cache, which tests asked for it: by an import, by
`importorskip`, by `find_spec`. `--comparisons` runs those alone, once PyTorch is installed.
"""

import gc
import os
import sys
import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

# A test process that itself starts threads should not multiply them: two workers run on two cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# PyTorch answers alike on every processor: with AMX its products of bfloat16 round otherwise.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    # Files in bytes hold the time when they were made; every worker must give a case one name.
    return argname if isinstance(val, bytes) else None


# ---- the tests that ask for PyTorch

NOTES = "rushlight/asked for PyTorch"
HAS_TORCH = find_spec("torch") is not None


class Asking:
    """An import finder that finds nothing: it notes who asks for PyTorch, a test or a file."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.collected = ""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == "torch":
            test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
            self.asked.add(test or self.collected)


asking = Asking()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--comparisons",
        action="store_true",
        help="only the tests that asked for PyTorch when the suite ran here without it",
    )


@cache
def _noted(config: pytest.Config) -> set[str]:
    cache = getattr(config, "cache", None)
    return set(cache.get(NOTES, [])) if cache else set()


def pytest_configure(config: pytest.Config) -> None:
    if not HAS_TORCH:
        sys.meta_path.insert(0, asking)
    if config.getoption("comparisons") and not (HAS_TORCH and _noted(config)):
        raise pytest.UsageError(
            "--comparisons: first run the suite here without PyTorch, which notes the tests that "
            "ask for it, and then install PyTorch (make test; make torch)"
        )


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Any:
    before, asking.collected = asking.collected, collector.nodeid
    try:
        return (yield)
    finally:
        asking.collected = before


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With --comparisons no file is imported that has none."""
    if not config.getoption("comparisons") or collection_path.suffix != ".py":
        return None
    name = collection_path.relative_to(config.rootpath).as_posix()
    return name not in {noted.partition("::")[0] for noted in _noted(config)} or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("comparisons"):
        return
    noted = _noted(config)
    chosen: dict[bool, list[pytest.Item]] = {True: [], False: []}
    for item in items:
        chosen[not noted.isdisjoint((item.nodeid, item.nodeid.partition("::")[0]))].append(item)
    items[:] = chosen[True]
    config.hook.pytest_deselected(items=chosen[False])


class Forgotten(dict[str, list[Any]]):
    """Keeps nothing of what is added to its lists."""

    def setdefault(self, name: str, found: Any = None) -> Any:
        return found


def pytest_collection_finish(session: pytest.Session) -> None:
    """A million objects of fifty thousand tests are there to stay: gc.collect(), which many tests
    call, need not walk them each time. Nor the reports of the tests that have passed, which a
    worker would keep for a summary that only the process that started it writes."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and hasattr(session.config, "workerinput"):
        reporter.stats = Forgotten()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    asking.asked.update(getattr(node, "workeroutput", {}).get("asked", []))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Workers of pytest-xdist tell what they noted; the process that started them keeps it."""
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["asked"] = sorted(asking.asked)
    elif not HAS_TORCH and (cache := getattr(config, "cache", None)):
        cache.set(NOTES, sorted(asking.asked | _noted(config)))


# ---- what a run says


def pytest_report_header(config: pytest.Config) -> str:
    """Say which library is under test, and whether PyTorch is there to compare with."""
    subject = os.environ.get("RUSHLIGHT_TEST_WITH", "rushlight")
    oracle = "compared with it" if HAS_TORCH else "not installed: comparisons are skipped"
    return f"library under test: {subject}; PyTorch: {oracle}"


@pytest.fixture(autouse=True)
def _quiet_expected_warnings():
    """Beta-state and deprecation notices of either library are not what these tests are about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", UserWarning)
        yield


@pytest.fixture
def no_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where no program has named an accelerator, which another test of this process may have."""
    from rushlight._base.device import _Accelerators

    monkeypatch.setattr(_Accelerators, "wanted", False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """End with how much of the error catalogue was raised and, without PyTorch, with which files
    that compare with it were skipped."""
    if any("test_no_text_is_missing" in r.nodeid for r in terminalreporter.stats.get("passed", [])):
        from error_catalogue import summary

        terminalreporter.write_line(summary())
    if HAS_TORCH:
        return
    reports = terminalreporter.stats.get("skipped", [])
    files = {r.nodeid.split("::")[0] for r in reports if "'torch'" in str(r.longrepr)}
    terminalreporter.write_line(
        f"torch not installed: {len(files)} comparison files skipped (make torch installs it)"
    )
