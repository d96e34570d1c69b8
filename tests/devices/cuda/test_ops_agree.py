"""The op table on CUDA's device, which is the stand-in: values and gradients are the CPU's."""

import pytest
import sweep
from test_table import BY_HOST


@pytest.mark.parametrize("name", sweep.names())
def test_agrees_with_the_cpu(name, monkeypatch):
    monkeypatch.setattr(sweep, "DEVICE", "cuda")
    outcome = sweep.run(name)
    assert not outcome.wrong, outcome.wrong[:3]
    if outcome.calls:
        assert bool(outcome.by_host) is (name in BY_HOST), outcome.by_host
