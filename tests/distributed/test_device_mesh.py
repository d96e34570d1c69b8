"""`DeviceMesh` and `init_device_mesh`: what PyTorch's say and give, in a job of 4 processes."""

import subprocess
import sys

import pytest
from _jobs import environment, run
from _oracle import compare

from _alone import PATIENCE
from _subject import torch

PROGRAM = """
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

m = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
note("init", lambda: dist.is_initialized())
note("repr", lambda: repr(m))
note("str", lambda: str(m))
note("reprsub", lambda: repr(m["dp"]))
n = init_device_mesh("cpu", (4,))
note("repr1", lambda: n)
note("eqsame", lambda: init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp")) == m)
note(
    "eqother",
    lambda: (
        init_device_mesh("cpu", (2, 2)) == m,
        m == "x",
        m["dp"] == m["dp"],
        m["dp"] is m["dp"],
        m["dp", "tp"] == m,
        m["dp", "tp"] is m,
        m["dp"] == m["tp"],
        hash(m["dp"]) == hash(m["dp"]),
    ),
)
note("mesh", lambda: (m.mesh, m.mesh.dtype, m["dp"].mesh, m["tp"].mesh, m["dp"].mesh_dim_names))
note(
    "shape",
    lambda: (
        m.shape,
        m.ndim,
        m.size(),
        m.size(0),
        m["dp"].shape,
        m["dp"].size(),
        type(m.shape),
        type(m.size(0)),
    ),
)
note("size2", lambda: m.size(2))
note("size-1", lambda: m.size(-1))
note(
    "coord",
    lambda: (
        m.get_coordinate(),
        type(m.get_coordinate()),
        m["dp"].get_coordinate(),
        m.get_rank(),
        m["tp"].get_rank(),
    ),
)
note("local", lambda: (m.get_local_rank("dp"), m.get_local_rank(1), m["dp"].get_local_rank()))
note("localerr", lambda: m.get_local_rank())
note("localerr2", lambda: m.get_local_rank("zz"))
note("localerr3", lambda: m.get_local_rank(5))
note(
    "group",
    lambda: [
        dist.get_process_group_ranks(g)
        for g in (
            m.get_group("dp"),
            m.get_group("tp"),
            m.get_group(0),
            m["dp"].get_group(),
            n.get_group(),
        )
    ],
)
note(
    "gsame",
    lambda: (m.get_group("dp") is m["dp"].get_group(), n.get_group() is dist.group.WORLD),
)
note("grouperr", lambda: m.get_group())
note("grouperr2", lambda: m.get_group("zz"))
note("grouperr3", lambda: m.get_group(7))
note("grouperr4", lambda: m["dp"].get_group("tp"))
note("groupneg", lambda: dist.get_process_group_ranks(m.get_group(-1)))
note("allg", lambda: [dist.get_process_group_ranks(g) for g in m.get_all_groups()])
note(
    "desc",
    lambda: (
        m.get_group("dp").group_desc,
        n.get_group().group_desc,
        init_device_mesh("cpu", (2, 2)).get_group(0).group_desc,
    ),
)
note("slice", lambda: m["zz"])
note("slice2", lambda: n["dp"])
note("slice3", lambda: m["tp", "dp"])
note("slice4", lambda: m["dp", "zz"])
note("slice5", lambda: m[0])
note("slice6", lambda: m["dp", "dp"])
note("slice7", lambda: m[()])
f = m._flatten()
note(
    "flat",
    lambda: (
        f,
        f.mesh,
        f.mesh_dim_names,
        dist.get_process_group_ranks(f.get_group()),
        f is m._flatten(),
        f.get_group() is dist.group.WORLD,
    ),
)
note("flat2", lambda: m._flatten("x").mesh_dim_names)
note("flat2i", lambda: m["dp_tp"])
note("flat2x", lambda: m["x"])
note("flat3", lambda: m["dp"]._flatten())
note("flat4", lambda: m._flatten("dp"))
note("flat5", lambda: n._flatten())
note("flat6", lambda: m["dp"]._flatten("q"))
note("slice8", lambda: m["dp"]["dp"])
note("slice9", lambda: m["dp"]["tp"])
note("slice10", lambda: m["dp", "tp"]["tp"])
note("dup", lambda: init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "a")))
note("len", lambda: init_device_mesh("cpu", (2, 2), mesh_dim_names=("a",)))
note("big", lambda: init_device_mesh("cpu", (8,)))
note("small", lambda: init_device_mesh("cpu", (2,)))
note(
    "smallc",
    lambda: (lambda q: (q, q.get_coordinate(), q.get_rank()))(init_device_mesh("cpu", (2,))),
)
note("smallgl", lambda: DeviceMesh("cpu", [0, 1], mesh_dim_names=("a",)).get_local_rank())
note("smallgs", lambda: DeviceMesh("cpu", [0, 1], mesh_dim_names=("a",))["a"])
note("dev", lambda: init_device_mesh("cuda:0", (4,)))
note("nomesh", lambda: DeviceMesh("cpu"))
note("dupranks", lambda: DeviceMesh("cpu", [0, 0]))
note(
    "dm",
    lambda: DeviceMesh("cpu", [[3, 1], [2, 0]], mesh_dim_names=("a", "b")).get_coordinate(),
)
note("dm2", lambda: DeviceMesh("cpu", torch.arange(4).view(2, 2)).mesh.dtype)
note(
    "dm3",
    lambda: [
        dist.get_process_group_ranks(g)
        for g in DeviceMesh("cpu", [[3, 1], [2, 0]]).get_all_groups()
    ],
)
note(
    "from1",
    lambda: (lambda q: (q, q.mesh, q.mesh_dim_names, q.get_group() is m.get_group("tp")))(
        DeviceMesh.from_group(m.get_group("tp"), "cpu")
    ),
)
note("from1n", lambda: DeviceMesh.from_group(m.get_group("tp"), "cpu", mesh_dim_names=("k",)))
note(
    "from2",
    lambda: DeviceMesh.from_group(
        [m.get_group("dp"), m.get_group("tp")],
        "cpu",
        mesh=[[0, 1], [2, 3]],
        mesh_dim_names=("u", "v"),
    ),
)
note("from3", lambda: DeviceMesh.from_group([m.get_group("dp"), m.get_group("tp")], "cpu"))
note("from4", lambda: DeviceMesh.from_group([], "cpu"))
note("from5", lambda: DeviceMesh.from_group(m.get_group("tp"), "cpu", mesh=[0, 3]))
note("from6", lambda: DeviceMesh.from_group([m.get_group("dp")], "cpu", mesh=[[0, 1], [2, 3]]))
note("root", lambda: (m["dp"]._get_root_mesh() is m, m._get_root_mesh() is m))
note("dimbyname", lambda: m._get_mesh_dim_by_name("tp"))
note("devtype", lambda: m.device_type)
with m as k:
    note("with", lambda: k is m)
k = init_device_mesh("cpu", (2, 1, 2), mesh_dim_names=("a", "b", "c"))
note(
    "k",
    lambda: (
        k["a", "c"],
        k["a", "c"].mesh,
        k["b"].mesh,
        k["a", "c"].get_coordinate(),
        [dist.get_process_group_ranks(g) for g in k["a", "c"].get_all_groups()],
        dist.get_process_group_ranks(k["a", "c"]._flatten().get_group()),
        k["a", "b"]._flatten("ab").mesh,
    ),
)
note("kab", lambda: (k["ab"], k["ab", "c"]))
note("ac", lambda: k["c", "a"])
m = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
n = init_device_mesh("cpu", (4,), mesh_dim_names=("w",))
note("unflat", lambda: n._unflatten(0, (2, 2), ("a", "b")))
note("unflat2", lambda: n._unflatten("w", (2, 2), ("a", "b"))["b"].mesh)
note("unflat3", lambda: n._unflatten("w", (2,), ("a", "b")))
note("unflat4", lambda: n._unflatten("z", (2, 2), ("a", "b")))
note("unflat5", lambda: n._unflatten(3, (2, 2), ("a", "b")))
note("unflat6", lambda: n._unflatten(0, (3, 2), ("a", "b")))
note("flat_", lambda: (m._flatten("x"), m["dp"]._flatten("x")))
note("flat1", lambda: m["dp"]._flatten("tp"))
note(
    "bo",
    lambda: init_device_mesh(
        "cpu",
        (2, 2),
        mesh_dim_names=("dp", "tp"),
        backend_override={"dp": "gloo", "zz": "gloo"},
    ),
)
note(
    "bo2",
    lambda: init_device_mesh(
        "cpu", (2, 2), mesh_dim_names=("dp", "tp"), backend_override={"dp": "gloo", 0: "gloo"}
    ),
)
note(
    "bo3",
    lambda: init_device_mesh(
        "cpu", (2, 2), mesh_dim_names=("dp", "tp"), backend_override={"dp": "gloo", 1: "gloo"}
    ),
)
k = init_device_mesh("cpu", (2, 1, 2), mesh_dim_names=("a", "b", "c"))
note("k1", lambda: k["a", "c"]._flatten())
note("k2", lambda: k["a", "b"]._flatten("ab"))
note("k3", lambda: k["c", "ab"])
note("k4", lambda: k._flatten("all")["all"])
note("k5", lambda: k["a", "all"])
note("cat", lambda: DeviceMesh._concatenate([m["dp"], m["tp"]]))
note("cat2", lambda: DeviceMesh._concatenate([m["dp"], n["w"]]))
note("cat3", lambda: DeviceMesh._concatenate([m["tp"], m["dp"]]))
note("hash", lambda: len({m, init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))}))
note(
    "descs",
    lambda: (
        k["a", "c"]._flatten().get_group().group_desc,
        m["dp"]._flatten("q").get_group().group_desc,
        k["a", "b"]._flatten("abx").get_group().group_desc,
    ),
)
note("setname", lambda: setattr(m, "mesh_dim_names", ("x",)))
note("empty", lambda: init_device_mesh("cpu", ()))
note("list", lambda: init_device_mesh("cpu", [2, 2], mesh_dim_names=["q", "r"]).mesh_dim_names)
note("bool", lambda: DeviceMesh("cpu", [5, 6]))
note("neg", lambda: DeviceMesh("cpu", [-1, 6]))
note(
    "rev",
    lambda: (
        DeviceMesh("cpu", [3, 2, 1, 0]).get_group() is dist.group.WORLD,
        DeviceMesh("cpu", [3, 2, 1, 0]).get_local_rank(),
        DeviceMesh("cpu", [3, 2, 1, 0]).get_coordinate(),
    ),
)
note("all1", lambda: init_device_mesh("cpu", (4, 1)).get_group(0) is dist.group.WORLD)
note("iscur", lambda: m._is_current_rank_part_of_mesh())
"""


