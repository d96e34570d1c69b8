"""Members of Tensor beside ops: text, conversions to Python, copies, pickling, devices."""

from __future__ import annotations

import copyreg
from numbers import Number
from typing import Any

from .. import _core
from .._base import dtypes, printing
from .._base.device import (
    accelerators,
    cpu,
    cuda,
    cuda_is_here,
    preserve_format,
    resolve,
    strided,
)
from .._base.dlpack import dlpack, dlpack_device
from .._base.errors import warn
from .._base.handles import warn_if_has_hooks
from .._base.late import late
from .._base.missing import missing_attribute
from .._base.outside import np, np_types
from .._base.pickled import OURS, dotted, root
from .._core import Tensor
from .._devices import cpu as on_cpu
from .._devices import of
from .._levels.opaque_array import ITEM, MEMORY
from .._levels.running import answered
from ..ops.table.arrays import Array, as_type, is_stored
from ..ops.table.names import publish
from ..ops.table.signature import dtype, memory_format, overloaded
from ..ops.table.statement import quietly
from ..storage import (
    LegacyType,
    TypedStorage,
    UntypedStorage,
    buffer_of,
    from_bytes,
    legacy_types,
    never,
    warn_of_typed,
)
from .rebuilding import _rebuild_from_type_v2 as _rebuild_from_type_v2
from .rebuilding import tensor_parts, with_bits
from .sparse_methods import METHODS as SPARSE_METHODS

__all__ = ["TensorType", "cuda_types", "memory_of", "tensor_types", "with_bits"]

_wrap = _core.wrap


# ---- text


def _suffixes(t: Any) -> list[str]:
    try:
        node = t.grad_fn
    except RuntimeError:
        return ["grad_fn=<Invalid>"]  # a view made under no_grad whose root was written since
    if node is not None:
        return [f"grad_fn=<{type(node).__name__}>"]
    return ["requires_grad=True"] if t.requires_grad else []


# Classes whose instances print as `tensor(...)`; nn.Parameter is another.
PRINTED_AS_TENSOR = {Tensor}


def text(self: Any) -> str:
    """The tensor as PyTorch prints it."""
    plain = type(self) in PRINTED_AS_TENSOR
    prefix = "tensor(" if plain else f"{type(self).__name__}("
    if self._on_meta:
        kind = [] if self.dtype is dtypes.get_default_dtype() else [f"dtype={self.dtype}"]
        notes = ["...", "device='meta'", f"size={tuple(self.shape)}", *kind, *_suffixes(self)]
        said = f"{prefix}{', '.join(notes)})"
    else:
        device = None if self._accelerator is None else str(self.device)
        said = printing.tensor_text(self, suffixes=_suffixes(self), prefix=prefix, device=device)
    return f"Parameter({said})" if not plain and getattr(self, "_is_param", False) else said


def _format(self: Any, spec: str) -> str:
    if self.dim() == 0 and type(self) is Tensor and not self._on_meta:
        return _format_number(self, spec)
    return object.__format__(self, spec)


@answered("no_value", ITEM)
def _format_number(self: Any, spec: str) -> str:
    return format(self.item(), spec)


# ---- Python values


@answered("no_value", MEMORY)
def tolist(self: Tensor) -> list[Any]:
    """The elements as nested lists; the number itself for 0 dimensions."""
    made = _core.to_list(self)
    if made is not NotImplemented:
        return made
    here = self._accelerator is None and of(self).has_memory
    array = (self if here else of(self).to_host(self))._array
    if is_stored(array.dtype):
        return as_type(array, np.dtype("F" if array.dtype.names else "f")).tolist()
    return array.astype(np.float32).tolist() if array.dtype.kind == "V" else array.tolist()


def _complex(self: Any) -> complex:
    if self.numel() != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return complex(self.item())


@answered("no_value", ITEM)
def _contains(self: Any, element: complex) -> bool:
    if isinstance(element, (Tensor, Number)):
        return bool((self == element).any())
    raise RuntimeError(
        f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
    )


def _reversed(self: Any) -> Any:
    return self.flip(0) if self.dim() else self


