"""`DTensor`: a tensor of which each process of a mesh has a part, or all.

Its memory is the process's part; its shape is that of the whole. `__torch_function__` decides for
each function: facts are told of the whole, functions of single elements run on the parts, and for
all others the parts are gathered first. A call that would lose a gradient or a write is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ... import _root as rl
from ..._base.pytree import tree_leaves, tree_map_only
from ..._core import Tensor
from ..._torch._utils import DisableTorchFunctionSubclass
from ...ops.table.statement import is_elementwise
from .. import _groups
from .._collectives import all_gather_into_tensor, all_reduce, broadcast
from ._placements import Partial, Placement, Replicate, Shard

_plainly = DisableTorchFunctionSubclass


class Divided:
    """A module whose parameters are DTensors except while it computes."""

    def reshard(self) -> None:
        """Make them DTensors now."""
        raise NotImplementedError


class WholeGroup:
    """The default group as a mesh of one dimension."""

    ndim, device_type, mesh_dim_names = 1, "cpu", None

    def size(self, mesh_dim: int | None = None) -> int:
        """How many processes there are."""
        return self.get_group().size() if _groups.is_initialized() else 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the mesh."""
        return (self.size(),)

    def get_group(self, mesh_dim: Any = None) -> Any:
        """The default group."""
        return _groups.default_group()

    def get_local_rank(self, mesh_dim: Any = None) -> int:
        """The place of this process."""
        return _groups.get_rank() if _groups.is_initialized() else 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WholeGroup)

    def __hash__(self) -> int:
        return hash(WholeGroup)

    def __repr__(self) -> str:
        return f"DeviceMesh({list(range(self.size()))})"


