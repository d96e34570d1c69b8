"""Errors in the calls of modules: PyTorch's sentence first, then which module it was, the tensors
that came in, and which layers made them."""

import contextlib
import gc
import re
import subprocess
import sys
import textwrap
import traceback
import weakref

import pytest

from _subject import torch

nn = torch.nn


def failing(run, kind=RuntimeError):
    """The lines of the error that a call raises."""
    with pytest.raises(kind) as error:
        run()
    return str(error.value).splitlines()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 32)
        self.norm = nn.LayerNorm(32)
        self.out = nn.Linear(32, 16)
        self.pos = nn.Parameter(torch.zeros(5, 16))

    def forward(self, x):
        y = self.out(torch.relu(self.norm(self.fc(x))))
        return x + y + self.pos


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(10, 16)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(32, 4)

    def forward(self, i):
        x = self.emb(i)
        for block in self.blocks:
            x = block(x)
        return self.head(x.flatten(1))  # flattened


def line_of(mark):
    with open(__file__, encoding="utf-8") as file:
        return next(n for n, text in enumerate(file, 1) if text.endswith(f"# {mark}\n"))


# ---- where, and from where


def test_a_deep_sequential():
    model = nn.Sequential(
        nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 64)),
        nn.Sequential(nn.LayerNorm(32), nn.ReLU()),
    )
    assert failing(lambda: model(torch.ones(8, 16))) == [
        "Given normalized_shape=[32], expected input with shape [*, 32], but got input of "
        "size[8, 64]",
        "in model.1.0, LayerNorm(32): normalized_shape=32 got 64",
        "  input: float32 [8, 64], made by model.0.2, Linear(32, 64)",
        "  shapes, layer by layer:",
        "    [8, 16]  given to model",
        "    [8, 32]  model.0.0, Linear(16, 32)",
        "    [8, 32]  relu",
        "    [8, 64]  model.0.2, Linear(32, 64)",
    ]


def test_without_a_graph_a_sequential_knows_what_ran_before():
    model = nn.Sequential(nn.Linear(16, 32), nn.Sequential(nn.ReLU()), nn.Linear(64, 2))
    with torch.no_grad():
        lines = failing(lambda: model(torch.ones(8, 16)))
    assert lines[0] == "mat1 and mat2 shapes cannot be multiplied (8x32 and 64x2)"
    assert lines[-2:] == [
        "in model.2, Linear(64, 2): in_features=64 got 32",
        "  input: float32 [8, 32], made by model.1.0, ReLU()",
    ]


class Straight(nn.Module):
    """Calls in several ways, the last of which fails."""

    def __init__(self, way):
        super().__init__()
        self.way = way
        self.a, self.b = nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 5), nn.ReLU())
        self.c = nn.Linear(6, 2)

    def forward(self, x):
        if self.way == "nested":
            return self.c(self.b(self.a(x)))
        if self.way == "lines":
            x = self.a(x)
            x = self.b(x)
            return self.c(x)
        if self.way == "branch":
            x = self.a(x)
            if self.way:
                x = self.b(x)
            return self.c(x)
        y = x = self.b(self.a(x))
        return self.c(y) + x


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("nested", ", made by model.b.1, ReLU()"),
        ("lines", ", made by model.b.1, ReLU()"),
        ("branch", ""),  # not told, rather than told wrong
        ("twice", ""),
    ],
)
def test_without_a_graph_the_source_says_who_made_it(way, said):
    model = Straight(way)
    with torch.no_grad():
        lines = failing(lambda: model(torch.ones(8, 3)))
    assert lines[2:] == [
        "in model.c, Linear(6, 2): in_features=6 got 5",
        f"  input: float32 [8, 5]{said}",
    ]


def test_the_modules_own_code_that_fails():
    net = Net()
    lines = failing(lambda: net(torch.zeros(8, 6, dtype=torch.int64)))
    assert lines[0].startswith("The size of tensor a (6) must match the size of tensor b (5)")
    assert lines[1:5] == [
        "in net.blocks.0, Block",
        "  x: float32 [8, 6, 16], made by net.emb, Embedding(10, 16)",
        "  self.pos: float32 [5, 16]",
        "  y: float32 [8, 6, 16], made by net.blocks.0.out, Linear(32, 16)",
    ]


def test_a_value_that_no_layer_made_has_its_line():
    net = Net()
    lines = failing(lambda: net(torch.zeros(8, 5, dtype=torch.int64)))
    assert "in net.head, Linear(32, 4): in_features=32 got 80" in lines
    (came,) = [line for line in lines if line.startswith("  input: float32 [8, 80]")]
    assert f"test_failure.py:{line_of('flattened')}, after net.blocks.1, Block" in came
    assert lines[lines.index("  shapes, layer by layer:") + 1] == "    [8, 5]      given to net"
    assert "    [8, 5, 32]  net.blocks.1.norm, LayerNorm(32)" in lines


