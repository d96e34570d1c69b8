"""The programs whose pages are tested and shown: the five neurons, a perceptron, a small GPT."""

from _subject import torch

nn = torch.nn


def graph_of(program):
    """The graph of one of these programs, with the names that it has for its values."""
    result, *held = program()
    names: dict = {}
    for net in held:
        names.update(net.named_parameters() if isinstance(net, nn.Module) else net)
    names.setdefault("loss", result)
    return torch.explain.graph(result, names=names)


def five_neurons(**given):
    """The result L, the inner values by name and the leaves by name of the network
    `L = 10 - (w3 * w1 * a + w4 * w2 * a)`."""
    start = {"a": 3.0, "w1": 2.0, "w2": -1.0, "w3": 0.5, "w4": 0.1, **given}
    leaves = {name: torch.tensor(x, requires_grad=True) for name, x in start.items()}
    a, w1, w2, w3, w4 = (leaves[name] for name in ("a", "w1", "w2", "w3", "w4"))
    with torch.explain.recording():
        b = w1 * a
        c = w2 * a
        d = w3 * b + w4 * c
        L = 10 - d
    return L, {"L": L, "b": b, "c": c, "d": d}, leaves


def perceptron():
    """The loss of a perceptron of three layers, and the perceptron."""
    torch.manual_seed(0)
    net = nn.Sequential(
        *(nn.Linear(8, 16), nn.Tanh()), *(nn.Linear(16, 16), nn.ReLU()), nn.Linear(16, 3)
    )
    x, target = torch.randn(4, 8), torch.tensor([0, 2, 1, 0])
    with torch.explain.recording():
        loss = nn.functional.cross_entropy(net(x), target)
    return loss, net


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(x).split(width, dim=2)
        )
        scores = q @ k.transpose(-2, -1) * (width // self.heads) ** -0.5
        later = torch.tril(torch.ones(length, length)) == 0
        weights = scores.masked_fill(later, float("-inf")).softmax(-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, tokens=17, width=16, heads=2, blocks=2, length=8):
        super().__init__()
        self.tok = nn.Embedding(tokens, width)
        self.pos = nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(blocks)])
        self.ln_f = nn.LayerNorm(width)
        self.head = nn.Linear(width, tokens, bias=False)

    def forward(self, ids, targets):
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.ln_f(x))
        return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def small_gpt():
    """The loss of a GPT of two blocks, and the GPT."""
    torch.manual_seed(0)
    net = GPT()
    ids, targets = torch.randint(0, 17, (2, 8)), torch.randint(0, 17, (2, 8))
    with torch.explain.recording():
        loss = net(ids, targets)
    return loss, net


def ten_thousand():
    """The result of 9,901 calls on 51 leaves."""
    x = torch.tensor([0.5, -0.25], requires_grad=True)
    w = [torch.full((2,), 1 + i / 100, requires_grad=True) for i in range(50)]
    h = x
    for i in range(3300):
        h = torch.tanh(h * w[i % 50] + x)
    return h.sum(), {"x": x, **{f"w[{i}]": w[i] for i in range(50)}}
