"""`torch.distributed.tensor.parallel`: layers over processes; over one, they stay as they are."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ...._base.missing import missing_name as _missing_name


class ParallelStyle:
    """How a layer is divided: its settings are kept."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        self.args = args
        vars(self).update(settings)


class ColwiseParallel(ParallelStyle):
    """Each process has columns."""


class RowwiseParallel(ParallelStyle):
    """Each process has rows."""


class SequenceParallel(ParallelStyle):
    """Each process has a part of the sequence."""


class PrepareModuleInput(ParallelStyle):
    """How a module's inputs are divided."""


class PrepareModuleOutput(ParallelStyle):
    """How a module's outputs are divided."""


class PrepareModuleInputOutput(ParallelStyle):
    """How a module's inputs and outputs are divided."""


def parallelize_module(
    module: object, device_mesh: object = None, parallelize_plan: object = None, **settings: object
) -> Any:
    """The module as it is: one process has all of it."""
    return module


@contextlib.contextmanager
def loss_parallel() -> Iterator[None]:
    """A block like any other: one process has all of the loss."""
    yield


__getattr__ = _missing_name(__name__)
