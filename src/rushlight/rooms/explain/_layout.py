"""A layered drawing of a directed acyclic graph: where its boxes, links and labels stand.

`arrange` puts boxes into rows so that every link leads downward, orders each row so that few links
cross, and gives each box a place near its neighbours by links. A link passes each row between
its ends through a point of its own. Its label is such a point too, with room beside it: nothing
lies on anything. The same graph gives the same drawing.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["Arrangement", "Box", "Link", "arrange", "points"]


@dataclass(frozen=True, slots=True)
class Box:
    """The size of a box. Links meet its axis, from which the box reaches `left` and `right`."""

    left: float
    right: float
    height: float


@dataclass(frozen=True, slots=True)
class Link:
    """A link from box `source` down to box `target`; label: width and height of its text."""

    source: int
    target: int
    label: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The drawing. boxes: (axis, middle) of each box. routes: the points of each link between its
    two boxes. labels: where each link has room for its text, (x of the link, middle), None where it
    has none; before: whether the room is left of the link. bands: top and bottom of the row of each
    box."""

    width: float
    height: float
    boxes: list[tuple[float, float]]
    routes: list[list[tuple[float, float]]]
    labels: list[tuple[float, float] | None]
    before: list[bool]
    bands: list[tuple[float, float]]


_BESIDE = 5.0
"""Between a link and its label."""
_CLEAR = 14.0
"""Between neighbours in a row where one is a point of a link."""
_ROUNDS = 16
_WORK = 40_000
"""So many points are looked at in the search for an order; of a large graph each less often."""
_SWEEPS = 40
_QUIET = 14
"""In so many last sweeps blocks stay, so that the points that they pushed away come back."""
_EXACT = 0.05
"""Two points that are closer than this are at the same place."""
_NEAR, _FAR, _SOURCE = 0, 1, 2
_WEIGHTS = (1.0, 1e-3, 1e-6)


def arrange(
    boxes: Sequence[Box], links: Sequence[Link], *, gap: float = 26.0, row_gap: float = 20.0
) -> Arrangement:
    """Place boxes whose links form no cycle. gap: between boxes in a row; row_gap: between rows."""
    return _Rows(boxes, links, gap).drawing(row_gap)


def points(boxes: int, links: Sequence[Link]) -> int:
    """How many points the drawing would have: what `arrange` takes time for."""
    ranks = _ranks(boxes, links)
    return boxes + sum(2 * (ranks[link.target] - ranks[link.source]) - 1 for link in links)


def _ranks(boxes: int, links: Sequence[Link]) -> list[int]:
    """The row of each box: below all boxes that lead to it, and as low as possible while the links
    do not grow in sum."""
    above: list[list[int]] = [[] for _ in range(boxes)]
    below: list[list[int]] = [[] for _ in range(boxes)]
    for link in links:
        below[link.source].append(link.target)
        above[link.target].append(link.source)
    left = [len(a) for a in above]
    order = [n for n in range(boxes) if not left[n]]
    for n in order:
        for m in below[n]:
            left[m] -= 1
            if not left[m]:
                order.append(m)
    if len(order) < boxes:
        raise ValueError("the links form a cycle")
    rank = [0] * boxes
    # A box that only a tree of sources leads to takes the tree along when it moves.
    alone = [False] * boxes
    for n in order:
        rank[n] = max((rank[m] + 1 for m in above[n]), default=0)
        alone[n] = all(alone[m] and len(below[m]) == 1 for m in above[n])
    for n in reversed(order):
        held = sum(not (alone[m] and len(below[m]) == 1) for m in above[n])
        if below[n] and held <= len(below[n]):
            rank[n] = min(rank[m] for m in below[n]) - 1
    return rank


