"""Type promotion over all dtype pairs and ranks: the rules written out here, then PyTorch.

Python numbers count as 0-dim values of their kind with the default width. A tensor with
dimensions decides over a 0-dim one, and that over a number, unless the weaker is of a higher kind
(bool < int < float < complex), where a complex takes the float's width. Within one rank the types
of NumPy's lattice are joined, except that an int and a float give that float, and float16 with
bfloat16 gives float32.
"""

import itertools

import numpy as np
import pytest

from _subject import torch

NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
         "float64", "complex64", "complex128")  # fmt: skip
KIND = {n: 0 if n == "bool" else 1 if "int" in n else 2 if "float" in n else 3 for n in NAMES}
RANKS = ("tensor", "zero", "number")
COMPLEX_OF = {"float64": "complex128"}


def join(a: str, b: str) -> str:
    """The type of two operands of one rank."""
    if a == b:
        return a
    if KIND[a] > KIND[b]:
        a, b = b, a
    if KIND[a] < KIND[b]:
        # Only float64 widens a complex; all else takes the type of the higher kind.
        return COMPLEX_OF.get(a, b) if KIND[b] == 3 else b
    if {a, b} == {"float16", "bfloat16"}:
        return "float32"
    if "bfloat16" in (a, b):
        return b if a == "bfloat16" else a
    return str(np.promote_types(a, b))


def default(kind: int) -> str:
    """The type of a Python number."""
    return ("bool", "int64", "float32", "complex64")[kind]


def expected(a: tuple[str, str], b: tuple[str, str]) -> str:
    """The type of a op b, each given as (rank, dtype name)."""
    (rank_a, name_a), (rank_b, name_b) = sorted((a, b), key=lambda pair: RANKS.index(pair[0]))
    if rank_a == rank_b:
        return join(name_a, name_b)
    if KIND[name_b] <= KIND[name_a]:
        return name_a
    if KIND[name_b] == 3 and KIND[name_a] == 2:
        # The complex type as wide as the float that has more say.
        return {"float64": "complex128", "float16": "complex32"}.get(name_a, "complex64")
    if rank_b == "zero":
        return name_b
    return default(KIND[name_b])


def operand(library, rank: str, name: str):
    if rank == "number":
        return {0: True, 1: 2, 2: 1.5, 3: 1 + 1j}[KIND[name]]
    value = library.ones((2,) if rank == "tensor" else ())
    return value.to(getattr(library, name))


def operands():
    for rank_a, rank_b in itertools.product(RANKS, RANKS):
        if rank_a == rank_b == "number":
            continue
        for a, b in itertools.product(NAMES, NAMES):
            if rank_a == "number" and a != default(KIND[a]):
                continue
            if rank_b == "number" and b != default(KIND[b]):
                continue
            yield (rank_a, a), (rank_b, b)


def result_name(library, left, right) -> str:
    left, right = operand(library, *left), operand(library, *right)
    return str((left * right).dtype).rpartition(".")[2]


@pytest.mark.parametrize("rank_a, rank_b", list(itertools.product(RANKS, RANKS[:2])))
def test_multiplication_by_the_rules(rank_a, rank_b):
    wrong = []
    for left, right in operands():
        if (left[0], right[0]) not in ((rank_a, rank_b), (rank_b, rank_a)):
            continue
        want = expected(left, right)
        if want == "complex32":
            continue
        have = result_name(torch, left, right)
        if have != want:
            wrong.append(f"{left} * {right}: {have}, expected {want}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("rank_a, rank_b", list(itertools.product(RANKS, RANKS[:2])))
def test_multiplication_like_torch(rank_a, rank_b):
    oracle = pytest.importorskip("torch")
    wrong = []
    for left, right in operands():
        if (left[0], right[0]) != (rank_a, rank_b):
            continue
        want = result_name(oracle, left, right)
        if want != "complex32" and result_name(torch, left, right) != want:
            wrong.append(f"{left} * {right}: {result_name(torch, left, right)}, expected {want}")
    assert not wrong, "\n".join(wrong)


def test_result_type_and_promote_types():
    for a, b in itertools.product(NAMES, NAMES):
        first, second = getattr(torch, a), getattr(torch, b)
        assert str(torch.promote_types(first, second)).endswith("." + join(a, b)), (a, b)
        tensors = torch.ones(2).to(first), torch.ones(2).to(second)
        assert str(torch.result_type(*tensors)).endswith("." + join(a, b)), (a, b)
        assert torch.promote_types(first, second) is torch.promote_types(second, first)


@pytest.mark.parametrize("name", NAMES)
def test_division_gives_floats(name):
    a = torch.ones(2).to(getattr(torch, name))
    want = name if KIND[name] >= 2 else "float32"
    assert str((a / a).dtype).endswith("." + want)
    assert str((a / 2).dtype).endswith("." + want)


@pytest.mark.parametrize("name", NAMES)
def test_sums_of_whole_numbers_are_wide(name):
    a = torch.ones(2).to(getattr(torch, name))
    want = name if KIND[name] >= 2 else "int64"
    for function in (torch.sum, torch.prod, lambda t: torch.cumsum(t, 0)):
        assert str(function(a).dtype).endswith("." + want)


@pytest.mark.parametrize("name", NAMES)
def test_comparisons_give_bool(name):
    a = torch.ones(2).to(getattr(torch, name))
    assert (a == 1).dtype == (a != a).dtype == torch.isnan(a).dtype == torch.bool


@pytest.mark.parametrize("a, b", list(itertools.product(NAMES, NAMES)))
def test_in_place_keeps_the_dtype_or_refuses(a, b):
    target = torch.ones(2).to(getattr(torch, a))
    other = torch.ones(2).to(getattr(torch, b))
    if KIND[b] > KIND[a] and not (KIND[a] == 0 and KIND[b] == 0):
        with pytest.raises(RuntimeError, match=r"^result type \w+ can't be cast to the desired"):
            target *= other
    else:
        target *= other
    assert str(target.dtype).endswith("." + a)
