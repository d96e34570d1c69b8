"""`fully_shard`: the parameters of a module divided over processes while they are not in use.

A `_Parameters` is what one call divides. Before its module's forward one all-gather makes the
parameters whole; after it their memory is given back, and the graph keeps empty parameters, which
are filled again before the backward. When all gradients are there, one reduce-scatter makes the
mean of each process's part, which becomes `.grad` of the divided parameter.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

from ... import _root as rl
from ... import nn
from ..._base.missing import missing_name as _missing_name
from ..._base.pytree import tree_leaves, tree_map_only
from ..._core import Tensor, queue_callback
from ...autograd import _unsafe_preserve_version_counter
from .. import _groups
from .._collectives import all_gather_into_tensor, reduce_scatter_tensor
from .._options import ReduceOp
from ..tensor._dtensor import Divided, DTensor, bounds, checked_mesh, part_of
from ..tensor._placements import Shard

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]

_STATE = "_rushlight_fsdp"


@dataclasses.dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The types of parameters, gradients and results: kept."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


class _One:
    """One parameter, and all places of modules that have it."""

    def __init__(self, name: str, parameter: Tensor) -> None:
        self.name, self.original = name, parameter
        self.places: list[tuple[nn.Module, str]] = []
        self.shape = parameter.shape
        self.rest = 1  # elements of a row
        for size in parameter.shape[1:]:
            self.rest *= size
        self.divided: Any = None
        self.kept: Any = None  # the whole parameter; weak where only a graph needs it
        self.seen = -1  # the version of the divided one that was gathered

    def register(self, parameter: Any) -> None:
        """Give a parameter to all places."""
        for module, name in self.places:
            module._parameters[name] = parameter

    def whole(self) -> Any:
        """The whole parameter; None where there is none."""
        return self.kept() if isinstance(self.kept, weakref.ref) else self.kept


def _leaf_of(value: object, depth: int = 0) -> Iterator[Tensor]:
    """The tensors of a result, also of objects that are no known containers."""
    for leaf in tree_leaves(value):
        if isinstance(leaf, Tensor):
            yield leaf
        elif isinstance(leaf, dict) and depth < 4:
            yield from _leaf_of(dict(leaf), depth + 1)
        elif depth < 4 and not isinstance(leaf, nn.Module) and hasattr(leaf, "__dict__"):
            yield from _leaf_of(list(vars(leaf).values()), depth + 1)


class _Parameters:
    """The parameters that one call of `fully_shard` divides, gathers and frees."""

    def __init__(
        self,
        modules: list[nn.Module],
        mesh: Any,
        reshard: Any,
        policy: Any,
        ignored: object,
    ) -> None:
        self.modules, self.mesh, self.policy = modules, mesh, policy
        self.count, self.rank = mesh.size(), mesh.get_local_rank()
        self.after_forward: Any = reshard
        self.after_backward = self.sync = True
        self.divide_factor: float | None = None
        self.is_root: bool | None = None
        self.gathered = self.in_backward = False
        self.running: set[int] = set()
        self.arrived: set[int] = set()
        self.all = list(_found(modules, ignored))
        for one in self.all:
            self._divide(one)

    def _divide(self, one: _One) -> None:
        original: Any = one.original
        part = part_of(original.detach(), self.mesh, Shard(0)).clone()
        divided: Any = DTensor._made(
            part, self.mesh, Shard(0), original.shape, original.requires_grad
        )
        divided._is_param = True
        one.divided = divided
        one.register(divided)
        _divided[id(original)] = weakref.ref(original)
        del one.original

    # ---- gathering

    def _resolve(self) -> None:
        """Take parameters that the program has put into the places of divided ones."""
        for one in self.all:
            module, name = one.places[0]
            found = module._parameters.get(name)
            if found is one.divided:
                continue
            if not isinstance(found, DTensor) or found._placement != Shard(0):
                raise RuntimeError(
                    f"Parameter {one.name} was divided by fully_shard, and {type(found).__name__} "
                    "was put into its place: put a DTensor of the same placement there, or write "
                    "to the parameter with copy_."
                )
            one.divided = found
            one.register(found)

    def _rows(self, one: _One) -> int:
        return -(-one.shape[0] // self.count)

    def _by_type(self, ones: list[_One], chosen: object) -> Iterator[tuple[object, list[_One]]]:
        """The parameters by the type that they travel in."""
        kinds: dict[object, list[_One]] = {}
        for one in ones:
            own = one.divided.dtype
            kind = chosen if chosen is not None and own.is_floating_point else own
            kinds.setdefault(kind, []).append(one)
        yield from kinds.items()

    def gather(self) -> None:
        """Make the parameters whole and give them to the modules."""
        if self.gathered:
            if all(one.divided._version == one.seen for one in self.all):
                return
        else:
            self._resolve()
        with rl.no_grad():
            for kind, ones in self._by_type(self.all, self.policy.param_dtype):
                self._gather(kind, ones)
        for one in self.all:
            one.seen = one.divided._version
            one.register(one.whole())
        self.gathered = True

    def _gather(self, kind: Any, ones: list[_One]) -> None:
        widths = [self._rows(one) * one.rest for one in ones]
        source = rl.zeros(sum(widths), dtype=kind, device="cpu")
        for one, place in zip(ones, source.split(widths), strict=True):
            part = one.divided.to_local()
            place[: part.numel()].copy_(part.reshape(-1))
        found = rl.empty(self.count, source.numel(), dtype=kind, device="cpu")
        if found.numel():
            all_gather_into_tensor(found.view(-1), source, group=self.mesh.get_group())
        for one, places in zip(ones, found.split(widths, 1), strict=True):
            whole = self._place(one, kind)
            with _unsafe_preserve_version_counter(whole):
                self._unpack(one, whole.detach(), places)

    def _place(self, one: _One, kind: Any) -> Any:
        """The whole parameter, with memory."""
        whole = one.whole()
        if whole is None or whole.dtype != kind:
            # Memory that the storage asked for itself, by growing, is given back when it shrinks.
            memory = rl.empty(0, dtype=kind, device=one.divided.to_local().device)
            steps = rl.empty(one.shape, dtype=kind, device="meta").stride()
            storage = memory.untyped_storage()
            storage.resize_(one.shape.numel() * kind.itemsize)
            whole = nn.Parameter(memory.set_(storage, 0, one.shape, steps))
            whole.requires_grad_(one.divided.requires_grad)
            if whole.requires_grad:
                self._watch(one, whole)
        else:
            whole.untyped_storage().resize_(whole.numel() * whole.element_size())
        one.kept = whole
        return whole

    def _watch(self, one: _One, whole: Any) -> None:
        own, key = weakref.ref(self), id(one)

        def arrived(_: Tensor) -> None:
            parameters = own()
            if parameters is not None:
                parameters._arrive(key, one.name)

        whole.register_post_accumulate_grad_hook(arrived)

    def _unpack(self, one: _One, whole: Tensor, places: Tensor) -> None:
        rows = self._rows(one)
        if rows * self.count == one.shape[0]:
            whole.view(self.count, -1).copy_(places)
            return
        for rank in range(self.count):
            begin, end = bounds(one.shape[0], self.count, rank)
            if end > begin:
                flat = places[rank, : (end - begin) * one.rest]
                whole[begin:end].copy_(flat.view(whole[begin:end].shape))

    def free(self) -> None:
        """Give the memory of whole parameters back, and the divided ones to the modules."""
        if not self.gathered:
            return
        self.gathered = False
        for one in self.all:
            one.register(one.divided)
            whole = one.whole()
            whole.untyped_storage().resize_(0)
            one.kept = whole if whole.grad is not None else weakref.ref(whole)

    # ---- forward

    def before_forward(self, module: nn.Module, args: object, kwargs: object) -> Any:
        """The hook before the module's forward."""
        if self.is_root is None:
            for other in _states(self.modules):
                other.is_root = False
            self.is_root = True
        if not self.running:
            self.running = {id(m) for m in self.modules}
        self.gather()
        kind = self.policy.param_dtype
        if kind is not None and self.policy.cast_forward_inputs:
            return _cast((args, kwargs), kind)
        return args, kwargs

    def after_module(self, module: nn.Module, args: object, output: Any) -> Any:
        """The hook after the module's forward."""
        self.running.discard(id(module))
        if self.policy.output_dtype is not None:
            output = _cast(output, self.policy.output_dtype)
        watched = False
        if rl.is_grad_enabled():
            for leaf in _leaf_of(output):
                if leaf.requires_grad:
                    leaf.register_hook(self._before_backward)
                    watched = True
        if self.in_backward or self.running:
            return output
        asked = self.after_forward
        if asked is None:
            asked = not self.is_root
        needed = rl.is_grad_enabled() and any(one.divided.requires_grad for one in self.all)
        # A graph that no tensor of the output leads to would find the parameters empty.
        if not rl.is_grad_enabled() or (asked and (watched or not needed)):
            self.free()
        return output

    # ---- backward

    def _before_backward(self, gradient: Tensor) -> None:
        if self.in_backward:
            return
        if not self.gathered:
            self._check_unchanged()
        self.in_backward = True
        self.arrived.clear()
        queue_callback(self._finish)
        self.gather()

    def _check_unchanged(self) -> None:
        for one in self.all:
            if one.seen != one.divided._version:
                raise RuntimeError(
                    f"Parameter {one.name} was modified by an inplace operation between the "
                    "forward and the backward of its module: it is gathered again for the "
                    "backward, which would not have the values of the forward. Step the "
                    "optimizer after the backward."
                )

    def _arrive(self, key: int, name: str) -> None:
        if not self.gathered:
            raise RuntimeError(
                f"The gradient of parameter {name} is there while the parameter is divided: no "
                "tensor of its module's result leads to it. Return what the loss is made of from "
                "forward, or use fully_shard(..., reshard_after_forward=False)."
            )
        if not self.in_backward:
            self.in_backward = True
            self.arrived.clear()
            queue_callback(self._finish)
        self.arrived.add(key)
        if len(self.arrived) == sum(one.divided.requires_grad for one in self.all):
            if self.sync:
                self._reduce()
            # A parameter without gradient may still be in use below.
            if self.after_backward and len(self.arrived) == len(self.all):
                self.free()
                self.in_backward = False

    def _finish(self) -> None:
        """The end of the backward."""
        if not self.in_backward:
            return
        self.in_backward = False
        if self.sync:
            self._reduce()
        if self.after_backward:
            self.free()

    def _reduce(self) -> None:
        """Make the mean of the gradients and give each process its part."""
        ones = [one for one in self.all if one.divided.requires_grad]
        if all(one.whole() is None or one.whole().grad is None for one in ones):
            return
        with rl.no_grad():
            chosen = self.policy.reduce_dtype or self.policy.param_dtype
            for kind, same in self._by_type(ones, chosen):
                self._scatter(kind, same)

    def _scatter(self, kind: Any, ones: list[_One]) -> None:
        """One reduce-scatter; at its end, for each parameter, how many processes used it."""
        widths = [self._rows(one) * one.rest for one in ones] + [len(ones)]
        source = rl.zeros(self.count, sum(widths), dtype=kind, device="cpu")
        *places, used = source.split(widths, 1)
        for i, (one, place) in enumerate(zip(ones, places, strict=True)):
            whole = one.whole()
            gradient = None if whole is None else whole.grad
            if gradient is None:
                continue
            used[:, i] = 1
            self._pack(one, place, gradient)
            whole.grad = None
        part = rl.empty(source.shape[1], dtype=kind, device="cpu")
        op = ReduceOp.AVG if self.divide_factor is None else ReduceOp.SUM
        reduce_scatter_tensor(part, source.view(-1), op, group=self.mesh.get_group())
        if self.divide_factor is not None:
            part.div_(self.divide_factor)
        *parts, used = part.split(widths)
        counts = used.tolist()
        for one, own, count in zip(ones, parts, counts, strict=True):
            if count:
                self._give(one, own)

    def _pack(self, one: _One, place: Tensor, gradient: Tensor) -> None:
        if self._rows(one) * self.count == one.shape[0]:
            place.copy_(gradient.reshape(self.count, -1))
            return
        for rank in range(self.count):
            begin, end = bounds(one.shape[0], self.count, rank)
            place[rank, : (end - begin) * one.rest].copy_(gradient[begin:end].reshape(-1))

    def _give(self, one: _One, own: Tensor) -> None:
        divided = one.divided
        local = divided.to_local()
        part = own[: local.numel()].view(local.shape).to(local)
        if divided.grad is None:
            divided.grad = divided._like(part)
        else:
            divided.grad.to_local().add_(part)


# The whole parameters that were divided: a module that still has such a parameter shares it.
_divided: dict[int, weakref.ref[Tensor]] = {}


def _found(modules: list[nn.Module], ignored: Any) -> Iterator[_One]:
    """The parameters of modules without those of modules inside that were divided before."""
    left_out = {id(p) for p in ignored or ()}
    ones: dict[int, _One] = {}

    def visit(module: nn.Module, prefix: str) -> None:
        if _STATE in module.__dict__:
            return
        for name, parameter in module._parameters.items():
            if parameter is None or id(parameter) in left_out:
                continue
            full = f"{prefix}{name}"
            known = _divided.get(id(parameter))
            if known is not None and known() is parameter:
                raise ValueError(
                    f"Parameter {full} is also one of a module inside that fully_shard was given "
                    "before: the two would be divided apart. Give both modules in one call, "
                    "fully_shard([first, second])."
                )
            if parameter.dim() == 0:
                raise ValueError(
                    f"fully_shard doesn't support scalar parameters. Change {full} to a 1D tensor "
                    "with numel equal to 1."
                )
            one = ones.setdefault(id(parameter), _One(full, parameter))
            one.places.append((module, name))
        for name, child in module.named_children():
            visit(child, f"{prefix}{name}.")

    seen: set[int] = set()
    for module in modules:
        if id(module) not in seen:
            seen.add(id(module))
            visit(module, "")
    return iter(ones.values())


def _states(modules: Iterable[nn.Module]) -> list[_Parameters]:
    """The divided parameters of modules and the modules below, each once."""
    found = {}
    for module in modules:
        for inner in module.modules():
            state = inner.__dict__.get(_STATE)
            if state is not None:
                found[id(state)] = state
    return list(found.values())


def _cast(values: object, kind: Any) -> Any:
    def cast(tensor: Tensor) -> Tensor:
        return tensor.to(kind) if tensor.is_floating_point() else tensor

    return tree_map_only(Tensor, cast, values)


class UnshardHandle:
    """Waits for parameters: they are there."""

    def wait(self) -> None:
        """Nothing to wait for."""


class FSDPModule(Divided):
    """A module that `fully_shard` was given: `fully_shard` adds this class to its own."""

    def _own(self) -> list[_Parameters]:
        state = self.__dict__.get(_STATE)
        return [] if state is None else [state]

    def _each(self, recurse: bool) -> list[_Parameters]:
        return _states([self]) if recurse else self._own()  # type: ignore[list-item]

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Make this module's own parameters whole."""
        for state in self._own():
            state.gather()
        return UnshardHandle() if async_op else None

    def reshard(self) -> None:
        """Give the memory of this module's own whole parameters back."""
        for state in self._own():
            state.free()

    def set_requires_gradient_sync(
        self, requires_gradient_sync: bool, *, recurse: bool = True
    ) -> None:
        """Whether a backward reduces gradients; without, each process adds up its own."""
        for state in self._each(recurse):
            state.sync = requires_gradient_sync

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Whether the next backward is the last one of a step: each is complete by itself."""

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Whether gradients are reduced over the second dimension of a mesh: it has one."""

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether the parameters' memory is given back after a forward."""
        for state in self._each(recurse):
            state.after_forward = reshard_after_forward

    def set_reshard_after_backward(
        self, reshard_after_backward: bool, *, recurse: bool = True
    ) -> None:
        """Whether the parameters' memory is given back after a backward."""
        for state in self._each(recurse):
            state.after_backward = reshard_after_backward

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Set the divisor of the sum of gradients, instead of the number of processes."""
        for state in self._own():
            state.divide_factor = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def set_modules_to_forward_prefetch(self, modules: list[Any]) -> None:
        """Changes nothing: each module gathers when it runs, and none early."""

    set_modules_to_backward_prefetch = set_modules_to_forward_prefetch

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Whether a backward gathers: always, where it uses the parameters."""

    def set_force_sum_reduction_for_comms(self, enable: bool) -> None:
        """Which reduction makes the mean: the mean is the same."""


