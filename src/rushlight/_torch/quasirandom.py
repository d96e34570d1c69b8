"""`torch.quasirandom`: Sobol sequences, whose points fill a cube more evenly than random ones.

The direction numbers are those of S. Joe and F. Y. Kuo (criterion D(6)), for up to 21201
dimensions. SciPy's data has them, an extra: `pip install rushlight[scipy]`.

A state has a row of 30 integers for each dimension. Point k of the sequence is the exclusive or of
the integers at the ones of k's Gray code, over 2**30; from a point to the next one bit changes.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

from .. import _root as rl
from .._base import dtypes
from .._base.dtypes import dtype as _dtype
from .._base.outside import np
from .._core import Tensor
from .._devices.generator import Generator

__all__ = ["SobolEngine"]

_BITS = 30
_DIMENSIONS = 21201


def _directions(dimension: int) -> tuple[Any, Any]:
    """The primitive polynomials of so many dimensions, and the first numbers of each."""
    scipy = find_spec("scipy")
    if scipy is None or scipy.origin is None:
        raise ImportError(
            "torch.quasirandom takes its direction numbers from SciPy, which is not installed: "
            "pip install rushlight[scipy]"
        )
    path = os.path.join(os.path.dirname(scipy.origin), "stats", "_sobol_direction_numbers.npz")
    with np.load(path) as data:
        return data["poly"][:dimension], data["vinit"][:dimension]


def _require_long(**tensors: Tensor) -> None:
    for name, tensor in tensors.items():
        if tensor.dtype is not dtypes.int64:
            raise RuntimeError(f"{name} needs to be of type Long")


def _sobol_engine_initialize_state_(input: Tensor, dimension: int) -> Tensor:
    """Writes the state of `dimension` dimensions to the rows of a tensor of (dimension, 30)."""
    _require_long(sobolstate=input)
    polynomials, first = _directions(dimension)
    rows = len(polynomials)
    degree = np.frexp(polynomials.astype(np.float64))[1] - 1
    numbers = np.zeros((rows, _BITS), np.int64)
    numbers[:, : first.shape[1]] = first
    for j in range(_BITS):
        # From the degree on, a number follows from the numbers before, as the polynomial says.
        todo = np.flatnonzero(degree <= j)
        m, p = degree[todo], polynomials[todo]
        new = numbers[todo, j - m]
        for k in range(int(m.max(initial=0))):
            picked = (k < m) & ((p >> np.maximum(m - 1 - k, 0)) & 1).astype(bool)
            new ^= np.where(picked, numbers[todo, j - k - 1] << (k + 1), 0)
        numbers[todo, j] = new
    numbers[0] = 1  # the first dimension has no polynomial
    numbers <<= np.arange(_BITS - 1, -1, -1)
    with rl.no_grad():
        input[:rows].copy_(rl.from_numpy(numbers))
    return input


def _sobol_engine_scramble_(input: Tensor, ltm: Tensor, dimension: int) -> Tensor:
    """Multiplies the state's bits by lower triangular matrices of bits, modulo 2."""
    _require_long(sobolstate=input)
    if ltm.dtype is not dtypes.int64:
        raise RuntimeError(f"expected scalar type Long but found {ltm.dtype.scalar_name}")
    state = input.numpy()[:dimension]
    matrices = ltm.numpy()[:dimension] | np.eye(_BITS, dtype=np.int64)
    rows = matrices @ (1 << np.arange(_BITS - 1, -1, -1))
    mixed = np.zeros_like(state)
    for place in range(_BITS):
        parity = np.bitwise_count(rows[:, place, None] & state).astype(np.int64) & 1
        mixed |= parity << (_BITS - 1 - place)
    with rl.no_grad():
        input[:dimension].copy_(rl.from_numpy(mixed))
    return input


def _changing(count: int, before: int) -> Any:
    """The column that leads from each of `count` points to the next, `before` points in."""
    last = before + max(count, 0)
    if count > 0 and last >= 1 << _BITS:
        raise ValueError(f"a Sobol sequence has 2**{_BITS} points, {last + 1} are asked for")
    places = np.arange(before, last)
    inverted = ~places
    lowest = inverted & -inverted
    return np.where(places < 0, 0, np.frexp(lowest.astype(np.float64))[1] - 1)


