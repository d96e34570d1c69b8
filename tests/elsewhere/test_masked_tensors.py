"""torch.masked against numpy.ma: reductions, masked tensors, their gradients, refused calls."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from rushlight.masked import MaskedTensor, as_masked_tensor, masked_tensor

import rushlight as torch

DATA = np.random.default_rng(0).standard_normal((4, 5))
MASK = np.random.default_rng(1).integers(0, 2, (4, 5)).astype(bool)
MASK[1] = [True, False, True, True, False]
MASKED = np.ma.masked_array(DATA, ~MASK)


def pair() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor(DATA), torch.tensor(MASK)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "amax", "amin", "std", "var"])
@pytest.mark.parametrize("dim", [None, 0, 1])
def test_reductions_agree_with_numpys_masked_arrays(name: str, dim: int | None) -> None:
    x, mask = pair()
    more: dict[str, Any] = {"unbiased": False} if name in ("std", "var") else {}
    want = getattr(MASKED, name.replace("amax", "max").replace("amin", "min"))(dim)
    found = getattr(torch.masked, name)(x, dim, mask=mask, **more)
    np.testing.assert_allclose(np.ma.masked_array(found, np.ma.getmaskarray(want)), want)
    if not more:
        of = masked_tensor(x, mask)
        found = getattr(of, name)() if dim is None else getattr(of, name)(dim)
        assert isinstance(found, MaskedTensor)
        counts = found.get_mask()
        np.testing.assert_array_equal(~np.array(counts), np.ma.getmaskarray(want))
        np.testing.assert_allclose(found.to_tensor(0), np.ma.filled(want, 0))


def test_softmax_has_no_weight_where_nothing_counts() -> None:
    x, mask = pair()
    out = torch.masked.softmax(x, 1, mask=mask)
    assert (out[~mask] == 0).all()
    torch.testing.assert_close(out.sum(1), torch.ones(4, dtype=torch.float64))


def test_gradients_reach_only_what_counts() -> None:
    x, mask = pair()
    x.requires_grad_()
    (as_masked_tensor(x, mask) ** 2).sum().backward()
    np.testing.assert_allclose(x.grad, np.where(MASK, 2 * DATA, 0))
    leaf = masked_tensor(x.detach(), mask, requires_grad=True)
    (leaf * leaf).sum(1).sum().backward()
    assert isinstance(leaf.grad, MaskedTensor)
    np.testing.assert_allclose(leaf.grad.to_tensor(0), np.where(MASK, 2 * DATA, 0))


def test_parts_are_copies() -> None:
    x, mask = pair()
    masked = masked_tensor(x, mask)
    x.zero_()
    mask.zero_()
    np.testing.assert_allclose(masked.get_data(), DATA)
    np.testing.assert_array_equal(masked.get_mask(), MASK)


@pytest.mark.parametrize("through", [copy.copy, copy.deepcopy, "pickle", torch.clone])
def test_copies_keep_the_mask(through: Any) -> None:
    masked = masked_tensor(*pair())
    again = pickle.loads(pickle.dumps(masked)) if through == "pickle" else through(masked)
    assert isinstance(again, MaskedTensor) and str(again) == str(masked)


def test_text_of_small_ones() -> None:
    empty = masked_tensor(torch.zeros(0), torch.zeros(0, dtype=torch.bool))
    assert str(empty) == "MaskedTensor(\n  []\n)"
    assert repr(masked_tensor(torch.tensor(3), torch.tensor(False))) == "MaskedTensor(--, False)"


def test_refused_calls() -> None:
    x, mask = pair()
    masked = masked_tensor(x, mask)
    before = str(masked)
    for call, kind, said in [
        (lambda: masked + masked_tensor(x, ~mask), ValueError, "Input masks must match"),
        (lambda: masked.add_(masked_tensor(x, ~mask)), ValueError, "Input masks must match"),
        (lambda: masked.fill_(3), TypeError, "aten.fill_"),
        (lambda: masked.sort(), TypeError, "get_data"),
        (lambda: masked.numpy(), RuntimeError, "not supported for tensor subclasses"),
        (lambda: masked_tensor(x, x), TypeError, "must have dtype bool"),
        (lambda: torch.masked.mean(x.long(), 1), ValueError, "Could not infer output dtype"),
        (lambda: torch.masked.sum(x[0], 0, mask=mask), IndexError, "broadcastable mask"),
    ]:
        with pytest.raises(kind, match=said):
            call()
    assert str(masked) == before
