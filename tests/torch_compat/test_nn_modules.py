"""Layers on both libraries with the same seed: parameters, results, gradients, names, printing.

A case is the layer's expression and what it is called with: a shape is a tensor of normal numbers,
a list an argument as it is, a function makes one.
"""

import inspect
import warnings

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")


def ints(*shape, high=5):
    return lambda m, g: m.tensor(g.integers(0, high, shape))


def signs(*shape):
    return lambda m, g: m.tensor(np.where(g.random(shape) < 0.5, -1.0, 1.0).astype("f"))


def positive(*shape):
    return lambda m, g: m.tensor(g.random(shape).astype("f") + 0.1)


def given(values):
    return lambda m, g: m.tensor(values)


def log_probs(*shape):
    return lambda m, g: m.tensor(g.standard_normal(shape).astype("f")).log_softmax(-1)


def places(n):
    return lambda m, g: getattr(m.nn, f"MaxPool{n}d")(2, return_indices=True)(
        m.tensor(g.standard_normal((1, 2, *[4] * n)))
    )[1]


def of_dimensions(n):
    size = [4] * n
    for kind in ("Circular", "Reflection", "Replication", "Zero"):
        yield f"nn.{kind}Pad{n}d(1)", (2, 3, *size)
        yield f"nn.{kind}Pad{n}d({tuple(range(2 * n))[::-1]})", (2, 3, *[6] * n)
        yield f"nn.{kind}Pad{n}d(1)", (3, *size)
        yield f"nn.{kind}Pad{n}d(1)", (3,)
        yield f"nn.{kind}Pad{n}d(7)", (1, 3, *size)
    yield f"nn.ConstantPad{n}d(1, 2.5)", (2, 3, *size)
    yield f"nn.ConstantPad{n}d(-1, 2.5)", (2, 3, *size)
    for how in ("", "affine=True", "track_running_stats=True", "affine=True, bias=False"):
        for end in ("", ".eval()"):
            yield f"nn.InstanceNorm{n}d(3, {how}){end}", (2, 3, *size)
            yield f"nn.InstanceNorm{n}d(3, {how}){end}", (3, *size)
    yield f"nn.InstanceNorm{n}d(3, affine=True)", (2, 4, *size)
    yield f"nn.InstanceNorm{n}d(3)", (2, 4, *size)
    yield f"nn.InstanceNorm{n}d(3)", (4,)
    yield f"nn.InstanceNorm{n}d(3)", (2, 3, *[1] * n)
    yield f"nn.LPPool{n}d(2, 2)", (2, 3, *[5] * n)
    yield f"nn.LPPool{n}d(3.0, 2, stride=1, ceil_mode=True)", (3, *[5] * n)
    yield f"nn.MaxUnpool{n}d(2)", (1, 2, *[2] * n), places(n)


def fractional(n):
    for how in ("output_size=3", "output_ratio=0.6", "output_size=3, return_indices=True"):
        yield f"nn.FractionalMaxPool{n}d(2, {how})", (2, 3, *[7] * n)
        yield f"nn.FractionalMaxPool{n}d(2, {how})", (3, *range(6, 6 + n))
    for how in ("output_size=6", "output_size=1"):
        yield f"nn.FractionalMaxPool{n}d(2, {how})", (2, 3, *[7] * n)
    yield f"nn.FractionalMaxPool{n}d(2, output_size=2)", (7,)
    yield f"nn.FractionalMaxPool{n}d(2, output_size=2)", (0, 3, *[7] * n)
    yield f"nn.FractionalMaxPool{n}d(2)", (2, 2)
    yield f"nn.FractionalMaxPool{n}d(2, output_ratio=2.0)", (2, 2)
    yield f"nn.FractionalMaxPool{n}d(2, output_ratio=0.5, output_size=1)", (2, 2)


