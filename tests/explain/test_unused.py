"""`explain.unused`: which parameters get no gradient. What backward leaves in `.grad` decides."""

import random
import sys

import pytest

from _subject import torch

nn = torch.nn
explain = torch.explain


def leaf(*shape):
    return torch.ones(*shape, requires_grad=True)


def reasons(loss, parameters):
    return {row.name: row.reason for row in explain.unused(loss, parameters).rows}


def here(back=1):
    return sys._getframe(1).f_lineno - back


# ---- all of them get one


def test_all_get_one():
    net = nn.Sequential(*(nn.Linear(2, 2) for _ in range(6)))
    found = explain.unused(net(torch.ones(1, 2)).sum(), net)
    assert str(found) == repr(found) == "all 12 parameters get a gradient"
    assert not found and len(found) == 0 and found.count == 12


def test_one_or_none():
    w = leaf(2)
    assert str(explain.unused(w * 2, [w])) == "the parameter gets a gradient"
    assert str(explain.unused(w * 2, iter([]))).startswith("no parameters were given")


# ---- the forms of parameters


@pytest.mark.parametrize(
    ("form", "found"),  # found: names come from the variable `net`, whose items have the others
    [
        (lambda net: net, False),
        (lambda net: net.parameters(), True),
        (lambda net: list(net.parameters()), True),
        (lambda net: net.named_parameters(), False),
        (lambda net: dict(net.named_parameters()), False),
    ],
    ids=["module", "parameters", "list", "named_parameters", "dict"],
)
def test_forms(form, found):
    net = nn.ModuleDict({"used": nn.Linear(2, 1), "spare": nn.Linear(2, 1)})
    loss = net["used"](torch.ones(1, 2)).sum()
    where = "net." * found
    assert reasons(loss, form(net)) == {
        f"{where}spare.{name}": "not used" for name in ("weight", "bias")
    }


def test_one_tensor():
    w, other = leaf(2), leaf(2)
    assert [row.name for row in explain.unused(w * 2, other).rows] == ["other"]


@pytest.mark.parametrize("bad", [3, ["w"], [("w", 3)], [(3, leaf(1))], {"w": None}], ids=repr)
def test_bad_parameters(bad):
    with pytest.raises(TypeError, match="unused: parameters takes a module, tensors"):
        explain.unused(leaf(1) * 2, bad)


def test_a_loss_without_a_graph():
    w = leaf(2)
    with pytest.raises(ValueError, match=r"there is no graph to show.*detach"):
        explain.unused((w * 2).detach(), [w])


# ---- the reasons


def test_frozen():
    net = nn.Linear(2, 1)
    net.bias.requires_grad_(False)
    (row,) = explain.unused(net(torch.ones(1, 2)), net).rows
    assert (row.name, row.reason, row.tensor) == ("bias", "frozen", net.bias)


def test_a_parameter_that_was_detached():
    w, scale = leaf(2), leaf(2)
    inner = scale.detach()
    line = here()
    loss = (w * inner).sum()
    (row,) = explain.unused(loss, {"w": w, "scale": scale}).rows
    assert (row.name, row.reason, row.place.line) == ("scale", "not used", line)
    assert "mul uses it cut off: detach() at" in row.text and f"test_unused.py:{line}" in row.text


def test_a_part_that_ran_without_gradients():
    first, second = nn.Linear(2, 2), nn.Linear(2, 1)
    with torch.no_grad():
        features = first(torch.ones(1, 2))
        line = here()
    loss = second(features).sum()
    found = explain.unused(loss, [*first.named_parameters(), *second.named_parameters()])
    assert [row.name for row in found.rows] == ["weight", "bias"]
    (hint,) = found.hints
    assert "Perhaps it was lost on the way to `features`, an argument of linear" in hint
    assert f"line {line}, in " in hint and hint in str(found)


def test_data_that_came_in_is_no_hint():
    net, spare = nn.Linear(2, 1), leaf(2)
    assert explain.unused(net(torch.tensor([[1.0, 2.0]])), [spare]).hints == ()


