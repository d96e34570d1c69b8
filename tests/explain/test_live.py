"""`rushlight run --watch --serve`: programs in processes of their own, and their live page in
Chromium, while they run and after their end."""

import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from watched import HOSTILE, TRAIN

from _alone import PATIENCE

# A step for each line that it is sent; x is halved by each, so the losses are 25, 25/4, 25/16.
ASKED = """
import sys
import torch
x = torch.tensor([3.0, 4.0], requires_grad=True)
optimizer = torch.optim.SGD([x], lr=0.25)
for line in sys.stdin:
    if line == "raise\\n":
        raise KeyError("the end")
    optimizer.zero_grad()
    (x * x).sum().backward()
    optimizer.step()
    print("step", flush=True)
"""

# Units 1 and 3 of the first layer are below zero for each x, so that nothing reaches their rows.
LAYERS = """
import sys
import torch
from torch import nn
torch.manual_seed(0)
x = torch.rand(16, 4)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(9, 4)
        self.first = nn.Linear(4, 5)
        self.drop = nn.Dropout(0.5)
        self.last = nn.Linear(5, 2)
    def forward(self, x):
        x = x + self.words(torch.tensor(2))
        return self.last(self.drop(torch.relu(self.first(x))))
model = Net()
with torch.no_grad():
    model.first.bias.copy_(torch.tensor(eval(sys.argv[1])))
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
for step in range(12):
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    print(loss.item())
print([p.norm().item() for p in model.first.parameters()])
"""
DEAD, SOUND = "[9., -99., 9., -99., 9.]", "[9., 9., 9., 9., 9.]"


