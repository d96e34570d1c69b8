"""The formulas of local gradients say what backward computes, and rules are found as written.

A formula is evaluated here by a reader of its own, `value_of`, on the arguments of a call, and the
result is compared with the gradient that the recorded node gives. What the readable texts of
well-known functions are to be comes from calculus.
"""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rushlight.explain._formulas import Formula, local_gradient, rule
from scipy import special

import rushlight
from _alone import PATIENCE
from rushlight import nn
from rushlight.ops import OPS

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "table"))
cases = importlib.import_module("cases")

torch = rushlight
F = nn.functional


# ---- the texts


@pytest.mark.parametrize(
    ("op", "argument", "text"),
    [
        ("add", "input", "1"),
        ("sub", "other", "−1"),
        ("mul", "input", "other"),
        ("div", "input", "1 / other"),
        ("div", "other", "−input / other²"),
        ("neg", "input", "−1"),
        ("pow", "input", "exponent · input^(exponent − 1)"),
        ("pow", "exponent", "out · log(input)"),
        ("exp", "input", "out"),
        ("log", "input", "1 / input"),
        ("log2", "input", "1 / (log(2) · input)"),
        ("sin", "input", "cos(input)"),
        ("cos", "input", "−sin(input)"),
        ("tanh", "input", "1 − out²"),
        ("sigmoid", "input", "out · (1 − out)"),
        ("sqrt", "input", "1 / (2 · out)"),
        ("rsqrt", "input", "−out³ / 2"),
        ("abs", "input", "sign(input)"),
        ("erf", "input", "2 · exp(−input²) / √π"),
        ("atan2", "other", "−input / (input² + other²)"),
        ("relu", "input", "1 if out > 0 else 0"),
        ("leaky_relu", "input", "1 if input > 0 else negative_slope"),
        ("hardtanh", "input", "1 if min_val < input < max_val else 0"),
        ("maximum", "input", "0 if input < other else 0.5 if input == other else 1"),
        ("where", "other", "0 if condition else 1"),
        ("floor", "input", "0"),
        ("sum", "input", "1 (expanded to input's shape)"),
        ("mean", "input", "1 / n"),
        ("clone", "input", "1"),
    ],
)
def test_a_factor_is_written_as_a_person_writes_it(op, argument, text):
    formula = local_gradient(OPS[op].function, argument)
    assert (formula.text, formula.is_factor) == (text, True)


@pytest.mark.parametrize(
    ("op", "argument", "text"),
    [
        ("matmul", "input", "g · otherᵀ"),
        ("mm", "mat2", "inputᵀ · g"),
        ("addmm", "mat1", "alpha · g · mat2ᵀ"),
        ("linear", "input", "g · weight"),
        ("softmax", "input", "out ⊙ (g − sum(g ⊙ out, dim))"),
        ("log_softmax", "input", "g − exp(out) ⊙ sum(g, dim)"),
        ("t", "input", "gᵀ"),
        ("view", "input", "reshape(g, input.shape)"),
        ("permute", "input", "permute(g, dims⁻¹)"),
        ("select", "input", "g at index, 0 elsewhere"),
        ("inv", "A", "−outᵀ · g · outᵀ"),
        ("_least_squares", "B", "pinv(A)ᵀ · g"),
    ],
)
def test_what_is_no_factor_is_written_in_terms_of_g(op, argument, text):
    formula = local_gradient(OPS[op].function, argument)
    assert (formula.text, formula.is_factor) == (text, False)


def test_a_variant_has_the_formula_of_what_was_called():
    x = torch.tensor([2.0], requires_grad=True)
    node = torch.add(torch.ones(1), x, alpha=3).grad_fn
    assert local_gradient(node._op, "other").text == "alpha"


def test_an_in_place_form_has_the_formula_of_its_op():
    x = torch.tensor([2.0], requires_grad=True)
    assert local_gradient(x.clone().tanh_().grad_fn._op, "input").text == "1 − out²"


