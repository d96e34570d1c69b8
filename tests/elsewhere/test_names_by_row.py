"""Names of _torch/names.txt: each answers, and what libraries import is there."""

import ast
import builtins
import importlib
import inspect
import os
import pickle
import re
import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest

from _subject import torch
from rushlight import _torch
from rushlight._alias import NAMES
from rushlight._base.device import accelerators

FOLDER = os.path.dirname(_torch.__file__)
TABLE = Path(FOLDER, "names.txt").read_text(encoding="utf-8")
LINES = [line.split() for line in TABLE.replace("\n    ", " ").splitlines()]
REASONS = {line[0][1:]: " ".join(line[1:]) for line in reversed(LINES) if line[0][0] == "!"}
ROWS = []
for first, *rest in LINES:
    if first[0] == "!":
        KEY = first[1:]
    else:
        module, _, place = first.partition("/")
        words = [re.sub(r"^(\w+)", rf"\1/{place}", word) for word in rest]
        ROWS += [(module, word, KEY) for word in (words if place else rest or [""])]


def called(function, word, name, key, module):
    """What a name of a row gives, as its word says."""
    if word.startswith("@"):
        given = function(key) if word.endswith("()") else function
        assert given(ROWS) is ROWS
    elif word.endswith("|"):
        with function():
            assert function()(len) is len or function()(len)("a") == 1
    elif re.match(r"\w+\(\)", word):
        assert function() == function(1, a=2) == ast.literal_eval(word.partition("()")[2])
    elif "(" in word and word.index("(") < min(
        map(word.index, set("=/:<!") & set(word)), default=99
    ):
        names = list(inspect.signature(function).parameters)
        answer = function(**dict.fromkeys(names))
        assert repr(answer) == word[-len(repr(answer)) :] and f"({names[0]}" in word
    elif word.endswith("~"):
        with function(verbose=True):
            assert importlib.import_module(f"rushlight.{module}").verbose
    elif ":" in word and "=" not in word and "/" not in word:
        assert function == ast.literal_eval(word.partition(":")[2])
    elif "~" in word:
        assert function == ast.literal_eval(word.split("~")[1])
    elif "=" in word:
        start, _, members = word.partition("=")[2].rpartition(":")
        assert [each.name for each in function] == members.split(",")
        assert next(each.value for each in function) == int(start or 1)
    elif ("/" not in word and "<" not in word) or word.endswith("<!"):
        reason, full = REASONS[key], name if module == "torch" else f"{module}.{name}"
        kind, other, text = reason.partition("Error: ")
        error = getattr(builtins, f"{kind}Error") if other else NotImplementedError
        with pytest.raises(error) as caught:
            function()
        said = str(caught.value)
        if other:
            names = {"name": name, "module": module, "MODULE": module.upper()}
            assert said == text.format(word.partition("!")[2] or name, **names)
        else:  # a class is named after the first module that has it
            assert said.endswith(f"{name} is not in rushlight: {reason}")
            assert name[0].isupper() or said.startswith(f"torch.{full} ")


@pytest.mark.parametrize(("module", "word", "key"), ROWS)
def test_each_word_of_a_row_answers(module, word, key):
    owner = importlib.import_module("rushlight" if module == "torch" else f"rushlight.{module}")
    if word.startswith("&"):
        assert {w for m, w, _ in ROWS if m == word[1:]} and owner.is_available() is False
        return
    if word.startswith("*"):
        importlib.import_module(f"rushlight{word.removeprefix('*/')}")
        return
    name = re.match(r"@?(\w*)", word)[1]
    elsewhere = not (getattr(owner, "__file__", None) or _torch.__file__).startswith(FOLDER)
    assert not name or name in dir(owner) or elsewhere  # found there when it is asked for
    if name:
        found = getattr(owner, name)
        called(found, word, name, key, module)
        if isinstance(found, type) and "/" not in word:
            assert pickle.loads(pickle.dumps(found)) is found


def test_every_reason_is_needed_and_known():
    assert {key for *_, key in ROWS} == REASONS.keys() and all(REASONS.values())


def test_every_file_beside_the_table_is_the_module_of_its_torch_name():
    for path in sorted(Path(FOLDER).rglob("*.py")):
        name = ".".join(path.relative_to(FOLDER).with_suffix("").parts).removesuffix(".__init__")
        if name == "__init__":
            continue
        module = importlib.import_module(f"rushlight.{name}")
        assert module is importlib.import_module(f"rushlight._torch.{name}")
        if name == "_functorch.vmap":  # a module of func, of which libraries replace parts
            continue
        assert module.__name__ == module.__spec__.name == f"rushlight.{name}"
        assert module.__file__ == str(path)


def test_without_a_device_named_the_cpu_is_the_accelerator(monkeypatch):
    monkeypatch.setattr(type(accelerators), "wanted", False)
    assert torch._C._get_accelerator().type == "cpu"
    assert torch._utils._get_available_device_type() is None
    with pytest.raises(AssertionError, match=r"ask torch\.xpu\.is_available"):
        torch.xpu.current_device()


