"""Reads a pickle that can only make data: what `weights_only` stands for.

A pickle is a program for a small machine with a stack. This machine has the instructions that
PyTorch's `weights_only` has, and its rules:

- a name stands for what `PIECES` and `_OWN` list and what the program has added, for nothing else;
- what is called is something that was named, never what a call gave back;
- only what this file has made is written to: lists, dicts, the attributes of an OrderedDict, of a
  tensor where the call that makes it gives them, and of instances of classes that were added.

It uses time and memory in proportion to the pickle. Instructions that could use more with few bytes
are counted (`_charge`), and keys, which are hashed with all that is in them, are looked at before.
The code of classes and functions that the program has added runs as it is.
"""

from __future__ import annotations

import functools
import pickle
import struct
import sys
import types
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from typing import IO, Any, NoReturn, TypeAlias

from rushlight._base.device import device as Device
from rushlight._base.size import Size
from rushlight.serialization import _tensors
from rushlight.serialization._text import described, printed, shown
from rushlight.serialization._unpickler import (
    FAILED,
    PIECES,
    BareStorages,
    Identity,
    Storage,
    allowed_globals,
    named_only,
    of_type,
    rebuild_parameter,
    storage_identity,
)

from .._core import Tensor

# How many elements the calls and keys of a pickle may have: so many for each byte, and some more.
_WORK = 2
_FREE_WORK = 1 << 17
_KEY_PARTS = 1000  # of a tuple that is hashed; a tuple in it counts as often as it occurs
_SAME_HASH = 100  # keys of one container, each of which is compared with the others
_OWN_HASH = 2**61 - 1  # an int below this is its own hash
_NAME = 200  # characters of a module's or a global's name

_BLOCKED_MODULES = frozenset(("sys", "os", "posix", "nt"))
PYTHON_2_MODULES = {"__builtin__": "builtins", "copy_reg": "copyreg"}
_OTHER_TENSORS = {
    "torch._utils._rebuild_meta_tensor_no_storage": "meta",
    "torch._utils._rebuild_nested_tensor": "nested",
    "torch._utils._rebuild_qtensor": "quantized",
}
_SIZED = frozenset((str, bytes, bytearray, tuple, list, dict, set, OrderedDict, Counter))
_WRITABLE = frozenset((dict, OrderedDict, Counter))
_LENGTH = struct.Struct("<L")
_Instruction: TypeAlias = "Callable[[SafeUnpickler], None]"


def _references(function: Callable[..., Any], arguments: tuple[int | type, ...]) -> tuple[Any, int]:
    """The result of the function, and the number of references to the result."""
    result = function(*arguments)
    return result, sys.getrefcount(result)


_NEW = _references(object, ())[1]  # with more, the program has the object too


class _Memo(dict[int, Any]):
    def __missing__(self, index: int) -> NoReturn:
        _refuse(f"Memo value not found at index {index}")


