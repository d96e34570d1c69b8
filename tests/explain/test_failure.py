"""Errors in the calls of modules: PyTorch's sentence first, then which module it was, the tensors
that came in, and which layers made them."""

import ast
import contextlib
import copy
import gc
import pickle
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
        "    [8, 32]  model.0.1, ReLU()",
        "    [8, 64]  model.0.2, Linear(32, 64)",
    ]


def test_without_a_graph_a_sequential_knows_what_ran_before():
    model = nn.Sequential(nn.Linear(16, 32), nn.Sequential(nn.ReLU()), nn.Linear(64, 2))
    with torch.no_grad():
        lines = failing(lambda: model(torch.ones(8, 16)))
    assert lines[0] == "mat1 and mat2 shapes cannot be multiplied (8x32 and 64x2)"
    assert lines[2:] == [
        "in model.2, Linear(64, 2): in_features=64 got 32",
        "  input: float32 [8, 32], made by model.1.0, ReLU()",
        "  shapes, layer by layer:",
        "    [8, 16]  given to model",
        "    [8, 32]  model.0, Linear(16, 32)",
        "    [8, 32]  model.1.0, ReLU()",
    ]


def test_the_list_of_shapes_runs_nothing_again():
    """Neither random numbers nor buffers change, and no code of the program runs."""
    calls = []

    class Mine(nn.Module):
        def forward(self, x):
            calls.append(x.shape)
            return x

    def layers(*more):
        return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(), *more)

    with torch.no_grad():
        for wrong in (layers(nn.Linear(5, 2)), layers(Mine(), nn.Linear(5, 2))):
            right = layers()
            right.load_state_dict(wrong[:3].state_dict())
            torch.manual_seed(1)
            right(torch.ones(3, 4))
            drawn = torch.rand(3)
            torch.manual_seed(1)
            lines = failing(lambda wrong=wrong: wrong(torch.ones(3, 4)))
            assert torch.equal(torch.rand(3), drawn)
            for name, value in right.state_dict().items():
                assert torch.equal(value, wrong.state_dict()[name]), name
            assert ("    [3, 6]  wrong.2, Dropout()" in lines) == (len(wrong) == 4)
        assert calls == [(3, 6)]
        assert "  input: float32 [3, 6], made by wrong.3, Mine()" in lines


def test_the_list_of_shapes_runs_no_hook():
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(5, 2))
    calls = []
    model[1].register_forward_hook(lambda *_: calls.append(1))
    with torch.no_grad():
        lines = failing(lambda: model(torch.ones(3, 4)))
    assert calls == [1]
    assert lines[-1] == "  input: float32 [3, 6], made by model.1, ReLU()"


class Cell(nn.Module):
    """Layers without parameters before and after one with parameters."""

    def __init__(self, before, after):
        super().__init__()
        self.before = nn.Tanh() if before else None
        self.fc = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 4))
        self.after = nn.Sigmoid() if after else None

    def forward(self, x):
        if self.before is not None:
            x = self.before(x)
        x = self.fc(x)
        return x if self.after is None else self.after(x)


@pytest.mark.parametrize(("before", "after"), [(False, True), (True, False), (True, True)])
def test_layers_without_parameters_have_their_names(before, after):
    """Of several modules with the same code none is named wrongly: at worst the op is told."""
    model = nn.Sequential(Cell(before, after), Cell(before, after), nn.Linear(3, 2))
    lines = failing(lambda: model(torch.ones(2, 4, requires_grad=True)))
    shown = [
        line.split(maxsplit=2)[2] for line in lines[lines.index("  shapes, layer by layer:") :][2:]
    ]
    expected = []
    for cell in ("model.0", "model.1"):
        expected += [f"{cell}.before, Tanh()"] * before
        expected += [
            f"{cell}.fc.0, Linear(4, 6)",
            f"{cell}.fc.1, ReLU()",
            f"{cell}.fc.2, Linear(6, 4)",
        ]
        expected += [f"{cell}.after, Sigmoid()"] * after
    ops = {"Tanh()": "tanh", "Sigmoid()": "sigmoid"}
    assert all(a in (b, ops.get(b.split()[-1])) for a, b in zip(shown, expected, strict=True)), (
        shown
    )
    assert sum("fc" in line for line in shown) == 6
    assert not after or "model.1.after, Sigmoid()" in shown


