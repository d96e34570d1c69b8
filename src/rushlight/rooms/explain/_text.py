"""The graph as text: the tree, and the small things that all text of this package is made with.

The tree runs along the longest chain without indentation, so that a deep network is a plain list of
its calls; what a call gets besides is a branch. A branch holds at most half of what is below its
call, so a graph of n nodes is indented at most log2(n) times. A call that several others send a
gradient to is printed below the last of them. The others refer to the call by its number: the
place in the order in which backward runs the nodes.
"""

from __future__ import annotations

import html
import sys
from collections.abc import Sequence
from typing import NamedTuple

from .._base.dtypes import dtype
from .._base.sources import cell
from .._core import Tensor
from ._graph import Edge, Graph, Node, Place
from ._names import shown_name
from ._scopes import reading

__all__ = [
    "Shown",
    "Text",
    "bytes_text",
    "counted",
    "freed_text",
    "in_columns",
    "place_lines",
    "scope_text",
    "tensor_text",
    "tree",
]


_ASCII = str.maketrans(
    {"├": "|", "└": "`", "│": "|", "─": "-", "↑": "^", "·": ".", "×": "x", "…": "~"}
)


def _encoding() -> str:
    return getattr(sys.stdout, "encoding", None) or "utf-8"


def printable(text: str) -> str:
    """The text as what stdout can encode: lines are drawn in ASCII where it lacks them."""
    encoding = _encoding()
    plain = str.__str__(text)
    try:
        plain.encode(encoding)
    except UnicodeEncodeError:
        return plain.translate(_ASCII).encode(encoding, "replace").decode(encoding)
    return plain


class Shown:
    """A thing that shows as its `str` reads: at the prompt, printed, and in a notebook."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


class Text(Shown, str):
    """Text that is shown without quotes."""

    __slots__ = ()

    def __str__(self) -> str:
        return printable(self)


class Markup(str):
    """A picture as SVG or Graphviz text: what stdout cannot encode is printed as references."""

    __slots__ = ()

    def __str__(self) -> str:
        encoding = _encoding()
        return str.__str__(self).encode(encoding, "xmlcharrefreplace").decode(encoding)


# ---- words


def bytes_text(count: int) -> str:
    """A number of bytes: `0 B`, `999 B`, `1.0 kB`, `4.2 MB`; a kB has 1000."""
    if count < 1000:
        return f"{count} B"
    size = float(count)
    units = iter(("kB", "MB", "GB", "TB", "PB"))
    unit = "B"
    while size >= 999.95 and (bigger := next(units, None)):
        size, unit = size / 1000, bigger
    return f"{size:.1f} {unit}"


def counted(count: int, what: str) -> str:
    """`1 node`, `2,000 nodes`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def tensor_text(shape: Sequence[int], of: dtype | None) -> str:
    """Element type and shape: `float32[5, 8]`, as the trace has it."""
    return f"{'' if of is None else of.name}{list(shape)}"


def scope_text(scope: tuple[str, ...]) -> str:
    """A module by the name of the outermost module and its own path there: `net.blocks.0`."""
    return ".".join((scope[0], scope[-1])) if len(scope) > 1 else "".join(scope)


def place_lines(place: Place) -> str:
    """A line of the program as Python's tracebacks show it, indented by two."""
    file, function = shown_name(place.file, 200), shown_name(place.function)
    where = f"  {place}" if cell(place.file) else f'  File "{file}", line {place.line}'
    where = f"{where}, in {function}"
    code = place.code
    return f"{where}\n    {shown_name(code, 200)}" if code else where


