"""`torch.backends.mkl`: switches without effect."""

from .._missing import missing_name as _missing_name

VERBOSE_OFF, VERBOSE_ON = 0, 1


def is_available() -> bool:
    """False: there is no MKL here."""
    return False


class verbose:
    """A block like any other."""

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __enter__(self) -> "verbose":
        return self

    def __exit__(self, *exc: object) -> None:
        pass


__getattr__ = _missing_name(__name__)
