"""The paths from a result to a leaf: the gradient is the sum, over all of them, of the product of
the local gradients along each.

A path's product is computed as the engine would if there were no other path: the starting gradient
is handed from node to node, to one argument of each.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .._core import Tensor
from ._graph import Edge, Graph, Node, add_users
from ._numbers import along

__all__ = ["Budget", "Path", "count_paths", "paths"]


@dataclass(frozen=True, slots=True)
class Path:
    """A way from a result to a leaf: its edges, and the gradient that comes along this way alone;
    None for an unknown gradient."""

    edges: tuple[Edge, ...]
    product: Tensor | None


@dataclass
class Budget:
    """How much listing paths may cost: edges, and seconds of computing their products."""

    edges: int = 20_000
    seconds: float = 1.5

    def __post_init__(self) -> None:
        self.end = time.monotonic() + self.seconds


def count_paths(graph: Graph) -> dict[Node, int]:
    """How many paths lead from the results to each node."""
    counts = dict.fromkeys(graph.nodes, 0)
    for node, _ in graph.roots:
        counts[node] += 1
    for node in graph.nodes:  # a node stands before the nodes that it sends gradients to
        for edge in node.edges:
            counts[edge.target] += counts[node]
    return counts


def paths(
    graph: Graph, leaf: Node, gradients: Sequence[Tensor] | None, most: int, budget: Budget
) -> Iterator[Path]:
    """The first `most` paths to a leaf; with the gradients of the results, their products too."""
    leads = {leaf}
    add_users(leaf, leads)
    found = 0
    for at, (root, nr) in enumerate(graph.roots):
        if root not in leads:
            continue
        start = None if gradients is None else gradients[at]
        if root is leaf:
            found += 1
            yield Path((), start)
        # Of each node on the way: the edges that are left to try, and what came to it.
        trail: list[Edge] = []
        stack = [(_to(root, leads), start, nr)]
        while stack:
            edges, gradient, came = stack[-1]
            if not edges:
                stack.pop()
                if trail:
                    trail.pop()
                continue
            edge = edges.pop()
            sent = None
            if gradient is not None and time.monotonic() < budget.end:
                sent = along(edge, gradient, came)
            budget.edges -= 1
            if edge.target is leaf:
                budget.edges -= len(trail)
                yield Path((*trail, edge), sent)
                found += 1
            else:
                trail.append(edge)
                stack.append((_to(edge.target, leads), sent, edge.nr))
            if found >= most or budget.edges < 0:
                return


def _to(node: Node, leads: set[Node]) -> list[Edge]:
    """The edges of a node that lead on, the last one first."""
    return [edge for edge in reversed(node.edges) if edge.target in leads]
