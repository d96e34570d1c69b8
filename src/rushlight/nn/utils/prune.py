"""Pruning: entries of a parameter kept at zero by a mask.

Pruning moves the parameter to `name_orig`, registers the mask as the buffer `name_mask`, and puts a
hook on the module that computes `name`, their product, before each call. A method is a class with
`compute_mask(t, default_mask)`: the mask for the tensor `t` (or the scores in its place), of which
`default_mask` has kept so much. An amount is a count, or a share of what is there.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Self

from rushlight import _root as rl
from rushlight._root import Tensor

from ..._base.handles import listed
from ...ops import namespace as _namespace
from ..modules.module import Module
from ..parameter import Parameter
from .convert_parameters import parameters_to_vector

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]

Amount = int | float


class BasePruningMethod(ABC):
    """The hook: multiplies a parameter by its mask. Methods say how the mask is made."""

    PRUNING_TYPE: ClassVar[str]  # "unstructured", "structured" or "global": what it works on
    _tensor_name: str

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for `t`, of which `default_mask` has zeros already."""

    def __call__(self, module: Module, inputs: object) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    def apply_mask(self, module: Module) -> Tensor:
        """The parameter times its mask."""
        name = getattr(self, "_tensor_name", None)
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        original = getattr(module, f"{name}_orig")
        return getattr(module, f"{name}_mask").to(original.dtype) * original

    @classmethod
    def apply(
        cls,
        module: Module,
        name: str,
        *args: object,
        importance_scores: Any = None,
        **kwargs: object,
    ) -> Self:
        """Prunes a parameter by this method, behind the methods that have pruned it before."""
        before = _pruner(module, name)
        method = cls(*args, **kwargs)
        method._tensor_name = name
        original = getattr(module, name)
        if importance_scores is None:
            importance_scores = original
        elif importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, "
                f"got {importance_scores.shape} vs {original.shape}"
            )
        mask = rl.ones_like(importance_scores)
        hook: Any = method
        if before is not None:
            mask = getattr(module, f"{name}_mask").detach().clone()
            original = getattr(module, f"{name}_orig")
            hook = before[1]
            if not isinstance(hook, PruningContainer):
                hook = PruningContainer(hook)
            hook.add_pruning_method(method)
            mask = hook.compute_mask(importance_scores, mask)
            del module._forward_pre_hooks[before[0]]
        else:
            mask = method.compute_mask(importance_scores, mask)
            module.register_parameter(f"{name}_orig", original)
            del module._parameters[name]
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, hook.apply_mask(module))
        module.register_forward_pre_hook(hook)
        return hook

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Any = None
    ) -> Tensor:
        """`t` times the mask for it, without a module."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        mask = rl.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(importance_scores, mask)

    def remove(self, module: Module) -> None:
        """Makes the pruned parameter a plain one; its zeros stay."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        original = module._parameters.pop(f"{name}_orig")
        del module._buffers[f"{name}_mask"]
        delattr(module, name)
        original.data = weight.data
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods for a parameter; each prunes the rest that earlier methods have left."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for i, method in enumerate(args):
            if i == 0:
                self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Adds a method at the end."""
        if method is None:
            return
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. "
                f"Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask after the last method, which works on what the others have left."""
        method: Any = self._pruning_methods[-1]
        mask = default_mask.to(t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            left: Any = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim()
            rest = [d for d in range(t.dim()) if d != dim]
            left = (slice(None),) * dim + (mask.sum(rest) != 0,)
        elif method.PRUNING_TYPE == "global":
            left = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        made = mask.clone()
        made[left] = method.compute_mask(t[left], mask[left])
        return made


class Identity(BasePruningMethod):
    """Prunes nothing: registers the mask alone."""

    PRUNING_TYPE: ClassVar[str] = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask as it is."""
        return default_mask


def _validate_pruning_amount_init(amount: Amount) -> None:
    """An error for what is neither a count nor a share."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    whole = isinstance(amount, numbers.Integral)
    if (whole and amount < 0) or (not whole and not 0 <= float(amount) <= 1):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
            "integer"
        )


