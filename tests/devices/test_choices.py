"""The choices of kernels by a device's row, and how a row is measured."""

import tomllib

import numpy as np
import pytest

import rushlight as torch
from rushlight._devices import choices
from rushlight.ops.matrix.there import products

pytestmark = pytest.mark.usefixtures("refuse")


@pytest.fixture
def launched(monkeypatch):
    names, start = [], products.start

    def noted(file, name, *args, **more):
        names.append(name)
        start(file, name, *args, **more)

    monkeypatch.setattr(products, "start", noted)
    return names


def test_numbers_of_a_row_choose_the_kernel(launched):
    a = torch.tensor(np.arange(20.0 * 30).reshape(20, 30))
    there, want = a.to("opencl"), a.numpy() @ a.numpy().T
    before = choices.row(0)
    for numbers, kernel in (
        ({"least_product": 1, "least_side": 20}, "product_packed"),
        ({"least_product": 1, "least_side": 21}, "product"),
        ({"least_product": 20 * 20 * 30 + 1}, "product"),
    ):
        launched.clear()
        with choices.using(0, **numbers):
            np.testing.assert_array_equal((there @ there.t()).cpu().numpy(), want)
        assert [name for name in launched if name != "pack"] == [kernel]
    assert choices.row(0) is before


def test_sums_are_cut_as_a_row_says(launched):
    a = torch.ones(3, 1000).to("opencl")
    for few, least, pieces in ((9, 100, 9), (90, 100, 10), (1, 1, 1)):
        launched.clear()
        with choices.using(0, few_tiles=few, least_terms=least):
            assert choices.pieces(0, "", 1, 9, 1000) == pieces
            assert (a @ a.t()).cpu().tolist() == [[1000.0] * 3] * 3
        assert launched == ["product", "sum_pieces"][: 1 + (pieces > 1)]


def test_a_row_is_measured():
    before = choices.row(0)
    found = choices.measure(0, "2000-01-01", "in a test", seconds=0.0)
    assert choices.row(0) is before
    assert found[1:3] == ("2000-01-01", "in a test") and "pthread" in found.device
    for name, (values, _) in choices._TRIED.items():
        assert getattr(found, name) in {getattr(before, name), *values}
    (read,) = tomllib.loads(choices.written(found))["row"]
    assert choices.Row(**read) == found


def test_the_fastest_value_is_taken(monkeypatch):
    """Of a job that takes as long as the number says, by a clock that it moves itself."""
    clock = [0.0]

    def job():
        clock[0] += choices.row(0).least_side

    monkeypatch.setattr(choices, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(choices, "_TRIED", {"least_side": ((4, 1, 16), "it")})
    monkeypatch.setattr(choices, "_jobs", lambda device: {"it": job})
    assert choices.measure(0, "", seconds=0.0).least_side == 1
    late = choices.measure(0, "", "measured", seconds=0.0, most=-1.0)
    assert (
        late.least_side == choices.row(0).least_side and late.how == "measured, but not least_side"
    )
    monkeypatch.setattr(choices, "_TRIED", {"least_side": ((17, 20), "it")})
    assert choices.measure(0, "", seconds=0.0).least_side == choices.row(0).least_side