def test_modules_that_a_script_calls_in_a_loop():
    blocks = nn.ModuleList([nn.Linear(4, 4), nn.Linear(5, 4)])

    def loop():
        x = torch.ones(2, 4)
        for b in blocks:
            x = b(x)

    assert "in blocks.1, Linear(5, 4): in_features=5 got 4" in failing(loop)


def test_a_module_among_the_attributes_of_a_trainer():
    class Trainer:
        def __init__(self):
            self.model = nn.Sequential(nn.Linear(2, 3))

        def step(self):
            self.model(torch.ones(4, 3))

    assert "in self.model.0, Linear(2, 3): in_features=2 got 3" in failing(Trainer().step)


def test_a_module_without_a_name():
    lines = failing(lambda: nn.Linear(2, 3)(torch.ones(4, 3)))
    assert lines[2:] == ["in Linear(2, 3): in_features=2 got 3", "  input: float32 [4, 3]"]


def test_a_missing_argument():
    net = Net()
    assert failing(lambda: net(), TypeError) == [
        "Net.forward() missing 1 required positional argument: 'i'",
        "in net, Net",
    ]


# ---- hints


def test_features_that_are_still_in_several_dimensions():
    head = nn.Linear(12, 2)
    assert (
        "in head, Linear(12, 2): in_features=12 got 2. flatten(1) before it gives [5, 12]"
        in failing(lambda: head(torch.ones(5, 3, 2, 2)))
    )


@pytest.mark.parametrize(
    ("make", "shape", "hint"),
    [
        (lambda: nn.Conv2d(3, 4, 3), (1, 5, 8, 8), "Conv2d(3, 4, (3, 3)): in_channels=3 got 5"),
        (lambda: nn.Conv1d(3, 4, 2), (5, 8), "Conv1d(3, 4, 2): in_channels=3 got 5"),
        (lambda: nn.BatchNorm1d(3), (2, 4), "BatchNorm1d(3): num_features=3 got 4"),
        (lambda: nn.LSTM(3, 4), (2, 1, 5), "LSTM(3, 4): input_size=3 got 5"),
        (
            lambda: nn.LayerNorm((2, 3)),
            (4, 3, 2),
            "LayerNorm((2, 3)): normalized_shape=(2, 3) got (3, 2)",
        ),
    ],
)
def test_sizes_of_layers(make, shape, hint):
    layer = make()
    text = "\n".join(failing(lambda: layer(torch.ones(shape))))
    assert f"\nin layer, {hint}\n" in text


def test_a_size_that_the_error_is_not_about_is_no_hint():
    layer = nn.BatchNorm2d(3)
    assert failing(lambda: layer(torch.ones(2, 4)), ValueError) == [
        "expected 4D input (got 2D input)",
        "in layer, BatchNorm2d(3)",
        "  input: float32 [2, 4]",
    ]


def test_assertions():
    """The library's have a longer text, the program's a note."""
    layer = nn.MultiheadAttention(8, 2)
    lines = failing(lambda: layer(*[torch.ones(3, 2, 6)] * 3), AssertionError)
    assert lines == [
        "was expecting embedding dimension of 8, but got 6",
        "in layer, MultiheadAttention: embed_dim=8 got 6",
        "  query: float32 [3, 2, 6]",
        "  key: float32 [3, 2, 6]",
        "  value: float32 [3, 2, 6]",
    ]
    mine = Raises(AssertionError())
    with pytest.raises(AssertionError) as error:
        mine(torch.ones(2))
    assert error.value.args == () and error.value.__notes__[0].startswith("in mine, Raises()")


def test_data_of_another_type():
    np = pytest.importorskip("numpy")
    model = nn.Sequential(nn.Linear(2, 3))
    data = torch.from_numpy(np.ones((4, 2)))
    lines = failing(lambda: model(data))
    assert lines[0] == "mat1 and mat2 must have the same dtype, but got Double and Float"
    assert lines[1] == (
        "in model.0, Linear(2, 3): input is float64, its parameters are float32. "
        "Call .float() on the data, or model.double()."
    )
    model.double()
    lines = failing(lambda: model(torch.ones(4, 2)))
    assert lines[1].endswith("Call .double() on the data, or model.float().")


