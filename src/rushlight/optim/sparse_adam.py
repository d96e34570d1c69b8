"""SparseAdam: Adam that moves only what a sparse gradient names."""

from __future__ import annotations

from typing import Any

from rushlight import _root as rl
from rushlight._root import Tensor

from ._rules import FusedOptimizer, options, scalar
from .optimizer import Group, Optimizer, State


class SparseAdam(FusedOptimizer):
    """Adam for sparse gradients: means and parameters change where the gradient has values.

    Dense gradients are refused, as PyTorch does.

    >>> table = nn.Embedding(3, 2, sparse=True, _weight=torch.ones(3, 2))
    >>> optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
    >>> table(torch.tensor([1])).sum().backward()
    >>> optimizer.step()
    >>> table.weight
    Parameter containing:
    tensor([[1.0000, 1.0000],
            [0.9000, 0.9000],
            [1.0000, 1.0000]], requires_grad=True)
    """

    _newer_options = {"maximize": False}  # noqa: RUF012

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, options(locals()), "lr eps betas")
        sparse = self._where(lambda p: p.is_sparse)
        if sparse:
            raise ValueError(
                f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors"
            )
        found = self._where(lambda p: p.is_complex())
        if found:
            raise ValueError(
                f"Complex params at indices {found}: SparseAdam does not support complex parameters"
            )

    def __setstate__(self, state: State) -> None:
        Optimizer.__setstate__(self, state)  # steps are counted in Python numbers

    def _where(self, holds: Any) -> list[list[int]]:
        return [
            [i, j]
            for i, group in enumerate(self.param_groups)
            for j, p in enumerate(group["params"])
            if holds(p)
        ]

    def _check_sparse(self) -> None:
        pass

    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        if not all(grad.is_sparse for grad in grads):
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam instead"
            )
        beta1, beta2 = group["betas"]
        lr = scalar(group["lr"])
        with rl.no_grad():
            for p, sparse in zip(params, grads, strict=True):
                state = self.state[p]
                if not state:
                    state.update(step=0, exp_avg=rl.zeros_like(p), exp_avg_sq=rl.zeros_like(p))
                state["step"] += 1
                grad: Any = (-sparse if group["maximize"] else sparse).coalesce()
                if not grad._nnz():
                    continue
                values, at = grad._values(), tuple(grad._indices())
                moments = []
                for name, beta, now in (
                    ("exp_avg", beta1, values),
                    ("exp_avg_sq", beta2, values.pow(2)),
                ):
                    old = state[name][at]
                    change = now.sub(old).mul_(1 - beta)
                    state[name].index_put_(at, change, accumulate=True)
                    moments.append(change.add_(old))
                first, second = moments
                count = state["step"]
                rate = lr * (1 - beta2**count) ** 0.5 / (1 - beta1**count)
                step = first.mul_(-rate).div_(second.sqrt_().add_(group["eps"]))
                p.index_put_(at, step, accumulate=True)
