"""Seven networks train on CUDA's device as on the CPU; each call that was kept is compared with the
same call made anew."""

import pytest
from test_networks import cnn, digits, gpt, losses, lstm, mlp, pinn, vae

from rushlight import _core


@pytest.fixture(autouse=True)
def _compared():
    before = _core.accelerator_compare_calls(True)
    yield
    _core.accelerator_compare_calls(before)


@pytest.mark.parametrize("make", [digits, mlp, cnn, lstm, gpt, vae, pinn])
def test_losses_are_the_cpus(make):
    assert losses(make, "cuda") == pytest.approx(losses(make, "cpu"), rel=1e-4)
