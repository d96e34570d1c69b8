"""What `print(tensor)` shows, character for character: widths, exponents, summaries, suffixes."""

import numpy as np
import pytest
from compat import oracle

from _subject import NAME
from _subject import torch as subject

# Expressions over `t`; the text of the value must be the same on both libraries.
SHOWN = """
t.tensor(1)
t.tensor(-3)
t.tensor(2.5)
t.tensor(2.0)
t.tensor(-0.0)
t.tensor(1e-10)
t.tensor(1e10)
t.tensor(123456.0)
t.tensor(0.1)
t.tensor(1/3)
t.tensor(True)
t.tensor(1j)
t.tensor(1.5-2j)
t.tensor(float('nan'))
t.tensor(float('inf'))
t.tensor(-float('inf'))
t.tensor([])
t.tensor([[]])
t.zeros(0, 3)
t.zeros(2, 0, 3)
t.zeros(0, dtype=t.int64)
t.zeros(0, 2, dtype=t.bool)
t.tensor([1, 2, 3])
t.tensor([1, -2, 300])
t.tensor([[1, 20], [300, 4]])
t.tensor([10**12, 1])
t.tensor([1.0, 2.0])
t.tensor([1.0, 2.5])
t.tensor([0.1, 0.25, 3.123456])
t.tensor([1.0, 1000.0])
t.tensor([1.0, 1001.0])
t.tensor([1.5, 1001.5])
t.tensor([0.001, 1.0])
t.tensor([0.0001, 0.1])
t.tensor([0.00009, 1.0])
t.tensor([1e-5, 1e-6])
t.tensor([1e5, 2e5])
t.tensor([1e8, 1.0])
t.tensor([1.1e8, 1.0])
t.tensor([123456789.0])
t.tensor([99999.5, 1.0])
t.tensor([1e-8, 1.0])
t.tensor([0.0, 1e-9])
t.tensor([0.0, 0.0])
t.tensor([-0.0, 0.0])
t.tensor([1.0, float('nan')])
t.tensor([1.5, float('nan')])
t.tensor([float('inf'), 1.0])
t.tensor([float('inf'), -1.25, float('nan')])
t.tensor([float('inf'), float('inf')])
t.tensor([float('nan'), 1e10])
t.tensor([1e-3, 1e3])
t.tensor([1e-3, 2e3])
t.tensor([3.4e38, 1e-38])
t.tensor([1e-45])
t.tensor([-1.5, 2.25])
t.tensor([[-1.0, 2.0], [3.0, -4.0]])
t.tensor([[1.5, 20.25], [300.125, -4.0]])
t.tensor([True, False])
t.tensor([[True], [False]])
t.tensor([1, 2], dtype=t.uint8)
t.tensor([1, 2], dtype=t.int8)
t.tensor([1, 2], dtype=t.int32)
t.tensor([1.5, 2], dtype=t.float64)
t.tensor([1.5, 2], dtype=t.float16)
t.tensor([1.5, 2], dtype=t.bfloat16)
t.tensor([0.1, 1000.5], dtype=t.float16)
t.tensor([65504.0, 1.0], dtype=t.float16)
t.tensor([1e-7, 1.0], dtype=t.float16)
t.tensor([0.1, 0.3], dtype=t.bfloat16)
t.tensor([1e30, 1.0], dtype=t.bfloat16)
t.tensor(2.5, dtype=t.float64)
t.tensor(1e-300, dtype=t.float64)
t.tensor([1e300, 1.0], dtype=t.float64)
t.tensor([1+2j, 3-4j])
t.tensor([1.5+2.25j, -3j])
t.tensor([1e5+1j, 1e-5+0j])
t.tensor([1+2j], dtype=t.complex128)
t.tensor([complex('nan'), complex('inf+1j')])
t.tensor([[1+1j, 2], [3, 4j]])
t.ones(2, 2)
t.ones(2, 3, 2)
t.zeros(2, 1, 2, 2)
t.arange(10)
t.arange(20)
t.arange(30)
t.arange(40.0)
t.arange(50).view(5, 10)
t.arange(100).view(2, 50)
t.arange(24.0).view(2, 3, 4)
t.arange(1000)
t.arange(1001)
t.arange(1001.0)
t.arange(2000).view(2, 1000)
t.arange(2000.0).view(1000, 2)
t.arange(3000).view(30, 100)
t.arange(27000).view(30, 30, 30)
t.zeros(1001, dtype=t.bool)
t.zeros(40, 40)
t.zeros(3, 2000)
t.zeros(7, 200) + 0.5
t.zeros(2000, 0)
t.linspace(0, 1, 7)
t.linspace(-1000, 1000, 5)
t.linspace(0, 2 * 3.141592653589793, 25)
t.sin(t.linspace(0, 6.2831853, 25))
t.logspace(-10, 10, 5)
t.tensor([12345.678, 0.001])
t.tensor([100000.5])
t.tensor([[1e-4, 1], [2, 3]])
t.tensor([0.5]*18)
t.tensor([0.5]*19)
t.tensor([0.55555]*30)
t.tensor([-0.55555]*11)
t.tensor([1e-6]*9)
t.ones(3, requires_grad=True)
t.ones((), requires_grad=True)
t.tensor(2.0, requires_grad=True)
t.tensor(2.0, requires_grad=True) * 3
t.ones(3, requires_grad=True) * 2
t.ones(3, requires_grad=True).exp()
t.ones(3, dtype=t.float64, requires_grad=True)
t.ones(3, dtype=t.float64, requires_grad=True) + 1
t.ones(2, 2, requires_grad=True).sum()
t.ones(2, 2, requires_grad=True).view(4)
t.ones(2, 2, requires_grad=True)[0]
t.ones(9, requires_grad=True) / 3
t.linspace(0, 1, 9, requires_grad=True)
t.linspace(0, 1, 10, requires_grad=True)
t.sin(t.linspace(0, 6.2831853, 25, requires_grad=True))
t.ones(2, 4, dtype=t.float64, requires_grad=True).softmax(1)
t.zeros(2, 0, requires_grad=True)
t.ones(1001, requires_grad=True)
t.ones(2, requires_grad=True).detach()
t.ones(2, requires_grad=True).data
t.ones(2, requires_grad=True).clone()
t.ones(2, requires_grad=True).double()
t.ones(2, requires_grad=True).split(1)
t.ones(2, requires_grad=True).max(0)
(t.ones(2, requires_grad=True) * 1j)
t.nn.Parameter(t.ones(2))
t.nn.Parameter(t.tensor(1.0))
t.nn.Parameter(t.ones(2), requires_grad=False)
t.nn.Parameter(t.ones(2, 3, dtype=t.float64))
[t.ones(2), t.zeros(1)]
(t.tensor(1), t.tensor(2.5))
{'a': t.tensor([1, 2])}
t.tensor([3, 1, 2]).sort()
t.tensor([[3, 1], [1, 2]]).max(1)
t.tensor([3, 1, 2]).topk(2)
t.tensor([3, 1, 2]).mode()
t.tensor([3.0, 1, 2]).median(0)
t.tensor([[3.0, 1]]).min(dim=1)
t.ones(2, 3).t()
t.ones(2, 3)[:, ::2]
t.ones(3).expand(2, 3)
t.tensor([1+2j]).conj()
t.Size([2, 3])
t.Size([])
t.ones(2, 3).shape
t.ones(2).dtype
t.int64
t.device('cpu')
t.device('cuda:1')
t.ones(1).device
t.finfo(t.float32)
t.finfo(t.float16)
t.iinfo(t.int8)
t.ones(2).type()
f'{t.tensor(2.5)}'
f'{t.tensor(2.5):.3f}'
f'{t.tensor(3):d}'
f'{t.tensor(3):5d}|'
f'{t.tensor(2.5, requires_grad=True)}'
f'{t.tensor(0.1)}'
f'{t.ones(2)}'
'%s' % t.ones(2)
'%.2f' % t.tensor(1.234)
'%d' % t.tensor(3)
'{:>10}|'.format(t.tensor(1))
str(t.tensor(1.0))
str(t.tensor(0.1).item())
t.tensor([1, 2]).tolist()
t.tensor([0.1, 0.2]).tolist()
t.tensor(0.1).item()
t.tensor(0.1, dtype=t.float64).item()
t.tensor([[1.0, 2.0], [3.0, 4.0]]) @ t.tensor([1.0, 1.0])
t.tensor([1., 2, 3]).mean()
t.tensor([1, 2, 3]).float().std()
t.eye(3)
t.eye(3) * 1000
t.eye(3) * 1e4
t.eye(2) * 1e-4
t.eye(2) * 1e-5
"""

