"""torch.backends.rushlight: switches of rushlight's own kernels. PyTorch has no such module.

winograd: the tiles by which convolutions of 3x3 kernels are computed where that is faster. 2, the
default, are tiles of 2x2 outputs, with errors as small as those of the definition's sums. 4 takes
about half the products, with some 20 times the error. 0 is none: every product of the definition is
computed. With tiles, what is infinite or NaN in the image makes the whole tiles that see it NaN.

>>> torch.backends.rushlight.winograd
2
"""

from __future__ import annotations

import sys
from types import ModuleType

from .. import _core
from .._base.missing import missing_name as _missing_name

winograd: int


class _Switches(ModuleType):
    """This module: its switches are the kernels' own."""

    @property
    def winograd(self) -> int:
        return int(_core.kernels.winograd())

    @winograd.setter
    def winograd(self, tile: int) -> None:
        if type(tile) is not int or tile not in (0, 2, 4):
            raise ValueError(f"torch.backends.rushlight.winograd is 0, 2 or 4, not {tile!r}")
        _core.kernels.set_winograd(tile)


sys.modules[__name__].__class__ = _Switches
__getattr__ = _missing_name(__name__)
