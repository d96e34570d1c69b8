"""Rearranging an image, a layer of einops inside a Sequential, and its gradient."""

import torch
from einops import rearrange, reduce, repeat
from einops.layers.torch import Rearrange, Reduce
from torch import nn

torch.manual_seed(0)
images = torch.randn(6, 3, 8, 8)
tiles = rearrange(images, "(b1 b2) c h w -> (b1 h) (b2 w) c", b1=2)
pooled = reduce(images, "b c (h h2) (w w2) -> b c h w", "max", h2=2, w2=2)
tall = repeat(pooled, "b c h w -> b c (h two) w", two=2)
model = nn.Sequential(
    nn.Conv2d(3, 6, kernel_size=3),
    nn.ReLU(),
    Reduce("b c (h h2) (w w2) -> b c h w", "mean", h2=2, w2=2),
    Rearrange("b c h w -> b (c h w)"),
    nn.Linear(6 * 3 * 3, 4),
)
loss = model(images).square().mean()
loss.backward()
print(tiles.shape[0], tall.sum().item(), loss.item(), model[0].weight.grad.norm().item())
