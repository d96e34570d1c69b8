"""torch.distributed of one process, DistributedSampler, torch.multiprocessing.spawn."""

import importlib
import os
import signal
import sys

import pytest

import rushlight as torch
from rushlight import distributed as dist
from rushlight import multiprocessing as mp
from rushlight.utils.data import DataLoader, DistributedSampler, TensorDataset


@pytest.fixture
def group():
    dist.init_process_group("gloo", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize(
    "call",
    [
        *(dist.get_rank, dist.get_world_size, dist.barrier, dist.new_group),
        *(lambda: dist.all_reduce(torch.ones(1)), lambda: dist.broadcast(torch.ones(1), 0)),
    ],
)
def test_nothing_before_there_is_a_group(call):
    assert not dist.is_initialized() and dist.group.WORLD is None
    with pytest.raises(
        ValueError, match=r"^Default process group has not been initialized, please"
    ):
        call()


def test_the_numbers_come_from_the_environment(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(ValueError, match="environment variable RANK expected, but not set"):
        dist.init_process_group("gloo")
    assert not dist.is_initialized()


def test_a_group_of_one(group):
    assert dist.is_initialized() and (dist.get_rank(), dist.get_world_size()) == (0, 1)
    assert dist.get_backend() == "gloo" and dist.group.WORLD is dist.GroupMember.WORLD
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group("gloo", rank=0, world_size=1)


def test_collectives_of_one(group):
    x = torch.tensor([1.0, 2.0])
    assert dist.all_reduce(x) is None and x.tolist() == [1, 2]
    work = dist.all_reduce(x, op=dist.ReduceOp.MAX, async_op=True)
    assert work.wait() and work.is_completed()
    outs = [torch.zeros(2)]
    dist.all_gather(outs, x)
    flat, part, back = torch.zeros(2), torch.zeros(2), torch.zeros(2)
    dist.all_gather_into_tensor(flat, x)
    dist.reduce_scatter(part, [x])
    dist.scatter(back, [x], src=0)
    assert [t.tolist() for t in (*outs, flat, part, back)] == [[1.0, 2.0]] * 4
    objects = [None]
    dist.all_gather_object(objects, {"a": 1})
    assert objects == [{"a": 1}]
    with pytest.raises(ValueError, match=r"^Global rank 1 is not part of group"):
        dist.send(x, 1)


def test_a_sampler_gives_each_process_its_part():
    parts = [list(DistributedSampler(range(10), 3, r, shuffle=False)) for r in range(3)]
    assert parts == [[0, 3, 6, 9], [1, 4, 7, 0], [2, 5, 8, 1]]
    parts = [
        list(DistributedSampler(range(10), 3, r, shuffle=False, drop_last=True)) for r in (0, 2)
    ]
    assert parts == [[0, 3, 6], [2, 5, 8]]


def test_shuffled_parts_are_a_partition_and_change_by_epoch():
    def parts(epoch):
        samplers = [DistributedSampler(range(8), 2, r, seed=3) for r in range(2)]
        for s in samplers:
            s.set_epoch(epoch)
        return [list(s) for s in samplers]

    assert sorted(i for part in parts(0) for i in part) == list(range(8))
    assert parts(0) == parts(0) != parts(1)


def test_the_sampler_in_a_loader():
    data = TensorDataset(torch.arange(6))
    loader = DataLoader(data, batch_size=2, sampler=DistributedSampler(data, 2, 1, shuffle=False))
    assert [b.tolist() for (b,) in loader] == [[1, 3], [5]]


def test_a_sampler_refuses_a_rank_that_is_not_there():
    with pytest.raises(
        ValueError, match=r"Invalid rank 2, rank should be in the interval \[0, 1\]"
    ):
        DistributedSampler(range(4), 2, 2)


def write_rank(i, folder):
    with open(f"{folder}/{i}", "w") as file:
        file.write(str(float(torch.ones(2).sum() * i)))


def fail_in_one(i):
    if i == 1:
        raise KeyError("the one")


def end_by_signal(i):
    os.kill(os.getpid(), signal.SIGKILL)


def end_by_code(i):
    sys.exit(3)


def test_spawn_runs_each(tmp_path):
    mp.spawn(write_rank, (str(tmp_path),), nprocs=2)
    assert [(tmp_path / str(i)).read_text() for i in range(2)] == ["0.0", "2.0"]


def test_an_error_comes_back_with_its_traceback():
    with pytest.raises(mp.ProcessRaisedException) as caught:
        mp.start_processes(fail_in_one, nprocs=2, start_method="fork")
    assert "-- Process 1 terminated with the following error:" in caught.value.msg
    assert "KeyError: 'the one'" in caught.value.msg and caught.value.error_index == 1


@pytest.mark.parametrize(
    ("f", "code", "name"), [(end_by_signal, -9, "SIGKILL"), (end_by_code, 3, None)]
)
def test_other_ends_are_told(f, code, name):
    with pytest.raises(mp.ProcessExitedException) as caught:
        mp.start_processes(f, start_method="fork")
    assert (caught.value.exit_code, caught.value.signal_name) == (code, name)


# ---- modules that are here by name only


def test_names_of_other_processes_work_are_one_in_all_modules():
    from rushlight.distributed import fsdp
    from rushlight.distributed.fsdp.fully_sharded_data_parallel import (
        FullyShardedDataParallel,
        StateDictType,
    )

    assert fsdp.FullyShardedDataParallel is FullyShardedDataParallel
    assert not isinstance(torch.nn.Linear(1, 1), FullyShardedDataParallel)
    assert StateDictType.FULL_STATE_DICT is fsdp.StateDictType["FULL_STATE_DICT"]
    planner = importlib.import_module("rushlight.distributed.checkpoint.planner")
    assert planner.LoadItemType.TENSOR is planner.LoadItemType["TENSOR"]


@pytest.mark.parametrize(
    ("module", "name"),
    [("tensor.experimental", "context_parallel"), ("checkpoint.planner", "SavePlan")],
)
def test_calls_of_them_say_what_is_missing(module, name):
    call = getattr(importlib.import_module(f"rushlight.distributed.{module}"), name)
    with pytest.raises(NotImplementedError, match=rf"^torch\.distributed\..*{name} is not in rush"):
        call(1, 2, three=3)


def test_decorators_of_them_leave_functions_as_they_are():
    from rushlight.distributed.rpc.api import _require_initialized

    assert _require_initialized(len) is len
    assert not dist.rpc.is_available()


def test_what_pytorch_does_not_have_either_is_not_found():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("rushlight.distributed.nowhere")
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        exec("from rushlight.distributed.fsdp import nothing")
