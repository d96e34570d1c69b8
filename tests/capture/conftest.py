"""Each test begins without a recorder that another has left on."""

import pytest

from rushlight import _core


@pytest.fixture(autouse=True)
def _no_recorder():
    yield
    if _core.capturing():
        _core.capture_stop()