def losses(how):
    x = (3, 4)
    yield f"nn.PoissonNLLLoss({how})", x, positive(*x)
    yield f"nn.PoissonNLLLoss(True, True, {how})", x, positive(*x)
    yield f"nn.GaussianNLLLoss({how}, full=True)", x, x, positive(*x)
    yield f"nn.HingeEmbeddingLoss({how}, margin=0.5)", x, signs(*x)
    yield f"nn.CosineEmbeddingLoss(0.1, {how})", x, x, signs(3)
    yield f"nn.MarginRankingLoss(0.1, {how})", (3,), (3,), signs(3)
    yield f"nn.MultiLabelMarginLoss({how})", x, ints(3, 4, high=4)
    yield f"nn.MultiLabelSoftMarginLoss(m.rand(4), {how})", x, positive(*x)
    yield f"nn.MultiMarginLoss({how})", x, ints(3, high=4)
    yield f"nn.MultiMarginLoss(2, 0.5, m.rand(4), {how})", x, ints(3, high=4)
    yield f"nn.SoftMarginLoss({how})", x, signs(*x)
    yield f"nn.TripletMarginLoss({how}, swap=True)", x, x, x
    yield f"nn.TripletMarginWithDistanceLoss({how})", x, x, x
    yield f"nn.NLLLoss2d({how})", (2, 3, 2, 2), ints(2, 2, 2, high=3)
    yield f"nn.CrossEntropyLoss({how}, label_smoothing=0.1)", x, ints(3, high=4)
    yield f"nn.KLDivLoss({how}, log_target=True)", x, x
    yield f"nn.BCEWithLogitsLoss({how}, pos_weight=m.ones(4) * 2)", x, positive(*x)
    yield f"nn.HuberLoss({how}, delta=0.5)", x, x
    two = ([[1, 1, 3], [4, 4, 4], [1, 2, 3]], [3, 3, 0], [3, 2, 0])
    yield f"nn.CTCLoss({how})", log_probs(7, 3, 5), ints(3, 3), [7, 6, 7], [3, 2, 0]
    yield f"nn.CTCLoss({how})", (3, 3, 5), given(two[0]), *two[1:]
    yield f"nn.CTCLoss({how}, zero_infinity=True)", (3, 3, 5), given(two[0]), *two[1:]
    rest = (given([7, 5, 6]), given([2, 1, 3]))
    yield f"nn.CTCLoss(2, {how})", (7, 3, 5), given([1, 1, 3, 4, 0, 0]), *rest
    yield f"nn.CTCLoss({how})", (6, 5), given([1, 1, 3]), given(6), given(3)


def refused_ctc():
    x, right = log_probs(4, 2, 3), given([[1, 2], [1, 1]])
    yield x, given([1, 2, 1, 1]), [4, 4], [2, 1]
    yield x, given([1, 2, 1, 1]), [4, 4], [2, 3]
    yield x, right, [4, 4], [2, 3]
    yield x, right, [4, 5], [2, 2]
    yield x, right, [4], [2, 2]
    yield x, right, [4, 4], [2]
    yield x, given([[1, 2]]), [4, 4], [2, 2]
    yield x, given([[1, 2], [1, 0]]), [4, 4], [2, 2]  # a blank: no error
    yield x, right, given([4, -1]), given([2, 2])
    yield x, right, given([4, 4]), given([2, -2])
    yield x, right, given([4, 4]), given([2.0, 2.0])
    yield lambda m, g: x(m, g).half(), right, [4, 4], [2, 2]
    yield lambda m, g: x(m, g)[:, :0], right, [4, 4], [2, 2]


def bags():
    for how in (
        "",
        "mode='sum', padding_idx=1",
        "mode='max'",
        "max_norm=1.0, padding_idx=-1, dtype=m.float64",
        "padding_idx=5",
        "padding_idx=-6",
        "_weight=m.zeros(2, 2)",
        "mode='x'",
    ):
        yield f"nn.EmbeddingBag(5, 3, {how})", ints(4, 6)
        yield f"nn.EmbeddingBag(5, 3, {how})", ints(7), given([0, 2, 2, 5])
    yield "nn.EmbeddingBag(5, 3, include_last_offset=True)", ints(5), given([0, 2, 2, 5])
    yield "nn.EmbeddingBag.from_pretrained(m.ones(5, 3), freeze=False)", ints(4, 6)
    yield "nn.EmbeddingBag.from_pretrained(m.ones(5))", ints(4, 6)
    yield "nn.EmbeddingBag(5, 3, mode='sum')", ints(4, 6), [None], (4, 6)
    yield "nn.EmbeddingBag(5, 3)", ints(4, 6), [None], (4, 6)
    for how in ("padding_idx=5", "padding_idx=-5", "padding_idx=-6", "_weight=m.zeros(2, 2)"):
        yield f"nn.Embedding(5, 3, {how})", ints(4, 6)


