"""`FlopCounterMode`: how many multiplications and additions the products of a program take.

Counted are products of matrices and convolutions, 2 for each multiplication with its addition,
going forward and back. A function of several products is counted by these, whatever PyTorch's
kernels would do: attention is two products, an LSTM those of its gates.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from importlib import import_module
from typing import Any

from .. import ops, overrides
from .._base.missing import missing_name as _missing_name
from .._base.pytree import tree_map
from .._core import Tensor
from ..nn.modules.module import (
    Module,
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from ..ops.table.statement import OPS, Entry, row_of

__all__ = ["FlopCounterMode", "register_flop_formula"]

flop_registry: dict[Any, Callable[..., int]] = {}


def register_flop_formula(targets: object, get_raw: bool = False) -> Callable[[Any], Any]:
    """Decorator: a function of the shapes of a call's arguments, and out_shape, counts the call.

    targets: the function called, or several. get_raw: it is given the arguments themselves.
    """

    def register(formula: Callable[..., int]) -> Callable[..., int]:
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = _on_shapes(formula, get_raw)
        return formula

    return register


def _on_shapes(formula: Callable[..., int], raw: bool) -> Callable[..., int]:
    """A formula of shapes as one of the arguments themselves."""

    def count(*args: object, out_val: object = None, **kwargs: object) -> int:
        if raw:
            return formula(*args, out_val=out_val, **kwargs)
        shapes = tree_map(_shape, (args, kwargs, out_val))
        return formula(*shapes[0], out_shape=shapes[2], **shapes[1])

    return count


def _shape(x: object) -> object:
    return x.shape if isinstance(x, Tensor) else x


def mm_flop(
    a_shape: Any, b_shape: Any, *args: object, out_shape: object = None, **kwargs: object
) -> int:
    """Of a product of two matrices."""
    return math.prod(a_shape) * b_shape[-1] * 2


def bmm_flop(a_shape: Any, b_shape: Any, out_shape: object = None, **kwargs: object) -> int:
    """Of products of matrices in batches."""
    return math.prod(a_shape) * b_shape[-1] * 2


def addmm_flop(
    self_shape: object, a_shape: object, b_shape: object, out_shape: object = None, **kwargs: object
) -> int:
    """Of a product that is added to something: as of the product."""
    return mm_flop(a_shape, b_shape)


baddbmm_flop = addmm_flop


def conv_flop_count(x_shape: Any, w_shape: Any, out_shape: Any, transposed: bool = False) -> int:
    """Of a convolution."""
    places = math.prod((x_shape if transposed else out_shape)[2:])
    return places * x_shape[0] * math.prod(w_shape) * 2


def _swapped(shape: Any) -> list[int]:
    return [shape[1], shape[0], *shape[2:]]


class _Names(dict[str, Any]):
    """The keys of counts: PyTorch's operators, which print as "aten.mm"."""

    def __missing__(self, name: str) -> object:
        self[name] = getattr(ops.aten, name, f"aten.{name}")
        return self[name]


_KEYS = _Names()
Count = tuple[str, int, str, int]  # forward: operator and flops; backward: the same


def _product(
    a: Tensor, b: Tensor, name: str | None = None, forward: str | None = None
) -> Count | None:
    """The counts of a product of the tensors that are matrices."""
    if a.dim() == 0 or b.dim() == 0 or min(a.dim(), b.dim()) < 2:
        return None
    batched = b.dim() > 2 or (a.dim() > 2 and b.dim() > 2)
    name = name or ("bmm" if batched else "mm")
    sizes = [*a.shape[:-2], *b.shape[:-2]]
    if batched and len(sizes) > 1:
        rest = [max(x, y) for x, y in zip(_padded(a, b), _padded(b, a), strict=True)]
        total = 2 * math.prod(rest) * a.shape[-2] * a.shape[-1] * b.shape[-1]
    else:
        total = 2 * math.prod(a.shape) * b.shape[-1]
    return forward or name, total, name, total * (a.requires_grad + b.requires_grad)


def _padded(a: Tensor, b: Tensor) -> list[int]:
    """The sizes of the batches, as many as the other has."""
    own = list(a.shape[:-2])
    return [1] * (b.dim() - 2 - len(own)) + own


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Count:
    total = 2 * math.prod(input.shape) * (weight.shape[0] if weight.dim() > 1 else 1)
    name = "mm" if bias is None else "addmm"
    return name, total, "mm", total * (input.requires_grad + weight.requires_grad)


def _convolution(out: Tensor, x: Tensor, weight: Tensor, transposed: bool) -> Count:
    shapes = x.shape, weight.shape, out.shape
    back = 0
    if x.requires_grad:
        back += conv_flop_count(out.shape, weight.shape, x.shape, not transposed)
    if weight.requires_grad and transposed:
        back += conv_flop_count(_swapped(out.shape), _swapped(x.shape), _swapped(weight.shape))
    elif weight.requires_grad:
        back += conv_flop_count(_swapped(x.shape), _swapped(out.shape), _swapped(weight.shape))
    return "convolution", conv_flop_count(*shapes, transposed), "convolution_backward", back


def _attention(q: Tensor, k: Tensor, v: Tensor, noise: Tensor | None) -> Count | None:
    """The two products of attention; PyTorch counts none where one kernel of its own makes both."""
    if q.dim() == 4 and q.shape[3] == v.shape[3] and noise is None:
        return None
    name = "mm" if q.dim() == 2 else "bmm"
    of_scores = 2 * math.prod(q.shape) * k.shape[-2]
    of_values = 2 * math.prod(q.shape[:-1]) * math.prod(v.shape[-2:])
    back = of_scores * (q.requires_grad + k.requires_grad)
    back += of_values * ((q.requires_grad or k.requires_grad) + v.requires_grad)
    return name, of_scores + of_values, name, back


