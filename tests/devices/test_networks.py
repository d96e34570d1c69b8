"""Networks that train on the accelerator have the CPU's losses: the same initial weights and data,
no dropout, 20 steps."""

import math

import pytest

import rushlight as torch
from rushlight import nn

F = nn.functional
STEPS = 20


def digits(random):
    """Logistic regression and a hidden layer on pictures of 8x8, SGD with momentum."""
    x, y = random(64, 64), torch.arange(64) % 10
    net = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))
    return net, [x, y], lambda net, x, y: F.cross_entropy(net(x), y), "sgd"


def mlp(random):
    x, y = random(32, 17), random(32, 6)
    net = nn.Sequential(
        nn.Linear(17, 48),
        nn.ReLU(),
        nn.LayerNorm(48),
        nn.Linear(48, 48),
        nn.GELU(),
        nn.Linear(48, 6),
    )
    return net, [x, y], lambda net, x, y: F.mse_loss(net(x), y), "adam"


def cnn(random):
    x, y = random(8, 1, 12, 12), torch.arange(8) % 10
    net = nn.Sequential(
        nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        nn.Linear(32, 10),
    )  # fmt: skip
    return net, [x, y], lambda net, x, y: F.cross_entropy(net(x), y), "adam"


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells, self.out = nn.LSTM(5, 12, num_layers=2, batch_first=True), nn.Linear(12, 3)

    def forward(self, x):
        return self.out(self.cells(x)[0][:, -1])


def lstm(random):
    x, y = random(6, 9, 5), random(6, 3)
    return Lstm(), [x, y], lambda net, x, y: F.mse_loss(net(x), y), "sgd"


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        n, length, width = x.shape
        parts = self.mix(self.before(x)).view(n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*parts.unbind(0), is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(n, length, width))
        return x + self.narrow(F.gelu(self.wide(self.after(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(20, 16), nn.Embedding(10, 16)
        self.blocks = nn.Sequential(Block(16, 2), Block(16, 2))
        self.last, self.head = nn.LayerNorm(16), nn.Linear(16, 20, bias=False)
        self.register_buffer("at", torch.arange(10))

    def forward(self, ids):
        x = self.words(ids) + self.places(self.at[: ids.shape[1]])
        return self.head(self.last(self.blocks(x)))


def gpt(random):
    ids = (torch.arange(4 * 10).view(4, 10) * 7) % 20

    def loss(net, ids):
        return F.cross_entropy(net(ids[:, :-1]).reshape(-1, 20), ids[:, 1:].reshape(-1))

    return Gpt(), [ids], loss, "adamw"


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.mean, self.spread = nn.Linear(12, 16), nn.Linear(16, 3), nn.Linear(16, 3)
        self.outer = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 12))

    def forward(self, x, noise):
        h = F.relu(self.inner(x))
        mean, log_variance = self.mean(h), self.spread(h)
        return self.outer(mean + noise * (0.5 * log_variance).exp()), mean, log_variance


def vae(random):
    x, noise = random(16, 12).sigmoid(), random(16, 3)

    def loss(net, x, noise):
        out, mean, log_variance = net(x, noise)
        divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum()
        return F.binary_cross_entropy_with_logits(out, x, reduction="sum") + divergence

    return Vae(), [x, noise], loss, "adam"


def pinn(random):
    """u'' = -u: derivatives of the network by its input, in the loss."""
    x = torch.linspace(0, math.pi, 24).view(-1, 1)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))

    def loss(net, x):
        x = x.detach().requires_grad_()
        u = net(x)
        first = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
        second = torch.autograd.grad(first.sum(), x, create_graph=True)[0]
        return (second + u).square().mean() + (u[0] - 0).square().sum() + (u[-1]).square().sum()

    return net, [x], loss, "adam"


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=1e-2),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-2),
}


def losses(make, device):
    generator = torch.Generator().manual_seed(3)
    torch.manual_seed(5)
    net, data, loss, name = make(lambda *shape: torch.randn(*shape, generator=generator))
    net, data = net.to(device), [t.to(device) for t in data]
    optimizer = OPTIMIZERS[name](net.parameters())
    found = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        value = loss(net, *data)
        value.backward()
        optimizer.step()
        assert value.device.type == torch.device(device).type
        found.append(value.item())
    assert found[-1] < found[0]
    return found


@pytest.mark.parametrize("make", [digits, mlp, cnn, lstm, gpt, vae, pinn])
def test_losses_are_the_cpus(make):
    assert losses(make, "opencl") == pytest.approx(losses(make, "cpu"), rel=1e-4)
