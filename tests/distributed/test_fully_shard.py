"""`fully_shard`: trained over processes as one process trains on the joined batch."""

import json

import _jobs
import pytest

# What each job begins with: a network, the same on all processes, and a loop that trains it.
NETWORK = '''
import copy, io, json, torch, torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)

class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.norm = nn.LayerNorm(n)
        self.a, self.b = nn.Linear(n, 2 * n + 1), nn.Linear(2 * n + 1, n)
        self.unused = nn.Linear(2, 2)
    def forward(self, x):
        return x + self.b(torch.relu(self.a(self.norm(x))))

class Net(nn.Module):
    def __init__(self, n=6):
        super().__init__()
        self.embed, self.head = nn.Embedding(11, n), nn.Linear(n, 11, bias=False)
        self.blocks = nn.ModuleList(Block(n) for _ in range(2))
        self.head.weight = self.embed.weight
    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)

def divided(net, **settings):
    net = copy.deepcopy(net)
    for block in net.blocks:
        fully_shard(block, **settings)
    return fully_shard(net, **settings)

def loss_of(net, ids):
    return nn.functional.cross_entropy(net(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())

def train(net, batches, optimizer, clip=None):
    told = []
    for ids in batches:
        loss = loss_of(net, ids)
        loss.backward()
        if clip is not None:
            norm = nn.utils.clip_grad_norm_(net.parameters(), clip)
            told.append(norm.full_tensor() if isinstance(norm, DTensor) else norm)
        optimizer.step()
        optimizer.zero_grad()
        told.append(loss.detach())
    return torch.stack(told)

def whole(tensor):
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor

def apart(net, single):
    """The largest difference of two networks' weights."""
    own = net.state_dict()
    return max((whole(own[k]) - v).abs().max().item() for k, v in single.state_dict().items())

def mean(values):
    dist.all_reduce(values, dist.ReduceOp.AVG)
    return values

single = Net()
batches = torch.randint(0, 11, (4, 4 * world, 7))
mine = batches[:, rank * 4 : rank * 4 + 4]
found = {}
'''

TRAINING = """
for name, kind, options in (
    ("adam", torch.optim.Adam, {}),
    ("adamw fused", torch.optim.AdamW, dict(fused=True)),
    ("sgd foreach", torch.optim.SGD, dict(momentum=0.9, foreach=True)),
):
    for reshard in (None, True, False):
        one, net = copy.deepcopy(single), divided(single, reshard_after_forward=reshard)
        expected = train(one, batches, kind(one.parameters(), lr=0.01, **options), 0.5)
        told = mean(train(net, mine, kind(net.parameters(), lr=0.01, **options), 0.5))
        found[f"{name} {reshard}"] = [(told - expected).abs().max().item(), apart(net, one)]
if rank == 0:
    print(json.dumps(found))
"""


def job(folder, count, program, **more):
    """What rank 0 of a job printed, as JSON."""
    done = _jobs.run(folder, NETWORK + program, "run", "--nproc", str(count), **more)
    assert done.code == 0, done.err
    return json.loads(done.out)


@pytest.mark.parametrize("count", [2, 4])
def test_losses_norms_and_weights_are_those_of_the_joined_batch(tmp_path, count):
    found = job(tmp_path, count, TRAINING)
    assert len(found) == 9
    assert max(max(pair) for pair in found.values()) < 1e-10, found


