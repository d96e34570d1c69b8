"""softmax and its relatives: exponentials normalised along a dimension."""

from __future__ import annotations

import math
from typing import Any

from ... import _core
from ..._base.errors import not_implemented_for, warn
from ..._core import Op
from ..elementwise.selection import unless, where
from ..table.arrays import dim_in
from ..table.kinds import composite, general
from ..table.reference import alias, wide
from ..table.samples import Make, Samples
from ..table.signature import Tensor, dtype

_kernels = _core.kernels


def _shifted(input: Tensor, dim: int, kernel: str) -> Tensor:
    """input less its largest element along dim, where that is finite: exponentials then do not
    overflow."""
    dim_in(dim, input.ndim)
    if not input.numel():
        return input  # of any type, as in torch
    if not input.dtype.is_floating_point:
        not_implemented_for(kernel, input.dtype.scalar_name)
    low = wide(input)
    top = low.amax(dim, True)
    return low - where(top.isfinite(), top, 0)


def _softmax(input: Tensor, dim: int, dtype: dtype | None) -> Tensor:
    low = _shifted(input, dim, "softmax_lastdim_kernel_impl")
    parts = low.exp()
    return (parts / parts.sum(dim, True)).to(input.dtype) if low.numel() else low


def _log_softmax(input: Tensor, dim: int, dtype: dtype | None) -> Tensor:
    low = _shifted(input, dim, "log_softmax_lastdim_kernel_impl")
    return (low - low.exp().sum(dim, True).log()).to(input.dtype) if low.numel() else low


def _softmax_rule(g: Tensor, out: Tensor, dim: int) -> Tensor:
    return out * (g - (g * out).sum(dim, keepdim=True))


def _log_softmax_rule(g: Tensor, out: Tensor, dim: int) -> Tensor:
    total = g.sum(dim, keepdim=True)
    # A row that no gradient comes to may be anything: padding, whose loss is not counted.
    return g - unless((total == 0) & _undefined(out, dim), out, 0).exp() * total


def _undefined(out: Tensor, dim: int) -> Tensor:
    return out.sum(dim, keepdim=True).isnan()


def _softmax_tangent(t: Tensor, out: Tensor, dim: int) -> Tensor:
    weighted = out * t
    return weighted - out * weighted.sum(dim, keepdim=True)


def _log_softmax_tangent(t: Tensor, out: Tensor, dim: int) -> Tensor:
    undefined = _undefined(out, dim)
    weighted = unless(undefined, out, 0).exp() * t
    return unless(undefined, t - weighted.sum(dim, keepdim=True), math.nan)


def _along(make: Make) -> Samples:
    return [(make(2, 3), 1), (make(2, 3), 0), (make(2, 3, 2), 1), (make(4), -1), (make(), 0)]


softmax = general(
    "softmax(input: Tensor, dim: int, dtype: dtype | None = None)",
    is_=_softmax,
    batch="along",
    vjp={"input": _softmax_rule},
    jvp={"input": _softmax_tangent},
    native=_kernels.softmax,
    typed="node",
    backward=(_kernels.softmax_backward, "g out dim"),
    samples=_along,
    kernel_name="softmax_lastdim_kernel_impl",
    autocast="float32 there",
    doc="exp(input), divided by its sum along dim.",
)
log_softmax = general(
    "log_softmax(input: Tensor, dim: int, dtype: dtype | None = None)",
    is_=_log_softmax,
    batch="along",
    vjp={"input": _log_softmax_rule},
    jvp={"input": _log_softmax_tangent},
    native=_kernels.log_softmax,
    typed="node",
    backward=(_kernels.log_softmax_backward, "g out dim"),
    samples=_along,
    kernel_name="log_softmax_lastdim_kernel_impl",
    autocast="float32 there",
    doc="The logarithm of softmax, exact where softmax is small.",
)


# ---- torch.nn.functional's forms


def _implicit_dim(name: str, ndim: int) -> int:
    warn(
        f"Implicit dimension choice for {name} has been deprecated. "
        "Change the call to include dim=X as an argument.",
    )
    return 0 if ndim in (0, 1, 3) else 1


def _functional(op: Op, name: str, doc: str) -> None:
    def function(
        input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None
    ) -> Tensor:
        if dim is None:
            dim = _implicit_dim(name, input.ndim)
        return op(input, dim, dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    alias(name, function, method=False, where="nn")
    alias(name, op, method=False, where="special")


_functional(softmax, "softmax", softmax.entry.doc)
_functional(log_softmax, "log_softmax", log_softmax.entry.doc)


@composite(where="nn", autocast="float32 there")
def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None
) -> Tensor:
    """softmax of the negative."""
    if dim is None:
        dim = _implicit_dim("softmin", input.ndim)
    return softmax(-input, dim, dtype)


@composite(where="nn", traits="random")
def gumbel_softmax(
    logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A sample of the Gumbel-softmax distribution; hard: one-hot forwards, with the soft sample's
    gradient."""
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    if not logits.is_floating_point():
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a "
            "floating point "
            f"but you specified {logits.dtype.scalar_name}"
        )
    noise = -(logits.detach().clone().exponential_().log())
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.argmax(dim, keepdim=True)
    one = (soft * 0).detach().scatter(dim, index, 1.0)
    return one - soft.detach() + soft


__all__ = ["gumbel_softmax", "log_softmax", "softmax", "softmin"]
