"""What is left where the driver fails, or where a call's own arguments act, on CUDA's devices."""

import gc

import _standin
import pytest

import rushlight as torch

CUDA = torch.device("cuda:0")
UNKNOWN = 999


@pytest.fixture(autouse=True)
def _no_violation():
    told = _standin.opened().standin_violations()
    yield
    assert _standin.opened().standin_violations() == told, _standin.said()


def captured(call):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = call()
    return graph, found


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


@pytest.mark.parametrize("after", [0, 1, 2])
def test_memory_that_the_driver_does_not_take_back_is_nobody_s(after):
    torch.cuda.empty_cache()
    before = _standin.live("blocks")
    made = [torch.ones(size, device=CUDA) for size in (7000, 7000, 9000)]
    del made
    _standin.fail("cuMemFree", UNKNOWN, after)
    with pytest.raises(RuntimeError, match="cuMemFree_v2 failed"):
        torch.cuda.empty_cache()
    torch.cuda.empty_cache()
    assert _standin.live("blocks") == before + 1
    assert sum(torch.ones(7000, device=CUDA).tolist()) == 7000


@pytest.mark.parametrize("fails", [False, True])
def test_the_memory_of_a_graph_is_counted_as_kept(fails):
    x = torch.ones(5000, device=CUDA)
    x * 2
    captured(lambda: x * 2)  # the first makes memory that stays
    torch.cuda.empty_cache()
    reserved, held = torch.cuda.memory_reserved(), _standin.live("bytes")
    graph, y = captured(lambda: x * 2)
    del y
    torch.cuda.empty_cache()
    more = _standin.live("bytes") - held
    assert more >= 20000
    assert torch.cuda.memory_reserved() == reserved + more
    if fails:
        _standin.fail("cuGraphExecDestroy", UNKNOWN)
    del graph
    torch.cuda.empty_cache()
    assert (torch.cuda.memory_reserved(), _standin.live("bytes")) == (reserved, held)


def test_a_capture_that_fails_leaves_no_memory():
    x = torch.ones(3, device=CUDA)
    x.sum()
    gc.collect()
    before = torch.cuda.memory_allocated()
    for factor in range(3):
        with pytest.raises(RuntimeError, match="is capturing"):
            captured(lambda factor=factor: torch.addcmul(x, x, x, value=0.123 + factor) * 1.7)
        gc.collect()
        assert torch.cuda.memory_allocated() == before


def test_a_number_that_changes_the_tensor():
    class Changing(int):
        def __float__(self):
            x.set_(torch.ones(4, device=CUDA))
            torch.cuda.empty_cache()
            return 1.0

    for _ in range(2):
        x = torch.ones(100_000, device=CUDA)
        y = torch.nn.functional.layer_norm(x, (100_000,), eps=Changing(1))
        torch.cuda.synchronize()
        assert y.shape == (100_000,)
        assert not y.any()
