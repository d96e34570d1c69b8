"""How gradcheck compares Jacobians, and its error where two differ.

After PyTorch's text the error says which element is worst, both its values, their ratio, and what
such a ratio usually means.
"""

from __future__ import annotations

from .. import _core
from .._base.outside import np
from .._core import Tensor
from ._jacobians import GradcheckError, Matrix

__all__ = ["close", "lesson", "mismatch", "shown"]


def close(a: Matrix, n: Matrix, rtol: float, atol: float) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.allclose(a, n, rtol=rtol, atol=atol))


_RATIOS = (
    (2.0, "a factor of 2 too much"),
    (0.5, "half of it: a factor of 2 is missing"),
    (-1.0, "the sign is wrong"),
)


def lesson(a: Matrix, n: Matrix, rtol: float, atol: float, x: Tensor) -> str:
    """The worst element, both values, their ratio, and what to look for."""
    if a.shape != n.shape or not a.size:
        return ""
    with np.errstate(all="ignore"):
        excess = np.abs(a - n) - (atol + rtol * np.abs(n))
        excess = np.where(np.isnan(excess), np.inf, excess)
        at = tuple(int(i) for i in np.unravel_index(int(np.argmax(excess)), excess.shape))
        wrong = int((excess > 0).sum())
        got, want = a[at].item(), n[at].item()
        ratio = got / want if want else None
    text = (
        f"\n{wrong} of {a.size} elements differ. The worst: input element {at[0]}, output element "
        f"{at[1]}: analytical {got:.6g}, numerical {want:.6g}"
    )
    text += f", ratio {ratio:.4g}." if ratio is not None else "."
    if ratio is not None and not isinstance(ratio, complex):
        bad = excess > 0
        with np.errstate(all="ignore"):
            ratios = a[bad] / n[bad]
        steady = bool(np.allclose(ratios, ratio, rtol=1e-2, atol=1e-3))
        for value, hint in _RATIOS:
            if steady and abs(ratio - value) < 1e-2:
                text += f" The ratio is the same everywhere: {hint}."
        if steady and abs(got) < 1e-12:
            text += " Backward gives 0 there: is a term missing, or a tensor detached?"
        elif not steady and a.shape[0] == a.shape[1] and close(a.T, n, rtol, atol):
            text += " The transposed Jacobian would fit: are two arguments or dimensions swapped?"
    if np.isnan(np.asarray(got)).any() or np.isnan(np.asarray(want)).any():
        text += (
            " There is a NaN: keep inputs away from points where the function has no derivative."
        )
    if x.dtype.name not in ("float64", "complex128"):
        text += (
            f" The input is {x.dtype}: finite differences need double precision, "
            "try .double() inputs."
        )
    return text + "\n"


def shown(matrix: Matrix) -> str:
    return str(_core.wrap(np.ascontiguousarray(matrix)))


def mismatch(
    a: object, n: object, output: int, input_: int, part: str | None, forward: bool, tail: str
) -> GradcheckError:
    """The error; `part` is the one that was looked at, where the output is complex."""
    prefix = (
        f"While considering the {part} part of complex {'inputs' if forward else 'outputs'} only, "
        if part
        else ""
    )
    mode = "computed with forward mode " if forward else ""
    return GradcheckError(
        f"{prefix}Jacobian {mode}mismatch for output {output} with respect to input {input_},\n"
        f"numerical:{n}\nanalytical:{a}\n{tail}"
    )
