"""`ZeroRedundancyOptimizer`: each process keeps the state of a part of the parameters.

Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models" (2019),
its first stage. A process's own optimizer has the parameters that are given to it, in the groups
of all of them; a step updates those, then each process broadcasts its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _root as rl
from ..._base.missing import missing_name as _missing_name
from ..._root import Tensor
from ...optim import Optimizer
from .. import _collectives, _objects
from .._groups import ProcessGroup, get_global_rank, get_rank, member
from .._work import Work
from ..algorithms.join import Join, Joinable, JoinHook

__all__ = ["ZeroRedundancyOptimizer"]

_Group = dict[str, Any]


class _ZeroJoinHook(JoinHook):
    """The hook of a process that has no more batches: it updates its part for the others."""

    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self.zero = optimizer

    def main_hook(self) -> None:
        """One step."""
        self.zero.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer of a class, whose state is spread over the processes of a group.

    All processes give the same parameters, all of one dtype, and take each step together. With
    parameters_as_bucket_view the parameters of a process lie in one piece of memory, which is
    sent at once.

    Raises TypeError for what are no parameters, ValueError for none and for several dtypes,
    NotImplementedError for overlap_with_ddp.
    """

    rank: int
    world_size: int

    def __init__(
        self,
        params: Any,
        optimizer_class: Callable[..., Any],
        process_group: ProcessGroup | None = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: object,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer takes its step after the backward pass here, never "
                "within it: leave overlap_with_ddp=False, and call step()"
            )
        groups = _checked(params)
        self.initialized: bool = False
        self.process_group: ProcessGroup = member(process_group)
        self.world_size, self.rank = self.process_group.size(), self.process_group.rank()
        self.global_rank: int = get_rank()
        self.parameters_as_bucket_view = parameters_as_bucket_view
        Joinable.__init__(self)
        super().__init__(groups, defaults)
        self._all_state_dicts: list[dict[str, Any]] = []
        self._parts = self._partition()
        self.optim: Any = optimizer_class(self._parts[self.rank], **defaults)
        _copy_options(self.optim.param_groups, self.param_groups)
        self._buckets: list[Tensor] = []
        self._trainable: list[bool] = []
        self._build_buckets()
        self.initialized = True

    # --- who has what ---

    def _parameters(self) -> list[Tensor]:
        """All parameters, in the order of the numbers that a saved state has for them."""
        return [param for group in self.param_groups for param in group["params"]]

    def _partition(self) -> list[list[_Group]]:
        """Each rank's groups: in each group the largest first, to the rank with the least yet."""
        parts: list[list[_Group]] = [[] for _ in range(self.world_size)]
        sizes = [0] * self.world_size
        for group in self.param_groups:
            options = {name: value for name, value in group.items() if not _is_params(name)}
            for part in parts:
                part.append({**options, "params": []})
            for param in sorted(group["params"], key=Tensor.numel, reverse=True):
                rank = sizes.index(min(sizes))
                parts[rank][-1]["params"].append(param)
                sizes[rank] += param.numel()
        return parts

    def _build_buckets(self) -> None:
        """Put each rank's trainable parameters into one piece of memory, if that is wanted."""
        if not self.parameters_as_bucket_view:
            return
        self._trainable = [param.requires_grad for param in self._parameters()]
        self._buckets = []
        for part in self._parts:
            params = [p for group in part for p in group["params"] if p.requires_grad]
            if not params:
                continue
            bucket = rl.cat([param.detach().reshape(-1) for param in params])
            for param, data in zip(params, bucket.split([p.numel() for p in params]), strict=True):
                param.data = data.view(param.shape)
            self._buckets.append(bucket)

    def add_param_group(self, param_group: _Group) -> None:
        """Add a group, as `Optimizer.add_param_group`; all processes add the same."""
        super().add_param_group(param_group)
        if not self.initialized:
            return
        _check_types(self._parameters())
        _copy_options(self.param_groups[:-1], self.optim.param_groups)
        self._parts = self._partition()
        self.optim.add_param_group(self._parts[self.rank][-1])
        _copy_options(self.optim.param_groups, self.param_groups)
        self._build_buckets()

    # --- stepping ---

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Update this process's part, and get the others'; the closure's value."""
        Join.notify_join_context(self)
        if self.parameters_as_bucket_view and self._trainable != [
            param.requires_grad for param in self._parameters()
        ]:
            self._build_buckets()
        _copy_options(self.param_groups, self.optim.param_groups)
        if closure is not None:
            kwargs["closure"] = closure
        loss = self.optim.step(**kwargs)
        _copy_options(self.optim.param_groups, self.param_groups)
        self._send()
        return loss

    def _send(self) -> None:
        """Each process's parameters to all others."""
        works: list[Work | None] = []
        buckets = iter(self._buckets)
        for rank, part in enumerate(self._parts):
            tensors = [param.detach() for group in part for param in group["params"]]
            if self.parameters_as_bucket_view:
                trainable = any(p.requires_grad for group in part for p in group["params"])
                tensors = [next(buckets)] if trainable else []
            root = get_global_rank(self.process_group, rank)
            works += [
                _collectives.broadcast(tensor, root, self.process_group, async_op=True)
                for tensor in tensors
            ]
        for work in works:
            if work is not None:
                work.wait()

    # --- ending at different times ---

    def join_hook(self, **kwargs: object) -> JoinHook:
        """The hook for a `Join`, for when this process has no more batches."""
        return _ZeroJoinHook(self)

    @property
    def join_device(self) -> Any:
        """Where the parameters are."""
        return self._parameters()[0].device

    @property
    def join_process_group(self) -> ProcessGroup:
        """The processes that step together."""
        return self.process_group

    # --- saving and loading ---

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Send the state of all parts to one process, by its rank in the group."""
        _copy_options(self.param_groups, self.optim.param_groups)
        every: list[Any] | None = [None] * self.world_size if self.rank == to else None
        _objects.gather_object(
            self.optim.state_dict(), every, group=self.process_group, group_dst=to
        )
        self._all_state_dicts = every or []

    def state_dict(self) -> dict[str, Any]:
        """The state of the whole optimizer, as `consolidate_state_dict` last put it together.

        Raises RuntimeError where this process was not sent the state.
        """
        if not self._all_state_dicts:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. "
                f"Please call `consolidate_state_dict(to={self.rank})` on "
                "all ranks beforehand if you meant to save the global state."
            )
        whole = super().state_dict()
        numbers = {param: i for i, param in enumerate(self._parameters())}
        state: dict[int, Any] = {}
        for part, saved in zip(self._parts, self._all_state_dicts, strict=True):
            for group, saved_group in zip(part, saved["param_groups"], strict=False):
                for param, i in zip(group["params"], saved_group["params"], strict=True):
                    if i in saved["state"]:
                        state[numbers[param]] = saved["state"][i]
        whole["state"] = dict(sorted(state.items()))
        return whole

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a whole state: that of `state_dict`, or of an optimizer of one process."""
        super().load_state_dict({**state_dict, "state": {}})
        saved = [i for group in state_dict["param_groups"] for i in group["params"]]
        numbers = dict(zip(self._parameters(), saved, strict=True))
        self._parts = self._partition()
        own = [group["params"] for group in self._parts[self.rank]]
        part: dict[str, Any] = {"state": {}, "param_groups": []}
        place = 0
        for params, saved_group in zip(own, state_dict["param_groups"], strict=True):
            options = {name: v for name, v in saved_group.items() if not _is_params(name)}
            places = list(range(place, place + len(params)))
            part["param_groups"].append({**options, "params": places})
            for param, i in zip(params, places, strict=True):
                if numbers[param] in state_dict["state"]:
                    part["state"][i] = state_dict["state"][numbers[param]]
            place += len(params)
        self.optim.load_state_dict(part)
        _copy_options(self.param_groups, self.optim.param_groups)


