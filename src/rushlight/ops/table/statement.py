"""How one statement of the table becomes an op.

Read `ops/README.md` first; it shows every kind. Here is the mechanism they share: `sources` turns a
rule's parameter names into places of a recorded call, `define` hands them with the signature to the
native `Op` and enters the result in `OPS`.

A rule is a Python function over tensors. The names of its parameters stand for values:

- an argument's name: that argument; `<name>_shape`, `<name>_dtype`: only its shape or dtype;
- `out`: the result (`out1`, `out2`: of several); `g`: the gradient of the result
  (`g1`, `g2`: of several); `gs`: all of them; `needs`: for each edge 0 where no gradient is
  wanted, else one more than the dimensions of what is to get it.

Nothing else is kept alive.
"""

from __future__ import annotations

import copyreg
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar, Unpack

from ... import _core
from ..._base.pickled import dotted
from ..._core import Asks, Flag, Keeps, OpKind, Overlap, Source, Typed
from .names import OPERATORS, Names, namespace, publish, set_operator
from .signature import parse
from .words import AUTOCAST, BATCH, SHARED_WRITES, STORED, TRAITS, Spec

__all__ = [
    "OPS",
    "Entry",
    "define",
    "is_elementwise",
    "overridable",
    "quietly",
    "row_of",
]

_NUMBERS = {word.lower(): n for word, n in vars(OpKind).items() if word.isupper()}
KINDS = tuple(sorted(_NUMBERS, key=_NUMBERS.__getitem__))  # each at its number

# The memory that an in-place form may share. "self": the written tensor may show an element twice;
# "arguments", "never": arguments may share its memory, or never; "same": a tensor written with
# itself stays as it is; "late": all other errors come before the one about shared memory.
OVERLAPS = {
    "self": Overlap.SELF_MAY,
    "arguments": Overlap.ARGUMENTS_MAY,
    "never": Overlap.ARGUMENTS_NEVER,
    "same": Overlap.COPIES_SAME,
    "late": Overlap.SAID_LATE,
}

# How results lie in memory: see `Keeps` in native/core/core.h.
KEEPS = {
    "": Keeps.MADE,
    "rows": Keeps.ROWS,
    "columns": Keeps.COLUMNS,
    "format": Keeps.FORMAT,
    "format and back": Keeps.FORMAT_AND_BACK,
    "strides": Keeps.STRIDES,
}

_TYPED = {"inside": Typed.INSIDE, "node": Typed.NODE}

# The bit of a lazy view.
LAZY = {"": 0, "conj": Flag.CONJ, "neg": Flag.NEG}


class Entry:
    """A row of the table: the op, and what documentation and tests derive from."""

    doc = ""
    namespace = "torch"
    samples: Any = None
    domain: tuple[float, float] = (-2.0, 2.0)
    reference: Any = None
    is_: Callable[..., object] | None = None  # the definition in other ops
    traced_forward: Any = None
    traced_halves: Any = None
    kernel: str | None = None
    out: Any = "exact"  # of which type an `out=` may be; see table/outputs.py
    shape: Callable[..., object] | None = None
    by_values = ""
    like_first = False
    overloads: tuple[str, ...] = ()
    earlier = ""
    said = ""
    aten = ""
    shared_write = ""
    traits: frozenset[str] = frozenset()
    autocast: Mapping[str, str] = MappingProxyType({})  # by "here" and "there"
    elementwise = False  # elements of the result from those at their places in the arguments
    variant_of = ""  # the op that it takes over from
    batch: Any = None  # what the statement says of a batch
    batching: Any = None  # the rule of vmap; see `_levels`
    rules: Sequence[Any] = ()
    targets: Sequence[list[int]] = ()  # of each rule: the parameters it gives gradients for
    partials: Mapping[str, Any] = MappingProxyType({})
    formula: Mapping[str, str] = MappingProxyType({})  # of arguments whose rule is none
    written = ""  # a call in the formula of another op
    fused: Any = None  # the kernel for all gradients
    place: tuple[str, int] | None = None  # the file and the line of the statement
    jvp: Mapping[int, Rule] = MappingProxyType({})

    def __init__(self, name: str, kind: int, signature: str, function: Any) -> None:
        self.name, self.kind, self.signature = name, KINDS[kind], signature
        self.op = self.function = function
        self.forms: set[str] = set()
        self.elementwise = kind == OpKind.POINTWISE

    def __repr__(self) -> str:
        return f"<{self.kind} op {self.signature}>"


OPS: dict[str, Entry] = Names("op")
"""Every op by name, in the order of the rooms and of definition."""


def traits_of(words: str, op: str) -> frozenset[str]:
    """The traits that a statement names; an error where there is no such."""
    for word in words.split():
        if word not in TRAITS:
            raise TypeError(f"op '{op}': '{word}' is no trait, which are {list(TRAITS)}")
    return frozenset(words.split())


def casts_of(words: str, op: str) -> dict[str, str]:
    """The kinds of `autocast=`, by "here" and "there"; an error for an unknown word."""
    found: dict[str, str] = {}
    for each in filter(None, words.split(", ")):
        kind, _, place = each.partition(" ")
        if kind not in AUTOCAST or place not in ("", "here", "there"):
            raise TypeError(f"op '{op}': autocast={words!r}, of which '{each}' is no word")
        found |= dict.fromkeys([place] if place else ["here", "there"], kind)
    return found


def row_of(function: object) -> Entry | None:
    """The row of a public function, of a method or of an operator; None of what has none."""
    row = getattr(function, "entry", None)
    if isinstance(row, Entry):
        return row
    return OPERATORS.get(getattr(function, "__name__", "").strip("_"))


def is_elementwise(function: object) -> bool:
    """Whether a public function computes each element from those at its place."""
    row = row_of(function)
    return row is not None and row.elementwise


# Operators with an assignment form: `a += b`.
_AUGMENTED = frozenset("add sub mul truediv floordiv mod pow and or xor lshift rshift".split())


