"""Functions of several tensors: for each pair of types the types of their results, or a refusal."""

import pytest
import type_pairs as pairs

import rushlight

WANTED = pairs.read()
# What is not PyTorch's, by the reason: the functions, and what is so of the answers.
_LENIENT = "it computes what PyTorch refuses"
EXCEPTIONS = {
    "addcdiv": _LENIENT,  # of integers, as a true division
    "ldexp": _LENIENT,  # by a bool, and of a complex number by a half
    # PyTorch drops the imaginary parts of B where A is real, and takes complex targets of real
    # logits.
    "solve_triangular": "",
    "binary_cross_entropy_with_logits": "",
}


def test_the_functions_are_those_that_are_kept():
    assert set(pairs.names()) == set(WANTED), "python tests/table/type_pairs.py --accept"


@pytest.mark.parametrize("name", sorted(WANTED))
def test_as_pytorch(name):
    wrong = []
    for (a, b), want in zip(pairs.PAIRS, WANTED[name], strict=True):
        here = pairs.answer(rushlight, name, a, b)
        lenient = EXCEPTIONS.get(name) == _LENIENT and want == "-"
        if here != want and not lenient:
            wrong.append(f"{a}, {b}: PyTorch {want}, here {here}")
    assert bool(wrong) == (EXCEPTIONS.get(name) == ""), wrong


def test_the_kept_answers_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    for name in ("add", "cross", "huber_loss", "prelu", "trapezoid"):
        assert [pairs.answer(torch, name, a, b) for a, b in pairs.PAIRS] == WANTED[name]


# Functions that have no samples of floating tensors.
OTHERS = """
F.margin_ranking_loss(i, i, i)	float32
F.margin_ranking_loss(u, u, u)	float32
F.margin_ranking_loss(b, b, b)	-
F.gaussian_nll_loss(i, f, f)	float32
F.gaussian_nll_loss(i, i, i)	-
torch.bincount(i, c)	float64
torch.bincount(i, b)	float64
torch.bucketize(f, b)	int64
torch.bucketize(b, f)	int64
torch.bucketize(b, b)	-
torch.bucketize(c, c)	-
torch.searchsorted(b, f)	int64
torch.searchsorted(b, b)	-
"""


@pytest.mark.parametrize("library", ["rushlight", "torch"])
def test_other_functions(library):
    torch = pytest.importorskip(library)
    types = {"i": "int64", "u": "uint8", "b": "bool", "f": "float32", "c": "complex64"}
    space = {k: torch.ones(2, dtype=getattr(torch, v)) for k, v in types.items()}
    space |= {"torch": torch, "F": torch.nn.functional}
    for line in OTHERS.strip().splitlines():
        call, want = line.split("\t")
        try:
            found = str(eval(call, space).dtype).removeprefix("torch.")
        except (RuntimeError, NotImplementedError):
            found = "-"
        assert found == want, call
