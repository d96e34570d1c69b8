"""An error that knows the model: which module failed, the tensors that came in, and their makers.

All is found out after the error was raised, from its frames, from the graph of the tensors and from
the source. A call that does not fail does nothing for it.
"""

from __future__ import annotations

import ast
import copy
import opcode
import re
from collections.abc import Iterator
from functools import cache
from inspect import CO_OPTIMIZED, Parameter, signature
from itertools import islice, pairwise
from math import prod
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple, TypeGuard, TypeVar, cast

from .. import _core
from .._base import FOLDER
from .._base.sources import Source, locals_of
from .._core import Tensor
from ..autograd.grad_mode import no_grad
from ..nn import functional
from ..nn.modules._calling import is_hooked
from ..nn.modules.container import Sequential
from ..nn.modules.module import Module
from ..ops.making.creation import empty
from ._graph import Node, read_node
from ._names import as_far, inside, names_for, quiet, shown_name
from ._text import in_columns

__all__ = ["add_model"]

_T = TypeVar("_T")
_LONGER = (RuntimeError, TypeError, ValueError, IndexError, AssertionError)
_STEPS, _ROWS = 500, 12
"""How far the graph is followed, and how many layers are listed."""
_SEVERAL = Parameter.VAR_POSITIONAL
_IN_TURN = Sequential.forward.__code__
_FEATURES = {"in_features", "input_size", "embed_dim", "normalized_shape"}
_CHANNELS = {"in_channels", "num_features", "num_channels"}
"""Settings of layers that say the size of an input: its last dimension, or the channels."""
_OF_SIZES = re.compile("shape|size|channels|dimension|elements")
_OF_TYPES = re.compile(
    "have the same dtype|^expected scalar type|not match weight dtype|share same datatype"
)
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
            said = "\n".join([str(error), *getattr(error, "__notes__", ())])
    except Exception:  # nothing may take the place of the error itself
        return
    raised = last.co_code[trace[-1].tb_lasti] == opcode.opmap["RAISE_VARARGS"]
    own = raised and not last.co_filename.startswith(FOLDER)
    plain = issubclass(kind, _LONGER) and list(map(type, error.args)) == [str]
    if plain and not own:
        error.args = (f"{error.args[0]}\n{text}",)
    elif text not in said and "\n" + re.split("[,:\n]", text)[0] + "." not in f"\n{said}":
        # Else a module inside was told, and the program took the traceback away.
        error.add_note(text)


def _is(value: object, kind: type[_T]) -> TypeGuard[_T]:
    return issubclass(type(value), kind)  # isinstance() would ask a proxy, which may do anything


