"""torch.utils.deterministic: what deterministic mode does with memory that a program has not set.

>>> torch.use_deterministic_algorithms(True)
>>> torch.empty(2)
tensor([nan, nan])
>>> torch.utils.deterministic.fill_uninitialized_memory = False  # from now on left as found
>>> torch.utils.deterministic.fill_uninitialized_memory = True
>>> torch.use_deterministic_algorithms(False)
"""

from __future__ import annotations

import sys
import types

from .._base import determinism as _determinism


class _Deterministic(types.ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether `torch.empty` and its kin fill in deterministic mode."""
        return _determinism.fills

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
        _determinism.fills = mode


sys.modules[__name__].__class__ = _Deterministic
