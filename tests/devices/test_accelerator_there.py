"""`torch.accelerator` whole, streams and events, with a device that the program has named."""

import time

import pytest

import rushlight as torch

A = torch.accelerator
THERE = "opencl"


@pytest.fixture(autouse=True)
def named():
    torch.ones(1, device=THERE)


def test_every_name_of_pytorchs():
    pytorch = pytest.importorskip("torch")
    assert all(hasattr(A, name) for name in pytorch.accelerator.__all__)


def test_what_there_is():
    assert A.is_available() and A.device_count() >= 1
    assert A.current_accelerator() == torch.device(THERE)
    assert A.current_accelerator(check_available=True) == torch.device(THERE)
    assert torch._C._get_accelerator() == torch.device(THERE)
    assert torch._utils._get_available_device_type() == torch.device(THERE).type
    assert A.current_device_index() == A.current_device_idx() == 0


def test_the_index():
    A.set_device_index(0)
    A.set_device_idx(-1)  # changes nothing
    with A.device_index(0):
        assert A.current_device_index() == 0
    with A.device_index(None):
        assert A.current_device_index() == 0
    for call in (lambda: A.set_device_index(7), lambda: A.memory_allocated(7)):
        with pytest.raises(RuntimeError, match="invalid device ordinal"):
            call()
    with pytest.raises(ValueError, match="cpu doesn't match the current accelerator opencl"):
        A.set_device_index("cpu")
    assert A.current_device_index() == 0


def test_memory():
    A.empty_cache()
    A.reset_peak_memory_stats()
    A.reset_accumulated_memory_stats()
    before = A.memory_allocated(), A.memory_reserved()
    x = torch.empty(1 << 18, device=THERE)
    assert A.memory_allocated() == before[0] + x.nbytes == A.max_memory_allocated(0)
    assert A.memory_reserved(THERE) == before[1] + x.nbytes == A.max_memory_reserved()
    stats = A.memory_stats()
    assert stats["allocated_bytes.all.current"] == A.memory_allocated()
    assert stats["reserved_bytes.all.peak"] == A.max_memory_reserved()
    free, total = A.get_memory_info()
    assert 0 < free < total
    A.empty_host_cache()


def test_capabilities():
    found = A.get_device_capability()["supported_dtypes"]
    assert {torch.float32, torch.int64, torch.bool, torch.bfloat16} <= set(found)


def test_streams():
    stream = A.current_stream()
    assert stream == A.current_stream(THERE) and stream.device == torch.device(THERE, 0)
    made = torch.Stream(THERE)
    with made:
        x = torch.ones(3, device=THERE) * 2
    made.synchronize()
    assert made.query() and x.tolist() == [2.0] * 3
    stream.wait_stream(made)
    x.record_stream(made)
    A.set_stream(made)
    assert A.current_device_index() == 0


def test_events_tell_how_long_the_device_took():
    x = torch.ones(400, 400, device=THERE)
    x @ x
    A.synchronize()
    first, second = torch.Event(THERE, enable_timing=True), torch.Event(THERE, enable_timing=True)
    begin = time.perf_counter()
    first.record()
    for _ in range(3):
        x = torch.softmax(x @ x, 1)
    second.record()
    second.synchronize()
    took = (time.perf_counter() - begin) * 1000
    assert second.query() and 0 < first.elapsed_time(second) <= took


def test_synchronize_waits():
    x = torch.ones(700, 700, device=THERE)
    A.synchronize()
    for _ in range(4):
        x = x @ x
    done = torch.Event(THERE)
    done.record()
    A.synchronize()
    assert done.query()


def test_modules_of_devices():
    assert torch.get_device_module("cpu") is torch.cpu
    assert torch.get_device_module(THERE) is torch.get_device_module() is torch.opencl
    assert torch.opencl.memory_allocated() == A.memory_allocated()
    assert torch.opencl.device_count() >= 1 and torch.opencl.get_device_name()


def test_generators():
    generator = torch.Generator(THERE)
    assert generator.device == torch.device(THERE, 0)
    state = generator.get_state()
    first = torch.rand(4, device=THERE, generator=generator)
    generator.set_state(state)
    assert torch.rand(4, device=THERE, generator=generator).equal(first)
    assert generator.manual_seed(5) is generator and generator.initial_seed() == 5


def test_the_state_of_random_numbers_is_put_back():
    torch.manual_seed(0)
    with torch.random.fork_rng(device_type=THERE):
        first = torch.rand(3, device=THERE)
    assert torch.rand(3, device=THERE).equal(first)
