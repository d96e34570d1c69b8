"""Custom functions: a forward and a backward written by the user, one node in the graph.

The context `ctx` that both receive *is* the node: `y.grad_fn is ctx`,
and attributes set on it in forward are read there later.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import _core
from .._base.errors import warn
from .._core import Tensor
from .._levels.batch import BatchLevel
from .._levels.dual import DualLevel
from .._levels.running import only, transforms
from .._levels.running import state as _state
from .._levels.structure import youngest
from ..ops.making.creation import zeros as _zeros
from ._function_call import Signature, finish
from ._saved import SavedTensor

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "once_differentiable",
]


class FunctionCtx:
    """The `ctx` of `forward`, `setup_context` and `backward`.

    >>> class Clip(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x, limit):
    ...         ctx.save_for_backward(x)  # tensors; anything else is an attribute
    ...         ctx.limit = limit
    ...         return x.clamp(max=limit)
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * (x <= ctx.limit), None
    >>> x = torch.tensor([1.0, 3.0], requires_grad=True)
    >>> Clip.apply(x, 2.0).sum().backward()
    >>> x.grad
    tensor([1., 0.])
    """

    def save_for_backward(self, *tensors: object) -> None:
        """Keep tensors (or None) for backward; the last call counts."""
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type "
                    f"{type(t).__name__}"
                )
        self.to_save = tensors

    def save_for_forward(self, *tensors: object) -> None:
        """Keep tensors for `jvp`."""
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save "
                    f"non-tensors as attributes on ctx. Argument {i} is of type "
                    f"{type(t).__name__}."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors: object) -> None:
        """Say which inputs forward has changed in place.

        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.mark_dirty(x)
        ...         return x.mul_(2)
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         return 2 * g
        >>> x = torch.ones(2, requires_grad=True)
        >>> y = x.clone()
        >>> Double.apply(y).sum().backward()
        >>> x.grad, y.grad_fn.name()
        (tensor([2., 2.]), 'DoubleBackward')
        """
        for t in tensors:
            if not isinstance(t, Tensor):
                raise RuntimeError("mark_dirty can only accept variables, but argument ")
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: object) -> None:
        """Say which outputs have no gradient.

        >>> class Sorted(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         values, places = x.sort()
        ...         ctx.mark_non_differentiable(places)
        ...         ctx.save_for_backward(places)
        ...         return values, places
        ...     @staticmethod
        ...     def backward(ctx, g, _):
        ...         return torch.zeros_like(g).scatter(0, ctx.saved_tensors[0], g)
        >>> values, places = Sorted.apply(torch.tensor([3.0, 1.0], requires_grad=True))
        >>> values.requires_grad, places.requires_grad
        (True, False)
        """
        for t in tensors:
            if not isinstance(t, Tensor):
                raise RuntimeError(
                    "mark_non_differentiable only accepts variable arguments, but got "
                )
        self.non_differentiable = tensors

    def mark_shared_storage(self, *pairs: object) -> None:
        """Nothing: which tensors share memory is known without being told."""
        warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically "
            "tracked. Note that calls to `set_()` are not tracked",
            FutureWarning,
        )

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients that nobody sent arrive as zeros (the default) or as None."""
        self.materialize_grads: bool = bool(value)


class BackwardCFunction(_core.FunctionNode, FunctionCtx):
    """The node of one call; each Function class gets a subclass named `<Function>Backward`.

    >>> class Twice(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return 2 * g
    >>> node = Twice.apply(torch.ones(1, requires_grad=True)).grad_fn
    >>> node.name(), isinstance(node, torch.autograd.function.BackwardCFunction)
    ('TwiceBackward', True)
    """

    _forward_cls: Any = None
    to_save: tuple[Any, ...] = ()
    saved_for_forward: tuple[Any, ...] = ()
    dirty_tensors: tuple[Any, ...] = ()
    non_differentiable: tuple[Any, ...] = ()
    materialize_grads = True
    _materialize_non_diff_grads = True  # also those of outputs that have no gradient
    needs_input_grad: tuple[bool, ...] = ()
    _is_tensor: tuple[bool, ...] = ()
    _input_kinds: tuple[Any, ...] = ()  # shape and dtype of each tensor among the inputs
    _accessed = False
    _in_jvp = False
    _no_tensors: frozenset[int] = frozenset()  # the outputs that are none
    _no_gradients: frozenset[int] = frozenset()  # these, and the outputs not differentiable

    def apply(self, *grads: Any) -> Any:
        """Run backward once, as `node(*grads)` does."""
        return self(*grads)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors given to `save_for_backward`; inside jvp those given to
        `save_for_forward`."""
        if self._in_jvp:
            return self.saved_for_forward
        cls = self._forward_cls
        if cls is not None and cls.clear_saved_tensors_on_access:
            if self._accessed:
                raise RuntimeError(
                    "saved_tensors can only be accessed once when "
                    "clear_saved_tensors_on_access=True is set on the autograd.Function. Either "
                    "access saved_tensors only once, or set clear_saved_tensors_on_access=False."
                )
            self._accessed = True
            saved = self._unpack_saved()
            self._release()
            return saved
        if "_finished" not in self.__dict__:
            return self.to_save
        return self._unpack_saved()

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of `saved_tensors`."""
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        return tuple(SavedTensor._of(self, i) for i in range(len(self._unpack_saved())))

    def _release_saved(self) -> None:
        self._release()

    def _run_backward(self, grads: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        if self.materialize_grads and any(g is None for g in grads):
            left = self._no_tensors if self._materialize_non_diff_grads else self._no_gradients
            metas = enumerate(zip(grads, self._output_metas, strict=True))
            grads = tuple(
                _zeros(shape, dtype=dtype, device=where) if g is None and i not in left else g
                for i, (g, (shape, dtype, where)) in metas
            )
        cls = self._forward_cls
        rule = cls.backward
        if rule is Function.backward:
            rule = cls.vjp
        elif cls.vjp is not Function.vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
                "should only implement one of them."
            )
        result = rule(self, *grads)
        return self._checked(result if isinstance(result, tuple) else (result,))

    def _checked(self, result: tuple[object, ...]) -> tuple[Tensor | None, ...]:
        name, expected = type(self).__name__, len(self._is_tensor)
        if len(result) > expected and all(r is None for r in result[expected:]):
            result = result[:expected]
        if len(result) != expected:
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients (expected {expected}, "
                f"got {len(result)})"
            )
        kept: list[Any] = []
        for i, (value, is_tensor) in enumerate(zip(result, self._is_tensor, strict=True)):
            if not is_tensor:
                if value is not None:
                    raise RuntimeError(
                        f"function {name} returned a gradient different than None at position "
                        f"{i + 1}, but the corresponding forward input was not a Variable"
                    )
                continue
            if value is None:
                kept.append(None)
                continue
            if not isinstance(value, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(value).__name__})")
            shape, dtype = self._input_kinds[len(kept)]
            if value.dtype.is_complex and not dtype.is_complex and self.needs_input_grad[i]:
                raise RuntimeError(
                    "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == "
                    "grad_is_complex) to be true, but got false. "
                    f"{name} returned a complex gradient for input {i}, which is {dtype}: return "
                    "its real part."
                )
            if value.numel() > shape.numel() and _broadcasts(shape, value.shape):
                warn(
                    f"{name} returned a gradient of shape {tuple(value.shape)} for input {i} of "
                    f"shape {tuple(shape)}: it is summed to the input's shape. If this is not a "
                    "broadcast of the input, the gradient is wrong; return it with the input's "
                    "own shape.",
                )
            kept.append(value)
        return tuple(kept)


