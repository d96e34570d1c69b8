"""torch.cuda, xpu, mps, accelerator and cpu: answers, against PyTorch's where it has no device."""

import pytest

import rushlight as torch
from rushlight._devices import accelerators
from rushlight._torch import refused_without

CALLS = """cuda.is_available() cuda.is_initialized() cuda.is_bf16_supported() cuda.device_count()
cuda.memory_allocated() cuda.max_memory_allocated() cuda.memory_reserved() cuda.empty_cache()
cuda.max_memory_reserved() cuda.manual_seed(0) cuda.manual_seed_all(0) cuda.seed() cuda.seed_all()
cuda.get_rng_state_all() cuda.set_rng_state_all([]) cuda.get_arch_list() cuda.current_device()
cuda.current_stream() cuda.mem_get_info() cuda.get_rng_state() cuda.default_stream()
cuda.initial_seed() cuda.synchronize() cuda.get_device_name() cuda.init()
cuda.set_per_process_memory_fraction(0.5) cuda.default_generators cuda.set_stream(None)
cuda.is_tf32_supported() xpu.is_available() xpu.device_count() xpu.empty_cache()
xpu.manual_seed(0) xpu.current_device() xpu.synchronize() xpu.is_bf16_supported()
xpu.memory_allocated() mps.is_available() mps.device_count() mps.empty_cache() mps.synchronize()
mps.manual_seed(0) mps.current_allocated_memory() accelerator.is_available()
accelerator.current_accelerator() accelerator.device_count() accelerator.current_device_index()
accelerator.synchronize() accelerator.memory_allocated() accelerator.empty_cache()
accelerator.set_device_index(0) cpu.is_available() cpu.device_count() cpu.current_device()
cpu.synchronize() cpu.is_initialized() cpu.set_device('cpu')""".split()


@pytest.fixture
def no_accelerator(monkeypatch):
    """As where no OpenCL is installed."""
    monkeypatch.setattr(accelerators, "_opened", lambda kind: ((), "no library was found"))


def answer(library, call):
    try:
        return repr(eval(f"torch.{call}", {"torch": library}))
    except Exception as error:
        return type(error).__name__, str(error).split(". There is no such device")[0]


@pytest.mark.parametrize("call", CALLS)
def test_answers_as_pytorch_does(call, no_accelerator):
    pytorch = pytest.importorskip("torch")
    if pytorch.accelerator.is_available():
        pytest.skip("PyTorch sees a device here; rushlight has none")
    assert answer(torch, call) == answer(pytorch, call)


@pytest.mark.parametrize("name", refused_without("cuda"))
def test_what_needs_the_device_says_so(name):
    for module, said in (("cuda", "CUDA"), ("xpu", "XPU")):
        with pytest.raises(AssertionError, match=f"^Torch not compiled with {said} enabled"):
            getattr(getattr(torch, module), name)(0)


def test_streams_and_events_do_nothing():
    first, second = torch.cuda.Event(enable_timing=True), torch.cpu.Event()
    with torch.cuda.stream(torch.cuda.Stream()):
        first.record()
        second.record()
    assert first.query() and first.elapsed_time(second) >= 0
    with pytest.raises(ValueError, match="Both events must be recorded"):
        first.elapsed_time(torch.Event())
    torch.cpu.current_stream().wait_event(first)
    with torch.cuda.device(-1), torch.cuda.device_of(torch.ones(1)):
        assert torch.zeros(1).device.type == "cpu"


def test_cuda_amp_warns_and_does_nothing():
    a = torch.ones(2, 2)
    with pytest.warns(FutureWarning, match=r"`torch.cuda.amp.autocast\(args...\)` is deprecated"):
        context = torch.cuda.amp.autocast()
    with context:
        assert (a @ a).dtype is torch.float32
    with pytest.warns(FutureWarning, match="GradScaler"):
        assert not torch.cuda.amp.GradScaler().is_enabled()
