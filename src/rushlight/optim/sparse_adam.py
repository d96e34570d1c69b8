"""SparseAdam: Adam for sparse gradients, which this library does not have."""

from __future__ import annotations

from typing import Any

from rushlight._root import Tensor

from ._rules import FusedOptimizer, options
from .optimizer import Group


class SparseAdam(FusedOptimizer):
    """Adam for sparse gradients: refuses dense ones, as PyTorch does.

    There are no sparse tensors yet, so a step with any gradient raises RuntimeError.

    >>> optimizer = torch.optim.SparseAdam([torch.zeros(2, requires_grad=True)])
    >>> optimizer.step()
    >>> optimizer.defaults["betas"]
    (0.9, 0.999)
    """

    _newer_options = {"maximize": False}  # noqa: RUF012

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, options(locals()), "lr eps betas")
        found = [
            [i, j]
            for i, group in enumerate(self.param_groups)
            for j, p in enumerate(group["params"])
            if p.is_complex()
        ]
        if found:
            raise ValueError(
                f"Complex params at indices {found}: SparseAdam does not support complex parameters"
            )

    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        raise RuntimeError(
            "SparseAdam does not support dense gradients, please consider Adam instead"
        )
