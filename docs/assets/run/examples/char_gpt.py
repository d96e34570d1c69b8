"""A GPT of letters learns a paragraph by heart, and prints how far it has come."""

import rushlight as torch
from rushlight import explain, nn

torch.manual_seed(0)
TEXT = """A rushlight is the pith of a rush, dipped in fat. It was the light of those
who could not pay for candles: held in iron tongs, it burned for half an hour with
a small clear flame. By it people read, sewed, and told each other what the day had
been. """.replace("\n", " ")
LETTERS = sorted(set(TEXT))
CODE = torch.tensor([LETTERS.index(letter) for letter in TEXT])
CONTEXT, WIDTH, HEADS = 32, 48, 4


class Block(nn.Module):
    """Attention to the letters before, then a small network for each letter."""

    def __init__(self):
        super().__init__()
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x):
        q, k, v = self.qkv(self.before(x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        return x + self.mlp(self.after(x))


class GPT(nn.Module):
    """Letters and their places, two blocks, and the chances of the next letter."""

    def __init__(self):
        super().__init__()
        self.letter, self.place = nn.Embedding(len(LETTERS), WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks, self.head = nn.Sequential(Block(), Block()), nn.Linear(WIDTH, len(LETTERS))

    def forward(self, codes):
        return self.head(self.blocks(self.letter(codes) + self.place.weight[: codes.shape[1]]))


@torch.no_grad()
def sample(length=60):
    codes = CODE[:6].unsqueeze(0)
    for _ in range(length):
        logits = model(codes[:, -CONTEXT:])[:, -1]
        codes = torch.cat([codes, (2 * logits).softmax(-1).multinomial(1)], dim=1)
    return "".join(LETTERS[i] for i in codes[0].tolist())


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(201):
    codes = CODE[torch.randint(0, len(CODE) - CONTEXT, (12, 1)) + torch.arange(CONTEXT + 1)]
    loss = nn.functional.cross_entropy(model(codes[:, :-1]).flatten(0, 1), codes[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    explain.live(step=step, loss=loss)
    if step % 40 == 0:
        print(f"step {step:3}  loss {loss.item():.3f}  {sample()}")
