"""The lazy forms of layers: `LazyLinear`, the convolutions, batch and instance norms.

Programs find them in the files of the plain layers.
"""

from __future__ import annotations

from typing import Any, ClassVar

from rushlight import _root as rl
from rushlight._root import Tensor

from ..._base import dtypes
from ..._base.device import DeviceLike
from .._uninitialized import UninitializedBuffer, UninitializedParameter
from . import batchnorm, conv, instancenorm, linear
from .lazy import LazyModuleMixin
from .module import Module


class _Lazy(LazyModuleMixin):
    """The base of lazy layers: shapes come from the first input, then values are drawn."""

    _size_name: ClassVar[str]  # the attribute that is 0 until the first call

    def reset_parameters(self) -> None:
        """Draws the starting values anew, once the shapes are known."""
        if not self.has_uninitialized_params() and getattr(self, self._size_name) != 0:
            super().reset_parameters()  # type: ignore[misc]

    def _take(self, size: int, shapes: dict[str, tuple[int, ...]]) -> None:
        """Sets the size of the input, and the members that have no shape yet."""
        if not self.has_uninitialized_params():
            return
        setattr(self, self._size_name, size)
        with rl.no_grad():
            for name, shape in shapes.items():
                member = getattr(self, name)
                if member is not None:
                    member.materialize(shape)
            self.reset_parameters()


class LazyLinear(_Lazy, linear.Linear):
    """A `Linear` that takes `in_features` from its first input.

    >>> layer = nn.LazyLinear(3)
    >>> layer(torch.zeros(2, 4)).shape
    torch.Size([2, 3])
    >>> layer
    Linear(in_features=4, out_features=3, bias=True)
    """

    cls_to_become = linear.Linear
    _size_name = "in_features"

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
    ) -> None:
        super().__init__(0, 0, False, device, dtype)
        self.weight: UninitializedParameter = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias: UninitializedParameter = UninitializedParameter(device=device, dtype=dtype)

    def initialize_parameters(self, input: Tensor) -> None:
        n, m = input.shape[-1], self.out_features
        self._take(n, {"weight": (m, n), "bias": (m,)})
        if self.in_features == 0:
            self.in_features: int = self.weight.shape[-1]  # of a checkpoint


class _LazyConv(_Lazy):
    _size_name = "in_channels"

    def __init__(
        self,
        out_channels: int,
        kernel_size: object,
        stride: object = 1,
        padding: object = 0,
        dilation: object = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
    ) -> None:
        super().__init__(
            *(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode),
            *(device, dtype),
        )
        self._without_shapes(out_channels, bias, device, dtype)

    def _without_shapes(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def initialize_parameters(self, input: Tensor, *args: object, **kwargs: object) -> None:
        n = self._dims
        if self.has_uninitialized_params() and input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        channels, groups, out = input.shape[-n - 1], self.groups, self.out_channels
        if channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        ends = (channels, out // groups) if self.transposed else (out, channels // groups)
        self._take(channels, {"weight": (*ends, *self.kernel_size), "bias": (out,)})


class _LazyConvTranspose(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: object,
        stride: object = 1,
        padding: object = 0,
        output_padding: object = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: object = 1,
        padding_mode: str = "zeros",
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
    ) -> None:
        super(_LazyConv, self).__init__(
            *(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation),
            *(padding_mode, device, dtype),
        )
        self._without_shapes(out_channels, bias, device, dtype)


class _LazyNorm(_Lazy):
    _size_name = "num_features"

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=bias)
        self.affine = affine
        self.track_running_stats = track_running_stats
        where: Any = {"device": device, "dtype": dtype}
        if affine:
            self.weight = UninitializedParameter(**where)
            if bias:
                self.bias = UninitializedParameter(**where)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**where)
            self.running_var = UninitializedBuffer(**where)
            self.num_batches_tracked = rl.tensor(0, dtype=rl.long, device=device)

    def initialize_parameters(self, input: Tensor) -> None:
        n = input.shape[1]
        names = ("weight", "bias", "running_mean", "running_var")
        self._take(n, dict.fromkeys(names, (n,)))


def _lazy(mixin: type[_Lazy], plain: type[Module], call: str, shape: str) -> Any:
    """The lazy form of a layer; `call` and `shape` are what its example shows."""
    name = f"Lazy{plain.__name__}"
    doc = (
        f"A `{plain.__name__}` that takes `{mixin._size_name}` from its first input.\n\n"
        f"    >>> nn.{name}({call}).shape\n    torch.Size([{shape}])\n    "
    )
    members = {"cls_to_become": plain, "__module__": plain.__module__, "__doc__": doc}
    return type(name, (mixin, plain), members)


_IMAGES = ("2, 3, 6", "2, 3, 6, 6", "2, 3, 6, 6, 6")
_CONV = [f"4, 3)(torch.zeros({size})" for size in _IMAGES]
LazyConv1d: Any = _lazy(_LazyConv, conv.Conv1d, _CONV[0], "2, 4, 4")
LazyConv2d: Any = _lazy(_LazyConv, conv.Conv2d, _CONV[1], "2, 4, 4, 4")
LazyConv3d: Any = _lazy(_LazyConv, conv.Conv3d, _CONV[2], "2, 4, 4, 4, 4")
LazyConvTranspose1d: Any = _lazy(_LazyConvTranspose, conv.ConvTranspose1d, _CONV[0], "2, 4, 8")
LazyConvTranspose2d: Any = _lazy(_LazyConvTranspose, conv.ConvTranspose2d, _CONV[1], "2, 4, 8, 8")
LazyConvTranspose3d: Any = _lazy(
    _LazyConvTranspose, conv.ConvTranspose3d, _CONV[2], "2, 4, 8, 8, 8"
)
_NORM = [f")(torch.zeros({size})" for size in _IMAGES]
LazyBatchNorm1d: Any = _lazy(_LazyNorm, batchnorm.BatchNorm1d, _NORM[0], _IMAGES[0])
LazyBatchNorm2d: Any = _lazy(_LazyNorm, batchnorm.BatchNorm2d, _NORM[1], _IMAGES[1])
LazyBatchNorm3d: Any = _lazy(_LazyNorm, batchnorm.BatchNorm3d, _NORM[2], _IMAGES[2])
LazyInstanceNorm1d: Any = _lazy(_LazyNorm, instancenorm.InstanceNorm1d, _NORM[0], _IMAGES[0])
LazyInstanceNorm2d: Any = _lazy(_LazyNorm, instancenorm.InstanceNorm2d, _NORM[1], _IMAGES[1])
LazyInstanceNorm3d: Any = _lazy(_LazyNorm, instancenorm.InstanceNorm3d, _NORM[2], _IMAGES[2])
LazyLinear.__module__ = linear.__name__
