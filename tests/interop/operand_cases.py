"""Tensors beside arrays, NumPy's scalars, Python's numbers and other objects: the cases, and what
a library makes of each.

`python tests/interop/operand_cases.py --accept` writes PyTorch's answers, for where it is not
installed: a line a statement, and the operands behind each answer. An answer is the result's type,
dtype and values, or `!` and the number of an error.
"""

from __future__ import annotations

import gzip
import math
import operator
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).parents[1] / "data" / "operands.tsv.gz"
ERRORS = "# errors"

# The tensors, by name: their values and dtype.
TENSORS = {
    "f": ([2.0, 3.0, -1.0], "float32"),
    "h": ([2.0, 3.0, -1.0], "bfloat16"),
    "i": ([2, 3, 1], "int64"),
    "u": ([2, 3, 1], "uint8"),
    "b": ([True, False, True], "bool"),
    "c": ([2 + 1j, 3, 1j], "complex64"),
    "f0": (2.5, "float32"),
    "i0": (3, "int64"),
    "e": ([], "float32"),
}
# What stands on the other side: the text of an expression.
OTHERS = {
    **{f"array.{d}": f"np.array([2, 1, 1], '{d}')" for d in "? u1 i4 i8 f2 f4 f8".split()},
    **{f"array.{d}": f"np.array([2, 1j, 1], '{d}')" for d in ("c8", "c16")},
    "array.f8.0-dim": "np.array(2.5)",
    "array.i8.0-dim": "np.array(3)",
    "array.f8.2": "np.array([2.0, 1.0])",
    "array.f8.2x3": "np.array([[2.0, 1.0, 1.0], [1.0, 3.0, 1.0]])",
    "array.U1": "np.array(['2', '1', '1'])",
    **{f"np.{d}": f"np.{d}(2)" for d in "float64 float32 float16 int64 uint8".split()},
    "np.bool": "np.bool_(True)",
    "np.complex64": "np.complex64(2)",
    "np.complex128": "np.complex128(2j)",
    **{
        text: text for text in ("2", "-1", "2.5", "True", "2j", "2 + 0j", "None", "'a'", "math.nan")
    },
    "list": "[2, 1, 1]",
    "tuple": "(2, 1, 1)",
}
BINARY = "+ - * / // % ** @ & | ^ << >>".split()
COMPARISONS = "== != < <= > >=".split()
STATEMENTS = [
    *(f"t {op} y" for op in [*BINARY, *COMPARISONS, "in"]),
    *(f"y {op} t" for op in [*BINARY, *COMPARISONS, "in"]),
    "divmod(t, y)",
    "divmod(y, t)",
]
IN_PLACE = [f"{a} {op}= {b}" for op in BINARY for a, b in ("ty", "yt")]

# What takes a tensor alone. `t` is each of TENSORS.
ALONE = """
-t
+t
~t
abs(t)
not t
bool(t)
int(t)
float(t)
complex(t)
len(t)
list(t)
tuple(t)
iter(t) is iter(t)
list(reversed(t))
round(t)
round(t, 1)
pow(t, 2, 3)
divmod(t, 2)
hash(t) == hash(t)
hash(t) == id(t)
str(t)
repr(t)
f'{t}'
f'{t:.2f}'
f'{t:5}'
f'{t!r}'
'%s' % t
'%d' % t
'%.1f' % t
format(t)
format(t, 'd')
bytes(t)
range(t)
[7, 8, 9, 10][t]
'ab' * t
[0] * t
t * [0]
slice(t).indices(9)
(5).__add__(t)
sum(t)
sum([t, t])
max(t)
min(t)
max(t, t)
sorted(t)
any(t)
all(t)
enumerate(t).__next__()
dict(zip(t.tolist() if t.dim() else [], t if t.dim() else []))
{t: 1}[t]
t in [t]
t in {t}
[t].index(t)
[t].count(t)
t == t
bool(t) and 1
1 if t else 2
chr(t)
bin(t)
hex(t)
isinstance(t, np.ndarray)
callable(t)
next(iter(t))
t[0]
t[True]
t[None].shape
t[...]
t[np.int64(0)]
t[np.array([0, 0])]
t[np.array([True, False, True])]
t[[0, 0]]
math.ceil(t)
math.floor(t)
math.trunc(t)
math.sqrt(t)
math.exp(t)
math.isnan(t)
math.isinf(t)
math.isfinite(t)
math.isclose(t, t)
math.fsum(t)
math.prod(t)
math.gcd(t, 6)
math.factorial(t)
math.comb(5, t)
math.hypot(t, t)
math.dist(t, t)
math.pow(t, 2)
math.copysign(1, t)
math.fmod(t, 2)
math.modf(t)
math.frexp(t)
math.ldexp(1.0, t)
math.degrees(t)
math.log(t)
math.log2(t)
operator.index(t)
operator.truth(t)
operator.length_hint(t)
operator.concat(t, t)
operator.contains(t, 2)
operator.countOf(t, 2)
operator.indexOf(t, 2)
operator.getitem(t, 0)
operator.matmul(t, t)
operator.iadd(t, 1)
operator.inv(t)
operator.not_(t)
operator.pos(t)
operator.is_(t, t)
np.float32(1) in t
np.int64(2) in t
np.bool_(True) in t
2 in t
2.0 in t
'a' in t
None in t
[2] in t
np.array(2) in t
t in np.array([2.5, 3.0])
t in [1, 2]
np.array([1, 2, 3, 4])[t]
np.asarray(t)
np.array(t)
np.array(t, dtype='f4')
np.asarray(t, dtype=int)
np.array([t, t])
np.float32(t)
np.int64(t)
np.bool_(t)
np.zeros(t)
np.zeros((t, 2)).shape
np.random.default_rng(0).integers(t)
np.isscalar(t)
np.iterable(t)
np.ndim(t)
np.shape(t)
np.result_type(t)
""".strip().splitlines()


