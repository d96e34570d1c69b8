"""Nested containers as flat lists of leaves (the same module as `rushlight.func._pytree`)."""

from ..func._pytree import *  # noqa: F403
from ..func._pytree import __all__ as __all__