def test_a_name_without_a_row_is_missing():
    with pytest.raises(AttributeError):
        _ = torch._C._functorch.nothing_of_this_name
    with pytest.raises(ImportError):
        importlib.import_module("rushlight._custom_ops.nothing")


def test_functorch_is_deprecated_torch_func():
    functorch = importlib.import_module(NAMES["functorch"])
    with pytest.warns(FutureWarning, match="We've integrated functorch into PyTorch"):
        double = functorch.vmap(lambda x: 2 * x)
    assert torch.equal(double(torch.ones(2)), torch.full((2,), 2.0))
    experimental = importlib.import_module(f"{NAMES['functorch']}.experimental")
    rows = torch.arange(15.0).reshape(5, 3)
    dots = experimental.chunk_vmap(torch.dot, chunks=2)(rows, rows)
    assert torch.equal(dots, (rows * rows).sum(1))


def test_modules_as_functions_of_their_parameters():
    made = importlib.import_module("rushlight._functorch.make_functional")
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh())
    net.add_module("again", net[0])  # one parameter under two names
    net[0].weight = torch.nn.Parameter(torch.ones(2, 2))
    net[0].bias = torch.nn.Parameter(torch.zeros(2))
    function, params = made.make_functional(net)
    assert len(params) == 2 and torch.equal(function(params, torch.ones(2)), net(torch.ones(2)))
    other = function([torch.zeros(2, 2), torch.ones(2)], torch.ones(2))
    assert torch.equal(other, torch.ones(2))
    with pytest.raises(RuntimeError, match="has buffers"):
        made.make_functional(torch.nn.BatchNorm1d(2))
    nets = [torch.nn.BatchNorm1d(2).eval() for _ in range(3)]
    function, params, buffers = made.combine_state_for_ensemble(nets)
    assert params[0].shape == (3, 2)
    stacked = torch.func.vmap(function, (0, 0, None))(params, buffers, torch.ones(4, 2))
    assert torch.equal(stacked[1], nets[1](torch.ones(4, 2)))


def test_vmap_by_hand():
    vmap = importlib.import_module("rushlight._functorch.vmap")
    double = vmap.restore_vmap(lambda x, y: (2 * x, y), (1, None), 3, "error")
    (x, y), dims = double(torch.ones(2, 3), torch.ones(2))
    assert x.shape == (3, 2) and y.shape == (2,) and dims == (0, None)
    inside = []
    torch.func.vmap(lambda x: inside.append(torch._C._functorch.is_batchedtensor(x)) or x)(x)
    assert inside == [True] and not torch._C._functorch.is_batchedtensor(x)


def test_annotations_are_objects_without_any_names():
    loss, of_loss = torch.nn.CrossEntropyLoss(), torch.nn.functional.mse_loss
    assert typing.get_type_hints(loss, globalns={}, localns={})["weight"] == torch.Tensor | None
    assert typing.get_type_hints(of_loss, globalns={}, localns={})["target"] is torch.Tensor
    named = set()
    for name in dir(torch.nn):
        layer = getattr(torch.nn, name)
        if isinstance(layer, type) and issubclass(layer, torch.nn.Module):
            try:
                typing.get_type_hints(layer, globalns={}, localns={})
            except NameError as error:
                named.add(f"{layer}: {error}")
    assert not named


def test_classes_see_the_operands_of_einsum_one_by_one():
    graph = torch.fx.symbolic_trace(lambda x, y: torch.einsum("ij,jk->ik", [x, y])).graph
    (call,) = (node for node in graph.nodes if node.op == "call_function")
    assert [str(a) for a in call.args] == ["ij,jk->ik", "x", "y"]


