"""Warnings: each at the line of the program that caused it, of PyTorch's category, in its words."""

import ast
import importlib
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

SOURCES = Path(__file__).parent.parent / "src" / "rushlight"
# One statement a line; each warns.
PROGRAM = """
F.softmax(x)
F.log_softmax(x)
F.softmin(x)
F.gumbel_softmax(x, eps=1e-9)
nn.Softmax()(x)
nn.Sequential(nn.Sequential(nn.LogSoftmax()))(x)
Mine()(x)
torch.tensor(x)
x.new_tensor(x)
torch.ones(2, dtype=torch.complex64).float()
x.copy_(torch.ones(2, dtype=torch.complex64))
torch.sum(torch.ones(2, dtype=torch.complex64), dtype=torch.float32)
x[:] = torch.ones(2, dtype=torch.complex64)
torch.ones(2, 2, 2).T
torch.meshgrid(x, x)
torch.std(torch.ones(1))
torch.var(torch.ones(1))
torch.cov(torch.ones(1, 1))
torch.searchsorted(torch.ones(2, 4)[:, ::2], torch.ones(2, 1))
torch.stft(torch.ones(64), 16, return_complex=True)
torch.set_default_tensor_type(torch.FloatTensor)
torch.chain_matmul(torch.ones(2, 2), torch.ones(2, 2))
torch.cholesky(torch.eye(2))
torch.qr(torch.eye(2))
torch.lu_solve(torch.ones(2, 1), *torch.linalg.lu_factor(torch.eye(2)))
torch.triangular_solve(torch.ones(2, 1), torch.eye(2))
torch.floor_divide(x, 2), torch.range(0, 3)
torch.where(torch.ones(2, dtype=torch.uint8), x, x)
x[torch.ones(2, dtype=torch.uint8)]
torch.ones(2, 2)[[[0, 1], [0, 1]]]
torch.ones(2, 2).resize(4)
torch.ones(1).random_(0, 1 << 60)
torch.add(x, x, out=torch.ones(3))
torch.nn.utils.clip_grad_norm([p], 1.0)
float(p.sum())
p.sum().grad
(p * 1).grad
p.volatile
p.sum().backward(create_graph=True)
torch.autograd.backward(p.sum(), create_graph=True)
torch.autograd.detect_anomaly()
torch.autograd.Variable(x, volatile=True)
torch.utils.checkpoint.checkpoint(torch.sin, p)
torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=True)
torch.utils.checkpoint.checkpoint_sequential([nn.ReLU()], 1, p)
F.mse_loss(x, x, size_average=True)
F.mse_loss(x, torch.ones(2, 1))
F.l1_loss(x, torch.ones(2, 1))
F.smooth_l1_loss(x, torch.ones(2, 1))
F.huber_loss(x, torch.ones(2, 1))
nn.MSELoss(reduce=False)
nn.MSELoss()(x, torch.ones(2, 1))
F.kl_div(x, x)
nn.KLDivLoss()(x, x)
F.upsample(torch.ones(1, 1, 2, 2), 4)
F.upsample_bilinear(torch.ones(1, 1, 2, 2), 4)
F.grid_sample(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 1, 2))
F.affine_grid(torch.ones(1, 2, 3), (1, 1, 2, 2))
F.affine_grid(torch.ones(1, 2, 3), (1, 1, 1, 1), align_corners=True)
nn.functional.dropout2d(torch.ones(2, 2))
nn.functional.dropout2d(torch.ones(2, 2, 2))
nn.functional.dropout3d(torch.ones(2, 2))
nn.Dropout2d()(torch.ones(2, 2))
F.embedding_bag(torch.ones(3, 2), torch.zeros(1, 1, dtype=torch.int64))
F.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 2), padding="same")
nn.LSTM(1, 1, dropout=0.5)
nn.Linear(0, 2)
nn.init.uniform(torch.empty(2))
nn.init.kaiming_uniform_(torch.empty(0, 3))
nn.utils.weight_norm(nn.Linear(2, 2))
nn.utils.clip_grad_norm([p], 1.0)
nn.Linear(1, 1).to(torch.complex64)
nn.TransformerEncoder(nn.TransformerEncoderLayer(2, 1, batch_first=True, norm_first=True), 1)
nn.TransformerEncoder(nn.TransformerEncoderLayer(2, 1), 1)
nn.InstanceNorm1d(3)(torch.ones(1, 2, 4))
nn.utils.stateless.functional_call(nn.Linear(1, 1), {}, torch.ones(1, 1))
torch.optim.SGD([p, p], lr=1.0)
torch.optim.lr_scheduler.StepLR(sgd(), 1).step()
torch.optim.lr_scheduler.StepLR(sgd(), 1).get_lr()
stepped().step(3)
torch.optim.lr_scheduler.ReduceLROnPlateau(sgd()).step(1.0, 3)
torch.utils.data.DataLoader([1], num_workers=99)
torch.utils.data.random_split([1], [1, 0])
list(torch.utils.data.DataLoader([x], pin_memory=True))
torch.cuda.amp.GradScaler()
torch.cuda.amp.autocast()
torch.autocast("cuda")
torch.autocast("cpu", dtype=torch.float64)
torch.amp.GradScaler("cuda")
F.multilabel_soft_margin_loss(torch.ones(1, 2), torch.ones(1, 2), size_average=False)
torch.zeros(2).scatter_(0, torch.tensor([0]), x, reduce="add")
torch.from_numpy(frozen())
torch.as_tensor(frozen())
torch.frombuffer(bytes(8), dtype=torch.float32)
torch.tensor([frozen(), frozen()])
torch.testing.assert_allclose(x, x)
"""
# What the statements use; the first lines of the program.
BEGIN = """
class Mine(nn.Module):
    def forward(self, x): return F.softmax(x)
def sgd(): return torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=1.0)
def stepped(): o = sgd(); s = torch.optim.lr_scheduler.StepLR(o, 1); o.step(); return s
def frozen(): a = np.ones(2); a.flags.writeable = False; return a
"""
INSIDE = {"Mine()(x)": 3}  # statements whose warning belongs to a line of BEGIN
PARTS = "utils.checkpoint optim utils.data nn.utils.stateless testing".split()


