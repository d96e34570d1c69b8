"""Custom functions: E50 to E62."""

from .registry import FREED, error, function, leaf, sub, warning

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


@error(
    "E56 mark_non_differentiable",
    RuntimeError,
    "mark_non_differentiable only accepts variable arguments, but got ",
)
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
    "E57 view",
    RuntimeError,
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been "
    "mutated should be passed to ctx.mark_dirty().",
)
def _(t):
    def forward(ctx, x):
        y = (x * 1)[:2]
        ctx.mark_dirty(y)
        return y

    function(t, forward, lambda ctx, g: g).apply(leaf(t))


@warning(
    "E57 summed",
    UserWarning,
    "FBackward returned a gradient of shape (3,) for input 0 of shape (1,): it is summed to the "
    "input's shape.",
    stricter="such a gradient is more often a mistake of the backward than a broadcast",
)
def _(t):
    f = function(t, lambda ctx, x: x.expand(3) * 1, lambda ctx, g: g)
    f.apply(leaf(t, 1)).sum().backward()


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
    "E8 mark_dirty",
    RuntimeError,
    "a leaf Variable that requires grad has been used in an in-place operation.",
)
def _(t):
    dirty(t, mark=lambda x: (x.mul_(2),), give=lambda x: x).apply(leaf(t))


@error(
    "Function forward",
    NotImplementedError,
    "You must implement the forward function for custom autograd.Function.",
)
def _(t):
    type("F", (t.autograd.Function,), {}).apply(leaf(t))


@error(
    "Function backward",
    NotImplementedError,
    "You must implement either the backward or vjp method for your custom autograd.Function to "
    "use it with backward mode AD.",
)
def _(t):
    function(t, lambda ctx, x: x * 1).apply(leaf(t)).sum().backward()


@error(
    "Function both",
    RuntimeError,
    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
    "implement one of them.",
)
def _(t):
    both = function(t, lambda ctx, x: x * 1, lambda ctx, g: g, vjp=staticmethod(lambda ctx, g: g))
    both.apply(leaf(t)).sum().backward()


@error(
    "Function legacy",
    RuntimeError,
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style "
    "autograd function with static forward "
    "method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)",
)
def _(t):
    function(t, lambda ctx, x: x * 1, lambda ctx, g: g)()(leaf(t))


@warning(
    "Function instance",
    DeprecationWarning,
    "<class 'catalogue.F'> should not be instantiated. Methods on autograd functions "
    "are all static, so you should invoke them on the class itself. Instantiating an autograd "
    "function will raise an error in a future version of PyTorch.",
)
def _(t):
    function(t, lambda ctx, x: x * 1, lambda ctx, g: g, __module__="catalogue")()


@error(
    "Function cleared",
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
    "Function once",
    RuntimeError,
    "trying to differentiate twice a function that was marked with @once_differentiable",
)
def _(t):
    once = t.autograd.function.once_differentiable(lambda ctx, g: g * 2)
    x = leaf(t)
    y = function(t, lambda ctx, x: x * 2, once).apply(x)
    (g,) = t.autograd.grad(y.pow(2).sum(), x, create_graph=True)
    g.sum().backward()


@error("E7 Function", RuntimeError, FREED)
def _(t):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 1

    y = function(t, forward, lambda ctx, g: ctx.saved_tensors[0] * g).apply(leaf(t)).sum()
    y.backward()
    y.backward()


# ---- under function transforms and forward mode


def square(t, **more):
    """x * x with a derivative of its own; what it saves, it saves in setup_context."""

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    return function(
        t,
        lambda x: x * x,
        lambda ctx, g: 2 * g * ctx.saved_tensors[0],
        setup_context=staticmethod(setup_context),
        **more,
    ).apply


def old_square(t):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    return function(t, forward, lambda ctx, g: 2 * g * ctx.saved_tensors[0]).apply


NO_JVP = (
    "You must implement the jvp function for custom autograd.Function to use it with forward "
    "mode AD."
)


@error("E59", NotImplementedError, NO_JVP)
def _(t):
    sub(t, "func").jvp(square(t), (t.ones(3),), (t.ones(3),))


@error("E59", NotImplementedError, NO_JVP)
def _(t):
    forward_ad = sub(t, "autograd.forward_ad")
    with forward_ad.dual_level():
        old_square(t)(forward_ad.make_dual(t.ones(3), t.ones(3)))


NO_SETUP = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, "
    "...), it must override the setup_context staticmethod."
)


@error(
    "E60",
    RuntimeError,
    NO_SETUP,
)
def _(t):
    return sub(t, "func").grad(lambda x: old_square(t)(x).sum())(t.tensor([2.0, 3.0]))


@error(
    "E60",
    RuntimeError,
    NO_SETUP,
)
def _(t):
    return sub(t, "func").vmap(old_square(t))(t.tensor([2.0, 3.0]))


@error(
    "E61",
    RuntimeError,
    "You tried to vmap over F, but it does not have vmap support. Please override and implement "
    "the vmap staticmethod or set generate_vmap_rule=True.",
)
def _(t):
    return sub(t, "func").vmap(square(t))(t.tensor([2.0, 3.0]))


@error(
    "E62",
    RuntimeError,
    "You tried to vmap over F, but it has both generate_vmap_rule=True and an overridden vmap "
    "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod "
    "to avoid ambiguity.",
)
def _(t):
    rule = staticmethod(lambda info, dims, x: (x * x, dims[0]))
    sub(t, "func").vmap(square(t, vmap=rule, generate_vmap_rule=True))(t.ones(3))


@error(
    "E62 results",
    RuntimeError,
    "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree "
    "structure compatible with the output. Got a <class ",
)
def _(t):
    rule = staticmethod(lambda info, dims, x: x * x)
    sub(t, "func").vmap(square(t, vmap=rule))(t.ones(3))
