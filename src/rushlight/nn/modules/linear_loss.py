"""`LinearCrossEntropyLoss`: a linear layer and the cross entropy of its logits in one."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from rushlight._root import Tensor

from ..._base import dtypes
from ..._base.device import DeviceLike
from .. import functional as F
from .linear import Linear
from .loss import _WeightedLoss


class LinearCrossEntropyOptions:
    """How PyTorch computes the loss in pieces to save memory; here checked, and without effect.

    >>> nn.LinearCrossEntropyOptions(batch_chunk_size=4).batch_chunk_size
    4
    """

    def __init__(
        self,
        allow_retain_graph: bool = False,
        batch_chunk_size: int | None = None,
        chunking_method: str | None = "auto",
        acc_policy: str = "auto",
        acc_dtype: dtypes.dtype | None = None,
    ) -> None:
        if batch_chunk_size is not None and not (
            isinstance(batch_chunk_size, int) and batch_chunk_size > 0
        ):
            raise ValueError(
                f"batch_chunk_size must be positive int or None, got {batch_chunk_size!r}"
            )
        if acc_policy not in ("accurate", "balanced", "compact", "auto"):
            raise ValueError(f"invalid acc_policy: {acc_policy!r}")
        self.allow_retain_graph = allow_retain_graph
        self.batch_chunk_size = batch_chunk_size
        self.chunking_method = chunking_method
        self.acc_policy = acc_policy
        self.acc_dtype = acc_dtype

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __getstate__(self) -> list[Any]:
        """The values alone, as of PyTorch's dataclass."""
        return list(vars(self).values())

    def __setstate__(self, state: list[Any]) -> None:
        self.__init__(*state)  # type: ignore[misc]

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"LinearCrossEntropyOptions({said})"


class LinearCrossEntropyLoss(_WeightedLoss):
    """The cross entropy of a linear layer's logits: the layer is the attribute `linear`.

    Input (N, in_features) or (in_features,), target as for `CrossEntropyLoss` with
    num_classes classes, for each of out_features where those are given.

    >>> _ = torch.manual_seed(0)
    >>> loss = nn.LinearCrossEntropyLoss(3, 5)
    >>> loss(torch.zeros(2, 3), torch.tensor([1, 4]))
    tensor(1.6094, grad_fn=<NllLossBackward0>)
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__(weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features: tuple[int, ...] = tuple(out_features)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        rows = num_classes * math.prod(self.out_features)
        self.linear: Linear = Linear(in_features, rows, bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Any:
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, self.linear.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


# Where PyTorch has them.
LinearCrossEntropyLoss.__module__ = "rushlight.nn.modules.loss"
LinearCrossEntropyOptions.__module__ = "rushlight.nn.modules.linear_cross_entropy_options"
