"""Normalisation over features, without statistics of the batch: layer, group and root-mean-square
norm.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rushlight import _root as rl
from rushlight._root import Tensor

from ..._base import dtypes
from ..._base.device import DeviceLike
from .. import functional as F
from .. import init
from ..parameter import Parameter
from ._of_function import WithSettings, layer
from .module import Module


class _Affine(WithSettings):
    weight: Parameter
    bias: Parameter

    def _scale_and_shift(
        self,
        shape: tuple[int, ...],
        affine: bool,
        bias: bool,
        device: DeviceLike | None,
        dtype: dtypes.dtype | None,
    ) -> None:
        """Makes the parameters that there are to be, and sets them."""

        def empty() -> Parameter:
            return Parameter(rl.empty(shape, device=device, dtype=dtype))

        self.register_parameter("weight", empty() if affine else None)
        self.register_parameter("bias", empty() if affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Scale 1, shift 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


@layer(F.layer_norm, "normalized_shape weight bias eps")
class LayerNorm(_Affine):
    """Normalises over the last dimensions, which must be `normalized_shape`, then scales and
    shifts.

    >>> nn.LayerNorm(3)(torch.tensor([[0.0, 1.0, 2.0], [0.0, 10.0, 20.0]])).detach()
    tensor([[-1.2247,  0.0000,  1.2247],
            [-1.2247,  0.0000,  1.2247]])
    """

    def __init__(
        self,
        normalized_shape: object,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
    ) -> None:
        super().__init__()
        shape = normalized_shape if isinstance(normalized_shape, Iterable) else (normalized_shape,)
        self.normalized_shape: tuple[Any, ...] = tuple(shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine

        self._scale_and_shift(self.normalized_shape, elementwise_affine, bias, device, dtype)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


@layer(F.group_norm, "num_groups weight bias eps")
class GroupNorm(_Affine):
    """Normalises groups of channels of (N, C, ...), then scales and shifts each channel.

    >>> nn.GroupNorm(2, 6)(torch.rand(4, 6, 5, 5)).shape
    torch.Size([4, 6, 5, 5])
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine

        self._scale_and_shift((num_channels,), affine, bias, device, dtype)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divides by the root mean square over the last dimensions, then scales.

    >>> nn.RMSNorm(2)(torch.tensor([3.0, 4.0])).detach()
    tensor([0.8485, 1.1314])
    """

    weight: Parameter

    def __init__(
        self,
        normalized_shape: object,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
    ) -> None:
        super().__init__()
        shape = normalized_shape if isinstance(normalized_shape, Iterable) else (normalized_shape,)
        self.normalized_shape: tuple[Any, ...] = tuple(shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = None
        if elementwise_affine:
            weight = Parameter(rl.empty(self.normalized_shape, device=device, dtype=dtype))
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Scale 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


@layer(F.local_response_norm)
class LocalResponseNorm(WithSettings):
    """Divides each value by a power of the mean of the squares of `size` channels around it.

    >>> nn.LocalResponseNorm(1, alpha=1.0, beta=0.5, k=0.0)(torch.tensor([[[3.0], [4.0]]]))
    tensor([[[1.],
             [1.]]])
    """

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """`LocalResponseNorm` of (N, C, H, W), as old programs name it.

    >>> nn.CrossMapLRN2d(1, alpha=1.0, beta=0.5, k=0.0)(torch.full((1, 1, 1, 1), 3.0))
    tensor([[[[1.]]]])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)
