"""Pooling layers."""

from __future__ import annotations

from typing import Any, ClassVar

from rushlight._root import Tensor

from .. import functional as F
from ._of_function import WithSettings, calling, layer
from .module import Module
from .utils import Size, _ntuple, _single

_MAX = "kernel_size stride padding dilation ceil_mode= return_indices="
_AVERAGE = "kernel_size stride padding ceil_mode count_include_pad"


class _MaxPoolNd(Module):
    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        dilation: Size = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride: Size = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


@calling(F.max_pool1d, _MAX)
class MaxPool1d(_MaxPoolNd):
    """The largest value of each window over (N, C, L) or (C, L).

    >>> nn.MaxPool1d(2)(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    tensor([[2., 4.]])
    """


@calling(F.max_pool2d, _MAX)
class MaxPool2d(_MaxPoolNd):
    """The largest value of each window over (N, C, H, W) or (C, H, W).

    >>> nn.MaxPool2d(2)(torch.arange(8.0).reshape(1, 2, 4))
    tensor([[[5., 7.]]])
    >>> nn.MaxPool2d(3, stride=2, padding=1)(torch.rand(1, 8, 9, 9)).shape
    torch.Size([1, 8, 5, 5])
    """


@calling(F.max_pool3d, _MAX)
class MaxPool3d(_MaxPoolNd):
    """The largest value of each window over (N, C, D, H, W) or (C, D, H, W).

    >>> nn.MaxPool3d(2)(torch.ones(1, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2])
    """


