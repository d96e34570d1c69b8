"""The op table: every tensor function, one statement each. See README.md in this folder."""

from .. import _core
from . import (
    activation,
    attention,
    complex_numbers,
    conv,
    creation,
    decompositions,
    dropout,
    einsum,
    embedding,
    extremes,
    index_slices,
    indexing,
    joining,
    linalg,
    loss,
    normalization,
    norms,
    picking,
    pointwise,
    pooling,
    rearrange,
    reduction,
    resizing,
    scans,
    scatter,
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