@pytest.mark.parametrize(
    ("op", "argument", "values", "text"),
    [
        ("_pow_number", "input", {"exponent": 4}, "4 · input³"),
        ("_pow_number", "input", {"exponent": 1}, "1"),
        ("_pow_number", "input", {"exponent": -2}, "−2 / input³"),
        ("_add_scaled", "other", {"alpha": 0.5}, "0.5"),
        ("softmax", "input", {"dim": 1}, "out ⊙ (g − sum(g ⊙ out, 1))"),
        ("_pow_number", "input", {"exponent": 0.5}, "1 / (2 · √input)"),
        ("_pow_number", "input", {"exponent": 10**30}, "exponent · input^(exponent − 1)"),
        ("_pow_base", "exponent", {"input": 2.0}, "log(2) · out"),
        ("_vector_norm", "input", {"ord": 2}, "input / out"),
        ("_vector_norm", "input", {"ord": 3}, "sign(input) · |input|² / out²"),
        ("_vector_norm", "input", {"ord": np.inf}, "(sign(input) if |input| == out else 0) / n"),
        ("_vector_norm", "input", {"ord": 0}, "0"),
        ("_index_put", "input", {"accumulate": True}, "1"),
        ("mul", "input", {"other": -2}, "−2"),
        ("div", "input", {"other": 0.0}, "1 / other"),
        ("_var", "input", {"correction": 1}, "2 · (input − mean(input)) / (n − 1)"),
        ("leaky_relu", "input", {"negative_slope": 0.01}, "1 if input > 0 else 0.01"),
    ],
)
def test_with_the_plain_arguments_of_a_call_it_is_that_calls(op, argument, values, text):
    assert local_gradient(OPS[op].function, argument, values).text == text


def test_there_is_no_formula_where_the_rule_is_an_error():
    assert local_gradient(torch.heaviside, "values") == Formula("", False, ())


def test_there_is_no_formula_of_what_is_no_argument():
    assert local_gradient(torch.tanh, "nonsense") == Formula("", False, ())
    assert rule(torch.tanh, "nonsense") is None


def test_it_says_which_values_it_reads():
    assert local_gradient(torch.atan2, "input").reads == ("other", "input")
    assert local_gradient(torch.Tensor.view, "input").reads == ("input",)
    assert local_gradient(torch.add, "input").reads == ()
    assert local_gradient(torch.amax, "input").reads == ("input", "out")
    assert local_gradient(OPS["_index"].function, "input").reads == ("index",)


# ---- with names of the program


@pytest.mark.parametrize(
    ("text", "names", "said"),
    [
        ("other", {"other": "w1"}, "w1"),
        ("other", {"other": "w1 + b"}, "w1 + b"),
        ("1 − out²", {"out": "h"}, "1 − h²"),
        ("1 − out²", {"out": "x + 1"}, "1 − (x + 1)²"),
        ("1 − out²", {"out": "tanh(c)"}, "1 − tanh(c)²"),
        ("1 / other", {"other": "-2"}, "1 / (-2)"),
        ("cos(input)", {"input": "a + b"}, "cos(a + b)"),
        ("−input / other²", {"input": "other", "other": "input"}, "−other / input²"),
        ("g · otherᵀ", {"other": "fc.weight", "g": "dL/dy"}, "(dL/dy) · fc.weightᵀ"),
        ("1 if out > 0 else 0", {"out": "layers[0]"}, "1 if layers[0] > 0 else 0"),
        ("exp(input − out)", {"exp": "no"}, "exp(input − out)"),
        ("reshape(g, input.shape)", {"shape": "no", "input": "x"}, "reshape(g, x.shape)"),
    ],
)
def test_named_puts_names_for_whole_words(text, names, said):
    assert Formula(text, True, ("input", "other", "out")).named(names) == said


def test_named_leaves_a_hostile_name_as_it_is():
    hostile = r"<script>\1\g<0>{0}%s"
    assert Formula("1 − out²", True, ("out",)).named({"out": hostile}) == f"1 − ({hostile})²"


# ---- their values

_SIGNS = {"−": "-", "⊙": "*", "≤": "<=", "≥": ">=", "≠": "!=", "^": "**", "²": "**2", "³": "**3"}
_SIGNS |= {"∞": "inf", "NaN": "nan", "⁻ᵀ": ".inverse_mT", "ᵀ": ".mT", "⁻¹": ".inverse"}
_DEFINITION = re.compile(r", (?=[^\W\d]\S* = )")


def python_of(text, dot):
    """A formula as a Python expression, with `dot` for ·."""
    text = re.sub(r" \(expanded to .*\)$", "", text).replace("x̂", "x_hat")
    for sign, meaning in [*_SIGNS.items(), ("·", dot)]:
        text = text.replace(sign, meaning)
    text = re.sub(r"√(\w+)", r"sqrt(\1)", text).replace("√(", "sqrt(")
    return re.sub(r"\|([^|]+)\|", r"abs(\1)", text)


