"""Shared by all tests: makes `tests/` importable (`_subject`) and keeps runs repeatable."""

import os
import warnings

import pytest

# A test process that itself starts threads should not multiply them: two workers run on two cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    # Files in bytes hold the time when they were made; every worker must give a case one name.
    return argname if isinstance(val, bytes) else None


def pytest_report_header(config: pytest.Config) -> str:
    """Say which library is under test, and whether PyTorch is there to compare with."""
    from importlib.util import find_spec

    subject = os.environ.get("RUSHLIGHT_TEST_WITH", "rushlight")
    oracle = "compared with it" if find_spec("torch") else "not installed: comparisons are skipped"
    return f"library under test: {subject}; PyTorch: {oracle}"


@pytest.fixture(autouse=True)
def _quiet_expected_warnings():
    """Beta-state and deprecation notices of either library are not what these tests are about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", UserWarning)
        yield


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """End with how much of the error catalogue was raised and, without PyTorch, with which files
    that compare with it were skipped."""
    from importlib.util import find_spec

    if any("test_no_text_is_missing" in r.nodeid for r in terminalreporter.stats.get("passed", [])):
        from error_catalogue import summary

        terminalreporter.write_line(summary())
    if find_spec("torch"):
        return
    reports = terminalreporter.stats.get("skipped", [])
    files = {r.nodeid.split("::")[0] for r in reports if "'torch'" in str(r.longrepr)}
    terminalreporter.write_line(
        f"torch not installed: {len(files)} comparison files skipped (make torch installs it)"
    )
