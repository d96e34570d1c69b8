"""The part of tools/wasm_tests.py that runs inside Pyodide: pytest, and what came of each test."""

import json
import os
import time
import traceback
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import js
import pytest

OURS = ("/repo/tests/", "/site/rushlight/")


def innermost(trace: TracebackType | None) -> str:
    """The file, among those of tests and library, that was running or had called what was."""
    files = (frame.f_code.co_filename for frame, _ in traceback.walk_tb(trace))
    return next((file for file in reversed([*files]) if file.startswith(OURS)), "")


def chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


class Teller:
    """A plugin that tells each test's outcome, with all of its exceptions and whose they are."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell

    def said(self, report: Any, call: Any) -> None:
        raised = [
            (f"{type(error).__name__}: {str(error)[:2000]}", innermost(error.__traceback__))
            for error in chain(call.excinfo and call.excinfo.value)
        ]
        told = {"test": report.nodeid, "outcome": report.outcome, "raised": raised}
        told["text"] = str(report.longrepr)[-4000:] if report.failed else ""
        self.tell(json.dumps(told | {"when": report.when, "seconds": call.duration}))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Any:
        report = yield
        if report.when == "call" or not report.passed:
            self.said(report, call)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Any:
        report = yield
        if not report.passed and isinstance(collector, pytest.Module):
            report.when = "collect"
            self.said(report, report.call)
        return report


def process_time() -> float:
    """Seconds of this process: Pyodide's own counts those in which others ran, too."""
    used = js.process.cpuUsage()
    return float(used.user + used.system) / 1e6


def run(asked: str, tell: Callable[[str], None]) -> None:
    time.process_time = process_time
    os.chdir("/repo")
    options = ["--capture=sys", "-pno:cacheprovider", "-pno:faulthandler", "--tb=short"]
    pytest.main([*options, *json.loads(asked)], plugins=[Teller(tell)])
