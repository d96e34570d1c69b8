"""Sizes of 0 and wrong arguments of layers and products: the result or the error is PyTorch's."""

import pytest

import rushlight

torch = pytest.importorskip("torch")

CASES = """
F.adaptive_avg_pool1d(t.ones(0, 3), 2)
F.adaptive_avg_pool2d(t.ones(0, 3, 4), (2, 2))
F.adaptive_avg_pool2d(t.ones(1, 0, 3, 4), 2)
F.adaptive_avg_pool2d(t.ones(1, 2, 3, 0), 2)
F.adaptive_avg_pool3d(t.ones(0, 3, 4, 4), 2)
F.adaptive_avg_pool3d(t.ones(1, 0, 3, 4, 4), 2)
F.adaptive_max_pool1d(t.ones(0, 3), 2)
F.adaptive_max_pool2d(t.ones(0, 3, 4), 2)
F.adaptive_max_pool2d(t.ones(1, 0, 3, 4), 2)
F.fractional_max_pool2d(t.ones(1, 1, 4, 4), 2, output_size=(0, 2))
F.fractional_max_pool2d(t.ones(1, 1, 4, 4), 2, output_size=(-1, 2))
F.fractional_max_pool3d(t.ones(1, 1, 4, 4, 4), 2, output_size=(0, 2, 2))
F.max_unpool2d(t.ones(1, 1, 1, 1), t.full((1, 1, 1, 1), 9), 2)
t.linalg.cross(t.tensor(1.0), t.tensor(1.0))
t.ones(2, 3).unflatten(0, (-1, -1))
t.histogramdd(t.ones(3, 2), bins=[t.ones(2)] * 3)
t.histogramdd(t.ones(3, 2), bins=[2])
""".strip().splitlines()


def answer(library, case):
    try:
        found = eval(case, {"t": library, "F": library.nn.functional})
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0].partition(". ")[0].rstrip(".")
    return tuple(found.shape)


@pytest.mark.parametrize("case", CASES)
def test_answers_are_pytorchs(case):
    assert answer(rushlight, case) == answer(torch, case)


@pytest.mark.parametrize("size", [4.0, "4"])
def test_a_size_is_a_number(size):
    for library in (rushlight, torch):
        with pytest.raises(TypeError, match="received an invalid combination of arguments"):
            library.nn.functional.interpolate(library.ones(1, 1, 4), size=size)
