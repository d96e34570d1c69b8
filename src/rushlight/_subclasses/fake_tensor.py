"""`torch._subclasses.fake_tensor`: tensors that stand for others while PyTorch compiles.

Nothing is compiled here: no tensor is one. For shapes without memory there is the device meta.
"""

from .._elsewhere import refusing as _refusing

__all__ = ["FakeTensor", "FakeTensorMode", "is_fake"]


class FakeTensor:
    """What PyTorch's compiler computes shapes with; no tensor here is one."""


FakeTensorMode = _refusing(
    "torch._subclasses.fake_tensor.FakeTensorMode",
    "shapes without memory are computed on the device meta.",
)


def is_fake(x: object) -> bool:
    """False: no tensor here is one."""
    return False
