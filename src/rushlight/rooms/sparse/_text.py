"""The text of a sparse tensor, equal to PyTorch's."""

from __future__ import annotations

from typing import Any

from .._base import dtypes
from .._base import printing as _printing
from .._base.device import sparse_coo
from ._form import LABELS, answers, parts

__all__: list[str] = []


def _part(label: str, t: Any) -> str:
    prefix = f"{label}=tensor("
    notes = []
    if t.numel() == 0:
        notes.append(f"size={tuple(t.shape)}")
    contents = _printing._contents(t, len(prefix) + 7)
    return prefix + contents + "".join(f", {note}" for note in notes) + ")"


@answers("__repr__")
def text(self: Any) -> str:
    p = parts(self)
    coo = p.layout is sparse_coo
    names = ("indices",) if coo else LABELS[p.layout]
    pieces = [_part(name, t) for name, t in zip(names, p.indices, strict=True)]
    pieces.append(_part("values", p.value))
    prefix = "tensor("
    body = (",\n" + " " * len(prefix)).join(pieces)
    notes = [f"size={tuple(p.shape)}", f"nnz={p.nnz}"]
    if p.value.dtype is not dtypes.get_default_dtype() and not _plain_type(p.value.dtype):
        notes.append(f"dtype={p.value.dtype}")
    notes.append(f"layout={p.layout}")
    grad_fn = self.grad_fn
    if grad_fn is not None:
        notes.append(f"grad_fn=<{type(grad_fn).__name__}>")
    elif self.requires_grad:
        notes.append("requires_grad=True")
    if coo:
        body += ",\n" + " " * len(prefix) + notes.pop(0)
    return _printing._with_suffixes(prefix + body, notes, len(prefix))


def _plain_type(kind: object) -> bool:
    default = dtypes.get_default_dtype()
    wide = dtypes.complex128 if default is dtypes.float64 else dtypes.complex64
    return kind in (wide, dtypes.int64, dtypes.bool)
