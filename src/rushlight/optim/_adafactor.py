"""Adafactor (Shazeer and Stern 2018)."""

from __future__ import annotations

from rushlight import _root as rl
from rushlight._root import Tensor

from .._core import compute, read_number
from ._rules import RuleOptimizer, State, check_one_element, options
from .optimizer import Group


class Adafactor(RuleOptimizer):
    """A step of about `lr` times the size of p, along g / sqrt(v); of a matrix v, the running mean
    of g squared, only the means of rows and columns are kept.

    `eps`: the least sqrt(v) (None: that of the element type), and the least size of p. `d`: the
    longest step, in root mean square.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adafactor([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.8419, 1.8419], requires_grad=True)
    """

    _newer_options = {"foreach": None}  # noqa: RUF012
    _decays_itself = True

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        defaults = options(locals())
        check_one_element(lr)
        for fits, text in (
            (lr >= 0.0, f"Learning rate should be >= 0 but is: {lr}"),
            (beta2_decay <= 0.0, f"beta2_decay should be <= 0 but is: {beta2_decay}"),
            (eps[0] is None or eps[0] >= 0.0, f"epsilon1 should be >= 0 but is: {eps[0]}"),
            (eps[1] >= 0.0, f"epsilon2 should be >= 0 but is: {eps[1]}"),
            (d >= 1.0, f"Clipping threshold d should be >= 1 but is: {d}"),
            (weight_decay >= 0.0, f"weight_decay should be >= 0 but is: {weight_decay}"),
        ):
            if not fits:
                raise ValueError(text)
        super().__init__(params, defaults, "")

    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        if any(p.is_complex() for p in params):
            raise RuntimeError("Adafactor does not support complex parameters")
        super()._update(group, params, grads)

    def _start(self, p: Tensor, group: Group) -> State:
        if p.dim() < 2:
            return {"variance": rl.zeros_like(p)}
        rows, columns = p.shape[-2:]
        return {
            "row_var": p.new_zeros((*p.shape[:-2], rows, 1)),
            "col_var": p.new_zeros((*p.shape[:-2], 1, columns)),
        }

    def _rule(self, p: Tensor, grad: Tensor, state: State, lr: object, group: Group) -> None:
        least_root, least_size = group["eps"]
        if least_root is None:
            least_root = rl.finfo(p.dtype).eps
        count = read_number(state["step"])
        new = count ** group["beta2_decay"]  # the weight of the present gradient in the means
        rate = compute(max, least_size, _size(p)) * compute(min, lr, count**-0.5)
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        square = grad * grad
        if "variance" in state:
            spread = state["variance"].lerp_(square, new).sqrt()
        else:
            rows = state["row_var"].lerp_(square.mean(-1, keepdim=True), new)
            columns = state["col_var"].lerp_(square.mean(-2, keepdim=True), new)
            whole = rows.mean(-2, keepdim=True).clamp_(min=least_root)
            spread = (rows @ columns).div_(whole).sqrt_()
        along = grad / spread.clamp_(min=least_root)
        p.add_(along, alpha=-rate / compute(max, 1.0, _size(along) / group["d"]))


def _size(tensor: Tensor) -> float:
    """The root mean square."""
    norm: float = read_number(tensor.norm())
    return norm / tensor.numel() ** 0.5
