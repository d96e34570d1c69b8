"""Pictures as SVG and for Graphviz: what is in them, that it is right, and that nothing breaks
out of its place."""

from __future__ import annotations

import math
import random
import re
import time
import xml.etree.ElementTree as ET
from collections import Counter
from typing import Any

import pytest

from _subject import torch

explain = torch.explain
VIEWS = ("forward", "backward", "both")
SVG = "{http://www.w3.org/2000/svg}"
# The other factor of each product of the five neurons, and its value.
FACTORS = ["a = 2", "w1 = 2", "a = 2", "w2 = 5", "b = 4", "w3 = 3", "c = 10", "w4 = 0.5"]
SOURCES = {"w1": 2.0, "w2": 5.0, "w3": 3.0, "w4": 0.5, "a": 2.0}


def five_neurons() -> dict[str, Any]:
    """The network of five neurons: its leaves and its results by name."""
    t = {name: torch.tensor(value, requires_grad=True) for name, value in SOURCES.items()}
    t["b"] = t["w1"] * t["a"]
    t["c"] = t["w2"] * t["a"]
    t["d"] = t["w3"] * t["b"] + t["w4"] * t["c"]
    t["L"] = 10 - t["d"]
    return t


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * x * g


def several_kinds() -> Any:
    """A custom function, an op with several results, a vector, a constant, a repeated argument."""
    t = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    p, q, r = t.unbind()
    s = Square.apply(p)
    return s * q + torch.sin(r) ** 2 + q * q - 0.5 * torch.exp(-s)


def mlp() -> Any:
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4))
    return net(torch.randn(3, 4)).sum()


def elements(text: str, kind: str) -> list[ET.Element]:
    """The groups of a picture that have this class."""
    root = ET.fromstring(text)
    return [g for g in root.iter(f"{SVG}g") if kind in g.get("class", "").split()]


def texts(text: str, kind: str) -> list[str]:
    """What stands in each of these groups, several texts joined by a bar."""
    found = [
        "|".join("".join(t.itertext()) for t in g.iter(f"{SVG}text")) for g in elements(text, kind)
    ]
    return sorted(found)


# ---- the five neurons


def test_leaves_operators_and_values_are_told_apart() -> None:
    t = five_neurons()
    picture = explain.svg(t["L"], names=t)
    assert texts(picture, "leaf") == ["a = 2", "w1 = 2", "w2 = 5", "w3 = 3", "w4 = 0.5"]
    assert texts(picture, "op") == sorted(["×|b = 4", "×|c = 10", "×", "×", "+|d = 17", "−|L = −7"])
    assert texts(picture, "constant") == ["10"]
    assert texts(picture, "root") == ["−|L = −7"]


def test_each_arrow_has_its_local_gradient() -> None:
    """Of a product the other factor, of a sum 1, of 10 - d with d -1; the arrow of the 10 none."""
    t = five_neurons()
    assert texts(explain.svg(t["L"], names=t), "arrow") == sorted([*FACTORS, "1", "1", "−1", ""])


def test_the_chain_rule_is_written_out() -> None:
    t = five_neurons()
    assert texts(explain.svg(t["L"], names=t, derivatives=True), "arrow") == sorted(
        [
            *("∂b/∂w1 = a = 2", "∂b/∂a = w1 = 2", "∂c/∂w2 = a = 2", "∂c/∂a = w2 = 5"),
            *("∂(w3·b)/∂w3 = b = 4", "∂(w3·b)/∂b = w3 = 3"),
            *("∂(w4·c)/∂w4 = c = 10", "∂(w4·c)/∂c = w4 = 0.5"),
            *("∂d/∂(w3·b) = 1", "∂d/∂(w4·c) = 1", "∂L/∂d = −1", ""),
        ]
    )


