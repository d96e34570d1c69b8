"""Pooling layers."""

from __future__ import annotations

from typing import Any

from rushlight._root import Tensor

from .. import functional as F
from .module import Module
from .utils import _single


class _MaxPoolNd(Module):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def _pooled(self, function: Any, input: Tensor) -> Any:
        return function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The largest value of each window over (N, C, L) or (C, L).

    >>> nn.MaxPool1d(2)(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    tensor([[2., 4.]])
    """

    def forward(self, input: Tensor) -> Any:
        return self._pooled(F.max_pool1d, input)


class MaxPool2d(_MaxPoolNd):
    """The largest value of each window over (N, C, H, W) or (C, H, W).

    >>> nn.MaxPool2d(2)(torch.arange(8.0).reshape(1, 2, 4))
    tensor([[[5., 7.]]])
    >>> nn.MaxPool2d(3, stride=2, padding=1)(torch.rand(1, 8, 9, 9)).shape
    torch.Size([1, 8, 5, 5])
    """

    def forward(self, input: Tensor) -> Any:
        return self._pooled(F.max_pool2d, input)


class MaxPool3d(_MaxPoolNd):
    """The largest value of each window over (N, C, D, H, W) or (C, D, H, W).

    >>> nn.MaxPool3d(2)(torch.ones(1, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Any:
        return self._pooled(F.max_pool3d, input)


class AvgPool1d(Module):
    """The mean of each window over (N, C, L) or (C, L).

    >>> nn.AvgPool1d(2)(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    tensor([[1.5000, 3.5000]])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(stride if stride is not None else kernel_size)
        self.padding = _single(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPoolNd(Module):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def _pooled(self, function: Any, input: Tensor) -> Any:
        return function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPoolNd):
    """The mean of each window over (N, C, H, W) or (C, H, W).

    >>> nn.AvgPool2d(2)(torch.arange(8.0).reshape(1, 2, 4))
    tensor([[[2.5000, 4.5000]]])
    """

    def forward(self, input: Tensor) -> Any:
        return self._pooled(F.avg_pool2d, input)


class AvgPool3d(_AvgPoolNd):
    """The mean of each window over (N, C, D, H, W) or (C, D, H, W).

    >>> nn.AvgPool3d(2)(torch.ones(1, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Any:
        return self._pooled(F.avg_pool3d, input)


class _AdaptivePool(Module):
    """Windows chosen so that the result has `output_size`; None keeps the input's size."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveAvgPool(_AdaptivePool):
    def __init__(self, output_size: Any) -> None:
        super().__init__(output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Means over (N, C, L) or (C, L) that leave `output_size` places.

    >>> nn.AdaptiveAvgPool1d(2)(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    tensor([[1.5000, 3.5000]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Means over (N, C, H, W) or (C, H, W) that leave `output_size` places.

    >>> nn.AdaptiveAvgPool2d((1, 1))(torch.rand(2, 8, 7, 5)).shape
    torch.Size([2, 8, 1, 1])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Means over (N, C, D, H, W) or (C, D, H, W) that leave `output_size` places.

    >>> nn.AdaptiveAvgPool3d(2)(torch.rand(1, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool1d(_AdaptivePool):
    """Maxima over (N, C, L) or (C, L) that leave `output_size` places.

    >>> nn.AdaptiveMaxPool1d(2)(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    tensor([[2., 4.]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptivePool):
    """Maxima over (N, C, H, W) or (C, H, W) that leave `output_size` places.

    >>> nn.AdaptiveMaxPool2d((2, 3))(torch.rand(2, 8, 7, 5)).shape
    torch.Size([2, 8, 2, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)