def fully_shard(
    module: Any,
    *,
    mesh: Any = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: object = None,
    mp_policy: object = None,
    offload_policy: object = None,
    ignored_params: object = None,
    dp_mesh_dims: object = None,
) -> Any:
    """Divide a module's parameters over the processes of a mesh; returns the module.

    Its parameters become DTensors of which each process has some rows. They are gathered before
    its forward and backward, and freed after each; gradients are means over the processes. Call
    it for the modules inside first: each call is one gathering. The outermost one frees after
    its backward only, unless `reshard_after_forward` is True. With one process, the parameters
    stay as they are. `offload_policy` changes nothing: all parameters are on the CPU.
    """
    modules = [module] if isinstance(module, nn.Module) else list(module)
    for own in modules:
        if isinstance(own, nn.ModuleList | nn.ModuleDict):
            raise ValueError(
                f"fully_shard does not support containers that do not implement forward: {own}"
            )
    if shard_placement_fn is not None:
        raise NotImplementedError("fully_shard divides dimension 0: leave shard_placement_fn out")
    for own in modules:
        _add_class(own)
    if mesh is None and not _groups.is_initialized():
        return module
    mesh = checked_mesh(mesh)
    if mesh.size() == 1:
        return module
    policy = MixedPrecisionPolicy() if mp_policy is None else mp_policy
    reshard: Any = None if reshard_after_forward is None else bool(reshard_after_forward)
    state = _Parameters(modules, mesh, reshard, policy, ignored_params)
    for own in modules:
        own.__dict__[_STATE] = state
        own.register_forward_pre_hook(state.before_forward, prepend=True, with_kwargs=True)
        own.register_forward_hook(state.after_module)
        own.register_state_dict_pre_hook(lambda *_: state.free())
    return module


_classes: dict[type, type] = {}


def _add_class(module: nn.Module) -> None:
    own = type(module)
    if issubclass(own, FSDPModule):
        if _STATE in module.__dict__:
            raise AssertionError("fully_shard was given this module before")
        return
    if own not in _classes:
        _classes[own] = type(f"FSDP{own.__name__}", (FSDPModule, own), {"__doc__": own.__doc__})
    module.__class__ = _classes[own]


def register_fsdp_forward_method(module: nn.Module, method_name: str) -> None:
    """Have a method gather and free parameters as `forward` does."""
    state = module.__dict__.get(_STATE)
    if state is None:
        return
    plain = getattr(module, method_name)

    def method(*args: object, **kwargs: object) -> Any:
        args, kwargs = state.before_forward(module, args, kwargs)
        return state.after_module(module, args, plain(*args, **kwargs))

    setattr(module, method_name, method)


__getattr__ = _missing_name(__name__)
