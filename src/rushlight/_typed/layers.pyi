"""ops/layers/: functions in torch, methods of Tensor. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import Any, TypeAlias

from .._core import Tensor
from .._dtypes import dtype as _dtype

_Number: TypeAlias = _int | _float | _bool | _complex
_Ints: TypeAlias = _int | Sequence[_int]

def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The means of windows of 1 dimension(s) that cut the input into output_size parts."""

def adaptive_max_pool1d(
    input: Tensor, output_size: Any, return_indices: _bool = True
) -> tuple[Tensor, Tensor]:
    """Largest elements and their places."""

def alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Dropout to SELU's lowest value that keeps mean and variance."""

def avg_pool1d(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
) -> Tensor:
    """The mean of each window of 1 dimension(s)."""

def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: _bool,
    momentum: _float,
    eps: _float,
    cudnn_enabled: _bool = True,
) -> Tensor: ...
def celu(
    input: Tensor, alpha: _Number = 1.0, inplace: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """input above 0, alpha * (e ** (input / alpha) - 1) below."""

def celu_(input: Tensor, alpha: _Number = 1.0) -> Tensor:
    """input above 0, alpha * (e ** (input / alpha) - 1) below."""

def channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """The channels dealt out from groups, one of each in turn."""

def constant_pad_nd(
    input: Tensor, pad: Sequence[_int], value: _Number = 0, *, out: Tensor | None = None
) -> Tensor:
    """The tensor with a border of a constant; a negative width cuts."""

def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Ints = 1,
    padding: _Ints | _str = 0,
    dilation: _Ints = 1,
    groups: _int = 1,
) -> Tensor:
    """A convolution over 1 dimension."""

def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Ints = 1,
    padding: _Ints | _str = 0,
    dilation: _Ints = 1,
    groups: _int = 1,
) -> Tensor:
    """A convolution over 2 dimensions."""

def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Ints = 1,
    padding: _Ints | _str = 0,
    dilation: _Ints = 1,
    groups: _int = 1,
) -> Tensor:
    """A convolution over 3 dimensions."""

def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Ints = 1,
    padding: _Ints = 0,
    output_padding: _Ints = 0,
    groups: _int = 1,
    dilation: _Ints = 1,
) -> Tensor:
    """The transpose of a convolution over 1 dimension."""

def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Ints = 1,
    padding: _Ints = 0,
    output_padding: _Ints = 0,
    groups: _int = 1,
    dilation: _Ints = 1,
) -> Tensor:
    """The transpose of a convolution over 2 dimensions."""

def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Ints = 1,
    padding: _Ints = 0,
    output_padding: _Ints = 0,
    groups: _int = 1,
    dilation: _Ints = 1,
) -> Tensor:
    """The transpose of a convolution over 3 dimensions."""

def dropout(input: Tensor, p: _float, train: _bool) -> Tensor: ...
def dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Dropout in place while `train` is true."""

def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: _int = -1,
    scale_grad_by_freq: _bool = False,
    sparse: _bool = False,
) -> Tensor:
    """The rows of weight that input names; row padding_idx gets no gradient."""

def group_norm(
    input: Tensor,
    num_groups: _int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
) -> Tensor:
    """Mean 0 and variance 1 over each of num_groups groups of channels, then weight and bias."""

def hardshrink(input: Tensor, lambd: _Number = 0.5, *, out: Tensor | None = None) -> Tensor:
    """input outside of [-lambd, lambd], 0 inside."""

def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: _bool = True,
    momentum: _float = 0.1,
    eps: _float = 1e-05,
) -> Tensor:
    """Mean 0 and variance 1 over each channel of each sample, then weight and bias."""

def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[_int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
    cudnn_enable: _bool = True,
) -> Tensor:
    """Mean 0 and variance 1 over the last dimensions, then weight and bias."""

def log_softmax(
    input: Tensor, dim: _int, dtype: _dtype | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The logarithm of softmax, exact where softmax is small."""

def max_pool1d(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = False,
) -> Tensor:
    """The largest element of each window of 1 dimension(s)."""

def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = True,
) -> tuple[Tensor, Tensor]:
    """The largest elements of windows and their places."""

def max_pool2d(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = False,
) -> Tensor:
    """The largest element of each window of 2 dimension(s)."""

def max_pool3d(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = False,
) -> Tensor:
    """The largest element of each window of 3 dimension(s)."""

def native_layer_norm(
    input: Tensor,
    normalized_shape: Sequence[_int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: _float,
) -> Tensor:
    """`layer_norm` with the means and one over the deviations."""

def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor:
    """(..., channels * r * r, height, width) as (..., channels, height * r, width * r)."""

def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor:
    """The inverse of `pixel_shuffle`."""

def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """input above 0, weight * input below; one weight, or one a channel (dimension 1)."""

def relu(input: Tensor, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """max(input, 0)."""

def relu_(input: Tensor) -> Tensor:
    """max(input, 0)."""

def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[_int],
    weight: Tensor | None = None,
    eps: _float | None = None,
) -> Tensor:
    """input over the root of the mean of its squares over the last dimensions, times weight."""

def rrelu(
    input: Tensor,
    lower: _Number = 0.125,
    upper: _Number = 0.3333333333333333,
    training: _bool = False,
    inplace: _bool = False,
) -> Tensor:
    """`leaky_relu` with slopes drawn from [lower, upper]; their middle when not training."""

def rrelu_(
    input: Tensor,
    lower: _Number = 0.125,
    upper: _Number = 0.3333333333333333,
    training: _bool = False,
) -> Tensor:
    """In-place version of `rrelu`."""

def selu(input: Tensor, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """`elu`, scaled so that mean 0 and variance 1 are kept from layer to layer."""

def selu_(input: Tensor) -> Tensor:
    """`elu`, scaled so that mean 0 and variance 1 are kept from layer to layer."""

def softmax(
    input: Tensor, dim: _int, dtype: _dtype | None = None, *, out: Tensor | None = None
) -> Tensor:
    """exp(input), divided by its sum along dim."""

def threshold(
    input: Tensor,
    threshold: _Number,
    value: _Number,
    inplace: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input where it is above the threshold, else `value`."""

def threshold_(input: Tensor, threshold: _Number, value: _Number) -> Tensor:
    """input where it is above the threshold, else `value`."""

class LayersMethods:
    def hardshrink(self, lambd: _Number = 0.5, *, out: Tensor | None = None) -> Tensor: ...
    def log_softmax(
        self, dim: _int, dtype: _dtype | None = None, *, out: Tensor | None = None
    ) -> Tensor: ...
    def prelu(self, weight: Tensor) -> Tensor: ...
    def relu(self, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor: ...
    def relu_(self) -> Tensor: ...
    def softmax(
        self, dim: _int, dtype: _dtype | None = None, *, out: Tensor | None = None
    ) -> Tensor: ...
