"""What a file says, without running it: names, calls, states, and the bytes of storages.

`said(file)` is text: the same for two files that say the same, whichever library wrote them, and
whether they are archives, streams of before PyTorch 1.6, or plain pickles.
"""

from __future__ import annotations

import array
import hashlib
import io
import pickle
import zipfile
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

_MAGIC = 0x1950A86A20F9469CFC6C


class Name(NamedTuple):
    """A global, as `module.name`."""

    full: str


# Other names of PyTorch's for what programs know by the second; the rest of the name follows.
_SAME = {
    "torch._C._VariableFunctionsClass.": "torch.",
    "torch.functional.": "torch.",
    "torch._C._nn.log_sigmoid": "torch.nn.functional.logsigmoid",
    "torch._C._nn.": "torch.nn.functional.",
    "torch._C._special.special_": "torch.special.",
    "torch._C._fft.fft_": "torch.fft.",
    "torch._C._linalg.linalg_": "torch.linalg.",
    "torch._C.TensorBase.": "torch.Tensor.",
    "torch._C.Generator": "torch.Generator",
    "torch.special.expit": "torch.sigmoid",
    "torch.pairwise_distance": "torch.nn.functional.pairwise_distance",
    "torch.distributions.transforms.": "torch.distributions.",
    "torch.utils.data._utils.collate.": "torch.utils.data.",
    "torch.nn.modules.loss.Linear": "torch.nn.modules.Linear",
    "torch.nn.modules.linear_cross_entropy_options.": "torch.nn.modules.",
    "torch.ao.quantization.stubs.": "torch.ao.quantization.",
    "torch.amp.grad_scaler.": "torch.amp.",
    "torch.utils.data._utils.worker.": "torch.utils.data.",
    "torch.utils.data.datapipes.map.utils.SequenceWrapperMapDataPipe": (
        "torch.utils.data.datapipes.map.SequenceWrapper"
    ),
}


def _known(name: str) -> str:
    for there, here in _SAME.items():
        if name.startswith(there):
            name = here + name.removeprefix(there)
    return name


class Storage(NamedTuple):
    kind: str
    key: str
    where: str
    length: int
    data: bytes | None = None


class Made:
    """What a call makes, and what is done to it afterwards."""

    def __init__(self, function: Any, args: Any, kwargs: Any = None) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self.done: list[Any] = []

    def append(self, item: Any) -> None:
        self.done.append(item)

    def extend(self, items: Any) -> None:
        self.done.extend(items)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.done.append((key, value))


_Python: Any = pickle._Unpickler  # type: ignore[attr-defined]


class _Reader(_Python):  # type: ignore[misc]
    names: list[str]

    def __init__(self, file: Any, storages: Callable[[str], bytes | None], names: Any) -> None:
        super().__init__(file, encoding="latin1")
        self.storages, self.names = storages, names

    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}".replace("__builtin__.", "builtins.").replace(
            "copy_reg.", "copyreg."
        )
        full = {"builtins.xrange": "builtins.range", "builtins.long": "builtins.int"}.get(
            full, full
        )
        self.names.append(full)
        return Name(full)

    def persistent_load(self, identity: Any) -> Any:
        _, kind, key, where, length, *_ = identity
        return Storage(kind.full, key, where, length, self.storages(key))

    def load_reduce(self) -> None:
        args = self.stack.pop()
        function = self.stack[-1]
        self.stack[-1] = self._called(function, args)

    def _called(self, function: Any, args: Any) -> Any:
        name = function.full if type(function) is Name else ""
        if name == "builtins.getattr" and type(args[0]) is Name:
            return Name(f"{args[0].full}.{args[1]}")
        if name == "torch._utils._import_dotted_name" or name == "torch.serialization._get_layout":
            return Name(args[0])
        if ".Uninitialized" in name:
            args = args[:1]  # PyTorch forgets the device and the type
        if name == "torch.Size":
            return ("torch.Size", *args[0])
        if name == "_codecs.encode":
            return args[0].encode(args[1])
        if name in ("builtins.set", "builtins.frozenset"):
            return {"builtins.set": set, "builtins.frozenset": frozenset}[name](*args)
        if name == "torch.storage._load_from_bytes":
            return read(args[0], self.names)
        if name == "copyreg._reconstructor" and args[1:] == (Name("builtins.object"), None):
            return Made(args[0], ())
        return Made(function, args)

    def load_newobj(self) -> None:
        args = self.stack.pop()
        self.stack[-1] = Made(self.stack[-1], args)

    def load_newobj_ex(self) -> None:
        kwargs, args = self.stack.pop(), self.stack.pop()
        self.stack[-1] = Made(self.stack[-1], args, kwargs)

    def load_build(self) -> None:
        state = self.stack.pop()
        self.stack[-1].done.append(("state", state))

    dispatch: ClassVar[dict[int, Any]] = {
        **_Python.dispatch,
        pickle.REDUCE[0]: load_reduce,
        pickle.NEWOBJ[0]: load_newobj,
        pickle.NEWOBJ_EX[0]: load_newobj_ex,
        pickle.BUILD[0]: load_build,
    }