def in_columns(
    rows: Sequence[Sequence[str]], right: Sequence[int] = (), widest: int = 60
) -> list[str]:
    """Lines of cells below each other; columns without any text are left out. right: those that
    end below each other instead. A cell wider than `widest` moves what follows it."""
    count = max(map(len, rows), default=0)
    widths = [
        max((len(row[c]) for row in rows if c < len(row) and len(row[c]) <= widest), default=0)
        for c in range(count)
    ]
    used = [c for c in range(count) if any(c < len(row) and row[c] for row in rows)]
    lines = []
    for row in rows:
        cells = [
            row[c].rjust(widths[c]) if c in right else row[c].ljust(widths[c])
            for c in used
            if c < len(row)
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def freed_text(graph: Graph) -> str | None:
    """` at FILE:LINE` of the backward that freed what a graph kept; None where it can still run."""
    node = graph.freed
    if node is None:
        return None
    return "" if node.freed is None else f" at {shown_name(str(node.freed))}"


# ---- the tree


def tree(
    y: object, *, names: object = None, depth: int | None = None, limit: int | None = 400
) -> Text:
    """The backward graph of `y`, a tensor or several, as an indented tree.

    A line has the call's number in the order of backward, its op and node, the result's shape, the
    bytes kept for backward, the module and the line in the program. Calls of a chain stand below
    each other, and other arguments are branches. A call that several calls use is printed once:
    `↓ #7 mul` refers to it.

    names: names for tensors, as a module, a dict or pairs; the program's variables in any case.
    depth: leave out what is more calls away from the result. limit: print so many lines at most,
    None for all; the last line says how many nodes were left out.

    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> y = (w * w).exp().sum()
    >>> torch.explain.tree(y)  # doctest: +ELLIPSIS
    #0 y = sum        SumBackward0    float32[]     ...
    #1 exp            ExpBackward0    float32[2]  keeps 8 B   ...
    #2 mul            MulBackward0    float32[2]  keeps 16 B  ...
    ├─ input: #3 w    AccumulateGrad  float32[2]
    └─ other: ↑ #3 w
    4 nodes, 1 of them a leaf; 16 B kept for backward
    """
    for name, value in (("depth", depth), ("limit", limit)):
        if value is not None and (not isinstance(value, int) or value < 0):
            raise ValueError(f"tree: {name}= takes a number from 0, or None, got {value!r}.")
    with reading(y, names) as graph:
        rows, left_out = _rows(graph, depth, limit)
        lines = [*in_columns(rows), _sum(graph)]
    if left_out:
        why = f"limit={limit}" if limit == len(rows) else f"depth={depth}"
        lines.append(f"… {left_out} of {len(graph.nodes)} nodes are left out ({why})")
    return Text("\n".join(lines))


def _sum(graph: Graph) -> str:
    leaves = len(graph.leaves)
    are = "a leaf" if leaves == 1 else "leaves"
    text = f"{counted(len(graph.nodes), 'node')}, {leaves} of them {are}"
    kept = dict(saved.memory for node in graph.nodes for saved in node.saved)
    if any(kept.values()):
        text += f"; {bytes_text(sum(kept.values()))} kept for backward"
    packed = sum(saved.state == "packed" for node in graph.nodes for saved in node.saved)
    if packed:
        text += f"; {counted(packed, 'value')} packed by hooks"
    freed = freed_text(graph)
    if freed is not None:
        text += f"\nfreed: a backward{freed} went through it, and cannot a second time"
    return text


class _Waiting(NamedTuple):
    """A line to print: a node, or a mention of a node, and the marks before it."""

    node: Node
    edge: Edge | None
    mention: bool
    lead: str
    below: str


def _rows(graph: Graph, depth: int | None, limit: int | None) -> tuple[list[list[str]], int]:
    """The lines as cells, and how many nodes they leave out."""
    near = _near(graph, depth)
    parent = _parents(graph, near)
    weight = dict.fromkeys(near, 1)
    for node in reversed(graph.nodes):
        edge = parent.get(node)
        if edge is not None:
            weight[edge.source] += weight[node]
    rows: list[list[str]] = []
    printed: set[Node] = set()
    waiting = [
        _Waiting(root, None, root in parent, "", "")
        for root in reversed(dict.fromkeys(root for root, _ in graph.roots))
    ]
    while waiting and (limit is None or len(rows) < limit):
        line = waiting.pop()
        rows.append(_cells(line, printed))
        if not line.mention:
            printed.add(line.node)
            waiting.extend(reversed(_below(line, near, parent, weight)))
    return rows, len(graph.nodes) - len(printed)


def _near(graph: Graph, depth: int | None) -> dict[Node, int]:
    """How far from the results each node is, of those that are not too far."""
    far = {root: 0 for root, _ in graph.roots}
    at = list(far)
    for node in at:
        if depth is None or far[node] < depth:
            for edge in node.edges:
                if edge.target not in far:
                    far[edge.target] = far[node] + 1
                    at.append(edge.target)
    return far


def _parents(graph: Graph, near: dict[Node, int]) -> dict[Node, Edge]:
    """The edge below which each node is printed: of the last call that sends it a gradient."""
    found: dict[Node, Edge] = {}
    for node in graph.nodes:
        if node in near:
            for edge in node.edges:
                old = found.get(edge.target)
                later = node.number < edge.target.number and (old is None or old.source is not node)
                if edge.target in near and later:
                    found[edge.target] = edge
    return found


def _below(
    line: _Waiting, near: dict[Node, int], parent: dict[Node, Edge], weight: dict[Node, int]
) -> list[_Waiting]:
    """The lines of a node's arguments: branches, and last the argument that goes on the chain."""
    edges = [edge for edge in line.node.edges if edge.target in near]
    own = [e for e in edges if parent.get(e.target) is e and e.target.kind != "leaf"]
    main = max(own, key=lambda e: weight[e.target], default=None)
    branches = [edge for edge in edges if edge is not main]
    lines = []
    for edge in branches:
        last = edge is branches[-1] and main is None
        mention = parent.get(edge.target) is not edge
        lead, below = (line.below + s for s in (("└─ ", "   ") if last else ("├─ ", "│  ")))
        lines.append(_Waiting(edge.target, edge, mention, lead, below))
    if main is not None:
        lines.append(_Waiting(main.target, main, False, line.below, line.below))
    return lines


def _cells(line: _Waiting, printed: set[Node]) -> list[str]:
    node, edge = line.node, line.edge
    text = line.lead
    if edge is not None and line.lead != line.below and len(edge.source.edges) > 1:
        text += f"{edge.argument}: " if edge.argument else ""
    title = shown_name(node.title)
    if line.mention:
        which = f"[{edge.nr}]" if edge is not None and len(node.outputs) > 1 else ""
        label = node.labels.get(0 if edge is None else edge.nr, "")
        if label and node.kind != "leaf":
            title = f"{shown_name(label)} = {title}"
        return [f"{text}{'↑' if node in printed else '↓'} #{node.number} {title}{which}"]
    if node.kind != "leaf" and node.labels:
        labels = [shown_name(label) for label in node.labels.values()]
        title = f"{', '.join(labels[:3])}{', …' if len(labels) > 3 else ''} = {title}"
    given = [
        f"{c.argument}{'=' if c.argument else ''}{shown_name(c.label) or _number(c.value)}"
        for c in node.constants
        if c.label or not isinstance(c.value, Tensor)
    ]
    if given:
        title += f"({', '.join(given)})"
    shape = ""
    if node.outputs:
        shape = tensor_text(*node.outputs[edge.nr if edge is not None else 0])
        if len(node.outputs) > 1:
            shape += f" and {len(node.outputs) - 1} more"
    return [
        f"{text}#{node.number} {title}",
        shown_name(node.name),
        shape,
        _kept(node),
        shown_name(scope_text(node.scope)),
        "" if node.place is None else shown_name(str(node.place)),
    ]


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, (float, complex)) else str(value)


def _kept(node: Node) -> str:
    if node.released:
        return "freed" if node.freed is None else f"freed at {shown_name(str(node.freed))}"
    words = []
    size = sum(saved.bytes for saved in node.saved)
    if size:
        words.append(f"keeps {bytes_text(size)}")
    if any(saved.state == "packed" for saved in node.saved):
        words.append("packed by hooks")
    words += map(shown_name, node.marks)
    changed = [saved.what or "a value" for saved in node.saved if saved.state == "changed"]
    if changed:
        words.append(f"{', '.join(changed)} changed since: backward refuses")
    return ", ".join(words)
