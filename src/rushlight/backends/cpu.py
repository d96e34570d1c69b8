"""`torch.backends.cpu`: switches without effect."""

from .._missing import missing_name as _missing_name


def get_cpu_capability() -> str:
    """The instructions that kernels use, in PyTorch's words."""
    return "DEFAULT"


__getattr__ = _missing_name(__name__)
