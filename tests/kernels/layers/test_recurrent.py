"""Recurrent layers as one op against their plain definition, sequence by sequence in float64.

Gradients are compared along random directions with the definition's derivative, which a step into
the complex numbers gives to all digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from plain import definition, on_threads

import rushlight as torch
from rushlight import _core, nn
from rushlight.ops.layers import recurrent

plain = definition("recurrent")

GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
every_mode = pytest.mark.parametrize("mode", GATES)
every_type = pytest.mark.parametrize("dtype", ["float32", "float64"])

# Around the edges of registers, panels, and slices of the depth, for 16 to 64 bytes a register.
UNITS = [1, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65, 129]
# Around the rows taken side by side, the rows of a tile and those of two.
BATCHES = [0, 1, 2, 3, 4, 6, 7, 12, 13, 14, 15, 28, 29]
SIZES = [(5, u, 3) for u in UNITS] + [(b, 5, 3) for b in BATCHES] + [(5, 9, t) for t in (1, 2, 4)]


@dataclass
class Case:
    """A layer in one direction, in float64; what its results are weighted with."""

    mode: str
    sizes: list[int]
    packed: bool
    reverse: bool
    arrays: list[Any]  # x, h0, c0, w_ih, w_hh, b_ih, b_hh
    weights: list[Any]  # of output, last h, last c

    @property
    def results(self) -> int:
        return 3 if self.mode == "LSTM" else 2

    def expected(self, arrays: list[Any]) -> tuple[Any, ...]:
        x, *rest = arrays
        cell = getattr(plain, self.mode.lower())
        return plain.layer(cell, x, self.sizes, *rest, self.reverse)[: self.results]

    def slope(self, place: int, direction: Any) -> float:
        """The derivative of the weighted sum of the results along a direction of an argument."""
        moved = list(self.arrays)
        moved[place] = moved[place] + 1e-30j * direction
        pairs = zip(self.weights, self.expected(moved), strict=False)
        return sum((w * r.imag).sum() for w, r in pairs) / 1e-30

    def tensors(self, dtype: str) -> list[Any]:
        """The arguments for the op, all wanting a gradient."""
        x, h, c, *rest = [torch.from_numpy(a).to(getattr(torch, dtype)) for a in self.arrays]
        if not self.packed:
            x = x.reshape(len(self.sizes), -1, x.shape[1])
        found = [x, h, c if self.mode == "LSTM" else None, *rest]
        return [t if t is None else t.requires_grad_() for t in found]

    def run(self, tensors: list[Any]) -> list[Any]:
        op = recurrent.LAYERS[self.mode]
        found = op(*tensors, self.reverse, self.sizes if self.packed else None)
        return list(found[: self.results])

    def total(self, results: list[Any]) -> Any:
        weights = [torch.from_numpy(w).to(results[0].dtype) for w in self.weights]
        pairs = zip(weights, results, strict=False)
        return sum((w.reshape(r.shape) * r).sum() for w, r in pairs)


def case(
    mode: str, batch: int, units: int, steps: int, packed: bool = False, reverse: bool = False
) -> Case:
    rng = np.random.default_rng(batch * 1000 + units * 10 + steps)
    sizes = [batch] * steps
    if packed:
        sizes = sorted(rng.integers(1, batch + 1, steps), reverse=True)
        sizes = [batch, *map(int, sizes[1:])]
    inputs, gates, rows = units % 6, GATES[mode] * units, sum(sizes)
    near = 1 / np.sqrt(units + inputs)
    shapes = [(gates, inputs), (gates, units), (gates,), (gates,)]
    arrays = [rng.standard_normal(s) for s in ((rows, inputs), (batch, units), (batch, units))]
    arrays += [rng.uniform(-near, near, s) for s in shapes]
    weights = [rng.standard_normal(s) for s in ((rows, units), (batch, units), (batch, units))]
    return Case(mode, sizes, packed, reverse, arrays, weights)


def relative(c: Case, dtype: str) -> float:
    """The error of a result over the largest value: each step sums inputs and units and adds a few
    roundings of its own to what it was given, and a step back sums over the gates."""
    gates, terms = c.arrays[3].shape
    units = c.arrays[4].shape[1]
    each = terms + units + gates + 16
    return float(np.finfo(dtype).eps) * each * len(c.sizes)


def check_values(c: Case, dtype: str) -> None:
    with torch.no_grad():
        found = c.run(c.tensors(dtype))
    for f, e in zip(found, c.expected(c.arrays), strict=True):
        assert f.dtype is getattr(torch, dtype)
        atol = relative(c, dtype) * max(1.0, np.abs(e).max(initial=0))
        np.testing.assert_allclose(f.reshape(e.shape).numpy(), e, rtol=0, atol=atol)


def check_gradients(c: Case, dtype: str) -> None:
    tensors = c.tensors(dtype)
    c.total(c.run(tensors)).backward()
    rows = max(len(c.arrays[0]), 1)
    for place, t in enumerate(tensors):
        if t is None:
            continue
        direction = np.random.default_rng(place).standard_normal(c.arrays[place].shape)
        found = t.grad.numpy().astype(np.float64).reshape(direction.shape)
        # A weight's gradient sums over the rows besides.
        size = np.abs(found * direction).sum() + 1
        atol = (relative(c, dtype) + rows * float(np.finfo(dtype).eps)) * size
        assert abs((found * direction).sum() - c.slope(place, direction)) <= atol, place


@every_type
@every_mode
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_values(mode: str, dtype: str, size: tuple[int, int, int]) -> None:
    check_values(case(mode, *size), dtype)


@every_type
@every_mode
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_gradients(mode: str, dtype: str, size: tuple[int, int, int]) -> None:
    check_gradients(case(mode, *size), dtype)


@every_mode
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("size", [(4, 5, 1), (4, 5, 2), (9, 17, 6), (15, 3, 4)], ids=str)
def test_directions_and_packed_sequences(
    mode: str, reverse: bool, packed: bool, size: tuple[int, int, int]
) -> None:
    c = case(mode, *size, packed, reverse)
    check_values(c, "float64")
    check_gradients(c, "float64")


@every_mode
@pytest.mark.parametrize("packed", [False, True])
def test_threads_do_not_change_results(mode: str, packed: bool) -> None:
    # 1.5 million multiplications a pass: enough for the sequences to be shared out.
    c = case(mode, 33, 128, 4, packed)

    def results_and_gradients() -> list[Any]:
        tensors = c.tensors("float32")
        results = c.run(tensors)
        c.total(results).backward()
        return [*results, *[t.grad for t in tensors if t is not None]]

    found = on_threads(results_and_gradients, (1, 2, 3))
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


@every_mode
def test_views_are_read_by_their_strides(mode: str) -> None:
    c = case(mode, 4, 9, 3)
    straight = c.tensors("float64")
    crooked = [None if t is None else t.detach().mT.contiguous().mT for t in straight[:5]]
    crooked += [torch.stack([t.detach(), t.detach()], 1)[:, 0] for t in straight[5:]]
    crooked = [None if t is None else t.requires_grad_() for t in crooked]
    assert not any(t.is_contiguous() for t in crooked if t is not None)
    for tensors in (straight, crooked):
        c.total(c.run(tensors)).backward()
    for a, b in zip(straight, crooked, strict=True):
        if a is not None:
            np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-13, atol=1e-13)


def steps(c: Case, tensors: list[Any]) -> list[Any]:
    """The results by the steps, as other ops."""
    x, h, cell, *weights = tensors
    state = (h,) if cell is None else (h, cell)
    sizes = c.sizes if c.packed else None
    w = recurrent.Weights(*weights)
    out, last = recurrent._steps(c.mode, x, state, w, c.reverse, sizes)
    return [out, *last]


@every_mode
@pytest.mark.parametrize("packed", [False, True])
def test_second_derivatives_are_those_of_the_steps(mode: str, packed: bool) -> None:
    c = case(mode, 3, 4, 3, packed, True)
    found = []
    for run in (c.run, lambda tensors: steps(c, tensors)):
        tensors = c.tensors("float64")
        given = [t for t in tensors if t is not None]
        first = torch.autograd.grad(c.total(run(tensors)), given, create_graph=True)
        second = torch.autograd.grad(sum((g * g).sum() for g in first), given)
        found.append([*first, *second])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-11)


@every_mode
@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_loss_of_one_result_alone(mode: str, which: int) -> None:
    c = case(mode, 3, 4, 3)
    if which >= c.results:
        return
    found = []
    for run in (c.run, lambda tensors: steps(c, tensors)):
        tensors = c.tensors("float64")
        run(tensors)[which].sum().backward()
        found.append([t.grad for t in tensors if t is not None])
    for a, b in zip(*found, strict=True):
        b = torch.zeros_like(a) if b is None else b
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-11, atol=1e-12)


@every_mode
@pytest.mark.parametrize("wanted", range(7))
def test_only_what_wants_a_gradient_gets_one(mode: str, wanted: int) -> None:
    c = case(mode, 3, 4, 3)
    every, some = c.tensors("float64"), c.tensors("float64")
    if every[wanted] is None:
        return
    some = [
        None if t is None else t.detach().requires_grad_(i == wanted) for i, t in enumerate(some)
    ]
    for tensors in (every, some):
        c.total(c.run(tensors)).backward()
    assert [i for i, t in enumerate(some) if t is not None and t.grad is not None] == [wanted]
    np.testing.assert_array_equal(some[wanted].grad.numpy(), every[wanted].grad.numpy())


@every_mode
def test_without_biases(mode: str) -> None:
    c = case(mode, 3, 5, 3)
    c.arrays[5:] = [np.zeros_like(a) for a in c.arrays[5:]]
    tensors = [*c.tensors("float64")[:5], None, None]
    results = c.run(tensors)
    for f, e in zip(results, c.expected(c.arrays), strict=True):
        np.testing.assert_allclose(f.detach().reshape(e.shape).numpy(), e, rtol=0, atol=1e-14)
    results[0].sum().backward()
    assert all(t.grad is not None for t in tensors if t is not None)


@every_mode
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_halves_are_computed_in_float32_and_rounded_once(mode: str, dtype: str) -> None:
    c = case(mode, 5, 9, 4)
    halves = c.tensors(dtype)
    wide = [None if t is None else t.detach().float().requires_grad_() for t in halves]
    found, expected = c.run(halves), c.run(wide)
    for f, e in zip(found, expected, strict=True):
        assert f.dtype is getattr(torch, dtype)
        np.testing.assert_array_equal(
            f.float().detach().numpy(), e.to(f.dtype).float().detach().numpy()
        )
    for results in (found, expected):
        results[0].sum().backward()
    # The way back reads states that were rounded.
    eps = {"bfloat16": 2.0**-8, "float16": 2.0**-11}[dtype]
    for h, w in zip(halves, wide, strict=True):
        if h is not None:
            size = max(1.0, float(w.grad.abs().max())) * len(c.sizes)
            assert float((h.grad.float() - w.grad).abs().max()) <= 4 * eps * size


@every_mode
def test_values_that_are_not_finite(mode: str) -> None:
    c = case(mode, 3, 20, 3)
    c.arrays[0][0, 0], c.arrays[0][1, 0], c.arrays[0][2, 0] = np.nan, np.inf, -np.inf
    with np.errstate(all="ignore"):
        expected = c.expected(c.arrays)
    found = c.run(c.tensors("float64"))
    for f, e in zip(found, expected, strict=True):
        f = f.detach().reshape(e.shape).numpy()
        np.testing.assert_array_equal(np.isnan(f), np.isnan(e))


@every_mode
def test_large_sums_saturate_the_gates(mode: str) -> None:
    c = case(mode, 3, 20, 2)
    c.arrays[5] = c.arrays[5] * 1e4
    with np.errstate(over="ignore"):
        for dtype in ("float32", "float64"):
            check_values(c, dtype)


@every_mode
def test_on_meta_there_are_shapes(mode: str) -> None:
    c = case(mode, 3, 4, 2)
    tensors = [
        None if t is None else t.detach().to("meta").requires_grad_() for t in c.tensors("float32")
    ]
    results = c.run(tensors)
    assert [tuple(r.shape) for r in results] == [(2, 3, 4), (3, 4), (3, 4)][: len(results)]
    results[0].sum().backward()
    assert all(t.grad.shape == t.shape for t in tensors if t is not None)


def kernel_arguments() -> list[Any]:
    x, h, c, *weights = case("LSTM", 3, 4, 2).tensors("float32")
    return [x, h, c, *weights, False, None]


@pytest.mark.parametrize(
    "place, value",
    [
        (0, torch.zeros(2, 3, 5)),
        (0, torch.zeros(0, 3, 4)),
        (0, torch.zeros(2, 3, 4, dtype=torch.int64)),
        (1, torch.zeros(2, 4)),
        (1, torch.zeros(3, 4, dtype=torch.float64)),
        (2, None),
        (3, torch.zeros(15, 4)),
        (4, torch.zeros(16, 3)),
        (5, torch.zeros(1)),
        (8, [3, 3]),
    ],
)
def test_the_kernel_refuses_what_does_not_fit(place: int, value: Any) -> None:
    arguments = kernel_arguments()
    arguments[place] = value
    assert _core.kernels.lstm_layer(*arguments) is NotImplemented


@pytest.mark.parametrize("sizes", [[3, 4], [2, 2], [3, 0], [3, -1], [3, 2, 2], [], [2**62, 2**62]])
def test_the_kernel_refuses_sizes_that_are_not_the_inputs(sizes: list[int]) -> None:
    arguments = kernel_arguments()
    arguments[0], arguments[8] = arguments[0].reshape(6, 4), sizes
    assert _core.kernels.lstm_layer(*arguments) is NotImplemented


def test_the_way_back_refuses_other_saved_values() -> None:
    """As a hook on saved tensors may give them."""
    x, h, c, w_ih, w_hh, *rest = kernel_arguments()
    out, _, _, saved = _core.kernels.lstm_layer(x, h, c, w_ih, w_hh, *rest)
    given = [
        torch.ones_like(out),
        None,
        None,
        x,
        h,
        c,
        w_ih,
        w_hh,
        out,
        saved,
        False,
        None,
        (3,) * 7,
    ]
    back = _core.kernels.lstm_layer_backward
    assert back(*given) is not NotImplemented
    odd = torch.zeros(saved.numel() + 1, dtype=torch.uint8)[1:].reshape(saved.shape)
    for place, value in [(9, saved[:-1]), (9, saved.float()), (9, odd), (8, out[:1]), (0, out[:1])]:
        wrong = list(given)
        wrong[place] = value
        assert back(*wrong) is NotImplemented


# ---- networks


NETWORKS = {
    "LSTM": lambda: nn.LSTM(3, 4, 2, bidirectional=True),
    "GRU": lambda: nn.GRU(3, 4, bias=False),
    "RNN": lambda: nn.RNN(3, 4, nonlinearity="relu"),
    "projected": lambda: nn.LSTM(3, 4, proj_size=2),
}
every_network = pytest.mark.parametrize("name", NETWORKS)


def by_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurrent, "_layer", recurrent._steps)


@every_network
def test_transforms_see_the_steps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(1)
    net = NETWORKS[name]().double()
    x, t = torch.randn(2, 5, 2, 3, dtype=torch.float64)
    parameters = dict(net.named_parameters())

    def loss(p: Any, x: Any) -> Any:
        return torch.func.functional_call(net, p, (x,))[0].square().sum()

    def results() -> list[Any]:
        mapped = torch.func.vmap(lambda x: net(x)[0])(torch.stack([x, t]))
        grads = torch.func.vmap(torch.func.grad(loss), (None, 0))(parameters, torch.stack([x, t]))
        tangent = torch.func.jvp(lambda x: net(x)[0], (x,), (t,))[1]
        hessian = torch.func.jvp(torch.func.grad(lambda x: net(x)[0].square().sum()), (x,), (t,))[1]
        return [mapped, *grads.values(), tangent, hessian]

    found = results()
    by_steps(monkeypatch)
    for f, e in zip(found, results(), strict=True):
        np.testing.assert_allclose(f.detach().numpy(), e.detach().numpy(), rtol=1e-10, atol=1e-12)


def test_batched_gradients_of_a_recorded_layer() -> None:
    net, x = nn.GRU(3, 4).double(), torch.randn(5, 2, 3, dtype=torch.float64, requires_grad=True)
    out = net(x)[0]
    weights = torch.randn(3, *out.shape, dtype=torch.float64)
    (found,) = torch.autograd.grad(out, x, weights, is_grads_batched=True, retain_graph=True)
    for f, w in zip(found, weights, strict=True):
        (expected,) = torch.autograd.grad(out, x, w, retain_graph=True)
        np.testing.assert_allclose(f.numpy(), expected.numpy(), rtol=1e-11, atol=1e-12)


def test_modes_see_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    net, x = nn.LSTM(3, 4), torch.randn(5, 2, 3)
    with torch.utils.flop_counter.FlopCounterMode(display=False) as counter:
        net(x)
    assert counter.get_total_flops() == 5 * 2 * 2 * 16 * (3 + 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = net(x)[0]
        by_steps(monkeypatch)
        expected = net(x)[0]
    np.testing.assert_array_equal(found.detach().numpy(), expected.detach().numpy())
    assert float((found - net(x)[0]).abs().max()) > 0  # it was computed in halves


def test_an_lstm_keeps_its_output_and_the_others_states_of_their_own() -> None:
    for kind in (nn.GRU, nn.RNN):
        net, x = kind(3, 4), torch.randn(5, 2, 3)
        out = net(x)[0]
        (expected,) = torch.autograd.grad(out.sum(), net.weight_hh_l0, retain_graph=True)
        (found,) = torch.autograd.grad(out.mul_(1).add_(1).sum(), net.weight_hh_l0)
        np.testing.assert_array_equal(found.numpy(), expected.numpy())
    net = nn.LSTM(3, 4)
    out = net(x)[0]
    out.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_names_of_nodes() -> None:
    x = torch.randn(5, 2, 3)
    out, (h, _) = nn.LSTM(3, 4)(x)
    assert [t.grad_fn.name() for t in (out, h)] == ["MkldnnRnnLayerBackward0", "StackBackward0"]
    out, h = nn.GRU(3, 4)(x)
    assert [t.grad_fn.name() for t in (out, h)] == ["StackBackward0", "StackBackward0"]


def test_hooks_and_weights_that_are_used_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for _ in range(2):
        torch.manual_seed(3)
        net, x = nn.GRU(3, 3).double(), torch.randn(4, 2, 3, dtype=torch.float64)
        net.weight_hh_l0.register_hook(lambda g: 2 * g)
        with torch.autograd.detect_anomaly(check_nan=True):
            net(net(x)[0])[0].sum().backward()
        found.append([p.grad.numpy() for p in net.parameters()])
        by_steps(monkeypatch)
    for f, e in zip(*found, strict=True):
        np.testing.assert_allclose(f, e, rtol=1e-11, atol=1e-12)


def test_a_graph_that_is_kept_gives_the_same_again() -> None:
    net, x = nn.LSTM(3, 4), torch.randn(4, 2, 3)
    loss = net(x)[0].square().sum()
    first = torch.autograd.grad(loss, net.weight_ih_l0, retain_graph=True)[0]
    second = torch.autograd.grad(loss, net.weight_ih_l0)[0]
    np.testing.assert_array_equal(first.numpy(), second.numpy())
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        loss.backward()