def test_a_module_that_is_called_twice():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.act, self.fc = nn.ReLU(), nn.Linear(4, 6)

        def forward(self, x):
            return self.fc(self.act(self.fc(x)))

    model = Twice()
    for mode in (torch.no_grad, torch.enable_grad):
        with mode():
            lines = failing(lambda: model(torch.ones(2, 4)))
        assert lines[2:4] == [
            "in model.fc, Linear(4, 6): in_features=4 got 6",
            "  input: float32 [2, 6], made by model.act, ReLU()",
        ]


def test_tensors_in_lists_and_tuples_that_came_in():
    layer = nn.LSTM(3, 4)
    state = torch.zeros(1, 2, 4), torch.zeros(1, 2, 5)
    lines = failing(lambda: layer(torch.ones(6, 2, 3), state))
    assert lines[1:] == [
        "in layer, LSTM(3, 4)",
        "  input: float32 [6, 2, 3]",
        "  hx[0]: float32 [1, 2, 4]",
        "  hx[1]: float32 [1, 2, 5]",
    ]


def test_a_compiled_model():
    model = torch.compile(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(4, 1)))
    for _ in range(2):
        lines = failing(lambda: model(torch.ones(5, 2)))
        assert "in model.2, Linear(4, 1): in_features=4 got 3" in lines
        assert "  input: float32 [5, 3], made by model.1, ReLU()" in lines


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


class Tied(nn.Module):
    def __init__(self, way):
        super().__init__()
        self.way, self.emb, self.head = way, nn.Embedding(50, 8), nn.Linear(8, 50, bias=False)
        self.head.weight = self.emb.weight
        self.fc, self.out = nn.Linear(8, 50), nn.Linear(40, 2)

    def forward(self, i):
        x = self.emb(i)
        if self.way == "head":
            return self.out(self.head(x))
        if self.way == "emb":
            return self.out(x)
        if self.way == "sequential":
            return nn.Sequential(self.emb, self.head, self.out)(i)
        x = x.detach()
        if self.way == "operator":
            return self.out(x @ self.fc.weight.t())
        return self.out(nn.functional.linear(x, self.fc.weight))  # by a function


@pytest.mark.parametrize(
    ("way", "made"),
    [
        ("head", "model.head, Linear(8, 50)"),
        ("emb", "model.emb, Embedding(50, 8)"),
        ("sequential", "model.head, Linear(8, 50)"),
        ("operator", "matmul, "),
        ("function", "linear, "),
    ],
)
def test_parameters_that_others_use_too(way, made):
    """The call tells which module it was; one that was not called is not named."""
    model = Tied(way)
    lines = failing(lambda: model(torch.zeros(2, 3, dtype=torch.int64)))
    (came,) = [line for line in lines if line.startswith("  input: ")]
    assert f", made by {made}" in came and "after" not in came
    assert not any("model.fc" in line for line in lines)
    assert sum("model.emb" in line for line in lines) <= (2 if way == "emb" else 1)


@pytest.mark.parametrize("size", [6, 7])
def test_the_list_of_shapes_begins_where_the_outermost_module_does(size):
    first = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 6))
    second = nn.Sequential(nn.Linear(size, 5), nn.ReLU(), nn.Linear(4, 1))
    lines = failing(lambda: second(first(torch.ones(2, 4))))
    made = "second.1, ReLU()" if size == 6 else "first.2, Linear(8, 6)"
    assert lines[3].endswith(f", made by {made}")
    assert lines[4:] == [
        "  shapes, layer by layer:",
        "    [2, 6]  given to second",
        "    [2, 5]  second.0, Linear(6, 5)",
        "    [2, 5]  second.1, ReLU()",
    ] * (size == 6)


def test_a_file_is_parsed_once(monkeypatch):
    model, texts, parse = Straight("lines"), [], ast.parse
    monkeypatch.setattr(ast, "parse", lambda text, *how: texts.append(text) or parse(text, *how))
    for _ in range(3):
        with torch.no_grad():
            assert "made by model.b.1, ReLU()" in failing(lambda: model(torch.ones(8, 3)))[3]
    assert sum("class Straight" in text for text in texts) <= 1