def _functions_of_numpy() -> Iterator[str]:
    """NumPy's ufuncs and public functions, of one tensor and of a tensor and an array."""
    skip = """save savez savez_compressed savetxt load loadtxt genfromtxt fromfile fromregex info
        show_config show_runtime get_include test seterr seterrcall setbufsize getbufsize geterr
        set_printoptions printoptions get_printoptions errstate memmap nditer nested_iters
        frompyfunc vectorize apply_along_axis apply_over_axes fromfunction fromiter frombuffer
        fromstring from_dlpack empty empty_like typename put place putmask copyto
        putmask fill_diagonal bitwise_count format_parser lookfor source who einsum_path
        require broadcast busdaycalendar size""".split()
    for name in sorted(set(np.__all__) - set(skip)):
        f = getattr(np, name)
        if isinstance(f, type) or not callable(f) or name.startswith("_"):
            continue
        if isinstance(f, np.ufunc):
            if f.nin == 1:
                yield f"np.{name}(t)"
            elif f.nin == 2:
                yield f"np.{name}(t, y)"
                yield f"np.{name}(y, t)"
            continue
        yield f"np.{name}(t)"
        yield f"np.{name}(t, y)"
        yield f"np.{name}(y, t)"
        yield f"np.{name}([t, y])"


NUMPY = [
    *_functions_of_numpy(),
    "np.where(t > 1, t, y)",
    "np.where(t > 1, y, 0)",
    "np.add.reduce(t)",
    "np.add.accumulate(t)",
    "np.add.outer(t, y)",
    "np.add.at(y, [0], t[0])",
    "np.add(t, y, out=y)",
    "np.mean(t == y)",
    "np.mean(y == t)",
    "np.mean(t != y)",
    "np.sum(t, axis=0)",
    "np.einsum('i,i', t, y)",
    "np.linalg.norm(t)",
    "np.linalg.norm(t - y)",
    "np.fft.fft(t)",
    "np.testing.assert_allclose(t, t)",
    "np.testing.assert_array_equal(t, y)",
]
NUMPY_TENSORS = ("f", "b", "f0")
NUMPY_ARRAY = "np.array([2.0, 1.0, 1.0])"


def tensor_of(lib: Any, name: str) -> Any:
    values, dtype = TENSORS[name]
    return lib.tensor(values, dtype=getattr(lib, dtype))


def _number(x: Any) -> str:
    if isinstance(x, (bool, np.bool_)):
        return "T" if x else "F"
    if isinstance(x, (complex, np.complexfloating)):
        return f"{round(x.real, 3) + 0.0:.4g}{round(x.imag, 3) + 0.0:+.4g}j"
    if isinstance(x, (float, np.floating)):
        return f"{x:.4g}"
    return str(x)


def _values(nested: Any) -> str:
    return f"[{' '.join(map(_values, nested))}]" if isinstance(nested, list) else _number(nested)


