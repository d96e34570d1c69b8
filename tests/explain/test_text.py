"""`explain.tree`: the graph as an indented tree. Expected trees are written by hand."""

import re
import sys
import time

import pytest

from _subject import torch

nn = torch.nn
explain = torch.explain
ESCAPES = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def leaf(*shape):
    return torch.ones(*shape, requires_grad=True)


def outline(text):
    """The first column of a tree: the calls, without node classes, shapes and places."""
    return [re.split(r"(?<=[^│ ])  +", line)[0] for line in text.splitlines()]


def line_of(text, what):
    (found,) = [line for line in text.splitlines() if re.search(rf"\b{what}\b", line)]
    return found


# ---- what is printed


def test_a_small_tree():
    x = leaf(2)
    b = leaf(1)
    y = ((x * 3 + b) ** 2).sum()
    line = f"test_text.py:{sys._getframe().f_lineno - 1}"
    text = explain.tree(y)
    assert re.sub(r"\S*test_text\.py", "test_text.py", text) == (
        f"#0 y = sum          SumBackward0    float32[]              {line}\n"
        f"#1 pow(exponent=2)  PowBackward0    float32[2]  keeps 8 B  {line}\n"
        f"#2 add              AddBackward0    float32[2]             {line}\n"
        "├─ other: #3 b      AccumulateGrad  float32[1]\n"
        f"#4 mul(other=3)     MulBackward0    float32[2]             {line}\n"
        "└─ #5 x             AccumulateGrad  float32[2]\n"
        "6 nodes, 2 of them leaves; 8 B kept for backward"
    )


def test_it_shows_as_it_reads():
    text = explain.tree(leaf(2) * 2)
    assert isinstance(text, str) and repr(text) == str(text) == text
    assert text._repr_html_().startswith("<pre>#0 ")


def test_in_a_notebook_nothing_is_markup():
    w = leaf(1)
    html = explain.tree(w * 2, names={"<script>alert(1)</script>": w})._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html


def test_a_network_is_a_plain_list_of_its_calls():
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    x = torch.ones(2, 4)
    loss = net(x).mean()
    assert outline(explain.tree(loss))[:-1] == [
        "#0 loss = mean",
        "#1 linear",
        "├─ bias: #2 2.bias",
        "├─ weight: #3 2.weight",
        "#4 tanh",
        "#5 linear(input=x)",
        "├─ bias: #6 0.bias",
        "└─ weight: #7 0.weight",
    ]


def test_modules_are_a_column():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    text = explain.tree(net(torch.ones(1, 2)))
    assert re.search(r" net\.1  \S*test_text\.py:\d+$", text.splitlines()[0])
    assert line_of(text, r"0\.bias").endswith("  net.0")


def test_a_branch_is_indented_and_comes_before_the_chain_goes_on():
    a, b = leaf(2), leaf(2)
    y = a.exp().sin().cos() + (b * 2).tanh()
    assert outline(explain.tree(y))[:-1] == [
        "#0 y = add",
        "├─ other: #1 tanh",
        "│  #2 mul(other=2)",
        "│  └─ #3 b",
        "#4 cos",
        "#5 sin",
        "#6 exp",
        "└─ #7 a",
    ]


def test_numbers_are_short_and_tensors_go_by_their_names():
    x, scale = leaf(2), torch.tensor([1.0, 2.0])
    y = (x ** (1 / 3)) * scale + 10**6
    assert outline(explain.tree(y))[:3] == [
        "#0 y = add",  # it does not keep the number
        "#1 mul(other=scale)",
        "#2 pow(exponent=0.3333)",
    ]


def test_what_is_used_twice_is_printed_once():
    x = leaf(2)
    h = x.exp()
    y = h * h.tanh()
    assert outline(explain.tree(y))[:-1] == [
        "#0 y = mul",
        "├─ input: ↓ #2 h = exp",
        "#1 tanh",
        "#2 h = exp",
        "└─ #3 x",
    ]
    z = x * x
    assert outline(explain.tree(z))[:-1] == [
        "#0 z = mul",
        "├─ input: #1 x",
        "└─ other: ↑ #1 x",
    ]


def test_which_of_several_results_is_meant():
    x = leaf(3)
    a, _, c = x.unbind()
    y = a * c
    assert outline(explain.tree(y))[:-1] == [
        "#0 y = mul",
        "├─ other: ↓ #1 c = unbind[2]",
        "#1 a, c = unbind(dim=0)",
        "└─ #2 x",
    ]
    assert "float32[] and 2 more" in line_of(explain.tree(y), "UnbindBackward0")


def test_several_results_have_one_tree():
    x = leaf(2)
    first = x.exp()
    second = first * 2
    assert outline(explain.tree([first, second]))[:-1] == [
        "↓ #1 first = exp",
        "#0 second = mul(other=2)",
        "#1 first = exp",
        "└─ #2 x",
    ]


def test_a_leaf_alone():
    w = leaf(2, 3)
    assert explain.tree(w).splitlines() == [
        "#0 w  AccumulateGrad  float32[2, 3]",
        "1 node, 1 of them a leaf",
    ]


# ---- states


def test_a_freed_graph_says_where_it_was_freed():
    x = leaf(2)
    y = (x * x).sum()
    y.backward()
    place = f"test_text.py:{sys._getframe().f_lineno - 1}"
    text = explain.tree(y)
    assert re.search(rf"freed at \S*{place}", line_of(text, "MulBackward0"))
    last = text.splitlines()[-1]
    assert re.fullmatch(
        rf"freed: a backward at \S*{place} went through it, and cannot a second time", last
    )


