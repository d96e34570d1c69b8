"""Where tensors live (`device`), how they are laid out (`layout`, `memory_format`), and the
default device.

Every device name of PyTorch can be spoken about: `device('cuda:1')` is a value like any other, and
so programs that only mention it run. Making a tensor goes through `resolve`, which admits the
devices that exist here (the CPU and meta; `devices/` is what they do) and says for the others what
PyTorch without them would say.

Accelerators are CUDA's, `cuda:0`, where its driver is, and OpenCL's, `opencl:0`. Where
RUSHLIGHT_CUDA=opencl says that those of OpenCL stand for CUDA's both names mean them, and tensors
there say cuda. The core counts all of them: see `first`.
"""

from __future__ import annotations

import os
import re
import threading
from functools import cache
from typing import Any, NoReturn, TypeAlias, TypeVar, overload

from .. import _core

__all__ = [
    "channels_last",
    "channels_last_3d",
    "contiguous_format",
    "device",
    "get_default_device",
    "layout",
    "legacy_contiguous_format",
    "memory_format",
    "preserve_format",
    "set_default_device",
    "sparse_bsc",
    "sparse_bsr",
    "sparse_coo",
    "sparse_csc",
    "sparse_csr",
    "strided",
]

_KINDS = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, "
    "mps, meta, hpu, mtia, privateuseone"
)
_KIND_SET = frozenset(_KINDS.split(", "))
# A device string: a kind, and after a colon an index without leading zeros.
_DEVICE_STRING = re.compile(r"([a-zA-Z_]+)(?::(0|[1-9][0-9]*))?\Z")
_NO_ACCELERATOR = "Cannot access accelerator device when none is available."


class device:
    """A device's kind and, where there are several of it, its number.

    As a context manager it is the default device inside the `with` block of this thread.

    >>> torch.device("cuda:1") == torch.device("cuda", 1)
    True
    >>> torch.zeros(2, device=torch.device("cpu")).device
    device(type='cpu')
    """

    __slots__ = ("index", "type")
    __module__ = "rushlight"

    type: str
    index: int | None

    @overload
    def __new__(cls, device: device | str | int, /) -> device: ...
    @overload
    def __new__(cls, device: device | str | int) -> device: ...
    @overload
    def __new__(cls, type: str, index: int | None = None) -> device: ...
    def __new__(cls, *args: Any, **kwargs: Any) -> device:
        type_, index = _arguments(args, kwargs)
        self = object.__new__(cls)
        object.__setattr__(self, "type", type_)
        object.__setattr__(self, "index", index)
        return self

    def __init_subclass__(cls) -> None:
        raise TypeError("type 'torch.device' is not an acceptable base type")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        if name in device.__slots__:
            raise AttributeError(f"attribute '{name}' of 'torch.device' objects is not writable")
        raise AttributeError(f"'torch.device' object has no attribute '{name}'")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    @property
    def _accelerator(self) -> int:
        """The core's number of an accelerator."""
        index = accelerators.current[self.type] if self.index is None else self.index
        return first(self.type) + index

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        if self.index is None:
            return f"device(type={self.type!r})"
        return f"device(type={self.type!r}, index={self.index})"

    def __reduce__(self) -> tuple[Any, tuple[str] | tuple[str, int]]:
        return device, (self.type,) if self.index is None else (self.type, self.index)

    def __copy__(self) -> device:
        return self

    def __deepcopy__(self, memo: object) -> device:
        return self

    def __enter__(self) -> device:
        _defaults.note(self)
        _defaults.entered = (*_defaults.entered, self)
        return self

    @_core.ending
    def __exit__(self, *exception: object) -> None:
        _defaults.entered = _defaults.entered[:-1]
        _defaults.tell()


def _arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, int | None]:
    """Type and index from what `device()` was called with."""
    if not kwargs and len(args) == 1:
        return _from_one(args[0], args, kwargs)
    if not args and kwargs.keys() == {"device"}:
        return _from_one(kwargs["device"], args, kwargs)
    given = dict(zip(("type", "index"), args, strict=False)) | kwargs
    if len(args) > 2 or len(given) != len(args) + len(kwargs):
        raise _combination_error(args, kwargs)
    if "type" not in given or not given.keys() <= {"type", "index"}:
        raise _combination_error(args, kwargs)
    kind, index = given["type"], given.get("index")
    if not isinstance(kind, str):
        if len(given) == 1:
            raise _combination_error(args, kwargs)
        where = "" if "type" in kwargs else " (position 1)"
        raise TypeError(f"device(): argument 'type'{where} must be str, not {_type_name(kind)}")
    if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
        where = "" if "index" in kwargs else " (position 2)"
        raise TypeError(f"device(): argument 'index'{where} must be int, not {_type_name(index)}")
    if index is not None and index < 0:
        raise RuntimeError(f"Device index must not be negative, but got {index}")
    kind, inner = _parse(kind)
    if inner is not None:
        raise RuntimeError(
            "type (string) must not include an index because index was passed explicitly: "
            f"{kind}:{inner}"
        )
    return kind, index


