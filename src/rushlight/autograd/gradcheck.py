"""gradcheck: compares the gradients that backward gives with finite differences.

The Jacobians are computed in `_jacobians.py` and compared in `_mismatch.py`. Of complex
outputs the imaginary and the real part are checked one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .. import _core
from .._base.errors import warn
from .._base.late import late
from .._base.outside import np
from .._core import Tensor
from .._levels.batch import BatchLevel
from .._levels.structure import rows as rows_of
from ..ops.making.creation import zeros_like as _zeros_like
from . import forward_ad
from ._engine import grad as _grad
from ._jacobians import (
    Duals,
    GradcheckError,
    Matrix,
    as_jacobians,
    by_backward,
    by_differences,
    by_forward_mode,
    combined,
    direction,
    quotients,
    replaced,
    steps,
    tangents_of,
    there,
    values,
    write,
)
from ._mismatch import close, lesson, mismatch, shown
from .function import Function

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


_SEE = (
    'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
)

_FORWARD_BATCHED = """
gradcheck failed while testing batched gradient computation with forward-mode AD.
check_batched_forward_grad=True maps the function over a batch of tangents with vmap: write jvp with
operations that vmap can map, or leave the check out.
"""

_NOT_REENTRANT = """

NOTE: If your op relies on non-deterministic operations i.e., it is listed here:
https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html
this failure might be expected.

