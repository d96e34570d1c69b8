"""The device meta: shapes, strides and types as PyTorch has them, and no memory."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn

MANY = 10**12  # elements: 4 TB


def found(m: Any, text: str) -> str:
    """What an expression gives on a library: its text, or its exception's and first sentence."""
    names = {
        "torch": m,
        "nn": m.nn,
        "F": m.nn.functional,
        "meta": m.empty(2, 3, device="meta"),
        "one": m.empty((), device="meta"),
        "cpu": m.ones(2, 3),
        "index": m.zeros(2, dtype=m.long),
        "places": m.zeros(2, dtype=m.long, device="meta"),
    }
    try:
        return str(eval(text, names))
    except Exception as error:
        sentence = str(error).split("! ")[0].split(". ")[0].rstrip("!.")
        return f"{type(error).__name__}: {sentence}"


FACTORIES = """
    torch.empty(2, 3, device="meta").stride()
    torch.zeros((2, 3), device="meta", dtype=torch.int32)
    torch.ones(3, device=torch.device("meta"), requires_grad=True)
    torch.full((2,), 3, device="meta")
    torch.rand(2, device="meta")
    torch.randn(2, 3, device="meta")
    torch.randint(5, (2,), device="meta")
    torch.randperm(4, device="meta")
    torch.normal(0.0, 1.0, (2,), device="meta")
    torch.arange(5, device="meta")
    torch.arange(0, 1, 0.3, device="meta")
    torch.linspace(0, 1, 5, device="meta")
    torch.logspace(0, 1, 5, device="meta")
    torch.eye(3, 2, device="meta")
    torch.tril_indices(3, 3, device="meta")
    torch.hann_window(4, device="meta")
    torch.tensor([1.0, 2.0], device="meta")
    torch.tensor(meta)
    torch.as_tensor([1, 2], device="meta")
    torch.as_tensor(meta)
    torch.asarray(cpu, device="meta")
    torch.empty_strided((2, 3), (1, 2), device="meta").stride()
    torch.empty(2, 3, 4, 4, device="meta", memory_format=torch.channels_last).stride()
    torch.empty_like(cpu.t(), device="meta").stride()
    torch.zeros_like(meta.t()).stride()
    torch.ones_like(meta, device="cpu")
    torch.full_like(meta, 2)
    torch.rand_like(meta)
    torch.randint_like(meta, 3)
    meta.new_zeros(2)
    meta.new_ones(2, device="cpu")
    meta.new_full((2,), 1)
    meta.new_tensor([1.0])
    cpu.new_empty(2, device="meta")
    torch.empty(3, device="meta:1").device
    torch.bernoulli(meta)
    torch.multinomial(meta, 2)
    meta.uniform_()
""".strip().splitlines()

VALUES = """
    meta
    meta.device
    meta.is_meta, meta.is_cpu, cpu.is_meta
    meta.type()
    meta.nbytes
    torch.ones(2, device="meta", dtype=torch.double, requires_grad=True)
    meta.item()
    one.item()
    float(one)
    bool(one)
    bool(meta)
    meta.tolist()
    meta.numpy()
    meta.__array__()
    meta.cpu()
    meta.to("cpu")
    meta.to("meta") is meta
    cpu.t().to("meta").stride()
    cpu.to("meta", torch.double)
    cpu.to(meta)
    meta.copy_(cpu)
    cpu.copy_(meta)
    meta.nonzero()
    torch.nonzero(meta, as_tuple=True)
    meta[meta > 0]
    torch.masked_select(meta, meta > 0)
    torch.unique(meta)
    torch.unique_consecutive(meta)
    torch.bincount(places)
    torch.repeat_interleave(meta, places, 0)
    torch.equal(meta, meta)
    torch.allclose(meta, meta)
    torch.is_nonzero(one)
    meta.data_ptr()
    len(list(meta))
    meta.set_(cpu)
    meta.resize_(4)
    meta.t().contiguous().stride()
    meta[1:, ::2].stride(), meta[1:].storage_offset()
    setattr(cpu, "data", meta)
    setattr(cpu, "grad", meta)
    nn.Linear(3, 2, device="meta").to("cpu")
    nn.Linear(3, 2, device="meta").cpu()
    nn.Linear(3, 2, device="meta").to_empty(device="cpu").weight.shape
    nn.Linear(3, 2).to("meta").weight
    nn.utils.skip_init(nn.Linear, 3, 2).weight.shape
    nn.utils.skip_init(nn.ReLU)
    torch.Tensor(2, 3, device="meta")
""".strip().splitlines()

