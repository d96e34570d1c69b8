"""A batch norm in evaluation merged into the layer before it."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from rushlight import _root as rl
from rushlight._root import Tensor

from ..modules.batchnorm import _BatchNorm
from ..modules.module import Module
from ..parameter import Parameter

_M = TypeVar("_M", bound=Module)


def _merged(
    weight: Tensor,
    bias: Tensor | None,
    mean: Tensor,
    var: Tensor,
    eps: float,
    scale: Tensor | None,
    shift: Tensor | None,
    out: int = 0,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a layer whose outputs, along `out` of its weight, are normalised."""
    bias = rl.zeros_like(mean) if bias is None else bias
    scale = rl.ones_like(mean) if scale is None else scale
    shift = rl.zeros_like(mean) if shift is None else shift
    factor = scale * rl.rsqrt(var + eps)
    shape = [1] * weight.dim()
    shape[out] = -1
    fused_weight = (weight * factor.reshape(shape)).to(weight.dtype)
    fused_bias = ((bias - mean) * factor + shift).to(bias.dtype)
    grads = weight.requires_grad, bias.requires_grad
    return Parameter(fused_weight, grads[0]), Parameter(fused_bias, grads[1])


def _fused(layer: _M, bn: Any, out: int = 0) -> _M:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    made: Any = copy.deepcopy(layer)
    made.weight, made.bias = _merged(
        made.weight, made.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, out
    )
    return made


def fuse_conv_bn_eval(conv: _M, bn: _BatchNorm, transpose: bool = False) -> _M:
    """A convolution that does what `conv` and then `bn` do, both in evaluation.

    >>> conv, norm = nn.Conv2d(1, 2, 3).eval(), nn.BatchNorm2d(2).eval()
    >>> x = torch.rand(1, 1, 4, 4)
    >>> torch.allclose(nn.utils.fuse_conv_bn_eval(conv, norm)(x), norm(conv(x)), atol=1e-6)
    True
    """
    return _fused(conv, bn, 1 if transpose else 0)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution that includes a batch norm of this mean and variance.

    >>> one = torch.ones(1)
    >>> nn.utils.fuse_conv_bn_weights(torch.ones(1, 1, 1), None, one, 4 * one, 0.0, one, one)[1]
    Parameter containing:
    tensor([0.5000])
    """
    out = 1 if transpose else 0
    return _merged(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, out)


def fuse_linear_bn_eval(linear: _M, bn: _BatchNorm) -> _M:
    """A linear layer that does what `linear` and then `bn` do, both in evaluation.

    >>> layer, norm = nn.Linear(3, 2).eval(), nn.BatchNorm1d(2).eval()
    >>> x = torch.rand(4, 3)
    >>> torch.allclose(nn.utils.fuse_linear_bn_eval(layer, norm)(x), norm(layer(x)), atol=1e-6)
    True
    """
    n: Any = linear
    if not linear.training and not bn.training and bn.num_features not in (n.out_features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={n.out_features} and bn.num_features={bn.num_features}"
        )
    return _fused(linear, bn)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear layer that includes a batch norm of this mean and variance.

    >>> one = torch.ones(1)
    >>> nn.utils.fuse_linear_bn_weights(torch.ones(1, 1), one, one, 4 * one, 0.0, one, one)[0]
    Parameter containing:
    tensor([[0.5000]])
    """
    return _merged(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)
