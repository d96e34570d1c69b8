"""Adam and AdamW (Kingma and Ba 2015; Loshchilov and Hutter 2019; AMSGrad: Reddi et al. 2018)."""

from __future__ import annotations

from typing import Any

from rushlight import _root as rl
from rushlight._root import Tensor

from .optimizer import (
    FusedOptimizer,
    Group,
    check_capturable,
    check_fused,
    check_lr,
    check_not_negative,
    decayed,
    move,
    new_count,
    real,
    scalar,
)


class Adam(FusedOptimizer):
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

    _newer_options = FusedOptimizer._newer_options | {
        "amsgrad": False,
        "capturable": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }

    def __init__(
        self,
        params: Any,
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
        check_lr(lr, foreach, capturable)
        check_not_negative(epsilon=eps)
        for i in range(2):
            if not 0.0 <= betas[i] < 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")
        check_not_negative(weight_decay=weight_decay)
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
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for p in group["params"]:
                own = self.state.get(p)
                if own and not isinstance(own["step"], rl.Tensor):
                    own["step"] = rl.tensor(float(own["step"]), dtype=rl.float32)

    def _start(self, p: Tensor, amsgrad: bool) -> Any:
        """The state of a parameter that has not been stepped yet."""
        state = self.state[p]
        state["step"] = new_count()
        state["exp_avg"] = rl.zeros_like(p)
        state["exp_avg_sq"] = rl.zeros_like(p)
        if amsgrad:
            state["max_exp_avg_sq"] = rl.zeros_like(p)
        return state

    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        amsgrad, differentiable = group["amsgrad"], group["differentiable"]
        if group["capturable"]:
            check_capturable(group)
        beta1, beta2 = group["betas"]
        lr, beta1 = group["lr"], scalar(beta1, differentiable)
        beta2 = scalar(beta2, differentiable)
        states = [self.state[p] or self._start(p, amsgrad) for p in params]
        steps = [state["step"] for state in states]
        means = [state["exp_avg"] for state in states]
        squares = [state["exp_avg_sq"] for state in states]
        largest = [state["max_exp_avg_sq"] for state in states] if amsgrad else None

        # A rate that is a tensor is divided in its own precision: the plain rule does that.
        if not (differentiable or isinstance(lr, rl.Tensor)):
            done = rl._core.kernels.adam_step(
                params,
                grads,
                means,
                squares,
                largest,
                steps,
                lr,
                beta1,
                beta2,
                group["eps"],
                group["weight_decay"],
                amsgrad,
                group["maximize"],
                group["decoupled_weight_decay"],
            )
            if done is not NotImplemented:
                rl._core.bump_versions(params)
                return

        with rl.set_grad_enabled(differentiable):
            for i, p in enumerate(params):
                peak = None if largest is None else largest[i]
                _adam_one(
                    p, grads[i], means[i], squares[i], peak, steps[i], lr, beta1, beta2, group
                )


def _adam_one(
    p: Tensor,
    grad: Tensor,
    mean: Tensor,
    square: Tensor,
    peak: Tensor | None,
    step: Tensor,
    lr: Any,
    beta1: Any,
    beta2: Any,
    group: Group,
) -> None:
    """The rule for one parameter, in tensor operations.

    Where the step is differentiable, what its derivative needs is copied: the next step writes it.
    """
    differentiable = group["differentiable"]
    decay = scalar(group["weight_decay"], differentiable)
    if group["maximize"]:
        grad = -grad
    step += 1
    count = step.clone() if differentiable else step.item()
    if not group["decoupled_weight_decay"]:
        grad = decayed(grad, p, decay)
    elif isinstance(decay, rl.Tensor) or decay != 0:
        p.mul_(1 - lr * decay)
    p, grad, mean, square = real(p), real(grad), real(mean), real(square)
    if isinstance(beta1, rl.Tensor):
        mean.lerp_(grad, (1 - beta1).to(mean.dtype))
    else:
        mean.lerp_(grad, 1 - beta1)
    if isinstance(beta2, rl.Tensor):
        square.lerp_(grad.square(), (1 - beta2).to(square.dtype))
    else:
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    if peak is not None:
        peak = real(peak)
        both = (peak.clone(), square.clone()) if differentiable else (peak, square)
        peak.copy_(rl.maximum(*both))
        square = peak
    spread = (square.sqrt() / (1 - beta2**count) ** 0.5).add_(group["eps"])
    rate = lr / (1 - beta1**count)
    if differentiable:
        move(p, rate, mean.clone(), spread)
    else:
        move(p, scalar(rate), mean, spread)


class AdamW(Adam):
    """Adam with weight decay apart from the gradient: p shrinks by `lr * weight_decay` first.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.AdamW([x], lr=0.1, weight_decay=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.8500, 1.8000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
