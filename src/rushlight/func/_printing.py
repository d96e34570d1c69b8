"""How watched tensors print: as PyTorch's BatchedTensor, GradTrackingTensor,
and with their tangent."""

from __future__ import annotations

from typing import Any

from .. import _core, printing
from ..autograd.levels import Batch
from ..tensor import _suffixes
from ..tensor import text as _plain_text

__all__: list[str] = []


def text(t: Any) -> str:
    """The text of any tensor."""
    w = t._watched
    if w is None:
        return _plain_text(t)
    if isinstance(w, Batch):
        return _nested(f"BatchedTensor(lvl={w.level.depth}, bdim=0, value=", w.value)
    if not w.level.active:
        return text(w.value)
    if w.level.kind == "forward_ad" and w.value._watched is None:
        suffixes = [*_suffixes(w.value), f"tangent={text(w.tangent)}"]
        return printing.tensor_text(w.value._array, t.dtype, suffixes=suffixes)
    return _nested(f"GradTrackingTensor(lvl={w.level.depth}, value=", w.value)


def _nested(head: str, value: Any) -> str:
    inner = "\n".join("    " + line for line in text(value).splitlines())
    return f"{head}\n{inner}\n)"


_core.register(callbacks={"repr": text})
