"""The sentences of `rushlight doctor`, and what a whole run shows.

`_SENTENCES` has a row for each kind of sight. Some sights are the doctor's notes of single calls;
the functions of `_JUDGES` see the others in the numbers of the run. Read `findings`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from statistics import median
from typing import Any, NamedTuple

from .._core import Tensor
from ..nn.modules import rnn as _rnn
from ._doctor import Doctor, Line
from ._graph import Place
from ._names import Names, script_modules, shown_name
from ._text import bytes_text

__all__ = ["Finding", "findings"]

_FEW = 3
"""Fewer passes or steps than these show nothing."""
_SENTENCES = {
    "stale": "zero_grad: this backward adds to gradients that an update has already used, pass "
    "after pass: call zero_grad() before it.",
    "emptied": "zero_grad: zero_grad() empties the gradients between backward and step: call it "
    "before backward.",
    "contained": "kept: `{name}` keeps results of {made} with their graphs: {growth} each "
    "pass{size}. Keep .item() or .detach() of them.",
    "chained": "kept: this value keeps the graphs of all passes before: {growth} nodes "
    "each pass{size}. Keep .item() or .detach() of them.",
    "nan": "nan: NaN or infinity is {which}.",
    "cut": "cut: the history ends here, and {params} get no gradient from what follows.",
    "not reached": "no_gradient: {params} get no gradient: they are used, and the loss does not "
    "depend on them.",
    "not used": "no_gradient: {params} get no gradient: no call uses them.",
    "not given": "no_optimizer: {params} get gradients, are in no optimizer, and never change. "
    "Give them to the optimizer, or requires_grad_(False) to save their gradients.",
    "no step": "no_optimizer: no step of this optimizer: call its step() after backward().",
    "twice": "softmax: {op} before the loss of {at}: {why}.",
    "crossed": "broadcast: [N] and [N, 1] meet here and make [N, N], each number with each: give "
    "both one shape.",
    "eval": "mode: eval() is not undone: {at} goes on training in it.",
    "tested": "mode: {kinds} in training mode, in an evaluation without gradients: call eval() "
    "before, and train() after.",
    "dead": "dead: {dead} of {units} units are never above zero{since}.",
    "vanishing": "vanishing: the gradients of {name} are {times:.0e} times those of the largest "
    "layer.",
    "exploding": "exploding: the gradients of {name} are {times:.0e} times its values: smaller "
    "weights at the start, normalization, or clip_grad_norm_.",
    "idle": "rate: the steps change nothing: the learning rate is {rate:g}.",
    "seeded": "data: the seed is set again each epoch, and the batches come in the same order.",
    "ordered": "data: the same {batches} batches come in the same order each epoch: shuffle them.",
    "first batch": "data: each pass has the first of {batches} batches: iter() of the loader "
    "begins anew.",
    "raw": "data: the inputs are not scaled: about {size} in size.",
    "unused graph": "savings: {count} calls in eval mode record a graph that no backward uses: "
    "call it in torch.no_grad().",
    "kept graph": "savings: the graph is kept (retain_graph or create_graph), and nothing uses it "
    "after.",
    "anomaly": "savings: anomaly detection is on: each step takes longer, leave it out when all "
    "is found.",
}
"""By sight: the kind of the finding, and its text. In the order in which a person should look."""
_LEAST = {"emptied": _FEW, "raw": _FEW, "unused graph": _FEW, "kept graph": _FEW, "tested": 2}
"""How often a sight that may be chance must be noted; others once."""

Sight = tuple[str, Line | None, dict[str, Any]]


class Finding(NamedTuple):
    """A mistake: the kind, the line of the program, and a sentence or two."""

    kind: str
    line: Line
    text: str

    def __str__(self) -> str:
        place = Place(*self.line, "")
        code = f"\n    {place.code}" if place.code else ""
        return f"{place}: {self.kind}: {self.text}{code}"


def findings(doctor: Doctor) -> list[Finding]:
    """Everything that is wrong, in the order in which a person should look."""
    seen = [sight for judge in _JUDGES for sight in judge(doctor)]
    found: dict[tuple[str, Line], Finding] = {}
    for sight, sentence in _SENTENCES.items():
        kind, _, text = sentence.partition(": ")
        for what, line, words in seen:
            if what == sight and line is not None and line[1]:
                finding = Finding(kind, line, text.format(**words))
                found.setdefault((kind, line), finding)
    return list(found.values())


def _at(line: Line) -> str:
    return str(Place(*line, ""))


def _noted(doctor: Doctor) -> Iterator[Sight]:
    """The notes of single calls."""
    trained = doctor.leaves.prints.keys()
    for what, line, count, words in doctor.notes:
        module = words.pop("module", None)
        if count < _LEAST.get(what, 1) or (
            module is not None and not trained & {id(p) for p in module.parameters()}
        ):
            continue
        if "at" in words:
            words["at"] = _at(words["at"])
        yield what, line, {**words, "count": count}
    yield "anomaly", doctor.places.anomaly, {}


# ---- gradients and parameters


def _kept(doctor: Doctor) -> Iterator[Sight]:
    memory = doctor.memory[len(doctor.memory) // 2 :]
    bytes_ = (memory[-1] - memory[0]) // (len(memory) - 1) if len(memory) > 1 else 0
    size = f", {bytes_text(bytes_)} a pass" if bytes_ > 0 else ""
    for line, (counts, where, name) in sorted(doctor.alive.items()):
        grown, steps = counts[-1] - counts[0], len(counts) - 1
        often = grown >= steps - 1 and counts[-1] >= counts[len(counts) // 2]
        if steps >= _FEW and (often or _rises(counts)):
            growth = f"{grown / steps:.0f} more" if often else "more and more"
            words = {"growth": growth, "size": size, "made": _at(line)}
            if where is None:
                yield "chained", line, words
            else:
                yield "contained", where, {**words, "name": shown_name(name)}


def _rises(counts: list[int]) -> bool:
    """Whether the counts never fall, and rise in each fifth of the run."""
    at = [counts[n * (len(counts) - 1) // 5] for n in range(6)]
    return counts == sorted(counts) and len(set(at)) == len(at)


def _names(doctor: Doctor, params: Iterable[Tensor]) -> str:
    """Names of parameters: in the script's modules, else in the class of one that was called."""
    names, called = Names(), doctor.roots.values()
    known = script_modules().items()
    for label, module in [*known, *((type(root).__name__, root) for root in called)]:
        names.add_module(label, module, f"{label}.")
    found = [shown_name(names.given(p) or f"a parameter of shape {tuple(p.shape)}") for p in params]
    return ", ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")


