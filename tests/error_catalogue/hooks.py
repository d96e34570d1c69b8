"""Saved-tensor hooks, checkpoint, anomaly mode and gradcheck: E63 to E75, W3, W6, W7."""

import pytest

from .registry import error, function, leaf, sub, warning

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
    "register_hooks twice",
    RuntimeError,
    "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one "
    "pair of hooks is allowed at a time.",
)
def _(t):
    y = leaf(t).sin()
    saved = y.grad_fn._raw_saved_self
    saved.register_hooks(lambda x: x, lambda x: x)
    saved.register_hooks(lambda x: x, lambda x: x)


@error(
    "SavedTensor", RuntimeError, "Trying to create a SavedTensor object from Python is forbidden."
)
def _(t):
    y = leaf(t).sin()
    type(y.grad_fn._raw_saved_self)()


@error("hooks disabled", RuntimeError, "not here")
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


@error(
    "allow_mutation nested",
    RuntimeError,
    "allow_mutation_on_saved_tensors contexts cannot be nested",
)
def _(t):
    graph = t.autograd.graph
    with graph.allow_mutation_on_saved_tensors(), graph.allow_mutation_on_saved_tensors():
        pass


@error(
    "allow_mutation outside",
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
    "checkpoint unused",
    RuntimeError,
    "none of output has requires_grad=True, this checkpoint() is not necessary",
)
def _(t):
    y = sub(t, "utils.checkpoint").checkpoint(lambda x: x.detach(), leaf(t), use_reentrant=True)
    y.sum().backward()


@error("checkpoint keywords", ValueError, "Unexpected keyword arguments: k")
def _(t):
    sub(t, "utils.checkpoint").checkpoint(lambda x, k: x * k, leaf(t), k=3, use_reentrant=True)


@error(
    "checkpoint options",
    ValueError,
    "Passing `context_fn` or `debug` is only supported when use_reentrant=False.",
)
def _(t):
    sub(t, "utils.checkpoint").checkpoint(t.sin, leaf(t), debug=True, use_reentrant=True)


@error(
    "checkpoint determinism",
    ValueError,
    "determinism_check should be one of ['default', 'none'], but got foo",
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


@warning(
    "W3 none", UserWarning, "None of the inputs have requires_grad=True. Gradients will be None"
)
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
    "W7 no forward",
    UserWarning,
    "Error detected in SqrtBackward0. No forward pass information available. Enable detect "
    "anomaly during forward pass for more information.",
)
def _(t):
    y = t.sqrt(t.zeros(1, requires_grad=True)) * 0
    with pytest.raises(RuntimeError), t.autograd.detect_anomaly():
        y.backward()


@error(
    "E13 anomaly",
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
