"""Tensors written, read whole and read by slices; a model saved and loaded."""

import os
import tempfile

import torch
from safetensors import safe_open
from safetensors.torch import load_file, load_model, save_file, save_model

torch.manual_seed(0)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.safetensors")
    tensors = {"weight1": torch.randn(16, 8), "weight2": torch.zeros(8, dtype=torch.bfloat16)}
    save_file(tensors, path, metadata={"format": "pt"})
    read = load_file(path)
    print(read["weight1"].sum().item(), read["weight2"].float().sum().item())
    with safe_open(path, framework="pt", device="cpu") as f:
        part = f.get_slice("weight1")[2:5, ::2]
        print(len(f.keys()), *part.flatten().tolist())
    model, other = torch.nn.Linear(4, 2), torch.nn.Linear(4, 2)
    save_model(model, path)
    load_model(other, path)
    print(float(torch.equal(model.weight, other.weight)), other.weight.sum().item())
