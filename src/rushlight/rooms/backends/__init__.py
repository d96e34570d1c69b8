"""torch.backends: switches of libraries that are not here. Programs set them; nothing changes,
apart from those in torch.backends.rushlight."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .._base.missing import missing_name as _missing_name
from .._base.switches import switches as _switches
from . import cuda, cudnn, mkldnn, mps

__all__ = ["cuda", "cudnn", "mkldnn", "mps"]

fp32_precision = "none"
flags, set_flags = _switches(globals(), fp32_precision="none")


def flags_frozen() -> bool:
    """Whether switches can only be set in blocks: never here."""
    return False


@contextmanager
def __allow_nonbracketed_mutation() -> Iterator[None]:
    """A block in which switches may be set, as they may everywhere."""
    yield


__getattr__ = _missing_name(__name__, {"rushlight": "rushlight"})