def _from_one(value: str, args: tuple[str, ...], kwargs: dict[str, Any]) -> tuple[str, int | None]:
    if isinstance(value, str):
        return _parse(value)
    if isinstance(value, device):
        return value.type, value.index
    if isinstance(value, int) and not isinstance(value, bool):  # the index of an accelerator
        if value < 0:
            raise RuntimeError(f"Device index must not be negative, but got {value}")
        if accelerators.wanted or cuda_is_here():
            return accelerators.kind, value
        raise RuntimeError(f"{_NO_ACCELERATOR} Index {value} names one; use device('cpu').")
    raise _combination_error(args, kwargs)


def _parse(text: str) -> tuple[str, int | None]:
    """'cuda:1' -> ('cuda', 1)."""
    if text in _KIND_SET:
        return text, None
    if not text:
        raise RuntimeError("Device string must not be empty")
    match = _DEVICE_STRING.match(text)
    if match is None:
        raise RuntimeError(f"Invalid device string: '{text}'")
    kind, digits = match.groups()
    if kind not in _KIND_SET:
        raise RuntimeError(
            f"Expected one of {_KINDS} device type at start of device string: {kind}"
        )
    if digits is not None and int(digits) > 2**31 - 1:
        raise RuntimeError(f"Could not parse device index '{digits}' in device string '{text}'")
    return kind, None if digits is None else int(digits)


