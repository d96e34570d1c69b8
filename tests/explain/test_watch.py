"""What `explain.watch` observes of a program: losses, gradient norms, steps; and that it disturbs
nothing."""

import gc
import threading

import pytest
import watched
from rushlight.explain import _passes, _watch, watch
from watched import train

import rushlight
from rushlight.autograd import _engine

torch, nn = rushlight, rushlight.nn


def test_losses_and_norms():
    with watch(show=False) as seen:
        train()
    (loss,), (group,) = seen.losses, seen.groups
    assert list(loss.values.last) == [25.0, 6.25, 1.5625]
    assert (loss.best, loss.best_at) == (1.5625, 3)
    assert list(group.norms.last) == [10.0, 5.0, 2.5]
    assert (group.name, group.rate, group.tensors, group.elements) == ("SGD", 0.25, 1, 2)
    assert (seen.steps, seen.clock) == (3, 3)
    assert loss.file == watched.__file__
    assert loss.notes() == group.notes() == []


def test_the_smoothed_loss_is_a_mean_of_the_last():
    with watch(show=False) as seen:
        x = torch.ones(1, requires_grad=True)
        for i in range(1000):
            (x * (0.0 if i < 500 else 1.0)).sum().backward()
    assert 0.99 < seen.losses[0].smooth < 1
    with watch(show=False) as seen:
        (3 * x).sum().backward()
    assert seen.losses[0].smooth == pytest.approx(3.0)


@pytest.mark.parametrize(
    "backward",
    [
        lambda loss, x: loss.backward(),
        lambda loss, x: torch.autograd.backward(loss),
        lambda loss, x: torch.autograd.backward([loss / 2, loss / 2]),
        lambda loss, x: loss.backward(inputs=[x]),
        lambda loss, x: loss.backward(torch.tensor(2.0)),
        lambda loss, x: loss.reshape(1, 1).backward(),
        lambda loss, x: _engine.tensor_backward(loss),
    ],
)
def test_every_spelling_of_backward(backward):
    x = torch.tensor([2.0], requires_grad=True)
    with watch(show=False) as seen:
        backward((x * x).sum(), x)
    assert list(seen.losses[0].values.last) == [4.0]


def test_a_gradient_that_is_asked_for_is_no_loss():
    x = torch.tensor([2.0], requires_grad=True)
    with watch(show=False) as seen:
        torch.autograd.grad((x * x).sum(), x)
        torch.func.grad(lambda x: (x * x).sum())(x.detach())
    assert seen.losses == []


def test_what_is_no_number_has_no_curve():
    x = torch.ones(2, requires_grad=True)
    with watch(show=False) as seen:
        (x * x).backward(torch.ones(2))
        torch.autograd.backward(torch.autograd.graph.get_gradient_edge((x * x).sum()))
    assert [(len(loss.values.at), loss.without_value) for loss in seen.losses] == [(0, 1), (0, 1)]


def test_a_backward_inside_a_backward_is_part_of_it():
    x = torch.ones(2, requires_grad=True)
    w = torch.ones(2, requires_grad=True)
    y = x * x
    inner = w.exp().sum()
    y.register_hook(lambda g: inner.backward())
    with watch(show=False) as seen:
        y.sum().backward()
    assert w.grad is not None
    assert [list(loss.values.last) for loss in seen.losses] == [[2.0]]


def test_one_curve_for_each_line():
    """A GAN: two losses, two optimizers of one class."""
    torch.manual_seed(0)
    g, d = nn.Linear(1, 1), nn.Linear(1, 1)
    og, od = (torch.optim.Adam(net.parameters(), lr=0.1) for net in (g, d))
    ours, theirs = [], []
    with watch(show=False) as seen:
        for _ in range(4):
            fake = g(torch.randn(8, 1))
            od.zero_grad()
            loss = (d(fake.detach()) ** 2).mean()
            loss.backward()
            ours.append(loss.item())
            od.step()
            og.zero_grad()
            loss = ((d(fake) - 1) ** 2).mean()
            loss.backward()
            theirs.append(loss.item())
            og.step()
    first, second = seen.losses
    assert second.line - first.line == 5
    assert (list(first.values.last), list(second.values.last)) == (ours, theirs)
    assert (list(first.values.at), list(second.values.at)) == ([1, 3, 5, 7], [2, 4, 6, 8])
    assert [group.name for group in seen.groups] == ["Adam #1", "Adam #2"]
    assert [list(group.norms.at) for group in seen.groups] == [[1, 3, 5, 7], [2, 4, 6, 8]]
    assert (seen.steps, seen.clock) == (4, 8)


def test_accumulated_gradients():
    x = torch.tensor([1.0], requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.0)
    with watch(show=False) as seen:
        for i in range(6):
            (x * (i + 1)).sum().backward()
            if i % 3 == 2:
                optimizer.step()
                optimizer.zero_grad()
    assert list(seen.losses[0].values.last) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert list(seen.groups[0].norms.last) == [6.0, 15.0]
    assert list(seen.groups[0].norms.at) == [3, 6]
    assert (seen.steps, seen.clock) == (2, 6)


def test_a_closure():
    """The gradients are those that the step itself computed last."""
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    optimizer = torch.optim.LBFGS([x], lr=0.25, max_iter=2)
    norms = []

    def closure():
        optimizer.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        norms.append(float(x.grad.norm()))
        return loss

    with watch(show=False) as seen:
        optimizer.step(closure)
        optimizer.step(closure=closure)
    assert seen.losses[0].values.count == len(norms) > 2
    assert list(seen.groups[0].norms.last) == [pytest.approx(norms[i]) for i in (1, -1)]
    assert seen.steps == 2


