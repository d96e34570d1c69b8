"""Adam (Kingma and Ba 2015; AMSGrad: Reddi et al. 2018)."""

from __future__ import annotations

from rushlight import _root as rl
from rushlight._root import Tensor

from .._core import read_number
from ._rules import (
    RuleOptimizer,
    State,
    check_capturable,
    check_options,
    move,
    options,
    real,
    scalar,
)
from .optimizer import Group


class Adam(RuleOptimizer):
    """p -= lr * m / (sqrt(v) + eps), where m and v are running means of the gradient and its
    square, with decay `betas`, corrected for having started at 0.

    `weight_decay` is added to the gradient, or shrinks p itself with `decoupled_weight_decay`;
    `amsgrad` divides by the largest v so far.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adam([x], lr=0.1)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x
    tensor([0.7016, 1.7006], requires_grad=True)
    """

    _newer_options = RuleOptimizer._newer_options | {
        "amsgrad": False,
        "capturable": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }
    _reads_rate = False

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        defaults = options(locals())
        if isinstance(lr, rl.Tensor) and foreach and not capturable:
            raise ValueError(
                "lr as a Tensor is not supported for capturable=False and foreach=True"
            )
        check_options(defaults, "lr eps betas weight_decay")
        if not (
            all(isinstance(beta, float) for beta in betas)
            or all(isinstance(beta, rl.Tensor) for beta in betas)
        ):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            if isinstance(beta, rl.Tensor):
                if foreach and not capturable:
                    raise ValueError(
                        f"betas[{i}] as a Tensor is not supported for capturable=False and "
                        "foreach=True"
                    )
                if beta.numel() != 1:
                    raise ValueError(f"Tensor betas[{i}] must be 1-element")
        super().__init__(params, defaults, "")

    def _check_sparse(self) -> None:
        raise RuntimeError(
            "Adam does not support sparse gradients, please consider SparseAdam instead"
        )

    def _start(self, p: Tensor, group: Group) -> State:
        names = ["exp_avg", "exp_avg_sq"] + ["max_exp_avg_sq"] * group["amsgrad"]
        return {name: rl.zeros_like(p) for name in names}

    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        amsgrad, lr = group["amsgrad"], group["lr"]
        # A rate that is a tensor is divided in its own precision: the plain rule does that.
        if group["differentiable"] or isinstance(lr, rl.Tensor):
            super()._update(group, params, grads)
            return
        if group["capturable"]:
            check_capturable(group, self._capturable_what, self._capturable_where)
        states = [self.state[p] or self._begin(p, group) for p in params]
        if group["capturable"]:
            for p, state in zip(params, states, strict=True):  # those that were loaded
                if state["step"].device != p.device:
                    state["step"] = state["step"].to(p.device)
        done = rl._core.kernels.adam_step(
            params,
            grads,
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [state["max_exp_avg_sq"] for state in states] if amsgrad else None,
            [state["step"] for state in states],
            lr,
            *[scalar(beta) for beta in group["betas"]],
            group["eps"],
            scalar(group["weight_decay"]),
            amsgrad,
            group["maximize"],
            group["decoupled_weight_decay"],
        )
        if done is NotImplemented:
            super()._update(group, params, grads)
        else:
            rl._core.bump_versions(params)

    def _rule(self, p: Tensor, grad: Tensor, state: State, lr: object, group: Group) -> None:
        differentiable = group["differentiable"]
        on_device = differentiable or group["capturable"]  # what depends on the number of the step
        beta1, beta2 = (scalar(beta, differentiable) for beta in group["betas"])
        count = state["step"] if on_device else read_number(state["step"])
        mean, square = real(state["exp_avg"]), real(state["exp_avg_sq"])
        if isinstance(beta1, rl.Tensor):
            mean.lerp_(grad, (1 - beta1).to(mean.dtype))
        else:
            mean.lerp_(grad, 1 - beta1)
        if isinstance(beta2, rl.Tensor):
            square.lerp_(grad.square(), (1 - beta2).to(square.dtype))
        else:
            square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if group["amsgrad"]:
            peak = real(state["max_exp_avg_sq"])
            square = rl.maximum(peak.clone() if differentiable else peak, square)
            peak.copy_(square)
        spread = (square.sqrt() / (1 - beta2**count) ** 0.5).add_(group["eps"])
        rate = group["lr"] / (1 - beta1**count)
        move(p, rate if on_device else scalar(rate), mean, spread)