def _broadcasts(small: Any, large: Any) -> bool:
    """Whether a shape broadcasts to another."""
    shift = len(large) - len(small)
    return shift >= 0 and all(n in (1, m) for n, m in zip(small, large[shift:], strict=True))


class FunctionMeta(type):
    """Gives each Function class the class of its nodes.

    >>> isinstance(torch.autograd.Function, torch.autograd.function.FunctionMeta)
    True
    """

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        super().__init__(name, bases, attributes)
        cls._signature: Any = None
        cls._backward_cls = type(
            name + "Backward",
            (BackwardCFunction,),
            {"_forward_cls": cls, "__module__": "torch.autograd.function"},
        )


_NO_BACKWARD = (
    "You must implement either the backward or vjp method for your custom autograd.Function to use "
    "it with backward mode AD."
)


def _of_any_parameters(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method itself: to checkers of types one whose place any method may take."""
    return method


class Function(FunctionCtx, metaclass=FunctionMeta):
    """Base of custom differentiable functions: override `forward` and `backward`, call `apply`.

    >>> class Exp(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         y = x.exp()
    ...         ctx.save_for_backward(y)
    ...         return y
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (y,) = ctx.saved_tensors
    ...         return g * y
    >>> x = torch.tensor(0.0, requires_grad=True)
    >>> Exp.apply(x).backward()
    >>> x.grad
    tensor(1.)
    """

    clear_saved_tensors_on_access = False
    generate_vmap_rule = False
    _for_transforms = False  # the library's own, which need none of what `_check_transforms` asks
    _backward_cls: Any
    _generated_cls: Any
    _signature: Any  # a Signature, made when it is first needed

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method. "
            "(Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result; receives `ctx` first unless `setup_context` is overridden."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    @_of_any_parameters
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what backward needs, apart from forward.

        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(x):  # no ctx: usable under torch.func too
        ...         return x * x
        ...     @staticmethod
        ...     def setup_context(ctx, inputs, output):
        ...         ctx.save_for_backward(*inputs)
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         return 2 * ctx.saved_tensors[0] * g
        >>> torch.func.grad(Square.apply)(torch.tensor(3.0))
        tensor(6.)
        """
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    @_of_any_parameters
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """One gradient per input of forward, None where there is none."""
        raise NotImplementedError(_NO_BACKWARD)

    @staticmethod
    @_of_any_parameters
    def vjp(ctx: BackwardCFunction, *grad_outputs: object) -> Any:
        """Another name of `backward`."""
        raise NotImplementedError(_NO_BACKWARD)

    @staticmethod
    @_of_any_parameters
    def jvp(ctx: Any, *grad_inputs: object) -> Any:
        """The forward-mode derivative."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    @_of_any_parameters
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """The call on whole batches, under vmap: gives (output, out_dims). `in_dims` says where
        each argument has the batch, None for none; info has `batch_size` and `randomness`."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap static method "
            "or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward and record the call."""
        separate = cls.setup_context is not Function.setup_context
        if kwargs or separate:
            if cls._signature is None:
                cls._signature = Signature(cls.forward, 0 if separate else 1)
            args = cls._signature.positional(args, kwargs, separate)
        if _state.stack:
            _check_transforms(cls)
        for a in args:
            if isinstance(a, Tensor) and a._wrapped is not None:
                return youngest(args).level.function(cls, args)
        if _state.stack:
            with only([]):  # forward is one op of the transforms, not a part of them
                ctx, outputs = cls._run(args, cls._generated())
        else:
            ctx, outputs = cls._run(args)
        if ctx.saved_for_forward:
            ctx.saved_for_forward = ()  # for jvp alone, which comes next or never
        return outputs

    @classmethod
    def _under_dual(cls, args: tuple[object, ...], level: DualLevel) -> Tensor:
        from ._custom_function import with_tangents  # here, as it is written with Function

        return with_tangents(cls, args, level)

    @classmethod
    def _under_batch(cls, args: tuple[Tensor, ...], level: BatchLevel) -> Tensor:
        from ._custom_function import mapped  # here, as it is written with Function

        return mapped(cls, args, level)

    @classmethod
    def _generated(cls) -> type:
        """The class of nodes made inside of transforms."""
        if cls._for_transforms:
            return cls._backward_cls
        found = cls.__dict__.get("_generated_cls")
        if found is None:
            found = cls._generated_cls = type(
                f"{cls.__name__}GeneratedBackward",
                (cls._backward_cls,),
                {"__module__": "torch.autograd.function"},
            )
        return found

    @classmethod
    def _run(cls, args: tuple[object, ...], node: type | None = None) -> tuple[Any, Any]:
        """(the node, the results) of a call with plain tensors."""
        separate = cls.setup_context is not Function.setup_context
        ctx = (node or cls._backward_cls)()
        ctx._is_tensor, needs, tensors, kinds = _core.arguments_of(args)
        ctx.needs_input_grad = needs
        recording = _core.is_grad_enabled() and any(needs)
        if recording:
            ctx._input_kinds = tuple(kinds)
            # Before forward: an input that forward overwrites keeps the edge it had.
            ctx._set_edges(tensors)
        before = _core.set_grad_enabled(False)
        forward, _state.forward = _state.forward, False
        try:
            if separate:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args)
        finally:
            _core.set_grad_enabled(before)
            _state.forward = forward
        single = not isinstance(output, tuple)
        outputs = finish(ctx, (output,) if single else output, tensors, recording)
        return ctx, outputs[0] if single else outputs


_EXTENDING = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


def _check_transforms(cls: Any) -> None:
    """That a Function says what the running transforms need to know of it."""
    levels = [level for level in transforms() if not level.inside]
    if not levels or cls._for_transforms:
        return
    if cls.setup_context is Function.setup_context:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, "
            "jacrev, ...), it must override the setup_context staticmethod. " + _EXTENDING
        )
    if not any(level.maps for level in levels):
        return
    own = cls.vmap is not Function.vmap
    if own and cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and "
            "an overridden vmap staticmethod. Please set generate_vmap_rule=False or delete the "
            "overridden vmap staticmethod to avoid ambiguity. " + _EXTENDING
        )
    if not own and not cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please "
            "override and implement the vmap staticmethod or set generate_vmap_rule=True. "
            + _EXTENDING
        )


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of `backward`: it cannot be differentiated again, and saying so is an error,
    not silence.

    >>> class Cube(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...     @staticmethod
    ...     @torch.autograd.function.once_differentiable
    ...     def backward(ctx, g):
    ...         return 3 * ctx.saved_tensors[0] ** 2 * g
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> (g,) = torch.autograd.grad(Cube.apply(x), x, create_graph=True)
    >>> g.backward()
    Traceback (most recent call last):
        ...
    RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn...
    """

    @functools.wraps(function)
    def wrapper(ctx: BackwardCFunction, *args: object) -> Tensor:
        grad_enabled = _core.is_grad_enabled()
        before = _core.set_grad_enabled(False)
        try:
            result = function(ctx, *args)
        finally:
            _core.set_grad_enabled(before)
        wanted = any(isinstance(a, Tensor) and a.requires_grad for a in args)
        if not grad_enabled or not wanted:
            return result
        refuse = DelayedError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )
        # Leaves of its own: nothing that the program has is reached from here.
        return refuse(
            *[
                v if v is None else v.detach().requires_grad_()
                for v in (result if isinstance(result, tuple) else (result,))
            ]
        )

    return wrapper


class DelayedError:
    """Passes tensors on; a backward through the results raises. `torch._C._functions.DelayedError`.

    >>> x = torch.ones(1, requires_grad=True)
    >>> y = torch._C._functions.DelayedError(b"no derivative here", 1)(x)
    >>> y.backward()
    Traceback (most recent call last):
        ...
    RuntimeError: no derivative here
    """

    def __init__(self, message: str | bytes, num_outputs: int = 1) -> None:
        self.message: str = message.decode() if isinstance(message, bytes) else message

    def __call__(self, *inputs: Any) -> Any:
        return Error._passed(inputs, self.message)


class _Passing(_core.FunctionNode):
    """A node of tensors that are passed on."""

    __module__ = "builtins"  # as torch's prints

    def __init__(self, message: str = "") -> None:
        self.message = message

    @classmethod
    def _passed(cls, inputs: tuple[Any, ...], *message: str) -> object:
        results = [v.detach() if isinstance(v, Tensor) else v for v in inputs]
        wanted = any(isinstance(v, Tensor) and v.requires_grad for v in inputs)
        if wanted and _core.is_grad_enabled():
            node = cls(*message)
            node._set_edges(inputs)
            node._attach(results, results)
        return tuple(results) if len(results) != 1 else results[0]

    def _release_saved(self) -> None:
        pass


class Error(_Passing):
    """A node that raises when a gradient reaches it."""

    def _run_backward(self, grads: tuple[Tensor, ...]) -> tuple[Any, ...]:
        raise RuntimeError(self.message)


class UndefinedGradBackward(_Passing):
    """A node that passes no gradient on."""

    def _run_backward(self, grads: tuple[Tensor, ...]) -> tuple[Any, ...]:
        return (None,)


class UndefinedGrad:
    """Passes a tensor on; in a backward its gradient is lost. `torch._C._functions.UndefinedGrad`.

    >>> x = torch.ones(1, requires_grad=True)
    >>> torch._C._functions.UndefinedGrad()(x).backward()
    >>> x.grad is None
    True
    """

    def __call__(self, *inputs: Any) -> Any:
        if len(inputs) != 1:
            raise TypeError(f"expected 1 arguments, got {len(inputs)} instead")
        return UndefinedGradBackward._passed(inputs)


class InplaceFunction(Function):
    """The base of functions with an `inplace` argument of an older interface.

    >>> class Halve(torch.autograd.function.InplaceFunction):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x / 2
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g / 2
    >>> Halve(inplace=True).inplace
    True
    >>> Halve.apply(torch.tensor([3.0]))
    tensor([1.5000])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
