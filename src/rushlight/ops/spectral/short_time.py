"""The short-time Fourier transform and its inverse: of overlapping frames of a signal."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..._base.errors import warn
from ..._core import Tensor
from ..elementwise.complex_numbers import real, view_as_real
from ..layout.joining import cat
from ..layout.rearrange import flip
from ..layout.slices import unfold_backward
from ..table.arrays import anywhere, listed, warn_once
from ..table.kinds import composite
from .fourier import c2c, c2r, r2c

_EDGE = "Argument #4: Padding size should be less than the corresponding input dimension, but got: "


def _padded(x: Tensor, count: int, mode: str) -> Tensor:
    """The signal with `count` values more at both ends."""
    size = x.shape[-1]
    if not count:
        return x
    if mode == "constant":
        edge = x.new_zeros(*x.shape[:-1], count)
        return cat([edge, x, edge], -1)
    if not size:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {listed([1] * (3 - x.ndim) + list(x.shape))}"
        )
    if mode == "replicate":
        ends = [x.narrow(-1, at, 1).expand(*x.shape[:-1], count) for at in (0, size - 1)]
        return cat([ends[0], x, ends[1]], -1)
    if mode == "circular":
        if count > size:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        return cat([x.narrow(-1, size - count, count), x, x.narrow(-1, 0, count)], -1)
    if mode != "reflect":
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if count >= size:
        shape = listed([1] * (3 - x.ndim) + list(x.shape))
        raise RuntimeError(
            f"{_EDGE}padding ({count}, {count}) at dimension 2 of input {shape}. The signal is "
            "shorter than half of n_fft."
        )
    left, right = x.narrow(-1, 1, count), x.narrow(-1, size - 1 - count, count)
    return cat([flip(left, (-1,)), x, flip(right, (-1,))], -1)


def _centred(window: Tensor, n_fft: int) -> Tensor:
    """The window with zeros at both sides."""
    left = (n_fft - window.shape[0]) // 2
    right = n_fft - window.shape[0] - left
    if not (left or right):
        return window
    return cat([window.new_zeros(left), window, window.new_zeros(right)])


def _said(window: Tensor | None) -> str:
    if window is None:
        return "None"
    return f"torch.{window.dtype.scalar_name}Tensor{{{listed(window.shape)}}}"


def _word(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


_NO_HALF = "Cannot have onesided output if window or input is complex"


def _check_stft(
    call: Callable[[], str], input: Tensor, n_fft: int, hop: int, win: int, window: Tensor | None
) -> None:
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise RuntimeError(f"{call()} : expected a tensor of floating point or complex values")
    if input.ndim not in (1, 2):
        raise RuntimeError(f"{call()} : expected a 1D or 2D tensor")
    size = input.shape[-1]
    if not 0 < n_fft <= size:
        raise RuntimeError(f"{call()} : expected 0 < n_fft < {size}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"{call()} : expected hop_length > 0, but got hop_length={hop}")
    if not 0 < win <= n_fft:
        raise RuntimeError(f"{call()} : expected 0 < win_length <= n_fft, but got win_length={win}")
    if window is not None and tuple(window.shape) != (win,):
        raise RuntimeError(
            f"{call()} : expected a 1D window tensor of size equal to win_length={win}, but got "
            f"window with size {listed(window.shape)}"
        )


@composite(
    samples=lambda make: [
        (make(20), 6, {"return_complex": True}),
        (make(2, 20), 6, 2, 4, make(4), {"return_complex": True, "center": False}),
    ],
    autocast="float32 here",
)
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The transforms of frames of n_fft values, hop_length apart, times a window.

    The result is of the shape (..., frequencies, frames). center: frame t is around value
    t * hop_length, of the signal padded by n_fft // 2.
    """
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        input = input if input.ndim else input.unsqueeze(0)
        input = _padded(input, max(n_fft // 2, 0), pad_mode)
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length

    def call() -> str:
        return (
            f"stft(torch.{input.dtype.scalar_name}Tensor{listed(input.shape)}, n_fft={n_fft}, "
            f"hop_length={hop}, win_length={win}, window={_said(window)}, "
            f"normalized={_word(normalized)}, onesided={_word(onesided)}, "
            f"return_complex={_word(return_complex)}, align_to_window={_word(align_to_window)})"
        )

    is_complex = input.dtype.is_complex or (window is not None and window.dtype.is_complex)
    if return_complex is None and not is_complex:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further "
            "require that return_complex=True in a future PyTorch release."
        )
    _check_stft(call, input, n_fft, hop, win, window)
    if input.dtype.itemsize == 2 and (window is None or window.dtype is input.dtype):
        raise RuntimeError(
            f"MKL FFT doesn't support tensors of type: {input.dtype.scalar_name}\n"
            "Compute in float32: `input.float()`."
        )
    onesided = not is_complex if onesided is None else onesided
    if onesided and is_complex:
        raise RuntimeError(_NO_HALF)
    if align_to_window and win < n_fft:
        input = _padded(input, (n_fft - win) // 2, "constant")
    alone = input.ndim == 1
    if alone:
        input = input.unsqueeze(0)
    if window is None:
        warn_once(
            "A window was not provided. A rectangular window will be applied,which is known to "
            "cause spectral leakage. Other windows such as torch.hann_window or "
            "torch.hamming_window are recommended to reduce spectral leakage.To suppress this "
            "warning and use a rectangular window, explicitly set `window=torch.ones(n_fft, "
            "device=<device>)`.",
        )
    frames = input.unfold(-1, n_fft, hop)
    if window is not None or win < n_fft:
        weights = window if window is not None else input.new_ones(win)
        frames = frames * _centred(weights, n_fft)
    scale = 1 / math.sqrt(n_fft) if normalized else 1.0
    if frames.dtype.is_complex:
        found = c2c(frames, (-1,), scale, True)
    else:
        found = r2c(frames, (-1,), scale, bool(onesided))
    found = found.transpose_(1, 2)
    if alone:
        found = found.squeeze_(0)
    return found if return_complex or return_complex is None else view_as_real(found)


def _check_istft(
    call: Callable[[], str],
    input: Tensor,
    n_fft: int,
    hop: int,
    win: int,
    window: Tensor | None,
    onesided: bool,
) -> None:
    if not input.numel():
        raise RuntimeError(f"{call()} : input tensor cannot be empty.")
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"{call()} : expected a tensor with 3 or 4 dimensions, but got {input.ndim + 1}"
        )
    wanted = n_fft // 2 + 1 if onesided else n_fft
    if input.shape[-2] != wanted:
        what = "n_fft / 2 + 1 when onesided=True" if onesided else "n_fft when onesided=False,"
        raise RuntimeError(
            f"{call()} : expected the frequency dimension (3rd to the last) of the input tensor to "
            f"match {what}, but got {input.shape[-2]}"
        )
    if not 0 < hop <= win:
        raise RuntimeError(f"{call()} : expected 0 < hop_length <= win_length")
    if not 0 < win <= n_fft:
        raise RuntimeError(f"{call()} : expected 0 < win_length <= n_fft")
    if window is not None and tuple(window.shape) != (win,):
        raise RuntimeError(
            f"{call()} : Invalid window shape. window has to be 1D and length of `win_length`"
        )


@composite(autocast="float32 here")
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal of which `stft` gives these transforms: frames added up where they lie, divided by
    the sum of the squares of their windows."""
    if not input.dtype.is_complex:
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True."
        )
    if input.ndim < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-2, 1], but got -3)")
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length

    def call() -> str:
        return (
            f"istft(CPU{input.dtype.scalar_name}Type{listed(input.shape)}, n_fft={n_fft}, "
            f"hop_length={hop}, win_length={win}, window={_said(window)}, center={_word(center)}, "
            f"normalized={_word(normalized)}, onesided={_word(onesided)}, length={length}, "
            f"return_complex={_word(return_complex)})"
        )

    half = input.shape[-2] != n_fft if onesided is None else onesided
    _check_istft(call, input, n_fft, hop, win, window, half)
    if return_complex and half:
        raise RuntimeError(_NO_HALF)
    if not return_complex and window is not None and window.dtype.is_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    if window is None:
        window = real(input).new_ones(win)
    window = _centred(window, n_fft)
    spectra = input.transpose(-1, -2)
    scale = 1 / math.sqrt(n_fft) if normalized else 1 / n_fft
    if return_complex:
        frames = c2c(spectra, (-1,), scale, False)
    else:
        frames = c2r(spectra.narrow(-1, 0, n_fft // 2 + 1), -1, scale, n_fft)
    count = input.shape[-1]
    whole = n_fft + hop * (count - 1)
    lead = tuple(input.shape[:-2])
    signal = unfold_backward(frames * window, (*lead, whole), len(lead), n_fft, hop)
    squares = (window * window).expand(count, n_fft)
    weights = unfold_backward(squares, (whole,), 0, n_fft, hop)
    start = n_fft // 2 if center else 0
    end = whole - (n_fft // 2 if center else 0) if length is None else start + length
    kept = max(min(end, whole) - start, 0)
    signal, weights = signal.narrow(-1, start, kept), weights.narrow(-1, start, kept)
    if not kept:
        raise RuntimeError(
            "min(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            f"reduction dim with the 'dim' argument. No value is left of {whole}."
        )
    if anywhere(weights.detach().abs() <= 1e-11):
        raise RuntimeError(
            f"{call()} window overlap add min: 1\n"
            "The windows add up to 0 somewhere: with hann_window, leave center=True."
        )
    signal = signal / weights
    if end <= whole:
        return signal
    warn(
        "The length of signal is shorter than the length parameter. Result is being padded with "
        "zeros in the tail. Please check your center and hop_length settings.",
    )
    return cat([signal, signal.new_zeros(*lead, end - whole)], -1)
