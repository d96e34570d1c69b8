"""A process ends while threads of its own compute: it ends as any other, with its own exit code."""

import os

import pytest

from _alone import run_alone

PROGRAM = """
import os, time

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        return sum([g, g])

def backwards():
    x = torch.rand(200, 200, requires_grad=True)
    x.register_hook(lambda g: sum(range(1000)) and None)
    while True:
        Twice.apply(x @ x).tanh().sum().backward()

def kernels():
    x = torch.rand(200, 200)
    while True:
        torch.linalg.svd(x[:20, :20]), x.sort(), torch.fft.fft(x), torch.tensor([*range(1000)])

for _ in range(20):
    child = os.fork()
    if not child:
        for work in 2 * [backwards, kernels]:
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.05)
        break
    print(os.waitpid(child, 0)[1], flush=True)  # else the next child has it, too
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_daemon_threads_that_compute():
    """Python ends such a thread where it asks for the GIL: in kernels, rules, hooks, Functions."""
    assert run_alone(PROGRAM).split() == ["0"] * 20
