"""The steps that random histories are made of, each written once for both libraries.

A view makes a tensor that shows another's memory, a pure step one of its own, a write changes one.
All take (library, tensor, another tensor, number); a step that does not fit its tensor raises, and
both libraries must then raise alike.
"""

SLICES = [
    slice(None),
    slice(0, 2),
    slice(1, None),
    slice(None, None, 2),
    0,
    1,
    -1,
    slice(1, 1),
    None,
    Ellipsis,
]


def _slice(k):
    return SLICES[k % len(SLICES)]


def _part(parts, k):
    return parts[k % max(len(parts), 1)]


VIEWS = {
    "view": lambda t, x, y, k: x.view(-1),
    "t": lambda t, x, y, k: x.t() if x.dim() <= 2 else x.transpose(0, 1),
    "T": lambda t, x, y, k: x.permute(tuple(reversed(range(x.dim())))),
    "slice": lambda t, x, y, k: x[_slice(k)],
    "slice1": lambda t, x, y, k: x[:, _slice(k)],
    "select": lambda t, x, y, k: x.select(0, k % max(x.shape[0], 1)) if x.dim() else x.view(1),
    "narrow": lambda t, x, y, k: x.narrow(0, 0, max(x.shape[0] - 1, 1)),
    "unsqueeze": lambda t, x, y, k: x.unsqueeze(k % (x.dim() + 1)),
    "squeeze": lambda t, x, y, k: x.squeeze(),
    "flatten": lambda t, x, y, k: x.flatten(),
    "expand": lambda t, x, y, k: x.unsqueeze(0).expand(2, *x.shape),
    "as_strided": lambda t, x, y, k: _full(x).as_strided((2,), (1 + k % 2,)),
    "as_strided_twice": lambda t, x, y, k: _full(x).as_strided((2, 2), (1, 1)),
    "unfold": lambda t, x, y, k: x.unfold(0, 2, 1),
    "diagonal": lambda t, x, y, k: x.diagonal(),
    "split": lambda t, x, y, k: _part(x.split(1), k),
    "chunk": lambda t, x, y, k: _part(x.chunk(2), k),
    "unbind": lambda t, x, y, k: _part(x.unbind(), k),
    "tensor_split": lambda t, x, y, k: _part(x.tensor_split(2), k),
    "detach": lambda t, x, y, k: x.detach(),
    "view_as": lambda t, x, y, k: x.view_as(x),
    "data": lambda t, x, y, k: x.data,
    "function_view": lambda t, x, y, k: functions(t).Sliced.apply(x),
    "function_identity": lambda t, x, y, k: functions(t).Same.apply(x),
    "function_parts": lambda t, x, y, k: _part(functions(t).Parts.apply(x), k),
}
PURE = {
    "mul": lambda t, x, y, k: x * 1.5,
    "exp": lambda t, x, y, k: (x * 0.1).exp(),
    "square": lambda t, x, y, k: x * x,
    "sigmoid": lambda t, x, y, k: x.sigmoid(),
    "add": lambda t, x, y, k: x + y,
    "product": lambda t, x, y, k: x * y,
    # torch's sum or clone of an inference tensor may be at version 1
    "sum": lambda t, x, y, k: (x + 0).sum(0),
    "total": lambda t, x, y, k: (x + 0).sum(),
    "clone": lambda t, x, y, k: (x + 0).clone(),
    "reshape": lambda t, x, y, k: x.reshape(-1),
    "cat": lambda t, x, y, k: t.cat([x.reshape(-1), y.reshape(-1)]),
    "stack": lambda t, x, y, k: t.stack([x, y]) * 1,  # torch's can be a view
    "index": lambda t, x, y, k: x[t.tensor([0, 0])],
    "function": lambda t, x, y, k: functions(t).Cubed.apply(x),
    "zeros": lambda t, x, y, k: t.zeros_like(x),
}
WRITES = {
    "mul_": lambda t, x, y, k: x.mul_(1.1),
    "add_": lambda t, x, y, k: x.add_(y),
    "add1_": lambda t, x, y, k: x.add_(1),
    "sub_": lambda t, x, y, k: x.sub_(y, alpha=0.5),
    "product_": lambda t, x, y, k: x.mul_(y),
    "copy_": lambda t, x, y, k: x.copy_(y),
    "zero_": lambda t, x, y, k: x.zero_(),
    "fill_": lambda t, x, y, k: x.fill_(0.5),
    "fill_y": lambda t, x, y, k: x.fill_(y.sum()),
    "sigmoid_": lambda t, x, y, k: x.sigmoid_(),
    "tanh_": lambda t, x, y, k: x.tanh_(),
    "pow_": lambda t, x, y, k: x.pow_(2),
    "clamp_": lambda t, x, y, k: x.clamp_(0.1, 0.9),
    "setitem": lambda t, x, y, k: x.__setitem__(_slice(k), 0.25),
    "setitem_y": lambda t, x, y, k: x.__setitem__(_slice(k), y),
    "setslice": lambda t, x, y, k: x.__setitem__((slice(None), slice(0, 1)), 2.0),
    "setmask": lambda t, x, y, k: x.__setitem__(x.detach() > 0.5, 0.1),
    "setindex": lambda t, x, y, k: x.__setitem__(t.tensor([0]), 0.7),
    "setindex_y": lambda t, x, y, k: x.__setitem__(t.tensor([0]), y),
    "iadd": lambda t, x, y, k: x.__iadd__(y),
    "imul_slice": lambda t, x, y, k: x[0:1].mul_(y),
    "relu_": lambda t, x, y, k: x.relu_(),
    "masked_fill_": lambda t, x, y, k: x.masked_fill_(x.detach() > 0.5, 0.1),
    "index_fill_": lambda t, x, y, k: _full(x).index_fill_(0, t.tensor([0]), 0.3),
    # torch keeps a source that wants a gradient, to ask for its shape
    "index_add_": lambda t, x, y, k: _full(x).index_add_(0, t.tensor([0]), y[:1].detach()),
    "addcmul_": lambda t, x, y, k: x.addcmul_(y, y),
    "lerp_": lambda t, x, y, k: x.lerp_(y, 0.5),
    "cumsum_": lambda t, x, y, k: x.cumsum_(0),
    "out": lambda t, x, y, k: t.add(y, 1, out=_like(x, y)),
    "out_self": lambda t, x, y, k: t.mul(x, y, out=x),
    "out_stack": lambda t, x, y, k: t.stack([y[0], y[0]], out=_like(x, y.expand(2, *y.shape[1:]))),
    "through_data": lambda t, x, y, k: x.data.mul_(1.2),
    "through_detach": lambda t, x, y, k: x.detach().add_(0.1),
    "function_": lambda t, x, y, k: functions(t).Doubled.apply(x),
    "preserved": lambda t, x, y, k: _preserved(t, x),
    "increment": lambda t, x, y, k: t.autograd.graph.increment_version(x),
}
# What changes a tensor's place in the graph, not its values.
CHANGES = {
    "detach_": lambda t, x, y, k: x.detach_(),
    "requires_grad_": lambda t, x, y, k: x.requires_grad_(),
    "no_requires_grad_": lambda t, x, y, k: x.requires_grad_(False),
    "requires_grad": lambda t, x, y, k: setattr(x, "requires_grad", bool(k % 2)),
    # torch asks for a leaf without looking whether a view's history is out of date
    "retain_grad": lambda t, x, y, k: (x.grad_fn, x.retain_grad()),
    "backward": lambda t, x, y, k: (x * 0.5).sum().backward(retain_graph=True),
    "t_": lambda t, x, y, k: _result(x).t_(),
    "transpose_": lambda t, x, y, k: _result(x).transpose_(0, -1),
    "unsqueeze_": lambda t, x, y, k: _result(x).unsqueeze_(0),
    "squeeze_": lambda t, x, y, k: _result(x).squeeze_(),
    "set_data": lambda t, x, y, k: setattr(_like(_root(t, x), y), "data", y.detach().clone()),
    "set_grad": lambda t, x, y, k: setattr(x, "grad", x.detach().clone()),
    "forget_grad": lambda t, x, y, k: setattr(x, "grad", None),
}

