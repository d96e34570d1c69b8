"""Windows: weights that let a frame of a signal begin and end softly.

Each has M values. They are symmetric, or, for spectra, with sym=False, one period: the first M
values of the symmetric window of M + 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import rushlight._root as rl
from rushlight._root import Tensor, device, dtype, layout

from .._base.missing import missing_name as _missing_name

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]
__getattr__ = _missing_name(__name__)


class _How:
    """The keywords that every window takes, looked at."""

    def __init__(
        self,
        name: str,
        M: int,
        dtype: dtype | None,
        layout: layout,
        device: device | str | None,
        requires_grad: bool,
    ) -> None:
        dtype = rl.get_default_dtype() if dtype is None else dtype
        if M < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={M}")
        if layout is not rl.strided:
            raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
        if dtype not in (rl.float32, rl.float64):
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
        self.M, self.dtype, self.device, self.grad = M, dtype, device, requires_grad

    def known(self, one: bool = True) -> Tensor | None:
        """The window of no value; `one`: and that of one."""
        if int(one) < self.M:
            return None
        make = rl.ones if self.M else rl.empty
        return make((self.M,), dtype=self.dtype, device=self.device, requires_grad=self.grad)

    def steps(self, start: float, step: float) -> Tensor:
        """start, start + step, ..."""
        return rl.linspace(
            start,
            start + (self.M - 1) * step,
            self.M,
            dtype=self.dtype,
            device=self.device,
            requires_grad=self.grad,
        )


def _span(M: int, sym: bool) -> int:
    """The steps from one end of the whole symmetric window to the other."""
    return M - 1 if sym else M


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: layout = rl.strided,
    device: device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A triangle from 0 to 1 and back.

    >>> torch.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    how = _How("bartlett", M, dtype, layout, device, requires_grad)
    known = how.known()
    if known is not None:
        return known
    return 1 - how.steps(-1.0, 2 / _span(M, sym)).abs()


def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: layout = rl.strided,
    device: device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Cosines with the factors 0.42, 0.5 and 0.08.

    >>> torch.signal.windows.blackman(5)
    tensor([-1.4901e-08,  3.4000e-01,  1.0000e+00,  3.4000e-01, -1.4901e-08])
    """
    _How("blackman", M, dtype, layout, device, requires_grad)
    return general_cosine(
        M,
        a=[0.42, 0.5, 0.08],
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: layout = rl.strided,
    device: device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Half a period of a sine.

    >>> torch.signal.windows.cosine(4)
    tensor([0.3827, 0.9239, 0.9239, 0.3827])
    """
    how = _How("cosine", M, dtype, layout, device, requires_grad)
    known = how.known(one=False)
    if known is not None:
        return known
    step = math.pi / (M if sym or M == 1 else M + 1)
    return how.steps(0.5 * step, step).sin()


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: layout = rl.strided,
    device: device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """exp(-distance / tau), around the middle; around `center`, where sym is False.

    >>> torch.signal.windows.exponential(5, tau=2.0)
    tensor([0.3679, 0.6065, 1.0000, 0.6065, 0.3679])
    """
    how = _How("exponential", M, dtype, layout, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    known = how.known(one=False)
    if known is not None:
        return known
    if center is None:
        center = _span(M, sym or M == 1) / 2
    return (-how.steps(-center / tau, 1 / tau).abs()).exp()


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: layout = rl.strided,
    device: device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The density of a normal distribution, 1 in the middle.

    >>> torch.signal.windows.gaussian(5)
    tensor([0.1353, 0.6065, 1.0000, 0.6065, 0.1353])
    """
    how = _How("gaussian", M, dtype, layout, device, requires_grad)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    known = how.known(one=False)
    if known is not None:
        return known
    step = 1 / (std * math.sqrt(2))
    k = how.steps(-_span(M, sym or M == 1) / 2 * step, step)
    return (-(k**2)).exp()


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: layout = rl.strided,
    device: device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """i0(beta * sqrt(1 - x * x)) / i0(beta), for x from -1 to 1.

    >>> torch.signal.windows.kaiser(5)
    tensor([5.2773e-05, 2.1567e-01, 1.0000e+00, 2.1567e-01, 5.2773e-05])
    """
    how = _How("kaiser", M, dtype, layout, device, requires_grad)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    known = how.known()
    if known is not None:
        return known
    k = how.steps(-beta, 2.0 * beta / _span(M, sym)).clamp(max=beta)
    return rl.i0((beta * beta - k**2).clamp(min=0).sqrt()) / rl.i0(
        rl.tensor(beta, dtype=how.dtype, device=device)
    )


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: dtype | None = None,
    layout: layout = rl.strided,
    device: device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """a[0] - a[1] * cos(x) + a[2] * cos(2 * x) - ..., for x from 0 to 2 pi.

    >>> torch.signal.windows.general_cosine(5, a=[0.5, 0.5])
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    how = _How("general_cosine", M, dtype, layout, device, requires_grad)
    known = how.known()
    if known is not None:
        return known
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    factors = list(a)
    if not factors:
        raise ValueError("Coefficients cannot be empty")
    x = how.steps(0.0, 2 * math.pi / _span(M, sym))
    signed = [f if i % 2 == 0 else -f for i, f in enumerate(factors)]
    weights = rl.tensor(signed, dtype=how.dtype, device=device)
    turns = rl.arange(len(factors), dtype=how.dtype, device=device)
    return (weights.unsqueeze(-1) * (turns.unsqueeze(-1) * x).cos()).sum(0)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: layout = rl.strided,
    device: device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """alpha - (1 - alpha) * cos(x), for x from 0 to 2 pi.

    >>> torch.signal.windows.general_hamming(5)
    tensor([0.0800, 0.5400, 1.0000, 0.5400, 0.0800])
    """
    return general_cosine(
        M,
        a=[alpha, 1.0 - alpha],
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )


def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: layout = rl.strided,
    device: device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """0.54 - 0.46 * cos(x), for x from 0 to 2 pi.

    >>> torch.signal.windows.hamming(5)
    tensor([0.0800, 0.5400, 1.0000, 0.5400, 0.0800])
    """
    return general_cosine(
        M,
        a=[0.54, 0.46],
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )


def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: layout = rl.strided,
    device: device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """0.5 - 0.5 * cos(x), for x from 0 to 2 pi.

    >>> torch.signal.windows.hann(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return general_cosine(
        M,
        a=[0.5, 0.5],
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )


def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: layout = rl.strided,
    device: device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Cosines with the factors 0.3635819, 0.4891775, 0.1365995 and 0.0106411.

    >>> torch.signal.windows.nuttall(5)
    tensor([3.6280e-04, 2.2698e-01, 1.0000e+00, 2.2698e-01, 3.6280e-04])
    """
    return general_cosine(
        M,
        a=[0.3635819, 0.4891775, 0.1365995, 0.0106411],
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )
