"""Why a tensor has no gradient: `why_no_grad` for one, `unused` for the parameters of a loss."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from .. import _core
from .._core import Tensor
from ..autograd._engine import REASONS
from ._graph import Edge, Graph, Node, Place, Saved, add_users
from ._names import Names, inside, is_module, names_for, quiet, shown_name
from ._scopes import reading
from ._text import Shown, Text, in_columns, place_lines, tensor_text

__all__ = ["Unused", "UnusedRow", "unused", "why_no_grad"]


# ---- one tensor


def why_no_grad(t: Tensor) -> Text:
    """Why `t` has no gradient, or does not require one: what happened, where, and the likely fix.

    >>> w = torch.ones(3, requires_grad=True)
    >>> h = (w * 2).detach()
    >>> print(torch.explain.why_no_grad(h))  # doctest: +ELLIPSIS
    `h` does not require grad: detach() (or .data) cut its history, here:
    ...
      Use the tensor itself where its gradient is wanted.
    >>> print(torch.explain.why_no_grad(torch.tensor([1, 2])))
    This tensor does not require grad: it holds int64, and only floating point and complex can.
      Make it floating point first: t.float().requires_grad_().
    """
    if not isinstance(t, Tensor):
        raise TypeError(f"why_no_grad: expected a tensor, got {type(t).__name__}.")
    with quiet():
        return Text(_why(t, names_for()))


def _why(t: Tensor, names: Names) -> str:
    name = names.given(t)
    what = f"`{shown_name(name)}`" if name else "This tensor"
    t = inside(t)
    if not t.requires_grad:
        return f"{what} does not require grad: {_no_history(t)}"
    if t.grad_fn is not None:
        with reading(t, Names()) as graph:
            return _of_result(t, graph.roots[0][0], what)
    return _of_leaf(t, what, names)


def _no_history(t: Tensor) -> str:
    cut = _core.cut_of(t)
    number = t.dtype.is_floating_point or t.dtype.is_complex
    if not number and (cut is None or cut[0] == _core.Cut.FROM_DATA):
        return f"it holds {t.dtype.name}, and only floating point and complex can." + _fix(
            "Make it floating point first: t.float().requires_grad_()."
        )
    if _is_parameter(t):
        return "it is a parameter that was frozen (requires_grad=False)." + _fix(
            "Call requires_grad_() on it, or on its module, to train it."
        )
    if cut is not None:
        what, instead = REASONS[cut[0]]
        return _at(_lower(what), _cut_place(t)) + _fix(instead)
    if t.is_inference():
        return "it was made in inference mode, and has no history for good." + _fix(
            "Make it outside of torch.inference_mode(), or clone() it there."
        )
    return "nothing that it was computed from does, and it was not asked to itself." + _fix(
        "If it is an input, make it with requires_grad=True or call requires_grad_(). Else compute "
        "it from tensors that require grad, such as a module's parameters."
    )


def _of_result(t: Tensor, node: Node, what: str) -> str:
    if not t.retains_grad:
        return _at(
            f"{what} is no leaf, and .grad is kept for leaves: it was computed by "
            f"{shown_name(node.title)}",
            node.place,
        ) + _fix(
            "Call retain_grad() on it before backward(), or take it from torch.autograd.grad(loss, "
            "t). Is it meant to be a parameter? Then detach() it when it has its final value, and "
            "call requires_grad_()."
        )
    if t.grad is not None:
        return f"{what} has a gradient: {_tensor(t.grad)}."
    return _at(
        f"{what} is to keep its gradient (retain_grad()), and no backward has reached it since. It "
        f"was computed by {shown_name(node.title)}",
        node.place,
    ) + _fix("Call backward() on a loss that is computed from it.")


def _of_leaf(t: Tensor, what: str, names: Names) -> str:
    if t.grad is not None:
        return f"{what} has a gradient: {_tensor(t.grad)}."
    head = f"{what} is a leaf that requires grad, and its .grad is None"
    see = "torch.explain.unused(loss, parameters) tells whether a loss reaches it, and why not."
    reaching, others = _results(t, names)
    if reaching:
        label, freed, _ = reaching[0]
        if freed is not None:
            return _at(
                f"{head}, though a backward ran through the graph of `{label}`, which needs it",
                freed,
            ) + _fix(
                "zero_grad() or .grad = None has cleared it since: read it before that. Or it was "
                "autograd.grad() or backward(inputs=...), which fill no .grad of others."
            )
        return (
            f"{head}. As far as can be seen no backward has run through `{label}`, which needs it."
            + _fix(f"Call {label}.backward().")
        )
    if others:
        label, freed, _ = others[0]
        ran = "" if freed is None else ", and that is what a backward ran through"
        return _at(f"{head}. `{label}` was not computed from it{ran}", freed) + _fix(
            f"Use it in what leads to the loss: {see} Or zero_grad() has cleared it since."
        )
    return f"{head}: no backward has reached it, or zero_grad() has cleared it since." + _fix(
        f"Call backward() on a loss that is computed from it; {see}"
    )


class _Result(NamedTuple):
    """A result that a variable holds: the name, the place of a backward that freed it, the node."""

    label: str
    freed: Place | None
    number: int


def _results(t: Tensor, names: Names) -> tuple[list[_Result], list[_Result]]:
    """The program's results that were computed from a leaf, and the others; those that a backward
    went through first, then the youngest."""
    makers = ((label, _core.maker_of(result)) for label, result in names.tensors())
    named = [
        (label, m[0]) for label, m in makers if m and not isinstance(m[0], _core.AccumulateGrad)
    ]
    if not named:
        return [], []
    with reading([node for _, node in named], Names()) as graph:
        leaf = graph.node_of(t)
        above = set() if leaf is None else {leaf}
        if leaf is not None:
            add_users(leaf, above)
        freed: dict[Node, Place | None] = {}
        for node in reversed(graph.nodes):
            below = (freed[edge.target] for edge in node.edges)
            freed[node] = node.freed or next((place for place in below if place is not None), None)
        found: tuple[list[_Result], list[_Result]] = ([], [])
        for (label, _), (root, _) in zip(named, graph.roots, strict=True):
            found[root not in above].append(_Result(shown_name(label), freed[root], root.number))
    for results in found:
        results.sort(key=lambda r: (r.freed is None, r.number))
    return found


def _tensor(t: Tensor) -> str:
    return tensor_text(tuple(t.shape), t.dtype)


def _fix(text: str) -> str:
    """The likely fix, as the lines that end an answer."""
    return "\n" + textwrap.fill(text, 98, initial_indent="  ", subsequent_indent="  ")


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]


def _at(what: str, place: Place | None) -> str:
    return f"{what}." if place is None else f"{what}, here:\n{place_lines(place)}"


def _cut_place(t: Tensor) -> Place | None:
    place = _core.cut_place(t)
    return None if place is None else Place(*place)


def _is_parameter(t: Tensor) -> bool:
    from ..nn import Parameter

    return isinstance(t, Parameter)


# ---- the parameters of a loss

_Reason = Literal["not used", "frozen", "not a leaf", "always zero", "no derivative"]


@dataclass(frozen=True, slots=True)
class UnusedRow:
    """A parameter that gets no gradient.

    reason: "not used" (the loss was not computed from it), "frozen" (it does not require grad),
    "not a leaf" (backward fills .grad of leaves only), "always zero" (every way from the loss leads
    through a call whose derivative is 0), "no derivative" (backward will raise an error). text: the
    same in words. place: the line in question, where there is one.
    """

    name: str
    tensor: Tensor
    reason: _Reason
    text: str
    place: Place | None


@dataclass(frozen=True, slots=True, repr=False)
class Unused(Shown):
    """The parameters that get no gradient: `rushlight.explain.unused`. It is empty, and so false,
    where all of `count` parameters get one. hints: lines where values of the graph were cut off."""

    rows: tuple[UnusedRow, ...]
    count: int
    hints: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        if not self.rows:
            few = (
                "no parameters were given (an iterator gives them once)",
                "the parameter gets a gradient",
            )
            return (
                few[self.count] if self.count < 2 else f"all {self.count} parameters get a gradient"
            )
        head = f"{len(self.rows)} of {self.count} parameters get no gradient:"
        if self.count == 1:
            head = "the parameter gets no gradient:"
        lines = in_columns(
            [
                (f"  {shown_name(row.name)}", _tensor(row.tensor), row.reason, row.text)
                for row in self.rows
            ]
        )
        return "\n".join([head, *lines, *self.hints])


def unused(loss: object, parameters: object, *, names: object = None) -> Unused:
    """Which parameters get no gradient from `loss`, and why.

    parameters: a module, tensors, pairs as named_parameters() gives them, or a dict of names to
    tensors.

    >>> net = torch.nn.ModuleDict({"used": torch.nn.Linear(2, 1), "spare": torch.nn.Linear(2, 1)})
    >>> loss = net["used"](torch.ones(1, 2)).sum()
    >>> torch.explain.unused(loss, net)
    2 of 4 parameters get no gradient:
      spare.weight  float32[1, 2]  not used  the loss was not computed from it
      spare.bias    float32[1]     not used  the loss was not computed from it
    """
    with quiet():
        found = names_for(names)
        wanted = _pairs(parameters, found)
    with reading(loss, found) as graph:
        return _unused(graph, wanted)


def _unused(graph: Graph, wanted: list[tuple[str, Tensor]]) -> Unused:
    ways = _ways(graph)
    rows = [row for name, t in wanted if (row := _unused_row(graph, ways, name, t)) is not None]
    known = {row.place for row in rows}
    hints = _hints(graph, known) if any(row.reason == "not used" for row in rows) else []
    return Unused(tuple(rows), len(wanted), tuple(hints))


def _pairs(parameters: Any, names: Names) -> list[tuple[str, Tensor]]:
    items: Iterable[object]
    if is_module(parameters):
        items = parameters.named_parameters()
    elif isinstance(parameters, Tensor):
        items = [parameters]
    elif isinstance(parameters, Mapping):
        items = parameters.items()
    elif isinstance(parameters, Iterable):
        items = parameters
    else:
        items = [parameters]
    found: list[tuple[str, Tensor]] = []
    for at, item in enumerate(items):
        name, t = item if isinstance(item, tuple) and len(item) == 2 else (None, item)
        if not isinstance(t, Tensor) or not (name is None or isinstance(name, str)):
            raise TypeError(
                "unused: parameters takes a module, tensors, a dict of names to tensors, or pairs "
                f"as named_parameters() gives them, got an item of type {type(item).__name__}."
            )
        found.append((name or names.of(t) or f"parameter {at}", t))
    return found


def _ways(graph: Graph) -> dict[Node, Edge | None]:
    """For each node the edge that ends all ways to it, None where some way has a derivative."""
    ends: dict[Node, Edge | None] = {root: None for root, _ in graph.roots}
    for node in graph.nodes:
        for edge in node.edges:
            end = ends[node] or (edge if _stop(edge) else None)
            if ends.get(edge.target, edge) is not None:
                ends[edge.target] = end
    return ends


def _stop(edge: Edge) -> _Reason | None:
    """The reason why the rule of an edge gives no gradient: only zeros, or an error; else None."""
    op = edge.source.op
    if op is None or not edge.argument:
        return None
    if "underived" in op.entry.traits:
        return "no derivative"
    at = op.params.index(edge.argument)
    for rule, targets in zip(op.entry.rules, op.entry.targets, strict=False):
        if targets == [at]:
            return "always zero" if _gives_zeros(rule) else None
    return None


def _gives_zeros(rule: Any) -> bool:
    """Whether a rule is the partial 0, or `lambda g: zeros_like(g)`."""
    if rule.partial is not None and not callable(rule.partial):
        return bool(rule.partial == 0)
    code = rule.function.__code__
    return code.co_names == ("zeros_like",) and code.co_varnames == ("g",)


def _unused_row(
    graph: Graph, ways: dict[Node, Edge | None], name: str, t: Tensor
) -> UnusedRow | None:
    if not t.requires_grad:
        place, cut = _cut_place(t), _cut_reason(t)
        text = "requires_grad is False"
        if _is_parameter(t):
            place = None
        elif cut is not None:
            text += f": {_lower(REASONS[cut][0])}{_behind(place)}"
        return UnusedRow(name, t, "frozen", text, place)
    node = graph.node_of(t)
    if node is None:
        return UnusedRow(name, t, "not used", *_not_used(graph, t))
    end = ways[node]
    stop = None if end is None else _stop(end)
    if end is not None and stop is not None:
        call = end.source
        text = f"every way to it leads through {shown_name(call.title)}{_behind(call.place)}"
        return UnusedRow(name, t, stop, text, call.place)
    if node.kind != "leaf" and not t.retains_grad:
        text = f"it was computed{_behind(node.place)}, and .grad is kept for leaves (retain_grad())"
        return UnusedRow(name, t, "not a leaf", text, node.place)
    return None


def _behind(place: Place | None) -> str:
    return "" if place is None else f" at {shown_name(str(place))}"


def _not_used(graph: Graph, t: Tensor) -> tuple[str, Place | None]:
    """Of a parameter without a way to it: whether a value that shows its memory is in the graph."""
    for node in graph.nodes:
        for constant in node.constants:
            value = constant.value
            if isinstance(value, Tensor) and _core.cut_of(value) is not None:
                place = _cut_place(value)
                if Saved("", value, "").memory == Saved("", t, "").memory != (0, 0):
                    text = f"{shown_name(node.title)} uses it cut off: detach(){_behind(place)}"
                    return text, place
    return "the loss was not computed from it", None


def _hints(graph: Graph, known: set[Place | None]) -> list[str]:
    """Lines where values that the graph uses were cut off: a parameter may have been lost there."""
    found: dict[str, None] = {}
    for node in graph.nodes:
        for constant in node.constants:
            value = constant.value
            reason = _cut_reason(value) if isinstance(value, Tensor) else None
            if reason is None or reason == _core.Cut.FROM_DATA or _cut_place(value) in known:
                continue
            name = f"`{shown_name(constant.label)}`, " if constant.label else ""
            what = f"{name}an argument of {shown_name(node.title)}: {_lower(REASONS[reason][0])}"
            found[_at(f"Perhaps it was lost on the way to {what}", _cut_place(value))] = None
    return list(found)[:5]


def _cut_reason(t: Tensor) -> int | None:
    cut = _core.cut_of(t)
    return None if cut is None else cut[0]