def test_the_backward_graph_has_the_rules_and_what_they_send() -> None:
    t = five_neurons()
    picture = explain.svg(t["L"], names=t, view="backward")
    assert texts(picture, "accumulate") == [
        f"AccumulateGrad|{name}.grad" for name in ("a", "w1", "w2", "w3", "w4")
    ]
    calls = Counter(texts(picture, "backward")) - Counter(texts(picture, "accumulate"))
    assert sorted(calls.elements()) == [
        "AddBackward0|d.grad_fn",
        *("MulBackward0", "MulBackward0", "MulBackward0|b.grad_fn", "MulBackward0|c.grad_fn"),
        "RsubBackward1|L.grad_fn",
    ]
    assert texts(picture, "arrow") == sorted(
        [*(f"g · {name}" for name in "a w1 a w2 b w3 c w4".split()), "g", "g", "−g"]
    )


def test_both_graphs_stand_side_by_side_in_the_same_arrangement() -> None:
    t = five_neurons()
    picture = explain.svg(t["L"], names=t, view="both")
    assert len(elements(picture, "arrow")) == 12 + 11

    def places(kind: str) -> list[tuple[float, float]]:
        middles = []
        for group in elements(picture, kind):
            rect = group.find(f"{SVG}rect")
            assert rect is not None
            x, y, w, h = (float(rect.get(k, "")) for k in ("x", "y", "width", "height"))
            middles.append((x + w / 2, y + h / 2))
        return middles

    forward, backward = places("leaf") + places("op"), places("backward")
    assert len(forward) == len(backward) == 11
    shift = min(x for x, _ in backward) - min(x for x, _ in forward)
    assert shift > 0
    for x, y in forward:
        assert [1 for u, v in backward if abs(x + shift - u) < 0.3 and abs(y - v) < 0.3]


# ---- what is in any picture


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("make", [several_kinds, mlp, lambda: five_neurons()["L"]])
def test_each_node_and_each_edge_is_drawn_once(make: Any, view: str) -> None:
    graph = explain.graph(make())
    picture = explain.svg(graph, view=view)
    calls = [n for n in graph.nodes if n.kind != "leaf"]
    constants = len(elements(picture, "constant"))
    edges = len(list(graph.edges))
    if view != "backward":
        assert len(elements(picture, "leaf")) == len(graph.leaves)
        assert len(elements(picture, "op") + elements(picture, "function")) == len(calls)
    if view != "forward":
        assert len(elements(picture, "accumulate")) == len(graph.leaves)
        assert len(elements(picture, "backward")) == len(graph.nodes)
    expected = {"forward": edges + constants, "backward": edges, "both": 2 * edges + constants}
    assert len(elements(picture, "arrow")) == expected[view]


def test_results_of_one_call_are_told_apart() -> None:
    t = torch.tensor([1.0, 2.0], requires_grad=True)
    p, q = t.unbind()
    picture = explain.svg(p * q * q, names={"p": p, "q": q, "t": t})
    assert "unbind|p = 1, q = 2" in texts(picture, "op")
    from_unbind = [t.text for t in ET.fromstring(picture).iter() if t.get("class") == "from"]
    assert sorted(map(str, from_unbind)) == ["p", "q", "q"]


def test_a_custom_function_is_drawn_apart_with_its_number() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    y = Square.apply(x)
    picture = explain.svg(y, names={"x": x, "y": y})
    assert texts(picture, "function") == ["Square|y = 9"]
    assert texts(picture, "arrow") == ["∂y/∂x = 6"]


