"""`torch._tensor_str`: names that libraries use to print tensors their own way."""

from __future__ import annotations

from . import _printing
from ._core import Tensor

__all__ = ["PRINT_OPTS", "_tensor_str"]

PRINT_OPTS = _printing._options
printoptions = _printing.printoptions
set_printoptions = _printing.set_printoptions
get_printoptions = _printing.get_printoptions


def _tensor_str(self: Tensor, indent: int) -> str:
    """The numbers of a tensor in brackets, without "tensor(" and what follows."""
    array = self.detach().resolve_conj().resolve_neg()._array
    return _printing._contents(array, self.dtype, indent)


def _str(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """The text of a tensor."""
    return repr(self)
