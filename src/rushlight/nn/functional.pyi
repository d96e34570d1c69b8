"""`torch.nn.functional`. Written by tools/public_stub.py."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import Any, TypeAlias

from .._base.dtypes import dtype as _dtype
from .._core import Tensor
from .._typed.elementwise import sigmoid as sigmoid
from .._typed.elementwise import tanh as tanh
from .._typed.layers import adaptive_avg_pool1d as adaptive_avg_pool1d
from .._typed.layers import avg_pool1d as avg_pool1d
from .._typed.layers import celu as celu
from .._typed.layers import celu_ as celu_
from .._typed.layers import channel_shuffle as channel_shuffle
from .._typed.layers import conv1d as conv1d
from .._typed.layers import conv2d as conv2d
from .._typed.layers import conv3d as conv3d
from .._typed.layers import conv_tbc as conv_tbc
from .._typed.layers import conv_transpose1d as conv_transpose1d
from .._typed.layers import conv_transpose2d as conv_transpose2d
from .._typed.layers import conv_transpose3d as conv_transpose3d
from .._typed.layers import group_norm as group_norm
from .._typed.layers import hardshrink as hardshrink
from .._typed.layers import max_pool1d as max_pool1d
from .._typed.layers import max_pool1d_with_indices as max_pool1d_with_indices
from .._typed.layers import max_pool2d as max_pool2d
from .._typed.layers import max_pool3d as max_pool3d
from .._typed.layers import native_channel_shuffle as native_channel_shuffle
from .._typed.layers import pixel_shuffle as pixel_shuffle
from .._typed.layers import pixel_unshuffle as pixel_unshuffle
from .._typed.layers import prelu as prelu
from .._typed.layers import relu as relu
from .._typed.layers import relu_ as relu_
from .._typed.layers import rms_norm as rms_norm
from .._typed.layers import rrelu as rrelu
from .._typed.layers import selu as selu
from .._typed.layers import selu_ as selu_
from .._typed.layers import threshold as threshold
from .._typed.layers import threshold_ as threshold_
from .._typed.matrix import bilinear as bilinear
from .._typed.matrix import cosine_similarity as cosine_similarity
from .._typed.matrix import pairwise_distance as pairwise_distance
from .._typed.matrix import pdist as pdist
from ..ops.layers.activation import relu6 as relu6
from ..ops.layers.activation import rrelu_ as rrelu_
from ..ops.layers.activation import softshrink as softshrink
from ..ops.layers.activation import softsign as softsign
from ..ops.layers.activation import tanhshrink as tanhshrink
from ..ops.layers.attention import scaled_dot_product_attention as scaled_dot_product_attention
from ..ops.layers.average_pooling import avg_pool2d as avg_pool2d
from ..ops.layers.average_pooling import avg_pool3d as avg_pool3d
from ..ops.layers.average_pooling import lp_pool1d as lp_pool1d
from ..ops.layers.average_pooling import lp_pool2d as lp_pool2d
from ..ops.layers.average_pooling import lp_pool3d as lp_pool3d
from ..ops.layers.class_loss import binary_cross_entropy as binary_cross_entropy
from ..ops.layers.class_loss import (
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
)
from ..ops.layers.class_loss import cross_entropy as cross_entropy
from ..ops.layers.class_loss import nll_loss as nll_loss
from ..ops.layers.dropout import alpha_dropout as alpha_dropout
from ..ops.layers.dropout import dropout as dropout
from ..ops.layers.dropout import feature_alpha_dropout as feature_alpha_dropout
from ..ops.layers.embedding import embedding as embedding
from ..ops.layers.interpolation import affine_grid as affine_grid
from ..ops.layers.interpolation import grid_sample as grid_sample
from ..ops.layers.interpolation import interpolate as interpolate
from ..ops.layers.interpolation import upsample as upsample
from ..ops.layers.linear_loss import grouped_mm as grouped_mm
from ..ops.layers.linear_loss import linear_cross_entropy as linear_cross_entropy
from ..ops.layers.loss import cosine_embedding_loss as cosine_embedding_loss
from ..ops.layers.loss import gaussian_nll_loss as gaussian_nll_loss
from ..ops.layers.loss import hinge_embedding_loss as hinge_embedding_loss
from ..ops.layers.loss import huber_loss as huber_loss
from ..ops.layers.loss import kl_div as kl_div
from ..ops.layers.loss import l1_loss as l1_loss
from ..ops.layers.loss import margin_ranking_loss as margin_ranking_loss
from ..ops.layers.loss import mse_loss as mse_loss
from ..ops.layers.loss import poisson_nll_loss as poisson_nll_loss
from ..ops.layers.loss import smooth_l1_loss as smooth_l1_loss
from ..ops.layers.loss import triplet_margin_loss as triplet_margin_loss
from ..ops.layers.loss import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss
from ..ops.layers.margin_loss import multi_margin_loss as multi_margin_loss
from ..ops.layers.margin_loss import multilabel_margin_loss as multilabel_margin_loss
from ..ops.layers.margin_loss import multilabel_soft_margin_loss as multilabel_soft_margin_loss
from ..ops.layers.margin_loss import soft_margin_loss as soft_margin_loss
from ..ops.layers.multi_head import multi_head_attention_forward as multi_head_attention_forward
from ..ops.layers.normalization import batch_norm as batch_norm
from ..ops.layers.normalization import instance_norm as instance_norm
from ..ops.layers.normalization import layer_norm as layer_norm
from ..ops.layers.normalization import local_response_norm as local_response_norm
from ..ops.layers.normalization import normalize as normalize
from ..ops.layers.padding import pad as pad
from ..ops.layers.softmax import gumbel_softmax as gumbel_softmax
from ..ops.layers.softmax import softmin as softmin
from ..ops.layers.unfold import fold as fold

_Number: TypeAlias = _int | _float | _bool | _complex
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

def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[_int],
    target_lengths: Tensor | Sequence[_int],
    blank: _int = 0,
    reduction: _str = "mean",
    zero_infinity: _bool = False,
) -> Tensor:
    """The negative log-likelihood of label sequences over all their alignments with the input."""

def dropout1d(
    input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False
) -> Tensor: ...
def dropout2d(
    input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False
) -> Tensor: ...
def dropout3d(
    input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False
) -> Tensor: ...
def elu(
    input: Tensor, alpha: _Number = 1.0, inplace: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """input above 0, alpha * (e ** input - 1) below."""

def elu_(input: Tensor, alpha: _Number = 1.0) -> Tensor: ...
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: _float | None = None,
    norm_type: _float = 2,
    scale_grad_by_freq: _bool = False,
    mode: _str = "mean",
    sparse: _bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: _bool = False,
    padding_idx: _int | None = None,
) -> Tensor:
    """The sum, mean or maximum of the rows in each bag of indices."""

def fractional_max_pool2d(
    input: Tensor,
    kernel_size: _Ints,
    output_size: _Ints | None = None,
    output_ratio: Any = None,
    return_indices: _bool = False,
) -> Tensor:
    """The largest elements of windows of 2 dimensions at random distances."""

def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: _Ints,
    output_size: _Ints | None = None,
    output_ratio: Any = None,
    return_indices: _bool = False,
) -> Tensor:
    """The largest elements of windows of 2 dimensions at random distances, and their places."""

def fractional_max_pool3d(
    input: Tensor,
    kernel_size: _Ints,
    output_size: _Ints | None = None,
    output_ratio: Any = None,
    return_indices: _bool = False,
) -> Tensor:
    """The largest elements of windows of 3 dimensions at random distances."""

def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: _Ints,
    output_size: _Ints | None = None,
    output_ratio: Any = None,
    return_indices: _bool = False,
) -> Tensor:
    """The largest elements of windows of 3 dimensions at random distances, and their places."""

def gelu(input: Tensor, *, approximate: _str = ..., out: Tensor | None = None) -> Tensor:
    """input times the normal distribution function of input; approximate 'tanh' is faster."""

def glu(input: Tensor, dim: _int = -1, *, out: Tensor | None = None) -> Tensor:
    """The first half times the sigmoid of the second, along dim."""

def hardsigmoid(input: Tensor, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """A sigmoid of three straight pieces."""

def hardswish(input: Tensor, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """input * hardsigmoid(input)."""

def hardtanh(
    input: Tensor,
    min_val: _Number = -1.0,
    max_val: _Number = 1.0,
    inplace: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input cut off below min_val and above max_val."""

