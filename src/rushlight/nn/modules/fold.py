"""Windows of an image as columns, and the sum of columns as an image."""

from __future__ import annotations

from .. import functional as F
from ._of_function import OfFunction

Size = int | tuple[int, ...]


class Unfold(OfFunction):
    """The windows of (N, C, H, W) as columns: (N, C * window, number of windows).

    >>> nn.Unfold((2, 2))(torch.zeros(1, 3, 4, 5)).shape
    torch.Size([1, 12, 12])
    """

    _function = F.unfold
    _passed = _shown = ("kernel_size", "dilation", "padding", "stride")

    def __init__(
        self, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride


class Fold(OfFunction):
    """Columns summed at the places of their windows: what `Unfold` is the transpose of.

    >>> nn.Fold((3, 3), kernel_size=2)(torch.ones(1, 4, 4))
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """

    _function = F.fold
    _passed = _shown = ("output_size", "kernel_size", "dilation", "padding", "stride")

    def __init__(
        self,
        output_size: Size,
        kernel_size: Size,
        dilation: Size = 1,
        padding: Size = 0,
        stride: Size = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride
