"""Attributions of a small network."""

import torch
from captum.attr import DeepLift, IntegratedGradients, LayerConductance, NoiseTunnel, Saliency
from torch import nn

torch.manual_seed(0)


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin1 = nn.Linear(3, 3)
        self.relu = nn.ReLU()
        self.lin2 = nn.Linear(3, 2)

    def forward(self, input):
        return self.lin2(self.relu(self.lin1(input)))


model = ToyModel().eval()
input, baseline = torch.rand(2, 3), torch.zeros(2, 3)
for method in (IntegratedGradients, DeepLift):
    attributions, delta = method(model).attribute(
        input, baseline, target=0, return_convergence_delta=True
    )
    print(*attributions.flatten().tolist())
print(*Saliency(model).attribute(input, target=1).flatten().tolist())
print(*LayerConductance(model, model.lin1).attribute(input, baseline, target=1).flatten().tolist())
noise = NoiseTunnel(IntegratedGradients(model))
print(*noise.attribute(input, baselines=baseline, nt_samples=4, target=0).flatten().tolist())
