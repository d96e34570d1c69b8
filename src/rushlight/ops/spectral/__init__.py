"""Discrete Fourier transforms: torch.fft, stft; windows."""

from . import fourier, short_time, windows  # noqa: F401  importing a module enters its ops
