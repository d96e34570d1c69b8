"""torch.nn.utils on both libraries: weights computed from others, fusion, wrappers.

Each case trains a module for two steps, calls it in evaluation, and perhaps undoes what was done.
"""

import importlib
import warnings

import numpy as np
import pytest
from test_nn_modules import check, flat

import rushlight

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


class Subject:
    """A library's names as the cases write them."""

    def __init__(self, m):
        self.m, self.nn = m, m.nn
        self.utils = importlib.import_module(f"{m.__name__}.nn.utils")
        for name in ("parametrize", "parametrizations", "prune", "stateless"):
            try:
                setattr(self, name, importlib.import_module(f"{m.__name__}.nn.utils.{name}"))
            except ModuleNotFoundError:
                continue


def module_class(t, body):
    names = {"nn": t.nn, "torch": t.m}
    exec(f"class Made(nn.Module):\n    {body}", names)
    return names["Made"]()


SYMMETRIC = "def forward(self, x): return x.triu() + x.triu(1).mT"


def state(layer):
    return [
        [f"{name} {tuple(t.shape)}" for name, t in layer.state_dict().items()],
        [t.clone() for t in layer.state_dict().values()],
        [name for name, _ in layer.named_parameters()],
        [p.grad for p in layer.parameters()],
        repr(layer),
    ]


def trained(m, make, shape, undo):
    m.manual_seed(0)
    t = Subject(m)
    layer = make(t)
    g = np.random.default_rng(0)
    seen = [state(layer)]
    for _ in range(2):
        x = m.tensor(g.standard_normal(shape).astype("f"), requires_grad=True)
        out = layer(x)
        (out * out).sum().backward()
        seen += [out, x.grad]
        with m.no_grad():
            for p in layer.parameters():
                p -= 0.01 * p.grad
    seen.append(layer.eval()(x))
    seen.append(state(layer.train()))
    if undo:
        layer = undo(t, layer)
        seen += [state(layer), layer(x)]
    return flat(seen)


def plain(t, layer):
    return t.parametrize.remove_parametrizations(layer, "weight")


TRAINED = {
    **{
        f"hook, dim {dim}": (
            lambda t, dim=dim: t.utils.weight_norm(t.nn.Linear(3, 2), dim=dim),
            (4, 3),
            lambda t, layer: t.utils.remove_weight_norm(layer),
        )
        for dim in (0, 1, None, -1)
    },
    **{
        f"lengths, dim {dim}": (
            lambda t, dim=dim: t.parametrizations.weight_norm(t.nn.Linear(3, 2), dim=dim),
            (4, 3),
            plain,
        )
        for dim in (0, 1, None, -1)
    },
    "spectral hook": (
        lambda t: t.utils.spectral_norm(t.nn.Conv2d(3, 2, 2)),
        (4, 3, 5, 5),
        lambda t, layer: t.utils.remove_spectral_norm(layer),
    ),
    "spectral hook, transposed": (
        lambda t: t.utils.spectral_norm(t.nn.ConvTranspose2d(3, 2, 2), n_power_iterations=3),
        (4, 3, 5, 5),
        None,
    ),
    "spectral": (lambda t: t.parametrizations.spectral_norm(t.nn.Linear(3, 2)), (4, 3), plain),
    "spectral, transposed": (
        lambda t: t.parametrizations.spectral_norm(t.nn.ConvTranspose2d(3, 2, 2), "weight", 3),
        (4, 3, 5, 5),
        plain,
    ),
    "spectral, a vector": (
        lambda t: t.parametrizations.spectral_norm(t.nn.BatchNorm1d(3)),
        (4, 3),
        plain,
    ),
    **{
        f"orthogonal {how} {size} {base}": (
            lambda t, how=how, size=size, base=base: t.parametrizations.orthogonal(
                t.nn.Linear(*size), orthogonal_map=how, use_trivialization=base
            ),
            (5, size[0]),
            plain,
        )
        for how in (None, "matrix_exp", "cayley", "householder")
        for size in ((3, 3), (4, 2), (2, 4))
        for base in (True, False)
    },
    "symmetric": (
        lambda t: t.parametrize.register_parametrization(
            t.nn.Linear(3, 3), "weight", module_class(t, SYMMETRIC)
        ),
        (4, 3),
        plain,
    ),
    "symmetric, then the original": (
        lambda t: t.parametrize.register_parametrization(
            t.nn.Linear(3, 3), "weight", module_class(t, SYMMETRIC)
        ),
        (4, 3),
        lambda t, layer: t.parametrize.remove_parametrizations(layer, "weight", False),
    ),
    "two": (
        lambda t: t.parametrize.register_parametrization(
            t.parametrizations.weight_norm(t.nn.Linear(3, 3)),
            "weight",
            module_class(t, SYMMETRIC),
        ),
        (4, 3),
        None,
    ),
    "a copy": (
        lambda t: importlib.import_module("copy").deepcopy(
            t.parametrizations.weight_norm(t.nn.Linear(3, 3))
        ),
        (4, 3),
        plain,
    ),
    "transferred": (
        lambda t: t.parametrize.transfer_parametrizations_and_params(
            t.parametrizations.weight_norm(t.nn.Linear(3, 3)), t.nn.Linear(3, 3)
        ),
        (4, 3),
        None,
    ),
    "data parallel": (lambda t: t.nn.DataParallel(t.nn.Linear(3, 2)), (4, 3), None),
}


@pytest.mark.parametrize("case", TRAINED)
def test_a_computed_weight_is_the_same(case):
    check(trained(rushlight, *TRAINED[case]), trained(torch, *TRAINED[case]))


ONE = [
    "def forward(self, x): return x[0]",
    "def forward(self, x): return x.double()",
    "def forward(self, x): return 3",
    "def forward(self, x): return x\n    def right_inverse(self, x): return x.double()",
    "def forward(self, x): return x\n    def right_inverse(self, x): return x[0]",
    "def forward(self, x): return x\n    def right_inverse(self, x): return 3",
    "def forward(self, x, y): return x\n    def right_inverse(self, x): return x, 3",
    "def forward(self, x, y): return x\n    def right_inverse(self, x): return x, x + 1",
]
CALLS = [
    "utils.weight_norm(utils.weight_norm(nn.Linear(3, 2)))",
    "utils.remove_weight_norm(nn.Linear(3, 2))",
    "utils.spectral_norm(utils.spectral_norm(nn.Linear(3, 2)))",
    "utils.remove_spectral_norm(nn.Linear(3, 2))",
    "utils.spectral_norm(nn.Linear(3, 2), n_power_iterations=0)",
    "utils.spectral_norm(nn.Linear(3, 2), 'foo')",
    "utils.weight_norm(nn.Linear(3, 2), 'foo')",
    "utils.weight_norm(nn.LSTM(2, 3), 'weight_hh_l0')",
    "list(utils.spectral_norm(nn.Linear(3, 2)).state_dict()._metadata.values())",
    "parametrizations.spectral_norm(nn.Linear(3, 2), 'foo')",
    "parametrizations.spectral_norm(nn.Linear(3, 2), n_power_iterations=0)",
    "parametrizations.spectral_norm(nn.Linear(3, 2), dim=5)",
    "parametrizations.weight_norm(nn.Linear(3, 2), 'foo')",
    "parametrizations.orthogonal(nn.Linear(3, 2), 'foo')",
    "parametrizations.orthogonal(nn.Linear(3, 2), 'bias')",
    "parametrizations.orthogonal(nn.Linear(3, 2), orthogonal_map='foo')",
    "parametrize.remove_parametrizations(nn.Linear(3, 2), 'weight')",
    "parametrize.register_parametrization(nn.Linear(3, 2), 'foo', nn.Identity())",
    "__import__('pickle').dumps(parametrizations.weight_norm(nn.Linear(3, 2)))",
    "setattr(parametrizations.spectral_norm(nn.Linear(3, 2)), 'weight', m.zeros(2, 3))",
    "utils.fuse_conv_bn_eval(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))",
    "utils.fuse_linear_bn_eval(nn.Linear(1, 2).eval(), nn.BatchNorm1d(3).eval())",
    "utils.fuse_linear_bn_eval(nn.Linear(1, 2).eval(), nn.BatchNorm1d(2).eval())",
    "utils.fuse_conv_bn_eval(nn.Conv1d(1, 2, 3, bias=False).eval(), nn.BatchNorm1d(2).eval())",
    *(
        f"parametrize.register_parametrization(nn.Linear(3, 3), 'weight', make({body!r}), "
        f"unsafe={unsafe})"
        for body in ONE
        for unsafe in (False, True)
    ),
]


