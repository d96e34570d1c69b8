"""Marks the comparisons that `known_differences.toml` lists as expected to fail."""

import tomllib
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("known_differences.toml")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Strictly: a case that agrees again fails until it is taken off the list."""
    tables = tomllib.loads(LIST.read_text(encoding="utf-8"))["difference"]
    reasons = {case: table["reason"] for table in tables for case in table["ids"]}
    for item in items:
        if item.path.parent == LIST.parent:
            reason = reasons.get(f"{item.path.name}::{item.name}")
            if reason is not None:
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