class SafeUnpickler:
    """One pickle where `file` stands, of at most `size` bytes; errors say that it is in `name`."""

    def __init__(
        self,
        file: IO[bytes],
        storage_of: Callable[[Identity], Storage],
        size: int,
        name: str,
        encoding: str = "utf-8",
    ) -> None:
        self._file = file
        self._read = file.read
        self._storage_of = storage_of
        self._bare = BareStorages()
        self._size = size
        self._name = name
        self._encoding = encoding
        self._protocol = 2
        self._work = _WORK * size + _FREE_WORK
        self._stack: list[Any] = []
        self._marks: list[list[Any]] = []
        self._memo = _Memo()
        self._globals: dict[int, tuple[Any, str, bool]] = {}  # by id; the last: the program's own
        self._foreign: dict[int, Any] = {}  # by id: what the program's functions had before
        self._hashes: dict[int, tuple[Any, dict[int, int]]] = {}  # by id: containers, their keys'

    def load(self) -> Any:
        while not self._ends():
            # Outside of the machine: errors of the archive, and of the program's map_location.
            self._stack.append(self._bare(self._storage_of(self._stack.pop())))
        return self._stack[-1]

    def _ends(self) -> bool:
        """Runs up to the end, or to the next storage, whose identity is then on the stack."""
        read, instructions = self._read, _INSTRUCTIONS
        code = b""
        try:
            while True:
                code = read(1)
                instruction = instructions.get(code)
                if instruction is not None:
                    instruction(self)
                elif code == pickle.STOP:
                    return bool(self._stack[-1:]) or _refuse("the pickle has no result")
                elif code == pickle.BINPERSID:
                    self._stack[-1] = storage_identity(self._stack[-1])
                    return False
                else:
                    self._unknown(code)
        except pickle.UnpicklingError as error:
            raise self._failure(str(error), code) from error.__cause__
        except IndexError:
            raise self._failure("this is no valid pickle: a value is missing", code) from None
        except struct.error:
            raise self._failure("Ran out of input: the pickle is cut short", code) from None
        except MemoryError:
            raise RuntimeError(f"load(): not enough memory for {self._place(code)}") from None
        except Exception as error:
            if type(error) is RuntimeError:
                raise RuntimeError(f"{error} ({self._place(code)})") from None
            raise self._failure(described(error), code) from None

    def _unknown(self, code: bytes) -> NoReturn:
        if not code:
            _refuse("Ran out of input: the pickle is cut short")
        advice = "Only files that you trust can be loaded with weights_only=False"
        if self._protocol > 2:
            advice = (
                f"The file has pickle protocol {self._protocol}, and weights_only reads what "
                f"protocol 2 writes: save(..., pickle_protocol=2). {advice}"
            )
        _refuse(f"Unsupported operand {code[0]}. {advice}")

    def _failure(self, text: str, code: bytes) -> pickle.UnpicklingError:
        return pickle.UnpicklingError(
            f"{FAILED} WeightsUnpickler error: {text} ({self._place(code)})"
        )

    def _place(self, code: bytes) -> str:
        names = {code: name for name, code in vars(pickle).items() if type(code) is bytes}
        name = f"opcode {names[code]}" if code in names else "no opcode" if code else "the end"
        return f"{name} that ends at byte {self._file.tell()} of {self._name}"

    # --- what all instructions use ---

    def _take(self, count: int) -> bytes:
        data = self._read(count) if count <= self._size else b""
        if len(data) < count:
            _refuse("Ran out of input: the pickle is cut short")
        return data

    def _pop_mark(self) -> list[Any]:
        items = self._stack
        self._stack = self._marks.pop()
        return items

    def _charge(self, count: int) -> None:
        self._work -= count
        if self._work < 0:
            _refuse(
                "the same values are used over and over: a pickle of "
                f"{self._size} bytes may use {_WORK * self._size + _FREE_WORK} elements"
            )

    def _charge_for(self, arguments: Iterable[Any]) -> None:
        self._charge(sum(len(each) if type(each) in _SIZED else 1 for each in arguments))

    def _check_own(self, target: object) -> None:
        """Refuses to write to what was there before the file was loaded."""
        if id(target) in self._foreign or id(target) in self._globals:
            _refuse(
                f"a file can only change what it has made, and this {type(target).__name__} "
                "is the program's"
            )

    def _check_keys(self, target: object, keys: Iterable[Any]) -> None:
        """Refuses keys whose hashing or comparing would take long, or overflow the C stack."""
        others = [key for key in keys if type(key) is not str]
        if not others:
            return
        _, hashes = self._hashes.setdefault(id(target), (target, {}))
        for key in others:
            if type(key) is int and abs(key) < _OWN_HASH:
                continue
            self._charge(_parts(key))
            hashed = hash(key)
            hashes[hashed] = count = hashes.get(hashed, 0) + 1
            if count > _SAME_HASH:
                _refuse(f"more than {_SAME_HASH} keys of one container have the same hash")

    # --- instructions: values ---

    def _protocol_number(self) -> None:
        self._protocol = self._take(1)[0]

    def _long(self) -> None:
        self._stack.append(int.from_bytes(self._take(self._take(1)[0]), "little", signed=True))

    def _text(self) -> None:
        (length,) = _LENGTH.unpack(self._read(4))
        self._stack.append(str(self._take(length), "utf-8", "surrogatepass"))

    def _string(self) -> None:
        data = self._take(self._take(1)[0])
        self._stack.append(data if self._encoding == "bytes" else data.decode(self._encoding))

    def _mark(self) -> None:
        self._marks.append(self._stack)
        self._stack = []

    def _tuple(self) -> None:
        items = self._pop_mark()
        self._stack.append(tuple(items))

    def _short_get(self) -> None:
        self._stack.append(self._memo[self._read(1)[0]])

    def _long_get(self) -> None:
        self._stack.append(self._memo[_LENGTH.unpack(self._read(4))[0]])

    def _short_put(self) -> None:
        self._memo[self._read(1)[0]] = self._stack[-1]

    def _long_put(self) -> None:
        self._memo[_LENGTH.unpack(self._read(4))[0]] = self._stack[-1]

    # --- instructions: what is in a container ---

    def _append(self) -> None:
        item = self._stack.pop()
        self._list("append to").append(item)

    def _appends(self) -> None:
        items = self._pop_mark()
        self._list("extend").extend(items)

    def _list(self, what: str) -> list[Any]:
        target = self._stack[-1]
        if type(target) is not list:
            _refuse(f"Can only {what} lists, but got {type(target)}")
        self._check_own(target)
        return target

    def _set_item(self) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        self._set("SETITEM", (key,), (value,))

    def _set_items(self) -> None:
        items = self._pop_mark()
        if len(items) % 2:
            _refuse("a key of a dict has no value")
        self._set("SETITEMS", items[::2], items[1::2])

    def _set(self, what: str, keys: Iterable[Any], values: Iterable[Any]) -> None:
        target = self._stack[-1]
        if type(target) not in _WRITABLE:
            _refuse(
                f"Can only {what} for dict, collections.OrderedDict, collections.Counter, "
                f"but got {type(target)}"
            )
        self._check_own(target)
        self._check_keys(target, keys)
        for key, value in zip(keys, values, strict=True):
            target[key] = value

    # --- instructions: what is named, called and built ---

    def _global(self) -> None:
        module, name = self._line(), self._line()
        module = PYTHON_2_MODULES.get(module, module)
        full_name = f"{module}.{name}"
        if module in _BLOCKED_MODULES:
            _refuse(
                f"Trying to load unsupported GLOBAL {full_name} whose module {module} is blocked. "
                "Files made by save() of weights never name it: distrust this one"
            )
        value, added = _OWN.get(full_name), False
        if value is None:
            added = True
            value = next((v for known, v in allowed_globals() if known == full_name), None)
        if value is None:
            _refuse_global(full_name)
        self._globals[id(value)] = value, full_name, added
        self._stack.append(value)

    def _line(self) -> str:
        line = self._file.readline(_NAME)
        if not line.endswith(b"\n"):
            _refuse("Ran out of input: the name of a GLOBAL has no end")
        return printed(str(line[:-1], "utf-8"))

    def _reduce(self) -> None:
        arguments, function = self._stack.pop(), self._stack[-1]
        self._stack[-1] = self._call(function, arguments)

    def _call(self, function: Any, arguments: Any) -> Any:
        if id(function) not in self._globals:
            _refuse(f"Trying to call reduce for unrecognized function {shown(function)}")
        if type(arguments) is not tuple:
            _refuse(f"the arguments of a call cannot be {shown(arguments)}")
        self._charge_for(arguments)
        _, name, added = self._globals[id(function)]
        if added:
            return self._from_program(name, function, arguments)
        if function in _METHODS:
            arguments = (self, *arguments)
        try:
            return function(*arguments)
        except TypeError as error:
            _refuse(f"{name} cannot be called with these arguments: {described(error)}")

    def _from_program(
        self, name: str, function: Callable[..., Any], arguments: tuple[int | type, ...]
    ) -> Any:
        """The result of a function that the program has added."""
        try:
            result, references = _references(function, arguments)
        except Exception as error:
            raise pickle.UnpicklingError(f"{name} failed: {described(error)}") from error
        if references > _NEW:
            self._foreign[id(result)] = result
        return result

    def _new_object(self) -> None:
        arguments, kind = self._stack.pop(), self._stack[-1]
        _, name, added = self._globals.get(id(kind), (None, "", False))
        if not added or not isinstance(kind, type):
            _refuse(
                "Can only create new object for nn.Parameter or classes allowlisted via "
                f"`add_safe_globals` but got {shown(kind)}"
            )
        if type(arguments) is not tuple:
            _refuse(f"the arguments of a call cannot be {shown(arguments)}")
        self._charge_for(arguments)
        self._stack[-1] = self._from_program(name, kind.__new__, (kind, *arguments))

    def _build(self) -> None:
        state, target = self._stack.pop(), self._stack[-1]
        kind = type(target)
        if _tensors.is_tensor(target):
            _refuse(
                "Can only build OrderedDict or types allowlisted via `add_safe_globals`, but got "
                f"{kind}: the call that makes a tensor gives it its attributes"
            )
        if kind is not OrderedDict and not any(kind is v for _, v in allowed_globals()):
            _refuse(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                f"`add_safe_globals`, but got {kind}"
            )
        self._check_own(target)
        self._charge_for((state,))
        if kind is OrderedDict:
            for attributes in _both_states(state):
                _set_attributes(target, attributes, OrderedDict)
        elif (set_state := getattr(kind, "__setstate__", None)) is not None:
            self._from_program(f"{kind.__name__}.__setstate__", set_state, (target, state))
        else:
            _set_state(target, state)

    # --- what a file may call ---

    def _make_set(self, items: Any = ()) -> set[Any]:
        if type(items) not in (list, tuple):
            _refuse(f"a set cannot be made of {shown(items)}")
        made: set[Any] = set()
        self._check_keys(made, items)
        made.update(items)
        return made

    def _make_ordered_dict(self, pairs: Any = ()) -> OrderedDict[Any, Any]:
        if type(pairs) not in (list, tuple) or not all(
            type(pair) in (list, tuple) and len(pair) == 2 for pair in pairs
        ):
            _refuse(f"an OrderedDict cannot be made of {shown(pairs)}")
        made: OrderedDict[Any, Any] = OrderedDict()
        self._check_keys(made, [key for key, _ in pairs])
        made.update(pairs)
        return made

    def _make_counter(self, counts: object = None) -> Counter[Any]:
        made: Counter[Any] = Counter()
        if counts is not None:
            if type(counts) is not dict:
                _refuse(f"a Counter cannot be made of {shown(counts)}")
            self._check_keys(made, counts)
            made.update(counts)
        return made

    def _make_tensor_of_type(
        self,
        function: object,
        kind: object,
        arguments: tuple[Storage | int | tuple[int, ...], ...],
        state: object,
    ) -> Any:
        if function is SafeUnpickler._make_tensor_of_type:
            _refuse("a tensor of a type is made of one of another type")
        if isinstance(kind, type) and not issubclass(kind, _tensors.tensor_type()):
            _refuse(f"{kind} is no type of tensors")
        tensor = self._call(function, arguments)
        if not _tensors.is_tensor(tensor):
            _refuse(f"a tensor is made of {shown(tensor)}")
        return self._with_state(of_type(tensor, kind), state)

    def _make_parameter_with_state(
        self, data: Tensor, requires_grad: object, hooks: object, state: object
    ) -> Any:
        return self._with_state(rebuild_parameter(data, requires_grad, hooks), state)

    def _with_state(self, tensor: Tensor, state: object) -> Any:
        """The tensor with the attributes that were saved with the tensor."""
        self._check_own(tensor)
        for attributes in _both_states(state):
            self._charge(len(attributes))
            _set_attributes(tensor, attributes, _tensors.tensor_type())
        return tensor


