"""Collectives with gradients, against formulas of one process that has every rank's tensors.

The job gives results, gradients and gradients of gradients of each collective on each rank. Here
the same is a function of all ranks' tensors at once: a rank's loss is of its own results, and
`backward` on every rank gives the gradients of the sum of the losses.
"""

import json
import math

import pytest
from _jobs import run

from _subject import torch

# Shared by the job and by this process; `rank` is an argument, so that both can ask for any.
SHARED = """
def values(rank, seed, *shape):
    count = math.prod(shape)
    found = [math.sin(1.7 * i + 2.3 * seed + 0.9 * rank) for i in range(count)]
    return torch.tensor(found, dtype=torch.float64).reshape(shape)

def loss_of(rank, outs):
    return sum((o * o * values(rank, 7 + i, *o.shape)).sum() for i, o in enumerate(outs))
"""
JOB = (
    """
import json, math, warnings
import torch
import torch.distributed as dist
import torch.distributed.nn.functional as F
import torch.distributed._functional_collectives as fc
"""
    + SHARED
    + """
warnings.simplefilter("ignore", FutureWarning)
dist.init_process_group()
rank, size = dist.get_rank(), dist.get_world_size()
world, found = dist.group.WORLD, {}

def new(*shape):
    return torch.zeros(shape, dtype=torch.float64)

def lists(tensors):
    return [None if t is None else t.tolist() for t in tensors]

def case(name, call, *shapes, twice=True):
    inputs = [values(rank, i, *shape).requires_grad_() for i, shape in enumerate(shapes)]
    outs = call(*inputs)
    outs = list(outs) if isinstance(outs, tuple) else [outs]
    grads = torch.autograd.grad(loss_of(rank, outs), inputs, create_graph=True)
    found[name] = [lists(outs), lists(grads)]
    if twice:
        squares = sum((g * g).sum() for g in grads)
        found[name].append(lists(torch.autograd.grad(squares, inputs)))

splits = [rank + j for j in range(size)]
rows = sum(splits)
at_root = torch.full((), float(rank == 1), dtype=torch.float64)
each = [(2,)] * size
case("all_reduce", lambda x: F.all_reduce(x), (2, 3))
case("reduce", lambda x: F.reduce(x, 1) * at_root, (2, 3))
case("broadcast", lambda x: F.broadcast(x, 1), (2, 3))
case("gather", lambda x: F.gather(x, 1), (2, 3))
case("scatter", lambda *xs: F.scatter(xs, 1), *each)
case("all_gather", F.all_gather, (2, 3))
case("_all_gather_base", lambda x: F._all_gather_base(new(2 * size, 3), x), (2, 3), twice=False)
case("reduce_scatter", lambda *xs: F.reduce_scatter(new(2), list(xs)), *each)
case("all_to_all", lambda *xs: F.all_to_all([new(2) for _ in xs], list(xs)), *each)
case("all_to_all_single", lambda x: F.all_to_all_single(new(2 * size, 3), x), (2 * size, 3))
case(
    "uneven all_to_all_single",
    lambda x: F.all_to_all_single(new(rows, 3), x, splits, splits),
    (rows, 3),
)
case("fc.all_reduce", lambda x: fc.wait_tensor(fc.all_reduce(x, "sum", world)), (2, 3))
for dim in (0, 1):
    case(f"fc.all_gather {dim}", lambda x: fc.all_gather_tensor_autograd(x, dim, world), (2, 3))
    case(
        f"fc.reduce_scatter {dim}",
        lambda x: fc.reduce_scatter_tensor_autograd(x, "sum", dim, world.group_name),
        (4, 8),
    )
case(
    "fc.all_to_all_single",
    lambda x: fc.all_to_all_single_autograd(x, None, None, world),
    (2 * size, 3),
)
case(
    "uneven fc.all_to_all_single",
    lambda x: fc.all_to_all_single_autograd(x, splits, splits, world),
    (rows, 3),
)
turned = [(i + 1) % size for i in range(size)]
case("fc.permute_tensor", lambda x: fc.permute_tensor(x, turned, world), (6,))

# Where a gradient is not that of the sum of the losses, as PyTorch has it.
x = values(rank, 0, 3).requires_grad_()
F.all_reduce(x, dist.ReduceOp.MAX).sum().backward()
found["gradient of a maximum"] = x.grad.tolist()
x.grad = None
copy = fc.broadcast(x, 1, world)
(copy * (rank + 2.0)).sum().backward()
found["fc.broadcast"] = [copy.tolist(), x.grad.tolist()]
found["input stays"] = x.detach().equal(values(rank, 0, 3))

def refused(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"

maximum = fc.all_reduce(x, "max", world)
found["errors"] = [
    refused(lambda: maximum.sum().backward()),
    refused(lambda: fc.all_reduce(x, "bad", world)),
    refused(lambda: fc.all_reduce(x, "sum", "nobody")),
    refused(lambda: fc.all_reduce(x, "sum", None)),
    refused(lambda: fc.all_reduce(x, "sum", [7])),
    refused(lambda: fc.all_to_all_single(x, [1], None, world)),
]
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    F.all_gather(x.detach())
    fc.all_gather_tensor(x.detach(), 0, world)
found["warnings"] = [str(w.message) for w in seen]
everything = [None] * size
dist.all_gather_object(everything, found)
if rank == 0:
    print(json.dumps(everything))
dist.destroy_process_group()
"""
)
_here = {"torch": torch, "math": math}
exec(SHARED, _here)
_values, _loss_of = _here["values"], _here["loss_of"]


