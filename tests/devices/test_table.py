"""Every op of the table with samples, called on the accelerator and on the CPU in float32."""

import pytest
import sweep

# LAPACK chooses the signs of these vectors, so the host computes them.
BY_HOST = set(
    "_eigh _eigvalsh eigvalsh _eigvals eigvals _svd svd _svdvals svdvals matrix_norm "
    "nuclear_norm _least_squares".split()
)


@pytest.mark.parametrize("name", sweep.names())
def test_agrees_with_the_cpu(name):
    outcome = sweep.run(name)
    assert not outcome.wrong, outcome.wrong[:3]
    if outcome.calls:
        assert bool(outcome.by_host) is (name in BY_HOST), outcome.by_host
