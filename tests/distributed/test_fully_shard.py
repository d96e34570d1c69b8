"""`fully_shard`: trained over processes as one process trains on the joined batch."""

import json

import _jobs
import pytest

# What each job begins with: a network, the same on all processes, and a loop that trains it.
NETWORK = '''
import copy, json, torch, torch.distributed as dist
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
