"""autograd.functional, function transforms and forward mode: E76 to E95."""

from .registry import error, leaf, sub

# ---- functional


@error(
    "E76",
    TypeError,
    "The outputs of the user-provided function given to jacobian must be either a Tensor or a "
    "tuple of Tensors but the given outputs of the user-provided function has type <class 'int'>.",
)
def _(t):
    sub(t, "autograd.functional").jacobian(lambda x: 3, leaf(t))


@error(
    "E76",
    TypeError,
    "The inputs given to jacobian must be either a Tensor or a tuple of Tensors but the value at "
    "index 0 has type <class 'int'>.",
)
def _(t):
    sub(t, "autograd.functional").jacobian(lambda x: x, (3,))


@error(
    "E77",
    RuntimeError,
    "The Tensor returned by the function given to hessian should contain a single element",
)
def _(t):
    sub(t, "autograd.functional").hessian(lambda x: x, leaf(t))


@error(
    "E78",
    RuntimeError,
    "The vector v can only be None if the user-provided function returns a single Tensor with a "
    "single element.",
)
def _(t):
    sub(t, "autograd.functional").vjp(lambda x: x, leaf(t))


@error(
    "E78",
    RuntimeError,
    "The vector v can only be None if the input to the user-provided function is a single Tensor "
    "with a single element.",
)
def _(t):
    sub(t, "autograd.functional").hvp(lambda x: x.sum(), leaf(t))


@error(
    "E79", RuntimeError, "v has invalid size: should be torch.Size([2]) but got torch.Size([3])."
)
def _(t):
    sub(t, "autograd.functional").vjp(lambda x: x, leaf(t, 2), t.ones(3))


@error("E79", RuntimeError, "v is a tuple of invalid length: should be 2 but got 1.")
def _(t):
    sub(t, "autograd.functional").vjp(lambda x: (x, x), leaf(t, 2), t.ones(2))


@error(
    "E80",
    RuntimeError,
    "Output 0 of the user-provided function does not require gradients. The outputs must be "
    "computed in a differentiable manner from the input when running in strict mode.",
)
def _(t):
    sub(t, "autograd.functional").jacobian(lambda x: t.ones(3), leaf(t), strict=True)


@error(
    "E80",
    RuntimeError,
    "Output 0 of the user-provided function is independent of input 1. This is not allowed in "
    "strict mode.",
)
def _(t):
    sub(t, "autograd.functional").jacobian(lambda x, y: x, (leaf(t), leaf(t)), strict=True)


@error(
    "E80",
    RuntimeError,
    "The jacobian of the user-provided function is independent of input 0. This is not allowed in "
    "strict mode when create_graph=True.",
)
def _(t):
    f = sub(t, "autograd.functional")
    f.vjp(lambda x: x.sum(), leaf(t), t.ones(()), create_graph=True, strict=True)


@error(
    "E80",
    RuntimeError,
    "While computing the hessian, found that the jacobian of the user-provided function with "
    "respect to input 0 is independent of the input. This is not allowed in strict mode.",
)
def _(t):
    sub(t, "autograd.functional").hessian(lambda x: x.sum(), leaf(t), strict=True)


# ---- function transforms


@error(
    "E81",
    RuntimeError,
    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with 1 "
    "dims. Maybe you wanted to use the vjp or jacrev APIs instead?",
)
def _(t):
    sub(t, "func").grad(lambda x: x * 2)(t.ones(3))


@error(
    "E82",
    RuntimeError,
    "grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got <class 'int'>",
)
def _(t):
    sub(t, "func").grad_and_value(lambda x: 3)(t.ones(3))


@error("E83", RuntimeError, "Got argnum=2, but only 1 positional inputs")
def _(t):
    sub(t, "func").grad(lambda x: x.sum(), argnums=2)(t.ones(3))


@error(
    "E84",
    RuntimeError,
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling "
    ".item() on a Tensor, please try to rewrite what you're doing with other operations.",
)
def _(t):
    sub(t, "func").vmap(lambda x: x * x.sum().item())(t.ones(3, 2))


@error(
    "E85",
    RuntimeError,
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow.",
)
def _(t):
    sub(t, "func").vmap(lambda x: x if x.sum() > 0 else -x)(t.ones(3, 2))


@error(
    "E86",
    RuntimeError,
    "vmap: called random operation while in randomness error mode. Please either use the 'same' "
    "or 'different' randomness flags on vmap or perform the randomness operation out of vmap",
)
def _(t):
    sub(t, "func").vmap(lambda x: x + t.rand(2))(t.ones(3, 2))


