"""The comparison finds what it should: a library that is PyTorch with one fault each time."""

import compat
import pytest
from compat import Case, cases, oracle, run, same_run


def differences(good: str, faulty: str, dtype: str = "float32", grad: bool = False) -> list[str]:
    """What is said when one library does `good` and the other `faulty`."""
    expected = run(oracle, Case(good, dtype, frozenset()), grad)
    actual = run(oracle, Case(faulty, dtype, frozenset()), grad)
    found = same_run(expected, actual, Case(good, dtype, frozenset()))
    if not found and grad:
        found = compat.same_gradients(
            compat._gradients(oracle, expected),
            compat._gradients(oracle, actual),
            Case(good, dtype, frozenset()),
            2,
        )
    return found


FAULTS = [
    ("x + y", "x + y * 1.000001", "values"),
    ("x + y", "x + y + 4e-6", "values"),
    ("x + y", "(x + y).double()", "dtype"),
    ("x + y", "(x + y).flatten()", "shape"),
    ("x.exp()", "x.exp() + t.where(msk, float('nan'), 0)", "values"),
    ("x.view(12)", "x.clone().view(12)", "shares memory"),
    ("x + 0", "x.view(3, 4)", "shares memory"),
    ("x.t()", "x.view(4, 3)", "values"),
    ("sq.t()", "(sq + sq.t() - sq).contiguous()", "shares memory"),
    ("x.sum()", "x.sum().item()", "expected a tensor"),
    ("x.max(1)", "tuple(x.max(1))", "expected"),
    ("x.shape", "tuple(x.shape)", "expected"),
    ("x.size(0)", "float(x.size(0))", "expected 3"),
    ("x.add_(1)", "x + 1", "shares memory"),
    ("x + 1", "x.add_(1) * 1", "input x afterwards"),
    ("x[5]", "x[0]", "no exception"),
    ("x[0]", "x[5]", "raised IndexError"),
    ("x[5]", "x.sum(4)", "says"),
    ("x[5]", "t.zeros(-1)", "raised RuntimeError"),
    ("(x > 0)", "(x > 0.001) | msk", "values"),
    ("x.long()", "x.long() + 1", "values"),
]

FAULTS_WITH_GRAD = [
    ("x * y", "x.detach() * y", "gradient of x: None"),
    ("x * y", "(x * y).detach()", "requires_grad"),
    ("x * y", "x * y * 1.0", None),
    ("x * y", "x.detach() * y + x * 0", "grad_fn AddBackward0"),
    ("x.abs()", "(x.detach() * 0 + x).abs()", None),
    ("x * 1", "(x.detach() - x) * 1 + x.detach() * 0 + x", "grad_fn"),
    ("t.relu(x)", "t.relu(x * 1)", None),
]


@pytest.mark.parametrize("good, faulty, said", FAULTS)
def test_fault_is_found(good, faulty, said):
    found = differences(good, faulty)
    assert found and said in found[0], found


@pytest.mark.parametrize("good, faulty, said", FAULTS_WITH_GRAD)
def test_fault_in_the_graph_is_found(good, faulty, said):
    found = differences(good, faulty, grad=True)
    assert (not found) if said is None else (found and said in found[0]), found


def test_text_is_compared():
    shown = run(oracle, Case("x", "float32", frozenset()), False)
    other = run(oracle, Case("x", "float32", frozenset()), False)

    class Odd(oracle.Tensor):
        def __repr__(self, **_):
            return "tensor"

    other.result = other.result.as_subclass(Odd)
    found = same_run(shown, other, Case("x", "float32", frozenset()))
    assert found and "prints" in found[0]


def test_table():
    found = cases("# a title\n\nx + y  # f i64\nt.zeros(2)  # raises\n")
    assert [str(case) for case in found] == [
        "x + y [float32]", "x + y [float64]", "x + y [int64]", "t.zeros(2) [float32]",
    ]  # fmt: skip
    assert found[3].flags == {"raises"}
    with pytest.raises(ValueError, match="unknown word 'flaot'"):
        cases("x  # flaot")


def test_a_case_that_does_not_raise_is_an_error():
    with pytest.raises(AssertionError, match="does not raise"):
        compat.check(Case("x + y", "float32", frozenset({"raises"})))
