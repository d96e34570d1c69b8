"""Convolutions by cuDNN, on devices of CUDA's driver where the library is here."""

from __future__ import annotations

from .... import _core
from ...._base import determinism
from ...._core import Tensor
from ...._devices.launch import Ints, rows
from ....backends import cudnn
from ...matrix.there.library import done, is_for

__all__ = ["INPUT", "OUTPUT", "WEIGHT", "biased", "convolved"]

OUTPUT, INPUT, WEIGHT = range(3)  # `Wanted` of native/devices/libraries.h
_MOST = 1 << 31  # elements that are too many


def convolved(
    wanted: int,
    x: Tensor,
    w: Tensor,
    y: Tensor,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
) -> bool:
    """Compute images x, weights w or results y from the other two. Whether cuDNN did."""
    given, result = [x, w, y], (y, x, w)[wanted]
    sizes = [t.numel() for t in given]
    if not cudnn.enabled or not min(sizes) or max(sizes) >= _MOST or not 3 <= x.dim() <= 5:
        return False
    if not is_for("cudnn", x, y.numel() * (w.numel() // w.shape[0])):
        return False
    if not x.dtype is w.dtype is y.dtype or not result.is_contiguous():
        return False
    lines = x.dim() == 3  # are images of one row
    shapes = [(*t.shape[:2], *(1,) * lines, *t.shape[2:]) for t in given]
    places = (*(0,) * lines, *padding), (*(1,) * lines, *stride), (*(1,) * lines, *dilation)
    tensors = [t if t is result else rows(t) for t in given]
    how = groups, cudnn.allow_tf32, cudnn.deterministic or determinism.level > 0
    why = _core.accelerator_convolve(wanted, *tensors, *shapes, *places, *how)
    return done("cudnn", why)


def biased(out: Tensor, bias: Tensor | None) -> Tensor:
    """The result with a number of each channel added."""
    if bias is None:
        return out
    spread = _core.kernels.view(rows(bias), (-1, *(1,) * (out.dim() - 2)))
    sum_: Tensor = out + spread
    return sum_
