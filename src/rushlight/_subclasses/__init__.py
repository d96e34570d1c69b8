"""`torch._subclasses`, as far as libraries name it: no tensor here is a fake one."""

from .fake_tensor import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode"]
