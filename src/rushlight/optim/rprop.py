"""Resilient backpropagation (Riedmiller and Braun 1993)."""

from __future__ import annotations

from rushlight import _root as rl
from rushlight._root import Tensor

from ._rules import RuleOptimizer, State, full_like, options, real, scalar
from .optimizer import Group


class Rprop(RuleOptimizer):
    """p -= step * sign(g), where each entry has a step of its own: times `etas[1]` as long as its
    gradient keeps its sign, times `etas[0]` (and no move) where the sign has changed.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.Rprop([x], lr=0.1)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x
    tensor([0.6360, 1.6360], requires_grad=True)
    """

    _newer_options = RuleOptimizer._newer_options | {"capturable": False}

    _reads_rate = False

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, options(locals()), "lr etas")

    def _start(self, p: Tensor, group: Group) -> State:
        return {"prev": rl.zeros_like(p), "step_size": full_like(p, scalar(group["lr"]))}

    def _rule(self, p: Tensor, grad: Tensor, state: State, lr: object, group: Group) -> None:
        less, more = group["etas"]
        before, size = real(state["prev"]), real(state["step_size"])
        factor = grad * (before.clone() if group["differentiable"] else before)
        kept, turned, still = factor > 0, factor < 0, factor == 0
        factor.masked_fill_(kept, more).masked_fill_(turned, less).masked_fill_(still, 1)
        size.mul_(factor).clamp_(*group["step_sizes"])
        grad = grad.masked_fill(turned, 0)
        p.addcmul_(grad.sign(), size, value=-1)
        before.copy_(grad)
