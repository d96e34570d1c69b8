"""L-BFGS (Nocedal and Wright 2006, chapter 7.2), with a line search for Wolfe's strong conditions
(chapter 3.5) that guesses by cubic interpolation, as in Schmidt's minFunc.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rushlight import _root as rl
from rushlight._root import Tensor

from ._rules import check_options, options, real, scalar
from .optimizer import Closure, Optimizer, State


class LBFGS(Optimizer):
    """Steps along -H g, where H, about the inverse of the second derivative, follows from the last
    `history_size` changes of parameters and gradient.

    `step` needs a closure: it runs up to `max_iter` iterations and calls the closure up to
    `max_eval` times (default: 1.25 * max_iter). It ends early where no entry of the gradient is
    above `tolerance_grad`, or parameters or loss change by less than `tolerance_change`.
    `line_search_fn`: None, which goes `lr` times the direction, or "strong_wolfe".

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([x], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((x - 3) ** 4).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure)
    tensor(17., grad_fn=<SumBackward0>)
    >>> bool(closure() < 1e-4)
    True
    """

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        defaults = options(locals())
        check_options(defaults, "lr")
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        params: list[Tensor] = self.param_groups[0]["params"]
        return params

    def step(self, closure: Closure) -> Any:  # type: ignore[override]
        """Minimizes for some iterations; `closure` computes the loss anew and returns it.

        Returns the loss before them.
        """
        with rl.no_grad():
            return self._minimize(rl.enable_grad()(closure))

    def _minimize(self, closure: Closure) -> object:
        group = self.param_groups[0]
        lr, smallest = scalar(group["lr"]), group["tolerance_change"]
        max_iter, max_eval = group["max_iter"], group["max_eval"]
        search = group["line_search_fn"]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first_loss = closure()
        loss = float(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        grad = self._flat_grad()
        if _largest(grad) <= group["tolerance_grad"]:
            return first_loss
        for iteration in range(1, max_iter + 1):
            state["n_iter"] += 1
            direction = self._direction(state, grad, group["history_size"])
            state["prev_flat_grad"], state["prev_loss"] = grad.clone(), loss
            # The first direction has the gradient's length, which says little about the distance.
            length = lr
            if state["n_iter"] == 1:
                length = min(1.0, (1.0 / grad.abs().sum()).item()) * lr
            state["d"], state["t"] = direction, length
            slope = _dot(grad, direction)
            if slope > -smallest:
                break
            calls = 0
            if search is not None:
                if search != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                start = [p.clone() for p in self._params]

                def at(
                    length: float, start: list[Tensor] = start, direction: Tensor = direction
                ) -> Point:
                    self._go(length, direction)
                    value = float(closure())
                    grad = self._flat_grad()
                    for p, old in zip(self._params, start, strict=True):
                        p.copy_(old)
                    return Point(length, value, grad, _dot(grad, direction))

                here = Point(0, loss, grad, slope)
                reach, most = _largest(direction), min(25, max_eval - evaluations)
                found, calls = _strong_wolfe(at, here, length, reach, smallest, most)
                length, loss, grad = found.length, found.loss, found.grad
                state["t"] = length
                self._go(length, direction)
            else:
                self._go(length, direction)
                if iteration != max_iter:  # the next step computes it anyway
                    loss = float(closure())
                    grad = self._flat_grad()
                    calls = 1
            evaluations += calls
            state["func_evals"] += calls
            if (
                evaluations >= max_eval
                or _largest(grad) <= group["tolerance_grad"]
                or _largest(direction) * abs(length) <= smallest
                or abs(loss - state["prev_loss"]) < smallest
            ):
                break
        return first_loss

    def _direction(self, state: State, grad: Tensor, history_size: int) -> Tensor:
        """-H g by the two loops over the history, to which the last step is added first."""
        if state["n_iter"] == 1:
            # In the order of PyTorch's files.
            state.update(al=[None] * history_size, d=None, t=None)
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return grad.neg()
        changes, steps, curvatures = state["old_dirs"], state["old_stps"], state["ro"]
        change, step = grad.sub(state["prev_flat_grad"]), state["d"].mul(state["t"])
        curvature = change.dot(step)
        if curvature.item() > 1e-10:
            if len(changes) == history_size:
                for history in (changes, steps, curvatures):
                    history.pop(0)
            changes.append(change)
            steps.append(step)
            curvatures.append(1.0 / curvature)
            state["H_diag"] = curvature / change.dot(change)
        weights = state.setdefault("al", [None] * history_size)  # a file may have none
        along = grad.neg()
        for i in reversed(range(len(changes))):
            weights[i] = steps[i].dot(along) * curvatures[i]
            along.add_(changes[i], alpha=-weights[i].item())
        along.mul_(state["H_diag"])
        for i, change in enumerate(changes):
            again = change.dot(along) * curvatures[i]
            along.add_(steps[i], alpha=(weights[i] - again).item())
        return along

    def _flat_grad(self) -> Tensor:
        """The gradients of all parameters in one vector; 0 where a parameter has none."""
        return rl.cat(
            [
                real(rl.zeros_like(p) if g is None else g.to_dense() if g.is_sparse else g).reshape(
                    -1
                )
                for p in self._params
                for g in (p.grad,)
            ]
        )

    def _go(self, length: float, direction: Tensor) -> None:
        """Moves the parameters along the direction."""
        start = 0
        for p in self._params:
            parts = real(p)
            end = start + parts.numel()
            parts.add_(direction[start:end].view_as(parts), alpha=length)
            start = end


def _dot(a: Tensor, b: Tensor) -> float:
    result: float = a.dot(b).item()
    return result


def _largest(vector: Tensor) -> float:
    result: float = vector.abs().max().item()
    return result


class Point(NamedTuple):
    """A point on the line: how far along the direction, loss, gradient, and its part along it."""

    length: float
    loss: float
    grad: Tensor
    slope: float


def _strong_wolfe(
    at: Callable[[float], Point],
    start: Point,
    length: float,
    reach: float,
    smallest: float,
    most: int,
    enough: float = 1e-4,
    flat: float = 0.9,
) -> tuple[Point, int]:
    """A point that is lower by `enough` of what the slope promises and whose slope is at most
    `flat` of it, or the lowest seen; and how often the loss was computed.

    `reach`: the direction's largest entry; `most`: how many points may be tried after the first.
    """

    def too_high(point: Point) -> bool:
        return point.loss > start.loss + enough * point.length * start.slope

    def is_flat(point: Point) -> bool:
        return abs(point.slope) <= -flat * start.slope

    # Go on until a minimum lies between two points.
    before, point = start, at(length)
    rounds = 0
    while rounds < most:
        if too_high(point) or (rounds > 1 and point.loss >= before.loss):
            break
        if is_flat(point):
            return point, rounds + 1
        if point.slope >= 0:
            break
        least = point.length + 0.01 * (point.length - before.length)
        guess = _cubic_minimum(before, point, least, point.length * 10)
        before, point = point, at(guess)
        rounds += 1
    else:
        before = start
    low, high = (before, point) if before.loss <= point.loss else (point, before)

    # Narrow the interval; a guess close to its ends twice is moved away from them.
    close_before = False
    while rounds < most and abs(high.length - low.length) * reach >= smallest:
        left, right = sorted((low.length, high.length))
        guess = _cubic_minimum(low, high, left, right)
        margin = 0.1 * (right - left)
        if min(right - guess, guess - left) >= margin:
            close_before = False
        elif close_before or guess >= right or guess <= left:
            near_right = abs(guess - right) < abs(guess - left)
            guess = right - margin if near_right else left + margin
            close_before = False
        else:
            close_before = True
        point = at(guess)
        rounds += 1
        if too_high(point) or point.loss >= low.loss:
            high = point
            if high.loss < low.loss:
                low, high = high, low
            continue
        if is_flat(point):
            return point, rounds + 1
        if point.slope * (high.length - low.length) >= 0:
            high = low
        low = point
    return low, rounds + 1


def _cubic_minimum(one: Point, other: Point, least: float, most: float) -> float:
    """Where the cubic with these values and slopes is smallest, held between two bounds.

    Nocedal and Wright, equation 3.59.
    """
    left, right = (one, other) if one.length <= other.length else (other, one)
    width = right.length - left.length
    if width == 0:
        return (least + most) / 2
    first = left.slope + right.slope - 3 * (right.loss - left.loss) / width
    square = first * first - left.slope * right.slope
    if not square >= 0:
        return (least + most) / 2
    second = square**0.5
    below = right.slope - left.slope + 2 * second
    if below == 0:
        return (least + most) / 2
    guess = right.length - width * (right.slope + second - first) / below
    return min(max(guess, least), most)