# Of complex tensors: conjugates and negatives that are put off, and the real numbers inside.
LAZY_VIEWS = {
    "conj": lambda t, x, y, k: x.conj(),
    "conj_slice": lambda t, x, y, k: x.conj()[_slice(k)],
    "mH": lambda t, x, y, k: x.mH,
    "real": lambda t, x, y, k: x.real,
    "imag": lambda t, x, y, k: x.imag,
    "conj_imag": lambda t, x, y, k: x.conj().imag,
    "neg_view": lambda t, x, y, k: t._neg_view(x),
    "as_real": lambda t, x, y, k: t.view_as_real(x),
    "as_complex": lambda t, x, y, k: t.view_as_complex(x),
    "resolve_conj": lambda t, x, y, k: x.resolve_conj(),
    "resolve_neg": lambda t, x, y, k: x.resolve_neg(),
    "contiguous": lambda t, x, y, k: x.contiguous(),
}
_COMPLEX_VIEWS = """view t T slice slice1 select narrow unsqueeze squeeze flatten expand as_strided
    unfold diagonal split chunk unbind detach view_as data function_view
    function_identity""".split()
_COMPLEX_PURE = """mul exp square add product sum total clone reshape cat stack index function
    zeros""".split()
_COMPLEX_WRITES = """mul_ add_ add1_ sub_ product_ copy_ zero_ fill_ fill_y pow_ setitem setitem_y
    setslice setindex setindex_y iadd imul_slice index_add_ addcmul_ cumsum_ out out_self
    through_data through_detach function_ preserved increment""".split()