USES = """
from torch.utils.checkpoint import checkpoint
adam = lambda net: torch.optim.Adam(net.parameters(), lr=0.01)

def accumulate(net, batches, without_sync=False):
    optimizer = adam(net)
    for k in (0, 2):
        for j in (0, 1):
            if without_sync:
                net.set_requires_gradient_sync(j == 1)
            (loss_of(net, batches[k + j]) / 2).backward()
        optimizer.step()
        optimizer.zero_grad()

one = copy.deepcopy(single)
accumulate(one, batches)
for without_sync in (False, True):
    net = divided(single)
    accumulate(net, mine, without_sync)
    found[f"accumulation {without_sync}"] = apart(net, one)

one, net = copy.deepcopy(single), divided(single)
for each in (one, net):
    for block in each.blocks:
        block.a.weight.requires_grad_(False)
train(one, batches, adam(one))
train(net, mine, adam(net))
found["frozen weights"] = apart(net, one)

class Checkpointed(Net):
    reentrant = False
    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=self.reentrant)
        return self.head(x)

one = copy.deepcopy(single)
train(one, batches, adam(one))
for Checkpointed.reentrant in (False, True):
    net = copy.deepcopy(single)
    net.__class__ = Checkpointed
    net = divided(net)
    train(net, mine, adam(net))
    found[f"checkpoint {Checkpointed.reentrant}"] = apart(net, one)

one, net = copy.deepcopy(single), divided(single)
with torch.no_grad():
    found["no_grad"] = (net(mine[0]) - one(mine[0])).abs().max().item()
found["divided after no_grad"] = 1 - all(isinstance(p, DTensor) for p in net.parameters())

class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(5, 5)
    def forward(self, x):
        return self.inner(torch.tanh(self.inner(x)))

def gradients_apart(net, one):
    pairs = zip(net.parameters(), one.parameters())
    return max((whole(p.grad) - q.grad).abs().max().item() for p, q in pairs)

one = Twice()
net = copy.deepcopy(one)
fully_shard(net.inner)
fully_shard(net)
x = torch.randn(4 * world, 5)
for m, part in ((one, x), (net, x[4 * rank : 4 * rank + 4])):
    losses = [m(part * k).square().mean() for k in (1, 2)]
    for loss in losses:
        loss.backward()
found["called twice, two graphs"] = gradients_apart(net, one)

class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)
    def forward(self, x, k):
        return (self.b if k else self.a)(x)

net = fully_shard(Branches())
net(torch.ones(1, 3), rank).sum().backward()
found["other branches on other ranks"] = max(
    (p.grad.full_tensor() - 0.5).abs().max().item() for p in net.parameters()
)

net = fully_shard(Branches(), mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32))
result = net(torch.ones(1, 3), 0)
result.sum().backward()
own = net.a.weight
found["types"] = [str(t.dtype) for t in (result, own, own.grad)] + [net.b.weight.grad]

errors = []
def fails(call):
    try:
        call()
    except Exception as error:
        errors.append(f"{type(error).__name__}: {error}")
    else:
        errors.append("")

net = fully_shard(Twice())
fails(lambda: net.inner.weight.norm())
fails(lambda: net.inner.weight.detach()[0].zero_())
fails(lambda: net(torch.ones(1, 5)).sum() + (net.inner.weight.detach() + torch.ones(5, 5)).sum())
fails(lambda: torch.save(net.state_dict(), io.BytesIO()))
net.set_reshard_after_forward(True)
loss = net(torch.ones(1, 5)).sum()
net.inner.weight.detach().mul_(2)
fails(loss.backward)
tied = Net()
fully_shard(tied.head)
fails(lambda: fully_shard(tied))
found["errors"] = errors
if rank == 0:
    print(json.dumps(found))
"""


def test_ways_to_use_it(tmp_path):
    found = job(tmp_path, 2, USES)
    errors, types = found.pop("errors"), found.pop("types")
    assert max(found.values()) < 1e-10, found
    assert types == ["torch.bfloat16", "torch.float64", "torch.float64", None]
    starts = [
        "NotImplementedError: norm of a DTensor that requires grad",
        "NotImplementedError: zero_ of a view of a DTensor",
        "",
        "NotImplementedError: untyped_storage of a DTensor: its memory is a part",
        "RuntimeError: Parameter inner.weight was modified by an inplace operation",
        "ValueError: Parameter embed.weight is also one of a module inside",
    ]
    assert len(errors) == len(starts)
    for error, start in zip(errors, starts, strict=True):
        assert error.startswith(start), errors


