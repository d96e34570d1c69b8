"""Optimizers against PyTorch's: numbers over some steps, state dicts both ways, errors."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import rushlight

pytorch = pytest.importorskip("torch")

DECAY = {"weight_decay": 0.1}
RULES: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"momentum": 0.9, "nesterov": True, **DECAY}),
    ("Adagrad", {"lr_decay": 0.1, **DECAY}),
    ("Adam", {"amsgrad": True, **DECAY}),
    ("Adam", {"decoupled_weight_decay": True, "maximize": True, **DECAY}),
    ("AdamW", {}),
    ("RMSprop", {"momentum": 0.9, "centered": True, **DECAY}),
    ("Adadelta", {}),
    ("Adadelta", {"rho": 0.5, "eps": 1e-3, "maximize": True, **DECAY}),
    ("Adamax", {}),
    ("Adamax", {"betas": (0.5, 0.7), "maximize": True, **DECAY}),
    ("NAdam", {}),
    ("NAdam", {"momentum_decay": 0.1, "maximize": True, **DECAY}),
    ("NAdam", {"decoupled_weight_decay": True, **DECAY}),
    ("RAdam", {}),
    ("RAdam", {"betas": (0.8, 0.9), "maximize": True, **DECAY}),
    ("RAdam", {"decoupled_weight_decay": True, **DECAY}),
    ("ASGD", {}),
    ("ASGD", {"lambd": 0.1, "t0": 5, "maximize": True, **DECAY}),
    ("Rprop", {}),
    ("Rprop", {"etas": (0.3, 2.0), "step_sizes": (1e-3, 0.2), "maximize": True}),
    ("Adafactor", {}),
    ("Adafactor", {"eps": (1e-2, 0.5), "d": 2.0, "maximize": True, **DECAY}),
    ("Adafactor", {"beta2_decay": -0.3, "d": 1.5}),
]
SHAPES = [(3, 4), (5,), (), (2, 3, 2)]
NO_COMPLEX = ("Adafactor",)


def name_of(value: object) -> str:
    return str(value)


def trained(m: Any, rule: str, options: dict[str, Any], dtype: str, steps: int = 20) -> Any:
    """Parameters in two groups and the optimizer, after steps with seeded gradients."""
    params, optimizer = made(m, rule, options, dtype)
    go_on(m, params, optimizer, range(steps), dtype)
    return params, optimizer


def made(m: Any, rule: str, options: dict[str, Any], dtype: str) -> Any:
    rng = np.random.default_rng(0)
    params = [m.tensor(numbers(rng, s, dtype)).requires_grad_() for s in SHAPES]
    groups = [{"params": params[:2]}, {"params": params[2:], "lr": 0.03}]
    return params, getattr(m.optim, rule)(groups, **{"lr": 0.1, **options})


def numbers(rng: Any, shape: tuple[int, ...], dtype: str) -> Any:
    values = rng.standard_normal(shape)
    if dtype == "complex128":
        values = values + 1j * rng.standard_normal(shape)
    return np.asarray(values, dtype=dtype)


def go_on(m: Any, params: Any, optimizer: Any, steps: range, dtype: str) -> None:
    for i in steps:
        rng = np.random.default_rng(100 + i)
        for j, (p, shape) in enumerate(zip(params, SHAPES, strict=True)):
            g = numbers(rng, shape, dtype)
            if i % 3 == 2:
                g = g * (rng.random(shape) > 0.3)  # entries of 0 are a case of their own in Rprop
            # The second parameter is left out now and then.
            p.grad = None if j == 1 and i % 4 == 1 else m.tensor(g)
        optimizer.step()


def assert_equal_params(ours: Any, theirs: Any, rtol: float) -> None:
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=rtol, atol=rtol)


def assert_equal_states(ours: dict[str, Any], theirs: dict[str, Any], rtol: float) -> None:
    """Layout, dtypes and values of two state dicts."""
    assert ours["state"].keys() == theirs["state"].keys()
    for number, want in theirs["state"].items():
        found = ours["state"][number]
        assert set(found) == set(want)
        for key, value in want.items():
            if isinstance(value, pytorch.Tensor):
                assert str(found[key].dtype) == str(value.dtype), key
                assert tuple(found[key].shape) == tuple(value.shape), key
                np.testing.assert_allclose(found[key].numpy(), value.numpy(), rtol, rtol)
            else:
                assert found[key] == value
    assert [dict(sorted(g.items())) for g in ours["param_groups"]] == [
        dict(sorted(g.items())) for g in theirs["param_groups"]
    ]


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize(("rule", "options"), RULES, ids=name_of)
def test_twenty_steps(rule: str, options: dict[str, Any], dtype: str) -> None:
    if dtype == "complex128" and rule in NO_COMPLEX:
        pytest.skip("for real parameters only")
    rtol = 2e-5 if dtype == "float32" else 1e-10
    ours, mine = trained(rushlight, rule, options, dtype)
    theirs, other = trained(pytorch, rule, options, dtype)
    assert_equal_params(ours, theirs, rtol)
    assert_equal_states(mine.state_dict(), other.state_dict(), rtol)
    assert repr(mine) == repr(other)
    assert mine.defaults == other.defaults


def converted(m: Any, value: Any) -> Any:
    """A state dict with tensors of the other library."""
    if isinstance(value, dict):
        return {key: converted(m, v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(converted(m, v) for v in value)
    return m.tensor(value.numpy()) if hasattr(value, "numpy") else copy.copy(value)


@pytest.mark.parametrize(("rule", "options"), RULES, ids=name_of)
def test_state_dicts_go_both_ways(rule: str, options: dict[str, Any]) -> None:
    """Both libraries go on alike from a state of either."""
    for source in (rushlight, pytorch):
        params, optimizer = trained(source, rule, options, "float64", 7)
        ends = []
        for m in (rushlight, pytorch):
            others = [m.tensor(p.detach().numpy().copy()).requires_grad_() for p in params]
            groups = [{"params": others[:2]}, {"params": others[2:]}]
            resumed = getattr(m.optim, rule)(groups)
            resumed.load_state_dict(converted(m, optimizer.state_dict()))
            go_on(m, others, resumed, range(7, 12), "float64")
            ends.append((others, resumed.state_dict()))
        (ours, mine), (theirs, other) = ends
        assert_equal_params(ours, theirs, 1e-10)
        assert_equal_states(mine, other, 1e-10)


@pytest.mark.parametrize(
    ("rule", "options"), [r for r in RULES if r[0] != "Adafactor"], ids=name_of
)
def test_a_differentiable_step(rule: str, options: dict[str, Any]) -> None:
    """The derivative of the parameters after one step by those before it and by the gradient."""
    found = []
    for m in (rushlight, pytorch):
        start = m.tensor([1.0, -2.0, 3.0], dtype=m.float64, requires_grad=True)
        grad = m.tensor([0.5, 0.25, -1.0], dtype=m.float64, requires_grad=True)
        p = start.clone()
        optimizer = getattr(m.optim, rule)([p], lr=0.1, differentiable=True, **options)
        p.grad = grad.clone()
        optimizer.step()
        gradients = m.autograd.grad((p * p).sum(), (start, grad), allow_unused=True)
        found.append([p] + [g for g in gradients if g is not None])
    assert len(found[0]) == len(found[1])
    assert_equal_params(*found, 1e-6)


@pytest.mark.parametrize("options", [{}, {"nesterov": False}, {"adjust_lr_fn": "match_rms_adamw"}])
@pytest.mark.parametrize("shape", [(3, 4), (6, 2), (8, 8)])
def test_muon(options: dict[str, Any], shape: tuple[int, int]) -> None:
    """The update is computed in bfloat16, whose products are rounded in other places."""
    found = []
    for m in (rushlight, pytorch):
        rng = np.random.default_rng(0)
        p = m.tensor(rng.standard_normal(shape)).requires_grad_()
        optimizer = m.optim.Muon([p], lr=0.1, **options)
        for _ in range(3):
            p.grad = m.tensor(rng.standard_normal(shape))
            optimizer.step()
        found.append((p, optimizer))
    (p, mine), (q, other) = found
    np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), atol=1e-3)
    assert_equal_states(mine.state_dict(), other.state_dict(), 1e-12)
    assert repr(mine) == repr(other)


def rosenbrock(m: Any, options: dict[str, Any], calls: int, dtype: str = "float64") -> Any:
    x = m.tensor([-1.5, 2.0], dtype=getattr(m, dtype)).requires_grad_()
    y = m.tensor([[0.5]], dtype=getattr(m, dtype)).requires_grad_()
    optimizer = m.optim.LBFGS([x, y], **options)
    losses = []

    def closure() -> Any:
        optimizer.zero_grad()
        a, b, c = x[0], x[1], y[0, 0]
        loss = (1 - a) ** 2 + 5 * (b - a * a) ** 2 + (1 - b) ** 2 + 5 * (c - b * b) ** 2
        loss.backward()
        losses.append(loss.item())
        return loss

    returned = [optimizer.step(closure).item() for _ in range(calls)]
    return losses, returned, optimizer, closure, (x, y)


@pytest.mark.parametrize(
    "options",
    [
        {"line_search_fn": "strong_wolfe"},
        {"line_search_fn": "strong_wolfe", "max_iter": 4, "history_size": 2},
        {"line_search_fn": "strong_wolfe", "lr": 1e-3, "max_iter": 3},
        {"line_search_fn": "strong_wolfe", "lr": 50.0, "max_iter": 5, "max_eval": 12},
        {"lr": 0.1, "max_iter": 6},
        {"lr": 0.05, "history_size": 3, "tolerance_change": 1e-3},
    ],
    ids=name_of,
)
def test_lbfgs(options: dict[str, Any]) -> None:
    losses, returned, mine, _, _ = rosenbrock(rushlight, options, 4)
    want, want_returned, other, _, _ = rosenbrock(pytorch, options, 4)
    assert len(losses) == len(want)
    np.testing.assert_allclose(losses, want, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(returned, want_returned, rtol=1e-6, atol=1e-9)
    ours, theirs = mine.state_dict(), other.state_dict()
    assert ours["param_groups"] == theirs["param_groups"]
    found, expected = ours["state"][0], theirs["state"][0]
    assert set(found) == set(expected)
    for key in ("func_evals", "n_iter"):
        assert found[key] == expected[key]
    for key in ("al", "old_dirs", "old_stps", "ro"):
        assert len(found[key]) == len(expected[key])
    assert repr(mine) == repr(other)


def test_lbfgs_goes_on_from_a_state_of_pytorchs() -> None:
    options = {"line_search_fn": "strong_wolfe", "max_iter": 3}
    want, _, other, their_closure, (x, y) = rosenbrock(pytorch, options, 1)
    losses, _, mine, closure, (a, b) = rosenbrock(rushlight, options, 0)
    with rushlight.no_grad():
        a.copy_(rushlight.tensor(x.detach().numpy()))
        b.copy_(rushlight.tensor(y.detach().numpy()))
    mine.load_state_dict(converted(rushlight, other.state_dict()))
    want.clear()
    for _ in range(2):
        mine.step(closure)
        other.step(their_closure)
    np.testing.assert_allclose(losses, want, rtol=1e-6, atol=1e-9)


BAD: list[tuple[str, dict[str, Any]]] = [
    *[(rule, {"lr": -1.0}) for rule in ("Adadelta", "ASGD", "LBFGS", "Muon", "Adafactor", "Rprop")],
    *[(rule, {"betas": (0.5, 1.0)}) for rule in ("Adamax", "NAdam", "RAdam", "SparseAdam")],
    *[(rule, {"capturable": True}) for rule in ("Adadelta", "Adamax", "NAdam", "ASGD", "Rprop")],
    ("Adam", {"lr": "tensor", "foreach": True}),
    ("Adadelta", {"rho": 1.5}),
    ("Adamax", {"eps": -1, "betas": (2.0, 2.0)}),
    ("NAdam", {"momentum_decay": -1.0}),
    ("Rprop", {"etas": (1.5, 1.2)}),
    ("Adafactor", {"beta2_decay": 1.0}),
    ("Adafactor", {"eps": (-1.0, 1e-3)}),
    ("Adafactor", {"eps": (None, -1.0)}),
    ("Adafactor", {"d": 0.5}),
    ("Adafactor", {"weight_decay": -1.0}),
    ("Adafactor", {"dtype": "complex64"}),
    ("Muon", {"weight_decay": -1.0}),
    ("Muon", {"momentum": -1.0}),
    ("Muon", {"adjust_lr_fn": "x"}),
    ("Muon", {"ns_steps": 100}),
    ("Muon", {"ns_coefficients": (1.0, 2.0)}),
    ("Muon", {"shape": (3,)}),
    ("Muon", {"dtype": "complex64"}),
    ("SparseAdam", {}),
    ("SparseAdam", {"dtype": "complex64"}),
    ("LBFGS", {"line_search_fn": "x"}),
    ("SGD", {"fused": True, "foreach": True}),
    ("Adam", {"fused": True, "differentiable": True}),
]


@pytest.mark.parametrize(("rule", "options"), BAD, ids=name_of)
def test_errors(rule: str, options: dict[str, Any]) -> None:
    """When it is made, or in the first step."""

    def said(m: Any) -> tuple[str, str]:
        given = dict(options)
        dtype = getattr(m, given.pop("dtype", "float32"))
        if given.get("lr") == "tensor":
            given["lr"] = m.tensor(0.1)
        p = m.ones(given.pop("shape", (2, 2)), dtype=dtype, requires_grad=True)

        def closure() -> Any:
            p.grad = m.ones_like(p)
            return m.tensor(1.0)

        with pytest.raises(Exception) as caught:
            getattr(m.optim, rule)([p], **given).step(closure)
        return type(caught.value).__name__, str(caught.value)

    assert said(rushlight) == said(pytorch)


def test_lbfgs_has_one_group() -> None:
    for m in (rushlight, pytorch):
        groups = [{"params": [m.ones(2)]}, {"params": [m.ones(2)]}]
        with pytest.raises(ValueError, match="LBFGS doesn't support per-parameter options"):
            m.optim.LBFGS(groups)
