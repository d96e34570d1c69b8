"""The incomplete gamma functions."""

from __future__ import annotations

import math

from ..._core import Op
from ..table.formulas import Symbol
from ..table.kinds import pointwise
from ..table.reference import alias
from ..table.samples import Make, Samples
from ..table.signature import Tensor
from .elementary import exp, log
from .selection import where
from .special import lgamma, no_derivative


def _density(input: Tensor | Symbol, other: Tensor | Symbol) -> Tensor:
    x = where(other == math.inf, 1, other)
    return where(other == math.inf, 0, exp((input - 1) * log(x) - x - lgamma(input)))


def _statement(name: str, sign: int, doc: str) -> Op:
    return pointwise(
        f"{name}(input: Tensor, other: Tensor)",
        partials={
            "input": no_derivative(f"{name}: input"),
            "other": lambda input, other: sign * _density(input, other),
        },
        refuses={"bool int complex": f"{name}_cpu"},
        samples=_samples,
        doc=doc,
    )


def _samples(make: Make) -> Samples:
    return [(make(2, 3, low=0.5, high=4.0, kind="fixed"), make(2, 3, low=0.5, high=4.0))]


igamma = _statement(
    "igamma", 1, "The integral of t**(input - 1) exp(-t) from 0 to other, over gamma(input)."
)
igammac = _statement(
    "igammac", -1, "The integral of t**(input - 1) exp(-t) from other on, over gamma(input)."
)
alias("gammainc", igamma, method=False, where="special")
alias("gammaincc", igammac, method=False, where="special")
