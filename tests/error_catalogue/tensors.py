"""requires_grad, .grad, hooks, grad() and inference mode: E16 to E49."""

import copy

from .registry import error, leaf, sub

# ---- requires_grad, .grad, hooks, tensors


@error("E16", RuntimeError, "only Tensors of floating point dtype can require gradients")
def _(t):
    t.ones(3, dtype=t.int64).requires_grad_()


@error(
    "E17", RuntimeError, "Only Tensors of floating point and complex dtype can require gradients"
)
def _(t):
    t.tensor([1, 2], requires_grad=True)


@error(
    "E18",
    RuntimeError,
    "you can only change requires_grad flags of leaf variables. If you want to use a computed "
    "variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach().",
)
def _(t):
    (leaf(t) * 2).requires_grad_(False)


@error(
    "E18",
    RuntimeError,
    "you can only change requires_grad flags of leaf variables. If you want to use a computed "
    "variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach().",
)
def _(t):
    (leaf(t) * 2).requires_grad = False


@error("E19", RuntimeError, "you can only change requires_grad flags of leaf variables.")
def _(t):
    (leaf(t) * 2).requires_grad = True


@error("E20", TypeError, "assigned grad expected to be a Tensor or None but got grad of type str")
def _(t):
    leaf(t).grad = "a"


@error("E21", RuntimeError, "can't assign Variable as its own grad")
def _(t):
    x = leaf(t)
    x.grad = x


@error(
    "E22",
    RuntimeError,
    "attempting to assign a gradient of size '[4]' to a tensor of size '[3]'. Please ensure that "
    "the gradient and the tensor are the same size",
)
def _(t):
    leaf(t).grad = t.ones(4)


@error(
    "E23",
    RuntimeError,
    "attempting to assign a gradient with dtype 'double' to a tensor with grad_dtype 'Float'. The "
    "gradient must match the tensor's grad_dtype (defaults to the tensor's dtype).",
)
def _(t):
    leaf(t).grad = t.ones(3, dtype=t.float64)


@error(
    "E25",
    RuntimeError,
    "Cannot set grad_dtype to 'Half' because there is already a gradient with dtype 'float'. "
    "Please clear the gradient (.grad = None) before changing grad_dtype, or ensure the new "
    "grad_dtype matches the existing gradient's dtype.",
)
def _(t):
    x = leaf(t)
    x.grad = t.ones(3)
    x.grad_dtype = t.float16


@error("E26", RuntimeError, "can't retain_grad on Tensor that has requires_grad=False")
def _(t):
    t.ones(3).retain_grad()


@error("E27", RuntimeError, "cannot register a hook on a tensor that doesn't require gradient")
def _(t):
    t.ones(3).register_hook(lambda g: g)


@error("E28", RuntimeError, "hook '<lambda>' has changed the size of value")
def _(t):
    x = leaf(t)
    x.register_hook(lambda g: g[:2])
    x.sum().backward()


@error("E29", TypeError, "expected Variable, but hook returned 'int'")
def _(t):
    x = leaf(t)
    x.register_hook(lambda g: 3)
    x.sum().backward()


@error(
    "E30",
    RuntimeError,
    "hook '<lambda>' has changed the type of value (was torch.FloatTensor got torch.DoubleTensor)",
)
def _(t):
    x = leaf(t)
    x.register_hook(lambda g: g.double())
    x.sum().backward()


@error(
    "E30 node",
    RuntimeError,
    "hook '<lambda>' has returned an incorrect number of values (got 1, but expected 2)",
)
def _(t):
    y = leaf(t) * leaf(t)
    y.grad_fn.register_hook(lambda i, o: i[:1])
    y.sum().backward()


@error("E31", RuntimeError, "post accumulate grad hooks cannot be registered on non-leaf tensors")
def _(t):
    (leaf(t) * 2).register_post_accumulate_grad_hook(lambda x: None)


@error("E32", RuntimeError, "Tensor post accumulate grad hooks should return None.")
def _(t):
    x = leaf(t)
    x.register_post_accumulate_grad_hook(lambda x: x * 2)
    x.sum().backward()


@error("E33", RuntimeError, "Can't detach views in-place. Use detach() instead.")
def _(t):
    (leaf(t) * 1).view(3).detach_()


@error(
    "E34",
    RuntimeError,
    "data set to a tensor that requires gradients must be floating point or complex dtype",
)
def _(t):
    leaf(t).data = t.ones(3, dtype=t.int64)