@layer(F.avg_pool1d, _AVERAGE)
class AvgPool1d(Module):
    """The mean of each window over (N, C, L) or (C, L).

    >>> nn.AvgPool1d(2)(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    tensor([[1.5000, 3.5000]])
    """

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size: tuple[int, ...] = _single(kernel_size)
        self.stride: tuple[int, ...] = _single(stride if stride is not None else kernel_size)
        self.padding: tuple[int, ...] = _single(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPoolNd(Module):
    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride: Size = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


@calling(F.avg_pool2d, _AVERAGE + " divisor_override")
class AvgPool2d(_AvgPoolNd):
    """The mean of each window over (N, C, H, W) or (C, H, W).

    >>> nn.AvgPool2d(2)(torch.arange(8.0).reshape(1, 2, 4))
    tensor([[[2.5000, 4.5000]]])
    """


@calling(F.avg_pool3d, _AVERAGE + " divisor_override")
class AvgPool3d(_AvgPoolNd):
    """The mean of each window over (N, C, D, H, W) or (C, D, H, W).

    >>> nn.AvgPool3d(2)(torch.ones(1, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2])
    """


@layer()
class _AdaptivePool(WithSettings):
    """Windows chosen so that the result has `output_size`; None keeps the input's size."""

    output_size: object


@layer()
class _AdaptiveMaxPool(Module):
    output_size: object
    return_indices: bool = False

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


@calling(F.adaptive_avg_pool1d)
class AdaptiveAvgPool1d(_AdaptivePool):
    """Means over (N, C, L) or (C, L) that leave `output_size` places.

    >>> nn.AdaptiveAvgPool1d(2)(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    tensor([[1.5000, 3.5000]])
    """


@calling(F.adaptive_avg_pool2d)
class AdaptiveAvgPool2d(_AdaptivePool):
    """Means over (N, C, H, W) or (C, H, W) that leave `output_size` places.

    >>> nn.AdaptiveAvgPool2d((1, 1))(torch.rand(2, 8, 7, 5)).shape
    torch.Size([2, 8, 1, 1])
    """


@calling(F.adaptive_avg_pool3d)
class AdaptiveAvgPool3d(_AdaptivePool):
    """Means over (N, C, D, H, W) or (C, D, H, W) that leave `output_size` places.

    >>> nn.AdaptiveAvgPool3d(2)(torch.rand(1, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2])
    """


@calling(F.adaptive_max_pool1d)
class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Maxima over (N, C, L) or (C, L) that leave `output_size` places.

    >>> nn.AdaptiveMaxPool1d(2)(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    tensor([[2., 4.]])
    """


@calling(F.adaptive_max_pool2d)
class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """Maxima over (N, C, H, W) or (C, H, W) that leave `output_size` places.

    >>> nn.AdaptiveMaxPool2d((2, 3))(torch.rand(2, 8, 7, 5)).shape
    torch.Size([2, 8, 2, 3])
    """


@calling(F.adaptive_max_pool3d)
class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """Maxima over (N, C, D, H, W) or (C, D, H, W) that leave `output_size` places.

    >>> nn.AdaptiveMaxPool3d((1, None, 2))(torch.rand(2, 8, 7, 5, 3)).shape
    torch.Size([2, 8, 1, 5, 2])
    """


@layer()
class _LPPoolNd(WithSettings):
    norm_type: float
    kernel_size: Size
    stride: Size | None = None
    ceil_mode: bool = False


@calling(F.lp_pool1d)
class LPPool1d(_LPPoolNd):
    """The p-norm of each window over (N, C, L) or (C, L), p being `norm_type`.

    >>> nn.LPPool1d(2, 2)(torch.tensor([[3.0, 4.0, 6.0, 8.0]]))
    tensor([[ 5., 10.]])
    """


@calling(F.lp_pool2d)
class LPPool2d(_LPPoolNd):
    """The p-norm of each window over (N, C, H, W) or (C, H, W), p being `norm_type`.

    >>> nn.LPPool2d(1, 2)(torch.ones(1, 2, 4))
    tensor([[[4., 4.]]])
    """


@calling(F.lp_pool3d)
class LPPool3d(_LPPoolNd):
    """The p-norm of each window over (N, C, D, H, W) or (C, D, H, W), p being `norm_type`.

    >>> nn.LPPool3d(1, 2)(torch.ones(1, 2, 2, 2)).item()
    8.0
    """


class _MaxUnpoolNd(Module):
    _dims: ClassVar[int]

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None:
        super().__init__()
        self.kernel_size: tuple[int, ...] = _ntuple(kernel_size, self._dims)
        self.stride: tuple[int, ...] = _ntuple(
            kernel_size if stride is None else stride, self._dims
        )
        self.padding: tuple[int, ...] = _ntuple(padding, self._dims)

    def forward(
        self, input: Tensor, indices: Tensor, output_size: list[int] | None = None
    ) -> Tensor:
        unpool = getattr(F, f"max_unpool{self._dims}d")
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """The values of `MaxPool1d` back at the places that it gives, zeros elsewhere.

    >>> pooled, places = nn.MaxPool1d(2, return_indices=True)(torch.tensor([[1.0, 2.0, 4.0, 3.0]]))
    >>> nn.MaxUnpool1d(2)(pooled, places)
    tensor([[0., 2., 4., 0.]])
    """

    _dims = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """The values of `MaxPool2d` back at the places that it gives, zeros elsewhere.

    >>> pooled, places = nn.MaxPool2d(2, return_indices=True)(torch.arange(4.0).view(1, 2, 2))
    >>> nn.MaxUnpool2d(2)(pooled, places)
    tensor([[[0., 0.],
             [0., 3.]]])
    """

    _dims = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """The values of `MaxPool3d` back at the places that it gives, zeros elsewhere.

    >>> pooled, places = nn.MaxPool3d(2, return_indices=True)(torch.arange(8.0).view(1, 2, 2, 2))
    >>> nn.MaxUnpool3d(2)(pooled, places).flatten()
    tensor([0., 0., 0., 0., 0., 0., 0., 7.])
    """

    _dims = 3


class _FractionalMaxPoolNd(Module):
    """Maxima of windows whose distances are drawn at random, about size / output_size each."""

    _dims: ClassVar[int]

    def __init__(
        self,
        kernel_size: Size,
        output_size: Size | None = None,
        output_ratio: float | tuple[float, ...] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()

        def each(value: Any) -> tuple[Any, ...] | None:
            return None if value is None else _ntuple(value, self._dims)

        self.kernel_size: tuple[int, ...] = _ntuple(kernel_size, self._dims)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size: tuple[Any, ...] | None = each(output_size)
        self.output_ratio: tuple[Any, ...] | None = each(output_ratio)
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{type(self).__name__} requires specifying either an output size, "
                "or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        pool = getattr(F, f"fractional_max_pool{self._dims}d")
        return pool(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Maxima of windows of (N, C, H, W) at random distances.

    >>> nn.FractionalMaxPool2d(2, output_ratio=0.6)(torch.rand(1, 3, 10, 10)).shape
    torch.Size([1, 3, 6, 6])
    """

    _dims = 2


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Maxima of windows of (N, C, D, H, W) at random distances.

    >>> nn.FractionalMaxPool3d(2, output_size=3)(torch.rand(1, 3, 6, 6, 6)).shape
    torch.Size([1, 3, 3, 3, 3])
    """

    _dims = 3