def _is_params(name: str) -> bool:
    """Whether an entry of a group has a value for each parameter."""
    return name in ("params", "param_names")


def _copy_options(source: list[_Group], target: list[_Group]) -> None:
    """Copy the options of groups, not their parameters."""
    for old, new in zip(source, target, strict=True):
        new.update({name: value for name, value in old.items() if not _is_params(name)})


def _checked(params: Any) -> list[object]:
    """Parameters or groups of them, as a list."""
    if isinstance(params, Tensor):
        raise TypeError(
            f"`params` argument should be an iterable of Tensors, but got {rl.typename(params)}"
        )
    try:
        every = list(params)
    except TypeError as error:
        raise TypeError(
            "`params` argument should be an iterable of Tensors or dicts, but got "
            f"{rl.typename(params)}"
        ) from error
    if not every:
        raise ValueError("ZeroRedundancyOptimizer got an empty parameter list")
    if all(isinstance(group, dict) for group in every):
        if not all("params" in group for group in every):
            raise ValueError(
                "Each parameter group passed-in via `params` must have a 'params' key mapping to "
                "the parameters in the group"
            )
        # An iterator of parameters is read once, here.
        every = [
            {**g, "params": [p] if isinstance(p := g["params"], Tensor) else list(p)} for g in every
        ]
        _check_types([param for group in every for param in group["params"]])
    elif all(isinstance(param, Tensor) for param in every):
        _check_types(every)
    else:
        raise TypeError("`params` argument should be an iterable of Tensors or dicts")
    return every


def _check_types(params: list[Any]) -> None:
    """Whether parameters are dense, and of one dtype."""
    names = [rl.typename(param) for param in params]
    for param, name in zip(params, names, strict=True):
        if isinstance(param, Tensor) and param.is_sparse:
            raise ValueError(
                "ZeroRedundancyOptimizer only supports using the same dense type for all "
                f"parameters but got {name}"
            )
        if name != names[0]:
            raise ValueError(
                "ZeroRedundancyOptimizer only supports using the same dense type for all "
                f"parameters but got both {names[0]} and {name}"
            )


__getattr__ = _missing_name(__name__)
