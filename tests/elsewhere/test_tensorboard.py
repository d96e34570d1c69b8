"""torch.utils.tensorboard: what is logged stands in the event files, as TensorBoard reads them.

Where PyTorch is installed, both libraries must write the same messages.
"""

from __future__ import annotations

import importlib.util
import io
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from _subject import NAME, submodule, torch

HAS = importlib.util.find_spec("tensorboard") is not None
needs_tensorboard = pytest.mark.skipif(not HAS, reason="the package tensorboard is not installed")
PLAIN: dict[str, Callable[[Any, Any], None]] = {
    "scalar": lambda w, t: w.add_scalar("a", t.tensor(1.5), 3),
    "number": lambda w, t: w.add_scalar("a", 2, 1, walltime=5.0),
    "new style": lambda w, t: w.add_scalar("a", np.float64(2), 1, new_style=True),
    "double": lambda w, t: w.add_scalar("a", 0.1, 1, new_style=True, double_precision=True),
    "histogram": lambda w, t: w.add_histogram("h", t.tensor([1.0, 1.0, -2.0, 0.0, 1e-3]), 0),
    "bins": lambda w, t: w.add_histogram("h", np.arange(10), 0, bins="auto", max_bins=2),
    "histogram_raw": lambda w, t: w.add_histogram_raw("h", 0, 1, 2, 1, 1, [0.5, 1], [1, 1]),
    "image": lambda w, t: w.add_image("i", t.linspace(-0.1, 1.1, 12).reshape(3, 2, 2)),
    "grey": lambda w, t: w.add_image("i", np.eye(3), 1, dataformats="HW"),
    "images": lambda w, t: w.add_images("i", t.linspace(0, 1, 48).reshape(4, 3, 2, 2)),
    "bytes": lambda w, t: w.add_images("i", t.ones(9, 1, 2, 2, dtype=t.uint8), 0),
    "boxes": lambda w, t: w.add_image_with_boxes("b", t.zeros(3, 9, 9), t.tensor([[1, 2, 5, 6]])),
    "text": lambda w, t: w.add_text("t", "wörd", 2),
    "audio": lambda w, t: w.add_audio("s", t.linspace(-1, 1, 8), 0, sample_rate=8000),
    "curve": lambda w, t: w.add_pr_curve("p", np.array([1, 0, 1, 1]), np.array([0.1, 0.4, 0.8, 1])),
    "tensor": lambda w, t: w.add_tensor("x", t.arange(6.0).reshape(2, 3)),
    "layout": lambda w, t: w.add_custom_scalars({"c": {"m": ["Multiline", ["a", "b"]]}}),
    "margin": lambda w, t: w.add_custom_scalars_marginchart(["a", "b", "c"]),
    "mesh": lambda w, t: w.add_mesh("m", t.ones(1, 4, 3), faces=t.zeros(1, 2, 3)),
    "hparams": lambda w, t: w.add_hparams({"lr": 0.1, "name": "x"}, {"loss": 1.0}, run_name="r"),
    "discrete": lambda w, t: w.add_hparams({"a": 1}, {}, {"a": [1, 2]}, run_name="r"),
    "scalars": lambda w, t: w.add_scalars("a/b", {"x": 1, "y": t.tensor(2.0)}, 4),
    "empty": lambda w, t: w.add_histogram("h", t.zeros(0)),
    "two numbers": lambda w, t: w.add_scalar("a", t.ones(2)),
    "wrong format": lambda w, t: w.add_image("i", t.ones(2, 2)),
    "twice": lambda w, t: w.add_image("i", t.ones(2, 2, 2), dataformats="HHW"),
    "wrong type": lambda w, t: w.add_hparams([], {}),
    "odd setting": lambda w, t: w.add_hparams({"a": []}, {}),
}


def messages(library: Any, log: Callable[[Any, Any], None], folder: Any) -> Any:
    """The summaries in the files of a folder, by the files' folders."""
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    writer = importlib.import_module(f"{library.__name__}.utils.tensorboard").SummaryWriter(folder)
    try:
        log(writer, library)
    except Exception as error:
        return type(error).__name__, " ".join(str(error).split())
    finally:
        writer.close()
    found = {}
    for path in sorted(folder.rglob("events.out*")):
        events = EventFileLoader(str(path)).Load()
        shown = [(e.step, str(e.summary)) for e in events if e.HasField("summary")]
        found[str(path.parent.relative_to(folder))] = shown
    return found


