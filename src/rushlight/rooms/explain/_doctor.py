"""A training run watched for the mistakes that people make: `rushlight doctor SCRIPT`.

`Doctor` is a context around a program, and is told of each call of an op or a module, each node of
a backward, each step of an optimizer. A mistake that one call shows is a note at once: what, at
which line. What the whole run shows is kept as numbers, for _doctor_rules.py, which makes sentences
of both. Of a tensor an `Origin` is kept: the call that made the tensor, and what the tensor carries
on from the tensors before. Read `Doctor._made`.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import CodeType, FrameType
from typing import Any

from .. import _core, nn
from .._base import observers as _observers
from .._base.device import strided
from .._core import Tensor
from .._devices import generator as _generator
from .._root import is_grad_enabled, isfinite, isnan, view_as_real
from ..autograd.anomaly_mode import set_detect_anomaly
from ..nn import Module, Parameter
from ..nn.modules import module as _module
from ..optim import Optimizer, lr_scheduler
from ..optim import optimizer as _optimizer
from ..utils.data import DataLoader
from ._doctor_holders import holder
from ._passes import Pass, _program, follow, unfollow

__all__ = ["Doctor", "Line", "own_code"]

Line = tuple[str, int]
"""A line of the program: file and number."""

_NOWHERE: Line = ("", 0)
_NEVER = -(10**9)
_SAMPLE = 64
"""Elements of a tensor that are looked at."""
_VIEWS = frozenset(
    "view reshape getitem squeeze squeeze_dim unsqueeze flatten select slice transpose t permute "
    "expand contiguous_copy alias to_copy clone detach".split()
)
_MASKS = frozenset("masked_fill where full full_like fill log_softmax".split())
"""Ops that give infinity where a program asks for it."""
_PAIRED = frozenset("mse_loss smooth_l1_loss huber_loss soft_margin_loss".split())
_UNSET = frozenset(("empty", "empty_like", "new_empty"))
_HAVE_OWN = {
    "log_softmax": ("softmax", "cross_entropy takes logits, and has a softmax of its own"),
    "nll_loss": ("softmax", "nll_loss takes logarithms: log_softmax instead"),
    "binary_cross_entropy_with_logits": (
        "sigmoid",
        "binary_cross_entropy_with_logits has a sigmoid of its own",
    ),
}
"""Losses, by the op that such a loss begins with: what must not come before, and why."""
_DATA = os.path.join("rushlight", "utils", "data")
_DROPS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout)
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


@dataclass(frozen=True, slots=True)
class Origin:
    """The facts about a result.

    op, place: the call that made the values, views left out; made: the line that made the module of
    that call, where the library's own code called; line: the call itself; at: the pass. carried:
    parameters that the values depend on; bad: where the values ceased to be finite; crossed: the
    line of a wrong broadcast; cut: where the history ended; tested: calls of modules without
    gradients; loaded: whether a DataLoader made the values.
    """

    op: str
    place: Line
    made: Line | None
    line: Line
    at: int
    carried: frozenset[int] = frozenset()
    bad: tuple[str, Line] | None = None
    crossed: Line | None = None
    cut: Line | None = None
    tested: frozenset[Line] = frozenset()
    loaded: bool = False


@dataclass(slots=True)
class _Call:
    """An op that runs, or a node of a backward (origins: None), with what was given."""

    op: str
    tensors: list[Tensor]
    place: Line
    origins: list[Origin | None] | None
    crossed: Line | None = None


@dataclass(slots=True)
class Steps:
    """The notes of an optimizer. changes: of each step by which share of itself a parameter changed
    most, and the largest gradient; before: samples of the parameters."""

    optimizer: Optimizer
    changes: list[tuple[float, float]] = field(default_factory=list)
    before: list[list[float]] = field(default_factory=list)


class Notes:
    """Sights: of each kind and line how often, and words for the sentence."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, Line], tuple[int, dict[str, Any]]] = {}

    def add(self, what: str, line: Line, **words: Any) -> None:
        count, _ = self._seen.get((what, line), (0, {}))
        self._seen[what, line] = count + 1, words

    def drop(self, what: str, line: Line | None = None) -> None:
        """There is nothing wrong with that line, or with those so far, whatever is seen."""
        for key in [(what, line)] if line else [key for key in self._seen if key[0] == what]:
            self._seen[key] = _NEVER, {}

    def __iter__(self) -> Iterator[tuple[str, Line, int, dict[str, Any]]]:
        for (what, line), (count, words) in self._seen.items():
            yield what, line, count, words