def adaptive():
    for cutoffs in ("[4, 10]", "[10, 4]", "[]", "[20]", "[4.5]", "[0]", "[3]"):
        layer = f"nn.AdaptiveLogSoftmaxWithLoss(8, 20, {cutoffs}, div_value=1.5, head_bias=True)"
        yield layer, (5, 8), given([1, 5, 19, 12, 4])
    for target in ([1, 5, 20, 12, 4], [1], [[1]] * 5, 7):
        yield "nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], 1.5)", (5, 8), given(target)
    yield "nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], 1.5)", (8,), given(7)


CASES = [
    *(case for n in (1, 2, 3) for case in of_dimensions(n)),
    *(case for n in (2, 3) for case in fractional(n)),
    *(case for how in ("mean", "sum", "none", "x") for case in losses(f"reduction={how!r}")),
    *(("nn.CTCLoss()", *arguments) for arguments in refused_ctc()),
    ("nn.CTCLoss(3)", log_probs(4, 2, 3), given([[1, 2], [1, 1]]), [4, 4], [2, 2]),
    *bags(),
    *adaptive(),
    ("nn.HingeEmbeddingLoss(size_average=False)", (3, 4), signs(3, 4)),
    ("nn.MultiMarginLoss(p=3)", (3, 4)),
    ("nn.MultiMarginLoss(weight=m.ones(2, 2))", (3, 4)),
    ("nn.TripletMarginLoss(margin=0)",),
    ("nn.TripletMarginWithDistanceLoss(margin=-1)",),
    ("nn.AdaptiveMaxPool3d((1, None, 2), True)", (2, 3, 4, 4, 4)),
    ("nn.Upsample(scale_factor=2)", (1, 2, 3)),
    ("nn.Upsample(scale_factor=(2, 3), mode='bilinear', align_corners=True)", (1, 2, 3, 3)),
    ("nn.Upsample(size=5, mode='linear')", (1, 2, 3)),
    ("nn.Upsample()", (1, 2, 3)),
    ("nn.UpsamplingNearest2d(scale_factor=2)", (1, 2, 3, 3)),
    ("nn.UpsamplingBilinear2d(size=(4, 5))", (1, 2, 3, 3)),
    ("nn.PixelShuffle(2)", (2, 8, 3, 3)),
    ("nn.PixelShuffle(3)", (2, 8, 3, 3)),
    ("nn.PixelUnshuffle(2)", (2, 2, 4, 4)),
    ("nn.ChannelShuffle(2)", (2, 4, 3, 3)),
    ("nn.ChannelShuffle(3)", (2, 4, 3, 3)),
    ("nn.Fold((4, 5), 2)", (2, 12, 12)),
    ("nn.Unfold(2, padding=1)", (2, 3, 4, 4)),
    ("nn.RReLU()", (3, 4)),
    ("nn.RReLU(0.1, 0.2).eval()", (3, 4)),
    ("nn.Hardtanh(min_value=-0.5, max_value=0.5)", (3, 4)),
    ("nn.LocalResponseNorm(3)", (2, 5, 4)),
    ("nn.LocalResponseNorm(2, 0.1, 0.5, 2.0)", (2, 5, 4, 4)),
    ("nn.FeatureAlphaDropout()", (2, 5, 3)),
    ("nn.SyncBatchNorm(3)", (4, 3, 2)),
    ("nn.SyncBatchNorm(3)", (3,)),
    ("nn.SyncBatchNorm(3, momentum=None, affine=False)", (4, 3)),
    ("nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(3)))", (4, 3)),
    ("nn.CosineSimilarity(0)", (4,), (4,)),
    ("nn.PairwiseDistance(1.0, keepdim=True)", (3, 4), (3, 4)),
    ("nn.Container(a=nn.Linear(2, 2)).a", (3, 2)),
]


