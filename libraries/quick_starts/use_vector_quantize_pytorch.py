"""Codebooks learned by moving averages, residual codes, and finite scalars."""

import torch
from vector_quantize_pytorch import FSQ, ResidualVQ, VectorQuantize

torch.manual_seed(0)
x = torch.randn(2, 16, 8)
for quantizer in (
    VectorQuantize(8, 12, decay=0.8),
    VectorQuantize(8, 12, learnable_codebook=True, ema_update=False),
    ResidualVQ(dim=8, codebook_size=10, num_quantizers=2),
):
    for _ in range(2):
        quantized, indices, loss = quantizer(x)
    print(quantized.sum().item(), indices.sum().item(), loss.sum().item())
print(FSQ([8, 5, 5])(torch.randn(1, 4, 3))[0].sum().item())
