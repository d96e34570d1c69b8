"""How gradients are sent: hooks with buckets as DistributedDataParallel gives them."""

import json

import pytest
from _jobs import run
from _oracle import END, by_torch

BUCKET = """
import json, os, pickle, sys
import torch, torch.distributed as dist

class Bucket:
    def __init__(self, *gradients, index=0, last=True):
        self._shapes, self._index, self._last = [g.shape for g in gradients], index, last
        self._buffer = torch.cat([g.reshape(-1) for g in gradients])

    def index(self): return self._index
    def is_last(self): return self._last
    def buffer(self): return self._buffer
    def set_buffer(self, buffer): self._buffer = buffer
    def gradients(self):
        parts = self._buffer.split([s.numel() for s in self._shapes])
        return [p.view(s) for p, s in zip(parts, self._shapes)]

def random(seed, *shapes):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in shapes]
"""

EXACT = (
    BUCKET
    + """
from torch.distributed.algorithms.ddp_comm_hooks import (
    DDPCommHookType, debugging_hooks, default_hooks, post_localSGD_hook as local, powerSGD_hook,
    quantization_hooks, register_ddp_comm_hook)
dist.init_process_group()
rank, size = dist.get_rank(), dist.get_world_size()
shapes = (30, 20), (40,), (6, 4, 5)
every = [torch.cat([g.reshape(-1) for g in random(r, *shapes)]) for r in range(size)]
mean = sum(every) / size

def through(hook, state=None):
    bucket = Bucket(*random(rank, *shapes))
    future = hook(state, bucket)
    assert isinstance(future, torch.futures.Future)
    (result,) = torch.futures.collect_all([future]).wait()  # who waits for all waits for this
    return result.wait()

torch.testing.assert_close(through(default_hooks.allreduce_hook), mean)
group = dist.new_group([0, 1])
if rank < 2:
    two = every[0] / 2 + every[1] / 2
    assert torch.equal(through(default_hooks.allreduce_hook, group), two)
for dtype, hook, wrapper in (
    (torch.float16, default_hooks.fp16_compress_hook, default_hooks.fp16_compress_wrapper),
    (torch.bfloat16, default_hooks.bf16_compress_hook, default_hooks.bf16_compress_wrapper),
):
    expected = sum(x.to(dtype) / size for x in every).float()
    assert torch.equal(through(hook), expected) and through(hook).dtype == torch.float32
    assert torch.equal(through(wrapper(default_hooks.allreduce_hook)), expected)
assert torch.equal(through(debugging_hooks.noop_hook), every[rank])
for hook in (quantization_hooks.quantization_pertensor_hook,
             quantization_hooks.quantization_perchannel_hook):
    step = max((x.max() - x.min()) / 255 for x in every).item()
    assert 0 < (through(hook) - mean).abs().max() <= step / 2 * 1.001

alone = dist.new_subgroups(1)[0]
state = local.PostLocalSGDState(None, alone, start_localSGD_iter=2)
for step in range(4):
    found = through(local.post_localSGD_hook, state)
    torch.testing.assert_close(found, mean if step < 2 else every[rank])
state = local.PostLocalSGDState(None, None, 0, post_local_gradient_allreduce=False)
assert torch.equal(through(local.post_localSGD_hook, state), every[rank])

# Gradients of rank 2 whose columns all lie in one plane: PowerSGD of that rank is exact.
left, = random(100, (30, 2))
def low(r, dtype=torch.float32): return left.to(dtype) @ random(r, (2, 40))[0].to(dtype)
exact = sum(map(low, range(size))) / size
bias = sum(random(r, (7,))[0] for r in range(size)) / size
state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2)
for step in range(5):
    bucket = Bucket(low(rank), *random(rank, (7,)))
    powerSGD_hook.powerSGD_hook(state, bucket).wait()
    matrix, vector = bucket.gradients()
    torch.testing.assert_close(matrix, exact, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(vector, bias)
    assert state.iter == step + 1
assert state.compression_stats() == (3 * 1207 / (3 * 147), 3 * 1207, 3 * 147)
again = pickle.loads(pickle.dumps(state))
assert again.iter == 5 and again.process_group is dist.group.WORLD
assert torch.equal(again.error_dict[0], state.error_dict[0])

# The whole bucket as a square, 27 x 27 and not full, of which all 27 dimensions are kept.
state = powerSGD_hook.PowerSGDState(None, 27, start_powerSGD_iter=2)
short = (680,), (6, 4)
mean_short = sum(torch.cat([g.reshape(-1) for g in random(r, *short)]) for r in range(size)) / size
for step in range(4):
    bucket = Bucket(*random(rank, *short))
    found = powerSGD_hook.batched_powerSGD_hook(state, bucket).wait()
    torch.testing.assert_close(found, mean_short, rtol=1e-4, atol=1e-4)
    assert found is bucket.buffer()

# What one step loses is added to the next: all of them together lose the last step's error only.
for hook in (powerSGD_hook.powerSGD_hook, powerSGD_hook.batched_powerSGD_hook):
    state = powerSGD_hook.PowerSGDState(None, 1, start_powerSGD_iter=2)
    state.iter, total = 2, 0
    for step in range(6):
        total = total + hook(state, Bucket(*random(rank, *shapes))).wait()
    error = state.error_dict[0][: mean.numel()].clone()
    dist.all_reduce(error, op=dist.ReduceOp.AVG)
    assert error.abs().max() > 0.1
    torch.testing.assert_close(total + error, 6 * mean, rtol=1e-4, atol=1e-4)

try:
    powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=1)
except ValueError as error:
    assert str(error).startswith("Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or")
else:
    raise AssertionError("no error")

class Model:
    def register_comm_hook(self, state, hook): self.got = state, hook

for kind, hook, ranks in (("ALLREDUCE", default_hooks.allreduce_hook, None),
                          ("NOOP", debugging_hooks.noop_hook, None),
                          ("POWER_SGD_RANK2", powerSGD_hook.powerSGD_hook, 2),
                          ("BATCHED_POWER_SGD", powerSGD_hook.batched_powerSGD_hook, 1)):
    model = Model()
    register_ddp_comm_hook(DDPCommHookType[kind], model, group)
    state, found = model.got
    assert found is hook
    if ranks is None:
        assert state is group
    else:
        assert (state.process_group, state.matrix_approximation_rank) == (group, ranks)

in_double = sum(low(r, torch.float64) for r in range(size)) / size
# Many hooks at once: what they send afterwards keeps its order.
futures = []
state = powerSGD_hook.PowerSGDState(None, 2, start_powerSGD_iter=2)
state.iter = 2
for i in range(100):
    bucket = Bucket(low(rank, torch.float64) * (i + 1), index=i, last=i == 99)
    futures.append(powerSGD_hook.powerSGD_hook(state, bucket))
for i, future in enumerate(futures):
    found = future.wait().view(30, 40)
    torch.testing.assert_close(found / (i + 1), in_double, rtol=1e-6, atol=1e-6)
# A future of a work: asked, chained, and of what goes wrong in a function of it.
x = torch.ones(2)
future = dist.all_reduce(x, async_op=True).get_future().then(lambda f: f.value()[0] + 1)
after = future.then(lambda f: f.value() / 0 and 1 // 0)
while not future.done():
    pass
assert future.value().tolist() == [size + 1.0] * 2
try:
    after.wait()
except RuntimeError as error:
    assert str(error).startswith("Got the following error when running the callback: RuntimeError")
else:
    raise AssertionError("no error")
print("done")
"""
)