class Reader(ast.NodeVisitor):
    """Evaluates such an expression on arrays."""

    def __init__(self, names):
        self.names = names

    def generic_visit(self, node):
        raise AssertionError(f"the formula has a {type(node).__name__}")

    def visit_Expression(self, node):
        return self.visit(node.body)

    def visit_Constant(self, node):
        return node.value

    def visit_Name(self, node):
        return self.names[node.id]

    def visit_Attribute(self, node):
        value = self.visit(node.value)
        if node.attr == "shape":
            return value.shape
        if node.attr == "mT":
            return value[None, :] if value.ndim == 1 else np.swapaxes(value, -1, -2)
        if isinstance(value, tuple):
            return tuple(np.argsort(value))
        inverse = np.linalg.inv(value)
        return np.swapaxes(inverse, -1, -2) if node.attr == "inverse_mT" else inverse

    def visit_UnaryOp(self, node):
        value = self.visit(node.operand)
        return np.logical_not(value) if isinstance(node.op, ast.Not) else -value

    def visit_BinOp(self, node):
        a, b = self.visit(node.left), self.visit(node.right)
        match node.op:
            case ast.Add():
                return a + b
            case ast.Sub():
                return a - b
            case ast.Div():
                return a / b
            case ast.Pow():
                return np.power(np.asarray(a, float), b)
            case ast.MatMult() if np.ndim(a) and np.ndim(b):
                if np.ndim(a) == 1 and np.ndim(b) == 2 and b.shape[0] == 1:
                    a = a[:, None]
                return a @ b
        return a * b

    def visit_Compare(self, node):
        sides = [self.visit(side) for side in (node.left, *node.comparators)]
        found = True
        for op, a, b in zip(node.ops, sides, sides[1:], strict=False):
            sign = {ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater", ast.Eq: "equal"}
            sign |= {ast.GtE: "greater_equal", ast.NotEq: "not_equal"}
            found = np.logical_and(found, getattr(np, sign[type(op)])(a, b))
        return found

    def visit_BoolOp(self, node):
        join = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
        return join.reduce(np.broadcast_arrays(*map(self.visit, node.values)))

    def visit_IfExp(self, node):
        return np.where(self.visit(node.test), self.visit(node.body), self.visit(node.orelse))

    def visit_Call(self, node):
        return self.names[node.func.id](*map(self.visit, node.args))


FUNCTIONS = {
    name: getattr(np, name)
    for name in "exp log sqrt sin cos sinh cosh tanh floor trunc sign abs log1p exp2 isnan isfinite"
    " tril triu trace reshape flip cumsum".split()
}
FUNCTIONS |= {
    "erf": special.erf,
    "erfcx": special.erfcx,
    "erfcx_derivative": lambda n, x: erfcx_derivative(int(n), x),
    "iv": lambda n, x: special.iv(np.asarray(n, float), x),
    "ive": lambda n, x: special.ive(np.asarray(n, float), x),
    "lgamma": special.gammaln,
    "digamma": special.digamma,
    "polygamma": lambda n, x: special.polygamma(np.asarray(n, int), x),
    "zeta": special.zeta,
    "i0": special.i0,
    "i0e": special.i0e,
    "i1": special.i1,
    "i1e": special.i1e,
    "sigmoid": special.expit,
    "clamp": np.clip,
    "clamp_min": np.maximum,
    "π": np.pi,
    "inf": np.inf,
    "nan": np.nan,
    "sum": lambda x, dim=None: np.sum(x, dim, keepdims=True),
    "mean": np.mean,
    "transpose": np.swapaxes,
    "permute": np.transpose,
    "squeeze": np.squeeze,
    "unsqueeze": np.expand_dims,
    "sum_to_size": lambda x, shape: summed_to(x, shape),
    "diagonal": np.diagonal,
    "rot90": np.rot90,
    "roll": np.roll,
    "solve": np.linalg.solve,
    "cross": np.cross,
}


def value_of(formula, values):
    """What a formula says for these values. In terms of g, · is the product of matrices."""
    first, *definitions = _DEFINITION.split(formula.text)
    dot = "*" if formula.is_factor else "@"
    names = FUNCTIONS | values
    with np.errstate(all="ignore"):
        for definition in reversed(definitions):
            name, _, meaning = definition.partition(" = ")
            name = python_of(name, dot)
            if name not in values:
                tree = ast.parse(python_of(meaning, dot), mode="eval")
                names[name] = Reader(names).visit(tree)
        return Reader(names).visit(ast.parse(python_of(first, dot), mode="eval"))


def summed_to(x, shape):
    """A gradient of a broadcast shape, fitted to its argument."""
    x = np.asarray(x)
    x = x.sum(tuple(range(x.ndim - len(shape)))) if x.ndim > len(shape) else x
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and x.shape[i] != 1)
    return np.broadcast_to(x.sum(axes, keepdims=True), shape)