# Under `set_printoptions`: the options, then what is shown.
OPTIONS = """
precision=2 | t.tensor([1.23456, 2.0])
precision=8 | t.tensor([0.1, 0.2])
precision=0 | t.tensor([1.5, 2.5])
sci_mode=True | t.tensor([1.0, 2.0])
sci_mode=False | t.tensor([1e-6, 1e6])
linewidth=30 | t.arange(20)
linewidth=40 | t.ones(12, requires_grad=True)
threshold=5 | t.arange(10)
threshold=5, edgeitems=1 | t.arange(10)
threshold=5, edgeitems=2 | t.arange(36).view(6, 6)
profile='full' | t.arange(1200)
profile='short' | t.arange(1200.0) + 0.123456
precision=3, sci_mode=False | t.tensor([[1e-4, 1e4]])
"""

FIXED_WIDTH_ROWS = [(rows, columns) for rows in (1, 2, 9) for columns in (1, 3, 12, 13, 40, 120)]


def shown(library, expression: str) -> str:
    value = eval(expression, {"t": library, "np": np})
    return repr(value).replace(f"{NAME}.", "torch.") if library is subject else repr(value)


@pytest.mark.parametrize("expression", SHOWN.split("\n")[1:-1])
def test_text(expression):
    assert shown(subject, expression) == shown(oracle, expression)


