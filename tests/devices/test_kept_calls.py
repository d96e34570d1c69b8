"""Calls that are made again start what they started before without Python: with other values, other
tensors, other places. Against NumPy."""

import threading

import numpy as np
import pytest
import sweep

import rushlight as torch
from rushlight import _core, nn
from rushlight._devices.launch import code, empty, number, start

F = nn.functional
pytestmark = pytest.mark.usefixtures("refuse")
THERE = "opencl"


def drawn(*shape, seed=0):
    array = np.random.RandomState(seed).randn(*shape).astype(np.float32)
    return torch.tensor(array).to(THERE), array.astype(np.float64)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


INDEX = np.array([3, 0, 3, 1])
CALLS = {
    "matmul": (lambda a, b: a @ b, lambda a, b: a @ b),
    "linear": (F.linear, lambda a, b: a @ b.T),
    "sum": (lambda a, b: a.sum(0), lambda a, b: a.sum(0)),
    "softmax": (lambda a, b: torch.softmax(a, 1), lambda a, b: softmax(a)),
    "cat": (lambda a, b: torch.cat([b, a]), lambda a, b: np.concatenate([b, a])),
    "layer_norm": (lambda a, b: F.layer_norm(a, (4,)), lambda a, b: layer_norm(a)),
    "embedding": (
        lambda a, b: F.embedding(torch.tensor(INDEX).to(THERE), a),
        lambda a, b: a[INDEX],
    ),
    "clone of strided": (lambda a, b: a.t().contiguous(), lambda a, b: a.T),
}


@pytest.mark.parametrize("name", CALLS)
def test_other_values(name):
    function, expected = CALLS[name]
    results = []
    for seed in range(6):
        (a, x), (b, y) = drawn(4, 4, seed=seed), drawn(4, 4, seed=100 + seed)
        results.append((function(a, b), expected(x, y)))
    assert any(count for count in _core.accelerator_kept_calls().values())
    for found, wanted in results:  # all at the end: no result has the memory of another
        np.testing.assert_allclose(found.cpu().numpy(), wanted, rtol=0, atol=1e-5)


def test_what_is_common_is_kept():
    a, b = drawn(4, 4)[0].requires_grad_(), drawn(4, 4, seed=1)[0].requires_grad_()
    target, weights = torch.tensor(INDEX).to(THERE), torch.ones(4, device=THERE)
    for _ in range(2):
        y = F.layer_norm(F.linear(a @ b, b, a[0]), (4,), weights, weights)
        y = torch.cat([y, F.embedding(target, b)])
        loss = F.cross_entropy(y, torch.cat([target, target])) + torch.softmax(y, 1).sum()
        loss.backward()
    wanted = {"matmul", "linear", "cat", "layer_norm", "sum", "softmax", "log_softmax", "nll_loss"}
    backward = {"matmul_backward", "linear_backward", "layer_norm_backward", "nll_loss_backward"}
    kept = set(_core.accelerator_kept_calls())
    assert wanted | backward <= kept, kept


def test_one_tensor_twice_and_two_tensors():
    (a, x), (b, y) = drawn(4, 4), drawn(4, 4, seed=1)
    for _ in range(2):
        np.testing.assert_allclose((a @ a).cpu().numpy(), x @ x, atol=1e-5)
        np.testing.assert_allclose((a @ b).cpu().numpy(), x @ y, atol=1e-5)
        np.testing.assert_allclose((b @ a).cpu().numpy(), y @ x, atol=1e-5)


def test_views_of_other_places():
    whole, array = drawn(20, 4)
    for first in (0, 3, 4, 7, 16):
        part, x = whole[first : first + 4], array[first : first + 4]
        np.testing.assert_allclose((part @ part).cpu().numpy(), x @ x, atol=1e-5)
        np.testing.assert_allclose((whole[:4] @ part).cpu().numpy(), array[:4] @ x, atol=1e-5)


def test_numbers_that_are_drawn_are_new_ones():
    x = torch.ones(1000, device=THERE)
    masks = [F.dropout(x, 0.5).cpu().numpy() for _ in range(4)]
    draws = [torch.rand(1000, device=THERE).cpu().numpy() for _ in range(4)]
    for some in (masks, draws):
        assert all((some[0] != other).any() for other in some[1:])


def test_an_index_out_of_bounds_is_told_of_the_later_call():
    table = drawn(4, 4)[0]
    for _ in range(3):
        F.embedding(torch.tensor([1, 2]).to(THERE), table)
    torch.accelerator.synchronize()
    F.embedding(torch.tensor([1, 9]).to(THERE), table)
    with pytest.raises(RuntimeError, match=r"embedding\(\) was given the index 9"):
        torch.accelerator.synchronize()
    torch.accelerator.synchronize()


def test_buffers_that_a_step_makes_are_each_optimizer_s():
    buffers = []
    for _ in range(3):
        p = nn.Parameter(torch.ones(5, device=THERE))
        optimizer = torch.optim.SGD([p], lr=1.0, momentum=0.5)
        for _ in range(3):
            p.grad = torch.ones(5, device=THERE)
            optimizer.step()
        buffers.append(optimizer.state[p]["momentum_buffer"])
        assert p.tolist() == [1 - 1 - 1.5 - 1.75] * 5
    assert len({buffer.data_ptr() for buffer in buffers}) == 3


