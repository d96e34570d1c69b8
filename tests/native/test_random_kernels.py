"""Random streams: the words against NumPy's, every sampler against PyTorch's, draw for draw."""

from functools import partial

import numpy as np
import pytest

import rushlight as torch
from rushlight._core import kernels

# With fused multiply-adds the numbers are the same to the last bit, without to a few units of it.
FUSED = kernels.isa in ("v3", "v4")
SIZES = [0, 1, 5, 15, 16, 17, 31, 32, 100, 1000]
SEEDS = [0, 1, 42, 2**32 + 7, 2**63]
TYPES = ["float32", "float64", "float16", "bfloat16"]


def numpy_type(name):
    if name == "bfloat16":
        return np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    return np.dtype(name)


class Pair:
    """One of our generators and one of torch's, seeded alike."""

    def __init__(self, seed):
        self.torch = pytest.importorskip("torch")
        self.ours = kernels.random_new(seed)
        self.theirs = self.torch.Generator()
        self.theirs.manual_seed(seed)

    def check_state(self):
        assert kernels.random_get_state(self.ours) == self.theirs.get_state().numpy().tobytes()

    def compare(self, name, shape, dtype, *arguments, ulps=0, torch_name=None):
        mine = np.empty(shape, numpy_type(dtype))
        assert getattr(kernels, name)(self.ours, mine, *arguments) is mine
        other = self.torch.empty(shape, dtype=getattr(self.torch, dtype))
        getattr(other, torch_name or name)(*arguments, generator=self.theirs)
        self.check_state()
        mine, other = mine.astype(np.float64), other.double().numpy()
        if ulps and not FUSED:
            unit = {
                "float32": 2.0**-23,
                "float64": 2.0**-52,
                "float16": 2.0**-10,
                "bfloat16": 2.0**-7,
            }[dtype]
            np.testing.assert_allclose(mine, other, rtol=ulps * unit, atol=ulps * unit * 0.1)
        else:
            np.testing.assert_array_equal(mine, other)


def test_words_equal_numpy():
    for seed in (0, 1, 5489, 2**32 - 1):
        bits = np.random.MT19937()
        bits._legacy_seeding(seed)
        generator = kernels.random_new(seed)
        for _ in range(700):
            high, low = bits.random_raw(2).tolist()
            assert kernels.random_bits64(generator) == high << 32 | low


def test_seed_and_state():
    a = kernels.random_new(7)
    assert kernels.random_initial_seed(a) == 7
    kernels.normal_(a, np.empty(3, np.float32), 0, 1)
    state = kernels.random_get_state(a)
    assert len(state) == 5056
    first = kernels.normal_(a, np.empty(5), 0, 1)
    b = kernels.random_new(0)
    kernels.random_set_state(b, state)
    np.testing.assert_array_equal(kernels.normal_(b, np.empty(5), 0, 1), first)
    kernels.random_set_state(b, np.frombuffer(state, np.uint8))
    kernels.random_seed(b, 7)
    kernels.random_seed(a, 7)
    assert kernels.random_get_state(a) == kernels.random_get_state(b)
    kernels.random_seed(a, -1)
    assert kernels.random_initial_seed(a) == 2**64 - 1
    with pytest.raises(RuntimeError, match="Expected a CPUGeneratorImplState of size 5056"):
        kernels.random_set_state(a, b"short")
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        kernels.random_set_state(a, b"\xff" * 5056)
    with pytest.raises(TypeError):
        kernels.random_set_state(object(), state)
    with pytest.raises(OverflowError):
        kernels.random_seed(a, 2**70)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("seed", SEEDS)
def test_uniform(dtype, seed):
    pair = Pair(seed)
    for n in SIZES:
        pair.compare("uniform_", n, dtype, 0, 1)
        pair.compare("uniform_", n, dtype, -0.5, 0.5)
        pair.compare("uniform_", n, dtype, -0.3, 1.7, ulps=1)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("seed", SEEDS)
def test_normal(dtype, seed):
    pair = Pair(seed)
    for n in SIZES:
        pair.compare("normal_", n, dtype, 0, 1, ulps=2)
        pair.compare("normal_", n, dtype, 1.5, 2.5, ulps=4)