def called(m, expression):
    m.manual_seed(0)
    t = Subject(m)
    try:
        found = eval(expression, {**vars(t), "make": lambda body: module_class(t, body)})
    except Exception as error:
        return error
    return flat(state(found) if isinstance(found, m.nn.Module) else [found])


@pytest.mark.parametrize("expression", CALLS)
def test_a_call_is_the_same(expression):
    check(called(rushlight, expression), called(torch, expression))


@pytest.mark.parametrize("kind", ["Conv2d", "ConvTranspose2d", "Linear"])
def test_fusion_is_the_same(kind):
    def run(m):
        m.manual_seed(0)
        t = Subject(m)
        norm = t.nn.BatchNorm1d(4) if kind == "Linear" else t.nn.BatchNorm2d(4)
        layer = t.nn.Linear(3, 4) if kind == "Linear" else getattr(t.nn, kind)(3, 4, 2)
        shape = (5, 3) if kind == "Linear" else (5, 3, 6, 6)
        x = m.tensor(np.random.default_rng(0).standard_normal(shape).astype("f"))
        norm(layer(x))
        layer.eval(), norm.eval()
        if kind == "Linear":
            fused = t.utils.fuse_linear_bn_eval(layer, norm)
        else:
            fused = t.utils.fuse_conv_bn_eval(layer, norm, kind == "ConvTranspose2d")
        assert np.allclose(fused(x).detach(), norm(layer(x)).detach(), atol=1e-5)
        return flat([state(fused), fused(x)])

    check(run(rushlight), run(torch))


@pytest.mark.parametrize(
    "given", ["math", "MATH", [], ["x"], 3, ["FLASH_ATTENTION", "MATH"]], ids=str
)
def test_sdpa_kernel_takes_the_same(given):
    def run(m):
        attention = importlib.import_module(f"{m.__name__}.nn.attention")
        kinds = attention.SDPBackend.__members__
        if isinstance(given, list):
            backends = [kinds.get(name, name) for name in given]
        else:
            backends = kinds.get(given, given)
        before = attention._cur_sdpa_kernel_backends()
        try:
            with attention.sdpa_kernel(backends):
                inside = [kind.name for kind in attention._cur_sdpa_kernel_backends()]
        except Exception as error:
            return error
        assert attention._cur_sdpa_kernel_backends() == before
        return [*inside, *(f"{kind.name} {kind.value}" for kind in kinds.values())]

    check(run(rushlight), run(torch))


