"""NAdam: Adam with Nesterov's momentum (Dozat 2016)."""

from __future__ import annotations

from rushlight import _root as rl
from rushlight._root import Tensor

from .._core import read_number
from ._rules import RuleOptimizer, State, move, number_of_state, options, real
from .optimizer import Group


class NAdam(RuleOptimizer):
    """Adam with the momentum of the next step: p -= lr * (a * g + b * m) / (sqrt(v) + eps), where
    the weights a and b follow from momenta that grow to `betas[0]` by `momentum_decay`.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.NAdam([x], lr=0.1)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x
    tensor([0.7527, 1.7475], requires_grad=True)
    """

    _newer_options = RuleOptimizer._newer_options | {
        "capturable": False,
        "decoupled_weight_decay": False,
    }
    _capturable_what = "params, mu_products and state_steps"

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, options(locals()), "lr eps betas weight_decay momentum_decay")

    def _start(self, p: Tensor, group: Group) -> State:
        means = {"exp_avg": rl.zeros_like(p), "exp_avg_sq": rl.zeros_like(p)}
        return {"mu_product": number_of_state(1.0), **means}

    def _rule(self, p: Tensor, grad: Tensor, state: State, lr: object, group: Group) -> None:
        beta1, beta2 = group["betas"]
        count = read_number(state["step"])
        mu, next_mu = (
            beta1 * (1 - 0.5 * 0.96 ** (n * group["momentum_decay"])) for n in (count, count + 1)
        )
        product = read_number(state["mu_product"].mul_(mu))
        mean, square = real(state["exp_avg"]), real(state["exp_avg_sq"])
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        spread = square.div(1 - beta2**count).sqrt_()
        # The root's derivative needs its result, which then may not be written.
        spread = spread + group["eps"] if group["differentiable"] else spread.add_(group["eps"])
        move(p, lr * (1 - mu) / (1 - product), grad, spread)
        move(p, lr * next_mu / (1 - product * next_mu), mean, spread)
