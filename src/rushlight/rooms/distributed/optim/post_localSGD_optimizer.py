"""`PostLocalSGDOptimizer`: an optimizer of one process, and an average over processes now and then.

Lin et al., "Don't Use Large Mini-Batches, Use Local SGD" (2018).
"""

from __future__ import annotations

from typing import Any

from ..._base.errors import warn
from ..._base.missing import missing_name as _missing_name
from ...optim import Optimizer
from ..algorithms.model_averaging.averagers import ModelAverager

__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(Optimizer):
    """Steps with `optim`, then lets `averager` average the parameters if it is time."""

    averager: ModelAverager
    optim: Optimizer

    def __init__(self, optim: Optimizer, averager: ModelAverager) -> None:
        self.optim, self.averager = optim, averager
        self.defaults, self.param_groups = optim.defaults, optim.param_groups
        self._make_hooks()

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The optimizer's state."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """The optimizer's state, with the averager's number of steps as "step"."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the optimizer's state and the number of steps: 0, with a warning, if none."""
        self.optim.load_state_dict(state_dict)
        self.param_groups = self.optim.param_groups
        if "step" not in state_dict:
            warn(
                "Loaded state dict does not contain a step counter for an averager. "
                "Setting step counter to 0.",
            )
        self.averager.step = state_dict.get("step", 0)

    def step(self) -> None:  # type: ignore[override]
        """One step of the optimizer, then the average if it is time."""
        self.optim.step()
        self.averager.average_parameters(self.param_groups)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """As the optimizer's."""
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group to the optimizer's."""
        self.optim.add_param_group(param_group)


__getattr__ = _missing_name(__name__)
