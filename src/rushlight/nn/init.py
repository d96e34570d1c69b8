"""Fills tensors with starting values: the initialisers of `torch.nn.init`, drawing the same random
numbers.

All of them work in place, record no graph and return the tensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rushlight import _root as _rl
from rushlight._root import Generator, Tensor

from .._base.errors import warn
from .._base.late import imported
from .._base.missing import missing_name as _missing_name

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

_qr = imported("rushlight.ops.matrix.decompositions", "linalg_qr")

_NO_OP = "Initializing zero-element tensors is a no-op"


@_rl.ops.overridable
def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Uniform on [a, b).

    >>> _ = torch.manual_seed(0)
    >>> nn.init.uniform_(torch.empty(2), -1.0, 1.0)
    tensor([-0.0075,  0.5364])
    """
    with _rl.no_grad():
        return tensor.uniform_(a, b, generator=generator)


@_rl.ops.overridable
def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Normal with the given mean and standard deviation.

    >>> _ = torch.manual_seed(0)
    >>> nn.init.normal_(torch.empty(2), mean=1.0, std=0.1)
    tensor([1.1541, 0.9707])
    """
    with _rl.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Normal restricted to [a, b], by rejection: from the normal where most draws fall inside, else
    from a box.

    >>> weight = nn.init.trunc_normal_(torch.empty(1000), std=1.0, a=-0.5, b=0.5)
    >>> bool((weight.abs() <= 0.5).all())
    True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect."
        )

    def cdf(x: float) -> float:
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0

    if tensor.is_meta:
        return tensor
    with _rl.no_grad():
        if cdf((b - mean) / std) - cdf((a - mean) / std) > 0.3:
            # The bounds as the tensor's own dtype holds them.
            low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()
            values = tensor.normal_(mean, std, generator=generator)
            while (outside := (values < low) | (values > high)).any():
                fresh = _rl.empty_like(tensor).normal_(mean, std, generator=generator)
                values = _rl.where(outside, fresh, values)
        else:
            values = _trunc_normal_from_box(tensor, mean, std, a, b, generator)
        if values is not tensor:
            tensor.copy_(values)
    return tensor


def _trunc_normal_from_box(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Tensor:
    """Draws uniformly from [a, b] and accepts in proportion to the density."""
    log_peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    values = tensor
    waiting: Any = None
    while waiting is None or waiting.any():
        draws = _rl.empty_like(tensor).uniform_(a, b, generator=generator)
        height = ((draws - mean) / std).pow_(2).mul_(-0.5).sub_(log_peak)
        rejected = _rl.empty_like(tensor).uniform_(generator=generator).log_().gt(height)
        if waiting is None:
            values, waiting = draws, rejected
        else:
            values, waiting = _rl.where(waiting, draws, values), waiting & rejected
    return values


@_rl.ops.overridable
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Every element `val`.

    >>> nn.init.constant_(torch.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    with _rl.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Every element 1.

    >>> nn.init.ones_(torch.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Every element 0.

    >>> nn.init.zeros_(torch.empty(2))
    tensor([0., 0.])
    """
    with _rl.no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix.

    >>> nn.init.eye_(torch.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with _rl.no_grad():
        tensor.copy_(_rl.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """A convolution weight that passes its input channels through, group by group.

    >>> weight = nn.init.dirac_(torch.empty(1, 1, 3))
    >>> weight
    tensor([[[0., 1., 0.]]])
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = tensor.shape[0] // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    with _rl.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, tensor.shape[1])):
                tensor[(group * per_group + channel, channel, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs feed one unit of a weight, and how many units one input feeds."""
    shape = tensor.shape
    if len(shape) < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    valid = ["fan_in", "fan_out"]
    if mode not in valid:
        raise ValueError(f"Mode {mode} not supported, please use one of {valid}")
    return _calculate_fan_in_and_fan_out(tensor)[valid.index(mode)]


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which a nonlinearity's layer scales its weights to keep the variance.

    >>> nn.init.calculate_gain("tanh")
    1.6666666666666667
    >>> nn.init.calculate_gain("leaky_relu", 1.0)
    1.0
    """
    if nonlinearity in ("linear", "sigmoid") or nonlinearity in _CONVOLUTIONS:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            param = 0.01
        elif isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + param**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


_CONVOLUTIONS = frozenset(f"conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3))


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Uniform on [-c, c), c = gain * sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010).

    >>> weight = nn.init.xavier_uniform_(torch.empty(300, 300))
    >>> bool((weight.abs() <= 0.1 + 1e-6).all())
    True
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal of standard deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010).

    >>> _ = torch.manual_seed(0)
    >>> weight = nn.init.xavier_normal_(torch.empty(100, 100))
    >>> abs(weight.std().item() - 0.1) < 0.002
    True
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    return normal_(tensor, 0.0, std, generator)


@_rl.ops.overridable
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform on [-c, c), c = gain * sqrt(3 / fan) (He et al. 2015); `a` is the leaky slope.

    >>> weight = nn.init.kaiming_uniform_(torch.empty(100, 600), nonlinearity="relu")
    >>> bool((weight.abs() <= 0.1 + 1e-6).all())
    True
    """
    if 0 in tensor.shape:
        warn(_NO_OP)
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal of standard deviation gain / sqrt(fan) (He et al. 2015); `a` is the leaky slope.

    >>> _ = torch.manual_seed(0)
    >>> weight = nn.init.kaiming_normal_(torch.empty(100, 200), nonlinearity="relu")
    >>> abs(weight.std().item() - (2 / 200) ** 0.5) < 0.001
    True
    """
    if 0 in tensor.shape:
        warn(_NO_OP)
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """A (semi-)orthogonal matrix times `gain`, trailing dimensions as one (Saxe et al. 2013).

    >>> q = nn.init.orthogonal_(torch.empty(3, 5))
    >>> torch.allclose(q @ q.T, torch.eye(3), atol=1e-5)
    True
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    with _rl.no_grad():
        matrix = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        q, r = _qr(matrix.t() if rows < columns else matrix)
        q = q * _rl.diag(r, 0).sign()  # makes the distribution uniform over orthogonal matrices
        if rows < columns:
            q = q.t()
        tensor.copy_(q.reshape(tensor.shape))
        tensor.mul_(gain)
    return tensor


def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Tensor:
    """Normal, with a fraction `sparsity` of every column set to zero (Martens 2010).

    >>> weight = nn.init.sparse_(torch.empty(10, 4), sparsity=0.3)
    >>> (weight == 0).sum(0)
    tensor([3, 3, 3, 3])
    """
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    if tensor.is_meta:
        return tensor
    with _rl.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[_rl.randperm(rows)[:zeros], column] = 0
    return tensor


def _deprecated(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The old name of an initialiser, without the underscore: warns and calls the new one."""
    new = function.__name__
    old = new[:-1]

    def initialiser(*args: object, **kwargs: object) -> Tensor:
        warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning)
        return function(*args, **kwargs)

    initialiser.__name__ = old
    initialiser.__doc__ = f"Deprecated name of `{new}`."
    return initialiser


uniform: Callable[..., Tensor] = _deprecated(uniform_)
normal: Callable[..., Tensor] = _deprecated(normal_)
constant: Callable[..., Tensor] = _deprecated(constant_)
eye: Callable[..., Tensor] = _deprecated(eye_)
dirac: Callable[..., Tensor] = _deprecated(dirac_)
xavier_uniform: Callable[..., Tensor] = _deprecated(xavier_uniform_)
xavier_normal: Callable[..., Tensor] = _deprecated(xavier_normal_)
kaiming_uniform: Callable[..., Tensor] = _deprecated(kaiming_uniform_)
kaiming_normal: Callable[..., Tensor] = _deprecated(kaiming_normal_)
orthogonal: Callable[..., Tensor] = _deprecated(orthogonal_)
sparse: Callable[..., Tensor] = _deprecated(sparse_)
# PyTorch's private names that libraries call.
_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_ = uniform_, normal_, trunc_normal_
_no_grad_fill_, _no_grad_zero_ = constant_, zeros_

if not TYPE_CHECKING:  # to checkers a misspelt name is an error
    __getattr__ = _missing_name(__name__)