# By the row of an op, its counts from the result and the arguments of a call.
_COUNTS: dict[Entry, Callable[..., Count | None]] = {
    **{OPS[name]: lambda out, a, b, *_: _product(a, b) for name in ("mm", "bmm", "matmul")},
    OPS["_einsum"]: lambda out, a, b, *_: _product(a, b, "bmm"),
    OPS["linear"]: lambda out, *given: _linear(*given[:3]),
    OPS["addmm"]: lambda out, x, a, b, *_: _product(a, b, "mm", "addmm"),
    OPS["baddbmm"]: lambda out, x, a, b, *_: _product(a, b, "bmm", "baddbmm"),
    OPS["_attention"]: lambda out, q, k, v, mask, noise, *_: _attention(q, k, v, noise),
    OPS["_convolution"]: lambda out, x, w, *_: _convolution(out, x, w, False),
    OPS["_convolution_input"]: lambda out, x, w, *_: _convolution(out, x, w, True),
}


class FlopCounterMode(overrides.TorchFunctionMode):
    """Context: counts the flops of what is computed in it, by module and operator.

    display: print a table at the end, by the package tabulate, down to modules at `depth`.
    custom_mapping: a function for each other function to count, as `register_flop_formula` has it.

    >>> with torch.utils.flop_counter.FlopCounterMode(display=False) as counter:
    ...     _ = torch.ones(2, 3) @ torch.ones(3, 4)
    >>> counter.get_total_flops()
    48
    """

    depth: int
    display: bool

    def __init__(
        self,
        mods: object = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        super().__init__()
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        own = {
            f: _on_shapes(g, getattr(g, "_get_raw", False))
            for f, g in (custom_mapping or {}).items()
        }
        self.flop_registry: dict[Any, Any] = {**flop_registry, **own}
        self._modules: list[str] = []
        self._known: dict[Module, str] = {}
        self._hooks: list[Any] = []
        self._running = False

    # --- counts

    def get_total_flops(self) -> int:
        """All flops."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """The flops of each module by operator; "Global" has all."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as a table, by the package tabulate."""
        tabulate: Any = import_module("tabulate")
        deep = 999999 if depth is None and self.depth is None else depth or self.depth
        total = self.get_total_flops()
        largest = max([0, *(sum(c.values()) for c in self.flop_counts.values())])
        index = min(3, max(0, len(str(largest)) - 1) // 3)

        def row(name: str, flops: int, indent: int) -> list[str]:
            scaled = f"{flops / 1000**index:.3f}" + ("", "K", "M", "B")[index]
            part = f"{100 * flops / total:.2f}%" if total else "0%"
            return [" " * indent + name, scaled, part]

        rows = []
        for name in sorted(self.flop_counts):
            level = 0 if name == "Global" else name.count(".") + 1
            if level > deep:
                continue
            rows.append(row(name, sum(self.flop_counts[name].values()), level))
            rows += [row(f" - {k}", v, level) for k, v in self.flop_counts[name].items()]
        header = ["Module", "FLOP", "% Total"]
        aligned = ("left", "right", "right")
        return str(tabulate.tabulate(rows, headers=header, colalign=aligned))

    def _add(self, path: list[str], name: str, flops: int) -> None:
        if flops and self._running:
            for module in dict.fromkeys(path):
                self.flop_counts[module][_KEYS[name]] += flops

    # --- the block

    def _enter_module(self, module: Module, args: object) -> None:
        name = self._known.setdefault(module, type(module).__name__)
        for child_name, child in module.named_children():
            self._known[child] = f"{name}.{child_name}"
        self._modules.append(name)

    def _leave_module(self, module: Module, args: object, result: object) -> None:
        if self._modules:
            self._modules.pop()

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self._hooks = [
            register_module_forward_pre_hook(self._enter_module),
            register_module_forward_hook(self._leave_module, always_call=True),
        ]
        self._running = True
        super().__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        self._running = False
        for hook in self._hooks:
            hook.remove()
        self._modules.clear()
        if self.display:
            print(self.get_table(self.depth))

    def __torch_function__(
        self, func: Any, types: object, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in self.flop_registry:
            result = func(*args, **kwargs)
            flops = self.flop_registry[func](*args, **kwargs, out_val=result)
            self.flop_counts["Global"][func] += flops
            for module in dict.fromkeys(self._modules):
                self.flop_counts[module][func] += flops
            return result
        row = row_of(func)
        if row is None or row not in _COUNTS:
            overrides.TorchFunctionMode.__enter__(self)  # what the function is made of is counted
            try:
                return overrides.redispatch_function(func, types, args, kwargs)
            finally:
                overrides.TorchFunctionMode.__exit__(self)
        result = func(*args, **kwargs)
        counts = _COUNTS[row](result, *args, *kwargs.values())
        if counts is not None:
            forward, flops, backward, back_flops = counts
            path = ["Global", *self._modules]
            self._add(path, forward, flops)
            first = result[0] if isinstance(result, tuple) else result
            node = first.grad_fn if first.requires_grad else None
            if node is not None and back_flops:
                node.register_prehook(lambda grads: self._add(path, backward, back_flops))
        return result


__getattr__ = _missing_name(__name__)
