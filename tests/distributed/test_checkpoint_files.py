"""Checkpoints in folders: nested dicts, other numbers of processes, faults, PyTorch's files."""

import importlib
import io
import os
import pickletools
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from _jobs import environment, run

from _alone import PATIENCE
from _subject import torch

dcp = importlib.import_module("rushlight.distributed.checkpoint")
filesystem = importlib.import_module("rushlight.distributed.checkpoint.filesystem")
metadata = importlib.import_module("rushlight.distributed.checkpoint.metadata")
format_utils = importlib.import_module("rushlight.distributed.checkpoint.format_utils")
DATA = Path(__file__).parents[1] / "data" / "dcp_2_processes"

# A tensor over the processes, as DTensor has it: a mesh of one dimension.
PARTS = """
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp

    class Placement:
        def __init__(self, dim):
            self.dim = dim
        def is_shard(self):
            return True
        def is_replicate(self):
            return False
    Placement.__name__ = "Shard"

    class Mesh:
        def get_coordinate(self):
            return [dist.get_rank()]
        def size(self, dim):
            return dist.get_world_size()

    class Part:
        requires_grad = False
        def __init__(self, whole, dim):
            self.shape, self.placements, self.device_mesh = whole.shape, (Placement(dim),), Mesh()
            parts = whole.chunk(dist.get_world_size(), dim)
            rank = dist.get_rank()
            begin = whole.narrow(dim, 0, 0)
            self.local = (parts[rank] if rank < len(parts) else begin).clone()
        def to_local(self):
            return self.local

    def state(factor):
        rows = torch.arange(35.0).view(7, 5) * factor
        return {
            "rows": Part(rows, 0),
            "columns": Part(rows + 100 * factor, 1),
            "few": Part(torch.arange(3) * factor, 0),
            "same": torch.ones(400) * factor,
            "other": torch.ones(500) * factor,
            "nested": {"step": 7 * factor, "list": [torch.ones(2) * factor, "x"]},
        }

    dist.init_process_group()
    rank = dist.get_rank()
"""
SAVE = """
    content = dcp.save(state(1), checkpoint_id=SAVED)
    sizes = {"rows": 35, "columns": 35, "few": 3, "same": 400, "other": 500, "nested.list.0": 2}
    for name, size in sizes.items():
        chunks = content.state_dict_metadata[name].chunks
        assert sum(c.sizes.numel() for c in chunks) == size, name
    files = {info.relative_path for info in content.storage_data.values()}
    assert len(files) == dist.get_world_size(), files
    where = {i.fqn: info.relative_path for i, info in content.storage_data.items()}
    assert where["same"] != where["other"]  # the load is shared
    assert dcp.async_save(state(1), checkpoint_id=SAVED + "-async").result() is not None
"""
LOAD = """
    for path in LOADED:
        got, want = state(0), state(1)
        inner = got["nested"]["list"][0]
        dcp.load(got, checkpoint_id=path)
        for name in ("rows", "columns", "few"):
            assert torch.equal(got[name].to_local(), want[name].to_local()), name
        assert torch.equal(got["same"], want["same"])
        assert got["nested"]["list"][0] is inner and torch.equal(inner, torch.ones(2))
        assert (got["nested"]["step"], got["nested"]["list"][1]) == (7, "x")

    wrong = {"same": torch.ones(400 + (rank == dist.get_world_size() - 1))}
    try:
        dcp.load(wrong, checkpoint_id=path)
    except dcp.CheckpointException as error:
        assert list(error.failures) == [dist.get_world_size() - 1]
        text = "saved torch.Size([400]) and current: torch.Size([401]) for same"
        assert str(error).endswith(f"ValueError: Size mismatch between {text}\\n"), error
    else:
        raise AssertionError("a wrong size was loaded")
"""


def whole(factor):
    """What `state` in the jobs has, in one process."""
    rows = torch.arange(35.0).view(7, 5) * factor
    return {
        "rows": rows,
        "columns": rows + 100 * factor,
        "few": torch.arange(3) * factor,
        "same": torch.ones(400) * factor,
        "other": torch.ones(500) * factor,
        "nested": {"step": 7 * factor, "list": [torch.ones(2) * factor, "x"]},
    }


