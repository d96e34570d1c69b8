"""`torch.profiler`: its files and tables, its schedule, and records that outlast errors, threads,
forks and one another. Sizes and orders are known beforehand; names are compared with PyTorch's."""

import gc
import json
import os
import sys
import threading
import time
import weakref
from pathlib import Path
from statistics import median

import pytest
from rushlight.profiler import ProfilerAction, profile, record_function, schedule

import rushlight as torch
from rushlight import nn

HERE = os.path.basename(__file__)


def keys(prof):
    return {e.key for e in prof.key_averages()}


# ---- what is written


def test_export_stacks_has_a_line_for_each_stack_and_the_time_of_its_events(tmp_path):
    with profile(with_stack=True) as prof:
        for _ in range(3):
            torch.ones(1 << 16).exp()
    prof.export_stacks(tmp_path / "stacks.txt", "self_cpu_time_total")
    text = (tmp_path / "stacks.txt").read_text("utf-8")
    found = dict(line.rsplit(" ", 1) for line in text.splitlines())
    line = next(
        n
        for n, text in enumerate(Path(__file__).read_text().splitlines(), 1)
        if "torch.ones(1 << 16).exp()" in text
    )
    (stack,) = found
    assert stack.endswith(f"{HERE}({line})")
    spent = sum(e.self_cpu_time_total for e in prof.events())
    assert int(found[stack]) == pytest.approx(spent, abs=len(prof.events()))  # each is cut
    with profile() as plain:
        torch.ones(3).exp()
    with pytest.raises(AssertionError, match="with_stack=True"):
        plain.export_stacks(tmp_path / "none.txt")


def test_the_stack_of_an_event_names_modules_and_lines_innermost_first():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.ReLU()

        def forward(self, x):
            return self.inner(x)  # the inner call

    net = Outer()
    with profile(with_stack=True) as prof:
        net(torch.ones(3))  # the outer call
    event = next(e for e in prof.events() if e.name == "aten::relu")
    text = Path(__file__).read_text().splitlines()
    inner, outer = (
        next(n for n, line in enumerate(text, 1) if f"# the {name} call" in line)
        for name in ("inner", "outer")
    )
    places = [place.rpartition(os.sep)[2] for place in event.stack]
    assert places == [
        f"{HERE}({inner})",
        "nn.Module: ReLU",
        f"{HERE}({inner})",
        "nn.Module: Outer",
        f"{HERE}({outer})",
    ]


def test_export_memory_timeline_follows_what_is_kept(tmp_path):
    kept = []
    with profile(profile_memory=True) as prof:
        for _ in range(3):
            kept.append(torch.ones(1 << 18).exp())
        kept.clear()
        torch.ones(8).exp()
    prof.export_memory_timeline(tmp_path / "memory.json")
    times, used = json.loads((tmp_path / "memory.json").read_text("utf-8"))
    assert len(times) == len(used)
    assert times == sorted(times)
    sizes = [row[0] for row in used]
    assert max(sizes) - sizes[0] >= 2 << 20  # after the first of three blocks of 1 MB
    assert max(sizes) - sizes[-1] >= 3 << 20
    with profile() as plain:
        torch.ones(3).exp()
    with pytest.raises(AssertionError, match="profile_memory=True"):
        plain.export_memory_timeline(tmp_path / "none.json")


def test_memory_and_shapes_are_there_where_they_are_asked_for():
    kept = []
    with profile(profile_memory=True, record_shapes=True) as prof:
        kept.append(torch.ones(1 << 10, 1 << 8).exp())
        kept.append(torch.ones(2, 3) @ torch.ones(3, 4))
        kept.append(torch.ones(2, 3) @ torch.ones(3, 5))
    row = next(e for e in prof.key_averages() if e.key == "aten::exp")
    assert row.self_cpu_memory_usage == pytest.approx(1 << 20, rel=0.001)
    shapes = [e.input_shapes for e in prof.events() if e.name == "aten::matmul"]
    assert shapes == [[[2, 3], [3, 4]], [[2, 3], [3, 5]]]
    with profile() as plain:
        torch.ones(1 << 18).exp()
    row = next(e for e in plain.key_averages() if e.key == "aten::exp")
    assert (row.self_cpu_memory_usage, plain.events()[0].input_shapes) == (0, [])


def test_times_are_those_of_the_clock():
    a = torch.ones(192, 192)
    a @ a
    measured = []
    with profile() as prof:
        for _ in range(200):
            begun = time.perf_counter_ns()
            a @ a
            measured.append(time.perf_counter_ns() - begun)
    told = [e.stop_ns - e.start_ns for e in prof.events() if e.name == "aten::matmul"]
    assert len(told) == 200
    assert all(ours <= theirs * 1.001 for ours, theirs in zip(told, measured, strict=True))
    shares = [ours / theirs for ours, theirs in zip(told, measured, strict=True)]
    assert median(shares) == pytest.approx(1, abs=0.03)  # others use the processor too


