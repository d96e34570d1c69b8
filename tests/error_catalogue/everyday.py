"""What everybody meets: shapes, dtypes, optimizers, and the warnings W1, W2, W4, W5."""

import weakref

from .registry import CASES, Case, leaf, sub, warning

# ---- everyday shape and dtype errors

EVERYDAY = [
    (
        "matmul shapes",
        RuntimeError,
        "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)",
        lambda t: t.ones(2, 3) @ t.ones(2, 3),
    ),
    (
        "broadcast",
        RuntimeError,
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1",
        lambda t: t.ones(2, 3) + t.ones(2, 4),
    ),
    (
        "matmul dtypes",
        RuntimeError,
        "expected m1 and m2 to have the same dtype, but got: float != double",
        lambda t: t.ones(2, 2) @ t.ones(2, 2, dtype=t.float64),
    ),
    (
        "view",
        RuntimeError,
        "view size is not compatible with input tensor's size and stride (at least one dimension "
        "spans across two contiguous subspaces). Use .reshape(...) instead.",
        lambda t: t.ones(2, 3).t().view(6),
    ),
    (
        "reshape",
        RuntimeError,
        "shape '[4, 2]' is invalid for input of size 6",
        lambda t: t.ones(6).view(4, 2),
    ),
    (
        "index",
        IndexError,
        "index 5 is out of bounds for dimension 0 with size 3",
        lambda t: t.ones(3)[5],
    ),
    (
        "dimension",
        IndexError,
        "Dimension out of range (expected to be in range of [-1, 0], but got 5)",
        lambda t: t.ones(3).sum(5),
    ),
    (
        "ambiguous bool",
        RuntimeError,
        "Boolean value of Tensor with more than one value is ambiguous",
        lambda t: bool(t.ones(3)),
    ),
    (
        "item",
        RuntimeError,
        "a Tensor with 3 elements cannot be converted to Scalar",
        lambda t: t.ones(3).item(),
    ),
    ("iteration", TypeError, "iteration over a 0-d tensor", lambda t: list(t.ones(()))),
    (
        "cast",
        RuntimeError,
        "result type Float can't be cast to the desired output type Long",
        lambda t: t.ones(3, dtype=t.int64).add_(1.5),
    ),
    (
        "output shape",
        RuntimeError,
        "output with shape [3] doesn't match the broadcast shape [2, 3]",
        lambda t: t.ones(3).add_(t.ones(2, 3)),
    ),
    (
        "optimizer leaf",
        ValueError,
        "can't optimize a non-leaf Tensor",
        lambda t: sub(t, "optim").SGD([leaf(t) * 2], lr=0.1),
    ),
    (
        "optimizer empty",
        ValueError,
        "optimizer got an empty parameter list",
        lambda t: sub(t, "optim").SGD([], lr=0.1),
    ),
    (
        "cat",
        RuntimeError,
        "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 for "
        "tensor number 1 in the list.",
        lambda t: t.cat([t.ones(2, 3), t.ones(2, 4)]),
    ),
    (
        "grad_fn",
        AttributeError,
        "attribute 'grad_fn' of 'torch._C.TensorBase' objects is not writable",
        lambda t: setattr(t.ones(3), "grad_fn", None),
    ),
    (
        "saved name",
        AttributeError,
        "'MulBackward0' object has no attribute '_saved_nothing'",
        lambda t: (leaf(t) * 2).grad_fn._saved_nothing,
    ),
    (
        "node arguments",
        TypeError,
        "expected 1 arguments, got 2 instead",
        lambda t: (leaf(t) * 2).grad_fn(t.ones(3), t.ones(3)),
    ),
    (
        "node weakref",
        TypeError,
        "cannot create weak reference to 'MulBackward0' object",
        lambda t: weakref.ref((leaf(t) * 2).grad_fn),
    ),
    (
        "queue_callback",
        RuntimeError,
        "Final callbacks can only be installed during backward pass.",
        lambda t: t.autograd.Variable._execution_engine.queue_callback(print),
    ),
]
for _name, _kind, _text, _run in EVERYDAY:
    CASES.append(Case(_name, "error", _kind, _text, _run))


# ---- warnings


@warning(
    "W1",
    UserWarning,
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
    "attribute won't be populated during autograd.backward(). If you indeed want the .grad field "
    "to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you "
    "access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead. See "
    "github.com/pytorch/pytorch/pull/30531 for more information.",
)
def _(t):
    _ = (leaf(t) * 2).grad


@warning(
    "W2",
    UserWarning,
    "Using backward() with create_graph=True will create a reference cycle between the parameter "
    "and its gradient which can cause a memory leak. We recommend using autograd.grad when "
    "creating the graph to avoid this. If you have to use this function, make sure to reset the "
    ".grad fields of your parameters to None after use to break the cycle and avoid the leak.",
)
def _(t):
    x = leaf(t)
    x.pow(2).sum().backward(create_graph=True)
    x.grad = None


@warning(
    "W4",
    UserWarning,
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
    "behavior.\nConsider using tensor.detach() first.",
)
def _(t):
    float(leaf(t).sum())


@warning(
    "W5",
    FutureWarning,
    "Decorating classes is deprecated and will be disabled in future versions. You should only "
    "decorate functions or methods. To preserve the current behavior of class decoration, you can "
    "directly decorate the `__init__` method and nothing else.",
)
def _(t):
    t.no_grad()(type("C", (), {}))


@warning(
    "target size",
    UserWarning,
    "Using a target size (torch.Size([3, 1])) that is different to the input size "
    "(torch.Size([3])). This will likely lead to incorrect results due to broadcasting. Please "
    "ensure they have the same size.",
)
def _(t):
    sub(t, "nn.functional").mse_loss(t.ones(3), t.ones(3, 1))


@warning(
    "only_inputs",
    FutureWarning,
    "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate "
    "gradient for other parts of the graph, please use torch.autograd.backward.",
)
def _(t):
    x = leaf(t)
    t.autograd.grad(x.sum(), x, only_inputs=False)
