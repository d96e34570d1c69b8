"""Finding a pattern of calls in a graph, and putting other calls in its place."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import nn
from .._base.missing import missing_name as _missing_name
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _assign_attr, _get_attr, _has_attr
from .node import Node
from .passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A place where a pattern was found: the last node, and the node of each of the pattern's."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A place where a pattern was found, and what stands there now."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def _graph_of(what: object) -> Graph:
    if isinstance(what, GraphModule):
        return what.graph
    return what if isinstance(what, Graph) else symbolic_trace(what).graph


def replace_pattern(gm: GraphModule, pattern: object, replacement: object) -> list[Match]:
    """Put a replacement wherever a pattern stands in a traced module; returns the places.

    Both are functions of the same parameters, or traced modules. Of places that overlap, the first
    is taken.

    >>> gm = torch.fx.symbolic_trace(lambda x: torch.neg(torch.relu(x)))
    >>> found = torch.fx.replace_pattern(gm, lambda x: torch.relu(x), lambda x: torch.abs(x))
    >>> len(found), gm(torch.tensor([-2.0]))
    (1, tensor([-2.]))
    """
    done = replace_pattern_with_filters(gm, pattern, replacement)
    return [Match(anchor=m.anchor, nodes_map=m.nodes_map) for m in done]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: object,
    replacement: object = None,
    match_filters: list[Callable[[InternalMatch, Graph, Graph], bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """`replace_pattern` of the places for which all filters give True.

    replacement_callback: gives the graph to put at a place. ignore_literals: numbers and the like
    in the pattern's arguments stand for any others.
    """
    graph, wanted = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(wanted, ignore_literals=ignore_literals)
    found = [
        match
        for match in matcher.match(graph, node_name_match=node_name_match)
        if all(f(match, graph, wanted) for f in match_filters or ())
    ]
    if replacement is None and replacement_callback is None:
        raise AssertionError(
            "Must provide either a replacement GraphModule or a replacement callback"
        )
    common = None if replacement_callback else _graph_of(replacement)
    changed: dict[Node, Node] = {}
    done = []
    for match in found:
        new = common or replacement_callback(match, graph, wanted)  # type: ignore[misc]
        given = [changed.get(n, n) if isinstance(n, Node) else n for n in match.placeholder_nodes]
        for key, node in list(match.nodes_map.items()):
            if node in match.placeholder_nodes:
                match.nodes_map[key] = changed.get(node, node)
        match.placeholder_nodes = given
        parameters = [n for n in new.nodes if n.op == "placeholder"]
        if len(parameters) != len(given):
            raise AssertionError(f"Placeholder count mismatch: {len(given)} vs {len(parameters)}")
        values: dict[Any, Any] = dict(zip(parameters, given, strict=True))
        users = {user for n in match.returning_nodes for user in n.users}
        before = min(users) if users else max(match.returning_nodes).next
        with graph.inserting_before(before):
            results = graph.graph_copy(new, values)
        results = (results,) if isinstance(results, Node) else results
        if len(results) != len(match.returning_nodes):
            raise AssertionError(
                f"Returning nodes count mismatch: {len(match.returning_nodes)} vs {len(results)}"
            )
        made = [n for n in values.values() if n not in given]
        for old, node in zip(match.returning_nodes, results, strict=True):
            old.replace_all_uses_with(node)
            changed[old] = node
        for node in reversed(wanted.nodes):
            if node.op not in ("placeholder", "output"):
                graph.erase_node(match.nodes_map[node])
        done.append(ReplacedPatterns(match.anchors[0], match.nodes_map, made))
    gm.recompile()
    if isinstance(replacement, nn.Module):
        _take_members_over(gm, replacement)
    return done


def _take_members_over(gm: GraphModule, replacement: object) -> None:
    """Give a module what its new nodes name; take out what none names any more."""
    gm.delete_all_unused_submodules()
    for node in gm.graph.nodes:
        if node.op in ("call_module", "get_attr") and not _has_attr(gm, node.target):
            if not _has_attr(replacement, node.target):
                raise RuntimeError(
                    'Attempted to create a "'
                    f'{node.op}" node during subgraph rewriting with target {node.target}, but '
                    "the referenced attribute does not exist in the replacement GraphModule"
                )
            _assign_attr(copy.deepcopy(_get_attr(replacement, node.target)), gm, node.target)
    gm.graph.lint()


__getattr__ = _missing_name(__name__)
