"""The Poisson equation in one dimension."""

import os

os.environ["DDE_BACKEND"] = "pytorch"
import deepxde as dde
import numpy as np
import torch

dde.config.set_random_seed(0)


def pde(x, y):
    return -dde.grad.hessian(y, x) - np.pi**2 * torch.sin(np.pi * x)


def func(x):
    return np.sin(np.pi * x)


geometry = dde.geometry.Interval(-1, 1)
bc = dde.icbc.DirichletBC(geometry, func, lambda _, on_boundary: on_boundary)
data = dde.data.PDE(geometry, pde, bc, 16, 2, solution=func, num_test=50)
net = dde.nn.FNN([1] + [20] * 3 + [1], "tanh", "Glorot uniform")
model = dde.Model(data, net)
model.compile("adam", lr=0.001, metrics=["l2 relative error"], verbose=0)
history, _ = model.train(iterations=50, display_every=10, verbose=0)
print(*np.ravel(history.loss_train).tolist())