def test_a_kept_graph_is_not_said_to_be_freed():
    x = leaf(2)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    assert "freed" not in explain.tree(y)


def test_a_saved_value_that_was_changed_is_said():
    x = leaf(2)
    h = x.exp()
    y = h.sum()
    h.data.fill_(0)
    assert "changed" not in explain.tree(y)  # .data has a version of its own
    with torch.no_grad():
        h.mul_(2)
    assert "out changed since: backward refuses" in line_of(explain.tree(y), "ExpBackward0")
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_packed_values_are_said():
    x = leaf(2)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: "elsewhere", lambda t: None):
        y = x * x
    text = explain.tree(y)
    assert "packed by hooks" in line_of(text, "MulBackward0")
    assert text.endswith("2 nodes, 1 of them a leaf; 2 values packed by hooks")


# ---- size


def blocks(count):
    """Residual blocks: each result is used twice."""
    h = leaf(2)
    for _ in range(count):
        h = h + (h * 2).tanh()
    return h


def test_a_deep_graph_is_not_indented_by_its_depth():
    began = time.process_time()
    text = explain.tree(blocks(3_000), limit=None)
    took = time.process_time() - began
    assert len(text.splitlines()) == 9_001 + 3_000 + 1  # the nodes, the shortcuts, the sum
    assert max(map(len, outline(text))) < 60
    assert took < 5


def test_a_branching_graph_is_indented_by_the_logarithm_of_its_size():
    values = [leaf(1) for _ in range(256)]
    while len(values) > 1:
        values = [a * b for a, b in zip(values[::2], values[1::2], strict=True)]
    text = explain.tree(values[0], limit=None)
    assert max(line.count("│") + line.count("─ ") for line in text.splitlines()) == 8


def test_limit_says_what_is_left_out():
    y = blocks(10)  # 31 nodes
    lines = explain.tree(y, limit=3).splitlines()
    assert len(lines) == 5
    assert outline("\n".join(lines[:3])) == ["#0 y = add", "├─ input: ↓ #3 add", "#1 tanh"]
    assert lines[-1] == "… 29 of 31 nodes are left out (limit=3)"


def test_depth_counts_calls_from_the_result():
    x = leaf(1)
    y = x.exp().sin().cos().tan()
    lines = explain.tree(y, depth=2).splitlines()
    assert outline("\n".join(lines[:-2])) == ["#0 y = tan", "#1 cos", "#2 sin"]
    assert lines[-1] == "… 2 of 5 nodes are left out (depth=2)"
    assert outline(explain.tree(y, depth=0))[0] == "#0 y = tan"


def test_a_usual_tree_has_an_end():
    text = explain.tree(blocks(3_000))
    assert len(text.splitlines()) == 402 and "nodes are left out (limit=400)" in text


@pytest.mark.parametrize("bad", [-1, 2.5, "all"])
@pytest.mark.parametrize("name", ["depth", "limit"])
def test_bad_depth_and_limit(name, bad):
    with pytest.raises(ValueError, match=f"{name}= takes a number from 0, or None, got"):
        explain.tree(leaf(1) * 2, **{name: bad})


# ---- hostile names


HOSTILE = {
    "two\nlines": "two\\nlines",
    "\x1b[31mred\x1b[0m": "\\x1b[31mred\\x1b[0m",
    "\x1b]0;title\x07": "\\x1b]0;title\\x07",
    "left\u202eright": "left\\u202eright",
    "bell\x07 null\x00": "bell\\x07 null\\x00",
    "half \ud800": "half \\ud800",
    "tab\there": "tab\\there",
    "ünïcode": "ünïcode",
}


@pytest.mark.parametrize(("name", "shown"), HOSTILE.items(), ids=map(ascii, HOSTILE))
def test_names_are_escaped(name, shown):
    w, unused = leaf(2), leaf(2)
    y = (w * w).exp()
    names = {name: w}
    texts = [
        explain.tree(y, names=names),
        str(explain.saved(y, names=names)),
        str(explain.unused(y, {name: unused})),
    ]
    for text in texts:
        assert shown in text and not ESCAPES.search(text)


def test_long_names_are_cut_in_the_middle():
    w = leaf(2)
    name = "model." + "layer." * 1000 + "weight"
    shown = explain.shown_name(name)
    assert len(shown) == 60
    assert shown.startswith("model.layer.") and shown.endswith("layer.weight") and "…" in shown
    assert shown in explain.tree(w * 2, names={name: w})


def test_a_name_that_gets_long_by_escaping_is_cut():
    assert len(explain.shown_name("\x1b" * 10**7)) == 60
    assert len(explain.shown_name("\x1b" * 50, most=20)) == 20


def test_names_of_classes_and_files_are_escaped():
    bad = type(
        "Bad\x1b[31m\nName",
        (torch.autograd.Function,),
        {
            "forward": staticmethod(lambda ctx, x: x * 2),
            "backward": staticmethod(lambda ctx, g: g * 2),
        },
    )
    space = {"bad": bad, "x": leaf(2)}
    exec(compile("y = bad.apply(x)", "evil\x1b[2J\n.py", "exec"), space)
    text = explain.tree(space["y"])
    assert not ESCAPES.search(text) and "Bad\\x1b[31m\\nName" in text and "evil\\x1b[2J" in text
    why = explain.why_no_grad(space["y"])
    assert not ESCAPES.search(why) and "evil\\x1b[2J" in why


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (4_000_000, "4.0 MB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (1_500_000_000, "1.5 GB"),
    ],
)
def test_numbers_of_bytes(count, text):
    from rushlight.explain._text import bytes_text

    assert bytes_text(count) == text
