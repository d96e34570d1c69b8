"""DistributedDataParallel: gradients are those of one process with all data; hooks; Join."""

import subprocess
import sys
import textwrap

import pytest
from _jobs import environment, run
from rushlight.distributed._reducer import assigned

from _alone import PATIENCE
from _subject import torch

PROGRAM = """
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join, Joinable, JoinHook
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group()
rank, size = dist.get_rank(), dist.get_world_size()
x = torch.arange(12.0).reshape(4, 3)
own = x[2 * rank : 2 * rank + 2]


def error(call):
    try:
        call()
    except Exception as raised:
        return f"{type(raised).__name__}: {raised}"


def told(name, value):
    every = [None] * size
    dist.all_gather_object(every, value)
    if rank == 0:
        print(f"{name}: {every[0]} | {every[1]}", flush=True)


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 1, bias=False), nn.Linear(3, 1, bias=False)

    def forward(self, x):
        return self.a(x)


# ---- gradients are those of all data in one process
for views in (False, True):
    layer = nn.Linear(3, 1)
    model = DDP(layer, gradient_as_bucket_view=views)
    model(own).square().mean().backward()
    alone = nn.Linear(3, 1)
    alone.load_state_dict(layer.state_dict())
    alone(x).square().mean().backward()
    same = torch.allclose(layer.weight.grad, alone.weight.grad)
    told("as of all data", (same, layer.weight.grad._is_view()))

# ---- what is sent first
layer = nn.BatchNorm1d(3)
with torch.no_grad():
    layer.weight.fill_(rank + 1.0)
    layer.running_mean.fill_(rank + 2.0)
DDP(layer)
told("as rank 0's", (layer.weight.tolist(), layer.running_mean.tolist()))
layer = nn.Linear(1, 1, bias=False)
layer.weight.data.fill_(rank)
DDP(layer, init_sync=False)
told("own", layer.weight.item())
layer._ddp_params_and_buffers_to_ignore = ["weight"]
layer.bias = nn.Parameter(torch.full((1,), float(rank)))
model = DDP(layer)
model(torch.full((1, 1), rank + 1.0)).sum().backward()
told("ignored", (layer.weight.item(), layer.weight.grad.item(), layer.bias.item()))

# ---- errors
told("other sizes", error(lambda: DDP(nn.Linear(2, 2 + rank))))
layers = nn.Sequential(*[nn.Linear(2, 2) for _ in range(1 + rank)])
told("other number", error(lambda: DDP(layers)))
told("nothing", error(lambda: DDP(nn.ReLU())))
told("device", error(lambda: DDP(nn.Linear(1, 1), device_ids=[0])))
model = DDP(Two())
model(own).sum().backward()
told("unfinished", error(lambda: model(own)))

# ---- hooks
buckets = []


def hook(state, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    shapes = [tuple(g.shape) for g in bucket.gradients()]
    buckets.append((state, bucket.index(), bucket.is_last(), bucket.buffer().numel(), shapes))
    bucket.set_buffer(bucket.buffer())
    future = torch.futures.Future()
    future.set_result(bucket.buffer() + 5)
    return future


layer = nn.Linear(3, 2)
model = DDP(layer)
model.register_comm_hook("state", hook)
(0 * model(own)).sum().backward()
told("hook", (buckets, layer.bias.grad.tolist()))
told("second hook", error(lambda: model.register_comm_hook(None, hook)))
told("no hook", error(lambda: DDP(layer).register_comm_hook(None, 3)))
model = DDP(nn.Linear(1, 1, bias=False))
model._register_builtin_comm_hook(dist.BuiltinCommHookType.FP16_COMPRESS)
model(torch.full((1, 1), rank + 1.0)).sum().backward()
told("half", model.module.weight.grad.item())

# ---- other groups, and groups of a part
pair = dist.new_group([0, 1])
model = DDP(nn.Linear(1, 1, bias=False), process_group=pair)
model(torch.full((1, 1), 2.0 * rank)).sum().backward()
told("group", model.module.weight.grad.item())


# ---- Join of what counts its iterations
class Counter(Joinable):
    def __init__(self):
        super().__init__()
        self.seen = 0.0

    def __call__(self):
        Join.notify_join_context(self)
        one = torch.ones(1)
        dist.all_reduce(one)
        self.seen += one.item()

    def join_hook(self, **told):
        counter = self

        class Hook(JoinHook):
            def main_hook(self):
                dist.all_reduce(torch.zeros(1))

            def post_hook(self, is_last_joiner):
                counter.last = is_last_joiner

        return Hook()

    join_device = torch.device("cpu")
    join_process_group = property(lambda self: dist.group.WORLD)


counter = Counter()
with Join([counter]):
    for _ in range(2 + rank):
        counter()
told("join", (counter.seen, counter.last, isinstance(model, Joinable)))


def early():
    with model.join(throw_on_early_termination=True):
        for _ in range(1 + rank):
            model(torch.ones(1, 1)).sum().backward()


told("early", error(early))
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """What two processes have printed: a list for each check, with both ranks' answers."""
    done = run(tmp_path_factory.mktemp("ddp"), PROGRAM, "run", "--nproc", "2")
    assert done.code == 0, done.out + done.err
    found = {}
    for line in done.out.splitlines():
        name, colon, answers = line.partition(": ")
        if colon and " | " in answers:
            found.setdefault(name, []).append(answers.split(" | "))
        else:  # of an error of several lines
            found.setdefault("rest", []).append(line)
    return found


