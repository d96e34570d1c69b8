"""Finding a graph inside another."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from ...._base.missing import missing_name as _missing_name
from ...graph import Graph
from ...node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """A place where a pattern was found."""

    anchors: list[Node]  # of the pattern
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            self.anchors,
            dict(self.nodes_map),
            list(self.placeholder_nodes),
            list(self.returning_nodes),
        )


class SubgraphMatcher:
    """Finds a pattern in graphs: by what nodes do and use, not by their names.

    match_output, match_placeholder: these nodes too must have partners of their kind.
    remove_overlapping_matches: a node is part of one place at most.
    """

    match_output: bool
    match_placeholder: bool

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        if not len(pattern.nodes):
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.users:
                raise AssertionError(
                    "SubgraphMatcher cannot be initialized with an pattern with dead code"
                )
        self.pattern_placeholder_nodes: list[Any] = [
            n for n in pattern.nodes if n.op == "placeholder"
        ]
        output = next(n for n in reversed(pattern.nodes) if n.op == "output")
        self.pattern_returning_nodes: Any = output.all_input_nodes
        if match_output:
            self.pattern_anchors: list[Any] = [output]
        else:
            self.pattern_anchors = [n for n in output.all_input_nodes if len(n.users) == 1]

    def _same_target(self, wanted: Node, node: Node) -> bool:
        if wanted.op != node.op:
            return False
        if wanted.op in ("placeholder", "output"):
            return True
        if wanted.op == "get_attr":
            return type(self._member(wanted)) is type(self._member(node))
        if wanted.op == "call_module" and wanted.graph.owning_module and node.graph.owning_module:
            return type(self._member(wanted)) is type(self._member(node))
        return bool(wanted.target == node.target)

    @staticmethod
    def _member(node: Node) -> object:
        at = node.graph.owning_module
        for part in str(node.target).split("."):
            at = getattr(at, part)
        return at

    def _match_args(self, wanted: object, given: object, match: InternalMatch) -> bool:
        if isinstance(wanted, Node):
            if isinstance(given, Node):
                return self._match_nodes(wanted, given, match)
            return self._match_literal(wanted, given, match)
        if isinstance(wanted, (list, tuple)):
            return (
                isinstance(given, (list, tuple))
                and len(wanted) == len(given)
                and all(self._match_args(a, b, match) for a, b in zip(wanted, given, strict=True))
            )
        if isinstance(wanted, dict):
            return (
                isinstance(given, dict)
                and wanted.keys() == given.keys()
                and all(self._match_args(a, given[k], match) for k, a in wanted.items())
            )
        if isinstance(given, Node):
            return False
        return self.ignore_literals or (type(wanted) is type(given) and bool(wanted == given))

    def _match_literal(self, wanted: Node, given: object, match: InternalMatch) -> bool:
        """A parameter of the pattern may also stand for a number and the like."""
        if wanted.op != "placeholder" or self.match_placeholder:
            return False
        if wanted in match.nodes_map:
            before = match.nodes_map[wanted]
            return type(before) is type(given) and bool(before == given)
        match.nodes_map[wanted] = given
        return True

    def _match_nodes(self, wanted: Node, node: Node, match: InternalMatch) -> bool:
        if wanted in match.nodes_map:
            return match.nodes_map[wanted] is node
        if any(other is node for other in match.nodes_map.values()):
            return False
        if wanted.op == "placeholder" and not self.match_placeholder:
            match.nodes_map[wanted] = node
            return True
        if not self._same_target(wanted, node):
            return False
        saved = copy.copy(match)
        match.nodes_map[wanted] = node
        if wanted.op == "placeholder":
            return True
        args, kwargs = self._normalized(wanted), self._normalized(node)
        if self._match_args(args, kwargs, match):
            return True
        match.nodes_map = saved.nodes_map
        return False

    @staticmethod
    def _normalized(node: Node) -> object:
        """The arguments; those by name in the order of the names."""
        return [list(node.args), dict(sorted(node.kwargs.items()))]

    def _is_contained(self, nodes_map: dict[Node, object]) -> bool:
        """Whether nothing outside of the place uses what is inside of it."""
        inside = {
            node: wanted
            for wanted, node in nodes_map.items()
            if isinstance(node, Node) and wanted.op != "placeholder"
        }
        for node, wanted in inside.items():
            if wanted in self.pattern_returning_nodes:
                continue
            if any(user not in inside for user in node.users):
                return False
        return True

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The places, in the order of the pattern's last node from the graph's end to its start."""
        found: list[InternalMatch] = [InternalMatch(anchors=self.pattern_anchors)]
        for anchor in self.pattern_anchors:
            candidates = [n for n in reversed(graph.nodes) if self._same_target(anchor, n)]
            if node_name_match:
                candidates = [n for n in candidates if n.name == node_name_match]
            grown = []
            for match in found:
                for node in candidates:
                    trial = copy.copy(match)
                    if self._match_nodes(anchor, node, trial):
                        grown.append(trial)
            found = grown
        kept = []
        used: set[Node] = set()
        for match in reversed(found):
            if not self.pattern_anchors or not self._is_contained(match.nodes_map):
                continue
            inside = {
                node
                for wanted, node in match.nodes_map.items()
                if isinstance(node, Node) and wanted.op not in ("placeholder", "output")
            }
            if self.remove_overlapping_matches and inside & used:
                continue
            used |= inside
            match.placeholder_nodes = [
                match.nodes_map[n] for n in self.pattern_placeholder_nodes if n in match.nodes_map
            ]
            match.returning_nodes = [match.nodes_map[n] for n in self.pattern_returning_nodes]
            kept.append(match)
        return kept


__getattr__ = _missing_name(__name__)