@needs_tensorboard
@pytest.mark.parametrize("what", PLAIN)
def test_files_have_the_same_messages_as_pytorchs(what: str, tmp_path: Any) -> None:
    pytorch = pytest.importorskip("torch")
    theirs = messages(pytorch, PLAIN[what], tmp_path / "theirs")
    assert messages(torch, PLAIN[what], tmp_path / "ours") == theirs


@needs_tensorboard
def test_what_is_logged_is_read_back(tmp_path: Any) -> None:
    from PIL import Image
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with submodule("utils.tensorboard").SummaryWriter(tmp_path) as writer:
        for step in range(3):
            writer.add_scalar("loss", torch.tensor(1.0 / (1 + step)), step)
        writer.add_histogram("w", torch.tensor([1.0, 2.0, 3.0]), 7)
        writer.add_image("i", torch.eye(4).repeat(3, 1, 1), 1)
        assert writer.get_logdir() == tmp_path
    read = EventAccumulator(str(tmp_path)).Reload()
    assert [(e.step, e.value) for e in read.Scalars("loss")][:2] == [(0, 1.0), (1, 0.5)]
    histogram = read.Histograms("w")[0].histogram_value
    assert (histogram.num, histogram.sum, histogram.sum_squares) == (3, 6.0, 14.0)
    picture = Image.open(io.BytesIO(read.Images("i")[0].encoded_image_string))
    assert np.array_equal(np.asarray(picture)[..., 0], 255 * np.eye(4))


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
        self.out = torch.nn.Linear(3, 2)

    def forward(self, x: Any) -> Any:
        return torch.softmax(self.out(self.body(x) + self.body(x)), -1)


@needs_tensorboard
def test_graph_of_a_model(tmp_path: Any) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    net = Net()
    with submodule("utils.tensorboard").SummaryWriter(tmp_path) as writer:
        writer.add_graph(net, torch.ones(5, 4))
    read = EventAccumulator(str(tmp_path)).Reload()
    nodes = {node.name: node for node in read.Graph().node}
    assert net.training and read.Tags()["run_metadata"] == ["step1"]
    calls = [
        (
            name.rpartition("/")[0],
            node.op,
            [d.size for d in node.attr["_output_shapes"].list.shape[0].dim],
        )
        for name, node in nodes.items()
        if node.op.startswith("aten::")
    ]
    layer = [("Net/Sequential[body]/Linear[0]", "aten::linear", [5, 3])]
    layer += [("Net/Sequential[body]/ReLU[1]", "aten::relu", [5, 3])]
    rest = [("Net", "aten::add", [5, 3]), ("Net/Linear[out]", "aten::linear", [5, 2])]
    assert sorted(calls) == sorted([*layer, *layer, *rest, ("Net", "aten::softmax", [5, 2])])
    assert nodes["output/output.1"].op == nodes["input/x"].op == "IO Node"
    assert all(given in nodes for name in nodes for given in nodes[name].input if NAME != "torch")
    (last,) = nodes["output/output.1"].input
    assert nodes[last].op == "aten::softmax"


@needs_tensorboard
def test_embeddings_and_figures(tmp_path: Any) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    writer = submodule("utils.tensorboard").SummaryWriter(tmp_path)
    writer.add_embedding(torch.eye(3), ["a", "b", "c"], torch.ones(3, 3, 2, 2), 5, "t/g")
    writer.add_figure("f", plt.figure())
    writer.close()
    writer.add_scalar("after", 1)  # opens a new file
    writer.close()
    assert (tmp_path / "00005" / "t%2fg" / "tensors.tsv").read_text().split("\n")[1][:4] == "0.0\t"
    assert (tmp_path / "00005" / "t%2fg" / "metadata.tsv").read_text() == "a\nb\nc\n"
    assert "tensor_path" in (tmp_path / "projector_config.pbtxt").read_text()
    assert len(list(tmp_path.glob("events*"))) >= 1


def test_without_the_package_the_import_names_it() -> None:
    code = "import sys; sys.modules['tensorboard'] = None; import {}.utils.tensorboard"
    done = subprocess.run(
        [sys.executable, "-c", code.format(NAME)], capture_output=True, text=True, check=False
    )
    assert "tensorboard" in done.stderr and "ModuleNotFoundError" in done.stderr
