"""`torch.version`: the version of PyTorch that programs are told, and the platforms it serves."""

from .._base.version import TORCH_VERSION

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

__version__ = TORCH_VERSION
debug = False
cuda: str | None = None
git_version = "Unknown"
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
