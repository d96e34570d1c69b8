"""Leaf rules and the `.grad` attribute: what may be set, how gradients accumulate, retain_grad."""

import re
import warnings

import pytest

from _alone import run_alone
from _subject import NAME, submodule, torch


def starts(text: str) -> str:
    """A pattern for a message that begins with `text`."""
    return "^" + re.escape(text)


ONLY_LEAVES = "you can only change requires_grad flags of leaf variables."


def test_requires_grad_false_on_a_result_is_refused():
    y = torch.ones(2, requires_grad=True) * 2
    for change in (lambda: y.requires_grad_(False), lambda: setattr(y, "requires_grad", False)):
        with pytest.raises(
            RuntimeError,
            match=starts(
                ONLY_LEAVES + " If you want to use a computed variable in a subgraph that doesn't "
                "require differentiation use var_no_grad = var.detach()."
            ),
        ):
            change()
    assert y.requires_grad


def test_requires_grad_true_on_a_result():
    y = torch.ones(2, requires_grad=True) * 2
    assert y.requires_grad_(True) is y
    with pytest.raises(RuntimeError, match=starts(ONLY_LEAVES)):
        y.requires_grad = True


def test_switching_a_leaf_on_and_off():
    x = torch.ones(2)
    x.requires_grad_()
    assert x.requires_grad and x.is_leaf
    x.requires_grad = False
    assert not x.requires_grad and not (x * 2).requires_grad


def test_read_only_attributes():
    y = torch.ones(2, requires_grad=True) * 2
    for name in ("grad_fn", "is_leaf", "shape", "dtype", "_version", "output_nr", "retains_grad"):
        with pytest.raises(AttributeError, match="is not writable"):
            setattr(y, name, None)
    assert y.output_nr == 0 and not y.retains_grad


def test_accumulates_in_place():
    x = torch.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first
    assert first.tolist() == [5.0, 5.0, 5.0]


def test_accumulates_out_of_place_when_the_graph_is_kept():
    x = torch.ones(2, requires_grad=True)
    first = torch.ones(2)
    x.grad = first
    (x * x).sum().backward(create_graph=True)
    assert first.tolist() == [1.0, 1.0]
    assert x.grad.tolist() == [3.0, 3.0] and x.grad.requires_grad
    x.grad = None


def test_gradient_given_by_the_user_is_never_aliased():
    x = torch.ones(2, requires_grad=True)
    given = torch.ones(2)
    x.clone().backward(given)
    x.grad.add_(5)
    assert given.tolist() == [1.0, 1.0]


def test_two_leaves_do_not_share_one_gradient():
    a = torch.ones(2, requires_grad=True)
    b = torch.ones(2, requires_grad=True)
    (a + b).sum().backward()
    a.grad.add_(5)
    assert b.grad.tolist() == [1.0, 1.0]


def test_assigning_and_deleting():
    x = torch.ones(2, requires_grad=True)
    g = torch.ones(2)
    x.grad = g
    assert x.grad is g
    del x.grad
    assert x.grad is None
    x.grad = None


def test_assignment_checks():
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(
        TypeError,
        match=starts("assigned grad expected to be a Tensor or None but got grad of type"),
    ):
        x.grad = "a"
    with pytest.raises(RuntimeError, match=starts("can't assign Variable as its own grad")):
        x.grad = x
    with pytest.raises(
        RuntimeError,
        match=starts(
            "attempting to assign a gradient of size '[4]' to a tensor of size '[3]'. Please "
            "ensure that the gradient and the tensor are the same size"
        ),
    ):
        x.grad = torch.ones(4)
    with pytest.raises(
        RuntimeError, match=starts("attempting to assign a gradient with dtype 'double' to a")
    ):
        x.grad = torch.ones(3, dtype=torch.float64)
    assert x.grad is None


def test_gradient_has_the_dtype_of_the_leaf():
    x = torch.ones(2, requires_grad=True)
    (x.double() * 3).sum().backward()
    assert x.grad.dtype == torch.float32
    h = torch.ones(2, dtype=torch.float16, requires_grad=True)
    (h * torch.ones(2)).sum().backward()
    assert h.grad.dtype == torch.float16


def test_gradient_has_the_strides_of_the_leaf():
    x = torch.arange(6.0).reshape(2, 3).t().requires_grad_()
    (x * torch.ones(3, 2)).sum().backward()
    assert x.grad.shape == (3, 2) and x.grad.stride() == (1, 3)
    y = torch.ones(3, 4, requires_grad=True)
    y.t().contiguous().sum().backward()
    assert y.grad.is_contiguous()


