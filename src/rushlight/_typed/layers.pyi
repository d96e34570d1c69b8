"""ops/layers/: functions in torch. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import Any, TypeAlias, overload

from .._base.dtypes import dtype as _dtype
from .._core import Tensor
from ..ops.layers.activation import prelu as prelu
from ..ops.layers.activation import rrelu as rrelu
from ..ops.layers.activation import rrelu_ as rrelu_
from ..ops.layers.average_pooling import avg_pool1d as avg_pool1d
from ..ops.layers.fake_quantization import (
    fake_quantize_per_channel_affine as fake_quantize_per_channel_affine,
)
from ..ops.layers.fake_quantization import (
    fused_moving_avg_obs_fake_quant as fused_moving_avg_obs_fake_quant,
)
from ..ops.layers.normalization import group_norm as group_norm
from ..ops.layers.normalization import native_layer_norm as native_layer_norm
from ..ops.layers.normalization import rms_norm as rms_norm
from ..ops.layers.torch_forms import affine_grid_generator as affine_grid_generator
from ..ops.layers.torch_forms import batch_norm_update_stats as batch_norm_update_stats
from ..ops.layers.torch_forms import (
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
)
from ..ops.layers.torch_forms import conv_tbc as conv_tbc
from ..ops.layers.torch_forms import convolution as convolution
from ..ops.layers.torch_forms import cosine_embedding_loss as cosine_embedding_loss
from ..ops.layers.torch_forms import ctc_loss as ctc_loss
from ..ops.layers.torch_forms import embedding_bag as embedding_bag
from ..ops.layers.torch_forms import embedding_renorm_ as embedding_renorm_
from ..ops.layers.torch_forms import grid_sampler as grid_sampler
from ..ops.layers.torch_forms import hinge_embedding_loss as hinge_embedding_loss
from ..ops.layers.torch_forms import kl_div as kl_div
from ..ops.layers.torch_forms import margin_ranking_loss as margin_ranking_loss
from ..ops.layers.torch_forms import native_batch_norm as native_batch_norm
from ..ops.layers.torch_forms import native_dropout as native_dropout
from ..ops.layers.torch_forms import native_group_norm as native_group_norm
from ..ops.layers.torch_forms import poisson_nll_loss as poisson_nll_loss
from ..ops.layers.torch_forms import triplet_margin_loss as triplet_margin_loss

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

def alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor: ...
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

def celu_(input: Tensor, alpha: _Number = 1.0) -> Tensor: ...
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
def dropout_(input: Tensor, p: _float, train: _bool) -> Tensor: ...
def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: _int = -1,
    scale_grad_by_freq: _bool = False,
    sparse: _bool = False,
) -> Tensor:
    """The rows of weight that input names; row padding_idx gets no gradient."""

def fake_quantize_per_tensor_affine(
    input: Tensor,
    scale: Tensor | _float,
    zero_point: Tensor | _int,
    quant_min: _int,
    quant_max: _int,
) -> Tensor: ...
def feature_alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """`alpha_dropout` of whole channels."""

def feature_alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor: ...
def feature_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Dropout of whole channels, while `train` is true."""

def feature_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor: ...
def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool
) -> Tensor:
    """`grid_sampler` of images of 2 dimensions."""

def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool
) -> Tensor:
    """`grid_sampler` of images of 3 dimensions."""

@overload
def gru(
    input: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
    batch_first: _bool,
) -> tuple[Tensor, ...]:
    """All layers of a network, without a module: the outputs, the last state."""

@overload
def gru(
    data: Tensor,
    batch_sizes: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
) -> tuple[Tensor, ...]: ...
def gru_cell(
    input: Tensor,
    hx: Any,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a network, the next state."""

def hardshrink(input: Tensor, lambd: _Number = 0.5, *, out: Tensor | None = None) -> Tensor:
    """input outside of [-lambd, lambd], 0 inside."""

def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: _bool,
    momentum: _float,
    eps: _float,
    cudnn_enabled: _bool,
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

@overload
def lstm(
    input: Tensor,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
    batch_first: _bool,
) -> tuple[Tensor, ...]:
    """All layers of a network, without a module: the outputs, the last hidden and cell state."""

@overload
def lstm(
    data: Tensor,
    batch_sizes: Tensor,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
) -> tuple[Tensor, ...]: ...
def lstm_cell(
    input: Tensor,
    hx: Any,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a network, the next hidden and cell state."""

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

def native_channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """`channel_shuffle` under the name of its kernel."""

def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor:
    """(..., channels * r * r, height, width) as (..., channels, height * r, width * r)."""

def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor:
    """The inverse of `pixel_shuffle`."""

def relu(input: Tensor, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """max(input, 0)."""

def relu_(input: Tensor) -> Tensor: ...
@overload
def rnn_relu(
    input: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
    batch_first: _bool,
) -> tuple[Tensor, ...]:
    """All layers of a network, without a module: the outputs, the last state."""

@overload
def rnn_relu(
    data: Tensor,
    batch_sizes: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
) -> tuple[Tensor, ...]: ...
def rnn_relu_cell(
    input: Tensor,
    hx: Any,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a network, the next state."""

@overload
def rnn_tanh(
    input: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
    batch_first: _bool,
) -> tuple[Tensor, ...]:
    """All layers of a network, without a module: the outputs, the last state."""

@overload
def rnn_tanh(
    data: Tensor,
    batch_sizes: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
) -> tuple[Tensor, ...]: ...
def rnn_tanh_cell(
    input: Tensor,
    hx: Any,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a network, the next state."""

def selu(input: Tensor, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """`elu`, scaled so that mean 0 and variance 1 are kept from layer to layer."""

def selu_(input: Tensor) -> Tensor: ...
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

def threshold_(input: Tensor, threshold: _Number, value: _Number) -> Tensor: ...
