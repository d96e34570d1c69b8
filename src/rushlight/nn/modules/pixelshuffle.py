"""Channels laid out as pixels, and back."""

from __future__ import annotations

from .. import functional as F
from ._of_function import WithSettings, layer


@layer(F.pixel_shuffle)
class PixelShuffle(WithSettings):
    """(..., C * r * r, H, W) laid out as (..., C, H * r, W * r).

    >>> nn.PixelShuffle(2)(torch.tensor([1.0, 2.0, 3.0, 4.0]).view(4, 1, 1))
    tensor([[[1., 2.],
             [3., 4.]]])
    """

    upscale_factor: int


@layer(F.pixel_unshuffle)
class PixelUnshuffle(WithSettings):
    """(..., C, H * r, W * r) laid out as (..., C * r * r, H, W).

    >>> nn.PixelUnshuffle(2)(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]])).flatten()
    tensor([1., 2., 3., 4.])
    """

    downscale_factor: int
