"""Helpers of `torch.distributed`."""

from __future__ import annotations

from .._base.missing import missing_name as _missing_name


def _verify_param_shape_across_processes(*args: object, **kwargs: object) -> None:
    """Nothing to check: there is one process."""


_sync_module_states = _sync_params_and_buffers = _verify_param_shape_across_processes


def _to_kwargs(inputs: object, kwargs: object, *args: object) -> object:
    """The arguments for the one device."""
    return (inputs,), (kwargs or {},)


__getattr__ = _missing_name(__name__)