@error(
    "E35",
    RuntimeError,
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is "
    "not supported, please use out-of-place `.detach()` instead",
)
def _(t):
    y = leaf(t) * 2
    z = y.sin()
    y.detach_()
    z.sum().backward()


@error(
    "E36",
    RuntimeError,
    "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
)
def _(t):
    leaf(t).numpy()


@error(
    "E37",
    RuntimeError,
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at "
    "the moment.  If you were attempting to deepcopy a module, this may be because of a "
    "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001",
)
def _(t):
    copy.deepcopy(leaf(t) * 2)


@error(
    "E38",
    RuntimeError,
    "add(): functions with out=... arguments don't support automatic differentiation, but one of "
    "the arguments requires grad.",
)
def _(t):
    t.add(leaf(t), 1, out=t.empty(3))


# ---- grad()


@error("E39", RuntimeError, "One of the differentiated Tensors does not require grad")
def _(t):
    t.autograd.grad(leaf(t).sum(), t.ones(3))


@error(
    "E40",
    RuntimeError,
    "The differentiated Tensor at index 0 appears to not have been used in the graph. Set "
    "allow_unused=True if this is the desired behavior.",
)
def _(t):
    t.autograd.grad(leaf(t).sum(), leaf(t))


@error(
    "E41",
    ValueError,
    "Expected allow_unused to be True or not passed when materialize_grads=True, "
    "but got: allow_unused=False.",
)
def _(t):
    x = leaf(t)
    t.autograd.grad(x.sum(), x, allow_unused=False, materialize_grads=True)


@error(
    "E42",
    RuntimeError,
    "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the "
    "batch dimension. The sizes of the remaining dimensions are expected to match the shape of "
    "corresponding output, but a mismatch was detected: grad_output[0] has a shape of "
    "torch.Size([]) and output[0] has a shape of torch.Size([3]).",
)
def _(t):
    x = leaf(t)
    t.autograd.grad(x * 2, x, t.ones(3), is_grads_batched=True)


@error("E43", NotImplementedError, "the derivative for '_unique2' is not implemented.")
def _(t):
    t.unique(leaf(t)).sum().backward()


@error("E43 aten", RuntimeError, "derivative for aten::floor_divide is not implemented")
def _(t):
    y = leaf(t) // 2
    assert repr(y) == "tensor([0., 0., 0.], grad_fn=<NotImplemented>)"
    y.sum().backward()


@error(
    "E43 twice",
    RuntimeError,
    "derivative for aten::hardsigmoid_backward is not implemented",
    better="every op that has a derivative has a second one",
    gives=[2 / 36, 2 / 36],  # hardsigmoid is x / 6 + 1 / 2 here, of which this is the square
)
def _(t):
    x = t.zeros(2, requires_grad=True)
    y = sub(t, "nn.functional").hardsigmoid(x) ** 2
    (g,) = t.autograd.grad(y.sum(), x, create_graph=True)
    return t.autograd.grad(g.sum(), x)[0]


@error(
    "E44",
    RuntimeError,
    "It is not possible to get the gradient edge for a Tensor that does not require gradients",
)
def _(t):
    t.autograd.graph.get_gradient_edge(t.ones(3))


@error(
    "E45", RuntimeError, "materialize_grads cannot be used when the given input is a GradientEdge"
)
def _(t):
    edge = t.autograd.graph.get_gradient_edge(leaf(t))
    t.autograd.grad(leaf(t).sum(), edge, materialize_grads=True)


# ---- inference mode


@error(
    "E46",
    RuntimeError,
    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.",
)
def _(t):
    with t.inference_mode():
        x = t.ones(3)
    x.requires_grad_()


@error("E47", RuntimeError, "Inference tensors do not track version counter.")
def _(t):
    with t.inference_mode():
        x = t.ones(3)
    _ = x._version


@error(
    "E48",
    RuntimeError,
    "A view was created in inference mode and is being modified inplace in normal mode. Given "
    "that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code "
    "by moving both the view and the inplace either both inside the inference_mode block (if you "
    "don't want the inplace to be tracked) or both outside (if you want the inplace "
    "to be tracked).",
)
def _(t):
    x = leaf(t) * 1
    with t.inference_mode():
        v = x.view(3)
    v.mul_(2)


@error(
    "E49",
    RuntimeError,
    "A view was created in inference mode and its base or another view of its base has been "
    "modified inplace in normal mode. Given that this use case is ambiguous and error-prone, it "
    "is forbidden.",
)
def _(t):
    x = leaf(t) * 1
    with t.inference_mode():
        v = x.view(3)
    x.mul_(2)
    _ = v.grad_fn