def _set_attributes(target: object, attributes: dict[str, Any], kind: type) -> None:
    """Sets them, unless one would hide what the library's type has, such as a method."""
    if hidden := attributes.keys() & _names(kind):
        _refuse(f"a file cannot set attribute {shown(min(hidden))} of {kind}")
    target.__dict__.update(attributes)


@functools.cache
def _names(kind: type) -> frozenset[str]:
    return frozenset(dir(kind))


def _set_state(target: object, state: tuple[dict[str, Any] | None, ...]) -> None:
    """Sets attributes and slots as pickle does for a class without `__setstate__`."""
    attributes, slots = _both_states(state)
    if attributes:
        target.__dict__.update(attributes)
    for name, value in slots.items():
        if not isinstance(getattr(type(target), name, None), types.MemberDescriptorType):
            _refuse(f"{type(target)} has no slot {shown(name)}")
        setattr(target, name, value)


def _both_states(state: Any) -> tuple[dict[str, Any], ...]:
    """The attributes in `__dict__` and those in slots."""
    both = state if type(state) is tuple and len(state) == 2 else (state, None)
    attributes, slots = ({} if each is None else each for each in both)
    for each in (attributes, slots):
        if type(each) is not dict or not all(type(name) is str for name in each):
            _refuse(f"attributes cannot be {shown(each)}")
    return attributes, slots


