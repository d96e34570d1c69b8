"""Forward-mode of every op: the tangent against central differences, and forward over reverse.

With the random w and u of `test_derivatives.py`: <w, tangent along u> must be the slope of <w, y>,
and the tangent of the gradient must be what reverse over reverse gives, found by differences too.

There is no list of exceptions here.
"""

from __future__ import annotations

from cases import each
from test_derivatives import CASES, Arrays, outputs_of, pairing, problems, slope, tensors

import rushlight as torch


@each(CASES)
def test_tangent(name: str, dtype: str) -> None:
    for p in problems(name, dtype):

        def chosen(*leaves: torch.Tensor, p=p) -> tuple[torch.Tensor, ...]:
            every = outputs_of(p.call, list(leaves))
            return tuple(every[i] for i in p.which)

        values, along = torch.func.jvp(chosen, tuple(tensors(p.at)), tuple(tensors(p.u)))
        for y, t in zip(values, along, strict=True):
            assert t.shape == y.shape and t.dtype == y.dtype
        found = pairing(list(along), p.w)
        p.assert_close(found, slope(p.loss, p.at, p.u), "the tangent")


@each(CASES)
def test_tangent_of_gradient(name: str, dtype: str) -> None:
    for p in problems(name, dtype):
        direction = p.direction(p.at)

        def gradient(*leaves: torch.Tensor, p=p) -> tuple[torch.Tensor, ...]:
            def chosen(*inner: torch.Tensor) -> tuple[torch.Tensor, ...]:
                every = outputs_of(p.call, list(inner))
                return tuple(every[i] for i in p.which)

            return torch.func.vjp(chosen, *leaves)[1](tuple(tensors(p.w)))

        def loss(at: Arrays, p=p) -> float:
            return pairing(p.gradient(tensors(at, requires_grad=True), tensors(p.w)), p.u)

        _, along = torch.func.jvp(gradient, tuple(tensors(p.at)), tuple(tensors(direction)))
        expected = slope(loss, p.at, direction)
        p.assert_close(pairing(list(along), p.u), expected, "the tangent of the gradient")
