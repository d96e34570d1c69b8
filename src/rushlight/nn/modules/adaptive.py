"""The adaptive softmax: a few frequent classes directly, the rest by clusters of smaller layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rushlight import _root as rl
from rushlight._root import Tensor

from ..._base import dtypes
from ..._base.device import DeviceLike
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log-probability of each target and the mean loss; classes are in order of frequency.

    Classes below `cutoffs[0]` are outputs of the head; those between two cutoffs form a cluster,
    whose layer has `div_value` times fewer features than that before it.

    >>> layer = nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[4, 10], div_value=2.0)
    >>> output, loss = layer(torch.zeros(3, 8), torch.tensor([0, 5, 19]))
    >>> output.shape, loss.shape
    (torch.Size([3]), torch.Size([]))
    >>> layer.log_prob(torch.zeros(3, 8)).exp().sum(1).detach()
    tensor([1.0000, 1.0000, 1.0000])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
    ) -> None:
        super().__init__()
        limits = list(cutoffs)
        if not limits:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            limits != sorted(set(limits))
            or limits[0] <= 0
            or limits[-1] > n_classes - 1
            or any(int(limit) != limit for limit in limits)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
                "order, where each value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs: list[int] = [*limits, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size: int = limits[0]
        self.n_clusters: int = len(limits)
        self.head_size: int = self.shortlist_size + self.n_clusters

        def linear(n: int, m: int, bias: bool = False) -> Linear:
            return Linear(n, m, bias=bias, device=device, dtype=dtype)

        self.head: Linear = linear(in_features, self.head_size, head_bias)
        self.tail: ModuleList = ModuleList()
        for i, (low, high) in enumerate(self._clusters(), 1):
            inner = int(in_features // div_value**i)
            self.tail.append(Sequential(linear(in_features, inner), linear(inner, high - low)))

    def _clusters(self) -> list[tuple[int, int]]:
        return list(zip(self.cutoffs, self.cutoffs[1:], strict=False))

    def reset_parameters(self) -> None:
        """Draws the starting values anew."""
        self.head.reset_parameters()
        for cluster in self.tail:
            for layer in cluster.children():
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        batched = target_.dim() > 0
        if batched and input_.shape[0] != target_.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if target_.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if input_.dim() != target_.dim() + 1:
            raise RuntimeError(
                f"{target_.dim()}D target tensor expects {target_.dim() + 1}D input tensors, "
                f"but found inputs with size {input_.size()}"
            )
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        if ((target < 0) | (target >= self.n_classes)).any():
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        # The place of each target in the head: the target's own, or the cluster's.
        in_head = target.clone()
        output = input.new_zeros(target.shape)
        for i, (low, high) in enumerate(self._clusters()):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel():
                in_head[rows] = self.shortlist_size + i
                scores = F.log_softmax(self.tail[i](input.index_select(0, rows)), dim=1)
                picked = scores.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1)
                output = output.index_add(0, rows, picked)
        head = F.log_softmax(self.head(input), dim=1)
        output = output + head.gather(1, in_head.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes: (N, n_classes)."""
        return self._full(input, self.head(input))

    def _full(self, input: Tensor, head: Tensor) -> Tensor:
        head = F.log_softmax(head, dim=1)
        first = self.shortlist_size
        parts = [head[:, :first]]
        for i, layer in enumerate(self.tail):
            parts.append(F.log_softmax(layer(input), dim=1) + head[:, first + i].unsqueeze(1))
        return rl.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most likely class of each sample; clusters that no sample needs are not computed."""
        head = self.head(input)
        best = head.argmax(dim=1)
        beyond = (best >= self.shortlist_size).nonzero().squeeze(1)
        if beyond.numel():
            rest = self._full(input[beyond], head[beyond])
            best[beyond] = rest.argmax(dim=1)
        return best
