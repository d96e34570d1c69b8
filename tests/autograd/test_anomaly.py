"""Anomaly mode and the profiler."""

import gzip
import json
import re
import warnings

import pytest

from _subject import NAME, submodule, torch

ours = pytest.mark.skipif(NAME == "torch", reason="beyond what PyTorch does")


def caught(run, kind=RuntimeError):
    """(text of the error, texts of the warnings)."""
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        with pytest.raises(kind) as error:
            run()
    return str(error.value), [str(x.message) for x in w]


def test_the_place_of_forward_is_shown():
    def run():
        with torch.autograd.detect_anomaly():
            x = torch.zeros(1, requires_grad=True)
            y = torch.sqrt(x) * 0  # the guilty line
            y.backward()

    text, said = caught(run)
    assert text.startswith("Function 'SqrtBackward0' returned nan values in its 0th output.")
    shown = next(s for s in said if s.startswith("Error detected in SqrtBackward0."))
    assert "test_anomaly.py" in shown and "y = torch.sqrt(x) * 0" in shown


def test_as_a_function_and_nested():
    assert not torch.is_anomaly_enabled()
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        assert torch.is_anomaly_enabled() and not torch.is_anomaly_check_nan_enabled()
        with torch.autograd.set_detect_anomaly(False):
            assert not torch.is_anomaly_enabled()
        assert torch.is_anomaly_enabled()
    assert not torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled()


def test_nan_is_let_through_when_not_checked():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly(check_nan=False):
            x = torch.zeros(1, requires_grad=True)
            (torch.sqrt(x) * 0).backward()
    assert x.grad.isnan().all()


def test_nodes_keep_their_place():
    with torch.autograd.set_detect_anomaly(True):
        y = torch.ones(1, requires_grad=True).exp()
    assert "test_anomaly.py" in y.grad_fn.metadata["traceback_"][-1]


def test_functions_are_watched_too():
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * float("nan")

    def run():
        with torch.autograd.set_detect_anomaly(True):
            F.apply(torch.ones(1, requires_grad=True)).backward()

    text, said = caught(run)
    assert text.startswith("Function 'FBackward' returned nan values in its 0th output.")
    assert any("F.apply" in s for s in said)


def test_what_induced_a_second_backward():
    def run():
        with torch.autograd.set_detect_anomaly(True):
            x = torch.zeros(1, requires_grad=True)
            (g,) = torch.autograd.grad(x.pow(1.5).sum(), x, create_graph=True)
            (h,) = torch.autograd.grad(g, x, create_graph=True)
            (h * 0).backward()

    _, said = caught(run)
    assert any("Previous calculation was induced by PowBackward0." in s for s in said)


@ours
def test_infinities():
    def run():
        with torch.autograd.set_detect_anomaly(True, check_inf=True):
            torch.sqrt(torch.zeros(2, requires_grad=True)).sum().backward()

    text, _ = caught(run)
    assert text.startswith("Function 'SqrtBackward0' returned inf values in its 0th output.")
    assert "2 of 2 elements, first at index (0,)" in text


@ours
def test_the_first_bad_result_of_forward_is_named():
    def run():
        with torch.autograd.set_detect_anomaly(True):
            x = torch.tensor([1.0, -1.0], requires_grad=True)
            y = x.log()  # the first bad operation
            (y * 2).exp().sum().backward()

    text, _ = caught(run)
    assert "The first bad value of forward: nan from 'log', 1 of 2 elements" in text
    assert "y = x.log()  # the first bad operation" in text and "from -1.0 to 1.0" in text


@ours
def test_forward_may_raise_at_once():
    def run():
        with torch.autograd.set_detect_anomaly(True, check_forward=True):
            torch.tensor([-1.0]).log()

    text, _ = caught(run)
    assert text.startswith("Function 'log' returned nan values in its 0th output. In forward:")