@pytest.mark.parametrize("seed", range(8))
def test_numbers_are_the_local_gradients(seed: int) -> None:
    """Each result of a random program has a name, so the tip of each arrow says which derivative
    the number is; autograd computes it again."""
    pick = random.Random(seed)
    known = {f"x{i}": torch.tensor(pick.uniform(0.5, 2), requires_grad=True) for i in range(3)}
    ops = [
        lambda a, b: a * b,
        lambda a, b: a + b,
        lambda a, b: a / b,
        lambda a, b: a - b,
        lambda a, b: a.tanh(),
        lambda a, b: a.exp(),
    ]
    made: dict[str, tuple[Any, list[str], Any]] = {}
    for i in range(8):
        names = pick.sample(sorted(known), 2)
        op = pick.choice(ops)
        known[f"y{i}"] = op(*(known[n] for n in names))
        made[f"y{i}"] = op, names, None
    result = known["y0"]
    for i in range(1, 8):
        result = result + known[f"y{i}"]
    picture = explain.svg(result, names=known)
    checked = 0
    for arrow in elements(picture, "arrow"):
        tip = arrow.findtext(f"{SVG}title", "")
        found = re.fullmatch(r"∂(y\d)/∂([xy]\d) = .*?(−?[\d.]+(?:e−?\d+)?)", tip)
        if found is None:
            continue
        op, names, _ = made[found[1]]
        fresh = [known[n].detach().clone().requires_grad_() for n in names]
        op(*fresh).backward()
        expected = fresh[names.index(found[2])].grad.item()
        assert math.isclose(float(found[3].replace("−", "-")), expected, rel_tol=6e-4), tip
        checked += 1
    assert checked >= 8


def test_pictures_leave_the_graph_and_the_gradients_alone() -> None:
    t = five_neurons()
    explain.svg(t["L"])
    explain.dot(t["L"])
    assert all(t[name].grad is None for name in SOURCES)
    t["L"].backward()
    assert t["w1"].grad == -t["w3"] * t["a"]


def test_the_same_graph_gives_the_same_picture() -> None:
    graph = explain.graph(several_kinds())
    assert explain.svg(graph, view="both") == explain.svg(graph, view="both")


def test_numbers_can_be_left_out() -> None:
    t = five_neurons()
    arrows = texts(explain.svg(t["L"], names=t, numbers=False), "arrow")
    assert Counter(arrows) == Counter([*"a w1 a w2 b w3 c w4 1 1 −1".split(), ""])


def test_a_freed_graph_is_still_drawn() -> None:
    t = five_neurons()
    t["L"].backward()
    picture = explain.svg(t["L"], names=t)
    assert len(elements(picture, "op")) == 6
    assert "w3" in texts(picture, "arrow")


def test_a_notebook_shows_the_picture() -> None:
    graph = explain.graph(five_neurons()["L"])
    shown = graph._repr_html_()
    assert graph._repr_svg_() in shown and "overflow: auto" in shown
    assert "max-height: 90px" in explain.graph(five_neurons()["L"], height=90)._repr_html_()
    assert '[data-jp-theme-light="false"] .rl' in shown  # where the notebook is dark


def test_a_notebook_folds_when_asked() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
    y = net(torch.ones(1, 2)).sum()
    whole, folded = (explain.graph(y, fold=fold)._repr_svg_() for fold in (False, True))
    assert len(elements(whole, "module")) == 0 < len(elements(folded, "module"))
    assert folded == explain.svg(y, fold=True)


@pytest.mark.parametrize("view", VIEWS)
def test_a_picture_stands_alone_in_light_and_dark(view: str) -> None:
    picture = explain.svg(several_kinds(), view=view)
    root = ET.fromstring(picture)
    assert root.tag == f"{SVG}svg"
    assert [child.tag for child in root][:3] == [f"{SVG}title", f"{SVG}desc", f"{SVG}style"]
    assert re.findall(r"https?:[^\"]*", picture) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"\b(href|url|import|src)\b", picture)
    assert "prefers-color-scheme: dark" in picture
    # Every class that is used has a rule, and every variable a colour in light and in dark.
    style = root.findtext(f"{SVG}style", "")
    light, dark = style.split("@media")[0], style.split("@media")[1].split(".rl .paper")[0]
    for variable in set(re.findall(r"var\((--\w+)\)", style)):
        assert f"{variable}:" in light
        assert f"{variable}:" in dark


@pytest.mark.parametrize("function", [explain.svg, explain.dot])
def test_an_unknown_view_is_refused(function: Any) -> None:
    with pytest.raises(ValueError, match="view must be one of 'forward', 'backward', 'both'"):
        function(five_neurons()["L"], view="sideways")


