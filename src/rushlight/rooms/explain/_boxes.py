"""Boxes that fold parts of a graph away: calls of modules, loops with their steps, runs of calls.

Calls are taken in the order in which they were made. A box holds calls in a row, and
uses only results that were made before the box. So folding boxes never makes a cycle.

A loop is found in that order: the same lines call the same ops and modules again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ._graph import Graph, Node, Place

__all__ = ["Box", "boxes_of", "calls_in"]

_MOST = 40
"""How many calls and boxes a box holds at most; where there are more, they become runs."""
_MOST_STEPS = 8
"""The same for steps of a loop: where one of them is opened, the others are only in its way."""
_STEPS, _CALLS = 3, 12
"""The least steps of a loop, and the least calls in all of them: fewer are read one by one."""
_TRIED = 8
"""How many lengths of a step are tried from each call on."""


@dataclass(eq=False)
class Box:
    """A part of the graph. kind: "graph", "module", "loop", "step" (one round of a loop) or "run".

    path: the modules around it. place: the line that calls the module, or that begins the loop.
    tail: the end of a loop's title, which says how often and where.
    rounds: of a loop what each step holds. steps: of a part of a loop its first and last step.
    """

    kind: str
    title: str
    path: tuple[str, ...]
    parent: Box | None
    inside: list[Box | Node] = field(default_factory=list)
    place: Place | None = None
    rounds: list[list[Box | Node]] = field(default_factory=list)
    steps: tuple[int, int] | None = None
    tail: str = ""

    @property
    def name(self) -> str:
        """The title without its tail."""
        return self.title.removesuffix(self.tail)

    @property
    def calls(self) -> list[Node]:
        """All calls in it, in the order in which they were made."""
        return calls_in(self.inside)


def calls_in(items: Sequence[Box | Node]) -> list[Node]:
    """All calls among items and inside the boxes, in the order of creation."""
    found: list[Node] = []
    waiting = list(reversed(items))
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
    _into_loops(whole)
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
        path, call = calls[at].scope[: depth + 1], calls[at].calls[: depth + 1]
        end = at + 1
        while (
            end < len(calls)
            and calls[end].scope[: depth + 1] == path
            and calls[end].calls[: depth + 1] == call
        ):
            end += 1
        if len(path) <= depth:
            found.extend(calls[at:end])
        else:
            place = call[depth][1] if len(call) > depth else None
            box = Box("module", _module_title(path, kinds), path, parent, place=place)
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


# ---- loops


def _into_loops(box: Box) -> None:
    """Fold the loops in a box and in all boxes in it, until there are none."""
    waiting = [box]
    while waiting:
        now = waiting.pop()
        if now.kind != "loop":
            while len(found := _loops(now)) < len(now.inside):
                now.inside = found
            _tell_apart([item for item in now.inside if isinstance(item, Box)])
        waiting.extend(item for item in now.inside if isinstance(item, Box))


def _loops(box: Box) -> list[Box | Node]:
    """The calls and boxes of a box, with repeated ones folded into loops."""
    items, found = box.inside, list[Box | Node | _Rounds]()
    number: dict[object, int] = {}
    keys = [number.setdefault(_key(item), len(number)) for item in items]
    sizes = [len(calls_in([item])) for item in items]
    seen: dict[int, list[int]] = {}
    again: list[Sequence[int]] = [()] * len(keys)
    for at in range(len(keys) - 1, -1, -1):
        later = seen.setdefault(keys[at], [])
        again[at] = later[: -_TRIED - 1 : -1]
        later.append(at)
    at = 0
    while at < len(items):
        length, end = _repeated(keys, sizes, at, again[at])
        if not length:
            found.append(items[at])
            at += 1
            continue
        rounds = _Rounds(items[at : at + length])
        start = at
        if (end - at) % length or (found and rounds.hold(found[-1])):
            start = _begin(items, at, length)
        if end - start < length * _STEPS:
            start = at
        found.extend(items[at:start])
        rounds.take_before(found, _key(items[start]))
        for at in range(start, end - length + 1, length):
            rounds.append(items[at : at + length])
        at += length
        rest = at
        while at < len(items) and rounds.hold(items[at]):
            if at > rest and keys[at] == keys[start]:
                break
            at += 1
        if at > rest:
            rounds.append(items[rest:at])
        found.append(rounds)
    return [_loop(box, item) if isinstance(item, _Rounds) else item for item in found]


def _tell_apart(boxes: Sequence[Box]) -> None:
    """Say in the titles of loops of the same calls, as of one with other calls in between, which
    of them each is."""
    alike: dict[object, list[Box]] = {}
    for box in boxes:
        if box.kind == "loop":
            alike.setdefault(_key(box), []).append(box)
    for same in alike.values():
        for n, box in enumerate(same if len(same) > 1 else (), 1):
            name, box.tail = box.name, f" ({n} of {len(same)}){box.tail}"
            box.title = name + box.tail


class _Rounds(list[list[Box | Node]]):
    """The steps of a loop. The first and the last may be of other calls of the lines."""

    def __init__(self, like: Sequence[Box | Node]) -> None:
        self.keys = set(map(_key, like))
        self.lines = {item.place for item in like} - {None}

    def hold(self, item: object) -> bool:
        """Whether an item beside the loop is of its lines."""
        if isinstance(item, Box) and item.kind == "loop":
            return _key(item) in self.keys
        return isinstance(item, (Box, Node)) and item.place in self.lines

    def take_before(self, found: list[Any], begins: object) -> None:
        """Take what of the loop is before it: a first step of other calls, and steps of others."""
        first: list[Box | Node] = []
        while found and self.hold(found[-1]) and not (first and _key(first[0]) == begins):
            first.insert(0, found.pop())
        if found and isinstance(found[-1], _Rounds) and found[-1].lines == self.lines != set():
            self.extend(found.pop())
        if first:
            self.append(first)


def _begin(items: Sequence[Box | Node], at: int, length: int) -> int:
    """Where the first whole round of a loop begins: at the smallest line, where one function has
    all of them."""
    places = [item.place for item in items[at : at + length]]
    if len({p and (p.file, p.function) for p in places}) > 1 or places[0] is None:
        return at
    lines = [p.line for p in places if p is not None]
    least = min(lines)
    return at + min(range(length), key=lambda n: (lines[n], lines[n - 1] == least))


def _repeated(
    keys: Sequence[int], sizes: Sequence[int], at: int, again: Sequence[int]
) -> tuple[int, int]:
    """The length of the shortest step of a loop from a call on, and where its repetition ends;
    (0, 0) without a loop. again: the next calls equal to the first."""
    for second in again:
        length = second - at
        most = length * (_STEPS - 1)
        if keys[at : at + most] != keys[second : second + most]:
            continue
        end = second + most
        while end < len(keys) and keys[end] == keys[end - length]:
            end += 1
        count = (end - at) // length
        if sum(sizes[at : at + length * count]) >= _CALLS:
            return length, end
    return 0, 0


def _key(item: Box | Node) -> object:
    """Equal for calls of the same line, and for calls of the same module by the same line."""
    if isinstance(item, Node):
        return item.title, item.place
    if item.kind == "loop":
        return tuple(map(_key, item.rounds[len(item.rounds) // 2]))
    return item.path, item.place


def _loop(parent: Box, rounds: list[list[Box | Node]]) -> Box:
    """The box of a loop, with a box for each step that is more than one call."""
    first = rounds[len(rounds) // 2]  # the first and the last one may be in part
    place = next((item.place for item in first if item.place is not None), None)
    names = [i.path[-1] if i.kind == "module" else i.name for i in first if isinstance(i, Box)]
    text = _listed(names or [item.title for item in first], 3)
    tail = f" × {len(rounds)}" + (f", {place}" if place is not None else "")
    loop = Box("loop", text + tail, parent.path, parent, place=place, rounds=rounds, tail=tail)
    for number, items in enumerate(rounds):
        step = items[0]
        if len(items) > 1 or len(first) > 1:
            step = Box("step", f"step {number}", parent.path, loop, items)
            for item in items:
                if isinstance(item, Box):
                    item.parent = step
        elif isinstance(step, Box):
            step.parent, step.tail = loop, f"{step.tail}, step {number}"
            step.title += f", step {number}"
        if isinstance(step, Box):
            step.steps = number, number
        loop.inside.append(step)
    return loop


# ---- runs


def _into_runs(box: Box) -> None:
    """Fold what a box holds into runs, as often as there are too many."""
    waiting = [box]
    while waiting:
        now = waiting.pop()
        steps = any(isinstance(item, Box) and item.steps for item in now.inside)
        while len(now.inside) > (most := _MOST_STEPS if steps else _MOST):
            now.inside = _runs(now, most)
        waiting.extend(item for item in now.inside if isinstance(item, Box))


def _runs(box: Box, most: int) -> list[Box | Node]:
    size = max(-(-len(box.inside) // most), 2)
    found: list[Box | Node] = []
    for at in range(0, len(box.inside), size):
        items = box.inside[at : at + size]
        if len(items) == 1:
            found.extend(items)
            continue
        run = Box("run", _run_title(items), box.path, box, items)
        for item in items:
            if isinstance(item, Box):
                item.parent = run
        steps = [item.steps for item in items if isinstance(item, Box) and item.steps]
        if len(steps) == len(items):
            run.steps = steps[0][0], steps[-1][1]
            run.title = f"steps {run.steps[0]}–{run.steps[1]}"
        found.append(run)
    return found


def _run_title(items: Sequence[Box | Node]) -> str:
    """Calls by their names, calls of modules by the first and the last."""
    boxes = [item for item in (items[0], items[-1]) if isinstance(item, Box)]
    ends = [box.path[-1] for box in boxes if box.kind == "module"]
    if len(set(ends)) == 2:
        return f"{ends[0]} – {ends[1]}"
    return f"{len(items)} calls: {_listed([item.title for item in items], 4)}"


def _listed(titles: Sequence[str], most: int) -> str:
    """Titles without repetitions, the first ones of many."""
    different = list(dict.fromkeys(titles))
    return ", ".join(different[:most]) + (", …" if len(different) > most else "")


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
