"""Objects that average parameters over processes, called after each step of the optimizer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from ...._base.errors import warn
from ...._base.missing import missing_name as _missing_name
from ..._groups import ProcessGroup, default_group
from . import utils

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """Base of the averagers: a group (None is all processes) and the number of steps so far."""

    def __init__(self, process_group: ProcessGroup | None = None) -> None:
        self.process_group: ProcessGroup = (
            default_group() if process_group is None else process_group
        )
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Iterable[Any]) -> None:
        """Average, if it is time."""


class PeriodicModelAverager(ModelAverager):
    """Averages at step warmup_steps and every `period` steps from there.

    Raises ValueError for a period under 1 or warmup_steps under 0.
    """

    period: int
    warmup_steps: int

    def __init__(
        self, period: int, warmup_steps: int = 0, process_group: ProcessGroup | None = None
    ) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warn(
                "A period of 1 averages the parameters after each step, which costs no less than "
                "averaging the gradients: DistributedDataParallel alone does that.",
            )
        self.period, self.warmup_steps = period, warmup_steps

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Count a step; average the parameters, or those of groups, that have a gradient."""
        since = self.step - self.warmup_steps
        if since >= 0 and since % self.period == 0:
            utils.average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1


__getattr__ = _missing_name(__name__)
