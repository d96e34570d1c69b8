"""Small functions of `torch.utils`."""

from __future__ import annotations


def set_module(obj: object, mod: str) -> None:
    """Set where an object says that it comes from.

    >>> def f(): ...
    >>> torch.utils.set_module(f, "mine")
    >>> f.__module__
    'mine'
    """
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod
