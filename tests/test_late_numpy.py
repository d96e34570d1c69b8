"""NumPy is imported when somebody asks for an array: programs of tensors run without it."""

import ast
import json
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


TRAINING = """
    import copy
    import io
    import pickle
    import sys
    import rushlight as torch
    from rushlight import nn
    from rushlight.utils.checkpoint import checkpoint
    from rushlight.utils.data import DataLoader, TensorDataset, random_split

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(
                nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout2d(0.1)
            )
            self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.2), nn.Linear(4 * 16, 3))

        def forward(self, x):
            x = checkpoint(self.features, x, use_reentrant=False)
            return self.head(nn.functional.interpolate(nn.functional.max_pool2d(x, 2), size=(4, 4)))

    torch.manual_seed(0)
    images, labels = torch.randn(24, 1, 8, 8), torch.randint(0, 3, (24,))
    part, held = random_split(TensorDataset(images, labels), [16, 8])
    loaders = [DataLoader(part, 4, shuffle=True), DataLoader(held, 4, num_workers=1)]

    def fresh():
        model = Net()
        step = torch.optim.AdamW(model.parameters(), lr=0.01)
        return model, step, torch.optim.lr_scheduler.CosineAnnealingLR(step, 4)

    def epoch(model, step, rate):
        for loader in loaders:
            for x, y in loader:
                step.zero_grad()
                loss = nn.functional.cross_entropy(model(x), y, label_smoothing=0.1)
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                step.step()
        rate.step()
        return loss.item()

    run = fresh()
    epoch(*run)
    file = io.BytesIO()
    torch.save({"parts": [p.state_dict() for p in run], "random": torch.get_rng_state()}, file)
    copied, pickled = copy.deepcopy(run[0]), pickle.loads(pickle.dumps(run[0]))
    expected = epoch(*run)

    file.seek(0)
    saved, again = torch.load(file), fresh()
    for part, state in zip(again, saved["parts"]):
        part.load_state_dict(state)
    for model in (copied, pickled):
        for name, value in model.state_dict().items():
            assert torch.equal(value, again[0].state_dict()[name]), name
    torch.set_rng_state(saved["random"])
    print(epoch(*again) == expected, "numpy" in sys.modules)
"""


def test_a_model_is_trained_saved_and_resumed_without_numpy():
    assert output(BLOCKED + textwrap.dedent(TRAINING)) == "True False\n"


# Ops whose samples still need NumPy, and why. The list only shrinks: an op that no longer needs
# NumPy goes from here.
NEEDS_NUMPY = {
    "_gelu_given": "the words of an error are looked at in Python",
    "_index_fill_tensor": "no kernel takes a tensor as the value",
    "_pivot_matrix": "a permutation that NumPy builds",
    "_segment_reduce": "its samples have an array",
    "embedding_bag": "the bags of indices in two dimensions and of the largest are NumPy's",
    "fake_quantize_per_tensor_affine": "the steps are rounded as float32 by NumPy",
}

SWEEP = """
    import sys
    import warnings
    import rushlight as torch
    from composites import COMPOSITES
    from rushlight.ops import OPS

    warnings.simplefilter("ignore")
    KINDS = {name: getattr(torch, name) for name in ("complex64", "complex128", "float64")}

    class Make:
        def __init__(self, domain):
            self.domain = domain

        def __call__(self, *shape, low=None, high=None, kind=""):
            if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
                shape = tuple(shape[0])
            if kind == "int":
                return torch.randint(int(low or 0), 4 if high is None else int(high), shape)
            if kind == "bool":
                return torch.rand(shape) < 0.5
            low, high = (d if n is None else n for n, d in zip((low, high), self.domain))
            made = (torch.rand(shape) * (high - low) + low).to(KINDS.get(kind, torch.float32))
            return made if kind == "fixed" else made.requires_grad_()

    def tensors(tree):
        if isinstance(tree, torch.Tensor):
            yield tree
        elif isinstance(tree, (tuple, list)):
            for value in tree:
                yield from tensors(value)

    ran, asked = 0, []
    for name, op in OPS.items():
        samples = op.samples or COMPOSITES.get(name)
        try:
            for args in samples(Make(op.domain)) if samples else ():
                *args, named = args if isinstance(args[-1], dict) else (*args, {})
                results = op.function(*args, **named)
                wanted = [t for t in tensors(results) if t.grad_fn is not None]
                if wanted:
                    torch.autograd.backward(wanted, [torch.ones_like(t) for t in wanted])
                ran += 1
        except ModuleNotFoundError:
            asked.append(name)
        except (RuntimeError, NotImplementedError):
            pass  # of an op without a derivative, or for complex numbers only
    print(ran > 1000, *sorted(asked))
"""


def test_ops_run_forwards_and_backwards_without_numpy():
    table = Path(__file__).parent / "table"
    program = BLOCKED + f"sys.path.insert(0, {str(table)!r})\n" + textwrap.dedent(SWEEP)
    assert output(program).split() == ["True", *sorted(NEEDS_NUMPY)]


# The ops that still need NumPy on samples of a type. These lists only shrink, too.
NEEDS_NUMPY_IN = {
    "float32": """
        _gelu_given _index_fill_tensor _pivot_matrix _segment_reduce embedding_bag
        fake_quantize_per_tensor_affine
    """,
    "float64": """
        _gelu_given _index_fill_tensor _pivot_matrix _segment_reduce embedding_bag
        fake_quantize_per_tensor_affine
    """,
    "bfloat16": """
        _attention _gelu_given _index_fill_tensor _lu_info _pdist _pivot_matrix
        _segment_reduce affine_grid embedding_bag fake_quantize_per_tensor_affine
        nextafter
    """,
    "float16": """
        _attention _gelu_given _index_fill_tensor _lu_info _pdist _pivot_matrix
        _segment_reduce affine_grid embedding_bag fake_quantize_per_tensor_affine
        nextafter
    """,
    "complex64": """
        _adaptive_avg_pool1d _adaptive_avg_pool2d _adaptive_avg_pool3d
        _adaptive_max_pool1d _adaptive_max_pool2d _adaptive_max_pool3d _avg_pool1d
        _avg_pool2d _avg_pool3d _col2im _embedding _embedding_bag _im2col
        _index_fill_tensor _max_pool1d _max_pool2d _max_pool3d _pdist _pivot_matrix
        _segment_reduce embedding fake_quantize_per_tensor_affine fold hash_tensor
        logsumexp scaled_dot_product_attention
    """,
    "int64": """
        _adaptive_avg_pool1d _adaptive_avg_pool2d _adaptive_avg_pool3d
        _adaptive_max_pool1d _adaptive_max_pool2d _adaptive_max_pool3d _embedding_bag
        _index_fill_tensor _lu_info _pdist _pivot_matrix _segment_reduce _std _std_mean
        _triangular_solve _unfold_backward _var _var_mean addbmm addmm addmv baddbmm
        fake_quantize_per_tensor_affine solve_triangular
    """,
    "int32": """
        _adaptive_avg_pool1d _adaptive_avg_pool2d _adaptive_avg_pool3d
        _adaptive_max_pool1d _adaptive_max_pool2d _adaptive_max_pool3d _avg_pool1d
        _avg_pool2d _avg_pool3d _embedding_bag _index_fill_tensor _lu_info _pdist
        _pivot_matrix _segment_reduce _std _std_mean _triangular_solve _unfold_backward
        _var _var_mean addbmm addmm addmv baddbmm fake_quantize_per_tensor_affine
        solve_triangular
    """,
    "uint8": """
        _adaptive_avg_pool1d _adaptive_avg_pool2d _adaptive_avg_pool3d
        _adaptive_max_pool1d _adaptive_max_pool2d _adaptive_max_pool3d _avg_pool1d
        _avg_pool2d _avg_pool3d _embedding_bag _index_fill_tensor _lu_info _pdist
        _pivot_matrix _segment_reduce _std _std_mean _triangular_solve _unfold_backward
        _var _var_mean addbmm addmm addmv baddbmm fake_quantize_per_tensor_affine
        interpolate relu6 solve_triangular
    """,
    "bool": """
        _adaptive_avg_pool1d _adaptive_avg_pool2d _adaptive_avg_pool3d
        _adaptive_max_pool1d _adaptive_max_pool2d _adaptive_max_pool3d _avg_pool1d
        _avg_pool2d _avg_pool3d _col2im _convolution _embedding_bag _im2col
        _index_fill_tensor _linear_bias _lu_info _max_pool1d _max_pool2d _max_pool3d
        _pdist _pivot_matrix _segment_reduce _std _std_mean _triangular_solve
        _unfold_backward _var _var_mean addr fake_quantize_per_tensor_affine fold linear
        mm multi_head_attention_forward solve_triangular
    """,
}