def _parts(key: object) -> int:
    """How many values are hashed for a key."""
    count = 0
    waiting = [key]
    while waiting:
        count += 1
        each = waiting.pop()
        if isinstance(each, tuple):
            if count + len(waiting) + len(each) > _KEY_PARTS:
                _refuse(f"a key of a container has more than {_KEY_PARTS} parts")
            waiting.extend(tuple.__iter__(each))
    return count


def _refuse(reason: str) -> NoReturn:
    raise pickle.UnpicklingError(reason)


def _refuse_global(name: str) -> NoReturn:
    if (kind := _OTHER_TENSORS.get(name)) is not None:
        _refuse(f"the file holds a {kind} tensor, and here are dense tensors only")
    name = name.removeprefix("builtins.")
    _refuse(
        f"Unsupported global: GLOBAL {name} was not an allowed global by default. Please use "
        f"`torch.serialization.add_safe_globals([{name}])` or the "
        f"`torch.serialization.safe_globals([{name}])` context manager to allowlist this "
        "global if you trust this class/function. Or load with weights_only=False, which lets "
        "the file run any code: only for files that you trust."
    )


def _make_bytes(text: str, encoding: str) -> bytes:
    """How protocol 2 writes bytes: as text of as many characters."""
    if type(text) is not str or type(encoding) is not str or encoding != "latin1":
        _refuse(f"bytes are never written as {shown((text, encoding))}")
    return text.encode("latin1")


