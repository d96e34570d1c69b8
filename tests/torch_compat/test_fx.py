"""torch.fx against PyTorch: printed graphs, generated code, what tracing refuses."""

from __future__ import annotations

import copy
import importlib
import math
import operator
import pickle
import types
from collections.abc import Callable
from typing import Any

import pytest

import rushlight

pytorch = pytest.importorskip("torch")
importlib.import_module("torch.fx.passes.shape_prop")

SHAPE_PROP = "fx.passes.shape_prop"


def sub(t: Any, path: str) -> Any:
    return importlib.import_module(f"{t.__name__}.{path}")


def block(t: Any) -> Any:
    class Block(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.bn = t.nn.Conv2d(1, 1, 1), t.nn.BatchNorm2d(1)

        def forward(self, x):
            return self.bn(self.conv(x)).relu()

    class Net(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = Block()
            self.rest = t.nn.ModuleList([Block(), t.nn.Linear(1, 1)])
            self.scale = t.nn.Parameter(t.ones(1))
            self.register_buffer("shift", t.ones(1))
            self.plain = t.ones(1)

        def forward(self, x, power=2):
            for layer in self.rest:
                x = layer(x)
            x = self.first(x) * self.scale * self.scale + self.shift - self.plain
            return self.rest[0](x) ** power, {"x": x}

    return Net()


def unpacked(x):
    a, b, c = x
    return a + b * c


def variadic(x, *args, y=3, **kw):
    return x + args[0] + kw["a"] + y


def in_place(x):
    x += 1
    x[0] = 2
    return x


def one_arg(f: Callable[..., Any]) -> Any:
    """A function of t and x as one of x."""
    return lambda t: lambda x: f(t, x)


def typed(t: Any) -> Any:
    def f(x, y=3):
        return x + y

    f.__annotations__ = {"x": t.Tensor, "y": int, "return": t.Tensor}
    return f


# What is traced: of a library, a module or function.
TRACED: dict[str, Callable[[Any], Any]] = {
    "modules": block,
    "sequential": lambda t: t.nn.Sequential(t.nn.Linear(2, 3), t.nn.ReLU()),
    "unpacked": lambda t: unpacked,
    "variadic": lambda t: variadic,
    "typed": typed,
    "builtin names": lambda t: lambda input, max, self_: input + max + self_,
    "math": lambda t: lambda x: math.sqrt(x),
    "bool": lambda t: lambda x: 1 if x > 0 else 0,
    "loop": lambda t: lambda x: [y for y in x],
    "len": lambda t: lambda x: len(x),
    "star": lambda t: lambda x: operator.add(*x),
    "constant": lambda t: lambda x: t.ones(2) + x + t.ones(2),
    "in place": lambda t: lambda x: x.add_(1),
    "odd argument": one_arg(lambda t, x: x.foo(object())),
    "methods": one_arg(lambda t, x: x.view(-1).sum(dim=0, keepdim=True).to(t.float64).shape[0]),
    "subscript": one_arg(lambda t, x: x[0, :, 1:3, None, ...]),
    "operators": one_arg(
        lambda t, x: (x == 1, x != 1, x < 1, ~x, x & 1, 1 | x, x ^ 1, x << 1, x >> 1, x @ x)
    ),
    "more operators": one_arg(
        lambda t, x: (2**x, abs(x), x // 2, x % 3, -x, +x, 5 - x, 1 / x, x <= 1, x >= x)
    ),
    "numbers": one_arg(lambda t, x: x.clamp(min=float("-inf"), max=float("nan"))),
    "device": one_arg(lambda t, x: x.to(t.device("cpu"), dtype=t.float16)),
    "root": one_arg(
        lambda t, x: (
            *(t.relu(x), t.add(x, 1, alpha=2), t.cat([x, x], dim=1), t.flatten(x, 1), t.sum(x)),
            *(t.split(x, 2), t.norm(x), t.meshgrid(x, x), t.where(x, x, x), t.unique(x)),
            *(t.cdist(x, x), t.einsum("ij,jk", x, x), t.atleast_1d(x), t.tensordot(x, x)),
        )
    ),
    "layers": one_arg(
        lambda t, x: (
            *(t.nn.functional.relu(x), t.nn.functional.dropout(x, 0.3), t.nn.functional.tanh(x)),
            *(t.nn.functional.linear(x, x), t.nn.functional.gelu(x), t.nn.functional.silu(x)),
            *(t.nn.functional.softmax(x, dim=1), t.nn.functional.max_pool2d(x, 2)),
            *(t.nn.functional.cross_entropy(x, x), t.nn.functional.embedding(x, x)),
            *(t.nn.functional.interpolate(x, scale_factor=2), t.nn.functional.pad(x, (1, 1))),
            *(t.nn.functional.threshold(x, 1, 2), t.nn.functional.logsigmoid(x)),
            *(t.nn.functional.conv2d(x, x), t.nn.functional.scaled_dot_product_attention(x, x, x)),
            *(t.nn.functional.batch_norm(x, x, x), t.nn.functional.layer_norm(x, (3,))),
            *(t.nn.functional.l1_loss(x, x), t.nn.functional.normalize(x)),
        )
    ),
    "namespaces": one_arg(lambda t, x: (t.linalg.norm(x), t.fft.fft(x), t.special.entr(x))),
}


def answer(function: Callable[[Any], Any], t: Any) -> str:
    try:
        return str(function(t)).replace("rushlight.", "torch.")
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def text(gm: Any) -> str:
    return f"{gm.graph}\n{gm.code}"


@pytest.mark.parametrize("case", TRACED)
def test_traced_programs_print_the_same(case: str) -> None:
    make = TRACED[case]

    def traced(t: Any) -> str:
        return text(sub(t, "fx").symbolic_trace(make(t)))

    assert answer(traced, rushlight) == answer(traced, pytorch)


def through(t: Any) -> str:
    class Through(sub(t, "fx").Tracer):
        def is_leaf_module(self, m, name):
            return False

    nn = t.nn
    layers = [nn.Linear(2, 2), nn.ReLU(), nn.Dropout(), nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1)]
    layers += [nn.LayerNorm(2), nn.Softmax(dim=-1), nn.Embedding(3, 2), nn.Flatten(), nn.GELU()]
    layers += [nn.AdaptiveAvgPool2d(1), nn.MaxPool2d(2), nn.Tanh(), nn.Sigmoid(), nn.ELU()]
    return str(Through().trace(nn.Sequential(*layers)))


def by_hand(t: Any) -> list[Any]:
    graph = sub(t, "fx").Graph()
    x = graph.placeholder("x")
    y = graph.call_function(t.add, (x, 1))
    z = graph.call_method("relu", (y,))
    graph.output(z)
    said = [answer(lambda t: graph.erase_node(y), t)]
    with graph.inserting_before(z):
        w = graph.call_function(operator.mul, (y, y))
    y.replace_all_uses_with(w, delete_user_cb=lambda user: user is not w)
    graph.call_function(t.neg, (x,))
    said += [str(graph), y.users, w.users, w.all_input_nodes, w.next, w.prev, y < w, sorted([w, x])]
    said += [answer(lambda t: graph.call_function(t.cat, ([x],)).args[0].append(1), t)]
    said += [answer(lambda t: graph.create_node("strange", "x"), t)]
    said += [answer(lambda t: graph.create_node("call_method", t.add), t)]
    said += [graph.eliminate_dead_code(), str(graph), [n.format_node() for n in graph.nodes]]
    with graph.on_generate_code(lambda before: lambda body: ["print(1)\n", *body]):
        said.append(graph.python_code("self").src)
    said += [graph.python_code("self").src, graph.find_nodes(op="call_function", target=t.add)]
    z.prepend(y)
    return [*said, answer(lambda t: graph.lint(), t)]


def rewritten(t: Any) -> list[Any]:
    fx = sub(t, "fx")

    def program(x, w1, w2):
        m1 = t.cat([w1, w2]).sum()
        m2 = t.cat([w1, w2]).sum()
        return x + t.max(m1) + t.max(m2)

    gm = fx.symbolic_trace(program)
    found = fx.replace_pattern(gm, lambda a, b: t.cat([a, b]), lambda a, b: t.stack([a, b]))
    return [gm.code, [(m.anchor, m.nodes_map) for m in found]]


def transformed(t: Any) -> str:
    fx = sub(t, "fx")

    class Swap(fx.Transformer):
        def call_function(self, target, args, kwargs):
            return super().call_function(t.neg if target is t.abs else target, args, kwargs)

        def call_method(self, target, args, kwargs):
            return super().call_method("tanh", args, kwargs)

    return text(Swap(fx.symbolic_trace(lambda x: t.abs(x.sigmoid()) + 1)).transform())


def shapes(t: Any) -> list[Any]:
    fx = sub(t, "fx")
    gm = fx.symbolic_trace(t.nn.Sequential(t.nn.Linear(2, 3), t.nn.Flatten()))
    sub(t, SHAPE_PROP).ShapeProp(gm).propagate(t.ones(4, 2))
    readable = gm.print_readable(print_output=False, include_stride=True, include_device=True)
    return [[n.meta["tensor_meta"] for n in gm.graph.nodes], readable]


def copies(t: Any) -> list[Any]:
    fx = sub(t, "fx")
    gm = fx.symbolic_trace(t.nn.Sequential(t.nn.Linear(2, 2), t.nn.ReLU()))
    again = pickle.loads(pickle.dumps(gm))
    copied = copy.deepcopy(gm)
    found = [text(again), text(copied), again(t.ones(1, 2)).shape, type(copied).__name__]
    found += [copied.add_submodule("a.b.c", t.nn.ReLU()), copied.delete_submodule("a.nope")]
    copied.delete_all_unused_submodules()
    return [*found, str(copied)]


def concrete(t: Any) -> list[str]:
    fx = sub(t, "fx")
    cases: list[tuple[Any, dict[str, Any]]] = [
        (lambda x, b: x * 2 if b else x, {"b": True}),
        (lambda x, b: x * 2 if b is None else x, {"b": None}),
        (lambda d: {"sum": d["a"] + d["b"]}, {"d": {"a": fx.PH, "b": fx.PH}}),
    ]
    return [text(fx.symbolic_trace(f, concrete_args=given)) for f, given in cases]


def interpreted(t: Any) -> list[str]:
    fx = sub(t, "fx")
    gm = fx.symbolic_trace(lambda x, y=2: t.relu(x) * y)
    x = t.tensor([-1.0, 2.0])
    found = [str(fx.Interpreter(gm).run(x)), str(fx.Interpreter(gm).run(x, 3))]
    found.append(answer(lambda t: fx.Interpreter(gm).run(), t))
    found.append(answer(lambda t: fx.Interpreter(gm).boxed_run([x]), t))
    return [*found, answer(lambda t: fx.GraphModule({}, block_graph(t)), t)]


def block_graph(t: Any) -> Any:
    return sub(t, "fx").symbolic_trace(block(t)).graph


def stacks(t: Any) -> list[Any]:
    gm = sub(t, "fx").symbolic_trace(block(t))
    found = [n.meta.get("nn_module_stack", {}) for n in gm.graph.nodes]
    return [{k: (path, kind.__name__) for k, (path, kind) in f.items()} for f in found]


@pytest.mark.parametrize(
    "program",
    [
        *(through, by_hand, rewritten, transformed, shapes, copies, concrete, interpreted, stacks),
    ],
    ids=lambda f: f.__name__,
)
def test_programs_over_graphs_give_the_same(program: types.FunctionType) -> None:
    assert answer(program, rushlight) == answer(program, pytorch)