_COMPLEX_CHANGES = """detach_ requires_grad_ no_requires_grad_ requires_grad retain_grad t_
    transpose_ unsqueeze_ squeeze_ set_data set_grad forget_grad""".split()
COMPLEX = {
    "view": {**{name: VIEWS[name] for name in _COMPLEX_VIEWS}, **LAZY_VIEWS},
    "pure": {
        **{name: PURE[name] for name in _COMPLEX_PURE},
        "mul_i": lambda t, x, y, k: x * 1.5j,
        "abs": lambda t, x, y, k: x.abs(),
        "conj_product": lambda t, x, y, k: x * x.conj(),
    },
    "write": {
        **{name: WRITES[name] for name in _COMPLEX_WRITES},
        "mul_i": lambda t, x, y, k: x.mul_(1 + 0.5j),
        "exp_": lambda t, x, y, k: x.mul_(0.1).exp_(),
        "conj_physical_": lambda t, x, y, k: x.conj_physical_(),
        "set_real": lambda t, x, y, k: setattr(x, "real", y.real),
        "set_imag": lambda t, x, y, k: setattr(x, "imag", y.imag),
        "add_conj": lambda t, x, y, k: x.add_(y.conj()),
        "copy_conj": lambda t, x, y, k: x.copy_(y.conj()),
    },
    "change": {name: CHANGES[name] for name in _COMPLEX_CHANGES},
    "hook": {"hook": None},
}


def _full(x):
    """x, unless it is empty: torch's checks of indices and places then say something else."""
    if not x.numel():
        raise ValueError("empty")
    return x


def _result(x):
    """x, unless a gradient of its former shape would not fit: torch's leaves, and those that
    retain one, go on with that."""
    if (x.requires_grad and x.is_leaf) or x.retains_grad:
        raise ValueError("leaf")
    return x


def _root(t, x):
    """x, unless it is a view: what it shows would have nothing to do with its base. Nor in
    inference mode, which makes tensors of another sort."""
    if x._is_view() or t.is_inference_mode_enabled():
        raise ValueError("view")
    return x


def _like(x, y):
    """x, which is not resized: that is another matter."""
    if x.shape != y.shape:
        raise ValueError("shapes differ")
    return x


def _preserved(t, x):
    with t.autograd._unsafe_preserve_version_counter(x):
        x.mul_(0.5)


_functions = {}


def functions(t):
    """The custom Functions of a library."""
    if t.__name__ not in _functions:
        _functions[t.__name__] = _define(t.autograd.Function)
    return _functions[t.__name__]


def _define(base):
    class Functions:
        class Cubed(base):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * 3 * x * x

        class Doubled(base):
            @staticmethod
            def forward(ctx, x):
                x.mul_(2)
                ctx.mark_dirty(x)
                return x

            @staticmethod
            def backward(ctx, g):
                return g * 2

        class Same(base):
            @staticmethod
            def forward(ctx, x):
                return x

            @staticmethod
            def backward(ctx, g):
                return g * 3

        class Sliced(base):
            @staticmethod
            def forward(ctx, x):
                ctx.shape = x.shape
                return x[0:1]

            @staticmethod
            def backward(ctx, g):
                whole = g.new_zeros(ctx.shape)
                whole[0:1] = g
                return whole

        class Parts(base):
            @staticmethod
            def forward(ctx, x):
                ctx.shape = x.shape
                return x[0:1], x[1:]

            @staticmethod
            def backward(ctx, g, h):
                whole = g.new_zeros(ctx.shape)
                whole[0:1] = g
                whole[1:] = h
                return whole

    return Functions
