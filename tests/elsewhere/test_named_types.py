"""Element types that no tensor has here, which programs name and compare with."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import rushlight as torch

NAMES = """int1 int4 int7 uint1 uint3 uint7 bits1x8 bits8 bits16 quint8 quint4x2 qint8 qint32
float4_e2m1fn_x2""".split()


@pytest.mark.parametrize("name", NAMES)
def test_one_object_for_each(name: str) -> None:
    kind = getattr(torch, name)
    assert repr(kind) == f"torch.{name}"
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
    ],
)
def test_tensors_are_refused(name: str, call: Any) -> None:
    with pytest.raises(TypeError, match=f"^torch.{name} is known by name only: rushlight has no"):
        call(getattr(torch, name))


def test_no_default_and_no_promotion() -> None:
    with pytest.raises(TypeError, match="couldn't find storage object Float8_e5m2Storage"):
        torch.set_default_dtype(torch.float8_e5m2)
    with pytest.raises(
        RuntimeError, match="Promotion for Float8 Types is not supported, attempted"
    ):
        torch.promote_types(torch.float32, torch.float8_e5m2)
    assert torch.promote_types(torch.complex32, torch.float64) is torch.complex128
    assert torch.promote_types(torch.complex32, torch.float16) is torch.complex32
    assert torch.chalf is torch.complex32
    assert torch.zeros(1).dtype is torch.float32