Every operation here is deterministic: look for random numbers, counters or other state in the
backward of a custom Function, or pass `nondet_tol=<tol>` if the difference is meant.
"""


def _tuple(value: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _tensors(values: Sequence[Tensor], differentiable: bool = False) -> list[Tensor]:
    """All tensors among arguments, those inside lists too."""
    found = []
    for v in values:
        if isinstance(v, Tensor):
            if v.requires_grad or not differentiable:
                found.append(v)
        elif isinstance(v, (tuple, list)):
            found += _tensors(v, differentiable)
    return found


def _outputs(value: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(o for o in _tuple(value) if isinstance(o, Tensor) and o.requires_grad)


def _part(tensor: Tensor, part: str | None) -> Tensor:
    """The real or imaginary part of a complex output; anything else as it is."""
    if part is None or not tensor.dtype.is_complex:
        return tensor
    return tensor.imag if part == "imaginary" else tensor.real


def _warn_of_undefined() -> None:
    warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by "
        "default, but it may break existing callers of this function. If this is true for you, you "
        'can call this function with "check_undefined_grad=False" to disable the feature',
    )


class _Check:
    """One call of gradcheck: the function, its inputs and what was asked for."""

    def __init__(
        self, function: Callable[..., Any], inputs: tuple[Tensor, ...], options: dict[str, float]
    ) -> None:
        self.function, self.inputs = function, inputs
        self.wanted = _tensors(inputs, differentiable=True)
        self.__dict__.update(options)

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_undefined_grad: bool
    check_grad_dtypes: bool
    check_batched_grad: bool
    check_batched_forward_grad: bool
    check_forward_ad: bool
    check_backward_ad: bool
    fast_mode: bool

    def results(self, part: str | None) -> Callable[..., tuple[Any, ...]]:
        """The function with a tuple of tensors as the result, of complex tensors the `part`."""
        which = self.which

        def run(*args: object) -> tuple[Tensor, ...]:
            given = _tuple(self.function(*args))
            return tuple(_part(given[i], part) for i in which)

        return run

    def run(self) -> None:
        self.check_inputs()
        given = _tuple(self.function(*self.inputs))
        all_outputs = [i for i, o in enumerate(given) if isinstance(o, Tensor)]
        self.which = [i for i in all_outputs if given[i].requires_grad]
        if not self.which:
            self.which = [i for i in all_outputs if given[i].dtype.is_differentiable]
            for row in by_differences(self.results(None), self.inputs, self.wanted, self.eps):
                for n in row:
                    if not close(np.zeros_like(n), n, self.rtol, self.atol):
                        raise GradcheckError("Numerical gradient for function expected to be zero")
            return
        is_complex = [given[i].dtype.is_complex for i in self.which]
        parts: tuple[str | None, ...] = ("imaginary", "real") if any(is_complex) else (None,)
        for part in parts:
            if self.check_backward_ad:
                (self.fast if self.fast_mode else self.slow)(part, is_complex)
            if self.check_forward_ad:
                self.forward(part, is_complex)
                if self.check_undefined_grad:
                    self.undefined_tangents(part)
        if self.check_batched_forward_grad:
            self.batched_forward()
        if self.check_backward_ad:
            if self.check_batched_grad:
                self.batched()
            self.zero_seed()
            if self.check_undefined_grad:
                self.undefined()

    def check_inputs(self) -> None:
        if not self.wanted:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of them "
                "have requires_grad=True."
            )
        for i, x in enumerate(self.inputs):
            if not isinstance(x, Tensor) or not x.requires_grad:
                continue
            if x.dtype.name not in ("float64", "complex128"):
                warn(
                    f"Input #{i} requires gradient and is not a double precision floating point "
                    "or complex. This check will likely fail if all the inputs are not of double "
                    "precision floating point or complex. ",
                )
            if any(s == 0 and n > 1 for s, n in zip(x.stride(), x.shape, strict=True)):
                raise RuntimeError(
                    f"The {i}th input has a dimension with stride 0. gradcheck only supports "
                    "inputs that are non-overlapping to be able to compute the numerical gradients "
                    "correctly. You should call .contiguous on the input before passing "
                    "it to gradcheck."
                )
        for x in self.wanted:
            if x.is_leaf:
                continue
            x.retain_grad()

    def jacobians(self, output: Tensor) -> list[Matrix]:
        """The analytical Jacobians of one output, computed twice."""
        first = by_backward(output, self.wanted, check_dtypes=self.check_grad_dtypes)
        again = by_backward(output, self.wanted)
        for a, b in zip(first, again, strict=True):
            with np.errstate(all="ignore"):
                if (
                    a.size
                    and not np.array_equal(a, b, equal_nan=True)
                    and np.abs(a - b).max() > self.nondet_tol
                ):
                    raise self.not_reentrant()
        return first

    def not_reentrant(self) -> GradcheckError:
        return GradcheckError(
            "Backward is not reentrant, i.e., running backward with same input and grad_output "
            "multiple times gives different values, although analytical gradient matches numerical "
            f"gradient.The tolerance for nondeterminism was {self.nondet_tol}." + _NOT_REENTRANT
        )

    def slow(self, part: str | None, is_complex: list[bool]) -> None:
        function = self.results(part)
        numerical = by_differences(function, self.inputs, self.wanted, self.eps)
        outputs = function(*self.inputs)
        analytical = (self.jacobians(output) for output in outputs)
        self.compare(analytical, numerical, part, is_complex, False)

    def compare(
        self,
        analytical: Iterable[list[Any]],
        numerical: list[Any],
        part: str | None,
        is_complex: list[bool],
        forward: bool,
    ) -> None:
        """Raise for the first output and input whose Jacobians differ."""
        for o, (row_a, row_n) in enumerate(zip(analytical, numerical, strict=True)):
            for i, (a, n) in enumerate(zip(row_a, row_n, strict=True)):
                if not close(a, n, self.rtol, self.atol):
                    raise mismatch(
                        shown(a),
                        shown(n),
                        o,
                        i,
                        part if is_complex[o] else None,
                        forward,
                        lesson(a, n, self.rtol, self.atol, self.wanted[i]),
                    )

    def fast(self, part: str | None, is_complex: list[bool]) -> None:
        """One random direction for each input and output instead of whole Jacobians."""
        random = np.random.RandomState(2718)
        function = self.results(part)
        outputs = function(*self.inputs)
        seeds = [random.rand(o.numel()) for o in outputs]
        for i, x in enumerate(self.wanted):
            u = direction(random, x)
            slopes = self.slopes(function, x, u)
            for o, output in enumerate(outputs):
                v = seeds[o] / (np.linalg.norm(seeds[o]) or 1.0)
                seed = there(v.reshape(output.shape), output)
                found = []
                for _ in range(2):
                    (g,) = _grad((output,), (x,), (seed,), retain_graph=True, allow_unused=True)
                    found.append(
                        np.zeros(x.shape) if g is None else np.array(g.detach()._host_array)
                    )
                if not np.array_equal(found[0], found[1], equal_nan=True) and (
                    np.abs(found[0] - found[1]).max() > self.nondet_tol
                ):
                    raise self.not_reentrant()
                numerical = (v * slopes[o]).sum()
                analytical = (found[0] * u).sum()
                if not close(np.asarray(analytical), np.asarray(numerical), self.rtol, self.atol):
                    self.explain_fast(part, is_complex, o, i, analytical, numerical)

    def slopes(self, function: Any, x: Tensor, u: Matrix) -> list[Matrix]:
        """The differences of all results along a direction of one input."""
        array, original = _core.to_write(x), x._host_array.copy()
        parts = []
        for step in steps(x):
            write(x, array, ..., original - self.eps * step * u)
            below = [r.clone() for r in function(*self.inputs)]
            write(x, array, ..., original + self.eps * step * u)
            above = function(*self.inputs)
            parts.append(quotients(above, below, self.eps, ""))
            write(x, array, ..., original)
        return combined(parts)

    def explain_fast(
        self,
        part: str | None,
        is_complex: list[bool],
        o: int,
        i: int,
        analytical: object,
        numerical: object,
    ) -> None:
        function = self.results(part)
        n = by_differences(function, self.inputs, self.wanted, self.eps)[o][i]
        a = by_backward(function(*self.inputs)[o], self.wanted)[i]
        worst = np.abs(n - a).max() if n.size else 0.0
        raise mismatch(
            analytical,
            numerical,
            o,
            i,
            part if is_complex[o] else None,
            False,
            "\nThe above quantities relating the numerical and analytical jacobians are computed \n"
            "in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more "
            "background \n"
            "about fast mode. Below, we recompute numerical and analytical jacobians in slow "
            "mode:\n\n"
            f"Numerical:\n {shown(n)}\nAnalytical:\n{shown(a)}\n\n"
            f"The max per-element difference (slow mode) is: {worst}.\n"
            + lesson(a, n, self.rtol, self.atol, self.wanted[i]),
        )

    def forward(self, part: str | None, is_complex: list[bool]) -> None:
        function = self.results(part)
        if self.fast_mode:
            numerical, analytical = self.along(function)
        else:
            numerical = by_differences(function, self.inputs, self.wanted, self.eps)
            analytical = by_forward_mode(function, self.inputs, self.wanted)
        self.compare(analytical, numerical, part, is_complex, True)

    def along(self, function: Any) -> tuple[list[Any], list[Any]]:
        """Numerical and forward-mode derivatives along one random direction of each input."""
        random = np.random.RandomState(2718)
        directions = [direction(random, x) for x in self.wanted]
        numerical = [
            [self.slopes(function, x, u)] for x, u in zip(self.wanted, directions, strict=True)
        ]
        analytical: list[list[list[Matrix]]] = []
        with forward_ad.dual_level():
            duals = Duals(self.inputs, self.wanted)
            for x, u, tangent in zip(self.wanted, directions, duals.tangents, strict=True):
                array, parts = _core.to_write(tangent), []
                for step in steps(x):
                    write(tangent, array, ..., step * u)
                    parts.append(values(tangents_of(function(*duals.arguments()))))
                write(tangent, array, ..., 0)
                analytical.append([combined(parts)])
        results = function(*self.inputs)
        return as_jacobians(numerical, results), as_jacobians(analytical, results)

    def undefined_tangents(self, part: str | None) -> None:
        """An input without a tangent must do what one with a tangent of zeros does."""
        function = self.results(part)
        random = np.random.RandomState(2718)
        with forward_ad.dual_level():
            duals = Duals(self.inputs, self.wanted)
            for x, tangent in zip(self.wanted, duals.tangents, strict=True):
                write(tangent, _core.to_write(tangent), ..., direction(random, x))
            for i, x in enumerate(self.wanted):
                zeros = forward_ad.make_dual(x.detach(), _zeros_like(x.detach()))
                with_zeros = tangents_of(function(*duals.arguments({i: zeros})))
                without = tangents_of(function(*duals.arguments({i: x.detach()})))
                for o, (a, b) in enumerate(zip(with_zeros, without, strict=True)):
                    if not close(a._host_array, b._host_array, 1e-5, 1e-8):
                        raise GradcheckError(
                            "Mismatch in tangent values for output with index: ",
                            o,
                            " when input: ",
                            x,
                            " has an undefined tangent value. ",
                            " Got: ",
                            a,
                            " but expected: ",
                            b,
                        )

    def batched_forward(self) -> None:
        """Batched tangents must give the same results as single tangents."""
        random = np.random.RandomState(2718)
        function = self.results(None)
        plain = {id(x): x.detach() for x in self.wanted}
        for i, x in enumerate(self.wanted):
            rows = random.standard_normal((2, *x.shape)).astype(x.dtype.numpy)

            def along(tangent: Tensor, x: Tensor = x) -> list[Tensor]:
                with forward_ad.dual_level():
                    dual = forward_ad.make_dual(x.detach(), tangent)
                    given = {**plain, id(x): dual}
                    return tangents_of(function(*[replaced(a, given) for a in self.inputs]))

            one = [along(there(row, x)) for row in rows]
            try:
                with BatchLevel(2, inside=True) as level:
                    both = along(level.wrap(there(rows, x)))
                    found = [rows_of(t, level) for t in both]
            except RuntimeError as error:
                raise GradcheckError(
                    f"While computing batched gradients, got: {error}\n\n{_FORWARD_BATCHED}"
                ) from error
            for o, both_rows in enumerate(found):
                want = np.stack([row[o]._host_array for row in one])
                if not close(both_rows._host_array, want, 1e-5, 1e-8):
                    raise GradcheckError(
                        f"\nFor output {o} and input {i}:\n{_FORWARD_BATCHED}\n\nGot:\n"
                        f"{both_rows}\n\nExpected:\n{shown(want)}\n".strip()
                    )

    def batched(self) -> None:
        """Batched gradients must equal single gradients."""
        random = np.random.RandomState(2718)
        for o, output in enumerate(_outputs(self.function(*self.inputs))):
            seed = random.rand(2, *output.shape).astype(output.dtype.numpy)
            options = {"retain_graph": True, "allow_unused": True}
            try:
                both = _grad(
                    (output,),
                    tuple(self.wanted),
                    (there(seed, output),),
                    is_grads_batched=True,
                    **options,
                )
            except RuntimeError as error:
                raise GradcheckError(
                    f"While computing batched gradients, got: {error}\n\n"
                    "check_batched_grad=True maps the backward over a batch of gradients with "
                    "vmap: write the backward with operations that vmap can map, or leave the "
                    "check out."
                ) from error
            for k in range(2):
                one = _grad((output,), tuple(self.wanted), (there(seed[k], output),), **options)
                for i, (b, g) in enumerate(zip(both, one, strict=True)):
                    if g is not None and not close(
                        b._host_array[k], g._host_array, self.rtol, self.atol
                    ):
                        raise GradcheckError(
                            "Gradcheck failed while testing batched gradient computation. For "
                            f"output {o} and input {i}: batched {b[k]}, one by one {g}."
                        )

    def zero_seed(self) -> None:
        """A gradient of zeros must give zeros, of the input's type and size."""
        outputs = _outputs(self.function(*self.inputs))
        seeds = tuple(_zeros_like(o.detach()) for o in outputs)
        found = _grad(outputs, tuple(self.wanted), seeds, allow_unused=True)
        for g, x in zip(found, self.wanted, strict=True):
            if g is None:
                continue
            if not bool((g._host_array == 0).all()):
                raise GradcheckError("backward not multiplied by grad_output")
            if g.dtype is not x.dtype:
                raise GradcheckError("grad is incorrect type")
            if g.shape != x.shape:
                raise GradcheckError("grad is incorrect size")

    def undefined(self) -> None:
        """A gradient that nobody sent (None) must do no harm, and count as zeros."""

        class UndefinedGrad(Function):
            @staticmethod
            def forward(ctx: Any, x: Tensor) -> Tensor:
                return x.clone()

            @staticmethod
            def backward(ctx: Any, g: Tensor) -> None:
                return None

        count = len(_outputs(self.function(*self.inputs)))
        for skipped in [None, *range(count)] if count > 1 else [None]:
            outputs = [
                UndefinedGrad.apply(o) if skipped in (None, k) else o
                for k, o in enumerate(_outputs(self.function(*self.inputs)))
            ]
            seeds = tuple(_zeros_like(o.detach()) for o in outputs)
            try:
                found = _grad(tuple(outputs), tuple(self.wanted), seeds, allow_unused=True)
            except RuntimeError as error:
                _warn_of_undefined()
                raise GradcheckError(
                    f"Expected backward function to handle undefined output grads. {_SEE}"
                ) from error
            for g in found:
                if g is not None and not bool((g._host_array == 0).all()):
                    _warn_of_undefined()
                    raise GradcheckError(
                        "Expected all input grads to be undefined or zero when all output grads "
                        f"are undefined or zero. {_SEE}"
                    )