def _zeros(tensors):
    return [torch.zeros_like(t) for t in tensors]


def _splits(size):
    return [[i + j for j in range(size)] for i in range(size)]


def _exchanged(inputs, sizes):
    """Of each rank's tensor the part for this rank, joined: sizes[i][j] rows go from i to j."""
    parts = [x.split(own) for x, own in zip(inputs, sizes, strict=True)]
    return [torch.cat([part[i] for part in parts]) for i in range(len(parts))]


# From the ranks' lists of inputs to the ranks' lists of results; of one input, the bare tensors.
def _formulas(n):
    two = [[2] * n] * n
    same = lambda total: [[total]] * n
    single = {
        "all_reduce": lambda xs: same(sum(xs)),
        "reduce": lambda xs: [[sum(xs) * float(i == 1)] for i in range(n)],
        "broadcast": lambda xs: same(xs[1]),
        "gather": lambda xs: [list(xs) if i == 1 else _zeros(xs) for i in range(n)],
        "all_gather": lambda xs: [list(xs)] * n,
        "_all_gather_base": lambda xs: same(torch.cat(xs)),
        "all_to_all_single": lambda xs: [[x] for x in _exchanged(xs, two)],
        "uneven all_to_all_single": lambda xs: [[x] for x in _exchanged(xs, _splits(n))],
        "fc.all_gather 1": lambda xs: same(torch.cat(xs, 1)),
        "fc.reduce_scatter 0": lambda xs: [[part] for part in sum(xs).chunk(n)],
        "fc.reduce_scatter 1": lambda xs: [[part] for part in sum(xs).chunk(n, 1)],
        "fc.permute_tensor": lambda xs: [[xs[(i - 1) % n]] for i in range(n)],
    }
    for name, like in {
        "all_reduce": "all_reduce",
        "all_gather 0": "_all_gather_base",
        "all_to_all_single": "all_to_all_single",
    }.items():
        single[f"fc.{name}"] = single[like]
    single["uneven fc.all_to_all_single"] = single["uneven all_to_all_single"]
    found = {
        name: lambda xs, formula=formula: formula([x for (x,) in xs])
        for name, formula in single.items()
    }
    return found | {
        "scatter": lambda xs: [[xs[1][i]] for i in range(n)],
        "reduce_scatter": lambda xs: [[sum(own[i] for own in xs)] for i in range(n)],
        "all_to_all": lambda xs: [[own[i] for own in xs] for i in range(n)],
    }


