"""A layered drawing of a directed acyclic graph: where its boxes, links and labels stand.

`arrange` puts boxes into rows so that every link leads downward, orders each row so that few links
cross, and gives each box a place near those that it is linked to. A link passes each row between
its ends through a point of its own, and its label is such a point too, with room beside it: nothing
lies on anything. The same graph gives the same drawing.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Arrangement", "Box", "Link", "arrange"]


@dataclass(frozen=True, slots=True)
class Box:
    """What a box needs: links meet it at its axis, from which it reaches `left` and `right`."""

    left: float
    right: float
    height: float


@dataclass(frozen=True, slots=True)
class Link:
    """A link from box `source` down to box `target`; label: width and height of its text, or None."""

    source: int
    target: int
    label: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The drawing. boxes: (axis, middle) of each box. routes: the points of each link, from the
    lower edge of its source to the upper edge of its target. labels: (left, middle) of the text of
    each link, None where it has none; before: whether it stands left of the link."""

    width: float
    height: float
    boxes: list[tuple[float, float]]
    routes: list[list[tuple[float, float]]]
    labels: list[tuple[float, float] | None]
    before: list[bool]


_BESIDE = 5.0
"""Between a link and its label."""
_NEAR = 14.0
"""Between neighbours in a row where one is a point of a link."""
_ROUNDS = 12
_SWEEPS = 40


def arrange(
    boxes: Sequence[Box], links: Sequence[Link], *, gap: float = 26.0, row_gap: float = 15.0
) -> Arrangement:
    """Place boxes, whose links form no cycle. gap: between boxes of a row; row_gap: between rows."""
    return _Rows(boxes, links, gap).drawing(row_gap)