ply, squash = nn.Softplus(), nn.Softplus()


class Hides(nn.Module):
    """Variables with names that modules of the program have too."""

    def __init__(self, loop):
        super().__init__()
        self.loop, self.acts, self.fc = loop, nn.ModuleList([nn.Tanh()]), nn.Linear(5, 2)

    def forward(self, x):
        for ply in self.acts[: self.loop]:
            x = ply(x)
        if not self.loop:
            squash = self.acts[0]
            x = squash(x)
        return self.fc(x)


@pytest.mark.parametrize("loop", [0, 1])
@pytest.mark.parametrize("graph", [True, False])
def test_a_variable_of_a_function_hides_that_of_the_program(loop, graph):
    model = Hides(loop)
    lines = failing(lambda: model(torch.ones(2, 4, requires_grad=graph)))
    (came,) = [line for line in lines if line.startswith("  input: ")]
    assert "Softplus" not in came and ("tanh" in came) == graph


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


def test_a_model_of_the_program_without_a_name():
    lines = failing(lambda: Straight("lines")(torch.ones(8, 3)))
    assert lines[2:4] == [
        "in Straight.c, Linear(6, 2): in_features=6 got 5",
        "  input: float32 [8, 5], made by Straight.b.1, ReLU()",
    ]


class Broken(nn.Module):
    """Without super().__init__()."""

    def __init__(self):
        self.size = 3

    def forward(self, x):
        return x @ torch.ones(5, 5)


class Walks(nn.Module):
    """With a method of the program's own that fails."""

    def named_modules(self, *how, **more):
        raise RuntimeError("mine")

    def forward(self, x):
        return x @ torch.ones(5, 5)


@pytest.mark.parametrize("kind", [Broken, Walks])
def test_a_module_that_cannot_tell_its_parts(kind):
    other, held, model = kind(), [kind()], nn.Sequential(nn.Linear(2, 3))
    lines = failing(lambda: model(torch.ones(4, 3)))
    assert "in model.0, Linear(2, 3): in_features=2 got 3" in lines
    assert f"in other, {kind.__name__}()" in failing(lambda: other(torch.ones(4, 3)))
    assert f"in held[0], {kind.__name__}()" in failing(lambda: held[0](torch.ones(4, 3)))


def test_the_number_of_a_notebooks_cell_is_no_name():
    _4 = nn.Linear(2, 3)
    assert "in Linear(2, 3): in_features=2 got 3" in failing(lambda: _4(torch.ones(4, 3)))


WEIGHT = torch.ones(7, 3)


def test_a_tensor_of_the_program_in_the_expression_that_failed():
    class Uses(nn.Module):
        def forward(self, x):
            return (x * 2) @ WEIGHT

    model = Uses()
    assert failing(lambda: model(torch.ones(2, 5)))[2:] == [
        "in model, Uses()",
        "  x: float32 [2, 5]",
        "  WEIGHT: float32 [7, 3]",
    ]


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
        "in layer, MultiheadAttention(8, 2): embed_dim=8 got 6",
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
    nameless = failing(lambda: nn.Linear(2, 3)(data))
    assert nameless[1].endswith("Call .float() on the data, or model.double().")
    model.double()
    lines = failing(lambda: model(torch.ones(4, 2)))
    assert lines[1].endswith("Call .double() on the data, or model.float().")


@pytest.mark.parametrize("kind", [nn.Linear, nn.Conv1d, nn.LSTM, nn.BatchNorm1d])
def test_layers_that_got_data_of_another_type(kind):
    layer = kind(*(3, 3, 1)[: 1 if kind is nn.BatchNorm1d else 3])
    lines = failing(lambda: layer(torch.ones(3, 3, 3).double()), (RuntimeError, ValueError))
    assert any(line.endswith("Call .float() on the data, or layer.double().") for line in lines)


def test_indices_of_another_type():
    for layer in (nn.Embedding(4, 3), nn.EmbeddingBag(4, 3)):
        lines = failing(lambda layer=layer: layer(torch.ones(2, 3).double()))
        assert lines[1].endswith("(4, 3): indices are float64. Call .long() on the data.")


