"""References of torch.fft; see `references.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray


def over_one(transform: Callable[..., Array]) -> Callable[..., Array]:
    return lambda a, n=None, dim=-1, norm=None: transform(a, n, dim, norm)


def over_several(
    last: Callable[..., Array], others: Callable[..., Array], first: bool, default: Any
) -> Callable[..., Array]:
    """A transform of the last dimension, and another of those before it, first or after."""

    def run(a: Array, s: Any = None, dim: Any = default, norm: str | None = None) -> Array:
        axes = list(range(-(a.ndim if s is None else len(s)), 0)) if dim is None else list(dim)
        sizes = [None] * len(axes) if s is None else list(s)
        steps = [(others, axis, n) for axis, n in zip(axes[:-1], sizes[:-1], strict=True)]
        steps.insert(len(steps) if first else 0, (last, axes[-1], sizes[-1]))
        for transform, axis, n in steps:
            a = transform(a, n, axis, norm)
        return a

    return run


fft = np.fft
ONE = {n: getattr(fft, n) for n in "fft ifft rfft irfft hfft ihfft".split()}
# What the other dimensions are transformed by, and whether before the last one.
OTHERS = {
    "fft": (fft.fft, False),
    "ifft": (fft.ifft, False),
    "rfft": (fft.fft, False),
    "irfft": (fft.ifft, True),
    "hfft": (fft.fft, True),
    "ihfft": (fft.ifft, False),
}

FFT: dict[str, Callable[..., Any]] = {name: over_one(f) for name, f in ONE.items()}
for name, (others, before) in OTHERS.items():
    FFT[f"{name}2"] = over_several(ONE[name], others, before, (-2, -1))
    FFT[f"{name}n"] = over_several(ONE[name], others, before, None)
FFT["fftshift"] = lambda a, dim=None: fft.fftshift(a, dim)
FFT["ifftshift"] = lambda a, dim=None: fft.ifftshift(a, dim)


def stft(
    a: Array, n: int, hop: Any = None, win: Any = None, window: Any = None, **how: Any
) -> Array:
    """Frame by frame; what is not centred, or centred and reflected at its ends."""
    hop, win = hop or n // 4, win or n
    weights = np.zeros(n, complex if np.iscomplexobj(window) else float)
    weights[(n - win) // 2 : (n - win) // 2 + win] = 1 if window is None else window
    if how.get("center", True):
        a = np.pad(a, [(0, 0)] * (a.ndim - 1) + [(n // 2, n // 2)], mode="reflect")
    starts = range(0, a.shape[-1] - n + 1, hop)
    run = fft.fft if a.dtype.kind == "c" or np.iscomplexobj(weights) else fft.rfft
    return np.stack([run(a[..., i : i + n] * weights) for i in starts], -1)


FFT["stft"] = stft