def test_other_numbers_of_processes_read_their_parts(tmp_path):
    dcp.save(whole(1), checkpoint_id=tmp_path / "one")
    for count, load, save in ((2, ("one",), "two"), (4, ("one", "two"), "four")):
        program = (PARTS + LOAD + SAVE).replace("LOADED", repr(load)).replace("SAVED", repr(save))
        done = run(tmp_path, program, "run", "--nproc", str(count))
        assert done.code == 0, done.err
    for path in ("two", "four", "four-async"):
        got, want = whole(0), whole(1)
        dcp.load(got, checkpoint_id=tmp_path / path)
        for name in ("rows", "columns", "few", "same", "other"):
            assert torch.equal(got[name], want[name]), (path, name)
        assert got["nested"]["step"] == 7


def example():
    weight = torch.nn.Parameter(torch.arange(6.0).view(2, 3))
    return {
        "net": {"weight": weight, "empty": torch.empty(0, 2)},
        "list": [torch.ones(2, dtype=torch.bfloat16), {"x": 3}],
        "plain": [1, 2],
        "tuple": (1, torch.ones(2)),
        "none": {},
        "view": torch.arange(10_000)[2:4],
        "columns": torch.arange(4).view(2, 2).t(),
        "scalar": torch.tensor(3),
        5: 7,
    }


def test_a_nested_state_dict_is_read_in_place(tmp_path):
    dcp.save(example(), checkpoint_id=tmp_path)
    got = example()
    tensor = got["net"]["weight"]
    for value in (tensor, got["list"][0], got["view"], got["columns"], got["scalar"]):
        value.detach().zero_()
    got["list"][1]["x"] = got["plain"] = got["tuple"] = got[5] = None
    dcp.load(got, checkpoint_id=tmp_path)
    assert got["net"]["weight"] is tensor
    assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (got["list"][0].tolist(), got["list"][1]) == ([1, 1], {"x": 3})
    assert (got["plain"], got["tuple"][0], got["tuple"][1].tolist()) == ([1, 2], 1, [1, 1])
    assert (got["view"].tolist(), got["scalar"].item(), got[5]) == ([2, 3], 3, 7)
    assert got["columns"].tolist() == [[0, 2], [1, 3]]
    assert sum(f.stat().st_size for f in tmp_path.iterdir()) < 30_000  # of the view, two elements


def test_objects_with_a_state_are_asked_for_it_and_given_it(tmp_path):
    net, other = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
    dcp.save({"net": net}, checkpoint_id=tmp_path)
    dcp.load({"net": other}, checkpoint_id=tmp_path)
    assert other.weight.tolist() == net.weight.tolist()


def test_async_save_has_the_values_of_the_call(tmp_path):
    weight = torch.ones(100_000)
    future = dcp.async_save({"w": weight}, checkpoint_id=tmp_path)
    weight.zero_()
    assert future.result(timeout=PATIENCE).version == "1.0.0"
    got = {"w": torch.zeros(100_000)}
    dcp.load(got, checkpoint_id=tmp_path)
    assert got["w"].sum().item() == 100_000


def failure(state, path, **settings):
    """The exception of rank 0 when a state dict cannot be loaded."""
    with pytest.raises(dcp.CheckpointException) as caught:
        dcp.load(state, checkpoint_id=path, **settings)
    return caught.value.failures[0][0]


