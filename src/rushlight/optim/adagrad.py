"""Adagrad (Duchi, Hazan and Singer 2011)."""

from __future__ import annotations

from typing import Any

from rushlight._root import Tensor

from .._core import read_number
from ._rules import (
    RuleOptimizer,
    State,
    full_like,
    move,
    options,
    real,
    root,
    same_places,
)
from .optimizer import Group


class Adagrad(RuleOptimizer):
    """p -= lr' * g / (sqrt(sum of g squared) + eps), lr' = lr / (1 + (step - 1) * lr_decay).

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adagrad([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    _newer_options = RuleOptimizer._newer_options | {"fused": None}

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, options(locals()), "lr lr_decay weight_decay initial_accumulator_value eps"
        )
        for group in self.param_groups:
            for p in group["params"]:
                self._begin(p, group)

    def share_memory(self) -> None:
        """Moves the accumulators to shared memory."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _start(self, p: Tensor, group: Group) -> State:
        return {"sum": full_like(p, group["initial_accumulator_value"])}

    def _check_sparse(self) -> None:
        if any(group["weight_decay"] != 0 for group in self.param_groups):
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")

    def _rule(self, p: Tensor, grad: Tensor, state: State, lr: Any, group: Group) -> None:
        decay = group["lr_decay"]
        rate = lr if decay == 0 else lr / (1 + (read_number(state["step"]) - 1) * decay)
        if type(grad) is not Tensor and grad.is_sparse:
            grad = grad.coalesce()
            state["sum"].add_(grad.pow(2))
            spread = state["sum"].sparse_mask(grad)._values().sqrt_().add_(group["eps"])
            p.add_(same_places(grad, grad._values() / spread), alpha=-rate)
            return
        total = real(state["sum"])
        total.addcmul_(grad, grad)
        move(p, rate, grad, root(total, group["eps"], group["differentiable"]))