def _validate_pruning_amount(amount: Amount, tensor_size: int) -> None:
    """An error for a count that is more than there is."""
    if isinstance(amount, numbers.Integral) and amount > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to "
            f"prune={tensor_size}"
        )


def _compute_nparams_toprune(amount: Amount, tensor_size: int) -> Amount:
    """How many of so many are pruned."""
    return amount if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


class _ByAmount(BasePruningMethod):
    PRUNING_TYPE: ClassVar[str] = "unstructured"
    amount: Amount

    def __init__(self, amount: Amount) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _count(self, of: int) -> int:
        """How many of so many are pruned."""
        _validate_pruning_amount(self.amount, of)
        return int(_compute_nparams_toprune(self.amount, of))


class RandomUnstructured(_ByAmount):
    """Prunes entries at random."""

    @classmethod
    def apply(cls, module: Module, name: str, amount: Amount) -> Self:  # type: ignore[override]
        return super().apply(module, name, amount=amount)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask with `amount` more zeros, drawn at random."""
        return _without(default_mask, self._count(t.numel()), rl.rand_like(t), True)


class L1Unstructured(_ByAmount):
    """Prunes the entries of the smallest absolute values."""

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Module, name: str, amount: Amount, importance_scores: object = None
    ) -> Self:
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask with zeros at the smallest absolute values."""
        return _without(default_mask, self._count(t.numel()), t.abs(), False)


def _without(mask: Tensor, count: int, scores: Tensor, largest: bool) -> Tensor:
    """The mask with zeros at the places of the smallest scores, or of the largest."""
    made = mask.clone()
    if count:
        places = rl.topk(scores.reshape(-1), count, largest=largest).indices
        made.view(-1)[places] = 0
    return made


class _Structured(_ByAmount):
    PRUNING_TYPE: ClassVar[str] = "structured"

    def __init__(self, amount: Amount, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _scores(self, t: Tensor, dim: int) -> Tensor:
        """A score for each entry of `dim`."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask with zeros in the slices of the smallest scores."""
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor "
                f"of shape {t.shape} with {t.dim()} dims"
            )
        if not -t.dim() <= self.dim < t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        dim = self.dim % t.dim()
        size = t.shape[dim]
        count = self._count(size)
        scores = self._scores(t, dim)
        kept = rl.zeros(size, dtype=default_mask.dtype, device=t.device)
        kept[rl.topk(scores, size - count, largest=True).indices] = 1
        if not count:
            return default_mask
        return default_mask * kept.view(-1, *(1,) * (t.dim() - dim - 1))


class RandomStructured(_Structured):
    """Prunes whole entries of a dimension at random."""

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Module, name: str, amount: Amount, dim: int = -1
    ) -> Self:
        return super().apply(module, name, amount=amount, dim=dim)

    def _scores(self, t: Tensor, dim: int) -> Tensor:
        return rl.rand(t.shape[dim])


class LnStructured(_Structured):
    """Prunes the entries of a dimension that have the smallest n-norms."""

    def __init__(self, amount: Amount, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    @classmethod
    def apply(  # type: ignore[override]
        cls,
        module: Module,
        name: str,
        amount: Amount,
        n: object,
        dim: int,
        importance_scores: object = None,
    ) -> Self:
        how = {"amount": amount, "n": n, "dim": dim}
        return super().apply(module, name, importance_scores=importance_scores, **how)

    def _scores(self, t: Tensor, dim: int) -> Tensor:
        rest = [d for d in range(t.dim()) if d != dim]
        return _namespace("torch")["norm"](t, p=self.n, dim=rest)


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask of the caller's."""

    PRUNING_TYPE: ClassVar[str] = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> Self:  # type: ignore[override]
        return super().apply(module, name, mask=mask)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask, times the one before it."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape "
                f"{self.mask.shape}"
            )
        return default_mask * self.mask.to(default_mask.dtype)


