"""Switches of modules of torch.backends: kept, and most without effect. One of our own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from .. import _core

Switch = bool | int | str | None


_modules: dict[str, dict[str, object]] = {}
"""The names of modules with `flags`, by the modules' last words."""


def _known(precision: str) -> str:
    if precision == "bf16":
        raise RuntimeError("backend 'cuda' does not support precision 'bf16'")
    if precision not in ("none", "ieee", "tf32"):
        raise RuntimeError(f"Unknown precision: {precision}")
    return precision


def _general() -> str:
    """The precision of what has none of its own: that of cudnn, else of all backends."""
    told = (_modules.get(name, {}).get("fp32_precision") for name in ("cudnn", "backends"))
    return next((str(word) for word in told if word not in (None, "none")), "none")


class _Matmul:
    """How products may be computed; allow_tf32: float32 numbers with 10 bits of their fractions."""

    precision = "highest"
    """torch.get_float32_matmul_precision()."""
    _own = "none"

    @property
    def fp32_precision(self) -> str:
        return self._own if self._own != "none" else _general()

    @fp32_precision.setter
    def fp32_precision(self, precision: str) -> None:
        self._own = _known(precision)
        self.precision = "high" if precision == "tf32" else "highest"

    @property
    def allow_tf32(self) -> bool:
        return self.fp32_precision == "tf32"

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        self.fp32_precision = "tf32" if allowed else "ieee"

    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False


matmul = _Matmul()
"""torch.backends.cuda.matmul."""


class Convolutions:
    """`torch.backends.cudnn.conv`: the module's `allow_tf32` by its newer name."""

    def __init__(self, names: dict[str, object]) -> None:
        self._names = names

    @property
    def fp32_precision(self) -> str:
        return "tf32" if self._names["allow_tf32"] else "ieee"

    @fp32_precision.setter
    def fp32_precision(self, precision: str) -> None:
        found = _general() if _known(precision) == "none" else precision
        self._names["allow_tf32"] = found == "tf32"


def switched(module: str, name: str, usual: bool) -> bool:
    """A switch of a module of torch.backends; `usual` before the program imports the module."""
    return bool(_modules.get(module, {}).get(name, usual))


@contextlib.contextmanager
def replaced(names: dict[str, object], values: dict[str, object]) -> Iterator[None]:
    """A block in which a module's names have other values."""
    for name in values:
        if name not in names:
            raise AttributeError(f"{names['__name__']}.{name} does not exist")
    before = {name: names[name] for name in values}
    names.update(values)
    try:
        yield
    finally:
        names.update(before)


def patcher(names: dict[str, object]) -> Callable[..., AbstractContextManager[None]]:
    """`patch` of a module of settings, whose names they are."""

    def patch(
        arg1: str | dict[str, object] | None = None, arg2: object = None, **changes: object
    ) -> AbstractContextManager[None]:
        """A block, or a decorated function, with other settings.

        >>> with torch._dynamo.config.patch(verbose=True):
        ...     torch._dynamo.config.verbose
        True
        """
        given = {arg1: arg2} if isinstance(arg1, str) else arg1 or {}
        return replaced(names, {**given, **changes})

    return patch


def switches(
    names: dict[str, object], **defaults: Switch
) -> tuple[Callable[..., AbstractContextManager[None]], Callable[..., tuple[Switch, ...]]]:
    """A module's `flags`, a context that sets switches for a block, and the module's `set_flags`.

    names: the module's names, where the switches stand. defaults: the parameters of `flags`; None
    leaves a switch as it is. `set_flags` returns the values of before.
    """

    def set_flags(*values: Switch, **named: Switch) -> tuple[Switch, ...]:
        given = dict(zip(defaults, values, strict=False))
        given.update({name.removeprefix("_"): value for name, value in named.items()})
        before = tuple(names[name] for name in defaults)
        names.update({name: v for name, v in given.items() if name in defaults and v is not None})
        return before  # type: ignore[return-value]

    @contextlib.contextmanager
    def flags(*values: Switch, **named: Switch) -> Iterator[None]:
        unknown = [name for name in named if name not in defaults]
        if unknown or len(values) > len(defaults):
            what = repr(unknown[0]) if unknown else f"{len(values)} values"
            raise TypeError(f"flags() got an unexpected keyword argument {what}")
        given = {**defaults, **dict(zip(defaults, values, strict=False)), **named}
        with replaced(names, {name: v for name, v in given.items() if v is not None}):
            yield

    module = str(names["__name__"]).replace("rushlight", "torch", 1)
    _modules[module.rpartition(".")[2]] = names
    first = next(iter(defaults))
    set_flags.__doc__ = f"""Set switches; returns the values of before.

    >>> before = {module}.set_flags({first}={module}.{first})
    """
    flags.__doc__ = f"""A block with other switches.

    >>> with {module}.flags({first}=True):
    ...     {module}.{first}
    True
    """
    return flags, set_flags


_fastpath = [True]


def get_fastpath_enabled() -> bool:
    """The switch of attention's fast path as it was set; True at first."""
    return _fastpath[0]


def set_fastpath_enabled(value: bool) -> None:
    """Set the switch. The results are the same either way."""
    _fastpath[0] = value


def get_cpu_capability() -> str:
    """The set of instructions that the kernels use: "DEFAULT", "AVX2" or "AVX512".

    >>> isinstance(torch.backends.cpu.get_cpu_capability(), str)
    True
    """
    return {"v3": "AVX2", "v4": "AVX512"}.get(_core.isa(), "DEFAULT")


watching = False  # whether a call is watched for capture (`rushlight._capture`)
