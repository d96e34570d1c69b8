"""The compiled operators of torchvision that models need most, in terms of other ops: `nms` and
`roi_align`. The others are there by name and refuse.

`torch.ops.load_library` defines them where torchvision asks for its library, which needs PyTorch's
C++ core.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import _root as rl
from .._base.errors import refused
from .._base.outside import np
from .._core import Tensor
from .library import Library

__all__ = ["define"]

_ROIS = "Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width"
_BACK = """Tensor grad, Tensor rois, float spatial_scale, int pooled_height, int pooled_width,
int batch_size, int channels, int height, int width"""
_DEFORM = """Tensor weight, Tensor offset, Tensor mask, Tensor bias, int stride_h, int stride_w,
int pad_h, int pad_w, int dilation_h, int dilation_w, int groups, int offset_groups,
bool use_mask"""
_SCHEMAS = f"""
nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor
roi_align({_ROIS}, int sampling_ratio, bool aligned) -> Tensor
_roi_align_backward({_BACK}, int sampling_ratio, bool aligned) -> Tensor
roi_pool({_ROIS}) -> (Tensor, Tensor)
_roi_pool_backward(Tensor argmax, {_BACK}) -> Tensor
ps_roi_align({_ROIS}, int sampling_ratio) -> (Tensor, Tensor)
_ps_roi_align_backward(Tensor mapping, {_BACK}, int sampling_ratio) -> Tensor
ps_roi_pool({_ROIS}) -> (Tensor, Tensor)
_ps_roi_pool_backward(Tensor mapping, {_BACK}) -> Tensor
deform_conv2d(Tensor input, {_DEFORM}) -> Tensor
_deform_conv2d_backward(Tensor grad, Tensor input, {_DEFORM}) -> (Tensor, Tensor, Tensor)
box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor
qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor
qroi_align({_ROIS}, int sampling_ratio, bool aligned) -> Tensor
_cuda_version() -> int
"""


def _nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The boxes that are kept, best first; a box drops later boxes that overlap it too much."""
    if dets.dim() != 2 or dets.shape[1] != 4:
        raise RuntimeError(
            f"boxes should be a 2d tensor of 4 columns, got one of shape {tuple(dets.shape)}"
        )
    if scores.shape != dets.shape[:1]:
        raise RuntimeError(
            "boxes and scores should have same number of elements in dimension 0, got "
            f"{len(dets)} and {len(scores)}"
        )
    order = scores.sort(descending=True, stable=True)[1].numpy()
    boxes = dets.detach().numpy()[order]
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    left = np.arange(len(boxes))
    kept = []
    while left.size:
        best, left = left[0], left[1:]
        kept.append(order[best])
        corner = np.maximum(boxes[best, :2], boxes[left, :2])
        size = np.maximum(np.minimum(boxes[best, 2:], boxes[left, 2:]) - corner, 0)
        shared = size[:, 0] * size[:, 1]
        with np.errstate(invalid="ignore", divide="ignore"):
            overlap = shared / (areas[best] + areas[left] - shared)
        left = left[~(overlap > iou_threshold)]
    return rl.tensor(np.array(kept, dtype=np.int64))


def _axis(start: Tensor, length: Tensor, bins: int, samples: int, size: int) -> Any:
    """Along one axis, for each region, bin and sample: the cells around it, and their weights."""
    at = (rl.arange(bins * samples, dtype=start.dtype) + 0.5) / samples
    place = start[:, None] + at * (length / bins)[:, None]
    inside = (place >= -1) & (place <= size)
    place = place.clamp(min=0)
    low = place.long().clamp(max=size - 1)
    high = (low + 1).clamp(max=size - 1)
    place = rl.where(low >= size - 1, low.to(place.dtype), place)
    above = place - low
    return (low, (1 - above) * inside), (high, above * inside)


def _roi_align(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """For each region (image, left, top, right, bottom), the mean of samples in a grid of bins."""
    if rois.dim() != 2 or rois.shape[1] != 5:
        raise RuntimeError("rois must have shape as Tensor[K, 5]")
    if input.dtype is not rois.dtype:
        raise RuntimeError(
            "Expected tensor for input to have the same type as tensor for rois; "
            f"but type {input.dtype} does not equal {rois.dtype}"
        )
    height, width = input.shape[-2:]
    rois = rois.detach()
    x, y, right, bottom = (rois[:, 1:] * spatial_scale - (0.5 if aligned else 0.0)).unbind(1)
    across, down = right - x, bottom - y
    if not aligned:  # an older rule: a region is one cell at least
        across, down = across.clamp(min=1), down.clamp(min=1)
    results: list[Any] = [None] * len(rois)
    groups: dict[tuple[int, int], list[int]] = {}  # regions by how many samples a bin has
    for n, sizes in enumerate(zip(down.tolist(), across.tolist(), strict=True)):
        rows, columns = (
            sampling_ratio if sampling_ratio > 0 else math.ceil(size / bins)
            for size, bins in zip(sizes, (pooled_height, pooled_width), strict=True)
        )
        groups.setdefault((rows, columns), []).append(n)
    for (rows, columns), members in groups.items():
        shape = (len(members), input.shape[1], pooled_height, pooled_width)
        if rows < 1 or columns < 1:
            part = input.new_zeros(shape)
        else:
            part = _bins(
                input[rois[members, 0].long()],
                _axis(y[members], down[members], pooled_height, rows, height),
                _axis(x[members], across[members], pooled_width, columns, width),
            )
            part = part.unflatten(3, (pooled_width, columns)).unflatten(2, (pooled_height, rows))
            part = part.mean((3, 5))
        for n, one in zip(members, part.unbind(0), strict=True):
            results[n] = one
    if not results:
        return input.new_zeros((0, input.shape[1], pooled_height, pooled_width))
    return rl.stack(results)


def _bins(images: Tensor, down: Any, across: Any) -> Tensor:
    """Images at all samples of their regions: (region, channel, row, column)."""
    planes, channels = images.shape[:2]
    region = rl.arange(planes)[:, None, None, None]
    channel = rl.arange(channels)[None, :, None, None]
    total: Any = 0
    for row, by_row in down:
        for column, by_column in across:
            values = images[region, channel, row[:, None, :, None], column[:, None, None, :]]
            total = total + values * (by_row[:, :, None] * by_column[:, None, :])[:, None]
    return total


def _roi_align_backward(
    grad: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """The gradient of the images: the transpose of what is linear in them."""
    with rl.enable_grad():
        images = grad.new_zeros(batch_size, channels, height, width).requires_grad_()
        result = _roi_align(
            images, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned
        )
        (found,) = rl.autograd.grad(result, images, grad)
    return found


_KERNELS: dict[str, Callable[..., object]] = {
    "nms": _nms,
    "roi_align": _roi_align,
    "_roi_align_backward": _roi_align_backward,
    "_cuda_version": lambda: -1,
}
_library: list[Library] = []


def define() -> None:
    """Makes `torch.ops.torchvision`; a second call does nothing."""
    if _library:
        return
    made = Library("torchvision", "DEF")
    _library.append(made)
    for schema in _SCHEMAS.replace(",\n", ", ").strip().splitlines():
        name = made.define(schema)
        refuses = refused(
            f"torchvision.ops.{name}", "of torchvision's compiled operators nms and roi_align are."
        )
        made.impl(name, _KERNELS.get(name, refuses), "CPU")
