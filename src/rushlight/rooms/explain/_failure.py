"""An error that knows the model: which module failed, the tensors that came in, and their makers.

All is found out after the error was raised, from its frames, from the graph of the tensors and from
the source. A call that does not fail does nothing for it.
"""

from __future__ import annotations

import ast
import linecache
import opcode
import re
from collections.abc import Callable, Iterator
from inspect import Parameter, signature
from itertools import islice, pairwise
from math import prod
from types import CodeType, FrameType, TracebackType
from typing import NamedTuple, Self, TypeAlias, TypeGuard, TypeVar, cast

from .. import _core
from .._base import FOLDER
from .._base.sources import locals_of
from .._core import Tensor
from ..autograd.grad_mode import no_grad
from ..nn.modules.container import Sequential
from ..nn.modules.module import Module
from ..ops.making.creation import empty
from ._graph import Node, read_node
from ._names import inside, names_for, quiet, shown_name
from ._text import in_columns

__all__ = ["add_model"]

_T = TypeVar("_T")
_Place: TypeAlias = tuple[int | None, int | None, int | None, int | None]
_LONGER = (RuntimeError, TypeError, ValueError, IndexError, AssertionError)
_STEPS, _ROWS = 500, 12
"""How far the graph is followed, and how many layers are listed."""
_IN_TURN = Sequential.forward.__code__
_OF_SIZES = re.compile("shape|size|channels|dimension")
_WORDS = {"float32": "float", "float64": "double", "float16": "half", "bfloat16": "bfloat16"}
"""Methods of tensors and modules, by the type that they give."""


def add_model(error: Exception) -> None:
    """Add to an error that leaves the call of a module where that module is, and what came in.

    The library's own errors, and Python's, have it in their text, or in a note where the text is
    made of something else. An error that the program raises keeps its text, and gets a note. One of
    a class of the program stays as it is: programs steer by these.
    """
    kind, trace = type(error), list(_steps_of(error.__traceback__))
    call, last = trace[0].tb_frame.f_code, trace[-1].tb_frame.f_code
    told = any(t.tb_frame.f_code is call for t in trace[1:])  # by a module inside
    known = kind.__module__.partition(".")[0] in ("builtins", __name__.partition(".")[0])
    if told or not known or kind in (StopIteration, StopAsyncIteration):
        return
    try:
        with quiet():
            text = _Failure(str(error), trace).text()
    except Exception:  # nothing may take the place of the error itself
        return
    raised = last.co_code[trace[-1].tb_lasti] == opcode.opmap["RAISE_VARARGS"]
    own = raised and not last.co_filename.startswith(FOLDER)
    plain = issubclass(kind, _LONGER) and list(map(type, error.args)) == [str]
    if plain and not own:
        error.args = (f"{error.args[0]}\n{text}",)
    else:
        error.add_note(text)


def _is(value: object, kind: type[_T]) -> TypeGuard[_T]:
    return issubclass(type(value), kind)  # isinstance() would ask a proxy, which may do anything


