"""Every error and warning of autograd that programs and people match on:
its type and its first sentence.

Each case is plain torch API. It is run on the library under test and, where PyTorch is installed,
on PyTorch too; the texts below are PyTorch's own. The last test prints how many of the catalogue's
numbers have a case (E60 to E62 and E81 to E95, which belong to function transforms and forward
mode, have their own file; E24 needs a second device).
"""

import collections
import copy
import importlib
import re
import warnings

import pytest

from _subject import NAME, torch

CASES = []


def error(number, kind, text):
    """A case: the function raises `kind` with a message that starts with `text`."""

    def add(function):
        CASES.append((number, "error", kind, text, function))
        return function

    return add


def warning(number, kind, text):
    """A case: the function warns with `kind` and a message that starts with `text`."""

    def add(function):
        CASES.append((number, "warning", kind, text, function))
        return function

    return add


def leaf(t, *shape, **options):
    return t.ones(*(shape or (3,)), requires_grad=True, **options)


def sub(t, path):
    return importlib.import_module(f"{t.__name__}.{path}")


# ---- roots and shapes

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad()."
)


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


@error("E5", TypeError, "gradients can be either Tensors or None, but got str")
def _(t):
    t.autograd.backward([leaf(t) * 2], ["a"])


@error(
    "E5",
    RuntimeError,
    "For complex Tensors, both grad_output and output are required to have the same dtype. "
    "Mismatch in dtype: grad_output[0] has a dtype of torch.complex64 and output[0] has a dtype "
    "of torch.float32.",
)
def _(t):
    (leaf(t) * 2).backward(t.ones(3, dtype=t.complex64))


@error("E6", RuntimeError, "`inputs` argument to `backward()` cannot be empty.")
def _(t):
    leaf(t).sum().backward(inputs=[])


@error("E6", RuntimeError, "can't retain_grad on Tensor that has requires_grad=False")
def _(t):
    leaf(t).sum().backward(inputs=[t.ones(3)])


