"""Upsampling to a size or by a factor."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from ._of_function import WithSettings, layer
from .utils import Size

Factor = float | tuple[float, ...]


@layer(F.interpolate, "size scale_factor mode align_corners recompute_scale_factor=")
class Upsample(WithSettings):
    """`nn.functional.interpolate` to `size`, or by `scale_factor`, in one of its modes.

    >>> nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    >>> nn.Upsample(size=3, mode="linear", align_corners=True)(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[1.0000, 1.5000, 2.0000]]])
    """

    def __init__(
        self,
        size: Size | None = None,
        scale_factor: Factor | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name: str = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.setdefault("recompute_scale_factor", True)  # of old checkpoints
        super().__setstate__(state)

    def extra_repr(self) -> str:
        given = "size" if self.scale_factor is None else "scale_factor"
        return f"{given}={getattr(self, given)}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsampling of (N, C, H, W) that repeats the nearest value.

    >>> nn.UpsamplingNearest2d(scale_factor=2)(torch.tensor([[[[1.0, 2.0]]]]))
    tensor([[[[1., 1., 2., 2.],
              [1., 1., 2., 2.]]]])
    """

    def __init__(self, size: Size | None = None, scale_factor: Factor | None = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsampling of (N, C, H, W) by bilinear interpolation that keeps the corners.

    >>> nn.UpsamplingBilinear2d(size=(1, 3))(torch.tensor([[[[1.0, 2.0]]]]))
    tensor([[[[1.0000, 1.5000, 2.0000]]]])
    """

    def __init__(self, size: Size | None = None, scale_factor: Factor | None = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