@pytest.mark.parametrize("line", OPTIONS.split("\n")[1:-1])
def test_print_options(line):
    options, _, expression = line.partition(" | ")
    texts = []
    for library in (subject, oracle):
        eval(f"t.set_printoptions({options})", {"t": library})
        try:
            texts.append(shown(library, expression))
        finally:
            library.set_printoptions(profile="default")
    assert texts[0] == texts[1]


MAKERS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "wide": lambda rng, shape: 10.0 ** rng.uniform(-6, 6, shape),
    "large": lambda rng, shape: rng.normal(size=shape) * 5e3,
    "small": lambda rng, shape: rng.normal(size=shape) * 1e-4,
    "whole": lambda rng, shape: rng.integers(-2000, 2000, shape).astype(float),
    "holes": lambda rng, shape: np.where(rng.random(shape) < 0.2, np.nan, rng.normal(size=shape)),
    "ends": lambda rng, shape: np.where(rng.random(shape) < 0.2, -np.inf, rng.normal(size=shape)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("kind", MAKERS)
def test_random_values(kind, dtype):
    """Tables of values of one kind, at widths around the line's end."""
    rng = np.random.default_rng(3)
    for rows, columns in FIXED_WIDTH_ROWS:
        with np.errstate(over="ignore"):
            values = MAKERS[kind](rng, (rows, columns)).astype(np.float32)
        texts = [
            repr(library.from_numpy(values).to(getattr(library, dtype)))
            for library in (subject, oracle)
        ]
        assert texts[0] == texts[1], (rows, columns)


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8", "bool", "int32"])
def test_random_integers(dtype):
    rng = np.random.default_rng(4)
    for rows, columns in FIXED_WIDTH_ROWS:
        for high in (2, 100):
            values = rng.integers(0, high, (rows, columns)).astype(dtype)
            assert repr(subject.from_numpy(values)) == repr(oracle.from_numpy(values))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_random_complex(dtype):
    rng = np.random.default_rng(5)
    for rows, columns in FIXED_WIDTH_ROWS:
        for scale in (1, 1e5):
            parts = rng.normal(size=(2, rows, columns)) * scale
            values = (parts[0] + 1j * parts[1]).astype(dtype)
            assert repr(subject.from_numpy(values)) == repr(oracle.from_numpy(values))
