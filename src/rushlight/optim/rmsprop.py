"""RMSprop (Tieleman and Hinton 2012)."""

from __future__ import annotations

from rushlight import _root as rl
from rushlight._root import Tensor

from ._rules import RuleOptimizer, State, move, options, real, root
from .optimizer import Group


class RMSprop(RuleOptimizer):
    """p -= lr * g / (sqrt(v) + eps), v a running mean of g squared with decay `alpha`, through
    momentum.

    `centered` takes the variance instead: v minus the square of the running mean of g.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.RMSprop([x], lr=0.01)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    _newer_options = RuleOptimizer._newer_options | {
        "momentum": 0,
        "centered": False,
        "capturable": False,
    }

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, options(locals()), "lr eps momentum weight_decay alpha")

    def _start(self, p: Tensor, group: Group) -> State:
        names = ["square_avg"]
        if group["momentum"] > 0:
            names.append("momentum_buffer")
        if group["centered"]:
            names.append("grad_avg")
        return {name: rl.zeros_like(p) for name in names}

    def _rule(self, p: Tensor, grad: Tensor, state: State, lr: object, group: Group) -> None:
        alpha, square = group["alpha"], real(state["square_avg"])
        square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = real(state["grad_avg"])
            mean.lerp_(grad, 1 - alpha)
            square = square.addcmul(mean, mean, value=-1)
        spread = root(square, group["eps"], group["differentiable"])
        if group["momentum"] > 0:
            buffer = real(state["momentum_buffer"])
            buffer.mul_(group["momentum"]).addcdiv_(grad, spread)
            move(p, lr, buffer)
        else:
            move(p, lr, grad, spread)