def _make_bytearray(content: object = b"", encoding: object = None) -> bytearray:
    if type(content) is str and type(encoding) is str and encoding in ("latin-1", "latin1"):
        return bytearray(content, "latin1")
    if type(content) is not bytes or encoding is not None:
        _refuse(f"a bytearray is never written as {shown((content, encoding))}")
    return bytearray(content)


def _make_complex(*parts: float) -> complex:
    if not all(type(part) in (int, float) for part in parts):
        _refuse(f"a complex number cannot be made of {shown(parts)}")
    return complex(*parts)


def _make_size(lengths: tuple[int, ...] = ()) -> Size:
    if type(lengths) not in (list, tuple) or not all(type(n) is int for n in lengths):
        _refuse(f"a torch.Size cannot be made of {shown(lengths)}")
    return Size(lengths)


def _make_device(kind: object, index: int | None = None) -> Device:
    if type(kind) is not str or len(kind) > _NAME or type(index) not in (int, type(None)):
        _refuse(f"a device cannot be made of {shown((kind, index))}")
    return Device(kind) if index is None else Device(kind, index)


# The names that a file may use. A class of the library is a function here, which accepts only
# arguments that pickle writes for the class.
_OWN: dict[str, Any] = {
    **PIECES,
    "torch._utils._rebuild_parameter_with_state": SafeUnpickler._make_parameter_with_state,
    "torch._utils._rebuild_from_type_v2": SafeUnpickler._make_tensor_of_type,
    "torch._tensor._rebuild_from_type_v2": SafeUnpickler._make_tensor_of_type,
    "builtins.bytearray": _make_bytearray,
    "builtins.complex": _make_complex,
    "builtins.set": SafeUnpickler._make_set,
    "_codecs.encode": _make_bytes,
    "collections.Counter": SafeUnpickler._make_counter,
    "collections.OrderedDict": SafeUnpickler._make_ordered_dict,
    "torch.Size": _make_size,
    "torch.device": _make_device,
    "torch.Tensor": named_only,
    "torch.nn.parameter.Parameter": named_only,
}


