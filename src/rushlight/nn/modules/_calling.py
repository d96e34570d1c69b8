"""Calls of modules with hooks: the slow path of `Module.__call__`.

Order: forward pre-hooks (global ones first), the input side of backward hooks, `forward`, forward
hooks (global ones first), the output side of backward hooks. Modules without hooks never come here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

from rushlight import _root as rl
from rushlight._root import Tensor

from ..._base.errors import warn
from ..._base.handles import Hooks, Numbered, listed, run_hook
from ..._core import Node


class GlobalHooks:
    """Hooks common to all modules."""

    def __init__(self) -> None:
        self.forward_pre: Hooks = OrderedDict()
        self.forward: Hooks = OrderedDict()
        self.forward_with_kwargs: Hooks = OrderedDict()
        self.forward_always: Hooks = OrderedDict()
        self.backward_pre: Hooks = OrderedDict()
        self.backward: Hooks = OrderedDict()
        self.full_backward: bool | None = None
        self.on_parameter: Hooks = OrderedDict()
        self.on_buffer: Hooks = OrderedDict()
        self.on_module: Hooks = OrderedDict()


GLOBAL = GlobalHooks()


def is_hooked(module: Any) -> bool:
    """Whether a call of a module runs more than its `forward`, now."""
    for_all = GLOBAL.forward_pre, GLOBAL.forward, GLOBAL.backward_pre, GLOBAL.backward
    kinds = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
    own = module.__dict__
    return any(for_all) or any(own.get(k) for k in (*kinds, "_compiled_call_impl"))


def registered(kind: Hooks, module: object, name: str, value: object) -> Any:
    """`value` after the global registration hooks of a kind have seen (and perhaps replaced) it."""
    for _, hook in listed(kind):
        replacement = hook(module, name, value)
        if replacement is not None:
            value = replacement
    return value


def call_with_hooks(module: Any, args: tuple[Tensor, ...], kwargs: dict[str, Any]) -> Any:
    """Runs `module.forward` between the hooks that apply to it, or what `Module.compile` made."""
    compiled = module.__dict__.get("_compiled_call_impl")
    if compiled is not None:
        return compiled(*args, **kwargs)
    return _hooked(module, args, kwargs)


def call_uncompiled(module: Any, *args: Any, **kwargs: Any) -> Any:
    """The call of a module that `Module.compile` was called of, as it is without."""
    return _hooked(module, args, kwargs)


def _hooked(module: Any, args: tuple[Tensor, ...], kwargs: dict[str, Any]) -> Any:
    own = module.__dict__
    none: dict[int, object] = {}
    pre = own.get("_forward_pre_hooks", none)
    post = own.get("_forward_hooks", none)
    backward = own.get("_backward_hooks", none)
    backward_pre = own.get("_backward_pre_hooks", none)
    if not (
        pre
        or post
        or backward
        or backward_pre
        or GLOBAL.forward_pre
        or GLOBAL.forward
        or GLOBAL.backward
        or GLOBAL.backward_pre
    ):
        return module.forward(*args, **kwargs)

    call = _Call(module, args, kwargs)
    try:
        return call.run(pre, post, backward, backward_pre)
    except Exception:
        call.run_remaining_always_hooks(post)
        raise


class _Call:
    """One call of a module with hooks: its arguments as the hooks leave them, and its result."""

    def __init__(self, module: Any, args: tuple[Tensor, ...], kwargs: dict[str, Any]) -> None:
        self.module = module
        self.args = args
        self.kwargs = kwargs
        self.result: Any = None
        self.finished: set[int] = set()  # always-called hooks that have had their turn

    def run(self, pre: Hooks, post: Hooks, backward: Hooks, backward_pre: Hooks) -> Any:
        module = self.module
        full: Numbered = []
        old: Numbered = []
        for hooks, is_full in (
            (GLOBAL.backward, GLOBAL.full_backward),
            (backward, module._is_full_backward_hook),
        ):
            (full if is_full else old).extend(listed(hooks))
        pre_backward = listed(GLOBAL.backward_pre, backward_pre)

        self._forward_pre_hooks(listed(GLOBAL.forward_pre, pre))
        on_backward = BackwardHook(module, full, pre_backward) if full or pre_backward else None
        if on_backward is not None:
            self.args = on_backward.setup_input_hook(self.args)

        self.result = module.forward(*self.args, **self.kwargs)

        always = module._forward_hooks_always_called
        for key, hook in listed(GLOBAL.forward, post):
            if key in always or key in GLOBAL.forward_always:
                self.finished.add(key)
            self._forward_hook(key, hook)
        if on_backward is not None:
            if not isinstance(self.result, (rl.Tensor, tuple)):
                warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple "
                    f"of Tensors but received {type(self.result)}"
                )
            self.result = on_backward.setup_output_hook(self.result)
        if old:
            self._partial_backward_hooks(old)
        return self.result

    def _forward_pre_hooks(self, hooks: Numbered) -> None:
        with_kwargs = self.module._forward_pre_hooks_with_kwargs
        for key, hook in hooks:
            if key in with_kwargs:
                out = hook(self.module, self.args, self.kwargs)
                if out is None:
                    continue
                if not (isinstance(out, tuple) and len(out) == 2):
                    raise RuntimeError(
                        "forward pre-hook must return None or a tuple "
                        f"of (new_args, new_kwargs), but got {out}."
                    )
                self.args, self.kwargs = out
            else:
                out = hook(self.module, self.args)
                if out is not None:
                    self.args = out if isinstance(out, tuple) else (out,)

    def _forward_hook(self, key: int, hook: Any) -> None:
        if key in self.module._forward_hooks_with_kwargs or key in GLOBAL.forward_with_kwargs:
            out = hook(self.module, self.args, self.kwargs, self.result)
        else:
            out = hook(self.module, self.args, self.result)
        if out is not None:
            self.result = out

    def _partial_backward_hooks(self, hooks: Numbered) -> None:
        """The old kind of backward hook sits on the last node of the result alone."""
        value = self.result
        while not isinstance(value, rl.Tensor):
            if isinstance(value, dict):
                value = next(v for v in value.values() if isinstance(v, rl.Tensor))
            else:
                value = value[0]
        node = value.grad_fn
        if node is not None:
            module = self.module
            for number, hook in hooks:
                of_module = partial(run_hook, "of a module", number, hook, module)
                node.register_hook(of_module)
            _warn_of_partial_hook(self.args, self.result, node)

    def run_remaining_always_hooks(self, post: Hooks) -> None:
        """After a failure: the hooks registered with `always_call=True` that have not run yet."""
        always = self.module._forward_hooks_always_called
        for name, hooks, flags in (
            ("global module", GLOBAL.forward, GLOBAL.forward_always),
            ("module", post, always),
        ):
            for key, hook in listed(hooks):
                if key not in flags or key in self.finished:
                    continue
                try:
                    self._forward_hook(key, hook)
                except Exception as error:
                    warn(
                        f"{name} forward hook with ``always_call=True`` raised an exception "
                        f"that was silenced as another error was raised in forward: {error}"
                    )


def _warn_of_partial_hook(
    inputs: tuple[Tensor, ...], result: tuple[Tensor, ...], node: Node
) -> None:
    """Says what an old backward hook, which sits on `node` alone, will not be shown."""
    advice = " Please use register_full_backward_hook to get the documented behavior."
    results = (result,) if isinstance(result, rl.Tensor) else result
    made_by = _grad_fns(results)
    made_from = _grad_fns(inputs)
    if made_by is None:
        which = "hooks on a Module that does not return a single Tensor or a tuple of Tensors"
        missing = "of the grad_output"
    elif made_from is None:
        which = (
            "hooks on a Module that does not take as input a single Tensor or a tuple of Tensors"
        )
        missing = "of the grad_input"
    elif len(made_by) > 1:
        which = "hook when outputs are generated by different autograd Nodes"
        missing = "grad_output"
    elif node not in made_by:
        which = "hook when outputs are nested in python data structure"
        missing, advice = "grad_output", ""
    elif made_from != {edge[0] for edge in node.next_functions}:
        which = "hook when the forward contains multiple autograd Nodes"
        missing = "grad_input"
    else:
        return
    article = "a " if which.startswith("hook ") else ""
    warn(
        f"Using {article}non-full backward {which} is deprecated and will be removed in future "
        f"versions. This hook will be missing some {missing}.{advice}",
        FutureWarning,
    )


def _grad_fns(values: tuple[Tensor, ...]) -> set[object] | None:
    """The nodes that made the tensors of a tuple; None where it is no tuple of tensors."""
    if not (isinstance(values, tuple) and all(isinstance(v, rl.Tensor) for v in values)):
        return None
    return {v.grad_fn for v in values if v.grad_fn is not None}


class BackwardHook:
    """Ties a module's full backward hooks to the graph.

    Identity nodes are put before the inputs and after the outputs; when gradients have passed both,
    the user's hooks see `(module, grad_input, grad_output)` and may replace the former. Places that
    hold no tensor are None.
    """

    def __init__(self, module: object, user_hooks: Numbered, user_pre_hooks: Numbered) -> None:
        self.module = module
        self.hooks = user_hooks
        self.pre_hooks = user_pre_hooks
        self.grad_outputs: Any = None
        self.n_inputs = 0
        self.n_outputs = 0
        self.input_places: list[int] | None = None
        self.output_places: list[int] | None = None

    @property
    def functions(self) -> list[object]:
        """The functions that the program registered."""
        return [hook for hooks in (self.pre_hooks, self.hooks) for _, hook in hooks]

    def setup_input_hook(self, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The arguments, behind a node that calls the hooks with the gradients that reach them."""
        self.n_inputs = len(args)
        args, self.input_places = _through_identity(args, self._on_grad_input)
        return args

    def setup_output_hook(self, args: Any) -> Any:
        """The results, behind a node that notes the gradients that come in for them."""
        single = not isinstance(args, tuple)
        outputs = (args,) if single else args
        self.n_outputs = len(outputs)
        outputs, self.output_places = _through_identity(outputs, self._on_grad_output)
        return outputs[0] if single else outputs

    def _on_grad_output(
        self, _: tuple[Tensor, ...], grads: tuple[Tensor, ...]
    ) -> tuple[Tensor, ...]:
        outputs = _spread(self.output_places or [], grads, self.n_outputs)
        for number, hook in self.pre_hooks:
            replaced = run_hook("of a module", number, hook, self.module, outputs)
            if replaced is None:
                continue
            if len(replaced) != len(outputs):
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, "
                    f"got {len(replaced)}, but expected {len(outputs)}"
                )
            outputs = replaced
        self.grad_outputs = outputs
        if self.input_places is None:
            self._hooks_without_inputs()
        return tuple(outputs[i] for i in self.output_places or [])

    def _hooks_without_inputs(self) -> None:
        warn(
            "Full backward hook is firing when gradients are computed with respect to module "
            "outputs since no inputs require gradients. See "
            "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
            "#torch.nn.Module.register_full_backward_hook for more details."
        )
        for number, hook in self.hooks:
            none = (None,) * self.n_inputs
            out = run_hook("of a module", number, hook, self.module, none, self.grad_outputs)
            if out is not None and not (isinstance(out, tuple) and all(g is None for g in out)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires "
                    "gradient should always return None or None for all gradients."
                )
        self.grad_outputs = None

    def _on_grad_input(self, grads: Any, _: object) -> object:
        if self.grad_outputs is None:
            return None  # the gradient reached the input without passing through the output
        inputs = _spread(self.input_places or [], grads, self.n_inputs)
        for number, hook in self.hooks:
            out = run_hook("of a module", number, hook, self.module, inputs, self.grad_outputs)
            if out is None:
                continue
            if not isinstance(out, tuple):
                out = (out,)
            if len(out) != len(inputs):
                raise RuntimeError(
                    "Backward hook returned an invalid number of grad_input, "
                    f"got {len(out)}, but expected {len(inputs)}"
                )
            inputs = out
        self.grad_outputs = None
        return tuple(inputs[i] for i in self.input_places or [])


