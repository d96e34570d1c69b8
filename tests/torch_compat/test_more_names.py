"""Names that few programs use, of torch's modules: what they do on both libraries."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBRARIES = [rushlight, torch]


def both(function, *arrays):
    """What a function of the library and tensors gives on each; or the exception."""
    found = []
    for m in LIBRARIES:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = function(m, *[m.from_numpy(a.copy()) for a in arrays])
            found.append(result.detach().numpy() if isinstance(result, m.Tensor) else result)
        except Exception as error:
            found.append((type(error), str(error).split("\n")[0]))
    return found


def draw(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


X, W, W3 = draw(3, 2), draw(5, 2), draw(5, 4, 2)
A, B, C = draw(4, 8), draw(2, 8, 8), draw(8, 8)
ENDS = np.array([1, 4], np.int32)

SIZES_IN_FILES = """DEFAULT_PROTOCOL LONG_SIZE INT_SIZE SHORT_SIZE MAGIC_NUMBER PROTOCOL_VERSION
STORAGE_KEY_SEPARATOR""".split()

SAME = {
    "a mask that is added": (
        lambda m, x: m.nn.functional._canonical_mask(x > 0, "a", None, "b", m.float64),
        (X,),
    ),
    "constants of files": (lambda m: [getattr(m.serialization, n) for n in SIZES_IN_FILES], ()),
    "linear cross entropy": (
        lambda m, x, w: m.nn.functional.linear_cross_entropy(x, w, m.tensor([1, 2, 3])),
        (X, W),
    ),
    "several labels a sample": (
        lambda m, x, w: m.nn.functional.linear_cross_entropy(
            x, w, m.zeros(3, 4, dtype=m.int64), reduction="none", label_smoothing=0.1
        ),
        (X, W3),
    ),
    "a bias and a label that is left out": (
        lambda m, x, w: m.nn.functional.linear_cross_entropy(
            x, w, m.tensor([1, 0, 3]), linear_bias=m.arange(5.0), ignore_index=0
        ),
        (X, W),
    ),
    "no batch": (
        lambda m, x, w: m.nn.functional.linear_cross_entropy(x[0], w, m.tensor(1)),
        (X, W),
    ),
    "no matrix": (
        lambda m, x, w: m.nn.functional.linear_cross_entropy(x, w[0], m.tensor([1])),
        (X, W),
    ),
    "several labels, no batch": (
        lambda m, x, w: m.nn.functional.linear_cross_entropy(x[0], w, m.tensor([1])),
        (X, W3),
    ),
    "groups of rows": (
        lambda m, a, b, e: m.nn.functional.grouped_mm(a, b, offs=e),
        (A, B, ENDS),
    ),
    "groups of columns": (
        lambda m, b, c, e: m.nn.functional.grouped_mm(b, c, offs=e * 2),
        (B, C, ENDS),
    ),
    "groups of both": (
        lambda m, a, c, e: m.nn.functional.grouped_mm(a.t(), c[:4], offs=e),
        (A, C, ENDS),
    ),
    "batches": (lambda m, b: m.nn.functional.grouped_mm(b, b), (B,)),
    "no offsets": (lambda m, a, b: m.nn.functional.grouped_mm(a, b), (A, B)),
    "long offsets": (
        lambda m, a, b, e: m.nn.functional.grouped_mm(a, b, offs=e.long()),
        (A, B, ENDS),
    ),
    "one offset": (
        lambda m, a, b, e: m.nn.functional.grouped_mm(a, b, offs=e[:1]),
        (A, B, ENDS),
    ),
    "upsampled": (
        lambda m, b: m.nn.functional.upsample_nearest(b[None], scale_factor=2),
        (B,),
    ),
    "upsampled with corners": (
        lambda m, b: m.nn.functional.upsample_bilinear(b[None], size=(3, 5)),
        (B,),
    ),
    "rearranged": (lambda m, b: m.func.rearrange(b, "a b c -> c (a b)"), (B,)),
    "other dimensions": (lambda m, b: m.func.rearrange(b, "a ... -> ... a"), (B,)),
    "a list": (lambda m, a: m.func.rearrange([a, a], "n a b -> a n b 1"), (A,)),
    "too few names": (lambda m, b: m.func.rearrange(b, "a b -> b a"), (B,)),
    "a name twice": (lambda m, a: m.func.rearrange(a, "a a -> a"), (A,)),
    "options": (lambda m: repr(m.nn.LinearCrossEntropyOptions()), ()),
    "wrong options": (lambda m: m.nn.LinearCrossEntropyOptions(batch_chunk_size=-1), ()),
    "modes by name": (
        lambda m: (
            m.nn.functional.GRID_SAMPLE_INTERPOLATION_MODES,
            m.nn.functional.GRID_SAMPLE_PADDING_MODES,
        ),
        (),
    ),
    "one of two": (
        lambda m: [
            m.nn.functional.boolean_dispatch(
                "flag", 1, False, lambda x, flag: "yes", lambda x, flag=False: "no", "m", "f"
            )(*args)
            for args in ((1,), (1, True))
        ],
        (),
    ),
    "flash attention": (lambda m: m.nn.attention.list_flash_attention_impls(), ()),
    "no such attention": (lambda m: m.nn.attention.activate_flash_attention_impl("x"), ()),
    "states of devices": (lambda m: m.utils.checkpoint.get_device_states(m.ones(1)), ()),
}


@pytest.mark.parametrize("case", SAME)
def test_like_torch(case):
    function, arrays = SAME[case]
    ours, theirs = both(function, *arrays)
    if isinstance(theirs, np.ndarray):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    else:
        assert ours == theirs


def test_splitting_a_dimension():
    x = rushlight.arange(6)
    found = rushlight.func.rearrange(x, "(a b) -> b a", a=2)
    assert found.tolist() == np.arange(6).reshape(2, 3).T.tolist()
    for pattern, lengths in (("(a b) -> a b", {}), ("(a b) -> a b", {"a": 4}), ("a -> (a", {})):
        with pytest.raises(ValueError):
            rushlight.func.rearrange(x, pattern, **lengths)


def test_a_layer_and_its_loss_train_alike():
    found = []
    for m in LIBRARIES:
        m.manual_seed(0)
        loss = m.nn.LinearCrossEntropyLoss(2, 5, out_features=(4,), bias=True)
        value = loss(m.from_numpy(X), m.zeros(3, 4, dtype=m.int64))
        value.backward()
        grads = {n: p.grad.numpy() for n, p in loss.named_parameters()}
        found.append((str(loss), value.item(), grads))
    (text, value, grads), theirs = found
    assert text == theirs[0] and value == pytest.approx(theirs[1], rel=1e-5)
    assert grads.keys() == theirs[2].keys()
    for name, grad in grads.items():
        np.testing.assert_allclose(grad, theirs[2][name], atol=1e-6)


def optimizer_with_others(m):
    weight = m.nn.Parameter(m.ones(2))
    optimizer = m.optim.Adam([weight], lr=0.5)
    weight.grad = m.ones(2)
    optimizer.step()
    before = weight.tolist()
    other = m.zeros(2)
    other.grad = -m.ones(2)
    with m.optim.swap_in_optimizer_params_and_state(
        optimizer, {"w": other}, optimizer.state_dict()
    ):
        optimizer.step()
    assert weight.tolist() == before and optimizer.param_groups[0]["params"][0] is weight
    return other.tolist()


def test_an_optimizer_lends_its_state():
    assert optimizer_with_others(rushlight) == pytest.approx(optimizer_with_others(torch))


CHECKS = [
    (lambda f: f.check("a").check_next("b"), "a\nb", True),
    (lambda f: f.check("a").check_next("b"), "a\n\nb", False),
    (lambda f: f.check("a").check_same("b"), "a b", True),
    (lambda f: f.check("a").check_same("b"), "a\nb", False),
    (lambda f: f.check("z"), "a\nb", False),
    (lambda f: f.check_not("a"), "b", True),
    (lambda f: f.check_not("a"), "b\na", False),
    (lambda f: f.check("a").check_not("x").check("b"), "a x b", False),
    (lambda f: f.check("a").check_not("x").check("b"), "a b x", True),
    (lambda f: f.check_count("a", 2), "a a a", True),
    (lambda f: f.check_count("a", 2, exactly=True), "a a a", False),
    (lambda f: f.check_count("a", 3), "a a", False),
    (lambda f: f.check_dag("b").check_dag("a").check("c"), "a b c", True),
    (lambda f: f.check_dag("b").check_dag("a").check("c"), "a c b", False),
    (lambda f: f.check_regex("a+b").check("c"), "aaab c", True),
    (lambda f: f.check_regex("a+b"), "ac", False),
]


@pytest.mark.parametrize("number", range(len(CHECKS)))
def test_checks_of_texts(number):
    build, text, fits = CHECKS[number]
    for m in LIBRARIES:
        if fits:
            build(m.testing.FileCheck()).run(text)
        else:
            with pytest.raises(RuntimeError, match="Expected to"):
                build(m.testing.FileCheck()).run(text)


def test_modules_on_one_device():
    parallel, layer = rushlight.nn.parallel, rushlight.nn.Linear(2, 2)
    copies = parallel.replicate(layer, ["cpu"])
    (inputs,) = parallel.scatter(rushlight.ones(3, 2), ["cpu"])
    found = parallel.gather(parallel.parallel_apply(copies, [inputs]), "cpu")
    assert rushlight.equal(found, layer(rushlight.ones(3, 2)))


def test_counts_and_keys():
    for m in LIBRARIES:
        unique = m.autograd.profiler.EnforceUnique()
        unique.see("a", 1)
        with pytest.raises(RuntimeError, match="duplicate key"):
            unique.see("a", 1)
        tracker = m.autograd.profiler.KinetoStepTracker
        tracker.init_step_count("me")
        first = tracker.current_step()
        assert tracker.increment_step("me") == first + 1
        assert tracker.erase_step_count("me") and not tracker.erase_step_count("me")


@pytest.mark.parametrize(
    "make",
    [
        lambda: rushlight.accelerator.Graph(),
        lambda: rushlight.nn.functional.scaled_mm(1, 2),
        lambda: rushlight.autograd.profiler.load_nvprof("x"),
        lambda: type("Mine", (rushlight.autograd.NestedIOFunction,), {}),
    ],
)
def test_what_is_refused_says_why(make):
    with pytest.raises(NotImplementedError, match="is not in rushlight: "):
        make()
