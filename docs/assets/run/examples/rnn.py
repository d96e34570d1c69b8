"""A recurrent network learns parity: is the number of ones so far odd?

It reads one bit at a time, and has to keep the answer in its state. It learns
on 8 bits, and is then asked about 24.
"""

import rushlight as torch
from rushlight import explain, nn

torch.manual_seed(0)


class Parity(nn.Module):
    """A GRU that says after each bit whether the ones so far are odd."""

    def __init__(self, width=16):
        super().__init__()
        self.memory = nn.GRU(1, width, batch_first=True)
        self.answer = nn.Linear(width, 1)

    def forward(self, bits):
        states, _ = self.memory(bits.unsqueeze(-1))
        return self.answer(states).squeeze(-1)


def batch(rows, length):
    bits = torch.randint(0, 2, (rows, length)).float()
    return bits, bits.cumsum(dim=1) % 2


model = Parity()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)

for step in range(401):
    bits, odd = batch(32, 8)
    logits = model(bits)
    loss = nn.functional.binary_cross_entropy_with_logits(logits, odd)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    right = ((logits > 0) == (odd > 0.5)).float().mean()
    explain.live(step=step, loss=loss, wrong=1 - right)
    if step % 50 == 0:
        print(f"step {step:3}  loss {loss.item():.4f}  right {right.item():.0%}")

bits, odd = batch(1, 24)
said = (model(bits) > 0).int()[0].tolist()
print("\nbits ", *bits.int()[0].tolist())
print("odd? ", *odd.int()[0].tolist())
print("said ", *said)
