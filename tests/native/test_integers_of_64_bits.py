"""Integers have 64 bits also where addresses have 32, as in WebAssembly; sizes that memory cannot
have are refused there, and never become others.
"""

import sys

import pytest

import rushlight as torch

FAR = 2**40
SMALL_ADDRESSES = sys.maxsize < 2**32


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda: torch.tensor([FAR, -(2**63)]), [FAR, -(2**63)]),
        (lambda: torch.arange(FAR, FAR + 3), [FAR, FAR + 1, FAR + 2]),
        (lambda: torch.arange(0, FAR, FAR // 2), [0, FAR // 2]),
        (lambda: torch.arange(FAR, FAR - 2, -1), [FAR, FAR - 1]),
        (lambda: torch.full((2,), FAR), [FAR, FAR]),
        (lambda: torch.full_like(torch.tensor([0]), FAR), [FAR]),
        (lambda: torch.tensor([0]).fill_(FAR), [FAR]),
        (lambda: torch.tensor([FAR, FAR]).sum(), 2 * FAR),
        (lambda: torch.tensor([2**20, 2**20]).prod(), FAR),
        (lambda: torch.tensor([1]) << 40, [FAR]),
        (lambda: torch.tensor([FAR, 3]).sort().values, [3, FAR]),
        (lambda: torch.unique(torch.tensor([FAR, 1, FAR])), [1, FAR]),
        (lambda: torch.zeros(3)[FAR:], []),
        (lambda: torch.zeros(1)[-FAR:FAR], [0]),
        (lambda: torch.zeros(0)[2**31 :], []),
    ],
)
def test_values(made, expected):
    assert made().tolist() == expected


def test_negative_numbers_wrap_in_bytes():
    numbers = torch.tensor([[-1.0, 2.0], [-300.0, 255.0]])
    assert numbers.to(torch.uint8).tolist() == [[255, 2], [212, 255]]
    assert numbers.t().to(torch.uint8).tolist() == [[255, 212], [2, 255]]


def test_random_integers_reach_their_whole_range():
    torch.manual_seed(0)
    drawn = torch.randint(FAR, FAR + 4, (200,))
    assert sorted(set(drawn.tolist())) == [FAR, FAR + 1, FAR + 2, FAR + 3]
    assert torch.randint(2**62, (50,)).max() > 2**50


def test_seeds_that_differ_beyond_32_bits_differ():
    def drawn(seed):
        return torch.manual_seed(seed).initial_seed()

    assert [drawn(seed) for seed in (2**63, 2**64 - 1, -1)] == [2**63, 2**64 - 1, 2**64 - 1]


@pytest.mark.parametrize("index", [2**31, 2**32, FAR, torch.tensor(FAR), torch.tensor([2**32])])
def test_places_out_of_range(index):
    with pytest.raises(IndexError, match=f"index {int(index)} is out of bounds for dimension 0"):
        torch.zeros(3)[index]


@pytest.mark.parametrize("dim", [2**31, 2**32, -FAR])
def test_dimensions_out_of_range(dim):
    for call in (torch.Tensor.sum, torch.Tensor.cumsum, torch.Tensor.size, torch.Tensor.unsqueeze):
        with pytest.raises(IndexError, match=f"Dimension out of range .* got {dim}"):
            call(torch.zeros(3), dim)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.empty(2**62),
        lambda: torch.zeros(2**31, 2**31, 2**31),
        lambda: torch.empty(2**62, 4),
        lambda: torch.ones(1, 1).expand(2**62, 2**62).clone(),
        lambda: torch.UntypedStorage(2**62),
    ],
)
def test_more_than_memory(make):
    with pytest.raises(RuntimeError):
        make()


@pytest.mark.skipif(not SMALL_ADDRESSES, reason="64 bits hold these sizes")
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.empty(2**32),
        lambda: torch.zeros(2**31),
        lambda: torch.arange(2**33),
        lambda: torch.linspace(0, 1, 2**31 + 5),
        lambda: torch.tril_indices(2**20, 2**20),
        lambda: torch.ones(1).expand(2**33),
        lambda: torch.ones(2).as_strided((2,), (2**33,)),
        lambda: torch.ones(2).repeat(2**31),
        lambda: torch.ones(2).resize_(2**33),
        lambda: torch.bincount(torch.tensor([2**33])),
    ],
)
def test_sizes_that_32_bits_do_not_hold(make):
    with pytest.raises(RuntimeError):
        make()


def test_convolutions_and_pools_take_sizes_of_images():
    image = torch.ones(1, 1, 6, 6)
    kernel = torch.ones(2, 1, 3, 3)
    assert torch.nn.functional.conv2d(image, kernel).tolist() == [[[[9.0] * 4] * 4] * 2]
    assert torch.nn.functional.max_pool2d(image, 2).tolist() == [[[[1.0] * 3] * 3]]