def read_by(rule: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a rule's parameters."""
    code = rule.__code__
    return code.co_varnames[: code.co_argcount]


def sources(reads: Sequence[str], names: Sequence[str], op: str) -> list[tuple[int, int]]:
    """Where each of the things that a rule reads comes from, as (source kind, index)."""
    found = []
    for wanted in reads:
        if wanted in names:
            found.append((Source.ARG, names.index(wanted)))
        elif wanted == "g" or wanted == "out":
            found.append((Source.GRAD if wanted == "g" else Source.OUT, 0))
        elif wanted == "gs":
            found.append((Source.GRADS, 0))
        elif wanted == "needs":
            found.append((Source.NEEDS, 0))
        elif wanted[:3] == "out" and wanted[3:].isdigit():
            found.append((Source.OUT, int(wanted[3:])))
        elif wanted[0] == "g" and wanted[1:].isdigit():
            found.append((Source.GRAD, int(wanted[1:])))
        elif wanted.endswith("_shape") and wanted[:-6] in names:
            found.append((Source.ARG_SHAPE, names.index(wanted[:-6])))
        elif wanted.endswith("_dtype") and wanted[:-6] in names:
            found.append((Source.ARG_DTYPE, names.index(wanted[:-6])))
        else:
            raise TypeError(f"op '{op}': a rule asks for '{wanted}', which is no argument of it")
    return found


def node_name(op: str) -> str:
    """torch's class name of the node: CamelCase, 'Backward', and the overload's number."""
    return "".join(word.capitalize() for word in op.strip("_").split("_")) + "Backward0"


# Words that `_core.make_op` does not get: for documentation and tests, and where programs find it.
_PYTHON = frozenset(
    "shape by_values like_first out in_place in_place_node batch jvp doc samples where method "
    "operator reflected overloads earlier said autocast traits aten shared_write formula "
    "written".split()
)

# Words that go into the row of the table unchanged.
_ROW = frozenset(
    "doc samples reference is_ kernel overloads earlier said aten shared_write batch formula shape "
    "by_values like_first written".split()
)


def _keeps(words: str, names: list[str]) -> tuple[int, int]:
    """The rule of `keeps=`, and the arguments that the rule is about."""
    rule, _, arguments = words.partition(": ")
    return KEEPS[rule], sum(1 << names.index(name) for name in arguments.split())


def _tangent_rule(op: str, names: list[str], wanted: str, rule: Any) -> tuple[int, Rule]:
    """One row of `jvp=`: the place of the argument, and the rule."""
    reads = read_by(rule)
    if wanted not in names or reads[0] != "t":
        raise TypeError(f"op '{op}': jvp of '{wanted}' must be of an argument, and read t")
    return names.index(wanted), Rule(rule, sources(reads[1:], names, op))


def _statement_place() -> tuple[str, int]:
    """The file and the line of the statement that is being read."""
    frame: Any = sys._getframe(1)
    while frame.f_globals["__package__"] == __package__:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def define(
    kind: int, signature: str, forward: Any, rules: dict[str, Rule], **words: Unpack[Spec]
) -> _core.Op:
    """Make the op of one statement and enter it in the table: see the kinds in `kinds.py` and the
    words in `words.py`."""
    name, params, positional = parse(signature, kind)
    names = [p[0] for p in params]
    said: dict[str, Any] = {w: v for w, v in words.items() if v is not None and w not in _PYTHON}
    rows = []
    for wanted, rule in rules.items():
        targets = [t.strip() for t in wanted.split(",")]
        for target in targets:
            if target not in names:
                raise TypeError(f"op '{name}': a rule for '{target}', which is no argument of it")
        rows.append((rule.function, rule.sources, [names.index(t) for t in targets]))
    if rows:
        said["rules"] = rows
        said.setdefault("node", node_name(name))
    if "edges" in said:
        said["edges"] = [names.index(p) for p in said["edges"].split()]
    said.setdefault("kernel_name", f"{name.removeprefix('_')}_cpu")
    if "stored" in said:
        said["stored"] = STORED[said["stored"]]
    if "typed" in said:
        said["typed"] = _TYPED[said["typed"]]
    if "toggles" in said:
        said["toggles"] = LAZY[said["toggles"]]
    if "overlap" in said:
        said["overlap"] = sum(OVERLAPS[word] for word in said["overlap"].split())
    for place in ("subscript", "by_value"):
        if place in said:
            said[place] = 1 << names.index(said[place])
    said["indices"] = sum(1 << i for i, n in enumerate(names) if n in ("index", "indices"))
    if "keeps" in said:
        said["keeps"] = _keeps(said["keeps"], names)
    if "zero_dim" in said:
        who, text = said["zero_dim"]
        said["zero_dim"] = names.index(who), text
    if "backward" in said:
        fused, reads = said["backward"]
        said["backward"] = fused, sources(reads.split(), names, name)
    out = words.get("out", True)
    if out:
        said["takes_out"] = True
        word = out[0] if isinstance(out, tuple) else out  # it may stand before an error of its own
        if word in ("dtype", "float dtype"):
            said["typed_out"] = names.index("dtype")
            said["float_out"] = word == "float dtype"
    op = _core.make_op(name, kind, params, positional, forward, said)
    entry = Entry(name, kind, signature, op)
    entry.place = _statement_place()
    entry.fused = words["backward"][0] if "backward" in words else None
    for word, value in words.items():
        if word in _ROW:
            setattr(entry, word, value)
    entry.out = ("cast" if kind == OpKind.POINTWISE else "exact") if out is True else out
    if entry.shared_write not in ("", *SHARED_WRITES):
        raise TypeError(f"op '{name}': shared_write={entry.shared_write!r} is none of its words")
    if "traits" in words:
        entry.traits = traits_of(words["traits"], name)
    entry.like_first |= words.get("write") is not None
    entry.autocast = casts_of(words.get("autocast", ""), name)
    if rows:
        entry.rules, entry.targets = list(rules.values()), [row[2] for row in rows]
    if isinstance(entry.batch, str) and entry.batch not in BATCH:
        raise TypeError(f"op '{name}': batch={entry.batch!r} is none of {', '.join(BATCH)}")
    if "jvp" in words:
        entry.jvp = dict(_tangent_rule(name, names, *item) for item in words["jvp"].items())
    op.entry = entry
    enter(
        entry,
        op,
        where=words.get("where", "torch"),
        method=words.get("method"),
        in_place=words.get("in_place", False),
        in_place_node=words.get("in_place_node"),
        operator=words.get("operator"),
        reflected=words.get("reflected"),
    )
    return op


def _find(where: str, name: str) -> Any:
    if where == "method":
        return getattr(_core.Tensor, name)
    return namespace(where).get(name) or OPS[name].function


# Where PyTorch's programs find the functions of a namespace. nn.functional comes first: what it
# shares with torch takes more arguments there.
_PATHS = {
    "nn": "nn.functional.",
    "torch": "",
    "linalg": "linalg.",
    "fft": "fft.",
    "special": "special.",
}


def path_of(function: Any) -> str:
    """The name of a function below PyTorch's module, such as "nn.functional.gelu"; "" where
    programs have none."""
    name = function.__name__
    spaces: list[tuple[str, Mapping[str, Any]]]
    spaces = [(path, namespace(where)) for where, path in _PATHS.items()]
    spaces.append(("Tensor.", vars(_core.Tensor)))
    for path, functions in spaces:
        if functions.get(name) is function and path + name not in _DEPRECATED:
            return path + name
    for path, functions in spaces:  # under another name than its own
        for known, each in functions.items():
            if each is function:
                return path + known
    return ""


_DEPRECATED = {"nn.functional.sigmoid", "nn.functional.tanh"}


def _reduce(function: Any) -> Any:
    name = function.__name__
    if path := path_of(function):
        return dotted(path)
    if getattr(sys.modules.get(function.__module__), name, None) is function:
        return name
    return _find, ((OPS[name].namespace if name in OPS else "method"), name)


# Whose `__torch_function__` is asked about calls of a function: all; modes alone, where the
# arguments are data to make a tensor of; nobody, where PyTorch shows the call to no one.
ASKS = {"all": Asks.ALL, "modes": Asks.MODES, "nobody": Asks.NOBODY}

_Function = TypeVar("_Function", bound=Callable[..., Any])


def overridable(function: _Function) -> _Function:
    """Decorator: a plain function that `__torch_function__` may take over."""
    return _core.overridable(function)


def quietly(function: _Function) -> _Function:
    """Decorator of the library's own code on tensors of a program: nobody is asked about it."""
    return _core.overridable(function, ASKS["nobody"])


copyreg.pickle(_core.Op, _reduce)
copyreg.pickle(_core.Public, _reduce)


def enter(
    entry: Entry,
    function: Any,
    *,
    where: str = "torch",
    method: bool | None,
    in_place: bool | str,
    in_place_node: str | None = None,
    operator: str | None,
    reflected: str | None = None,
    asks: str = "all",
    native: Any = None,
    remembers: bool = False,
) -> None:
    """Put a function where programs find it: its namespace, Tensor's methods, the operators.

    where: its namespaces; the first documents the function. method: whether Tensor has it as a
    method; None: as long as it is in the namespace 'torch'. asks: see ASKS.
    """
    name = entry.name
    OPS[name] = entry
    spaces = where.split(" ")
    entry.namespace = spaces[0]
    if not name.startswith("_"):
        plain = not isinstance(function, _core.Op)
        public = (
            _core.make_public(function, False, ASKS[asks], native, remembers) if plain else function
        )
        for space in spaces:
            if space != "Tensor":
                publish(space, name, public)
    if method is None:
        method = "torch" in spaces or "Tensor" in spaces
    if method:
        plain_form = getattr(function, "plain", function)
        publish("Tensor", name, _core.make_public(plain_form, True, ASKS["all"], native, remembers))
        entry.forms.add("method")
    if operator:
        set_operator(operator, function, entry)
        if reflected:
            set_operator(reflected, function, entry)
    if in_place:
        node = (in_place_node,) if in_place_node else ()
        form = _core.make_in_place(function, name + "_", *node)
        form.entry = entry
        publish("Tensor", name + "_", form)
        if in_place == "function":
            publish("torch", name + "_", form)
        entry.forms.add("in_place")
        if operator in _AUGMENTED:
            set_operator("i" + operator, form, entry)


class Rule:
    """A rule's function with the places its arguments come from."""

    __slots__ = ("function", "partial", "sources")

    def __init__(self, function: Any, places: list[tuple[int, int]], partial: Any = None) -> None:
        self.function, self.sources, self.partial = function, places, partial