def test_ops_of_each_type_without_numpy(tmp_path):
    """Forwards and backwards; what is refused is refused with torch's words."""
    sweep = Path(__file__).parent / "website" / "ops_sweep.py"
    results = tmp_path / "results"
    output(
        BLOCKED
        + f"""
import runpy
sys.argv[1:] = [{str(results)!r}]
runpy.run_path({str(sweep)!r}, run_name="__main__")
"""
    )
    asked = {kind: set() for kind in NEEDS_NUMPY_IN}
    for call, said in map(json.loads, results.read_text(encoding="utf-8").splitlines()):
        name, kind, *_ = call.split()
        if said[:1] == ["ModuleNotFoundError"]:
            asked[kind].add(name)
    assert asked == {kind: set(names.split()) for kind, names in NEEDS_NUMPY_IN.items()}


REFUSED = """
    import rushlight as torch
    from rushlight.nn import functional as F

    wrong = (
        lambda: torch.ones(2) @ torch.ones(3),
        lambda: torch.ones(2, 3) @ torch.ones(4, 2),
        lambda: torch.ones(2, 2) @ torch.ones(2, 2).double(),
        lambda: torch.ones(2, 2) @ torch.ones(2).long(),
        lambda: torch.mm(torch.ones(2), torch.ones(2)),
        lambda: torch.nn.Linear(3, 2)(torch.ones(2, 4)),
        lambda: F.cross_entropy(torch.zeros(2, 3), torch.tensor([1, 7])),
        lambda: F.cross_entropy(torch.zeros(2, 3), torch.zeros(2)),
        lambda: F.one_hot(torch.tensor([-1])),
        lambda: F.embedding(torch.tensor([7]), torch.ones(2, 2)),
        lambda: torch.zeros(3).gather(0, torch.tensor([4])),
        lambda: torch.zeros(3).gather(0, torch.tensor([1.0])),
        lambda: torch.zeros(3).scatter(0, torch.tensor([3]), torch.ones(1)),
        lambda: torch.zeros(3).scatter_add(0, torch.tensor([-4]), torch.ones(1)),
        lambda: torch.zeros(3).index_select(0, torch.tensor([5])),
        lambda: torch.zeros(3).take(torch.tensor([3])),
        lambda: torch.bincount(torch.tensor([-3])),
        lambda: torch.linalg.solve(torch.ones(2, 2), torch.ones(3)),
        lambda: torch.norm(torch.arange(3)),
        lambda: torch.arange(3).mean(),
    )
    for call in wrong:
        try:
            call()
        except Exception as error:
            print(type(error).__name__, error)
"""


def test_definitions_over_arrays_refuse_the_same_without_numpy():
    without, beside = (output(start + textwrap.dedent(REFUSED)) for start in (BLOCKED, ""))
    assert without == beside
    assert without.count("Error") >= REFUSED.count("lambda")


def test_who_asks_for_an_array_is_told_what_is_missing():
    program = """
        import rushlight as torch

        for ask in (
            lambda: torch.ones(2).numpy(),
            lambda: torch.float32.numpy,
            lambda: torch.ones(2).bfloat16().nextafter(torch.ones(2).bfloat16()),
        ):
            try:
                ask()
            except ModuleNotFoundError as error:
                print(error)
    """
    said = (
        "No module named 'numpy'. An array of a tensor was asked for here, or an op that only "
        "NumPy computes. Install it: pip install numpy\n"
    )
    assert output(BLOCKED + textwrap.dedent(program)) == 3 * said


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


def test_workers_that_import_numpy_late_draw_as_their_seed_says():
    program = """
        import rushlight as torch
        from rushlight.utils.data import DataLoader

        class Drawn:
            def __len__(self):
                return 4

            def __getitem__(self, i):
                import numpy as np
                return int(np.random.randint(2**31))

        def drawn(seed):
            torch.manual_seed(seed)
            loader = DataLoader(Drawn(), 1, num_workers=2, multiprocessing_context="fork")
            return [int(batch) for batch in loader]

        first, again, other = drawn(0), drawn(0), drawn(1)
        print(first == again, first != other, len(set(first)), "numpy" in sys.modules)
    """
    assert output("import sys\n" + textwrap.dedent(program)) == "True True 4 False\n"


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