# Where PyTorch checks. Elsewhere (mm, conv, gather, in-place forms) it gives a tensor on the first
# argument's device, of memory that nobody wrote where that is the CPU; this raises all the same.
MIXES = """
    meta + cpu
    cpu + meta
    meta + torch.tensor(2.0)
    torch.tensor(2.0) * meta
    one + cpu
    cpu + one
    meta == cpu
    torch.maximum(meta, cpu)
    torch.lerp(meta, cpu, 0.5)
    torch.addcmul(meta, cpu, meta)
    torch.clamp(meta, torch.tensor(1.0))
    torch.clamp(meta, cpu)
    torch.where(meta > 0, cpu, cpu)
    torch.where(cpu > 0, meta, meta)
    torch.where(meta > 0, meta, 1.0)
    torch.cat([meta, cpu])
    torch.stack([cpu, meta])
    torch.dot(meta[0], cpu[0])
    torch.outer(meta[0], cpu[0])
    torch.meshgrid(meta[0], cpu[0])
    F.mse_loss(meta, cpu)
    F.mse_loss(cpu, meta)
    F.smooth_l1_loss(meta, cpu)
    F.layer_norm(meta, (3,), torch.ones(3))
    F.batch_norm(meta, torch.zeros(3), torch.ones(3))
    torch.add(meta, meta, out=cpu)
    torch.add(cpu, cpu, out=meta)
    torch.cumsum(meta, 0, out=cpu)
    nn.Linear(3, 2, device="meta")(cpu)
    meta[index]
    meta.index_select(0, index)
    meta.gather(0, index[None])
    F.embedding(index, meta)
""".strip().splitlines()


@pytest.mark.parametrize("text", [t.strip() for t in FACTORIES + VALUES + MIXES])
@pytest.mark.filterwarnings("ignore")
def test_as_pytorch(text: str) -> None:
    pytorch = pytest.importorskip("torch")
    assert found(torch, text) == found(pytorch, text)


MIXED = [
    lambda a, b: a @ b.t(),
    lambda a, b: torch.mm(a, b.t()),
    lambda a, b: torch.bmm(a[None], b[None].mT),
    lambda a, b: nn.functional.linear(a, b),
    lambda a, b: torch.einsum("ij,kj->ik", a, b),
    lambda a, b: a.add_(b),
    lambda a, b: a.scatter_add(0, torch.zeros(1, 2, dtype=torch.long, device=a.device), b),
]


@pytest.mark.parametrize("f", MIXED)
@pytest.mark.parametrize("devices", [("cpu", "meta"), ("meta", "cpu")])
def test_no_op_takes_two_devices(f: Callable[..., Any], devices: tuple[str, str]) -> None:
    a, b = (torch.zeros(2, 3, device=d) for d in devices)
    said = f"Tensor on device {devices[1]} is not on the expected device {devices[0]}!"
    with pytest.raises(RuntimeError, match=said) as error:
        f(a, b)
    name = str(error.value).split("All tensors of ")[1].split("()")[0]
    assert any(hasattr(m, name) for m in (torch, torch.Tensor, nn.functional))


def test_no_memory() -> None:
    x = torch.zeros(MANY, device="meta")
    assert x.exp().add_(1).sum().shape == ()
    assert torch.arange(MANY, device="meta").shape == (MANY,)
    wide = torch.rand(10**6, 10**6, device="meta")
    assert (wide @ wide.t()).shape == (10**6, 10**6)
    assert nn.functional.batch_norm(wide, None, None, training=True).shape == wide.shape
    assert torch.erfinv(x).dtype is torch.float32
    w = torch.empty(10**6, 10**6, device="meta", requires_grad=True)
    (w @ wide).square().mean().backward()
    assert w.grad.shape == w.shape and w.grad.is_meta


