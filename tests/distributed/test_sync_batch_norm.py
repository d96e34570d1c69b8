"""`nn.SyncBatchNorm` of several processes is `BatchNorm` of their batches joined into one."""

import json
import subprocess
import sys

import pytest
from _jobs import run

from _subject import torch

nn = torch.nn

# What the job and the single process both build. Batches: how many images each rank has.
SHARED = """
import math

def values(seed, *shape):
    count = math.prod(shape)
    found = [math.sin(1.7 * i + 2.3 * seed) + 0.1 * seed for i in range(count)]
    return torch.tensor(found, dtype=torch.float64).reshape(shape)

def layer(kind, settings):
    made = kind(3, dtype=torch.float64, **settings)
    with torch.no_grad():
        for i, p in enumerate(made.parameters()):
            p.copy_(values(30 + i, 3))
    return made

def measured(norm, inputs, factors):
    out = norm(inputs)
    (out * factors).sum().backward()
    parts = {"out": out, "input": inputs.grad, **dict(norm.named_buffers())}
    for name, p in norm.named_parameters():
        parts["grad of " + name] = p.grad
    return {name: part.tolist() for name, part in parts.items()}
"""
CASES = {
    "images": ({}, [2, 2, 2, 2], (4, 5)),
    "uneven": ({}, [1, 4, 2, 3], (4,)),
    "one is empty": ({}, [2, 0, 3, 1], (2, 2)),
    "one value each": ({}, [1, 1, 1, 1], ()),
    "momentum None": ({"momentum": None}, [2, 3, 1, 2], (2,)),
    "momentum and eps": ({"momentum": 0.7, "eps": 0.5}, [2, 3, 1, 2], (2,)),
    "not affine": ({"affine": False}, [2, 3, 1, 2], (2,)),
    "no bias": ({"bias": False}, [2, 3, 1, 2], (2,)),
    "not tracked": ({"track_running_stats": False}, [2, 3, 1, 2], (2,)),
}
IMPORTS = """
import json, sys
import torch
import torch.distributed as dist
from torch import nn
"""
JOB = (
    IMPORTS
    + SHARED
    + """
cases = json.loads(sys.argv[1])
dist.init_process_group()
rank, size = dist.get_rank(), dist.get_world_size()
found = {}
for name, (settings, counts, rest) in cases.items():
    counts = counts[:size]
    norm = layer(nn.SyncBatchNorm, settings)
    for turn in range(2):
        whole = values(turn, sum(counts), 3, *rest).split(counts)
        factors = values(10 + turn, sum(counts), 3, *rest).split(counts)
        norm.zero_grad()
        part = whole[rank].clone().requires_grad_()
        found[f"{name} {turn}"] = measured(norm, part, factors[rank])
    norm.eval()
    found[f"{name} eval"] = norm(values(rank, 2, 3, *rest)).tolist()
everything = [None] * size
dist.all_gather_object(everything, found)
if rank == 0:
    print(json.dumps(everything))
dist.destroy_process_group()
"""
)


_here = {"torch": torch}
exec(SHARED, _here)
_values, _layer, _measured = (_here[name] for name in ("values", "layer", "measured"))


def _job(folder, program, size, *arguments):
    done = run(folder, program, "run", "--nproc", str(size), arguments=arguments)
    assert done.code == 0, done.err
    return json.loads(done.out.splitlines()[-1])


def _close(found, expected):
    found, expected = (torch.tensor(v, dtype=torch.float64) for v in (found, expected))
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("size", [2, 4])
def test_values_gradients_and_statistics_are_those_of_the_joined_batch(tmp_path, size):
    of_ranks = _job(tmp_path, JOB, size, json.dumps(CASES))
    for name, (settings, counts, rest) in CASES.items():
        counts = counts[:size]
        kind = {0: nn.BatchNorm1d, 1: nn.BatchNorm1d, 2: nn.BatchNorm2d}[len(rest)]
        norm = _layer(kind, settings)
        for turn in range(2):
            whole = _values(turn, sum(counts), 3, *rest).requires_grad_()
            norm.zero_grad()
            expected = _measured(norm, whole, _values(10 + turn, *whole.shape))
            found = [rank[f"{name} {turn}"] for rank in of_ranks]
            for part, value in expected.items():
                parts = [rank[part] for rank in found]
                if part in ("out", "input"):  # each rank has its images'
                    _close([row for rows in parts for row in rows], value)
                elif part.startswith("grad of"):  # each has its images' share
                    _close(torch.tensor(parts, dtype=torch.float64).sum(0).tolist(), value)
                else:
                    for own in parts:
                        _close(own, value)
        norm.eval()
        for rank, found in enumerate(of_ranks):
            _close(found[f"{name} eval"], norm(_values(rank, 2, 3, *rest)).tolist())


def test_converted_layers_normalise_over_their_group_and_half_precision_stays(tmp_path):
    program = (
        IMPORTS
        + SHARED
        + """
dist.init_process_group()
rank = dist.get_rank()
pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
model = nn.Sequential(nn.BatchNorm1d(3, dtype=torch.float64), nn.ReLU())
model = nn.SyncBatchNorm.convert_sync_batchnorm(model, pairs[rank // 2])
model(values(rank, 2, 3))
alone = [dist.new_group([i]) for i in range(4)][rank]
own = nn.SyncBatchNorm(3, process_group=alone, dtype=torch.float64)
own(values(rank, 2, 3))
half = nn.SyncBatchNorm(3)
part = values(rank, 2, 3).bfloat16().requires_grad_()
out = half(part)
out.sum().backward()
found = [
    type(model[0]).__name__, model[0].running_mean.tolist(), own.running_mean.tolist(),
    str(out.dtype), str(part.grad.dtype), str(half.weight.grad.dtype), half.running_var.tolist(),
]
try:
    once = values(rank, 2, 3).requires_grad_()
    (g,) = torch.autograd.grad(half(once.float()).square().sum(), once, create_graph=True)
    g.sum().backward()
except RuntimeError as error:
    found.append("once_differentiable" in str(error))
everything = [None] * 4
dist.all_gather_object(everything, found)
if rank == 0:
    print(json.dumps(everything))
dist.destroy_process_group()
"""
    )
    of_ranks = _job(tmp_path, program, 4)
    batches = [_values(rank, 2, 3) for rank in range(4)]
    wide = torch.cat([batch.bfloat16().double() for batch in batches])
    for rank, (kind, of_pair, own, out, grad, weight, var, refused) in enumerate(of_ranks):
        pair = torch.cat(batches[rank // 2 * 2 : rank // 2 * 2 + 2])
        assert kind == "SyncBatchNorm"
        _close(of_pair, (0.1 * pair.mean(0)).tolist())
        _close(own, (0.1 * batches[rank].mean(0)).tolist())
        assert (out, grad, weight) == ("torch.bfloat16", "torch.bfloat16", "torch.float32")
        expected = (0.9 + 0.1 * wide.var(0)).float()
        torch.testing.assert_close(torch.tensor(var), expected)
        assert refused


def test_without_a_group_it_is_the_norm_of_the_process_and_imports_nothing():
    program = """
import sys
import rushlight as torch
norm = torch.nn.SyncBatchNorm(2)
norm(torch.tensor([[0.0, 10.0], [2.0, 30.0]]))
print(norm.running_mean.tolist(), "rushlight.distributed" in sys.modules)
try:
    norm(torch.zeros(1, 2))
except ValueError as error:
    print(error)
"""
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout
    mean, error, *_ = out.splitlines()
    assert mean == "[0.10000000149011612, 2.0] False"
    assert error.startswith("Expected more than 1 value per channel when training")