@error(
    "E6",
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
    "E11",
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


def function(t, forward, backward=None, name="F", **more):
    """A custom Function of the library `t`."""
    members = {"forward": staticmethod(forward), **more}
    if backward is not None:
        members["backward"] = staticmethod(backward)
    return type(name, (t.autograd.Function,), members)


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
    "E30",
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


@error("E43", RuntimeError, "derivative for aten::floor_divide is not implemented")
def _(t):
    (leaf(t) // 2).sum().backward()


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


# ---- custom functions


@error(
    "E50",
    RuntimeError,
    "function FBackward returned an incorrect number of gradients (expected 2, got 1)",
)
def _(t):
    function(t, lambda ctx, x, y: x * y, lambda ctx, g: g).apply(leaf(t), leaf(t)).sum().backward()


@error(
    "E51",
    RuntimeError,
    "Function FBackward returned an invalid gradient at index 0 - got [7] but expected shape "
    "compatible with [3]",
)
def _(t):
    function(t, lambda ctx, x: x * 1, lambda ctx, g: t.ones(7)).apply(leaf(t)).sum().backward()


@error("E52", RuntimeError, "expected Variable or None (got float)")
def _(t):
    function(t, lambda ctx, x: x * 1, lambda ctx, g: 1.0).apply(leaf(t)).sum().backward()


@error(
    "E53",
    RuntimeError,
    "function FBackward returned a gradient different than None at position 2, but the "
    "corresponding forward input was not a Variable",
)
def _(t):
    function(t, lambda ctx, x, k: x * k, lambda ctx, g: (g, g)).apply(leaf(t), 2).sum().backward()


@error("E54", TypeError, "save_for_backward can only save variables, but argument 0 is of type int")
def _(t):
    def forward(ctx, x):
        ctx.save_for_backward(3)
        return x * 1

    function(t, forward, lambda ctx, g: g).apply(leaf(t))


def dirty(t, *, mark, give, backward=lambda ctx, g: g):
    def forward(ctx, x):
        ctx.mark_dirty(*mark(x))
        return give(x)

    return function(t, forward, backward)


@error(
    "E55",
    RuntimeError,
    "Some elements marked as dirty during the forward method were not returned as output. The "
    "inputs that are modified inplace must all be outputs of the Function.",
)
def _(t):
    dirty(t, mark=lambda x: (x,), give=lambda x: x * 1).apply(leaf(t) * 1)


@error("E56", RuntimeError, "mark_dirty can only accept variables, but argument ")
def _(t):
    dirty(t, mark=lambda x: (3,), give=lambda x: x * 1).apply(leaf(t) * 1)


@error("E56", RuntimeError, "mark_non_differentiable only accepts variable arguments, but got ")
def _(t):
    def forward(ctx, x):
        ctx.mark_non_differentiable(3)
        return x * 1

    function(t, forward, lambda ctx, g: g).apply(leaf(t))


@warning(
    "E57",
    UserWarning,
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been "
    "mutated should be passed to ctx.mark_dirty().",
)
def _(t):
    def forward(ctx, x):
        y = x * 1
        ctx.mark_dirty(y)
        return y

    function(t, forward, lambda ctx, g: g).apply(leaf(t))


@error(
    "E58",
    RuntimeError,
    "If your Function modifies inplace an input that is a view of another Tensor, your Function "
    "cannot return more than one Tensor.",
)
def _(t):
    x = (leaf(t) * 1).view(3)
    dirty(
        t, mark=lambda x: (x.mul_(2),), give=lambda x: (x, x * 2), backward=lambda ctx, g, h: g
    ).apply(x)


@error(
    "E8", RuntimeError, "a leaf Variable that requires grad has been used in an in-place operation."
)
def _(t):
    dirty(t, mark=lambda x: (x.mul_(2),), give=lambda x: x).apply(leaf(t))


@error(
    "Function",
    NotImplementedError,
    "You must implement the forward function for custom autograd.Function.",
)
def _(t):
    type("F", (t.autograd.Function,), {}).apply(leaf(t))


@error(
    "Function",
    NotImplementedError,
    "You must implement either the backward or vjp method for your custom autograd.Function to "
    "use it with backward mode AD.",
)
def _(t):
    function(t, lambda ctx, x: x * 1).apply(leaf(t)).sum().backward()


@error(
    "Function",
    RuntimeError,
    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
    "implement one of them.",
)
def _(t):
    both = function(t, lambda ctx, x: x * 1, lambda ctx, g: g, vjp=staticmethod(lambda ctx, g: g))
    both.apply(leaf(t)).sum().backward()


@error(
    "Function",
    RuntimeError,
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style "
    "autograd function with static forward "
    "method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)",
)
def _(t):
    function(t, lambda ctx, x: x * 1, lambda ctx, g: g)()(leaf(t))


@warning(
    "Function",
    DeprecationWarning,
    "<class 'test_error_catalogue.F'> should not be instantiated. Methods on autograd functions "
    "are all static, so you should invoke them on the class itself. Instantiating an autograd "
    "function will raise an error in a future version of PyTorch.",
)
def _(t):
    function(t, lambda ctx, x: x * 1, lambda ctx, g: g, __module__="test_error_catalogue")()


@error(
    "Function",
    RuntimeError,
    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on "
    "the autograd.Function. Either access saved_tensors only once, "
    "or set clear_saved_tensors_on_access=False.",
)
def _(t):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 1

    def backward(ctx, g):
        return ctx.saved_tensors[0] * ctx.saved_tensors[0]

    function(t, forward, backward, clear_saved_tensors_on_access=True).apply(
        leaf(t)
    ).sum().backward()


@error(
    "Function",
    RuntimeError,
    "trying to differentiate twice a function that was marked with @once_differentiable",
)
def _(t):
    once = t.autograd.function.once_differentiable(lambda ctx, g: g * 2)
    x = leaf(t)
    y = function(t, lambda ctx, x: x * 2, once).apply(x)
    (g,) = t.autograd.grad(y.pow(2).sum(), x, create_graph=True)
    g.sum().backward()


@error("E7", RuntimeError, FREED)
def _(t):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 1

    y = function(t, forward, lambda ctx, g: ctx.saved_tensors[0] * g).apply(leaf(t)).sum()
    y.backward()
    y.backward()


# ---- saved-tensor hooks


@error(
    "E63",
    RuntimeError,
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack "
    "hook cannot be modified by in-place operations as this can lead to unexpected side-effects. "
    "Please open an issue if you need to perform in-place operations on the input to a pack hook.",
)
def _(t):
    with t.autograd.graph.saved_tensors_hooks(lambda x: x.add_(1), lambda x: x):
        leaf(t).sin()


@error(
    "E64",
    TypeError,
    "Output of saved tensor unpack_hook expected to be a Tensor but got result of type int",
)
def _(t):
    with t.autograd.graph.saved_tensors_hooks(lambda x: 3, lambda x: x):
        y = leaf(t).sin()
    y.sum().backward()


@error(
    "hooks",
    RuntimeError,
    "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one "
    "pair of hooks is allowed at a time.",
)
def _(t):
    y = leaf(t).sin()
    saved = y.grad_fn._raw_saved_self
    saved.register_hooks(lambda x: x, lambda x: x)
    saved.register_hooks(lambda x: x, lambda x: x)


@error("hooks", RuntimeError, "Trying to create a SavedTensor object from Python is forbidden.")
def _(t):
    y = leaf(t).sin()
    type(y.grad_fn._raw_saved_self)()


@error("hooks", RuntimeError, "not here")
def _(t):
    graph = t.autograd.graph
    with (
        graph.disable_saved_tensors_hooks("not here"),
        graph.saved_tensors_hooks(lambda x: x, lambda x: x),
    ):
        pass


@error("E65", ValueError, "Expects mode to be one of ('all', 'any') but got foo")
def _(t):
    t.autograd.graph.register_multi_grad_hook((leaf(t),), lambda g: None, mode="foo")


@error("hooks", RuntimeError, "allow_mutation_on_saved_tensors contexts cannot be nested")
def _(t):
    graph = t.autograd.graph
    with graph.allow_mutation_on_saved_tensors(), graph.allow_mutation_on_saved_tensors():
        pass


@error(
    "hooks",
    AssertionError,
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the "
    "graph was originally recorded.",
)
def _(t):
    with t.autograd.graph.allow_mutation_on_saved_tensors():
        y = leaf(t).sin()
    y.sum().backward()


# ---- checkpoint


def changing(first, later):
    calls = []

    def run(x):
        calls.append(0)
        return first(x) if len(calls) == 1 else later(x)

    return run


@error(
    "E66",
    RuntimeError,
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an "
    "`inputs` parameter to .backward(). To resolve this error, you can either set "
    "use_reentrant=False, or call .backward() without passing the `inputs` argument.",
)
def _(t):
    x = leaf(t)
    y = sub(t, "utils.checkpoint").checkpoint(t.sin, x, use_reentrant=True)
    t.autograd.grad(y.sum(), x)


@error(
    "E67",
    "CheckpointError",
    "torch.utils.checkpoint: A different number of tensors was saved during the original forward "
    "and recomputation.\nNumber of tensors saved during forward: 3\nNumber of tensors saved "
    "during recomputation: 0.",
)
def _(t):
    run = changing(lambda x: x.sin().exp().cos(), lambda x: x + 1)
    sub(t, "utils.checkpoint").checkpoint(run, leaf(t), use_reentrant=False).sum().backward()


@error(
    "E67",
    "CheckpointError",
    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the "
    "original forward pass.",
)
def _(t):
    run = changing(lambda x: x.sin(), lambda x: x.sin().exp())
    y = sub(t, "utils.checkpoint").checkpoint(run, leaf(t), use_reentrant=False, early_stop=False)
    y.sum().backward()


@error(
    "E68",
    "CheckpointError",
    "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata "
    "than during the forward pass.\ntensor at position 1:\nsaved metadata: {'shape': "
    "torch.Size([3]), 'dtype': torch.float32, 'device': device(type='cpu')}\nrecomputed metadata: "
    "{'shape': torch.Size([1]), 'dtype': torch.float32, 'device': device(type='cpu')}\n.",
)
def _(t):
    run = changing(lambda x: x.sin().exp(), lambda x: x.sin()[:1].exp())
    sub(t, "utils.checkpoint").checkpoint(run, leaf(t), use_reentrant=False).sum().backward()


@error(
    "E69",
    "CheckpointError",
    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was "
    "already unpacked once.",
)
def _(t):
    seen = []

    class Twice(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx.saved_tensors)
            return ctx.saved_tensors[0] * g

    y = sub(t, "utils.checkpoint").checkpoint(
        lambda x: Twice.apply(x.sin()), leaf(t), use_reentrant=False
    )
    y.sum().backward()


@error(
    "checkpoint",
    RuntimeError,
    "none of output has requires_grad=True, this checkpoint() is not necessary",
)
def _(t):
    y = sub(t, "utils.checkpoint").checkpoint(lambda x: x.detach(), leaf(t), use_reentrant=True)
    y.sum().backward()


@error("checkpoint", ValueError, "Unexpected keyword arguments: k")
def _(t):
    sub(t, "utils.checkpoint").checkpoint(lambda x, k: x * k, leaf(t), k=3, use_reentrant=True)


@error(
    "checkpoint",
    ValueError,
    "Passing `context_fn` or `debug` is only supported when use_reentrant=False.",
)
def _(t):
    sub(t, "utils.checkpoint").checkpoint(t.sin, leaf(t), debug=True, use_reentrant=True)


@error(
    "checkpoint", ValueError, "determinism_check should be one of ['default', 'none'], but got foo"
)
def _(t):
    y = sub(t, "utils.checkpoint").checkpoint(
        t.sin, leaf(t), use_reentrant=False, determinism_check="foo"
    )
    y.sum().backward()


@warning(
    "W3",
    UserWarning,
    "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in "
    "PyTorch 2.9, calling checkpoint without use_reentrant will raise an exception.",
)
def _(t):
    sub(t, "utils.checkpoint").checkpoint(t.sin, leaf(t))


@warning("W3", UserWarning, "None of the inputs have requires_grad=True. Gradients will be None")
def _(t):
    sub(t, "utils.checkpoint").checkpoint(t.sin, t.ones(3), use_reentrant=True)


# ---- anomaly mode


def nan_backward(t, **options):
    with t.autograd.detect_anomaly(**options):
        x = t.zeros(1, requires_grad=True)
        (t.sqrt(x) * 0).backward()


@error("E70", RuntimeError, "Function 'SqrtBackward0' returned nan values in its 0th output.")
def _(t):
    nan_backward(t)


@warning(
    "W6",
    UserWarning,
    "Anomaly Detection has been enabled. This mode will increase the runtime and should only be "
    "enabled for debugging.",
)
def _(t):
    with t.autograd.detect_anomaly():
        pass


@warning(
    "W7",
    UserWarning,
    "Error detected in SqrtBackward0. Traceback of forward call that caused the error:\n  File ",
)
def _(t):
    with pytest.raises(RuntimeError):
        nan_backward(t)


@warning(
    "W7",
    UserWarning,
    "Error detected in SqrtBackward0. No forward pass information available. Enable detect "
    "anomaly during forward pass for more information.",
)
def _(t):
    y = t.sqrt(t.zeros(1, requires_grad=True)) * 0
    with pytest.raises(RuntimeError), t.autograd.detect_anomaly():
        y.backward()


@error(
    "E13",
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace "
    "operation: [torch.FloatTensor [3]], which is output 0 of Exp, is at version 1; expected "
    "version 0 instead. Hint: the backtrace further above shows the operation that failed to "
    "compute its gradient. The variable in question was changed in there or anywhere "
    "later. Good luck!",
)
def _(t):
    with t.autograd.detect_anomaly(check_nan=False):
        y = leaf(t).exp()
        z = y.exp()
        y.add_(1)
        z.sum().backward()


# ---- gradcheck


def wrong(t):
    return function(t, lambda ctx, x: x * 2, lambda ctx, g: g * 3)


@error(
    "E71",
    "GradcheckError",
    "Jacobian mismatch for output 0 with respect to input 0,\nnumerical:tensor([[2.0000, "
    "0.0000],\n        [0.0000, 2.0000]], dtype=torch.float64)\nanalytical:tensor([[3., 0.],\n    "
    "    [0., 3.]], dtype=torch.float64)\n",
)
def _(t):
    t.autograd.gradcheck(wrong(t).apply, leaf(t, 2, dtype=t.float64))


@error(
    "E72",
    ValueError,
    "gradcheck expects at least one input tensor to require gradient, but none of "
    "them have requires_grad=True.",
)
def _(t):
    t.autograd.gradcheck(t.sin, t.ones(2, dtype=t.float64))


@error(
    "E73",
    RuntimeError,
    "The 0th input has a dimension with stride 0. gradcheck only supports inputs that are "
    "non-overlapping to be able to compute the numerical gradients correctly. You should call "
    ".contiguous on the input before passing it to gradcheck.",
)
def _(t):
    t.autograd.gradcheck(t.sin, t.ones(1, dtype=t.float64).expand(3).requires_grad_())


@error(
    "E74",
    "GradcheckError",
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
    "times gives different values, although analytical gradient matches numerical gradient.The "
    "tolerance for nondeterminism was 0.0.",
)
def _(t):
    calls = []

    def backward(ctx, g):
        calls.append(0)
        return g * 2 + 1e-9 * len(calls)

    f = function(t, lambda ctx, x: x * 2, backward)
    t.autograd.gradcheck(f.apply, leaf(t, 2, dtype=t.float64))


@error("E75", "GradcheckError", "Numerical gradient for function expected to be zero")
def _(t):
    t.autograd.gradcheck(lambda x: x.detach() * 2, leaf(t, 2, dtype=t.float64))


@warning(
    "gradcheck",
    UserWarning,
    "Input #0 requires gradient and is not a double precision floating point or complex. This "
    "check will likely fail if all the inputs are not of double precision floating "
    "point or complex. ",
)
def _(t):
    t.autograd.gradcheck(t.sin, leaf(t, 2), raise_exception=False)


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


# ---- everyday shape and dtype errors

EVERYDAY = [
    (
        RuntimeError,
        "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)",
        lambda t: t.ones(2, 3) @ t.ones(2, 3),
    ),
    (
        RuntimeError,
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1",
        lambda t: t.ones(2, 3) + t.ones(2, 4),
    ),
    (
        RuntimeError,
        "expected m1 and m2 to have the same dtype, but got: float != double",
        lambda t: t.ones(2, 2) @ t.ones(2, 2, dtype=t.float64),
    ),
    (
        RuntimeError,
        "view size is not compatible with input tensor's size and stride (at least one dimension "
        "spans across two contiguous subspaces). Use .reshape(...) instead.",
        lambda t: t.ones(2, 3).t().view(6),
    ),
    (RuntimeError, "shape '[4, 2]' is invalid for input of size 6", lambda t: t.ones(6).view(4, 2)),
    (IndexError, "index 5 is out of bounds for dimension 0 with size 3", lambda t: t.ones(3)[5]),
    (
        IndexError,
        "Dimension out of range (expected to be in range of [-1, 0], but got 5)",
        lambda t: t.ones(3).sum(5),
    ),
    (
        RuntimeError,
        "Boolean value of Tensor with more than one value is ambiguous",
        lambda t: bool(t.ones(3)),
    ),
    (
        RuntimeError,
        "a Tensor with 3 elements cannot be converted to Scalar",
        lambda t: t.ones(3).item(),
    ),
    (TypeError, "iteration over a 0-d tensor", lambda t: list(t.ones(()))),
    (
        RuntimeError,
        "result type Float can't be cast to the desired output type Long",
        lambda t: t.ones(3, dtype=t.int64).add_(1.5),
    ),
    (
        RuntimeError,
        "output with shape [3] doesn't match the broadcast shape [2, 3]",
        lambda t: t.ones(3).add_(t.ones(2, 3)),
    ),
    (
        ValueError,
        "can't optimize a non-leaf Tensor",
        lambda t: sub(t, "optim").SGD([leaf(t) * 2], lr=0.1),
    ),
    (
        ValueError,
        "optimizer got an empty parameter list",
        lambda t: sub(t, "optim").SGD([], lr=0.1),
    ),
    (
        RuntimeError,
        "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 for "
        "tensor number 1 in the list.",
        lambda t: t.cat([t.ones(2, 3), t.ones(2, 4)]),
    ),
    (
        AttributeError,
        "attribute 'grad_fn' of 'torch._C.TensorBase' objects is not writable",
        lambda t: setattr(t.ones(3), "grad_fn", None),
    ),
    (
        AttributeError,
        "'MulBackward0' object has no attribute '_saved_nothing'",
        lambda t: (leaf(t) * 2).grad_fn._saved_nothing,
    ),
    (
        TypeError,
        "expected 1 arguments, got 2 instead",
        lambda t: (leaf(t) * 2).grad_fn(t.ones(3), t.ones(3)),
    ),
    (
        TypeError,
        "cannot create weak reference to 'MulBackward0' object",
        lambda t: importlib.import_module("weakref").ref((leaf(t) * 2).grad_fn),
    ),
    (
        RuntimeError,
        "Final callbacks can only be installed during backward pass.",
        lambda t: t.autograd.Variable._execution_engine.queue_callback(print),
    ),
]
for _kind, _text, _run in EVERYDAY:
    CASES.append(("everyday", "error", _kind, _text, _run))


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
    "warnings",
    UserWarning,
    "Using a target size (torch.Size([3, 1])) that is different to the input size "
    "(torch.Size([3])). This will likely lead to incorrect results due to broadcasting. Please "
    "ensure they have the same size.",
)
def _(t):
    sub(t, "nn.functional").mse_loss(t.ones(3), t.ones(3, 1))


@warning(
    "warnings",
    FutureWarning,
    "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate "
    "gradient for other parts of the graph, please use torch.autograd.backward.",
)
def _(t):
    x = leaf(t)
    t.autograd.grad(x.sum(), x, only_inputs=False)


def outcome(t, way, kind, run):
    """(type, text) of the error that `run` raises, or of the wanted warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if NAME == "torch" or t.__name__ == "torch":
            t.set_warn_always(True)  # torch gives some warnings once per process
        try:
            run(t)
        except Exception as e:
            if way == "error":
                return type(e), str(e)
            raise
    assert way == "warning", "nothing was raised"
    wanted = [w for w in caught if w.category is kind]
    return kind, [str(w.message) for w in wanted]


def check(t, way, kind, text, run):
    got, said = outcome(t, way, kind, run)
    if way == "warning":
        assert any(s.startswith(text) for s in said), (
            f"{said} has nothing that starts with {text!r}"
        )
        assert not any("Triggered internally" in s for s in said) or t.__name__ == "torch"
        return
    assert (got.__name__ if isinstance(kind, str) else got) == kind, f"{got}: {said}"
    if isinstance(kind, str):
        assert issubclass(got, RuntimeError)
    assert said.startswith(text), f"{said!r} does not start with {text!r}"


IDS = [f"{number}-{i}" for i, (number, *_rest) in enumerate(CASES)]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_type_and_first_sentence(case):
    _, *rest = case
    check(torch, *rest)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_sentence_is_torchs(case):
    pytorch = pytest.importorskip("torch")
    _, *rest = case
    check(pytorch, *rest)


def test_no_number_is_missing(capsys):
    elsewhere = {"E24", *(f"E{n}" for n in (59, 60, 61, 62, *range(81, 96)))}
    wanted = {f"E{n}" for n in range(1, 96)} | {f"W{n}" for n in range(1, 8)}
    have = {number for number, *_ in CASES}
    missing = sorted(wanted - elsewhere - have, key=lambda s: int(re.sub(r"\D", "", s)))
    with capsys.disabled():
        print(
            f"\n{len(CASES)} errors and warnings raised; {len(wanted & have)} of the catalogue's "
            f"{len(wanted)} numbers ({len(elsewhere)} elsewhere), missing: {missing or 'none'}"
        )
    assert not missing
