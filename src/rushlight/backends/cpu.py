"""torch.backends.cpu: what the processor has."""

from __future__ import annotations

from .. import _core
from .._missing import missing_name as _missing_name


def get_cpu_capability() -> str:
    """The set of instructions that the kernels use: "DEFAULT", "AVX2" or "AVX512".

    >>> isinstance(torch.backends.cpu.get_cpu_capability(), str)
    True
    """
    return {"v3": "AVX2", "v4": "AVX512"}.get(_core.isa(), "DEFAULT")


__getattr__ = _missing_name(__name__)
