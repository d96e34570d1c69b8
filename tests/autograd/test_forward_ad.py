"""Forward-mode by hand: dual levels, what carries a tangent, and what does not."""

import pytest

import rushlight as torch
import rushlight.autograd.forward_ad as fw


def dual(value: list[float], tangent: list[float]) -> torch.Tensor:
    return fw.make_dual(torch.tensor(value), torch.tensor(tangent))


def test_tangent_of_a_function() -> None:
    with fw.dual_level():
        x = dual([1.0, 2.0], [1.0, 0.5])
        y = fw.unpack_dual(x * x * 3)
        assert y.primal.tolist() == [3.0, 12.0]
        assert y.tangent.tolist() == [6.0, 6.0]


def test_printing() -> None:
    with fw.dual_level():
        assert repr(dual([1.0, 1.0], [3.0, 3.0])) == "tensor([1., 1.], tangent=tensor([3., 3.]))"


def test_tangents_end_with_their_level() -> None:
    with fw.dual_level():
        x = dual([1.0], [1.0])
        assert fw.unpack_dual(x).tangent is not None
    assert fw.unpack_dual(x).tangent is None
    with fw.dual_level():
        assert fw.unpack_dual(x * 2).tangent is None
    assert (x * 2).tolist() == [2.0]


def test_no_grad_does_not_stop_tangents() -> None:
    with fw.dual_level(), torch.no_grad():
        assert fw.unpack_dual(dual([2.0], [1.0]) ** 2).tangent.tolist() == [4.0]


def test_detach_drops_the_tangent() -> None:
    with fw.dual_level():
        assert fw.unpack_dual(dual([2.0], [1.0]).detach()).tangent is None


def test_integers_and_comparisons_have_none() -> None:
    with fw.dual_level():
        x = dual([2.0, 3.0], [1.0, 1.0])
        assert fw.unpack_dual(x.argmax()).tangent is None
        assert fw.unpack_dual(x > 2).tangent is None
        assert fw.unpack_dual(x.long()).tangent is None
        assert bool(x[0] < 3) and x[1].item() == 3.0


def test_random_numbers_have_tangents_of_zero() -> None:
    with fw.dual_level():
        x = dual([0.5, 0.5], [1.0, 2.0])
        drawn = [torch.bernoulli(x), torch.poisson(x), torch.normal(x), torch.normal(0.0, x)]
        drawn += [torch.normal(x, x), torch.normal(x, torch.ones(1, 2))[0]]
        assert [fw.unpack_dual(y).tangent.tolist() for y in drawn] == [[0.0, 0.0]] * 6


def test_forward_over_reverse_and_reverse_over_forward() -> None:
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    v = torch.tensor([1.0, -2.0])
    expected = (-x.sin() * v).detach()
    with fw.dual_level():
        y = fw.make_dual(x, v)
        (g,) = torch.autograd.grad(y.sin().sum(), y, create_graph=True)
        assert torch.allclose(fw.unpack_dual(g).tangent, expected)
        along = fw.unpack_dual(y.sin().sum()).tangent
        assert torch.allclose(torch.autograd.grad(along, x)[0], expected)


def test_one_level_at_a_time() -> None:
    with fw.dual_level():
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
            fw.enter_dual_level()
        assert fw.unpack_dual(dual([2.0], [1.0]) * 2).tangent.tolist() == [2.0]
    with fw.dual_level():
        assert fw.unpack_dual(dual([2.0], [1.0]) * 2).tangent.tolist() == [2.0]


def test_in_place_and_views() -> None:
    with fw.dual_level():
        z = dual([1.0, 2.0, 3.0], [1.0, 1.0, 1.0]) * 1
        z[1:].mul_(2)
        z.add_(dual([0.0, 0.0, 1.0], [0.0, 5.0, 0.0]))
        found = fw.unpack_dual(z)
        assert found.primal.tolist() == [1.0, 4.0, 7.0]
        assert found.tangent.tolist() == [1.0, 7.0, 2.0]


def test_plain_tensor_written_with_a_dual() -> None:
    with fw.dual_level():
        z = torch.zeros(3)
        z[1:] = dual([2.0, 3.0], [1.0, 1.0])
        found = fw.unpack_dual(z * z)
        assert found.primal.tolist() == [0.0, 4.0, 9.0]
        assert found.tangent.tolist() == [0.0, 4.0, 6.0]


def test_errors() -> None:
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="no level exists, make sure to enter_dual_level"):
        fw.make_dual(x, x)
    with fw.dual_level():
        with pytest.raises(ValueError, match="Expected primal to be floating point or complex"):
            fw.make_dual(torch.tensor([1, 2]), x)
        with pytest.raises(RuntimeError, match="different size than that of the original Tensor"):
            fw.make_dual(x, torch.ones(3))


def test_inference_mode_has_no_tangents() -> None:
    with fw.dual_level():
        pair = fw.make_dual(torch.ones(2), torch.ones(2))
        with torch.inference_mode():
            assert fw.unpack_dual(pair * 2).tangent is None
        assert fw.unpack_dual(pair * 2).tangent.tolist() == [2, 2]
