"""What `explain.watch` keeps: series, names of groups, and what is wrong with them."""

from types import SimpleNamespace

import numpy as np
from rushlight.explain import _watch, watch
from rushlight.explain._watch_data import Series

import rushlight

torch, nn = rushlight, rushlight.nn


def test_names_of_groups():
    a, b, c = (torch.ones(n, 2, requires_grad=True) for n in (1, 2, 3))
    groups = [{"params": [a]}, {"params": [b], "name": "head"}, {"params": [c], "name": 7}]
    optimizer = torch.optim.AdamW(groups, lr=0.5)
    with watch(show=False) as seen:
        (a.sum() + b.sum() + c.sum()).backward()
        optimizer.step()
    assert [group.name for group in seen.groups] == ["AdamW[0]", "head", "AdamW[2]"]
    assert [group.elements for group in seen.groups] == [2, 4, 6]
    assert [group.parts for group in seen.groups] == [["1×2"], ["2×2"], ["3×2"]]


def test_named_parameters():
    net = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(net.named_parameters(), lr=0.5)
    with watch(show=False) as seen:
        net(torch.ones(1, 3)).sum().backward()
        optimizer.step()
    assert seen.groups[0].parts == ["weight 2×3", "bias 2"]


def test_a_group_that_comes_later():
    a, b = torch.ones(1, requires_grad=True), torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([a], lr=0.5)
    with watch(show=False) as seen:
        (a * 2).sum().backward()
        optimizer.step()
        optimizer.add_param_group({"params": [b], "lr": 0.1})
        (b * 3).sum().backward()
        optimizer.step()
    assert [(list(g.norms.at), g.rate) for g in seen.groups] == [([1, 2], 0.5), ([2], 0.1)]


def test_what_is_wrong_is_said():
    x = torch.ones(2, requires_grad=True)
    unused = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([x, unused], lr=0.0)

    def notes(*gradients):
        with watch(show=False) as seen:
            for gradient in gradients:
                x.grad = torch.full((2,), float(gradient))
                optimizer.step()
        return [note for note in seen.groups[0].notes() if "without" not in note.text]

    with watch(show=False) as seen:
        (x * 2).sum().backward()
        optimizer.step()
    assert seen.groups[0].notes() == [("1 of 2 without gradient", False)]
    assert notes(*[1] * 20) == []
    assert notes(1, 0) == [("zero", True)]
    assert notes(1, "nan") == [("NaN", True)]
    assert notes("inf", "inf") == [("inf", True), ("2 not finite, first at 1", False)]
    assert notes("nan", 1) == [("1 not finite, first at 1", False)]
    assert notes(*[1] * 20, 101) == [("exploding: 101× its median", True)]
    assert notes(*[1] * 20, 101, 1) == [("101× the median before it at 21", False)]
    assert notes(*[10.0 ** (6 - i) for i in range(13)]) == [], "it falls, as it does"
    assert notes(*[1000] * 11, *[1] * 50, 150, *[1] * 50)[0].text.startswith("150×")
    assert notes(*[1] * 20, 99) == []
    assert notes(*[0] * 20, 5) == []
    x.grad = None
    with watch(show=False) as seen:
        optimizer.step()
    assert seen.groups[0].notes() == [("no gradient", True)]


def test_a_series_keeps_every_value_while_there_is_room():
    series = Series()
    values = np.random.default_rng(0).standard_normal(4096)
    for i, value in enumerate(values):
        series.add(i, value)
    assert np.array_equal(series.last, values)
    assert series.width == 1


def test_a_long_series_loses_no_extreme():
    series = Series()
    values = np.random.default_rng(0).standard_normal(100_003)
    values[70_001], values[3] = 50.0, -50.0
    values[[5, 90_000]] = np.nan
    for i, value in enumerate(values.tolist()):
        series.add(i, value)
    n, width = len(series.at), series.width
    assert 2048 <= n <= 4096
    assert width == 32
    parts = [values[i : i + width] for i in range(0, len(values), width)]
    assert list(series.at) == list(range(0, len(values), width))
    assert list(series.low) == [np.nanmin(part) for part in parts]
    assert list(series.high) == [np.nanmax(part) for part in parts]
    assert list(series.last) == [part[~np.isnan(part)][-1] for part in parts]
    assert (series.not_finite, series.first_bad, series.count) == (2, 5, 100_003)
    assert series.largest == (50.0, 70_001 // 32 * 32)


def test_a_series_of_nothing_finite():
    series = Series()
    for i in range(5000):
        series.add(i, float("nan"))
    assert series.not_finite == 5000
    assert np.isnan(series.median)
    assert np.isnan(series.largest[0])


def test_how_far_the_program_is(monkeypatch):
    """Steps per second of the last 5 seconds, by a clock of the test's."""
    now = 100.0
    monkeypatch.setattr(_watch, "time", SimpleNamespace(perf_counter=lambda: now))
    x = torch.tensor([1.0], requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.0)
    with watch(show=False) as seen:
        for each, said in ((0.02, "step 40 · 50/s · 0:00:00"), (4.0, "step 80 · 0.25/s · 0:02:40")):
            for _ in range(40):
                x.grad = torch.ones(1)
                optimizer.step()
                now += each
                shown = seen.progress()
            assert shown == said
        now += 10_000
    assert seen.progress() == "step 80 · 0.0079/s · 2:49:20"
