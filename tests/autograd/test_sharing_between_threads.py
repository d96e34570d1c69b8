"""What several threads may do with the same tensors (docs/design/0008), with a switch interval of
a microsecond: the interpreter changes threads wherever it can.
"""

import sys
import sysconfig
import threading

import pytest

from _subject import torch


@pytest.fixture(autouse=True)
def _switch_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="needs 3.13t")
def test_the_library_leaves_the_gil_off():
    assert not sys._is_gil_enabled()


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


def test_first_calls_of_many_ops_at_once():
    """What a first call finds or makes (rules, arguments, kernels) is there for all who called."""
    from _alone import run_alone

    run_alone(
        """
        sys.setswitchinterval(1e-4)
        F = torch.nn.functional
        calls = [
            lambda x: torch.softmax(x, 0),
            lambda x: torch.cumsum(x, 0),
            lambda x: torch.logsumexp(x, 0),
            lambda x: torch.sort(x, 0),
            lambda x: torch.flip(x, (0,)),
            lambda x: torch.var(x, 0),
            lambda x: torch.prod(x, 0),
            lambda x: torch.where(x > 0, x, -x),
            lambda x: x @ x,
            lambda x: torch.einsum("ij,kj->ik", x, x),
            lambda x: torch.linalg.inv(x + 9 * torch.eye(4)),
            lambda x: torch.fft.rfft(x),
            lambda x: x[[0, 2], 1:],
            lambda x: F.layer_norm(x, (4,)),
            lambda x: F.max_pool2d(x[None], 2),
            lambda x: F.conv2d(x[None, None], torch.ones(1, 1, 2, 2)),
            lambda x: F.interpolate(x[None, None], scale_factor=2, mode="bilinear"),
            lambda x: F.cross_entropy(x, torch.tensor([0, 1, 2, 3])),
        ]
        base = torch.arange(16.0).reshape(4, 4).sin()

        def gradient(call):
            x = base.clone().requires_grad_()
            y = call(x)
            y = y[0] if isinstance(y, tuple) else y
            (y.abs().sum() if y.is_complex() else y.sum()).backward()
            return x.grad

        failed = []
        for call in calls:
            gate, found = threading.Barrier(3), []
            def one():
                gate.wait()
                try:
                    found.append(gradient(call))
                except Exception as e:
                    failed.append(e)
            threads = [threading.Thread(target=one) for _ in range(3)]
            for t in threads: t.start()
            for t in threads: t.join()
            alone = gradient(call)
            assert all(torch.equal(g, alone) for g in found)
        assert not failed, failed
        """
    )


def test_remembered_calls_of_several_threads():
    """Calls of many shapes, which take each other's places among those that are remembered."""
    pool = torch.nn.functional.max_pool2d
    inputs = [
        torch.arange(float(h * w)).reshape(1, h, w) for h in range(4, 12) for w in range(4, 12)
    ]
    expected = [[pool(x, k).sum().item() for x in inputs] for k in (2, 3)]

    def call():
        for _ in range(5):
            assert [[pool(x, k).sum().item() for x in inputs] for k in (2, 3)] == expected

    together(*[call] * 4)


def test_lists_that_another_thread_changes():
    """A call uses what it found in a list, or says what is wrong with it."""
    numbers, rows, tensors = [1.0] * 40, [[1, 2], [3, 4]], [torch.ones(3)] * 8
    done = []

    def change():
        while not done:
            numbers.append(1.0), rows.append([5, 6]), tensors.append(torch.ones(3))
            numbers.pop(), rows.pop(), tensors.pop()
            rows[0] = [1, 2]

    def call():
        try:
            for _ in range(500):
                assert torch.tensor(numbers).shape[0] in (40, 41)
                assert torch.tensor(rows).shape[0] in (2, 3)
                assert torch.cat(tensors).shape[0] in (24, 27)
                assert torch.stack(tensors).sum() in (24, 27)
                assert torch.arange(9.0)[rows[0]].tolist() == [1, 2]
                assert torch.zeros(rows[0]).shape == (1, 2)
        finally:
            done.append(True)

    together(change, call, call)


def test_memory_that_one_thread_takes_and_another_gives_back():
    """A block is nobody else's while it is used: what was written there is what is found."""
    from queue import Queue

    given: list[Queue] = [Queue(maxsize=8) for _ in range(3)]

    def work(me):
        for i in range(400):
            size = (3, 40, 300, 5_000, 90_000)[i % 5]
            given[(me + 1) % 3].put((torch.full((size,), float(i + me * 1000)), i + me * 1000))
            t, value = given[me].get()
            assert t.min() == value and t.max() == value

    together(*[lambda me=me: work(me) for me in range(3)])


def test_one_leaf_in_graphs_that_come_and_go():
    """A leaf's node goes with its last graph; the next, which another thread makes, has another."""
    x = torch.ones(2, requires_grad=True)

    def record():
        for _ in range(2000):
            (x * 2).sum()

    def backward():
        for _ in range(500):
            (x * 1).sum().backward()

    together(record, record, backward, backward)
    assert x.grad.tolist() == [1000, 1000]


def test_one_storage_object_for_all_threads():
    x = torch.ones(4)
    wrong = []

    def ask():
        for _ in range(2000):
            if x.untyped_storage() is not x.untyped_storage():
                wrong.append(True)
            x.untyped_storage()

    together(*[ask] * 4)
    assert not wrong and x.untyped_storage().nbytes() == 16


def test_members_of_a_module_that_others_replace():
    linear = torch.nn.Linear(2, 2)
    done = []

    def replace():
        while not done:
            linear.weight = torch.nn.Parameter(torch.ones(2, 2))

    def read():
        try:
            for _ in range(3000):
                assert linear.weight.shape == (2, 2) and linear.bias is not None
        finally:
            done.append(True)

    together(replace, read, read)


def test_a_mode_of_one_thread_and_calls_of_another():
    class Counting(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(threading.get_ident())
            return func(*args, **(kwargs or {}))

    seen = []

    def with_mode():
        for _ in range(200):
            with Counting():
                torch.ones(2) + 1

    def without():
        for _ in range(1000):
            assert (torch.ones(2) + 1).tolist() == [2, 2]

    together(with_mode, without, without)
    assert len(set(seen)) == 1 and len(seen) == 400


@pytest.mark.parametrize("size", [4, 100_000])
def test_a_hook_may_wait_for_another_thread(size):
    """Here without letting go of the interpreter: the other thread has to come in all the same."""
    x = torch.ones(size, requires_grad=True)
    called, answered = [], []

    def hook(g):
        called.append(True)
        while not answered:
            pass
        return g * answered[0]

    def answer():
        while not called:
            pass
        answered.append((torch.ones(size) * 3).max().item())

    y = x * 2
    y.register_hook(hook)
    together(lambda: y.sum().backward(), answer)
    assert x.grad.max() == 6


def test_hooks_that_several_threads_register():
    module = torch.nn.Identity()
    called = []

    def register():
        for _ in range(200):
            module.register_forward_hook(lambda *_: called.append(True))

    together(*[register] * 4)
    module(torch.ones(1))
    assert len(called) == 800


def test_the_first_hooks_of_several_threads():
    """None is lost with what holds it, none is called twice, and none without its flags."""
    for _ in range(200):
        leaf = torch.ones(1, requires_grad=True)
        x, module, optimizer = leaf * 2, torch.nn.Identity(), torch.optim.SGD([leaf], lr=0.1)
        called, gate = [], threading.Barrier(3)

        def register(x=x, leaf=leaf, module=module, optimizer=optimizer, gate=gate, called=called):
            gate.wait()
            x.register_hook(lambda g: called.append("tensor"))
            leaf.register_post_accumulate_grad_hook(lambda t: called.append("leaf"))
            optimizer.register_step_pre_hook(lambda *_: called.append("step"))
            module.register_forward_hook(
                lambda module, args, kwargs, result: called.append("module"),
                with_kwargs=True,
                prepend=True,
            )
            module(torch.ones(1))

        together(*[register] * 3)
        called.clear()
        module(x).sum().backward()
        optimizer.step()
        assert sorted(called) == ["leaf"] * 3 + ["module"] * 3 + ["step"] * 3 + ["tensor"] * 3