def _said(lib: Any, x: Any) -> str:
    if isinstance(x, lib.Tensor):
        return f"{str(x.dtype).removeprefix('torch.')}{_values(x.tolist())}"
    if isinstance(x, np.ndarray):
        if x.dtype == object:
            return f"{type(x).__name__}.object{x.shape}"
        return f"{type(x).__name__}.{x.dtype}{_values(x.tolist())}"
    if isinstance(x, np.generic):
        return f"np.{x.dtype}:{_number(x)}"
    if isinstance(x, (tuple, list)):
        return f"{type(x).__name__}({','.join(_said(lib, e) for e in x)})"
    if isinstance(x, dict):
        return f"dict({','.join(f'{k}:{_said(lib, v)}' for k, v in x.items())})"
    return f"{type(x).__name__}:{_number(x)}" if isinstance(x, (int, float, complex)) else repr(x)


def first_sentence(error: Exception) -> str:
    text = str(error).split("\n")[0].split(". ")[0]
    text = text.split(": it is (")[0].split(" - got (")[0].rstrip(".")
    return f"{type(error).__name__}: {text}"


def answer(lib: Any, statement: str, tensor: str, other: str) -> str:
    """What a statement about `t` and `y` gives: its value, the changed operand, or the error."""
    space = {"torch": lib, "np": np, "math": math, "operator": operator}
    space["t"] = tensor_of(lib, tensor)
    space["y"] = eval(other, space)
    changed = statement[0] if "= " in statement and statement in IN_PLACE else ""
    before = space.get(changed)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if not changed:
                return _said(lib, eval(statement, space)).replace("\n", "\\n").replace("\t", " ")
            exec(statement, space)
            return _said(lib, space[changed]) + ("" if space[changed] is before else " (new)")
    except Exception as error:
        return first_sentence(error).replace("\t", " ")


def rows() -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """The statements, each with its operands: (name of them, tensor, the other's expression)."""
    for t in TENSORS:
        for s in [*STATEMENTS, *IN_PLACE]:
            yield f"{t}: {s}", [(name, t, text) for name, text in OTHERS.items()]
    for s in ALONE:
        yield s, [(t, t, "0") for t in TENSORS]
    for s in NUMPY:
        yield s, [(t, t, NUMPY_ARRAY) for t in NUMPY_TENSORS]


def is_error(said: str) -> bool:
    return said.split(":")[0].endswith("Error")


def answers(lib: Any) -> dict[str, dict[str, str]]:
    """Of each row: the answer by the operands' name."""
    return {
        row: {name: answer(lib, statement_of(row), t, y) for name, t, y in operands}
        for row, operands in rows()
    }


def statement_of(row: str) -> str:
    tensor, colon, statement = row.partition(": ")
    return statement if colon and tensor in TENSORS else row


def versions() -> str:
    return f"Python {sys.version_info[0]}.{sys.version_info[1]}, NumPy {np.__version__}"


def write(found: dict[str, dict[str, str]]) -> str:
    errors: dict[str, int] = {}
    lines = []
    for row, given in found.items():
        groups: dict[str, list[str]] = {}
        for name, said in given.items():
            if is_error(said):
                said = f"!{errors.setdefault(said, len(errors))}"
            groups.setdefault(said, []).append(name)
        lines.append("\t".join([row, *(f"{said}\t{','.join(n)}" for said, n in groups.items())]))
    head = f"# Of PyTorch, by tests/interop/operand_cases.py --accept, on {versions()}"
    return "\n".join([head, *lines, ERRORS, *errors]) + "\n"


def text() -> str:
    return gzip.decompress(FILE.read_bytes()).decode()


def read() -> dict[str, dict[str, str]]:
    """The answers that are kept."""
    lines = text().splitlines()[1:]
    at = lines.index(ERRORS)
    errors = lines[at + 1 :]
    found: dict[str, dict[str, str]] = {}
    for line in lines[:at]:
        row, *groups = line.split("\t")
        found[row] = {
            name: errors[int(said[1:])] if said.startswith("!") else said
            for said, names in zip(groups[::2], groups[1::2], strict=True)
            for name in names.split(",")
        }
    return found


if __name__ == "__main__" and sys.argv[1:] == ["--accept"]:
    import torch

    FILE.write_bytes(gzip.compress(write(answers(torch)).encode(), mtime=0))