class _Rows:
    """The rows of boxes and, between and across them, of the points of links.

    A point has a number; the first ones are the boxes. Rows of boxes are the even ones.
    """

    def __init__(self, boxes: Sequence[Box], links: Sequence[Link], gap: float) -> None:
        self.boxes, self.links, self.gap = boxes, links, gap
        ranks = _ranks(len(boxes), links)
        self.row = [2 * r for r in ranks]
        self.left = [b.left for b in boxes]
        self.right = [b.right for b in boxes]
        self.height = [b.height for b in boxes]
        self.up: list[list[int]] = [[] for _ in boxes]
        self.down: list[list[int]] = [[] for _ in boxes]
        self.chains = [self._chain(link) for link in links]
        self.label_of = list(map(self._label_point, links, self.chains))
        self.kind = self._kinds()
        self.before = [False] * len(links)
        self.rows = self._first_order()
        self._uncross()
        self._sides()
        self.x = self._axes()

    def _chain(self, link: Link) -> list[int]:
        """The points of a link in the rows between its ends."""
        chain = []
        for row in range(self.row[link.source] + 1, self.row[link.target]):
            chain.append(len(self.row))
            self.row.append(row)
            self.left.append(0.0)
            self.right.append(0.0)
            self.height.append(0.0)
            self.up.append([])
            self.down.append([])
        whole = [link.source, *chain, link.target]
        for a, b in pairwise(whole):
            self.down[a].append(b)
            self.up[b].append(a)
        return chain

    def _label_point(self, link: Link, chain: list[int]) -> int | None:
        """The point that has the label: next to the end that has fewer links on that side."""
        if link.label is None:
            return None
        few_above = len(self.down[link.source]) <= len(self.up[link.target])
        point = chain[0] if few_above else chain[-1]
        self.height[point] = link.label[1]
        self.right[point] = _BESIDE + link.label[0]
        return point

    # ---- the order within rows

    def _first_order(self) -> list[list[int]]:
        """Rows in the order in which a walk up from the last boxes meets them: the arguments of a
        call from left to right."""
        rows: list[list[int]] = [[] for _ in range(max(self.row, default=-1) + 1)]
        seen = [False] * len(self.row)
        waiting = [n for n in reversed(range(len(self.boxes))) if not self.down[n]]
        while waiting:
            n = waiting.pop()
            if seen[n]:
                continue
            seen[n] = True
            rows[self.row[n]].append(n)
            waiting.extend(reversed(self.up[n]))
        return rows

    def _uncross(self) -> None:
        """Order the rows so that few links cross: the best of three ways to weigh what is far."""
        first = [list(row) for row in self.rows]
        rounds = max(2, min(_ROUNDS, _WORK // (len(self.row) + 1)))
        best, least = first, self._crossings()
        for ways in ((1.0,), (0.2,), (0.2, 1.0)):
            self.rows = [list(row) for row in first]
            idle = 0
            for turn in range(rounds):
                if not least or idle == 6:
                    break
                far = ways[turn // 2 % len(ways)]
                self._sort(turn % 2 == 0, (1.0, far, far))
                self._swap()
                crossings = self._crossings()
                idle += 1
                if crossings < least:
                    best, least, idle = [list(row) for row in self.rows], crossings, 0
        self.rows = best

    def _sort(self, downward: bool, weights: tuple[float, float, float]) -> None:
        """Order each row by the mean place of the neighbours in the row before."""
        near = self.up if downward else self.down
        places = self._places()
        for row in self.rows[1:] if downward else self.rows[-2::-1]:
            keys = {}
            for at, n in enumerate(row):
                heavy = [weights[self.kind[m]] for m in near[n]]
                whole = sum(h * places[m] for h, m in zip(heavy, near[n], strict=True))
                keys[n] = whole / sum(heavy) if heavy else float(at)
            row.sort(key=keys.__getitem__)
            for at, n in enumerate(row):
                places[n] = at

    def _places(self) -> list[int]:
        places = [0] * len(self.row)
        for row in self.rows:
            for at, n in enumerate(row):
                places[n] = at
        return places

    def _crossings(self) -> int:
        places = self._places()
        ends = [[sorted(places[m] for m in self.down[n]) for n in row] for row in self.rows]
        return sum(map(_inversions, ends))

    def _swap(self) -> None:
        """Exchange neighbours in a row where their links then cross less."""
        places = self._places()
        ups = [sorted([places[m] for m in near]) for near in self.up]
        downs = [sorted([places[m] for m in near]) for near in self.down]
        for _ in range(4):
            better = False
            for row in self.rows:
                for at in range(len(row) - 1):
                    a, b = row[at], row[at + 1]
                    if _gain(ups[a], ups[b]) + _gain(downs[a], downs[b]) <= 0:
                        continue
                    row[at], row[at + 1] = b, a
                    places[a], places[b] = at + 1, at
                    for n in (*self.down[a], *self.down[b]):
                        ups[n] = sorted([places[m] for m in self.up[n]])
                    for n in (*self.up[a], *self.up[b]):
                        downs[n] = sorted([places[m] for m in self.down[n]])
                    better = True
            if not better:
                return

    def _sides(self) -> None:
        """Where several links reach a box, the labels of the left ones stand left of them."""
        places = self._places()
        into: dict[int, list[int]] = {}
        for at, point in enumerate(self.label_of):
            if point is not None:
                into.setdefault(self.links[at].target, []).append(at)
        for ats in into.values():
            ats.sort(key=lambda at: places[self.chains[at][-1]])
            for at in ats[: len(ats) // 2]:
                point = self.label_of[at]
                assert point is not None
                self.before[at] = True
                self.left[point], self.right[point] = self.right[point], 0.0

    # ---- the places in a row

    def _axes(self) -> list[float]:
        """The axis of each point, in the order of its row.

        A block is points that stand upright together: a box and its nearest neighbour by a link, or
        the points of a long link. A block goes where the ends of its other links are. Where two
        blocks want the same place, points of long links give way to blocks of boxes, and sources to
        both.
        """
        blocks, pulls = self._blocks()
        block_of = [0] * len(self.row)
        for number, block in enumerate(blocks):
            for n in block:
                block_of[n] = number
        weight = [_WEIGHTS[kind] for kind in self.kind]
        where = [0.0] * len(blocks)
        x = [0.0] * len(self.row)
        for row in self.rows:
            self._put(row, [0.0] * len(row), weight, x)
        for turn in range(_SWEEPS):
            for number in range(len(blocks)) if turn % 2 else reversed(range(len(blocks))):
                block, pull = blocks[number], pulls[number]
                at = _settled([x[n] for n in block], where[number] if turn else None)
                light = len(block) == 1 and (block[0] >= len(self.boxes) or not self.up[block[0]])
                if pull and (light or turn < _SWEEPS - _QUIET):
                    wanted = sum(x[n] for n in pull) / len(pull)
                    at = wanted if light else (at + wanted) / 2
                where[number] = at
                if not light:
                    for n in block:
                        x[n] = at
            for row in self.rows:
                self._put(row, [where[block_of[n]] for n in row], weight, x)
        return x

    def _kinds(self) -> list[int]:
        """Of each point _NEAR: a box that something leads to, or a point between two close ones;
        _FAR: a point of a long link; _SOURCE: a source, or a point of a link from one."""
        found = [_NEAR if self.up[n] else _SOURCE for n in range(len(self.boxes))]
        found += [_NEAR] * (len(self.row) - len(self.boxes))
        for link, chain in zip(self.links, self.chains, strict=True):
            for n in chain:
                found[n] = _SOURCE if found[link.source] == _SOURCE else _NEAR
                if found[n] == _NEAR and len(chain) > 1:
                    found[n] = _FAR
        return found

    def _blocks(self) -> tuple[list[list[int]], list[list[int]]]:
        """The blocks, and of each the points that it is drawn to."""
        boxes = len(self.boxes)
        is_source = [not self.up[n] for n in range(boxes)]
        into: list[list[tuple[int, bool, int]]] = [[] for _ in range(boxes)]
        out: list[list[tuple[int, bool, int]]] = [[] for _ in range(boxes)]
        for at, (link, chain) in enumerate(zip(self.links, self.chains, strict=True)):
            into[link.target].append((at, is_source[link.source], len(chain)))
            out[link.source].append((at, False, len(chain)))
        above, below = [_nearest(ends) for ends in into], [_nearest(ends) for ends in out]
        blocks: list[list[int]] = []
        pulls: list[list[int]] = []
        # A link joins its ends where it is for both the only near one.
        joins = {
            at
            for at, link in enumerate(self.links)
            if not is_source[link.source] and above[link.target] == [at] == below[link.source]
        }
        for n in sorted(range(boxes), key=lambda n: self.row[n]):
            if any(at in joins for at, *_ in into[n]):
                continue
            block, last = [n], n
            while True:
                following = [at for at in below[last] if at in joins]
                if not following:
                    break
                block += self.chains[following[0]]
                last = self.links[following[0]].target
                block.append(last)
            blocks.append(block)
            pulls.append(
                [self.chains[at][-1] for at in above[n] if not is_source[self.links[at].source]]
                + [self.chains[at][0] for at in below[last]]
            )
            if not pulls[-1]:
                pulls[-1] = [self.chains[at][-1] for at in above[n]]
        for at, (link, chain) in enumerate(zip(self.links, self.chains, strict=True)):
            if at not in joins:
                blocks.append(chain)
                pulls.append([link.source, link.target])
        return blocks, pulls

    def _put(
        self, row: list[int], wanted: list[float], weight: list[float], x: list[float]
    ) -> None:
        """Place a row as near to where its points want to be as their widths allow: the weighted
        least squares, by joining neighbours that want to overlap."""
        offset, offsets = 0.0, []
        for at, n in enumerate(row):
            if at:
                offset += self._apart(row[at - 1], n)
            offsets.append(offset)
        joined: list[tuple[float, float, int]] = []  # (where, weight, how many)
        for n, want, off in zip(row, wanted, offsets, strict=True):
            where, heavy, many = want - off, weight[n], 1
            while joined and joined[-1][0] > where:
                before, other, count = joined.pop()
                where = (where * heavy + before * other) / (heavy + other)
                heavy, many = heavy + other, many + count
            joined.append((where, heavy, many))
        at = 0
        for where, _, many in joined:
            for _ in range(many):
                x[row[at]] = where + offsets[at]
                at += 1

    def _apart(self, a: int, b: int) -> float:
        """The least distance of the axes of two neighbours in a row."""
        boxes = len(self.boxes)
        gap = self.gap if a < boxes and b < boxes else _CLEAR
        return self.right[a] + gap + self.left[b]

    # ---- the drawing

    def drawing(self, row_gap: float) -> Arrangement:
        heights = [max((self.height[n] for n in row), default=0.0) for row in self.rows]
        middles: list[float] = []
        y = 0.0
        for height in heights:
            middles.append(y + height / 2)
            y += height + row_gap
        start = min((x - w for x, w in zip(self.x, self.left, strict=True)), default=0.0)
        end = max((x + w for x, w in zip(self.x, self.right, strict=True)), default=0.0)
        x = [round(v - start, 1) for v in self.x]
        routes, labels = [], []
        for chain, point in zip(self.chains, self.label_of, strict=True):
            route: list[tuple[float, float]] = []
            for n in chain:
                half, middle = heights[self.row[n]] / 2, middles[self.row[n]]
                # Past boxes a link goes upright.
                ys = (middle,) if self.row[n] % 2 else (middle - half, middle + half)
                route += [(x[n], y) for y in ys]
            routes.append(route)
            labels.append(None if point is None else (x[point], middles[self.row[point]]))
        rows = self.row[: len(self.boxes)]
        return Arrangement(
            width=end - start,
            height=max(0.0, y - row_gap),
            boxes=[(x[n], middles[self.row[n]]) for n in range(len(self.boxes))],
            routes=routes,
            labels=labels,
            before=self.before,
            bands=[(middles[r] - heights[r] / 2, middles[r] + heights[r] / 2) for r in rows],
        )


def _settled(places: list[float], before: float | None) -> float:
    """Where a block goes whose points were pushed: as far as any, where all go to one side."""
    low, high = min(places), max(places)
    if before is not None and low > before - _EXACT:
        return high
    if before is not None and high < before + _EXACT:
        return low
    return (low + high) / 2


def _nearest(ends: list[tuple[int, bool, int]]) -> list[int]:
    """Of (link, whether from a source, length) the links by which a box is held: the shortest, of
    those from results where there are any."""
    results = [(link, length) for link, source, length in ends if not source]
    chosen = results or [(link, length) for link, _, length in ends]
    least = min((length for _, length in chosen), default=0)
    return [link for link, length in chosen if length == least]


def _inversions(targets: list[list[int]]) -> int:
    seen: list[int] = []
    found = 0
    for ends in targets:
        found += sum(len(seen) - bisect_right(seen, end) for end in ends)
        for end in ends:
            insort(seen, end)
    return found


def _gain(left: list[int], right: list[int]) -> int:
    """By how many links to `left` and to `right`, which are sorted, cross less if the two points
    that they lead from change places."""
    if len(left) == 1 == len(right):
        return (left[0] > right[0]) - (left[0] < right[0])
    return _crossed(left, right) - _crossed(right, left)


def _crossed(left: list[int], right: list[int]) -> int:
    """How often links to `left` and to `right`, which are sorted, cross."""
    return sum([len(left) - bisect_right(left, end) for end in right])
