"""`explain.profile`: sums that are known beforehand, and the page in a browser."""

import re
import threading
import time

import pytest

import rushlight as torch
from rushlight import explain, nn
from rushlight.utils.data import DataLoader, TensorDataset


class Slow(nn.Module):
    """A layer whose time is known: it sleeps."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        time.sleep(self.seconds)
        return self.inner(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Slow(0.02), Slow(0.06)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


class Sleepy(TensorDataset):
    def __getitem__(self, at):
        time.sleep(0.01)
        return super().__getitem__(at)


@pytest.fixture(scope="module")
def seen():
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    loader = DataLoader(Sleepy(torch.randn(6, 4)), batch_size=2)
    with explain.profile(title="test") as taken:
        for (x,) in loader:
            optimizer.zero_grad()
            net(x).square().mean().backward()
            optimizer.step()
        time.sleep(0.05)
    return taken


def test_parts_have_the_time_that_they_slept(seen):
    parts = seen.parts
    assert sum(row.ns for row in parts.values()) == seen.wall_ns
    assert parts["data"].ns >= 60e6
    assert parts["forward"].ns >= 240e6
    assert parts["rest"].ns >= 50e6
    calls = {part: row.calls for part, row in parts.items()}
    assert calls == {"data": 4, "forward": 3, "backward": 3, "optimizer": 3, "rest": 0}


def clocked():
    """A profile of 150 steps, and what the program's own clock says: of each part, and of all."""
    net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(128, 64)
    spent = dict.fromkeys(("forward", "backward", "optimizer"), 0)

    def timed(part, call):
        begun = time.perf_counter_ns()
        result = call()
        spent[part] += time.perf_counter_ns() - begun
        return result

    with explain.profile() as taken:
        begun = time.perf_counter_ns()
        for _ in range(150):
            loss = timed("forward", lambda: net(x).square().mean())
            timed("backward", loss.backward)
            timed("optimizer", optimizer.step)
            timed("optimizer", optimizer.zero_grad)
        whole = time.perf_counter_ns() - begun
    return taken, spent, whole


def test_sums_are_those_of_the_programs_own_clock():
    shares = []
    for _ in range(5):
        taken, spent, whole = clocked()
        parts = taken.parts
        assert sum(row.ns for row in parts.values()) == pytest.approx(whole, rel=0.03)
        spots = taken.records.spots
        assert sum(spot.self_ns for spot in spots) == pytest.approx(whole, rel=0.03)
        shares.append({part: parts[part].ns / ns for part, ns in spent.items()})
        assert max(shares[-1].values()) <= 1.001, shares
    # The clock has the calls of lambdas too, and, between a call and its record, others' use of the
    # processor: that comes and goes.
    for part in spent:
        assert max(share[part] for share in shares) >= 0.7, shares


def test_modules_are_instances_by_their_names_in_the_model(seen):
    rows = {row.name: row for row in seen.modules}
    assert rows["net.blocks.0"].ns >= 60e6
    assert rows["net.blocks.1"].ns >= 180e6
    assert {"net.blocks.0.inner", "net.blocks.1.inner"} <= rows.keys()
    assert rows["net.blocks.0.inner"].ns < 60e6  # the sleep is not of the layer inside


def test_each_table_adds_up_to_all_but_the_time_outside(seen):
    result = seen
    inside = result.wall_ns - result.records.root.self_ns
    for rows in (result.modules, result.lines, result.ops):
        assert sum(row.ns for row in rows) == inside


def test_memory_is_that_of_the_line_which_keeps_it():
    kept = []
    with explain.profile() as taken:
        for _ in range(3):
            kept.append(torch.ones(1 << 18).exp())
    row = next(row for row in taken.ops if row.name == "exp")
    assert row.calls == 3
    assert row.bytes == pytest.approx(3 << 20, rel=0.001)  # blocks are rounded up
    assert taken.records.peak >= 3 << 20


def test_what_ran_before_and_after_is_not_in_it_and_nothing_stays():
    call, step = nn.Module.__call__, torch.optim.Optimizer.zero_grad
    torch.ones(3).tan()
    with explain.profile() as taken:
        torch.ones(3).exp()
    torch.ones(3).tan()
    names = {row.name for row in taken.ops}
    assert "exp" in names
    assert "tan" not in names
    assert nn.Module.__call__ is call
    assert torch.optim.Optimizer.zero_grad is step


