"""torch.fx: what traced programs compute, and that tracing leaves everything as it was."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from _subject import submodule, torch

fx, nn, F = submodule("fx"), submodule("nn"), submodule("nn.functional")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        self.scale = nn.Parameter(torch.tensor([2.0, 3.0]))

    def forward(self, x: Any, flag: bool = True) -> Any:
        y = self.layers(x) * self.scale
        y = F.relu(y) + F.sigmoid(y).sum(dim=-1, keepdim=True)
        return torch.cat([y, y[:, :1]], dim=1)


def test_a_traced_module_computes_what_the_module_does_gradients_too() -> None:
    torch.manual_seed(0)
    net, x = Net(), torch.randn(5, 3)
    traced = fx.symbolic_trace(net)
    want = net(x)
    for found in (traced(x), fx.Interpreter(traced).run(x), fx.Transformer(traced).transform()(x)):
        assert np.array_equal(found.detach().numpy(), want.detach().numpy())
    assert traced.scale is net.scale
    traced(x).sum().backward()
    assert net.scale.grad.abs().sum() > 0
    assert sorted(traced.state_dict()) == sorted(net.state_dict())


def test_tracing_leaves_no_trace_behind() -> None:
    before = nn.Module.__call__, nn.Module.__getattr__, F.relu, F.tanh
    with pytest.raises(fx.proxy.TraceError, match="control flow"):
        fx.symbolic_trace(lambda x: 1 if x else 0)
    fx.symbolic_trace(Net())
    assert (nn.Module.__call__, nn.Module.__getattr__, F.relu, F.tanh) == before
    assert F.relu(torch.tensor([-1.0])).item() == 0
    net = Net()
    assert isinstance(net.scale, nn.Parameter)
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        _ = net.missing


def test_a_child_may_be_traced_while_its_parent_is() -> None:
    class Nested(fx.Tracer):
        def call_module(self, m: Any, forward: Any, args: Any, kwargs: Any) -> Any:
            path = self.path_of_module(m)
            if isinstance(m, nn.Sequential):
                setattr(self.root, path, fx.GraphModule(m, fx.Tracer().trace(m)))
                return self.create_proxy("call_module", path, args, kwargs)
            return super().call_module(m, forward, args, kwargs)

    torch.manual_seed(0)
    net, x = Net(), torch.randn(5, 3)
    want = net(x)
    outer = fx.GraphModule(net, Nested().trace(net))
    assert isinstance(outer.layers, fx.GraphModule)
    assert [n.op for n in outer.layers.graph.nodes].count("call_module") == 3
    assert np.array_equal(outer(x).detach().numpy(), want.detach().numpy())


def test_a_changed_graph_is_computed_after_recompile() -> None:
    gm = fx.symbolic_trace(lambda x: torch.neg(torch.relu(x)))
    x = torch.tensor([-2.0, 2.0])
    for node in list(gm.graph.nodes):
        if node.target is torch.relu:
            node.target = torch.abs
    assert gm(x).tolist() == [0, -2]
    gm.recompile()
    assert gm(x).tolist() == [-2, -2]
    (found,) = gm.graph.find_nodes(op="call_function", target=torch.neg)
    found.replace_all_uses_with(found.args[0])
    assert gm.graph.eliminate_dead_code()
    gm.recompile()
    assert gm(x).tolist() == [2, 2]


@fx.wrap
def untraceable(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x


def test_wrapped_functions_stay_calls() -> None:
    gm = fx.symbolic_trace(lambda x: untraceable(x) + 1)
    assert gm(torch.tensor([3.0])).item() == 7
    assert gm(torch.tensor([-3.0])).item() == -2
    assert untraceable(torch.tensor([3.0])).item() == 6
    with pytest.raises(NotImplementedError, match="top level"):
        fx.wrap("untraceable")


def test_nested_arguments_are_flattened_and_put_together() -> None:
    gm = fx.symbolic_trace(
        lambda d: {"sum": d["a"] + d["b"], "both": (d["a"], 1)},
        concrete_args={"d": {"a": fx.PH, "b": fx.PH}},
    )
    a, b = torch.ones(1), torch.ones(1) * 2
    for found in (gm({"a": a, "b": b}), fx.Interpreter(gm).run({"a": a, "b": b})):
        assert found["sum"].item() == 3 and found["both"][1] == 1


def test_values_of_arguments_are_checked() -> None:
    gm = fx.symbolic_trace(lambda x, b: x * 2 if b else x, concrete_args={"b": True})
    assert gm(torch.ones(1), True).item() == 2
    with pytest.raises(AssertionError, match="b has been specialized to have value True"):
        gm(torch.ones(1), False)


def test_make_fx_records_calls_over_values() -> None:
    make_fx = submodule("fx.experimental.proxy_tensor").make_fx

    def program(x, y):
        a, b = torch.chunk(x.exp(), 2)
        return F.linear(a, y).T + b.sum()

    x, y = torch.ones(2, 3), torch.ones(4, 3)
    gm = make_fx(program)(x, y)
    assert np.allclose(gm(x, y).numpy(), program(x, y).numpy())
    again = gm(2 * x, y)
    assert np.allclose(again.numpy(), program(2 * x, y).numpy())


def test_errors_of_generated_code_show_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    gm = fx.symbolic_trace(lambda x: torch.relu(x).view(7))
    with pytest.raises(RuntimeError, match="shape"):
        gm(torch.ones(2))
    assert "<--- HERE" in capsys.readouterr().err


def test_importing_the_library_does_not_import_fx() -> None:
    import subprocess

    code = f"import sys, {torch.__name__} as t; sys.exit('{torch.__name__}.fx' in sys.modules)"
    if torch.__name__ == "rushlight":
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
