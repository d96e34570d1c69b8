"""FlopCounterMode and torch.utils.benchmark against PyTorch: counts, and measurements as text."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

import rushlight

pytorch = pytest.importorskip("torch")

COUNTED = """net(t.ones(3, 4)).sum().backward(); net(t.ones(2, 3, 4)).sum().backward()
F.conv2d(o(2, 3, 8, 8), o(4, 3, 3, 3), padding=1, stride=2).sum().backward()
F.conv1d(o(2, 4, 8), o(6, 2, 3), groups=2).sum().backward(); net(o(4)); F.linear(o(4), o(3, 4))
F.conv2d(t.ones(2, 3, 8, 8), o(4, 3, 3, 3)).sum().backward(); t.ones(3, 4) @ t.ones(4)
F.conv_transpose2d(o(2, 3, 8, 8), o(3, 4, 3, 3)).sum().backward(); t.dot(t.ones(4), t.ones(4))
F.scaled_dot_product_attention(o(2, 3, 4, 5), o(2, 3, 6, 5), o(2, 3, 6, 7)).sum().backward()
(o(2, 3, 4) @ o(2, 4, 5)).sum().backward(); (o(2, 3, 4) @ o(4, 5)).sum().backward()
t.ones(2, 1, 3, 4) @ t.ones(3, 4, 5); t.einsum('bij,bjk->bik', t.ones(2, 3, 4), t.ones(2, 4, 5))
t.einsum('ij,jk->ik', o(3, 4), o(4, 5)).sum().backward(); t.einsum('ij,ij->i', o(3, 4), o(3, 4))
t.baddbmm(t.ones(1), t.ones(2, 3, 4), t.ones(2, 4, 5)); t.tensordot(t.ones(3, 4), t.ones(4, 5), 1)
t.addmm(t.ones(1), o(3, 4), o(4, 5)).sum().backward(); t.matrix_power(t.ones(3, 3), 4)
layer(t.ones(3, 2, 4)).sum().backward(); t.outer(t.ones(3), t.ones(3)); o(2, 3).relu().sum()
""".replace("\n", ";").split(";")


def counts(t: Any, program: str) -> Any:
    nn, f = t.nn, t.nn.functional
    names = {"t": t, "F": f, "o": lambda *sizes: t.ones(*sizes, requires_grad=True)}
    names["net"] = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Sequential(nn.Linear(8, 2)))
    names["layer"] = nn.TransformerEncoderLayer(4, 2, 8)
    mode = importlib.import_module(f"{t.__name__}.utils.flop_counter").FlopCounterMode
    with mode(display=False) as counter:
        eval(program, names)
    found = {m: {str(k): v for k, v in c.items()} for m, c in counter.get_flop_counts().items()}
    return counter.get_total_flops(), found


@pytest.mark.parametrize("program", [p.strip() for p in COUNTED if p.strip()])
def test_flops_are_those_that_pytorch_counts(program: str) -> None:
    assert counts(rushlight, program) == counts(pytorch, program)


def spec(b: Any, **settings: Any) -> Any:
    return b.TaskSpec(**{"stmt": "x + 1", "setup": "pass", **settings})


def compared(b: Any, trim: bool) -> str:
    rows = [("a", "x"), ("a", "y"), ("b", "x"), ("bbb", "yyyyyyyyyy")]
    found = [
        b.Measurement(
            1, [i * 1e-3] * 4, spec(b, label="L", sub_label=s, description=d, num_threads=n)
        )
        for n in (1, 2)
        for i, (s, d) in enumerate(rows, 1)
    ]
    table = b.Compare(found)
    if trim:
        table.trim_significant_figures()
    return str(table)


TOLD: dict[str, Callable[[Any], Any]] = {
    "one": lambda b: b.Measurement(10, [1e-4], spec(b)),
    "several": lambda b: b.Measurement(10, [1e-4, 1.2e-4, 1.1e-4, 1.3e-4], spec(b, label="L")),
    "lines": lambda b: b.Measurement(1, [3.0, 9, 4, 5, 6], spec(b, stmt="x\ny", setup="z\nw")),
    "setup": lambda b: b.Measurement(1, [3.0], spec(b, setup="import x", num_threads=2)),
    "described": lambda b: b.Measurement(
        1, [3e-9, 3e-9], spec(b, label="L", sub_label="s", description="d")
    ),
    "units": lambda b: [b.select_unit(s) for s in (1e-5, 0.5, 1, 2e-9, 5e3)],
    "figures": lambda b: [b.trim_sigfig(1234.5, n) for n in (1, 2, 3)],
    "table": lambda b: compared(b, False),
    "trimmed": lambda b: compared(b, True),
}


@pytest.mark.parametrize("what", TOLD)
def test_measurements_are_told_as_by_pytorch(what: str) -> None:
    def told(t: Any) -> list[str]:
        module = importlib.import_module(f"{t.__name__}.utils.benchmark")
        return [line for line in str(TOLD[what](module)).split("\n") if "object at" not in line]

    assert told(rushlight) == told(pytorch)


def test_a_timer_runs_the_statement() -> None:
    from rushlight.utils.benchmark import Timer

    ran: list[int] = []
    timer = Timer("ran.append(1)", globals={"ran": ran})
    assert timer.timeit(5).number_per_run == 5 and len(ran) == 5 + 2
    assert timer.blocked_autorange(min_run_time=1e-3).median > 0
    with pytest.raises(ValueError, match="Invalid language"):
        Timer("x", language="fortran")