def test_results_that_depend_on_values():
    for values in ([0, 2, 1], [0, 0, 5]):
        x = torch.tensor(values).to(THERE)
        assert F.one_hot(x).cpu().numpy().tolist() == np.eye(max(values) + 1)[values].tolist()


def test_threads():
    wrong = []

    def multiply(seed):
        (a, x), (b, y) = drawn(6, 6, seed=seed), drawn(6, 6, seed=seed + 50)
        for _ in range(30):
            if not np.allclose((a @ b).cpu().numpy(), x @ y, atol=1e-5):
                wrong.append(seed)

    threads = [threading.Thread(target=multiply, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ---- functions of the table


class Doubled:
    """A function of the table, of a kernel that accelerators have none for: x times a factor."""

    def __init__(self):
        self.calls, self.factor, self.then = 0, 2.0, None

    def __call__(self, x, *more):
        self.calls += 1
        factor = _core.accelerator_asked(self.asked)
        if self.then is not None:
            return self.then(x, *more)
        out = empty(x.shape, x)
        _core.copy_values(out, x)
        sizes = code(out), out.numel(), None, 0, number(factor, x)
        start("optimizers.cl", "scale", x.numel(), x, out, *sizes)
        return out

    def asked(self):
        return self.factor


@pytest.fixture(scope="module")
def attached():
    torch.ones(1, device=THERE).sum()  # the table is loaded
    function = Doubled()
    _core.accelerator_attach(_core.kernels.sparse_dots, function, False, False, ())
    return function


@pytest.fixture
def doubled(attached):
    attached.calls, attached.factor, attached.then = 0, 2.0, None
    return attached


def call(x, *more):
    return _core.kernels.sparse_dots(x, *more)


def test_the_function_is_asked_once_for_a_layout(doubled):
    for i in range(4):
        assert call(torch.full((3,), float(i), device=THERE)).tolist() == [2.0 * i] * 3
    assert doubled.calls == 1
    assert call(torch.ones(4, device=THERE)).tolist() == [2.0] * 4
    assert call(torch.ones(3, device=THERE), 1).tolist() == [2.0] * 3
    assert call(torch.ones(3, device=THERE).double()).tolist() == [2.0] * 3
    assert doubled.calls == 4


def test_a_switch_of_the_program(doubled):
    x = torch.ones(3, device=THERE)
    assert [call(x).tolist() for _ in range(2)] == [[2.0] * 3] * 2
    doubled.factor = 5.0
    assert [call(x).tolist() for _ in range(2)] == [[5.0] * 3] * 2
    assert doubled.calls == 2


@pytest.mark.parametrize(
    "then",
    [
        lambda x: torch.tensor(x.tolist()).to(THERE),  # a value is read
        lambda x: x * 2,  # by an op of the program's
        lambda x: empty(x.shape, x),  # nobody noted who writes it
        lambda x: _core.accelerator_unlike() or _core.accelerator_empty((0,), x, code(x)),
    ],
)
def test_what_does_more_than_launches_is_not_kept(doubled, then):
    doubled.then = then
    for _ in range(3):
        call(torch.ones(3, device=THERE))
    assert doubled.calls == 3


def test_a_function_that_changes_a_list_is_not_kept(doubled):
    doubled.then = lambda x, items: items.append(1) or _core.accelerator_empty((0,), x, code(x))
    lists = [[], [], []]
    for items in lists:
        call(torch.ones(3, device=THERE), items)
    assert lists == [[1]] * 3


def test_a_list_that_the_program_changes_meanwhile(doubled):
    x, others, asks = torch.ones(3, device=THERE), [], []
    lists = [[torch.ones(3, device=THERE)] for _ in range(2)]

    def asked():  # the second time other tensors have the place of that in the list
        asks.append(None)
        if len(asks) == 2:
            lists[1].clear()
            others.extend(torch.full((3,), 9.0, device=THERE) for _ in range(9))
        return 2.0

    def then(x, items):
        out = empty(x.shape, x)
        sizes = code(x), x.numel(), None, 0, number(_core.accelerator_asked(asked), x)
        _core.copy_values(out, items[0])
        start("optimizers.cl", "scale", x.numel(), x, out, *sizes)
        return out

    doubled.then = then
    for items in lists:
        assert call(x, items).tolist() == [2.0] * 3
    assert not lists[1]


def test_an_answer_of_truth_stays_one(doubled):
    doubled.then = lambda x: True
    assert [call(torch.ones(3, device=THERE)) is True for _ in range(3)] == [True] * 3


def test_forgotten(doubled):
    x = torch.ones(3, device=THERE)
    call(x)
    _core.accelerator_forget_calls()
    call(x)
    assert doubled.calls == 2
    before = _core.accelerator_keep_calls(False)
    call(x)
    _core.accelerator_keep_calls(before)
    assert doubled.calls == 3


def test_compared(doubled):
    x = torch.ones(3, device=THERE)
    call(x)
    before = _core.accelerator_compare_calls(True)
    try:
        call(x)
        assert doubled.calls == 2
        doubled.then = lambda x: start(
            "optimizers.cl", "scale", 1, x, x, code(x), 1, None, 0, number(1, x)
        )
        with pytest.raises(SystemError, match="started something else"):
            call(x)
    finally:
        _core.accelerator_compare_calls(before)


def test_the_sweep_of_all_ops_runs_what_was_kept():
    before = _core.accelerator_kept_calls().get("matmul", 0)
    assert not sweep.run("matmul").wrong
    assert _core.accelerator_kept_calls().get("matmul", 0) > before