def test_classes_see_keywords_where_pytorch_gives_them():
    class Told(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return len(args), kwargs

    x = torch.ones(2).as_subclass(Told)
    assert torch.meshgrid(x, x) == (2, {"indexing": None})
    assert torch.meshgrid([x, x]) == (1, {})
    assert torch.meshgrid([x, x], indexing="xy") == (1, {"indexing": "xy"})
    assert torch.einsum("i,i", [x, x]) == torch.einsum("i,i", x, x) == (3, {})
    for function in (torch.broadcast_tensors, torch.block_diag, torch.cartesian_prod):
        assert function(x, x) == (2, {})
    assert torch.add(x, 1) == (2, None)


def test_numpy_numbers_are_numbers_in_comparisons():
    torch.testing.assert_close(0.5, np.float64(0.5))
    torch.testing.assert_close(np.int64(5), 5)
    with pytest.raises(AssertionError, match="types do not match"):
        torch.testing.assert_close(5.0, np.int64(5))


def overlap(a, b):
    width = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    areas = sum((c[2] - c[0]) * (c[3] - c[1]) for c in (a, b))
    return width * height / (areas - width * height)


def operators():
    torch.ops.load_library("/somewhere/torchvision/_C.so")
    return torch.ops.torchvision


def test_boxes_that_overlap_a_better_one_go():
    boxes = torch.from_numpy(np.random.default_rng(0).random((40, 4)))
    boxes[:, 2:] += boxes[:, :2]
    scores = torch.from_numpy(np.random.default_rng(1).random(40))
    left, kept = sorted(range(40), key=lambda i: -scores[i].item()), []
    while left:
        best, *left = left
        kept.append(best)
        left = [i for i in left if overlap(boxes[best].tolist(), boxes[i].tolist()) <= 0.3]
    assert operators().nms(boxes, scores, 0.3).tolist() == kept
    with pytest.raises(OSError, match="Could not load"):
        torch.ops.load_library("/somewhere/other.so")
    with pytest.raises(NotImplementedError, match="deform_conv2d is not in rushlight"):
        operators().deform_conv2d(*[torch.ones(1)] * 5, *[1] * 8, True)


def bilinear(image, y, x):
    height, width = image.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = min(max(y, 0.0), height - 1.0), min(max(x, 0.0), width - 1.0)
    top, left = int(y), int(x)
    down, right = min(top + 1, height - 1), min(left + 1, width - 1)
    a, b = y - top, x - left
    upper = image[top, left] * (1 - b) + image[top, right] * b
    return upper * (1 - a) + (image[down, left] * (1 - b) + image[down, right] * b) * a


@pytest.mark.parametrize("aligned", [False, True])
def test_regions_are_means_of_samples(aligned):
    image = np.random.default_rng(2).random((2, 1, 6, 7))
    rois = np.array([[0, 1.0, 0.5, 5.0, 4.5], [1, -3.0, -2.0, 9.0, 8.0], [1, 2.0, 2.0, 2.3, 2.2]])
    scale, rows, columns, samples = 0.9, 2, 3, 2
    wanted = np.zeros((3, 1, rows, columns))
    for n, (which, *corners) in enumerate(rois):
        left, top, right, bottom = np.array(corners) * scale - (0.5 if aligned else 0.0)
        height, width = bottom - top, right - left
        if not aligned:
            height, width = max(height, 1.0), max(width, 1.0)
        for i, j in np.ndindex(rows, columns):
            for a, b in np.ndindex(samples, samples):
                y = top + height / rows * (i + (a + 0.5) / samples)
                x = left + width / columns * (j + (b + 0.5) / samples)
                wanted[n, 0, i, j] += bilinear(image[int(which), 0], y, x) / samples**2
    given = torch.from_numpy(image), torch.from_numpy(rois), scale, rows, columns, samples, aligned
    np.testing.assert_allclose(operators().roi_align(*given).numpy(), wanted, rtol=1e-12)
    weights = torch.from_numpy(np.random.default_rng(3).random(wanted.shape))
    shape = (2, 1, 6, 7)
    back = operators()._roi_align_backward(weights, *given[1:5], *shape, *given[5:])
    step = torch.from_numpy(np.random.default_rng(4).random(shape))
    change = operators().roi_align(step, *given[1:])  # the operator is linear in the image
    np.testing.assert_allclose((back * step).sum().item(), (change * weights).sum().item())


EVERY_NAME = """
import ast
import builtins
import importlib
import os
import pickle
import re
import subprocess
import sys
import rushlight
from rushlight._base.missing import _torch_names

rushlight.install_as_torch()
for module, names in _torch_names().items():
    try:
        owner = importlib.import_module(module)
    except ImportError:
        continue
    for name in names:
        getattr(owner, name, None)
        try:
            importlib.import_module(f"{module}.{name}")
        except ImportError:
            pass
import torch
print(torch.nn.LazyLinear(3)(torch.ones(2, 2)).shape)
"""


def test_every_name_where_rushlight_is_torch_is_there_or_an_attribute_error():
    command = [sys.executable, "-W", "ignore", "-c", EVERY_NAME]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "torch.Size([2, 3])"), done.stderr[-2000:]


def test_older_names_of_autocast_on_the_cpu():
    with pytest.warns(FutureWarning, match=r"torch.cpu.amp.autocast\(args...\)"):
        block = torch.cpu.amp.autocast()
    with block:
        assert torch.mm(torch.ones(1, 1), torch.ones(1, 1)).dtype is torch.bfloat16
    with pytest.warns(FutureWarning, match=r"torch.cpu.amp.GradScaler\(args...\)"):
        assert torch.cpu.amp.GradScaler(enabled=False).get_scale() == 1.0


def test_every_other_name_of_a_row_is_of_the_place():
    older = importlib.import_module("rushlight.cuda.memory")
    assert older.max_memory_allocated is torch.cuda.max_memory_allocated
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = older.nothing


class Stream:
    """What fastai hands to the iterators of a DataLoader: an object that is its own dataset."""

    _auto_collation, drop_last, generator, timeout, num_workers = False, False, None, 0, 0
    _IterableDataset_len_called, _dataset_kind = None, 1

    def __init__(self):
        self.dataset, self._index_sampler = self, range(9)

    def __iter__(self):
        return iter("abc")

    def collate_fn(self, sample):
        return sample.upper()


def test_a_loader_says_whether_its_dataset_is_a_stream():
    from rushlight.utils.data.dataloader import _SingleProcessDataLoaderIter

    assert list(_SingleProcessDataLoaderIter(Stream())) == ["A", "B", "C"]
