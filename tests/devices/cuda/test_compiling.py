"""How kernels come to be on CUDA's devices: which compiler makes them, and how often."""

import importlib
from pathlib import Path

import _standin
import pytest

import rushlight as torch
from rushlight._devices import accelerators, launch
from rushlight._devices.texts import text_of

provoked = []  # what the stand-in is to tell


@pytest.fixture(autouse=True)
def _told():
    provoked.clear()


def test_a_name_that_a_text_has_not_costs_no_compilation(tmp_path, monkeypatch):
    device = torch.ones(1, device="cuda")._accelerator
    monkeypatch.setenv("RUSHLIGHT_KERNEL_CACHE", str(tmp_path))
    text = text_of("pairs.cl", "float32", True) + "\nKERNEL asked_for(BUFFER(a)) {}\n"
    before = _standin.live("modules")
    with pytest.raises(RuntimeError, match="NOT_FOUND"):
        accelerators.build(device, text, "another")
    provoked.append("the module has no such kernel")
    assert list(tmp_path.iterdir()) == []
    number = accelerators.build(device, text, "asked_for")
    assert _standin.live("modules") == before + 1
    assert len(list(tmp_path.iterdir())) == 1  # and other processes need not compile the text
    assert accelerators.build(device, text, "asked_for") == number


@pytest.mark.parametrize(
    ("driver", "files", "chosen"),
    [
        (13, "libnvrtc.so.12 libnvrtc.so.13 libnvrtc.so.11.2", "libnvrtc.so.13"),
        (12, "libnvrtc.so.12 libnvrtc.so.13 libnvrtc.so.11.2", "libnvrtc.so.12"),
        (12, "libnvrtc.so.13 libnvrtc.so.14", "libnvrtc.so.13"),
        (0, "libnvrtc.so.12 libnvrtc.so.9", "libnvrtc.so.12"),
        (13, "libnvrtc.so.13 libnvrtc.so.13.0.88", "libnvrtc.so.13.0.88"),
        (12, "nvrtc64_120_0.dll nvrtc64_120_0.alt.dll nvrtc64_130_0.dll", "nvrtc64_120_0.dll"),
    ],
)
def test_the_compiler_is_the_newest_that_fits_the_driver(
    driver, files, chosen, tmp_path, monkeypatch
):
    for name in files.split():
        file = tmp_path / "cu" / ("bin" if name.endswith("dll") else "lib") / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    monkeypatch.delenv("RUSHLIGHT_NVRTC_LIBRARY")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setattr(accelerators.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(accelerators, "_newest_cuda", lambda: driver)
    assert Path(accelerators.library_of_nvidia("nvrtc")).name == chosen


def test_the_version_of_the_driver():
    assert accelerators._newest_cuda() == 13


def test_the_texts_of_calls_are_those_that_are_compiled_beforehand(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[3] / "tools")
    known = {text for _, text in importlib.import_module("cuda_check").texts()}
    asked = []

    def kernel(device, file, name, computed, more=""):
        asked.append((file, more, text_of(file, computed, True, more) in known))
        return accelerators.kernel(device, file, name, computed, more)

    monkeypatch.setattr(launch, "kernel", kernel)
    a = torch.ones(64, 64, device="cuda", requires_grad=True)
    wide = torch.ones(1, 1, 64, 64, device="cuda", dtype=torch.bfloat16)
    functional = torch.nn.functional
    loss = functional.layer_norm(torch.softmax(a @ a, 1), (64,), a[0]).sum()
    functional.scaled_dot_product_attention(wide, wide, wide, wide > 0)
    functional.conv2d(a.view(1, 4, 32, 32), a[0, :36].view(1, 4, 3, 3))
    loss += functional.cross_entropy(a, torch.zeros(64, dtype=torch.int64, device="cuda"))
    loss.backward()
    torch.optim.Adam([a]).step()
    assert len(asked) > 10 and [call for call in asked if not call[2]] == []