def _array_wrap(
    self: object, array: object, context: object = None, return_scalar: bool = False
) -> Any:
    return _wrap(np.array(array))


# ---- copies


def memory_of(self: Any) -> Array:
    """The array behind a tensor, with which a copy of the tensor also needs its two bits."""
    return self._array if self._wrapped is not None else self._seen


def _check_storage(self: Any) -> None:
    """Raise where a transform does not hand out a tensor's memory as a whole."""
    w = self._wrapped
    if w is not None:
        w.level.refuse_storage()


def _copied(self: Any, memo: dict[int, Any]) -> Any:
    """A plain copy; tensors of one storage have one in a copy of both."""
    lazy = self.is_conj() or self.is_neg()
    if self._accelerator is not None and lazy:
        return self.detach().clone()
    if self._wrapped is not None or lazy or min(self.stride(), default=0) < 0:
        return _wrap(self._array.copy(order="K"))
    storage = _core.storage_of(self).__deepcopy__(memo)
    place = (self.shape, self.stride(), self.storage_offset())
    return _core.place(storage, self.dtype, *place)


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    _check_storage(self)
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
            "because of a torch.nn.utils.weight_norm "
            "usage, see https://github.com/pytorch/pytorch/pull/103001\n"
            "Of a pruned module: call torch.nn.utils.prune.remove first, or the module once under "
            "torch.no_grad()."
        )
    if id(self) in memo:
        return memo[id(self)]
    import copy

    copied = _copied(self, memo) if of(self).has_memory else self.detach().clone()
    result = _core.make_subclass(type(self), copied, self.requires_grad)
    memo[id(self)] = result
    if self.grad is not None:
        result.grad = copy.deepcopy(self.grad, memo)
    if self.__dict__:
        result.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return result


def _rebuild_meta(cls: Any, layout: Any, requires_grad: bool, state: Any) -> Any:
    shape, dtype, strides = layout
    result = _core.empty_meta(shape, dtype.code, strides)
    if cls is not None or requires_grad:
        result = _core.make_subclass(cls or Tensor, result, requires_grad)
    if state:
        result.__dict__.update(state)
    return result


class _Values:
    """A tensor among what it is rebuilt of: itself for `copy.copy`, its values in a pickle."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def __reduce__(self) -> Any:
        """Its bytes, and how they are seen: in the order of memory where no memory is left out."""
        t = self.tensor.cpu()
        lazy = t.is_conj(), t.is_neg()
        t = with_bits(t.detach(), False, False)
        t = t if t.is_contiguous() else t.clone()
        begin, size = (n * t.element_size() for n in (t.storage_offset(), t.numel()))
        held = buffer_of(t.untyped_storage())[begin : begin + size]
        return _of_bytes, (bytes(held), t.dtype, tuple(t.shape), t.stride(), lazy)


def _of_bytes(held: bytes, dtype: dtype, shape: Any, strides: Any, lazy: Any) -> Tensor:
    made = _core.place(from_bytes(held), dtype, shape, strides, 0)
    return with_bits(made, *lazy)


def _rebuild(
    cls: object,
    array: Array,
    dtype: dtype,
    requires_grad: bool,
    state: object,
    lazy: tuple[bool, ...] = (False, False),
    order: tuple[int, ...] | None = None,
) -> Any:
    """A tensor of a pickle that version 0.13 or an earlier one wrote."""
    array = array.view(dtype.numpy) if dtype.name == "bfloat16" else array
    made = _wrap(array if order is None else array.transpose(np.argsort(order)))
    return _rebuilt(cls, _Values(with_bits(made, *lazy)), None, requires_grad, state)


def _rebuilt(cls: Any, values: Any, where: Any, requires_grad: bool, state: Any) -> Any:
    result = values.tensor if type(values) is _Values else values.to(where)
    if cls is not None or requires_grad:
        result = _core.make_subclass(cls or Tensor, result, requires_grad)
    if state:
        result.__dict__.update(state)
    return result


def _reduce_ex(self: Any, protocol: int) -> Any:
    _check_storage(self)
    if self._hooks is not None:
        warn_if_has_hooks(self)
    if root() != OURS:
        return tensor_parts(self)
    # Tensor itself is not named: programs know it as torch.Tensor and as rushlight.Tensor.
    cls = None if type(self) is Tensor else type(self)
    if not of(self).has_memory:
        layout = (tuple(self.shape), self.dtype, self.stride())
        return _rebuild_meta, (cls, layout, self.requires_grad, self.__dict__)
    values = _Values(_core.make_subclass(Tensor, self.detach()))
    return _rebuilt, (cls, values, self.device, self.requires_grad, self.__dict__)


# ---- device and type


def _cpu(self: Tensor, memory_format: memory_format | None = None) -> Any:
    """The tensor in main memory: itself where it is there."""
    plain = self._accelerator is None and not self._on_meta and memory_format is None
    return self if plain else self.to(cpu)


@overloaded(
    "(self: Tensor, device: device = None, non_blocking: bool = False, *, "
    "memory_format: memory_format | None = None)"
)
def _cuda(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    """The tensor on the device that stands for CUDA's: refused where none does."""
    return _to_cuda(self, *args, **kwargs)