def test_what_cannot_be_loaded_is_told_as_pytorch_tells_it(tmp_path):
    dcp.save({"w": torch.ones(2, 3), "s": 1}, checkpoint_id=tmp_path)
    error = failure({"q": torch.ones(2)}, tmp_path)
    assert repr(error) == repr(RuntimeError("Missing key in checkpoint state_dict: q."))
    error = failure({"w": torch.ones(3, 2)}, tmp_path)
    sizes = "Size mismatch between saved torch.Size([2, 3]) and current: torch.Size([3, 2]) for w"
    assert repr(error) == repr(ValueError(sizes))
    error = failure({"w": 5}, tmp_path)
    assert isinstance(error, ValueError)
    assert "for w, expected BytesStorageMetadata but found" in str(error)
    assert isinstance(failure({"w": torch.ones(2, 3)}, tmp_path / "no"), FileNotFoundError)
    with pytest.raises(RuntimeError, match="`checkpoint_id` must be specified"):
        dcp.load({})
    with pytest.raises(dcp.CheckpointException, match=r"already exists and self\.over"):
        dcp.save({}, storage_writer=dcp.FileSystemWriter(tmp_path, overwrite=False))
    with pytest.raises(ValueError, match=r"duplicated flatten key a\.b"):
        dcp.save({"a.b": 1, "a": {"b": 2}}, checkpoint_id=tmp_path)
    got = {"w": torch.zeros(2, 3), "q": 4}
    planner = dcp.DefaultLoadPlanner(allow_partial_load=True)
    dcp.load(got, checkpoint_id=tmp_path, planner=planner)
    assert (got["w"].sum().item(), got["q"]) == (6, 4)


def test_damaged_files_are_told(tmp_path):
    dcp.save({"w": torch.ones(1000)}, checkpoint_id=tmp_path)
    (file,) = tmp_path.glob("*.distcp")
    whole = file.read_bytes()
    file.write_bytes(whole[:2000])
    error = failure({"w": torch.zeros(1000)}, tmp_path)
    assert f"{file}, bytes 0 to {len(whole)}: the file ends at 2000" in str(error)
    file.write_bytes(whole.replace(b"\x80\x3f", b"\x80\x3e", 1))
    assert f"{file}, bytes 0 to {len(whole)}: " in str(failure({"w": torch.zeros(1000)}, tmp_path))
    file.unlink()
    assert isinstance(failure({"w": torch.zeros(1000)}, tmp_path), FileNotFoundError)
    metadata = tmp_path / ".metadata"
    whole = metadata.read_bytes()
    for damaged in (whole[:100], b"", b"cos\nsystem\n(S'touch hacked'\ntR.", b"I1\n."):
        metadata.write_bytes(damaged)
        error = failure({"w": torch.zeros(1000)}, tmp_path)
        assert str(error).startswith(f"{metadata} is damaged or no checkpoint: ")
    assert not Path("hacked").exists()


def test_files_are_read_from_the_folder_only(tmp_path):
    dcp.save({"w": torch.ones(2)}, checkpoint_id=tmp_path)
    metadata = tmp_path / ".metadata"
    name = b"__0_0.distcp"
    metadata.write_bytes(metadata.read_bytes().replace(name, b"../00.distcp"))
    assert "outside of the folder" in str(failure({"w": torch.ones(2)}, tmp_path))


def test_a_save_that_fails_leaves_the_checkpoint_before_it(tmp_path):
    dcp.save({"w": torch.ones(2)}, checkpoint_id=tmp_path)
    with pytest.raises(dcp.CheckpointException):
        dcp.save({"w": torch.zeros(2), "f": lambda: 0}, checkpoint_id=tmp_path)
    got = {"w": torch.zeros(2)}
    dcp.load(got, checkpoint_id=tmp_path)
    assert got["w"].tolist() == [1, 1]
    dcp.save({"w": torch.zeros(2)}, checkpoint_id=tmp_path)
    assert len(os.listdir(tmp_path)) == 2  # what the others have left is gone


def test_a_process_killed_at_any_moment_leaves_a_whole_checkpoint(tmp_path):
    program = """
        import itertools, os, signal, time
        import rushlight as torch
        import rushlight.distributed.checkpoint as dcp

        def save_on_and_on(first, pipe):
            for i in itertools.count(first):
                dcp.save({"a": torch.full((50_000,), i), "b": {"i": i}}, checkpoint_id="c")
                os.write(pipe, b"x")

        saved = -1
        for attempt in range(10):
            to_read, to_write = os.pipe()
            child = os.fork()
            if child == 0:
                save_on_and_on(saved + 1, to_write)
            os.close(to_write)
            saved += len(os.read(to_read, 1))
            time.sleep(0.003 * attempt)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            saved += len(os.read(to_read, 1000))
            os.close(to_read)
            got = {"a": torch.zeros(50_000, dtype=torch.int64), "b": {"i": None}}
            dcp.load(got, checkpoint_id="c")
            assert got["b"]["i"] in (saved, saved + 1), (got["b"], saved)
            assert got["a"].unique().tolist() == [got["b"]["i"]]
            saved = got["b"]["i"]
    """
    (tmp_path / "train.py").write_text(textwrap.dedent(program))
    command = [sys.executable, "train.py"]
    subprocess.run(command, cwd=tmp_path, env=environment(), check=True, timeout=PATIENCE)