SAME = {
    "as of all data": "(True, False)",
    "as rank 0's": "([1.0, 1.0, 1.0], [2.0, 2.0, 2.0])",
    "hook": "([('state', 0, True, 8, [(2,), (2, 3)])], [5.0, 5.0])",
    "second hook": "RuntimeError: register_comm_hook or register_builtin_comm_hook can only be "
    "called once.",
    "no hook": "TypeError: Communication hook must be callable.",
    "half": "1.5",
    "group": "1.0",
    "nothing": "RuntimeError: DistributedDataParallel is not needed when a module doesn't have any "
    "parameter that requires a gradient.",
}


@pytest.mark.parametrize("name", SAME)
def test_both_processes_have(lines, name):
    assert lines[name][0] == [SAME[name]] * 2


DIFFERENT = {
    "own": ["0.0", "1.0"],
    "ignored": ["(0.0, 1.0, 0.0)", "(1.0, 2.0, 0.0)"],
    "join": ["(4.0, False, True)", "(5.0, True, True)"],
    "early": [
        "RuntimeError: Rank 0 exhausted all inputs.",
        "RuntimeError: Detected at least one rank that exhausted inputs. Throwing across all "
        "ranks.",
    ],
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_the_processes_have(lines, name):
    assert lines[name][0] == DIFFERENT[name]


def test_gradients_are_views_of_the_buffer_where_asked(lines):
    assert lines["as of all data"][1] == ["(True, True)"] * 2


@pytest.mark.parametrize(
    "name, text",
    [
        ("other sizes", "[1]: params[0] in this process with sizes [3, 2] appears not to match"),
        ("other number", "DDP expects same model across all ranks, but Rank 1 has 4 params, while"),
        ("device", "ValueError: DistributedDataParallel device_ids and output_device arguments"),
    ],
)
def test_both_processes_raise(lines, name, text):
    assert [text in answer for answer in lines[name][0]] == [True, True]


def test_parameters_without_gradient_are_named():
    program = """
        import torch, torch.distributed as dist
        from torch import nn
        dist.init_process_group(rank=0, world_size=1)
        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(3, 1), nn.Linear(3, 1)
            def forward(self, x):
                return self.a(x)
        model = nn.parallel.DistributedDataParallel(Two())
        model(torch.ones(1, 3)).sum().backward()
        try:
            model(torch.ones(1, 3))
        except RuntimeError as error:
            print(error)
    """
    command = [sys.executable, "-m", "rushlight", "run", "-c", textwrap.dedent(program)]
    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, timeout=PATIENCE
    )
    assert "Expected to have finished reduction in the prior iteration" in done.stdout, done.stderr
    assert "did not receive grad for rank 0: b.bias, b.weight\n" in done.stdout
    assert "indices which did not receive grad for rank 0: 2 3\n" in done.stdout


def test_buckets_are_of_one_dtype_and_bounded():
    parameters = [torch.zeros(100) for _ in range(4)] + [torch.zeros(100, dtype=torch.float64)]
    assert assigned(parameters, [False] * 5, 800) == [[4], [3, 2], [1, 0]]
    assert assigned(parameters, [False, True, False, False, False], 1 << 20) == [
        [4],
        [1],
        [3, 2, 0],
    ]