def _to_cuda(
    self: Tensor, device: Any = None, non_blocking: bool = False, *, memory_format: Any = None
) -> Any:
    where = cuda(self.device if device is None and self.is_cuda else device)
    return self.to(where, memory_format=memory_format or preserve_format)


_TYPE_NAMES = {
    "FloatTensor": dtypes.float32,
    "DoubleTensor": dtypes.float64,
    "HalfTensor": dtypes.float16,
    "BFloat16Tensor": dtypes.bfloat16,
    "LongTensor": dtypes.int64,
    "IntTensor": dtypes.int32,
    "ShortTensor": dtypes.int16,
    "CharTensor": dtypes.int8,
    "ByteTensor": dtypes.uint8,
    "BoolTensor": dtypes.bool,
    "ComplexFloatTensor": dtypes.complex64,
    "ComplexDoubleTensor": dtypes.complex128,
}


@overloaded(
    "(self: Tensor) -> str",
    "(self: Tensor, dtype: dtype | str, non_blocking: bool = False) -> Tensor",
)
def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the legacy tensor type, or the tensor converted to a type."""
    if dtype is None:
        where = "meta." if self._on_meta else ""
        if self._accelerator is not None:
            where = f"{of(self).name.type}."
        return f"torch.{where}{self.dtype.scalar_name}Tensor"
    if isinstance(dtype, str):
        module, _, short = dtype.rpartition(".")
        if short not in _TYPE_NAMES:
            raise ValueError(f"invalid type: '{dtype}'")
        return _placed(self, _TYPE_NAMES[short], module == "torch.cuda")
    if isinstance(dtype, TensorType):
        return _placed(self, dtype.dtype, dtype.__module__ == "torch.cuda")
    if dtype is Tensor:
        dtype = dtypes.get_default_dtype()
    elif isinstance(dtype, type):
        raise ValueError(f"invalid type: '{dtype.__name__}'")
    return self.to(dtype)


def _placed(self: Tensor, dtype: dtype, on_cuda: bool) -> Any:
    """A tensor as a legacy type has it, which says the device too."""
    stays = self._accelerator is None and not on_cuda
    return self.to(dtype) if stays else self.to(cuda(None) if on_cuda else cpu, dtype)


class TensorType(type):
    """The legacy constructors: torch.FloatTensor and its like."""

    dtype: Any

    def __new__(mcs, name: str, bases: tuple[type, ...], members: dict[str, dtype | str]) -> type:
        if bases:
            raise TypeError(
                f"type 'torch.{bases[0].__name__}' is not an acceptable base type: derive from "
                "torch.Tensor"
            )
        return super().__new__(mcs, name, bases, members)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        name = f"{cls.__module__}.{cls.__name__}"
        if cls.__module__ == "torch":
            return _legacy(cls.dtype, name, args, kwargs)
        if not cuda_is_here():
            raise TypeError(
                f"type {name} not available. Torch not compiled with CUDA enabled. Tensors live on "
                f"'cpu' here: use torch.{cls.__name__}."
            )
        return _legacy(cls.dtype, name, args, kwargs).to(cuda(None))

    def __instancecheck__(cls, instance: object) -> bool:
        return (
            isinstance(instance, Tensor)
            and instance.dtype is cls.dtype
            and (instance._accelerator is not None) == (cls.__module__ == "torch.cuda")
        )

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"


def _legacy(dtype: dtype, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """torch.Tensor(...) and its kind: sizes make an unset tensor, data a copy."""
    where = kwargs.pop("device", None)
    if where is not None and resolve(where) is not cpu:
        raise RuntimeError(
            f"legacy constructor expects device type: cpu but device type: {where} was passed"
        )
    from .._base.size import Size
    from ..ops.making.creation import unset
    from ..ops.making.factory import shape_of
    from ..ops.making.from_data import of_storage, read

    if not args and isinstance(kwargs.get("size"), (tuple, list)):
        args = (Size(kwargs.pop("size")),)
    elif not args and isinstance(kwargs.get("other"), Tensor):
        args = (kwargs.pop("other"),)
    if kwargs:
        raise TypeError(f"new() received an invalid combination of arguments: {sorted(kwargs)}")
    if not args:
        args = (0,)
    first = args[0]
    if len(args) == 1 and not isinstance(first, (int, np_types.integer, Size)):
        if isinstance(first, Tensor):
            if first.dtype is not dtype:
                raise TypeError(f"expected {_legacy_name(dtype)} (got {_legacy_name(first.dtype)})")
            return first.as_subclass(Tensor)
        if (stored := of_storage(first, dtype)) is not None:
            return stored
        if isinstance(first, float):
            raise TypeError("new(): data must be a sequence (got float)")
        return read(first, dtype)
    return unset(on_cpu.made(shape_of("new", args), dtype))


def _legacy_name(dtype: Any) -> str:
    return f"torch.{dtype.scalar_name}Tensor"


def cuda_types() -> dict[str, type]:
    """The legacy type objects of torch.cuda by name."""
    types = _types_of("torch.cuda", lambda name, kind: "")
    return {name: made for name, made in types.items() if not name.startswith("Complex")}


def tensor_types() -> dict[str, type]:
    """The legacy type objects by name."""

    def example(name: str, kind: Any) -> str:
        return f"\n\n>>> torch.{name}([1, 0]).dtype\ntorch.{kind.name}"

    return _types_of("torch", example) | legacy_types()


def _types_of(module: str, example: Any) -> dict[str, type]:
    types = {}
    for name, kind in _TYPE_NAMES.items():
        doc = f"Tensors of dtype {kind.name}: from sizes, elements not set; from data, a copy."
        members = {"dtype": kind, "__module__": module, "__doc__": doc + example(name, kind)}
        types[name] = TensorType(name, (), members)
    return types


def _tensor_new(cls: type, *args: Any, **kwargs: Any) -> Any:
    if "requires_grad" in kwargs and cls is not Tensor:
        wants = kwargs.pop("requires_grad")
    else:
        wants = False
    made = _legacy(dtypes.get_default_dtype(), "torch.Tensor", args, kwargs)
    if cls is Tensor:
        return made
    if args and isinstance(args[0], Tensor):
        made = args[0].as_subclass(cls)
        return made.requires_grad_() if wants else made
    return _core.make_subclass(cls, made, wants)


@overloaded(
    "(self: Tensor, *, device: device | None = None)",
    "(self: Tensor, storage: Storage)",
    "(self: Tensor, other: Tensor)",
    "(self: Tensor, size: Sizes, *, device: device | None = None)",
    "(self: Tensor, data: Any, *, device: device | None = None)",
)
def _new(self: Tensor, *args: object, **kwargs: object) -> Any:
    """A tensor of this one's dtype from sizes or data."""
    made = _legacy(self.dtype, "new", args, kwargs)
    return made if self._accelerator is None else made.to(self.device)


