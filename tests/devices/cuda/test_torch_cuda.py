"""The answers of torch.cuda where a device of CUDA is there. Expected is what PyTorch 2.13 answers
on a card with the stand-in's facts: capability 9.0, four multiprocessors, 8 GiB."""

import threading

import _standin
import pytest

import rushlight as torch
from rushlight.utils.data import DataLoader, TensorDataset

CUDA = torch.device("cuda:0")
MIB = 1 << 20


def raises(kind, text):
    return pytest.raises(kind, match=text)


# ---- devices; the first test is the first of the process


def test_asking_opens_nothing():
    assert torch.cuda.is_available() and torch.cuda.device_count() == 1
    assert not torch.cuda.is_initialized() and _standin.live("streams") == 0
    torch.cuda.empty_cache()
    assert not torch.cuda.is_initialized()
    torch.cuda.init()
    assert torch.cuda.is_initialized()


def test_the_facts_of_a_device():
    found = torch.cuda.get_device_properties(0)
    name = "Stand-in for CUDA (the processor)"
    assert found.name == torch.cuda.get_device_name() == torch.cuda.get_device_name(CUDA) == name
    assert (found.major, found.minor) == torch.cuda.get_device_capability("cuda") == (9, 0)
    assert (found.multi_processor_count, found.warp_size) == (4, 32)
    assert found.max_threads_per_block == 1024 and found.is_integrated in (0, 1)
    assert found.total_memory == torch.cuda.mem_get_info()[1]
    text = f"_CudaDeviceProperties(name='{name}', major=9, minor=0, total_memory="
    assert repr(found).startswith(text) and "multi_processor_count=4" in repr(found)
    assert torch.cuda.get_arch_list() == ["sm_90"]
    assert torch.cuda.is_bf16_supported() and torch.cuda.is_bf16_supported(False)
    assert torch.cuda.is_tf32_supported() and not torch.cuda.can_device_access_peer(0, 0)
    with raises(AttributeError, "no_such_fact"):
        found.no_such_fact  # noqa: B018


def test_the_current_device():
    torch.cuda.set_device(0)
    torch.cuda.set_device(CUDA)
    torch.cuda.set_device(-1)
    assert torch.cuda.current_device() == 0 and torch.ones(1).cuda().get_device() == 0
    with torch.cuda.device(0), torch.cuda.device_of(torch.ones(1)), torch.cuda.device(None):
        assert torch.cuda.current_device() == 0
    with raises(RuntimeError, "CUDA error: invalid device ordinal"):
        torch.cuda.set_device(3)
    with raises(ValueError, "Expected a cuda device, but got: cpu"):
        torch.cuda.get_device_name("cpu")
    assert torch.ones(1, device=0).device == CUDA == torch.device(0)