def flat(values):
    if isinstance(values, (tuple, list)):
        return [leaf for value in values for leaf in flat(value)]
    return [values]


def seen(m, expression, arguments):
    """All that a program sees of a layer, or the error, and the warnings."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            found = everything(m, expression, arguments)
        except Exception as error:
            found = error
    return found, [(str(w.message), w.category) for w in warned]


def everything(m, expression, arguments):
    m.manual_seed(0)
    layer = eval(expression, {"nn": m.nn, "m": m})
    g = np.random.default_rng(1)
    inputs = []
    for argument in arguments:
        if isinstance(argument, tuple):
            values = g.standard_normal(argument).astype("f")
            inputs.append(m.tensor(values, requires_grad=True))
        elif callable(argument):
            inputs.append(argument(m, g))
        else:
            inputs.append(None if argument == [None] else argument)
    leaves = [x for x in inputs if isinstance(x, m.Tensor) and x.requires_grad]
    return results(m, layer, layer(*inputs), leaves)


def results(m, layer, out, leaves):
    outs = [t for t in flat(out) if isinstance(t, m.Tensor)]
    trained = [t for t in outs if t.requires_grad]
    if trained:
        sum((t * t).sum() for t in trained).backward()
    return flat(
        [
            outs,
            [x.grad for x in leaves],
            list(layer.parameters()),
            [p.grad for p in layer.parameters()],
            [f"{name} {tuple(t.shape)}" for name, t in layer.state_dict().items()],
            list(layer.state_dict().values()),
            repr(layer),
            sorted(name for name in vars(layer) if not name.startswith("_")),
        ]
    )


def check(ours, theirs):
    if isinstance(theirs, Exception):
        assert type(ours) is type(theirs), ours
        assert sentence(ours) == sentence(theirs)
        return
    if isinstance(ours, Exception):
        raise ours
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if not isinstance(b, torch.Tensor):
            assert a == b
            continue
        assert str(a.dtype) == str(b.dtype) and tuple(a.shape) == tuple(b.shape)
        a, b = a.detach().numpy(), b.detach().numpy()
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-5)


def sentence(error):
    return str(error).split("\n")[0].split(". ")[0]


def name_of(case):
    return case[0] + "".join(str(a).replace(" ", "") for a in case[1:] if isinstance(a, tuple))


@pytest.mark.parametrize("case", CASES, ids=map(name_of, CASES))
def test_a_layer_is_the_same(case):
    (theirs, said), (ours, told) = (seen(m, case[0], case[1:]) for m in (torch, rushlight))
    check(ours, theirs)
    if not isinstance(theirs, Exception):
        assert told == said


# What inspect shows of these constructors is shorter: the rest is passed on.
PASSED_ON = {"NLLLoss2d", "Container", "Identity", "RNN", "GRU", "LSTM", "Sequential"}


@pytest.mark.parametrize("name", sorted(set(rushlight.nn.modules.__all__) - PASSED_ON))
def test_constructors_take_the_same(name):
    def parameters(m):
        found = inspect.signature(getattr(m.nn, name).__init__).parameters.values()
        return [(p.name, p.kind, None if callable(p.default) else p.default) for p in found]

    assert parameters(rushlight) == parameters(torch)


# --- attention ---

LAYERS = (
    "",
    "dropout=0.3",
    "bias=False",
    "add_bias_kv=True, add_zero_attn=True",
    "kdim=3, vdim=6",
    "batch_first=True",
)
MASKS = ("", "padding", "float", "bool", "heads", "bool padding", "float padding", "causal")


def attention(m, how, masks, needs, batched, same):
    m.manual_seed(0)
    layer = eval(f"m.nn.MultiheadAttention(8, 2, {how})", {"m": m})
    g = np.random.default_rng(0)

    def sequence(length, width):
        batch = (3,) if batched else ()
        shape = (*batch, length, width) if layer.batch_first else (length, *batch, width)
        return m.tensor(g.standard_normal(shape).astype("f"), requires_grad=True)

    query = sequence(4, 8)
    key, value = (query, query) if same else (sequence(5, layer.kdim), sequence(5, layer.vdim))
    length = 4 if same else 5
    mask = padding = None
    if "float" in masks:
        mask = m.tensor(g.standard_normal((4, length)).astype("f"))
    if "bool" in masks:
        mask = m.tensor(g.random((4, length)) < 0.3)
    if "heads" in masks:
        mask = m.tensor(g.random((6 if batched else 2, 4, length)) < 0.3)
    if "causal" in masks:
        mask = m.nn.Transformer.generate_square_subsequent_mask(4)
    if "padding" in masks:
        padding = m.tensor(g.random((3, length) if batched else (length,)) < 0.4)
    out = layer(
        *(query, key, value, padding, needs, mask),
        is_causal="causal" in masks,
        average_attn_weights=batched,
    )
    return results(m, layer, out, [query, key, value])


@pytest.mark.filterwarnings("ignore:Support for mismatched")
@pytest.mark.parametrize("needs", [True, False], ids=["weights", "no weights"])
@pytest.mark.parametrize("masks", MASKS)
@pytest.mark.parametrize("how", LAYERS)
def test_attention_is_the_same(how, masks, needs):
    for batched in (True, False):
        for same in (True, False):
            if (same and "kdim" in how) or (not same and masks == "causal"):
                continue
            check(*(attention(m, how, masks, needs, batched, same) for m in (rushlight, torch)))


REFUSED = [
    ("(5, 2)", (3, 2, 5), (3, 2, 5), (3, 2, 5), {}),
    ("(4, 2)", (3, 2, 5), (3, 2, 5), (3, 2, 5), {}),
    ("(0, 2)", (3,), (3,), (3,), {}),
    ("(4, 2)", (3, 2, 4), (3, 4), (3, 2, 4), {}),
    ("(4, 2)", (3, 4), (3, 2, 4), (3, 2, 4), {}),
    ("(4, 2)", (4,), (3, 2, 4), (3, 2, 4), {}),
    ("(4, 2)", (3, 2, 4), (5, 2, 4), (3, 2, 4), {}),
    ("(4, 2, kdim=3)", (3, 2, 4), (6, 2, 3), (5, 2, 4), {}),
    ("(4, 2, kdim=3)", (3, 2, 4), (6, 2, 3), (6, 2, 3), {}),
    *(
        ("(4, 2)", (3, 2, 4), (3, 2, 4), (3, 2, 4), {"attn_mask": shape})
        for shape in [(2, 2), (2, 3, 3), (2, 3, 3, 3), (3,)]
    ),
    *(
        ("(4, 2)", (3, 2, 4), (3, 2, 4), (3, 2, 4), {"key_padding_mask": shape})
        for shape in [(3, 3), (2, 3, 1), (2, 4)]
    ),
    ("(4, 2)", (3, 4), (3, 4), (3, 4), {"key_padding_mask": (2, 3)}),
    ("(4, 2)", (3, 4), (3, 4), (3, 4), {"attn_mask": (1, 3, 3)}),
]


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_attention_refuses_the_same(case):
    def run(m):
        how, *shapes, masks = case
        try:
            layer = eval(f"m.nn.MultiheadAttention{how}", {"m": m})
            return layer(*map(m.zeros, shapes), **{n: m.zeros(s) for n, s in masks.items()})
        except Exception as error:
            return error

    theirs = run(torch)
    assert isinstance(theirs, Exception)
    check(run(rushlight), theirs)


# --- transformers ---

STACKS = (
    "",
    "norm_first=True",
    "batch_first=True",
    "batch_first=True, activation='gelu', bias=False",
    "activation=nn.ReLU(), dropout=0.0",
)


def stack(m, kind, how, masks, train, grad):
    m.manual_seed(0)
    names = {"nn": m.nn}
    if kind == "Transformer":
        layer = eval(f"nn.Transformer(8, 2, 1, 2, 16, {how})", names)
    else:
        one = eval(f"nn.{kind}Layer(8, 2, 16, {how})", names)
        layer = getattr(m.nn, kind)(one, 2, norm=m.nn.LayerNorm(8))
    layer.train(train)
    g = np.random.default_rng(0)

    def sequence(length):
        shape = (3, length, 8) if "batch_first" in how else (length, 3, 8)
        return m.tensor(g.standard_normal(shape).astype("f"), requires_grad=True)

    src, tgt = sequence(4), sequence(5)
    causal = m.nn.Transformer.generate_square_subsequent_mask
    mask = causal(4) if "mask" in masks else None
    padding = m.tensor(np.arange(4) >= np.array([[4], [2], [1]])) if "padding" in masks else None
    with m.set_grad_enabled(grad):
        if kind == "TransformerEncoder":
            out = layer(src, mask=mask, src_key_padding_mask=padding)
        elif kind == "TransformerDecoder":
            out = layer(src, tgt, tgt_mask=mask, tgt_key_padding_mask=padding)
        else:
            more = causal(5) if "mask" in masks else None
            out = layer(src, tgt, src_mask=mask, src_key_padding_mask=padding, tgt_mask=more)
    return results(m, layer, out, [src, tgt])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("masks", ["", "mask", "padding", "mask padding"])
@pytest.mark.parametrize("how", STACKS)
@pytest.mark.parametrize("kind", ["TransformerEncoder", "TransformerDecoder", "Transformer"])
def test_a_transformer_is_the_same(kind, how, masks):
    for train, grad in ((True, True), (False, True), (False, False)):
        check(*(stack(m, kind, how, masks, train, grad) for m in (rushlight, torch)))


# --- lazy layers ---

LAZY = [
    ("LazyLinear(4)", (5, 3)),
    ("LazyLinear(4, bias=False)", (2, 5, 3)),
    *((f"LazyConv{n}d(4, 3, groups=2)", (2, 6, *[7] * n)) for n in (1, 2, 3)),
    *((f"LazyConvTranspose{n}d(4, 3)", (6, *[5] * n)) for n in (1, 2, 3)),
    *((f"LazyBatchNorm{n}d()", (2, 3, *[4] * n)) for n in (1, 2, 3)),
    *((f"LazyInstanceNorm{n}d()", (2, 3, *[4] * n)) for n in (1, 2, 3)),
    ("LazyInstanceNorm2d(affine=False)", (2, 3, 4, 4)),
    ("LazyBatchNorm1d(bias=False)", (5, 3)),
    ("LazyBatchNorm1d(affine=False, track_running_stats=False)", (5, 3)),
    ("LazyConv2d(4, 3)", (3,)),
    ("LazyConv1d(4, 3, groups=2)", (2, 3, 5)),
]


@pytest.mark.parametrize("case", LAZY, ids=str)
def test_a_lazy_layer_is_the_same(case):
    expression, shape = case

    def run(m):
        m.manual_seed(0)
        layer = eval(f"m.nn.{expression}", {"m": m})
        before = [repr(layer), repr(dict(layer.state_dict())), layer.has_uninitialized_params()]
        x = m.tensor(np.random.default_rng(0).standard_normal(shape).astype("f"))
        try:
            after = results(m, layer, layer(x), [])
            other = eval(f"m.nn.{expression}", {"m": m})
            other.load_state_dict(layer.state_dict())
            after += [type(layer).__name__, repr(layer), other(x)]
        except Exception as error:
            return error
        return [*before, *after]

    check(run(rushlight), run(torch))


def test_an_uninitialised_parameter_refuses_the_same():
    for use in ("p.shape", "p + 1", "len(p)", "m.nn.init.zeros_(p)", "p.share_memory_()", "p.foo"):
        errors = []
        for m in (rushlight, torch):
            with pytest.raises((RuntimeError, ValueError, AttributeError)) as caught:
                eval(use, {"m": m, "p": m.nn.UninitializedParameter()})
            errors.append(caught.value)
        assert type(errors[0]) is type(errors[1])
        assert str(errors[0])[:45] == str(errors[1])[:45]
