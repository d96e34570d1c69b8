"""Every op of the table with samples, called on the accelerator and on the CPU in float32."""

import pytest
import sweep

# At least so many of a hundred ops have to run without the host.
ALONE = 30


@pytest.mark.parametrize("name", sweep.names())
def test_agrees_with_the_cpu(name):
    outcome = sweep.run(name)
    assert not outcome.wrong, outcome.wrong[:3]