@pytest.mark.parametrize("processes", ["2", "3"])
def test_hooks_give_the_mean_as_exactly_as_they_send_it(tmp_path, processes):
    done = run(tmp_path, EXACT, "run", "--nproc", processes)
    assert done.code == 0, done.err
    assert done.out.split() == ["done"] * int(processes)


# Two matrices of one shape, one of another, a vector and a small matrix; options of PowerSGD.
SAME = (
    BUCKET
    + """
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power
dist.init_process_group("gloo")
rank, out = dist.get_rank(), []
shapes = (20, 30), (5,), (12, 16), (20, 30), (3, 2), (8, 3, 4)
for options in (
    {}, {"matrix_approximation_rank": 2, "warm_start": False},
    {"matrix_approximation_rank": 3, "batch_tensors_with_same_shape": True},
    {"use_error_feedback": False, "orthogonalization_epsilon": 1e-3, "random_seed": 4},
):
    state = power.PowerSGDState(None, start_powerSGD_iter=2, **options)
    for step in range(5):
        for index in (1, 0):
            bucket = Bucket(*random(1000 * rank + 10 * step + index, *shapes), index=index,
                            last=index == 0)
            out.append(power.powerSGD_hook(state, bucket).wait().tolist())
    out.append(state.compression_stats())
if rank == 0:
    with open(sys.argv[1], "w") as file:
        json.dump(out, file)
"""
    + END
)


def test_compressed_gradients_are_pytorchs(tmp_path):
    pytest.importorskip("torch", reason="compares with PyTorch, where it is installed")
    done = run(tmp_path, SAME, "run", "--nproc", "2", arguments=["ours"])
    assert done.code == 0, done.err
    by_torch(tmp_path, 2, "train.py", "theirs")
    ours, theirs = (json.loads((tmp_path / name).read_text()) for name in ("ours", "theirs"))
    assert len(ours) == len(theirs) == 4 * 11
    for i, (found, expected) in enumerate(zip(ours, theirs, strict=True)):
        assert found == pytest.approx(expected, rel=2e-3, abs=2e-4), i
