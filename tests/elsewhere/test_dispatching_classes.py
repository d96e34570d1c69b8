"""Classes with `__torch_dispatch__`: which ops a call is, and what is refused as one is made.

The tests are written in torch's API, and pass on PyTorch too (RUSHLIGHT_TEST_WITH=torch).
"""

import pytest

from _subject import NAME, submodule, torch

pytree = submodule("utils._pytree")


class Held(torch.Tensor):
    """A tensor that holds another, and notes the ops that it is asked for."""

    seen = []  # noqa: RUF012

    @staticmethod
    def __new__(cls, held):
        made = torch.Tensor._make_wrapper_subclass(
            *(cls, held.shape), strides=held.stride(), dtype=held.dtype, device=held.device
        )
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(str(func).split(".")[1])
        args, kwargs = pytree.tree_map_only(Held, lambda x: x.held, (args, kwargs or {}))
        return pytree.tree_map_only(torch.Tensor, cls, func(*args, **kwargs))


CALLS = {
    "add": lambda x: x + 1,
    "add_": lambda x: x.add_(1),
    "cat": lambda x: torch.cat([x, torch.ones(2, 3)]),
    "clone": lambda x: x.clone(),
    "copy_": lambda x: x.__setitem__((slice(None), slice(1, 3)), 5.0),
    "detach": lambda x: x.detach(),
    "eq": lambda x: x == torch.ones(2, 3),
    "flip": lambda x: x.flip(0, 1),
    "index": lambda x: x[torch.tensor([1, 0])],
    "mm": lambda x: x @ torch.ones(3, 2),
    "mul": lambda x: 2 * x,
    "relu": torch.relu,
    "select": lambda x: x[..., 0],
    "slice": lambda x: x[:, 1:],
    "sum": lambda x: x.sum(0),
    "t": lambda x: x.t(),
    "_to_copy": lambda x: x.long(),
    "unbind": lambda x: x.unbind(0)[1],
    "unsqueeze": lambda x: x[None],
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_an_op_of_the_class(name):
    plain = torch.arange(6.0).reshape(2, 3)
    x = Held(plain.clone())
    Held.seen.clear()
    result = CALLS[name](x)
    assert Held.seen[-1] == name and set(Held.seen) <= {name, "slice", "alias"}
    wanted = CALLS[name](plain)
    assert torch.equal(x.held, plain)
    if wanted is not None:
        assert type(result) is Held and torch.equal(result.held, wanted)


def test_shape_and_type_are_the_tensors_own():
    x = Held(torch.ones(2, 3, dtype=torch.int16).t())
    Held.seen.clear()
    assert (x.shape, x.stride(), x.dtype, len(x)) == ((3, 2), (1, 3), torch.int16, 3)
    assert x.device == torch.device("cpu") and not x.requires_grad and x.dim() == 2
    assert Held.seen == []


def test_a_function_of_several_ops_arrives_as_these():
    x = Held(torch.arange(6.0).reshape(2, 3))
    result = torch.nn.functional.softmax(x, -1)
    assert type(result) is Held
    torch.testing.assert_close(result.held, x.held.softmax(-1))


def test_nobody_answers():
    class Silent(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError):
        torch.sin(torch.Tensor._make_wrapper_subclass(Silent, (2,)))


def test_what_is_refused_is_refused_as_it_is_made():
    with pytest.raises(TypeError):
        torch.Tensor._make_wrapper_subclass(int, (2,))
    if NAME != "torch":
        with pytest.raises(NotImplementedError, match="records no gradient"):
            torch.Tensor._make_wrapper_subclass(Held, (2,), requires_grad=True)
