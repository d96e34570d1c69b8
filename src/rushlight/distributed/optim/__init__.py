"""`torch.distributed.optim`: optimizers over processes; over one, as any."""

from __future__ import annotations

from typing import Any

from ... import optim as _optim
from ..._elsewhere import refuse_all as _refuse_all
from ..._missing import missing_name as _missing_name

globals().update(
    _refuse_all(
        "torch.distributed.optim",
        "DistributedOptimizer PostLocalSGDOptimizer as_functional_optim",
        "processes do not talk to each other here.",
    )
)


class ZeroRedundancyOptimizer(_optim.Optimizer):
    """An optimizer of a class, whose state one process has all of."""

    def __init__(
        self,
        params: Any,
        optimizer_class: Any,
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        self.optim = optimizer_class(params, **defaults)
        super().__init__(self.optim.param_groups, self.optim.defaults)
        self.param_groups, self.state = self.optim.param_groups, self.optim.state

    def step(self, closure: Any = None, **kwargs: Any) -> Any:
        """One step."""
        return self.optim.step(closure, **kwargs)

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Nothing to put together."""

    def state_dict(self) -> Any:
        """The optimizer's state dict."""
        return self.optim.state_dict()

    def load_state_dict(self, state_dict: Any) -> None:
        """Load an optimizer's state dict."""
        self.optim.load_state_dict(state_dict)
        self.param_groups, self.state = self.optim.param_groups, self.optim.state


__getattr__ = _missing_name(__name__)
