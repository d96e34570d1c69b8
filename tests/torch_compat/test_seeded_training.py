"""Same seed, same numbers: weights, orders, dropout and whole trainings beside PyTorch's."""

import importlib

import numpy as np
import pytest

from _subject import torch as rl

torch = pytest.importorskip("torch")
BOTH = {"ours": rl, "torch": torch}


def both(program, seed=0):
    """What a program returns (arrays) on either library, run with the same seed."""
    results = []
    for library in BOTH.values():
        library.manual_seed(seed)
        out = program(library)
        results.append([t.detach().numpy() if hasattr(t, "detach") else np.asarray(t) for t in out])
    return zip(*results, strict=True)


LAYERS = [
    lambda nn: nn.Linear(7, 5),
    lambda nn: nn.Linear(100, 3, bias=False),
    lambda nn: nn.Bilinear(2, 3, 4),
    lambda nn: nn.Conv1d(4, 6, 3, groups=2),
    lambda nn: nn.Conv2d(3, 8, (3, 5)),
    lambda nn: nn.ConvTranspose2d(4, 6, 3),
    lambda nn: nn.Embedding(10, 6, padding_idx=0),
    lambda nn: nn.RNN(4, 5, 2, bidirectional=True),
    lambda nn: nn.LSTM(4, 5, proj_size=3),
    lambda nn: nn.GRU(4, 5, bias=False),
    lambda nn: nn.LSTMCell(4, 5),
    lambda nn: nn.BatchNorm2d(4),
    lambda nn: nn.Sequential(nn.Linear(3, 4), nn.PReLU(), nn.LayerNorm(4), nn.Linear(4, 1)),
]


@pytest.mark.parametrize("make", LAYERS, ids=range(len(LAYERS)))
def test_starting_weights(make):
    def program(t):
        layer = make(t.nn)
        return [
            *layer.state_dict().values(),
            t.rand(1),
        ]  # and the stream goes on from the same place

    for ours, theirs in both(program):
        np.testing.assert_array_equal(ours, theirs)


INITIALISERS = [
    ("uniform_", (-1.0, 2.0)),
    ("normal_", (1.0, 3.0)),
    ("xavier_uniform_", (2.0,)),
    ("xavier_normal_", ()),
    ("kaiming_uniform_", ()),
    ("kaiming_normal_", (0.1, "fan_out")),
    ("trunc_normal_", (0.0, 1.0, -1.0, 1.0)),
    ("trunc_normal_", (0.0, 1.0, 1.5, 2.5)),
    ("orthogonal_", (1.5,)),
    ("sparse_", (0.3,)),
]


@pytest.mark.parametrize(("name", "arguments"), INITIALISERS, ids=lambda v: str(v))
@pytest.mark.parametrize("shape", [(5, 7), (30, 20)])
def test_initialisers(name, arguments, shape):
    def program(t):
        return [getattr(t.nn.init, name)(t.empty(*shape), *arguments), t.rand(1)]

    (ours, theirs), (ours_after, theirs_after) = both(program)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(ours_after, theirs_after)


COMPLEX = [
    lambda t, dtype: t.randn(2, 3, dtype=dtype),
    lambda t, dtype: t.randn(5, 7, dtype=dtype),
    lambda t, dtype: t.rand(5, 7, dtype=dtype),
    lambda t, dtype: t.rand(3, dtype=dtype),
    lambda t, dtype: t.randn((), dtype=dtype),
    lambda t, dtype: t.randn(0, dtype=dtype),
    lambda t, dtype: t.empty(4, 5, dtype=dtype).normal_(1.0, 2.0),
    lambda t, dtype: t.empty(4, 5, dtype=dtype).uniform_(-1.0, 2.0),
    lambda t, dtype: t.zeros(3, 4, dtype=dtype).t().normal_(),
    lambda t, dtype: t.zeros(3, 8, dtype=dtype)[:, ::2].uniform_(),
    lambda t, dtype: t.randn_like(t.ones(3, dtype=dtype)),
    lambda t, dtype: t.normal(t.ones(3, dtype=dtype), 2.0),
    lambda t, dtype: t.nn.Linear(3, 2, dtype=dtype).weight,
    lambda t, dtype: t.nn.init.xavier_normal_(t.empty(3, 2, dtype=dtype)),
]


