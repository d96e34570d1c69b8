"""Tests of accelerators: they run on PoCL, which makes an OpenCL device of the processor."""

import _pocl
import pytest

_pocl.prepare()


@pytest.fixture
def refuse():
    """No call may go by way of the host."""
    from rushlight import _core

    before = _core.accelerator_refuse_fallbacks(True)
    yield
    _core.accelerator_refuse_fallbacks(before)


@pytest.fixture(autouse=True)
def _calls_begin_anew():
    """Tests may change what kernels are chosen by, so no call is like one of another test."""
    from rushlight import _core

    _core.accelerator_forget_calls()