@pytest.mark.parametrize("function", [explain.svg, explain.dot])
def test_a_tensor_without_a_graph_is_refused(function: Any) -> None:
    with pytest.raises(ValueError, match="does not require grad"):
        function(torch.ones(2))


# ---- large graphs


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(4, 8)
        self.out = torch.nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        return x + self.out(self.fc(x).relu())


def deep() -> Any:
    net = torch.nn.Sequential(*(Block() for _ in range(24)))
    with explain.recording():
        result = net(torch.ones(2, 4)).sum()
    return explain.graph(result)


def test_a_large_graph_is_drawn_with_its_modules_folded() -> None:
    graph = deep()
    assert len(graph.nodes) > 150
    picture = explain.svg(graph)
    # Each block has two linear layers with two parameters, a relu and a sum.
    assert texts(picture, "module") == sorted(f"{n} · Block|8 nodes" for n in range(24))
    assert texts(picture, "op")[0].startswith("Σ")
    assert len(elements(picture, "arrow")) == 24
    assert len(elements(explain.svg(graph, fold=False), "leaf")) == 24 * 4


def test_a_small_graph_is_folded_on_demand() -> None:
    net = torch.nn.Sequential(*(Block() for _ in range(2)))
    with explain.recording():
        result = net(torch.ones(2, 4)).sum()
    graph = explain.graph(result)
    assert not elements(explain.svg(graph), "module")
    picture = explain.svg(graph, fold=True)
    assert texts(picture, "module") == ["net · Sequential|16 nodes"]
    assert not elements(picture, "leaf")
    assert len(elements(picture, "arrow")) == len(elements(picture, "op")) == 1


def ten_thousand_calls(tangled: bool) -> Any:
    pick = random.Random(0)
    values = [torch.tensor(1.0, requires_grad=True) for _ in range(400)]
    for _ in range(10_000):
        value = values[-1]
        values.append(value * pick.choice(values) if tangled else value.sin())
    return explain.graph(values[-1])


@pytest.mark.parametrize("tangled", [False, True])
def test_ten_thousand_nodes_take_little_time(tangled: bool) -> None:
    graph = ten_thousand_calls(tangled)
    start = time.process_time()
    picture = explain.svg(graph)
    assert time.process_time() - start < 10  # 0.2 s; a sanitizer's build is ten times as slow
    if tangled:
        shown = "".join(ET.fromstring(picture).itertext())
        assert f"This graph has {len(graph.nodes):,} nodes" in shown
        assert "explain.page" in shown
    else:
        boxes = texts(picture, "module")
        assert 1 < len(boxes) <= 60
        assert sum(int(box.split("|")[1].removesuffix(" nodes")) for box in boxes) == len(
            graph.nodes
        ) - len(elements(picture, "op"))


def test_a_tangle_is_a_sentence_even_where_all_boxes_are_asked_for() -> None:
    graph = ten_thousand_calls(True)
    start = time.process_time()
    picture = explain.svg(graph, fold=False, numbers=False)
    assert time.process_time() - start < 20  # about 1 s
    assert "more than a picture can show" in "".join(ET.fromstring(picture).itertext())


# ---- names that break out

HOSTILE = [
    "<script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    '" onload="alert(1)',
    "]]> --> & &lt; &#x3c;",
    "\x00\x08\x1b[31m\ud800\ufffe",
    "turned \u202e around",
    '"]; evil [label="',
    "back\\",
    "two\nlines\r\n",
    "long" * 500,
    "",
    " = ",
]
ALLOWED = {f"{SVG}{tag}" for tag in "svg title desc style rect g path text tspan".split()}


def hostile() -> tuple[Any, dict[str, Any]]:
    leaves = {name: torch.tensor(1.0, requires_grad=True) for name in HOSTILE}
    total = sum(leaves.values())
    named = {f"result {name}": leaf * 2 for name, leaf in leaves.items()}
    for result in named.values():
        total = total * result
    return total, {**leaves, **named}


