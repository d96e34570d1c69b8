"""The op table: every tensor function, one statement each. See README.md in this folder."""

from . import (  # noqa: F401  importing a family enters its ops
    _arguments,
    _outputs,
    activation,
    adaptive_pooling,
    attention,
    average_pooling,
    casts,
    class_loss,
    complex_numbers,
    conv,
    copies,
    creation,
    decompositions,
    dropout,
    einsum,
    embedding,
    extremes,
    from_data,
    index_slices,
    indexing,
    joining,
    linalg,
    loss,
    margin_loss,
    matrix_functions,
    normalization,
    norms,
    padding,
    parts,
    patches,
    picking,
    pointwise,
    pooling,
    products,
    rearrange,
    reduction,
    resizing,
    scans,
    scatter,
    shape,
    softmax,
    solving,
    sorting,
    special,
    strided,
    transposes,
    windows,
)
from ._aten import aten
from ._examples import attach as attach_examples
from ._op import OPS, namespace, overridable, publish, put_gates, quietly

__all__ = ["OPS", "aten", "attach_examples", "namespace", "overridable", "put_gates", "quietly"]

publish()