def _pin_memory(self: Tensor, device: object = None) -> Any:
    """A copy that says it is pinned, where an accelerator is used; else the tensor.

    Pages are not locked: all copies to a device go by way of memory whose pages are, and no copy to
    a device is waited for.

    >>> torch.ones(2).is_pinned()
    False
    """
    if self._accelerator is not None:
        raise RuntimeError(
            f"cannot pin '{self.type()}' only dense CPU tensors can be pinned. This one is on "
            f"{self.device}."
        )
    if _core.is_pinned(self) or not (accelerators.wanted or cuda_is_here()):
        return self
    return _core.pin(self.detach().clone())


def _method(doc: str, function: object) -> Any:
    """A method that is said and done in a line."""
    function.__doc__ = doc
    return function


def _detach_(self: Tensor) -> Any:
    """Cut the tensor off its history, in place; nothing happens in inference mode."""
    if _core.is_inference():
        return self
    _core.check_captured(self, "detach_", None)
    if self._is_view():
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using "
            "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
            "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
            "these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
            "function in torch/optim/optimizer.py as the solution."
        )
    if (w := self._wrapped) is not None and w.level.by_hand:
        w.level.give_back(self)  # without the tangent
    self._cut()
    return self


def _share_memory(self: Tensor) -> Any:
    """Move the storage to memory that processes share."""
    from .._base import shared as _shared  # most programs never share

    _shared.share(self.untyped_storage())
    _shared.send_as(type(self))
    return self


