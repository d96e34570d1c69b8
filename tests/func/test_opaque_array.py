"""What a tensor inside a transform does not give away: its memory. The words are PyTorch's."""

import copy
import pickle

import numpy as np
import pytest

import rushlight as torch
import rushlight.autograd.forward_ad as fw
from rushlight._levels.opaque_array import OpaqueArray
from rushlight.func import grad, jvp, vmap

ROWS = torch.arange(6.0).reshape(2, 3)
MEMORY = "Cannot access data pointer of Tensor that doesn't have storage"
ITEM = r"vmap: It looks like you're calling .item\(\) on a Tensor"
FLOW = "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow"


def mapped(read):
    vmap(lambda a: (read(a), a)[1])(ROWS)


def pushed(read):
    jvp(lambda a: (read(a), a)[1], (ROWS,), (ROWS,))


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (lambda a: a.numpy(), MEMORY),
        (lambda a: a.detach().numpy(), MEMORY),
        (lambda a: np.asarray(a), MEMORY),
        (lambda a: np.sin(a), MEMORY),
        (lambda a: a.tolist(), MEMORY),
        (lambda a: a.data_ptr(), MEMORY),
        (lambda a: a.apply_(abs), MEMORY),
        (lambda a: a.map_(a, max), MEMORY),
        (lambda a: a.sum().item(), ITEM),
        (lambda a: float(a.sum()), ITEM),
        (lambda a: int(a.sum()), ITEM),
        (lambda a: f"{a.sum():.1f}", ITEM),
        (lambda a: 3.0 in a, ITEM),
        (lambda a: bool(a.sum()), FLOW),
        (lambda a: a.sum() or a, FLOW),
        (lambda a: a.data, "accessing `data` under vmap transform is not allowed"),
        (
            lambda a: setattr(a, "data", a),
            "mutating directly with `.data` under vmap transform is not allowed",
        ),
        (lambda a: a.sum().backward(), r"backward\(\) called inside a functorch transform"),
    ],
)
def test_no_values_leave_a_batched_tensor(read, words) -> None:
    with pytest.raises(RuntimeError, match=words):
        mapped(read)


@pytest.mark.parametrize("read", [copy.deepcopy, pickle.dumps, lambda a: a.untyped_storage()])
def test_no_storage_inside_a_transform(read) -> None:
    with pytest.raises(NotImplementedError, match="Cannot access storage of BatchedTensorImpl"):
        mapped(read)
    with pytest.raises(NotImplementedError, match="Cannot access storage of TensorWrapper"):
        pushed(read)


def test_memory_under_jvp() -> None:
    for read in (lambda a: a.numpy(), np.asarray, np.sin, lambda a: a.data_ptr()):
        with pytest.raises(RuntimeError, match=MEMORY):
            pushed(read)
    with pytest.raises(RuntimeError, match=r"mutating directly with `\.data` inside functorch"):
        pushed(lambda a: setattr(a, "data", a))
    pushed(lambda a: (a.tolist(), a.sum().item(), bool(a.sum()), a.data))  # as PyTorch allows


def test_memory_of_duals_is_their_value() -> None:
    with fw.dual_level():
        d = fw.make_dual(torch.ones(2), torch.full((2,), 5.0))
        assert d.numpy().tolist() == [1.0, 1.0] and d.data_ptr()
        assert fw.unpack_dual(d.data).tangent is None
        d.data = torch.zeros(2)
        primal, tangent = fw.unpack_dual(d)
        assert primal.tolist() == [0.0, 0.0] and tangent.tolist() == [5.0, 5.0]


def test_backward_is_refused_in_every_transform_and_only_there() -> None:
    w = torch.ones(3, requires_grad=True)

    def loss(a):
        (w * a).sum().backward()
        return a.sum()

    for run in (lambda: vmap(loss)(ROWS), lambda: grad(loss)(ROWS), lambda: pushed(loss)):
        with pytest.raises(RuntimeError, match="backward"):
            run()
    assert w.grad is None
    with fw.dual_level():
        (w * ROWS).sum().backward()
    assert w.grad.tolist() == [3.0, 5.0, 7.0]


def test_the_array_of_a_batched_tensor_has_a_shape_and_no_values() -> None:
    """Code of the library that forgets vmap fails here instead of answering with element 0."""
    kept = []
    vmap(lambda a: (kept.append(a._array), a)[1])(ROWS)
    (array,) = kept
    assert isinstance(array, OpaqueArray)
    assert array.shape == (3,) and array.dtype == np.float32 and array.ndim == 1 and len(array) == 3
    for read in (
        np.asarray,
        np.array,
        np.add.reduce,
        list,
        bool,
        lambda a: a[0],
        lambda a: a == 1,
        lambda a: a != 1,
        lambda a: a + 1,
        lambda a: 1 + a,
        lambda a: a @ a,
        lambda a: -a,
        lambda a: a.min(),
        lambda a: a.astype(int),
        lambda a: np.where(a, 1, 2),
        lambda a: np.concatenate([a, a]),
        lambda a: 1.0 in a,
        lambda a: memoryview(a),
        lambda a: a.T,
    ):
        with pytest.raises((RuntimeError, TypeError)):
            read(array)


def test_a_dual_around_a_batch_is_opaque_too() -> None:
    def inside(a):
        return jvp(lambda d: (np.asarray(d._array), d)[1], (a,), (a,))

    with pytest.raises(RuntimeError, match=MEMORY):
        vmap(inside)(ROWS)


def test_kernels_do_not_take_it() -> None:
    def inside(a):
        return torch._core.wrap(torch._core.kernels.sum(a._array, None, False))

    with pytest.raises((RuntimeError, TypeError)):
        vmap(inside)(ROWS)


def test_requires_grad_inside_does_not_reach_the_callers_tensor() -> None:
    x = torch.ones(2, 3)
    vmap(lambda a: (setattr(a, "requires_grad", True), a * 2)[1])(x)
    jvp(lambda a: (setattr(a, "requires_grad", True), a * 2)[1], (x,), (x,))
    assert not x.requires_grad


def test_writes_inside_reach_the_callers_tensor() -> None:
    x = torch.ones(2, 3)
    vmap(lambda a: a.mul_(3))(x)
    assert x.tolist() == [[3.0] * 3] * 2 and x._version == 1


def test_autograd_grad_of_what_samples_share() -> None:
    w = torch.ones(3, requires_grad=True)
    refused = "element 0 of tensors does not require grad and does not have a grad_fn"
    with pytest.raises(RuntimeError, match=refused):
        vmap(lambda a: torch.autograd.grad((w * a).sum() ** 2, w)[0])(ROWS)

    def leaf(a):
        q = torch.zeros(3, requires_grad=True)
        return torch.autograd.grad((q * a).sum(), q)[0]

    with pytest.raises(RuntimeError, match=refused):
        vmap(leaf)(ROWS)
    # The same gradient for all of them, and one that each has for itself, are no question.
    same = vmap(lambda a: torch.autograd.grad((w * w).sum(), w)[0] * a)(ROWS)
    assert same.tolist() == (2 * ROWS).tolist()
    rows = ROWS.clone().requires_grad_()
    each = vmap(lambda a: torch.autograd.grad((a * a).sum(), a)[0])(rows)
    assert each.tolist() == (2 * ROWS).tolist()


def test_the_sum_over_samples_outside() -> None:
    w = torch.ones(3, requires_grad=True)
    (g,) = torch.autograd.grad(vmap(lambda a: (w * a).sum() ** 2)(ROWS).sum(), w)
    assert g.tolist() == [72.0, 102.0, 132.0]
