"""NumPy is imported when somebody asks for an array: programs of tensors run without it."""

import ast
import subprocess
import sys
import textwrap
from pathlib import Path

import rushlight

BLOCKED = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numpy", "ml_dtypes"):
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Absent())
"""


def output(program):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout


def test_the_import_and_a_step_import_neither_library():
    program = """
        import sys
        import rushlight as torch
        from rushlight import nn, optim
        from rushlight.utils.data import DataLoader, TensorDataset

        model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.LayerNorm(4), nn.Linear(4, 1))
        step = optim.AdamW(model.parameters())
        loss = nn.functional.mse_loss(model(torch.randn(5, 3)), torch.tensor([[1.0]] * 5))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        step.step()
        print(loss, [name for name in ("numpy", "ml_dtypes") if name in sys.modules])
    """
    assert output(program).endswith(", grad_fn=<MseLossBackward0>) []\n")


def test_tensors_are_made_printed_and_indexed_without_numpy():
    program = """
        import rushlight as torch
        x = torch.tensor([[1.5, 2.0], [3.0, float("inf")]], requires_grad=True)
        print(x)
        print(torch.tensor([True, False]), torch.tensor([1 + 2j]), torch.tensor([]))
        print(torch.tensor([x[0, 0].detach(), 2]), torch.tensor(3, dtype=torch.bfloat16))
        print(x[0].tolist(), f"{x[0, 0]:.3f}", x[[1, 0], [0, 1]].tolist(), torch.empty(0, 2))
        print(torch.arange(2000)[[0, -1]].tolist(), torch.zeros(2000))
        print(torch.func.vmap(torch.sum)(torch.ones(2, 3)), torch.hann_window(4))
    """
    assert output(BLOCKED + textwrap.dedent(program)) == textwrap.dedent("""\
        tensor([[1.5000, 2.0000],
                [3.0000,    inf]], requires_grad=True)
        tensor([ True, False]) tensor([1.+2.j]) tensor([])
        tensor([1.5000, 2.0000]) tensor(3., dtype=torch.bfloat16)
        [1.5, 2.0] 1.500 [3.0, 2.0] tensor([], size=(0, 2))
        [0, 1999] tensor([0., 0., 0.,  ..., 0., 0., 0.])
        tensor([3., 3.]) tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """)


def test_who_asks_for_an_array_is_told_what_is_missing():
    program = """
        import rushlight as torch
        try:
            torch.ones(2).numpy()
        except ModuleNotFoundError as error:
            print(error)
    """
    assert output(BLOCKED + textwrap.dedent(program)) == (
        "No module named 'numpy'. An array of a tensor was asked for here, or an op that only "
        "NumPy computes. Install it: pip install numpy\n"
    )


def test_an_array_is_seen_whoever_imported_numpy():
    program = """
        import rushlight as torch
        import numpy as np
        print(torch.tensor(np.arange(3)), torch.ones(2) * np.float32(2))
        print(np.ones(2) == torch.ones(2))
        print(torch.tensor([np.int64(3), 1.5]), isinstance(torch.ones(1).numpy(), np.ndarray))
        print(torch.from_numpy(np.ones(1, ">f4").astype("f4")).dtype)
    """
    assert output(program) == textwrap.dedent("""\
        tensor([0, 1, 2]) tensor([2., 2.])
        tensor([True, True])
        tensor([3.0000, 1.5000]) True
        torch.float32
    """)


def imported_at_once(body):
    """The modules that statements import when their module is."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module
        elif isinstance(node, (ast.Try, ast.With)):
            yield from imported_at_once(node.body)


def test_no_module_imports_numpy_at_once():
    sources = Path(rushlight.__file__).parent.rglob("*.py")
    found = {
        str(path): name
        for path in sources
        for name in imported_at_once(ast.parse(path.read_text(encoding="utf-8")).body)
        if name.partition(".")[0] in ("numpy", "ml_dtypes")
    }
    assert found == {}
