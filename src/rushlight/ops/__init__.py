"""The op table: every tensor function, one statement each. See README.md in this folder."""

from .. import _core
from . import creation, joining, linalg, loss, pointwise, reduction, shape, softmax, strided
from ._op import OPS, namespace

__all__ = ["OPS", "namespace"]

# What the engine itself computes with.
_core.register(callbacks={"add": pointwise.add})
