"""Discrete Fourier transforms: torch.fft, stft; windows."""