@pytest.mark.parametrize(
    ("layer", "shapes", "options"),
    [
        ("t.nn.Linear(3, 2)", [(4, 3)], {}),
        ("t.nn.Linear(3, 2)", [(4, 5, 3)], {"loss_reduction": "mean"}),
        ("t.nn.Sequential(t.nn.Conv1d(3, 2, 2), t.nn.GroupNorm(1, 2))", [(2, 3, 4)], {}),
        ("t.nn.Linear(3, 2)", [(4, 3)], {"batch_size": 4}),
        ("t.nn.Linear(3, 2)", [(4, 3)], {"batch_size": 3}),
        ("t.nn.Linear(3, 2)", [(4, 3)], {"batch_size": 0}),
        ("t.nn.Linear(3, 2)", [(4, 3)], {"loss_reduction": "none"}),
        ("t.nn.Bilinear(3, 3, 2)", [(4, 3), (2, 3)], {}),
        ("t.nn.Linear(3, 2)", [], {}),
    ],
)
def test_the_gradient_of_each_example(layer, shapes, options):
    def run(m):
        utils = importlib.import_module(f"{m.__name__}.nn.utils._per_sample_grad")
        module = eval(layer, {"t": m})
        for p in module.parameters():
            p.data = m.arange(p.numel()).reshape(p.shape).float() % 5 * 0.3 - 0.4
        given = [m.arange(float(np.prod(s))).reshape(s) * 0.1 for s in shapes]
        try:
            out = utils.call_for_per_sample_grads(module, **options)(*given)
        except Exception as error:
            return error
        (out * out).sum().backward()
        return [out, *(p.grad_sample for p in module.parameters())]

    check(run(rushlight), run(torch))


def test_functional_call_at_its_old_place():
    def run(m):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            given = {"weight": m.ones(1, 2), "bias": m.zeros(1)}
            out = Subject(m).stateless.functional_call(m.nn.Linear(2, 1), given, m.ones(2))
        return [out, *(f"{w.category} {w.message}" for w in said)]

    check(run(rushlight), run(torch))


PRUNED = [
    "prune.random_unstructured(layer, 'weight', 0.5)",
    "prune.random_structured(layer, 'weight', 2, 1)",
    "prune.l1_unstructured(layer, 'weight', 3)",
    "prune.l1_unstructured(layer, 'weight', 0.0)",
    "prune.ln_structured(layer, 'weight', 0.5, 2, 0)",
    "prune.ln_structured(layer, 'weight', 1, 1, -1)",
    "prune.custom_from_mask(layer, 'bias', m.tensor([1, 0, 1]))",
    "prune.identity(layer, 'weight')",
    "prune.l1_unstructured(prune.random_unstructured(layer, 'weight', 0.5), 'weight', 2)",
    "prune.ln_structured(prune.ln_structured(layer, 'weight', 1, 2, 0), 'weight', 1, 2, 0)",
    "prune.custom_from_mask(prune.l1_unstructured(layer, 'weight', 5), 'weight', m.eye(3, 4))",
    "(prune.global_unstructured([(layer, 'weight'), (layer, 'bias')], prune.L1Unstructured, "
    "amount=6), layer)[1]",
    *(f"prune.l1_unstructured(layer, 'weight', {amount!r})" for amount in (-1, 1.5, 100, "x")),
    "prune.ln_structured(layer, 'bias', 0.5, 2, 0)",
    "prune.ln_structured(layer, 'weight', 0.5, 2, 5)",
    "prune.custom_from_mask(layer, 'weight', m.ones(2, 2))",
    "prune.remove(layer, 'weight')",
    "prune.l1_unstructured(layer, 'foo', 1)",
    "prune.l1_unstructured(layer, 'weight', 1, importance_scores=m.ones(2, 2))",
    "prune.global_unstructured(3, prune.L1Unstructured, amount=1)",
]


@pytest.mark.parametrize("expression", PRUNED)
def test_pruning_is_the_same(expression):
    def run(m):
        m.manual_seed(0)
        t = Subject(m)
        layer = t.nn.Linear(4, 3)
        try:
            eval(expression, {**vars(t), "layer": layer})
        except Exception as error:
            return error
        x = m.tensor(np.random.default_rng(0).standard_normal((5, 4)).astype("f"))
        layer(x).sum().backward()
        seen = [state(layer), layer(x), t.prune.is_pruned(layer)]
        for name in ("weight", "bias"):
            if hasattr(layer, f"{name}_mask"):
                t.prune.remove(layer, name)
        return flat([*seen, state(layer), layer(x), t.prune.is_pruned(layer)])

    check(run(rushlight), run(torch))