def _without_gradient(doctor: Doctor) -> Iterator[Sight]:
    leaves = doctor.leaves
    data = [line for line, n in doctor.data_cuts.items() if n >= doctor.passes - 1 > 1]
    by_line: dict[tuple[str, Line | None], list[Tensor]] = {}
    for key, count in leaves.without.items():
        if count < _FEW:
            continue
        p, used = leaves.params[key], key in doctor.used
        cut = next((line for line, held in doctor.cuts.items() if key in held), None)
        cut = cut or (data[0] if data and used else None)
        what = "cut" if cut else "not reached" if used else "not used"
        optimizer = leaves.optimizers[leaves.inside[key]].optimizer
        line = cut or doctor.places.of(p) or doctor.places.of(optimizer)
        by_line.setdefault((what, line), []).append(p)
    for (what, line), params in by_line.items():
        yield what, line, {"params": _names(doctor, params)}


def _no_optimizer(doctor: Doctor) -> Iterator[Sight]:
    leaves = doctor.leaves
    if doctor.passes < _FEW:
        return
    for optimizer, line in doctor.places.optimizers():
        given = {id(p) for p in leaves.parameters(optimizer)}
        still = {key for key, now in leaves.first.items() if leaves.prints[key] == now}
        unused = not given & leaves.inside.keys() and id(optimizer) not in leaves.optimizers
        if unused and given & still and given & leaves.first.keys() <= still:
            yield "no step", line, {}
    made = [doctor.places.of(notes.optimizer) for notes in leaves.optimizers.values()]
    alone = [
        leaves.params[key]
        for key, before in leaves.first.items()
        if key not in leaves.inside
        and before == leaves.prints[key]
        and type(leaves.params[key]).__name__ == "Parameter"
        and leaves.params[key].numel()
    ]
    if made and alone:
        yield "not given", made[0], {"params": _names(doctor, alone)}


