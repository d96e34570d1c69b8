"""DistributedDataParallel where processes have different numbers of batches: its part in `Join`.

An iteration has these collectives, in this order: who has inputs (`Join`), whether the gradients
are reduced, whose buffers are taken, the buffers, the buckets. Those that are done do the same.
"""

from __future__ import annotations

from typing import Any

from ... import _root as rl
from ...distributed import _collectives, _reducer
from ...distributed.algorithms.join import Join, JoinHook


def _any(module: Any, own: bool) -> bool:
    """Whether a process says yes."""
    found = rl.tensor([float(own)])
    _collectives.all_reduce(found, group=module.process_group)
    return bool(found)


def begin(module: Any, syncs: bool) -> None:
    """A process with inputs begins an iteration; syncs: whether its gradients are reduced."""
    work = Join.notify_join_context(module)
    if work is not None:
        module.reducer.await_count(work, work.result()[0], module._divides_by_all)
    _any(module, syncs)


class _Hook(JoinHook):
    def __init__(self, module: Any) -> None:
        self._module = module

    def main_hook(self) -> None:
        module = self._module
        syncs = _any(module, False)
        if module._sends_buffers():
            root = module._find_common_rank(False)
            _reducer.broadcast_coalesced(module.process_group, module.modules_buffers, root)
        module.require_forward_param_sync = syncs
        if syncs:
            module.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        module = self._module
        root = module._find_common_rank(is_last_joiner)
        tensors = [
            p for n, p in module.module.named_parameters() if n not in module.parameters_to_ignore
        ]
        _reducer.broadcast_coalesced(
            module.process_group, [*tensors, *module.modules_buffers], root
        )


def hook_of(module: Any, divides_by_all: bool) -> JoinHook:
    """The hook with which a module takes part in a `Join` after its own last input."""
    module._divides_by_all = divides_by_all
    return _Hook(module)
