"""The run under observation: which code ran, and what ends capture, by its line."""

from __future__ import annotations

import contextlib
import datetime
import functools
import itertools
import math
import os
import random
import sys
import time
import warnings

import pytest

import rushlight as rl
from _alone import run_alone
from rushlight import nn
from rushlight._capture.calls import Names, observe

FILE = os.path.basename(__file__)


def trouble(function, *args):
    with contextlib.suppress(Exception):
        function(*args)  # files that are read on the first call
    return observe(function, args, {}).trouble


def line_of(function):
    return f"{FILE}:{function.__code__.co_firstlineno + 1}"


def does_print():
    print("x")


def does_time():
    return time.time()


def does_random():
    return random.random()


def does_shuffle():
    random.shuffle([1, 2])


def does_now():
    return datetime.datetime.now()


def does_open():
    open(os.devnull).close()


def does_globals():
    return globals()


def does_eval():
    return eval("1")


def does_id():
    return id(3)


def does_vars():
    return vars(nn)


def does_pid():
    return os.getpid()


def does_frame():
    return sys._getframe()


def does_warn():
    with warnings.catch_warnings(record=True):
        warnings.warn("x", stacklevel=1)


def does_sleep():
    time.sleep(0)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (does_print, "print()"),
        (does_time, "time.time()"),
        (does_random, "random()"),
        (does_now, "datetime.now()"),
        (does_open, "open()"),
        (does_globals, "globals()"),
        (does_eval, "eval()"),
        (does_id, "id()"),
        (does_vars, "vars()"),
        (does_pid, "getpid()"),
        (does_frame, "sys._getframe()"),
        (does_sleep, "time.sleep()"),
    ],
)
def test_c_functions_that_are_refused(function, name):
    said = trouble(function)
    assert f"{name} at {line_of(function)}, whose result or effect may differ" in said


def test_what_python_code_of_others_calls():
    assert line_of(does_shuffle) in trouble(does_shuffle)
    assert "warn" in trouble(does_warn)


def test_numpy():
    np = pytest.importorskip("numpy")
    assert "array() at" in trouble(lambda: np.array([1]))


def test_an_import_inside():
    def imports():
        import math

        return math.pi

    said = trouble(imports)
    assert said == f"imports inside a function at {line_of(imports)}: import at the top of the file"


PURE = {
    "builtins": lambda: [abs(-1), len([]), max(1, 2), sorted([2, 1]), isinstance(1, int), repr(1)],
    "math": lambda: math.sin(1) + math.floor(2.5) + math.prod([1, 2]),
    "strings": lambda: "a,b".split(",")[0].upper().join(["x"]) + f"{1:>3}",
    "containers": lambda: ([].append(1), {}.get(1), {1: 2}.items(), {1}.add(2), (1,).count(1)),
    "class methods": lambda: (dict.fromkeys([1]), int.from_bytes(b"1", "big"), float.fromhex("1")),
    "itertools": lambda: list(itertools.product([1], [2])) + list(itertools.chain([1])),
    "functools": lambda: functools.reduce(lambda a, b: a + b, [1, 2]),
    "own generators": lambda: sum(i for i in range(3)) + next(iter([1])),
    "tensors": lambda: (rl.ones(2) * 2).sum() + rl.stack([rl.ones(()), rl.zeros(())]).mean(),
    "gradients": lambda: rl.ones(2, requires_grad=True).sum().backward(),
    "layers": lambda: nn.Linear(2, 2)(rl.ones(2)),
    "draws": lambda: nn.functional.dropout(rl.rand(2) + rl.randn(2), 0.5),
    "imports of the library": lambda: nn.TripletMarginLoss()(*rl.ones(3, 2, 2)),
    "modes": lambda: [rl.no_grad().__enter__(), rl.set_grad_enabled(True)],
    "distributions": lambda: rl.distributions.Normal(rl.zeros(2), rl.ones(2)).rsample(),
    "transforms": lambda: rl.func.vmap(rl.func.grad(lambda a: (a * a).sum()))(rl.ones(2, 2)),
}