def read(file: bytes, names: list[str]) -> Any:
    """The object that a file describes; `names` takes the globals it names."""
    if file[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(file)) as archive:
            (main,) = (n for n in archive.namelist() if n.endswith("/data.pkl"))
            folder = main.removesuffix("data.pkl")
            return _Reader(
                io.BytesIO(archive.read(main)),
                lambda key: archive.read(f"{folder}data/{key}"),
                names,
            ).load()
    stream = io.BytesIO(file)
    first = _Reader(stream, lambda key: None, names).load()
    if first != _MAGIC:
        return first
    _Reader(stream, lambda key: None, names).load()
    _Reader(stream, lambda key: None, names).load()
    found: list[Storage] = []
    reader = _Reader(stream, lambda key: None, names)
    values: dict[str, bytes] = {}
    made = reader.load()
    keys = _Reader(stream, lambda key: None, names).load()
    kinds = {s.key: s for s in _storages(made, set())}
    for key in keys:
        stream.read(8)
        values[key] = stream.read(kinds[key].length * _size(kinds[key].kind))
    del found
    return _Filled(made, values)


class _Filled(NamedTuple):
    """An object of the older format, and the bytes of its storages, which follow it."""

    made: Any
    values: dict[str, bytes]


def _storages(obj: Any, seen: set[int]) -> Any:
    if id(obj) in seen:
        return
    seen.add(id(obj))
    if type(obj) is Storage:
        yield obj
    elif type(obj) is Made:
        for each in (obj.function, obj.args, obj.kwargs, obj.done):
            yield from _storages(each, seen)
    elif isinstance(obj, dict):
        for key, value in obj.items():
            yield from _storages(key, seen)
            yield from _storages(value, seen)
    elif isinstance(obj, (list, tuple, set, frozenset)):
        for each in obj:
            yield from _storages(each, seen)


_SIZES = {
    **dict.fromkeys(("Double", "Long", "ComplexFloat"), 8),
    **dict.fromkeys(("Float", "Int", "ComplexHalf", "QInt32"), 4),
    **dict.fromkeys(("Half", "Short", "BFloat16"), 2),
    "ComplexDouble": 16,
}


def _size(kind: str) -> int:
    return _SIZES.get(kind.removeprefix("torch.").removesuffix("Storage"), 1)


def _content(kind: str, data: bytes | None) -> str:
    """The bytes of a storage; numbers are rounded, since the last bits may differ."""
    code = {"torch.FloatStorage": "f", "torch.DoubleStorage": "d"}.get(kind)
    if code is None or data is None:
        shown = (data or b"").hex()
    else:
        shown = " ".join(f"{v + 0.0:.4g}" for v in array.array(code, data))
    return shown if len(shown) < 200 else hashlib.sha256(shown.encode()).hexdigest()[:16]


def said(file: bytes) -> str:
    """The file's content as text, a line for each part."""
    lines: list[str] = []
    numbers: dict[Any, int] = {}
    kept: list[Any] = []

    def number(obj: Any, key: Any) -> tuple[int, bool]:
        kept.append(obj)
        new = key not in numbers
        return numbers.setdefault(key, len(numbers)), new

    def items(obj: Any) -> Any:
        return obj.items() if isinstance(obj, dict) else obj

    def show(obj: Any, depth: int, values: dict[str, bytes] | None, label: str = "") -> None:
        def line(text: str) -> None:
            lines.append("  " * depth + label + text)

        def below(each: Any, label: str = "") -> None:
            show(each, depth + 1, values, label)

        if type(obj) is _Filled:
            show(obj.made, depth, obj.values, label)
        elif type(obj) is Name:
            line(_known(obj.full))
        elif type(obj) is Storage:
            data = obj.data if values is None else values[obj.key]
            line(f"<storage {obj.kind} {obj.where} {obj.length} {_content(obj.kind, data)}>")
        elif type(obj) is Made:
            n, new = number(obj, id(obj))
            if not new:
                line(f"#{n}")
                return
            empty = obj.args == () and type(obj.function) is Name
            line(
                f"#{n} {_known(obj.function.full) if type(obj.function) is Name else obj.function}"
            )
            for each in () if empty else obj.args:
                below(each)
            if obj.kwargs:
                below(obj.kwargs, "**")
            for each in obj.done:
                if isinstance(each, tuple) and each[:1] == ("state",) and len(each) == 2:
                    state = each[1]
                    if isinstance(state, dict) and all(isinstance(k, str) for k in state):
                        state = dict(sorted(state.items()))
                    below(state, "state ")
                else:
                    below(each, "+ ")
        elif isinstance(obj, (dict, list)):
            n, new = number(obj, id(obj))
            if not new:
                line(f"#{n}")
                return
            line(f"#{n} {type(obj).__name__} of {len(obj)}")
            group = isinstance(obj, dict) and ("params" in obj or label == "'defaults': ")
            for each in sorted(obj.items()) if group else items(obj):
                if isinstance(obj, dict) and isinstance(each[0], (str, int)):
                    below(each[1], f"{each[0]!r}: ")
                else:
                    below(each)
        elif isinstance(obj, tuple):
            line(f"tuple of {len(obj)}")
            for each in obj:
                below(each)
        elif isinstance(obj, (set, frozenset)):
            line(f"{type(obj).__name__} {sorted(map(repr, obj))}")
        else:
            line(repr(obj))

    show(read(file, []), 0, None)
    return "\n".join(lines)