def is_allowed(name: str) -> bool:
    """Whether a file may name this."""
    return name in _OWN or any(name == known for known, _ in allowed_globals())


_METHODS = frozenset(vars(SafeUnpickler).values()) & frozenset(_OWN.values())


def _constant(value: object) -> _Instruction:
    return lambda self: self._stack.append(value)


def _empty(kind: type) -> _Instruction:
    return lambda self: self._stack.append(kind())


def _number(code: str) -> _Instruction:
    number = struct.Struct(code)
    unpack, size = number.unpack, number.size
    return lambda self: self._stack.append(unpack(self._read(size))[0])


def _tuple_of(count: int) -> _Instruction:
    def make(self: SafeUnpickler) -> None:
        items = self._stack[-count:]
        if len(items) < count:
            raise IndexError
        self._stack[-count:] = [tuple(items)]

    return make


_INSTRUCTIONS: dict[bytes, _Instruction] = {
    pickle.PROTO: SafeUnpickler._protocol_number,
    pickle.NONE: _constant(None),
    pickle.NEWTRUE: _constant(True),
    pickle.NEWFALSE: _constant(False),
    pickle.BININT: _number("<i"),
    pickle.BININT1: _number("<B"),
    pickle.BININT2: _number("<H"),
    pickle.LONG1: SafeUnpickler._long,
    pickle.BINFLOAT: _number(">d"),
    pickle.BINUNICODE: SafeUnpickler._text,
    pickle.SHORT_BINSTRING: SafeUnpickler._string,
    pickle.EMPTY_LIST: _empty(list),
    pickle.EMPTY_DICT: _empty(dict),
    pickle.EMPTY_SET: _empty(set),
    pickle.EMPTY_TUPLE: _constant(()),
    pickle.TUPLE1: _tuple_of(1),
    pickle.TUPLE2: _tuple_of(2),
    pickle.TUPLE3: _tuple_of(3),
    pickle.MARK: SafeUnpickler._mark,
    pickle.TUPLE: SafeUnpickler._tuple,
    pickle.BINGET: SafeUnpickler._short_get,
    pickle.LONG_BINGET: SafeUnpickler._long_get,
    pickle.BINPUT: SafeUnpickler._short_put,
    pickle.LONG_BINPUT: SafeUnpickler._long_put,
    pickle.APPEND: SafeUnpickler._append,
    pickle.APPENDS: SafeUnpickler._appends,
    pickle.SETITEM: SafeUnpickler._set_item,
    pickle.SETITEMS: SafeUnpickler._set_items,
    pickle.GLOBAL: SafeUnpickler._global,
    pickle.REDUCE: SafeUnpickler._reduce,
    pickle.NEWOBJ: SafeUnpickler._new_object,
    pickle.BUILD: SafeUnpickler._build,
}