def arrays(values):
    return {k: v.detach().numpy() if isinstance(v, torch.Tensor) else v for k, v in values.items()}


def check(formula, values, out, g, leaf):
    """The formula's gradient of a leaf against backward's."""
    (wanted,) = torch.autograd.grad(out, leaf, g, retain_graph=True)
    names = arrays({**values, "out": out, "g": g})
    found = value_of(formula, names)
    if formula.is_factor:
        found = found * names["g"]
    if np.ndim(found) < leaf.ndim:
        found = np.broadcast_to(found, leaf.shape)
    np.testing.assert_allclose(
        summed_to(found, leaf.shape), wanted.numpy(), rtol=1e-7, atol=1e-9, err_msg=formula.text
    )


# Recorded only where they are written in place: their result is boolean.
COMPARISONS = {n for name in "eq ne lt le gt ge".split() for n in (name, f"_{name}_number")}


def erfcx_derivative(order, x):
    """By y' = 2 x y - 2 / sqrt(pi), differentiated further."""
    found = [special.erfcx(x), 2 * x * special.erfcx(x) - 2 / np.sqrt(np.pi)]
    for n in range(1, order):
        found.append(2 * x * found[n] + 2 * n * found[n - 1])
    return found[order]


def pointwise_cases():
    for name in cases.DIFFERENTIABLE:
        entry = OPS[name]
        differentiable = entry.kind == "pointwise" and entry.rules and name not in COMPARISONS
        if differentiable and cases.takes(name, "float64"):
            for number, call in enumerate(cases.calls(name)):
                if call.leaves:
                    yield pytest.param(name, number, id=f"{name}-{number}")


def bound(call):
    """The values of a call by the op's parameter names."""
    op = OPS[call.name].function
    defaults = {k: p.default for k, p in inspect.signature(op).parameters.items()}
    return {**defaults, **dict(zip(op.params, call.args, strict=False)), **call.kwargs}


def check_samples(name, numbers):
    for number in numbers:
        call = cases.calls(name)[number]
        call = call.replaced([call.tensors[i].requires_grad_() for i in call.leaves])
        values = bound(call)
        out = call.run()
        out = out[0] if isinstance(out, tuple) else out
        g = np.asarray(np.random.default_rng(5).uniform(0.5, 1.5, out.shape))
        leaves = [
            (k, v) for k, v in values.items() if isinstance(v, torch.Tensor) and v.requires_grad
        ]
        assert leaves
        if any(out is leaf for _, leaf in leaves):  # conj_physical of real numbers
            continue
        for argument, leaf in leaves:
            formula = local_gradient(out.grad_fn._op, argument)
            check(formula, values, out, torch.from_numpy(g).to(out.dtype), leaf)


@pytest.mark.parametrize(("name", "number"), list(pointwise_cases()))
def test_a_pointwise_formula_is_the_gradient(name, number):
    check_samples(name, [number])


# Ops of other kinds, whose formulas can be evaluated on all of their samples.
OTHERS = """
    _conj _contiguous_copy _copied _diagonal_backward _divided _overwrite _overwrite_number
    _reshape_alias _squeeze _squeeze_dim _squeeze_dims _to_copy _to_format _trace_transpose
    _unsafe_view _zeroed addbmm addmm addmv addr alias alias_copy baddbmm bmm cholesky cholesky_ex
    clone diag_embed dist dot expand expand_copy fill flip inv inv_ex log_softmax logsumexp mm mv
    rot90 softmax sum_to transpose transpose_copy tril triu unsqueeze unsqueeze_copy vdot view
""".split()