def _ranks(boxes: int, links: Sequence[Link]) -> list[int]:
    """The row of each box: below all that lead to it, and as near to what follows as that is no
    loss."""
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
    # What only a tree of sources leads to moves with them.
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
        self.label_of = [self._label_point(link, c) for link, c in zip(links, self.chains, strict=True)]
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
        for a, b in zip(whole, whole[1:], strict=False):
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
        """Order each row by the mean place of the neighbours, up and down in turn, and swap
        neighbours where that helps; keep the best."""
        best, least = [list(r) for r in self.rows], self._crossings()
        idle = 0
        for turn in range(_ROUNDS):
            if not least or idle == 4:
                break
            downward = turn % 2 == 0
            near = self.up if downward else self.down
            places = self._places()
            for row in self.rows[1:] if downward else self.rows[-2::-1]:
                keys = {}
                for at, n in enumerate(row):
                    to = near[n]
                    keys[n] = sum(places[m] for m in to) / len(to) if to else float(at)
                row.sort(key=keys.__getitem__)
                for at, n in enumerate(row):
                    places[n] = at
            self._swap()
            crossings = self._crossings()
            idle += 1
            if crossings < least:
                best, least, idle = [list(r) for r in self.rows], crossings, 0
        self.rows = best

    def _places(self) -> list[int]:
        places = [0] * len(self.row)
        for row in self.rows:
            for at, n in enumerate(row):
                places[n] = at
        return places

    def _crossings(self) -> int:
        places = self._places()
        return sum(_inversions([sorted(places[m] for m in self.down[n]) for n in row]) for row in self.rows)

    def _swap(self) -> None:
        places = self._places()
        ups = [sorted(places[m] for m in near) for near in self.up]
        downs = [sorted(places[m] for m in near) for near in self.down]
        for _ in range(4):
            better = False
            for row in self.rows:
                for at in range(len(row) - 1):
                    a, b = row[at], row[at + 1]
                    as_is = _crossed(ups[a], ups[b]) + _crossed(downs[a], downs[b])
                    if as_is and as_is > _crossed(ups[b], ups[a]) + _crossed(downs[b], downs[a]):
                        row[at], row[at + 1] = b, a
                        places[a], places[b] = at + 1, at
                        for n in (*self.down[a], *self.down[b]):
                            ups[n] = sorted(places[m] for m in self.up[n])
                        for n in (*self.up[a], *self.up[b]):
                            downs[n] = sorted(places[m] for m in self.down[n])
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
        """The axis of each point: near the mean of those it is linked to, in the order of its row.

        A box stands below the results that it takes from near by, above all; arguments that
        nothing leads to stand beside them, and links that pass give way.
        """
        boxes = len(self.boxes)
        is_source = [not self.up[n] for n in range(boxes)]
        weight = [0.01 if is_source[n] else 1.0 for n in range(boxes)] + [0.1] * (len(self.row) - boxes)
        into: list[list[tuple[int, bool, int]]] = [[] for _ in range(boxes)]
        out: list[list[tuple[int, bool, int]]] = [[] for _ in range(boxes)]
        for link, chain in zip(self.links, self.chains, strict=True):
            into[link.target].append((chain[-1], is_source[link.source], len(chain)))
            out[link.source].append((chain[0], False, len(chain)))
            if is_source[link.source]:
                for n in chain:
                    weight[n] = 0.01
        above = [_nearest(ends) for ends in into] + self.up[boxes:]
        below = [_nearest(ends) for ends in out] + self.down[boxes:]
        x = [0.0] * len(self.row)
        for row in self.rows:
            self._put(row, [0.0] * len(row), weight, x)
        down, up = self.rows[1:], self.rows[-2::-1]
        for _ in range(3):
            for rows, near in ((down, above), (up, below)):
                for row in rows:
                    self._put(row, [_mean([x[m] for m in near[n]], x[n]) for n in row], weight, x)
        both = [a + b for a, b in zip(above, below, strict=True)]
        for turn in range(_SWEEPS):
            for row in self.rows if turn % 2 else self.rows[::-1]:
                self._put(row, [_mean([x[m] for m in both[n]], x[n]) for n in row], weight, x)
        return x

    def _put(self, row: list[int], wanted: list[float], weight: list[float], x: list[float]) -> None:
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
        gap = self.gap if a < boxes and b < boxes else _NEAR
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
        for at, (link, chain) in enumerate(zip(self.links, self.chains, strict=True)):
            route = [(x[link.source], self._edge(link.source, middles, 1))]
            for n in chain:
                half, middle = heights[self.row[n]] / 2, middles[self.row[n]]
                route += [(x[n], middle - half), (x[n], middle + half)] if half else [(x[n], middle)]
            route.append((x[link.target], self._edge(link.target, middles, -1)))
            routes.append(route)
            point = self.label_of[at]
            if point is None or link.label is None:
                labels.append(None)
            else:
                left = -_BESIDE - link.label[0] if self.before[at] else _BESIDE
                labels.append((x[point] + left, middles[self.row[point]]))
        return Arrangement(
            width=end - start,
            height=max(0.0, y - row_gap),
            boxes=[(x[n], middles[self.row[n]]) for n in range(len(self.boxes))],
            routes=routes,
            labels=labels,
            before=self.before,
        )

    def _edge(self, box: int, middles: list[float], side: int) -> float:
        return middles[self.row[box]] + side * self.height[box] / 2


def _nearest(ends: list[tuple[int, bool, int]]) -> list[int]:
    """The points at which a box is held: of the results that it is linked to the nearest ones."""
    results = [(point, length) for point, source, length in ends if not source]
    chosen = results or [(point, length) for point, _, length in ends]
    least = min((length for _, length in chosen), default=0)
    return [point for point, length in chosen if length == least]


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _inversions(targets: list[list[int]]) -> int:
    seen: list[int] = []
    found = 0
    for ends in targets:
        found += sum(len(seen) - bisect_right(seen, end) for end in ends)
        for end in ends:
            insort(seen, end)
    return found


def _crossed(left: list[int], right: list[int]) -> int:
    """How often links to `left` and to `right`, which are sorted, cross, of two points in this
    order."""
    return sum(len(left) - bisect_right(left, end) for end in right)
