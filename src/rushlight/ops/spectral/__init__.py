"""Discrete Fourier transforms: torch.fft, stft."""

from . import fourier, short_time  # noqa: F401  importing a module enters its ops