def hardtanh_(input: Tensor, min_val: _Number = -1.0, max_val: _Number = 1.0) -> Tensor: ...
def leaky_relu(
    input: Tensor,
    negative_slope: _Number = 0.01,
    inplace: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input above 0, negative_slope * input below."""

def leaky_relu_(input: Tensor, negative_slope: _Number = 0.01) -> Tensor: ...
def linear(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """input @ weight.T + bias, over any leading dimensions of input."""

def log_softmax(input: Tensor, dim: _int | None = None, dtype: _dtype | None = None) -> Tensor:
    """The logarithm of softmax, exact where softmax is small."""

def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(sigmoid(input)) without overflow."""

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

def mish(input: Tensor, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """input * tanh(softplus(input))."""

def one_hot(input: Tensor, num_classes: _int = -1, *, out: Tensor | None = None) -> Tensor:
    """1 at the place that each integer names, 0 elsewhere."""

def silu(input: Tensor, inplace: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """input * sigmoid(input), also called swish."""

def softmax(input: Tensor, dim: _int | None = None, dtype: _dtype | None = None) -> Tensor:
    """exp(input), divided by its sum along dim."""

def softplus(
    input: Tensor, beta: _Number = 1.0, threshold: _Number = 20.0, *, out: Tensor | None = None
) -> Tensor:
    """log(1 + e ** (beta * input)) / beta, a smooth relu; input itself above the threshold."""

def unfold(
    input: Tensor, kernel_size: _Ints, dilation: _Ints = 1, padding: _Ints = 0, stride: _Ints = 1
) -> Tensor: ...
