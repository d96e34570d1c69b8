"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import ClassVar

from rushlight import _root as rl
from rushlight import special
from rushlight._root import Tensor

from . import constraints
from .distribution import Distribution
from .utils import Shape, broadcast_all, lazy_property

__all__ = ["VonMises"]


def _log_modified_bessel_fn(x: Tensor, order: int = 0) -> Tensor:
    """log I0(x) or log I1(x), for x > 0."""
    if order not in (0, 1):
        raise AssertionError(f"order must be 0 or 1, got {order}")
    return (special.i0e(x) if order == 0 else special.i1e(x)).log() + x


def _rejection_sample(loc: Tensor, concentration: Tensor, proposal_r: Tensor, x: Tensor) -> Tensor:
    """Angles from wrapped Cauchy numbers (Best and Fisher 1979), drawn for the whole of x until
    each place has one."""
    done = rl.zeros_like(x, dtype=rl.bool)
    while not bool(done.all()):
        u1, u2, u3 = rl.rand((3, *x.shape), dtype=loc.dtype, device=loc.device).unbind()
        z = rl.cos(math.pi * u1)
        f = (1 + proposal_r * z) / (proposal_r + z)
        c = concentration * (proposal_r - f)
        accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
        accept |= f.isnan() | (c == 0)  # c is at least a half, or so near loc that digits end
        x = rl.where(accept, (u3 - 0.5).sign() * f.acos(), x)
        done = done | accept
    return (x + math.pi + loc) % (2 * math.pi) - math.pi


class VonMises(Distribution):
    """Angles in radians around `loc`, the closer the higher the `concentration` is.

    >>> d = torch.distributions.VonMises(torch.tensor(0.0), torch.tensor(1.0))
    >>> d.log_prob(torch.tensor(0.0))
    tensor(-1.0738)
    """

    concentration: Tensor
    loc: Tensor

    arg_constraints: ClassVar[constraints.ByName] = {
        "loc": constraints.real,
        "concentration": constraints.positive,
    }
    support = constraints.real
    has_rsample = False

    def __init__(
        self, loc: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, (), validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        along = self.concentration * rl.cos(self._checked(value) - self.loc)
        norm = math.log(2 * math.pi) + _log_modified_bessel_fn(self.concentration)
        return along - norm

    @lazy_property
    def _loc(self) -> Tensor:
        return self.loc.to(rl.float64)

    @lazy_property
    def _concentration(self) -> Tensor:
        return self.concentration.to(rl.float64)

    @lazy_property
    def _proposal_r(self) -> Tensor:
        kappa = self._concentration
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        made = rl.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))
        return made.masked_fill(kappa < 0, math.nan)  # that no angle would be accepted for

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with rl.no_grad():
            x = self._loc.new_empty(self._extended_shape(sample_shape))
            drawn = _rejection_sample(self._loc, self._concentration, self._proposal_r, x)
            return drawn.to(self.loc.dtype)

    @property
    def mean(self) -> Tensor:
        """The mean direction."""
        return self.loc

    mode = mean

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance."""
        kappa = self.concentration
        return 1 - (_log_modified_bessel_fn(kappa, 1) - _log_modified_bessel_fn(kappa)).exp()
