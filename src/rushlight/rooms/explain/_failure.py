"""An error that knows the model: which module failed, the tensors that came in, and their makers.

All is found out from the frames of the error and from the graph of the tensors, after the error was
raised. A call that does not fail does nothing for it.
"""

from __future__ import annotations

import ast
import linecache
import opcode
import re
from collections.abc import Callable, Iterator
from inspect import Parameter, signature
from itertools import islice
from math import prod
from types import FrameType, TracebackType
from typing import NamedTuple, Self, TypeGuard, TypeVar, cast

from .. import _core
from .._base import FOLDER
from .._base.errors import program_frame
from .._base.sources import locals_of
from .._core import Tensor
from ..nn.modules.container import Sequential
from ..nn.modules.module import Module
from ._graph import Node, read_node
from ._names import inside, quiet, shown_name, variables_of
from ._text import in_columns

__all__ = ["add_model"]

_T = TypeVar("_T")
_TOLD = {RuntimeError, NotImplementedError, TypeError, ValueError, IndexError, AssertionError}
_STEPS, _ROWS = 500, 12
"""How far the graph is followed, and how many layers are listed."""
_IN_TURN = Sequential.forward.__code__
_WORDS = {"float32": "float", "float64": "double", "float16": "half", "bfloat16": "bfloat16"}
"""Methods of tensors and modules, by the type that they give."""


def add_model(error: Exception) -> None:
    """Add to an error that leaves the call of a module where that module is, and what came in.

    The library's own errors, and Python's, have it in their text. What a program raises keeps its
    text, and gets a note. Errors of classes of their own stay as they are.
    """
    trace = list(_steps_of(error.__traceback__))
    call = trace[0].tb_frame
    if type(error) not in _TOLD or any(t.tb_frame.f_code is call.f_code for t in trace[1:]):
        return  # the second: a module inside has told it
    try:
        with quiet():
            text = _Failure(str(error), trace).text()
    except Exception:  # nothing may take the place of the error itself
        return
    last = trace[-1]
    code = last.tb_frame.f_code
    raised = code.co_code[last.tb_lasti] == opcode.opmap["RAISE_VARARGS"]
    own = raised and not code.co_filename.startswith(FOLDER)
    if own or len(error.args) != 1 or type(error.args[0]) is not str:
        error.add_note(text)
    else:
        error.args = (f"{error.args[0]}\n{text}",)


def _is(value: object, kind: type[_T]) -> TypeGuard[_T]:
    return issubclass(type(value), kind)  # isinstance() would ask a proxy, which may do anything


