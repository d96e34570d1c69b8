"""How kernels come to be on CUDA's devices: which compiler makes them, and how often."""

from pathlib import Path

import _standin
import pytest

_standin.prepare()

import rushlight as torch  # noqa: E402
from rushlight._devices import accelerators  # noqa: E402
from rushlight._devices.texts import text_of  # noqa: E402


def test_a_name_that_a_text_has_not_costs_no_compilation(tmp_path, monkeypatch):
    monkeypatch.setenv("RUSHLIGHT_KERNEL_CACHE", str(tmp_path))
    device = torch.ones(1, device="cuda")._accelerator
    text = text_of("pairs.cl", "float32", True) + "\nKERNEL asked_for(BUFFER(a)) {}\n"
    before = _standin.live("modules")
    with pytest.raises(RuntimeError, match="NOT_FOUND"):
        accelerators.build(device, text, "another")
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