@pytest.mark.parametrize(
    "flat",
    [
        torch.round,
        torch.floor,
        torch.ceil,
        torch.trunc,
        torch.sign,
        lambda t: torch.div(t, 2, rounding_mode="floor"),
        lambda t: torch.bernoulli(t),
        lambda t: (t * 1).zero_(),
        lambda t: (t * 1).fill_(3.0),
        lambda t: torch.round(t).exp() + torch.floor(t),
    ],
    ids="round floor ceil trunc sign div bernoulli zero_ fill_ two".split(),
)
def test_a_derivative_that_is_zero_everywhere(flat):
    w, other = leaf(2), leaf(2)
    loss = (flat(w) * other).sum()
    assert reasons(loss, {"w": w, "other": other}) == {"w": "always zero"}
    loss.backward()
    assert w.grad.abs().sum() == 0 and other.grad is not None


@pytest.mark.parametrize(
    "steep",
    [
        torch.relu,
        torch.abs,
        torch.frac,
        lambda t: t % 2,
        lambda t: torch.round(t) + t,
        lambda t: torch.where(t > 0, t, 0),
        lambda t: torch.clamp(t, -9, 9),
    ],
    ids="relu abs frac mod straight-through where clamp".split(),
)
def test_a_derivative_that_is_not(steep):
    w = leaf(2)
    assert reasons(steep(w).sum(), {"w": w}) == {}


def test_what_backward_refuses():
    w, other = leaf(2), leaf(2)
    loss = (torch.heaviside(w, torch.ones(2)) * other).sum()
    line = here()
    (row,) = explain.unused(loss, {"w": w, "other": other}).rows
    assert (row.name, row.reason, row.place.line) == ("w", "no derivative", line)
    assert "heaviside" in row.text
    with pytest.raises(RuntimeError, match="derivative for aten::heaviside is not implemented"):
        loss.backward()


def test_a_parameter_that_is_no_leaf():
    raw = leaf(2)
    scaled = raw * 0.1
    line = here()
    loss = scaled.exp().sum()
    (row,) = explain.unused(loss, {"scaled": scaled, "raw": raw}).rows
    assert (row.name, row.reason, row.place.line) == ("scaled", "not a leaf", line)
    scaled.retain_grad()
    assert not explain.unused(loss, {"scaled": scaled})


def test_shared_parameters():
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    net[1].weight = net[0].weight
    assert not explain.unused(net(torch.ones(1, 2)), net)


def test_text():
    net = nn.ModuleDict({"used": nn.Linear(2, 1), "spare": nn.Linear(2, 1)})
    net["used"].bias.requires_grad_(False)
    loss = net["used"](torch.ones(1, 2)).sum()
    assert str(explain.unused(loss, net)).splitlines() == [
        "3 of 4 parameters get no gradient:",
        "  used.bias     float32[1]     frozen    requires_grad is False",
        "  spare.weight  float32[1, 2]  not used  the loss was not computed from it",
        "  spare.bias    float32[1]     not used  the loss was not computed from it",
    ]


# ---- against backward


@pytest.mark.parametrize("seed", range(40))
def test_what_is_said_is_what_backward_does(seed):
    draw = random.Random(seed)
    parameters = {f"p{n}": torch.rand(3).add_(0.3).requires_grad_() for n in range(5)}
    values = [*parameters.values()][:4]
    for _ in range(8):
        a, b = draw.choice(values), draw.choice(values)
        values.append(
            draw.choice(
                [
                    lambda a, b: a * b,
                    lambda a, b: a + b.detach(),
                    lambda a, b: a.round() * b,
                    lambda a, b: a.exp(),
                    lambda a, b: a.floor() + b.sign(),
                ]
            )(a, b)
        )
    loss = values[-1].sum()
    said = reasons(loss, parameters)
    loss.backward()
    for name, parameter in parameters.items():
        if said.get(name) == "not used":
            assert parameter.grad is None
        else:
            zero = not parameter.grad.any()
            assert parameter.grad is not None and (said.get(name) != "always zero" or zero)
    # A gradient that is zero by chance of the numbers is not said to be so.
    assert set(said.values()) <= {"not used", "always zero"}
