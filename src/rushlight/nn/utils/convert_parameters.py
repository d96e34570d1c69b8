"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from rushlight import _root as rl
from rushlight._root import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one after another; gradients flow back to them.

    >>> nn.utils.parameters_to_vector([torch.zeros(1, 2), torch.ones(1)])
    tensor([0., 0., 1.])
    """
    return rl.cat([parameter.view(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Makes slices of `vec` the data of the parameters, in order; memory is shared.

    >>> layer = nn.Linear(2, 1)
    >>> nn.utils.vector_to_parameters(torch.tensor([1.0, 2.0, 3.0]), layer.parameters())
    >>> layer.bias
    Parameter containing:
    tensor([3.], requires_grad=True)
    """
    if not isinstance(vec, rl.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {rl.typename(vec)}")
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end
