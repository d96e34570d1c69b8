"""CUDA graphs. A graph gives what the same calls give without one, to the bit."""

import gc

import _standin
import pytest
from _inside import ran

import rushlight as torch
from rushlight import _core, nn

F = nn.functional
CUDA = torch.device("cuda:0")
NOT_NOW = "CUDA error: operation not permitted when stream is capturing"


def raises(kind, text):
    return pytest.raises(kind, match=text)


def captured(call):
    """A graph of a call, and what the call gave."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = call()
    return graph, found


def usable():
    """The device goes on: it computes, and another graph can be captured."""
    assert not torch.cuda.is_current_stream_capturing()
    x = torch.ones(3, device=CUDA)
    graph, y = captured(lambda: x * 2)
    graph.replay()
    assert y.tolist() == [2, 2, 2]


# ---- training


def batches(make_input, n=5, rows=6, classes=4):
    torch.manual_seed(1)
    return [(make_input(rows), torch.randint(0, classes, (rows,))) for _ in range(n)]


def trained(make, optimizer, data, graphed):
    """Losses and parameters after a step for each batch; all but the first three by replays."""
    torch.manual_seed(2)
    net = make().to(CUDA)
    opt = optimizer(net.parameters())
    x, t = (each.to(CUDA) for each in data[0])

    def step():
        opt.zero_grad(set_to_none=True)
        loss = F.cross_entropy(net(x), t)
        loss.backward()
        opt.step()
        return loss

    losses, graph = [], None
    for i, (inputs, targets) in enumerate(data):
        x.copy_(inputs)
        t.copy_(targets)
        if graphed and i == 3:
            graph, loss = captured(step)
        if graph is None:
            loss = step()
        else:
            graph.replay()
        losses.append(loss.item())
    return losses, [p.detach().cpu() for p in net.parameters()]


def agree(make, optimizer, make_input=lambda rows: torch.randn(rows, 8)):
    data = batches(make_input)
    (losses, eager), (again, replayed) = (
        trained(make, optimizer, data, graphed) for graphed in (False, True)
    )
    assert losses == again and len(set(losses)) == len(data)
    assert all(torch.equal(a, b) for a, b in zip(eager, replayed, strict=True))


def small():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 4))


def test_steps_of_sgd():
    agree(small, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01))


def test_steps_of_adamw():
    agree(small, lambda p: torch.optim.AdamW(p, lr=0.01, capturable=True))


def test_steps_of_adam_with_a_rate_on_the_device():
    rate = torch.tensor(0.01, device=CUDA)
    agree(small, lambda p: torch.optim.Adam(p, lr=rate, amsgrad=True, capturable=True))


def test_a_rate_on_the_device_is_read_at_each_replay():
    rate = torch.tensor(0.0, device=CUDA)
    p = torch.ones(2, device=CUDA, requires_grad=True)
    p.grad = torch.ones_like(p)
    opt = torch.optim.Adam([p], lr=rate, capturable=True)
    opt.step()
    graph, _ = captured(opt.step)
    graph.replay()
    assert p.tolist() == [1, 1]
    rate.fill_(0.5)
    graph.replay()  # the gradients were the same so far: a step is as long as the rate
    assert p.tolist() == pytest.approx([0.5, 0.5], abs=1e-5)


def test_the_correction_of_adam_goes_on():
    p = torch.zeros(1, device=CUDA, requires_grad=True)
    p.grad = torch.ones_like(p)
    opt = torch.optim.Adam([p], lr=1.0, betas=(0.5, 0.5), eps=0.0, capturable=True)
    opt.step()
    graph, _ = captured(opt.step)
    for _ in range(4):
        graph.replay()
    assert opt.state[p]["step"].item() == 5 and p.item() == pytest.approx(-5, abs=1e-5)


def test_steps_of_other_optimizers():
    for name in "RMSprop", "Adamax", "Adadelta", "Rprop":
        agree(small, lambda p, name=name: getattr(torch.optim, name)(p, lr=0.01, capturable=True))


class Words(nn.Module):
    """A block of a transformer with dropout, whose numbers must be others at each replay."""

    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(9, 16), nn.Linear(16, 4)
        self.block = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.2, batch_first=True)

    def forward(self, words):
        return self.head(self.block(self.table(words)).mean(1))


def test_steps_with_dropout():
    words = lambda rows: torch.randint(0, 9, (rows, 5))
    agree(Words, lambda p: torch.optim.SGD(p, lr=0.1), words)


def test_steps_of_a_convolution():
    def make():
        parts = nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)
        return nn.Sequential(*parts, nn.Flatten(), nn.Dropout(0.1), nn.Linear(36, 4))

    agree(make, lambda p: torch.optim.SGD(p, lr=0.1), lambda rows: torch.randn(rows, 2, 8, 8))


def test_clipped_gradients_and_autocast():
    net = nn.Linear(8, 4).to(CUDA)
    x = torch.randn(5, 8, device=CUDA)

    def gradients():
        net.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            out = net(x)
        out.float().square().sum().backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        return net.weight.grad

    gradients()
    graph, found = captured(gradients)
    x.mul_(2)
    graph.replay()
    found = found.cpu()
    assert torch.equal(found, gradients().cpu())


# ---- random numbers


def drawn(generator=None):
    normal = torch.randn(3, device=CUDA, generator=generator)
    parts = torch.rand(4, device=CUDA, generator=generator), normal, normal.bernoulli(0.5)
    whole = torch.randint(100, (3,), device=CUDA, generator=generator)
    return torch.cat([*parts, whole.float()])


def test_random_numbers_go_on():
    torch.cuda.manual_seed(3)
    expected = [drawn().tolist() for _ in range(5)]
    assert len({tuple(each) for each in expected}) == 5
    torch.cuda.manual_seed(3)
    graph, numbers = captured(drawn)
    found = []
    for i in range(5):
        if i == 2:  # draws between two replays
            found.append(drawn().tolist())
            continue
        graph.replay()
        found.append(numbers.tolist())
    assert found == expected
    torch.cuda.manual_seed(3)
    graph.replay()
    assert numbers.tolist() == expected[0]


def test_random_numbers_of_a_generator():
    generator = torch.Generator(CUDA).manual_seed(5)
    expected = [torch.rand(4, device=CUDA, generator=generator).tolist() for _ in range(2)]
    generator.manual_seed(5)

    def both():
        return torch.rand(4, device=CUDA, generator=generator), torch.rand(4, device=CUDA)

    graph, (own, other) = captured(both)
    for numbers in expected:
        graph.replay()
        assert own.tolist() == numbers != other.tolist()


# ---- what cannot be captured


def test_what_needs_the_host_is_refused():
    x = torch.ones(3, device=CUDA)
    for call in (
        lambda: x.sum().item(),
        lambda: x.cpu(),
        lambda: bool(x[0] > 0),
        lambda: torch.ones(3).to(CUDA),
        lambda: x.copy_(torch.zeros(3)),
        lambda: torch.linalg.svd(x.reshape(1, 3)),
        lambda: torch.poisson(x),
        lambda: torch.cuda.synchronize(),
        lambda: torch.cuda.empty_cache(),
        lambda: repr(x),
    ):
        with raises(RuntimeError, NOT_NOW):
            captured(call)
        usable()
    assert x.tolist() == [1, 1, 1]


def test_a_refusal_inside_leaves_the_capture_as_it_was():
    x = torch.ones(3, device=CUDA)

    def tries():
        y = x + 1
        with raises(RuntimeError, NOT_NOW):
            y.tolist()
        return y * 2

    graph, y = captured(tries)
    x.fill_(2)
    graph.replay()
    assert y.tolist() == [6, 6, 6]


def test_an_exception_ends_the_capture():
    graph = torch.cuda.CUDAGraph()
    x = torch.ones(3, device=CUDA)
    with raises(ZeroDivisionError, "division"), torch.cuda.graph(graph):
        x = x + 1
        x / (1 // 0)
    usable()
    with raises(RuntimeError, "without a preceding successful capture"):
        graph.replay()
    z = torch.ones(3, device=CUDA)
    with torch.cuda.graph(graph):  # the same object, once more
        y = z + 4
    graph.replay()
    assert y.tolist() == [5, 5, 5]


def test_optimizers_that_count_on_the_host_are_refused():
    p = torch.ones(2, device=CUDA, requires_grad=True)
    p.grad = torch.ones_like(p)
    for name in "Adam", "AdamW", "NAdam", "RAdam", "RMSprop", "ASGD", "Adamax":
        opt = getattr(torch.optim, name)([p])
        opt.step()
        with raises(RuntimeError, f"of step.. for an instance of {name} but .*capturable is False"):
            captured(opt.step)
    with raises(RuntimeError, "an instance of Adagrad"):
        captured(torch.optim.Adagrad([p], lr_decay=0.1).step)
    for name in "NAdam", "RAdam", "ASGD":  # which read the count that is on the device
        opt = getattr(torch.optim, name)([p], capturable=True)
        opt.step()
        with raises(RuntimeError, NOT_NOW):
            captured(opt.step)
    moved = torch.optim.Adam([p])
    moved.step()
    moved.param_groups[0]["capturable"] = True
    with raises(AssertionError, "state_steps must be on the device"):
        captured(moved.step)
    usable()


def test_one_graph_at_a_time():
    graph, other = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    x = torch.ones(2, device=CUDA)
    with torch.cuda.graph(graph):
        assert torch.cuda.is_current_stream_capturing()
        y = x + 1
        with raises(RuntimeError, "another graph is being captured"):
            other.capture_begin()
        y = y + 1
    graph.replay()
    assert y.tolist() == [3, 3]
    with raises(RuntimeError, "already owns a captured graph"):
        graph.capture_begin()
    with raises(RuntimeError, "capture_end.. was called before"):
        other.capture_end()
    with raises(RuntimeError, "without a preceding successful capture"):
        other.pool()
    with raises(RuntimeError, "Unknown capture error mode"):
        other.capture_begin(capture_error_mode="never")
    usable()


# ---- memory and lifetimes


def test_memory_of_a_graph_is_its_own():
    x = torch.arange(4096.0, device=CUDA)

    def call():
        between = x * 2
        return (between + 1).sqrt()

    graph, y = captured(call)
    others = [torch.full((4096,), float(i), device=CUDA) for i in range(8)]
    graph.replay()
    assert all((each == i).all() for i, each in enumerate(others))
    assert torch.equal(y, (x * 2 + 1).sqrt())
    graph.replay()
    del graph  # the tensor stays
    gc.collect()
    more = [torch.zeros(4096, device=CUDA) for _ in range(8)]
    assert torch.equal(y, (x * 2 + 1).sqrt()) and not any(each.any() for each in more)


def test_graphs_give_everything_back():
    def once():
        x = torch.ones(1 << 18, device=CUDA)
        graph, y = captured(lambda: x + torch.rand(1 << 18, device=CUDA))
        graph.replay()
        torch.cuda.synchronize()
        return y.sum()

    def live():
        gc.collect()
        torch.cuda.empty_cache()
        kinds = "blocks", "graphs", "executables", "events"
        return torch.cuda.memory_allocated(), [_standin.live(kind) for kind in kinds]

    once()
    before = live()
    for _ in range(3):
        once()
    assert live() == before
    graph, _ = captured(lambda: torch.ones(5, device=CUDA))
    assert live() != before
    graph.reset()
    del _
    assert live() == before


def test_pools_are_names():
    assert torch.cuda.graph_pool_handle() != torch.cuda.graph_pool_handle()
    x = torch.ones(2, device=CUDA)
    first, y = captured(lambda: x + 1)
    second = torch.cuda.CUDAGraph()
    with torch.cuda.graph(second, pool=first.pool(), stream=torch.cuda.Stream()):
        z = y * 2
    first.replay()
    second.replay()
    assert second.pool() == first.pool() and z.tolist() == [4, 4]


def test_an_index_out_of_bounds_in_a_replay_is_told():
    table = torch.randn(4, 2, device=CUDA)
    index = torch.tensor([0, 3], device=CUDA)
    F.embedding(index, table)
    graph, rows = captured(lambda: F.embedding(index, table))
    graph.replay()
    assert torch.equal(rows, table[index])
    index.fill_(9)
    graph.replay()
    with raises(torch.AcceleratorError, "was given the index 9, which is out of bounds"):
        torch.cuda.synchronize()
    index.fill_(1)
    graph.replay()
    assert torch.equal(rows, table[index])


def test_failures_of_the_driver():
    x = torch.ones(3, device=CUDA)
    for function, code, kind in (
        ("cuStreamBeginCapture", 1, RuntimeError),
        ("cuGraphInstantiate", 2, torch.OutOfMemoryError),
        ("cuGraphInstantiate", 1, RuntimeError),
    ):
        _standin.fail(function, code)
        with raises(kind, "CUDA (error|out of memory)"):
            captured(lambda: x + 1)
        usable()


# ---- functions and modules as graphs


def test_a_module_as_a_graph():
    torch.manual_seed(4)
    plain, graphed = small().to(CUDA), small().to(CUDA)
    graphed.load_state_dict(plain.state_dict())
    sample = torch.randn(6, 8, device=CUDA, requires_grad=True)
    assert torch.cuda.make_graphed_callables(graphed, (sample,)) is graphed
    for _ in range(2):
        x = torch.randn(6, 8, device=CUDA)
        inputs = [x.clone().requires_grad_() for _ in range(2)]
        outs = [net(each) for net, each in zip((plain, graphed), inputs, strict=True)]
        assert torch.equal(*outs)
        for net, out in zip((plain, graphed), outs, strict=True):
            net.zero_grad()
            (out * out).sum().backward()
        assert torch.equal(inputs[0].grad, inputs[1].grad)
        pairs = zip(plain.parameters(), graphed.parameters(), strict=True)
        assert all(torch.equal(p.grad, q.grad) for p, q in pairs)
    x = torch.randn(2, 8, device=CUDA)  # another shape: in eval() as without a graph
    assert torch.equal(plain.eval()(x), graphed.eval()(x))


def test_functions_as_graphs():
    def two(pair, z):
        return {"sum": pair[0] + pair[1] * z, "z": z.exp()}

    def one(x):
        return x * 3

    def fresh(n):
        return torch.randn(n, device=CUDA, requires_grad=True)

    sample = ([fresh(3), fresh(3)], fresh(3))
    first, second = torch.cuda.make_graphed_callables((two, one), (sample, (fresh(4),)))
    a, b, z = fresh(3), fresh(3), fresh(3)
    out = first([a, b], z)
    assert torch.equal(out["sum"], a + b * z) and torch.equal(out["z"], z.exp())
    grads = torch.autograd.grad([out["sum"].sum(), out["z"].sum()], (a, b, z))
    expected = torch.ones_like(a), z, b + z.exp()
    assert all(torch.equal(g, e) for g, e in zip(grads, expected, strict=True))
    x = fresh(4)
    assert torch.autograd.grad(second(x).sum(), x)[0].tolist() == [3, 3, 3, 3]
    with raises(RuntimeError, "differentiate twice"):
        (grad,) = torch.autograd.grad(second(x).square().sum(), x, create_graph=True)
        grad.sum().backward()


def test_what_no_graph_can_be_made_of():
    hooked = small().to(CUDA)
    hooked.register_forward_hook(lambda *args: None)
    with raises(AssertionError, "Modules must not have hooks"):
        torch.cuda.make_graphed_callables(hooked, (torch.ones(2, 8, device=CUDA),))
    with raises(AssertionError, "sample_args for each callable must contain only Tensors"):
        torch.cuda.make_graphed_callables(lambda x: x, (3,))
    with raises(RuntimeError, "cache_enabled=False"), torch.autocast("cuda"):
        torch.cuda.make_graphed_callables(lambda x: x, (torch.ones(2, device=CUDA),))
    x = torch.ones(2, device=CUDA, requires_grad=True)
    unused = torch.ones(2, device=CUDA, requires_grad=True)
    with raises(RuntimeError, "not have been used"):
        torch.cuda.make_graphed_callables(lambda x, y: x * 2, (x, unused))
    made = torch.cuda.make_graphed_callables(
        lambda x, y: x * 2, (x, unused), allow_unused_input=True
    )
    made(x, unused).sum().backward()
    assert x.grad.tolist() == [2, 2] and unused.grad is None
    usable()


def test_a_program_needs_no_call_before_its_capture():
    """Where programs have kernels of their own from the first call on, as they do on a card."""
    before = _core.accelerator_compile_after(0)
    try:
        x = torch.arange(5.0, device=CUDA)
        graph, y = captured(lambda: (x * 3 - 7).abs())
        x.fill_(2)
        graph.replay()
        assert y.tolist() == [1] * 5
    finally:
        _core.accelerator_compile_after(before)


# ---- ends


ENDS = """
import rushlight as torch

kept = torch.ones(3, device="cuda")
graph, mark = torch.cuda.CUDAGraph(), torch.cuda.Event()
mark.record()
kept + 1
with torch.cuda.graph(graph):
    made = kept + 1
graph.replay()
print(made.tolist(), flush=True)
"""
IN_THE_MIDDLE = """
torch.cuda.CUDAGraph().capture_begin()  # nobody ends the capture
other = torch.cuda.CUDAGraph()
other.capture_begin()
made = kept + 1
"""


@pytest.mark.parametrize("more", ["", IN_THE_MIDDLE], ids=["done", "in the middle"])
def test_the_interpreter_ends(more, tmp_path):
    script = tmp_path / "ends.py"
    script.write_text(ENDS + more)
    assert ran(script) == "[2.0, 2.0, 2.0]\n"


FORKS = """
import os

child = os.fork()
if not child:
    for call in graph.replay, mark.record:
        try:
            call()
        except RuntimeError as error:
            assert str(error).startswith("Cannot re-initialize CUDA in forked subprocess")
        else:
            raise AssertionError(call)
    del graph, mark
    raise SystemExit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
kept.fill_(4)
graph.replay()
assert made.tolist() == [5, 5, 5]
"""


def test_a_forked_process_has_neither_graphs_nor_events(tmp_path):
    script = tmp_path / "forks.py"
    script.write_text(ENDS + FORKS)
    assert ran(script) == "[2.0, 2.0, 2.0]\n"
