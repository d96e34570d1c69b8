"""Post-local SGD: gradients are averaged over all processes first, then within subgroups only.

Lin et al., "Don't Use Large Mini-Batches, Use Local SGD" (2018). The parameters are to be
averaged every few steps from then on: `algorithms.model_averaging`.
"""

from __future__ import annotations

from typing import Any

from ...._base.missing import missing_name as _missing_name
from ...._torch.futures import Future
from ..._groups import ProcessGroup, new_subgroups
from .debugging_hooks import noop_hook
from .default_hooks import _mean

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """The step that `post_localSGD_hook` has come to, and the groups that it averages over.

    subgroup: None is one for the processes of each machine.
    """

    process_group: ProcessGroup | None
    subgroup: ProcessGroup | None

    def __init__(
        self,
        process_group: ProcessGroup | None,
        subgroup: ProcessGroup | None,
        start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True,
    ) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter: int = 0

    def maybe_increase_iter(self, bucket: Any) -> None:
        """Count a step at its last bucket."""
        if bucket.is_last():
            self.iter += 1


def post_localSGD_hook(state: PostLocalSGDState, bucket: Any) -> Future[Any]:
    """Average over all processes, from step start_localSGD_iter on over the subgroup or not at all.

    Steps are counted up to start_localSGD_iter.
    """
    if state.iter < state.start_localSGD_iter:
        state.maybe_increase_iter(bucket)
        return _mean(bucket.buffer(), state.process_group)
    if not state.post_local_gradient_allreduce:
        return noop_hook(None, bucket)
    if state.subgroup is None:
        own, _ = new_subgroups()
        assert isinstance(own, ProcessGroup)  # every process is in one
        state.subgroup = own
    return _mean(bucket.buffer(), state.subgroup)


__getattr__ = _missing_name(__name__)