def _sobol_engine_ff_(
    input: Tensor, n: int, sobolstate: Tensor, dimension: int, num_generated: int
) -> Tensor:
    """Leads a point `n` points on, in place."""
    _require_long(sobolstate=sobolstate, quasi=input)
    if n > 0:
        if num_generated + n >= 1 << _BITS:
            raise ValueError(f"a Sobol sequence has 2**{_BITS} points")
        first, last = max(num_generated, 0), max(num_generated + n, 0)
        gray = (first ^ first >> 1) ^ (last ^ last >> 1)
        picked = [bit for bit in range(_BITS) if gray >> bit & 1]
        columns = sobolstate.numpy()[:, picked]
        with rl.no_grad():
            input.copy_(input ^ rl.from_numpy(np.bitwise_xor.reduce(columns, axis=1)))
    return input


def _sobol_engine_draw(
    quasi: Tensor,
    n: int,
    sobolstate: Tensor,
    dimension: int,
    num_generated: int,
    dtype: _dtype | None,
) -> tuple[Tensor, Tensor]:
    """The `n` points after `quasi`, the point of number `num_generated`; and the last of them."""
    _require_long(sobolstate=sobolstate, quasi=quasi)
    if not hasattr(n, "__index__"):
        raise TypeError(
            f"_sobol_engine_draw(): argument 'n' (position 2) must be int, not {type(n).__name__}"
        )
    dtype = rl.get_default_dtype() if dtype is None else dtype
    if n < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {n}: [{n}, {dimension}]"
        )
    if dtype not in (dtypes.float32, dtypes.float64):
        raise NotImplementedError(
            f"\"_sobol_engine_draw\" not implemented for '{dtype.scalar_name}'"
        )
    steps = sobolstate.numpy()[:dimension, _changing(n, num_generated)].T
    points = np.bitwise_xor.accumulate(
        np.concatenate([quasi.numpy()[None, :dimension], steps]), axis=0
    )
    drawn = points[1:].astype(dtype.numpy) * dtype.numpy.type(2.0**-_BITS)
    return rl.from_numpy(drawn), rl.from_numpy(points[-1].copy())


class SobolEngine:
    """A Sobol sequence in `dimension` dimensions, at most 21201; `draw` gives its next points.

    `scramble` mixes the sequence at random, which keeps it even (A. Owen); `seed` is the mixing's.
    SciPy must be installed: it has the direction numbers.

    >>> engine = torch.quasirandom.SobolEngine(dimension=3)
    >>> engine.draw(4)
    tensor([[0.0000, 0.0000, 0.0000],
            [0.5000, 0.5000, 0.5000],
            [0.7500, 0.2500, 0.2500],
            [0.2500, 0.7500, 0.7500]])
    """

    MAXBIT = _BITS
    MAXDIM = _DIMENSIONS

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]"
            )
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        self.sobolstate: Tensor = rl.zeros(dimension, self.MAXBIT, dtype=dtypes.int64, device="cpu")
        _sobol_engine_initialize_state_(self.sobolstate, dimension)
        self.shift: Tensor
        if scramble:
            self._scramble()
        else:
            self.shift = rl.zeros(dimension, dtype=dtypes.int64, device="cpu")
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: _dtype | None = None) -> Tensor:
        """The next `n` points, as rows; written to `out`, which is resized, if there is one."""
        dtype = rl.get_default_dtype() if dtype is None else dtype
        first = self.num_generated == 0
        if first and n == 1:
            result = self._first_point.to(dtype)
        else:
            result, self.quasi = _sobol_engine_draw(
                self.quasi,
                n - first,
                self.sobolstate,
                self.dimension,
                self.num_generated - (not first),
                dtype=dtype,
            )
            if first:
                result = rl.cat((self._first_point.to(dtype), result), dim=-2)
        self.num_generated += n
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: _dtype | None = None) -> Tensor:
        """The next 2**m points. As many must have been drawn as keep all of them balanced."""
        n = 2 ** (min(m, 64) if isinstance(m, int) else m)  # 2**64 are too many as well
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Begins the sequence anew."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leaves out the next `n` points."""
        first = self.num_generated == 0
        before = self.num_generated - (not first)
        _sobol_engine_ff_(self.quasi, n - first, self.sobolstate, self.dimension, before)
        self.num_generated += n
        return self

    def _scramble(self) -> None:
        generator: Generator | None = None
        if self.seed is not None:
            generator = Generator()
            generator.manual_seed(self.seed)
        size = self.dimension, self.MAXBIT
        bits = rl.randint(0, 2, size, generator=generator, device="cpu")
        self.shift = (bits << rl.arange(self.MAXBIT, device="cpu")).sum(1)
        matrices = rl.randint(0, 2, (*size, self.MAXBIT), generator=generator, device="cpu").tril()
        _sobol_engine_scramble_(self.sobolstate, matrices, self.dimension)

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"]
        parts += ["scramble=True"] * bool(self.scramble)
        parts += [] if self.seed is None else [f"seed={self.seed}"]
        return f"{type(self).__name__}({', '.join(parts)})"