def test_gradients_that_come_from_elsewhere():
    """Without a backward, the steps are the clock."""
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.1)
    with watch(show=False) as seen:
        for _ in range(3):
            x.grad = torch.tensor([3.0, 4.0])
            optimizer.step()
    assert (list(seen.groups[0].norms.at), list(seen.groups[0].norms.last)) == (
        [1, 2, 3],
        [5.0] * 3,
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.complex64])
def test_types_of_gradients(dtype):
    x = torch.ones(4, dtype=dtype, requires_grad=True)
    with watch(show=False) as seen:
        (x * x.conj()).sum().real.backward()
        norm = float(x.grad.abs().to(torch.float64).norm())
        torch.optim.SGD([x], lr=0.1).step()
    assert seen._trouble == set()
    assert list(seen.groups[0].norms.last) == [norm]


def test_a_sparse_gradient():
    table = nn.Embedding(5, 2, sparse=True)
    with watch(show=False) as seen:
        table(torch.tensor([1, 1, 3])).sum().backward()
        torch.optim.SGD(table.parameters(), lr=0.1).step()
    assert list(seen.groups[0].norms.last) == [pytest.approx(10**0.5)]  # 2, 2 and 1, 1


def test_no_code_of_the_program_is_asked():
    """A mode of the program sees the same calls as ever, and so do classes."""

    class Calls(rushlight.overrides.TorchFunctionMode):
        def __init__(self):
            self.seen = []

        def __torch_function__(self, function, types, args=(), kwargs=None):
            self.seen.append(function)
            return function(*args, **(kwargs or {}))

    class Mine(torch.Tensor):
        seen = 0

        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            cls.seen += 1
            return super().__torch_function__(function, types, args, kwargs)

    def run():
        Mine.seen = 0
        x = torch.tensor([3.0, 4.0]).as_subclass(Mine).requires_grad_()
        optimizer = torch.optim.SGD([x], lr=0.25)
        with Calls() as calls:
            (x * x).sum().backward()
            optimizer.step()
        return calls.seen, Mine.seen

    plain = run()
    with watch(show=False) as seen:
        assert run() == plain
    assert list(seen.losses[0].values.last) == [25.0]
    assert list(seen.groups[0].norms.last) == [10.0]


def test_what_cannot_be_looked_at_does_not_end_the_program():
    class Odd(torch.optim.SGD):
        @property
        def param_groups(self):
            if self.asked:
                raise LookupError("no groups")
            return self.__dict__["param_groups"]

        @param_groups.setter
        def param_groups(self, value):
            self.__dict__["param_groups"] = value

        asked = False

        def step(self, closure=None):
            self.stepped = True

    x = torch.ones(1, requires_grad=True)
    optimizer = Odd([x], lr=0.1)
    optimizer.asked = True
    with watch(show=False) as seen:
        (x * x).sum().backward()
        optimizer.step()
    assert optimizer.stepped
    assert seen._trouble == {"LookupError: no groups"}


def test_everything_is_put_back():
    engine = _engine._run
    x = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.1)
    with watch(show=False) as outer:
        assert _engine._run is not engine
        with watch(show=False) as inner:
            (x * x).sum().backward()
        (x * x).sum().backward()
        optimizer.step()
    assert _engine._run is engine is rushlight._core.run_backward
    (x * x).sum().backward()
    optimizer.step()
    assert (inner.clock, outer.clock, outer.steps) == (1, 2, 1)
    assert _watch._watching == []


def test_several_follow_at_once():
    """Each is told of each backward, whoever began first and whoever ends first."""
    x = torch.ones(1, requires_grad=True)

    def backward():
        (x * x).sum().backward()

    told = []
    with watch(show=False) as outer:
        backward()
        _passes.follow(told.append)
        with watch(show=False) as inner:
            backward()
    try:
        backward()
    finally:
        _passes.unfollow(told.append)
    backward()
    assert (outer.clock, inner.clock, len(told)) == (2, 1, 2)
    assert {now.frame.f_code for now in told} == {backward.__code__}
    assert _engine._run is rushlight._core.run_backward


def test_an_exception_keeps_its_traceback():
    x = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.1)

    def bad(g):
        raise KeyError("no")

    def closure():
        y = x * x
        y.register_hook(bad)
        y.sum().backward()

    def trace():
        try:
            optimizer.step(closure)
        except KeyError as error:
            raise ValueError("second") from error

    def frames(error):
        found, trace = [], error.__traceback__.tb_next
        while trace is not None:
            found.append(trace.tb_frame.f_code.co_qualname)
            trace = trace.tb_next
        return found

    with pytest.raises(ValueError) as plain:
        trace()
    with pytest.raises(ValueError) as watched, watch(show=False):
        trace()
    assert frames(watched.value) == frames(plain.value)
    assert frames(watched.value.__cause__) == frames(plain.value.__cause__) != []
    assert _engine._run is rushlight._core.run_backward


def test_optimizers_made_in_a_loop_go_on_where_the_last_ended():
    with watch(show=False) as seen:
        for _ in range(8):
            train(25)
            gc.collect()  # an optimizer is part of a cycle
    assert len(seen.groups) <= 2
    assert sum(group.norms.count for group in seen.groups) == 200


def test_threads():
    def work():
        train(50)

    with watch(show=False) as seen:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert seen._trouble == set()
    assert seen.clock == 200
    assert sum(group.norms.count for group in seen.groups) == 200
