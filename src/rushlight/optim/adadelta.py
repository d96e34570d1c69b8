"""Adadelta (Zeiler 2012)."""

from __future__ import annotations

from rushlight import _root as rl
from rushlight._root import Tensor

from ._rules import RuleOptimizer, State, move, options, real
from .optimizer import Group


class Adadelta(RuleOptimizer):
    """p -= lr * d, where d = g * sqrt(u + eps) / sqrt(v + eps); v and u are running means of g and
    of d squared, with decay `rho`.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adadelta([x], lr=0.1)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x
    tensor([0.9990, 1.9990], requires_grad=True)
    """

    _newer_options = RuleOptimizer._newer_options | {"capturable": False}
    _capturable_where = ("cuda", "xpu", "hpu", "privateuseone")

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, options(locals()), "lr rho eps weight_decay")

    def _start(self, p: Tensor, group: Group) -> State:
        return {"square_avg": rl.zeros_like(p), "acc_delta": rl.zeros_like(p)}

    def _rule(self, p: Tensor, grad: Tensor, state: State, lr: object, group: Group) -> None:
        rho, eps = group["rho"], group["eps"]
        square, moved = real(state["square_avg"]), real(state["acc_delta"])
        square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        spread = square.add(eps).sqrt_()
        change = moved.add(eps).sqrt_().div(spread).mul(grad)
        moved.mul_(rho).addcmul_(change, change, value=1 - rho)
        move(p, lr, change)