STATES = """
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions, get_model_state_dict, get_optimizer_state_dict,
    set_model_state_dict, set_optimizer_state_dict,
)
adam = lambda net: torch.optim.Adam(net.parameters(), lr=0.01)
one, net = copy.deepcopy(single), divided(single)
first, second = adam(one), adam(net)
train(one, batches, first)
train(net, mine, second)

def states(**options):
    options = StateDictOptions(**options)
    return copy.deepcopy([
        get_model_state_dict(net, options=options),
        get_optimizer_state_dict(net, second, options=options),
    ])

given = {
    "parts": (states(), {}),
    "whole": (states(full_state_dict=True), dict(full_state_dict=True)),
    "rank 0": (
        states(full_state_dict=True, cpu_offload=True),
        dict(full_state_dict=True, broadcast_from_rank0=True),
    ),
}
model, optimizer = given["whole"][0]
expected = get_optimizer_state_dict(one, first)["state"]
found["model"] = max((model[k] - v).abs().max().item() for k, v in one.state_dict().items())
found["optimizer"] = max(
    (optimizer["state"][name][key] - value).abs().max().item()
    for name, values in expected.items() for key, value in values.items()
)
lengths = torch.tensor([len(part) for part in given["rank 0"][0]])
dist.broadcast(lengths, 1)
found["rank 1 of rank 0's"] = lengths.sum().item()
after = copy.deepcopy(one)
third = adam(after)
third.load_state_dict(copy.deepcopy(first.state_dict()))
train(after, batches, third)
for name, ((model, optimizer), options) in given.items():
    torch.manual_seed(5)
    net = divided(Net())
    options, third = StateDictOptions(**options), adam(net)
    set_model_state_dict(net, model, options=options)
    set_optimizer_state_dict(net, third, optimizer, options=options)
    train(net, mine, third)
    found[name] = apart(net, after)
plain = divided(Net())
plain.load_state_dict(one.state_dict())
found["load_state_dict of whole tensors"] = apart(plain, one)

# DTensors by themselves: rows that do not divide evenly, other dimensions, reductions
values = torch.arange(15.0).reshape(5, 3)
for dim in (0, 1):
    t = distribute_tensor(values, None, [Shard(dim)])
    found[f"sizes {dim}"] = 1 - (t.shape == (5, 3) and t.size(dim) == 5 - 2 * dim)
    found[f"elements {dim}"] = t.numel() - 15
    found[f"full {dim}"] = (t.full_tensor() - values).abs().max().item()
    found[f"norm {dim}"] = abs(t.norm().item() - values.norm().item())
    found[f"sum {dim}"] = (t.sum(0).full_tensor() - values.sum(0)).abs().max().item()
    found[f"sine {dim}"] = (t.sin().full_tensor() - values.sin()).abs().max().item()
    t.copy_(values * 2)
    t.mul_(2)
    t[1:3] = 7
    wanted = values * 4
    wanted[1:3] = 7
    found[f"writes {dim}"] = (t.full_tensor() - wanted).abs().max().item()
    moved = t.redistribute(placements=[Shard(1 - dim)])
    found[f"redistribute {dim}"] = (moved.full_tensor() - wanted).abs().max().item()
local = torch.full((2, 3), float(rank))
found["from_local"] = abs(DTensor.from_local(local, None, [Shard(0)]).sum().item() - 6)
if rank == 0:
    print(json.dumps(found))
"""


def test_state_dicts_and_tensors_by_themselves(tmp_path):
    found = job(tmp_path, 2, STATES)
    assert max(found.values()) < 1e-10, found


MEMORY = """
import gc
from rushlight import memory

def resident():
    gc.collect()
    memory.empty_cache()
    with open("/proc/self/status") as file:
        return next(int(l.split()[1]) for l in file if l.startswith("RssAnon")) * 1024

def held(tensors):
    own = [t.to_local() if isinstance(t, DTensor) else t for t in tensors]
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in own}
    return sum(storages.values())

class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(512, 512) for _ in range(16))
    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x

x = torch.randn(2, 512)
warm = fully_shard(nn.Linear(512, 512))  # MPI's own buffers do not depend on the network
warm(x).sum().backward()
before = resident()
net = Wide()
for layer in net.layers:
    fully_shard(layer)
fully_shard(net)
optimizer = torch.optim.Adam(net.parameters())
for _ in range(2):
    optimizer.zero_grad()
    net(x).sum().backward()
    optimizer.step()
found["resident"] = resident() - before
found["parameters"] = held(net.parameters())
found["gradients"] = held(p.grad for p in net.parameters())
found["state"] = held(t for s in optimizer.state.values() for k, t in s.items() if k != "step")
loss = net(x).sum()
found["resident after forward"] = resident() - before
if rank == 0:
    print(json.dumps(found))
"""


def test_memory_of_four_processes(tmp_path):
    one, four = (job(tmp_path, count, MEMORY) for count in (1, 4))
    assert one["parameters"] == one["gradients"] == 8 * 16 * 512 * 513
    for what, size in four.items():
        assert size <= 0.3 * one[what], (what, size, one[what])
