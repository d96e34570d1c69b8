"""torch.jit, torch.compile, torch._dynamo: what they are given runs; what is not here says so."""

from typing import Dict, List, Optional, Tuple, Union  # noqa: UP035

import pytest

import rushlight as torch
from rushlight import _dynamo, compiler, jit, nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)

    def forward(self, x):
        return self.layer(x)

    @jit.export
    def twice(self, x):
        return 2 * x

    @jit.unused
    def shown(self, x):
        return x

    @jit.ignore(drop=True)
    def dropped(self, x):
        return x


@pytest.mark.parametrize("convert", [jit.script, jit.optimize_for_inference])
def test_a_module_stays_what_it_is(convert):
    net = Net()
    assert convert(net) is net
    assert net.twice(3) == 6 and net.shown(1) == net.dropped(1) == 1


def test_a_compiled_module_has_the_module():
    net = Net()
    made = torch.compile(net)
    assert isinstance(made, _dynamo.OptimizedModule) and made._orig_mod is net
    assert torch.equal(made(torch.ones(1, 2)), net(torch.ones(1, 2)))
    assert [n for n, _ in made.named_parameters()] == [
        f"_orig_mod.{n}" for n, _ in net.named_parameters()
    ]
    assert made.twice(3) == 6 and made.eval() is made and not net.training
    made.extra = 5
    assert net.extra == 5 and torch.compile(net, disable=True) is net


def test_a_trace_runs_for_other_inputs():
    net = Net()
    traced = jit.trace(net, torch.zeros(1, 2))
    assert traced(torch.zeros(5, 2)).shape == (5, 1)


@pytest.mark.parametrize(
    "decorator",
    [
        *(jit.script, jit.ignore, jit.script_if_tracing, compiler.allow_in_graph),
        *(torch.compile(backend="eager"), torch.compile(mode="max-autotune", disable=True)),
        *(compiler.disable, compiler.disable(recursive=False)),
        *(_dynamo.disable, _dynamo.optimize("inductor")),
    ],
)
def test_decorators_give_the_function_back(decorator):
    def f(x):
        return x + 1

    assert decorator(f) is f


def test_the_questions_have_answers():
    assert not jit.is_scripting() and not jit.is_tracing()
    assert not compiler.is_compiling() and not _dynamo.is_compiling()
    assert not isinstance(Net(), jit.ScriptModule)


def test_mode_and_options_together_are_refused():
    with pytest.raises(RuntimeError, match="Either mode or options can be specified"):
        torch.compile(Net(), mode="default", options={"a": 1})


@pytest.mark.parametrize("f", [jit.save, jit.load, compiler.load_compiled_function])
def test_what_is_not_here_says_so(f):
    with pytest.raises(NotImplementedError, match=r"^torch\.\w+\.\w+ is not in rushlight: "):
        f("file")


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ([1, 2], List[int], True),  # noqa: UP006
        ([1, 2.0], List[int], False),  # noqa: UP006
        ({"a": [1.0]}, Dict[str, List[float]], True),  # noqa: UP006
        ({"a": [1]}, Dict[str, List[float]], False),  # noqa: UP006
        ((1, "a"), Tuple[int, str], True),  # noqa: UP006
        ((1, "a", 2), Tuple[int, str], False),  # noqa: UP006
        (None, Optional[int], True),  # noqa: UP045
        ("a", Union[int, str], True),  # noqa: UP007
        (1.5, (int, str), False),
        (1, int, True),
    ],
)
def test_isinstance_looks_inside(value, kind, expected):
    assert jit.isinstance(value, kind) is expected


def test_fork_and_wait():
    assert jit.wait(jit.fork(lambda a, b: a + b, 1, b=2)) == 3
