"""The scatter family where src is larger than index: the derivative is that of the function.

PyTorch's formulas raise there in the backward pass, so the oracle is finite differences: elements
of src outside index have no influence, and their gradient is zero.
"""

import numpy as np
import pytest

from _subject import NAME, torch

pytestmark = pytest.mark.skipif(NAME == "torch", reason="PyTorch's formula raises")

WAYS = {
    "scatter": lambda x, d, i, s: x.scatter(d, i, s),
    "scatter_": lambda x, d, i, s: x.clone().scatter_(d, i, s),
    "scatter_add": lambda x, d, i, s: x.scatter_add(d, i, s),
    "scatter_add_": lambda x, d, i, s: x.clone().scatter_add_(d, i, s),
    **{
        f"scatter_reduce {how} {own}": lambda x, d, i, s, how=how, own=own: x.scatter_reduce(
            d, i, s, how, include_self=own
        )
        for how in ("sum", "prod", "mean", "amax", "amin")
        for own in (True, False)
    },
}
INDEX = {0: [[0, 2, 1], [2, 0, 0]], 1: [[0, 3, 1], [1, 0, 2]]}  # no place of `scatter` twice


def differences(f, at, step=1e-6):
    """The gradient of f, a number, by central differences."""
    found = np.zeros_like(at)
    for place in np.ndindex(*at.shape):
        up, down = at.copy(), at.copy()
        up[place] += step
        down[place] -= step
        found[place] = (f(up) - f(down)) / (2 * step)
    return found


@pytest.mark.parametrize("dim", INDEX)
@pytest.mark.parametrize("way", WAYS)
def test_gradients(way, dim):
    rng = np.random.default_rng(5)
    # All elements apart by more than the step, so that no maximum changes hands.
    x, src = np.split(rng.permutation(32) / 8 + 0.3, [12])
    x, src = x.reshape(3, 4), src.reshape(4, 5)
    weights = rng.uniform(0.5, 1.5, (3, 4))
    index = torch.tensor(INDEX[dim])

    def value(a, b):
        result = WAYS[way](torch.from_numpy(a), dim, index, torch.from_numpy(b))
        return float((result.numpy() * weights).sum())

    leaves = [torch.from_numpy(a).clone().requires_grad_() for a in (x, src)]
    result = WAYS[way](leaves[0], dim, index, leaves[1])
    (result * torch.from_numpy(weights)).sum().backward()
    np.testing.assert_allclose(leaves[0].grad.numpy(), differences(lambda a: value(a, src), x),
                               rtol=1e-6, atol=1e-7)  # fmt: skip
    np.testing.assert_allclose(leaves[1].grad.numpy(), differences(lambda b: value(x, b), src),
                               rtol=1e-6, atol=1e-7)  # fmt: skip
    outside = np.ones(src.shape, bool)
    outside[:2, :3] = False
    assert not leaves[1].grad.numpy()[outside].any()
