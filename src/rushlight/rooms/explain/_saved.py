"""The tensors that a graph keeps in memory until backward has run: `saved`."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from .. import _core
from .._base.dtypes import dtype
from .._core import Tensor
from ._graph import Graph, Node, Place, Saved
from ._names import shown_name
from ._scopes import reading
from ._text import Shown, bytes_text, counted, freed_text, in_columns, scope_text, tensor_text

__all__ = ["SavedRow", "SavedTable", "saved"]


_MOST = 100
"""How many lines are printed; equal rows are one."""
_SUMS = ("add", "add_", "sub", "sub_")


@dataclass(frozen=True, slots=True)
class SavedRow:
    """A value that a node keeps.

    node: the node's number in the graph. what: the argument's name, "out" for the result, "" of a
    custom Function's. label: the program's name for it. kind: its type's name. shape, dtype: None
    where a hook packed it into something else. bytes: of its elements; keeps: of the whole memory
    that it keeps alive. held: "parameter" for a leaf of this graph, "variable" for what a variable
    of the program holds, else "". state: as of `Saved`. shared: an earlier row counts its memory.
    """

    node: int
    op: str
    what: str
    label: str
    kind: str
    shape: tuple[int, ...] | None
    dtype: dtype | None
    bytes: int
    keeps: int
    held: str
    state: str
    shared: bool
    scope: tuple[str, ...]
    place: Place | None


@dataclass(frozen=True, slots=True, repr=False)
class SavedTable(Shown):
    """The tensors that a graph keeps: `rushlight.explain.saved`. All sizes in bytes.

    total: of all rows, each by its elements. unique: of the memory behind them, each piece once and
    whole. parameters: what of that belongs to leaves of the graph; variables: what variables of the
    program hold besides; freed: the rest, which backward gives back. packed: rows of unknown size.
    rounds: a sentence about a sum or a list that keeps the graph of each round of a loop, else "".
    gone: where a backward freed what was kept; None where it can still run.
    """

    rows: tuple[SavedRow, ...]
    total: int
    unique: int
    parameters: int
    variables: int
    freed: int
    packed: int
    gone: str | None
    rounds: str = ""

    def __str__(self) -> str:
        if not self.rows:
            why = "" if self.gone is None else f": a backward{self.gone} freed them"
            return f"no tensors are saved{why}" + (self.rounds and f"\n{self.rounds}")
        head = ["op", "saved", "name", "tensor", "bytes", "", "module", "line"]
        alike: dict[tuple[str, ...], list[SavedRow]] = {}
        for row in self.rows:
            alike.setdefault(tuple(_cells(row)), []).append(row)
        folded = sorted(alike.items(), key=lambda item: -sum(row.bytes for row in item[1]))
        rows = [_several(list(cells), same) for cells, same in folded[:_MOST]]
        head = [word if any(row[c] for row in rows) else "" for c, word in enumerate(head)]
        lines = in_columns([head, *rows], right=(4,))
        sums = [
            ("total", self.total, f"in {counted(len(self.rows), 'saved tensor')}"),
            ("unique", self.unique, "the memory behind them, each piece once"),
            ("  parameters", self.parameters, "leaves of the graph, there in any case"),
            ("  variables", self.variables, "held by variables of the program too"),
            ("  freed by backward", self.freed, ""),
        ]
        left = [row for _, same in folded[_MOST:] for row in same]
        if left:
            rest = sum(row.bytes for row in left)
            lines.append(f"… {len(left)} more, of {bytes_text(rest)} together")
        lines.append("")
        lines += in_columns([(name, bytes_text(n), what) for name, n, what in sums], right=(1,))
        if self.packed:
            lines.append(f"{counted(self.packed, 'value')} packed by hooks: sizes are not known")
        if self.rounds:
            lines.append(self.rounds)
        return "\n".join(lines)


def saved(loss: object, *, names: object = None) -> SavedTable:
    """The tensors that the graph of `loss` keeps for backward, the largest first.

    Tensors that share memory count once in `unique`; a view keeps the whole memory of its base.
    Values that saved-tensor hooks packed are listed as such; no hook runs.

    >>> w = torch.ones(1000, requires_grad=True)
    >>> table = torch.explain.saved((w * w).exp().sum())
    >>> [(row.op, row.what, row.bytes, row.label) for row in table.rows]
    [('exp', 'out', 4000, ''), ('mul', 'other', 4000, 'w'), ('mul', 'input', 4000, 'w')]
    >>> table.total, table.unique, table.parameters, table.freed
    (12000, 8000, 4000, 4000)
    """
    with reading(loss, names) as graph:
        return _table(graph)


def _table(graph: Graph) -> SavedTable:
    leaves = {_memory(node.variable)[0] for node in graph.leaves}
    variables = {_memory(tensor)[0] for _, tensor in graph.names.tensors()}
    found = [(node, entry) for node in graph.nodes for entry in node.saved]
    found.sort(key=lambda pair: -pair[1].bytes)
    rows = []
    pieces: dict[int, int] = {}
    for node, entry in found:
        address, size = entry.memory
        shared = address in pieces
        if address:
            pieces[address] = size
        held = "parameter" if address in leaves else "variable" if address in variables else ""
        rows.append(_row(graph, node, entry, size, held if address else "", shared))
    unique = sum(pieces.values())
    of_leaves = sum(size for address, size in pieces.items() if address in leaves)
    of_variables = sum(size for at, size in pieces.items() if at in variables - leaves)
    return SavedTable(
        rows=tuple(rows),
        total=sum(row.bytes for row in rows),
        unique=unique,
        parameters=of_leaves,
        variables=of_variables,
        freed=unique - of_leaves - of_variables,
        packed=sum(row.shape is None for row in rows),
        gone=freed_text(graph),
        rounds=_rounds(graph),
    )


def _rounds(graph: Graph) -> str:
    """A sentence about the graphs of a loop's rounds that a list holds, or a number to which each
    round adds; "" where the rounds share more than leaves, as the steps of a recurrent network, or
    nothing, as a sum over all parameters."""
    ends = [node for node, _ in graph.roots]
    labels = [node.label.partition("[")[0] for node in ends]
    name = max(labels, key=labels.count)
    alike = len({_site(node) for node in ends}) == 1 and labels.count(name) > 1
    of_loop = alike and (name or prod(ends[0].shape) == 1)  # not the results of one call
    found = [(f"`{name}`" if name else "a list", ends[0], ends)] if of_loop else []
    for node, terms in _sums(graph).items():
        found.append((f"`{node.label}`" if node.label else "a sum", node, terms))
    for holder, node, terms in sorted(found, key=lambda each: -len(each[2]))[:8]:
        shared = _behind(terms[-1]) & _behind(terms[-2]) if len(terms) > 2 else set()
        if {each.kind for each in shared} == {"leaf"}:
            rounds = f"{len(terms)} rounds of {node.place} are held by {holder}"
            one = prod(node.shape) == 1
            call, what = ("item", "number is") if one else ("detach", "values are")
            return f"{rounds}; use .{call}() where only the {what} wanted"
    return ""


def _sums(graph: Graph) -> dict[Node, list[Node]]:
    """The last sum of each `total = total + loss` in a loop, and the losses: each was computed
    after the sum before, which those of `sum(losses)` are not."""
    found: dict[Node, list[Node]] = {}
    for node in reversed(graph.nodes):  # an argument before what was made of it
        given = sorted((edge.target for edge in node.edges), key=lambda n: n.sequence)
        if node.title in _SUMS and node.place and prod(node.shape) == 1 and given:
            before = given[0] if len(given) == 2 and given[1].kind != "leaf" else None
            goes_on = before in found and _site(before) == _site(node)
            terms = found.pop(before) if before is not None and goes_on else []
            found[node] = [*terms, given[-1]]
    return found


def _site(node: Node) -> object:
    """The call that made a node: equal in the rounds of a loop, another for each `+` of a line."""
    return _core.site_of(node.node) or node


def _behind(node: Node) -> set[Node]:
    """The calls and leaves behind a node, itself included."""
    found = {node}
    waiting = [node]
    while waiting:
        new = {edge.target for edge in waiting.pop().edges} - found
        found |= new
        waiting += new
    return found


def _memory(tensor: Tensor | None) -> tuple[int, int]:
    return Saved("", tensor, "").memory


def _row(graph: Graph, node: Node, entry: Saved, keeps: int, held: str, shared: bool) -> SavedRow:
    t = entry.tensor
    label = ""
    if t is not None:
        label = graph.names.of(t)
        edge = None if label else _core.maker_of(t)
        maker = None if edge is None else graph.node_of(t)
        if edge is not None and maker is not None:
            label = maker.labels.get(edge[1], "")
    return SavedRow(
        node=node.number,
        op=node.title,
        what=entry.what,
        label=label,
        kind=type(entry.value).__qualname__,
        shape=None if t is None else tuple(t.shape),
        dtype=None if t is None else t.dtype,
        bytes=entry.bytes,
        keeps=keeps,
        held=held,
        state=entry.state,
        shared=shared,
        scope=node.scope,
        place=node.place,
    )


def _several(cells: list[str], rows: list[SavedRow]) -> list[str]:
    """The cells of a line that stands for equal rows, as the rounds of a loop have them."""
    if len(rows) > 1:
        size, notes = cells[4:6]
        if size != "?":
            cells[4] = bytes_text(sum(row.bytes for row in rows))
        cells[5] = f"{len(rows)} x {size}" + (f", {notes}" if notes else "")
    return cells


def _cells(row: SavedRow) -> list[str]:
    notes = []
    if row.state == "recomputed":
        notes.append("recomputed in backward")
    elif row.shape is None:
        notes.append("packed by a hook")
    elif row.state == "packed":
        notes.append("made by a hook")
    elif row.state == "changed":
        notes.append("changed since: backward refuses")
    if row.keeps > row.bytes:
        notes.append(f"keeps {bytes_text(row.keeps)}")
    if row.held:
        notes.append(row.held)
    if row.shared:
        notes.append("counted above")
    return [
        shown_name(row.op),
        row.what,
        shown_name(row.label),
        ("" if row.state == "recomputed" else shown_name(row.kind))
        if row.shape is None
        else tensor_text(row.shape, row.dtype),
        "?" if row.shape is None else bytes_text(row.bytes),
        ", ".join(notes),
        shown_name(scope_text(row.scope)),
        "" if row.place is None else shown_name(str(row.place)),
    ]
