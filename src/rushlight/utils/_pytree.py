"""Nested containers as flat lists of leaves (the same module as `rushlight._pytree`)."""

from .._pytree import *  # noqa: F403
from .._pytree import __all__ as __all__
