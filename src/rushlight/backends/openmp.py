"""`torch.backends.openmp`: switches without effect."""

from .._missing import missing_name as _missing_name


def is_available() -> bool:
    """False: threads are the library's own."""
    return False


__getattr__ = _missing_name(__name__)