def test_a_step_that_calls_the_step_of_its_class_is_one():
    class Own(torch.optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    net = nn.Linear(2, 2)
    optimizer = Own(net.parameters(), lr=0.1)
    with explain.profile() as taken:
        for _ in range(5):
            net(torch.ones(1, 2)).sum().backward()
            optimizer.step()
    assert taken.parts["optimizer"].calls == 5


def test_other_threads_are_in_all_tables_but_the_first():
    net, ready, done = Slow(0.02), threading.Event(), threading.Event()

    class Stuck(nn.Module):
        def forward(self, x):
            net(x)
            ready.set()
            done.wait()

    thread = threading.Thread(target=Stuck(), args=(torch.ones(1, 4),))
    with explain.profile() as taken:
        thread.start()
        ready.wait()
    done.set()
    thread.join()
    parts = {part: row.ns for part, row in taken.parts.items()}
    assert parts == dict.fromkeys(parts, 0) | {"rest": taken.wall_ns}
    for rows in (taken.modules, taken.lines, taken.ops):
        assert sum(row.ns for row in rows) >= 20e6
        assert min(row.ns for row in rows) >= 0  # of a call that goes on, what ended in it
    assert "linear" in {row.name for row in taken.ops}
    assert re.search("; [0-9.]+ ms in other threads, which all tables but the first", str(taken))


def test_a_profile_that_has_not_ended_says_so():
    taken = explain.profile()
    assert repr(taken) == "<profile, not ended>"
    with taken:
        assert repr(taken) == "<profile, not ended>"
        for figures in ("parts", "modules", "lines", "ops"):
            with pytest.raises(RuntimeError, match="has not ended"):
                getattr(taken, figures)
    assert repr(taken).startswith("the block: ")
    assert taken.parts


def test_a_profile_inside_of_one_is_refused_and_the_outer_goes_on():
    with explain.profile() as taken:
        with pytest.raises(RuntimeError, match="being taken already"), explain.profile():
            pass
        with torch.profiler.profile() as inner:
            torch.ones(3).tan()
        torch.ones(3).exp()
    assert {"tan", "exp"} <= {row.name for row in taken.ops}
    assert {"aten::tan"} <= {e.key for e in inner.key_averages()}
    assert "aten::exp" not in {e.key for e in inner.key_averages()}


def test_an_error_leaves_no_range_open():
    net = nn.Sequential(nn.Linear(3, 4))
    with explain.profile() as taken:
        for _ in range(2):
            with pytest.raises(RuntimeError):
                net(torch.ones(2, 5))
        torch.ones(3).exp()
    exp = next(s for s in taken.records.spots if s.name == "aten::exp")
    assert exp.parent is taken.records.root


def test_the_page_opens_at_a_bar_and_has_the_tables(seen, tmp_path, page):
    file = tmp_path / "profile.html"
    seen.page(file)
    tab = page(file)
    flame = tab.get_by_test_id("flame")
    assert flame.get_by_role("button").first.inner_text() == "the program"
    bar = flame.get_by_role("button", name=re.compile("^blocks.1"))
    shares = [flame.get_by_role("button", name=re.compile(f"^blocks.{n} .Slow")) for n in (0, 1)]
    narrow, wide = (one.bounding_box()["width"] for one in shares)
    assert wide / narrow == pytest.approx(3, rel=0.3)  # 0.06 s and 0.02 s
    bar.first.focus()
    tab.keyboard.press("Enter")
    assert flame.get_by_role("button").first.inner_text() == "blocks.1 (Slow)"
    assert "net.blocks.1" in tab.get_by_test_id("told").inner_text()
    tab.keyboard.press("Escape")
    assert flame.get_by_role("button").first.inner_text() == "net (Net)"
    assert "net.blocks.0.inner" in tab.get_by_test_id("by-module").inner_text()
    tab.get_by_test_id("theme").click()
    assert tab.evaluate("document.documentElement.dataset.theme") == "dark"


def test_the_page_fits_a_telephone(seen, tmp_path, page):
    seen.page(tmp_path / "profile.html")
    tab = page(tmp_path / "profile.html", width=375, height=700)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 375
