"""The average of parameters over processes."""

from __future__ import annotations

from collections.abc import Iterable

from .... import _root as rl
from ...._base.missing import missing_name as _missing_name
from ...._root import Tensor
from ....nn import Parameter
from ..._collectives import all_reduce
from ..._groups import ProcessGroup, is_outside, member

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]


def average_parameters(params: Iterable[Tensor], process_group: ProcessGroup | None) -> None:
    """Each parameter becomes its mean over the group's processes; outside it nothing happens."""
    if is_outside(process_group):
        return
    group = member(process_group)
    every = [param.detach() for param in params]
    flat = rl.cat([param.reshape(-1) for param in every])
    flat /= group.size()
    all_reduce(flat, group=group)
    for param, part in zip(every, flat.split([param.numel() for param in every]), strict=True):
        param.copy_(part.view(param.shape))


def get_params_to_average(params: Iterable[object]) -> list[Tensor]:
    """The parameters, of a model or of an optimizer's groups, that have a gradient.

    Raises NotImplementedError for what is neither a parameter nor a group.
    """
    found: list[Tensor] = []
    for param in params:
        if isinstance(param, Parameter):
            found.append(param)
        elif isinstance(param, dict):
            found += param["params"]
        else:
            raise NotImplementedError(f"Parameter input of type {type(param)} is not supported")
    return [param for param in found if param.grad is not None]


def average_parameters_or_parameter_groups(
    params: Iterable[object], process_group: ProcessGroup | None
) -> None:
    """Average those of a model's parameters, or of an optimizer's groups, that have a gradient."""
    average_parameters(get_params_to_average(params), process_group)


__getattr__ = _missing_name(__name__)
