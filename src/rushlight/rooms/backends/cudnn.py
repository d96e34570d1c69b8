"""torch.backends.cudnn: its switches. On devices of CUDA's driver `enabled`, `deterministic` and
`allow_tf32` hold for large convolutions, where cuDNN is found; the others are without effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._base.missing import missing_name as _missing_name
from .._base.switches import Convolutions as _Convolutions
from .._base.switches import switches as _switches

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True
benchmark_limit: int | None = 10
fp32_precision = "none"
conv = _Convolutions(globals())

flags: Callable[..., Any]
set_flags: Callable[..., Any]
flags, set_flags = _switches(
    globals(),
    enabled=False,
    benchmark=False,
    benchmark_limit=10,
    deterministic=False,
    allow_tf32=True,
    fp32_precision="none",
)


def is_available() -> bool:
    """False: cuDNN is not here.

    >>> torch.backends.cudnn.is_available() and torch.cuda.is_available()
    False
    """
    return False


def version() -> int | None:
    """None: cuDNN is not here.

    >>> torch.backends.cudnn.version() is None
    True
    """
    return None


def is_acceptable(tensor: object) -> bool:
    """False: cuDNN is not here.

    >>> torch.backends.cudnn.is_acceptable(torch.ones(1))
    False
    """
    return False


__getattr__ = _missing_name(__name__)