class Plus(nn.Module):
    """Fails with errors that are not about the types of data and parameters."""

    def __init__(self, more):
        super().__init__()
        self.fc, self.more = nn.Linear(3, 3), more

    def forward(self, x):
        if type(self.more) is str:
            raise TypeError(self.more)
        return self.fc(x.float()) + self.more


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: Plus(None), torch.int64),
        (lambda: Plus(None), torch.float64),
        (lambda: Plus("unknown type of layer"), torch.float64),
        (lambda: nn.Linear(3, 3), torch.complex64),
    ],
)
def test_errors_that_no_other_type_of_data_mends(make, kind):
    with pytest.raises((RuntimeError, TypeError)) as error:
        make()(torch.ones(2, 3, dtype=kind))
    assert "Call ." not in "".join([str(error.value), *getattr(error.value, "__notes__", ())])


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
    for _ in range(2):  # the same object
        with pytest.raises(ValueError) as error:
            model(torch.ones(2))
    assert str(error.value) == "mine"
    assert error.value.__notes__ == ["in model.0, Raises()\n  x: float32 [2]"]


@pytest.mark.parametrize("kind", [KeyError, AttributeError, ZeroDivisionError, OSError])
def test_errors_whose_text_is_no_sentence_have_a_note(kind):
    model = Raises(kind("mine"))
    with pytest.raises(kind) as error:
        model(torch.ones(2))
    assert error.value.args == ("mine",)
    assert error.value.__notes__ == ["in model, Raises()\n  x: float32 [2]"]


def test_a_name_that_a_module_lacks():
    class Lacks(nn.Module):
        def forward(self, x):
            return self.missing(x)

    model = Lacks()
    with pytest.raises(AttributeError) as error:
        model(torch.ones(2))
    assert str(error.value) == "'Lacks' object has no attribute 'missing'"
    assert error.value.__notes__ == ["in model, Lacks()\n  x: float32 [2]"]


def test_the_librarys_own_classes_of_errors():
    class Huge(nn.Module):
        def forward(self, x):
            return torch.linalg.inv(x)

    model = Huge()
    lines = failing(lambda: model(torch.zeros(2, 2)), torch.linalg.LinAlgError)
    assert lines[-2:] == ["in model, Huge()", "  x: float32 [2, 2]"]


def test_an_error_can_be_pickled_and_leaves_nothing_in_the_model():
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(4, 1))
    kept = copy.deepcopy(model)
    with pytest.raises(RuntimeError) as error:
        model(torch.ones(5, 2))
    again = pickle.loads(pickle.dumps(error.value))
    assert type(again) is RuntimeError and again.args == error.value.args
    assert "in_features=4 got 3" in str(again)
    for before, after in zip(kept.modules(), copy.deepcopy(model).modules(), strict=True):
        assert before.__dict__.keys() == after.__dict__.keys()


def test_groups_of_errors():
    class Several(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 3)

        def forward(self, x):
            try:
                self.fc(x)
            except RuntimeError as error:
                raise ExceptionGroup("several", [error]) from None

    model = Several()
    with pytest.raises(ExceptionGroup) as error:
        model(torch.ones(5, 3))
    assert error.value.__notes__ == ["in model, Several\n  x: float32 [5, 3]"]
    assert "in model.fc, Linear(2, 3): in_features=2 got 3" in str(error.value.exceptions[0])


@pytest.mark.parametrize("kind", [type("Mine", (RuntimeError,), {}), StopIteration])
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


@pytest.mark.parametrize("model", [nn.Linear(2, 3), nn.Sequential(Raises(ValueError("mine")))])
def test_an_error_that_is_raised_anew_without_its_traceback_is_told_once(model):
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = model

        def forward(self, x):
            try:
                return self.inner(x)
            except Exception as error:
                raise error.with_traceback(None)  # noqa: B904

    outer = Outer()
    with pytest.raises((RuntimeError, ValueError)) as error:
        outer(torch.ones(4, 3))
    said = "\n".join([str(error.value), *getattr(error.value, "__notes__", ())])
    assert re.findall(r"^in \S+", said, re.M) in (["in outer.inner,"], ["in outer.inner.0,"])


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