def test_a_checkpoint_as_one_file_and_back(tmp_path):
    dcp.save(example(), checkpoint_id=tmp_path / "a")
    format_utils.dcp_to_torch_save(tmp_path / "a", tmp_path / "a.pt")
    one = torch.load(tmp_path / "a.pt")
    assert one["net"]["weight"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (one["list"][0].tolist(), one["list"][1], one["5"]) == ([1, 1], {"x": 3}, 7)
    format_utils.torch_save_to_dcp(tmp_path / "a.pt", tmp_path / "b")
    got = {"net": {"weight": torch.zeros(2, 3)}}
    dcp.load(got, checkpoint_id=tmp_path / "b")
    assert got["net"]["weight"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_what_two_processes_of_pytorch_wrote_is_read():
    """PyTorch 2.13 wrote them: `rows` in two chunks, of two rows and of one."""
    got = {
        "rows": torch.zeros(3, 2),
        "same": torch.zeros(2, dtype=torch.bfloat16),
        "nested": {"list": [torch.zeros(2), None], "step": None},
    }
    dcp.load(got, checkpoint_id=DATA)
    assert got["rows"].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert got["same"].tolist() == [1, 1]
    assert got["nested"]["list"][0].tolist() == [2, 2]
    assert (got["nested"]["list"][1], got["nested"]["step"]) == ("x", 7)


def test_the_metadata_names_pytorchs_classes_only(tmp_path):
    dcp.save(example(), checkpoint_id=tmp_path)
    content = io.BytesIO((tmp_path / ".metadata").read_bytes())
    named = {arg for op, arg, _ in pickletools.genops(content) if op.name == "GLOBAL"}
    assert {name.split()[0] for name in named} == {
        "torch",
        "torch.serialization",
        "torch.distributed.checkpoint.filesystem",
        "torch.distributed.checkpoint.metadata",
    }


def named_things():
    """What `.metadata` may name, and what it may make: as instructions of a pickle."""
    for name in filesystem._READ:
        module, _, attribute = name.rpartition(".")
        yield f"c{module}\n{attribute}\n".encode()
    properties = b"ctorch.distributed.checkpoint.metadata\n"
    yield properties + b"_MEM_FORMAT_ENCODING\nK\x01\x85R"
    yield b"ctorch.serialization\n_get_layout\nX\x0d\0\0\0torch.strided\x85R"
    yield b"ctorch\nSize\nK\x01\x85\x85R"
    yield properties + b"BytesStorageMetadata\n)\x81"
    yield b"ccollections\nOrderedDict\n)R"


ATTRIBUTES = ["__repr__", "__init__", "__class__", "__call__", "__defaults__", "numel", "value"]


def test_the_metadata_sets_attributes_of_nothing_that_was_there(tmp_path):
    """By pickle's BUILD with both kinds of state; reading goes on after it, or is refused."""
    dcp.save({"w": torch.ones(2)}, checkpoint_id=tmp_path)
    kept = list(filesystem._READ.values())
    kept += [*metadata._MEM_FORMAT_ENCODING, torch.strided]
    before = [dict(vars(x)) for x in kept if hasattr(x, "__dict__")]
    defaults = filesystem._path.__defaults__
    for thing in named_things():
        for name in ATTRIBUTES:
            state = b"}X" + len(name).to_bytes(4, "little") + name.encode() + b"K\x07s"
            for form in (state, b"N" + state + b"\x86", state + b"N\x86"):
                (tmp_path / ".metadata").write_bytes(b"\x80\x02" + thing + form + b"b.")
                failure({"w": torch.zeros(2)}, tmp_path)
    assert [dict(vars(x)) for x in kept if hasattr(x, "__dict__")] == before
    assert filesystem._path.__defaults__ is defaults
    assert repr(torch.Size([1])) == "torch.Size([1])"
