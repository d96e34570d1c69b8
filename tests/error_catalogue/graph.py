"""Roots and shapes, in-place writes and views: E1 to E15."""

import collections

from .registry import FREED, error, function, leaf

# ---- roots and shapes


@error("E1", RuntimeError, "grad can be implicitly created only for scalar outputs")
def _(t):
    (leaf(t) * 2).backward()


@error(
    "E2",
    RuntimeError,
    "grad can be implicitly created only for real scalar outputs but got torch.complex64",
)
def _(t):
    leaf(t, 1, dtype=t.complex64).sum().backward()


@error("E3", RuntimeError, "element 0 of tensors does not require grad and does not have a grad_fn")
def _(t):
    t.ones(()).backward()


@error(
    "E4",
    RuntimeError,
    "Mismatch in shape: grad_output[0] has a shape of torch.Size([4]) and output[0] has a shape "
    "of torch.Size([3]).",
)
def _(t):
    (leaf(t) * 2).backward(t.ones(4))


@error("E5 type", TypeError, "gradients can be either Tensors or None, but got str")
def _(t):
    t.autograd.backward([leaf(t) * 2], ["a"])


@error(
    "E5 dtype",
    RuntimeError,
    "For complex Tensors, both grad_output and output are required to have the same dtype. "
    "Mismatch in dtype: grad_output[0] has a dtype of torch.complex64 and output[0] has a dtype "
    "of torch.float32.",
)
def _(t):
    (leaf(t) * 2).backward(t.ones(3, dtype=t.complex64))


@error(
    "E5 number",
    TypeError,
    "'float' object is not iterable",
    better="a number is a gradient of one element",
    gives=[3.0],
)
def _(t):
    x = leaf(t, 1)
    (x * 2).sum().backward(1.5)
    return x.grad


@error(
    "E5 list",
    TypeError,
    "gradients can be either Tensors or None, but got float",
    better="a list of numbers is a gradient",
    gives=[2.0, 4.0],
)
def _(t):
    x = leaf(t, 2)
    (x * 2).backward([1.0, 2.0])
    return x.grad


@error(
    "E5 surplus",
    RuntimeError,
    "got 1 tensors and 2 gradients",
    stricter="a gradient without an output of its own is a mistake, not something to drop",
)
def _(t):
    t.autograd.backward([leaf(t).sum()], [t.ones(()), t.ones(())])


@error("E6 backward", RuntimeError, "`inputs` argument to `backward()` cannot be empty.")
def _(t):
    leaf(t).sum().backward(inputs=[])


@error("E6 grad", RuntimeError, "`inputs` argument to `grad()` cannot be empty.")
def _(t):
    t.autograd.grad(leaf(t).sum(), [])


@error("E6 no grad", RuntimeError, "can't retain_grad on Tensor that has requires_grad=False")
def _(t):
    leaf(t).sum().backward(inputs=[t.ones(3)])


@error(
    "E6 mapping",
    TypeError,
    "`inputs` argument to `grad()` must be a dict, not OrderedDict. Other Mapping types "
    "are not supported.",
)
def _(t):
    x = leaf(t)
    t.autograd.grad(x.sum(), collections.OrderedDict(a=x))


@error("E7", RuntimeError, FREED)
def _(t):
    y = leaf(t).exp().sum()
    y.backward()
    y.backward()


@error("E7", RuntimeError, FREED)
def _(t):
    y = leaf(t).exp()
    y.sum().backward()
    _ = y.grad_fn._saved_result


# ---- in-place and views


@error(
    "E8", RuntimeError, "a leaf Variable that requires grad is being used in an in-place operation."
)
def _(t):
    leaf(t).add_(1)


@error(
    "E8", RuntimeError, "a leaf Variable that requires grad is being used in an in-place operation."
)
def _(t):
    leaf(t).zero_()


@error(
    "E9",
    RuntimeError,
    "a view of a leaf Variable that requires grad is being used in an in-place operation.",
)
def _(t):
    leaf(t)[0] = 1


@error(
    "E9",
    RuntimeError,
    "a view of a leaf Variable that requires grad is being used in an in-place operation.",
)
def _(t):
    leaf(t).view(3)[1:].mul_(2)


@error(
    "E10",
    RuntimeError,
    "Output 0 of Split is a view and is being modified inplace. This view is the output of a "
    "function that returns multiple views. Such functions do not allow the output views to be "
    "modified inplace. You should replace the inplace operation by an out-of-place one.",
)
def _(t):
    (leaf(t, 4) * 1).split(2)[0].mul_(2)


@error(
    "E10",
    RuntimeError,
    "Output 1 of Unbind is a view and is being modified inplace. This view is the output of a "
    "function that returns multiple views. ",
)
def _(t):
    (leaf(t, 2, 2) * 1).unbind()[1].mul_(2)


@error(
    "E11",
    RuntimeError,
    "A view was created in no_grad mode and is being modified inplace with grad mode enabled. "
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the no_grad block (if you "
    "don't want the inplace to be tracked) or both outside (if you want the inplace "
    "to be tracked).",
)
def _(t):
    x = leaf(t) * 1
    with t.no_grad():
        v = x.view(3)
    v.mul_(2)


@error(
    "E11 view of view",
    RuntimeError,
    "Output 0 of View is a view of a view which was created in no_grad mode and is being modified "
    "inplace with grad mode enabled. Given that this use case is ambiguous and error-prone, "
    "it is forbidden.",
)
def _(t):
    x = leaf(t) * 1
    with t.no_grad():
        v = x.view(3)
    v.view(3).mul_(2)


@error(
    "E12",
    RuntimeError,
    "Output 0 of F is a view and is being modified inplace. This view was created inside a custom "
    "Function (or because an input was returned as-is) and the autograd logic to handle "
    "view+inplace would override the custom backward associated with the custom Function, leading "
    "to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output "
    "of the custom Function.",
)
def _(t):
    function(t, lambda ctx, x: x.view(3), lambda ctx, g: g).apply(leaf(t) * 1).mul_(2)


@error("E12", RuntimeError, "Output 0 of F is a view and is being modified inplace.")
def _(t):
    function(t, lambda ctx, x: x, lambda ctx, g: g).apply(leaf(t) * 1).mul_(2)


@error(
    "E13",
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace "
    "operation: [torch.FloatTensor [3]], which is output 0 of Exp, is at version 1; expected "
    "version 0 instead.",
)
def _(t):
    y = leaf(t).exp()
    z = y * y
    with t.no_grad():
        y.add_(1)
    z.sum().backward()


@error(
    "E13",
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace "
    "operation: [torch.FloatTensor [3]] is at version 1; expected version 0 instead.",
)
def _(t):
    w = t.ones(3)
    z = leaf(t) * w
    w.add_(1)
    z.sum().backward()


@error(
    "E14", RuntimeError, "Inplace update to inference tensor outside InferenceMode is not allowed."
)
def _(t):
    with t.inference_mode():
        x = t.ones(3)
    x.add_(1)


@error(
    "E15",
    RuntimeError,
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
    "inference mode in computation tracked by autograd.",
)
def _(t):
    with t.inference_mode():
        x = t.ones(3)
    leaf(t) * x


@error(
    "overlap",
    RuntimeError,
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location. Please clone() the tensor before performing the operation.",
)
def _(t):
    t.ones(1).expand(3).add_(1)
