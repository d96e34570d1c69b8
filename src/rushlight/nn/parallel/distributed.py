"""A module whose gradients are averaged over processes; imported when a program asks for it.

What communicates is in `rushlight.distributed`: `_reducer`; `_uneven` has `join`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ... import _core
from ... import _root as rl
from ..._base.device import is_accelerator
from ..._base.pytree import tree_map
from ..._core import Tensor
from ...distributed import ReduceOp, _groups, _reducer, all_reduce
from ...distributed.algorithms.join import DISABLED, Join, Joinable, JoinHook
from ..modules.module import Module
from ..parameter import UninitializedParameter
from . import _uneven

_IGNORED = "_ddp_params_and_buffers_to_ignore"


class DistributedDataParallel(Module, Joinable):
    """The module as the child `module`; each backward makes its gradients the processes' mean.

    Each process wraps its own copy after `torch.distributed.init_process_group`; parameters and
    buffers become those of rank 0. bucket_cap_mb: how many MiB of gradients go together, 25 if not
    given. find_unused_parameters: needed where an iteration does not use all parameters.
    gradient_as_bucket_view: `.grad` is a view of what is sent. static_graph: each iteration has the
    same graph, so that unused parameters and nested checkpoints are known after the first.

    Raises RuntimeError where no parameter needs a gradient or processes differ in their parameters,
    ValueError where no process group was started. device_ids: the number of the accelerator that
    the module is on; inputs are brought there. A module on the CPU has none.

    >>> torch.distributed.init_process_group(rank=0, world_size=1)
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> with model.no_sync():
    ...     model(torch.zeros(3, 2)).sum().backward()
    >>> list(model.state_dict())
    ['module.weight', 'module.bias']
    >>> torch.distributed.destroy_process_group()
    """

    device_ids: list[int | None] | None
    device: Any
    device_type: str
    dim: int
    output_device: list[int | None] | int | None

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: object = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: object = None,
        mixed_precision: object = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: list[int] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        Module.__init__(self)
        self._join_config = DISABLED
        if process_group is not None and device_mesh is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        if device_mesh is not None:
            process_group = device_mesh.get_group(mesh_dim=0)
        self.process_group: Any = _groups.member(process_group)
        for name, value in (
            ("mixed_precision", mixed_precision),
            ("delay_all_reduce_named_params", delay_all_reduce_named_params),
            ("param_to_hook_all_reduce", param_to_hook_all_reduce),
        ):
            if value is not None:
                raise NotImplementedError(
                    f"DistributedDataParallel: {name} is not here yet; leave it out."
                )
        self.parameters_to_ignore: set[str] = set(getattr(module, _IGNORED, ()))
        named = [
            (name, p)
            for name, p in module.named_parameters()
            if name not in self.parameters_to_ignore
        ]
        if not any(p.requires_grad for _, p in named):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter "
                "that requires a gradient."
            )
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        devices = {p.device for _, p in named}
        there = next(iter(devices))
        alone = len(devices) == 1 and is_accelerator(there.type)
        if (device_ids or output_device is not None) and not alone:
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with "
                "single-device/multiple-device GPU modules or CPU modules, but got device_ids "
                f"{device_ids}, output_device {output_device}, and module parameters {devices}."
            )
        if any(isinstance(p, UninitializedParameter) for _, p in named):
            raise RuntimeError(
                "Modules with uninitialized parameters can't be used with "
                "`DistributedDataParallel`. Run a dummy forward pass to correctly initialize the "
                "modules"
            )
        self.module = module
        numbers = [there.index] if device_ids else None
        self.dim, self.device_ids, self.output_device = dim, numbers, numbers and numbers[0]
        self.device_type, self.device = there.type, there
        self.is_multi_device_module = False
        self.broadcast_buffers: bool = broadcast_buffers is not False
        self.forward_sync_buffers: bool = (
            self.broadcast_buffers if forward_sync_buffers is None else forward_sync_buffers
        )
        self.find_unused_parameters: bool = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph: bool = static_graph
        self.skip_all_reduce_unused_params = skip_all_reduce_unused_params
        self.mixed_precision: None = None
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.bucket_bytes_cap: int = (
            _reducer.DEFAULT_CAP if bucket_cap_mb is None else int(bucket_cap_mb * (1 << 20))
        )
        self._comm_hooks: list[tuple[Callable[..., Any], Any]] = []
        buffers = [
            (name, b) for name, b in module.named_buffers() if name not in self.parameters_to_ignore
        ]
        self.modules_buffers: list[Tensor] = [b for _, b in buffers]
        self.named_module_buffers: dict[str, Tensor] = dict(buffers)
        if init_sync:
            _reducer.verify(self.process_group, named)
            _reducer.broadcast_coalesced(
                self.process_group, [p for _, p in named] + self.modules_buffers
            )
        self._build_reducer(named)

    def _build_reducer(self, named: list[tuple[str, Any]]) -> None:

        sparse = {
            id(p)
            for m in self.module.modules()
            if getattr(m, "sparse", False)
            for p in m.parameters(recurse=False)
        }
        trained = [(name, p) for name, p in named if p.requires_grad]
        self.reducer: Any = _reducer.Reducer(
            trained,
            [id(p) in sparse for _, p in trained],
            self.process_group,
            self.bucket_bytes_cap,
            self.find_unused_parameters,
            self.gradient_as_bucket_view,
            self.static_graph,
        )

    def forward(self, *inputs: object, **kwargs: object) -> Any:
        syncs = _core.is_grad_enabled() and self.require_backward_grad_sync
        if _core.is_grad_enabled():
            self.reducer.check_finished()
        if self._join_config.enable:
            _uneven.begin(self, syncs)
        if self._sends_buffers():
            self._sync_buffers()
        if self.device_ids:
            inputs, kwargs = tree_map(self._brought, (inputs, kwargs))
        output = self.module(*inputs, **kwargs)
        if syncs:
            self.require_forward_param_sync = True
            looks = self.find_unused_parameters or self.static_graph
            self.reducer.prepare(_tensors(output) if looks else ())
        else:
            self.require_forward_param_sync = False
            self.reducer.skip()
        return output

    def _brought(self, value: object) -> object:
        """An input on the module's device."""
        return value.to(self.device) if isinstance(value, Tensor) else value

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Gradients of forwards within the block add up in each process, and are not averaged."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def _set_static_graph(self) -> None:
        """As static_graph=True; before the first iteration."""
        if self.static_graph:
            return
        self.static_graph = self.reducer.static = True
        self.find_unused_parameters = False

    def train(self, mode: bool = True) -> DistributedDataParallel:
        """Set the mode of the module."""
        super().train(mode)
        return self

    # ---- hooks

    def register_comm_hook(self, state: object, hook: Callable[..., object]) -> None:
        """Reduce each bucket by `hook(state, bucket)`, which gives a Future of the flat result.

        The hook divides, if a mean is wanted. Raises RuntimeError for a second hook, TypeError and
        ValueError for one that does not take a `torch.distributed.GradBucket`.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        signature = inspect.signature(hook)
        taken = signature.parameters.get("bucket")
        if taken is not None and taken.annotation not in (
            inspect.Parameter.empty,
            _reducer.GradBucket,
            "dist.GradBucket",
            "torch.distributed.GradBucket",
            "GradBucket",
            "Any",
        ):
            raise ValueError("Communication hook: bucket annotation should be dist.GradBucket.")
        given = signature.return_annotation
        if given is not inspect.Signature.empty and "Future" not in str(given):
            raise ValueError(
                "Communication hook: return annotation should be torch.futures.Future[torch.Tensor]"
                "."
            )
        self._take_hook(hook, state)

    def _take_hook(self, hook: Callable[..., object], state: object) -> None:
        if self._comm_hooks:
            raise RuntimeError(
                "register_comm_hook or register_builtin_comm_hook can only be called once."
            )
        self._comm_hooks.append((hook, state))
        self.reducer.hook, self.reducer.state = hook, state

    def _register_builtin_comm_hook(self, comm_hook_type: Any) -> None:
        """Reduce by a hook that is here: BuiltinCommHookType.ALLREDUCE or FP16_COMPRESS."""
        self._take_hook(_reducer.BUILTIN[comm_hook_type], self.process_group)

    # ---- buffers

    def _sends_buffers(self) -> bool:
        """Whether a forward begins with the buffers."""
        wanted = self.forward_sync_buffers and self.require_forward_param_sync
        return bool(wanted and self.modules_buffers)

    def _sync_buffers(self) -> None:
        """The buffers become those of rank 0; in a `join`, of the last rank that has inputs."""
        root = 0
        if self._join_config.enable:
            root = self._find_common_rank(True)
        _reducer.broadcast_coalesced(self.process_group, self.modules_buffers, root)

    def _find_common_rank(self, takes_part: bool) -> int:
        """The highest of the group's ranks that takes part."""
        found = rl.tensor([self.process_group.rank() if takes_part else -1])
        all_reduce(found, ReduceOp.MAX, self.process_group)
        return int(found)

    # ---- uneven inputs

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Any:
        """A block in which processes may have different numbers of batches.

        divide_by_initial_world_size: the mean is over all processes, with zeros for processes
        without a batch; else over the processes with a batch. throw_on_early_termination:
        RuntimeError in all processes when a process has no more batches.
        """
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook for a `Join`: takes part in the other processes' steps without an input."""
        return _uneven.hook_of(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> Any:
        """Where the parameters are."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The group whose mean is taken."""
        return self.process_group

    def _tell_joined(self, syncs: bool) -> None:

        _uneven.begin(self, syncs)

    @classmethod
    def _set_params_and_buffers_to_ignore_for_model(cls, module: Module, names: object) -> None:
        """Leave parameters and buffers of these names to each process."""
        setattr(module, _IGNORED, names)


def _tensors(output: Any) -> list[Tensor]:
    """The tensors in what a forward gave: of lists, tuples, dicts and dataclasses."""
    if isinstance(output, Tensor):
        return [output]
    if isinstance(output, (list, tuple)):
        return [t for part in output for t in _tensors(part)]
    if isinstance(output, dict):
        return [t for part in output.values() for t in _tensors(part)]
    if hasattr(output, "__dataclass_fields__"):
        return [t for name in output.__dataclass_fields__ for t in _tensors(getattr(output, name))]
    return []
