"""Boxes that fold parts of a graph away: one for each call of a module, and runs of calls.

Calls are taken in the order in which they were made. A box holds calls in a row, and
uses only results that were made before the box. So folding boxes never makes a cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ._graph import Graph, Node

__all__ = ["Box", "boxes_of"]

_MOST = 40
"""How many calls and boxes a box holds at most; where there are more, they become runs."""


@dataclass(eq=False)
class Box:
    """A part of the graph. kind: "graph", "module" or "run"; path: the modules around it."""

    kind: str
    title: str
    path: tuple[str, ...]
    parent: Box | None
    inside: list[Box | Node] = field(default_factory=list)

    @property
    def calls(self) -> list[Node]:
        """All calls in it, in the order in which they were made."""
        found: list[Node] = []
        waiting: list[Box | Node] = list(reversed(self.inside))
        while waiting:
            item = waiting.pop()
            if isinstance(item, Box):
                waiting.extend(reversed(item.inside))
            else:
                found.append(item)
        return found


def boxes_of(graph: Graph, title: str) -> tuple[list[Box], dict[Node, Box]]:
    """The boxes of a graph, the outermost first, and the innermost box of each node."""
    calls = sorted((n for n in graph.nodes if n.kind != "leaf"), key=lambda n: n.sequence)
    whole = Box("graph", title, (), None)
    whole.inside = _modules(whole, calls, 0, graph.kinds)
    _into_runs(whole)
    boxes: list[Box] = []
    place: dict[Node, Box] = {}
    waiting = [whole]
    while waiting:
        box = waiting.pop()
        boxes.append(box)
        for item in box.inside:
            if isinstance(item, Box):
                waiting.append(item)
            else:
                place[item] = box
    for leaf in graph.leaves:
        place[leaf] = _around([place[edge.source] for edge in leaf.received]) or whole
    return boxes, place


def _modules(
    parent: Box, calls: Sequence[Node], depth: int, kinds: dict[str, str]
) -> list[Box | Node]:
    """The calls with those of each module, at this depth of modules, in a box of its own."""
    found: list[Box | Node] = []
    at = 0
    while at < len(calls):
        path = calls[at].scope[: depth + 1]
        end = at + 1
        while end < len(calls) and calls[end].scope[: depth + 1] == path:
            end += 1
        if len(path) <= depth:
            found.extend(calls[at:end])
        else:
            box = Box("module", _module_title(path, kinds), path, parent)
            box.inside = _modules(box, calls[at:end], depth + 1, kinds)
            found.append(box)
        at = end
    return found


def _module_title(path: tuple[str, ...], kinds: dict[str, str]) -> str:
    """A module by its class, and by its name inside the module around it: `0 · Linear`."""
    name, kind = path[-1], kinds.get(path[-1], "")
    if len(path) > 2:
        name = name.removeprefix(path[-2] + ".")
    return f"{name} · {kind}" if kind and kind != name else name


def _into_runs(box: Box) -> None:
    """Fold what a box holds into runs, as often as there are too many."""
    waiting = [box]
    while waiting:
        now = waiting.pop()
        while len(now.inside) > _MOST:
            now.inside = _runs(now)
        waiting.extend(item for item in now.inside if isinstance(item, Box))


def _runs(box: Box) -> list[Box | Node]:
    titles = [item.title for item in box.inside]
    size = max(-(-len(titles) // _MOST), 2)
    period = _period(titles)
    if period > 1:
        size = -(-size // period) * period
    found: list[Box | Node] = []
    for at in range(0, len(titles), size):
        items = box.inside[at : at + size]
        if len(items) == 1:
            found.extend(items)
            continue
        run = Box("run", _run_title(titles[at : at + size], period), box.path, box, items)
        for item in items:
            if isinstance(item, Box):
                item.parent = run
        found.append(run)
    return found


def _period(titles: Sequence[str]) -> int:
    """After how many calls the same ones come again; 0 where they do not."""
    for period in range(1, min(64, len(titles) // 2) + 1):
        same = sum(a == b for a, b in zip(titles, titles[period:], strict=False))
        if same >= 0.95 * (len(titles) - period):
            return period
    return 0


def _run_title(titles: Sequence[str], period: int) -> str:
    first = list(dict.fromkeys(titles[:period] if period else titles))
    text = ", ".join(first[:4]) + (", …" if len(first) > 4 else "")
    return f"{text} × {len(titles) // period}" if period else f"{len(titles)} calls: {text}"


def _around(boxes: list[Box]) -> Box | None:
    """The innermost box around several."""
    if not boxes:
        return None
    chain = _chain(boxes[0])
    for box in boxes[1:]:
        if box is not boxes[0]:
            other = set(map(id, _chain(box)))
            chain = [b for b in chain if id(b) in other]
    return chain[0]


def _chain(box: Box | None) -> list[Box]:
    found = []
    while box is not None:
        found.append(box)
        box = box.parent
    return found