@pytest.mark.parametrize("name", OTHERS)
def test_a_formula_is_the_gradient_for_all_samples(name):
    check_samples(name, range(len(cases.calls(name))))


def _matrix(*shape, low=-2.0, high=2.0):
    rng = np.random.default_rng(sum(shape) + len(shape))
    return torch.from_numpy(rng.uniform(low, high, shape)).requires_grad_()


def _well(n):
    return (_matrix(n, n).detach() + 3 * torch.eye(n, dtype=torch.float64)).requires_grad_()


X, Y = _matrix(3, 4), _matrix(4, 2)
ROW, POSITIVE = _matrix(4), _matrix(3, 4, low=0.3, high=0.9)
TARGET = _matrix(4, 3, low=0.1, high=0.8).detach().t().contiguous().requires_grad_()
BATCH, OTHER_BATCH = _matrix(2, 3, 4), _matrix(2, 4, 5)
A, W = _well(3), _matrix(5, 4)
AVERAGED = {"n": 12}
ALL = {"input": X}


@pytest.mark.parametrize(
    ("function", "arguments", "more"),
    [
        (torch.mm, {"input": X, "mat2": Y}, {}),
        (torch.matmul, {"input": X, "other": Y}, {}),
        (torch.matmul, {"input": BATCH, "other": OTHER_BATCH}, {}),
        (torch.bmm, {"input": BATCH, "mat2": OTHER_BATCH}, {}),
        (torch.mv, {"input": X, "vec": ROW}, {}),
        (torch.dot, {"input": ROW, "tensor": _matrix(4, 1).detach()[:, 0].requires_grad_()}, {}),
        (torch.addmm, {"input": _matrix(2), "mat1": X, "mat2": Y}, {"alpha": 0.5, "beta": 2.0}),
        (torch.addmv, {"input": _matrix(3), "mat": X, "vec": ROW}, {"alpha": 1, "beta": 1}),
        (
            torch.baddbmm,
            {"input": _matrix(5), "batch1": BATCH, "batch2": OTHER_BATCH},
            {"alpha": 3, "beta": 1},
        ),
        (F.linear, {"input": X, "weight": W}, {}),
        (F.linear, {"input": X, "weight": W, "bias": _matrix(5)}, {}),
        (torch.t, ALL, {}),
        (torch.transpose, {"input": BATCH}, {"dim0": 0, "dim1": 2}),
        (torch.permute, {"input": BATCH}, {"dims": (2, 0, 1)}),
        (torch.reshape, ALL, {"shape": (2, 6)}),
        (torch.squeeze, {"input": _matrix(3, 1)}, {"dim": 1}),
        (torch.unsqueeze, ALL, {"dim": 1}),
        (torch.Tensor.expand, {"input": ROW}, {"size": (3, 4)}),
        (torch.flip, ALL, {"dims": (0, 1)}),
        (torch.tril, ALL, {"diagonal": 1}),
        (torch.triu, ALL, {"diagonal": -1}),
        (torch.cumsum, ALL, {"dim": 1}),
        (torch.sum, ALL, {}),
        (torch.mean, ALL, {"n": 12}),
        (torch.prod, {"input": POSITIVE}, {}),
        (torch.amax, ALL, {"n": 1}),
        (torch.max, ALL, {"n": 1}),
        (torch.logsumexp, ALL, {"dim": (0, 1)}),
        (torch.var, ALL, {"n": 12, "correction": 1}),
        (torch.std, ALL, {"n": 12, "correction": 1}),
        (torch.linalg.vector_norm, ALL, {"ord": 2}),
        (torch.linalg.vector_norm, ALL, {"ord": 3}),
        (torch.dist, {"input": X, "other": TARGET}, {"p": 2}),
        (torch.softmax, ALL, {"dim": 1}),
        (torch.log_softmax, ALL, {"dim": 0}),
        (torch.linalg.inv, {"A": A}, {}),
        (torch.linalg.det, {"A": A}, {}),
        (torch.linalg.solve, {"A": A, "B": X}, {}),
        (torch.linalg.cholesky, {"A": (A @ A.T).detach().requires_grad_()}, {}),
        (F.mse_loss, {"input": X, "target": TARGET}, AVERAGED),
        (F.smooth_l1_loss, {"input": X, "target": TARGET}, AVERAGED | {"beta": 1.0}),
        (F.huber_loss, {"input": X, "target": TARGET}, AVERAGED | {"delta": 1.0}),
        (F.soft_margin_loss, {"input": X, "target": TARGET}, AVERAGED),
        (F.binary_cross_entropy, {"input": POSITIVE, "target": TARGET}, {"w": 1 / 12}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_formula_of_matrices_and_reductions_is_the_gradient(function, arguments, more):
    accepted = {k: v for k, v in more.items() if k not in ("n", "w", "correction")}
    if function in (torch.log_softmax, torch.softmax, torch.logsumexp, torch.cumsum):
        out = function(*arguments.values(), *accepted.values())
    else:
        out = function(**arguments, **accepted)
    g = torch.from_numpy(np.asarray(np.random.default_rng(5).uniform(0.5, 1.5, out.shape)))
    for argument, leaf in arguments.items():
        formula = local_gradient(out.grad_fn._op, argument)
        check(formula, {**arguments, **more}, out, g, leaf)


def test_the_formula_of_a_standardization_is_the_gradient():
    x, weight, bias = _matrix(3, 4), _matrix(4), _matrix(5).detach()[:4].requires_grad_()
    out = F.layer_norm(x, (4,), weight, bias)
    g = torch.from_numpy(np.random.default_rng(5).uniform(0.5, 1.5, (3, 4)))
    a = x.detach().numpy()
    known = {
        "μ": a.mean(1, keepdims=True),
        "σ": np.sqrt(a.var(1, keepdims=True) + 1e-5),
        "mean": lambda x: x.mean(1, keepdims=True),
    }
    for argument, leaf in {"input": x, "weight": weight, "bias": bias}.items():
        formula = local_gradient(out.grad_fn._op, argument)
        check(formula, {"input": x, "weight": weight, **known}, out, g, leaf)


def test_the_formula_of_qr_is_the_gradient():
    a = _matrix(4, 3)
    q, r = torch.linalg.qr(a)
    rng = np.random.default_rng(5)
    g, g1 = (torch.from_numpy(rng.uniform(0.5, 1.5, t.shape)) for t in (q, r))
    (wanted,) = torch.autograd.grad((q, r), a, (g, g1))
    values = arrays({"out": q, "out1": r, "g": g, "g1": g1})
    found = value_of(local_gradient(q.grad_fn._op, "A"), values)
    np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-7)


def test_the_formula_of_attention_is_the_gradient():
    q, k, v = _matrix(3, 4), _matrix(5, 4), _matrix(4, 5).detach().t().clone().requires_grad_()
    out = F.scaled_dot_product_attention(q, k, v)
    g = torch.from_numpy(np.random.default_rng(5).uniform(0.5, 1.5, (3, 4)))
    known = {
        "scale": 0.5,
        "mask": 0.0,
        "softmax": lambda x: special.softmax(x, -1),
        "sum": lambda x: x.sum(-1, keepdims=True),
    }
    for argument, leaf in {"query": q, "key": k, "value": v}.items():
        formula = local_gradient(out.grad_fn._op, argument)
        check(formula, {"query": q, "key": k, "value": v, **known}, out, g, leaf)


# ---- coverage


def _pairs():
    for entry in OPS.values():
        for targets in entry.targets:
            for i in targets:
                yield entry, entry.function.params[i]


# What has no formula: an error for a rule, or several steps that no line says.
_NO_RULE = set(
    """floor_divide _floor_divide_number _remainder_of_number heaviside
    zeta.input igamma.input igammac.input _set_away detach_copy _binomial _standard_gamma_grad
    _dirichlet _dirichlet_grad _leaky_relu_below_zero _elu_below_zero _celu_below_zero
    __rrelu_middle_below_zero ldl_factor_ex ldl_factor ldl_solve geqrf _ctc_loss_backward bincount
    _unique_all _unique_dim _unique_runs""".split()
)
_SEVERAL_STEPS = set(
    """_gather_sparse scatter_reduce index_reduce _segment_reduce _lu_factor _lu_parts
    _unpack_lu lu_solve.LU lu_factor lu_factor_ex renorm pinv _least_squares.A
    householder_product ormqr _multi_margin_loss _multilabel_margin_loss""".split()
)


def test_every_argument_has_a_formula_but_those_listed():
    without = [
        (entry.name, argument)
        for entry, argument in _pairs()
        if not local_gradient(entry.function, argument).text
    ]
    listed = _NO_RULE | _SEVERAL_STEPS
    assert [p for p in without if not {p[0], ".".join(p)} & listed] == []


def test_every_formula_of_a_pointwise_op_is_a_factor():
    for entry, argument in _pairs():
        formula = local_gradient(entry.function, argument)
        assert formula.is_factor or entry.kind != "pointwise" or not formula.text, entry.name


def test_what_is_listed_as_without_formula_has_none():
    for entry, argument in _pairs():
        if {entry.name, f"{entry.name}.{argument}"} & (_NO_RULE | _SEVERAL_STEPS):
            assert local_gradient(entry.function, argument).text == "", entry.name


# ---- rules


def test_the_rule_of_every_argument_is_found_where_it_is_written():
    root = Path(rushlight.__file__).parent
    for entry, argument in _pairs():
        found = rule(entry.function, argument)
        assert found is not None, (entry.name, argument)
        lines = (root / found.file).read_text().splitlines()
        begins = found.text.splitlines()[0]
        if re.fullmatch(r"-?[\d.e-]+", begins):
            continue  # a number may stand in the helper that makes the op
        assert begins in lines[found.line - 1], (entry.name, argument, found)


@pytest.mark.parametrize(
    ("op", "argument", "text", "file"),
    [
        ("tanh", "input", "lambda out: 1 - out * out", "ops/elementwise/elementary.py"),
        ("add", "input", "1", "ops/elementwise/arithmetic.py"),
        ("sub", "other", "-1", "ops/elementwise/arithmetic.py"),
        ("mul", "input", "lambda other: other", "ops/elementwise/arithmetic.py"),
        ("mul", "other", "lambda input: input", "ops/elementwise/arithmetic.py"),
        ("where", "input", "lambda condition: condition != 0", "ops/elementwise/selection.py"),
        ("where", "other", "lambda condition: condition == 0", "ops/elementwise/selection.py"),
        ("floor", "input", "0", "ops/elementwise/elementary.py"),
        ("mm", "mat2", "lambda g, input: matmul(input.mH, g)", "ops/matrix/products.py"),
        ("_clamp_low", "min", "lambda input, min: input < min", "ops/elementwise/selection.py"),
        ("_clamp_high", "max", "lambda input, max: input > max", "ops/elementwise/selection.py"),
    ],
)
def test_a_rule_is_given_as_written(op, argument, text, file):
    found = rule(OPS[op].function, argument)
    assert (found.text, found.file) == (text, file)


def test_a_rule_of_several_lines_is_given_whole():
    text = rule(OPS["softmax"].function, "input").text
    assert text.splitlines() == [
        "def _softmax_rule(g: Tensor, out: Tensor, dim: int) -> Tensor:",
        "    return out * (g - (g * out).sum(dim, keepdim=True))",
    ]


def test_a_number_made_in_a_helper_is_found_where_the_helper_writes_it():
    found = rule(OPS["floor"].function, "input")
    lines = (Path(rushlight.__file__).parent / found.file).read_text().splitlines()
    assert (found.text, lines[found.line - 1].strip()) == ("0", 'partials={"input": 0},')
    above = [line for line in lines[: found.line] if line.startswith("def ")]
    assert above[-1].startswith("def _rounding(")


def test_without_sources_no_rule_is_found_and_formulas_are_the_same():
    code = """if True:
    import linecache
    linecache.getlines = lambda *a: []
    import rushlight as torch
    from rushlight.explain._formulas import local_gradient, rule
    print(rule(torch.tanh, "input"), rule(torch.add, "input"))
    print(repr(local_gradient(torch.tanh, "input").text), local_gradient(torch.add, "input").text)
    print(local_gradient(torch.matmul, "input").text)
    """
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert done.stdout.splitlines() == ["None None", "'1 − out²' 1", "g · otherᵀ"]


def test_importing_rushlight_reads_no_sources_and_loads_no_formulas():
    code = "import sys, rushlight; print([m for m in sys.modules if 'rushlight.explain' in m])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert done.stdout.strip() == "[]"


def test_what_a_statement_writes_of_a_call_names_its_arguments():
    written = [entry for entry in OPS.values() if entry.written]
    assert len(written) > 20
    for entry in written:
        assert set(re.findall(r"{(\w*)}", entry.written)) <= set(entry.function.params), entry.name