def _replaced_by(name: str, parameters: str) -> Any:
    """`apply_`, `map_`, `map2_`: every element replaced by what a function makes of it and the
    elements of other tensors."""

    @answered("no_value", MEMORY)
    def method(self: Tensor, *args: Any) -> Any:
        if len(args) != len(parameters.split()):
            raise TypeError(
                f"{name}() takes {len(parameters.split())} arguments ({parameters}), but "
                f"{len(args)} were given"
            )
        *others, function = args
        for i, (parameter, other) in enumerate(zip(parameters.split(), others, strict=False), 1):
            if not isinstance(other, Tensor):
                raise TypeError(
                    f"{name}(): argument '{parameter}' (position {i}) must be Tensor, not "
                    f"{type(other).__name__}"
                )
        if any(t.requires_grad for t in (self, *others)):
            raise RuntimeError(
                f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() "
                "instead."
            )
        for parameter, other in zip(parameters.split(), others, strict=False):
            if other.dtype is not self.dtype:
                raise TypeError(
                    f"{name}: expected {self.type()} for '{parameter}' (got {other.type()})"
                )
        columns = [t.expand(self.shape)._host_array.ravel().tolist() for t in (self, *others)]
        made = [function(*row) for row in zip(*columns, strict=True)]
        for value in made:
            if not isinstance(value, (int, float, complex, np_types.generic)):
                raise TypeError(f"must be real number, not {type(value).__name__}")
        _core.write_values(self, np.array(made, self.dtype.numpy).reshape(self.shape))
        self._bump_version()
        return self

    method.__name__ = name
    return method


def _untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that the tensor and its views share, as bytes.

    >>> t = torch.zeros(4)
    >>> t[2:].untyped_storage().data_ptr() == t.data_ptr()
    True
    """
    _check_storage(self)
    return _core.storage_of(self)


@quietly
def _typed_storage(self: Tensor) -> TypedStorage:
    """The memory that the tensor and its views share, as elements."""
    _check_storage(self)
    return TypedStorage(wrap_storage=_core.storage_of(self), dtype=self.dtype, _internal=True)


def _storage(self: Tensor) -> TypedStorage:
    """The memory that the tensor and its views share, as elements (deprecated).

    >>> torch.arange(4)[1:].storage().tolist()
    [0, 1, 2, 3]
    """
    _check_storage(self)
    warn_of_typed()
    return _typed_storage(self)


def _is_set_to(self: Tensor, tensor: object) -> bool:
    """Whether both tensors are the same place: storage, offset, sizes and strides.

    >>> t = torch.zeros(4)
    >>> t.is_set_to(t[:]), t.is_set_to(t.clone())
    (True, False)
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(
            "is_set_to(): argument 'tensor' (position 1) must be Tensor, not "
            f"{type(tensor).__name__}"
        )
    return (
        _core.storage_of(self) is _core.storage_of(tensor)
        and self.storage_offset() == tensor.storage_offset()
        and self.shape == tensor.shape
        and self.stride() == tensor.stride()
    )


