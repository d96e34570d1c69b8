"""`torch._subclasses`, as far as libraries name it: no tensor here is a fake one."""

from rushlight._missing import missing_name as _missing_name

from .fake_tensor import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode"]

__getattr__ = _missing_name(__name__)
