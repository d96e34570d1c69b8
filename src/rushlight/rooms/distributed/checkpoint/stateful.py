"""Objects with state dicts."""

from typing import Any, Protocol, runtime_checkable

from ..._base.missing import missing_name as _missing_name


@runtime_checkable
class Stateful(Protocol):
    """An object that `save` and `load` ask for its state."""

    def state_dict(self) -> dict[str, Any]:
        """The state."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state over."""
        ...


__getattr__ = _missing_name(__name__)