@pytest.mark.parametrize("view", VIEWS)
def test_hostile_names_do_nothing_in_svg(view: str) -> None:
    result, names = hostile()
    picture = explain.svg(result, names=names, view=view, fold=False, derivatives=True)
    root = ET.fromstring(picture)
    assert {e.tag for e in root.iter()} == ALLOWED
    assert not [k for e in root.iter() for k in e.attrib if k.startswith("on")]
    assert "\u202e" not in picture
    assert len(picture) < 400_000


def statements(text: str) -> list[tuple[str, list[str]]]:
    """The statements of DOT text: each without its strings, and the strings. Raises where a string
    or a brace is left open."""
    found: list[tuple[str, list[str]]] = []
    outside, strings = "", []
    depth = at = 0
    while at < len(text):
        letter = text[at]
        if letter == '"':
            end = at + 1
            while text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            strings.append(text[at + 1 : end])
            outside += "''"
            at = end
        elif letter in "{};":
            found.append((outside.strip(), strings))
            outside, strings = "", []
            depth += (letter == "{") - (letter == "}")
            assert depth >= 0
        else:
            outside += letter
        at += 1
    assert not outside.strip()
    assert not depth
    return [(words, inside) for words, inside in found if words]


KNOWN = re.compile(
    r"digraph|subgraph cluster_\w+|label=(''|\w+)|(node|edge|[nb]\d+|[nb]\d+ -> [nb]\d+)"
    r"( \[[\w=#', ]*\])?"
)


@pytest.mark.parametrize("view", VIEWS)
def test_hostile_names_do_nothing_in_dot(view: str) -> None:
    result, names = hostile()
    found = statements(explain.dot(result, names=names, view=view, fold=False))
    assert not [words for words, _ in found if not KNOWN.fullmatch(words)]


# ---- Graphviz


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("make", [several_kinds, mlp, lambda: five_neurons()["L"]])
def test_dot_has_every_node_and_edge_once(make: Any, view: str) -> None:
    graph = explain.graph(make())
    found = statements(explain.dot(graph, view=view))
    names = [w.split()[0] for w, _ in found if re.match(r"[nb]\d+ \[", w)]
    arrows = [tuple(w.split(" [")[0].split(" -> ")) for w, _ in found if "->" in w]
    assert len(set(names)) == len(names)
    assert {end for arrow in arrows for end in arrow} <= set(names)
    constants = sum("plaintext" in w for w, _ in found)
    times = 2 if view == "both" else 1
    assert len(names) == times * len(graph.nodes) + constants
    assert len(arrows) == times * len(list(graph.edges)) + constants


def test_dot_says_what_the_picture_says() -> None:
    t = five_neurons()
    found = statements(explain.dot(t["L"], names=t))
    labels = [strings[0] for words, strings in found if "->" in words and strings]
    assert sorted(labels) == sorted([*FACTORS, "1", "1", "−1"])
    nodes = [strings[0] for words, strings in found if re.match(r"n\d+ \[", words)]
    assert sorted(nodes) == sorted(
        [
            *(r"×\nb = 4", r"×\nc = 10", "×", "×", r"+\nd = 17", r"−\nL = −7", "10"),
            *("a = 2", "w1 = 2", "w2 = 5", "w3 = 3", "w4 = 0.5"),
        ]
    )


def test_modules_are_clusters_in_dot() -> None:
    net = torch.nn.Sequential(Block(), Block())
    with explain.recording():
        result = net(torch.ones(2, 4)).sum()
    graph = explain.graph(result)
    found = statements(explain.dot(graph))
    clusters = [words for words, _ in found if words.startswith("subgraph")]
    labels = [strings[0] for words, strings in found if words == "label=''"]
    assert len(set(clusters)) == len(clusters) == 7
    assert labels[1:] == ["net", "0", "0.fc", "0.out", "1", "1.fc", "1.out"]