def _combination_error(args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError:
    got = ", ".join(_type_name(each) for each in args)
    got += "".join(f"{name}={_type_name(each)}, " for name, each in kwargs.items())
    reason = ""
    if len(args) + len(kwargs) == 1:  # then only the first form was tried
        if args:
            reason = f"arguments have invalid types: (!{got}!)"
        elif "device" in kwargs:
            reason = f"arguments have invalid types: (!{got.removesuffix(', ')}!, )"
        else:
            reason = f"keywords were incorrect: {next(iter(kwargs))}"
        reason = f"      didn't match because some of the {reason}\n"
    return TypeError(
        f"device() received an invalid combination of arguments - got ({got}), "
        f"but expected one of:\n * (torch.device device)\n{reason} * (str type, int index = -1)\n"
    )


def _type_name(value: object) -> str:
    return "torch.device" if isinstance(value, device) else type(value).__name__


# --- accelerators -------------------------------------------------------------------------------


class _Accelerators(threading.local):
    """The kind of accelerators, and the numbers of this thread's current ones."""

    wanted = False
    """Whether the program has named one, or is run with OpenCL's as CUDA's."""

    def __init__(self) -> None:
        self.current = {"opencl": 0, "cuda": 0}

    @property
    def kind(self) -> str:
        """The kind that is meant where none is named."""
        return "cuda" if cuda_is_here() else "opencl"

    def note(self) -> None:
        _Accelerators.wanted = True


accelerators = _Accelerators()
_as_cuda = False


def use_as_cuda() -> None:
    """From now on OpenCL's devices stand for CUDA's."""
    global _as_cuda
    _as_cuda = _Accelerators.wanted = True
    _core.accelerator_shown_as_cuda(True)


if os.environ.get("RUSHLIGHT_CUDA") == "opencl":
    use_as_cuda()


def cuda_driver() -> str:
    """The library that CUDA's driver is."""
    usual = "nvcuda.dll" if os.name == "nt" else "libcuda.so.1"
    return os.environ.get("RUSHLIGHT_CUDA_LIBRARY") or usual


@cache
def count_cuda() -> int:
    """How many devices CUDA's driver has; they are not opened for that."""
    return min(_core.count_cuda(cuda_driver()), OF_A_KIND)


def cuda_is_here() -> bool:
    """Whether "cuda" names devices that are here."""
    return _as_cuda or count_cuda() > 0


OF_A_KIND = 8


def first(kind: str) -> int:
    """The core's number of a kind's first device."""
    return OF_A_KIND if kind == "cuda" and not _as_cuda else 0


@cache
def _numbered(kind: str, index: int) -> device:
    return device(kind, index)


def accelerated(number: int) -> device:
    """The device of an accelerator's number."""
    own, index = divmod(number, OF_A_KIND)
    return _numbered("cuda" if own or _as_cuda else "opencl", index)


def is_accelerator(kind: str) -> bool:
    """Whether a device's kind means accelerators."""
    return kind == "opencl" or (kind == "cuda" and cuda_is_here())


def cuda(value: device | str | int | None) -> device:
    """The device that `.cuda(value)` means; torch's error where it is none of CUDA's."""
    value = "cuda" if value is None else value
    found = device("cuda", value) if type(value) is int else device(value)
    if found.type != "cuda" and not (found.type == "opencl" and _as_cuda):
        raise RuntimeError(f"Invalid device, must be cuda device: '{found}'")
    return resolve(found)


# --- the default device -------------------------------------------------------------------------


class _Defaults(threading.local):
    """Each thread's `set_default_device`, and the `with device(...)` blocks it is inside."""

    chosen: device | None = None
    entered: tuple[device, ...] = ()

    def note(self, value: device) -> None:
        global _only_cpu
        if value.type != "cpu":
            _only_cpu = False
            _core.kernels.default_is_cpu(False)
        if is_accelerator(value.type):
            accelerators.note()

    def tell(self) -> None:
        """Says to the factories of the core whether tensors are made on the CPU."""
        _core.kernels.default_is_cpu(get_default_device().type == "cpu")


_defaults = _Defaults()
# Whether no thread ever had another default: what making a tensor asks first.
_only_cpu = True
cpu = device("cpu")
on_meta = device("meta")


def get_default_device() -> device:
    """The device of tensors made without naming one.

    >>> torch.get_default_device()
    device(type='cpu')
    """
    if _defaults.entered:
        return _defaults.entered[-1]
    return _defaults.chosen or cpu


def set_default_device(device: device | str | int | None) -> None:
    """Makes `device` the one that tensors are made on unless another is named; None resets it.

    >>> torch.set_default_device("cpu")
    >>> torch.zeros(1).device
    device(type='cpu')
    >>> torch.set_default_device(None)
    """
    chosen = None if device is None else globals()["device"](device)
    if chosen is not None:
        _defaults.note(chosen)
    _defaults.chosen = chosen
    _defaults.tell()


DeviceLike: TypeAlias = device | str | int


def resolve(value: object, function: str = "tensor") -> device:
    """The device on which `function(..., device=value)` makes its tensor.

    None is the default device, every 'cpu:N' is the CPU and every 'meta:N' meta. Raises what
    PyTorch on a machine without the named device would raise.
    """
    if value is None:
        if _only_cpu:
            return cpu
        value = get_default_device()
    elif isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        value = device(value)
    if not isinstance(value, device):
        name = type(value).__name__
        raise TypeError(f"{function}(): argument 'device' must be torch.device, not {name}")
    if value.type == "cpu":
        return cpu
    if value.type == "meta":
        return on_meta
    if is_accelerator(value.type):
        if not accelerators.wanted:
            accelerators.note()
        return accelerated(value._accelerator)
    raise _unavailable(value)


def _unavailable(wanted: device) -> Exception:
    hint = f"The device asked for is '{wanted}'; tensors live on 'cpu', 'meta' or 'opencl' here."
    kind = wanted.type
    if kind in ("cuda", "xpu"):
        return AssertionError(f"Torch not compiled with {kind.upper()} enabled. {hint}")
    if kind == "mps":
        return RuntimeError(f"PyTorch is not linked with support for mps devices. {hint}")
    return NotImplementedError(
        "Could not run 'aten::empty.memory_format' with arguments from the "
        f"'{kind.upper()}' backend. {hint}"
    )


# --- layouts and memory formats -----------------------------------------------------------------


class _Named:
    """A constant known by its name: one object each, which copies and pickles to itself."""

    __slots__ = ("_name",)
    _name: str

    def __init__(self) -> None:
        raise TypeError(f"cannot create 'torch.{type(self).__name__}' instances")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"'torch.{type(self).__name__}' object has no attribute '{name}'")

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name

    def __copy__(self) -> _Named:
        return self

    def __deepcopy__(self, memo: object) -> _Named:
        return self


class layout(_Named):
    """How elements are arranged: `strided` for every tensor made here.

    >>> torch.zeros(2).layout
    torch.strided
    """

    __slots__ = ()
    __module__ = "rushlight"


class memory_format(_Named):
    """The order of dimensions in memory that an operation is asked to give its result.

    >>> x = torch.zeros(2, 3, 4, 4)
    >>> x.contiguous(memory_format=torch.channels_last).stride()
    (48, 1, 12, 3)
    """

    __slots__ = ()
    __module__ = "rushlight"


_Kind = TypeVar("_Kind", bound=_Named)


def _named(kind: type[_Kind], name: str) -> _Kind:
    self = object.__new__(kind)
    object.__setattr__(self, "_name", name)
    return self


strided = _named(layout, "strided")
sparse_coo = _named(layout, "sparse_coo")
sparse_csr = _named(layout, "sparse_csr")
sparse_csc = _named(layout, "sparse_csc")
sparse_bsr = _named(layout, "sparse_bsr")
sparse_bsc = _named(layout, "sparse_bsc")
jagged = _named(layout, "jagged")
_layouts = (strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc, jagged)
LAYOUTS = {repr(each): each for each in _layouts}

contiguous_format = _named(memory_format, "contiguous_format")
preserve_format = _named(memory_format, "preserve_format")
channels_last = _named(memory_format, "channels_last")
channels_last_3d = _named(memory_format, "channels_last_3d")
legacy_contiguous_format = contiguous_format
