"""torch.backends.mkl: Intel's library, which is not used here."""

from __future__ import annotations

from .._missing import missing_name as _missing_name


def is_available() -> bool:
    """False: matrix products are OpenBLAS's."""
    return False


VERBOSE_OFF, VERBOSE_ON = 0, 1


class verbose:
    """A block that would print what MKL does."""

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __enter__(self) -> verbose:
        return self

    def __exit__(self, *exc: object) -> None:
        pass


__getattr__ = _missing_name(__name__)