@pytest.mark.parametrize("shape", [(5,), (2, 3), ()])
def test_targets_out_of_range(shape):
    """In the last place; the native loss and the one in NumPy say the same."""
    scores = torch.zeros(10) if not shape else torch.zeros(shape[0], 10, *shape[1:])
    target = torch.zeros(shape, dtype=torch.int64)
    target[tuple(n - 1 for n in shape)] = 10
    where = f"target{[n - 1 for n in shape] or ''} is 10."
    for kind in (torch.int64, torch.uint8):
        lines = failing(
            lambda kind=kind: nn.functional.cross_entropy(scores, target.to(kind)), IndexError
        )
        assert lines == [
            "Target 10 is out of bounds.",
            f"The input has 10 classes, so targets run from 0 to 9; -100 is ignored. {where}",
        ]


def test_how_many_targets_are_out_of_range():
    criterion = nn.CrossEntropyLoss(ignore_index=0)
    lines = failing(lambda: criterion(torch.zeros(4, 3), torch.tensor([0, 3, -1, 7])), IndexError)
    assert lines[1] == (
        "The input has 3 classes, so targets run from 0 to 2. target[1] is 3, and 2 more are out "
        "of range."
    )
    assert lines[2:] == [
        "in criterion, CrossEntropyLoss()",
        "  input: float32 [4, 3]",
        "  target: int64 [4]",
    ]


# ---- errors of the program


class Raises(nn.Module):
    def __init__(self, error):
        super().__init__()
        self.error = error

    def forward(self, x):
        raise self.error


class Rethrows(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)

    def forward(self, x):
        try:
            return self.fc(x)
        except RuntimeError as error:
            raise ValueError("wrong input") from error


def test_an_error_that_the_program_raises_keeps_its_text():
    model = nn.Sequential(Raises(ValueError("mine")))
    with pytest.raises(ValueError) as error:
        model(torch.ones(2))
    assert str(error.value) == "mine"
    assert error.value.__notes__ == ["in model.0, Raises()\n  x: float32 [2]"]


@pytest.mark.parametrize("kind", [type("Mine", (RuntimeError,), {}), KeyError, StopIteration])
def test_errors_of_other_classes_stay_as_they_are(kind):
    error = kind("mine")
    with pytest.raises(kind):
        nn.Sequential(Raises(error))(torch.ones(2))
    assert error.args == ("mine",) and not hasattr(error, "__notes__")


def test_an_error_that_is_caught_inside_and_raised_anew_tells_the_outer_module():
    outer = Rethrows()
    with pytest.raises(ValueError) as error:
        outer(torch.ones(4, 3))
    assert error.value.__notes__ == ["in outer, Rethrows\n  x: float32 [4, 3]"]
    assert "in outer.fc, Linear(2, 3): in_features=2 got 3" in str(error.value.__cause__)


def test_each_error_is_told_once_and_its_traceback_is_the_same():
    model = nn.Sequential(nn.Sequential(nn.Sequential(nn.Linear(2, 3))))
    with pytest.raises(RuntimeError) as error:
        model(torch.ones(4, 3))
    assert str(error.value).count("in_features=2") == 1
    names = [f.name for f in traceback.extract_tb(error.value.__traceback__)]
    assert [n for n in names if n in ("__call__", "forward")] == ["__call__", "forward"] * 4


def test_hooks_are_between():
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(4, 1))
    for module in model.modules():
        module.register_forward_hook(lambda *_: None)
    lines = failing(lambda: model(torch.ones(4, 2)))
    assert "in model.1, Linear(4, 1): in_features=4 got 3" in lines
    assert "  input: float32 [4, 3], made by model.0, Linear(2, 3)" in lines


def test_nothing_of_the_call_is_kept():
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(4, 1))
    gc.collect()
    gc.disable()
    try:
        for call in (model, Rethrows()):
            x = torch.ones(4, 2)
            gone = weakref.ref(x)
            with contextlib.suppress(RuntimeError, ValueError):
                call(x)
            del x
            assert gone() is None
    finally:
        gc.enable()


def test_the_room_is_read_when_a_call_fails_and_not_before():
    program = """
        import sys
        import rushlight as torch
        model = torch.nn.Linear(2, 3)
        model(torch.ones(4, 2)).sum().backward()
        print("rushlight.explain" in sys.modules)
        try:
            model(torch.ones(4, 3))
        except RuntimeError as error:
            print(error)
    """
    run = [sys.executable, "-c", textwrap.dedent(program)]
    lines = subprocess.run(run, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[0] == "False"
    assert re.search(r"^in model, Linear\(2, 3\): in_features=2 got 3$", "\n".join(lines), re.M)
