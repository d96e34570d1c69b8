"""Learning-rate schedules against their closed forms."""

import math
import warnings

import pytest

from _subject import torch

schedules = torch.optim.lr_scheduler


def rates(make, epochs=12, lr=0.1, metric=None):
    """The rate in each of the first epochs."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=lr)
    scheduler = make(optimizer)
    seen = []
    for epoch in range(epochs):
        seen.append(optimizer.param_groups[0]["lr"])
        assert scheduler.get_last_lr() == [seen[-1]]
        optimizer.step()
        scheduler.step(*([metric[epoch]] if metric else []))
    return seen


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda o: schedules.StepLR(o, 3, 0.5), lambda t: 0.5 ** (t // 3)),
        (
            lambda o: schedules.MultiStepLR(o, [2, 5, 5]),
            lambda t: 0.1 ** ((t >= 2) + 2 * (t >= 5)),
        ),
        (lambda o: schedules.ExponentialLR(o, 0.9), lambda t: 0.9**t),
        (
            lambda o: schedules.CosineAnnealingLR(o, 5, eta_min=0.01),
            lambda t: 0.1 + 0.9 * (1 + math.cos(math.pi * t / 5)) / 2,
        ),
        (lambda o: schedules.LambdaLR(o, lambda t: 1 / (1 + t)), lambda t: 1 / (1 + t)),
        (lambda o: schedules.MultiplicativeLR(o, lambda t: 0.5), lambda t: 0.5**t),
        (lambda o: schedules.LinearLR(o, 0.5, 1.0, 4), lambda t: min(1.0, 0.5 + 0.5 * t / 4)),
        (lambda o: schedules.ConstantLR(o, 0.5, 4), lambda t: 0.5 if t < 4 else 1.0),
    ],
)
def test_chained_form_equals_closed_form(make, expected):
    for t, rate in enumerate(rates(make)):
        assert math.isclose(rate, 0.1 * expected(t), rel_tol=1e-9, abs_tol=1e-12)


def test_reduce_on_plateau():
    metric = [5.0, 4.0, 4.0, 4.0, 4.0, 3.0, 3.0, 3.0, 3.0, 3.0]
    make = lambda o: schedules.ReduceLROnPlateau(o, factor=0.1, patience=1, cooldown=1)
    got = rates(make, 10, 1.0, metric)
    # Bad epochs 2 and 3 use up the patience; the next is in cooldown.
    expected = [1.0] * 4 + [0.1] * 4 + [0.01, 0.01]
    assert [round(r, 9) for r in got] == expected
    rising = lambda o: schedules.ReduceLROnPlateau(o, "max", 0.5, 0, min_lr=0.3)
    assert rates(rising, 5, 1.0, [1.0, 2.0, 1.0, 1.0, 1.0]) == [1.0, 1.0, 1.0, 0.5, 0.3]


def test_groups_keep_their_own_rates():
    p, q = (torch.nn.Parameter(torch.ones(1)) for _ in range(2))
    optimizer = torch.optim.SGD([{"params": [p]}, {"params": [q], "lr": 1.0}], lr=0.1)
    scheduler = schedules.LambdaLR(optimizer, [lambda t: 0.5**t, lambda t: 1.0])
    optimizer.step()
    scheduler.step()
    assert scheduler.get_last_lr() == [0.05, 1.0]
    assert [g["initial_lr"] for g in optimizer.param_groups] == [0.1, 1.0]


def test_state_dict():
    def fresh():
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
        return optimizer, schedules.StepLR(optimizer, 2, 0.5)

    optimizer, scheduler = fresh()
    for _ in range(3):
        optimizer.step()
        scheduler.step()
    state = scheduler.state_dict()
    assert state["last_epoch"] == 3 and state["_step_count"] == 4 and "optimizer" not in state
    other_optimizer, other = fresh()
    other.load_state_dict(state)
    other_optimizer.load_state_dict(optimizer.state_dict())
    other_optimizer.step()
    other.step()
    assert other.get_last_lr() == [0.1 * 0.25]


def test_order_of_steps_is_watched():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    scheduler = schedules.StepLR(optimizer, 1)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        scheduler.step()
    assert "Detected call of `lr_scheduler.step()` before `optimizer.step()`" in str(
        seen[-1].message
    )


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda o: schedules.StepLR(3, 1), TypeError, "int is not an Optimizer"),
        (lambda o: schedules.StepLR(o, 1, last_epoch=2), KeyError, "param 'initial_lr' is not"),
        (lambda o: schedules.LambdaLR(o, []), ValueError, "Expected 1 lr_lambdas, but got 0"),
        (lambda o: schedules.ReduceLROnPlateau(o, "x"), ValueError, "mode x is unknown!"),
        (lambda o: schedules.ReduceLROnPlateau(o, factor=2), ValueError, "Factor should be < 1.0."),
        (lambda o: schedules.LinearLR(o, 2.0), ValueError, "Starting multiplicative factor"),
    ],
)
def test_errors(make, error, text):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    with pytest.raises(error) as caught:
        make(optimizer)
    assert text in str(caught.value)