def _steps_of(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


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

    def tensors(self) -> dict[str, Tensor]:
        """The tensors that came in, by the names of the parameters."""
        try:
            given = signature(self.module.forward).bind_partial(*self.args, **self.kwargs).arguments
        except TypeError:
            given = {f"argument {n}": value for n, value in enumerate(self.args, 1)} | self.kwargs
        return dict(islice(_tensors(given), 4))


def _tensors(values: dict[str, object]) -> Iterator[tuple[str, Tensor]]:
    """The tensors among values, and in their tuples, lists and dicts, with their names."""
    for name, value in values.items():
        if _is(value, Tensor):
            yield name, value
        elif type(value) in (tuple, list, dict):
            items = value.items() if type(value) is dict else enumerate(cast("list[object]", value))
            yield from _tensors({f"{name}[{key!r}]": item for key, item in islice(items, 4)})


class _Layer(NamedTuple):
    """A part of the way that a tensor took: who made it, and its shape there."""

    who: str
    shape: tuple[int, ...]


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
        self.call = self.calls[-1]
        self.module = self.call.module
        self.paths: dict[int, tuple[Module, str]] = {}
        roots = [(type(call.module).__name__, call.module) for call in self.calls]
        for label, root in [*names_for().modules.items(), *roots]:
            for path, part in root.named_modules():
                name = f"{label}.{path}".strip(".").replace("._orig_mod", "")
                self.paths.setdefault(id(part), (part, name))
        self.named = {path: module for module, path in reversed(self.paths.values())}
        self.of_parameter = {
            id(p): module for module in self.named.values() for p in module.parameters(False)
        }
        self.read: dict[str, tuple[ast.Module, dict[_Place, ast.AST]]] = {}

    def text(self) -> str:
        """Where the module is, what fits as a hint, what came in, and the shapes on the way."""
        came = self.call.tensors()
        hint, of_size = self._hint(came)
        lines = [f"in {self._known(self.module)}" + (f": {hint}" if hint else "")]
        shown = [*came.items(), *self._in_the_expression(came)]
        lines += [f"  {name}: {_shape_text(value)}{self._made_by(value)}" for name, value in shown]
        if shown and (of_size or _OF_SIZES.search(self.said)):
            lines += self._way(max((v for _, v in shown), key=lambda v: len(self._nodes(v))))
        return "\n".join(lines)

    def _path(self, module: Module) -> str:
        return shown_name(self.paths[id(module)][1])

    def _known(self, module: Module) -> str:
        """The path of a module and its class; of a nameless one the class alone."""
        path, text = self._path(module), _class_text(module)
        return text if path == type(module).__name__ else f"{path}, {text}"

    def _in_the_expression(self, came: dict[str, Tensor]) -> list[tuple[str, Tensor]]:
        """The tensors that stand in the expression of the program that failed, where the failing
        line is in the module's own code."""
        inner = [t for t in self.trace if not t.tb_frame.f_code.co_filename.startswith(FOLDER)]
        failed = self._expression(inner[-1].tb_frame.f_code, inner[-1].tb_lasti) if inner else None
        if failed is None:
            return []
        known = locals_of(inner[-1].tb_frame)
        had = [id(value) for value in came.values()]
        found = {ast.unparse(n): _plain_value(n, known) for n in ast.walk(failed)}
        return [(n, v) for n, v in found.items() if _is(v, Tensor) and id(v) not in had]

    # -- the way of a tensor

    def _made_by(self, value: Tensor) -> str:
        if id(value) in self.of_parameter:
            return ""
        _, parts = self._in_turn()
        if parts and value is self.call.args[0]:
            return f", made by {self._known(parts[-1])}"
        nodes = self._nodes(value)
        made = nodes[0][1] if nodes else self._by_the_source(value)
        if made is not None:
            return f", made by {self._known(made)}"
        if not nodes:
            return ""
        node = nodes[0][0]
        place = "" if node.place is None else f", {node.place}"
        before = next((m for _, m in nodes if m is not None), None)
        after = "" if before is None else f", after {self._known(before)}"
        return f", made by {shown_name(node.title)}{place}{after}"

    def _way(self, value: Tensor) -> list[str]:
        """The shapes layer by layer, from what the outermost module was given to the tensor."""
        first, parts = self._in_turn()
        last: list[_Layer] = []
        if parts and value is self.call.args[0] and _is(first, Tensor):
            last = self._by_meta(first, parts, value)
        way: list[_Layer] = []
        for node, module in reversed(self._nodes(cast("Tensor", first) if last else value)):
            who = shown_name(node.title) if module is None else self._known(module)
            if way and way[-1].who == who and module is not None:
                way.pop()
            way.append(_Layer(who, node.outputs[0][0]))
        way += last
        if len(way) < 2:
            return []
        shown = [["…", ""]] if len(way) > _ROWS else []
        shown += [[str(list(layer.shape)), layer.who] for layer in way[-_ROWS:]]
        for given in islice(self.calls[0].tensors().values(), 1):
            shown.insert(
                0, [str(list(given.shape)), f"given to {self._path(self.calls[0].module)}"]
            )
        return ["  shapes, layer by layer:", *(f"    {line}" for line in in_columns(shown))]

    def _in_turn(self) -> tuple[object, list[Module]]:
        """What the Sequentials around the failing module began with, and the modules that they
        called before this one, one after another."""
        first, parts = None, list[Module]()
        for call, outer in pairwise(reversed(self.calls)):
            caller = call.frame.f_back
            if caller is None or caller.f_code is not _IN_TURN:
                break
            all_parts = list(outer.module._modules.values())
            at = [n for n, part in enumerate(all_parts) if part is call.module]
            if len(at) != 1 or not outer.args:
                break
            first = outer.args[0]
            parts[:0] = [leaf for part in all_parts[: at[0]] for leaf in _leaves(part)]
        return first, parts

    def _by_meta(self, first: Tensor, parts: list[Module], value: Tensor) -> list[_Layer]:
        """The shapes that layers of the library give, without their values: no numbers are drawn,
        no buffers change. Nothing where there is a layer of the program."""
        on = empty(first.shape, dtype=first.dtype, device="meta")
        way = []
        with no_grad():
            for part in parts:
                if not all(m._plain and _is_own(type(m)) for m in part.modules()):
                    return []
                on = _on_meta(part)(on)
                way.append(_Layer(self._known(part), tuple(on.shape)))
        return way if on.shape == value.shape else []

    def _nodes(self, value: Tensor) -> list[tuple[Node, Module | None]]:
        """The nodes on the way to a tensor, the youngest first, each with the module that made the
        node: whose parameters the node uses, or that is called in the node's line."""
        edge = _core.gradient_edge(inside(value))
        raw = None if edge is None else edge[0]
        found: list[tuple[Node, Module | None]] = []
        while raw is not None and not isinstance(raw, _core.AccumulateGrad) and len(found) < _STEPS:
            node, arrows = read_node(raw)
            leaves = [a[0].variable for a in arrows if isinstance(a[0], _core.AccumulateGrad)]
            of = [self.of_parameter[id(v)] for v in leaves if id(v) in self.of_parameter]
            found.append((node, of[0] if of else None))
            others = [a[0] for a in arrows if not isinstance(a[0], _core.AccumulateGrad)]
            raw = max(others, key=lambda n: int(n._sequence_nr()), default=None)
        before: tuple[Node, Module] | None = None
        for at, (node, module) in reversed(list(enumerate(found))):
            module = module or self._called(node, before)
            if module is not None:
                found[at] = before = node, module
        return found

    def _called(self, node: Node, before: tuple[Node, Module] | None) -> Module | None:
        """The module that the program calls where a node was made. before: the last node on the way
        there that has a module; of several modules with the same code it says which one runs."""
        site = _core.site_of(node.node)
        called = None if site is None else self._expression(*site)
        if site is None or not isinstance(called, ast.Call):
            return None
        owners = [(m, path) for m, path in self.paths.values() if _runs(m, site[0])]
        near = None if before is None else before[1]
        if len(owners) > 1 and before is not None:
            there = _core.site_of(before[0].node)
            if there is not None and there[0] is site[0] and there[1] <= site[1]:
                owners = [(m, p) for m, p in owners if any(part is near for part in m.modules())]
        found = self._by_path(called, owners[0][1] if owners else "") if len(owners) < 2 else None
        if found is None or type(found).forward is not Sequential.forward:
            return found
        leaves = _leaves(found)
        at = next((n for n, leaf in enumerate(leaves, 1) if leaf is near), 0)
        op = node.title.replace("_", "")
        return next((m for m in leaves[at:] if op.startswith(type(m).__name__.lower())), None)

    # -- the source

    def _source(self, code: CodeType) -> tuple[ast.Module, dict[_Place, ast.AST]]:
        """The file of some code, and the expressions in there by their places."""
        file = code.co_filename
        if file not in self.read:
            try:
                tree = ast.parse("".join(linecache.getlines(file)))
            except SyntaxError:  # the file is another by now
                tree = ast.Module([], [])
            nodes = [n for n in ast.walk(tree) if isinstance(n, (ast.expr, ast.AugAssign))]
            places = {(n.lineno, n.end_lineno, n.col_offset, n.end_col_offset): n for n in nodes}
            self.read[file] = tree, cast("dict[_Place, ast.AST]", places)
        return self.read[file]

    def _expression(self, code: CodeType, at: int) -> ast.AST | None:
        """The expression of the source that an instruction is for."""
        place = next(islice(code.co_positions(), at // 2, None))
        return self._source(code)[1].get(place)

    def _by_path(self, called: ast.AST | None, owner: str) -> Module | None:
        """The module that is called as `self.layers[0](x)`. owner: the path of `self`."""
        if not isinstance(called, ast.Call):
            return None
        text = re.sub(r"\[['\"]?(\w+)['\"]?\]", r".\1", ast.unparse(called.func))
        return self.named.get(re.sub(r"^self\b", owner, text))

    def _by_the_source(self, value: Tensor) -> Module | None:
        """The module whose result the tensor is, as the function says that called the failing one:
        `norm(fc(x))`, or a line before it in the same block, `h = fc(x)`."""
        frame = self.call.frame.f_back
        given = [n for n, v in enumerate(self.call.args) if v is value]
        called = frame and self._expression(frame.f_code, frame.f_lasti)
        if frame is None or not isinstance(called, ast.Call) or not given[:1]:
            return None
        made: ast.AST | None = called.args[given[0]] if len(called.args) > given[0] else None
        if isinstance(made, ast.Name):
            made = _last_value(made.id, self._source(frame.f_code)[0], called)
        owner = self.paths.get(id(locals_of(frame).get("self")))
        found = self._by_path(made, "" if owner is None else owner[1])
        return None if found is None else next(reversed(_leaves(found)), None)

    # -- hints

    def _hint(self, came: dict[str, Tensor]) -> tuple[str, bool]:
        """A sentence that fits, or ""; and whether it is about a size."""
        for value in islice(came.values(), 1):
            if wanted := _size_text(self.module, value, self.said):
                return wanted, True
        for name, value in came.items():
            parameter = next((p for p in self.module.parameters() if p.is_floating_point()), None)
            if parameter is None or "type" not in self.said or parameter.dtype == value.dtype:
                continue
            word, other = _WORDS.get(parameter.dtype.name), _WORDS.get(value.dtype.name)
            if word is not None:
                said = f"{name} is {value.dtype.name}, its parameters are {parameter.dtype.name}"
                or_else = f", or {self._path(self.calls[0].module)}.{other}()" if other else ""
                return f"{said}. Call .{word}() on the data{or_else}.", False
        return "", False


# The sizes that modules are made with: the first dimension of an input that a size is about.
_SIZES: dict[str, Callable[[Module], int]] = {
    "in_features": lambda m: -1,
    "input_size": lambda m: -1,
    "embed_dim": lambda m: -1,
    "in_channels": lambda m: -1 - len(m.kernel_size),
    "num_features": lambda m: 1,
    "num_channels": lambda m: 1,
    "normalized_shape": lambda m: -len(m.normalized_shape),
}


def _size_text(module: Module, value: Tensor, said: str) -> str:
    """`in_features=2 got 3`, where an input has another size than a module of the library takes,
    and that is what the error is about: it says the size."""
    shape = tuple(value.shape)
    for name in _SIZES.keys() & module.__dict__.keys() if _is_own(type(module)) else ():
        wanted, at = module.__dict__[name], _SIZES[name](module)
        count = len(wanted) if type(wanted) is tuple else 1
        got = shape[at:][:count] if -len(shape) <= at else ()
        numbers = re.findall(r"\d+(?![D\d])", said)
        if len(got) != count or _single(wanted) == _single(got) or str(got[-1]) not in numbers:
            continue
        text = f"{name}={_single(wanted)} got {_single(got)}"
        if name == "in_features" and len(shape) > 2 and prod(shape[1:]) == wanted:
            text += f". flatten(1) before it gives {[shape[0], wanted]}"
        return text
    return ""


def _single(value: object) -> object:
    """`(32,)` as 32."""
    return value[0] if type(value) is tuple and len(value) == 1 else value


def _is_own(kind: type) -> bool:
    """Whether the forward of a class is the library's."""
    code = getattr(kind.__dict__.get("forward"), "__code__", None)
    if code is None:
        return any(_is_own(base) for base in kind.__bases__)
    return str(code.co_filename).startswith(FOLDER)


def _runs(module: Module, code: CodeType) -> bool:
    """Whether some code is a method of a module."""
    return getattr(getattr(type(module), code.co_name, None), "__code__", None) is code


def _leaves(module: Module) -> list[Module]:
    """The modules that a Sequential calls, with those of the Sequentials inside."""
    if type(module).forward is not Sequential.forward:
        return [module]
    return [leaf for part in module._modules.values() for leaf in _leaves(part)]


def _on_meta(module: Module) -> Module:
    """A module of the same class and settings, whose tensors have shapes and no values."""
    made = cast("Module", object.__new__(type(module)))
    made.__dict__.update(module.__dict__)
    for kind, change in (
        ("_parameters", lambda p: p.to("meta")),
        ("_buffers", lambda b: b.to("meta")),
        ("_modules", _on_meta),
    ):
        held = module.__dict__[kind].items()
        made.__dict__[kind] = {n: v if v is None else change(v) for n, v in held}
    return made


def _plain_value(node: ast.AST, known: dict[str, object]) -> object:
    """The value of `x` or `self.x.y`, as far as no code of the program runs for that; else None."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    owner = getattr(_plain_value(node.value, known), "__dict__", {})
    members = [owner, *(owner.get(f"_{kind}", {}) for kind in ("buffers", "parameters", "modules"))]
    return next((held[node.attr] for held in members if node.attr in held), None)


def _last_value(name: str, tree: ast.Module, before: ast.expr) -> ast.AST | None:
    """The expression that a variable has by the last statement that sets the variable before a
    line, where that is an assignment in the same block."""
    block: list[ast.stmt] = []
    for node in ast.walk(tree):
        for _, inner in ast.iter_fields(node):
            for at, s in enumerate(inner if isinstance(inner, list) else []):
                if isinstance(s, ast.stmt) and s.lineno <= before.lineno <= (s.end_lineno or 0):
                    block = inner[:at]
    match [s for s in block if name in _stored(s)][-1:]:
        case [ast.Assign(targets=[ast.Name()], value=made)]:
            return made
    return None


def _stored(statement: ast.stmt) -> set[str]:
    """The variables that a statement sets, at any depth."""
    names = [part for part in ast.walk(statement) if isinstance(part, ast.Name)]
    return {name.id for name in names if not isinstance(name.ctx, ast.Load)}


def _shape_text(value: Tensor) -> str:
    return f"{value.dtype.name} {list(value.shape)}"


def _class_text(module: Module) -> str:
    """`Linear(16, 64)`: the class, and the numbers that had to be given to make the module."""
    needed: list[str] = []
    for kind in type(module).__mro__:
        known = signature(kind.__init__).parameters.values()
        if not any(p.kind is Parameter.VAR_POSITIONAL for p in known):
            needed = [p.name for p in known if p.default is Parameter.empty]
            break
    given = [_single(module.__dict__[n]) for n in needed if n in module.__dict__]
    numbers = [v for v in given if type(v) in (int, float, tuple)]
    name = shown_name(type(module).__name__)
    text = shown_name(", ".join(map(str, numbers)))
    return f"{name}({text})" if numbers or not module._modules else name