@pytest.mark.parametrize("name", PURE)
def test_what_passes(name):
    assert trouble(PURE[name]) is None


SETTINGS = {
    "manual_seed": lambda: rl.manual_seed(0),
    "seed of a generator": lambda: rl.Generator().manual_seed(1),
    "get_rng_state": lambda: rl.get_rng_state(),
    "fork_rng": lambda: rl.random.fork_rng().__enter__(),
    "a new generator": lambda: rl.Generator(),
    "set_num_threads": lambda: rl.set_num_threads(rl.get_num_threads()),
    "set_default_dtype": lambda: rl.set_default_dtype(rl.float32),
    "set_default_device": lambda: rl.set_default_device(None),
    "use_deterministic_algorithms": lambda: rl.use_deterministic_algorithms(False),
    "printing": lambda: rl.set_printoptions(precision=4),
    "data": lambda: list(rl.utils.data.DataLoader([1])),
    "set_autocast_dtype": lambda: rl.set_autocast_dtype("cpu", rl.bfloat16),
    "the core": lambda: rl._core.set_num_threads(rl.get_num_threads()),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_the_library(name):
    said = trouble(SETTINGS[name])
    assert said is not None and f"{FILE}:{SETTINGS[name].__code__.co_firstlineno}" in said


def test_what_ran():
    def inner():
        return nn.functional.relu(rl.ones(2))

    def run(flag):
        return inner() if flag else does_time()

    run(True)
    ran = observe(run, (True,), {})
    assert set(ran.codes) == {run.__code__, inner.__code__}
    assert ran.codes[inner.__code__] is globals()
    assert all("rushlight" in code.co_filename for code in ran.library)
    assert not ran.dynamic and ran.trouble is None and ran.result.shape == (2,)
    assert observe(nn.Linear(2, 2), (rl.ones(2),), {}).library


@pytest.mark.parametrize(
    "function",
    [
        lambda: getattr(nn, "Linear"),  # noqa: B009
        lambda: hasattr(nn, "x"),
        lambda: "{.real}".format(1),  # noqa: UP032
        lambda: nn.__dict__,
    ],
)
def test_attributes_by_computed_names(function):
    assert observe(function, (), {}).dynamic


def test_exceptions_and_the_profile_function_that_was_there():
    class Own(Exception):
        pass

    def fails():
        raise Own

    events = []

    def profile(frame, event, arg):
        events.append(event)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        with pytest.raises(Own):
            observe(fails, (), {})
        assert sys.getprofile() is profile
    finally:
        sys.setprofile(before)


def test_the_first_trouble_is_told():
    def both():
        does_time()
        does_print()

    assert "time.time()" in trouble(both)


def test_names_of_code():
    def code(x):
        global counter
        counter = 1
        if quiet:  # noqa: F821
            print(time.time())
        x.attribute = numpy.random.rand(2)  # noqa: F821
        return map(time.sleep, nn)

    names = Names(code.__code__)
    assert names.globals["numpy"] == {("random", "rand")}
    assert names.globals["time"] == {("time",), ("sleep",)}
    assert names.globals["nn"] == {()}
    assert {"attribute", "rand", "sleep"} <= names.attributes
    assert ("time", "sleep") in names.passed and ("nn",) in names.passed
    assert ("time", "time") not in names.passed and ("print",) not in names.passed
    assert "counter" in names.globals and not names.dynamic and names.imports is None


def test_a_capture_imports_nothing_of_the_library() -> None:
    """Names that nobody has asked for are read late, and the look at state asks for none."""
    run_alone("""
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters())
    @torch.compile
    def step(x):
        opt.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), torch.zeros(3, 1))
        loss.backward()
        opt.step()
    step(torch.ones(3, 4)), step(torch.ones(3, 4))
    before = set(sys.modules)
    step(torch.ones(3, 4))
    assert step.variants and set(sys.modules) == before, set(sys.modules) - before
    """)
