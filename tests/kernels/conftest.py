"""What the tests of the kernels share."""

from collections.abc import Iterator

import pytest

from rushlight import _core


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    """The number of threads that the test runs on."""
    before = _core.get_num_threads()
    _core.set_num_threads(request.param)
    yield request.param
    _core.set_num_threads(before)
