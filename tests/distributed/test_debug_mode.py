"""Debug mode: collectives that differ between ranks are told on all, with both lines."""

import json

import pytest
from _jobs import run

import rushlight as torch
from rushlight import distributed as dist

# Each case is run by both ranks; what it raises is written down, and the next one starts anew.
PROGRAM = """
    import json
    import torch
    import torch.distributed as dist
    rank = None
    told = {}
    def case(name, first, second):
        dist.init_process_group()
        try:
            (first, second)[dist.get_rank()]()
        except RuntimeError as error:
            told[name] = str(error)
        else:
            told[name] = ""
        global rank
        rank = dist.get_rank()
        dist.destroy_process_group()
    def sums(*shape, dtype=torch.float32):
        return lambda: dist.all_reduce(torch.ones(shape, dtype=dtype))
    case("shapes", sums(2), sums(3))
    case("dtypes", sums(2), sums(2, dtype=torch.float64))
    def other():
        dist.broadcast(torch.ones(2), 0)  # the line of rank 1
    case("order", sums(2), other)
    def same():
        dist.all_reduce(torch.ones(2))
        parts = [torch.zeros(2), torch.zeros(2)] if dist.get_rank() == 0 else None
        dist.gather(torch.ones(2), parts, dst=0)
        dist.barrier()
    case("same", same, same)
    json.dump(told, open(f"told.{rank}", "w"))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("debug")
    done = run(folder, PROGRAM, "run", "--nproc", "2", TORCH_DISTRIBUTED_DEBUG="DETAIL")
    assert done.code == 0, done.err
    return [json.loads((folder / f"told.{rank}").read_text()) for rank in range(2)]


@pytest.mark.parametrize(
    ("case", "first", "second"),
    [
        ("shapes", "TensorShape=[2]", "TensorShape=[3]"),
        ("dtypes", "TensorDtypes=float32", "TensorDtypes=float64"),
        ("order", "OpType=ALL_REDUCE", "OpType=BROADCAST"),
    ],
)
def test_a_difference_is_told_on_both_ranks(told, case, first, second):
    for rank, (own, their) in enumerate([(first, second), (second, first)]):
        text = told[rank][case]
        assert text.startswith(
            "Detected mismatch between collectives on ranks. "
            f"Rank {rank} is running collective: CollectiveFingerPrint("
        )
        before, _, after = text.partition(f", but Rank {1 - rank} is running collective: ")
        assert own in before and their in after


def test_both_lines_are_told(told):
    line = next(i for i, text in enumerate(PROGRAM.splitlines()) if "line of rank 1" in text)
    call = next(i for i, text in enumerate(PROGRAM.splitlines()) if "return lambda" in text)
    for text in (told[0]["order"], told[1]["order"]):
        assert f"train.py:{line + 1}" in text and f"train.py:{call + 1}" in text


def test_what_is_the_same_goes_on(told):
    assert [told[0]["same"], told[1]["same"]] == ["", ""]


def test_levels(monkeypatch):
    assert dist.get_debug_level() == dist.DebugLevel.OFF
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "detail")
    dist.set_debug_level_from_env()
    assert torch.distributed.get_debug_level() == dist.DebugLevel.DETAIL
    dist.set_debug_level(dist.DebugLevel.OFF)
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "much")
    with pytest.raises(RuntimeError, match=r"must be OFF, INFO, or DETAIL; it is 'much'"):
        dist.set_debug_level_from_env()
    assert dist.get_debug_level() == dist.DebugLevel.OFF
