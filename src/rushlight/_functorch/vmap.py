"""`torch._functorch.vmap` is the module that vmap is in: libraries replace parts of it."""

import sys

from ..func import _vmap

sys.modules[__name__] = _vmap
