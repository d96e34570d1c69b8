"""Muon (Jordan et al. 2024): momentum whose matrix is made orthogonal."""

from __future__ import annotations

from rushlight import _root as rl
from rushlight._root import Tensor

from ._rules import FusedOptimizer, check_one_element, options, scalar
from .optimizer import Group

_ADJUSTMENTS = ("original", "match_rms_adamw")


class Muon(FusedOptimizer):
    """p -= lr * O, where O is the running mean of the gradient (of `nesterov` momentum) with all
    its singular values made about 1. For matrices only.

    `ns_coefficients`, `ns_steps`, `eps`: of the iteration that computes O. `adjust_lr_fn`: how the
    rate depends on the shape, "original" (the default) or "match_rms_adamw". p shrinks by
    `lr * weight_decay` first.

    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> optimizer = torch.optim.Muon([x], lr=0.5, weight_decay=0.0)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> bool((x.grad * x).sum() < 60)
    True
    """

    _newer_options = {}  # noqa: RUF012

    def __init__(
        self,
        params: object,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        defaults = options(locals())
        check_one_element(lr)
        for name, value in (
            ("Learning rate", lr),
            ("momentum", momentum),
            ("weight decay", weight_decay),
        ):
            if not value >= 0.0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn is not None and adjust_lr_fn not in _ADJUSTMENTS:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, defaults, "")
        for group in self.param_groups:
            for p in group["params"]:
                if p.dim() != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with size: "
                        f"{p.shape}"
                    )

    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        lr, decay, momentum = scalar(group["lr"]), group["weight_decay"], group["momentum"]
        if any(p.is_complex() for p in params):
            raise RuntimeError("Muon does not support complex parameters")
        with rl.no_grad():
            for p, grad in zip(params, grads, strict=True):
                state = self.state[p]
                if not state:
                    state["momentum_buffer"] = rl.zeros_like(grad)
                mean = state["momentum_buffer"].lerp_(grad, 1 - momentum)
                along = _orthogonal(grad.lerp(mean, momentum) if group["nesterov"] else mean, group)
                rows, columns = p.shape
                if group["adjust_lr_fn"] == "match_rms_adamw":
                    rate = lr * 0.2 * max(rows, columns) ** 0.5
                else:
                    rate = lr * max(1, rows / columns) ** 0.5
                p.mul_(1 - lr * decay).add_(along, alpha=-rate)


def _orthogonal(matrix: Tensor, group: Group) -> Tensor:
    """About U V^T of the matrix U S V^T, in bfloat16, by Newton and Schulz's iteration."""
    a, b, c = _coefficients(group)
    wide = matrix.shape[0] <= matrix.shape[1]
    x = (matrix if wide else matrix.T).bfloat16()
    x = (x / x.norm().clamp(min=group["eps"])).float()
    for _ in range(group["ns_steps"]):
        gram = _rounded(x @ x.T)
        factor = _rounded((gram @ gram).mul_(c).add_(gram, alpha=b))
        x = _rounded((factor @ x).add_(x, alpha=a))
    return (x if wide else x.T).to(matrix.dtype)


def _rounded(matrix: Tensor) -> Tensor:
    """To bfloat16, but held in float32, whose products are faster and sum in the same precision."""
    return matrix.bfloat16().float()


def _coefficients(group: Group) -> tuple[float, float, float]:
    """The polynomial's coefficients; raises where the iteration's options do not fit."""
    if group["ns_steps"] >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(group["ns_coefficients"]) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = group["ns_coefficients"]
    return a, b, c
