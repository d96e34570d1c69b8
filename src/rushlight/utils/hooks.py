"""Handles of hooks, under the name that PyTorch programs know them by."""

from __future__ import annotations

from typing import Any

from .._base.handles import RemovableHandle, warn_if_has_hooks
from .._base.missing import missing_name as _missing_name

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Any) -> Any:
    """Marks a hook as left out when the tensor is saved (no warning then).

    >>> hook = torch.utils.hooks.unserializable_hook(lambda g: g * 2)
    >>> hook(1.5)
    3.0
    """
    f.__torch_unserializable__ = True
    return f


__getattr__ = _missing_name(__name__)
