"""Each test begins without a recorder that another has left on, and captures small graphs, too."""

import pytest

from rushlight import _core
from rushlight._capture import run


@pytest.fixture(autouse=True)
def _no_recorder():
    yield
    if _core.capturing():
        _core.capture_stop()


@pytest.fixture(autouse=True)
def _small_graphs(monkeypatch):
    monkeypatch.setattr(run, "LEAST", 0)