def test_profile_counts_and_times():
    x = torch.ones(10, requires_grad=True)
    with torch.autograd.profiler.profile() as prof:
        with torch.autograd.profiler.record_function("my part"):
            y = x.sin().sin()
        y.sum().backward()
    averages = {e.key: e for e in prof.key_averages()}
    assert averages["aten::sin"].count == 2 and averages["my part"].count == 1
    assert averages["my part"].cpu_time_total >= averages["aten::sin"].cpu_time_total > 0
    assert any(k.startswith("autograd::engine::evaluate_function: SinBackward0") for k in averages)
    table = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10)
    assert "Self CPU %" in table and "aten::sin" in table and "Self CPU time total:" in table


def test_profile_records_shapes_when_asked():
    with torch.autograd.profiler.profile(record_shapes=True) as prof:
        torch.ones(2, 3).sin()
    (event,) = [e for e in prof.key_averages(group_by_input_shape=True) if e.key == "aten::sin"]
    assert event.input_shapes == [[2, 3]]
    (again,) = [e for e in prof.function_events if e.name == "aten::sin"]
    assert again.cpu_time_total > 0


def test_profile_has_the_nodes_of_backward():
    x = torch.ones(3, requires_grad=True)
    with torch.autograd.profiler.profile() as prof:
        x.sin().sum().backward()
    counts = {e.key: e.count for e in prof.key_averages()}
    for name in ("SinBackward0", "SumBackward0", "torch::autograd::AccumulateGrad"):
        assert counts[name] == counts[f"autograd::engine::evaluate_function: {name}"] == 1
    event = prof.function_events[0]
    assert event.time_range.elapsed_us() == pytest.approx(event.cpu_time_total, abs=0.1)
    assert event.cpu_time_total_str.endswith("s")


def test_profile_in_steps():
    profiler = submodule("profiler")
    ready = []
    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU],
        schedule=profiler.schedule(wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=lambda p: ready.append(
            (p.step_num, {e.key: e.count for e in p.key_averages()}.get("aten::sin"))
        ),
    ) as prof:
        for _ in range(6):
            torch.ones(1).sin()
            prof.step()
    assert ready == [(4, 2)]


def test_trace_is_json_with_events(tmp_path):
    profiler = submodule("profiler")
    with profiler.profile() as prof:
        torch.ones(1).sin()
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(str(path))
    profiler.tensorboard_trace_handler(str(tmp_path / "all"), use_gzip=True)(prof)
    (packed,) = (tmp_path / "all").glob("*.pt.trace.json.gz")
    for text in (path.read_bytes(), gzip.decompress(packed.read_bytes())):
        assert "aten::sin" in [e.get("name") for e in json.loads(text)["traceEvents"]]


def test_times_in_one_unit():
    with submodule("autograd.profiler").profile() as prof:
        torch.ones(1).sin()
    table = prof.key_averages().table(time_unit="s", sort_by="count")
    assert re.search(r"aten::sin .* 0\.000s ", table) and "us" not in table


def test_the_error_itself_is_raised_where_warnings_are_errors(capfd):
    x = torch.tensor([-1.0], requires_grad=True)

    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise KeyError("mine")

    with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
        warnings.simplefilter("error")
        with pytest.raises(RuntimeError, match=r"^Function 'SqrtBackward0' returned nan values"):
            x.sqrt().sum().backward()
        with pytest.raises(KeyError, match="mine"):
            Broken.apply(x).sum().backward()
    assert "Error detected in SqrtBackward0" in capfd.readouterr().err


def test_the_switches_are_bools():
    for given, text in (
        (("a",), "argument 'enabled' (position 1) must be bool, not str"),
        ((1,), "argument 'enabled' (position 1) must be bool, not int"),
        ((True, None), "argument 'check_nan' (position 2) must be bool, not NoneType"),
    ):
        with pytest.raises(TypeError, match="set_anomaly_enabled.*" + re.escape(text)):
            torch.autograd.set_detect_anomaly(*given)
    assert not torch.is_anomaly_enabled()
