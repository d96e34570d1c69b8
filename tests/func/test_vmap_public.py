"""vmap of the public functions that are no sampled ops of the table, against a loop.

The sampled ones are in tests/table/test_vmap.py; here a function that is in neither fails a test,
so that none can be new and wrong under vmap unseen.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight.ops import OPS
from rushlight.ops.table.names import namespace

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "table"))
from cases import samples_of

# ruff: noqa: E501  a case a line
F = torch.nn.functional
SIZE = 3
_rng = np.random.default_rng(5)


def real(*shape: int) -> torch.Tensor:
    return torch.from_numpy(_rng.standard_normal((SIZE, *shape)))


def ints(high: int, *shape: int) -> torch.Tensor:
    return torch.from_numpy(_rng.integers(0, high, (SIZE, *shape)))


def matrices(n: int) -> torch.Tensor:
    return real(n, n) + 3 * torch.eye(n, dtype=torch.float64)


def written(method: str, *args: Any) -> Callable[..., Any]:
    """An in-place function, on a copy."""
    return lambda x, *more: getattr(torch, method)(x.clone(), *args, *more)


def put(x: Any, key: Any, value: Any) -> Any:
    x = x.clone()
    x[key] = value
    return x


ROWS = torch.arange(6.0, dtype=torch.float64)
CASES: dict[str, list[tuple[Any, ...]]] = {
    "isclose": [(torch.isclose, real(3), real(3)), (lambda a: torch.isclose(a, ROWS[:3]), real(3))],
    "dropout_": [(lambda x: F.dropout(x, 0.5, False), real(4))],
    "rrelu_": [(lambda x: F.rrelu(x, 0.1, 0.3), real(4))],
    "bilinear": [
        (lambda x, w: F.bilinear(x, x * 2, w), real(2, 3), real(4, 3, 3)),
        (lambda x, w, b: F.bilinear(x, x, w, b), real(2, 3), real(4, 3, 3), real(4)),
    ],
    "resolve_conj": [(torch.resolve_conj, real(2))],
    "resolve_neg": [(torch.resolve_neg, real(2))],
    "as_tensor": [(torch.as_tensor, real(2))],
    "asarray": [(torch.asarray, real(2))],
    "zeros_like": [(lambda x: torch.zeros_like(x, dtype=torch.float32), real(2, 3))],
    "ones_like": [(lambda x: torch.ones_like(x, dtype=torch.float32), real(2, 3))],
    "full_like": [(lambda x: torch.full_like(x, 2.5), real(2, 3))],
    "to": [(lambda x: x.to(torch.float32), real(2)), (lambda x: x.to(ROWS), real(2))],
    "lu_solve": [(lambda A, b: torch.lu_solve(b, *torch.linalg.lu_factor(A)), matrices(3), real(3, 2))],
    "index_put": [
        (lambda x, i, v: x.index_put((i,), v), real(4, 2), ints(4, 3), real(3, 2)),
        (lambda x, v: x.index_put((torch.tensor([0, 0]),), v, True), real(4, 2), real(2, 2)),
        (lambda x, i: x.index_put((i, i), torch.ones((), dtype=torch.float64)), real(4, 4), ints(4, 2)),
    ],
    "index_put_": [(lambda x, i, v: x.clone().index_put_((i,), v), real(4, 2), ints(4, 3), real(3, 2))],
    "pinverse": [(torch.pinverse, real(3, 2))],
    "native_layer_norm": [(lambda x, w: torch.native_layer_norm(x, (3,), w, w, 1e-5), real(2, 3), real(3))],
    "norm_except_dim": [(lambda x: torch.norm_except_dim(x, 2, 0), real(2, 3))],
    **{
        n: [(written(n, *args), real(3))]
        for n, *args in (("abs_",), ("clamp_", -0.5, 0.5), ("clip_", -0.5, 0.5), ("nan_to_num_",))
    },
    "trapz": [(torch.trapz, real(4)), (torch.trapz, real(4), real(4).sort(-1)[0])],
    "searchsorted": [
        (torch.searchsorted, real(5).sort(-1)[0], real(3)),
        (lambda x: torch.searchsorted(ROWS, x, right=True), real(2, 3)),
        (torch.searchsorted, real(2, 5).sort(-1)[0], real(2, 3)),
    ],
    "bucketize": [(lambda x: torch.bucketize(x, ROWS), real(3)), (torch.bucketize, real(3), real(4).sort(-1)[0])],
    "isin": [
        (torch.isin, ints(4, 3), ints(4, 2)),
        (lambda x: torch.isin(x, torch.tensor([1, 2]), invert=True), ints(4, 3)),
    ],
    "adaptive_max_pool1d_with_indices": [(lambda x: F.adaptive_max_pool1d_with_indices(x, 2), real(2, 5))],
    "adaptive_max_pool3d_with_indices": [(lambda x: F.adaptive_max_pool3d_with_indices(x, 2), real(1, 1, 4, 4, 4))],
    "triplet_margin_with_distance_loss": [
        (F.triplet_margin_with_distance_loss, real(2, 3), real(2, 3), real(2, 3)),
    ],
    "ctc_loss": [(lambda x: F.ctc_loss(x.log_softmax(-1), torch.tensor([[1, 2]]), (4,), (2,)), real(4, 1, 3))],
    "upsample": [(lambda x: F.upsample(x, scale_factor=2), real(1, 2, 3))],
    "lu_factor": [(torch.linalg.lu_factor, matrices(3))],
    "eig": [(torch.linalg.eigvals, matrices(3))],
    "cond": [(torch.linalg.cond, matrices(3)), (lambda x: torch.linalg.cond(x, 1), matrices(3))],
    "matrix_rank": [(torch.linalg.matrix_rank, matrices(3)), (lambda x: torch.linalg.matrix_rank(x, tol=1.0), matrices(3))],
    "lstsq": [
        (lambda A, b: torch.linalg.lstsq(A, b)[:1], real(4, 2), real(4, 1)),
        (lambda A, b: torch.linalg.lstsq(A, b, driver="gelss"), real(4, 2), real(4, 1)),
    ],
    # What the sampled calls leave out: other ways through the same functions.
    "embedding_bag": [
        (lambda i, w: F.embedding_bag(i, w, mode="sum"), ints(5, 2, 3), real(5, 2)),
        (lambda i, w: F.embedding_bag(i, w, mode="max"), ints(5, 2, 3), real(5, 2)),
        (lambda i, w: F.embedding_bag(i, w, padding_idx=1), ints(5, 2, 3), real(5, 2)),
    ],
    "embedding": [(lambda i, w: F.embedding(i, w, scale_grad_by_freq=True), ints(5, 4), real(5, 2))],
    "grid_sample": [
        (lambda x, g, m=m, p=p: F.grid_sample(x, g, m, p, align_corners=False), real(1, 2, 4, 4), real(1, 3, 3, 2))
        for m in ("bilinear", "nearest", "bicubic")
        for p in ("zeros", "border", "reflection")
    ],
    "quantile": [
        (lambda x, q: torch.quantile(x, q, 1), real(2, 5), real(3).sigmoid()),
        (lambda x: torch.nanquantile(x.log(), 0.4), real(6)),
    ],
    "repeat_interleave": [(lambda x: torch.repeat_interleave(x, torch.tensor([1, 0, 2])), real(3))],
    "one_hot": [(lambda i: F.one_hot(i, 5), ints(5, 2))],
    "cross_entropy": [
        (lambda x, t, w: F.cross_entropy(x, t, w.exp()), real(4, 3), ints(3, 4), real(3)),
        (lambda x, t, w: F.cross_entropy(x, t, w.exp(), reduction="none", ignore_index=1), real(4, 3), ints(3, 4), real(3)),
    ],
    "gaussian_nll_loss": [(lambda x, t, v: F.gaussian_nll_loss(x, t, v.exp()), real(3), real(3), real(3))],
    "masked_select": [(lambda x: x.masked_select(ROWS[:3] > 0.5), real(2, 3)), (lambda x: x[ROWS[:3] > 0.5], real(3))],
    "getitem": [
        (lambda x, i: x[i], real(4), ints(4)),
        (lambda x, i: x[:, i], real(2, 4), ints(4, 3)),
        (lambda x, i: x[i, :, i], real(4, 2, 4), ints(4, 3)),
        (lambda x, i: x[..., i] * 2, real(2, 4), ints(4, 3)),
        (lambda x: x[None, 1:, ::2], real(4, 4)),
        (lambda x, i, j: x[1:, i, j], real(3, 4, 4), ints(4, 3), ints(4, 3)),
        (lambda x, i, j: x[i, :, j], real(4, 2, 4), ints(4), ints(4, 3)),
        (lambda x, i, j: x[i, j], real(4, 4), ints(4), ints(4)),
        (lambda x, i: x[..., i, None], real(2, 4), ints(4)),
        (lambda i: ROWS[i], ints(6, 2)),
        (lambda x, i: x[i, [0, 1]], real(4, 2), ints(4, 2)),
    ],
    "setitem": [
        (put, real(4), ints(4), real()),
        (put, real(4, 2), ints(4, 3), real(2)),
        (lambda x, i: put(x, (slice(None), i), 2.0), real(2, 4), ints(4, 3)),
        (lambda x, i, v: put(x, (slice(1, None), i), v), real(3, 4), ints(4), real(2)),
        (lambda x, i, v: put(x, (i, slice(None), i), v), real(4, 2, 4), ints(4, 1), real(1, 2)),
        (lambda x: put(x, x > 0, 0.0), real(4)),
        (lambda x, v: put(x, x[:, 0] > 0, v), real(4, 2), real()),
        (lambda x, v: put(x, torch.tensor([True, False]), v), real(2, 3), real(3)),
    ],
    # Functions of torch that stand for a module's, or for several steps.
    "segment_reduce": [(lambda x: torch.segment_reduce(x, "sum", lengths=torch.tensor([1, 3])), real(4, 2))],
    "unravel_index": [(lambda i: torch.unravel_index(i, (2, 3)), ints(6, 4))],
    "fake_quantize_per_channel_affine": [
        (lambda x: torch.fake_quantize_per_channel_affine(x, torch.ones(2) / 4, torch.zeros(2, dtype=torch.int32), 0, -8, 7), real(2, 3).float())
    ],
    "affine_grid_generator": [(lambda t: torch.affine_grid_generator(t, (1, 1, 2, 3), True), real(1, 2, 3))],
    **{
        name: [(lambda x, g, f=name: getattr(torch, f)(x, g, 0, 0, True), real(1, 2, 4, 4), real(1, 3, 3, 2))]
        for name in ("grid_sampler", "grid_sampler_2d")
    },
    "grid_sampler_3d": [(lambda x, g: torch.grid_sampler_3d(x, g, 0, 0, True), real(1, 1, 3, 3, 3), real(1, 2, 2, 2, 3))],
    "convolution": [
        (lambda x, w: torch.convolution(x, w, None, (1,), (1,), (1,), False, (0,), 1), real(2, 3, 5), real(4, 3, 3))
    ],
    **{
        name: [(getattr(torch, name), real(2, 3), real(2, 4), real(rows, 3), real(rows, 4))]
        for name, rows in (("rnn_tanh_cell", 4), ("rnn_relu_cell", 4), ("gru_cell", 12))
    },
    "lstm_cell": [(lambda x, h, w, u: torch.lstm_cell(x, (h, h), w, u), real(2, 3), real(2, 4), real(16, 3), real(16, 4))],
    **{
        name: [
            (lambda x, h, w, u, f=name: getattr(torch, f)(x, h, [w, u], False, 1, 0.0, False, False, True), real(2, 5, 3), real(1, 2, 4), real(rows, 3), real(rows, 4))
        ]
        for name, rows in (("rnn_tanh", 4), ("rnn_relu", 4), ("gru", 12))
    },
    "lstm": [
        (lambda x, h, w, u: torch.lstm(x, (h, h), [w, u], False, 1, 0.0, False, False, True), real(2, 5, 3), real(1, 2, 4), real(16, 3), real(16, 4))
    ],
    "native_batch_norm": [(lambda x, w: torch.native_batch_norm(x, w, w, None, None, True, 0.1, 1e-5), real(4, 3), real(3))],
    "native_group_norm": [(lambda x, w: torch.native_group_norm(x, w, w, 2, 4, 3, 2, 1e-5), real(2, 4, 3), real(4))],
    "histogram": [(lambda x: torch.histogram(x, 4, range=(-2.0, 2.0)), real(6))],
    "histogramdd": [(lambda x: torch.histogramdd(x, [2, 2], range=[-2.0, 2.0, -2.0, 2.0])[0], real(6, 2))],
    "istft": [(lambda x: torch.istft(torch.view_as_complex(x), 4, window=torch.ones(4, dtype=torch.float64)), real(3, 6, 2))],
    "detach": [(torch.detach, real(2))],
    "addmv_": [(lambda x, m, v: torch.addmv_(x.clone(), m, v), real(2), real(2, 3), real(3))],
    "lu_factor_ex": [(torch.linalg.lu_factor_ex, matrices(3))],
    "linear_cross_entropy": [(lambda x, w, t: F.linear_cross_entropy(x, w, t), real(4, 3), real(5, 3), ints(5, 4))],
    "grouped_mm": [(lambda a, b: F.grouped_mm(a, b), real(2, 4, 8).float(), real(2, 8, 8).float())],
}  # fmt: skip

# Public functions with no result that a loop could be compared with, and why.
NOT_COMPARED = {
    "a Python value, or an object of its own": """
        allclose equal is_nonzero is_conj is_neg is_inference broadcast_shapes is_tensor is_floating_point
        is_complex numel typename result_type LinAlgError tensor from_numpy frombuffer is_same_size
        is_signed is_distributed get_device
    """,
    "no tensor among the arguments": """
        zeros ones empty full empty_strided arange range linspace logspace eye tril_indices
        triu_indices hann_window hamming_window fftfreq rfftfreq scalar_tensor empty_permuted
        blackman_window bartlett_window kaiser_window
    """,
    "memory that nobody has set": "empty_like",
    "random: see test_nesting.py": """
        uniform_ normal_ random_ bernoulli_ exponential_ geometric_ cauchy_ log_normal_ rand
        rand_like randn randn_like randint randint_like randperm normal bernoulli binomial multinomial
        poisson _standard_gamma _sample_dirichlet dropout alpha_dropout feature_alpha_dropout
        feature_dropout feature_dropout_ alpha_dropout_ feature_alpha_dropout_
    """,
    "a result whose shape depends on the values: test_dynamic_shapes_are_refused": """
        argwhere unique unique_consecutive nonzero
    """,
    "not there: the function raises": "multilabel_margin_loss symeig dequantize",
    "memory outside of the tensor": "slice_inverse",
    "no gradient, as in PyTorch": "view_as_complex_copy",
    "a change of the tensor itself, which a batch's elements share": """
        resize_as_ as_strided_ detach_ embedding_renorm_ batch_norm_update_stats
        fused_moving_avg_obs_fake_quant
    """,
}


def outputs(result: Any) -> list[torch.Tensor]:
    return [result] if isinstance(result, torch.Tensor) else [r for r in result if r is not None]


FLAT = [(name, i) for name, rows in CASES.items() for i in range(len(rows))]


@pytest.mark.parametrize(("name", "i"), FLAT)
@pytest.mark.filterwarnings("ignore", "error:NotImplemented")
def test_vmap_is_a_loop(name: str, i: int) -> None:
    function, *tensors = CASES[name][i]
    found = outputs(torch.func.vmap(lambda *a: tuple(outputs(function(*a))))(*tensors))
    rows = [outputs(function(*(t[k] for t in tensors))) for k in range(SIZE)]
    assert len(found) == len(rows[0])
    for a, column in zip(found, zip(*rows, strict=True), strict=True):
        b = torch.stack(list(column))
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("name", "i"), FLAT)
@pytest.mark.filterwarnings("ignore", "error:NotImplemented")
def test_gradient_of_each_element(name: str, i: int) -> None:
    function, *tensors = CASES[name][i]
    by = tuple(n for n, t in enumerate(tensors) if t.is_floating_point())

    def loss(*args: Any) -> Any:
        outs = [o for o in outputs(function(*args)) if o.is_floating_point()]
        return sum(((o * 0.7).sin().sum() for o in outs), torch.zeros((), dtype=torch.float64))

    if (
        not by
        or not loss(
            *(t[0].clone().requires_grad_(n in by) for n, t in enumerate(tensors))
        ).requires_grad
    ):
        return
    gradient = torch.func.grad(loss, by)
    found = torch.func.vmap(gradient)(*tensors)
    rows = [gradient(*(t[k] for t in tensors)) for k in range(SIZE)]
    for a, column in zip(found, zip(*rows, strict=True), strict=True):
        np.testing.assert_allclose(
            a.numpy(), torch.stack(list(column)).numpy(), rtol=1e-8, atol=1e-10
        )


def test_every_public_function_is_compared() -> None:
    known = {n for names in NOT_COMPARED.values() for n in names.split()} | CASES.keys()
    sampled = {n for n in OPS if samples_of(n) is not None}
    by_function = {id(OPS[n].function): n for n in sampled}
    missing = []
    for room in ("torch", "nn", "linalg", "special", "fft"):
        for name, value in namespace(room).items():
            plain = getattr(value, "__wrapped__", value)
            entry = getattr(plain, "entry", None)
            seen = (name in sampled, entry is not None and entry.name in sampled)
            if not any(seen) and id(plain) not in by_function and name not in known:
                missing.append(f"{room}.{name}")
    assert not missing, f"no sample, and no case here: {missing}"


@pytest.mark.parametrize(
    "function",
    [
        torch.nonzero,
        torch.argwhere,
        torch.unique,
        lambda x: torch.unique(x, dim=0),
        torch.unique_consecutive,
        lambda x: x.nonzero(as_tuple=True),
        lambda x: x.masked_select(x > 0),
        lambda x: x[x > 0],
        lambda x: F.one_hot(x.long().abs()),
        lambda x: torch.repeat_interleave(x, x.long().abs() + torch.arange(3)),
        lambda x: torch.bincount(x.long().abs() + torch.arange(3)),
    ],
)
@pytest.mark.filterwarnings("ignore", "error:NotImplemented")
def test_dynamic_shapes_are_refused(function: Any) -> None:
    x = torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 0.0]])
    words = "dynamic shape|differently shaped|equal size|num_classes"
    with pytest.raises(RuntimeError, match=words):
        torch.func.vmap(function)(x)


def test_an_index_out_of_range_does_not_reach_the_next_sample() -> None:
    table, x = real(4, 2), real(4)
    bad = torch.tensor([[0, 4], [1, 2], [0, 0]])
    for function, values in (
        (lambda t, i: F.embedding(i, t), table),
        (lambda t, i: F.embedding(i, t, scale_grad_by_freq=True), table),
        (lambda a, i: a[i], x),
        (lambda a, i: a.take(i), x),
        (lambda a, i: a.index_select(0, i), x),
        (lambda a, i: a.index_put((i,), torch.zeros(2, dtype=torch.float64)), x),
    ):
        with pytest.raises((IndexError, RuntimeError), match=r"out of (range|bounds)"):
            torch.func.vmap(function)(values, bad)