def _shapes(name, rank, size):
    if name in ("scatter", "reduce_scatter", "all_to_all"):
        return [(2,)] * size
    if name.startswith("uneven"):
        return [(sum(_splits(size)[rank]), 3)]
    if name.endswith("all_to_all_single"):
        return [(2 * size, 3)]
    if name.startswith("fc.reduce_scatter"):
        return [(4, 8)]
    return [(6,)] if name == "fc.permute_tensor" else [(2, 3)]


def _close(found, expected):
    torch.testing.assert_close(
        [torch.tensor(v, dtype=torch.float64) for v in found], expected, rtol=1e-10, atol=1e-10
    )


@pytest.fixture(scope="module", params=[2, 4])
def of_ranks(request, tmp_path_factory):
    size = str(request.param)
    done = run(tmp_path_factory.mktemp("job"), JOB, "run", "--nproc", size)
    assert done.code == 0, done.err
    return json.loads(done.out.splitlines()[-1])


@pytest.mark.parametrize("name", _formulas(2))
def test_results_and_gradients_are_those_of_the_formula(of_ranks, name):
    size = len(of_ranks)
    inputs = [
        [_values(rank, i, *shape).requires_grad_() for i, shape in enumerate(shapes)]
        for rank, shapes in enumerate(_shapes(name, rank, size) for rank in range(size))
    ]
    leaves = [x for own in inputs for x in own]

    def by_rank(flat):
        flat = iter(flat)
        return [[next(flat) for _ in own] for own in inputs]

    outs = _formulas(size)[name](inputs)
    total = sum(_loss_of(rank, own) for rank, own in enumerate(outs))
    settings = {"create_graph": True, "materialize_grads": True}
    grads = torch.autograd.grad(total, leaves, **settings)
    expected = [outs, by_rank(grads)]
    if len(of_ranks[0][name]) == 3:
        squares = sum((g * g).sum() for g in grads)
        expected.append(by_rank(torch.autograd.grad(squares, leaves, **settings)))
    for rank, found in enumerate(of_ranks):
        for of_rank, values in zip(found[name], expected, strict=True):
            _close(of_rank, [v.detach() for v in values[rank]])


def test_gradients_that_pytorch_defines_otherwise(of_ranks):
    for rank, found in enumerate(of_ranks):
        assert found["gradient of a maximum"] == [1.0] * 3  # the maximum of the gradients
        copy, gradient = found["fc.broadcast"]  # each rank keeps its own
        assert (copy, gradient) == (_values(1, 0, 3).tolist(), [rank + 2.0] * 3)
        assert found["input stays"]


def test_errors_and_warnings(of_ranks):
    path = "torch.distributed._functional_collectives"
    for found in of_ranks:
        of_max, bad, nobody, none, ranks, splits = found["errors"]
        assert (
            of_max == "RuntimeError: all_reduce backward only supports 'sum' reduction, got 'max'"
        )
        assert bad == "RuntimeError: Unrecognized reduce_op: bad"
        assert nobody.startswith("RuntimeError: Could not resolve the process group registered")
        assert none == "ValueError: Unsupported group type: <class 'NoneType'>, None"
        assert ranks.startswith("ValueError: No process group of this process has the ranks [7]")
        assert splits.startswith("AssertionError: output_split_sizes and input_split_sizes must")
        assert found["warnings"] == [
            "torch.distributed.nn.functional.all_gather is deprecated, use "
            f"{path}.all_gather_single instead.",
            f"`{path}.all_gather_tensor` is deprecated. Please use "
            f"`{path}.all_gather_single` instead.",
        ]
