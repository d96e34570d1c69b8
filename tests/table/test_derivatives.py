"""First and second derivatives of every op against central differences along one random direction.

For outputs y = f(x) and random w, L(x) = <w, y>. The op's rule gives the gradient of L, and
<gradient, u> must be the slope of L along a random u: two evaluations for any number of elements.
The second test does the same with x, w -> gradient in the place of f. That is double backward; and
as the gradient is linear in w, its derivative by w is the op's forward-mode derivative.

There is no list of exceptions here. A sample at a kink of its op is a mistake in the sample.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from cases import (
    DIFFERENTIABLE,
    NO_DERIVATIVE,
    NOT_RECORDED,
    OF_FACTOR,
    SYMMETRIC,
    UP_TO_PHASE,
    Call,
    calls,
    each,
    inner,
    is_inexact,
    noise,
    takes,
    tensor_of,
)

import rushlight as torch

STEP = 1e-5
TOLERANCE = 2e-6

Arrays = list[np.ndarray]

CASES = [(n, d) for n in DIFFERENTIABLE for d in ("float64", "complex128") if takes(n, d)]


def tensors(arrays: Arrays, requires_grad: bool = False) -> list[torch.Tensor]:
    made = [tensor_of(np.array(a)) for a in arrays]
    return [t.requires_grad_() for t in made] if requires_grad else made


def outputs_of(call: Call, leaves: list[torch.Tensor]) -> list[torch.Tensor]:
    outputs = call.replaced(leaves).outputs()
    if call.name in UP_TO_PHASE:
        return [o.abs() if o.is_complex() else o for o in outputs]
    return outputs


def slope(f: Callable[[Arrays], float], at: Arrays, along: Arrays) -> float:
    """The derivative of f along a direction, by central differences."""

    def moved(by: float) -> Arrays:
        # In an array of the same strides: some functions read them.
        return [np.add(a, by * d, out=np.empty_like(a)) for a, d in zip(at, along, strict=True)]

    return (f(moved(STEP)) - f(moved(-STEP))) / (2 * STEP)


def pairing(one: list[torch.Tensor | None], other: Arrays) -> float:
    """<one, other>; None is zeros."""
    return sum(inner(t._array, a) for t, a in zip(one, other, strict=True) if t is not None)


class Problem:
    """A call with the random w that make its outputs a number, and a random direction u."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.rng = np.random.default_rng(3)
        self.at = [call.tensors[i]._array for i in call.leaves]
        leaves = tensors(self.at, requires_grad=True)
        every = outputs_of(call, leaves)
        # Of several results some may have no gradient by their nature: indices, statistics.
        self.which = [i for i, o in enumerate(every) if o.requires_grad]
        inexact = [o for o in every if is_inexact(o)]
        assert self.which or not (leaves and inexact), f"no result of {call!r} has a gradient"
        self.w = [noise(every[i]._array, self.rng) for i in self.which]
        self.u = self.direction(self.at)

    def direction(self, arrays: Arrays) -> Arrays:
        found = [noise(a, self.rng) for a in arrays]
        if self.call.name in SYMMETRIC:
            found[0] = found[0] + np.conj(np.swapaxes(found[0], -1, -2))
        if self.call.name in OF_FACTOR:
            last = len(self.at) - 1
            found[last] = np.tril(found[last])
        return found

    def chosen(self, leaves: list[torch.Tensor]) -> list[torch.Tensor]:
        every = outputs_of(self.call, leaves)
        return [every[i] for i in self.which]

    def loss(self, at: Arrays) -> float:
        with torch.no_grad():
            return pairing(self.chosen(tensors(at)), self.w)

    def gradient(self, leaves: list[torch.Tensor], w: list[torch.Tensor], **more):
        return torch.autograd.grad(self.chosen(leaves), leaves, w, allow_unused=True, **more)

    def assert_close(self, found: float, expected: float, what: str) -> None:
        assert abs(found - expected) <= TOLERANCE * max(1.0, abs(expected)), (
            f"{what} of {self.call!r}: by the rule {found!r}, by finite differences {expected!r}"
        )


def problems(name: str, dtype: str) -> list[Problem]:
    return [p for p in map(Problem, calls(name, dtype)) if p.which]


@each(CASES)
def test_gradient(name: str, dtype: str) -> None:
    for p in problems(name, dtype):
        leaves = tensors(p.at, requires_grad=True)
        found = p.gradient(leaves, tensors(p.w))
        for leaf, g in zip(leaves, found, strict=True):
            assert g is None or (g.shape == leaf.shape and g.dtype == leaf.dtype)
        p.assert_close(pairing(found, p.u), slope(p.loss, p.at, p.u), "the gradient")


@each(CASES)
def test_gradient_of_gradient(name: str, dtype: str) -> None:
    for p in problems(name, dtype):
        n = len(p.at)
        v = p.u
        direction = p.direction(p.at + p.w)

        def loss(at: Arrays, p: Problem = p, n: int = n, v: Arrays = v) -> float:
            leaves = tensors(at[:n], requires_grad=True)
            return pairing(p.gradient(leaves, tensors(at[n:])), v)

        leaves, w = tensors(p.at, requires_grad=True), tensors(p.w, requires_grad=True)
        first = p.gradient(leaves, w, create_graph=True)
        kept = [(g, a) for g, a in zip(first, v, strict=True) if g is not None and g.requires_grad]
        found: tuple = (None,) * len(direction)
        if kept:
            grads, weights = [g for g, _ in kept], tensors([a for _, a in kept])
            found = torch.autograd.grad(grads, [*leaves, *w], weights, allow_unused=True)
        expected = slope(loss, p.at + p.w, direction)
        p.assert_close(pairing(found, direction), expected, "the gradient of the gradient")


@pytest.mark.parametrize("name", sorted(NO_DERIVATIVE))
def test_derivative_that_does_not_exist(name: str) -> None:
    for p in problems(name, "float64"):
        with pytest.raises(
            (RuntimeError, NotImplementedError),
            match=r"^(the )?derivative for .*[a-z_]+'? is not implemented",
        ):
            p.gradient(tensors(p.at, requires_grad=True), tensors(p.w))


@pytest.mark.parametrize("name", sorted(NOT_RECORDED))
def test_result_that_is_not_recorded(name: str) -> None:
    for call in calls(name):
        leaves = [call.tensors[i].detach().requires_grad_() for i in call.leaves]
        assert not any(o.requires_grad for o in outputs_of(call, leaves))
