"""Learning-rate schedules and averages of models against PyTorch's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import rushlight

pytorch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

LIBRARIES = (rushlight, pytorch)
Make = Callable[[Any, Any], Any]


def optimizer_of(m: Any, kind: str = "SGD") -> Any:
    groups = [{"params": [m.zeros(1)]}, {"params": [m.zeros(1)], "lr": 1.0}]
    return getattr(m.optim, kind)(groups, lr=0.1, **{"momentum": 0.9} if kind == "SGD" else {})


def schedules(m: Any) -> Any:
    return m.optim.lr_scheduler


def averages(m: Any) -> Any:
    return m.optim.swa_utils


def composed(s: Any, o: Any) -> Any:
    warm_up = s.SequentialLR(o, [s.ConstantLR(o, 0.5, 2), s.LinearLR(o, 0.5, 1.0, 3)], [2])
    chained = s.ChainedScheduler([warm_up, s.StepLR(o, 2), s.ExponentialLR(o, 0.9)])
    return s.SequentialLR(o, [chained, s.LambdaLR(o, len_of)], [4])


def len_of(epoch: int) -> float:
    return 1 / (1 + epoch)


class Scale:
    def __init__(self) -> None:
        self.slope = 1

    def __call__(self, x: float) -> float:
        return 1 / (1 + self.slope * x)


MAKE: dict[str, Make] = {
    "cyclic": lambda m, o: schedules(m).CyclicLR(o, 0.1, 1.0, 2, 3),
    "cyclic, a list": lambda m, o: schedules(m).CyclicLR(
        o, [0.1, 0.2], [1.0, 2.0], 2, mode="triangular2", cycle_momentum=False
    ),
    "cyclic, gamma": lambda m, o: schedules(m).CyclicLR(
        o, 0.1, 1.0, 2, mode="exp_range", gamma=0.9, base_momentum=0.5
    ),
    "cyclic, a function": lambda m, o: schedules(m).CyclicLR(
        o, 0.1, 1.0, 2, scale_fn=lambda x: 1 / x
    ),
    "cyclic, an object": lambda m, o: schedules(m).CyclicLR(
        o, 0.1, 1.0, 2, scale_fn=Scale(), scale_mode="iterations"
    ),
    "restarts": lambda m, o: schedules(m).CosineAnnealingWarmRestarts(o, 2, 2, 0.01),
    "restarts, equal": lambda m, o: schedules(m).CosineAnnealingWarmRestarts(o, 3),
    "one cycle": lambda m, o: schedules(m).OneCycleLR(o, 1.0, 12),
    "one cycle, three phases": lambda m, o: schedules(m).OneCycleLR(
        o, [1.0, 2.0], epochs=3, steps_per_epoch=4, anneal_strategy="linear", three_phase=True
    ),
    "one cycle, no momentum": lambda m, o: schedules(m).OneCycleLR(
        o, 1.0, 14, cycle_momentum=False, div_factor=4.0, final_div_factor=10.0, pct_start=0.4
    ),
    "polynomial": lambda m, o: schedules(m).PolynomialLR(o, 4, 2.0),
    "sequential": lambda m, o: schedules(m).SequentialLR(
        o, [schedules(m).ConstantLR(o, 0.1, 2), schedules(m).ExponentialLR(o, 0.9)], [3]
    ),
    "chained": lambda m, o: schedules(m).ChainedScheduler(
        [schedules(m).ConstantLR(o, 0.1, 2), schedules(m).ExponentialLR(o, 0.9)], o
    ),
    "composed twice": lambda m, o: composed(schedules(m), o),
    "swa": lambda m, o: averages(m).SWALR(o, 0.05, anneal_epochs=4),
    "swa, straight": lambda m, o: averages(m).SWALR(o, [0.05, 0.5], 3, "linear"),
    "swa, at once": lambda m, o: averages(m).SWALR(o, 0.05, 0),
    "step": lambda m, o: schedules(m).StepLR(o, 2, 0.5),
    "several steps": lambda m, o: schedules(m).MultiStepLR(o, [2, 5, 5]),
    "exponential": lambda m, o: schedules(m).ExponentialLR(o, 0.9),
    "cosine": lambda m, o: schedules(m).CosineAnnealingLR(o, 4, 0.01),
    "linear": lambda m, o: schedules(m).LinearLR(o, 0.5, 0.8, 4),
    "lambda": lambda m, o: schedules(m).LambdaLR(o, [len_of, lambda epoch: 0.5]),
    "product": lambda m, o: schedules(m).MultiplicativeLR(o, len_of),
}


def history(m: Any, make: Make, kind: str, epochs: int = 11) -> Any:
    optimizer = optimizer_of(m, kind)
    schedule = make(m, optimizer)
    return go_on(optimizer, schedule, epochs), optimizer, schedule


def go_on(optimizer: Any, schedule: Any, epochs: int) -> list[Any]:
    seen = []
    for _ in range(epochs):
        seen += [*schedule.get_last_lr(), *flat(optimizer)]
        optimizer.step()
        schedule.step()
    return seen


def flat(optimizer: Any) -> list[Any]:
    return [
        value
        for group in optimizer.param_groups
        for value in (group["lr"], group.get("momentum"), *group.get("betas", ()))
    ]


def close(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: close(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(close(v) for v in value)
    return pytest.approx(value, rel=1e-9, abs=1e-12) if isinstance(value, float) else value


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_rates_momenta_and_states(make: Make, kind: str) -> None:
    (found, optimizer, schedule), (want, other, theirs) = (
        history(m, make, kind) for m in LIBRARIES
    )
    assert found == close(want)
    assert plain(schedule.state_dict()) == close(plain(theirs.state_dict()))
    options, their_options = (
        [{k: v for k, v in g.items() if k != "params"} for g in o.param_groups]
        for o in (optimizer, other)
    )
    assert options == close(their_options)


def plain(state: dict[str, Any]) -> dict[str, Any]:
    """Counters as dicts."""
    return {k: dict(v) if k == "milestones" else v for k, v in state.items()}


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_goes_on_from_pytorchs_state(make: Make) -> None:
    _, other, theirs = history(pytorch, make, "SGD", 4)
    optimizer = optimizer_of(rushlight)
    schedule = make(rushlight, optimizer)
    optimizer.load_state_dict(other.state_dict())
    schedule.load_state_dict(theirs.state_dict())
    assert go_on(optimizer, schedule, 6) == close(go_on(other, theirs, 6))


@pytest.mark.parametrize(
    ("T_0", "T_mult"),
    [(2, 1), (2, 2), (3, 2)],
)
def test_restarts_at_fractions(T_0: int, T_mult: int) -> None:
    seen = []
    for m in LIBRARIES:
        schedule = schedules(m).CosineAnnealingWarmRestarts(optimizer_of(m), T_0, T_mult)
        for epoch in (0.5, 2.5, 7, None, 1.25, None, 40.5, None):
            schedule.step(epoch)
            seen.append(schedule.state_dict())
    half = len(seen) // 2
    assert seen[:half] == close(seen[half:])


@pytest.mark.parametrize("name", ["polynomial", "step", "linear", "cosine"])
def test_the_closed_form(name: str) -> None:
    seen = []
    for m in LIBRARIES:
        schedule = MAKE[name](m, optimizer_of(m))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            schedule.step(3)
        seen.append((schedule.get_last_lr(), [str(w.message) for w in caught]))
    assert seen[0] == close(seen[1])


def beyond_the_end(m: Any, o: Any) -> None:
    schedule = schedules(m).OneCycleLR(o, 1.0, 3)
    for _ in range(4):
        schedule.step()


WRONG: list[Make] = [
    lambda m, o: schedules(m).CyclicLR(o, 0.1, 1.0, mode="x"),
    lambda m, o: schedules(m).CyclicLR(o, [0.1], 1.0),
    lambda m, o: schedules(m).CyclicLR(o, 0.1, [1.0]),
    lambda m, o: schedules(m).CyclicLR(o, 0.1, 1.0, base_momentum=[1.0]),
    lambda m, o: schedules(m).CyclicLR(optimizer_of(m, "Adagrad"), 0.1, 1.0),
    lambda m, o: schedules(m).CyclicLR(3, 0.1, 1.0),
    lambda m, o: schedules(m).CosineAnnealingWarmRestarts(o, 0),
    lambda m, o: schedules(m).CosineAnnealingWarmRestarts(o, 1.5),
    lambda m, o: schedules(m).CosineAnnealingWarmRestarts(o, 2, 0),
    lambda m, o: schedules(m).CosineAnnealingWarmRestarts(o, 2, 1, "x"),
    lambda m, o: schedules(m).CosineAnnealingWarmRestarts(o, 2).step(-1),
    lambda m, o: schedules(m).OneCycleLR(o, 1.0),
    lambda m, o: schedules(m).OneCycleLR(o, 1.0, -1),
    lambda m, o: schedules(m).OneCycleLR(o, 1.0, 1.5),
    lambda m, o: schedules(m).OneCycleLR(o, 1.0, epochs=-1, steps_per_epoch=2),
    lambda m, o: schedules(m).OneCycleLR(o, 1.0, epochs=1, steps_per_epoch=-2),
    lambda m, o: schedules(m).OneCycleLR(o, 1.0, 5, pct_start=2.0),
    lambda m, o: schedules(m).OneCycleLR(o, 1.0, 5, anneal_strategy="x"),
    lambda m, o: schedules(m).OneCycleLR(o, [1.0], 5),
    lambda m, o: schedules(m).OneCycleLR(optimizer_of(m, "Adagrad"), 1.0, 5),
    beyond_the_end,
    lambda m, o: schedules(m).SequentialLR(o, [], []),
    lambda m, o: schedules(m).SequentialLR(o, [schedules(m).ConstantLR(o)], [3]),
    lambda m, o: schedules(m).SequentialLR(o, [3], []),
    lambda m, o: schedules(m).SequentialLR(o, [schedules(m).ReduceLROnPlateau(o)], []),
    lambda m, o: schedules(m).SequentialLR(o, [schedules(m).ConstantLR(optimizer_of(m))], []),
    lambda m, o: schedules(m).ChainedScheduler([]),
    lambda m, o: schedules(m).ChainedScheduler([3]),
    lambda m, o: schedules(m).ChainedScheduler([schedules(m).ReduceLROnPlateau(o)]),
    lambda m, o: schedules(m).ChainedScheduler([schedules(m).ConstantLR(o)], optimizer_of(m)),
    lambda m, o: averages(m).SWALR(o, 0.1, anneal_strategy="x"),
    lambda m, o: averages(m).SWALR(o, 0.1, anneal_epochs=-1),
    lambda m, o: averages(m).SWALR(o, [0.1]),
    lambda m, o: averages(m).get_ema_avg_fn(2.0),
    lambda m, o: averages(m).get_ema_multi_avg_fn(-1.0),
    lambda m, o: averages(m).AveragedModel(m.nn.Linear(1, 1), avg_fn=max, multi_avg_fn=max),
]


@pytest.mark.parametrize("make", WRONG, ids=range(len(WRONG)))
def test_errors(make: Make) -> None:
    said = []
    for m in LIBRARIES:
        with pytest.raises(Exception) as caught:
            make(m, optimizer_of(m))
        said.append((type(caught.value).__name__, str(caught.value)))
    assert said[0] == said[1]


def model_of(m: Any) -> Any:
    model = m.nn.Sequential(m.nn.Linear(2, 3), m.nn.BatchNorm1d(3))
    with m.no_grad():
        for i, p in enumerate(model.parameters()):
            p.copy_(m.arange(float(p.numel())).reshape(p.shape) * 0.1 + i)
    return model


AVERAGES: list[Callable[[Any], dict[str, Any]]] = [
    lambda w: {},
    lambda w: {"use_buffers": True},
    lambda w: {"avg_fn": w.get_ema_avg_fn(0.9)},
    lambda w: {"avg_fn": w.get_swa_avg_fn()},
    lambda w: {"avg_fn": lambda average, present, count: average + present * count},
    lambda w: {"multi_avg_fn": w.get_ema_multi_avg_fn(0.9)},
    lambda w: {"multi_avg_fn": w.get_ema_multi_avg_fn(0.9), "use_buffers": True},
    lambda w: {"multi_avg_fn": w.get_swa_multi_avg_fn(), "device": "cpu"},
]


@pytest.mark.parametrize("options", AVERAGES, ids=range(len(AVERAGES)))
def test_averaged_models(options: Callable[[Any], dict[str, Any]]) -> None:
    found = []
    for m in LIBRARIES:
        model = model_of(m)
        average = averages(m).AveragedModel(model, **options(averages(m)))
        for i in range(3):
            with m.no_grad():
                for p in model.parameters():
                    p.mul_(1.5).add_(i)
                model[1].running_mean.add_(1)
                model[1].num_batches_tracked.add_(2)
            average.update_parameters(model)
        state = {k: (v.tolist(), str(v.dtype)) for k, v in average.state_dict().items()}
        found.append((state, repr(average), average.eval()(m.ones(2, 2)).tolist()))
    (state, text, out), (want, their_text, their_out) = found
    assert text == their_text
    assert list(state) == list(want)
    for name, (values, dtype) in want.items():
        assert state[name][1] == dtype
        assert rushlight.tensor(state[name][0]).tolist() == rushlight.tensor(values).tolist() or (
            rushlight.allclose(rushlight.tensor(state[name][0]), rushlight.tensor(values))
        )
    assert rushlight.allclose(rushlight.tensor(out), rushlight.tensor(their_out), atol=1e-5)


def test_update_bn() -> None:
    found = []
    for m in LIBRARIES:
        model = model_of(m)
        model.eval()
        batches = [m.arange(6.0).reshape(3, 2) * i for i in (1, 2, 5)]
        averages(m).update_bn([(batch, 0) for batch in batches], model, "cpu")
        norm = model[1]
        found.append((norm.running_mean.tolist(), norm.running_var.tolist(), norm.momentum))
        assert not model.training
        assert averages(m).update_bn(batches, m.nn.Linear(2, 2)) is None
    for ours, theirs in zip(*found, strict=True):
        assert ours == pytest.approx(theirs)
