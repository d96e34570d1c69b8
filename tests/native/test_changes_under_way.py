"""Code that runs in the middle of a call (hooks, `__index__`, other threads) and changes what the
call works with. Wrong memory is seen as a crash: the programs run alone, freed memory is filled.
"""

import numpy as np
import pytest

from _alone import run_alone
from _subject import torch


def test_removing_grad_while_another_thread_accumulates():
    run_alone(
        """
        sys.setswitchinterval(1e-6)
        x = torch.ones(300_000, requires_grad=True)
        done = False
        def backward():
            for _ in range(1000):
                (x * 2).sum().backward()
        def remove():
            while not done:
                x.grad = None
        threads = [threading.Thread(target=f, daemon=True) for f in (backward, remove)]
        for t in threads: t.start()
        threads[0].join()
        done = True
        threads[1].join()
        """,
        debug=True,
    )


def test_a_hook_that_makes_its_leaf_a_result():
    run_alone(
        """
        x = torch.ones(3, requires_grad=True)
        w = torch.ones(3, requires_grad=True)
        y = (x * 1).sum()
        def hook(g):
            with torch.enable_grad():
                x.requires_grad_(False)
                x.mul_(w)
                x.detach_()
            x.requires_grad_(True)
        x.register_hook(hook)
        x.register_post_accumulate_grad_hook(lambda p: None)
        y.backward()
        """,
        debug=True,
    )


def test_hooks_that_remove_each_other():
    out = run_alone(
        """
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        handles = []
        def hook(g):
            for h in handles: h.remove()
        handles += [x.register_hook(hook), y.register_hook(hook)]
        handles += [y.grad_fn.register_hook(lambda a, b: hook(a)), y.grad_fn.register_prehook(hook)]
        handles += [x.register_post_accumulate_grad_hook(hook)]
        y.sum().backward()
        print(x.grad.tolist())
        """,
        debug=True,
    )
    assert out.strip() == "[2.0, 2.0, 2.0]"


def test_a_pack_hook_that_leaves_its_context():
    out = run_alone(
        """
        x = torch.ones(3, requires_grad=True)
        context = None
        def pack(t):
            context.__exit__(None, None, None)
            gc.collect()
            return t
        context = torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t)
        context.__enter__()
        y = x.exp()
        y.sum().backward()
        print(x.grad[0].item())
        """,
        debug=True,
    )
    assert abs(float(out) - np.e) < 1e-6


def test_an_unpack_hook_that_frees_what_it_unpacks():
    run_alone(
        """
        x = torch.ones(3, requires_grad=True)
        def unpack(t):
            node._raw_saved_self if hasattr(node, "_raw_saved_self") else None
            torch.autograd.grad(y.sum(), x) if not again.pop() else None
            return t
        again = [True, False]
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
            y = x.sin()
        node = y.grad_fn
        try:
            y.sum().backward()
        except RuntimeError:
            pass
        """,
        debug=True,
    )


CALLS = [
    "x[Index():]",
    "x[Index()]",
    "x.size(Index())",
    "x.narrow(0, Index(), 1)",
    "x + Number(1)",
    "x.view([Index(), -1])",
    "x.mul(Number(2.0), out=torch.empty(1000))",
    "torch.add(x, x, alpha=Number(2.0))",
    "x.clamp(Number(0.0), Number(1.0))",
    "x.select(0, Index())",
    "x.unfold(0, Index(), Index())",
    "x.scatter(0, torch.tensor([1]), Number(1.0))",
]


@pytest.mark.parametrize("size", [1000, 100_000])
def test_numbers_that_replace_the_data(size):
    """`__index__` or `__float__` gives the tensor one element in place of many, then answers."""
    run_alone(
        f"""
        class Index:
            def __index__(self):
                x.data = torch.zeros(1)
                gc.collect()
                return 0
        class Number(float):
            def __float__(self):
                x.data = torch.zeros(1)
                gc.collect()
                return 1.0
            __eq__ = __lt__ = __gt__ = lambda self, other: bool(self.__float__()) and False
            __hash__ = None
        for call in {CALLS}:
            print(call, flush=True)
            x = torch.ones({size})
            try:
                result = eval(call)
                result.sum().item() if isinstance(result, torch.Tensor) else None
            except (RuntimeError, TypeError, IndexError, ValueError):
                pass
        """,
        debug=True,
    )


def test_other_data_while_another_thread_computes():
    run_alone(
        """
        sys.setswitchinterval(1e-6)
        a, b = torch.ones(100_000), torch.full((100_000,), 2.0)
        x = torch.ones(100_000)
        done = False
        def swap():
            while not done:
                x.data = a.clone()
                x.data = b.clone()
        thread = threading.Thread(target=swap, daemon=True)
        thread.start()
        for _ in range(500):
            found = {(x * 1).sum().item(), x.clone().sum().item()}
            found.add(torch.cat([x, x]).sum().item() / 2)
            assert found <= {100_000.0, 150_000.0, 200_000.0}, found
        done = True
        thread.join()
        """,
        debug=True,
    )


def test_an_index_that_another_thread_writes():
    """Checked, then changed: elements may be missed, nothing outside is touched."""
    run_alone(
        """
        sys.setswitchinterval(1e-6)
        index = torch.zeros(200_000, dtype=torch.int64)
        x, target = torch.ones(8), torch.zeros(200_000)
        scores, labels = torch.zeros(20_000, 10), torch.zeros(20_000, dtype=torch.int64)
        done = False
        def disturb():
            while not done:
                index.fill_(1 << 40); index.zero_()
                labels.fill_(1 << 40); labels.zero_()
        thread = threading.Thread(target=disturb, daemon=True)
        thread.start()
        for _ in range(200):
            for call in (
                lambda: torch.gather(x, 0, index),
                lambda: torch.zeros(8).scatter_add_(0, index, target),
                lambda: x[index],
                lambda: torch.zeros(8).index_add_(0, index, target),
                lambda: torch.nn.functional.cross_entropy(scores, labels),
            ):
                try:
                    call()
                except (IndexError, RuntimeError):
                    pass
        done = True
        thread.join()
        """
    )


def test_a_list_that_changes_while_it_is_read():
    run_alone(
        """
        pieces = [torch.ones(3, requires_grad=True).exp() for _ in range(50)]
        def pack(t):
            pieces.clear()
            gc.collect()
            return t
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            y = torch.stack(pieces)
            z = torch.addcmul(y, y, y).sum()
        z.backward()
        """,
        debug=True,
    )


def test_gradients_of_gradients_a_million_deep():
    run_alone(
        """
        t = torch.zeros(1)
        for _ in range(1_000_000):
            n = torch.zeros(1)
            n.grad = t
            t = n
        del t, n
        """,
        stack=1 << 20,
    )


@pytest.mark.filterwarnings("ignore:Setting the .* on a NumPy array")  # what is tried here
@pytest.mark.parametrize("view", [lambda x: x.numpy(), np.asarray, lambda x: x.detach().numpy()])
def test_what_is_set_of_an_exported_array_is_not_set_of_the_tensor(view):
    x = torch.arange(6.0, dtype=torch.float64)
    n = view(x)
    n.shape = (2, 3)
    assert x.shape == (6,) and x.stride() == (1,)
    n.dtype = np.int8
    n.setflags(write=False)
    assert x.dtype == torch.float64 and (x * 2).tolist() == [0, 2, 4, 6, 8, 10]
    x[0] = 7  # the memory is still one
    assert n.view(np.float64)[0, 0] == 7
    if isinstance(n.base, np.ndarray):
        n.base.shape = (3, 2)
        assert x.shape == (6,)


@pytest.mark.filterwarnings("ignore:Setting the .* on a NumPy array")  # what is tried here
@pytest.mark.parametrize("make", ["as_tensor", "asarray", "from_numpy"])
def test_what_is_set_of_a_shared_array_is_not_set_of_the_tensor(make):
    a = np.arange(6.0)
    t = getattr(torch, make)(a)
    a.shape = (3, 2)
    assert t.shape == (6,)
    a[2, 1] = 9
    assert t[5] == 9


@pytest.mark.parametrize(
    ("before", "after"), [((3,), (2, 3)), ((1,), (1000,)), ((), (3,)), ((1, 1), (4, 4))]
)
def test_a_leaf_of_another_shape_is_not_added_to_its_gradient(before, after):
    x = torch.ones(before, requires_grad=True)
    (x * 1).sum().backward()
    x.data = torch.ones(after)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        (x * 1).sum().backward()
    assert x.grad.tolist() == torch.ones(before).tolist()


def test_a_smaller_gradient_is_spread_over_the_one_that_is_there():
    """As PyTorch adds them: broadcast."""
    x = torch.ones(2, 3, requires_grad=True)
    (x * 1).sum().backward()
    x.data = torch.ones(3)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [[3.0] * 3] * 2


NUMBERS = {
    "softplus": lambda o, c: torch.nn.functional.softplus(o, c),
    "leaky_relu": lambda o, c: torch.nn.functional.leaky_relu(o, c),
    "elu": lambda o, c: torch.nn.functional.elu(o, c),
    "celu": lambda o, c: torch.nn.functional.celu(o, c),
    "hardshrink": lambda o, c: torch.nn.functional.hardshrink(o, c),
    "threshold": lambda o, c: torch.nn.functional.threshold(o, c, 1.0),
    "addcmul": lambda o, c: torch.addcmul(o, o, o, value=c),
    "addcdiv": lambda o, c: torch.addcdiv(o, o, o, value=c),
    "addcmul_": lambda o, c: o.addcmul_(o, o, value=c),
    "add": lambda o, c: torch.add(o, o, alpha=c),
    "sub": lambda o, c: torch.sub(o, o, alpha=c),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("complex_number", [1j, torch.tensor(1j)], ids=["number", "tensor"])
def test_a_complex_number_for_real_tensors_is_refused(name, complex_number):
    with pytest.raises((RuntimeError, TypeError)):
        NUMBERS[name](torch.ones(2), complex_number)


def test_a_tensor_without_dimensions_as_a_number():
    three = torch.tensor(3)
    assert torch.add(torch.ones(2), torch.ones(2), alpha=three).tolist() == [4.0, 4.0]
    half = torch.tensor(0.5, dtype=torch.float64)
    assert torch.nn.functional.leaky_relu(-torch.ones(2), half).tolist() == [-0.5, -0.5]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_complex_number_that_becomes_a_real_one_and_then_a_half(dtype):
    """What is made in two steps for one argument is kept until it is read."""
    run_alone(
        f"""
        x = torch.tensor([0.5, 1.0, -2.0], dtype=torch.{dtype})
        for _ in range(100):
            for bound in (0.75 + 0j, complex(0.625)):
                assert torch.nn.functional.hardshrink(x, bound).tolist() == [0, 1, -2]
        """,
        debug=True,
    )
