"""Settings of how state dicts are saved and loaded."""

from __future__ import annotations

from ..._base.missing import missing_name as _missing_name


class DefaultSavePlanner:
    """How a state dict is saved.

    `dedup_save_to_lowest_rank` lets the lowest rank write what several have, instead of sharing
    the load. The other settings are taken and change nothing.
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        if not flatten_state_dict:
            raise NotImplementedError("DefaultSavePlanner(): state dicts are always flattened.")
        self.dedup_save_to_lowest_rank = dedup_save_to_lowest_rank


class DefaultLoadPlanner:
    """How a state dict is loaded: `allow_partial_load` leaves values that the checkpoint lacks."""

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        if not flatten_state_dict:
            raise NotImplementedError("DefaultLoadPlanner(): state dicts are always flattened.")
        self.allow_partial_load = allow_partial_load


__getattr__ = _missing_name(__name__)