def test_meshes_of_four_processes_are_pytorchs(tmp_path):
    names, differing = compare(tmp_path, PROGRAM, 4)
    assert len(names) > 80
    assert differing == []


def test_a_mesh_survives_pickle_and_its_groups_reduce(tmp_path):
    program = """
        import pickle
        import torch
        import torch.distributed as dist
        mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        rank = dist.get_rank()
        again = pickle.loads(pickle.dumps(mesh))
        assert again == mesh and again["tp"].get_group() is mesh.get_group("tp")
        x = torch.tensor([rank])
        dist.all_reduce(x, group=mesh.get_group("dp"))
        assert x.item() == {0: 2, 1: 4}[rank % 2], x
        dist.all_reduce(x, group=mesh.get_group("tp"))
        assert x.item() == 6, x
        whole = dist.init_device_mesh("cpu", (4,))
        dist.destroy_process_group()
        try:
            mesh.get_group("dp")
        except ValueError as error:
            assert "was destroyed" in str(error)
        else:
            raise AssertionError
    """
    done = run(tmp_path, program, "run", "--nproc", "4")
    assert done.code == 0, done.err


def test_a_program_of_one_process_starts_no_group_until_it_asks_for_one():
    program = """
import sys, rushlight
mesh = rushlight.distributed.init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
assert (mesh.get_coordinate(), mesh.get_local_rank("tp"), mesh.get_rank()) == ((0, 0), 0, 0)
assert not rushlight.distributed.is_initialized()
assert mesh["tp"].get_group().size() == 1
assert rushlight.distributed.is_initialized()
assert "mpi4py" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, env=environment(), timeout=PATIENCE)


def test_an_array_of_no_ranks_is_refused():
    with pytest.raises(AssertionError, match="no ranks"):
        torch.distributed.init_device_mesh("cpu", (0,))
