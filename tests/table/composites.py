"""Samples for functions that are plain Python over the ops of the table and state none themselves.

Their pieces are tested as ops; here they are run as programs call them, every branch that has
different arithmetic once. `COMPOSITES[name]` is a sampler as in `rushlight/ops/table/samples.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Make = Callable[..., Any]
Samples = list[tuple[Any, ...]]


def one(*shape: int, **kwargs: Any) -> Callable[[Make], Samples]:
    """One tensor, and keyword arguments."""
    return lambda make: [(make(*shape), kwargs)]


def with_each(rows: list[dict[str, Any]], *shape: int) -> Callable[[Make], Samples]:
    return lambda make: [(make(*shape), row) for row in rows]


def losses(*more: Any, **kwargs: Any) -> Callable[[Make], Samples]:
    """input and target of one shape, with every reduction."""
    return lambda make: [
        (make(3, 4), make(3, 4), *more, {"reduction": how, **kwargs})
        for how in ("mean", "sum", "none")
    ]


def probabilities(make: Make) -> Samples:
    p, t, w = make(3, 4, low=0.1, high=0.9), make(3, 4, low=0.1, high=0.9), make(4, kind="fixed")
    return [(p, t), (p, t, {"weight": w, "reduction": "sum"})]


def logits(make: Make) -> Samples:
    x, t = make(3, 4), make(3, 4, low=0.1, high=0.9)
    weights = {"weight": make(4, kind="fixed"), "pos_weight": make(4, kind="fixed", low=0.5)}
    return [(x, t), (x, t, {**weights, "reduction": "sum"})]


def classes(make: Make) -> Samples:
    target = make(3, kind="int", low=0, high=4)
    weight = make(4, low=0.5, high=1.5, kind="fixed")
    return [
        (make(3, 4), target),
        (make(3, 4), target, {"weight": weight}),
        (make(3, 4), target, {"reduction": "sum", "ignore_index": 1}),
        (make(3, 4, 2), make(3, 2, kind="int", low=0, high=4), {"reduction": "none"}),
        (make(4), make(kind="int", low=0, high=4)),
    ]


def cross_entropy(make: Make) -> Samples:
    target = make(3, kind="int", low=0, high=4)
    weight = make(4, low=0.5, high=1.5, kind="fixed")
    return [
        *classes(make),
        (make(3, 4), target, {"label_smoothing": 0.2}),
        (make(3, 4), target, {"label_smoothing": 0.2, "weight": weight, "reduction": "sum"}),
        (make(3, 4), make(3, 4, low=0.1, high=0.9)),
        (make(3, 4), make(3, 4, low=0.1, high=0.9), {"label_smoothing": 0.1, "weight": weight}),
    ]


def signs(make: Make, *shape: int) -> Any:
    """1 and -1."""
    return make(*shape, kind="int", low=0, high=2) * 2 - 1


def convolution(n: int, transposed: bool = False) -> Callable[[Make], Samples]:
    size = (5, 4, 3)[:n]

    def samples(make: Make) -> Samples:
        kernel = (2, 2, 2)[:n]
        rows = [
            (make(2, 4, *size), make(4, 2 if not transposed else 3, *kernel), None),
            (make(2, 4, *size), make(4, 4, *kernel), make(4)),
        ]
        if not transposed:
            rows[0] = (make(2, 4, *size), make(4, 4, *kernel), None)
        more = {"stride": 2, "padding": 1, "groups": 2}
        grouped = make(4, 2, *kernel)
        last = (make(1, 4, *size), grouped, make(4), more)
        dilated = (make(4, *size), make(4, 4, *kernel), None, {"dilation": 2})
        return [*rows, last, dilated]

    return samples


def fractional_pools(n):
    def samples(make):
        u = make(2, 3, n, kind="fixed", low=0, high=1)
        return [(make(2, 3, *[5] * n), 2, 3, None, False, u)]

    return samples


def attention_heads(make):
    x, y = make(3, 2, 4), make(2, 2, 4)
    packed = (make(12, 4), make(12), make(1, 1, 4), make(1, 1, 4), True, 0.0, make(4, 4), make(4))
    plain = (make(12, 4), None, None, None, False, 0.0, make(4, 4), None)
    return [
        (x, y, y, 4, 2, *packed),
        (x, x, x, 4, 2, *plain, True, None, False),
    ]


def pools(n: int, *rows: dict[str, Any], lead: int = 2) -> Callable[[Make], Samples]:
    shape = (2, 3)[2 - lead :]
    return with_each(list(rows), *shape, *(6, 5, 4)[:n])


def unpool(n: int) -> Callable[[Make], Samples]:
    def samples(make: Make) -> Samples:
        # Every window's maximum is its first element.
        import rushlight as torch

        size = (4, 6, 2)[:n]
        at = torch.arange(math.prod(size)).reshape(size)[tuple(slice(None, None, 2) for _ in size)]
        index = at.expand(1, 2, *at.shape).contiguous()
        return [(make(1, 2, *at.shape), index, 2)]

    return samples


def norm_layer(make: Make) -> Samples:
    return [
        (make(4, 3), None, None, {"training": True}),
        (make(4, 3, 2), None, None, {"weight": make(3), "bias": make(3), "training": True}),
        (
            make(4, 3),
            make(3, kind="fixed"),
            make(3, kind="fixed", low=0.5, high=2),
            {"weight": make(3), "bias": make(3)},
        ),
    ]


def attention(make: Make) -> Samples:
    q, k, v = make(2, 3, 4), make(2, 5, 4), make(2, 5, 3)
    return [
        (q, k, v),
        (q, k, v, {"attn_mask": make(3, 5)}),
        (make(2, 3, 4), make(2, 3, 4), make(2, 3, 4), {"is_causal": True, "scale": 0.3}),
    ]


def resizing(make: Make) -> Samples:
    rows: Samples = []
    for mode, n in (("linear", 1), ("bilinear", 2), ("trilinear", 3), ("bicubic", 2)):
        x = make(1, 2, *(4, 3, 2)[:n])
        up = {"scale_factor": 1.5, "mode": mode}
        rows += [(x, {**up, "align_corners": corners}) for corners in (False, True)]
        if n == 2:
            down = {"size": (2, 2), "mode": mode, "antialias": True}
            rows.append((make(1, 2, 5, 5), down))
    for mode in ("nearest", "nearest-exact"):
        rows += [(make(1, 2, *(4, 3, 2)[:n]), {"scale_factor": 2, "mode": mode}) for n in (1, 2, 3)]
    return [*rows, (make(1, 2, 5, 4), {"size": (3, 2), "mode": "area"})]


def sampling(make: Make) -> Samples:
    def grid(n: int) -> Any:
        return make(2, 3, *(2,) * (n - 1), n, low=-1.2, high=1.2)

    return [
        (
            make(2, 2, *(4, 3, 5)[:n]),
            grid(n),
            {"mode": mode, "padding_mode": padding, "align_corners": corners},
        )
        for n, mode, padding, corners in (
            (2, "bilinear", "zeros", False),
            (2, "bilinear", "border", True),
            (2, "bilinear", "reflection", False),
            (2, "nearest", "zeros", True),
            (2, "bicubic", "zeros", False),
            (3, "bilinear", "zeros", False),
        )
    ]


def positive(make: Make, n: int) -> Any:
    """A symmetric positive definite matrix."""
    a = make(n, n).detach()
    return (a @ a.mH + make(n, n) * 0 + 2 * _eye(a)).detach()


def _eye(a: Any) -> Any:
    import rushlight as torch

    return torch.eye(a.shape[-1], dtype=a.dtype)


COMPOSITES: dict[str, Callable[[Make], Samples]] = {
    # shapes
    "squeeze": lambda make: [(make(1, 3, 1),), (make(1, 3, 1), 0), (make(1, 3, 1), (0, 2))],
    "swapaxes": lambda make: [(make(2, 3, 4), 0, 2)],
    "swapdims": lambda make: [(make(2, 3, 4), -1, 0)],
    "moveaxis": lambda make: [(make(2, 3, 4), 0, 2)],
    "expand_as": lambda make: [(make(3, 1), make(2, 3, 4))],
    "view_as": lambda make: [(make(2, 3), make(6, kind="fixed"))],
    "reshape_as": lambda make: [(make(2, 3), make(6, kind="fixed"))],
    "contiguous": one(2, 3),
    "sum_to_size": lambda make: [(make(2, 3), 1, 3), (make(2, 3), (3,))],
    "type_as": lambda make: [(make(2, 3), make(1, kind="fixed"))],
    "double": one(2, 3),
    "hsplit": lambda make: [(make(4, 6), 3)],
    "vsplit": lambda make: [(make(4, 6), (1, 3))],
    "dsplit": lambda make: [(make(2, 3, 4), 2)],
    "broadcast_tensors": lambda make: [(make(3, 1), make(4))],
    "meshgrid": lambda make: [(make(3), make(4), {"indexing": "ij"})],
    "cartesian_prod": lambda make: [(make(3), make(4))],
    "block_diag": lambda make: [(make(2, 3), make(3), make())],
    "concat": lambda make: [([make(2, 3), make(1, 3)],), ([make(2, 3), make(2, 1)], -1)],
    "concatenate": lambda make: [([make(2, 3), make(1, 3)],)],
    "hstack": lambda make: [([make(2, 3), make(2, 1)],), ([make(2), make(3)],)],
    "vstack": lambda make: [([make(2, 3), make(3)],)],
    "dstack": lambda make: [([make(2, 3), make(2, 3)],)],
    "column_stack": lambda make: [([make(2), make(2, 3)],)],
    "row_stack": lambda make: [([make(3), make(2, 3)],)],
    "atleast_1d": lambda make: [(make(),), (make(), make(2))],
    "atleast_2d": lambda make: [(make(3),)],
    "atleast_3d": lambda make: [(make(3),), (make(2, 3),)],
    "argsort": lambda make: [(make(3, 4),), (make(3, 4), 0, True)],
    # products of matrices
    "inner": lambda make: [(make(3), make(3)), (make(2, 3), make(4, 3)), (make(), make(2))],
    "ger": lambda make: [(make(3), make(2))],
    "outer": lambda make: [(make(3), make(2))],
    "tensordot": lambda make: [
        (make(2, 3, 4), make(3, 4, 2)),
        (make(2, 3), make(2, 3), ([0], [0])),
    ],
    "kron": lambda make: [(make(2, 3), make(3, 2))],
    "cross": lambda make: [(make(2, 3), make(2, 3))],
    "chain_matmul": lambda make: [(make(2, 3), make(3, 4), make(4, 2))],
    "multi_dot": lambda make: [([make(2, 3), make(3, 4), make(4, 2)],)],
    "vecdot": lambda make: [(make(2, 3), make(2, 3)), (make(2, 3), make(3), {"dim": -1})],
    "einsum": lambda make: [
        ("ij,jk->ik", make(2, 3), make(3, 4)),
        ("bij,bkj->bik", make(2, 3, 4), make(2, 2, 4)),
        ("ii->i", make(3, 3)),
        ("i,j->ij", make(2), make(3)),
        ("...ij->...ji", make(2, 3, 4)),
        ("ij->", make(2, 3)),
    ],
    "norm": lambda make: [(make(2, 3),), (make(2, 3), 1, 0), (make(2, 3), "fro", (0, 1))],
    "matrix_norm": lambda make: [(make(2, 3),), (make(2, 3), 1), (make(3, 3), "nuc")],
    "dist": lambda make: [(make(2, 3), make(2, 3)), (make(2, 3), make(3), 3)],
    "cdist": lambda make: [(make(3, 2), make(4, 2)), (make(3, 2), make(4, 2), {"p": 1.0})],
    "pdist": lambda make: [(make(4, 3),)],
    "qr": one(4, 3),
    "svd": lambda make: [(make(4, 3), {"some": True})],
    "eigvals": one(3, 3),
    "cholesky_solve": lambda make: [(make(3, 2), positive(make, 3).tril())],
    "triangular_solve": lambda make: [
        (make(3, 2), positive(make, 3)),
        (make(3, 2), positive(make, 3), False),
    ],
    "tensorsolve": lambda make: [(make(2, 3, 6), make(2, 3))],
    "logdet": lambda make: [(positive(make, 3),)],
    "svdvals": one(4, 3),
    "matrix_power": lambda make: [(make(3, 3), 3), (make(3, 3), -1)],
    "tensorinv": lambda make: [(make(2, 3, 6), {"ind": 2})],
    "vander": lambda make: [(make(3),)],
    "eigvalsh": lambda make: [(positive(make, 3),)],
    "cholesky_inverse": lambda make: [(positive(make, 3).tril(),)],
    # networks
    "softmin": one(2, 3, dim=1),
    "gumbel_softmax": one(2, 3, dim=1, tau=0.7),
    "dropout": one(3, 4, p=0.3),
    "dropout1d": one(2, 3, 4, p=0.3),
    "dropout2d": one(2, 3, 4, 2, p=0.3),
    "dropout3d": one(2, 3, 2, 2, 2, p=0.3),
    "alpha_dropout": one(3, 4, p=0.3, training=True),
    "feature_alpha_dropout": one(2, 3, 4, p=0.3, training=True),
    "scaled_dot_product_attention": attention,
    "conv1d": convolution(1),
    "conv2d": convolution(2),
    "conv3d": convolution(3),
    "conv_transpose1d": convolution(1, transposed=True),
    "conv_transpose2d": convolution(2, transposed=True),
    "conv_transpose3d": convolution(3, transposed=True),
    "fold": lambda make: [(make(1, 12, 12), (4, 5), (2, 2))],
    "embedding": lambda make: [
        (make(2, 3, kind="int", low=0, high=5), make(5, 2)),
        (make(4, kind="int", low=2, high=5), make(5, 2), 1),
    ],
    "embedding_bag": lambda make: [
        (make(2, 3, kind="int", low=0, high=5), make(5, 2), {"mode": mode})
        for mode in ("mean", "sum", "max")
    ],
    "mse_loss": losses(),
    "l1_loss": losses(),
    "smooth_l1_loss": losses(beta=0.5),
    "huber_loss": losses(delta=0.5),
    "nll_loss": classes,
    "cross_entropy": cross_entropy,
    "binary_cross_entropy": probabilities,
    "binary_cross_entropy_with_logits": logits,
    "kl_div": lambda make: [
        (make(3, 4), make(3, 4, low=0.1, high=0.9), {"reduction": how, "log_target": log})
        for how in ("sum", "batchmean", "none")
        for log in (False, True)
    ],
    "hinge_embedding_loss": lambda make: [(make(3, 4), signs(make, 3, 4))],
    "margin_ranking_loss": lambda make: [(make(4), make(4), signs(make, 4), {"margin": 0.3})],
    "cosine_embedding_loss": lambda make: [
        (make(3, 4), make(3, 4), signs(make, 3), {"margin": -0.5})
    ],
    "triplet_margin_loss": lambda make: [(make(3, 4), make(3, 4), make(3, 4))],
    "soft_margin_loss": lambda make: [(make(3, 4), signs(make, 3, 4))],
    "multi_margin_loss": lambda make: [(make(3, 4), make(3, kind="int", low=0, high=4))],
    "multilabel_soft_margin_loss": lambda make: [
        (make(3, 4), make(3, 4, kind="fixed", low=0, high=1))
    ],
    "poisson_nll_loss": lambda make: [
        (make(3, 4, low=0.3, high=2), make(3, 4, low=1.2, high=3), {"log_input": log, "full": full})
        for log in (False, True)
        for full in (False, True)
    ],
    "gaussian_nll_loss": lambda make: [(make(3, 4), make(3, 4), make(3, 4, low=0.3, high=2))],
    "layer_norm": lambda make: [
        (make(2, 3, 4), (4,)),
        (make(2, 3, 4), (3, 4), make(3, 4), make(3, 4)),
    ],
    "rms_norm": lambda make: [(make(2, 3, 4), (4,)), (make(2, 3, 4), (4,), make(4))],
    "batch_norm": norm_layer,
    "group_norm": lambda make: [(make(2, 4, 3), 2), (make(2, 4, 3), 2, make(4), make(4))],
    "instance_norm": lambda make: [(make(2, 3, 4),)],
    "normalize": lambda make: [(make(2, 3),), (make(2, 3), 3.0, 0)],
    "local_response_norm": lambda make: [(make(2, 4, 3), 3)],
    "pairwise_distance": lambda make: [(make(3, 4), make(3, 4))],
    "cosine_similarity": lambda make: [(make(3, 4), make(3, 4))],
    "max_pool1d": pools(1, {"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}),
    "max_pool2d": pools(
        2,
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
        {"kernel_size": 2, "dilation": 2, "stride": 1},
    ),
    "max_pool3d": pools(3, {"kernel_size": 2}),
    "max_pool2d_with_indices": pools(2, {"kernel_size": 2}),
    "max_pool1d_with_indices": pools(1, {"kernel_size": 2}),
    "max_pool3d_with_indices": pools(3, {"kernel_size": 2}),
    "adaptive_max_pool2d_with_indices": pools(2, {"output_size": (4, 3)}),
    "max_unpool1d": unpool(1),
    "max_unpool2d": unpool(2),
    "max_unpool3d": unpool(3),
    "avg_pool1d": pools(1, {"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}),
    "avg_pool2d": pools(
        2,
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False},
        {"kernel_size": 3, "stride": 2, "ceil_mode": True, "divisor_override": 2},
    ),
    "avg_pool3d": pools(3, {"kernel_size": 2}),
    "lp_pool1d": lambda make: [(make(2, 3, 6, low=0.3), 2.0, 2)],
    "lp_pool2d": lambda make: [(make(2, 3, 4, 4, low=0.3), 2.0, 2)],
    "lp_pool3d": lambda make: [(make(1, 2, 4, 4, 4, low=0.5, high=2), 2.0, 2)],
    **{
        f"fractional_max_pool{n}d{suffix}": fractional_pools(n)
        for n in (2, 3)
        for suffix in ("", "_with_indices")
    },
    "multi_head_attention_forward": attention_heads,
    "adaptive_avg_pool1d": pools(1, {"output_size": 4}),
    "adaptive_avg_pool2d": pools(2, {"output_size": (4, 3)}, {"output_size": 1}),
    "adaptive_avg_pool3d": pools(3, {"output_size": 2}),
    "adaptive_max_pool1d": pools(1, {"output_size": 4}),
    "adaptive_max_pool2d": pools(2, {"output_size": (4, 3)}),
    "adaptive_max_pool3d": pools(3, {"output_size": 2}),
    "pad": lambda make: [
        (make(1, 2, *(4, 5, 3)[:n]), (1, 2, 2, 0, 1, 1)[: 2 * n], {"mode": mode})
        for mode in ("reflect", "replicate", "circular", "constant")
        for n in (1, 2, 3)
    ],
    "interpolate": resizing,
    "affine_grid": lambda make: [
        (make(2, 2, 3), (2, 1, 3, 4), {"align_corners": c}) for c in (False, True)
    ],
    "grid_sample": sampling,
}
