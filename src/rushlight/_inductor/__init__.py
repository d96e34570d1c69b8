"""`torch._inductor`: settings of PyTorch's compiler."""

from .._missing import missing_name as _missing_name

__getattr__ = _missing_name(__name__, late={"config": "config"})
