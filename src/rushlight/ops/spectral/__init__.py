"""Discrete Fourier transforms: torch.fft."""

from . import fourier  # noqa: F401  importing a module enters its ops
