"""The same program in PyTorch's DistributedDataParallel (gloo) and in ours: losses of 20 steps."""

import json

import pytest
from _jobs import run
from _oracle import END, by_torch

PROGRAM = (
    '''
import json, os, sys
import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()


def filled(module):
    """Weights that are the same in both; other processes' are wrong before they are sent."""
    random = np.random.default_rng(1)
    with torch.no_grad():
        for p in module.parameters():
            values = random.normal(size=tuple(p.shape)) / p.shape[-1] ** 0.5 + (rank > 0)
            p.copy_(torch.tensor(values).to(p.dtype))
    return module


def mlp():
    return nn.Sequential(nn.Linear(6, 300), nn.Tanh(), nn.Linear(300, 300), nn.ReLU(),
                         nn.Linear(300, 3))


class Branches(nn.Module):
    """Another half for odd steps of odd ranks; one part is never used."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.never = nn.Linear(6, 3), nn.Linear(6, 3), nn.Linear(2, 2)

    def forward(self, x):
        self.step = getattr(self, "step", -1) + 1
        return {"out": (self.b if self.step % 2 and rank % 2 else self.a)(x)}


class Twice(nn.Module):
    """The same layer in two checkpoints that are backward passes of their own."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x):
        x = x.requires_grad_()
        for _ in range(2):
            x = checkpoint(self.a, x, use_reentrant=True)
        return self.b(x)


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.last = nn.Embedding(20, 5, sparse=True), nn.Linear(5, 3)

    def forward(self, x):
        return self.last(self.words((x[:, :2] * 7).long().abs() % 20).sum(1))


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 3).double()

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)).double())


def trained(module, steps=20, accumulate=1, momentum=0.9, hook=None, batches=None, **settings):
    model = DDP(filled(module), **settings)
    if hook is not None:
        model.register_comm_hook(None, hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=momentum)
    random = np.random.default_rng(100 + rank)
    losses = []

    def step(i):
        x = torch.tensor(random.normal(size=(8, 6)), dtype=torch.float32)
        y = torch.tensor(random.normal(size=(8, 3)), dtype=torch.float32)
        out = model(x)
        out = out["out"] if isinstance(out, dict) else out
        loss = ((out - y) ** 2).mean()
        losses.append(loss.item())
        loss.backward()

    def loop():
        for i in range(batches or steps):
            if (i + 1) % accumulate:
                with model.no_sync():
                    step(i)
            else:
                step(i)
                optimizer.step()
                optimizer.zero_grad()

    if batches is None:
        loop()
    else:
        with model.join():
            loop()
    last = [float(p.double().sum()) for p in model.parameters()]
    return losses + last + [float(b.double().sum()) for b in model.buffers()]


def doubled(state, bucket):
    flat = bucket.buffer().mul_(2.0 / size)
    return dist.all_reduce(flat, async_op=True).get_future().then(lambda f: f.value()[0])


norm = lambda: nn.Sequential(nn.Linear(6, 9), nn.BatchNorm1d(9), nn.Linear(9, 3))
found = {
    "plain": trained(mlp()),
    "views": trained(mlp(), gradient_as_bucket_view=True),
    "small buckets": trained(mlp(), bucket_cap_mb=0.001),
    "buffers": trained(norm()),
    "own buffers": trained(norm(), broadcast_buffers=False),
    "unused": trained(Branches(), find_unused_parameters=True),
    "unused, views": trained(
        Branches(), find_unused_parameters=True, gradient_as_bucket_view=True),
    "accumulated": trained(mlp(), accumulate=3),
    "checkpoints": trained(Twice(), static_graph=True),
    "unused in a static graph": trained(Branches(), static_graph=True, steps=1),
    "sparse": trained(Words(), momentum=0),
    "two dtypes": trained(Mixed()),
    "hook": trained(mlp(), hook=doubled),
    "uneven": trained(norm(), batches=5 + 3 * rank),
}
with open(f"{sys.argv[1]}_{rank}.json", "w") as file:
    json.dump(found, file)
'''
    + END
)


@pytest.mark.parametrize("size", [2, 4])
def test_losses_are_pytorchs(tmp_path, size):
    pytest.importorskip("torch", reason="compares with PyTorch, where it is installed")
    done = run(tmp_path, PROGRAM, "run", "--nproc", str(size), arguments=["ours"])
    assert done.code == 0, done.err
    by_torch(tmp_path, size, "train.py", "torch")
    for rank in range(size):
        expected = json.loads((tmp_path / f"torch_{rank}.json").read_text())
        ours = json.loads((tmp_path / f"ours_{rank}.json").read_text())
        for name, values in expected.items():
            assert ours[name] == pytest.approx(values, rel=2e-6, abs=2e-6), (rank, name)
