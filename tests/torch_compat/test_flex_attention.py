"""flex_attention and block masks against PyTorch's."""

import warnings

import pytest

import rushlight

pytorch = pytest.importorskip("torch")
LIBRARIES = (rushlight, pytorch)

MASKS = {
    "causal": lambda b, h, q, k: q >= k,
    "window": lambda b, h, q, k: (q - k < 3) & (q >= k),
    "heads": lambda b, h, q, k: (q >= k) | (h == 1),
    "nothing": lambda b, h, q, k: q < 0,
}
SCORES = {
    "none": None,
    "alibi": lambda s, b, h, q, k: s + (q - k) * (h + 1) * 0.1,
    "capped": lambda s, b, h, q, k: 2 * (s / 2).tanh(),
}


def module(library):
    return __import__(f"{library.__name__}.nn.attention.flex_attention", fromlist=["x"])


def inputs(library, heads=2):
    library.manual_seed(0)
    shapes = (2, 2, 5, 4), (2, heads, 6, 4), (2, heads, 6, 3)
    return [library.randn(s, dtype=library.float64) for s in shapes]


@pytest.mark.parametrize("mask", [None, *MASKS])
@pytest.mark.parametrize("score", SCORES)
def test_results(mask, score):
    found = []
    for library in LIBRARIES:
        flex, (q, k, v) = module(library), inputs(library)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            blocks = mask and flex.create_block_mask(MASKS[mask], 2, 2, 5, 6, device="cpu")
            out, lse = flex.flex_attention(q, k, v, SCORES[score], blocks, return_lse=True)
        found.append([t.numpy() for t in (out, lse)])
    for ours, theirs in zip(*found, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-10, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("score", SCORES)
def test_gradients(score):
    """PyTorch has none on the CPU: against finite differences."""
    flex = module(rushlight)
    blocks = flex.create_block_mask(MASKS["window"], 2, 2, 5, 6, device="cpu")
    tensors = [t.requires_grad_() for t in inputs(rushlight)]
    assert rushlight.autograd.gradcheck(
        lambda q, k, v: flex.flex_attention(q, k, v, SCORES[score], blocks), tensors
    )


@pytest.mark.parametrize("mask", MASKS)
def test_block_masks(mask):
    found = []
    for library in LIBRARIES:
        flex = module(library)
        made = flex.create_block_mask(MASKS[mask], 1, 2, 200, 300, device="cpu", BLOCK_SIZE=64)
        counts = made.kv_num_blocks.tolist(), made.full_kv_num_blocks.tolist()
        indices = made.kv_indices.tolist(), made.full_kv_indices.tolist()
        dense = made.to_dense().tolist()
        found.append((*counts, *indices, dense, made.shape, made.sparsity(), made.numel()))
    assert found[0] == found[1]


def test_masks_combined():
    for library in LIBRARIES:
        flex = module(library)
        both = flex.and_masks(MASKS["causal"], lambda b, h, q, k: k > 0)
        some = flex.or_masks(both, lambda b, h, q, k: q == 0)
        assert flex.create_mask(some, 1, 1, 3, 3, device="cpu").int().tolist() == [
            [[[1, 1, 1], [0, 1, 0], [0, 1, 1]]]
        ]


def test_grouped_queries():
    found = []
    for library in LIBRARIES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = module(library).flex_attention(*inputs(library, 1), enable_gqa=True)
        found.append(out.numpy())
    assert found[0] == pytest.approx(found[1], rel=1e-12)
    for library in LIBRARIES:
        with pytest.raises(ValueError, match="Expect query and key/value to have the same number"):
            module(library).flex_attention(*inputs(library, 1))
