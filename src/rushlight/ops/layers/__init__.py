"""Layers and losses: the functions of torch.nn.functional."""

from . import (  # noqa: F401  importing a module enters its ops
    activation,
    adaptive_pooling,
    attention,
    average_pooling,
    class_loss,
    conv,
    ctc,
    dropout,
    embedding,
    fractional_pooling,
    interpolation,
    loss,
    margin_loss,
    multi_head,
    normalization,
    padding,
    pooling,
    softmax,
    unfold,
)
