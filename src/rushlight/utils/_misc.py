"""Small functions of `torch.utils`."""

from __future__ import annotations

from typing import Any

from .._elsewhere import refusing as _refusing


def set_module(obj: Any, mod: str) -> None:
    """Set where an object says that it comes from.

    >>> def f(): ...
    >>> torch.utils.set_module(f, "mine")
    >>> f.__module__
    'mine'
    """
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


_NO_PRIVATE_DEVICE = "devices of a program's own are not here."
generate_methods_for_privateuse1_backend = _refusing(
    "torch.utils.generate_methods_for_privateuse1_backend", _NO_PRIVATE_DEVICE
)
rename_privateuse1_backend = _refusing("torch.utils.rename_privateuse1_backend", _NO_PRIVATE_DEVICE)
