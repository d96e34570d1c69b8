"""A training run watched for the mistakes that people make: `rushlight doctor SCRIPT`.

`Doctor` is a context around a program. Each call of an op, each node of a backward, each call of a
module and each step of an optimizer is reported to the doctor, who notes what _doctor_rules.py
makes sentences of at the end. Of a tensor an `Origin` is kept: the op and line that made the
tensor, and what the tensor carries on from the tensors before. Read `_Origins.ran`.
"""

from __future__ import annotations

import ast
import gc
import linecache
import os
import sys
import threading
import weakref
import zlib
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from types import CodeType, FrameType

from .. import _core, nn
from .._base import observers as _observers
from .._base.device import strided
from .._core import Tensor
from .._devices import generator as _generator
from .._root import is_grad_enabled, isfinite
from ..autograd.anomaly_mode import set_detect_anomaly
from ..nn import Module, Parameter
from ..nn.modules import module as _module
from ..optim import Optimizer, lr_scheduler
from ..optim import optimizer as _optimizer
from ..utils.data import DataLoader
from ._passes import Pass, _program, follow, unfollow

__all__ = ["Doctor", "Line", "Origin", "has_modes", "own_code"]

Line = tuple[str, int]
"""A line of the program: file and number."""

_VIEWS = frozenset(
    "view reshape getitem squeeze squeeze_dim unsqueeze flatten select slice transpose t permute "
    "expand contiguous_copy alias to_copy clone detach".split()
)
_CARRY = frozenset("pow square abs mean sum neg mul div sqrt clamp".split()) | _VIEWS
"""Ops that take a wrong broadcast on to the loss."""
_MASKS = frozenset("masked_fill where full full_like fill log_softmax".split())
"""Ops that give infinity where a program asks for it."""
_PAIRED = frozenset("mse_loss smooth_l1_loss huber_loss soft_margin_loss".split())
_UNSET = frozenset(("empty", "empty_like", "new_empty"))
_DATA = os.path.join("rushlight", "utils", "data")
_DROPS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout)
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
_SAMPLE = 64
"""Elements of a tensor that are looked at."""