def _volatile(self: object) -> bool:
    warn("volatile was removed (Variable.volatile is always False)")
    return False


def _set_volatile(self: object, value: bool) -> None:
    warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")


def _missing_attribute(self: object, name: str) -> Any:
    raise missing_attribute(f"'{type(self).__name__}' object", name, "torch.Tensor")


def _make_subclass(cls: type, data: Any, require_grad: bool = False) -> Any:
    return _core.make_subclass(cls, data, require_grad)


def _make_wrapper_subclass(cls: object, size: object, *args: object, **how: object) -> Any:
    return late.make_wrapper_subclass(cls, size, *args, **how)


_METHODS: dict[str, Any] = {
    "__format__": _format,
    "tolist": tolist,
    "__complex__": _complex,
    "__contains__": _contains,
    "__reversed__": _reversed,
    "__deepcopy__": _deepcopy,
    "__reduce_ex__": _reduce_ex,
    "__array_priority__": 1000,
    "__dlpack__": dlpack,
    "__dlpack_device__": dlpack_device,
    "__array_wrap__": _array_wrap,
    "cpu": _cpu,
    "cuda": _cuda,
    "type": _type,
    "new": _new,
    "detach_": _detach_,
    "share_memory_": _share_memory,
    "pin_memory": _pin_memory,
    "apply_": _method(
        "Replace every element by function(element).", _replaced_by("apply_", "callable")
    ),
    "map_": _method(
        "Replace every element by function(element, other's element).",
        _replaced_by("map_", "other callable"),
    ),
    "map2_": _method(
        "Replace every element by function(element, x's element, y's element).",
        _replaced_by("map2_", "x y callable"),
    ),
    "untyped_storage": _untyped_storage,
    "storage": _storage,
    "_typed_storage": _typed_storage,
    "is_set_to": _is_set_to,
    "get_device": _method(
        "The index of the tensor's accelerator; -1 in main memory.",
        lambda self: -1 if self._accelerator is None else of(self).name.index,
    ),
    "is_shared": _method(
        "Whether processes share the memory.", lambda self: self.untyped_storage().is_shared()
    ),
    "is_pinned": _method(
        "Whether the memory was pinned: `pin_memory` made the tensor.",
        lambda self, device=None: _core.is_pinned(self),
    ),
    "is_floating_point": _method(
        "Whether the dtype is a real floating type.", lambda self: self.dtype.is_floating_point
    ),
    "is_complex": _method("Whether the dtype is complex.", lambda self: self.dtype.is_complex),
    "is_signed": _method(
        "Whether the dtype has negative numbers.", lambda self: self.dtype.is_signed
    ),
    "has_names": _method("Whether dimensions have names: never.", lambda self: False),
    "_make_subclass": staticmethod(_make_subclass),
    "_make_wrapper_subclass": staticmethod(_make_wrapper_subclass),
    "device": property(lambda self: of(self).name, doc="Where the tensor lives."),
    "layout": property(lambda self: strided, doc="How elements are laid out."),
    "is_cuda": property(
        lambda self: self._accelerator is not None and of(self).name.type == "cuda",
        doc="Whether it lives on a CUDA device, or on the one that stands for them.",
    ),
    "is_cpu": property(lambda self: of(self) is on_cpu, doc="Whether it lives in main memory."),
    "is_meta": property(
        lambda self: self._on_meta, doc="Whether it has a shape and a type, but no elements."
    ),
    "is_mps": never("Whether it lives on an Apple GPU"),
    "is_sparse": never("Whether zeros are left out of its memory"),
    "is_sparse_csr": never("Whether it is kept as compressed rows"),
    "is_quantized": never("Whether it holds scaled small integers"),
    "is_nested": never("Whether its rows may differ in length"),
    "is_xpu": never("Whether it lives on an Intel GPU"),
    "is_mkldnn": never("Whether it lies in oneDNN's own layout"),
    "itemsize": property(lambda self: self.dtype.itemsize, doc="Bytes an element."),
    "nbytes": property(lambda self: self.numel() * self.itemsize, doc="Bytes of all elements."),
    "name": property(lambda self: None, doc="None: tensors have no names."),
    "_cdata": property(id, doc="A number that no other tensor alive has."),
    "names": property(lambda self: (None,) * self.dim(), doc="None for each dimension."),
    "volatile": property(
        _volatile,
        _set_volatile,
        lambda self: None,
        doc="False: an older name of what no_grad does.",
    ),
}