def test_opencl_is_beside_it():
    assert torch.opencl.is_available() and torch.opencl.get_device_capability() == (0, 0)
    assert torch.opencl.get_device_name() != torch.cuda.get_device_name()
    before = torch.cuda.memory_allocated(), torch.opencl.memory_allocated()
    held = torch.ones(MIB // 4, device="opencl")
    assert torch.cuda.memory_allocated() == before[0]
    assert torch.opencl.memory_allocated() == before[1] + held.nbytes
    assert torch.opencl.current_device() == held.get_device() == 0
    assert torch.opencl.current_stream().device == torch.device("opencl:0")
    mark = torch.opencl.Event(enable_timing=True)
    mark.record()
    assert mark.query() and torch.opencl.get_arch_list() == []
    with raises(ValueError, "Expected a opencl device, but got: cuda:0"):
        torch.opencl.synchronize(CUDA)
    with raises(NotImplementedError, "OpenCL is not asked for it"):
        torch.opencl.utilization()


def test_the_accelerator_is_cudas():
    assert torch.accelerator.is_available() and torch.accelerator.device_count() == 1
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    assert torch.accelerator.current_device_index() == 0
    assert torch.accelerator.current_stream() == torch.cuda.current_stream()
    assert torch.accelerator.get_memory_info() == torch.cuda.mem_get_info()
    with torch.accelerator.device_index(0):
        torch.accelerator.synchronize()


# ---- memory


def test_memory_is_counted():
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    before, free = torch.cuda.memory_allocated(), torch.cuda.mem_get_info()[0]
    torch.cuda.reset_peak_memory_stats()
    held = torch.empty(3 * MIB, dtype=torch.uint8, device=CUDA)
    assert torch.cuda.memory_allocated() == before + held.nbytes
    assert torch.cuda.mem_get_info()[0] == free - held.nbytes
    del held
    stats = torch.cuda.memory_stats()
    assert stats["allocated_bytes.all.current"] == torch.cuda.memory_allocated() == before
    assert stats["allocated_bytes.all.peak"] == torch.cuda.max_memory_allocated(CUDA) >= 3 * MIB
    assert torch.cuda.memory_reserved() >= before + 3 * MIB  # kept for later
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == before and torch.cuda.mem_get_info()[0] == free
    assert "allocated_bytes.all.peak" in torch.cuda.memory_summary()


def test_too_little_memory():
    with raises(torch.cuda.OutOfMemoryError, "CUDA out of memory. Tried to allocate"):
        torch.empty(1 << 40, device=CUDA)
    assert torch.ones(2, device=CUDA).sum() == 2


# ---- streams and events


def test_streams_are_names():
    default = torch.cuda.default_stream()
    side = torch.cuda.Stream()
    assert torch.cuda.current_stream() == default != side and side.device == CUDA
    assert repr(default) == "<torch.cuda.Stream device=cuda:0 cuda_stream=0x0>"
    with torch.cuda.stream(side):
        assert torch.cuda.current_stream() == side
        with torch.cuda.stream(None), torch.cuda.stream(default):
            assert torch.cuda.current_stream() == default
        elsewhere = []
        thread = threading.Thread(target=lambda: elsewhere.append(torch.cuda.current_stream()))
        thread.start()
        thread.join()
        assert elsewhere == [default] and torch.cuda.current_stream() == side
    torch.cuda.set_stream(side)
    with side:
        pass
    torch.cuda.set_stream(default)
    assert torch.cuda.current_stream() == default and len({default, side, side}) == 2


def test_a_stream_finds_what_another_has_made():
    side = torch.cuda.Stream()
    x = torch.arange(1000.0, device=CUDA)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = x * 2
        done = side.record_event()
        y.record_stream(side)
    torch.cuda.current_stream().wait_event(done)
    assert (y + 1).sum().item() == 2 * 499500 + 1000
    side.synchronize()
    assert side.query() and done.query()


def test_events():
    live = _standin.live("events")
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    assert repr(first) == "<torch.cuda.Event uninitialized>" and first.query()
    first.synchronize()
    with raises(ValueError, "Both events must be recorded before calculating elapsed time."):
        first.elapsed_time(last)
    first.record()
    assert repr(first) == f"<torch.cuda.Event {first.cuda_event:#x}>" and first.cuda_event
    x = torch.ones(100, device=CUDA)
    for _ in range(5):
        x = x + 1
    last.record(torch.cuda.current_stream())
    last.wait()
    last.synchronize()
    assert first.elapsed_time(last) > 0 > last.elapsed_time(first) and last.query()
    untimed = torch.cuda.Event()
    untimed.record()
    with raises(ValueError, "created with argument 'enable_timing=True'"):
        first.elapsed_time(untimed)
    assert _standin.live("events") == live + 3
    del first, last, untimed
    assert _standin.live("events") == live


# ---- random numbers


def test_random_numbers():
    def drawn():
        return torch.rand(5, device=CUDA).tolist() + torch.randint(9, (5,), device=CUDA).tolist()

    torch.cuda.manual_seed(7)
    assert torch.cuda.initial_seed() == 7
    first, state = drawn(), torch.cuda.get_rng_state()
    second = drawn()
    torch.cuda.set_rng_state(state)
    assert drawn() == second != first
    torch.cuda.manual_seed_all(7)
    assert drawn() == first
    (states,) = torch.cuda.get_rng_state_all()
    torch.cuda.set_rng_state_all([state])
    assert drawn() == second and states.tolist() == state.tolist()
    torch.manual_seed(7)
    assert drawn() == first
    torch.cuda.seed()
    assert torch.cuda.initial_seed() != 7 and drawn() != first
    torch.cuda.seed_all()
    assert torch.cuda.initial_seed() != 7


# ---- copies


def test_pinned_memory():
    x = torch.arange(6.0).reshape(2, 3)
    y = x.t().pin_memory()
    assert y.is_pinned() and y[0].is_pinned() and y.untyped_storage().is_pinned()
    assert y.pin_memory() is y and not x.is_pinned() and not y.clone().is_pinned()
    x.zero_()
    assert y.stride() == (1, 3) and y.tolist() == [[0, 3], [1, 4], [2, 5]]  # a copy
    with raises(RuntimeError, "only dense CPU tensors can be pinned"):
        y.cuda().pin_memory()


class Own:
    """A batch with a way of its own to be pinned."""

    def __init__(self, samples):
        self.pinned = False

    def pin_memory(self):
        self.pinned = True
        return self


def test_batches_are_pinned():
    data = TensorDataset(torch.arange(4.0), torch.arange(4))
    for workers in 0, 1:
        for batch in DataLoader(data, batch_size=2, pin_memory=True, num_workers=workers):
            assert type(batch) is list and all(each.is_pinned() for each in batch)
        loader = DataLoader(data, pin_memory=True, num_workers=workers, collate_fn=Own)
        assert all(batch.pinned for batch in loader)
    assert not next(iter(DataLoader(data)))[0].is_pinned()


def test_what_was_copied_may_be_changed_at_once():
    x = torch.arange(1000.0)
    for source in x, x.pin_memory():
        there = source.to(CUDA, non_blocking=True)
        expected = source.clone()
        source.zero_()
        assert torch.equal(there.cpu(), expected)
        source.copy_(expected)
    held = torch.empty(1000)
    assert held.copy_(x.cuda(), non_blocking=True).sum() == 499500  # it is here when read


# ---- the rest


def test_what_is_built():
    assert torch.backends.cuda.is_built()
    assert not torch.cuda.amp.amp_definitely_not_available()
    assert torch.cuda.get_sync_debug_mode() == 0
    torch.cuda.set_sync_debug_mode("warn")
    assert torch.cuda.get_sync_debug_mode() == 1
    torch.cuda.set_sync_debug_mode(0)
    with raises(NotImplementedError, "torch.cuda.utilization is not there"):
        torch.cuda.utilization()


# ---- programs as users have them


def test_ranges_for_profilers():
    nvtx = torch.cuda.nvtx
    with nvtx.range("step {}", 3), torch.cuda.profiler.profile():
        assert [nvtx.range_push("a"), nvtx.range_push("b"), nvtx.range_pop()] == [1, 2, 2]
    assert [nvtx.range_pop(), nvtx.range_pop()] == [0, -2]
    assert nvtx.mark("here") is None and nvtx.range_end(nvtx.range_start("c")) is None
    torch.cuda.profiler.start()
    torch.cuda.profiler.stop()


def test_precisions_by_their_newer_names():
    """What PyTorch 2.13 answers in the same order."""
    backends = torch.backends
    products, convolutions = backends.cuda.matmul, backends.cudnn.conv
    assert (backends.fp32_precision, products.fp32_precision) == ("none", "none")
    assert (convolutions.fp32_precision, backends.cudnn.rnn.fp32_precision) == ("tf32", "tf32")
    ones, exact = torch.ones(64, 64, device=CUDA), 1 + 2**-12  # more than TF32 holds
    try:
        for say, tf32 in [("tf32", True), ("ieee", False)]:
            products.fp32_precision = say
            assert products.fp32_precision == say and products.allow_tf32 == tf32
            assert torch.get_float32_matmul_precision() == ("high" if tf32 else "highest")
            assert (float((ones @ (ones * exact))[0, 0]) != 64 * exact) == tf32
        backends.fp32_precision = "tf32"
        assert products.fp32_precision == "ieee"
        products.fp32_precision = "none"
        assert products.fp32_precision == "tf32" and products.allow_tf32
        with backends.flags(fp32_precision="ieee"):
            assert products.fp32_precision == "ieee"
        convolutions.fp32_precision = "ieee"
        assert not backends.cudnn.allow_tf32
        with raises(RuntimeError, "backend 'cuda' does not support precision 'bf16'"):
            products.fp32_precision = "bf16"
        with raises(RuntimeError, "Unknown precision: fast"):
            convolutions.fp32_precision = "fast"
    finally:
        backends.fp32_precision, products.fp32_precision = "none", "none"
        backends.cudnn.allow_tf32 = True


def test_generators_by_their_devices():
    assert len(torch.cuda.default_generators) == 1
    torch.cuda.default_generators[0].manual_seed(9)
    assert torch.cuda.initial_seed() == 9 and torch.initial_seed() != 9
    with raises(RuntimeError, "^Expected a 'cuda' device type for generator but found 'cpu'$"):
        torch.rand(2, device=CUDA, generator=torch.Generator())
    with raises(RuntimeError, "^Expected a 'cpu' device type for generator but found 'cuda'$"):
        torch.rand(2, generator=torch.Generator("cuda"))


def test_memory_that_is_not_there_is_counted():
    def counted():
        stats = torch.cuda.memory_stats()
        return stats["num_ooms"], stats["num_alloc_retries"]

    before = counted()
    with raises(torch.cuda.OutOfMemoryError, "CUDA out of memory"):
        torch.empty(1 << 40, device=CUDA)
    assert counted() == (before[0] + 1, before[1] + 1)


def test_what_reports_say():
    from rushlight.utils.collect_env import get_env_info

    found = get_env_info()
    assert found.is_cuda_available == "True"
    assert found.nvidia_gpu_models == f"GPU 0: {torch.cuda.get_device_name()}"
    with torch.profiler.profile(with_stack=True) as prof:
        torch.ones(3, device=CUDA).exp()
    table = prof.key_averages().table
    assert table(sort_by="self_cuda_time_total") == table(sort_by="self_device_time_total")


def test_nccl_is_refused_by_what_is_so():
    with raises(RuntimeError, "NCCL built in. Processes meet by way of the host here: use"):
        torch.distributed.init_process_group("nccl")
