"""The layered layout: nothing overlaps, everything leads downward, and what can be straight is."""

from __future__ import annotations

import random
import time
from itertools import combinations, pairwise

import pytest
from rushlight.explain._layout import Arrangement, Box, Link, arrange


def random_graph(seed: int, size: int, reach: float = 0.3) -> tuple[list[Box], list[Link]]:
    """Boxes of several sizes, each linked to a few earlier ones, mostly near ones."""
    pick = random.Random(seed)
    boxes = [
        Box(pick.uniform(10, 40), pick.uniform(10, 80), pick.choice([20, 30, 44]))
        for _ in range(size)
    ]
    links = []
    for target in range(1, size):
        for _ in range(pick.choice([0, 1, 1, 2, 3])):
            source = max(0, target - 1 - int(pick.expovariate(reach)))
            label = (pick.uniform(8, 90), 18.0) if pick.random() < 0.7 else None
            links.append(Link(source, target, label))
    return boxes, links


Rectangle = tuple[float, float, float, float]


def box_places(boxes: list[Box], placed: Arrangement) -> list[Rectangle]:
    return [
        (x - b.left, y - b.height / 2, x + b.right, y + b.height / 2)
        for b, (x, y) in zip(boxes, placed.boxes, strict=True)
    ]


def label_places(links: list[Link], placed: Arrangement) -> list[Rectangle]:
    found = []
    for link, place, before in zip(links, placed.labels, placed.before, strict=True):
        if place is not None:
            assert link.label is not None
            (x, y), (wide, high) = place, link.label
            left, right = (x - wide, x) if before else (x, x + wide)
            found.append((left, y - high / 2, right, y + high / 2))
    return found


def overlap(a: Rectangle, b: Rectangle) -> bool:
    return min(a[2], b[2]) - max(a[0], b[0]) > 0.1 and min(a[3], b[3]) - max(a[1], b[1]) > 0.1


@pytest.mark.parametrize("seed", range(12))
def test_no_two_boxes_or_labels_overlap(seed: int) -> None:
    boxes, links = random_graph(seed, 25)
    placed = arrange(boxes, links)
    places = box_places(boxes, placed) + label_places(links, placed)
    assert len(places) == len(boxes) + sum(link.label is not None for link in links)
    assert not [(a, b) for a, b in combinations(places, 2) if overlap(a, b)]


@pytest.mark.parametrize("seed", range(12))
def test_every_link_goes_down_and_through_no_box(seed: int) -> None:
    boxes, links = random_graph(seed, 25)
    placed = arrange(boxes, links)
    places = box_places(boxes, placed)
    for link, route in zip(links, placed.routes, strict=True):
        points = [placed.boxes[link.source], *route, placed.boxes[link.target]]
        assert all(a[1] < b[1] for a, b in pairwise(points))
        for x, y in route:
            assert not [p for p in places if p[0] < x < p[2] and p[1] < y < p[3]]


@pytest.mark.parametrize("seed", range(4))
def test_the_drawing_is_within_its_size(seed: int) -> None:
    boxes, links = random_graph(seed, 25)
    placed = arrange(boxes, links)
    places = box_places(boxes, placed) + label_places(links, placed)
    assert min(p[0] for p in places) >= -0.1
    assert min(p[1] for p in places) >= -0.1
    assert max(p[2] for p in places) <= placed.width + 0.1
    assert max(p[3] for p in places) <= placed.height + 0.1


def test_the_same_graph_gives_the_same_drawing() -> None:
    boxes, links = random_graph(3, 40)
    assert arrange(boxes, links) == arrange(list(boxes), list(links))


def test_a_chain_is_upright_and_its_leaves_stand_beside_it() -> None:
    """Boxes 2, 4, 6, ... are a chain; 0, and 1, 3, 5, ..., are arguments that nothing leads to."""
    boxes = [Box(20, 20, 30)] * 20
    links = [Link(n, n + 2, (20, 18)) for n in range(0, 18, 2)]
    links += [Link(n, n + 1, (20, 18)) for n in range(1, 19, 2)]
    placed = arrange(boxes, links)
    chain = {placed.boxes[n][0] for n in range(2, 20, 2)}
    assert len(chain) == 1
    for leaf in range(1, 19, 2):
        # In the row above its call, beside the box that leads to it.
        assert placed.boxes[leaf][1] == placed.boxes[leaf - 1][1]
        assert placed.boxes[leaf][0] != placed.boxes[leaf - 1][0]


def test_a_box_stands_in_the_middle_below_two() -> None:
    boxes = [Box(20, 20, 30)] * 5
    placed = arrange(boxes, [Link(0, 2), Link(1, 3), Link(2, 4), Link(3, 4)])
    left, right, below = (placed.boxes[n][0] for n in (2, 3, 4))
    assert below == pytest.approx((left + right) / 2, abs=0.2)
    assert left < right


def test_arguments_keep_their_order() -> None:
    placed = arrange([Box(20, 20, 30)] * 4, [Link(2, 3), Link(0, 3), Link(1, 3)])
    assert placed.boxes[2][0] < placed.boxes[0][0] < placed.boxes[1][0]


def test_links_that_need_not_cross_do_not() -> None:
    """Six pairs between two roots, named in an order in which they would cross."""
    boxes = [Box(20, 20, 30)] * 14
    ends = [5, 2, 4, 0, 3, 1]
    links = [Link(12, n) for n in range(6)]
    links += [Link(n, 6 + ends[n]) for n in range(6)]
    links += [Link(n, 13) for n in range(6, 12)]
    placed = arrange(boxes, links)
    above = sorted(range(6), key=lambda n: placed.boxes[n][0])
    below = sorted(range(6), key=lambda n: placed.boxes[6 + n][0])
    assert [ends[n] for n in above] == below


def test_several_links_between_the_same_boxes_have_places_of_their_own() -> None:
    links = [Link(0, 1, (12, 18)), Link(0, 1, (12, 18))]
    placed = arrange([Box(20, 20, 30)] * 2, links)
    first, second = label_places(links, placed)
    assert not overlap(first, second)
    assert placed.routes[0] != placed.routes[1]


def test_nothing_and_a_single_box() -> None:
    assert arrange([], []).boxes == []
    placed = arrange([Box(10, 30, 20)], [])
    assert (placed.width, placed.height, placed.boxes) == (40, 20, [(10, 10)])


def test_a_cycle_is_refused() -> None:
    with pytest.raises(ValueError, match="cycle"):
        arrange([Box(1, 1, 1)] * 2, [Link(0, 1), Link(1, 0)])


def test_300_boxes_take_little_time() -> None:
    boxes, links = random_graph(1, 300)
    start = time.process_time()
    arrange(boxes, links)
    assert time.process_time() - start < 5  # 0.2 s; a sanitizer's build is ten times as slow
