"""`torch._functorch.vmap` is the module that vmap is in: libraries replace parts of it."""

import sys

from ..._base.missing import missing_name
from ...func import _vmap

_vmap.__getattr__ = missing_name(__name__)  # type: ignore[method-assign]
sys.modules[__name__] = _vmap
