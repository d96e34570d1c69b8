"""Pointwise programs as kernels of their own: the same bits as the interpreter's, in every form."""

import numpy as np
import pytest

import rushlight as torch
from rushlight import _core
from rushlight._devices import programs

NEVER = 2**63
functional = torch.nn.functional
PROGRAMS = {
    "add": (2, lambda a, b: a + b),
    "number": (1, lambda a: a * 3 + 2),
    "where": (2, lambda a, b: torch.where(a > b, a, b)),
    "compare": (2, lambda a, b: a <= b),
    "clamp": (1, lambda a: a.clamp(-1, 1)),
    "addcmul": (3, lambda a, b, c: torch.addcmul(a, b, c, value=2)),
}
REALS = {
    "tanh": (1, torch.tanh),
    "gelu": (1, functional.gelu),
    "silu": (1, functional.silu),
    "pow": (2, lambda a, b: torch.pow(a.abs(), b)),
    "lerp": (3, torch.lerp),
    "div": (2, lambda a, b: a / b),
}
FORMS = {
    "dense": lambda t: t,
    "transposed": lambda t: t.transpose(0, 2),
    "steps": lambda t: t[:, ::2, 1::3],
    "spread": lambda t: t[:1, :, :1],
    "no dimensions": lambda t: t[0, 0, 0],
    "empty": lambda t: t[:0],
}


@pytest.fixture
def after():
    """Sets after how many steps programs are compiled, and counts the kernels that are made."""
    was = _core.accelerator_compile_after(NEVER)
    yield _core.accelerator_compile_after
    _core.accelerator_compile_after(was)


def operands(dtype, n):
    made = np.random.default_rng(3)
    values = [made.standard_normal((4, 6, 9)) * 3 for _ in range(n)]
    return [torch.tensor(v).to(dtype).to("opencl") for v in values]


def bits(t):
    return t.cpu().contiguous().view(torch.uint8).tolist() if t.dim() else t.item()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [*PROGRAMS, *REALS])
def test_same_bits_as_interpreted(name, form, after, refuse):
    n, function = (PROGRAMS | REALS)[name]
    given = operands(torch.float32, n)
    # The first as it is, so that the others are spread to its shape.
    given = [FORMS[form](t) if i or form != "spread" else t for i, t in enumerate(given)]
    interpreted = function(*given)
    after(0)
    compiled = function(*given)
    assert compiled.stride() == interpreted.stride()
    assert bits(compiled) == bits(interpreted)


DTYPES = "bool uint8 int16 int64 float16 bfloat16 float64".split()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["add", "where", "compare", "number"])
def test_same_bits_in_other_types(name, dtype, after, refuse):
    n, function = PROGRAMS[name]
    given = operands(getattr(torch, dtype), n)
    interpreted = function(*given)
    after(0)
    assert bits(function(*given)) == bits(interpreted)


def test_compiled_once_it_was_interpreted_enough(after, monkeypatch):
    made, known = [], programs.build

    def noted(*args, **named):
        made.append(args)
        return known(*args, **named)

    monkeypatch.setattr(programs, "build", noted)
    x = torch.arange(1000.0, device="opencl")
    after(12000)  # of 1000 elements times four steps: two inputs, one instruction, one result
    results = [(x * 17.5 - x).sum().item() for _ in range(5)]
    assert len(set(results)) == 1
    count = len(made)
    assert count >= 1
    assert (x * 17.5 - x).sum().item() == results[0]
    assert len(made) == count


def test_types_and_forms_have_kernels_of_their_own(after):
    after(0)
    x = torch.arange(12.0, device="opencl").view(3, 4)
    assert (x + x).tolist() == (2 * np.arange(12.0).reshape(3, 4)).tolist()
    assert (x.T + x.T).tolist() == (2 * np.arange(12.0).reshape(3, 4).T).tolist()
    assert (x + x.double()).dtype is torch.float64
    assert (x + 1).tolist() == (np.arange(12.0).reshape(3, 4) + 1).tolist()