@pytest.mark.parametrize(
    "dtype", ["int64", "int32", "int16", "uint8", "int8", "float32", "float16"]
)
def test_integers(dtype):
    pair = Pair(3)
    for n in (0, 1, 17, 300):
        pair.compare("randint_", n, dtype, 0, 10, torch_name="random_")
        pair.compare("randint_", n, dtype, 3, 100, torch_name="random_")
        pair.compare("random_", n, dtype)
        if dtype == "int64":
            for high in (2**28 - 1, 2**28, 2**31, 2**32 - 1, 2**32, 2**62):
                pair.compare("randint_", n, dtype, -5, high, torch_name="random_")


def test_whole_ranges():
    pair = Pair(4)
    for dtype in ("bool", "float64", "bfloat16"):
        pair.compare("random_", 50, dtype)
    for low in (-(2**63), -5, 10):
        mine = kernels.random_(pair.ours, np.empty(20, np.int64), low)
        other = pair.torch.empty(20, dtype=pair.torch.int64).random_(
            low, None, generator=pair.theirs
        )
        np.testing.assert_array_equal(mine, other.numpy())
        pair.check_state()


@pytest.mark.parametrize("seed", SEEDS)
def test_permutations(seed):
    pair = Pair(seed)
    for n in [*SIZES, 70000]:
        other = pair.torch.randperm(n, generator=pair.theirs)
        np.testing.assert_array_equal(kernels.randperm(pair.ours, n), other.numpy())
        pair.check_state()
    with pytest.raises(RuntimeError, match="n must be non-negative"):
        kernels.randperm(pair.ours, -1)


@pytest.mark.parametrize("dtype", [*TYPES, "int64", "uint8", "bool"])
def test_bernoulli(dtype):
    pair = Pair(5)
    for n in SIZES:
        for p in (0.0, 0.3, 0.5, 1.0):
            pair.compare("bernoulli_", n, dtype, p)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bernoulli_with_probabilities(dtype):
    pair = Pair(6)
    for n in SIZES:
        p = np.random.default_rng(n).random(n).astype(dtype)
        mine = kernels.bernoulli_(pair.ours, np.empty(n, dtype), p)
        np.testing.assert_array_equal(
            mine, pair.torch.bernoulli(pair.torch.from_numpy(p), generator=pair.theirs).numpy()
        )
        pair.check_state()
    for bad in (-0.1, 1.1, np.nan):
        with pytest.raises(RuntimeError):
            kernels.bernoulli_(pair.ours, np.empty(2, dtype), bad)
        with pytest.raises(RuntimeError):
            kernels.bernoulli_(pair.ours, np.empty(2, dtype), np.full(2, bad, dtype))
    pair.check_state()


