"""A decoder trained for a few steps, and what it generates."""

import torch
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

torch.manual_seed(0)
model = TransformerWrapper(
    num_tokens=32,
    max_seq_len=32,
    attn_layers=Decoder(dim=32, depth=2, heads=2, rotary_pos_emb=True),
)
model = AutoregressiveWrapper(model)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
tokens = torch.randint(0, 32, (4, 32))
for _ in range(4):
    optimizer.zero_grad()
    loss = model(tokens)
    loss.backward()
    optimizer.step()
    print(loss.item())
print(*model.generate(tokens[:1, :4], 6, temperature=0.0).flatten().tolist())
