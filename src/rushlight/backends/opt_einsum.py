"""`torch.backends.opt_einsum`: switches without effect."""

from .._missing import missing_name as _missing_name

enabled = False
strategy = None


def is_available() -> bool:
    """False: sums go from left to right, or as torch.einsum is told."""
    return False


def get_opt_einsum() -> None:
    """None: the package is not used."""


__getattr__ = _missing_name(__name__)
