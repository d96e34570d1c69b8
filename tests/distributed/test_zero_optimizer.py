"""ZeroRedundancyOptimizer against the plain optimizer of one process; averages of parameters."""

import pytest
from _jobs import run

from _subject import torch

START = """
import copy, torch, torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer as Zero
dist.init_process_group()
rank = dist.get_rank()

def parameters(*sizes):
    generator = torch.Generator().manual_seed(0)
    return [torch.nn.Parameter(torch.randn(size, generator=generator)) for size in sizes]

def set_gradients(params, step):
    generator = torch.Generator().manual_seed(step)
    for p in params:
        p.grad = torch.randn(p.shape, generator=generator)

def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))
"""

STEPS = (
    START
    + """
sizes = [(3,), (4, 5), (2, 2), (7,), (), (6,)]
kinds = [(torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
         (torch.optim.Adam, {"lr": 0.01}), (torch.optim.AdamW, {"lr": 0.01, "foreach": False})]
for kind, options in kinds:
    for view in (False, True):
        plain, spread = parameters(*sizes), parameters(*sizes)
        one = kind([{"params": plain[:3]}, {"params": plain[3:5], "weight_decay": 0.1}], **options)
        zero = Zero([{"params": spread[:3]}, {"params": iter(spread[3:5]), "weight_decay": 0.1}],
                    kind, parameters_as_bucket_view=view, **options)
        schedulers = [torch.optim.lr_scheduler.ExponentialLR(o, 0.5) for o in (one, zero)]
        for step in range(6):
            if step == 3:
                one.add_param_group({"params": plain[5:], "lr": 0.3})
                zero.add_param_group({"params": spread[5:], "lr": 0.3})
                schedulers = [torch.optim.lr_scheduler.ExponentialLR(o, 0.5) for o in (one, zero)]
            for params, optimizer in ((plain, one), (spread, zero)):
                set_gradients(params, step)
                value = optimizer.step(lambda: 5.0)
                assert value == 5.0
            for scheduler in schedulers:
                scheduler.step()
            assert same(plain, spread), (kind, view, step)
        held = sum(len(g["params"]) for g in zero.optim.param_groups)
        counts = [None] * dist.get_world_size()
        dist.all_gather_object(counts, held)
        assert sum(counts) == 6 and len(zero.optim.state) == held
        zero.zero_grad()
        assert all(p.grad is None for p in spread)

        # The state of all parts, put together, is the plain optimizer's.
        try:
            zero.state_dict()
        except RuntimeError as error:
            assert str(error) == (
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={rank})` on all ranks beforehand if you meant to save "
                "the global state."), error
        else:
            raise AssertionError("no error")
        zero.consolidate_state_dict(to=1)
        expected, found = one.state_dict(), None
        if rank == 1:
            found = zero.state_dict()
            assert found["param_groups"] == expected["param_groups"]
            assert list(found["state"]) == list(expected["state"])
            for i, values in expected["state"].items():
                assert values.keys() == found["state"][i].keys()
                assert all(torch.equal(torch.as_tensor(v), torch.as_tensor(found["state"][i][k]))
                           for k, v in values.items())
        objects = [found]
        dist.broadcast_object_list(objects, src=1)

        # A new one goes on from it as the plain one does.
        again = [torch.nn.Parameter(p.detach().clone()) for p in spread]
        later = Zero([{"params": again[:3]}, {"params": again[3:5]}, {"params": again[5:]}], kind,
                     parameters_as_bucket_view=view, lr=1.0)
        before = copy.deepcopy(objects[0])
        later.load_state_dict(objects[0])
        assert objects[0]["state"].keys() == before["state"].keys()
        assert [g["lr"] for g in later.param_groups] == [g["lr"] for g in one.param_groups]
        for params, optimizer in ((plain, one), (again, later)):
            set_gradients(params, 9)
            optimizer.step()
        assert same(plain, again)
        if view:  # a parameter that is frozen on the way
            for params, optimizer in ((plain, one), (again, later)):
                params[1].requires_grad_(False).grad = None
                set_gradients(params[:1] + params[2:], 10)
                optimizer.step()
            assert same(plain, again)
print("done")
"""
)


