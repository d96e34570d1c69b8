"""Convolution layers of one to three spatial dimensions, and their transposes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from rushlight import _root as rl
from rushlight._root import Tensor

from ..._base import dtypes
from ..._base.device import DeviceLike
from ..._base.missing import missing_name as _missing_name
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module
from .utils import Size, _ntuple

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """Settings, parameters and printing of every convolution; `weight` is (out, in / groups,
    *kernel).
    """

    _dims: int = 0
    _function: ClassVar[Callable[..., Tensor]]  # called by way of the class: it is no method
    _transposed: bool = False
    weight: Parameter
    bias: Parameter

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: Any,
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(
                    f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}"
                )
            if padding == "same" and any(step != 1 for step in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {set(_PADDING_MODES)}, "
                f"but got padding_mode='{padding_mode}'"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = _border(padding, kernel_size, dilation)

        ends = (out_channels, in_channels)
        first, second = reversed(ends) if transposed else ends
        shape = (first, second // groups, *kernel_size)
        self.weight = Parameter(rl.empty(shape, device=device, dtype=dtype))
        made = Parameter(rl.empty(out_channels, device=device, dtype=dtype)) if bias else None
        self.register_parameter("bias", made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the starting values anew: uniform on [-k, k), k = 1 / sqrt(fan_in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        n = len(self.kernel_size)
        shown = [
            f"{self.in_channels}",
            f"{self.out_channels}",
            f"kernel_size={self.kernel_size}",
            f"stride={self.stride}",
        ]
        if self.padding != (0,) * n:
            shown.append(f"padding={self.padding}")
        if self.dilation != (1,) * n:
            shown.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * n:
            shown.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            shown.append(f"groups={self.groups}")
        if self.bias is None:
            shown.append("bias=False")
        if self.padding_mode != "zeros":
            shown.append(f"padding_mode={self.padding_mode}")
        return ", ".join(shown)


def _border(
    padding: tuple[int, ...] | str, kernel_size: tuple[int, ...], dilation: tuple[int, ...]
) -> Sequence[int]:
    """This padding as `F.pad` takes numbers: before and after, the last dimension first."""
    if not isinstance(padding, str):
        return tuple(n for n in reversed(padding) for _ in range(2))
    border: list[int] = []
    for size, step in zip(reversed(kernel_size), reversed(dilation), strict=True):
        total = step * (size - 1) if padding == "same" else 0
        border += [total // 2, total - total // 2]
    return border


class _Conv(_ConvNd):
    """A convolution; the subclass names the number of dimensions."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
    ) -> None:
        n = self._dims
        super().__init__(
            in_channels,
            out_channels,
            _ntuple(kernel_size, n),
            _ntuple(stride, n),
            padding if isinstance(padding, str) else _ntuple(padding, n),
            _ntuple(dilation, n),
            False,
            (0,) * n,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The layer with other weights: subclasses call and replace this method."""
        padding = self.padding
        if self.padding_mode != "zeros":
            border = self._reversed_padding_repeated_twice
            input, padding = F.pad(input, border, mode=self.padding_mode), (0,) * self._dims
        convolve = type(self)._function
        return convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Conv):
    """Cross-correlation over (N, C, L) or (C, L).

    >>> nn.Conv1d(3, 8, kernel_size=5, padding=2)(torch.zeros(4, 3, 20)).shape
    torch.Size([4, 8, 20])
    """

    _dims, _function = 1, F.conv1d


class Conv2d(_Conv):
    """Cross-correlation over (N, C, H, W) or (C, H, W).

    >>> layer = nn.Conv2d(3, 8, kernel_size=3, stride=2, padding=1)
    >>> layer(torch.zeros(4, 3, 28, 28)).shape
    torch.Size([4, 8, 14, 14])
    >>> layer.weight.shape
    torch.Size([8, 3, 3, 3])
    """

    _dims, _function = 2, F.conv2d


class Conv3d(_Conv):
    """Cross-correlation over (N, C, D, H, W) or (C, D, H, W).

    >>> nn.Conv3d(1, 2, kernel_size=(1, 3, 3))(torch.zeros(1, 4, 8, 8)).shape
    torch.Size([2, 4, 6, 6])
    """

    _dims, _function = 3, F.conv3d


class _ConvTransposeNd(_ConvNd):
    """The transpose (gradient with respect to the input) of a convolution; `weight` is (in, out /
    groups, ...).
    """

    _transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
        padding_mode: str = "zeros",
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        n = self._dims
        super().__init__(
            in_channels,
            out_channels,
            _ntuple(kernel_size, n),
            _ntuple(stride, n),
            _ntuple(padding, n),
            _ntuple(dilation, n),
            True,
            _ntuple(output_padding, n),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """The extra rows that make the output `output_size`, among the sizes that fit the input."""
        if output_size is None:
            return self.output_padding
        n = self._dims
        without_spatial = input.dim() - n
        if len(output_size) == without_spatial + n:
            output_size = output_size[without_spatial:]
        if len(output_size) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} "
                f"or {without_spatial + n} elements (got {len(output_size)})"
            )
        smallest = [
            (input.shape[d + without_spatial] - 1) * self.stride[d]
            - 2 * self.padding[d]
            + self.dilation[d] * (self.kernel_size[d] - 1)
            + 1
            for d in range(n)
        ]
        largest = [low + self.stride[d] - 1 for d, low in enumerate(smallest)]
        for size, low, high in zip(output_size, smallest, largest, strict=True):
            if size < low or size > high:
                raise ValueError(
                    f"requested an output size of {output_size}, but valid sizes range "
                    f"from {smallest} to {largest} (for an input of {input.shape[2:]})"
                )
        return tuple(size - low for size, low in zip(output_size, smallest, strict=True))

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return type(self)._function(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self._output_padding(input, output_size),
            self.groups,
            self.dilation,
        )


class ConvTranspose1d(_ConvTransposeNd):
    """Transposed convolution over (N, C, L) or (C, L).

    >>> nn.ConvTranspose1d(8, 3, kernel_size=4, stride=2, padding=1)(torch.zeros(1, 8, 10)).shape
    torch.Size([1, 3, 20])
    """

    _dims, _function = 1, F.conv_transpose1d


class ConvTranspose2d(_ConvTransposeNd):
    """Transposed convolution over (N, C, H, W) or (C, H, W).

    >>> up = nn.ConvTranspose2d(8, 3, kernel_size=2, stride=2)
    >>> up(torch.zeros(1, 8, 7, 7)).shape
    torch.Size([1, 3, 14, 14])
    """

    _dims, _function = 2, F.conv_transpose2d


class ConvTranspose3d(_ConvTransposeNd):
    """Transposed convolution over (N, C, D, H, W) or (C, D, H, W).

    >>> nn.ConvTranspose3d(2, 1, kernel_size=2, stride=2)(torch.zeros(1, 2, 3, 3, 3)).shape
    torch.Size([1, 1, 6, 6, 6])
    """

    _dims, _function = 3, F.conv_transpose3d


_LATE = [f"LazyConv{kind}{n}d" for kind in ("", "Transpose") for n in (1, 2, 3)]
__getattr__ = _missing_name(
    __name__, late=dict.fromkeys(_LATE, "rushlight.nn.modules._lazy_layers")
)
