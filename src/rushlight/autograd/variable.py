"""`Variable`, the name that tensors taking part in autograd had in older programs."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._base.errors import warn
from .._base.missing import missing_name as _missing_name
from ..ops.making.creation import empty as _empty

__all__ = ["Variable"]


class _VariableMeta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _core.Tensor)


class _ExecutionEngine:
    """The old name under which callbacks are queued."""

    @staticmethod
    def queue_callback(function: Any) -> None:
        """Call `function` at the end of the running backward."""
        _core.queue_callback(function)


class Variable(metaclass=_VariableMeta):
    """The old name of a tensor that takes part in autograd: gives back the tensor.

    >>> x = torch.autograd.Variable(torch.ones(2), requires_grad=True)
    >>> x
    tensor([1., 1.], requires_grad=True)
    """

    _execution_engine = _ExecutionEngine

    def __new__(
        cls, data: object = None, requires_grad: bool = False, volatile: object = None
    ) -> Any:
        if volatile is not None and volatile is not False:
            warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
            )
        if data is None:
            data = _empty(0)
        if not isinstance(data, _core.Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        result = data.detach()
        if requires_grad:
            result.requires_grad = True
        return result


__getattr__ = _missing_name(__name__)
