"""ops/layers/: pooling in torch.nn.functional. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any, TypeAlias

from .._core import Tensor
from .._typed.layers import adaptive_avg_pool1d as adaptive_avg_pool1d
from .._typed.layers import avg_pool1d as avg_pool1d
from .._typed.layers import max_pool1d as max_pool1d
from .._typed.layers import max_pool1d_with_indices as max_pool1d_with_indices
from .._typed.layers import max_pool2d as max_pool2d
from .._typed.layers import max_pool3d as max_pool3d

_Ints: TypeAlias = _int | Sequence[_int]

def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The means of windows of 2 dimension(s) that cut the input into output_size parts."""

def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The means of windows of 3 dimension(s) that cut the input into output_size parts."""

def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: _bool = False) -> Tensor:
    """The largest elements of windows of 1 dimension(s) that cut the input into parts."""

def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Any, return_indices: _bool = True
) -> tuple[Tensor, Tensor]:
    """Largest elements and their places."""

def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: _bool = False) -> Tensor:
    """The largest elements of windows of 2 dimension(s) that cut the input into parts."""

def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Any, return_indices: _bool = True
) -> tuple[Tensor, Tensor]:
    """Largest elements and their places."""

def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: _bool = False) -> Tensor:
    """The largest elements of windows of 3 dimension(s) that cut the input into parts."""

def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Any, return_indices: _bool = True
) -> tuple[Tensor, Tensor]:
    """Largest elements and their places."""

def avg_pool2d(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
    divisor_override: _int | None = None,
) -> Tensor:
    """The mean of each window of 2 dimension(s)."""

def avg_pool3d(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
    divisor_override: _int | None = None,
) -> Tensor:
    """The mean of each window of 3 dimension(s)."""

def fold(
    input: Tensor,
    output_size: _Ints,
    kernel_size: _Ints,
    dilation: _Ints = 1,
    padding: _Ints = 0,
    stride: _Ints = 1,
) -> Tensor:
    """The transpose of `unfold`: patches summed into images of output_size."""

def lp_pool1d(
    input: Tensor,
    norm_type: _float,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    ceil_mode: _bool = False,
) -> Tensor:
    """The p-norm of each window."""

def lp_pool2d(
    input: Tensor,
    norm_type: _float,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    ceil_mode: _bool = False,
) -> Tensor:
    """The p-norm of each window."""

def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = True,
) -> tuple[Tensor, Tensor]:
    """The largest elements of windows and their places."""

def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = True,
) -> tuple[Tensor, Tensor]:
    """The largest elements of windows and their places."""

def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    output_size: _Ints | None = None,
) -> Tensor:
    """Elements back at the places that max_pool gave, zeros elsewhere."""

def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    output_size: _Ints | None = None,
) -> Tensor:
    """Elements back at the places that max_pool gave, zeros elsewhere."""

def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    output_size: _Ints | None = None,
) -> Tensor:
    """Elements back at the places that max_pool gave, zeros elsewhere."""

def unfold(
    input: Tensor, kernel_size: _Ints, dilation: _Ints = 1, padding: _Ints = 0, stride: _Ints = 1
) -> Tensor: ...
