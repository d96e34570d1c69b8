"""Guards hold while nothing that a run could have read changes, and notice each kind of change at
each place."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import gc
import math
import operator
import threading
import time
import types
import weakref

import pytest

import rushlight as rl
from rushlight import nn
from rushlight._capture.calls import observe
from rushlight._capture.state import State
from rushlight._core import Guards

from .worlds import captured, variants


def state(function, *args, loaded=False, **kwargs):
    function(*args, **kwargs)  # what is read for the first time, the library's files among it
    return State(function, args, kwargs, observe(function, args, kwargs), loaded=loaded)


def held(function, *args, **kwargs):
    """A state that holds, twice and with everything compared."""
    made = state(function, *args, **kwargs)
    assert made.trouble is None, made.trouble
    assert made.guards.check() and made.guards.check() and made.guards.refresh()
    assert made.matches(args, kwargs) is not None
    return made


# --- what can change ---


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass
class Config:
    rate: float = 0.5
    name: str = "a"


class Slotted:
    __slots__ = ("other", "value")

    def __init__(self):
        self.value = 3


class Base:
    scale = 2


class Derived(Base):
    def __init__(self):
        self.own = 1

    def method(self):
        return self.scale

    @property
    def double(self):
        return 2 * self.own


class Dynamic:
    def __init__(self):
        self.table = {"far": 1}

    def __getattr__(self, name):
        return self.table[name]


def ready():
    return 1


def one(x, k=2):
    return k


def keyword(x, *, k=2):
    return k


def other(x, k=2):
    return k + 1


def fresh(function):
    """A copy of a function, that a test may change."""
    made = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__
    )
    made.__kwdefaults__ = dict(function.__kwdefaults__ or {}) or None
    return made


def new_class():
    return type("Derived", (type("Base", (), {"scale": 2}),), dict(vars(Derived)))


def layer():
    made = nn.Linear(2, 2)
    made.note = {"deep": [1]}
    return made


def call(o):
    return o(0)


def property_of(cls):
    return property(lambda self: 7 * self.own)


REPLACED = object()  # the holder gets the new value
# name: (makes the value, reads it, changes it in place or gives what replaces it)
CHANGES = {
    "number": (lambda: 3, lambda o: o, lambda o: 4),
    "float": (lambda: 0.5, lambda o: o, lambda o: 0.25),
    "zero's sign": (lambda: 0.0, lambda o: o, lambda o: -0.0),
    "int to bool": (lambda: 1, lambda o: o, lambda o: True),
    "int to float": (lambda: 1, lambda o: o, lambda o: 1.0),
    "string": (lambda: "a" * 30, lambda o: o, lambda o: "b" * 30),
    "bool": (lambda: True, lambda o: o, lambda o: False),
    "None": (lambda: None, lambda o: o, lambda o: 0),
    "bytes": (lambda: b"ab", lambda o: o, lambda o: b"ac"),
    "complex": (lambda: 1j, lambda o: o, lambda o: 2j),
    "dtype": (lambda: rl.float32, lambda o: o, lambda o: rl.float64),
    "device": (lambda: rl.device("cpu"), lambda o: o, lambda o: rl.device("meta")),
    "list append": (lambda: [1, 2], len, lambda o: o.append(3)),
    "list item": (lambda: [1, 2], lambda o: o[0], lambda o: o.__setitem__(0, 5)),
    "list order": (lambda: [1, 2], lambda o: o[0], lambda o: o.reverse()),
    "nested dict": (lambda: {"a": {"b": 1}}, lambda o: o["a"]["b"], lambda o: o["a"].update(b=2)),
    "dict key": (lambda: {"a": 1}, lambda o: "b" in o, lambda o: o.update(b=1)),
    "dict order": (lambda: {"a": 1, "b": 2}, list, lambda o: o.update(a=o.pop("a"))),
    "OrderedDict order": (
        lambda: collections.OrderedDict(a=1, b=2),
        list,
        lambda o: o.move_to_end("a"),
    ),
    "default factory": (
        lambda: collections.defaultdict(int),
        lambda o: "a" in o,
        lambda o: setattr(o, "default_factory", list),
    ),
    "set": (lambda: {1, 2}, len, lambda o: o.add(3)),
    "set's item": (lambda: {1, 2}, lambda o: 2 in o, lambda o: (o.discard(2), o.add(5))[0]),
    "frozenset": (lambda: frozenset({1}), len, lambda o: frozenset({2})),
    "tuple": (lambda: (1, (2, 3)), lambda o: o[1], lambda o: (1, (2, 4))),
    "tensor": (lambda: rl.ones(2), lambda o: o, lambda o: rl.ones(2)),
    "layer": (layer, lambda o: o.note, lambda o: layer()),
    "parameter": (layer, lambda o: o.weight, lambda o: setattr(o, "bias", None)),
    "parameter's data": (
        layer,
        lambda o: o.weight,
        lambda o: setattr(o.weight, "data", rl.zeros(2, 2)),
    ),
    "parameters' dict": (
        layer,
        lambda o: o.weight,
        lambda o: o._parameters.update(weight=nn.Parameter(rl.zeros(2, 2))),
    ),
    "eval()": (layer, lambda o: o.training, lambda o: o.eval() and None),
    "module hook": (
        layer,
        lambda o: o(rl.ones(2)),
        lambda o: o.register_forward_hook(print) and None,
    ),
    "function": (lambda: one, call, lambda o: other),
    "__code__": (lambda: fresh(one), call, lambda o: setattr(o, "__code__", other.__code__)),
    "default": (lambda: fresh(one), call, lambda o: setattr(o, "__defaults__", (3,))),
    "keyword default": (lambda: fresh(keyword), call, lambda o: o.__kwdefaults__.update(k=3)),
    "keyword defaults": (
        lambda: fresh(keyword),
        call,
        lambda o: setattr(o, "__kwdefaults__", {"k": 4}),
    ),
    "function's name": (
        lambda: fresh(one),
        lambda o: (o(0), o.__name__),
        lambda o: setattr(o, "__name__", "z"),
    ),
    "function's attribute": (
        lambda: fresh(one),
        lambda o: (o(0), hasattr(o, "mark")),
        lambda o: setattr(o, "mark", 1),
    ),
    "class attribute": (
        lambda: new_class()(),
        lambda o: o.method(),
        lambda o: setattr(type(o), "scale", 3),
    ),
    "inherited class attribute": (
        lambda: new_class()(),
        lambda o: o.scale,
        lambda o: setattr(type(o).__base__, "scale", 3),
    ),
    "bases": (
        lambda: type("C", (new_class(),), {})(),
        lambda o: o.scale,
        lambda o: setattr(type(o), "__bases__", (new_class(),)),
    ),
    "method": (
        lambda: new_class()(),
        lambda o: o.method(),
        lambda o: setattr(type(o), "method", one),
    ),
    "method hidden": (
        lambda: new_class()(),
        lambda o: o.method(),
        lambda o: setattr(o, "method", one),
    ),
    "attribute": (lambda: new_class()(), lambda o: o.own, lambda o: setattr(o, "own", 2)),
    "attribute added": (
        lambda: new_class()(),
        lambda o: getattr(o, "more", 0),
        lambda o: setattr(o, "more", 2),
    ),
    "attribute deleted": (
        lambda: new_class()(),
        lambda o: getattr(o, "own", 0),
        lambda o: delattr(o, "own"),
    ),
    "__dict__": (
        lambda: new_class()(),
        lambda o: o.own,
        lambda o: setattr(o, "__dict__", {"own": 1}),
    ),
    "__class__": (
        lambda: new_class()(),
        lambda o: o.scale,
        lambda o: setattr(o, "__class__", new_class()),
    ),
    "property": (
        lambda: new_class()(),
        lambda o: o.double,
        lambda o: setattr(type(o), "double", property_of(type(o))),
    ),
    "what a property reads": (
        lambda: new_class()(),
        lambda o: o.double,
        lambda o: setattr(o, "own", 2),
    ),
    "__getattr__": (Dynamic, lambda o: o.far, lambda o: o.table.update(far=2)),
    "slot": (Slotted, lambda o: o.value, lambda o: setattr(o, "value", 4)),
    "empty slot": (Slotted, lambda o: hasattr(o, "other"), lambda o: setattr(o, "other", 4)),
    "dataclass field": (Config, lambda o: o.rate, lambda o: setattr(o, "rate", 0.25)),
    "dataclass": (Config, lambda o: o.rate, lambda o: Config(0.25)),
    "enum member": (lambda: Color.RED, lambda o: o is Color.RED, lambda o: Color.BLUE),
    "partial": (
        lambda: functools.partial(one, k=1),
        call,
        lambda o: functools.partial(one, k=2),
    ),
    "partial's keywords": (
        lambda: functools.partial(fresh(one), k=1),
        call,
        lambda o: o.keywords.update(k=2),
    ),
    "partial's attribute": (
        lambda: functools.partial(one, k=1),
        lambda o: hasattr(o, "mark"),
        lambda o: setattr(o, "mark", 1),
    ),
    "bound method": (lambda: new_class()().method, lambda o: o(), lambda o: new_class()().method),
    "bound method's self": (
        lambda: Derived().method,
        lambda o: (o(), o.__self__.own),
        lambda o: setattr(o.__self__, "own", 9),
    ),
    "namespace": (
        lambda: types.SimpleNamespace(rate=1),
        lambda o: o.rate,
        lambda o: setattr(o, "rate", 2),
    ),
    "dict subclass": (
        lambda: type("D", (dict,), {})(a=1),
        lambda o: o["a"],
        lambda o: o.update(a=2),
    ),
    "list subclass": (lambda: type("L", (list,), {})([1]), lambda o: o[0], lambda o: o.append(2)),
}


# --- where it can live: each makes (run, set) of a value and a function that reads it ---


def in_global(value, read):
    place = {"value": value, "read": read, "__builtins__": __builtins__}
    exec("def run():\n    return read(value)", place)
    return place["run"], lambda new: place.update(value=new)


def in_cell(value, read):
    def run():
        return read(value)

    def put(new):
        nonlocal value
        value = new

    return run, put


class Holder:
    def run(self):
        return self.read(self.value)


def on_self(value, read):
    holder = Holder()
    holder.value, holder.read = value, read
    return holder.run, lambda new: setattr(holder, "value", new)


def nested(value, read):
    outer = {"deep": [(0, {"at": value})]}

    def run():
        return read(outer["deep"][0][1]["at"])

    return run, lambda new: outer["deep"][0][1].update(at=new)


def on_class(value, read):
    class Owner:
        pass

    Owner.value = staticmethod(value) if isinstance(value, types.FunctionType) else value

    def run():
        return read(Owner.value)

    def put(new):
        Owner.value = staticmethod(new) if isinstance(new, types.FunctionType) else new

    return run, put


PLACES = [in_global, in_cell, on_self, nested, on_class]


@pytest.mark.parametrize("place", PLACES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", CHANGES)
def test_every_change_is_noticed_at_every_place(name, place):
    make, read, change = CHANGES[name]
    value = make()
    run, put = place(value, read)
    made = held(run)
    run()
    assert made.guards.check(), "the run itself changes nothing"
    new = change(value)
    if new is not None:
        put(new)
    assert not made.guards.check()
    assert not made.guards.check(), "and it stays so"
    assert made.matches((), {}) is None


@pytest.mark.parametrize("place", PLACES, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "value",
    [3, 10**30, 0.5, math.nan, "a" * 30, b"xyz", 2j, (1, (0.5, "b")), None, True, rl.Size((2, 3))],
    ids=repr,
)
def test_an_equal_value_holds(value, place):
    again = eval(repr(value), {"nan": float("nan"), "torch": rl})
    run, put = place(value, lambda o: o)
    made = held(run)
    put(again)
    assert made.guards.check() and made.guards.refresh()
    put(object())
    assert not made.guards.check()


def test_an_equal_device_holds():
    run, put = in_global(rl.device("cpu"), lambda o: o)
    made = held(run)
    put(rl.device("cpu"))
    assert made.guards.check()


def test_a_value_that_comes_back_holds_again():
    run, put = in_global(1, lambda o: o)
    made = held(run)
    put(2)
    assert not made.guards.check()
    put(1)
    assert made.guards.check()


def test_what_no_code_names_does_not_count():
    place = {"value": 1, "counter": 0}
    exec("def run():\n    return value", place)
    made = held(place["run"])
    for i in range(3):
        place["counter"] = i
        assert made.guards.check()
    holder = Holder()
    holder.value, holder.read, holder.steps = 1, abs, 0
    made = held(holder.run)
    holder.steps = 5
    Holder.unread = 1
    assert made.guards.check()


def test_a_builtin_that_a_global_hides():
    place = {"values": [3, 4]}
    exec("def run():\n    return len(values)", place)
    made = held(place["run"])
    place["len"] = sum
    assert not made.guards.check()


def test_equal_code_with_the_globals_of_two_files():
    one, two = {"k": 1}, {"k": 2}
    for names in (one, two):
        exec("def f():\n    return k", names)
    f, g = one["f"], two["f"]
    made = held(lambda: f() + g())
    two["k"] = 3
    assert not made.guards.check()
    two["k"], one["k"] = 2, 5
    assert not made.guards.check()


def test_attributes_by_computed_names():
    holder = Holder()
    holder.layer0 = 1

    def run():
        return getattr(holder, f"layer{0}")

    made = held(run)
    holder.layer0 = 2
    assert not made.guards.check()


def test_names_in_a_class_pattern():
    point = types.SimpleNamespace(x=1)

    def run():
        match point:
            case types.SimpleNamespace(x=1):
                return 1
        return 2

    made = held(run)
    point.x = 2
    assert not made.guards.check()


def test_a_modules_attribute():
    module = types.ModuleType("settings")
    module.rate, module.unread = 1, 2

    def run():
        return module.rate

    made = held(run)
    module.unread = 3
    assert made.guards.check()
    module.rate = 2
    assert not made.guards.check()


def test_a_patched_function_of_the_library(monkeypatch):
    made = held(lambda: nn.functional.relu(rl.ones(2)))
    monkeypatch.setattr(nn.functional, "relu", lambda x: x)
    assert not made.guards.check()


def test_a_patched_method_of_a_layer(monkeypatch):
    net = nn.Linear(2, 2)
    made = held(lambda: net(rl.ones(2)))
    monkeypatch.setattr(nn.Linear, "forward", lambda self, x: x)
    assert not made.guards.check()


def test_a_patched_class_of_an_input():
    class Sub(rl.Tensor):
        def twice(self):
            return self * 2

    x = rl.ones(2).as_subclass(Sub)
    made = held(lambda x: x.twice(), x)
    Sub.twice = lambda self: self * 3
    assert made.matches((x,), {}) is None


def test_a_decorated_function():
    scale = [2]

    @rl.no_grad()
    def inner():
        return scale[0]

    made = held(inner)
    scale[0] = 3
    assert not made.guards.check()


def test_what_a_weak_reference_shows():
    owner = Holder()
    owner.value, owner.read = 1, abs
    reference = weakref.ref(owner)

    def run():
        return reference().value

    made = held(run)
    owner.value = 2
    assert not made.guards.check()


# --- tensors ---


WANTS = rl.ones((), requires_grad=True)  # made before: to make one counts as a change


class Twice(rl.autograd.Function):
    @staticmethod
    def forward(ctx, t, factor):
        ctx.mark_dirty(t)
        return t.mul_(2 * factor)

    @staticmethod
    def backward(ctx, grad):
        return None, grad.sum()


class Gives(rl.autograd.Function):
    @staticmethod
    def forward(ctx, x, held):
        return held[0]

    @staticmethod
    def backward(ctx, grad):
        return grad.sum(), None


def reading(t):
    def run():
        return t.grad, t * 2

    return run


TENSORS = {
    "data": lambda t: setattr(t, "data", rl.zeros(2, 2)),
    "another shape": lambda t: setattr(t, "data", rl.zeros(4)),
    "transposed": lambda t: t.t_(),
    "another type": lambda t: setattr(t, "data", rl.zeros(2, 2, dtype=rl.float64)),
    "requires_grad": lambda t: t.requires_grad_(),
    "hook": lambda t: t.requires_grad_().register_hook(lambda g: g),
    "grad": lambda t: setattr(t, "grad", rl.ones(2, 2)),
    "resize": lambda t: t.resize_(3, 3),
    "storage": lambda t: t.untyped_storage().resize_(256),
    "shared memory": lambda t: t.share_memory_(),
    "another place": lambda t: t.set_(rl.ones(9), 1, (2, 2)),
    "other strides": lambda t: t.as_strided_((2, 2), (1, 2)),
    "swapped": lambda t: rl.utils.swap_tensors(t, rl.zeros(4)),
    "history": lambda t: t.mul_(WANTS),
    "history by a view": lambda t: t[0].mul_(WANTS),
    "history by a Function": lambda t: Twice.apply(t, WANTS),
    "given back by a Function": lambda t: Gives.apply(WANTS, [t]),
    "a flag": lambda t: t._set_flag(2, True),
    "a tangent": lambda t: setattr(t, "_wrapped", (256, "tangent")),
    "hooks": lambda t: setattr(t, "_hooks", object()),
    "attribute": lambda t: setattr(t, "mark", 1),
    "class": lambda t: setattr(t, "__class__", type("Sub", (rl.Tensor,), {})),
}


@pytest.mark.parametrize("name", TENSORS)
def test_metadata_of_a_tensor(name):
    t = rl.ones(2, 2)
    made = held(reading(t))
    assert list(made.tensors) == [t] or [k for k in made.tensors if k is t]
    t.add_(1)
    assert made.guards.check(), "values do not count"
    TENSORS[name](t)
    assert not made.guards.check()
    assert not made.guards.refresh()


LEAVES = {
    "detached": lambda t: t.detach_(),
    "requires_grad": lambda t: t.requires_grad_(False),
    "retained": lambda t: t.retain_grad(),
    "another type": lambda t: setattr(t, "data", rl.zeros(2, 2, dtype=rl.float64)),
    "written": lambda t: t.mul_(2),
}


@pytest.mark.parametrize("name", LEAVES)
@pytest.mark.parametrize(
    "make", [lambda t: t, lambda t: t * 2, lambda t: (t * 2).t()], ids=["leaf", "made", "view"]
)
def test_metadata_of_what_has_a_graph(name, make):
    def made():
        return make(rl.ones(2, 2, requires_grad=True))

    t = made()
    guards = held(lambda: t * 2).guards
    try:
        LEAVES[name](t)
    except RuntimeError:  # not of a leaf, not of a view
        return
    quick = guards.check()
    assert quick == guards.refresh()


def test_a_root_that_comes_to_want_a_gradient():
    root = rl.ones(2, 2)
    view = root.t()
    made = held(lambda: view * 2)
    root.requires_grad_()
    assert not made.guards.check()
    root.requires_grad_(False)
    assert made.guards.check()


def test_hooks_that_go_with_their_node():
    t = rl.ones(2, requires_grad=True)
    node = (t * 1).grad_fn.next_functions[0][0]
    node.register_hook(lambda *grads: None)
    made = held(lambda: t * 2)
    del node
    gc.collect()
    assert not made.guards.check() and not made.guards.refresh()


def test_hooks_of_a_node_that_is_forgotten():
    t = rl.ones(2, requires_grad=True)
    node = (t * 1).grad_fn.next_functions[0][0]
    node.register_hook(lambda *grads: None)
    made = held(lambda: t * 2)
    t._forget_accumulator()
    assert not made.guards.check() and not made.guards.refresh()


def test_a_gradient_that_a_backward_gives():
    t = rl.ones(2, requires_grad=True)
    made = held(reading(t))
    loss = (t * 1).sum()
    assert made.guards.check()
    loss.backward()
    assert not made.guards.check() and not made.guards.refresh()


def test_gradient_of_a_tensor():
    t = rl.ones(2, 2, requires_grad=True)
    t.grad = rl.ones(2, 2)
    made = held(reading(t))
    t.grad = rl.zeros(2, 2)
    assert made.guards.check(), "another gradient of the same kind"
    for other in (rl.zeros(2, 2).t(), rl.zeros(2, 2, dtype=rl.float64), None):
        t.grad = None
        t.grad_dtype = None
        t.grad = other
        assert not made.guards.check()


def set_attribute(g):
    g.mark = 1


GRADIENTS = {
    "attribute": set_attribute,
    "class": lambda g: setattr(g, "__class__", type("Sub", (rl.Tensor,), {})),
    "requires_grad": lambda g: g.requires_grad_(),
    "transposed": lambda g: g.t_(),
    "type": lambda g: setattr(g, "data", rl.zeros(2, 2, dtype=rl.float64)),
    "history": lambda g: g.mul_(WANTS),
    "hook": lambda g: g.requires_grad_().register_hook(lambda g: g),
}


@pytest.mark.parametrize("name", [*GRADIENTS, "nothing", "None", "another"])
@pytest.mark.parametrize("returned", [False, True])
def test_gradients_that_replays_leave(name, returned):
    """Guards trust what a replay left until a program can have it."""
    p = nn.Parameter(rl.ones(2, 2))
    q = nn.Parameter(rl.ones(2, 2))
    p.grad, q.grad = rl.zeros(2, 2), rl.zeros(2, 2)

    def step():
        (p * q).sum().backward()
        g = p.grad
        p.grad, q.grad = g * 2, q.grad * 2
        return p.grad if returned else p.grad.sum()

    made = captured(step)
    (variant,) = variants(made)
    for _ in range(4):
        result = made()
        assert variant.guards.check()
    replays = variant.program.replays()
    assert replays >= 4
    if name == "nothing":
        p.grad.add_(1)
    elif name == "None":
        p.grad = None
    elif name == "another":
        q.grad = rl.zeros(4)[::2].expand(2, 2)
    else:
        GRADIENTS[name](result if returned else p.grad)
    assert variant.guards.check() == (name == "nothing")
    assert variant.guards.refresh() == (name == "nothing")


def test_gradients_of_eager_backwards_and_of_other_replays():
    p = nn.Parameter(rl.ones(2, 2))
    p.grad = rl.zeros(2, 2)

    def one():
        p.grad = p.grad * 2
        return p * 2

    def other():
        p.grad = None

    made, clears = captured(one), rl.compile(other)
    guards = variants(made)[0].guards
    for _ in range(5):
        p.grad = rl.zeros(2, 2)
        for _ in range(3):
            made()
        assert guards.check()
        clears()
        assert not guards.check()
    assert variants(clears)[0].program.replays() >= 2
    (p * 1).sum().backward()
    assert guards.check()


def test_a_gradient_that_was_held_before():
    p = nn.Parameter(rl.ones(2, 2))
    p.grad = held_before = rl.zeros(2, 2)

    def run():
        return p.grad * 2

    made = captured(run)
    (variant,) = variants(made)
    for _ in range(3):
        made()
    held_before.mark = 1
    assert not variant.guards.check()


def test_a_gradient_that_nothing_reads_does_not_count():
    t = rl.ones(2, requires_grad=True)
    made = held(lambda: t * 2)
    t.grad = rl.ones(2)
    assert made.guards.check()


def test_a_second_hook():
    t = rl.ones(2, requires_grad=True)
    t.register_hook(lambda g: g)

    def run():
        t.grad = None
        (t * 2).sum().backward()

    made = held(run)
    t.register_hook(lambda g: 2 * g)
    assert not made.guards.check()


def test_a_hook_on_the_node_that_accumulates():
    t = rl.ones(2, requires_grad=True)
    node = (t * 1).grad_fn.next_functions[0][0]
    made = held(lambda: t * 2)
    node.register_hook(lambda *grads: None)
    assert not made.guards.check()


# --- modes ---


def test_modes():
    made = held(lambda: rl.ones(2) * 2)
    with rl.no_grad():
        assert not made.guards.check()
    with rl.inference_mode():
        assert not made.guards.check()
    rl.set_default_dtype(rl.float64)
    assert not made.guards.check()
    rl.set_default_dtype(rl.float32)
    with rl.autocast("cpu"):
        assert not made.guards.check()
    with rl.device("meta"):
        assert not made.guards.check()
    with rl.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        assert not made.guards.check()
    with rl.autograd.detect_anomaly(check_nan=False):
        assert not made.guards.check()
    rl.func.vmap(lambda x: made.guards.check() and pytest.fail("in vmap"))
    rl.use_deterministic_algorithms(True)
    assert not made.guards.check()
    rl.use_deterministic_algorithms(False)
    threads = rl.get_num_threads()
    rl.set_num_threads(threads + 1)
    assert not made.guards.check()
    rl.set_num_threads(threads)
    assert made.guards.check()


def test_a_mode_of_another_thread():
    class Mode(rl.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            return function(*args, **(kwargs or {}))

    made = held(lambda: rl.ones(2) * 2)
    entered, left = threading.Event(), threading.Event()

    def other():
        with Mode():
            entered.set()
            left.wait(60)

    thread = threading.Thread(target=other)
    thread.start()
    try:
        assert entered.wait(60)
        assert made.guards.check() and Guards.obstacle() is None
        run = captured(lambda x: x * 2 + 1, rl.ones(2))
        assert run(rl.ones(2)).tolist() == [3, 3] and variants(run)[0].program.replays()
        with Mode():
            assert not made.guards.check() and "mode" in Guards.obstacle()
    finally:
        left.set()
        thread.join()
    assert made.guards.check()


def test_the_type_of_autocast():
    x = rl.ones(2, 2)

    def run():
        with rl.autocast("cpu"):
            return x @ x

    made = held(run)
    before = rl.get_autocast_dtype("cpu")
    rl.set_autocast_dtype("cpu", rl.float16)
    assert not made.guards.check()
    rl.set_autocast_dtype("cpu", before)
    assert made.guards.check()


def test_train_and_eval():
    net = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
    made = held(lambda: net(rl.ones(2)))
    net.eval()
    assert not made.guards.check()
    net.train()
    assert made.guards.check()


def test_a_mode_from_outside_is_trouble():
    with rl.autocast("cpu"):
        assert "enter it inside" in state(lambda: 1).trouble


# --- optimizers ---


def training(**options):
    net = nn.Linear(2, 1)
    optimizer = rl.optim.Adam(net.parameters(), **options)

    def step():
        optimizer.zero_grad()
        net(rl.ones(2)).sum().backward()
        optimizer.step()

    step()
    return net, optimizer, step


def test_numbers_of_an_optimizer():
    _, optimizer, step = training(lr=0.1)
    made = state(step)
    group = optimizer.param_groups[0]
    assert made.guards.check()
    group["lr"] = 0.2
    assert not made.guards.check()
    made = state(step, loaded=True)
    assert made.guards.check() and (group, "lr") in made.loaded
    group["lr"], group["betas"] = 0.3, (0.8, 0.9)
    assert made.guards.check(), "read at each replay"
    group["lr"] = 0.0
    assert not made.guards.check(), "code may ask whether a number is zero"
    group["lr"] = 1
    assert not made.guards.check(), "another type"
    group["lr"] = 0.1
    assert made.guards.check()
    group["amsgrad"] = True
    assert not made.guards.check()


def test_numbers_that_code_of_the_program_reads():
    class Own(rl.optim.SGD):
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    with rl.no_grad():
                        p.add_(p.grad, alpha=-group["lr"])

    net = nn.Linear(2, 1)
    own, plain = Own(net.parameters(), lr=0.1), rl.optim.SGD(net.parameters(), lr=0.1)
    net(rl.ones(2)).sum().backward()

    def reads():
        return [group["lr"] for group in plain.param_groups]

    for run, optimizer in ((own.step, own), (reads, plain)):
        made = state(run, loaded=True)
        assert made.guards.check() and not made.loaded
        optimizer.param_groups[0]["lr"] = 0.2
        assert not made.guards.check()


def test_state_of_an_optimizer():
    net, optimizer, step = training()
    made = state(step)
    step()
    assert made.guards.check()
    optimizer.state[net.bias]["exp_avg"] = rl.zeros(1)
    assert not made.guards.check()


def test_the_first_step_changes_an_optimizer():
    net = nn.Linear(2, 1)
    optimizer = rl.optim.Adam(net.parameters())
    optimizer.zero_grad()
    net(rl.ones(2)).sum().backward()
    ran = observe(optimizer.step, (), {})
    before = State(optimizer.step, (), {}, ran)
    assert before.changed(ran, (), {}) is None
    optimizer.state.clear()
    before = State(optimizer.step, (), {}, ran)
    optimizer.step()
    assert "state" in before.changed(ran, (), {})


# --- arguments ---


def test_inputs_in_trees():
    Pair = collections.namedtuple("Pair", "left right")
    made = held(
        lambda a, b, **more: None,
        rl.ones(2),
        [rl.ones(3), {"x": (rl.ones(4), 5)}],
        pair=Pair(rl.ones(1), "k"),
        config=Config(rl.ones(6)),
    )
    assert [len(t) for t in made.inputs] == [2, 3, 4, 1, 6]
    assert not made.tensors

    def call(n=5, key="k", last=6, name="a", first=None):
        first = rl.zeros(2) if first is None else first
        args = first, [rl.ones(3), {"x": (rl.ones(4), n)}]
        more = {"pair": Pair(rl.ones(1), key), "config": Config(rl.ones(last), name)}
        return made.matches(args, more)

    found = call()
    assert [len(t) for t in found] == [2, 3, 4, 1, 6]
    assert found[0].sum() == 0, "the new tensors, in order"
    assert call(n=6) is None and call(n=5.0) is None and call(key="l") is None
    assert call(last=7) is None and call(name="b") is None
    assert call(first=3) is None and call(first=rl.zeros(2, dtype=rl.float64)) is None
    assert call(first=rl.zeros(2, requires_grad=True)) is None
    assert call(first=rl.zeros(4)[::2]) is None
    assert call(first=nn.Parameter(rl.zeros(2), False)) is None
    assert made.matches((rl.ones(2),), {}) is None


def test_metadata_of_inputs():
    made = held(lambda x: x * 2, rl.ones(4))
    assert made.matches((rl.arange(8.0)[4:],), {}) is None, "a view, where none was"
    made = held(lambda x: x * 2, rl.arange(8.0)[4:])
    assert made.matches((rl.arange(8.0)[2:6],), {}) is not None, "another offset"
    made = held(lambda x: x.storage_offset(), rl.arange(8.0)[4:])
    assert made.matches((rl.arange(8.0)[2:6],), {}) is None, "which the code reads"
    made = held(lambda x: x * 2, rl.ones(2))
    hooked = rl.ones(2, requires_grad=True)
    hooked.register_hook(lambda g: g)
    assert made.matches((hooked,), {}) is None
    assert made.matches((rl.ones(2, requires_grad=True) * 1,), {}) is None
    assert made.matches((rl.ones(2),), None) is None
    assert made.matches([rl.ones(2)], {}) is None


def test_identity_of_inputs():
    x, y = rl.ones(2), rl.ones(2)
    made = held(lambda a, b: a + b, x, y)
    assert made.matches((y, x), {}) is not None
    assert made.matches((x, x), {}) is None
    assert made.matches((x, x.detach()), {}) is None, "of one memory"
    twice = held(lambda a, b: a + b, x, x)
    assert twice.matches((y, y), {}) is not None
    assert twice.matches((x, y), {}) is None


def test_an_input_that_is_reached_as_well():
    weight = rl.ones(2)
    made = held(lambda x: x * weight, rl.ones(2))
    assert made.matches((weight,), {}) is None
    assert made.matches((weight.detach(),), {}) is None
    same = held(lambda x: x * weight, weight)
    assert same.matches((weight,), {}) is not None
    assert same.matches((rl.ones(2),), {}) is None
    shown = held(lambda x: x * weight, weight.detach())
    assert shown.matches((weight.detach(),), {}) is not None
    assert shown.matches((weight,), {}) is None


def test_a_container_that_is_reached_as_well():
    kept = [1]

    def run(x):
        kept[0]
        return len(x)

    made = held(run, [1])
    assert made.matches(([1],), {}) is not None
    assert made.matches((kept,), {}) is None
    assert made.matches(([2],), {}) is None
    assert held(run, kept).matches(([1],), {}) is None


def test_other_arguments():
    net = nn.Linear(2, 2)
    made = held(lambda net, f: f(net.weight), net, abs)
    assert made.matches((nn.Linear(2, 2), abs), {}) is None
    assert made.matches((net, rl.neg), {}) is None
    net.weight.requires_grad_(False)
    assert made.matches((net, abs), {}) is None


# --- refused ---


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (collections.deque([1]), "is a collections.deque"),
        (iter([1, 2]), "list_iterator"),
        ((i for i in range(3)), "is a generator"),
        (functools.lru_cache(one), "lru_cache"),
        (memoryview(b"a"), "memoryview"),
    ],
    ids=["deque", "iterator", "generator", "cache", "memoryview"],
)
def test_state_that_cannot_be_compared(value, said):
    agent = Holder()
    agent.memory = [0, value]

    def run():
        return agent.memory[0]

    trouble = state(run).trouble
    assert trouble.startswith("agent.memory[1] is ") and said in trouble


def test_an_array():
    np = pytest.importorskip("numpy")
    agent = Holder()
    agent.data = np.ones(3)
    assert state(lambda: agent.data).trouble.startswith("agent.data is a numpy.ndarray")
    assert "ufunc" in state(lambda: np.add).trouble
    assert "np.add is" in state(lambda: np.add).trouble
    assert state(lambda: np.random.rand(2)).trouble.startswith("np.random.rand")
    assert state(lambda: np.pi).trouble is None


def test_a_file(tmp_path):
    with (tmp_path / "log").open("w") as log:
        assert state(lambda: log.closed).trouble.startswith("log is a _io.TextIOWrapper")


def test_next_on_an_iterator_from_outside():
    numbers = iter([1, 2, 3, 4])
    assert state(lambda: next(numbers)).trouble.startswith("numbers is a list_iterator")


def test_an_impure_function_that_is_handed_on():
    assert state(lambda: map(time.sleep, [])).trouble.startswith("time.sleep is time.sleep()")
    agent = Holder()
    agent.clock = time.monotonic

    def run():
        return list(map(agent.clock, []))

    assert state(run).trouble.startswith("agent.clock is time.monotonic()")
    flag = False

    def quiet():
        if flag:
            print(time.time())

    assert state(quiet).trouble is None, "what is only called is seen when it is"


def test_attributes_that_c_reads_by_name():
    point = types.SimpleNamespace(x=1)
    read = functools.partial(getattr, point)
    assert "getattr(), handed on" in state(lambda: list(map(read, ["x"]))).trouble
    held_by = operator.attrgetter("x")
    assert "operator.attrgetter" in state(lambda: held_by(point)).trouble

    def formats():
        return list(map("{0.x}".format, [point]))

    def gets():
        return operator.attrgetter("x")(point)

    def maps():
        return list(map(getattr, [point], ["x"]))

    for run in (formats, gets):
        made = held(run)
        point.x += 1
        assert not made.guards.check()
    assert "getattr(), handed on" in state(maps).trouble


def test_code_of_unknown_origin():
    def hidden():
        return 1

    key = object.__new__(type("Key", (), {"__hash__": lambda self: hidden()}))
    held_by_c = functools.partial(hash, key)
    assert state(held_by_c).trouble is None, "a partial is followed"
    proxied = types.MappingProxyType({"f": hidden})
    assert "mappingproxy" in state(lambda: proxied["f"]()).trouble
    kept = rl.nn.modules.module.register_module_forward_hook(lambda *a: hidden() and None)
    try:
        made = state(lambda: nn.Identity()(rl.ones(1)))
        assert made.trouble is None
        second = rl.nn.modules.module.register_module_forward_hook(lambda *a: None)
        assert not made.guards.check()
        second.remove()
    finally:
        kept.remove()


# --- before and after ---


def difference(run, loaded=False):
    ran = observe(run, (), {})
    before = State(run, (), {}, ran, loaded=loaded)
    run()
    return before.changed(ran, (), {})


def test_side_effects_are_named():
    class Agent:
        def __init__(self):
            self.steps, self.seen, self.h = 3, [], rl.ones(2)

        def count(self):
            self.steps += 1

        def remember(self):
            self.seen.append(1)

        def replace(self):
            self.h = self.h * 2

        def write(self):
            self.h.mul_(2)

    said = "`self.steps` went from 4 to 5: make it a tensor, or pass it in"
    assert difference(Agent().count) == said
    assert "`self.seen` went from 1 to 2 items" in difference(Agent().remember)
    assert "`self.h` is another tensor than before" in difference(Agent().replace)
    assert difference(Agent().write) is None
    place = {"n": 1}
    exec("def run():\n    global n\n    n += 1", place)
    assert difference(place["run"]).startswith("the global `n` went from 2 to 3")


def test_metadata_and_settings_left_changed():
    t = rl.ones(2, requires_grad=True)
    optimizer = rl.optim.SGD([t], lr=0.1)

    def flips():
        t.requires_grad_(not t.requires_grad)

    def moves():
        t.data = rl.zeros(2)

    def writes():
        with rl.no_grad():
            t.mul_(2)
        (t * 2).sum().backward()

    def turns():
        rl.set_grad_enabled(not rl.is_grad_enabled())

    def decays():
        optimizer.param_groups[0]["lr"] *= 0.5

    assert "`t` got other memory" in difference(flips)
    assert "`t` got other memory" in difference(moves)
    assert difference(writes) is None, "values and .grad do not count"
    assert difference(turns) == "leaves a mode or a setting changed"
    rl.set_grad_enabled(True)
    for loaded in (False, True):
        assert "['lr']` went from" in difference(decays, loaded)


def test_an_input_that_is_changed():
    x, batch = rl.ones(2), [rl.ones(2)]

    def flips(x):
        x.requires_grad_()

    def moves(x):
        x.data = rl.zeros(2)

    def replaces(batch):
        batch[0] = batch[0] * 2

    for run, given in ((moves, x), (flips, x), (replaces, batch)):
        ran = observe(run, ([rl.ones(2)] if run is replaces else rl.ones(2),), {})
        before = State(run, (given,), {}, ran)
        run(given)
        said = before.changed(ran, (given,), {})
        named = "`batch[0]` is another tensor" if run is replaces else "got other memory"
        assert named in said


def test_code_that_runs_for_the_first_time():
    flag = [True]

    def later():
        return 2

    def run():
        return 1 if flag[0] else later()

    before = State(run, (), {}, observe(run, (), {}))
    flag[0] = False
    assert before.changed(observe(run, (), {}), (), {}) == (
        f"runs {later.__qualname__}() for the first time"
    )


# --- the object ---


def test_guards_are_collected():
    holder = Holder()
    holder.value, holder.read = 1, abs
    holder.kept = held(holder.run)
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "rows",
    [None, (), ((),) * 3, ((1,),) * 13, ((((),),),) * 13, (((1, 2, 3, 4, 5),),) * 13, (1,) * 13],
)
def test_rows_that_are_none(rows):
    with pytest.raises(TypeError):
        Guards(rows, ())
    with pytest.raises(TypeError):
        Guards(rows)


def test_classes_with_code_of_their_own():
    class Numbers(list):
        def __iter__(self):
            raise ValueError

        __len__ = __iter__

    class Table(dict):
        keys = __iter__ = Numbers.__iter__

    class Bag(set):
        __iter__ = Numbers.__iter__

    numbers, table, bag = Numbers([1]), Table(a=1), Bag([1])
    made = held(lambda: (numbers, table, bag))
    bag.add(2)
    assert not made.guards.check()
    bag.discard(2)
    assert made.guards.check()
    table["b"] = 2
    assert not made.guards.check()

    class Hostile:
        @property
        def __class__(self):
            raise ValueError

    hostile = Hostile()
    assert "ValueError" in state(lambda: hostile).trouble
    deep = ()
    for _ in range(200):
        deep = (deep,)
    made = state(lambda x: x, deep)
    assert made.trouble == "x" + "[0]" * 31 + " is nested too deeply" and not made.guards.check()


def test_a_second_hook_of_a_module():
    net = nn.Sequential(nn.Linear(2, 2))
    first = net[0].register_forward_hook(lambda *a: None)
    made = held(lambda: net(rl.ones(2)))
    second = net[0].register_forward_hook(lambda *a: None)
    assert not made.guards.check()
    second.remove()
    assert made.guards.check()
    before = net[0].register_forward_pre_hook(lambda *a: None)
    assert not made.guards.check()
    before.remove()
    backward = net[0].register_full_backward_hook(lambda *a: None)
    assert not made.guards.check()
    del first, backward


def test_a_global_hook_of_modules():
    made = held(lambda: nn.Identity()(rl.ones(1)))
    handle = rl.nn.modules.module.register_module_forward_hook(lambda *a: None)
    assert not made.guards.check()
    handle.remove()


def test_match_of_anything():
    made = held(lambda x, y: x, [rl.ones(1)], {"a": 1})
    for args in (
        None,
        (),
        (1,),
        ([], {}),
        ([1], {"a": 1}),
        ({}, []),
        ([rl.ones(1)], {1: 1}),
        ([rl.ones(1)] * 2, 3),
    ):
        assert made.guards.match(args, {}) is None
    endless = []
    endless.append(endless)
    assert made.guards.match((endless, endless), {}) is None
    with pytest.raises(TypeError):
        made.guards.match(())