def warned(library: str) -> dict[str, list[tuple[str, str, str, int]]]:
    """By statement: category, words, file and line of each warning."""
    torch = importlib.import_module(library)
    for part in PARTS:
        importlib.import_module(f"{library}.{part}")
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "np": np}
    exec(compile(BEGIN, "program.py", "exec"), names)
    found = {}
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        for number, line in enumerate(PROGRAM.strip().splitlines(), 100):
            names.update(x=torch.ones(2), p=torch.nn.Parameter(torch.ones(2)))
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                exec(compile("\n" * (number - 1) + line, "program.py", "exec"), names)
            found[line] = [
                (
                    w.category.__name__,
                    str(w.message).partition(" (Triggered")[0],
                    w.filename,
                    w.lineno - number if w.lineno >= 100 else w.lineno,
                )
                for w in said
            ]
    finally:
        torch.set_warn_always(before)
    return found


@pytest.mark.usefixtures("no_accelerator")
def test_a_warning_is_at_the_line_of_the_program():
    for line, said in warned("rushlight").items():
        assert said, line
        for _, text, file, number in said:
            assert (file, number) == ("program.py", INSIDE.get(line, 0)), (line, text)


@pytest.mark.usefixtures("no_accelerator")
def test_a_warning_has_pytorchs_words():
    pytest.importorskip("torch")
    ours, theirs = warned("rushlight"), warned("torch")
    for line in ours:
        assert [w[:2] for w in ours[line]] == [w[:2] for w in theirs[line]], line


def test_one_function_warns():
    """So that no warning of the library counts frames for itself."""
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("warnings.warn"):
                assert path.name == "errors.py", f"{path}:{node.lineno}"


def test_what_the_core_and_the_engine_warn_of(tmp_path):
    """Also in a module's forward, under a context manager of the library, and in a backward."""
    script = tmp_path / "script.py"
    script.write_text(
        "import rushlight as torch\n"
        "p = torch.zeros(2, requires_grad=True)\n"
        "with torch.autograd.detect_anomaly(check_nan=True):\n"
        "    y = (p.sqrt() * 0).sum()\n"
        "    y.backward()\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    places = [line for line in done.stderr.splitlines() if "UserWarning" in line]
    assert [p.split(":")[1] for p in places] == ["3", "5"], done.stderr
    assert all(p.startswith(str(script)) for p in places)
