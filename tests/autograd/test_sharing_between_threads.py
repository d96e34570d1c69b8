"""What several threads may do with the same tensors (docs/design/0008), with a switch interval of
a microsecond: the interpreter changes threads wherever it can.
"""

import sys
import threading

import pytest

from _subject import torch


@pytest.fixture(autouse=True)
def _switch_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(*functions):
    """Run functions at the same time; the first exception of any is raised."""
    raised = []

    def guarded(f):
        try:
            f()
        except BaseException as e:
            raised.append(e)

    threads = [threading.Thread(target=guarded, args=(f,)) for f in functions]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if raised:
        raise raised[0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.bfloat16])
@pytest.mark.parametrize("size", [4, 100_000])
def test_every_gradient_is_added_exactly_once(dtype, size):
    """Small sums of ones are exact in every type; 8 * 25 = 200 < 256, what bfloat16 counts to."""
    x = torch.ones(size, dtype=dtype, requires_grad=True)

    def backward():
        for _ in range(25):
            (x * 1).backward(torch.ones(size, dtype=dtype))

    together(*[backward] * 8)
    assert (x.grad == 200).all()


def test_every_gradient_is_added_with_create_graph():
    x = torch.ones(50_000, requires_grad=True)

    def backward():
        for _ in range(20):
            (x * 1).backward(torch.ones(50_000), create_graph=True)

    together(*[backward] * 4)
    assert (x.grad == 80).all()
    x.grad = None


def test_the_first_gradient_of_several_threads():
    for _ in range(50):
        x = torch.ones(40_000, requires_grad=True)
        gate = threading.Barrier(4)

        def backward(x=x, gate=gate):
            gate.wait()
            x.expand(2, 40_000).sum().backward()

        together(*[backward] * 4)
        assert (x.grad == 8).all()


def test_removed_gradients_are_counted_from_the_removal():
    """What is in .grad is always a whole number of gradients."""
    x = torch.ones(40_000, requires_grad=True)
    done = []

    def backward():
        for _ in range(300):
            (x * 1).sum().backward()
        done.append(True)

    def remove():
        while not done:
            g = x.grad
            x.grad = None
            if g is not None:
                assert g.min() >= 1

    together(backward, remove)


def test_a_model_of_several_threads_sums_every_gradient():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2)
    ).double()
    inputs = [torch.randn(4, 8, dtype=torch.float64) for _ in range(8)]
    for x in inputs:
        model(x).sum().backward()
    expected = [p.grad.clone() * 10 for p in model.parameters()]
    model.zero_grad()

    def steps(x):
        for _ in range(10):
            model(x).sum().backward()

    together(*[lambda x=x: steps(x) for x in inputs])
    for p, e in zip(model.parameters(), expected, strict=True):
        assert torch.allclose(p.grad, e, rtol=1e-12, atol=1e-12)


def test_one_graph_with_retain_graph():
    x = torch.ones(40_000, requires_grad=True)
    y = (x.sin() * 1).sum()

    def backward():
        for _ in range(20):
            y.backward(retain_graph=True)

    together(*[backward] * 4)
    assert torch.allclose(x.grad, 80 * torch.ones(40_000).cos())


def test_one_graph_freed_by_whoever_comes_first():
    for _ in range(50):
        x = torch.ones(100, requires_grad=True)
        y = x.exp().sin().exp().sum()
        said = []

        def backward(y=y, said=said):
            try:
                y.backward()
            except RuntimeError as e:
                said.append(str(e))

        together(*[backward] * 3)
        assert all("a second time" in s for s in said)
        assert x.grad is not None or said


def test_writes_in_place_are_all_counted():
    x = torch.zeros(50_000)

    def write():
        for _ in range(100):
            x.add_(1)

    together(*[write] * 4)
    assert x._version == 400
    assert x.min() >= 100 and x.max() <= 400


def test_modes_belong_to_a_thread():
    seen = []

    def look():
        seen.append((torch.is_grad_enabled(), torch.is_inference_mode_enabled()))

    with torch.no_grad():
        together(look)
    with torch.inference_mode():
        together(look)
    assert seen == [(True, False), (True, False)]


def test_a_generator_gives_every_number_once():
    torch.manual_seed(7)
    expected = sorted(torch.rand(1).item() for _ in range(400))
    torch.manual_seed(7)
    drawn = []

    def draw():
        for _ in range(100):
            drawn.append(torch.rand(1).item())

    together(*[draw] * 4)
    assert sorted(drawn) == expected


def test_composed_functions_called_first_by_several_threads():
    """The first call of a composed pointwise op traces it, while others call it already."""
    from _alone import run_alone

    run_alone(
        """
        sys.setswitchinterval(1e-6)
        F = torch.nn.functional
        functions = [F.gelu, F.silu, F.mish, F.softplus, F.hardswish, F.selu, F.celu]
        functions += [F.logsigmoid, F.tanhshrink, F.softsign, F.hardsigmoid, F.elu]
        failed = []
        for f in functions:
            x = torch.ones(3, requires_grad=True)
            gate = threading.Barrier(6)
            def call():
                gate.wait()
                try:
                    f(x).sum().backward()
                except Exception as e:
                    failed.append((f, e))
            threads = [threading.Thread(target=call) for _ in range(6)]
            for t in threads: t.start()
            for t in threads: t.join()
        assert not failed, failed
        """
    )


def test_ten_thousand_training_steps_of_eight_threads():
    """Whole numbers throughout, so that the sum of all gradients is exact in any order; and nothing
    is left over of a step."""
    import gc

    generator = torch.Generator().manual_seed(0)

    def whole(*shape):
        return torch.randint(-2, 3, shape, generator=generator).double()

    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).double()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(whole(*p.shape))
    inputs, targets = whole(8, 5, 4), whole(8, 5, 3)
    parameters = list(model.parameters())

    def loss(i):
        return ((model(inputs[i]) - targets[i]) ** 2).sum()

    steps = 1250
    expected = [torch.zeros_like(p) for p in parameters]
    for i in range(8):
        for total, g in zip(expected, torch.autograd.grad(loss(i), parameters), strict=True):
            total += steps * g

    def train(i, n):
        for _ in range(n):
            loss(i).backward()

    together(*[lambda i=i: train(i, 5) for i in range(8)])
    gc.collect()
    objects, blocks = len(gc.get_objects()), sys.getallocatedblocks()
    model.zero_grad()
    together(*[lambda i=i: train(i, steps) for i in range(8)])
    for p, total in zip(parameters, expected, strict=True):
        assert torch.equal(p.grad, total)
    gc.collect()
    assert len(gc.get_objects()) - objects < 100  # over 10,000 steps
    assert sys.getallocatedblocks() - blocks < 1000