@pytest.mark.parametrize("make", COMPLEX, ids=range(len(COMPLEX)))
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers(make, dtype):
    def program(t):
        return [make(t, getattr(t, dtype)), t.rand(1)]

    (ours, theirs), (ours_after, theirs_after) = both(program)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(ours_after, theirs_after)


def test_states_of_a_generator():
    def program(t):
        generator = t.Generator().manual_seed(3)
        t.rand(5, generator=generator)
        twin = generator.clone_state()
        ahead = t.rand(4, generator=twin)
        assert generator.set_state(generator.get_state()) is generator
        return [ahead, t.rand(4, generator=generator), np.array(twin.initial_seed())]

    for ours, theirs in both(program):
        np.testing.assert_array_equal(ours, theirs)
    for library in BOTH.values():
        for state, text in (
            (3, "expected a torch.ByteTensor, but got int"),
            (library.zeros(3), "RNG state must be a torch.ByteTensor"),
        ):
            with pytest.raises(TypeError, match=text):
                library.Generator().set_state(state)


def data_of(library):
    return importlib.import_module(f"{library.__name__}.utils.data")


def test_order_of_the_data():
    def program(t):
        data = data_of(t)
        dataset = data.TensorDataset(t.arange(50))
        train, test = data.random_split(dataset, [40, 10])
        out = [np.array(test.indices)]
        loader = data.DataLoader(train, batch_size=8, shuffle=True, drop_last=True)
        for _ in range(2):
            out += [batch for (batch,) in loader]
        own = data.DataLoader(train, 8, shuffle=True, generator=t.Generator().manual_seed(5))
        out += [batch for (batch,) in own]
        weighted = data.WeightedRandomSampler([1.0, 2.0, 3.0], 20)
        drawn = data.RandomSampler(range(9), replacement=True, num_samples=40)
        return [*out, np.array(list(weighted)), np.array(list(drawn)), t.rand(1)]

    for ours, theirs in both(program):
        np.testing.assert_array_equal(ours, theirs)


OPTIMIZERS = [
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 1e-3, "nesterov": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.1}),
    ("Adam", {"lr": 0.01, "amsgrad": True}),
    ("AdamW", {"lr": 0.01, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.01, "centered": True, "momentum": 0.5}),
    ("Adagrad", {"lr": 0.05}),
]


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS, ids=str)
def test_training_a_perceptron(name, options):
    def program(t):
        nn, losses = t.nn, []
        model = nn.Sequential(
            nn.Linear(4, 32),
            nn.Tanh(),
            nn.Dropout(0.2),
            nn.Linear(32, 16),
            nn.GELU(),
            nn.Linear(16, 2),
        ).double()  # in float32 the centered rule's division blows up what is rounding alone
        optimizer = getattr(t.optim, name)(model.parameters(), **options)
        scheduler = t.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
        x, y = t.randn(64, 4).double(), t.randint(0, 2, (64,))
        for _ in range(20):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
        return [losses, *model.state_dict().values()]

    for ours, theirs in both(program):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)


def test_training_a_convolutional_network():
    def program(t):
        nn, losses = t.nn, []
        model = nn.Sequential(
            # No bias before the norm: its gradient is rounding alone, which Adam would blow up.
            nn.Conv2d(1, 8, 3, padding=1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3, stride=2, bias=False),
            nn.LeakyReLU(0.1),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(8, 3),
        )
        optimizer = t.optim.Adam(model.parameters(), lr=0.01)
        x, y = t.rand(32, 1, 10, 10), t.randint(0, 3, (32,))
        for _ in range(10):
            optimizer.zero_grad()
            loss = nn.CrossEntropyLoss(label_smoothing=0.1)(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return [losses, model.eval()(x)]

    for ours, theirs in both(program):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=2e-4)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_training_a_recurrent_network(kind):
    def program(t):
        nn, losses = t.nn, []
        layer, head = getattr(nn, kind)(3, 8, 2, dropout=0.1), nn.Linear(8, 1)
        optimizer = t.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
        x, y = t.randn(6, 4, 3), t.randn(4, 1)
        for _ in range(5):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(head(layer(x)[0][-1]), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return [losses]

    for ours, theirs in both(program):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)
