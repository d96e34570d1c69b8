"""Values that reach Python and where that is no obstacle: numbers that are only given back,
branches after writes and draws, kernels that refuse values; and calls that are made once more."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._capture.run import Compiled, set_checks

from .worlds import bits

F = nn.functional


@pytest.fixture(autouse=True)
def checks() -> Iterator[None]:
    set_checks(True)
    yield
    set_checks(False)


def called(
    function: Callable[..., Any], given: Callable[[], tuple[Any, ...]], times: int = 8
) -> Compiled:
    torch.manual_seed(0)
    compiled = Compiled(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(times):
            compiled(*given())
    return compiled


def two() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(3), torch.randn(3)


def gives_one(x: Any, y: Any) -> Any:
    return (x * y).sum().item()


def gives_two(x: Any, y: Any) -> Any:
    return x.sum().item(), (x * y).sum().item()


def gives_a_dict(x: Any, y: Any) -> Any:
    z = x * y
    return {"sum": z.sum().item(), "all": z, "number": 1.5, "biggest": z.argmax().item()}


def gives_it_later(x: Any, y: Any) -> Any:
    loss = (x * y).sum().item()
    y.mul_(2)
    return loss


def is_overwritten(x: Any, y: Any) -> Any:
    z = x.sum()
    before = z.item()
    z.add_(1)
    return before, z


# From Python 3.13 on one instruction keeps two values: such code is not followed, and stays eager.
_TWO_AT_ONCE = {gives_two, is_overwritten} if sys.version_info >= (3, 13) else set()


@pytest.mark.parametrize(
    "function", [gives_one, gives_two, gives_a_dict, gives_it_later, is_overwritten]
)
def test_a_number_that_is_only_given_back_is_replayed(function: Any) -> None:
    assert bool(called(function, two).variants) == (function not in _TWO_AT_ONCE), function


def test_numbers_are_of_each_call() -> None:
    set_checks(False)
    compiled = called(gives_two, two)
    x, y = two()
    assert compiled(x, y) == gives_two(x, y)
    assert type(compiled(x, y)[0]) is float


def computes_with_it(x: Any, y: Any) -> Any:
    return x.sum().item() * 2


def hands_it_on(x: Any, y: Any) -> Any:
    return float(x.sum().item())


def stores_it_in_a_cell(x: Any, y: Any) -> Any:
    value = x.sum().item()
    return [value for _ in range(2)]


def branches(x: Any, y: Any) -> Any:
    value = x.sum().item()
    return value if y is not None else 0.0


@pytest.mark.parametrize("function", [computes_with_it, hands_it_on, stores_it_in_a_cell, branches])
def test_a_number_that_is_used_is_not(function: Any) -> None:
    assert "reads a value of a tensor" in (called(function, two).trouble or "")


def test_equal_numbers_are_not_told_apart() -> None:
    def step(x: Any) -> Any:
        return x.sum().item(), 3.0

    compiled = called(step, lambda: (torch.ones(3),))
    assert not compiled.variants


def test_what_was_written_before_a_branch_is_put_back() -> None:
    w, buffer = torch.zeros(3, requires_grad=True), torch.zeros(3)

    def step(x: Any) -> Any:
        buffer.mul_(0.1).add_(x)
        noise = torch.rand(3)
        (w * noise * x).sum().backward()
        x.mul_(2)
        if buffer.sum() > 0.5:
            buffer.mul_(0.5)
            return noise * 2
        return noise + torch.randn(3)

    for _ in range(20):
        step(torch.randn(3))
    compiled = called(step, lambda: (torch.randn(3),), times=60)
    assert len(compiled.variants) == 2


def test_values_that_a_kernel_refuses_after_a_write() -> None:
    count = torch.zeros(())

    def step(table: Any, index: Any) -> Any:
        count.add_(1)
        return torch.linalg.cholesky(table), table.index_select(0, index)

    good, bad = torch.eye(2), -torch.eye(2)
    compiled = called(step, lambda: (good, torch.tensor([1])))
    assert compiled.variants
    before = count.item()
    with pytest.raises(torch.linalg.LinAlgError):
        compiled(bad, torch.tensor([1]))
    assert count.item() == before + 1


@pytest.mark.parametrize(
    "refuses",
    [
        lambda x, i: torch.zeros(2)[i],
        lambda x, i: torch.zeros(2, 2).gather(0, i[None]),
        lambda x, i: F.embedding(i, torch.zeros(2, 2)),
        lambda x, i: F.cross_entropy(torch.zeros(2, 2), i),
        lambda x, i: torch.zeros(2).index_put_((i,), torch.ones(2)),
        lambda x, i: torch.linalg.inv(torch.eye(2) * (2 - i)),
        lambda x, i: torch.multinomial(1.5 - i, 1),
        lambda x, i: torch.bernoulli(i * 0.9),
    ],
)
def test_an_exception_after_writes_leaves_what_eager_leaves(refuses: Any) -> None:
    """Also gradients, counts of writes, and the random state."""

    def seen(compile: Any) -> Any:
        w, buffer = torch.ones(2, requires_grad=True), torch.zeros(2)
        given = torch.tensor([0, 1])

        def step(x: Any, i: Any) -> Any:
            w.grad = None
            buffer.add_(torch.rand(2))
            (w * x).sum().backward()
            return refuses(x, i)

        step, found = compile(step), []
        torch.manual_seed(0)
        for number in range(7):
            bad = torch.tensor([0, 2])
            try:
                found.append(
                    bits(step(torch.full((2,), float(number)), bad if number == 5 else given))
                )
            except (RuntimeError, IndexError) as error:
                found.append((type(error), str(error)))
            found.append([bits([w.grad, buffer]), w._version, buffer._version])
        if isinstance(step, Compiled):
            assert step.variants, step.explain()
        return found

    set_checks(False)
    assert seen(Compiled) == seen(lambda f: f)


def test_a_norm_that_overflows_after_a_write() -> None:
    count = torch.zeros(2)

    def step(x: Any) -> Any:
        count.add_(1)
        return x.norm(), x.masked_select(x > 0), torch.unique(x), torch.histc(x, 3)

    compiled = called(step, lambda: (torch.ones(2),))
    assert compiled.variants
    for x in (torch.tensor([1e30, 1e30]), torch.tensor([1.0, -1.0]), torch.tensor([1.0, 2.0])):
        assert bits(compiled(x)) == bits(step(x))
    assert count.tolist() == [14.0, 14.0]


def test_gradients_are_put_back_where_a_branch_goes_another_way() -> None:
    unused, w = [torch.zeros(3) for _ in range(9)], torch.ones(3, requires_grad=True)
    more = torch.zeros(3)

    def step(x: Any) -> Any:
        (w * x[: len(unused[4])]).sum().backward()
        return more + 1 if x.sum() > 0 else more - 1

    compiled = called(step, lambda: (torch.randn(3),), times=40)
    assert len(compiled.variants) == 2


@pytest.mark.parametrize("what", ["gradients", "another generator"])
def test_a_graph_that_a_second_call_would_not_give_again(what: str) -> None:
    """A captured call with a graph is made once more: not where that is seen."""

    def seen(compile: Any) -> Any:
        w, dice = torch.ones(3, requires_grad=True), torch.Generator().manual_seed(0)

        def step(x: Any) -> Any:
            if what == "gradients":
                (w * x).sum().backward()
                return w * x
            return w * x * torch.rand(3, generator=dice)

        step, found = compile(step), []
        for number in range(6):
            made = step(torch.full((3,), float(number)))
            found += [bits(made), bits(w.grad), dice.get_state().tolist()]
        return found

    set_checks(False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert seen(Compiled) == seen(lambda f: f)


def test_a_number_of_an_optimizer_that_a_step_writes() -> None:
    def seen(compile: Any) -> Any:
        w = torch.ones(3, requires_grad=True)
        opt = torch.optim.SGD([w], lr=0.1)

        def step(x: Any) -> Any:
            w.grad = x
            opt.step()
            opt.param_groups[0]["lr"] *= 0.5

        step, found = compile(step), []
        for _ in range(6):
            step(torch.ones(3))
            found += [bits(w), opt.param_groups[0]["lr"]]
        return found

    set_checks(False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert seen(Compiled) == seen(lambda f: f)


def test_a_checkpoint_is_captured_and_one_that_writes_is_not() -> None:
    norm = nn.BatchNorm1d(3)
    w = torch.randn(3, requires_grad=True)

    def step(x: Any) -> Any:
        w.grad = None
        y = torch.utils.checkpoint.checkpoint(
            lambda x: F.dropout((x * w).sin(), 0.5), x, use_reentrant=False
        )
        y.sum().backward()
        return y.detach()

    def writes(x: Any) -> Any:
        y = torch.utils.checkpoint.checkpoint(norm, x * w, use_reentrant=False)
        y.sum().backward()
        return y.detach()

    assert called(step, lambda: (torch.randn(4, 3),)).variants
    assert "writes in a checkpoint" in (called(writes, lambda: (torch.randn(4, 3),)).trouble or "")


def test_a_warning_that_is_shown_once_is_no_obstacle() -> None:
    def step(x: Any) -> Any:
        return F.mse_loss(x, torch.ones(3, 1))

    assert called(step, lambda: (torch.randn(3),)).variants


@pytest.mark.parametrize("kind", ["RMSprop", "Adagrad", "SGD", "Adam", "AdamW"])
def test_a_learning_rate_is_read_anew(kind: str) -> None:
    w = torch.ones(3, requires_grad=True)
    opt = getattr(torch.optim, kind)([w], lr=0.1)
    schedule = torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)

    def step(x: Any) -> Any:
        opt.zero_grad()
        loss = (w * x).pow(2).sum()
        loss.backward()
        opt.step()
        return loss

    def given() -> Any:
        schedule.step()
        return (torch.randn(3),)

    assert len(called(step, given, times=14).variants) == 1


def test_a_call_is_made_once_more_from_its_own_start() -> None:
    w = torch.ones(3, requires_grad=True)

    def make() -> Any:
        u = torch.zeros(3)

        def f(x: Any) -> Any:
            u.add_(1)
            return (torch.where(u > 4, w * w, w) * u * x).sin()

        return f

    plain, compiled = make(), Compiled(make())
    for _ in range(8):
        x = torch.randn(3)
        found = []
        for f in (plain, compiled):
            (g,) = torch.autograd.grad(f(x).sum(), w, create_graph=True)
            found.append((g.detach(), *torch.autograd.grad(g.sum(), w)))
        assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))
    assert compiled.variants


def test_a_call_is_not_made_once_more_in_another_state() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Tanh())
    compiled = Compiled(net)
    x = torch.randn(2, 3, requires_grad=True)
    for _ in range(5):
        y = compiled(x)
    net.eval()
    with pytest.raises(RuntimeError, match="need the call of Sequential made once more"):
        torch.autograd.grad(y.sum(), x, create_graph=True)


def test_the_gradient_of_an_argument_stays_in_the_graph() -> None:
    net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))

    def step(x: Any) -> Any:
        x = x.clone().requires_grad_()
        (g,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
        loss = g.pow(2).mean()
        loss.backward()
        return loss

    assert called(step, lambda: (torch.randn(4, 2),)).variants


def test_a_state_dict_is_used_but_not_given_back() -> None:
    net, target = nn.Linear(2, 2), nn.Linear(2, 2)

    def update(x: Any) -> Any:
        new, old = net.state_dict(), target.state_dict()
        target.load_state_dict({k: 0.1 * new[k] + 0.9 * old[k] for k in new})
        return target(x).sum().detach()

    def given_back() -> Any:
        return net.state_dict()

    assert called(update, lambda: (torch.ones(1, 2),)).variants
    assert "with attributes" in (called(given_back, lambda: ()).trouble or "")


def test_calls_that_are_another_each_time_are_looked_for_no_more():
    compiled = torch.compile(lambda x: x * int(x.sum()))
    with pytest.warns(UserWarning, match="captured 8 times"):
        for number in range(12):
            compiled(torch.tensor([number]))
    assert len(compiled.variants) == 8
    for number in range(20, 90):
        assert compiled(torch.tensor([number])).item() == number**2
    assert compiled.variants == [] and "another way each time" in compiled.explain()


@pytest.mark.parametrize("how", ["data", "buffer", "gradient"])
def test_writes_before_a_refusal_of_a_call_with_a_graph(how: str) -> None:
    """The second part puts back nothing that only the first part writes."""

    def seen(compile: Any) -> Any:
        w, count = torch.ones(3, requires_grad=True), torch.zeros(3)
        w.grad = torch.zeros(3)

        def step(x: Any, i: Any) -> Any:
            if how == "data":
                x.data.add_(1)
            elif how == "buffer":
                count.add_(1)
            else:
                w.grad.add_(1)
            y = (w * x).sin().cos().exp()
            return y * torch.zeros(3).index_put((i,), torch.ones(2))

        step, found = compile(step), []
        for number in range(7):
            x = torch.full((3,), float(number))
            try:
                made = step(x, torch.tensor([0, 3 if number == 5 else 1]))
                made.sum().backward()
                found.append(bits(made))
            except IndexError as error:
                found.append(str(error))
            found += [bits(x), bits(w.grad), bits(count)]
        return found

    set_checks(False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert seen(Compiled) == seen(lambda f: f)