def test_broadcast_gradient_has_the_shape_of_the_leaf():
    row = torch.ones(1, 4, requires_grad=True)
    scalar = torch.tensor(2.0, requires_grad=True)
    (row * scalar * torch.ones(3, 4)).sum().backward()
    assert row.grad.tolist() == [[6.0] * 4] and scalar.grad.item() == 12.0


def test_retain_grad():
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    (y * y).sum().backward()
    assert y.grad.tolist() == [6.0, 6.0] and x.grad.tolist() == [18.0, 18.0]


def test_retain_grad_sees_what_the_hooks_made():
    x = torch.ones(1, requires_grad=True)
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.backward()
    assert y.grad.item() == 10.0 and x.grad.item() == 30.0


def test_retain_grad_follows_a_write_in_place():
    x = torch.ones(1, requires_grad=True)
    y = x * 3
    y.retain_grad()
    y.mul_(5)
    y.backward()
    assert y.grad.item() == 1.0 and x.grad.item() == 15.0


def test_retain_grad_on_leaves_and_constants():
    x = torch.ones(1, requires_grad=True)
    x.retain_grad()
    assert not x.retains_grad
    with pytest.raises(
        RuntimeError, match=starts("can't retain_grad on Tensor that has requires_grad=False")
    ):
        torch.ones(1).retain_grad()


def test_detach_shares_memory_and_version_data_does_not():
    x = torch.ones(2)
    detached, data = x.detach(), x.data
    x.add_(1)
    assert detached.tolist() == data.tolist() == [2.0, 2.0]
    assert (x._version, detached._version, data._version) == (1, 1, 0)
    data.add_(1)
    assert (x._version, data._version) == (1, 1)
    assert detached.tolist() == [3.0, 3.0]


def test_detach_in_place():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    assert y.detach_() is y
    assert not y.requires_grad and y.grad_fn is None
    with pytest.raises(RuntimeError, match=starts("Can't detach views in-place")):
        (x * 2)[0].detach_()


def test_conversions_that_a_graph_forbids():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(
        RuntimeError,
        match=starts(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        ),
    ):
        x.numpy()
    assert x.detach().numpy().tolist() == [1.0, 1.0]
    assert x.tolist() == [1.0, 1.0] and x.sum().item() == 2.0


def test_deepcopy_of_leaf_and_of_result():
    import copy

    x = torch.ones(2, requires_grad=True)
    x.grad = torch.full((2,), 3.0)
    twin = copy.deepcopy(x)
    assert twin.requires_grad and twin.is_leaf and twin.grad.tolist() == [3.0, 3.0]
    twin.data.zero_()
    assert x.tolist() == [1.0, 1.0]
    with pytest.raises(
        RuntimeError, match=starts("Only Tensors created explicitly by the user (graph leaves)")
    ):
        copy.deepcopy(x * 2)


def test_pickle_keeps_the_flag_and_drops_the_graph():
    import pickle

    x = torch.ones(2, requires_grad=True)
    assert pickle.loads(pickle.dumps(x)).requires_grad
    y = pickle.loads(pickle.dumps(x.detach() * 2))
    assert y.tolist() == [2.0, 2.0] and y.grad_fn is None


def test_gradient_conventions_at_ties_and_edges():
    def slope(function, *values):
        x = torch.tensor(values, requires_grad=True)
        function(x).sum().backward()
        return x.grad.tolist()

    assert slope(lambda x: x.max(), 2.0, 2.0, 1.0) == [0.5, 0.5, 0.0]
    assert slope(lambda x: x.max(0)[0], 2.0, 2.0) == [1.0, 0.0]
    assert slope(lambda x: torch.maximum(x, torch.tensor([0.0])), 0.0) == [0.5]
    assert slope(torch.relu, 0.0) == [0.0]
    assert slope(torch.abs, 0.0) == [0.0]
    assert slope(torch.sqrt, 0.0) == [float("inf")]
    assert slope(lambda x: x.norm(), 0.0, 0.0) == [0.0, 0.0]
    assert slope(lambda x: x.clamp(0, 1), 0.0, 1.0, 2.0) == [1.0, 1.0, 0.0]
    assert slope(lambda x: x**0, 0.0) == [0.0]
    assert slope(lambda x: x.prod(), 0.0, 3.0, 4.0) == [12.0, 0.0, 0.0]
    assert slope(lambda x: x.std(), 1.0, 1.0) == [0.0, 0.0]


def test_margins_that_are_just_met_get_no_gradient():
    x = torch.tensor([[1.0, 0.0, 1.0]], requires_grad=True)  # class 1 is exactly 1 below class 0
    functional = torch.nn.functional
    for loss in (
        functional.multi_margin_loss(x, torch.tensor([0])),
        functional.multilabel_margin_loss(x, torch.tensor([[0, -1, -1]])),
    ):
        (g,) = torch.autograd.grad(loss, x)
        assert g.tolist() == [pytest.approx([-1 / 3, 0, 1 / 3])]