def _steps_of(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


class _Layer(NamedTuple):
    """A part of the way that a tensor took: who made it, and its shape there."""

    who: str
    shape: tuple[int, ...]


class _Call(NamedTuple):
    """A call of a module that runs."""

    module: Module
    args: tuple[object, ...]
    kwargs: dict[str, object]
    frame: FrameType

    @classmethod
    def of(cls, frame: FrameType) -> Self:
        module, args, kwargs = map(locals_of(frame).get, ("self", "args", "kwargs"))
        kept = cast("dict[str, object]", kwargs)
        return cls(cast("Module", module), cast("tuple[object, ...]", args), kept, frame)


class _Failure:
    """An error in the call of a module, and the calls around it."""

    def __init__(self, said: str, trace: list[TracebackType]) -> None:
        self.said = said
        self.trace = trace
        inner = trace[0].tb_frame
        frame: FrameType | None = inner
        self.calls: list[_Call] = []
        while frame is not None:
            if frame.f_code is inner.f_code:
                self.calls.insert(0, _Call.of(frame))
            frame = frame.f_back
        self.module = self.calls[-1].module
        self.outer = self.calls[0].module
        self.name = self._outer_name()
        self.paths: dict[int, tuple[Module, str]] = {}
        for call in self.calls:
            module = call.module
            label = self.paths.get(id(module), (module, type(module).__name__))[1]
            label = self.name if module is self.outer else label
            for path, part in module.named_modules():
                self.paths.setdefault(id(part), (part, f"{label}.{path}".rstrip(".")))
        self.of_parameter = {
            id(p): module for module, _ in self.paths.values() for p in module.parameters(False)
        }

    def _outer_name(self) -> str:
        """The name of the outermost module in the program, the longest that its variables have:
        `blocks.0` rather than `b`."""
        frame, _ = program_frame(self.calls[0].frame.f_back)
        known = variables_of(frame) if frame is not None else []
        for label, value in list(known):
            if label == "self" and not _is(value, Module):
                known += [(f"self.{n}", v) for n, v in getattr(value, "__dict__", {}).items()]
        found = [
            f"{label}.{path}".rstrip(".")
            for label, value in known
            if _is(value, Module)
            for path, part in value.named_modules()
            if part is self.outer
        ]
        most = max(found, key=lambda name: name.count("."), default=type(self.outer).__name__)
        return shown_name(most)

    def text(self) -> str:
        """Where the module is, what fits as a hint, what came in, and the shapes on the way."""
        came = self._came_in()
        hint, of_size = self._hint(came)
        lines = [f"in {self._known(self.module)}" + (f": {hint}" if hint else "")]
        for name, value in islice(came.items(), 4):
            lines.append(f"  {name}: {_shape_text(value)}" + self._made_by(value))
        lines += self._expression(came)
        if of_size or any(word in self.said for word in ("shape", "size", "channels", "dimension")):
            lines += self._way(next(iter(came.values()), None))
        return "\n".join(lines)

    def _known(self, module: Module) -> str:
        """The path of a module and its class; of a nameless one the class alone."""
        path, text = self.paths[id(module)][1], _class_text(module)
        return text if path == type(module).__name__ else f"{path}, {text}"

    # -- what came in

    def _came_in(self) -> dict[str, Tensor]:
        """The tensors that the module was called with, by the names of its parameters."""
        call = self.calls[-1]
        names = iter(signature(self.module.forward).parameters.values())
        found: dict[str, object] = {}
        parameter: Parameter | None = None
        for number, value in enumerate(call.args):
            if parameter is None or parameter.kind is not Parameter.VAR_POSITIONAL:
                parameter = next(names, None)
            name = f"argument {number + 1}" if parameter is None else parameter.name
            found[name if name not in found else f"{name}[{number}]"] = value
        found |= call.kwargs
        return {name: v for name, v in found.items() if _is(v, Tensor)}

    def _expression(self, came: dict[str, Tensor]) -> list[str]:
        """The tensors that stand in the expression of the program that failed, with their shapes,
        where the failing line is in the module's own code."""
        inner = [t for t in self.trace if not t.tb_frame.f_code.co_filename.startswith(FOLDER)]
        if not inner:
            return []
        frame = inner[-1].tb_frame
        code = frame.f_code
        start, end, left, right = list(code.co_positions())[inner[-1].tb_lasti // 2]
        if start is None or end is None:
            return []
        source = [linecache.getline(code.co_filename, n).encode() for n in range(start, end + 1)]
        source[-1] = source[-1][:right]
        source[0] = source[0][left:]
        try:
            called = ast.parse(b"(%s)" % b"".join(source), mode="eval")
        except SyntaxError:  # a statement, or the file is another by now
            return []
        found: dict[str, Tensor] = {}
        known = locals_of(frame)
        for node in ast.walk(called):
            value = _plain_value(node, known)
            if _is(value, Tensor) and not any(value is v for v in came.values()):
                found[ast.unparse(node)] = value
        return [f"  {name}: {_shape_text(v)}{self._made_by(v)}" for name, v in found.items()]

    # -- where that was made

    def _made_by(self, value: Tensor) -> str:
        if id(value) in self.of_parameter:
            return ""
        before = self._neighbour(value)
        if before is not None:
            return f", made by {self._known(before)}"
        nodes = self._nodes(value)
        if not nodes:
            before = self._by_the_source(value)
            return "" if before is None else f", made by {self._known(_last(before))}"
        node, module = nodes[0]
        if module is not None:
            return f", made by {self._known(module)}"
        place = "" if node.place is None else f", {node.place}"
        first = next((m for _, m in nodes if m is not None), None)
        after = "" if first is None else f", after {self._known(first)}"
        return f", made by {shown_name(node.title)}{place}{after}"

    def _neighbour(self, value: Tensor) -> Module | None:
        """The module before the failing one in a Sequential, where the tensor is its result."""
        for call in reversed(self.calls):
            caller = call.frame.f_back
            if caller is None or caller.f_code is not _IN_TURN:
                return None
            known = locals_of(caller)
            if known["input"] is not value or not _is(around := known["self"], Sequential):
                return None
            parts = list(around._modules.values())
            at = [n for n, part in enumerate(parts) if part is call.module]
            if len(at) != 1:
                return None
            if at != [0]:
                return _last(parts[at[0] - 1])
        return None

    def _by_the_source(self, value: Tensor) -> Module | None:
        """The module whose result the tensor is, as the function says that called the failing one:
        `norm(fc(x))`, or a line before it in the same block, `h = fc(x)`."""
        call = self.calls[-1]
        frame = call.frame.f_back
        given = [n for n, v in enumerate(call.args) if v is value]
        if frame is None or len(given) != 1:
            return None
        block, at, called = _running_call(frame)
        if called is None or len(called.args) <= given[0]:
            return None
        made: ast.AST | None = called.args[given[0]]
        if isinstance(made, ast.Name):
            name = made.id
            stores = [s for s in reversed(block[:at]) if name in _stored(s)]
            match stores[:1]:
                case [ast.Assign(targets=[ast.Name()], value=made)]:
                    pass
                case _:
                    return None
        found = _plain_value(made.func, locals_of(frame)) if isinstance(made, ast.Call) else None
        return found if _is(found, Module) and id(found) in self.paths else None

    def _nodes(self, value: Tensor) -> list[tuple[Node, Module | None]]:
        """The nodes on the way to a tensor, the youngest first, each with the module whose
        parameters it uses."""
        edge = _core.gradient_edge(inside(value))
        raw = None if edge is None else edge[0]
        found: list[tuple[Node, Module | None]] = []
        while raw is not None and not isinstance(raw, _core.AccumulateGrad):
            if len(found) == _STEPS:
                break
            node, arrows = read_node(raw)
            leaves = [a[0].variable for a in arrows if isinstance(a[0], _core.AccumulateGrad)]
            of = [self.of_parameter[id(v)] for v in leaves if id(v) in self.of_parameter]
            found.append((node, of[0] if of else None))
            inner = [a[0] for a in arrows if not isinstance(a[0], _core.AccumulateGrad)]
            raw = max(inner, key=lambda n: int(n._sequence_nr()), default=None)
        return found

    def _way(self, value: Tensor | None) -> list[str]:
        """The shapes layer by layer, from what the outermost module was given to the tensor."""
        if value is None:
            return []
        way: list[_Layer] = []
        for node, module in reversed(self._nodes(value)):
            who = shown_name(node.title) if module is None else self._known(module)
            if way and way[-1].who == who and module is not None:
                way.pop()
            way.append(_Layer(who, node.outputs[0][0]))
        given = [v for v in self.calls[0].args if _is(v, Tensor)]
        if len(way) < 2:
            return []
        shown = [["…", ""]] if len(way) > _ROWS else []
        shown += [[str(list(layer.shape)), layer.who] for layer in way[-_ROWS:]]
        if given:
            shown.insert(0, [str(list(given[0].shape)), f"given to {self.name}"])
        return ["  shapes, layer by layer:", *(f"    {line}" for line in in_columns(shown))]

    # -- hints

    def _hint(self, came: dict[str, Tensor]) -> tuple[str, bool]:
        """A sentence that fits, or ""; and whether it is about a size."""
        for name, value in came.items():
            wanted = _size_text(self.module, value, self.said)
            if wanted:
                return wanted, True
            parameter = next((p for p in self.module.parameters() if p.is_floating_point()), None)
            if parameter is None or "type" not in self.said or parameter.dtype == value.dtype:
                continue
            word, other = _WORDS.get(parameter.dtype.name), _WORDS.get(value.dtype.name)
            if word is not None:
                said = f"{name} is {value.dtype.name}, its parameters are {parameter.dtype.name}"
                or_else = f", or {self.name}.{other}()" if other else ""
                return f"{said}. Call .{word}() on the data{or_else}.", False
        return "", False


# The sizes that modules are made with, and the dimension of an input that they are about.
_SIZES: dict[str, Callable[[Module], int | slice]] = {
    "in_features": lambda m: -1,
    "input_size": lambda m: -1,
    "embed_dim": lambda m: -1,
    "in_channels": lambda m: -1 - len(m.kernel_size),
    "num_features": lambda m: 1,
    "num_channels": lambda m: 1,
    "normalized_shape": lambda m: slice(-len(m.normalized_shape), None),
}


def _size_text(module: Module, value: Tensor, said: str) -> str:
    """`in_features=2 got 3`, where an input has another size than a module of the library takes,
    and that is what the error is about: it says the size."""
    shape = tuple(value.shape)
    for name, where in _SIZES.items():
        wanted = module.__dict__.get(name)
        if wanted is None or not _is_own(type(module)):
            continue
        try:
            got = shape[where(module)]
        except IndexError:
            continue
        numbers = re.findall(r"\d+(?![D\d])", said)
        if got == wanted or str(got if isinstance(got, int) else got[-1]) not in numbers:
            continue
        if isinstance(got, tuple) and len(wanted) == 1 == len(got):
            wanted, got = wanted[0], got[0]
        text = f"{name}={wanted} got {got}"
        if name == "in_features" and len(shape) > 2 and prod(shape[1:]) == wanted:
            text += f". flatten(1) before it gives {[shape[0], wanted]}"
        return text
    return ""


def _is_own(kind: type) -> bool:
    """Whether the forward of a class is the library's."""
    code = getattr(kind.__dict__.get("forward"), "__code__", None)
    if code is None:
        return any(_is_own(base) for base in kind.__bases__)
    return str(code.co_filename).startswith(FOLDER)


def _last(module: Module) -> Module:
    """The module that gave the result of a Sequential: the last one inside."""
    while type(module).forward is Sequential.forward and module._modules:
        module = list(module._modules.values())[-1]
    return module


def _plain_value(node: ast.AST, known: dict[str, object]) -> object:
    """The value of `x` or `self.x.y`, as far as no code of the program runs for that; else None."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    owner = getattr(_plain_value(node.value, known), "__dict__", {})
    members = [owner, *(owner.get(f"_{kind}", {}) for kind in ("buffers", "parameters", "modules"))]
    return next((held[node.attr] for held in members if node.attr in held), None)


def _running_call(frame: FrameType) -> tuple[list[ast.stmt], int, ast.Call | None]:
    """The call that a frame waits for, behind the block of its statement and the place in there."""
    where = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    source = "".join(linecache.getlines(frame.f_code.co_filename))
    for node in ast.walk(ast.parse(source)):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            for at, statement in enumerate(block if isinstance(block, list) else []):
                if isinstance(statement, (ast.Assign, ast.Return, ast.Expr)):
                    for part in ast.walk(statement):
                        if isinstance(part, ast.Call) and where == _place_of(part):
                            return cast("list[ast.stmt]", block), at, part
    return [], 0, None


def _place_of(node: ast.expr) -> tuple[int, int | None, int, int | None]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _stored(statement: ast.stmt) -> set[str]:
    """The variables that a statement sets, at any depth."""
    return {
        part.id
        for part in ast.walk(statement)
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)
    }


def _shape_text(value: Tensor) -> str:
    return f"{value.dtype.name} {list(value.shape)}"


def _class_text(module: Module) -> str:
    """`Linear(16, 64)`: the class, and what had to be given to make it."""
    kind = type(module)
    said = module.extra_repr()
    try:
        call = cast("ast.Call", ast.parse(f"f({said})", mode="eval").body)
    except SyntaxError:
        pass
    else:
        known = list(signature(kind.__init__).parameters.values())[1:]
        needed = {p.name for p in known if p.default is Parameter.empty}
        given = [*call.args, *(k.value for k in call.keywords if k.arg in needed)]
        given = [v.elts[0] if isinstance(v, ast.Tuple) and len(v.elts) == 1 else v for v in given]
        said = ", ".join(map(ast.unparse, given))
    name = shown_name(kind.__name__)
    return f"{name}({shown_name(said)})" if said or not module._modules else name
