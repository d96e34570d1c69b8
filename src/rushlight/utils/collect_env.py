"""`torch.utils.collect_env`: what a report of a fault should say of the machine."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from typing import Any, NamedTuple

from .._base.device import cuda_is_here
from .._base.missing import missing_name as _missing_name
from .._base.version import TORCH_VERSION
from .._torch._present_device import of_kind

__all__ = ["SystemEnv", "get_env_info", "get_pretty_env_info", "main", "run"]

TORCH_AVAILABLE = True


class SystemEnv(NamedTuple):
    """Facts about the machine."""

    torch_version: str
    is_debug_build: str
    cuda_compiled_version: str
    gcc_version: str | None
    clang_version: str | None
    cmake_version: str | None
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    cuda_runtime_version: str | None
    cuda_module_loading: str
    nvidia_driver_version: str | None
    nvidia_gpu_models: str | None
    cudnn_version: str | None
    is_xpu_available: str
    pip_version: str
    pip_packages: str
    conda_packages: str | None
    hip_compiled_version: str
    hip_runtime_version: str
    miopen_runtime_version: str
    caching_allocator_config: str
    is_xnnpack_available: str
    cpu_info: str


def run(command: Any) -> tuple[int, str, str]:
    """A command's exit status, and what it says."""
    try:
        done = subprocess.run(
            command, shell=isinstance(command, str), capture_output=True, text=True, check=False
        )
    except OSError as error:
        return 127, "", str(error)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def _first(command: list[str], pattern: str) -> str | None:
    found = re.search(pattern, run(command)[1])
    return found.group(1) if found else None


def _cpu() -> str:
    status, said, _ = run(["lscpu"])
    return said if status == 0 else platform.processor()


def get_python_platform() -> str:
    """The platform as Python names it."""
    return platform.platform()


def get_os(run_lambda: object = None) -> str:
    """The operating system."""
    name = sys.platform
    with contextlib.suppress(OSError, KeyError, AttributeError):
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    return f"{name} ({platform.machine()})"


def _said(run_lambda: Any, command: str, pattern: str) -> str | None:
    """The pattern's group in a command's output; None where the command fails."""
    status, out, _ = run_lambda(command)
    found = re.search(pattern, out) if status == 0 else None
    return found.group(1) if found else None


def get_gcc_version(run_lambda: object) -> str | None:
    """The version of gcc; None without it."""
    return _said(run_lambda, "gcc --version", r"gcc (.*)")


def get_nvidia_driver_version(run_lambda: object) -> str | None:
    """The version of NVIDIA's driver; None without it."""
    return _said(run_lambda, "nvidia-smi", r"Driver Version: (.*?) ")


def get_gpu_info(run_lambda: Any) -> str | None:
    """NVIDIA's cards, one a line; None without them."""
    status, out, _ = run_lambda("nvidia-smi -L")
    return re.sub(r" \(UUID: .+?\)", "", out) if status == 0 else None


def _models() -> str | None:
    """The same by the driver of CUDA."""
    cuda = of_kind("cuda")
    names = [f"GPU {n}: {cuda.name(n)}" for n in range(cuda.count() if cuda_is_here() else 0)]
    return "\n".join(names) or None


def get_cpu_info(run_lambda: Any) -> str:
    """The text of `lscpu`."""
    status, out, error = run_lambda("lscpu")
    return str(out if status == 0 else error)


def get_env_info() -> SystemEnv:
    """Facts about the machine."""
    wanted = ("torch", "numpy", "onnx", "mypy", "rushlight", "triton")
    packages = [
        f"{d.metadata['Name']}=={d.version}"
        for d in metadata.distributions()
        if d.metadata["Name"] and any(w in d.metadata["Name"].lower() for w in wanted)
    ]
    bits = sys.maxsize.bit_length() + 1
    return SystemEnv(
        torch_version=TORCH_VERSION,
        is_debug_build="False",
        cuda_compiled_version="None",
        gcc_version=get_gcc_version(run),
        clang_version=_first(["clang", "--version"], r"clang version (.*)"),
        cmake_version=_first(["cmake", "--version"], r"cmake (.*)"),
        os=get_os(),
        libc_version="-".join(platform.libc_ver()),
        python_version=f"{' '.join(sys.version.split())} ({bits}-bit runtime)",
        python_platform=get_python_platform(),
        is_cuda_available=str(cuda_is_here()),
        cuda_runtime_version=None,
        cuda_module_loading="N/A",
        nvidia_driver_version=get_nvidia_driver_version(run),
        nvidia_gpu_models=get_gpu_info(run) or _models(),
        cudnn_version=None,
        is_xpu_available="False",
        pip_version="pip3",
        pip_packages="\n".join(sorted(packages)),
        conda_packages=None,
        hip_compiled_version="N/A",
        hip_runtime_version="N/A",
        miopen_runtime_version="N/A",
        caching_allocator_config=os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "N/A"),
        is_xnnpack_available="False",
        cpu_info=_cpu(),
    )


_LINES = """PyTorch version: {torch_version}
Is debug build: {is_debug_build}
CUDA used to build PyTorch: {cuda_compiled_version}
ROCM used to build PyTorch: {hip_compiled_version}

OS: {os}
GCC version: {gcc_version}
Clang version: {clang_version}
CMake version: {cmake_version}
Libc version: {libc_version}

Python version: {python_version}
Python platform: {python_platform}
Is CUDA available: {is_cuda_available}
CUDA runtime version: {cuda_runtime_version}
GPU models and configuration: {nvidia_gpu_models}
Nvidia driver version: {nvidia_driver_version}
cuDNN version: {cudnn_version}
Is XPU available: {is_xpu_available}
Is XNNPACK available: {is_xnnpack_available}

CPU:
{cpu_info}

Versions of relevant libraries:
{pip_packages}"""


def pretty_str(envinfo: SystemEnv) -> str:
    """Facts about the machine, as text."""
    known = {k: "Could not collect" if v is None else v for k, v in envinfo._asdict().items()}
    known["pip_packages"] = "\n".join(f"[pip3] {p}" for p in known["pip_packages"].split("\n"))
    return _LINES.format(**known)


def get_pretty_env_info() -> str:
    """Facts about the machine, as text."""
    return pretty_str(get_env_info())


def main() -> None:
    """Print it."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


__getattr__ = _missing_name(__name__)

if __name__ == "__main__":
    main()