def test_grad_dtype_is_a_dtype_of_a_leaf():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"must be a torch\.dtype or None, but got int"):
        x.grad_dtype = 3
    with pytest.raises(RuntimeError, match="grad_dtype can only be accessed on leaf tensors"):
        _ = (x * 2).grad_dtype
    assert x.grad_dtype is torch.float32


def test_a_gradient_whose_elements_are_one_is_not_added_to():
    x = torch.ones(3, requires_grad=True)
    x.grad = torch.zeros(1).expand(3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers"):
        (x * torch.arange(3.0)).sum().backward()
    assert x.grad.tolist() == [0, 0, 0]


def test_a_leaf_that_was_switched_off_gets_nothing():
    x = torch.ones(2, requires_grad=True)
    y = torch.ones(2, requires_grad=True)
    total = (x * y).sum()
    x.requires_grad_(False)
    total.backward()
    assert x.grad is None
    assert y.grad.tolist() == [1, 1]


def test_what_may_be_deleted():
    x = torch.ones(1, requires_grad=True)
    refused = {
        "data": (RuntimeError, "Deleting tensor data is not allowed. Delete tensor instead!"),
        "requires_grad": (RuntimeError, "requires_grad must be a bool"),
    }
    fixed = "shape dtype ndim grad_fn is_leaf output_nr retains_grad _version _base device layout "
    for name in (fixed + "is_cpu is_cuda is_sparse itemsize nbytes name T").split():
        text = f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable"
        refused[name] = AttributeError, text
    for name, (error, text) in refused.items():
        with pytest.raises(error, match=starts(text)):
            delattr(x, name)
    x.grad = torch.ones(1)
    del x.grad, x.volatile
    assert x.grad is None
    assert x.requires_grad and x.tolist() == [1.0]


@pytest.mark.skipif(NAME == "torch", reason="PyTorch dies of some")
def test_deleting_any_attribute_is_safe():
    """Every attribute of tensors, nodes and ops that has a setter in the core."""
    out = run_alone(
        """
        x = torch.ones(1, requires_grad=True)
        y = x * 2
        for owner in (x, y, x.detach(), y.grad_fn, y.grad_fn.next_functions[0][0], torch.exp):
            for name in dir(owner):
                if name.startswith("__") and name != "__dict__":
                    continue
                try:
                    delattr(owner, name)
                except (AttributeError, TypeError, RuntimeError):
                    pass
            repr(owner)
        (torch.ones(1, requires_grad=True) * 2).sum().backward()
        try:
            x._wrapped = 3
        except TypeError as error:
            print(error)
        """
    )
    assert out.startswith("_wrapped is set to a pair")


def test_volatile_warns():
    with pytest.warns(UserWarning, match=r"^volatile was removed and now has no effect."):
        torch.ones(1).volatile = True


def test_parts_are_assigned_numbers_and_tensors():
    x = torch.zeros(2, dtype=torch.complex64)
    x.real, x.imag = 2.5, torch.tensor([1.0, 3.0])
    assert x.tolist() == [2.5 + 1j, 2.5 + 3j]
    with pytest.raises(TypeError, match=r"^can't assign a str to a torch.FloatTensor"):
        x.real = "a"
    with pytest.raises(RuntimeError, match=r"^a leaf Variable that requires grad"):
        torch.ones(1, requires_grad=True).real = 1


def test_saving_a_tensor_with_hooks_warns():
    import pickle

    hooks = submodule("utils.hooks")
    x = torch.ones(1, requires_grad=True)
    handle = x.register_hook(hooks.unserializable_hook(lambda g: g))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pickle.dumps(x)
        handle.remove()
        pickle.dumps(x)
    x.register_hook(lambda g: g)
    with pytest.warns(UserWarning, match="on tensor will not be serialized"):
        copy = pickle.loads(pickle.dumps(x))
    assert copy.requires_grad and not copy._backward_hooks


def test_the_old_name_variable():
    variable = torch.autograd.Variable
    x = torch.ones(2)
    v = variable(x, requires_grad=True)
    assert v.requires_grad and not x.requires_grad and v.data_ptr() == x.data_ptr()
    assert isinstance(x, variable) and type(v) is torch.Tensor
    with pytest.raises(TypeError, match=r"^Variable data has to be a tensor, but got int"):
        variable(3)
    with pytest.raises(RuntimeError, match="nly Tensors of floating point and complex dtype can"):
        variable(torch.ones(1, dtype=torch.int64), requires_grad=True)
    with pytest.warns(UserWarning, match=r"^volatile was removed and now has no effect"):
        variable(x, volatile=True)