for _name, _value in (_METHODS | SPARSE_METHODS).items():
    publish("Tensor", _name, _value, plain=True)


def _repr_html_(self: Tensor) -> str | None:
    """As a notebook's cell shows it."""
    return late.cell_html(self)


setattr(Tensor, _repr_html_.__name__, _repr_html_)  # a class of its own is not asked for it
Tensor.__doc__ = """An array of one dtype that can record how it was computed.

Made by `torch.tensor` and its like; `torch.Tensor(...)` is an older form: data are copied as the
default dtype, sizes give elements that are not set.

>>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
>>> y = (x @ x).sum()
>>> y
tensor(54., grad_fn=<SumBackward0>)
>>> y.backward()
>>> x.grad
tensor([[ 7., 11.],
        [ 9., 13.]])
"""


def _reduce_class(cls: Any) -> Any:
    """The old classes are torch's by name, which only some programs can import."""
    module, _, inner = cls.__module__.partition(".")
    if module == "torch" and root() == OURS:
        return dotted(f"{inner}.{cls.__qualname__}".lstrip("."))
    return cls.__qualname__


for _meta in (TensorType, LegacyType):
    copyreg.pickle(_meta, _reduce_class)


def _dtype_by_name(name: str) -> dtype:
    """A dtype by name, for pickles up to version 0.10."""
    return dtypes._by_name(name)


def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor.

    >>> torch.is_tensor(torch.zeros(1)), torch.is_tensor([0.0])
    (True, False)
    """
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether a tensor's dtype is a real floating type.

    >>> torch.is_floating_point(torch.tensor(1.0)), torch.is_floating_point(torch.tensor(1))
    (True, False)
    """
    return bool(input.dtype.is_floating_point)


def is_complex(input: Tensor) -> bool:
    """Whether a tensor's dtype is complex.

    >>> torch.is_complex(torch.tensor(1j))
    True
    """
    return bool(input.dtype.is_complex)


def numel(input: Tensor) -> int:
    """The number of elements.

    >>> torch.numel(torch.zeros(2, 3))
    6
    """
    return int(input.numel())


def typename(obj: Any) -> str:
    """The name of an object's type, with the module it lives in.

    >>> torch.typename(torch.tensor([1, 2])), torch.typename([1, 2])
    ('torch.LongTensor', 'list')
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    cls = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(cls, "__module__", "") or ""
    name = cls.__qualname__
    return name if module in ("", "builtins") else f"{module}.{name}"


@overloaded(
    "(tensor: Tensor, other: Tensor) -> dtype",
    "(scalar: Number, tensor: Tensor) -> dtype",
    "(tensor: Tensor, other: Number) -> dtype",
    "(scalar1: Number, scalar2: Number) -> dtype",
)
def result_type(*operands: object, **named: object) -> Any:
    """The dtype of arithmetic between two tensors or numbers.

    >>> torch.result_type(torch.tensor([1, 2]), 0.5)
    torch.float32
    >>> torch.result_type(torch.tensor([1], dtype=torch.int8), 100)
    torch.int8
    """
    return _core.result_type((*operands, *named.values()))


for _function in (is_floating_point, is_complex, numel, result_type):
    publish("torch", _function.__name__, _function, plain=True)