def test_a_definition_does_not_run_on_many_elements() -> None:
    with pytest.raises(NotImplementedError, match="frexp"):
        torch.frexp(torch.empty(2000, 2000, device="meta"))


def test_default_device() -> None:
    with torch.device("meta"):
        made = [torch.ones(2), torch.tensor(1.0), torch.rand(2), nn.Linear(2, 2).weight]
        assert torch.zeros(2, device="cpu").is_cpu
    assert all(t.is_meta for t in made) and torch.ones(2).is_cpu
    torch.set_default_device("meta")
    try:
        assert torch.arange(3).is_meta and torch.get_default_device().type == "meta"
    finally:
        torch.set_default_device(None)
    assert torch.arange(3).is_cpu


def test_copies() -> None:
    x = torch.empty(2, 3, device="meta").t().requires_grad_()
    file = io.BytesIO()
    torch.save({"x": x}, file)
    file.seek(0)
    for again in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), torch.load(file)["x"]):
        assert again.is_meta and again.stride() == (1, 3) and again.requires_grad
    module = copy.deepcopy(nn.Linear(3, 2, device="meta"))
    assert isinstance(module.weight, nn.Parameter) and module.weight.is_meta


def test_loading_with_little_memory() -> None:
    with torch.device("meta"):
        module = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    values = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).state_dict()
    with pytest.warns(UserWarning, match="which is a no-op"):
        module.load_state_dict(values)
    assert module[0].weight.is_meta
    module.load_state_dict(values, assign=True)
    assert torch.equal(module[0].weight, values["0.weight"]) and module[0].weight.requires_grad
    assert module(torch.ones(2, 3)).is_cpu


OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": {"momentum": 0.9},
    "Adam": {"amsgrad": True},
    "AdamW": {},
    "RMSprop": {},
    "Adagrad": {},
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training(name: str) -> None:
    module = nn.Linear(10**6, 10**6, device="meta")
    optimizer = getattr(torch.optim, name)(module.parameters(), lr=0.1, **OPTIMIZERS[name])
    for _ in range(2):
        optimizer.zero_grad()
        module(torch.rand(10, 10**6, device="meta")).square().mean().backward()
        optimizer.step()
    assert module.weight.grad.is_meta
    nn.utils.clip_grad_norm_(module.parameters(), 1.0)


INITIALISERS = "uniform_ normal_ ones_ zeros_ xavier_uniform_ kaiming_normal_ trunc_normal_ eye_"


@pytest.mark.parametrize("name", INITIALISERS.split())
def test_initialisers_do_nothing(name: str) -> None:
    x = torch.empty(10**6, 10**6, device="meta")
    assert getattr(nn.init, name)(x) is x


def test_writes() -> None:
    x = torch.empty(3, 4, device="meta")
    version = x._version
    x[0] = 1.0
    x[:, 1] = torch.empty(3, device="meta")
    x[torch.tensor([0, 1])] = 2.0
    x[x > 0] = 3.0
    x.mul_(2).zero_()
    assert x._version == version + 6 and x.is_meta and x.shape == (3, 4)
    with pytest.raises(RuntimeError, match="not on the expected device"):
        x[torch.tensor([0, 1])] = torch.ones(2, 4)


def test_transforms() -> None:
    x = torch.empty(3, 4, device="meta")
    assert torch.func.vmap(lambda row: row.sum())(x).shape == (3,)
    grad = torch.func.grad(lambda x: (x * x).sum())(x)
    assert grad.is_meta and grad.shape == (3, 4)


@pytest.mark.parametrize("where", ["meta", {"cpu": "meta"}, torch.device("meta")])
def test_a_file_is_loaded_to_meta(where):
    file = io.BytesIO()
    torch.save({"x": torch.ones(4, 3).t(), "n": 1}, file)
    file.seek(0)
    loaded = torch.load(file, map_location=where)
    assert loaded["n"] == 1
    assert loaded["x"].is_meta and loaded["x"].shape == (3, 4) and loaded["x"].stride() == (1, 3)
