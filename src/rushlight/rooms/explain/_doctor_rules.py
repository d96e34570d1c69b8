"""The sentences of `rushlight doctor`: of each kind of mistake a function that reads the doctor's
notes and gives findings. Read `findings`."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from .._core import Tensor
from ..nn import Module
from ..nn.modules import rnn as _rnn
from ._doctor import Doctor, Line, has_modes
from ._graph import Place
from ._names import shown_name
from ._text import bytes_text, counted

__all__ = ["Finding", "findings"]

_FEW = 3
"""Fewer passes or steps than these show nothing."""


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
    found: dict[tuple[str, Line], Finding] = {}
    for rule in _RULES:
        for finding in rule(doctor):
            if finding.line[1]:
                found.setdefault((finding.kind, finding.line), finding)
    return list(found.values())


def _at(line: Line) -> str:
    return str(Place(*line, ""))


# ---- gradients and parameters


def _not_cleared(doctor: Doctor) -> Iterator[Finding]:
    for line in doctor.leaves.stale:
        yield Finding(
            "zero_grad",
            line,
            "this backward adds to gradients that an update has already used, pass after pass: "
            "call zero_grad() before it.",
        )


def _kept(doctor: Doctor) -> Iterator[Finding]:
    chains = []
    for line, (counts, where, name) in doctor.alive.items():
        grown = counts[-1] - counts[0]
        steps = len(counts) - 1
        if steps < _FEW or grown < steps - 1 or counts[-1] < counts[len(counts) // 2]:
            continue
        chains.append((where is None, line, where, name, grown / steps))
    for _, line, where, name, growth in sorted(chains):
        if where is None and len(chains) > 1 and any(c[2] for c in chains):
            continue
        memory = doctor.memory[len(doctor.memory) // 2 :]
        size = (memory[-1] - memory[0]) // max(1, len(memory) - 1)
        text = (
            f"this value keeps the graphs of all passes before: {growth:.0f} more nodes each pass"
        )
        if name:
            text = f"`{shown_name(name)}` keeps results of {_at(line)} with their graphs: "
            text += f"{growth:.0f} more each pass"
        text += f", {bytes_text(size)} a pass" if size > 0 else ""
        yield Finding("kept", where or line, text + ". Keep .item() or .detach() of them.")


class _Names:
    """The names of parameters, and the modules that own them."""

    def __init__(self, doctor: Doctor) -> None:
        self._of: dict[int, tuple[str, Module]] = {}
        for root in doctor.modules.kept.values():
            for prefix, module in root.named_modules():
                for name, p in module.named_parameters(recurse=False):
                    whole = f"{prefix}.{name}".strip(".")
                    self._of.setdefault(id(p), (f"{type(root).__name__}'s {whole}", module))
        self._doctor = doctor

    def name(self, t: Tensor) -> str:
        shape = "×".join(map(str, t.shape))
        found = self._of.get(id(t))
        return shown_name(found[0]) if found else f"a parameter of {shape or 'one number'}"

    def made(self, t: Tensor) -> Line | None:
        found = self._of.get(id(t))
        return self._doctor.places.of(found[1]) if found else None

    def several(self, params: list[Tensor]) -> str:
        names = [self.name(p) for p in params[:3]]
        more = f" and {len(params) - 3} more" if len(params) > 3 else ""
        return ", ".join(names) + more


def _without_gradient(doctor: Doctor) -> Iterator[Finding]:
    leaves, names = doctor.leaves, _Names(doctor)
    lost = [leaves.params[key] for key, count in leaves.without.items() if count >= _FEW]
    by_line: dict[tuple[str, Line], list[Tensor]] = {}
    for p in lost:
        cut = next((line for line, held in doctor.cuts.items() if id(p) in held), None)
        if cut is None and id(p) in doctor.used:
            data = [line for line, n in doctor.data_cuts.items() if n >= doctor.passes - 1 > 1]
            cut = data[0] if data else None
        optimizer = leaves.optimizers[leaves.inside[id(p)]][0]
        line = cut or names.made(p) or doctor.places.of(optimizer)
        if line is not None:
            by_line.setdefault(("cut" if cut else "no_gradient", line), []).append(p)
    for (kind, line), params in by_line.items():
        which = names.several(params)
        if kind == "cut":
            text = f"the history ends here, and {which} get no gradient from what follows."
        elif id(params[0]) in doctor.used:
            text = f"{which} get no gradient: they are used, and the loss does not depend on them."
        else:
            text = f"{which} get no gradient: no call uses them."
        yield Finding(kind, line, text)


def _no_optimizer(doctor: Doctor) -> Iterator[Finding]:
    leaves, names = doctor.leaves, _Names(doctor)
    made = [doctor.places.of(o) for o, _ in leaves.optimizers.values()]
    line = next((place for place in made if place is not None), None)
    if line is None or doctor.passes < _FEW:
        return
    alone = [
        p
        for key, p in leaves.params.items()
        if key not in leaves.inside
        and key in leaves.first
        and leaves.first[key] == leaves.prints[key]
        and type(p).__name__ == "Parameter"
        and p.numel()
    ]
    if alone:
        yield Finding(
            "no_optimizer",
            line,
            f"{names.several(alone)} get gradients, are in no optimizer, and never change. Give "
            "them to the optimizer, or requires_grad_(False) to save their gradients.",
        )


# ---- losses


def _activations(doctor: Doctor) -> Iterator[Finding]:
    for line, (op, at) in doctor.activated.items():
        loss = "cross_entropy takes logits, and has a softmax of its own"
        if op == "sigmoid":
            loss = "binary_cross_entropy_with_logits has a sigmoid of its own"
        yield Finding("softmax", line, f"{op} before the loss of {_at(at or line)}: {loss}.")


def _broadcasts(doctor: Doctor) -> Iterator[Finding]:
    for line in doctor.crossed:
        yield Finding(
            "broadcast",
            line,
            "[N] and [N, 1] meet here and make [N, N], each number with each: give both one shape.",
        )


def _not_finite(doctor: Doctor) -> Iterator[Finding]:
    if doctor.nan is not None:
        op, line, way = doctor.nan
        first = f"the result of {op}" if way == "forward" else f"the gradient of {op}"
        yield Finding("nan", line, f"NaN or infinity is born here: {first}; its inputs are finite.")


# ---- layers


def _modes(doctor: Doctor) -> Iterator[Finding]:
    modules = doctor.modules
    for line, at in modules.undone.items():
        yield Finding("mode", line, f"eval() is not undone: {_at(at)} goes on training in it.")
    for line, count in modules.tests.items():
        kinds = {type(m).__name__ for m in has_modes(modules.tested[line])}
        trains = {id(p) for p in modules.tested[line].parameters()} & doctor.leaves.prints.keys()
        if count >= 2 and line not in doctor.trained_on and trains:
            yield Finding(
                "mode",
                line,
                f"{' and '.join(sorted(kinds))} in training mode, in an evaluation without "
                "gradients: call eval() before, and train() after.",
            )


def _dead(doctor: Doctor) -> Iterator[Finding]:
    for line, counts in doctor.units.items():
        dead = sum(not n for n in counts)
        if max(len(counts), 2) >= 4 and dead >= 0.9 * len(counts) and doctor.passes >= 5:
            yield Finding("dead", line, f"{dead} of {len(counts)} units were never above zero.")


def _sizes(doctor: Doctor) -> Iterator[Finding]:
    names = _Names(doctor)
    grads = {key: median(g for g, _ in rows) for key, rows in doctor.leaves.sizes.items()}
    ratios = {
        key: median(g / (size or 1) for g, size in rows)
        for key, rows in doctor.leaves.sizes.items()
        if len(rows) >= _FEW
    }
    if len(ratios) < _FEW:
        return
    least = min(ratios, key=lambda key: grads[key])
    most = next((key for key, ratio in ratios.items() if ratio > 1e5), least)
    params = doctor.leaves.params
    largest = max(grads[key] for key in ratios)
    if 0 < grads[least] < 1e-6 * largest < float("inf") and largest < 1e6:
        line = names.made(params[least])
        if line is not None:
            yield Finding(
                "vanishing",
                line,
                f"the gradients of {names.name(params[least])} are {grads[least] / largest:.0e} "
                "times those of the largest layer.",
            )
    if ratios[most] > 1e5:
        line = names.made(params[most])
        if line is not None:
            yield Finding(
                "exploding",
                line,
                f"the gradients of {names.name(params[most])} are {ratios[most]:.0e} times its "
                "values: smaller weights at the start, normalization, or clip_grad_norm_.",
            )


# ---- the optimizer and the data


def _rates(doctor: Doctor) -> Iterator[Finding]:
    for key, (optimizer, notes) in doctor.leaves.optimizers.items():
        last = notes.changes[len(notes.changes) // 2 :]
        idle = [change < 1e-7 for change, gradient in last if gradient > 1e-5]
        if len(idle) < _FEW or not all(idle):
            continue
        group = optimizer.param_groups[0]
        rate, first = float(group["lr"]), float(group.get("initial_lr", 0.0))
        line = doctor.places.schedules.get(key) if first > 100 * rate else None
        line = line or doctor.places.of(optimizer)
        if line is not None:
            yield Finding("rate", line, f"the steps change nothing: the learning rate is {rate:g}.")


def _period(prints: list[int]) -> int:
    """The length of the rounds in which the batches repeat; 0 where they do not."""
    for n in range(4, len(prints) // 2 + 1):
        if prints[n:] == prints[:-n]:
            return n if len(set(prints[:n])) == n else 0
    return 0


def _orders(doctor: Doctor) -> Iterator[Finding]:
    places = doctor.places
    for key, rows in doctor.modules.batches.items():
        module = doctor.modules.kept.get(key)
        if module is None or any(isinstance(m, _rnn.RNNBase) for m in module.modules()):
            continue
        round_ = _period([row[0] for row in rows])
        if not round_ or not {id(p) for p in module.parameters()} & doctor.leaves.prints.keys():
            continue
        _, line = rows[-1]
        seeded = next((at for at, n in places.seeds.items() if n > 1), None)
        if seeded is not None:
            text = "the seed is set again each epoch, and the batches come in the same order."
            yield Finding("data", seeded, text)
        else:
            text = f"the same {round_} batches come in the same order each epoch: shuffle them."
            yield Finding("data", line, text)


def _scales(doctor: Doctor) -> Iterator[Finding]:
    for line, count in doctor.raw.items():
        if count >= _FEW:
            size = doctor.largest[line]
            yield Finding("data", line, f"the inputs are not scaled: about {size:.3g} in size.")


# ---- what costs


def _savings(doctor: Doctor) -> Iterator[Finding]:
    for line, count in doctor.modules.calls.items():
        if count >= _FEW:
            text = f"{counted(count, 'call')} in eval mode record a graph that no backward uses: "
            yield Finding("savings", line, text + "call it in torch.no_grad().")
    for line, count in doctor.retained.items():
        if count >= _FEW and line not in doctor.used_again:
            text = "the graph is kept (retain_graph or create_graph), and nothing uses it after."
            yield Finding("savings", line, text)
    if doctor.places.anomaly is not None:
        text = "anomaly detection is on: each step takes longer, leave it out when all is found."
        yield Finding("savings", doctor.places.anomaly, text)


_RULES = (
    _not_cleared,
    _kept,
    _not_finite,
    _without_gradient,
    _no_optimizer,
    _activations,
    _broadcasts,
    _modes,
    _dead,
    _sizes,
    _rates,
    _orders,
    _scales,
    _savings,
)
