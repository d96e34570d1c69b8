"""Windows of an image as columns, and the sum of columns as an image."""

from __future__ import annotations

from .. import functional as F
from ._of_function import WithSettings, layer
from .utils import Size


@layer(F.unfold)
class Unfold(WithSettings):
    """The windows of (N, C, H, W) as columns: (N, C * window, number of windows).

    >>> nn.Unfold((2, 2))(torch.zeros(1, 3, 4, 5)).shape
    torch.Size([1, 12, 12])
    """

    kernel_size: Size
    dilation: Size = 1
    padding: Size = 0
    stride: Size = 1


@layer(F.fold)
class Fold(WithSettings):
    """Columns summed at the places of their windows: what `Unfold` is the transpose of.

    >>> nn.Fold((3, 3), kernel_size=2)(torch.ones(1, 4, 4))
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """

    output_size: Size
    kernel_size: Size
    dilation: Size = 1
    padding: Size = 0
    stride: Size = 1
