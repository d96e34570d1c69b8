"""A page's content, as plain data for its script (page/*.js): nodes, edges, boxes, the steps of
a backward, paths, memory."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from .._base.version import __version__
from .._core import Tensor
from ._boxes import Box, boxes_of, calls_in
from ._formulas import local_gradient, rule
from ._graph import Edge, Graph, Node, Place
from ._labels import local_formula, operands, result_name
from ._names import shown_name
from ._numbers import (
    Step,
    Summary,
    code_of_program,
    local_values,
    run,
    starting_gradients,
    summary,
    written_out,
)
from ._paths import Budget, count_paths, paths

__all__ = ["page_data"]

_LISTED = 64
"""How many paths to a leaf are listed; of a graph of scalars many more."""
_LISTED_SCALARS = 4096


def page_data(
    graph: Graph,
    gradient: object = None,
    *,
    program: str | None = None,
    step: int | None = None,
    goes_on: bool = False,
) -> dict[str, Any]:
    """The data of a page; running the backward once gives its numbers. goes_on: the program runs
    the same backward afterwards, so that code of the program's is not run for numbers."""
    return _Page(graph, gradient, program, step, goes_on).data()


class _Page:
    def __init__(
        self,
        graph: Graph,
        gradient: object,
        program: str | None,
        step: int | None,
        goes_on: bool,
    ) -> None:
        self.graph, self.program, self.step = graph, program, step
        self.code = code_of_program(graph) if goes_on else ""
        self.most = written_out(graph)
        self.notes: list[str] = []
        self.title = next((n.labels.get(nr, "") for n, nr in graph.roots), "") or "result"
        self.gradients = starting_gradients(graph, gradient)
        self.steps: list[Step] = []
        self.local: dict[Edge, Tensor] = {}
        self.places: dict[Place, int] = {}
        self.edge_number: dict[Edge, int] = {}
        self.rules: list[dict[str, Any]] = []
        self.rule_number: dict[tuple[int, str], int] = {}
        self._run()

    def _run(self) -> None:
        freed = self.graph.freed
        if freed is not None:
            where = "" if freed.freed is None else f" at {freed.freed}"
            self.notes.append(
                f"A backward{where} has freed the values that this graph had saved, so there are "
                "no numbers. Draw the graph before backward(), or give that retain_graph=True."
            )
        elif self.gradients is None:
            self.notes.append(
                "The result is no scalar, so backward needs a gradient for it: give gradient= to "
                "see numbers."
            )
        elif self.code:
            self.notes.append(
                f"This backward runs code of the program: {self.code}. To run that twice might "
                "change what the program computes, so there are no numbers."
            )
        else:
            try:
                self.steps = run(self.graph, self.gradients)
            except Exception as error:
                self.notes.append(f"The backward raised {type(error).__name__}: {error}")
            else:
                self.local = local_values(self.graph)
        if not self.steps:
            self.gradients = None

    def data(self) -> dict[str, object]:
        """All of it. Of what is empty, nothing stands there; page/data.js has the defaults."""
        boxes, place = boxes_of(self.graph, self.title)
        number = {box: n for n, box in enumerate(boxes)}
        nodes = [self._node(node, number[place[node]]) for node in self.graph.nodes]
        edges = self._edges()
        self._constants(nodes, edges, {node: number[place[node]] for node in self.graph.nodes})
        memory = self._memory(nodes)
        return {
            "title": shown_name(self.title),
            "program": self.program,
            "step": self.step,
            "version": __version__,
            "nodes": nodes,
            "edges": edges,
            "boxes": self._boxes(boxes, number, nodes),
            "steps": [self._step(s) for s in self.steps],
            "paths": self._paths(),
            "memory": memory,
            "rules": self.rules,
            "places": [[p.short, p.line, p.function, p.code] for p in self.places],
            "notes": self.notes,
        }

    def _summary(self, t: Tensor) -> object:
        return _plain(summary(t, self.most))

    # ---- nodes

    def _node(self, node: Node, box: int) -> dict[str, object]:
        value = node.values.get(0)
        return _without_defaults(
            id=node.number,
            kind=node.kind,
            title=shown_name(node.title),
            name=node.name,
            label=shown_name(node.label),
            expression="" if node.label else shown_name(result_name(node)),
            shape=list(node.shape),
            dtype="" if node.dtype is None else node.dtype.name,
            seq=None if node.kind == "leaf" else node.sequence,
            place=self._place(node.place),
            box=box,
            value=None if value is None else self._summary(value),
            rules=self._rules(node),
            scope=list(node.scope),
            saved=self._saved(node),
            marks=[shown_name(mark) for mark in node.marks],
        )

    def _place(self, place: Place | None) -> int:
        """A place's number in the table of places, from 1 on; 0 of none."""
        return 0 if place is None else self.places.setdefault(place, len(self.places) + 1)

    def _rules(self, node: Node) -> list[int]:
        """The rules of a node's arguments, as places in the table of rules."""
        if node.kind != "op":
            return []
        return [
            self._rule(node.op, argument)
            for argument in dict.fromkeys(edge.argument for edge in node.edges)
        ]

    def _rule(self, op: Any, argument: str) -> int:
        """The place in the table of what the op table says of one argument."""
        key = id(op), argument
        if key not in self.rule_number:
            formula, written = local_gradient(op, argument), rule(op, argument)
            self.rule_number[key] = len(self.rules)
            self.rules.append(
                _without_defaults(
                    argument=argument,
                    formula=formula.text,
                    factor=formula.is_factor,
                    text="" if written is None else written.text,
                    file="" if written is None else written.file,
                    line=None if written is None else written.line,
                )
            )
        return self.rule_number[key]

    def _saved(self, node: Node) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = []
        for saved in node.saved:
            t = saved.tensor
            rows.append(
                _without_defaults(
                    what=saved.what,
                    label="" if t is None else shown_name(self.graph.names.of(t)),
                    shape=[] if t is None else list(t.shape),
                    dtype="" if t is None else t.dtype.name,
                    bytes=saved.bytes,
                    state=saved.state,
                )
            )
        return rows

    # ---- edges

    def _edges(self) -> list[dict[str, object]]:
        sent = {edge: s for step in self.steps for edge, s in step.sent.items()}
        rows: list[dict[str, object]] = []
        for edge in self.graph.edges:
            self.edge_number[edge] = len(rows)
            row: dict[str, object] = {
                "from": edge.source.number,
                "to": edge.target.number,
                "nr": edge.nr,
                "rule": -1,
            }
            if edge.source.kind == "op":
                row["rule"] = self._rule(edge.source.op, edge.argument)
                row["named"] = local_formula(edge).text
            row["sent"] = _plain(sent.get(edge))
            row = _without_defaults(**row)
            local = self.local.get(edge)
            if local is not None:
                row["local"] = _number(local.item()) if local.numel() == 1 else self._summary(local)
            rows.append(row)
        return rows

    def _constants(
        self, nodes: list[dict[str, object]], edges: list[dict[str, object]], box: dict[Node, int]
    ) -> None:
        """Arguments without a gradient: a tensor once, a number where it is used."""
        known: dict[object, dict[str, object]] = {}
        for node in self.graph.nodes:
            for constant in dict.fromkeys([*node.constants, *operands(node)]):
                value = constant.value
                tensor = isinstance(value, Tensor)
                key = (
                    (value.data_ptr(), tuple(value.shape), value.dtype.name)
                    if tensor and not value._on_meta
                    else object()
                )
                row = known.get(key)
                if row is None:
                    row = _without_defaults(
                        id=len(nodes),
                        kind="constant",
                        title=shown_name(constant.label or ("" if tensor else str(value))),
                        name=type(value).__name__,
                        label=shown_name(constant.label),
                        shape=list(value.shape) if tensor else [],
                        dtype=value.dtype.name if tensor else "",
                        box=box[node],
                        value=self._summary(value) if tensor else None,
                        scope=list(node.scope),
                    )
                    known[key] = row
                    nodes.append(row)
                elif row.get("box", 0) != box[node]:
                    row["box"] = 0
                edges.append(
                    _without_defaults(
                        **{"from": node.number, "to": row["id"], "constant": constant.argument}
                    )
                )

    # ---- boxes, steps, paths, memory

    def _boxes(
        self, boxes: list[Box], number: dict[Box, int], nodes: list[dict[str, Any]]
    ) -> list[dict[str, object]]:
        counts = [0] * len(boxes)
        held = [0] * len(boxes)
        for row in nodes:
            box: Box | None = boxes[row.get("box", 0)]
            while box is not None:
                counts[number[box]] += 1
                held[number[box]] += row.get("bytes", 0)
                box = box.parent
        arrived = {step.node: step.incoming for step in self.steps}
        return [
            {
                "id": number[box],
                "parent": None if box.parent is None else number[box.parent],
                "title": shown_name(box.name) + shown_name(box.tail),
                "kind": box.kind,
                "detail": shown_name(" › ".join(box.path)),
                "count": counts[number[box]],
                "bytes": held[number[box]],
                **_without_defaults(
                    place=self._place(box.place),
                    tail=shown_name(box.tail),
                    steps=list(box.steps or ()),
                    **_curve(box, arrived),
                ),
            }
            for box in boxes
        ]

    def _step(self, step: Step) -> dict[str, object]:
        row: dict[str, object] = {
            "node": step.node.number,
            "incoming": [_plain(s) for s in step.incoming],
        }
        if step.node.kind == "leaf":
            row["into"] = {
                "leaf": step.node.number,
                "before": _plain(step.before),
                "added": _plain(step.incoming[0]),
                "after": _plain(step.after),
            }
        return row

    def _paths(self) -> dict[str, Any]:
        counts = count_paths(self.graph)
        arrived = {s.node: s.incoming[0] for s in self.steps if s.node.kind == "leaf"}
        scalars = len(self.local) == len(self.edge_number)
        budget = Budget()
        found = {}
        for leaf in self.graph.leaves:
            most = _LISTED_SCALARS if scalars else _LISTED
            shown = [
                {
                    "edges": [self.edge_number[edge] for edge in path.edges],
                    "product": None if path.product is None else self._summary(path.product),
                }
                for path in paths(self.graph, leaf, self.gradients, most, budget)
            ]
            gradient = _plain(arrived.get(leaf))
            found[str(leaf.number)] = {
                "count": _count(counts[leaf]),
                "shown": shown,
                "sum": gradient,
                "grad": gradient,
            }
        return found

    def _memory(self, nodes: list[dict[str, Any]]) -> dict[str, int]:
        """Marks the first to keep a memory, and gives the totals."""
        parameters = {
            (v.untyped_storage().data_ptr(), v.untyped_storage().nbytes())
            for v in (leaf.variable for leaf in self.graph.leaves)
            if v is not None and not v._on_meta
        }
        seen = set()
        total = unique = of_parameters = 0
        for node in self.graph.nodes:
            own = 0
            for saved, row in zip(node.saved, nodes[node.number].get("saved", []), strict=True):
                total += saved.bytes
                memory = saved.memory
                if memory[1] and memory not in seen:
                    seen.add(memory)
                    row["first"] = True
                    if memory in parameters:
                        of_parameters += memory[1]
                    else:
                        own += memory[1]
            unique += own
            if own:
                nodes[node.number]["bytes"] = own
        return {"saved": total, "unique": unique, "parameters": of_parameters}