class Running:
    """A program under the command, on pipes."""

    def __init__(self, folder, text, *options):
        (folder / "prog.py").write_text(text, encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rushlight", "run", "--watch", "--serve", "prog.py", *options],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        said = self.process.stderr.readline()
        self.address = re.fullmatch(r"rushlight watch: live at (http://\S+)\n", said)[1]

    def step(self):
        """One step, done."""
        self.send("go")
        assert self.process.stdout.readline() == "step\n"

    def send(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def ends(self):
        """Close its input; what it says on standard error until the end."""
        return self.process.communicate(timeout=PATIENCE)[1]

    def state(self):
        return json.loads(self.get("data?tab=test&after=0"))["run"]

    def get(self, name, address=None, **how):
        request = urllib.request.Request((address or self.address) + name, **how)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.read().decode()

    def refused(self, *what, code=404, **how):
        with pytest.raises(urllib.error.HTTPError) as caught:
            self.get(*what, **how)
        caught.value.close()
        return caught.value.code == code

    def close(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def running(tmp_path):
    """Starts a program, `ASKED` of none, and ends it with the test."""
    made = []

    def start(text=ASKED, *options):
        made.append(Running(tmp_path, text, *options))
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.fixture
def look(browser):
    """Opens a live page; fails where it writes an error, raises, or asks another server."""
    context = browser.new_context()
    complaints = []

    def look(program, width=1280, dark=False):
        tab = context.new_page()
        tab.set_default_timeout(PATIENCE * 1000)
        tab.set_viewport_size({"width": width, "height": 800})
        tab.emulate_media(color_scheme="dark" if dark else "light")
        tab.on("console", lambda m: m.type == "error" and complaints.append(m.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("request", lambda r: r.url.startswith(program.address) or complaints.append(r.url))
        tab.goto(program.address)
        tab.wait_for_selector("body[data-ready]")
        return tab

    yield look
    context.close()
    allowed = ("about:", "data:", "Failed to load resource: net::")  # the last of a program's end
    assert [c for c in complaints if not c.startswith(allowed)] == []


def finished(folder, text, *arguments, options=("--watch", "--serve")):
    """Runs a program to its end; the process, and the data of its page."""
    (folder / "prog.py").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "rushlight", "run", *options, "prog.py", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE,
    )
    file = folder / "prog.watch.html"
    return done, data_of(file) if file.exists() else None


def data_of(file):
    text = file.read_text(encoding="utf-8")
    return json.loads(re.search(r'json" id="data">(.*?)</script>', text)[1])


def losses_of(run):
    """The row of the only loss."""
    (row,) = run["charts"][0]["rows"]
    return row


def on(tab, name):
    return tab.get_by_test_id(name)


def says(tab, name, text):
    """Wait for a text there."""
    on(tab, name).filter(has_text=text).wait_for()


# ---- the server


def test_the_state_while_the_program_runs(running):
    program = running()
    assert [chart["rows"] for chart in program.state()["charts"]] == [[], []]
    for _ in range(3):
        program.step()
    state = program.state()
    (loss,), (group,) = (chart["rows"] for chart in state["charts"])
    (layer,) = state["layers"]
    assert (loss["name"], loss["curve"]["end"]) == ("prog.py:10", [25, 6.25, 1.5625])
    assert (group["name"], group["curve"]["end"]) == ("SGD", [10, 5, 2.5])
    assert (layer["name"], layer["elements"]) == ("x", 2)
    assert layer["gradients"]["curve"]["end"] == [10, 5, 2.5]
    assert layer["weights"]["curve"]["end"] == [5, 2.5, 1.25]
    low, high, counts = layer["gradients"]["shape"]
    assert (low, high, sum(counts), counts[0], counts[-1]) == (1.5, 2, 2, 1, 1)
    assert layer["gradients"]["first"][:2] == [6, 8]
    assert state["graphs"][0]["step"] == 1


def test_only_who_has_the_token_is_answered(running):
    program = running()
    host, token = re.fullmatch(r"http://(127\.0\.0\.1:\d+)/([\w-]{22,})/", program.address).groups()
    for address in (f"http://{host}/", f"http://{host}/{token[:-1]}/", f"http://{host}/x{token}/"):
        for name in ("", "data?tab=a&after=0", "graph?number=0", "more"):
            assert program.refused(name, address)
    for host in ("rebound.example", "rebound.example:80", "127.0.0.1.example:80", ""):
        assert program.refused("", headers={"Host": host})
    for method in ("POST", "PUT", "DELETE"):
        assert program.refused("more", method=method, code=501)
    assert program.state()["graphs"] == []
    program.step()
    for name in ("../secret", "graph?number=99", "graph?number=x", "data", "data?tab=a&after=["):
        assert program.refused(name)
    assert "<!doctype html>" in program.get("")
    assert "<!doctype html>" in program.get("", headers={"Host": "localhost:9"})  # a tunnel's end


def test_other_addresses_of_the_machine_are_not_served(running):
    import socket

    program = running()
    port = int(re.search(r":(\d+)/", program.address)[1])
    with socket.socket() as other, pytest.raises(OSError):
        other.connect(("127.0.0.2", port))


# ---- the page, while the program runs


def test_the_page_follows_the_program_and_outlives_it(running, look, tmp_path):
    program = running()
    tab = look(program)
    assert on(tab, "status").inner_text() == "live"
    program.step()
    says(tab, "Loss", "prog.py:10 25")
    program.step()
    says(tab, "Loss", "prog.py:10 6.25")
    on(tab, "more").click()
    tab.locator("[data-testid=more]:disabled").wait_for()
    program.step()
    says(tab, "graphs", "pass 3")
    assert "the page is in prog.watch.html" in program.ends()
    says(tab, "status", "ended")
    tab.get_by_role("button", name="pass 3").click()
    frame = tab.frame_locator("#frame")
    frame.locator("body[data-ready]").wait_for()
    assert re.search(r"norm 2\.5\b", frame.locator("body").inner_text())  # x's, in the third pass
    on(tab, "close").click()
    assert not on(tab, "opened").is_visible()


def test_a_graph_is_opened_while_the_program_runs(running, look):
    program = running()
    program.step()
    tab = look(program)
    on(tab, "Loss").locator("svg").click()
    tab.frame_locator("#frame").locator("body[data-ready]").wait_for()
    assert tab.locator("#opened-title").inner_text() == "Pass 1: backward in line 10"


@pytest.mark.parametrize("error", ["KeyError: 'the end'", "KeyboardInterrupt"])
def test_an_exception_is_shown(running, look, tmp_path, error):
    program = running()
    tab = look(program)
    program.step()
    if error == "KeyboardInterrupt":
        program.process.send_signal(signal.SIGINT)
    else:
        program.send("raise")
    assert program.ends().endswith(f"{error}\n") and program.process.returncode not in (0, None)
    says(tab, "status", "ended:")
    assert on(tab, "status").inner_text() == f"ended: {error}"
    assert data_of(tmp_path / "prog.watch.html")["run"]["error"] == error


def test_a_program_that_is_killed_leaves_its_page(running, look, tmp_path):
    program = running()
    program.step()
    tab = look(program)
    says(tab, "Loss", "25")
    file = tmp_path / "prog.watch.html"
    while not file.exists():
        tab.wait_for_timeout(50)
    program.process.kill()
    says(tab, "status", "gone")
    assert "25" in on(tab, "Loss").inner_text()
    assert losses_of(data_of(file)["run"])["curve"]["end"] == [25]
    assert [f.name for f in tmp_path.iterdir() if f.suffix == ".part"] == []


# ---- the file


def test_dead_units_are_named(tmp_path):
    for bias, dead in ((DEAD, [1, 3]), (SOUND, [])):
        _, data = finished(tmp_path, LAYERS, bias)
        layers = {layer["name"]: layer for layer in data["run"]["layers"]}
        assert list(layers) == ["model.words", "model.first", "model.last"]
        assert [layer["kind"] for layer in layers.values()] == ["Embedding", "Linear", "Linear"]
        assert layers["model.first"]["which"] == dead
        assert layers["model.first"]["dead"] == len(dead) and layers["model.first"]["units"] == 5
        assert [layers[f"model.{name}"]["dead"] for name in ("words", "last")] == [0, 0]


def test_layers_without_gradients_are_not_dead(page, tmp_path):
    text = """
import torch
from torch import nn
frozen, unused, used, bad, late = (nn.Linear(40, 40) for _ in range(5))
frozen.requires_grad_(False)
every = [p for part in (frozen, unused, used, bad, late) for p in part.parameters()]
optimizer = torch.optim.SGD(every, lr=0.0)
with torch.no_grad():
    late.bias.fill_(99)
    late.bias[:20] = -99
for step in range(15):
    optimizer.zero_grad()
    out = used(frozen(torch.ones(2, 40))).sum() + torch.relu(late(torch.ones(2, 40))).sum()
    out = out + (bad(torch.ones(2, 40))[:, 1:] * float("nan")).sum()
    out.backward()
    optimizer.step()
"""
    _, data = finished(tmp_path, text)
    layers = {layer["name"]: layer for layer in data["run"]["layers"]}
    dead = {"frozen": 0, "unused": 0, "used": 0, "bad": 1, "late": 20}
    assert {name: layer["dead"] for name, layer in layers.items()} == dead
    tab = page(tmp_path / "prog.watch.html", width=375)
    tab.wait_for_selector("body[data-ready]")
    cells = on(tab, "layers").locator("tbody td:last-child")
    told = ["frozen", "no gradient", "0 of 40", "not finite"]
    assert cells.all_inner_texts()[:4] == told
    assert [cells.nth(i).locator(".bad").count() for i in range(5)] == [0, 0, 0, 0, 1]
    assert cells.nth(4).bounding_box()["height"] < 90


def test_the_program_computes_the_same(tmp_path):
    """The graphs' own backwards, and the looks at layers, change no number and draw none."""
    plain, _ = finished(tmp_path, LAYERS, DEAD, options=())
    watched, data = finished(tmp_path, LAYERS, DEAD)
    assert plain.stdout == watched.stdout
    losses = [float(line) for line in plain.stdout.splitlines()[:12]]
    assert losses_of(data["run"])["curve"]["end"] == pytest.approx(losses, rel=1e-4)
    norms = json.loads(plain.stdout.splitlines()[-1])
    # The last look is before the last step: a step of so small a rate changes little.
    found = next(l for l in data["run"]["layers"] if l["name"] == "model.first")["weights"]
    whole = (norms[0] ** 2 + norms[1] ** 2) ** 0.5
    assert found["curve"]["end"][-1] == pytest.approx(whole, rel=1e-2)


# Of each, a backward that is run twice changes the numbers that follow: h is what goes on.
CODE_IN_BACKWARD = {
    "a Function": "h = Noisy.apply(net(x))",
    "hooks": "h = net(x); h.register_hook(noise); net[0].weight.register_hook(noise)",
    "a module's hook": "net[0].register_full_backward_hook(draw); h = net(x)",
    "a checkpoint": "h = checkpoint(net, x, use_reentrant=False)",
    "an older checkpoint": "h = checkpoint(net, x.requires_grad_(), use_reentrant=True)",
    "a saved tensor": "with saved_tensors_hooks(lambda t: t, draw): h = net(x)",
    "a hook on a node": "h = net(x); h.grad_fn.register_hook(draw)",
}


@pytest.mark.parametrize("case", CODE_IN_BACKWARD)
def test_no_code_of_the_program_runs_twice(tmp_path, case):
    text = f"""
import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)
count = []
def noise(g):
    count.append(g)
    return g + 0.1 * torch.randn_like(g)
def draw(given, *_):
    torch.rand(1)
    count.append(given)
    return given if isinstance(given, torch.Tensor) else None
class Noisy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return noise(g)
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for i in range(4):
    x = torch.randn(8, 4)
    {CODE_IN_BACKWARD[case]}
    loss = (h - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(len(count), net[1].running_mean.tolist(), net[0].weight.tolist(), torch.rand(1).item())
"""
    plain, _ = finished(tmp_path, text, options=())
    assert plain.returncode == 0
    served, data = finished(tmp_path, text)
    assert served.stdout == plain.stdout
    notes = [json.loads(graph)["notes"] for graph in data["graphs"]]
    assert notes and all("runs code of the program" in note for (note,) in notes)
    paged = subprocess.run(
        [sys.executable, "-m", "rushlight", "explain", "--continue", "prog.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert paged.stdout == plain.stdout


@pytest.mark.parametrize("width, dark", [(1280, False), (375, False), (1280, True)])
def test_the_file(page, tmp_path, width, dark):
    finished(tmp_path, LAYERS, DEAD)
    tab = page(tmp_path / "prog.watch.html", width=width, dark=dark)
    tab.wait_for_selector("body[data-ready]")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    small = """[...document.querySelectorAll('body *')].filter(e => e.clientWidth
        && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())
        && parseFloat(getComputedStyle(e).fontSize) < 11).length"""
    assert tab.evaluate(small) == 0
    assert on(tab, "theme").is_visible() and on(tab, "pick").is_visible()
    rows = on(tab, "layers").locator("tbody tr")
    assert rows.count() == 3 and "2 of 5: 1, 3" in rows.nth(1).inner_text()
    background = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    on(tab, "theme").click()
    after = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    light, black = "rgb(251, 251, 249)", "rgb(20, 23, 27)"
    assert (background, after) == ((black, light) if dark else (light, black))


def test_by_keyboard(page, tmp_path):
    finished(tmp_path, TRAIN)
    tab = page(tmp_path / "prog.watch.html")
    tab.wait_for_selector("body[data-ready]")
    for _ in range(20):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.dataset.testid") == "at":
            break
    values = [("End", 3, 1.5625), ("ArrowLeft", 2, 6.25), ("Home", 1, 25)]
    for key, step, value in values:
        tab.keyboard.press(key)
        assert tab.locator("#pass").inner_text() == str(step)
        assert on(tab, "Loss").get_by_role("listitem").inner_text() == f"prog.py:7 {value:g}"
    tab.keyboard.press("Enter")
    tab.frame_locator("#frame").locator("body[data-ready]").wait_for()
    assert tab.locator("#opened-title").inner_text() == "Pass 1: backward in line 7"
    tab.frame_locator("#frame").locator("body").press("Escape")
    assert not on(tab, "opened").is_visible()
    assert tab.evaluate("document.activeElement.dataset.testid") == "at"


def test_two_runs_are_compared(page, tmp_path):
    _, first = finished(tmp_path, TRAIN)
    assert first["before"] is None
    other = Path(tmp_path / "prog.watch.html").rename(tmp_path / "kept.html")
    finished(tmp_path, TRAIN.replace("0.25", "0.125"))  # x is times 3/4: 25, 14.0625
    _, third = finished(tmp_path, TRAIN)
    before = losses_of(third["before"])["curve"]["end"]
    assert before == pytest.approx([25 * (9 / 16) ** n for n in range(3)], rel=1e-4)
    assert "before" not in third["before"]
    tab = page(tmp_path / "prog.watch.html")
    tab.wait_for_selector("body[data-ready]")
    curves = on(tab, "Loss").get_by_role("listitem")
    assert curves.all_inner_texts() == ["prog.py:7 1.5625", "before: prog.py:7 7.91"]
    assert on(tab, "Loss").locator(".before.course").count() == 1
    on(tab, "compare").uncheck()
    assert curves.all_inner_texts() == ["prog.py:7 1.5625"]
    assert on(tab, "Loss").locator(".before.course").count() == 0
    on(tab, "file").set_input_files(tmp_path / "prog.py")
    says(tab, "message", "prog.py is no page of a training run.")
    on(tab, "file").set_input_files(other)
    says(tab, "Loss", "before: prog.py:7 1.5625")
    assert curves.all_inner_texts() == ["prog.py:7 1.5625", "before: prog.py:7 1.5625"]


def test_names_that_try_to_be_markup(page, tmp_path):
    done, _ = finished(tmp_path, HOSTILE.replace("_hidden", "</script><img src=x onerror=a()>"))
    assert done.returncode == 0
    tab = page(tmp_path / "prog.watch.html")
    tab.wait_for_selector("body[data-ready]")
    assert "</script><img src=x onerror=a()>" in on(tab, "Gradient norm").inner_text()
    assert tab.locator("img").count() == 0


def test_nan_is_marked_and_its_graph_is_kept(page, tmp_path):
    text = TRAIN.replace("range(3)", "range(20)").replace(
        "(x * x)", "(x * x * (float('nan') if i > 12 else 1))"
    )
    _, data = finished(tmp_path, text)
    assert losses_of(data["run"])["curve"]["bad"] == list(range(13, 20))
    assert 14 in [graph["step"] for graph in data["run"]["graphs"]]
    tab = page(tmp_path / "prog.watch.html")
    tab.wait_for_selector("body[data-ready]")
    assert on(tab, "Loss").locator(".not-finite").count() == 7
    assert "7 not finite, first at 14" in on(tab, "Loss").inner_text()


# ---- the command


def test_two_models(tmp_path):
    """Two optimizers in turn, each with a loss of its own: nothing is mixed up."""
    text = """
import torch
from torch import nn
torch.manual_seed(0)
maker, judge = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
first, second = torch.optim.SGD(maker.parameters(), lr=0.1), torch.optim.Adam(judge.parameters())
for step in range(3):
    judge.zero_grad()
    judge(maker(torch.ones(5, 2)).detach()).mean().backward()
    second.step()
    maker.zero_grad()
    judge(maker(torch.ones(5, 2))).mean().backward()
    first.step()
    print(sum(p.grad.square().sum() for p in maker.parameters()).sqrt().item())
"""
    done, data = finished(tmp_path, text)
    losses, norms = (chart["rows"] for chart in data["run"]["charts"])
    assert [loss["name"] for loss in losses] == ["prog.py:9", "prog.py:12"]
    assert [[v is not None for v in loss["curve"]["end"]] for loss in losses] == [
        [True, False] * 3,
        [False, True] * 3,
    ]
    layers = {layer["name"]: layer["gradients"]["curve"]["end"] for layer in data["run"]["layers"]}
    assert set(layers) == {"maker", "judge.0", "judge.2"}
    assert layers["maker"][::2] == [None] * 3
    printed = [float(line) for line in done.stdout.split()]
    assert layers["maker"][1::2] == pytest.approx(printed, rel=1e-4)
    of_judge = [norms[0]["curve"]["end"][i] for i in (0, 2, 4)]
    parts = [(layers["judge.0"][i] ** 2 + layers["judge.2"][i] ** 2) ** 0.5 for i in (0, 2, 4)]
    assert parts == pytest.approx(of_judge, rel=1e-3)


def test_a_layer_says_of_which_pass_it_is(page, tmp_path):
    text = TRAIN.replace("range(3)", "range(30)")  # the last ten are over before a second look
    _, data = finished(tmp_path, text)
    (layer,) = data["run"]["layers"]
    curve = layer["weights"]["curve"]["end"]
    assert layer["looked"] == max(i for i, v in enumerate(curve, 1) if v is not None) < 30
    tab = page(tmp_path / "prog.watch.html")
    tab.wait_for_selector("body[data-ready]")
    cells = on(tab, "layers").locator("tbody td").all_inner_texts()
    heads = on(tab, "layers").locator("th").all_inner_texts()
    assert dict(zip(heads, cells, strict=True))["at pass"] == str(layer["looked"])


@pytest.mark.parametrize(
    "factor, rounds, said, more",
    [("nan", 3, "NaN", " · 3 not finite, first at 1"), ("inf", 1, "∞", "")],
)
def test_what_is_not_finite_is_said_once(page, tmp_path, factor, rounds, said, more):
    text = TRAIN.replace("(x * x)", f"(x * x * float('{factor}'))")
    text = text.replace("range(3)", f"range({rounds})")
    finished(tmp_path, text)
    tab = page(tmp_path / "prog.watch.html")
    tab.wait_for_selector("body[data-ready]")
    legend = on(tab, "Loss").get_by_role("listitem").inner_text()
    assert legend == f"prog.py:7 {said}{more}"
    assert on(tab, "Loss").locator("b.bad").inner_text() == said
    cells = on(tab, "layers").locator("tbody td").all_inner_texts()
    gradients, weights, units = (cell == "not finite" for cell in cells[-3:])
    assert (gradients, weights, units) == (True, factor == "nan", True)


def test_a_graph_that_the_server_does_not_have_is_not_shown(running, look):
    program = running()
    program.step()
    tab = look(program)
    says(tab, "graphs", "pass 1")
    tab.evaluate("""() => { plain = fetch; window.fetch = (at) => at.startsWith("graph")
        ? Promise.resolve(new Response("There is no such page.", {status: 404})) : plain(at) }""")
    tab.get_by_role("button", name="pass 1").click()
    says(tab, "message", "was not fetched")
    tab.evaluate("() => { window.fetch = plain }")
    tab.get_by_role("button", name="pass 1").click()
    tab.frame_locator("#frame").locator("body[data-ready]").wait_for()


def test_each_loss_has_graphs(page, tmp_path):
    """A click at a curve opens the nearest graph of that loss."""
    text = """
import torch, time
x, y = torch.tensor(100.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
for step in range(20):
    time.sleep(0.05)
    (x * 1).backward()
    (y * 1).backward()
"""
    _, data = finished(tmp_path, text)
    graphs = data["run"]["graphs"]
    of = {line: [g["step"] for g in graphs if g["line"] == line] for line in (6, 7)}
    assert min(map(len, of.values())) > 1 and of[6][0] == 1
    assert [g["loss"] for g in graphs] == [f"prog.py:{g['line']}" for g in graphs]
    tab = page(tmp_path / "prog.watch.html")
    tab.wait_for_selector("body[data-ready]")
    for top, line in ((20, 6), (205, 7)):
        on(tab, "Loss").locator("svg").click(position={"x": 300, "y": top})
        assert tab.locator("#opened-title").inner_text().endswith(f"backward in line {line}")
        on(tab, "close").click()


def test_models_under_one_name(tmp_path):
    """Each model has rows of its own; a new optimizer of the same model goes on with the rows."""
    text = """
import torch
from torch import nn
for width in (3, 5, 5):
    net = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 1))
    with torch.no_grad():
        net[0].bias[0] = -99 if width == 3 else 99
    for rate in (0.01, 0.02):
        optimizer = torch.optim.SGD(net.parameters(), lr=rate)
        for step in range(6 if width == 3 else 2):
            optimizer.zero_grad()
            net(torch.rand(8, 4)).square().mean().backward()
            optimizer.step()
"""
    done, data = finished(tmp_path, text)
    assert "Error" not in done.stderr and data["run"]["trouble"] == []
    layers = {layer["name"]: layer for layer in data["run"]["layers"]}
    names = ["net.0", "net.2", "net.0 #2", "net.2 #2", "net.0 #3", "net.2 #3"]
    assert list(layers) == names
    assert [layers[name]["elements"] for name in names] == [15, 4, 25, 6, 25, 6]
    curves = [layers[name]["weights"]["curve"]["end"] for name in names]
    assert [sum(v is not None for v in curve) for curve in curves] == [12, 12, 4, 4, 4, 4]
    assert [layers[name]["dead"] for name in names] == [1, 0, 0, 0, 0, 0]


def test_a_layer_that_cannot_be_looked_at(page, tmp_path):
    """What is wrong is said in the page, and the other layers are shown."""
    text = """
import torch
from rushlight.explain import _live
kept = _live._array
def refusing(t):
    if t.shape == (2,):
        raise ValueError("no numbers <b>")
    return kept(t)
_live._array = refusing
bad, good = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([bad, good], lr=0.1)
(bad.sum() + good.sum()).backward()
optimizer.step()
"""
    _, data = finished(tmp_path, text)
    bad, good = data["run"]["layers"]
    assert (bad["elements"], good["elements"]) == (0, 3)
    assert good["weights"]["shape"] is not None
    tab = page(tmp_path / "prog.watch.html")
    tab.wait_for_selector("body[data-ready]")
    assert on(tab, "trouble").inner_text() == "bad: ValueError: no numbers <b>"


@pytest.mark.parametrize("low, high", [(-1e308, 1e308), (1.7e308, 1.7e308), (0.0, 5e-324)])
def test_numbers_at_the_ends_of_their_type_have_a_row(tmp_path, low, high):
    text = f"""
import torch
x = torch.tensor([{low}, {high}], dtype=torch.float64, requires_grad=True)
optimizer = torch.optim.SGD([x], lr=1e-9)
x.sum().backward()
optimizer.step()
"""
    done, data = finished(tmp_path, text)
    assert "Error" not in done.stderr and data["run"]["trouble"] == []
    (layer,) = data["run"]["layers"]
    assert layer["elements"] == 2 and layer["gradients"]["shape"][2]


def test_an_optimizer_with_a_closure(tmp_path):
    text = """
import torch
x = torch.tensor([3.0, 4.0], requires_grad=True)
optimizer = torch.optim.LBFGS([x], lr=0.1, max_iter=2)
def closure():
    optimizer.zero_grad()
    loss = (x * x).sum()
    loss.backward()
    return loss
for step in range(3):
    optimizer.step(closure)
    print(x.norm().item())
"""
    done, data = finished(tmp_path, text)
    (layer,) = data["run"]["layers"]
    weights = [v for v in layer["weights"]["curve"]["end"] if v is not None]
    assert weights == pytest.approx([float(line) for line in done.stdout.split()], rel=1e-4)
    assert data["run"]["clock"] == len(losses_of(data["run"])["curve"]["end"]) == 6


def test_no_graph_no_optimizer_and_nothing_at_all(page, tmp_path):
    for text in ("print(1)", "import torch\ntorch.ones(2, requires_grad=True).sum().backward()"):
        done, data = finished(tmp_path, text)
        assert done.returncode == 0 and data["run"]["layers"] == []
        tab = page(tmp_path / "prog.watch.html")
        tab.wait_for_selector("body[data-ready]")
        assert on(tab, "status").inner_text() == "ended"


def test_wrong_words(tmp_path):
    for options, said in (
        (["--serve=page.png"], "page.png: the name of a .html file is expected"),
        (["--serve=no/page.html"], "no/page.html: there is no such folder"),
        (["--serve", "--nproc", "2"], "--serve shows one process"),
    ):
        done, data = finished(tmp_path, "", options=options)
        assert done.returncode == 2 and said in done.stderr and data is None


def test_the_programs_own_words_are_left(tmp_path):
    text = "import sys; print(sys.argv[1:])"
    done, _ = finished(tmp_path, text, "--serve", "--watch", options=("--serve=mine.html",))
    assert done.stdout == "['--serve', '--watch']\n"
    assert (tmp_path / "mine.html").exists() and not (tmp_path / "prog.watch.png").exists()


def test_a_child_process_does_not_serve(tmp_path):
    done, data = finished(
        tmp_path,
        """
import os, torch
x = torch.ones(2, requires_grad=True)
def listening():
    with open("/proc/net/tcp") as table:
        ours = {line.split()[9] for line in table if line.split()[3] == "0A"}
    links = []
    for name in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            pass
    return sum(f"socket:[{inode}]" in links for inode in ours)
print("parent", listening(), flush=True)
if os.fork() == 0:
    print("child", listening(), flush=True)
    raise SystemExit
os.wait()
(x * x).sum().backward()
""",
    )
    assert done.stdout == "parent 1\nchild 0\n", done.stderr
    assert data["run"]["clock"] == 1


def test_a_file_that_cannot_be_written(tmp_path):
    (tmp_path / "gone").mkdir()
    text = TRAIN + "import os; os.rmdir('gone')\n"
    done, _ = finished(tmp_path, text, options=("--serve=gone/page.html",))
    assert done.returncode == 0
    assert "gone/page.html was not written: No such file or directory" in done.stderr


def test_nobody_who_does_not_serve_pays(tmp_path):
    text = TRAIN + "import sys\nprint('http.server' in sys.modules)\n"
    done, _ = finished(tmp_path, text, options=("--watch=a.png",))
    assert done.stdout.endswith("False\n")
