"""float8 types and complex32: names that programs compare with; no tensor has them."""

import pickle

import pytest

import rushlight as torch

NAMES = "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu complex32".split()


@pytest.mark.parametrize("name", NAMES)
def test_facts_are_pytorchs(name):
    pytorch = pytest.importorskip("torch")
    ours, theirs = getattr(torch, name), getattr(pytorch, name)
    for fact in ("itemsize", "is_floating_point", "is_complex", "is_signed"):
        assert getattr(ours, fact) == getattr(theirs, fact)
    assert repr(ours) == repr(theirs)
    for fact in ("max", "min", "eps", "tiny", "smallest_normal", "resolution", "bits"):
        assert getattr(torch.finfo(ours), fact) == getattr(pytorch.finfo(theirs), fact), fact


@pytest.mark.parametrize("name", NAMES)
def test_one_object_for_each(name):
    kind = getattr(torch, name)
    assert pickle.loads(pickle.dumps(kind)) is kind
    assert torch.float32 != kind and kind not in (torch.int8, torch.bfloat16)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "call",
    [
        lambda kind: torch.zeros(2, dtype=kind),
        lambda kind: torch.tensor([1], dtype=kind),
        lambda kind: torch.ones(2).to(kind),
        lambda kind: torch.ones(2).view(kind),
        lambda kind: torch.ones(2).sum(dtype=kind),
        lambda kind: torch.empty(2, dtype=kind, device="meta"),
        lambda kind: torch.nn.Linear(2, 2).to(kind),
        lambda kind: torch.ones(2).softmax(0, dtype=kind),
    ],
)
def test_tensors_are_refused(name, call):
    with pytest.raises(TypeError, match=f"^torch.{name} is known by name only: rushlight has no"):
        call(getattr(torch, name))


def test_no_default_and_no_promotion():
    with pytest.raises(TypeError, match="couldn't find storage object Float8_e5m2Storage"):
        torch.set_default_dtype(torch.float8_e5m2)
    with pytest.raises(
        RuntimeError, match="Promotion for Float8 Types is not supported, attempted"
    ):
        torch.promote_types(torch.float32, torch.float8_e5m2)
    assert torch.promote_types(torch.complex32, torch.float64) is torch.complex128
    assert torch.chalf is torch.complex32
    assert torch.zeros(1).dtype is torch.float32
