"""Tensors among arrays, NumPy's scalars and Python's objects: operators, protocols and NumPy's
functions, in both orders, against what PyTorch gives (operand_cases.py keeps its answers)."""

import re
from functools import cache

import numpy as np
import operand_cases as cases
import pytest

import rushlight

WANTED = cases.read()
# Python and NumPy word their errors anew from version to version.
SAME_VERSIONS = cases.text().splitlines()[0].endswith(f" on {cases.versions()}")
GROUPS = [*cases.TENSORS, "alone", "NumPy"]


def group_of(row: str) -> str:
    if row != cases.statement_of(row):
        return row.split(":")[0]
    return "NumPy" if row in cases.NUMPY else "alone"


@cache
def found() -> dict[str, dict[str, str]]:
    return cases.answers(rushlight)


# NumPy's functions that answer otherwise, or are not there, in one of its versions 2.2 to 2.5.
CHANGED = "argpartition bincount count_nonzero fix is_busday nanpercentile partition percentile"
SAME_NUMPY = f"NumPy {'.'.join(np.__version__.split('.')[:2])}." in cases.text().splitlines()[0]


def of_this_numpy(row: str) -> bool:
    """Whether the answer that is kept is one of the NumPy at hand too."""
    if SAME_NUMPY:
        return True
    name = row.split("(")[0].removeprefix("np.")
    return row in found() and not (row.startswith("np.") and name in CHANGED.split())


# ---- answers that are not PyTorch's, on purpose; docs/from-pytorch.md has them

# PyTorch refuses these, or compares objects; here they are what NumPy makes of the array.
OF_NUMPY = {
    *("np.all(t)", "np.any(t)", "np.mean(t)", "np.prod(t)", "np.sum(t)", "np.sum(t, axis=0)"),
    *("np.mean(t == y)", "np.mean(y == t)", "np.mean(t != y)"),
}


def elementwise_unequal(row: str, name: str, want: str, here: str) -> bool:
    """PyTorch's `!=` with an array is True, whatever is in them."""
    if " != " not in row or not name.startswith("array.") or want != "bool:T":
        return False
    equal = found()[row.replace("!=", "==")][name]
    return here == (equal if cases.is_error(equal) else equal.translate(str.maketrans("TF", "FT")))


def complex_scalar(row: str, name: str, want: str, here: str) -> bool:
    """PyTorch drops the imaginary part of an np.complex64."""
    return name == "np.complex64" and here == found()[row]["2 + 0j"]


def bools_are_bools(row: str, name: str, want: str, here: str) -> bool:
    """PyTorch's `__array_wrap__` makes uint8 of NumPy's bools."""
    number = want.translate(str.maketrans("10", "TF")).replace("uintT", "").replace("uint8", "")
    return want.startswith("uint8") and here == f"bool{number}"


def whole_numbers(row: str, name: str, want: str, here: str) -> bool:
    """PyTorch makes 255 of -1 beside an uint8 before it compares or divides."""
    if not row.startswith("u: ") or name != "-1":
        return False
    wide = found()[row.replace("u: ", "i: ")]["-1"]
    wrapped = re.sub(r"-\d+", lambda n: str(int(n[0]) % 256), wide.replace("int64", "uint8"))
    return here == wrapped


def nan_of_one_part(row: str, name: str, want: str, here: str) -> bool:
    """PyTorch adds a complex NaN where a real one is given."""
    return row.startswith("c: ") and name == "math.nan" and re.sub(r"\+\dj", "+nanj", here) == want


def better_than_an_error(row: str, name: str, want: str, here: str) -> bool:
    if row not in OF_NUMPY:
        return False
    values, dtype = cases.TENSORS[name]
    right = eval(row, {"np": np, "t": np.array(values, dtype), "y": eval(cases.NUMPY_ARRAY)})
    return re.sub(r"^(float|int|bool)(32|64)?", "", here) == cases._number(np.asarray(right)[()])


def another_reason(row: str, name: str, want: str, here: str) -> bool:
    """Of two reasons to refuse a write into bools, PyTorch says the other; and NumPy refuses to
    subtract bools, which PyTorch shows to it as numbers."""
    if row == "np.ptp(t)":
        return here.startswith("TypeError: numpy boolean subtract")
    both = want.startswith("RuntimeError: ") and here.startswith("RuntimeError: result type ")
    return both and row.split("(")[0] in ("b: t -= y", "b: t **= y", *STRINGS)


def power_of_bools(row: str, name: str, want: str, here: str) -> bool:
    """PyTorch copies for an exponent of one before it refuses bools."""
    return name == "True" and row in ("b: t ** y", "b: t **= y") and "not implemented" in here


STRINGS = ("np.array2string", "np.array_repr", "np.array_str")  # they subtract from the tensor
ON_PURPOSE = (
    *(elementwise_unequal, complex_scalar, bools_are_bools, whole_numbers, nan_of_one_part),
    *(better_than_an_error, another_reason, power_of_bools),
)


def test_no_difference_on_purpose_is_idle():
    used = {
        p
        for row in WANTED
        if of_this_numpy(row)
        for n in WANTED[row]
        for p in ON_PURPOSE
        if excused(row, n, p)
    }
    assert used == set(ON_PURPOSE)


def excused(row: str, name: str, by) -> bool:
    want, here = WANTED[row][name], found()[row][name]
    return want != here and by(row, name, want, here)


@pytest.mark.parametrize("group", GROUPS)
def test_as_pytorch(group):
    wrong = []
    for row, answers in WANTED.items():
        if group_of(row) != group or not of_this_numpy(row):
            continue
        for name, want in answers.items():
            here = found()[row][name]
            if not SAME_VERSIONS and cases.is_error(want):
                want, here = want.split(":")[0], here.split(":")[0]
                if not SAME_NUMPY and here.endswith("Error"):
                    continue  # NumPy raises other types from version to version
            if want != here and not any(p(row, name, want, here) for p in ON_PURPOSE):
                wrong.append(f"{row} [{name}]: PyTorch {want!r}, here {here!r}")
    assert not wrong, "\n".join(wrong[:40])


def test_the_kept_answers_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    if SAME_VERSIONS:
        assert cases.read() == cases.answers(torch)


def test_accuracy_by_numpy():
    predicted, y = rushlight.tensor([1, 0, 1]), np.array([1, 0, 0])
    for right in (predicted == y, y == predicted):
        assert np.mean(right) == pytest.approx(2 / 3)
    for wrong in (predicted != y, y != predicted):
        assert np.mean(wrong) == pytest.approx(1 / 3)
