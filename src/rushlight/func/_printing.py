"""How tensors print inside of transforms: as PyTorch's BatchedTensor and GradTrackingTensor, one
inside of the other; and with their tangent.

Reverse-mode has no wrapper here: a tensor made since a differentiating transform began belongs to
this transform.
"""

from __future__ import annotations

import textwrap
from typing import Any

from .. import _core
from .._base import printing
from .._core import Tensor
from .._levels.running import transforms
from .._levels.settling import settled
from .._levels.structure import one_of
from .._tensor import _suffixes
from .._tensor import text as _plain_text

__all__: list[str] = []


def text(t: Tensor) -> str:
    """The text of any tensor."""
    w = settled(t)
    now = transforms()
    if not now:
        return _outside(t, w)
    heads = []
    for level in reversed(now):
        w = t._wrapped
        at = w is not None and w.level is level
        if at and level.maps:
            one = one_of(t)
            if one is None:
                heads.append(f"BatchedTensor(lvl={level.depth}, bdim={w.shown_at or 0}, value=")
                t = w.value if not w.shown_at else w.value.movedim(0, w.shown_at)
            else:
                t = one
        elif not level.maps and (at or _core.made_in(t) >= level.number):
            heads.append(f"GradTrackingTensor(lvl={level.depth}, value=")
            t = w.value if at else t
    if not heads:
        return _outside(t, t._wrapped)
    inner = _outside(t.detach() if t._wrapped is None else t, t._wrapped)
    for head in reversed(heads):
        inner = f"{head}\n{textwrap.indent(inner, '    ')}\n)"
    return inner


def _outside(t: Tensor, w: Any) -> str:
    """The text of a tensor that no running transform has."""
    if w is None:
        return _plain_text(t)
    if not w.level.active:
        return text(w.value)
    if w.level.by_hand and w.value._wrapped is None:
        suffixes = [*_suffixes(w.value), f"tangent={text(w.tangent)}"]
        device = None if w.value._accelerator is None else str(w.value.device)
        return printing.tensor_text(w.value, suffixes=suffixes, device=device)
    return text(w.value)
