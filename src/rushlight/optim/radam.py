"""RAdam: rectified Adam (Liu et al. 2020)."""

from __future__ import annotations

from rushlight import _root as rl
from rushlight._root import Tensor

from .._core import read_number
from ._rules import RuleOptimizer, State, move, options, real, root
from .optimizer import Group


class RAdam(RuleOptimizer):
    """Adam whose step is shortened while few gradients were seen; in the very first steps, plain
    momentum.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.RAdam([x], lr=0.1)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x
    tensor([0.4623, 0.9246], requires_grad=True)
    """

    _newer_options = RuleOptimizer._newer_options | {
        "capturable": False,
        "decoupled_weight_decay": False,
    }

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, options(locals()), "lr eps betas weight_decay")

    def _start(self, p: Tensor, group: Group) -> State:
        return {"exp_avg": rl.zeros_like(p), "exp_avg_sq": rl.zeros_like(p)}

    def _rule(self, p: Tensor, grad: Tensor, state: State, lr: object, group: Group) -> None:
        beta1, beta2 = group["betas"]
        count = read_number(state["step"])
        mean, square = real(state["exp_avg"]), real(state["exp_avg_sq"])
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        rate = lr / (1 - beta1**count)
        # The length of the moving average: of a long one, and of the one so far.
        unseen = 1 - beta2**count
        long = 2 / (1 - beta2) - 1
        length = long - 2 * count * beta2**count / unseen
        if length > 5:
            so_far = (length - 4) * (length - 2) / length
            rectified = (so_far * long / ((long - 4) * (long - 2))) ** 0.5
            spread = root(square, group["eps"], group["differentiable"])
            move(p, rate * rectified * unseen**0.5, mean, spread)
        else:
            move(p, rate, mean)
