"""torch.backends.mkldnn: its switches, kept and without effect;
the kernels here are rushlight's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._base.missing import missing_name as _missing_name
from .._base.switches import switches as _switches

enabled = False
deterministic = False
allow_tf32 = True
fp32_precision = "none"

VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2
flags: Callable[..., Any]
set_flags: Callable[..., Any]
flags, set_flags = _switches(
    globals(), enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none"
)


def is_available() -> bool:
    """False: the kernels here are rushlight's own.

    >>> isinstance(torch.backends.mkldnn.is_available(), bool)
    True
    """
    return False


__getattr__ = _missing_name(__name__)