@pytest.mark.parametrize("dtype", TYPES)
def test_other_distributions(dtype):
    pair = Pair(7)
    for n in SIZES:
        pair.compare("exponential_", n, dtype, 1.0, ulps=1)
        pair.compare("exponential_", n, dtype, 2.5, ulps=2)
        pair.compare("cauchy_", n, dtype, 0.5, 2.0, ulps=4)
        pair.compare("log_normal_", n, dtype, 0.2, 0.5, ulps=4)
        pair.compare("geometric_", n, dtype, 0.3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_multinomial(dtype):
    pair = Pair(8)
    rng = np.random.default_rng(0)
    for shape in [(1,), (5,), (3, 7), (2, 1000)]:
        weights = rng.random(shape).astype(dtype)
        for samples in {1, min(5, shape[-1]), shape[-1]}:
            for replacement in (True, False):
                mine = kernels.multinomial(pair.ours, weights, samples, replacement)
                other = pair.torch.multinomial(
                    pair.torch.from_numpy(weights), samples, replacement, generator=pair.theirs
                )
                np.testing.assert_array_equal(mine, other.numpy())
                pair.check_state()
    for weights, samples, message in [
        ([1.0, -1.0], 1, "either `inf`, `nan` or element < 0"),
        ([0.0, 0.0], 1, "sum of probabilities <= 0"),
        ([1.0, 1.0], 3, "without replacement"),
        ([1.0, 1.0], 0, "n_sample <= 0"),
    ]:
        with pytest.raises(RuntimeError, match=message):
            kernels.multinomial(pair.ours, np.array(weights, dtype), samples, False)


@pytest.mark.parametrize("seed", range(5))
def test_interleaved_calls_stay_in_step(seed):
    pair = Pair(seed)
    choose = np.random.default_rng(seed)
    calls = [
        ("uniform_", (0, 1), 0),
        ("normal_", (0, 1), 2),
        ("randint_", (0, 9), 0),
        ("bernoulli_", (0.4,), 0),
        ("exponential_", (1.0,), 1),
    ]
    for _ in range(60):
        name, arguments, ulps = calls[choose.integers(len(calls))]
        dtype = ("float32", "float64")[choose.integers(2)]
        shape = tuple(int(n) for n in choose.integers(0, 7, choose.integers(0, 3)))
        pair.compare(
            name,
            shape,
            dtype,
            *arguments,
            ulps=ulps,
            torch_name="random_" if name == "randint_" else None,
        )


@pytest.mark.parametrize("name", ["uniform_", "normal_", "random_", "bernoulli_", "exponential_"])
def test_layouts(name):
    arguments = {
        "uniform_": (0, 1),
        "normal_": (0, 1),
        "random_": (),
        "bernoulli_": (0.5,),
        "exponential_": (1,),
    }[name]
    views = [lambda a: a.T, lambda a: a[:, ::2], lambda a: a.T[::2], lambda a: a[1:, 3:7]]
    for view in views:
        pair = Pair(9)
        mine, other = np.zeros((6, 10), np.float32), pair.torch.zeros(6, 10)
        getattr(kernels, name)(pair.ours, view(mine), *arguments)
        getattr(view(other), name)(*arguments, generator=pair.theirs)
        np.testing.assert_allclose(mine, other.numpy(), rtol=0 if FUSED else 1e-6)
        pair.check_state()


def test_refusals():
    generator = kernels.random_new(9)
    wide = np.zeros((6, 10), np.float32)
    frozen = np.zeros(3, np.float32)
    frozen.flags.writeable = False
    state = kernels.random_get_state(generator)
    with pytest.raises(ValueError, match="read-only"):
        kernels.uniform_(generator, frozen, 0, 1)
    assert kernels.uniform_(generator, np.zeros(3, np.int64), 0, 1) is NotImplemented
    assert kernels.normal_(generator, np.zeros(30, np.complex64), 0, 1) is NotImplemented
    assert kernels.uniform_(generator, [0.0], 0, 1) is NotImplemented
    assert kernels.random_get_state(generator) == state
    with pytest.raises(TypeError):
        kernels.uniform_(generator, wide, "a", 1)
    with pytest.raises(RuntimeError, match="random_ expects 'from' to be less than 'to'"):
        kernels.randint_(generator, np.zeros(3, np.int64), 5, 5)


@pytest.mark.parametrize("n", [0, 1, 311, 312, 313, 623, 624, 625, 2000])
@pytest.mark.parametrize("p", [0.0, 2.0**-53, 0.25, 1 - 2.0**-53, 1.0])
@pytest.mark.parametrize("words_before", [0, 1, 623, 624])
def test_bernoulli_compares_one_number_in_0_to_1_for_each_element(n, p, words_before):
    """Numbers are drawn in blocks; pairs of words may straddle a refill of the generator."""
    generators = [kernels.random_new(5), kernels.random_new(5)]
    for generator in generators:
        kernels.uniform_(generator, np.empty(words_before, np.float32), 0, 1)
    drawn = kernels.uniform_(generators[0], np.empty(n, np.float64), 0, 1)
    for dtype in (np.float32, np.bool_, np.int64):
        again = kernels.random_new(5)
        kernels.random_set_state(again, kernels.random_get_state(generators[1]))
        kept = kernels.bernoulli_(again, np.empty(n, dtype), p)
        np.testing.assert_array_equal(kept, (drawn < p).astype(dtype))
        assert kernels.random_get_state(again) == kernels.random_get_state(generators[0])


COUNTS = pytest.mark.parametrize("n", [0, 1, 5, 16, 17, 511, 512, 513, 1300])
REALS = pytest.mark.parametrize("kind", [torch.float32, torch.float64])


def draws_the_same(call):
    """A call that the core answers alone, and one with a generator=, which goes the long way."""
    torch.manual_seed(7)
    found, after = call(), torch.rand(1)
    generator = torch.Generator().manual_seed(7)
    expected = call(generator=generator)
    assert found.dtype is expected.dtype and found.shape == expected.shape
    np.testing.assert_array_equal(found.numpy(), expected.numpy())
    assert after == torch.rand(1, generator=generator)


@COUNTS
@REALS
def test_new_tensors_draw_what_the_samplers_draw(n, kind):
    draws_the_same(partial(torch.rand, n, dtype=kind))
    draws_the_same(partial(torch.randn, n, dtype=kind))
    draws_the_same(partial(torch.bernoulli, torch.linspace(0, 1, n, dtype=kind)))
    draws_the_same(partial(torch.randperm, n))
    for low, high in ((0, 1), (-3, 7), (0, 2**28 - 1), (5, 5 + 2**28), (-(2**63), 2**63 - 1)):
        draws_the_same(partial(torch.randint, low, high, (n,)))


@COUNTS
@REALS
@pytest.mark.parametrize(
    "name, numbers",
    [
        ("uniform_", (-1, 2.5)),
        ("normal_", (1.0, 2)),
        ("cauchy_", (1.0, 2.0)),
        ("log_normal_", (0.5, 0.25)),
        ("exponential_", (2.5,)),
        ("geometric_", (0.25,)),
        ("bernoulli_", (0.75,)),
    ],
)
def test_fills_draw_what_the_samplers_draw(n, kind, name, numbers):
    def call(*given, **how):
        return getattr(torch.empty(n, dtype=kind), name)(*given, **how)

    draws_the_same(partial(call, *numbers))
    if name != "geometric_":
        draws_the_same(call)


def test_remainders_of_draws_are_exact():
    draws = np.random.MT19937()
    draws._legacy_seeding(7)
    words = draws.random_raw(5000).astype(np.int64)
    for many in (1, 2, 3, 7, 641, 65537, 2**27 + 1, 2**28 - 1):
        found = kernels.randint_(kernels.random_new(7), np.empty(5000, np.int64), 0, many)
        np.testing.assert_array_equal(found, words % many)
    expected = np.arange(5001)
    for i, word in enumerate(words):
        j = i + word % (5001 - i)
        expected[i], expected[j] = expected[j], expected[i]
    np.testing.assert_array_equal(kernels.randperm(kernels.random_new(7), 5001), expected)


def test_fills_of_tensors_that_may_not_be_written():
    leaf = torch.zeros(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        leaf.uniform_()
    version = leaf._version
    with torch.no_grad():
        assert leaf.uniform_(2, 3) is leaf and leaf._version == version + 1
    with pytest.raises(RuntimeError, match="expects to return a"):
        torch.zeros(3).uniform_(2, 1)
    with pytest.raises(RuntimeError, match="p to be in"):
        torch.zeros(3).bernoulli_(1.5)
    history = (leaf * 1).normal_()
    history.sum().backward()
    assert (leaf.grad == 0).all()


def test_a_generator_that_a_call_names_draws_as_the_default_one():
    class Own(torch.Generator):
        pass

    calls = {
        "rand": lambda **g: torch.rand(3, 5, **g),
        "randn": lambda **g: torch.randn(17, **g),
        "randint": lambda **g: torch.randint(2, 9, (4,), **g),
        "randperm": lambda **g: torch.randperm(10, **g),
        "bernoulli": lambda **g: torch.bernoulli(torch.full((9,), 0.5), **g),
        "bernoulli of p": lambda **g: torch.bernoulli(torch.empty(9), 0.3, **g),
        "normal_": lambda **g: torch.empty(20).normal_(1, 2, **g),
        "uniform_": lambda **g: torch.empty(5).uniform_(-1, 2, **g),
    }
    named, own = torch.Generator(), Own()
    for name, call in calls.items():
        for seed in (0, 5):
            torch.manual_seed(seed)
            want, after = call(), torch.random.get_rng_state()
            for g in (named, own):
                g.manual_seed(seed)
                assert torch.equal(call(generator=g), want), name
                assert torch.equal(g.get_state(), after), name
            assert torch.equal(torch.random.get_rng_state(), after), name
    with pytest.raises(TypeError):
        torch.rand(3, generator=5)
    with pytest.raises(RuntimeError):
        torch.zeros(3).bernoulli_(2.0, generator=named)