def _pruner(module: Module, name: str) -> tuple[int, BasePruningMethod] | None:
    """The hook that prunes a parameter, and its number."""
    for key, hook in listed(module._forward_pre_hooks):
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return key, hook
    return None


def identity(module: Module, name: str) -> Module:
    """Gives a parameter a mask of ones.

    >>> layer = nn.utils.prune.identity(nn.Linear(2, 1), "bias")
    >>> layer.bias_mask
    tensor([1.])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Amount) -> Module:
    """Prunes entries of a parameter at random.

    >>> layer = nn.utils.prune.random_unstructured(nn.Linear(4, 2), "weight", amount=0.25)
    >>> (layer.weight == 0).sum()
    tensor(2)
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: Amount, importance_scores: Tensor | None = None
) -> Module:
    """Prunes the entries of the smallest absolute values, or scores.

    >>> layer = nn.Linear(3, 1, bias=False)
    >>> layer.weight.data = torch.tensor([[3.0, -1.0, 2.0]])
    >>> nn.utils.prune.l1_unstructured(layer, "weight", amount=1).weight_mask
    tensor([[1., 0., 1.]])
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Amount, dim: int) -> Module:
    """Prunes whole entries of a dimension at random.

    >>> layer = nn.utils.prune.random_structured(nn.Linear(4, 2), "weight", amount=1, dim=0)
    >>> layer.weight_mask.sum()
    tensor(4.)
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module,
    name: str,
    amount: Amount,
    n: object,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prunes the entries of a dimension that have the smallest n-norms.

    >>> layer = nn.Linear(2, 2)
    >>> layer.weight.data = torch.tensor([[3.0, 4.0], [1.0, 1.0]])
    >>> nn.utils.prune.ln_structured(layer, "weight", amount=1, n=2, dim=0).weight_mask
    tensor([[1., 1.],
            [0., 0.]])
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: object,
) -> None:
    """Prunes several parameters as if they were one.

    >>> first, second = nn.Linear(4, 2), nn.Linear(2, 4)
    >>> prune = nn.utils.prune
    >>> both = [(first, "weight"), (second, "weight")]
    >>> prune.global_unstructured(both, prune.L1Unstructured, amount=0.25)
    >>> first.weight_mask.sum() + second.weight_mask.sum()
    tensor(12.)
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    places = list(parameters)
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    found = [scores.get((module, name), getattr(module, name)) for module, name in places]
    masks = [
        getattr(module, f"{name}_mask", rl.ones_like(getattr(module, name)))
        for module, name in places
    ]
    container = PruningContainer.__new__(PruningContainer)
    container._tensor_name = "temp"
    method: Any = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container._pruning_methods = (method,)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for '
            f"the `pruning_method`. Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    mask = container.compute_mask(parameters_to_vector(found), parameters_to_vector(masks))
    start = 0
    for module, name in places:
        parameter: Parameter = getattr(module, name)
        end = start + parameter.numel()
        custom_from_mask(module, name, mask[start:end].view_as(parameter))
        start = end


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prunes a parameter where the mask is 0.

    >>> layer = nn.utils.prune.custom_from_mask(nn.Linear(2, 1), "bias", torch.tensor([0]))
    >>> layer.bias_mask, (layer.bias == 0).item()
    (tensor([0.]), True)
    """
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Module, name: str) -> Module:
    """Makes a pruned parameter a plain one again; its zeros stay.

    >>> layer = nn.utils.prune.l1_unstructured(nn.Linear(4, 2), "weight", amount=3)
    >>> sorted(nn.utils.prune.remove(layer, "weight").state_dict())
    ['bias', 'weight']
    """
    found = _pruner(module, name)
    if found is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    found[1].remove(module)
    del module._forward_pre_hooks[found[0]]
    return module


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module, or of one below it, is pruned.

    >>> nn.utils.prune.is_pruned(nn.Linear(2, 1))
    False
    """
    return any(
        isinstance(hook, BasePruningMethod)
        for part in module.modules()
        for _, hook in listed(part._forward_pre_hooks)
    )
