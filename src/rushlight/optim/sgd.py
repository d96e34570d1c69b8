"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import Any

from rushlight import _root as rl
from rushlight._root import Tensor

from ._rules import FusedOptimizer, check_options, decayed, move, options, scalar
from .optimizer import Group


class SGD(FusedOptimizer):
    """p -= lr * g, where g is the gradient plus `weight_decay * p`, run through momentum:
    buf = momentum * buf + (1 - dampening) * g, and g = buf, or g + momentum * buf with `nesterov`.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([x], lr=0.1, momentum=0.9)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x
    tensor([0.4600, 0.9200], requires_grad=True)
    """

    _newer_options = FusedOptimizer._newer_options | {"nesterov": False, "fused": None}

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = options(locals())
        check_options(defaults, "lr momentum weight_decay")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, defaults, "")

    def _check_sparse(self) -> None:
        pass  # the rule below needs sums and products with numbers only

    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        differentiable = group["differentiable"]
        lr = scalar(group["lr"], differentiable)
        momentum = group["momentum"]
        dampening = group["dampening"]
        decay = scalar(group["weight_decay"], differentiable)
        nesterov = group["nesterov"]
        maximize = group["maximize"]
        buffers: list[Any] = []
        if momentum != 0:
            buffers = [self.state[p].get("momentum_buffer") for p in params]

        if not differentiable:
            kept = list(buffers)
            done = rl._core.kernels.sgd_step(
                params,
                grads,
                kept if momentum != 0 else None,
                lr,
                momentum,
                dampening,
                decay,
                nesterov,
                maximize,
            )
            if done is not NotImplemented:
                for p, buffer, made in zip(params, buffers, kept, strict=False):
                    if buffer is None:  # in its first step a parameter gets its buffer
                        self.state[p]["momentum_buffer"] = made
                rl._core.bump_versions(params)
                return

        with rl.set_grad_enabled(differentiable):
            for i, (p, grad) in enumerate(zip(params, grads, strict=True)):
                if maximize:
                    grad = -grad
                grad = decayed(grad, p, decay)
                if momentum != 0:
                    buffer = buffers[i]
                    if buffer is None:
                        buffer = self.state[p]["momentum_buffer"] = grad.detach().clone()
                    else:
                        buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
                    grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
                move(p, lr, grad)
