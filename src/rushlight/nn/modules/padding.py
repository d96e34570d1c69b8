"""Padding: the borders of the last one, two or three dimensions, filled in one of five ways.

A class is a way of filling and a number of dimensions; `padding` is one width for all sides, or the
widths of the last dimension's two sides, of the one before it, and so on.
"""

from __future__ import annotations

from typing import ClassVar

from rushlight._root import Tensor

from .. import functional as F
from .module import Module
from .utils import Size, _ntuple


class _PadNd(Module):
    """A border filled from the input itself; `_mode` is that of `nn.functional.pad`."""

    _mode: ClassVar[str]
    _dims: ClassVar[int] = 1
    padding: tuple[int, ...]

    def __init__(self, padding: Size) -> None:
        super().__init__()
        self.padding = _ntuple(padding, 2 * self._dims)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    value: float

    def __init__(self, padding: Size, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return super().forward(input)

    def _check_input_dim(self, input: Tensor) -> None:
        least = self._dims + 1
        if input.dim() not in (least, least + 1):
            raise ValueError(f"expected {least}D or {least + 1}D input (got {input.dim()}D input)")


class ConstantPad1d(_ConstantPadNd):
    """A border of `value` around the last dimension.

    >>> nn.ConstantPad1d((1, 2), 7.0)(torch.tensor([[1.0, 2.0]]))
    tensor([[7., 1., 2., 7., 7.]])
    """


class ConstantPad2d(_ConstantPadNd):
    """A border of `value` around the last two dimensions.

    >>> nn.ConstantPad2d((1, 0, 0, 1), 7.0)(torch.tensor([[[1.0]]]))
    tensor([[[7., 1.],
             [7., 7.]]])
    """

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """A border of `value` around the last three dimensions.

    >>> nn.ConstantPad3d(1, 7.0)(torch.zeros(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _dims = 3


class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding: Size) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Zeros around the last dimension.

    >>> nn.ZeroPad1d(1)(torch.tensor([[1.0, 2.0]]))
    tensor([[0., 1., 2., 0.]])
    """


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Zeros around the last two dimensions; negative widths cut off.

    >>> nn.ZeroPad2d((1, 0, 0, -1))(torch.ones(1, 2, 2))
    tensor([[[0., 1., 1.]]])
    """


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Zeros around the last three dimensions.

    >>> nn.ZeroPad3d(1)(torch.ones(1, 2, 2, 2)).sum()
    tensor(8.)
    """


class ReflectionPad1d(_ReflectionPadNd):
    """The last dimension mirrored at its ends, which are not repeated.

    >>> nn.ReflectionPad1d(2)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 2., 1., 2., 3., 2., 1.]])
    """


class ReflectionPad2d(_ReflectionPadNd):
    """The last two dimensions mirrored at their ends, which are not repeated.

    >>> nn.ReflectionPad2d((1, 0, 0, 0))(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
    tensor([[[2., 1., 2.],
             [4., 3., 4.]]])
    """

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """The last three dimensions mirrored at their ends, which are not repeated.

    >>> nn.ReflectionPad3d(1)(torch.zeros(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _dims = 3


class ReplicationPad1d(_ReplicationPadNd):
    """The ends of the last dimension repeated.

    >>> nn.ReplicationPad1d(2)(torch.tensor([[1.0, 2.0]]))
    tensor([[1., 1., 1., 2., 2., 2.]])
    """


class ReplicationPad2d(_ReplicationPadNd):
    """The ends of the last two dimensions repeated.

    >>> nn.ReplicationPad2d((1, 0, 0, 1))(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2.],
             [1., 1., 2.]]])
    """

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """The ends of the last three dimensions repeated.

    >>> nn.ReplicationPad3d(1)(torch.ones(1, 2, 2, 2)).sum()
    tensor(64.)
    """

    _dims = 3


class CircularPad1d(_CircularPadNd):
    """The last dimension going round.

    >>> nn.CircularPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 1., 2., 3., 1.]])
    """


class CircularPad2d(_CircularPadNd):
    """The last two dimensions going round.

    >>> nn.CircularPad2d((1, 0, 0, 1))(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[2., 1., 2.],
             [2., 1., 2.]]])
    """

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """The last three dimensions going round.

    >>> nn.CircularPad3d(1)(torch.ones(1, 2, 2, 2)).sum()
    tensor(64.)
    """

    _dims = 3