def _spread(places: list[int], values: tuple[Tensor, ...], size: int) -> tuple[Tensor, ...]:
    """`values` put at `places` of a tuple of `size`, None elsewhere."""
    out: list[Any] = [None] * size
    for place, value in zip(places, values, strict=True):
        out[place] = value
    return tuple(out)


def _through_identity(
    values: tuple[Tensor, ...], hook: Callable[[Any, Any], object]
) -> tuple[tuple[Any, ...], list[int] | None]:
    """Passes the tensors among `values` through one identity node that carries `hook`.

    Returns the values and the places of the tensors, or None for the places where nothing requires
    grad.
    """
    places = [i for i, value in enumerate(values) if isinstance(value, rl.Tensor)]
    if not rl.is_grad_enabled() or not any(values[i].requires_grad for i in places):
        return values, None
    passed: tuple[Tensor, ...] = _identity().apply(*(values[i] for i in places))
    node = next(t.grad_fn for t in passed if t.grad_fn is not None)
    node.register_hook(hook)
    out = list(values)
    for place, tensor in zip(places, passed, strict=True):
        out[place] = tensor
    kind = type(values)
    return (tuple(out) if kind is tuple else kind(*out)), places


_identity_function: object = None


def _identity() -> Any:
    """The autograd function behind backward hooks, made on first use."""
    global _identity_function
    if _identity_function is None:

        class BackwardHookFunction(rl.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *args: Tensor) -> tuple[Tensor, ...]:
                ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
                return args

            @staticmethod
            def backward(ctx: object, *grads: Tensor) -> tuple[Tensor, ...]:
                return grads

        _identity_function = BackwardHookFunction
    return _identity_function
