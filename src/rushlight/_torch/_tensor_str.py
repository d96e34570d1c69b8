"""`torch._tensor_str`: names that libraries use to print tensors their own way."""

from __future__ import annotations

from .._base import printing as _printing
from .._core import Tensor

__all__ = ["PRINT_OPTS", "_tensor_str"]

PRINT_OPTS = _printing._options
printoptions = _printing.printoptions
set_printoptions, get_printoptions = _printing.set_printoptions, _printing.get_printoptions


def _tensor_str(self: Tensor, indent: int) -> str:
    """The numbers of a tensor in brackets, without "tensor(" and what follows."""
    return _printing._contents(self, indent)


def _str(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """The text of a tensor."""
    return repr(self)


_str_intern = _str


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """A tensor's text with what follows the numbers, in lines of the width that is set."""
    parts, last = [tensor_str], len(tensor_str) - tensor_str.rfind("\n") + 1
    for suffix in suffixes:
        if force_newline or last + len(suffix) + 2 > PRINT_OPTS.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            last, force_newline = indent + len(suffix), False
        else:
            parts.append(", " + suffix)
            last += len(suffix) + 2
    return "".join(parts) + ")"
