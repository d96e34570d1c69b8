"""A training loop with an Accelerator."""

import torch
from accelerate import Accelerator
from torch.nn import functional as F

torch.manual_seed(0)
accelerator = Accelerator(cpu=True)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters())
dataset = torch.utils.data.TensorDataset(torch.randn(64, 8), torch.randint(0, 2, (64,)))
data = torch.utils.data.DataLoader(dataset, batch_size=16, shuffle=True)
model, optimizer, data = accelerator.prepare(model, optimizer, data)
model.train()
for _ in range(3):
    for source, targets in data:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(source), targets)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(loss.item())
