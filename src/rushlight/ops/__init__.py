"""The op table: every tensor function, one statement each. See README.md in this folder."""

from . import pointwise
from ._op import OPS, namespace

__all__ = ["OPS", "namespace"]