@pytest.mark.parametrize("processes", ["2", "3"])
def test_steps_and_states_are_those_of_the_plain_optimizer(tmp_path, processes):
    done = run(tmp_path, STEPS, "run", "--nproc", processes)
    assert done.code == 0, done.err
    assert done.out.split() == ["done"] * int(processes)


AVERAGES = (
    START
    + """
from torch.distributed.algorithms.model_averaging import averagers, utils
from torch.distributed.optim import PostLocalSGDOptimizer
first, second, without = (torch.nn.Parameter(torch.full((2,), 1.0 + rank)) for _ in range(3))
first.grad = second.grad = torch.ones(2)
utils.average_parameters_or_parameter_groups([first, without], None)
assert first.tolist() == [1.5, 1.5] and without.tolist() == [1.0 + rank] * 2

averager = averagers.PeriodicModelAverager(period=2, warmup_steps=1)
optimizer = PostLocalSGDOptimizer(torch.optim.SGD([second], lr=0.5), averager)
seen = []
for step in range(4):  # averaged after steps 1 and 3
    second.grad = torch.full((2,), 1.0 * rank)
    optimizer.step()
    seen.append(second[0].item())
assert seen == [[1.0, 1.0, 1.0, 0.5], [1.5, 1.0, 0.5, 0.5]][rank], seen
saved = optimizer.state_dict()
assert saved["step"] == 4
averager.step = 0
optimizer.load_state_dict(saved)
assert averager.step == 4
print("done")
"""
)


def test_parameters_are_averaged_every_few_steps(tmp_path):
    done = run(tmp_path, AVERAGES, "run", "--nproc", "2")
    assert done.code == 0, done.err
    assert done.out.split() == ["done"] * 2


@pytest.fixture
def alone():
    torch.distributed.init_process_group(rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def zero(params, **options):
    from rushlight.distributed.optim import ZeroRedundancyOptimizer

    return ZeroRedundancyOptimizer(params, torch.optim.SGD, lr=0.1, **options)


def test_what_are_no_parameters_is_refused(alone):
    x = torch.ones(2, requires_grad=True)
    y = torch.ones(2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(TypeError, match=r"^`params` argument should be an iterable of Tensors, "):
        zero(x)
    with pytest.raises(TypeError, match=r"^`params` argument should be an iterable of Tensors or "):
        zero(3)
    with pytest.raises(ValueError, match=r"^ZeroRedundancyOptimizer got an empty parameter list$"):
        zero([])
    with pytest.raises(ValueError, match=r"the same dense type for all parameters but got both "):
        zero([x, y])
    with pytest.raises(ValueError, match=r"^Each parameter group passed-in via `params` must have"):
        zero([{"lr": 1.0}])
    with pytest.raises(NotImplementedError, match=r"leave overlap_with_ddp=False"):
        zero([x], overlap_with_ddp=True)


def test_parts_are_filled_as_pytorch_fills_them():
    reference = pytest.importorskip("torch", reason="compares with PyTorch, where it is installed")
    from rushlight.distributed.optim import ZeroRedundancyOptimizer as Ours
    from torch.distributed.optim import ZeroRedundancyOptimizer as Theirs

    sizes = [(3,), (40,), (12,), (12,), (7,), (41,), (1,), (12,)]

    def parts(library, optimizer):
        params = [library.zeros(size) for size in sizes]
        optimizer.param_groups = [{"params": params[:5]}, {"params": params[5:]}]
        optimizer.world_size = 3
        optimizer._partition_parameters_cache = []
        found = getattr(optimizer, "_partition", None) or optimizer._partition_parameters
        numbers = {id(p): i for i, p in enumerate(params)}
        return [[[numbers[id(p)] for p in g["params"]] for g in part] for part in found()]

    expected = parts(reference, Theirs.__new__(Theirs))
    assert parts(torch, Ours.__new__(Ours)) == expected