# ---- schedules and names, as PyTorch has them


def run_by_schedule(torch):
    """Which ops each report had: step n runs its own op."""
    profiler = torch.profiler
    ops = ("exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt", "abs", "neg")
    reports = []

    def ready(prof):
        found = {e.key for e in prof.key_averages()}
        reports.append((prof.step_num, sorted({f"aten::{op}" for op in ops} & found)))

    plan = profiler.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    x = torch.ones(3)
    with profiler.profile(schedule=plan, on_trace_ready=ready) as prof:
        for op in ops:
            getattr(x, op)()
            prof.step()
    return reports


def test_a_schedule_records_its_active_steps():
    assert run_by_schedule(torch) == [
        (5, ["aten::sinh", "aten::tan"]),  # steps 3 and 4
        (9, ["aten::abs", "aten::sqrt"]),  # steps 7 and 8
    ]


def test_compare_a_schedule_with_pytorch():
    theirs = pytest.importorskip("torch")
    assert run_by_schedule(torch) == run_by_schedule(theirs)


@pytest.mark.parametrize(
    "options", [(1, 1, 2, 0, 0), (0, 0, 1, 2, 3), (2, 0, 3, 1, 1), (0, 1, 1, 0, 0)]
)
def test_compare_the_actions_of_a_schedule_with_pytorch(options):
    theirs = pytest.importorskip("torch").profiler
    names = ("wait", "warmup", "active", "repeat", "skip_first")
    given = dict(zip(names, options, strict=True))
    ours = [schedule(**given)(n).name for n in range(20)]
    assert ours == [theirs.schedule(**given)(n).name for n in range(20)]
    assert {"RECORD", "RECORD_AND_SAVE"} & set(ours) <= {a.name for a in ProfilerAction}


def trained(torch):
    """The names in the profile of a training step."""
    nn = torch.nn
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(100, 5)
    )
    optimizer = torch.optim.Adam(net.parameters())
    x, y = torch.randn(2, 3, 12, 12), torch.tensor([1, 2])
    with torch.profiler.profile() as prof, torch.profiler.record_function("all"):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    return {e.key for e in prof.key_averages()}


NAMES = {
    *("all", "aten::conv2d", "aten::convolution", "aten::_convolution", "aten::relu"),
    *("aten::max_pool2d", "aten::linear", "aten::log_softmax", "aten::nll_loss"),
    "aten::convolution_backward",
    *("autograd::engine::evaluate_function: ConvolutionBackward0", "ConvolutionBackward0"),
    *("ReluBackward0", "AddmmBackward0", "NllLossBackward0", "LogSoftmaxBackward0"),
    *("torch::autograd::AccumulateGrad", "Optimizer.step#Adam.step"),
    "Optimizer.zero_grad#Adam.zero_grad",
}


def test_events_have_pytorchs_names():
    assert trained(torch) >= NAMES


def test_compare_the_names_with_pytorch():
    assert trained(pytest.importorskip("torch")) >= NAMES


# ---- what goes wrong meanwhile


def test_factories_are_ops_of_the_records_and_run_no_python():
    x, kept = torch.ones(4), torch.randn
    calls = {
        "randn": lambda: torch.randn(4),
        "randint": lambda: torch.randint(5, (4,)),
        "zeros": lambda: torch.zeros(4),
        "arange": lambda: torch.arange(4),
        "tensor": lambda: torch.tensor([1.0, 2.0]),
        "new_zeros": lambda: x.new_zeros(4),
        "full_like": lambda: torch.full_like(x, 2.0),
        "normal_": x.normal_,
        "bernoulli_": x.bernoulli_,
        "to": lambda: x.to(torch.float64),
    }
    for call in calls.values():
        call()
    entered = []
    references = sys.getrefcount(kept)
    with profile() as prof:
        for call in calls.values():
            sys.setprofile(lambda frame, what, _: entered.append((frame.f_code, what)))
            call()
            sys.setprofile(None)
            with pytest.raises((TypeError, RuntimeError)):
                torch.zeros(-1)
        nn.functional.dropout(x)
    ran = {code.co_name for code, what in entered if what == "call"}
    assert ran <= {"<lambda>"}
    counts = {e.key: e.count for e in prof.key_averages()}
    expected = {f"aten::{name}": 1 for name in calls} | {"aten::bernoulli_": 2}
    expected["aten::zeros"] += len(calls)  # those that raised
    assert {name: counts.get(name) for name in expected} == expected
    del prof, counts
    gc.collect()
    assert sys.getrefcount(kept) == references


def test_an_interrupt_ends_the_profile_and_leaves_nothing():
    call = nn.Module.__call__
    net = nn.Sequential(nn.Linear(3, 3))
    net[0].register_forward_pre_hook(lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt), profile() as prof, record_function("part"):
        torch.ones(3).exp()
        net(torch.ones(3))
    assert {"part", "aten::exp"} <= keys(prof)
    assert nn.Module.__call__ is call
    with profile() as later:
        torch.ones(3).sin()
    assert "aten::exp" not in keys(later)


