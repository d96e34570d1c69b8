"""Channels laid out as pixels, and back."""

from __future__ import annotations

from .. import functional as F
from ._of_function import OfFunction


class PixelShuffle(OfFunction):
    """(..., C * r * r, H, W) laid out as (..., C, H * r, W * r).

    >>> nn.PixelShuffle(2)(torch.tensor([1.0, 2.0, 3.0, 4.0]).view(4, 1, 1))
    tensor([[[1., 2.],
             [3., 4.]]])
    """

    _function = F.pixel_shuffle
    _passed = _shown = ("upscale_factor",)

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor


class PixelUnshuffle(OfFunction):
    """(..., C, H * r, W * r) laid out as (..., C * r * r, H, W).

    >>> nn.PixelUnshuffle(2)(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]])).flatten()
    tensor([1., 2., 3., 4.])
    """

    _function = F.pixel_unshuffle
    _passed = _shown = ("downscale_factor",)

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor
