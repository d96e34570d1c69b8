"""`tensor_text` against PyTorch, character for character, over random arrays and options.

Array level: the text of an ndarray and its dtype, compared with `repr` of the same torch tensor.
"""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from rushlight import _core  # noqa: E402
from rushlight._base import dtypes, printing  # noqa: E402

FLOATS = ["float32", "float64", "float16", "bfloat16"]
COMPLEX = ["complex64", "complex128"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NAMES = [*FLOATS, *COMPLEX, *INTEGERS, "bool"]
REQUIRES = ["requires_grad=True"]


@pytest.fixture(autouse=True)
def _restore():
    yield
    for library in (torch, printing):
        library.set_printoptions(profile="default")
    torch.set_default_dtype(torch.float32)
    dtypes.set_default_dtype(dtypes.float32)


def set_both(**options):
    torch.set_printoptions(**options)
    printing.set_printoptions(**options)


def as_torch(array, name):
    """The torch tensor with these elements."""
    if name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def text(array, **given):
    return printing.tensor_text(_core.wrap(array), **given)


def check(array, name, **given):
    array = np.ascontiguousarray(array).astype(getattr(dtypes, name).numpy).reshape(array.shape)
    ours = text(array, **given)
    theirs = repr(as_torch(array, name))
    assert ours == theirs, f"\n{ours}\n--- torch:\n{theirs}\n{printing.get_printoptions()}"


def random_reals(rng, shape):
    """Reals of one of several kinds: the choice of format depends on scale and roundness."""
    kind = rng.integers(9)
    values = rng.standard_normal(shape)
    if kind == 0:
        values = np.round(values * 10.0 ** rng.integers(0, 7))
    elif kind == 1:
        values = values * 10.0 ** rng.integers(-12, 13)
    elif kind == 2:
        values = values * 10.0 ** rng.uniform(-4, 4, shape)
    elif kind == 3:
        values = 10.0 ** rng.integers(-6, 10, shape)
    elif kind == 4:
        values = np.where(rng.random(shape) < 0.5, 0.0, values)
    elif kind == 5:
        values = np.zeros(shape)
    elif kind == 6:
        values = rng.choice([0.5, 1.0, 999.95, 9.99995, 99999.0, 1e8, 1e-4, 1e3, 123456.5], shape)
    values = np.where(rng.random(shape) < rng.choice([0, 0, 0.2]), -0.0, values)
    if rng.random() < 0.3:
        special = rng.choice([np.nan, np.inf, -np.inf], shape)
        values = np.where(rng.random(shape) < rng.choice([0.1, 0.9]), special, values)
    return values


def random_array(rng, name, shape):
    if name == "bool":
        return rng.random(shape) < rng.choice([0, 0.5, 1])
    if name in INTEGERS:
        limits = np.iinfo(name)
        high = min(10 ** int(rng.integers(1, 20)), limits.max)
        low = max(-high if rng.random() < 0.5 else 0, limits.min)
        return rng.integers(low, high, shape, dtype=name, endpoint=True)
    if name in COMPLEX:
        values = np.empty(shape, name)
        with np.errstate(over="ignore"):
            values.real = random_reals(rng, shape)
            values.imag = random_reals(rng, shape)
        return values
    with np.errstate(over="ignore"):
        return np.asarray(random_reals(rng, shape)).astype(getattr(dtypes, name).numpy)


def random_shape(rng):
    rank = int(rng.integers(0, 5))
    small = rng.random() < 0.7
    return tuple(int(n) for n in rng.integers(1, 6 if small else 12, rank))


@pytest.mark.parametrize("name", NAMES)
def test_random_arrays(name):
    rng = np.random.default_rng(NAMES.index(name))
    for _ in range(250):
        check(random_array(rng, name, random_shape(rng)), name)


@pytest.mark.parametrize("name", NAMES)
def test_random_arrays_and_options(name):
    rng = np.random.default_rng(1000 + NAMES.index(name))
    for _ in range(250):
        set_both(
            precision=int(rng.integers(0, 9)),
            threshold=int(rng.choice([0, 1, 5, 20, 100, 1000])),
            edgeitems=int(rng.integers(0, 5)),
            linewidth=int(rng.choice([1, 8, 20, 40, 80, 120, 500])),
            sci_mode=[None, None, True, False][rng.integers(4)],
        )
        check(random_array(rng, name, random_shape(rng)), name)


@pytest.mark.parametrize("name", NAMES)
def test_long_vectors_wrap_and_summaries(name):
    rng = np.random.default_rng(2000 + NAMES.index(name))
    for shape in [(40,), (1000,), (1001,), (30, 40), (2, 600), (600, 2), (7, 7, 30), (7, 3, 1, 60)]:
        check(random_array(rng, name, shape), name)
    set_both(profile="full")
    check(random_array(rng, name, (3, 500)), name)
    set_both(profile="short")
    check(random_array(rng, name, (30, 50)), name)


@pytest.mark.parametrize("default", FLOATS)
@pytest.mark.parametrize("name", NAMES)
def test_default_dtype_decides_the_suffix(name, default):
    torch.set_default_dtype(getattr(torch, default))
    dtypes.set_default_dtype(getattr(dtypes, default))
    for shape in [(), (2,), (0,), (0, 3), (2, 0, 1)]:
        check(np.ones(shape), name)


def test_edges_of_the_choice_of_notation():
    values = [0.0, -0.0, 1e-4, 9.9999e-5, 1e8, 1.0001e8, 1e3, 1000.1, 1.0, 0.5, 5e-324, 1.7e308]
    values += [math.nan, math.inf, -math.inf, 123456789.0, 0.99999, 99999.99999]
    for a in values:
        check(np.array(a), "float64")
        for b in values:
            check(np.array([a, b]), "float64")
            check(np.array([complex(a, b), complex(b, -a)]), "complex128")
            check(np.array(complex(a, b)), "complex128")


def suffixed(make, count):
    """A torch tensor that carries a grad_fn, its array, and the suffix."""
    x = make(count).requires_grad_()
    y = x * 1
    return y, y.detach().numpy(), [f"grad_fn=<{type(y.grad_fn).__name__}>"]


def test_suffixes_start_a_new_line_where_they_do_not_fit():
    for count in range(1, 40):
        y, array, suffixes = suffixed(torch.ones, count)
        assert text(array, suffixes=suffixes) == repr(y)
        y, array, suffixes = suffixed(lambda n: torch.ones(2, n, dtype=torch.float64), count)
        assert text(array, suffixes=suffixes) == repr(y)
        x = torch.ones(count, requires_grad=True)
        ours = text(x.detach().numpy(), suffixes=REQUIRES)
        assert ours == repr(x)


def test_suffixes_of_empty_tensors():
    x = torch.ones(0, 3, dtype=torch.float64, requires_grad=True)
    ours = text(x.detach().numpy(), suffixes=REQUIRES)
    assert ours == repr(x)


def test_tangents():
    import torch.autograd.forward_ad as forward_ad

    for shape in [(), (3,), (3, 3), (12,)]:
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(torch.ones(shape), torch.zeros(shape))
            zeros = np.zeros(shape, np.float32)
            # The tangent is written by an f-string, which shows one number as a number.
            tangent = text(zeros) if shape else format(_core.wrap(zeros), "")
            ours = text(np.ones(shape, np.float32), suffixes=[f"tangent={tangent}"])
            assert ours == repr(dual)


def test_prefix_of_a_subclass():
    class Marked(torch.Tensor):
        pass

    array = np.arange(40, dtype=np.float32).reshape(2, 20)
    x = torch.from_numpy(array).as_subclass(Marked)
    assert text(array, prefix="Marked(") == repr(x)


def test_non_contiguous_arrays():
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for view in [array.T, array[:, ::2], np.broadcast_to(array[:1], (5, 3, 4))]:
        theirs = repr(torch.from_numpy(np.ascontiguousarray(view)))
        assert text(view) == theirs


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("spec", ["", ".2f", "d", ">12", ".3e", "g", "x", "s"])
def test_format_of_one_number(name, spec):
    def outcome(function):
        try:
            return function()
        except (TypeError, ValueError) as error:
            return type(error), str(error)

    array = np.array(3.1).astype(getattr(dtypes, name).numpy)
    ours = outcome(lambda: format(_core.wrap(array), spec))
    assert ours == outcome(lambda: format(as_torch(array, name), spec))


def test_options_are_kept_as_torch_keeps_them():
    for options in [
        {"precision": 7},
        {"profile": "short"},
        {"profile": "full", "edgeitems": 5},
        {"sci_mode": True},
        {"linewidth": 100},
        {"profile": "no such profile"},
        {"profile": "default"},
    ]:
        set_both(**options)
        assert printing.get_printoptions() == torch._tensor_str.get_printoptions()
