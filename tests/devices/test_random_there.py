"""Random numbers on the accelerator: Philox, its generators, and what is drawn with them."""

import copy

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.ops.random.there import random as _random

THERE = "opencl"
N = 40_000
REAL = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


def made(dtype=torch.float32, n=N):
    return torch.empty(n, dtype=dtype, device=THERE)


def seeded(seed=0):
    return torch.Generator(THERE).manual_seed(seed)


def here(t):
    return t.detach().cpu().double().numpy()


def philox(counter, key):
    """Ten rounds, as the paper has them, in Python's integers."""
    a, b, c, d = counter
    k0, k1 = key
    for _ in range(10):
        first, second = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (
            second >> 32 ^ b ^ k0,
            second & 0xFFFFFFFF,
            first >> 32 ^ d ^ k1,
            first & 0xFFFFFFFF,
        )
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return [a, b, c, d]


def words_there(n, seed, low, high=0):
    found = _random.words(n, seed, (low, high), made(n=1)).cpu()
    return (found.numpy().astype(np.int64) & 0xFFFFFFFF).tolist()


ALL = 2**64 - 1
KNOWN = [  # counter, key, and the words: the vectors that the authors publish
    ((0, 0), 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ((ALL, ALL), ALL, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        (0x85A308D3243F6A88, 0x0370734413198A2E),
        0x299F31D0A4093822,
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


@pytest.mark.usefixtures("refuse")
class TestPhilox:
    @pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
    def test_known_answers(self, counter, key, words):
        assert words_there(1, key, *counter) == [words]

    def test_counters_follow_one_another(self):
        seed, low = 0x123456789ABCDEF0, 0xFFFFFFFE
        expected = []
        for i in range(70):
            c = low + i
            counter = (c & 0xFFFFFFFF, c >> 32, 0, 0)
            expected.append(philox(counter, (seed & 0xFFFFFFFF, seed >> 32)))
        assert words_there(70, seed, low) == expected

    def test_uniform_numbers_are_the_words(self):
        found = made(n=10).uniform_(generator=seeded(5))
        words = np.array(words_there(3, 5, 0)).ravel()[:10]
        assert found.tolist() == ((words >> 8) / 2**24).tolist()


@pytest.mark.usefixtures("refuse")
class TestDistributions:
    @pytest.mark.parametrize("dtype", REAL)
    def test_uniform(self, dtype):
        a = here(made(dtype).uniform_(-2, 3, generator=seeded()))
        assert a.min() >= -2
        assert a.max() < 3
        assert abs(a.mean() - 0.5) < 0.04
        assert abs(a.var() - 25 / 12) < 0.05

    def test_uniform_never_gives_the_end(self):
        a = here(made(n=200_000).uniform_(1, 1 + 2**-22, generator=seeded()))
        assert a.max() < 1 + 2**-22

    @pytest.mark.parametrize("dtype", REAL)
    def test_normal(self, dtype):
        a = here(made(dtype).normal_(1, 2, generator=seeded()))
        assert abs(a.mean() - 1) < 0.05
        assert abs(a.std() - 2) < 0.04
        z = (a - 1) / 2
        assert abs((z**3).mean()) < 0.06
        assert abs((z**4).mean() - 3) < 0.15
        assert abs((z[:-1] * z[1:]).mean()) < 0.02

    @pytest.mark.parametrize("dtype", REAL)
    def test_exponential(self, dtype):
        a = here(made(dtype).exponential_(4, generator=seeded()))
        assert a.min() >= 0
        assert np.isfinite(a).all()
        assert abs(a.mean() - 0.25) < 0.01
        assert abs(a.std() - 0.25) < 0.01

    @pytest.mark.parametrize("dtype", REAL[:2])
    def test_cauchy(self, dtype):
        quartiles = np.quantile(
            here(made(dtype).cauchy_(1, 2, generator=seeded())), [0.25, 0.5, 0.75]
        )
        assert np.allclose(quartiles, [-1, 1, 3], atol=0.1)

    @pytest.mark.parametrize("dtype", REAL[:2])
    def test_log_normal(self, dtype):
        a = np.log(here(made(dtype).log_normal_(1, 0.5, generator=seeded())))
        assert abs(a.mean() - 1) < 0.02
        assert abs(a.std() - 0.5) < 0.02

    @pytest.mark.parametrize("dtype", [*REAL, torch.int64, torch.int32])
    def test_geometric(self, dtype):
        a = here(made(dtype).geometric_(0.25, generator=seeded()))
        assert (a == a.round()).all()
        assert a.min() == 1
        assert abs(a.mean() - 4) < 0.1

    @pytest.mark.parametrize("dtype", [*REAL, torch.int64, torch.uint8, torch.bool])
    def test_bernoulli(self, dtype):
        a = here(made(dtype).bernoulli_(0.3, generator=seeded()))
        assert set(a) == {0, 1}
        assert abs(a.mean() - 0.3) < 0.02
        assert made(dtype).bernoulli_(1.0).cpu().double().min() == 1
        assert made(dtype).bernoulli_(0.0).cpu().double().max() == 0

    @pytest.mark.parametrize("where", [THERE, "cpu"])
    def test_bernoulli_by_a_tensor(self, where):
        p = torch.tensor([0.0, 0.25, 1.0], dtype=torch.float64, device=where)
        a = here(torch.empty(20_000, 3, device=THERE).bernoulli_(p, generator=seeded()))
        assert np.allclose(a.mean(0), [0, 0.25, 1], atol=0.02)
        assert set(here(torch.bernoulli(torch.full((9,), 1.0, device=THERE)))) == {1}

    @pytest.mark.parametrize(
        "dtype", [torch.int64, torch.int32, torch.int16, torch.uint8, torch.float32]
    )
    def test_integers(self, dtype):
        a = here(made(dtype).random_(3, 10, generator=seeded()))
        counts = np.bincount(a.astype(int), minlength=10)
        assert not counts[:3].any()
        assert np.allclose(counts[3:] / N, 1 / 7, atol=0.01)

    def test_integers_of_the_whole_range(self):
        a = made(torch.int64).random_(-(2**63), None, generator=seeded()).cpu()
        assert a.min() < -(2**62)
        assert a.max() > 2**62
        b = made(torch.int8).random_(generator=seeded()).cpu()
        assert (b.min().item(), b.max().item()) == (0, 127)
        c = made(torch.float16).random_(generator=seeded()).cpu()
        assert c.max() <= 2048

    def test_complex_numbers(self):
        a = torch.randn(N, dtype=torch.complex64, device=THERE).cpu().numpy()
        assert abs(a.real.var() - 0.5) < 0.02
        assert abs(a.imag.var() - 0.5) < 0.02
        assert abs((a.real * a.imag).mean()) < 0.02

    def test_layouts(self):
        whole = torch.zeros(6, 8, device=THERE)
        whole[1:5, ::2].uniform_(1, 2)
        a = whole.cpu()
        assert (a[1:5, ::2] >= 1).all()
        a[1:5, ::2] = 0
        assert not a.any()
        assert torch.empty((), device=THERE).uniform_(2, 3).item() >= 2
        assert torch.empty(0, 3, device=THERE).normal_().shape == (0, 3)

    def test_history(self):
        x = torch.ones(3, device=THERE, requires_grad=True)
        y = x * 2
        y.uniform_()
        (y * 3).backward(torch.ones(3, device=THERE))
        assert x.grad.tolist() == [0, 0, 0]


@pytest.mark.usefixtures("refuse")
class TestFactories:
    @pytest.mark.parametrize("name", ["rand", "randn"])
    @pytest.mark.parametrize("dtype", REAL)
    def test_sizes(self, name, dtype):
        a = getattr(torch, name)(3, 4, dtype=dtype, device=THERE, requires_grad=True)
        assert (a.shape, a.dtype, a.device.type) == ((3, 4), dtype, THERE)
        assert a.requires_grad
        assert a.is_leaf
        b = getattr(torch, name + "_like")(a.detach().t())
        assert b.shape == (4, 3)
        assert b.stride() == (1, 4)

    def test_integers(self):
        a = torch.randint(2, 5, (1000,), device=THERE)
        assert a.dtype is torch.int64
        assert set(a.tolist()) == {2, 3, 4}
        assert set(torch.randint_like(made(n=1000), 2).tolist()) == {0, 1}

    def test_normal_of_numbers(self):
        a = here(torch.normal(3.0, 0.5, (N,), device=THERE, generator=seeded()))
        assert abs(a.mean() - 3) < 0.02
        assert abs(a.std() - 0.5) < 0.02

    def test_initialisation(self):
        layer = nn.Linear(200, 300, device=THERE)
        assert layer.weight.device.type == THERE
        bound = 200**-0.5
        a = here(layer.weight)
        assert abs(a).max() <= bound
        assert abs(a.std() - bound / 3**0.5) < 0.001
        nn.init.kaiming_normal_(layer.weight)
        assert abs(here(layer.weight).std() - (2 / 200) ** 0.5) < 0.002

    def test_dropout(self):
        x = torch.ones(200, 100, device=THERE, requires_grad=True)
        y = nn.functional.dropout(x, 0.25)
        a = here(y)
        assert set(np.round(a.ravel(), 5)) == {0, 1.33333}
        assert abs((a == 0).mean() - 0.25) < 0.02
        y.backward(torch.ones(200, 100, device=THERE))
        assert x.grad.tolist() == y.tolist()
        channels = here(nn.functional.dropout2d(torch.ones(20, 30, 2, 2, device=THERE)))
        assert (channels == channels[:, :, :1, :1]).all()
        assert not here(nn.functional.dropout(x, 1.0)).any()

    def test_history_of_tensors_of_parameters(self):
        p = torch.full((4,), 0.5, device=THERE, requires_grad=True)
        torch.bernoulli(p).backward(torch.ones(4, device=THERE))
        assert p.grad.tolist() == [0, 0, 0, 0]
        q = torch.empty(3, device=THERE)
        assert torch.bernoulli(torch.ones(3, device=THERE), out=q) is q
        assert q.tolist() == [1, 1, 1]

    def test_slopes(self):
        x = torch.full((N,), -1.0, device=THERE)
        a = -here(nn.functional.rrelu(x, 0.25, 0.75, training=True))
        assert a.min() >= 0.25
        assert a.max() < 0.75
        assert abs(a.mean() - 0.5) < 0.01
        assert nn.functional.rrelu(-x, training=True)[:3].tolist() == [1, 1, 1]


class TestByTheHost:
    def test_permutations(self):
        torch.manual_seed(1)
        a = torch.randperm(500, device=THERE)
        assert (a.device.type, a.dtype) == (THERE, torch.int64)
        assert sorted(a.tolist()) == list(range(500))
        assert a.tolist() != torch.randperm(500, device=THERE).tolist()
        assert torch.randperm(0, device=THERE).tolist() == []
        firsts = [torch.randperm(3, device=THERE)[0].item() for _ in range(300)]
        assert np.bincount(firsts).min() > 70

    def test_tensors_of_parameters(self):
        a = here(torch.normal(torch.full((N,), 2.0, device=THERE), 3.0))
        assert abs(a.mean() - 2) < 0.1
        assert abs(a.std() - 3) < 0.1

    def test_seeds_of_what_the_host_draws(self):
        weights = torch.tensor([0.1, 0.0, 0.9], device=THERE)
        rates = torch.full((20,), 5.0, device=THERE)

        def drawn():
            return torch.multinomial(weights, 30, True).tolist(), torch.poisson(rates).tolist()

        torch.manual_seed(3)
        first = drawn()
        assert 1 not in first[0]
        assert drawn() != first
        torch.manual_seed(3)
        assert drawn() == first


@pytest.mark.usefixtures("refuse")
class TestGenerators:
    def test_what_it_is(self):
        g = torch.Generator(THERE)
        assert g.device == torch.device(THERE, 0)
        assert torch.Generator(torch.device(THERE)).manual_seed(7).initial_seed() == 7
        assert g.seed() == g.initial_seed()
        assert g.manual_seed(-1).initial_seed() == 2**64 - 1

    def test_one_seed_one_sequence(self):
        a, b = (made(n=33).normal_(generator=seeded(4)).tolist() for _ in range(2))
        assert a == b
        assert a != made(n=33).normal_(generator=seeded(5)).tolist()

    def test_offset_and_state(self):
        g = seeded(9)
        made(n=9).uniform_(generator=g)
        assert g.get_offset() == 12
        state = g.get_state()
        assert (state.dtype, state.shape, state.device.type) == (torch.uint8, (16,), "cpu")
        after = made(n=5).uniform_(generator=g).tolist()
        g.set_offset(12)
        assert made(n=5).uniform_(generator=g).tolist() == after
        for other in (torch.Generator(THERE).set_state(state), copy.deepcopy(g.set_state(state))):
            assert made(n=5).uniform_(generator=other).tolist() == after
        clone = g.set_state(state).clone_state()
        assert made(n=5).uniform_(generator=clone).tolist() == after
        made(torch.float64, 3).uniform_(generator=g)
        assert g.get_offset() == 12 + 8

    def test_errors(self):
        with pytest.raises(RuntimeError, match="multiple of 4"):
            seeded().set_offset(3)
        with pytest.raises(RuntimeError, match="wrong size"):
            seeded().set_state(torch.zeros(3, dtype=torch.uint8))
        with pytest.raises(RuntimeError, match="does not use offset"):
            torch.Generator().get_offset()
        with pytest.raises(RuntimeError, match="Expected a 'opencl' device type for generator"):
            torch.rand(2, device=THERE, generator=torch.Generator())
        with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator"):
            torch.rand(2, generator=seeded())

    def test_manual_seed(self):
        torch.manual_seed(11)
        first = torch.rand(4, device=THERE).tolist()
        assert torch.rand(4, device=THERE).tolist() != first
        torch.manual_seed(11)
        on_cpu = torch.rand(4).tolist()
        assert torch.rand(4, device=THERE).tolist() == first
        assert on_cpu != first
        assert made(n=4).uniform_(generator=seeded(11)).tolist() == first

    def test_fork(self):
        torch.manual_seed(2)
        first = torch.rand(3, device=THERE).tolist()
        torch.manual_seed(2)
        with torch.random.fork_rng():
            torch.rand(5, device=THERE)
        assert torch.rand(3, device=THERE).tolist() == first

    def test_checkpoint_draws_the_same_mask_again(self):
        x = torch.ones(100, device=THERE, requires_grad=True)
        drop = nn.Dropout(0.5)
        y = torch.utils.checkpoint.checkpoint(lambda t: drop(t) * t, x, use_reentrant=False)
        y.backward(torch.ones(100, device=THERE))
        assert x.grad.tolist() == (2 * y).tolist()