def _steps_of(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


class _Call:
    """A call of a module that runs."""

    def __init__(self, frame: FrameType) -> None:
        known: dict[str, Any] = locals_of(frame)
        self.module: Module = known["self"]
        self.args: tuple[object, ...] = known["args"]
        self.kwargs: dict[str, object] = known["kwargs"]
        self.caller = frame.f_back

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
    """A part of the way that a tensor took: its shape there, the module and the node that made it,
    as far as they are known, and the modules whose parameters the node uses."""

    shape: tuple[int, ...]
    module: Module | None
    node: Node | None = None
    users: tuple[Module, ...] = ()


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
                self.calls.insert(0, _Call(frame))
            frame = frame.f_back
        self.call = self.calls[-1]
        self.module = self.call.module
        self.paths: dict[int, tuple[Module, str]] = {}
        roots = [(type(call.module).__name__, call.module) for call in self.calls]
        for label, root in [*names_for().modules.items(), *roots]:
            label = type(root).__name__ if label == "self" else label
            self.paths.setdefault(id(root), (root, label))
            for path, part in as_far(root.named_modules):
                name = f"{label}.{path}".strip(".").replace("._orig_mod", "")
                self.paths.setdefault(id(part), (part, name))
        self.named = {path: module for module, path in reversed(self.paths.values())}
        self.of_parameter: dict[int, list[Module]] = {}
        for module, _ in self.paths.values():
            for p in as_far(module.parameters, False):
                self.of_parameter.setdefault(id(p), []).append(module)
        self.source = cache(Source)

    def text(self) -> str:
        """Where the module is, what fits as a hint, what came in, and the shapes on the way."""
        came = self.call.tensors()
        hint = self._hint(came)
        lines = [f"in {self._known(self.module)}" + (f": {hint}" if hint else "")]
        ways = []
        for name, value in [*came.items(), *self._in_the_expression(came)]:
            ways.append(self._way(value))
            lines.append(f"  {name}: {value.dtype.name} {list(value.shape)}{self._maker(ways[-1])}")
        if _OF_SIZES.search(self.said):
            lines += self._list(max(ways, key=len, default=[]))
        return "\n".join(lines)

    def _path(self, module: Module) -> str:
        return shown_name(self.paths.get(id(module), (None, type(module).__name__))[1])

    def _known(self, module: Module) -> str:
        """The path of a module and its class; of a nameless one the class alone."""
        path, text = self._path(module), _class_text(module)
        return text if path == type(module).__name__ else f"{path}, {text}"

    def _in_the_expression(self, came: dict[str, Tensor]) -> list[tuple[str, Tensor]]:
        """The tensors that stand in the expression of the program that failed, where the failing
        line is in the module's own code."""
        inner = [t for t in self.trace if not t.tb_frame.f_code.co_filename.startswith(FOLDER)]
        if not inner:
            return []
        frame = inner[-1].tb_frame
        failed = self.source(frame.f_code.co_filename).expression(frame.f_code, inner[-1].tb_lasti)
        known, had = frame.f_globals | locals_of(frame), [id(value) for value in came.values()]
        parts = [] if failed is None else list(ast.walk(failed))
        found = {ast.unparse(part): _plain_value(part, known) for part in parts}
        return [(n, v) for n, v in found.items() if _is(v, Tensor) and id(v) not in had]

    # -- the way of a tensor, the oldest layer first

    def _who(self, layer: _Layer) -> str:
        if layer.module is not None:
            return self._known(layer.module)
        return shown_name(cast("Node", layer.node).title)

    def _maker(self, way: list[_Layer]) -> str:
        if not way:
            return ""
        last, place, after = way[-1], "", ""
        if last.module is None and last.node is not None:
            place = "" if last.node.place is None else f", {last.node.place}"
            before = next((layer for layer in reversed(way) if layer.module is not None), None)
            after = "" if before is None else f", after {self._who(before)}"
        return f", made by {self._who(last)}{place}{after}"

    def _list(self, way: list[_Layer]) -> list[str]:
        """The shapes layer by layer, from what the outermost module was given."""
        outer = self._path(self.calls[0].module)
        given = list(self.calls[0].tensors().values())
        edges = [_core.gradient_edge(inside(tensor)) for tensor in given]
        nodes = [edge[0] for edge in edges if edge is not None]
        starts = [n for n, at in enumerate(way, 1) if at.node and at.node.node in nodes]
        way = way[max(starts, default=0) :]
        ends = [a for a, b in pairwise(way) if a.module is None or a.module is not b.module]
        ends += way[-1:]
        if len(ends) < 2:
            return []
        rows = [["…", ""]] if len(ends) > _ROWS else []
        if given:
            rows.insert(0, [str(list(given[0].shape)), f"given to {outer}"])
        rows += [[str(list(layer.shape)), self._who(layer)] for layer in ends[-_ROWS:]]
        return ["  shapes, layer by layer:", *(f"    {line}" for line in in_columns(rows))]

    def _way(self, value: Tensor) -> list[_Layer]:
        first, parts = self._in_turn(value)
        later = self._by_meta(first, parts, value)
        way = [*self._by_graph(first if later else value), *later]
        if way and way[-1].module is not None:
            return way
        made = parts[-1] if parts else None if way else self._by_the_source(value)
        last = way[-1] if way else _Layer(tuple(value.shape), None)
        return way if made is None else [*way[:-1], last._replace(module=made)]

    def _in_turn(self, value: Tensor) -> tuple[Tensor, list[Module]]:
        """The modules that Sequentials around the failing one called to make the tensor, and what
        the first of them was given."""
        first, parts = value, list[Module]()
        for call, outer in pairwise(reversed(self.calls)):
            frame = call.caller
            if frame is None or frame.f_code is not _IN_TURN or call.args[0] is not first:
                break
            all_parts = list(outer.module._modules.values())
            at = [n for n, part in enumerate(all_parts) if part is call.module]
            if len(at) != 1 or not outer.args or not _is(outer.args[0], Tensor):
                break
            first = outer.args[0]
            parts[:0] = [leaf for part in all_parts[: at[0]] for leaf in _leaves(part)]
        return first, parts

    def _by_meta(self, first: Tensor, parts: list[Module], value: Tensor) -> list[_Layer]:
        """The shapes that layers of the library give, without their values: no numbers are drawn,
        no buffers change. Nothing where there is a layer of the program."""
        on = empty(first.shape, dtype=first.dtype, device="meta")
        way = []
        for part in parts:
            if any(is_hooked(m) or not _is_own(m) for m in part.modules()):
                return []
            tensors = [*part.parameters(), *part.buffers()]
            try:
                with no_grad():
                    on = copy.deepcopy(part, {id(t): t.to("meta") for t in tensors})(on)
            except Exception:  # a layer that needs values
                return []
            way.append(_Layer(tuple(on.shape), part))
        return way if on.shape == value.shape else []

    def _by_graph(self, value: Tensor) -> list[_Layer]:
        """The nodes on the way, each with the module whose parameters the node uses, or that is
        called in the node's line."""
        edge = _core.gradient_edge(inside(value))
        raw = None if edge is None else edge[0]
        way: list[_Layer] = []
        while raw is not None and not isinstance(raw, _core.AccumulateGrad) and len(way) < _STEPS:
            node, arrows = read_node(raw)
            leaves = [a[0].variable for a in arrows if isinstance(a[0], _core.AccumulateGrad)]
            of = dict.fromkeys(m for v in leaves for m in self.of_parameter.get(id(v), ()))
            way.insert(0, _Layer(node.outputs[0][0], None, node, tuple(of)))
            others = [a[0] for a in arrows if not isinstance(a[0], _core.AccumulateGrad)]
            raw = max(others, key=lambda n: int(n._sequence_nr()), default=None)
        before = None
        for at, layer in enumerate(way):
            way[at] = layer._replace(module=self._called(layer, before))
            before = way[at] if way[at].module else before
        return way

    def _called(self, layer: _Layer, before: _Layer | None) -> Module | None:
        """The module whose call made a node. before: the last layer with a module, which tells
        apart modules with the same code."""
        code, at = _site(layer)
        called = None if code is None else self.source(code.co_filename).expression(code, at)
        if code is None or called is None:
            return layer.users[0] if len(layer.users) == 1 else None
        names = (*code.co_varnames, *code.co_cellvars, *code.co_freevars)
        found = self._by_path(called, self._owner(layer, before), dict.fromkeys(names))
        parts = [] if found is None else list(as_far(found.modules))
        users = [m for m in layer.users if any(m is part for part in parts)]
        if found is None or (layer.users and not users):
            users = [m for m in layer.users if not _is_own(m) or self._is_call(called, m)]
            return users[0] if len(users) == 1 else None
        leaves = _leaves(found)
        if len(users) == 1 or leaves == [found]:
            return users[0] if len(users) == 1 else found
        near = None if before is None else before.module
        start = next((n for n, leaf in enumerate(leaves, 1) if leaf is near), 0)
        op = cast("Node", layer.node).title.replace("_", "")
        return next((m for m in leaves[start:] if op.startswith(type(m).__name__.lower())), None)

    def _owner(self, layer: _Layer, before: _Layer | None) -> str:
        """The path of `self` where a node was made; "" where that may be several."""
        code, at = _site(layer)
        owners = [p for m, p in self.paths.values() if code is not None and _runs(m, code)]
        if len(owners) > 1:
            near, (its_code, its_at) = layer.users, _site(before)
            if not near and before is not None and its_code is code and its_at <= at:
                near = (cast("Module", before.module),)
            inside = [f"{self.paths[id(module)][1]}." for module in near]
            owners = [o for o in owners if any(path.startswith(f"{o}.") for path in inside)]
        return owners[0] if len(owners) == 1 else ""

    def _is_call(self, called: ast.AST, module: Module) -> bool:
        """Whether an expression may be the call of a module: no operator, and no function that
        tensors have too."""
        if not isinstance(called, ast.Call):
            return False
        name = ast.unparse(called.func).rpartition(".")[2]
        common = hasattr(Tensor, name) or hasattr(functional, name)
        return not common or self._path(module).endswith(f".{name}")

    def _by_path(self, made: ast.AST | None, owner: str, known: dict[str, object]) -> Module | None:
        """The module that is called as `self.layers[0](x)`. owner: the path of `self`; known: the
        other variables of the function, which hide those of the program."""
        if not isinstance(made, ast.Call):
            return None
        text = re.sub(r"\[['\"]?(\w+)['\"]?\]", r".\1", ast.unparse(made.func))
        first, dot, rest = text.partition(".")
        if first == "self":
            first = owner
        elif first in known:
            _, first = self.paths.get(id(known[first]), (None, ""))
        return self.named.get(f"{first}{dot}{rest}")

    def _by_the_source(self, value: Tensor) -> Module | None:
        """The module whose result the tensor is, as the function says that called the failing one:
        `norm(fc(x))`, or a line before it in the same block, `h = fc(x)`."""
        frame = self.call.caller
        given = [n for n, v in enumerate(self.call.args) if v is value]
        if frame is None or not given:
            return None
        source = self.source(frame.f_code.co_filename)
        called = source.expression(frame.f_code, frame.f_lasti)
        if not isinstance(called, ast.Call) or len(called.args) <= given[0]:
            return None
        made: ast.AST | None = called.args[given[0]]
        if isinstance(made, ast.Name):
            made = source.value_before(called.lineno, made.id)
        known = locals_of(frame) if frame.f_code.co_flags & CO_OPTIMIZED else {}
        _, owner = self.paths.get(id(known.get("self")), (None, ""))
        found = self._by_path(made, owner, known)
        return None if found is None else next(reversed(_leaves(found)), None)

    # -- hints

    def _hint(self, came: dict[str, Tensor]) -> str:
        """A sentence that fits; "" where there is none."""
        for value in islice(came.values(), 1):
            if wanted := _size_text(self.module, value, self.said):
                return wanted
            if "'indices'" in self.said and _is_own(self.module):
                return f"indices are {value.dtype.name}. Call .long() on the data."
        floats = (p.dtype.name for p in as_far(self.module.parameters) if p.is_floating_point())
        ours = next(floats, "") if _OF_TYPES.search(self.said) else ""
        for name, value in came.items():
            theirs = value.dtype.name
            if theirs in _WORDS and ours in _WORDS and theirs != ours:
                whole = self.calls[0].module
                path = self._path(whole).replace(type(whole).__name__, "model")
                return (
                    f"{name} is {theirs}, its parameters are {ours}. Call .{_WORDS[ours]}() on "
                    f"the data, or {path}.{_WORDS[theirs]}()."
                )
        return ""


def _size_text(module: Module, value: Tensor, said: str) -> str:
    """`in_features=2 got 3`, where an input has another size than a module of the library takes,
    and that is what the error is about: it says the size."""
    shape, settings = tuple(value.shape), module.__dict__ if _is_own(module) else {}
    for name in settings.keys() & _FEATURES | settings.keys() & _CHANNELS:
        wanted = settings[name] if type(settings[name]) is tuple else (settings[name],)
        at = -1 - len(settings["kernel_size"]) if "kernel_size" in settings else 1
        at = -len(wanted) if name in _FEATURES else at
        got = shape[at:][: len(wanted)] if -len(shape) <= at else ()
        numbers = re.findall(r"\d+(?![D\d])", said)
        if len(got) != len(wanted) or got == wanted or str(got[-1]) not in numbers:
            continue
        text = f"{name}={_single(wanted)} got {_single(got)}"
        if name == "in_features" and len(shape) > 2 and prod(shape[1:]) == wanted[0]:
            text += f". flatten(1) before it gives {[shape[0], *wanted]}"
        return text
    return ""


def _single(value: object) -> object:
    """`(32,)` as 32."""
    return value[0] if type(value) is tuple and len(value) == 1 else value


def _is_own(module: Module) -> bool:
    """Whether a module's forward is the library's."""
    code = getattr(type(module).forward, "__code__", None)
    return code is not None and str(code.co_filename).startswith(FOLDER)


def _site(layer: _Layer | None) -> tuple[CodeType | None, int]:
    """The code of the program that made a layer's node, and the instruction there."""
    node = None if layer is None else layer.node
    return (None if node is None else _core.site_of(node.node)) or (None, 0)


def _runs(module: Module, code: CodeType) -> bool:
    """Whether some code is a method of a module."""
    return getattr(getattr(type(module), code.co_name, None), "__code__", None) is code


def _leaves(module: Module) -> list[Module]:
    """The modules that a Sequential calls, with those of the Sequentials inside."""
    if type(module).forward is not Sequential.forward:
        return [module]
    return [leaf for part in module._modules.values() for leaf in _leaves(part)]


def _plain_value(node: ast.AST, known: dict[str, object]) -> object:
    """The value of `x` or `self.x.y`, as far as no code of the program runs for that; else None."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    owner = getattr(_plain_value(node.value, known), "__dict__", {})
    members = [owner, *(owner.get(f"_{kind}", {}) for kind in ("buffers", "parameters", "modules"))]
    return next((held[node.attr] for held in members if node.attr in held), None)


def _class_text(module: Module) -> str:
    """`Linear(16, 64)`: the class, and the numbers that had to be given to make the module."""
    inits = [signature(cast("Any", kind).__init__).parameters for kind in type(module).__mro__]
    whole = (i.values() for i in inits if not any(p.kind is _SEVERAL for p in i.values()))
    needed = [p.name for p in next(whole, ()) if p.default is Parameter.empty]
    given = [_single(module.__dict__[n]) for n in needed if n in module.__dict__]
    numbers = [v for v in given if type(v) in (int, float, tuple)]
    name = shown_name(type(module).__name__)
    text = shown_name(", ".join(map(str, numbers)))
    return f"{name}({text})" if numbers or not module.__dict__.get("_modules") else name
