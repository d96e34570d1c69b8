from . import _core, dtypes, size
_core.register(size=size.Size, dtypes=[dtypes._BY_NAME[r[0]] for r in dtypes._TABLE])
from .ops import namespace
globals().update(namespace("torch"))
from ._core import Tensor