def _curve(
    loop: Box, arrived: Mapping[Node, Sequence[Summary | None]]
) -> dict[str, list[object] | str]:
    """The norm of the gradient that comes to each step of a loop, and the program's name of the
    result: the largest that other steps use, else the step's last result."""
    if not (loop.rounds and arrived):
        return {}
    rounds = [calls_in(items) for items in loop.rounds]
    step_of = {node: n for n, calls in enumerate(rounds) for node in calls}
    middle = rounds[len(rounds) // 2]
    carried = [
        node
        for node in middle
        if any(step_of.get(e.source, step_of[node]) != step_of[node] for e in node.received)
    ]
    # The last of several that are as large: h and not c of an LSTM cell.
    chosen = max(reversed(carried or middle[-1:]), key=lambda node: math.prod(node.shape))
    key = chosen.title, chosen.place
    alike = [[n for n in calls if (n.title, n.place) == key] for calls in rounds]
    at = alike[len(rounds) // 2].index(chosen) - len(alike[len(rounds) // 2])
    nodes = [calls[at] if -at <= len(calls) else None for calls in alike]
    sums = [next(iter(arrived.get(node, ())), None) if node else None for node in nodes]
    last = nodes[-1]  # the result of which the variable still is
    return {
        "curve": [None if s is None else _number(s.norm) for s in sums],
        "carried": shown_name(last.label.partition("[")[0]) if last else "",
    }


def _count(count: int) -> str:
    """An exact number of paths, as text; Python refuses to write very long ones."""
    limit = sys.get_int_max_str_digits()
    if limit and count.bit_length() > 3 * limit:
        return f"about 10^{int(count.bit_length() * math.log10(2))}"
    return str(count)


def _without_defaults(**row: object) -> dict[str, object]:
    return {k: v for k, v in row.items() if v is not None and v != "" and v != [] and v != 0}


def _number(x: object) -> object:
    """A number for JSON, which has no NaN and no infinity."""
    if isinstance(x, list):
        return [_number(y) for y in x]
    if isinstance(x, complex):
        return str(x).strip("()").replace("j", "i")
    if isinstance(x, float) and not math.isfinite(x):
        return "nan" if x != x else "inf" if x > 0 else "-inf"
    return x


def _plain(s: Summary | None) -> object:
    """A summary; a finite scalar is its number alone, with the type where that is not float32."""
    if s is None:
        return None
    row = _without_defaults(
        shape=list(s.shape), dtype=s.dtype if s.dtype != "float32" else "", zeros=s.zeros
    )
    row["values"] = _number(s.values)
    if s.size != 1:
        row.update(size=s.size, norm=_number(s.norm), min=_number(s.least), max=_number(s.greatest))
        row.update(_without_defaults(nan=s.nan, inf=s.inf))
    if row["values"] is None:
        del row["values"]
    return row