@error(
    "E87",
    ValueError,
    "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes [3, 4] "
    "for the mapped dimension",
)
def _(t):
    sub(t, "func").vmap(lambda x, y: x + y)(t.ones(3, 2), t.ones(4, 2))


@error(
    "E88",
    ValueError,
    "vmap(<lambda>, ...): `<lambda>` must only return Tensors, got type <class 'int'>. Did you "
    "mean to set out_dims= to None for output?",
)
def _(t):
    sub(t, "func").vmap(lambda x: 3)(t.ones(3, 2))


@error(
    "E89",
    ValueError,
    "vmap(<lambda>)(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying "
    "to vmap over a function with no inputs. The latter is unsupported.",
)
def _(t):
    sub(t, "func").vmap(lambda: t.ones(2))()


# ---- forward mode


@error(
    "E90",
    RuntimeError,
    "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
    "enter_dual_level() first.",
)
def _(t):
    sub(t, "autograd.forward_ad").make_dual(t.ones(2), t.ones(2))


@error("E91", RuntimeError, "Nested forward mode AD is not supported at the moment")
def _(t):
    forward_ad = sub(t, "autograd.forward_ad")
    with forward_ad.dual_level(), forward_ad.dual_level():
        pass


@error(
    "E92",
    RuntimeError,
    "Trying to set a forward gradient that has a different size than that of the original Tensor, "
    "this is not supported. Tensor is of size [2] while the given forward gradient is of size [3].",
)
def _(t):
    forward_ad = sub(t, "autograd.forward_ad")
    with forward_ad.dual_level():
        forward_ad.make_dual(t.ones(2), t.ones(3))


@error(
    "E93",
    ValueError,
    "Expected primal to be floating point or complex, but got: torch.int64",
)
def _(t):
    forward_ad = sub(t, "autograd.forward_ad")
    with forward_ad.dual_level():
        forward_ad.make_dual(t.ones(2, dtype=t.int64), t.ones(2))


@error(
    "E93",
    ValueError,
    "Expected tangent to be floating point or complex, but got: torch.int64",
)
def _(t):
    forward_ad = sub(t, "autograd.forward_ad")
    with forward_ad.dual_level():
        forward_ad.make_dual(t.ones(2), t.ones(2, dtype=t.int64))


def in_forward_mode(t, program, *shape):
    """The tangent of program(x), x all ones with a tangent of ones."""
    forward_ad = sub(t, "autograd.forward_ad")
    with forward_ad.dual_level():
        x = forward_ad.make_dual(t.ones(*shape), t.ones(*shape))
        return forward_ad.unpack_dual(program(x)).tangent


@error(
    "E94",
    NotImplementedError,
    "Trying to use forward AD with _embedding_bag that does not support it because it has not "
    "been implemented yet.",
    better="every op that has a derivative has it forwards too",
    gives=[[1.0, 1.0]],
)
def _(t):
    bag = sub(t, "nn.functional").embedding_bag
    return in_forward_mode(t, lambda w: bag(t.tensor([[0, 1]]), w), 3, 2)


@error(
    "E94",
    NotImplementedError,
    "Trying to use forward AD with special_zeta that does not support it because it has not been "
    "implemented yet.",
)
def _(t):
    in_forward_mode(t, lambda x: sub(t, "special").zeta(x + 1, 2.0), 2)


@error(
    "E94",
    NotImplementedError,
    "Trying to use forward AD with _unique2 that does not support it because it has not been "
    "implemented yet.",
)
def _(t):
    in_forward_mode(t, t.unique, 2)


@error(
    "E94 aten",
    NotImplementedError,
    "Trying to use forward AD with aten::floor_divide that does not support it.",
)
def _(t):
    in_forward_mode(t, lambda x: x // 2, 2)


@error(
    "E95",
    NotImplementedError,
    "Trying to use forward AD with add_out that does not support it because it is an out= function",
)
def _(t):
    in_forward_mode(t, lambda x: t.add(x, 1, out=t.ones(2)), 2)


@error(
    "E95",
    NotImplementedError,
    "Trying to use forward AD with clamp_out that does not support it because it is an out= "
    "function",
)
def _(t):
    in_forward_mode(t, lambda x: t.clamp(x, 0, 1, out=t.ones(2)), 2)
