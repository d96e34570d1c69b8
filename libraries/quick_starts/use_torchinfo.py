"""The summary of a convolutional network."""

import torch
from torch import nn
from torchinfo import summary

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(1, 10, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(10 * 12 * 12, 10)
)
found = summary(model, input_size=(16, 1, 28, 28), verbose=0)
print(found.total_params, found.total_mult_adds, found.total_output_bytes)
print(str(found).count("Conv2d"), len(str(found).splitlines()))