def print_of(t: Tensor) -> int:
    """A number that tells the values of a tensor from others: of some elements."""
    flat = t.detach().reshape(-1)
    return zlib.crc32(repr(flat[:: max(1, flat.numel() // _SAMPLE)].tolist()).encode())


def has_modes(module: Module) -> list[Module]:
    """The modules inside whose results differ between training and evaluation."""
    return [
        m
        for m in module.modules()
        if (isinstance(m, _DROPS) and m.p > 0) or (isinstance(m, _NORMS) and m.track_running_stats)
    ]


@dataclass(frozen=True, slots=True)
class Origin:
    """The facts about a result. op, place: the call that made the values, views left out; made:
    the line that made the module of that call, where the library's own code called; line: the call
    itself. carried: parameters that the values depend on; bad: where the values ceased to be
    finite; crossed: the line of a wrong broadcast; cut: where the history ended; tested: calls of
    modules without gradients; loaded: whether a DataLoader made the values."""

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
    """A call of an op that runs."""

    op: str
    tensors: list[Tensor]
    place: Line
    origins: list[Origin | None]
    crossed: Line | None


@dataclass(slots=True)
class _Back:
    """A node that runs in a backward: the kind, the gradients that came in, the forward's line."""

    name: str
    given: list[Tensor]
    place: Line


@dataclass(slots=True)
class _Step:
    """The notes of an optimizer. changes: of each step by which share of itself a parameter changed
    most, and the largest gradient; before: samples of the parameters."""

    steps: int = 0
    changes: list[tuple[float, float]] = field(default_factory=list)
    before: list[list[float]] = field(default_factory=list)


@dataclass(slots=True)
class _Kept:
    """The numbers of the nodes whose graph a pass keeps, with those that create_graph adds."""

    first: int
    last: int
    line: Line
    at: int


def _tensors(values: object) -> Iterator[Tensor]:
    for value in values if isinstance(values, (tuple, list)) else (values,):
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from (v for v in value if isinstance(v, Tensor))


def _crosses(a: Tensor, b: Tensor) -> bool:
    """Whether [N] meets [N, 1], which makes [N, N]."""
    short, long = sorted((tuple(a.shape), tuple(b.shape)), key=len)
    return len(short) == 1 < short[0] and long == (short[0], 1)


def _here() -> Line:
    """The line of the program that runs."""
    frame = _program(sys._getframe(1))
    return frame.f_code.co_filename, frame.f_lineno


def _library(module: Module) -> bool:
    return type(module).__module__.partition(".")[0] in ("rushlight", "torch")


def _sample(t: Tensor) -> list[float]:
    flat = t.detach().reshape(-1)
    found: list[float] = flat[:: max(1, flat.numel() // _SAMPLE)].double().tolist()
    return found


def own_code() -> frozenset[CodeType]:
    """The code that stands between the program and the library while a doctor watches."""
    constants = _Places._before.__code__.co_consts
    return frozenset(code for code in constants if isinstance(code, CodeType))


class _Places:
    """The lines that made objects, and other calls whose lines matter."""

    def __init__(self) -> None:
        self._lines: dict[int, tuple[weakref.ref[object], Line]] = {}
        self.evals: dict[int, Line] = {}
        self.seeds: Counter[Line] = Counter()
        self.loader: Line | None = None
        self.anomaly: Line | None = None
        self.schedules: dict[int, Line] = {}
        self._undo: list[Callable[[], None]] = []

    def of(self, made: object) -> Line | None:
        ref, line = self._lines.get(id(made), (None, None))
        return line if ref is not None and ref() is made else None

    def made(self, made: object, *_: object) -> None:
        self._lines.setdefault(id(made), (weakref.ref(made), _here()))

    def follow(self) -> None:
        self._before(Module, "__init__", self.made)
        self._before(Optimizer, "__init__", self.made)
        self._before(lr_scheduler.LRScheduler, "__init__", self._scheduled)
        self._before(DataLoader, "__init__", self.made)
        self._before(DataLoader, "__iter__", self._loads)
        self._before(Module, "train", self._mode)
        self._before(set_detect_anomaly, "__init__", self._watched)
        self._before(_generator.Generator, "manual_seed", self._seeded)

    def unfollow(self) -> None:
        while self._undo:
            self._undo.pop()()

    def _before(self, kind: type, name: str, told: Callable[..., None]) -> None:
        plain = getattr(kind, name)

        def call(self: object, *args: object, **kwargs: object) -> object:
            told(self, *args[:1])
            return plain(self, *args, **kwargs)

        setattr(kind, name, call)
        self._undo.append(lambda: setattr(kind, name, plain))

    def _mode(self, module: Module, mode: bool = True) -> None:
        if not mode:
            self.evals[id(module)] = _here()

    def _loads(self, loader: object) -> None:
        self.loader = self.of(loader)

    def _scheduled(self, _: object, optimizer: object = None) -> None:
        self.schedules[id(optimizer)] = _here()

    def _seeded(self, generator: object, _: object) -> None:
        if generator is _generator.default_generator:
            self.seeds[_here()] += 1

    def _watched(self, _: object, mode: object = True) -> None:
        self.anomaly = _here() if mode else None


class _Modules:
    """The calls of modules: those that run, their mode and their input."""

    def __init__(self, places: _Places) -> None:
        self.places = places
        self.stack: list[Module] = []
        self.call_at: list[Line] = []
        self.batches: dict[int, list[tuple[int, Line]]] = defaultdict(list)
        self.kept: dict[int, Module] = {}
        self.graphs: dict[int, Line] = {}
        self.calls: Counter[Line] = Counter()
        self.states: dict[int, list[tuple[Module, bool]]] = {}
        self.trained: set[int] = set()
        self.undone: dict[Line, Line] = {}
        self.tests: Counter[Line] = Counter()
        self.tested: dict[Line, Module] = {}

    def running(self) -> Line | None:
        """The line that made the innermost module that runs, if the class is the library's."""
        return self.places.of(self.stack[-1]) if self.stack and _library(self.stack[-1]) else None

    def enter(self, module: Module, at: Line) -> None:
        self.stack.append(module)
        self.call_at.append(at)

    def leave(self, module: Module, result: object) -> Line | None:
        """The module has ended. The answer is a line, where the call was an evaluation."""
        while self.stack and self.stack.pop() is not module:
            self.call_at.pop()
        at = self.call_at.pop() if self.call_at else ("", 0)
        if self.stack:
            return None
        self.kept[id(module)] = module
        modes = has_modes(module)
        made = next((t for t in _tensors(result) if t.grad_fn is not None), None)
        if made is not None and made.grad_fn is not None:
            number = made.grad_fn._sequence_nr()
            self.states[number] = [(m, m.training) for m in modes]
            if not module.training:
                self.calls[at] += 1
                self.graphs[number] = at
        elif module.training and any(m.training for m in modes) and not is_grad_enabled():
            self.tests[at] += 1
            self.tested[at] = module
            return at
        return None

    def ran_back(self, number: int, at: Line) -> None:
        """The node of a module's result runs in a backward."""
        if number in self.graphs:
            self.calls[self.graphs.pop(number)] = -(10**9)
        for m, training in self.states.pop(number, ()):
            if training:
                self.trained.add(id(m))
            elif id(m) in self.trained:
                self.undone.setdefault(self.places.evals.get(id(m), at), at)


class _Leaves:
    """The parameters: their gradients, updates and optimizers."""

    def __init__(self, places: _Places) -> None:
        self.places = places
        self.params: dict[int, Tensor] = {}
        self.prints: dict[int, int] = {}
        self.first: dict[int, int] = {}
        self.dirty: set[int] = set()
        self.stale: Counter[Line] = Counter()
        self.optimizers: dict[int, tuple[Optimizer, _Step]] = {}
        self.inside: dict[int, int] = {}
        self.without: Counter[int] = Counter()
        self.sizes: dict[int, list[tuple[float, float]]] = defaultdict(list)

    def accumulates(self, t: Tensor, at: Line) -> None:
        """A gradient is about to be added to the `.grad` of a leaf."""
        key = id(t)
        self.params[key] = t
        now = print_of(t)
        self.first.setdefault(key, now)
        updated = self.prints.get(key, now) != now
        self.prints[key] = now
        if t.grad is None or not t.grad.any().item():
            self.dirty.discard(key)
        elif updated:
            if key in self.dirty:
                self.stale[at] += 1
            self.dirty.add(key)

    def before_step(self, optimizer: Optimizer) -> bool:
        """An optimizer is about to step; whether a gradient is not finite."""
        _, notes = self.optimizers.setdefault(id(optimizer), (optimizer, _Step()))
        notes.steps += 1
        bad = False
        notes.before = []
        for p in self.parameters(optimizer):
            self.inside[id(p)] = id(optimizer)
            self.params[id(p)] = p
            notes.before.append(_sample(p))
            if p.grad is None:
                self.without[id(p)] += p.requires_grad
                continue
            self.without[id(p)] = -(10**9)
            grad = p.grad if p.grad.layout == p.layout else p.grad.to_dense()
            largest = grad.abs().max().item() if grad.numel() else 0.0
            bad = bad or not largest < float("inf")
            if p.ndim >= 2:
                self.sizes[id(p)].append((largest, p.detach().abs().max().item()))
        return bad

    def after_step(self, optimizer: Optimizer) -> None:
        _, notes = self.optimizers[id(optimizer)]
        change = gradient = 0.0
        for p, before in zip(self.parameters(optimizer), notes.before, strict=False):
            if p.grad is None or not before or p.grad.layout != p.layout:
                continue
            gradient = max(gradient, p.grad.abs().max().item())
            size = max(map(abs, before)) or 1e-3
            change = max(
                change, *(abs(a - b) / size for a, b in zip(_sample(p), before, strict=True))
            )
        notes.changes.append((change, gradient))

    @staticmethod
    def parameters(optimizer: Optimizer) -> Iterable[Tensor]:
        return [p for group in optimizer.param_groups for p in group["params"]]


class Doctor:
    """Around a program: note what is wrong with its training, up to `steps` passes of backward.

    ended: whether the doctor ended the program. stream: each result of a call, for comparison with
    a second run.
    """

    def __init__(self, steps: int = 100, *, streams: bool = False) -> None:
        self.steps = steps
        self._streams = streams
        self.places = _Places()
        self.modules = _Modules(self.places)
        self.leaves = _Leaves(self.places)
        self.trouble: set[str] = set()
        self.passes = 0
        self.ended = False
        self.stream: list[tuple[Line, str, int]] = []
        self.at: Line = ("", 0)
        self.memory: list[int] = []
        self._origins: dict[int, tuple[weakref.ref[Tensor], Origin]] = {}
        self._memory: dict[int, Origin] = {}
        self._depth = 0
        self.used: set[int] = set()
        self.activated: dict[Line, tuple[str, Line | None]] = {}
        self.crossed: Counter[Line] = Counter()
        self.nan: tuple[str, Line, str] | None = None
        self._back: tuple[str, Line] | None = None
        self.cuts: dict[Line, set[int]] = defaultdict(set)
        self.data_cuts: Counter[Line] = Counter()
        self._data: dict[int, weakref.ref[Tensor]] = {}
        self.trained_on: set[Line] = set()  # evaluations whose results went into a loss
        self.alive: dict[Line, tuple[list[int], Line | None, str]] = {}
        self.units: dict[Line, list[int]] = {}
        self.raw: Counter[Line] = Counter()
        self.largest: dict[Line, float] = {}
        self.retained: Counter[Line] = Counter()
        self.used_again: set[Line] = set()
        self._open: list[_Kept] = []
        self._numbers: list[int] = []
        self._thread = 0
        self._handles: list[Callable[[], None]] = []

    # --- the context

    def __enter__(self) -> Doctor:
        self._thread = threading.get_ident()
        self.places.follow()
        _observers.follow(self)
        follow(self._passes)
        before = _module.register_module_forward_pre_hook(self._enter)
        after = _module.register_module_forward_hook(self._leave, always_call=True)
        step = _optimizer.register_optimizer_step_pre_hook(self._step)
        stepped = _optimizer.register_optimizer_step_post_hook(self._stepped)
        self._handles = [h.remove for h in (before, after, step, stepped)]
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        for remove in self._handles:
            remove()
        unfollow(self._passes)
        _observers.unfollow(self)
        self.places.unfollow()

    def _other(self) -> bool:
        return threading.get_ident() != self._thread

    # --- modules

    def _enter(self, module: Module, given: object) -> None:
        if self._other():
            return
        with _Unreported(self):
            self._entered(module, given)

    def _entered(self, module: Module, given: object) -> None:
        at = _here()
        outer = not self.modules.stack
        self.modules.enter(module, at)
        if outer and is_grad_enabled():
            for t in _tensors(given):
                origin = self.origin(t)
                where = at if origin is None else origin.line
                if self.places.loader is not None and (origin is None or origin.loaded):
                    where = self.places.loader
                self.modules.batches[id(module)].append((print_of(t), where))
                break

    def _leave(self, module: Module, _: object, result: object) -> None:
        if not self._other() and self.modules.stack:
            with _Unreported(self):
                self._left(module, result)

    def _left(self, module: Module, result: object) -> None:
        tested = self.modules.leave(module, result)
        if tested is not None and not _within("update_bn"):
            for t in _tensors(result):
                origin = self.origin(t)
                if origin is not None:
                    self._put(t, replace(origin, tested=frozenset({tested})))

    # --- optimizers

    def _step(self, optimizer: Optimizer, *_: object) -> None:
        if self._other():
            return
        with _Unreported(self):
            if self._open and self._open[-1].at == self.passes:
                self._open[-1].last = _core.last_number()
            if self.leaves.before_step(optimizer) and self.nan is None and self._back is not None:
                self.nan = (*self._back, "backward")

    def _stepped(self, optimizer: Optimizer, *_: object) -> None:
        if not self._other():
            with _Unreported(self):
                self.leaves.after_step(optimizer)

    # --- backward

    def _passes(self, now: Pass) -> None:
        if self._other():
            return
        with _Unreported(self):
            self._look(now)
        if self.passes > self.steps:
            self.ended = True
            raise SystemExit(0)

    def _look(self, now: Pass) -> None:
        self.passes += 1
        self._back = None
        self.at = now.frame.f_code.co_filename, now.frame.f_lineno
        self.memory.append(_core.memory_stats()[0])
        self._numbers.append(_core.last_number())
        for t in _tensors(now.roots):
            origin = self.origin(t)
            if origin is not None and origin.crossed is not None:
                self.crossed[origin.crossed] += 1
            if origin is not None and origin.bad is not None and self.nan is None:
                self.nan = (*origin.bad, "forward")
        first = self._numbers[-2] if self.passes > 1 else 0
        keeps = now.retain or now.create_graph
        if keeps:
            self.retained[self.at] += 1
            self._open = [*self._open[-50:], _Kept(first, self._numbers[-1], self.at, self.passes)]
        self._count_alive()

    def _count_alive(self) -> None:
        """Results of earlier passes that are still there, and results that lead back to them."""
        if self.passes < 4:
            return
        old = self._numbers[-3]
        found: dict[Line, int] = Counter()
        holders: dict[Line, Tensor] = {}
        for key, (ref, origin) in list(self._origins.items()):
            t = ref()
            if t is None:
                del self._origins[key]
            elif t.grad_fn is not None and t.requires_grad:
                count = 1 if origin.at < self.passes - 2 else _reaches(t, old)
                if count:
                    found[origin.line] += count
                    holders.setdefault(origin.line, t)
        for line, count in found.items():
            counts, where, name = self.alive.get(line, ([], None, ""))
            if not counts or not name:
                where, name = _holder(holders[line])
            self.alive[line] = ([*counts, count], where, name)

    def _node(self, node: _core.Node) -> None:
        number = node._sequence_nr()
        if isinstance(node, _core.AccumulateGrad):
            variable = node.variable
            if variable is not None:
                self.leaves.accumulates(variable, self.at)
            return
        self.modules.ran_back(number, self.at)
        for kept in self._open:
            if kept.at < self.passes and kept.first < number <= kept.last:
                self.used_again.add(kept.line)

    # --- calls, as the core reports them

    def starts(self, what: object, values: tuple[object, ...], place: Line | None) -> object:
        """An op or a node is run."""
        if self._other() or place is None:
            return None
        with _Unreported(self):
            return self._began(what, values, place)
        return None

    def _began(self, what: object, values: tuple[object, ...], place: Line) -> object:
        if isinstance(what, _core.Node):
            self._node(what)
            return _Back(type(what).__name__, list(_tensors(values)), place)
        if not isinstance(what, (_core.Op, str)):
            return None
        self._depth += 1
        op = what if isinstance(what, str) else what.__name__.strip("_")
        tensors = list(_tensors(values))
        call = _Call(op, tensors, place, [self.origin(t) for t in tensors], None)
        self._check(call)
        return call

    def ran(self, began: object, values: object, error: object, took: int) -> None:
        """An op has given its results, or a node its gradients."""
        if began is None or error is not None or self._other():
            return
        with _Unreported(self):
            self._gave(began, values)

    def _gave(self, began: object, values: object) -> None:
        if isinstance(began, _Back):
            born = self._back is None and not all(map(_finite, _tensors(values)))
            if born and all(map(_finite, began.given)):
                self._back = began.name, began.place
        if not isinstance(began, _Call):
            return
        for t in _tensors(values):
            self._made(began, t)

    def ends(self, began: object, path: int, ways: int) -> None:
        """The call is over."""
        if isinstance(began, _Call):
            self._depth -= 1

    def origin(self, t: Tensor) -> Origin | None:
        """The origin of a tensor, or of another over the same memory."""
        ref, origin = self._origins.get(id(t), (None, None))
        if ref is not None and ref() is t:
            return origin
        if isinstance(t, Parameter) or (t.is_leaf and t.requires_grad):
            return None
        if _core.cut_place(t) is not None:
            memory = _core.memory_of(t)
            return None if memory is None else self._memory.get(memory[0])
        return None

    def _put(self, t: Tensor, origin: Origin) -> None:
        self._origins[id(t)] = weakref.ref(t), origin
        memory = _core.memory_of(t)
        if memory is not None:
            self._memory[memory[0]] = origin

    def _check(self, call: _Call) -> None:
        """The calls that are a mistake by their arguments."""
        op, tensors = call.op, call.tensors
        first = call.origins[0] if call.origins else None
        self.used.update(id(t) for t in tensors if isinstance(t, Parameter))
        wanted = {"log_softmax": "softmax", "nll_loss": "softmax"}
        wanted["binary_cross_entropy_with_logits"] = "sigmoid"
        if first is not None and first.op == wanted.get(op):
            self.activated[first.made or first.place] = first.op, call.place
        if len(tensors) >= 2 and _crosses(tensors[0], tensors[1]):
            if op in _PAIRED:
                self.crossed[call.place] += 1
            elif op in ("sub", "mul") and sum(t.requires_grad for t in tensors[:2]) == 1:
                call.crossed = call.place
        if op in ("linear", "convolution") and is_grad_enabled() and not tensors[0].requires_grad:
            x = tensors[0]
            if x.dtype.is_floating_point and x.numel():
                size = x.double().square().mean().sqrt().item()
                at = self.modules.call_at[0] if self.modules.call_at else call.place
                if size > 30 and tensors[1].requires_grad:
                    self.raw[at] += 1
                    self.largest[at] = size

    def _made(self, call: _Call, t: Tensor) -> None:
        """A result of a call: its origin is of the call, and of the arguments' origins."""
        known = [o for o in call.origins if o is not None]
        first = call.origins[0] if call.origins else None
        source = first if call.op in _VIEWS and first is not None else None
        params = [t for t in call.tensors if t.requires_grad and isinstance(t, Parameter)]
        carried = frozenset().union(*(o.carried for o in known), map(id, params))
        crossed = call.crossed or (
            next((o.crossed for o in known if o.crossed), None) if call.op in _CARRY else None
        )
        bad = None
        if not _finite(t):
            bad = next((o.bad for o in known if o.bad and o.bad[0] not in _MASKS), None)
            bad = bad or (call.op, call.place)
        cut = next((o.cut for o in known if o.cut), None)
        if not t.requires_grad and any(x.requires_grad for x in call.tensors):
            cut = cut or call.place
        tested = frozenset[Line]().union(*(o.tested for o in known))
        if t.requires_grad:
            self.trained_on |= tested
            tested, cut = frozenset(), None
            self._look_for_cuts(call)
        made = self.modules.running()
        loaded = self.places.loader is not None and not carried and _within(_DATA)
        origin = Origin(
            source.op if source else call.op,
            source.place if source else call.place,
            source.made if source else made,
            call.place,
            self.passes,
            carried,
            bad,
            crossed,
            cut,
            tested,
            source.loaded if source and not loaded else loaded,
        )
        self._put(t, origin)
        if call.op in ("relu", "relu6") and t.requires_grad:
            self._count_units(made or call.place, t)
        if self._streams and self._depth == 1 and call.op not in _UNSET:
            self.stream.append((call.place, call.op, print_of(t)))

    def _look_for_cuts(self, call: _Call) -> None:
        """Arguments of a call with gradients that have none, though computed from parameters."""
        for x, origin in zip(call.tensors, call.origins, strict=True):
            if x.requires_grad or not x.dtype.is_floating_point:
                continue
            place = _core.cut_place(x)
            if origin is not None and origin.carried:
                at = origin.cut or (place[:2] if place else None)
                if at is not None:
                    self.cuts[at] |= origin.carried
            elif place is not None and self._new(x):
                self.data_cuts[place[:2]] += 1

    def _new(self, t: Tensor) -> bool:
        known = self._data.get(id(t))
        if known is not None and known() is t:
            return False
        self._data[id(t)] = weakref.ref(t)
        return True

    def _count_units(self, at: Line, t: Tensor) -> None:
        """Which units of a layer ever were above zero."""
        dims = [d for d in range(t.ndim) if d != (1 if t.ndim == 4 else t.ndim - 1)]
        alive = (t.detach() > 0).any(dims) if dims else t.detach() > 0
        before = self.units.get(at)
        if before is None or len(before) != alive.numel():
            before = [0] * alive.numel()
        self.units[at] = [a + b for a, b in zip(before, alive.reshape(-1).tolist(), strict=True)]


class _Unreported:
    """A block of the doctor's own work: the calls in there are not the program's, and an error in
    there is noted; the program goes on."""

    def __init__(self, doctor: Doctor) -> None:
        self._doctor, self._thread = doctor, doctor._thread

    def __enter__(self) -> None:
        self._doctor._thread = -1

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        self._doctor._thread = self._thread
        if isinstance(error, Exception):
            self._doctor.trouble.add(f"{type(error).__name__}: {error}")
        return error is None or isinstance(error, Exception)


def _finite(t: Tensor) -> bool:
    if not (t.dtype.is_floating_point or t.dtype.is_complex) or not t.numel():
        return True
    if t.layout != strided or t._on_meta:
        return True
    return bool(isfinite(t.detach()).all().item())


def _within(name: str) -> bool:
    """Whether a function of that name, or of a file with that in its path, runs."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == name or name in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def _reaches(t: Tensor, old: int) -> int:
    """How many nodes up to the number `old` are behind a tensor; the walk ends after some."""
    seen: set[object] = set()
    waiting: list[object] = [t.grad_fn]
    count = 0
    while waiting and len(seen) < 2000:
        node = waiting.pop()
        if not isinstance(node, _core.Node) or node in seen:
            continue
        if isinstance(node, _core.AccumulateGrad):
            continue
        seen.add(node)
        count += node._sequence_nr() <= old
        waiting += [edge[0] for edge in _core.node_facts(node)[0]]
    return count


def _holder(t: Tensor) -> tuple[Line | None, str]:
    """A line of the program that puts something into the container that holds a tensor, and the
    container's name."""
    held = [r for r in gc.get_referrers(t) if type(r) in (list, dict, deque)]
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        scope = {**frame.f_globals, **frame.f_locals}
        for container in held:
            if container is frame.f_globals or container is frame.f_locals:
                continue
            name = _named(container, scope)
            line = _line_that_puts(frame.f_code.co_filename, name) if name else None
            if line is not None:
                return line, name
        frame = frame.f_back
    return None, ""


def _named(container: object, scope: dict[str, object]) -> str:
    """The name of a container among variables, or among the attributes of their values."""
    for name, value in scope.items():
        if value is container:
            return name
        inner = getattr(value, "__dict__", None) if not isinstance(value, type) else None
        if isinstance(inner, dict):
            found = next((key for key, held in inner.items() if held is container), None)
            if found is not None:
                return str(found)
    return ""


def _line_that_puts(file: str, word: str) -> Line | None:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return None
    return next(((file, line) for node in ast.walk(tree) if (line := _puts(node, word))), None)


def _puts(node: ast.AST, word: str) -> int:
    """The line of a statement or a call that puts something into a container of that name; or 0."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in ("append", "extend", "add", "appendleft"):
            targets = [node.func.value]
    elif isinstance(node, ast.AugAssign):
        targets = [node.target]
    elif isinstance(node, ast.Assign):
        targets = [t.value for t in node.targets if isinstance(t, ast.Subscript)]
    names = (getattr(t, "id", getattr(t, "attr", "")) for t in targets)
    return getattr(node, "lineno", 0) if word in names else 0