def test_a_range_that_another_thread_ends_ends_nothing_there():
    part = record_function("part")
    with profile() as prof:
        part.__enter__()
        with record_function("around"):

            def other():
                with record_function("there"):
                    part.__exit__(None, None, None)
                    torch.ones(3).exp()

            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
    there = next(e for e in prof.events() if e.name == "there")
    assert [e.name for e in there.cpu_children][-1] == "aten::exp"


def test_each_thread_has_its_own_runs_and_name_after_its_end(tmp_path):
    def work():
        with record_function("there"):
            torch.ones(3).exp()

    with profile() as prof:
        threads = [threading.Thread(target=work, name=f"worker {n}") for n in range(2)]
        for thread in threads:
            thread.start()
            thread.join()
        with record_function("here"):
            torch.ones(3).sin()
    there = [e for e in prof.events() if e.name == "there"]
    assert [c.name for e in there for c in e.cpu_children if c.name == "aten::exp"] == [
        "aten::exp"
    ] * 2
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    found = json.loads((tmp_path / "trace.json").read_text("utf-8"))["traceEvents"]
    names = [e["args"]["name"] for e in found if e["name"] == "thread_name"]
    assert sorted(names) == [threading.current_thread().name, "worker 0", "worker 1"]


def test_profiles_that_overlap_have_each_their_own():
    outer, inner = profile(), profile()
    outer.start()
    torch.ones(3).exp()
    inner.start()
    torch.ones(3).sin()
    outer.stop()
    torch.ones(3).cos()
    inner.stop()
    torch.ones(3).tan()
    ours = [{"aten::exp", "aten::sin", "aten::cos", "aten::tan"} & keys(p) for p in (outer, inner)]
    assert ours == [{"aten::exp", "aten::sin"}, {"aten::sin", "aten::cos"}]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_process_ends_its_copy_alone():
    with profile() as prof:
        torch.ones(3).exp()
        child = os.fork()
        if not child:
            torch.ones(3).tan()
            prof.stop()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        torch.ones(3).sin()
    assert {"aten::exp", "aten::sin"} <= keys(prof)
    assert "aten::tan" not in keys(prof)


def test_records_hold_what_they_name_and_let_go_with_the_profile():
    def run():
        net = nn.Linear(3, 3)
        scope = {}
        exec("def program(net, x): return net(x)", scope)
        scope["program"](net, torch.ones(3))
        return weakref.ref(net), weakref.ref(scope["program"])

    with profile(with_stack=True) as prof:
        module, function = run()
        gc.collect()
        assert function() is None  # its code is held, whose lines are asked for at the end
    assert "aten::linear" in keys(prof)
    del prof
    gc.collect()
    assert module() is None


def test_steps_of_classes_that_are_made_meanwhile_are_ranges_and_nothing_stays():
    before = torch.optim.SGD.step, torch.optim.Optimizer.__init__
    w = torch.ones(3, requires_grad=True)
    with profile() as prof:

        class Mine(torch.optim.SGD):
            def step(self, closure=None):
                w.detach().exp()

        for _ in range(2):
            Mine([w], lr=0.1).step()
    counts = {e.key: e.count for e in prof.key_averages()}
    assert counts["Optimizer.step#Mine.step"] == 2
    event = next(e for e in prof.events() if e.name == "Optimizer.step#Mine.step")
    assert "aten::exp" in [e.name for e in event.cpu_children]
    assert (torch.optim.SGD.step, torch.optim.Optimizer.__init__) == before
    assert "step" not in vars(Mine) or Mine.step.__code__.co_filename == __file__


@pytest.mark.parametrize("keeps", ["scheduler", "hook", "both"])
def test_steps_of_an_optimizer_that_was_changed_before_are_ranges(keeps):
    net = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    if keeps != "scheduler":
        optimizer.register_step_post_hook(lambda *_: None)
    if keeps != "hook":
        torch.optim.lr_scheduler.StepLR(optimizer, 5)
    net(torch.ones(1, 2)).sum().backward()
    with profile() as prof:
        optimizer.step()
    counts = {e.key: e.count for e in prof.key_averages()}
    assert counts["Optimizer.step#SGD.step"] == 1


def test_a_captured_step_is_recorded_and_stays_captured():
    net = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    @torch.compile
    def step(x):
        loss = net(x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    plain = [float(step(torch.ones(2, 3))) for _ in range(6)]
    with profile() as prof:
        seen = [float(step(torch.ones(2, 3))) for _ in range(6)]
    steps = [b - a for a, b in zip([*plain, *seen], [*plain, *seen][1:], strict=False)]
    assert steps == pytest.approx([steps[0]] * 11, rel=1e-4)
    assert keys(prof)