# ---- layers


def _dead(doctor: Doctor) -> Iterator[Sight]:
    for line, (ran, last) in doctor.units.items():
        dead = [count for count in last if count <= len(ran) // 2]
        if len(last) >= 4 and len(dead) >= 0.9 * len(last) and len(ran) >= 5:
            since = f" since pass {ran[max(dead)] + 1}" if max(dead) > 0 else ""
            yield "dead", line, {"dead": len(dead), "units": len(last), "since": since}


def _sizes(doctor: Doctor) -> Iterator[Sight]:
    rows = {key: r for key, r in doctor.leaves.sizes.items() if len(r) >= _FEW}
    if len(rows) < _FEW:
        return
    grads = {key: median(g for g, _ in r) for key, r in rows.items()}
    ratios = {key: median(g / (size or 1) for g, size in r) for key, r in rows.items()}
    least, largest = min(grads, key=lambda key: grads[key]), max(grads.values())
    first = next((key for key, ratio in ratios.items() if ratio > 1e5), None)
    found = {} if first is None else {"exploding": (first, ratios[first])}
    if 0 < grads[least] < 1e-6 * largest < 1:
        found["vanishing"] = least, grads[least] / largest
    for what, (key, times) in found.items():
        p = doctor.leaves.params[key]
        yield what, doctor.places.of(p), {"name": _names(doctor, [p]), "times": times}


# ---- the optimizer and the data


def _rates(doctor: Doctor) -> Iterator[Sight]:
    for key, notes in doctor.leaves.optimizers.items():
        last = notes.changes[len(notes.changes) // 2 :]
        idle = [change < 1e-7 for change, gradient in last if gradient > 1e-5]
        if len(idle) >= _FEW and all(idle):
            group = notes.optimizer.param_groups[0]
            rate, first = float(group["lr"]), float(group.get("initial_lr", 0.0))
            line = doctor.places.schedules.get(key) if first > 100 * rate else None
            yield "idle", line or doctor.places.of(notes.optimizer), {"rate": rate}


def _period(prints: list[list[int]]) -> int:
    """The length of the rounds in which the batches repeat; 0 where they do not."""
    for n in range(4, len(prints) // 2 + 1):
        if prints[n:] == prints[:-n]:
            return n if len(set(map(tuple, prints[:n]))) == n else 0
    return 0


def _orders(doctor: Doctor) -> Iterator[Sight]:
    trained = doctor.leaves.prints.keys()
    by_hand = not doctor.leaves.optimizers

    def at(row: Any) -> int:
        return int(row[3][by_hand])

    for key, rows in doctor.batches.items():
        module = doctor.roots.get(key)
        if module is None or any(isinstance(m, _rnn.RNNBase) for m in module.modules()):
            continue
        # calls for one step of an optimizer, or for one pass where there is none, are one batch
        _, line, batches, _ = rows[-1]
        taken = [[row[0] for row in step] for _, step in groupby(rows, at)]
        if len(taken[-1]) < len(taken[0]):
            taken.pop()  # the run ended in there
        if not trained & {id(p) for p in module.parameters()}:
            continue
        if len(rows) > _FEW and len({row[0] for row in rows}) == 1 and batches > 1:
            yield "first batch", line, {"batches": batches}
        elif round_ := _period(taken):
            seeded = next((at for at, n in doctor.places.seeds.items() if n > 1), None)
            what = "ordered" if seeded is None else "seeded"
            yield what, seeded or line, {"batches": sum(map(len, taken[:round_]))}


_JUDGES = (_noted, _kept, _without_gradient, _no_optimizer, _dead, _sizes, _rates, _orders)
