"""Steps of optimizers on CUDA's devices: one launch for all parameters, and the formula's numbers.

What is expected is computed by NumPy, each intermediate rounded to float32, or compared with what
separate tensors give.
"""

import _standin
import numpy as np
import pytest

import rushlight as torch
from rushlight import _core, nn, optim
from rushlight._devices.texts import numbers_of

CUDA = torch.device("cuda")
SHAPES = [(3, 4), (5,), (), (2, 300), (0, 2), (4099,), (2048,)]
F = np.float32


@pytest.fixture(autouse=True)
def _refused():
    before = _core.accelerator_refuse_fallbacks(True)
    yield
    _core.accelerator_refuse_fallbacks(before)


def launches(call):
    before = _standin.opened().standin_launches()
    call()
    return _standin.opened().standin_launches() - before


def numbers(seed, shapes=SHAPES):
    chance = np.random.RandomState(seed)
    return [np.asarray(chance.randn(*shape), F) for shape in shapes]


def there(arrays, dtype=torch.float32):
    return [torch.tensor(array).to(dtype).to(CUDA) for array in arrays]


def here(tensors):
    return [t.detach().cpu().to(torch.float64).numpy() for t in tensors]


def same(tensors, arrays):
    for found, expected in zip(here(tensors), arrays, strict=True):
        assert np.array_equal(found, np.asarray(expected, np.float64), equal_nan=True)


def train(parameters, grads, kind, options, steps=3):
    """The optimizer, and how many launches each step took."""
    optimizer, counts = kind(parameters, **options), []
    for step in range(steps):
        for p, grad in zip(parameters, grads[step], strict=True):
            p.grad = grad
        counts.append(launches(optimizer.step))
    return optimizer, counts


# ---- the formulas, in float32


def sgd(p, grads, lr, momentum=0, dampening=0, weight_decay=0, nesterov=False, maximize=False):
    buffer = None
    for grad in grads:
        g = -grad if maximize else grad
        if weight_decay:
            g = g + F(weight_decay) * p
        if momentum:
            first = buffer is None
            buffer = g if first else buffer * F(momentum) + F(1 - dampening) * g
            g = g + F(momentum) * buffer if nesterov else buffer
        p = p + F(-lr) * g
    return p


def adam(
    p, grads, lr, betas=(0.9, 0.999), weight_decay=0, amsgrad=False, maximize=False, apart=False
):
    mean, square, highest = (np.zeros_like(p) for _ in range(3))
    for t, grad in enumerate(grads, 1):
        g = -grad if maximize else grad
        if apart:
            p = p * F(1 - lr * weight_decay)
        elif weight_decay:
            g = g + F(weight_decay) * p
        weight = F(1 - betas[0])
        near = weight < 0.5
        mean = mean + weight * (g - mean) if near else g - (g - mean) * (F(1) - weight)
        square = square * F(betas[1]) + F(1 - betas[1]) * g * g
        highest = np.maximum(highest, square)
        root = np.sqrt(highest if amsgrad else square) / F((1 - betas[1] ** t) ** 0.5) + F(1e-8)
        p = p + F(-(lr / (1 - betas[0] ** t))) * mean / root
    return p


SGD = [
    {"lr": 0.1},
    {"lr": 0.1, "weight_decay": 0.1, "maximize": True},
    {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    {"lr": 0.1, "momentum": 0.9, "dampening": 0.3},
]
ADAM = [
    {"lr": 0.1},
    {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1},
    {"lr": 0.1, "betas": (0.3, 0.9), "maximize": True},
]
WAYS = [(optim.SGD, sgd, options, {}) for options in SGD]
WAYS += [(optim.Adam, adam, options, {}) for options in ADAM]
WAYS += [(optim.AdamW, adam, {"lr": 0.1, "weight_decay": 0.2}, {"apart": True})]


@pytest.mark.parametrize(("kind", "formula", "options", "more"), WAYS)
def test_one_launch_and_the_formula(kind, formula, options, more):
    values, grads = numbers(0), [numbers(1 + step) for step in range(3)]
    parameters = [nn.Parameter(t) for t in there(values)]
    _, counts = train(parameters, [there(g) for g in grads], kind, options)
    assert counts[1:] == [1, 1]
    expected = [
        formula(p, list(g), **options, **more) for p, *g in zip(values, *grads, strict=True)
    ]
    same(parameters, expected)


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam])
def test_as_many_launches_as_tables_are_needed(kind):
    values, grads = numbers(0, [(3,)] * 300), numbers(1, [(3,)] * 300)
    parameters = [nn.Parameter(t) for t in there(values)]
    _, counts = train(parameters, [there(grads)] * 2, kind, {"lr": 0.1}, steps=2)
    width = 2 + (2 if kind is optim.SGD else 4)  # a table's words of a parameter
    assert counts[-1] == -(-300 // (numbers_of("accelerator_call.h").TABLE // width))
    formula = sgd if kind is optim.SGD else adam
    same(parameters, [formula(p, [g, g], lr=0.1) for p, g in zip(values, grads, strict=True)])


def to_bfloat(array):
    """The nearest bfloat16; of two as near the one whose last bit is 0."""
    bits = np.asarray(array, F).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return rounded.astype(np.uint32).view(F)


@pytest.mark.parametrize("size", [1, 7, 8, 2047, 2049, 5000])
def test_bfloat16(size):
    (value,), (grad,) = (list(map(to_bfloat, numbers(seed, [(size,)]))) for seed in (0, 1))
    parameters = [nn.Parameter(t) for t in there([value], torch.bfloat16)]
    train(parameters, [there([grad], torch.bfloat16)], optim.SGD, {"lr": 0.1}, steps=1)
    same(parameters, [to_bfloat(sgd(value, [grad], lr=0.1))])


def test_views_at_odd_places():
    values, grads = numbers(0, [(5000,)]), numbers(1, [(5000,)])
    (value,), (grad,) = there(values), there(grads)
    for first in range(1, 5):
        parameters = [nn.Parameter(value.clone()[first:-3])]
        _, counts = train(parameters, [[grad[first:-3]]], optim.SGD, {"lr": 0.1}, steps=1)
        assert counts == [1]
        same(parameters, [sgd(values[0][first:-3], [grads[0][first:-3]], lr=0.1)])


def test_what_lies_beside_a_view_is_left():
    whole = torch.ones(100, device=CUDA)
    p = nn.Parameter(whole[3:50])
    train([p], [[torch.ones(47, device=CUDA)]], optim.SGD, {"lr": 1.0}, steps=1)
    assert whole.tolist() == [1] * 3 + [0] * 47 + [1] * 50


def test_turned_parameters_need_no_copies():
    (value,), (grad,) = numbers(0, [(30, 40)]), numbers(1, [(30, 40)])
    p, g = there([value.T.copy()])[0].t(), there([grad.T.copy()])[0].t()
    assert not p.is_contiguous()
    _, counts = train([nn.Parameter(p)], [[g]], optim.SGD, {"lr": 0.1}, steps=1)
    assert counts == [1]
    same([p], [sgd(value, [grad], lr=0.1)])


@pytest.mark.parametrize(("kind", "formula"), [(optim.SGD, sgd), (optim.Adam, adam)])
def test_parameters_with_gaps_and_of_another_order(kind, formula):
    (value,), (grad,) = numbers(0, [(30, 40)]), numbers(1, [(30, 40)])
    gaps = torch.zeros(30, 80, device=CUDA)
    gaps[:, ::2] = there([value])[0]
    turned = there([value.T.copy()])[0].t()
    parameters = [nn.Parameter(gaps[:, ::2]), nn.Parameter(turned)]
    train(parameters, [[there([grad])[0]] * 2], kind, {"lr": 0.1}, steps=1)
    same(parameters, [formula(value, [grad], lr=0.1)] * 2)
    assert (gaps[:, 1::2] == 0).all()


def test_parameters_that_share_memory_are_computed_in_turn():
    (value,), (grad,) = numbers(0, [(50,)]), numbers(1, [(40,)])
    whole = there([value])[0]
    parameters = [nn.Parameter(whole[:40]), nn.Parameter(whole[10:])]
    train(parameters, [there([grad, grad])], optim.SGD, {"lr": 0.1, "weight_decay": 0.5}, steps=1)
    expected = value.copy()
    for first in (0, 10):
        part = expected[first : first + 40]
        part[:] = sgd(part, [grad], lr=0.1, weight_decay=0.5)
    same([whole], [expected])


def test_a_launch_for_each_element_type():
    values, grads = numbers(0), numbers(1)
    types = [torch.float32, torch.float64, torch.float16]
    parameters = [nn.Parameter(t) for dtype in types for t in there(values, dtype)]
    given = [t for dtype in types for t in there(grads, dtype)]
    _, counts = train(parameters, [given, given], optim.SGD, {"lr": 0.1, "momentum": 0.9}, steps=2)
    assert counts == [3, 3]
    same(
        parameters[: len(SHAPES)],
        [sgd(p, [g, g], lr=0.1, momentum=0.9) for p, g in zip(values, grads, strict=True)],
    )


def test_a_parameter_that_begins_later():
    values, grads = numbers(0), numbers(1)
    parameters = [nn.Parameter(t) for t in there(values)]
    optimizer = optim.SGD(parameters, lr=0.1, momentum=0.9)
    for step in range(2):
        for i, (p, grad) in enumerate(zip(parameters, there(grads), strict=True)):
            p.grad = None if step == 0 and i == 1 else grad
        optimizer.step()
    counts = [1 if i == 1 else 2 for i in range(len(SHAPES))]
    expected = [
        sgd(p, [g] * n, lr=0.1, momentum=0.9) for p, g, n in zip(values, grads, counts, strict=True)
    ]
    same(parameters, expected)


# ---- counts in the device's memory


@pytest.mark.parametrize("kind", [optim.Adam, optim.AdamW])
@pytest.mark.parametrize("amsgrad", [False, True])
def test_capturable(kind, amsgrad):
    found = []
    for capturable in (False, True):
        parameters = [nn.Parameter(t) for t in there(numbers(0))]
        grads = [there(numbers(1 + step)) for step in range(3)]
        options = {"lr": 0.1, "amsgrad": amsgrad, "capturable": capturable}
        optimizer, counts = train(parameters, grads, kind, options)
        assert counts[-1] == 1 + capturable  # the counts have a launch
        for p in parameters:
            step = optimizer.state[p]["step"]
            assert (step.device.type, step.item()) == ("cuda" if capturable else "cpu", 3)
        found.append(here(parameters))
    for one, other in zip(*found, strict=True):  # the factors are rounded to float32 once
        assert np.allclose(one, other, rtol=0, atol=3 * 2 * 0.1 * 2.0**-23)


def test_loaded_counts_go_to_the_device():
    parameters = [nn.Parameter(t) for t in there(numbers(0))]
    one, _ = train(parameters, [there(numbers(1))] * 2, optim.Adam, {"lr": 0.1}, steps=2)
    other = optim.Adam(parameters, lr=0.1, capturable=True)
    saved = one.state_dict()
    saved["param_groups"][0]["capturable"] = True
    other.load_state_dict(saved)
    other.step()
    steps = [other.state[p]["step"] for p in parameters]
    assert {(s.device.type, s.item()) for s in steps} == {("cuda", 3)}


# ---- norms and scales


def test_norm():
    arrays = numbers(3, [*SHAPES, (100_003,)])
    tensors = there(arrays)
    nn.utils.get_total_norm(tensors)
    assert launches(lambda: nn.utils.get_total_norm(tensors)) == 2
    exact = np.sqrt(sum(np.sum(np.square(a.astype(np.float64))) for a in arrays))
    found = nn.utils.get_total_norm(tensors).item()
    assert abs(found - exact) <= np.spacing(F(exact))  # squares are exact in double
    assert nn.utils.get_total_norm([tensors[4]]).item() == 0
    assert np.isnan(nn.utils.get_total_norm([*tensors, tensors[0] / 0 * 0]).item())


def test_norm_of_strided_and_of_halves():
    (array,) = numbers(3, [(60, 50)])
    exact = np.sqrt(np.sum(np.square(array[:, ::2].astype(np.float64))))
    found = nn.utils.get_total_norm([there([array])[0][:, ::2]]).item()
    assert abs(found - exact) <= np.spacing(F(exact))
    rounded = to_bfloat(array)
    halves = nn.utils.get_total_norm(there([rounded], torch.bfloat16))
    exact = np.sqrt(np.sum(np.square(rounded.astype(np.float64))))
    assert abs(halves.item() - exact) <= exact * 2.0**-8


@pytest.mark.parametrize("most", [0.5, 1e6])
def test_clipping_does_not_wait(most):
    values = numbers(4)
    parameters = [nn.Parameter(t) for t in there(numbers(0))]
    for p, grad in zip(parameters, there(values), strict=True):
        p.grad = grad
    nn.utils.get_total_norm([])  # what is loaded late is loaded
    _standin.fail("cuMemcpyDtoHAsync", 1)  # the next copy to the host
    norm = nn.utils.clip_grad_norm_(parameters, most)
    with pytest.raises(RuntimeError, match="cuMemcpyDtoHAsync"):
        norm.item()
    total = F(norm.item())
    factor = min(F(most) / (total + F(1e-6)), F(1))
    same([p.grad for p in parameters], [a * factor for a in values])