def _is_sparse(value: object) -> bool:
    w = value._attached if isinstance(value, _core.Tensor) else None
    return w is not None and not w.strided


def gradcheck(
    func: Callable[..., object],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of `func` at `inputs` (double precision) with finite differences.

    True when they agree; else GradcheckError, or False with raise_exception=False. fast_mode
    compares one random direction instead of every element. check_forward_ad checks forward mode as
    well.

    >>> torch.autograd.gradcheck(torch.sin, torch.ones(2, dtype=torch.float64, requires_grad=True))
    True
    """
    assert check_forward_ad or check_backward_ad, (
        "Expected at least one of check_forward_ad or check_backward_ad to be True"
    )
    assert not (check_batched_grad and not check_backward_ad), (
        "Setting check_batched_grad=True requires check_backward_ad to be True"
    )
    assert not (check_batched_forward_grad and not check_forward_ad), (
        "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
    )
    options = dict(locals())
    if any(map(_is_sparse, _tuple(inputs))):
        for name in ("func", "inputs"):
            options.pop(name)
        of_values = late.sparse_gradcheck(gradcheck)
        return bool(of_values(func, _tuple(inputs), **options))
    for name in ("func", "inputs", "raise_exception", "masked"):
        options.pop(name)
    check = _Check(func, _tuple(inputs), options)
    if raise_exception:
        check.run()
        return True
    try:
        check.run()
    except GradcheckError:
        return False
    return True


_OF_BOTH = """eps atol rtol raise_exception nondet_tol check_undefined_grad check_grad_dtypes
check_batched_grad fast_mode masked""".split()  # options of gradcheck and gradgradcheck


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check the second derivatives: `gradcheck` of the function that computes the gradients.

    >>> x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(torch.sin, x)
    True
    """
    options = dict(locals())
    assert check_fwd_over_rev or check_rev_over_rev, (
        "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
    )
    assert not (check_undefined_grad and not check_rev_over_rev), (
        "Setting check_undefined_grad=True requires check_rev_over_rev to be True"
    )
    inputs = _tuple(inputs)
    if grad_outputs is None:
        random = np.random.RandomState(2718)
        made = []
        for o in _outputs(func(*inputs)):
            value = random.standard_normal(o.shape)
            if o.dtype.is_complex:
                value = value + 1j * random.standard_normal(o.shape)
            value = np.asarray(value)
            if gen_non_contig_grad_outputs and value.ndim:
                value = np.stack([value, value], axis=-1)[..., 0]
            made.append(there(value, o).requires_grad_())
        grad_outputs = tuple(made)
    else:
        grad_outputs = _tuple(grad_outputs)
    n = len(grad_outputs)
    wants = [x.requires_grad for x in _tensors(inputs + grad_outputs)]

    def gradients(*args: Any) -> tuple[Tensor, ...]:
        for x, wanted in zip(_tensors(args), wants, strict=True):
            if wanted and not x.requires_grad:  # forward mode is given detached tensors
                x.requires_grad_()
        given, seeds = args[: len(args) - n], args[len(args) - n :]
        found = _grad(
            _outputs(func(*given)),
            tuple(_tensors(given, differentiable=True)),
            seeds,
            create_graph=True,
            allow_unused=True,
        )
        return tuple(g for g in found if g is not None)

    options = {name: options[name] for name in _OF_BOTH}
    options |= {"check_forward_ad": check_fwd_over_rev, "check_backward_ad": check_rev_over_rev}
    return gradcheck(gradients, inputs + grad_outputs, **options)