def bounds(size: int, parts: int, place: int) -> tuple[int, int]:
    """Where a process's part of a dimension begins and ends: `torch.chunk`'s parts."""
    each = -(-size // parts)
    return min(place * each, size), min((place + 1) * each, size)


def checked_mesh(mesh: Any) -> Any:
    """A mesh of one dimension; the default group for None."""
    if mesh is None:
        return WholeGroup()
    if mesh.ndim != 1:
        raise NotImplementedError(
            f"The mesh has {mesh.ndim} dimensions: tensors are divided over meshes of one. Take "
            "one of its dimensions, as mesh['dp']."
        )
    return mesh


def checked_placement(placements: Any, dims: int) -> Placement:
    """The one placement of a mesh of one dimension."""
    found = tuple(placements) if placements is not None else (Replicate(),)
    if len(found) != 1 or not isinstance(found[0], Placement):
        raise ValueError(
            f"`placements` must have the same length as `device_mesh.ndim`! Found placements "
            f"{found} for a mesh of 1 dimension."
        )
    placement = found[0]
    if isinstance(placement, Shard):
        dim = placement.dim + dims if placement.dim < 0 else placement.dim
        if not 0 <= dim < dims:
            raise ValueError(f"Shard(dim={placement.dim}) of a tensor of {dims} dimensions")
        return Shard(dim)
    return placement


def part_of(whole: Tensor, mesh: Any, placement: Placement) -> Tensor:
    """The part of a tensor, a view, that this process has."""
    if not isinstance(placement, Shard):
        return whole
    begin, end = bounds(whole.shape[placement.dim], mesh.size(), mesh.get_local_rank())
    return whole.narrow(placement.dim, begin, end - begin)


def whole_of(part: Tensor, shape: Sequence[int], mesh: Any, placement: Placement) -> Tensor:
    """The whole tensor, on each process, out of all parts."""
    count = mesh.size()
    if isinstance(placement, Replicate) or count == 1:
        return part.clone()
    if isinstance(placement, Partial):
        total = part.clone(memory_format=rl.contiguous_format)
        all_reduce(total, placement.op(), group=mesh.get_group())
        return total
    assert isinstance(placement, Shard)
    dim = placement.dim
    others = [size for i, size in enumerate(shape) if i != dim]
    each = -(-shape[dim] // count)
    source = part.new_zeros([each, *others])
    source[: part.shape[dim]].copy_(part.movedim(dim, 0))
    found = part.new_empty([count * each, *others])
    if found.numel():
        all_gather_into_tensor(found, source, group=mesh.get_group())
    return found[: shape[dim]].movedim(0, dim).contiguous()


# Beside ops of elements, what each process runs on its part; without `_foreach_` and a last `_`.
_OF_ELEMENTS = frozenset(
    """abs alias bfloat16 clamp clone cpu detach double empty_like fill float full_like half
    nan_to_num ones_like where zero zeros_like""".split()
)
_CONVERSIONS = frozenset(["to", "type", "type_as"])
# Facts of the object, the same for the part and the whole.
_OF_OBJECT = frozenset(
    """requires_grad grad grad_fn is_leaf dtype device layout names ndim is_cuda is_cpu is_meta
    is_sparse is_quantized is_nested is_mkldnn is_mps is_xpu is_inference itemsize output_nr
    retains_grad _version _backward_hooks _post_accumulate_grad_hooks requires_grad_ register_hook
    register_post_accumulate_grad_hook retain_grad is_complex is_floating_point is_signed dim
    ndimension element_size get_device is_pinned is_shared __hash__ is_sparse_csr _is_view
    is_conj is_neg is_coalesced _grad_fn data_ptr is_contiguous grad_dtype""".split()
)
_RANDOM = frozenset(
    """rand_like randn_like randint_like bernoulli dropout alpha_dropout feature_alpha_dropout
    dropout1d dropout2d dropout3d multinomial normal poisson binomial rrelu
    gumbel_softmax""".split()
)
_OF_MEMORY = frozenset(
    """set_ resize_ resize_as_ share_memory_ apply_ map_ backward untyped_storage storage
    _typed_storage numpy __array__ __dlpack__""".split()
)
_WITHOUT_GRADIENT = frozenset(
    """detach zeros_like ones_like full_like empty_like eq ne lt le gt ge isnan isinf isfinite
    argmax argmin equal allclose item tolist""".split()
)


def _base_name(name: str) -> str:
    return name.removeprefix("_foreach_").strip("_")


def _writes(name: str) -> bool:
    """Whether a function writes to its first argument."""
    if name.startswith("__"):
        return name == "__setitem__" or (
            name[2:3] == "i"
            and name[3:-2] in "add sub mul truediv floordiv pow mod and or xor".split()
        )
    return name.endswith("_")


class DTensor(Tensor):
    """A tensor of which each process of a mesh has a part, or all.

    `DTensor.from_local`, `distribute_tensor` and `fully_shard` make them.
    """

    _mesh: Any
    _placement: Placement
    _whole_shape: Any
    _is_copied_view: bool

    def __new__(cls, *args: Any, **kwargs: object) -> Any:
        """Refused: see `DTensor.from_local`."""
        raise TypeError("A DTensor is made by DTensor.from_local or by distribute_tensor.")

    @classmethod
    def _made(
        cls,
        part: Tensor,
        mesh: object,
        placement: Placement,
        shape: Sequence[int],
        requires_grad: bool = False,
    ) -> DTensor:
        """The tensor of which this process has a part, whose memory it shares."""
        with _plainly():
            made: Any = Tensor._make_subclass(cls, part, requires_grad)
        made._mesh, made._placement, made._whole_shape = mesh, placement, rl.Size(shape)
        made._is_copied_view = False
        return made

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: Any = None,
        placements: Any = None,
        *,
        run_check: bool = False,
        shape: Any = None,
        stride: Any = None,
        grad_placements: Any = None,
    ) -> DTensor:
        """The tensor of which `local_tensor` is this process's part; it shares its memory.

        Without `shape` all parts are taken to be as large. No gradient goes through it.
        """
        if local_tensor.requires_grad and rl.is_grad_enabled():
            raise NotImplementedError(
                "DTensor.from_local has no gradient here: give it a tensor that requires none, "
                "as tensor.detach()."
            )
        mesh = checked_mesh(device_mesh)
        placement = checked_placement(placements, local_tensor.dim())
        sizes = list(local_tensor.shape)
        if isinstance(placement, Shard) and shape is None:
            sizes[placement.dim] *= mesh.size()
        whole = sizes if shape is None else list(shape)
        if isinstance(placement, Shard):
            begin, end = bounds(whole[placement.dim], mesh.size(), mesh.get_local_rank())
            sizes = list(whole)
            sizes[placement.dim] = end - begin
        else:
            sizes = whole
        if list(local_tensor.shape) != sizes:
            raise ValueError(
                f"The part has shape {tuple(local_tensor.shape)}, and this process's part of "
                f"shape {tuple(whole)} has shape {tuple(sizes)}."
            )
        return DTensor._made(local_tensor, mesh, placement, whole)

    @property
    def device_mesh(self) -> Any:
        """The mesh of processes."""
        return self._mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """How the tensor lies in each dimension of the mesh."""
        return (self._placement,)

    @property
    def shape(self) -> Any:
        """The sizes of the whole."""
        return self._whole_shape

    @property
    def _local(self) -> Tensor:
        with _plainly():
            return Tensor._make_subclass(Tensor, self, False)

    def to_local(self, *, grad_placements: Any = None) -> Tensor:
        """This process's part: the memory itself. No gradient goes through it."""
        return self._local

    def full_tensor(self, *, grad_placements: Any = None) -> Tensor:
        """The whole tensor, on each process. No gradient goes through it.

        All processes of the mesh have to call it.
        """
        with rl.no_grad():
            return whole_of(self._local, self._whole_shape, self._mesh, self._placement)

    def redistribute(
        self, device_mesh: Any = None, placements: Any = None, *, async_op: bool = False
    ) -> DTensor:
        """The tensor as it lies elsewhere; all processes of the mesh have to call it."""
        mesh = self._mesh if device_mesh is None else checked_mesh(device_mesh)
        placement = checked_placement(placements, len(self._whole_shape))
        if mesh != self._mesh or isinstance(placement, Partial):
            raise NotImplementedError("redistribute goes to Shard or Replicate on the same mesh")
        whole = self.full_tensor()
        part = part_of(whole, mesh, placement).clone()
        return DTensor._made(part, mesh, placement, self._whole_shape)

    def __repr__(self) -> str:
        return (
            f"DTensor(local_tensor={self._local}, device_mesh={self._mesh}, "
            f"placements={self.placements})"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        copy: Any = self._like(self._local.clone())
        copy.requires_grad_(self.requires_grad)
        if getattr(self, "_is_param", False):
            copy._is_param = True
        memo[id(self)] = copy
        return copy

    def __reduce_ex__(self, protocol: object) -> Any:
        raise NotImplementedError(
            "A DTensor is a part, and files have whole tensors: save tensor.full_tensor(), or "
            "the state dict of get_model_state_dict(model, options=StateDictOptions("
            "full_state_dict=True))."
        )

    def _like(self, part: Tensor) -> DTensor:
        return DTensor._made(part, self._mesh, self._placement, self._whole_shape)

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name: str = getattr(func, "__name__", "")
        kwargs = kwargs or {}
        if name in ("__get__", "__set__", "__delete__"):
            attribute = getattr(func.__self__, "__name__", "")
            return _attribute(attribute, name, func, args)
        if name in _OF_OBJECT:
            with _plainly():
                return func(*args, **kwargs)
        fact = _FACTS.get(name)
        if fact is not None and isinstance(args[0], DTensor):
            return fact(*args, **kwargs)
        if name in _OF_MEMORY:
            raise NotImplementedError(
                f"{name} of a DTensor: its memory is a part. Take tensor.to_local(), or the whole "
                "by tensor.full_tensor(), which is also what can be saved."
            )
        return _run(name, func, args, kwargs)


DTensor.__module__ = "rushlight.distributed.tensor"


def _attribute(attribute: str, access: str, func: Any, args: Any) -> object:
    """Read or write an attribute."""
    self = args[0]
    if attribute == "data":
        if access == "__get__":
            return self._like(self._local)
        value = args[1]
        if not isinstance(value, DTensor) or value._placement != self._placement:
            raise RuntimeError(
                f"`.data` of a DTensor with placements {self.placements} takes a DTensor with the "
                f"same, and was given {type(value).__name__}."
            )
        self._whole_shape = value._whole_shape
        with _plainly():
            func(self, value._local, *args[2:])
        return None
    if attribute == "grad" and access == "__set__" and isinstance(args[1], Tensor):
        grad = args[1]
        if not isinstance(grad, DTensor) or grad._whole_shape != self._whole_shape:
            raise RuntimeError(
                f"The gradient of a DTensor of shape {tuple(self._whole_shape)} is a DTensor of "
                f"the same, not {type(grad).__name__} of shape {tuple(grad.shape)}."
            )
    if attribute == "nbytes":
        return math.prod(self._whole_shape) * self.element_size()
    if access != "__get__" or attribute in _OF_OBJECT:
        with _plainly():
            return func(*args)
    return _run(attribute, func, args, {})


def _stride(self: DTensor, dim: int | None = None) -> Any:
    steps = [math.prod(self._whole_shape[i + 1 :]) for i in range(len(self._whole_shape))]
    return tuple(steps) if dim is None else steps[dim]


_FACTS: dict[str, Callable[..., object]] = {
    "size": lambda t, dim=None: t._whole_shape if dim is None else t._whole_shape[dim],
    "numel": lambda t: math.prod(t._whole_shape),
    "nelement": lambda t: math.prod(t._whole_shape),
    "__len__": lambda t: t._whole_shape[0],
    "stride": _stride,
}


def _run(name: str, func: object, args: Any, kwargs: dict[str, object]) -> Any:
    """Run a function on the parts where that is the same, else on the whole."""
    tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
    spread = [t for t in tensors if isinstance(t, DTensor)]
    writes, base = _writes(name), _base_name(name)
    if rl.is_grad_enabled() and base not in _WITHOUT_GRADIENT:
        with _plainly():
            asks = any(t.requires_grad for t in tensors)
        if asks:
            raise NotImplementedError(
                f"{name} of a DTensor that requires grad: gradients reach parameters in the "
                "forward of the module that was given to fully_shard. Elsewhere use "
                "torch.no_grad(), or tensor.detach()."
            )
    first = args[0] if args else None
    if writes and isinstance(first, DTensor) and first._is_copied_view:
        raise NotImplementedError(
            f"{name} of a view of a DTensor: the view is a copy, whose writes would be lost. Write "
            "to tensor.to_local()."
        )
    if name == "copy_" and isinstance(first, DTensor) and type(args[1]) is not DTensor:
        source = args[1].expand(first._whole_shape)
        first._local.copy_(part_of(source, first._mesh, first._placement))
        return first
    model = next((t for t in spread if t._whole_shape), spread[0])
    each = getattr(Tensor, base, func) if name.startswith("_foreach_") else func
    if (
        (base in _OF_ELEMENTS or base in _CONVERSIONS or is_elementwise(each))
        and not isinstance(model._placement, Partial)
        and all(_goes_with(t, model) for t in tensors)
        and "out" not in kwargs
    ):
        return _on_parts(func, args, kwargs, model, writes)
    if base in _RANDOM and not writes:
        raise NotImplementedError(f"{name} of a DTensor: processes would draw different numbers.")
    return _on_whole(name, func, args, kwargs, model, writes)


def _goes_with(tensor: Tensor, model: DTensor) -> bool:
    """Whether the elements of a tensor meet those of the model on the same process."""
    if not isinstance(tensor, DTensor):
        return tensor.dim() == 0
    if not tensor._whole_shape:
        return isinstance(tensor._placement, Replicate)
    return (
        tensor._placement == model._placement
        and tensor._whole_shape == model._whole_shape
        and tensor._mesh == model._mesh
    )


def _on_parts(func: Any, args: Any, kwargs: object, model: DTensor, writes: bool) -> Any:
    own, named = tree_map_only(DTensor, lambda t: t._local, (args, kwargs))
    result = func(*own, **named)
    if writes:
        return args[0] if result is not None else None

    def made(part: Tensor) -> Tensor:
        return model._like(part) if part.shape == model._local.shape else part

    return tree_map_only(Tensor, made, result)


def _on_whole(name: str, func: Any, args: Any, kwargs: Any, model: DTensor, writes: bool) -> Any:
    if "out" in kwargs:
        raise NotImplementedError(f"{name} with DTensors and out=: assign its result.")
    wholes: dict[int, Tensor] = {}

    def gathered(tensor: DTensor) -> Tensor:
        if id(tensor) not in wholes:
            wholes[id(tensor)] = tensor.full_tensor()
        return wholes[id(tensor)]

    own, named = tree_map_only(DTensor, gathered, (args, kwargs))
    result = func(*own, **named)
    if writes:
        for target in tree_leaves(args[0]):
            if isinstance(target, DTensor):
                whole = wholes[id(target)]
                if whole.shape != target._whole_shape or isinstance(target._placement, Partial):
                    raise NotImplementedError(f"{name} of a DTensor {target.placements}")
                target._local.copy_(part_of(whole, target._mesh, target._placement))
        return args[0] if result is not None else None
    places = {w.untyped_storage().data_ptr() for w in wholes.values() if w.numel()}

    def made(tensor: Tensor) -> Tensor:
        found = DTensor._made(tensor.detach(), model._mesh, Replicate(), tensor.shape)
        found._is_copied_view = tensor.untyped_storage().data_ptr() in places
        return found

    return tree_map_only(Tensor, made, result)


def distribute_tensor(
    tensor: Tensor,
    device_mesh: object = None,
    placements: object = None,
    *,
    src_data_rank: int | None = 0,
) -> DTensor:
    """A tensor with its parts on the processes of a mesh; the values are those of rank 0 of it.

    src_data_rank: whose values they are; None: each process takes its part of its own tensor.
    """
    mesh = checked_mesh(device_mesh)
    placement = checked_placement(placements, tensor.dim())
    if isinstance(placement, Partial):
        raise RuntimeError("distribute_tensor takes Shard and Replicate placements, not Partial")
    whole = tensor.detach()
    if src_data_rank is not None and mesh.size() > 1:
        whole = whole.clone(memory_format=rl.contiguous_format)
        broadcast(whole, group=mesh.get_group(), group_src=src_data_rank)
    part = part_of(whole, mesh, placement).clone(memory_format=rl.contiguous_format)
    return DTensor._made(part, mesh, placement, tensor.shape, tensor.requires_grad)
