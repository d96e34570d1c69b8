"""A module whose gradients are averaged over processes; here there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..modules.module import Module


class DistributedDataParallel(Module):
    """The module itself, as the child `module`: gradients of one process are their own mean.

    It takes PyTorch's settings and needs no process group.

    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> with model.no_sync():
    ...     model(torch.zeros(3, 2)).sum().backward()
    >>> list(model.state_dict())
    ['module.weight', 'module.bias']
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__()
        if not any(parameter.requires_grad for parameter in module.parameters()):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter "
                "that requires a gradient."
            )
        self.module = module
        self.dim = dim
        self.device_ids = device_ids
        self.output_device = output_device
        self.process_group = process_group
        self.broadcast_buffers = broadcast_buffers is not False
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.require_backward_grad_sync = True

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Gradients of backwards within the block are not averaged yet: here nothing changes."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextmanager
    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Iterator[None]:
        """Processes with fewer inputs wait for the others: here there are none."""
        yield

    def register_comm_hook(self, state: Any, hook: Callable[..., Any]) -> None:
        """Accepted: there is nothing to communicate."""
