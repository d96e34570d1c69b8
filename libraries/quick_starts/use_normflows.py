"""Real NVP layers trained on a target of two moons."""

import normflows as nf
import torch

torch.manual_seed(0)
base = nf.distributions.base.DiagGaussian(2)
flows = []
for _ in range(4):
    net = nf.nets.MLP([1, 16, 16, 2], init_zeros=True)
    flows += [nf.flows.AffineCouplingBlock(net), nf.flows.Permute(2, mode="swap")]
model = nf.NormalizingFlow(base, flows)
target = nf.distributions.TwoMoons()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-5)
for _ in range(5):
    optimizer.zero_grad()
    loss = model.forward_kld(target.sample(64))
    loss.backward()
    optimizer.step()
    print(loss.item())
print(model.log_prob(torch.zeros(1, 2)).item())
