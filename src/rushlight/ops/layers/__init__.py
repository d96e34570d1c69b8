"""Layers and losses: the functions of torch.nn.functional."""

from . import (  # noqa: F401  importing a module enters its ops
    activation,
    adaptive_pooling,
    attention,
    average_pooling,
    class_loss,
    conv,
    dropout,
    embedding,
    interpolation,
    loss,
    margin_loss,
    normalization,
    padding,
    pooling,
    softmax,
    unfold,
)
