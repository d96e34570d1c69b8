"""What is left where the driver fails, or where a call's own arguments act, on CUDA's devices."""

import gc

import _standin
import pytest

_standin.prepare()

import rushlight as torch  # noqa: E402

CUDA = torch.device("cuda:0")
UNKNOWN = 999


@pytest.fixture(autouse=True)
def _no_violation():
    yield
    assert _standin.opened().standin_violations() == 0, _standin.said()


def test_a_failed_step_keeps_no_tensor():
    net = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.LayerNorm(5), torch.nn.GELU()).to(
        CUDA
    )
    x = torch.ones(8, 6, device=CUDA)

    def step():
        net.zero_grad()
        net(x).softmax(1).log().mean().backward()

    def in_use():
        net.zero_grad()
        gc.collect()
        return torch.cuda.memory_allocated()

    step()
    before, launches = in_use(), _standin.opened().standin_launches()
    step()
    for after in range(_standin.opened().standin_launches() - launches):
        _standin.fail("cuLaunchKernel", UNKNOWN, after)
        with pytest.raises(RuntimeError, match="cuLaunchKernel failed"):
            step()
        assert in_use() == before, after
    step()