class _Thread(threading.local):
    """Of each thread: whether the doctor works, what runs, and what was made.

    numbers: of each pass the youngest node.
    """

    def __init__(self) -> None:
        self.origins: dict[int, tuple[weakref.ref[Tensor], Origin]] = {}
        self.numbers: list[int] = []
        self.inside = False
        self.depth = 0
        self.calls: list[tuple[Module, Line]] = []
        self.back: tuple[str, Line] | None = None  # the node that first gave NaN in a pass


# ---- small questions


def _tensors(values: object) -> Iterator[Tensor]:
    for value in values if isinstance(values, (tuple, list)) else (values,):
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from (v for v in value if isinstance(v, Tensor))


def _plain(t: Tensor) -> Tensor:
    """The values as real numbers one after another, without a history."""
    t = t.detach()
    t = t if t.layout == strided else t.to_dense()
    return (view_as_real(t.clone()) if t.is_complex() else t).reshape(-1)


def _sample(t: Tensor) -> list[float]:
    flat = _plain(t)
    found: list[float] = flat[:: max(1, flat.numel() // _SAMPLE)].double().tolist()
    return found


def _print(t: Tensor) -> int:
    """A number that tells the values of a tensor from others: of some elements, and of the sum."""
    return zlib.crc32(repr((_sample(t), _plain(t).double().sum().item())).encode())


def _largest(t: Tensor) -> float:
    return _plain(t).abs().max().item() if t.numel() else 0.0


def _finite(t: Tensor) -> bool:
    if not (t.dtype.is_floating_point or t.dtype.is_complex) or not t.numel():
        return True
    sparse = t.layout != strided or t._attached is not None
    return sparse or t._on_meta or bool(isfinite(t.detach()).all().item())


def _has_history(t: Tensor) -> bool:
    try:
        return t.grad_fn is not None
    except RuntimeError:  # a view made in no_grad, of a tensor that has changed since
        return True


def _brought(call: _Call, origins: list[Origin | None], made: Tensor) -> str:
    """How a call came to a result that is not finite, in words, if an argument was not; or ""."""
    own = _core.memory_of(made)
    for x, origin in zip(call.tensors, origins, strict=True):
        if not _finite(x) and (own is None or _core.memory_of(x) != own):
            if x.is_leaf and x.requires_grad:
                return "in the parameters that come in here"
            if origin is not None and origin.bad is not None and not isnan(x.detach()).any():
                return f"born here: the result of {call.op}, of infinity that {origin.bad[0]} gave"
            return "in the data that come in here"
    return ""


def _crosses(a: Tensor, b: Tensor) -> bool:
    """Whether [N] meets [N, 1], which makes [N, N]."""
    short, long = sorted((tuple(a.shape), tuple(b.shape)), key=len)
    return len(short) == 1 < short[0] and long == (short[0], 1)


def _here() -> Line:
    """The line of the program that runs."""
    frame = _program(sys._getframe(1))
    return frame.f_code.co_filename, frame.f_lineno


def _within(name: str) -> bool:
    """Whether a function of that name, or of a file with that in its path, runs."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == name or name in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def _with_modes(module: Module) -> list[Module]:
    """The modules inside whose results differ between training and evaluation."""
    return [
        m
        for m in module.modules()
        if (isinstance(m, _DROPS) and m.p > 0) or (isinstance(m, _NORMS) and m.track_running_stats)
    ]


def _reaches(t: Tensor, old: int) -> int:
    """How many nodes up to the number `old` are behind a tensor; the walk ends after some."""
    seen: set[_core.Node] = set()
    waiting: list[object] = [t.grad_fn]
    while waiting and len(seen) < 2000:
        node = waiting.pop()
        if isinstance(node, _core.Node) and not (
            node in seen or isinstance(node, _core.AccumulateGrad)
        ):
            seen.add(node)
            waiting += [edge[0] for edge in _core.node_facts(node)[0]]
    return sum(node._sequence_nr() <= old for node in seen)


def _is_new(t: Tensor, known: dict[int, weakref.ref[Tensor]]) -> bool:
    """Whether a tensor is asked about for the first time."""
    before = known.get(id(t))
    known[id(t)] = weakref.ref(t)
    return before is None or before() is not t


def own_code() -> frozenset[CodeType]:
    """The code that stands between the program and the library while a doctor watches."""
    inner = (*Places.before.__code__.co_consts, *Doctor._told.__code__.co_consts)
    return frozenset(code for code in inner if isinstance(code, CodeType))


# ---- what is watched


class Places:
    """The lines that made objects, and of other calls that matter."""

    def __init__(
        self, told: Callable[[Callable[..., Any]], Callable[..., Any]], emptied: Callable[..., None]
    ) -> None:
        self._told, self.emptied = told, emptied
        self._lines: dict[int, tuple[weakref.ref[object], Line]] = {}
        self.evals: dict[int, Line] = {}
        self.trains: set[int] = set()  # modules whose train() was called since their last backward
        self.seeds: Counter[Line] = Counter()
        self.schedules: dict[int, Line] = {}
        self.anomaly: Line | None = None
        self.loader: Line | None = None  # of the loader that was last begun
        self.batches = 0  # of that loader in an epoch
        self._undo: list[Callable[[], None]] = []

    def optimizers(self) -> Iterator[tuple[Optimizer, Line]]:
        """Those that are still there."""
        for ref, line in self._lines.values():
            made = ref()
            if isinstance(made, Optimizer):
                yield made, line

    def of(self, made: object) -> Line | None:
        ref, line = self._lines.get(id(made), (None, None))
        return line if ref is not None and ref() is made else None

    def follow(self) -> None:
        for kind in (Module, Optimizer, DataLoader):
            self.before(kind, "__init__", self._made)
        self.before(lr_scheduler.LRScheduler, "__init__", self._scheduled)
        self.before(DataLoader, "__iter__", self._loads)
        self.before(Module, "train", self._mode)
        for kind in (Module, Optimizer):
            self.before(kind, "zero_grad", self.emptied)
        self.before(set_detect_anomaly, "__init__", self._watched)
        self.before(_generator.Generator, "manual_seed", self._seeded)
        register = _module.register_module_parameter_registration_hook
        self._undo.append(register(self._told(self._registered)).remove)

    def unfollow(self) -> None:
        while self._undo:
            self._undo.pop()()

    def before(self, kind: type, name: str, told: Callable[..., None]) -> None:
        """Call `told` before each call of a method."""
        plain, told = getattr(kind, name), self._told(told)

        def call(self: object, *args: object, **kwargs: object) -> object:
            told(self, *args[:1])
            return plain(self, *args, **kwargs)

        setattr(kind, name, call)
        self._undo.append(lambda: setattr(kind, name, plain))

    def _made(self, made: object, *_: object) -> None:
        self._lines.setdefault(id(made), (weakref.ref(made), _here()))

    def _registered(self, _: object, name: str, parameter: object) -> None:
        if parameter is not None and self.of(parameter) is None:
            self._lines[id(parameter)] = weakref.ref(parameter), _here()

    def _mode(self, module: Module, mode: bool = True) -> None:
        if mode:
            self.trains.add(id(module))
        else:
            self.evals[id(module)] = _here()

    def _loads(self, loader: Any) -> None:
        self.loader = self.of(loader)
        self.batches = len(loader) if hasattr(loader.dataset, "__len__") else 0

    def _scheduled(self, _: object, optimizer: object = None) -> None:
        self.schedules[id(optimizer)] = _here()

    def _seeded(self, generator: object, _: object) -> None:
        if generator is _generator.default_generator:
            self.seeds[_here()] += 1

    def _watched(self, _: object, mode: object = True) -> None:
        self.anomaly = _here() if mode else None


class Leaves:
    """The parameters: their gradients, updates and optimizers."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self.params: dict[int, Tensor] = {}
        self.prints: dict[int, int] = {}
        self.first: dict[int, int] = {}
        self._dirty: set[int] = set()
        self.optimizers: dict[int, Steps] = {}
        self.inside: dict[int, int] = {}
        self.without: Counter[int] = Counter()
        self._fresh: dict[int, Line | None] = {}
        """Of gradients since the last step: the line that emptied them."""
        self.sizes: dict[int, list[tuple[float, float]]] = defaultdict(list)

    def accumulates(self, t: Tensor, at: Line) -> None:
        """A gradient is about to be added to the `.grad` of a leaf."""
        key = id(t)
        self.params[key], self._fresh[key] = t, None
        now = _print(t)
        self.first.setdefault(key, now)
        updated = self.prints.get(key, now) != now
        self.prints[key] = now
        if t.grad is None or not _largest(t.grad):
            self._dirty.discard(key)
        elif updated:
            if key in self._dirty:
                self._notes.add("stale", at)
            self._dirty.add(key)

    def emptied(self, owner: Module | Optimizer, *_: object) -> None:
        """zero_grad() is called."""
        at = _here()
        params = self.parameters(owner) if isinstance(owner, Optimizer) else owner.parameters()
        self._fresh.update((id(p), at) for p in params if id(p) in self._fresh)

    def before_step(self, optimizer: Optimizer) -> bool:
        """An optimizer is about to step; whether a gradient is not finite."""
        notes = self.optimizers.setdefault(id(optimizer), Steps(optimizer))
        notes.before = []
        bad = False
        for p in self.parameters(optimizer):
            key = id(p)
            self.inside[key], self.params[key] = id(optimizer), p
            notes.before.append(_sample(p))
            if p.grad is None:
                continue
            self.without[key] = _NEVER
            largest = _largest(p.grad)
            bad = bad or not largest < float("inf")
            if p.ndim >= 2:
                self.sizes[key].append((largest, _largest(p)))
        return bad

    def after_step(self, optimizer: Optimizer) -> None:
        notes = self.optimizers[id(optimizer)]
        change = gradient = 0.0
        emptied: set[Line] = set()
        for p, before in zip(self.parameters(optimizer), notes.before, strict=False):
            line = self._fresh.pop(id(p), None)
            if line is not None:
                emptied.add(line)
            elif p.grad is None:
                self.without[id(p)] += p.requires_grad
            if p.grad is not None and before and p.grad.layout == p.layout:
                gradient = max(gradient, _largest(p.grad))
                size = max(map(abs, before)) or 1e-3
                now = _sample(p)
                change = max(change, *(abs(a - b) / size for a, b in zip(now, before, strict=True)))
        notes.changes.append((change, gradient))
        for line in emptied if not gradient else ():
            self._notes.add("emptied", line)

    @staticmethod
    def parameters(optimizer: Optimizer) -> list[Tensor]:
        return [p for group in optimizer.param_groups for p in group["params"]]


class Doctor:
    """Around a program: see what is wrong with its training, up to `steps` passes of backward.

    streams: keep each result of a call in `stream`, for comparison with a second run. over: called
    where a program goes on after the SystemExit that ends it.
    """

    def __init__(
        self, steps: int = 100, *, streams: bool = False, over: Callable[[], None] | None = None
    ) -> None:
        self.steps, self._streams, self._over = steps, streams, over
        self._endings = 0
        self._thread, self._lock = _Thread(), threading.RLock()
        self.notes = Notes()
        self.leaves = Leaves(self.notes)
        self.places = Places(self._told, self.leaves.emptied)
        self.trouble: set[str] = set()
        self.passes = self.updates = 0
        self.stream: list[tuple[Line, str, int]] = []
        self.at = _NOWHERE
        self.memory: list[int] = []
        self._memory: dict[int, Origin] = {}
        self._data: dict[int, weakref.ref[Tensor]] = {}  # tensors made of the program's numbers
        self._old = -1  # nodes up to this number were made for earlier passes
        self.used: set[int] = set()
        self.cuts: dict[Line, set[int]] = defaultdict(set)
        self.data_cuts: Counter[Line] = Counter()
        self.alive: dict[Line, tuple[list[int], Line | None, str]] = {}
        self.units: dict[Line, tuple[list[int], list[int]]] = {}
        """Of a layer: the passes in which the layer ran, and of each unit how many of these it took
        to the last that was above zero."""
        self.roots: dict[int, Module] = {}
        self.batches: dict[int, list[tuple[int, Line, int, tuple[int, int]]]] = defaultdict(list)
        self._states: dict[int, tuple[Line, Module, bool, list[tuple[Module, bool]]]] = {}
        self._trained: set[int] = set()
        self._in_eval: dict[int, tuple[Module, Module, Line]] = {}  # backward since the last step
        self._handles: list[Callable[[], None]] = []
        self.starts, self.ran = self._told(self._starts), self._told(self._ran)
        self.ends = self._told(self._ends)
        self._follower = self._told(self._passes)

    def __enter__(self) -> Doctor:
        told = self._told
        self.places.follow()
        _observers.follow(self)
        follow(self._follower)
        handles = (
            _module.register_module_forward_pre_hook(told(self._enter)),
            _module.register_module_forward_hook(told(self._leave), always_call=True),
            _optimizer.register_optimizer_step_pre_hook(told(self._step)),
            _optimizer.register_optimizer_step_post_hook(told(self._stepped)),
        )
        self._handles = [h.remove for h in handles]
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        for remove in self._handles:
            remove()
        unfollow(self._follower)
        _observers.unfollow(self)
        self.places.unfollow()

    def _told(self, hear: Callable[..., Any]) -> Callable[..., Any]:
        """`hear` for the library to call: one thread at a time, and not of the doctor's own work;
        an error in there is noted, and the program goes on."""

        def told(*args: object) -> object:
            if self._thread.inside:
                return None
            self._thread.inside = True
            try:
                with self._lock:
                    return hear(*args)
            except Exception as error:
                self.trouble.add(f"{type(error).__name__}: {error}".partition(". ")[0])
                return None
            finally:
                self._thread.inside = False

        return told

    # --- modules and optimizers

    def _enter(self, module: Module, given: object) -> None:
        at, calls = _here(), self._thread.calls
        t = next(_tensors(given), None)
        if t is not None and not calls and is_grad_enabled():
            origin, loader = self.origin(t), self.places.loader
            loaded = origin is not None and origin.loaded
            where = at if origin is None else origin.line
            if loader is not None and (origin is None or loaded):
                where = loader
            of_epoch, time = self.places.batches * loaded, (self.updates, self.passes)
            self.batches[id(module)].append((_print(t), where, of_epoch, time))
        calls.append((module, at))

    def _leave(self, module: Module, _: object, result: object) -> None:
        calls, at = self._thread.calls, _NOWHERE
        while calls:
            left, at = calls.pop()
            if left is module:
                break
        if calls or at == _NOWHERE:
            return
        self.roots[id(module)] = module
        modes = _with_modes(module)
        made = next((t.grad_fn for t in _tensors(result) if t.grad_fn is not None), None)
        if made is not None:
            states = [(m, m.training) for m in modes]
            self._states[made._sequence_nr()] = at, module, module.training, states
            if not module.training:
                self.notes.add("unused graph", at)
        elif any(m.training for m in modes) and module.training and not is_grad_enabled():
            self._tested(module, at, modes, result)

    def _tested(self, module: Module, at: Line, modes: list[Module], result: object) -> None:
        """A module in training mode has run without gradients."""
        if _within("update_bn") or self.places.trains.issuperset(
            id(m) for m in modes if m.training
        ):
            return  # as a person wants it
        kinds = " and ".join(sorted({type(m).__name__ for m in modes}))
        self.notes.add("tested", at, kinds=kinds, module=module)
        for t in _tensors(result):
            origin = self.origin(t)
            if origin is not None:
                self._put(t, replace(origin, tested=frozenset({at})))

    def _step(self, optimizer: Optimizer, *_: object) -> None:
        self._old = _core.last_number()
        if self.leaves.before_step(optimizer) and self._thread.back is not None:
            self._nan(*self._thread.back, "the gradient")

    def _stepped(self, optimizer: Optimizer, *_: object) -> None:
        self.updates += 1
        self.leaves.after_step(optimizer)
        for m, root, at in self._in_eval.values():
            owners = {self.leaves.inside.get(id(p)) for p in root.parameters()}
            if not m.training and id(optimizer) in owners:
                self.notes.add("eval", self.places.evals.get(id(m), at), at=at)
        self._in_eval.clear()

    def _nan(self, op: str, line: Line, what: str) -> None:
        if not any(seen == "nan" for seen, *_ in self.notes):
            which = f"born here: {what} of {op}; its inputs are finite"
            self.notes.add("nan", line, which=op if " " in op else which)

    # --- backward

    def _passes(self, now: Pass) -> None:
        if self.passes >= self.steps:
            self.end()
        self.passes += 1
        self._thread.back = None
        self.at = now.frame.f_code.co_filename, now.frame.f_lineno
        self.memory.append(_core.memory_stats()[0])
        numbers = self._thread.numbers
        self._old = max(self._old, *numbers[-1:], -1)
        numbers.append(_core.last_number())
        for t in _tensors(now.roots):
            origin, place = self.origin(t), _core.cut_place(t)
            if t.is_leaf and place is not None:
                self.data_cuts[place[:2]] += 1
            if origin is not None and origin.crossed is not None:
                self.notes.add("crossed", origin.crossed)
            if origin is not None and origin.bad is not None:
                self._nan(*origin.bad, "the result")
        if now.retain or now.create_graph:
            self.notes.add("kept graph", self.at)
        if len(numbers) >= 4:
            self._count_alive(len(numbers) - 2, numbers[-3])

    def end(self) -> None:
        """End the program, by force if SystemExit does not."""
        self._endings += 1
        if self._endings > 20 and self._over is not None:
            self._over()
        raise SystemExit(0)

    def _count_alive(self, since: int, old: int) -> None:
        """Results of earlier passes that are still there, and results that lead back to them."""
        found: Counter[Line] = Counter()
        holders: dict[Line, Tensor] = {}
        for key, (ref, origin) in list(self._thread.origins.items()):
            t = ref()
            if t is None:
                del self._thread.origins[key]
            elif t.grad_fn is not None and t.requires_grad:
                count = 1 if origin.at < since else _reaches(t, old)
                if count:
                    found[origin.line] += count
                    holders.setdefault(origin.line, t)
        for line, count in found.items():
            counts, where, name = self.alive.get(line, ([], None, ""))
            if where is None:
                where, name = holder(holders[line])
            self.alive[line] = [*counts, count], where, name

    def _node(self, node: _core.Node) -> None:
        if isinstance(node, _core.AccumulateGrad):
            if node.variable is not None:
                self.leaves.accumulates(node.variable, self.at)
            return
        number = node._sequence_nr()
        if number in self._states:
            self._backward_through(*self._states.pop(number))
        if number <= self._old:
            self.notes.drop("kept graph")

    def _backward_through(
        self, at: Line, root: Module, training: bool, modes: list[tuple[Module, bool]]
    ) -> None:
        """The backward comes to a result of a module."""
        if not training:
            self.notes.drop("unused graph", at)
        for m, on in modes:
            self.places.trains.discard(id(m))
            if on:
                self._trained.add(id(m))
            elif id(m) in self._trained:
                self._in_eval[id(m)] = m, root, self.at

    # --- calls, as the core reports them

    def _starts(self, what: object, values: tuple[object, ...], place: Line | None) -> object:
        """An op or a node is run."""
        if isinstance(what, _core.Node):
            self._node(what)
            return _Call(type(what).__name__, list(_tensors(values)), place or self.at, None)
        if place is None or not isinstance(what, (_core.Op, str)):
            return None
        self._thread.depth += 1
        op = what if isinstance(what, str) else what.__name__.strip("_")
        tensors = list(_tensors(values))
        call = _Call(op, tensors, place, [self.origin(t) for t in tensors])
        self._check(call, call.origins[0] if call.origins else None)
        return call

    def _ran(self, call: _Call | None, values: object, error: object, took: int) -> None:
        """An op has given its results, or a node its gradients."""
        if call is None or error is not None:
            return
        if call.origins is not None:
            for t in _tensors(values):
                self._made(call, call.origins, t)
        elif self._thread.back is None and not all(map(_finite, _tensors(values))):
            born = all(map(_finite, call.tensors))
            self._thread.back = (call.op, call.place) if born else None

    def _ends(self, call: _Call | None, path: int, ways: int) -> None:
        self._thread.depth -= call is not None and call.origins is not None

    def origin(self, t: Tensor) -> Origin | None:
        """The origin of a tensor, or of another over the same memory."""
        ref, origin = self._thread.origins.get(id(t), (None, None))
        if ref is not None and ref() is t:
            return origin
        if (t.is_leaf and t.requires_grad) or _core.cut_place(t) is None:
            return None
        memory = _core.memory_of(t)
        return None if memory is None else self._memory.get(memory[0])

    def _put(self, t: Tensor, origin: Origin) -> None:
        self._thread.origins[id(t)] = weakref.ref(t), origin
        memory = _core.memory_of(t)
        if memory is not None:
            self._memory[memory[0]] = origin

    def _check(self, call: _Call, first: Origin | None) -> None:
        """The calls that are a mistake by their arguments."""
        op, tensors = call.op, call.tensors
        self.used.update(id(t) for t in tensors if isinstance(t, Parameter))
        before, why = _HAVE_OWN.get(op, ("", ""))
        if first is not None and first.op == before:
            self.notes.add("twice", first.made or first.place, op=before, at=call.place, why=why)
        if len(tensors) >= 2 and _crosses(tensors[0], tensors[1]):
            if op in _PAIRED:
                self.notes.add("crossed", call.place)
            elif op in ("sub", "mul") and sum(t.requires_grad for t in tensors[:2]) == 1:
                call.crossed = call.place
        if op in ("linear", "convolution") and tensors[1].requires_grad and is_grad_enabled():
            x = tensors[0]
            if not x.requires_grad and x.dtype.is_floating_point and x.numel():
                size = x.double().square().mean().sqrt().item()
                if size > 30:
                    at = self._thread.calls[0][1] if self._thread.calls else call.place
                    self.notes.add("raw", at, size=f"{size:.3g}")

    def _made(self, call: _Call, origins: list[Origin | None], t: Tensor) -> None:
        """A result of a call: its origin is of the call, and of the arguments' origins."""
        known = [o for o in origins if o is not None]
        first = origins[0] if call.op in _VIEWS and origins else None
        params = [t for t in call.tensors if t.requires_grad and isinstance(t, Parameter)]
        bad = None
        if not _finite(t):
            bad = next((o.bad for o in known if o.bad and o.bad[0] not in _MASKS), None)
            bad = bad or (_brought(call, origins, t) or call.op, call.place)
        cut = next((o.cut for o in known if o.cut), None)
        tested = frozenset[Line]().union(*(o.tested for o in known))
        if t.requires_grad:
            for line in tested:
                self.notes.drop("tested", line)
            cut, tested = None, frozenset()
            self._look_for_cuts(call.tensors, origins)
        elif any(x.requires_grad for x in call.tensors):
            cut = cut or call.place
        made = self._running()
        origin = Origin(
            call.op, call.place, made, call.place, len(self._thread.numbers),
            carried=frozenset(map(id, params)).union(*(o.carried for o in known)),
            bad=bad,
            crossed=call.crossed or self._crossed(call, origins, t),
            cut=cut,
            tested=tested,
        )  # fmt: skip
        if self.places.loader is not None and not origin.carried:
            origin = replace(origin, loaded=_within(_DATA))
        if first is not None:
            loaded = origin.loaded or first.loaded
            origin = replace(origin, op=first.op, place=first.place, made=first.made, loaded=loaded)
        self._put(t, origin)
        if call.op in ("relu", "relu6") and t.requires_grad:
            self._count_units(made or call.place, t)
        if self._streams and self._thread.depth == 1 and call.op not in _UNSET:
            self.stream.append((call.place, call.op, _print(t)))

    def _running(self) -> Line | None:
        """The line that made the innermost module that runs, if the class is the library's."""
        module = self._thread.calls[-1][0] if self._thread.calls else None
        library = type(module).__module__.partition(".")[0] in ("rushlight", "torch")
        return self.places.of(module) if library else None

    @staticmethod
    def _crossed(call: _Call, origins: list[Origin | None], t: Tensor) -> Line | None:
        """A wrong broadcast goes on to the loss: by what leaves the shape alone, or sums it up."""
        for x, origin in zip(call.tensors, origins, strict=True):
            if call.op == "exp":
                break  # a kernel of pairs is what is wanted
            if origin is not None and origin.crossed and (x.shape == t.shape or not t.ndim):
                return origin.crossed
        return None

    def _look_for_cuts(self, tensors: list[Tensor], origins: list[Origin | None]) -> None:
        """Arguments of a call with gradients without a history, though computed from parameters."""
        for x, origin in zip(tensors, origins, strict=True):
            if _has_history(x) or isinstance(x, Parameter) or not x.dtype.is_floating_point:
                continue
            place = _core.cut_place(x)
            if origin is not None and origin.carried:
                at = origin.cut or (place[:2] if place else None)
                if at is not None:
                    self.cuts[at] |= origin.carried
            elif place is not None and not x.requires_grad and _is_new(x, self._data):
                self.data_cuts[place[:2]] += 1

    def _count_units(self, at: Line, t: Tensor) -> None:
        """Which units of a layer are above zero; a row of numbers, as of pairs, is no layer."""
        if t.ndim < 2 or not _finite(t):
            return
        dims = [d for d in range(t.ndim) if d != (1 if t.ndim == 4 else t.ndim - 1)]
        now = (t.detach() > 0).any(dims).tolist()
        ran, last = self.units.setdefault(at, ([], []))
        if ran[-1:] != [self.passes]:
            ran.append(self.passes)
        if len(last) != len(now):
            last[:] = [len(ran) if last else 0] * len(now)
        last[:] = [len(ran) if a else b for a, b in zip(now, last, strict=True)]
