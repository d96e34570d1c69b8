"""The op table: every tensor function, one statement each. See README.md in this folder."""

from .. import _core
from . import (
    activation,
    complex_numbers,
    creation,
    joining,
    linalg,
    loss,
    pointwise,
    rearrange,
    reduction,
    scans,
    shape,
    softmax,
    sorting,
    special,
    strided,
)
from ._op import OPS, namespace

__all__ = ["OPS", "namespace"]

# What the engine itself computes with.
_core.register(callbacks={"add": pointwise.add})
