"""All-reduces of tensors that go to MPI in pieces, and the mean of two processes."""

import pytest
from _jobs import run

PIECES = """
import torch, torch.distributed as dist
dist.init_process_group()
rank, size = dist.get_rank(), dist.get_world_size()
total = size * (size + 1) // 2

for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.complex64, torch.int8):
    for bytes in (2 << 20, (2 << 20) + dtype.itemsize, (5 << 20) + 3 * dtype.itemsize):
        place = torch.arange(bytes // dtype.itemsize) % 7
        values = (place * (rank + 1)).to(dtype)
        dist.all_reduce(values)
        assert torch.equal(values, (place * total).to(dtype)), (dtype, bytes)

# Started, and waited for in another order on each rank, with other collectives in between.
many = [torch.full((1_000_000 + i,), float(rank + i)) for i in range(6)]
works = [dist.all_reduce(t, async_op=True) for t in many]
if rank % 2:
    works[5].wait()
dist.barrier()
small = torch.tensor([rank])
dist.all_reduce(small)
assert int(small) == total - size
for i in reversed(range(6)):
    works[i].wait()
    assert (many[i] == total - size + size * i).all(), i

# Nobody waits: the memory stays until the transfer is done.
dist.all_reduce(torch.ones(3_000_000), async_op=True)
strided = torch.ones(2_000_000, 2)[:, 0]
dist.all_reduce(strided)
assert (strided == size).all()
part = dist.new_group([0, 1])
if rank < 2:
    in_part = torch.ones(2_000_000)
    dist.all_reduce(in_part, group=part)
    assert (in_part == 2).all()
dist.barrier()
dist.destroy_process_group()
print("done", rank)
"""


@pytest.mark.parametrize("size", [2, 3])
def test_large_tensors_are_reduced_piece_by_piece(tmp_path, size):
    done = run(tmp_path, PIECES, "run", "--nproc", str(size))
    assert done.code == 0, done.err
    assert sorted(line for line in done.out.splitlines() if "done" in line) == [
        f"done {rank}" for rank in range(size)
    ]


MEANS = """
import torch, torch.distributed as dist
dist.init_process_group()
rank = dist.get_rank()
for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
    largest = torch.finfo(dtype).max
    for count in (0, 1, 3, 1000, 1 << 20):
        own = [torch.randn(count, generator=torch.Generator().manual_seed(r)).to(dtype)
               for r in range(2)]
        mean = own[rank].clone()
        dist.all_reduce(mean, dist.ReduceOp.AVG)
        assert torch.equal(mean, own[0] / 2 + own[1] / 2), (dtype, count)
    ends = torch.tensor([largest, -largest, float("inf"), float("nan")], dtype=dtype)
    dist.all_reduce(ends, dist.ReduceOp.AVG)
    assert ends.tolist()[:3] == [largest, -largest, float("inf")] and ends[3].isnan(), ends
whole = torch.tensor([3, -4]) + rank
dist.all_reduce(whole, dist.ReduceOp.AVG)
assert whole.tolist() == [3, -3], whole
scalar = torch.tensor(1.0 + rank)
dist.all_reduce(scalar, dist.ReduceOp.AVG)
assert scalar == 1.5
dist.destroy_process_group()
"""


def test_the_mean_of_two_processes_adds_halves(tmp_path):
    done = run(tmp_path, MEANS, "run", "--nproc", "2")
    assert done.code == 0, done.err
